//! Declaration management, chapter 5.

use crate::message::declaration::Snapshot;
use crate::message::{LogIndex, RequestNumber};
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// At the executive.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// All federates' subscriptions.
    pub subscriptions: Snapshot<LogIndex>,
    /// What each federate publishes.
    pub publications: Publications,
}

/// What each federate publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publications {
    /// Of an object class these attributes, at least one.
    pub objects: BTreeMap<(FederateHandle, ObjectClassHandle), Vec<AttributeHandle>>,
    /// Interaction classes.
    pub interactions: BTreeSet<(FederateHandle, InteractionClassHandle)>,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// All federates' subscriptions as of the applied log.
    pub subscriptions: Snapshot<LogIndex>,
    /// Its own as of the last call.
    pub mine: Snapshot<RequestNumber>,
    /// What it publishes of object classes; at least one attribute of each.
    pub published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    /// Interaction classes that it publishes.
    pub published_interactions: BTreeSet<InteractionClassHandle>,
    /// Start and Stop Registration For Object Class.
    pub registration: Advisories<ObjectClassHandle>,
    /// Turn Interactions On and Off.
    pub interactions: Advisories<InteractionClassHandle>,
    /// Update rates.
    pub pace: Pace,
}

/// The advisories of one kind of class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advisories<C: Ord> {
    /// The switch.
    pub enabled: bool,
    /// Of each published class.
    pub said: BTreeMap<C, Said>,
}

/// Whether the federate was told that a class is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// By what waits for delivery.
    pub queued: bool,
    /// By what was delivered.
    pub delivered: bool,
}

/// When what was last sent to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The time here, in microseconds; it stands still while the federate is not there.
    pub now_us: u64,
    /// By instance, receiver and slot of the registered class, in the same time.
    pub sent: BTreeMap<(ObjectInstanceHandle, FederateHandle, u32), u64>,
}
