//! What is saved is all there is: a federation execution that is saved in the middle of a random
//! program and restored goes on exactly as the original does.

mod common;

use starling_core::message::{
    AttributeRegions, FromExecutive, ModuleSource, OwnedData, PeerInfo, ResignAction, ToExecutive,
};
use starling_core::{
    AttributeHandle, DataPath, Exception, Executive, Federate, FederateHandle,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, Output, ParameterHandle, PeerId, RegionHandle,
    Transportation, saved,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

/// Which services were called and which callbacks came, over all programs.
type Seen = BTreeSet<String>;

/// Random numbers: the same for the same seed.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.below(list.len())])
    }

    fn some_of<T: Copy>(&mut self, list: &[T]) -> Vec<T> {
        list.iter().copied().filter(|_| self.chance()).collect()
    }
}

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

/// Handles of the FOM of all tests.
struct Fom {
    classes: [ObjectClassHandle; 2],
    attributes: Vec<Vec<AttributeHandle>>,
    interactions: [InteractionClassHandle; 2],
    parameters: Vec<Vec<ParameterHandle>>,
}

const FEDERATES: usize = 3;
const SWITCHES: &str = "<conveyRegionDesignatorSets isEnabled=\"true\"/>\
    <conveyProducingFederate isEnabled=\"true\"/><attributeScopeAdvisory isEnabled=\"true\"/>\
    <attributeRelevanceAdvisory isEnabled=\"true\"/>\
    <objectClassRelevanceAdvisory isEnabled=\"true\"/>\
    <interactionRelevanceAdvisory isEnabled=\"true\"/>";

impl World {
    fn new(path: DataPath, time: &str) -> Self {
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
            text: common::fom(SWITCHES).into_bytes().into(),
        };
        world.executive.allow_direct_links();
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
                    federate.receive_data(&data.borrow()).unwrap();
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
            federate.receive_data(&frame.borrow()).unwrap();
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
        let mut executive = Executive::new();
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
            let restored = saved.map(|s| Federate::restored(s, &self.modules, self.path));
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

impl Fom {
    fn of(federate: &Federate) -> Self {
        let classes = ["A", "A.B"].map(|name| federate.object_class_handle(name).unwrap());
        let interactions =
            ["I", "I.J"].map(|name| federate.interaction_class_handle(name).unwrap());
        let model = federate.model();
        let attributes = classes.iter();
        let attributes = attributes.map(|c| model.object_class(*c).unwrap().attributes.clone());
        let parameters = interactions.iter();
        let parameters =
            parameters.map(|c| model.interaction_class(*c).unwrap().parameters.clone());
        Fom {
            classes,
            attributes: attributes.collect(),
            interactions,
            parameters: parameters.collect(),
        }
    }
}

/// What a call of a service is made of.
struct Call<'a> {
    fom: Fom,
    federate: &'a mut Federate,
    random: &'a mut Random,
    regions: &'a mut Vec<RegionHandle>,
    messages: &'a mut Vec<MessageRetractionHandle>,
    data: Vec<(Vec<FederateHandle>, OwnedData)>,
}

/// The answer of a service, for the trace.
fn answer<T: Debug>(result: Result<T, Exception>) -> String {
    format!("{:?}", result.map_err(|e| e.kind))
}

