//! What a federate knows of object instances and their names.

use super::advisories::InstanceSwitches;
use super::receive::{Prepared, SlotMap, Wanted};
use super::transportation::Changes;
use crate::handles::HandleMap;
use crate::message::object::instance_of_default_name;
use crate::message::{RequestNumber, default_instance_name};
use crate::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, ObjectModel,
    Order, Transportation,
};
use starling_fom::Switches;
use std::collections::{BTreeMap, BTreeSet};

/// Of no more instances that are not known for now it is remembered how they count.
const COUNTED_MAX: usize = 65_536;

/// An object instance as a federate knows it.
pub(crate) struct Instance {
    pub(super) registered_class: ObjectClassHandle,
    pub(super) known_class: ObjectClassHandle,
    pub(super) name: Option<String>,
    /// Attributes owned by this federate, ascending.
    pub(super) owned: Vec<AttributeHandle>,
    /// Transportation types of owned attributes.
    pub(super) transportations: Changes<AttributeHandle>,
    /// What is said of owned attributes by their slots, once found. Changed by what forgets it: ownership,
    /// transportation and order types.
    pub(super) owned_slots: Option<OwnedSlots>,
    /// As what its values are received, once found.
    pub(super) received_as: Option<Prepared<SlotMap<AttributeHandle>>>,
    /// Order types of owned attributes, where they are not the FDD's.
    pub(super) orders: BTreeMap<AttributeHandle, Order>,
    /// Attributes that this federate was told are in scope.
    pub(super) in_scope: BTreeSet<AttributeHandle>,
    /// This federate has updated it.
    pub(super) updated: bool,
    /// This federate has had a reflection of it.
    pub(super) reflected: bool,
    /// Registered here, or the discovery has been delivered.
    pub(super) discovered: bool,
    /// The log has removed it; the removal is not delivered yet.
    pub(super) removed: bool,
    /// It was removed in receive order, so that nobody gets updates of it any more. One in time-stamp order may
    /// come here before others come to its time.
    pub(super) gone: bool,
}

/// Slots below 64 of owned attributes, as bits.
#[derive(Clone, Copy)]
pub(super) struct OwnedSlots {
    /// Those that travel reliably.
    pub(super) reliable: u64,
    /// Those that travel by best effort.
    pub(super) best_effort: u64,
    /// Those whose order type is time-stamp order.
    pub(super) timely: u64,
}

impl Instance {
    #[inline]
    pub(crate) fn registered_class(&self) -> ObjectClassHandle {
        self.registered_class
    }

    #[inline]
    pub(crate) fn known_class(&self) -> ObjectClassHandle {
        self.known_class
    }

    /// Its name; `handle` is its own.
    pub(crate) fn name(&self, handle: ObjectInstanceHandle) -> String {
        let name = self.name.clone();
        name.unwrap_or_else(|| default_instance_name(handle))
    }

    /// Whether the federate has registered or discovered it.
    #[inline]
    pub(crate) fn is_discovered(&self) -> bool {
        self.discovered
    }

    /// Whether the federate has updated it, and its removal does not wait for delivery.
    #[inline]
    pub(super) fn is_updated(&self) -> bool {
        self.updated & self.discovered & !self.removed
    }

    /// Whether this federate has had a reflection of it, and owns nothing of it.
    #[inline]
    pub(super) fn is_reflected(&self) -> bool {
        self.reflected & self.discovered & self.owned.is_empty()
    }

    /// Attributes owned by this federate, ascending.
    pub(crate) fn owned(&self) -> &[AttributeHandle] {
        &self.owned
    }

    /// Whether this federate owns an attribute.
    #[inline]
    pub(crate) fn owns(&self, attribute: AttributeHandle) -> bool {
        self.owned.binary_search(&attribute).is_ok()
    }

