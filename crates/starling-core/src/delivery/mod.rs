//! What waits for the federate: callbacks, in the order in which the log and data brought them
//! about.
//!
//! Each room says what of its own waits; what depends on the federate's declarations and on what it
//! owns is decided when its turn comes, so most of it is not a [`Callback`] yet. Which of it may be
//! delivered now is decided here alone, by [`Delivery::next`] and [`Delivery::has_next`]:
//! - messages in time-stamp order wait until they are released for a grant (1516.1-2010, 8.1);
//! - while a save or a restore is in progress at the federate, all waits but the callbacks of these;
//! - messages in receive order wait while they are withheld, since a constrained federate is not
//!   advancing; all other callbacks do not, and come first then, since an instance is discovered
//!   before it is reflected;
//! - else whatever comes first.
//!
//! Where reflections are conflated ([`crate::conflation`]), all that waits is numbered, so that what came later finds
//! what it replaces.
//!
//! Invariants: `bytes` is the sum over all in `queue` and `others`, the other three over what their
//! names say; each is in one of these lists. `queue` is empty while anything is in `in_receive_order`, `others` or
//! `of_save`, which may go on after time management has ceased to withhold, or a save has ended.

mod queued;

pub(crate) use queued::{Plain, Queued, Timed};

use crate::FederateHandle;
use crate::conflation::Conflation;
use crate::object::receive::{QueuedObject, Received};
use crate::saved::delivery as saved;
use crate::time::by_time::{ByTime, Keyed};
use crate::{LogicalTime, ObjectInstanceHandle, Order};
use queued::{Fenced, Message};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fewer places than these are kept, whatever has become of their messages.
const PLACES_MIN: usize = 64;

/// The callback queue.
#[derive(Default)]
pub(crate) struct Delivery {
    queue: VecDeque<Queued>,
    /// Memory that may be delivered now takes, about, but for `in_receive_order` and `of_save`.
    bytes: usize,
    /// The federate has resigned: nothing is delivered to it any more.
    ended: bool,
    /// Reflections and interactions that it was not delivered therefore.
    dropped: u64,
    /// Messages in receive order are withheld.
    withholding: bool,
    /// From the first withholding, or save, until nothing is left, `queue` is empty and what waits stands in
    /// these three, numbered as it came.
    in_receive_order: BTreeMap<u64, Queued>,
    others: BTreeMap<u64, Queued>,
    /// Callbacks of saves and restores.
    of_save: BTreeMap<u64, Queued>,
    /// What was numbered so far.
    came: u64,
    /// The numbers of messages in the first two, up to the last one numbered when one was retracted.
    /// Some may be gone.
    places: BTreeSet<(Message, u64)>,
    placed: u64,
    in_time_order: ByTime<Queued>,
    /// Memory that these take, about.
    in_receive_order_bytes: usize,
    in_time_order_bytes: usize,
    of_save_bytes: usize,
    /// A save or a restore is in progress at the federate: only its own callbacks are delivered.
    saving: bool,
    /// Which reflections are conflated, if any are.
    conflation: Option<Box<Conflation>>,
    /// Any of `ended`, `withholding`, `saving`, `conflation`, and the three lists not being empty.
    detour: bool,
}

impl Delivery {
    /// Puts something behind all that waits.
    #[inline(always)]
    pub(crate) fn push(&mut self, queued: impl Into<Queued>) {
        let queued = queued.into();
        if self.detour {
            return self.push_apart(queued);
        }
        self.bytes += queued.bytes();
        self.queue.push_back(queued);
    }

    /// As [`Self::push`], where [`Self::is_straight`].
    #[inline(always)]
    pub(crate) fn push_plain(&mut self, plain: Plain) {
        debug_assert!(self.is_straight());
        self.bytes += plain.bytes();
        self.queue.push_back(Queued::Plain(plain));
    }

    /// What is to be delivered now, if it is data as most is.
    #[inline(always)]
    pub(crate) fn first_plain(&self) -> Option<&Plain> {
        match self.queue.front() {
            Some(Queued::Plain(plain)) if !self.detour => Some(plain),
            _ => None,
        }
    }

