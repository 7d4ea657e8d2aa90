//! Conflation: of reflections of one object instance that wait, the newest is delivered, where the oldest
//! waited.
//!
//! One takes the place of another that says the same of the same: received in receive order and without a time
//! stamp, of the same object instance, by the same sender and transportation type, with values of the same
//! attributes and for the same regions. Between the two nothing has come that changes what they mean: a
//! discovery or removal of the instance, a change of its ownership or scope, another reflection that has one of
//! these attributes, or any callback that is of no instance, such as a time advance grant or a
//! synchronization point. Interactions are not among these.
//!
//! Invariant: each place is that of a reflection that waits in [`crate::delivery::Delivery`], so there are no
//! more of them than callbacks.

use crate::handles::HandleMap;
use crate::object::receive::Received;
use crate::{ObjectClassHandle, ObjectInstanceHandle, Transportation};
use starling_fom::ObjectModel;

/// The object classes whose reflections are conflated, with their subclasses, by the transportation type by which
/// they come. Names are fully qualified, with or without `HLAobjectRoot.`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflated {
    /// What comes best effort.
    pub best_effort: Vec<String>,
    /// What comes reliably.
    pub reliable: Vec<String>,
}

impl Conflated {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.best_effort.is_empty() && self.reliable.is_empty()
    }

    fn of(&self, transportation: Transportation) -> &[String] {
        match transportation {
            Transportation::BestEffort => &self.best_effort,
            Transportation::Reliable => &self.reliable,
        }
    }

    /// Names of classes that an FDD does not have.
    pub(crate) fn unknown(&self, model: &ObjectModel) -> impl Iterator<Item = &str> {
        let all = self.best_effort.iter().chain(&self.reliable);
        all.map(String::as_str)
            .filter(|name| model.object_class_by_name(name).is_none())
    }
}

/// Where a reflection waits that a newer one may replace.
#[derive(Debug)]
struct Place {
    /// Its number in the callback queue.
    number: u64,
    /// A bit for each slot, of which those behind the 64th share the same.
    slots: u64,
}

/// What can be replaced.
#[derive(Debug)]
pub(crate) struct Conflation {
    of: Conflated,
    /// By class of registration, whether by `of`: best effort, reliable. A class never gets another superclass.
    classes: HandleMap<ObjectClassHandle, (bool, bool)>,
    /// Of one instance all differ in `slots`, and none has one of another's.
    places: HandleMap<ObjectInstanceHandle, Vec<Place>>,
    /// What was numbered up to here is replaced no more.
    fence: u64,
}

impl Conflation {
    pub(crate) fn new(of: Conflated) -> Self {
        Conflation {
            of,
            classes: HandleMap::default(),
            places: HandleMap::default(),
            fence: 0,
        }
    }

    /// Whether reflections of a class are conflated.
    pub(crate) fn applies(
        &mut self,
        class: ObjectClassHandle,
        transportation: Transportation,
        model: &ObjectModel,
    ) -> bool {
        let of = &self.of;
        let (best_effort, reliable) = *self.classes.entry(class).or_insert_with(|| {
            let among = |transportation| {
                let named = of.of(transportation).iter();
                let mut named = named.filter_map(|name| model.object_class_by_name(name));
                named.any(|named| model.is_subclass_or_same(class, named.handle))
            };
            (
                among(Transportation::BestEffort),
                among(Transportation::Reliable),
            )
        });
        match transportation {
            Transportation::BestEffort => best_effort,
            Transportation::Reliable => reliable,
        }
    }

    /// The number of the reflection that a new one may replace, if it still is what `waits` makes of it.
    pub(crate) fn place<'a>(
        &self,
        instance: ObjectInstanceHandle,
        new: &Received,
        waits: impl FnOnce(u64) -> Option<&'a Received>,
    ) -> Option<u64> {
        let slots = slots(new);
        let places = self.places.get(&instance)?;
        let place = places
            .iter()
            .find(|p| p.slots == slots && p.number > self.fence)?;
        waits(place.number)
            .is_some_and(|old| means_the_same(old, new))
            .then_some(place.number)
    }

    /// A reflection that may be replaced waits at this number.
    pub(crate) fn put(&mut self, instance: ObjectInstanceHandle, new: &Received, number: u64) {
        self.keep_values(instance, new);
        let slots = slots(new);
        let places = self.places.entry(instance).or_default();
        places.push(Place { number, slots });
    }

    /// What waits of the same attributes of an instance is replaced no more.
    pub(crate) fn keep_values(&mut self, instance: ObjectInstanceHandle, of: &Received) {
        if let Some(places) = self.places.get_mut(&instance) {
            let (slots, fence) = (slots(of), self.fence);
            places.retain(|p| p.slots & slots == 0 && p.number > fence);
        }
    }

    /// What waits at this number is delivered.
    pub(crate) fn delivered(&mut self, instance: ObjectInstanceHandle, number: u64) {
        if let Some(places) = self.places.get_mut(&instance) {
            places.retain(|p| p.number != number);
            if places.is_empty() {
                self.places.remove(&instance);
            }
        }
    }

    /// What waits of an instance is replaced no more.
    pub(crate) fn keep(&mut self, instance: ObjectInstanceHandle) {
        self.places.remove(&instance);
    }

    /// What waits up to this number is replaced no more.
    pub(crate) fn keep_all(&mut self, up_to: u64) {
        self.fence = up_to;
    }
}

fn slots(received: &Received) -> u64 {
    let slots = received.payload.content.values().iter();
    slots.fold(0, |all, (slot, _)| all | 1 << (slot % 64))
}

/// Whether who would be delivered one of them would be delivered the other, of the same attributes.
fn means_the_same(old: &Received, new: &Received) -> bool {
    let of = |r: &Received| (r.sender, r.transportation, r.order);
    fn slots(r: &Received) -> impl Iterator<Item = u32> {
        r.payload.content.values().iter().map(|(slot, _)| slot)
    }
    // Regions are judged by what the sender had applied.
    let regions = |r: &Received| {
        let with = r.payload.address()?;
        let regions: Vec<_> = with.regions().collect();
        (!regions.is_empty()).then_some((regions, r.sender_applied))
    };
    of(old) == of(new) && slots(old).eq(slots(new)) && regions(old) == regions(new)
}
