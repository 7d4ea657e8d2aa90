//! The federates of a federation execution in the orders in which grants ask for them, so that
//! nobody looks at all of them for one grant.
//!
//! Invariant: each stands where its [`Place`] says.

use super::value::{Bound, LogicalTime, LogicalTimeInterval};
use crate::FederateHandle;
use std::collections::BTreeSet;

/// Where a federate stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// What it may still send if nothing more comes to it, while it regulates.
    pub(super) base: Option<Bound>,
    /// Its lookahead, if it may send sooner what is then because a message comes; and whether all of
    /// the message's time have come by then.
    pub(super) relays: Option<(LogicalTimeInterval, bool)>,
    /// What it relays nothing before, if it has promised that by a longer lookahead than it has now.
    pub(super) kept: Option<Bound>,
    pub(super) waits: Option<Waits>,
}

/// What a federate waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Waits {
    /// Nothing that others send; it comes to this time or beyond.
    Free(LogicalTime),
    /// That it is constrained: until nothing comes to it within this bound.
    Constraint(Bound),
    /// A time: until nothing comes to it within this bound.
    Time(Bound),
}

/// All federates, by what is least.
#[derive(Default)]
pub(super) struct Orders {
    pub(super) bases: BTreeSet<(Bound, FederateHandle)>,
    /// Apart by whether all of the message's time have come by then.
    pub(super) relays: [BTreeSet<(LogicalTimeInterval, FederateHandle)>; 2],
    /// Those that keep to what they have promised before, likewise.
    pub(super) kept: [Kept; 2],
    pub(super) free: BTreeSet<(LogicalTime, FederateHandle)>,
    pub(super) constraints: BTreeSet<(Bound, FederateHandle)>,
    pub(super) times: BTreeSet<(Bound, FederateHandle)>,
}

/// Federates that relay what comes to them, and keep to a longer lookahead than they have now: the same in two
/// orders.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) lookaheads: BTreeSet<(LogicalTimeInterval, FederateHandle)>,
    pub(super) floors: BTreeSet<(Bound, FederateHandle)>,
}

impl Orders {
    /// Moves a federate to another place.
    pub(super) fn put(&mut self, federate: FederateHandle, from: Place, to: Place) {
        put(&mut self.bases, federate, from.base, to.base);
        for exclusive in [false, true] {
            let relays = |place: Place| place.relays.filter(|r| r.1 == exclusive).map(|r| r.0);
            let plainly = |place: Place| relays(place).filter(|_| place.kept.is_none());
            let order = &mut self.relays[usize::from(exclusive)];
            put(order, federate, plainly(from), plainly(to));
            if from.kept.is_some() || to.kept.is_some() {
                let kept = &mut self.kept[usize::from(exclusive)];
                let lookahead = |place: Place| relays(place).filter(|_| place.kept.is_some());
                let floor = |place: Place| place.kept.filter(|_| relays(place).is_some());
                put(
                    &mut kept.lookaheads,
                    federate,
                    lookahead(from),
                    lookahead(to),
                );
                put(&mut kept.floors, federate, floor(from), floor(to));
            }
        }
        if from.waits != to.waits {
            let free = |place: Place| match place.waits? {
                Waits::Free(time) => Some(time),
                Waits::Constraint(_) | Waits::Time(_) => None,
            };
            let constraint = |place: Place| match place.waits? {
                Waits::Constraint(bound) => Some(bound),
                Waits::Free(_) | Waits::Time(_) => None,
            };
            let time = |place: Place| match place.waits? {
                Waits::Time(bound) => Some(bound),
                Waits::Free(_) | Waits::Constraint(_) => None,
            };
            put(&mut self.free, federate, free(from), free(to));
            put(
                &mut self.constraints,
                federate,
                constraint(from),
                constraint(to),
            );
            put(&mut self.times, federate, time(from), time(to));
        }
    }
}

fn put<K: Ord + Copy>(
    order: &mut BTreeSet<(K, FederateHandle)>,
    federate: FederateHandle,
    from: Option<K>,
    to: Option<K>,
) {
    if from == to {
        return;
    }
    if let Some(from) = from {
        order.remove(&(from, federate));
    }
    order.extend(to.map(|to| (to, federate)));
}
