//! Random programs of time management together with all other rooms.
//!
//! Values, interactions and deletions carry numbers. Invariants, at every input of the executive:
//! - every GALT and LITS is the oracle's, and so is every grant; nothing that can be granted waits;
//! - no message comes to the executive that is too late for a federate.
//!
//! At every callback ([`own`]):
//! - what was sent comes once at most, with its time, in the order that follows from its sender's
//!   and its receiver's state; in time-stamp order none too late, none too early, none retracted;
//! - a grant comes behind all messages that it brings;
//! - receive order is withheld from who is constrained, does not advance and did not ask for it;
//! - where neither side's declarations have changed since all came to rest, what is subscribed comes
//!   and what is not does not.
//!
//! And when faults stop and all keep advancing: every advance is granted, all that must come has
//! come, whoever got a message that was retracted was asked to retract it, and nothing waits for what it
//! comes after.
//!
//! In one of eight subscriptions are judged when a message is delivered (Delay Subscription Evaluation): then a grant brings
//! of what was sent to a constrained federate what it subscribes by now, and nothing else.
//!
//! A third of them have a part of the management object model, which federates subscribe to ([`manage`]).

mod actions;
mod manage;
mod model;
mod own;

use crate::fom::source;
use crate::host::Host;
use crate::network::Network;
use crate::program::Report;
use model::{Message, Seen, whole};
use own::{Own, Sent, Source};
use starling_core::saved::ownership::TransferState;
use starling_core::{
    AttributeHandle, Callback, DataPath, FederateHandle, InteractionClassHandle, LogicalTime,
    MessageTime, ObjectClassHandle, ObjectInstanceHandle, Order, PeerId, TimeType, Transportation,
};
use starling_galt_oracle::{Kind, LAST};
use std::collections::{BTreeMap, BTreeSet};

const CLASSES: [&str; 2] = ["A", "A.B"];
const INTERACTIONS: [&str; 2] = ["I", "I.J"];

/// No later time is asked for: what may be sent after it lies in the oracle's range.
const END: i64 = LAST - 20;

/// An attribute's handle of HLAprivilegeToDeleteObject.
const PRIVILEGE: u32 = 1;

fn time(of: TimeType, value: i64) -> LogicalTime {
    match of {
        TimeType::Integer64 => LogicalTime::integer64(value),
        TimeType::Float64 => LogicalTime::float64(value as f64).expect("it is finite"),
    }
}

struct Run {
    draw: fastrand::Rng,
    of: TimeType,
    network: Network,
    seen: Seen,
    own: BTreeMap<FederateHandle, Own>,
    sent: BTreeMap<u64, Sent>,
    last: u64,
    retracted: BTreeSet<Message>,
    /// Their last requests may be lost.
    dead: BTreeSet<FederateHandle>,
    /// Instances whose ownership or existence has changed since all came to rest.
    disturbed: BTreeSet<ObjectInstanceHandle>,
    /// Who has deleted an instance.
    deleters: BTreeMap<ObjectInstanceHandle, BTreeSet<FederateHandle>>,
    /// There is a management object model.
    managed: bool,
}

/// Runs one seed for about `actions` service calls. Panics, naming what is wrong, if something is.
pub fn run(seed: u64, actions: usize) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let path = if draw.bool() {
        DataPath::Direct
    } else {
        DataPath::Executive
    };
    let of = match draw.u8(..3) {
        0 => TimeType::Float64,
        _ => TimeType::Integer64,
    };
    let mut run = Run {
        draw,
        of,
        network: Network::new(path, seed),
        seen: Seen::default(),
        own: BTreeMap::new(),
        sent: BTreeMap::new(),
        last: 0,
        retracted: BTreeSet::new(),
        dead: BTreeSet::new(),
        disturbed: BTreeSet::new(),
        deleters: BTreeMap::new(),
        managed: seed % 3 == 1,
    };
    run.network.slow = run.draw.u8(..6);
    run.network.batch = run.draw.u8(1..6);
    run.seen.delayed = seed % 8 == 5;
    let fom = if run.seen.delayed {
        run.count("subscriptions are judged at delivery");
        "timed and delayed"
    } else {
        "timed"
    };
    let mim = source(if run.managed {
        "managed mim"
    } else {
        "timed mim"
    });
    run.network
        .create_with_time(vec![source(fom)], Some(mim), of.name());
    run.count(of.name());
    while run.step() {}
    for _ in 0..3 {
        run.network.join(vec![]);
    }
    let patience = run.draw.usize(1..30);
    for _ in 0..actions {
        run.act();
        for _ in 0..run.draw.usize(..patience) {
            run.step();
        }
        if run.draw.u8(..50) == 0 && !run.rest() {
            break;
        }
    }
    run.rest();
    let (times, mut report) = (run.seen.times, run.network.report());
    report.count("grants", times.grants);
    let [next, flush] = times.passed_over;
    report.count("grants of next message passed over", next);
    report.count("grants of flush queue passed over", flush);
    let in_vain = times.granted_in_vain;
    report.count("flushes granted for what was retracted", in_vain);
    report
}

