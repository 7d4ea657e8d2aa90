//! Subscriptions with regions: the same table at the executive and at every member.

use super::Defaults;
use super::index::{Ranges, RegionIndex};
use crate::message::ddm::Snapshot;
use crate::message::{AttributeRegions, Range, RegionSpecification, RegionSubscription};
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// How a class is subscribed with a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct How<N> {
    pub(crate) active: bool,
    /// Update rate designator, empty for none.
    pub(crate) rate: String,
    /// From when on it has been subscribed so.
    pub(crate) since: N,
}

/// What one region is subscribed with.
struct Uses<N> {
    objects: BTreeMap<(ObjectClassHandle, AttributeHandle), How<N>>,
    interactions: BTreeMap<InteractionClassHandle, How<N>>,
}

impl<N> Default for Uses<N> {
    fn default() -> Self {
        Uses {
            objects: BTreeMap::new(),
            interactions: BTreeMap::new(),
        }
    }
}

/// Each region with since when it has been subscribed with; the earliest comes first.
type Regions<N> = BTreeSet<(N, RegionHandle)>;

type ObjectRegions<N> = BTreeMap<(FederateHandle, AttributeHandle), Regions<N>>;

/// The part of [`Subscriptions`](crate::declaration::Subscriptions) that is with regions; `N` as
/// there.
pub(crate) struct RegionSubscriptions<N> {
    rates: bool,
    index: RegionIndex,
    uses: BTreeMap<RegionHandle, Uses<N>>,
    objects: BTreeMap<ObjectClassHandle, ObjectRegions<N>>,
    interactions: BTreeMap<InteractionClassHandle, BTreeMap<FederateHandle, Regions<N>>>,
    /// How many pairs of class, or class attribute, and region there are by the regions' creators.
    counts: BTreeMap<FederateHandle, usize>,
}

impl<N> Default for RegionSubscriptions<N> {
    fn default() -> Self {
        RegionSubscriptions {
            rates: false,
            index: RegionIndex::default(),
            uses: BTreeMap::new(),
            objects: BTreeMap::new(),
            interactions: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }
}

fn of(federate: FederateHandle) -> std::ops::RangeInclusive<(FederateHandle, AttributeHandle)> {
    let [first, last] = [0, u32::MAX].map(AttributeHandle::from_raw);
    (federate, first)..=(federate, last)
}

impl<N: Copy + Ord> RegionSubscriptions<N> {
    /// Notes committed ranges before they are first subscribed with, or new ones; the former.
    pub(crate) fn commit(&mut self, region: RegionHandle, ranges: Ranges) -> Option<Ranges> {
        let former = self.index.get(region).cloned();
        self.index.set(region, ranges);
        former
    }

    /// Whether anybody has ever subscribed at an update rate.
    pub(crate) fn has_rates(&self) -> bool {
        self.rates
    }

    /// Attributes subscribed at exactly this class, with their update rate designators.
    pub(crate) fn rates_at(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle, &str)> {
        let at_class = self.objects.get(&class).into_iter().flatten();
        at_class.flat_map(move |((federate, attribute), regions)| {
            let all = regions.iter();
            let how = all.filter_map(move |(_, r)| self.object(*r, class, *attribute));
            how.map(|how| (*federate, *attribute, how.rate.as_str()))
        })
    }

    /// Whether a region is subscribed with.
    pub(crate) fn is_used(&self, region: RegionHandle) -> bool {
        self.uses.contains_key(&region)
    }

    /// Subscribes with regions whose ranges are known; replaces how, where it is so already.
    pub(crate) fn subscribe_object(
        &mut self,
        class: ObjectClassHandle,
        list: &[AttributeRegions],
        active: bool,
        rate: &str,
        now: N,
    ) {
        self.rates |= !rate.is_empty();
        for (attribute, region) in AttributeRegions::pairs(list) {
            let uses = self.uses.entry(region).or_default();
            let how = uses.objects.entry((class, attribute)).or_insert(How {
                active,
                rate: String::new(),
                since: now,
            });
            how.active = active;
            rate.clone_into(&mut how.rate);
            let at_class = self.objects.entry(class).or_default();
            let regions = at_class.entry((region.creator(), attribute)).or_default();
            if regions.insert((how.since, region)) {
                *self.counts.entry(region.creator()).or_default() += 1;
            }
        }
    }

    /// Ends subscriptions; there may be none.
    pub(crate) fn unsubscribe_object(
        &mut self,
        class: ObjectClassHandle,
        list: &[AttributeRegions],
    ) {
        for (attribute, region) in AttributeRegions::pairs(list) {
            let uses = self.uses.get_mut(&region);
            let Some(how) = uses.and_then(|u| u.objects.remove(&(class, attribute))) else {
                continue;
            };
            self.uncount(region.creator());
            let key = (region.creator(), attribute);
            if let Some(at_class) = self.objects.get_mut(&class)
                && let Some(regions) = at_class.get_mut(&key)
            {
                regions.remove(&(how.since, region));
                if regions.is_empty() {
                    at_class.remove(&key);
                }
            }
            self.drop_unused(region);
        }
    }

