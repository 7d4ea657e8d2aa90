//! Data to other federates on TCP links of their own, as far as this end sends it.
//!
//! To the core a link to a peer is one, first in first out: what it carries goes by TCP, and from where that
//! was given up on, because it broke or its reader does not keep up, in messages that rtiexec relays. Which part of
//! what was written has come nobody can know then: so all that is not confirmed is kept, and relayed with its
//! position, and the reader takes what it does not have. Then the peer's data path is set to the executive. There may
//! be a link again after a pause that doubles each time.

use crate::dropped::Dropped;
use crate::group::{Ear, Group, Groups};
use crate::link::Link;
use crate::statistics;
use crate::window::Window;
use starling_core::{DataPath, FederateHandle, NAME_BYTES_MAX};
use starling_net::{Bundle, Bundling, LinkWriter, Records, Stream};
use starling_wire::{DataFrame, Framed, Head, LinkRequest, OnLink, put_link_request, put_on_link};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A reader confirms what it has when so much more has come.
pub(crate) const CONFIRM_BYTES: u64 = 16 * 1024;
/// A call waits for room on a link until its reader has owed a confirmation for so long; then more may wait there.
const PATIENCE: Duration = Duration::from_millis(50);
/// A reader that has confirmed nothing for so long beyond that, while nothing came to its host, is sent its data by rtiexec.
const GRACE: Duration = Duration::from_millis(450);
/// Why it is.
const SLOW: &str = "it did not read its link fast enough";
/// How long at least there is no link after one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The same of those that never had one: no network leads from the one to the other, or a firewall is in the way.
const NEVER_PAUSE_MAX: Duration = Duration::from_secs(300);
/// Frames are relayed in pieces of about this size, or of that of the largest frame.
const RELAY_BYTES: usize = 64 * 1024;
/// All links together keep at most so many times what one may; but each may keep `WINDOW_MIN`.
const WINDOWS: usize = 8;
const WINDOW_MIN: usize = 128 * 1024;

/// The sending half of all links.
pub(crate) struct Direct {
    pub(crate) peers: Vec<Peer>,
    /// Of the frame before.
    head: Head,
    bundle: Bundle,
    /// What the link has to write that has most, of those that take something.
    pub(crate) pending: usize,
    /// The receivers of the frame before, and where in `peers` they are.
    pub(crate) last: (Vec<FederateHandle>, Vec<usize>),
    /// What one link may keep, and what one of those of `last` may; and how much more for a while.
    window: usize,
    most: usize,
    queue: usize,
    frame_bytes_max: usize,
    /// Some link keeps more than it may.
    full: bool,
    /// Best-effort data for which links had no room.
    pub(crate) dropped: Dropped,
    /// Some link takes nothing now, which was not said yet.
    has_blocked: bool,
    /// Something may be to be changed for a peer.
    pub(crate) unsettled: bool,
    /// Best-effort data goes by datagrams to those who hear them (`best_effort.rs`).
    pub(crate) groups: Option<Box<Groups>>,
}

pub(crate) struct Peer {
    pub(crate) mark: u64,
    federate: FederateHandle,
    /// None: there is no link. What is still put on it is relayed.
    pub(crate) stream: Option<Arc<Stream>>,
    pub(crate) window: Window,
    /// The last write found no room for all.
    pub(crate) blocked: bool,
    /// Up to where it is to be confirmed to it once it takes something again.
    unconfirmed: Option<u64>,
    /// Since when a confirmation should come.
    owed: Option<Instant>,
    /// So much more may wait, since then, as it has owed one for long.
    lent: usize,
    lent_at: Instant,
    /// What its host had of it by then.
    had: Option<u64>,
    /// The core has this path for it.
    direct: bool,
    /// Why there is no link any more, to be told, and whether this end is to ask for another.
    over: Option<(String, bool)>,
    /// That was told, or is to be, of the link that was to be last: once, as whatever comes later is taken for the next.
    ended: bool,
    /// When to ask for another.
    again: Option<Instant>,
    /// Since when there has been a link, or is none.
    since: Instant,
    pause: Duration,
    /// There was one already.
    had_link: bool,
    /// It is on another host.
    pub(crate) elsewhere: bool,
    /// How it hears each group.
    pub(crate) ears: Vec<Ear>,
    /// What is sent to it alone by datagrams, and how it hears that.
    pub(crate) single: Option<Box<(Group, Ear)>>,
    /// By which ways best-effort data goes to it, as rtiexec was told, and whether that may have changed.
    pub(crate) ways: (String, bool),
}

