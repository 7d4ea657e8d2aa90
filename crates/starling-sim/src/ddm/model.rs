//! What must be so, small and slow: every region is compared with every other.

use crate::watch::Watch;
use starling_core::message::{
    AttributeRegions, Range, Request, RequestBody, ResignAction, ddm, declaration, federation,
    object,
};
use starling_core::message::{RegionSpecification, Subscription};
use starling_core::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ObjectModel, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// A region's ranges by dimension.
pub(crate) type Ranges = BTreeMap<u32, (u32, u32)>;

fn ranges(list: &[Range]) -> Ranges {
    let of = |r: &Range| (r.dimension.raw(), (r.lower, r.upper));
    list.iter().map(of).collect()
}

/// How a class attribute or interaction class is subscribed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subscribed {
    pub(crate) plainly: bool,
    pub(crate) regions: BTreeSet<RegionHandle>,
}

impl Subscribed {
    pub(crate) fn is_any(&self) -> bool {
        self.plainly || !self.regions.is_empty()
    }

    /// Whether it gets what was sent with these regions (none: the default region), if these
    /// dimensions are available to both sides.
    pub(crate) fn gets(
        &self,
        all: &BTreeMap<RegionHandle, Ranges>,
        sent: &[Ranges],
        counts: &BTreeSet<u32>,
    ) -> bool {
        // A region that says nothing of D lies from 2 to 9, of F at 4; E is excluded then.
        let within = |ranges: &Ranges, d: u32| match (ranges.get(&d), d) {
            (Some(range), _) => *range,
            (None, 1) => (2, 9),
            (None, 3) => (4, 5),
            (None, _) => (0, 16),
        };
        let meets = |a: &Ranges, b: &Ranges| {
            counts.iter().all(|d| {
                let ((l, u), (m, v)) = (within(a, *d), within(b, *d));
                (l..u).any(|at| (m..v).contains(&at))
            })
        };
        let any = |r: &RegionHandle| sent.iter().any(|s| meets(&all[r], s));
        self.plainly || (self.is_any() && sent.is_empty()) || self.regions.iter().any(any)
    }
}

pub(crate) type Subscriptions<C> = BTreeMap<C, Subscribed>;
pub(crate) type ClassAttribute = (ObjectClassHandle, AttributeHandle);

pub(crate) struct Instance {
    class: ObjectClassHandle,
    owner: Option<FederateHandle>,
    owned: BTreeSet<AttributeHandle>,
    associated: BTreeMap<AttributeHandle, BTreeSet<RegionHandle>>,
}

#[derive(Default)]
pub(crate) struct Member {
    published: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    pub(crate) objects: Subscriptions<ClassAttribute>,
    pub(crate) interactions: Subscriptions<InteractionClassHandle>,
}

/// The federation execution as of the executive's log.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) model: Option<ObjectModel>,
    pub(crate) members: BTreeMap<FederateHandle, Member>,
    pub(crate) regions: BTreeMap<RegionHandle, Ranges>,
    pub(crate) instances: BTreeMap<ObjectInstanceHandle, Instance>,
    /// Who has been told of what, and as which class.
    pub(crate) known: BTreeMap<(FederateHandle, ObjectInstanceHandle), ObjectClassHandle>,
    /// Until all has been updated it is left open whether they discover these again.
    pub(crate) locally_deleted: BTreeSet<(FederateHandle, ObjectInstanceHandle)>,
    /// Living federates that have joined and are not yet seen by the program.
    pub(crate) joined: Vec<FederateHandle>,
}

impl World {
    fn model(&self) -> &ObjectModel {
        self.model.as_ref().expect("somebody has joined")
    }

    /// Attributes of an instance in scope for a federate that knows it as `class`.
    pub(crate) fn in_scope(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        class: ObjectClassHandle,
    ) -> BTreeSet<AttributeHandle> {
        let instance = &self.instances[&handle];
        if instance.owner.is_none() || instance.owner == Some(federate) {
            return BTreeSet::new();
        }
        let gets = |a: &&AttributeHandle| {
            let subscribed = self.members[&federate].objects.get(&(class, **a));
            let none = BTreeSet::new();
            let with = instance.associated.get(*a).unwrap_or(&none);
            let with: Vec<_> = with.iter().map(|r| self.regions[r].clone()).collect();
            subscribed.is_some_and(|s| s.gets(&self.regions, &with, &BTreeSet::from([1, 2, 3])))
        };
        instance.owned.iter().filter(gets).copied().collect()
    }

