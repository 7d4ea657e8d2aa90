//! What federates do in the other rooms while saves and restores go on, and what their own model says
//! that each has there. It is compared with what the federate says of itself, above all when it has been
//! restored.

use super::attributes::Changes;
use super::manage::Managed;
use super::{How, Run, Stage, at, interval};
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    AttributeHandle, Callback, DataPath, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    Order, PeerId, RegionHandle, Transportation,
};
use std::collections::{BTreeMap, BTreeSet};

/// An attribute's handle of HLAprivilegeToDeleteObject.
const PRIVILEGE: u32 = 1;

const DIRECTIVES: [ResignAction; 2] = [
    ResignAction::CancelThenDeleteThenDivest,
    ResignAction::DeleteObjectsThenDivest,
];

/// What a federate has in these rooms, by its calls and the callbacks delivered to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    pub(super) owned: BTreeMap<ObjectInstanceHandle, BTreeSet<AttributeHandle>>,
    pub(super) changes: Changes,
    /// What others want of it.
    wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
    /// Its regions, with the bounds that it has set last.
    regions: BTreeMap<RegionHandle, (u32, u32)>,
    /// Synchronization points that it has not achieved, and that it has.
    pub(super) announced: BTreeSet<String>,
    pub(super) achieved: BTreeSet<String>,
    /// Messages in time-stamp order, their time stamps and numbers.
    sent: Vec<(MessageRetractionHandle, i64, u64)>,
    in_receive_order: bool,
    best_effort: bool,
    advisory: bool,
    pub(super) directive: Option<ResignAction>,
    pub(super) managed: Managed,
}

impl Rooms {
    /// The order in which a message goes out whose sender regulates, if it has a time.
    pub(super) fn order(&self) -> Order {
        if self.in_receive_order {
            Order::Receive
        } else {
            Order::TimeStamp
        }
    }

    /// How an interaction of class I goes out.
    pub(super) fn transportation(&self) -> Transportation {
        if self.best_effort {
            Transportation::BestEffort
        } else {
            Transportation::Reliable
        }
    }

    pub(super) fn forgets(&mut self, instance: ObjectInstanceHandle) {
        self.owned.remove(&instance);
        self.changes.retain(|place| place.0 != instance);
        self.wanted.retain(|(wanted, _)| *wanted != instance);
    }

    pub(super) fn sends(&mut self, handle: MessageRetractionHandle, stamp: i64, id: u64) {
        self.sent.push((handle, stamp, id));
    }

    /// A callback of one of these rooms.
    pub(super) fn callback(&mut self, me: FederateHandle, callback: &Callback) {
        let owns = |(instance, attribute): &(_, _)| {
            let owned: Option<&BTreeSet<_>> = self.owned.get(instance);
            owned.is_some_and(|owned| owned.contains(attribute))
        };
        self.changes.callback(me, callback, owns);
        match callback {
            Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                attributes,
                ..
            } => {
                let owned = self.owned.entry(*instance).or_default();
                for attribute in attributes {
                    assert!(owned.insert(*attribute), "{me} has {attribute} already");
                }
            }
            Callback::RequestAttributeOwnershipRelease {
                instance,
                attributes,
                ..
            } => self.wanted.push((*instance, attributes.clone())),
            Callback::AnnounceSynchronizationPoint { label, .. } => {
                assert!(
                    self.announced.insert(label.clone()),
                    "{me}: '{label}' again"
                );
            }
            Callback::FederationSynchronized { label, .. } => {
                assert!(
                    self.achieved.remove(label),
                    "{me} has not achieved '{label}'"
                );
            }
            Callback::ConfirmInteractionTransportationTypeChange { transportation, .. } => {
                self.best_effort = *transportation == Transportation::BestEffort;
            }
            Callback::ReportInteractionTransportationType {
                federate,
                transportation,
                ..
            } if *federate == me => {
                let best_effort = *transportation == Transportation::BestEffort;
                assert_eq!(best_effort, self.best_effort, "{me} sends it another way");
            }
            _ => {}
        }
    }
}

