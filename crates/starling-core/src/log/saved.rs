//! The log as a save has it.

use super::executive::{Log, Stream};
use super::federate::Replica;
use super::order::{Ordering, Sender};
use super::waiting::Waiting;
use crate::DataPath;
use crate::saved::log as saved;
use crate::{FederateHandle, PeerId};
use std::collections::BTreeMap;

impl Log {
    /// What is on its way out is not saved: it must have been taken.
    pub(crate) fn save(&self) -> saved::Execution {
        let streams = self.streams.iter().map(|(handle, s)| {
            let stream = saved::Stream {
                requests: s.requests,
                last_request_at: s.last_request_at,
                told: s.told,
            };
            (*handle, stream)
        });
        saved::Execution {
            index: self.index,
            settled: self.settled,
            epoch: self.epoch,
            streams: streams.collect(),
        }
    }

    /// With the connections of its members from now on.
    pub(crate) fn restore(
        saved: saved::Execution,
        peers: &BTreeMap<FederateHandle, PeerId>,
    ) -> Self {
        let streams = saved.streams.into_iter();
        let streams: BTreeMap<_, _> = streams
            .filter_map(|(handle, s)| {
                let stream = Stream {
                    peer: *peers.get(&handle)?,
                    requests: s.requests,
                    last_request_at: s.last_request_at,
                    told: s.told,
                };
                Some((handle, stream))
            })
            .collect();
        let made = streams.iter().filter(|(_, s)| s.requests.0 > 0);
        let mut log = Log::default();
        log.latest = made.map(|(h, s)| (s.last_request_at, *h)).collect();
        log.index = saved.index;
        log.settled = saved.settled;
        log.epoch = saved.epoch;
        log.streams = streams;
        log
    }
}

impl Replica {
    /// What is on its way out is not saved: it must have been taken.
    pub(crate) fn save(&self) -> saved::Federate {
        let order = &self.order;
        let senders = order.senders.iter().map(|(handle, s)| {
            let sender = saved::Sender {
                requests: s.requests,
                fence: s.fence,
                ended: s.ended,
                held: s.held.iter().map(|(data, _)| data.clone()).collect(),
            };
            (*handle, sender)
        });
        saved::Federate {
            applied: order.applied,
            epoch: order.epoch,
            requests: self.requests,
            fenceable: self.fenceable.clone(),
            control: order.control.iter().cloned().collect(),
            senders: senders.collect(),
            latest: order.latest,
        }
    }

    /// Of the federate with this handle. How its data travels stays.
    pub(crate) fn restore(&mut self, me: FederateHandle, saved: saved::Federate) {
        self.me = me;
        self.requests = saved.requests;
        self.fenceable = saved.fenceable;
        self.split.forget();
        self.out.clear();
        let mut order = Ordering::new(me, saved.applied, []);
        order.epoch = saved.epoch;
        order.latest = saved.latest;
        order.control_bytes = saved.control.iter().map(saved::Control::bytes).sum();
        order.control = saved.control.into();
        for (handle, s) in saved.senders {
            if !s.held.is_empty() {
                order.holding.insert(handle);
            }
            let mut held = Waiting::default();
            for data in s.held {
                held.put((data, DataPath::Executive), order.applied);
            }
            let sender = Sender {
                requests: s.requests,
                fence: s.fence,
                ended: s.ended,
                held,
                ..Sender::default()
            };
            order.senders.insert(handle, sender);
        }
        self.order = order;
    }
}
