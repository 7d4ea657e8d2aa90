//! Links, what they carry, and what LRCs put on them.

use starling_core::message::{Data, FromExecutive, OwnedData, ToExecutive};
use starling_core::{DataOut, DataPath, FederateHandle, Outbox, PeerId};
use std::collections::{BTreeMap, VecDeque};

/// One message, as its receiver gets it.
#[derive(Clone, Debug)]
pub enum Message {
    /// From an LRC.
    ToExecutive(ToExecutive),
    /// To an LRC.
    FromExecutive(FromExecutive),
    /// By the executive, or on a link of its own; a fence, too.
    Data(OwnedData),
    /// The connection, or the link of its own, has ended.
    End,
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// To the executive.
    Up(PeerId),
    /// From the executive.
    Down(PeerId),
    /// From one federate to another.
    Data(FederateHandle, FederateHandle),
}

/// What an LRC has sent, until it is put on the links: to the executive, or on links of their own to
/// these federates.
#[derive(Default)]
pub struct Sent(Vec<(Option<Vec<FederateHandle>>, Message)>);

impl Sent {
    /// What it holds.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.0.iter().map(|(_, message)| message)
    }

    /// Takes it out: each message with the federates to whom it goes on links of their own, or none:
    /// it goes to the executive.
    pub fn take(&mut self) -> Vec<(Option<Vec<FederateHandle>>, Message)> {
        std::mem::take(&mut self.0)
    }
}

impl Outbox for Sent {
    fn to_executive(&mut self, message: ToExecutive) {
        self.0.push((None, Message::ToExecutive(message)));
    }

    fn data(&mut self, frame: DataOut<'_>) {
        let to = (frame.path == DataPath::Direct).then(|| frame.to.to_vec());
        self.0.push((to, Message::Data(frame.data.to_owned())));
    }

    fn fence(&mut self, to: FederateHandle, fence: &Data<'_>) {
        self.0
            .push((Some(vec![to]), Message::Data(fence.to_owned())));
    }
}

/// Each link keeps its own order, and nothing else.
#[derive(Default)]
pub struct Links(BTreeMap<Link, VecDeque<Message>>);

impl Links {
    /// Puts messages on a link, behind what it carries.
    pub fn put(&mut self, link: Link, messages: impl IntoIterator<Item = Message>) {
        self.0.entry(link).or_default().extend(messages);
    }

    /// The links that carry something, in their order.
    pub fn busy(&self) -> impl Iterator<Item = Link> {
        let busy = self.0.iter().filter(|(_, queue)| !queue.is_empty());
        busy.map(|(link, _)| *link)
    }

    /// What a link carries, in its order.
    pub fn on(&self, link: Link) -> impl Iterator<Item = &Message> {
        self.0.get(&link).into_iter().flatten()
    }

    /// Takes the next message off a link; none: it carries nothing.
    pub fn take(&mut self, link: Link) -> Option<Message> {
        self.0.get_mut(&link)?.pop_front()
    }

    /// What a link that was used carries, to be lost in part; none: it was never used.
    pub fn carried(&mut self, link: Link) -> Option<&mut VecDeque<Message>> {
        self.0.get_mut(&link)
    }

    /// A link is gone, with what it carries.
    pub fn remove(&mut self, link: Link) {
        self.0.remove(&link);
    }
}
