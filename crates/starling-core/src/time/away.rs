//! What is said to a federate of instances that it does not know for now: it has deleted them, or was told that they are removed,
//! by a message that may still be retracted. It is told when they are known again.
//!
//! Of each attribute the last of a kind stands for those before it, and its bytes count among what is withheld: so
//! others can't make it much.

use crate::delivery::Queued;
use crate::held::Held;
use crate::kept::ENTRY_BYTES;
use crate::message::object::Entry;
use crate::message::{LogIndex, RequestNumber};
use crate::object::receive::QueuedObject;
use crate::ownership::OwnershipNotice;
use crate::ownership::federate::{QueuedNotice, QueuedOwnership};
use crate::{AttributeHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;

/// By instance.
#[derive(Default)]
pub(crate) struct Away {
    of: BTreeMap<ObjectInstanceHandle, Told>,
    /// What all of it takes in memory, about.
    bytes: usize,
}

#[derive(Default)]
struct Told {
    notices: BTreeMap<(OwnershipNotice, AttributeHandle), Notice>,
    /// Confirmations of changes of transportation types, of which each attribute has one at most.
    confirmed: Vec<Entry>,
}

/// When it was said, and with which tag.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Notice {
    index: LogIndex,
    as_of: RequestNumber,
    tag: Vec<u8>,
}

impl Notice {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.tag.len()
    }
}

impl Away {
    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps what a notice says of one of its attributes.
    pub(crate) fn put(&mut self, attribute: AttributeHandle, said: &QueuedNotice) {
        let notice = Notice {
            index: said.index,
            as_of: said.as_of,
            tag: said.tag.clone(),
        };
        self.bytes += notice.bytes();
        let told = self.of.entry(said.instance).or_default();
        let former = told.notices.insert((said.notice, attribute), notice);
        self.bytes -= former.map_or(0, |former| former.bytes());
    }

    /// Keeps a confirmation.
    pub(crate) fn put_confirmation(&mut self, instance: ObjectInstanceHandle, confirmed: Entry) {
        self.bytes += ENTRY_BYTES + confirmed.held();
        let told = self.of.entry(instance).or_default();
        told.confirmed.push(confirmed);
    }

    /// Whether an acquisition of an attribute was granted.
    pub(crate) fn was_granted(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> bool {
        let told = self.of.get(&instance);
        let granted = (OwnershipNotice::Acquired, attribute);
        told.is_some_and(|told| told.notices.contains_key(&granted))
    }

    /// An attribute of an instance is none of the federate's any more.
    pub(crate) fn forget(&mut self, instance: ObjectInstanceHandle, attribute: AttributeHandle) {
        let Some(told) = self.of.get_mut(&instance) else {
            return;
        };
        let bytes = &mut self.bytes;
        told.notices.retain(|(_, of), notice| {
            let stays = *of != attribute;
            *bytes -= if stays { 0 } else { notice.bytes() };
            stays
        });
    }

    /// Whether anything was said of an instance.
    pub(crate) fn has(&self, instance: ObjectInstanceHandle) -> bool {
        self.of.contains_key(&instance)
    }

    /// Takes what waits for delivery, if it is of this instance and of what is kept here; whether it is.
    pub(crate) fn take_in(&mut self, instance: ObjectInstanceHandle, waiting: &Queued) -> bool {
        match waiting {
            Queued::Ownership(QueuedOwnership::Notice(said)) if said.instance == instance => {
                said.attributes.iter().for_each(|a| self.put(*a, said));
                true
            }
            Queued::Object(QueuedObject::Transportation(entry)) => {
                let of = match **entry {
                    Entry::AttributeTransportationChanged { instance: of, .. } => Some(of),
                    _ => None,
                };
                let is_of_it = of == Some(instance);
                if is_of_it {
                    self.put_confirmation(instance, entry.as_ref().clone());
                }
                is_of_it
            }
            _ => false,
        }
    }

    /// All that was said of an instance, in order.
    pub(crate) fn take(&mut self, instance: ObjectInstanceHandle) -> Vec<Queued> {
        let Some(told) = self.of.remove(&instance) else {
            return Vec::new();
        };
        self.bytes -= told.bytes();
        told.queued(instance)
    }

    /// All there is, for a save: where it is put back as what waits, it is kept again.
    pub(crate) fn all(&self) -> impl Iterator<Item = Queued> + '_ {
        let all = self.of.iter();
        all.flat_map(|(instance, told)| told.queued(*instance))
    }
}

impl Told {
    fn bytes(&self) -> usize {
        let notices = self.notices.values().map(Notice::bytes);
        let confirmed = self.confirmed.iter().map(|e| ENTRY_BYTES + e.held());
        notices.chain(confirmed).sum()
    }

    fn queued(&self, instance: ObjectInstanceHandle) -> Vec<Queued> {
        let mut together: BTreeMap<_, Vec<AttributeHandle>> = BTreeMap::new();
        for ((notice, attribute), said) in &self.notices {
            let attributes = together.entry((said, *notice)).or_default();
            attributes.push(*attribute);
        }
        let confirmed = self.confirmed.iter().map(|entry| {
            let confirmed = QueuedObject::Transportation(Box::new(entry.clone()));
            Queued::from(confirmed)
        });
        let notices = together.into_iter().map(|((said, notice), attributes)| {
            let notice = QueuedNotice {
                notice,
                instance,
                attributes,
                tag: said.tag.clone(),
                index: said.index,
                as_of: said.as_of,
            };
            Queued::from(QueuedOwnership::Notice(Box::new(notice)))
        });
        confirmed.chain(notices).collect()
    }
}
