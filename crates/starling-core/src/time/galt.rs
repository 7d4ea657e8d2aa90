//! GALT, LITS and grants as pure arithmetic: what the executive decides for all federates, and what
//! each federate knows of itself.
//!
//! The closed form: the greatest lower bound of what others may send is the least bound of all
//! regulating federates but for the one that has the least; for that one, others may react to it,
//! which those do that wait for their next message. The federates stand in the orders that are asked
//! for ([`super::orders`]), so that a grant takes no look at all of them, however they depend on each
//! other.
//!
//! Invariants:
//! - a federate is granted a time only when no message can come to it any more that belongs before;
//! - a federate changes by [`Times::change`] only, but for what no order knows;
//! - GALT falls only when regulation is enabled, and then never below what was granted, nor to what
//!   was handed over for a save.
//!
//! The rule of a save at a time S: **who is through S stays through**. A constrained federate is
//! through when what it waits for lies beyond S and nothing up to S can come to it any more. It is
//! held there, is handed over what has come up to S ([`Times::release`]), and from then on counts as
//! having come to S, with all messages there: who begins to regulate keeps to that, and so nothing up
//! to S comes to it, nothing up to S is granted to it, and who is held sends nothing up to S. Hence
//! nobody waits for one that is held, and all who advance are through at last.

use super::orders::{Orders, Place, Waits};
use super::places::Places;
use super::value::{Bound, LogicalTime, LogicalTimeInterval, TimeType};
use crate::FederateHandle;
use std::collections::BTreeMap;

/// The services that ask for an advance of logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Time Advance Request, §8.8.
    Time,
    /// Time Advance Request Available, §8.9.
    TimeAvailable,
    /// Next Message Request, §8.10.
    NextMessage,
    /// Next Message Request Available, §8.11.
    NextMessageAvailable,
    /// Flush Queue Request, §8.12.
    FlushQueue,
}

impl Advance {
    /// The service by its name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Advance::Time => "Time Advance Request",
            Advance::TimeAvailable => "Time Advance Request Available",
            Advance::NextMessage => "Next Message Request",
            Advance::NextMessageAvailable => "Next Message Request Available",
            Advance::FlushQueue => "Flush Queue Request",
        }
    }

    /// Whether all messages at the time that is granted have come by then (§8.8, §8.10).
    fn is_exclusive(self) -> bool {
        matches!(self, Advance::Time | Advance::NextMessage)
    }

    /// Whether it ends with the next message, if that comes before.
    pub(super) fn is_next_message(self) -> bool {
        matches!(self, Advance::NextMessage | Advance::NextMessageAvailable)
    }

    /// Whether messages may end it before the time asked for, so that a federate which wants none of them asks on.
    pub(super) fn may_pass_over(self) -> bool {
        self.is_next_message() || self == Advance::FlushQueue
    }
}

/// A message in time-stamp order, by what orders it: its time stamp, then as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamped {
    pub(crate) time: LogicalTime,
    /// Its place among all messages of the federation execution.
    pub(crate) sequence: u64,
}

/// A federate's own time: what says which time stamps it may still use.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(super) time: LogicalTime,
    /// Its last advance while regulating was one of §8.8 or §8.10: with no lookahead it may not
    /// use the time itself any more.
    pub(super) exclusive: bool,
    /// Of a regulating federate, as asked for last.
    pub(super) lookahead: Option<LogicalTimeInterval>,
    /// What it has promised by an earlier, longer lookahead, or has to keep to for others.
    pub(super) floor: Option<Bound>,
    /// What lookahead was in effect when it was changed last, and at which time that was: the floor does not say how
    /// far a promise reaches beyond the last time.
    pub(super) shrinks: Option<(LogicalTimeInterval, LogicalTime)>,
    pub(super) advance: Option<(Advance, LogicalTime)>,
}

impl Clock {
    pub(crate) fn new(of: TimeType) -> Self {
        Clock {
            time: of.initial(),
            exclusive: false,
            lookahead: None,
            floor: None,
            shrinks: None,
            advance: None,
        }
    }

    /// The logical time.
    pub(crate) fn time(&self) -> LogicalTime {
        self.time
    }

    pub(crate) fn is_regulating(&self) -> bool {
        self.lookahead.is_some()
    }

    /// What was asked for and is not granted yet.
    pub(crate) fn advance(&self) -> Option<(Advance, LogicalTime)> {
        self.advance
    }

