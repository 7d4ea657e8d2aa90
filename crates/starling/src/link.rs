//! The link to rtiexec: what waits to be written on it and when that is due, and whether its other end
//! lives. With it goes what is sent to other federates in shared memory and on links of their own.

use crate::datagrams::Sending;
use crate::direct::Direct;
use crate::shared::Shared;
use crate::site::Site;
use crate::statistics::{Way, Ways};
use starling_core::message::{Data, DataSent, RequestBody, ToExecutive, federation};
use starling_core::{DataOut, DataPath, FederateHandle, Given, Outbox, PlainOut};
use starling_net::{Bundle, Bundling, Descriptors, LinkWriter, Stream};
use starling_rid::{
    BUNDLE_UDP_BYTES, FAULT_HEARTBEAT_S, FAULT_TIMEOUT_S, LIMITS_SEND_QUEUE_BYTES, Settings,
};
use starling_wire::{
    DataFrame, Framed, Head, LinkRequest, put_data, put_heartbeat, put_link_request,
    put_to_executive,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A link's outgoing half, and the time since its incoming half brought anything.
pub(crate) struct Link {
    writer: LinkWriter,
    /// Of the frame before.
    head: Head,
    bundle: Bundle,
    last_written: Instant,
    /// When something last came.
    heard: Instant,
    /// It was said that nothing has come since.
    missed: bool,
    heartbeat: Duration,
    timeout: Duration,
    ended: bool,
    /// It was said that the link has become full.
    told: bool,
    /// The largest message that the executive takes.
    pub(crate) frame_bytes_max: usize,
    bundling: Bundling,
    /// How much may wait for one receiver.
    pub(crate) queue_bytes: usize,
    /// Data goes to some federates of this host in shared memory.
    pub(crate) shared: Option<Box<Shared>>,
    /// Data goes to some federates on TCP links.
    pub(crate) direct: Option<Box<Direct>>,
    /// Data goes to some federates by the forwarder that they have in common.
    pub(crate) site: Option<Box<Site>>,
    /// Best-effort data may go to rtiexec by datagrams.
    pub(crate) datagrams: Option<Box<Sending>>,
    /// How large a bundle of it is.
    pub(crate) datagram_bytes: usize,
    reminder: Reminder,
    /// By which ways data has gone, if that is counted.
    pub(crate) ways: Option<Box<Ways>>,
}

impl Link {
    /// `alone`: nobody writes a bundle when it is due, so every call writes what it sends.
    pub(crate) fn new(writer: LinkWriter, settings: &Settings, alone: bool, now: Instant) -> Self {
        let queue_bytes = usize::try_from(settings.get(LIMITS_SEND_QUEUE_BYTES));
        let queue_bytes = queue_bytes.unwrap_or(usize::MAX);
        let mut bundling = Bundling::of(settings);
        // One that is not written yet is never all that may wait.
        bundling.bytes = if alone {
            0
        } else {
            bundling.bytes.min(queue_bytes)
        };
        Link {
            writer,
            head: Head::default(),
            bundle: Bundle::new(bundling),
            last_written: now,
            heard: now,
            missed: false,
            heartbeat: Duration::from_secs_f64(settings.get(FAULT_HEARTBEAT_S)),
            timeout: Duration::from_secs_f64(settings.get(FAULT_TIMEOUT_S)),
            ended: false,
            told: false,
            frame_bytes_max: usize::MAX,
            bundling,
            queue_bytes,
            shared: None,
            direct: None,
            site: None,
            datagrams: None,
            datagram_bytes: if alone {
                0
            } else {
                settings.get(BUNDLE_UDP_BYTES) as usize
            },
            reminder: Reminder::default(),
            ways: None,
        }
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        self.writer.stream()
    }

    /// The largest message that the executive takes.
    pub(crate) fn set_frame_bytes_max(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
    }

    /// Where in the stream the next message stands.
    pub(crate) fn position(&self) -> u64 {
        self.writer.position()
    }

    /// What is to be written on the stream, to be appended to.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        self.writer.out()
    }

    /// How long the link may be silent.
    pub(crate) fn heartbeat(&self) -> Duration {
        self.heartbeat
    }

    /// When bundles are written.
    pub(crate) fn bundling(&self) -> Bundling {
        self.bundling
    }

    /// Appends a message about links.
    pub(crate) fn put_link_request(&mut self, request: &LinkRequest) {
        put_link_request(self.writer.out(), request);
    }

    /// The message that is appended next goes with these descriptors.
    pub(crate) fn attach(&mut self, descriptors: Descriptors) {
        self.writer.attach(descriptors);
    }

    /// The links to others, and the stream on which is relayed what does not pass there.
    pub(crate) fn direct_and_writer(&mut self) -> (Option<&mut Direct>, &mut LinkWriter) {
        (self.direct.as_deref_mut(), &mut self.writer)
    }

    /// Whether data waits for room in shared memory, or for a reader of a link.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.shared.as_ref().is_some_and(|s| s.is_waiting()) || self.waits_for_readers()
    }

    /// Whether data waits for a reader of a link.
    #[inline]
    pub(crate) fn waits_for_readers(&self) -> bool {
        self.direct.as_ref().is_some_and(|d| d.is_waiting())
    }

    /// Bytes written, and calls for them.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.writer.counts()
    }

    /// Whether data to somebody may be to take another path.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.shared.as_ref().is_some_and(|s| s.is_unsettled())
            || self.direct.as_ref().is_some_and(|d| d.is_unsettled())
            || self.site.as_ref().is_some_and(|s| s.is_unsettled())
    }

    /// Puts what waits into shared memory, as far as there is room, and writes what links take; until when to wait
    /// for more room, if that was not all. What is for those who have kept everybody waiting for too long waits here apart.
    pub(crate) fn put_waiting(&mut self, now: Instant) -> Option<Instant> {
        let stream = &mut self.writer;
        let shared = self.shared.as_mut().and_then(|s| s.make_room(now));
        let direct = self.direct.as_mut();
        let direct = direct.and_then(|direct| direct.put_waiting(now, stream));
        [shared, direct].into_iter().flatten().min()
    }

    /// The links to others that take nothing now.
    pub(crate) fn blocked(&self) -> Vec<(u64, Arc<Stream>)> {
        self.direct.as_ref().map_or_else(Vec::new, |d| d.blocked())
    }

    /// Links to others take something again.
    pub(crate) fn have_room<'a>(&mut self, marks: impl IntoIterator<Item = &'a u64>) {
        if let Some(direct) = &mut self.direct {
            let now = Instant::now();
            for mark in marks {
                direct.has_room(*mark, &mut self.writer, now);
            }
        }
    }

    /// Bytes that wait to be written.
    #[inline(always)]
    pub(crate) fn pending(&self) -> usize {
        self.writer.pending()
    }

    /// When the bundle must be written, if one waits.
    pub(crate) fn bundle_due(&self) -> Option<Instant> {
        let shared = self.shared.as_ref().and_then(|s| s.due());
        let direct = self.direct.as_ref().and_then(|d| d.due());
        let datagram = self.datagrams.as_ref().and_then(|s| s.due());
        [self.bundle.due(), shared, direct, datagram]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether the last write found no room for all: the link is to be watched for some.
    pub(crate) fn is_blocked(&self) -> bool {
        self.bundle.is_blocked()
    }

    /// Writes what waits if the bundling rule says so; returns what still waits.
    #[inline]
    pub(crate) fn written(&mut self) -> usize {
        if let Some(shared) = &mut self.shared
            && shared.is_due()
        {
            // With it goes what it comes after.
            self.flush_if_free();
            return self.pending();
        }
        if let Some(direct) = &mut self.direct
            && direct.is_due()
        {
            self.flush_if_free();
            return self.pending();
        }
        if self.is_datagram_due() {
            self.send_datagram();
        }
        let pending = self.writer.pending();
        if pending == 0 {
            return 0;
        }
        let bundle = &mut self.bundle;
        let untimed = bundle.appended_untimed(pending);
        if untimed.unwrap_or_else(|| bundle.appended(pending, Instant::now())) {
            self.flush()
        } else {
            pending
        }
    }

    /// Writes what waits; returns what the link did not take.
    pub(crate) fn flush(&mut self) -> usize {
        // First: rtiexec may tell others by what stands on the stream that this is the last of it.
        self.publish();
        if self.writer.pending() > 0 {
            self.write();
        }
        // Behind what it comes after.
        if let Some(sending) = &mut self.datagrams {
            sending.flush();
        }
        self.writer.pending()
    }

    fn write(&mut self) {
        let written = self.writer.flush();
        let now = Instant::now();
        match written {
            Ok(done) => {
                self.last_written = now;
                if done {
                    self.told = false;
                    self.bundle.flushed(now);
                } else {
                    self.bundle.blocked(self.writer.pending());
                }
            }
            // What broke it shows on the next read, behind what the peer still said.
            Err(_) => {
                self.writer.discard();
                self.bundle.flushed(now);
                self.last_written = now;
            }
        }
    }

    fn publish(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.publish();
        }
        if let Some(direct) = &mut self.direct {
            direct.flush(&mut self.writer);
        }
    }

    /// Writes what waits, unless the link has no room: then whoever watches it for some does, and each
    /// attempt before would be a call for nothing.
    #[inline]
    pub(crate) fn flush_if_free(&mut self) {
        if self.waits() {
            self.flush_what_waits();
        }
    }

    /// Whether there may be something to be written: each evoke asks that twice.
    #[inline]
    fn waits(&self) -> bool {
        let others = self.shared.is_some() || self.direct.is_some() || self.datagrams.is_some();
        others || self.writer.pending() > 0
    }

    fn flush_what_waits(&mut self) {
        if self.bundle.is_blocked() {
            self.publish();
            if let Some(sending) = &mut self.datagrams {
                sending.flush();
            }
        } else {
            self.flush();
        }
    }

    /// Whether the last write found no room for all, once: the link is to be watched for some; this one, or one to
    /// another federate.
    pub(crate) fn has_become_full(&mut self) -> bool {
        let direct = self.direct.as_mut().is_some_and(|d| d.has_blocked());
        let own = self.is_blocked() && !std::mem::replace(&mut self.told, true);
        own || direct
    }

    /// Something has come to a thread that waited for it: what is sent next may be the answer.
    pub(crate) fn heard(&mut self, awaited: bool) {
        self.heard = Instant::now();
        self.missed = false;
        if awaited {
            self.turned();
        }
    }

    /// Something has come to a thread that waited for it: what is sent next may be the answer.
    pub(crate) fn turned(&mut self) {
        self.bundle.turned();
        if let Some(shared) = &mut self.shared {
            shared.turned();
        }
        if let Some(direct) = &mut self.direct {
            direct.turned();
        }
        if let Some(sending) = &mut self.datagrams {
            sending.turned();
        }
    }

    /// When the alarm is to go off for the bundle that waits: the background thread does not look
    /// for it otherwise.
    #[inline]
    pub(crate) fn alarm(&mut self) -> Option<Instant> {
        if self.reminder.at.is_some() {
            return None;
        }
        self.reminder.at = self.bundle_due();
        self.reminder.at
    }

    /// Does what is due; when there is something to do next without being called.
    pub(crate) fn keep_time(&mut self) -> Option<Instant> {
        let beat = self.keep_beat(Instant::now())?;
        Some(self.bundle_due().map_or(beat, |due| due.min(beat)))
    }

    /// The same for the background thread, which wakes for bundles as its [`Reminder`] says.
    pub(crate) fn keep_time_behind(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let beat = self.keep_beat(now)?;
        let look = self
            .reminder
            .look(now, self.bundle_due(), self.bundling.age);
        Some(look.map_or(beat, |look| look.min(beat)))
    }

    /// Writes the bundle that waits if it is due; when to look again, as its [`Reminder`] says.
    pub(crate) fn keep_bundles_behind(&mut self) -> Option<Instant> {
        let now = Instant::now();
        if !self.ended && self.bundle_due().is_some_and(|due| now >= due) {
            self.flush();
        }
        let due = self.bundle_due();
        self.reminder.look(now, due, self.bundling.age)
    }

    /// Whether the background thread will look for a bundle.
    pub(crate) fn is_reminded(&self) -> bool {
        self.reminder.at.is_some()
    }

    /// Does what is due; when a heartbeat is.
    fn keep_beat(&mut self, now: Instant) -> Option<Instant> {
        if self.ended {
            return None;
        }
        let mut says = false;
        if let Some(shared) = &mut self.shared {
            shared.catch_up(now);
            says = shared.dropped.tell((now, self.heartbeat), &mut self.writer);
        }
        if let Some(direct) = &mut self.direct {
            says |= direct.dropped.tell((now, self.heartbeat), &mut self.writer);
        }
        let told = self.datagrams.as_mut().and_then(|s| s.tell(now));
        if let Some(messages) = told {
            self.put_link_request(&LinkRequest::Sent { messages });
            says = true;
        }
        if says {
            self.flush();
        } else if now >= self.last_written + self.heartbeat {
            put_heartbeat(self.writer.out());
            self.flush();
        } else if self.bundle_due().is_some_and(|due| now >= due) {
            self.flush();
        }
        let beat = self.last_written + self.heartbeat;
        let asks = self.datagrams.as_mut().map(|s| s.keep_time(now));
        let heartbeat = self.heartbeat;
        let mut group = None;
        if let Some(direct) = &mut self.direct {
            let said;
            (group, said) = direct.keep_time(now, heartbeat);
            if said {
                // It is not left for something else to be sent.
                direct.flush(&mut self.writer);
            }
        }
        Some(asks.into_iter().chain(group).fold(beat, Instant::min))
    }

    /// Nothing is there to read. A peer that was silent for too long is lost if its host is: a
    /// process that is stopped or busy there is not. Returns for how long it was silent, if so.
    pub(crate) fn silent_for(&self) -> Option<Duration> {
        let silent = self.heard.elapsed();
        if silent < self.timeout || self.ended {
            return None;
        }
        // Its host acknowledges heartbeats as long as it can be reached.
        let recently = (self.timeout / 2).max(2 * self.heartbeat);
        let answers = self.writer.stream().host_answers(recently);
        (answers == Some(false)).then_some(silent)
    }

    /// Nothing is there to read, and the peer is not given up. For how long it was silent, once, when that is
    /// longer than one that runs would be.
    pub(crate) fn misses(&mut self) -> Option<Duration> {
        let silent = self.heard.elapsed();
        let news = silent >= self.timeout && !self.ended && !self.missed;
        self.missed |= news;
        news.then_some(silent)
    }

    /// Sends data to those who share memory or have links of their own.
    #[inline(always)]
    fn put_directly<'a>(&mut self, to: &[FederateHandle], data: &impl Framed<'a>, class: u32) {
        // Each knows its own; who has just gone is nobody's.
        if let Some(shared) = &mut self.shared {
            shared.send(to, &mut self.writer, data);
        }
        if self.direct.is_some() || self.site.is_some() {
            self.put_on_links(to, data, class);
        }
    }

    /// Sends an update or interaction as most are, by whatever way.
    #[inline(never)]
    fn plain_data_apart<T: Given>(&mut self, frame: &PlainOut<'_, T>) {
        if self.ways.is_some() {
            frame.hand_to(|frame| self.count_way(&frame));
        }
        match frame.path {
            DataPath::Executive if self.datagrams.is_none() => {
                put_on_stream(&mut self.head, &mut self.writer, &frame.data);
            }
            DataPath::Executive => {
                frame.hand_to(|frame| self.put_beside_datagrams(frame.to, *frame.data));
            }
            DataPath::Direct => self.put_directly(frame.to, &frame.data, 0),
        }
    }

    /// Sends data on links to single federates, and to those who come by the same forwarder.
    #[inline(never)]
    fn put_on_links<'a>(&mut self, to: &[FederateHandle], data: &impl Framed<'a>, class: u32) {
        if let Some(site) = &mut self.site {
            site.send(to, &mut self.writer, data);
        }
        if let Some(direct) = &mut self.direct {
            direct.send(to, &mut self.writer, (data, class));
        }
    }

    /// Counts by which way it goes, and to whom.
    #[cold]
    fn count_way(&mut self, frame: &DataOut<'_>) {
        let (to, bytes) = (frame.to, DataFrame::new(frame.data).bytes());
        let best_effort = frame.data.is_best_effort();
        let Some(ways) = &mut self.ways else { return };
        match frame.path {
            DataPath::Executive => {
                let sending = self.datagrams.as_ref();
                let apart = best_effort && sending.is_some_and(|s| s.takes(bytes));
                let way = if apart { Way::Datagrams } else { Way::Stream };
                ways.sent(way, to, bytes);
            }
            DataPath::Direct => {
                let mut once = |way, to: Vec<_>| {
                    if !to.is_empty() {
                        ways.sent(way, &to, bytes);
                    }
                };
                if let Some(shared) = &self.shared {
                    let (reading, relayed) = shared.peers_among(to);
                    once(Way::SharedMemory, reading);
                    once(Way::Stream, relayed);
                }
                if let Some(site) = &self.site {
                    let here = site.peers().filter(|f| to.contains(f));
                    once(Way::Forwarder, here.collect());
                }
                if let Some(direct) = &self.direct {
                    let class = best_effort.then_some(frame.group);
                    let mut group = Vec::new();
                    for (to, way) in direct.ways_to(to, class, bytes) {
                        match way {
                            Way::Multicast => group.push(to),
                            alone => once(alone, vec![to]),
                        }
                    }
                    once(Way::Multicast, group);
                }
            }
        }
    }

    /// Sends data that may go by a datagram.
    #[inline(never)]
    fn put_beside_datagrams(&mut self, to: &[FederateHandle], data: DataSent<'_>) {
        let data = &data;
        if data.is_best_effort() {
            let (path, group) = (DataPath::Executive, 0);
            self.put_best_effort(DataOut {
                to,
                path,
                group,
                data,
            });
        } else {
            put_data(self.writer.out(), data);
        }
    }

    /// Whether less waits than may, at first sight: a bundle that waits and was timed has come to less.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.bundle.is_timed() || self.pending() < self.queue_bytes
    }

    /// Whether all that is to be done behind a message was done behind the last one: a bundle waits, whoever writes
    /// it when it is due knows, and it was looked at the clock not long ago.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self) -> bool {
        let pending = self.writer.pending();
        let goes_on = self.bundle.goes_on(pending) || pending == 0 && self.reminder.at.is_some();
        debug_assert!(
            !goes_on || self.reminder.at.is_some(),
            "somebody looks for it"
        );
        goes_on
            && self.datagrams.is_none()
            && self.shared.as_mut().is_none_or(|s| s.goes_on())
            && self.direct.as_mut().is_none_or(|d| d.goes_on())
    }

    /// Ends it in both directions.
    pub(crate) fn shut_down(&mut self) {
        self.ended = true;
        self.writer.stream().shut_down();
    }
}

