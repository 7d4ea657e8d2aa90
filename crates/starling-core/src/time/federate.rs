//! Time management at a joined federate.
//!
//! Two views, as everywhere: which order a message is received in follows from its place in the
//! federate's stream ([`Constraint`]); pre-conditions, and what is withheld, follow from the
//! callbacks delivered.
//!
//! Invariants:
//! - what is held in time-stamp order here is what the executive counts as not granted, but for what
//!   is under way;
//! - the federate uses no time stamp that the executive would refuse.

use super::away::Away;
use super::delivered::Delivered;
use super::galt::{Advance, Clock};
use super::own_clock::OwnClock;
use super::value::{Bound, LogicalTime, LogicalTimeInterval, TimeType};
use crate::callback::{Callback, MessageTime};
use crate::delivery::Queued;
use crate::exception::throw;
use crate::federation::save::Stages;
use crate::handles::MessageRetractionHandle;
use crate::message::Stamp;
use crate::message::mom;
use crate::message::time::{Notice, Request};
use crate::object::known::Instance;
use crate::object::receive::QueuedObject;
use crate::{
    AttributeHandle, Exception, Federate, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, ProtocolError,
};
use std::collections::{BTreeMap, BTreeSet};

/// Messages that this federate has sent and may retract: while it remembers so many, it can't retract further
/// ones. Of those that go to nobody rtiexec knows nothing, and so can't bound them.
const SENT_MAX: usize = 1 << 20;

pub(crate) use crate::saved::delivery::QueuedTime;
use crate::saved::time::Constraint;

/// What a joined federate knows of its time.
pub(crate) struct FederateTime {
    pub(super) of: TimeType,
    pub(super) clock: OwnClock,
    /// It has passed over a grant of this time, and asked on; by its promises it is there. Flushing its queue, it has said
    /// that the first message which it wants is at the other time.
    pub(super) passed_over: Option<(LogicalTime, Option<LogicalTime>)>,
    /// Time regulation was asked for with this lookahead.
    pub(super) enabling: Option<LogicalTimeInterval>,
    pub(super) constraint: Constraint,
    pub(super) asynchronous: bool,
    /// The number of the last message sent in time-stamp order.
    pub(super) last_number: u64,
    /// Messages that may be retracted once their time stamps are late enough: by number, and by
    /// time stamp.
    pub(super) sent: BTreeMap<u64, Sent>,
    pub(super) sent_by_time: BTreeSet<(LogicalTime, u64)>,
    /// What these delete, to be there again if they are retracted.
    pub(super) deleted: BTreeMap<ObjectInstanceHandle, OwnDeletion>,
    /// Messages of others that were delivered and may be retracted.
    pub(super) delivered: Delivered,
    /// What others have deleted by such messages and this federate owned attributes of, or wanted any, to be so again
    /// if they are retracted.
    pub(super) kept: BTreeMap<ObjectInstanceHandle, Instance>,
    /// What was said of either meanwhile.
    pub(crate) away: Away,
    /// Instances whose removal was retracted before it was delivered.
    pub(super) undeleted: BTreeSet<ObjectInstanceHandle>,
    /// The executive's answer to the last query.
    pub(super) bounds: Option<Bounds>,
    /// Interaction classes whose order type is not the FDD's.
    pub(super) orders: BTreeMap<InteractionClassHandle, Order>,
    withheld_bytes_max: usize,
    warned: bool,
}

/// GALT and LITS, each none where it is undefined.
pub type Bounds = (Option<LogicalTime>, Option<LogicalTime>);

/// A message sent in time-stamp order.
pub(super) struct Sent {
    pub(super) time: LogicalTime,
    /// The instance that it deletes.
    pub(super) deletes: Option<ObjectInstanceHandle>,
}

/// An instance that this federate has deleted by a message that it may retract: the message's number, and what it was.
pub(super) struct OwnDeletion {
    pub(super) number: u64,
    pub(super) known: Instance,
}

impl FederateTime {
    pub(crate) fn new(of: TimeType) -> Self {
        FederateTime {
            of,
            clock: Clock::new(of).into(),
            passed_over: None,
            enabling: None,
            constraint: Constraint::Off,
            asynchronous: false,
            last_number: 0,
            sent: BTreeMap::new(),
            sent_by_time: BTreeSet::new(),
            deleted: BTreeMap::new(),
            delivered: Delivered::default(),
            kept: BTreeMap::new(),
            away: Away::default(),
            undeleted: BTreeSet::new(),
            bounds: None,
            orders: BTreeMap::new(),
            withheld_bytes_max: usize::MAX,
            warned: false,
        }
    }

