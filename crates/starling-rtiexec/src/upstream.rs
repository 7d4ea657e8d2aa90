//! A forwarder: the server without an executive, which hands the streams of its federates on to rtiexec, or to
//! another forwarder, over one connection (`trunk`).
//!
//! What federates say goes there as it comes, but for what is meant for this process. What comes from there
//! comes once for all federates to whom it goes.
//!
//! Invariants: of a federate at most `forwarder.window_bytes`, and one message, are on their way in either
//! direction, or here (what is passed must be here as a whole, and what of it is to be handed on is once more); what one
//! passes that is no member is dropped as it comes, and best-effort data for who has no room; a federate that does not read holds up nobody else, and neither
//! does the trunk but for those that send on it; when the trunk is gone, so are all federates, with the reason.

use crate::connection::Connection;
use crate::messages::{RELAY_HEAD_BYTES, RUN_BYTES, SMALL_BYTES_MAX};
use crate::server::{Ending, Server};
use crate::trunk::{Channel, frame_bytes, kept};
use crate::ways::{Way, each, is_best_effort, last_best_effort};
use crate::{Config, datagrams::BY_STREAM, direct::Links};
use mio::Token;
use starling_core::message::FromExecutive;
use starling_core::{FederateHandle, NAME_BYTES_MAX};
use starling_net::{Link, LinkReader};
use starling_wire::{
    FIRST_ROOM, FRAME_BYTES_MAX, Foreign, Frame, HEARTBEAT, Lane, OnTrunk, ParcelsOut, Place,
    Welcome, WireError, data_kind, is_on_trunk, is_pass, put_on_trunk, put_pass, put_passed,
    read_data, read_on_trunk, read_pass, split_frame,
};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;
use tracing::{debug, info};

/// What is put on the trunk of one federate before others have their turn.
const PIECE_BYTES: usize = 32 * 1024;

/// Where what federates say is handed on.
pub(crate) struct Upstream {
    /// The connection.
    pub n: usize,
    /// The connections whose streams go there, by their channels.
    channels: HashMap<u64, usize>,
    last: u64,
    /// The connections of members, by their groups and handles.
    members: HashMap<(u64, FederateHandle), usize>,
    /// The receivers of what is passed in hand, and the frame that they get; kept for their memory.
    to: Vec<FederateHandle>,
    passed: Vec<u8>,
    /// The way by datagrams beside it.
    pub way: Option<Box<Way>>,
    /// Why it is gone.
    pub lost: Option<String>,
}

impl Upstream {
    /// The connection of a channel.
    pub fn channel(&self, channel: u64) -> Option<usize> {
        self.channels.get(&channel).copied()
    }
}

/// How a federate's stream is handed on.
pub(crate) struct Relay {
    /// Its channel.
    id: u64,
    /// Bytes that were handed on, and how many may be.
    sent: u64,
    room: u64,
    /// As which federate others know it, and in which group.
    member: Option<(u64, FederateHandle)>,
    /// What is to be handed on before anything else that it says, and how much of it was.
    first: Vec<u8>,
    first_sent: usize,
    /// What is still to come of the frame of which a part was handed on.
    rest: usize,
    /// What is still to come of one that is nothing: it was passed by who is no member.
    dropped: u64,
    /// Bytes that came for it, and how many may.
    received: u64,
    granted: u64,
    /// Of those that wait to be written: where they end among all that is written, and in what came.
    waiting: VecDeque<(u64, u64)>,
    /// What of it goes by datagrams.
    pub lane: Lane,
    /// What was said of how its best-effort data gets here, if by further forwarders.
    beyond: String,
    /// It was said that its federate has ended.
    ends: bool,
}

/// What is to be done with what a federate has said.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// So many bytes are handed on.
    HandOn {
        count: usize,
        /// Behind which so many of a frame are missing.
        rest: usize,
        /// What is sent beside them comes behind so many of them; 0: behind none.
        behind: usize,
    },
    /// The frame with which it begins may go by a datagram.
    Apart,
    /// The frame with which it begins is for this process.
    Own,
    /// More must come.
    Wait,
}

