//! Time management, 1516.1-2010 chapter 8.
//!
//! Invariants:
//! - a constrained federate is granted no time beyond its GALT, and GALT is exact: the least time
//!   stamp that can still come to it ([`galt`]);
//! - what a federate may still send ([`value::Bound`]) never falls while it is regulating;
//! - the executive orders all messages in time-stamp order: a federate's are in every receiver's
//!   stream before its next request is read, so nothing is under way when a grant is made;
//! - a grant stands in a federate's stream behind all messages at or below it.
//!
//! Absent on purpose: wall time plays no part, and no federate's grant waits for another federate
//! to take its callbacks.

mod away;
pub(crate) mod by_time;
mod deletions;
mod delivered;
pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod galt;
#[cfg(test)]
mod galt_tests;
mod orders;
mod own_clock;
mod places;
mod retractable;
pub(crate) mod saved;
pub(crate) mod value;
pub(crate) mod why;
