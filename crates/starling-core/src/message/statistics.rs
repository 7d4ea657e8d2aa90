//! What a joined federate measures of itself, for `starling stats`.

use crate::{FederateHandle, ProtocolError, Transportation};

/// What a joined federate measures of itself where `statistics.enabled` is on, since it joined or was restored
/// last, but for its calls: these count from its connection on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Data by class, where there was any.
    pub classes: Vec<ClassTraffic>,
    /// Data that was delivered, by the federate that sent it.
    pub senders: Vec<SenderTraffic>,
    /// Data by the way that it took from here, or came by.
    pub ways: Vec<WayTraffic>,
    /// Data by the federate that it was for, or came from, and that way.
    pub peers: Vec<PeerTraffic>,
    /// Services and callbacks that were called.
    pub calls: Vec<CallTimes>,
}

/// Messages and their bytes: of the values, each with its slot, and of the tag, as they travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Volume {
    /// One more message.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// Data of a class, by what it was sent as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassTraffic {
    /// The registered object class or sent interaction class.
    pub class: String,
    /// Whether it is an interaction class.
    pub is_interaction: bool,
    /// How it was to travel.
    pub transportation: Transportation,
    /// Passels and interactions sent, also those that nobody subscribes to.
    pub sent: Volume,
    /// Reflections and interactions delivered.
    pub received: Volume,
}

/// Data that was delivered of one sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderTraffic {
    /// Who sent it.
    pub sender: FederateHandle,
    /// How it travelled.
    pub transportation: Transportation,
    /// Reflections and interactions delivered.
    pub received: Volume,
}

/// Data that was sent, or came, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayTraffic {
    /// Which way, as a phrase.
    pub way: String,
    /// Messages put on it: one for all that it goes to, but on links or by datagrams of their own one for each.
    pub sent: Volume,
    /// Messages that came by it.
    pub received: Volume,
}

/// Data for one federate, and from it, by one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTraffic {
    /// Whom it was for, or who sent it.
    pub federate: FederateHandle,
    /// Which way, as a phrase.
    pub way: String,
    /// Messages for it.
    pub sent: Volume,
    /// Messages from it that came.
    pub received: Volume,
}

/// How long the calls of a service, or of a callback, took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTimes {
    /// The standard's name of it.
    pub name: String,
    /// Whether the RTI calls it.
    pub is_callback: bool,
    /// All calls together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many took less than 2^n ns, n being the place from 0 on, and not less than the place before;
    /// the last has all that took longer.
    pub buckets: Vec<u64>,
}

impl CallTimes {
    /// Calls.
    pub fn calls(&self) -> u64 {
        self.buckets
            .iter()
            .fold(0, |sum, n| u64::saturating_add(sum, *n))
    }

    /// The upper end of the bucket that the `share` (0 to 1) of the calls does not go beyond, ns.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = (self.calls() as f64 * share).ceil() as u64;
        let mut seen = 0u64;
        for (n, calls) in self.buckets.iter().enumerate() {
            seen = seen.saturating_add(*calls);
            if seen >= wanted.max(1) {
                return (1u64 << n.min(63)).min(self.longest_ns);
            }
        }
        self.longest_ns
    }
}

/// A joined federate in `starling stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederateStatistics {
    /// Its federation execution.
    pub federation: String,
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name.
    pub name: String,
    /// What it has told last; none: it measures nothing, or has not told yet.
    pub told: Option<Statistics>,
}

impl Statistics {
    /// What the executive keeps of one federate at most, by [`Statistics::bytes`].
    pub const BYTES_MAX: usize = 1 << 20;
    /// What it tells of all together at most.
    pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;
    /// About what a row takes besides its name and its buckets.
    pub(crate) const ROW_BYTES: usize = 48;

    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        let sent = self.classes.len() + self.ways.len() + self.peers.len();
        let rows = sent + self.senders.len() + self.calls.len();
        let classes = self.classes.iter().map(|c| c.class.len());
        let ways = self.ways.iter().map(|w| w.way.len());
        let peers = self.peers.iter().map(|p| p.way.len());
        let calls = self.calls.iter();
        let calls = calls.map(|c| c.name.len() + size_of::<u64>() * c.buckets.len());
        rows * Self::ROW_BYTES + classes.chain(ways).chain(peers).chain(calls).sum::<usize>()
    }

    /// Refuses what is more than any federate tells: it is kept.
    pub(crate) fn require_bounded(&self) -> Result<(), ProtocolError> {
        let (bytes, most) = (self.bytes(), Self::BYTES_MAX);
        if bytes > most {
            let why = format!("statistics take {bytes} bytes; {most} are allowed");
            return Err(ProtocolError(why));
        }
        Ok(())
    }
}
