//! One peer's connection.

use crate::datagrams::Session;
use crate::trunk::{Channel, Trunk};
use crate::upstream::Relay;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use starling_core::Counters;
use starling_core::message::{BestEffort, Doing, PeerInfo};
use starling_net::{Link, LinkReader, LinkWriter, ProcessState, Stream, process_state, user_id};
use starling_wire::{Piece, Place};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection and what is known about it.
pub(crate) struct Connection {
    /// Taken out while its frames are being handled.
    pub reader: Option<LinkReader>,
    pub writer: LinkWriter,
    /// The number of the listener that it came by.
    pub listener: usize,
    /// After the handshake.
    pub info: Option<PeerInfo>,
    /// How it is connected, for people.
    pub path: String,
    /// Its process on this host, for which the system vouches.
    pub local_pid: Option<u32>,
    /// Its process on this host, as it says over TCP; proves nothing until it was looked for there.
    pub claimed_pid: Option<u32>,
    /// The system vouches for it as a process of this one's user, or of root.
    pub own_user: bool,
    /// Its user, for whom the system vouches.
    pub user: Option<u32>,
    /// As which it shares memory with others.
    pub mark: Option<u64>,
    /// Why it shares none, if it or this process has said so.
    pub unshared: String,
    /// As which it has TCP links to others.
    pub direct: Option<u64>,
    /// Why it has none, if this process has said so.
    pub undirect: String,
    /// It has shared memory or had links once: requests of its may name fences.
    pub has_links: bool,
    /// Its best-effort data may go by datagrams.
    pub session: Option<Box<Session>>,
    /// How that travels, and what of it did not.
    pub best_effort: BestEffort,
    /// How much it was told that was dropped of what was for it.
    pub dropped_told: u64,
    /// It was said that a datagram of its makes no sense.
    pub faulty_datagram: bool,
    /// Membership for the log: federation execution and federate, as told at join.
    pub member: Option<(String, String)>,
    /// What became of the federate's data, as it has told last.
    pub counters: Counters,
    /// Since when callbacks wait of which it has taken none, by what it has told.
    untaken: Option<Instant>,
    /// What the federate does, as it has told last, and when that was news.
    pub doing: (Doing, Instant),
    /// It evoked callbacks last, and does not any more.
    pub rests: bool,
    /// Creations and destructions that were asked for and not answered yet, for the log.
    pub asked: VecDeque<String>,
    /// There may be something to read.
    pub readable: bool,
    /// The peer has closed its side: read until the end is seen.
    pub closing: bool,
    /// The last write took everything.
    pub writable: bool,
    /// Writing has failed: what is meant for it is dropped, what it sent is still read.
    pub write_failed: Option<String>,
    /// It stands in the list of those that have something to be read.
    pub queued: bool,
    /// It stands in the list of those that have something to be written.
    pub dirty: bool,
    /// When the message began of which only a part has come.
    pub begun: Option<Instant>,
    /// Bytes of its modules that are counted in `Server::unjoined_bytes`.
    pub counted: usize,
    /// The FOM modules that it brought are being merged: its next message waits for that.
    pub in_work: bool,
    /// The receivers that it waits for.
    pub held_by: Vec<usize>,
    /// Senders that wait for it.
    pub holds: Vec<usize>,
    /// Since when more waits to be written than it may hold.
    pub full_since: Option<Instant>,
    /// The slowness was logged.
    pub slow_told: bool,
    pub heard: Instant,
    pub sent: Instant,
    /// Why it is kept though silent, once that was logged.
    pub kept: Option<&'static str>,
    /// It is a forwarder's, with the streams of its federates.
    pub trunk: Option<Box<Trunk>>,
    /// It is one of those, as long as it is there.
    pub channel: Option<Channel>,
    /// It was one from its beginning.
    pub is_part: bool,
    /// This process is a forwarder, and hands the stream on.
    pub relay: Option<Box<Relay>>,
    registry: Arc<Registry>,
    token: Token,
}