impl Call<'_> {
    fn class(&mut self) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let at = self.random.below(2);
        let all = self.fom.attributes[at].clone();
        (self.fom.classes[at], self.random.some_of(&all))
    }

    fn interaction(&mut self) -> (InteractionClassHandle, Vec<ParameterHandle>) {
        let at = self.random.below(2);
        let all = self.fom.parameters[at].clone();
        (self.fom.interactions[at], self.random.some_of(&all))
    }

    /// A known instance with some of its attributes, most of the time owned ones.
    fn instance(&mut self) -> (ObjectInstanceHandle, Vec<AttributeHandle>) {
        let known = self.federate.known_instances();
        let one = self.random.one_of(&known);
        let instance = one.unwrap_or(ObjectInstanceHandle::new(FederateHandle(1), 1));
        let owned = self.federate.owned_attributes(instance);
        let mut from = owned.map(<[_]>::to_vec).unwrap_or_default();
        if from.is_empty() || self.random.chance() {
            from = self.fom.attributes[1].clone();
        }
        (instance, self.random.some_of(&from))
    }

    fn some_regions(&mut self) -> Vec<AttributeRegions> {
        let (_, attributes) = self.class();
        let regions = self.random.some_of(&self.regions.clone());
        vec![AttributeRegions {
            attributes,
            regions,
        }]
    }

    fn name(&mut self) -> &'static str {
        ["m", "n", "o"][self.random.below(3)]
    }

    fn time(&mut self) -> LogicalTime {
        let now = self.federate.query_logical_time().unwrap();
        let more = self.random.below(6) as f64;
        LogicalTime::float64(now.as_float64().unwrap() + more).unwrap()
    }

    fn rate(&mut self) -> &'static str {
        ["", "Low", "High"][self.random.below(3)]
    }

    fn order(&mut self) -> Order {
        [Order::Receive, Order::TimeStamp][self.random.below(2)]
    }

    fn transportation(&mut self) -> Transportation {
        [Transportation::Reliable, Transportation::BestEffort][self.random.below(2)]
    }

    /// Some service.
    fn any(&mut self) -> (&'static str, String) {
        match self.random.below(6) {
            0 => self.declare(),
            1 => self.object(),
            2 => self.data(),
            3 => self.own(),
            4 => self.ddm(),
            _ => self.time_or_federation(),
        }
    }

    fn declare(&mut self) -> (&'static str, String) {
        let (class, attributes) = self.class();
        let (interaction, _) = self.interaction();
        let (active, rate) = (self.random.chance(), self.rate());
        let f = &mut *self.federate;
        match self.random.below(12) {
            0..=2 => (
                "publish",
                answer(f.publish_object_class_attributes(class, &attributes)),
            ),
            3 => (
                "unpublish",
                answer(f.unpublish_object_class_attributes(class, &attributes)),
            ),
            4..=6 => (
                "subscribe",
                answer(f.subscribe_object_class_attributes(class, &attributes, active, rate)),
            ),
            7 => (
                "unsubscribe",
                answer(f.unsubscribe_object_class_attributes(class, &attributes)),
            ),
            8 => (
                "publish interaction",
                answer(f.publish_interaction_class(interaction)),
            ),
            9 => (
                "subscribe interaction",
                answer(f.subscribe_interaction_class(interaction, active)),
            ),
            10 => (
                "unpublish interaction",
                answer(f.unpublish_interaction_class(interaction)),
            ),
            _ => (
                "unsubscribe interaction",
                answer(f.unsubscribe_interaction_class(interaction)),
            ),
        }
    }

    fn object(&mut self) -> (&'static str, String) {
        let (class, class_attributes) = self.class();
        let (instance, attributes) = self.instance();
        let (interaction, _) = self.interaction();
        let (name, transportation) = (self.name(), self.transportation());
        let named = self.random.chance().then_some(name);
        let f = &mut *self.federate;
        match self.random.below(17) {
            0 => ("reserve", answer(f.reserve_object_instance_name(name))),
            1 => (
                "reserve several",
                answer(f.reserve_multiple_object_instance_name(&["m", name])),
            ),
            2 => ("release", answer(f.release_object_instance_name(name))),
            3..=5 => ("register", answer(f.register_object_instance(class, named))),
            6 => (
                "local delete",
                answer(f.local_delete_object_instance(instance)),
            ),
            7 => (
                "request values",
                answer(f.request_instance_attribute_value_update(instance, &attributes, &[1])),
            ),
            8 => (
                "request class values",
                answer(f.request_class_attribute_value_update(class, &class_attributes, &[2])),
            ),
            9 => (
                "change transportation",
                answer(f.request_attribute_transportation_type_change(
                    instance,
                    &attributes,
                    transportation,
                )),
            ),
            10 => (
                "change interaction transportation",
                answer(
                    f.request_interaction_transportation_type_change(interaction, transportation),
                ),
            ),
            11 => (
                "query interaction transportation",
                answer(f.query_interaction_transportation_type(f.handle(), interaction)),
            ),
            12 => match attributes.first() {
                Some(a) => (
                    "query transportation",
                    answer(f.query_attribute_transportation_type(instance, *a)),
                ),
                None => ("nothing", String::new()),
            },
            13 => (
                "scope on",
                answer(f.enable_attribute_scope_advisory_switch()),
            ),
            14 => (
                "scope off",
                answer(f.disable_attribute_scope_advisory_switch()),
            ),
            15 => match transportation {
                Transportation::Reliable => (
                    "relevance off",
                    answer(f.disable_attribute_relevance_advisory_switch()),
                ),
                Transportation::BestEffort => (
                    "relevance on",
                    answer(f.enable_attribute_relevance_advisory_switch()),
                ),
            },
            _ => match transportation {
                Transportation::Reliable => (
                    "class relevance off",
                    answer(f.disable_object_class_relevance_advisory_switch()),
                ),
                Transportation::BestEffort => (
                    "class relevance on",
                    answer(f.enable_object_class_relevance_advisory_switch()),
                ),
            },
        }
    }

    fn data(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let values: Vec<_> = attributes.iter().map(|a| (*a, &b"value"[..])).collect();
        let (interaction, parameters) = self.interaction();
        let parameters: Vec<_> = parameters.iter().map(|p| (*p, &b"p"[..])).collect();
        let time = self.time();
        let regions = self.random.some_of(&self.regions.clone());
        let (f, data) = (&mut *self.federate, &mut self.data);
        let send = &mut |out: starling_core::DataOut<'_>| {
            data.push((out.to.to_vec(), out.data.to_owned()));
        };
        let tag = &[7];
        let mut sent = None;
        let done = match self.random.below(10) {
            0..=2 => (
                "update",
                answer(f.update_attribute_values(instance, &values, tag, send)),
            ),
            3 | 4 => {
                let done = f.update_attribute_values_at(instance, &values, tag, time, send);
                sent = done.as_ref().ok().copied();
                ("update at", answer(done))
            }
            5 => (
                "interaction",
                answer(f.send_interaction(interaction, &parameters, tag, send)),
            ),
            6 => {
                let done = f.send_interaction_at(interaction, &parameters, tag, time, send);
                sent = done.as_ref().ok().copied();
                ("interaction at", answer(done))
            }
            7 => (
                "interaction with regions",
                answer(f.send_interaction_with_regions(
                    interaction,
                    &parameters,
                    &regions,
                    tag,
                    send,
                )),
            ),
            8 => ("delete", answer(f.delete_object_instance(instance, tag))),
            _ => {
                let done = f.delete_object_instance_at(instance, tag, time);
                sent = done.as_ref().ok().copied();
                ("delete at", answer(done))
            }
        };
        self.messages.extend(sent);
        done
    }

    fn own(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let tag = &[3];
        let f = &mut *self.federate;
        match self.random.below(11) {
            0 => (
                "divest",
                answer(f.unconditional_attribute_ownership_divestiture(instance, &attributes, tag)),
            ),
            1 | 2 => (
                "negotiate",
                answer(f.negotiated_attribute_ownership_divestiture(instance, &attributes, tag)),
            ),
            3 => (
                "confirm",
                answer(f.confirm_divestiture(instance, &attributes, tag)),
            ),
            4 => (
                "divest if wanted",
                answer(f.attribute_ownership_divestiture_if_wanted(instance, &attributes, tag)),
            ),
            5 | 6 => (
                "acquire",
                answer(f.attribute_ownership_acquisition(instance, &attributes, tag)),
            ),
            7 => (
                "acquire if available",
                answer(f.attribute_ownership_acquisition_if_available(instance, &attributes, tag)),
            ),
            8 => (
                "deny",
                answer(f.attribute_ownership_release_denied(instance, &attributes, tag)),
            ),
            9 => (
                "cancel acquisition",
                answer(f.cancel_attribute_ownership_acquisition(instance, &attributes)),
            ),
            _ => match attributes.len() {
                1 => (
                    "query owner",
                    answer(f.query_attribute_ownership(instance, &attributes)),
                ),
                _ => (
                    "cancel divestiture",
                    answer(
                        f.cancel_negotiated_attribute_ownership_divestiture(instance, &attributes),
                    ),
                ),
            },
        }
    }

    fn ddm(&mut self) -> (&'static str, String) {
        let (instance, _) = self.instance();
        let (class, _) = self.class();
        let (interaction, _) = self.interaction();
        let with = self.some_regions();
        let some = self.random.some_of(&self.regions.clone());
        let one = self.random.one_of(&self.regions.clone());
        let (active, rate) = (self.random.chance(), self.rate());
        let lower = self.random.below(90) as u64;
        let dimension = self.federate.dimension_handle("D").unwrap();
        let f = &mut *self.federate;
        match (self.random.below(13), one) {
            (0, Some(region)) => (
                "set range",
                answer(f.set_range_bounds(region, dimension, lower, lower + 10)),
            ),
            (1 | 2, Some(_)) => (
                "commit regions",
                answer(f.commit_region_modifications(&some)),
            ),
            (3, Some(region)) => {
                let deleted = f.delete_region(region);
                if deleted.is_ok() {
                    self.regions.retain(|r| *r != region);
                }
                ("delete region", answer(deleted))
            }
            (4, _) => (
                "register with regions",
                answer(f.register_object_instance_with_regions(class, &with, None)),
            ),
            (5, _) => (
                "associate",
                answer(f.associate_regions_for_updates(instance, &with)),
            ),
            (6, _) => (
                "unassociate",
                answer(f.unassociate_regions_for_updates(instance, &with)),
            ),
            (7 | 8, _) => (
                "subscribe with regions",
                answer(
                    f.subscribe_object_class_attributes_with_regions(class, &with, active, rate),
                ),
            ),
            (9, _) => (
                "unsubscribe with regions",
                answer(f.unsubscribe_object_class_attributes_with_regions(class, &with)),
            ),
            (10, _) => (
                "subscribe interaction with regions",
                answer(f.subscribe_interaction_class_with_regions(interaction, &some, active)),
            ),
            (11, _) => (
                "unsubscribe interaction with regions",
                answer(f.unsubscribe_interaction_class_with_regions(interaction, &some)),
            ),
            _ => {
                let created = f.create_region(&[dimension]);
                self.regions.extend(created.iter());
                ("create region", answer(created))
            }
        }
    }

    fn time_or_federation(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let (interaction, _) = self.interaction();
        let (time, order, label) = (self.time(), self.order(), self.name());
        let lookahead = LogicalTimeInterval::float64(self.random.below(3) as f64).unwrap();
        let message = self.random.one_of(&self.messages.clone());
        let successfully = self.random.chance();
        let f = &mut *self.federate;
        match (self.random.below(20), message) {
            (0 | 1, _) => ("regulate", answer(f.enable_time_regulation(lookahead))),
            (2 | 3, _) => ("be constrained", answer(f.enable_time_constrained())),
            (4, _) if successfully => ("stop regulating", answer(f.disable_time_regulation())),
            (5, _) if successfully => ("be free", answer(f.disable_time_constrained())),
            (6 | 7, _) => ("advance", answer(f.time_advance_request(time))),
            (8, _) => (
                "advance available",
                answer(f.time_advance_request_available(time)),
            ),
            (9, _) => ("next message", answer(f.next_message_request(time))),
            (10, _) => ("flush", answer(f.flush_queue_request(time))),
            (11, _) => ("lookahead", answer(f.modify_lookahead(lookahead))),
            (12, _) => ("asynchronous", answer(f.enable_asynchronous_delivery())),
            (13, _) => ("synchronous", answer(f.disable_asynchronous_delivery())),
            (14 | 15, Some(message)) => ("retract", answer(f.retract(message))),
            (16, _) => (
                "change order",
                answer(f.change_attribute_order_type(instance, &attributes, order)),
            ),
            (17, _) => (
                "change interaction order",
                answer(f.change_interaction_order_type(interaction, order)),
            ),
            (18, _) => (
                "register point",
                answer(f.register_federation_synchronization_point(label, &[5], &[])),
            ),
            (19, _) if self.random.below(20) == 0 => (
                "resign",
                answer(f.resign_federation_execution(ResignAction::CancelThenDeleteThenDivest)),
            ),
            _ => (
                "achieve point",
                answer(f.synchronization_point_achieved(label, successfully)),
            ),
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
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut original = World::new(path, "HLAfloat64Time");
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
