//! Time management, chapter 8.

use super::object::KnownInstance;
use crate::message::LogIndex;
pub use crate::time::value::Bound;
use crate::{
    Advance, FederateHandle, InteractionClassHandle, LogicalTime, LogicalTimeInterval,
    ObjectClassHandle, ObjectInstanceHandle, Order, TimeType,
};
use std::collections::{BTreeMap, BTreeSet};

/// At the executive.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The type of its logical times.
    pub time_type: TimeType,
    /// The time of each joined federate.
    pub federates: BTreeMap<FederateHandle, FederateTime>,
    /// Messages in time-stamp order so far.
    pub messages: u64,
    /// Messages that may be retracted.
    pub retractable: BTreeMap<Message, BTreeSet<(FederateHandle, u64)>>,
    /// Deletions in time-stamp order that are not done yet.
    pub deletions: BTreeMap<ObjectInstanceHandle, Deletion>,
    /// Something has come that may lead to a grant.
    pub unsettled: bool,
}

/// A message in time-stamp order: its sender, its time stamp, its number at its sender.
pub type Message = (FederateHandle, LogicalTime, u64);

/// A federate's time as the executive knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct FederateTime {
    /// Its clock.
    pub clock: Clock,
    /// It is time-constrained.
    pub constrained: bool,
    /// Its last advance while constrained was one of 8.8 or 8.10: all messages at its time have
    /// come.
    pub over: bool,
    /// Regulation was asked for, and waits until it may be at this time.
    pub enabling: Option<LogicalTime>,
    /// Constraint was asked for.
    pub constraining: bool,
    /// For a save all messages up to this time were handed over, before the grant that it waits for.
    pub released: Option<LogicalTime>,
    /// It has passed over the grant of its clock's time, and is still at this one.
    pub still_at: Option<LogicalTime>,
    /// Messages sent to it in time-stamp order and not granted: time stamp, and place among all
    /// messages.
    pub queue: BTreeSet<(LogicalTime, u64)>,
}

/// A federate's own time.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// Logical time.
    pub time: LogicalTime,
    /// Its last advance while regulating was one of 8.8 or 8.10.
    pub exclusive: bool,
    /// Of a regulating federate, as asked for last.
    pub lookahead: Option<LogicalTimeInterval>,
    /// What it has promised by an earlier, longer lookahead, or has to keep to for others.
    pub floor: Option<Bound>,
    /// What lookahead was in effect when it was changed last, and at which time that was.
    pub shrinks: Option<(LogicalTimeInterval, LogicalTime)>,
    /// What was asked for and is not granted yet.
    pub advance: Option<(Advance, LogicalTime)>,
}

/// A deletion in time-stamp order that is not done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The message that deletes.
    pub message: Message,
    /// The class at which the sender knew the instance.
    pub class: ObjectClassHandle,
    /// Those who have not come to its time.
    pub waiting: BTreeSet<FederateHandle>,
    /// Those who have, with the classes at which they knew the instance, and whether they have still to say so.
    pub knew: BTreeMap<FederateHandle, (ObjectClassHandle, Option<LogIndex>)>,
    /// The later deletion of a federate that has left, in whose place this one is: it holds if this one is retracted.
    pub then: Option<Message>,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// The type of logical times.
    pub time_type: TimeType,
    /// Its clock.
    pub clock: Clock,
    /// While it waits for its next message, or flushes its queue: the time of a grant that it has passed over, as it
    /// wanted none of the messages any more for whose sake it was no later. By its promises it is there. Flushing, it has
    /// said that the first message which it wants is at the other time.
    pub passed_over: Option<(LogicalTime, Option<LogicalTime>)>,
    /// Time regulation was asked for with this lookahead.
    pub enabling: Option<LogicalTimeInterval>,
    /// How far being constrained has come.
    pub constraint: Constraint,
    /// Asynchronous delivery is enabled.
    pub asynchronous: bool,
    /// The number of the last message sent in time-stamp order.
    pub last_number: u64,
    /// Messages that may be retracted once their time stamps are late enough, by number.
    pub sent: BTreeMap<u64, Sent>,
    /// Messages of others that were delivered and may be retracted: sender, number there, time stamp.
    pub delivered: Vec<(FederateHandle, u64, LogicalTime)>,
    /// Instances that others have deleted by such messages.
    pub deleted: Deleted,
    /// The executive's answer to the last query: GALT and LITS, where they are defined.
    pub bounds: Option<(Option<LogicalTime>, Option<LogicalTime>)>,
    /// Interaction classes whose order type is not the FDD's.
    pub orders: BTreeMap<InteractionClassHandle, Order>,
}

/// Instances that others have deleted by messages that may be retracted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deleted {
    /// The removal was delivered, and this federate owned attributes of it, or wanted any.
    pub kept: BTreeMap<ObjectInstanceHandle, KnownInstance>,
    /// The message was retracted before the removal was delivered.
    pub restored: BTreeSet<ObjectInstanceHandle>,
}

/// How far being constrained has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Not asked for.
    Off,
    /// Asked for.
    Pending,
    /// In the stream; the federate has not been told.
    Begun,
    /// The federate is constrained.
    On,
}

/// A message sent in time-stamp order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Its time stamp.
    pub time: LogicalTime,
    /// What it deletes, to be there again if it is retracted.
    pub deletes: Option<(ObjectInstanceHandle, KnownInstance)>,
}