impl Run {
    fn count(&mut self, what: &'static str) {
        self.network.count(what);
    }

    fn step(&mut self) -> bool {
        let moved = self.network.step(&mut self.draw, &mut self.seen);
        if let Some(status) = self.network.executive.time_status("F") {
            self.seen.times.compare(&status, self.network.is_settled());
        }
        for new in std::mem::take(&mut self.seen.world.joined) {
            self.own.insert(new, Own::default());
            self.begin(new);
        }
        moved
    }

    fn own(&mut self, me: FederateHandle) -> &mut Own {
        self.own.get_mut(&me).expect("callers are there")
    }

    fn host(&self, me: FederateHandle) -> PeerId {
        let mut hosts = self.network.hosts.values();
        hosts.find(|h| h.handle == me).expect("it is there").peer
    }

    fn class_named(&self, peer: PeerId, name: &str) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.object_class_by_name(name).expect("it is in the FOM");
        (class.handle, class.attributes[1..].to_vec())
    }

    fn interaction_named(&self, peer: PeerId, name: &str) -> InteractionClassHandle {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.interaction_class_by_name(name);
        class.expect("it is in the FOM").handle
    }

    /// What an instance's attributes that this federate owns are.
    fn owned(&self, peer: PeerId, instance: ObjectInstanceHandle) -> Vec<AttributeHandle> {
        let federate = self.network.hosts[&peer].federate();
        federate.owned_attributes(instance).unwrap_or(&[]).to_vec()
    }

    /// Something new is sent; to whom it must come, or must not, follows.
    fn send(&mut self, sent: Sent, with: &[starling_core::RegionHandle]) -> u64 {
        self.last += 1;
        let id = self.last;
        let world = &self.seen.world;
        let ranges: Vec<_> = with.iter().map(|r| world.regions.get(r)).collect();
        // A region that the executive does not have yet: its owner is not settled either.
        let ranges: Option<Vec<_>> = ranges.into_iter().map(|r| r.cloned()).collect();
        let sender = sent.sender;
        let settled = self.own.get(&sender).is_some_and(|own| own.settled);
        let undisturbed = |i: ObjectInstanceHandle| !self.disturbed.contains(&i);
        let all = self.own.iter_mut();
        for (to, own) in all.filter(|(to, own)| **to != sender && own.settled && settled) {
            let Some(with) = &ranges else { continue };
            let gets = match sent.source {
                Source::Interaction(class) => Some(world.receives(*to, class, with).is_some()),
                Source::Attribute(instance, attribute) => {
                    let Some(class) = own.known.get(&instance) else {
                        continue;
                    };
                    let subscribed = world.members.get(to);
                    let subscribed = subscribed.and_then(|m| m.objects.get(&(*class, attribute)));
                    let counts = BTreeSet::from([1, 2, 3]);
                    let gets = subscribed.is_some_and(|s| s.gets(&world.regions, with, &counts));
                    let reduced = gets && own.rated && sent.order == Order::Receive;
                    (undisturbed(instance) && !reduced).then_some(gets)
                }
                Source::Removal(instance) => {
                    let known = own.known.contains_key(&instance);
                    (known && undisturbed(instance)).then_some(true)
                }
            };
            match gets {
                Some(true) => own.must.insert(id),
                Some(false) => own.never.insert(id),
                None => false,
            };
        }
        if self.seen.delayed && sent.order == Order::TimeStamp && !sent.with_regions {
            self.owe(id, &sent);
        }
        self.sent.insert(id, sent);
        id
    }

    /// It is for each to judge that was constrained when all came to rest, as all know by now.
    fn owe(&mut self, id: u64, sent: &Sent) {
        let Source::Interaction(class) = sent.source else {
            return;
        };
        let root = self.interaction_named(self.host(sent.sender), INTERACTIONS[0]);
        let all = self.own.iter_mut();
        for (_, own) in all.filter(|(to, own)| **to != sent.sender && own.is_long_constrained) {
            let hears = own.hears(&[class, root]);
            own.owed.insert(id, hears);
        }
    }

    /// What is under way of such numbers may come or not.
    fn leave_open(&mut self, open: impl Fn(&Sent) -> bool) {
        let sent = &self.sent;
        for own in self.own.values_mut() {
            own.must.retain(|id| !open(&sent[id]));
            own.never.retain(|id| !open(&sent[id]));
        }
    }

    /// Ownership or existence of an instance changes.
    fn disturb(&mut self, instance: ObjectInstanceHandle) {
        self.disturbed.insert(instance);
        self.leave_open(|sent| sent.source.instance() == Some(instance));
    }

    fn got(&mut self, me: FederateHandle, id: &[u8], source: Source, time: Option<&MessageTime>) {
        let id = u64::from_le_bytes(id.try_into().expect("it is 8 bytes"));
        let sent = &self.sent[&id];
        assert_eq!(sent.source, source, "{me} got {id} as something else");
        assert_ne!(sent.sender, me, "{me} hears itself");
        let timely = time.is_some_and(|t| t.received == Order::TimeStamp);
        if let Source::Interaction(class) = source {
            let hears = self.own[&me].hears(&self.lineage(me, class));
            assert_ne!(hears, Some(false), "{me} has unsubscribed {sent:?}");
        }
        let withdrawn = timely && self.seen.times.withdrawn.contains(&(me, id));
        assert!(!withdrawn, "{me} got {id}, which was retracted: {sent:?}");
        let own = self.own.get_mut(&me).expect("callbacks come to the living");
        own.got(me, id, sent, time);
    }

    /// The class and those above it.
    fn lineage(
        &self,
        me: FederateHandle,
        class: InteractionClassHandle,
    ) -> [InteractionClassHandle; 2] {
        [
            class,
            self.interaction_named(self.host(me), INTERACTIONS[0]),
        ]
    }

    /// What a grant brings has come by now.
    fn brought(&mut self, me: FederateHandle, time: i64) {
        let in_vain = self.seen.times.take_in_vain(me) && self.own[&me].view.constrained;
        assert!(!in_vain, "{me} flushes to what was retracted");
        let brought = self.seen.times.take_brought(me);
        let must = &self.own[&me].must;
        let missing = brought.iter().filter(|id| must.contains(id));
        let missing: Vec<_> = missing.map(|id| &self.sent[id]).collect();
        assert!(missing.is_empty(), "{me} is granted before {missing:?}");
        self.judged(me, time);
    }

    /// What subscriptions are judged for at delivery, up to the time that is granted.
    fn judged(&mut self, me: FederateHandle, time: i64) {
        let own = self.own.get_mut(&me).expect("callbacks come to the living");
        let sent = &self.sent;
        let (due, later): (BTreeMap<_, _>, _) = std::mem::take(&mut own.owed)
            .into_iter()
            .partition(|(id, _)| sent[id].stamp <= Some(time));
        own.owed = later;
        let kind = own.view.request.map(|(kind, _)| kind);
        if kind == Some(Kind::Fqr) {
            // What else there was is judged, too, as far as the executive had it.
            own.owed.clear();
        }
        for (id, heard) in due {
            let sent = &self.sent[&id];
            let Source::Interaction(class) = sent.source else {
                continue;
            };
            let taken_back = sent.message.is_some_and(|m| self.retracted.contains(&m));
            let lineage = self.lineage(me, class);
            let own = &self.own[&me];
            if taken_back || own.resubscribed {
                continue;
            }
            let (hears, came) = (own.hears(&lineage), own.has(id));
            // More may yet come at that time itself.
            let has_all = sent.stamp < Some(time) || matches!(kind, Some(Kind::Tar | Kind::Nmr));
            if let Some(hears) = hears.filter(|_| has_all) {
                assert_eq!(came, hears, "{me} is granted {time}: {id}, {sent:?}");
            }
            match (heard, came) {
                (Some(false), true) => self.count("subscribed since it was sent"),
                (Some(true), false) => self.count("not subscribed any more"),
                _ => {}
            }
        }
    }

    fn callbacks(&mut self, peer: PeerId, me: FederateHandle, most: usize) {
        for _ in 0..most {
            let Some(callback) = self.network.next_callback(peer) else {
                break;
            };
            self.callback(peer, me, &callback);
        }
    }

    fn callback(&mut self, peer: PeerId, me: FederateHandle, callback: &Callback) {
        if self.is_of_rti(peer, me, callback) {
            return;
        }
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } => {
                let twice = self.own(me).known.insert(*instance, *class);
                assert_eq!(twice, None, "{me} discovers {instance} twice");
            }
            Callback::RemoveObjectInstance {
                instance,
                tag,
                time,
                ..
            } => {
                let known = self.own(me).known.contains_key(instance);
                assert!(known, "{me} does not know {instance}, which is removed");
                if !tag.is_empty() {
                    self.got(me, tag, Source::Removal(*instance), time.as_deref());
                }
                self.forgets(me, *instance);
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                transportation,
                time,
                ..
            } => {
                let known = self.own(me).known.contains_key(instance);
                assert!(known, "{me} reflects {instance} unknown");
                for (attribute, value) in values.iter() {
                    let source = Source::Attribute(*instance, attribute);
                    self.got(me, value, source, time.as_deref());
                }
                if *transportation == Transportation::BestEffort {
                    self.count("best effort");
                }
                self.count_order(time.as_deref());
            }
            Callback::ReceiveInteraction { values, time, .. } => {
                let (_, value) = values.iter().next().expect("I has a parameter");
                let (class, id) = value.split_at(4);
                let class = u32::from_le_bytes(class.try_into().expect("it is 4 bytes"));
                let class = InteractionClassHandle::from_raw(class);
                self.got(me, id, Source::Interaction(class), time.as_deref());
                self.count_order(time.as_deref());
            }
            Callback::TimeAdvanceGrant { time } => {
                self.brought(me, whole(*time));
                self.own(me).granted(me, whole(*time));
            }
            Callback::TimeRegulationEnabled { time } => {
                self.brought(me, whole(*time));
                let first = self.seen.times.first_regulating(me);
                self.own(me).regulates(whole(*time), first);
            }
            Callback::TimeConstrainedEnabled { time } => {
                let own = self.own(me);
                assert_eq!(whole(*time), own.view.time, "{me} is constrained");
                assert!(std::mem::take(&mut own.constraining), "{me} has not asked");
                (own.view.constrained, own.view.over) = (true, false);
            }
            Callback::RequestRetraction { message } => {
                let message = (message.sender(), message.number());
                assert!(self.retracted.contains(&message), "{message:?} was not");
                let asked = self.own(me).messages.get_mut(&message);
                let asked = asked.unwrap_or_else(|| panic!("{me} never got {message:?}"));
                let twice = std::mem::replace(asked, true);
                assert!(!twice, "{me} is asked twice to retract {message:?}");
            }
            Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                attributes,
                ..
            } => {
                self.disturb(*instance);
                let own = self.own(me);
                for a in attributes {
                    own.attribute_orders.remove(&(*instance, *a));
                    own.associated.remove(&(*instance, *a));
                }
            }
            Callback::RequestAttributeOwnershipRelease {
                instance,
                attributes,
                ..
            } => self.release(peer, me, *instance, attributes),
            _ => {}
        }
    }

    fn count_order(&mut self, time: Option<&MessageTime>) {
        self.count(match time.map(|t| (t.sent, t.received)) {
            None => "without time",
            Some((Order::TimeStamp, Order::TimeStamp)) => "in time-stamp order",
            Some((Order::TimeStamp, Order::Receive)) => "in time-stamp order, got in receive order",
            Some((Order::Receive, _)) => "in receive order with a time",
        });
    }

    fn forgets(&mut self, me: FederateHandle, instance: ObjectInstanceHandle) {
        let own = self.own.get_mut(&me).expect("callers are there");
        own.known.remove(&instance);
        own.associated.retain(|(i, _), _| *i != instance);
        own.attribute_orders.retain(|(i, _), _| *i != instance);
        let of_it = |id: &u64| self.sent[id].source.instance() == Some(instance);
        own.must.retain(|id| !of_it(id));
        own.never.retain(|id| !of_it(id));
    }

    /// Lets everything arrive until nobody has anything to take.
    fn drain(&mut self) {
        loop {
            while self.step() {}
            let hosts = self.network.hosts.values().filter(|h| !h.resigning);
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            let before = self.network.report.callbacks;
            for (peer, me) in hosts {
                self.callbacks(peer, me, usize::MAX);
            }
            if !self.step() && self.network.report.callbacks == before {
                return;
            }
        }
    }

    /// Faults stop, and all who take part in time advance until all are at one time: every advance
    /// is granted, and all that must have come by then has. Whether there is time left after that.
    fn rest(&mut self) -> bool {
        self.network.stalled.clear();
        let mut granted = self.seen.times.grants;
        let to = loop {
            self.drain();
            let to = self.seen.times.latest();
            let hosts = self.network.hosts.values().filter(|h| !h.resigning);
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            let mut asked = false;
            for (peer, me) in hosts {
                let own = &self.own[&me];
                let f = &own.view;
                let waits = f.request.is_some() || own.enabling.is_some() || own.constraining;
                let partakes = f.regulating || f.constrained;
                // At that time, too, it goes on to where nothing more can come to others, and
                // nothing more to it: once constrained at a time, it may get messages of this time.
                let open = !f.spent || (f.constrained && !f.over);
                if !waits && partakes && (f.time < to || open) {
                    let nmr = f.time < to && self.draw.bool();
                    self.ask(peer, me, if nmr { Kind::Nmr } else { Kind::Tar }, to);
                    asked = true;
                }
            }
            let before = std::mem::replace(&mut granted, self.seen.times.grants);
            if !asked && before == granted {
                break to;
            }
        };
        for (me, own) in &self.own {
            let waits = (own.view.request, own.enabling, own.constraining);
            assert_eq!(waits, (None, None, false), "{me} waits for ever");
        }
        self.at_rest();
        to < END
    }

    fn at_rest(&mut self) {
        let living: BTreeSet<_> = self.network.hosts.values().map(|h| h.handle).collect();
        self.network
            .hosts
            .values()
            .for_each(Host::waits_for_nothing);
        for (me, own) in self.own.iter_mut().filter(|(me, _)| living.contains(me)) {
            let waits = |id: &&u64| {
                let sent = &self.sent[*id];
                let later = sent.stamp.is_some_and(|t| t > own.view.time);
                let withheld = match sent.order {
                    Order::TimeStamp => own.view.constrained && later,
                    Order::Receive => own.withholds(),
                };
                !withheld && !sent.message.is_some_and(|m| self.retracted.contains(&m))
            };
            let missing = own.must.iter().find(waits);
            if let Some(id) = missing {
                panic!("{me} lacks {id}: {:?}, at {}", self.sent[id], own.view.time);
            }
            for (message, asked) in &own.messages {
                let retracted = self.retracted.contains(message);
                let lost = retracted && self.dead.contains(&message.0);
                assert!(
                    *asked == retracted || lost,
                    "{me}: {message:?} is asked back"
                );
            }
            own.settled = true;
            own.is_long_constrained = own.view.constrained;
        }
        self.same_owners();
        self.disturbed.clear();
        if self.managed {
            self.look_at_what_was_told(&living);
        }
        self.count("came to rest");
    }

    /// What each federate owns and wants of what it knows is what the executive has it own and want, and whoever owns
    /// anything is there.
    fn same_owners(&self) {
        let executive = self.network.executive.save("F").expect("it is there");
        let there = &executive.object.instances;
        for (instance, known) in there {
            let owners = known.owners.iter().flatten();
            let mut owners = owners.filter_map(|owner| owner.federate());
            let gone = owners.find(|f| !executive.federation.members.contains_key(f));
            assert_eq!(gone, None, "{instance} is owned by who has left");
        }
        for host in self.network.hosts.values().filter(|h| !h.resigning) {
            let (me, federate) = (host.handle, host.federate());
            let part = federate.save();
            // What is removed is withheld at most.
            let known = part.object.instances.iter().filter(|(_, i)| !i.removed);
            for (instance, known) in known {
                let owners = &there[instance].owners;
                let class = federate.model().object_class(known.registered_class);
                let attributes = &class.expect("it is in the FDD").attributes;
                let mine = attributes.iter().zip(owners);
                let mine = mine.filter(|(_, owner)| **owner == Some(me.into()));
                let mut mine: Vec<_> = mine.map(|(attribute, _)| *attribute).collect();
                mine.sort_unstable();
                assert_eq!(known.owned, mine, "{me} owns of {instance}");
            }
            let wants = part.ownership.transfers.iter();
            let wants = wants.filter(|(_, t)| t.state != TransferState::Divesting);
            for (of, transfer) in wants {
                let known = part.object.instances.get(&of.0);
                let there = executive.ownership.transfers.get(of);
                let mut candidates = there.into_iter().flat_map(|t| &t.candidates);
                let waits = candidates.any(|c| c.federate == me);
                let removed = known.is_none_or(|i| i.removed);
                assert!(
                    waits || removed,
                    "{me} waits for {of:?} for ever: {transfer:?}"
                );
            }
        }
    }
}
