//! What is saved of a federation execution: plain data that says all that the executive and each
//! federate know, by room. What is derived from it (routes, indexes, sums) is not in it; a
//! room's `restore` makes that again. All lists are sorted where their order has no meaning, so
//! that equal states are saved alike.
//!
//! Not saved, because it belongs to the process or the connection and not to the federation
//! execution: connections and what is under way on them, limits, counters of dropped frames.

pub mod ddm;
pub mod declaration;
pub mod delivery;
pub mod federation;
pub mod log;
pub mod mom;
pub mod object;
pub mod ownership;
pub mod time;

use crate::Services;

/// What the executive knows of a federation execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Federation management.
    pub federation: federation::Execution,
    /// Declaration management.
    pub declaration: declaration::Execution,
    /// Object management.
    pub object: object::Execution,
    /// Ownership management.
    pub ownership: ownership::Execution,
    /// Data distribution management.
    pub ddm: ddm::Execution,
    /// Time management.
    pub time: time::Execution,
    /// Management object model.
    pub mom: mom::Execution,
    /// What of the standard it has.
    pub services: Services,
    /// The control log.
    pub log: log::Execution,
}

/// What a joined federate knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// Federation management.
    pub federation: federation::Federate,
    /// Declaration management.
    pub declaration: declaration::Federate,
    /// Object management.
    pub object: object::Federate,
    /// Ownership management.
    pub ownership: ownership::Federate,
    /// Data distribution management.
    pub ddm: ddm::Federate,
    /// Time management.
    pub time: time::Federate,
    /// Management object model.
    pub mom: mom::Federate,
    /// The log as it has come here.
    pub log: log::Federate,
    /// What waits for the federate.
    pub delivery: delivery::Federate,
}
