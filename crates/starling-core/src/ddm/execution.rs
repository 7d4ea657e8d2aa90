//! Data distribution management at the executive.

use super::index::Ranges;
use super::updates::UpdateRegions;
use super::{Defaults, overlap};
use crate::execution::Execution;
use crate::kept::{ENTRY_BYTES, Kept};
use crate::message::ddm::{Entry, Request};
use crate::message::{AttributeRegions, Cause, RegionSpecification};
use crate::object::registered::Instance;
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Owner, ProtocolError, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the executive knows of regions besides the subscriptions.
#[derive(Default)]
pub(crate) struct ExecutionRegions {
    pub(super) committed: BTreeMap<RegionHandle, Ranges>,
    /// Of `committed`.
    pub(super) kept: Kept,
    pub(super) updates: UpdateRegions,
}

impl ExecutionRegions {
    /// A region's committed ranges.
    pub(crate) fn committed(&self, region: RegionHandle) -> Option<&Ranges> {
        self.committed.get(&region)
    }

    /// The RTI updates these attributes of an instance with a region of its own from now on.
    pub(crate) fn put_own(
        &mut self,
        region: RegionHandle,
        ranges: &[crate::message::Range],
        instance: ObjectInstanceHandle,
        attributes: impl Iterator<Item = AttributeHandle>,
    ) {
        let ranges: Ranges = ranges.into();
        for attribute in attributes {
            let updates = &mut self.updates;
            updates.associate(instance, attribute, region, &ranges);
        }
        self.committed.insert(region, ranges);
    }

    /// A region of the RTI's is no more.
    pub(crate) fn take_own(&mut self, region: RegionHandle) {
        self.committed.remove(&region);
    }

    /// A federate's region has these ranges from now on.
    fn put(&mut self, region: RegionHandle, ranges: Ranges) {
        self.take(region);
        self.kept.add(region.creator(), region_bytes(&ranges));
        self.committed.insert(region, ranges);
    }

    fn take(&mut self, region: RegionHandle) {
        if let Some(gone) = self.committed.remove(&region) {
            self.kept.take(region.creator(), region_bytes(&gone));
        }
    }

    /// Whether anything is updated with regions of an instance.
    pub(crate) fn are_associated(&self, instance: ObjectInstanceHandle) -> bool {
        self.updates.has(instance)
    }

    /// The ranges that an attribute's owner updates it with; none: with the default region.
    pub(crate) fn updated_with(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: Owner,
    ) -> impl Iterator<Item = (RegionHandle, &Ranges)> {
        self.updates.of(instance, attribute, owner)
    }
}

/// About what is kept of a committed region, in bytes: here, and in the tables that look it up.
pub(super) fn region_bytes(ranges: &[crate::message::Range]) -> usize {
    2 * (ENTRY_BYTES + size_of_val(ranges))
}

