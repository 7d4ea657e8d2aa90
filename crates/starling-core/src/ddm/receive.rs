//! Receiving what was sent with regions: what is delivered is what the federate's own
//! subscriptions, as it has called them, want of it.

use super::Defaults;
use super::address::Address;
use crate::log::federate::Place;
use crate::message::LogIndex;
use crate::message::ddm::Entry;
use crate::object::receive::SlotMap;
use crate::{
    AttributeHandle, Federate, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ProtocolError, RegionHandle, Values,
};
use starling_fom::ObjectModel;
use std::collections::BTreeSet;
use std::sync::Arc;

/// No callback: when its turn comes, these regions, from first to last, are no more.
#[derive(Debug)]
pub(crate) struct RegionsGone {
    pub(crate) first: RegionHandle,
    pub(crate) last: RegionHandle,
}

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_ddm(&mut self, entry: Entry, place: Place) -> Result<(), ProtocolError> {
        let Place { index, .. } = place;
        match entry {
            Entry::RegionsCommitted(list) => self.apply_region_commits(list),
            Entry::ObjectRegionSubscription {
                class,
                specifications,
                regions,
                active,
                rate,
            } => {
                let table = &mut self.declarations.applied_by(place.sender()?).regions;
                for s in specifications {
                    table.commit(s.region, s.ranges.into());
                }
                table.subscribe_object(class, &regions, active, &rate, index);
                self.advise_subscribed(class);
            }
            Entry::ObjectRegionUnsubscription { class, regions } => {
                let table = &mut self.declarations.applied_by(place.sender()?).regions;
                table.unsubscribe_object(class, &regions);
                self.advise_subscribed(class);
            }
            Entry::InteractionRegionSubscription {
                class,
                specifications,
                active,
            } => {
                let regions: Vec<_> = specifications.iter().map(|s| s.region).collect();
                let table = &mut self.declarations.applied_by(place.sender()?).regions;
                for s in specifications {
                    table.commit(s.region, s.ranges.into());
                }
                table.subscribe_interaction(class, &regions, active, index);
                self.advise_interaction_subscribed(class);
            }
            Entry::InteractionRegionUnsubscription { class, regions } => {
                let table = &mut self.declarations.applied_by(place.sender()?).regions;
                table.unsubscribe_interaction(class, &regions);
                self.advise_interaction_subscribed(class);
            }
            Entry::RegionDeleted(region) => self.apply_regions_gone(region, region),
        }
        Ok(())
    }

    /// From which log index on a frame's values of an attribute are for a subscription with this
    /// region; none if there is none, or the log has not got to it.
    fn wanted_with(
        &self,
        region: RegionHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let asked = self
            .declarations
            .mine()
            .regions
            .object(region, class, attribute)?
            .since;
        let applied = self
            .declarations
            .subscribed()
            .regions
            .object(region, class, attribute)?;
        (asked <= self.log.own_requests()).then_some(applied.since)
    }

    /// From which log index on an attribute's values sent with the default region are for a
    /// subscription with any region.
    pub(crate) fn attribute_wanted_with_any(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let regions = self
            .declarations
            .mine()
            .regions
            .regions(self.me, class, attribute);
        regions
            .filter_map(|region| self.wanted_with(region, class, attribute))
            .min()
    }

    fn interaction_wanted_with(
        &self,
        region: RegionHandle,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let asked = self
            .declarations
            .mine()
            .regions
            .interaction(region, class)?
            .since;
        let applied = self
            .declarations
            .subscribed()
            .regions
            .interaction(region, class)?;
        (asked <= self.log.own_requests()).then_some(applied.since)
    }

    /// From which log index on an interaction sent with the default region is for a subscription
    /// with any region.
    pub(crate) fn interaction_wanted_with_any(
        &self,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let regions = self
            .declarations
            .mine()
            .regions
            .interaction_regions(self.me, class);
        regions
            .filter_map(|region| self.interaction_wanted_with(region, class))
            .min()
    }

    /// Regions of one's own subscriptions that overlap what something was sent with.
    fn meeting(&self, sent: Address<'_>, defaults: Defaults<'_>) -> BTreeSet<RegionHandle> {
        let mut meeting = BTreeSet::new();
        for with in sent.regions() {
            meeting.extend(
                self.declarations
                    .mine()
                    .regions
                    .overlapping(&with.ranges, defaults),
            );
        }
        meeting
    }

    /// Of the values of an update with regions: the handles of those that are for this federate.
    pub(crate) fn attributes_with_regions(
        &self,
        values: Values<'_>,
        registered: ObjectClassHandle,
        known: ObjectClassHandle,
        sender_applied: LogIndex,
        sent: Address<'_>,
    ) -> SlotMap<AttributeHandle> {
        let meeting = self.meeting(sent, Defaults::of(&self.model));
        let class = self.model.object_class(registered);
        let attributes = class.map_or(&[][..], |c| &c.attributes);
        let mut handles = vec![None; attributes.len()];
        for (slot, _) in values.iter() {
            let Some(attribute) = attributes.get(slot as usize) else {
                continue;
            };
            let mut with = meeting.iter();
            let with = with.any(|r| {
                let since = self.wanted_with(*r, known, *attribute);
                since.is_some_and(|s| s <= sender_applied)
            });
            let without = self.attribute_wanted_without(known, *attribute);
            if with || without.is_some_and(|s| s <= sender_applied) {
                handles[slot as usize] = Some(*attribute);
            }
        }
        Arc::new(handles)
    }

    /// Whether an interaction that was sent with regions is for this federate, which would receive
    /// it as `class`.
    pub(crate) fn receives_with_regions(
        &self,
        sent_class: InteractionClassHandle,
        class: InteractionClassHandle,
        sender_applied: LogIndex,
        sent: Address<'_>,
    ) -> bool {
        let dimensions = |class| {
            let class = self.model.interaction_class(class);
            class.map_or(&[][..], |c| &c.dimensions)
        };
        let defaults = Defaults::between(&self.model, dimensions(sent_class), dimensions(class));
        let late_enough = |since: Option<LogIndex>| since.is_some_and(|s| s <= sender_applied);
        late_enough(self.interaction_wanted_without(class))
            || self
                .meeting(sent, defaults)
                .iter()
                .any(|r| late_enough(self.interaction_wanted_with(*r, class)))
    }

    /// The regions that callbacks tell something was sent with (§9.1.6): none without the FDD's
    /// switch Convey Region Designator Sets, or if nothing of it has dimensions; an empty set for
    /// the default region. They can be asked for their ranges from then on. Regions that its sender has
    /// not created it can't speak for.
    pub(crate) fn conveyed_regions(
        &mut self,
        sender: FederateHandle,
        has_dimensions: impl FnOnce(&ObjectModel) -> bool,
        sent: Option<Address<'_>>,
    ) -> Option<Vec<RegionHandle>> {
        if !self.mom.conveys_regions() || !has_dimensions(&self.model) {
            return None;
        }
        let Some(sent) = sent else {
            return Some(Vec::new());
        };
        let own = || sent.regions().filter(|s| s.region.creator() == sender);
        self.regions.convey(own());
        Some(own().map(|s| s.region).collect())
    }

    /// Others' regions, from first to last, are no more: what was sent with them has been received,
    /// and they can be asked for their ranges until the callbacks of that are over.
    pub(crate) fn apply_regions_gone(&mut self, first: RegionHandle, last: RegionHandle) {
        if !self.delivery.is_empty() || self.regions.has_conveyed(first, last) {
            self.delivery.push(RegionsGone { first, last });
        }
    }

    pub(crate) fn deliver_regions_gone(&mut self, gone: &RegionsGone) {
        self.regions.forget_conveyed(gone.first, gone.last);
    }
}
