//! Sets travel as lists: ascending, each member once. Who sends a request sorts them; the executive
//! refuses lists that are not so, since a repetition would be served twice, and bounds what a
//! request multiplies.

use super::{
    AttributeRegions, Request, RequestBody, ddm, declaration, federation, object, ownership,
};
use crate::exception::throw;
use crate::{AttributeHandle, Exception, ProtocolError, RegionHandle};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of attribute and region that one request may name. Each is an entry of a table at the
/// executive and, of a subscription, at every federate.
const PAIRS_MAX: usize = 65_536;

impl Request {
    /// Refuses lists that are no sets, and what would multiply to too much.
    pub(crate) fn require_sets(&mut self) -> Result<(), ProtocolError> {
        let pairs = count(self.body.pairs());
        if pairs > PAIRS_MAX {
            return Err(ProtocolError(too_many_pairs(pairs)));
        }
        let sorted = sort_set(&mut self.fenced) & self.body.sort_sets();
        match sorted {
            true => Ok(()),
            false => Err(ProtocolError(
                "a set in a request does not ascend, or names something twice".into(),
            )),
        }
    }
}

impl RequestBody {
    /// Sorts the sets in it and takes repetitions out; whether there was nothing to do.
    pub(crate) fn sort_sets(&mut self) -> bool {
        match self {
            RequestBody::Federation(request) => request.sort_sets(),
            RequestBody::Declaration(request) => request.sort_sets(),
            RequestBody::Object(request) => request.sort_sets(),
            RequestBody::Ownership(request) => request.sort_sets(),
            RequestBody::Ddm(request) => request.sort_sets(),
            RequestBody::PathChanged | RequestBody::Mom(_) => true,
        }
    }

    fn pairs(&self) -> &[AttributeRegions] {
        use ddm::Request::*;
        match self {
            RequestBody::Ddm(
                RegisterObjectWithRegions { regions, .. }
                | AssociateRegions { regions, .. }
                | UnassociateRegions { regions, .. }
                | SubscribeObjectClassWithRegions { regions, .. }
                | UnsubscribeObjectClassWithRegions { regions, .. }
                | RequestClassUpdateWithRegions { regions, .. },
            ) => regions,
            _ => &[],
        }
    }
}

impl federation::Request {
    fn sort_sets(&mut self) -> bool {
        use federation::Request::*;
        match self {
            RegisterSynchronizationPoint { set, .. } => sort_set(set),
            AchieveSynchronizationPoint { .. } | SetResignDirective(_) | Resign(_) | Save(_) => {
                true
            }
        }
    }
}

impl declaration::Request {
    fn sort_sets(&mut self) -> bool {
        use declaration::Request::*;
        match self {
            PublishObjectClass { attributes, .. } => sort_set(attributes),
            SubscribeObjectClass { attributes, .. } => {
                sort_by(attributes, |a, b| a.attribute.cmp(&b.attribute))
            }
            PublishInteraction { .. } | SubscribeInteraction { .. } => true,
        }
    }
}

impl object::Request {
    fn sort_sets(&mut self) -> bool {
        use object::Request::*;
        match self {
            ReserveNames { names, .. } | ReleaseNames { names } => sort_set(names),
            RequestInstanceUpdate { attributes, .. }
            | RequestClassUpdate { attributes, .. }
            | ChangeAttributeTransportation { attributes, .. } => sort_set(attributes),
            RegisterObject { .. }
            | DeleteObject { .. }
            | LocalDeleteObject { .. }
            | QueryAttributeTransportation { .. }
            | ChangeInteractionTransportation { .. }
            | QueryInteractionTransportation { .. }
            | SetInstanceSwitches(_) => true,
        }
    }
}

impl ownership::Request {
    fn sort_sets(&mut self) -> bool {
        use ownership::Request::*;
        match self {
            DivestOwnership { attributes, .. }
            | AcquireOwnership { attributes, .. }
            | DenyOwnershipRelease { attributes, .. }
            | CancelOwnershipDivestiture { attributes, .. }
            | CancelOwnershipAcquisition { attributes, .. }
            | QueryOwnership { attributes, .. } => sort_set(attributes),
        }
    }
}

