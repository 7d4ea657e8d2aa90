//! A federation execution in memory: the executive and its federates, with everything sent
//! arriving when [`Federation::run`] is called. Only what travels links of its own
//! ([`Federation::direct`]) waits until a test lets it arrive.
#![allow(dead_code, reason = "each test file uses a part")]

pub use starling_bed::Sent;
use starling_bed::{Bed, Link, Message};
use starling_core::message::{
    After, Data, DataBody, FederateStatistics, FederationStatus, Finding, FromExecutive,
    ModuleSource, OwnedData, Question, Request, RequestBody, ResignAction, Statistics, TimeRequest,
    ToExecutive, time,
};
use starling_core::{
    Answer, Archive, Archived, AttributeHandle, Callback, Counters, DataPath, Exception, Executive,
    Federate, FederateHandle, InteractionClassHandle, Lrc, ObjectClassHandle, PeerId,
    PlainCallback, Services, Why, saved,
};
use std::collections::BTreeMap;

/// The next callback, if it is one as most are.
pub fn next_plain(f: &mut Lrc<Sent>) -> Option<PlainCallback> {
    let mut next = None;
    f.next_plain(&mut next).then_some(next).flatten()
}

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

/// The counts that an LRC has sent, if it has.
pub fn counted(sent: &Sent) -> Option<Counters> {
    sent.messages().find_map(|message| match message {
        Message::ToExecutive(ToExecutive::Counted { counters, .. }) => Some(**counters),
        _ => None,
    })
}

/// Which service an LRC has said that it called last, and for how many milliseconds, if it has.
pub fn did(sent: &Sent) -> Option<(String, u64)> {
    sent.messages().find_map(|message| match message {
        Message::ToExecutive(ToExecutive::Counted { doing, for_ms, .. }) => {
            Some((doing.service.clone(), *for_ms))
        }
        _ => None,
    })
}

fn line(found: Finding) -> String {
    let verdict = if found.holds { "ok" } else { "FAIL" };
    format!("{verdict} {}: {}", found.link, found.detail)
}

/// One federation execution `F` and its federates by name.
pub struct Federation {
    bed: Bed,
    names: BTreeMap<String, PeerId>,
    /// Data frames that the executive has forwarded.
    pub forwarded: usize,
    /// Other messages that the executive has got, and has sent.
    pub control: (usize, usize),
}

impl Federation {
    /// With the FOM above; `switches` as its XML elements.
    pub fn new(switches: &str) -> Self {
        Federation::on(Executive::new(), switches)
    }

    /// With a MIM of the federation's own.
    pub fn with_mim(mim: String) -> Self {
        let mim = ModuleSource {
            designator: "mim.xml".into(),
            text: mim.into_bytes().into(),
        };
        Federation::created(Executive::new(), "", Some(mim))
    }

    fn on(executive: Executive, switches: &str) -> Self {
        Federation::created(executive, switches, None)
    }

    fn created(executive: Executive, switches: &str, mim: Option<ModuleSource>) -> Self {
        let mut new = Federation {
            bed: Bed::new(executive, DataPath::Executive, std::convert::identity),
            names: BTreeMap::new(),
            forwarded: 0,
            control: (0, 0),
        };
        new.connect("creator");
        let module = ModuleSource {
            designator: "test.xml".into(),
            text: fom(switches).into_bytes().into(),
        };
        let created = new.ask("creator", |lrc| {
            lrc.create_federation_execution("F", vec![module], mim, "")
        });
        assert_eq!(created, Ok(Answer::Done));
        let creator = new.names.remove("creator").expect("just connected");
        new.bed.members.remove(&creator);
        new
    }

    /// A federation execution with data on links of its own, where it stays until [`Federation::arrive`].
    pub fn direct(switches: &str) -> Self {
        let mut new = Federation::new(switches);
        new.bed.path = DataPath::Direct;
        new.bed.executive.allow_direct_links();
        new
    }

    /// The same, where the executive keeps so many bytes of messages for one federate's advance.
    pub fn limited(withheld_bytes: usize) -> Self {
        let mut executive = Executive::new();
        executive.limit_withheld(withheld_bytes);
        Federation::on(executive, "")
    }

    /// The same, where it keeps so many bytes of what one federate has made.
    pub fn bounded(kept_bytes: usize) -> Self {
        let mut executive = Executive::new();
        executive.limit_kept(kept_bytes);
        Federation::on(executive, "")
    }

    /// The same as new, with these services.
    pub fn with(services: Services, switches: &str) -> Self {
        let mut executive = Executive::new();
        executive.set_services(services);
        Federation::on(executive, switches)
    }

    /// The same as new, without management object model.
    pub fn without_mom(switches: &str) -> Self {
        let services = Services {
            mom: false,
            ..Services::default()
        };
        Federation::with(services, switches)
    }

