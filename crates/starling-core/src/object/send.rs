//! Sending values: Update Attribute Values and Send Interaction.

use super::known::Instance;
use crate::ddm::address::AddressBuf;
use crate::ddm::routes::Passels;
use crate::declaration::Plan;
use crate::exception::throw;
use crate::federate::{Sink, hand_out, hand_out_plainly};
use crate::grouping::{SentClass, group_of};
use crate::message::{DataBody, Payload, PlainSent, Stamp};
use crate::support::federate::not_in_fdd;
use crate::traffic::note;
use crate::values::value_bytes;
use crate::{
    AttributeHandle, DataOut, DataPath, Exception, Federate, FederateHandle, Given,
    InteractionClassHandle, Listed, LogicalTime, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, Order, ParameterHandle, Transportation, Values, ValuesBuf, ValuesOut,
};
use starling_fom::ObjectClass;
use std::sync::Arc;

/// Memory that sending uses again and again, where an update is not as most are.
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

/// What was found of an update or interaction as most are. It holds for others of the same instance or class with the same
/// attributes or parameters, until anything else is done with the federate than to send and to deliver such messages.
pub(crate) struct Found<H> {
    /// When it was found, as whoever keeps it counts; 0: it does not hold.
    pub(crate) at: u64,
    /// The number of the instance or of the interaction class.
    pub(crate) of: u64,
    class: u32,
    plan: Arc<Plan<H>>,
    transportation: Transportation,
    /// None: not all of its attributes have the same.
    order: Option<Order>,
    /// By which path it goes to all of its receivers in receive order; none: by none for all, or that is not known yet.
    path: Option<DataPath>,
    /// How many bytes values and tag may take.
    most: usize,
}

impl<H> Default for Found<H> {
    /// Of nothing.
    fn default() -> Self {
        Found {
            at: 0,
            of: u64::MAX,
            class: 0,
            plan: Arc::default(),
            transportation: Transportation::Reliable,
            order: None,
            path: None,
            most: 0,
        }
    }
}

/// What was found of the last update and the last interaction that were sent.
#[derive(Default)]
pub(crate) struct LastSent {
    update: Found<AttributeHandle>,
    interaction: Found<ParameterHandle>,
}

/// Of what something is sent as most is: an instance, of which that is an update, or an interaction class.
pub(crate) trait Sends: Copy {
    /// Of its attributes or parameters.
    type Handle: Copy + PartialEq;

    /// Whether it is an instance.
    const IS_UPDATED: bool;

    /// As [`Found::of`].
    fn key(self) -> u64;

    /// The last one of its kind.
    fn last(self, of: &mut LastSent) -> &mut Found<Self::Handle>;

    /// Finds what holds of one as most are, and what the run of its values takes. None: it is another, or something
    /// is wrong with it. `run`: what that takes if what was found of the one before still holds, and is of such values.
    fn find(
        self,
        federate: &mut Federate,
        values: &[impl Given<Handle = Self::Handle>],
        found: &mut Found<Self::Handle>,
        run: Option<usize>,
    ) -> Option<usize>;
}

/// Update Attribute Values: of one's own attributes of one transportation type, without regions, and not the first of the
/// instance.
impl Sends for ObjectInstanceHandle {
    type Handle = AttributeHandle;

    const IS_UPDATED: bool = true;

    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn last(self, of: &mut LastSent) -> &mut Found<AttributeHandle> {
        &mut of.update
    }

    // Functions of their own: what most messages need has enough in hand.
    #[inline(never)]
    fn find(
        self,
        federate: &mut Federate,
        values: &[impl Given<Handle = AttributeHandle>],
        found: &mut Found<AttributeHandle>,
        run: Option<usize>,
    ) -> Option<usize> {
        let known = federate.objects.get(self)?;
        let owned = known.owned_slots.filter(|_| known.is_updated())?;
        if values.is_empty() || federate.regions.are_associated(self) {
            return None;
        }
        let class = known.registered_class;
        let run = match run {
            // Most federates update the same of several instances of a class.
            Some(run) if found.class == class.raw() => run,
            _ => federate.find_update(class, values, found)?,
        };
        let all_of = |slots: u64| found.plan.bits & !slots == 0;
        // What goes by a multicast group, or at receivers' update rates, does not go to all alike.
        let alike = || federate.grouping.is_none() && !federate.wants_time();
        found.transportation = if all_of(owned.reliable) {
            Transportation::Reliable
        } else if all_of(owned.best_effort) && alike() {
            Transportation::BestEffort
        } else {
            return None;
        };
        found.of = self.key();
        found.order = one_order(found.plan.bits, owned.timely);
        Some(run)
    }
}

