//! Who was removed is told why.
//!
//! Its socket may be full, and a process that goes on after it was stopped writes before it reads: if
//! the connection were gone by then, the system would drop what it has not read, with the reason. So
//! nothing is read from it any more, and the connection stays until the reason has been written and
//! the peer has closed its side. That is bounded in time, number and bytes.

use crate::connection::Connection;
use crate::server::Server;
use std::time::{Duration, Instant};

/// How long it may take. A process that is stopped for longer learns only that it was cut off.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Most connections that leave at a time.
const LEAVING_MAX: usize = 256;
/// Most bytes that wait for all of them. For one it is the rest of one message, and the reason.
const BYTES_MAX: usize = 64 << 20;

/// A connection that has ended but for the reason.
pub(crate) struct Leaving {
    n: usize,
    connection: Box<Connection>,
    until: Instant,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.connection.end();
    }
}

impl Server {
    /// Ends a connection when its peer has been told why.
    pub(crate) fn let_leave(&mut self, n: usize, connection: Box<Connection>) {
        if connection.is_part {
            // Its forwarder tells it.
            return;
        }
        let now = Instant::now();
        let told = connection.writer.pending() == 0;
        // A stranger has nothing to lose that would have to be explained.
        let wants_it = connection.member.is_some() || !told;
        let until = now + TIME_MAX;
        let leaving = Leaving {
            n,
            connection,
            until,
        };
        if leaving.connection.info.is_none() || leaving.connection.closing || !wants_it {
            return;
        }
        self.leaving.push_back(leaving);
        let waiting = |s: &Self| -> usize {
            let all = s.leaving.iter();
            all.map(|l| l.connection.writer.pending()).sum()
        };
        while self.leaving.len() > LEAVING_MAX || waiting(self) > BYTES_MAX {
            self.leaving.pop_front();
        }
        if let Some(last) = self.leaving.back().map(|l| l.n) {
            self.go_on_leaving(last, now);
        }
    }

    /// Something has happened to a connection that is not among the others any more.
    pub(crate) fn note_leaving(&mut self, n: usize, event: &mio::event::Event, now: Instant) {
        if event.is_read_closed() || event.is_error() {
            self.leaving.retain(|l| l.n != n);
        } else {
            self.go_on_leaving(n, now);
        }
    }

    /// Writes what there is room for.
    fn go_on_leaving(&mut self, n: usize, now: Instant) {
        let Some(leaving) = self.leaving.iter_mut().find(|l| l.n == n) else {
            return;
        };
        let connection = &mut leaving.connection;
        connection.flush(now);
        if connection.write_failed.is_some() {
            self.leaving.retain(|l| l.n != n);
        } else if connection.writer.pending() == 0 {
            connection.writer.stream().end_sending();
        }
    }

    /// Ends those that have had their time.
    pub(crate) fn tick_leaving(&mut self, now: Instant) {
        while self.leaving.front().is_some_and(|l| l.until <= now) {
            self.leaving.pop_front();
        }
    }

    /// Ends all of them, because others need what they take; whether there were any.
    pub(crate) fn end_leaving(&mut self) -> bool {
        let any = !self.leaving.is_empty();
        self.leaving.clear();
        any
    }
}