    /// The actual lookahead of a regulating federate: one that was shortened shrinks only as time
    /// advances (§8.19).
    pub(crate) fn lookahead(&self) -> Option<LogicalTimeInterval> {
        let asked = self.lookahead?;
        let reached = Bound::after(self.time, asked, true);
        Some(match self.floor.filter(|floor| *floor > reached) {
            Some(Bound::At { time, .. }) => time.since(self.time),
            Some(Bound::Never) => match self.shrinks {
                Some((lookahead, at)) => lookahead.less(self.time.since(at)),
                None => LogicalTimeInterval::longest(self.time.time_type()),
            },
            None => asked,
        })
    }

    /// The time stamps that it may use; none if it is not regulating. While it advances those are
    /// counted from the time asked for.
    #[inline]
    pub(crate) fn bound(&self) -> Option<Bound> {
        match self.advance {
            Some((kind, to)) => self.bound_from(to, kind.is_exclusive()),
            None => self.promised(),
        }
    }

    /// The time stamps that it may use at the time it has been granted; none if it is not
    /// regulating. What it asks for may be granted as less.
    #[inline]
    pub(crate) fn promised(&self) -> Option<Bound> {
        self.bound_from(self.time, self.exclusive)
    }

    #[inline]
    fn bound_from(&self, time: LogicalTime, exclusive: bool) -> Option<Bound> {
        let bound = Bound::after(time, self.lookahead?, exclusive);
        Some(self.floor.map_or(bound, |floor| floor.max(bound)))
    }

    /// Time-regulating from now on, at this time; with `strict`, the time stamp one lookahead after
    /// it is too early.
    pub(crate) fn regulate(
        &mut self,
        lookahead: LogicalTimeInterval,
        time: LogicalTime,
        strict: bool,
    ) {
        self.promise(lookahead, time, strict);
        self.time = time;
    }

    /// What [`Clock::regulate`] does but for the time itself, which comes later.
    fn promise(&mut self, lookahead: LogicalTimeInterval, time: LogicalTime, strict: bool) {
        self.exclusive = false;
        self.lookahead = Some(lookahead);
        let bound = Bound::after(time, lookahead, false);
        self.floor = strict.then_some(match bound {
            Bound::At { time, .. } => Bound::At { time, strict },
            Bound::Never => Bound::Never,
        });
    }

    pub(crate) fn stop_regulating(&mut self) {
        self.lookahead = None;
        self.floor = None;
        self.shrinks = None;
    }

    /// Asks for an advance.
    pub(crate) fn ask(&mut self, kind: Advance, to: LogicalTime) {
        self.keep_promise();
        self.advance = Some((kind, to));
    }

    pub(crate) fn modify_lookahead(&mut self, lookahead: LogicalTimeInterval) {
        self.shrinks = self.lookahead().map(|in_effect| (in_effect, self.time));
        self.keep_promise();
        self.lookahead = Some(lookahead);
    }

    fn keep_promise(&mut self) {
        self.floor = self.promised();
    }

    /// It is through the time of a save, and sends nothing up to there any more. What else it has
    /// asked for says so anyhow, but a Flush Queue Request may be granted less. One up to that time at most has crossed the
    /// instruction: its federate is not constrained, so that nobody counts on it.
    pub(crate) fn pass(&mut self, time: LogicalTime) {
        if matches!(self.advance, Some((Advance::FlushQueue, to)) if to > time) {
            self.floor = self.bound_from(time, true);
        }
    }

    /// The advance is granted, to this time.
    pub(crate) fn grant(&mut self, time: LogicalTime) {
        if let Some((kind, _)) = self.advance.take() {
            self.exclusive = kind.is_exclusive();
        }
        self.time = time;
    }
}

/// A federate's time as the executive knows it.
pub(super) struct Federate {
    pub(super) clock: Clock,
    pub(super) constrained: bool,
    /// Its last advance while constrained was one of §8.8 or §8.10: all messages at its time have
    /// come.
    pub(super) over: bool,
    /// Regulation was asked for, and waits until it may be at this time; it counts as regulating.
    pub(super) enabling: Option<LogicalTime>,
    /// Constraint was asked for.
    pub(super) constraining: bool,
    /// For a save all messages up to this time were handed over, before the grant that it waits for.
    pub(super) released: Option<LogicalTime>,
    /// It has passed over the grant of its clock's time, by which its promises and those to it go, and is still at
    /// this one.
    pub(super) still_at: Option<LogicalTime>,
    /// Messages sent to it in time-stamp order and not granted: the place of each among all.
    pub(super) queue: Places,
    pub(super) place: Place,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Time Advance Grant, §8.13, behind all messages at or below the time; with `flush`, behind
    /// all there are.
    Granted { time: LogicalTime, flush: bool },
    /// Time Regulation Enabled, §8.3; with `strict` as of [`Clock::regulate`].
    Regulating { time: LogicalTime, strict: bool },
    /// Time Constrained Enabled, §8.6.
    Constrained,
}

