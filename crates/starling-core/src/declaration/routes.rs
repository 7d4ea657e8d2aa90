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
pub(crate) struct SlotSet {
    first: u64,
    others: Vec<u64>,
}

impl SlotSet {
    /// Of the first 64 slots, those whose bits are set.
    #[inline]
    pub(crate) fn of_bits(first: u64) -> Self {
        let others = Vec::new();
        SlotSet { first, others }
    }

    /// The slots of some values, as far as the class has them (a peer may name any number).
    #[inline]
    fn fill_from(&mut self, slots: impl Iterator<Item = u32>, class_slots: usize) {
        self.first = 0;
        self.others.clear();
        for slot in slots.filter(|s| (*s as usize) < class_slots) {
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
    fn is(&self, other: &SlotSet) -> bool {
        let few = self.others.is_empty() && other.others.is_empty();
        self.first == other.first && (few || self.others == other.others)
    }

    #[inline]
    fn intersects(&self, other: &SlotSet) -> bool {
        let mut others = self.others.iter().zip(&other.others);
        self.first & other.first != 0 || others.any(|(a, b)| a & b != 0)
    }
}

/// How many decisions are remembered of a class: streams ask again and again for the same, also those of
/// several senders by turns.
const DECISIONS: usize = 8;

/// Who gets what a sender sent, as of where in the log.
#[derive(Default)]
struct Decided {
    by: Option<(FederateHandle, LogIndex)>,
    slots: SlotSet,
    to: Vec<FederateHandle>,
}

impl Decided {
    #[cold]
    fn renew(
        &mut self,
        by: (FederateHandle, LogIndex),
        slots: &SlotSet,
        decide: impl FnOnce(&mut Vec<FederateHandle>),
    ) {
        self.by = Some(by);
        self.slots.clone_from(slots);
        self.to.clear();
        decide(&mut self.to);
        self.to.dedup();
    }
}

/// The last decisions of a class, each at its place.
#[derive(Default)]
struct Decisions([Decided; DECISIONS]);

impl Decisions {
    /// Where what is asked for slots that begin with these stands, if it does.
    #[inline(always)]
    fn place(by: (FederateHandle, LogIndex), first: u64) -> usize {
        let mixed = (first ^ u64::from(by.0.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 61) as usize
    }

    #[inline]
    fn of(
        &mut self,
        by: (FederateHandle, LogIndex),
        slots: &SlotSet,
        decide: impl FnOnce(&mut Vec<FederateHandle>),
    ) -> &[FederateHandle] {
        let decided = &mut self.0[Self::place(by, slots.first)];
        if decided.by != Some(by) || !decided.slots.is(slots) {
            decided.renew(by, slots, decide);
        }
        &decided.to
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
    decisions: Decisions,
}

impl ObjectRoute {
    #[inline]
    fn decide(
        &mut self,
        (sender, sender_applied): (FederateHandle, LogIndex),
        sent: &SlotSet,
    ) -> &[FederateHandle] {
        let counts_to = sender_applied.min(self.settled);
        let subscribers = &self.subscribers;
        self.decisions.of((sender, counts_to), sent, |to| {
            let counts = |f: FederateHandle, since| f != sender && since <= counts_to;
            let all = subscribers.iter();
            let wanted =
                all.filter(|(f, since, slots)| counts(*f, *since) && slots.intersects(sent));
            to.extend(wanted.map(|(f, ..)| *f));
        })
    }
}

/// Who subscribes to one sent interaction class, at it or at superclasses.
#[derive(Default)]
struct InteractionRoute {
    subscribers: Vec<(FederateHandle, LogIndex)>,
    /// From here on in the log all of them count.
    settled: LogIndex,
    decisions: Decisions,
}

/// Routes by sent class, computed when first used after a change.
#[derive(Default)]
pub(crate) struct Routes {
    objects: Vec<Option<Box<ObjectRoute>>>,
    interactions: Vec<Option<Box<InteractionRoute>>>,
    rated: HandleMap<ObjectClassHandle, Rated>,
    scratch: SlotSet,
}

/// What belongs to a class of the FDD, made if it is not there.
#[inline]
pub(super) fn of_class<T>(
    list: &mut Vec<Option<Box<T>>>,
    class: u32,
    make: impl FnOnce() -> T,
) -> &mut T {
    let place = class as usize;
    if list.get(place).is_none_or(Option::is_none) {
        put_of_class(list, place, make());
    }
    list[place].as_mut().expect("it was just put there")
}

#[cold]
fn put_of_class<T>(list: &mut Vec<Option<Box<T>>>, place: usize, made: T) {
    if list.len() <= place {
        list.resize_with(place + 1, || None);
    }
    list[place] = Some(Box::new(made));
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

    /// From where in the log on all subscriptions to a class count for what is sent of it, as far as they were
    /// looked at.
    pub(super) fn settled_update(&self, class: ObjectClassHandle) -> Option<LogIndex> {
        Some(self.objects.get(class.raw() as usize)?.as_ref()?.settled)
    }

    /// The same for an interaction class.
    pub(super) fn settled_interaction(&self, class: InteractionClassHandle) -> Option<LogIndex> {
        Some(
            self.interactions
                .get(class.raw() as usize)?
                .as_ref()?
                .settled,
        )
    }

    /// Federates other than `sender` that subscribe to any of these slots of an instance registered
    /// as `class`, which the FDD has; ascending.
    ///
    /// Only subscriptions that the sender had applied (`sender_applied`) count: else a receiver
    /// could get a frame that was sent for somebody else, and miss the next, for which the sender
    /// saw no receiver (found by the simulator).
    #[inline]
    pub(crate) fn update_of_slots(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        sender: (FederateHandle, LogIndex),
        class: ObjectClassHandle,
        slots: &SlotSet,
    ) -> &[FederateHandle] {
        let make = || object_route(model, subscriptions, class);
        let route = of_class(&mut self.objects, class.raw(), make);
        route.decide(sender, slots)
    }

    /// The same for what subscribes to any of these values.
    #[inline]
    pub(crate) fn update(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        sender: (FederateHandle, LogIndex),
        class: ObjectClassHandle,
        values: Values<'_>,
    ) -> &[FederateHandle] {
        let make = || object_route(model, subscriptions, class);
        let route = of_class(&mut self.objects, class.raw(), make);
        let slots = values.iter().map(|(slot, _)| slot);
        self.scratch.fill_from(slots, route.class_slots);
        route.decide(sender, &self.scratch)
    }

    /// Federates other than `sender` that receive interactions of `class`, which the FDD has;
    /// ascending.
    #[inline]
    pub(crate) fn interaction(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions<LogIndex>,
        (sender, sender_applied): (FederateHandle, LogIndex),
        class: InteractionClassHandle,
    ) -> &[FederateHandle] {
        let make = || interaction_route(model, subscriptions, class);
        let route = of_class(&mut self.interactions, class.raw(), make);
        let counts_to = sender_applied.min(route.settled);
        let subscribers = &route.subscribers;
        let all = SlotSet::default();
        route.decisions.of((sender, counts_to), &all, |to| {
            let wanted = subscribers.iter();
            let wanted = wanted.filter(|(f, since)| *f != sender && *since <= counts_to);
            to.extend(wanted.map(|(f, _)| *f));
        })
    }
}

#[cold]
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
        decisions: Decisions::default(),
        subscribers: route.into_iter().map(|((f, i), s)| (f, i, s)).collect(),
    }
}

#[cold]
fn interaction_route(
    model: &ObjectModel,
    subscriptions: &Subscriptions<LogIndex>,
    class: InteractionClassHandle,
) -> InteractionRoute {
    let mut subscribers = Vec::new();
    for c in model.interaction_lineage(class) {
        subscribers.extend(subscriptions.at_interaction_class(c.handle));
    }
    subscribers.sort_unstable();
    InteractionRoute {
        settled: subscribers
            .iter()
            .map(|(_, since)| *since)
            .max()
            .unwrap_or_default(),
        subscribers,
        decisions: Decisions::default(),
    }
}
