//! What federates and the executive tell each other; `starling-wire` turns it into bytes.
//!
//! What a joined federate asks for and what the log says stand in one file per room. Here is what
//! they travel in, and what is said before a federate joins.

#[macro_use]
mod table;

mod data;
pub mod ddm;
pub mod declaration;
pub mod federation;
pub mod mom;
pub mod object;
pub mod ownership;
pub mod save;
mod sets;
pub mod statistics;
pub mod time;

use crate::held::holds;
pub use data::{
    After, Data, DataBody, DataSent, OwnedData, Payload, PlainData, PlainSent, TimedData,
};
pub(crate) use data::{OwnedBody, PayloadBuf};
pub use ddm::{AttributeRegions, Range, RegionSpecification, RegionSubscription};
pub use declaration::{SubscribedAttribute, Subscription};
pub use federation::{FederateInformation, ModuleSource, ResignAction};
pub use object::{Discovery, default_instance_name};
pub(crate) use sets::{Sets, require_pairs};
pub use time::{Stamp, TimeRequest};

pub use statistics::{FederateStatistics, Statistics};

use crate::saved;
use crate::{
    Advance, Counters, Exception, FederateHandle, LogicalTime, LogicalTimeInterval, ProtocolError,
    Services,
};
use std::fmt;
use std::sync::Arc;

/// Ordinal of a request among its federate's requests since it joined, from 1; 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(pub u64);

/// Position in a federation execution's control log, from 1; 0 is before its first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u64);

impl RequestNumber {
    /// The number of the request after this one.
    pub fn next(self) -> Self {
        RequestNumber(self.0 + 1)
    }

    /// The number of the request before this one; 0 has none.
    pub(crate) fn previous(self) -> Self {
        RequestNumber(self.0.saturating_sub(1))
    }
}

impl LogIndex {
    /// The position after this one.
    pub fn next(self) -> Self {
        LogIndex(self.0 + 1)
    }

    /// The position before this one; 0 has none.
    pub(crate) fn previous(self) -> Self {
        LogIndex(self.0.saturating_sub(1))
    }
}

impl fmt::Display for RequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LogIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// About the process at the other end of a connection, for logs and `starling ps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerInfo {
    /// Process number on its host.
    pub pid: u32,
    /// Its host's name.
    pub host: String,
    /// Its program's name.
    pub program: String,
    /// The Starling version it runs.
    pub version: String,
    /// How it is connected (`unix`, `tcp 10.0.0.7:50312`); filled in by the executive's process.
    pub path: String,
}

