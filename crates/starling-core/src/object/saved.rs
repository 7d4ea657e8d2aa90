//! Object management as a save has it.

use super::known::{self, FederateObjects};
use super::privilege_to_delete;
use super::receive::{QueuedObject, Received};
use super::registered::{self, ExecutionObjects, Known, NameUse, name_bytes};
use crate::kept::Kept;
use crate::message::object::Entry;
use crate::message::{After, OwnedBody, OwnedData, RequestNumber, default_instance_name};
use crate::saved::delivery::Queued;
use crate::saved::object as saved;
use crate::{Federate, ObjectInstanceHandle, Owner, ProtocolError};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};

impl ExecutionObjects {
    pub(crate) fn save(&self) -> saved::Execution {
        debug_assert!(
            {
                let (reserved, registered) = self.count_kept();
                reserved == self.reserved && registered == self.registered
            },
            "what is kept of names and instances is counted"
        );
        let reserved = self.names.iter().filter_map(|(name, used)| match used {
            NameUse::ReservedBy(federate) => Some((name.clone(), *federate)),
            NameUse::Instance(_) => None,
        });
        let instances = self.instances.iter();
        saved::Execution {
            instances: instances.map(|(h, i)| (*h, i.save())).collect(),
            reserved: reserved.collect(),
            last: self.last.clone(),
            transportations: self.transportations.clone(),
            told: self.told.clone(),
            interactions_sent: self.interactions_sent().collect(),
            refused: self.refused,
            behind_deletion: self.behind_deletion,
        }
    }

    /// An error if the object model does not have what was saved.
    pub(crate) fn restore(
        saved: saved::Execution,
        model: &ObjectModel,
    ) -> Result<Self, ProtocolError> {
        let mut by_class: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let reserved = saved.reserved.into_iter();
        let mut names: BTreeMap<_, _> = reserved
            .map(|(name, federate)| (name, NameUse::ReservedBy(federate)))
            .collect();
        let mut deletable = BTreeSet::new();
        let privilege = privilege_to_delete(model);
        for (handle, instance) in &saved.instances {
            let attributes = model.object_class(instance.class).map(|c| &c.attributes);
            if attributes.map(Vec::len) != Some(instance.owners.len()) {
                return Err(not_in_the_model(*handle));
            }
            by_class.entry(instance.class).or_default().insert(*handle);
            let class = model.object_class(instance.class);
            let slot = class.and_then(|c| c.slot(privilege?));
            let owner = slot.and_then(|slot| *instance.owners.get(slot as usize)?);
            let federate = owner.and_then(Owner::federate);
            deletable.extend(federate.map(|federate| (federate, *handle)));
            let name = instance.name.clone();
            names.extend(name.map(|name| (name, NameUse::Instance(*handle))));
        }
        let instances = saved.instances.into_iter();
        let instances = instances.map(|(h, i)| (h, registered::Instance::restore(i)));
        let instances: BTreeMap<_, _> = instances.collect();
        let mut restored = ExecutionObjects {
            instances,
            reserved: Kept::default(),
            registered: Kept::default(),
            by_class,
            names,
            deletable,
            last: saved.last,
            told: saved.told,
            transportations: saved.transportations,
            interactions_sent: saved.interactions_sent.into_iter().collect(),
            refused: saved.refused,
            behind_deletion: saved.behind_deletion,
        };
        (restored.reserved, restored.registered) = restored.count_kept();
        Ok(restored)
    }

    /// What `reserved` and `registered` are.
    fn count_kept(&self) -> (Kept, Kept) {
        let (mut reserved, mut registered) = (Kept::default(), Kept::default());
        for (name, used) in &self.names {
            if let NameUse::ReservedBy(federate) = used {
                reserved.add(*federate, name_bytes(name));
            }
        }
        for (handle, instance) in &self.instances {
            if let Owner::Federate(registrar) = handle.registrar() {
                if self.last.contains_key(&registrar) {
                    registered.add(registrar, instance.bytes());
                } else {
                    registered.add_left(instance.bytes());
                }
            }
        }
        (reserved, registered)
    }
}

impl registered::Instance {
    fn save(&self) -> saved::Instance {
        saved::Instance {
            class: self.class,
            name: self.name.clone(),
            owners: self.owners.clone(),
            updates: self.updates,
            known: self
                .known
                .iter()
                .map(|(f, k)| (*f, (k.class, k.from, k.asked)))
                .collect(),
            locally_deleted: self.locally_deleted.clone(),
            transportations: self.transportations.clone(),
        }
    }

