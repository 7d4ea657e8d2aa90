//! Best-effort data by datagrams, between this federate and rtiexec, beside their stream.
//!
//! rtiexec opens a session for a membership (`rtiexec/src/datagrams.rs`); this end asks for it, and again
//! and again whether it is heard. Only while both ends hear each other data goes this way.

use crate::link::Link;
use crate::state::State;
use crate::statistics::Way;
use starling_core::DataOut;
use starling_net::{Arrivals, Bundle, Datagrams, Leaving, LinkReader, Quality, Stream};
use starling_wire::{
    DataFrame, DatagramIn, DatagramOut, LinkRequest, Secret, StreamPosition, read_data,
    split_datagram, split_frame,
};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A way is taken for closed when nothing was heard on it for so many heartbeats.
const SILENT_BEATS: u32 = 3;
/// How often a way that is not open is tried at first, and for how long; then once a heartbeat.
pub(crate) const TRY: Duration = Duration::from_millis(100);
pub(crate) const TRIES: u32 = 20;
/// So many datagrams are taken before the stream has its turn, and so many at a time.
const PER_TURN: usize = 64;
pub(crate) const TOGETHER: usize = 16;

/// Whether a federate is to ask for datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// If rtiexec is on another host.
    Auto,
    Always,
    Never,
}

impl Wanted {
    /// The setting's word.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "datagrams" | "multicast" => Wanted::Always,
            "stream" => Wanted::Never,
            _ => Wanted::Auto,
        }
    }

    pub(crate) fn over(self, stream: &Stream) -> bool {
        match self {
            Wanted::Always => true,
            Wanted::Never => false,
            Wanted::Auto => stream.leads_elsewhere(),
        }
    }
}

/// What is sent.
pub(crate) struct Sending {
    socket: Arc<Datagrams>,
    out: DatagramOut,
    bundle: Bundle,
    heartbeat: Duration,
    /// When something was heard last of rtiexec by datagram.
    heard: Option<Instant>,
    /// Data goes this way: rtiexec hears what is sent, too.
    open: bool,
    tried: u32,
    sent: Instant,
    /// When rtiexec was told last how much was sent, or was not to be.
    told: Instant,
}

impl Sending {
    /// Whether a message of these bytes goes by a datagram.
    #[inline]
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.open && self.out.takes(bytes)
    }

    /// Sends what is bundled, and one that asks, or says, whether the other end is heard.
    fn send(&mut self, now: Instant, asks: bool) {
        self.out.datagram(self.heard.is_some(), asks);
        self.flush();
        if asks {
            self.sent = now;
        }
    }

    /// Makes room for a message in the datagram that is being filled. Whether so much waits that it is to be sent before.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.out.has_room(bytes) {
            return false;
        }
        self.out.datagram(self.heard.is_some(), false);
        self.out.is_long()
    }

    /// Whether data goes this way.
    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Sends what is bundled, if something is.
    pub(crate) fn flush(&mut self) {
        if !self.out.complete(self.heard.is_some()) {
            return;
        }
        // What the system does not take is lost, and rtiexec counts it.
        let (bytes, lengths) = self.out.leaving();
        let to = None;
        self.socket.send_all([Leaving { to, bytes, lengths }]);
        self.out.sent();
        self.bundle.flushed(Instant::now());
    }

    /// A datagram of rtiexec's has come.
    fn hear(&mut self, hears: bool, now: Instant) {
        let first = self.heard.replace(now).is_none();
        self.open = hears;
        if first {
            // It is to learn at once that it is heard.
            self.send(now, true);
        }
    }

    /// Asks whether it is heard, if that is due; when it is next.
    pub(crate) fn keep_time(&mut self, now: Instant) -> Instant {
        let silent = self.heartbeat * SILENT_BEATS;
        if self
            .heard
            .is_some_and(|heard| now.duration_since(heard) > silent)
        {
            (self.heard, self.open, self.tried) = (None, false, 0);
        }
        let pause = |tried| {
            if tried < TRIES {
                TRY.min(self.heartbeat)
            } else {
                self.heartbeat
            }
        };
        let mut due = self.sent + pause(if self.open { TRIES } else { self.tried });
        if now >= due {
            self.tried = self.tried.saturating_add(1);
            due = now + pause(if self.open { TRIES } else { self.tried });
            self.send(now, true);
        }
        due
    }

    /// How much had been sent a heartbeat ago, once in one, if rtiexec is to be told.
    pub(crate) fn tell(&mut self, now: Instant) -> Option<u64> {
        if now < self.told + self.heartbeat {
            return None;
        }
        self.told = now;
        self.out.tell()
    }

    /// What it sends takes another way from now on, as where a translation of addresses changes.
    #[cfg(test)]
    pub(crate) fn lead(&mut self, socket: Datagrams) {
        self.socket = Arc::new(socket);
    }

    /// When the bundle that waits is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.bundle.due()
    }

    /// Something has come to a thread that waited for it: what is sent next may be the answer.
    pub(crate) fn turned(&mut self) {
        self.bundle.turned();
    }
}