    /// What [`Self::first_plain`] has shown is delivered.
    #[inline(always)]
    pub(crate) fn drop_plain(&mut self) {
        match self.queue.pop_front() {
            Some(Queued::Plain(plain)) => self.bytes -= plain.bytes(),
            // It is none: to drop whatever it may be would take longer than all else here.
            other => std::mem::forget(other),
        }
    }

    /// The same of data in time-stamp order that is released.
    #[inline(always)]
    pub(crate) fn first_timed(&self) -> Option<&Timed> {
        match self.queue.front() {
            Some(Queued::Timed(timed)) if !self.detour => Some(timed),
            _ => None,
        }
    }

    /// What [`Self::first_timed`] has shown is delivered.
    #[inline(always)]
    pub(crate) fn drop_timed(&mut self) {
        match self.queue.pop_front() {
            Some(Queued::Timed(timed)) => self.bytes -= timed.bytes(),
            // As there.
            other => std::mem::forget(other),
        }
    }

    /// Whether anything waits in the queue where all does that [`Self::is_straight`].
    #[inline]
    pub(crate) fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether what is pushed now is delivered as soon as all before it.
    #[inline]
    pub(crate) fn is_straight(&self) -> bool {
        !self.detour
    }

    #[cold]
    fn push_apart(&mut self, queued: Queued) {
        let queued = match queued {
            Queued::Plain(plain) => Queued::Object(plain.into()),
            Queued::Timed(timed) => Queued::Object(timed.into()),
            other => other,
        };
        if let Some(conflation) = &mut self.conflation {
            match queued.fenced() {
                Fenced::Nothing => {}
                Fenced::Values(instance, received) => conflation.keep_values(instance, received),
                Fenced::Instance(instance) => conflation.keep(instance),
                Fenced::All => conflation.keep_all(self.came),
            }
        }
        self.put_apart(queued);
    }

    fn put_apart(&mut self, mut queued: Queued) {
        if let Queued::Object(queued) = &mut queued {
            queued.detach();
        }
        if self.ended {
            self.dropped += u64::from(queued.is_data());
            return;
        }
        self.came += 1;
        let (list, bytes) = if queued.is_in_receive_order() {
            (&mut self.in_receive_order, &mut self.in_receive_order_bytes)
        } else if queued.is_of_save() {
            (&mut self.of_save, &mut self.of_save_bytes)
        } else {
            (&mut self.others, &mut self.bytes)
        };
        *bytes += queued.bytes();
        list.insert(self.came, queued);
    }

    /// From now on reflections are conflated. What waits already is not.
    pub(crate) fn set_conflation(&mut self, conflation: Option<Box<Conflation>>) {
        if !self.ended {
            self.set_apart();
            self.conflation = conflation;
            self.look_closer();
        }
    }

    /// Whether any are.
    #[inline]
    pub(crate) fn conflates(&self) -> bool {
        self.conflation.is_some()
    }

    /// Which reflections are conflated, if any are.
    pub(crate) fn conflation(&mut self) -> Option<&mut Conflation> {
        self.conflation.as_deref_mut()
    }

    /// Puts a reflection of an instance whose reflections are conflated where one waits that it replaces, or else
    /// behind all that waits. Whether it has replaced one.
    pub(crate) fn push_newest(
        &mut self,
        instance: ObjectInstanceHandle,
        received: Received,
    ) -> bool {
        let waits = |number| match self.in_receive_order.get(&number) {
            Some(Queued::Object(QueuedObject::Reflect { received, .. })) => Some(received),
            _ => None,
        };
        let conflation = self.conflation.as_deref();
        let place = conflation.and_then(|c| c.place(instance, &received, waits));
        if let Some(older) = place.and_then(|number| self.in_receive_order.get_mut(&number)) {
            let before = older.bytes();
            let mut newer = QueuedObject::Reflect { instance, received };
            newer.detach();
            *older = newer.into();
            self.in_receive_order_bytes = self.in_receive_order_bytes + older.bytes() - before;
            return true;
        }
        if let Some(conflation) = &mut self.conflation {
            conflation.put(instance, &received, self.came + 1);
        }
        self.put_apart(QueuedObject::Reflect { instance, received }.into());
        false
    }

    /// Keeps a message until its time is released.
    pub(crate) fn push_in_time_order(&mut self, time: LogicalTime, queued: QueuedObject) {
        let queued = Queued::Object(queued);
        if self.ended {
            self.dropped += u64::from(queued.is_data());
            return;
        }
        self.in_time_order_bytes += queued.bytes();
        self.in_time_order.push(time, queued);
    }

