//! The checkers: a small model of what the federation execution must look like, kept from the
//! requests in the order in which the executive takes them, and what each federate may receive.
//!
//! Every value is a sequence number of its attribute (or of its sender and interaction class).
//! Invariants, checked at every callback:
//! - a federate never hears itself;
//! - sequence numbers rise, one by one while the receiver's subscription stays as it is: program
//!   order, exactly once, and a gapless suffix for whoever came later; who conflates may have gaps;
//! - reflect, provide and remove only between discover and remove;
//! - what the owner that deletes an instance has sent of it comes before the removal;
//! - what `ownership` says of owners.
//!
//! And when the network has come to rest: everyone knows just the instances that it must, and has
//! the last value of all that it subscribes to.

use crate::advice::Advice;
use crate::ownership::{PRIVILEGE, Views, World};
use crate::points::Points;
use crate::watch::Watch;
use starling_core::message::{
    DataBody, EntryBody, Request, RequestBody, ResignAction, declaration, federation, object,
};
use starling_core::{
    AttributeHandle, Callback, Federate, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ObjectModel,
};
use std::collections::{BTreeMap, BTreeSet};

type Attributes = BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>;

/// What carries sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Attribute(ObjectInstanceHandle, AttributeHandle),
    Interaction(FederateHandle, InteractionClassHandle),
}

/// What a receiver has got of one source.
#[derive(Default)]
struct Run {
    last: u64,
    /// The next one must be `last + 1`.
    unbroken: bool,
}

#[derive(Default)]
struct Receiver {
    runs: BTreeMap<Source, Run>,
    /// Registered or discovered.
    known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    advice: Advice,
    views: Views,
}

#[derive(Default)]
struct Member {
    published: Attributes,
    subscribed: Attributes,
    interactions: BTreeSet<InteractionClassHandle>,
    /// Of `subscribed`, what is not passive.
    active: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    active_interactions: BTreeSet<InteractionClassHandle>,
    published_interactions: BTreeSet<InteractionClassHandle>,
    directive: Option<ResignAction>,
}

struct Instance {
    class: ObjectClassHandle,
    /// These need not discover it before its next update.
    locally_deleted: BTreeSet<FederateHandle>,
}

/// Model and receivers of one run.
#[derive(Default)]
pub(crate) struct Checker {
    sent: BTreeMap<Source, u64>,
    /// Of an instance that is deleted: what its deleter had sent of what it owned.
    finished: BTreeMap<ObjectInstanceHandle, Vec<(AttributeHandle, u64)>>,
    /// Who has sent values of an attribute.
    senders: BTreeSet<(FederateHandle, Source)>,
    /// What was lost on its way to one, or to all.
    dropped: Dropped,
    /// The classes of all instances that there have been.
    registered: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// Sources of which a dead federate may have taken values with it.
    torn: BTreeSet<Source>,
    /// Sent since the network was last at rest: what must have come when it is so again.
    round: BTreeSet<Source>,
    receivers: BTreeMap<FederateHandle, Receiver>,
    members: BTreeMap<FederateHandle, Member>,
    instances: BTreeMap<ObjectInstanceHandle, Instance>,
    pub(crate) points: Points,
    world: World,
}

impl Watch for Checker {
    fn joined(&mut self, handle: FederateHandle, model: &ObjectModel) {
        self.joined(handle, model);
    }

    fn entered(&mut self, handle: FederateHandle) {
        self.points.joined(handle);
    }

    fn died(&mut self, handle: FederateHandle) {
        self.died(handle);
    }

    fn lost(&mut self, handle: FederateHandle) {
        self.lost(handle);
    }

    fn ordered(&mut self, origin: FederateHandle, request: &Request) {
        self.ordered(origin, request);
    }

    fn told(&mut self, to: FederateHandle, entry: &EntryBody) {
        self.told(to, entry);
    }

    fn settled(&mut self) {
        self.settled();
    }

    fn dropped(&mut self, sender: FederateHandle, to: Option<FederateHandle>, body: &DataBody<'_>) {
        let number = |value: &[u8]| {
            let number = value.last_chunk().expect("numbers take 8 bytes");
            u64::from_le_bytes(*number)
        };
        match body {
            DataBody::Update { instance, payload } => {
                let class = self.registered[instance];
                for (slot, value) in payload.values.iter() {
                    let attribute = self.world.attributes_of(class)[slot as usize];
                    let source = Source::Attribute(*instance, attribute);
                    self.dropped.insert((to, source, number(value)));
                }
            }
            DataBody::Interaction { class, payload } => {
                if let Some((_, value)) = payload.values.iter().next() {
                    let source = Source::Interaction(sender, *class);
                    self.dropped.insert((to, source, number(value)));
                }
            }
            DataBody::Fence { .. } => {}
        }
    }
}

