//! Ownership management.

use starling_core::message::ownership::{Entry, Request};
use starling_core::{Divestiture, OwnershipNotice};

variants! {
    Divestiture "divestiture" { 0 Unconditional, 1 Negotiated, 2 Confirmed, 3 IfWanted }
    OwnershipNotice "notice of ownership" {
        0 Acquired, 1 Unavailable, 2 AcquisitionCancelled, 3 ConfirmationRequested,
        4 ReleaseRequested, 5 AssumptionRequested,
    }
}

starling_core::ownership_messages!(variants);
