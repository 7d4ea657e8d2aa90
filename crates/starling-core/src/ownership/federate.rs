//! Ownership management at the federate: pre-conditions by what was delivered to it.

use super::{Divestiture, OwnershipNotice, keys_of};
use crate::callback::Callback;
use crate::delivery::Queued;
use crate::exception::throw;
use crate::held::Held;
use crate::log::federate::Place;
use crate::message::ownership::{Entry, Request};
use crate::message::{LogIndex, RequestNumber};
use crate::object::known::Instance;
use crate::saved::ownership::{Asked, OwnTransfer as Transfer, TransferState as State};
use crate::{AttributeHandle, Exception, Federate, ObjectClassHandle, ObjectInstanceHandle, Owner};
use std::collections::BTreeMap;

impl State {
    fn is_acquiring(self) -> bool {
        self != State::Divesting
    }
}

/// What a federate does about instance attributes, and what it waits to be told of them.
#[derive(Default)]
pub(crate) struct Ownership {
    pub(super) transfers: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Transfer>,
    /// Acquisitions granted, by the applied log.
    pub(super) acquisitions: u64,
    /// Log index of the last delivered Request Attribute Ownership Release.
    pub(super) release_seen: LogIndex,
    /// Requests that need the federation's word.
    pub(super) asked: BTreeMap<RequestNumber, Asked>,
    pub(super) decided: BTreeMap<RequestNumber, Result<Vec<AttributeHandle>, Exception>>,
}

impl Ownership {
    /// Acquisitions granted, by the applied log.
    pub(crate) fn acquisitions(&self) -> u64 {
        self.acquisitions
    }
}

/// A callback of this chapter that is not delivered yet.
#[derive(Debug)]
pub(crate) enum QueuedOwnership {
    Notice(Box<QueuedNotice>),
    /// Inform Attribute Ownership, unless the instance is gone by then.
    Report(ObjectInstanceHandle, Box<Callback>),
}

impl QueuedOwnership {
    /// Bytes that it holds elsewhere.
    pub(crate) fn held(&self) -> usize {
        match self {
            QueuedOwnership::Notice(notice) => {
                size_of::<QueuedNotice>() + notice.attributes.held() + notice.tag.held()
            }
            QueuedOwnership::Report(_, callback) => callback.held(),
        }
    }
}

