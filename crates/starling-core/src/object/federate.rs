//! Object management at the federate that calls.

use super::execution::PRIVILEGE_TO_DELETE;
use super::transportation::Changes;
use crate::ddm::address::AddressBuf;
use crate::ddm::routes::Passels;
use crate::exception::{NAME_BYTES_MAX, throw};
use crate::message::{DataBody, Payload, RequestBody, default_instance_name};
use crate::{
    AttributeHandle, DataOut, Exception, Federate, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, Transportation, ValuesBuf,
};

use std::collections::BTreeSet;

/// An object instance as a federate knows it.
pub(crate) struct Instance {
    pub(crate) registered_class: ObjectClassHandle,
    pub(crate) known_class: ObjectClassHandle,
    pub(crate) name: String,
    /// Attributes owned by this federate, ascending.
    pub(crate) owned: Vec<AttributeHandle>,
    /// Of owned attributes.
    pub(crate) transportations: Changes<AttributeHandle>,
    /// Registered here, or the discovery has been delivered.
    pub(crate) discovered: bool,
    /// The log has removed it; the removal is not delivered yet.
    pub(crate) removed: bool,
}

impl Federate {
    /// Reserve Object Instance Name, 1516.1-2010 §6.2.
    pub fn reserve_object_instance_name(&mut self, name: &str) -> Result<(), Exception> {
        require_legal_name(name)?;
        let names = vec![name.to_owned()];
        let multiple = false;
        self.log
            .request(RequestBody::ReserveNames { names, multiple });
        Ok(())
    }

    /// Release Object Instance Name, §6.4.
    pub fn release_object_instance_name(&mut self, name: &str) -> Result<(), Exception> {
        self.release_multiple_object_instance_name(&[name])
    }

    /// Reserve Multiple Object Instance Name, §6.5: all of them or none.
    pub fn reserve_multiple_object_instance_name(
        &mut self,
        names: &[&str],
    ) -> Result<(), Exception> {
        if names.is_empty() {
            throw!(NameSetWasEmpty, "there is no name in the set");
        }
        for name in names {
            require_legal_name(name)?;
        }
        let mut names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let multiple = true;
        self.log
            .request(RequestBody::ReserveNames { names, multiple });
        Ok(())
    }

    /// Release Multiple Object Instance Name, §6.7: all of them or none.
    pub fn release_multiple_object_instance_name(
        &mut self,
        names: &[&str],
    ) -> Result<(), Exception> {
        if let Some(name) = names.iter().find(|n| !self.reserved_names.contains(**n)) {
            throw!(
                ObjectInstanceNameNotReserved,
                "'{name}' is not reserved by this federate"
            );
        }
        let names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
        for name in &names {
            self.reserved_names.remove(name);
        }
        self.log.request(RequestBody::ReleaseNames { names });
        Ok(())
    }

    /// Register Object Instance, §6.8. Needs no answer of the executive.
    pub fn register_object_instance(
        &mut self,
        class: ObjectClassHandle,
        name: Option<&str>,
    ) -> Result<ObjectInstanceHandle, Exception> {
        self.register(class, name, |_, instance, name| {
            RequestBody::RegisterObject {
                instance,
                class,
                name,
            }
        })
    }

    /// Registers with the request that `request` makes of the new handle and the name.
    pub(crate) fn register(
        &mut self,
        class: ObjectClassHandle,
        name: Option<&str>,
        request: impl FnOnce(&mut Self, ObjectInstanceHandle, Option<String>) -> RequestBody,
    ) -> Result<ObjectInstanceHandle, Exception> {
        let class_name = &self.require_object_class(class)?.name;
        let Some(published) = self.published.get(&class) else {
            throw!(
                ObjectClassNotPublished,
                "'{class_name}' is not published by this federate"
            );
        };
        if let Some(name) = name
            && !self.reserved_names.contains(name)
        {
            if self.instance_names.contains_key(name) {
                throw!(
                    ObjectInstanceNameInUse,
                    "'{name}' is the name of an object instance already"
                );
            }
            throw!(
                ObjectInstanceNameNotReserved,
                "'{name}' is not reserved by this federate: call reserveObjectInstanceName and wait for its success"
            );
        }
        let Some(number) = self.last_instance.checked_add(1) else {
            throw!(
                RTIinternalError,
                "this federate has registered {} object instances and can't have more handles",
                u32::MAX
            );
        };
        let mut owned = published.clone();
        owned.push(self.privilege_to_delete());
        owned.sort_unstable();
        owned.dedup();
        self.last_instance = number;
        let instance = ObjectInstanceHandle::new(self.me, number);
        if let Some(name) = name {
            self.reserved_names.remove(name);
        }
        let known = Instance {
            registered_class: class,
            known_class: class,
            name: name.map_or_else(|| default_instance_name(instance), str::to_owned),
            owned,
            transportations: Changes::default(),
            discovered: true,
            removed: false,
        };
        self.instance_names.insert(known.name.clone(), instance);
        self.instances.insert(instance, known);
        let request = request(self, instance, name.map(str::to_owned));
        self.log.request(request);
        Ok(instance)
    }