    /// The type of logical times.
    pub(crate) fn time_type(&self) -> TimeType {
        self.of
    }

    /// The order in which a message is received that comes now.
    pub(crate) fn received_order(&self, stamp: Option<&Stamp>) -> Order {
        let sent_so = stamp.is_some_and(|s| s.retraction.is_some());
        if sent_so && self.receives_in_time_order() {
            Order::TimeStamp
        } else {
            Order::Receive
        }
    }

    /// Whether what comes now and was sent in time-stamp order, with this stamp, is kept until that is granted.
    #[inline(always)]
    pub(crate) fn keeps(&self, stamp: LogicalTime) -> bool {
        self.receives_in_time_order() && stamp.time_type() == self.of
    }

    /// Whether what comes now is received in time-stamp order if it was sent so.
    #[inline(always)]
    fn receives_in_time_order(&self) -> bool {
        matches!(self.constraint, Constraint::Begun | Constraint::On)
    }

    /// What was this federate's of an instance when it was removed, and can be again.
    pub(crate) fn take_kept(&mut self, instance: ObjectInstanceHandle) -> Option<Instance> {
        self.kept.remove(&instance)
    }

    /// The same, to look at.
    pub(crate) fn kept(&self, instance: ObjectInstanceHandle) -> Option<&Instance> {
        self.kept.get(&instance)
    }

    /// Whether this federate has deleted an instance by a message that it may retract.
    pub(crate) fn is_own_deletion(&self, instance: ObjectInstanceHandle) -> bool {
        self.deleted.contains_key(&instance)
    }

    /// What this federate has deleted so is gone by another's message: its own deletes nothing any more.
    pub(crate) fn take_deleted(&mut self, instance: ObjectInstanceHandle) -> Option<Instance> {
        let OwnDeletion { number, known } = self.deleted.remove(&instance)?;
        if let Some(sent) = self.sent.get_mut(&number) {
            sent.deletes = None;
        }
        Some(known)
    }

    /// An instance that is deleted by a message that may be retracted, whoever has sent it, and that is this federate's
    /// in part, or wanted by it.
    pub(crate) fn away_from(&self, instance: ObjectInstanceHandle) -> Option<&Instance> {
        let deleted = self.deleted.get(&instance).map(|d| &d.known);
        deleted.or_else(|| self.kept.get(&instance))
    }

    /// The same, to be changed.
    pub(crate) fn away_mut(&mut self, instance: ObjectInstanceHandle) -> Option<&mut Instance> {
        let deleted = self.deleted.get_mut(&instance).map(|d| &mut d.known);
        deleted.or_else(|| self.kept.get_mut(&instance))
    }

    /// All of these that were known at a class.
    pub(crate) fn away_at(&self, class: ObjectClassHandle) -> Vec<ObjectInstanceHandle> {
        let deleted = self.deleted.iter().map(|(handle, d)| (handle, &d.known));
        let all = deleted.chain(&self.kept);
        let at_class = all.filter(|(_, i)| i.known_class() == class);
        at_class.map(|(handle, _)| *handle).collect()
    }

    /// An instance that was about to be removed is not: it need not be discovered.
    pub(crate) fn take_undeleted(&mut self, instance: ObjectInstanceHandle) -> bool {
        !self.undeleted.is_empty() && self.undeleted.remove(&instance)
    }

    /// The order type of an interaction class is the FDD's again.
    pub(crate) fn forget_order(&mut self, class: InteractionClassHandle) {
        self.orders.remove(&class);
    }

    /// The order type of an interaction class, if it is not the FDD's.
    #[inline]
    pub(crate) fn class_order(&self, class: InteractionClassHandle) -> Option<Order> {
        self.orders.get(&class).copied()
    }

    /// The order in which something of this order type is sent with this time stamp, as of
    /// [`Federate::require_time_stamp`]; none if that is of the other type or too early.
    #[inline(always)]
    pub(crate) fn sent_order(&mut self, time: LogicalTime, order: Order) -> Option<Order> {
        if time.time_type() != self.of {
            return None;
        }
        match order {
            Order::TimeStamp if self.clock.is_regulating() => {
                self.clock.admits(time).then_some(order)
            }
            _ => Some(Order::Receive),
        }
    }

