//! Best-effort data by datagrams beside trunks, at both ends of each.
//!
//! A forwarder that wants it gets a way: a secret that datagrams of either end name, and a port of the process that it hands
//! on to. That one is to the forwarder's federates what it is to those that have a session of their own (`datagrams`), but
//! that a datagram has the data of many, each message once for all channels that it is for (`starling_wire::Lane`).
//! Between a forwarder and its federates all goes by their streams.
//!
//! Invariants: a datagram ends nothing, and what names no way changes nothing and is not answered; data goes this way as long
//! as both ends hear each other; nobody is held for it, and where there is no room for it, it is dropped; each message that
//! went this way came to its federate, or is counted there or at rtiexec, whichever end of whichever trunk has lost it.

use crate::connection::Connection;
use crate::datagrams::{BY_STREAM, DATAGRAMS, SILENT_BEATS, TOGETHER};
use crate::server::{Ending, Server};
use crate::trunk::Channel;
use mio::Interest;
use mio::unix::SourceFd;
use starling_net::{Arrivals, Datagrams, Leaving, LinkReader, random_secret};
use starling_wire::{
    Lane, LinkNotice, OnTrunk, PLACES_MAX, Parcels, ParcelsHead, ParcelsOut, Place, Secret,
    data_kind, read_data, split_frame,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Instant;
use tracing::{info, warn};

/// As the ways of those behind a forwarder are called.
const BY_DATAGRAMS: &str = "its forwarder's datagrams";
/// A way that is not open is tried so often in short succession, then once a heartbeat.
const TRIES: u32 = 20;
/// What came by datagram and must go on by a stream waits for room up to so many bytes.
const WAITING_BYTES: usize = 64 * 1024;

/// The way beside a trunk, at one of its ends.
pub(crate) struct Way {
    secret: Secret,
    socket: Arc<Datagrams>,
    to: To,
    out: ParcelsOut,
    /// Data goes this way: the other end hears what is sent.
    open: bool,
    /// When something came of the other end last, if that is not long ago.
    heard: Option<Instant>,
    /// Why it is not open.
    why: String,
    /// How often the other end was asked since it was heard, and when.
    tried: u32,
    asked: Instant,
}

/// Where datagrams go.
enum To {
    /// To where the last one came from, by the socket beside the listener of this number.
    Back(usize, Option<SocketAddr>),
    /// Where the socket leads. This end asks.
    There,
}

impl Way {
    fn new(secret: Secret, socket: Arc<Datagrams>, to: To, bytes: usize, now: Instant) -> Self {
        Way {
            secret,
            socket,
            to,
            out: ParcelsOut::new(&secret, bytes),
            open: false,
            heard: None,
            why: "no datagram has come yet".into(),
            tried: 0,
            asked: now,
        }
    }

    /// Sends what is bundled, or nothing.
    fn send(&mut self, asks: bool) {
        self.out.datagram(self.heard.is_some(), asks);
        self.flush();
    }

    /// Sends what is bundled, if something is. What the system does not take is lost, and counted at the other end.
    fn flush(&mut self) {
        if !self.out.complete(self.heard.is_some()) {
            return;
        }
        let (bytes, lengths) = self.out.leaving();
        let to = match self.to {
            To::Back(_, address) => address,
            To::There => None,
        };
        if to.is_some() || matches!(self.to, To::There) {
            self.socket.send_all([Leaving { to, bytes, lengths }]);
        }
        self.out.sent();
    }

    /// A datagram of the other end has come.
    fn hear(&mut self, head: &ParcelsHead, from: SocketAddr, now: Instant) {
        let first = self.heard.replace(now).is_none();
        let asks = first && matches!(self.to, To::There);
        if let To::Back(_, address) = &mut self.to {
            *address = Some(from);
        }
        if std::mem::replace(&mut self.open, head.hears) && !head.hears {
            self.why = "datagrams come from there, but none comes there".into();
        }
        // It is to learn at once that it is heard.
        if head.asks || asks {
            self.send(asks);
        }
    }

    /// Whether a frame of these bytes goes this way.
    #[inline]
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.open && ParcelsOut::takes(bytes)
    }

    pub(crate) fn put(&mut self, places: &[Place], frame: &[u8]) {
        for places in places.chunks(PLACES_MAX) {
            if !self.out.put(places, frame) {
                self.out.datagram(self.heard.is_some(), false);
                if self.out.is_long() {
                    self.flush();
                }
                // Whatever is alone has room.
                let _ = self.out.put(places, frame);
            }
        }
    }

    /// Where what comes is to be looked for, if it has a socket of its own.
    pub(crate) fn own_socket(&self) -> Option<&Arc<Datagrams>> {
        matches!(self.to, To::There).then_some(&self.socket)
    }
}