/// How best-effort data goes to a peer.
pub(crate) enum Way {
    /// By the group of its class.
    Group,
    /// By datagrams of its own.
    Single,
    /// On the link; what follows in the group, which it hears, comes behind.
    BehindGroup,
    /// On the link.
    Link,
}

/// What is to be done for a peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The core is to take this path, and rtiexec to be told.
    Path {
        mark: u64,
        federate: FederateHandle,
        path: DataPath,
    },
    /// rtiexec is to be told this.
    Tell(LinkRequest),
}

impl Direct {
    /// Without links. One may keep `window` bytes, and `queue` more while it is seen whether its reader is there.
    pub(crate) fn new(
        bundling: Bundling,
        (window, queue): (usize, usize),
        frame_bytes_max: usize,
    ) -> Self {
        Direct {
            peers: Vec::new(),
            head: Head::default(),
            bundle: Bundle::new(bundling),
            pending: 0,
            last: (Vec::new(), Vec::new()),
            window,
            most: window,
            queue,
            frame_bytes_max,
            full: false,
            dropped: Dropped::new(),
            has_blocked: false,
            unsettled: false,
            groups: None,
        }
    }

    /// There is a link to a peer from now on.
    pub(crate) fn open(
        &mut self,
        (mark, federate): (u64, FederateHandle),
        stream: Arc<Stream>,
        records: Option<Box<Records>>,
        now: Instant,
    ) {
        let peer = self.peer(mark, federate, now);
        peer.window = Window::sent_as(records);
        peer.elsewhere = stream.leads_elsewhere();
        (peer.stream, peer.over, peer.again) = (Some(stream), None, None);
        (peer.blocked, peer.owed, peer.since) = (false, None, now);
        (peer.unconfirmed, peer.lent) = (None, 0);
        if !std::mem::replace(&mut peer.had_link, true) {
            peer.pause = PAUSE_MIN;
        }
        self.begin_ears(mark);
        self.changed();
    }

    /// How what goes on the link to this peer is compressed, for people.
    pub(crate) fn compression(&self, mark: u64) -> Option<String> {
        let peer = self.peers.iter().find(|p| p.mark == mark)?;
        Some(peer.window.compression())
    }

    /// There is to be a link to a peer.
    pub(crate) fn await_link(&mut self, mark: u64, federate: FederateHandle, now: Instant) {
        self.peer(mark, federate, now).ended = false;
    }

    /// There was to be a link to a peer, and is none; whether it is asked for again.
    pub(crate) fn fail(
        &mut self,
        (mark, federate): (u64, FederateHandle),
        why: String,
        asks: bool,
        now: Instant,
    ) {
        self.peer(mark, federate, now).end(why, asks);
        self.changed();
    }

    fn peer(&mut self, mark: u64, federate: FederateHandle, now: Instant) -> &mut Peer {
        let known = self.peers.iter().position(|p| p.mark == mark);
        let at = known.unwrap_or_else(|| {
            self.peers.push(Peer {
                mark,
                federate,
                stream: None,
                window: Window::default(),
                blocked: false,
                unconfirmed: None,
                owed: None,
                lent: 0,
                lent_at: now,
                had: None,
                direct: false,
                over: None,
                ended: false,
                again: None,
                since: now,
                pause: PAUSE_MIN,
                had_link: false,
                elsewhere: false,
                ears: Vec::new(),
                single: None,
                ways: Default::default(),
            });
            self.peers.len() - 1
        });
        &mut self.peers[at]
    }

