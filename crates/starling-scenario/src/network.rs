//! The executive and its federates in memory, on links that bring what is sent at once or late.

use starling_bed::{Bed, Link, Message, Sent};
use starling_core::{
    Answer, Archived, Callback, DataPath, Exception, Executive, Federate, Lrc, PeerId,
};
use starling_wire::{
    Frame, decode_save, put_data, put_from_executive, put_save, put_to_executive, split_frame,
};
use std::collections::BTreeMap;

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

pub(crate) struct Network {
    layer: Layer,
    bed: Bed,
    random: fastrand::Rng,
    /// What is saved, by federation execution and label, as bytes.
    saves: BTreeMap<(String, String), Vec<u8>>,
    /// What was sent to the executive: the sender's number and the frame, again and again.
    pub(crate) sent: Vec<u8>,
}

impl Network {
    pub(crate) fn new(layer: Layer) -> Self {
        let seed = match layer {
            Layer::Late(seed) => seed,
            Layer::Core | Layer::Wire => 0,
        };
        let carry = if layer == Layer::Wire {
            in_frames
        } else {
            std::convert::identity
        };
        Network {
            layer,
            bed: Bed::new(Executive::new(), DataPath::Executive, carry),
            random: fastrand::Rng::with_seed(seed),
            saves: BTreeMap::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self) -> PeerId {
        self.bed.connect()
    }

    /// The federate's process ends: what it has sent arrives, nothing more reaches it.
    pub(crate) fn lose(&mut self, peer: PeerId) {
        self.bed.collect(peer);
        self.bed.lose(peer);
        self.after_step();
    }

    pub(crate) fn federate(&self, peer: PeerId) -> Option<&Federate> {
        self.bed.members.get(&peer)?.federate()
    }

    /// A service.
    pub(crate) fn call<T>(&mut self, peer: PeerId, work: impl FnOnce(&mut Member) -> T) -> T {
        let result = work(self.bed.member(peer));
        self.bed.collect(peer);
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
        let Some(due) = self.bed.executive.next_timeout() else {
            return false;
        };
        self.bed.executive.set_time(due);
        self.bed.executive.handle_timeout(|_| true);
        self.bed.executive.settle();
        self.bed.collect_from_executive();
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

    /// The next message of some link arrives; whether there was one.
    fn travel(&mut self) -> bool {
        if self.archive() {
            return true;
        }
        let links = self.bed.links().count();
        if links == 0 {
            return false;
        }
        let at = self.random.usize(..links);
        let link = self.bed.links().nth(at).expect("one of the links");
        let message = self.bed.take(link).expect("no link is empty");
        match link {
            Link::Up(from) => self.reach_executive(from, message),
            Link::Down(to) => self.reach_member(to, message),
            Link::Data(..) => panic!("data takes the executive's path here"),
        }
        true
    }

    /// Keeps or brings a save; whether there was one to be.
    fn archive(&mut self) -> bool {
        let Some(task) = self.bed.executive.poll_archive() else {
            return false;
        };
        let place = (task.federation, task.label);
        let done = match task.write {
            Some(saved) => {
                // Else rtiexec would not write it.
                saved
                    .require_whole()
                    .expect("what is saved can be restored");
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
        self.bed
            .executive
            .archived(task.execution, task.number, done);
        self.bed.collect_from_executive();
        true
    }

    fn reach_executive(&mut self, from: PeerId, message: Message) {
        if !matches!(message, Message::End) {
            self.sent.push(from.0 as u8);
            put(&mut self.sent, &message);
        }
        self.bed
            .reach_executive(from, message)
            .expect("as promised");
        self.bed.executive.settle();
        self.bed.collect_from_executive();
    }

    fn reach_member(&mut self, to: PeerId, message: Message) {
        self.bed.reach_member(to, message).expect("as promised");
        if let Some(why) = self.bed.members.get(&to).and_then(Lrc::lost) {
            panic!("lost: {why}");
        }
        self.bed.collect(to);
    }
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

/// As frames of the wire format, coalesced and cut.
fn in_frames(messages: Vec<Message>) -> Vec<Message> {
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