    /// The same of data in time-stamp order that takes so many bytes, unless the federate has resigned.
    #[inline(always)]
    pub(crate) fn push_timed(
        &mut self,
        time: LogicalTime,
        bytes: usize,
        make: impl FnOnce() -> Timed,
    ) {
        debug_assert!(!self.ended);
        self.in_time_order_bytes += bytes;
        self.in_time_order.push_with(time, || Queued::Timed(make()));
    }

    /// Puts messages in time-stamp order behind all that waits, to be received in this order: those up to this
    /// time, or all. `removed` is told which instances they remove.
    pub(crate) fn release(
        &mut self,
        up_to: Option<LogicalTime>,
        received: Order,
        mut removed: impl FnMut(ObjectInstanceHandle),
    ) {
        while let Some(mut messages) = self.in_time_order.take_first(up_to) {
            let mut bytes = 0;
            for queued in &mut messages {
                // Of these there may be many.
                if let Queued::Timed(timed) = queued {
                    bytes += timed.bytes();
                    timed.order = received;
                    continue;
                }
                bytes += queued.bytes();
                queued.set_received_order(received);
                if let Queued::Object(QueuedObject::Remove { instance, .. }) = queued {
                    removed(*instance);
                }
            }
            self.in_time_order_bytes -= bytes;
            if self.detour {
                for queued in messages.drain(..) {
                    self.push_apart(queued);
                }
            } else {
                self.bytes += bytes;
                if self.queue.is_empty() {
                    // All of them in one go: the two change places.
                    messages = std::mem::replace(&mut self.queue, messages.into()).into();
                } else {
                    self.queue.extend(messages.drain(..));
                }
            }
            self.in_time_order.give_back(messages);
        }
    }

    /// Messages in time-stamp order that are not released, in this order.
    pub(crate) fn in_time_order(&self) -> impl Iterator<Item = (LogicalTime, &Queued)> {
        self.in_time_order.iter()
    }

    /// Those that are released and not delivered, in this order.
    pub(crate) fn released(&self) -> impl Iterator<Item = (LogicalTime, &Queued)> {
        let waiting = self.queue.iter().chain(self.others.values());
        let released = waiting.filter(|q| q.received_order() == Some(Order::TimeStamp));
        released.filter_map(|queued| Some((queued.time()?, queued)))
    }

    /// Takes out messages in time-stamp order up to this time that are not to be delivered.
    pub(crate) fn take_up_to(&mut self, up_to: LogicalTime) -> Vec<QueuedObject> {
        let mut taken = Vec::new();
        while let Some(messages) = self.in_time_order.take_first(Some(up_to)) {
            for queued in messages {
                self.in_time_order_bytes -= queued.bytes();
                taken.extend(queued.into_object());
            }
        }
        taken
    }

    /// What was released for a grant and not delivered is received in receive order now.
    pub(crate) fn end_time_order(&mut self) {
        for queued in self.queue.iter_mut().chain(self.others.values_mut()) {
            if queued.received_order() == Some(Order::TimeStamp) {
                queued.set_received_order(Order::Receive);
            }
        }
    }

    /// Withholds messages in receive order from now on, or no longer. Each that waits is moved once,
    /// however often this changes.
    pub(crate) fn withhold(&mut self, withholding: bool) {
        self.withholding = withholding;
        if withholding {
            self.set_apart();
        }
        self.look_closer();
    }

    /// Numbers what waits.
    fn set_apart(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        self.bytes -= self.queue.iter().map(Queued::bytes).sum::<usize>();
        for queued in std::mem::take(&mut self.queue) {
            self.push_apart(queued);
        }
    }

    fn look_closer(&mut self) {
        let messages = !self.in_receive_order.is_empty() || !self.others.is_empty();
        if !messages {
            self.places.clear();
        }
        let apart = messages || !self.of_save.is_empty() || self.conflation.is_some();
        self.detour = self.ended || self.withholding || self.saving || apart;
    }

    /// From now on nothing is delivered but callbacks of save and restore, or all again, in the order in which it
    /// came: of what came behind the end of a save the next one is no more than all else.
    pub(crate) fn hold_for_save(&mut self, saving: bool) {
        if saving {
            self.set_apart();
        }
        self.saving = saving;
        self.look_closer();
    }

