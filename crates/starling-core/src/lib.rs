//! The HLA services as pure state machines.
//!
//! [`Lrc`] is a federate's life from connecting to its end and the one door for its services;
//! [`Federate`] is what it knows while it is joined; [`Executive`] holds what every federation
//! execution knows. They take messages and service calls in and give messages and callbacks out;
//! none opens a socket or file, reads a clock, starts a thread or draws a random number.
//! The rooms (`federation`, `declaration`, `object`, `ownership`, `time`, `ddm`, `support`, `mom`) follow the
//! chapters of IEEE 1516.1. `log` and `delivery` hold no rule of a chapter: what a room lets wait or
//! puts into the log is the room's own type, and the order in which it comes is theirs.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod callback;
mod conflation;
mod content;
mod counters;
mod ddm;
mod declaration;
mod delivery;
mod enumerators;
mod exception;
mod execution;
mod executive;
mod federate;
mod federation;
mod generated;
mod grouping;
mod handles;
mod held;
mod kept;
mod log;
mod lrc;
pub mod message;
mod mom;
mod object;
mod ownership;
pub mod saved;
mod support;
mod switches;
mod time;
mod traffic;
mod values;
mod why;

pub use callback::{Callback, MessageTime, PlainCallback};
pub use conflation::Conflated;
pub use content::Batch;
pub use counters::Counters;
pub use ddm::address::{Address, AddressBuf, InvalidAddress};
pub use exception::{Exception, NAME_BYTES_MAX, ProtocolError};
pub use executive::{BY_FORWARDER, Executive};
pub use federate::{DataOut, Federate, PlainOut};
pub use federation::modules::{MergedModules, ModuleMerge};
pub use federation::{
    Archive, Archived, RestoreFailure, RestoreState, RestoreStatus, SaveFailure, SaveStatus,
    SavedFederation, SynchronizationPointFailure,
};
pub use generated::exception_kind::ExceptionKind;
pub use generated::service::Service;
pub use grouping::Grouped;
pub use handles::{
    FederateHandle, MessageRetractionHandle, ObjectInstanceHandle, Owner, PeerId, RegionHandle,
};
pub use log::federate::{DataPath, Output};
pub use lrc::{Answer, Lrc, Outbox, Preconditions, RESTS_FOR, require_designators};
pub use object::advisories::InstanceSwitches;
pub use ownership::{Divestiture, OwnershipNotice};
pub use starling_fom::{
    AttributeHandle, Check, DimensionHandle, FomError, InteractionClassHandle, MODULE_BYTES_MAX,
    ObjectClassHandle, ObjectModel, Order, ParameterHandle, Transportation,
};
pub use support::ServiceGroup;
pub use switches::Services;
pub use time::federate::Bounds;
pub use time::galt::Advance;
pub use time::value::{LogicalTime, LogicalTimeInterval, TimeType};
pub use time::why::LongWait;
pub use values::{AnyListed, Given, InvalidValues, Listed, Put, Run, Values, ValuesBuf, ValuesOut};
pub use why::Why;
