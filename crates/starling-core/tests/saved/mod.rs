//! What is saved is all there is: a federation execution that is saved in the middle of a random
//! program and restored goes on exactly as the original does.

mod program;

use program::{Call, Fom, Random};
use starling_core::message::{FromExecutive, ModuleSource, OwnedData, PeerInfo, ToExecutive};
use starling_core::{
    DataPath, Executive, Federate, FederateHandle, MessageRetractionHandle, Output, PeerId,
    RegionHandle, Services, saved,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

/// Which services were called and which callbacks came, over all programs.
type Seen = BTreeSet<String>;

#[derive(Clone)]
enum Up {
    Message(ToExecutive),
    Data(OwnedData),
}

#[derive(Clone)]
enum Down {
    Message(FromExecutive),
    Data(OwnedData),
}

/// A federate's connection, and the federate once it has joined.
struct Member {
    federate: Option<Federate>,
    up: VecDeque<Up>,
    down: VecDeque<Down>,
    regions: Vec<RegionHandle>,
    messages: Vec<MessageRetractionHandle>,
    resigning: bool,
}

struct World {
    path: DataPath,
    executive: Executive,
    members: BTreeMap<PeerId, Member>,
    links: BTreeMap<(FederateHandle, FederateHandle), VecDeque<OwnedData>>,
    /// What services answered and callbacks said.
    trace: Vec<String>,
    modules: Vec<ModuleSource>,
    clock: u64,
    last_peer: u64,
}

const FEDERATES: usize = 3;
const SWITCHES: &str = "<conveyRegionDesignatorSets isEnabled=\"true\"/>\
    <conveyProducingFederate isEnabled=\"true\"/><attributeScopeAdvisory isEnabled=\"true\"/>\
    <attributeRelevanceAdvisory isEnabled=\"true\"/>\
    <objectClassRelevanceAdvisory isEnabled=\"true\"/>\
    <interactionRelevanceAdvisory isEnabled=\"true\"/>";

impl World {
    fn new(path: DataPath, time: &str, mom: bool) -> Self {
        let mut world = World {
            path,
            executive: Executive::new(),
            members: BTreeMap::new(),
            links: BTreeMap::new(),
            trace: Vec::new(),
            modules: Vec::new(),
            clock: 0,
            last_peer: 1,
        };
        let module = ModuleSource {
            designator: "test.xml".into(),
            text: crate::common::fom(SWITCHES).into_bytes().into(),
        };
        world.executive.allow_direct_links();
        let services = Services {
            mom,
            ..Services::default()
        };
        world.executive.set_services(services);
        world.executive.connected(PeerId(1), PeerInfo::default());
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules: vec![module],
            mim: None,
            time_implementation: time.into(),
        };
        world.executive.receive(PeerId(1), create).unwrap();
        world.take_outputs();
        for _ in 0..FEDERATES {
            world.join();
        }
        world.settle();
        world
    }

    fn join(&mut self) {
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.executive.connected(peer, PeerInfo::default());
        let member = Member {
            federate: None,
            up: VecDeque::new(),
            down: VecDeque::new(),
            regions: Vec::new(),
            messages: Vec::new(),
            resigning: false,
        };
        self.members.insert(peer, member);
        let join = ToExecutive::Join {
            name: None,
            kind: "k".into(),
            federation: "F".into(),
            modules: vec![],
        };
        self.executive.receive(peer, join).unwrap();
        self.take_outputs();
    }

    /// Lets everything arrive; callbacks stay where they wait.
    fn settle(&mut self) {
        let peers: Vec<_> = self.members.keys().copied().collect();
        for _ in 0..3 {
            for peer in &peers {
                while self.send_up(*peer) {}
            }
            self.executive.settle();
            self.take_outputs();
            for peer in &peers {
                while self.receive(*peer) {}
            }
            let links: Vec<_> = self.links.keys().copied().collect();
            for link in links {
                while self.arrive(link) {}
            }
        }
    }

    fn take_outputs(&mut self) {
        while let Some((peer, message)) = self.executive.poll_output() {
            if let Some(member) = self.members.get_mut(&peer) {
                member.down.push_back(Down::Message(message));
            }
        }
    }

    /// The executive takes the next of what a federate has sent.
    fn send_up(&mut self, peer: PeerId) -> bool {
        let member = self.members.get_mut(&peer);
        let Some(sent) = member.and_then(|m| m.up.pop_front()) else {
            return false;
        };
        match sent {
            Up::Message(message) => self.executive.receive(peer, message).unwrap(),
            Up::Data(data) => {
                let mut to = Vec::new();
                self.executive.data(peer, &data.borrow(), &mut to).unwrap();
                self.take_outputs();
                for peer in to {
                    if let Some(member) = self.members.get_mut(&peer) {
                        member.down.push_back(Down::Data(data.clone()));
                    }
                }
            }
        }
        self.take_outputs();
        true
    }

    /// A federate takes the next of what the executive has sent.
    fn receive(&mut self, peer: PeerId) -> bool {
        let path = self.path;
        let Some(member) = self.members.get_mut(&peer) else {
            return false;
        };
        match member.down.pop_front() {
            None => return false,
            Some(Down::Message(FromExecutive::Joined(snapshot))) => {
                self.modules.clone_from(&snapshot.modules);
                member.federate = Some(Federate::new(*snapshot, path).unwrap());
            }
            Some(Down::Message(FromExecutive::Removed(_))) => member.federate = None,
            Some(Down::Message(message)) => {
                if let Some(federate) = &mut member.federate {
                    federate.receive(message).unwrap();
                }
            }
            Some(Down::Data(data)) => {
                if let Some(federate) = &mut member.federate {
                    federate
                        .receive_data(&data.borrow(), DataPath::Executive, None)
                        .unwrap();
                }
            }
        }
        if member.federate.as_ref().is_some_and(Federate::is_resigned) {
            self.gone(peer);
        }
        true
    }

    /// A federate is a member no more: its links end when what they carried has come.
    fn gone(&mut self, peer: PeerId) {
        let member = self.members.remove(&peer).expect("it is there");
        self.executive.disconnected(peer, "it left");
        self.take_outputs();
        let Some(handle) = member.federate.map(|f| f.handle()) else {
            return;
        };
        let others: Vec<_> = self.members.keys().copied().collect();
        for other in others {
            if let Some(to) = self.handle(other) {
                while self.arrive((handle, to)) {}
                self.links.remove(&(to, handle));
                self.federate(other).link_ended(handle).unwrap();
            }
        }
    }

    fn handle(&self, peer: PeerId) -> Option<FederateHandle> {
        Some(self.members.get(&peer)?.federate.as_ref()?.handle())
    }

    fn federate(&mut self, peer: PeerId) -> &mut Federate {
        let member = self.members.get_mut(&peer).expect("it is there");
        member.federate.as_mut().expect("it has joined")
    }

    /// The next frame of a link of its own arrives.
    fn arrive(&mut self, link: (FederateHandle, FederateHandle)) -> bool {
        let frame = self.links.get_mut(&link).and_then(VecDeque::pop_front);
        let Some(frame) = frame else {
            return false;
        };
        let mut joined = self
            .members
            .values_mut()
            .filter_map(|m| m.federate.as_mut());
        if let Some(federate) = joined.find(|f| f.handle() == link.1) {
            federate
                .receive_data(&frame.borrow(), DataPath::Direct, None)
                .unwrap();
        }
        true
    }

    /// Puts what a federate has to send on its way.
    fn outputs(&mut self, peer: PeerId, data: Vec<(Vec<FederateHandle>, OwnedData)>) {
        let path = self.path;
        let me = self.handle(peer).expect("it has joined");
        let member = self.members.get_mut(&peer).expect("it is there");
        for (to, frame) in data {
            if path == DataPath::Executive || frame.borrow().is_in_time_order() {
                member.up.push_back(Up::Data(frame));
            } else {
                for to in to {
                    let link = self.links.entry((me, to)).or_default();
                    link.push_back(frame.clone());
                }
            }
        }
        let federate = member.federate.as_mut().expect("it has joined");
        while let Some(output) = federate.poll_output() {
            match output {
                Output::Request(request) => {
                    member
                        .up
                        .push_back(Up::Message(ToExecutive::Request(request)));
                }
                Output::Time(request) => {
                    member.up.push_back(Up::Message(ToExecutive::Time(request)));
                }
                Output::Part(part) => {
                    member.up.push_back(Up::Message(ToExecutive::Part(part)));
                }
                Output::Fence { to, fence } => {
                    let link = self.links.entry((me, to)).or_default();
                    link.push_back(fence.to_owned());
                }
            }
        }
        let _ = federate.take_note();
    }

    /// Something happens.
    fn step(&mut self, random: &mut Random, seen: &mut Seen) {
        let peers: Vec<_> = self.members.keys().copied().collect();
        let Some(peer) = random.one_of(&peers) else {
            return self.join();
        };
        match random.below(16) {
            0..=2 => drop(self.send_up(peer)),
            3..=5 => drop(self.receive(peer)),
            6 => {
                let links: Vec<_> = self.links.keys().copied().collect();
                if let Some(link) = random.one_of(&links) {
                    self.arrive(link);
                }
            }
            7 => {
                self.executive.settle();
                self.take_outputs();
            }
            8..=9 if self.handle(peer).is_some() => {
                if let Some(callback) = self.federate(peer).next_callback() {
                    let text = format!("{callback:?}");
                    let name: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
                    seen.insert(name);
                    self.trace.push(format!("{peer:?} {text}"));
                }
                self.outputs(peer, Vec::new());
            }
            10 if random.below(60) == 0 => {
                self.gone(peer);
                self.join();
            }
            _ if self.members[&peer].resigning => {}
            _ if self.handle(peer).is_some() => self.call(peer, random, seen),
            _ => {}
        }
    }

    /// A federate calls a service.
    fn call(&mut self, peer: PeerId, random: &mut Random, seen: &mut Seen) {
        self.clock += random.below(400_000) as u64;
        let clock = self.clock;
        let member = self.members.get_mut(&peer).expect("it is there");
        let federate = member.federate.as_mut().expect("it has joined");
        federate.set_time_us(clock);
        let mut call = Call {
            fom: Fom::of(federate),
            federate,
            random,
            regions: &mut member.regions,
            messages: &mut member.messages,
            data: Vec::new(),
        };
        let (service, answer) = call.any();
        let data = std::mem::take(&mut call.data);
        member.resigning |= (service, answer.as_str()) == ("resign", "Ok(())");
        if !answer.starts_with("Err") {
            seen.insert(service.to_owned());
        }
        self.trace.push(format!("{peer:?} {service} {answer}"));
        self.outputs(peer, data);
    }

    /// All that is saved, of the executive and each federate.
    fn save(&self) -> (saved::Execution, BTreeMap<PeerId, saved::Federate>) {
        let federates = self.members.iter();
        let federates =
            federates.filter_map(|(peer, m)| Some((*peer, m.federate.as_ref()?.save())));
        (
            self.executive.save("F").expect("it is there"),
            federates.collect(),
        )
    }

    /// Another world, of what is saved of this one and what is on its way in it.
    fn restored(&self) -> World {
        let (execution, federates) = self.save();
        let services = execution.services;
        let mut executive = Executive::new();
        executive.set_services(services);
        executive.allow_direct_links();
        for peer in self.members.keys() {
            executive.connected(*peer, PeerInfo::default());
        }
        let members = self.members.keys();
        // One that joins may not have been told so yet.
        let handle = |peer: &PeerId| Some((self.executive.member(*peer)?.2, *peer));
        let handles = members.filter_map(handle).collect();
        executive.restore(execution, &handles).unwrap();
        let members = self.members.iter().map(|(peer, m)| {
            let saved = federates.get(peer).cloned();
            let restored = saved.map(|s| Federate::restored(s, &self.modules, services, self.path));
            let mut federate = restored.transpose().unwrap();
            if let Some(federate) = &mut federate {
                federate.set_time_us(self.clock);
            }
            let member = Member {
                federate,
                up: m.up.clone(),
                down: m.down.clone(),
                regions: m.regions.clone(),
                messages: m.messages.clone(),
                resigning: m.resigning,
            };
            (*peer, member)
        });
        World {
            path: self.path,
            executive,
            members: members.collect(),
            links: self.links.clone(),
            trace: Vec::new(),
            modules: self.modules.clone(),
            clock: self.clock,
            last_peer: self.last_peer,
        }
    }
}

