//! Whose turn it is to read a connection, who waits meanwhile, and who is woken when.
//!
//! Knows no sockets: what reading is, and where the background thread sleeps, is the callers'. So a
//! model checker runs through every order in which threads can meet here (`tests/turns`).
//!
//! - One thread at a time reads. A thread of the federate that waits for something takes the turn if
//!   it is free, and else waits until the state changes. The background thread gives way to it, and
//!   does not read again as long as one waits: it would be faster than who has to be woken first.
//! - Whoever has read wakes all that wait for the state, and the background thread if that would
//!   have read: one of them reads on, if it has to.
//! - The background thread judges what to do with the turn in its hand: what another thread read just
//!   before may be for it to deliver.
//!
//! Lock order: `read` before `state`. The state is never locked while a callback runs or a
//! descriptor is waited for. Whoever panics while it holds either ends the connection: nobody goes
//! on with a half-changed state, and nobody waits for it.

use crate::sync::{AtomicBool, Condvar, Instant, Mutex, MutexGuard, Ordering};
use std::ops::{Deref, DerefMut};
use std::thread::panicking;

/// A connection's state.
pub(crate) trait Ends {
    /// The connection is over: nobody waits for it any more.
    fn is_over(&self) -> bool;

    /// Ends the connection: something has failed half-way.
    fn break_down(&mut self, why: &str);
}

/// Wakes a thread where it sleeps, or will sleep next.
pub(crate) trait Wake {
    /// Wakes it.
    fn wake(&self);
}

/// What the background thread has to do.
pub(crate) enum Task {
    /// Something that is neither of these.
    Other,
    /// To read until then, if no other thread does, and else to sleep.
    Read(Instant),
    /// To sleep until then.
    Sleep(Instant),
}

/// The state `S` of a connection, and its read side `R`, by turns.
pub(crate) struct Turns<S: Ends, R, W: Wake> {
    state: Mutex<Shared<S>>,
    /// The state has changed, or the read side has become free.
    changed: Condvar,
    read: Mutex<R>,
    /// The background thread is to be woken when the read side is free again.
    awaited: AtomicBool,
    /// Wakes the background thread, whether it reads or not.
    background: W,
    /// Wakes a thread of the federate that reads.
    reader: W,
}

struct Shared<S> {
    state: S,
    /// Threads of the federate that wait for `changed`.
    waiting: usize,
}

/// The locked state. Who panics with it in hand breaks the connection.
pub(crate) struct Locked<'a, S: Ends, R, W: Wake> {
    turns: &'a Turns<S, R, W>,
    shared: MutexGuard<'a, Shared<S>>,
    /// A federate may call services while it unwinds from a panic of its own.
    unwinding: bool,
}

/// A thread's turn at reading. Ends, however the thread leaves it, with nobody left waiting for it.
struct Turn<'a, S: Ends, R, W: Wake> {
    turns: &'a Turns<S, R, W>,
    side: Option<MutexGuard<'a, R>>,
    unwinding: bool,
}

