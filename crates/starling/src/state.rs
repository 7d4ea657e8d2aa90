//! What the state lock of [`Links`](crate::links::Links) guards: a federate's LRC, what goes with it, and what becomes
//! of both when a link has news.

use crate::datagrams::Wanted;
use crate::group::Named;
use crate::intake::Offer;
use crate::link::Link;
use crate::links::ReadSide;
use crate::pending::Pending;
use crate::statistics::{self, Calls};
use crate::turns::Ends;
use starling_core::message::{Statistics, ToExecutive};
use starling_core::{
    Batch, Conflated, DataPath, Exception, ExceptionKind, Federate, Grouped, Lrc, Outbox,
    ProtocolError,
};
use starling_net::{Compression, Endpoint, Quality};
use starling_rid::{
    CONFLATE_BEST_EFFORT, CONFLATE_RELIABLE, LIMITS_CALLBACK_QUEUE_BYTES, LIMITS_SEND_QUEUE_BYTES,
    LIMITS_WITHHELD_BYTES, MULTICAST_CLASSES, MULTICAST_GROUP, Settings, TRANSPORT_BEST_EFFORT,
    TRANSPORT_LISTEN, TRANSPORT_PATH, TRANSPORT_RING_BYTES, TRANSPORT_SHARED_MEMORY,
};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the state lock guards.
pub(crate) struct State {
    pub(crate) lrc: Lrc<Link>,
    /// Where calls are measured, and what rtiexec was told of all that last.
    measured: Option<(Arc<Calls>, Statistics)>,
    /// Data that was read together last.
    pub(crate) batch: Batch,
    /// Data that was read before and is not taken yet.
    pub(crate) pending: Pending,
    /// How large a ring to offer; 0: none.
    pub(crate) ring_bytes: usize,
    /// Whether to ask for TCP links to others, and to all of them.
    pub(crate) wants_direct: Option<bool>,
    /// Where to take them.
    pub(crate) listens: Option<Endpoint>,
    /// What one of them may keep.
    pub(crate) window: usize,
    /// What may wait for one receiver beyond that.
    pub(crate) queue: usize,
    /// How it is compressed.
    pub(crate) compression: Compression,
    /// What the network is told of packets.
    pub(crate) quality: Quality,
    /// Whether best-effort data goes to who has such a link by datagrams, and by which groups, if by any.
    pub(crate) groups: Wanted,
    pub(crate) multicast: Option<Named>,
    /// Whether to ask for datagrams.
    pub(crate) wants_datagrams: Wanted,
    /// Offers made so far.
    pub(crate) offers: u32,
    /// The last one, until it is answered.
    pub(crate) offer: Option<Offer>,
    /// Memory was offered since the federate has joined.
    pub(crate) has_links: bool,
    /// The federate has just joined or was restored: memory is to be offered.
    pub(crate) begins_links: bool,
    /// When a thread of the federate's last read or evoked.
    pub(crate) evoked: Instant,
    /// So many threads of the federate's wait in a call, one of which reads.
    pub(crate) inside: u32,
    /// Whether the background thread leaves all to these.
    pub(crate) rest: Cell<Rest>,
    /// The last of them to leave had waited for long.
    pub(crate) idles: bool,
    /// How many callbacks it has taken.
    pub(crate) delivered: u64,
    /// A thread waits for room on the link: whoever reads is to watch for some, once.
    pub(crate) awaiting_room: bool,
    /// When rtiexec was last told what became of data.
    reported: Instant,
    /// When the connection was opened; times told to the core count from here.
    began: Instant,
    /// `limits.callback_queue_bytes`.
    callback_queue: usize,
    /// No warning that more waits than that: it was given, or is not wanted.
    warned: bool,
    /// Where a test wants a panic.
    #[cfg(test)]
    pub(crate) fault: Option<&'static str>,
}

/// Why the background thread does nothing until it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It does.
    None,
    /// A thread of the federate's waits in a call, and does all.
    Inside,
    /// None does any more, and its alarm is set.
    Alarmed,
}

/// What a setting says in bytes.
pub(crate) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Ends for State {
    fn is_over(&self) -> bool {
        self.lrc.lost().is_some()
    }

    #[cold]
    fn break_down(&mut self, why: &str) {
        self.lrc.break_down(why);
        self.lrc.outbox().shut_down();
    }
}

