//! Object management at the receiving federate: from applied entries and data to callbacks.
//!
//! A subscription counts from its place in the log: a value is delivered if its sender had applied
//! that place when it sent it. So a subscription ended and made again is a new one, and what was
//! sent for the old one can't leave a gap in it (found by the simulator).

mod maps;
mod plain;
mod timed;

pub(super) use maps::Prepared;
pub(crate) use maps::{ReceiveMaps, SlotMap};
pub(crate) use plain::Reflected;

use maps::ReceivedAs;

use super::known::Instance;
use super::transportation::Changes;
use crate::callback::{Callback, NamedValues};
use crate::content::Content;
use crate::delivery::{Plain, Timed};
use crate::held::Held;
use crate::message::object::{Entry, Request};
use crate::message::{Data, DataBody, Discovery, LogIndex, Payload, PayloadBuf, Stamp};
use crate::traffic::note;
use crate::{
    AttributeHandle, Batch, DataPath, Federate, FederateHandle, InteractionClassHandle,
    LogicalTime, ObjectClassHandle, ObjectInstanceHandle, Order, ProtocolError, Transportation,
};
use starling_fom::ObjectModel;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A callback of this chapter that is not delivered yet. What depends on the federate's
/// subscriptions is decided at delivery.
#[derive(Debug)]
pub(crate) enum QueuedObject {
    /// (Multiple) Object Instance Name(s) Reserved.
    NamesReserved {
        names: Vec<String>,
        multiple: bool,
        succeeded: bool,
    },
    Discover(ObjectInstanceHandle),
    Reflect {
        instance: ObjectInstanceHandle,
        received: Received,
    },
    Receive {
        class: InteractionClassHandle,
        received: Received,
    },
    Remove {
        instance: ObjectInstanceHandle,
        tag: Vec<u8>,
        producer: FederateHandle,
        stamp: Option<Box<Stamp>>,
        order: Order,
    },
    /// Of those in `FederateObjects::wanted`.
    Provide(Wanted),
    /// Confirmation or report of a transportation type.
    Transportation(Box<Entry>),
    /// Attributes In or Out Of Scope.
    Scope {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        inside: bool,
    },
    /// Turn Updates On (with this rate designator) or Off For Object Instance.
    Updates {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        rate: Option<Box<str>>,
    },
}

/// Values that have come.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) payload: PayloadBuf,
    /// Up to where the sender had applied the log.
    pub(crate) sender_applied: LogIndex,
    pub(crate) sender: FederateHandle,
    /// The order in which they are received.
    pub(crate) order: Order,
    pub(crate) transportation: Transportation,
}

impl From<Plain> for QueuedObject {
    fn from(plain: Plain) -> Self {
        let received = Received {
            payload: PayloadBuf::plain(plain.piece.into()),
            sender_applied: plain.sender_applied,
            sender: plain.sender,
            order: Order::Receive,
            transportation: plain.transportation,
        };
        if plain.is_update {
            let instance = ObjectInstanceHandle(plain.what);
            QueuedObject::Reflect { instance, received }
        } else {
            let class = InteractionClassHandle::from_raw(plain.what as u32);
            QueuedObject::Receive { class, received }
        }
    }
}

impl From<Timed> for QueuedObject {
    fn from(timed: Timed) -> Self {
        let (what, is_update) = (timed.what, timed.is_update);
        let received = Received::from(timed);
        if is_update {
            let instance = ObjectInstanceHandle(what);
            QueuedObject::Reflect { instance, received }
        } else {
            let class = InteractionClassHandle::from_raw(what as u32);
            QueuedObject::Receive { class, received }
        }
    }
}

impl From<Timed> for Received {
    fn from(timed: Timed) -> Self {
        let stamp = Stamp {
            time: timed.time(),
            retraction: Some(timed.retraction.number()),
        };
        Received {
            sender: timed.sender(),
            sender_applied: timed.sender_applied,
            order: timed.order,
            transportation: timed.transportation,
            payload: PayloadBuf::timed(timed.piece.into(), stamp),
        }
    }
}

