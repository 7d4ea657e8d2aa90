//! Ownership management.

use starling_core::message::ownership::{Entry, Request};
use starling_core::{Divestiture, OwnershipNotice};

variants! {
    Divestiture "divestiture" { 0 Unconditional, 1 Negotiated, 2 Confirmed, 3 IfWanted }
    OwnershipNotice "notice of ownership" {
        0 Acquired, 1 Unavailable, 2 AcquisitionCancelled, 3 ConfirmationRequested,
        4 ReleaseRequested, 5 AssumptionRequested,
    }
    Request "request of ownership management" {
        1 DivestOwnership { how, instance, attributes, tag },
        2 AcquireOwnership { if_available, instance, attributes, tag },
        3 DenyOwnershipRelease { instance, attributes, seen, tag },
        4 CancelOwnershipDivestiture { instance, attributes },
        5 CancelOwnershipAcquisition { instance, attributes },
        6 QueryOwnership { instance, attributes },
    }
    Entry "entry of ownership management" {
        1 Ownership { notice, instance, attributes, tag },
        2 Divested { instance, attributes, unwanted },
        3 OwnershipReport { instance, owners },
    }
}
