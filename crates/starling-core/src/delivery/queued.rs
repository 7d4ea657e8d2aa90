//! What each room says of its own that waits for the federate.

use crate::Callback;
use crate::FederateHandle;
use crate::content::Piece;
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
use crate::{ObjectInstanceHandle, Order, Transportation};

/// What has not been delivered yet, by room.
#[derive(Debug)]
pub(crate) enum Queued {
    /// In a box, so that data, which is what mostly waits, stays small.
    Federation(Box<Callback>),
    Declaration(QueuedAdvisory),
    /// Data as most is.
    Plain(Plain),
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
            _ => None,
        }
    }
}

impl Queued {
    pub(super) fn save(&self) -> Option<saved::Queued> {
        Some(match self {
            Queued::Plain(plain) => QueuedObject::from(plain.clone()).save(),
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
            Queued::Plain(_) => unreachable!("what is put apart is an object's"),
        }
    }

    /// Whether it is values that have come.
    pub(super) fn is_data(&self) -> bool {
        matches!(
            self,
            Queued::Plain(_)
                | Queued::Object(QueuedObject::Reflect { .. } | QueuedObject::Receive { .. })
        )
    }

    pub(super) fn is_of_save(&self) -> bool {
        matches!(self, Queued::Save(_))
    }

    pub(super) fn is_in_receive_order(&self) -> bool {
        match self {
            Queued::Plain(_) => true,
            Queued::Object(queued) => queued.received_order() == Some(Order::Receive),
            _ => false,
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