impl QueuedObject {
    /// It may wait for long: it keeps its own bytes and no more.
    pub(crate) fn detach(&mut self) {
        if let QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } =
            self
        {
            received.payload.content.detach();
        }
    }

    /// Bytes that it holds elsewhere.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                received.payload.held()
            }
            other => other.held_otherwise(),
        }
    }

    fn held_otherwise(&self) -> usize {
        match self {
            QueuedObject::NamesReserved { names, .. } => names.held(),
            QueuedObject::Remove { tag, .. } => tag.held(),
            // As long as it waits, `FederateObjects::wanted` has its tag once more, and attributes of one
            // class.
            QueuedObject::Provide((_, tag, _)) => 2 * (size_of::<Wanted>() + tag.held()),
            QueuedObject::Transportation(entry) => entry.held(),
            QueuedObject::Scope { attributes, .. } => attributes.held(),
            QueuedObject::Updates {
                attributes, rate, ..
            } => attributes.held() + rate.as_ref().map_or(0, |rate| rate.len()),
            QueuedObject::Discover(_)
            | QueuedObject::Reflect { .. }
            | QueuedObject::Receive { .. } => 0,
        }
    }

    /// The order in which it is received, if it is a message (§8.1).
    pub(crate) fn received_order(&self) -> Option<Order> {
        match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                Some(received.order)
            }
            QueuedObject::Remove { order, .. } => Some(*order),
            _ => None,
        }
    }

    pub(crate) fn set_received_order(&mut self, now: Order) {
        match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                received.order = now;
            }
            QueuedObject::Remove { order, .. } => *order = now,
            _ => {}
        }
    }

    /// The time stamp of a message that has one.
    pub(crate) fn time(&self) -> Option<LogicalTime> {
        let stamp = match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                received.payload.stamp()
            }
            QueuedObject::Remove { stamp, .. } => stamp.as_deref().copied(),
            _ => None,
        };
        Some(stamp?.time)
    }

    /// Sender and number of a message that was sent in time-stamp order.
    pub(crate) fn message(&self) -> Option<(FederateHandle, u64)> {
        let (sender, stamp) = match self {
            QueuedObject::Reflect { received, .. } | QueuedObject::Receive { received, .. } => {
                (received.sender, received.payload.stamp())
            }
            QueuedObject::Remove {
                producer, stamp, ..
            } => (*producer, stamp.as_deref().copied()),
            _ => return None,
        };
        Some((sender, stamp?.retraction?))
    }
}

