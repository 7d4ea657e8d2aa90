//! FOM modules are read and merged beside the loop, so that no federation execution waits for
//! another's modules.
//!
//! Invariants: a peer has one message in work at most, and nothing more is read from it meanwhile;
//! what has been merged is handed to the executive by the loop, in the order in which it was done.

use crate::server::{Ending, Server};
use starling_core::message::ToExecutive;
use starling_core::{MergedModules, ModuleMerge};
use starling_net::be_nice;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tracing::warn;

/// Threads that merge: one peer's large modules do not keep all others from creating and joining.
const THREADS: usize = 2;

/// A message that waits for its modules.
struct Job {
    from: usize,
    message: ToExecutive,
    merge: ModuleMerge,
}

/// A message whose modules are merged; without them if that has panicked.
struct Done {
    from: usize,
    message: ToExecutive,
    merged: Option<MergedModules>,
}

/// The threads, and the way to and from them. They end with it.
pub(crate) struct Workshop {
    jobs: Sender<Job>,
    done: Receiver<Done>,
    /// Messages that have not come back.
    in_work: usize,
}

impl Workshop {
    /// Starts the threads; `waker` ends the loop's wait when one has done something. Who holds `gate`
    /// holds up what has not begun.
    pub fn new(waker: &Arc<mio::Waker>, gate: &Arc<Mutex<()>>) -> io::Result<Self> {
        let (jobs, waiting) = channel::<Job>();
        let (report, done) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..THREADS {
            let (waiting, report, waker) = (waiting.clone(), report.clone(), waker.clone());
            let gate = gate.clone();
            let thread = std::thread::Builder::new().name("modules".into());
            thread.spawn(move || {
                // Who exchanges data goes first.
                be_nice();
                while let Some(job) = next(&waiting) {
                    drop(gate.lock());
                    let merge = AssertUnwindSafe(job.merge);
                    let done = Done {
                        from: job.from,
                        message: job.message,
                        merged: catch_unwind(move || { merge }.0.run()).ok(),
                    };
                    if report.send(done).is_err() || waker.wake().is_err() {
                        return;
                    }
                }
            })?;
        }
        Ok(Self {
            jobs,
            done,
            in_work: 0,
        })
    }

    /// Whether some message has not come back.
    pub fn is_busy(&self) -> bool {
        self.in_work > 0
    }
}

/// The next job; none when the server is gone.
fn next(waiting: &Mutex<Receiver<Job>>) -> Option<Job> {
    // Nothing panics while it is held.
    waiting.lock().ok()?.recv().ok()
}

impl Server {
    /// Hands the modules of a message to the threads. The message itself comes back if it has none.
    pub(crate) fn merge_elsewhere(
        &mut self,
        n: usize,
        mut message: ToExecutive,
    ) -> Option<ToExecutive> {
        let merge = self.executive.take_modules(&mut message);
        let Some(merge) = merge.filter(|m| !m.is_empty()) else {
            return Some(message);
        };
        let job = Job {
            from: n,
            message,
            merge,
        };
        match self.workshop.jobs.send(job) {
            Ok(()) => {
                self.workshop.in_work += 1;
                if let Some(connection) = self.connection(n) {
                    connection.in_work = true;
                }
                None
            }
            // The threads are gone: they end with the workshop only.
            Err(returned) => Some(returned.0.message),
        }
    }

    /// Handles the messages whose modules have been merged since.
    pub(crate) fn take_merged(&mut self, now: Instant) {
        while let Ok(mut done) = self.workshop.done.try_recv() {
            self.workshop.in_work -= 1;
            let n = done.from;
            // Nobody is left to be told: it is as if it had not asked.
            let Some(connection) = self.connection(n) else {
                continue;
            };
            connection.in_work = false;
            connection.heard = now;
            let handled = match done.merged {
                // Another federate has brought modules meanwhile.
                Some(merged) if self.executive.is_outdated(&done.message, &merged) => {
                    merged.give_back(&mut done.message);
                    self.control(n, done.message)
                }
                Some(merged) => {
                    for warning in merged.warnings() {
                        warn!("{warning}");
                    }
                    self.handle(n, done.message, Some(merged))
                }
                None => Err(Ending::Fault(
                    "an internal error of the RTI in reading its FOM modules".into(),
                )),
            };
            match handled {
                Ok(()) => self.queue(n),
                Err(Ending::Closed(why)) => self.closed(n, &why),
                Err(Ending::Fault(why)) => self.remove(n, &why),
            }
        }
    }
}
