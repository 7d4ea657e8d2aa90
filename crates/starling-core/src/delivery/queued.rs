//! What each room says of its own that waits for the federate.

use crate::Callback;
use crate::FederateHandle;
use crate::content::{Piece, Place};
use crate::ddm::receive::RegionsGone;
use crate::declaration::QueuedAdvisory;
use crate::federation::save::QueuedSave;
use crate::held::Held;
use crate::message::{LogIndex, federation};
use crate::object::receive::{QueuedObject, Received};
use crate::ownership::federate::QueuedOwnership;
use crate::saved::delivery as saved;
use crate::time::by_time::Keyed;
use crate::time::federate::QueuedTime;
use crate::{
    LogicalTime, MessageRetractionHandle, ObjectInstanceHandle, Order, TimeType, Transportation,
};

/// What has not been delivered yet, by room.
#[derive(Debug)]
pub(crate) enum Queued {
    /// In a box, so that data, which is what mostly waits, stays small.
    Federation(Box<Callback>),
    Declaration(QueuedAdvisory),
    /// Data as most is.
    Plain(Plain),
    /// The same in time-stamp order.
    Timed(Timed),
    Object(QueuedObject),
    Ownership(QueuedOwnership),
    Ddm(RegionsGone),
    Time(QueuedTime),
    Save(QueuedSave),
}

/// Values in receive order without time and regions, where they came. Flat, as it is moved for each update.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) piece: Piece,
    /// The number of the instance's handle, or of the sent class's.
    pub(crate) what: u64,
    /// Up to where the sender had applied the log.
    pub(crate) sender_applied: LogIndex,
    pub(crate) sender: FederateHandle,
    pub(crate) transportation: Transportation,
    pub(crate) is_update: bool,
}

impl Plain {
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        size_of::<Queued>() + self.piece.bytes()
    }
}

/// Values in time-stamp order without regions, where they came. As flat.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) piece: Piece,
    /// As of [`Plain`].
    pub(crate) what: u64,
    pub(crate) sender_applied: LogIndex,
    /// Its sender, and its number there.
    pub(crate) retraction: MessageRetractionHandle,
    /// Its time stamp, which is of this type.
    pub(crate) bits: u64,
    pub(crate) of: TimeType,
    /// The order in which it is received.
    pub(crate) order: Order,
    pub(crate) transportation: Transportation,
    pub(crate) is_update: bool,
}

impl Timed {
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        Self::bytes_at(self.piece.place)
    }

    /// Of one whose values stand there.
    #[inline]
    pub(crate) fn bytes_at(place: Place) -> usize {
        size_of::<Queued>() + place.bytes()
    }

    /// Its time stamp.
    #[inline]
    pub(crate) fn time(&self) -> LogicalTime {
        LogicalTime::from_bits(self.of, self.bits).expect("they are of a time")
    }

    #[inline]
    pub(crate) fn sender(&self) -> FederateHandle {
        self.retraction.sender()
    }
}

// Data is mostly what waits, and is moved from here to there: what is rare goes into a box.
const _: () = assert!(size_of::<Queued>() <= 72);
const _: () = assert!(size_of::<Callback>() <= 88);

/// What may not be conflated across a callback.
pub(super) enum Fenced<'a> {
    Nothing,
    /// Values of the same attributes of an instance.
    Values(ObjectInstanceHandle, &'a Received),
    Instance(ObjectInstanceHandle),
    All,
}

/// A message that was sent in time-stamp order: its sender, and its number there.
pub(super) type Message = (FederateHandle, u64);

impl Keyed for Queued {
    type Key = Message;

    fn key(&self) -> Option<Message> {
        #[cfg(test)]
        super::tests::LOOKS.set(super::tests::LOOKS.get() + 1);
        match self {
            Queued::Object(queued) => queued.message(),
            Queued::Timed(timed) => Some((timed.sender(), timed.retraction.number())),
            _ => None,
        }
    }
}

impl Queued {
    pub(crate) fn save(&self) -> Option<saved::Queued> {
        Some(match self {
            Queued::Plain(plain) => QueuedObject::from(plain.clone()).save(),
            Queued::Timed(timed) => QueuedObject::from(timed.clone()).save(),
            Queued::Federation(callback) => saved::Queued::Federation(federation_entry(callback)?),
            Queued::Declaration(QueuedAdvisory::Registration(class, wanted)) => {
                saved::Queued::Registration(*class, *wanted)
            }
            Queued::Declaration(QueuedAdvisory::Interactions(class, wanted)) => {
                saved::Queued::Interactions(*class, *wanted)
            }
            Queued::Object(queued) => queued.save(),
            Queued::Ownership(queued) => queued.save(),
            Queued::Ddm(gone) => gone.save(),
            Queued::Time(queued) => saved::Queued::Time(*queued),
            // What was said of a save while it was made means nothing later.
            Queued::Save(_) => return None,
        })
    }

