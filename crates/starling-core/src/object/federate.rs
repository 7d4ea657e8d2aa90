//! Object management at the federate that calls.

use super::known::Instance;
use super::privilege_to_delete;
use super::transportation::Changes;
use crate::ddm::address::AddressBuf;
use crate::ddm::routes::Passels;
use crate::exception::{NAME_BYTES_MAX, throw};
use crate::message::object::Request;
use crate::message::{DataBody, Payload, RequestBody, Stamp, default_instance_name};
use crate::mom;
use crate::support::federate::not_in_fdd;
use crate::{
    AttributeHandle, DataOut, Exception, Federate, FederateHandle, InteractionClassHandle,
    LogicalTime, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, Order,
    ParameterHandle, Transportation, Values, ValuesBuf,
};
use starling_fom::ObjectClass;
use std::collections::BTreeMap;

/// Memory that sending uses again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    reliable: ValuesBuf,
    best_effort: ValuesBuf,
    passels: Passels,
    to: Vec<FederateHandle>,
}

impl Scratch {
    /// Of values that travel so.
    #[inline]
    fn buffer(&mut self, transportation: Transportation) -> &mut ValuesBuf {
        match transportation {
            Transportation::Reliable => &mut self.reliable,
            Transportation::BestEffort => &mut self.best_effort,
        }
    }

