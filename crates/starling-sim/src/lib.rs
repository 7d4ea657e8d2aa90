//! Whole federations on a seeded virtual network.
//!
//! Each federate has a stream to and from the executive and, in half of the runs, a data link of
//! its own to every other federate. Which link moves next is drawn from the seed, so every link
//! is delayed independently of all others. Everything passes through the wire format. The
//! checkers in [`check`] compare what arrives with what was sent. A seed replays exactly.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod acts;
mod advice;
mod calls;
mod check;
pub mod ddm;
mod fom;
mod host;
mod network;
mod observe;
mod ownership;
mod points;
mod program;
pub mod saves;
pub mod time;
mod watch;

pub use program::{Report, run, run_conflated};

/// Runs a seed, with so many actions.
pub type Run = fn(u64, usize) -> Report;

/// The kinds of programs.
pub const KINDS: [(&str, Run); 7] = [
    ("plain", run),
    ("conflated", run_conflated),
    ("ddm", ddm::run),
    ("time", time::run),
    ("saves", saves::run),
    ("managed", saves::run_managed),
    ("acts", acts::run),
];