impl ddm::Request {
    fn sort_sets(&mut self) -> bool {
        use ddm::Request::*;
        match self {
            CommitRegions(list) => {
                let ranges = list.iter_mut();
                let sorted = ranges.fold(true, |sorted, specification| {
                    let by_dimension =
                        |a: &ddm::Range, b: &ddm::Range| a.dimension.cmp(&b.dimension);
                    sort_by(&mut specification.ranges, by_dimension) & sorted
                });
                sort_by(list, |a, b| a.region.cmp(&b.region)) & sorted
            }
            RegisterObjectWithRegions { regions, .. }
            | AssociateRegions { regions, .. }
            | UnassociateRegions { regions, .. }
            | SubscribeObjectClassWithRegions { regions, .. }
            | UnsubscribeObjectClassWithRegions { regions, .. }
            | RequestClassUpdateWithRegions { regions, .. } => sort_pairs(regions),
            SubscribeInteractionWithRegions { regions, .. }
            | UnsubscribeInteractionWithRegions { regions, .. } => sort_set(regions),
            DeleteRegion(_) => true,
        }
    }
}

/// Makes a list ascend, each member once; whether it did.
fn sort_set<T: Ord>(list: &mut Vec<T>) -> bool {
    sort_by(list, T::cmp)
}

fn sort_by<T>(list: &mut Vec<T>, order: impl Fn(&T, &T) -> Ordering) -> bool {
    let ascends = list.windows(2).all(|w| order(&w[0], &w[1]).is_lt());
    if !ascends {
        list.sort_by(&order);
        list.dedup_by(|b, a| order(a, b).is_eq());
    }
    ascends
}

/// The same for a set of pairs: no attribute stands in two items, and no item says nothing.
fn sort_pairs(list: &mut Vec<AttributeRegions>) -> bool {
    let is_set = |item: &mut AttributeRegions| {
        let said = !item.attributes.is_empty() && !item.regions.is_empty();
        sort_set(&mut item.attributes) & sort_set(&mut item.regions) & said
    };
    let sets = list.iter_mut().fold(true, |sets, item| is_set(item) & sets);
    let mut attributes: Vec<_> = list.iter().flat_map(|i| &i.attributes).copied().collect();
    attributes.sort_unstable();
    let apart = attributes.windows(2).all(|w| w[0] < w[1]);
    if sets && apart {
        return true;
    }
    let mut regions: BTreeMap<AttributeHandle, BTreeSet<RegionHandle>> = BTreeMap::new();
    for (attribute, region) in AttributeRegions::pairs(list) {
        regions.entry(attribute).or_default().insert(region);
    }
    let mut together: BTreeMap<BTreeSet<RegionHandle>, Vec<AttributeHandle>> = BTreeMap::new();
    for (attribute, regions) in regions {
        together.entry(regions).or_default().push(attribute);
    }
    let items = together.into_iter();
    let item = |(regions, attributes): (BTreeSet<_>, _)| AttributeRegions {
        attributes,
        regions: regions.into_iter().collect(),
    };
    *list = items.map(item).collect();
    false
}

/// How many pairs a list names, repeated ones too.
fn count(list: &[AttributeRegions]) -> usize {
    let sizes = list
        .iter()
        .map(|i| i.attributes.len().saturating_mul(i.regions.len()));
    sizes.fold(0, usize::saturating_add)
}

/// RTIinternalError if a service names more pairs of attribute and region than a request may.
pub(crate) fn require_pairs(list: &[AttributeRegions]) -> Result<(), Exception> {
    let pairs = count(list);
    if pairs > PAIRS_MAX {
        throw!(RTIinternalError, "{}", too_many_pairs(pairs));
    }
    Ok(())
}

fn too_many_pairs(pairs: usize) -> String {
    format!(
        "{pairs} pairs of attribute and region are more than one call may name ({PAIRS_MAX}); \
         name them in several calls"
    )
}