impl Checker {
    pub(crate) fn joined(&mut self, handle: FederateHandle, model: &ObjectModel) {
        self.world.joined(model);
        self.receivers.insert(handle, Receiver::default());
        self.members.entry(handle).or_default();
    }

    /// The process is gone; the executive will see its connection end later.
    pub(crate) fn died(&mut self, handle: FederateHandle) {
        self.receivers.remove(&handle);
        let sources = self.senders.iter().filter(|(f, _)| *f == handle);
        self.torn.extend(sources.map(|(_, source)| *source));
    }

    /// The executive has resigned it by its directive.
    pub(crate) fn lost(&mut self, handle: FederateHandle) {
        if let Some(member) = self.members.get(&handle) {
            // The small FOM sets no switch: the standard's default holds.
            let default = ResignAction::CancelThenDeleteThenDivest;
            self.resigned(handle, member.directive.unwrap_or(default));
        }
    }

    fn resigned(&mut self, handle: FederateHandle, action: ResignAction) {
        self.members.remove(&handle);
        self.points.left(handle);
        self.world.resigned(handle, action);
        let world = &self.world;
        self.instances.retain(|h, _| world.exists(*h));
    }

    /// The executive tells a federate something.
    pub(crate) fn told(&mut self, to: FederateHandle, entry: &EntryBody) {
        self.world.told(to, entry);
    }

    /// All that an input brings about has been told.
    pub(crate) fn settled(&mut self) {
        self.world.settled();
    }

    /// What a living federate is to instance attributes.
    pub(crate) fn views(&mut self, of: FederateHandle) -> &mut Views {
        &mut self
            .receivers
            .get_mut(&of)
            .expect("callers are there")
            .views
    }

    /// A federate has registered an instance.
    pub(crate) fn registers(
        &mut self,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
    ) {
        let receiver = self.receivers.get_mut(&me).expect("callers are there");
        receiver.known.insert(instance, class);
        self.registered.insert(instance, class);
        receiver.views.registered(instance, class);
    }

    /// The number to send next.
    pub(crate) fn next(&mut self, me: FederateHandle, source: Source) -> [u8; 8] {
        let number = self.sent.entry(source).or_default();
        *number += 1;
        self.round.insert(source);
        self.senders.insert((me, source));
        // Once it is another's, this one hears what comes after its own last, if all goes well.
        let last = *number;
        let runs = self.receivers.get_mut(&me).map(|r| &mut r.runs);
        if let Some(run) = runs.and_then(|r| r.get_mut(&source)) {
            run.last = last;
        }
        number.to_le_bytes()
    }

    /// A receiver has called unsubscribe: what comes may have gaps once.
    pub(crate) fn subscription_shrinks(&mut self, receiver: FederateHandle) {
        let receiver = self
            .receivers
            .get_mut(&receiver)
            .expect("callers are there");
        receiver.runs.values_mut().for_each(|r| r.unbroken = false);
    }

    /// A receiver has deleted an instance, for all or for itself.
    pub(crate) fn forgets(&mut self, receiver: FederateHandle, instance: ObjectInstanceHandle) {
        let receiver = self
            .receivers
            .get_mut(&receiver)
            .expect("callers are there");
        receiver.known.remove(&instance);
        receiver.advice.forget(instance);
        receiver.views.forgets(instance);
        for (source, run) in &mut receiver.runs {
            if matches!(source, Source::Attribute(i, _) if *i == instance) {
                run.unbroken = false;
            }
        }
    }

    /// A last round begins: everything that is sent in it must come to all who subscribe.
    pub(crate) fn last_round(&mut self) {
        self.round.clear();
    }