    /// A peer is gone.
    pub(crate) fn remove(&mut self, mark: u64) {
        self.peers.retain(|p| p.mark != mark);
        self.changed();
    }

    fn changed(&mut self) {
        self.last.0.clear();
        self.last.1.clear();
        self.unsettled = true;
    }

    /// What one of so many links may keep.
    fn window(&self) -> usize {
        let all = self.window.saturating_mul(WINDOWS);
        let share = all / self.peers.len().max(1);
        share.max(WINDOW_MIN).min(self.window)
    }

    /// Puts a frame on the links to these; for those who have none any more on `stream`, to be relayed. Nobody waits for
    /// room for best-effort data: whose link has none does not get it.
    pub(crate) fn send<'a>(
        &mut self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        (data, class): (&impl Framed<'a>, u32),
    ) {
        if self.last.0 != to {
            self.look_who_is_here(to);
        }
        if self.last.1.is_empty() {
            return;
        }
        if self.groups.is_some() && data.is_best_effort() {
            return self.send_by_datagrams(stream, data, class);
        }
        let frame = data.frame(&mut self.head);
        for at in &self.last.1 {
            let peer = &mut self.peers[*at];
            if peer.stream.is_none() {
                peer.relay(stream, |out| frame.put_into(out));
                continue;
            }
            if peer.window.kept() > self.most && data.is_best_effort() {
                self.dropped.add(peer.mark);
                continue;
            }
            peer.window.put(|out| frame.put_into(out));
            if !peer.blocked {
                self.pending = self.pending.max(peer.window.pending());
            }
            self.full |= peer.window.kept() > self.most + peer.lent;
        }
        if self.groups.is_some() && data.is_fence() {
            self.follow_fence();
        }
    }

    #[cold]
    fn look_who_is_here(&mut self, to: &[FederateHandle]) {
        let peers = self.peers.iter().enumerate();
        let here = peers.filter(|(_, p)| to.contains(&p.federate));
        self.last.1 = here.map(|(at, _)| at).collect();
        self.last.0.clear();
        self.last.0.extend_from_slice(to);
        self.most = self.window();
    }

    /// By which ways data of so many bytes goes to those of these who are here; best-effort data of this class, if it is.
    pub(crate) fn ways_to(
        &self,
        to: &[FederateHandle],
        best_effort: Option<u32>,
        bytes: usize,
    ) -> Vec<(FederateHandle, statistics::Way)> {
        let here = self.peers.iter().filter(|p| to.contains(&p.federate));
        let ways = here.map(|peer| {
            let way = match (best_effort, &self.groups) {
                _ if peer.stream.is_none() => statistics::Way::Stream,
                (Some(class), Some(groups)) => {
                    match peer.way_now(groups, groups.of_class(class), bytes) {
                        Way::Group => statistics::Way::Multicast,
                        Way::Single => statistics::Way::Unicast,
                        Way::BehindGroup | Way::Link => statistics::Way::Link,
                    }
                }
                _ => statistics::Way::Link,
            };
            (peer.federate, way)
        });
        ways.collect()
    }

