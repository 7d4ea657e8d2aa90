//! The links of an LRC: who reads them, and who waits. Today there is one, to the executive; peers'
//! will stand beside it.
//!
//! Lock order: `read` before `state`. The state is never locked while a callback runs or a
//! descriptor is waited for. Whoever panics while it holds either ends the connection: nobody goes
//! on with a half-changed state, and nobody waits for it.

use crate::handshake::{OpenError, Opening};
use crate::link::Link;
use crate::patience::Patience;
use parking_lot::{Condvar, Mutex, MutexGuard};
use starling_core::{DataPath, Exception, ExceptionKind, Federate, Lrc, ProtocolError};
use starling_net::{Alarm, Challenge, Fill, LinkReader, Stream, Waiter, Waker, Watch};
use starling_rid::{
    CALLBACKS_SPIN_US, CONNECT_TIMEOUT_S, LIMITS_CALLBACK_QUEUE_BYTES, LIMITS_SEND_QUEUE_BYTES,
    LIMITS_WITHHELD_BYTES, Settings,
};
use starling_wire::{FRAME_BYTES_MAX, Frame, read_data, split_frame};
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::panicking;
use std::time::{Duration, Instant};

/// What the state lock guards.
pub(crate) struct State {
    pub(crate) lrc: Lrc<Link>,
    /// When a thread of the federate's last read or evoked.
    pub(crate) evoked: Instant,
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

/// What the reading thread holds.
struct ReadSide {
    reader: LinkReader,
    waiter: Waiter,
    patience: Patience,
    /// When a service of a federate without background thread looked last.
    looked: Instant,
}

/// A connection, shared by the federate's threads and the background thread.
pub(crate) struct Links {
    state: Mutex<State>,
    /// The state has changed, or the read side has become free.
    changed: Condvar,
    read: Mutex<ReadSide>,
    /// The background thread is to be woken when the read side is free again.
    awaited: AtomicBool,
    /// Wakes the background thread.
    pub(crate) waker: Waker,
    /// Wakes it when a bundle is due.
    alarm: Alarm,
    send_queue: usize,
    /// There is no background thread: services read, too.
    alone: bool,
    /// For a forked child, which must not take locks that another thread of its parent held.
    stream: Arc<Stream>,
}

/// The locked state. Who panics with it in hand breaks the connection.
pub(crate) struct Locked<'a> {
    links: &'a Links,
    state: MutexGuard<'a, State>,
    /// A federate may call services while it unwinds from a panic of its own.
    unwinding: bool,
}

/// A thread's turn at reading. Ends, however the thread leaves it, with nobody left waiting for it.
struct Turn<'a> {
    links: &'a Links,
    side: Option<MutexGuard<'a, ReadSide>>,
    unwinding: bool,
}

