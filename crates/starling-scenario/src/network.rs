//! The executive and its federates in memory, on links that bring what is sent at once or late.

use starling_core::message::{Data, FromExecutive, OwnedData, PeerInfo, ToExecutive};
use starling_core::{
    Answer, Archived, Callback, DataOut, DataPath, Exception, Executive, Federate, FederateHandle,
    Lrc, Outbox, PeerId,
};
use starling_wire::{
    Frame, decode_save, put_data, put_from_executive, put_save, put_to_executive, split_frame,
};
use std::collections::{BTreeMap, VecDeque};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// As they are, at once: after each step everything has arrived.
    Core,
    /// Like `Core`, as frames of the wire format, coalesced and cut into small pieces.
    Wire,
    /// As they are, but only when a step needs it, and then from one link after the other as a
    /// random number generator with this seed will have it. What a scenario expects may not depend
    /// on which of two links is faster.
    Late(u64),
}

/// A federate's LRC; what it sends waits until the network takes it.
pub(crate) type Member = Lrc<Sent>;

#[derive(Default)]
pub(crate) struct Sent(Vec<Message>);

impl Outbox for Sent {
    fn to_executive(&mut self, message: ToExecutive) {
        self.0.push(Message::ToExecutive(message));
    }

    fn data(&mut self, frame: DataOut<'_>) {
        self.0.push(Message::Data(frame.data.to_owned()));
    }

    fn fence(&mut self, _: FederateHandle, _: &Data<'_>) {
        panic!("data takes the executive's path here");
    }
}

pub(crate) struct Network {
    layer: Layer,
    executive: Executive,
    pub(crate) members: BTreeMap<PeerId, Member>,
    /// What is under way to the executive and from it, and has not arrived yet.
    up: Links,
    down: Links,
    random: fastrand::Rng,
    /// What is saved, by federation execution and label, as bytes.
    saves: BTreeMap<(String, String), Vec<u8>>,
    /// What was sent to the executive: the sender's number and the frame, again and again.
    pub(crate) sent: Vec<u8>,
}

/// Each peer's messages, in the order in which they were sent; none is empty.
type Links = BTreeMap<PeerId, VecDeque<Message>>;

/// One message, as its receiver gets it.
enum Message {
    ToExecutive(ToExecutive),
    FromExecutive(FromExecutive),
    Data(OwnedData),
    /// The connection has ended.
    End,
}

