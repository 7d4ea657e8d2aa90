//! Object management at the executive.

use crate::execution::Execution;
use crate::message::{AttributeRegions, Cause, Data, DataBody, Discovery, EntryBody};
use crate::{
    Address, AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Owner,
    PeerId, ProtocolError, Transportation,
};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute whose owner may delete the instance.
pub(crate) const PRIVILEGE_TO_DELETE: &str = "HLAprivilegeToDeleteObject";

/// An object instance as the federation execution knows it.
pub(crate) struct Instance {
    pub(crate) class: ObjectClassHandle,
    /// The reserved name, or none: the default name.
    pub(crate) name: Option<String>,
    /// Owner by slot of the registered class.
    pub(crate) owners: Vec<Option<Owner>>,
    /// Data frames that have come for it.
    pub(crate) updates: u64,
    /// Federates that know it (its registrar, and those told of it), with their known class.
    pub(crate) known: BTreeMap<FederateHandle, ObjectClassHandle>,
    /// Federates that have deleted it locally: they discover it again with its next update.
    pub(crate) locally_deleted: BTreeSet<FederateHandle>,
    /// By slot: transportation types that are not the FDD's.
    pub(crate) transportations: BTreeMap<usize, Transportation>,
}

/// Why an object instance name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse {
    /// Reserved, not yet registered.
    ReservedBy(FederateHandle),
    /// The name of an instance.
    Instance(ObjectInstanceHandle),
}

impl Execution {
    /// Reserve (Multiple) Object Instance Name(s), 1516.1-2010 §6.2 and §6.5.
    pub(crate) fn reserve_names(&mut self, cause: Cause, names: Vec<String>, multiple: bool) {
        let succeeded = names.iter().all(|n| !self.names.contains_key(n));
        if succeeded {
            let by = NameUse::ReservedBy(cause.sender);
            self.names.extend(names.iter().map(|n| (n.clone(), by)));
        }
        let answer = EntryBody::NamesReserved {
            names,
            multiple,
            succeeded,
        };
        self.log.tell(cause, &[cause.sender], &answer);
    }