impl Links {
    /// Shakes hands over a new link, with a challenge if the other side must prove that it is this
    /// user's. `waker` and `alarm` are the background thread's; `alone`:
    /// there is none, so nobody would write a bundle later, and every call writes what it sends.
    pub(crate) fn open(
        link: starling_net::Link,
        challenge: Option<&Challenge>,
        settings: &Settings,
        (waker, alarm): (Waker, Alarm),
        alone: bool,
    ) -> Result<Self, OpenError> {
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
        };
        let welcome = opening.shake_hands(challenge, None)?;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let frame_bytes_max = size(welcome.frame_bytes_max).min(FRAME_BYTES_MAX);
        let mut link = Link::new(writer, settings, alone, now);
        link.set_frame_bytes_max(frame_bytes_max);
        let mut lrc = Lrc::new(link, DataPath::Executive);
        lrc.set_frame_bytes_max(frame_bytes_max);
        lrc.set_withheld_bytes_max(size(settings.get(LIMITS_WITHHELD_BYTES)));
        let state = State {
            lrc,
            evoked: now,
            reported: now,
            began: now,
            callback_queue: size(settings.get(LIMITS_CALLBACK_QUEUE_BYTES)),
            warned: crate::notes::is_quiet(settings),
            #[cfg(test)]
            fault: None,
        };
        let spin = Duration::from_secs_f64(settings.get(CALLBACKS_SPIN_US) / 1e6);
        let read = ReadSide {
            reader,
            waiter,
            patience: Patience::new(spin),
            looked: now,
        };
        Ok(Links {
            stream,
            state: Mutex::new(state),
            changed: Condvar::new(),
            read: Mutex::new(read),
            awaited: AtomicBool::new(false),
            waker,
            alarm,
            send_queue: size(settings.get(LIMITS_SEND_QUEUE_BYTES)),
            alone,
        })
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked {
            links: self,
            unwinding: panicking(),
            state: self.state.lock(),
        }
    }

    /// Reads the link, or lets another thread read it, until `done` or the deadline. Delivers
    /// nothing. Returns whether `done` came true.
    pub(crate) fn pump(
        &self,
        deadline: Option<Instant>,
        mut done: impl FnMut(&mut State) -> bool,
    ) -> bool {
        let mut state = self.lock();
        loop {
            state.evoked = Instant::now();
            if done(&mut state) || state.lrc.lost().is_some() {
                return done(&mut state);
            }
            let Some(mut turn) = self.turn() else {
                // The background thread reads: it gives way when it is woken.
                self.waker.wake();
                let timed_out = match deadline {
                    Some(d) => self.changed.wait_until(&mut state.state, d).timed_out(),
                    None => {
                        self.changed.wait(&mut state.state);
                        false
                    }
                };
                if timed_out {
                    return done(&mut state);
                }
                continue;
            };
            drop(state);
            let over = deadline.is_some_and(|d| Instant::now() >= d);
            self.read_once(turn.side(), deadline, None);
            state = turn.end();
            if over {
                return done(&mut state);
            }
        }
    }

    /// The background thread's turn: waits at its own waiter, on the link too if `read`.
    pub(crate) fn background_turn(&self, waiter: &Waiter, read: bool, until: Instant) {
        let try_again = || {
            self.awaited.store(true, Ordering::Release);
            self.turn()
        };
        if read && let Some(mut turn) = self.turn().or_else(try_again) {
            self.read_once(turn.side(), Some(until), Some(waiter));
            turn.end();
            return;
        }
        let (until, full) = {
            let mut state = self.lock();
            let link = state.lrc.outbox();
            let until = link.next_due().map_or(until, |due| due.min(until));
            let full = link.is_blocked();
            (until, full.then(|| link.stream().clone()))
        };
        let mut room = full.as_ref().map(|stream| Watch::write_only(&**stream));
        let timeout = until.saturating_duration_since(Instant::now());
        // An error is a signal's interruption, or shows on the next read.
        let _ = waiter.wait(room.as_mut_slice(), Some(timeout));
        let mut state = self.lock();
        if room.is_some_and(|link| link.writable) {
            state.flush();
        }
        state.report();
        state.lrc.outbox().keep_time();
    }

    fn turn(&self) -> Option<Turn<'_>> {
        let side = self.read.try_lock()?;
        Some(Turn {
            links: self,
            side: Some(side),
            unwinding: panicking(),
        })
    }

    /// Waits for the link until the deadline, reads what is there and applies it.
    fn read_once(&self, read: &mut ReadSide, deadline: Option<Instant>, waiter: Option<&Waiter>) {
        let (until, blocked) = {
            let mut state = self.lock();
            state.report();
            let link = state.lrc.outbox();
            link.keep_time();
            let until = [deadline, link.next_due()].into_iter().flatten().min();
            (until, link.is_blocked())
        };
        let stream = read.reader.stream().clone();
        let mut watch = [Watch::new(&*stream, blocked)];
        let timeout = until.map(|u| u.saturating_duration_since(Instant::now()));
        let asked = match waiter.is_none() && !blocked && timeout != Some(Duration::ZERO) {
            true => ask_again(&mut read.reader, &mut read.patience),
            false => Ok(Fill::Nothing),
        };
        let filled = match asked {
            Ok(Fill::Nothing) => {
                let waited = waiter.unwrap_or(&read.waiter).wait(&mut watch, timeout);
                match waited.is_err() || watch[0].readable {
                    true => read.reader.fill(),
                    false => Ok(Fill::Nothing),
                }
            }
            asked => asked,
        };
        let state = &mut *self.lock();
        fault!(
            state,
            if waiter.is_some() {
                "background"
            } else {
                "reading"
            }
        );
        if watch[0].writable {
            state.flush();
        }
        state.lrc.outbox().keep_time();
        match filled {
            Ok(Fill::Nothing) => state.judge_silence(),
            Ok(Fill::Bytes(_) | Fill::More(_)) => {
                state.lrc.outbox().heard(waiter.is_none());
                let before = state.lrc.outbox().pending();
                state.take_frames(&mut read.reader);
                // An answer that the RTI has asked this LRC for.
                if state.lrc.outbox().pending() > before {
                    state.flush();
                }
                state.warn_if_full();
            }
            Ok(Fill::Closed) => {
                state.take_frames(&mut read.reader);
                state.end("it has closed the connection");
            }
            Err(error) => state.end(&format!("the connection has broken: {error}")),
        }
    }

    /// After something was appended: writes by the bundling rule, and waits while the queue is
    /// full, reading meanwhile, so that two full senders can't block each other; but not without
    /// bound: see [`State::require_room`].
    pub(crate) fn sent(&self, mut state: Locked<'_>) {
        let link = state.lrc.outbox();
        let (was_due, was_blocked) = (link.bundle_due(), link.is_blocked());
        let (pending, now) = link.written();
        let (due, blocked) = (link.bundle_due(), link.is_blocked());
        drop(state);
        // Once per bundle: the background thread writes it when it is due, unless it was written
        // before. Waking it now would cost more than the bundle.
        if let (None, Some(due)) = (was_due, due) {
            self.alarm.set(due.saturating_duration_since(now));
        }
        if self.alone {
            self.look(now);
        }
        let full = pending > self.send_queue;
        // It watches for room on the link from now on.
        if full || (blocked && !was_blocked) {
            self.waker.wake();
        }
        if full {
            let limit = self.send_queue / 2;
            self.pump(None, |state| state.flush() <= limit || state.is_overfull());
        }
    }

    /// Reads what has come, once in a while, where nobody else does for a federate that only sends:
    /// what others subscribe to meanwhile must reach it. Waits for nothing.
    fn look(&self, now: Instant) {
        /// Often enough for whoever waits, too seldom to be felt by the sender.
        const PAUSE: Duration = Duration::from_millis(1);
        let Some(mut turn) = self.turn() else {
            return; // Another thread reads.
        };
        let side = turn.side();
        if now.saturating_duration_since(side.looked) >= PAUSE && !self.lock().is_full() {
            side.looked = now;
            self.read_once(side, Some(now), None);
        }
        turn.end();
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
        self.news();
    }

    /// Ends the connection: something has failed half-way, and nothing of it is used any more.
    pub(crate) fn break_down(&self, why: &str) {
        self.lock().break_down(why);
        self.news();
    }

    /// The state has changed: whoever waits for that looks.
    fn news(&self) {
        self.waker.wake();
        self.changed.notify_all();
    }
}

