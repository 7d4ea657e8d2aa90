//! Trunks that end here: connections of forwarders, each with the streams of its federates.
//!
//! Each channel of a trunk is a connection like those of federates that come by themselves, but for the bytes:
//! what comes on it is fed to its reader, what goes to it is taken from its writer and put on the trunk. So the
//! rest of the server does not know which it has.
//!
//! Invariants: data that goes to several channels of one trunk stands on it once, also for those that have no room
//! left, but then its sender is held until they have (`flow`); what else goes to such a channel waits for room, and
//! nothing overtakes it; a channel without room keeps no other one waiting; nothing of a channel comes behind its end, and
//! all that came before is handled, whoever has ended it; a channel is no trunk.

use crate::connection::Connection;
use crate::messages::{EAGER_BYTES, RELAY_HEAD_BYTES};
use crate::server::{Ending, Server};
use crate::ways::Way;
use starling_core::{BY_FORWARDER, NAME_BYTES_MAX};
use starling_wire::{FIRST_ROOM, Lane, OnTrunk, Place, put_deliver, put_on_trunk, read_on_trunk};
use std::collections::HashMap;
use std::time::Instant;
use tracing::{debug, info};

/// So many federates come by one forwarder.
pub(crate) const CHANNELS_MAX: usize = 4096;
/// What is taken from one channel before others of the trunk have their turn.
const PIECE_BYTES: usize = 64 * 1024;
/// Why a federate has no links of its own.
pub(crate) const BY_A_FORWARDER: &str = "it comes by a forwarder";

/// A connection that is a trunk.
pub(crate) struct Trunk {
    /// The connections of its channels.
    channels: HashMap<u64, usize>,
    /// The last that was opened.
    last: u64,
    /// Those that the frames in hand go to, by the stream, and by a datagram.
    receivers: Vec<u64>,
    places: Vec<Place>,
    /// The way by datagrams beside it, or why there is none; nothing: none was asked for.
    pub way: Result<Box<Way>, String>,
}

impl Trunk {
    fn new() -> Self {
        Trunk {
            channels: HashMap::new(),
            last: 0,
            receivers: Vec::new(),
            places: Vec::new(),
            way: Err(String::new()),
        }
    }

    /// The connection of a channel.
    pub fn channel(&self, channel: u64) -> Option<usize> {
        self.channels.get(&channel).copied()
    }

    /// The frame in hand goes there by a datagram. Whether this is the first that it goes to.
    pub fn add_place(&mut self, place: Place) -> bool {
        let first = self.receivers.is_empty() && self.places.is_empty();
        self.places.push(place);
        first
    }
}

/// What makes a connection a channel of a trunk.
pub(crate) struct Channel {
    /// The connection of the trunk.
    trunk: usize,
    /// Its number there.
    id: u64,
    /// Bytes that were put on the trunk for it, and how many may be.
    sent: u64,
    room: u64,
    /// Bytes that have come, and how many may.
    received: u64,
    granted: u64,
    /// What of it goes by datagrams.
    pub lane: Lane,
    /// What of that was lost before its federate has joined.
    lost_before: u64,
    /// How best-effort data travels between the forwarder and the federate, if by further forwarders.
    pub beyond: String,
}

impl Channel {
    /// Messages that were lost on their way here since its federate has joined.
    pub fn lost(&self) -> u64 {
        self.lane.lost() - self.lost_before
    }

    /// Its membership ends; how many were lost in it.
    pub fn forget_lost(&mut self) -> u64 {
        let lost = self.lost();
        self.lost_before = self.lane.lost();
        lost
    }

    pub fn has_room(&self) -> bool {
        self.sent < self.room
    }

    /// Its trunk, and its number there.
    pub fn place(&self) -> (usize, u64) {
        (self.trunk, self.id)
    }

    /// Bytes that were put on the trunk for it and have room there.
    pub fn taken(&self) -> u64 {
        self.sent.min(self.room)
    }

