//! Ownership management, chapter 7. Who owns what stands with the instances.

use crate::message::{LogIndex, RequestNumber};
use crate::{AttributeHandle, Divestiture, Exception, FederateHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// At the executive: instance attributes whose owner may change, or that were offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// By instance and attribute.
    pub transfers: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Transfer>,
}

/// What is going on about one instance attribute, besides who owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Its owner waits for a new owner (1516.1-2010, 7.3).
    pub divesting: bool,
    /// The owner has been asked to confirm, and has not been told since that nobody wants it.
    pub asked: bool,
    /// With which it is offered.
    pub tag: Vec<u8>,
    /// Who wants it, in the order of asking.
    pub candidates: Vec<Candidate>,
    /// Who needs no offer any more: was offered it, or has asked for it, since it was divested.
    pub offered: BTreeSet<FederateHandle>,
}

/// Who wants an instance attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The federate.
    pub federate: FederateHandle,
    /// By Attribute Ownership Acquisition If Available (7.9), else by Acquisition (7.8).
    pub if_available: bool,
    /// User-supplied tag.
    pub tag: Vec<u8>,
    /// Log index of the request for which the present owner is asked to release it, if it is.
    pub release_at: Option<LogIndex>,
}

/// At a joined federate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Federate {
    /// What it is doing about instance attributes.
    pub transfers: BTreeMap<(ObjectInstanceHandle, AttributeHandle), OwnTransfer>,
    /// Acquisitions granted, by the applied log.
    pub acquisitions: u64,
    /// Log index of the last delivered Request Attribute Ownership Release.
    pub release_seen: LogIndex,
    /// Requests that need the federation's word.
    pub asked: BTreeMap<RequestNumber, Asked>,
    /// The federation's word that was not looked at yet.
    pub decided: BTreeMap<RequestNumber, Result<Vec<AttributeHandle>, Exception>>,
}

/// What a federate is doing about an instance attribute, and by which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTransfer {
    /// What it is doing.
    pub state: TransferState,
    /// The request by which it does.
    pub request: RequestNumber,
}

/// What a federate is doing about an instance attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferState {
    /// Owned; waits for a new owner (7.3).
    Divesting,
    /// Not owned; wanted if it is available (7.9).
    WillingToAcquire,
    /// Not owned; wanted (7.8).
    AcquisitionPending,
    /// Not owned; no longer wanted (7.15).
    TryingToCancel,
}

/// Attributes that may be another federate's already. Until it is decided this one does not act
/// as their owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// By which service.
    pub how: Divestiture,
    /// The object instance.
    pub instance: ObjectInstanceHandle,
    /// Each with what the federate was doing about it before.
    pub attributes: Vec<(AttributeHandle, Option<OwnTransfer>)>,
}
