//! Enumerators by the names that the C++ and Java APIs of 1516.1-2010 give them.

use crate::message::ResignAction;
use crate::{
    RestoreFailure, RestoreStatus, SaveFailure, SaveStatus, ServiceGroup,
    SynchronizationPointFailure,
};

macro_rules! named {
    ($($type:ty { $($variant:ident $name:literal)* })*) => {$(
        impl $type {
            /// Its name in the C++ and Java APIs.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    )*};
}

named! {
    ResignAction {
        UnconditionallyDivestAttributes "UNCONDITIONALLY_DIVEST_ATTRIBUTES"
        DeleteObjects "DELETE_OBJECTS"
        CancelPendingOwnershipAcquisitions "CANCEL_PENDING_OWNERSHIP_ACQUISITIONS"
        DeleteObjectsThenDivest "DELETE_OBJECTS_THEN_DIVEST"
        CancelThenDeleteThenDivest "CANCEL_THEN_DELETE_THEN_DIVEST"
        NoAction "NO_ACTION"
    }
    ServiceGroup {
        FederationManagement "FEDERATION_MANAGEMENT"
        DeclarationManagement "DECLARATION_MANAGEMENT"
        ObjectManagement "OBJECT_MANAGEMENT"
        OwnershipManagement "OWNERSHIP_MANAGEMENT"
        TimeManagement "TIME_MANAGEMENT"
        DataDistributionManagement "DATA_DISTRIBUTION_MANAGEMENT"
        SupportServices "SUPPORT_SERVICES"
    }
    SynchronizationPointFailure {
        LabelNotUnique "SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE"
        SetMemberNotJoined "SYNCHRONIZATION_SET_MEMBER_NOT_JOINED"
    }
    SaveFailure {
        RtiUnableToSave "RTI_UNABLE_TO_SAVE"
        FederateReportedFailureDuringSave "FEDERATE_REPORTED_FAILURE_DURING_SAVE"
        FederateResignedDuringSave "FEDERATE_RESIGNED_DURING_SAVE"
        RtiDetectedFailureDuringSave "RTI_DETECTED_FAILURE_DURING_SAVE"
        SaveTimeCannotBeHonored "SAVE_TIME_CANNOT_BE_HONORED"
        SaveAborted "SAVE_ABORTED"
    }
    SaveStatus {
        NoSaveInProgress "NO_SAVE_IN_PROGRESS"
        FederateInstructedToSave "FEDERATE_INSTRUCTED_TO_SAVE"
        FederateSaving "FEDERATE_SAVING"
        FederateWaitingForFederationToSave "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE"
    }
    RestoreFailure {
        RtiUnableToRestore "RTI_UNABLE_TO_RESTORE"
        FederateReportedFailureDuringRestore "FEDERATE_REPORTED_FAILURE_DURING_RESTORE"
        FederateResignedDuringRestore "FEDERATE_RESIGNED_DURING_RESTORE"
        RtiDetectedFailureDuringRestore "RTI_DETECTED_FAILURE_DURING_RESTORE"
        RestoreAborted "RESTORE_ABORTED"
    }
    RestoreStatus {
        NoRestoreInProgress "NO_RESTORE_IN_PROGRESS"
        FederateRestoreRequestPending "FEDERATE_RESTORE_REQUEST_PENDING"
        FederateWaitingForRestoreToBegin "FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN"
        FederatePreparedToRestore "FEDERATE_PREPARED_TO_RESTORE"
        FederateRestoring "FEDERATE_RESTORING"
        FederateWaitingForFederationToRestore "FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE"
    }
}
