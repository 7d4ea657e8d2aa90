//! The executive and its federates in memory; whatever is sent arrives at once.

use starling_core::message::{FromExecutive, OwnedData, PeerInfo, ToExecutive};
use starling_core::{
    Callback, DataOut, DataPath, Exception, Executive, Federate, FederateHandle, Output, PeerId,
};
use starling_wire::{Frame, put_data, put_from_executive, put_to_executive, split_frame};
use std::collections::{BTreeMap, VecDeque};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// As they are.
    Core,
    /// As frames of the wire format, coalesced and cut into small pieces.
    Wire,
}

/// What the executive said to whoever waits for it.
pub(crate) enum Answer {
    Done,
    Joined(FederateHandle),
}

#[derive(Default)]
pub(crate) struct Member {
    pub(crate) federate: Option<Federate>,
    /// Callbacks that are none of the joined federate's.
    own: VecDeque<Callback>,
    answer: Option<Result<Answer, Exception>>,
    /// Callbacks come (§10.43, §10.44).
    pub(crate) disabled: bool,
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
        self.members.insert(peer, Member::default());
        peer
    }

    /// The connection ends.
    pub(crate) fn lose(&mut self, peer: PeerId) {
        self.members.remove(&peer);
        self.executive.disconnected(peer, "its connection ended");
        self.run();
    }

    pub(crate) fn member(&mut self, peer: PeerId) -> &mut Member {
        self.members.entry(peer).or_default()
    }

    pub(crate) fn federate(&self, peer: PeerId) -> Option<&Federate> {
        self.members.get(&peer)?.federate.as_ref()
    }

    /// Sends what is no joined federate's, and gives the executive's answer, if there is one.
    pub(crate) fn ask(&mut self, peer: PeerId, message: ToExecutive) -> Result<Answer, Exception> {
        self.tell_executive(peer, vec![Message::ToExecutive(message)]);
        self.run();
        self.member(peer).answer.take().unwrap_or(Ok(Answer::Done))
    }

    /// A service of a joined federate; what it sends has arrived when this returns. None if it has
    /// not joined.
    pub(crate) fn call<T>(
        &mut self,
        peer: PeerId,
        work: impl FnOnce(&mut Federate, &mut dyn FnMut(DataOut<'_>)) -> T,
    ) -> Option<T> {
        let federate = self.member(peer).federate.as_mut()?;
        let mut frames = Vec::new();
        let result = work(federate, &mut |out| frames.push(out.data.to_owned()));
        let frames = frames.into_iter().map(Message::Data).collect();
        self.tell_executive(peer, frames);
        self.run();
        Some(result)
    }

    pub(crate) fn next_callback(&mut self, peer: PeerId) -> Option<Callback> {
        let member = self.member(peer);
        if member.disabled {
            return None;
        }
        let own = member.own.pop_front();
        own.or_else(|| self.call(peer, |federate, _| federate.next_callback())?)
    }

    /// Lets everything arrive, until nobody has anything more to send.
    pub(crate) fn run(&mut self) {
        loop {
            let mut idle = true;
            let peers: Vec<PeerId> = self.members.keys().copied().collect();
            for peer in peers {
                let requests = self.requests(peer);
                idle &= requests.is_empty();
                self.tell_executive(peer, requests);
            }
            self.executive.settle();
            idle &= !self.deliver();
            if idle {
                return;
            }
        }
    }

    fn requests(&mut self, peer: PeerId) -> Vec<Message> {
        let mut requests = Vec::new();
        while let Some(federate) = &mut self.member(peer).federate {
            match federate.poll_output() {
                Some(Output::Request(request)) => {
                    requests.push(Message::ToExecutive(ToExecutive::Request(request)));
                }
                Some(Output::Fence { .. }) => panic!("data takes the executive's path here"),
                None => break,
            }
        }
        requests
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
            let member = self.member(peer);
            match message {
                Message::FromExecutive(message) => member.receive(message),
                Message::Data(data) => {
                    if let Some(federate) = &mut member.federate {
                        federate.receive_data(&data.borrow()).expect("as promised");
                    }
                }
                Message::ToExecutive(_) => panic!("the wrong way"),
            }
        }
    }
}

impl Member {
    fn receive(&mut self, message: FromExecutive) {
        match message {
            FromExecutive::Done(done) => self.answer = Some(done.map(|()| Answer::Done)),
            FromExecutive::JoinRefused(why) => self.answer = Some(Err(why)),
            FromExecutive::Joined(snapshot) => {
                self.answer = Some(Ok(Answer::Joined(snapshot.handle)));
                let federate = Federate::new(*snapshot, DataPath::Executive);
                self.federate = Some(federate.expect("a snapshot that holds"));
            }
            FromExecutive::Federations(list) => self
                .own
                .push_back(Callback::ReportFederationExecutions(list)),
            FromExecutive::Removed(why) => panic!("removed: {why}"),
            FromExecutive::Status(_) | FromExecutive::Why(_) => {}
            log @ (FromExecutive::Entry(_) | FromExecutive::Watermark(_)) => {
                if let Some(federate) = &mut self.federate {
                    federate.receive(log).expect("as promised");
                    if federate.is_resigned() {
                        self.federate = None;
                    }
                }
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