    /// The stamp of the next message. It is no message before [`Federate::note_stamp`].
    #[inline]
    pub(crate) fn stamp(&self, time: LogicalTime, order: Order) -> Stamp {
        let retraction = (order == Order::TimeStamp).then_some(self.last_number + 1);
        Stamp { time, retraction }
    }

    /// The message of this number may be retracted, if not too many may.
    #[inline(never)]
    fn note_retractable(&mut self, time: LogicalTime, number: u64) {
        if self.sent.len() < SENT_MAX {
            let deletes = None;
            self.sent.insert(number, Sent { time, deletes });
            self.sent_by_time.insert((time, number));
        }
    }

    fn withholds(&self) -> bool {
        self.constraint == Constraint::On && !self.asynchronous && self.clock.advance().is_none()
    }

    fn require_type(&self, time: LogicalTime) -> Result<(), Exception> {
        if time.time_type() != self.of {
            throw!(
                InvalidLogicalTime,
                "{time} is an {}, and the federation execution's logical time is {}",
                time.time_type().name(),
                self.of.name()
            );
        }
        Ok(())
    }

    fn require_lookahead(&self, lookahead: LogicalTimeInterval) -> Result<(), Exception> {
        if lookahead.time_type() != self.of {
            throw!(
                InvalidLookahead,
                "{lookahead} is an interval of {}, and the federation execution's logical time is {}",
                lookahead.time_type().name(),
                self.of.name()
            );
        }
        if lookahead.is_negative() {
            throw!(
                InvalidLookahead,
                "the lookahead {lookahead} is less than none"
            );
        }
        Ok(())
    }

    fn require_not_advancing(&self) -> Result<(), Exception> {
        if let Some((_, to)) = self.clock.advance() {
            throw!(
                InTimeAdvancingState,
                "the advance to {to} is not granted yet"
            );
        }
        Ok(())
    }

    fn require_regulating(&self) -> Result<Bound, Exception> {
        match self.clock.bound() {
            Some(bound) => Ok(bound),
            None => throw!(
                TimeRegulationIsNotEnabled,
                "this federate is not time-regulating"
            ),
        }
    }

    /// Drops what can't be retracted any more; what it has deleted goes to `gone`.
    fn forget_sent(&mut self) -> Vec<ObjectInstanceHandle> {
        let promised = self.clock.promised();
        let over = |time: LogicalTime| match promised {
            Some(Bound::At { time: at, .. }) => time <= at,
            Some(Bound::Never) | None => true,
        };
        let mut gone: Vec<ObjectInstanceHandle> = Vec::new();
        while let Some((time, number)) = self.sent_by_time.first().copied()
            && over(time)
        {
            self.sent_by_time.pop_first();
            let sent = self.sent.remove(&number);
            gone.extend(sent.and_then(|s| s.deletes));
        }
        for instance in &gone {
            self.deleted.remove(instance);
        }
        gone
    }
}

impl Federate {
    /// Enable Time Regulation, 1516.1-2010 §8.2.
    pub fn enable_time_regulation(
        &mut self,
        lookahead: LogicalTimeInterval,
    ) -> Result<(), Exception> {
        let time = &mut self.time;
        time.require_lookahead(lookahead)?;
        time.require_not_advancing()?;
        if time.enabling.is_some() {
            throw!(
                RequestForTimeRegulationPending,
                "time regulation was asked for already, and is not enabled yet"
            );
        }
        if time.clock.is_regulating() {
            throw!(
                TimeRegulationAlreadyEnabled,
                "this federate is time-regulating already"
            );
        }
        time.enabling = Some(lookahead);
        self.log.request_time(Request::EnableRegulation(lookahead));
        Ok(())
    }

    /// Disable Time Regulation, §8.4.
    pub fn disable_time_regulation(&mut self) -> Result<(), Exception> {
        self.time.require_regulating()?;
        self.time.clock.change().stop_regulating();
        self.log.request_time(Request::DisableRegulation);
        self.forget_sent();
        Ok(())
    }

    /// Enable Time Constrained, §8.5.
    pub fn enable_time_constrained(&mut self) -> Result<(), Exception> {
        let time = &mut self.time;
        time.require_not_advancing()?;
        match time.constraint {
            Constraint::Off => {}
            Constraint::Pending | Constraint::Begun => throw!(
                RequestForTimeConstrainedPending,
                "being time-constrained was asked for already, and is not enabled yet"
            ),
            Constraint::On => throw!(
                TimeConstrainedAlreadyEnabled,
                "this federate is time-constrained already"
            ),
        }
        time.constraint = Constraint::Pending;
        self.log.request_time(Request::EnableConstrained);
        Ok(())
    }