    /// What is to be delivered now. It may turn out to be nothing any more: then ask again.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Queued> {
        if self.detour {
            return self.next_apart();
        }
        let queued = self.queue.pop_front()?;
        self.bytes -= queued.bytes();
        Some(queued)
    }

    #[cold]
    fn next_apart(&mut self) -> Option<Queued> {
        let number = |list: &BTreeMap<u64, Queued>| list.keys().next().copied();
        let of_save = number(&self.of_save);
        let receive = number(&self.in_receive_order).filter(|_| !self.saving && !self.withholding);
        let other = number(&self.others).filter(|_| !self.saving);
        let first = [of_save, receive, other].into_iter().flatten().min()?;
        let (list, bytes) = if of_save == Some(first) {
            (&mut self.of_save, &mut self.of_save_bytes)
        } else if receive == Some(first) {
            (&mut self.in_receive_order, &mut self.in_receive_order_bytes)
        } else {
            (&mut self.others, &mut self.bytes)
        };
        let (number, queued) = list.pop_first()?;
        *bytes -= queued.bytes();
        if let Some(conflation) = &mut self.conflation
            && let Queued::Object(QueuedObject::Reflect { instance, .. }) = &queued
        {
            conflation.delivered(*instance, number);
        }
        self.look_closer();
        Some(queued)
    }

    /// Whether there is anything to be delivered now.
    pub(crate) fn has_next(&self) -> bool {
        let in_receive_order = !self.withholding && !self.in_receive_order.is_empty();
        let rest = !self.queue.is_empty() || !self.others.is_empty() || in_receive_order;
        !self.of_save.is_empty() || (rest && !self.saving)
    }

    /// Whether nothing waits at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
            && self.others.is_empty()
            && self.in_receive_order.is_empty()
            && self.in_time_order.is_empty()
    }

    /// How many messages wait, in receive order and in time-stamp order.
    pub(crate) fn lengths(&self) -> (u64, u64) {
        let in_order = |order| {
            let waiting = self.queue.iter().chain(self.others.values());
            waiting
                .filter(|q| q.received_order() == Some(order))
                .count()
        };
        let received = in_order(Order::Receive) + self.in_receive_order.len();
        let released = in_order(Order::TimeStamp);
        (
            received as u64,
            (released + self.in_time_order.len()) as u64,
        )
    }

    /// The federate has resigned: nothing is delivered to it any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// How many callbacks may be there to be delivered now.
    pub(crate) fn len(&self) -> usize {
        if self.saving {
            return self.of_save.len();
        }
        let in_receive_order = if self.withholding {
            0
        } else {
            self.in_receive_order.len()
        };
        self.queue.len() + self.others.len() + self.of_save.len() + in_receive_order
    }

    /// How many messages time management withholds.
    pub(crate) fn withheld(&self) -> usize {
        let in_receive_order = if self.withholding {
            self.in_receive_order.len()
        } else {
            0
        };
        in_receive_order + self.in_time_order.len()
    }

    /// Whether time management withholds messages in receive order.
    pub(crate) fn withholds_receive_order(&self) -> bool {
        self.withholding && !self.in_receive_order.is_empty()
    }

    /// What waits for the federate alone, in bytes, about. What is withheld from it is not in it:
    /// what ends the withholding must be read.
    pub(crate) fn bytes(&self) -> usize {
        match (self.saving, self.withholding) {
            (true, _) => self.of_save_bytes,
            (false, true) => self.bytes + self.of_save_bytes,
            (false, false) => self.bytes + self.of_save_bytes + self.in_receive_order_bytes,
        }
    }

    /// Whether [`Self::withheld_bytes`] may be more than 0.
    #[inline]
    pub(crate) fn withholds(&self) -> bool {
        self.detour || self.in_time_order_bytes > 0
    }

    /// What time management withholds, or a save or restore, in bytes, about.
    #[inline]
    pub(crate) fn withheld_bytes(&self) -> usize {
        if self.detour {
            self.withheld_bytes_apart()
        } else {
            self.in_time_order_bytes
        }
    }

    fn withheld_bytes_apart(&self) -> usize {
        let all = self.bytes + self.of_save_bytes;
        let all = all + self.in_receive_order_bytes + self.in_time_order_bytes;
        all - self.bytes()
    }

    /// Takes a message with this time stamp out, wherever it waits.
    pub(crate) fn take_message(
        &mut self,
        message: (FederateHandle, u64),
        time: LogicalTime,
    ) -> Option<QueuedObject> {
        let queued = match self.in_time_order.take(time, message) {
            Some(queued) => {
                self.in_time_order_bytes -= queued.bytes();
                queued
            }
            None => self.take_released(message)?,
        };
        queued.into_object()
    }

    /// The same for one that does not wait in time-stamp order.
    fn take_released(&mut self, message: Message) -> Option<Queued> {
        self.set_apart();
        if self.places.len() > PLACES_MIN.max(2 * (self.in_receive_order.len() + self.others.len()))
        {
            self.places.clear();
            self.placed = 0;
        }
        for list in [&self.in_receive_order, &self.others] {
            let new = list.range(self.placed + 1..);
            let places = new.filter_map(|(number, queued)| Some((queued.key()?, *number)));
            self.places.extend(places);
        }
        self.placed = self.came;
        let mut taken = None;
        while let Some(place) = self.places.range((message, 0)..=(message, u64::MAX)).next()
            && taken.is_none()
        {
            let place = *place;
            self.places.remove(&place);
            taken = match self.in_receive_order.remove(&place.1) {
                Some(queued) => {
                    self.in_receive_order_bytes -= queued.bytes();
                    Some(queued)
                }
                None => self
                    .others
                    .remove(&place.1)
                    .inspect(|queued| self.bytes -= queued.bytes()),
            };
        }
        self.look_closer();
        taken
    }

    /// Takes out what is of no use any more.
    pub(crate) fn withdraw(&mut self, mut is_void: impl FnMut(&Queued) -> bool) {
        let mut keep = |queued: &Queued, bytes: &mut usize| {
            let void = is_void(queued);
            if void {
                *bytes -= queued.bytes();
            }
            !void
        };
        self.queue.retain(|queued| keep(queued, &mut self.bytes));
        self.others
            .retain(|_, queued| keep(queued, &mut self.bytes));
        self.in_receive_order
            .retain(|_, queued| keep(queued, &mut self.in_receive_order_bytes));
        self.in_time_order
            .retain(|queued| keep(queued, &mut self.in_time_order_bytes));
        self.look_closer();
    }

    /// Changes what waits and is no message.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&mut Queued)) {
        for queued in self.queue.iter_mut().chain(self.others.values_mut()) {
            let before = queued.bytes();
            change(queued);
            self.bytes = self.bytes + queued.bytes() - before;
        }
    }

    /// For a save. Callbacks about saving and restoring are no part of one.
    pub(crate) fn save(&self) -> saved::Federate {
        let apart = self.in_receive_order.iter().chain(&self.others);
        let mut apart: Vec<_> = apart.collect();
        apart.sort_unstable_by_key(|(number, _)| **number);
        let apart = apart.into_iter().map(|(_, queued)| queued);
        let in_time_order = self.in_time_order.iter();
        saved::Federate {
            queue: self
                .queue
                .iter()
                .chain(apart)
                .filter_map(Queued::save)
                .collect(),
            in_time_order: in_time_order
                .filter_map(|(time, queued)| Some((time, queued.save()?)))
                .collect(),
            withholding: self.withholding,
            ended: self.ended,
        }
    }

    /// Begins again, empty: what waited at a save is to be put back.
    pub(crate) fn begin_again(&mut self, withholding: bool) {
        *self = Delivery::default();
        self.withhold(withholding);
    }

    /// The federate resigns: what waits is dropped, and all that would yet come.
    pub(crate) fn end(&mut self) {
        *self = Delivery {
            ended: true,
            dropped: self.dropped + self.data(),
            detour: true,
            ..Delivery::default()
        };
    }

    /// Reflections and interactions that wait.
    pub(crate) fn data(&self) -> u64 {
        let apart = self.in_receive_order.values().chain(self.others.values());
        let all = self.queue.iter().chain(apart);
        let all = all.chain(self.in_time_order.iter().map(|(_, queued)| queued));
        all.filter(|queued| queued.is_data()).count() as u64
    }

    /// Reflections and interactions that were not delivered since the federate resigned.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests;