impl Network {
    pub(crate) fn new(layer: Layer) -> Self {
        let seed = match layer {
            Layer::Late(seed) => seed,
            Layer::Core | Layer::Wire => 0,
        };
        Network {
            layer,
            executive: Executive::new(),
            members: BTreeMap::new(),
            up: Links::new(),
            down: Links::new(),
            random: fastrand::Rng::with_seed(seed),
            saves: BTreeMap::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self) -> PeerId {
        let last = self.members.last_key_value().map_or(0, |(peer, _)| peer.0);
        let peer = PeerId(last + 1);
        self.executive.connected(peer, PeerInfo::default());
        let member = Lrc::new(Sent::default(), DataPath::Executive);
        self.members.insert(peer, member);
        peer
    }

    /// The federate's process ends: what it has sent arrives, nothing more reaches it.
    pub(crate) fn lose(&mut self, peer: PeerId) {
        self.collect(peer);
        self.members.remove(&peer);
        self.down.remove(&peer);
        self.up.entry(peer).or_default().push_back(Message::End);
        self.after_step();
    }

    pub(crate) fn federate(&self, peer: PeerId) -> Option<&Federate> {
        self.members.get(&peer)?.federate()
    }

    /// A service.
    pub(crate) fn call<T>(&mut self, peer: PeerId, work: impl FnOnce(&mut Member) -> T) -> T {
        let member = self.members.get_mut(&peer).expect("it has connected");
        let result = work(member);
        self.collect(peer);
        self.after_step();
        result
    }

    /// Calls until there is a result, or nothing more can arrive.
    pub(crate) fn wait<T>(
        &mut self,
        peer: PeerId,
        mut work: impl FnMut(&mut Member) -> Option<T>,
    ) -> Option<T> {
        loop {
            if let Some(result) = self.call(peer, &mut work) {
                return Some(result);
            }
            if !self.travel() {
                return None;
            }
        }
    }

    /// A service that waits for the executive's answer.
    pub(crate) fn ask(
        &mut self,
        peer: PeerId,
        start: impl FnOnce(&mut Member) -> Result<(), Exception>,
    ) -> Result<Answer, Exception> {
        self.call(peer, start)?;
        self.wait(peer, Lrc::answer)
            .expect("all has arrived, and the answer with it")
    }

    pub(crate) fn next_callback(&mut self, peer: PeerId) -> Option<Callback> {
        self.wait(peer, Lrc::next_callback)
    }

    /// Lets time pass until the executive does something by itself; false if it is about to do
    /// nothing.
    pub(crate) fn pass_time(&mut self) -> bool {
        let Some(due) = self.executive.next_timeout() else {
            return false;
        };
        self.executive.set_time(due);
        self.executive.handle_timeout();
        self.executive.settle();
        self.collect_from_executive();
        self.after_step();
        true
    }

    /// Lets everything arrive, until nobody has anything more to send.
    pub(crate) fn settle(&mut self) {
        while self.travel() {}
    }

    fn after_step(&mut self) {
        match self.layer {
            Layer::Core | Layer::Wire => self.settle(),
            Layer::Late(_) => (),
        }
    }

    /// What a federate has sent is under way.
    fn collect(&mut self, peer: PeerId) {
        let sent = self.members.get_mut(&peer).map(Lrc::outbox);
        let sent = sent.map(|out| std::mem::take(&mut out.0));
        let sent = carry(self.layer, sent.unwrap_or_default());
        if !sent.is_empty() {
            self.up.entry(peer).or_default().extend(sent);
        }
    }

    /// The next message of some link arrives; whether there was one.
    fn travel(&mut self) -> bool {
        if self.archive() {
            return true;
        }
        let links = self.up.len() + self.down.len();
        if links == 0 {
            return false;
        }
        let at = self.random.usize(..links);
        if at < self.up.len() {
            let (from, message) = take(&mut self.up, at);
            self.reach_executive(from, message);
            self.executive.settle();
            self.collect_from_executive();
        } else {
            let (to, message) = take(&mut self.down, at - self.up.len());
            self.reach_member(to, message);
        }
        true
    }

    /// Keeps or brings a save; whether there was one to be.
    fn archive(&mut self) -> bool {
        let Some(task) = self.executive.poll_archive() else {
            return false;
        };
        let place = (task.federation, task.label);
        let done = match task.write {
            Some(saved) => {
                let mut bytes = Vec::new();
                put_save(&mut bytes, &saved);
                self.saves.insert(place, bytes);
                Ok(Archived::Written)
            }
            None => match self.saves.get(&place) {
                Some(bytes) => {
                    let saved = decode_save(bytes).expect("what was encoded");
                    Ok(Archived::Read(Box::new(saved)))
                }
                None => Err("there is no such save".into()),
            },
        };
        self.executive.archived(task.execution, task.number, done);
        self.collect_from_executive();
        true
    }

    fn reach_executive(&mut self, from: PeerId, message: Message) {
        if !matches!(message, Message::End) {
            self.sent.push(from.0 as u8);
            put(&mut self.sent, &message);
        }
        match message {
            Message::ToExecutive(message) => {
                self.executive.receive(from, message).expect("as promised")
            }
            Message::Data(data) => self.forward(from, data),
            Message::End => self.executive.disconnected(from, "its connection ended"),
            Message::FromExecutive(_) => panic!("the wrong way"),
        }
    }

    /// Data by the executive's path, after everything that it has said before.
    fn forward(&mut self, from: PeerId, data: OwnedData) {
        let mut to = Vec::new();
        self.executive
            .data(from, &data.borrow(), &mut to)
            .expect("as promised");
        self.collect_from_executive();
        for receiver in to {
            self.send_down(receiver, vec![Message::Data(data.clone())]);
        }
    }

    /// What the executive has said is under way.
    fn collect_from_executive(&mut self) {
        let mut said: BTreeMap<PeerId, Vec<Message>> = BTreeMap::new();
        while let Some((peer, message)) = self.executive.poll_output() {
            let message = Message::FromExecutive(message);
            said.entry(peer).or_default().push(message);
        }
        for (peer, messages) in said {
            self.send_down(peer, messages);
        }
    }

    fn send_down(&mut self, to: PeerId, messages: Vec<Message>) {
        if self.members.contains_key(&to) {
            let messages = carry(self.layer, messages);
            self.down.entry(to).or_default().extend(messages);
        }
    }

    fn reach_member(&mut self, to: PeerId, message: Message) {
        let Some(member) = self.members.get_mut(&to) else {
            return;
        };
        match message {
            Message::FromExecutive(message) => member.receive(message).expect("as promised"),
            Message::Data(data) => member.receive_data(&data.borrow()).expect("as promised"),
            Message::ToExecutive(_) | Message::End => panic!("the wrong way"),
        }
        if let Some(why) = member.lost() {
            panic!("lost: {why}");
        }
        self.collect(to);
    }
}

/// The first message of the link at `at`.
fn take(links: &mut Links, at: usize) -> (PeerId, Message) {
    let (peer, link) = links.iter_mut().nth(at).expect("one of the links");
    let (peer, message) = (*peer, link.pop_front().expect("no link is empty"));
    if link.is_empty() {
        links.remove(&peer);
    }
    (peer, message)
}

fn put(out: &mut Vec<u8>, message: &Message) {
    match message {
        Message::ToExecutive(message) => put_to_executive(out, message),
        Message::FromExecutive(message) => put_from_executive(out, message),
        Message::Data(data) => put_data(out, &data.borrow()),
        Message::End => panic!("nobody sends it"),
    }
}

/// Small and odd, so that frames are cut everywhere.
const PIECE: usize = 7;

fn carry(layer: Layer, messages: Vec<Message>) -> Vec<Message> {
    if layer != Layer::Wire {
        return messages;
    }
    let mut sent = Vec::new();
    for message in &messages {
        put(&mut sent, message);
    }
    let mut came = Vec::new();
    let mut buffer = Vec::new();
    for piece in sent.chunks(PIECE) {
        buffer.extend_from_slice(piece);
        while let Some((frame, length)) = split_frame(&buffer).expect("a whole stream") {
            came.push(match Frame::decode(frame).expect("what was encoded") {
                Frame::ToExecutive(message) => Message::ToExecutive(message),
                Frame::FromExecutive(message) => Message::FromExecutive(message),
                Frame::Data(data) => Message::Data(data.to_owned()),
                frame => panic!("nobody sent {frame:?}"),
            });
            buffer.drain(..length);
        }
    }
    assert!(buffer.is_empty(), "half a frame is left");
    came
}
