//! Checkers of ownership (1516.1-2010 chapter 7).
//!
//! [`World`] follows the requests in the order in which the executive takes them and what it tells
//! of them, and accepts nothing else than the rules allow: one owner or none, the first who asked
//! gets it, every acquisition has one end, offers are complete and not repeated. [`Views`] follows
//! the calls and callbacks of each federate: it foretells the exception of every call, and no two
//! federates ever act as owner of one attribute. At rest the two agree.

use starling_core::message::{
    EntryBody, Request, RequestBody, ResignAction, declaration, federation, object, ownership,
};
use starling_core::{
    AttributeHandle, Callback, Divestiture, ExceptionKind, Federate, FederateHandle,
    ObjectClassHandle, ObjectInstanceHandle, ObjectModel, OwnershipNotice,
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const PRIVILEGE: AttributeHandle = AttributeHandle::from_raw(1);

type Place = (ObjectInstanceHandle, AttributeHandle);
type Published = BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>;

/// A federate as the tag of its acquisitions.
pub(crate) fn tag_of(federate: FederateHandle) -> [u8; 4] {
    federate.0.to_le_bytes()
}

/// An instance attribute as of the log.
#[derive(Default)]
struct Attribute {
    owner: Option<FederateHandle>,
    divesting: bool,
    /// The divesting owner was asked to confirm.
    asked: bool,
    /// Who wants it, and whether only if it is available.
    wanting: Vec<(FederateHandle, bool)>,
    /// For whom the present owner was asked to release it.
    release: BTreeSet<FederateHandle>,
    /// Who needs no offer.
    offered: BTreeSet<FederateHandle>,
}

impl Attribute {
    fn release_by(&mut self, former: FederateHandle) {
        self.owner = None;
        self.divesting = false;
        self.asked = false;
        self.release.clear();
        self.offered = BTreeSet::from([former]);
    }

    fn wants(&self, federate: FederateHandle) -> bool {
        self.wanting.iter().any(|(f, _)| *f == federate)
    }

    fn withdraw(&mut self, federate: FederateHandle) {
        let before = self.wanting.len();
        self.wanting.retain(|(f, _)| *f != federate);
        self.release.remove(&federate);
        if self.wanting.len() < before && self.divesting {
            if self.wanting.is_empty() {
                self.offered.clear();
            }
            self.offered.insert(federate);
        }
    }
}

/// Ownership as of the log.
#[derive(Default)]
pub(crate) struct World {
    attributes: BTreeMap<Place, Attribute>,
    /// As which class a federate knows an instance.
    known: BTreeMap<(ObjectInstanceHandle, FederateHandle), ObjectClassHandle>,
    published: BTreeMap<FederateHandle, Published>,
    /// Attributes of every class that somebody knows.
    classes: BTreeMap<ObjectClassHandle, Vec<AttributeHandle>>,
    /// The request of which the executive is now telling.
    now: Option<(FederateHandle, RequestBody)>,
}

impl World {
    /// Somebody has joined who has this object model.
    pub(crate) fn joined(&mut self, model: &ObjectModel) {
        let classes = model.object_classes();
        let classes = classes.map(|c| (c.handle, c.attributes.clone()));
        self.classes.extend(classes);
    }

    /// The attributes of a class, by slot.
    pub(crate) fn attributes_of(&self, class: ObjectClassHandle) -> &[AttributeHandle] {
        &self.classes[&class]
    }

    /// The executive takes a request.
    pub(crate) fn request(&mut self, origin: FederateHandle, request: &Request) {
        self.now = Some((origin, request.body.clone()));
        match &request.body {
            RequestBody::Declaration(declaration::Request::PublishObjectClass {
                class,
                attributes,
            }) => {
                self.publish(origin, *class, attributes);
            }
            RequestBody::Object(object::Request::RegisterObject {
                instance, class, ..
            }) => {
                self.known.insert((*instance, origin), *class);
                let mut owned = self.published_by(origin, *class);
                owned.insert(PRIVILEGE);
                for attribute in self.classes[class].clone() {
                    let owner = owned.contains(&attribute).then_some(origin);
                    self.at((*instance, attribute)).owner = owner;
                }
            }
            RequestBody::Object(object::Request::DeleteObject { instance, .. })
                if self.owner((*instance, PRIVILEGE)) == Some(origin) =>
            {
                self.remove(*instance);
            }
            RequestBody::Object(object::Request::LocalDeleteObject { instance }) => {
                self.known.remove(&(*instance, origin));
                for (_, attribute) in self.of(*instance) {
                    attribute.offered.remove(&origin);
                }
            }
            RequestBody::Ownership(ownership::Request::DivestOwnership {
                how,
                instance,
                attributes,
                ..
            }) => self.divest(origin, *how, *instance, attributes),
            RequestBody::Ownership(ownership::Request::AcquireOwnership {
                if_available,
                instance,
                attributes,
                ..
            }) if self.known.contains_key(&(*instance, origin)) => {
                for a in attributes {
                    let attribute = self.at((*instance, *a));
                    if attribute.owner == Some(origin) {
                        continue;
                    }
                    attribute.offered.insert(origin);
                    let wanting = &mut attribute.wanting;
                    match wanting.iter_mut().find(|(f, _)| *f == origin) {
                        Some(former) => former.1 = *if_available,
                        None => wanting.push((origin, *if_available)),
                    }
                }
            }
            RequestBody::Ownership(ownership::Request::CancelOwnershipDivestiture {
                instance,
                attributes,
            }) => {
                for a in attributes {
                    let attribute = self.at((*instance, *a));
                    if attribute.owner == Some(origin) {
                        attribute.divesting = false;
                        attribute.asked = false;
                        attribute.offered.clear();
                        attribute.release.clear();
                    }
                }
            }
            RequestBody::Federation(federation::Request::Resign(action)) => {
                self.resigned(origin, *action)
            }
            _ => {}
        }
    }

    fn divest(
        &mut self,
        origin: FederateHandle,
        how: Divestiture,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        for a in attributes {
            let attribute = self.at((instance, *a));
            if attribute.owner != Some(origin) {
                continue;
            }
            match how {
                Divestiture::Unconditional => attribute.release_by(origin),
                Divestiture::Negotiated => {
                    assert!(!attribute.divesting, "{origin} divests twice");
                    attribute.divesting = true;
                    attribute.offered.clear();
                    attribute.release.clear();
                }
                // The answer says what has gone.
                Divestiture::Confirmed | Divestiture::IfWanted => {}
            }
        }
    }

    fn publish(
        &mut self,
        origin: FederateHandle,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) {
        let before = self.published_by(origin, class);
        let set = attributes.iter().copied().collect();
        self.published.entry(origin).or_default().insert(class, set);
        let now = self.published_by(origin, class);
        for (place, attribute) in &mut self.attributes {
            let here = self.known.get(&(place.0, origin)) == Some(&class);
            if here && before.contains(&place.1) && !now.contains(&place.1) {
                if attribute.owner == Some(origin) {
                    attribute.release_by(origin);
                }
                attribute.offered.remove(&origin);
            }
        }
    }

    /// With the privilege to delete, where anything is published.
    fn published_by(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> BTreeSet<AttributeHandle> {
        let published = self.published.get(&federate).and_then(|p| p.get(&class));
        with_privilege(published)
    }

    /// A federate has resigned or was lost.
    pub(crate) fn resigned(&mut self, gone: FederateHandle, action: ResignAction) {
        if action.deletes() {
            let of_gone =
                |(place, a): &(&Place, &Attribute)| place.1 == PRIVILEGE && a.owner == Some(gone);
            let all = self.attributes.iter().filter(of_gone);
            let deleted: Vec<_> = all.map(|(place, _)| place.0).collect();
            for instance in deleted {
                self.remove(instance);
            }
        }
        self.published.remove(&gone);
        self.known.retain(|(_, f), _| *f != gone);
        for attribute in self.attributes.values_mut() {
            attribute.withdraw(gone);
            if attribute.owner == Some(gone) {
                attribute.release_by(gone);
            }
            attribute.offered.remove(&gone);
        }
    }

    fn remove(&mut self, instance: ObjectInstanceHandle) {
        self.attributes.retain(|(i, _), _| *i != instance);
        self.known.retain(|(i, _), _| *i != instance);
    }

    /// The executive tells a federate something.
    pub(crate) fn told(&mut self, to: FederateHandle, entry: &EntryBody) {
        match entry {
            EntryBody::Object(object::Entry::Discover(list)) => {
                for d in list {
                    let twice = self.known.insert((d.instance, to), d.known_class);
                    assert_eq!(twice, None, "{to} is told twice of {}", d.instance);
                }
            }
            EntryBody::Ownership(ownership::Entry::Divested {
                instance,
                attributes,
                unwanted,
            }) => self.answered(to, *instance, attributes, unwanted),
            EntryBody::Ownership(ownership::Entry::Ownership {
                notice,
                instance,
                attributes,
                tag,
            }) if !self.exists(*instance) => self.refused(to, *notice, *instance, attributes),
            EntryBody::Ownership(ownership::Entry::Ownership {
                notice,
                instance,
                attributes,
                tag,
            }) => {
                for a in attributes {
                    self.noticed(to, *notice, (*instance, *a), tag);
                }
            }
            _ => {}
        }
    }

    /// The answer to Confirm Divestiture or Divestiture If Wanted is what it must be.
    fn answered(
        &mut self,
        to: FederateHandle,
        instance: ObjectInstanceHandle,
        divested: &[AttributeHandle],
        unwanted: &[AttributeHandle],
    ) {
        let Some((
            origin,
            RequestBody::Ownership(ownership::Request::DivestOwnership {
                how, attributes, ..
            }),
        )) = self.now.clone()
        else {
            panic!("{to} is told of a divestiture that nobody asked for");
        };
        assert_eq!(origin, to, "the answer goes to who asked");
        let mut wanted = attributes;
        wanted.retain(|a| self.owner((instance, *a)) == Some(origin));
        let mut not = wanted.clone();
        wanted.retain(|a| !self.at((instance, *a)).wanting.is_empty());
        not.retain(|a| !wanted.contains(a));
        if how == Divestiture::Confirmed && !not.is_empty() {
            wanted.clear();
            for a in &not {
                self.at((instance, *a)).asked = false;
            }
        }
        assert_eq!((divested, unwanted), (&wanted[..], &not[..]));
        for a in divested {
            self.at((instance, *a)).release_by(origin);
        }
    }

    /// Who has not yet heard of a deletion hears that what it asks for can't be had.
    fn refused(
        &self,
        to: FederateHandle,
        notice: OwnershipNotice,
        instance: ObjectInstanceHandle,
        told: &[AttributeHandle],
    ) {
        let asked = match &self.now {
            Some((
                by,
                RequestBody::Ownership(ownership::Request::AcquireOwnership {
                    if_available: true,
                    instance,
                    attributes,
                    ..
                }),
            )) if notice == OwnershipNotice::Unavailable => Some((*by, *instance, attributes)),
            Some((
                by,
                RequestBody::Ownership(ownership::Request::CancelOwnershipAcquisition {
                    instance,
                    attributes,
                }),
            )) if notice == OwnershipNotice::AcquisitionCancelled => {
                Some((*by, *instance, attributes))
            }
            _ => None,
        };
        let (by, of, attributes) = asked.expect("only an answer is told of what is deleted");
        assert_eq!((by, of, &attributes[..]), (to, instance, told));
    }

    fn noticed(&mut self, to: FederateHandle, notice: OwnershipNotice, at: Place, tag: &[u8]) {
        let now = self.now.clone();
        let may_be_offered = self.could_acquire(to, at);
        let attribute = self.at(at);
        let place = format!("{}, attribute {}", at.0, at.1);
        match notice {
            OwnershipNotice::Acquired => {
                assert_eq!(
                    attribute.owner, None,
                    "{place} goes to {to}, but has an owner"
                );
                let first = attribute.wanting.first().map(|(f, _)| *f);
                assert_eq!(first, Some(to), "{place} goes not to the first");
                attribute.wanting.remove(0);
                attribute.owner = Some(to);
                attribute.offered.clear();
                attribute.release.clear();
            }
            OwnershipNotice::Unavailable => {
                let wanting = attribute.wanting.iter().find(|(f, _)| *f == to);
                let (_, if_available) =
                    wanting.expect("only who wants it is told it can't have it");
                let kept = attribute.owner.is_some() && !attribute.divesting;
                let denied = matches!(
                    &now,
                    Some((by, RequestBody::Ownership(ownership::Request::DenyOwnershipRelease { instance, attributes, .. })))
                        if attribute.owner == Some(*by) && *instance == at.0
                            && attributes.contains(&at.1) && attribute.release.contains(&to)
                );
                if *if_available {
                    assert!(kept, "{place} is available")
                } else {
                    assert!(denied, "{place} is not denied to {to}")
                }
                attribute.withdraw(to);
            }
            OwnershipNotice::AcquisitionCancelled => {
                let asked = matches!(
                    &now,
                    Some((by, RequestBody::Ownership(ownership::Request::CancelOwnershipAcquisition { instance, attributes })))
                        if *by == to && *instance == at.0 && attributes.contains(&at.1)
                );
                assert!(asked, "{place}: {to} has not cancelled");
                assert_ne!(attribute.owner, Some(to), "{place}: {to} has acquired");
                attribute.withdraw(to);
            }
            OwnershipNotice::ConfirmationRequested => {
                assert_eq!(attribute.owner, Some(to));
                assert!(
                    attribute.divesting && !attribute.wanting.is_empty(),
                    "{place}"
                );
                assert!(!attribute.asked, "{place}: {to} is asked twice to confirm");
                attribute.asked = true;
            }
            OwnershipNotice::ReleaseRequested => {
                assert_eq!(attribute.owner, Some(to), "{place} is not of {to}");
                assert!(!attribute.divesting, "{place} is being divested");
                let number = tag.try_into().expect("tags are of four bytes");
                let by = FederateHandle(u32::from_le_bytes(number));
                assert!(attribute.wants(by), "{place}: {by} does not want it");
                attribute.release.insert(by);
            }
            OwnershipNotice::AssumptionRequested => {
                assert!(
                    attribute.owner.is_none() || attribute.divesting,
                    "{place} is not to be had"
                );
                assert!(
                    may_be_offered,
                    "{place} is offered to {to}, who can't have it"
                );
                assert!(!attribute.wants(to), "{to} wants {place} already");
                let new = attribute.offered.insert(to);
                assert!(new, "{place} is offered to {to} twice");
            }
        }
    }

    fn could_acquire(&self, federate: FederateHandle, at: Place) -> bool {
        let class = self.known.get(&(at.0, federate));
        let other = self.owner(at) != Some(federate);
        class.is_some_and(|c| other && self.published_by(federate, *c).contains(&at.1))
    }

    /// All that a request brings about has been told.
    pub(crate) fn settled(&mut self) {
        for (at, attribute) in &self.attributes {
            let place = format!("{}, attribute {}", at.0, at.1);
            let wanted = !attribute.wanting.is_empty();
            if attribute.owner.is_none() {
                assert!(!wanted, "{place} is unowned and wanted");
                assert!(!attribute.divesting, "{place} is divested by nobody");
            }
            assert!(
                !(attribute.divesting && wanted) || attribute.asked,
                "{place}: its owner was not asked to confirm"
            );
            for (federate, if_available) in &attribute.wanting {
                assert!(
                    attribute.divesting || !if_available,
                    "{place}: {federate} was not told that it is unavailable"
                );
                assert!(
                    attribute.divesting || attribute.release.contains(federate),
                    "{place}: its owner was not asked to release it to {federate}"
                );
            }
            if attribute.owner.is_none() || attribute.divesting {
                let first = (at.0, FederateHandle(0));
                let last = (at.0, FederateHandle(u32::MAX));
                for ((instance, federate), _) in self.known.range(first..=last) {
                    let told = attribute.offered.contains(federate) || attribute.wants(*federate);
                    assert!(
                        told || !self.could_acquire(*federate, *at),
                        "{instance}, attribute {} was not offered to {federate}",
                        at.1
                    );
                }
            }
        }
        self.now = None;
    }

    pub(crate) fn owner(&self, at: Place) -> Option<FederateHandle> {
        self.attributes.get(&at)?.owner
    }

    /// The attributes of an instance that are owned, with their owners.
    pub(crate) fn owners(
        &self,
        instance: ObjectInstanceHandle,
    ) -> impl Iterator<Item = (AttributeHandle, FederateHandle)> {
        let all = self.attributes.range(range(instance));
        all.filter_map(|((_, attribute), a)| Some((*attribute, a.owner?)))
    }

    pub(crate) fn exists(&self, instance: ObjectInstanceHandle) -> bool {
        self.attributes.contains_key(&(instance, PRIVILEGE))
    }

    fn at(&mut self, at: Place) -> &mut Attribute {
        self.attributes.entry(at).or_default()
    }

    fn of(
        &mut self,
        instance: ObjectInstanceHandle,
    ) -> impl Iterator<Item = (&Place, &mut Attribute)> {
        self.attributes.range_mut(range(instance))
    }
}

fn range(instance: ObjectInstanceHandle) -> std::ops::RangeInclusive<Place> {
    (instance, AttributeHandle::from_raw(0))..=(instance, AttributeHandle::from_raw(u32::MAX))
}

fn with_privilege(published: Option<&BTreeSet<AttributeHandle>>) -> BTreeSet<AttributeHandle> {
    let mut all = published.cloned().unwrap_or_default();
    if !all.is_empty() {
        all.insert(PRIVILEGE);
    }
    all
}

/// What a federate is to an instance attribute, by its own calls and callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Owned,
    Divesting,
    /// The federation's word on giving it away is awaited; whether it was being divested.
    Deciding(bool),
    Willing,
    Pending,
    Cancelling,
}

/// The services of chapter 7 that change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Unconditional,
    Negotiated,
    Confirm,
    IfWanted,
    Acquire,
    AcquireIfAvailable,
    Deny,
    CancelDivestiture,
    CancelAcquisition,
}