    /// Release (Multiple) Object Instance Name(s), §6.4 and §6.7.
    pub(crate) fn release_names(&mut self, cause: Cause, names: &[String]) {
        for name in names {
            if self.names.get(name) == Some(&NameUse::ReservedBy(cause.sender)) {
                self.names.remove(name);
            }
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
        if instance.registrar() != cause.sender || self.instances.contains_key(&instance) {
            return Err(ProtocolError(format!(
                "{} registered {instance}, which is not its next handle",
                cause.sender
            )));
        }
        let published = self.member_mut(cause.sender)?.published.get(&class);
        let Some(published) = published.cloned() else {
            return Err(ProtocolError(format!(
                "{} registered an instance of class {class}, which it does not publish",
                cause.sender
            )));
        };
        if let Some(name) = &name {
            if self.names.get(name) != Some(&NameUse::ReservedBy(cause.sender)) {
                return Err(ProtocolError(format!(
                    "{} registered '{name}', which it has not reserved",
                    cause.sender
                )));
            }
            self.names.insert(name.clone(), NameUse::Instance(instance));
        }
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
        let new = Instance {
            class,
            name,
            owners,
            updates: 0,
            known: BTreeMap::from([(cause.sender, class)]),
            locally_deleted: BTreeSet::new(),
            transportations: BTreeMap::new(),
        };
        self.instances.insert(instance, new);
        self.by_class.entry(class).or_default().insert(instance);
        self.associate_at_registration(cause, instance, class, regions)?;
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
            found.extend(self.by_class.get(&c).into_iter().flatten().copied());
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
            let Some(instance) = self.instances.get(handle) else {
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
            if let Some(instance) = self.instances.get_mut(&d.instance) {
                instance.known.insert(federate, d.known_class);
                instance.locally_deleted.remove(&federate);
            }
            self.touch(d.instance);
        }
        let found: Vec<_> = list.iter().map(|d| (d.instance, d.known_class)).collect();
        self.log
            .tell(cause, &[federate], &EntryBody::Discover(list));
        self.offer_discovered(cause, federate, &found);
        if self.model.switches().auto_provide {
            self.provide(cause, wanted, Vec::new());
        }
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
    ) {
        if self.owner(handle, self.privilege_to_delete()) == Some(cause.sender.into()) {
            self.remove_instance(cause, handle, cause.sender, &tag);
        } else if self.instances.contains_key(&handle) {
            self.refused += 1;
        }
    }

    /// Takes an instance out of the federation execution and tells those who know it.
    pub(crate) fn remove_instance(
        &mut self,
        cause: impl Into<Option<Cause>>,
        handle: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: &[u8],
    ) {
        let Some(gone) = self.instances.remove(&handle) else {
            return;
        };
        if let Some(at_class) = self.by_class.get_mut(&gone.class) {
            at_class.remove(&handle);
        }
        if let Some(name) = gone.name {
            self.names.remove(&name);
        }
        self.forget_associations(handle);
        self.forget_transfers(handle);
        let audience = gone.known.keys().copied().filter(|f| *f != producer);
        let audience: Vec<_> = audience.collect();
        self.touch(handle);
        let removed = EntryBody::Remove {
            instance: handle,
            producer,
            tag: tag.to_vec(),
        };
        self.log.tell(cause, &audience, &removed);
    }

    /// Local Delete Object Instance, §6.16.
    pub(crate) fn local_delete_object(&mut self, cause: Cause, handle: ObjectInstanceHandle) {
        if let Some(instance) = self.instances.get_mut(&handle) {
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
    ) {
        let of_class = |i: &Instance| self.model.is_subclass_or_same(i.class, class);
        let all = self.instances.iter();
        let instances: Vec<_> = all.filter(|(_, i)| of_class(i)).map(|(h, _)| *h).collect();
        self.ask_owners(cause, &instances, attributes, tag);
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
        for (owner, handle, attribute) in list {
            let Owner::Federate(owner) = owner else {
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
                .tell(cause, &[owner], &EntryBody::ProvideUpdate { wanted, tag });
        }
    }

    /// Whom a data frame of `sender` goes to (§6.10, §6.12), into `peers`.
    pub(crate) fn data(
        &mut self,
        sender: FederateHandle,
        data: &Data<'_>,
        peers: &mut Vec<PeerId>,
    ) -> Result<(), ProtocolError> {
        if data.sender != sender {
            return Err(ProtocolError(format!(
                "{sender} sent a frame as {}",
                data.sender
            )));
        }
        self.log.require_past(sender, &data.after)?;
        let mut to = std::mem::take(&mut self.receivers);
        to.clear();
        let seen = (sender, data.after.index);
        let (model, subscriptions) = (&self.model, &self.subscriptions);
        match data.body {
            DataBody::Update { instance, payload } => {
                let Some(known) = self.instances.get_mut(&instance) else {
                    // Deleted at this point of the log; every receiver is told so before.
                    self.receivers = to;
                    return Ok(());
                };
                // Its LRC knows what it owns, since it gives away only by requests on this link.
                let owner = Some(Owner::Federate(sender));
                let owns = |slot: u32| known.owners.get(slot as usize) == Some(&owner);
                if !payload.values.iter().all(|(slot, _)| owns(slot)) {
                    self.refused += 1;
                    self.receivers = to;
                    return Ok(());
                }
                known.updates += 1;
                if let Some(address) = payload.address {
                    named(address, sender, &mut to);
                } else {
                    let (class, values) = (known.class, payload.values);
                    self.routes
                        .update(model, subscriptions, seen, class, values, &mut to);
                }
            }
            DataBody::Interaction { class, payload } => {
                if model.interaction_class(class).is_none() {
                    return Err(ProtocolError(format!(
                        "{sender} sent an interaction of class {class}, which the FDD does not have"
                    )));
                }
                *self.interactions_sent.entry(class).or_default() += 1;
                if let Some(address) = payload.address {
                    named(address, sender, &mut to);
                } else {
                    self.routes
                        .interaction(model, subscriptions, seen, class, &mut to);
                }
            }
            DataBody::Fence { .. } => {
                return Err(ProtocolError("a fence came by way of the executive".into()));
            }
        }
        if let DataBody::Update { instance, .. } = data.body {
            self.discover_again(instance, &to);
        }
        peers.extend(to.iter().filter_map(|f| self.log.catch_up(*f)));
        self.receivers = to;
        Ok(())
    }

    /// An update comes for federates of which some have deleted its instance locally: these
    /// discover it again, if they still can (§6.16).
    fn discover_again(&mut self, handle: ObjectInstanceHandle, to: &[FederateHandle]) {
        let deleted = |i: &Instance| !i.locally_deleted.is_empty();
        let Some(instance) = self.instances.get(&handle).filter(|i| deleted(i)) else {
            return;
        };
        let again = to.iter().filter(|f| instance.locally_deleted.contains(f));
        for federate in again.copied().collect::<Vec<_>>() {
            self.log.advance();
            self.discover(None, federate, &[handle]);
        }
        self.advise(None);
    }

    /// The FDD has grown: new attributes of existing instances have no owner yet.
    pub(crate) fn grow_instances(&mut self) {
        for instance in self.instances.values_mut() {
            if let Some(class) = self.model.object_class(instance.class) {
                instance.owners.resize(class.attributes.len(), None);
            }
        }
    }

    /// Instances that a federate may delete.
    pub(crate) fn deletable_by(&self, federate: FederateHandle) -> Vec<ObjectInstanceHandle> {
        let privilege = self.privilege_to_delete();
        let all = self.instances.keys().copied();
        all.filter(|h| self.owner(*h, privilege) == Some(federate.into()))
            .collect()
    }

    /// Gives the attribute at a slot to an owner, or to none. With its owner an
    /// attribute loses a transportation type that was not the FDD's (§6.23).
    pub(crate) fn set_owner(
        &mut self,
        handle: ObjectInstanceHandle,
        slot: usize,
        owner: Option<Owner>,
    ) {
        if let Some(instance) = self.instances.get_mut(&handle)
            && let Some(now) = instance.owners.get_mut(slot)
            && *now != owner
        {
            *now = owner;
            instance.transportations.remove(&slot);
            self.touch(handle);
        }
    }

    /// The attribute that carries the privilege to delete.
    pub(crate) fn privilege_to_delete(&self) -> Option<AttributeHandle> {
        let root = self.model.object_classes().next()?;
        self.model
            .attribute_by_name(root.handle, PRIVILEGE_TO_DELETE)
    }

    pub(crate) fn owner(
        &self,
        instance: ObjectInstanceHandle,
        attribute: Option<AttributeHandle>,
    ) -> Option<Owner> {
        let instance = self.instances.get(&instance)?;
        let slot = self.model.object_class(instance.class)?.slot(attribute?)?;
        *instance.owners.get(slot as usize)?
    }

    /// The slot of an instance's attribute.
    pub(crate) fn slot(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<usize> {
        let class = self.instances.get(&instance)?.class;
        let slot = self.model.object_class(class)?.slot(attribute)?;
        Some(slot as usize)
    }
}

/// The receivers that the sender of a frame names, ascending, into `to`.
fn named(address: Address<'_>, sender: FederateHandle, to: &mut Vec<FederateHandle>) {
    to.extend(address.receivers().filter(|f| *f != sender));
    to.sort_unstable();
    to.dedup();
}
