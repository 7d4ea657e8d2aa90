//! Object instances and their names as the executive knows them.
//!
//! Invariant: `by_class`, `names` and `deletable` mirror `instances`.

use super::advisories::Told;
use crate::handles::HandleMap;
use crate::kept::{ENTRY_BYTES, Kept};
use crate::message::object::instance_of_default_name;
use crate::message::{LogIndex, default_instance_name};
use crate::{
    FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, Owner,
    Transportation, Values,
};
use std::collections::{BTreeMap, BTreeSet};

/// An object instance as the federation execution knows it.
pub(crate) struct Instance {
    pub(super) class: ObjectClassHandle,
    /// The reserved name, or none: the default name.
    pub(super) name: Option<String>,
    /// Owner by slot of the registered class.
    pub(super) owners: Vec<Option<Owner>>,
    /// Data frames that have come for it, and updates that the RTI has told of its own.
    pub(super) updates: u64,
    /// Federates that know it: its registrar, and those told of it.
    pub(super) known: BTreeMap<FederateHandle, Known>,
    /// Federates that have deleted it locally: they discover it again with its next update.
    pub(super) locally_deleted: BTreeSet<FederateHandle>,
    /// By slot: transportation types that are not the FDD's.
    pub(super) transportations: BTreeMap<u32, Transportation>,
}

/// That a federate knows an object instance.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) class: ObjectClassHandle,
    /// How many updates of it had come by then.
    pub(super) from: u64,
    /// A deletion was retracted whose removal may have been delivered: it has still to say whether it was.
    pub(super) asked: Option<LogIndex>,
}

/// Why an object instance name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameUse {
    /// Reserved, not yet registered.
    ReservedBy(FederateHandle),
    /// The name of an instance.
    Instance(ObjectInstanceHandle),
}

impl Instance {
    /// The registered class.
    pub(crate) fn class(&self) -> ObjectClassHandle {
        self.class
    }

    /// Owners by slot of the registered class.
    pub(crate) fn owners(&self) -> &[Option<Owner>] {
        &self.owners
    }

    pub(crate) fn owner_at(&self, slot: usize) -> Option<Owner> {
        *self.owners.get(slot)?
    }

    /// The slots of these values as bits, if `owner` owns all of them and they are of the first 64.
    #[inline]
    pub(super) fn owned_slots(&self, owner: Owner, values: Values<'_>) -> Option<u64> {
        let owners = &self.owners[..self.owners.len().min(64)];
        let mut bits = 0;
        for (slot, _) in values.iter() {
            if owners.get(slot as usize) != Some(&Some(owner)) {
                return None;
            }
            bits |= 1 << slot;
        }
        Some(bits)
    }

    /// Updates of it that have come by here.
    pub(crate) fn updates(&self) -> u64 {
        self.updates
    }

    /// The RTI updates what it owns of it.
    pub(crate) fn note_own_update(&mut self) {
        self.updates += 1;
    }

    /// The class at which a federate knows it, if it does.
    pub(crate) fn known_class(&self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        self.known.get(&federate).map(|k| k.class)
    }

    /// Updates of it that have come by here since a federate discovered it.
    pub(crate) fn updates_since_known(&self, federate: FederateHandle) -> u64 {
        let known = self.known.get(&federate);
        known.map_or(0, |k| self.updates.saturating_sub(k.from))
    }

    /// Federates that know it, ascending.
    pub(crate) fn knowing(&self) -> impl Iterator<Item = FederateHandle> {
        self.known.keys().copied()
    }

    /// A federate knows it, at this class.
    pub(crate) fn set_known(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        let from = self.updates;
        let known = Known {
            class,
            from,
            asked: None,
        };
        self.known.insert(federate, known);
    }

    /// A federate that knows it is asked whether it does.
    pub(crate) fn ask_known(&mut self, federate: FederateHandle, asked: LogIndex) {
        if let Some(known) = self.known.get_mut(&federate) {
            known.asked = Some(asked);
        }
    }

    /// A federate answers whether it knows it; whether it was asked that last, and does not.
    pub(crate) fn answer_known(
        &mut self,
        federate: FederateHandle,
        asked: LogIndex,
        knows: bool,
    ) -> bool {
        let known = self.known.get_mut(&federate);
        let Some(known) = known.filter(|k| k.asked == Some(asked)) else {
            return false;
        };
        known.asked = None;
        !knows && self.known.remove(&federate).is_some()
    }

