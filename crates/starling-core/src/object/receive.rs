//! Object management at the receiving federate: from applied entries and data to callbacks.

use super::federate::Instance;
use crate::callback::{Callback, NamedValues};
use crate::handles::HandleMap;
use crate::message::{Data, DataBody, Discovery, default_instance_name};
use crate::{
    AttributeHandle, Federate, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, ProtocolError, Transportation, ValuesBuf,
};
use std::sync::Arc;

/// A callback that has not been delivered yet. What depends on the federate's subscriptions is
/// decided at delivery.
#[derive(Debug)]
pub(crate) enum Queued {
    Discover(ObjectInstanceHandle),
    Reflect {
        instance: ObjectInstanceHandle,
        values: ValuesBuf,
        tag: Vec<u8>,
        transportation: Transportation,
        producer: FederateHandle,
    },
    Receive {
        class: InteractionClassHandle,
        values: ValuesBuf,
        tag: Vec<u8>,
        transportation: Transportation,
        producer: FederateHandle,
    },
    Remove {
        instance: ObjectInstanceHandle,
        tag: Vec<u8>,
        producer: FederateHandle,
    },
    Provide {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        tag: Vec<u8>,
    },
    /// Nothing is left to decide.
    Ready(Callback),
}

type SlotMap<H> = Arc<Vec<Option<H>>>;

/// By sent class and class of receipt: which slot the receiver gets as which handle.
#[derive(Default)]
pub(crate) struct ReceiveMaps {
    objects: HandleMap<(ObjectClassHandle, ObjectClassHandle), SlotMap<AttributeHandle>>,
    interactions: HandleMap<InteractionClassHandle, Option<ReceivedAs>>,
}

/// The class at which interactions of a sent class are received, and their parameters there.
type ReceivedAs = (InteractionClassHandle, SlotMap<ParameterHandle>);

impl ReceiveMaps {
    /// Own subscriptions or the FDD have changed.
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
            producer: d.producer,
            owned: Vec::new(),
            discovered: false,
            removed: false,
        };
        if self.instances.insert(d.instance, instance).is_some() {
            return Err(ProtocolError(format!("{} discovered twice", d.instance)));
        }
        self.queue.push_back(Queued::Discover(d.instance));
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
            self.queue.push_back(Queued::Remove {
                instance,
                tag,
                producer,
            });
        }
    }

    pub(crate) fn apply_wanted(
        &mut self,
        wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
        tag: &[u8],
    ) {
        for (instance, attributes) in wanted {
            self.queue.push_back(Queued::Provide {
                instance,
                attributes,
                tag: tag.to_vec(),
            });
        }
    }

    pub(crate) fn apply_data(&mut self, data: &Data<'_>) -> Result<(), ProtocolError> {
        let producer = data.sender;
        match data.body {
            DataBody::Update {
                instance,
                transportation,
                values,
                tag,
            } => {
                if !self.instances.contains_key(&instance) {
                    self.counters.unknown += 1;
                    return Ok(());
                }
                self.queue.push_back(Queued::Reflect {
                    instance,
                    values: values.to_buf(),
                    tag: tag.to_vec(),
                    transportation,
                    producer,
                });
            }
            DataBody::Interaction {
                class,
                transportation,
                values,
                tag,
            } => {
                if self.model.interaction_class(class).is_none() {
                    return Err(ProtocolError(format!(
                        "interaction of class {class}, which the FDD here does not have"
                    )));
                }
                self.queue.push_back(Queued::Receive {
                    class,
                    values: values.to_buf(),
                    tag: tag.to_vec(),
                    transportation,
                    producer,
                });
            }
            DataBody::Fence { .. } => unreachable!("the ordering layer keeps fences"),
        }
        self.counters.queued += 1;
        Ok(())
    }

    /// What a queued callback is now, if it still is one.
    pub(crate) fn deliver(&mut self, queued: Queued) -> Option<Callback> {
        match queued {
            Queued::Ready(callback) => {
                self.note_delivered(&callback);
                Some(callback)
            }
            Queued::Discover(instance) => {
                let known = self.instances.get_mut(&instance)?;
                known.discovered = true;
                self.instance_names.insert(known.name.clone(), instance);
                Some(Callback::DiscoverObjectInstance {
                    instance,
                    class: known.known_class,
                    name: known.name.clone(),
                    producer: known.producer,
                })
            }
            Queued::Reflect {
                instance,
                values,
                tag,
                transportation,
                producer,
            } => {
                let Some(known) = self.instances.get(&instance).filter(|i| i.discovered) else {
                    self.counters.unknown += 1;
                    return None;
                };
                let (sent, received) = (known.registered_class, known.known_class);
                let handles = self.attribute_map(sent, received);
                let values = NamedValues { values, handles };
                if values.iter().next().is_none() {
                    self.counters.unsubscribed += 1;
                    return None;
                }
                Some(Callback::ReflectAttributeValues {
                    instance,
                    values,
                    tag,
                    transportation,
                    producer,
                })
            }
            Queued::Receive {
                class,
                values,
                tag,
                transportation,
                producer,
            } => {
                let Some((class, handles)) = self.parameter_map(class) else {
                    self.counters.unsubscribed += 1;
                    return None;
                };
                Some(Callback::ReceiveInteraction {
                    class,
                    values: NamedValues { values, handles },
                    tag,
                    transportation,
                    producer,
                })
            }
            Queued::Remove {
                instance,
                tag,
                producer,
            } => {
                // Locally deleted after the removal was applied: nothing to tell any more.
                let known = self.instances.remove(&instance)?;
                self.instance_names.remove(&known.name);
                Some(Callback::RemoveObjectInstance {
                    instance,
                    tag,
                    producer,
                })
            }
            Queued::Provide {
                instance,
                mut attributes,
                tag,
            } => {
                let known = self.instances.get(&instance)?;
                attributes.retain(|a| known.owned.contains(a));
                (!attributes.is_empty()).then_some(Callback::ProvideAttributeValueUpdate {
                    instance,
                    attributes,
                    tag,
                })
            }
        }
    }

    fn note_delivered(&mut self, callback: &Callback) {
        if let Callback::NamesReserved {
            names,
            succeeded: true,
            ..
        } = callback
        {
            self.reserved_names.extend(names.iter().cloned());
        }
    }

    fn attribute_map(
        &mut self,
        sent: ObjectClassHandle,
        received: ObjectClassHandle,
    ) -> SlotMap<AttributeHandle> {
        let (model, mine, me) = (&self.model, &self.mine, self.me);
        let map = self
            .maps
            .objects
            .entry((sent, received))
            .or_insert_with(|| {
                let attributes = model.object_class(sent).map_or(&[][..], |c| &c.attributes);
                let subscribed = |a: &AttributeHandle| mine.has_attribute(me, received, *a);
                let slots = attributes.iter().map(|a| subscribed(a).then_some(*a));
                Arc::new(slots.collect())
            });
        map.clone()
    }

    fn parameter_map(&mut self, sent: InteractionClassHandle) -> Option<ReceivedAs> {
        let (model, mine, me) = (&self.model, &self.mine, self.me);
        let map = self.maps.interactions.entry(sent).or_insert_with(|| {
            let received = mine.received_class(model, me, sent)?;
            let there = &model.interaction_class(received)?.parameters;
            let slots = model.interaction_class(sent)?.parameters.iter();
            let slots = slots.map(|p| there.contains(p).then_some(*p));
            Some((received, Arc::new(slots.collect())))
        });
        map.clone()
    }
}
