//! What federates, and fate, do in a random program.

use super::own::{Own, Retractable, Sent, Source};
use super::{CLASSES, END, INTERACTIONS, PRIVILEGE, Run, time};
use crate::program::{exactly, legal};
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    AttributeHandle, DimensionHandle, ExceptionKind, FederateHandle, InteractionClassHandle,
    LogicalTimeInterval, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, Order,
    PeerId, RegionHandle, Service, TimeType, Transportation,
};
use starling_galt_oracle::{Kind, LAST};

const KINDS: [Kind; 5] = [Kind::Tar, Kind::Tara, Kind::Nmr, Kind::Nmra, Kind::Fqr];

fn interval(of: TimeType, value: i64) -> LogicalTimeInterval {
    match of {
        TimeType::Integer64 => LogicalTimeInterval::integer64(value),
        TimeType::Float64 => LogicalTimeInterval::float64(value as f64).expect("it is a number"),
    }
}

impl Run {
    /// One random thing that a federate, or fate, does.
    pub(super) fn act(&mut self) {
        self.network.now_us += self.draw.u64(..400_000);
        let hosts = self.network.hosts.values().filter(|h| !h.resigning);
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        if hosts.len() < 2 || (hosts.len() < 5 && self.draw.u8(..60) == 0) {
            if self.network.joining.len() < 3 {
                self.network.join(vec![]);
            }
            if hosts.is_empty() {
                return;
            }
        }
        let (peer, me) = hosts[self.draw.usize(..hosts.len())];
        let own = self.own(me);
        if own.asleep > 0 {
            own.asleep -= 1;
            return;
        }
        if self.managed && self.draw.u8(..12) == 0 {
            return self.manage(peer, me);
        }
        if self.seen.delayed && self.draw.u8(..12) == 0 {
            return self.resubscribe(peer, me);
        }
        match self.draw.u16(..400) {
            0..90 => {
                let most = self.draw.usize(1..12);
                self.callbacks(peer, me, most);
            }
            90..160 => self.advance(peer, me),
            160..210 => self.update(peer, me),
            210..250 => self.interact(peer, me),
            250..262 => self.retract(peer, me),
            262..270 => self.delete(peer, me),
            270..272 => self.local_delete(peer, me),
            272..282 => self.regulate(peer, me),
            282..292 => self.constrain(peer, me),
            292..298 => self.lookahead(peer, me),
            298..304 => self.asynchronous(peer, me),
            304..312 => self.query(peer, me),
            312..322 => self.change_order(peer, me),
            322..336 => self.register(peer, me),
            336..350 => self.subscribe(peer, me),
            350..362 => self.move_region(peer, me),
            362..370 => self.associate(peer, me),
            370..376 => self.change_transportation(peer, me),
            376..388 => self.change_owner(peer, me),
            388..391 => {
                self.count("fault: takes no callbacks");
                self.own(me).asleep = self.draw.u32(5..40);
            }
            391..394 => {
                self.network.stall(peer);
            }
            394..397 => {
                self.network.stalled.remove(&peer);
            }
            397..399 => self.resign(peer, me),
            _ => self.kill(peer, me),
        }
    }

    /// Everybody publishes everything; most subscribe, regulate, are constrained.
    pub(super) fn begin(&mut self, me: FederateHandle) {
        let peer = self.host(me);
        for name in CLASSES {
            let (class, attributes) = self.class_named(peer, name);
            let subscribes = self.draw.u8(..4) > 0;
            let done = self.network.call(peer, |f| {
                f.publish_object_class_attributes(class, &attributes)?;
                if subscribes {
                    f.subscribe_object_class_attributes(class, &attributes, true, "")
                } else {
                    Ok(())
                }
            });
            legal(done, &[]);
        }
        for name in INTERACTIONS {
            let class = self.interaction_named(peer, name);
            let subscribes = self.draw.u8(..4) > 0;
            let done = self.network.call(peer, |f| {
                f.publish_interaction_class(class)?;
                if subscribes {
                    f.subscribe_interaction_class(class, true)
                } else {
                    Ok(())
                }
            });
            legal(done, &[]);
            self.own(me).subscribes(class, Some(subscribes));
        }
        self.register(peer, me);
        if self.managed {
            self.begin_managed(peer, me);
        }
        if self.draw.u8(..3) > 0 {
            self.regulate(peer, me);
        }
        if self.draw.u8(..3) > 0 {
            self.constrain(peer, me);
        }
    }

