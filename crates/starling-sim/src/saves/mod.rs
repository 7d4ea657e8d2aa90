//! Random programs of all rooms with saves and restores, deaths and late joiners; with a part of the
//! management object model, too, if that is asked for ([`manage`]).
//!
//! The model of what each federate has and waits for is kept by its handle, taken at the cut of a save
//! (when the executive asks for the parts), and put back when the executive is restored. Invariants:
//! - all federates that are told the outcome of a save are told the same, and what is told as saved was
//!   written;
//! - a restored executive has what it had at the save, and each federate says of itself what the model
//!   says of it ([`rooms`]);
//! - no message that was retracted comes to be asked back but for a reason, and handles of messages hold
//!   again what they held at the save;
//! - a message comes once at most, and none that was sent behind the save that is restored;
//! - what was sent after a deletion comes behind the removal;
//! - a constrained federate that is instructed to save at a time has all messages in time-stamp order that were sent to it
//!   up to there, and none beyond, and none up to there comes behind ([`schedule`]);
//! - while it saves or is restored, a federate may call nothing else.
//!
//! And when faults stop, all are complete and all keep advancing: every save and restore ends, every
//! advance is granted, what must have come has, what was under way at the save too, and each federate
//! knows the instances that the executive says it knows.

mod actions;
mod attributes;
mod manage;
mod rooms;
mod schedule;

use crate::fom::source;
use crate::network::Network;
use crate::program::Report;
use crate::watch::Watch;
use attributes::Place;
use rooms::Rooms;
use schedule::Come;
use starling_core::message::{DataBody, EntryBody, Request, federation, save};
use starling_core::{
    Archive, Archived, Callback, DataPath, Exception, ExceptionKind, FederateHandle, LogicalTime,
    LogicalTimeInterval, MessageRetractionHandle, ObjectInstanceHandle, ObjectModel, Owner, PeerId,
    SavedFederation, Transportation, saved,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the network tells.
#[derive(Default)]
struct Seen {
    joined: Vec<FederateHandle>,
    cut: bool,
    restored: bool,
    /// What was lost on its way to one, or to all: numbers of messages.
    dropped: Vec<(Option<FederateHandle>, u64)>,
}

impl Watch for Seen {
    fn joined(&mut self, handle: FederateHandle, _: &ObjectModel) {
        self.joined.push(handle);
    }

    fn died(&mut self, _: FederateHandle) {}

    fn lost(&mut self, _: FederateHandle) {}

    fn ordered(&mut self, _: FederateHandle, _: &Request) {}

    fn told(&mut self, _: FederateHandle, body: &EntryBody) {
        let part = federation::Entry::Save(save::Entry::TakePart);
        self.cut |= *body == EntryBody::Federation(part);
    }

    fn restored(&mut self) {
        self.restored = true;
    }

    fn dropped(&mut self, _: FederateHandle, to: Option<FederateHandle>, body: &DataBody<'_>) {
        let first = body.payload().and_then(|p| p.values.iter().next());
        let number = first.and_then(|(_, id)| Some(u64::from_le_bytes(id.try_into().ok()?)));
        self.dropped.extend(number.map(|number| (to, number)));
    }
}

/// How far a federate is, by its calls and the callbacks delivered to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    None,
    Told,
    Begun,
    Complete,
}

/// The services that ask for an advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    TimeAdvance,
    NextMessage,
    Flush,
}

/// A federate as its program knows it.
#[derive(Clone, Debug, Default)]
struct Own {
    known: BTreeSet<ObjectInstanceHandle>,
    /// Messages that have come.
    got: BTreeSet<u64>,
    /// Messages that must.
    must: BTreeSet<u64>,
    /// All others have heard of its subscriptions.
    settled: bool,
    time: i64,
    /// Asked for, and in effect while it regulates.
    lookahead: i64,
    regulating: bool,
    constrained: bool,
    come: Come,
    /// It waits for its regulation, its constraint, an advance to there.
    enabling: (bool, bool),
    advancing: Option<i64>,
    /// By which service.
    by: By,
    saving: Option<String>,
    save: Stage,
    restore: Stage,
    rooms: Rooms,
}

/// Everything of the model that is restored.
#[derive(Clone, Default)]
struct Model {
    own: BTreeMap<FederateHandle, Own>,
    /// Messages that were sent in what a restore has undone.
    void: BTreeSet<u64>,
    retracted: BTreeSet<MessageRetractionHandle>,
    /// Instances that were deleted: by whom, and the last message that was sent before.
    deleted: BTreeMap<ObjectInstanceHandle, (FederateHandle, u64)>,
    /// The last message that was sent.
    last: u64,
}

