//! Data to federates of this host in shared memory: this federate's ring, and who reads it.
//!
//! To the core a link to a peer is one, first in first out: what it carries stands in the ring, and
//! from where a reader was detached on, because it did not keep up, in messages that rtiexec relays.
//! Then the peer's data path is set to the executive. It is attached again, and its path set back, when
//! it has read all of the ring that was for it, after a pause that doubles each time.

use starling_core::message::Data;
use starling_core::{DataPath, FederateHandle, Run};
use starling_net::{Bundle, Bundling, LinkWriter};
use starling_ring::{Attachment, RingWriter, Seat, Seats};
use starling_wire::{DataFrame, LinkRequest, put_link_request};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A reader that does not read for so long, while its sender waits for room, is detached.
pub(crate) const GRACE: Duration = Duration::from_millis(50);
/// For how long at least a peer that was detached stays so.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Frames are relayed in pieces of about this size, or of that of the largest frame.
const RELAY_BYTES: usize = 64 * 1024;

/// As whom a federate shares memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) seat: Seat,
    pub(crate) mark: u64,
}

impl Place {
    /// A reader's attachment to a writer, for the how manieth time. Their marks are unique, and what is
    /// left of the former use of a seat never is as old as it takes for a number to come again.
    pub(crate) fn attachment(writer: Place, reader: Place, times: u16) -> Attachment {
        let part = |place: Place| place.mark & 0xff_ffff;
        Attachment {
            writer: writer.seat,
            reader: reader.seat,
            mark: part(writer) << 40 | part(reader) << 16 | u64::from(times),
        }
    }
}

/// This federate's ring.
pub(crate) struct Shared {
    ring: RingWriter,
    place: Place,
    bundle: Bundle,
    peers: Vec<Peer>,
    /// The receivers of the frame before, and those of them who read the ring.
    last: (Vec<FederateHandle>, Seats),
    /// What there was no room for.
    waiting: VecDeque<(Seats, Vec<u8>)>,
    /// How far behind those were that stood in the way when that was last looked at, and since when.
    stuck: Option<(u64, Instant)>,
    /// Some peer's path may be to be changed.
    unsettled: bool,
    frame_bytes_max: usize,
}

/// Who reads it.
struct Peer {
    place: Place,
    federate: FederateHandle,
    /// It is attached to the ring; else what it is to get is relayed.
    attached: bool,
    /// How often it was attached.
    times: u16,
    /// The core has this path for it.
    direct: bool,
    /// When it may be attached again, and how long it stays detached the next time.
    again: (Instant, Duration),
}

/// A path to be changed.
pub(crate) struct Change {
    pub(crate) mark: u64,
    pub(crate) federate: FederateHandle,
    pub(crate) path: DataPath,
}

impl Shared {
    pub(crate) fn new(
        ring: RingWriter,
        place: Place,
        bundling: Bundling,
        frame_bytes_max: usize,
    ) -> Self {
        Shared {
            ring,
            place,
            bundle: Bundle::new(bundling),
            peers: Vec::new(),
            last: (Vec::new(), Seats::NONE),
            waiting: VecDeque::new(),
            stuck: None,
            unsettled: false,
            frame_bytes_max,
        }
    }

    /// Takes a peer in, by its board and doorbell. Nothing is sent to it before it reads.
    pub(crate) fn admit(
        &mut self,
        place: Place,
        federate: FederateHandle,
        board: OwnedFd,
        doorbell: OwnedFd,
    ) -> io::Result<()> {
        self.remove(place.mark);
        if self.peers.iter().any(|p| p.place.seat == place.seat) {
            return Err(io::Error::other("it has the seat of another"));
        }
        let attachment = Place::attachment(self.place, place, 0);
        self.ring.admit(attachment, board, doorbell)?;
        self.peers.push(Peer {
            place,
            federate,
            attached: true,
            times: 0,
            direct: false,
            again: (Instant::now(), PAUSE_MIN),
        });
        self.changed();
        Ok(())
    }

