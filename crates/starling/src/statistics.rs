//! What a federate measures of itself where `statistics.enabled` is on, for `starling stats`: how long services
//! and callbacks take, and by which ways its data goes and comes, for and from whom. What data that is, the core counts.

use parking_lot::Mutex;
use starling_core::message::Statistics;
use starling_core::message::statistics::{CallTimes, PeerTraffic, Volume, WayTraffic};
use starling_core::{FederateHandle, Service};
use starling_wire::{data_kind, read_data, split_frame};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

/// Longer than any call that ends: 2^39 ns are nine minutes.
const BUCKETS: usize = 40;

/// How long calls have taken. Of whatever thread; each locks it for a moment, when its call has ended.
#[derive(Default)]
pub(crate) struct Calls(Mutex<BTreeMap<(bool, &'static str), Times>>);

#[derive(Clone, Copy)]
struct Times {
    total_ns: u64,
    longest_ns: u64,
    buckets: [u64; BUCKETS],
}

/// A call that has begun, if calls are measured.
#[must_use]
pub(crate) struct Begun(Option<Instant>);

impl Calls {
    /// A call begins.
    #[inline(always)]
    pub(crate) fn begin(calls: Option<&Self>) -> Begun {
        Begun(calls.map(|_| Instant::now()))
    }

    fn add(&self, is_callback: bool, name: &'static str, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mut calls = self.0.lock();
        let times = calls.entry((is_callback, name)).or_insert(Times {
            total_ns: 0,
            longest_ns: 0,
            buckets: [0; BUCKETS],
        });
        times.total_ns = times.total_ns.saturating_add(ns);
        times.longest_ns = times.longest_ns.max(ns);
        times.buckets[bucket(ns)] += 1;
    }

    /// As it is told: up to the last bucket that has any.
    fn told(&self) -> Vec<CallTimes> {
        let calls = self.0.lock();
        let all = calls.iter().map(|((is_callback, name), times)| {
            let used = times.buckets.iter().rposition(|n| *n > 0);
            CallTimes {
                name: (*name).to_owned(),
                is_callback: *is_callback,
                total_ns: times.total_ns,
                longest_ns: times.longest_ns,
                buckets: times.buckets[..used.map_or(0, |last| last + 1)].to_vec(),
            }
        });
        all.collect()
    }
}

/// The first power of two above it.
fn bucket(ns: u64) -> usize {
    ((u64::BITS - ns.leading_zeros()) as usize).min(BUCKETS - 1)
}

impl Begun {
    /// The service has returned, or thrown; the calls are those that it began with.
    #[inline(always)]
    pub(crate) fn end(self, calls: Option<&Calls>, service: Service) {
        if let (Some(calls), Some(since)) = (calls, self.0) {
            calls.add(false, service.name(), since.elapsed());
        }
    }

    /// The same of a callback.
    #[inline(always)]
    pub(crate) fn end_of_callback(self, calls: Option<&Calls>, callback: &'static str) {
        if let (Some(calls), Some(since)) = (calls, self.0) {
            calls.add(true, callback, since.elapsed());
        }
    }
}

/// How data travels, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Stream,
    Datagrams,
    SharedMemory,
    Link,
    Unicast,
    Multicast,
    Forwarder,
}

impl Way {
    const ALL: [Way; 7] = [
        Way::Stream,
        Way::Datagrams,
        Way::SharedMemory,
        Way::Link,
        Way::Unicast,
        Way::Multicast,
        Way::Forwarder,
    ];

    fn name(self) -> String {
        let name = match self {
            Way::Stream => "rtiexec",
            Way::Datagrams => "rtiexec by datagrams",
            Way::SharedMemory => "shared memory",
            Way::Link => "direct tcp",
            Way::Unicast => "unicast",
            Way::Multicast => "multicast",
            Way::Forwarder => "forwarder",
        };
        name.to_owned()
    }
}

/// By which ways data has gone and come since the federate joined or was restored, and for and from whom: whole frames.
#[derive(Default)]
pub(crate) struct Ways {
    /// Sent and received, by way.
    all: [[Volume; 2]; Way::ALL.len()],
    peers: BTreeMap<(FederateHandle, Way), [Volume; 2]>,
}

/// So many peers and ways are told apart, those that come first: who sends may name any federate.
const PEERS_MAX: usize = Statistics::BYTES_MAX / 1024;

impl Ways {
    /// A message of these bytes goes this way, once for all of these.
    pub(crate) fn sent(&mut self, way: Way, to: &[FederateHandle], bytes: usize) {
        self.all[way as usize][0].add(bytes);
        for federate in to {
            if let Some(peer) = self.peer(*federate, way) {
                peer[0].add(bytes);
            }
        }
    }

    fn peer(&mut self, federate: FederateHandle, way: Way) -> Option<&mut [Volume; 2]> {
        let has_room = self.peers.len() < PEERS_MAX;
        match self.peers.entry((federate, way)) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) => has_room.then(|| new.insert(Default::default())),
        }
    }

    /// Whole frames have come this way, of which some may be no data.
    #[cold]
    pub(crate) fn came(&mut self, way: Way, mut frames: &[u8]) {
        while let Ok(Some((frame, size))) = split_frame(frames) {
            frames = &frames[size..];
            if data_kind(frame).is_some()
                && let Some(Ok(data)) = read_data(frame)
            {
                self.all[way as usize][1].add(size);
                if let Some(peer) = self.peer(data.sender, way) {
                    peer[1].add(size);
                }
            }
        }
    }

    fn told(&self) -> (Vec<WayTraffic>, Vec<PeerTraffic>) {
        let all = Way::ALL.into_iter().map(|way| {
            let [sent, received] = self.all[way as usize];
            WayTraffic {
                way: way.name(),
                sent,
                received,
            }
        });
        let used = all.filter(|of| of.sent.messages + of.received.messages > 0);
        let peers = self
            .peers
            .iter()
            .map(|((federate, way), both)| PeerTraffic {
                federate: *federate,
                way: way.name(),
                sent: both[0],
                received: both[1],
            });
        (used.collect(), peers.collect())
    }
}