    /// Update Attribute Values, §6.10: at most one frame per transportation type.
    pub fn update_attribute_values(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let [mut reliable, mut best_effort] = std::mem::take(&mut self.scratch);
        let mut passels = Passels::default();
        let (buffers, passels_of) = ((&mut reliable, &mut best_effort), &mut passels);
        let mut checked = self.fill_update(instance, values, buffers, passels_of);
        if let Ok((_, false)) = checked {
            let without_regions = reliable.bytes().max(best_effort.bytes());
            let largest = without_regions.max(self.largest_passel(&passels));
            if let Err(too_large) = self.require_fits(largest + tag.len()) {
                checked = Err(too_large);
            }
        }
        if let Ok((_, true)) = checked {
            self.counters.of_deleted += 1;
        } else if let Ok((class, false)) = checked {
            for (values, transportation) in [
                (&reliable, Transportation::Reliable),
                (&best_effort, Transportation::BestEffort),
            ] {
                if values.is_empty() {
                    continue;
                }
                let values = values.values();
                let mut to = std::mem::take(&mut self.receivers);
                self.routes.update(
                    &self.model,
                    &self.subscriptions,
                    (self.me, self.log.applied()),
                    class,
                    values,
                    &mut to,
                );
                let early = transportation == Transportation::BestEffort
                    && !to.is_empty()
                    && self.leave_out_early(instance, class, values, &mut to);
                if early && to.is_empty() {
                    self.receivers = to;
                    continue;
                }
                // Not all who subscribe: the frame says who.
                let named = early.then(|| AddressBuf::new(&to, [].into_iter()));
                let payload = Payload {
                    transportation,
                    values,
                    tag,
                    address: named.as_ref().map(AddressBuf::borrow),
                };
                self.send_data(&to, DataBody::Update { instance, payload }, send);
                self.receivers = to;
            }
            self.send_passels(passels, instance, tag, send);
        }
        reliable.clear();
        best_effort.clear();
        self.scratch = [reliable, best_effort];
        checked.map(|_| ())
    }

    /// Checks an update and sorts its values by transportation type; returns the registered
    /// class and whether the log has removed the instance.
    fn fill_update(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        (reliable, best_effort): (&mut ValuesBuf, &mut ValuesBuf),
        passels: &mut Passels,
    ) -> Result<(ObjectClassHandle, bool), Exception> {
        let with_regions = self.regions.updates.has(instance);
        let known = self.known(instance)?;
        let class = self.require_object_class(known.registered_class)?;
        let mut sorted = Vec::new();
        for (attribute, value) in values {
            if known.owned.binary_search(attribute).is_err() {
                let all: Vec<_> = values.iter().map(|(a, _)| *a).collect();
                self.require_instance_attributes(instance, &all)?;
                self.require_owned(known, &all)?;
            }
            let slot = class.slot(*attribute);
            let slot = slot.expect("what is owned is an attribute of the registered class");
            let changed = known.transportations.get(*attribute);
            let of_fdd = || Some(self.model.attribute(*attribute)?.transportation);
            let transportation = changed.or_else(of_fdd);
            if with_regions {
                sorted.push((*attribute, slot, *value, transportation));
                continue;
            }
            match transportation {
                Some(Transportation::BestEffort) => best_effort.push(slot, value),
                _ => reliable.push(slot, value),
            }
        }
        let (class, removed) = (known.registered_class, known.removed);
        for (attribute, slot, value, transportation) in sorted {
            let transportation = transportation.unwrap_or(Transportation::Reliable);
            let one = (attribute, slot, value);
            if !self.add_to_passel(passels, instance, class, transportation, one) {
                match transportation {
                    Transportation::BestEffort => best_effort.push(slot, value),
                    Transportation::Reliable => reliable.push(slot, value),
                }
            }
        }
        Ok((class, removed))
    }

    /// Send Interaction, §6.12.
    pub fn send_interaction(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let [mut buffer, other] = std::mem::take(&mut self.scratch);
        let checked = self
            .fill_interaction(class, values, &mut buffer)
            .and_then(|how| self.require_fits(buffer.bytes() + tag.len()).map(|()| how));
        if let Ok(transportation) = checked {
            let mut to = std::mem::take(&mut self.receivers);
            self.routes.interaction(
                &self.model,
                &self.subscriptions,
                (self.me, self.log.applied()),
                class,
                &mut to,
            );
            let payload = Payload {
                transportation,
                values: buffer.values(),
                tag,
                address: None,
            };
            self.send_data(&to, DataBody::Interaction { class, payload }, send);
            self.receivers = to;
        }
        buffer.clear();
        self.scratch = [buffer, other];
        checked.map(|_| ())
    }