/// Fails with the place where two worlds differ.
fn assert_same(original: &World, restored: &World, when: &str) {
    let ((a, a_federates), (b, b_federates)) = (original.save(), restored.save());
    // Room by room, or nobody can read it.
    same(&a.federation.modules, &b.federation.modules, when);
    same(&a.federation.members, &b.federation.members, when);
    same(&a.declaration, &b.declaration, when);
    same(&a.object, &b.object, when);
    same(&a.ownership, &b.ownership, when);
    same(&a.ddm, &b.ddm, when);
    same(&a.time, &b.time, when);
    same(&a.log, &b.log, when);
    assert!(a == b, "{when}");
    assert!(a_federates.keys().eq(b_federates.keys()), "{when}");
    for (peer, a) in a_federates {
        let (b, when) = (&b_federates[&peer], &format!("{when}, {peer:?}"));
        same(&a.federation, &b.federation, when);
        same(&a.declaration, &b.declaration, when);
        same(&a.object, &b.object, when);
        same(&a.ownership, &b.ownership, when);
        same(&a.ddm, &b.ddm, when);
        same(&a.time, &b.time, when);
        same(&a.log, &b.log, when);
        same(&a.delivery, &b.delivery, when);
        assert!(a == *b, "{when}");
    }
}

fn same<T: PartialEq + Debug>(a: &T, b: &T, when: &str) {
    if a != b {
        let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
        let differs = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        let near = |text: &str| {
            let lines = text.lines().skip(differs.unwrap_or(0).saturating_sub(12));
            lines.take(24).collect::<Vec<_>>().join("\n")
        };
        panic!("{when}: saved\n{}\nbut restored\n{}", near(&a), near(&b));
    }
}

