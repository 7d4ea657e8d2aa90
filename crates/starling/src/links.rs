//! The links of an LRC, and when they are read and written: the stream to rtiexec, the memory of
//! federates of the same host, and TCP links to others. Which thread reads, and which waits, [`Turns`] says.

use crate::background::{ABSENT, LONG};
use crate::datagrams::Receiving;
use crate::handshake::{OpenError, Opening};
use crate::link::Link;
use crate::patience::Patience;
use crate::peers::Peers;
use crate::rings::Rings;
use crate::state::{Rest, State, size};
use crate::statistics::Calls;
use crate::turns::{self, Task, Turns, Wake};
use starling_core::Exception;
use starling_net::{Alarm, Challenge, Compression, Fill, LinkReader, Stream, Waiter, Waker, Watch};
use starling_rid::{
    CALLBACKS_SPIN_US, CONNECT_TIMEOUT_S, LIMITS_SEND_QUEUE_BYTES, STATISTICS_ENABLED, Settings,
};
use starling_wire::FRAME_BYTES_MAX;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who waits in a call for so long idles.
const IDLE: Duration = Duration::from_millis(100);

/// What the reading thread holds.
pub(crate) struct ReadSide {
    pub(crate) reader: LinkReader,
    pub(crate) rings: Rings,
    pub(crate) peers: Peers,
    /// Best-effort data that comes by datagrams.
    pub(crate) receiving: Option<Receiving>,
    /// When the stream was last seen to have nothing.
    asked: Instant,
    /// When all that may have something was looked at last.
    looked_around: Instant,
    /// By which way something came last.
    by: By,
    waiter: Waiter,
    patience: Patience,
    /// When a service of a federate without background thread looked last.
    looked: Instant,
}

/// A way by which data comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Stream,
    Ring,
    Link,
}

/// A connection, shared by the federate's threads and the background thread.
pub(crate) struct Links {
    turns: Turns<State, ReadSide, Waker>,
    /// Wakes the background thread when a bundle is due.
    alarm: Alarm,
    send_queue: usize,
    /// There is no background thread: services read, too.
    alone: bool,
    /// Where services and callbacks are measured.
    calls: Option<Arc<Calls>>,
    /// For a forked child, which must not take locks that another thread of its parent held.
    stream: Arc<Stream>,
}

/// The locked state. Who panics with it in hand breaks the connection.
pub(crate) type Locked<'a> = turns::Locked<'a, State, ReadSide, Waker>;

impl Links {
    /// Shakes hands over a new link, with a challenge if the other side must prove that it is this
    /// user's. `waker` and `alarm` are the background thread's; `alone`:
    /// there is none, so nobody would write a bundle later, and every call writes what it sends. With it, by which path
    /// rtiexec was reached, as it says.
    pub(crate) fn open(
        link: starling_net::Link,
        challenge: Option<&Challenge>,
        settings: &Settings,
        (waker, alarm): (Waker, Alarm),
        alone: bool,
    ) -> Result<(Self, String), OpenError> {
        let no_waiter = |e| OpenError::Refused(format!("no wake-up descriptor: {e}"));
        let waiter = Waiter::new().map_err(no_waiter)?;
        let (mut reader, mut writer) = link.split();
        let stream = writer.stream().clone();
        let now = Instant::now();
        let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
        let mut opening = Opening {
            reader: &mut reader,
            writer: &mut writer,
            waiter: &waiter,
            deadline: now + timeout,
            compression: Compression::of(settings),
        };
        let welcome = opening.shake_hands(challenge, None)?;
        let frame_bytes_max = size(welcome.frame_bytes_max).min(FRAME_BYTES_MAX);
        let link = Link::new(writer, settings, alone, now);
        let calls = settings
            .get(STATISTICS_ENABLED)
            .then(|| Arc::new(Calls::default()));
        let state = State::new(link, frame_bytes_max, settings, calls.clone(), now);
        if state.ring_bytes > 0 {
            reader.admit_descriptors();
        }
        let reader_waker = waiter.waker();
        let spin = Duration::from_secs_f64(settings.get(CALLBACKS_SPIN_US) / 1e6);
        let read = ReadSide {
            reader,
            rings: Rings::default(),
            peers: Peers::default(),
            receiving: None,
            asked: now,
            looked_around: now,
            by: By::Stream,
            waiter,
            patience: Patience::new(spin),
            looked: now,
        };
        let links = Links {
            calls,
            stream,
            turns: Turns::new(state, read, waker, reader_waker),
            alarm,
            send_queue: size(settings.get(LIMITS_SEND_QUEUE_BYTES)),
            alone,
        };
        Ok((links, welcome.info.path))
    }