    /// This federate owns an attribute from now on.
    pub(crate) fn own(&mut self, attribute: AttributeHandle) {
        self.owned_slots = None;
        if let Err(at) = self.owned.binary_search(&attribute) {
            self.owned.insert(at, attribute);
        }
    }

    /// This federate acts no more as the owner of an attribute, which may come back to it as it
    /// was; whether it did.
    pub(crate) fn suspend(&mut self, attribute: AttributeHandle) -> bool {
        self.owned_slots = None;
        let found = self.owned.binary_search(&attribute);
        found.map(|at| self.owned.remove(at)).is_ok()
    }

    /// An attribute is no longer this federate's. Whether it was.
    pub(crate) fn disown(&mut self, attribute: AttributeHandle) -> bool {
        let owned = self.suspend(attribute);
        if owned {
            self.forget_changes(attribute);
        }
        owned
    }

    /// What differs from the FDD goes with the ownership (1516.1-2010, 6.23 and 8.23).
    pub(crate) fn forget_changes(&mut self, attribute: AttributeHandle) {
        self.owned_slots = None;
        self.transportations.forget(attribute);
        self.orders.remove(&attribute);
    }

    /// A change of its transportation type is confirmed.
    pub(super) fn confirm_transportation(&mut self, attribute: AttributeHandle) {
        self.owned_slots = None;
        self.transportations.confirm(attribute);
    }

    fn find_owned_slots(&self, model: &ObjectModel) -> OwnedSlots {
        let class = model.object_class(self.registered_class);
        let mut slots = OwnedSlots {
            reliable: 0,
            best_effort: 0,
            timely: 0,
        };
        for attribute in &self.owned {
            let slot = class.and_then(|c| c.slot(*attribute));
            let Some(slot) = slot.filter(|slot| *slot < 64) else {
                continue;
            };
            let of_fdd = model.attribute(*attribute);
            let how = self.transportations.get(*attribute);
            let how = how.or(of_fdd.map(|a| a.transportation));
            let order = self.order(*attribute).or(of_fdd.map(|a| a.order));
            match how.unwrap_or(Transportation::Reliable) {
                Transportation::Reliable => slots.reliable |= 1 << slot,
                Transportation::BestEffort => slots.best_effort |= 1 << slot,
            }
            slots.timely |= u64::from(order == Some(Order::TimeStamp)) << slot;
        }
        slots
    }

    /// The order type of an owned attribute, if it is not the FDD's.
    pub(crate) fn order(&self, attribute: AttributeHandle) -> Option<Order> {
        self.orders.get(&attribute).copied()
    }

    pub(crate) fn set_order(&mut self, attribute: AttributeHandle, order: Order) {
        self.owned_slots = None;
        self.orders.insert(attribute, order);
    }

    /// Its removal waits for delivery now, or no longer; whether it did before.
    pub(crate) fn set_removed(&mut self, removed: bool) -> bool {
        std::mem::replace(&mut self.removed, removed)
    }
}

/// What a joined federate knows of this chapter.
pub(crate) struct FederateObjects {
    pub(super) instances: HandleMap<ObjectInstanceHandle, Instance>,
    /// Names of own and discovered instances, but for default ones.
    pub(super) names: BTreeMap<String, ObjectInstanceHandle>,
    /// Names reserved by this federate and not used yet.
    pub(super) reserved: BTreeSet<String>,
    /// The number of the last instance registered here.
    pub(super) last: u32,
    /// Attributes of queued Provide Attribute Value Update.
    pub(super) wanted: BTreeMap<Wanted, BTreeSet<AttributeHandle>>,
    /// Transportation types of interaction classes sent by this federate.
    pub(super) transportations: Changes<InteractionClassHandle>,
    pub(super) switches: InstanceSwitches,
    /// Instances deleted locally and neither discovered again nor removed since, by requests that may not
    /// be in the log yet.
    pub(super) locally_deleted: BTreeMap<ObjectInstanceHandle, RequestNumber>,
    /// Of these, those whose discovery was asked for last by this request, for a data frame that came.
    pub(super) asked_again: BTreeMap<ObjectInstanceHandle, RequestNumber>,
    /// Instances that are not known and may be again, deleted locally or by a message that may be retracted: whether they
    /// count as updated, and as reflected (11.2).
    pub(super) counted: BTreeMap<ObjectInstanceHandle, (bool, bool)>,
}