impl Call {
    pub(crate) const ALL: [Call; 9] = [
        Call::Unconditional,
        Call::Negotiated,
        Call::Confirm,
        Call::IfWanted,
        Call::Acquire,
        Call::AcquireIfAvailable,
        Call::Deny,
        Call::CancelDivestiture,
        Call::CancelAcquisition,
    ];
}

/// One federate's view.
#[derive(Default)]
pub(crate) struct Views {
    published: Published,
    known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    views: BTreeMap<Place, View>,
    /// Cancellations that were overtaken by a new acquisition, and are to be confirmed yet.
    cancelled: BTreeMap<Place, u32>,
}

impl Views {
    pub(crate) fn registered(&mut self, instance: ObjectInstanceHandle, class: ObjectClassHandle) {
        self.known.insert(instance, class);
        let mut owned = with_privilege(self.published.get(&class));
        owned.insert(PRIVILEGE);
        for attribute in owned {
            self.views.insert((instance, attribute), View::Owned);
        }
    }

    pub(crate) fn forgets(&mut self, instance: ObjectInstanceHandle) {
        self.known.remove(&instance);
        self.views.retain(|(i, _), _| *i != instance);
        self.cancelled.retain(|(i, _), _| *i != instance);
    }

    fn acquiring(view: View) -> bool {
        matches!(view, View::Willing | View::Pending | View::Cancelling)
    }