struct Run {
    draw: fastrand::Rng,
    network: Network,
    seen: Seen,
    model: Model,
    /// Of the save whose parts are on their way.
    cut: Option<Model>,
    /// By label.
    kept: BTreeMap<String, (SavedFederation, Model)>,
    tasks: Vec<Archive>,
    /// The label that was read last.
    read: String,
    sent: BTreeMap<u64, (FederateHandle, Option<i64>)>,
    /// Of those, what went out in time-stamp order.
    timely: BTreeSet<u64>,
    /// What was sent, by what its sender had called until then.
    how: BTreeMap<u64, How>,
    outcomes: BTreeMap<String, bool>,
    labels: u64,
    /// The latest time that a save was asked for, or a message sent with.
    latest: i64,
    /// Its times are HLAfloat64Time.
    floats: bool,
    /// There is a management object model.
    managed: bool,
    /// Since the executive began.
    now: Duration,
    /// Links between federates stand still at times.
    stands_still: bool,
    /// Draws lookaheads; none: all are one.
    lookaheads: Option<fastrand::Rng>,
}

/// How a message must come: as its sender's own requests have it, until they are confirmed as before.
#[derive(Clone, Copy, Debug)]
struct How {
    /// Of an update.
    place: Option<Place>,
    /// If that is not as the FDD says.
    transportation: Option<Transportation>,
}

impl How {
    /// A message is told so to a federate.
    fn comes(self, me: FederateHandle, id: u64, place: Option<Place>, by: Transportation) {
        assert_eq!(self.place, place, "{me} gets {id} as something else");
        if let Some(transportation) = self.transportation {
            assert_eq!(transportation, by, "{me} gets {id}");
        }
    }
}

fn interval(floats: bool, value: i64) -> LogicalTimeInterval {
    if floats {
        LogicalTimeInterval::float64(value as f64).expect("it is a number")
    } else {
        LogicalTimeInterval::integer64(value)
    }
}

fn at(floats: bool, value: i64) -> LogicalTime {
    if floats {
        LogicalTime::float64(value as f64).expect("it is finite")
    } else {
        LogicalTime::integer64(value)
    }
}

/// The time, or the next whole one: regulation may be enabled just behind a time.
fn whole_or_next(time: LogicalTime) -> i64 {
    let float = || time.as_float64().expect("it is of one of the two types");
    time.as_integer64().unwrap_or_else(|| float().ceil() as i64)
}

/// But for how often the RTI has updated its own instances: of a restore it tells at once.
fn without_own_updates(of: &saved::object::Execution) -> saved::object::Execution {
    let mut of = of.clone();
    let own = of.instances.iter_mut();
    let own = own.filter(|(instance, _)| instance.registrar() == Owner::Rti);
    own.for_each(|(_, instance)| instance.updates = 0);
    of
}

/// Runs one seed for about `actions` service calls. Panics, naming what is wrong, if something is.
pub fn run(seed: u64, actions: usize) -> Report {
    run_with(seed, actions, false)
}

/// The same with a management object model, which federates have adjust and report what they do.
pub fn run_managed(seed: u64, actions: usize) -> Report {
    run_with(seed, actions, true)
}

fn run_with(seed: u64, actions: usize, managed: bool) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let (path, floats) = (draw.bool(), draw.bool());
    let path = if path {
        DataPath::Direct
    } else {
        DataPath::Executive
    };
    let mut run = Run {
        draw,
        network: Network::new(path, seed),
        seen: Seen::default(),
        model: Model::default(),
        cut: None,
        kept: BTreeMap::new(),
        tasks: Vec::new(),
        read: String::new(),
        sent: BTreeMap::new(),
        timely: BTreeSet::new(),
        how: BTreeMap::new(),
        outcomes: BTreeMap::new(),
        labels: 0,
        latest: 0,
        floats,
        managed,
        now: Duration::ZERO,
        stands_still: false,
        lookaheads: None,
    };
    run.network.batch = run.draw.u8(1..6);
    let modules = vec![source("timed")];
    let mim = Some(source(if managed { "managed mim" } else { "timed mim" }));
    let time = if floats {
        "HLAfloat64Time"
    } else {
        "HLAinteger64Time"
    };
    run.count(time);
    run.network.slow = run.draw.u8(..6);
    run.network.faults = fastrand::Rng::with_seed(seed.rotate_left(32));
    run.network.lossy = [0, 0, 8, 64][run.network.faults.usize(..4)];
    run.stands_still = run.network.faults.bool();
    let mut lookaheads = fastrand::Rng::with_seed(seed.rotate_left(8));
    run.lookaheads = lookaheads.bool().then_some(lookaheads);
    run.network.create_with_time(modules, mim, time);
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
        if run.draw.u8(..40) == 0 {
            run.rest();
        }
    }
    run.rest();
    run.network.report()
}