/// What has become of a message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// It may lead to a grant.
    pub(crate) may_grant: bool,
    /// As many wait for that federate's advance now.
    pub(crate) queued: usize,
}

/// What a federate waits for, for `starling why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// It may come to this time once nothing more can come to it that belongs before.
    pub(crate) at: LogicalTime,
    /// Not before the federation execution has been saved or restored.
    pub(crate) held: bool,
    /// Who may still send what belongs before, and from when on: the least bound first. That one
    /// waits for nobody, but where it is held.
    pub(crate) behind: Vec<(FederateHandle, Bound)>,
}

/// What is not granted for now, for the sake of a save or a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    /// Times beyond this one.
    Beyond(LogicalTime),
    All,
}

/// The time of all federates of a federation execution.
pub(crate) struct Times {
    of: TimeType,
    pub(super) federates: BTreeMap<FederateHandle, Federate>,
    orders: Orders,
    latest: Latest,
    /// The one of whom [`Times::waits_for_one`] was true last.
    behind: Option<FederateHandle>,
    hold: Hold,
}

/// Up to where a constrained federate has come, and whether with all messages at that time.
type Come = (LogicalTime, bool);

/// The constrained federate that has come furthest.
enum Latest {
    Known(Option<(Come, FederateHandle)>),
    /// The one that had has gone back, or is none any more.
    Unknown,
}

impl Federate {
    /// What it may still send if nothing more comes to it, while it regulates.
    fn base(&self) -> Option<Bound> {
        if let Some(at) = self.enabling {
            return self.clock.bound_from(at, false);
        }
        match self.clock.advance {
            Some((kind, to)) if kind.is_next_message() => {
                let next = self.queue.first().map_or(to, |m| m.min(to));
                self.clock.bound_from(next, kind.is_exclusive())
            }
            // It may be granted less.
            Some((Advance::FlushQueue, _)) if self.constrained => self.clock.promised(),
            _ => self.clock.bound(),
        }
    }

    /// Whether it may send sooner because a message comes, as it waits for one: with which lookahead, and whether all
    /// of the message's time have come by then.
    fn relays(&self) -> Option<(LogicalTimeInterval, bool)> {
        let (kind, _) = self.clock.advance?;
        let reacts = kind.is_next_message() && self.constrained;
        let lookahead = self.clock.lookahead.filter(|_| reacts)?;
        Some((lookahead, kind.is_exclusive()))
    }

    /// What it may send sooner because a message comes within this bound.
    fn relay(&self, bound: Bound) -> Option<Bound> {
        #[cfg(test)]
        super::galt_tests::looked();
        let (lookahead, exclusive) = self.relays()?;
        let sooner = bound.relayed(lookahead, exclusive);
        let floor = self.clock.floor;
        Some(floor.map_or(sooner, |f| f.max(sooner)))
    }
}

impl Times {
    pub(crate) fn new(of: TimeType) -> Self {
        Times {
            of,
            federates: BTreeMap::new(),
            orders: Orders::default(),
            latest: Latest::Known(None),
            behind: None,
            hold: Hold::Nothing,
        }
    }

    /// What is held from now on.
    pub(crate) fn set_hold(&mut self, hold: Hold) {
        self.hold = hold;
    }

    /// What is held.
    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// A constrained federate that is beyond a time already, or has been handed over what is.
    pub(crate) fn has_passed(&self, time: LogicalTime) -> Option<FederateHandle> {
        let mut all = self.federates.iter();
        let beyond = |f: &Federate| f.constrained && Some(f.time()).max(f.released) > Some(time);
        all.find(|(_, f)| beyond(f)).map(|(federate, _)| *federate)
    }

