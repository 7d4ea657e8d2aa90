//! Save and restore, 1516.1-2010 §4.16 to §4.32. Which save or restore is meant is said by the
//! place in the log where it began: what a federate says of one that has ended is nothing to the
//! next.

use super::LogIndex;
use crate::{FederateHandle, LogicalTime, RestoreFailure, RestoreState, SaveFailure, SaveStatus};

messages! {
    ($) save_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of save and restore" {
        /// Request Federation Save, §4.16.
        1 Save {
            /// Its label.
            label: String,
            /// When; none: at once.
            time: Option<LogicalTime>,
        },
        /// Federate Save Begun, §4.18.
        2 SaveBegun {
            /// Where the save began.
            save: LogIndex,
        },
        /// Federate Save Complete, §4.19; false: Not Complete.
        3 SaveEnded {
            /// Where the save began.
            save: LogIndex,
            /// Complete.
            successfully: bool,
        },
        /// Abort Federation Save, §4.21.
        4 AbortSave {
            /// Where the save began.
            save: LogIndex,
        },
        /// Query Federation Save Status, §4.22.
        5 QuerySave,
        /// Request Federation Restore, §4.24.
        6 Restore {
            /// The label of a save.
            label: String,
        },
        /// The federate has been told that its request for a restore has succeeded, or that a restore
        /// begins: it sends nothing more of what is now.
        7 Prepared {
            /// Where the restore began.
            restore: LogIndex,
        },
        /// Federate Restore Complete, §4.28; false: Not Complete.
        8 RestoreEnded {
            /// Where the restore began.
            restore: LogIndex,
            /// Complete.
            successfully: bool,
        },
        /// Abort Federation Restore, §4.30.
        9 AbortRestore {
            /// Where the restore began.
            restore: LogIndex,
        },
        /// Query Federation Restore Status, §4.31.
        10 QueryRestore,
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of save and restore" {
        /// Initiate Federate Save, §4.17. Audience: who is to save.
        1 InitiateSave {
            /// Its label.
            label: String,
            /// The time asked for: messages up to it are to be delivered before.
            time: Option<LogicalTime>,
            /// Where the save began.
            save: LogIndex,
        },
        /// All have saved: each sends its part, as it is here. Audience: all.
        2 TakePart,
        /// Federation Saved, §4.20, or Not Saved. Audience: all, or who asked for what can't be.
        3 SaveEnded {
            /// Why not.
            failure: Option<SaveFailure>,
            /// Who asked for what is not saved, if it is still joined.
            asked: Option<FederateHandle>,
            /// What came in the way, by whose doing, as a sentence; nothing: it is saved.
            why: String,
        },
        /// Federation Save Status Response, §4.23. Audience: who asked.
        4 SaveStatus(list: Vec<(FederateHandle, SaveStatus)>),
        /// Confirm Federation Restoration Request, §4.25. Audience: who asked.
        5 RestoreRequested {
            /// The label asked for.
            label: String,
            /// Why it can't be, as a sentence; none: it can.
            failure: Option<String>,
            /// Where the restore began, if it can be.
            restore: LogIndex,
        },
        /// Federation Restore Begun, §4.26. Audience: all.
        6 RestoreBegun {
            /// Where the restore began.
            restore: LogIndex,
        },
        /// Initiate Federate Restore, §4.27. Audience: the federate.
        7 InitiateRestore {
            /// The label of the save.
            label: String,
            /// The federate's name from the restore on.
            name: String,
            /// Its handle from the restore on.
            federate: FederateHandle,
        },
        /// Federation Not Restored, §4.29. Audience: all, or who asked. That it is restored is no entry: what each
        /// federate gets then begins its log again.
        8 NotRestored(reason: RestoreFailure),
        /// Federation Restore Status Response, §4.32. Audience: who asked.
        9 RestoreStatus(list: Vec<RestoreState>),
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
