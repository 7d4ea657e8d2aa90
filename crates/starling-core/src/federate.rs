//! One joined federate as its LRC knows it.
//!
//! Two views: routing follows the applied log (`subscriptions`, `routes`, an instance's
//! `removed`); pre-conditions follow the federate's own calls and the callbacks delivered to it
//! (`mine`, `published`, an instance's `discovered`). A callback is delivered when
//! [`Federate::next_callback`] returns it.
//!
//! Services are checked here and cost no round trip; their requests and data frames must be put
//! on the link in the order in which they come out: take [`Federate::poll_output`] empty after
//! each service call that takes no `send`, and before each one that does.

use crate::callback::Callback;
use crate::counters::Counters;
use crate::ddm::federate::FederateRegions;
use crate::declaration::{Advisories, Pace, Routes, Subscriptions};
use crate::delivery::{Delivery, Queued};
use crate::exception::throw;
use crate::federation::modules;
use crate::handles::HandleMap;
use crate::log::federate::{DataPath, Now, Ordered, Output, Replica};
use crate::message::{
    Data, DataBody, Entry, EntryBody, FederateInformation, FromExecutive, LogIndex, RequestNumber,
    ResignAction, Snapshot,
};
use crate::mom;
use crate::object::advisories::InstanceSwitches;
use crate::object::federate::Instance;
use crate::object::receive::{QueuedObject, ReceiveMaps, Wanted};
use crate::object::transportation::Changes;
use crate::ownership::federate::Ownership;
use crate::{
    AttributeHandle, Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ProtocolError, RegionHandle, ValuesBuf,
};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};

/// A data frame on its way out.
#[derive(Clone, Copy, Debug)]
pub struct DataOut<'a> {
    /// Who is to get it, as far as this federate has applied the log. The executive knows better.
    pub to: &'a [FederateHandle],
    /// The frame.
    pub data: Data<'a>,
}

/// A joined federate. Not thread-safe; its owner locks it.
pub struct Federate {
    pub(crate) me: FederateHandle,
    pub(crate) name: String,
    pub(crate) federation: String,
    pub(crate) time_implementation: String,
    pub(crate) model: ObjectModel,
    pub(crate) log: Replica,
    pub(crate) members: BTreeMap<FederateHandle, FederateInformation>,
    /// All members' subscriptions as of the applied log.
    pub(crate) subscriptions: Subscriptions<LogIndex>,
    pub(crate) routes: Routes,
    pub(crate) pace: Pace,
    /// Own subscriptions as of the last call.
    pub(crate) mine: Subscriptions<RequestNumber>,
    pub(crate) published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    pub(crate) published_interactions: BTreeSet<InteractionClassHandle>,
    pub(crate) switches: InstanceSwitches,
    pub(crate) regions: FederateRegions,
    /// Of interaction classes sent by this federate.
    pub(crate) transportations: Changes<InteractionClassHandle>,
    pub(crate) registration: Advisories<ObjectClassHandle>,
    pub(crate) interactions: Advisories<InteractionClassHandle>,
    pub(crate) instances: HandleMap<ObjectInstanceHandle, Instance>,
    /// Names of own and discovered instances.
    pub(crate) instance_names: BTreeMap<String, ObjectInstanceHandle>,
    pub(crate) reserved_names: BTreeSet<String>,
    /// Synchronization points announced to the federate and not yet achieved by it.
    pub(crate) announced: BTreeSet<String>,
    pub(crate) ownership: Ownership,
    pub(crate) last_instance: u32,
    pub(crate) resign_directive: ResignAction,
    pub(crate) delivery: Delivery,
    /// Attributes of queued Provide Attribute Value Update.
    pub(crate) wanted: BTreeMap<Wanted, BTreeSet<AttributeHandle>>,
    pub(crate) maps: ReceiveMaps,
    pub(crate) counters: Counters,
    /// For whoever runs the federate.
    note: Option<String>,
    mom_noted: bool,
    pub(crate) scratch: [ValuesBuf; 2],
    pub(crate) receivers: Vec<FederateHandle>,
    /// The largest frame that the executive takes.
    frame_bytes_max: usize,
    resigned: bool,
}