    /// Subscribes to an interaction class with regions whose ranges are known; replaces how, where
    /// it is so already.
    pub(crate) fn subscribe_interaction(
        &mut self,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
        active: bool,
        now: N,
    ) {
        for region in regions {
            let uses = self.uses.entry(*region).or_default();
            let how = uses.interactions.entry(class).or_insert(How {
                active,
                rate: String::new(),
                since: now,
            });
            how.active = active;
            let at_class = self.interactions.entry(class).or_default();
            let own = at_class.entry(region.creator()).or_default();
            if own.insert((how.since, *region)) {
                *self.counts.entry(region.creator()).or_default() += 1;
            }
        }
    }

    /// Ends subscriptions to an interaction class; there may be none.
    pub(crate) fn unsubscribe_interaction(
        &mut self,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) {
        for region in regions {
            let uses = self.uses.get_mut(region);
            let Some(how) = uses.and_then(|u| u.interactions.remove(&class)) else {
                continue;
            };
            self.uncount(region.creator());
            if let Some(at_class) = self.interactions.get_mut(&class)
                && let Some(own) = at_class.get_mut(&region.creator())
            {
                own.remove(&(how.since, *region));
                if own.is_empty() {
                    at_class.remove(&region.creator());
                }
            }
            self.drop_unused(*region);
        }
    }

    /// With how many pairs a federate subscribes.
    pub(crate) fn count(&self, federate: FederateHandle) -> usize {
        self.counts.get(&federate).copied().unwrap_or_default()
    }