impl State {
    /// Of a connection that has just been opened, over which frames may be so large; calls are measured there, if they
    /// are.
    pub(crate) fn new(
        mut link: Link,
        frame_bytes_max: usize,
        settings: &Settings,
        calls: Option<Arc<Calls>>,
        now: Instant,
    ) -> Self {
        link.set_frame_bytes_max(frame_bytes_max);
        let mut lrc = Lrc::new(link, DataPath::Executive);
        lrc.set_frame_bytes_max(frame_bytes_max);
        lrc.set_withheld_bytes_max(size(settings.get(LIMITS_WITHHELD_BYTES)));
        let classes = |names: String| names.split_whitespace().map(str::to_owned).collect();
        lrc.set_conflated(Conflated {
            best_effort: classes(settings.get(CONFLATE_BEST_EFFORT)),
            reliable: classes(settings.get(CONFLATE_RELIABLE)),
        });
        let is_multicast = settings.get(TRANSPORT_BEST_EFFORT) == "multicast";
        if is_multicast {
            let classes = settings.get(MULTICAST_CLASSES).into_iter();
            lrc.set_grouped(Grouped {
                classes: classes.map(|of| of.class).collect(),
                setting: format!("multicast.classes ({})", settings.origin(MULTICAST_CLASSES)),
            });
        }
        if calls.is_some() {
            lrc.measure_traffic();
            lrc.outbox().ways = Some(Box::default());
        }
        State {
            lrc,
            measured: calls.map(|calls| (calls, Statistics::default())),
            batch: Batch::default(),
            pending: Pending::default(),
            ring_bytes: match settings.get(TRANSPORT_SHARED_MEMORY).as_str() {
                "off" => 0,
                _ => size(settings.get(TRANSPORT_RING_BYTES)),
            },
            wants_direct: match settings.get(TRANSPORT_PATH).as_str() {
                "direct" => Some(true),
                "auto" => Some(false),
                _ => None,
            },
            listens: settings.get(TRANSPORT_LISTEN),
            window: size(settings.get(TRANSPORT_RING_BYTES)),
            queue: size(settings.get(LIMITS_SEND_QUEUE_BYTES)),
            compression: Compression::of(settings),
            quality: Quality::of(settings),
            groups: Wanted::of(&settings.get(TRANSPORT_BEST_EFFORT)),
            multicast: is_multicast.then(|| Named {
                group: settings.get(MULTICAST_GROUP),
                classes: settings.get(MULTICAST_CLASSES),
            }),
            wants_datagrams: Wanted::of(&settings.get(TRANSPORT_BEST_EFFORT)),
            offers: 0,
            offer: None,
            has_links: false,
            begins_links: false,
            evoked: now,
            inside: 0,
            rest: Cell::new(Rest::None),
            idles: false,
            delivered: 0,
            awaiting_room: false,
            reported: now,
            began: now,
            callback_queue: size(settings.get(LIMITS_CALLBACK_QUEUE_BYTES)),
            warned: crate::notes::is_quiet(settings),
            #[cfg(test)]
            fault: None,
        }
    }

    /// Tells the LRC the time, if it wants to know.
    #[inline]
    pub(crate) fn tell_time(&mut self) {
        if self.lrc.wants_time() {
            let since = self.began.elapsed().as_micros();
            self.lrc
                .set_time_us(u64::try_from(since).unwrap_or(u64::MAX));
        }
    }

    /// The federate has called what is called seldom, or begins to evoke: since when is told with it.
    #[inline]
    pub(crate) fn note_time(&mut self, now: Instant) {
        self.lrc.did_at(now.duration_since(self.began));
    }

    /// Tells rtiexec what became of data, at most once a second, and before the federate falls silent
    /// for longer than a heartbeat takes.
    pub(crate) fn report(&mut self) {
        if self.tell(Instant::now()) {
            self.flush();
        }
    }

    /// The same with what is sent next.
    pub(crate) fn tell(&mut self, now: Instant) -> bool {
        const PAUSE: Duration = Duration::from_secs(1);
        if now.duration_since(self.reported) < PAUSE {
            return false;
        }
        self.reported = now;
        let told = self
            .lrc
            .report(now.duration_since(self.began), self.inside > 0);
        self.tell_statistics() || told
    }

    /// Tells rtiexec what is measured, if that has changed.
    fn tell_statistics(&mut self) -> bool {
        let Some((calls, told)) = &mut self.measured else {
            return false;
        };
        let Some(traffic) = self.lrc.federate().and_then(Federate::traffic) else {
            return false;
        };
        let link = self.lrc.outbox();
        let now = statistics::complete(traffic, link.ways.as_deref(), calls);
        if now == *told {
            return false;
        }
        told.clone_from(&now);
        link.to_executive(ToExecutive::Measured(Box::new(now)));
        true
    }

    /// Writes what waits; returns what the link did not take.
    pub(crate) fn flush(&mut self) -> usize {
        self.settle_paths();
        self.lrc.outbox().flush()
    }