    /// A federate knows it no more; the class at which it did, and what it has still to answer of that.
    pub(crate) fn forget_known(
        &mut self,
        federate: FederateHandle,
    ) -> Option<(ObjectClassHandle, Option<LogIndex>)> {
        let known = self.known.remove(&federate)?;
        Some((known.class, known.asked))
    }

    /// About what is kept of it, in bytes, but for what others make of it.
    pub(super) fn bytes(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| name_bytes(name));
        5 * ENTRY_BYTES + size_of_val(self.owners.as_slice()) + name
    }

    /// Its name; `handle` is its own.
    pub(crate) fn name(&self, handle: ObjectInstanceHandle) -> String {
        let name = self.name.clone();
        name.unwrap_or_else(|| default_instance_name(handle))
    }
}

/// About what is kept of a reserved name, in bytes.
pub(super) fn name_bytes(name: &str) -> usize {
    name.len() + 2 * ENTRY_BYTES
}

/// What the executive knows of this chapter.
#[derive(Default)]
pub(crate) struct ExecutionObjects {
    pub(super) instances: BTreeMap<ObjectInstanceHandle, Instance>,
    pub(super) by_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    pub(super) names: BTreeMap<String, NameUse>,
    /// Instances by the federate that owns the privilege to delete.
    pub(super) deletable: BTreeSet<(FederateHandle, ObjectInstanceHandle)>,
    /// Of the names reserved and not yet registered.
    pub(super) reserved: Kept,
    /// Of the instances.
    pub(super) registered: Kept,
    /// The number of the last instance that each federate has registered.
    pub(super) last: BTreeMap<FederateHandle, u32>,
    /// Advisories.
    pub(super) told: Told,
    /// Transportation types of interaction classes by their senders, where they are not the FDD's.
    pub(super) transportations: BTreeMap<(FederateHandle, InteractionClassHandle), Transportation>,
    /// Data frames that have come, by class sent; only of classes in the FDD.
    pub(super) interactions_sent: HandleMap<InteractionClassHandle, u64>,
    /// Deletions and updates by federates that do not own what it takes, dropped.
    pub(super) refused: u64,
    /// Deletions and updates that came behind the deletion of their instance, dropped.
    pub(super) behind_deletion: u64,
}

impl ExecutionObjects {
    #[inline]
    pub(crate) fn get(&self, instance: ObjectInstanceHandle) -> Option<&Instance> {
        self.instances.get(&instance)
    }

    pub(crate) fn get_mut(&mut self, instance: ObjectInstanceHandle) -> Option<&mut Instance> {
        self.instances.get_mut(&instance)
    }

    /// The handle of the next instance that a federate registers. No other is taken: a former one
    /// may still be known to who has not come to its removal, and chosen numbers could make all
    /// federates' maps slow.
    pub(super) fn next_of(&self, federate: FederateHandle) -> Option<ObjectInstanceHandle> {
        let last = self.last.get(&federate).copied().unwrap_or_default();
        Some(ObjectInstanceHandle::new(federate, last.checked_add(1)?))
    }

    /// An instance is registered.
    pub(super) fn register(&mut self, handle: ObjectInstanceHandle, instance: Instance) {
        if let Owner::Federate(registrar) = handle.registrar() {
            self.last.insert(registrar, handle.number());
            self.registered.add(registrar, instance.bytes());
        }
        let of_class = self.by_class.entry(instance.class).or_default();
        of_class.insert(handle);
        self.instances.insert(handle, instance);
    }

    /// The privilege to delete an instance goes from an owner to another.
    pub(super) fn pass_privilege(
        &mut self,
        handle: ObjectInstanceHandle,
        from: Option<Owner>,
        to: Option<Owner>,
    ) {
        if let Some(former) = from.and_then(Owner::federate) {
            self.deletable.remove(&(former, handle));
        }
        if let Some(owner) = to.and_then(Owner::federate) {
            self.deletable.insert((owner, handle));
        }
    }

    /// Instances of which a federate owns the privilege to delete, ascending.
    pub(super) fn deletable(
        &self,
        by: FederateHandle,
    ) -> impl Iterator<Item = ObjectInstanceHandle> {
        let [first, last] = [0, u64::MAX].map(ObjectInstanceHandle);
        let own = self.deletable.range((by, first)..=(by, last));
        own.map(|(_, instance)| *instance)
    }