impl Server {
    /// The way beside a trunk.
    pub(crate) fn way(&mut self, n: usize) -> Option<&mut Way> {
        if self.is_upstream(n) {
            return self.upstream.as_mut()?.way.as_deref_mut();
        }
        let trunk = self.connections.get_mut(n)?.trunk.as_mut()?;
        trunk.way.as_deref_mut().ok()
    }

    /// Whether best-effort data of federates goes on by datagrams.
    pub(crate) fn has_way_up(&self) -> bool {
        let way = self.upstream.as_ref().and_then(|up| up.way.as_ref());
        way.is_some_and(|way| way.open)
    }

    /// A forwarder wants a way.
    pub(crate) fn open_way(&mut self, n: usize, now: Instant) {
        self.close_way(n);
        match self.new_way(n, now) {
            Ok((port, secret)) => {
                let secret = &secret;
                self.put_on_trunk(n, &OnTrunk::Way { port, secret });
            }
            Err(why) => {
                self.put_on_trunk(n, &OnTrunk::NoWay { why: &why });
                if let Some(trunk) = self.connection(n).and_then(|c| c.trunk.as_mut()) {
                    trunk.way = Err(why);
                }
            }
        }
    }

    fn new_way(&mut self, n: usize, now: Instant) -> Result<(u32, Secret), String> {
        if !self.config.datagrams {
            return Err(format!(
                "transport.best_effort = stream at the {}",
                self.about.program
            ));
        }
        let listener = self.listener_for(n)?;
        let failed = |e: io::Error| format!("no socket for datagrams: {e}");
        let socket = self.socket_beside(listener).map_err(failed)?;
        let port = socket.port().map_err(failed)?;
        let secret = random_secret().map_err(failed)?;
        let bytes = self.config.datagram_bytes;
        if let Some(trunk) = self.connection(n).and_then(|c| c.trunk.as_mut()) {
            let way = Way::new(secret, socket, To::Back(listener, None), bytes, now);
            trunk.way = Ok(Box::new(way));
        }
        self.sockets.sessions.insert(secret, n);
        Ok((port.into(), secret))
    }

    /// A trunk ends: what still comes of it by datagrams is nobody's.
    pub(crate) fn close_way(&mut self, n: usize) {
        if let Some(secret) = self.way(n).map(|way| way.secret) {
            self.sockets.sessions.remove(&secret);
        }
    }

    /// The process that this one hands on to takes datagrams. Where this end has no socket, data keeps to the stream.
    pub(crate) fn begin_way(
        &mut self,
        port: u32,
        secret: &[u8],
        now: Instant,
    ) -> Result<(), Ending> {
        let (Ok(port), Ok(secret)) = (u16::try_from(port), Secret::try_from(secret)) else {
            let why = "malformed message: no port or secret for datagrams";
            return Err(Ending::Fault(why.into()));
        };
        let (bytes, quality) = (self.config.datagram_bytes, self.config.quality);
        let up = self.up();
        let Some(stream) = self.connection(up).map(|c| c.writer.stream().clone()) else {
            return Ok(());
        };
        let made = Datagrams::along(&stream, port).and_then(|socket| {
            quality.mark_datagrams(&socket)?;
            self.watch_datagrams(&socket)?;
            Ok(socket)
        });
        match made {
            Err(error) => warn!("best-effort data goes by the stream: no socket: {error}"),
            Ok(socket) => {
                let mut way = Way::new(secret, Arc::new(socket), To::There, bytes, now);
                way.send(true);
                if let Some(up) = &mut self.upstream {
                    up.way = Some(Box::new(way));
                }
            }
        }
        Ok(())
    }

    /// Watches a socket for datagrams, which there is memory for from then on.
    pub(crate) fn watch_datagrams(&mut self, socket: &Datagrams) -> io::Result<()> {
        if !self.sockets.arrivals.has_room() {
            self.sockets.arrivals = Arrivals::new(TOGETHER);
        }
        self.registry.register(
            &mut SourceFd(&socket.as_raw_fd()),
            DATAGRAMS,
            Interest::READABLE,
        )
    }