    /// Whether more waits for the federate than is to be read for it while it is elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes() > self.callback_queue
    }

    /// Whether so much waits for the federate that nothing more is read while it only sends.
    pub(crate) fn is_overfull(&self) -> bool {
        self.waiting_bytes() > self.callback_queue.saturating_mul(2)
    }

    /// Refuses what would have to read on without bound: twice `limits.callback_queue_bytes` wait
    /// for the federate already, and more than `send_queue` bytes for rtiexec to take.
    #[inline]
    pub(crate) fn require_room(&mut self, send_queue: usize) -> Result<(), Exception> {
        if self.lrc.outbox().pending() < send_queue {
            return Ok(());
        }
        self.require_room_now(send_queue)
    }

    #[cold]
    fn require_room_now(&mut self, send_queue: usize) -> Result<(), Exception> {
        if !self.is_overfull() || self.flush() < send_queue {
            return Ok(());
        }
        let why = format!(
            "{} bytes of callbacks wait for this federate, more than twice the {} of \
             limits.callback_queue_bytes, and it would have to read on: evoke (or enable) \
             callbacks first",
            self.waiting_bytes(),
            self.callback_queue
        );
        Err(Exception::new(ExceptionKind::RTIinternalError, why))
    }

    /// Says once that callbacks pile up.
    pub(crate) fn warn_if_full(&mut self) {
        if self.warned || !self.is_full() {
            return;
        }
        self.warned = true;
        let name = self.lrc.federate().map_or("", Federate::name);
        starling_net::remark(format_args!(
            "starling: warning: more than {} bytes of callbacks wait for federate '{name}' \
             (limits.callback_queue_bytes): evoke (or enable) callbacks; those who send to it are \
             slowed down meanwhile",
            self.callback_queue
        ));
    }

    /// Takes best-effort data that has come by datagrams.
    pub(crate) fn take_best_effort(&mut self, side: &mut ReadSide, awaited: bool) {
        if awaited {
            self.lrc.outbox().turned();
        }
        self.settle();
        self.take_datagrams(&side.reader, &mut side.receiving);
        self.warn_if_full();
    }

    pub(crate) fn judge_silence(&mut self) {
        if let Some(silent) = self.lrc.outbox().silent_for() {
            self.end(&format!(
                "nothing came from it for {:.1} s, nor from its host (fault.timeout_s)",
                silent.as_secs_f64()
            ));
        } else if let Some(silent) = self.lrc.outbox().misses() {
            starling_net::remark(format_args!(
                "starling: note: nothing has come from rtiexec for {:.1} s (fault.timeout_s): its process \
                 is stopped, or its host is very busy; this federate waits for it",
                silent.as_secs_f64()
            ));
        }
    }

    /// Ends the connection because of what has come, and tells rtiexec why.
    pub(crate) fn refuse(&mut self, refused: ProtocolError) {
        let too_much = self.lrc.federate().is_some_and(Federate::exceeds_withheld);
        let ProtocolError(why) = refused;
        let leaves = ToExecutive::Leaves { why: why.clone() };
        self.lrc.outbox().to_executive(leaves);
        self.flush();
        if too_much {
            self.end(&why)
        } else {
            self.end(&format!("it sent what it must not: {why}"))
        }
    }

    /// Shows what the LRC has to say to whoever runs the federate.
    #[inline(always)]
    pub(crate) fn show_note(&mut self) {
        if let Some(note) = self.lrc.take_note() {
            show(&note);
        }
    }

    /// The connection is over: Connection Lost, §4.4, behind what was queued before.
    pub(crate) fn end(&mut self, why: &str) {
        self.settle();
        self.lrc.lose(why);
        self.lrc.outbox().shut_down();
    }
}

#[cold]
fn show(note: &str) {
    let note = note_text(note);
    starling_net::remark(format_args!("starling: note: {note}"));
}

/// A note may have further lines, which are indented; a line that is not would be taken for another one's.
fn note_text(note: &str) -> String {
    const NEXT_LINE: &str = "\n  ";
    let lines = note.split(NEXT_LINE).map(starling_net::printable);
    lines.collect::<Vec<_>>().join(NEXT_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_note_are_lines() {
        let doubt = "STL-FOM-013 doubtful FDD: no such type\n  at F.xml:10\n  do: correct its name";
        assert_eq!(note_text(doubt), doubt);
        let label = "the save 'a\nstarling: error: b\u{7}' can't be restored";
        let said = r"the save 'a\nstarling: error: b\u{7}' can't be restored";
        assert_eq!(note_text(label), said);
    }
}