impl FederateObjects {
    /// Of a federate that has just joined.
    pub(crate) fn new(fdd: &Switches) -> Self {
        FederateObjects {
            instances: HandleMap::default(),
            names: BTreeMap::new(),
            reserved: BTreeSet::new(),
            last: 0,
            wanted: BTreeMap::new(),
            transportations: Changes::default(),
            switches: InstanceSwitches::of_fdd(fdd),
            locally_deleted: BTreeMap::new(),
            asked_again: BTreeMap::new(),
            counted: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, instance: ObjectInstanceHandle) -> Option<&Instance> {
        self.instances.get(&instance)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, instance: ObjectInstanceHandle) -> Option<&mut Instance> {
        self.instances.get_mut(&instance)
    }

    /// Gets an instance ready for updates as most are.
    #[inline]
    pub(super) fn prepare(&mut self, instance: ObjectInstanceHandle, model: &ObjectModel) {
        if let Some(known) = self.instances.get_mut(&instance)
            && known.owned_slots.is_none()
        {
            known.owned_slots = Some(known.find_owned_slots(model));
        }
    }

    /// All instances, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjectInstanceHandle, &Instance)> {
        self.instances.iter().map(|(handle, i)| (*handle, i))
    }

    /// All instances, to be changed, in no order.
    pub(crate) fn iter_mut(
        &mut self,
    ) -> impl Iterator<Item = (ObjectInstanceHandle, &mut Instance)> {
        self.instances.iter_mut().map(|(handle, i)| (*handle, i))
    }

    /// The instance of this name, if it was registered or discovered here.
    pub(crate) fn named(&self, name: &str) -> Option<ObjectInstanceHandle> {
        let named = self.names.get(name).copied();
        named.or_else(|| {
            let instance = instance_of_default_name(name)?;
            let known = self.instances.get(&instance)?;
            (known.discovered && known.name.is_none()).then_some(instance)
        })
    }

    /// Puts an instance in that is registered here, or again what was taken out.
    pub(crate) fn put(&mut self, instance: ObjectInstanceHandle, known: Instance) {
        if let Some(name) = &known.name {
            self.names.insert(name.clone(), instance);
        }
        self.instances.insert(instance, known);
    }

    /// Takes an instance out, and its name, unless that is another's already: one that was
    /// registered since, and discovered before the removal was delivered.
    pub(crate) fn take(&mut self, instance: ObjectInstanceHandle) -> Option<Instance> {
        let known = self.instances.remove(&instance)?;
        if let Some(name) = &known.name
            && self.names.get(name) == Some(&instance)
        {
            self.names.remove(name);
        }
        Some(known)
    }

    /// An instance that was deleted locally is discovered again, or gone for all.
    pub(super) fn forget_deletion(&mut self, instance: ObjectInstanceHandle) {
        self.locally_deleted.remove(&instance);
        self.asked_again.remove(&instance);
        self.counted.remove(&instance);
    }

    /// An instance is known no more, and may be again: it is the same one then.
    pub(crate) fn remember_counted(&mut self, instance: ObjectInstanceHandle, known: &Instance) {
        if known.updated || known.reflected {
            self.counted
                .insert(instance, (known.updated, known.reflected));
        }
        if self.counted.len() > COUNTED_MAX {
            // Which must do: who is told that a deletion is for good is only who needs to be.
            self.counted.pop_first();
        }
    }

    /// An interaction class is sent no more: its transportation type is the FDD's again.
    pub(crate) fn forget_transportation(&mut self, class: InteractionClassHandle) {
        self.transportations.forget(class);
    }
}