    /// Whether any attribute of `instance`, or of all, is being acquired.
    pub(crate) fn is_acquiring(&self, instance: Option<ObjectInstanceHandle>) -> bool {
        let mut views = self.views.iter();
        views.any(|((i, _), v)| instance.is_none_or(|only| *i == only) && Self::acquiring(*v))
    }

    pub(crate) fn owns_any(&self, instance: Option<ObjectInstanceHandle>) -> bool {
        let mut views = self.views.iter();
        views.any(|((i, _), v)| {
            instance.is_none_or(|only| *i == only) && matches!(v, View::Owned | View::Divesting)
        })
    }

    pub(crate) fn owns(&self, at: Place) -> bool {
        matches!(self.views.get(&at), Some(View::Owned | View::Divesting))
    }

    /// What calling publish with the set now published throws; or it takes effect.
    pub(crate) fn publish(
        &mut self,
        class: ObjectClassHandle,
        change: impl FnOnce(&mut BTreeSet<AttributeHandle>),
    ) -> Option<ExceptionKind> {
        let mut set = self.published.get(&class).cloned().unwrap_or_default();
        let before = with_privilege(Some(&set));
        change(&mut set);
        let now = with_privilege(Some(&set));
        let ended: BTreeSet<_> = before.difference(&now).copied().collect();
        let known = &self.known;
        let concerned = |at: &Place| known.get(&at.0) == Some(&class) && ended.contains(&at.1);
        let mut views = self.views.iter();
        if views.any(|(at, v)| concerned(at) && Self::acquiring(*v)) {
            return Some(ExceptionKind::OwnershipAcquisitionPending);
        }
        self.views.retain(|at, _| !concerned(at));
        self.published.insert(class, set);
        None
    }