    fn connect(&mut self, name: &str) {
        let peer = self.bed.connect();
        self.names.insert(name.into(), peer);
    }

    /// A service that waits for the executive's answer.
    fn ask(
        &mut self,
        name: &str,
        start: impl FnOnce(&mut Lrc<Sent>) -> Result<(), Exception>,
    ) -> Result<Answer, Exception> {
        self.call(name, start)?;
        self.run();
        self.federate(name).answer().expect("an answer")
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
        self.connect(name);
        self.join_connected(name, modules)
    }

    /// Joins a federate with settings of its own.
    pub fn join_after(&mut self, name: &str, settings: impl FnOnce(&mut Lrc<Sent>)) {
        self.connect(name);
        settings(self.federate(name));
        self.join_connected(name, vec![]).unwrap();
    }

    fn join_connected(
        &mut self,
        name: &str,
        modules: Vec<ModuleSource>,
    ) -> Result<FederateHandle, Exception> {
        let joined = self.ask(name, |lrc| {
            lrc.join_federation_execution(Some(name), "test", "F", modules)
        });
        match joined? {
            Answer::Joined(handle) => Ok(handle),
            Answer::Done => panic!("a join was answered by Done"),
        }
    }

    /// Whether a federate of this name is joined.
    pub fn is_joined(&self, name: &str) -> bool {
        let peer = self.names.get(name);
        let member = peer.and_then(|peer| self.bed.members.get(peer));
        member.is_some_and(Lrc::is_member)
    }

    /// Whether a federate of this name has connected.
    pub fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// The executive itself.
    pub fn executive(&mut self) -> &mut Executive {
        &mut self.bed.executive
    }

    /// What the executive has to say to its log.
    pub fn notes(&mut self) -> Vec<String> {
        let executive = &mut self.bed.executive;
        let notes = std::iter::from_fn(|| executive.poll_note());
        notes.map(|(_, note)| note).collect()
    }

    /// The LRC of a federate.
    pub fn federate(&mut self, name: &str) -> &mut Lrc<Sent> {
        let peer = *self.names.get(name).expect("it has connected");
        self.bed.member(peer)
    }

    /// A joined federate, to look at.
    pub fn member(&mut self, name: &str) -> &Federate {
        self.federate(name).federate().expect("it is joined")
    }

    /// A service call; what it sends arrives at the executive at once, elsewhere with `run`.
    pub fn call<T>(&mut self, name: &str, work: impl FnOnce(&mut Lrc<Sent>) -> T) -> T {
        let result = work(self.federate(name));
        self.send(name);
        result
    }

    /// A service call; what it sends stays where it is until the next call or `run`.
    pub fn call_late<T>(&mut self, name: &str, work: impl FnOnce(&mut Lrc<Sent>) -> T) -> T {
        work(self.federate(name))
    }

    /// A service call; the first message that it sends arrives at the executive, the others stay on
    /// their way until the next call or `run`.
    pub fn call_in_part<T>(&mut self, name: &str, work: impl FnOnce(&mut Lrc<Sent>) -> T) -> T {
        let result = work(self.federate(name));
        self.send_some(name, 1);
        result
    }

    /// Hands what a federate has sent to the executive and to the links of its own.
    fn send(&mut self, name: &str) {
        self.send_some(name, usize::MAX);
    }

    fn send_some(&mut self, name: &str, most: usize) {
        let Some(peer) = self.names.get(name).copied() else {
            return;
        };
        self.bed.collect(peer);
        for _ in 0..most {
            let Some(message) = self.bed.take(Link::Up(peer)) else {
                break;
            };
            match message {
                Message::Data(data) => self.forward(peer, data),
                message => {
                    self.control.0 += 1;
                    self.bed.reach_executive(peer, message).unwrap();
                }
            }
        }
    }

    fn forward(&mut self, peer: PeerId, data: OwnedData) {
        self.bed.reach_executive(peer, Message::Data(data)).unwrap();
        self.deliver();
    }

    fn deliver(&mut self) {
        self.bed.collect_from_executive();
        for peer in self.names.values() {
            while let Some(message) = self.bed.take(Link::Down(*peer)) {
                match message {
                    Message::Data(_) => self.forwarded += 1,
                    _ => self.control.1 += 1,
                }
                self.bed.reach_member(*peer, message).unwrap();
            }
        }
    }

    /// Lets everything arrive, until nobody has anything more to send.
    pub fn run(&mut self) {
        let names: Vec<_> = self.names.keys().cloned().collect();
        for _ in 0..3 {
            for name in &names {
                self.send(name);
            }
            self.bed.executive.settle();
            self.deliver();
        }
    }

