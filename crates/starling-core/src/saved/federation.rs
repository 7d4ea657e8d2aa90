//! Federation management, chapter 4.

use crate::FederateHandle;
use crate::message::{FederateInformation, ModuleSource, ResignAction};
use std::collections::{BTreeMap, BTreeSet};

/// At the executive.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The federation execution's name.
    pub name: String,
    /// MIM, then FOM modules, in the order of merging.
    pub modules: Vec<ModuleSource>,
    /// The joined federates.
    pub members: BTreeMap<FederateHandle, Member>,
    /// The highest federate handle that was ever given.
    pub last_federate: u32,
    /// Registered and not achieved yet, by label.
    pub synchronization_points: BTreeMap<String, SynchronizationPoint>,
}

/// A joined federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its automatic resign directive.
    pub resign_directive: ResignAction,
}

/// A registered synchronization point that is not achieved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynchronizationPoint {
    /// Who has registered it.
    pub registrar: FederateHandle,
    /// User-supplied tag.
    pub tag: Vec<u8>,
    /// Also for who joins until it is achieved.
    pub for_all: bool,
    /// Who has not achieved it.
    pub waiting: BTreeSet<FederateHandle>,
    /// Who has achieved it, and whether successfully.
    pub achieved: BTreeMap<FederateHandle, bool>,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct Federate {
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name.
    pub name: String,
    /// The federation execution's name.
    pub federation: String,
    /// The joined federates, ascending.
    pub members: Vec<FederateInformation>,
    /// Synchronization points announced to the federate and not yet achieved by it.
    pub announced: BTreeSet<String>,
    /// The automatic resign directive.
    pub resign_directive: ResignAction,
    /// Its resignation has been applied.
    pub resigned: bool,
}
