//! Best-effort data for which there was no room: nobody waits for it, and whom it was for is told how much it was.

use starling_net::LinkWriter;
use starling_wire::{LinkRequest, put_link_request};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What peers did not get, and were not told of.
pub(crate) struct Dropped {
    /// Messages, by their marks.
    messages: BTreeMap<u64, u64>,
    told: Instant,
}

impl Dropped {
    pub(crate) fn new() -> Self {
        Dropped {
            messages: BTreeMap::new(),
            told: Instant::now(),
        }
    }

    /// A peer does not get a message.
    pub(crate) fn add(&mut self, mark: u64) {
        *self.messages.entry(mark).or_default() += 1;
    }

    /// Tells each by way of rtiexec, if nobody was told for as long as this; whether something is to be written.
    pub(crate) fn tell(
        &mut self,
        (now, pause): (Instant, Duration),
        stream: &mut LinkWriter,
    ) -> bool {
        if self.messages.is_empty() || now < self.told + pause {
            return false;
        }
        self.told = now;
        for (to, messages) in std::mem::take(&mut self.messages) {
            put_link_request(stream.out(), &LinkRequest::Dropped { to, messages });
        }
        true
    }

    /// The same of all, now.
    pub(crate) fn tell_all(&mut self, stream: &mut LinkWriter) {
        self.tell((Instant::now(), Duration::ZERO), stream);
    }
}