    /// Instances that a receiver knows.
    pub(crate) fn known(
        &self,
        receiver: FederateHandle,
    ) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        self.receivers[&receiver].known.keys().copied()
    }

    /// What a federate was told of relevance and scope.
    pub(crate) fn advice(&mut self, federate: FederateHandle) -> &mut Advice {
        let receiver = self.receivers.get_mut(&federate);
        &mut receiver.expect("callers are there").advice
    }

    /// The executive takes a request.
    pub(crate) fn ordered(&mut self, origin: FederateHandle, request: &Request) {
        self.finishes(origin, &request.body);
        // A resignation is for `resigned` below.
        if !matches!(
            request.body,
            RequestBody::Federation(federation::Request::Resign(_))
        ) {
            self.world.request(origin, request);
        }
        self.points.ordered(origin, &request.body);
        let member = self.members.entry(origin).or_default();
        match &request.body {
            RequestBody::Declaration(declaration::Request::PublishObjectClass {
                class,
                attributes,
            }) => {
                let set = attributes.iter().copied().collect();
                member.published.insert(*class, set);
            }
            RequestBody::Declaration(declaration::Request::PublishInteraction {
                class,
                published,
            }) => {
                if *published {
                    member.published_interactions.insert(*class)
                } else {
                    member.published_interactions.remove(class)
                };
            }
            RequestBody::Declaration(declaration::Request::SubscribeObjectClass {
                class,
                attributes,
            }) => {
                let set = attributes.iter().map(|a| a.attribute).collect();
                member.subscribed.insert(*class, set);
                member.active.retain(|(c, _)| c != class);
                let active = attributes.iter().filter(|a| a.active);
                member.active.extend(active.map(|a| (*class, a.attribute)));
            }
            RequestBody::Declaration(declaration::Request::SubscribeInteraction {
                class,
                subscription,
            }) => {
                use starling_core::message::Subscription;
                match subscription {
                    Subscription::None => member.interactions.remove(class),
                    _ => member.interactions.insert(*class),
                };
                match subscription {
                    Subscription::Active => member.active_interactions.insert(*class),
                    _ => member.active_interactions.remove(class),
                };
            }
            RequestBody::Object(object::Request::RegisterObject {
                instance, class, ..
            }) => {
                let new = Instance {
                    class: *class,
                    locally_deleted: BTreeSet::new(),
                };
                self.instances.insert(*instance, new);
            }
            RequestBody::Object(object::Request::DeleteObject { instance, .. })
                if !self.world.exists(*instance) =>
            {
                self.instances.remove(instance);
            }
            RequestBody::Object(object::Request::LocalDeleteObject { instance }) => {
                if let Some(i) = self.instances.get_mut(instance) {
                    i.locally_deleted.insert(origin);
                }
            }
            RequestBody::Federation(federation::Request::SetResignDirective(action)) => {
                member.directive = Some(*action)
            }
            RequestBody::Federation(federation::Request::Resign(action)) => {
                self.resigned(origin, *action)
            }
            _ => {}
        }
    }

    /// Notes what must come before the removals that a request brings.
    fn finishes(&mut self, origin: FederateHandle, request: &RequestBody) {
        let all = self.instances.keys();
        let deletes = |instance: &ObjectInstanceHandle| match request {
            RequestBody::Object(object::Request::DeleteObject { instance: one, .. }) => {
                instance == one
            }
            RequestBody::Federation(federation::Request::Resign(action)) => action.deletes(),
            _ => false,
        };
        for instance in all.filter(|i| deletes(i)) {
            if self.world.owner((*instance, PRIVILEGE)) == Some(origin) {
                let owned = self.world.owners(*instance).filter(|(_, o)| *o == origin);
                let sent = owned.filter_map(|(a, _)| {
                    let number = self.sent.get(&Source::Attribute(*instance, a))?;
                    Some((a, *number))
                });
                self.finished.insert(*instance, sent.collect());
            }
        }
    }

    /// A callback is delivered, at one that may leave out what is followed by newer values, or not.
    pub(crate) fn callback(&mut self, at: FederateHandle, callback: &Callback, conflates: bool) {
        self.points.callback(at, callback);
        let receiver = self
            .receivers
            .get_mut(&at)
            .expect("callbacks come to the living");
        receiver.advice.callback(at, callback);
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } => {
                let twice = receiver.known.insert(*instance, *class);
                assert_eq!(twice, None, "{at} discovers {instance} twice");
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                producer,
                ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, at, "{at} hears itself");
                let known = receiver.known.contains_key(instance);
                assert!(known, "{at} reflects {instance} outside its life");
                for (attribute, value) in values.iter() {
                    let owned = receiver.views.owns((*instance, attribute));
                    assert!(
                        !owned,
                        "{at} owns {instance}, attribute {attribute}, and reflects it"
                    );
                    receiver.got(
                        at,
                        Source::Attribute(*instance, attribute),
                        value,
                        (&self.torn, &self.dropped, conflates),
                    );
                }
            }
            Callback::ReceiveInteraction {
                values, producer, ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, at, "{at} hears itself");
                // The first parameter says the sent class and the number.
                if let Some((_, value)) = values.iter().next() {
                    let (class, number) = value.split_at(4);
                    let class = u32::from_le_bytes(class.try_into().expect("it is 4 bytes"));
                    let class = InteractionClassHandle::from_raw(class);
                    let source = Source::Interaction(producer, class);
                    receiver.got(at, source, number, (&self.torn, &self.dropped, false));
                }
            }
            Callback::RemoveObjectInstance { instance, .. } => {
                let known = receiver.known.remove(instance);
                assert!(
                    known.is_some(),
                    "{at} is told twice that {instance} is removed"
                );
                for (attribute, sent) in self.finished.get(instance).into_iter().flatten() {
                    let source = Source::Attribute(*instance, *attribute);
                    let run = receiver.runs.get(&source).filter(|r| r.unbroken);
                    if let Some(run) = run.filter(|_| !self.torn.contains(&source)) {
                        let lost = |n| is_dropped(&self.dropped, at, source, n);
                        let all = run.last == *sent || (run.last + 1..=*sent).all(lost);
                        assert!(all, "{at} has not got all of {source:?}");
                    }
                }
            }
            Callback::ProvideAttributeValueUpdate {
                instance,
                attributes,
                ..
            } => {
                for a in attributes {
                    let owned = receiver.views.owns((*instance, *a));
                    assert!(owned, "{at} does not own {instance}, attribute {a}");
                }
            }
            _ => {}
        }
        receiver.views.callback(callback);
        if let Callback::AttributeOwnershipAcquisitionNotification {
            instance,
            attributes,
            ..
        } = callback
        {
            for a in attributes {
                receiver.advice.wanted.remove(&(*instance, *a));
                // The former owner's values that have not come yet won't.
                let run = receiver.runs.get_mut(&Source::Attribute(*instance, *a));
                run.into_iter().for_each(|run| run.unbroken = false);
            }
            for a in attributes {
                let owns = |r: &&FederateHandle| self.receivers[*r].views.owns((*instance, *a));
                let owners: Vec<_> = self.receivers.keys().filter(owns).collect();
                assert_eq!(owners, [&at], "owners of {instance}, attribute {a}");
            }
        }
    }

    /// The network is at rest and every sender has sent one more of everything.
    pub(crate) fn at_rest(&self, federate: &Federate) {
        let me = federate.handle();
        let model = federate.model();
        let (receiver, member) = (&self.receivers[&me], &self.members[&me]);
        receiver.views.at_rest(&self.world, federate);
        for instance in receiver.known.keys() {
            let exists = self.instances.contains_key(instance);
            assert_eq!(exists, self.world.exists(*instance));
            assert!(exists, "{me} still knows {instance}, which is deleted");
        }
        for (handle, instance) in &self.instances {
            let owned = self.world.owners(*handle).filter(|(_, o)| *o != me);
            let owned: BTreeSet<_> = owned.map(|(a, _)| a).collect();
            let Some(class) = candidate(model, &member.subscribed, instance.class) else {
                continue;
            };
            let sent = |a: &&AttributeHandle| self.round.contains(&Source::Attribute(*handle, **a));
            let mut in_scope = member.subscribed[&class].intersection(&owned);
            // What was deleted locally is discovered again with its next update.
            let must = if instance.locally_deleted.contains(&me) {
                in_scope.any(|a| sent(&a))
            } else {
                in_scope.next().is_some()
            };
            if must {
                let known = receiver.known.contains_key(handle);
                assert!(known, "{me} must have discovered {handle} as class {class}");
            }
            let Some(class) = receiver.known.get(handle) else {
                continue;
            };
            let Some(subscribed) = member.subscribed.get(class) else {
                continue;
            };
            for attribute in subscribed.intersection(&owned) {
                let source = Source::Attribute(*handle, *attribute);
                if self.round.contains(&source) {
                    self.has_last(me, source);
                }
            }
        }
        for source in &self.round {
            let Source::Interaction(sender, class) = source else {
                continue;
            };
            let mut at = model.interaction_class(*class);
            let mut wanted = false;
            while let Some(c) = at {
                wanted |= member.interactions.contains(&c.handle);
                at = c.parent.and_then(|p| model.interaction_class(p));
            }
            // A subscription at the root receives interactions without the parameters that count.
            let root = InteractionClassHandle::from_raw(1);
            if wanted && *sender != me && !member.interactions.contains(&root) {
                self.has_last(me, *source);
            }
        }
    }

    /// What a federate was last told of relevance and scope is what holds.
    pub(crate) fn advised(&self, federate: &Federate) {
        let me = federate.handle();
        let model = federate.model();
        let (receiver, member) = (&self.receivers[&me], &self.members[&me]);
        let others = || self.members.iter().filter(|(f, _)| **f != me);
        let mut now = Advice::default();
        for (class, published) in member.published.iter().filter(|(_, p)| !p.is_empty()) {
            let wanted = others().any(|(_, m)| {
                let mut active = m.active.iter();
                active.any(|(c, a)| published.contains(a) && model.is_subclass_or_same(*class, *c))
            });
            if wanted {
                now.registration.insert(*class);
            }
        }
        for class in &member.published_interactions {
            let wanted = others().any(|(_, m)| {
                let mut active = m.active_interactions.iter();
                active.any(|c| model.is_interaction_subclass_or_same(*class, *c))
            });
            if wanted {
                now.interactions.insert(*class);
            }
        }
        for handle in self.instances.keys() {
            for (attribute, owner) in self.world.owners(*handle) {
                let knows = |f: &FederateHandle| {
                    let known = self.receivers.get(f)?.known.get(handle)?;
                    Some(*known)
                };
                if owner == me {
                    let wanted = others().any(|(f, m)| {
                        knows(f).is_some_and(|class| m.active.contains(&(class, attribute)))
                    });
                    if wanted {
                        now.wanted.insert((*handle, attribute));
                    }
                } else if let Some(class) = receiver.known.get(handle) {
                    let subscribed = member.subscribed.get(class);
                    if subscribed.is_some_and(|s| s.contains(&attribute)) {
                        now.in_scope.insert((*handle, attribute));
                    }
                }
            }
        }
        let mut told = receiver.advice.clone();
        // What it no longer publishes or owns it was told for the last time.
        let published = |c: &ObjectClassHandle| {
            let set = member.published.get(c);
            set.is_some_and(|s| !s.is_empty())
        };
        told.registration.retain(published);
        told.interactions
            .retain(|c| member.published_interactions.contains(c));
        let owned = |(i, a): &(ObjectInstanceHandle, AttributeHandle)| {
            self.world.owner((*i, *a)) == Some(me)
        };
        told.wanted.retain(owned);
        assert_eq!(told, now, "what {me} was told, and what holds");
    }

    fn has_last(&self, me: FederateHandle, source: Source) {
        let sent = self.sent.get(&source).copied().unwrap_or_default();
        let got = self.receivers[&me].runs.get(&source).map_or(0, |r| r.last);
        assert_eq!(
            got, sent,
            "{me} has {got} of {source:?}, of which {sent} were sent"
        );
    }
}