    /// The same of best-effort data, which goes beside the links to those who hear datagrams.
    fn send_by_datagrams<'a>(
        &mut self,
        stream: &mut LinkWriter,
        data: &impl Framed<'a>,
        class: u32,
    ) {
        let frame = DataFrame::new(data);
        let group = self.groups.as_ref().and_then(|g| g.of_class(class));
        if let Some(place) = group {
            self.end_turn_before(place, frame.bytes());
        }
        let Some(groups) = &mut self.groups else {
            return;
        };
        // Some hear the group; some of these get this on their links.
        let (mut heard, mut ordered) = (false, false);
        for at in &self.last.1 {
            let peer = &mut self.peers[*at];
            if peer.stream.is_none() {
                peer.relay(stream, |out| frame.put_into(out));
                continue;
            }
            match peer.way(groups, group, frame.bytes()) {
                Way::Group => {
                    heard = true;
                    continue;
                }
                Way::Single => {
                    let pending = peer.put_alone(&frame);
                    self.pending = self.pending.max(pending);
                    continue;
                }
                Way::BehindGroup | Way::Link if peer.window.kept() > self.most => {
                    self.dropped.add(peer.mark);
                    continue;
                }
                Way::BehindGroup => ordered = true,
                Way::Link => {}
            }
            peer.end_turn_alone();
            peer.window.put(|out| frame.put_into(out));
            peer.follow_link();
            if !peer.blocked {
                self.pending = self.pending.max(peer.window.pending());
            }
            self.full |= peer.window.kept() > self.most + peer.lent;
        }
        let Some(place) = group else {
            return;
        };
        if heard {
            let group = groups.at(place);
            group.put(&frame);
            self.pending = self.pending.max(group.pending());
        }
        if ordered {
            self.next_turn(place);
        }
    }

    /// Says something on a peer's link, and writes it. Who asks on and on is to read the answers.
    pub(crate) fn say(&mut self, mark: u64, said: &OnLink, stream: &mut LinkWriter, now: Instant) {
        let Some(at) = self.peers.iter().position(|p| p.mark == mark) else {
            return;
        };
        let peer = &mut self.peers[at];
        if peer.stream.is_none() {
            return;
        }
        peer.window.put(|out| put_on_link(out, said));
        let is_full = peer.window.kept() > self.most;
        if is_full && now >= *peer.owed.get_or_insert(now) + PATIENCE + GRACE {
            self.break_off(mark, SLOW, true, stream, now);
        } else {
            self.write(at, stream, now);
        }
    }

    /// A peer's reader has all up to there.
    ///
    /// # Errors
    /// It can't have.
    pub(crate) fn confirm(
        &mut self,
        mark: u64,
        position: u64,
        now: Instant,
    ) -> Result<(), &'static str> {
        let peer = self.peers.iter_mut().find(|p| p.mark == mark);
        let Some(peer) = peer.filter(|p| p.stream.is_some()) else {
            return Ok(());
        };
        let more = peer.window.confirm(position)?;
        // Who confirms less than a reader does at a time may read nothing, and have its sender wait for ever.
        if more >= CONFIRM_BYTES || peer.owed.is_none() || !peer.owes() {
            peer.owed = peer.owes().then_some(now);
        }
        Ok(())
    }

    /// Confirms to a peer that all up to there has come, and writes that.
    pub(crate) fn put_confirmation(&mut self, mark: u64, position: u64, stream: &mut LinkWriter) {
        let Some(at) = self.peers.iter().position(|p| p.mark == mark) else {
            return;
        };
        let peer = &mut self.peers[at];
        if peer.stream.is_none() {
            return;
        }
        if peer.blocked {
            // Who takes nothing is not told again and again: the last one says it all.
            peer.unconfirmed = Some(position);
            return;
        }
        peer.put_confirmation(position);
        self.write(at, stream, Instant::now());
    }

    /// A link takes something again.
    pub(crate) fn has_room(&mut self, mark: u64, stream: &mut LinkWriter, now: Instant) {
        if let Some(at) = self.peers.iter().position(|p| p.mark == mark) {
            let peer = &mut self.peers[at];
            peer.blocked = false;
            // Its sender may have filled its window meanwhile, and send nothing before it is confirmed.
            if let Some(position) = peer.unconfirmed.take() {
                peer.put_confirmation(position);
            }
            // The other host has taken something; of a long frame nothing is confirmed before its end.
            peer.owed = peer.owed.map(|_| now);
            self.write(at, stream, now);
        }
    }

    /// Writes what waits, where it is taken.
    pub(crate) fn flush(&mut self, stream: &mut LinkWriter) {
        if self.pending == 0 && self.bundle.due().is_none() {
            return;
        }
        let now = Instant::now();
        let most = self.window() / 4 * 3;
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            if peer.lent > 0 && !peer.is_there(most, now) {
                let mark = peer.mark;
                self.break_off(mark, SLOW, true, stream, now);
            } else if !peer.blocked && peer.window.pending() > 0 {
                self.write(at, stream, now);
            }
        }
        // Behind the turn that it is of.
        self.flush_groups();
        self.pending = 0;
        self.bundle.flushed(Instant::now());
    }

    fn write(&mut self, at: usize, stream: &mut LinkWriter, now: Instant) {
        let peer = &mut self.peers[at];
        let Some(link) = &peer.stream else {
            return;
        };
        match peer.window.write(link) {
            Ok(true) => {}
            Ok(false) => {
                peer.blocked = true;
                self.has_blocked = true;
            }
            Err(error) => {
                let mark = peer.mark;
                self.break_off(
                    mark,
                    &format!("the link has broken: {error}"),
                    true,
                    stream,
                    now,
                );
                return;
            }
        }
        if peer.owed.is_none() && peer.owes() {
            peer.owed = Some(now);
        }
    }

    /// A link is over: what its reader has not confirmed is relayed, and so is what comes. `asks`: this end asks for
    /// another one after a pause.
    pub(crate) fn break_off(
        &mut self,
        mark: u64,
        why: &str,
        asks: bool,
        stream: &mut LinkWriter,
        now: Instant,
    ) {
        let piece = RELAY_BYTES.min(self.frame_bytes_max);
        let Some(at) = self.peers.iter().position(|p| p.mark == mark) else {
            return;
        };
        if self.peers[at].stream.is_none() {
            return;
        }
        self.close_ears(at);
        let peer = &mut self.peers[at];
        let Some(link) = peer.stream.take() else {
            return;
        };
        link.shut_down();
        peer.window.take_rest(piece, |at, frames| {
            rest(stream, mark, at, frames.to_vec());
        });
        if now.saturating_duration_since(peer.since) > peer.pause {
            // It has lasted for longer than there was none.
            peer.pause = PAUSE_MIN;
        }
        (peer.blocked, peer.unconfirmed, peer.owed) = (false, None, None);
        peer.lent = 0;
        peer.end(why.to_owned(), asks);
        self.changed();
    }

    /// Ends a link of whose end the peer's is known: of one that has not come about, too.
    pub(crate) fn peer_broke_off(
        &mut self,
        (mark, federate): (u64, FederateHandle),
        stream: &mut LinkWriter,
        now: Instant,
    ) {
        let why = "the other's end of the link is over";
        let peer = self.peer(mark, federate, now);
        if peer.stream.is_some() {
            self.break_off(mark, why, false, stream, now);
        } else if !peer.ended {
            peer.end(why.into(), false);
            self.changed();
        }
    }

    /// Relays all that is not confirmed, on all links: this federate resigns, and nothing of what it has sent may
    /// come later than that.
    pub(crate) fn relay_all(&mut self, stream: &mut LinkWriter) {
        let now = Instant::now();
        self.dropped.tell_all(stream);
        for at in 0..self.peers.len() {
            let mark = self.peers[at].mark;
            self.break_off(mark, "it has resigned", true, stream, now);
        }
    }

    /// Whether some link keeps more than it may.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.full
    }

    /// Writes what is taken; none: no link keeps more than it may any more. Else until when to wait for confirmations:
    /// whoever has kept everybody waiting for too long has no link any more.
    pub(crate) fn put_waiting(&mut self, now: Instant, stream: &mut LinkWriter) -> Option<Instant> {
        self.flush(stream);
        // Who waits for room waits for some: each confirmation wakes.
        let may = self.window();
        let most = may / 4 * 3;
        let (mut until, mut slow) = (None, Vec::new());
        for peer in &mut self.peers {
            if peer.stream.is_none() || !peer.is_there(most, now) {
                slow.extend(peer.stream.is_some().then_some(peer.mark));
                continue;
            }
            let kept = peer.window.kept();
            if kept <= most {
                continue;
            }
            // What it has not written its reader can't confirm, and the system says when it has taken none for long.
            let owed = *peer.owed.get_or_insert(now);
            if peer.lent == 0 && now >= owed + PATIENCE {
                peer.lend(self.queue, now);
            }
            let end = match peer.lent {
                0 => owed + PATIENCE,
                lent if kept <= may + lent => continue,
                _ => peer.lent_at + GRACE,
            };
            until = Some(until.map_or(end, |until: Instant| until.min(end)));
        }
        for mark in slow {
            self.break_off(mark, SLOW, true, stream, now);
        }
        self.full = until.is_some();
        until
    }

    /// Whether there may be a change.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// The next thing to be done for a peer; `is_member`: the core knows it. It counts as done when it was returned.
    pub(crate) fn next_change(
        &mut self,
        now: Instant,
        is_member: impl Fn(FederateHandle) -> bool,
    ) -> Option<Change> {
        let mut unsettled = false;
        for peer in &mut self.peers {
            let (mark, federate) = (peer.mark, peer.federate);
            let direct = peer.stream.is_some();
            if direct != peer.direct {
                if is_member(federate) {
                    peer.direct = direct;
                    let path = if direct {
                        DataPath::Direct
                    } else {
                        DataPath::Executive
                    };
                    return Some(Change::Path {
                        mark,
                        federate,
                        path,
                    });
                }
                unsettled = true;
                continue;
            }
            // Nothing of it is relayed any more.
            if let Some((why, asks)) = peer.over.take() {
                if asks {
                    peer.again = Some(now + peer.pause);
                    let most = if peer.had_link {
                        PAUSE_MAX
                    } else {
                        NEVER_PAUSE_MAX
                    };
                    peer.pause = (2 * peer.pause).min(most);
                }
                let why = cut(why, NAME_BYTES_MAX);
                return Some(Change::Tell(LinkRequest::Over { to: mark, why }));
            }
            if peer.again.is_some_and(|at| now >= at) {
                peer.again = None;
                return Some(Change::Tell(LinkRequest::Again { to: mark }));
            }
            if direct && let Some(by) = peer.next_ways(self.groups.as_deref()) {
                let by = cut(by, NAME_BYTES_MAX);
                return Some(Change::Tell(LinkRequest::BestEffort { to: mark, by }));
            }
            unsettled |= peer.again.is_some();
        }
        self.unsettled = unsettled;
        None
    }

    /// The links that take nothing now: to be watched until they do.
    pub(crate) fn blocked(&self) -> Vec<(u64, Arc<Stream>)> {
        let blocked = self.peers.iter().filter(|p| p.blocked);
        blocked
            .filter_map(|p| Some((p.mark, p.stream.clone()?)))
            .collect()
    }

    /// Whether some link has stopped taking anything, once: it is to be watched.
    pub(crate) fn has_blocked(&mut self) -> bool {
        std::mem::take(&mut self.has_blocked)
    }

    /// To how many others data takes a link.
    #[cfg(test)]
    pub(crate) fn direct(&self) -> usize {
        self.peers.iter().filter(|p| p.direct).count()
    }

    /// Cuts all links, as if the network had.
    #[cfg(test)]
    pub(crate) fn cut(&self) {
        let streams = self.peers.iter().filter_map(|p| p.stream.as_ref());
        streams.for_each(|stream| stream.shut_down());
    }

    /// Puts what it must not on all links.
    #[cfg(test)]
    pub(crate) fn misbehave(&mut self, bytes: &[u8]) {
        for peer in &mut self.peers {
            peer.window.put(|out| out.extend_from_slice(bytes));
            self.pending = self.pending.max(peer.window.pending());
        }
    }

    /// Bytes that all links keep, and what they may.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        let kept = self.peers.iter().map(|p| p.window.kept()).sum();
        (kept, self.window() * self.peers.len())
    }

    /// Whether what waits is to be written now, by the bundling rule.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        if self.pending == 0 {
            return false;
        }
        let untimed = self.bundle.appended_untimed(self.pending);
        untimed.unwrap_or_else(|| self.bundle.appended(self.pending, Instant::now()))
    }

    /// Whether all that is to be done behind a frame was done behind the last one, as of a link.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self) -> bool {
        let goes_on = self.pending == 0 || self.bundle.goes_on(self.pending);
        goes_on && !self.full && !self.has_blocked
    }

    /// When what waits is to be written, if something does.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.bundle.due()
    }

    /// What is sent next may be an answer.
    pub(crate) fn turned(&mut self) {
        self.bundle.turned();
    }
}