impl<S: Ends, R, W: Wake> Turns<S, R, W> {
    /// `background` wakes the background thread, `reader` a thread of the federate that reads.
    pub(crate) fn new(state: S, read: R, background: W, reader: W) -> Self {
        Turns {
            state: Mutex::new(Shared { state, waiting: 0 }),
            changed: Condvar::new(),
            read: Mutex::new(read),
            awaited: AtomicBool::new(false),
            background,
            reader,
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_, S, R, W> {
        Locked {
            turns: self,
            unwinding: panicking(),
            shared: self.state.lock(),
        }
    }

    /// Reads with `read`, which waits until the deadline at most, or lets another thread read, until
    /// `done` or the deadline. Returns whether `done` came true.
    pub(crate) fn pump(
        &self,
        deadline: Option<Instant>,
        mut read: impl FnMut(&mut R),
        mut done: impl FnMut(&mut S) -> bool,
    ) -> bool {
        let mut state = self.lock();
        let (mut waited, mut timed_out) = (false, false);
        loop {
            let is_done = done(&mut state);
            if is_done || timed_out || state.is_over() {
                if waited {
                    // It gave way to this thread.
                    self.wake_background();
                }
                return is_done;
            }
            let Some(mut turn) = self.turn() else {
                timed_out = self.wait(&mut state, deadline);
                waited = true;
                continue;
            };
            waited = false;
            drop(state);
            let over = deadline.is_some_and(|d| Instant::now() >= d);
            read(turn.side());
            state = turn.end();
            if over {
                return done(&mut state);
            }
        }
    }

    /// Waits until the state has changed or the read side has become free; true: or the deadline.
    fn wait(&self, state: &mut Locked<'_, S, R, W>, deadline: Option<Instant>) -> bool {
        // If the background thread reads: it gives way when it is woken.
        self.background.wake();
        state.shared.waiting += 1;
        let timed_out = match deadline {
            Some(d) => self.changed.wait_until(&mut state.shared, d).timed_out(),
            None => {
                self.changed.wait(&mut state.shared);
                false
            }
        };
        state.shared.waiting -= 1;
        timed_out
    }

    /// Reads with `read`, which waits for nothing, unless another thread reads.
    pub(crate) fn look(&self, read: impl FnOnce(&mut R)) {
        if let Some(mut turn) = self.turn() {
            read(turn.side());
            turn.end();
        }
    }

    /// A turn of the background thread: what `task` finds to be done. `sleep` ends when the thread is
    /// woken, too.
    pub(crate) fn background(
        &self,
        task: impl Fn(&S) -> Task,
        read: impl FnOnce(&mut R, Instant),
        sleep: impl FnOnce(Instant),
    ) {
        let until = match self.background_task(&task) {
            Task::Other => return,
            Task::Sleep(until) => until,
            Task::Read(until) => {
                if let Some(mut turn) = self.turn().or_else(|| self.await_turn()) {
                    if let Task::Read(until) = self.background_task(&task) {
                        read(turn.side(), until);
                    }
                    turn.end();
                    return;
                }
                until
            }
        };
        sleep(until);
    }

    fn background_task(&self, task: impl Fn(&S) -> Task) -> Task {
        let state = self.lock();
        match task(&state) {
            Task::Read(until) if state.shared.waiting > 0 => {
                self.awaited.swap(true, Ordering::AcqRel);
                Task::Sleep(until)
            }
            task => task,
        }
    }

    /// The state has changed otherwise than by reading: whoever reads, sleeps or waits looks.
    pub(crate) fn news(&self) {
        self.give_way();
        self.changed.notify_all();
    }

    /// Whoever reads or sleeps looks again at what it is to wait for.
    pub(crate) fn give_way(&self) {
        self.background.wake();
        self.reader.wake();
    }

    /// Ends the connection: something has failed half-way, and nothing of it is used any more.
    pub(crate) fn break_down(&self, why: &str) {
        self.lock().break_down(why);
        self.news();
    }

    /// Wakes the background thread if it waits for the read side.
    fn wake_background(&self) {
        if self.awaited.swap(false, Ordering::AcqRel) {
            self.background.wake();
        }
    }

    fn turn(&self) -> Option<Turn<'_, S, R, W>> {
        let side = self.read.try_lock()?;
        Some(Turn {
            turns: self,
            side: Some(side),
            unwinding: panicking(),
        })
    }

    /// The turn, or the background thread is woken when it is free.
    fn await_turn(&self) -> Option<Turn<'_, S, R, W>> {
        // Not a mere store: whoever gives the side back either sees this, or has been seen to do so
        // by this, and then the side is seen to be free, too.
        self.awaited.swap(true, Ordering::AcqRel);
        self.turn()
    }
}

impl<S: Ends, R, W: Wake> Deref for Locked<'_, S, R, W> {
    type Target = S;
    #[inline]
    fn deref(&self) -> &S {
        &self.shared.state
    }
}

impl<S: Ends, R, W: Wake> DerefMut for Locked<'_, S, R, W> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.shared.state
    }
}

impl<S: Ends, R, W: Wake> Drop for Locked<'_, S, R, W> {
    #[inline(always)]
    fn drop(&mut self) {
        if panicking() && !self.unwinding {
            self.break_down_inside();
        }
    }
}

impl<S: Ends, R, W: Wake> Locked<'_, S, R, W> {
    #[cold]
    fn break_down_inside(&mut self) {
        self.shared
            .state
            .break_down("an error inside the RTI (a bug)");
        self.turns.news();
    }
}

impl<'a, S: Ends, R, W: Wake> Turn<'a, S, R, W> {
    fn side(&mut self) -> &mut R {
        self.side.as_mut().expect("held until the turn ends")
    }

    /// Gives the read side back, and takes the state.
    fn end(mut self) -> Locked<'a, S, R, W> {
        self.give_back();
        let state = self.turns.lock();
        self.turns.changed.notify_all();
        state
    }

    fn give_back(&mut self) {
        self.side = None;
        self.turns.wake_background();
    }
}

impl<S: Ends, R, W: Wake> Drop for Turn<'_, S, R, W> {
    fn drop(&mut self) {
        if panicking() && !self.unwinding {
            self.give_back();
            self.turns
                .break_down("an error inside the RTI while it read (a bug)");
        }
    }
}
