//! Object management, chapter 6.

use crate::message::{LogIndex, RequestNumber};
use crate::{
    AttributeHandle, FederateHandle, InstanceSwitches, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Order, Owner, Transportation,
};
use std::collections::{BTreeMap, BTreeSet};

/// At the executive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// All object instances.
    pub instances: BTreeMap<ObjectInstanceHandle, Instance>,
    /// Names that are reserved and not registered, and by whom.
    pub reserved: BTreeMap<String, FederateHandle>,
    /// The number of the last instance that each federate registered.
    pub last: BTreeMap<FederateHandle, u32>,
    /// Transportation types of interaction classes by their senders, where they are not the FDD's.
    pub transportations: BTreeMap<(FederateHandle, InteractionClassHandle), Transportation>,
    /// Advisories.
    pub told: Told,
    /// Interactions that have come, by class sent.
    pub interactions_sent: BTreeMap<InteractionClassHandle, u64>,
    /// Deletions and updates by federates that do not own what it takes, dropped.
    pub refused: u64,
    /// Deletions and updates that came behind the deletion of their instance, dropped.
    pub behind_deletion: u64,
}

/// An object instance at the executive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The registered class.
    pub class: ObjectClassHandle,
    /// The reserved name, or none: the default name.
    pub name: Option<String>,
    /// Owner by slot of the registered class.
    pub owners: Vec<Option<Owner>>,
    /// Data frames that have come for it, and updates that the RTI has told of its own.
    pub updates: u64,
    /// Federates that know it, with their known class, how many of the updates had come before, and whether
    /// they have still to say so.
    pub known: BTreeMap<FederateHandle, (ObjectClassHandle, u64, Option<LogIndex>)>,
    /// Federates that have deleted it locally: they discover it again with its next update.
    pub locally_deleted: BTreeSet<FederateHandle>,
    /// By slot: transportation types that are not the FDD's.
    pub transportations: BTreeMap<u32, Transportation>,
}

/// What federates were told of scope and relevance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Of those federates that have any of them on.
    pub switches: BTreeMap<FederateHandle, InstanceSwitches>,
    /// Attributes in scope.
    pub scope: BTreeMap<(FederateHandle, ObjectInstanceHandle), BTreeSet<AttributeHandle>>,
    /// Wanted attributes, with the update rate designator, empty for none.
    pub relevance:
        BTreeMap<(FederateHandle, ObjectInstanceHandle), BTreeMap<AttributeHandle, String>>,
    /// Instances to be looked at with the next request.
    pub touched: BTreeSet<ObjectInstanceHandle>,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// Instances that it knows, or is about to discover.
    pub instances: BTreeMap<ObjectInstanceHandle, KnownInstance>,
    /// Names that it has reserved and not used yet.
    pub reserved: BTreeSet<String>,
    /// The number of the last instance that it registered.
    pub last_instance: u32,
    /// Attributes of Provide Attribute Value Update that wait for delivery.
    pub wanted: BTreeMap<Wanted, BTreeSet<AttributeHandle>>,
    /// Of interaction classes that it sends.
    pub transportations: TransportationChanges<InteractionClassHandle>,
    /// Its switches.
    pub switches: InstanceSwitches,
    /// Instances deleted locally by requests that may not be in the log yet.
    pub locally_deleted: BTreeMap<ObjectInstanceHandle, RequestNumber>,
    /// Instances that it does not know and may know again: whether they count as updated, and as reflected.
    pub counted: BTreeMap<ObjectInstanceHandle, (bool, bool)>,
}

/// An object instance at a federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownInstance {
    /// The registered class.
    pub registered_class: ObjectClassHandle,
    /// The class at which the federate knows it.
    pub known_class: ObjectClassHandle,
    /// Its name.
    pub name: String,
    /// Attributes owned by this federate, ascending.
    pub owned: Vec<AttributeHandle>,
    /// Transportation types of owned attributes.
    pub transportations: TransportationChanges<AttributeHandle>,
    /// Order types of owned attributes, where they are not the FDD's.
    pub orders: BTreeMap<AttributeHandle, Order>,
    /// Attributes that this federate was told are in scope.
    pub in_scope: BTreeSet<AttributeHandle>,
    /// This federate has updated it.
    pub updated: bool,
    /// This federate has had a reflection of it.
    pub reflected: bool,
    /// Registered here, or the discovery has been delivered.
    pub discovered: bool,
    /// The log has removed it; the removal is not delivered yet.
    pub removed: bool,
    /// It was removed in receive order.
    pub gone: bool,
}

/// Transportation types that are not the FDD's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportationChanges<H: Ord> {
    /// In effect.
    pub changed: BTreeMap<H, Transportation>,
    /// Asked for and not confirmed yet.
    pub changing: BTreeMap<H, Transportation>,
}

/// A request for values of an instance that waits for delivery.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The object instance.
    pub instance: ObjectInstanceHandle,
    /// User-supplied tag.
    pub tag: Vec<u8>,
    /// How many acquisitions had come before it: the values of what is acquired are not asked for
    /// before its notification.
    pub acquisitions: u64,
}
