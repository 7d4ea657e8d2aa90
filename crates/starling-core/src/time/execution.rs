//! Time management at the executive: grants, and what becomes of messages in time-stamp order.
//!
//! Invariants:
//! - what [`Times`] has queued for a constrained federate is what stands in its stream, not
//!   granted and not retracted;
//! - an instance that is deleted at a time is there for all who have not come to that time, and
//!   until the deletion can no longer be retracted.

use super::deletions::{Deletion, Deletions};
use super::galt::{Advance, Hold, Outcome, Stamped, Times};
use super::retractable::{Retractable, SentMessage, sent_bytes};
use super::value::{Bound, LogicalTime, TimeType};
use crate::execution::Execution;
use crate::kept::require_room;
use crate::message::object::Entry;
use crate::message::time::{Notice, Request};
use crate::message::{Cause, LogIndex, Stamp, TimeRequest, TimeStatus};
use crate::{
    FederateHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    ProtocolError, Services,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

/// The time of one federation execution.
pub(crate) struct ExecutionTime {
    pub(super) times: Times,
    /// Messages in time-stamp order so far.
    pub(super) messages: u64,
    pub(super) retractable: Retractable,
    pub(super) deletions: Deletions,
    /// Something has come that may lead to a grant.
    pub(super) unsettled: bool,
    /// How many messages may wait for one federate's advance.
    pub(super) messages_max: usize,
    /// Those for whom there are more.
    pub(super) overdue: BTreeMap<FederateHandle, &'static str>,
    /// Since when each waits or does not, for people; no grant depends on it.
    pub(super) since: BTreeMap<FederateHandle, Since>,
}

/// The last turn of a federate's time, by what the executive was told of the time of day.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Since {
    /// Since the executive began.
    pub(super) when: Duration,
    /// How often it has asked for something or got it.
    pub(super) turns: u64,
    /// The log names this wait already.
    pub(super) noted: bool,
    /// `when` and `noted` of the turn before.
    before: (Duration, bool),
}

impl From<Duration> for Since {
    /// The first turn.
    fn from(now: Duration) -> Self {
        Since {
            when: now,
            turns: 1,
            noted: false,
            before: (now, false),
        }
    }
}

/// Messages of one sender in time-stamp order whose numbers follow each other, with one time stamp, to the
/// same federates.
pub(crate) struct StampedRun {
    time: LogicalTime,
    numbers: Range<u64>,
    /// Its numbers are below this one.
    end: u64,
    may_be_retracted: bool,
}

impl StampedRun {
    /// Takes a message that belongs to it; whether it does.
    #[inline]
    pub(crate) fn admit(&mut self, stamp: Stamp) -> bool {
        let belongs = stamp.retraction == Some(self.numbers.end)
            && stamp.time == self.time
            && self.numbers.end < self.end;
        self.numbers.end += u64::from(belongs);
        belongs
    }
}

/// About what the executive keeps of each message that waits at a time of its own, in bytes; of
/// others it is less.
const MESSAGE_BYTES: usize = 128;

impl ExecutionTime {
    pub(crate) fn new(of: TimeType) -> Self {
        ExecutionTime {
            times: Times::new(of),
            messages: 0,
            retractable: Retractable::default(),
            deletions: Deletions::default(),
            unsettled: false,
            messages_max: usize::MAX,
            overdue: BTreeMap::new(),
            since: BTreeMap::new(),
        }
    }

    /// How many bytes, about, are kept of messages for one federate. A federate that withholds its
    /// messages itself, and needs more memory for each, comes to the same limit sooner.
    pub(crate) fn limit(&mut self, bytes: usize) {
        self.messages_max = bytes / MESSAGE_BYTES;
    }