    /// An instance is gone, and its name free.
    pub(super) fn take(&mut self, handle: ObjectInstanceHandle) -> Option<Instance> {
        let gone = self.instances.remove(&handle)?;
        if let Owner::Federate(registrar) = handle.registrar() {
            self.registered.take(registrar, gone.bytes());
        }
        for owner in gone.owners.iter().flatten() {
            self.pass_privilege(handle, Some(*owner), None);
        }
        if let Some(at_class) = self.by_class.get_mut(&gone.class) {
            at_class.remove(&handle);
        }
        if let Some(name) = &gone.name {
            self.names.remove(name);
        }
        Some(gone)
    }

    /// Whether a federate has deleted an instance locally and not discovered it again.
    pub(crate) fn was_deleted_locally(
        &self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> bool {
        let known = self.instances.get(&instance);
        known.is_some_and(|i| i.locally_deleted.contains(&federate))
    }

    /// Bytes, about, of instances of federates that have resigned.
    pub(crate) fn left(&self) -> usize {
        self.registered.left()
    }

    /// A name is reserved.
    pub(super) fn reserve(&mut self, name: String, by: FederateHandle) {
        self.reserved.add(by, name_bytes(&name));
        self.names.insert(name, NameUse::ReservedBy(by));
    }

    /// A reserved name is free again, or the name of an instance; whether this federate had it
    /// reserved.
    pub(super) fn take_reserved(&mut self, name: &str, by: FederateHandle) -> bool {
        let is_reserved = self.names.get(name) == Some(&NameUse::ReservedBy(by));
        if is_reserved {
            self.names.remove(name);
            self.reserved.take(by, name_bytes(name));
        }
        is_reserved
    }

    /// All instances, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjectInstanceHandle, &Instance)> {
        self.instances.iter().map(|(handle, i)| (*handle, i))
    }

    /// How many instances are not the RTI's own.
    pub(crate) fn of_federates(&self) -> usize {
        let first = ObjectInstanceHandle::new(FederateHandle(1), 0);
        self.instances.range(first..).count()
    }

    /// Puts in an instance that the RTI registers.
    pub(crate) fn put_own(
        &mut self,
        handle: ObjectInstanceHandle,
        class: ObjectClassHandle,
        owners: Vec<Option<Owner>>,
    ) {
        let new = Instance {
            class,
            name: None,
            owners,
            updates: 0,
            known: BTreeMap::new(),
            locally_deleted: BTreeSet::new(),
            transportations: BTreeMap::new(),
        };
        self.instances.insert(handle, new);
        self.by_class.entry(class).or_default().insert(handle);
    }

    /// The instance of this name.
    pub(crate) fn named(&self, name: &str) -> Option<(ObjectInstanceHandle, &Instance)> {
        let handle = match self.names.get(name) {
            Some(NameUse::Instance(handle)) => *handle,
            _ => instance_of_default_name(name)?,
        };
        let instance = self.instances.get(&handle)?;
        (instance.name(handle) == name).then_some((handle, instance))
    }

    /// Names of instances that federates have chosen.
    pub(crate) fn chosen_names(&self) -> impl Iterator<Item = &str> {
        let is_registered = |used: &NameUse| matches!(used, NameUse::Instance(_));
        let names = self
            .names
            .iter()
            .filter(move |(_, used)| is_registered(used));
        names.map(|(name, _)| name.as_str())
    }

    /// Deletions and updates by federates that do not own what it takes, dropped.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Deletions and updates that came behind the deletion of their instance, dropped.
    pub(crate) fn behind_deletion(&self) -> u64 {
        self.behind_deletion
    }

    /// A federate does not know an instance any more of which it was told what is in scope.
    pub(crate) fn forget_scope(
        &mut self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) {
        self.told.scope.remove(&(federate, instance));
    }

    /// Interactions that have come, by class sent, in no order.
    pub(crate) fn interactions_sent(&self) -> impl Iterator<Item = (InteractionClassHandle, u64)> {
        self.interactions_sent.iter().map(|(c, count)| (*c, *count))
    }

    /// A federate is gone, and with it what it reserved and how its interactions travelled.
    pub(crate) fn forget_federate(&mut self, federate: FederateHandle) {
        let reserved = NameUse::ReservedBy(federate);
        self.names.retain(|_, used| *used != reserved);
        self.reserved.forget(federate);
        self.registered.leave(federate);
        self.last.remove(&federate);
        self.transportations.retain(|(f, _), _| *f != federate);
    }

    /// A federate publishes an interaction class no more: it travels as the FDD says again.
    pub(crate) fn forget_transportation(
        &mut self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        self.transportations.remove(&(federate, class));
    }
}