/// What is received.
pub(crate) struct Receiving {
    socket: Arc<Datagrams>,
    secret: Secret,
    incoming: DatagramIn,
    arrivals: Arrivals,
    /// There may be more than those.
    more: bool,
    /// Where in the stream the last message of best-effort data ended.
    streamed: u64,
    /// Messages that were counted as lost.
    counted: u64,
    /// What can't be has come, which was said.
    warned: bool,
}

impl Receiving {
    pub(crate) fn socket(&self) -> &Datagrams {
        &self.socket
    }

    /// Looks for datagrams, unless some are there.
    pub(crate) fn look(&mut self) {
        if self.arrivals.is_empty() {
            self.more = self.socket.receive_all(&mut self.arrivals);
        }
    }

    /// Whether one is there.
    pub(crate) fn has_news(&self) -> bool {
        !self.arrivals.is_empty()
    }

    fn at(&self, reader: &LinkReader) -> StreamPosition {
        StreamPosition {
            read: reader.position(),
            best_effort: self.streamed,
        }
    }

    /// Frames of data stand on the stream, which is at `position` before them.
    pub(crate) fn note_streamed(&mut self, position: u64, run: &[u8]) {
        let mut at = 0;
        while let Ok(Some((frame, used))) = split_frame(&run[at..]) {
            at += used;
            if let Some(Ok(data)) = read_data(frame)
                && data.is_best_effort()
            {
                self.streamed = position + at as u64;
            }
        }
    }
}

/// Begins a session.
pub(crate) fn begin(
    link: &mut Link,
    port: u16,
    secret: Secret,
    heartbeat: Duration,
    quality: Quality,
) -> io::Result<(Sending, Receiving)> {
    let socket = Arc::new(Datagrams::along(link.stream(), port)?);
    quality.mark_datagrams(&socket)?;
    let now = Instant::now();
    // Several leave together, as much as a bundle of the stream.
    let mut bundling = link.bundling();
    bundling.bytes = match link.datagram_bytes {
        0 => 0,
        bytes => bundling.bytes.max(bytes),
    };
    let mut sending = Sending {
        socket: socket.clone(),
        out: DatagramOut::new(&secret, link.datagram_bytes, link.position()),
        bundle: Bundle::new(bundling),
        heartbeat,
        heard: None,
        open: false,
        tried: 0,
        sent: now,
        told: now,
    };
    sending.send(now, true);
    let receiving = Receiving {
        socket,
        secret,
        incoming: DatagramIn::default(),
        arrivals: Arrivals::new(TOGETHER),
        more: false,
        streamed: 0,
        counted: 0,
        warned: false,
    };
    Ok((sending, receiving))
}

impl Link {
    /// Sends best-effort data by datagram, if that is open; else on the stream, behind what was bundled
    /// before.
    #[inline(never)]
    pub(crate) fn put_best_effort(&mut self, frame: DataOut<'_>) {
        let frame = DataFrame::new(frame.data);
        let Some(sending) = &mut self.datagrams else {
            frame.put_into(self.out());
            return;
        };
        if sending.takes(frame.bytes()) {
            if sending.make_room(frame.bytes()) {
                self.send_datagram();
            }
            if let Some(sending) = &mut self.datagrams {
                sending.out.put(&frame);
            }
            return;
        }
        sending.flush();
        frame.put_into(self.out());
        self.follow_stream();
    }

    /// Sends what is bundled, and before it what of the stream it comes after.
    pub(crate) fn send_datagram(&mut self) {
        let written = self.position() - self.pending() as u64;
        let behind = self.datagrams.as_ref().map_or(0, |s| s.out.behind());
        if written < behind {
            self.flush_if_free();
        } else if let Some(sending) = &mut self.datagrams {
            sending.flush();
        }
    }

