//! Ownership management.

use starling_core::saved::ownership::{
    Asked, Candidate, Execution, Federate, OwnTransfer, Transfer, TransferState,
};

fields! {
    Execution { transfers }
    Transfer { divesting, asked, tag, candidates, offered }
    Candidate { federate, if_available, tag, release_at }
    Federate { transfers, acquisitions, release_seen, asked, decided }
    OwnTransfer { state, request }
    Asked { how, instance, attributes }
}

variants! {
    TransferState "state of an ownership transfer" {
        0 Divesting, 1 WillingToAcquire, 2 AcquisitionPending, 3 TryingToCancel,
    }
}