    /// Empties it and keeps its memory.
    #[inline]
    fn clear(&mut self) {
        self.reliable.clear();
        self.best_effort.clear();
        self.passels.clear();
    }
}

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
            if self.objects.names.contains_key(name) {
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
            name: name.map_or_else(|| default_instance_name(instance), str::to_owned),
            owned,
            updated: false,
            reflected: false,
            transportations: Changes::default(),
            orders: BTreeMap::new(),
            discovered: true,
            removed: false,
        };
        self.objects.put(instance, known);
        self.mom.tally.instances.registered += 1;
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
        self.update(instance, values, tag, None, send)?;
        self.mom.tally.updates_sent += 1;
        Ok(())
    }

    /// Update Attribute Values with a time stamp, §6.10: what is not sent in time-stamp order
    /// travels by itself. The handle is of what is.
    pub fn update_attribute_values_at(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<MessageRetractionHandle, Exception> {
        let known = self.known(instance)?;
        let is_timely =
            |v: &&(AttributeHandle, &[u8])| self.attribute_order(known, v.0) == Order::TimeStamp;
        let (timely, others): (Vec<_>, Vec<_>) = values.iter().partition(is_timely);
        let order = if timely.is_empty() {
            Order::Receive
        } else {
            Order::TimeStamp
        };
        let order = self.require_time_stamp(time, order)?;
        if order == Order::Receive || others.is_empty() {
            let stamp = self.stamp(time, order);
            self.update(instance, values, tag, Some(stamp), send)?;
            self.mom.tally.updates_sent += 1;
            return Ok(self.note_stamp(stamp));
        }
        // All or nothing.
        self.fill_update(&mut Scratch::default(), instance, values)?;
        for part in [&timely, &others] {
            self.fill(&mut Scratch::default(), instance, part, tag)?;
        }
        let stamp = self.stamp(time, Order::TimeStamp);
        self.update(instance, &timely, tag, Some(stamp), send)?;
        let in_receive_order = self.stamp(time, Order::Receive);
        self.update(instance, &others, tag, Some(in_receive_order), send)?;
        self.mom.tally.updates_sent += 1;
        Ok(self.note_stamp(stamp))
    }

    fn update(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        stamp: Option<Stamp>,
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let mut scratch = self.scratch.take().unwrap_or_default();
        let done = self.update_with(&mut scratch, instance, values, (tag, stamp), send);
        scratch.clear();
        self.scratch = Some(scratch);
        done
    }

    #[inline]
    fn update_with(
        &mut self,
        scratch: &mut Scratch,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let (class, removed, first) = self.fill(scratch, instance, values, tag)?;
        if removed {
            self.counters.of_deleted += 1;
            return Ok(());
        }
        if first {
            self.updated_first(instance, class);
        }
        for (how, values) in [
            (Transportation::Reliable, &scratch.reliable),
            (Transportation::BestEffort, &scratch.best_effort),
        ] {
            if !values.is_empty() || scratch.passels.has(how) {
                self.mom.tally.updated(class, how);
            }
        }
        let of = (instance, class);
        let to = &mut scratch.to;
        if !scratch.reliable.is_empty() {
            self.route_update(class, scratch.reliable.values(), to);
            let payload = Payload {
                transportation: Transportation::Reliable,
                values: scratch.reliable.values(),
                tag,
                address: None,
                stamp,
            };
            self.send_data(to, DataBody::Update { instance, payload }, send);
        }
        if !scratch.best_effort.is_empty() {
            let values = scratch.best_effort.values();
            self.update_best_effort(of, values, to, (tag, stamp), send);
        }
        if !scratch.passels.is_empty() {
            let passels = std::mem::take(&mut scratch.passels);
            self.send_passels(passels, instance, (tag, stamp), send);
        }
        Ok(())
    }

    /// Throws all that an update throws, and lines its values up; returns what
    /// [`Self::fill_update`] does.
    #[inline]
    fn fill(
        &mut self,
        scratch: &mut Scratch,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(ObjectClassHandle, bool, bool), Exception> {
        let with_regions = self.regions.are_associated(instance);
        let (class, removed, first) = if with_regions {
            self.fill_passels(scratch, instance, values)?
        } else {
            self.fill_update(scratch, instance, values)?
        };
        if !removed {
            let mut largest = scratch.reliable.bytes().max(scratch.best_effort.bytes());
            if with_regions {
                largest = largest.max(self.largest_passel(&scratch.passels));
            }
            self.require_fits(largest + tag.len())?;
        }
        Ok((class, removed, first))
    }

    /// Who gets these values.
    #[inline]
    fn route_update(
        &mut self,
        class: ObjectClassHandle,
        values: Values<'_>,
        to: &mut Vec<FederateHandle>,
    ) {
        let sender = (self.me, self.log.applied());
        let routes = self.declarations.routes();
        routes.update(&self.model, sender, class, values, to);
    }

    /// Sends what may be left out for receivers with an update rate.
    fn update_best_effort(
        &mut self,
        (instance, class): (ObjectInstanceHandle, ObjectClassHandle),
        values: Values<'_>,
        to: &mut Vec<FederateHandle>,
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) {
        self.route_update(class, values, to);
        let early = !to.is_empty()
            && stamp.is_none_or(|s| s.retraction.is_none())
            && self.leave_out_early(instance, class, values, to);
        if early && to.is_empty() {
            return;
        }
        // Not all who subscribe: the frame says who.
        let named = early.then(|| AddressBuf::new(to, [].into_iter()));
        let payload = Payload {
            transportation: Transportation::BestEffort,
            values,
            tag,
            address: named.as_ref().map(AddressBuf::borrow),
            stamp,
        };
        self.send_data(to, DataBody::Update { instance, payload }, send);
    }

    /// Checks an update and sorts its values by transportation type; returns the registered
    /// class, whether the log has removed the instance, and whether it was never updated before.
    fn fill_update(
        &self,
        scratch: &mut Scratch,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
    ) -> Result<(ObjectClassHandle, bool, bool), Exception> {
        let known = self.known(instance)?;
        let class = self.require_object_class(known.registered_class)?;
        for (attribute, value) in values {
            let (slot, transportation) =
                self.owned_attribute((instance, known, class), *attribute, values)?;
            scratch.buffer(transportation).push(slot, value);
        }
        Ok((known.registered_class, known.removed, !known.updated))
    }

    /// As [`Self::fill_update`], where attributes of the instance are updated with regions.
    #[cold]
    fn fill_passels(
        &mut self,
        scratch: &mut Scratch,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
    ) -> Result<(ObjectClassHandle, bool, bool), Exception> {
        let known = self.known(instance)?;
        let class = self.require_object_class(known.registered_class)?;
        let mut all = Vec::new();
        for (attribute, value) in values {
            let (slot, transportation) =
                self.owned_attribute((instance, known, class), *attribute, values)?;
            all.push((transportation, (*attribute, slot, *value)));
        }
        let (class, removed, first) = (known.registered_class, known.removed, !known.updated);
        for (transportation, one) in all {
            let passels = &mut scratch.passels;
            if !self.add_to_passel(passels, instance, class, transportation, one) {
                let (_, slot, value) = one;
                scratch.buffer(transportation).push(slot, value);
            }
        }
        Ok((class, removed, first))
    }

    #[cold]
    fn updated_first(&mut self, instance: ObjectInstanceHandle, class: ObjectClassHandle) {
        if let Some(known) = self.objects.get_mut(instance) {
            known.updated = true;
        }
        self.mom.tally.first_update(class);
    }

    /// Slot and transportation type of an attribute, which must be owned; `all` are those updated
    /// with it.
    #[inline]
    fn owned_attribute(
        &self,
        (instance, known, class): (ObjectInstanceHandle, &Instance, &ObjectClass),
        attribute: AttributeHandle,
        all: &[(AttributeHandle, &[u8])],
    ) -> Result<(u32, Transportation), Exception> {
        if known.owned.binary_search(&attribute).is_err() {
            let all: Vec<_> = all.iter().map(|(a, _)| *a).collect();
            self.require_instance_attributes(instance, &all)?;
            self.require_owned(known, &all)?;
        }
        let slot = class.slot(attribute);
        let slot = slot.expect("what is owned is an attribute of the registered class");
        let changed = known.transportations.get(attribute);
        let of_fdd = || Some(self.model.attribute(attribute)?.transportation);
        let transportation = changed.or_else(of_fdd);
        Ok((slot, transportation.unwrap_or(Transportation::Reliable)))
    }

    /// Send Interaction, §6.12.
    pub fn send_interaction(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        self.send(class, values, tag, None, send)
    }

    /// Send Interaction with a time stamp, §6.12. The handle is of one sent in time-stamp order.
    pub fn send_interaction_at(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<MessageRetractionHandle, Exception> {
        self.require_interaction_class(class)?;
        let order = self.require_time_stamp(time, self.interaction_order(class))?;
        let stamp = self.stamp(time, order);
        self.send(class, values, tag, Some(stamp), send)?;
        Ok(self.note_stamp(stamp))
    }

    pub(crate) fn send(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        stamp: Option<Stamp>,
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let mut scratch = self.scratch.take().unwrap_or_default();
        let done = self.send_with(&mut scratch, class, values, (tag, stamp), send);
        scratch.clear();
        self.scratch = Some(scratch);
        done
    }

    #[inline]
    fn send_with(
        &mut self,
        scratch: &mut Scratch,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let buffer = &mut scratch.reliable;
        let transportation = self.fill_interaction(class, values, buffer)?;
        self.require_fits(buffer.bytes() + tag.len())?;
        let sender = (self.me, self.log.applied());
        let routes = self.declarations.routes();
        routes.interaction(&self.model, sender, class, &mut scratch.to);
        let payload = Payload {
            transportation,
            values: buffer.values(),
            tag,
            address: None,
            stamp,
        };
        self.send_data(&scratch.to, DataBody::Interaction { class, payload }, send);
        self.mom.tally.sent(class, transportation);
        self.send_to_rti(class, buffer.values());
        Ok(())
    }

    /// Checks an interaction and lines its values up; returns how it travels.
    pub(crate) fn fill_interaction(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        buffer: &mut ValuesBuf,
    ) -> Result<Transportation, Exception> {
        let known = self.require_interaction_class(class)?;
        if !self.declarations.publishes_interaction(class) {
            throw!(
                InteractionClassNotPublished,
                "'{}' is not published by this federate",
                known.name
            );
        }
        for (parameter, value) in values {
            let Some(slot) = known.slot(*parameter) else {
                let Some(other) = self.model.parameter(*parameter) else {
                    let why = not_in_fdd("parameter", parameter.raw());
                    throw!(InteractionParameterNotDefined, "{why}");
                };
                throw!(
                    InteractionParameterNotDefined,
                    "'{}' (parameter handle {parameter}) is not a parameter of '{}'",
                    other.name,
                    known.name
                );
            };
            buffer.push(slot, value);
        }
        let changed = self.objects.transportations.get(class);
        Ok(changed.unwrap_or(known.transportation))
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
        let stamp = self.stamp(time, order);
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
                known.name
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
                known.name
            );
        }
        if let Some(why) = self.acquiring(|_, i, _| i == instance) {
            throw!(OwnershipAcquisitionPending, "{why}");
        }
        self.drop_instance(instance);
        let (request, applied) = (self.log.next_request(), self.log.own_requests());
        let deleted = &mut self.objects.locally_deleted;
        deleted.retain(|_, request| *request > applied);
        deleted.insert(instance, request);
        self.log.request(Request::LocalDeleteObject { instance });
        Ok(())
    }

    fn drop_instance(&mut self, instance: ObjectInstanceHandle) {
        if self.objects.take(instance).is_some() {
            self.regions.forget_instance(instance);
            self.declarations.forget_instance(instance);
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