impl Connection {
    /// Appends a frame to what is to be sent.
    pub(crate) fn put_pieces(&mut self, frame: Vec<Piece>) {
        for piece in frame {
            match piece {
                Piece::Own(bytes) => self.writer.out().extend(bytes),
                Piece::Shared(bytes) => self.writer.share(&bytes),
            }
        }
    }

    /// Watches for what comes in. Room to write is watched for only when a write found none: a
    /// Unix-domain stream reports room each time its peer reads.
    pub fn new(
        stream: Stream,
        token: Token,
        registry: &Arc<Registry>,
        now: Instant,
    ) -> io::Result<Self> {
        Self::over(Link::new(stream), token, registry, now)
    }

    /// The same of a link over which something was said already.
    pub fn over(
        link: Link,
        token: Token,
        registry: &Arc<Registry>,
        now: Instant,
    ) -> io::Result<Self> {
        let descriptor = &link.stream().as_raw_fd();
        registry.register(&mut SourceFd(descriptor), token, Interest::READABLE)?;
        Ok(Self::of(link, token, registry, now))
    }

    /// A channel of a trunk.
    pub fn part(trunk: &Self, channel: Channel, path: String, now: Instant) -> Self {
        let link = Link::part(trunk.writer.stream());
        let mut part = Self::of(link, trunk.token, &trunk.registry, now);
        (part.path, part.local_pid, part.own_user) = (path, None, false);
        (part.user, part.channel, part.is_part) = (None, Some(channel), true);
        part
    }

    fn of(link: Link, token: Token, registry: &Arc<Registry>, now: Instant) -> Self {
        let peer = link.stream().peer();
        let (reader, writer) = link.split();
        Self {
            reader: Some(reader),
            writer,
            listener: 0,
            info: None,
            path: peer.path,
            local_pid: peer.process.map(|(pid, _)| pid),
            claimed_pid: None,
            own_user: peer
                .process
                .is_some_and(|(_, user)| user == user_id() || user == 0),
            user: peer.process.map(|(_, user)| user),
            mark: None,
            unshared: String::new(),
            direct: None,
            undirect: String::new(),
            has_links: false,
            session: None,
            best_effort: BestEffort::default(),
            dropped_told: 0,
            faulty_datagram: false,
            member: None,
            counters: Counters::default(),
            untaken: None,
            doing: (Doing::default(), now),
            rests: false,
            asked: VecDeque::new(),
            readable: true,
            closing: false,
            writable: true,
            write_failed: None,
            queued: false,
            dirty: false,
            begun: None,
            counted: 0,
            in_work: false,
            held_by: Vec::new(),
            holds: Vec::new(),
            full_since: None,
            slow_told: false,
            heard: now,
            sent: now,
            kept: None,
            trunk: None,
            channel: None,
            is_part: false,
            relay: None,
            registry: registry.clone(),
            token,
        }
    }

    /// The state of its process, if that is known to run on this host.
    pub fn process_state(&mut self) -> Option<ProcessState> {
        if let Some(pid) = self.claimed_pid.take()
            && self.writer.stream().is_of_process(pid)
        {
            self.local_pid = Some(pid);
        }
        self.local_pid.map(process_state)
    }

    /// Bytes that were ever put on its stream, and how many of these have left.
    pub fn written(&self) -> (u64, u64) {
        let waits = self.writer.pending() as u64;
        match &self.channel {
            Some(channel) => (channel.sent() + waits, channel.taken()),
            None => (self.writer.position(), self.writer.position() - waits),
        }
    }

    /// Whether so much waits for it that who sends to it is to be held up; `most`: bytes, if it has a stream of its own.
    pub fn is_full(&self, most: usize) -> bool {
        match &self.channel {
            Some(channel) => !channel.has_room() || self.writer.pending() > 0,
            None => self.writer.pending() > most,
        }
    }