impl Deref for Locked<'_> {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if panicking() && !self.unwinding {
            self.state.break_down("an error inside the RTI (a bug)");
            self.links.news();
        }
    }
}

impl<'a> Turn<'a> {
    fn side(&mut self) -> &mut ReadSide {
        self.side.as_mut().expect("held until the turn ends")
    }

    /// Gives the read side back, and takes the state.
    fn end(mut self) -> Locked<'a> {
        self.give_back();
        let state = self.links.lock();
        self.links.changed.notify_all();
        state
    }

    fn give_back(&mut self) {
        self.side = None;
        if self.links.awaited.swap(false, Ordering::AcqRel) {
            self.links.waker.wake();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if panicking() && !self.unwinding {
            self.give_back();
            self.links
                .break_down("an error inside the RTI while it read (a bug)");
        }
    }
}

impl State {
    /// Tells the LRC the time, if it wants to know.
    #[inline]
    pub(crate) fn tell_time(&mut self) {
        if self.lrc.wants_time() {
            let since = self.began.elapsed().as_micros();
            self.lrc
                .set_time_us(u64::try_from(since).unwrap_or(u64::MAX));
        }
    }

    /// Tells rtiexec what became of data, at most once a second, and before the federate falls silent
    /// for longer than a heartbeat takes.
    fn report(&mut self) {
        const PAUSE: Duration = Duration::from_secs(1);
        let now = Instant::now();
        if now.duration_since(self.reported) >= PAUSE {
            self.reported = now;
            if self.lrc.report() {
                self.flush();
            }
        }
    }