    /// Whether a constrained federate waits for a time beyond this one, and has, with what it has
    /// been granted and what waits for it, all messages up to there; or has come to a time beyond it before it was
    /// constrained; or to the last time there is, where nothing more can come to it, and nothing more of it to others.
    pub(crate) fn is_through(&self, federate: FederateHandle, time: LogicalTime) -> bool {
        let Some(known) = self.federates.get(&federate) else {
            return false;
        };
        let (to, granted_before) = match (known.enabling, known.clock.advance) {
            (Some(at), _) => (at, false),
            (None, Some((kind, to))) => (to, kind.is_next_message() || kind == Advance::FlushQueue),
            // What is up to a time that it has passed is none of its messages; beyond the last one nobody can wait.
            (None, None) => {
                let now = known.clock.time;
                let is_over = |bound: Bound| bound.lets_pass(now, true);
                let at_end = now == self.of.last()
                    && known.clock.bound().is_none_or(is_over)
                    && is_over(self.galt(federate));
                return known.constrained && (now > time || (now == time && at_end));
            }
        };
        let waits = known.queue.first().is_some_and(|m| m <= time);
        to > time && !(granted_before && waits) && self.galt(federate).lets_pass(time, true)
    }

    /// Whether it is worth a look who is through a time: false where nobody is, or, if none are constrained, not all
    /// have come to it.
    pub(crate) fn may_be_through(&mut self, time: LogicalTime) -> bool {
        match self.latest() {
            Some(((latest, _), _)) if latest <= time => {
                // To all but one comes what has the least bound.
                self.least().is_none_or(|(least, of)| {
                    least.lets_pass(time, true) || self.is_through(of, time)
                })
            }
            // Somebody may be beyond it.
            Some(_) => true,
            None => !self.waits_for_one(time),
        }
    }

    /// Whether a federate has not come to a time. Each that has is passed once, as a rule: the next look begins where
    /// this one has ended.
    fn waits_for_one(&mut self, time: LogicalTime) -> bool {
        let from = self.behind.unwrap_or(FederateHandle(0));
        let all = self
            .federates
            .range(from..)
            .chain(self.federates.range(..from));
        self.behind = all.map(|(handle, _)| *handle).find(|federate| {
            #[cfg(test)]
            super::galt_tests::looked();
            !self.has_come_to(*federate, time)
        });
        self.behind.is_some()
    }

    /// Whether a federate that is not constrained sends nothing up to a time any more, as far as it
    /// goes by its time.
    pub(crate) fn has_come_to(&self, federate: FederateHandle, time: LogicalTime) -> bool {
        self.federates.get(&federate).is_none_or(|f| {
            let asked = f.clock.advance.map(|(_, to)| to).or(f.enabling);
            let beyond = asked.is_some_and(|to| to > time);
            !f.clock.is_regulating() || f.clock.time >= time || beyond
        })
    }

    /// Messages up to a time are handed over to a federate that is through it, without a grant.
    pub(crate) fn release(&mut self, federate: FederateHandle, time: LogicalTime) {
        self.change(federate, |known| {
            known.queue.take_up_to(time);
            known.released = Some(time).filter(|_| known.constrained);
            known.clock.pass(time);
        });
    }

    /// The type of its logical times.
    pub(crate) fn time_type(&self) -> TimeType {
        self.of
    }

    pub(crate) fn join(&mut self, federate: FederateHandle) {
        let new = Federate {
            clock: Clock::new(self.of),
            constrained: false,
            over: false,
            enabling: None,
            constraining: false,
            released: None,
            still_at: None,
            queue: Places::default(),
            place: Place::default(),
        };
        self.federates.insert(federate, new);
        self.change(federate, |_| ());
    }

    pub(crate) fn leave(&mut self, federate: FederateHandle) {
        if let Some(known) = self.federates.remove(&federate) {
            self.orders.put(federate, known.place, Place::default());
            self.latest.put(federate, None);
        }
    }

    /// All federates, in the order of their handles.
    pub(crate) fn federates(&self) -> impl Iterator<Item = FederateHandle> {
        self.federates.keys().copied()
    }

    /// A federate's clock.
    pub(crate) fn clock(&self, federate: FederateHandle) -> Option<&Clock> {
        Some(&self.federates.get(&federate)?.clock)
    }

    pub(crate) fn is_constrained(&self, federate: FederateHandle) -> bool {
        self.federates.get(&federate).is_some_and(|f| f.constrained)
    }

    /// Whether it waits for regulation.
    pub(crate) fn is_enabling(&self, federate: FederateHandle) -> bool {
        let known = self.federates.get(&federate);
        known.is_some_and(|f| f.enabling.is_some())
    }

