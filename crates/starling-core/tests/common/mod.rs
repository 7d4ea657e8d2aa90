//! A federation execution in memory: the executive and its federates, with everything sent
//! arriving when [`Federation::run`] is called. Only what travels links of its own
//! ([`Federation::direct`]) waits until a test lets it arrive.
#![allow(dead_code, reason = "each test file uses a part")]

use starling_core::message::{
    After, Data, DataBody, FederationStatus, Finding, FromExecutive, ModuleSource, OwnedData,
    PeerInfo, Question, ResignAction, ToExecutive,
};
use starling_core::{
    AttributeHandle, Callback, DataOut, DataPath, Exception, Executive, Federate, FederateHandle,
    InteractionClassHandle, ObjectClassHandle, Output, PeerId,
};
use std::collections::{BTreeMap, VecDeque};

/// Object classes A (attributes x, y), A.B (z); interaction classes I (p), I.J (q); update rate
/// Low; dimensions D (0..100, excluded where left out) on x, z and I,
/// E (0..100, 0..10 where left out) on x. Switches as given.
pub fn fom(switches: &str) -> String {
    let attribute = |name: &str, dimensions: &str, transportation: &str| {
        format!(
            "<attribute><name>{name}</name><sharing>PublishSubscribe</sharing>\
             <ownership>DivestAcquire</ownership><dimensions>{dimensions}</dimensions>\
             <transportation>{transportation}</transportation><order>Receive</order></attribute>"
        )
    };
    let d = "<dimension>D</dimension>";
    let of = |name: &str| format!("<parameter><name>{name}</name></parameter>");
    let class = |name: &str, rest: String| {
        format!(
            "<interactionClass><name>{name}</name><sharing>PublishSubscribe</sharing>\
             <dimensions>{d}</dimensions><transportation>HLAreliable</transportation>\
             <order>Receive</order>{rest}</interactionClass>"
        )
    };
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\">\
         <modelIdentification><name>test</name><type>FOM</type><version>1</version>\
         </modelIdentification>\
         <objects><objectClass><name>HLAobjectRoot</name>\
         <objectClass><name>A</name><sharing>PublishSubscribe</sharing>{}{}\
         <objectClass><name>B</name><sharing>PublishSubscribe</sharing>{}</objectClass>\
         </objectClass></objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>{}</interactionClass>\
         </interactions>\
         <dimensions><dimension><name>D</name><dataType>HLAinteger32BE</dataType>\
         <upperBound>100</upperBound></dimension>\
         <dimension><name>E</name><dataType>HLAinteger32BE</dataType>\
         <upperBound>100</upperBound><value>[0..10)</value></dimension></dimensions>\
         <updateRates><updateRate><name>Low</name><rate>2</rate></updateRate>\
         <updateRate><name>High</name><rate>50</rate></updateRate></updateRates>\
         <switches>{switches}</switches></objectModel>",
        attribute("x", &format!("{d}<dimension>E</dimension>"), "HLAreliable"),
        attribute("y", "", "HLAbestEffort"),
        attribute("z", d, "HLAreliable"),
        class("I", of("p") + &class("J", of("q"))),
    )
}

struct Member {
    peer: PeerId,
    federate: Option<Federate>,
    /// Answer to the last join.
    refusal: Option<Exception>,
}

/// One federation execution `F` and its federates by name.
pub struct Federation {
    executive: Executive,
    members: BTreeMap<String, Member>,
    last_peer: u64,
    path: DataPath,
    /// What is on the links of their own, by sender and receiver.
    links: BTreeMap<(FederateHandle, FederateHandle), VecDeque<OwnedData>>,
    /// Data frames that the executive has forwarded.
    pub forwarded: usize,
}