    /// Federates for whom more is kept than that, with the reason; they are to be resigned.
    pub(crate) fn take_overdue(&mut self) -> BTreeMap<FederateHandle, &'static str> {
        std::mem::take(&mut self.overdue)
    }

    /// Whether there are any.
    pub(crate) fn has_overdue(&self) -> bool {
        !self.overdue.is_empty()
    }

    pub(crate) fn is_constrained(&self, federate: FederateHandle) -> bool {
        self.times.is_constrained(federate)
    }

    /// The type of its logical times.
    pub(crate) fn time_type(&self) -> TimeType {
        self.times.time_type()
    }

    /// The time of all federates.
    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    /// Where a member stands. `in_state`: for how long it has waited, or not waited.
    pub(crate) fn status(&self, federate: FederateHandle, in_state: Duration) -> TimeStatus {
        let times = &self.times;
        let clock = times.clock(federate);
        let galt = times.galt(federate);
        let advance = clock.and_then(|c| c.advance());
        TimeStatus {
            time: times
                .time(federate)
                .unwrap_or_else(|| times.time_type().initial()),
            galt: galt.time(),
            galt_passed: galt.is_strict(),
            lits: times.lits(federate),
            lookahead: times.lookahead(federate),
            constrained: times.is_constrained(federate),
            asked: advance.map(|(kind, _)| kind),
            advancing_to: advance.map(|(_, to)| to),
            in_state_ms: u64::try_from(in_state.as_millis()).unwrap_or(u64::MAX),
            queued: times.queued(federate) as u64,
            waits_for: times.waits_for(federate),
        }
    }

    pub(crate) fn join(&mut self, federate: FederateHandle, now: Duration) {
        self.times.join(federate);
        self.turn(federate, now);
    }

    /// A federate begins to wait, or has waited.
    fn turn(&mut self, federate: FederateHandle, now: Duration) {
        let since = self.since.entry(federate).or_default();
        *since = Since {
            when: now,
            turns: since.turns + 1,
            noted: false,
            before: (since.when, since.noted),
        };
    }

    /// A federate's last turn was a grant that it passed over: it waits as it did.
    fn take_turn_back(&mut self, federate: FederateHandle) {
        let since = self.since.entry(federate).or_default();
        (since.when, since.noted) = since.before;
        since.turns = since.turns.saturating_sub(1);
    }

    /// All is granted that can be.
    pub(crate) fn hold_nothing(&mut self) {
        self.times.set_hold(Hold::Nothing);
    }

    /// Nothing is granted beyond this time.
    pub(crate) fn hold_beyond(&mut self, time: LogicalTime) {
        self.times.set_hold(Hold::Beyond(time));
    }

    /// Nothing is granted.
    pub(crate) fn hold_all(&mut self) {
        self.times.set_hold(Hold::All);
    }

    /// The time beyond which nothing is granted.
    pub(crate) fn holds_beyond(&self) -> Option<LogicalTime> {
        match self.times.hold() {
            Hold::Beyond(time) => Some(time),
            Hold::Nothing | Hold::All => None,
        }
    }

    /// A constrained federate that is beyond a time already.
    pub(crate) fn has_passed(&self, time: LogicalTime) -> Option<FederateHandle> {
        self.times.has_passed(time)
    }

    /// Whether it is worth a look who is to be instructed to save at a time.
    pub(crate) fn may_be_ready_to_save(&mut self, time: LogicalTime) -> bool {
        self.times.may_be_through(time)
    }

    /// Whether a constrained federate is to be instructed to save at a time.
    pub(crate) fn is_ready_to_save(&self, federate: FederateHandle, time: LogicalTime) -> bool {
        self.times.is_through(federate, time)
    }

    /// Whether one that is not constrained need not be waited for at a time.
    pub(crate) fn has_come_to(&self, federate: FederateHandle, time: LogicalTime) -> bool {
        self.times.has_come_to(federate, time)
    }

    /// Whether a federate waits for a time beyond this one, or for the last there is.
    pub(crate) fn asks_beyond(&self, federate: FederateHandle, time: LogicalTime) -> bool {
        let asked = self.times.asks_for(federate);
        asked.is_some_and(|to| to > time || to == to.time_type().last())
    }

    /// Whether something has come that may lead to a grant.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Whether an instance is being deleted at a time.
    pub(crate) fn is_deleting(&self, instance: ObjectInstanceHandle) -> bool {
        self.deletions.contains(instance)
    }

    /// Whether a federate that does not know an instance may know it as before: it has deleted it, or has come to its
    /// deletion, and that may be retracted.
    pub(crate) fn may_be_undeleted(
        &self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> bool {
        let message = self.deletions.message(instance);
        message.is_some_and(|message| {
            let knew = message.0 == federate || self.deletions.knew_before(instance, federate);
            knew && self.retractable.contains(message)
        })
    }

    /// Whether an instance is deleted at a time or before, or by a message that may yet be retracted: a further deletion at
    /// that time is of no account.
    pub(crate) fn goes_by(&self, instance: ObjectInstanceHandle, time: LogicalTime) -> bool {
        let message = self.deletions.message(instance);
        message.is_some_and(|m| m.1 <= time || self.retractable.contains(m))
    }

    /// Whether a federate that has come to the deletion of an instance may know it again, or still: it did, and the
    /// deletion may be retracted.
    pub(crate) fn may_know_again(
        &self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> bool {
        let message = self.deletions.message(instance);
        self.deletions.knew_before(instance, federate)
            && message.is_some_and(|message| self.retractable.contains(message))
    }

    /// Instances that a federate knew at a class before it came to their deletions, or deleted them itself.
    pub(crate) fn known_before(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Vec<ObjectInstanceHandle> {
        self.deletions.all_known_before(federate, class)
    }

    /// An instance is gone before its deletion at a time.
    pub(crate) fn forget_deletion(&mut self, instance: ObjectInstanceHandle) {
        self.deletions.remove(instance);
    }

    /// When an instance is deleted, and by whom, if that may still be retracted or has not come to all.
    pub(crate) fn deletion(
        &self,
        instance: ObjectInstanceHandle,
    ) -> Option<(FederateHandle, LogicalTime)> {
        let (by, time, _) = self.deletions.message(instance)?;
        Some((by, time))
    }

    /// Messages that can't be retracted any more are forgotten.
    fn forget_sent(&mut self, sender: FederateHandle) {
        // Who sends one lookahead ahead has none.
        if self.retractable.is_empty() {
            return;
        }
        let promised = self.times.clock(sender).and_then(|c| c.promised());
        let up_to = promised.and_then(Bound::time);
        let deletions = &mut self.deletions;
        let tell = |messages| deletions.are_final(messages);
        self.retractable.forget(sender, up_to, tell);
    }

    /// The run that a message of `sender` to so many begins; none if it goes in receive order. An error
    /// if it can't be sent, or more would be kept of its sender's messages than that many bytes.
    pub(crate) fn begin_run(
        &self,
        sender: FederateHandle,
        stamp: Stamp,
        to: usize,
        kept_bytes_max: usize,
    ) -> Result<Option<StampedRun>, ProtocolError> {
        if stamp.time.time_type() != self.time_type() {
            return Err(ProtocolError(format!(
                "{sender} sent the time stamp {}, which is of the other type",
                stamp.time
            )));
        }
        let Some(number) = stamp.retraction else {
            return Ok(None);
        };
        let (bound, promised) = self.times.bounds(sender);
        if !bound.is_some_and(|b| b.admits(stamp.time)) {
            let bound = bound.map_or("none: it is not regulating".into(), |b| b.to_string());
            return Err(ProtocolError(format!(
                "{sender} sent the time stamp {}; allowed is {bound}",
                stamp.time
            )));
        }
        if !(1..=MessageRetractionHandle::NUMBER_MAX).contains(&number) {
            return Err(ProtocolError(format!(
                "{sender} sent message {number} in time-stamp order; its numbers go from 1 to {}",
                MessageRetractionHandle::NUMBER_MAX
            )));
        }
        // An advance that was asked for may be granted as less.
        let may_be_retracted = promised.and_then(Bound::time) < Some(stamp.time);
        let mut end = MessageRetractionHandle::NUMBER_MAX + 1;
        if may_be_retracted {
            let what = "messages in time-stamp order that it may retract";
            let (kept, more) = (self.retractable.kept_of(sender), sent_bytes(to));
            let room = require_room(kept_bytes_max, what, kept, more);
            room.map_err(|ProtocolError(why)| ProtocolError(format!("the federate {why}")))?;
            end = end.min(number + ((kept_bytes_max - kept) / more) as u64);
        }
        Ok(Some(StampedRun {
            time: stamp.time,
            numbers: number..number + 1,
            end,
            may_be_retracted,
        }))
    }

    /// Of what a federate was handed by a flush, a message with this time stamp is the first that it wants and was not
    /// delivered: it stands for all behind it.
    fn waits_again(&mut self, federate: FederateHandle, time: LogicalTime) {
        self.messages += 1;
        let sequence = self.messages;
        self.times.push(federate, Stamped { time, sequence }, 1);
    }

    /// Takes messages to those federates.
    pub(crate) fn sequence(
        &mut self,
        sender: FederateHandle,
        run: StampedRun,
        to: &[FederateHandle],
    ) {
        let messages = run.numbers.end - run.numbers.start;
        let first = Stamped {
            time: run.time,
            sequence: self.messages + 1,
        };
        self.messages += messages;
        for federate in to.iter().filter(|f| **f != sender) {
            let Some(pushed) = self.times.push(*federate, first, messages) else {
                continue;
            };
            self.unsettled |= pushed.may_grant;
            if pushed.queued > self.messages_max {
                let why = "more messages in time-stamp order wait for its advance than \
                    limits.withheld_bytes of rtiexec allows: it is time-constrained, and does \
                    not advance";
                self.overdue.insert(*federate, why);
            }
        }
        if run.may_be_retracted {
            let of = (sender, run.time);
            self.retractable.add(of, run.numbers, first.sequence, to);
        }
    }
}

impl Execution {
    /// The time of a member, for `starling ps` and `starling top`.
    pub(crate) fn time_status(&self, federate: FederateHandle) -> TimeStatus {
        self.time.status(federate, self.in_time_state(federate))
    }

    /// A member's request about its time.
    pub(crate) fn time_request(
        &mut self,
        federate: FederateHandle,
        TimeRequest {
            applied,
            body: request,
        }: TimeRequest,
    ) -> Result<(), ProtocolError> {
        Services::require(self.services.time, "services.time")?;
        if !self.log.admits_request(federate, applied)? {
            return Ok(());
        }
        self.require_sensible(federate, request)?;
        let waited = self.time.times.is_waiting(federate);
        match request {
            Request::EnableRegulation(lookahead) => {
                self.time.times.enable_regulation(federate, lookahead);
            }
            Request::DisableRegulation => self.time.times.disable_regulation(federate),
            Request::EnableConstrained => self.time.times.enable_constrained(federate),
            Request::DisableConstrained => {
                self.time.times.disable_constrained(federate);
                self.deletions_came(federate, None);
            }
            Request::Advance { kind, to } => self.time.times.ask(federate, kind, to),
            Request::AskOn { kind, to, at, next } => {
                if let Some(time) = next {
                    self.time.waits_again(federate, time);
                }
                self.time.times.ask_on(federate, (kind, to), at);
            }
            Request::ModifyLookahead(lookahead) => {
                self.time.times.modify_lookahead(federate, lookahead);
            }
            Request::QueryBounds => {
                self.settle_time();
                let times = &self.time.times;
                let notice = Notice::Bounds {
                    galt: times.galt(federate).time(),
                    lits: times.lits(federate),
                };
                self.log.notify(federate, notice);
                return Ok(());
            }
            Request::Retract { number, time } => self.retract(federate, number, time),
        }
        if matches!(request, Request::AskOn { .. }) {
            self.time.take_turn_back(federate);
        } else if self.time.times.is_waiting(federate) != waited {
            self.time.turn(federate, self.mom.now);
        }
        self.time_asked(federate, request);
        self.settle_time();
        self.time.forget_sent(federate);
        self.end_deletions();
        self.advise_unasked();
        Ok(())
    }

    /// Refuses what no LRC asks for.
    fn require_sensible(
        &self,
        federate: FederateHandle,
        request: Request,
    ) -> Result<(), ProtocolError> {
        let times = &self.time.times;
        let of = times.time_type();
        let clock = times.clock(federate);
        let clock = clock.ok_or_else(|| ProtocolError(format!("{federate} is not a member")))?;
        let waits = times.is_waiting(federate);
        let regulating = clock.is_regulating();
        let sensible = match request {
            Request::EnableRegulation(lookahead) => {
                let legal = lookahead.time_type() == of && !lookahead.is_negative();
                legal && !regulating && clock.advance().is_none()
            }
            Request::DisableRegulation => regulating && !times.is_enabling(federate),
            Request::EnableConstrained => {
                let either = times.is_constrained(federate) || times.is_constraining(federate);
                !either && clock.advance().is_none()
            }
            Request::DisableConstrained => times.is_constrained(federate),
            Request::Advance { to, .. } => !waits && to.time_type() == of && to >= clock.time(),
            Request::AskOn { kind, to, at, next } => {
                let is_further = |t: LogicalTime| t.time_type() == of && t >= clock.time();
                let is_behind = at.time_type() == of && at <= clock.time();
                let by = match kind {
                    Advance::FlushQueue => next.is_none_or(is_further),
                    _ => kind.is_next_message() && next.is_none(),
                };
                !waits && by && is_further(to) && is_behind
            }
            Request::ModifyLookahead(lookahead) => {
                let legal = lookahead.time_type() == of && !lookahead.is_negative();
                legal && regulating && clock.advance().is_none() && !times.is_enabling(federate)
            }
            Request::Retract { .. } => regulating,
            Request::QueryBounds => true,
        };
        if sensible {
            Ok(())
        } else {
            Err(ProtocolError(format!(
                "{federate} asked for {request:?}, which can't be in its state"
            )))
        }
    }

    /// Grants what can be granted, and instructs to save whom a scheduled save has come to.
    pub(crate) fn settle_time(&mut self) {
        loop {
            self.grant();
            if !self.instruct_scheduled() {
                break;
            }
        }
    }

    fn grant(&mut self) {
        self.time.unsettled = false;
        while let Some((federate, outcome)) = self.time.times.settle() {
            let notice = match outcome {
                Outcome::Granted { time, flush } => Notice::Granted { time, flush },
                Outcome::Regulating { time, strict } => Notice::Regulating { time, strict },
                Outcome::Constrained => Notice::Constrained,
            };
            self.log.notify(federate, notice);
            self.time.turn(federate, self.mom.now);
            self.time_settled(federate, outcome);
            match outcome {
                Outcome::Granted { flush: true, .. } => self.deletions_came(federate, None),
                Outcome::Granted { time, .. } | Outcome::Regulating { time, .. } => {
                    self.deletions_came(federate, Some(time));
                }
                Outcome::Constrained => {}
            }
            self.time.forget_sent(federate);
        }
        self.end_deletions();
        self.advise_unasked();
    }

    /// Hands over to a constrained federate what comes up to a time, before it saves.
    pub(crate) fn release_for_save(&mut self, federate: FederateHandle, time: LogicalTime) {
        self.time.times.release(federate, time);
        if self.time.is_constrained(federate) {
            self.deletions_came(federate, Some(time));
        }
    }

    /// Takes a message in time-stamp order to those federates, or changes nothing.
    pub(crate) fn sequence(
        &mut self,
        sender: FederateHandle,
        stamp: Stamp,
        to: &[FederateHandle],
    ) -> Result<(), ProtocolError> {
        let max = self.kept_bytes_max;
        if let Some(run) = self.time.begin_run(sender, stamp, to.len(), max)? {
            self.time.sequence(sender, run, to);
        }
        Ok(())
    }

    /// Retract, 1516.1-2010 §8.21: told to all who were sent the message.
    fn retract(&mut self, sender: FederateHandle, number: u64, time: LogicalTime) {
        // What may not be retracted is not there: its federate has forged this.
        let Some(sent) = self.time.retractable.take((sender, time, number)) else {
            return;
        };
        for (federate, sequence) in &sent {
            let message = Stamped {
                time,
                sequence: *sequence,
            };
            self.time.times.retract(*federate, message);
        }
        let told: BTreeSet<_> = sent.into_iter().map(|(federate, _)| federate).collect();
        for federate in told {
            let notice = Notice::Retracted {
                sender,
                number,
                time,
            };
            self.log.notify(federate, notice);
        }
        if let Some(instance) = self.time.deletions.instance((sender, time, number)) {
            self.undelete(instance);
        }
    }

    /// Delete Object Instance in time-stamp order, §6.14. If the instance is deleted already, then later and for good.
    pub(crate) fn delete_at(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        tag: Vec<u8>,
        stamp: Stamp,
    ) -> Result<(), ProtocolError> {
        let by = cause.sender;
        let Some(known) = self.objects.get(instance) else {
            return Ok(());
        };
        let audience: Vec<_> = known.knowing().filter(|f| *f != by).collect();
        self.sequence(by, stamp, &audience)?;
        let times = &self.time.times;
        let (waiting, at_once): (BTreeSet<_>, BTreeSet<_>) =
            audience.iter().partition(|f| times.is_constrained(**f));
        let Some(known) = self.objects.get_mut(instance) else {
            return Ok(());
        };
        let class = known.forget_known(by);
        let class = class.map_or(known.class(), |(class, _)| class);
        let knew = |federate: FederateHandle| Some((federate, known.forget_known(federate)?));
        let mut knew: BTreeMap<_, _> = at_once.into_iter().filter_map(knew).collect();
        for federate in knew.keys() {
            self.forget_own_associations(instance, *federate);
        }
        let mut then = None;
        if let Some(later) = self.time.deletions.remove(instance) {
            then = Some(later.message);
            knew.extend(later.knew);
        }
        let deletion = Deletion {
            message: (by, stamp.time, stamp.retraction.unwrap_or_default()),
            class,
            waiting,
            knew,
            then,
        };
        self.time.deletions.insert(instance, deletion);
        self.touch(instance);
        let removed = Entry::Remove {
            instance,
            producer: by,
            tag,
            stamp: Some(stamp),
        };
        self.log.tell(cause, &audience, removed);
        self.end_deletions();
        Ok(())
    }

    /// A federate has come to this time, or to all that waits for it: it does not know any more
    /// what was deleted by then.
    fn deletions_came(&mut self, federate: FederateHandle, time: Option<LogicalTime>) {
        for instance in self.time.deletions.came(federate, time) {
            let known = self.objects.get_mut(instance);
            if let Some(known) = known.and_then(|known| known.forget_known(federate)) {
                self.time.deletions.knew(federate, instance, known);
            }
            self.forget_own_associations(instance, federate);
            self.touch(instance);
        }
    }

    /// Instances that are deleted for all, and for good, are gone.
    fn end_deletions(&mut self) {
        let time = &mut self.time;
        let may_be_retracted = |message: &SentMessage| time.retractable.contains(*message);
        for (instance, by) in time.deletions.take_done(may_be_retracted) {
            self.log.advance();
            self.remove_instance(None, instance, by, &[], None);
        }
    }

    /// A deletion was retracted: the instance is as before. For whom it was gone only its federate knows whether the
    /// removal was delivered. If not, it knows the instance as before; else it discovers it as it subscribes now. Where
    /// that is at the same class both are told by a discovery; where it is not, the federate answers.
    fn undelete(&mut self, instance: ObjectInstanceHandle) {
        let Some(mut deletion) = self.time.deletions.remove(instance) else {
            return;
        };
        let (by, ..) = deletion.message;
        if let Some(later) = deletion.then.take() {
            deletion.message = later;
            return self.goes_later(instance, by, deletion);
        }
        if let Some(known) = self.objects.get_mut(instance) {
            known.set_known(by, deletion.class);
        }
        self.touch(instance);
        self.log.advance();
        self.offer_discovered(None, by, &[(instance, deletion.class)]);
        for federate in self.log.members() {
            // Who has deleted it locally discovers it as if it had never been deleted.
            if self.objects.was_deleted_locally(instance, federate) {
                self.objects.forget_scope(instance, federate);
                continue;
            }
            self.log.advance();
            let knew = deletion.knew.get(&federate).copied();
            let class = self.class_of_discovery(instance, federate);
            if knew.is_none_or(|(at, asked)| Some(at) == class && asked.is_none()) {
                self.discover(None, federate, &[instance]);
            }
            let Some(known) = self.objects.get_mut(instance) else {
                return;
            };
            let again = match knew {
                Some((class, _)) if known.known_class(federate).is_none() => {
                    known.set_known(federate, class);
                    Some((instance, class))
                }
                // By its own word, which is still on its way, it may not be time-constrained any more.
                None if deletion.waiting.contains(&federate) => None,
                _ => continue,
            };
            let asked = self.log.index();
            known.ask_known(federate, asked);
            let not_deleted = Entry::NotDeleted { instance, asked };
            self.log.tell(None, &[federate], not_deleted);
            self.offer_discovered(None, federate, again.as_slice());
        }
        for federate in deletion.knew.keys() {
            self.advise_again(*federate, instance);
        }
        self.advise(None);
    }

    /// A deletion was retracted that was in the place of a later one, which holds now, for its federate, too, unless the
    /// removal has come to that.
    fn goes_later(
        &mut self,
        instance: ObjectInstanceHandle,
        by: FederateHandle,
        mut deletion: Deletion,
    ) {
        let known = self.objects.get_mut(instance);
        if let Some(known) = known.filter(|_| self.time.times.is_constrained(by)) {
            known.set_known(by, deletion.class);
            deletion.waiting.insert(by);
        }
        let again = [(instance, deletion.class)];
        self.time.deletions.insert(instance, deletion);
        self.touch(instance);
        self.log.advance();
        self.offer_discovered(None, by, &again);
        self.advise(None);
    }

    /// A federate answers whether it knows an instance still whose deletion was retracted. If it was told of the removal,
    /// what of the instance was its own is so no longer, and it discovers it if it can.
    pub(crate) fn answer_not_deleted(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        (asked, knows): (LogIndex, bool),
    ) {
        let federate = cause.sender;
        let known = self.objects.get_mut(instance);
        let gone = known.is_some_and(|known| known.answer_known(federate, asked, knows));
        // It may be deleted once more by now.
        let deletions = &mut self.time.deletions;
        if !gone && !deletions.answer_knew(federate, instance, (asked, knows)) {
            return;
        }
        self.forget_own_associations(instance, federate);
        self.objects.forget_scope(instance, federate);
        self.lose_ownership(cause, instance);
        self.touch(instance);
        self.discover(cause, federate, &[instance]);
        self.advise(cause);
    }

    /// A federate is no longer a member: what it has sent stays, others wait no longer for it.
    pub(crate) fn time_without(&mut self, federate: FederateHandle) {
        self.deletions_came(federate, None);
        self.time.times.leave(federate);
        self.time.since.remove(&federate);
        self.time.forget_sent(federate);
        self.settle_time();
    }
}