    /// Where services and callbacks are measured, if they are.
    #[inline(always)]
    pub(crate) fn calls(&self) -> Option<&Calls> {
        self.calls.as_deref()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_> {
        self.turns.lock()
    }

    /// Reads the link, or lets another thread read it, until `done` or the deadline. Delivers
    /// nothing. Returns whether `done` came true.
    pub(crate) fn pump(
        &self,
        deadline: Option<Instant>,
        done: impl FnMut(&mut State) -> bool,
    ) -> bool {
        self.pump_within(deadline, false, done)
    }

    fn pump_within(
        &self,
        deadline: Option<Instant>,
        for_room: bool,
        mut done: impl FnMut(&mut State) -> bool,
    ) -> bool {
        let read = |side: &mut ReadSide| self.read_once(side, deadline, None, for_room);
        let mut entered = None;
        let done = self.turns.pump(deadline, read, |state| {
            state.evoked = Instant::now();
            if entered.is_none() {
                entered = Some(state.evoked);
                self.enter(state, deadline);
            }
            done(state)
        });
        self.leave(entered);
        done
    }

    /// A thread of the federate's begins to wait in a call.
    fn enter(&self, state: &mut State, deadline: Option<Instant>) {
        state.inside += 1;
        // Who has idled and is about to idle on calls off that the background thread looks: it would find that all is as
        // before.
        if state.rest.get() == Rest::Alarmed
            && state.idles
            && deadline.is_none_or(|end| end >= state.evoked + IDLE)
            && !state.lrc.outbox().is_reminded()
        {
            self.alarm.set(LONG);
            state.rest.set(Rest::Inside);
        }
    }

    /// It waits no more.
    fn leave(&self, entered: Option<Instant>) {
        let mut state = self.lock();
        state.inside -= 1;
        if state.inside > 0 {
            return;
        }
        state.idles = entered.is_some_and(|since| state.evoked >= since + IDLE);
        if state.rest.get() == Rest::Inside {
            // It is to look whether the federate has come again, and else to read.
            let rest = if state.lrc.outbox().is_reminded() {
                Rest::None
            } else {
                self.alarm.set(ABSENT);
                Rest::Alarmed
            };
            state.rest.set(rest);
        }
    }

    /// The same for who waits for room: nothing in peers' rings is of use to it. So these are not read while more
    /// callbacks wait than may; then the rings hold up those who send. The stream is read on.
    fn pump_for_room(
        &self,
        deadline: Option<Instant>,
        done: impl FnMut(&mut State) -> bool,
    ) -> bool {
        self.pump_within(deadline, true, done)
    }

    /// A turn of the background thread, which waits at its own waiter.
    pub(crate) fn background_turn(&self, waiter: &Waiter, task: impl Fn(&State) -> Task) {
        let read =
            |side: &mut ReadSide, until| self.read_once(side, Some(until), Some(waiter), false);
        self.turns
            .background(task, read, |until| self.sleep(waiter, until));
    }

    /// Waits without reading, and writes what is due or what the link has room for.
    fn sleep(&self, waiter: &Waiter, until: Instant) {
        let (until, full, links) = {
            let mut state = self.lock();
            let rests = state.rest.get() != Rest::None;
            let link = state.lrc.outbox();
            // Who waits in a call sees to heartbeats.
            let due = if rests {
                link.keep_bundles_behind()
            } else {
                link.keep_time_behind()
            };
            let until = due.map_or(until, |due| due.min(until));
            let full = link.is_blocked();
            (until, full.then(|| link.stream().clone()), link.blocked())
        };
        let links = links.iter();
        let mut room: Vec<_> = links.clone().map(|l| Watch::write_only(&*l.1)).collect();
        room.extend(full.as_ref().map(|stream| Watch::write_only(&**stream)));
        let timeout = until.saturating_duration_since(Instant::now());
        // An error is a signal's interruption, or shows on the next read.
        let _ = waiter.wait(&mut room, Some(timeout));
        let mut state = self.lock();
        let taking = links.zip(&room).filter(|(_, link)| link.writable);
        state
            .lrc
            .outbox()
            .have_room(taking.map(|((mark, _), _)| mark));
        if full.is_some() && room.last().is_some_and(|link| link.writable) {
            state.flush();
        }
        state.report();
        state.lrc.outbox().keep_time_behind();
    }

    /// Waits for the link until the deadline, reads what is there and applies it; `for_room`: but peers' rings, if
    /// too much waits for the federate already.
    fn read_once(
        &self,
        read: &mut ReadSide,
        deadline: Option<Instant>,
        waiter: Option<&Waiter>,
        for_room: bool,
    ) {
        /// Who reads no rings looks so often whether it may again.
        const PAUSE: Duration = Duration::from_millis(1);
        let (until, blocked, links) = {
            let mut state = self.lock();
            state.report();
            let pauses = for_room && state.is_full();
            read.rings.pause(pauses);
            let again = (pauses && !read.rings.is_empty()).then(|| Instant::now() + PAUSE);
            let wanted = state.awaiting_room;
            let link = state.lrc.outbox();
            let due = match waiter {
                None => link.keep_time(),
                Some(_) => link.keep_time_behind(),
            };
            let until = [deadline, due, read.peers.due(), again]
                .into_iter()
                .flatten()
                .min();
            // Who waits for room learns of it by this thread, whichever writes what waits.
            (until, link.is_blocked() || wanted, link.blocked())
        };
        let timeout = until.map(|u| u.saturating_duration_since(Instant::now()));
        let news = self.await_news(read, timeout, (blocked, &links), waiter);
        let Some((filled, writable, taking)) = news else {
            return;
        };
        read.peers.look_at_time();
        let state = &mut *self.lock();
        fault!(
            state,
            if waiter.is_some() {
                "background"
            } else {
                "reading"
            }
        );
        if writable {
            state.awaiting_room = false;
            state.flush();
        }
        state.lrc.outbox().have_room(taking);
        state.lrc.outbox().keep_time();
        if let Err(error) = state.break_off_pending(&mut read.rings, &mut read.peers) {
            state.refuse(error);
        }
        if read.rings.has_news() {
            read.by = By::Ring;
            if waiter.is_none() {
                state.lrc.outbox().turned();
            }
            let before = state.lrc.outbox().pending();
            state.take_rings(&mut read.rings);
            // A fence may have let the log go on, and that have asked this LRC for something.
            if state.lrc.outbox().pending() > before {
                state.flush();
            }
            state.warn_if_full();
        }
        if read.peers.has_news() {
            read.by = By::Link;
            if waiter.is_none() {
                state.lrc.outbox().turned();
            }
            let before = state.lrc.outbox().pending();
            state.take_peers(&mut read.peers);
            // As above, and what is to be relayed because a link is over.
            if state.lrc.outbox().pending() > before {
                state.flush();
            }
            state.warn_if_full();
        }
        if read.receiving.as_ref().is_some_and(Receiving::has_news) {
            read.by = By::Stream;
            state.take_best_effort(read, waiter.is_none());
        }
        match filled {
            Ok(Fill::Nothing) => state.judge_silence(),
            Ok(Fill::Bytes(_) | Fill::More(_)) => {
                read.by = By::Stream;
                state.lrc.outbox().heard(waiter.is_none());
                let before = state.lrc.outbox().pending();
                state.take_frames(read);
                // An answer that the RTI has asked this LRC for.
                if state.lrc.outbox().pending() > before {
                    state.flush();
                }
                state.warn_if_full();
                state.show_note();
            }
            Ok(Fill::Closed) => {
                state.take_frames(read);
                state.end("it has closed the connection");
            }
            Err(error) => state.end(&format!("the connection has broken: {error}")),
        }
        state.look_at_early(&mut read.rings, &mut read.peers);
        if state.settle_paths() {
            state.flush();
        }
    }

    /// Waits until something has come, in a peer's ring, on a link or on the stream, and reads the stream; whether
    /// this can be written to again, and which of the links that are `full`. None: it is only polled, and nothing is
    /// there.
    fn await_news<'a>(
        &self,
        read: &mut ReadSide,
        timeout: Option<Duration>,
        (blocked, full): (bool, &'a [(u64, Arc<Stream>)]),
        waiter: Option<&Waiter>,
    ) -> Option<(io::Result<Fill>, bool, Vec<&'a u64>)> {
        let polls = timeout == Some(Duration::ZERO);
        let stream_blocked = blocked;
        let blocked = blocked || !full.is_empty();
        // What is there without a wait.
        let mut there = None;
        if read.reader.has_more() {
            there = Some(read.fill());
        } else if !blocked && (read.rings.has_news() || read.peers.has_news()) {
            // Who looks around asks the stream, too.
            there = Some(if read.is_to_look_around() {
                Ok(Fill::Nothing)
            } else {
                read.fill_at_times()
            });
        } else if polls {
            let apart = read.peers.is_empty() && !read.rings.is_empty();
            if !blocked && apart && !read.is_to_ask() {
                return None;
            }
        } else if waiter.is_none() && !blocked {
            let asked = read.ask_again();
            if !matches!(asked, Ok(Fill::Nothing)) || read.has_news() {
                there = Some(asked);
            }
        }
        let sleeps = there.is_none() && !polls && read.rings.prepare_to_sleep();
        if there.is_none() && !sleeps && !polls && !blocked {
            read.rings.awake(false);
            there = Some(Ok(Fill::Nothing));
        }
        // Who always has something must not keep all others waiting.
        if there.is_some() && !read.is_to_look_around() {
            return there.map(|filled| (filled, false, Vec::new()));
        }
        let timeout = if sleeps && !read.peers.has_news() {
            timeout
        } else {
            Some(Duration::ZERO)
        };
        let stream = read.reader.stream().clone();
        let doorbell = read.rings.board().map(|board| board.doorbell());
        let datagrams = read.receiving.as_ref().map(Receiving::socket);
        let unused = || Watch::new(&*stream, false);
        let mut own = [Watch::new(&*stream, stream_blocked), unused(), unused()];
        let mut count = 1;
        if let Some(socket) = datagrams {
            own[count] = Watch::new(socket, false);
            count += 1;
        }
        // The last one of these.
        if let Some(doorbell) = &doorbell {
            own[count] = Watch::new(doorbell, false);
            count += 1;
        }
        let mut many = Vec::new();
        let watches = if read.peers.is_empty() {
            &mut own[..count]
        } else {
            many.extend(own.into_iter().take(count));
            many.extend(read.peers.watches(full));
            &mut many[..]
        };
        let waiter = waiter.unwrap_or(&read.waiter);
        let waited = waiter.wait(watches, timeout);
        let is_ready = |watch: &Watch<'_>| (watch.readable, watch.writable);
        let link = is_ready(&watches[0]);
        let has_datagrams = datagrams.is_some() && watches[1].readable;
        let rung = doorbell.is_some() && watches[count - 1].readable;
        let ready: Vec<_> = watches[count..].iter().map(is_ready).collect();
        let taking = read.peers.awake(ready.into_iter(), full);
        read.rings.awake(rung);
        if has_datagrams && let Some(receiving) = &mut read.receiving {
            receiving.look();
        }
        read.looked_around = Instant::now();
        let filled = match there {
            Some(filled) if !matches!(filled, Ok(Fill::Nothing)) => filled,
            _ if waited.is_err() || link.0 => read.fill(),
            _ => {
                read.asked = read.looked_around;
                Ok(Fill::Nothing)
            }
        };
        Some((filled, link.1, taking))
    }

    /// After data was appended: whether [`Self::sent`] has nothing to do.
    #[inline(always)]
    pub(crate) fn goes_on(&self, state: &mut State) -> bool {
        !self.alone && state.lrc.outbox().goes_on()
    }

    /// After something was appended: writes by the bundling rule, and waits while the queue is
    /// full, reading meanwhile, so that two full senders can't block each other; but not without
    /// bound: see [`State::require_room`].
    pub(crate) fn sent<'a>(&'a self, mut state: Locked<'a>) {
        if state.lrc.outbox().is_waiting() {
            drop(state);
            self.make_room();
            state = self.lock();
        }
        let link = state.lrc.outbox();
        let pending = link.written();
        let (alarm, blocked) = (link.alarm(), link.has_become_full());
        drop(state);
        // The background thread writes the bundle when it is due, unless it was written before.
        // Waking it now would cost more than the bundle.
        if let Some(due) = alarm {
            self.alarm
                .set(due.saturating_duration_since(Instant::now()));
        }
        if self.alone {
            self.look(Instant::now());
        }
        let full = pending > self.send_queue;
        // Whoever reads or sleeps watches for room on the link from now on.
        if full || blocked {
            self.turns.give_way();
        }
        if full {
            let limit = self.send_queue / 2;
            self.pump_for_room(None, |state| {
                let goes_on = state.flush() <= limit || state.is_overfull();
                if !goes_on && !state.awaiting_room {
                    state.awaiting_room = true;
                    self.turns.give_way();
                }
                goes_on
            });
        }
    }