/// A program that is saved after so many steps goes on as before, for so many more.
fn check(path: DataPath, seed: u64, before: usize, after: usize, seen: &mut Seen) {
    let mut random = Random::of(seed);
    // Every fifth has no management object model.
    let mut original = World::new(path, "HLAfloat64Time", !seed.is_multiple_of(5));
    for _ in 0..before {
        original.step(&mut random, seen);
    }
    for member in original.members.values_mut() {
        if let Some(federate) = &mut member.federate {
            federate.set_time_us(original.clock);
        }
    }
    note_state(&original, seen);
    let mut restored = original.restored();
    assert_same(&original, &restored, &format!("seed {seed} at the save"));
    let (mut again, begun) = (random.clone(), original.trace.len());
    for _ in 0..after {
        original.step(&mut random, seen);
        restored.step(&mut again, &mut Seen::new());
    }
    for (n, (a, b)) in original.trace[begun..]
        .iter()
        .zip(&restored.trace)
        .enumerate()
    {
        assert_eq!(a, b, "seed {seed}, {path:?}: {n}th after the save");
    }
    original.settle();
    restored.settle();
    assert_same(&original, &restored, &format!("seed {seed} in the end"));
}

/// Notes what there was to be saved.
fn note_state(world: &World, seen: &mut Seen) {
    let (execution, federates) = world.save();
    let mut there = vec![
        (
            "points",
            !execution.federation.synchronization_points.is_empty(),
        ),
        ("reservations", !execution.object.reserved.is_empty()),
        (
            "told relevance",
            !execution.object.told.relevance.is_empty(),
        ),
        ("transfers", !execution.ownership.transfers.is_empty()),
        ("associations", !execution.ddm.associations.is_empty()),
        ("retractable", !execution.time.retractable.is_empty()),
        ("deletions", !execution.time.deletions.is_empty()),
    ];
    for f in federates.values() {
        let held = |s: &saved::log::Sender| !s.held.is_empty();
        let deletes = |s: &saved::time::Sent| s.deletes.is_some();
        there.extend([
            ("advisories", !f.declaration.registration.said.is_empty()),
            ("paces", !f.declaration.pace.sent.is_empty()),
            ("own regions", !f.ddm.own.is_empty()),
            ("conveyed regions", !f.ddm.conveyed.is_empty()),
            ("control that waits", !f.log.control.is_empty()),
            ("frames that wait", f.log.senders.values().any(held)),
            ("callbacks", !f.delivery.queue.is_empty()),
            ("withheld", f.delivery.withholding),
            ("in time order", !f.delivery.in_time_order.is_empty()),
            ("wanted", !f.object.wanted.is_empty()),
            ("changing", !f.object.transportations.changing.is_empty()),
            ("own transfers", !f.ownership.transfers.is_empty()),
            ("asked", !f.ownership.asked.is_empty()),
            ("sent deletions", f.time.sent.values().any(deletes)),
            ("advance", f.time.clock.advance.is_some()),
        ]);
    }
    let there = there.into_iter().filter(|(_, there)| *there);
    seen.extend(there.map(|(what, _)| format!("saved: {what}")));
}