/// Adds what is measured here to what the core has counted.
pub(crate) fn complete(mut traffic: Statistics, ways: Option<&Ways>, calls: &Calls) -> Statistics {
    (traffic.ways, traffic.peers) = ways.map(Ways::told).unwrap_or_default();
    traffic.calls = calls.told();
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_in_the_bucket_that_its_time_says() {
        let calls = Calls::default();
        for ns in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            calls.add(false, "updateAttributeValues", Duration::from_nanos(ns));
        }
        calls.add(true, "reflectAttributeValues", Duration::from_nanos(7));
        let told = calls.told();
        assert_eq!(told.len(), 2);
        let (service, callback) = (&told[0], &told[1]);
        let mut expected = vec![0; BUCKETS];
        // Less than 1, 2, 4, 8, 1024 and 2048 ns, and longer than all.
        for (bucket, n) in [(0, 1), (1, 1), (2, 2), (3, 1), (10, 1), (11, 1), (39, 1)] {
            expected[bucket] = n;
        }
        assert_eq!(service.buckets, expected);
        assert_eq!((service.calls(), service.longest_ns), (8, u64::MAX));
        assert_eq!(service.quantile_ns(0.5), 4);
        assert_eq!(callback.buckets, [0, 0, 0, 1]);
        assert!(callback.is_callback && callback.quantile_ns(0.99) == 7);
    }

    #[test]
    fn calls_that_are_not_measured_take_no_time() {
        let begun = Calls::begin(None);
        assert!(begun.0.is_none());
    }

    #[test]
    fn whoever_is_named_few_are_told_apart_and_all_are_counted() {
        let mut ways = Ways::default();
        for federate in 0..2 * PEERS_MAX as u32 {
            ways.sent(Way::Link, &[FederateHandle(federate)], 100);
        }
        ways.sent(Way::Link, &[FederateHandle(0)], 100);
        let (all, peers) = ways.told();
        assert_eq!(all[0].sent.messages, 2 * PEERS_MAX as u64 + 1);
        assert_eq!((peers.len(), peers[0].sent.messages), (PEERS_MAX, 2));
    }
}