    /// Whether it waits for anything.
    pub(crate) fn is_waiting(&self, federate: FederateHandle) -> bool {
        self.federates
            .get(&federate)
            .is_some_and(Federate::is_waiting)
    }

    /// The time that a federate has asked for, or at which its regulation is to begin.
    pub(crate) fn asks_for(&self, federate: FederateHandle) -> Option<LogicalTime> {
        let known = self.federates.get(&federate)?;
        known.enabling.or(known.clock.advance.map(|(_, to)| to))
    }

    /// The actual lookahead of a federate that is time-regulating; none while it waits for that.
    pub(crate) fn lookahead(&self, federate: FederateHandle) -> Option<LogicalTimeInterval> {
        let known = self.federates.get(&federate);
        let regulating = known.filter(|f| f.enabling.is_none());
        regulating.and_then(|f| f.clock.lookahead())
    }

    /// Whether a federate has asked to be constrained and is not yet.
    pub(crate) fn is_constraining(&self, federate: FederateHandle) -> bool {
        let known = self.federates.get(&federate);
        known.is_some_and(|f| f.constraining)
    }

    /// What a regulating federate may send now, and what it may whatever it is granted; none if it
    /// is not regulating.
    #[inline]
    pub(crate) fn bounds(&self, federate: FederateHandle) -> (Option<Bound>, Option<Bound>) {
        let Some(known) = self.federates.get(&federate) else {
            return (None, None);
        };
        let promised = known.clock.promised();
        let bound = match known.clock.advance {
            Some(_) => known.clock.bound(),
            None => promised,
        };
        (bound.filter(|_| known.enabling.is_none()), promised)
    }

    /// Changes a federate, and puts it where it stands then.
    pub(super) fn change<T>(
        &mut self,
        federate: FederateHandle,
        change: impl FnOnce(&mut Federate) -> T,
    ) -> Option<T> {
        let known = self.federates.get_mut(&federate)?;
        let changed = change(known);
        let place = known.place();
        let before = std::mem::replace(&mut known.place, place);
        let come = known.constrained.then(|| known.come());
        self.orders.put(federate, before, place);
        self.latest.put(federate, come);
        Some(changed)
    }

    /// The least bound of all regulating federates, and whose it is.
    fn least(&self) -> Option<(Bound, FederateHandle)> {
        self.orders.bases.first().copied()
    }

    /// The greatest available logical time of a federate, as a bound of what can come to it.
    pub(crate) fn galt(&self, federate: FederateHandle) -> Bound {
        match self.least() {
            None => Bound::Never,
            Some((least, of)) if of == federate => self.galt_of_least(least, of),
            Some((least, _)) => least,
        }
    }

    /// The same for the one that has the least bound itself: what others send, who may react to it.
    fn galt_of_least(&self, least: Bound, of: FederateHandle) -> Bound {
        let second = self.orders.bases.iter().nth(1);
        let mut soonest = second.map_or(Bound::Never, |(bound, _)| *bound);
        let relayed_by = |federate: &FederateHandle, soonest: Bound| {
            let relays = self.federates.get(federate).filter(|_| *federate != of);
            let bound = relays.and_then(|f| f.relay(least));
            bound.map_or(soonest, |bound| bound.min(soonest))
        };
        for exclusive in [false, true] {
            for (lookahead, federate) in &self.orders.relays[usize::from(exclusive)] {
                // Nor does anyone who comes behind.
                if least.relayed(*lookahead, exclusive) >= soonest {
                    break;
                }
                soonest = relayed_by(federate, soonest);
            }
            // Who keeps to a longer lookahead relays nothing before either bound: the order in which nobody
            // is left first says so.
            let kept = &self.orders.kept[usize::from(exclusive)];
            for ((lookahead, one), (floor, other)) in kept.lookaheads.iter().zip(&kept.floors) {
                if least.relayed(*lookahead, exclusive) >= soonest || *floor >= soonest {
                    break;
                }
                for federate in [one, other] {
                    soonest = relayed_by(federate, soonest);
                }
            }
        }
        soonest
    }

    /// Up to where the constrained federate has come that has come furthest of all others.
    fn latest_but(&mut self, federate: FederateHandle) -> Option<Come> {
        let of_others = match self.latest() {
            Some((_, of)) if of == federate => self.furthest_but(Some(federate)),
            latest => latest,
        };
        of_others.map(|(come, _)| come)
    }

