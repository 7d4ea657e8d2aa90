//! Declaration management, chapter 5.
//!
//! Invariants:
//! - a request carries the whole set now published or subscribed at a class, so that applying
//!   it is replacing;
//! - every member has all members' subscriptions as of the log index it has applied;
//! - routes are derived from subscriptions and the FDD alone, and recomputed when either changes.
//!
//! What is made of subscriptions is owned by what owns them, and goes when they change.

mod advisories;
pub(crate) mod execution;
pub(crate) mod federate;
mod plans;
mod publications;
mod rates;
mod routes;
mod saved;
mod subscriptions;

pub(crate) use advisories::QueuedAdvisory;
pub(crate) use plans::Plan;
pub(crate) use publications::Publications;
pub(crate) use routes::SlotSet;
pub(crate) use subscriptions::Subscriptions;

use crate::ddm::index::Ranges;
use crate::message::declaration::Snapshot;
use crate::message::{LogIndex, RequestNumber};
use crate::object::receive::ReceiveMaps;
use crate::saved::declaration::Advisories;
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle, Values,
};
use plans::Plans;
use rates::Pace;
use routes::Routes;
use starling_fom::{ObjectModel, Switches};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

/// All members' subscriptions as of the log, with the routes that are made of them. They are read
/// as they are, and changed only through [`Subscribed::change`], so no route outlives what it was
/// made of.
#[derive(Default)]
pub(crate) struct Subscribed {
    table: Subscriptions<LogIndex>,
    routes: Routes,
    changes: u64,
    /// Themselves, as a joiner is told of them.
    snapshot: Option<Arc<Snapshot<LogIndex>>>,
}

impl Deref for Subscribed {
    type Target = Subscriptions<LogIndex>;
    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.table
    }
}

impl Subscribed {
    /// The subscriptions, to be changed.
    pub(crate) fn change(&mut self) -> &mut Subscriptions<LogIndex> {
        self.model_changed();
        self.snapshot = None;
        &mut self.table
    }

    /// The FDD has grown.
    pub(crate) fn model_changed(&mut self) {
        self.routes.clear();
        self.changes += 1;
    }

    /// New ranges of a region that is subscribed with; the former ones. No route depends on them.
    pub(crate) fn commit(&mut self, region: RegionHandle, ranges: Ranges) -> Option<Ranges> {
        self.snapshot = None;
        self.table.regions.commit(region, ranges)
    }

    /// How often they or the FDD have changed: what was made of them holds while this is the same.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Who gets an update, as [`Routes::update`] says.
    #[inline]
    pub(crate) fn update(
        &mut self,
        model: &ObjectModel,
        sender: (FederateHandle, LogIndex),
        class: ObjectClassHandle,
        values: Values<'_>,
    ) -> &[FederateHandle] {
        self.routes
            .update(model, &self.table, sender, class, values)
    }

    /// The same, as [`Routes::update_of_slots`] says.
    #[inline]
    pub(crate) fn update_of_slots(
        &mut self,
        model: &ObjectModel,
        sender: (FederateHandle, LogIndex),
        class: ObjectClassHandle,
        slots: &SlotSet,
    ) -> &[FederateHandle] {
        self.routes
            .update_of_slots(model, &self.table, sender, class, slots)
    }

    /// Who gets an interaction, as [`Routes::interaction`] says.
    #[inline]
    pub(crate) fn interaction(
        &mut self,
        model: &ObjectModel,
        sender: (FederateHandle, LogIndex),
        class: InteractionClassHandle,
    ) -> &[FederateHandle] {
        self.routes.interaction(model, &self.table, sender, class)
    }

    /// For those who join: one for all who do before they change.
    pub(crate) fn snapshot(&mut self) -> Arc<Snapshot<LogIndex>> {
        let made = self
            .snapshot
            .get_or_insert_with(|| Arc::new(self.table.save()));
        Arc::clone(made)
    }

