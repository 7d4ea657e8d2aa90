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
}

starling_core::save_messages!(variants);
