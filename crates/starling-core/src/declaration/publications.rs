//! What members publish, as the executive knows it.

use crate::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::{BTreeMap, BTreeSet};

/// Publications of all members.
#[derive(Default)]
pub(crate) struct Publications {
    pub(super) objects: BTreeMap<(FederateHandle, ObjectClassHandle), Vec<AttributeHandle>>,
    pub(super) interactions: BTreeSet<(FederateHandle, InteractionClassHandle)>,
}

impl Publications {
    /// Replaces what a federate publishes at an object class; none ends it. The former attributes.
    pub(super) fn set(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) -> Vec<AttributeHandle> {
        let key = (federate, class);
        let former = if attributes.is_empty() {
            self.objects.remove(&key)
        } else {
            self.objects.insert(key, attributes)
        };
        former.unwrap_or_default()
    }

    /// A federate publishes an interaction class from now on, or no longer.
    pub(super) fn set_interaction(
        &mut self,
        federate: FederateHandle,
        class: InteractionClassHandle,
        published: bool,
    ) {
        if published {
            self.interactions.insert((federate, class))
        } else {
            self.interactions.remove(&(federate, class))
        };
    }

    /// What a federate publishes at an object class, if anything.
    pub(crate) fn at(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Option<&[AttributeHandle]> {
        self.objects.get(&(federate, class)).map(Vec::as_slice)
    }

    /// Object classes that a federate publishes, each with its attributes.
    pub(crate) fn objects_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (ObjectClassHandle, &[AttributeHandle])> {
        let [first, last] = [0, u32::MAX].map(ObjectClassHandle::from_raw);
        let own = self.objects.range((federate, first)..=(federate, last));
        own.map(|((_, class), attributes)| (*class, attributes.as_slice()))
    }

    /// Interaction classes that a federate publishes.
    pub(crate) fn interactions_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = InteractionClassHandle> {
        let [first, last] = [0, u32::MAX].map(InteractionClassHandle::from_raw);
        let own = self
            .interactions
            .range((federate, first)..=(federate, last));
        own.map(|(_, class)| *class)
    }

    /// Object classes that are published, by federate, each with its attributes.
    pub(crate) fn objects(
        &self,
    ) -> impl Iterator<Item = (FederateHandle, ObjectClassHandle, &[AttributeHandle])> {
        let all = self.objects.iter();
        all.map(|((federate, class), a)| (*federate, *class, a.as_slice()))
    }

    /// Interaction classes that are published, by federate.
    pub(crate) fn interactions(
        &self,
    ) -> impl Iterator<Item = (FederateHandle, InteractionClassHandle)> {
        self.interactions.iter().copied()
    }

    /// Forgets a federate that has resigned.
    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        self.objects.retain(|(f, _), _| *f != federate);
        self.interactions.retain(|(f, _)| *f != federate);
    }
}