/// From a federate (joined or not) to the executive.
#[derive(Clone, Debug, PartialEq)]
pub enum ToExecutive {
    /// Create Federation Execution, 1516.1-2010 §4.5.
    CreateFederation {
        /// The new federation execution.
        federation: String,
        /// At least one FOM module.
        modules: Vec<ModuleSource>,
        /// The MIM if not the standard one.
        mim: Option<ModuleSource>,
        /// Name of the logical time implementation; empty for HLAfloat64Time.
        time_implementation: String,
    },
    /// Destroy Federation Execution, §4.6.
    DestroyFederation {
        /// The federation execution's name.
        federation: String,
    },
    /// List Federation Executions, §4.7.
    ListFederations,
    /// Join Federation Execution, §4.9.
    Join {
        /// The federate's name, or none: the RTI makes one.
        name: Option<String>,
        /// The federate's type.
        kind: String,
        /// Which federation execution.
        federation: String,
        /// Further FOM modules.
        modules: Vec<ModuleSource>,
    },
    /// A joined federate's request to the control log.
    Request(Request),
    /// A joined federate's request about its time, which is no part of the log.
    Time(TimeRequest),
    /// A joined federate's part of a save.
    Part(Box<saved::Federate>),
    /// A joined federate's part of a save is larger than the executive takes.
    PartTooLarge {
        /// The log index at which it was asked for.
        applied: LogIndex,
        /// Its size.
        bytes: u64,
    },
    /// The sender ends its connection, for this reason.
    Leaves {
        /// For the log, and for whom it concerns that a joined federate is lost.
        why: String,
    },
    /// What all federation executions look like, for `starling ps`.
    QueryStatus,
    /// Resigns a joined federate as if its connection had ended, for `starling resign`.
    ResignFederate {
        /// The name of its federation execution; empty where there is only one.
        federation: String,
        /// Its name.
        federate: String,
    },
    /// Ends the process, for `starling stop`.
    Stop {
        /// Although federates are joined.
        force: bool,
    },
    /// Why nothing arrives, for `starling why`.
    QueryWhy(Question),
    /// What a joined federate tells of itself once in a while, for `starling ps` and `starling why`.
    Counted {
        /// What became of its data so far.
        counters: Box<Counters>,
        /// What it does.
        doing: Doing,
        /// For how long, in milliseconds, if it knows; else 0.
        for_ms: u64,
        /// How many bytes may be withheld from it (its `limits.withheld_bytes`) before it is cut off.
        withheld_bytes_max: u64,
    },
    /// What a joined federate measures of itself, once in a while, for `starling stats`.
    Measured(Box<Statistics>),
    /// What the joined federates measure, for `starling stats`.
    QueryStatistics,
}

/// A request to the control log; numbered by the order of sending.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Log index that its sender had applied.
    pub applied: LogIndex,
    /// Receivers to which a fence with this request's number was sent on a link of their own,
    /// ascending, as all sets in requests.
    pub fenced: Vec<FederateHandle>,
    /// What is asked.
    pub body: RequestBody,
}

/// What a joined federate asks of its federation execution, by room.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestBody {
    /// Nothing: its data to some receivers takes another path from here on.
    PathChanged,
    /// Federation management.
    Federation(federation::Request),
    /// Declaration management.
    Declaration(declaration::Request),
    /// Object management.
    Object(object::Request),
    /// Ownership management.
    Ownership(ownership::Request),
    /// Data distribution management.
    Ddm(ddm::Request),
    /// Management object model.
    Mom(mom::Request),
}

/// From the executive to one federate. The stream has no gaps: every log index up to the last
/// one is told as an entry or covered by a watermark.
#[derive(Clone, Debug, PartialEq)]
pub enum FromExecutive {
    /// Answer to CreateFederation or DestroyFederation, in order.
    Done(Result<(), Exception>),
    /// Answer to ListFederations.
    Federations(Vec<FederationInformation>),
    /// Answer to Join.
    Joined(Box<Snapshot>),
    /// Answer to Join: refused.
    JoinRefused(Exception),
    /// A log entry that concerns the federate; shared by all that it concerns.
    Entry(Arc<Entry>),
    /// Entries up to `index` that do not concern it.
    Watermark(Watermark),
    /// About its time.
    Time(time::Notice),
    /// The federate is no longer a member, or the federation execution is gone.
    Removed(String),
    /// Federation Restored, §4.29: what the receiver is from now on. Its log begins again here.
    Restored(Box<Restored>),
    /// Answer to QueryStatus.
    Status(Vec<FederationStatus>),
    /// Answer to QueryWhy: the links of the chain up to the first that fails.
    Why(Vec<Finding>),
    /// Answer to QueryStatistics.
    Statistics(Vec<FederateStatistics>),
}

/// One federation execution in List Federation Executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationInformation {
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time_implementation: String,
}

/// What a joined federate does, by its own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// How many services it has called, but for those that evoke callbacks.
    pub calls: u64,
    /// The service that it called last; empty: none.
    pub service: String,
    /// The callback that it is in; empty: none.
    pub callback: String,
}

impl Doing {
    /// Whether it evoked callbacks last, and is in none.
    pub fn evokes(&self) -> bool {
        self.callback.is_empty() && self.service.starts_with("evoke")
    }

