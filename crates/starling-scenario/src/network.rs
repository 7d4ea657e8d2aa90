//! The executive and its federates in memory; whatever is sent arrives at once.

use starling_core::message::{Data, FromExecutive, OwnedData, PeerInfo, ToExecutive};
use starling_core::{
    Answer, Callback, DataOut, DataPath, Exception, Executive, Federate, FederateHandle, Lrc,
    Outbox, PeerId,
};
use starling_wire::{Frame, put_data, put_from_executive, put_to_executive, split_frame};
use std::collections::BTreeMap;

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// As they are.
    Core,
    /// As frames of the wire format, coalesced and cut into small pieces.
    Wire,
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
    /// What was sent to the executive: the sender's number and the frame, again and again.
    pub(crate) sent: Vec<u8>,
}

/// One message, as its receiver gets it.
enum Message {
    ToExecutive(ToExecutive),
    FromExecutive(FromExecutive),
    Data(OwnedData),
}

impl Network {
    pub(crate) fn new(layer: Layer) -> Self {
        Network {
            layer,
            executive: Executive::new(),
            members: BTreeMap::new(),
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

    /// The connection ends.
    pub(crate) fn lose(&mut self, peer: PeerId) {
        self.members.remove(&peer);
        self.executive.disconnected(peer, "its connection ended");
        self.run();
    }

    pub(crate) fn federate(&self, peer: PeerId) -> Option<&Federate> {
        self.members.get(&peer)?.federate()
    }

    /// A service; what it sends has arrived when this returns.
    pub(crate) fn call<T>(&mut self, peer: PeerId, work: impl FnOnce(&mut Member) -> T) -> T {
        let member = self.members.get_mut(&peer).expect("it has connected");
        let result = work(member);
        self.run();
        result
    }

    /// A service that waits for the executive's answer.
    pub(crate) fn ask(
        &mut self,
        peer: PeerId,
        start: impl FnOnce(&mut Member) -> Result<(), Exception>,
    ) -> Result<Answer, Exception> {
        self.call(peer, start)?;
        self.call(peer, |lrc| lrc.answer())
            .expect("all has arrived, and the answer with it")
    }

    pub(crate) fn next_callback(&mut self, peer: PeerId) -> Option<Callback> {
        self.call(peer, Lrc::next_callback)
    }

    /// Lets everything arrive, until nobody has anything more to send.
    pub(crate) fn run(&mut self) {
        loop {
            let mut idle = true;
            let peers: Vec<PeerId> = self.members.keys().copied().collect();
            for peer in peers {
                let sent = self.members.get_mut(&peer).map(Lrc::outbox);
                let sent = sent.map(|out| std::mem::take(&mut out.0));
                let sent = sent.unwrap_or_default();
                idle &= sent.is_empty();
                self.tell_executive(peer, sent);
            }
            self.executive.settle();
            idle &= !self.deliver();
            if idle {
                return;
            }
        }
    }

    fn tell_executive(&mut self, peer: PeerId, messages: Vec<Message>) {
        for message in carry(self.layer, messages) {
            self.sent.push(peer.0 as u8);
            put(&mut self.sent, &message);
            match message {
                Message::ToExecutive(message) => {
                    self.executive.receive(peer, message).expect("as promised")
                }
                Message::Data(data) => self.forward(peer, data),
                Message::FromExecutive(_) => panic!("the wrong way"),
            }
        }
    }

    /// Data by the executive's path, after everything that it has said before.
    fn forward(&mut self, from: PeerId, data: OwnedData) {
        let mut to = Vec::new();
        self.executive
            .data(from, &data.borrow(), &mut to)
            .expect("as promised");
        self.deliver();
        for receiver in to {
            self.tell_member(receiver, vec![Message::Data(data.clone())]);
        }
    }

    /// Brings what the executive has said; whether it has said anything.
    fn deliver(&mut self) -> bool {
        let mut said: BTreeMap<PeerId, Vec<Message>> = BTreeMap::new();
        while let Some((peer, message)) = self.executive.poll_output() {
            let message = Message::FromExecutive(message);
            said.entry(peer).or_default().push(message);
        }
        let anything = !said.is_empty();
        for (peer, messages) in said {
            self.tell_member(peer, messages);
        }
        anything
    }

    fn tell_member(&mut self, peer: PeerId, messages: Vec<Message>) {
        for message in carry(self.layer, messages) {
            let Some(member) = self.members.get_mut(&peer) else {
                return;
            };
            match message {
                Message::FromExecutive(message) => member.receive(message).expect("as promised"),
                Message::Data(data) => member.receive_data(&data.borrow()).expect("as promised"),
                Message::ToExecutive(_) => panic!("the wrong way"),
            }
            if let Some(why) = member.lost() {
                panic!("lost: {why}");
            }
        }
    }
}

fn put(out: &mut Vec<u8>, message: &Message) {
    match message {
        Message::ToExecutive(message) => put_to_executive(out, message),
        Message::FromExecutive(message) => put_from_executive(out, message),
        Message::Data(data) => put_data(out, &data.borrow()),
    }
}

/// Small and odd, so that frames are cut everywhere.
const PIECE: usize = 7;

fn carry(layer: Layer, messages: Vec<Message>) -> Vec<Message> {
    if layer == Layer::Core {
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
