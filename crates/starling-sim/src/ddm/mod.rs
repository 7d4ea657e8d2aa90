//! Random programs of data distribution management.
//!
//! Everything sent carries a sequence number. Invariants, at every callback:
//! - what is delivered is subscribed as the receiver has called it, with a region whose committed
//!   ranges overlap those that it was sent with, or without regions; the regions conveyed are these,
//!   and can be asked for their ranges as long as they are there, and no longer;
//! - sequence numbers rise; one by one while the receiver subscribes without regions;
//! - nobody hears itself.
//!
//! And when the network has come to rest: everyone has discovered just what the model says, as the
//! class that it says, was told of just what is in scope, and gets just what overlaps.

pub(crate) mod model;

use crate::fom::source;
use crate::network::Network;
use crate::program::{Report, legal};
use model::{ClassAttribute, Ranges, Subscribed, Subscriptions, World};
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    AttributeHandle, Callback, DataPath, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, PeerId, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

const CLASSES: [&str; 2] = ["A", "A.B"];
const INTERACTIONS: [&str; 2] = ["I", "I.J"];

/// What carries sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Attribute(ObjectInstanceHandle, AttributeHandle),
    Interaction(FederateHandle, InteractionClassHandle),
}

/// A region of a federate's own, as it has called.
struct Region {
    set: Ranges,
    committed: Option<Ranges>,
}

/// A living federate, as it has called and was told.
#[derive(Default)]
struct Own {
    regions: BTreeMap<RegionHandle, Region>,
    objects: Subscriptions<ClassAttribute>,
    interactions: Subscriptions<InteractionClassHandle>,
    associated: BTreeMap<(ObjectInstanceHandle, AttributeHandle), BTreeSet<RegionHandle>>,
    known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    in_scope: BTreeSet<(ObjectInstanceHandle, AttributeHandle)>,
    /// Last number, and the epoch in which it came, as which class.
    runs: BTreeMap<Source, (u64, (u64, u32))>,
    /// Rises with what may tear a gap into a subscription without regions.
    epoch: u64,
    /// Interaction classes whose subscription was changed since all came to rest. Until a sender has
    /// applied that, such a class keeps from a superclass what does not overlap its regions.
    changed: BTreeSet<InteractionClassHandle>,
    /// Since the last round began.
    got: BTreeSet<(Source, u64)>,
}

impl Own {
    fn committed(&self) -> BTreeMap<RegionHandle, Ranges> {
        let all = self.regions.iter();
        all.filter_map(|(r, own)| Some((*r, own.committed.clone()?)))
            .collect()
    }

    fn uses(&self, region: RegionHandle) -> bool {
        let objects = self.objects.values().chain(self.interactions.values());
        let mut sets = objects.map(|s| &s.regions).chain(self.associated.values());
        sets.any(|set| set.contains(&region))
    }

    /// What it updates an instance attribute with, or sends with.
    fn with<'a>(
        &self,
        regions: impl IntoIterator<Item = &'a RegionHandle>,
    ) -> BTreeMap<RegionHandle, Ranges> {
        let of = |r: &RegionHandle| (*r, self.regions[r].committed.clone().expect("it is used"));
        regions.into_iter().map(of).collect()
    }
}

type With = BTreeMap<RegionHandle, Ranges>;

struct Run {
    draw: fastrand::Rng,
    network: Network,
    world: World,
    own: BTreeMap<FederateHandle, Own>,
    sent: BTreeMap<Source, u64>,
    /// What each was sent with.
    with: BTreeMap<(Source, u64), With>,
    /// Which regions were conveyed to whom.
    conveyed: BTreeSet<(FederateHandle, RegionHandle)>,
    report: Report,
}