    /// Refuses what can't be the name of a service or callback: it is kept.
    pub(crate) fn require_names(&self) -> Result<(), ProtocolError> {
        const NAME_BYTES_MAX: usize = 100;
        let longest = self.service.len().max(self.callback.len());
        if longest > NAME_BYTES_MAX {
            Err(ProtocolError("a service's name is too long".into()))
        } else {
            Ok(())
        }
    }
}

/// The link that fails where a question names no federation execution and suits several.
pub const WHICH_FEDERATION: &str = "which federation execution";

/// "Why does this federate get nothing of that?" "Why does its time stand still?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name; empty where there is only one.
    pub federation: String,
    /// The receiver's name.
    pub federate: String,
    /// Name of an object instance, object class or interaction class; none: its time.
    pub subject: Option<String>,
}

/// One link of the chain from sender to receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What must hold, in a word or two.
    pub link: String,
    /// Whether it does.
    pub holds: bool,
    /// What was seen, as a sentence.
    pub detail: String,
}

/// One federation execution in `starling ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time_implementation: String,
    /// Designators of its MIM and FOM modules.
    pub modules: Vec<String>,
    /// Object instances now known.
    pub instances: u64,
    /// Length of its control log.
    pub log: LogIndex,
    /// Deletions and updates by federates that do not own what it takes, dropped: not 0 only if
    /// something else than this library takes part.
    pub refused: u64,
    /// Deletions and updates that came behind the deletion of their instance, dropped: their federates had not heard of
    /// it yet.
    pub behind_deletion: u64,
    /// Requests and data frames of an epoch before the present one, dropped.
    pub outdated: u64,
    /// What of the standard it has.
    pub services: Services,
    /// A save or a restore that has not ended, and up to 100 synchronization points.
    pub under_way: Vec<UnderWay>,
    /// Its joined federates.
    pub federates: Vec<FederateStatus>,
}

/// What a federation execution does as a whole and has not ended, in `starling ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// `save`, `restore` or `synchronization point`.
    pub what: String,
    /// Its label.
    pub label: String,
    /// How far it is, as a phrase.
    pub stage: String,
    /// Federates that have not done their part.
    pub waits_for: Vec<FederateHandle>,
    /// For how long, ms.
    pub since_ms: u64,
}

/// One joined federate in `starling ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederateStatus {
    /// What every member knows of it.
    pub federate: FederateInformation,
    /// Its process.
    pub peer: PeerInfo,
    /// What became of its data, as it has told last.
    pub counters: Counters,
    /// What it does, as it has told last.
    pub doing: Doing,
    /// That its process is stopped, or silent, in words; empty: it is neither.
    pub still: String,
    /// Its time.
    pub time: TimeStatus,
    /// How its data travels; who is not named there gets it by way of rtiexec.
    pub paths: Vec<Path>,
    /// How its best-effort data travels between it and rtiexec.
    pub best_effort: BestEffort,
    /// How its best-effort data travels to each of the others; nobody is named: to all.
    pub best_effort_paths: Vec<Path>,
}

/// How best-effort data travels between a joined federate and rtiexec, in `starling ps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BestEffort {
    /// By what, and why not by datagrams.
    pub by: String,
    /// Messages that it sent and that did not come to rtiexec, or too late.
    pub lost: u64,
    /// Messages for it that rtiexec dropped, because it takes what it gets too slowly.
    pub dropped: u64,
}

/// How data of a joined federate travels to some others, in `starling ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// By what, and why not by something faster.
    pub by: String,
    /// To whom; nobody is named: to all others.
    pub to: Vec<FederateHandle>,
}