    /// Takes a datagram with parcels that has come to the socket beside a listener, or to that of the way on.
    pub(crate) fn take_parcels(
        &mut self,
        listener: Option<usize>,
        (head, parcels): (&ParcelsHead, Parcels<'_>),
        from: SocketAddr,
        now: Instant,
    ) {
        let of = match listener {
            Some(_) => self.sockets.sessions.get(&head.secret).copied(),
            None => Some(self.up()),
        };
        let Some(n) = of else { return };
        let Some(way) = self.way(n) else { return };
        let is_here = match way.to {
            To::Back(own, _) => listener == Some(own),
            To::There => listener.is_none() && way.secret == head.secret,
        };
        if !is_here {
            return;
        }
        let was_open = way.open;
        way.hear(head, from, now);
        if let (false, true, Some(connection)) = (was_open, way.open, self.connection(n)) {
            info!("{}: best-effort data goes by datagrams", connection.name());
        }
        if let Err(why) = self.take_all_parcels(n, listener.is_none(), parcels, now)
            && let Some(connection) = self.connection(n)
            && !std::mem::replace(&mut connection.faulty_datagram, true)
        {
            warn!("{}: a datagram is dropped: {why}", connection.name());
        }
    }

    fn take_all_parcels(
        &mut self,
        trunk: usize,
        is_down: bool,
        mut parcels: Parcels<'_>,
        now: Instant,
    ) -> Result<(), String> {
        let mut places = Vec::new();
        let mut here = Vec::new();
        while let Some(parcel) = parcels.next(&mut places).map_err(|e| e.to_string())? {
            if !is_down {
                let [place] = places[..] else {
                    return Err("a parcel of several federates".into());
                };
                // It may have been ended meanwhile.
                let trunk = self.connection(trunk).and_then(|c| c.trunk.as_ref());
                let Some(n) = trunk.and_then(|t| t.channel(place.channel)) else {
                    continue;
                };
                if self.take_at(n, |lane, read| lane.take(&place, &parcel, read)) == Some(true) {
                    self.take_up(n, parcel.frames, now);
                }
                continue;
            }
            here.clear();
            for place in &places {
                let Some(up) = &self.upstream else {
                    return Ok(());
                };
                if let Some(n) = up.channel(place.channel)
                    && let Some((lane, read)) = self.lane_down(n)
                    && lane.take(place, &parcel, read)
                    && !here.contains(&n)
                {
                    here.push(n);
                }
            }
            self.take_down_best_effort(&here, parcel.frames, now);
        }
        Ok(())
    }

    /// What comes of a channel's federate, and how far its stream was read.
    fn take_at<T>(&mut self, n: usize, take: impl FnOnce(&mut Lane, u64) -> T) -> Option<T> {
        let connection = self.connection(n)?;
        let read = connection.reader.as_ref().map_or(0, LinkReader::position);
        Some(take(&mut connection.channel.as_mut()?.lane, read))
    }

    /// What comes for a federate from there, and how far its stream came.
    fn lane_down(&mut self, n: usize) -> Option<(&mut Lane, u64)> {
        let relay = self.connection(n)?.relay.as_mut()?;
        let read = relay.received();
        Some((&mut relay.lane, read))
    }

    /// Best-effort data of a federate behind a forwarder.
    fn take_up(&mut self, n: usize, frames: &[u8], now: Instant) {
        if self.upstream.is_none() {
            return self.handle_frames(n, frames, now);
        }
        let up = self.up();
        for frame in each(frames) {
            let goes = self.way(up).is_some_and(|way| way.takes(frame.len()));
            let Some(relay) = self.connection(n).and_then(|c| c.relay.as_mut()) else {
                return;
            };
            if goes {
                self.put_up(n, frame);
            } else if relay.takes_first(frame.len(), WAITING_BYTES) {
                relay.put_first(frame);
                self.queue(n);
            } else {
                relay.lane.skip(1);
            }
        }
    }

    /// Best-effort data goes on by datagram.
    pub(crate) fn put_up(&mut self, n: usize, frame: &[u8]) {
        let up = self.up();
        let relay = self.connection(n).and_then(|c| c.relay.as_mut());
        if let Some(place) = relay.map(|relay| relay.place())
            && let Some(way) = self.way(up)
        {
            way.put(&[place], frame);
            self.mark_dirty(up);
        }
    }

    /// Best-effort data for federates that come by this forwarder. For who has no room it is dropped.
    fn take_down_best_effort(&mut self, to: &[usize], frames: &[u8], now: Instant) {
        if to.is_empty() {
            return;
        }
        for frame in each(frames) {
            for n in to {
                self.forward_best_effort(*n, frame, now);
            }
            self.deliver(None, frame, now);
        }
    }

    /// Takes what has waited for more of a federate's stream from its forwarder.
    pub(crate) fn take_kept_up(&mut self, n: usize, now: Instant) {
        while let Some(Some(frames)) = self.take_at(n, |lane, read| lane.next_kept(read)) {
            self.take_up(n, &frames, now);
        }
    }

    /// The same of a stream to a federate.
    pub(crate) fn take_kept_down(&mut self, n: usize, now: Instant) {
        while let Some((lane, read)) = self.lane_down(n).filter(|(lane, _)| lane.keeps())
            && let Some(frames) = lane.next_kept(read)
        {
            self.take_down_best_effort(&[n], &frames, now);
        }
    }

    /// Best-effort data for a channel: by datagram, if that goes, put there by [`Server::deliver`], once for all that it is
    /// for; else on its stream, if it has room.
    pub(crate) fn best_effort_to_channel(&mut self, receiver: usize, frame: &[u8], now: Instant) {
        let channel = self
            .connections
            .get(receiver)
            .and_then(|c| c.channel.as_ref());
        let Some((trunk, _)) = channel.map(Channel::place) else {
            return;
        };
        if self.way(trunk).is_some_and(|way| way.takes(frame.len())) {
            let place = self.connection(receiver).and_then(|c| c.next_place());
            let state = self.connection(trunk).and_then(|c| c.trunk.as_mut());
            if let (Some(place), Some(state)) = (place, state)
                && state.add_place(place)
            {
                self.trunks.push(trunk);
            }
            return;
        }
        // Nobody is held for it.
        if !self.has_room_for_best_effort(receiver, now) {
            return self.drop_best_effort(receiver, 1);
        }
        self.forward_to_channel(None, receiver, frame, now);
        if let Some(to) = self.connection(receiver) {
            to.follow_stream();
        }
    }

    /// Sends what is bundled beside a trunk, if something is.
    pub(crate) fn flush_way(&mut self, n: usize) {
        if let Some(way) = self.way(n) {
            way.flush();
        }
    }

    /// Takes the way beside a trunk for closed when nothing was heard on it for long, and tries it.
    pub(crate) fn tend_way(&mut self, n: usize, now: Instant) {
        let heartbeat = self.config.heartbeat;
        let Some(heard) = self.way(n).map(|way| way.heard) else {
            return;
        };
        let silent = heard.map(|heard| now.duration_since(self.attention.from(heard)));
        let Some(way) = self.way(n) else { return };
        if let Some(silent) = silent.filter(|silent| *silent > heartbeat * SILENT_BEATS) {
            (way.heard, way.tried) = (None, 0);
            let was_open = std::mem::take(&mut way.open);
            way.flush();
            way.why = format!("no datagram has come for {:.1} s", silent.as_secs_f64());
            let why = way.why.clone();
            if let (true, Some(connection)) = (was_open, self.connection(n)) {
                let name = connection.name();
                warn!("{name}: best-effort data goes by its stream: {why}");
            }
        }
        let Some(way) = self.way(n) else { return };
        let is_short = !way.open && way.tried < TRIES;
        if matches!(way.to, To::There) && (is_short || now.duration_since(way.asked) >= heartbeat) {
            way.tried = way.tried.saturating_add(1);
            way.asked = now;
            way.send(true);
        }
    }

    /// Once a heartbeat: hands on what is known to be lost, and tells the other ends of trunks and sessions how much was sent.
    pub(crate) fn tend_lanes(&mut self, now: Instant) {
        let is_due = now >= self.next_beat;
        if !is_due
            || (self.sockets.sessions.is_empty()
                && self.trunk_count == 0
                && self.upstream.is_none()
                && !self.drops)
        {
            return;
        }
        self.next_beat = now + self.config.heartbeat;
        self.drops = false;
        for n in self.connections.numbers().collect::<Vec<_>>() {
            self.hand_on_losses(n);
            self.tell_beyond(n);
            let up = self.up();
            let Some(connection) = self.connection(n) else {
                continue;
            };
            let session = connection.session.as_mut();
            if let Some(messages) = session.and_then(|session| session.tell()) {
                self.tell(n, &LinkNotice::Sent { messages }, None);
                continue;
            }
            let down = connection.channel.as_mut().and_then(|channel| {
                let (trunk, id) = channel.place();
                Some((trunk, id, channel.lane.tell()?))
            });
            let on = connection.relay.as_mut();
            let on = on.and_then(|relay| Some((up, relay.id(), relay.lane.tell()?)));
            for (trunk, channel, messages) in down.into_iter().chain(on) {
                self.put_on_trunk(trunk, &OnTrunk::Sent { channel, messages });
            }
        }
    }

    /// What a forwarder knows to be lost, in either direction, is told to who counts it: as lost before it could be sent, or
    /// to the federate.
    fn hand_on_losses(&mut self, n: usize) {
        let Some(connection) = self.connection(n) else {
            return;
        };
        let Some(relay) = &mut connection.relay else {
            let dropped = connection.best_effort.dropped;
            let told = std::mem::replace(&mut connection.dropped_told, dropped);
            let messages = dropped.saturating_sub(told);
            if messages > 0 {
                self.tell(n, &LinkNotice::Lost { messages }, None);
            }
            return;
        };
        let dropped = std::mem::take(&mut connection.best_effort.dropped);
        let messages = relay.lane.newly_lost().saturating_add(dropped);
        if let Some(channel) = &mut connection.channel {
            let lost = channel.lane.newly_lost();
            relay.lane.skip(lost);
            channel.lane.skip(messages);
        } else if messages > 0 {
            self.tell(n, &LinkNotice::Lost { messages }, None);
        }
    }

    /// Tells the process that this one hands on to how best-effort data of a federate gets here, if that is news.
    fn tell_beyond(&mut self, n: usize) {
        let by = match self.connections.get(n) {
            Some(part) if part.is_part && part.relay.is_some() => self.best_effort_by(part),
            _ => return,
        };
        let up = self.up();
        let relay = self.connection(n).and_then(|c| c.relay.as_mut());
        if let Some(channel) = relay.and_then(|relay| relay.tell_beyond(&by)) {
            self.put_on_trunk(up, &OnTrunk::BestEffort { channel, by: &by });
        }
    }

    /// How best-effort data of a connection gets here and from here, for people.
    pub(crate) fn best_effort_by(&self, connection: &Connection) -> String {
        let Some(channel) = &connection.channel else {
            return match connection.best_effort.by.as_str() {
                "" => BY_STREAM.into(),
                by => by.into(),
            };
        };
        let trunk = self.connections.get(channel.place().0);
        let own = match trunk.and_then(|c| c.trunk.as_ref()).map(|t| &t.way) {
            Some(Ok(way)) if way.open => BY_DATAGRAMS.to_owned(),
            Some(Ok(way)) => format!("its forwarder's stream ({})", way.why),
            Some(Err(why)) if !why.is_empty() => format!("its forwarder's stream ({why})"),
            _ => BY_STREAM.to_owned(),
        };
        match channel.beyond.as_str() {
            "" | BY_STREAM => own,
            beyond => format!("{own}, behind that one {beyond}"),
        }
    }
}

/// Whole frames, one by one.
pub(crate) fn each(mut frames: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (_, size) = split_frame(frames).ok().flatten()?;
        let frame;
        (frame, frames) = frames.split_at(size);
        Some(frame)
    })
}

/// Whether a frame, without its length, is data that may be dropped: declared best effort, and in receive order.
pub(crate) fn is_best_effort(frame: &[u8]) -> bool {
    data_kind(frame) == Some(true)
        && matches!(read_data(frame), Some(Ok(data)) if data.is_best_effort())
}

/// Where in these whole frames the last one of best-effort data ends.
pub(crate) fn last_best_effort(frames: &[u8]) -> Option<usize> {
    let (mut at, mut last) = (0, None);
    while let Ok(Some((frame, size))) = split_frame(&frames[at..]) {
        at += size;
        if is_best_effort(frame) {
            last = Some(at);
        }
    }
    last
}
