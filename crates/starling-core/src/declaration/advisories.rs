//! Relevance advisories of classes, 1516.1-2010 §5.10 to §5.13: whether anybody else actively
//! subscribes to what this federate publishes. Every member has all subscriptions, so they need
//! no word of the executive.

use crate::callback::Callback;
use crate::delivery::Queued;
use crate::exception::throw;
use crate::saved::declaration::Advisories;
use crate::{Exception, Federate, InteractionClassHandle, ObjectClassHandle};
use std::collections::BTreeMap;

/// An advisory that is not delivered yet: whether a class is wanted.
#[derive(Debug)]
pub(crate) enum QueuedAdvisory {
    /// Start or Stop Registration For Object Class.
    Registration(ObjectClassHandle, bool),
    /// Turn Interactions On or Off.
    Interactions(InteractionClassHandle, bool),
}

impl<C: Copy + Ord> Advisories<C> {
    pub(super) fn new(enabled: bool) -> Self {
        Advisories {
            enabled,
            said: BTreeMap::new(),
        }
    }

    /// Whether saying that `class` is wanted or not is news; then it is to be queued.
    fn is_news(&mut self, class: C, wanted: bool) -> bool {
        match self.said.get_mut(&class) {
            Some(said) if self.enabled && said.queued != wanted => {
                said.queued = wanted;
                true
            }
            _ => false,
        }
    }

    fn delivered(&mut self, class: C, wanted: bool) {
        if let Some(said) = self.said.get_mut(&class) {
            said.delivered = wanted;
        }
    }

    fn classes(&self) -> Vec<C> {
        self.said.keys().copied().collect()
    }

    /// What was queued and is not delivered has been dropped.
    fn dropped(&mut self) {
        for said in self.said.values_mut() {
            said.queued = said.delivered;
        }
    }
}

impl Federate {
    /// What is published at an object class has changed.
    pub(crate) fn advise_published(&mut self, class: ObjectClassHandle) {
        if self.declarations.published.contains_key(&class) {
            self.declarations
                .registration
                .said
                .entry(class)
                .or_default();
            self.advise_registration(class);
        } else {
            self.declarations.registration.said.remove(&class);
            let of_it =
                |q: &QueuedAdvisory| matches!(q, QueuedAdvisory::Registration(c, _) if *c == class);
            self.withdraw_advisories(of_it);
        }
    }

    /// An interaction class is published, or no longer.
    pub(crate) fn advise_interaction_published(&mut self, class: InteractionClassHandle) {
        if self.declarations.published_interactions.contains(&class) {
            self.declarations
                .interactions
                .said
                .entry(class)
                .or_default();
            self.advise_interactions(class);
        } else {
            self.declarations.interactions.said.remove(&class);
            let of_it =
                |q: &QueuedAdvisory| matches!(q, QueuedAdvisory::Interactions(c, _) if *c == class);
            self.withdraw_advisories(of_it);
        }
    }

    /// Somebody's subscription at an object class has changed.
    pub(crate) fn advise_subscribed(&mut self, at: ObjectClassHandle) {
        for class in self.declarations.registration.classes() {
            if self.model.is_subclass_or_same(class, at) {
                self.advise_registration(class);
            }
        }
    }

    /// Somebody's subscription of an interaction class has changed.
    pub(crate) fn advise_interaction_subscribed(&mut self, at: InteractionClassHandle) {
        for class in self.declarations.interactions.classes() {
            if self.model.is_interaction_subclass_or_same(class, at) {
                self.advise_interactions(class);
            }
        }
    }

    /// Subscriptions of several classes have changed.
    pub(crate) fn advise_all(&mut self) {
        for class in self.declarations.registration.classes() {
            self.advise_registration(class);
        }
        for class in self.declarations.interactions.classes() {
            self.advise_interactions(class);
        }
    }

    fn advise_registration(&mut self, class: ObjectClassHandle) {
        let published = self
            .declarations
            .published
            .get(&class)
            .map_or(&[][..], Vec::as_slice);
        let mut wanted = false;
        for c in self.model.object_lineage(class) {
            let mut active = self
                .declarations
                .subscribed
                .active_at_object_class(c.handle);
            wanted |= active.any(|(f, a)| f != self.me && published.contains(&a));
        }
        if self.declarations.registration.is_news(class, wanted) {
            self.delivery
                .push(QueuedAdvisory::Registration(class, wanted));
        }
    }

    fn advise_interactions(&mut self, class: InteractionClassHandle) {
        let mut wanted = false;
        for c in self.model.interaction_lineage(class) {
            let mut active = self
                .declarations
                .subscribed
                .active_at_interaction_class(c.handle);
            wanted |= active.any(|f| f != self.me);
        }
        if self.declarations.interactions.is_news(class, wanted) {
            self.delivery
                .push(QueuedAdvisory::Interactions(class, wanted));
        }
    }

    fn withdraw_advisories(&mut self, which: impl Fn(&QueuedAdvisory) -> bool) {
        self.delivery
            .withdraw(|queued| matches!(queued, Queued::Declaration(q) if which(q)));
    }

    pub(crate) fn deliver_advisory(&mut self, queued: QueuedAdvisory) -> Callback {
        match queued {
            QueuedAdvisory::Registration(class, wanted) => {
                self.declarations.registration.delivered(class, wanted);
                if wanted {
                    Callback::StartRegistrationForObjectClass(class)
                } else {
                    Callback::StopRegistrationForObjectClass(class)
                }
            }
            QueuedAdvisory::Interactions(class, wanted) => {
                self.declarations.interactions.delivered(class, wanted);
                if wanted {
                    Callback::TurnInteractionsOn(class)
                } else {
                    Callback::TurnInteractionsOff(class)
                }
            }
        }
    }

    /// Enable Object Class Relevance Advisory Switch, §10.33: what has changed meanwhile is told.
    pub fn enable_object_class_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if self.declarations.registration.enabled {
            throw!(
                ObjectClassRelevanceAdvisorySwitchIsOn,
                "the switch is on already"
            );
        }
        self.declarations.registration.enabled = true;
        self.advise_all();
        Ok(())
    }

    /// Disable Object Class Relevance Advisory Switch, §10.34.
    pub fn disable_object_class_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if !self.declarations.registration.enabled {
            throw!(
                ObjectClassRelevanceAdvisorySwitchIsOff,
                "the switch is off already"
            );
        }
        self.declarations.registration.enabled = false;
        self.declarations.registration.dropped();
        self.withdraw_advisories(|q| matches!(q, QueuedAdvisory::Registration(..)));
        Ok(())
    }

    /// Enable Interaction Relevance Advisory Switch, §10.39: what has changed meanwhile is told.
    pub fn enable_interaction_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if self.declarations.interactions.enabled {
            throw!(
                InteractionRelevanceAdvisorySwitchIsOn,
                "the switch is on already"
            );
        }
        self.declarations.interactions.enabled = true;
        self.advise_all();
        Ok(())
    }

    /// Disable Interaction Relevance Advisory Switch, §10.40.
    pub fn disable_interaction_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if !self.declarations.interactions.enabled {
            throw!(
                InteractionRelevanceAdvisorySwitchIsOff,
                "the switch is off already"
            );
        }
        self.declarations.interactions.enabled = false;
        self.declarations.interactions.dropped();
        self.withdraw_advisories(|q| matches!(q, QueuedAdvisory::Interactions(..)));
        Ok(())
    }
}