/// An instance whose values are wanted, the tag of the request, and how many acquisitions had come
/// before it: the values of what is acquired are not asked for before its notification.
pub(crate) type Wanted = (ObjectInstanceHandle, Vec<u8>, u64);

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_object(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        match entry {
            Entry::NamesReserved {
                names,
                multiple,
                succeeded,
            } => self.delivery.push(QueuedObject::NamesReserved {
                names,
                multiple,
                succeeded,
            }),
            Entry::Discover(list) => {
                for discovery in list {
                    self.apply_discovery(discovery)?;
                }
            }
            Entry::Remove {
                instance,
                producer,
                tag,
                stamp,
            } => self.apply_removal(instance, producer, tag, stamp)?,
            Entry::AttributeTransportationChanged { .. }
            | Entry::AttributeTransportation { .. }
            | Entry::InteractionTransportationChanged { .. }
            | Entry::InteractionTransportation { .. } => {
                let waits = QueuedObject::Transportation(Box::new(entry));
                self.delivery.push(waits);
            }
            Entry::AttributesScope {
                instance,
                entered,
                left,
            } => self.apply_scope(instance, entered, left),
            Entry::AttributesRelevance { instance, on, off } => {
                self.apply_relevance(instance, on, off);
            }
            Entry::ProvideUpdate { wanted, tag } => self.apply_wanted(wanted, &tag),
            Entry::NotDeleted { instance, asked } => self.apply_not_deleted(instance, asked),
        }
        Ok(())
    }

    pub(crate) fn apply_discovery(&mut self, d: Discovery) -> Result<(), ProtocolError> {
        let known = |class| self.model.object_class(class).is_some();
        if !known(d.registered_class) || !known(d.known_class) {
            return Err(ProtocolError(format!(
                "{} is of a class that the FDD here does not have",
                d.instance
            )));
        }
        // A deletion of it was retracted before this federate deleted it locally.
        let deleted = self.objects.locally_deleted.get(&d.instance);
        if deleted.is_some_and(|request| *request > self.log.own_requests()) {
            return Ok(());
        }
        if self.time.take_undeleted(d.instance) || self.delivery.has_ended() {
            // It knows it still: a removal was retracted, and one that has resigned is told nothing.
            self.associate_again(d.instance);
            return Ok(());
        }
        let counted = self.objects.counted.get(&d.instance);
        let (updated, reflected) = counted.copied().unwrap_or_default();
        let mut instance = Instance {
            registered_class: d.registered_class,
            known_class: d.known_class,
            name: Some(d.name).filter(|name| !name.is_empty()),
            owned: Vec::new(),
            updated,
            reflected,
            transportations: Changes::default(),
            owned_slots: None,
            received_as: None,
            orders: BTreeMap::new(),
            in_scope: BTreeSet::new(),
            discovered: false,
            removed: false,
            gone: false,
        };
        if let Some(kept) = self.time.take_kept(d.instance) {
            // Its deletion was retracted.
            instance.owned = kept.owned;
            instance.transportations = kept.transportations;
            instance.orders = kept.orders;
        }
        if self
            .objects
            .instances
            .insert(d.instance, instance)
            .is_some()
        {
            return Err(ProtocolError(format!("{} discovered twice", d.instance)));
        }
        self.objects.forget_deletion(d.instance);
        self.delivery.push(QueuedObject::Discover(d.instance));
        Ok(())
    }

    /// A deletion was retracted, and the executive takes it that this federate knows the instance still.
    fn apply_not_deleted(&mut self, instance: ObjectInstanceHandle, asked: LogIndex) {
        let deleted = self.objects.locally_deleted.get(&instance);
        let own = deleted.is_some_and(|request| *request > self.log.own_requests());
        if own || self.delivery.has_ended() {
            return;
        }
        if self.time.take_undeleted(instance) {
            self.associate_again(instance);
        }
        let known = self.objects.instances.contains_key(&instance);
        if !known {
            self.forget_away(instance);
        }
        self.log.request(Request::AnswerNotDeleted {
            instance,
            asked,
            known,
        });
    }

    pub(crate) fn apply_removal(
        &mut self,
        instance: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: Vec<u8>,
        stamp: Option<Stamp>,
    ) -> Result<(), ProtocolError> {
        let order = self.time.received_order(stamp.as_ref());
        // If it can be retracted, the instance may come to be discovered here.
        let stamped = stamp.is_some_and(|s| s.retraction.is_some());
        if !stamped {
            self.objects.forget_deletion(instance);
        }
        let removal = QueuedObject::Remove {
            instance,
            tag,
            producer,
            stamp: stamp.map(Box::new),
            order,
        };
        // Not there: locally deleted meanwhile, or removed before, which can't be retracted any more.
        if !self.objects.instances.contains_key(&instance) {
            self.forget_away(instance);
        }
        let known = self.objects.instances.get_mut(&instance);
        // Once is enough.
        if let Some(known) = known.filter(|known| !known.gone) {
            match stamp.filter(|_| order == Order::TimeStamp) {
                Some(stamp) => self.delivery.push_in_time_order(stamp.time, removal),
                None => {
                    known.removed = true;
                    known.gone = !stamped;
                    self.delivery.push(removal);
                }
            }
        }
        self.require_withheld()
    }

    /// Requests for values of one instance with one tag become one callback, however many come
    /// before it is delivered.
    pub(crate) fn apply_wanted(
        &mut self,
        wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
        tag: &[u8],
    ) {
        for (instance, attributes) in wanted {
            let wanted = (instance, tag.to_vec(), self.ownership.acquisitions());
            match self.objects.wanted.entry(wanted.clone()) {
                Slot::Occupied(together) => {
                    self.counters.merged += 1;
                    together.into_mut().extend(attributes);
                }
                Slot::Vacant(new) => {
                    self.delivery.push(QueuedObject::Provide(wanted));
                    new.insert(attributes.into_iter().collect());
                }
            }
        }
    }

    /// A data frame whose turn is now, and the path by which it came.
    pub(crate) fn apply_data(
        &mut self,
        data: &Data<'_>,
        path: DataPath,
        batch: Option<&Batch>,
    ) -> Result<(), ProtocolError> {
        match &data.body {
            DataBody::Update { instance, payload } => {
                let instance = *instance;
                // What has to wait for its time is judged then: the instance may be known again, by a deletion that is
                // retracted.
                let waits = self.time.received_order(payload.stamp.as_ref()) == Order::TimeStamp;
                if !waits && !self.objects.instances.contains_key(&instance) {
                    self.apply_unknown(instance, data, path);
                    return Ok(());
                }
                self.push_message(data, (payload, batch), |received| QueuedObject::Reflect {
                    instance,
                    received,
                })?;
            }
            DataBody::Interaction { class, payload } => {
                let class = *class;
                if self.model.interaction_class(class).is_none() {
                    return Err(ProtocolError(format!(
                        "interaction of class {class}, which the FDD here does not have"
                    )));
                }
                self.push_message(data, (payload, batch), |received| QueuedObject::Receive {
                    class,
                    received,
                })?;
            }
            DataBody::Fence { .. } => unreachable!("the ordering layer keeps fences"),
        }
        self.counters.queued += 1;
        if !self.delivery.withholds() {
            Ok(())
        } else {
            self.require_withheld()
        }
    }

    /// A frame of an instance that is not known here. If it was deleted locally, it is discovered again with
    /// its next update (§6.16). The executive sees to that where it forwards the update; of one on a link
    /// of its own it does not know, so the federate asks, and what the sender has sent waits.
    #[cold]
    fn apply_unknown(&mut self, instance: ObjectInstanceHandle, data: &Data<'_>, path: DataPath) {
        // What came by the executive can't wait: others' data stands behind it in the same stream.
        if path == DataPath::Executive || !self.asks_again(instance, data) {
            self.counters.unknown += 1;
        }
    }

    fn asks_again(&mut self, instance: ObjectInstanceHandle, data: &Data<'_>) -> bool {
        let served = self.log.own_requests();
        let deleted = self.objects.locally_deleted.get(&instance);
        // What was on its way when it was deleted brings nothing about.
        if deleted.is_none_or(|request| *request > served)
            || data.is_in_time_order()
            || self.delivery.has_ended()
            || !self.log.can_hold_back(data.sender)
        {
            return false;
        }
        let asked = self.objects.asked_again.get(&instance).copied();
        let request = match asked {
            Some(request) if request > served => request,
            // It can't be discovered as things are. The next frame asks again.
            Some(_) => {
                self.objects.asked_again.remove(&instance);
                return false;
            }
            None => {
                let request = self.log.next_request();
                self.objects.asked_again.insert(instance, request);
                self.log.request(Request::DiscoverAgain { instance });
                request
            }
        };
        self.log.hold_back(data, request);
        true
    }

    /// Keeps what a frame says until its turn comes.
    #[inline(always)]
    fn push_message(
        &mut self,
        data: &Data<'_>,
        (payload, batch): (&Payload<'_>, Option<&Batch>),
        message: impl FnOnce(Received) -> QueuedObject,
    ) -> Result<(), ProtocolError> {
        let stamp = payload.stamp.as_ref();
        let order = match stamp {
            None => Order::Receive,
            stamp => self.time.received_order(stamp),
        };
        let transportation = payload.transportation;
        let payload = match batch {
            Some(batch) if batch.is_small() => payload.keep_within(batch),
            Some(batch) if order == Order::Receive && self.delivery.is_straight() => {
                payload.keep_within(batch)
            }
            _ => {
                payload.require_memory()?;
                payload.keep()
            }
        };
        let message = message(Received {
            payload,
            sender_applied: data.after.index,
            sender: data.sender,
            order,
            transportation,
        });
        match stamp.filter(|_| order == Order::TimeStamp) {
            Some(stamp) => self.delivery.push_in_time_order(stamp.time, message),
            None if self.delivery.conflates() => self.push_newest(message),
            None => self.delivery.push(message),
        }
        Ok(())
    }

    /// Where reflections of some classes are conflated: a message replaces one that waits, or waits behind all.
    #[cold]
    fn push_newest(&mut self, message: QueuedObject) {
        let (instance, received) = match message {
            // What has a time may be retracted.
            QueuedObject::Reflect { instance, received } if received.payload.time.is_none() => {
                (instance, received)
            }
            other => return self.delivery.push(other),
        };
        let class = self.objects.get(instance).map(|i| i.registered_class);
        let applies = self.delivery.conflation().zip(class);
        if applies.is_some_and(|(c, class)| c.applies(class, received.transportation, &self.model))
        {
            self.counters.conflated += u64::from(self.delivery.push_newest(instance, received));
        } else {
            self.delivery
                .push(QueuedObject::Reflect { instance, received });
        }
    }

    /// What a queued callback is now, if it still is one.
    #[inline(always)]
    pub(crate) fn deliver_object(&mut self, queued: QueuedObject) -> Option<Callback> {
        // In place: it is moved no more often than it must be.
        match queued {
            QueuedObject::Reflect { instance, received } => {
                self.deliver_reflection(instance, received)
            }
            QueuedObject::Receive { class, received } => self.deliver_interaction(class, received),
            other => self.deliver_other(other),
        }
    }

    #[inline(never)]
    fn deliver_other(&mut self, queued: QueuedObject) -> Option<Callback> {
        match queued {
            QueuedObject::NamesReserved {
                names,
                multiple,
                succeeded,
            } => {
                if succeeded {
                    self.objects.reserved.extend(names.iter().cloned());
                }
                Some(Callback::NamesReserved {
                    names,
                    multiple,
                    succeeded,
                })
            }
            QueuedObject::Transportation(entry) => self.deliver_transportation(*entry),
            QueuedObject::Scope {
                instance,
                attributes,
                inside,
            } => self.deliver_scope(instance, attributes, inside),
            QueuedObject::Updates {
                instance,
                attributes,
                rate,
            } => self.deliver_updates(instance, attributes, rate),
            QueuedObject::Discover(instance) => {
                let known = self.objects.instances.get_mut(&instance)?;
                known.discovered = true;
                self.mom.tally.instances.discovered += 1;
                let (class, name) = (known.known_class, known.name(instance));
                if known.name.is_some() {
                    self.objects.names.insert(name.clone(), instance);
                }
                self.tell_of_away(instance);
                let registrar = instance.registrar().federate();
                Some(Callback::DiscoverObjectInstance {
                    instance,
                    class,
                    name,
                    producer: registrar.and_then(|r| self.conveyed(r)),
                })
            }
            QueuedObject::Remove {
                instance,
                tag,
                producer,
                stamp,
                order,
            } => {
                let Some(known) = self.objects.take(instance) else {
                    // Locally deleted after the removal was applied, or removed before, which can't be retracted
                    // any more, or this federate has deleted it, too: nothing to tell.
                    match self.take_deleted(instance) {
                        Some(known) => {
                            self.keep_removed(instance, known, (stamp.as_deref(), order));
                        }
                        None => self.forget_away(instance),
                    }
                    return None;
                };
                if stamp.as_ref().is_some_and(|s| s.retraction.is_some()) {
                    self.unassociate_removed(instance);
                }
                self.regions.forget_instance(instance);
                self.mom.tally.instances.removed += 1;
                self.keep_removed(instance, known, (stamp.as_deref(), order));
                Some(Callback::RemoveObjectInstance {
                    instance,
                    tag,
                    producer: self.conveyed(producer),
                    time: {
                        let time = stamp.map(|stamp| Box::new((*stamp).into()));
                        self.delivered_at(producer, time, order)
                    },
                })
            }
            QueuedObject::Provide(wanted) => {
                let together = self.objects.wanted.remove(&wanted).unwrap_or_default();
                let (instance, tag, _) = wanted;
                let known = self.objects.instances.get(&instance)?;
                let owned = |a: &AttributeHandle| known.owned.contains(a);
                let attributes: Vec<_> = together.into_iter().filter(owned).collect();
                (!attributes.is_empty()).then_some(Callback::ProvideAttributeValueUpdate {
                    instance,
                    attributes,
                    tag,
                })
            }
            QueuedObject::Reflect { .. } | QueuedObject::Receive { .. } => {
                unreachable!("what brings values is delivered in place")
            }
        }
    }

    #[inline(always)]
    fn deliver_reflection(
        &mut self,
        instance: ObjectInstanceHandle,
        received: Received,
    ) -> Option<Callback> {
        let Received {
            sender,
            sender_applied,
            payload,
            order,
            transportation,
        } = received;
        let sender_applied = self.judged_from(sender_applied, order);
        // One that names its receivers only is sent with the default region.
        let with = payload.address();
        let with = with.filter(|w| w.regions().next().is_some());
        let known = self.objects.instances.get(&instance);
        let Some(known) = known.filter(|i| i.discovered) else {
            self.counters.unknown += 1;
            return None;
        };
        let classes = (known.registered_class, known.known_class);
        let first = !known.reflected;
        let owns_some = !known.owned.is_empty();
        let made_of = self.declarations.maps().cleared;
        let ready = known.received_as.as_ref().filter(|_| with.is_none());
        let ready = ready.filter(|r| r.made_of == made_of && r.from <= sender_applied);
        let handles = match (ready, with) {
            (Some(ready), _) => ready.map.clone(),
            (None, None) => self.attribute_map(instance, classes, sender_applied),
            (None, Some(with)) => {
                let values = payload.content.values();
                self.attributes_with_regions(values, classes.0, classes.1, sender_applied, with)
            }
        };
        let handles = if owns_some {
            self.without_owned(instance, &payload.content, handles)
        } else {
            handles
        };
        let delivered = || NamedValues::iter_of(&payload.content, &handles);
        if delivered().next().is_none() {
            self.counters.unsubscribed += 1;
            return None;
        }
        let has_dimensions = |model: &ObjectModel| {
            let of = |a| model.attribute(a).map_or(&[][..], |a| &a.dimensions);
            delivered().any(|(a, _)| !of(a).is_empty())
        };
        let regions = self.conveyed_regions(sender, has_dimensions, with);
        let time = self.delivered_at(sender, payload.time, order);
        if self.mom.tally.is_on() {
            self.mom.tally.reflected(classes.0, transportation);
            let bytes = payload.content.bytes();
            note(&mut self.traffic, |t| {
                t.reflected(classes.0, sender, transportation, bytes)
            });
        }
        if first {
            self.reflected_first(instance, classes.0);
        }
        let content = payload.content;
        Some(Callback::ReflectAttributeValues {
            instance,
            values: NamedValues { content, handles },
            transportation,
            producer: self.conveyed(sender),
            regions,
            time,
        })
    }

    /// What a federate owns itself is out of its scope (§6.1): a former owner's values that come after
    /// the acquisition was told would overwrite its own.
    #[cold]
    fn without_owned(
        &self,
        instance: ObjectInstanceHandle,
        content: &Content,
        handles: SlotMap<AttributeHandle>,
    ) -> SlotMap<AttributeHandle> {
        let owned = self.objects.get(instance).map_or(&[][..], |i| i.owned());
        let mine = |a: &AttributeHandle| owned.binary_search(a).is_ok();
        if !NamedValues::iter_of(content, &handles).any(|(a, _)| mine(&a)) {
            return handles;
        }
        let others = handles.iter().map(|a| a.filter(|a| !mine(a)));
        Arc::new(others.collect())
    }

    #[inline(always)]
    fn deliver_interaction(
        &mut self,
        class: InteractionClassHandle,
        received: Received,
    ) -> Option<Callback> {
        let Received {
            sender,
            sender_applied,
            payload,
            order,
            transportation,
        } = received;
        let with = payload.address();
        let sender_applied = self.judged_from(sender_applied, order);
        let received = self
            .parameter_map(class, sender_applied)
            .filter(|(received, _)| {
                with.is_none_or(|w| self.receives_with_regions(class, *received, sender_applied, w))
            });
        let Some((received, handles)) = received else {
            self.counters.unsubscribed += 1;
            return None;
        };
        let has_dimensions = |model: &ObjectModel| {
            let sent = model.interaction_class(class);
            sent.is_some_and(|c| !c.dimensions.is_empty())
        };
        let regions = self.conveyed_regions(sender, has_dimensions, with);
        let time = self.delivered_at(sender, payload.time, order);
        if self.mom.tally.is_on() {
            self.mom.tally.received(class, transportation);
            let bytes = payload.content.bytes();
            note(&mut self.traffic, |t| {
                t.received(class, sender, transportation, bytes)
            });
        }
        let content = payload.content;
        Some(Callback::ReceiveInteraction {
            class: received,
            values: NamedValues { content, handles },
            transportation,
            producer: self.conveyed(sender),
            regions,
            time,
        })
    }

    #[cold]
    fn reflected_first(&mut self, instance: ObjectInstanceHandle, class: ObjectClassHandle) {
        if let Some(known) = self.objects.get_mut(instance) {
            known.reflected = true;
        }
        self.mom.tally.first_reflection(class);
    }

    /// Up to where the log counts for who gets a message: to where its sender had applied it, or
    /// with Delay Subscription Evaluation, for one in time-stamp order, all of it.
    #[inline]
    pub(super) fn judged_from(&self, sender_applied: LogIndex, order: Order) -> LogIndex {
        let later = order == Order::TimeStamp && self.delays_subscription_evaluation();
        if later {
            LogIndex(u64::MAX)
        } else {
            sender_applied
        }
    }

    /// The FDD's switch Delay Subscription Evaluation: who gets a message in time-stamp order is
    /// judged when it is delivered, not when it is sent.
    #[inline]
    pub(crate) fn delays_subscription_evaluation(&self) -> bool {
        self.model.switches().delay_subscription_evaluation
    }

    /// The producing federate as callbacks convey it: only with the FDD's switch Convey Producing
    /// Federate (§6.1.7).
    #[inline]
    fn conveyed(&self, producer: FederateHandle) -> Option<FederateHandle> {
        let conveyed = self.mom.switches.convey_producer;
        // The RTI is none.
        (conveyed && producer.is_valid()).then_some(producer)
    }

    /// From which log index on a frame's values of an attribute are for this federate; none if
    /// it has not subscribed, or the log has not got to its last subscription.
    pub(super) fn attribute_wanted(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let without = self.attribute_wanted_without(class, attribute);
        let with = self.attribute_wanted_with_any(class, attribute);
        without.into_iter().chain(with).min()
    }

    /// From which log index on a frame's values of an attribute are for a subscription without
    /// regions; none if there is none, or the log has not got to it.
    pub(crate) fn attribute_wanted_without(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<LogIndex> {
        let asked = self
            .declarations
            .mine()
            .attribute_since(self.me, class, attribute)?;
        let since = self
            .declarations
            .subscribed()
            .attribute_since(self.me, class, attribute)?;
        (asked <= self.log.own_requests()).then_some(since)
    }

    pub(super) fn interaction_wanted(&self, class: InteractionClassHandle) -> Option<LogIndex> {
        let without = self.interaction_wanted_without(class);
        let with = self.interaction_wanted_with_any(class);
        without.into_iter().chain(with).min()
    }

    /// From which log index on an interaction is for a subscription without regions; none if there
    /// is none, or the log has not got to it.
    pub(crate) fn interaction_wanted_without(
        &self,
        class: InteractionClassHandle,
    ) -> Option<LogIndex> {
        let asked = self.declarations.mine().interaction_since(self.me, class)?;
        let since = self
            .declarations
            .subscribed()
            .interaction_since(self.me, class)?;
        (asked <= self.log.own_requests()).then_some(since)
    }

    /// By registered and known class; kept with the instance, too, if it holds for what comes.
    #[inline(never)]
    fn attribute_map(
        &mut self,
        instance: ObjectInstanceHandle,
        (sent, received): (ObjectClassHandle, ObjectClassHandle),
        sender_applied: LogIndex,
    ) -> SlotMap<AttributeHandle> {
        if let Some(ready) = self.declarations.maps().objects.get(&(sent, received))
            && ready.from <= sender_applied
        {
            let map = ready.map.clone();
            let ready = ready.clone();
            if let Some(known) = self.objects.get_mut(instance) {
                known.received_as = Some(ready);
            }
            return map;
        }
        let attributes = self.model.object_class(sent);
        let attributes = attributes.map_or(&[][..], |c| &c.attributes);
        let mut from = LogIndex::default();
        let map = attributes.iter().map(|a| {
            let since = self.attribute_wanted(received, *a)?;
            from = from.max(since);
            (since <= sender_applied).then_some(*a)
        });
        let map = Arc::new(map.collect());
        if from <= sender_applied {
            let map = Arc::clone(&map);
            let maps = self.declarations.maps();
            let made_of = maps.cleared;
            let ready = Prepared { from, made_of, map };
            maps.objects.insert((sent, received), ready);
        }
        map
    }

    fn parameter_map(
        &mut self,
        sent: InteractionClassHandle,
        sender_applied: LogIndex,
    ) -> Option<ReceivedAs> {
        if let Some(ready) = self.declarations.maps().interaction(sent)
            && ready.from <= sender_applied
        {
            return ready.map.clone();
        }
        // The sent class or its nearest superclass that is subscribed (§6.13).
        let mut from = LogIndex::default();
        let mut received = None;
        for class in self.model.interaction_lineage(sent) {
            if let Some(since) = self.interaction_wanted(class.handle) {
                from = from.max(since);
                if since <= sender_applied {
                    received = Some(class);
                    break;
                }
            }
        }
        let map = received.map(|received| {
            let parameters = self.model.interaction_class(sent);
            let parameters = parameters.map_or(&[][..], |c| &c.parameters);
            let slots = parameters.iter();
            let slots = slots.map(|p| received.parameters.contains(p).then_some(*p));
            (received.handle, Arc::new(slots.collect()))
        });
        if from <= sender_applied && self.model.interaction_class(sent).is_some() {
            let map = map.clone();
            let maps = self.declarations.maps();
            let made_of = maps.cleared;
            maps.put_interaction(sent, Prepared { from, made_of, map });
        }
        map
    }
}