    fn uncount(&mut self, federate: FederateHandle) {
        if let Some(count) = self.counts.get_mut(&federate) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&federate);
            }
        }
    }

    fn drop_unused(&mut self, region: RegionHandle) {
        let unused = |u: &Uses<N>| u.objects.is_empty() && u.interactions.is_empty();
        if self.uses.get(&region).is_some_and(unused) {
            self.uses.remove(&region);
            self.index.remove(region);
        }
    }

    /// Forgets a federate that has resigned.
    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        let gone: Vec<_> = self.index.of(federate).map(|(region, _)| region).collect();
        for region in gone {
            self.uses.remove(&region);
            self.index.remove(region);
        }
        self.counts.remove(&federate);
        for at_class in self.objects.values_mut() {
            at_class.retain(|(f, _), _| *f != federate);
        }
        for at_class in self.interactions.values_mut() {
            at_class.remove(&federate);
        }
    }

    /// Whether `federate` subscribes to anything at exactly this class with regions.
    pub(crate) fn has_object(&self, federate: FederateHandle, class: ObjectClassHandle) -> bool {
        self.attributes(federate, class).next().is_some()
    }

    /// Attributes that `federate` subscribes to at exactly this class with regions.
    pub(crate) fn attributes(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = AttributeHandle> {
        let at_class = self.objects.get(&class);
        let own = at_class.map(|c| c.range(of(federate)));
        own.into_iter().flatten().map(|((_, a), _)| *a)
    }

    /// Who subscribes to which attributes at exactly this class with regions, and since when.
    pub(crate) fn at_object_class(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle, N)> {
        let at_class = self.objects.get(&class).into_iter().flatten();
        at_class.filter_map(|((federate, attribute), regions)| {
            Some((*federate, *attribute, regions.first()?.0))
        })
    }

    /// Attributes that are actively subscribed at exactly this class with a region.
    pub(crate) fn active_at_object_class(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle)> {
        let at_class = self.objects.get(&class).into_iter().flatten();
        let active = at_class.filter(move |((_, attribute), regions)| {
            let mut how = regions
                .iter()
                .map(|(_, r)| self.object(*r, class, *attribute));
            how.any(|how| how.is_some_and(|h| h.active))
        });
        active.map(|(key, _)| *key)
    }

    /// With which regions `federate` subscribes to a class attribute.
    pub(crate) fn regions(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> impl Iterator<Item = RegionHandle> {
        let at_class = self.objects.get(&class);
        let regions = at_class.and_then(|c| c.get(&(federate, attribute)));
        regions.into_iter().flatten().map(|(_, region)| *region)
    }

    /// How a class attribute is subscribed with a region, if it is.
    pub(crate) fn object(
        &self,
        region: RegionHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<&How<N>> {
        self.uses.get(&region)?.objects.get(&(class, attribute))
    }

    /// Class attributes that are subscribed with a region.
    pub(crate) fn objects_of(
        &self,
        region: RegionHandle,
    ) -> impl Iterator<Item = (ObjectClassHandle, AttributeHandle)> {
        let uses = self.uses.get(&region).map(|u| u.objects.keys());
        uses.into_iter().flatten().copied()
    }

    /// What a federate subscribes to with its regions.
    fn uses_of(&self, federate: FederateHandle) -> impl Iterator<Item = &Uses<N>> {
        let (first, last) = RegionHandle::block(federate);
        self.uses.range(first..=last).map(|(_, uses)| uses)
    }

    /// Class attributes that a federate subscribes to with its regions.
    pub(crate) fn attributes_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (ObjectClassHandle, AttributeHandle, &How<N>)> {
        let all = self.uses_of(federate).flat_map(|uses| &uses.objects);
        all.map(|((class, attribute), how)| (*class, *attribute, how))
    }

    /// Interaction classes that a federate subscribes to with its regions.
    pub(crate) fn interactions_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (InteractionClassHandle, &How<N>)> {
        let all = self.uses_of(federate).flat_map(|uses| &uses.interactions);
        all.map(|(class, how)| (*class, how))
    }

    /// How an interaction class is subscribed with a region, if it is.
    pub(crate) fn interaction(
        &self,
        region: RegionHandle,
        class: InteractionClassHandle,
    ) -> Option<&How<N>> {
        self.uses.get(&region)?.interactions.get(&class)
    }

    /// With which regions `federate` subscribes to exactly this interaction class.
    pub(crate) fn interaction_regions(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = RegionHandle> {
        let at_class = self.interactions.get(&class);
        let regions = at_class.and_then(|c| c.get(&federate));
        regions.into_iter().flatten().map(|(_, region)| *region)
    }

    /// Who subscribes to exactly this interaction class with regions, and since when.
    pub(crate) fn at_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, N)> {
        let at_class = self.interactions.get(&class).into_iter().flatten();
        at_class.filter_map(|(federate, regions)| Some((*federate, regions.first()?.0)))
    }

    /// Who actively subscribes to exactly this interaction class with a region.
    pub(crate) fn active_at_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = FederateHandle> {
        let at_class = self.interactions.get(&class).into_iter().flatten();
        let active = at_class.filter(move |(_, regions)| {
            let mut how = regions.iter().map(|(_, r)| self.interaction(*r, class));
            how.any(|how| how.is_some_and(|h| h.active))
        });
        active.map(|(federate, _)| *federate)
    }

    /// Subscription regions that overlap these ranges, each once.
    pub(crate) fn overlapping<'a>(
        &'a self,
        ranges: &'a [Range],
        defaults: Defaults<'a>,
    ) -> impl Iterator<Item = RegionHandle> + 'a {
        self.index.overlapping(ranges, defaults)
    }

    /// All subscription regions, for a snapshot.
    fn specifications(&self) -> Vec<RegionSpecification> {
        let used = self.uses.keys();
        used.filter_map(|region| {
            let ranges = self.index.get(*region)?.to_vec();
            let region = *region;
            Some(RegionSpecification { region, ranges })
        })
        .collect()
    }

    /// All object class subscriptions with regions, for a snapshot.
    fn objects(&self) -> Vec<RegionSubscription<ObjectClassHandle, AttributeHandle, N>> {
        let all = self.uses.iter().flat_map(|(region, uses)| {
            let all = uses.objects.iter();
            all.map(|((class, attribute), how)| RegionSubscription {
                region: *region,
                class: *class,
                attribute: *attribute,
                active: how.active,
                rate: how.rate.clone(),
                since: how.since,
            })
        });
        all.collect()
    }

    /// All interaction subscriptions with regions, for a snapshot.
    fn interactions(&self) -> Vec<RegionSubscription<InteractionClassHandle, (), N>> {
        let all = self.uses.iter().flat_map(|(region, uses)| {
            let all = uses.interactions.iter();
            all.map(|(class, how)| RegionSubscription {
                region: *region,
                class: *class,
                attribute: (),
                active: how.active,
                rate: String::new(),
                since: how.since,
            })
        });
        all.collect()
    }

    /// For a snapshot, and for a save.
    pub(crate) fn save(&self) -> Snapshot<N> {
        Snapshot {
            regions: self.specifications(),
            objects: self.objects(),
            interactions: self.interactions(),
        }
    }

    pub(crate) fn restore(saved: Snapshot<N>) -> Self {
        let mut restored = RegionSubscriptions::default();
        for specification in saved.regions {
            restored.commit(specification.region, specification.ranges.into());
        }
        for s in saved.objects {
            let pair = AttributeRegions {
                attributes: vec![s.attribute],
                regions: vec![s.region],
            };
            restored.subscribe_object(s.class, &[pair], s.active, &s.rate, s.since);
        }
        for s in saved.interactions {
            restored.subscribe_interaction(s.class, &[s.region], s.active, s.since);
        }
        restored
    }
}
