//! Declaration management as a save has it.

use super::plans::Plans;
use super::rates::Pace;
use super::{Declarations, Publications, Subscribed, Subscriptions};
use crate::FederateHandle;
use crate::object::receive::ReceiveMaps;
use crate::saved::declaration as saved;

impl Publications {
    pub(crate) fn save(&self) -> saved::Publications {
        saved::Publications {
            objects: self.objects.clone(),
            interactions: self.interactions.clone(),
        }
    }

    pub(crate) fn restore(saved: saved::Publications) -> Self {
        Publications {
            objects: saved.objects,
            interactions: saved.interactions,
        }
    }
}

impl Declarations {
    pub(crate) fn save(&self) -> saved::Federate {
        saved::Federate {
            subscriptions: self.subscribed.save(),
            mine: self.mine.save(),
            published: self.published.clone(),
            published_interactions: self.published_interactions.clone(),
            registration: self.registration.clone(),
            interactions: self.interactions.clone(),
            pace: self.pace.save(),
        }
    }

    /// Of the federate with this handle.
    pub(crate) fn restore(me: FederateHandle, saved: saved::Federate) -> Self {
        Declarations {
            me,
            subscribed: Subscribed::restore(saved.subscriptions),
            pace: Pace::restore(saved.pace),
            mine: Subscriptions::restore(saved.mine),
            maps: ReceiveMaps::default(),
            plans: Plans::default(),
            published: saved.published,
            published_interactions: saved.published_interactions,
            registration: saved.registration,
            interactions: saved.interactions,
        }
    }
}
