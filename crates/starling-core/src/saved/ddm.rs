//! Data distribution management, chapter 9. Subscriptions with regions stand with the others.

use crate::message::Range;
use crate::{AttributeHandle, ObjectInstanceHandle, RegionHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Regions that are associated with instance attributes for updates.
pub type Associations =
    BTreeMap<ObjectInstanceHandle, BTreeMap<AttributeHandle, BTreeSet<RegionHandle>>>;

/// At the executive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// Committed ranges, ascending by dimension, of all regions that it was told of.
    pub committed: BTreeMap<RegionHandle, Arc<[Range]>>,
    /// All federates' associations.
    pub associations: Associations,
}

/// At a joined federate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Federate {
    /// Regions that it has created.
    pub own: BTreeMap<RegionHandle, OwnRegion>,
    /// The number of the last region that it created.
    pub last_region: u32,
    /// Its own associations.
    pub associations: Associations,
    /// Others' regions that were conveyed to the federate, as they were then.
    pub conveyed: BTreeMap<RegionHandle, Vec<Range>>,
}

/// A region that the federate has created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRegion {
    /// As set, ascending by dimension; at first the default ranges.
    pub ranges: Vec<Range>,
    /// As last committed; none: a template.
    pub committed: Option<Arc<[Range]>>,
    /// The executive knows what is committed.
    pub told: bool,
    /// Something was sent with it.
    pub sent: bool,
}
