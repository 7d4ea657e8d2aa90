//! Who subscribes to what: the same table at the executive and at every member.

use crate::ddm::subscriptions::RegionSubscriptions;
use crate::message::declaration::Snapshot;
use crate::message::{SubscribedAttribute, Subscription};
use crate::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;

type ByClass<C, S> = BTreeMap<C, BTreeMap<FederateHandle, S>>;

/// What a federate subscribes to at one object class.
struct AtClass<N> {
    attributes: Vec<SubscribedAttribute>,
    /// For each attribute, from when on it has been subscribed.
    since: Vec<N>,
}

/// Subscriptions. `N` says from when on each holds: a log index in a table of what the log says
/// of all joined federates, a request number in a federate's table of its own calls.
pub(crate) struct Subscriptions<N> {
    objects: ByClass<ObjectClassHandle, AtClass<N>>,
    interactions: ByClass<InteractionClassHandle, (Subscription, N)>,
    /// Those with regions.
    pub(crate) regions: RegionSubscriptions<N>,
    rates: bool,
}

impl<N> Default for Subscriptions<N> {
    fn default() -> Self {
        Subscriptions {
            objects: BTreeMap::new(),
            interactions: BTreeMap::new(),
            regions: RegionSubscriptions::default(),
            rates: false,
        }
    }
}

impl<N: Copy + Ord> Subscriptions<N> {
    /// Whether anybody has ever subscribed at an update rate.
    #[inline]
    pub(crate) fn has_rates(&self) -> bool {
        self.rates || self.regions.has_rates()
    }

    /// Subscribed attributes at exactly this object class, with their update rate designators
    /// (empty for none), with regions and without.
    pub(crate) fn rates_at(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle, &str)> {
        let federates = self.objects.get(&class).into_iter().flatten();
        let without = federates.flat_map(|(federate, at)| {
            let all = at.attributes.iter();
            all.map(|a| (*federate, a.attribute, a.rate.as_str()))
        });
        without.chain(self.regions.rates_at(class))
    }

    /// Replaces `federate`'s subscription at `class`, from `now` on; none ends it.
    pub(crate) fn set_object(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: Vec<SubscribedAttribute>,
        now: N,
    ) {
        self.rates |= attributes.iter().any(|a| !a.rate.is_empty());
        let at_class = self.objects.entry(class).or_default();
        let before = at_class.remove(&federate);
        if attributes.is_empty() {
            return;
        }
        let since = |a: &SubscribedAttribute| {
            let mut former = before
                .iter()
                .flat_map(|b| b.attributes.iter().zip(&b.since));
            let held = former.find(|(f, _)| f.attribute == a.attribute);
            held.map_or(now, |(_, since)| *since)
        };
        let since = attributes.iter().map(since).collect();
        at_class.insert(federate, AtClass { attributes, since });
    }

    /// Replaces `federate`'s subscription of an interaction class, from `now` on.
    pub(crate) fn set_interaction(
        &mut self,
        federate: FederateHandle,
        class: InteractionClassHandle,
        subscription: Subscription,
        now: N,
    ) {
        let at_class = self.interactions.entry(class).or_default();
        let since = at_class.remove(&federate).map_or(now, |(_, since)| since);
        if subscription != Subscription::None {
            at_class.insert(federate, (subscription, since));
        }
    }