impl Relay {
    /// Whether nothing more of it may be handed on now.
    pub(crate) fn is_full(&self) -> bool {
        self.sent >= self.room
    }

    pub(crate) fn is_member(&self) -> bool {
        self.member.is_some()
    }

    /// Its channel.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Bytes that came for it.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Where the next of its messages stands that goes by a datagram.
    pub(crate) fn place(&mut self) -> Place {
        self.lane.next(self.id)
    }

    /// Whether a frame that did not come by its stream, of so many bytes, may be put there with others, as long as these have
    /// `most` bytes.
    pub(crate) fn takes_first(&self, bytes: usize, most: usize) -> bool {
        self.rest == 0 && self.first.len() + bytes <= most
    }

    /// Puts it there.
    pub(crate) fn put_first(&mut self, frame: &[u8]) {
        self.first.extend_from_slice(frame);
        let waits = self.first.len() - self.first_sent;
        self.lane.follow(self.sent + waits as u64);
    }

    /// Its channel, if how its best-effort data gets here is news.
    pub(crate) fn tell_beyond(&mut self, by: &str) -> Option<u64> {
        if self.beyond == by {
            return None;
        }
        by.clone_into(&mut self.beyond);
        Some(self.id)
    }

    /// Of the frame with which the inbox begins, if it must be whole before anything of it can be done; `apart`: also if it
    /// may go by a datagram.
    pub(crate) fn awaited(&self, inbox: &[u8], apart: bool) -> u64 {
        let begins = self.rest == 0 && self.dropped == 0;
        let begin = inbox.get(4..).unwrap_or_default();
        match inbox.first_chunk() {
            Some(length) if begins => {
                let bytes = frame_bytes(length);
                let passed = self.member.is_some() && is_pass(begin) == Some(true);
                let whole = passed || apart && may_go_apart(begin, bytes);
                if whole { bytes } else { 0 }
            }
            _ => 0,
        }
    }

    /// What to do with the inbox: `most` bytes of it may be handed on. `apart`: best-effort data goes by datagrams.
    fn next(&self, inbox: &[u8], most: usize, apart: bool) -> Result<Next, WireError> {
        next(self.rest, inbox, most.min(inbox.len()), apart)
    }
}

/// Whether a frame of so many bytes that begins so may be one that goes by a datagram.
fn may_go_apart(begin: &[u8], bytes: u64) -> bool {
    let fits = usize::try_from(bytes).is_ok_and(ParcelsOut::takes);
    fits && data_kind(begin) == Some(true)
}

/// `rest`: bytes of a frame that has begun before.
fn next(rest: usize, inbox: &[u8], most: usize, apart: bool) -> Result<Next, WireError> {
    let (mut at, mut behind) = (rest, 0);
    while at < most {
        let begin = inbox.get(at + 4..).unwrap_or_default();
        let own = match is_pass(begin) {
            Some(pass) => pass || is_on_trunk(begin),
            None => break,
        };
        let length = u32::from_le_bytes([inbox[at], inbox[at + 1], inbox[at + 2], inbox[at + 3]]);
        if own || apart && may_go_apart(begin, 4 + u64::from(length)) {
            return Ok(match at {
                0 if own => Next::Own,
                0 => Next::Apart,
                count => Next::HandOn {
                    count,
                    rest: 0,
                    behind,
                },
            });
        }
        if length == 0 || length as usize > FRAME_BYTES_MAX {
            return Err(WireError(format!(
                "a frame of {length} bytes; 1 to {FRAME_BYTES_MAX} are allowed"
            )));
        }
        at += 4 + length as usize;
        // Nothing that is sent by a datagram overtakes a request, nor what is as it is.
        let is_free = data_kind(begin) == Some(false) || begin[0] == HEARTBEAT;
        if !is_free {
            behind = at;
        }
    }
    Ok(match at.min(most) {
        0 => Next::Wait,
        count => Next::HandOn {
            count,
            rest: at - count,
            behind,
        },
    })
}