    /// Whether there is room for what nobody has asked for.
    pub fn has_room(&self, most: usize) -> bool {
        let channel = self.channel.as_ref();
        channel.is_none_or(|channel| channel.has_room()) && self.writer.pending() <= most
    }

    /// Whether what it sends is to wait.
    pub fn must_wait(&self) -> bool {
        self.in_work || !self.held_by.is_empty() || self.relay.as_ref().is_some_and(|r| r.is_full())
    }

    /// Where best-effort data stands that is sent to a channel by datagram next.
    pub fn next_place(&mut self) -> Option<Place> {
        if self.writer.pending() > 0 {
            self.follow_stream();
        }
        let channel = self.channel.as_mut()?;
        Some(channel.lane.next(channel.place().1))
    }

    /// What is sent to a channel by datagram from now on is taken only behind what stands on its stream now.
    pub fn follow_stream(&mut self) {
        let (end, _) = self.written();
        if let Some(channel) = &mut self.channel {
            channel.lane.follow(end);
        }
    }

    /// What it tells of itself, once a second at most, where something has changed.
    pub fn note_counters(&mut self, now: Counters) {
        let before = std::mem::replace(&mut self.counters, now);
        let here = |c: &Counters| c.waiting.saturating_add(c.withheld);
        let more = now.queued.saturating_sub(before.queued);
        let taken = here(&now) < here(&before).saturating_add(more);
        self.untaken = match self.untaken {
            _ if now.waiting == 0 => None,
            Some(since) if !taken => Some(since),
            _ => Some(self.heard),
        };
    }

    /// That callbacks wait of which it takes none, if it has not for longer than it may be silent about it.
    pub fn untaken(&self) -> Option<String> {
        const LONG: Duration = Duration::from_secs(2);
        let since = self.untaken?.elapsed();
        (since > LONG).then(|| {
            format!(
                "{} callbacks wait, and it has taken none for about {:.0} s: it does not evoke, or is in a callback",
                self.counters.waiting,
                since.as_secs_f64()
            )
        })
    }

    /// Who it is, for the log.
    pub fn name(&self) -> String {
        let program = match &self.info {
            Some(i) => format!(
                "{} (process {} on {}, {})",
                i.program, i.pid, i.host, self.path
            ),
            None => format!("a stranger ({})", self.path),
        };
        match &self.member {
            Some((federation, federate)) => {
                format!("federate '{federate}' of '{federation}', {program}")
            }
            None => program,
        }
    }

    /// Writes what waits. What can't be written any more is dropped.
    pub fn flush(&mut self, now: Instant) {
        // What goes to a channel goes on its trunk, as its server puts it there.
        if self.writer.pending() == 0 || self.is_part {
            return;
        }
        if self.write_failed.is_some() {
            self.writer.discard();
            return;
        }
        let flushed = self.writer.flush().and_then(|all| {
            if all != self.writable {
                self.watch(!all)?;
                self.writable = all;
            }
            Ok(())
        });
        match flushed {
            Ok(()) => self.sent = now,
            Err(error) => {
                self.write_failed = Some(error.to_string());
                self.writer.discard();
                // What it sent before is still to be read, down to the end.
                self.readable = true;
                self.closing = true;
            }
        }
    }

    /// Watches for what comes in, and for room to write or not.
    fn watch(&self, room: bool) -> io::Result<()> {
        let interest = if room {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        let descriptor = &self.writer.stream().as_raw_fd();
        let mut source = SourceFd(descriptor);
        self.registry.reregister(&mut source, self.token, interest)
    }

    /// Ends the connection and the watching.
    pub fn end(&self) {
        if self.is_part {
            return;
        }
        let stream = self.writer.stream();
        // An error means that it is not watched any more.
        let _ = self.registry.deregister(&mut SourceFd(&stream.as_raw_fd()));
        stream.shut_down();
    }
}
