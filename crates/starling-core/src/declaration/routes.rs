//! Prepared routes: for a sent class, who gets it. Data looks these up and decides nothing.

use super::Subscriptions;
use crate::handles::HandleMap;
use crate::{FederateHandle, InteractionClassHandle, ObjectClassHandle, Values};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;

/// A set of slots of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SlotSet(Vec<u64>);

impl SlotSet {
    /// The slots of some values, as far as the class has them (a peer may name any number).
    fn fill_from(&mut self, values: Values<'_>, class_slots: usize) {
        self.0.clear();
        for (slot, _) in values.iter().filter(|(s, _)| (*s as usize) < class_slots) {
            self.insert(slot);
        }
    }

    /// Adds a slot of the class.
    fn insert(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }

    fn intersects(&self, other: &SlotSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// Who subscribes to which slots of one registered class, at it or at superclasses.
#[derive(Default)]
struct ObjectRoute {
    class_slots: usize,
    subscribers: Vec<(FederateHandle, SlotSet)>,
}

/// Routes by sent class, computed when first used after a change.
#[derive(Default)]
pub(crate) struct Routes {
    objects: HandleMap<ObjectClassHandle, ObjectRoute>,
    interactions: HandleMap<InteractionClassHandle, Vec<FederateHandle>>,
    scratch: SlotSet,
}

impl Routes {
    /// Subscriptions or the FDD have changed.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.interactions.clear();
    }

    /// Federates other than `sender` that subscribe to any of these values of an instance
    /// registered as `class`, ascending, into `to`.
    pub(crate) fn update(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions,
        sender: FederateHandle,
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
        self.scratch.fill_from(values, route.class_slots);
        let sent = &self.scratch;
        to.extend(
            route
                .subscribers
                .iter()
                .filter(|(f, slots)| *f != sender && slots.intersects(sent))
                .map(|(f, _)| *f),
        );
    }

    /// Federates other than `sender` that receive interactions of `class`, ascending, into `to`.
    pub(crate) fn interaction(
        &mut self,
        model: &ObjectModel,
        subscriptions: &Subscriptions,
        sender: FederateHandle,
        class: InteractionClassHandle,
        to: &mut Vec<FederateHandle>,
    ) {
        to.clear();
        let route = self
            .interactions
            .entry(class)
            .or_insert_with(|| interaction_route(model, subscriptions, class));
        to.extend(route.iter().filter(|f| **f != sender));
    }
}

fn object_route(
    model: &ObjectModel,
    subscriptions: &Subscriptions,
    class: ObjectClassHandle,
) -> ObjectRoute {
    let mut route: BTreeMap<FederateHandle, SlotSet> = BTreeMap::new();
    let Some(sent) = model.object_class(class) else {
        return ObjectRoute::default();
    };
    let mut at = Some(sent);
    while let Some(c) = at {
        for (federate, attributes) in subscriptions.at_object_class(c.handle) {
            let slots = route.entry(federate).or_default();
            for a in attributes {
                if let Some(slot) = sent.slot(a.attribute) {
                    slots.insert(slot);
                }
            }
        }
        at = c.parent.and_then(|p| model.object_class(p));
    }
    ObjectRoute {
        class_slots: sent.attributes.len(),
        subscribers: route.into_iter().collect(),
    }
}

fn interaction_route(
    model: &ObjectModel,
    subscriptions: &Subscriptions,
    class: InteractionClassHandle,
) -> Vec<FederateHandle> {
    let mut route = Vec::new();
    let mut at = model.interaction_class(class);
    while let Some(c) = at {
        route.extend(subscriptions.at_interaction_class(c.handle));
        at = c.parent.and_then(|p| model.interaction_class(p));
    }
    route.sort_unstable();
    route.dedup();
    route
}
