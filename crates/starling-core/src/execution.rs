//! One federation execution as the executive knows it: its log, members and instances.
//!
//! What each request does stands in the rooms (`federation/execution.rs` and so on).
//!
//! Invariants:
//! - every request of a member takes one log index, refused or not;
//! - a member's stream is complete: entries that do not concern it are covered by a watermark
//!   before anything later is put on it;
//! - no member is told two entries of one index, so that whoever has applied an index has applied
//!   all of it;
//! - `by_class` and `names` mirror `instances`.

use crate::ddm::execution::ExecutionRegions;
use crate::declaration::{Routes, Subscriptions};
use crate::federation::synchronization::SynchronizationPoint;
use crate::handles::HandleMap;
use crate::message::{
    Entry, EntryBody, FromExecutive, LogIndex, ModuleSource, PeerInfo, Request, RequestBody,
    RequestNumber, ResignAction, Watermark,
};
use crate::object::advisories::{InstanceSwitches, Told};
use crate::object::execution::{Instance, NameUse};
use crate::ownership::execution::Transfer;
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, PeerId, ProtocolError, Transportation,
};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};

/// A joined federate as the executive knows it.
pub(crate) struct Member {
    pub(crate) peer: PeerId,
    pub(crate) info: PeerInfo,
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Requests it has made.
    pub(crate) requests: RequestNumber,
    /// Log index of the last of them.
    pub(crate) last_request_at: LogIndex,
    /// Its stream tells the log up to here.
    pub(crate) told: LogIndex,
    pub(crate) resign_directive: ResignAction,
    pub(crate) switches: InstanceSwitches,
    /// Of interaction classes, where they are not the FDD's.
    pub(crate) transportations: BTreeMap<InteractionClassHandle, Transportation>,
    pub(crate) published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    pub(crate) published_interactions: BTreeSet<InteractionClassHandle>,
}

/// Who a log entry comes from.
#[derive(Clone)]
pub(crate) struct Cause {
    pub(crate) sender: FederateHandle,
    pub(crate) request: RequestNumber,
}

impl Cause {
    /// The RTI itself.
    pub(crate) fn rti() -> Self {
        Cause {
            sender: FederateHandle::RTI,
            request: RequestNumber::default(),
        }
    }
}

pub(crate) struct Execution {
    pub(crate) name: String,
    pub(crate) time_implementation: String,
    pub(crate) modules: Vec<ModuleSource>,
    pub(crate) model: ObjectModel,
    pub(crate) members: BTreeMap<FederateHandle, Member>,
    pub(crate) last_federate: u32,
    pub(crate) index: LogIndex,
    /// Every member has been told the log up to here.
    settled: LogIndex,
    pub(crate) subscriptions: Subscriptions<LogIndex>,
    pub(crate) routes: Routes,
    pub(crate) regions: ExecutionRegions,
    pub(crate) instances: BTreeMap<ObjectInstanceHandle, Instance>,
    pub(crate) by_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    pub(crate) names: BTreeMap<String, NameUse>,
    pub(crate) told: Told,
    /// Instance attributes whose owner may change, or that were offered.
    pub(crate) transfers: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Transfer>,
    pub(crate) synchronization_points: BTreeMap<String, SynchronizationPoint>,
    /// Data frames that have come, by class sent; only of classes in the FDD.
    pub(crate) interactions_sent: HandleMap<InteractionClassHandle, u64>,
    /// Deletions and updates by federates that do not own what it takes, dropped.
    pub(crate) refused: u64,
    pub(crate) receivers: Vec<FederateHandle>,
    out: Vec<(PeerId, FromExecutive)>,
    left: Vec<PeerId>,
}

impl Execution {
    pub(crate) fn new(
        name: String,
        time_implementation: String,
        modules: Vec<ModuleSource>,
        model: ObjectModel,
    ) -> Self {
        Execution {
            name,
            time_implementation,
            modules,
            model,
            members: BTreeMap::new(),
            last_federate: 0,
            index: LogIndex::default(),
            settled: LogIndex::default(),
            subscriptions: Subscriptions::default(),
            routes: Routes::default(),
            regions: ExecutionRegions::default(),
            instances: BTreeMap::new(),
            by_class: BTreeMap::new(),
            names: BTreeMap::new(),
            told: Told::default(),
            transfers: BTreeMap::new(),
            synchronization_points: BTreeMap::new(),
            interactions_sent: HandleMap::default(),
            refused: 0,
            receivers: Vec::new(),
            out: Vec::new(),
            left: Vec::new(),
        }
    }