    /// For a save.
    pub(crate) fn save(&self) -> Snapshot<LogIndex> {
        self.table.save()
    }

    pub(crate) fn restore(saved: Snapshot<LogIndex>) -> Self {
        Subscribed {
            table: Subscriptions::restore(saved),
            ..Subscribed::default()
        }
    }
}

/// What a joined federate knows of this chapter.
pub(crate) struct Declarations {
    me: FederateHandle,
    subscribed: Subscribed,
    pace: Pace,
    /// Own subscriptions as of the last call.
    mine: Subscriptions<RequestNumber>,
    /// Made of own subscriptions, as called and as applied.
    maps: ReceiveMaps,
    /// Made of all subscriptions, and of what is published here.
    plans: Plans,
    published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    published_interactions: BTreeSet<InteractionClassHandle>,
    registration: Advisories<ObjectClassHandle>,
    interactions: Advisories<InteractionClassHandle>,
}

impl Declarations {
    /// Of `me`, which has just joined.
    pub(crate) fn new(me: FederateHandle, subscribed: Subscribed, switches: &Switches) -> Self {
        Declarations {
            me,
            subscribed,
            pace: Pace::default(),
            mine: Subscriptions::default(),
            maps: ReceiveMaps::default(),
            plans: Plans::default(),
            published: BTreeMap::new(),
            published_interactions: BTreeSet::new(),
            registration: Advisories::new(switches.object_class_relevance_advisory),
            interactions: Advisories::new(switches.interaction_relevance_advisory),
        }
    }

    /// All members' subscriptions as of the applied log.
    #[inline]
    pub(crate) fn subscribed(&self) -> &Subscribed {
        &self.subscribed
    }

    /// The same, to find receivers.
    #[inline]
    pub(crate) fn routes(&mut self) -> &mut Subscribed {
        &mut self.subscribed
    }

    /// All members' subscriptions, to be changed by an entry of this member's.
    pub(crate) fn applied_by(&mut self, sender: FederateHandle) -> &mut Subscriptions<LogIndex> {
        if sender == self.me {
            self.maps.clear();
        }
        self.subscribed.change()
    }

    /// Own subscriptions as of the last call.
    #[inline]
    pub(crate) fn mine(&self) -> &Subscriptions<RequestNumber> {
        &self.mine
    }

    /// The same, to be changed by a call.
    pub(crate) fn change_mine(&mut self) -> &mut Subscriptions<RequestNumber> {
        self.maps.clear();
        &mut self.mine
    }

    /// New ranges of a region of one's own, if it is subscribed with.
    pub(crate) fn commit_mine(&mut self, region: RegionHandle, ranges: &Ranges) {
        if self.mine.regions.is_used(region) {
            self.mine.regions.commit(region, ranges.clone());
        }
    }

    /// What is received as what, made of own subscriptions.
    #[inline]
    pub(crate) fn maps(&mut self) -> &mut ReceiveMaps {
        &mut self.maps
    }

    /// The same, to look at.
    #[inline]
    pub(crate) fn received(&self) -> &ReceiveMaps {
        &self.maps
    }

    /// The FDD has grown.
    pub(crate) fn model_changed(&mut self) {
        self.subscribed.model_changed();
        self.maps.clear();
    }

    /// A member has resigned.
    pub(crate) fn forget_federate(&mut self, federate: FederateHandle) {
        self.applied_by(federate).forget(federate);
        self.pace.forget_federate(federate);
    }

    /// An instance is gone.
    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        self.pace.forget_instance(instance);
    }

    /// What this federate publishes of an object class, if anything.
    pub(crate) fn published(&self, class: ObjectClassHandle) -> Option<&Vec<AttributeHandle>> {
        self.published.get(&class)
    }

    /// Whether this federate publishes an interaction class.
    #[inline]
    pub(crate) fn publishes_interaction(&self, class: InteractionClassHandle) -> bool {
        self.published_interactions.contains(&class)
    }
}