impl Run {
    fn count(&mut self, what: &'static str) {
        self.network.count(what);
    }

    fn step(&mut self) -> bool {
        let mut moved = self.network.step(&mut self.draw, &mut self.seen);
        self.look();
        self.decide();
        while let Some(task) = self.network.executive.poll_archive() {
            self.tasks.push(task);
        }
        // The disk takes its time.
        if !self.tasks.is_empty() && (!moved || self.draw.u8(..20) == 0) {
            self.archive();
            self.look();
            moved = true;
        }
        moved
    }

    /// What the last input of the executive has brought about.
    fn look(&mut self) {
        for new in std::mem::take(&mut self.seen.joined) {
            self.model.own.insert(new, Own::default());
            self.begin(new);
        }
        for (to, id) in std::mem::take(&mut self.seen.dropped) {
            for model in [Some(&mut self.model), self.cut.as_mut()]
                .into_iter()
                .flatten()
            {
                let those = model.own.iter_mut();
                let those = those.filter(|(me, _)| to.is_none_or(|to| to == **me));
                those.for_each(|(_, own)| {
                    own.must.remove(&id);
                });
            }
        }
        if std::mem::take(&mut self.seen.cut) {
            self.cut = Some(self.model.clone());
        }
        if std::mem::take(&mut self.seen.restored) {
            self.restored();
        }
    }

    fn archive(&mut self) {
        let task = self.tasks.remove(0);
        let done = match &task.write {
            Some(_) if self.draw.u8(..8) == 0 => {
                self.count("fault: a save that can't be written");
                Err("the disk is full".to_owned())
            }
            Some(saved) => {
                let mut bytes = Vec::new();
                starling_wire::put_save(&mut bytes, saved);
                let saved = starling_wire::decode_save(&bytes).expect("what was just encoded");
                // Else rtiexec would not write it.
                saved
                    .require_whole()
                    .expect("what is saved can be restored");
                let model = self.cut.take().expect("parts were asked for");
                self.kept.insert(task.label.clone(), (saved, model));
                Ok(Archived::Written)
            }
            None => match self.kept.get(&task.label) {
                Some((saved, _)) => {
                    self.read.clone_from(&task.label);
                    Ok(Archived::Read(Box::new(saved.clone())))
                }
                None => Err("there is no such save".to_owned()),
            },
        };
        let Archive {
            execution, number, ..
        } = task;
        self.network
            .archived((execution, number), done, &mut self.seen);
    }

    fn restored(&mut self) {
        self.count("restored");
        let (saved, model) = &self.kept[&self.read];
        let now = self.network.executive.save("F").expect("it is there");
        let then = &saved.execution;
        let mut members = then.federation.members.clone();
        let points = &now.federation.synchronization_points;
        assert_eq!(*points, then.federation.synchronization_points);
        assert_eq!(now.declaration, then.declaration);
        assert_eq!(
            without_own_updates(&now.object),
            without_own_updates(&then.object)
        );
        assert_eq!(now.ownership, then.ownership);
        assert_eq!(now.ddm, then.ddm);
        assert_eq!(now.mom, then.mom);
        let mut model = model.clone();
        for (federate, part) in &saved.federates {
            // It may have set it since the executive's part was taken.
            let directive = part.federation.resign_directive;
            members
                .get_mut(federate)
                .expect("a member")
                .resign_directive = directive;
            model
                .own
                .get_mut(federate)
                .expect("a member")
                .rooms
                .directive = Some(directive);
        }
        assert_eq!(now.federation.members, members);
        model.void.extend(model.last + 1..=self.model.last);
        model.last = self.model.last;
        for own in model.own.values_mut() {
            (own.save, own.saving) = (Stage::None, None);
            own.restore = Stage::Complete;
            own.rooms.managed.observer.is_restored();
        }
        self.model = model;
        self.cut = None;
        self.compare_managed();
    }