impl Server {
    /// A forwarder that hands on to whoever is at the other end of this link, on which hands were shaken. `welcome`:
    /// rtiexec's answer there, which tells how long messages may be that go by way of this process.
    ///
    /// # Errors
    /// It can't be set up: a text that says why.
    pub fn forwarder(config: Config, link: Link, welcome: Welcome) -> Result<Self, String> {
        // What makes no sense here.
        let config = Config {
            by_itself: false,
            idle_exit: None,
            shared_memory: false,
            links: Links::None,
            frame_bytes_max: usize::try_from(welcome.frame_bytes_max)
                .map_or(FRAME_BYTES_MAX, |most| most.min(FRAME_BYTES_MAX)),
            ..config
        };
        let mut server = Self::new(config)?;
        let n = server.connections.next();
        let now = Instant::now();
        let marked = server.config.quality.mark(link.stream());
        marked.map_err(|e| {
            format!("the system takes no net.dscp_reliable or net.buffer_bytes: {e}")
        })?;
        let connection = Connection::over(link, Token(n), &server.registry, now);
        let mut connection = connection.map_err(|e| format!("the trunk can't be watched: {e}"))?;
        connection.info = Some(welcome.info);
        put_on_trunk(connection.writer.out(), &OnTrunk::Begin);
        let leads_elsewhere = connection.writer.stream().leads_elsewhere();
        if server.config.datagrams && (leads_elsewhere || server.config.datagrams_near) {
            put_on_trunk(connection.writer.out(), &OnTrunk::Datagrams);
        }
        server.connections.put(connection);
        server.about.program = "forwarder".into();
        server.upstream = Some(Upstream {
            n,
            channels: HashMap::new(),
            last: 0,
            members: HashMap::new(),
            to: Vec::new(),
            passed: Vec::new(),
            way: None,
            lost: None,
        });
        server.mark_dirty(n);
        server.queue(n);
        Ok(server)
    }

    /// Whether this process is a forwarder, and `n` leads to who it hands on to.
    #[inline]
    pub(crate) fn is_upstream(&self, n: usize) -> bool {
        self.upstream.as_ref().is_some_and(|up| up.n == n)
    }

    pub(crate) fn up(&self) -> usize {
        self.upstream.as_ref().map_or(usize::MAX, |up| up.n)
    }