impl Federate {
    /// A federate that has just joined.
    pub fn new(snapshot: Snapshot, path: DataPath) -> Result<Self, ProtocolError> {
        let model = modules::rebuild(&snapshot.modules)
            .map_err(|e| ProtocolError(format!("the executive's FDD can't be read here: {e}")))?;
        let switches = model.switches().clone();
        let senders = snapshot.federates.iter().map(|(f, r)| (f.handle, *r));
        let mut subscriptions = Subscriptions::default();
        for (federate, class, attributes) in snapshot.object_subscriptions {
            subscriptions.set_object(federate, class, attributes, snapshot.index);
        }
        for (federate, class, how) in snapshot.interaction_subscriptions {
            subscriptions.set_interaction(federate, class, how, snapshot.index);
        }
        subscriptions.regions.restore(
            snapshot.regions,
            snapshot.object_region_subscriptions,
            snapshot.interaction_region_subscriptions,
            snapshot.index,
        );
        Ok(Federate {
            me: snapshot.handle,
            name: snapshot.name,
            federation: snapshot.federation,
            time_implementation: snapshot.time_implementation,
            resign_directive: crate::federation::federate::fdd_directive(&model),
            model,
            log: Replica::new(snapshot.handle, path, snapshot.index, senders),
            members: snapshot
                .federates
                .into_iter()
                .map(|(f, _)| (f.handle, f))
                .collect(),
            subscriptions,
            routes: Routes::default(),
            pace: Pace::default(),
            mine: Subscriptions::default(),
            published: BTreeMap::new(),
            published_interactions: BTreeSet::new(),
            transportations: Changes::default(),
            regions: FederateRegions::default(),
            switches: InstanceSwitches {
                scope: switches.attribute_scope_advisory,
                relevance: switches.attribute_relevance_advisory,
            },
            registration: Advisories::new(switches.object_class_relevance_advisory),
            interactions: Advisories::new(switches.interaction_relevance_advisory),
            instances: HandleMap::default(),
            instance_names: BTreeMap::new(),
            reserved_names: BTreeSet::new(),
            announced: BTreeSet::new(),
            ownership: Ownership::default(),
            last_instance: 0,
            delivery: Delivery::default(),
            wanted: BTreeMap::new(),
            maps: ReceiveMaps::default(),
            counters: Counters::default(),
            note: None,
            mom_noted: false,
            scratch: Default::default(),
            receivers: Vec::new(),
            frame_bytes_max: usize::MAX,
            resigned: false,
        })
    }

    /// This federate's handle.
    pub fn handle(&self) -> FederateHandle {
        self.me
    }

    /// This federate's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The federation execution's name.
    pub fn federation(&self) -> &str {
        &self.federation
    }

    /// The name of the federation execution's logical time implementation.
    pub fn logical_time_implementation(&self) -> &str {
        &self.time_implementation
    }

    /// The FDD as of the applied log.
    pub fn model(&self) -> &ObjectModel {
        &self.model
    }

    /// Whether the federate's resignation has been applied: it is no longer a member.
    pub fn is_resigned(&self) -> bool {
        self.resigned
    }

    /// Sets the largest frame that the executive takes, in bytes; before this is called, any.
    pub fn set_frame_bytes_max(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
    }

