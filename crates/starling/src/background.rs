//! The background thread of a connection: writes bundles when they are due, shows life, and reads
//! while no thread of the federate does.

use crate::delivery::Evocation;
use crate::links::Links;
use crate::state::{Rest, State};
use crate::turns::Task;
use starling_net::Waiter;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A federate that has not evoked for so long is busy elsewhere.
pub(crate) const ABSENT: Duration = Duration::from_millis(10);

/// Until it is woken.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

pub(crate) struct Background {
    pub(crate) links: Arc<Links>,
    pub(crate) waiter: Waiter,
    pub(crate) stop: Arc<AtomicBool>,
    /// HLA_IMMEDIATE: the callbacks are delivered here.
    pub(crate) delivery: Option<Arc<Evocation>>,
    /// How many callbacks the federate had taken when this thread last looked.
    pub(crate) delivered: Cell<u64>,
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
            let task = |state: &State| self.task(state);
            self.links.background_turn(&self.waiter, task);
        }
    }

    fn task(&self, state: &State) -> Task {
        if self.delivery.is_some() && state.has_callbacks() {
            return Task::Other;
        }
        let now = Instant::now();
        // One that is kept busy by callbacks is not: what is read for it meanwhile would only keep it longer.
        let taken = self.delivered.replace(state.delivered) != state.delivered;
        let busy = taken && state.lrc.has_callbacks();
        let absent = now.duration_since(state.evoked) >= ABSENT;
        let rests = self.delivery.is_none() && state.inside > 0;
        state
            .rest
            .set(if rests { Rest::Inside } else { Rest::None });
        if rests || state.lrc.lost().is_some() {
            return Task::Sleep(now + LONG);
        }
        match (absent, busy || state.is_full()) {
            (true, true) => Task::Sleep(now + ABSENT),
            (true, false) => Task::Read(now + LONG),
            (false, false) if self.delivery.is_some() => Task::Read(now + LONG),
            (false, _) => Task::Sleep(state.evoked + ABSENT),
        }
    }
}