    /// What it takes in memory, about.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        match self {
            Queued::Plain(plain) => plain.bytes(),
            Queued::Timed(timed) => timed.bytes(),
            Queued::Object(
                QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. },
            ) => size_of::<Queued>() + received.payload.held(),
            other => other.bytes_otherwise(),
        }
    }

    fn bytes_otherwise(&self) -> usize {
        let elsewhere = match self {
            Queued::Object(queued) => queued.held(),
            Queued::Federation(callback) => callback.held(),
            Queued::Ownership(queued) => queued.held(),
            Queued::Save(queued) => queued.held(),
            Queued::Plain(plain) => plain.piece.bytes(),
            Queued::Timed(timed) => timed.piece.bytes(),
            Queued::Declaration(_) | Queued::Ddm(_) | Queued::Time(_) => 0,
        };
        size_of::<Queued>() + elsewhere
    }

    /// Of what reflections must not be moved before it by a newer one.
    pub(super) fn fenced(&self) -> Fenced<'_> {
        match self {
            Queued::Object(queued) => match queued {
                QueuedObject::Reflect { instance, received } => Fenced::Values(*instance, received),
                QueuedObject::Discover(instance)
                | QueuedObject::Remove { instance, .. }
                | QueuedObject::Scope { instance, .. } => Fenced::Instance(*instance),
                QueuedObject::NamesReserved { .. }
                | QueuedObject::Receive { .. }
                | QueuedObject::Provide(_)
                | QueuedObject::Transportation(_)
                | QueuedObject::Updates { .. } => Fenced::Nothing,
            },
            Queued::Ownership(QueuedOwnership::Notice(notice)) => Fenced::Instance(notice.instance),
            Queued::Ownership(QueuedOwnership::Report(..)) | Queued::Declaration(_) => {
                Fenced::Nothing
            }
            Queued::Federation(_) | Queued::Ddm(_) | Queued::Time(_) | Queued::Save(_) => {
                Fenced::All
            }
            Queued::Plain(_) | Queued::Timed(_) => {
                unreachable!("what is put apart is an object's")
            }
        }
    }

    /// Whether it is values that have come.
    pub(super) fn is_data(&self) -> bool {
        matches!(
            self,
            Queued::Plain(_)
                | Queued::Timed(_)
                | Queued::Object(QueuedObject::Reflect { .. } | QueuedObject::Receive { .. })
        )
    }

    pub(super) fn is_of_save(&self) -> bool {
        matches!(self, Queued::Save(_))
    }

    pub(super) fn is_in_receive_order(&self) -> bool {
        self.received_order() == Some(Order::Receive)
    }

    /// The order in which it is received, if it is a message (§8.1).
    pub(super) fn received_order(&self) -> Option<Order> {
        match self {
            Queued::Plain(_) => Some(Order::Receive),
            Queued::Timed(timed) => Some(timed.order),
            Queued::Object(queued) => queued.received_order(),
            _ => None,
        }
    }

    /// The time stamp of a message that has one.
    pub(super) fn time(&self) -> Option<LogicalTime> {
        match self {
            Queued::Timed(timed) => Some(timed.time()),
            Queued::Object(queued) => queued.time(),
            _ => None,
        }
    }

    /// Changes that, of a message in time-stamp order.
    #[inline]
    pub(super) fn set_received_order(&mut self, now: Order) {
        match self {
            Queued::Timed(timed) => timed.order = now,
            Queued::Object(queued) => queued.set_received_order(now),
            _ => {}
        }
    }

    /// As an object's, if it is.
    pub(super) fn into_object(self) -> Option<QueuedObject> {
        match self {
            Queued::Plain(plain) => Some(plain.into()),
            Queued::Timed(timed) => Some(timed.into()),
            Queued::Object(queued) => Some(queued),
            _ => None,
        }
    }
}

/// The entry that brought about a callback of federation management.
fn federation_entry(callback: &Callback) -> Option<federation::Entry> {
    match callback.clone() {
        Callback::SynchronizationPointRegistered { label, failure } => {
            Some(federation::Entry::SynchronizationPointRegistered { label, failure })
        }
        Callback::AnnounceSynchronizationPoint { label, tag } => {
            Some(federation::Entry::SynchronizationPointAnnounced { label, tag })
        }
        Callback::FederationSynchronized { label, failed } => {
            Some(federation::Entry::FederationSynchronized { label, failed })
        }
        _ => None,
    }
}

impl From<Callback> for Queued {
    /// One of federation management: those of other rooms wait as something of their own.
    fn from(callback: Callback) -> Self {
        Queued::Federation(Box::new(callback))
    }
}

impl From<QueuedTime> for Queued {
    fn from(queued: QueuedTime) -> Self {
        Queued::Time(queued)
    }
}

impl From<QueuedAdvisory> for Queued {
    fn from(queued: QueuedAdvisory) -> Self {
        Queued::Declaration(queued)
    }
}

impl From<QueuedObject> for Queued {
    #[inline]
    fn from(queued: QueuedObject) -> Self {
        Queued::Object(queued)
    }
}

impl From<QueuedOwnership> for Queued {
    fn from(queued: QueuedOwnership) -> Self {
        Queued::Ownership(queued)
    }
}

impl From<RegionsGone> for Queued {
    fn from(queued: RegionsGone) -> Self {
        Queued::Ddm(queued)
    }
}