impl Run {
    /// Some federate's data to another takes a path of its own from now on, or no longer.
    pub(super) fn change_path(&mut self, peer: PeerId) {
        let hosts: Vec<_> = self.network.hosts.values().map(|h| h.handle).collect();
        let to = hosts[self.draw.usize(..hosts.len())];
        let path = if self.draw.bool() {
            DataPath::Direct
        } else {
            DataPath::Executive
        };
        self.network.change_path(peer, to, path);
    }

    fn class(&self, peer: PeerId, name: &str) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.object_class_by_name(name).expect("it is in the FOM");
        (class.handle, class.attributes.clone())
    }

    pub(super) fn interaction(&self, peer: PeerId, name: &str) -> InteractionClassHandle {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.interaction_class_by_name(name);
        class.expect("it is in the FOM").handle
    }

    /// What a call did that nothing but a save, a restore, or one of these forbids.
    pub(super) fn permitted<T>(
        &mut self,
        me: FederateHandle,
        done: Result<T, Exception>,
        may: &[ExceptionKind],
    ) -> Option<T> {
        let own = &self.model.own[&me];
        let held = (own.save, own.restore) != (Stage::None, Stage::None);
        match done {
            Err(e) if !held && may.contains(&e.kind) => None,
            done => self.allowed(me, done),
        }
    }

    /// Something in one of the rooms.
    pub(super) fn visit(&mut self, peer: PeerId, me: FederateHandle) {
        match self.draw.u8(..24) {
            0..5 => self.change_owner(peer, me),
            5..7 => self.move_region(peer, me),
            7..9 => self.associate(peer, me),
            9..11 => self.send_with_regions(peer, me),
            11..14 => self.retract(peer, me),
            14..16 => {
                self.achieve(peer, me);
            }
            16..18 => self.change_order(peer, me),
            18..20 => self.change_transportation(peer, me),
            20 => self.switch(peer, me),
            21 => self.direct(peer, me),
            22 => self.subscribe_at_rate(peer, me),
            _ => self.update(peer, me),
        }
    }

    fn some_known(&mut self, me: FederateHandle) -> Option<ObjectInstanceHandle> {
        let known: Vec<_> = self.model.own[&me].known.iter().copied().collect();
        (!known.is_empty()).then(|| known[self.draw.usize(..known.len())])
    }

    fn change_owner(&mut self, peer: PeerId, me: FederateHandle) {
        use ExceptionKind::*;
        let asked = self.own(me).rooms.wanted.pop();
        let Some(instance) = asked
            .as_ref()
            .map(|(i, _)| *i)
            .or_else(|| self.some_known(me))
        else {
            return;
        };
        let (_, mut attributes) = self.class(peer, "A");
        // All publish a1 and a2.
        attributes = attributes[1..3].to_vec();
        let owned = self.model.own[&me].rooms.owned.get(&instance).cloned();
        let owned = owned.unwrap_or_default();
        let gives = asked.is_some() || self.draw.u8(..3) == 0;
        attributes.retain(|a| owned.contains(a) == gives);
        if let Some((_, wanted)) = &asked {
            attributes.retain(|a| wanted.contains(a));
        }
        if attributes.is_empty() {
            return;
        }
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        let waits = self.draw.bool();
        let done = self.network.call(peer, |f| match (gives, waits) {
            (true, _) => {
                f.unconditional_attribute_ownership_divestiture(instance, &attributes, b"")
            }
            (false, true) => f.attribute_ownership_acquisition(instance, &attributes, b""),
            (false, false) => {
                f.attribute_ownership_acquisition_if_available(instance, &attributes, b"")
            }
        });
        let may: &[_] = if gives {
            &[]
        } else {
            &[AttributeAlreadyBeingAcquired]
        };
        if self.permitted(me, done, may).is_some() && gives {
            self.gives(me, instance, &attributes);
        }
    }

    fn move_region(&mut self, peer: PeerId, me: FederateHandle) {
        let dimension = DimensionHandle::from_raw(1);
        let own: Vec<_> = self.own(me).rooms.regions.keys().copied().collect();
        let region = match own.len() {
            0..3 => {
                let done = self.network.call(peer, |f| f.create_region(&[dimension]));
                match self.permitted(me, done, &[]) {
                    Some(region) => region,
                    None => return,
                }
            }
            n => own[self.draw.usize(..n)],
        };
        let lower = self.draw.u32(..16);
        let upper = self.draw.u32(lower + 1..=16);
        let done = self.network.call(peer, |f| {
            f.set_range_bounds(region, dimension, lower.into(), upper.into())
        });
        if self.permitted(me, done, &[]).is_some() {
            self.own(me).rooms.regions.insert(region, (lower, upper));
        }
        // Else the template is saved as it is.
        if self.draw.bool() {
            let done = self
                .network
                .call(peer, |f| f.commit_region_modifications(&[region]));
            self.permitted(me, done, &[]);
        }
    }

    fn region(&mut self, me: FederateHandle) -> Option<RegionHandle> {
        let own: Vec<_> = self.own(me).rooms.regions.keys().copied().collect();
        (!own.is_empty()).then(|| own[self.draw.usize(..own.len())])
    }

    fn associate(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(region) = self.region(me) else {
            return;
        };
        let (_, attributes) = self.class(peer, "A");
        let owned = &self.model.own[&me].rooms.owned;
        // a1 and a2 have a dimension.
        let mut owned = owned
            .iter()
            .flat_map(|(i, owned)| owned.iter().map(|a| (*i, *a)));
        let Some((instance, attribute)) = owned.find(|(_, a)| attributes[1..3].contains(a)) else {
            return;
        };
        let list = [AttributeRegions {
            attributes: vec![attribute],
            regions: vec![region],
        }];
        let on = self.draw.bool();
        let done = self.network.call(peer, |f| {
            if on {
                f.associate_regions_for_updates(instance, &list)
            } else {
                f.unassociate_regions_for_updates(instance, &list)
            }
        });
        let may = [ExceptionKind::InvalidRegion];
        self.permitted(me, done, &may);
    }

    fn send_with_regions(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(region) = self.region(me) else {
            return;
        };
        let class = self.interaction(peer, "I.J");
        let may = [ExceptionKind::InvalidRegion];
        if self.draw.bool() {
            let done = self.network.call(peer, |f| {
                f.publish_interaction_class(class)?;
                f.subscribe_interaction_class_with_regions(class, &[region], true)
            });
            self.permitted(me, done, &may);
            return;
        }
        let id = (self.model.last + 1).to_le_bytes();
        let done = self.network.call(peer, |f| {
            f.publish_interaction_class(class)?;
            let parameter = f.parameter_handle(class, "i1").expect("it is there");
            f.send_interaction_with_regions(class, &[(parameter, &id[..])], &[region], b"")
        });
        if self.permitted(me, done, &may).is_some() {
            self.model.last += 1;
            self.sent.insert(self.model.last, (me, None));
            let how = How {
                place: None,
                transportation: Some(Transportation::BestEffort),
            };
            self.how.insert(self.model.last, how);
        }
    }

    /// Takes a message back if its time stamp is late enough, and only then.
    fn retract(&mut self, peer: PeerId, me: FederateHandle) {
        let sent = &self.model.own[&me].rooms.sent;
        if sent.is_empty() {
            return;
        }
        let nth = self.draw.usize(..sent.len());
        let (handle, stamp, id) = sent[nth];
        let own = &self.model.own[&me];
        let late = stamp > own.advancing.unwrap_or(own.time) + own.lookahead;
        let done = self.network.call(peer, |f| f.retract(handle));
        let may: &[_] = if late {
            &[]
        } else {
            &[ExceptionKind::MessageCanNoLongerBeRetracted]
        };
        if self.permitted(me, done, may).is_some() {
            // Regulation may have begun between two times.
            assert!(late || self.floats, "{me} retracts {stamp}");
            let rooms = &mut self.own(me).rooms;
            rooms.sent.remove(nth);
            self.model.retracted.insert(handle);
            self.model.own.values_mut().for_each(|own| {
                own.must.remove(&id);
            });
        }
    }

    /// Achieves a synchronization point; whether there was one.
    pub(super) fn achieve(&mut self, peer: PeerId, me: FederateHandle) -> bool {
        let Some(label) = self.model.own[&me].rooms.announced.first().cloned() else {
            return false;
        };
        let done = self
            .network
            .call(peer, |f| f.synchronization_point_achieved(&label, true));
        let done = self.permitted(me, done, &[]).is_some();
        if done {
            let rooms = &mut self.own(me).rooms;
            rooms.announced.remove(&label);
            rooms.achieved.insert(label);
        }
        done
    }

    fn change_order(&mut self, peer: PeerId, me: FederateHandle) {
        let in_receive_order = self.draw.bool();
        let order = if in_receive_order {
            Order::Receive
        } else {
            Order::TimeStamp
        };
        let class = self.interaction(peer, "I");
        let done = self
            .network
            .call(peer, |f| f.change_interaction_order_type(class, order));
        if self.permitted(me, done, &[]).is_some() {
            self.own(me).rooms.in_receive_order = in_receive_order;
        }
    }

    fn change_transportation(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer, "I");
        if self.draw.bool() {
            let done = self
                .network
                .call(peer, |f| f.query_interaction_transportation_type(me, class));
            self.permitted(me, done, &[]);
            return;
        }
        let to = if self.draw.bool() {
            Transportation::BestEffort
        } else {
            Transportation::Reliable
        };
        let done = self.network.call(peer, |f| {
            f.request_interaction_transportation_type_change(class, to)
        });
        let may = [ExceptionKind::InteractionClassAlreadyBeingChanged];
        self.permitted(me, done, &may);
    }

    /// The switch is as it was set last, also by what a call refuses.
    fn switch(&mut self, peer: PeerId, me: FederateHandle) {
        use ExceptionKind::{
            InteractionRelevanceAdvisorySwitchIsOff, InteractionRelevanceAdvisorySwitchIsOn,
        };
        let (on, was) = (self.draw.bool(), self.model.own[&me].rooms.advisory);
        let done = self.network.call(peer, |f| {
            if on {
                f.enable_interaction_relevance_advisory_switch()
            } else {
                f.disable_interaction_relevance_advisory_switch()
            }
        });
        let may: &[_] = match (on, was) {
            (true, true) => &[InteractionRelevanceAdvisorySwitchIsOn],
            (false, false) => &[InteractionRelevanceAdvisorySwitchIsOff],
            _ => &[],
        };
        if self.permitted(me, done, may).is_some() {
            assert_ne!(on, was, "{me} sets a switch twice");
            self.own(me).rooms.advisory = on;
        }
    }

    fn direct(&mut self, peer: PeerId, me: FederateHandle) {
        // It may always; but who has not heard of the end of a restore may be the one before it or behind it.
        if self.model.own[&me].restore != Stage::None {
            return;
        }
        let directive = DIRECTIVES[self.draw.usize(..DIRECTIVES.len())];
        let done = self
            .network
            .call(peer, |f| f.set_automatic_resign_directive(directive));
        assert_eq!(done, Ok(()), "{me}");
        self.own(me).rooms.directive = Some(directive);
    }

    fn subscribe_at_rate(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer, "A.B");
        let rate = ["", "slow"][self.draw.usize(..2)];
        let b1 = &attributes[attributes.len() - 1..];
        let done = self.network.call(peer, |f| {
            f.subscribe_object_class_attributes(class, b1, true, rate)
        });
        self.permitted(me, done, &[]);
    }

    /// An attribute that it owns, other than the privilege to delete.
    pub(super) fn some_owned(
        &mut self,
        me: FederateHandle,
    ) -> Option<(ObjectInstanceHandle, AttributeHandle)> {
        let owned = &self.model.own[&me].rooms.owned;
        let owned = owned
            .iter()
            .flat_map(|(i, owned)| owned.iter().map(|a| (*i, *a)));
        let owned: Vec<_> = owned.filter(|(_, a)| a.raw() != PRIVILEGE).collect();
        (!owned.is_empty()).then(|| owned[self.draw.usize(..owned.len())])
    }

    fn update(&mut self, peer: PeerId, me: FederateHandle) {
        let Some((instance, attribute)) = self.some_owned(me) else {
            return;
        };
        let own = &self.model.own[&me];
        let first = own.first_stamp();
        let stamp = own.regulating.then(|| first + self.draw.i64(0..9));
        let number = self.model.last + 1;
        let id = number.to_le_bytes();
        let values = [(attribute, &id[..])];
        let time = stamp.map(|stamp| at(self.floats, stamp));
        let done = self.network.update(peer, instance, (&values, b""), time);
        if let Some(handle) = self.permitted(me, done, &[]) {
            self.model.last = number;
            self.sent.insert(number, (me, stamp));
            let place = (instance, attribute);
            let how = How {
                place: Some(place),
                transportation: self.model.own[&me].rooms.changes.transportation(place),
            };
            self.how.insert(number, how);
            if let Some(stamp) = stamp {
                let order = self.own(me).rooms.changes.order((instance, attribute));
                let timely = order == Order::TimeStamp;
                let numbered = handle.number() > 0;
                assert_eq!(numbered, timely, "{me} sends a value at {stamp}: {order:?}");
                self.latest = self.latest.max(stamp);
                if timely {
                    self.own(me).rooms.sends(handle, stamp, number);
                }
            }
        }
    }

    /// It has promised no more than it has asked for, whatever it was told of saves.
    pub(super) fn compare_lookahead(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.model.own[&me];
        let asked = interval(self.floats, own.lookahead);
        let (regulating, advancing, at) = (own.regulating, own.advancing, own.time);
        let says = self.network.call(peer, |f| f.query_lookahead().ok());
        assert_eq!(says.is_some(), regulating, "{me} regulates");
        // Between whole times it may be less by what is lost in rounding.
        if regulating && advancing.is_none() && !self.floats {
            assert_eq!(says, Some(asked), "{me} at {at}");
        }
    }

    /// A federate says of itself what the model says of it.
    pub(super) fn compare(&mut self, peer: PeerId, me: FederateHandle) {
        let own = self.model.own[&me].clone();
        let rooms = &own.rooms;
        let (_, attributes) = self.class(peer, "A");
        let floats = self.floats;
        let dimension = DimensionHandle::from_raw(1);
        self.network.call(peer, |f| {
            for instance in &own.known {
                for attribute in &attributes {
                    let says = f.is_attribute_owned_by_federate(*instance, *attribute);
                    let owned = rooms.owned.get(instance);
                    let owned = owned.is_some_and(|owned| owned.contains(attribute));
                    assert_eq!(says, Ok(owned), "{me} owns {attribute} of {instance}");
                }
            }
            for (region, bounds) in &rooms.regions {
                let says = f.range_bounds(*region, dimension);
                assert_eq!(says.as_ref(), Ok(bounds), "{me}'s {region}");
            }
            if let Some(directive) = rooms.directive {
                assert_eq!(f.automatic_resign_directive(), Ok(directive), "{me}");
            }
            let time = f.query_logical_time().expect("it may ask");
            let whole = super::whole_or_next(time);
            assert_eq!(whole, own.time, "{me} is at {}", at(floats, own.time));
        });
        self.compare_lookahead(peer, me);
        self.compare_changes(peer, me);
        self.count("compared with the model");
    }
}