/// Appends data, with the head of the frame before.
#[inline(always)]
fn put_on_stream<'a>(head: &mut Head, stream: &mut LinkWriter, data: &impl Framed<'a>) {
    let frame = data.frame(head);
    frame.put_into(&mut stream.room(frame.bytes()));
}

/// When the background thread wakes to write a bundle that the federate has left behind.
///
/// One that goes on sending writes its bundles itself: to set an alarm for each would be a system call
/// each, and to wake for each would take the CPU from the federate. So there is one alarm at a time,
/// and as long as the bundle is another whenever it goes off, the next is twice as far.
#[derive(Debug, Default)]
struct Reminder {
    /// When the thread will look.
    at: Option<Instant>,
    /// How far the next look is, if the federate goes on.
    pause: Duration,
}

impl Reminder {
    /// The last bundle of a stream waits no longer than this for the thread to look.
    const PAUSE_MAX: Duration = Duration::from_millis(1);

    /// The thread is awake, and what was due is written; when it is to look next.
    fn look(&mut self, now: Instant, due: Option<Instant>, age: Duration) -> Option<Instant> {
        if self.at.is_none_or(|at| now < at) {
            return self.at;
        }
        self.at = due.map(|due| due.max(now + self.pause));
        self.pause = match due {
            None => Duration::ZERO,
            Some(_) => (2 * self.pause).max(age).min(Self::PAUSE_MAX),
        };
        self.at
    }
}