    /// A member's request: takes a log index and goes to its room.
    pub(crate) fn request(
        &mut self,
        federate: FederateHandle,
        request: Request,
    ) -> Result<(), ProtocolError> {
        self.index = self.index.next();
        let index = self.index;
        let member = self.member_mut(federate)?;
        member.requests = member.requests.next();
        member.last_request_at = index;
        let cause = Cause {
            sender: federate,
            request: member.requests,
        };
        // First, so that all that the request brings about stands behind its fences.
        self.tell(&cause, &request.fenced, &EntryBody::Fenced);
        self.serve(&cause, request.body)?;
        self.advise(&cause);
        Ok(())
    }

    /// Takes a request to its room.
    fn serve(&mut self, cause: &Cause, body: RequestBody) -> Result<(), ProtocolError> {
        match body {
            RequestBody::PublishObjectClass { class, attributes } => {
                self.publish_object_class(cause, class, attributes)
            }
            RequestBody::PublishInteraction { class, published } => {
                self.publish_interaction(cause, class, published)
            }
            RequestBody::SubscribeObjectClass { class, attributes } => {
                self.subscribe_object_class(cause, class, attributes)
            }
            RequestBody::SubscribeInteraction {
                class,
                subscription,
            } => self.subscribe_interaction(cause, class, subscription),
            RequestBody::ReserveNames { names, multiple } => {
                self.reserve_names(cause, names, multiple);
                Ok(())
            }
            RequestBody::ReleaseNames { names } => {
                self.release_names(cause, &names);
                Ok(())
            }
            RequestBody::RegisterObject {
                instance,
                class,
                name,
            } => self.register_object(cause, instance, class, name, &[]),
            RequestBody::DeleteObject { instance, tag } => {
                self.delete_object(cause, instance, tag);
                Ok(())
            }
            RequestBody::LocalDeleteObject { instance } => {
                self.local_delete_object(cause, instance);
                Ok(())
            }
            RequestBody::RequestInstanceUpdate {
                instance,
                attributes,
                tag,
            } => {
                self.request_instance_update(cause, instance, &attributes, tag);
                Ok(())
            }
            RequestBody::RequestClassUpdate {
                class,
                attributes,
                tag,
            } => {
                self.request_class_update(cause, class, &attributes, tag);
                Ok(())
            }
            RequestBody::SetResignDirective(directive) => {
                self.member_mut(cause.sender)?.resign_directive = directive;
                Ok(())
            }
            RequestBody::ChangeAttributeTransportation {
                instance,
                attributes,
                transportation,
            } => {
                self.change_attribute_transportation(cause, instance, attributes, transportation);
                Ok(())
            }
            RequestBody::QueryAttributeTransportation {
                instance,
                attribute,
            } => {
                self.query_attribute_transportation(cause, instance, attribute);
                Ok(())
            }
            RequestBody::ChangeInteractionTransportation {
                class,
                transportation,
            } => {
                self.change_interaction_transportation(cause, class, transportation);
                Ok(())
            }
            RequestBody::QueryInteractionTransportation { federate, class } => {
                self.query_interaction_transportation(cause, federate, class);
                Ok(())
            }
            RequestBody::SetInstanceSwitches(switches) => {
                self.set_instance_switches(cause, switches);
                Ok(())
            }
            RequestBody::CommitRegions(list) => self.commit_regions(cause, list),
            RequestBody::DeleteRegion(region) => self.delete_region(cause, region),
            RequestBody::RegisterObjectWithRegions {
                instance,
                class,
                name,
                regions,
            } => self.register_object(cause, instance, class, name, &regions),
            RequestBody::AssociateRegions { instance, regions } => {
                self.associate_regions(cause, instance, &regions)
            }
            RequestBody::UnassociateRegions { instance, regions } => {
                self.unassociate_regions(cause, instance, &regions)
            }
            RequestBody::SubscribeObjectClassWithRegions {
                class,
                regions,
                active,
                rate,
            } => self.subscribe_object_class_with_regions(cause, class, regions, active, rate),
            RequestBody::UnsubscribeObjectClassWithRegions { class, regions } => {
                self.unsubscribe_object_class_with_regions(cause, class, regions)
            }
            RequestBody::SubscribeInteractionWithRegions {
                class,
                regions,
                active,
            } => self.subscribe_interaction_with_regions(cause, class, regions, active),
            RequestBody::UnsubscribeInteractionWithRegions { class, regions } => {
                self.unsubscribe_interaction_with_regions(cause, class, regions)
            }
            RequestBody::RequestClassUpdateWithRegions {
                class,
                regions,
                tag,
            } => self.request_class_update_with_regions(cause, class, &regions, tag),
            RequestBody::RegisterSynchronizationPoint { label, tag, set } => {
                self.register_synchronization_point(cause, label, tag, set);
                Ok(())
            }
            RequestBody::AchieveSynchronizationPoint {
                label,
                successfully,
            } => {
                self.achieve_synchronization_point(cause, &label, successfully);
                Ok(())
            }
            RequestBody::DivestOwnership {
                how,
                instance,
                attributes,
                tag,
            } => {
                self.divest_ownership(cause, how, instance, &attributes, &tag);
                Ok(())
            }
            RequestBody::AcquireOwnership {
                if_available,
                instance,
                attributes,
                tag,
            } => {
                self.acquire_ownership(cause, if_available, instance, &attributes, &tag);
                Ok(())
            }
            RequestBody::DenyOwnershipRelease {
                instance,
                attributes,
                seen,
                tag,
            } => {
                self.deny_ownership_release(cause, instance, &attributes, seen, &tag);
                Ok(())
            }
            RequestBody::CancelOwnershipDivestiture {
                instance,
                attributes,
            } => {
                self.cancel_ownership_divestiture(cause, instance, &attributes);
                Ok(())
            }
            RequestBody::CancelOwnershipAcquisition {
                instance,
                attributes,
            } => {
                self.cancel_ownership_acquisition(cause, instance, &attributes);
                Ok(())
            }
            RequestBody::QueryOwnership {
                instance,
                attributes,
            } => {
                self.query_ownership(cause, instance, &attributes);
                Ok(())
            }
            RequestBody::Resign(action) => {
                self.resign(cause, cause.sender, action, None);
                Ok(())
            }
        }
    }