    fn restore(saved: saved::Instance) -> Self {
        let known = |(federate, (class, from, asked))| {
            let known = Known { class, from, asked };
            (federate, known)
        };
        registered::Instance {
            class: saved.class,
            name: saved.name,
            owners: saved.owners,
            updates: saved.updates,
            known: saved.known.into_iter().map(known).collect(),
            locally_deleted: saved.locally_deleted,
            transportations: saved.transportations,
        }
    }
}

impl FederateObjects {
    pub(crate) fn save(&self) -> saved::Federate {
        let wanted = self.wanted.iter();
        saved::Federate {
            instances: self.iter().map(|(h, i)| (h, i.save(h))).collect(),
            reserved: self.reserved.clone(),
            last_instance: self.last,
            wanted: wanted.map(|(w, a)| (w.clone().into(), a.clone())).collect(),
            transportations: self.transportations.clone(),
            switches: self.switches,
            locally_deleted: self.locally_deleted.clone(),
            counted: self.counted.clone(),
        }
    }

    /// An error if the object model does not have what was saved.
    pub(crate) fn restore(
        saved: saved::Federate,
        model: &ObjectModel,
    ) -> Result<Self, ProtocolError> {
        for (handle, instance) in &saved.instances {
            instance.require_in(model, *handle)?;
        }
        // Of two instances of one name, one is about to be removed: it has lost the name.
        let all = saved.instances.iter().filter(|(_, i)| i.discovered);
        let (removed, there): (Vec<_>, Vec<_>) = all.partition(|(_, i)| i.removed);
        let names = removed.into_iter().chain(there);
        let named =
            |(handle, i): (&_, &saved::KnownInstance)| Some((i.chosen_name(*handle)?, *handle));
        let names = names.filter_map(named).collect();
        let instances = saved.instances.into_iter();
        Ok(FederateObjects {
            names,
            instances: instances
                .map(|(h, i)| (h, known::Instance::restore(h, i)))
                .collect(),
            reserved: saved.reserved,
            last: saved.last_instance,
            wanted: saved
                .wanted
                .into_iter()
                .map(|(w, a)| (w.into(), a))
                .collect(),
            transportations: saved.transportations,
            switches: saved.switches,
            locally_deleted: saved.locally_deleted,
            // What was asked for a frame that waits is asked again with it.
            asked_again: BTreeMap::new(),
            counted: saved.counted,
        })
    }
}

impl saved::KnownInstance {
    /// Its name, unless it is the default one.
    fn chosen_name(&self, handle: ObjectInstanceHandle) -> Option<String> {
        (self.name != default_instance_name(handle)).then(|| self.name.clone())
    }

    /// An error if the object model does not have its classes and attributes.
    pub(crate) fn require_in(
        &self,
        model: &ObjectModel,
        handle: ObjectInstanceHandle,
    ) -> Result<(), ProtocolError> {
        let registered = model.object_class(self.registered_class);
        let known = model.object_class(self.known_class);
        let mut attributes = self.owned.iter().chain(&self.in_scope);
        let has_all = registered.is_some_and(|c| attributes.all(|a| c.slot(*a).is_some()));
        let ascending = self.owned.is_sorted_by(|a, b| a < b);
        if has_all && known.is_some() && ascending {
            Ok(())
        } else {
            Err(not_in_the_model(handle))
        }
    }
}

fn not_in_the_model(instance: ObjectInstanceHandle) -> ProtocolError {
    ProtocolError(format!(
        "{instance} was saved with a class or attributes that the FDD does not have"
    ))
}

impl known::Instance {
    pub(crate) fn save(&self, handle: ObjectInstanceHandle) -> saved::KnownInstance {
        saved::KnownInstance {
            registered_class: self.registered_class,
            known_class: self.known_class,
            name: self.name(handle),
            owned: self.owned.clone(),
            transportations: self.transportations.clone(),
            orders: self.orders.clone(),
            in_scope: self.in_scope.clone(),
            updated: self.updated,
            reflected: self.reflected,
            discovered: self.discovered,
            removed: self.removed,
            gone: self.gone,
        }
    }

    pub(crate) fn restore(handle: ObjectInstanceHandle, saved: saved::KnownInstance) -> Self {
        known::Instance {
            registered_class: saved.registered_class,
            known_class: saved.known_class,
            name: saved.chosen_name(handle),
            owned: saved.owned,
            transportations: saved.transportations,
            owned_slots: None,
            received_as: None,
            orders: saved.orders,
            in_scope: saved.in_scope,
            updated: saved.updated,
            reflected: saved.reflected,
            discovered: saved.discovered,
            removed: saved.removed,
            gone: saved.gone,
        }
    }
}