impl Outbox for Link {
    fn to_executive(&mut self, message: ToExecutive) {
        // It may be a resignation: then nothing of what was sent before may be missing in the ring.
        if let (ToExecutive::Request(_), Some(shared)) = (&message, &mut self.shared)
            && shared.is_stuck()
        {
            shared.put_by_force();
        }
        let resigns = matches!(
            &message,
            ToExecutive::Request(request)
                if matches!(request.body, RequestBody::Federation(federation::Request::Resign(_)))
        );
        if resigns {
            if let Some(shared) = &mut self.shared {
                shared.relay_all(&mut self.writer);
            }
            if let Some(direct) = &mut self.direct {
                direct.relay_all(&mut self.writer);
            }
        }
        if let Some(sending) = &mut self.datagrams {
            // It comes before: rtiexec may take it for nothing behind this.
            sending.flush();
        }
        if resigns {
            self.tell_sent();
        }
        let out = self.writer.out();
        let before = out.len();
        put_to_executive(out, &message);
        // What services send is judged before, and what is said for the MOM keeps to it; nothing else grows with
        // what the federate has.
        if let ToExecutive::Part(part) = message {
            let bytes = out.len() - before;
            if bytes > self.frame_bytes_max {
                out.truncate(before);
                let (applied, bytes) = (part.log.applied, bytes as u64);
                put_to_executive(out, &ToExecutive::PartTooLarge { applied, bytes });
            }
        }
        self.follow_stream();
    }

