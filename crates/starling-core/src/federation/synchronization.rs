//! Synchronization points, 1516.1-2010 §4.11 to §4.15.
//!
//! A point is for a set of joined federates, or for all: then also for those who join before it
//! is achieved. It is achieved when each of them has said so or has resigned; who resigned is
//! neither told nor counted. Its label is free again from then on.

use super::under_way::Joint;
use crate::callback::Callback;
use crate::exception::{require_name, throw};
use crate::execution::Execution;
use crate::kept::ENTRY_BYTES;
use crate::message::Cause;
use crate::message::federation::{Entry, Request};
use crate::saved::federation::SynchronizationPoint;
use crate::{Exception, Federate, FederateHandle, ProtocolError};
use std::collections::BTreeMap;

/// Why a synchronization point was not registered (C++ numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SynchronizationPointFailure {
    LabelNotUnique = 0,
    SetMemberNotJoined = 1,
}

/// About what is kept of a synchronization point for each federate that it is for, in bytes.
const MEMBER_BYTES: usize = 16;

/// About what is kept of a synchronization point, in bytes; not whether it is achieved, and so the same
/// as long as it is for the same federates.
pub(super) fn point_bytes(label: &str, point: &SynchronizationPoint) -> usize {
    let members = point.waiting.len() + point.achieved.len();
    2 * ENTRY_BYTES + label.len() + point.tag.len() + members * MEMBER_BYTES
}

impl Execution {
    /// Register Federation Synchronization Point, §4.11. An empty set is all federates.
    pub(crate) fn register_synchronization_point(
        &mut self,
        cause: Cause,
        label: String,
        tag: Vec<u8>,
        set: Vec<FederateHandle>,
    ) -> Result<(), ProtocolError> {
        let failure = match () {
            () if self.federation.synchronization_points.contains_key(&label) => {
                Some(SynchronizationPointFailure::LabelNotUnique)
            }
            () if set.iter().any(|f| !self.federation.is_member(*f)) => {
                Some(SynchronizationPointFailure::SetMemberNotJoined)
            }
            () => None,
        };
        let for_all = set.is_empty();
        let set = if for_all { self.log.members() } else { set };
        let point = SynchronizationPoint {
            registrar: cause.sender,
            tag: tag.clone(),
            for_all,
            waiting: set.into_iter().collect(),
            achieved: BTreeMap::new(),
        };
        let bytes = point_bytes(&label, &point);
        let kept = self.federation.points.of(cause.sender);
        self.require_room(cause.sender, "synchronization points", kept, bytes)?;
        let registered = Entry::SynchronizationPointRegistered {
            label: label.clone(),
            failure,
        };
        self.log.tell(cause, &[cause.sender], registered);
        if failure.is_some() {
            return Ok(());
        }
        self.federation.points.add(cause.sender, bytes);
        let what = Joint::Point(label.clone());
        self.federation.begun.begin(what, self.mom.now);
        let audience: Vec<_> = point.waiting.iter().copied().collect();
        self.federation
            .synchronization_points
            .insert(label.clone(), point);
        let announce = Entry::SynchronizationPointAnnounced { label, tag };
        self.log.tell(cause, &audience, announce);
        Ok(())
    }

    /// RTIinternalError for whoever would join, if more would then be kept of points for all than one may make.
    pub(crate) fn require_room_in_points(&self) -> Result<(), Exception> {
        let mut more: BTreeMap<_, usize> = BTreeMap::new();
        let points = self.federation.synchronization_points.values();
        for point in points.filter(|p| p.for_all) {
            let there = self.federation.is_member(point.registrar);
            let registrar = there.then_some(point.registrar);
            *more.entry(registrar).or_default() += MEMBER_BYTES;
        }
        for (registrar, more) in more {
            let points = &self.federation.points;
            let kept = registrar.map_or(points.left(), |registrar| points.of(registrar));
            if kept + more > self.kept_bytes_max {
                let who = registrar.and_then(|r| self.federation.federate_name(r));
                let who = who.map_or("federates that have resigned".into(), |n| format!("'{n}'"));
                throw!(
                    RTIinternalError,
                    "with one federate more, what is kept of the synchronization points for all that {who} \
                     registered would be {} bytes, and limits.kept_bytes of rtiexec allows {}: nobody joins \
                     before some of them are achieved",
                    kept + more,
                    self.kept_bytes_max
                );
            }
        }
        Ok(())
    }

