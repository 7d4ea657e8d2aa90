//! Receiving what was sent with regions: what is delivered is what the federate's own
//! subscriptions, as it has called them, want of it.

use super::Defaults;
use super::address::Address;
use crate::callback::NamedValues;
use crate::message::LogIndex;
use crate::{
    AttributeHandle, Federate, InteractionClassHandle, ObjectClassHandle, RegionHandle, ValuesBuf,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// No callback: when its turn comes, these regions, from first to last, are no more.
#[derive(Debug)]
pub(crate) struct RegionsGone {
    first: RegionHandle,
    last: RegionHandle,
}

impl Federate {
    /// From which log index on a frame's values of an attribute are for a subscription with this
    /// region; none if there is none, or the log has not got to it.
    fn wanted_with(
        &self,
        region: RegionHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let asked = self.mine.regions.object(region, class, attribute)?.since;
        let applied = self
            .subscriptions
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
        let regions = self.mine.regions.regions(self.me, class, attribute);
        regions
            .filter_map(|region| self.wanted_with(region, class, attribute))
            .min()
    }

    fn interaction_wanted_with(
        &self,
        region: RegionHandle,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let asked = self.mine.regions.interaction(region, class)?.since;
        let applied = self.subscriptions.regions.interaction(region, class)?;
        (asked <= self.log.own_requests()).then_some(applied.since)
    }

    /// From which log index on an interaction sent with the default region is for a subscription
    /// with any region.
    pub(crate) fn interaction_wanted_with_any(
        &self,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let regions = self.mine.regions.interaction_regions(self.me, class);
        regions
            .filter_map(|region| self.interaction_wanted_with(region, class))
            .min()
    }

    /// Regions of one's own subscriptions that overlap what something was sent with.
    fn meeting(&self, sent: Address<'_>, defaults: Defaults<'_>) -> BTreeSet<RegionHandle> {
        let mut meeting = BTreeSet::new();
        for with in sent.regions() {
            meeting.extend(self.mine.regions.overlapping(&with.ranges, defaults));
        }
        meeting
    }

    /// Values of an update with regions, with the handles of those that are for this federate.
    pub(crate) fn named_with_regions(
        &self,
        values: ValuesBuf,
        registered: ObjectClassHandle,
        known: ObjectClassHandle,
        sender_applied: LogIndex,
        sent: Address<'_>,
    ) -> NamedValues<AttributeHandle> {
        let meeting = self.meeting(sent, Defaults::of(&self.model));
        let class = self.model.object_class(registered);
        let attributes = class.map_or(&[][..], |c| &c.attributes);
        let mut handles = vec![None; attributes.len()];
        for (slot, _) in values.values().iter() {
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
        let handles = Arc::new(handles);
        NamedValues { values, handles }
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
    /// the default region. They can be asked for their ranges from then on.
    pub(crate) fn conveyed_regions(
        &mut self,
        has_dimensions: bool,
        sent: Option<Address<'_>>,
    ) -> Option<Vec<RegionHandle>> {
        if !self.model.switches().convey_region_designator_sets || !has_dimensions {
            return None;
        }
        let Some(sent) = sent else {
            return Some(Vec::new());
        };
        self.regions.convey(sent.regions());
        Some(sent.regions().map(|s| s.region).collect())
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
