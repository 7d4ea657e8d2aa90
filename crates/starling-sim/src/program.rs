//! A random valid program, and the run of one seed.

use crate::check::{Checker, Source};
use crate::fom::{CLASSES, INTERACTIONS, source};
use crate::host::{Deciding, Host};
use crate::network::Network;
use crate::ownership::{Call, PRIVILEGE, tag_of};
use starling_core::message::ResignAction;
use starling_core::{
    AttributeHandle, Callback, Conflated, DataPath, Exception, ExceptionKind, FederateHandle,
    ObjectClassHandle, PeerId, Service,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps of the network.
    pub steps: u64,
    /// Callbacks delivered and checked.
    pub callbacks: u64,
    /// How often what happened: services by room, exceptions, callbacks, actions of resigning, faults.
    pub coverage: BTreeMap<Cow<'static, str>, u64>,
}

impl Report {
    pub(crate) fn count(&mut self, what: impl Into<Cow<'static, str>>, times: u64) {
        *self.coverage.entry(what.into()).or_default() += times;
    }

    /// Counts a service that was called, or the exception that it has thrown.
    pub(crate) fn called<T>(
        &mut self,
        service: Service,
        done: Result<T, Exception>,
    ) -> Result<T, Exception> {
        let what = match &done {
            Ok(_) => format!("{}: {}", room(service), service.name()),
            Err(e) => format!("exception: {}", e.kind.name()),
        };
        self.count(what, 1);
        done
    }

    /// Adds what another run did.
    pub fn add(&mut self, other: &Report) {
        self.steps += other.steps;
        self.callbacks += other.callbacks;
        for (what, times) in &other.coverage {
            self.count(what.clone(), *times);
        }
    }
}

/// The room of a service, by its chapter.
fn room(service: Service) -> &'static str {
    match service.clause().split('.').next() {
        Some("4") => "federation",
        Some("5") => "declaration",
        Some("6") => "object",
        Some("7") => "ownership",
        Some("8") => "time",
        Some("9") => "ddm",
        _ => "support",
    }
}

/// Runs one seed for about `actions` service calls. Panics, naming what is wrong, if a checker
/// finds a fault.
pub fn run(seed: u64, actions: usize) -> Report {
    run_with(seed, actions, Conflated::default())
}

/// The same where every second federate conflates what it is sent. It may miss values, but never gets an older
/// one behind a newer, and has the newest in the end; and every update and interaction that has come is counted once.
pub fn run_conflated(seed: u64, actions: usize) -> Report {
    let all = vec!["HLAobjectRoot".to_owned()];
    let conflated = Conflated {
        best_effort: all.clone(),
        reliable: all,
    };
    run_with(seed, actions, conflated)
}

fn run_with(seed: u64, actions: usize, conflated: Conflated) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let path = if draw.bool() {
        DataPath::Direct
    } else {
        DataPath::Executive
    };
    let mut paths = fastrand::Rng::with_seed(!seed);
    let mut run = Run {
        draw,
        changing: paths.u8(..3) > 0,
        paths,
        network: Network::new(path, seed),
        checker: Checker::default(),
        conflated: 0,
        lossy: 0,
    };
    run.network.conflated = conflated;
    run.network.faults = fastrand::Rng::with_seed(seed.rotate_left(32));
    run.lossy = [0, 0, 8, 64][run.network.faults.usize(..4)];
    run.network.lossy = run.lossy;
    run.network.slow = run.draw.u8(..6);
    run.network.batch = run.draw.u8(1..6);
    run.create();
    for _ in 0..2 {
        run.join();
    }
    // How busy the network is between calls decides how far federates lag behind each other.
    let patience = run.draw.usize(1..30);
    for _ in 0..actions {
        run.act();
        for _ in 0..run.draw.usize(..patience) {
            run.step();
        }
        if run.draw.u8(..100) == 0 {
            run.rest();
        }
    }
    run.rest();
    let mut report = run.network.report();
    report.count("conflated", run.conflated);
    report
}

struct Run {
    draw: fastrand::Rng,
    /// Data paths change during the run, drawn by `paths`.
    changing: bool,
    paths: fastrand::Rng,
    network: Network,
    checker: Checker,
    /// How much is lost of what is sent by best effort, until it comes to rest.
    lossy: u8,
    /// Reflections that were replaced by newer ones, as of when the network was last at rest.
    conflated: u64,
}

