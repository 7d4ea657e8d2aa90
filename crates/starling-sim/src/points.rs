//! Synchronization points: what each federate must be told, in order, by a model that follows the
//! requests in the order in which the executive takes them.

use starling_core::message::{RequestBody, federation};
use starling_core::{Callback, FederateHandle, SynchronizationPointFailure};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

struct Point {
    for_all: bool,
    waiting: BTreeSet<FederateHandle>,
    achieved: BTreeMap<FederateHandle, bool>,
}

#[derive(Default)]
pub(crate) struct Points {
    members: BTreeSet<FederateHandle>,
    open: BTreeMap<String, Point>,
    expected: BTreeMap<FederateHandle, VecDeque<Callback>>,
    /// Announced to a federate and not yet achieved by it.
    announced: BTreeSet<(FederateHandle, String)>,
}

impl Points {
    /// The executive has taken a federate in.
    pub(crate) fn joined(&mut self, handle: FederateHandle) {
        self.members.insert(handle);
        let for_all = self.open.iter_mut().filter(|(_, p)| p.for_all);
        let labels: Vec<_> = for_all
            .map(|(label, p)| {
                p.waiting.insert(handle);
                label.clone()
            })
            .collect();
        for label in labels {
            self.expect_announcement(handle, label);
        }
    }

    /// The executive has let a federate go.
    pub(crate) fn left(&mut self, handle: FederateHandle) {
        self.members.remove(&handle);
        self.expected.remove(&handle);
        let labels: Vec<_> = self.open.keys().cloned().collect();
        for label in labels {
            let point = self.open.get_mut(&label).expect("it was just listed");
            point.waiting.remove(&handle);
            point.achieved.remove(&handle);
            self.complete(label);
        }
    }

    /// The executive takes a request.
    pub(crate) fn ordered(&mut self, origin: FederateHandle, request: &RequestBody) {
        match request {
            RequestBody::Federation(federation::Request::RegisterSynchronizationPoint {
                label,
                set,
                ..
            }) => {
                let stranger = set.iter().any(|f| !self.members.contains(f));
                let failure = if self.open.contains_key(label) {
                    Some(SynchronizationPointFailure::LabelNotUnique)
                } else {
                    stranger.then_some(SynchronizationPointFailure::SetMemberNotJoined)
                };
                let registered = Callback::SynchronizationPointRegistered {
                    label: label.clone(),
                    failure,
                };
                self.expect(origin, registered);
                if failure.is_some() {
                    return;
                }
                let for_all = set.is_empty();
                let waiting: BTreeSet<_> = if for_all {
                    self.members.clone()
                } else {
                    set.iter().copied().collect()
                };
                for federate in &waiting {
                    self.expect_announcement(*federate, label.clone());
                }
                let point = Point {
                    for_all,
                    waiting,
                    achieved: BTreeMap::new(),
                };
                self.open.insert(label.clone(), point);
            }
            RequestBody::Federation(federation::Request::AchieveSynchronizationPoint {
                label,
                successfully,
            }) => {
                let point = self.open.get_mut(label);
                let point = point.expect("only what was announced is achieved");
                assert!(point.waiting.remove(&origin), "{origin} achieves it twice");
                point.achieved.insert(origin, *successfully);
                self.complete(label.clone());
            }
            _ => {}
        }
    }

    fn complete(&mut self, label: String) {
        if !self.open[&label].waiting.is_empty() {
            return;
        }
        let point = self.open.remove(&label).expect("it was just seen");
        let failed = point.achieved.iter().filter(|(_, ok)| !**ok);
        let failed: Vec<_> = failed.map(|(f, _)| *f).collect();
        for federate in point.achieved.keys() {
            let synchronized = Callback::FederationSynchronized {
                label: label.clone(),
                failed: failed.clone(),
            };
            self.expect(*federate, synchronized);
        }
    }

    fn expect_announcement(&mut self, federate: FederateHandle, label: String) {
        let tag = label.as_bytes().to_vec();
        let announce = Callback::AnnounceSynchronizationPoint { label, tag };
        self.expect(federate, announce);
    }

    fn expect(&mut self, federate: FederateHandle, callback: Callback) {
        self.expected
            .entry(federate)
            .or_default()
            .push_back(callback);
    }

    /// A callback is delivered; others than those of points are none of its business.
    pub(crate) fn callback(&mut self, at: FederateHandle, callback: &Callback) {
        match callback {
            Callback::AnnounceSynchronizationPoint { label, .. } => {
                self.announced.insert((at, label.clone()));
            }
            Callback::SynchronizationPointRegistered { .. }
            | Callback::FederationSynchronized { .. } => {}
            _ => return,
        }
        let expected = self.expected.get_mut(&at).and_then(VecDeque::pop_front);
        assert_eq!(Some(callback), expected.as_ref(), "at {at}");
    }

    /// A label that a federate may achieve now, taken.
    pub(crate) fn take_announced(&mut self, federate: FederateHandle) -> Option<String> {
        let mut of_it = self.announced.iter().filter(|(f, _)| *f == federate);
        let found = of_it.next().cloned()?;
        self.announced.remove(&found);
        Some(found.1)
    }

    /// Everything has arrived.
    pub(crate) fn at_rest(&self, federate: FederateHandle) {
        let missing = self.expected.get(&federate).map_or(0, VecDeque::len);
        assert_eq!(missing, 0, "{federate} was not told: {:?}", self.expected);
    }
}
