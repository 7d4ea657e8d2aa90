//! Federation management, chapter 4.
//!
//! Invariants:
//! - a federate is a member from its `FederateJoined` entry to its `FederateResigned` entry;
//! - the FDD only grows, and every member merges the same modules in the same order;
//! - after its resignation a federate owns nothing, and no name it reserved stays reserved;
//! - federate handles are never reused in a federation execution.
//!
//! Absent here: save and restore.

pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod modules;
pub(crate) mod synchronization;

pub use synchronization::SynchronizationPointFailure;
