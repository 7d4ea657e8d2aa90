//! rtiexec: the process that orders the control log of federation executions and forwards data
//! between federates.
//!
//! One thread drives one [`Server`], with others that only merge FOM modules (`modules`): it reads what has come on every link, gives it to the
//! core's `Executive`, appends what comes out to the receivers' buffers, and writes each buffer
//! once. The rules it keeps are those of its parts: `server` (order on a stream), `flow`
//! (bounded queues), `liveness` (who is taken for dead).
#![warn(missing_docs)]

mod config;
mod connection;
mod flow;
mod listening;
mod liveness;
mod logging;
mod messages;
mod modules;
mod server;
mod slots;
mod timers;

pub use config::Config;
pub use liveness::{Paused, Signs, Verdict, judge};
pub use logging::{Log, start_logging};
pub use server::{Ended, Observer, Server, State, Stopper};