    /// The constrained federate that has come furthest, and up to where.
    fn latest(&mut self) -> Option<(Come, FederateHandle)> {
        let latest = match self.latest {
            Latest::Known(latest) => latest,
            Latest::Unknown => self.furthest_but(None),
        };
        self.latest = Latest::Known(latest);
        latest
    }

    fn furthest_but(&self, but: Option<FederateHandle>) -> Option<(Come, FederateHandle)> {
        let all = self.federates.iter();
        let others = all.filter(|(h, f)| Some(**h) != but && f.constrained);
        let come = others.map(|(h, f)| {
            #[cfg(test)]
            super::galt_tests::looked();
            (f.come(), *h)
        });
        come.max()
    }

    /// The least incoming time stamp: of what has come or can come (§8.18).
    pub(crate) fn lits(&self, federate: FederateHandle) -> Option<LogicalTime> {
        let known = self.federates.get(&federate)?;
        let next = known.queue.first();
        self.galt(federate).time().into_iter().chain(next).min()
    }

    /// Who has the least bound of those that a federate waits for.
    pub(crate) fn waits_for(&self, federate: FederateHandle) -> Option<FederateHandle> {
        let known = self.federates.get(&federate)?;
        let (at, exclusive) = known.wants()?;
        match self.least()? {
            // What comes to it is what others send who may react to it.
            (_, of) if of == federate => self.wait(federate)?.behind.first().map(|b| b.0),
            (least, of) => {
                let waits = known.is_bound() && !least.lets_pass(at, exclusive);
                waits.then_some(of)
            }
        }
    }

    /// What a federate waits for; none if it waits for nothing.
    pub(crate) fn wait(&self, federate: FederateHandle) -> Option<Wait> {
        let known = self.federates.get(&federate)?;
        let (at, exclusive) = known.wants()?;
        let least = self.least().filter(|(_, of)| *of == federate);
        let others = self.federates.iter().filter(|(h, _)| **h != federate);
        let bounds = others.filter_map(|(handle, f)| {
            #[cfg(test)]
            super::galt_tests::looked();
            let base = f.base()?;
            let sooner = least.and_then(|(least, _)| f.relay(least));
            Some((*handle, sooner.map_or(base, |s| s.min(base))))
        });
        let mut behind: Vec<_> = if known.is_bound() {
            bounds
                .filter(|(_, b)| !b.lets_pass(at, exclusive))
                .collect()
        } else {
            Vec::new()
        };
        behind.sort_by_key(|(_, bound)| *bound);
        let held = self.holds(known, at);
        Some(Wait { at, held, behind })
    }

    /// Whether a save or a restore holds what a federate asks for.
    pub(crate) fn is_held(&self, federate: FederateHandle) -> bool {
        let known = self.federates.get(&federate);
        known.is_some_and(|f| f.wants().is_some_and(|(at, _)| self.holds(f, at)))
    }

    fn holds(&self, known: &Federate, at: LogicalTime) -> bool {
        match self.hold {
            Hold::Nothing => false,
            Hold::Beyond(time) => known.is_held(at, Some(time)),
            Hold::All => true,
        }
    }

    /// Messages that wait for a federate's advance.
    pub(crate) fn queued(&self, federate: FederateHandle) -> usize {
        self.federates.get(&federate).map_or(0, |f| f.queue.len())
    }

    /// Enable Time Regulation, §8.2: the least time at or after the federate's own of which no time
    /// stamp that it may use then is over for a constrained federate.
    pub(crate) fn enable_regulation(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) {
        let Some(now) = self.clock(federate).map(Clock::time) else {
            return;
        };
        // Who keeps to the one that has come furthest keeps to all.
        let (mut time, mut last) = (now, None);
        if let Some((over, exclusive)) = self.latest_but(federate) {
            time = LogicalTime::least_reaching(now, over, lookahead, exclusive);
            last = Some(Bound::At {
                time: over,
                strict: exclusive,
            });
        }
        let strict = last > Some(Bound::after(time, lookahead, false));
        self.change(federate, |known| {
            known.clock.promise(lookahead, time, strict);
            known.enabling = Some(time);
        });
    }

    pub(crate) fn disable_regulation(&mut self, federate: FederateHandle) {
        self.change(federate, |known| {
            known.clock.stop_regulating();
            known.enabling = None;
        });
    }

    /// Enable Time Constrained, §8.5.
    pub(crate) fn enable_constrained(&mut self, federate: FederateHandle) {
        self.change(federate, |known| known.constraining = true);
    }

