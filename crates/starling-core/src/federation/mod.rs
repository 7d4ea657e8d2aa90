//! Federation management, chapter 4.
//!
//! Invariants:
//! - a federate is a member from its `FederateJoined` entry to its `FederateResigned` entry;
//! - the FDD only grows, and every member merges the same modules in the same order;
//! - after its resignation a federate owns nothing, and no name it reserved stays reserved;
//! - federate handles are never reused in a federation execution.

mod execution;
mod federate;
pub(crate) mod members;
pub(crate) mod modules;
mod numbers;
pub(crate) mod restore;
pub(crate) mod save;
mod saved;
mod synchronization;
mod under_way;
mod whole;

pub use restore::{RestoreFailure, RestoreState, RestoreStatus};
pub use save::{Archive, Archived, SaveFailure, SaveStatus, SavedFederation};
pub use synchronization::SynchronizationPointFailure;
