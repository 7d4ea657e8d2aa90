//! The virtual network: links that keep their own order and nothing else.

use crate::watch::Watch;
use starling_core::message::{FromExecutive, PeerInfo, RequestNumber, ToExecutive};
use starling_core::{
    AttributeHandle, DataOut, DataPath, Executive, Federate, FederateHandle, ObjectInstanceHandle,
    Output, PeerId,
};
use starling_wire::{Frame, put_data, put_from_executive, put_to_executive, split_frame};
use std::collections::{BTreeMap, VecDeque};

/// A federate's computer.
pub(crate) struct Host {
    pub(crate) federate: Federate,
    pub(crate) handle: FederateHandle,
    pub(crate) peer: PeerId,
    /// It has not done anything yet.
    pub(crate) new: bool,
    pub(crate) resigning: bool,
    /// It waits for the federation's word on giving these away, and does nothing else.
    pub(crate) deciding: Option<Deciding>,
}

/// A call that needs the federation's word.
pub(crate) struct Deciding {
    pub(crate) request: RequestNumber,
    pub(crate) instance: ObjectInstanceHandle,
    pub(crate) attributes: Vec<AttributeHandle>,
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Up(PeerId),
    Down(PeerId),
    Data(FederateHandle, FederateHandle),
}

enum Item {
    Frame(Vec<u8>),
    End,
}

pub(crate) struct Network {
    pub(crate) path: DataPath,
    pub(crate) executive: Executive,
    pub(crate) hosts: BTreeMap<PeerId, Host>,
    /// Joining: peers whose answer is on its way.
    pub(crate) joining: Vec<PeerId>,
    links: BTreeMap<Link, VecDeque<Item>>,
    /// How often a data link gives way when its turn has come.
    pub(crate) slow: u8,
    /// The executive takes that many inputs, or none are left, before it settles.
    pub(crate) batch: u8,
    /// Inputs since it did.
    unsettled: u8,
    last_peer: u64,
}

impl Network {
    pub(crate) fn new(path: DataPath) -> Self {
        Network {
            path,
            executive: Executive::new(),
            hosts: BTreeMap::new(),
            joining: Vec::new(),
            links: BTreeMap::new(),
            slow: 0,
            batch: 1,
            unsettled: 0,
            last_peer: 0,
        }
    }

    /// A new connection to the executive.
    pub(crate) fn connect(&mut self) -> PeerId {
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.executive.connected(peer, PeerInfo::default());
        peer
    }

    pub(crate) fn send_up(&mut self, peer: PeerId, message: &ToExecutive) {
        let mut frame = Vec::new();
        put_to_executive(&mut frame, message);
        self.put(Link::Up(peer), Item::Frame(frame));
    }

    fn put(&mut self, link: Link, item: Item) {
        self.links.entry(link).or_default().push_back(item);
    }

