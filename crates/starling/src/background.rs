//! The background thread of a connection: writes bundles when they are due, shows life, and reads
//! while no thread of the federate does.

use crate::ambassador::{Delivery, deliver_all};
use crate::connection::Connection;
use starling_net::Waiter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A federate that has not evoked for so long is busy elsewhere.
const ABSENT: Duration = Duration::from_millis(10);

pub(crate) struct Background {
    pub(crate) connection: Arc<Connection>,
    pub(crate) waiter: Waiter,
    pub(crate) stop: Arc<AtomicBool>,
    /// HLA_IMMEDIATE: the callbacks are delivered here.
    pub(crate) delivery: Option<Arc<Delivery>>,
}

impl Background {
    pub(crate) fn run(self) {
        while !self.stop.load(Ordering::Acquire) {
            if let Some(delivery) = &self.delivery {
                deliver_all(&self.connection, delivery);
                // What the callbacks sent need not wait for more.
                self.connection.state.lock().flush();
            }
            let (lost, evoked, ready, full) = {
                let state = self.connection.state.lock();
                let lost = state.lost.is_some();
                (lost, state.evoked, state.has_callbacks(), state.is_full())
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
            self.connection.background_turn(&self.waiter, read, until);
        }
    }
}
