//! Declaration management, chapter 5.
//!
//! Invariants:
//! - a request carries the whole set now published or subscribed at a class, so that applying
//!   it is replacing;
//! - every member has all members' subscriptions as of the log index it has applied;
//! - routes are derived from subscriptions and the FDD alone, and recomputed when either changes.
//!
mod advisories;
pub(crate) mod execution;
pub(crate) mod federate;
mod rates;
mod routes;
mod subscriptions;

pub(crate) use advisories::{Advisories, QueuedAdvisory};
pub(crate) use rates::Pace;
pub(crate) use routes::Routes;
pub(crate) use subscriptions::Subscriptions;