/// Send Interaction, but for those that are for the RTI, too.
impl Sends for InteractionClassHandle {
    type Handle = ParameterHandle;

    const IS_UPDATED: bool = false;

    #[inline(always)]
    fn key(self) -> u64 {
        self.raw().into()
    }

    #[inline(always)]
    fn last(self, of: &mut LastSent) -> &mut Found<ParameterHandle> {
        &mut of.interaction
    }

    #[inline(never)]
    fn find(
        self,
        federate: &mut Federate,
        values: &[impl Given<Handle = ParameterHandle>],
        found: &mut Found<ParameterHandle>,
        _: Option<usize>,
    ) -> Option<usize> {
        federate.find_interaction(self, values, found)
    }
}

impl<H: Copy + PartialEq> Found<H> {
    #[inline(always)]
    fn note(&mut self, plan: &Arc<Plan<H>>) {
        // Mostly it is that of the one before.
        if !Arc::ptr_eq(&self.plan, plan) {
            self.plan = Arc::clone(plan);
        }
    }

    /// What the run of these values takes, if it is of the same attributes or parameters.
    #[inline(always)]
    pub(crate) fn run_bytes(&self, values: &[impl Given<Handle = H>]) -> Option<usize> {
        self.plan.run_bytes(values)
    }
}

/// The order type of attributes, by their slots and by those that are timely; none: not all have the same.
#[inline(always)]
fn one_order(slots: u64, timely: u64) -> Option<Order> {
    match slots & timely {
        0 => Some(Order::Receive),
        all if all == slots => Some(Order::TimeStamp),
        _ => None,
    }
}

impl Federate {
    /// Update Attribute Values, §6.10: at most one frame per transportation type.
    #[inline(always)]
    pub fn update_attribute_values<S: FnMut(DataOut<'_>) + ?Sized>(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        send: &mut S,
    ) -> Result<(), Exception> {
        if self
            .send_plainly(instance, values, tag, None, send)
            .is_none()
        {
            let send = &mut |frame: DataOut<'_>| send.put(frame);
            self.update(instance, values, tag, None, send)?;
            self.mom.tally.update_called();
        }
        Ok(())
    }

    /// An update or interaction as most are: with nothing wrong; with a time, or in receive order. What it may be retracted
    /// by. None, and nothing is done: it is another.
    #[inline(always)]
    pub(crate) fn send_plainly<W: Sends, S: Sink + ?Sized>(
        &mut self,
        what: W,
        values: &[impl Given<Handle = W::Handle>],
        tag: &[u8],
        time: Option<LogicalTime>,
        send: &mut S,
    ) -> Option<MessageRetractionHandle> {
        let mut found = Found::default();
        let run = what.find(self, values, &mut found, None)?;
        self.send_found((what, &mut found), (values, run, tag), time, send)
    }

    /// Finds what holds of an update as most are of whatever instance of a class, and what the run of its values takes.
    #[inline(never)]
    fn find_update(
        &mut self,
        class: ObjectClassHandle,
        values: &[impl Given<Handle = AttributeHandle>],
        found: &mut Found<AttributeHandle>,
    ) -> Option<usize> {
        found.most = self.room()?;
        let (plan, run) = match self.declarations.planned_update(class, values) {
            Some(planned) => planned,
            None => {
                let applied = self.log.applied();
                self.declarations
                    .plan_update(&self.model, applied, class, values)?
            }
        };
        found.note(plan);
        found.class = class.raw();
        found.path = self.log.path_to_all(&plan.to);
        Some(run)
    }

