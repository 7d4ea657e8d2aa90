//! A connection's other end, and what a system's `poll` does.

use loom::sync::{Arc, Condvar, Mutex};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// To the service of the thread of this number.
    Answer(usize),
    Callback,
}

/// Where a thread sleeps: wakers of its own, which stay set until it has seen them.
#[derive(Clone, Copy)]
pub(crate) enum Sleeper {
    Background = 0,
    Reader = 1,
}

#[derive(Default)]
struct Ends {
    incoming: VecDeque<Message>,
    closed: bool,
    /// The other end takes what is written.
    room: bool,
    /// The deadlines that there are have passed.
    expired: bool,
    woken: [bool; 2],
}

/// What a thread sleeps for, besides being woken.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) deadline: bool,
}

/// What there was when it woke up.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) message: Option<Message>,
    pub(crate) closed: bool,
    pub(crate) room: bool,
}

pub(crate) struct Wire {
    ends: Mutex<Ends>,
    changed: Condvar,
}

impl Wire {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Wire {
            ends: Mutex::new(Ends::default()),
            changed: Condvar::new(),
        })
    }

    pub(crate) fn sleep(&self, who: Sleeper, interest: Interest) -> Found {
        let mut ends = self.ends.lock().unwrap();
        loop {
            let readable = !ends.incoming.is_empty() || ends.closed;
            let ready = (interest.read && readable)
                || (interest.write && (ends.room || ends.closed))
                || (interest.deadline && ends.expired);
            if std::mem::take(&mut ends.woken[who as usize]) || ready {
                break;
            }
            ends = self.changed.wait(ends).unwrap();
        }
        if !interest.read {
            let room = ends.room;
            return Found {
                room,
                ..Found::default()
            };
        }
        let message = ends.incoming.pop_front();
        Found {
            message,
            closed: ends.closed && message.is_none(),
            room: ends.room,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.ends.lock().unwrap().room
    }

    pub(crate) fn wake(&self, who: Sleeper) {
        self.change(|ends| ends.woken[who as usize] = true);
    }

    pub(crate) fn send(&self, message: Message) {
        self.change(|ends| ends.incoming.push_back(message));
    }

    pub(crate) fn close(&self) {
        self.change(|ends| ends.closed = true);
    }

    pub(crate) fn make_room(&self) {
        self.change(|ends| ends.room = true);
    }

    pub(crate) fn expire(&self) {
        self.change(|ends| ends.expired = true);
    }

    fn change(&self, change: impl FnOnce(&mut Ends)) {
        change(&mut self.ends.lock().unwrap());
        self.changed.notify_all();
    }
}