/// The time of a joined federate, in `starling ps` and `starling top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeStatus {
    /// Its logical time.
    pub time: LogicalTime,
    /// Greatest available logical time; none: undefined.
    pub galt: Option<LogicalTime>,
    /// No message with that time stamp itself can come any more, only later ones.
    pub galt_passed: bool,
    /// Least incoming time stamp; none: undefined.
    pub lits: Option<LogicalTime>,
    /// Of one that regulates time.
    pub lookahead: Option<LogicalTimeInterval>,
    /// Whether it is time-constrained.
    pub constrained: bool,
    /// By this service it has asked for an advance, and waits.
    pub asked: Option<Advance>,
    /// It has asked for this time, and waits.
    pub advancing_to: Option<LogicalTime>,
    /// For how many milliseconds it has waited, or not waited.
    pub in_state_ms: u64,
    /// Messages in time-stamp order that wait for its advance.
    pub queued: u64,
    /// For whom it waits in the first place.
    pub waits_for: Option<FederateHandle>,
}

/// What a federation execution is at the moment of joining.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The joiner's handle.
    pub handle: FederateHandle,
    /// The joiner's name.
    pub name: String,
    /// The federation execution's name.
    pub federation: String,
    /// Logical time implementation.
    pub time_implementation: String,
    /// What of the standard there is.
    pub services: Services,
    /// The snapshot holds the log up to here.
    pub index: LogIndex,
    /// MIM, then FOM modules, in the order of merging.
    pub modules: Vec<ModuleSource>,
    /// Joined federates, with the numbers of their last requests in the log. The joiner is one.
    pub federates: Vec<(FederateInformation, RequestNumber)>,
    /// Who subscribes to what; shared by all who join before that changes.
    pub declarations: Arc<declaration::Snapshot<LogIndex>>,
}

/// What a federate is when its federation execution is restored.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// As if it had joined now, with the handle and the name of the save.
    pub snapshot: Snapshot,
    /// The part that it gave to the save.
    pub part: saved::Federate,
}

/// The request that brings a log entry about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The federate that made it.
    pub sender: FederateHandle,
    /// Its number.
    pub request: RequestNumber,
}

/// A log entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place in the log.
    pub index: LogIndex,
    /// None: the RTI itself makes the entry.
    pub cause: Option<Cause>,
    /// What it says.
    pub body: EntryBody,
}

/// What the log says, by room.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryBody {
    /// Nothing but the fences of a request: data sent before it comes before what follows.
    /// Audience: the fenced receivers. It stands before all else that the request brings about.
    Fenced,
    /// A new epoch begins: what was sent by who had not applied this entry is nothing any more.
    /// Audience: all.
    EpochBegan,
    /// Federation management.
    Federation(federation::Entry),
    /// Declaration management.
    Declaration(declaration::Entry),
    /// Object management.
    Object(object::Entry),
    /// Ownership management.
    Ownership(ownership::Entry),
    /// Data distribution management.
    Ddm(ddm::Entry),
    /// Management object model.
    Mom(mom::Entry),
}

holds! {
    EntryBody {
        Fenced,
        EpochBegan,
        Federation(entry),
        Declaration(entry),
        Object(entry),
        Ownership(entry),
        Ddm(entry),
        Mom(entry),
    }
}

/// A room's own messages in the envelopes of all.
macro_rules! envelopes {
    ($($room:ident $variant:ident),*) => {$(
        impl From<$room::Request> for RequestBody {
            fn from(request: $room::Request) -> Self {
                RequestBody::$variant(request)
            }
        }
        impl From<$room::Entry> for EntryBody {
            fn from(entry: $room::Entry) -> Self {
                EntryBody::$variant(entry)
            }
        }
    )*};
}
envelopes!(
    federation Federation,
    declaration Declaration,
    object Object,
    ownership Ownership,
    ddm Ddm,
    mom Mom
);

/// Covers log entries that do not concern the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// The last one.
    pub index: LogIndex,
    /// For each federate whose requests moved on: the last one now in the log.
    pub requests: Vec<(FederateHandle, RequestNumber)>,
}