/// Runs one seed for about `actions` service calls. Panics, naming what is wrong, if something is.
pub fn run(seed: u64, actions: usize) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let path = match draw.bool() {
        true => DataPath::Direct,
        false => DataPath::Executive,
    };
    let mut run = Run {
        draw,
        network: Network::new(path),
        world: World::default(),
        own: BTreeMap::new(),
        sent: BTreeMap::new(),
        with: BTreeMap::new(),
        conveyed: BTreeSet::new(),
        report: Report::default(),
    };
    run.network.slow = run.draw.u8(..6);
    run.network.batch = run.draw.u8(1..6);
    run.network
        .create(vec![source("regions")], Some(source("mim")));
    while run.step() {}
    for _ in 0..3 {
        run.join();
    }
    let patience = run.draw.usize(1..30);
    for _ in 0..actions {
        run.act();
        for _ in 0..run.draw.usize(..patience) {
            run.step();
        }
        if run.draw.u8(..60) == 0 {
            run.rest();
        }
    }
    run.rest();
    run.report
}

impl Run {
    fn step(&mut self) -> bool {
        self.report.steps += 1;
        let moved = self.network.step(&mut self.draw, &mut self.world);
        for new in std::mem::take(&mut self.world.joined) {
            self.own.insert(new, Own::default());
            self.publish(new);
        }
        moved
    }

    fn join(&mut self) {
        self.network.join(vec![]);
    }

    /// Everybody publishes everything from the beginning.
    fn publish(&mut self, new: FederateHandle) {
        let hosts = self.network.hosts.values();
        let peer = hosts.filter(|h| h.handle == new).map(|h| h.peer).next();
        let peer = peer.expect("it has just joined");
        for name in CLASSES {
            let (class, all) = self.class_named(peer, name);
            self.network
                .call(peer, |f| f.publish_object_class_attributes(class, &all))
                .expect("publishing is legal");
        }
        for name in INTERACTIONS {
            let class = self.interaction_named(peer, name);
            self.network
                .call(peer, |f| f.publish_interaction_class(class))
                .expect("publishing is legal");
        }
    }

