//! Object management at the receiving federate: from applied entries and data to callbacks.
//!
//! A subscription counts from its place in the log: a value is delivered if its sender had applied
//! that place when it sent it. So a subscription ended and made again is a new one, and what was
//! sent for the old one can't leave a gap in it (found by the simulator).

use super::federate::Instance;
use super::transportation::Changes;
use crate::callback::{Callback, NamedValues};
use crate::ddm::address::AddressBuf;
use crate::delivery::Queued;
use crate::handles::HandleMap;
use crate::message::{
    Data, DataBody, Discovery, LogIndex, Payload, PayloadBuf, default_instance_name,
};
use crate::{
    AttributeHandle, Federate, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, ProtocolError,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A callback of this chapter that is not delivered yet. What depends on the federate's
/// subscriptions is decided at delivery.
#[derive(Debug)]
pub(crate) enum QueuedObject {
    /// (Multiple) Object Instance Name(s) Reserved.
    NamesReserved {
        names: Vec<String>,
        multiple: bool,
        succeeded: bool,
    },
    Discover(ObjectInstanceHandle),
    Reflect {
        instance: ObjectInstanceHandle,
        received: Received,
    },
    Receive {
        class: InteractionClassHandle,
        received: Received,
    },
    Remove {
        instance: ObjectInstanceHandle,
        tag: Vec<u8>,
        producer: FederateHandle,
    },
    /// Of those in `Federate::wanted`.
    Provide(Wanted),
    /// Confirmation or report of a transportation type.
    Transportation(Callback),
    /// Attributes In or Out Of Scope.
    Scope {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        inside: bool,
    },
    /// Turn Updates On (with this rate designator) or Off For Object Instance.
    Updates {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        rate: Option<String>,
    },
}

/// Values that have come.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) sender: FederateHandle,
    /// Up to where the sender had applied the log.
    pub(crate) sender_applied: LogIndex,
    pub(crate) payload: PayloadBuf,
}

impl QueuedObject {
    /// What values and tag take in memory, about.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                let payload = &received.payload;
                size_of::<Queued>() + payload.values.bytes() + payload.tag.len()
            }
            _ => 0,
        }
    }
}

/// An instance whose values are wanted, the tag of the request, and how many acquisitions had come
/// before it: the values of what is acquired are not asked for before its notification.
pub(crate) type Wanted = (ObjectInstanceHandle, Vec<u8>, u64);

/// By slot of the sent class: the handle that the receiver gets it as, if it does.
type SlotMap<H> = Arc<Vec<Option<H>>>;

/// What can be said of a class once for all frames that are late enough.
#[derive(Clone)]
struct Prepared<T> {
    /// It holds for frames whose sender had applied the log up to here.
    from: LogIndex,
    map: T,
}

/// The class at which interactions of a sent class are received, and their parameters there.
type ReceivedAs = (InteractionClassHandle, SlotMap<ParameterHandle>);

/// By sent class and class of receipt.
#[derive(Default)]
pub(crate) struct ReceiveMaps {
    objects: HandleMap<(ObjectClassHandle, ObjectClassHandle), Prepared<SlotMap<AttributeHandle>>>,
    interactions: HandleMap<InteractionClassHandle, Prepared<Option<ReceivedAs>>>,
}

impl ReceiveMaps {
    /// Own subscriptions, as called or as applied, or the FDD have changed.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.interactions.clear();
    }
}

impl Federate {
    pub(crate) fn apply_discovery(&mut self, d: Discovery) -> Result<(), ProtocolError> {
        let known = |class| self.model.object_class(class).is_some();
        if !known(d.registered_class) || !known(d.known_class) {
            return Err(ProtocolError(format!(
                "{} is of a class that the FDD here does not have",
                d.instance
            )));
        }
        let name = match d.name.is_empty() {
            true => default_instance_name(d.instance),
            false => d.name,
        };
        let instance = Instance {
            registered_class: d.registered_class,
            known_class: d.known_class,
            name,
            owned: Vec::new(),
            transportations: Changes::default(),
            discovered: false,
            removed: false,
        };
        if self.instances.insert(d.instance, instance).is_some() {
            return Err(ProtocolError(format!("{} discovered twice", d.instance)));
        }
        self.delivery.push(QueuedObject::Discover(d.instance));
        Ok(())
    }

    pub(crate) fn apply_removal(
        &mut self,
        instance: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: Vec<u8>,
    ) {
        // Not there: locally deleted meanwhile.
        if let Some(known) = self.instances.get_mut(&instance) {
            known.removed = true;
            self.delivery.push(QueuedObject::Remove {
                instance,
                tag,
                producer,
            });
        }
    }

    /// Requests for values of one instance with one tag become one callback, however many come
    /// before it is delivered.
    pub(crate) fn apply_wanted(
        &mut self,
        wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
        tag: &[u8],
    ) {
        for (instance, attributes) in wanted {
            let wanted = (instance, tag.to_vec(), self.ownership.acquisitions());
            let together = self.wanted.entry(wanted.clone()).or_insert_with(|| {
                self.delivery.push(QueuedObject::Provide(wanted));
                BTreeSet::new()
            });
            together.extend(attributes);
        }
    }