    /// Sends one of which this was found. None, and nothing is done: it is too large, or its time is not to be used.
    #[inline(always)]
    pub(crate) fn send_found<W: Sends, S: Sink + ?Sized, T: Given<Handle = W::Handle>>(
        &mut self,
        (what, found): (W, &mut Found<W::Handle>),
        (values, run, tag): (&[T], usize, &[u8]),
        time: Option<LogicalTime>,
        send: &mut S,
    ) -> Option<MessageRetractionHandle> {
        let bytes = run + tag.len();
        if bytes > found.most {
            return None;
        }
        let stamp = match time {
            None => None,
            Some(time) => {
                let order = self.time.sent_order(time, found.order?)?;
                Some(self.time.stamp(time, order))
            }
        };
        let transportation = found.transportation;
        if self.mom.tally.is_on() {
            if W::IS_UPDATED {
                let class = ObjectClassHandle::from_raw(found.class);
                self.mom.tally.updated(class, transportation);
                self.mom.tally.update_called();
                note(&mut self.traffic, |t| {
                    t.updated(class, transportation, bytes)
                });
            } else {
                let class = InteractionClassHandle::from_raw(found.class);
                self.mom.tally.sent(class, transportation);
                note(&mut self.traffic, |t| t.sent(class, transportation, bytes));
            }
        }
        let list = Listed::of_bytes(&found.plan.slots, values, run);
        let of = (W::IS_UPDATED, what.key());
        let plain = self.log.plain_frame(of, transportation, tag, list);
        let anyway = self.model.switches().delay_subscription_evaluation;
        let by = (&mut self.log, &mut self.counters);
        let to = (&found.plan.to[..], &mut found.path, anyway);
        hand_out_plainly(by, to, PlainSent { plain, stamp }, send);
        Some(
            stamp
                .map(|stamp| self.note_stamp(stamp))
                .unwrap_or_default(),
        )
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
        if let Some(sent) = self.send_plainly(instance, values, tag, Some(time), send) {
            return Ok(sent);
        }
        let known = self.known(instance)?;
        let is_timely =
            |v: &&(AttributeHandle, &[u8])| self.attribute_order(known, v.0) == Order::TimeStamp;
        let (timely, others): (Vec<_>, Vec<_>) = values.iter().partition(is_timely);
        let order = match timely[..] {
            [] => Order::Receive,
            _ => Order::TimeStamp,
        };
        let order = self.require_time_stamp(time, order)?;
        if order == Order::Receive || others.is_empty() {
            let stamp = self.time.stamp(time, order);
            self.update(instance, values, tag, Some(stamp), send)?;
            self.mom.tally.update_called();
            return Ok(self.note_stamp(stamp));
        }
        // All or nothing.
        self.fill_update(&mut Scratch::default(), instance, values)?;
        for part in [&timely, &others] {
            self.fill(&mut Scratch::default(), instance, part, tag)?;
        }
        let stamp = self.time.stamp(time, Order::TimeStamp);
        self.update(instance, &timely, tag, Some(stamp), send)?;
        let in_receive_order = self.time.stamp(time, Order::Receive);
        self.update(instance, &others, tag, Some(in_receive_order), send)?;
        self.mom.tally.update_called();
        Ok(self.note_stamp(stamp))
    }

    #[inline(never)]
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

    fn update_with(
        &mut self,
        scratch: &mut Scratch,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let (class, gone, first) = self.fill(scratch, instance, values, tag)?;
        if gone {
            self.counters.of_deleted += 1;
            return Ok(());
        }
        if first {
            self.updated_first(instance, class);
        }
        self.objects.prepare(instance, &self.model);
        if self.mom.tally.is_on() {
            for (how, values) in [
                (Transportation::Reliable, &scratch.reliable),
                (Transportation::BestEffort, &scratch.best_effort),
            ] {
                if !values.is_empty() || scratch.passels.has(how) {
                    self.mom.tally.updated(class, how);
                }
            }
        }
        let of = (instance, class);
        let to = &mut scratch.to;
        if !scratch.reliable.is_empty() {
            note(&mut self.traffic, |t| {
                let bytes = scratch.reliable.bytes() + tag.len();
                t.updated(class, Transportation::Reliable, bytes);
            });
            self.route_update(class, scratch.reliable.values(), to);
            let payload = Payload {
                transportation: Transportation::Reliable,
                values: ValuesOut::Run(scratch.reliable.values()),
                tag,
                address: None,
                stamp,
            };
            let of = Some(SentClass::Objects(class));
            self.send_data((&to[..], of), DataBody::Update { instance, payload }, send);
        }
        if !scratch.best_effort.is_empty() {
            note(&mut self.traffic, |t| {
                let bytes = scratch.best_effort.bytes() + tag.len();
                t.updated(class, Transportation::BestEffort, bytes);
            });
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
        let (class, gone, first) = if with_regions {
            self.fill_passels(scratch, instance, values)?
        } else {
            self.fill_update(scratch, instance, values)?
        };
        if !gone {
            let mut largest = scratch.reliable.bytes().max(scratch.best_effort.bytes());
            if with_regions {
                largest = largest.max(self.largest_passel(&scratch.passels));
            }
            self.require_fits(largest + tag.len())?;
        }
        Ok((class, gone, first))
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
        to.clear();
        to.extend_from_slice(routes.update(&self.model, sender, class, values));
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
            values: ValuesOut::Run(values),
            tag,
            address: named.as_ref().map(AddressBuf::borrow),
            stamp,
        };
        let of = Some(SentClass::Objects(class));
        self.send_data((&to[..], of), DataBody::Update { instance, payload }, send);
    }

