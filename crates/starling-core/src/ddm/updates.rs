//! Regions associated with instance attributes for updates.

use super::Defaults;
use super::index::{Ranges, RegionIndex};
use crate::handles::HandleMap;
use crate::message::{AttributeRegions, Range};
use crate::{AttributeHandle, FederateHandle, ObjectInstanceHandle, Owner, RegionHandle};
use std::collections::{BTreeMap, BTreeSet};

type Associations = BTreeMap<AttributeHandle, BTreeSet<RegionHandle>>;

/// At the executive of all federates, at a federate its own.
#[derive(Default)]
pub(crate) struct UpdateRegions {
    index: RegionIndex,
    users: BTreeMap<RegionHandle, BTreeSet<(ObjectInstanceHandle, AttributeHandle)>>,
    instances: HandleMap<ObjectInstanceHandle, Associations>,
    /// How many associations there are, by the regions' creators.
    counts: BTreeMap<FederateHandle, usize>,
}

impl UpdateRegions {
    /// All associations.
    pub(super) fn associations(
        &self,
    ) -> impl Iterator<Item = (ObjectInstanceHandle, &Associations)> {
        self.instances
            .iter()
            .map(|(handle, of_it)| (*handle, of_it))
    }

    /// Whether a region is associated with anything.
    pub(crate) fn is_used(&self, region: RegionHandle) -> bool {
        self.users.contains_key(&region)
    }

    /// How many associations there are with a federate's regions.
    pub(crate) fn count(&self, creator: FederateHandle) -> usize {
        self.counts.get(&creator).copied().unwrap_or_default()
    }

    /// Adds an association.
    pub(crate) fn associate(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
        ranges: &Ranges,
    ) {
        if !self.is_used(region) {
            self.index.set(region, ranges.clone());
        }
        let users = self.users.entry(region).or_default();
        if users.insert((instance, attribute)) {
            *self.counts.entry(region.creator()).or_default() += 1;
        }
        let of_instance = self.instances.entry(instance).or_default();
        of_instance.entry(attribute).or_default().insert(region);
    }

    /// Ends an association; there may be none.
    pub(crate) fn unassociate(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
    ) {
        if let Some(of_instance) = self.instances.get_mut(&instance) {
            if let Some(regions) = of_instance.get_mut(&attribute) {
                regions.remove(&region);
                if regions.is_empty() {
                    of_instance.remove(&attribute);
                }
            }
            if of_instance.is_empty() {
                self.instances.remove(&instance);
            }
        }
        if let Some(users) = self.users.get_mut(&region) {
            if users.remove(&(instance, attribute))
                && let Some(count) = self.counts.get_mut(&region.creator())
            {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&region.creator());
                }
            }
            if users.is_empty() {
                self.users.remove(&region);
                self.index.remove(region);
            }
        }
    }

    /// The regions of all attributes of an instance.
    pub(crate) fn all_of(&self, instance: ObjectInstanceHandle) -> Vec<AttributeRegions> {
        let of_instance = self.instances.get(&instance).into_iter().flatten();
        let list = of_instance.map(|(attribute, regions)| AttributeRegions {
            attributes: vec![*attribute],
            regions: regions.iter().copied().collect(),
        });
        list.collect()
    }

    /// An instance is gone.
    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        let of_instance = self.instances.get(&instance).cloned().unwrap_or_default();
        for (attribute, regions) in of_instance {
            for region in regions {
                self.unassociate(instance, attribute, region);
            }
        }
    }

    /// An instance is gone for one federate.
    pub(crate) fn forget_at(&mut self, instance: ObjectInstanceHandle, federate: FederateHandle) {
        let of_instance = self.instances.get(&instance).cloned().unwrap_or_default();
        for (attribute, regions) in of_instance {
            for region in regions.into_iter().filter(|r| r.creator() == federate) {
                self.unassociate(instance, attribute, region);
            }
        }
    }

    /// A federate is gone.
    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        let (first, last) = RegionHandle::block(federate);
        let gone = self.users.range(first..=last);
        let gone: Vec<_> = gone
            .map(|(region, users)| (*region, users.clone()))
            .collect();
        for (region, users) in gone {
            for (instance, attribute) in users {
                self.unassociate(instance, attribute, region);
            }
        }
    }

    /// A region was committed again; it may not be used here.
    pub(crate) fn commit(&mut self, region: RegionHandle, ranges: &Ranges) {
        if self.is_used(region) {
            self.index.set(region, ranges.clone());
        }
    }

    /// Regions of an attribute's owner that are associated with an instance attribute; none: it is
    /// updated with the default region.
    pub(crate) fn of(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: impl Into<Owner>,
    ) -> impl Iterator<Item = (RegionHandle, &Ranges)> {
        // The RTI's are those of federate 0.
        let owner = owner.into().federate().unwrap_or_default();
        let (first, last) = RegionHandle::block(owner);
        let regions = self
            .instances
            .get(&instance)
            .and_then(|i| i.get(&attribute));
        let own = regions.into_iter().flat_map(move |r| r.range(first..=last));
        own.filter_map(|region| Some((*region, self.index.get(*region)?)))
    }

    /// Whether anything is associated with an instance.
    #[inline]
    pub(crate) fn has(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.contains_key(&instance)
    }

    /// Instance attributes that a region is associated with.
    pub(crate) fn users(
        &self,
        region: RegionHandle,
    ) -> impl Iterator<Item = (ObjectInstanceHandle, AttributeHandle)> {
        self.users.get(&region).into_iter().flatten().copied()
    }

    /// Instance attributes whose regions overlap these ranges; one may come several times.
    pub(crate) fn overlapping<'a>(
        &'a self,
        ranges: &'a [Range],
        defaults: Defaults<'a>,
    ) -> impl Iterator<Item = (ObjectInstanceHandle, AttributeHandle)> + 'a {
        self.index
            .overlapping(ranges, defaults)
            .flat_map(|region| self.users(region))
    }
}