    /// Checks an interaction and lines its values up; returns how it travels.
    pub(crate) fn fill_interaction(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        buffer: &mut ValuesBuf,
    ) -> Result<Transportation, Exception> {
        let known = self.require_interaction_class(class)?;
        if !self.published_interactions.contains(&class) {
            throw!(
                InteractionClassNotPublished,
                "'{}' is not published by this federate",
                known.name
            );
        }
        for (parameter, value) in values {
            let Some(slot) = known.slot(*parameter) else {
                throw!(
                    InteractionParameterNotDefined,
                    "parameter handle {parameter} is not a parameter of '{}'",
                    known.name
                );
            };
            buffer.push(slot, value);
        }
        let changed = self.transportations.get(class);
        Ok(changed.unwrap_or(known.transportation))
    }

    /// Delete Object Instance, §6.14.
    pub fn delete_object_instance(
        &mut self,
        instance: ObjectInstanceHandle,
        tag: &[u8],
    ) -> Result<(), Exception> {
        let known = self.known(instance)?;
        if !known.owned.contains(&self.privilege_to_delete()) {
            throw!(
                DeletePrivilegeNotHeld,
                "the privilege to delete '{}' is not owned by this federate",
                known.name
            );
        }
        self.drop_instance(instance);
        let tag = tag.to_vec();
        self.log
            .ending_request(RequestBody::DeleteObject { instance, tag });
        Ok(())
    }

    /// Local Delete Object Instance, §6.16.
    pub fn local_delete_object_instance(
        &mut self,
        instance: ObjectInstanceHandle,
    ) -> Result<(), Exception> {
        let known = self.known(instance)?;
        if let Some(attribute) = known.owned.first() {
            throw!(
                FederateOwnsAttributes,
                "attribute {} of '{}' is owned by this federate",
                self.attribute_text(*attribute),
                known.name
            );
        }
        if let Some(why) = self.acquiring(|_, i, _| i == instance) {
            throw!(OwnershipAcquisitionPending, "{why}");
        }
        self.drop_instance(instance);
        self.log
            .request(RequestBody::LocalDeleteObject { instance });
        Ok(())
    }

    fn drop_instance(&mut self, instance: ObjectInstanceHandle) {
        if let Some(gone) = self.instances.remove(&instance) {
            self.instance_names.remove(&gone.name);
            self.regions.forget_instance(instance);
            self.pace.forget_instance(instance);
        }
        self.forget_ownership(instance);
    }

    /// Request Attribute Value Update of an instance, §6.19.
    pub fn request_instance_attribute_value_update(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let class = self.known(instance)?.known_class;
        self.require_attributes(class, attributes)?;
        self.log.request(RequestBody::RequestInstanceUpdate {
            instance,
            attributes: attributes.to_vec(),
            tag: tag.to_vec(),
        });
        Ok(())
    }

    /// Request Attribute Value Update of a class, §6.19.
    pub fn request_class_attribute_value_update(
        &mut self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.require_attributes(class, attributes)?;
        self.log.request(RequestBody::RequestClassUpdate {
            class,
            attributes: attributes.to_vec(),
            tag: tag.to_vec(),
        });
        Ok(())
    }

    /// Instances that the federate has registered or discovered, ascending.
    pub fn known_instances(&self) -> Vec<ObjectInstanceHandle> {
        self.instance_names
            .values()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Attributes of an instance that this federate owns, ascending.
    pub fn owned_attributes(
        &self,
        instance: ObjectInstanceHandle,
    ) -> Result<&[AttributeHandle], Exception> {
        Ok(&self.known(instance)?.owned)
    }

    /// The attribute that carries the privilege to delete; every MIM has it (checked on loading).
    pub(crate) fn privilege_to_delete(&self) -> AttributeHandle {
        let root = self.model.object_classes().next();
        root.and_then(|r| self.model.attribute_by_name(r.handle, PRIVILEGE_TO_DELETE))
            .expect("the MIM gives HLAobjectRoot its HLAprivilegeToDeleteObject")
    }
}

/// IllegalName for what users may not reserve (§6.2).
fn require_legal_name(name: &str) -> Result<(), Exception> {
    if name.is_empty() {
        throw!(IllegalName, "the name is empty");
    }
    if name.len() > NAME_BYTES_MAX {
        throw!(
            IllegalName,
            "the name has {} bytes; {NAME_BYTES_MAX} are allowed",
            name.len()
        );
    }
    if name.starts_with("HLA") {
        throw!(
            IllegalName,
            "'{name}' begins with HLA; such names are the RTI's"
        );
    }
    Ok(())
}
