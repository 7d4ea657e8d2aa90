//! The background thread of a connection: writes bundles when they are due, shows life, and reads
//! while no thread of the federate does.

use crate::delivery::Evocation;
use crate::links::Links;
use starling_net::Waiter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A federate that has not evoked for so long is busy elsewhere.
const ABSENT: Duration = Duration::from_millis(10);

pub(crate) struct Background {
    pub(crate) links: Arc<Links>,
    pub(crate) waiter: Waiter,
    pub(crate) stop: Arc<AtomicBool>,
    /// HLA_IMMEDIATE: the callbacks are delivered here.
    pub(crate) delivery: Option<Arc<Evocation>>,
}

impl Background {
    pub(crate) fn run(self) {
        // After a panic the connection is lost, which is still to be delivered. Once.
        for _ in 0..2 {
            if catch_unwind(AssertUnwindSafe(|| self.turns())).is_ok() {
                return;
            }
            let why = "an error inside the RTI's thread (a bug)";
            self.links.break_down(why);
        }
    }

    fn turns(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if let Some(delivery) = &self.delivery {
                delivery.all(&self.links);
                // What the callbacks sent need not wait for more.
                self.links.lock().flush();
            }
            let (lost, evoked, ready, full) = {
                let state = self.links.lock();
                let lost = state.lrc.lost().is_some();
                (
                    lost,
                    state.evoked,
                    state.lrc.has_callbacks(),
                    state.is_full(),
                )
            };
            if ready && self.delivery.is_some() {
                continue;
            }
            let now = Instant::now();
            let absent = now.duration_since(evoked) >= ABSENT;
            let read = !lost && !full && (self.delivery.is_some() || absent);
            let until = match () {
                () if read || lost => now + Duration::from_secs(3600),
                () if absent => now + ABSENT,
                () => evoked + ABSENT,
            };
            self.links.background_turn(&self.waiter, read, until);
        }
    }
}
