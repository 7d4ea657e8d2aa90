//! Data distribution management at the federate that calls.

use super::index::Ranges;
use super::routes::RegionRoutes;
use super::updates::UpdateRegions;
use crate::exception::throw;
use crate::message::ddm::Request;
use crate::message::{AttributeRegions, Range, RegionSpecification, RequestNumber, require_pairs};
use crate::saved::ddm::OwnRegion;
use crate::support::federate::not_in_fdd;
use crate::{
    AttributeHandle, DimensionHandle, Exception, Federate, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a federate knows of regions besides the subscriptions.
#[derive(Default)]
pub(crate) struct FederateRegions {
    pub(super) own: BTreeMap<RegionHandle, OwnRegion>,
    pub(super) last: u32,
    /// Its own associations for updates.
    pub(super) updates: UpdateRegions,
    pub(super) routes: RegionRoutes,
    /// Others' regions that were conveyed to the federate, as they were then (§9.1.6). No more than
    /// there are: they go when their creators delete them or are gone.
    pub(super) conveyed: BTreeMap<RegionHandle, Vec<Range>>,
}

impl FederateRegions {
    /// Whether any region is associated with an instance for updates.
    #[inline]
    pub(crate) fn are_associated(&self, instance: ObjectInstanceHandle) -> bool {
        self.updates.has(instance)
    }

    /// Regions of another federate were told to this one.
    pub(crate) fn convey(&mut self, sent: impl Iterator<Item = RegionSpecification>) {
        self.conveyed.extend(sent.map(|s| (s.region, s.ranges)));
    }

    /// Regions from `first` to `last` are no more.
    pub(crate) fn forget_conveyed(&mut self, first: RegionHandle, last: RegionHandle) {
        let gone: Vec<_> = self.conveyed.range(first..=last).map(|(r, _)| *r).collect();
        for region in gone {
            self.conveyed.remove(&region);
        }
    }

    /// Whether one of them was conveyed.
    pub(crate) fn has_conveyed(&self, first: RegionHandle, last: RegionHandle) -> bool {
        self.conveyed.range(first..=last).next().is_some()
    }

    /// Something was sent with these regions of one's own.
    pub(crate) fn note_sent(&mut self, regions: &[RegionHandle]) {
        for region in regions {
            if let Some(own) = self.own.get_mut(region) {
                own.sent = true;
            }
        }
    }

    /// An instance is gone for this federate.
    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        self.updates.forget_instance(instance);
        self.routes.forget(instance);
    }

    fn ranges(&self, region: RegionHandle) -> Option<&[Range]> {
        match self.own.get(&region) {
            Some(own) => Some(&own.ranges),
            None => self.conveyed.get(&region).map(Vec::as_slice),
        }
    }
}

impl Federate {
    /// Create Region, 1516.1-2010 §9.2: a template whose ranges are the default ones until they
    /// are set.
    pub fn create_region(
        &mut self,
        dimensions: &[DimensionHandle],
    ) -> Result<RegionHandle, Exception> {
        let mut ranges = Vec::new();
        for dimension in BTreeSet::from_iter(dimensions) {
            let Some(known) = self.model.dimension(*dimension) else {
                let why = not_in_fdd("dimension", dimension.raw());
                throw!(InvalidDimensionHandle, "{why}");
            };
            ranges.push(Range {
                dimension: *dimension,
                lower: 0,
                upper: known.upper_bound,
            });
        }
        let Some(number) = self.regions.last.checked_add(1) else {
            throw!(
                RTIinternalError,
                "this federate has created {} regions and can't have more handles",
                u32::MAX
            );
        };
        self.regions.last = number;
        let region = RegionHandle::new(self.me, number);
        let new = OwnRegion {
            ranges,
            committed: None,
            told: false,
            sent: false,
        };
        self.regions.own.insert(region, new);
        Ok(region)
    }