    /// Runs a service at a host and puts what it sends on the links.
    pub(crate) fn call<T>(
        &mut self,
        peer: PeerId,
        service: impl FnOnce(&mut Federate, &mut dyn FnMut(DataOut<'_>)) -> T,
    ) -> T {
        let path = self.path;
        let host = self
            .hosts
            .get_mut(&peer)
            .expect("calls are made at hosts that are there");
        let me = host.handle;
        let mut sent = Vec::new();
        let result = service(&mut host.federate, &mut |out: DataOut<'_>| {
            let mut frame = Vec::new();
            put_data(&mut frame, &out.data);
            match path {
                DataPath::Executive => sent.push((Link::Up(peer), frame)),
                DataPath::Direct => {
                    sent.extend(out.to.iter().map(|to| (Link::Data(me, *to), frame.clone())));
                }
            }
        });
        while let Some(output) = host.federate.poll_output() {
            let mut frame = Vec::new();
            match output {
                Output::Request(request) => {
                    put_to_executive(&mut frame, &ToExecutive::Request(request));
                    sent.push((Link::Up(peer), frame));
                }
                Output::Fence { to, fence } => {
                    put_data(&mut frame, &fence);
                    sent.push((Link::Data(me, to), frame));
                }
            }
        }
        for (link, frame) in sent {
            let to_the_living = match link {
                Link::Data(_, to) => self.hosts.values().any(|h| h.handle == to),
                _ => true,
            };
            if to_the_living {
                self.put(link, Item::Frame(frame));
            }
        }
        result
    }

    /// Moves one item of a link drawn by `draw`; false if all links are empty.
    pub(crate) fn step(&mut self, draw: &mut fastrand::Rng, checker: &mut dyn Watch) -> bool {
        let busy = self.links.iter().filter(|(_, q)| !q.is_empty());
        let busy: Vec<_> = busy.map(|(l, _)| *l).collect();
        if busy.is_empty() {
            return self.settle(checker);
        }
        let mut link = busy[draw.usize(..busy.len())];
        // Some networks have slow data links, so that what they carry is overtaken.
        for _ in 0..self.slow {
            if matches!(link, Link::Data(..)) {
                link = busy[draw.usize(..busy.len())];
            }
        }
        let queue = self.links.get_mut(&link).expect("it was just listed");
        let item = queue.pop_front().expect("it was just seen to hold one");
        match (link, item) {
            (Link::Up(peer), Item::Frame(frame)) => self.up(peer, &frame, checker),
            (Link::Up(peer), Item::End) => {
                if let Some((_, _, handle)) = self.executive.member(peer) {
                    checker.lost(handle);
                }
                self.executive.disconnected(peer, "its process died");
                self.taken(checker);
            }
            (Link::Down(peer), Item::Frame(frame)) => self.down(peer, &frame, checker),
            (Link::Down(_), Item::End) => {}
            (Link::Data(from, to), item) => self.data(from, to, item),
        }
        true
    }

    fn up(&mut self, peer: PeerId, bytes: &[u8], checker: &mut dyn Watch) {
        match decode(bytes) {
            Frame::ToExecutive(message) => {
                if let ToExecutive::Request(request) = &message {
                    let member = self.executive.member(peer).map(|(_, _, handle)| handle);
                    checker.ordered(member.expect("requests come from members"), request);
                }
                let joins = matches!(message, ToExecutive::Join { .. });
                if let Err(error) = self.executive.receive(peer, message) {
                    panic!("the executive refuses {peer:?}: {error}");
                }
                if let (true, Some((_, _, handle))) = (joins, self.executive.member(peer)) {
                    checker.entered(handle);
                }
            }
            Frame::Data(data) => {
                let mut to = Vec::new();
                let taken = self.executive.data(peer, &data, &mut to);
                taken.unwrap_or_else(|e| panic!("the executive refuses data: {e}"));
                self.flush_executive(checker);
                for peer in to {
                    self.put(Link::Down(peer), Item::Frame(bytes.to_vec()));
                }
            }
            other => panic!("to the executive: {other:?}"),
        }
        self.taken(checker);
    }

    /// The executive has taken an input.
    fn taken(&mut self, checker: &mut dyn Watch) {
        self.unsettled += 1;
        if self.unsettled >= self.batch {
            self.settle(checker);
        }
        self.flush_executive(checker);
        checker.settled();
    }

    /// Whether there was anything to settle.
    fn settle(&mut self, checker: &mut dyn Watch) -> bool {
        let any = std::mem::take(&mut self.unsettled) > 0;
        self.executive.settle();
        self.flush_executive(checker);
        any
    }

    fn flush_executive(&mut self, checker: &mut dyn Watch) {
        while let Some((peer, message)) = self.executive.poll_output() {
            if let FromExecutive::Entry(entry) = &message
                && let Some((_, _, to)) = self.executive.member(peer)
            {
                checker.told(to, &entry.body);
            }
            let mut frame = Vec::new();
            put_from_executive(&mut frame, &message);
            self.put(Link::Down(peer), Item::Frame(frame));
        }
    }

    fn down(&mut self, peer: PeerId, bytes: &[u8], checker: &mut dyn Watch) {
        let frame = decode(bytes);
        if let Frame::FromExecutive(FromExecutive::Joined(snapshot)) = frame {
            self.joining.retain(|p| *p != peer);
            let handle = snapshot.handle;
            let federate = Federate::new(*snapshot, self.path).expect("the snapshot is readable");
            checker.joined(handle, federate.model());
            let host = Host {
                federate,
                handle,
                peer,
                new: true,
                resigning: false,
                deciding: None,
            };
            self.hosts.insert(peer, host);
            return;
        }
        let Some(host) = self.hosts.get_mut(&peer) else {
            return;
        };
        let received = match frame {
            Frame::FromExecutive(message) => host.federate.receive(message),
            Frame::Data(data) => host.federate.receive_data(&data),
            other => panic!("to a federate: {other:?}"),
        };
        received.unwrap_or_else(|e| panic!("{} refuses its stream: {e}", host.handle));
        if host.federate.is_resigned() {
            self.remove(peer);
        }
    }

    fn data(&mut self, from: FederateHandle, to: FederateHandle, item: Item) {
        let Some(host) = self.hosts.values_mut().find(|h| h.handle == to) else {
            return;
        };
        let received = match item {
            Item::Frame(bytes) => match decode(&bytes) {
                Frame::Data(data) => host.federate.receive_data(&data),
                other => panic!("on a data link: {other:?}"),
            },
            Item::End => host.federate.link_ended(from),
        };
        received.unwrap_or_else(|e| panic!("{to} refuses data of {from}: {e}"));
        // A fence may have released the entry of its own resignation.
        if host.federate.is_resigned() {
            let peer = host.peer;
            self.remove(peer);
        }
    }

    /// A host is no longer there: its links end behind what they carry.
    pub(crate) fn remove(&mut self, peer: PeerId) {
        let Some(gone) = self.hosts.remove(&peer) else {
            return;
        };
        self.links.remove(&Link::Down(peer));
        let others: Vec<_> = self.hosts.values().map(|h| h.handle).collect();
        for other in others {
            self.links.remove(&Link::Data(other, gone.handle));
            self.put(Link::Data(gone.handle, other), Item::End);
        }
    }

    /// A host dies: what it had sent may be lost from any point on.
    pub(crate) fn kill(&mut self, peer: PeerId, draw: &mut fastrand::Rng, checker: &mut dyn Watch) {
        if let Some(up) = self.links.get_mut(&Link::Up(peer)) {
            up.truncate(draw.usize(..=up.len()));
        }
        if let Some(handle) = self.hosts.get(&peer).map(|h| h.handle) {
            let others: Vec<_> = self.hosts.values().map(|h| h.handle).collect();
            for other in others {
                if let Some(data) = self.links.get_mut(&Link::Data(handle, other)) {
                    data.truncate(draw.usize(..=data.len()));
                }
            }
            checker.died(handle);
        }
        self.remove(peer);
        self.put(Link::Up(peer), Item::End);
    }
}

fn decode(bytes: &[u8]) -> Frame<'_> {
    let (frame, used) = split_frame(bytes)
        .expect("frames are legal")
        .expect("frames are whole");
    assert_eq!(used, bytes.len(), "one frame at a time");
    Frame::decode(frame).unwrap_or_else(|e| panic!("a frame of our own can't be decoded: {e}"))
}
