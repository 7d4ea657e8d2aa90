//! Sets travel as lists: ascending, each member once. The sender of a request sorts them; the executive
//! refuses lists that are not so, since a repetition would be served twice, and bounds what a
//! request multiplies. Which lists are sets is said by the types of their members.

use super::{
    AttributeRegions, LogIndex, Range, RegionSpecification, Request, RequestBody, ResignAction,
    Stamp, SubscribedAttribute, Subscription, ddm, mom,
};
use crate::exception::throw;
use crate::{
    Advance, AttributeHandle, Divestiture, Exception, FederateHandle, InstanceSwitches,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, ObjectClassHandle,
    ObjectInstanceHandle, ProtocolError, RegionHandle, Transportation,
};
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
        if self.fenced.sort_sets() & self.body.sort_sets() {
            Ok(())
        } else {
            Err(ProtocolError(
                "a set in a request does not ascend, or names something twice".into(),
            ))
        }
    }
}

impl Sets for RequestBody {
    fn sort_sets(&mut self) -> bool {
        match self {
            RequestBody::Federation(request) => request.sort_sets(),
            RequestBody::Declaration(request) => request.sort_sets(),
            RequestBody::Object(request) => request.sort_sets(),
            RequestBody::Ownership(request) => request.sort_sets(),
            RequestBody::Ddm(request) => request.sort_sets(),
            RequestBody::Mom(request) => request.sort_sets(),
            RequestBody::PathChanged => true,
        }
    }
}

impl RequestBody {
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

/// What a field of a request is. Its type says whether it is a set, so a list of what nothing is said
/// of here does not compile in a request.
pub(crate) trait Sets {
    /// Sorts the sets in it and takes repetitions out; whether there was nothing to do.
    fn sort_sets(&mut self) -> bool;
}

macro_rules! sets {
    ($name:ident {
        $($variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* $(,)?
    }) => {
        impl crate::message::sets::Sets for $name {
            fn sort_sets(&mut self) -> bool {
                match self {
                    $($name::$variant $({ $($field),* })? $(($inner))? => {
                        true $($(& crate::message::sets::Sets::sort_sets($field))*)?
                            $(& crate::message::sets::Sets::sort_sets($inner))?
                    })*
                }
            }
        }
    };
}
pub(super) use sets;

/// What holds no set.
macro_rules! no_sets {
    ($($type:ty),* $(,)?) => {$(
        impl Sets for $type {
            fn sort_sets(&mut self) -> bool {
                true
            }
        }
    )*};
}
no_sets!(
    bool,
    u64,
    String,
    Advance,
    AttributeHandle,
    Divestiture,
    FederateHandle,
    InstanceSwitches,
    InteractionClassHandle,
    LogIndex,
    LogicalTime,
    LogicalTimeInterval,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
    ResignAction,
    Stamp,
    Subscription,
    Transportation,
    mom::Counts,
    mom::Invocation,
);

impl<T: Sets> Sets for Box<T> {
    fn sort_sets(&mut self) -> bool {
        T::sort_sets(self)
    }
}

/// Bytes: a tag.
impl Sets for Vec<u8> {
    fn sort_sets(&mut self) -> bool {
        true
    }
}

/// Values by slot, as they were sent.
impl Sets for Vec<(u32, Vec<u8>)> {
    fn sort_sets(&mut self) -> bool {
        true
    }
}

impl<T: Sets> Sets for Option<T> {
    fn sort_sets(&mut self) -> bool {
        self.as_mut().is_none_or(T::sort_sets)
    }
}

/// What a set is made of.
trait Member: Sized {
    /// By what it ascends.
    fn order(&self, other: &Self) -> Ordering;
    /// Sorts the sets that it has itself; whether there was nothing to do.
    fn sort_sets(&mut self) -> bool {
        true
    }
}

macro_rules! members {
    ($($type:ty),*) => {$(
        impl Member for $type {
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}
members!(AttributeHandle, FederateHandle, RegionHandle, String);

impl Member for SubscribedAttribute {
    fn order(&self, other: &Self) -> Ordering {
        self.attribute.cmp(&other.attribute)
    }
}

impl Member for RegionSpecification {
    fn order(&self, other: &Self) -> Ordering {
        self.region.cmp(&other.region)
    }
    fn sort_sets(&mut self) -> bool {
        self.ranges.sort_sets()
    }
}

impl Member for Range {
    fn order(&self, other: &Self) -> Ordering {
        self.dimension.cmp(&other.dimension)
    }
}

/// Makes a list ascend, each member once; whether it did.
impl<T: Member> Sets for Vec<T> {
    fn sort_sets(&mut self) -> bool {
        let inner = self.iter_mut().fold(true, |all, m| m.sort_sets() & all);
        let ascends = self.windows(2).all(|w| w[0].order(&w[1]).is_lt());
        if !ascends {
            self.sort_by(T::order);
            self.dedup_by(|b, a| a.order(b).is_eq());
        }
        inner & ascends
    }
}

/// A set of pairs: no attribute stands in two items, and no item says nothing.
impl Sets for Vec<AttributeRegions> {
    fn sort_sets(&mut self) -> bool {
        sort_pairs(self)
    }
}

fn sort_pairs(list: &mut Vec<AttributeRegions>) -> bool {
    let is_set = |item: &mut AttributeRegions| {
        let said = !item.attributes.is_empty() && !item.regions.is_empty();
        item.attributes.sort_sets() & item.regions.sort_sets() & said
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
