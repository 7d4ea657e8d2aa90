//! The connection to the executive: the link, what came over it, and who reads it.
//!
//! Lock order: `read` before `state`. The state is never locked while a callback runs or a
//! descriptor is waited for.

use crate::patience::Patience;
use parking_lot::{Condvar, Mutex, MutexGuard};
use starling_core::message::{FromExecutive, PeerInfo, Snapshot, ToExecutive};
use starling_core::{Callback, DataOut, DataPath, Exception, ExceptionKind, Federate, Output};
use starling_net::{
    Alarm, Bundle, Bundling, Challenge, Fill, Link, LinkReader, LinkWriter, NOT_OWN, Stream,
    Waiter, Waker, Watch,
};
use starling_rid::{
    CALLBACKS_SPIN_US, CONNECT_TIMEOUT_S, FAULT_HEARTBEAT_S, FAULT_TIMEOUT_S,
    LIMITS_CALLBACK_QUEUE_BYTES, LIMITS_SEND_QUEUE_BYTES, Settings,
};
use starling_wire::{
    FRAME_BYTES_MAX, Frame, Hello, VERSION, Welcome, put_data, put_heartbeat, put_hello,
    put_to_executive, read_welcome, split_frame,
};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The answer to a call that needs the executive's word.
pub(crate) enum Answer {
    Done(Result<(), Exception>),
    Joined(Box<Snapshot>),
}

/// What the state lock guards.
pub(crate) struct State {
    writer: LinkWriter,
    bundle: Bundle,
    last_written: Instant,
    heartbeat: Duration,
    pub(crate) federate: Option<Federate>,
    /// Callbacks that are not a federation execution's: lists, connection lost.
    pub(crate) own: VecDeque<Callback>,
    pub(crate) answer: Option<Answer>,
    pub(crate) enabled: bool,
    /// Why the connection has ended, if it has.
    pub(crate) lost: Option<String>,
    /// When a thread of the federate's last read or evoked.
    pub(crate) evoked: Instant,
    /// When the connection was opened; times told to the core count from here.
    began: Instant,
    /// When something last came from rtiexec.
    heard: Instant,
    timeout: Duration,
    /// `limits.callback_queue_bytes`.
    callback_queue: usize,
    /// No warning that more waits than that: it was given, or is not wanted.
    warned: bool,
    /// The largest frame that rtiexec takes.
    frame_bytes_max: usize,
}

/// What the reading thread holds.
struct ReadSide {
    reader: LinkReader,
    waiter: Waiter,
    patience: Patience,
}

/// A connection, shared by the federate's threads and the background thread.
pub(crate) struct Connection {
    pub(crate) state: Mutex<State>,
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
    /// For a forked child, which must not take locks that another thread of its parent held.
    stream: Arc<Stream>,
}

