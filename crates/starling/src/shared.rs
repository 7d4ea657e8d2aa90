//! Data to federates of this host in shared memory: this federate's ring, and who reads it.
//!
//! To the core a link to a peer is one, first in first out: what it carries stands in the ring; from where a reader
//! was detached on, because it did not keep up, in a backlog here, which goes into the ring when that reader is over
//! with what it had. If the backlog comes to its bound, the rest goes in messages that rtiexec relays, and the peer's
//! data path is set to the executive: whose back-pressure acts from there on. It is attached again, and its path set
//! back, when it has read all that, which it is asked after a pause that doubles each time.
//!
//! Nobody waits for room for best-effort data: who is in the way of others is detached at once, and who has no room, or has
//! a backlog, does not get it, which is counted and told by way of rtiexec.

use crate::backlog::Backlog;
use crate::direct::Change;
use crate::dropped::Dropped;
use starling_core::{DataPath, FederateHandle, Run};
use starling_net::{Bundle, Bundling, LinkWriter};
use starling_ring::{Attachment, Fill, RingWriter, Seat, Seats};
use starling_wire::{DataFrame, Framed, Head, LinkRequest, put_link_request};
use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A reader that does not read for so long, while its sender waits for it, is waited for no more.
pub(crate) const GRACE: Duration = Duration::from_millis(50);
/// For how long at least a peer that was detached stays so.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Frames are relayed in pieces of about this size, or of that of the largest frame.
const RELAY_BYTES: usize = 64 * 1024;
/// Of a ring, what a backlog may fill: who reads it must not hold up the others.
const SHARE: u64 = 4;
/// What is shown of one that has a backlog.
const SLOW: &str = "it does not read fast enough: its data waits at the sender";

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
    /// Of the frame before.
    head: Head,
    place: Place,
    bundle: Bundle,
    peers: Vec<Peer>,
    /// The receivers of the frame before, those of them who read the ring, and whether some do not.
    last: (Vec<FederateHandle>, Seats, bool),
    /// What there was no room for.
    waiting: VecDeque<(Seats, Vec<u8>)>,
    /// Some peer has a backlog, and its sender waits for some.
    behind: bool,
    presses: bool,
    /// What may wait for one peer.
    backlog_max: usize,
    /// Bytes that joined a backlog since somebody looked who reads.
    unlooked: usize,
    /// Some peer's path may be to be changed.
    unsettled: bool,
    /// Best-effort data for which there was no room.
    pub(crate) dropped: Dropped,
    frame_bytes_max: usize,
}

/// A frame as what fills its place in the ring.
struct Whole<'f, 'a, V, H>(&'f DataFrame<'a, V, H>);

impl<V: Run, H: BorrowMut<Head>> Fill for Whole<'_, '_, V, H> {
    #[inline(always)]
    fn fill(self, mut bytes: &mut [u8]) {
        self.0.put_into(&mut bytes);
    }
}

/// Who reads it.
struct Peer {
    place: Place,
    federate: FederateHandle,
    /// It is attached to the ring.
    attached: bool,
    /// What it is to get before it gets anything else; none, and not attached: that is relayed.
    backlog: Option<Backlog>,
    /// How often it was detached, or asked whether it has all that was relayed.
    times: u16,
    /// The core has this path for it.
    direct: bool,
    /// rtiexec was told that it keeps up.
    keeps_up: bool,
    /// It was asked to say when it has read all until then.
    asked: bool,
    /// When it was attached, or may be again; and how long it stays detached the next time.
    again: (Instant, Duration),
    /// While it stands in the way: how much it had not read when it last read something, and when.
    stuck: Option<(u64, Instant)>,
}