/// What the log has said about attributes.
#[derive(Debug)]
pub(crate) struct QueuedNotice {
    pub(crate) notice: OwnershipNotice,
    pub(crate) instance: ObjectInstanceHandle,
    pub(crate) attributes: Vec<AttributeHandle>,
    pub(crate) tag: Vec<u8>,
    pub(crate) index: LogIndex,
    /// Own requests that were in the log.
    pub(crate) as_of: RequestNumber,
}

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_ownership(&mut self, entry: Entry, place: Place) {
        match entry {
            Entry::Ownership {
                notice,
                instance,
                attributes,
                tag,
            } => self.apply_notice(notice, instance, attributes, tag, place.index),
            Entry::Divested {
                attributes,
                unwanted,
                ..
            } => {
                if let Some(cause) = place.cause {
                    self.apply_divested(cause.request, attributes, &unwanted);
                }
            }
            Entry::OwnershipReport { instance, owners } => {
                self.apply_ownership_report(instance, owners);
            }
        }
    }

    /// Unconditional Attribute Ownership Divestiture, 1516.1-2010 §7.2.
    pub fn unconditional_attribute_ownership_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.owned_instance(instance, attributes)?;
        if !attributes.is_empty() {
            self.give_away(instance, attributes);
            if let Some(known) = self.objects.get_mut(instance) {
                attributes.iter().for_each(|a| known.forget_changes(*a));
            }
            let body = divest(Divestiture::Unconditional, instance, attributes, tag);
            self.log.ending_request(body);
        }
        Ok(())
    }

    /// Negotiated Attribute Ownership Divestiture, §7.3.
    pub fn negotiated_attribute_ownership_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let known = self.owned_instance(instance, attributes)?;
        if let Some(attribute) = attributes.iter().find(|a| self.is_divesting(instance, **a)) {
            throw!(
                AttributeAlreadyBeingDivested,
                "attribute {} of '{}' is being divested already",
                self.attribute_text(*attribute),
                known.name(instance)
            );
        }
        if !attributes.is_empty() {
            self.set_transfers(State::Divesting, instance, attributes);
            let body = divest(Divestiture::Negotiated, instance, attributes, tag);
            self.log.request(body);
        }
        Ok(())
    }

    /// Confirm Divestiture, §7.6. Needs the federation's word: wait, delivering no callback, until
    /// [`Federate::divested`] has the answer to the returned request.
    pub fn confirm_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        self.require_divesting(instance, attributes)?;
        Ok(self.ask(Divestiture::Confirmed, instance, attributes, tag))
    }

    /// Attribute Ownership Divestiture If Wanted, §7.13. Needs the federation's word, as
    /// [`Federate::confirm_divestiture`] does.
    pub fn attribute_ownership_divestiture_if_wanted(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        self.owned_instance(instance, attributes)?;
        Ok(self.ask(Divestiture::IfWanted, instance, attributes, tag))
    }

    /// The answer to a request of [`Federate::confirm_divestiture`] or
    /// [`Federate::attribute_ownership_divestiture_if_wanted`], once it is there: the attributes
    /// that another federate owns now. It is given once.
    pub fn divested(
        &mut self,
        request: RequestNumber,
    ) -> Option<Result<Vec<AttributeHandle>, Exception>> {
        self.ownership.decided.remove(&request)
    }

    /// Attribute Ownership Acquisition, §7.8.
    pub fn attribute_ownership_acquisition(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.require_acquirable(instance, attributes)?;
        self.acquire(State::AcquisitionPending, instance, attributes, tag);
        Ok(())
    }

    /// Attribute Ownership Acquisition If Available, §7.9.
    pub fn attribute_ownership_acquisition_if_available(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let known = self.require_acquirable(instance, attributes)?;
        let acquiring = |a: &&AttributeHandle| self.transfer(instance, **a).is_some();
        if let Some(attribute) = attributes.iter().find(acquiring) {
            throw!(
                AttributeAlreadyBeingAcquired,
                "attribute {} of '{}' is being acquired by this federate already",
                self.attribute_text(*attribute),
                known.name(instance)
            );
        }
        self.acquire(State::WillingToAcquire, instance, attributes, tag);
        Ok(())
    }

    /// Attribute Ownership Release Denied, §7.12.
    pub fn attribute_ownership_release_denied(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.owned_instance(instance, attributes)?;
        if !attributes.is_empty() {
            self.log.request(Request::DenyOwnershipRelease {
                instance,
                attributes: attributes.to_vec(),
                seen: self.ownership.release_seen,
                tag: tag.to_vec(),
            });
        }
        Ok(())
    }

    /// Cancel Negotiated Attribute Ownership Divestiture, §7.14.
    pub fn cancel_negotiated_attribute_ownership_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        self.require_divesting(instance, attributes)?;
        for attribute in attributes {
            self.ownership.transfers.remove(&(instance, *attribute));
        }
        if !attributes.is_empty() {
            let attributes = attributes.to_vec();
            self.log.request(Request::CancelOwnershipDivestiture {
                instance,
                attributes,
            });
        }
        Ok(())
    }

    /// Cancel Attribute Ownership Acquisition, §7.15.
    pub fn cancel_attribute_ownership_acquisition(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        let known = self.require_instance_attributes(instance, attributes)?;
        for attribute in attributes {
            if known.owns(*attribute) {
                throw!(
                    AttributeAlreadyOwned,
                    "attribute {} of '{}' is owned by this federate already",
                    self.attribute_text(*attribute),
                    known.name(instance)
                );
            }
            if self.state(instance, *attribute) != Some(State::AcquisitionPending) {
                throw!(
                    AttributeAcquisitionWasNotRequested,
                    "no attributeOwnershipAcquisition is pending for attribute {} of '{}'",
                    self.attribute_text(*attribute),
                    known.name(instance)
                );
            }
        }
        if !attributes.is_empty() {
            self.set_transfers(State::TryingToCancel, instance, attributes);
            let attributes = attributes.to_vec();
            self.log.request(Request::CancelOwnershipAcquisition {
                instance,
                attributes,
            });
        }
        Ok(())
    }

    /// Query Attribute Ownership, §7.17.
    pub fn query_attribute_ownership(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        self.require_instance_attributes(instance, attributes)?;
        if !attributes.is_empty() {
            let attributes = attributes.to_vec();
            self.log.request(Request::QueryOwnership {
                instance,
                attributes,
            });
        }
        Ok(())
    }

    /// Is Attribute Owned By Federate, §7.19.
    pub fn is_attribute_owned_by_federate(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Result<bool, Exception> {
        let known = self.require_instance_attributes(instance, &[attribute])?;
        Ok(known.owns(attribute))
    }

    /// Whether the federate is acquiring anything (OwnershipAcquisitionPending, §4.10): an
    /// attribute and its instance's name, for the message.
    pub(crate) fn acquiring(
        &self,
        concerns: impl Fn(&Instance, ObjectInstanceHandle, AttributeHandle) -> bool,
    ) -> Option<String> {
        let transfers = self.ownership.transfers.iter();
        let mut acquiring = transfers.filter(|(_, t)| t.state.is_acquiring());
        acquiring.find_map(|((handle, attribute), _)| {
            let instance = self.objects.get(*handle)?;
            let attribute_text = || self.attribute_text(*attribute);
            concerns(instance, *handle, *attribute).then(|| {
                format!(
                    "this federate is acquiring attribute {} of '{}'",
                    attribute_text(),
                    instance.name(*handle)
                )
            })
        })
    }

    /// An instance is gone, or this federate has forgotten it.
    pub(crate) fn forget_ownership(&mut self, instance: ObjectInstanceHandle) {
        let gone = self.ownership.transfers.range(keys_of(instance));
        let gone: Vec<_> = gone.map(|(key, _)| *key).collect();
        for key in gone {
            self.ownership.transfers.remove(&key);
        }
    }

    /// Class attributes are not published any more (§5.3): their instance attributes are lost.
    pub(crate) fn divest_unpublished(
        &mut self,
        class: ObjectClassHandle,
        ended: &[AttributeHandle],
    ) {
        let of_class = |(_, i): &(ObjectInstanceHandle, &mut Instance)| i.known_class() == class;
        for (handle, instance) in self.objects.iter_mut().filter(of_class) {
            for attribute in ended {
                if instance.disown(*attribute) {
                    self.ownership.transfers.remove(&(handle, *attribute));
                }
            }
        }
        // What was deleted or removed and may come back is as what is known.
        for handle in self.time.away_at(class) {
            for attribute in ended {
                if let Some(away) = self.time.away_mut(handle) {
                    away.disown(*attribute);
                }
                self.ownership.transfers.remove(&(handle, *attribute));
                self.time.away.forget(handle, *attribute);
            }
            self.forget_kept_for_nothing(handle);
        }
    }

    fn apply_notice(
        &mut self,
        notice: OwnershipNotice,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        tag: Vec<u8>,
        index: LogIndex,
    ) {
        let as_of = self.log.own_requests();
        if notice == OwnershipNotice::Acquired {
            self.ownership.acquisitions += 1;
        }
        self.delivery
            .push(QueuedOwnership::Notice(Box::new(QueuedNotice {
                notice,
                instance,
                attributes,
                tag,
                index,
                as_of,
            })));
    }

    /// The federation's word on a request of this federate's.
    pub(crate) fn apply_divested(
        &mut self,
        request: RequestNumber,
        divested: Vec<AttributeHandle>,
        unwanted: &[AttributeHandle],
    ) {
        let Some(asked) = self.ownership.asked.remove(&request) else {
            return;
        };
        let mut name = String::new();
        let known = self.objects.get_mut(asked.instance);
        if let Some(instance) = known.or_else(|| self.time.away_mut(asked.instance)) {
            name = instance.name(asked.instance);
            // What HLAmodifyAttributeState has taken away and given back meanwhile is in none of what was asked.
            for attribute in &divested {
                instance.disown(*attribute);
            }
            for (attribute, transfer) in asked.attributes {
                if divested.contains(&attribute) {
                    instance.forget_changes(attribute);
                } else {
                    instance.own(attribute);
                    let key = (asked.instance, attribute);
                    if let Some(transfer) = transfer {
                        self.ownership.transfers.insert(key, transfer);
                    }
                }
            }
        }
        let confirmed = asked.how == Divestiture::Confirmed;
        let answer = match unwanted.first().filter(|_| confirmed) {
            Some(attribute) => Err(no_acquisition_pending(&format!(
                "nobody is acquiring attribute {} of '{name}' any more",
                self.attribute_text(*attribute)
            ))),
            None if confirmed && divested.is_empty() => Err(no_acquisition_pending(
                "the object instance was deleted, or its attributes were taken from this federate \
                 (HLAmodifyAttributeState)",
            )),
            None => Ok(divested),
        };
        self.ownership.decided.insert(request, answer);
    }

    pub(crate) fn apply_ownership_report(
        &mut self,
        instance: ObjectInstanceHandle,
        owners: Vec<(AttributeHandle, Option<Owner>)>,
    ) {
        let mut by_owner: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (attribute, owner) in owners {
            by_owner.entry(owner).or_default().push(attribute);
        }
        for (owner, attributes) in by_owner {
            let report = Callback::InformAttributeOwnership {
                instance,
                attributes,
                owner,
            };
            self.delivery
                .push(QueuedOwnership::Report(instance, Box::new(report)));
        }
    }

    /// What was queued as a callback, if it still means anything to the federate.
    pub(crate) fn deliver_ownership(&mut self, queued: QueuedOwnership) -> Option<Callback> {
        match queued {
            QueuedOwnership::Notice(notice) => self.deliver_notice(*notice),
            QueuedOwnership::Report(instance, report) => self.known(instance).ok().map(|_| *report),
        }
    }

    fn deliver_notice(&mut self, queued: QueuedNotice) -> Option<Callback> {
        let Ok(known) = self.known(queued.instance) else {
            self.put_away(queued);
            return None;
        };
        let known_class = known.known_class();
        let QueuedNotice {
            notice,
            instance,
            mut attributes,
            tag,
            index,
            as_of,
        } = queued;
        attributes.retain(|a| self.still_concerns(notice, instance, known_class, *a, as_of));
        if attributes.is_empty() {
            return None;
        }
        match notice {
            OwnershipNotice::Acquired => {
                for attribute in &attributes {
                    self.ownership.transfers.remove(&(instance, *attribute));
                    self.objects.get_mut(instance)?.own(*attribute);
                }
            }
            OwnershipNotice::Unavailable => {
                for attribute in &attributes {
                    self.ownership.transfers.remove(&(instance, *attribute));
                }
            }
            OwnershipNotice::AcquisitionCancelled => {
                for attribute in &attributes {
                    // Unless it was asked for again since.
                    if self.asked_by(instance, *attribute, as_of) {
                        self.ownership.transfers.remove(&(instance, *attribute));
                    }
                }
            }
            // Those of an instance that was away may be told behind later ones.
            OwnershipNotice::ReleaseRequested => {
                self.ownership.release_seen = self.ownership.release_seen.max(index);
            }
            OwnershipNotice::ConfirmationRequested | OwnershipNotice::AssumptionRequested => {}
        }
        Some(match notice {
            OwnershipNotice::Acquired => Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                attributes,
                tag,
            },
            OwnershipNotice::Unavailable => Callback::AttributeOwnershipUnavailable {
                instance,
                attributes,
                tag,
            },
            OwnershipNotice::AcquisitionCancelled => {
                Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
                    instance,
                    attributes,
                }
            }
            OwnershipNotice::ConfirmationRequested => Callback::RequestDivestitureConfirmation {
                instance,
                attributes,
                tag,
            },
            OwnershipNotice::ReleaseRequested => Callback::RequestAttributeOwnershipRelease {
                instance,
                attributes,
                tag,
            },
            OwnershipNotice::AssumptionRequested => Callback::RequestAttributeOwnershipAssumption {
                instance,
                attributes,
                tag,
            },
        })
    }

    /// What is said of an instance that this federate does not know and may know again, if its own deletion of it is
    /// retracted, or that by which it was removed. It is told then. An acquisition of what was removed that comes to
    /// nothing has ended with the instance.
    fn put_away(&mut self, queued: QueuedNotice) {
        let (notice, instance) = (queued.notice, queued.instance);
        let is_own = self.time.is_own_deletion(instance);
        for attribute in queued.attributes.iter().copied() {
            let is_answer = self.asked_by(instance, attribute, queued.as_of);
            let is_kept = match notice {
                OwnershipNotice::Acquired => self.state(instance, attribute).is_some(),
                OwnershipNotice::Unavailable | OwnershipNotice::AcquisitionCancelled => {
                    if is_answer && !is_own {
                        self.ownership.transfers.remove(&(instance, attribute));
                    }
                    is_answer && is_own
                }
                OwnershipNotice::ConfirmationRequested | OwnershipNotice::ReleaseRequested => {
                    self.away(instance).is_some_and(|i| i.owns(attribute))
                }
                OwnershipNotice::AssumptionRequested => is_own,
            };
            if is_kept {
                self.time.away.put(attribute, &queued);
            }
        }
        self.forget_kept_for_nothing(instance);
    }

    /// An instance that this federate does not know, and may know again.
    pub(crate) fn away(&self, instance: ObjectInstanceHandle) -> Option<&Instance> {
        // Its discovery may be about to be told.
        let away = self.time.away_from(instance);
        away.or_else(|| self.objects.get(instance).filter(|i| !i.is_discovered()))
    }

    /// Whether this federate is acquiring or divesting anything of an instance.
    pub(crate) fn has_transfers(&self, instance: ObjectInstanceHandle) -> bool {
        let mut of_it = self.ownership.transfers.range(keys_of(instance));
        of_it.next().is_some()
    }

    /// Of an instance that was removed and is neither this federate's nor wanted by it nothing need be kept.
    fn forget_kept_for_nothing(&mut self, instance: ObjectInstanceHandle) {
        let kept = self.time.kept(instance);
        if kept.is_some_and(|i| i.owned().is_empty()) && !self.has_transfers(instance) {
            self.forget_away(instance);
        }
    }

    /// An instance that was away is known again: what was said of it meanwhile is told now, with what waits behind
    /// that.
    pub(crate) fn tell_of_away(&mut self, instance: ObjectInstanceHandle) {
        let away = &mut self.time.away;
        if !away.has(instance) {
            return;
        }
        self.delivery
            .withdraw(|queued| away.take_in(instance, queued));
        for queued in away.take(instance) {
            self.delivery.push(queued);
        }
    }

    /// An instance that this federate has deleted by a message that it may retract, and that is gone by another's.
    pub(crate) fn take_deleted(&mut self, instance: ObjectInstanceHandle) -> Option<Instance> {
        let deleted = self.time.take_deleted(instance)?;
        self.regions.forget_instance(instance);
        self.declarations.forget_instance(instance);
        Some(deleted)
    }

    /// An instance that is away does not come back.
    pub(crate) fn forget_away(&mut self, instance: ObjectInstanceHandle) {
        self.time.take_kept(instance);
        self.take_deleted(instance);
        self.time.away.take(instance);
        self.forget_ownership(instance);
    }

    /// Whether a notice about an attribute is to be delivered, or was overtaken by a request.
    fn still_concerns(
        &self,
        notice: OwnershipNotice,
        instance: ObjectInstanceHandle,
        known_class: ObjectClassHandle,
        attribute: AttributeHandle,
        as_of: RequestNumber,
    ) -> bool {
        let owned = self
            .objects
            .get(instance)
            .is_some_and(|i| i.owns(attribute));
        let state = self.state(instance, attribute);
        match notice {
            // The executive's word; acquisitions asked for since join in.
            OwnershipNotice::Acquired | OwnershipNotice::AcquisitionCancelled => true,
            OwnershipNotice::Unavailable => {
                self.asked_by(instance, attribute, as_of) && state != Some(State::TryingToCancel)
            }
            OwnershipNotice::ConfirmationRequested => {
                owned
                    && state == Some(State::Divesting)
                    && self.asked_by(instance, attribute, as_of)
            }
            OwnershipNotice::ReleaseRequested => owned && state.is_none(),
            OwnershipNotice::AssumptionRequested => {
                !owned && state.is_none() && self.publishes(known_class, attribute)
            }
        }
    }

    /// Whether what the federate does about the attribute was in the log by then.
    fn asked_by(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        as_of: RequestNumber,
    ) -> bool {
        self.transfer(instance, attribute)
            .is_some_and(|t| t.request <= as_of)
    }

    fn transfer(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<&Transfer> {
        self.ownership.transfers.get(&(instance, attribute))
    }

    fn state(&self, instance: ObjectInstanceHandle, attribute: AttributeHandle) -> Option<State> {
        self.transfer(instance, attribute).map(|t| t.state)
    }

    fn is_divesting(&self, instance: ObjectInstanceHandle, attribute: AttributeHandle) -> bool {
        self.state(instance, attribute) == Some(State::Divesting)
    }

    /// Notes what the next request asks for.
    fn set_transfers(
        &mut self,
        state: State,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let request = self.log.next_request();
        for attribute in attributes {
            let transfer = Transfer { state, request };
            self.ownership
                .transfers
                .insert((instance, *attribute), transfer);
        }
    }

    fn acquire(
        &mut self,
        state: State,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) {
        if attributes.is_empty() {
            return;
        }
        self.set_transfers(state, instance, attributes);
        self.log.request(Request::AcquireOwnership {
            if_available: state == State::WillingToAcquire,
            instance,
            attributes: attributes.to_vec(),
            tag: tag.to_vec(),
        });
    }

    /// Asks for the federation's word; until it comes the attributes are nobody's here.
    fn ask(
        &mut self,
        how: Divestiture,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> RequestNumber {
        let request = self.log.next_request();
        let transfers = &self.ownership.transfers;
        let before = attributes
            .iter()
            .map(|a| (*a, transfers.get(&(instance, *a)).copied()))
            .collect();
        if attributes.is_empty() {
            self.ownership.decided.insert(request, Ok(Vec::new()));
            return request;
        }
        self.give_away(instance, attributes);
        let asked = Asked {
            how,
            instance,
            attributes: before,
        };
        self.ownership.asked.insert(request, asked);
        self.log
            .ending_request(divest(how, instance, attributes, tag));
        request
    }

    /// An attribute is this federate's, or no longer, by HLAmodifyAttributeState (11.4.1), here in the log: without a
    /// callback, also of an instance that is away. If it was granted before and that waits to be told, its
    /// acquisition ends instead.
    pub(crate) fn own_silently(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owned: bool,
        index: LogIndex,
    ) {
        let was_granted = !owned && self.take_back(instance, attribute);
        if !was_granted {
            self.ownership.transfers.remove(&(instance, attribute));
        }
        let known = self.objects.get_mut(instance);
        if let Some(known) = known.or_else(|| self.time.away_mut(instance)) {
            if owned {
                known.own(attribute);
            } else {
                known.suspend(attribute);
                known.forget_changes(attribute);
            }
        }
        if was_granted {
            let (notice, tag) = (OwnershipNotice::Unavailable, Vec::new());
            self.apply_notice(notice, instance, vec![attribute], tag, index);
        }
        self.forget_kept_for_nothing(instance);
    }

    /// An attribute that is another's now, or nobody's, comes back by no answer that is on its way, and is not told as
    /// granted; whether that waited to be told.
    fn take_back(&mut self, instance: ObjectInstanceHandle, attribute: AttributeHandle) -> bool {
        let asked = self.ownership.asked.values_mut();
        for asked in asked.filter(|asked| asked.instance == instance) {
            asked.attributes.retain(|(a, _)| *a != attribute);
        }
        let mut waited = self.time.away.was_granted(instance, attribute);
        self.time.away.forget(instance, attribute);
        self.delivery.change(|queued| {
            if let Queued::Ownership(QueuedOwnership::Notice(said)) = queued
                && said.notice == OwnershipNotice::Acquired
                && said.instance == instance
            {
                let before = said.attributes.len();
                said.attributes.retain(|a| *a != attribute);
                waited |= said.attributes.len() < before;
            }
        });
        waited
    }

    /// The federate acts as owner of these no more.
    fn give_away(&mut self, instance: ObjectInstanceHandle, attributes: &[AttributeHandle]) {
        for attribute in attributes {
            if let Some(known) = self.objects.get_mut(instance) {
                known.suspend(*attribute);
            }
            self.ownership.transfers.remove(&(instance, *attribute));
        }
    }

    /// The instance, if it is known and the attributes are available at its known class.
    pub(crate) fn require_instance_attributes(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<&Instance, Exception> {
        let known = self.known(instance)?;
        self.require_attributes(known.known_class(), attributes)?;
        Ok(known)
    }

    /// The instance, if this federate owns all of these attributes of it.
    fn owned_instance(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<&Instance, Exception> {
        let known = self.require_instance_attributes(instance, attributes)?;
        self.require_owned(instance, known, attributes)?;
        Ok(known)
    }

    /// AttributeDivestitureWasNotRequested unless all are owned and being divested.
    fn require_divesting(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        let known = self.owned_instance(instance, attributes)?;
        match attributes
            .iter()
            .find(|a| !self.is_divesting(instance, **a))
        {
            None => Ok(()),
            Some(attribute) => throw!(
                AttributeDivestitureWasNotRequested,
                "negotiatedAttributeOwnershipDivestiture was not called for attribute {} of '{}'",
                self.attribute_text(*attribute),
                known.name(instance)
            ),
        }
    }

    /// Pre-conditions that both acquisitions share.
    fn require_acquirable(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> Result<&Instance, Exception> {
        let known = self.require_instance_attributes(instance, attributes)?;
        if let Some(attribute) = attributes.iter().find(|a| known.owns(**a)) {
            throw!(
                FederateOwnsAttributes,
                "attribute {} of '{}' is owned by this federate already",
                self.attribute_text(*attribute),
                known.name(instance)
            );
        }
        let class = &self.require_object_class(known.known_class())?.name;
        if self.declarations.published(known.known_class()).is_none() {
            throw!(
                ObjectClassNotPublished,
                "'{class}', the known class of '{}', is not published by this federate",
                known.name(instance)
            );
        }
        let unpublished = |a: &&AttributeHandle| !self.publishes(known.known_class(), **a);
        match attributes.iter().find(unpublished) {
            None => Ok(known),
            Some(attribute) => throw!(
                AttributeNotPublished,
                "attribute {} of '{class}', the known class of '{}', is not published by this federate",
                self.attribute_text(*attribute),
                known.name(instance)
            ),
        }
    }

    /// Publishing any attribute of a class publishes the privilege to delete.
    fn publishes(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        let published = self.declarations.published(class);
        published.is_some_and(|p| p.contains(&attribute) || attribute == self.privilege_to_delete())
    }
}

fn divest(
    how: Divestiture,
    instance: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &[u8],
) -> Request {
    Request::DivestOwnership {
        how,
        instance,
        attributes: attributes.to_vec(),
        tag: tag.to_vec(),
    }
}

fn no_acquisition_pending(why: &str) -> Exception {
    Exception::new(crate::ExceptionKind::NoAcquisitionPending, why)
}
