//! One federation execution as the executive knows it: its log, members and instances.
//!
//! What each request does stands in the rooms (`federation/execution.rs` and so on).
//!
//! Invariant: `by_class` and `names` mirror `instances`.

use crate::ddm::execution::ExecutionRegions;
use crate::declaration::{Routes, Subscriptions};
use crate::exception::require_name;
use crate::federation::synchronization::SynchronizationPoint;
use crate::handles::HandleMap;
use crate::log::executive::Log;
use crate::message::{Cause, LogIndex, ModuleSource, PeerInfo, Request, RequestBody, ResignAction};
use crate::mom;
use crate::object::advisories::Told;
use crate::object::execution::{Instance, NameUse};
use crate::ownership::execution::Transfer;
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, PeerId, ProtocolError, Transportation,
};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A joined federate as the executive knows it.
pub(crate) struct Member {
    pub(crate) info: PeerInfo,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) resign_directive: ResignAction,
    /// Of interaction classes, where they are not the FDD's.
    pub(crate) transportations: BTreeMap<InteractionClassHandle, Transportation>,
    pub(crate) published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    pub(crate) published_interactions: BTreeSet<InteractionClassHandle>,
    /// It was noted that it turned to the management object model.
    pub(crate) mom_noted: bool,
}

pub(crate) struct Execution {
    /// Its number at the executive; numbers are not used again.
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) time_implementation: String,
    pub(crate) modules: Vec<ModuleSource>,
    pub(crate) model: ObjectModel,
    pub(crate) members: BTreeMap<FederateHandle, Member>,
    pub(crate) last_federate: u32,
    pub(crate) log: Log,
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
    /// For the log of the executive's process.
    pub(crate) notes: Vec<(PeerId, String)>,
    /// When it was created, since the executive began.
    pub(crate) created: Duration,
}

impl Execution {
    pub(crate) fn new(
        name: String,
        time_implementation: String,
        modules: Vec<ModuleSource>,
        model: ObjectModel,
    ) -> Self {
        Execution {
            number: 0,
            name,
            time_implementation,
            modules,
            model,
            members: BTreeMap::new(),
            last_federate: 0,
            log: Log::default(),
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
            notes: Vec::new(),
            created: Duration::ZERO,
        }
    }

    /// A member's request: takes a log index and goes to its room.
    pub(crate) fn request(
        &mut self,
        federate: FederateHandle,
        request: Request,
    ) -> Result<(), ProtocolError> {
        let cause = self.log.request(federate, &request.fenced)?;
        if let Some(note) = mom::note(&request.body, &self.model)
            && let Some(member) = self.members.get_mut(&federate)
            && !std::mem::replace(&mut member.mom_noted, true)
        {
            let peer = self.log.peer(federate);
            self.notes.extend(peer.map(|peer| (peer, note)));
        }
        self.serve(cause, request.body)?;
        self.advise(cause);
        Ok(())
    }

    /// Takes a request to its room.
    fn serve(&mut self, cause: Cause, body: RequestBody) -> Result<(), ProtocolError> {
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
                let mut all = names.iter();
                all.try_for_each(|name| require_name("an object instance", name))
                    .map_err(|e| ProtocolError(e.message))?;
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
                require_name("a synchronization point", &label)
                    .map_err(|e| ProtocolError(e.message))?;
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
}
