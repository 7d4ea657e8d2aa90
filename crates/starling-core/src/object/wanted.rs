//! Whether a message that waits in time-stamp order would be delivered, for Next Message Request and
//! LITS: by the same rules by which it is when its turn comes (`receive.rs`).

use super::receive::{QueuedObject, Received};
use crate::callback::NamedValues;
use crate::delivery::Queued;
use crate::{Federate, InteractionClassHandle, ObjectInstanceHandle};

impl Federate {
    /// Whether it would be delivered if its turn came now.
    pub(crate) fn wants(&self, message: &Queued) -> bool {
        match message {
            Queued::Timed(timed) => self.wants_object(&timed.clone().into()),
            Queued::Object(queued) => self.wants_object(queued),
            _ => true,
        }
    }

    fn wants_object(&self, message: &QueuedObject) -> bool {
        match message {
            QueuedObject::Reflect { instance, received } => {
                self.wants_reflection(*instance, received)
            }
            QueuedObject::Receive { class, received } => self.wants_interaction(*class, received),
            QueuedObject::Remove { instance, .. } => self.objects.get(*instance).is_some(),
            _ => true,
        }
    }

    fn wants_reflection(&self, instance: ObjectInstanceHandle, received: &Received) -> bool {
        let Some(known) = self.objects.get(instance) else {
            return false;
        };
        let (sent, class) = (known.registered_class(), known.known_class());
        let applied = self.judged_from(received.sender_applied, received.order);
        let payload = &received.payload;
        let values = payload.content.values();
        if let Some(with) = payload.address()
            && with.regions().next().is_some()
        {
            let handles = self.attributes_with_regions(values, sent, class, applied, with);
            return NamedValues::iter_of(&payload.content, &handles).any(|(a, _)| !known.owns(a));
        }
        let attributes = self.model.object_class(sent);
        let attributes = attributes.map_or(&[][..], |c| &c.attributes);
        let mut sent = values.iter();
        sent.any(|(slot, _)| {
            let attribute = attributes.get(slot as usize);
            attribute.is_some_and(|a| {
                let since = self.attribute_wanted(class, *a);
                since.is_some_and(|s| s <= applied) && !known.owns(*a)
            })
        })
    }

    fn wants_interaction(&self, class: InteractionClassHandle, received: &Received) -> bool {
        let applied = self.judged_from(received.sender_applied, received.order);
        let mut lineage = self.model.interaction_lineage(class);
        let at = lineage.find(|c| {
            let since = self.interaction_wanted(c.handle);
            since.is_some_and(|s| s <= applied)
        });
        at.is_some_and(|at| {
            let with = received.payload.address();
            with.is_none_or(|w| self.receives_with_regions(class, at.handle, applied, w))
        })
    }

    /// A message is not delivered, as this federate does not want it. What else its delivery brings about comes
    /// about: what it has deleted itself may be gone by another's deletion.
    #[cold]
    pub(crate) fn pass_over(&mut self, message: QueuedObject) {
        let delivered = self.deliver_object(message);
        debug_assert!(delivered.is_none(), "it is not wanted: {delivered:?}");
    }
}