    /// Bytes that were.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// Of a frame that begins so.
pub(crate) fn frame_bytes(length: &[u8; 4]) -> u64 {
    4 + u64::from(u32::from_le_bytes(*length))
}

/// A buffer that is kept for its memory, unless that is much.
pub(crate) fn kept(buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > EAGER_BYTES {
        return Vec::new();
    }
    buffer
}

impl Server {
    /// A connection is a trunk from now on.
    pub(crate) fn begin_trunk(&mut self, n: usize) -> Result<(), Ending> {
        let Some(connection) = self.connection(n) else {
            return Ok(());
        };
        // A channel of one would have channels of its own, without a bound and without an end.
        if connection.member.is_some() || connection.trunk.is_some() || connection.is_part {
            return Err(Ending::Fault(
                "malformed message: a federate, a trunk, or a channel of one becomes no trunk"
                    .into(),
            ));
        }
        connection.trunk = Some(Box::new(Trunk::new()));
        let name = connection.name();
        self.trunk_count += 1;
        info!("a forwarder: {name}");
        if self.config.passes {
            self.executive.allow_direct_links();
        }
        Ok(())
    }

    /// A forwarder says something on its trunk.
    pub(crate) fn trunk_frame(
        &mut self,
        n: usize,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Ending> {
        let fault = |what: String| Err(Ending::Fault(format!("malformed message: {what}")));
        let said = match read_on_trunk(frame) {
            Some(Ok(said)) => said,
            Some(Err(error)) => return fault(error.to_string()),
            None => return Ok(()),
        };
        if said == OnTrunk::Begin {
            return self.begin_trunk(n);
        }
        let Some(trunk) = self.connection(n).and_then(|c| c.trunk.as_mut()) else {
            return fault("a channel of what is no trunk".into());
        };
        match said {
            OnTrunk::Open { channel, path } => {
                if channel <= trunk.last {
                    return fault(format!("channel {channel} behind channel {}", trunk.last));
                }
                if path.len() > NAME_BYTES_MAX {
                    return fault("a path of too many bytes".into());
                }
                trunk.last = channel;
                if trunk.channels.len() == CHANNELS_MAX {
                    let why = format!("{CHANNELS_MAX} federates come by this forwarder already");
                    self.put_on_trunk(n, &OnTrunk::Close { channel, why: &why });
                } else {
                    self.open_channel(n, channel, path, now);
                }
            }
            OnTrunk::Bytes { channel, bytes } => {
                // It may have been ended from this side meanwhile.
                let Some(at) = trunk.channels.get(&channel).copied() else {
                    return Ok(());
                };
                let connection = self.connection(at);
                let Some((reader, part)) =
                    connection.and_then(|c| Some((c.reader.as_mut()?, c.channel.as_mut()?)))
                else {
                    return Ok(());
                };
                part.received += bytes.len() as u64;
                if part.received > part.granted {
                    return fault(format!("more of channel {channel} than it has room for"));
                }
                if let Err(error) = reader.feed(bytes) {
                    self.remove(at, &error.to_string());
                    return Ok(());
                }
                if let Some(connection) = self.connection(at) {
                    connection.heard = now;
                }
                self.queue(at);
            }
            OnTrunk::Close { channel, why } => {
                let at = trunk.channels.get(&channel).copied();
                if let Some(at) = at {
                    self.end_channel(at, why.chars().take(NAME_BYTES_MAX).collect());
                }
            }
            OnTrunk::Ends { channel } => {
                let at = trunk.channels.get(&channel).copied();
                if let Some((at, connection)) = at.and_then(|at| Some((at, self.connection(at)?))) {
                    connection.closing = true;
                    self.queue(at);
                }
            }
            OnTrunk::Room { channel, position } => {
                let at = trunk.channels.get(&channel).copied();
                let connection = at.and_then(|at| self.connection(at));
                if let (Some(at), Some(part)) = (at, connection.and_then(|c| c.channel.as_mut())) {
                    part.room = part.room.max(position);
                    self.flush_channel(at, now);
                    self.release(at);
                }
            }
            OnTrunk::Datagrams => self.open_way(n, now),
            OnTrunk::Sent { channel, messages } => {
                let at = trunk.channel(channel);
                let connection = at.and_then(|at| self.connection(at));
                if let Some(part) = connection.and_then(|c| c.channel.as_mut()) {
                    part.lane.sum_up(messages);
                }
            }
            OnTrunk::BestEffort { channel, by } => {
                let at = trunk.channel(channel);
                let connection = at.and_then(|at| self.connection(at));
                if let Some(part) = connection.and_then(|c| c.channel.as_mut()) {
                    part.beyond = by.chars().take(NAME_BYTES_MAX).collect();
                }
            }
            OnTrunk::Begin
            | OnTrunk::Deliver { .. }
            | OnTrunk::Member { .. }
            | OnTrunk::NoMember { .. }
            | OnTrunk::Way { .. }
            | OnTrunk::NoWay { .. } => {
                return fault("what is not a forwarder's to say".into());
            }
        }
        Ok(())
    }

    fn open_channel(&mut self, trunk: usize, id: u64, path: &str, now: Instant) {
        let number = self.connections.next();
        let Some(by) = self.connection(trunk) else {
            return;
        };
        let its = by.info.as_ref().map_or(&by.path, |info| &info.path);
        let path = format!("{path}{BY_FORWARDER}{its}");
        let channel = Channel {
            trunk,
            id,
            sent: 0,
            room: FIRST_ROOM,
            received: 0,
            granted: FIRST_ROOM,
            lane: Lane::default(),
            lost_before: 0,
            beyond: String::new(),
        };
        let connection = Connection::part(by, channel, path, now);
        debug!("connected: {}", connection.path);
        if let Some(trunk) = &mut by.trunk {
            trunk.channels.insert(id, number);
        }
        self.connections.put(connection);
        self.grant(number);
    }

    pub(crate) fn put_on_trunk(&mut self, trunk: usize, said: &OnTrunk<'_>) {
        if let Some(connection) = self.connection(trunk)
            && connection.write_failed.is_none()
        {
            put_on_trunk(connection.writer.out(), said);
            self.mark_dirty(trunk);
        }
    }

    /// Lets the stream of a channel go on by as much as was handled of it.
    pub(crate) fn grant(&mut self, n: usize) {
        let window = self.config.window_bytes;
        let longest = (4 + RELAY_HEAD_BYTES).saturating_add(self.config.frame_bytes_max) as u64;
        let is_forwarder = self.upstream.is_some();
        let apart = self.has_way_up();
        let Some(connection) = self.connection(n) else {
            return;
        };
        let (Some(channel), Some(reader)) = (&mut connection.channel, &connection.reader) else {
            return;
        };
        // One message that is longer than that must have come before it can be handled; a forwarder hands on what it
        // has of most.
        let whole = match &connection.relay {
            Some(relay) => relay.awaited(reader.inbox(), apart),
            None if is_forwarder => 0,
            None => reader.inbox().first_chunk::<4>().map_or(0, frame_bytes),
        };
        let whole = whole.min(longest);
        let position = reader.position() + window.max(whole);
        let lacks = reader.position() + whole > channel.granted;
        if lacks || position >= channel.granted + window / 4 {
            channel.granted = position;
            let (trunk, channel) = (channel.trunk, channel.id);
            self.put_on_trunk(trunk, &OnTrunk::Room { channel, position });
        }
    }

    /// Puts on the trunk what waits for a channel, as far as it has room.
    pub(crate) fn flush_channel(&mut self, n: usize, now: Instant) {
        let mut frames = std::mem::take(&mut self.in_hand);
        while let Some((trunk, id)) = self.take_piece(n, &mut frames, now) {
            if let Some(to) = self.connection(trunk)
                && to.write_failed.is_none()
            {
                put_deliver(to.writer.out(), &[id], &frames);
                self.mark_dirty(trunk);
            }
        }
        self.in_hand = kept(frames);
    }

    /// Writes what waits for a connection that is about to end, as far as there is room.
    pub(crate) fn write_at_once(&mut self, n: usize, now: Instant) {
        self.flush_channel(n, now);
        if let Some(connection) = self.connection(n) {
            connection.flush(now);
        }
    }

    fn take_piece(&mut self, n: usize, frames: &mut Vec<u8>, now: Instant) -> Option<(usize, u64)> {
        let connection = self.connection(n)?;
        let channel = connection.channel.as_mut()?;
        if connection.writer.pending() == 0 || !channel.has_room() {
            return None;
        }
        let room = usize::try_from(channel.room - channel.sent).unwrap_or(usize::MAX);
        frames.clear();
        let taken = connection
            .writer
            .take_frames(room.min(PIECE_BYTES), |some| frames.extend_from_slice(some));
        channel.sent += taken as u64;
        // Requests and what the log says, before which nothing is taken that was sent behind it.
        channel.lane.follow(channel.sent);
        connection.sent = now;
        Some((channel.trunk, channel.id))
    }

    /// Data for a channel: put on the trunk by [`Server::deliver`], once for all that have room.
    pub(crate) fn forward_to_channel(
        &mut self,
        sender: Option<usize>,
        receiver: usize,
        frames: &[u8],
        now: Instant,
    ) {
        // Nothing overtakes what waits.
        self.flush_channel(receiver, now);
        let Some(connection) = self.connection(receiver) else {
            return;
        };
        let Some(channel) = &mut connection.channel else {
            return;
        };
        if connection.writer.pending() > 0 {
            connection.writer.append(frames);
            if let Some(sender) = sender {
                self.hold(sender, receiver, now);
            }
            return;
        }
        channel.sent += frames.len() as u64;
        connection.sent = now;
        let (trunk, id, has_room) = (channel.trunk, channel.id, channel.has_room());
        if let (Some(sender), false) = (sender, has_room) {
            self.hold(sender, receiver, now);
        }
        if let Some(connection) = self.connection(trunk)
            && let Some(state) = &mut connection.trunk
        {
            let first = state.receivers.is_empty() && state.places.is_empty();
            state.receivers.push(id);
            if first {
                self.trunks.push(trunk);
            }
        }
    }

    /// Whether a channel has no room, or its trunk takes no more.
    pub(crate) fn is_channel_full(&self, n: usize) -> bool {
        let connection = self.connections.get(n);
        let Some((connection, channel)) = connection.and_then(|c| Some((c, c.channel.as_ref()?)))
        else {
            return true;
        };
        let most = self.config.send_queue_bytes;
        let trunk = self.connections.get(channel.trunk);
        connection.is_full(0) || trunk.is_none_or(|trunk| trunk.is_full(most))
    }

    /// Puts data on the trunks of those whom it was forwarded to.
    #[inline]
    pub(crate) fn deliver(&mut self, sender: Option<usize>, frames: &[u8], now: Instant) {
        if !self.trunks.is_empty() {
            self.deliver_on_trunks(sender, frames, now);
        }
    }

    fn deliver_on_trunks(&mut self, sender: Option<usize>, frames: &[u8], now: Instant) {
        while let Some(n) = self.trunks.pop() {
            self.forwarded += frames.len() as u64;
            let Some(connection) = self.connection(n) else {
                continue;
            };
            let Some(trunk) = &mut connection.trunk else {
                continue;
            };
            if connection.write_failed.is_none() {
                if !trunk.receivers.is_empty() {
                    put_deliver(connection.writer.out(), &trunk.receivers, frames);
                }
                if let (false, Ok(way)) = (trunk.places.is_empty(), &mut trunk.way) {
                    way.put(&trunk.places, frames);
                }
            }
            trunk.receivers.clear();
            trunk.places.clear();
            if connection.writer.pending() >= EAGER_BYTES && connection.writable {
                connection.flush(now);
            }
            self.mark_dirty(n);
            if let Some(sender) = sender {
                self.check_room(sender, n, now);
            }
        }
    }

    /// A connection is taken out: if it is a channel, the forwarder ends it, and tells its federate this;
    /// if it is a trunk, its channels end.
    pub(crate) fn end_parts(&mut self, n: usize, why: &str, told: &str) {
        self.close_way(n);
        let Some(connection) = self.connection(n) else {
            return;
        };
        if let Some(Channel { trunk, id, .. }) = connection.channel.take() {
            if let Some(trunk) = self.connection(trunk).and_then(|c| c.trunk.as_mut()) {
                trunk.channels.remove(&id);
            }
            let said = OnTrunk::Close {
                channel: id,
                why: told,
            };
            self.put_on_trunk(trunk, &said);
        } else if let Some(trunk) = connection.trunk.take() {
            self.trunk_count -= 1;
            let mut channels: Vec<usize> = trunk.channels.into_values().collect();
            // Whatever order the map has.
            channels.sort_unstable();
            for n in channels {
                self.end_channel(n, format!("its forwarder is gone ({why})"));
            }
        }
    }

    /// Nothing more comes of a channel: it ends for this reason once what has come is handled.
    fn end_channel(&mut self, n: usize, why: String) {
        if let Some(connection) = self.connection(n) {
            connection.write_failed = Some(why);
            connection.writer.discard();
            (connection.readable, connection.closing) = (true, true);
            self.queue(n);
        }
    }
}