    /// Disable Time Constrained, §8.7: what waits for the federate is its own now.
    pub(crate) fn disable_constrained(&mut self, federate: FederateHandle) {
        self.change(federate, |known| {
            known.constrained = false;
            known.released = None;
            known.queue.clear();
        });
    }

    /// Modify Lookahead, §8.19.
    pub(crate) fn modify_lookahead(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) {
        self.change(federate, |known| known.clock.modify_lookahead(lookahead));
    }

    /// An advance is asked for.
    pub(crate) fn ask(&mut self, federate: FederateHandle, kind: Advance, to: LogicalTime) {
        self.change(federate, |known| known.clock.ask(kind, to));
    }

    /// A federate has passed over the grant of its time, and is still at this one; what it has asked for it asks for
    /// still.
    pub(crate) fn ask_on(
        &mut self,
        federate: FederateHandle,
        (kind, to): (Advance, LogicalTime),
        at: LogicalTime,
    ) {
        self.change(federate, |known| {
            known.clock.ask(kind, to);
            known.still_at = Some(at);
        });
    }

    /// The logical time of a federate.
    pub(crate) fn time(&self, federate: FederateHandle) -> Option<LogicalTime> {
        self.federates.get(&federate).map(Federate::time)
    }

    /// So many messages for a federate, each in its place behind the one before: if that is constrained,
    /// they wait for its advance.
    #[inline]
    pub(crate) fn push(
        &mut self,
        federate: FederateHandle,
        message: Stamped,
        messages: u64,
    ) -> Option<Pushed> {
        let known = self.federates.get_mut(&federate)?;
        if !known.constrained {
            return None;
        }
        known.queue.push(message.time, message.sequence, messages);
        let queued = known.queue.len();
        let next = known.waits_for_message();
        let may_grant = next.is_some_and(|to| message.time < to);
        if next.is_some() {
            self.change(federate, |_| ());
        }
        Some(Pushed { may_grant, queued })
    }

    /// Takes a message back; whether it still waited.
    pub(crate) fn retract(&mut self, federate: FederateHandle, message: Stamped) -> bool {
        let taken = self.change(federate, |f| f.queue.take(message.time, message.sequence));
        taken == Some(true)
    }

    /// What can be granted or enabled next, now done. Call until there is nothing.
    pub(crate) fn settle(&mut self) -> Option<(FederateHandle, Outcome)> {
        let most = match self.hold {
            Hold::Nothing => None,
            Hold::Beyond(time) => Some(time),
            Hold::All => return None,
        };
        let held = |time: LogicalTime| most.is_some_and(|most| time > most);
        let least = self.least();
        let bound = least.map_or(Bound::Never, |(bound, _)| bound);
        let free = self.orders.free.iter();
        let free = free.take_while(|(time, _)| !held(*time)).map(|(_, f)| *f);
        let constraints = self.orders.constraints.iter();
        let constraints = constraints.take_while(|(wants, _)| *wants <= bound);
        let times = self.orders.times.iter().take_while(|(wants, _)| {
            *wants <= bound && wants.time().is_some_and(|time| !held(time))
        });
        let bound_ones = constraints.chain(times).map(|(_, f)| *f);
        // To the one with the least bound less can come.
        let least = least.map(|(_, of)| of);
        let mut candidates = free.chain(bound_ones).chain(least);
        let (federate, outcome) = candidates.find_map(|federate| {
            let known = self.federates.get(&federate)?;
            Some((federate, known.outcome(self.galt(federate), most)?))
        })?;
        self.change(federate, |known| known.settle(outcome));
        Some((federate, outcome))
    }
}

impl Latest {
    /// A federate has come there; none: it is not constrained.
    #[inline]
    fn put(&mut self, federate: FederateHandle, come: Option<Come>) {
        let Latest::Known(latest) = self else {
            return;
        };
        let before = latest.map(|(come, _)| come);
        if come > before {
            *latest = come.map(|come| (come, federate));
        } else if come < before && latest.is_some_and(|(_, of)| of == federate) {
            *self = Latest::Unknown;
        }
    }
}

impl Federate {
    /// Its logical time.
    fn time(&self) -> LogicalTime {
        self.still_at.unwrap_or(self.clock.time)
    }

    /// Up to where a constrained federate has all messages, and whether with those at that time.
    fn come(&self) -> (LogicalTime, bool) {
        let granted = (self.clock.time, self.over);
        self.released
            .map_or(granted, |released| granted.max((released, true)))
    }

