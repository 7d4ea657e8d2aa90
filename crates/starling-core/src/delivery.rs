//! What waits for the federate: callbacks, in the order in which the log and data brought them
//! about.
//!
//! Each room says what of its own waits; what depends on the federate's declarations and on what it
//! owns is decided when its turn comes, so most of it is not a [`Callback`] yet. Which of it may be
//! delivered now is decided here alone, by [`Delivery::next`] and [`Delivery::has_next`]: today
//! whatever comes first.
//!
//! Invariant: `bytes` is the sum over all that waits.

use crate::Callback;
use crate::ddm::receive::RegionsGone;
use crate::declaration::QueuedAdvisory;
use crate::object::receive::QueuedObject;
use crate::ownership::federate::QueuedOwnership;
use std::collections::VecDeque;

/// What has not been delivered yet, by room.
#[derive(Debug)]
pub(crate) enum Queued {
    Federation(Callback),
    Declaration(QueuedAdvisory),
    Object(QueuedObject),
    Ownership(QueuedOwnership),
    Ddm(RegionsGone),
}

/// The callback queue.
#[derive(Default)]
pub(crate) struct Delivery {
    queue: VecDeque<Queued>,
    /// Memory that waiting values and tags take, about.
    bytes: usize,
    /// The federate has resigned: nothing is delivered to it any more.
    ended: bool,
}

impl Delivery {
    /// Puts something behind all that waits.
    pub(crate) fn push(&mut self, queued: impl Into<Queued>) {
        if self.ended {
            return;
        }
        let queued = queued.into();
        self.bytes += queued.bytes();
        self.queue.push_back(queued);
    }

    /// What is to be delivered now. It may turn out to be nothing any more: then ask again.
    pub(crate) fn next(&mut self) -> Option<Queued> {
        let queued = self.queue.pop_front()?;
        self.bytes -= queued.bytes();
        Some(queued)
    }

    /// Whether there is anything to be delivered now.
    pub(crate) fn has_next(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether nothing waits at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many callbacks may wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// What waits, in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes out what is of no use any more.
    pub(crate) fn withdraw(&mut self, is_void: impl Fn(&Queued) -> bool) {
        let bytes = &mut self.bytes;
        self.queue.retain(|queued| {
            let void = is_void(queued);
            if void {
                *bytes -= queued.bytes();
            }
            !void
        });
    }

    /// The federate resigns: what waits is dropped, and all that would yet come.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.queue.clear();
        self.bytes = 0;
    }
}

impl Queued {
    /// What values and tags take in memory, about.
    #[inline]
    fn bytes(&self) -> usize {
        match self {
            Queued::Object(queued) => queued.bytes(),
            _ => 0,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{LogIndex, PayloadBuf};
    use crate::object::receive::Received;
    use crate::{FederateHandle, InteractionClassHandle, Transportation, ValuesBuf};

    fn interaction(tag: usize) -> QueuedObject {
        QueuedObject::Receive {
            class: InteractionClassHandle::from_raw(1),
            received: Received {
                sender: FederateHandle(1),
                sender_applied: LogIndex(1),
                payload: PayloadBuf {
                    transportation: Transportation::Reliable,
                    values: ValuesBuf::default(),
                    tag: vec![0; tag],
                    address: None,
                },
            },
        }
    }

    #[test]
    fn bytes_are_those_of_what_waits() {
        let mut delivery = Delivery::default();
        delivery.push(interaction(0));
        let empty = delivery.bytes();
        delivery.push(QueuedAdvisory::Interactions(
            InteractionClassHandle::from_raw(1),
            true,
        ));
        delivery.push(interaction(1_000));
        delivery.push(interaction(10));
        assert_eq!(delivery.bytes(), 3 * empty + 1_010);
        let long = |q: &Queued| q.bytes() > 1_000;
        delivery.withdraw(long);
        assert_eq!(delivery.bytes(), 2 * empty + 10);
        assert!(matches!(delivery.next(), Some(Queued::Object(_))));
        assert_eq!(delivery.bytes(), empty + 10);
        assert!(matches!(delivery.next(), Some(Queued::Declaration(_))));
        assert_eq!(delivery.bytes(), empty + 10);
        delivery.end();
        delivery.push(interaction(10));
        assert_eq!((delivery.bytes(), delivery.has_next()), (0, false));
    }
}