    /// Disable Time Constrained, §8.7: what waits in time-stamp order is received at once.
    pub fn disable_time_constrained(&mut self) -> Result<(), Exception> {
        if self.time.constraint != Constraint::On {
            throw!(
                TimeConstrainedIsNotEnabled,
                "this federate is not time-constrained"
            );
        }
        self.time.constraint = Constraint::Off;
        self.log.request_time(Request::DisableConstrained);
        self.withhold();
        self.delivery.end_time_order();
        self.release(None, Order::Receive);
        Ok(())
    }

    /// Time Advance Request, §8.8.
    pub fn time_advance_request(&mut self, to: LogicalTime) -> Result<(), Exception> {
        self.advance(Advance::Time, to)
    }

    /// Time Advance Request Available, §8.9.
    pub fn time_advance_request_available(&mut self, to: LogicalTime) -> Result<(), Exception> {
        self.advance(Advance::TimeAvailable, to)
    }

    /// Next Message Request, §8.10.
    pub fn next_message_request(&mut self, to: LogicalTime) -> Result<(), Exception> {
        self.advance(Advance::NextMessage, to)
    }

    /// Next Message Request Available, §8.11.
    pub fn next_message_request_available(&mut self, to: LogicalTime) -> Result<(), Exception> {
        self.advance(Advance::NextMessageAvailable, to)
    }

    /// Flush Queue Request, §8.12.
    pub fn flush_queue_request(&mut self, to: LogicalTime) -> Result<(), Exception> {
        self.advance(Advance::FlushQueue, to)
    }

    fn advance(&mut self, kind: Advance, to: LogicalTime) -> Result<(), Exception> {
        let time = &mut self.time;
        time.require_type(to)?;
        let now = time.clock.time();
        if to < now {
            throw!(LogicalTimeAlreadyPassed, "asked for {to}, at {now}");
        }
        time.require_not_advancing()?;
        if time.enabling.is_some() {
            throw!(
                RequestForTimeRegulationPending,
                "time regulation was asked for, and is not enabled yet"
            );
        }
        if matches!(time.constraint, Constraint::Pending | Constraint::Begun) {
            throw!(
                RequestForTimeConstrainedPending,
                "being time-constrained was asked for, and is not enabled yet"
            );
        }
        time.clock.change().ask(kind, to);
        self.log.request_time(Request::Advance { kind, to });
        self.withhold();
        self.forget_sent();
        Ok(())
    }

    /// Enable Asynchronous Delivery, §8.14.
    pub fn enable_asynchronous_delivery(&mut self) -> Result<(), Exception> {
        if self.time.asynchronous {
            throw!(
                AsynchronousDeliveryAlreadyEnabled,
                "asynchronous delivery is enabled already"
            );
        }
        self.time.asynchronous = true;
        self.log.request(mom::Request::AsynchronousDelivery(true));
        self.withhold();
        Ok(())
    }

    /// Disable Asynchronous Delivery, §8.15.
    pub fn disable_asynchronous_delivery(&mut self) -> Result<(), Exception> {
        if !self.time.asynchronous {
            throw!(
                AsynchronousDeliveryAlreadyDisabled,
                "asynchronous delivery is disabled already"
            );
        }
        self.time.asynchronous = false;
        self.log.request(mom::Request::AsynchronousDelivery(false));
        self.withhold();
        Ok(())
    }

    /// Query GALT and Query LITS, §8.16, §8.18: then wait for [`Federate::take_bounds`].
    pub(crate) fn query_bounds(&mut self) -> Result<(), Exception> {
        self.time.bounds = None;
        self.log.request_time(Request::QueryBounds);
        Ok(())
    }

    /// The executive's answer, once it is there.
    pub(crate) fn take_bounds(&mut self) -> Option<Bounds> {
        self.time.bounds.take()
    }

    /// Query Logical Time, §8.17.
    pub fn query_logical_time(&mut self) -> Result<LogicalTime, Exception> {
        Ok(self.time.clock.time())
    }

    /// Modify Lookahead, §8.19. A shorter one comes into effect as time advances.
    pub fn modify_lookahead(&mut self, lookahead: LogicalTimeInterval) -> Result<(), Exception> {
        let time = &mut self.time;
        time.require_lookahead(lookahead)?;
        time.require_not_advancing()?;
        time.require_regulating()?;
        time.clock.change().modify_lookahead(lookahead);
        self.log.request_time(Request::ModifyLookahead(lookahead));
        self.forget_sent();
        Ok(())
    }