impl Peer {
    fn end(&mut self, why: String, asks: bool) {
        self.over = Some((why, asks));
        self.ended = true;
    }

    fn put_confirmation(&mut self, position: u64) {
        let said = OnLink::Confirm { position };
        self.window.put(|out| put_on_link(out, &said));
    }

    /// More may wait for it from now on.
    #[cold]
    fn lend(&mut self, bytes: usize, now: Instant) {
        (self.lent, self.lent_at) = (bytes, now);
        self.had = self.stream.as_ref().and_then(|s| s.acknowledged());
    }

    /// Whether, if more waits for it than may, it still confirms something, or at least its host takes something: a long
    /// frame is confirmed at its end only, and what the system keeps comes slowly over a slow network.
    fn is_there(&mut self, most: usize, now: Instant) -> bool {
        if self.lent == 0 || now < self.lent_at + GRACE {
            return true;
        }
        if self.window.kept() <= most {
            self.lent = 0;
            return true;
        }
        let has = self.stream.as_ref().and_then(|s| s.acknowledged());
        let confirms = self.owed.is_some_and(|owed| owed > self.lent_at);
        if confirms || has > self.had {
            self.lend(self.lent, now);
            return true;
        }
        false
    }

    /// Whether its reader has to confirm something, wherever that is on its way.
    fn owes(&self) -> bool {
        self.window.under_way() as u64 >= 2 * CONFIRM_BYTES
    }

