//! What waits for a federate.

use super::object::Wanted;
use crate::message::{LogIndex, OwnedData, RequestNumber, federation, object, ownership};
use crate::{
    InteractionClassHandle, LogicalTime, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, Order, RegionHandle,
};

/// At a joined federate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Federate {
    /// What is to be delivered, in order, with messages in receive order that are withheld.
    pub queue: Vec<Queued>,
    /// Messages in time-stamp order that wait for a grant, in order.
    pub in_time_order: Vec<(LogicalTime, Queued)>,
    /// Messages in receive order are withheld.
    pub withholding: bool,
    /// The federate has resigned: nothing is delivered to it any more.
    pub ended: bool,
}

/// What waits for the federate, as what brought it about.
#[derive(Clone, Debug, PartialEq)]
pub enum Queued {
    /// An entry of federation management.
    Federation(federation::Entry),
    /// Start or Stop Registration For Object Class.
    Registration(ObjectClassHandle, bool),
    /// Turn Interactions On or Off.
    Interactions(InteractionClassHandle, bool),
    /// An entry of object management that says all that is to be delivered: of names,
    /// transportation types, scope and relevance.
    Object(object::Entry),
    /// Discover Object Instance.
    Discover(ObjectInstanceHandle),
    /// Provide Attribute Value Update, of what the federate has under this key.
    Provide(Wanted),
    /// An update or interaction, as it came, and the order in which it is received.
    Data {
        /// The frame.
        data: OwnedData,
        /// The order in which it is received.
        order: Order,
    },
    /// Remove Object Instance: its entry, and the order in which it is received.
    Remove {
        /// The entry, which is one of removal.
        entry: object::Entry,
        /// The order in which it is received.
        order: Order,
    },
    /// An entry of ownership management.
    Ownership {
        /// What the log said.
        entry: ownership::Entry,
        /// Where.
        index: LogIndex,
        /// Own requests that were in the log.
        as_of: RequestNumber,
    },
    /// No callback: when its turn comes, these regions, from first to last, are no more.
    RegionsGone {
        /// The first one.
        first: RegionHandle,
        /// The last one.
        last: RegionHandle,
    },
    /// A callback of time management.
    Time(QueuedTime),
}

/// A callback of time management that is not delivered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedTime {
    /// Time Regulation Enabled.
    Regulating {
        /// Logical time then.
        time: LogicalTime,
        /// Whether the time stamp one lookahead later is too early.
        strict: bool,
    },
    /// Time Constrained Enabled.
    Constrained,
    /// Time Advance Grant.
    Granted(LogicalTime),
    /// Request Retraction.
    RequestRetraction(MessageRetractionHandle),
}