    /// Query Lookahead, §8.20: what is in effect.
    pub fn query_lookahead(&mut self) -> Result<LogicalTimeInterval, Exception> {
        self.time.require_regulating()?;
        Ok(self.time.clock.lookahead().expect("it is regulating"))
    }

    /// Retract, §8.21.
    pub fn retract(&mut self, message: MessageRetractionHandle) -> Result<(), Exception> {
        let time = &mut self.time;
        let bound = time.require_regulating()?;
        let number = message.number();
        if message == MessageRetractionHandle(0) {
            throw!(
                InvalidMessageRetractionHandle,
                "the handle stands for no message: what is sent in receive order has none to retract it by"
            );
        }
        if message.sender() != self.me || number == 0 || number > time.last_number {
            throw!(
                InvalidMessageRetractionHandle,
                "{message} is no message that this federate has sent in time-stamp order"
            );
        }
        let Some(sent) = time.sent.get(&number) else {
            throw!(
                MessageCanNoLongerBeRetracted,
                "{message} was retracted already, was sent before time regulation was disabled or while there \
                 were {SENT_MAX} others to be retracted, or its time stamp is not beyond logical time plus \
                 lookahead: {bound}"
            );
        };
        if Some(sent.time) <= bound.time() || bound == Bound::Never {
            throw!(
                MessageCanNoLongerBeRetracted,
                "the time stamp {} is not beyond logical time plus lookahead: {bound}",
                sent.time
            );
        }
        let at = sent.time;
        let sent = time.sent.remove(&number).expect("it was just there");
        time.sent_by_time.remove(&(at, number));
        if let Some(instance) = sent.deletes
            && let Some(OwnDeletion { known, .. }) = time.deleted.remove(&instance)
        {
            self.objects.put(instance, known);
            self.tell_of_away(instance);
        }
        self.log.request_time(Request::Retract { number, time: at });
        Ok(())
    }

    /// Change Attribute Order Type, §8.23: from now on, until the attributes are another's.
    pub fn change_attribute_order_type(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        order: Order,
    ) -> Result<(), Exception> {
        let known = self.known(instance)?;
        self.require_instance_attributes(instance, attributes)?;
        self.require_owned(instance, known, attributes)?;
        if let Some(known) = self.objects.get_mut(instance) {
            attributes.iter().for_each(|a| known.set_order(*a, order));
        }
        Ok(())
    }

    /// Change Interaction Order Type, §8.24: from now on, until the class is unpublished.
    pub fn change_interaction_order_type(
        &mut self,
        class: InteractionClassHandle,
        order: Order,
    ) -> Result<(), Exception> {
        let known = self.require_interaction_class(class)?;
        if !self.declarations.publishes_interaction(class) {
            throw!(
                InteractionClassNotPublished,
                "'{}' is not published by this federate",
                known.name
            );
        }
        self.time.orders.insert(class, order);
        Ok(())
    }

    /// The order type of an owned attribute.
    pub(crate) fn attribute_order(&self, known: &Instance, attribute: AttributeHandle) -> Order {
        let changed = known.order(attribute);
        let of_fdd = || Some(self.model.attribute(attribute)?.order);
        changed.or_else(of_fdd).unwrap_or(Order::Receive)
    }

    /// The order type of an interaction class as this federate sends it.
    pub(crate) fn interaction_order(&self, class: InteractionClassHandle) -> Order {
        let changed = self.time.class_order(class);
        let of_fdd = || Some(self.model.interaction_class(class)?.order);
        changed.or_else(of_fdd).unwrap_or(Order::Receive)
    }

    /// Whether something with this time stamp is sent in time-stamp order if its order type is so
    /// (§8.1): only if the federate regulates, and then the time stamp must be late enough.
    pub(crate) fn require_time_stamp(
        &mut self,
        time: LogicalTime,
        order: Order,
    ) -> Result<Order, Exception> {
        self.time.require_type(time)?;
        if let Some(order) = self.time.sent_order(time, order) {
            return Ok(order);
        }
        let clock = &self.time.clock;
        if let Some(bound) = clock.bound() {
            let from = match clock.advance() {
                Some((_, to)) => format!("the time asked for, {to},"),
                None => format!("logical time {}", clock.time()),
            };
            let lookahead = clock.lookahead();
            let lookahead = lookahead.map_or(String::new(), |l| format!(" {l}"));
            throw!(
                InvalidLogicalTime,
                "the time stamp {time} is too early: {from} plus lookahead{lookahead} asks for {bound}"
            );
        }
        Ok(Order::TimeStamp)
    }