    /// Commit Region Modifications, §9.3: all or none.
    pub fn commit_region_modifications(
        &mut self,
        regions: &[RegionHandle],
    ) -> Result<(), Exception> {
        for region in regions {
            self.own_region(*region)?;
        }
        let mut news = Vec::new();
        let mut shrinks = false;
        for region in BTreeSet::from_iter(regions.iter().copied()) {
            let Some(own) = self.regions.own.get_mut(&region) else {
                continue;
            };
            if own.committed.as_deref() == Some(own.ranges.as_slice()) {
                continue;
            }
            let ranges: Ranges = own.ranges.as_slice().into();
            own.committed = Some(ranges.clone());
            if !own.told {
                continue;
            }
            news.push(RegionSpecification {
                region,
                ranges: own.ranges.clone(),
            });
            self.declarations.commit_mine(region, &ranges);
            if self.regions.updates.is_used(region) {
                shrinks = true;
                self.regions.updates.commit(region, &ranges);
                for (instance, _) in self.regions.updates.users(region) {
                    self.regions.routes.forget(instance);
                }
            }
        }
        match (news.is_empty(), shrinks) {
            (true, _) => {}
            // What was sent with the former ranges comes before what these end.
            (false, true) => self.log.ending_request(Request::CommitRegions(news)),
            (false, false) => self.log.request(Request::CommitRegions(news)),
        }
        Ok(())
    }

    /// Delete Region, §9.4.
    pub fn delete_region(&mut self, region: RegionHandle) -> Result<(), Exception> {
        let OwnRegion { told, sent, .. } = *self.own_region(region)?;
        if let Some((instance, attribute)) = self.regions.updates.users(region).next() {
            throw!(
                RegionInUseForUpdateOrSubscription,
                "{region} is associated with attribute {} of {instance} for updates",
                self.attribute_text(attribute)
            );
        }
        if self.declarations.mine().regions.is_used(region) {
            throw!(
                RegionInUseForUpdateOrSubscription,
                "{region} is subscribed with: unsubscribe first"
            );
        }
        self.regions.own.remove(&region);
        let conveyed = sent;
        match (conveyed, told) {
            // Those to whom it was conveyed know it until all that was sent with it has come.
            (true, _) => self.log.ending_request(Request::DeleteRegion(region)),
            (false, true) => self.log.request(Request::DeleteRegion(region)),
            (false, false) => {}
        }
        Ok(())
    }

    /// Get Dimension Handle Set, §10.28.
    pub fn dimension_handle_set(
        &self,
        region: RegionHandle,
    ) -> Result<Vec<DimensionHandle>, Exception> {
        let ranges = self.known_ranges(region)?;
        Ok(ranges.iter().map(|r| r.dimension).collect())
    }

    /// Get Range Bounds, §10.29: of a region of one's own as set last, of a conveyed one as sent.
    pub fn range_bounds(
        &self,
        region: RegionHandle,
        dimension: DimensionHandle,
    ) -> Result<(u32, u32), Exception> {
        let ranges = self.known_ranges(region)?;
        match ranges.iter().find(|r| r.dimension == dimension) {
            Some(range) => Ok((range.lower, range.upper)),
            None => throw!(
                RegionDoesNotContainSpecifiedDimension,
                "{region} does not specify {}",
                self.dimension_text(dimension)
            ),
        }
    }

    /// Set Range Bounds, §10.30: pending until the region is committed.
    pub fn set_range_bounds(
        &mut self,
        region: RegionHandle,
        dimension: DimensionHandle,
        lower: u64,
        upper: u64,
    ) -> Result<(), Exception> {
        let own = self.own_region(region)?;
        let position = own.ranges.iter().position(|r| r.dimension == dimension);
        let Some(position) = position else {
            throw!(
                RegionDoesNotContainSpecifiedDimension,
                "{region} does not specify {}",
                self.dimension_text(dimension)
            );
        };
        let bound = self.model.dimension(dimension).map_or(0, |d| d.upper_bound);
        let bounds = (u32::try_from(lower), u32::try_from(upper));
        let (Ok(lower), Ok(upper)) = bounds else {
            throw!(
                InvalidRangeBound,
                "[{lower}, {upper}) is not within [0, {bound}) of {}",
                self.dimension_text(dimension)
            );
        };
        if lower >= upper || upper > bound {
            throw!(
                InvalidRangeBound,
                "[{lower}, {upper}) is not a range within [0, {bound}) of {}",
                self.dimension_text(dimension)
            );
        }
        if let Some(own) = self.regions.own.get_mut(&region) {
            own.ranges[position] = Range {
                dimension,
                lower,
                upper,
            };
        }
        Ok(())
    }