    fn host(&self, me: FederateHandle) -> Option<PeerId> {
        let mut hosts = self.network.hosts.values();
        Some(hosts.find(|h| h.handle == me)?.peer)
    }

    /// A joiner subscribes to everything, publishes it, and most take part in time.
    fn begin(&mut self, me: FederateHandle) {
        let Some(peer) = self.host(me) else { return };
        let (regulates, is_constrained) = (self.draw.bool(), self.draw.bool());
        let lookahead = self.lookaheads.as_mut().map_or(1, |draw| draw.i64(0..12));
        let asked = interval(self.floats, lookahead);
        let done = self.network.call(peer, |f| {
            let class = f.object_class_handle("A")?;
            let attributes = ["a1", "a2"].map(|n| f.attribute_handle(class, n));
            let [a, b] = attributes;
            let attributes = [a?, b?];
            f.publish_object_class_attributes(class, &attributes)?;
            f.subscribe_object_class_attributes(class, &attributes, true, "")?;
            let interaction = f.interaction_class_handle("I")?;
            f.publish_interaction_class(interaction)?;
            f.subscribe_interaction_class(interaction, true)?;
            if regulates {
                f.enable_time_regulation(asked)?;
            }
            if is_constrained {
                // So that receive order comes at rest, too.
                f.enable_asynchronous_delivery()?;
                f.enable_time_constrained()?;
            }
            f.register_object_instance(class, None)
        });
        let instance = done.unwrap_or_else(|e| panic!("{me} can't begin: {e}"));
        let own = self.own(me);
        own.enabling = (regulates, is_constrained);
        own.lookahead = lookahead;
        self.registered(peer, me, instance);
        if self.managed {
            self.begin_managed(peer, me);
        }
    }

    fn registered(&mut self, peer: PeerId, me: FederateHandle, instance: ObjectInstanceHandle) {
        let federate = self.network.hosts[&peer].federate();
        let owned = federate.owned_attributes(instance).expect("it is its own");
        let owned = owned.iter().copied().collect();
        let own = self.own(me);
        own.known.insert(instance);
        own.rooms.owned.insert(instance, owned);
    }

    fn own(&mut self, me: FederateHandle) -> &mut Own {
        self.model.own.get_mut(&me).expect("callers are there")
    }

    /// Whether a call that a save or a restore forbids was refused for that, and only then.
    fn allowed<T>(&self, me: FederateHandle, done: Result<T, Exception>) -> Option<T> {
        let own = &self.model.own[&me];
        match done {
            Err(e) if own.save != Stage::None => assert_eq!(e.kind, ExceptionKind::SaveInProgress),
            Err(e) if own.restore != Stage::None => {
                assert_eq!(e.kind, ExceptionKind::RestoreInProgress);
            }
            Err(e) => panic!("{me}: {e}"),
            Ok(done) => {
                let stages = (own.save, own.restore);
                assert_eq!(stages, (Stage::None, Stage::None), "{me} may not call that");
                return Some(done);
            }
        }
        None
    }

    /// Whether any was delivered.
    fn callbacks(&mut self, peer: PeerId, most: usize) -> bool {
        for n in 0..most {
            let me = self.network.hosts[&peer].handle;
            if !self.model.own.contains_key(&me) {
                return n > 0;
            }
            let Some(callback) = self.network.next_callback(peer) else {
                return n > 0;
            };
            self.callback(peer, me, callback);
        }
        true
    }