    /// Lets what the executive has said arrive; nothing of anybody's arrives there.
    pub fn hear(&mut self) {
        self.bed.executive.settle();
        self.deliver();
    }

    /// The same, but what is for this one stays on its way.
    pub fn hear_but(&mut self, name: &str) {
        let peer = self.names.remove(name).expect("it has connected");
        self.hear();
        self.names.insert(name.into(), peer);
    }

    /// What the executive's process is to do with saved federation executions.
    pub fn archives(&mut self) -> Vec<Archive> {
        std::iter::from_fn(|| self.bed.executive.poll_archive()).collect()
    }

    /// What the executive's process was to do is done.
    pub fn archived(&mut self, task: &Archive, done: Archived) {
        self.bed
            .executive
            .archived(task.execution, task.number, Ok(done));
        self.run();
    }

    /// Lets arrive what has been sent on the link of its own from one federate to another, who is
    /// there; returns how many frames.
    pub fn arrive(&mut self, from: FederateHandle, to: &str) -> usize {
        let (link, to) = self.own_link(from, to);
        let mut frames = 0;
        while let Some(frame) = self.bed.take(link) {
            self.bed.reach_by(DataPath::Direct, to, frame).unwrap();
            frames += 1;
        }
        frames
    }

    fn own_link(&mut self, from: FederateHandle, to: &str) -> (Link, PeerId) {
        let handle = self.member(to).handle();
        (Link::Data(from, handle), self.names[to])
    }

    /// The link of its own from a federate ends, what it carried being lost from `frames` on.
    pub fn end_link(&mut self, from: FederateHandle, to: &str, frames: usize) {
        let (link, _) = self.own_link(from, to);
        self.bed.truncate(link, frames);
        self.arrive(from, to);
        self.federate(to).link_ended(from).unwrap();
    }

    /// What a federate is told now.
    pub fn callbacks(&mut self, name: &str) -> Vec<Callback> {
        self.run();
        let mut list = Vec::new();
        while let Some(callback) = self.call(name, |f| f.next_callback()) {
            list.push(callback);
            self.run();
        }
        list
    }

    /// Nobody is told anything now.
    pub fn quiet(&mut self) {
        let names: Vec<_> = self.names.keys().cloned().collect();
        for name in names {
            if self.is_joined(&name) {
                assert_eq!(self.callbacks(&name), [], "for {name}");
            }
        }
    }

    /// Resigns, all having arrived.
    pub fn resign(&mut self, name: &str, action: ResignAction) {
        let resigned = self.ask(name, |lrc| lrc.resign_federation_execution(action));
        assert_eq!(resigned, Ok(Answer::Done));
        assert!(!self.is_joined(name));
    }

    /// The connection of a federate ends.
    pub fn lose(&mut self, name: &str) {
        let gone = self.names.remove(name).expect("it has joined");
        self.bed.lose(gone);
        while let Some(message) = self.bed.take(Link::Up(gone)) {
            self.bed.reach_executive(gone, message).unwrap();
        }
        self.run();
    }

    /// Sends a request as it is, past the federate's own checks. One that is refused ends the
    /// connection; why it was.
    pub fn forge_request(
        &mut self,
        name: &str,
        fenced: &[FederateHandle],
        body: impl Into<RequestBody>,
    ) -> Result<(), String> {
        self.run();
        let request = Request {
            applied: self.status().log,
            fenced: fenced.to_vec(),
            body: body.into(),
        };
        let peer = self.names[name];
        let served = self
            .bed
            .executive
            .receive(peer, ToExecutive::Request(request));
        self.deliver();
        if served.is_err() {
            self.lose(name);
        }
        served.map_err(|e| e.0)
    }

    /// Sends requests about time as they are, one right behind the other; the first that is refused ends the
    /// connection: which, and why it was.
    pub fn forge_time(&mut self, name: &str, all: &[time::Request]) -> Result<(), (usize, String)> {
        self.run();
        let applied = self.status().log;
        for (at, &body) in all.iter().enumerate() {
            let request = ToExecutive::Time(TimeRequest { applied, body });
            let served = self.bed.executive.receive(self.names[name], request);
            if let Err(refused) = served {
                self.lose(name);
                return Err((at, refused.0));
            }
        }
        self.run();
        Ok(())
    }

    /// A federate sends this as its part of a save.
    pub fn forge_part(&mut self, name: &str, part: saved::Federate) -> Result<(), String> {
        let part = ToExecutive::Part(Box::new(part));
        let taken = self.bed.executive.receive(self.names[name], part);
        taken.map_err(|e| e.0)
    }