    /// Register Object Instance With Regions, §9.5.
    pub fn register_object_instance_with_regions(
        &mut self,
        class: ObjectClassHandle,
        regions: &[AttributeRegions],
        name: Option<&str>,
    ) -> Result<ObjectInstanceHandle, Exception> {
        self.require_listed_attributes(class, regions)?;
        let class_name = &self.require_object_class(class)?.name;
        let Some(published) = self.declarations.published(class) else {
            throw!(
                ObjectClassNotPublished,
                "'{class_name}' is not published by this federate"
            );
        };
        let mut attributes = regions.iter().flat_map(|r| &r.attributes);
        if let Some(a) = attributes.find(|a| !published.contains(a)) {
            throw!(
                AttributeNotPublished,
                "{} is not published by this federate at '{class_name}'",
                self.attribute_text(*a)
            );
        }
        self.require_context(regions)?;
        let named = pairs_only(regions);
        let told: Vec<_> = named.iter().flat_map(|r| &r.regions).copied().collect();
        let instance = self.register(class, name, |federate, instance, name| {
            federate.tell_regions(&told);
            federate.associate(instance, &named);
            Request::RegisterObjectWithRegions {
                instance,
                class,
                name,
                regions: named,
            }
        })?;
        Ok(instance)
    }

    /// Associate Regions For Updates, §9.6: adds to what is associated. The federate need not own
    /// the attributes; the association is in effect while it does.
    pub fn associate_regions_for_updates(
        &mut self,
        instance: ObjectInstanceHandle,
        regions: &[AttributeRegions],
    ) -> Result<(), Exception> {
        let class = self.known(instance)?.known_class();
        self.require_listed_attributes(class, regions)?;
        self.require_context(regions)?;
        let regions = pairs_only(regions);
        if regions.is_empty() {
            return Ok(());
        }
        let told: Vec<_> = regions.iter().flat_map(|r| &r.regions).copied().collect();
        self.tell_regions(&told);
        self.associate(instance, &regions);
        self.log
            .ending_request(Request::AssociateRegions { instance, regions });
        Ok(())
    }

    /// A deletion was retracted that was not delivered here: at the executive the regions of this federate's attributes
    /// had gone with it.
    pub(crate) fn associate_again(&mut self, instance: ObjectInstanceHandle) {
        let regions = self.regions.updates.all_of(instance);
        if !regions.is_empty() {
            let request = Request::AssociateRegions { instance, regions };
            self.log.request(request);
        }
    }

    /// A removal is delivered that may be retracted: at the executive regions are associated again that were since it came.
    pub(crate) fn unassociate_removed(&mut self, instance: ObjectInstanceHandle) {
        let regions = self.regions.updates.all_of(instance);
        if !regions.is_empty() {
            let request = Request::UnassociateRegions { instance, regions };
            self.log.request(request);
        }
    }

    /// Unassociate Regions For Updates, §9.7: what has no region left is updated with the default
    /// region.
    pub fn unassociate_regions_for_updates(
        &mut self,
        instance: ObjectInstanceHandle,
        regions: &[AttributeRegions],
    ) -> Result<(), Exception> {
        let class = self.known(instance)?.known_class();
        self.require_listed_attributes(class, regions)?;
        self.require_own_regions(regions.iter().flat_map(|r| &r.regions))?;
        let associated = |(a, r): &(AttributeHandle, RegionHandle)| {
            let mut of = self.regions.updates.of(instance, *a, self.me);
            of.any(|(region, _)| region == *r)
        };
        let gone: Vec<_> = AttributeRegions::pairs(regions)
            .filter(associated)
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        for (attribute, region) in &gone {
            let updates = &mut self.regions.updates;
            updates.unassociate(instance, *attribute, *region);
        }
        self.regions.routes.forget(instance);
        let regions = listed(gone);
        self.log
            .ending_request(Request::UnassociateRegions { instance, regions });
        Ok(())
    }