impl Run {
    fn create(&mut self) {
        let fom = if self.lossy > 0 { "lossy fom" } else { "fom" };
        self.network.create(vec![source(fom)], Some(source("mim")));
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        self.network.step(&mut self.draw, &mut self.checker)
    }

    fn join(&mut self) {
        let late = self.draw.u8(..4) == 0;
        self.network
            .join(if late { vec![source("late")] } else { vec![] });
    }

    /// Some federate's data to another takes a path of its own from now on, or no longer.
    fn change_path(&mut self) {
        if !self.changing || self.paths.u8(..4) > 0 {
            return;
        }
        let hosts = self.network.hosts.values();
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        if hosts.len() < 2 {
            return;
        }
        let (peer, _) = hosts[self.paths.usize(..hosts.len())];
        let (_, to) = hosts[self.paths.usize(..hosts.len())];
        let path = if self.paths.bool() {
            DataPath::Direct
        } else {
            DataPath::Executive
        };
        self.network.change_path(peer, to, path);
    }

    /// One random thing that a federate, or fate, does.
    fn act(&mut self) {
        self.decide();
        self.change_path();
        let hosts = self.network.hosts.values();
        let hosts = hosts.filter(|h| !h.resigning && h.deciding.is_none());
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        if hosts.len() < 2 || (hosts.len() < 6 && self.draw.u8(..40) == 0) {
            if self.network.joining.len() < 3 {
                self.join();
            }
            if hosts.is_empty() {
                return;
            }
        }
        let (peer, me) = hosts[self.draw.usize(..hosts.len())];
        let host = self
            .network
            .hosts
            .get_mut(&peer)
            .expect("it was just listed");
        if std::mem::take(&mut host.new) && self.draw.u8(..4) != 0 {
            return self.begin(peer, me);
        }
        match self.draw.u16(..282) {
            0..50 => self.callbacks(peer, me),
            50..95 => self.update(peer, me),
            95..120 => self.interact(peer, me),
            120..145 => self.subscribe(peer, me),
            145..165 => self.publish(peer, me),
            165..182 => self.register(peer, me),
            182..186 => self.delete(peer, me),
            186..189 => self.local_delete(peer, me),
            189..192 => self.request_values(peer, me),
            192..196 => self.names(peer),
            196 => self.resign(peer, me),
            197 => self.points(peer, me),
            198 => self.set_directive(peer),
            199..280 => self.own_or_not(peer, me),
            _ => self.network.kill(peer, &mut self.draw, &mut self.checker),
        }
    }

    /// Most declare much at once, so that something happens from the beginning.
    fn begin(&mut self, peer: PeerId, me: FederateHandle) {
        let names = [CLASSES[0], CLASSES[1]];
        let name = names[self.draw.usize(..names.len())];
        let model = self.network.hosts[&peer].federate().model();
        let class = model.object_class_by_name(name);
        let class = class.expect("it is in the FOM");
        let (class, attributes) = (class.handle, class.attributes[1..].to_vec());
        let views = self.checker.views(me);
        let expected = views.publish(class, |set| set.extend(&attributes));
        let done = self.network.call(peer, |f| {
            f.publish_object_class_attributes(class, &attributes)?;
            f.subscribe_object_class_attributes(class, &attributes, true, "")?;
            f.register_object_instance(class, None)
        });
        if let Ok(instance) = done {
            self.checker.registers(me, instance, class);
        }
        exactly(done.map(|_| ()), expected);
    }