    fn callback(&mut self, peer: PeerId, me: FederateHandle, callback: Callback) {
        let mut outcome = None;
        let (void, retracted) = (&self.model.void, &self.model.retracted);
        let overtaken = |id: u64, known: &BTreeSet<_>| {
            let (sender, _) = self.sent[&id];
            let by = |i: &_| self.model.deleted.get(i).copied();
            let before = |i: &_| by(i).is_some_and(|(by, last)| by == sender && last < id);
            let there = known.iter().find(|i| before(i));
            assert_eq!(
                there, None,
                "{me} got {id} before what its sender deleted went"
            );
        };
        let (mut restored, mut granted, mut told) = (false, false, None);
        let own = self.model.own.get_mut(&me).expect("callers are there");
        let model = self.network.hosts[&peer].federate().model();
        if let Some(what) = own.rooms.managed.observer.hears(me, model, &callback) {
            return self.count(what);
        }
        own.rooms.callback(me, &callback);
        match callback {
            Callback::DiscoverObjectInstance { instance, .. } => {
                assert!(own.known.insert(instance), "{me} knew {instance}");
            }
            Callback::RemoveObjectInstance { instance, .. } => {
                assert!(own.known.remove(&instance), "{me} did not know {instance}");
                own.rooms.forgets(instance);
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                transportation,
                time,
                ..
            } => {
                own.come.comes(me, time.as_deref());
                let (attribute, id) = values.iter().next().expect("it was subscribed to");
                let id = u64::from_le_bytes(id.try_into().expect("it is 8 bytes"));
                self.how[&id].comes(me, id, Some((instance, attribute)), transportation);
                assert!(!void.contains(&id), "{me} got {id} of what is undone");
                assert!(own.got.insert(id), "{me} got {id} twice");
                overtaken(id, &own.known);
            }
            Callback::RequestRetraction { message } => {
                assert!(
                    retracted.contains(&message),
                    "{me}: {message} was not retracted"
                );
            }
            Callback::ReceiveInteraction {
                values,
                transportation,
                time,
                ..
            } => {
                own.come.comes(me, time.as_deref());
                let (_, id) = values.iter().next().expect("I has a parameter");
                let id = u64::from_le_bytes(id.try_into().expect("it is 8 bytes"));
                self.how[&id].comes(me, id, None, transportation);
                assert!(!void.contains(&id), "{me} got {id} of what is undone");
                assert!(own.got.insert(id), "{me} got {id} twice");
                overtaken(id, &own.known);
                own.must.remove(&id);
            }
            Callback::TimeRegulationEnabled { time } => {
                (own.regulating, own.enabling.0) = (true, false);
                own.time = whole_or_next(time);
                own.come.regulates();
            }
            Callback::TimeConstrainedEnabled { time } => {
                (own.constrained, own.enabling.1) = (true, false);
                own.time = whole_or_next(time);
            }
            Callback::TimeAdvanceGrant { time } => {
                let time = whole_or_next(time);
                let asked = own
                    .advancing
                    .take()
                    .expect("it is granted what it asked for");
                let or_less = own.by != By::TimeAdvance;
                assert!(asked == time || or_less && time < asked, "{me} is granted");
                assert!(own.save == Stage::None, "{me} saves, and is granted {time}");
                own.time = time;
                own.come.granted(me, time, own.by, own.constrained);
                granted = own.restore == Stage::None;
            }
            Callback::InitiateFederateSave { label, time } => {
                assert_eq!((own.save, own.restore), (Stage::None, Stage::None));
                if let Some(time) = time.map(whole_or_next).filter(|_| own.constrained) {
                    let timely = |id: &&u64| self.timely.contains(id);
                    let up_to = |id: &&u64| self.sent[id].1 <= Some(time);
                    let missing = own.must.iter().filter(timely).find(up_to);
                    let missing = missing.map(|id| (id, self.sent[id]));
                    assert_eq!(
                        missing, None,
                        "{me} is told to save at {time} before it comes"
                    );
                    own.come.instructed(me, time);
                    told = Some("instructed with what came up to the time");
                }
                (own.save, own.saving) = (Stage::Told, Some(label));
            }
            Callback::FederationSaved => {
                assert_eq!(own.save, Stage::Complete, "{me} is told that it has saved");
                own.save = Stage::None;
                outcome = own.saving.take().map(|label| (label, true));
            }
            // Also to who has asked for one that can't be.
            Callback::FederationNotSaved { .. } => {
                own.save = Stage::None;
                outcome = own.saving.take().map(|label| (label, false));
            }
            Callback::FederationRestoreBegun => own.restore = Stage::Told,
            Callback::InitiateFederateRestore { label, name, .. } => {
                assert_eq!(own.restore, Stage::Told);
                let members = &self.kept[&label].0.execution.federation.members;
                let is = self.network.hosts[&peer].federate().name();
                let there = members.values().any(|then| then.name == is);
                assert!(!there || name == is, "{me}, '{is}', becomes '{name}'");
                own.restore = Stage::Begun;
            }
            Callback::FederationRestored => {
                assert_eq!(
                    own.restore,
                    Stage::Complete,
                    "{me} is told that it is restored"
                );
                own.restore = Stage::None;
                restored = true;
            }
            Callback::FederationNotRestored { .. } => own.restore = Stage::None,
            _ => {}
        }
        if let Some(what) = told {
            self.count(what);
        }
        if granted {
            self.compare_lookahead(peer, me);
        }
        // By its peer: another that has not heard yet that it is another now may have this handle, too.
        if restored {
            self.compare(peer, me);
        }
        if let Some((label, saved)) = outcome {
            let told = *self.outcomes.entry(label.clone()).or_insert(saved);
            assert_eq!(told, saved, "'{label}' has two ends");
            assert_eq!(self.kept.contains_key(&label), saved, "'{label}' was kept");
        }
    }