    /// A peer is gone.
    pub(crate) fn remove(&mut self, mark: u64) {
        let Some(at) = self.peers.iter().position(|p| p.place.mark == mark) else {
            return;
        };
        let seat = self.peers.swap_remove(at).place.seat;
        self.ring.remove(seat);
        self.forget_waiting(seat, |_| {});
        self.changed();
    }

    fn changed(&mut self) {
        self.last.0.clear();
        self.unsettled = true;
    }

    /// What is put for `seat` and waits for room goes to `frame`.
    fn forget_waiting(&mut self, seat: Seat, mut frame: impl FnMut(&[u8])) {
        for (to, bytes) in &mut self.waiting {
            if to.contains(seat) {
                to.remove(seat);
                frame(bytes);
            }
        }
        self.waiting.retain(|(to, _)| !to.is_empty());
    }

    /// Puts a frame for these into the ring; for those who are detached on `stream`, to be relayed.
    pub(crate) fn send<V: Run>(
        &mut self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        data: &Data<'_, V>,
    ) {
        let frame = DataFrame::new(data);
        if self.last.0 != to {
            self.last.1 = self.seats(to);
            self.last.0.clear();
            self.last.0.extend_from_slice(to);
        }
        let seats = self.last.1;
        if seats.len() < to.len() {
            self.relay_to_detached(to, stream, &frame);
        }
        if seats.is_empty() {
            return;
        }
        let encode = |mut slot: &mut [u8]| frame.put_into(&mut slot);
        if !self.waiting.is_empty() || self.ring.put(seats, frame.bytes(), encode).is_err() {
            self.waiting.push_back((seats, bytes_of(&frame)));
        }
    }

    #[cold]
    fn relay_to_detached<V: Run>(
        &self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        frame: &DataFrame<'_, V>,
    ) {
        // Who is not there any more gets nothing.
        for peer in self.peers.iter().filter(|p| !p.attached) {
            if to.contains(&peer.federate) {
                relay(stream, peer.place.mark, bytes_of(frame));
            }
        }
    }

    fn seats(&self, to: &[FederateHandle]) -> Seats {
        let peers = self.peers.iter();
        let here = peers.filter(|p| p.attached && to.contains(&p.federate));
        here.map(|p| p.place.seat).collect()
    }