    /// Hands on what a federate has said.
    pub(crate) fn hand_on(
        &mut self,
        n: usize,
        reader: &mut LinkReader,
        now: Instant,
    ) -> Result<(), Ending> {
        let fault = |e: WireError| Ending::Fault(format!("malformed message: {e}"));
        let up = self.up();
        let apart = self.has_way_up();
        loop {
            let Some(connection) = self.connection(n) else {
                return Ok(());
            };
            if connection.must_wait() {
                return Ok(());
            }
            let Some(relay) = &mut connection.relay else {
                if !self.greet(n, reader, now)? {
                    return Ok(());
                }
                continue;
            };
            let room = usize::try_from(relay.room - relay.sent).unwrap_or(usize::MAX);
            if !relay.first.is_empty() {
                let (channel, mut first) = (relay.id, std::mem::take(&mut relay.first));
                let rest = &first[relay.first_sent..];
                let bytes = &rest[..rest.len().min(room.min(PIECE_BYTES))];
                relay.sent += bytes.len() as u64;
                relay.first_sent += bytes.len();
                self.put_on_trunk(up, &OnTrunk::Bytes { channel, bytes });
                if let Some(relay) = self.connection(n).and_then(|c| c.relay.as_mut()) {
                    if relay.first_sent == first.len() {
                        relay.first_sent = 0;
                        first.clear();
                        first = kept(first);
                    }
                    relay.first = first;
                }
                self.check_room(n, up, now);
                continue;
            }
            if relay.dropped > 0 {
                let count = relay.dropped.min(reader.inbox().len() as u64);
                if count == 0 {
                    return Ok(());
                }
                relay.dropped -= count;
                reader.consume(count as usize);
                continue;
            }
            let next = relay.next(reader.inbox(), room.min(PIECE_BYTES), apart);
            match next.map_err(fault)? {
                Next::Wait => return Ok(()),
                Next::HandOn {
                    count,
                    rest,
                    behind,
                } => {
                    let channel = relay.id;
                    if behind > 0 {
                        relay.lane.follow(relay.sent + behind as u64);
                    }
                    relay.sent += count as u64;
                    relay.rest = rest;
                    if behind > 0 {
                        // It comes before: rtiexec may take it for nothing behind this.
                        self.flush_way(up);
                    }
                    let bytes = &reader.inbox()[..count];
                    self.put_on_trunk(up, &OnTrunk::Bytes { channel, bytes });
                    reader.consume(count);
                    self.check_room(n, up, now);
                }
                Next::Apart => {
                    let split = split_frame(reader.inbox()).map_err(fault)?;
                    let Some((frame, size)) = split else {
                        return Ok(());
                    };
                    if matches!(read_data(frame), Some(Ok(data)) if data.is_best_effort()) {
                        self.put_up(n, &reader.inbox()[..size]);
                        reader.consume(size);
                    } else {
                        // Handed on as it is, from where it begins.
                        relay.lane.follow(relay.sent + size as u64);
                        relay.rest = size;
                    }
                }
                Next::Own if is_pass(&reader.inbox()[4..]) == Some(true) => {
                    let Some(member) = relay.member else {
                        // Of one that is no member any more it is nothing.
                        let length = reader.inbox().first_chunk();
                        relay.dropped = length.map_or(0, frame_bytes);
                        continue;
                    };
                    let passed = self.pass(n, member, reader.inbox(), now);
                    let count = passed.map_err(fault)?;
                    if count == 0 {
                        return Ok(());
                    }
                    reader.consume(count);
                }
                Next::Own => {
                    let split = split_frame(reader.inbox()).map_err(fault)?;
                    let Some((frame, size)) = split else {
                        return self.require_small(reader.inbox());
                    };
                    match read_on_trunk(frame) {
                        Some(Ok(OnTrunk::Begin)) => {}
                        _ => return Err(fault(WireError("a channel of what is no trunk".into()))),
                    }
                    reader.consume(size);
                    self.begin_trunk(n)?;
                    // Its own stream was to the process behind this one only until it had its welcome.
                    self.end_relay(n, "it is a forwarder");
                    self.queue(n);
                    return Ok(());
                }
            }
        }
    }

    /// Passes data to those behind this process that it is for, and hands on what is for others: the frames with which
    /// the inbox begins, as far as they are for the same; how many bytes these are, 0: the first is not whole.
    fn pass(
        &mut self,
        n: usize,
        (group, from): (u64, FederateHandle),
        inbox: &[u8],
        now: Instant,
    ) -> Result<usize, WireError> {
        let most = self.config.frame_bytes_max.saturating_add(RELAY_HEAD_BYTES);
        let Some(up) = &mut self.upstream else {
            return Ok(0);
        };
        let (mut to, mut others) = (std::mem::take(&mut up.to), Vec::new());
        let mut data = Vec::new();
        let mut taken = 0;
        while data.len() < RUN_BYTES {
            let rest = &inbox[taken..];
            let length = rest.first_chunk::<4>().map(|l| u32::from_le_bytes(*l));
            if length.is_some_and(|length| length as usize > most) {
                return Err(WireError(format!(
                    "more than {most} bytes are passed at once"
                )));
            }
            let Some((frame, size)) = split_frame(rest)? else {
                break;
            };
            let receivers = if taken == 0 { &mut to } else { &mut others };
            let Some(frames) = read_pass(frame, receivers) else {
                break;
            };
            let frames = frames?;
            if taken > 0 && (others != to || data.len() + frames.len() > RUN_BYTES) {
                break;
            }
            data.extend_from_slice(frames);
            taken += size;
        }
        if taken > 0 {
            let at = to
                .iter()
                .map(|federate| up.members.get(&(group, *federate)));
            let here: Vec<usize> = at.flatten().copied().collect();
            if here.len() < to.len() {
                to.retain(|federate| !up.members.contains_key(&(group, *federate)));
                if let Some(relay) = self.connection(n).and_then(|c| c.relay.as_mut()) {
                    put_pass(&mut relay.first, &to, data.len(), |out| out.extend(&data));
                }
            }
            self.pass_here((n, from), &here, &data, now);
        }
        if let Some(up) = &mut self.upstream {
            up.to = to;
        }
        Ok(taken)
    }