    /// What became of data so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The next thing to put on a link.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.log.poll_output();
        if let (false, Some(Output::Request(request))) = (self.mom_noted, &output) {
            self.note = mom::note(&request.body, &self.model);
            self.mom_noted = self.note.is_some();
        }
        output
    }

    /// Something that whoever runs the federate should know, if there is. Look after outputs.
    pub fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// A message of the executive's stream. Answers to calls made before joining are not for here.
    pub fn receive(&mut self, message: FromExecutive) -> Result<(), ProtocolError> {
        self.log.receive(message)?;
        self.apply_ready()
    }

    /// A data frame, from the executive's stream or a peer's link.
    pub fn receive_data(&mut self, data: &Data<'_>) -> Result<(), ProtocolError> {
        match self.log.receive_data(data)? {
            Now::Handle => self.apply_data(data),
            Now::Wait => self.apply_ready(),
            Now::Refuse => {
                self.counters.from_removed += 1;
                Ok(())
            }
        }
    }

    /// A peer's own link has ended and all that it carried has been received.
    pub fn link_ended(&mut self, peer: FederateHandle) -> Result<(), ProtocolError> {
        self.log.link_ended(peer);
        self.apply_ready()
    }

    /// The next callback, now delivered.
    pub fn next_callback(&mut self) -> Option<Callback> {
        while let Some(queued) = self.delivery.next() {
            if let Some(callback) = self.deliver(queued) {
                return Some(callback);
            }
        }
        None
    }

    /// What is queued as a callback, if it still is one.
    fn deliver(&mut self, queued: Queued) -> Option<Callback> {
        match queued {
            Queued::Object(queued) => self.deliver_object(queued),
            Queued::Federation(callback) => Some(self.deliver_federation(callback)),
            Queued::Declaration(queued) => Some(self.deliver_advisory(queued)),
            Queued::Ownership(queued) => self.deliver_ownership(queued),
            Queued::Ddm(gone) => {
                self.deliver_regions_gone(&gone);
                None
            }
        }
    }

    /// Whether a call of `next_callback` may have something to deliver.
    pub fn has_callbacks(&self) -> bool {
        self.delivery.has_next()
    }

    /// How many callbacks may wait for delivery.
    pub fn callbacks(&self) -> usize {
        self.delivery.len()
    }

    /// What waits for delivery of values and tags, in bytes, about.
    pub fn queued_bytes(&self) -> usize {
        self.delivery.bytes()
    }

    fn apply_ready(&mut self) -> Result<(), ProtocolError> {
        while let Some(ordered) = self.log.next() {
            match ordered {
                Ordered::Entry(entry) => self.apply(entry)?,
                Ordered::Data(data) => self.apply_data(&data.borrow())?,
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        let Entry { index, cause, body } = entry;
        let sender = || {
            let sender = cause.map(|c| c.sender);
            sender
                .ok_or_else(|| ProtocolError(format!("nobody asked for entry {index} of the log")))
        };
        match body {
            EntryBody::FederateJoined { federate, modules } => {
                if !modules.is_empty() {
                    self.grow(&modules)?;
                }
                self.log.joined(federate.handle);
                self.members.insert(federate.handle, federate);
            }
            EntryBody::FederateResigned { federate, .. } => {
                self.counters.from_removed += self.log.resigned(federate) as u64;
                self.members.remove(&federate);
                self.subscriptions.forget(federate);
                self.pace.forget_federate(federate);
                self.routes.clear();
                self.regions.routes.clear();
                let (first, last) = RegionHandle::block(federate);
                self.apply_regions_gone(first, last);
                self.resigned |= federate == self.me;
                self.advise_all();
            }
            EntryBody::ObjectSubscription { class, attributes } => {
                self.subscriptions
                    .set_object(sender()?, class, attributes, index);
                self.subscription_applied(sender()?);
                self.advise_subscribed(class);
            }
            EntryBody::InteractionSubscription {
                class,
                subscription,
            } => {
                self.subscriptions
                    .set_interaction(sender()?, class, subscription, index);
                self.subscription_applied(sender()?);
                self.advise_interaction_subscribed(class);
            }
            EntryBody::RegionsCommitted(list) => self.apply_region_commits(list),
            EntryBody::ObjectRegionSubscription {
                class,
                specifications,
                regions,
                active,
                rate,
            } => {
                let table = &mut self.subscriptions.regions;
                for s in specifications {
                    table.commit(s.region, s.ranges.into());
                }
                table.subscribe_object(class, &regions, active, &rate, index);
                self.subscription_applied(sender()?);
                self.advise_subscribed(class);
            }
            EntryBody::ObjectRegionUnsubscription { class, regions } => {
                let table = &mut self.subscriptions.regions;
                table.unsubscribe_object(class, &regions);
                self.subscription_applied(sender()?);
                self.advise_subscribed(class);
            }
            EntryBody::InteractionRegionSubscription {
                class,
                specifications,
                active,
            } => {
                let regions: Vec<_> = specifications.iter().map(|s| s.region).collect();
                let table = &mut self.subscriptions.regions;
                for s in specifications {
                    table.commit(s.region, s.ranges.into());
                }
                table.subscribe_interaction(class, &regions, active, index);
                self.subscription_applied(sender()?);
                self.advise_interaction_subscribed(class);
            }
            EntryBody::InteractionRegionUnsubscription { class, regions } => {
                let table = &mut self.subscriptions.regions;
                table.unsubscribe_interaction(class, &regions);
                self.subscription_applied(sender()?);
                self.advise_interaction_subscribed(class);
            }
            EntryBody::NamesReserved {
                names,
                multiple,
                succeeded,
            } => self.delivery.push(QueuedObject::NamesReserved {
                names,
                multiple,
                succeeded,
            }),
            EntryBody::Discover(list) => {
                for discovery in list {
                    self.apply_discovery(discovery)?;
                }
            }
            EntryBody::Remove {
                instance,
                producer,
                tag,
            } => self.apply_removal(instance, producer, tag),
            EntryBody::AttributeTransportationChanged {
                instance,
                attributes,
                transportation,
            } => self.apply_attribute_transportation(instance, attributes, transportation),
            EntryBody::AttributeTransportation {
                instance,
                attribute,
                transportation,
            } => {
                let callback = Callback::ReportAttributeTransportationType {
                    instance,
                    attribute,
                    transportation,
                };
                self.delivery.push(QueuedObject::Transportation(callback));
            }
            EntryBody::InteractionTransportationChanged {
                class,
                transportation,
            } => {
                let callback = Callback::ConfirmInteractionTransportationTypeChange {
                    class,
                    transportation,
                };
                self.delivery.push(QueuedObject::Transportation(callback));
            }
            EntryBody::InteractionTransportation {
                federate,
                class,
                transportation,
            } => {
                let callback = Callback::ReportInteractionTransportationType {
                    federate,
                    class,
                    transportation,
                };
                self.delivery.push(QueuedObject::Transportation(callback));
            }
            EntryBody::AttributesScope {
                instance,
                entered,
                left,
            } => self.apply_scope(instance, entered, left),
            EntryBody::AttributesRelevance { instance, on, off } => {
                self.apply_relevance(instance, on, off);
            }
            EntryBody::SynchronizationPointRegistered { label, failure } => {
                let callback = Callback::SynchronizationPointRegistered { label, failure };
                self.delivery.push(Queued::Federation(callback));
            }
            EntryBody::SynchronizationPointAnnounced { label, tag } => {
                let callback = Callback::AnnounceSynchronizationPoint { label, tag };
                self.delivery.push(Queued::Federation(callback));
            }
            EntryBody::FederationSynchronized { label, failed } => {
                let callback = Callback::FederationSynchronized { label, failed };
                self.delivery.push(Queued::Federation(callback));
            }
            EntryBody::ProvideUpdate { wanted, tag } => self.apply_wanted(wanted, &tag),
            EntryBody::Ownership {
                notice,
                instance,
                attributes,
                tag,
            } => self.apply_ownership(notice, instance, attributes, tag, index),
            EntryBody::Divested {
                attributes,
                unwanted,
                ..
            } => {
                if let Some(cause) = cause {
                    self.apply_divested(cause.request, attributes, &unwanted);
                }
            }
            EntryBody::OwnershipReport { instance, owners } => {
                self.apply_ownership_report(instance, owners);
            }
            EntryBody::Fenced => {}
            EntryBody::RegionDeleted(region) => self.apply_regions_gone(region, region),
        }
        Ok(())
    }

    fn subscription_applied(&mut self, sender: FederateHandle) {
        self.routes.clear();
        self.regions.routes.clear();
        if sender == self.me {
            self.maps.clear();
        }
    }

    fn grow(&mut self, sources: &[crate::message::ModuleSource]) -> Result<(), ProtocolError> {
        modules::extend(&mut self.model, sources)
            .map_err(|e| ProtocolError(format!("the executive's FDD can't be merged here: {e}")))?;
        self.routes.clear();
        self.regions.routes.clear();
        self.maps.clear();
        Ok(())
    }

    /// Whether values, tag and regions of so many bytes fit into one frame.
    pub(crate) fn require_fits(&self, bytes: usize) -> Result<(), Exception> {
        /// What else stands in a data frame takes no more, but for the receivers that it names.
        const HEAD_BYTES: usize = 64;
        const RECEIVER_BYTES: usize = 5;
        let more = HEAD_BYTES + RECEIVER_BYTES * self.members.len();
        if bytes.saturating_add(more) > self.frame_bytes_max {
            throw!(
                RTIinternalError,
                "{bytes} bytes of values, tag and regions are more than one message may hold: \
                 {} bytes (limits.frame_bytes of rtiexec); nothing was sent",
                self.frame_bytes_max
            );
        }
        Ok(())
    }

    /// Hands a data frame out, or counts it where nobody wants it.
    pub(crate) fn send_data(
        &mut self,
        to: &[FederateHandle],
        body: DataBody<'_>,
        send: &mut dyn FnMut(DataOut<'_>),
    ) {
        if to.is_empty() {
            self.counters.unwanted += 1;
            return;
        }
        self.counters.sent += 1;
        let data = self.log.frame(to, body);
        send(DataOut { to, data });
    }

    /// The instance, if the federate has registered or discovered it.
    pub(crate) fn known(&self, instance: ObjectInstanceHandle) -> Result<&Instance, Exception> {
        match self.instances.get(&instance) {
            Some(known) if known.discovered => Ok(known),
            _ => throw!(
                ObjectInstanceNotKnown,
                "{instance} is not known to this federate: not registered or discovered by it, or deleted"
            ),
        }
    }
}