    /// Whether something waits for room in the ring.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.ring.is_whole()
    }

    /// Puts what waits into the ring as far as there is room; whether that was all. Else the doorbell
    /// rings when there is more room.
    pub(crate) fn put_waiting(&mut self) -> bool {
        loop {
            let Some((to, frame)) = self.waiting.front() else {
                if self.ring.is_whole() {
                    self.stuck = None;
                    return true;
                }
                self.ring.publish();
                if !self.ring.is_whole() && !self.ring.wait_for_room() {
                    return false;
                }
                continue;
            };
            if put(&mut self.ring, *to, frame) {
                self.waiting.pop_front();
            } else if !self.ring.wait_for_room() {
                return false;
            }
        }
    }

    /// Detaches those in the way, if they have not read for a while; until when to wait for them.
    pub(crate) fn judge_slow(&mut self, now: Instant, stream: &mut LinkWriter) -> Instant {
        let slow = self.in_the_way();
        let behind = slow.iter().map(|seat| self.ring.behind(seat)).sum();
        match self.stuck {
            Some((before, since)) if before == behind => {
                if now >= since + GRACE {
                    slow.iter().for_each(|seat| self.detach(seat, now, stream));
                    self.stuck = None;
                    return now;
                }
                since + GRACE
            }
            _ => {
                self.stuck = Some((behind, now));
                now + GRACE
            }
        }
    }

    /// Puts all that waits, whoever is in the way.
    pub(crate) fn put_by_force(&mut self, stream: &mut LinkWriter) {
        let now = Instant::now();
        while self.is_waiting() && !self.put_waiting() {
            let slow = self.in_the_way();
            slow.iter().for_each(|seat| self.detach(seat, now, stream));
        }
    }

    fn in_the_way(&mut self) -> Seats {
        match self.ring.in_the_way() {
            Seats::NONE => self.ring.attached(),
            some => some,
        }
    }

    /// What a peer has not read goes by way of rtiexec, and all that comes.
    fn detach(&mut self, seat: Seat, now: Instant, stream: &mut LinkWriter) {
        let Some(at) = self.peers.iter().position(|p| p.place.seat == seat) else {
            return;
        };
        let mark = self.peers[at].place.mark;
        let mut frames = Vec::new();
        let piece = RELAY_BYTES.min(self.frame_bytes_max);
        let mut add = |frame: &[u8]| {
            if frames.len() + frame.len() > piece && !frames.is_empty() {
                relay(stream, mark, std::mem::take(&mut frames));
            }
            frames.extend_from_slice(frame);
        };
        self.ring.detach(seat, &mut add);
        self.forget_waiting(seat, &mut add);
        if !frames.is_empty() {
            relay(stream, mark, frames);
        }
        let peer = &mut self.peers[at];
        peer.attached = false;
        let pause = peer.again.1;
        peer.again = (now + pause, (2 * pause).min(PAUSE_MAX));
        self.changed();
    }

    /// Whether there may be a change.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// The next peer whose path is to be changed; `is_member`: the core knows it. The change holds when it
    /// was returned.
    pub(crate) fn next_change(
        &mut self,
        now: Instant,
        is_member: impl Fn(FederateHandle) -> bool,
    ) -> Option<Change> {
        let mut unsettled = false;
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            let seat = peer.place.seat;
            if !peer.attached && !peer.direct && now >= peer.again.0 {
                let times = peer.times.wrapping_add(1);
                let mark = Place::attachment(self.place, peer.place, times).mark;
                if self.ring.is_awaited(seat, mark) {
                    self.ring.readmit(seat, mark);
                    (peer.times, peer.attached) = (times, true);
                    self.last.0.clear();
                }
            }
            let direct = peer.attached && self.ring.is_ready(seat);
            if direct != peer.direct && is_member(peer.federate) {
                peer.direct = direct;
                let path = if direct {
                    DataPath::Direct
                } else {
                    DataPath::Executive
                };
                return Some(Change {
                    mark: peer.place.mark,
                    federate: peer.federate,
                    path,
                });
            }
            unsettled |= !direct;
        }
        self.unsettled = unsettled;
        None
    }

    /// How many get their data here.
    #[cfg(test)]
    pub(crate) fn direct(&self) -> usize {
        self.peers.iter().filter(|p| p.direct).count()
    }

    /// Shows the readers what was put, and wakes those who sleep.
    pub(crate) fn publish(&mut self) {
        if self.ring.pending() > 0 {
            self.ring.publish();
            self.bundle.flushed(Instant::now());
        }
    }

    /// Whether what was put is to be published now, by the bundling rule.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        let pending = usize::try_from(self.ring.pending()).unwrap_or(usize::MAX);
        if pending == 0 {
            return false;
        }
        let bundle = &mut self.bundle;
        let untimed = bundle.appended_untimed(pending);
        untimed.unwrap_or_else(|| bundle.appended(pending, Instant::now()))
    }

    /// When what was put is to be published, if something waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.bundle.due()
    }

    /// What is sent next may be an answer.
    pub(crate) fn turned(&mut self) {
        self.bundle.turned();
    }
}

/// Whether there was room.
fn put(ring: &mut RingWriter, to: Seats, frame: &[u8]) -> bool {
    let done = ring.put(to, frame.len(), |room| room.copy_from_slice(frame));
    done.is_ok()
}

#[cold]
fn bytes_of<V: Run>(frame: &DataFrame<'_, V>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.bytes());
    frame.put_into(&mut bytes);
    bytes
}

fn relay(stream: &mut LinkWriter, to: u64, frames: Vec<u8>) {
    put_link_request(stream.out(), &LinkRequest::Relay { to, frames });
}
