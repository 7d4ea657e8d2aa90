//! Ownership management at the executive: who owns what, who wants it, who was asked.

use super::{Divestiture, OwnershipNotice, keys_of};
use crate::execution::Execution;
use crate::message::ownership::{Entry, Request};
use crate::message::{self, Cause, LogIndex, object};
use crate::mom;
use crate::object::registered::Instance;
use crate::saved::ownership::{Candidate, Transfer};
use crate::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Owner};
use std::collections::{BTreeMap, BTreeSet};

/// What the executive knows of this chapter: instance attributes whose owner may change, or that were
/// offered. Who owns them stands with the instances.
#[derive(Default)]
pub(crate) struct ExecutionOwnership {
    pub(super) transfers: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Transfer>,
}

/// What a request brings about, to be told when all of it is decided.
#[derive(Default)]
struct Effects {
    notices: BTreeMap<Notice, Vec<AttributeHandle>>,
    /// Instances with an attribute that has a new owner: they may be discovered now.
    owned: BTreeSet<ObjectInstanceHandle>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Notice {
    what: OwnershipNotice,
    to: FederateHandle,
    instance: ObjectInstanceHandle,
    tag: Vec<u8>,
}

/// An instance attribute: instance, slot in its registered class, handle.
type Place = (ObjectInstanceHandle, usize, AttributeHandle);

impl Effects {
    fn tell(&mut self, what: OwnershipNotice, to: FederateHandle, at: Place, tag: &[u8]) {
        let notice = Notice {
            what,
            to,
            instance: at.0,
            tag: tag.to_vec(),
        };
        self.notices.entry(notice).or_default().push(at.2);
    }
}

/// What tells a federate that an attribute is its own, or no longer, without a callback.
fn attribute_state(at: Place, owned: bool) -> message::mom::Entry {
    message::mom::Entry::AttributeState {
        instance: at.0,
        attribute: at.2,
        owned,
    }
}

impl Transfer {
    fn is_idle(&self) -> bool {
        !self.divesting
            && self.tag.is_empty()
            && self.candidates.is_empty()
            && self.offered.is_empty()
    }

    fn take_candidate(&mut self, federate: FederateHandle) -> Option<Candidate> {
        let at = self
            .candidates
            .iter()
            .position(|c| c.federate == federate)?;
        Some(self.candidates.remove(at))
    }
}

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_ownership(&mut self, cause: Cause, request: Request) {
        match request {
            Request::DivestOwnership {
                how,
                instance,
                attributes,
                tag,
            } => self.divest_ownership(cause, how, instance, &attributes, &tag),
            Request::AcquireOwnership {
                if_available,
                instance,
                attributes,
                tag,
            } => self.acquire_ownership(cause, if_available, instance, &attributes, &tag),
            Request::DenyOwnershipRelease {
                instance,
                attributes,
                seen,
                tag,
            } => self.deny_ownership_release(cause, instance, &attributes, seen, &tag),
            Request::CancelOwnershipDivestiture {
                instance,
                attributes,
            } => self.cancel_ownership_divestiture(cause, instance, &attributes),
            Request::CancelOwnershipAcquisition {
                instance,
                attributes,
            } => self.cancel_ownership_acquisition(cause, instance, &attributes),
            Request::QueryOwnership {
                instance,
                attributes,
            } => self.query_ownership(cause, instance, &attributes),
        }
    }