impl From<super::receive::Wanted> for saved::Wanted {
    fn from((instance, tag, acquisitions): super::receive::Wanted) -> Self {
        saved::Wanted {
            instance,
            tag,
            acquisitions,
        }
    }
}

impl From<saved::Wanted> for super::receive::Wanted {
    fn from(saved: saved::Wanted) -> Self {
        (saved.instance, saved.tag, saved.acquisitions)
    }
}

impl Received {
    fn save(&self, body: OwnedBody) -> Queued {
        let after = After {
            requests: RequestNumber::default(),
            index: self.sender_applied,
        };
        Queued::Data {
            data: OwnedData {
                sender: self.sender,
                after,
                body,
            },
            order: self.order,
        }
    }
}

impl QueuedObject {
    pub(crate) fn save(&self) -> Queued {
        match self {
            QueuedObject::NamesReserved {
                names,
                multiple,
                succeeded,
            } => Queued::Object(Entry::NamesReserved {
                names: names.clone(),
                multiple: *multiple,
                succeeded: *succeeded,
            }),
            QueuedObject::Discover(instance) => Queued::Discover(*instance),
            QueuedObject::Reflect { instance, received } => {
                let payload = received.payload.clone();
                let body = OwnedBody::Update(*instance, received.transportation, payload);
                received.save(body)
            }
            QueuedObject::Receive { class, received } => {
                let payload = received.payload.clone();
                let body = OwnedBody::Interaction(*class, received.transportation, payload);
                received.save(body)
            }
            QueuedObject::Remove {
                instance,
                tag,
                producer,
                stamp,
                order,
            } => Queued::Remove {
                entry: Entry::Remove {
                    instance: *instance,
                    producer: *producer,
                    tag: tag.clone(),
                    stamp: stamp.as_deref().copied(),
                },
                order: *order,
            },
            QueuedObject::Provide(wanted) => Queued::Provide(wanted.clone().into()),
            QueuedObject::Transportation(entry) => Queued::Object(entry.as_ref().clone()),
            QueuedObject::Scope {
                instance,
                attributes,
                inside,
            } => {
                let (mut entered, mut left) = (Vec::new(), Vec::new());
                let list = if *inside { &mut entered } else { &mut left };
                list.clone_from(attributes);
                Queued::Object(Entry::AttributesScope {
                    instance: *instance,
                    entered,
                    left,
                })
            }
            QueuedObject::Updates {
                instance,
                attributes,
                rate,
            } => {
                let (mut on, mut off) = (Vec::new(), Vec::new());
                match rate {
                    Some(rate) => on.push((rate.to_string(), attributes.clone())),
                    None => off.clone_from(attributes),
                }
                Queued::Object(Entry::AttributesRelevance {
                    instance: *instance,
                    on,
                    off,
                })
            }
        }
    }
}

impl Federate {
    /// Puts what waited back behind all that waits: it is queued as when it came. An error if it is saved
    /// in another form, since it says more than that a callback waits.
    pub(crate) fn put_back_object(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        match entry {
            Entry::Discover(_) | Entry::Remove { .. } | Entry::ProvideUpdate { .. } => {
                Err(nothing_that_waits())
            }
            entry => self.apply_object(entry),
        }
    }
}

impl QueuedObject {
    /// A message again. An error if it is none.
    pub(crate) fn restore(saved: Queued) -> Result<Self, ProtocolError> {
        match saved {
            Queued::Discover(instance) => Ok(QueuedObject::Discover(instance)),
            Queued::Provide(wanted) => Ok(QueuedObject::Provide(wanted.into())),
            Queued::Remove {
                entry:
                    Entry::Remove {
                        instance,
                        producer,
                        tag,
                        stamp,
                    },
                order,
            } => Ok(QueuedObject::Remove {
                instance,
                tag,
                producer,
                stamp: stamp.map(Box::new),
                order,
            }),
            Queued::Data { data, order } => {
                let received = |transportation, payload| Received {
                    transportation,
                    sender: data.sender,
                    sender_applied: data.after.index,
                    payload,
                    order,
                };
                match data.body {
                    OwnedBody::Update(instance, how, payload) => Ok(QueuedObject::Reflect {
                        instance,
                        received: received(how, payload),
                    }),
                    OwnedBody::Interaction(class, how, payload) => Ok(QueuedObject::Receive {
                        class,
                        received: received(how, payload),
                    }),
                    OwnedBody::Fence(_) => Err(nothing_that_waits()),
                }
            }
            _ => Err(nothing_that_waits()),
        }
    }
}

fn nothing_that_waits() -> ProtocolError {
    ProtocolError("what is no callback was saved as one".into())
}