    /// As for each of the sets of attributes.
    fn require_managed_pairs(
        &self,
        class: ObjectClassHandle,
        regions: &[AttributeRegions],
    ) -> Result<(), Exception> {
        let mut sets = regions.iter().map(|r| &r.attributes);
        sets.try_for_each(|attributes| self.require_managed_object(class, attributes))
    }

    /// Subscribe Object Class Attributes With Regions, §9.8: adds to what is subscribed; where an
    /// attribute is subscribed with a region already, `active` and `rate` replace the former ones.
    pub fn subscribe_object_class_attributes_with_regions(
        &mut self,
        class: ObjectClassHandle,
        regions: &[AttributeRegions],
        active: bool,
        rate: &str,
    ) -> Result<(), Exception> {
        self.require_listed_attributes(class, regions)?;
        self.require_context(regions)?;
        self.require_update_rate(rate)?;
        self.require_managed_pairs(class, regions)?;
        let regions = pairs_only(regions);
        if regions.is_empty() {
            return Ok(());
        }
        let told: Vec<_> = regions.iter().flat_map(|r| &r.regions).copied().collect();
        self.tell_regions(&told);
        let request = self.note_subscription_regions(&told);
        let mine = &mut self.declarations.change_mine().regions;
        mine.subscribe_object(class, &regions, active, rate, request);
        self.log.request(Request::SubscribeObjectClassWithRegions {
            class,
            regions,
            active,
            rate: rate.to_owned(),
        });
        Ok(())
    }

    /// Unsubscribe Object Class Attributes With Regions, §9.9.
    pub fn unsubscribe_object_class_attributes_with_regions(
        &mut self,
        class: ObjectClassHandle,
        regions: &[AttributeRegions],
    ) -> Result<(), Exception> {
        self.require_listed_attributes(class, regions)?;
        self.require_own_regions(regions.iter().flat_map(|r| &r.regions))?;
        let subscribed = |(a, r): &(AttributeHandle, RegionHandle)| {
            self.declarations
                .mine()
                .regions
                .object(*r, class, *a)
                .is_some()
        };
        let gone: Vec<_> = AttributeRegions::pairs(regions)
            .filter(subscribed)
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        let regions = listed(gone);
        let mine = &mut self.declarations.change_mine().regions;
        mine.unsubscribe_object(class, &regions);
        self.log
            .request(Request::UnsubscribeObjectClassWithRegions { class, regions });
        Ok(())
    }

    /// Subscribe Interaction Class With Regions, §9.10: adds to what is subscribed.
    pub fn subscribe_interaction_class_with_regions(
        &mut self,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
        active: bool,
    ) -> Result<(), Exception> {
        self.require_interaction_context(class, regions)?;
        self.require_managed_interaction(class)?;
        self.require_unreported(class)?;
        if regions.is_empty() {
            return Ok(());
        }
        self.tell_regions(regions);
        let request = self.note_subscription_regions(regions);
        let mine = &mut self.declarations.change_mine().regions;
        mine.subscribe_interaction(class, regions, active, request);
        self.log.request(Request::SubscribeInteractionWithRegions {
            class,
            regions: regions.to_vec(),
            active,
        });
        Ok(())
    }

