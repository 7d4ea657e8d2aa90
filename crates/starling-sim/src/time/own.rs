//! A living federate, as it has called and was told: what it may do, and what may come to it.

use super::model::{Message, whole};
use crate::observe::Observer;
use starling_core::{
    AttributeHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle, MessageTime,
    ObjectClassHandle, ObjectInstanceHandle, Order, RegionHandle,
};
use starling_galt_oracle::{self as oracle, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// What carries numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Attribute(ObjectInstanceHandle, AttributeHandle),
    Interaction(InteractionClassHandle),
    Removal(ObjectInstanceHandle),
}

impl Source {
    pub(super) fn instance(self) -> Option<ObjectInstanceHandle> {
        match self {
            Source::Attribute(instance, _) | Source::Removal(instance) => Some(instance),
            Source::Interaction(_) => None,
        }
    }
}

/// Something that was sent: an attribute's value, an interaction, or a deletion.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) sender: FederateHandle,
    pub(super) source: Source,
    /// Its time stamp, and the order in which it was sent.
    pub(super) stamp: Option<i64>,
    pub(super) order: Order,
    pub(super) with_regions: bool,
    /// What it is, or is part of, in time-stamp order.
    pub(super) message: Option<Message>,
}

/// A message of one's own in time-stamp order.
pub(super) struct Retractable {
    pub(super) handle: MessageRetractionHandle,
    pub(super) stamp: i64,
    pub(super) deletes: Option<(ObjectInstanceHandle, ObjectClassHandle)>,
    pub(super) retracted: bool,
}

#[derive(Default)]
pub(super) struct Own {
    /// Its own time, as called and told.
    pub(super) view: oracle::Federate,
    /// Regulation was asked for with this lookahead.
    pub(super) enabling: Option<i64>,
    pub(super) constraining: bool,
    pub(super) asynchronous: bool,
    /// The time stamps that came in time-stamp order since the last grant.
    came: Vec<i64>,
    pub(super) known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// It subscribes at a rate.
    pub(super) rated: bool,
    /// Nothing of its declarations has changed since all came to rest, and it was there then.
    pub(super) settled: bool,
    pub(super) regions: BTreeMap<RegionHandle, bool>,
    pub(super) associated:
        BTreeMap<(ObjectInstanceHandle, AttributeHandle), BTreeSet<RegionHandle>>,
    pub(super) attribute_orders: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Order>,
    pub(super) interaction_orders: BTreeMap<InteractionClassHandle, Order>,
    pub(super) sent: Vec<Retractable>,
    got: BTreeSet<u64>,
    /// Messages in time-stamp order that came, and whether they were asked back.
    pub(super) messages: BTreeMap<Message, bool>,
    last: BTreeMap<(FederateHandle, Source), u64>,
    /// Whether it subscribes to interactions, as it has called, and whether it may with regions.
    interactions: BTreeMap<InteractionClassHandle, (bool, bool)>,
    /// That has changed since it last asked for something of time.
    pub(super) resubscribed: bool,
    /// It was constrained when all came to rest, and is.
    pub(super) is_long_constrained: bool,
    /// Messages that it judges itself when they are delivered, and whether it subscribed when they were sent.
    pub(super) owed: BTreeMap<u64, Option<bool>>,
    /// What must yet come, and what must not.
    pub(super) must: BTreeSet<u64>,
    pub(super) never: BTreeSet<u64>,
    /// It takes no callbacks for so many actions.
    pub(super) asleep: u32,
    pub(super) observer: Observer,
}

impl Own {
    /// Its declarations change: what is under way to it may come or not.
    pub(super) fn unsettle(&mut self) {
        self.settled = false;
        self.must.clear();
        self.never.clear();
    }

    /// Whether it subscribes to one of these; none: that can't be told.
    pub(super) fn hears(&self, classes: &[InteractionClassHandle]) -> Option<bool> {
        let of = classes
            .iter()
            .filter_map(|class| self.interactions.get(class));
        let (plainly, all) = of.fold((false, false), |(one, any), of| (one | of.0, any | of.1));
        (plainly || !all).then_some(plainly)
    }

    /// It subscribes to interactions, or with regions only, or not any more.
    pub(super) fn subscribes(&mut self, class: InteractionClassHandle, choice: Option<bool>) {
        let (plainly, with_regions) = self.interactions.entry(class).or_default();
        match choice {
            Some(choice) => *plainly = choice,
            None => *with_regions = true,
        }
        self.resubscribed = true;
    }