impl Shared {
    pub(crate) fn new(
        ring: RingWriter,
        place: Place,
        bundling: Bundling,
        (frame_bytes_max, backlog_max): (usize, usize),
    ) -> Self {
        Shared {
            ring,
            head: Head::default(),
            place,
            bundle: Bundle::new(bundling),
            peers: Vec::new(),
            last: (Vec::new(), Seats::NONE, false),
            waiting: VecDeque::new(),
            behind: false,
            presses: false,
            backlog_max,
            unlooked: 0,
            unsettled: false,
            dropped: Dropped::new(),
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
            backlog: None,
            times: 0,
            direct: false,
            keeps_up: true,
            asked: false,
            again: (Instant::now(), PAUSE_MIN),
            stuck: None,
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

    /// Puts a frame for these into the ring; for those who do not keep up where theirs waits, or on `stream`, to be
    /// relayed.
    #[inline(always)]
    pub(crate) fn send<'a>(
        &mut self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        data: &impl Framed<'a>,
    ) {
        if self.last.0 != to {
            self.look_who_reads(to);
        }
        let seats = self.last.1;
        // What is seldom is given a copy: what is pointed to has to stand in memory.
        if self.last.2 {
            let apart = *data;
            self.put_aside(to, stream, &apart);
        }
        if seats.is_empty() {
            return;
        }
        let frame = data.frame(&mut self.head);
        // Behind what waits for room, and where there may be none, it goes another way: this one is short.
        if !self.waiting.is_empty() || !self.ring.put_at_once(seats, frame.bytes(), Whole(&frame)) {
            let apart = *data;
            self.put_with_care(seats, &apart);
        }
    }

    #[cold]
    fn look_who_reads(&mut self, to: &[FederateHandle]) {
        self.last.1 = self.seats(to);
        let mut others = self.peers.iter().filter(|p| !p.reads_ring());
        self.last.2 = others.any(|p| to.contains(&p.federate));
        self.last.0.clear();
        self.last.0.extend_from_slice(to);
    }

    #[cold]
    #[inline(never)]
    fn put_with_care<'a>(&mut self, seats: Seats, data: &impl Framed<'a>) {
        let frame = DataFrame::new(data);
        let encode = |mut slot: &mut [u8]| frame.put_into(&mut slot);
        if self.waiting.is_empty() && self.ring.put(seats, frame.bytes(), encode).is_ok() {
            return;
        }
        if data.is_best_effort() {
            self.put_or_drop(seats, &frame);
        } else {
            self.waiting.push_back((seats, bytes_of(&frame)));
        }
    }