    /// A federate tells this of what it measures.
    pub fn forge_measured(&mut self, name: &str, measured: Statistics) -> Result<(), String> {
        let measured = ToExecutive::Measured(Box::new(measured));
        let taken = self.bed.executive.receive(self.names[name], measured);
        taken.map_err(|e| e.0)
    }

    /// Sends a data frame as it is, past the federate's own checks; returns who gets it.
    pub fn forge(&mut self, name: &str, body: DataBody<'_>) -> Vec<PeerId> {
        let (peer, data) = self.forged(name, body);
        let mut to = Vec::new();
        self.bed
            .executive
            .data(peer, &data.borrow(), &mut to)
            .unwrap();
        self.deliver();
        to
    }

    /// The same, and it arrives.
    pub fn forge_arriving(&mut self, name: &str, body: DataBody<'_>) {
        let (peer, data) = self.forged(name, body);
        self.forward(peer, data);
    }

    /// Sends a data frame as it is; one that is refused ends the connection; why it was.
    pub fn forge_refused(&mut self, name: &str, body: DataBody<'_>) -> Result<(), String> {
        let (peer, data) = self.forged(name, body);
        let served = self
            .bed
            .executive
            .data(peer, &data.borrow(), &mut Vec::new());
        self.deliver();
        if served.is_err() {
            self.lose(name);
        }
        served.map_err(|e| e.0)
    }

    fn forged(&mut self, name: &str, body: DataBody<'_>) -> (PeerId, OwnedData) {
        self.run();
        let after = After {
            requests: Default::default(),
            index: self.status().log,
        };
        let data = Data {
            sender: self.member(name).handle(),
            after,
            body,
        };
        (self.names[name], data.to_owned())
    }

    /// What `starling ps` is told.
    pub fn status(&mut self) -> FederationStatus {
        match self.question(ToExecutive::QueryStatus) {
            FromExecutive::Status(mut list) => list.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// What `starling stats` is told.
    pub fn statistics(&mut self) -> Vec<FederateStatistics> {
        match self.question(ToExecutive::QueryStatistics) {
            FromExecutive::Statistics(list) => list,
            other => panic!("{other:?}"),
        }
    }

    /// The answer to who asks without having joined.
    fn question(&mut self, question: ToExecutive) -> FromExecutive {
        let asks = self.bed.connect();
        self.bed.members.remove(&asks);
        self.bed.executive.receive(asks, question).unwrap();
        loop {
            match self.bed.executive.poll_output() {
                Some((peer, answer)) if peer == asks => return answer,
                Some(_) => {}
                None => panic!("no answer"),
            }
        }
    }

    /// The links of `starling why` as lines; the last may fail.
    pub fn why(&mut self, federate: &str, subject: &str) -> Vec<String> {
        let found = self.found(federate, Some(subject)).findings;
        found.into_iter().map(line).collect()
    }

    /// What `starling why` says of a federate's time, and whose turn it is.
    pub fn why_time(&mut self, federate: &str) -> (Vec<String>, Option<String>) {
        let found = self.found(federate, None);
        let lines = found.findings.into_iter().map(line).collect();
        (lines, found.turn.map(|(_, name)| name))
    }

    /// Who holds up a synchronization point at which the one whose turn it is may wait.
    pub fn at_point(&mut self, federate: &str) -> Option<String> {
        self.found(federate, None).at_point.map(|(_, name)| name)
    }

    /// So much time has gone by since the executive began.
    pub fn set_time(&mut self, seconds: u64) {
        self.run();
        let now = std::time::Duration::from_secs(seconds);
        self.bed.executive.set_time(now);
    }

    /// What is due by the clock comes, where these have no room for more.
    pub fn time_out(&mut self, full: &[&str]) {
        let full: Vec<_> = full.iter().map(|name| self.names[*name]).collect();
        let executive = &mut self.bed.executive;
        executive.handle_timeout(|peer| !full.contains(&peer));
        self.deliver();
    }

    /// Who has waited longer than this and was not named yet: why, and whose turn it is.
    pub fn long_waits(&mut self, seconds: u64) -> Vec<(String, Option<String>)> {
        self.run();
        let longer = std::time::Duration::from_secs(seconds);
        let waits = self.bed.executive.take_long_waits(longer).into_iter();
        waits.map(|w| (w.why, w.turn.map(|(_, n)| n))).collect()
    }

    fn found(&mut self, federate: &str, subject: Option<&str>) -> Why {
        self.run();
        let question = Question {
            federation: String::new(),
            federate: federate.into(),
            subject: subject.map(str::to_owned),
        };
        self.bed.executive.why(&question)
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

    fn any(&mut self) -> &mut Lrc<Sent> {
        let mut joined = self.bed.members.values_mut();
        joined
            .find(|lrc| lrc.is_member())
            .expect("somebody is joined")
    }
}