    /// A message with this stamp is sent, all checks being done; its handle.
    #[inline(always)]
    pub(crate) fn note_stamp(&mut self, stamp: Stamp) -> MessageRetractionHandle {
        let Stamp { time, retraction } = stamp;
        let Some(number) = retraction else {
            return MessageRetractionHandle::default();
        };
        self.time.last_number = number;
        if self.time.clock.lets_retract(time) {
            self.time.note_retractable(time, number);
        }
        MessageRetractionHandle::new(self.me, number)
    }

    /// Keeps an instance that a message deletes while that may be retracted; whether it may.
    pub(crate) fn keep_deleted(&mut self, stamp: Stamp, instance: ObjectInstanceHandle) -> bool {
        let Some(number) = stamp.retraction else {
            return false;
        };
        let Some(sent) = self.time.sent.get_mut(&number) else {
            return false;
        };
        if let Some(known) = self.objects.take(instance) {
            sent.deletes = Some(instance);
            let deletion = OwnDeletion { number, known };
            self.time.deleted.insert(instance, deletion);
        }
        true
    }

    fn forget_sent(&mut self) {
        for instance in self.time.forget_sent() {
            self.regions.forget_instance(instance);
            self.declarations.forget_instance(instance);
            self.forget_away(instance);
        }
    }

    /// What Request Federation Save, §4.16, asks of its time.
    pub(crate) fn require_save_time(&self, time: LogicalTime) -> Result<(), Exception> {
        self.time.require_type(time)?;
        if !self.time.clock.is_regulating() && self.time.constraint != Constraint::On {
            throw!(
                FederateUnableToUseTime,
                "this federate is neither time-regulating nor time-constrained"
            );
        }
        let now = self.time.clock.time();
        if time < now {
            throw!(LogicalTimeAlreadyPassed, "asked for {time}, at {now}");
        }
        Ok(())
    }

    /// It is through a save at this time.
    pub(crate) fn pass(&mut self, time: LogicalTime) {
        self.time.clock.change().pass(time);
    }

    /// Messages up to a time can be delivered, since a save is at this time.
    pub(crate) fn release_up_to(&mut self, time: LogicalTime) {
        self.release(Some(time), Order::TimeStamp);
    }

    fn withhold(&mut self) {
        self.delivery.withhold(self.time.withholds());
    }

    /// Lets messages in time-stamp order be delivered, in this order as the federate sees it.
    fn release(&mut self, up_to: Option<LogicalTime>, received: Order) {
        let mut removed = Vec::new();
        self.delivery
            .release(up_to, received, |instance| removed.push(instance));
        for instance in removed {
            if let Some(known) = self.objects.get_mut(instance) {
                known.set_removed(true);
            }
        }
    }

    /// What the executive says about time.
    pub(crate) fn apply_time(&mut self, notice: Notice) -> Result<(), ProtocolError> {
        match notice {
            Notice::Regulating { time, strict } => {
                if self.time.enabling.is_none() {
                    return Err(ProtocolError("time regulation was not asked for".into()));
                }
                self.release(Some(time), Order::TimeStamp);
                self.delivery.push(QueuedTime::Regulating { time, strict });
            }
            Notice::Constrained => {
                if self.time.constraint != Constraint::Pending {
                    return Err(ProtocolError("time constraint was not asked for".into()));
                }
                self.time.constraint = Constraint::Begun;
                self.delivery.push(QueuedTime::Constrained);
            }
            Notice::Granted { time, flush } => {
                if self.time.clock.advance().is_none() {
                    return Err(ProtocolError(format!("{time} was not asked for")));
                }
                if self.asks_on(time) {
                    return Ok(());
                }
                self.time.passed_over = None;
                self.release((!flush).then_some(time), Order::TimeStamp);
                self.delivery.push(QueuedTime::Granted(time));
            }
            Notice::Bounds { galt, lits } => {
                let lits = match lits {
                    // The executive counts all that were sent to it; they are here by now.
                    Some(next) if galt.is_none_or(|galt| next < galt) => {
                        galt.into_iter().chain(self.next_wanted(None)).min()
                    }
                    same => same,
                };
                // What a grant has brought may not have been delivered yet.
                let released = self.delivery.released();
                let mut released = released.filter(|(_, message)| self.wants(message));
                let lits = lits.into_iter().chain(released.next().map(|r| r.0)).min();
                self.time.bounds = Some((galt, lits));
            }
            Notice::Retracted {
                sender,
                number,
                time,
            } => self.apply_retraction(sender, number, time),
        }
        Ok(())
    }