    fn some_class(&mut self, peer: PeerId) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let name = CLASSES[self.draw.usize(..CLASSES.len())];
        let (class, attributes) = self.class_named(peer, name);
        (class, self.some(attributes))
    }

    /// At least one of them.
    fn some<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        self.draw.shuffle(&mut all);
        let most = all.len().max(1);
        all.truncate(self.draw.usize(1..=most));
        all
    }

    fn interaction(&mut self, peer: PeerId) -> InteractionClassHandle {
        let name = INTERACTIONS[self.draw.usize(..INTERACTIONS.len())];
        self.interaction_named(peer, name)
    }

    fn known(&mut self, me: FederateHandle) -> Option<ObjectInstanceHandle> {
        let known: Vec<_> = self.own(me).known.keys().copied().collect();
        (!known.is_empty()).then(|| known[self.draw.usize(..known.len())])
    }

    /// A time stamp that the federate may use, seldom one that it may not; none: without a time.
    fn stamp(&mut self, me: FederateHandle) -> Option<i64> {
        if self.draw.u8(..5) == 0 {
            return None;
        }
        let first = (self.own(me).first_point() + 1) / 2;
        let early = i64::from(self.draw.u8(..12) == 0);
        let stamp = first + self.draw.i64(0..9) - early;
        Some(stamp.clamp(0, LAST - 5))
    }

    /// The order in which something goes out, or that its time stamp is too early for it.
    fn goes_out(own: &Own, stamp: Option<i64>, order: Order) -> Result<Order, ExceptionKind> {
        match stamp.filter(|_| own.view.regulating && order == Order::TimeStamp) {
            None => Ok(Order::Receive),
            Some(stamp) if 2 * stamp < own.first_point() => Err(ExceptionKind::InvalidLogicalTime),
            Some(_) => Ok(Order::TimeStamp),
        }
    }

    /// What a service that may send in time-stamp order has sent, and its message.
    fn sends(
        &mut self,
        me: FederateHandle,
        handle: MessageRetractionHandle,
        stamp: Option<i64>,
        deletes: Option<(ObjectInstanceHandle, ObjectClassHandle)>,
    ) {
        if let Some(stamp) = stamp.filter(|_| handle.number() > 0) {
            self.own(me).sent.push(Retractable {
                handle,
                stamp,
                deletes,
                retracted: false,
            });
        }
    }

    fn update(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        let Some(instance) = self.known(me) else {
            return;
        };
        let mut owned = self.owned(peer, instance);
        owned.retain(|a| a.raw() != PRIVILEGE);
        if owned.is_empty() {
            return;
        }
        let attributes = self.some(owned);
        let stamp = self.stamp(me);
        let model = self.network.hosts[&peer].federate().model();
        let mut orders = Vec::new();
        let own = &self.own[&me];
        for a in &attributes {
            let changed = own.attribute_orders.get(&(instance, *a)).copied();
            let order = changed.unwrap_or_else(|| model.attribute(*a).expect("it is there").order);
            match Self::goes_out(own, stamp, order) {
                Ok(order) => orders.push(order),
                Err(kind) => {
                    let value = [(*a, &b"early"[..])];
                    let at = time(of, stamp.expect("it is too early"));
                    let done = self.network.update(peer, instance, (&value, b""), Some(at));
                    return exactly(done.map(|_| ()), Some(kind));
                }
            }
        }
        // The handle is not known before: the values come first, and are sent under the next number.
        let before = self.last;
        let ids: Vec<_> = (0..attributes.len() as u64)
            .map(|n| (before + 1 + n).to_le_bytes())
            .collect();
        let values: Vec<_> = attributes
            .iter()
            .zip(&ids)
            .map(|(a, id)| (*a, &id[..]))
            .collect();
        let at = stamp.map(|at| time(of, at));
        let done = self.network.update(peer, instance, (&values, b""), at);
        let handle = done.unwrap_or_else(|e| panic!("unexpected {e}"));
        let message = (handle.number() > 0).then(|| (me, handle.number()));
        let timely = orders.contains(&Order::TimeStamp);
        assert_eq!(message.is_some(), timely, "{me} updates in {orders:?}");
        for (attribute, order) in attributes.into_iter().zip(orders) {
            let with = self.own[&me].associated.get(&(instance, attribute));
            let with: Vec<_> = with.into_iter().flatten().copied().collect();
            let sent = Sent {
                sender: me,
                source: Source::Attribute(instance, attribute),
                stamp,
                order,
                with_regions: !with.is_empty(),
                message: message.filter(|_| order == Order::TimeStamp),
            };
            self.send(sent, &with);
        }
        self.sends(me, handle, stamp, None);
    }

    fn interact(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        let class = self.interaction(peer);
        let regions = match self.draw.u8(..3) {
            0 => self.regions(me),
            _ => Vec::new(),
        };
        let stamp = self.stamp(me);
        let model = self.network.hosts[&peer].federate().model();
        let known = model.interaction_class(class).expect("it is in the FOM");
        let (first, of_fdd) = (known.parameters[0], known.order);
        let own = &self.own[&me];
        let changed = own.interaction_orders.get(&class).copied();
        let order = Self::goes_out(own, stamp, changed.unwrap_or(of_fdd));
        let mut value = class.raw().to_le_bytes().to_vec();
        value.extend((self.last + 1).to_le_bytes());
        let values = [(first, value.as_slice())];
        let with = regions.as_slice();
        let none = |()| MessageRetractionHandle::default();
        let at = stamp.map(|at| time(of, at));
        let done = if with.is_empty() {
            self.network.interact(peer, class, (&values, b""), at)
        } else {
            self.network.call(peer, |f| match at {
                None => f
                    .send_interaction_with_regions(class, &values, with, b"")
                    .map(none),
                Some(at) => f.send_interaction_with_regions_at(class, &values, with, b"", at),
            })
        };
        let order = match (order, done.as_ref().err()) {
            (Err(kind), _) => return exactly(done.map(|_| ()), Some(kind)),
            (Ok(order), None) => order,
            (Ok(_), Some(e)) => panic!("unexpected {e}"),
        };
        let handle = done.expect("it was not refused");
        let message = (handle.number() > 0).then(|| (me, handle.number()));
        assert_eq!(message.is_some(), order == Order::TimeStamp);
        let sent = Sent {
            sender: me,
            source: Source::Interaction(class),
            stamp,
            order,
            with_regions: !with.is_empty(),
            message,
        };
        self.send(sent, with);
        self.sends(me, handle, stamp, None);
    }

    fn retract(&mut self, peer: PeerId, me: FederateHandle) {
        let own = self.own(me);
        if own.sent.is_empty() {
            return;
        }
        let count = own.sent.len();
        let nth = self.draw.usize(count.saturating_sub(8)..count);
        let own = self.own(me);
        let (first, regulating) = (own.first_point(), own.view.regulating);
        let message = &mut own.sent[nth];
        let expected = match () {
            () if !regulating => Some(ExceptionKind::TimeRegulationIsNotEnabled),
            () if message.retracted || message.stamp <= first / 2 => {
                Some(ExceptionKind::MessageCanNoLongerBeRetracted)
            }
            () => None,
        };
        message.retracted |= expected.is_none();
        let (handle, deletes) = (message.handle, message.deletes);
        let done = self.network.call(peer, |f| f.retract(handle));
        exactly(done, expected);
        if expected.is_some() {
            return;
        }
        let retracted = (me, handle.number());
        self.retracted.insert(retracted);
        self.leave_open(|sent| sent.message == Some(retracted));
        if let Some((instance, class)) = deletes {
            self.count("retract of a deletion");
            self.disturb(instance);
            let known = self
                .network
                .call(peer, |f| f.known_object_class_handle(instance));
            if known.is_ok() {
                self.own(me).known.insert(instance, class);
            } else {
                // An earlier owner's deletion has come here, of which this one was told nothing.
                let deleters = &self.deleters[&instance];
                assert!(deleters.len() > 1, "{me} has {instance} back");
                self.count("retract of a deletion beside another's");
            }
        }
    }

    fn delete(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        let Some(instance) = self.known(me) else {
            return;
        };
        let owned = self.owned(peer, instance);
        let privilege = owned.iter().find(|a| a.raw() == PRIVILEGE).copied();
        let stamp = self.stamp(me);
        let model = self.network.hosts[&peer].federate().model();
        let own = &self.own[&me];
        let order = match privilege {
            None => Err(ExceptionKind::DeletePrivilegeNotHeld),
            Some(privilege) => {
                let changed = own.attribute_orders.get(&(instance, privilege)).copied();
                let of_fdd = model.attribute(privilege).expect("it is in the MIM").order;
                Self::goes_out(own, stamp, changed.unwrap_or(of_fdd))
            }
        };
        let tag = (self.last + 1).to_le_bytes();
        let done = self.network.call(peer, |f| match stamp {
            Some(at) => f.delete_object_instance_at(instance, &tag, time(of, at)),
            None => f
                .delete_object_instance(instance, &tag)
                .map(|()| MessageRetractionHandle::default()),
        });
        let order = match order {
            Err(kind) => return exactly(done.map(|_| ()), Some(kind)),
            Ok(order) => order,
        };
        let handle = done.unwrap_or_else(|e| panic!("unexpected {e}"));
        let timely = order == Order::TimeStamp;
        assert_eq!(handle.number() > 0, timely);
        // Those who know it get what the deleter has sent before, up to the time of the deletion.
        self.leave_open(|sent| {
            let before = match (sent.order, timely) {
                (Order::TimeStamp, true) => sent.stamp <= stamp,
                (Order::TimeStamp, false) => false,
                (Order::Receive, _) => true,
            };
            sent.source.instance() == Some(instance) && (sent.sender != me || !before)
        });
        let sent = Sent {
            sender: me,
            source: Source::Removal(instance),
            stamp,
            order,
            with_regions: false,
            message: timely.then(|| (me, handle.number())),
        };
        self.send(sent, &[]);
        self.disturbed.insert(instance);
        self.deleters.entry(instance).or_default().insert(me);
        let class = self.own(me).known.remove(&instance);
        let class = class.expect("it was known");
        self.sends(me, handle, stamp, Some((instance, class)));
    }

    fn local_delete(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.known(me) else {
            return;
        };
        let done = self
            .network
            .call(peer, |f| f.local_delete_object_instance(instance));
        use ExceptionKind::*;
        if done.is_ok() {
            self.forgets(me, instance);
            self.own(me).unsettle();
        }
        legal(done, &[FederateOwnsAttributes, OwnershipAcquisitionPending]);
    }

    fn advance(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.own[&me];
        let back = i64::from(self.draw.u8(..20) == 0);
        let to = own.view.time + self.draw.i64(0..9) - back;
        let kind = KINDS[self.draw.usize(..KINDS.len())];
        self.ask(peer, me, kind, to.min(END.max(own.view.time)));
    }

    /// Asks for an advance, which is refused just if it must be.
    pub(super) fn ask(&mut self, peer: PeerId, me: FederateHandle, kind: Kind, to: i64) {
        let of = self.of;
        use ExceptionKind::*;
        let own = &self.own[&me];
        let expected = match () {
            () if to < own.view.time => Some(LogicalTimeAlreadyPassed),
            () if own.view.request.is_some() => Some(InTimeAdvancingState),
            () if own.enabling.is_some() => Some(RequestForTimeRegulationPending),
            () if own.constraining => Some(RequestForTimeConstrainedPending),
            () => None,
        };
        let at = time(of, to);
        let done = self.network.call(peer, |f| match kind {
            Kind::Tar => f.time_advance_request(at),
            Kind::Tara => f.time_advance_request_available(at),
            Kind::Nmr => f.next_message_request(at),
            Kind::Nmra => f.next_message_request_available(at),
            Kind::Fqr => f.flush_queue_request(at),
        });
        if done.is_ok() {
            self.own(me).ask(kind, to);
        }
        exactly(done, expected);
    }

    fn regulate(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        use ExceptionKind::*;
        let own = &self.own[&me];
        let mut lookahead = self.draw.i64(0..6).saturating_sub(1).max(0);
        if of == TimeType::Float64 {
            // With one it may be enabled between the times that the oracle knows. It grows later.
            lookahead = 0;
        }
        if own.view.regulating && self.draw.u8(..4) == 0 {
            let done = self.network.call(peer, |f| f.disable_time_regulation());
            legal(done, &[]);
            let own = self.own(me);
            (own.view.regulating, own.view.floor) = (false, 0);
            return own.sent.clear();
        }
        let expected = match () {
            () if own.view.request.is_some() => Some(InTimeAdvancingState),
            () if own.enabling.is_some() => Some(RequestForTimeRegulationPending),
            () if own.view.regulating => Some(TimeRegulationAlreadyEnabled),
            () => None,
        };
        let done = self
            .network
            .call(peer, |f| f.enable_time_regulation(interval(of, lookahead)));
        if done.is_ok() {
            let own = self.own(me);
            (own.enabling, own.resubscribed) = (Some(lookahead), false);
        }
        exactly(done, expected);
    }

    fn constrain(&mut self, peer: PeerId, me: FederateHandle) {
        use ExceptionKind::*;
        let own = &self.own[&me];
        if own.view.constrained && self.draw.u8(..4) == 0 {
            let done = self.network.call(peer, |f| f.disable_time_constrained());
            legal(done, &[]);
            let own = self.own(me);
            (own.view.constrained, own.is_long_constrained) = (false, false);
            own.owed.clear();
            return;
        }
        let expected = match () {
            () if own.view.request.is_some() => Some(InTimeAdvancingState),
            () if own.constraining => Some(RequestForTimeConstrainedPending),
            () if own.view.constrained => Some(TimeConstrainedAlreadyEnabled),
            () => None,
        };
        let done = self.network.call(peer, |f| f.enable_time_constrained());
        if done.is_ok() {
            self.own(me).constraining = true;
        }
        exactly(done, expected);
    }

    fn lookahead(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        use ExceptionKind::*;
        let own = &self.own[&me];
        let lookahead = self.draw.i64(0..6).saturating_sub(1).max(0);
        let expected = match () {
            () if own.view.request.is_some() => Some(InTimeAdvancingState),
            () if !own.view.regulating => Some(TimeRegulationIsNotEnabled),
            () => None,
        };
        let done = self
            .network
            .call(peer, |f| f.modify_lookahead(interval(of, lookahead)));
        if done.is_ok() {
            let view = &mut self.own(me).view;
            view.keep_promise();
            view.lookahead = lookahead;
        }
        exactly(done, expected);
    }

    pub(super) fn asynchronous(&mut self, peer: PeerId, me: FederateHandle) {
        let on = &mut self.own(me).asynchronous;
        *on = !*on;
        let on = *on;
        let done = self.network.call(peer, |f| {
            if on {
                f.enable_asynchronous_delivery()
            } else {
                f.disable_asynchronous_delivery()
            }
        });
        legal(done, &[]);
    }

    /// GALT and LITS, which the model compares; logical time and lookahead.
    fn query(&mut self, peer: PeerId, me: FederateHandle) {
        let of = self.of;
        // Either brings both.
        let service = if self.last.is_multiple_of(2) {
            Service::QueryGALT
        } else {
            Service::QueryLITS
        };
        let done = self.network.call(peer, |f| f.query_bounds(service));
        legal(done, &[]);
        let own = &self.own[&me];
        let (now, ahead) = self
            .network
            .call(peer, |f| (f.query_logical_time(), f.query_lookahead()));
        assert_eq!(now, Ok(time(of, own.view.time)));
        let view = &own.view;
        // A promise that was made with a longer lookahead is in effect until time has come to it.
        let in_effect = view.lookahead.max(view.floor / 2 - view.time);
        match ahead {
            Ok(ahead) => assert_eq!(ahead, interval(of, in_effect), "{me}: {view:?}"),
            Err(e) => {
                assert_eq!(e.kind, ExceptionKind::TimeRegulationIsNotEnabled);
                assert!(!view.regulating);
            }
        }
    }

    fn change_order(&mut self, peer: PeerId, me: FederateHandle) {
        let order = if self.draw.bool() {
            Order::TimeStamp
        } else {
            Order::Receive
        };
        if self.draw.bool() {
            let class = self.interaction(peer);
            let done = self
                .network
                .call(peer, |f| f.change_interaction_order_type(class, order));
            legal(done, &[]);
            self.own(me).interaction_orders.insert(class, order);
            return;
        }
        let Some(instance) = self.known(me) else {
            return;
        };
        let owned = self.owned(peer, instance);
        if owned.is_empty() {
            return;
        }
        let attributes = self.some(owned);
        let done = self.network.call(peer, |f| {
            f.change_attribute_order_type(instance, &attributes, order)
        });
        legal(done, &[]);
        let own = self.own(me);
        let changed = attributes.into_iter().map(|a| ((instance, a), order));
        own.attribute_orders.extend(changed);
    }

    fn register(&mut self, peer: PeerId, me: FederateHandle) {
        if self.own(me).known.len() > 10 {
            return;
        }
        let name = CLASSES[self.draw.usize(..CLASSES.len())];
        let (class, _) = self.class_named(peer, name);
        let done = self
            .network
            .call(peer, |f| f.register_object_instance(class, None));
        let instance = done.expect("it is published");
        self.own(me).known.insert(instance, class);
        self.disturbed.insert(instance);
    }

    /// Some committed regions of the federate's own.
    fn regions(&mut self, me: FederateHandle) -> Vec<RegionHandle> {
        let all = self.own(me).regions.iter();
        let all: Vec<_> = all.filter(|(_, c)| **c).map(|(r, _)| *r).collect();
        if all.is_empty() { all } else { self.some(all) }
    }

    fn subscribe(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, mut attributes) = self.some_class(peer);
        let interaction = self.interaction(peer);
        let regions = self.regions(me);
        let choice = self.draw.u8(..10);
        if matches!(choice, 4 | 5) {
            let (_, of_a) = self.class_named(peer, CLASSES[0]);
            attributes.retain(|a| of_a[..2].contains(a));
        }
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let now = self.network.now_us;
        let done = self.network.call(peer, |f| {
            f.set_time_us(now);
            match choice {
                0..3 => f.subscribe_object_class_attributes(class, &attributes, choice < 2, ""),
                3 => f.subscribe_object_class_attributes(class, &attributes, true, "slow"),
                4 => f.subscribe_object_class_attributes_with_regions(class, &list, true, ""),
                5 => f.unsubscribe_object_class_attributes_with_regions(class, &list),
                6 => f.unsubscribe_object_class(class),
                7 => f.subscribe_interaction_class(interaction, true),
                8 if !regions.is_empty() => {
                    f.subscribe_interaction_class_with_regions(interaction, &regions, true)
                }
                _ => f.unsubscribe_interaction_class(interaction),
            }
        });
        legal(done, &[]);
        if choice == 3 {
            self.count("subscribed at a rate");
        }
        let own = self.own(me);
        match choice {
            0..7 => {}
            7 => own.subscribes(interaction, Some(true)),
            8 if !regions.is_empty() => own.subscribes(interaction, None),
            _ => own.subscribes(interaction, Some(false)),
        }
        own.rated |= choice == 3;
        own.unsettle();
    }

    /// Subscribes to an interaction class that it does not subscribe to, or ends that.
    fn resubscribe(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let on = self.own(me).hears(&[class]) != Some(true);
        let done = self.network.call(peer, |f| {
            if on {
                f.subscribe_interaction_class(class, true)
            } else {
                f.unsubscribe_interaction_class(class)
            }
        });
        legal(done, &[]);
        let own = self.own(me);
        own.subscribes(class, Some(on));
        own.unsettle();
    }

    /// Creates a region of dimension D, or commits another range of one.
    fn move_region(&mut self, peer: PeerId, me: FederateHandle) {
        let own: Vec<_> = self.own(me).regions.keys().copied().collect();
        let dimension = DimensionHandle::from_raw(1);
        let region = match own.len() {
            0..3 => {
                let created = self.network.call(peer, |f| f.create_region(&[dimension]));
                created.expect("D is in the FDD")
            }
            n => own[self.draw.usize(..n)],
        };
        let lower = self.draw.u64(..16);
        let upper = self.draw.u64(lower + 1..=16);
        let done = self.network.call(peer, |f| {
            f.set_range_bounds(region, dimension, lower, upper)?;
            f.commit_region_modifications(&[region])
        });
        legal(done, &[]);
        let own = self.own(me);
        own.regions.insert(region, true);
        own.unsettle();
    }

    fn associate(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.known(me) else {
            return;
        };
        let (_, of_a) = self.class_named(peer, CLASSES[0]);
        let mut owned = self.owned(peer, instance);
        owned.retain(|a| of_a[..2].contains(a));
        let regions = self.regions(me);
        if owned.is_empty() || regions.is_empty() {
            return;
        }
        let attributes = self.some(owned);
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let on = self.draw.u8(..3) > 0;
        let done = self.network.call(peer, |f| {
            if on {
                f.associate_regions_for_updates(instance, &list)
            } else {
                f.unassociate_regions_for_updates(instance, &list)
            }
        });
        legal(done, &[]);
        let own = self.own(me);
        own.unsettle();
        for a in attributes {
            let set = own.associated.entry((instance, a)).or_default();
            if on {
                set.extend(&regions)
            } else {
                set.retain(|r| !regions.contains(r))
            }
        }
    }

    fn change_transportation(&mut self, peer: PeerId, me: FederateHandle) {
        let to = if self.draw.bool() {
            Transportation::Reliable
        } else {
            Transportation::BestEffort
        };
        let interaction = self.interaction(peer);
        let known = self.known(me);
        let owned = known.map(|i| (i, self.owned(peer, i)));
        let done = match owned.filter(|(_, a)| !a.is_empty() && self.draw.bool()) {
            Some((instance, owned)) => {
                let attributes = self.some(owned);
                self.network.call(peer, |f| {
                    f.request_attribute_transportation_type_change(instance, &attributes, to)
                })
            }
            None => self.network.call(peer, |f| {
                f.request_interaction_transportation_type_change(interaction, to)
            }),
        };
        use ExceptionKind::*;
        let pending = [
            AttributeAlreadyBeingChanged,
            InteractionClassAlreadyBeingChanged,
        ];
        legal(done, &pending);
    }

    /// Ownership goes from one to the other.
    fn change_owner(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.known(me) else {
            return;
        };
        let class = self.own(me).known[&instance];
        let model = self.network.hosts[&peer].federate().model();
        let class = model.object_class(class).expect("it is in the FDD");
        let owned = self.owned(peer, instance);
        let others = class.attributes.iter().filter(|a| !owned.contains(a));
        let others: Vec<_> = others.copied().collect();
        let gives = !owned.is_empty() && self.draw.u8(..3) == 0;
        if !gives && others.is_empty() {
            return;
        }
        let attributes = self.some(if gives { owned } else { others });
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
        if done.is_ok() {
            self.disturb(instance);
            if gives {
                self.gave(me, instance, &attributes);
            }
        }
        use ExceptionKind::*;
        let pending = [
            AttributeAlreadyBeingAcquired,
            AttributeAlreadyBeingDivested,
            AttributeNotPublished,
            ObjectClassNotPublished,
            FederateOwnsAttributes,
        ];
        legal(done, &pending);
    }

    /// Another federate wants what this one owns: it mostly gets it.
    pub(super) fn release(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let gives = self.draw.u8(..4) > 0;
        let done = self.network.call(peer, |f| {
            if gives {
                f.unconditional_attribute_ownership_divestiture(instance, attributes, b"")
            } else {
                f.attribute_ownership_release_denied(instance, attributes, b"")
            }
        });
        if done.is_ok() {
            self.disturb(instance);
            if gives {
                self.gave(me, instance, attributes);
            }
        }
        use ExceptionKind::*;
        legal(done, &[AttributeNotOwned, ObjectInstanceNotKnown]);
    }

    fn gave(
        &mut self,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let own = self.own(me);
        for a in attributes {
            own.attribute_orders.remove(&(instance, *a));
            own.associated.remove(&(instance, *a));
        }
    }

    /// Instances of which a federate owns anything: they change when it is gone.
    fn owns(&mut self, peer: PeerId, me: FederateHandle) -> Vec<ObjectInstanceHandle> {
        let mut known: Vec<_> = self.own(me).known.keys().copied().collect();
        known.retain(|i| !self.owned(peer, *i).is_empty());
        known
    }

    fn leaves(&mut self, me: FederateHandle, owned: Vec<ObjectInstanceHandle>) {
        owned
            .into_iter()
            .for_each(|instance| self.disturb(instance));
        self.own.remove(&me);
    }

    fn resign(&mut self, peer: PeerId, me: FederateHandle) {
        let action = match self.draw.u8(..3) {
            0 => ResignAction::UnconditionallyDivestAttributes,
            1 => ResignAction::DeleteObjectsThenDivest,
            _ => ResignAction::CancelThenDeleteThenDivest,
        };
        let owned = self.owns(peer, me);
        let done = self
            .network
            .call(peer, |f| f.resign_federation_execution(action));
        if done.is_ok() {
            self.leaves(me, owned);
            let host = self.network.hosts.get_mut(&peer);
            host.expect("it has just called").resigning = true;
        }
        legal(done, &[ExceptionKind::OwnershipAcquisitionPending]);
    }

    fn kill(&mut self, peer: PeerId, me: FederateHandle) {
        let owned = self.owns(peer, me);
        self.leaves(me, owned);
        // What it had sent may be lost from any point on, a retraction, too.
        self.leave_open(|sent| sent.sender == me);
        for own in self.own.values_mut() {
            own.owed.retain(|id, _| self.sent[id].sender != me);
        }
        if self.managed {
            let settled = self.own.values_mut().filter(|own| own.settled);
            settled.for_each(|own| own.observer.loses(me));
        }
        self.dead.insert(me);
        self.network.kill(peer, &mut self.draw, &mut self.seen);
    }
}