    /// Announces to a federate that has just joined what all are to achieve.
    pub(crate) fn announce_to_joiner(&mut self, joiner: FederateHandle) {
        let federation = &mut self.federation;
        let all = federation.synchronization_points.iter_mut();
        let mut announced = Vec::new();
        for (label, point) in all.filter(|(_, p)| p.for_all) {
            point.waiting.insert(joiner);
            if federation.members.contains_key(&point.registrar) {
                federation.points.add(point.registrar, MEMBER_BYTES);
            } else {
                federation.points.add_left(MEMBER_BYTES);
            }
            announced.push((label.clone(), point.tag.clone()));
        }
        for (label, tag) in announced {
            self.log.advance();
            let announce = Entry::SynchronizationPointAnnounced { label, tag };
            self.log.tell(None, &[joiner], announce);
        }
    }

    /// Synchronization Point Achieved, §4.14.
    pub(crate) fn achieve_synchronization_point(
        &mut self,
        cause: Cause,
        label: &str,
        successfully: bool,
    ) {
        if let Some(point) = self.federation.synchronization_points.get_mut(label)
            && point.waiting.remove(&cause.sender)
        {
            point.achieved.insert(cause.sender, successfully);
            self.complete_synchronization_point(cause, label);
        }
    }

    /// A federate has resigned: nobody waits for it.
    pub(crate) fn synchronize_without(&mut self, gone: FederateHandle) {
        self.federation.points.leave(gone);
        let labels: Vec<_> = self
            .federation
            .synchronization_points
            .keys()
            .cloned()
            .collect();
        for label in labels {
            if let Some(point) = self.federation.synchronization_points.get_mut(&label) {
                if point.waiting.remove(&gone) || point.achieved.remove(&gone).is_some() {
                    self.federation.points.take(point.registrar, MEMBER_BYTES);
                }
                self.complete_synchronization_point(None, &label);
            }
        }
    }

    fn complete_synchronization_point(&mut self, cause: impl Into<Option<Cause>>, label: &str) {
        let Some(point) = self.federation.synchronization_points.get(label) else {
            return;
        };
        if !point.waiting.is_empty() {
            return;
        }
        let audience: Vec<_> = point.achieved.keys().copied().collect();
        let failed = point.achieved.iter().filter(|(_, ok)| !**ok);
        let failed = failed.map(|(f, _)| *f).collect();
        if let Some(gone) = self.federation.synchronization_points.remove(label) {
            let bytes = point_bytes(label, &gone);
            self.federation.points.take(gone.registrar, bytes);
            self.federation.begun.end_point(label);
        }
        let label = label.to_owned();
        let synchronized = Entry::FederationSynchronized { label, failed };
        self.log.tell(cause, &audience, synchronized);
    }
}

impl Federate {
    /// Register Federation Synchronization Point, §4.11. An empty set is all federates, also
    /// those who join until it is achieved.
    pub fn register_federation_synchronization_point(
        &mut self,
        label: &str,
        tag: &[u8],
        set: &[FederateHandle],
    ) -> Result<(), Exception> {
        require_name("a synchronization point", label)?;
        if set.iter().any(|f| !f.is_valid()) {
            throw!(
                InvalidFederateHandle,
                "the synchronization set has a handle that is no federate's"
            );
        }
        self.log.request(Request::RegisterSynchronizationPoint {
            label: label.to_owned(),
            tag: tag.to_vec(),
            set: set.to_vec(),
        });
        Ok(())
    }

    /// Synchronization Point Achieved, §4.14.
    pub fn synchronization_point_achieved(
        &mut self,
        label: &str,
        successfully: bool,
    ) -> Result<(), Exception> {
        if !self.federation.announced.remove(label) {
            throw!(
                SynchronizationPointLabelNotAnnounced,
                "synchronization point '{label}' is not announced to this federate, or achieved by it already"
            );
        }
        let label = label.to_owned();
        self.log.request(Request::AchieveSynchronizationPoint {
            label,
            successfully,
        });
        Ok(())
    }

    /// A callback of this chapter is delivered.
    pub(crate) fn deliver_federation(&mut self, callback: Callback) -> Callback {
        if let Callback::AnnounceSynchronizationPoint { label, .. } = &callback {
            self.federation.announced.insert(label.clone());
        }
        callback
    }
}
