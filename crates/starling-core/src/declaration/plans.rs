//! What a federate sends again and again: the same attributes or parameters of a class, in the same order.
//! Their slots and receivers are found once, and hold until subscriptions, publications or the FDD change.

use super::Declarations;
use super::routes::{SlotSet, of_class};
use crate::message::LogIndex;
use crate::values::value_bytes;
use crate::{
    AttributeHandle, FederateHandle, Given, InteractionClassHandle, ObjectClassHandle,
    ParameterHandle,
};
use starling_fom::{InteractionClass, ObjectModel};
use std::sync::Arc;

/// How many are remembered of a class, each at its place.
const PLANS: usize = 4;

/// What is known of values of these handles.
pub(crate) struct Plan<H> {
    /// The number of what it was made of; 0: it was not made.
    made_of: u64,
    /// Each with its slot. Those of an object class are below 64,
    pub(crate) slots: Vec<(H, u32)>,
    /// and here as bits.
    pub(crate) bits: u64,
    /// Who gets them.
    pub(crate) to: Vec<FederateHandle>,
}

impl<H> Default for Plan<H> {
    fn default() -> Self {
        Plan {
            made_of: 0,
            slots: Vec::new(),
            bits: 0,
            to: Vec::new(),
        }
    }
}

/// Those of a class.
type OfClass<H> = Option<Box<[Arc<Plan<H>>; PLANS]>>;

/// By the number of the class.
#[derive(Default)]
pub(super) struct Plans {
    updates: Vec<OfClass<AttributeHandle>>,
    interactions: Vec<OfClass<ParameterHandle>>,
    /// How often what is published has changed.
    published: u64,
}

impl Plans {
    pub(super) fn publications_changed(&mut self) {
        self.published += 1;
    }
}

/// Where the plan of values stands that are so many and begin so.
#[inline(always)]
fn place<T: Given>(values: &[T], number: fn(T::Handle) -> u32) -> usize {
    let first = values.first().map_or(0, |given| number(given.handle()));
    (first as usize ^ values.len()) % PLANS
}

/// The plan of these values, and what their run takes.
#[inline(always)]
fn known<'a, H: Copy + PartialEq, T: Given<Handle = H>>(
    list: &'a [OfClass<H>],
    (class, made_of): (u32, u64),
    values: &[T],
    number: fn(H) -> u32,
) -> Option<(&'a Arc<Plan<H>>, usize)> {
    let plan = &list.get(class as usize)?.as_deref()?[place(values, number)];
    if plan.made_of != made_of {
        return None;
    }
    Some((plan, plan.run_bytes(values)?))
}

impl<H: Copy + PartialEq> Plan<H> {
    /// What the run of these values takes, if they are those that it is of.
    #[inline(always)]
    pub(crate) fn run_bytes(&self, values: &[impl Given<Handle = H>]) -> Option<usize> {
        if self.slots.len() != values.len() {
            return None;
        }
        let mut bytes = 0;
        for ((handle, slot), given) in self.slots.iter().zip(values) {
            if *handle != given.handle() {
                return None;
            }
            bytes += value_bytes(*slot, given.value().len());
        }
        Some(bytes)
    }

    fn new(made_of: u64, slots: Vec<(H, u32)>, to: Vec<FederateHandle>) -> Self {
        let bits = slots
            .iter()
            .fold(0, |bits, (_, slot)| bits | 1 << (slot % 64));
        Plan {
            made_of,
            slots,
            bits,
            to,
        }
    }
}

impl Declarations {
    /// What plans made now are made of. Never 0.
    #[inline(always)]
    fn made_of(&self) -> u64 {
        self.subscribed.changes + self.plans.published + 1
    }

    /// The plan of an update, if there is one, and what the run of its values takes.
    #[inline(always)]
    pub(crate) fn planned_update(
        &self,
        class: ObjectClassHandle,
        values: &[impl Given<Handle = AttributeHandle>],
    ) -> Option<(&Arc<Plan<AttributeHandle>>, usize)> {
        let of = (class.raw(), self.made_of());
        known(&self.plans.updates, of, values, AttributeHandle::raw)
    }

    /// Makes the plan of an update of attributes that are of this class, and of its first 64 slots.
    #[cold]
    pub(crate) fn plan_update(
        &mut self,
        model: &ObjectModel,
        applied: LogIndex,
        class: ObjectClassHandle,
        values: &[impl Given<Handle = AttributeHandle>],
    ) -> Option<(&Arc<Plan<AttributeHandle>>, usize)> {
        let known = model.object_class(class)?;
        let slot = |attribute| {
            let slot = known.slot(attribute).filter(|slot| *slot < 64);
            Some((attribute, slot?))
        };
        let handles = values.iter().map(Given::handle);
        let slots: Vec<_> = handles.map(slot).collect::<Option<_>>()?;
        let made_of = self.made_of();
        let bits = slots.iter().fold(0, |bits, (_, slot)| bits | 1 << slot);
        let by = (self.me, applied);
        let to = self
            .subscribed
            .update_of_slots(model, by, class, &SlotSet::of_bits(bits))
            .to_vec();
        if self.subscribed.routes.settled_update(class)? > applied {
            // It would not hold for what is sent later.
            return None;
        }
        let plans = of_class(&mut self.plans.updates, class.raw(), Default::default);
        let plan = &mut plans[place(values, AttributeHandle::raw)];
        *plan = Arc::new(Plan::new(made_of, slots, to));
        let bytes = plan.run_bytes(values)?;
        Some((&*plan, bytes))
    }

    /// The plan of an interaction, if there is one, and what the run of its values takes.
    #[inline(always)]
    pub(crate) fn planned_interaction(
        &self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
    ) -> Option<(&Arc<Plan<ParameterHandle>>, usize)> {
        let of = (class.raw(), self.made_of());
        known(&self.plans.interactions, of, values, ParameterHandle::raw)
    }

    /// Makes the plan of an interaction of a class that is published, with parameters that are of it.
    #[cold]
    pub(crate) fn plan_interaction(
        &mut self,
        model: &ObjectModel,
        applied: LogIndex,
        class: &InteractionClass,
        values: &[impl Given<Handle = ParameterHandle>],
    ) -> Option<(&Arc<Plan<ParameterHandle>>, usize)> {
        if !self.publishes_interaction(class.handle) {
            return None;
        }
        let handles = values.iter().map(Given::handle);
        let slots: Vec<_> = handles
            .map(|parameter| Some((parameter, class.slot(parameter)?)))
            .collect::<Option<_>>()?;
        let made_of = self.made_of();
        let to = self
            .subscribed
            .interaction(model, (self.me, applied), class.handle)
            .to_vec();
        if self.subscribed.routes.settled_interaction(class.handle)? > applied {
            return None;
        }
        let plans = of_class(
            &mut self.plans.interactions,
            class.handle.raw(),
            Default::default,
        );
        let plan = &mut plans[place(values, ParameterHandle::raw)];
        *plan = Arc::new(Plan::new(made_of, slots, to));
        let bytes = plan.run_bytes(values)?;
        Some((&*plan, bytes))
    }
}