/// What must have been saved and delivered in some program, or the test shows little.
const MUST: &[&str] = &[
    "saved: points",
    "saved: reservations",
    "saved: told relevance",
    "saved: transfers",
    "saved: associations",
    "saved: retractable",
    "saved: deletions",
    "saved: advisories",
    "saved: paces",
    "saved: own regions",
    "saved: conveyed regions",
    "saved: control that waits",
    "saved: frames that wait",
    "saved: callbacks",
    "saved: withheld",
    "saved: in time order",
    "saved: wanted",
    "saved: changing",
    "saved: own transfers",
    "saved: asked",
    "saved: sent deletions",
    "saved: advance",
    "ReflectAttributeValues",
    "ReceiveInteraction",
    "RemoveObjectInstance",
    "AttributeOwnershipAcquisitionNotification",
    "TimeAdvanceGrant",
    "FederationSynchronized",
];

#[test]
fn what_is_restored_goes_on_as_what_was_saved() {
    const SEEDS: u64 = 250;
    let mut seen = Seen::new();
    for seed in 1..=SEEDS {
        let path = [DataPath::Executive, DataPath::Direct][seed as usize % 2];
        let before = 100 + (seed as usize * 37) % 1_500;
        check(path, seed, before, 400, &mut seen);
    }
    let missing: Vec<_> = MUST.iter().filter(|s| !seen.contains(**s)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