    /// Forgets a federate that has resigned.
    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        self.regions.forget(federate);
        for at_class in self.objects.values_mut() {
            at_class.remove(&federate);
        }
        for at_class in self.interactions.values_mut() {
            at_class.remove(&federate);
        }
    }

    /// Attributes that `federate` subscribes to at exactly this class, with regions or without;
    /// one may come twice.
    pub(crate) fn attributes(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = AttributeHandle> {
        let without = self.object(federate, class).iter().map(|a| a.attribute);
        without.chain(self.regions.attributes(federate, class))
    }

    /// What `federate` subscribes to at exactly this class without regions.
    pub(crate) fn object(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> &[SubscribedAttribute] {
        self.objects
            .get(&class)
            .and_then(|c| c.get(&federate))
            .map_or(&[], |at| &at.attributes)
    }

    /// Since when `federate` subscribes to this class attribute without regions, if it does.
    pub(crate) fn attribute_since(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<N> {
        let at = self.objects.get(&class)?.get(&federate)?;
        let position = at
            .attributes
            .iter()
            .position(|a| a.attribute == attribute)?;
        at.since.get(position).copied()
    }

    /// Since when `federate` subscribes to exactly this interaction class without regions, if it
    /// does.
    pub(crate) fn interaction_since(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> Option<N> {
        let (_, since) = self.interactions.get(&class)?.get(&federate)?;
        Some(*since)
    }

    /// Whether `federate` subscribes to exactly this interaction class without regions.
    pub(crate) fn has_interaction(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> bool {
        self.interactions
            .get(&class)
            .is_some_and(|c| c.contains_key(&federate))
    }

    /// The class at which `federate` would discover an instance of `class` (§6.1): `class` or
    /// its nearest superclass with any subscription.
    pub(crate) fn candidate_class(
        &self,
        model: &ObjectModel,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Option<ObjectClassHandle> {
        let subscribes = |c: &ObjectClassHandle| {
            !self.object(federate, *c).is_empty() || self.regions.has_object(federate, *c)
        };
        let mut classes = model.object_lineage(class).map(|c| c.handle);
        classes.find(subscribes)
    }

    /// Subscribed attributes at exactly this object class, and since when.
    pub(crate) fn at_object_class(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle, N)> {
        let with = self.regions.at_object_class(class);
        self.at_object_class_without_regions(class).chain(with)
    }

    /// Attributes subscribed at exactly this object class without regions, and since when.
    pub(crate) fn at_object_class_without_regions(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle, N)> {
        let federates = self.objects.get(&class).into_iter().flatten();
        federates.flat_map(|(federate, at)| {
            let since = at.attributes.iter().zip(&at.since);
            since.map(|(a, since)| (*federate, a.attribute, *since))
        })
    }

    /// Actively subscribed attributes at exactly this object class.
    pub(crate) fn active_at_object_class(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, AttributeHandle)> {
        let federates = self.objects.get(&class).into_iter().flatten();
        let without = federates.flat_map(|(federate, at)| {
            let active = at.attributes.iter().filter(|a| a.active);
            active.map(|a| (*federate, a.attribute))
        });
        without.chain(self.regions.active_at_object_class(class))
    }

    /// Federates that actively subscribe to exactly this interaction class.
    pub(crate) fn active_at_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = FederateHandle> {
        let federates = self.interactions.get(&class).into_iter().flatten();
        let active = federates.filter(|(_, (how, _))| *how == Subscription::Active);
        let without = active.map(|(federate, _)| *federate);
        without.chain(self.regions.active_at_interaction_class(class))
    }

    /// Federates that subscribe to exactly this interaction class, and since when.
    pub(crate) fn at_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = (FederateHandle, N)> {
        let federates = self.interactions.get(&class).into_iter().flatten();
        let without = federates.map(|(federate, (_, since))| (*federate, *since));
        without.chain(self.regions.at_interaction_class(class))
    }

    /// All interaction subscriptions without regions.
    pub(crate) fn interactions(
        &self,
    ) -> impl Iterator<Item = (FederateHandle, InteractionClassHandle, Subscription)> {
        self.interactions
            .iter()
            .flat_map(|(class, at)| at.iter().map(|(f, (s, _))| (*f, *class, *s)))
    }

    /// Object classes that a federate subscribes to without regions, each with its attributes.
    pub(crate) fn objects_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (ObjectClassHandle, &[SubscribedAttribute])> {
        let all = self.objects.iter();
        all.filter_map(move |(class, at)| Some((*class, at.get(&federate)?.attributes.as_slice())))
    }

    /// Interaction classes that a federate subscribes to without regions.
    pub(crate) fn interactions_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (InteractionClassHandle, Subscription)> {
        let all = self.interactions.iter();
        all.filter_map(move |(class, at)| Some((*class, at.get(&federate)?.0)))
    }

    /// For a snapshot, and for a save.
    pub(crate) fn save(&self) -> Snapshot<N> {
        let objects = self.objects.iter().flat_map(|(class, at)| {
            at.iter().map(|(federate, at)| {
                let attributes = at.attributes.iter().cloned();
                let since = at.since.iter().copied();
                (*federate, *class, attributes.zip(since).collect())
            })
        });
        let interactions = self.interactions.iter();
        let interactions = interactions
            .flat_map(|(class, at)| at.iter().map(|(federate, how)| (*federate, *class, *how)));
        Snapshot {
            objects: objects.collect(),
            interactions: interactions.collect(),
            regions: self.regions.save(),
        }
    }

    pub(crate) fn restore(saved: Snapshot<N>) -> Self {
        let mut restored = Subscriptions::default();
        for (federate, class, attributes) in saved.objects {
            let (attributes, since): (Vec<SubscribedAttribute>, _) = attributes.into_iter().unzip();
            restored.rates |= attributes.iter().any(|a| !a.rate.is_empty());
            let at_class = restored.objects.entry(class).or_default();
            at_class.insert(federate, AtClass { attributes, since });
        }
        for (federate, class, how) in saved.interactions {
            let at_class = restored.interactions.entry(class).or_default();
            at_class.insert(federate, how);
        }
        restored.regions = RegionSubscriptions::restore(saved.regions);
        restored
    }
}
