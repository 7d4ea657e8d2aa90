//! The control log.

use crate::FederateHandle;
use crate::message::time::Notice;
use crate::message::{Entry, LogIndex, OwnedData, RequestNumber, Watermark};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// At the executive.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its last index.
    pub index: LogIndex,
    /// Every member has been told the log up to here.
    pub settled: LogIndex,
    /// Where the present epoch began.
    pub epoch: LogIndex,
    /// The stream of each member.
    pub streams: BTreeMap<FederateHandle, Stream>,
}

/// The stream of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Requests that the member has made.
    pub requests: RequestNumber,
    /// Log index of the last of them.
    pub last_request_at: LogIndex,
    /// It tells the log up to here.
    pub told: LogIndex,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// The last log index applied.
    pub applied: LogIndex,
    /// Where the present epoch began.
    pub epoch: LogIndex,
    /// Requests that the federate has made.
    pub requests: RequestNumber,
    /// Receivers whose own link has carried data since its last fence.
    pub fenceable: BTreeSet<FederateHandle>,
    /// What waits for a fence, in order.
    pub control: Vec<Control>,
    /// What came of each member.
    pub senders: BTreeMap<FederateHandle, Sender>,
    /// The highest handle that a member ever had.
    pub latest: FederateHandle,
}

/// What the executive has said and is not applied yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A log entry.
    Entry(Arc<Entry>),
    /// The log goes on.
    Watermark(Watermark),
    /// About time.
    Time(Notice),
    /// A data frame in time-stamp order, which has its place in the executive's stream.
    Data(OwnedData),
}

/// What came of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sender {
    /// Its last request in the applied part of the log.
    pub requests: RequestNumber,
    /// The last fence that came on its own link.
    pub fence: RequestNumber,
    /// Its link to this federate has ended: no fence will come any more.
    pub ended: bool,
    /// Data frames that wait for the log, in order.
    pub held: Vec<OwnedData>,
}
