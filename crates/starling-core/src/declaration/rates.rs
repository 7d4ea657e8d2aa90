//! Update rates, 1516.1-2010 §5.6: who subscribes to best-effort attributes at a rate gets no more
//! than that, and the rest is not sent to it. Reliable values are never dropped. See
//! `docs/decisions/update-rates.md`.

use super::{Declarations, Subscriptions};
use crate::message::LogIndex;
use crate::saved::declaration as saved;
use crate::{Federate, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Values};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;

/// For each slot of a class that a federate subscribes to: the shortest time between two updates
/// that are for it, in microseconds; 0 for all updates.
type Periods = BTreeMap<u32, u64>;

/// Periods of those federates that subscribe to anything of a class at a rate.
pub(crate) type Rated = Vec<(FederateHandle, Periods)>;

/// At whatever class it knows an instance, a federate gets as many updates as its fastest
/// subscription there asks for.
pub(super) fn rated(
    model: &ObjectModel,
    subscriptions: &Subscriptions<LogIndex>,
    class: ObjectClassHandle,
) -> Rated {
    let mut all: BTreeMap<FederateHandle, Periods> = BTreeMap::new();
    let Some(sent) = model
        .object_class(class)
        .filter(|_| subscriptions.has_rates())
    else {
        return Rated::default();
    };
    for c in model.object_lineage(class) {
        for (federate, attribute, rate) in subscriptions.rates_at(c.handle) {
            let Some(slot) = sent.slot(attribute) else {
                continue;
            };
            let rate = model.update_rate(rate).filter(|r| *r > 0.0);
            let period = rate.map_or(0, |r| (1e6 / r) as u64);
            let shortest = all.entry(federate).or_default().entry(slot);
            let shortest = shortest.or_insert(period);
            *shortest = period.min(*shortest);
        }
    }
    all.retain(|_, periods| periods.values().any(|p| *p > 0));
    all.into_iter().collect()
}

/// When what was last sent to whom, in microseconds of the federate's own time. That goes as the
/// clock does, but not from where the clock stands: a saved federate may go on where the clock is
/// another.
#[derive(Default)]
pub(super) struct Pace {
    now_us: u64,
    /// The clock's time at the last look.
    clock_us: Option<u64>,
    sent: BTreeMap<(ObjectInstanceHandle, FederateHandle, u32), u64>,
}

impl Pace {
    fn set_clock(&mut self, clock_us: u64) {
        let before = self.clock_us.replace(clock_us).unwrap_or(clock_us);
        self.now_us += clock_us.saturating_sub(before);
    }

    pub(super) fn save(&self) -> saved::Pace {
        saved::Pace {
            now_us: self.now_us,
            sent: self.sent.clone(),
        }
    }

    pub(super) fn restore(saved: saved::Pace) -> Self {
        Pace {
            now_us: saved.now_us,
            clock_us: None,
            sent: saved.sent,
        }
    }

    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        if !self.sent.is_empty() {
            self.sent.retain(|(i, ..), _| *i != instance);
        }
    }

    pub(crate) fn forget_federate(&mut self, federate: FederateHandle) {
        self.sent.retain(|(_, f, _), _| *f != federate);
    }
}

impl Federate {
    /// Whether somebody subscribes at an update rate, so that the time must be told.
    #[inline]
    pub fn wants_time(&self) -> bool {
        self.declarations.subscribed.has_rates()
    }

    /// The time for update rates, in microseconds since whenever; call before updating if
    /// [`Federate::wants_time`].
    pub fn set_time_us(&mut self, now: u64) {
        self.declarations.pace.set_clock(now);
    }

    /// Takes those receivers out for whom no value of a best-effort update is due; whether there
    /// were any.
    pub(crate) fn leave_out_early(
        &mut self,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        values: Values<'_>,
        to: &mut Vec<FederateHandle>,
    ) -> bool {
        let Declarations {
            subscribed, pace, ..
        } = &mut self.declarations;
        let rated = subscribed
            .routes
            .rated(&self.model, &subscribed.table, class);
        if rated.is_empty() {
            return false;
        }
        let now = pace.now_us;
        let before = to.len();
        to.retain(|receiver| {
            let Some((_, periods)) = rated.iter().find(|(f, _)| f == receiver) else {
                return true;
            };
            let wanted = || {
                let slots = values.iter().map(|(slot, _)| slot);
                slots.filter_map(|slot| Some((slot, *periods.get(&slot)?)))
            };
            let last = |slot| pace.sent.get(&(instance, *receiver, slot));
            let due = wanted().any(|(slot, period)| {
                period == 0 || last(slot).is_none_or(|t| now.saturating_sub(*t) >= period)
            });
            if due {
                for (slot, _) in wanted().filter(|(_, period)| *period > 0) {
                    pace.sent.insert((instance, *receiver, slot), now);
                }
            }
            due
        });
        self.counters.reduced += (before - to.len()) as u64;
        to.len() < before
    }
}