impl Connection {
    /// Shakes hands over a new link, with a challenge if the other side must prove that it is this
    /// user's. `waker` and `alarm` are the background thread's; `alone`:
    /// there is none, so nobody would write a bundle later, and every call writes what it sends.
    pub(crate) fn open(
        link: Link,
        challenge: Option<&Challenge>,
        settings: &Settings,
        (waker, alarm): (Waker, Alarm),
        alone: bool,
    ) -> Result<Self, OpenError> {
        let no_waiter = |e| OpenError::Refused(format!("no wake-up descriptor: {e}"));
        let waiter = Waiter::new().map_err(no_waiter)?;
        let (reader, mut writer) = link.split();
        let hello = Hello {
            version: VERSION,
            info: about_this_process(),
            challenge: challenge.map_or(&[][..], Challenge::bytes).to_vec(),
        };
        put_hello(writer.out(), &hello);
        let now = Instant::now();
        let spin = Duration::from_secs_f64(settings.get(CALLBACKS_SPIN_US) / 1e6);
        let mut read = ReadSide {
            reader,
            waiter,
            patience: Patience::new(spin),
        };
        let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
        let welcome = shake_hands(&mut read, &mut writer, challenge, now + timeout)?;
        let mut bundling = Bundling::of(settings);
        if alone {
            bundling.bytes = 0;
        }
        let state = State {
            writer,
            bundle: Bundle::new(bundling),
            last_written: now,
            heartbeat: Duration::from_secs_f64(settings.get(FAULT_HEARTBEAT_S)),
            federate: None,
            own: VecDeque::new(),
            answer: None,
            enabled: true,
            lost: None,
            evoked: now,
            began: now,
            heard: now,
            timeout: Duration::from_secs_f64(settings.get(FAULT_TIMEOUT_S)),
            callback_queue: usize::try_from(settings.get(LIMITS_CALLBACK_QUEUE_BYTES))
                .unwrap_or(usize::MAX),
            warned: crate::notes::is_quiet(settings),
            frame_bytes_max: usize::try_from(welcome.frame_bytes_max)
                .unwrap_or(usize::MAX)
                .min(FRAME_BYTES_MAX),
        };
        Ok(Connection {
            stream: state.writer.stream().clone(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            read: Mutex::new(read),
            awaited: AtomicBool::new(false),
            waker,
            alarm,
            send_queue: usize::try_from(settings.get(LIMITS_SEND_QUEUE_BYTES))
                .unwrap_or(usize::MAX),
        })
    }

    /// Reads the link, or lets another thread read it, until `done` or the deadline. Delivers
    /// nothing. Returns whether `done` came true.
    pub(crate) fn pump(
        &self,
        deadline: Option<Instant>,
        mut done: impl FnMut(&mut State) -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        loop {
            state.evoked = Instant::now();
            if done(&mut state) || state.lost.is_some() {
                return done(&mut state);
            }
            let Some(mut read) = self.read.try_lock() else {
                // The background thread reads: it gives way when it is woken.
                self.waker.wake();
                let timed_out = match deadline {
                    Some(d) => self.changed.wait_until(&mut state, d).timed_out(),
                    None => {
                        self.changed.wait(&mut state);
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
            self.read_once(&mut read, deadline, None);
            drop(read);
            if self.awaited.swap(false, Ordering::AcqRel) {
                self.waker.wake();
            }
            state = self.state.lock();
            self.changed.notify_all();
            if over {
                return done(&mut state);
            }
        }
    }

    /// The background thread's turn: waits at its own waiter, on the link too if `read`.
    pub(crate) fn background_turn(&self, waiter: &Waiter, read: bool, until: Instant) {
        let try_again = || {
            self.awaited.store(true, Ordering::Release);
            self.read.try_lock()
        };
        if read && let Some(mut side) = self.read.try_lock().or_else(try_again) {
            self.read_once(&mut side, Some(until), Some(waiter));
            drop(side);
            let _state = self.state.lock();
            self.changed.notify_all();
            return;
        }
        let (until, full) = {
            let state = self.state.lock();
            let until = state.next_due().map_or(until, |due| due.min(until));
            let full = state.bundle.is_blocked();
            (until, full.then(|| state.writer.stream().clone()))
        };
        let mut room = full.as_ref().map(|stream| Watch::write_only(&**stream));
        let timeout = until.saturating_duration_since(Instant::now());
        // An error is a signal's interruption, or shows on the next read.
        let _ = waiter.wait(room.as_mut_slice(), Some(timeout));
        let state = &mut *self.state.lock();
        if room.is_some_and(|link| link.writable) {
            state.flush();
        }
        state.keep_time();
    }

    /// Waits for the link until the deadline, reads what is there and applies it.
    fn read_once(&self, read: &mut ReadSide, deadline: Option<Instant>, waiter: Option<&Waiter>) {
        let (until, blocked) = {
            let state = &mut *self.state.lock();
            state.keep_time();
            let until = [deadline, state.next_due()].into_iter().flatten().min();
            (until, state.bundle.is_blocked())
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
        let state = &mut *self.state.lock();
        if watch[0].writable {
            state.flush();
        }
        state.keep_time();
        match filled {
            Ok(Fill::Nothing) => state.judge_silence(),
            Ok(Fill::Bytes(_) | Fill::More(_)) => {
                state.heard = Instant::now();
                if waiter.is_none() {
                    state.bundle.turned();
                }
                state.take_frames(&mut read.reader);
                state.warn_if_full();
            }
            Ok(Fill::Closed) => {
                state.take_frames(&mut read.reader);
                state.end("rtiexec has closed the connection");
            }
            Err(error) => state.end(&format!("the connection to rtiexec has broken: {error}")),
        }
    }

    /// After something was appended: writes by the bundling rule, and waits while the queue is
    /// full, reading meanwhile, so that two full senders can't block each other; but not without
    /// bound: see [`State::require_room`].
    pub(crate) fn sent(&self, mut state: MutexGuard<'_, State>) {
        let (was_due, was_blocked) = (state.bundle.due(), state.bundle.is_blocked());
        let (pending, now) = state.written();
        let (due, blocked) = (state.bundle.due(), state.bundle.is_blocked());
        drop(state);
        // Once per bundle: the background thread writes it when it is due, unless it was written
        // before. Waking it now would cost more than the bundle.
        if let (None, Some(due)) = (was_due, due) {
            self.alarm.set(due.saturating_duration_since(now));
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

    /// Sends a message whose answer will come, and waits for it.
    pub(crate) fn ask(&self, message: &ToExecutive) -> Result<Answer, Exception> {
        {
            let state = &mut *self.state.lock();
            state.require_room(0)?;
            state.answer = None;
            let out = state.writer.out();
            let start = out.len();
            put_to_executive(out, message);
            let (bytes, most) = (out.len() - start, state.frame_bytes_max);
            if bytes > most {
                out.truncate(start);
                let why = format!(
                    "{bytes} bytes, with all FOM modules, are more than one message may hold: \
                     {most} bytes (limits.frame_bytes of rtiexec); nothing was sent"
                );
                return Err(Exception::new(ExceptionKind::RTIinternalError, why));
            }
            state.flush();
        }
        let mut answer = None;
        self.pump(None, |state| {
            answer = answer.take().or_else(|| state.answer.take());
            answer.is_some()
        });
        answer.ok_or_else(|| {
            let why = self.state.lock().lost.clone().unwrap_or_default();
            Exception::new(ExceptionKind::RTIinternalError, why)
        })
    }

    /// Whether a service may go on that sends and, where rtiexec does not take it, reads on.
    pub(crate) fn require_room(&self, state: &mut State) -> Result<(), Exception> {
        state.require_room(self.send_queue)
    }

    /// Leaves the connection to the parent of this forked child. Takes no lock.
    pub(crate) fn leave_to_parent(&self) {
        self.stream.leave_to_parent();
    }

    /// Ends the connection, from this side.
    pub(crate) fn close(&self) {
        let state = &mut *self.state.lock();
        state.flush();
        state.lost = Some("disconnected".into());
        state.federate = None;
        state.own.clear();
        state.writer.stream().shut_down();
        self.waker.wake();
        self.changed.notify_all();
    }
}

impl State {
    /// How many callbacks may be there to deliver.
    pub(crate) fn callbacks(&self) -> usize {
        let of_federate = self.federate.as_ref().map_or(0, Federate::callbacks);
        if self.enabled {
            self.own.len() + of_federate
        } else {
            0
        }
    }

    /// Whether a callback may be there to deliver.
    pub(crate) fn has_callbacks(&self) -> bool {
        let of_federate = self.federate.as_ref().is_some_and(Federate::has_callbacks);
        self.enabled && (!self.own.is_empty() || of_federate)
    }

    /// The next callback, now delivered.
    pub(crate) fn next_callback(&mut self) -> Option<Callback> {
        if !self.enabled {
            return None;
        }
        let own = self.own.pop_front();
        own.or_else(|| self.federate.as_mut()?.next_callback())
    }

    /// Puts a message that is not a joined federate's on the link.
    pub(crate) fn put(&mut self, message: &ToExecutive) {
        put_to_executive(self.writer.out(), message);
    }

    /// Runs a service of the joined federate and puts what it sends on the link.
    pub(crate) fn serve<T>(
        &mut self,
        work: impl FnOnce(&mut Federate, &mut dyn FnMut(DataOut<'_>)) -> T,
    ) -> Option<T> {
        let federate = self.federate.as_mut()?;
        if federate.wants_time() {
            let since = self.began.elapsed().as_micros();
            federate.set_time_us(u64::try_from(since).unwrap_or(u64::MAX));
        }
        let out = self.writer.out();
        let result = work(federate, &mut |sent: DataOut<'_>| put_data(out, &sent.data));
        self.put_requests();
        Some(result)
    }

    fn put_requests(&mut self) {
        let Some(federate) = &mut self.federate else {
            return;
        };
        while let Some(output) = federate.poll_output() {
            match output {
                Output::Request(request) => {
                    put_to_executive(self.writer.out(), &ToExecutive::Request(request));
                    if let Some(note) = federate.take_note() {
                        starling_net::say(format_args!("starling: note: {note}"));
                    }
                }
                Output::Fence { .. } => unreachable!("data takes the executive's path here"),
            }
        }
    }

    /// Writes what waits if the bundling rule says so; returns what still waits, and the time.
    fn written(&mut self) -> (usize, Instant) {
        let (pending, now) = (self.writer.pending(), Instant::now());
        if pending > 0 && self.bundle.appended(pending, now) {
            return (self.flush(), now);
        }
        (pending, now)
    }

    /// Writes what waits; returns what the link did not take.
    pub(crate) fn flush(&mut self) -> usize {
        if self.writer.pending() == 0 {
            return 0;
        }
        let now = Instant::now();
        match self.writer.flush() {
            Ok(all) => {
                match all {
                    true => self.bundle.flushed(now),
                    false => self.bundle.blocked(self.writer.pending()),
                }
                self.last_written = now;
                self.writer.pending()
            }
            // What broke it shows on the next read, behind what the peer still said.
            Err(_) => {
                self.writer.discard();
                self.bundle.flushed(now);
                self.last_written = now;
                0
            }
        }
    }

    /// When this side has something to do without being called.
    fn next_due(&self) -> Option<Instant> {
        if self.lost.is_some() {
            return None;
        }
        let beat = self.last_written + self.heartbeat;
        Some(self.bundle.due().map_or(beat, |due| due.min(beat)))
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.lost.is_some() {
            return;
        }
        if now >= self.last_written + self.heartbeat {
            put_heartbeat(self.writer.out());
            self.flush();
        } else if self.bundle.due().is_some_and(|due| now >= due) {
            self.flush();
        }
    }

    /// Values and tags that wait for the federate.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.federate.as_ref().map_or(0, Federate::queued_bytes)
    }

    /// Whether more waits for the federate than is to be read for it while it is elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes() > self.callback_queue
    }

    /// Whether so much waits for the federate that nothing more is read while it only sends.
    fn is_overfull(&self) -> bool {
        self.waiting_bytes() > self.callback_queue.saturating_mul(2)
    }

    /// Refuses what would have to read on without bound: twice `limits.callback_queue_bytes` wait
    /// for the federate already, and more than `send_queue` bytes for rtiexec to take.
    pub(crate) fn require_room(&mut self, send_queue: usize) -> Result<(), Exception> {
        if self.writer.pending() < send_queue || !self.is_overfull() || self.flush() < send_queue {
            return Ok(());
        }
        let waiting = self.waiting_bytes();
        let why = format!(
            "{waiting} bytes of callbacks wait for this federate, more than twice the {} of \
             limits.callback_queue_bytes, and it would have to read on: evoke (or enable) \
             callbacks first",
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
        let name = self.federate.as_ref().map_or("", Federate::name);
        starling_net::say(format_args!(
            "starling: warning: more than {} bytes of callbacks wait for federate '{name}' \
             (limits.callback_queue_bytes): evoke (or enable) callbacks; those who send to it are \
             slowed down meanwhile",
            self.callback_queue
        ));
    }

    /// Nothing is there to read. An rtiexec that was silent for too long is lost if its host is:
    /// a process that is stopped or busy there is not.
    fn judge_silence(&mut self) {
        let silent = self.heard.elapsed();
        if silent < self.timeout || self.lost.is_some() {
            return;
        }
        // Its host acknowledges heartbeats as long as it can be reached.
        let recently = (self.timeout / 2).max(2 * self.heartbeat);
        if self.writer.stream().host_answers(recently) == Some(false) {
            self.end(&format!(
                "nothing came from rtiexec for {:.1} s, nor from its host (fault.timeout_s)",
                silent.as_secs_f64()
            ));
        }
    }

    fn take_frames(&mut self, reader: &mut LinkReader) {
        loop {
            let taken = match split_frame(reader.inbox()) {
                Ok(None) => return,
                Ok(Some((frame, used))) => match Frame::decode(frame) {
                    Ok(decoded) => self.take(decoded).map(|()| used),
                    Err(error) => Err(error.to_string()),
                },
                Err(error) => Err(error.to_string()),
            };
            match taken {
                Ok(used) => reader.consume(used),
                Err(why) => return self.end(&format!("rtiexec sent what it must not: {why}")),
            }
        }
    }

    fn take(&mut self, frame: Frame<'_>) -> Result<(), String> {
        match frame {
            Frame::Heartbeat => Ok(()),
            Frame::Data(data) => match &mut self.federate {
                Some(federate) => federate.receive_data(&data).map_err(|e| e.0),
                // Sent before our resignation was known there.
                None => Ok(()),
            },
            Frame::FromExecutive(message) => self.take_message(message),
            other => Err(format!("out of place: {other:?}")),
        }
    }

    fn take_message(&mut self, message: FromExecutive) -> Result<(), String> {
        match message {
            FromExecutive::Done(done) => self.answer = Some(Answer::Done(done)),
            FromExecutive::JoinRefused(why) => self.answer = Some(Answer::Done(Err(why))),
            FromExecutive::Joined(snapshot) => {
                // The federate must be there before the next frame of this batch.
                let federate = Federate::new((*snapshot).clone(), DataPath::Executive);
                let mut federate = federate.map_err(|e| e.0)?;
                federate.set_frame_bytes_max(self.frame_bytes_max);
                self.federate = Some(federate);
                self.answer = Some(Answer::Joined(snapshot));
            }
            FromExecutive::Federations(list) => {
                self.own
                    .push_back(Callback::ReportFederationExecutions(list));
            }
            FromExecutive::Removed(why) => self.end(&why),
            FromExecutive::Status(_) | FromExecutive::Why(_) => {}
            log @ (FromExecutive::Entry(_) | FromExecutive::Watermark(_)) => {
                let Some(federate) = &mut self.federate else {
                    return Ok(());
                };
                federate.receive(log).map_err(|e| e.0)?;
                if federate.is_resigned() {
                    self.federate = None;
                    self.answer = Some(Answer::Done(Ok(())));
                }
            }
        }
        Ok(())
    }

    /// The connection is over: Connection Lost, §4.4, behind what was queued before.
    fn end(&mut self, why: &str) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(why.to_owned());
        if let Some(federate) = &mut self.federate {
            while let Some(callback) = federate.next_callback() {
                self.own.push_back(callback);
            }
        }
        self.federate = None;
        self.own.push_back(Callback::ConnectionLost {
            fault: why.to_owned(),
        });
        self.writer.stream().shut_down();
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

/// Why a connection did not come about.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// It ended before a word was said: rtiexec has just gone.
    Ended(String),
    /// All else.
    Refused(String),
}

impl OpenError {
    /// With whom it happened.
    pub(crate) fn with(self, whom: &str) -> Self {
        match self {
            Self::Ended(why) => Self::Ended(format!("{whom}: {why}")),
            Self::Refused(why) => Self::Refused(format!("{whom}: {why}")),
        }
    }
}

fn shake_hands(
    read: &mut ReadSide,
    writer: &mut LinkWriter,
    challenge: Option<&Challenge>,
    deadline: Instant,
) -> Result<Welcome, OpenError> {
    let stream = read.reader.stream().clone();
    let ended = |e: io::Error| OpenError::Ended(e.to_string());
    writer.flush().map_err(ended)?;
    loop {
        let welcome = read_welcome(read.reader.inbox());
        if let Some((welcome, used)) = welcome.map_err(OpenError::Refused)? {
            if challenge.is_some_and(|c| !c.is_met_by(&welcome.answer)) {
                return Err(OpenError::Refused(NOT_OWN.into()));
            }
            read.reader.consume(used);
            return Ok(welcome);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = "it answers no handshake; is it an rtiexec of Starling?";
            return Err(OpenError::Refused(why.into()));
        }
        let mut watch = [Watch::new(&*stream, writer.pending() > 0)];
        let waited = read.waiter.wait(&mut watch, Some(left));
        waited.map_err(|e| OpenError::Refused(e.to_string()))?;
        if watch[0].writable {
            writer.flush().map_err(ended)?;
        }
        if watch[0].readable
            && read.reader.fill().map_err(ended)? == Fill::Closed
            && matches!(read_welcome(read.reader.inbox()), Ok(None))
        {
            let why = "it closed the connection during the handshake";
            return Err(OpenError::Ended(why.into()));
        }
    }
}

fn about_this_process() -> PeerInfo {
    let pid = std::process::id();
    PeerInfo {
        pid,
        host: starling_net::host_name(),
        program: starling_net::process_name(pid).unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: String::new(),
    }
}