    /// Checks an update and sorts its values by transportation type; returns the registered
    /// class, whether the instance is gone for all, and whether it was never updated before.
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
        Ok((known.registered_class, known.gone, !known.updated))
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
        let (class, gone, first) = (known.registered_class, known.gone, !known.updated);
        for (transportation, one) in all {
            let passels = &mut scratch.passels;
            if !self.add_to_passel(passels, instance, class, transportation, one) {
                let (_, slot, value) = one;
                scratch.buffer(transportation).push(slot, value);
            }
        }
        Ok((class, gone, first))
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
            self.require_owned(instance, known, &all)?;
        }
        let slot = class.slot(attribute);
        let slot = slot.expect("what is owned is an attribute of the registered class");
        let changed = known.transportations.get(attribute);
        let of_fdd = || Some(self.model.attribute(attribute)?.transportation);
        let transportation = changed.or_else(of_fdd);
        Ok((slot, transportation.unwrap_or(Transportation::Reliable)))
    }

    /// Send Interaction, §6.12.
    #[inline(always)]
    pub fn send_interaction<S: FnMut(DataOut<'_>) + ?Sized>(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        send: &mut S,
    ) -> Result<(), Exception> {
        self.send(class, values, tag, None, send)
    }

    /// As [`Self::find_update`], of an interaction.
    #[inline(always)]
    fn find_interaction(
        &mut self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
        found: &mut Found<ParameterHandle>,
    ) -> Option<usize> {
        let most = self.room()?;
        let known = self.model.interaction_class(class)?;
        if self.mom.serves(class) {
            return None;
        }
        let (plan, run) = match self.declarations.planned_interaction(class, values) {
            Some(planned) => planned,
            None => {
                let applied = self.log.applied();
                self.declarations
                    .plan_interaction(&self.model, applied, known, values)?
            }
        };
        let transportation = self.objects.transportations.get(class);
        let transportation = transportation.unwrap_or(known.transportation);
        if transportation == Transportation::BestEffort && self.grouping.is_some() {
            return None;
        }
        found.note(plan);
        found.of = class.key();
        found.class = class.raw();
        found.transportation = transportation;
        found.order = Some(self.time.class_order(class).unwrap_or(known.order));
        found.path = self.log.path_to_all(&plan.to);
        found.most = most;
        Some(run)
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
        if let Some(sent) = self.send_plainly(class, values, tag, Some(time), send) {
            return Ok(sent);
        }
        self.require_interaction_class(class)?;
        let order = self.require_time_stamp(time, self.interaction_order(class))?;
        let stamp = self.time.stamp(time, order);
        self.send(class, values, tag, Some(stamp), send)?;
        Ok(self.note_stamp(stamp))
    }

    #[inline(always)]
    pub(crate) fn send<S: FnMut(DataOut<'_>) + ?Sized>(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        stamp: Option<Stamp>,
        send: &mut S,
    ) -> Result<(), Exception> {
        let (transportation, bytes) = self.line_up(class, values)?;
        self.require_fits(bytes + tag.len())?;
        if self.mom.tally.is_on() {
            self.mom.tally.sent(class, transportation);
            note(&mut self.traffic, |t| {
                t.sent(class, transportation, bytes + tag.len())
            });
        }
        let list = Listed::of_bytes(&self.slots, values, bytes);
        let payload = Payload {
            transportation,
            values: ValuesOut::Given(&list),
            tag,
            address: None,
            stamp,
        };
        let body = DataBody::Interaction { class, payload };
        let sender = (self.me, self.log.applied());
        let routes = self.declarations.routes();
        let to = routes.interaction(&self.model, sender, class);
        let delays = self.model.switches().delay_subscription_evaluation;
        let by = (&mut self.log, &mut self.counters);
        let of = (SentClass::Interactions(class), transportation);
        let group = group_of(&mut self.grouping, &self.model, of);
        let mut send = |frame: DataOut<'_>| send(DataOut { group, ..frame });
        let handed_out = hand_out(by, (to, delays), body, &mut send);
        if self.mom.serves(class) {
            let values = ValuesBuf::of(ValuesOut::Given(&list));
            self.send_to_rti(class, values.values(), handed_out);
        }
        Ok(())
    }

    /// Checks an interaction and finds the slots of its values; returns how it travels, and how many
    /// bytes the values take.
    #[inline]
    pub(crate) fn line_up(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
    ) -> Result<(Transportation, usize), Exception> {
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        let known = self.require_interaction_class(class)?;
        if !self.declarations.publishes_interaction(class) {
            throw!(
                InteractionClassNotPublished,
                "'{}' is not published by this federate",
                known.name
            );
        }
        let transportation = self.objects.transportations.get(class);
        let transportation = transportation.unwrap_or(known.transportation);
        let mut bytes = 0;
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
            bytes += value_bytes(slot, value.len());
            slots.push((*parameter, slot));
        }
        self.slots = slots;
        Ok((transportation, bytes))
    }
}
