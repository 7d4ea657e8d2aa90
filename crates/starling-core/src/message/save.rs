//! Save and restore, 1516.1-2010 §4.16 to §4.32. Which save or restore is meant is said by the
//! place in the log where it began: what a federate says of one that has ended is nothing to the
//! next.

use super::LogIndex;
use crate::held::holds;
use crate::{FederateHandle, LogicalTime, RestoreFailure, RestoreState, SaveFailure, SaveStatus};

/// What a joined federate asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Request Federation Save, §4.16.
    Save {
        /// Its label.
        label: String,
        /// When; none: at once.
        time: Option<LogicalTime>,
    },
    /// Federate Save Begun, §4.18.
    SaveBegun {
        /// Where the save began.
        save: LogIndex,
    },
    /// Federate Save Complete, §4.19; false: Not Complete.
    SaveEnded {
        /// Where the save began.
        save: LogIndex,
        /// Complete.
        successfully: bool,
    },
    /// Abort Federation Save, §4.21.
    AbortSave {
        /// Where the save began.
        save: LogIndex,
    },
    /// Query Federation Save Status, §4.22.
    QuerySave,
    /// Request Federation Restore, §4.24.
    Restore {
        /// The label of a save.
        label: String,
    },
    /// The federate has been told that its request for a restore has succeeded, or that a restore
    /// begins: it sends nothing more of what is now.
    Prepared {
        /// Where the restore began.
        restore: LogIndex,
    },
    /// Federate Restore Complete, §4.28; false: Not Complete.
    RestoreEnded {
        /// Where the restore began.
        restore: LogIndex,
        /// Complete.
        successfully: bool,
    },
    /// Abort Federation Restore, §4.30.
    AbortRestore {
        /// Where the restore began.
        restore: LogIndex,
    },
    /// Query Federation Restore Status, §4.31.
    QueryRestore,
}

/// What the log says.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Initiate Federate Save, §4.17. Audience: who is to save.
    InitiateSave {
        /// Its label.
        label: String,
        /// The time asked for: messages up to it are to be delivered before.
        time: Option<LogicalTime>,
        /// Where the save began.
        save: LogIndex,
    },
    /// All have saved: each sends its part, as it is here. Audience: all.
    TakePart,
    /// Federation Saved, §4.20, or Not Saved. Audience: all, or who asked for what can't be.
    SaveEnded {
        /// Why not.
        failure: Option<SaveFailure>,
    },
    /// Federation Save Status Response, §4.23. Audience: who asked.
    SaveStatus(Vec<(FederateHandle, SaveStatus)>),
    /// Confirm Federation Restoration Request, §4.25. Audience: who asked.
    RestoreRequested {
        /// The label asked for.
        label: String,
        /// Why it can't be, as a sentence; none: it can.
        failure: Option<String>,
        /// Where the restore began, if it can be.
        restore: LogIndex,
    },
    /// Federation Restore Begun, §4.26. Audience: all.
    RestoreBegun {
        /// Where the restore began.
        restore: LogIndex,
    },
    /// Initiate Federate Restore, §4.27. Audience: the federate.
    InitiateRestore {
        /// The label of the save.
        label: String,
        /// The federate's name from the restore on.
        name: String,
        /// Its handle from the restore on.
        federate: FederateHandle,
    },
    /// Federation Not Restored, §4.29. Audience: all. That it is restored is no entry: what each
    /// federate gets then begins its log again.
    NotRestored(RestoreFailure),
    /// Federation Restore Status Response, §4.32. Audience: who asked.
    RestoreStatus(Vec<RestoreState>),
}

holds! {
    Entry {
        InitiateSave { label, time, save },
        TakePart,
        SaveEnded { failure },
        SaveStatus(list),
        RestoreRequested { label, failure, restore },
        RestoreBegun { restore },
        InitiateRestore { label, name, federate },
        NotRestored(failure),
        RestoreStatus(list)
    }
}

// They are a part of federation management.
impl From<Request> for super::RequestBody {
    fn from(request: Request) -> Self {
        super::RequestBody::Federation(super::federation::Request::Save(request))
    }
}

impl From<Entry> for super::EntryBody {
    fn from(entry: Entry) -> Self {
        super::EntryBody::Federation(super::federation::Entry::Save(entry))
    }
}
