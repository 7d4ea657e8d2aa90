//! Best-effort data by datagrams, between federates and this process.
//!
//! A member that asks for it gets a session: a secret that its datagrams name, and a port of this
//! process. Where its datagrams come from is where those for it go, so that this works through a
//! translation of addresses; and they go there only as long as it has heard one lately, else over its
//! stream.
//!
//! Invariants: what names no session changes nothing and is not answered; a datagram ends no connection;
//! best-effort data never makes a stream longer than its bound, and holds up no sender.

use crate::listening;
use crate::server::Server;
use crate::trunk::{BY_A_FORWARDER, Channel};
use crate::ways::each;
use mio::Token;
use starling_core::PeerId;
use starling_core::message::BestEffort;
use starling_net::{Arrivals, Datagrams, Endpoint, Leaving, LinkReader, random_secret};
use starling_wire::{
    DatagramHead, DatagramIn, DatagramOut, LinkNotice, PlainFrames, Secret, StreamPosition,
    read_data, split_datagram, split_frame, split_parcels,
};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tracing::{info, warn};

/// As ways to and from rtiexec are called.
pub(crate) const BY_STREAM: &str = "its stream";
pub(crate) const BY_DATAGRAMS: &str = "datagrams";

/// Where events of these sockets come.
pub(crate) const DATAGRAMS: Token = Token(usize::MAX - 2);

/// So many are taken from each socket before streams have their turn, and so many at a time.
const PER_TURN: usize = 256;
pub(crate) const TOGETHER: usize = 16;

/// A way is taken for closed when nothing was heard on it for so many heartbeats.
pub(crate) const SILENT_BEATS: u32 = 3;

/// The sockets, each beside the TCP listener of its number, and whose sessions, or ways beside trunks, they serve.
#[derive(Default)]
pub(crate) struct Sockets {
    by_listener: HashMap<usize, Arc<Datagrams>>,
    pub(crate) sessions: HashMap<Secret, usize>,
    /// There may be something to read.
    pub(crate) readable: bool,
    pub(crate) arrivals: Arrivals,
    /// A federate has told how much it has sent, which is to be looked at once nothing is there to read.
    told: bool,
}

/// The session of one member.
pub(crate) struct Session {
    secret: Secret,
    listener: usize,
    /// Where its last datagram came from.
    address: Option<SocketAddr>,
    heard: Instant,
    incoming: DatagramIn,
    outgoing: DatagramOut,
    /// Where in its stream the last message of best-effort data ended.
    streamed: u64,
    /// How much the federate has sent, as it has told.
    told: u64,
    /// Data for it goes by datagrams.
    open: bool,
}

impl Session {
    /// How much had been sent to it a heartbeat ago, if it is to be told.
    pub(crate) fn tell(&mut self) -> Option<u64> {
        self.outgoing.tell()
    }

    /// Makes room for a message in the datagram that is being filled. Whether so much waits that it is to be sent before.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.outgoing.has_room(bytes) {
            return false;
        }
        self.outgoing.datagram(true, false);
        self.outgoing.is_long()
    }

    fn leaving(&self) -> Option<Leaving<'_>> {
        let (bytes, lengths) = self.outgoing.leaving();
        let to = Some(self.address?);
        Some(Leaving { to, bytes, lengths })
    }
}

impl Server {
    /// A federate wants a session.
    pub(crate) fn open_session(&mut self, n: usize, now: Instant) {
        self.end_session(n);
        let notice = match self.new_session(n, now) {
            Ok((port, secret)) => LinkNotice::Datagrams {
                port: port.into(),
                secret: secret.to_vec(),
            },
            Err(why) => {
                if let Some(connection) = self.connection(n) {
                    connection.best_effort.by = format!("its stream ({why})");
                }
                LinkNotice::NoDatagrams { why }
            }
        };
        self.tell(n, &notice, None);
    }

