//! Prepared routes: for a sent class, who gets it. Data looks these up and decides nothing.

use super::Subscriptions;
use super::rates::{self, Rated};
use crate::handles::HandleMap;
use crate::message::LogIndex;
use crate::{FederateHandle, InteractionClassHandle, ObjectClassHandle, Values};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;

/// A set of slots of one class, most of which have at most 64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SlotSet {
    first: u64,
    others: Vec<u64>,
}

impl SlotSet {
    /// The slots of some values, as far as the class has them (a peer may name any number).
    #[inline]
    fn fill_from(&mut self, values: Values<'_>, class_slots: usize) {
        self.first = 0;
        self.others.clear();
        for (slot, _) in values.iter().filter(|(s, _)| (*s as usize) < class_slots) {
            self.insert(slot);
        }
    }

    /// Adds a slot of the class.
    #[inline]
    fn insert(&mut self, slot: u32) {
        let bit = 1 << (slot % 64);
        match (slot as usize / 64).checked_sub(1) {
            None => self.first |= bit,
            Some(word) => {
                if word >= self.others.len() {
                    self.others.resize(word + 1, 0);
                }
                self.others[word] |= bit;
            }
        }
    }

    #[inline]
    fn intersects(&self, other: &SlotSet) -> bool {
        let mut others = self.others.iter().zip(&other.others);
        self.first & other.first != 0 || others.any(|(a, b)| a & b != 0)
    }
}

/// Who subscribes to which slots of one registered class, at it or at superclasses.
#[derive(Default)]
struct ObjectRoute {
    class_slots: usize,
    /// By federate, then by the log index since when: most have one row.
    subscribers: Vec<(FederateHandle, LogIndex, SlotSet)>,
    /// From here on in the log all of them count.
    settled: LogIndex,
    decided: Decided,
}

/// Who gets what was sent last: streams ask again and again for the same.
#[derive(Default)]
struct Decided {
    /// Who sent it, as of where in the log, and its slots.
    of: Option<(FederateHandle, LogIndex, u64)>,
    to: Vec<FederateHandle>,
}

impl ObjectRoute {
    /// The slots of some values, if one word holds those of the class.
    #[inline]
    fn slots(&self, values: Values<'_>) -> Option<u64> {
        if self.class_slots > 64 {
            return None;
        }
        let slots = values.iter().map(|(slot, _)| slot);
        let slots = slots.filter(|slot| (*slot as usize) < self.class_slots);
        Some(slots.fold(0, |all, slot| all | 1 << slot))
    }
}

/// Routes by sent class, computed when first used after a change.
#[derive(Default)]
pub(crate) struct Routes {
    objects: HandleMap<ObjectClassHandle, ObjectRoute>,
    interactions: HandleMap<InteractionClassHandle, Vec<(FederateHandle, LogIndex)>>,
    rated: HandleMap<ObjectClassHandle, Rated>,
    scratch: SlotSet,
}

impl Routes {
    /// Subscriptions or the FDD have changed.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.interactions.clear();
        self.rated.clear();
    }

    /// Who subscribes at an update rate to what instances registered as `class` have.
    pub(crate) fn rated(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        class: ObjectClassHandle,
    ) -> &Rated {
        let of_class = self.rated.entry(class);
        of_class.or_insert_with(|| rates::rated(model, subscriptions, class))
    }

    /// Federates other than `sender` that subscribe to any of these values of an instance
    /// registered as `class`, ascending, into `to`.
    ///
    /// Only subscriptions that the sender had applied (`sender_applied`) count: else a receiver
    /// could get a frame that was sent for somebody else, and miss the next, for which the sender
    /// saw no receiver (found by the simulator).
    pub(crate) fn update(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        (sender, sender_applied): (FederateHandle, LogIndex),
        class: ObjectClassHandle,
        values: Values<'_>,
        to: &mut Vec<FederateHandle>,
    ) {
        to.clear();
        let route = self
            .objects
            .entry(class)
            .or_insert_with(|| object_route(model, subscriptions, class));
        if route.subscribers.is_empty() {
            return;
        }
        let counts_to = sender_applied.min(route.settled);
        let asked = route.slots(values).map(|slots| (sender, counts_to, slots));
        if asked.is_some() && asked == route.decided.of {
            to.extend_from_slice(&route.decided.to);
            return;
        }
        self.scratch.fill_from(values, route.class_slots);
        let sent = &self.scratch;
        to.extend(
            route
                .subscribers
                .iter()
                .filter(|(f, since, slots)| {
                    *f != sender && *since <= sender_applied && slots.intersects(sent)
                })
                .map(|(f, ..)| *f),
        );
        to.dedup();
        if asked.is_some() {
            route.decided.of = asked;
            route.decided.to.clone_from(to);
        }
    }

    /// Federates other than `sender` that receive interactions of `class`, ascending, into `to`.
    pub(crate) fn interaction(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        (sender, sender_applied): (FederateHandle, LogIndex),
        class: InteractionClassHandle,
        to: &mut Vec<FederateHandle>,
    ) {
        to.clear();
        let route = self
            .interactions
            .entry(class)
            .or_insert_with(|| interaction_route(model, subscriptions, class));
        let wanted = route.iter();
        let wanted = wanted.filter(|(f, since)| *f != sender && *since <= sender_applied);
        to.extend(wanted.map(|(f, _)| *f));
        to.dedup();
    }
}

fn object_route(
    model: &ObjectModel,
    subscriptions: &Subscriptions<LogIndex>,
    class: ObjectClassHandle,
) -> ObjectRoute {
    let mut route: BTreeMap<(FederateHandle, LogIndex), SlotSet> = BTreeMap::new();
    let Some(sent) = model.object_class(class) else {
        return ObjectRoute::default();
    };
    for c in model.object_lineage(class) {
        for (federate, attribute, since) in subscriptions.at_object_class(c.handle) {
            if let Some(slot) = sent.slot(attribute) {
                route.entry((federate, since)).or_default().insert(slot);
            }
        }
    }
    ObjectRoute {
        class_slots: sent.attributes.len(),
        settled: route
            .keys()
            .map(|(_, since)| *since)
            .max()
            .unwrap_or_default(),
        decided: Decided::default(),
        subscribers: route.into_iter().map(|((f, i), s)| (f, i, s)).collect(),
    }
}

fn interaction_route(
    model: &ObjectModel,
    subscriptions: &Subscriptions<LogIndex>,
    class: InteractionClassHandle,
) -> Vec<(FederateHandle, LogIndex)> {
    let mut route = Vec::new();
    for c in model.interaction_lineage(class) {
        route.extend(subscriptions.at_interaction_class(c.handle));
    }
    route.sort_unstable();
    route
}
