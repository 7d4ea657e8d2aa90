//! Who reads, who waits and who is woken, in every order in which threads can meet (`src/turns.rs`):
//! loom runs each model through all of them, up to a number of preemptions, and with every outdated
//! value that the memory model lets a thread see. A thread that nobody wakes is a deadlock, and fails.
//!
//! `make models` runs this. Nothing here reads a clock; what has a deadline is at it.

mod sync;
#[path = "../../src/turns.rs"]
mod turns;
mod wire;

use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::{AtomicBool, Ordering};
use sync::Instant;
use turns::{Ends, Task, Turns, Wake};
use wire::{Interest, Message, Sleeper, Wire};

/// What stands for the LRC and its link.
#[derive(Default)]
struct State {
    answered: [bool; 2],
    /// Waiting for the federate.
    callbacks: usize,
    delivered: usize,
    /// What was read, as it was applied.
    applied: Vec<Message>,
    /// The federate is elsewhere: the background thread is to read.
    absent: bool,
    /// The link did not take all that was written.
    blocked: bool,
    /// A thread waits until it does: whoever reads is to watch for that, once.
    awaiting_room: bool,
    over: bool,
    /// The ambassador disconnects: the background thread is to end.
    stopped: bool,
}

impl Ends for State {
    fn is_over(&self) -> bool {
        self.over
    }

    fn break_down(&mut self, why: &str) {
        panic!("{why}");
    }
}

struct Waker(Arc<Wire>, Sleeper);

impl Wake for Waker {
    fn wake(&self) {
        self.0.wake(self.1);
    }
}

/// The read side.
struct Side;

struct Connection {
    turns: Turns<State, Side, Waker>,
    wire: Arc<Wire>,
    /// Not one of the checker's: it orders nothing.
    reading: AtomicBool,
}

impl Connection {
    fn new(state: State) -> Arc<Self> {
        let wire = Wire::new();
        let waker = |who| Waker(wire.clone(), who);
        let wakers = (waker(Sleeper::Background), waker(Sleeper::Reader));
        Arc::new(Connection {
            turns: Turns::new(state, Side, wakers.0, wakers.1),
            wire,
            reading: AtomicBool::new(false),
        })
    }

    /// As `Links::read_once`.
    fn read_once(&self, _: &mut Side, who: Sleeper, deadline: bool) {
        let read_by_another = self.reading.swap(true, Ordering::Relaxed);
        assert!(!read_by_another, "two threads read");
        let state = self.turns.lock();
        let write = state.blocked || state.awaiting_room;
        drop(state);
        let interest = Interest {
            read: true,
            write,
            deadline,
        };
        let found = self.wire.sleep(who, interest);
        let mut state = self.turns.lock();
        if write && found.room {
            (state.blocked, state.awaiting_room) = (false, false);
        }
        state.over |= found.closed;
        match found.message {
            Some(Message::Answer(thread)) => state.answered[thread] = true,
            Some(Message::Callback) => state.callbacks += 1,
            None => {}
        }
        state.applied.extend(found.message);
        self.reading.store(false, Ordering::Relaxed);
    }

    fn pump(&self, deadline: Option<Instant>, done: impl FnMut(&mut State) -> bool) -> bool {
        let read = |side: &mut Side| self.read_once(side, Sleeper::Reader, deadline.is_some());
        self.turns.pump(deadline, read, done)
    }

    /// A service that waits for the executive's word: whether it has come.
    fn ask(&self, thread: usize) -> bool {
        self.pump(None, |state| {
            state.absent = false;
            state.answered[thread]
        })
    }

    /// As `Background::turns`: delivers callbacks, if `immediate`, until so many were or until it is
    /// told to stop.
    fn background(&self, immediate: bool, callbacks: usize) {
        let task = |state: &State| match state {
            _ if state.stopped || (immediate && state.callbacks > 0) => Task::Other,
            _ if !state.over && (immediate || state.absent) => Task::Read(Instant),
            _ => Task::Sleep(Instant),
        };
        loop {
            {
                let mut state = self.turns.lock();
                if immediate {
                    state.delivered += std::mem::take(&mut state.callbacks);
                }
                if state.stopped || state.delivered == callbacks {
                    return;
                }
            }
            let read = |side: &mut Side, _| self.read_once(side, Sleeper::Background, false);
            self.turns.background(task, read, |_| self.sleep());
        }
    }

    /// As `Links::sleep`.
    fn sleep(&self) {
        let write = self.turns.lock().blocked;
        let interest = Interest {
            write,
            ..Interest::default()
        };
        let found = self.wire.sleep(Sleeper::Background, interest);
        self.turns.lock().blocked &= !found.room;
    }

    /// As `Connected::end`.
    fn end(&self) {
        let mut state = self.turns.lock();
        (state.stopped, state.over) = (true, true);
        self.wire.close();
        drop(state);
        self.turns.news();
    }
}

/// Never: for a background thread that is stopped.
const NEVER: usize = usize::MAX;

/// Runs a model in every order with up to three preemptions of a thread that could go on.
fn model(run: impl Fn(Arc<Connection>) + Sync + Send + 'static) {
    model_up_to(3, run);
}

fn model_up_to(preemptions: usize, run: impl Fn(Arc<Connection>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || run(Connection::new(State::default())));
}

