//! Data distribution management as a save has it. Ranges of associated regions are those that were
//! committed last.

use super::execution::{ExecutionRegions, region_bytes};
use super::federate::FederateRegions;
use super::index::Ranges;
use super::receive::RegionsGone;
use super::routes::RegionRoutes;
use super::updates::UpdateRegions;
use crate::kept::Kept;
use crate::saved::ddm as saved;
use crate::saved::delivery::Queued;
use crate::{FederateHandle, RegionHandle};
use std::collections::BTreeMap;

/// What is kept of regions but for the RTI's own.
fn count_kept(committed: &BTreeMap<RegionHandle, Ranges>) -> Kept {
    let mut kept = Kept::default();
    let own = FederateHandle::default();
    for (region, ranges) in committed.iter().filter(|(r, _)| r.creator() != own) {
        kept.add(region.creator(), region_bytes(ranges));
    }
    kept
}

impl ExecutionRegions {
    pub(crate) fn save(&self) -> saved::Execution {
        debug_assert_eq!(
            self.kept,
            count_kept(&self.committed),
            "what is kept of regions is counted"
        );
        saved::Execution {
            committed: self.committed.clone(),
            associations: self.updates.save(),
        }
    }

    pub(crate) fn restore(saved: saved::Execution) -> Self {
        let committed = saved.committed;
        ExecutionRegions {
            kept: count_kept(&committed),
            updates: UpdateRegions::restore(saved.associations, |r| committed.get(&r).cloned()),
            committed,
        }
    }
}

impl FederateRegions {
    pub(crate) fn save(&self) -> saved::Federate {
        saved::Federate {
            own: self.own.clone(),
            last_region: self.last,
            associations: self.updates.save(),
            conveyed: self.conveyed.clone(),
        }
    }

    pub(crate) fn restore(saved: saved::Federate) -> Self {
        let own = saved.own;
        let committed = |r| own.get(&r).and_then(|own| own.committed.clone());
        FederateRegions {
            updates: UpdateRegions::restore(saved.associations, committed),
            own,
            last: saved.last_region,
            routes: RegionRoutes::default(),
            conveyed: saved.conveyed,
        }
    }
}

impl UpdateRegions {
    fn save(&self) -> saved::Associations {
        let all = self.associations();
        all.map(|(instance, of_it)| (instance, of_it.clone()))
            .collect()
    }

    /// With the ranges of each region.
    fn restore(
        saved: saved::Associations,
        ranges: impl Fn(RegionHandle) -> Option<Ranges>,
    ) -> Self {
        let mut restored = UpdateRegions::default();
        for (instance, of_it) in saved {
            for (attribute, regions) in of_it {
                for region in regions {
                    if let Some(ranges) = ranges(region) {
                        restored.associate(instance, attribute, region, &ranges);
                    }
                }
            }
        }
        restored
    }
}

impl RegionsGone {
    pub(crate) fn save(&self) -> Queued {
        Queued::RegionsGone {
            first: self.first,
            last: self.last,
        }
    }
}