    fn candidate(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Option<ObjectClassHandle> {
        let mut at = self.model().object_class(class);
        while let Some(c) = at {
            let mut subscribed = self.members[&federate].objects.iter();
            if subscribed.any(|((at, _), s)| *at == c.handle && s.is_any()) {
                return Some(c.handle);
            }
            at = c.parent.and_then(|p| self.model().object_class(p));
        }
        None
    }

    /// Whether an update lets a federate discover an instance that it does not know.
    pub(crate) fn would_discover(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> bool {
        let Some(instance) = self.instances.get(&handle) else {
            return false;
        };
        self.members.contains_key(&federate)
            && self
                .candidate(federate, instance.class)
                .is_some_and(|class| !self.in_scope(federate, handle, class).is_empty())
    }

    /// What everybody must have been told of by now.
    fn discover(&mut self) {
        let mut found = Vec::new();
        for federate in self.members.keys() {
            for (handle, instance) in &self.instances {
                let pair = (*federate, *handle);
                if handle.registrar() == *federate || self.known.contains_key(&pair) {
                    continue;
                }
                let class = self.candidate(*federate, instance.class);
                let in_scope = |c| !self.in_scope(*federate, *handle, c).is_empty();
                found.extend(class.filter(|c| in_scope(*c)).map(|c| (pair, c)));
            }
        }
        self.known.extend(found);
    }

    /// Who gets values of an instance attribute now, of those who know it so.
    pub(crate) fn receivers(
        &self,
        handle: ObjectInstanceHandle,
        attribute: AttributeHandle,
        known: impl Fn(FederateHandle) -> Option<ObjectClassHandle>,
    ) -> Vec<FederateHandle> {
        let gets = |f: &&FederateHandle| {
            known(**f).is_some_and(|c| self.in_scope(**f, handle, c).contains(&attribute))
        };
        self.members.keys().filter(gets).copied().collect()
    }

    /// The class at which a federate gets an interaction now, if it does.
    pub(crate) fn receives(
        &self,
        federate: FederateHandle,
        sent: InteractionClassHandle,
        with: &[Ranges],
    ) -> Option<InteractionClassHandle> {
        let mut at = self.model().interaction_class(sent);
        while let Some(c) = at {
            let subscribed = self.members.get(&federate)?.interactions.get(&c.handle);
            if let Some(s) = subscribed.filter(|s| s.is_any()) {
                let counts = self.common_dimensions(sent, c.handle);
                return s.gets(&self.regions, with, &counts).then_some(c.handle);
            }
            at = c.parent.and_then(|p| self.model().interaction_class(p));
        }
        None
    }

    /// Dimensions that are available for both of two interaction classes.
    pub(crate) fn common_dimensions(
        &self,
        sent: InteractionClassHandle,
        received: InteractionClassHandle,
    ) -> BTreeSet<u32> {
        let of = |class| {
            let class = self.model().interaction_class(class).expect("it is in use");
            class.dimensions.iter().map(|d| d.raw()).collect()
        };
        let (sent, received): (BTreeSet<u32>, BTreeSet<u32>) = (of(sent), of(received));
        &sent & &received
    }

    fn commit(&mut self, list: &[RegionSpecification]) {
        let new = list.iter().map(|s| (s.region, ranges(&s.ranges)));
        self.regions.extend(new);
    }

    fn associate(&mut self, instance: ObjectInstanceHandle, list: &[AttributeRegions], on: bool) {
        let Some(instance) = self.instances.get_mut(&instance) else {
            return;
        };
        for (attribute, region) in AttributeRegions::pairs(list) {
            let regions = instance.associated.entry(attribute).or_default();
            if on {
                regions.insert(region)
            } else {
                regions.remove(&region)
            };
        }
    }

    fn register(
        &mut self,
        origin: FederateHandle,
        handle: ObjectInstanceHandle,
        class: ObjectClassHandle,
    ) {
        let published = self.members[&origin].published.get(&class);
        let instance = Instance {
            class,
            owner: Some(origin),
            owned: published.into_iter().flatten().copied().collect(),
            associated: BTreeMap::new(),
        };
        self.instances.insert(handle, instance);
    }

    fn remove(&mut self, instance: ObjectInstanceHandle) {
        self.instances.remove(&instance);
        self.known.retain(|(_, i), _| *i != instance);
    }

    fn resigned(&mut self, handle: FederateHandle, action: ResignAction) {
        self.members.remove(&handle);
        let own = self.instances.iter();
        let own: Vec<_> = own
            .filter(|(_, i)| i.owner == Some(handle))
            .map(|(h, _)| *h)
            .collect();
        for instance in own {
            if action.deletes() {
                self.remove(instance);
            } else if let Some(orphan) = self.instances.get_mut(&instance) {
                orphan.owner = None;
                orphan.associated.clear();
            }
        }
        self.regions.retain(|r, _| r.creator() != handle);
        self.known.retain(|(f, _), _| *f != handle);
    }
}

impl Watch for World {
    fn joined(&mut self, handle: FederateHandle, model: &ObjectModel) {
        self.model.get_or_insert_with(|| model.clone());
        self.members.entry(handle).or_default();
        self.joined.push(handle);
    }

    fn died(&mut self, _: FederateHandle) {}

    fn lost(&mut self, handle: FederateHandle) {
        // The FOM sets no switch: the standard's default holds.
        self.resigned(handle, ResignAction::CancelThenDeleteThenDivest);
    }

    fn ordered(&mut self, origin: FederateHandle, request: &Request) {
        self.take(origin, request);
        self.discover();
    }
}

impl World {
    /// What a request changes.
    pub(crate) fn take(&mut self, origin: FederateHandle, request: &Request) {
        let Some(member) = self.members.get_mut(&origin) else {
            panic!("requests come from members");
        };
        match &request.body {
            RequestBody::Declaration(declaration::Request::PublishObjectClass {
                class,
                attributes,
            }) => {
                member.published.insert(*class, attributes.clone());
            }
            RequestBody::Declaration(declaration::Request::SubscribeObjectClass {
                class,
                attributes,
            }) => {
                for ((at, _), s) in &mut member.objects {
                    s.plainly &= at != class;
                }
                for a in attributes {
                    let s = member.objects.entry((*class, a.attribute)).or_default();
                    s.plainly = true;
                }
            }
            RequestBody::Declaration(declaration::Request::SubscribeInteraction {
                class,
                subscription,
            }) => {
                let s = member.interactions.entry(*class).or_default();
                s.plainly = *subscription != Subscription::None;
            }
            RequestBody::Ddm(ddm::Request::CommitRegions(list)) => self.commit(list),
            RequestBody::Ddm(ddm::Request::DeleteRegion(region)) => {
                self.regions.remove(region);
            }
            RequestBody::Object(object::Request::RegisterObject {
                instance, class, ..
            }) => self.register(origin, *instance, *class),
            RequestBody::Ddm(ddm::Request::RegisterObjectWithRegions {
                instance,
                class,
                regions,
                ..
            }) => {
                self.register(origin, *instance, *class);
                self.associate(*instance, regions, true);
            }
            RequestBody::Ddm(ddm::Request::AssociateRegions { instance, regions }) => {
                self.associate(*instance, regions, true);
            }
            RequestBody::Ddm(ddm::Request::UnassociateRegions { instance, regions }) => {
                self.associate(*instance, regions, false);
            }
            RequestBody::Ddm(ddm::Request::SubscribeObjectClassWithRegions {
                class,
                regions,
                ..
            }) => {
                for (attribute, region) in AttributeRegions::pairs(regions) {
                    let s = member.objects.entry((*class, attribute)).or_default();
                    s.regions.insert(region);
                }
            }
            RequestBody::Ddm(ddm::Request::UnsubscribeObjectClassWithRegions {
                class,
                regions,
            }) => {
                for (attribute, region) in AttributeRegions::pairs(regions) {
                    let s = member.objects.entry((*class, attribute)).or_default();
                    s.regions.remove(&region);
                }
            }
            RequestBody::Ddm(ddm::Request::SubscribeInteractionWithRegions {
                class,
                regions,
                ..
            }) => {
                let s = member.interactions.entry(*class).or_default();
                s.regions.extend(regions);
            }
            RequestBody::Ddm(ddm::Request::UnsubscribeInteractionWithRegions {
                class,
                regions,
            }) => {
                let s = member.interactions.entry(*class).or_default();
                s.regions.retain(|r| !regions.contains(r));
            }
            RequestBody::Object(object::Request::DeleteObject { instance, .. }) => {
                self.remove(*instance)
            }
            RequestBody::Object(object::Request::LocalDeleteObject { instance }) => {
                self.known.remove(&(origin, *instance));
                self.locally_deleted.insert((origin, *instance));
            }
            RequestBody::Federation(federation::Request::Resign(action)) => {
                self.resigned(origin, *action)
            }
            _ => {}
        }
    }
}