    // A function of its own: what checks an update and what writes it have too much in hand for one.
    #[inline(never)]
    fn data(&mut self, frame: DataOut<'_>) {
        if self.ways.is_some() {
            self.count_way(&frame);
        }
        match frame.path {
            DataPath::Executive if self.datagrams.is_none() => {
                put_on_stream(&mut self.head, &mut self.writer, frame.data);
            }
            DataPath::Executive => self.put_beside_datagrams(frame.to, *frame.data),
            DataPath::Direct => self.put_directly(frame.to, frame.data, frame.group),
        }
    }

    // What goes on the stream is written where it is checked, so that it never stands in memory; for the rest, too, there
    // is too much in hand there.
    #[inline(always)]
    fn plain_data<T: Given>(&mut self, frame: &PlainOut<'_, T>) {
        let on_links = self.direct.is_some() || self.site.is_some();
        match (frame.path, &mut self.shared) {
            _ if self.ways.is_some() => {}
            (DataPath::Executive, _) if self.datagrams.is_none() => {
                return put_on_stream(&mut self.head, &mut self.writer, &frame.data);
            }
            (DataPath::Direct, Some(shared)) if !on_links => {
                return shared.send(frame.to, &mut self.writer, &frame.data);
            }
            _ => {}
        }
        let frame = *frame;
        self.plain_data_apart(&frame);
    }