    pub(crate) fn member_mut(
        &mut self,
        federate: FederateHandle,
    ) -> Result<&mut Member, ProtocolError> {
        self.members
            .get_mut(&federate)
            .ok_or_else(|| ProtocolError(format!("{federate} is not a member")))
    }

    /// All members.
    pub(crate) fn everyone(&self) -> Vec<FederateHandle> {
        self.members.keys().copied().collect()
    }

    /// Puts an entry at the present log index on the streams of its audience; at the next one if
    /// somebody of it has been told an entry of the present one.
    pub(crate) fn tell(&mut self, cause: &Cause, audience: &[FederateHandle], body: &EntryBody) {
        let told = |f| self.members.get(f).is_some_and(|m| m.told >= self.index);
        if audience.iter().any(told) {
            self.index = self.index.next();
        }
        for federate in audience {
            self.bring_up_to(*federate, self.index.previous());
            let Some(member) = self.members.get_mut(federate) else {
                continue;
            };
            member.told = self.index;
            let entry = Entry {
                index: self.index,
                sender: cause.sender,
                request: cause.request,
                body: body.clone(),
            };
            self.out.push((member.peer, FromExecutive::Entry(entry)));
        }
    }

    /// Puts any other message on a member's stream.
    pub(crate) fn send(&mut self, peer: PeerId, message: FromExecutive) {
        self.out.push((peer, message));
    }

    /// Covers what `federate` was not told up to `index` with a watermark.
    pub(crate) fn bring_up_to(&mut self, federate: FederateHandle, index: LogIndex) {
        let Some(member) = self.members.get(&federate) else {
            return;
        };
        let (peer, told) = (member.peer, member.told);
        if told >= index {
            return;
        }
        // The request that is being served may stand behind this; those before it do not.
        let by_then = |m: &Member| match m.last_request_at > index {
            true => m.requests.previous(),
            false => m.requests,
        };
        let requests = self
            .members
            .iter()
            .filter(|(_, m)| m.last_request_at > told)
            .map(|(f, m)| (*f, by_then(m)))
            .collect();
        let mark = Watermark { index, requests };
        self.out.push((peer, FromExecutive::Watermark(mark)));
        if let Some(member) = self.members.get_mut(&federate) {
            member.told = index;
        }
    }

    /// Whether some member may not have been told all of the log.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.settled < self.index
    }

    /// Brings every member up to date.
    pub(crate) fn settle(&mut self) {
        let index = self.index;
        for federate in self.everyone() {
            self.bring_up_to(federate, index);
        }
        self.settled = index;
    }

    /// Whether `outputs` or `left` has something to say.
    pub(crate) fn has_news(&self) -> bool {
        !self.out.is_empty() || !self.left.is_empty()
    }

    /// Messages made since the last call.
    pub(crate) fn outputs(&mut self) -> impl Iterator<Item = (PeerId, FromExecutive)> + '_ {
        self.out.drain(..)
    }

    /// Notes that a peer's federate is no longer a member.
    pub(crate) fn note_left(&mut self, peer: PeerId) {
        self.left.push(peer);
    }

    /// Peers whose federates have ceased to be members since the last call.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = PeerId> + '_ {
        self.left.drain(..)
    }

    /// Peers of all members.
    pub(crate) fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.members.values().map(|m| m.peer)
    }
}
