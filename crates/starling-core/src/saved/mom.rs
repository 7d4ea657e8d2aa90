//! Management object model, chapter 11. The RTI's instances are saved with all others.

use crate::FederateHandle;
use crate::message::mom::{Counts, Switches};
pub use crate::mom::counts::Counted;
pub use crate::mom::execution::Waiting;
use std::collections::BTreeMap;

/// At the executive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The Auto-Provide Switch, once it was set.
    pub auto_provide: Option<bool>,
    /// The joined federates.
    pub federates: BTreeMap<FederateHandle, Managed>,
}

/// A joined federate, to the MOM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// Its FOM modules, by their places among those of the federation execution.
    pub modules: Vec<u32>,
    /// Whether asynchronous delivery is enabled.
    pub asynchronous: bool,
    /// Its switches.
    pub switches: Switches,
    /// Its service invocations that were reported.
    pub reports: u64,
    /// Seconds between periodic updates.
    pub period_s: Option<u64>,
    /// What waits for its counts, in the order of asking: of each kind one. It is asked for them again, as its
    /// answers may have been on their way.
    pub waiting: Vec<Waiting>,
    /// What came to be asked while one of its kind was waiting: of each kind one.
    pub again: Vec<Waiting>,
}

/// At a joined federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Federate {
    /// Its switches.
    pub switches: Switches,
    /// What it has counted.
    pub counts: Counts,
}