    /// Writes what waits; returns what the link did not take.
    pub(crate) fn flush(&mut self) -> usize {
        self.lrc.outbox().flush()
    }

    /// Whether more waits for the federate than is to be read for it while it is elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.lrc.waiting_bytes() > self.callback_queue
    }

    /// Whether so much waits for the federate that nothing more is read while it only sends.
    fn is_overfull(&self) -> bool {
        self.lrc.waiting_bytes() > self.callback_queue.saturating_mul(2)
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
            self.lrc.waiting_bytes(),
            self.callback_queue
        );
        Err(Exception::new(ExceptionKind::RTIinternalError, why))
    }

    /// Says once that callbacks pile up.
    fn warn_if_full(&mut self) {
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

    fn judge_silence(&mut self) {
        if let Some(silent) = self.lrc.outbox().silent_for() {
            self.end(&format!(
                "nothing came from it for {:.1} s, nor from its host (fault.timeout_s)",
                silent.as_secs_f64()
            ));
        }
    }

    fn take_frames(&mut self, reader: &mut LinkReader) {
        let refused = loop {
            let (frame, used) = match split_frame(reader.inbox()) {
                Ok(None) => return,
                Ok(Some(whole)) => whole,
                Err(error) => break ProtocolError(error.0),
            };
            if let Err(error) = self.take(frame) {
                break error;
            }
            reader.consume(used);
        };
        self.end(&format!("it sent what it must not: {refused}"));
    }

    #[inline]
    fn take(&mut self, frame: &[u8]) -> Result<(), ProtocolError> {
        match read_data(frame) {
            Some(Ok(data)) => self.lrc.receive_data(&data),
            Some(Err(error)) => Err(ProtocolError(error.0)),
            None => self.take_control(frame),
        }
    }

    fn take_control(&mut self, frame: &[u8]) -> Result<(), ProtocolError> {
        match Frame::decode(frame).map_err(|e| ProtocolError(e.0))? {
            Frame::FromExecutive(message) => {
                self.lrc.receive(message)?;
                if self.lrc.lost().is_some() {
                    self.lrc.outbox().shut_down();
                }
                Ok(())
            }
            Frame::Heartbeat => Ok(()),
            other => Err(ProtocolError(format!("out of place: {other:?}"))),
        }
    }

    /// The connection is over: Connection Lost, §4.4, behind what was queued before.
    fn end(&mut self, why: &str) {
        self.lrc.lose(why);
        self.lrc.outbox().shut_down();
    }

    #[cold]
    fn break_down(&mut self, why: &str) {
        self.lrc.break_down(why);
        self.lrc.outbox().shut_down();
    }
}

/// Reads again and again for a while, letting others run in between.
fn ask_again(reader: &mut LinkReader, patience: &mut Patience) -> io::Result<Fill> {
    let Some(spin) = patience.spin() else {
        return Ok(Fill::Nothing);
    };
    let start = Instant::now();
    loop {
        let filled = reader.fill()?;
        let took = start.elapsed();
        let came = !matches!(filled, Fill::Nothing);
        if came || took >= spin {
            patience.learn(came, took);
            return Ok(filled);
        }
        std::thread::yield_now();
    }
}
