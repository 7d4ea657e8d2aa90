//! Federation management as a save has it.

use super::members::{Federation, Member, Membership};
use super::synchronization::point_bytes;
use crate::kept::Kept;
use crate::message::federation::Entry;
use crate::message::{Doing, PeerInfo};
use crate::saved::federation as saved;
use crate::{Counters, Federate, FederateHandle, ProtocolError};
use std::collections::BTreeMap;
use std::time::Duration;

impl Federation {
    pub(crate) fn save(&self) -> saved::Execution {
        debug_assert_eq!(
            self.points,
            self.count_points(),
            "what is kept of synchronization points is counted"
        );
        let members = self.members.iter().map(|(handle, m)| {
            let member = saved::Member {
                name: m.name.clone(),
                kind: m.kind.clone(),
                resign_directive: m.resign_directive,
            };
            (*handle, member)
        });
        saved::Execution {
            name: self.name.clone(),
            modules: self.modules.clone(),
            members: members.collect(),
            last_federate: self.last_federate,
            synchronization_points: self.synchronization_points.clone(),
        }
    }

    /// Name and modules stay, since they are the same; `processes` are those of the members from now
    /// on.
    pub(crate) fn restore(
        &mut self,
        saved: saved::Execution,
        mut processes: BTreeMap<FederateHandle, PeerInfo>,
        now: Duration,
    ) {
        let members = saved.members.into_iter().map(|(handle, m)| {
            let member = Member {
                info: processes.remove(&handle).unwrap_or_default(),
                name: m.name,
                kind: m.kind,
                resign_directive: m.resign_directive,
                counters: Counters::default(),
                withheld_bytes_max: 0,
                doing: Doing::default(),
                measured: None,
            };
            (handle, member)
        });
        self.members = members.collect();
        self.last_federate = saved.last_federate;
        self.synchronization_points = saved.synchronization_points;
        self.points = self.count_points();
        self.begun.restore(self.synchronization_points.keys(), now);
    }
}

impl Federation {
    /// What `points` is.
    fn count_points(&self) -> Kept {
        let mut kept = Kept::default();
        for (label, point) in &self.synchronization_points {
            if self.members.contains_key(&point.registrar) {
                kept.add(point.registrar, point_bytes(label, point));
            } else {
                kept.add_left(point_bytes(label, point));
            }
        }
        kept
    }
}

impl Membership {
    /// Of the federate with this handle.
    pub(crate) fn save(&self, me: FederateHandle) -> saved::Federate {
        saved::Federate {
            handle: me,
            name: self.name.clone(),
            federation: self.federation.clone(),
            members: self.members.values().cloned().collect(),
            announced: self.announced.clone(),
            resign_directive: self.resign_directive,
            resigned: self.resigned,
        }
    }

    pub(crate) fn restore(&mut self, saved: saved::Federate) {
        self.name = saved.name;
        self.federation = saved.federation;
        self.members = saved.members.into_iter().map(|f| (f.handle, f)).collect();
        self.announced = saved.announced;
        self.resign_directive = saved.resign_directive;
        self.resigned = saved.resigned;
    }
}

impl Federate {
    /// Puts what waited back behind all that waits. An error if it is nothing that waits.
    pub(crate) fn put_back_federation(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        match entry {
            Entry::SynchronizationPointRegistered { .. }
            | Entry::SynchronizationPointAnnounced { .. }
            | Entry::FederationSynchronized { .. } => self.apply_federation(entry),
            Entry::FederateJoined { .. } | Entry::FederateResigned { .. } | Entry::Save(_) => {
                Err(ProtocolError("what is no callback was saved as one".into()))
            }
        }
    }
}
