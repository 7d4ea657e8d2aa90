//! Object management, chapter 6, in receive order.
//!
//! Invariants:
//! - an instance belongs to its registrar's block of handles; handles and default names are
//!   never reused;
//! - a federate is told of an instance (Discover) only while one of its attributes is owned by
//!   another federate and subscribed at the receiver's candidate class (§6.1);
//! - a federate reflects an instance only between its delivered discovery and its removal;
//! - a federate never gets what it sent itself;
//! - a value of an attribute that is not subscribed at the known class, and a parameter that the
//!   received class lacks, never reach the federate.

pub(crate) mod advisories;
pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod receive;
pub(crate) mod transportation;