    /// The time of the first message in time-stamp order, up to a time, that would be delivered.
    fn next_wanted(&self, up_to: Option<LogicalTime>) -> Option<LogicalTime> {
        let waiting = self.delivery.in_time_order();
        let mut waiting = waiting.take_while(|(time, _)| up_to.is_none_or(|t| *time <= t));
        Some(waiting.find(|(_, message)| self.wants(message))?.0)
    }

    /// Next Message Request ends with the next message that is delivered (§8.10), and Flush Queue Request at the first
    /// that it delivers (§8.12), unless either has come further. The executive counts those that were sent to this federate;
    /// where that has led to a grant and it wants none of them any more, it drops them and asks again for the
    /// rest of the way, and is told of no grant.
    fn asks_on(&mut self, granted: LogicalTime) -> bool {
        let Some((kind, to)) = self.time.clock.advance() else {
            return false;
        };
        if granted >= to || self.time.constraint != Constraint::On || !kind.may_pass_over() {
            return false;
        }
        let flushes = kind == Advance::FlushQueue;
        let first = self.delivery.in_time_order().next().map(|m| m.0);
        // The executive can't take back what it has been told of, where that is retracted.
        let awaited = self.time.passed_over.and_then(|(_, next)| next);
        if flushes && first != Some(granted) && awaited != Some(granted) {
            // It came no further for the sake of what others may send.
            return false;
        }
        let next = self.next_wanted((!flushes).then_some(granted));
        if next.is_some_and(|next| next <= granted) {
            return false;
        }
        let waiting = self.delivery.in_time_order();
        let unwanted = waiting.take_while(|(time, _)| match next {
            Some(next) => *time < next,
            None => flushes || *time <= granted,
        });
        let last = unwanted.map(|m| m.0).last();
        for message in last.map_or(Vec::new(), |last| self.delivery.take_up_to(last)) {
            self.pass_over(message);
        }
        if flushes {
            self.note_removed();
        }
        let at = self.time.clock.time();
        self.log.request_time(Request::AskOn { kind, to, at, next });
        self.time.passed_over = Some((granted, next.filter(|_| flushes)));
        true
    }

    /// A flush was passed over: to the executive all removals that wait have come, also those that wait on.
    fn note_removed(&mut self) {
        for (_, waiting) in self.delivery.in_time_order() {
            if let Queued::Object(QueuedObject::Remove { instance, .. }) = waiting
                && let Some(known) = self.objects.get_mut(*instance)
            {
                known.set_removed(true);
            }
        }
    }

    fn apply_retraction(&mut self, sender: FederateHandle, number: u64, time: LogicalTime) {
        // The values of one update may come in several frames.
        while let Some(message) = self.delivery.take_message((sender, number), time) {
            let QueuedObject::Remove { instance, .. } = message else {
                self.counters.retracted += 1;
                continue;
            };
            let known = self.objects.get_mut(instance);
            if let Some(known) =
                known.or_else(|| Some(&mut self.time.deleted.get_mut(&instance)?.known))
                && known.set_removed(false)
            {
                self.time.undeleted.insert(instance);
            }
        }
        if self.time.delivered.remove((sender, number)) {
            let message = MessageRetractionHandle::new(sender, number);
            self.delivery.push(QueuedTime::RequestRetraction(message));
        }
    }

    pub(crate) fn deliver_time(&mut self, queued: QueuedTime) -> Callback {
        match queued {
            QueuedTime::Regulating { time, strict } => {
                let lookahead = self.time.enabling.take();
                let lookahead = lookahead.unwrap_or_else(|| self.time.of.zero_interval());
                let clock = self.time.clock.change();
                clock.regulate(lookahead, time, strict);
                Callback::TimeRegulationEnabled { time }
            }
            QueuedTime::Constrained => {
                self.time.constraint = Constraint::On;
                self.withhold();
                Callback::TimeConstrainedEnabled {
                    time: self.time.clock.time(),
                }
            }
            QueuedTime::Granted(time) => {
                self.time.clock.change().grant(time);
                self.withhold();
                self.forget_sent();
                if self.time.constraint == Constraint::On {
                    // Nobody can retract what is not beyond this federate's GALT.
                    self.time.delivered.forget_up_to(time);
                }
                Callback::TimeAdvanceGrant { time }
            }
            QueuedTime::RequestRetraction(message) => Callback::RequestRetraction { message },
        }
    }