    fn new_session(&mut self, n: usize, now: Instant) -> Result<(u16, Secret), String> {
        if !self.config.datagrams {
            return Err("transport.best_effort = stream at rtiexec".into());
        }
        if self.connection(n).is_some_and(|c| c.is_part) {
            return Err(BY_A_FORWARDER.into());
        }
        let listener = self.listener_for(n)?;
        let failed = |e: io::Error| format!("rtiexec has no socket for datagrams: {e}");
        let port = self.socket_beside(listener).and_then(|s| s.port());
        let port = port.map_err(failed)?;
        let secret = random_secret().map_err(failed)?;
        let bytes = self.config.datagram_bytes;
        let Some(connection) = self.connections.get_mut(n).filter(|c| c.member.is_some()) else {
            return Err("it is no joined federate".into());
        };
        let outgoing = DatagramOut::new(&secret, bytes, connection.writer.position());
        connection.session = Some(Box::new(Session {
            secret,
            listener,
            address: None,
            heard: now,
            incoming: DatagramIn::default(),
            outgoing,
            streamed: 0,
            told: 0,
            open: false,
        }));
        connection.best_effort.by = "its stream (no datagram has come yet)".into();
        self.sockets.sessions.insert(secret, n);
        Ok((port, secret))
    }

    /// The listener beside whose port its datagrams are to come: its own, or for a Unix-domain connection
    /// the first that this host reaches.
    pub(crate) fn listener_for(&mut self, n: usize) -> Result<usize, String> {
        let own = self.connection(n).map_or(0, |c| c.listener);
        let is_tcp = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp { .. });
        if self.endpoint(own).as_ref().is_some_and(is_tcp) {
            return Ok(own);
        }
        let here = |at: &Endpoint| is_tcp(at) && listening::serves_this_host(at);
        let mut all = 0..self.listeners.len();
        let there = all.find(|number| self.endpoint(*number).as_ref().is_some_and(here));
        there.ok_or_else(|| {
            let own = &self.about.program;
            format!("{own} listens at no TCP address of this host")
        })
    }

    fn endpoint(&self, listener: usize) -> Option<Endpoint> {
        self.listeners.get(listener)?.0.endpoint().ok()
    }

    /// The socket beside a listener, which is opened unless it is open.
    pub(crate) fn socket_beside(&mut self, listener: usize) -> io::Result<Arc<Datagrams>> {
        if let Some(socket) = self.sockets.by_listener.get(&listener) {
            return Ok(socket.clone());
        }
        let endpoint = self.endpoint(listener).ok_or(io::ErrorKind::NotFound)?;
        let socket = Datagrams::beside(&endpoint)?;
        if let Err(error) = self.config.quality.mark_datagrams(&socket) {
            warn!("no net.dscp_best_effort or net.buffer_bytes: {error}");
        }
        self.watch_datagrams(&socket)?;
        let port = socket.port()?;
        info!("datagrams are taken at port {port}, beside {endpoint}");
        let socket = Arc::new(socket);
        self.sockets.by_listener.insert(listener, socket.clone());
        Ok(socket)
    }

    /// A membership ends: what still comes of it by datagrams is nobody's.
    pub(crate) fn close_session(&mut self, n: usize) {
        let Some(connection) = self.connections.get_mut(n) else {
            return;
        };
        let by_channel = connection.channel.as_mut().map_or(0, Channel::forget_lost);
        self.end_session(n);
        let Some(connection) = self.connections.get_mut(n) else {
            return;
        };
        connection.dropped_told = 0;
        let best_effort = std::mem::take(&mut connection.best_effort);
        let lost = best_effort.lost.saturating_add(by_channel);
        if lost > 0 {
            let name = connection.name();
            info!("{name}: {lost} message(s) of its best-effort data were lost on the way here");
        }
    }

    /// A session ends; what was lost in it is counted with the membership, which may have another one.
    pub(crate) fn end_session(&mut self, n: usize) {
        if let Some(connection) = self.connections.get_mut(n)
            && let Some(mut session) = connection.session.take()
        {
            session.incoming.sum_up(session.told);
            let told = &mut connection.best_effort;
            told.lost = told.lost.saturating_add(session.incoming.lost());
            told.by.clear();
            self.sockets.sessions.remove(&session.secret);
        }
    }

    /// A federate says how much it has sent, or had a heartbeat ago.
    pub(crate) fn hear_sent(&mut self, n: usize, messages: u64) {
        if let Some(session) = self.session(n) {
            session.told = messages;
            self.sockets.told = true;
        }
    }

    /// What has not come of what federates have told is lost: nothing is there to read.
    fn sum_up(&mut self) {
        if std::mem::take(&mut self.sockets.told) {
            for n in self.sockets.sessions.values() {
                let connection = self.connections.get_mut(*n);
                if let Some(session) = connection.and_then(|c| c.session.as_mut()) {
                    session.incoming.sum_up(session.told);
                }
            }
        }
    }

    /// Takes datagrams that have come.
    pub(crate) fn take_datagrams(&mut self, now: Instant) {
        if !self.sockets.readable {
            return self.sum_up();
        }
        let mut arrivals = std::mem::take(&mut self.sockets.arrivals);
        // A flood of datagrams at one leaves the others their turn, and streams theirs; its own comes again at once.
        let beside = self.sockets.by_listener.iter();
        let mut sockets: Vec<_> = beside.map(|(n, s)| (Some(*n), s.clone())).collect();
        let way = self.upstream.as_ref().and_then(|up| up.way.as_ref());
        sockets.extend(way.and_then(|way| Some((None, way.own_socket()?.clone()))));
        let mut left = false;
        for (listener, socket) in sockets {
            let mut taken = 0;
            loop {
                let more = socket.receive_all(&mut arrivals);
                while let Some((datagram, from)) = arrivals.take() {
                    taken += 1;
                    if let Some((head, parcels)) = split_parcels(datagram) {
                        self.take_parcels(listener, (&head, parcels), from, now);
                    } else if let Some(listener) = listener
                        && let Some((head, frames)) = split_datagram(datagram)
                    {
                        self.take_datagram(listener, (&head, frames), from, now);
                    }
                }
                // Else what comes later is an event of its own.
                left |= more && taken >= PER_TURN;
                if !more || taken >= PER_TURN {
                    break;
                }
            }
        }
        self.sockets.readable = left;
        self.sockets.arrivals = arrivals;
        if !left {
            self.sum_up();
        }
    }

    fn take_datagram(
        &mut self,
        listener: usize,
        (head, frames): (&DatagramHead, &[u8]),
        from: SocketAddr,
        now: Instant,
    ) {
        let Some(&n) = self.sockets.sessions.get(&head.secret) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(n) else {
            return;
        };
        let Some(session) = connection
            .session
            .as_mut()
            .filter(|s| s.listener == listener)
        else {
            return;
        };
        let at = StreamPosition {
            read: connection.reader.as_ref().map_or(0, LinkReader::position),
            best_effort: session.streamed,
        };
        let frames = match session.incoming.receive((head, frames), at) {
            Ok(frames) => frames,
            Err(why) => {
                if !std::mem::replace(&mut connection.faulty_datagram, true) {
                    warn!("{}: a datagram is dropped: {why}", connection.name());
                }
                return;
            }
        };
        session.address = Some(from);
        session.heard = now;
        match (std::mem::replace(&mut session.open, head.hears), head.hears) {
            (false, true) => connection.best_effort.by = BY_DATAGRAMS.into(),
            // Who hears none sends none with data, either.
            (true, false) => {
                connection.best_effort.by = "its stream (no datagram comes there any more)".into();
            }
            _ => {}
        }
        if head.asks {
            // With what is bundled, if something is; at the end of the round.
            session.outgoing.datagram(true, false);
            self.mark_dirty(n);
        }
        self.handle_frames(n, frames, now);
    }

    /// Takes what has waited for the stream of `n`, which was read on.
    pub(crate) fn take_kept(&mut self, n: usize, now: Instant) {
        while let Some(connection) = self.connections.get_mut(n)
            && let read = connection.reader.as_ref().map_or(0, LinkReader::position)
            && let Some(session) = connection.session.as_mut().filter(|s| s.incoming.keeps())
            && let at = (StreamPosition {
                read,
                best_effort: session.streamed,
            })
            && let Some(frames) = session.incoming.next_kept(at)
        {
            self.handle_frames(n, &frames, now);
        }
    }

    /// Frames of best-effort data that have come by a datagram.
    pub(crate) fn handle_frames(&mut self, n: usize, mut frames: &[u8], now: Instant) {
        let (peer, most) = (PeerId(n as u64), self.config.frame_bytes_max);
        let mut receivers = std::mem::take(&mut self.receivers);
        while let Ok(Some((frame, size))) = split_frame(frames) {
            // As many as have the same receivers, or one that is out of the ordinary.
            let plain = PlainFrames::new(frames, most);
            let run = self.executive.data_run(peer, plain, &mut receivers);
            let taken = match (run, read_data(frame)) {
                (Ok(0), Some(Ok(data))) => {
                    let taken = self.executive.data(peer, &data, &mut receivers);
                    taken.map(|()| size)
                }
                (run, _) => run,
            };
            self.take_outputs();
            let Ok(run @ 1..) = taken else {
                // On a stream it would be malformed.
                frames = &frames[size..];
                if let Some(session) = self.session(n) {
                    session.incoming.drop_messages(1);
                } else if let Some(channel) = self.connection(n).and_then(|c| c.channel.as_mut()) {
                    channel.lane.drop_messages(1);
                }
                continue;
            };
            let those;
            (those, frames) = frames.split_at(run);
            if self.trunk_count > 0 {
                for frame in each(those) {
                    for PeerId(receiver) in &receivers {
                        self.forward_best_effort(*receiver as usize, frame, now);
                    }
                    self.deliver(None, frame, now);
                }
                continue;
            }
            for PeerId(receiver) in &receivers {
                self.forward_run(*receiver as usize, those, now);
            }
        }
        self.receivers = receivers;
    }

    /// The same as [`Server::forward_best_effort`] of several that have come by datagrams, for who does not come by a forwarder.
    fn forward_run(&mut self, receiver: usize, mut frames: &[u8], now: Instant) {
        loop {
            let to = self.connections.get_mut(receiver);
            let to = to.filter(|to| to.write_failed.is_none());
            let session = to.and_then(|to| to.session.as_deref_mut());
            if let Some(session) = session.filter(|s| s.open) {
                frames = &frames[session.outgoing.forward_run(frames)..];
                self.mark_dirty(receiver);
            }
            let Some(first) = each(frames).next() else {
                return;
            };
            frames = &frames[first.len()..];
            self.forward_best_effort(receiver, first, now);
        }
    }

    /// A message of best-effort data has come on the stream of `n`, up to here.
    pub(crate) fn note_streamed(&mut self, n: usize, position: u64) {
        if let Some(session) = self.session(n) {
            session.streamed = position;
        } else if let Some(channel) = self.connection(n).and_then(|c| c.channel.as_mut()) {
            channel.lane.note_streamed(position);
        }
    }

    /// Whether best-effort data may take another way than reliable data, or be dropped: some member has a session, or there
    /// is a trunk.
    #[inline]
    pub(crate) fn tells_best_effort(&self) -> bool {
        !self.sockets.sessions.is_empty() || self.trunk_count > 0
    }

    /// So much may wait for a receiver before best-effort data for it is dropped: reliable data has as much beside that.
    pub(crate) fn best_effort_room(&self) -> usize {
        self.config.send_queue_bytes / 2
    }

    /// Whether there is, on a receiver's stream.
    pub(crate) fn has_room_for_best_effort(&mut self, receiver: usize, now: Instant) -> bool {
        let room = self.best_effort_room();
        let Some(to) = self.connections.get_mut(receiver) else {
            return false;
        };
        if to.is_part {
            // What this turn has written before it waits for no room yet.
            self.flush_channel(receiver, now);
            return !self.is_channel_full(receiver);
        }
        if to.writer.pending() > room && to.writable {
            to.flush(now);
        }
        to.writer.pending() <= room
    }

    /// A receiver does not get so many messages of best-effort data: it is told so, soon.
    pub(crate) fn drop_best_effort(&mut self, receiver: usize, messages: u64) {
        if let Some(to) = self.connections.get_mut(receiver) {
            let dropped = &mut to.best_effort.dropped;
            *dropped = dropped.saturating_add(messages);
            self.drops = true;
        }
    }

    /// Best-effort data goes on: by datagram where that is open, else on the receiver's stream, if it has room there.
    pub(crate) fn forward_best_effort(&mut self, receiver: usize, frame: &[u8], now: Instant) {
        let Some(to) = self.connections.get_mut(receiver) else {
            return;
        };
        if to.write_failed.is_some() {
            return;
        }
        if to.is_part {
            return self.best_effort_to_channel(receiver, frame, now);
        }
        let by_datagram = |s: &Session| s.open && s.outgoing.takes(frame.len());
        if to.session.as_deref().is_some_and(by_datagram) {
            if let Some(session) = to.session.as_deref_mut() {
                let is_long = session.make_room(frame.len());
                if is_long {
                    self.send_bundled(&[receiver]);
                }
            }
            if let Some(session) = self.session(receiver) {
                session.outgoing.forward(frame);
            }
            self.mark_dirty(receiver);
            return;
        }
        if !self.has_room_for_best_effort(receiver, now) {
            return self.drop_best_effort(receiver, 1);
        }
        // What goes by stream is newer than what is bundled.
        self.send_bundled(&[receiver]);
        if let Some(to) = self.connections.get_mut(receiver) {
            to.writer.out().extend_from_slice(frame);
            if let Some(session) = &mut to.session {
                session.outgoing.follow(to.writer.position());
            }
        }
        self.mark_dirty(receiver);
    }

    fn session(&mut self, n: usize) -> Option<&mut Session> {
        self.connections.get_mut(n)?.session.as_deref_mut()
    }

    /// Sends what is bundled for these, where something is, with one call for many of them. What the system does not take is
    /// lost, and its receiver counts it.
    pub(crate) fn send_bundled(&mut self, to: &[usize]) {
        let mut any = false;
        for n in to {
            any |= self.session(*n).is_some_and(|s| s.outgoing.complete(true));
        }
        if !any {
            return;
        }
        let connections = &self.connections;
        let sessions = || {
            to.iter()
                .filter_map(|n| connections.get(*n)?.session.as_deref())
        };
        for (listener, socket) in &self.sockets.by_listener {
            let theirs = sessions().filter(|s| s.listener == *listener);
            socket.send_all(theirs.filter_map(Session::leaving));
        }
        for n in to {
            if let Some(session) = self.session(*n) {
                session.outgoing.sent();
            }
        }
    }

    /// Takes ways for closed on which nothing was heard for long.
    pub(crate) fn judge_session(&mut self, n: usize, now: Instant) {
        let limit = self.config.heartbeat * SILENT_BEATS;
        let Some(connection) = self.connections.get_mut(n) else {
            return;
        };
        let Some(session) = &mut connection.session else {
            return;
        };
        let silent = now.duration_since(self.attention.from(session.heard));
        if session.open && silent > limit {
            session.open = false;
            let silent = silent.as_secs_f64();
            connection.best_effort.by =
                format!("its stream (no datagram has come for {silent:.1} s)");
            warn!(
                "{}: best-effort data goes by its stream: no datagram has come for {silent:.1} s",
                connection.name()
            );
            self.send_bundled(&[n]);
        }
    }

    /// How its best-effort data travels, for `starling ps`.
    pub(crate) fn best_effort_of(&self, n: usize) -> BestEffort {
        let Some(connection) = self.connections.get(n) else {
            return BestEffort::default();
        };
        let mut told = connection.best_effort.clone();
        told.by = self.best_effort_by(connection);
        if let Some(session) = &connection.session {
            told.lost = told.lost.saturating_add(session.incoming.lost());
        }
        if let Some(channel) = &connection.channel {
            told.lost = told.lost.saturating_add(channel.lost());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use starling_rid::Settings;
    use std::net::UdpSocket;

    /// Whatever comes to one of them, and however much.
    #[test]
    fn what_comes_to_one_socket_keeps_no_other_waiting() {
        const SENT: usize = PER_TURN + 44;
        let mut config = Config::of(&Settings::default());
        config.listen = vec![Endpoint::loopback(0), Endpoint::loopback(0)];
        let mut server = Server::new(config).unwrap();
        let sockets = [0, 1].map(|n| server.socket_beside(n).unwrap());
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        for socket in &sockets {
            let to = ("127.0.0.1", socket.port().unwrap());
            for _ in 0..SENT {
                stranger.send_to(b"noise", to).unwrap();
            }
        }
        // As when the system reports them.
        server.sockets.readable = true;
        server.take_datagrams(Instant::now());
        assert!(server.sockets.readable, "there is more");
        let mut arrivals = Arrivals::new(PER_TURN);
        for socket in &sockets {
            let mut left = 0;
            while socket.receive_all(&mut arrivals) || !arrivals.is_empty() {
                left += std::iter::from_fn(|| arrivals.take().map(|_| ())).count();
            }
            assert!(left <= SENT - PER_TURN, "{left} wait still");
        }
        server.take_datagrams(Instant::now());
        assert!(!server.sockets.readable);
    }
}