    pub(crate) fn apply_data(&mut self, data: &Data<'_>) -> Result<(), ProtocolError> {
        let received = |payload: Payload<'_>| Received {
            sender: data.sender,
            sender_applied: data.after.index,
            payload: payload.to_buf(),
        };
        match data.body {
            DataBody::Update { instance, payload } => {
                if !self.instances.contains_key(&instance) {
                    self.counters.unknown += 1;
                    return Ok(());
                }
                let received = received(payload);
                self.delivery
                    .push(QueuedObject::Reflect { instance, received });
            }
            DataBody::Interaction { class, payload } => {
                if self.model.interaction_class(class).is_none() {
                    return Err(ProtocolError(format!(
                        "interaction of class {class}, which the FDD here does not have"
                    )));
                }
                let received = received(payload);
                self.delivery
                    .push(QueuedObject::Receive { class, received });
            }
            DataBody::Fence { .. } => unreachable!("the ordering layer keeps fences"),
        }
        self.counters.queued += 1;
        Ok(())
    }

    /// What a queued callback is now, if it still is one.
    pub(crate) fn deliver_object(&mut self, queued: QueuedObject) -> Option<Callback> {
        match queued {
            QueuedObject::NamesReserved {
                names,
                multiple,
                succeeded,
            } => {
                if succeeded {
                    self.reserved_names.extend(names.iter().cloned());
                }
                Some(Callback::NamesReserved {
                    names,
                    multiple,
                    succeeded,
                })
            }
            QueuedObject::Transportation(callback) => self.deliver_transportation(callback),
            QueuedObject::Scope {
                instance,
                attributes,
                inside,
            } => self.deliver_scope(instance, attributes, inside),
            QueuedObject::Updates {
                instance,
                attributes,
                rate,
            } => self.deliver_updates(instance, attributes, rate),
            QueuedObject::Discover(instance) => {
                let known = self.instances.get_mut(&instance)?;
                known.discovered = true;
                let (class, name) = (known.known_class, known.name.clone());
                self.instance_names.insert(name.clone(), instance);
                let registrar = instance.registrar().federate();
                Some(Callback::DiscoverObjectInstance {
                    instance,
                    class,
                    name,
                    producer: registrar.and_then(|r| self.conveyed(r)),
                })
            }
            QueuedObject::Reflect { instance, received } => {
                self.deliver_reflection(instance, received)
            }
            QueuedObject::Receive { class, received } => self.deliver_interaction(class, received),
            QueuedObject::Remove {
                instance,
                tag,
                producer,
            } => {
                // Locally deleted after the removal was applied: nothing to tell any more.
                let known = self.instances.remove(&instance)?;
                self.instance_names.remove(&known.name);
                self.forget_ownership(instance);
                self.regions.forget_instance(instance);
                Some(Callback::RemoveObjectInstance {
                    instance,
                    tag,
                    producer: self.conveyed(producer),
                })
            }
            QueuedObject::Provide(wanted) => {
                let together = self.wanted.remove(&wanted).unwrap_or_default();
                let (instance, tag, _) = wanted;
                let known = self.instances.get(&instance)?;
                let owned = |a: &AttributeHandle| known.owned.contains(a);
                let attributes: Vec<_> = together.into_iter().filter(owned).collect();
                (!attributes.is_empty()).then_some(Callback::ProvideAttributeValueUpdate {
                    instance,
                    attributes,
                    tag,
                })
            }
        }
    }

    fn deliver_reflection(
        &mut self,
        instance: ObjectInstanceHandle,
        received: Received,
    ) -> Option<Callback> {
        let Received {
            sender,
            sender_applied,
            payload,
        } = received;
        let Some(known) = self.instances.get(&instance).filter(|i| i.discovered) else {
            self.counters.unknown += 1;
            return None;
        };
        let classes = (known.registered_class, known.known_class);
        // One that names its receivers only is sent with the default region.
        let with = payload.address.as_ref().map(AddressBuf::borrow);
        let with = with.filter(|w| w.regions().next().is_some());
        let values = if let Some(with) = with {
            self.named_with_regions(payload.values, classes.0, classes.1, sender_applied, with)
        } else {
            NamedValues {
                values: payload.values,
                handles: self.attribute_map(classes.0, classes.1, sender_applied),
            }
        };
        if values.iter().next().is_none() {
            self.counters.unsubscribed += 1;
            return None;
        }
        let dimensions = |a| {
            self.model
                .attribute(a)
                .is_some_and(|a| !a.dimensions.is_empty())
        };
        let has_dimensions = values.iter().any(|(a, _)| dimensions(a));
        Some(Callback::ReflectAttributeValues {
            instance,
            values,
            tag: payload.tag,
            transportation: payload.transportation,
            producer: self.conveyed(sender),
            regions: self.conveyed_regions(has_dimensions, with),
        })
    }

    fn deliver_interaction(
        &mut self,
        class: InteractionClassHandle,
        received: Received,
    ) -> Option<Callback> {
        let Received {
            sender,
            sender_applied,
            payload,
        } = received;
        let with = payload.address.as_ref().map(AddressBuf::borrow);
        let sent = self.model.interaction_class(class);
        let has_dimensions = sent.is_some_and(|c| !c.dimensions.is_empty());
        let received = self
            .parameter_map(class, sender_applied)
            .filter(|(received, _)| {
                with.is_none_or(|w| self.receives_with_regions(class, *received, sender_applied, w))
            });
        let Some((class, handles)) = received else {
            self.counters.unsubscribed += 1;
            return None;
        };
        Some(Callback::ReceiveInteraction {
            class,
            values: NamedValues {
                values: payload.values,
                handles,
            },
            tag: payload.tag,
            transportation: payload.transportation,
            producer: self.conveyed(sender),
            regions: self.conveyed_regions(has_dimensions, with),
        })
    }

    /// The producing federate as callbacks convey it: only with the FDD's switch Convey Producing
    /// Federate (§6.1.7).
    fn conveyed(&self, producer: FederateHandle) -> Option<FederateHandle> {
        let conveyed = self.model.switches().convey_producing_federate;
        conveyed.then_some(producer)
    }

    /// From which log index on a frame's values of an attribute are for this federate; none if
    /// it has not subscribed, or the log has not got to its last subscription.
    fn attribute_wanted(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let without = self.attribute_wanted_without(class, attribute);
        let with = self.attribute_wanted_with_any(class, attribute);
        without.into_iter().chain(with).min()
    }

    /// From which log index on a frame's values of an attribute are for a subscription without
    /// regions; none if there is none, or the log has not got to it.
    pub(crate) fn attribute_wanted_without(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let asked = self.mine.attribute_since(self.me, class, attribute)?;
        let since = self
            .subscriptions
            .attribute_since(self.me, class, attribute)?;
        (asked <= self.log.own_requests()).then_some(since)
    }

    fn interaction_wanted(&self, class: InteractionClassHandle) -> Option<LogIndex> {
        let without = self.interaction_wanted_without(class);
        let with = self.interaction_wanted_with_any(class);
        without.into_iter().chain(with).min()
    }

    /// From which log index on an interaction is for a subscription without regions; none if there
    /// is none, or the log has not got to it.
    pub(crate) fn interaction_wanted_without(
        &self,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let asked = self.mine.interaction_since(self.me, class)?;
        let since = self.subscriptions.interaction_since(self.me, class)?;
        (asked <= self.log.own_requests()).then_some(since)
    }

    fn attribute_map(
        &mut self,
        sent: ObjectClassHandle,
        received: ObjectClassHandle,
        sender_applied: LogIndex,
    ) -> SlotMap<AttributeHandle> {
        if let Some(ready) = self.maps.objects.get(&(sent, received))
            && ready.from <= sender_applied
        {
            return ready.map.clone();
        }
        let attributes = self.model.object_class(sent);
        let attributes = attributes.map_or(&[][..], |c| &c.attributes);
        let mut from = LogIndex::default();
        let map = attributes.iter().map(|a| {
            let since = self.attribute_wanted(received, *a)?;
            from = from.max(since);
            (since <= sender_applied).then_some(*a)
        });
        let map = Arc::new(map.collect());
        if from <= sender_applied {
            let map = Arc::clone(&map);
            let ready = Prepared { from, map };
            self.maps.objects.insert((sent, received), ready);
        }
        map
    }

    fn parameter_map(
        &mut self,
        sent: InteractionClassHandle,
        sender_applied: LogIndex,
    ) -> Option<ReceivedAs> {
        if let Some(ready) = self.maps.interactions.get(&sent)
            && ready.from <= sender_applied
        {
            return ready.map.clone();
        }
        // The sent class or its nearest superclass that is subscribed (§6.13).
        let mut from = LogIndex::default();
        let mut received = None;
        let mut at = self.model.interaction_class(sent);
        while let Some(class) = at {
            if let Some(since) = self.interaction_wanted(class.handle) {
                from = from.max(since);
                if since <= sender_applied {
                    received = Some(class);
                    break;
                }
            }
            at = class.parent.and_then(|p| self.model.interaction_class(p));
        }
        let map = received.map(|received| {
            let parameters = self.model.interaction_class(sent);
            let parameters = parameters.map_or(&[][..], |c| &c.parameters);
            let slots = parameters.iter();
            let slots = slots.map(|p| received.parameters.contains(p).then_some(*p));
            (received.handle, Arc::new(slots.collect()))
        });
        if from <= sender_applied {
            let map = map.clone();
            self.maps.interactions.insert(sent, Prepared { from, map });
        }
        map
    }
}