    /// An instance is removed by this message. If that may be retracted, what this federate owns of it is kept, and what
    /// it wants; the executive says when it can't be any more.
    pub(crate) fn keep_removed(
        &mut self,
        instance: ObjectInstanceHandle,
        known: Instance,
        (stamp, received): (Option<&Stamp>, Order),
    ) {
        let concerns = !known.owned().is_empty() || self.has_transfers(instance);
        let may_be_retracted = self.may_be_retracted(stamp, received).is_some();
        if may_be_retracted {
            self.objects.remember_counted(instance, &known);
        }
        if may_be_retracted && concerns {
            self.time.kept.insert(instance, known);
        } else {
            self.forget_away(instance);
        }
    }

    /// The number by which its sender may retract a message that is delivered now, if it may: what comes in
    /// time-stamp order can't be retracted by then, but when the queue is flushed.
    #[inline]
    pub(crate) fn may_be_retracted(&self, stamp: Option<&Stamp>, received: Order) -> Option<u64> {
        let advance = self.time.clock.advance();
        let flushing = advance.is_some_and(|(kind, _)| kind == Advance::FlushQueue);
        let number = stamp?.retraction;
        number.filter(|_| flushing || received == Order::Receive)
    }

    /// What a message's callback says of its time, and that it is being delivered.
    pub(crate) fn delivered_at(
        &mut self,
        sender: FederateHandle,
        time: Option<Box<MessageTime>>,
        received: Order,
    ) -> Option<Box<MessageTime>> {
        let mut time = time?;
        let stamp = Stamp::from(*time);
        if let Some(number) = self.may_be_retracted(Some(&stamp), received) {
            self.time.delivered.insert((sender, number), time.time);
        }
        time.received = received;
        let retraction = stamp.retraction;
        let retraction = retraction.map(|n| MessageRetractionHandle::new(sender, n));
        time.retraction = retraction.unwrap_or_default();
        Some(time)
    }

    /// Sets how many bytes time management may withhold; before this is called, any.
    pub fn set_withheld_bytes_max(&mut self, bytes: usize) {
        self.time.withheld_bytes_max = bytes;
    }

    /// What time management withholds, in bytes, about, and what is said of instances that may be known again.
    pub fn withheld_bytes(&self) -> usize {
        self.delivery.withheld_bytes() + self.time.away.bytes()
    }

    /// Whether more is withheld than it allows: it is to be cut off.
    pub fn exceeds_withheld(&self) -> bool {
        self.withheld_bytes() > self.time.withheld_bytes_max
    }

    /// Whether so much is withheld that nothing is to be added which may be lost: the rest of what may be is for what may not.
    pub fn withholds_much(&self) -> bool {
        self.withheld_bytes() > self.time.withheld_bytes_max / 2
    }

    /// Whether so many bytes more may be kept without anything to be said of it.
    #[inline(always)]
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        self.withheld_bytes() + bytes <= self.time.withheld_bytes_max / 2
    }

    /// Ends a federate for which more messages pile up than it allows; warns it at half.
    pub(crate) fn require_withheld(&mut self) -> Result<(), ProtocolError> {
        let (bytes, most) = (self.withheld_bytes(), self.time.withheld_bytes_max);
        let now = self.time.clock.time();
        if bytes > most {
            let does = match self.time.clock.advance() {
                _ if self.stages() != Stages::default() => {
                    "has not ended the save or restore in progress".into()
                }
                Some((_, to)) => format!("waits for its advance to {to}"),
                None => "does not ask to advance".into(),
            };
            return Err(ProtocolError(format!(
                "{bytes} bytes of messages are withheld from federate '{}', which is at {now} and \
                 {does}: more than limits.withheld_bytes ({most}); let it advance{}, or raise that",
                self.federation.name(),
                self.without_advance()
            )));
        }
        if bytes > most / 2 && !std::mem::replace(&mut self.time.warned, true) {
            self.set_note(format!(
                "{bytes} bytes of messages are withheld from federate '{}', at {now}: let it \
                 advance{}, end the save or restore in progress, or raise \
                 limits.withheld_bytes ({most}), where it would be cut off",
                self.federation.name(),
                self.without_advance()
            ));
        }
        Ok(())
    }

    /// What delivers some of what is withheld, besides an advance.
    fn without_advance(&self) -> &'static str {
        if self.delivery.withholds_receive_order() {
            ", enable asynchronous delivery"
        } else {
            ""
        }
    }
}