    fn fence(&mut self, to: FederateHandle, fence: &Data<'_>) {
        if let Some(shared) = &mut self.shared {
            shared.send(&[to], &mut self.writer, fence);
        }
        if let Some(direct) = &mut self.direct {
            direct.send(&[to], &mut self.writer, (fence, 0));
        }
        if let Some(site) = &mut self.site {
            site.send(&[to], &mut self.writer, fence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_told_once_until_something_comes() {
        let (ours, _theirs) = Stream::pair().unwrap();
        let (_, writer) = starling_net::Link::new(ours).split();
        let settings = Settings::default();
        let mut link = Link::new(writer, &settings, false, Instant::now());
        assert_eq!(link.misses(), None);
        link.timeout = Duration::ZERO;
        assert!(link.misses().is_some() && link.misses().is_none());
        link.heard(false);
        assert!(link.misses().is_some(), "again");
    }

    #[test]
    fn a_bundle_that_is_left_behind_is_looked_for() {
        let us = Duration::from_micros;
        let (start, age) = (Instant::now(), us(50));
        let mut reminder = Reminder::default();
        assert_eq!(reminder.look(start, None, age), None);
        // An alarm was set, and goes off when its bundle was written long since.
        reminder.at = Some(start);
        assert_eq!(reminder.look(start, None, age), None);
        // The federate goes on: each time there is a new bundle.
        reminder.at = Some(start);
        let (mut now, mut looks) = (start, 0);
        while now < start + us(100_000) {
            let next = reminder.look(now, Some(now + us(40)), age).unwrap();
            assert_eq!(
                reminder.look(next - us(1), None, age),
                Some(next),
                "not yet"
            );
            assert!(
                next - now <= (now - start + us(100)).min(us(1000)),
                "{looks}"
            );
            (now, looks) = (next, looks + 1);
        }
        assert!(looks < 110, "{looks}");
        // It stops, and begins again.
        assert_eq!(reminder.look(now, None, age), None);
        reminder.at = Some(now);
        assert_eq!(
            reminder.look(now, Some(now + us(40)), age),
            Some(now + us(40))
        );
    }

    #[test]
    fn a_full_link_is_not_tried_again_and_again() {
        let (ours, theirs) = Stream::pair().unwrap();
        let (_, writer) = starling_net::Link::new(ours).split();
        let settings = Settings::default();
        let mut link = Link::new(writer, &settings, false, Instant::now());
        while !link.is_blocked() {
            link.writer.out().extend([0; 1 << 16]);
            link.flush();
        }
        let (bytes, calls) = link.writer.counts();
        for _ in 0..100 {
            link.flush_if_free();
        }
        assert_eq!(link.writer.counts(), (bytes, calls));
        assert!(link.has_become_full() && !link.has_become_full());
        // Once there is room it is whole again, for who watches it.
        let (mut theirs, _) = starling_net::Link::new(theirs).split();
        while link.flush() > 0 {
            theirs.fill().unwrap();
            let came = theirs.inbox().len();
            theirs.consume(came);
        }
        put_heartbeat(link.writer.out());
        link.flush_if_free();
        assert!(link.pending() == 0 && !link.has_become_full());
        while !link.is_blocked() {
            link.writer.out().extend([0; 1 << 16]);
            link.flush();
        }
        assert!(link.has_become_full(), "again");
    }
}