    /// Waits until what was sent has room in shared memory, reading meanwhile; but not for long.
    #[cold]
    fn make_room(&self) {
        if self.lock().lrc.outbox().waits_for_readers() {
            // What they have confirmed may have come long ago.
            self.pump_for_room(Some(Instant::now()), |_| false);
        }
        loop {
            let mut state = self.lock();
            let until = state.lrc.outbox().put_waiting(Instant::now());
            if until.is_none() || state.lrc.lost().is_some() {
                break;
            }
            if state.is_overfull() {
                // Two that only send would make room for each other for ever: who is in the way is detached.
                drop(state);
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            drop(state);
            self.pump_for_room(until, |state| {
                let there = state.lrc.outbox().put_waiting(Instant::now()).is_none();
                there || state.is_overfull()
            });
        }
        // Of whoever was detached, or gets its data by rtiexec from here on, that one is to hear before its queue is full.
        let mut state = self.lock();
        state.settle_paths();
        state.flush();
    }

    /// Writes what waits, for a federate that evokes. While the link is full it is left to whoever
    /// reads or sleeps.
    pub(crate) fn flush(&self, state: &mut Locked<'_>) {
        let link = state.lrc.outbox();
        link.flush_if_free();
        if link.has_become_full() {
            self.turns.give_way();
        }
    }

    /// Reads what has come, once in a while, where nobody else does for a federate that only sends:
    /// what others subscribe to meanwhile must reach it. Waits for nothing.
    fn look(&self, now: Instant) {
        /// Often enough for whoever waits, too seldom to be felt by the sender.
        const PAUSE: Duration = Duration::from_millis(1);
        self.turns.look(|side| {
            if now.saturating_duration_since(side.looked) >= PAUSE && !self.lock().is_full() {
                side.looked = now;
                self.read_once(side, Some(now), None, false);
            }
        });
    }

    /// Whether a service may go on that sends and, where rtiexec does not take it, reads on.
    #[inline]
    pub(crate) fn require_room(&self, state: &mut State) -> Result<(), Exception> {
        state.require_room(self.send_queue)
    }

    /// Leaves the connection to the parent of this forked child. Takes no lock.
    pub(crate) fn leave_to_parent(&self) {
        self.stream.leave_to_parent();
    }

    /// Ends the connection, from this side.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.flush();
        state.lrc.close();
        state.lrc.outbox().shut_down();
        drop(state);
        self.news();
    }