    /// Puts a frame behind all that was on the link.
    #[cold]
    fn relay(&mut self, stream: &mut LinkWriter, put: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        put(&mut frame);
        let at = self.window.end();
        self.window.skip(frame.len());
        rest(stream, self.mark, at, frame);
    }
}

impl Link {
    /// Ends a link to a peer.
    pub(crate) fn break_off(&mut self, mark: u64, why: &str, asks: bool, now: Instant) {
        if let (Some(direct), writer) = self.direct_and_writer() {
            direct.break_off(mark, why, asks, writer, now);
        }
    }

    /// A peer's end of a link is over.
    pub(crate) fn peer_broke_off(&mut self, who: (u64, FederateHandle), now: Instant) {
        if let (Some(direct), writer) = self.direct_and_writer() {
            direct.peer_broke_off(who, writer, now);
        }
    }

    /// Says something on a link.
    pub(crate) fn say(&mut self, mark: u64, said: &OnLink) {
        if let (Some(direct), writer) = self.direct_and_writer() {
            direct.say(mark, said, writer, Instant::now());
        }
    }

    /// Confirms what has come on a link.
    pub(crate) fn confirm(&mut self, mark: u64, position: u64) {
        if let (Some(direct), writer) = self.direct_and_writer() {
            direct.put_confirmation(mark, position, writer);
        }
    }
}

/// As much of a text as has no more bytes, in whole characters: rtiexec ends whoever tells it more, whoever gave it that.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let end = (0..=bytes_max)
            .rev()
            .find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}

fn rest(stream: &mut LinkWriter, to: u64, at: u64, frames: Vec<u8>) {
    put_link_request(stream.out(), &LinkRequest::Rest { to, at, frames });
}