impl Federation {
    /// With the FOM above; `switches` as its XML elements.
    pub fn new(switches: &str) -> Self {
        let mut new = Federation {
            executive: Executive::new(),
            members: BTreeMap::new(),
            last_peer: 0,
            path: DataPath::Executive,
            links: BTreeMap::new(),
            forwarded: 0,
        };
        let peer = new.connect();
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules: vec![ModuleSource {
                designator: "test.xml".into(),
                text: fom(switches).into_bytes(),
            }],
            mim: None,
            time_implementation: String::new(),
        };
        new.executive.receive(peer, create).unwrap();
        let (_, done) = new.executive.poll_output().expect("an answer");
        assert_eq!(done, FromExecutive::Done(Ok(())));
        new
    }

    /// Likewise, with data on links of its own, where it stays until [`Federation::arrive`].
    pub fn direct(switches: &str) -> Self {
        Federation {
            path: DataPath::Direct,
            ..Federation::new(switches)
        }
    }

    fn connect(&mut self) -> PeerId {
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.executive.connected(peer, PeerInfo::default());
        peer
    }

    /// Joins a federate of this name.
    pub fn join(&mut self, name: &str) -> FederateHandle {
        self.join_with(name, vec![]).unwrap()
    }

    /// Joins with further FOM modules.
    pub fn join_with(
        &mut self,
        name: &str,
        modules: Vec<ModuleSource>,
    ) -> Result<FederateHandle, Exception> {
        let peer = self.connect();
        let member = Member {
            peer,
            federate: None,
            refusal: None,
        };
        self.members.insert(name.into(), member);
        let join = ToExecutive::Join {
            name: Some(name.into()),
            kind: "test".into(),
            federation: "F".into(),
            modules,
        };
        self.executive.receive(peer, join).unwrap();
        self.run();
        match self.members[name].refusal.clone() {
            Some(refusal) => Err(refusal),
            None => Ok(self.federate(name).handle()),
        }
    }

    /// Whether a federate of this name is joined.
    pub fn is_joined(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|m| m.federate.is_some())
    }

    /// A joined federate.
    pub fn federate(&mut self, name: &str) -> &mut Federate {
        let member = self.members.get_mut(name).expect("it has joined");
        member.federate.as_mut().expect("it is joined")
    }

    /// A service call; what it sends arrives at the executive at once, elsewhere with `run`.
    pub fn call<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Federate, &mut dyn FnMut(DataOut<'_>)) -> T,
    ) -> T {
        let peer = self.members[name].peer;
        self.send(name);
        let member = self.members.get_mut(name).expect("it has joined");
        let federate = member.federate.as_mut().expect("it is joined");
        let mut frames = Vec::new();
        let (path, me) = (self.path, federate.handle());
        let links = &mut self.links;
        let result = work(federate, &mut |out| match path {
            DataPath::Executive => frames.push(out.data.to_owned()),
            DataPath::Direct => {
                for to in out.to {
                    let link = links.entry((me, *to)).or_default();
                    link.push_back(out.data.to_owned());
                }
            }
        });
        for frame in frames {
            let mut to = Vec::new();
            self.executive.data(peer, &frame.borrow(), &mut to).unwrap();
            self.deliver();
            for receiver in to {
                self.forwarded += 1;
                let mut members = self.members.values_mut();
                let member = members.find(|m| m.peer == receiver).expect("a member");
                if let Some(federate) = &mut member.federate {
                    federate.receive_data(&frame.borrow()).unwrap();
                }
            }
        }
        self.send(name);
        result
    }

    /// Hands a federate's requests to the executive.
    fn send(&mut self, name: &str) {
        let Some(member) = self.members.get_mut(name) else {
            return;
        };
        let Some(federate) = &mut member.federate else {
            return;
        };
        while let Some(output) = federate.poll_output() {
            match output {
                Output::Request(request) => {
                    let request = ToExecutive::Request(request);
                    self.executive.receive(member.peer, request).unwrap();
                }
                Output::Fence { to, fence } => {
                    let link = self.links.entry((federate.handle(), to)).or_default();
                    link.push_back(fence.to_owned());
                }
            }
        }
    }

    fn deliver(&mut self) {
        while let Some((peer, message)) = self.executive.poll_output() {
            let mut members = self.members.values_mut();
            let Some(member) = members.find(|m| m.peer == peer) else {
                continue;
            };
            match message {
                FromExecutive::Joined(snapshot) => {
                    let federate = Federate::new(*snapshot, self.path).unwrap();
                    member.federate = Some(federate);
                }
                FromExecutive::JoinRefused(why) => member.refusal = Some(why),
                log => {
                    if let Some(federate) = &mut member.federate {
                        federate.receive(log).unwrap();
                        if federate.is_resigned() {
                            member.federate = None;
                        }
                    }
                }
            }
        }
    }

    /// Lets everything arrive, until nobody has anything more to send.
    pub fn run(&mut self) {
        let names: Vec<_> = self.members.keys().cloned().collect();
        for _ in 0..3 {
            for name in &names {
                self.send(name);
            }
            self.executive.settle();
            self.deliver();
        }
    }

    /// Lets arrive what has been sent on the link of its own from one federate to another, who is
    /// there; returns how many frames.
    pub fn arrive(&mut self, from: FederateHandle, to: &str) -> usize {
        let receiver = self.federate(to);
        let link = (from, receiver.handle());
        let frames = self.links.remove(&link).unwrap_or_default();
        for frame in &frames {
            self.federate(to).receive_data(&frame.borrow()).unwrap();
        }
        frames.len()
    }

    /// The link of its own from a federate ends, what it carried being lost from `frames` on.
    pub fn end_link(&mut self, from: FederateHandle, to: &str, frames: usize) {
        let link = (from, self.federate(to).handle());
        self.links.entry(link).or_default().truncate(frames);
        self.arrive(from, to);
        self.federate(to).link_ended(from).unwrap();
    }

    /// What a federate is told now.
    pub fn callbacks(&mut self, name: &str) -> Vec<Callback> {
        self.run();
        let mut list = Vec::new();
        while let Some(callback) = self.call(name, |f, _| f.next_callback()) {
            list.push(callback);
            self.run();
        }
        list
    }

    /// Nobody is told anything now.
    pub fn quiet(&mut self) {
        let names: Vec<_> = self.members.keys().cloned().collect();
        for name in names {
            if self.members[&name].federate.is_some() {
                assert_eq!(self.callbacks(&name), [], "for {name}");
            }
        }
    }

    /// Resigns, all having arrived.
    pub fn resign(&mut self, name: &str, action: ResignAction) {
        self.call(name, |f, _| f.resign_federation_execution(action))
            .unwrap();
        self.run();
        assert!(self.members[name].federate.is_none());
    }

    /// The connection of a federate ends.
    pub fn lose(&mut self, name: &str) {
        let gone = self.members.remove(name).expect("it has joined");
        self.executive
            .disconnected(gone.peer, "its connection ended");
        self.run();
    }

    /// Sends a data frame as it is, past the federate's own checks; returns who gets it.
    pub fn forge(&mut self, name: &str, body: DataBody<'_>) -> Vec<PeerId> {
        self.run();
        let after = After {
            requests: Default::default(),
            index: self.status().log,
        };
        let data = Data {
            sender: self.federate(name).handle(),
            after,
            body,
        };
        let mut to = Vec::new();
        let peer = self.members[name].peer;
        self.executive.data(peer, &data, &mut to).unwrap();
        self.deliver();
        to
    }

    /// What `starling ps` is told.
    pub fn status(&mut self) -> FederationStatus {
        let peer = self.connect();
        self.executive
            .receive(peer, ToExecutive::QueryStatus)
            .unwrap();
        loop {
            match self.executive.poll_output() {
                Some((_, FromExecutive::Status(mut list))) => return list.remove(0),
                Some(_) => {}
                None => panic!("no answer"),
            }
        }
    }

    /// The links of `starling why` as lines; the last may fail.
    pub fn why(&mut self, federate: &str, subject: &str) -> Vec<String> {
        self.run();
        let question = Question {
            federation: String::new(),
            federate: federate.into(),
            subject: subject.into(),
        };
        let (findings, _) = self.executive.why(&question);
        let line = |f: Finding| {
            let verdict = if f.holds { "ok" } else { "FAIL" };
            format!("{verdict} {}: {}", f.link, f.detail)
        };
        findings.into_iter().map(line).collect()
    }

    /// A class by its name.
    pub fn class(&mut self, name: &str) -> ObjectClassHandle {
        self.any().object_class_handle(name).unwrap()
    }

    /// Attributes of class A.B by their names.
    pub fn attributes(&mut self, names: &[&str]) -> Vec<AttributeHandle> {
        let class = self.class("A.B");
        let of = |n: &&str| self.any().attribute_handle(class, n).unwrap();
        names.iter().map(of).collect()
    }

    /// An interaction class by its name.
    pub fn interaction(&mut self, name: &str) -> InteractionClassHandle {
        self.any().interaction_class_handle(name).unwrap()
    }

    fn any(&mut self) -> &mut Federate {
        let mut joined = self
            .members
            .values_mut()
            .filter_map(|m| m.federate.as_mut());
        joined.next().expect("somebody is joined")
    }
}