    /// Ends the connection: something has failed half-way, and nothing of it is used any more.
    pub(crate) fn break_down(&self, why: &str) {
        self.turns.break_down(why);
    }

    /// The state has changed otherwise than by reading: whoever waits for that looks.
    pub(crate) fn news(&self) {
        self.turns.news();
    }
}

impl Wake for Waker {
    fn wake(&self) {
        Waker::wake(self);
    }
}

impl ReadSide {
    /// While rings bring the data the stream is looked at once in this time at least.
    const STREAM_PAUSE: Duration = Duration::from_micros(100);
    /// For so long a wait for rings keeps the CPU, if their writer has one of its own.
    const NEAR: Duration = Duration::from_micros(5);

    fn is_to_ask(&self) -> bool {
        self.asked.elapsed() >= Self::STREAM_PAUSE
    }

    /// Whether links and groups are to be looked at although something is there.
    fn is_to_look_around(&self) -> bool {
        !self.peers.is_empty() && self.looked_around.elapsed() >= Self::STREAM_PAUSE
    }

    /// Whether something has come but on the stream.
    fn has_news(&self) -> bool {
        self.rings.has_news()
            || self.peers.has_news()
            || self.receiving.as_ref().is_some_and(Receiving::has_news)
    }

    /// Reads the stream.
    fn fill(&mut self) -> io::Result<Fill> {
        if let Some(receiving) = &mut self.receiving {
            receiving.look();
        }
        let filled = self.reader.fill();
        if !matches!(filled, Ok(Fill::More(_))) {
            self.asked = Instant::now();
        }
        filled
    }