    /// Passes data of a federate to these. Who has no room does not get what of it is best effort, for which nobody is held.
    fn pass_here(
        &mut self,
        (n, from): (usize, FederateHandle),
        to: &[usize],
        data: &[u8],
        now: Instant,
    ) {
        let lossy = || each(data).filter(|frame| is_best_effort(&frame[4..]));
        let (best_effort, bytes) = lossy().fold((0, 0), |(n, bytes), f| (n + 1, bytes + f.len()));
        // Also for what is no data: it is as long, and whoever passes it may go on for ever.
        let holds = (best_effort == 0 || bytes < data.len()).then_some(n);
        let up = self.upstream.as_mut();
        let mut frame = up.map_or(Vec::new(), |up| std::mem::take(&mut up.passed));
        frame.clear();
        put_passed(&mut frame, from, data);
        let mut full = Vec::new();
        for receiver in to {
            if best_effort == 0 || self.has_room_for_best_effort(*receiver, now) {
                self.forward(holds, *receiver, &frame, now);
            } else {
                full.push(*receiver);
            }
        }
        self.deliver(holds, &frame, now);
        if !full.is_empty() {
            let reliable = each(data).filter(|frame| !is_best_effort(&frame[4..]));
            let reliable = reliable.collect::<Vec<_>>().concat();
            frame.clear();
            put_passed(&mut frame, from, &reliable);
            for receiver in full {
                self.drop_best_effort(receiver, best_effort);
                if holds.is_some() {
                    self.forward(holds, receiver, &frame, now);
                }
            }
            self.deliver(holds, &frame, now);
        }
        if let Some(up) = &mut self.upstream {
            up.passed = kept(frame);
        }
    }

    /// Refuses a frame for this process that is longer than any is.
    fn require_small(&self, inbox: &[u8]) -> Result<(), Ending> {
        let length = inbox.first_chunk::<4>();
        let length = length.map_or(0, |length| u32::from_le_bytes(*length) as usize);
        if length > SMALL_BYTES_MAX {
            return Err(Ending::Fault(format!(
                "malformed message: {length} bytes, more than {SMALL_BYTES_MAX}"
            )));
        }
        Ok(())
    }