    /// Best-effort data for which there is no room: who is in the way of others gets it no more, until it has read on.
    fn put_or_drop<'a, V: Run>(&mut self, seats: Seats, frame: &DataFrame<'a, V>) {
        let now = Instant::now();
        let mut left = seats;
        if self.waiting.is_empty() && self.ring.is_whole() {
            // What is not published is in the way, too.
            self.ring.publish();
            let slow = self.ring.in_the_way();
            slow.iter().for_each(|seat| left.remove(seat));
            if left.is_empty() {
                self.judge_slow(now);
                left = seats;
            } else {
                slow.iter().for_each(|seat| self.detach(seat, now));
                let encode = |mut slot: &mut [u8]| frame.put_into(&mut slot);
                let is_put = self.ring.put(left, frame.bytes(), encode).is_ok();
                left = if is_put { slow } else { seats };
            }
        }
        for Place { seat, mark } in self.peers.iter().map(|p| p.place) {
            if seats.contains(seat) && left.contains(seat) {
                self.dropped.add(mark);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn put_aside<'a>(
        &mut self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        data: &impl Framed<'a>,
    ) {
        let frame = DataFrame::new(data);
        // Who is not there any more gets nothing.
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            if peer.reads_ring() || !to.contains(&peer.federate) {
                continue;
            }
            if peer.backlog.is_some() && data.is_best_effort() {
                self.dropped.add(peer.place.mark);
                continue;
            }
            let Some(backlog) = &mut peer.backlog else {
                relay(stream, peer.place.mark, bytes_of(&frame));
                continue;
            };
            backlog.push(frame.bytes(), |run| frame.put_into(run));
            self.presses |= backlog.presses();
            self.unlooked += frame.bytes();
            if backlog.bytes() > self.backlog_max {
                self.give_up(at, Instant::now(), stream);
            }
        }
    }

    /// Those of these who read the ring, or will, and those to whom it is relayed.
    pub(crate) fn peers_among(
        &self,
        to: &[FederateHandle],
    ) -> (Vec<FederateHandle>, Vec<FederateHandle>) {
        let here = self.peers.iter().filter(|p| to.contains(&p.federate));
        let (reading, relayed): (Vec<_>, _) =
            here.partition(|p| p.reads_ring() || p.backlog.is_some());
        let federates = |peers: Vec<&Peer>| peers.iter().map(|p| p.federate).collect();
        (federates(reading), federates(relayed))
    }

    fn seats(&self, to: &[FederateHandle]) -> Seats {
        let peers = self.peers.iter();
        let here = peers.filter(|p| p.reads_ring() && to.contains(&p.federate));
        here.map(|p| p.place.seat).collect()
    }

    /// Whether this federate is to wait for readers.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_stuck() || self.presses
    }

    /// Whether something waits for room in the ring.
    #[inline]
    pub(crate) fn is_stuck(&self) -> bool {
        !self.waiting.is_empty() || !self.ring.is_whole()
    }

    /// Puts what waits into the ring; until when to wait for its readers, if there is no room for all, or one comes
    /// to the end of its backlog too slowly. The doorbell rings when they have read on.
    pub(crate) fn make_room(&mut self, now: Instant) -> Option<Instant> {
        self.catch_up(now);
        let room = (!self.put_waiting()).then(|| self.judge_slow(now));
        let room = room.filter(|_| self.is_stuck());
        let backlogs = self.peers.iter_mut().filter_map(|p| p.backlog.as_mut());
        let pressed = backlogs.filter_map(|b| b.presses_until(now)).min();
        self.presses = pressed.is_some();
        [room, pressed].into_iter().flatten().min()
    }

    /// Puts into the ring what those have missed who are over with what they had. The doorbell rings when they
    /// have read it.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Instant) {
        if self.behind {
            self.catch_up_now(now);
        }
    }

    #[cold]
    fn catch_up_now(&mut self, now: Instant) {
        self.unlooked = 0;
        // Behind a long frame that is whole now there may be room for more.
        while self.put_waiting() && !self.give_missed(now) {}
    }

    /// Gives those in the ring what they have missed, as far as there is room; whether all that was given is in
    /// the ring.
    fn give_missed(&mut self, now: Instant) -> bool {
        let share = self.ring.size() / SHARE;
        let mut behind = false;
        for peer in &mut self.peers {
            let Some(mut backlog) = peer.backlog.take() else {
                continue;
            };
            let seat = peer.place.seat;
            let mark = Place::attachment(self.place, peer.place, peer.times).mark;
            if !peer.attached && self.ring.is_awaited(seat, mark) {
                self.ring.readmit(seat, mark);
                peer.attached = true;
            }
            while peer.attached && backlog.bytes() > 0 {
                let before = backlog.bytes();
                let mut room = share.saturating_sub(self.ring.behind(seat));
                backlog.give(now, |run| {
                    let some = room > 0 && put(&mut self.ring, seat.into(), run);
                    room = room.saturating_sub(run.len() as u64);
                    some
                });
                // Else it has read on already, and does not ring.
                if !self.ring.wait_for(seat, share / 2) || backlog.bytes() == before {
                    break;
                }
            }
            if peer.attached && backlog.bytes() == 0 {
                self.last.0.clear();
                self.unsettled = true;
                continue;
            }
            peer.backlog = Some(backlog);
            behind = true;
        }
        self.ring.publish();
        let whole = self.ring.is_whole();
        self.behind = behind || !whole;
        whole
    }

    /// Puts what waits into the ring as far as there is room; whether that was all. Else the doorbell
    /// rings when there is more room.
    fn put_waiting(&mut self) -> bool {
        loop {
            let Some((to, frame)) = self.waiting.front() else {
                if self.ring.is_whole() {
                    self.peers.iter_mut().for_each(|peer| peer.stuck = None);
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

    /// Detaches those in the way who have not read for a while; until when to wait for the others.
    fn judge_slow(&mut self, now: Instant) -> Instant {
        let in_the_way = self.ring.in_the_way();
        let (mut until, mut slow) = (None, Seats::NONE);
        for peer in &mut self.peers {
            let seat = peer.place.seat;
            if !in_the_way.contains(seat) {
                peer.stuck = None;
                continue;
            }
            let behind = self.ring.behind(seat);
            let since = match peer.stuck {
                Some((before, since)) if before == behind => since,
                _ => now,
            };
            peer.stuck = Some((behind, since));
            let end = since + GRACE;
            if now >= end {
                slow.insert(seat);
            } else {
                until = Some(until.map_or(end, |until: Instant| until.min(end)));
            }
        }
        slow.iter().for_each(|seat| self.detach(seat, now));
        // Without anybody in the way there is room.
        until.unwrap_or(now)
    }

    /// Puts all that waits, whoever is in the way.
    pub(crate) fn put_by_force(&mut self) {
        let now = Instant::now();
        while self.is_stuck() && !self.put_waiting() {
            let slow = self.ring.in_the_way();
            slow.iter().for_each(|seat| self.detach(seat, now));
        }
    }

    /// What a peer has not read waits here until it reads on, and all that comes for it.
    fn detach(&mut self, seat: Seat, now: Instant) {
        let Some(at) = self.peers.iter().position(|p| p.place.seat == seat) else {
            return;
        };
        let mut backlog = Backlog::new(self.frame_bytes_max, now);
        let mut add = |frames: &[u8]| {
            backlog.push(frames.len(), |run| run.extend_from_slice(frames));
        };
        self.ring.detach(seat, &mut add);
        self.forget_waiting(seat, &mut add);
        let peer = &mut self.peers[at];
        if let Some(rest) = peer.backlog.take() {
            backlog.append(rest);
        }
        peer.backlog = Some(backlog);
        peer.attached = false;
        peer.times = peer.times.wrapping_add(1);
        peer.stuck = None;
        self.behind = true;
        self.changed();
    }

    /// What has not gone into the ring goes by way of rtiexec, now that this federate writes there no more.
    pub(crate) fn relay_all(&mut self, stream: &mut LinkWriter) {
        let now = Instant::now();
        self.dropped.tell_all(stream);
        for at in 0..self.peers.len() {
            if self.peers[at].backlog.is_some() {
                self.give_up(at, now, stream);
            }
        }
    }

    /// What a peer with a backlog has not read goes by way of rtiexec, and all that comes.
    fn give_up(&mut self, at: usize, now: Instant, stream: &mut LinkWriter) {
        let (seat, mark) = (self.peers[at].place.seat, self.peers[at].place.mark);
        if self.peers[at].attached {
            self.detach(seat, now);
        }
        // Before what is relayed, which may fill the peer's queue at rtiexec: then nothing more is read of this
        // stream until the peer takes it.
        let path = LinkRequest::Path {
            to: mark,
            shared: false,
            why: "it did not read its shared memory fast enough".into(),
        };
        put_link_request(stream.out(), &path);
        let peer = &mut self.peers[at];
        let mut frames = Vec::new();
        let piece = RELAY_BYTES.min(self.frame_bytes_max);
        if let Some(mut backlog) = peer.backlog.take() {
            backlog.give(now, |run| {
                if frames.len() + run.len() > piece && !frames.is_empty() {
                    relay(stream, mark, std::mem::take(&mut frames));
                }
                frames.extend_from_slice(run);
                true
            });
        }
        if !frames.is_empty() {
            relay(stream, mark, frames);
        }
        peer.asked = false;
        let (since, mut pause) = peer.again;
        if now.saturating_duration_since(since) > pause {
            // It has kept up for longer than it was detached.
            pause = PAUSE_MIN;
        }
        peer.again = (now + pause, (2 * pause).min(PAUSE_MAX));
        self.changed();
    }

    /// Whether there may be a change.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// The next peer for whom something is to be changed; `is_member`: the core knows it. The change holds when it
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
            if !peer.attached && peer.backlog.is_none() && !peer.direct && now >= peer.again.0 {
                if !peer.asked {
                    // From here on nothing is relayed to it, but for a fence.
                    (peer.asked, peer.times) = (true, peer.times.wrapping_add(1));
                    return Some(Change::Tell(LinkRequest::Relay {
                        to: peer.place.mark,
                        frames: Vec::new(),
                    }));
                }
                let mark = Place::attachment(self.place, peer.place, peer.times).mark;
                if self.ring.is_awaited(seat, mark) {
                    self.ring.readmit(seat, mark);
                    peer.attached = true;
                    peer.again.0 = now;
                    self.last.0.clear();
                }
            }
            let direct = match &peer.backlog {
                None => peer.attached && self.ring.is_ready(seat),
                Some(_) => peer.direct,
            };
            if direct != peer.direct && is_member(peer.federate) {
                (peer.direct, peer.keeps_up) = (direct, true);
                let path = if direct {
                    DataPath::Direct
                } else {
                    DataPath::Executive
                };
                return Some(Change::Path {
                    mark: peer.place.mark,
                    federate: peer.federate,
                    path,
                });
            }
            let keeps_up = peer.backlog.is_none();
            if direct && keeps_up != peer.keeps_up {
                peer.keeps_up = keeps_up;
                let why = if keeps_up { "" } else { SLOW };
                return Some(Change::Tell(LinkRequest::Path {
                    to: peer.place.mark,
                    shared: true,
                    why: why.into(),
                }));
            }
            // Also if the core does not know it yet.
            unsettled |= !direct || !peer.direct;
        }
        self.unsettled = unsettled;
        None
    }

    /// How many get their data here, and keep up.
    #[cfg(test)]
    pub(crate) fn direct(&self) -> usize {
        let here = |p: &&Peer| p.direct && p.reads_ring();
        self.peers.iter().filter(here).count()
    }

    /// Shows the readers what was put, and wakes those who sleep.
    pub(crate) fn publish(&mut self) {
        let now = Instant::now();
        self.catch_up(now);
        let pending = self.ring.pending() > 0;
        if pending {
            self.ring.publish();
        }
        // It may have been published for room, before it was due.
        if pending || self.bundle.due().is_some() {
            self.bundle.flushed(Instant::now());
        }
    }

    /// Whether what was put is to be published now, by the bundling rule.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        if self.unlooked > RELAY_BYTES {
            return true;
        }
        let pending = usize::try_from(self.ring.pending()).unwrap_or(usize::MAX);
        if pending == 0 {
            return false;
        }
        let bundle = &mut self.bundle;
        let untimed = bundle.appended_untimed(pending);
        untimed.unwrap_or_else(|| bundle.appended(pending, Instant::now()))
    }

    /// Whether all that is to be done behind a frame was done behind the last one, as of a link.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self) -> bool {
        let pending = usize::try_from(self.ring.pending()).unwrap_or(usize::MAX);
        let goes_on = pending == 0 || self.bundle.goes_on(pending);
        goes_on && !self.is_waiting() && self.unlooked == 0
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

impl Peer {
    /// What it gets goes into the ring at once.
    fn reads_ring(&self) -> bool {
        self.attached && self.backlog.is_none()
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

#[cfg(test)]
mod tests;
