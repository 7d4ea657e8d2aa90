//! Ownership management, chapter 7.
//!
//! Invariants:
//! - the executive alone says who owns an instance attribute: it has one owner or none;
//! - a federate acts as owner from the delivered Attribute Ownership Acquisition Notification (or
//!   its own registration) until it calls a service that gives the attribute away, so the views of
//!   all federates together never show two owners either;
//! - every acquisition ends in exactly one of notification, unavailable and confirmed
//!   cancellation, or with the object instance;
//! - only the owner gives an attribute away: by divesting, unpublishing, deleting, resigning or
//!   being lost. Whoever acquires only asks;
//! - an attribute that is unowned or whose owner waits for a new one is offered once to each
//!   federate that could acquire it (knows the instance, publishes the attribute at the known
//!   class), also to those who come to that later; a new divestiture offers again;
//! - an unowned attribute has no acquisition waiting: the first asker gets it at once.
//!
//! Races are decided by the order of the log. A queued callback remembers which of the federate's
//! own requests were in the log when its entry was made (`as_of`), so one that a later request
//! has overtaken can be distinguished from one that answers it.

pub(crate) mod execution;
pub(crate) mod federate;
mod saved;

use crate::{AttributeHandle, ObjectInstanceHandle};
use std::ops::RangeInclusive;

/// The keys of all attributes of an instance, in a map by instance and attribute.
fn keys_of(
    instance: ObjectInstanceHandle,
) -> RangeInclusive<(ObjectInstanceHandle, AttributeHandle)> {
    let of = |raw| (instance, AttributeHandle::from_raw(raw));
    of(0)..=of(u32::MAX)
}

/// How an owner gives attributes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divestiture {
    /// Unconditional Attribute Ownership Divestiture, 1516.1-2010 §7.2.
    Unconditional,
    /// Negotiated Attribute Ownership Divestiture, §7.3.
    Negotiated,
    /// Confirm Divestiture, §7.6.
    Confirmed,
    /// Attribute Ownership Divestiture If Wanted, §7.13.
    IfWanted,
}

/// What the log tells one federate about instance attributes. In this order where one request
/// brings several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnershipNotice {
    /// Attribute Ownership Acquisition Notification, §7.7.
    Acquired,
    /// Attribute Ownership Unavailable, §7.10.
    Unavailable,
    /// Confirm Attribute Ownership Acquisition Cancellation, §7.16.
    AcquisitionCancelled,
    /// Request Divestiture Confirmation, §7.5.
    ConfirmationRequested,
    /// Request Attribute Ownership Release, §7.11.
    ReleaseRequested,
    /// Request Attribute Ownership Assumption, §7.4.
    AssumptionRequested,
}
