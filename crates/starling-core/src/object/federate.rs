//! Object management at the federate that calls.

use super::known::Instance;
use super::privilege_to_delete;
use super::transportation::Changes;
use crate::exception::{NAME_BYTES_MAX, throw};
use crate::message::RequestBody;
use crate::message::object::Request;
use crate::mom;
use crate::{
    AttributeHandle, Exception, Federate, LogicalTime, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};
use std::collections::{BTreeMap, BTreeSet};

impl Federate {
    /// Reserve Object Instance Name, 1516.1-2010 §6.2.
    pub fn reserve_object_instance_name(&mut self, name: &str) -> Result<(), Exception> {
        require_legal_name(name)?;
        let names = vec![name.to_owned()];
        let multiple = false;
        self.log.request(Request::ReserveNames { names, multiple });
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
        self.log.request(Request::ReserveNames { names, multiple });
        Ok(())
    }

    /// Release Multiple Object Instance Name, §6.7: all of them or none.
    pub fn release_multiple_object_instance_name(
        &mut self,
        names: &[&str],
    ) -> Result<(), Exception> {
        if let Some(name) = names.iter().find(|n| !self.objects.reserved.contains(**n)) {
            throw!(
                ObjectInstanceNameNotReserved,
                "'{name}' is not reserved by this federate"
            );
        }
        let names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
        for name in &names {
            self.objects.reserved.remove(name);
        }
        self.log.request(Request::ReleaseNames { names });
        Ok(())
    }

    /// Register Object Instance, §6.8. Needs no answer of the executive.
    pub fn register_object_instance(
        &mut self,
        class: ObjectClassHandle,
        name: Option<&str>,
    ) -> Result<ObjectInstanceHandle, Exception> {
        self.register(class, name, |_, instance, name| Request::RegisterObject {
            instance,
            class,
            name,
        })
    }

    /// Registers with the request that `request` makes of the new handle and the name.
    pub(crate) fn register<R: Into<RequestBody>>(
        &mut self,
        class: ObjectClassHandle,
        name: Option<&str>,
        request: impl FnOnce(&mut Self, ObjectInstanceHandle, Option<String>) -> R,
    ) -> Result<ObjectInstanceHandle, Exception> {
        let class_name = &self.require_object_class(class)?.name;
        let Some(published) = self.declarations.published(class) else {
            throw!(
                ObjectClassNotPublished,
                "'{class_name}' is not published by this federate"
            );
        };
        if mom::own_class(&self.model, class).is_some() {
            throw!(
                ObjectClassNotPublished,
                "instances of '{class_name}' are registered by the RTI alone (1516.1-2010, 11.1)"
            );
        }
        if let Some(name) = name
            && !self.objects.reserved.contains(name)
        {
            if self.objects.named(name).is_some() {
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
        let Some(number) = self.objects.last.checked_add(1) else {
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
        self.objects.last = number;
        let instance = ObjectInstanceHandle::new(self.me, number);
        if let Some(name) = name {
            self.objects.reserved.remove(name);
        }
        let known = Instance {
            registered_class: class,
            known_class: class,
            name: name.map(str::to_owned),
            owned,
            updated: false,
            reflected: false,
            transportations: Changes::default(),
            owned_slots: None,
            received_as: None,
            orders: BTreeMap::new(),
            in_scope: BTreeSet::new(),
            discovered: true,
            removed: false,
            gone: false,
        };
        self.objects.put(instance, known);
        self.mom.tally.instances.registered += 1;
        let request = request(self, instance, name.map(str::to_owned));
        self.log.request(request);
        Ok(instance)
    }

    /// Delete Object Instance, §6.14.
    pub fn delete_object_instance(
        &mut self,
        instance: ObjectInstanceHandle,
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.require_privilege_to_delete(instance)?;
        self.mom.tally.instances.deleted += 1;
        self.drop_instance(instance);
        self.log.ending_request(Request::DeleteObject {
            instance,
            tag: tag.to_vec(),
            stamp: None,
        });
        Ok(())
    }

    /// Delete Object Instance with a time stamp, §6.14, in the order of the privilege to delete.
    pub fn delete_object_instance_at(
        &mut self,
        instance: ObjectInstanceHandle,
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        let known = self.require_privilege_to_delete(instance)?;
        let order = self.attribute_order(known, self.privilege_to_delete());
        let order = self.require_time_stamp(time, order)?;
        let stamp = self.time.stamp(time, order);
        self.mom.tally.instances.deleted += 1;
        let message = self.note_stamp(stamp);
        if !self.keep_deleted(stamp, instance) {
            self.drop_instance(instance);
        }
        self.log.ending_request(Request::DeleteObject {
            instance,
            tag: tag.to_vec(),
            stamp: Some(stamp),
        });
        Ok(message)
    }

    fn require_privilege_to_delete(
        &self,
        instance: ObjectInstanceHandle,
    ) -> Result<&Instance, Exception> {
        let known = self.known(instance)?;
        if !known.owned.contains(&self.privilege_to_delete()) {
            throw!(
                DeletePrivilegeNotHeld,
                "the privilege to delete '{}' is not owned by this federate",
                known.name(instance)
            );
        }
        Ok(known)
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
                known.name(instance)
            );
        }
        if let Some(why) = self.acquiring(|_, i, _| i == instance) {
            throw!(OwnershipAcquisitionPending, "{why}");
        }
        if let Some(known) = self.drop_instance(instance) {
            self.objects.remember_counted(instance, &known);
        }
        let request = self.log.next_request();
        self.objects.locally_deleted.insert(instance, request);
        self.log.request(Request::LocalDeleteObject { instance });
        Ok(())
    }

    fn drop_instance(&mut self, instance: ObjectInstanceHandle) -> Option<Instance> {
        let known = self.objects.take(instance);
        if known.is_some() {
            self.regions.forget_instance(instance);
            self.declarations.forget_instance(instance);
        }
        self.forget_ownership(instance);
        known
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
        self.log.request(Request::RequestInstanceUpdate {
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
        self.require_managed_object(class, attributes)?;
        self.log.request(Request::RequestClassUpdate {
            class,
            attributes: attributes.to_vec(),
            tag: tag.to_vec(),
        });
        Ok(())
    }

    /// Instances that the federate has registered or discovered, ascending.
    pub fn known_instances(&self) -> Vec<ObjectInstanceHandle> {
        let discovered = self.objects.iter().filter(|(_, i)| i.discovered);
        let mut all: Vec<_> = discovered.map(|(handle, _)| handle).collect();
        all.sort_unstable();
        all
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
        privilege_to_delete(&self.model)
            .expect("the MIM gives HLAobjectRoot its HLAprivilegeToDeleteObject")
    }
}

/// IllegalName for what users may not reserve (§6.2).
pub(super) fn require_legal_name(name: &str) -> Result<(), Exception> {
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