    fn callbacks(&mut self, peer: PeerId, me: FederateHandle) {
        for _ in 0..self.draw.usize(1..20) {
            let Some(callback) = self.deliver(peer, me) else {
                break;
            };
            // A new owner likes to update at once: its values must come behind the old owner's.
            if let Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                mut attributes,
                ..
            } = callback
                && self.draw.bool()
            {
                attributes.retain(|a| *a != PRIVILEGE);
                self.send_update(peer, instance, &attributes);
            }
        }
    }

    /// Delivers the next callback, and checks it.
    fn deliver(&mut self, peer: PeerId, me: FederateHandle) -> Option<Callback> {
        let callback = self.network.next_callback(peer)?;
        let (conflates, host) = (
            self.network.conflates(peer),
            self.network.hosts.get_mut(&peer),
        );
        let is_data = matches!(
            callback,
            Callback::ReflectAttributeValues { .. } | Callback::ReceiveInteraction { .. }
        );
        host.expect("it has called").delivered += u64::from(is_data);
        self.checker.callback(me, &callback, conflates);
        Some(callback)
    }

    /// A class that the federate has, and some of its attributes.
    fn class(&mut self, peer: PeerId) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let model = self.network.hosts[&peer].federate().model();
        let name = CLASSES[self.draw.usize(..CLASSES.len())];
        let class = model.object_class_by_name(name);
        let class = class
            .or(model.object_class_by_name("A"))
            .expect("A is in the FOM");
        // Not the privilege to delete, which nobody updates here.
        let mut attributes: Vec<_> = class.attributes[1..].to_vec();
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        (class.handle, attributes)
    }

    fn interaction(&mut self, peer: PeerId) -> starling_core::InteractionClassHandle {
        let model = self.network.hosts[&peer].federate().model();
        let name = INTERACTIONS[self.draw.usize(..INTERACTIONS.len())];
        let class = model.interaction_class_by_name(name);
        let class = class.or(model.interaction_class_by_name("I"));
        class.expect("I is in the FOM").handle
    }

    fn update(&mut self, peer: PeerId, me: FederateHandle) {
        if let Some(instance) = self.known(me) {
            self.update_instance(peer, instance);
        }
    }

    /// Updates some of what the federate owns of an instance.
    fn update_instance(&mut self, peer: PeerId, instance: starling_core::ObjectInstanceHandle) {
        let federate = self.network.hosts[&peer].federate();
        let mut owned = federate
            .owned_attributes(instance)
            .expect("it is known")
            .to_vec();
        owned.retain(|a| a.raw() != 1);
        if owned.is_empty() {
            return;
        }
        self.draw.shuffle(&mut owned);
        owned.truncate(self.draw.usize(1..=owned.len()));
        self.send_update(peer, instance, &owned);
    }

    fn send_update(
        &mut self,
        peer: PeerId,
        instance: starling_core::ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let me = self.network.hosts[&peer].handle;
        let checker = &mut self.checker;
        let numbers: Vec<_> = attributes
            .iter()
            .map(|a| (*a, checker.next(me, Source::Attribute(instance, *a))))
            .collect();
        let values: Vec<_> = numbers.iter().map(|(a, n)| (*a, n.as_slice())).collect();
        let sent = self.network.update(peer, instance, (&values, b""), None);
        legal(sent.map(|_| ()), &[]);
    }

    fn interact(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let published = self.network.hosts[&peer]
            .federate()
            .publishes_interaction(class);
        if published {
            self.send_interaction(peer, me, class);
        }
    }

    fn send_interaction(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        class: starling_core::InteractionClassHandle,
    ) {
        let model = self.network.hosts[&peer].federate().model();
        let first = model
            .interaction_class(class)
            .expect("it was just found")
            .parameters[0];
        let mut value = class.raw().to_le_bytes().to_vec();
        value.extend(self.checker.next(me, Source::Interaction(me, class)));
        let values = [(first, value.as_slice())];
        let sent = self.network.interact(peer, class, (&values, b"t"), None);
        legal(sent.map(|_| ()), &[]);
    }

    fn subscribe(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let interaction = self.interaction(peer);
        let choice = self.draw.u8(..10);
        if matches!(choice, 4 | 8 | 9) {
            self.checker.subscription_shrinks(me);
        }
        let done = self.network.call(peer, |f| match choice {
            0..4 => f.subscribe_object_class_attributes(class, &attributes, choice != 3, ""),
            4 => f.unsubscribe_object_class(class),
            5..8 => f.subscribe_interaction_class(interaction, choice != 7),
            8 => f.unsubscribe_interaction_class(interaction),
            _ => f.unsubscribe_object_class_attributes(class, &attributes),
        });
        legal(done, &[]);
    }

    fn publish(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let interaction = self.interaction(peer);
        let choice = self.draw.u8(..10);
        let views = self.checker.views(me);
        let expected = match choice {
            0..5 => views.publish(class, |set| set.extend(&attributes)),
            5 => views.publish(class, BTreeSet::clear),
            9 => views.publish(class, |set| set.retain(|a| !attributes.contains(a))),
            _ => None,
        };
        let done = self.network.call(peer, |f| match choice {
            0..5 => f.publish_object_class_attributes(class, &attributes),
            5 => f.unpublish_object_class(class),
            6..8 => f.publish_interaction_class(interaction),
            8 => f.unpublish_interaction_class(interaction),
            _ => f.unpublish_object_class_attributes(class, &attributes),
        });
        exactly(done, expected);
        let federate = self.network.hosts[&peer].federate();
        if !federate.publishes_object_class(class) {
            self.checker.advice(me).registration.remove(&class);
        }
        if !federate.publishes_interaction(interaction) {
            self.checker.advice(me).interactions.remove(&interaction);
        }
    }

    /// Something that is fenced and concerns nobody: who waits for what follows waits all the same.
    fn unpublish_interaction(&mut self, peer: PeerId, me: FederateHandle) {
        let interaction = self.interaction(peer);
        let done = self.network.call(peer, |f| {
            f.publish_interaction_class(interaction)?;
            f.unpublish_interaction_class(interaction)
        });
        legal(done, &[]);
        self.checker.advice(me).interactions.remove(&interaction);
    }

    fn register(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, _) = self.class(peer);
        let name = self.name();
        let name = (self.draw.u8(..3) == 0).then_some(name);
        let done = self
            .network
            .call(peer, |f| f.register_object_instance(class, name.as_deref()));
        if let Ok(instance) = done {
            self.checker.registers(me, instance, class);
        }
        use ExceptionKind::*;
        let may = [
            ObjectClassNotPublished,
            ObjectInstanceNameNotReserved,
            ObjectInstanceNameInUse,
        ];
        legal(done.map(|_| ()), &may);
    }

    fn name(&mut self) -> String {
        format!("name {}", self.draw.u8(..4))
    }

    fn names(&mut self, peer: PeerId) {
        let names = [self.name(), self.name()];
        let choice = self.draw.u8(..5);
        let done = self.network.call(peer, |f| match choice {
            0..2 => f.reserve_object_instance_name(&names[0]),
            2 => f.reserve_multiple_object_instance_name(&[&names[0], &names[1]]),
            3 if names[0] < names[1] => f.release_multiple_object_instance_name(&[&names[0]]),
            3 => f.release_object_instance_name(&names[0]),
            _ => f.reserve_object_instance_name("HLAname"),
        });
        use ExceptionKind::*;
        legal(done, &[IllegalName, ObjectInstanceNameNotReserved]);
    }

    /// An instance that the federate has registered or discovered.
    fn known(&mut self, me: FederateHandle) -> Option<starling_core::ObjectInstanceHandle> {
        let known: Vec<_> = self.checker.known(me).collect();
        (!known.is_empty()).then(|| known[self.draw.usize(..known.len())])
    }

    fn delete(&mut self, peer: PeerId, me: FederateHandle) {
        if let Some(instance) = self.known(me) {
            let may = self.checker.views(me).owns((instance, PRIVILEGE));
            let done = self
                .network
                .call(peer, |f| f.delete_object_instance(instance, b"tag"));
            if may {
                self.checker.forgets(me, instance);
            }
            exactly(
                done,
                (!may).then_some(ExceptionKind::DeletePrivilegeNotHeld),
            );
        }
    }

    fn local_delete(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.known(me) else {
            return;
        };
        let views = self.checker.views(me);
        let expected = match () {
            () if views.owns_any(Some(instance)) => Some(ExceptionKind::FederateOwnsAttributes),
            () if views.is_acquiring(Some(instance)) => {
                Some(ExceptionKind::OwnershipAcquisitionPending)
            }
            () => None,
        };
        if expected.is_none() {
            self.checker.forgets(me, instance);
        }
        let done = self
            .network
            .call(peer, |f| f.local_delete_object_instance(instance));
        exactly(done, expected);
    }

    /// A service of chapter 7 on some attributes of an instance, legal or not.
    fn own_or_not(&mut self, peer: PeerId, me: FederateHandle) {
        use Call::*;
        let Some(instance) = self.known(me) else {
            return;
        };
        let federate = self.network.hosts[&peer].federate();
        let class = federate.known_object_class_handle(instance);
        let class = class.expect("it is known");
        let class = federate
            .model()
            .object_class(class)
            .expect("it is in the FDD");
        let mut attributes = class.attributes.clone();
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        let calls = Call::ALL;
        // Mostly what may succeed, so that something happens.
        let mut call = calls[self.draw.usize(..calls.len())];
        for _ in 0..4 {
            let views = self.checker.views(me);
            if views.expect(call, instance, &attributes).is_some() {
                call = calls[self.draw.usize(..calls.len())];
                attributes.truncate(self.draw.usize(1..=attributes.len()));
            }
        }
        let expected = self.checker.views(me).expect(call, instance, &attributes);
        let tag = tag_of(me);
        let gives = matches!(call, Unconditional | Confirm | IfWanted);
        if gives && expected.is_none() && self.draw.bool() {
            let mut last = attributes.clone();
            last.retain(|a| *a != PRIVILEGE);
            self.send_update(peer, instance, &last);
            if self.draw.bool() {
                self.unpublish_interaction(peer, me);
            }
        }
        let done = self.network.call(peer, |f| {
            let done = match call {
                Unconditional => {
                    f.unconditional_attribute_ownership_divestiture(instance, &attributes, &tag)
                }
                Negotiated => {
                    f.negotiated_attribute_ownership_divestiture(instance, &attributes, &tag)
                }
                Confirm => {
                    let asked = f.confirm_divestiture(instance, &attributes, &tag);
                    return asked.map(|request| Some((Service::ConfirmDivestiture, request)));
                }
                IfWanted => {
                    let asked =
                        f.attribute_ownership_divestiture_if_wanted(instance, &attributes, &tag);
                    let service = Service::AttributeOwnershipDivestitureIfWanted;
                    return asked.map(|request| Some((service, request)));
                }
                Acquire => f.attribute_ownership_acquisition(instance, &attributes, &tag),
                AcquireIfAvailable => {
                    f.attribute_ownership_acquisition_if_available(instance, &attributes, &tag)
                }
                Deny => f.attribute_ownership_release_denied(instance, &attributes, &tag),
                CancelDivestiture => {
                    f.cancel_negotiated_attribute_ownership_divestiture(instance, &attributes)
                }
                CancelAcquisition => {
                    f.cancel_attribute_ownership_acquisition(instance, &attributes)
                }
            };
            done.map(|()| None)
        });
        if done.is_ok() {
            let views = self.checker.views(me);
            views.called(call, instance, &attributes);
        }
        if let Ok(Some((service, request))) = done {
            let host = self.network.hosts.get_mut(&peer);
            host.expect("it has just called").deciding = Some(Deciding {
                service,
                request,
                instance,
                attributes,
            });
        }
        exactly(done.map(|_| ()), expected);
    }

    /// Calls that wait for the federation's word return when it has come.
    fn decide(&mut self) {
        for (me, asked, answer) in self.network.decided() {
            let divested = match answer {
                Ok(divested) => divested,
                Err(e) if e.kind == ExceptionKind::NoAcquisitionPending => Vec::new(),
                Err(e) => panic!("unexpected {e}"),
            };
            let views = self.checker.views(me);
            views.decided(asked.instance, &asked.attributes, &divested);
        }
    }

    fn request_values(&mut self, peer: PeerId, _: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let done = self.network.call(peer, |f| {
            f.request_class_attribute_value_update(class, &attributes, b"please")
        });
        legal(done, &[]);
    }

    /// Registers a synchronization point, or achieves one.
    fn points(&mut self, peer: PeerId, me: FederateHandle) {
        if let Some(label) = self.checker.points.take_announced(me) {
            let well = self.draw.u8(..4) != 0;
            let done = self
                .network
                .call(peer, |f| f.synchronization_point_achieved(&label, well));
            return legal(done, &[]);
        }
        let label = self.name();
        let hosts: Vec<_> = self.network.hosts.values().map(|h| h.handle).collect();
        // All, some, or one who may have left by then.
        let set = &hosts[..self.draw.usize(..=hosts.len()).min(2)];
        let done = self.network.call(peer, |f| {
            f.register_federation_synchronization_point(&label, label.as_bytes(), set)
        });
        legal(done, &[]);
    }

    fn set_directive(&mut self, peer: PeerId) {
        let action = self.action();
        let done = self
            .network
            .call(peer, |f| f.set_automatic_resign_directive(action));
        legal(done, &[]);
    }

    fn action(&mut self) -> ResignAction {
        let number = self.draw.u32(..6);
        ResignAction::from_number(number).expect("there are six")
    }

    fn resign(&mut self, peer: PeerId, me: FederateHandle) {
        let action = self.action();
        let pending = self.checker.views(me).is_acquiring(None) && !action.cancels();
        let done = self
            .network
            .call(peer, |f| f.resign_federation_execution(action));
        if done.is_ok() {
            assert!(
                !pending,
                "{me} resigns with {action:?} while it is acquiring"
            );
            let host = self.network.hosts.get_mut(&peer);
            host.expect("it has just called").resigning = true;
            // Nothing is delivered to it any more.
            *self.checker.views(me) = Default::default();
        }
        use ExceptionKind::*;
        legal(done, &[FederateOwnsAttributes, OwnershipAcquisitionPending]);
    }

    /// Lets everything arrive, has everyone send one more of everything, and checks.
    fn rest(&mut self) {
        self.drain();
        self.checker.last_round();
        self.network.lossy = 0;
        let hosts: Vec<_> = self
            .network
            .hosts
            .values()
            .map(|h| (h.peer, h.handle))
            .collect();
        for (peer, me) in &hosts {
            let federate = self.network.hosts[peer].federate();
            for instance in federate.known_instances() {
                let federate = self.network.hosts[peer].federate();
                let owned = federate.owned_attributes(instance).expect("it is known");
                let owned: Vec<_> = owned.iter().copied().filter(|a| a.raw() != 1).collect();
                if !owned.is_empty() {
                    self.send_update(*peer, instance, &owned);
                }
            }
            for name in INTERACTIONS {
                let federate = self.network.hosts[peer].federate();
                let class = federate
                    .model()
                    .interaction_class_by_name(name)
                    .map(|c| c.handle);
                if let Some(class) = class.filter(|c| federate.publishes_interaction(*c)) {
                    self.send_interaction(*peer, *me, class);
                }
            }
        }
        self.drain();
        self.conflated = 0;
        for host in self.network.hosts.values() {
            self.conflated += accounted(host);
            self.checker.at_rest(host.federate());
            self.checker.advised(host.federate());
            self.checker.points.at_rest(host.handle);
        }
        self.network.lossy = self.lossy;
    }

    fn drain(&mut self) {
        loop {
            while self.step() {}
            self.decide();
            let hosts = self.network.hosts.values();
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            for (peer, me) in hosts {
                while self.deliver(peer, me).is_some() {}
            }
            if !self.step() {
                return;
            }
        }
    }
}

/// Nothing waits: what has come was delivered, or is counted once. How much of it was conflated.
fn accounted(host: &Host) -> u64 {
    let c = host.federate().counters();
    assert_eq!((c.held, c.waiting, c.withheld), (0, 0, 0));
    assert_eq!(
        c.lost, host.lost,
        "what was lost on its way to {}",
        host.handle
    );
    let others = c.unknown + c.unsubscribed + c.from_removed + c.outdated + c.dropped;
    assert_eq!(
        host.came,
        host.delivered + c.conflated + others,
        "what has come to {}, {} of it delivered: {c}",
        host.handle,
        host.delivered
    );
    c.conflated
}

/// Calls are valid, or throw just what they may.
pub(crate) fn legal(done: Result<(), Exception>, may: &[ExceptionKind]) {
    if let Err(exception) = done {
        assert!(may.contains(&exception.kind), "unexpected {exception}");
    }
}

/// A call throws just what its model says.
pub(crate) fn exactly(done: Result<(), Exception>, expected: Option<ExceptionKind>) {
    let kind = done.as_ref().err().map(|e| e.kind);
    assert_eq!(kind, expected, "{done:?}");
}
