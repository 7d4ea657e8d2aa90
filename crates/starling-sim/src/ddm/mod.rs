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

mod actions;
mod callbacks;
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
}

/// Runs one seed for about `actions` service calls. Panics, naming what is wrong, if something is.
pub fn run(seed: u64, actions: usize) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let path = if draw.bool() {
        DataPath::Direct
    } else {
        DataPath::Executive
    };
    let mut run = Run {
        draw,
        network: Network::new(path, seed),
        world: World::default(),
        own: BTreeMap::new(),
        sent: BTreeMap::new(),
        with: BTreeMap::new(),
        conveyed: BTreeSet::new(),
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
    run.network.report()
}

impl Run {
    fn step(&mut self) -> bool {
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
            let Some(callback) = self.network.next_callback(peer) else {
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
        let left_open = self.world.locally_deleted.clone();
        self.discovered_again();
        for (me, own) in &self.own {
            let must = must.remove(me).unwrap_or_default();
            // An update may let it discover again what it has deleted locally.
            let open = |(source, _): &&(Source, u64)| match source {
                Source::Attribute(i, _) => left_open.contains(&(*me, *i)),
                Source::Interaction(..) => false,
            };
            let missing: Vec<_> = must.difference(&own.got).filter(|s| !open(s)).collect();
            let extra: Vec<_> = own.got.difference(&must).filter(|s| !open(s)).collect();
            assert!(missing.is_empty(), "{me} lacks {missing:?}");
            assert!(extra.is_empty(), "{me} got {extra:?}");
        }
    }

    /// What was deleted locally is discovered again with its next update (6.16), where that is in scope: all has been
    /// updated by now.
    fn discovered_again(&mut self) {
        for (me, instance) in std::mem::take(&mut self.world.locally_deleted) {
            let Some(own) = self.own.get(&me) else {
                continue;
            };
            let told = own.known.get(&instance).copied();
            if self.world.would_discover(me, instance) {
                assert!(told.is_some(), "{me} must discover {instance} again");
                self.network.count("discovered again");
            }
            match told {
                Some(class) => {
                    self.world.known.insert((me, instance), class);
                }
                None => {
                    self.world.locally_deleted.insert((me, instance));
                }
            }
        }
    }

    fn drain(&mut self) {
        loop {
            while self.step() {}
            let hosts = self.network.hosts.values().filter(|h| !h.resigning);
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            for (peer, me) in hosts {
                while let Some(callback) = self.network.next_callback(peer) {
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
