//! Sending with regions: the sender finds who is to get it, in the subscriptions of the log that
//! it has applied, and names them in the frame.

use super::Defaults;
use super::address::AddressBuf;
use crate::grouping::SentClass;
use crate::handles::HandleMap;
use crate::message::{DataBody, Payload, Range, RegionSpecification, Stamp};
use crate::object::known::Instance;
use crate::traffic::note;
use crate::{
    AttributeHandle, DataOut, Exception, Federate, FederateHandle, InteractionClassHandle, Listed,
    LogicalTime, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
    RegionHandle, Transportation, ValuesBuf, ValuesOut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Receivers = Arc<[FederateHandle]>;

/// Who gets values of instance attributes that are updated with regions. Found when first asked
/// for after a change: an update whose regions overlap nobody's costs a look-up.
#[derive(Default)]
pub(crate) struct RegionRoutes {
    /// Which state of the subscriptions they were made of, see `Subscribed::changes`.
    made_of: u64,
    instances: HandleMap<ObjectInstanceHandle, BTreeMap<AttributeHandle, Receivers>>,
}

impl RegionRoutes {
    /// Those that hold for this state of the subscriptions.
    fn of(
        &mut self,
        changes: u64,
    ) -> &mut HandleMap<ObjectInstanceHandle, BTreeMap<AttributeHandle, Receivers>> {
        if std::mem::replace(&mut self.made_of, changes) != changes {
            self.instances.clear();
        }
        &mut self.instances
    }

    /// What concerns an instance has changed.
    pub(crate) fn forget(&mut self, instance: ObjectInstanceHandle) {
        self.instances.remove(&instance);
    }
}

/// Values that travel together: sent alike, with the same regions, to the same receivers.
struct Passel {
    transportation: Transportation,
    regions: Vec<RegionHandle>,
    to: Receivers,
    values: ValuesBuf,
}

/// Values of one update that are sent with regions.
#[derive(Default)]
pub(crate) struct Passels(Vec<Passel>);

impl Passels {
    /// Whether any of them travels so.
    pub(crate) fn has(&self, transportation: Transportation) -> bool {
        let mut all = self.0.iter();
        all.any(|p| p.transportation == transportation)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Federate {
    /// Adds a value to its passel; false if the attribute is updated with the default region.
    pub(crate) fn add_to_passel(
        &mut self,
        passels: &mut Passels,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        transportation: Transportation,
        (attribute, slot, value): (AttributeHandle, u32, &[u8]),
    ) -> bool {
        let updates = &self.regions.updates;
        let regions: Vec<_> = updates
            .of(instance, attribute, self.me)
            .map(|(r, _)| r)
            .collect();
        if regions.is_empty() {
            return false;
        }
        let to = self.region_receivers(instance, class, attribute);
        let same = |p: &&mut Passel| {
            p.transportation == transportation && p.regions == regions && p.to == to
        };
        match passels.0.iter_mut().find(same) {
            Some(passel) => passel.values.push(slot, value),
            None => {
                let mut values = ValuesBuf::default();
                values.push(slot, value);
                passels.0.push(Passel {
                    transportation,
                    regions,
                    to,
                    values,
                });
            }
        }
        true
    }

    /// Bytes of the largest passel: of its values and regions, at most.
    pub(crate) fn largest_passel(&self, passels: &Passels) -> usize {
        const REGION_BYTES: usize = 16;
        const RANGE_BYTES: usize = 15;
        let of_region = |r: &RegionHandle| {
            REGION_BYTES + RANGE_BYTES * self.committed(*r).map_or(0, |ranges| ranges.len())
        };
        let of_passel =
            |p: &Passel| p.values.bytes() + p.regions.iter().map(of_region).sum::<usize>();
        passels.0.iter().map(of_passel).max().unwrap_or(0)
    }

    /// Sends an update's passels.
    pub(crate) fn send_passels(
        &mut self,
        passels: Passels,
        instance: ObjectInstanceHandle,
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) {
        let class = self.objects.get(instance).map(Instance::registered_class);
        for passel in passels.0 {
            if let Some(class) = class {
                let bytes = passel.values.bytes() + tag.len();
                note(&mut self.traffic, |t| {
                    t.updated(class, passel.transportation, bytes)
                });
            }
            let mut to = passel.to.to_vec();
            if let (Transportation::BestEffort, Some(class)) = (passel.transportation, class)
                && stamp.is_none_or(|s| s.retraction.is_none())
                && self.leave_out_early(instance, class, passel.values.values(), &mut to)
                && to.is_empty()
            {
                continue;
            }
            if !to.is_empty() {
                self.regions.note_sent(&passel.regions);
            }
            let address = self.address(&to, &passel.regions);
            let payload = Payload {
                transportation: passel.transportation,
                values: ValuesOut::Run(passel.values.values()),
                tag,
                address: Some(address.borrow()),
                stamp,
            };
            let body = DataBody::Update { instance, payload };
            self.send_data((&to[..], class.map(SentClass::Objects)), body, send);
        }
    }

    fn address(&self, to: &[FederateHandle], regions: &[RegionHandle]) -> AddressBuf {
        let ranges = |r: &RegionHandle| {
            let ranges: &[Range] = self.committed(*r).map_or(&[], |ranges| ranges);
            (*r, ranges)
        };
        let with: Vec<_> = regions.iter().map(ranges).collect();
        AddressBuf::new(to, with.into_iter())
    }

    /// Who gets an instance attribute's values (§9.1), at whatever class it knows the instance.
    fn region_receivers(
        &mut self,
        instance: ObjectInstanceHandle,
        registered: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Receivers {
        let changes = self.declarations.subscribed().changes();
        let known = self.regions.routes.of(changes).get(&instance);
        if let Some(to) = known.and_then(|i| i.get(&attribute)) {
            return to.clone();
        }
        let mut to = BTreeSet::new();
        let mut classes = BTreeSet::new();
        for c in self.model.object_lineage(registered) {
            classes.insert(c.handle);
            let without = self
                .declarations
                .subscribed()
                .at_object_class_without_regions(c.handle);
            to.extend(without.filter(|(_, a, _)| *a == attribute).map(|(f, ..)| f));
        }
        let subscribed = &self.declarations.subscribed().regions;
        for (_, ranges) in self.regions.updates.of(instance, attribute, self.me) {
            for region in subscribed.overlapping(ranges, Defaults::of(&self.model)) {
                let mut uses = subscribed.objects_of(region);
                if uses.any(|(c, a)| a == attribute && classes.contains(&c)) {
                    to.insert(region.creator());
                }
            }
        }
        to.remove(&self.me);
        let to: Receivers = to.into_iter().collect();
        let routes = self.regions.routes.of(changes);
        let routes = routes.entry(instance).or_default();
        routes.insert(attribute, to.clone());
        to
    }

    /// Send Interaction With Regions, 1516.1-2010 §9.12. With no region it is sent with the
    /// default region.
    pub fn send_interaction_with_regions(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        self.send_with_regions(class, values, regions, (tag, None), send)
    }

    /// Send Interaction With Regions with a time stamp, §9.12. The handle is of one sent in
    /// time-stamp order.
    pub fn send_interaction_with_regions_at(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        (tag, time): (&[u8], LogicalTime),
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<MessageRetractionHandle, Exception> {
        self.require_interaction_class(class)?;
        let order = self.require_time_stamp(time, self.interaction_order(class))?;
        let stamp = self.time.stamp(time, order);
        self.send_with_regions(class, values, regions, (tag, Some(stamp)), send)?;
        Ok(self.note_stamp(stamp))
    }

    fn send_with_regions(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        (tag, stamp): (&[u8], Option<Stamp>),
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> Result<(), Exception> {
        let (transportation, bytes) = self.line_up(class, values)?;
        let list = Listed::of_bytes(&self.slots, values, bytes);
        let buffer = ValuesBuf::of(ValuesOut::Given(&list));
        self.require_interaction_context(class, regions)?;
        if regions.is_empty() {
            return self.send(class, values, tag, stamp, send);
        }
        let to = self.interaction_receivers(class, regions);
        let address = self.address(&to, regions);
        let address = address.borrow();
        self.require_fits(buffer.bytes() + tag.len() + address.as_bytes().len())?;
        if !to.is_empty() {
            self.regions.note_sent(regions);
        }
        let payload = Payload {
            transportation,
            values: ValuesOut::Run(buffer.values()),
            tag,
            address: Some(address),
            stamp,
        };
        let of = Some(SentClass::Interactions(class));
        let body = DataBody::Interaction { class, payload };
        let handed_out = self.send_data((&to[..], of), body, send);
        if self.mom.tally.is_on() {
            self.mom.tally.sent(class, transportation);
            let bytes = buffer.bytes() + tag.len();
            note(&mut self.traffic, |t| t.sent(class, transportation, bytes));
        }
        if self.mom.serves(class) {
            self.send_to_rti(class, buffer.values(), handed_out);
        }
        Ok(())
    }

    /// Who gets an interaction: whose nearest subscribed class is subscribed without regions, or
    /// with one that overlaps (§9.1).
    fn interaction_receivers(
        &self,
        sent: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Vec<FederateHandle> {
        let subscribed = &self.declarations.subscribed().regions;
        let mut decided = BTreeSet::from([self.me]);
        let mut to = Vec::new();
        let Some(sent) = self.model.interaction_class(sent) else {
            return to;
        };
        for c in self.model.interaction_lineage(sent.handle) {
            let here: BTreeSet<_> = self
                .declarations
                .subscribed()
                .at_interaction_class(c.handle)
                .collect();
            let defaults = Defaults::between(&self.model, &sent.dimensions, &c.dimensions);
            let mut meets = BTreeSet::new();
            for region in regions.iter().filter(|_| !here.is_empty()) {
                let ranges = self.committed(*region).map_or(&[][..], |r| r);
                meets.extend(subscribed.overlapping(ranges, defaults));
            }
            for (federate, _) in here {
                if !decided.insert(federate) {
                    continue;
                }
                let (first, last) = RegionHandle::block(federate);
                let mut own = meets.range(first..=last);
                if self
                    .declarations
                    .subscribed()
                    .has_interaction(federate, c.handle)
                    || own.any(|r| subscribed.interaction(*r, c.handle).is_some())
                {
                    to.push(federate);
                }
            }
        }
        to.sort_unstable();
        to
    }

    /// Subscription regions of another federate's have new ranges: routes of what overlaps the
    /// former or the new ones are found again.
    pub(crate) fn apply_region_commits(&mut self, list: Vec<RegionSpecification>) {
        for specification in list {
            let RegionSpecification { region, ranges } = specification;
            let subscribed = self.declarations.routes();
            if !subscribed.regions.is_used(region) {
                continue;
            }
            let former = subscribed.commit(region, ranges.as_slice().into());
            for ranges in [former.as_deref().unwrap_or_default(), &ranges] {
                for (instance, _) in self
                    .regions
                    .updates
                    .overlapping(ranges, Defaults::of(&self.model))
                {
                    self.regions.routes.forget(instance);
                }
            }
        }
    }
}
