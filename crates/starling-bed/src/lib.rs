//! A federation in memory, for tests: the executive, the federates' LRCs, and links between them that
//! keep their own order and nothing else. When what is on a link arrives, its user says, and what may
//! happen to it on the way. The simulator, whose hosts join, stall and die in between, has a network of
//! its own over the same links.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod links;

pub use links::{Link, Links, Message, Sent};

use starling_core::message::{Data, DataBody, PeerInfo};
use starling_core::{Batch, DataPath, Executive, Lrc, PeerId, ProtocolError, Values};
use std::collections::BTreeMap;

/// What a link to or from the executive makes of messages that are sent on it together.
pub type Carry = fn(Vec<Message>) -> Vec<Message>;

/// Executive, LRCs and links.
pub struct Bed {
    /// All federation executions.
    pub executive: Executive,
    /// Who is connected, by the connection's number.
    pub members: BTreeMap<PeerId, Lrc<Sent>>,
    /// How data travels for those who connect from now on.
    pub path: DataPath,
    carry: Carry,
    links: Links,
    last_peer: u64,
    /// Data frames that have come to federates.
    frames: u64,
}

impl Bed {
    /// Nobody is connected.
    pub fn new(executive: Executive, path: DataPath, carry: Carry) -> Self {
        Bed {
            executive,
            members: BTreeMap::new(),
            path,
            carry,
            links: Links::default(),
            last_peer: 0,
            frames: 0,
        }
    }

    /// A new connection's LRC; the number is never used again.
    pub fn connect(&mut self) -> PeerId {
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.executive.connected(peer, PeerInfo::default());
        self.members
            .insert(peer, Lrc::new(Sent::default(), self.path));
        peer
    }

    /// The LRC of a connection that is there.
    pub fn member(&mut self, peer: PeerId) -> &mut Lrc<Sent> {
        self.members.get_mut(&peer).expect("it has connected")
    }

    /// A process ends: what is on its way to the executive arrives, nothing more reaches it.
    pub fn lose(&mut self, peer: PeerId) {
        self.members.remove(&peer);
        self.links.remove(Link::Down(peer));
        self.links.put(Link::Up(peer), [Message::End]);
    }

    /// What an LRC has sent is on its way.
    pub fn collect(&mut self, peer: PeerId) {
        let Some(member) = self.members.get_mut(&peer) else {
            return;
        };
        let mut up = Vec::new();
        for (to, message) in member.outbox().take() {
            // Whoever has resigned may have sent it: what was sent knows its sender.
            if let (Some(to), Message::Data(data)) = (to, &message) {
                let sender = data.borrow().sender;
                for to in to {
                    self.links.put(Link::Data(sender, to), [message.clone()]);
                }
            } else {
                up.push(message);
            }
        }
        self.links.put(Link::Up(peer), (self.carry)(up));
    }

    /// What the executive has said is on its way.
    pub fn collect_from_executive(&mut self) {
        let mut said: BTreeMap<PeerId, Vec<Message>> = BTreeMap::new();
        while let Some((peer, message)) = self.executive.poll_output() {
            let message = Message::FromExecutive(message);
            said.entry(peer).or_default().push(message);
        }
        for (peer, messages) in said {
            self.send_down(peer, messages);
        }
    }

    /// The links that carry something.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        self.links.busy()
    }

    /// Takes the next message off a link; none: it carries nothing.
    pub fn take(&mut self, link: Link) -> Option<Message> {
        self.links.take(link)
    }

    /// What a link carries is lost from this message on.
    pub fn truncate(&mut self, link: Link, messages: usize) {
        if let Some(queue) = self.links.carried(link) {
            queue.truncate(messages);
        }
    }

    /// A message arrives at the executive. Data is on its way on afterwards, behind all that the
    /// executive has said before; what else it says is on its way once it is collected.
    ///
    /// # Errors
    /// What the executive refuses; then the connection is to be ended.
    pub fn reach_executive(&mut self, from: PeerId, message: Message) -> Result<(), ProtocolError> {
        match message {
            Message::ToExecutive(message) => self.executive.receive(from, message)?,
            Message::Data(data) => {
                let mut to = Vec::new();
                self.executive.data(from, &data.borrow(), &mut to)?;
                self.collect_from_executive();
                for receiver in to {
                    self.send_down(receiver, vec![Message::Data(data.clone())]);
                }
            }
            Message::End => self.executive.disconnected(from, "its connection ended"),
            Message::FromExecutive(_) => panic!("the wrong way"),
        }
        Ok(())
    }

    /// A message arrives at a federate, if that is still there.
    ///
    /// # Errors
    /// What the LRC refuses.
    pub fn reach_member(&mut self, to: PeerId, message: Message) -> Result<(), ProtocolError> {
        self.reach_by(DataPath::Executive, to, message)
    }

    /// The same of a message on a link of this path.
    ///
    /// # Errors
    /// What the LRC refuses.
    pub fn reach_by(
        &mut self,
        path: DataPath,
        to: PeerId,
        message: Message,
    ) -> Result<(), ProtocolError> {
        let Some(member) = self.members.get_mut(&to) else {
            return Ok(());
        };
        match message {
            Message::FromExecutive(message) => member.receive(message),
            Message::Data(data) => {
                // Both ways of data meet: what is of a batch may go the short one.
                self.frames += 1;
                if self.frames.is_multiple_of(2) {
                    return member.receive_data(&data.borrow(), path, None);
                }
                let batch = batch_of(&data.borrow());
                member.receive_data(&in_batch(&data.borrow(), &batch), path, Some(&batch))
            }
            Message::ToExecutive(_) | Message::End => panic!("the wrong way"),
        }
    }

    fn send_down(&mut self, to: PeerId, messages: Vec<Message>) {
        if self.members.contains_key(&to) {
            self.links.put(Link::Down(to), (self.carry)(messages));
        }
    }
}

/// A frame as if it had been read with others, its tag and values standing in a batch of their own.
pub fn in_batch<'a>(sent: &Data<'a>, batch: &'a Batch) -> Data<'a> {
    let mut data = *sent;
    if let DataBody::Update { payload, .. } | DataBody::Interaction { payload, .. } = &mut data.body
    {
        let (tag, values) = batch.bytes().split_at(payload.tag.len());
        payload.tag = tag;
        payload.values = Values::parse(values).expect("they were values before");
    }
    data
}

/// Tag and values of a frame, for [`in_batch`].
pub fn batch_of(sent: &Data<'_>) -> Batch {
    let mut batch = Batch::default();
    if let Some(payload) = sent.body.payload() {
        batch.refill(&[payload.tag, payload.values.as_bytes()].concat());
    }
    batch
}