impl Receiver {
    fn got(
        &mut self,
        me: FederateHandle,
        source: Source,
        value: &[u8],
        (torn, dropped, gaps): (&BTreeSet<Source>, &Dropped, bool),
    ) {
        let number = u64::from_le_bytes(value.try_into().expect("values are 8 bytes"));
        let run = self.runs.entry(source).or_default();
        assert!(
            number > run.last,
            "{me} got {number} of {source:?} after {}",
            run.last
        );
        if run.unbroken && !gaps && !torn.contains(&source) {
            let mut missing = run.last + 1..number;
            let lost = missing.all(|n| is_dropped(dropped, me, source, n));
            assert!(lost, "{me} has a gap in {source:?}");
        }
        *run = Run {
            last: number,
            unbroken: true,
        };
    }
}

type Dropped = BTreeSet<(Option<FederateHandle>, Source, u64)>;

fn is_dropped(dropped: &Dropped, to: FederateHandle, source: Source, number: u64) -> bool {
    [Some(to), None]
        .iter()
        .any(|to| dropped.contains(&(*to, source, number)))
}

fn candidate(
    model: &ObjectModel,
    subscribed: &Attributes,
    class: ObjectClassHandle,
) -> Option<ObjectClassHandle> {
    let mut at = model.object_class(class);
    while let Some(c) = at {
        if subscribed.get(&c.handle).is_some_and(|s| !s.is_empty()) {
            return Some(c.handle);
        }
        at = c.parent.and_then(|p| model.object_class(p));
    }
    None
}