    pub(super) fn has(&self, id: u64) -> bool {
        self.got.contains(&id)
    }

    /// The first point that it may use: while it advances counted from the time asked for.
    pub(super) fn first_point(&self) -> i64 {
        let mut view = self.view.clone();
        if let Some((kind @ Kind::Fqr, _)) = &mut view.request {
            *kind = Kind::Tara;
        }
        view.first_point()
    }

    /// Whether receive order is withheld from it (8.1).
    pub(super) fn withholds(&self) -> bool {
        self.view.constrained && !self.asynchronous && self.view.request.is_none()
    }

    /// Asks for an advance.
    pub(super) fn ask(&mut self, kind: Kind, to: i64) {
        self.view.keep_promise();
        self.view.request = Some((kind, to));
        self.resubscribed = false;
        self.came.clear();
    }

    /// Time Advance Grant.
    pub(super) fn granted(&mut self, me: FederateHandle, time: i64) {
        let (kind, to) = self.view.request.expect("a grant was asked for");
        assert!(
            self.view.time <= time && time <= to,
            "{me} asked for {to} and is granted {time}"
        );
        let came = std::mem::take(&mut self.came);
        let next_message = matches!(kind, Kind::Nmr | Kind::Nmra);
        match kind {
            Kind::Fqr => assert!(came.iter().all(|t| *t >= time), "{me} flushes to {time}"),
            _ => assert!(came.iter().all(|t| *t <= time), "{me} got {came:?}"),
        }
        if next_message && self.view.constrained {
            assert!(came.iter().all(|t| *t == time), "{me} got {came:?}");
        }
        oracle::advance(&mut self.view, time);
        self.view.queue.clear();
    }

    /// Time Regulation Enabled.
    pub(super) fn regulates(&mut self, time: i64, first: i64) {
        self.came.clear();
        let f = &mut self.view;
        f.over &= f.time == time;
        (f.time, f.regulating, f.floor, f.spent) = (time, true, first, false);
        f.lookahead = self.enabling.take().expect("regulation was asked for");
    }

    /// Something has come: just once, as it was sent, in its order.
    pub(super) fn got(
        &mut self,
        me: FederateHandle,
        id: u64,
        sent: &Sent,
        time: Option<&MessageTime>,
    ) {
        let what = || format!("{me} at {} got {id}, {sent:?}, as {time:?}", self.view.time);
        assert!(!self.got.contains(&id), "twice: {}", what());
        assert!(!self.never.contains(&id), "not subscribed: {}", what());
        assert_eq!(time.map(|t| whole(t.time)), sent.stamp, "{}", what());
        let sent_order = time.map_or(Order::Receive, |t| t.sent);
        assert_eq!(sent_order, sent.order, "{}", what());
        let received = time.map_or(Order::Receive, |t| t.received);
        let timely = sent.order == Order::TimeStamp && self.view.constrained;
        assert_eq!(received == Order::TimeStamp, timely, "{}", what());
        if let Some((sender, number)) = sent.message {
            let handle = time.map(|t| t.retraction);
            assert_eq!(handle, Some(MessageRetractionHandle::new(sender, number)));
        }
        if timely {
            let stamp = sent.stamp.expect("it has a time");
            let late = stamp < self.view.time || (self.view.over && stamp == self.view.time);
            assert!(!late, "too late: {}", what());
            let advancing = match self.view.request {
                Some((Kind::Fqr, _)) => true,
                Some((_, to)) => stamp <= to,
                None => self.enabling.is_some(),
            };
            assert!(advancing, "too early: {}", what());
            let last = self.came.last().copied();
            assert!(last <= Some(stamp), "after {last:?}: {}", what());
            self.came.push(stamp);
        } else {
            assert!(!self.withholds(), "withheld: {}", what());
        }
        if sent.order == Order::Receive {
            let last = self.last.insert((sent.sender, sent.source), id);
            assert!(last < Some(id), "after {last:?}: {me} got {id} of {sent:?}");
        }
        self.got.insert(id);
        self.must.remove(&id);
        if let Some(message) = sent.message {
            self.messages.entry(message).or_insert(false);
        }
    }
}