    /// Faults stop, all are complete, and all who take part in time advance until all are at one time.
    fn rest(&mut self) {
        self.network.stalled.clear();
        self.network.standing.clear();
        let (mut to, mut once_more) = (0, false);
        loop {
            let before = self.network.report.callbacks;
            let mut moved = false;
            while self.step() {
                moved = true;
            }
            let hosts = self.network.hosts.values().filter(|h| !h.resigning);
            let hosts: Vec<_> = hosts.map(|h| h.peer).collect();
            for peer in &hosts {
                moved |= self.callbacks(*peer, usize::MAX);
                let me = self.network.hosts[peer].handle;
                if self.model.own.contains_key(&me) {
                    moved |= self.go_on(*peer, me, false);
                    let own = &self.model.own[&me];
                    // What is refused may be reported, which would never come to rest.
                    if (own.save, own.restore) == (Stage::None, Stage::None) {
                        moved |= self.achieve(*peer, me);
                    }
                }
            }
            // What an LRC has to say by itself travels with the next call.
            if self.step() || moved || self.network.report.callbacks != before {
                continue;
            }
            let times = self.model.own.values();
            let times = times.map(|own| own.time.max(own.advancing.unwrap_or_default()));
            to = times.fold(to.max(self.latest), i64::max);
            for peer in hosts {
                let me = self.network.hosts[&peer].handle;
                // The model's time is whole: one that regulates just behind a time is not at the next.
                let end = at(self.floats, to);
                let time = self.network.call(peer, |f| f.query_logical_time());
                let open = self.model.own[&me].is_open();
                if time.is_ok_and(|time| time < end || open && time == end) {
                    moved |= self.advance_to(peer, me, to, By::TimeAdvance);
                }
            }
            let withheld = self.model.own.values().any(|own| !own.must.is_empty());
            if !moved && withheld && !once_more {
                // What came in receive order since the last advance waits for the next one.
                once_more = true;
                self.latest = to + 1;
            } else if !moved {
                break;
            }
        }
        self.at_rest();
    }

    fn at_rest(&mut self) {
        self.count("came to rest");
        let hosts: Vec<_> = self.network.hosts.values().collect();
        let hosts: Vec<_> = hosts.iter().map(|h| (h.peer, h.handle)).collect();
        let mut owners = BTreeSet::new();
        for (peer, me) in hosts {
            let own = &self.model.own[&me];
            let stages = (own.save, own.restore);
            assert_eq!(
                stages,
                (Stage::None, Stage::None),
                "{me}: a save or restore has no end"
            );
            self.compare(peer, me);
            let rooms = &self.model.own[&me].rooms;
            let points = (&rooms.announced, &rooms.achieved);
            assert!(
                rooms.announced.is_empty() && rooms.achieved.is_empty(),
                "{points:?}"
            );
            for (instance, owned) in &rooms.owned {
                for attribute in owned {
                    let one = owners.insert((*instance, *attribute));
                    assert!(one, "{me} owns {attribute} of {instance}, too");
                }
            }
        }
        let saved = self.network.executive.save("F").expect("it is there");
        for host in self.network.hosts.values() {
            let me = host.handle;
            let own = self.model.own.get_mut(&me).expect("all have come to rest");
            assert_eq!(own.advancing, None, "{me} waits for ever at {}", own.time);
            assert_eq!(own.enabling, (false, false), "{me} waits for ever");
            host.waits_for_nothing();
            let missing = own.must.first();
            let missing = missing.map(|id| (id, self.sent[id]));
            assert_eq!(missing, None, "{me} at {} lacks a message", own.time);
            let known = saved.object.instances.iter();
            let known = known.filter(|(_, i)| i.known.contains_key(&me));
            let known: BTreeSet<_> = known.map(|(instance, _)| *instance).collect();
            let of_rti = own.rooms.managed.observer.known();
            let knows: BTreeSet<_> = own.known.iter().copied().chain(of_rti).collect();
            assert_eq!(known, knows, "{me} knows others");
            own.settled = true;
        }
        self.compare_managed();
        if self.managed {
            self.look_at_what_was_told();
        }
    }
}
