//! Relevance and scope advisories.
//!
//! When the network is at rest, what each federate was last told must be what holds: for each
//! published class whether others actively subscribe, for each known instance what is in scope,
//! for each owned attribute whether others want it.

use starling_core::{
    AttributeHandle, Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};
use std::collections::BTreeSet;

type Attributes = BTreeSet<(ObjectInstanceHandle, AttributeHandle)>;

/// What one federate was last told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) registration: BTreeSet<ObjectClassHandle>,
    pub(crate) interactions: BTreeSet<InteractionClassHandle>,
    pub(crate) in_scope: Attributes,
    pub(crate) wanted: Attributes,
}

impl Advice {
    /// A callback is delivered.
    pub(crate) fn callback(&mut self, at: FederateHandle, callback: &Callback) {
        let news = match callback {
            Callback::StartRegistrationForObjectClass(class) => self.registration.insert(*class),
            Callback::StopRegistrationForObjectClass(class) => self.registration.remove(class),
            Callback::TurnInteractionsOn(class) => self.interactions.insert(*class),
            Callback::TurnInteractionsOff(class) => self.interactions.remove(class),
            Callback::AttributesInScope {
                instance,
                attributes,
            } => attributes
                .iter()
                .all(|a| self.in_scope.insert((*instance, *a))),
            Callback::AttributesOutOfScope {
                instance,
                attributes,
            } => attributes
                .iter()
                .all(|a| self.in_scope.remove(&(*instance, *a))),
            Callback::TurnUpdatesOnForObjectInstance {
                instance,
                attributes,
                ..
            } => {
                let all = attributes.iter();
                all.for_each(|a| _ = self.wanted.insert((*instance, *a)));
                true
            }
            Callback::TurnUpdatesOffForObjectInstance {
                instance,
                attributes,
            } => {
                let all = attributes.iter();
                all.for_each(|a| _ = self.wanted.remove(&(*instance, *a)));
                true
            }
            Callback::RemoveObjectInstance { instance, .. } => {
                self.forget(*instance);
                true
            }
            _ => true,
        };
        assert!(news, "{at} is told what it knows: {callback:?}");
    }

    /// The federate no longer knows an instance.
    pub(crate) fn forget(&mut self, instance: ObjectInstanceHandle) {
        self.in_scope.retain(|(i, _)| *i != instance);
        self.wanted.retain(|(i, _)| *i != instance);
    }
}