    /// What a call throws.
    pub(crate) fn expect(
        &self,
        call: Call,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Option<ExceptionKind> {
        use ExceptionKind::*;
        let views = attributes.iter();
        let views: Vec<_> = views
            .map(|a| self.views.get(&(instance, *a)).copied())
            .collect();
        let owned = |v: &Option<View>| matches!(v, Some(View::Owned | View::Divesting));
        match call {
            Call::Acquire | Call::AcquireIfAvailable => {
                let class = self.known[&instance];
                let published = with_privilege(self.published.get(&class));
                if views.iter().any(owned) {
                    return Some(FederateOwnsAttributes);
                }
                if published.is_empty() {
                    return Some(ObjectClassNotPublished);
                }
                if attributes.iter().any(|a| !published.contains(a)) {
                    return Some(AttributeNotPublished);
                }
                let twice = call == Call::AcquireIfAvailable && views.iter().any(Option::is_some);
                twice.then_some(AttributeAlreadyBeingAcquired)
            }
            Call::CancelAcquisition => views.iter().find_map(|v| match v {
                v if owned(v) => Some(AttributeAlreadyOwned),
                Some(View::Pending) => None,
                _ => Some(AttributeAcquisitionWasNotRequested),
            }),
            _ if !views.iter().all(owned) => Some(AttributeNotOwned),
            Call::Negotiated => {
                let twice = views.contains(&Some(View::Divesting));
                twice.then_some(AttributeAlreadyBeingDivested)
            }
            Call::Confirm | Call::CancelDivestiture => {
                let all = views.iter().all(|v| *v == Some(View::Divesting));
                (!all).then_some(AttributeDivestitureWasNotRequested)
            }
            Call::Unconditional | Call::IfWanted | Call::Deny => None,
        }
    }

    /// A call has returned.
    pub(crate) fn called(
        &mut self,
        call: Call,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        for a in attributes {
            let at = (instance, *a);
            let before = self.views.get(&at).copied();
            let after = match call {
                Call::Unconditional => None,
                Call::Negotiated => Some(View::Divesting),
                Call::Confirm | Call::IfWanted => {
                    Some(View::Deciding(before == Some(View::Divesting)))
                }
                Call::Acquire => {
                    if before == Some(View::Cancelling) {
                        *self.cancelled.entry(at).or_default() += 1;
                    }
                    Some(View::Pending)
                }
                Call::AcquireIfAvailable => Some(View::Willing),
                Call::Deny => before,
                Call::CancelDivestiture => Some(View::Owned),
                Call::CancelAcquisition => Some(View::Cancelling),
            };
            match after {
                Some(view) => self.views.insert(at, view),
                None => self.views.remove(&at),
            };
        }
    }

    /// The federation's word.
    pub(crate) fn decided(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        divested: &[AttributeHandle],
    ) {
        for a in attributes {
            let at = (instance, *a);
            let Some(View::Deciding(divesting)) = self.views.remove(&at) else {
                continue;
            };
            if !divested.contains(a) {
                let kept = if divesting {
                    View::Divesting
                } else {
                    View::Owned
                };
                self.views.insert(at, kept);
            }
        }
    }

    /// A callback is delivered.
    pub(crate) fn callback(&mut self, callback: &Callback) {
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } => {
                self.known.insert(*instance, *class);
            }
            Callback::RemoveObjectInstance { instance, .. } => self.forgets(*instance),
            Callback::RequestAttributeOwnershipAssumption {
                instance,
                attributes,
                ..
            } => {
                let published = with_privilege(self.published.get(&self.known[instance]));
                for a in attributes {
                    let view = self.views.get(&(*instance, *a));
                    assert_eq!(view, None, "{instance}, attribute {a} is offered");
                    assert!(published.contains(a), "{a} is not published");
                }
            }
            Callback::RequestDivestitureConfirmation {
                instance,
                attributes,
                ..
            } => self.all(*instance, attributes, &[View::Divesting]),
            Callback::RequestAttributeOwnershipRelease {
                instance,
                attributes,
                ..
            } => self.all(*instance, attributes, &[View::Owned]),
            Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                attributes,
                ..
            } => {
                use View::*;
                self.all(*instance, attributes, &[Willing, Pending, Cancelling]);
                for a in attributes {
                    // Whatever was cancelled since is answered by this.
                    self.cancelled.remove(&(*instance, *a));
                    self.views.insert((*instance, *a), Owned);
                }
            }
            Callback::AttributeOwnershipUnavailable {
                instance,
                attributes,
                ..
            } => {
                self.all(*instance, attributes, &[View::Willing, View::Pending]);
                for a in attributes {
                    self.views.remove(&(*instance, *a));
                }
            }
            Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
                instance,
                attributes,
            } => {
                for a in attributes {
                    let at = (*instance, *a);
                    match self.cancelled.get_mut(&at) {
                        Some(earlier) if *earlier > 0 => *earlier -= 1,
                        _ => {
                            self.all(*instance, &[*a], &[View::Cancelling]);
                            self.views.remove(&at);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn all(&self, instance: ObjectInstanceHandle, attributes: &[AttributeHandle], of: &[View]) {
        for a in attributes {
            let view = self.views.get(&(instance, *a));
            assert!(
                view.is_some_and(|v| of.contains(v)),
                "{instance}, attribute {a}: {view:?} is none of {of:?}"
            );
        }
    }

    /// At rest a federate sees what the log says, and so does the library.
    pub(crate) fn at_rest(&self, world: &World, federate: &Federate) {
        let me = federate.handle();
        for (instance, class) in &self.known {
            let attributes = federate.model().object_class(*class);
            for a in attributes.map_or(&[][..], |c| &c.attributes) {
                let at = (*instance, *a);
                let place = format!("{me}: {instance}, attribute {a}");
                let owned = federate.is_attribute_owned_by_federate(*instance, *a);
                let owned = owned.unwrap_or_else(|e| panic!("{place}: {e}"));
                let now = world.attributes.get(&at);
                let by_log = match now {
                    None => None,
                    Some(now) if now.owner == Some(me) => Some(if now.divesting {
                        View::Divesting
                    } else {
                        View::Owned
                    }),
                    Some(now) => {
                        now.wanting
                            .iter()
                            .find(|(f, _)| *f == me)
                            .map(|(_, if_available)| {
                                if *if_available {
                                    View::Willing
                                } else {
                                    View::Pending
                                }
                            })
                    }
                };
                assert_eq!(self.views.get(&at).copied(), by_log, "{place}");
                assert_eq!(owned, self.owns(at), "{place}");
                let open = self.cancelled.get(&at).is_some_and(|n| *n > 0);
                assert!(!open, "{place}: a cancellation was never confirmed");
            }
        }
    }
}