    /// The services by which an owner gives attributes away (§7.2, §7.3, §7.6, §7.13).
    pub(crate) fn divest_ownership(
        &mut self,
        cause: Cause,
        how: Divestiture,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) {
        let mut effects = Effects::default();
        let places = self.owned_places(cause.sender, instance, attributes);
        match how {
            Divestiture::Unconditional => {
                for at in places {
                    self.disown(&mut effects, at, tag);
                }
            }
            Divestiture::Negotiated => {
                for at in places {
                    self.negotiate(&mut effects, cause.sender, at, tag);
                }
            }
            Divestiture::Confirmed | Divestiture::IfWanted => {
                self.divest_to_candidates(cause, &mut effects, how, instance, places, tag);
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// Attributes that somebody wants go to the first who does; confirmed, all of them or none.
    fn divest_to_candidates(
        &mut self,
        cause: Cause,
        effects: &mut Effects,
        how: Divestiture,
        instance: ObjectInstanceHandle,
        places: Vec<Place>,
        tag: &[u8],
    ) {
        let wanted = |at: &Place| self.transfer(*at).is_some_and(|t| !t.candidates.is_empty());
        let (wanted, unwanted): (Vec<_>, Vec<_>) = places.into_iter().partition(wanted);
        let confirmed = how == Divestiture::Confirmed;
        let divested = if confirmed && !unwanted.is_empty() {
            Vec::new()
        } else {
            wanted
        };
        for at in &divested {
            self.pass_on(effects, *at, tag);
        }
        if confirmed {
            // The owner waits again, and is asked again once somebody wants it.
            for at in &unwanted {
                if let Some(transfer) = self.transfer_if_any(*at) {
                    transfer.asked = false;
                }
            }
        }
        let answer = Entry::Divested {
            instance,
            attributes: divested.iter().map(|at| at.2).collect(),
            unwanted: unwanted.iter().map(|at| at.2).collect(),
        };
        self.log.tell(cause, &[cause.sender], answer);
    }

    /// Negotiated Attribute Ownership Divestiture, §7.3.
    fn negotiate(&mut self, effects: &mut Effects, owner: FederateHandle, at: Place, tag: &[u8]) {
        if self.transfer(at).is_some_and(|t| t.divesting) {
            return;
        }
        let transfer = self.owner_transfer_reset(at);
        transfer.divesting = true;
        transfer.tag = tag.to_vec();
        // It is asked to confirm now, not to release.
        for candidate in &mut transfer.candidates {
            candidate.release_at = None;
        }
        if let Some(first) = transfer.candidates.first() {
            transfer.asked = true;
            let what = OwnershipNotice::ConfirmationRequested;
            effects.tell(what, owner, at, &first.tag);
        }
        self.offer(effects, at);
    }

    /// Attribute Ownership Acquisition (If Available), §7.8 and §7.9.
    pub(crate) fn acquire_ownership(
        &mut self,
        cause: Cause,
        if_available: bool,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) {
        let mut effects = Effects::default();
        let me = cause.sender;
        match self.objects.get(instance) {
            None if if_available => {
                return self.refuse_deleted(
                    cause,
                    OwnershipNotice::Unavailable,
                    instance,
                    attributes,
                );
            }
            // Who has the removal waiting may know the instance still, if that is retracted.
            Some(known) if known.known_class(me).is_some() => {}
            Some(_) if self.time.may_know_again(instance, me) => {}
            Some(_) => return,
            // It is not told of it, but need not keep what it wants until the deletion can't be retracted any more.
            None => {
                let removed = object::Entry::Remove {
                    instance,
                    producer: mom::RTI,
                    tag: Vec::new(),
                    stamp: None,
                };
                return self.log.tell(cause, &[me], removed);
            }
        }
        for at in self.places(instance, attributes) {
            let owner = self.owner_at(at);
            if owner == Some(me.into()) {
                // Granted before it asked again.
                continue;
            }
            let index = self.log.index();
            let transfer = self.transfer_mut(at);
            let candidate = Candidate {
                federate: me,
                if_available,
                tag: tag.to_vec(),
                release_at: (!transfer.divesting).then_some(index),
            };
            match transfer.candidates.iter_mut().find(|c| c.federate == me) {
                Some(former) => *former = candidate,
                None => transfer.candidates.push(candidate),
            }
            if transfer.divesting {
                transfer.offered.insert(me);
            }
            match owner {
                None => self.pass_on(&mut effects, at, &[]),
                Some(Owner::Federate(owner)) if transfer.divesting => {
                    if !std::mem::replace(&mut transfer.asked, true) {
                        effects.tell(OwnershipNotice::ConfirmationRequested, owner, at, tag);
                    }
                }
                Some(Owner::Federate(owner)) if !if_available => {
                    effects.tell(OwnershipNotice::ReleaseRequested, owner, at, tag);
                }
                // What the RTI owns it keeps.
                Some(_) => {
                    transfer.take_candidate(me);
                    effects.tell(OwnershipNotice::Unavailable, me, at, &[]);
                }
            }
            self.forget_idle(at);
        }
        self.settle_ownership(cause, effects);
    }

    /// Attribute Ownership Release Denied, §7.12: for those acquisitions of which the owner had
    /// been told (`seen`).
    pub(crate) fn deny_ownership_release(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        seen: LogIndex,
        tag: &[u8],
    ) {
        let mut effects = Effects::default();
        for at in self.owned_places(cause.sender, instance, attributes) {
            let transfer = self.transfer_mut(at);
            let denied =
                |c: &Candidate| !c.if_available && c.release_at.is_some_and(|at| at <= seen);
            let (denied, left) = std::mem::take(&mut transfer.candidates)
                .into_iter()
                .partition(denied);
            transfer.candidates = left;
            let denied: Vec<Candidate> = denied;
            for candidate in denied {
                effects.tell(OwnershipNotice::Unavailable, candidate.federate, at, tag);
            }
            self.forget_idle(at);
        }
        self.settle_ownership(cause, effects);
    }

    /// Cancel Negotiated Attribute Ownership Divestiture, §7.14.
    pub(crate) fn cancel_ownership_divestiture(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let mut effects = Effects::default();
        for at in self.owned_places(cause.sender, instance, attributes) {
            let transfer = self.transfer_mut(at);
            if std::mem::take(&mut transfer.divesting) {
                self.keep_with(&mut effects, cause.sender, at);
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// Cancel Attribute Ownership Acquisition, §7.15. What has been granted meanwhile stays so:
    /// its notification is the answer.
    pub(crate) fn cancel_ownership_acquisition(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        if self.objects.get(instance).is_none() {
            let cancelled = OwnershipNotice::AcquisitionCancelled;
            return self.refuse_deleted(cause, cancelled, instance, attributes);
        }
        let mut effects = Effects::default();
        let me = cause.sender;
        for at in self.places(instance, attributes) {
            if self.owner_at(at) != Some(me.into()) {
                effects.tell(OwnershipNotice::AcquisitionCancelled, me, at, &[]);
                self.withdraw(&mut effects, me, at);
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// What a federate hears of an instance that is deleted, but not yet removed at it: that may be withheld by time
    /// management for long. Who is told after the removal does not hear it.
    fn refuse_deleted(
        &mut self,
        cause: Cause,
        notice: OwnershipNotice,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let answer = Entry::Ownership {
            notice,
            instance,
            attributes: attributes.to_vec(),
            tag: Vec::new(),
        };
        self.log.tell(cause, &[cause.sender], answer);
    }

    /// Query Attribute Ownership, §7.17. Nobody owns what is deleted.
    pub(crate) fn query_ownership(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let owners: Vec<_> = match self.objects.get(instance) {
            Some(_) => {
                let places = self.places(instance, attributes).into_iter();
                places.map(|at| (at.2, self.owner_at(at))).collect()
            }
            None => attributes.iter().map(|a| (*a, None)).collect(),
        };
        if !owners.is_empty() {
            let report = Entry::OwnershipReport { instance, owners };
            self.log.tell(cause, &[cause.sender], report);
        }
    }

    /// A federate has ceased to publish attributes at a class (§5.3): it owns them no more there.
    pub(crate) fn unpublished(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) {
        let me = cause.sender;
        let mut effects = Effects::default();
        // Also of what it may know again.
        let known = self.known_at(me, class).into_iter();
        let known: Vec<_> = known.chain(self.time.known_before(me, class)).collect();
        for instance in known {
            for at in self.places(instance, attributes) {
                self.drop_out(&mut effects, me, at);
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// The sender has lost an instance: it owns nothing of it any more, and is offered nothing.
    pub(crate) fn lose_ownership(&mut self, cause: Cause, instance: ObjectInstanceHandle) {
        let mut effects = Effects::default();
        for at in self.all_places(instance) {
            self.drop_out(&mut effects, cause.sender, at);
        }
        self.settle_ownership(cause, effects);
    }

    /// A federate publishes further attributes at a class: what is to be had is offered to it.
    pub(crate) fn offer_published(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) {
        let mut effects = Effects::default();
        for instance in self.known_at(cause.sender, class) {
            for at in self.places(instance, attributes) {
                self.offer_to(&mut effects, cause.sender, at);
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// A federate has discovered instances: what is to be had of them is offered to it.
    pub(crate) fn offer_discovered(
        &mut self,
        cause: impl Into<Option<Cause>>,
        federate: FederateHandle,
        instances: &[(ObjectInstanceHandle, ObjectClassHandle)],
    ) {
        let mut effects = Effects::default();
        for (instance, known_class) in instances {
            if !self.any_to_be_had(*instance) {
                continue;
            }
            for attribute in self.published_by(federate, *known_class) {
                for at in self.places(*instance, &[attribute]) {
                    self.offer_to(&mut effects, federate, at);
                }
            }
        }
        self.settle_ownership(cause, effects);
    }

    /// A federate is gone; it must not be a member any more.
    pub(crate) fn ownership_without(&mut self, gone: FederateHandle) {
        assert!(
            !self.federation.is_member(gone),
            "what it owned must not be offered to it"
        );
        let mut effects = Effects::default();
        let concerns =
            |i: &Instance| i.known_class(gone).is_some() || i.owners().contains(&Some(gone.into()));
        let all = self.objects.iter();
        let mut handles: BTreeSet<_> = all.filter(|(_, i)| concerns(i)).map(|(h, _)| h).collect();
        // It may have wanted what it has come to the deletion of.
        let wanted = self.ownership.transfers.iter();
        let wanted = wanted.filter(|(_, t)| t.candidates.iter().any(|c| c.federate == gone));
        handles.extend(wanted.map(|((instance, _), _)| *instance));
        for handle in handles {
            for at in self.all_places(handle) {
                self.drop_out(&mut effects, gone, at);
            }
            if let Some(instance) = self.objects.get_mut(handle) {
                instance.forget_known(gone);
            }
        }
        self.settle_ownership(None, effects);
    }

    /// A federate can't own an attribute any more, nor be offered it for now.
    fn drop_out(&mut self, effects: &mut Effects, federate: FederateHandle, at: Place) {
        self.withdraw(effects, federate, at);
        if self.owner_at(at) == Some(federate.into()) {
            self.disown(effects, at, &[]);
        }
        if let Some(transfer) = self.transfer_if_any(at) {
            transfer.offered.remove(&federate);
        }
        self.forget_idle(at);
    }

    /// Takes an attribute from its owner: the first who wants it gets it, else it is offered, but
    /// not to the former owner.
    fn disown(&mut self, effects: &mut Effects, at: Place, tag: &[u8]) {
        if self.transfer(at).is_some_and(|t| !t.candidates.is_empty()) {
            return self.pass_on(effects, at, tag);
        }
        let former = self.owner_at(at);
        self.set_owner(at.0, at.1, None);
        let transfer = self.owner_transfer_reset(at);
        transfer.tag = tag.to_vec();
        transfer.offered.extend(former.and_then(Owner::federate));
        self.offer(effects, at);
    }

    /// Makes the first candidate the owner, and tells the others where they are.
    fn pass_on(&mut self, effects: &mut Effects, at: Place, tag: &[u8]) {
        let transfer = self.transfer_mut(at);
        assert!(!transfer.candidates.is_empty(), "somebody wants it");
        let new = transfer.candidates.remove(0).federate;
        self.set_owner(at.0, at.1, Some(new.into()));
        effects.owned.insert(at.0);
        effects.tell(OwnershipNotice::Acquired, new, at, tag);
        self.keep_with(effects, new, at);
    }

    /// An attribute has an owner who is not divesting it: acquisitions if available end, the
    /// others ask this owner.
    fn keep_with(&mut self, effects: &mut Effects, owner: FederateHandle, at: Place) {
        let index = self.log.index();
        let transfer = self.owner_transfer_reset(at);
        transfer.candidates.retain_mut(|c| {
            if c.if_available {
                effects.tell(OwnershipNotice::Unavailable, c.federate, at, &[]);
            } else {
                c.release_at = Some(index);
                effects.tell(OwnershipNotice::ReleaseRequested, owner, at, &c.tag);
            }
            !c.if_available
        });
        self.forget_idle(at);
    }

    /// Something new begins: nobody is divesting and nobody was offered it; candidates stay.
    fn owner_transfer_reset(&mut self, at: Place) -> &mut Transfer {
        let transfer = self.transfer_mut(at);
        let candidates = std::mem::take(&mut transfer.candidates);
        *transfer = Transfer {
            candidates,
            ..Transfer::default()
        };
        transfer
    }

    /// A candidate no longer wants it, or can't have it. If it was the last one that an owner
    /// who divests could hope for, the others are offered it again.
    fn withdraw(&mut self, effects: &mut Effects, federate: FederateHandle, at: Place) {
        let Some(transfer) = self.transfer_if_any(at) else {
            return;
        };
        if transfer.take_candidate(federate).is_some() && transfer.divesting {
            if transfer.candidates.is_empty() {
                transfer.offered.clear();
            }
            transfer.offered.insert(federate);
            self.offer(effects, at);
        }
        self.forget_idle(at);
    }

    /// Offers an attribute to all who could acquire it.
    fn offer(&mut self, effects: &mut Effects, at: Place) {
        let Some(instance) = self.objects.get(at.0) else {
            return;
        };
        let knowing: Vec<_> = instance.knowing().collect();
        for federate in knowing {
            self.offer_to(effects, federate, at);
        }
    }

    /// Request Attribute Ownership Assumption, §7.4, if there is reason for it.
    fn offer_to(&mut self, effects: &mut Effects, federate: FederateHandle, at: Place) {
        let owner = self.owner_at(at);
        let to_be_had = owner.is_none() || self.transfer(at).is_some_and(|t| t.divesting);
        if !to_be_had || owner == Some(federate.into()) || !self.could_acquire(federate, at) {
            return;
        }
        let transfer = self.transfer_mut(at);
        let wants = transfer.candidates.iter().any(|c| c.federate == federate);
        if !wants && transfer.offered.insert(federate) {
            let what = OwnershipNotice::AssumptionRequested;
            let tag = transfer.tag.clone();
            effects.tell(what, federate, at, &tag);
        }
    }

    /// Whether an attribute of the instance may be unowned or being divested.
    fn any_to_be_had(&self, instance: ObjectInstanceHandle) -> bool {
        let known = self.objects.get(instance);
        known.is_some_and(|i| i.owners().contains(&None))
            || self
                .ownership
                .transfers
                .range(keys_of(instance))
                .next()
                .is_some()
    }

    /// Whether a member knows the instance and publishes the attribute at its known class.
    fn could_acquire(&self, federate: FederateHandle, at: Place) -> bool {
        let known = self.objects.get(at.0);
        let class = known.and_then(|i| i.known_class(federate));
        class.is_some_and(|c| self.publishes(federate, c, at.2))
    }

    /// Publishing any attribute of a class publishes the privilege to delete.
    fn publishes(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> bool {
        let published = self.publications.at(federate, class);
        published.is_some_and(|p| {
            p.contains(&attribute) || Some(attribute) == self.privilege_to_delete()
        })
    }

    /// What a member publishes at a class, with the privilege to delete.
    pub(crate) fn published_by(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Vec<AttributeHandle> {
        let Some(published) = self.publications.at(federate, class) else {
            return Vec::new();
        };
        let privilege = self.privilege_to_delete();
        let others = published.iter().copied().filter(|a| Some(*a) != privilege);
        privilege.into_iter().chain(others).collect()
    }

    /// Tells what was decided: first to those whom a new owner's data may reach, so that a frame
    /// that comes after its notification comes after that too.
    fn settle_ownership(&mut self, cause: impl Into<Option<Cause>>, effects: Effects) {
        let cause = cause.into();
        for instance in effects.owned {
            for federate in self.log.members() {
                self.discover(cause, federate, &[instance]);
            }
        }
        for (notice, mut attributes) in effects.notices {
            attributes.sort_unstable();
            let body = Entry::Ownership {
                notice: notice.what,
                instance: notice.instance,
                attributes,
                tag: notice.tag,
            };
            self.log.tell(cause, &[notice.to], body);
        }
    }

    /// Instances of which a federate's known class is `class`.
    fn known_at(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Vec<ObjectInstanceHandle> {
        let mut found = self.instances_below(class);
        found.retain(|h| {
            let instance = self.objects.get(*h);
            instance.and_then(|i| i.known_class(federate)) == Some(class)
        });
        found
    }

    /// Those of these attributes that the instance has; none if it is deleted.
    fn places(&self, instance: ObjectInstanceHandle, attributes: &[AttributeHandle]) -> Vec<Place> {
        let known = self.objects.get(instance);
        let class = known.and_then(|i| self.model.object_class(i.class()));
        let Some(class) = class else {
            return Vec::new();
        };
        let slots = attributes.iter();
        slots
            .filter_map(|a| Some((instance, class.slot(*a)? as usize, *a)))
            .collect()
    }

    fn all_places(&self, instance: ObjectInstanceHandle) -> Vec<Place> {
        let known = self.objects.get(instance);
        let class = known.and_then(|i| self.model.object_class(i.class()));
        let attributes = class.map_or(&[][..], |c| &c.attributes);
        let slots = attributes.iter().enumerate();
        slots.map(|(slot, a)| (instance, slot, *a)).collect()
    }

    fn owned_places(
        &self,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Vec<Place> {
        let mut places = self.places(instance, attributes);
        places.retain(|at| self.owner_at(*at) == Some(owner.into()));
        places
    }

    fn owner_at(&self, at: Place) -> Option<Owner> {
        self.objects.get(at.0)?.owner_at(at.1)
    }

    fn transfer(&self, at: Place) -> Option<&Transfer> {
        self.ownership.transfers.get(&(at.0, at.2))
    }

    fn transfer_if_any(&mut self, at: Place) -> Option<&mut Transfer> {
        self.ownership.transfers.get_mut(&(at.0, at.2))
    }

    /// HLAmodifyAttributeState (11.4.1): an attribute is this federate's from now on, or no longer, and neither
    /// it nor the former owner is notified. Others that want it are where any other change of owner leaves
    /// them: a new owner is asked to release it, and what is nobody's goes to the first of them (§7.8).
    pub(crate) fn own_silently(
        &mut self,
        cause: Cause,
        (instance, attribute): (ObjectInstanceHandle, AttributeHandle),
        federate: FederateHandle,
        owned: bool,
    ) {
        let mut effects = Effects::default();
        for at in self.places(instance, &[attribute]) {
            if let Some(former) = self.owner_at(at).and_then(Owner::federate) {
                self.log.tell(cause, &[former], attribute_state(at, false));
            }
            let transfer = self.owner_transfer_reset(at);
            transfer.take_candidate(federate);
            let is_wanted = !transfer.candidates.is_empty();
            self.set_owner(at.0, at.1, owned.then_some(federate.into()));
            if owned {
                self.log.tell(cause, &[federate], attribute_state(at, true));
                effects.owned.insert(at.0);
                self.keep_with(&mut effects, federate, at);
            } else if is_wanted {
                self.pass_on(&mut effects, at, &[]);
            }
            self.forget_idle(at);
        }
        self.settle_ownership(cause, effects);
    }

    fn transfer_mut(&mut self, at: Place) -> &mut Transfer {
        self.ownership.transfers.entry((at.0, at.2)).or_default()
    }

    fn forget_idle(&mut self, at: Place) {
        if self.transfer(at).is_some_and(Transfer::is_idle) {
            self.ownership.transfers.remove(&(at.0, at.2));
        }
    }

    /// A federate has forgotten an instance: should it discover it again, that is new.
    pub(crate) fn forget_offers(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) {
        for (_, transfer) in self.ownership.transfers.range_mut(keys_of(instance)) {
            transfer.offered.remove(&federate);
        }
        for at in self.all_places(instance) {
            self.forget_idle(at);
        }
    }

    /// An instance is gone, and all acquisitions of its attributes with it: whose they were.
    pub(crate) fn forget_transfers(
        &mut self,
        instance: ObjectInstanceHandle,
    ) -> BTreeSet<FederateHandle> {
        let gone = self.ownership.transfers.range(keys_of(instance));
        let gone: Vec<_> = gone.map(|(key, _)| *key).collect();
        let gone = gone
            .iter()
            .filter_map(|key| self.ownership.transfers.remove(key));
        let wanted_by = gone.flat_map(|transfer| transfer.candidates);
        wanted_by.map(|candidate| candidate.federate).collect()
    }
}