    /// Unsubscribe Interaction Class With Regions, §9.11.
    pub fn unsubscribe_interaction_class_with_regions(
        &mut self,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        self.require_own_regions(regions.iter())?;
        let subscribed = |r: &&RegionHandle| {
            self.declarations
                .mine()
                .regions
                .interaction(**r, class)
                .is_some()
        };
        let gone: Vec<_> = regions.iter().filter(subscribed).copied().collect();
        if gone.is_empty() {
            return Ok(());
        }
        let mine = &mut self.declarations.change_mine().regions;
        mine.unsubscribe_interaction(class, &gone);
        let regions = gone;
        self.log
            .request(Request::UnsubscribeInteractionWithRegions { class, regions });
        Ok(())
    }

    /// Request Attribute Value Update With Regions, §9.13.
    pub fn request_attribute_value_update_with_regions(
        &mut self,
        class: ObjectClassHandle,
        regions: &[AttributeRegions],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.require_listed_attributes(class, regions)?;
        self.require_context(regions)?;
        self.require_managed_pairs(class, regions)?;
        let regions = pairs_only(regions);
        if regions.is_empty() {
            return Ok(());
        }
        let told: Vec<_> = regions.iter().flat_map(|r| &r.regions).copied().collect();
        self.tell_regions(&told);
        self.log.request(Request::RequestClassUpdateWithRegions {
            class,
            regions,
            tag: tag.to_vec(),
        });
        Ok(())
    }

    /// Tells the executive of committed regions that it does not know.
    fn tell_regions(&mut self, regions: &[RegionHandle]) {
        let mut news = Vec::new();
        for region in regions {
            if let Some(own) = self.regions.own.get_mut(region)
                && let (false, Some(committed)) = (own.told, &own.committed)
            {
                own.told = true;
                let ranges = committed.to_vec();
                let region = *region;
                news.push(RegionSpecification { region, ranges });
            }
        }
        if !news.is_empty() {
            self.log.request(Request::CommitRegions(news));
        }
    }

    /// Notes ranges of regions that the next request subscribes with; its number.
    fn note_subscription_regions(&mut self, regions: &[RegionHandle]) -> RequestNumber {
        for region in regions {
            if let Some(ranges) = self.committed(*region) {
                let ranges = ranges.clone();
                self.declarations
                    .change_mine()
                    .regions
                    .commit(*region, ranges);
            }
        }
        self.log.next_request()
    }

    fn associate(&mut self, instance: ObjectInstanceHandle, list: &[AttributeRegions]) {
        for (attribute, region) in AttributeRegions::pairs(list) {
            let own = self.regions.own.get(&region);
            if let Some(ranges) = own.and_then(|own| own.committed.clone()) {
                let updates = &mut self.regions.updates;
                updates.associate(instance, attribute, region, &ranges);
            }
        }
        self.regions.routes.forget(instance);
    }

    /// A region's committed ranges.
    pub(crate) fn committed(&self, region: RegionHandle) -> Option<&Ranges> {
        self.regions.own.get(&region)?.committed.as_ref()
    }

    /// InvalidRegion or RegionNotCreatedByThisFederate unless it is one of one's own.
    fn own_region(&self, region: RegionHandle) -> Result<&OwnRegion, Exception> {
        if let Some(own) = self.regions.own.get(&region) {
            return Ok(own);
        }
        if region.creator().is_valid() && region.creator() != self.me {
            throw!(
                RegionNotCreatedByThisFederate,
                "{region} was created by {}",
                region.creator()
            );
        }
        throw!(
            InvalidRegion,
            "{region} is no region: never created, or deleted"
        )
    }