    /// Who has connected says hello, which it says to the process behind this one: from then on there is a
    /// channel for it. Whether it has.
    fn greet(&mut self, n: usize, reader: &LinkReader, now: Instant) -> Result<bool, Ending> {
        let fault = |what: String| Ending::Fault(format!("malformed message: {what}"));
        let window = self.config.window_bytes;
        let (Some(connection), Some(up)) = (self.connections.get_mut(n), &mut self.upstream) else {
            return Ok(false);
        };
        if let Some(foreign) = Foreign::recognise(reader.inbox()) {
            connection.writer.out().extend(foreign.answer());
            connection.flush(now);
            return Err(Ending::Fault(format!("it speaks {foreign}")));
        }
        let split = split_frame(reader.inbox()).map_err(|e| fault(e.to_string()))?;
        let Some((frame, _)) = split else {
            return self.require_small(reader.inbox()).map(|()| false);
        };
        let Frame::Hello(hello) = Frame::decode(frame).map_err(|e| fault(e.to_string()))? else {
            return Err(fault("it did not begin with Hello".into()));
        };
        let mut info = hello.info;
        let names = [&info.program, &info.host, &info.version];
        if names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
            return Err(fault(format!(
                "a name of more than {NAME_BYTES_MAX} bytes in its Hello"
            )));
        }
        info.path.clone_from(&connection.path);
        if let Some(pid) = connection.local_pid {
            info.pid = pid;
        }
        connection.info = Some(info);
        up.last += 1;
        let channel = up.last;
        up.channels.insert(channel, n);
        connection.relay = Some(Box::new(Relay {
            id: channel,
            sent: 0,
            room: FIRST_ROOM,
            member: None,
            first: Vec::new(),
            first_sent: 0,
            rest: 0,
            dropped: 0,
            received: 0,
            granted: window.max(FIRST_ROOM),
            waiting: VecDeque::new(),
            lane: Lane::default(),
            beyond: BY_STREAM.into(),
            ends: false,
        }));
        debug!("handed on: {}", connection.name());
        let path = connection.path.clone();
        let (trunk, position) = (up.n, window.max(FIRST_ROOM));
        self.put_on_trunk(
            trunk,
            &OnTrunk::Open {
                channel,
                path: &path,
            },
        );
        self.put_on_trunk(trunk, &OnTrunk::Room { channel, position });
        Ok(true)
    }

    /// Takes what comes over the trunk.
    pub(crate) fn take_down(
        &mut self,
        reader: &mut LinkReader,
        now: Instant,
    ) -> Result<(), Ending> {
        let fault = |e: WireError| Ending::Fault(format!("malformed message: {e}"));
        loop {
            let Some((frame, size)) = split_frame(reader.inbox()).map_err(fault)? else {
                return Ok(());
            };
            match read_on_trunk(frame) {
                Some(said) => self.take_said(said.map_err(fault)?, now)?,
                None => match Frame::decode(frame).map_err(fault)? {
                    Frame::Heartbeat => {}
                    Frame::FromExecutive(FromExecutive::Removed(why)) => {
                        return Err(Ending::Closed(format!("it says: {why}")));
                    }
                    _ => return Err(fault(WireError("what is not said to a forwarder".into()))),
                },
            }
            reader.consume(size);
        }
    }

    fn take_said(&mut self, said: OnTrunk<'_>, now: Instant) -> Result<(), Ending> {
        let Some(up) = &self.upstream else {
            return Ok(());
        };
        // Whose channel it was may have gone meanwhile.
        let of = |channel: u64| up.channels.get(&channel).copied();
        match said {
            OnTrunk::Deliver { channels, frames } => {
                let mut receivers: Vec<usize> = channels.into_iter().filter_map(of).collect();
                // Whatever comes, none of them gets several copies.
                receivers.sort_unstable();
                receivers.dedup();
                let best_effort = up.way.as_ref().and_then(|_| last_best_effort(frames));
                for n in &receivers {
                    self.forward(None, *n, frames, now);
                    if let Some(end) = best_effort {
                        self.follow_best_effort(*n, end);
                    }
                    self.note_received(*n, frames.len());
                }
                self.deliver(None, frames, now);
                for n in receivers {
                    self.take_kept_down(n, now);
                    self.acknowledge(n);
                }
            }
            OnTrunk::Close { channel, why } => {
                let Some(n) = of(channel) else {
                    return Ok(());
                };
                self.forget_relay(n);
                if !why.is_empty() {
                    // It may be a welcome that refuses.
                    self.write_at_once(n, now);
                    self.remove(n, why);
                } else if let Some(connection) = self.take(n, "it was ended", "") {
                    self.let_leave(n, connection);
                }
            }
            OnTrunk::Room { channel, position } => {
                let n = of(channel);
                let connection = n.and_then(|n| self.connection(n));
                if let (Some(n), Some(relay)) = (n, connection.and_then(|c| c.relay.as_mut())) {
                    relay.room = relay.room.max(position);
                    self.queue(n);
                }
            }
            OnTrunk::Member {
                channel,
                group,
                federate,
            } => {
                if let Some(n) = of(channel) {
                    self.set_member(n, Some((group, federate)));
                }
            }
            OnTrunk::NoMember { channel } => {
                if let Some(n) = of(channel) {
                    self.set_member(n, None);
                }
            }
            OnTrunk::Way { port, secret } => self.begin_way(port, secret, now)?,
            OnTrunk::NoWay { why } => {
                let why: String = why.chars().take(NAME_BYTES_MAX).collect();
                info!("best-effort data goes by the stream: {why}");
            }
            OnTrunk::Sent { channel, messages } => {
                let n = of(channel);
                let connection = n.and_then(|n| self.connection(n));
                if let Some(relay) = connection.and_then(|c| c.relay.as_mut()) {
                    relay.lane.sum_up(messages);
                }
            }
            OnTrunk::Begin
            | OnTrunk::Open { .. }
            | OnTrunk::Bytes { .. }
            | OnTrunk::Ends { .. }
            | OnTrunk::Datagrams
            | OnTrunk::BestEffort { .. } => {
                return Err(Ending::Fault(
                    "malformed message: what only a forwarder says".into(),
                ));
            }
        }
        Ok(())
    }

    /// Best-effort data has come on a federate's stream, up to `end` of what comes now: what was sent before it by datagram
    /// is late, here and at a forwarder that it comes by.
    fn follow_best_effort(&mut self, n: usize, end: usize) {
        if let Some(connection) = self.connection(n) {
            connection.follow_stream();
            if let Some(relay) = &mut connection.relay {
                relay.lane.note_streamed(relay.received + end as u64);
            }
        }
    }

    /// A federate is a member, or is none; a forwarder that it comes by is told so.
    fn set_member(&mut self, n: usize, member: Option<(u64, FederateHandle)>) {
        let (Some(connection), Some(up)) = (self.connections.get_mut(n), &mut self.upstream) else {
            return;
        };
        let Some(relay) = &mut connection.relay else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut relay.member, member) {
            up.members.remove(&before);
        }
        if let Some(member) = member {
            up.members.insert(member, n);
        }
        if let Some((trunk, channel)) = connection.channel.as_ref().map(Channel::place) {
            let said = match member {
                None => OnTrunk::NoMember { channel },
                Some((group, federate)) => OnTrunk::Member {
                    channel,
                    group,
                    federate,
                },
            };
            self.put_on_trunk(trunk, &said);
        }
    }

    /// So many bytes came for a federate and wait for it, or have left.
    fn note_received(&mut self, n: usize, bytes: usize) {
        if let Some(connection) = self.connection(n) {
            let (end, _) = connection.written();
            if let Some(relay) = &mut connection.relay {
                relay.received += bytes as u64;
                relay.waiting.push_back((end, relay.received));
            }
        }
    }

    /// Lets more come for a federate, as far as what came has left.
    pub(crate) fn acknowledge(&mut self, n: usize) {
        let window = self.config.window_bytes;
        let Some(connection) = self.connection(n) else {
            return;
        };
        let (_, taken) = connection.written();
        let Some(relay) = &mut connection.relay else {
            return;
        };
        let mut left = None;
        while relay.waiting.front().is_some_and(|(end, _)| *end <= taken) {
            left = relay.waiting.pop_front();
        }
        let Some((_, left)) = left else { return };
        let position = left + window;
        if position >= relay.granted + window / 4 {
            relay.granted = position;
            let channel = relay.id;
            let up = self.up();
            self.put_on_trunk(up, &OnTrunk::Room { channel, position });
        }
    }

    /// A federate has ended, of whose stream something may still wait for room: where its stream goes to it is read on.
    pub(crate) fn tell_end(&mut self, n: usize) {
        let up = self.up();
        let relay = self.connection(n).and_then(|c| c.relay.as_mut());
        if let Some(relay) = relay.filter(|relay| !relay.ends) {
            relay.ends = true;
            let channel = relay.id;
            self.put_on_trunk(up, &OnTrunk::Ends { channel });
        }
    }

    /// A connection is taken out: its channel ends; if it is the trunk, all do.
    pub(crate) fn end_relay(&mut self, n: usize, why: &str) {
        if self.is_upstream(n) {
            // The first reason is the cause.
            if let Some(up) = self.upstream.as_mut().filter(|up| up.lost.is_none()) {
                info!("the way on is gone: {why}");
                up.lost = Some(why.to_owned());
            }
        } else if let Some(channel) = self.forget_relay(n) {
            let up = self.up();
            self.put_on_trunk(up, &OnTrunk::Close { channel, why });
        }
    }

    fn forget_relay(&mut self, n: usize) -> Option<u64> {
        self.set_member(n, None);
        let relay = self.connection(n)?.relay.take()?;
        self.upstream.as_mut()?.channels.remove(&relay.id);
        Some(relay.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_wire::put_heartbeat;

    /// Whatever the pieces in which frames come, they are handed on whole and in order, and what is meant for the
    /// forwarder is found at its beginning, as is what goes by datagrams.
    #[test]
    fn a_stream_is_handed_on_up_to_what_is_the_forwarders() {
        let mut bytes = Vec::new();
        put_heartbeat(&mut bytes);
        bytes.extend([9, 0, 0, 0, 7, 9, 9, 9, 9, 9, 9, 9, 9]);
        let request = bytes.len();
        bytes.extend([3, 0, 0, 0, 16, 9, 9]);
        let apart = bytes.len();
        bytes.extend([3, 0, 0, 0, 16 + 8, 9, 9]);
        let before = bytes.len();
        put_on_trunk(&mut bytes, &OnTrunk::Begin);
        for piece in 1..=bytes.len() {
            for most in 1..=bytes.len() {
                let (mut at, mut rest, mut came, mut follows) = (0, 0, 0, 0);
                let mut taken_apart = None;
                loop {
                    let inbox = &bytes[at..came];
                    match next(rest, inbox, most.min(inbox.len()), true).unwrap() {
                        Next::HandOn {
                            count,
                            rest: more,
                            behind,
                        } => {
                            assert!(count <= most);
                            if behind > 0 {
                                follows = at + behind;
                            }
                            at += count;
                            rest = more;
                        }
                        Next::Apart => {
                            assert_eq!((at, rest, follows), (apart, 0, request));
                            taken_apart = Some(at);
                            // It is none, or it is no time for it.
                            rest = before - apart;
                        }
                        Next::Own => break,
                        Next::Wait => {
                            assert!(came < bytes.len(), "{piece} {most}");
                            came = (came + piece).min(bytes.len());
                        }
                    }
                }
                assert_eq!((at, rest), (before, 0), "{piece} {most}");
                assert_eq!(taken_apart, Some(apart));
            }
        }
        assert!(next(0, &[0, 0, 0, 0, 1], 5, true).is_err());
        assert!(next(0, &[1, 0, 0, 0x40, 1], 5, true).is_err());
        // What takes no datagram is handed on as what is reliable, and what follows comes behind it.
        let whole = &bytes[apart..before];
        let count = whole.len();
        let (rest, behind) = (0, count);
        let next = next(0, whole, count, false);
        let handed = Next::HandOn {
            count,
            rest,
            behind,
        };
        assert_eq!(next, Ok(handed));
    }
}
