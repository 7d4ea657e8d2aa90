//! Object management at the executive.

use super::federate::require_legal_name;
use super::privilege_to_delete;
use super::registered::{Instance, NameUse, name_bytes};
use crate::declaration::SlotSet;
use crate::execution::Execution;
use crate::message::object::{Entry, Request};
use crate::message::{AttributeRegions, Cause, Data, DataBody, Discovery, LogIndex, Stamp};
use crate::mom;
use crate::time::execution::StampedRun;
use crate::{
    Address, AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Owner, PeerId, ProtocolError,
};
use std::collections::{BTreeMap, BTreeSet};

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_object(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::ReserveNames { names, multiple } => {
                let mut all = names.iter();
                all.try_for_each(|name| require_legal_name(name))
                    .map_err(|e| ProtocolError(e.message))?;
                self.reserve_names(cause, names, multiple);
            }
            Request::ReleaseNames { names } => self.release_names(cause, &names),
            Request::RegisterObject {
                instance,
                class,
                name,
            } => self.register_object(cause, instance, class, name, &[])?,
            Request::DeleteObject {
                instance,
                tag,
                stamp,
            } => self.delete_object(cause, instance, tag, stamp)?,
            Request::LocalDeleteObject { instance } => self.local_delete_object(cause, instance),
            Request::RequestInstanceUpdate {
                instance,
                attributes,
                tag,
            } => self.request_instance_update(cause, instance, &attributes, tag),
            Request::RequestClassUpdate {
                class,
                attributes,
                tag,
            } => self.request_class_update(cause, class, &attributes, tag)?,
            Request::ChangeAttributeTransportation {
                instance,
                attributes,
                transportation,
            } => self.change_attribute_transportation(cause, instance, attributes, transportation),
            Request::QueryAttributeTransportation {
                instance,
                attribute,
            } => self.query_attribute_transportation(cause, instance, attribute),
            Request::ChangeInteractionTransportation {
                class,
                transportation,
            } => self.change_interaction_transportation(cause, class, transportation)?,
            Request::QueryInteractionTransportation { federate, class } => {
                self.query_interaction_transportation(cause, federate, class)
            }
            Request::SetInstanceSwitches(switches) => self.set_instance_switches(cause, switches),
            Request::DiscoverAgain { instance } => {
                if self.objects.was_deleted_locally(instance, cause.sender) {
                    self.discover(cause, cause.sender, &[instance]);
                }
            }
            Request::AnswerNotDeleted {
                instance,
                asked,
                known,
            } => self.answer_not_deleted(cause, instance, (asked, known)),
        }
        Ok(())
    }

    /// Reserve (Multiple) Object Instance Name(s), 1516.1-2010 §6.2 and §6.5.
    pub(crate) fn reserve_names(&mut self, cause: Cause, names: Vec<String>, multiple: bool) {
        let free = names.iter().all(|n| !self.objects.names.contains_key(n));
        let more = names.iter().map(|n| name_bytes(n)).sum();
        let kept = self.objects.reserved.of(cause.sender);
        let room = self.require_room(cause.sender, "reserved names", kept, more);
        let succeeded = free && room.is_ok();
        if succeeded {
            for name in &names {
                self.objects.reserve(name.clone(), cause.sender);
            }
        } else if let Err(why) = room {
            let why = format!("a reservation of names was refused: {why}");
            let peer = self.log.peer(cause.sender);
            self.notes.extend(peer.map(|peer| (Some(peer), why)));
        }
        let answer = Entry::NamesReserved {
            names,
            multiple,
            succeeded,
        };
        self.log.tell(cause, &[cause.sender], answer);
    }

    /// Release (Multiple) Object Instance Name(s), §6.4 and §6.7.
    pub(crate) fn release_names(&mut self, cause: Cause, names: &[String]) {
        for name in names {
            self.objects.take_reserved(name, cause.sender);
        }
    }

    /// Register Object Instance (With Regions), §6.8 and §9.5.
    pub(crate) fn register_object(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        name: Option<String>,
        regions: &[AttributeRegions],
    ) -> Result<(), ProtocolError> {
        let next = self.objects.next_of(cause.sender);
        if Some(instance) != next {
            return Err(ProtocolError(format!(
                "{} registered {instance}, which is not its next handle",
                cause.sender
            )));
        }
        if let Some(class) = mom::own_class(&self.model, class) {
            return Err(ProtocolError(format!(
                "{} registered an instance of {class}, which is the RTI's",
                cause.sender
            )));
        }
        let published = self.publications.at(cause.sender, class);
        let Some(published) = published.map(<[_]>::to_vec) else {
            return Err(ProtocolError(format!(
                "{} registered an instance of class {class}, which it does not publish",
                cause.sender
            )));
        };
        self.require_pairs(cause, class, regions)?;
        self.require_region_room(cause.sender, AttributeRegions::pairs(regions).count(), 0)?;
        let attributes = self.model.object_class(class);
        let attributes = attributes.map_or(&[][..], |c| &c.attributes);
        let privilege = self.privilege_to_delete();
        let owners = attributes
            .iter()
            .map(|a| {
                let owned = published.contains(a) || Some(*a) == privilege;
                owned.then_some(Owner::Federate(cause.sender))
            })
            .collect();
        let mut new = Instance {
            class,
            name,
            owners,
            updates: 0,
            known: BTreeMap::new(),
            locally_deleted: BTreeSet::new(),
            transportations: BTreeMap::new(),
        };
        new.set_known(cause.sender, class);
        let kept = self.objects.registered.of(cause.sender);
        self.require_room(cause.sender, "object instances", kept, new.bytes())?;
        if let Some(name) = &new.name {
            if !self.objects.take_reserved(name, cause.sender) {
                return Err(ProtocolError(format!(
                    "{} registered '{name}', which it has not reserved",
                    cause.sender
                )));
            }
            let used = NameUse::Instance(instance);
            self.objects.names.insert(name.clone(), used);
        }
        self.objects.register(instance, new);
        let owner = privilege.map(|_| Owner::Federate(cause.sender));
        self.objects.pass_privilege(instance, None, owner);
        self.associate(instance, regions);
        for federate in self.log.members() {
            self.discover(cause, federate, &[instance]);
        }
        Ok(())
    }

    /// Lets the federate of a new subscription discover what it now can.
    pub(crate) fn discover_below(&mut self, cause: Cause, class: ObjectClassHandle) {
        let found = self.instances_below(class);
        self.discover(cause, cause.sender, &found);
    }

    /// Instances registered as a class or a subclass, ascending.
    pub(crate) fn instances_below(&self, class: ObjectClassHandle) -> Vec<ObjectInstanceHandle> {
        let mut classes = vec![class];
        let mut found = Vec::new();
        while let Some(c) = classes.pop() {
            found.extend(self.objects.by_class.get(&c).into_iter().flatten().copied());
            if let Some(c) = self.model.object_class(c) {
                classes.extend(&c.children);
            }
        }
        found.sort_unstable();
        found
    }

    /// Tells `federate` of those instances that it does not know and can discover (§6.1, §6.9).
    pub(crate) fn discover(
        &mut self,
        cause: impl Into<Option<Cause>>,
        federate: FederateHandle,
        instances: &[ObjectInstanceHandle],
    ) {
        let cause = cause.into();
        let (mut list, mut wanted) = (Vec::new(), Vec::new());
        for handle in instances {
            let instance = self.objects.instances.get(handle);
            let Some(instance) = instance.filter(|_| !self.time.is_deleting(*handle)) else {
                continue;
            };
            if instance.known.contains_key(&federate) {
                continue;
            }
            let candidate =
                self.subscriptions
                    .candidate_class(&self.model, federate, instance.class);
            let Some(known_class) = candidate else {
                continue;
            };
            let mut in_scope = self.in_scope(federate, *handle, instance, known_class);
            if in_scope.is_empty() {
                continue;
            }
            wanted.append(&mut in_scope);
            list.push(Discovery {
                instance: *handle,
                registered_class: instance.class,
                known_class,
                name: instance.name.clone().unwrap_or_default(),
            });
        }
        if list.is_empty() {
            return;
        }
        for d in &list {
            if let Some(instance) = self.objects.instances.get_mut(&d.instance) {
                instance.set_known(federate, d.known_class);
                instance.locally_deleted.remove(&federate);
            }
            self.touch(d.instance);
        }
        let found: Vec<_> = list.iter().map(|d| (d.instance, d.known_class)).collect();
        self.log.tell(cause, &[federate], Entry::Discover(list));
        self.offer_discovered(cause, federate, &found);
        if self.auto_provide() {
            self.provide(cause, wanted, Vec::new());
        }
    }

    /// The class at which a federate would discover an instance by what it subscribes.
    pub(crate) fn class_of_discovery(
        &self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> Option<ObjectClassHandle> {
        let class = self.objects.get(instance)?.class;
        self.subscriptions
            .candidate_class(&self.model, federate, class)
    }

    /// The attributes that are owned by another federate, subscribed at `known_class` and updated
    /// with regions that overlap those of the subscription (§6.1, §9.1), with their owners.
    fn in_scope(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        instance: &Instance,
        known_class: ObjectClassHandle,
    ) -> Vec<(Owner, ObjectInstanceHandle, AttributeHandle)> {
        let Some(class) = self.model.object_class(instance.class) else {
            return Vec::new();
        };
        let subscribed = self.subscriptions.attributes(federate, known_class);
        let found = subscribed.filter_map(|attribute| {
            let owner = (*instance.owners.get(class.slot(attribute)? as usize)?)?;
            let other = owner != federate;
            let reached = other && self.reaches(handle, attribute, owner, federate, known_class);
            reached.then_some((owner, handle, attribute))
        });
        found.collect()
    }

    /// Delete Object Instance, §6.14.
    pub(crate) fn delete_object(
        &mut self,
        cause: Cause,
        handle: ObjectInstanceHandle,
        tag: Vec<u8>,
        stamp: Option<Stamp>,
    ) -> Result<(), ProtocolError> {
        let timely = stamp.filter(|stamp| stamp.retraction.is_some());
        // Who has left has passed on the privilege to delete what it was deleting: that goes on.
        let goes_by_then = timely.is_some_and(|s| self.time.goes_by(handle, s.time));
        if self.objects.get(handle).is_none() || goes_by_then {
            self.objects.behind_deletion += 1;
        } else if self.owner(handle, self.privilege_to_delete()) != Some(cause.sender.into()) {
            self.objects.refused += 1;
        } else if let Some(stamp) = timely {
            return self.delete_at(cause, handle, tag, stamp);
        } else {
            self.time.forget_deletion(handle);
            self.remove_instance(cause, handle, cause.sender, &tag, stamp);
        }
        Ok(())
    }

    /// Takes an instance out of the federation execution and tells those who know it.
    pub(crate) fn remove_instance(
        &mut self,
        cause: impl Into<Option<Cause>>,
        handle: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: &[u8],
        stamp: Option<Stamp>,
    ) {
        let Some(gone) = self.objects.take(handle) else {
            return;
        };
        self.forget_associations(handle);
        let wanted_by = self.forget_transfers(handle);
        // Who has deleted it locally need not remember that any longer, nor what was its own of it, or wanted, who was
        // told of a deletion that might have been retracted.
        let told = gone.known.keys().chain(&gone.locally_deleted).copied();
        let told = told.chain(wanted_by);
        let owners = gone.owners().iter().flatten().filter_map(|o| o.federate());
        let mut audience: Vec<_> = told.chain(owners).filter(|f| *f != producer).collect();
        audience.sort_unstable();
        audience.dedup();
        self.touch(handle);
        let removed = Entry::Remove {
            instance: handle,
            producer,
            tag: tag.to_vec(),
            stamp,
        };
        self.log.tell(cause, &audience, removed);
    }

    /// Local Delete Object Instance, §6.16.
    pub(crate) fn local_delete_object(&mut self, cause: Cause, handle: ObjectInstanceHandle) {
        if let Some(instance) = self.objects.instances.get_mut(&handle) {
            instance.known.remove(&cause.sender);
            instance.locally_deleted.insert(cause.sender);
            self.forget_own_associations(handle, cause.sender);
            self.touch(handle);
        }
        self.forget_offers(cause.sender, handle);
    }

    /// Request Attribute Value Update of an instance, §6.19.
    pub(crate) fn request_instance_update(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: Vec<u8>,
    ) {
        self.ask_owners(cause, &[instance], attributes, tag);
    }

    /// Request Attribute Value Update of a class and its subclasses, §6.19.
    pub(crate) fn request_class_update(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
        tag: Vec<u8>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().copied())?;
        let instances = self.instances_below(class);
        self.ask_owners(cause, &instances, attributes, tag);
        Ok(())
    }

    /// One Provide Attribute Value Update entry per owner other than the asker (§6.20).
    fn ask_owners(
        &mut self,
        cause: Cause,
        instances: &[ObjectInstanceHandle],
        attributes: &[AttributeHandle],
        tag: Vec<u8>,
    ) {
        let mut wanted = Vec::new();
        for handle in instances {
            for attribute in attributes {
                let owner = self.owner(*handle, Some(*attribute));
                if let Some(owner) = owner.filter(|o| *o != cause.sender) {
                    wanted.push((owner, *handle, *attribute));
                }
            }
        }
        self.provide(cause, wanted, tag);
    }

    /// Asks owners for values: whom, of which instances and attributes, by instance.
    pub(crate) fn provide(
        &mut self,
        cause: impl Into<Option<Cause>>,
        list: Vec<(Owner, ObjectInstanceHandle, AttributeHandle)>,
        tag: Vec<u8>,
    ) {
        let cause = cause.into();
        type Wanted = Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>;
        let mut wanted: BTreeMap<FederateHandle, Wanted> = BTreeMap::new();
        let mut own: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (owner, handle, attribute) in list {
            let Owner::Federate(owner) = owner else {
                own.entry(handle).or_default().push(attribute);
                continue;
            };
            let list = wanted.entry(owner).or_default();
            match list.last_mut() {
                Some((last, of_it)) if *last == handle => of_it.push(attribute),
                _ => list.push((handle, vec![attribute])),
            }
        }
        for (owner, wanted) in wanted {
            let tag = tag.clone();
            self.log
                .tell(cause, &[owner], Entry::ProvideUpdate { wanted, tag });
        }
        for (instance, attributes) in own {
            self.provide_own(cause, instance, &attributes);
        }
    }

    /// Whom a data frame of `sender` goes to (§6.10, §6.12), into `peers`.
    pub(crate) fn data(
        &mut self,
        sender: FederateHandle,
        data: &Data<'_>,
        peers: &mut Vec<PeerId>,
    ) -> Result<(), ProtocolError> {
        if self.data_run(sender, std::iter::once((*data, 1)), peers) == 1 {
            return Ok(());
        }
        if data.sender != sender {
            return Err(ProtocolError(format!(
                "{sender} sent a frame as {}",
                data.sender
            )));
        }
        if !self.log.admits(sender, &data.after)? {
            return Ok(());
        }
        let mut to = std::mem::take(&mut self.receivers);
        to.clear();
        let seen = (sender, data.after.index);
        let model = &self.model;
        let mut deleted_locally = None;
        match data.body {
            DataBody::Update { instance, payload } => {
                let Some(known) = self.objects.instances.get_mut(&instance) else {
                    // Deleted at this point of the log; every receiver is told so before.
                    self.objects.behind_deletion += 1;
                    self.receivers = to;
                    return Ok(());
                };
                // Its LRC knows what it owns, since it gives away only by requests on this link.
                let owner = Some(Owner::Federate(sender));
                let owns = |slot: u32| known.owners.get(slot as usize) == Some(&owner);
                if !payload.values.iter().all(|(slot, _)| owns(slot)) {
                    self.objects.refused += 1;
                    self.receivers = to;
                    return Ok(());
                }
                known.updates += 1;
                deleted_locally = (!known.locally_deleted.is_empty()).then_some(instance);
                if let Some(address) = payload.address {
                    named(address, sender, &mut to);
                } else {
                    let (class, values) = (known.class, payload.values);
                    let wanted = self.subscriptions.update(model, seen, class, values);
                    to.extend_from_slice(wanted);
                }
            }
            DataBody::Interaction { class, payload } => {
                if model.interaction_class(class).is_none() {
                    return Err(ProtocolError(format!(
                        "{sender} sent an interaction of class {class}, which the FDD does not have"
                    )));
                }
                *self.objects.interactions_sent.entry(class).or_default() += 1;
                if let Some(address) = payload.address {
                    named(address, sender, &mut to);
                } else {
                    let wanted = self.subscriptions.interaction(model, seen, class);
                    to.extend_from_slice(wanted);
                }
            }
            DataBody::Fence { .. } => {
                return Err(ProtocolError("a fence came by way of the executive".into()));
            }
        }
        if let Some(instance) = deleted_locally {
            self.discover_again(instance, &to);
        }
        if let Some(payload) = data.body.payload()
            && let Some(stamp) = payload.stamp
        {
            if stamp.retraction.is_some() && payload.address.is_none() {
                self.judge_later(sender, &data.body, &mut to);
            }
            self.sequence(sender, stamp, &to)?;
        }
        peers.extend_from_slice(self.log.catch_up(&to));
        self.receivers = to;
        Ok(())
    }

    /// Takes data frames of `sender`, each with its bytes, as long as each says only what its sender
    /// may say, leads to nothing but being forwarded, and goes to the same members as the first one: their
    /// connections into `peers`. How many bytes these frames have; of the others nothing is done.
    pub(crate) fn data_run<'a>(
        &mut self,
        sender: FederateHandle,
        frames: impl Iterator<Item = (Data<'a>, usize)>,
        peers: &mut Vec<PeerId>,
    ) -> usize {
        let made = self.log.requests(sender);
        // Whom the last frame was for, as of where in the log.
        let mut routed: Option<(Routed, LogIndex)> = None;
        let mut known = None;
        let mut stamped: Option<StampedRun> = None;
        let judged_later = self.model.switches().delay_subscription_evaluation;
        let mut taken = 0;
        for (data, bytes) in frames {
            if data.sender != sender || !self.log.is_plain(made, &data.after) {
                break;
            }
            let (route, stamp) = match data.body {
                DataBody::Update { instance, payload } if payload.address.is_none() => {
                    if !matches!(&known, Some((last, _)) if *last == instance) {
                        let found = self.objects.instances.get_mut(&instance);
                        known = found.map(|found| (instance, found));
                    }
                    let Some((_, instance)) = &known else {
                        break;
                    };
                    let slots = instance.owned_slots(sender.into(), payload.values);
                    match slots.filter(|_| instance.locally_deleted.is_empty()) {
                        Some(slots) => (Routed::Object(instance.class, slots), payload.stamp),
                        None => break,
                    }
                }
                DataBody::Interaction { class, payload } if payload.address.is_none() => {
                    if self.model.interaction_class(class).is_none() {
                        break;
                    }
                    (Routed::Interaction(class), payload.stamp)
                }
                _ => break,
            };
            let at = data.after.index;
            if routed != Some((route, at)) {
                let (model, seen) = (&self.model, (sender, at));
                let to = match route {
                    Routed::Object(class, slots) => {
                        let slots = SlotSet::of_bits(slots);
                        self.subscriptions
                            .update_of_slots(model, seen, class, &slots)
                    }
                    Routed::Interaction(class) => {
                        self.subscriptions.interaction(model, seen, class)
                    }
                };
                if routed.is_none() {
                    self.receivers.clear();
                    self.receivers.extend_from_slice(to);
                } else if self.receivers != to {
                    break;
                }
                routed = Some((route, at));
            }
            if let Some(stamp) = stamp
                && !stamped.as_mut().is_some_and(|run| run.admit(stamp))
            {
                if let Some(run) = stamped.take() {
                    self.time.sequence(sender, run, &self.receivers);
                }
                let (to, max) = (self.receivers.len(), self.kept_bytes_max);
                match self.time.begin_run(sender, stamp, to, max) {
                    Ok(run) if run.is_none() || !judged_later => stamped = run,
                    _ => break,
                }
            }
            match (route, &mut known) {
                (Routed::Interaction(class), _) => {
                    *self.objects.interactions_sent.entry(class).or_default() += 1;
                }
                (_, Some((_, instance))) => instance.updates += 1,
                (_, None) => {}
            }
            taken += bytes;
        }
        if let Some(run) = stamped {
            self.time.sequence(sender, run, &self.receivers);
        }
        if taken > 0 {
            peers.extend_from_slice(self.log.catch_up(&self.receivers));
        }
        taken
    }

    /// With the FDD's switch Delay Subscription Evaluation, messages in time-stamp order go to all
    /// time-constrained federates, which judge by their subscriptions when the time has come.
    fn judge_later(
        &self,
        sender: FederateHandle,
        body: &DataBody<'_>,
        to: &mut Vec<FederateHandle>,
    ) {
        if !self.model.switches().delay_subscription_evaluation {
            return;
        }
        let is_other = |f: &FederateHandle| *f != sender && self.time.is_constrained(*f);
        match body {
            DataBody::Update { instance, .. } => {
                let known = self.objects.get(*instance);
                to.extend(known.into_iter().flat_map(|i| i.knowing()).filter(is_other));
            }
            _ => {
                let members = self.federation.members().keys().copied();
                to.extend(members.filter(is_other));
            }
        }
        to.sort_unstable();
        to.dedup();
    }

    /// An update comes for federates of which some have deleted its instance locally: these
    /// discover it again, if they still can (§6.16).
    fn discover_again(&mut self, handle: ObjectInstanceHandle, to: &[FederateHandle]) {
        let Some(instance) = self.objects.instances.get(&handle) else {
            return;
        };
        let again = to.iter().filter(|f| instance.locally_deleted.contains(f));
        for federate in again.copied().collect::<Vec<_>>() {
            self.log.advance();
            self.discover(None, federate, &[handle]);
            if let Some(instance) = self.objects.instances.get_mut(&handle)
                && let Some(known) = instance.known.get_mut(&federate)
            {
                // The update that brings this about is behind it.
                known.from = instance.updates - 1;
            }
        }
        self.advise(None);
    }

    /// The FDD has grown: new attributes of existing instances have no owner yet.
    pub(crate) fn grow_instances(&mut self) {
        for instance in self.objects.instances.values_mut() {
            if let Some(class) = self.model.object_class(instance.class) {
                instance.owners.resize(class.attributes.len(), None);
            }
        }
    }

    /// Instances that a federate may delete.
    pub(crate) fn deletable_by(&self, federate: FederateHandle) -> Vec<ObjectInstanceHandle> {
        let own = self.objects.deletable(federate);
        own.filter(|h| !self.time.is_deleting(*h)).collect()
    }

    /// Gives the attribute at a slot to an owner, or to none. With its owner an
    /// attribute loses a transportation type that was not the FDD's (§6.23).
    pub(crate) fn set_owner(
        &mut self,
        handle: ObjectInstanceHandle,
        slot: usize,
        owner: Option<Owner>,
    ) {
        let privilege = self.privilege_to_delete();
        let privilege = privilege.and_then(|a| self.slot(handle, a));
        if let Some(instance) = self.objects.instances.get_mut(&handle)
            && let Some(now) = instance.owners.get_mut(slot)
            && *now != owner
        {
            let former = std::mem::replace(now, owner);
            instance.transportations.remove(&(slot as u32));
            if privilege == Some(slot as u32) {
                self.objects.pass_privilege(handle, former, owner);
            }
            self.touch(handle);
        }
    }

    /// The attribute that carries the privilege to delete.
    pub(crate) fn privilege_to_delete(&self) -> Option<AttributeHandle> {
        privilege_to_delete(&self.model)
    }

    pub(crate) fn owner(
        &self,
        instance: ObjectInstanceHandle,
        attribute: Option<AttributeHandle>,
    ) -> Option<Owner> {
        let instance = self.objects.instances.get(&instance)?;
        let slot = self.model.object_class(instance.class)?.slot(attribute?)?;
        *instance.owners.get(slot as usize)?
    }

    /// The slot of an instance's attribute.
    pub(crate) fn slot(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<u32> {
        let class = self.objects.instances.get(&instance)?.class;
        self.model.object_class(class)?.slot(attribute)
    }
}

/// The receivers that the sender of a frame names, ascending, into `to`.
fn named(address: Address<'_>, sender: FederateHandle, to: &mut Vec<FederateHandle>) {
    to.extend(address.receivers().filter(|f| *f != sender));
    to.sort_unstable();
    to.dedup();
}

/// What decides who gets a frame.
#[derive(Clone, Copy, PartialEq)]
enum Routed {
    /// Class and slots, as bits.
    Object(ObjectClassHandle, u64),
    Interaction(InteractionClassHandle),
}