    fn require_own_regions<'a>(
        &self,
        regions: impl Iterator<Item = &'a RegionHandle> + Clone,
    ) -> Result<(), Exception> {
        let found: Vec<_> = regions.map(|r| self.own_region(*r)).collect();
        // InvalidRegion before RegionNotCreatedByThisFederate.
        let invalid = |r: &&Result<&OwnRegion, Exception>| matches!(r, Err(e) if e.kind == crate::ExceptionKind::InvalidRegion);
        let first = found.iter().find(invalid);
        match first.or_else(|| found.iter().find(|r| r.is_err())) {
            Some(Err(e)) => Err(e.clone()),
            _ => Ok(()),
        }
    }

    /// Regions of one's own that are committed and specify only dimensions out of `available`.
    fn require_usable<'a>(
        &self,
        regions: impl Iterator<Item = &'a RegionHandle> + Clone,
        available: impl Fn(RegionHandle, DimensionHandle) -> Result<(), Exception>,
    ) -> Result<(), Exception> {
        self.require_own_regions(regions.clone())?;
        for region in regions.clone() {
            if self.committed(*region).is_none() {
                throw!(
                    InvalidRegion,
                    "{region} is a template: call commitRegionModifications first"
                );
            }
        }
        for region in regions {
            for range in self.own_region(*region)?.ranges.iter() {
                available(*region, range.dimension)?;
            }
        }
        Ok(())
    }

    /// InvalidRegion, RegionNotCreatedByThisFederate or InvalidRegionContext, if so.
    fn require_context(&self, list: &[AttributeRegions]) -> Result<(), Exception> {
        self.require_usable(list.iter().flat_map(|item| &item.regions), |_, _| Ok(()))?;
        for item in list {
            for attribute in &item.attributes {
                let found = self.model.attribute(*attribute);
                let available = found.map_or(&[][..], |a| &a.dimensions);
                self.require_usable(item.regions.iter(), |region, dimension| {
                    if available.contains(&dimension) {
                        return Ok(());
                    }
                    throw!(
                        InvalidRegionContext,
                        "{region} specifies {}, which is not available for attribute {}",
                        self.dimension_text(dimension),
                        self.attribute_text(*attribute)
                    )
                })?;
            }
        }
        Ok(())
    }

    /// Every region may be used, and specifies only dimensions that are available for the class;
    /// after InteractionClassNotDefined.
    pub(crate) fn require_interaction_context(
        &self,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Result<(), Exception> {
        let known = self.require_interaction_class(class)?;
        self.require_usable(regions.iter(), |region, dimension| {
            if known.dimensions.contains(&dimension) {
                return Ok(());
            }
            throw!(
                InvalidRegionContext,
                "{region} specifies {}, which is not available for '{}'",
                self.dimension_text(dimension),
                known.name
            )
        })
    }

    fn require_listed_attributes(
        &self,
        class: ObjectClassHandle,
        list: &[AttributeRegions],
    ) -> Result<(), Exception> {
        self.require_object_class(class)?;
        list.iter()
            .try_for_each(|item| self.require_attributes(class, &item.attributes))?;
        require_pairs(list)
    }

    fn known_ranges(&self, region: RegionHandle) -> Result<&[Range], Exception> {
        match self.regions.ranges(region) {
            Some(ranges) => Ok(ranges),
            None => throw!(
                InvalidRegion,
                "{region} is neither a region of this federate nor one that was conveyed to it"
            ),
        }
    }

    /// A dimension for messages: its name, or its number where the FDD has none.
    fn dimension_text(&self, dimension: DimensionHandle) -> String {
        match self.model.dimension(dimension) {
            Some(d) => format!("dimension '{}'", d.name),
            None => format!("dimension handle {dimension}"),
        }
    }
}

/// Without what names no attribute or no region: it changes nothing.
fn pairs_only(list: &[AttributeRegions]) -> Vec<AttributeRegions> {
    let says = |item: &&AttributeRegions| !item.attributes.is_empty() && !item.regions.is_empty();
    list.iter().filter(says).cloned().collect()
}

/// Pairs as the messages have them.
fn listed(pairs: Vec<(AttributeHandle, RegionHandle)>) -> Vec<AttributeRegions> {
    let mut by_attribute: BTreeMap<AttributeHandle, BTreeSet<RegionHandle>> = BTreeMap::new();
    for (attribute, region) in pairs {
        by_attribute.entry(attribute).or_default().insert(region);
    }
    let lists = by_attribute.into_iter();
    lists
        .map(|(attribute, regions)| AttributeRegions {
            attributes: vec![attribute],
            regions: regions.into_iter().collect(),
        })
        .collect()
}
