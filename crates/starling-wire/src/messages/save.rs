//! Save and restore.

use starling_core::message::save::{Entry, Request};
use starling_core::{RestoreFailure, RestoreState, RestoreStatus, SaveFailure, SaveStatus};

fields! {
    RestoreState { before, after, status }
}

variants! {
    SaveFailure "failure of a save" {
        0 RtiUnableToSave,
        1 FederateReportedFailureDuringSave,
        2 FederateResignedDuringSave,
        3 RtiDetectedFailureDuringSave,
        4 SaveTimeCannotBeHonored,
        5 SaveAborted,
    }
    SaveStatus "status of a save" {
        0 NoSaveInProgress,
        1 FederateInstructedToSave,
        2 FederateSaving,
        3 FederateWaitingForFederationToSave,
    }
    RestoreFailure "failure of a restore" {
        0 RtiUnableToRestore,
        1 FederateReportedFailureDuringRestore,
        2 FederateResignedDuringRestore,
        3 RtiDetectedFailureDuringRestore,
        4 RestoreAborted,
    }
    RestoreStatus "status of a restore" {
        0 NoRestoreInProgress,
        1 FederateRestoreRequestPending,
        2 FederateWaitingForRestoreToBegin,
        3 FederatePreparedToRestore,
        4 FederateRestoring,
        5 FederateWaitingForFederationToRestore,
    }
    Request "request of save and restore" {
        1 Save { label, time },
        2 SaveBegun { save },
        3 SaveEnded { save, successfully },
        4 AbortSave { save },
        5 QuerySave,
        6 Restore { label },
        7 Prepared { restore },
        8 RestoreEnded { restore, successfully },
        9 AbortRestore { restore },
        10 QueryRestore,
    }
    Entry "entry of save and restore" {
        1 InitiateSave { label, time, save },
        2 TakePart,
        3 SaveEnded { failure },
        4 SaveStatus(list),
        5 RestoreRequested { label, failure, restore },
        6 RestoreBegun { restore },
        7 InitiateRestore { label, name, federate },
        8 NotRestored(reason),
        9 RestoreStatus(list),
    }
}
