//! rtiexec: the process that orders the control log of federation executions and forwards data
//! between federates.
//!
//! One thread drives one [`Server`], with others that only merge FOM modules (`modules`) or keep
//! saves on disk (`archivist`): it reads what has come on every link, gives it to the
//! core's `Executive`, appends what comes out to the receivers' buffers, and writes each buffer
//! once. The rules it keeps are those of its parts: `server` (order on a stream), `flow`
//! (bounded queues), `liveness` (who is taken for dead).
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod archivist;
mod config;
mod connection;
mod datagrams;
mod direct;
mod flow;
mod leaving;
mod listening;
mod liveness;
mod logging;
mod messages;
mod modules;
pub mod saves;
mod seats;
mod server;
mod sites;
mod slots;
mod timers;
mod trunk;
mod turns;
mod upstream;
mod waits;
mod ways;

pub use config::{Config, save_store};
pub use direct::Links;
pub use liveness::{Paused, Signs, Verdict, judge};
pub use logging::{LogFile, start_logging};
pub use server::{Ended, Observer, Server, State, Stopper};
