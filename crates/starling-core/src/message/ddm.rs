//! Data distribution management, chapter 9.

use crate::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle,
};

messages! {
    ($) ddm_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of data distribution management" {
        /// Commit Region Modifications, §9.3, of regions that the executive is to know, ascending.
        1 CommitRegions(list: Vec<RegionSpecification>),
        /// Delete Region, §9.4, of a region that the executive knows.
        2 DeleteRegion(region: RegionHandle),
        /// Register Object Instance With Regions, §9.5.
        3 RegisterObjectWithRegions {
            /// From the federate's own block.
            instance: ObjectInstanceHandle,
            /// The registered class.
            class: ObjectClassHandle,
            /// A reserved name, or none: the RTI makes one.
            name: Option<String>,
            /// Associations for updates.
            regions: Vec<AttributeRegions>,
        },
        /// Associate Regions For Updates, §9.6.
        4 AssociateRegions {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// Attributes with regions to associate, besides those associated already.
            regions: Vec<AttributeRegions>,
        },
        /// Unassociate Regions For Updates, §9.7.
        5 UnassociateRegions {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// Attributes with regions whose association ends, where there is one.
            regions: Vec<AttributeRegions>,
        },
        /// Subscribe Object Class Attributes With Regions, §9.8.
        6 SubscribeObjectClassWithRegions {
            /// The object class.
            class: ObjectClassHandle,
            /// Attributes with regions to subscribe, besides those subscribed already.
            regions: Vec<AttributeRegions>,
            /// False for a passive subscription.
            active: bool,
            /// Update rate designator, empty for none.
            rate: String,
        },
        /// Unsubscribe Object Class Attributes With Regions, §9.9.
        7 UnsubscribeObjectClassWithRegions {
            /// The object class.
            class: ObjectClassHandle,
            /// Attributes with regions whose subscription ends, where there is one.
            regions: Vec<AttributeRegions>,
        },
        /// Subscribe Interaction Class With Regions, §9.10.
        8 SubscribeInteractionWithRegions {
            /// The interaction class.
            class: InteractionClassHandle,
            /// Regions to subscribe with, besides those subscribed with already.
            regions: Vec<RegionHandle>,
            /// False for a passive subscription.
            active: bool,
        },
        /// Unsubscribe Interaction Class With Regions, §9.11.
        9 UnsubscribeInteractionWithRegions {
            /// The interaction class.
            class: InteractionClassHandle,
            /// Regions with which the subscription ends, where there is one.
            regions: Vec<RegionHandle>,
        },
        /// Request Attribute Value Update With Regions, §9.13.
        10 RequestClassUpdateWithRegions {
            /// The object class; instances of its subclasses count, too.
            class: ObjectClassHandle,
            /// The attributes whose values are wanted, where their update regions overlap these.
            regions: Vec<AttributeRegions>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of data distribution management" {
        /// Regions that are subscribed with have new ranges. Audience: all.
        1 RegionsCommitted(list: Vec<RegionSpecification>),
        /// The sender now subscribes at this class with these regions, too. Audience: all.
        2 ObjectRegionSubscription {
            /// The object class.
            class: ObjectClassHandle,
            /// All regions that are named.
            specifications: Vec<RegionSpecification>,
            /// Attributes with regions.
            regions: Vec<AttributeRegions>,
            /// False for a passive subscription.
            active: bool,
            /// Update rate designator, empty for none.
            rate: String,
        },
        /// The sender no longer subscribes at this class with these regions. Audience: all.
        3 ObjectRegionUnsubscription {
            /// The object class.
            class: ObjectClassHandle,
            /// Attributes with regions.
            regions: Vec<AttributeRegions>,
        },
        /// The sender now subscribes to this interaction class with these regions, too. Audience: all.
        4 InteractionRegionSubscription {
            /// The interaction class.
            class: InteractionClassHandle,
            /// The regions.
            specifications: Vec<RegionSpecification>,
            /// False for a passive subscription.
            active: bool,
        },
        /// The sender no longer subscribes to this interaction class with these regions. Audience: all.
        5 InteractionRegionUnsubscription {
            /// The interaction class.
            class: InteractionClassHandle,
            /// The regions.
            regions: Vec<RegionHandle>,
        },
        /// Its creator has deleted a region that may have been conveyed. Audience: all others, with
        /// the switch Convey Region Designator Sets.
        6 RegionDeleted(region: RegionHandle),
    }
}

/// Bounds of a region in one dimension, §9.1.1: lower included, upper not; lower < upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The dimension.
    pub dimension: DimensionHandle,
    /// The first value inside.
    pub lower: u32,
    /// The first value beyond.
    pub upper: u32,
}

/// A region as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionSpecification {
    /// The region.
    pub region: RegionHandle,
    /// By dimension, ascending; others have their default range.
    pub ranges: Vec<Range>,
}

/// Attributes, each of them with each of these regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeRegions {
    /// The attributes.
    pub attributes: Vec<AttributeHandle>,
    /// With these.
    pub regions: Vec<RegionHandle>,
}

impl AttributeRegions {
    /// Each attribute with each of its regions.
    pub fn pairs(list: &[Self]) -> impl Iterator<Item = (AttributeHandle, RegionHandle)> {
        list.iter().flat_map(|item| {
            let attributes = item.attributes.iter();
            attributes.flat_map(|a| item.regions.iter().map(|r| (*a, *r)))
        })
    }
}

/// All subscriptions with regions; `N` as in [`declaration::Snapshot`](super::declaration::Snapshot).
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<N> {
    /// The regions that are subscribed with.
    pub regions: Vec<RegionSpecification>,
    /// To object class attributes.
    pub objects: Vec<RegionSubscription<ObjectClassHandle, AttributeHandle, N>>,
    /// To interaction classes.
    pub interactions: Vec<RegionSubscription<InteractionClassHandle, (), N>>,
}

/// A subscription with regions, in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionSubscription<C, A, N> {
    /// The region; its creator subscribes.
    pub region: RegionHandle,
    /// The class at which it is subscribed.
    pub class: C,
    /// The class attribute; nothing for an interaction class.
    pub attribute: A,
    /// False for a passive subscription.
    pub active: bool,
    /// Update rate designator, empty for none.
    pub rate: String,
    /// From when on it has held.
    pub since: N,
}