    /// Reads the stream if it was not read lately.
    fn fill_at_times(&mut self) -> io::Result<Fill> {
        if self.is_to_ask() {
            self.fill()
        } else {
            Ok(Fill::Nothing)
        }
    }

    /// Reads the link that was read last, and the stream if it was not read lately.
    fn ask_links(&mut self) -> io::Result<Fill> {
        if self.peers.ask_last() {
            Ok(Fill::Nothing)
        } else {
            self.fill_at_times()
        }
    }

    /// Looks again and again for a while, letting others run in between: first at what brought
    /// something last.
    fn ask_again(&mut self) -> io::Result<Fill> {
        let Some(spin) = self.patience.spin() else {
            return Ok(Fill::Nothing);
        };
        let start = Instant::now();
        let mut turns = 0;
        let near = if self.by == By::Ring && self.rings.others_run() {
            Self::NEAR.min(spin)
        } else {
            Duration::ZERO
        };
        let mut filled = match self.by {
            By::Ring => self.fill_at_times()?,
            By::Link => self.ask_links()?,
            By::Stream => self.fill()?,
        };
        let mut asks_on = true;
        loop {
            let took = start.elapsed();
            let came = !matches!(filled, Fill::Nothing) || self.has_news();
            if came || took >= spin || !asks_on {
                self.patience.learn(came, took);
                return Ok(filled);
            }
            if took < near {
                std::hint::spin_loop();
                continue;
            }
            let left = Instant::now();
            std::thread::yield_now();
            asks_on = self.patience.asks_on(left.elapsed(), &mut turns);
            // What a ring has needs no system call to be seen.
            if !self.rings.has_news() {
                filled = match self.by {
                    By::Link => self.ask_links()?,
                    By::Ring | By::Stream => self.fill()?,
                };
            }
        }
    }
}