    fn class_named(&self, peer: PeerId, name: &str) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.object_class_by_name(name).expect("it is in the FOM");
        (class.handle, class.attributes[1..].to_vec())
    }

    fn interaction_named(&self, peer: PeerId, name: &str) -> InteractionClassHandle {
        let model = self.network.hosts[&peer].federate().model();
        let class = model.interaction_class_by_name(name);
        class.expect("it is in the FOM").handle
    }

    /// One random thing that a federate, or fate, does.
    fn act(&mut self) {
        let hosts = self.network.hosts.values().filter(|h| !h.resigning);
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        if hosts.len() < 2 || (hosts.len() < 5 && self.draw.u8(..40) == 0) {
            if self.network.joining.len() < 3 {
                self.join();
            }
            if hosts.is_empty() {
                return;
            }
        }
        let (peer, me) = hosts[self.draw.usize(..hosts.len())];
        match self.draw.u8(..200) {
            0..45 => self.callbacks(peer, me),
            45..90 => self.update(peer, me),
            90..105 => self.interact(peer, me),
            105..135 => self.move_region(peer, me),
            135..150 => self.subscribe(peer, me),
            150..162 => self.subscribe_interaction(peer, me),
            162..177 => self.associate(peer, me),
            177..187 => self.register(peer, me),
            187..190 => self.delete(peer, me),
            190..193 => self.local_delete(peer, me),
            193..195 => self.request_values(peer, me),
            195..197 => self.delete_region(peer, me),
            197..199 => self.resign(peer, me),
            _ => {
                self.own.remove(&me);
                self.network.kill(peer, &mut self.draw, &mut self.world);
            }
        }
    }

    fn own(&mut self, me: FederateHandle) -> &mut Own {
        self.own.get_mut(&me).expect("callers are there")
    }

    fn callbacks(&mut self, peer: PeerId, me: FederateHandle) {
        for _ in 0..self.draw.usize(1..20) {
            let Some(callback) = self.network.call(peer, |f| f.next_callback()) else {
                break;
            };
            self.callback(me, &callback);
        }
    }

    /// Some regions of the federate's own; seldom none, or one that is not committed.
    fn regions(&mut self, me: FederateHandle) -> Vec<RegionHandle> {
        let any = self.draw.u8(..8) == 0;
        let all = self.own(me).regions.iter();
        let all = all.filter(|(_, r)| any || r.committed.is_some());
        let mut all: Vec<_> = all.map(|(region, _)| *region).collect();
        self.draw.shuffle(&mut all);
        let least = usize::from(self.draw.u8(..8) > 0);
        all.truncate(self.draw.usize(least..3));
        all
    }

    /// Those of the attributes that have the regions' dimensions; seldom all.
    fn fitting(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        mut attributes: Vec<AttributeHandle>,
        regions: &[RegionHandle],
    ) -> Vec<AttributeHandle> {
        if self.draw.u8(..8) == 0 {
            return attributes;
        }
        let model = self.network.hosts[&peer].federate().model();
        let own = &self.own[&me].regions;
        let has = |a: &AttributeHandle, d: &u32| {
            let dimensions = model.attribute(*a).map(|a| &a.dimensions);
            dimensions.is_some_and(|all| all.contains(&DimensionHandle::from_raw(*d)))
        };
        attributes.retain(|a| {
            let mut needed = regions.iter().flat_map(|r| own[r].set.keys());
            needed.all(|d| has(a, d))
        });
        attributes
    }

    fn class(&mut self, peer: PeerId) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let name = CLASSES[self.draw.usize(..CLASSES.len())];
        let (class, mut attributes) = self.class_named(peer, name);
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        (class, attributes)
    }

    fn interaction(&mut self, peer: PeerId) -> InteractionClassHandle {
        let name = INTERACTIONS[self.draw.usize(..INTERACTIONS.len())];
        self.interaction_named(peer, name)
    }

    /// An instance that the federate has registered.
    fn instance(&mut self, peer: PeerId, me: FederateHandle) -> Option<ObjectInstanceHandle> {
        let own = self.instances(peer, me);
        (!own.is_empty()).then(|| own[self.draw.usize(..own.len())])
    }

    fn instances(&self, peer: PeerId, me: FederateHandle) -> Vec<ObjectInstanceHandle> {
        let own = self.network.hosts[&peer].federate().known_instances();
        own.into_iter().filter(|i| i.registrar() == me).collect()
    }

    fn next(&mut self, source: Source, with: With) -> u64 {
        let number = self.sent.entry(source).or_default();
        *number += 1;
        self.with.insert((source, *number), with);
        *number
    }

    fn update(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.instance(peer, me) else {
            return;
        };
        let mut attributes = self.owned(peer, instance);
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        self.send_update(peer, me, instance, &attributes);
    }

    fn owned(&self, peer: PeerId, instance: ObjectInstanceHandle) -> Vec<AttributeHandle> {
        let federate = self.network.hosts[&peer].federate();
        let owned = federate.owned_attributes(instance).expect("it is its own");
        owned.iter().copied().filter(|a| a.raw() != 1).collect()
    }

    fn send_update(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let mut values = Vec::new();
        for attribute in attributes {
            let own = &self.own[&me];
            let regions = own.associated.get(&(instance, *attribute));
            let with = own.with(regions.into_iter().flatten());
            let number = self.next(Source::Attribute(instance, *attribute), with);
            values.push((*attribute, number.to_le_bytes()));
        }
        let values: Vec<_> = values.iter().map(|(a, n)| (*a, n.as_slice())).collect();
        let sent = self
            .network
            .call(peer, |f| f.update_attribute_values(instance, &values, b""));
        legal(sent, &[]);
    }

    fn interact(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let regions = self.regions(me);
        self.send_interaction(peer, me, class, &regions);
    }

    /// Sends with these regions, if they may be used for it; the number.
    fn send_interaction(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Option<u64> {
        let source = Source::Interaction(me, class);
        let number = self.sent.get(&source).copied().unwrap_or_default() + 1;
        let federate = self.network.hosts[&peer].federate();
        let first = federate
            .model()
            .interaction_class(class)
            .expect("it was just found")
            .parameters[0];
        let mut value = class.raw().to_le_bytes().to_vec();
        value.extend(number.to_le_bytes());
        let sent = self.network.call(peer, |f| {
            f.send_interaction_with_regions(class, &[(first, &value)], regions, b"")
        });
        let usable = self.usable(me, regions) && sent.is_ok();
        unusable(&sent, usable);
        if usable {
            let with = self.own[&me].with(regions);
            assert_eq!(self.next(source, with), number);
        }
        usable.then_some(number)
    }

    fn usable(&self, me: FederateHandle, regions: &[RegionHandle]) -> bool {
        let own = &self.own[&me].regions;
        regions.iter().all(|r| own[r].committed.is_some())
    }

    /// Creates a region, or sets and mostly commits one.
    fn move_region(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.own[&me].regions;
        let all: Vec<_> = own.keys().copied().collect();
        if all.len() < 6 && (all.is_empty() || self.draw.u8(..3) == 0) {
            let dimensions = [&[1][..], &[2], &[1, 2], &[], &[3], &[1, 3]];
            let dimensions = dimensions[self.draw.usize(..dimensions.len())];
            let handles: Vec<_> = dimensions
                .iter()
                .map(|d| DimensionHandle::from_raw(*d))
                .collect();
            let created = self.network.call(peer, |f| f.create_region(&handles));
            let set: Ranges = dimensions.iter().map(|d| (*d, (0, 16))).collect();
            let region = created.expect("the dimensions are in the FDD");
            let mut committed = None;
            if self.draw.u8(..8) > 0 {
                let done = self
                    .network
                    .call(peer, |f| f.commit_region_modifications(&[region]));
                legal(done, &[]);
                committed = Some(set.clone());
            }
            self.own(me)
                .regions
                .insert(region, Region { set, committed });
            return;
        }
        let count = self.draw.usize(1..3);
        let mut moved = BTreeSet::new();
        for _ in 0..count {
            let region = all[self.draw.usize(..all.len())];
            let dimensions: Vec<_> = self.own(me).regions[&region].set.keys().copied().collect();
            for dimension in dimensions {
                let lower = self.draw.u32(..16);
                let upper = self.draw.u32(lower + 1..=16);
                let handle = DimensionHandle::from_raw(dimension);
                let set = self.network.call(peer, |f| {
                    f.set_range_bounds(region, handle, lower.into(), upper.into())
                });
                legal(set, &[]);
                let known = self.own(me).regions.get_mut(&region);
                let known = known.expect("it was just listed");
                known.set.insert(dimension, (lower, upper));
            }
            moved.insert(region);
        }
        if self.draw.u8(..6) > 0 {
            let list: Vec<_> = moved.into_iter().collect();
            let done = self
                .network
                .call(peer, |f| f.commit_region_modifications(&list));
            legal(done, &[]);
            for region in list {
                let known = self.own(me).regions.get_mut(&region);
                let known = known.expect("it was just listed");
                known.committed = Some(known.set.clone());
            }
        }
    }

    fn delete_region(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(region) = self.regions(me).first().copied() else {
            return;
        };
        let used = self.own(me).uses(region);
        let done = self.network.call(peer, |f| f.delete_region(region));
        match done {
            Ok(()) => assert!(!used, "{region} is in use and deleted"),
            Err(e) => {
                assert!(used, "{e}");
                assert_eq!(e.kind, ExceptionKind::RegionInUseForUpdateOrSubscription);
                return;
            }
        }
        self.own(me).regions.remove(&region);
    }

    fn subscribe(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let choice = self.draw.u8(..10);
        let done = self.network.call(peer, |f| match choice {
            0..5 => f.subscribe_object_class_attributes_with_regions(class, &list, true, ""),
            5..8 => f.unsubscribe_object_class_attributes_with_regions(class, &list),
            8 => f.subscribe_object_class_attributes(class, &attributes, true, ""),
            _ => f.unsubscribe_object_class(class),
        });
        unusable(&done, done.is_ok());
        if done.is_err() {
            return;
        }
        let own = self.own(me);
        if choice == 9 {
            own.epoch += 1;
            for ((at, _), s) in &mut own.objects {
                s.plainly &= *at != class;
            }
            return;
        }
        for attribute in attributes {
            let s = own.objects.entry((class, attribute)).or_default();
            change(s, choice, &regions);
        }
    }

    fn subscribe_interaction(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let regions = self.regions(me);
        let choice = self.draw.u8(..10);
        let done = self.network.call(peer, |f| match choice {
            0..5 => f.subscribe_interaction_class_with_regions(class, &regions, true),
            5..8 => f.unsubscribe_interaction_class_with_regions(class, &regions),
            8 => f.subscribe_interaction_class(class, true),
            _ => f.unsubscribe_interaction_class(class),
        });
        unusable(&done, done.is_ok());
        if done.is_err() {
            return;
        }
        let own = self.own(me);
        // A subscription at a nearer class decides alone, so any may end another.
        own.epoch += 1;
        own.changed.insert(class);
        let s = own.interactions.entry(class).or_default();
        match choice {
            9 => s.plainly = false,
            _ => change(s, choice, &regions),
        }
    }

    fn associate(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.instance(peer, me) else {
            return;
        };
        let mut attributes = self.owned(peer, instance);
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let on = self.draw.u8(..5) < 3;
        let done = self.network.call(peer, |f| match on {
            true => f.associate_regions_for_updates(instance, &list),
            false => f.unassociate_regions_for_updates(instance, &list),
        });
        unusable(&done, done.is_ok());
        if done.is_ok() {
            self.associated(me, instance, &list, on);
        }
    }

    fn associated(
        &mut self,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        list: &[AttributeRegions],
        on: bool,
    ) {
        for (attribute, region) in AttributeRegions::pairs(list) {
            let own = self.own(me);
            let set = own.associated.entry((instance, attribute)).or_default();
            match on {
                true => set.insert(region),
                false => set.remove(&region),
            };
        }
    }

    fn register(&mut self, peer: PeerId, me: FederateHandle) {
        if self.instances(peer, me).len() > 6 {
            return;
        }
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes,
            regions,
        }];
        let done = self.network.call(peer, |f| {
            f.register_object_instance_with_regions(class, &list, None)
        });
        unusable(&done, done.is_ok());
        if let Ok(instance) = done {
            self.associated(me, instance, &list, true);
        }
    }

    fn delete(&mut self, peer: PeerId, me: FederateHandle) {
        if let Some(instance) = self.instance(peer, me) {
            let done = self
                .network
                .call(peer, |f| f.delete_object_instance(instance, b""));
            legal(done, &[]);
            self.own(me).associated.retain(|(i, _), _| *i != instance);
        }
    }

    fn local_delete(&mut self, peer: PeerId, me: FederateHandle) {
        let known: Vec<_> = self.own(me).known.keys().copied().collect();
        if known.is_empty() {
            return;
        }
        let instance = known[self.draw.usize(..known.len())];
        let done = self
            .network
            .call(peer, |f| f.local_delete_object_instance(instance));
        legal(done, &[]);
        self.forgets(me, instance);
    }

    fn forgets(&mut self, me: FederateHandle, instance: ObjectInstanceHandle) {
        let own = self.own(me);
        own.known.remove(&instance);
        own.in_scope.retain(|(i, _)| *i != instance);
        own.epoch += 1;
    }

    fn request_values(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let list = [AttributeRegions {
            attributes,
            regions,
        }];
        let done = self.network.call(peer, |f| {
            f.request_attribute_value_update_with_regions(class, &list, b"please")
        });
        unusable(&done, done.is_ok());
    }

    fn resign(&mut self, peer: PeerId, me: FederateHandle) {
        let action = match self.draw.bool() {
            true => ResignAction::UnconditionallyDivestAttributes,
            false => ResignAction::DeleteObjectsThenDivest,
        };
        let done = self
            .network
            .call(peer, |f| f.resign_federation_execution(action));
        legal(done, &[]);
        let host = self.network.hosts.get_mut(&peer);
        host.expect("it has just called").resigning = true;
        self.own.remove(&me);
    }

    fn callback(&mut self, me: FederateHandle, callback: &Callback) {
        self.report.callbacks += 1;
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } => {
                assert_ne!(instance.registrar(), me, "{me} discovers its own");
                let twice = self.own(me).known.insert(*instance, *class);
                assert_eq!(twice, None, "{me} discovers {instance} twice");
            }
            Callback::RemoveObjectInstance { instance, .. } => {
                let known = self.own(me).known.contains_key(instance);
                assert!(known, "{me} does not know {instance}, which is removed");
                self.forgets(me, *instance);
            }
            Callback::AttributesInScope {
                instance,
                attributes,
            } => {
                for a in attributes {
                    let new = self.own(me).in_scope.insert((*instance, *a));
                    assert!(new, "{me}: {instance}, attribute {a} is in scope twice");
                }
            }
            Callback::AttributesOutOfScope {
                instance,
                attributes,
            } => {
                for a in attributes {
                    let former = self.own(me).in_scope.remove(&(*instance, *a));
                    assert!(former, "{me}: {instance}, attribute {a} was not in scope");
                }
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                producer,
                regions,
                ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, me, "{me} hears itself");
                let class = self.own(me).known.get(instance).copied();
                let class = class.unwrap_or_else(|| panic!("{me} reflects {instance} unknown"));
                let mut with_dimensions = false;
                for (attribute, value) in values.iter() {
                    let number = u64::from_le_bytes(value.try_into().expect("it is 8 bytes"));
                    let source = Source::Attribute(*instance, attribute);
                    let subscribed = self.own(me).objects.get(&(class, attribute)).cloned();
                    self.got(me, source, number, class.raw(), subscribed);
                    let model = self.world.model.as_ref().expect("it has joined");
                    let known = model.attribute(attribute).expect("it is in the FOM");
                    if known.dimensions.is_empty() {
                        continue;
                    }
                    with_dimensions = true;
                    let sent = self.with[&(source, number)].keys().copied();
                    let sent: Vec<_> = sent.collect();
                    let told = regions.clone().unwrap_or_default();
                    assert_eq!(told, sent, "conveyed to {me} of {source:?}, {number}");
                    self.convey(me, (source, number));
                }
                assert_eq!(regions.is_some(), with_dimensions);
            }
            Callback::ReceiveInteraction {
                class,
                values,
                producer,
                regions,
                ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, me, "{me} hears itself");
                let (_, value) = values.iter().next().expect("I has a parameter");
                let (sent, number) = value.split_at(4);
                let sent = u32::from_le_bytes(sent.try_into().expect("it is 4 bytes"));
                let number = u64::from_le_bytes(number.try_into().expect("it is 8 bytes"));
                let sent = InteractionClassHandle::from_raw(sent);
                let source = Source::Interaction(producer, sent);
                let subscribed = self.own(me).interactions.get(class).cloned();
                self.got(me, source, number, class.raw(), subscribed);
                let mut told = regions.clone().expect("I has dimensions");
                told.sort_unstable();
                let sent: Vec<_> = self.with[&(source, number)].keys().copied().collect();
                assert_eq!(told, sent, "conveyed to {me} of {source:?}, {number}");
                self.convey(me, (source, number));
            }
            Callback::ProvideAttributeValueUpdate { instance, .. } => {
                assert_eq!(instance.registrar(), me, "{me} does not own {instance}");
            }
            _ => {}
        }
    }

    /// Regions are conveyed: they have the ranges that something was sent with.
    fn convey(&mut self, me: FederateHandle, sent: (Source, u64)) {
        let mut hosts = self.network.hosts.values();
        let host = hosts.find(|h| h.handle == me);
        let federate = host.expect("callbacks come to the living").federate();
        for (region, ranges) in &self.with[&sent] {
            self.conveyed.insert((me, *region));
            for (dimension, range) in ranges {
                let dimension = DimensionHandle::from_raw(*dimension);
                assert_eq!(federate.range_bounds(*region, dimension), Ok(*range));
            }
        }
    }

    /// Regions that were conveyed are known just while they are there.
    fn remembered(&self) {
        for host in self.network.hosts.values() {
            let conveyed = self.conveyed.iter().filter(|(to, _)| *to == host.handle);
            for (me, region) in conveyed {
                let creator = self.own.get(&region.creator());
                let exists = creator.is_some_and(|own| own.regions.contains_key(region));
                let known = host.federate().dimension_handle_set(*region).is_ok();
                assert_eq!(known, exists, "{me} knows {region}, and it exists");
            }
        }
    }

    /// A value has come by a subscription at this class.
    fn got(
        &mut self,
        me: FederateHandle,
        source: Source,
        number: u64,
        class: u32,
        subscribed: Option<Subscribed>,
    ) {
        let subscribed = subscribed.unwrap_or_default();
        let sent = self.with[&(source, number)].values().cloned();
        let sent: Vec<_> = sent.collect();
        let counts: BTreeSet<u32> = match source {
            Source::Attribute(..) => BTreeSet::from([1, 2, 3]),
            Source::Interaction(_, sent) => {
                let received = InteractionClassHandle::from_raw(class);
                self.world.common_dimensions(sent, received)
            }
        };
        let own = self.own.get_mut(&me).expect("callbacks come to the living");
        assert!(
            subscribed.gets(&own.committed(), &sent, &counts),
            "{me} got {number} of {source:?}, sent with {sent:?}, subscribed as {subscribed:?}"
        );
        let now = (own.epoch, class);
        if let Some((last, former)) = own.runs.insert(source, (number, now)) {
            assert!(
                number > last,
                "{me} got {number} of {source:?} after {last}"
            );
            let nearer_changed =
                |sent: InteractionClassHandle| sent.raw() != class && own.changed.contains(&sent);
            let excused = matches!(source, Source::Interaction(_, sent) if nearer_changed(sent));
            if subscribed.plainly && former == now && !excused {
                assert_eq!(number, last + 1, "{me} has a gap in {source:?}");
            }
        }
        let with_regions = Subscribed {
            plainly: false,
            ..subscribed
        };
        if with_regions.gets(&own.committed(), &sent, &counts) {
            // It may have come by a region, and those come and go: the next number is open.
            own.runs.insert(source, (number, (u64::MAX, 0)));
        }
        own.got.insert((source, number));
    }

    /// Lets everything arrive, compares with the model; then everyone sends of everything, and
    /// everyone gets just what it must.
    fn rest(&mut self) {
        self.drain();
        self.remembered();
        for (me, own) in &mut self.own {
            own.got.clear();
            // By now all have applied what was changed, but the last that came may be from before.
            own.epoch += u64::from(!own.changed.is_empty());
            own.changed.clear();
            let open = |i: &ObjectInstanceHandle| self.world.locally_deleted.contains(&(*me, *i));
            let known = own.known.iter().filter(|(i, _)| !open(i));
            let known: Vec<_> = known.map(|(i, c)| (*i, *c)).collect();
            let must = self.world.known.iter();
            let must = must.filter(|((f, i), _)| f == me && !open(i));
            let must: Vec<_> = must.map(|((_, i), c)| (*i, *c)).collect();
            assert_eq!(
                known, must,
                "what {me} has discovered, and what it must have"
            );
            let mut in_scope = BTreeSet::new();
            for (instance, class) in &own.known {
                let attributes = self.world.in_scope(*me, *instance, *class);
                in_scope.extend(attributes.into_iter().map(|a| (*instance, a)));
            }
            assert_eq!(
                own.in_scope, in_scope,
                "told to {me} to be in scope, and is"
            );
        }
        self.with.clear();
        let mut must: BTreeMap<FederateHandle, BTreeSet<(Source, u64)>> = BTreeMap::new();
        let hosts = self.network.hosts.values();
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        for round in 0..2 {
            for (peer, me) in &hosts {
                for instance in self.instances(*peer, *me) {
                    let owned = self.owned(*peer, instance);
                    self.send_update(*peer, *me, instance, &owned);
                    for attribute in owned {
                        let source = Source::Attribute(instance, attribute);
                        let known = |f| Some(*self.own.get(&f)?.known.get(&instance)?);
                        for to in self.world.receivers(instance, attribute, known) {
                            let number = self.sent[&source];
                            must.entry(to).or_default().insert((source, number));
                        }
                    }
                }
                for name in INTERACTIONS {
                    let class = self.interaction_named(*peer, name);
                    let regions = match round {
                        0 => vec![],
                        _ => self.regions(*me),
                    };
                    let Some(number) = self.send_interaction(*peer, *me, class, &regions) else {
                        continue;
                    };
                    let source = Source::Interaction(*me, class);
                    let with = self.own[me].with(&regions).into_values();
                    let with: Vec<_> = with.collect();
                    for to in self.own.keys().filter(|to| *to != me) {
                        if self.world.receives(*to, class, &with).is_some() {
                            must.entry(*to).or_default().insert((source, number));
                        }
                    }
                }
            }
            for _ in 0..self.draw.usize(..50) {
                self.step();
            }
        }
        self.drain();
        for (me, own) in &self.own {
            let must = must.remove(me).unwrap_or_default();
            // An update may let it discover again what it has deleted locally.
            let open = |(source, _): &&(Source, u64)| match source {
                Source::Attribute(i, _) => self.world.locally_deleted.contains(&(*me, *i)),
                Source::Interaction(..) => false,
            };
            let missing: Vec<_> = must.difference(&own.got).filter(|s| !open(s)).collect();
            let extra: Vec<_> = own.got.difference(&must).filter(|s| !open(s)).collect();
            assert!(missing.is_empty(), "{me} lacks {missing:?}");
            assert!(extra.is_empty(), "{me} got {extra:?}");
        }
    }

    fn drain(&mut self) {
        loop {
            while self.step() {}
            let hosts = self.network.hosts.values().filter(|h| !h.resigning);
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            for (peer, me) in hosts {
                while let Some(callback) = self.network.call(peer, |f| f.next_callback()) {
                    self.callback(me, &callback);
                }
            }
            if !self.step() {
                return;
            }
        }
    }
}

fn change(s: &mut Subscribed, choice: u8, regions: &[RegionHandle]) {
    match choice {
        0..5 => s.regions.extend(regions),
        5..8 => s.regions.retain(|r| !regions.contains(r)),
        _ => s.plainly = true,
    }
}

/// A template, or dimensions that are not available, are the only reasons to refuse regions.
fn unusable<T>(done: &Result<T, Exception>, usable: bool) {
    use ExceptionKind::*;
    match done {
        Err(e) if !usable => {
            let may = matches!(e.kind, InvalidRegion | InvalidRegionContext);
            assert!(may, "unexpected {e}");
        }
        Err(e) => panic!("unexpected {e}"),
        Ok(_) => assert!(usable, "a template is used"),
    }
}