fn spawn(
    connection: &Arc<Connection>,
    run: impl FnOnce(&Connection) + 'static,
) -> thread::JoinHandle<()> {
    let connection = connection.clone();
    thread::spawn(move || run(&connection))
}

#[test]
fn of_two_that_wait_each_gets_its_answer_whoever_reads() {
    for order in [[0, 1], [1, 0]] {
        model(move |connection| {
            let other = spawn(&connection, |c| assert!(c.ask(1)));
            let peer = spawn(&connection, move |c| {
                order
                    .into_iter()
                    .for_each(|n| c.wire.send(Message::Answer(n)));
            });
            assert!(connection.ask(0));
            other.join().unwrap();
            peer.join().unwrap();
            let applied = &connection.turns.lock().applied;
            assert_eq!(applied[..], order.map(Message::Answer), "as it was sent");
        });
    }
}

#[test]
fn who_leaves_while_it_reads_hands_over() {
    model(|connection| {
        let evoking = spawn(&connection, |c| {
            let came = c.pump(Some(Instant), |state| state.callbacks > 0);
            assert!(!came, "no callback was sent");
        });
        let peer = spawn(&connection, |c| {
            c.wire.expire();
            c.wire.send(Message::Answer(0));
        });
        assert!(connection.ask(0));
        evoking.join().unwrap();
        peer.join().unwrap();
    });
}

#[test]
fn the_background_thread_reads_on_once_a_service_has_its_answer() {
    use Message::{Answer, Callback};
    for order in [[Answer(0), Callback], [Callback, Answer(0)]] {
        model(move |connection| {
            let background = spawn(&connection, |c| c.background(true, 1));
            let peer = spawn(&connection, move |c| {
                order.into_iter().for_each(|m| c.wire.send(m))
            });
            assert!(connection.ask(0));
            background.join().unwrap();
            peer.join().unwrap();
        });
    }
}

/// The other end sends nothing but to a thread of the federate that reads itself.
#[test]
fn the_background_thread_gives_way_to_a_federate_that_comes_back() {
    model(|connection| {
        connection.turns.lock().absent = true;
        let background = spawn(&connection, |c| c.background(false, NEVER));
        let read = |side: &mut Side| {
            connection.wire.send(Message::Answer(0));
            connection.read_once(side, Sleeper::Reader, false);
        };
        assert!(connection.turns.pump(None, read, |state| {
            state.absent = false;
            state.answered[0]
        }));
        connection.end();
        background.join().unwrap();
    });
}

#[test]
fn callbacks_that_a_service_releases_are_delivered_at_once() {
    model(|connection| {
        let background = spawn(&connection, |c| c.background(true, 1));
        connection.turns.lock().callbacks += 1;
        connection.turns.news();
        background.join().unwrap();
    });
    // To a thread that evokes while another one reads, too.
    model(|connection| {
        let evoking = |c: &Connection| assert!(c.pump(None, |state| state.callbacks > 0));
        let threads = [spawn(&connection, evoking), spawn(&connection, evoking)];
        connection.turns.lock().callbacks += 1;
        connection.turns.news();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn the_end_of_the_connection_wakes_everybody() {
    for by_peer in [false, true] {
        model(move |connection| {
            let asking = spawn(&connection, |c| assert!(!c.ask(0)));
            let background = spawn(&connection, |c| c.background(true, NEVER));
            if by_peer {
                connection.wire.close();
                assert!(!connection.ask(1));
            }
            connection.end();
            asking.join().unwrap();
            background.join().unwrap();
        });
    }
}

/// A sender that waits for room, while another thread reads that did not watch for any; and a third
/// may be faster to write what waits.
#[test]
fn room_on_the_link_wakes_whoever_waits_for_it() {
    // Four threads meet in too many orders.
    for (writes, has_background, preemptions) in
        [(false, false, 3), (true, false, 3), (false, true, 1)]
    {
        model_up_to(preemptions, move |connection| {
            let reading = spawn(&connection, |c| assert!(c.ask(0)));
            let background =
                has_background.then(|| spawn(&connection, |c| c.background(false, NEVER)));
            let peer = spawn(&connection, move |c| {
                c.wire.make_room();
                if writes {
                    c.turns.lock().blocked = false;
                }
            });
            // As `Links::sent`.
            connection.turns.lock().blocked = true;
            connection.turns.give_way();
            let written = connection.pump(None, |state| {
                state.blocked &= !connection.wire.has_room();
                if state.blocked && !state.awaiting_room {
                    state.awaiting_room = true;
                    connection.turns.give_way();
                }
                !state.blocked
            });
            assert!(written);
            connection.wire.send(Message::Answer(0));
            reading.join().unwrap();
            connection.end();
            peer.join().unwrap();
            if let Some(thread) = background {
                thread.join().unwrap();
            }
        });
    }
}

#[test]
fn a_look_in_passing_leaves_nobody_waiting() {
    model(|connection| {
        let asking = spawn(&connection, |c| assert!(c.ask(0)));
        connection.wire.expire();
        let read = |side: &mut Side| connection.read_once(side, Sleeper::Reader, true);
        connection.turns.look(read);
        connection.wire.send(Message::Answer(0));
        asking.join().unwrap();
    });
}