/// Instances that a federate may now discover.
type Found = BTreeMap<FederateHandle, BTreeSet<ObjectInstanceHandle>>;

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_ddm(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::CommitRegions(list) => self.commit_regions(cause, list),
            Request::DeleteRegion(region) => self.delete_region(cause, region),
            Request::RegisterObjectWithRegions {
                instance,
                class,
                name,
                regions,
            } => self.register_object(cause, instance, class, name, &regions),
            Request::AssociateRegions { instance, regions } => {
                self.associate_regions(cause, instance, &regions)
            }
            Request::UnassociateRegions { instance, regions } => {
                self.unassociate_regions(cause, instance, &regions)
            }
            Request::SubscribeObjectClassWithRegions {
                class,
                regions,
                active,
                rate,
            } => self.subscribe_object_class_with_regions(cause, class, regions, active, rate),
            Request::UnsubscribeObjectClassWithRegions { class, regions } => {
                self.unsubscribe_object_class_with_regions(cause, class, regions)
            }
            Request::SubscribeInteractionWithRegions {
                class,
                regions,
                active,
            } => self.subscribe_interaction_with_regions(cause, class, regions, active),
            Request::UnsubscribeInteractionWithRegions { class, regions } => {
                self.unsubscribe_interaction_with_regions(cause, class, regions)
            }
            Request::RequestClassUpdateWithRegions {
                class,
                regions,
                tag,
            } => self.request_class_update_with_regions(cause, class, &regions, tag),
        }
    }

    /// Commit Region Modifications, 1516.1-2010 §9.3.
    pub(crate) fn commit_regions(
        &mut self,
        cause: Cause,
        list: Vec<RegionSpecification>,
    ) -> Result<(), ProtocolError> {
        let mut more = 0;
        for specification in &list {
            self.require_specification(cause, specification)?;
            more += region_bytes(&specification.ranges);
        }
        self.require_region_room(cause.sender, 0, more)?;
        let mut told = Vec::new();
        let mut found = Found::new();
        for specification in list {
            let region = specification.region;
            let ranges: Ranges = specification.ranges.as_slice().into();
            self.regions.put(region, ranges.clone());
            self.regions.updates.commit(region, &ranges);
            if self.subscriptions.regions.is_used(region) {
                let former = self.subscriptions.commit(region, ranges.clone());
                self.touch_overlapping(former.as_deref().unwrap_or_default());
                told.push(specification);
            }
            self.find_updated(region, &ranges, &mut found);
            self.find_for_subscription(region, &ranges, &mut found);
        }
        if !told.is_empty() {
            self.log.tell_all(cause, Entry::RegionsCommitted(told));
        }
        self.discover_found(cause, found);
        Ok(())
    }

    /// An update region has these ranges now: who may discover what.
    fn find_updated(&mut self, region: RegionHandle, ranges: &Ranges, found: &mut Found) {
        let users: BTreeSet<_> = self.regions.updates.users(region).collect();
        if users.is_empty() {
            return;
        }
        let subscribed = &self.subscriptions.regions;
        for other in subscribed.overlapping(ranges, Defaults::of(&self.model)) {
            for (_, attribute) in subscribed.objects_of(other) {
                let instances = users.iter().filter(|(_, a)| *a == attribute);
                let list = found.entry(other.creator()).or_default();
                list.extend(instances.map(|(instance, _)| *instance));
            }
        }
        for (instance, _) in users {
            self.touch(instance);
        }
    }

    /// A subscription region has these ranges now: what its federate may discover.
    fn find_for_subscription(&mut self, region: RegionHandle, ranges: &Ranges, found: &mut Found) {
        let subscribed = self.subscriptions.regions.objects_of(region);
        let attributes: BTreeSet<_> = subscribed.map(|(_, a)| a).collect();
        if attributes.is_empty() {
            return;
        }
        let users = self
            .regions
            .updates
            .overlapping(ranges, Defaults::of(&self.model));
        let list = found.entry(region.creator()).or_default();
        list.extend(
            users
                .filter(|(_, a)| attributes.contains(a))
                .map(|(i, _)| i),
        );
        self.touch_overlapping(ranges);
    }

    /// What is updated with regions that overlap these ranges may have left or entered scope.
    fn touch_overlapping(&mut self, ranges: &[crate::message::Range]) {
        if self.is_advising() {
            let users: Vec<_> = self
                .regions
                .updates
                .overlapping(ranges, Defaults::of(&self.model))
                .collect();
            for (instance, _) in users {
                self.touch(instance);
            }
        }
    }

    fn discover_found(&mut self, cause: Cause, found: Found) {
        for (federate, instances) in found {
            let instances: Vec<_> = instances.into_iter().collect();
            self.discover(cause, federate, &instances);
        }
    }

    /// Delete Region, §9.4: of one that was told of, or that something was sent with.
    pub(crate) fn delete_region(
        &mut self,
        cause: Cause,
        region: RegionHandle,
    ) -> Result<(), ProtocolError> {
        if region.creator() != cause.sender {
            return Err(ProtocolError(format!(
                "{} deleted {region}, which it has not created",
                cause.sender
            )));
        }
        if self.subscriptions.regions.is_used(region) {
            return Err(ProtocolError(format!("{region} was deleted while in use")));
        }
        // For its creator these instances are gone: others have not come to that time, or the deletion has just
        // been retracted.
        let users: Vec<_> = self.regions.updates.users(region).collect();
        for (instance, attribute) in users {
            self.regions
                .updates
                .unassociate(instance, attribute, region);
            self.touch(instance);
        }
        self.regions.take(region);
        if self.conveys_regions() {
            let mut others = self.log.members();
            others.retain(|f| *f != cause.sender);
            self.log.tell(cause, &others, Entry::RegionDeleted(region));
        }
        Ok(())
    }

    /// Associates regions for which [`Execution::require_pairs`] holds.
    pub(crate) fn associate(&mut self, instance: ObjectInstanceHandle, list: &[AttributeRegions]) {
        for (attribute, region) in AttributeRegions::pairs(list) {
            if let Some(ranges) = self.regions.committed.get(&region) {
                let updates = &mut self.regions.updates;
                updates.associate(instance, attribute, region, ranges);
            }
        }
    }

    /// Associate Regions For Updates, §9.6.
    pub(crate) fn associate_regions(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        list: &[AttributeRegions],
    ) -> Result<(), ProtocolError> {
        // Deleted meanwhile by another federate.
        let Some(class) = self.objects.get(instance).map(Instance::class) else {
            return Ok(());
        };
        self.require_pairs(cause, class, list)?;
        self.require_region_room(cause.sender, AttributeRegions::pairs(list).count(), 0)?;
        self.associate(instance, list);
        self.reach_anew(cause, instance);
        Ok(())
    }

    /// Unassociate Regions For Updates, §9.7.
    pub(crate) fn unassociate_regions(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        list: &[AttributeRegions],
    ) -> Result<(), ProtocolError> {
        let regions: Vec<_> = AttributeRegions::pairs(list).map(|(_, r)| r).collect();
        self.require_known(cause, &regions)?;
        for (attribute, region) in AttributeRegions::pairs(list) {
            self.regions
                .updates
                .unassociate(instance, attribute, region);
        }
        self.reach_anew(cause, instance);
        Ok(())
    }

    /// An instance's update regions have changed.
    fn reach_anew(&mut self, cause: Cause, instance: ObjectInstanceHandle) {
        self.touch(instance);
        for federate in self.log.members() {
            self.discover(cause, federate, &[instance]);
        }
    }

    /// Subscribe Object Class Attributes With Regions, §9.8.
    pub(crate) fn subscribe_object_class_with_regions(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        regions: Vec<AttributeRegions>,
        active: bool,
        rate: String,
    ) -> Result<(), ProtocolError> {
        self.require_pairs(cause, class, &regions)?;
        self.require_rate(&rate)?;
        self.require_region_room(cause.sender, AttributeRegions::pairs(&regions).count(), 0)?;
        let former: BTreeSet<_> = self.subscriptions.attributes(cause.sender, class).collect();
        let named: BTreeSet<_> = AttributeRegions::pairs(&regions).map(|(_, r)| r).collect();
        let specifications = self.specifications(named.iter().copied());
        let table = &mut self.subscriptions.change().regions;
        for region in &named {
            if let Some(ranges) = self.regions.committed.get(region) {
                table.commit(*region, ranges.clone());
            }
        }
        table.subscribe_object(class, &regions, active, &rate, self.log.index());
        let subscribed = Entry::ObjectRegionSubscription {
            class,
            specifications,
            regions: regions.clone(),
            active,
            rate,
        };
        self.log.tell_all(cause, subscribed);
        // A new attribute opens all that is updated with the default region, too.
        let mut attributes = regions.iter().flat_map(|r| &r.attributes);
        if attributes.any(|a| !former.contains(a)) {
            self.touch_known(cause.sender, class);
            self.discover_below(cause, class);
            return Ok(());
        }
        let mut found = Found::new();
        for region in named {
            if let Some(ranges) = self.regions.committed.get(&region).cloned() {
                self.find_for_subscription(region, &ranges, &mut found);
            }
        }
        self.discover_found(cause, found);
        Ok(())
    }

    /// Unsubscribe Object Class Attributes With Regions, §9.9.
    pub(crate) fn unsubscribe_object_class_with_regions(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        regions: Vec<AttributeRegions>,
    ) -> Result<(), ProtocolError> {
        self.require_pairs(cause, class, &regions)?;
        let table = &mut self.subscriptions.change().regions;
        table.unsubscribe_object(class, &regions);
        let unsubscribed = Entry::ObjectRegionUnsubscription { class, regions };
        self.log.tell_all(cause, unsubscribed);
        self.touch_known(cause.sender, class);
        let mut left = self.subscriptions.attributes(cause.sender, class);
        if left.next().is_none() {
            drop(left);
            // A superclass is the candidate now.
            self.discover_below(cause, class);
        }
        Ok(())
    }

    /// Subscribe Interaction Class With Regions, §9.10.
    pub(crate) fn subscribe_interaction_with_regions(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        regions: Vec<RegionHandle>,
        active: bool,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        self.require_known(cause, &regions)?;
        self.require_region_room(cause.sender, regions.len(), 0)?;
        let specifications = self.specifications(regions.iter().copied());
        let table = &mut self.subscriptions.change().regions;
        for region in &regions {
            if let Some(ranges) = self.regions.committed.get(region) {
                table.commit(*region, ranges.clone());
            }
        }
        table.subscribe_interaction(class, &regions, active, self.log.index());
        let subscribed = Entry::InteractionRegionSubscription {
            class,
            specifications,
            active,
        };
        self.log.tell_all(cause, subscribed);
        self.exclude_reporting(cause, class);
        Ok(())
    }

    /// Unsubscribe Interaction Class With Regions, §9.11.
    pub(crate) fn unsubscribe_interaction_with_regions(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        regions: Vec<RegionHandle>,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        self.require_known(cause, &regions)?;
        let table = &mut self.subscriptions.change().regions;
        table.unsubscribe_interaction(class, &regions);
        let unsubscribed = Entry::InteractionRegionUnsubscription { class, regions };
        self.log.tell_all(cause, unsubscribed);
        Ok(())
    }

    /// Request Attribute Value Update With Regions, §9.13: of those whose update regions overlap
    /// the given ones.
    pub(crate) fn request_class_update_with_regions(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        list: &[AttributeRegions],
        tag: Vec<u8>,
    ) -> Result<(), ProtocolError> {
        self.require_pairs(cause, class, list)?;
        let mut asked: BTreeMap<AttributeHandle, Vec<Ranges>> = BTreeMap::new();
        for (attribute, region) in AttributeRegions::pairs(list) {
            let ranges = self.regions.committed.get(&region).cloned();
            asked.entry(attribute).or_default().extend(ranges);
        }
        let mut wanted = Vec::new();
        for handle in self.instances_below(class) {
            for (attribute, asked) in &asked {
                let Some(owner) = self.owner(handle, Some(*attribute)) else {
                    continue;
                };
                let mut updated = self
                    .regions
                    .updates
                    .of(handle, *attribute, owner)
                    .peekable();
                let default = updated.peek().is_none() && !asked.is_empty();
                let meets = |(_, with): (_, &Ranges)| {
                    asked
                        .iter()
                        .any(|r| overlap(r, with, Defaults::of(&self.model)))
                };
                if owner != cause.sender && (default || updated.any(meets)) {
                    wanted.push((owner, handle, *attribute));
                }
            }
        }
        self.provide(cause, wanted, tag);
        Ok(())
    }

    /// Whether an instance attribute's values come to a federate that subscribes to it at `class`,
    /// as far as regions decide (§9.1.1).
    pub(crate) fn reaches(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: Owner,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> bool {
        let mut without = self.subscriptions.object(federate, class).iter();
        if without.any(|s| s.attribute == attribute) {
            return true;
        }
        let subscribed = &self.subscriptions.regions;
        if subscribed
            .regions(federate, class, attribute)
            .next()
            .is_none()
        {
            return false;
        }
        let mut updated = self
            .regions
            .updates
            .of(instance, attribute, owner)
            .peekable();
        if updated.peek().is_none() {
            return true;
        }
        updated.any(|(_, ranges)| {
            subscribed
                .overlapping(ranges, Defaults::of(&self.model))
                .any(|r| {
                    r.creator() == federate && subscribed.object(r, class, attribute).is_some()
                })
        })
    }

    /// Update rate designators of a federate's active subscriptions to a class attribute that
    /// reach it; empty for none.
    pub(crate) fn reaching_rates(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: FederateHandle,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Vec<&str> {
        let without = self.subscriptions.object(federate, class).iter();
        let without = without.filter(|s| s.active && s.attribute == attribute);
        let mut rates: Vec<_> = without.map(|s| s.rate.as_str()).collect();
        let updated: Vec<_> = self
            .regions
            .updates
            .of(instance, attribute, owner)
            .collect();
        let subscribed = &self.subscriptions.regions;
        for region in subscribed.regions(federate, class, attribute) {
            let how = subscribed.object(region, class, attribute);
            let Some(how) = how.filter(|h| h.active) else {
                continue;
            };
            let ranges = self.regions.committed.get(&region);
            let meets =
                |with: &Ranges| ranges.is_some_and(|r| overlap(r, with, Defaults::of(&self.model)));
            if updated.is_empty() || updated.iter().any(|(_, with)| meets(with)) {
                rates.push(&how.rate);
            }
        }
        rates
    }

    /// A federate has locally deleted an instance, and its associations with it.
    pub(crate) fn forget_own_associations(
        &mut self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) {
        self.regions.updates.forget_at(instance, federate);
    }

    /// An instance is gone.
    pub(crate) fn forget_associations(&mut self, instance: ObjectInstanceHandle) {
        self.regions.updates.forget_instance(instance);
    }

    /// A federate is gone.
    pub(crate) fn forget_regions(&mut self, federate: FederateHandle) {
        self.regions.updates.forget(federate);
        self.regions.kept.forget(federate);
        let (first, last) = RegionHandle::block(federate);
        self.regions
            .committed
            .retain(|region, _| !(first..=last).contains(region));
    }

    /// Whether a federate may have regions of so many bytes more, and so many more pairs of a region
    /// and what it is used for.
    pub(crate) fn require_region_room(
        &self,
        federate: FederateHandle,
        pairs: usize,
        bytes: usize,
    ) -> Result<(), ProtocolError> {
        let used =
            self.regions.updates.count(federate) + self.subscriptions.regions.count(federate);
        let pair_bytes = 3 * ENTRY_BYTES;
        let kept = self.regions.kept.of(federate) + used * pair_bytes;
        let more = bytes + pairs * pair_bytes;
        self.require_room(
            federate,
            "regions, with what they are used for,",
            kept,
            more,
        )
    }

    fn specifications(&self, of: impl Iterator<Item = RegionHandle>) -> Vec<RegionSpecification> {
        of.filter_map(|region| {
            let ranges = self.regions.committed.get(&region)?.to_vec();
            Some(RegionSpecification { region, ranges })
        })
        .collect()
    }

    fn require_specification(
        &self,
        cause: Cause,
        specification: &RegionSpecification,
    ) -> Result<(), ProtocolError> {
        let RegionSpecification { region, ranges } = specification;
        let legal = |r: &crate::message::Range| {
            let bound = self.model.dimension(r.dimension).map(|d| d.upper_bound);
            r.lower < r.upper && bound.is_some_and(|b| r.upper <= b)
        };
        if region.creator() != cause.sender || !ranges.iter().all(legal) {
            return Err(ProtocolError(format!(
                "{} committed {specification:?}, which is not its own or has illegal ranges",
                cause.sender
            )));
        }
        Ok(())
    }

    /// The sender's own regions, committed before.
    fn require_known(&self, cause: Cause, regions: &[RegionHandle]) -> Result<(), ProtocolError> {
        let known = |r: &&RegionHandle| {
            r.creator() == cause.sender && self.regions.committed.contains_key(r)
        };
        match regions.iter().find(|r| !known(r)) {
            None => Ok(()),
            Some(r) => Err(ProtocolError(format!(
                "{} used {r}, which it has not committed",
                cause.sender
            ))),
        }
    }

    /// Attributes of the class, and regions that their sender has committed.
    pub(crate) fn require_pairs(
        &self,
        cause: Cause,
        class: ObjectClassHandle,
        list: &[AttributeRegions],
    ) -> Result<(), ProtocolError> {
        let attributes = list.iter().flat_map(|r| &r.attributes).copied();
        self.require_attributes(class, attributes)?;
        let regions: Vec<_> = list.iter().flat_map(|r| &r.regions).copied().collect();
        self.require_known(cause, &regions)
    }
}