    /// Whether it may not come to a time, since nothing beyond `most` is granted: nor is anything to
    /// one that has been handed over all up to there.
    fn is_held(&self, time: LogicalTime, most: Option<LogicalTime>) -> bool {
        most.is_some_and(|most| time > most || self.released == Some(most))
    }

    fn is_waiting(&self) -> bool {
        self.clock.advance.is_some() || self.enabling.is_some() || self.constraining
    }

    /// The time that it waits for, and whether all messages at that time must have come, too.
    fn wants(&self) -> Option<(LogicalTime, bool)> {
        if let Some(time) = self.enabling {
            return Some((time, false));
        }
        if self.constraining {
            return Some((self.clock.time, false));
        }
        let (kind, to) = self.clock.advance?;
        let next = self.queue.first().filter(|_| kind.is_next_message());
        Some((next.map_or(to, |m| m.min(to)), kind.is_exclusive()))
    }

    /// Whether what it waits for depends on what others may send.
    fn is_bound(&self) -> bool {
        let flushes = matches!(self.clock.advance, Some((Advance::FlushQueue, _)));
        self.constraining || self.constrained && !flushes
    }

    /// The time asked for by one that waits for its next message.
    fn waits_for_message(&self) -> Option<LogicalTime> {
        let (kind, to) = self.clock.advance?;
        kind.is_next_message().then_some(to)
    }

    /// Where it stands now.
    fn place(&self) -> Place {
        #[cfg(test)]
        super::galt_tests::looked();
        let relays = self.relays();
        let kept = relays.and_then(|(lookahead, _)| {
            let reached = Bound::after(self.clock.time, lookahead, true);
            self.clock.floor.filter(|floor| *floor > reached)
        });
        Place {
            base: self.base(),
            relays,
            kept,
            waits: self.waits(),
        }
    }

    fn waits(&self) -> Option<Waits> {
        let (time, exclusive) = self.wants()?;
        let within = Bound::At {
            time,
            strict: exclusive,
        };
        Some(match self.clock.advance {
            Some((Advance::FlushQueue, _)) => Waits::Free(self.clock.time),
            _ if self.constrained => Waits::Time(within),
            // For both: where regulation is held, constraint is not.
            _ if self.constraining && self.enabling.is_some() => {
                Waits::Free(time.time_type().least())
            }
            _ if self.constraining => Waits::Constraint(within),
            _ => Waits::Free(time),
        })
    }

    /// What becomes of what it waits for; none for now. `most`: nothing beyond it is granted.
    fn outcome(&self, galt: Bound, most: Option<LogicalTime>) -> Option<Outcome> {
        #[cfg(test)]
        super::galt_tests::looked();
        let held = |time| self.is_held(time, most);
        if let Some(time) = self.enabling
            && (!self.constrained || galt.lets_pass(time, false))
            && !held(time)
        {
            let strict = self.clock.floor.is_some();
            return Some(Outcome::Regulating { time, strict });
        }
        if self.constraining && galt.lets_pass(self.clock.time, false) {
            return Some(Outcome::Constrained);
        }
        let (kind, to) = self.clock.advance?;
        let time = match kind {
            _ if !self.constrained => to,
            Advance::FlushQueue => {
                let all = [Some(to), galt.time(), self.queue.first()];
                all.into_iter().flatten().min()?.max(self.clock.time)
            }
            _ => {
                let (time, exclusive) = self.wants()?;
                galt.lets_pass(time, exclusive).then_some(time)?
            }
        };
        let flush = kind == Advance::FlushQueue;
        (!held(time)).then_some(Outcome::Granted { time, flush })
    }

    /// What it waited for has come.
    fn settle(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Regulating { time, .. } => {
                (self.enabling, self.released) = (None, None);
                // If it has moved, then as by Time Advance Request Available.
                self.over &= self.clock.time == time;
                self.clock.time = time;
                self.queue.take_up_to(time);
            }
            Outcome::Constrained => {
                (self.constraining, self.constrained) = (false, true);
                // It may have advanced without waiting for anybody.
                self.over = false;
            }
            Outcome::Granted { time, flush } => {
                let asked = self.clock.advance;
                self.over = asked.is_some_and(|(kind, _)| kind.is_exclusive());
                (self.released, self.still_at) = (None, None);
                self.clock.grant(time);
                if flush {
                    self.queue.clear()
                } else {
                    self.queue.take_up_to(time)
                }
            }
        }
    }
}