    /// Tells how much was sent by datagram: this federate resigns.
    pub(crate) fn tell_sent(&mut self) {
        let Some(sending) = &mut self.datagrams else {
            return;
        };
        sending.flush();
        let messages = sending.out.messages();
        if messages > 0 {
            self.put_link_request(&LinkRequest::Sent { messages });
        }
    }

    /// What follows by datagram comes behind what stands on the stream now. What is bundled was sent.
    pub(crate) fn follow_stream(&mut self) {
        let position = self.position();
        if let Some(sending) = &mut self.datagrams {
            sending.out.follow(position);
        }
    }

    /// Whether best-effort data is bundled that is to be sent now, by the bundling rule.
    #[inline]
    pub(crate) fn is_datagram_due(&mut self) -> bool {
        let Some(sending) = self.datagrams.as_mut().filter(|s| !s.out.is_empty()) else {
            return false;
        };
        let bytes = sending.out.pending();
        let untimed = sending.bundle.appended_untimed(bytes);
        untimed.unwrap_or_else(|| sending.bundle.appended(bytes, Instant::now()))
    }
}

impl State {
    /// Takes datagrams that have come.
    pub(crate) fn take_datagrams(
        &mut self,
        reader: &LinkReader,
        receiving: &mut Option<Receiving>,
    ) {
        self.take_some(false, reader, receiving);
    }

    /// So much had been sent here a heartbeat ago: what has not come of it is lost. What lies in the socket has.
    pub(crate) fn sum_up(
        &mut self,
        messages: u64,
        reader: &LinkReader,
        receiving: &mut Option<Receiving>,
    ) {
        self.settle();
        self.take_some(true, reader, receiving);
        if let Some(receiving) = receiving {
            receiving.incoming.sum_up(messages);
            self.count_lost(receiving);
        }
    }

    /// Takes some of what has come, or `all`: as much as a socket keeps.
    fn take_some(&mut self, all: bool, reader: &LinkReader, receiving: &mut Option<Receiving>) {
        let Some(receiving) = receiving else {
            return;
        };
        let (mut taken, mut bytes) = (0, 0);
        receiving.look();
        loop {
            let at = receiving.at(reader);
            let Some((datagram, _)) = receiving.arrivals.take() else {
                let is_enough = if all {
                    bytes >= Datagrams::KEPT_BYTES
                } else {
                    taken >= PER_TURN
                };
                if !receiving.more || is_enough {
                    break;
                }
                receiving.look();
                continue;
            };
            taken += 1;
            bytes += Datagrams::kept_bytes(datagram.len());
            let Some((head, frames)) = split_datagram(datagram) else {
                continue;
            };
            if head.secret != receiving.secret {
                continue;
            }
            // What has a part that makes no sense is not rtiexec's.
            let Ok(frames) = receiving.incoming.receive((&head, frames), at) else {
                continue;
            };
            if let Some(sending) = &mut self.lrc.outbox().datagrams {
                sending.hear(head.hears, Instant::now());
            }
            self.batch.refill(frames);
            self.take_of_rtiexec(receiving);
        }
        self.count_lost(receiving);
    }

    /// Takes what has waited for the stream, which was read on.
    pub(crate) fn take_kept(&mut self, reader: &LinkReader, receiving: &mut Option<Receiving>) {
        let Some(receiving) = receiving.as_mut().filter(|r| r.incoming.keeps()) else {
            return;
        };
        self.settle();
        while let Some(frames) = receiving.incoming.next_kept(receiving.at(reader)) {
            self.batch.refill(&frames);
            self.take_of_rtiexec(receiving);
        }
        self.count_lost(receiving);
    }

    /// Takes frames of a datagram: a fault of them ends nothing, as it does at rtiexec.
    fn take_of_rtiexec(&mut self, receiving: &mut Receiving) {
        self.note_came(Way::Datagrams);
        if let Err(why) = self.take_of_datagram(None)
            && !std::mem::replace(&mut receiving.warned, true)
        {
            starling_net::remark(format_args!(
                "starling: warning: best-effort data that can't be has come by a datagram, and is dropped; more of it is \
                 only counted: {why}"
            ));
        }
    }

    fn count_lost(&mut self, receiving: &mut Receiving) {
        let lost = receiving.incoming.lost();
        if lost > receiving.counted {
            self.lrc.count_lost(lost - receiving.counted);
            receiving.counted = lost;
        }
    }
}
