//! Federation management, chapter 4.

use crate::{FederateHandle, SynchronizationPointFailure};
use std::sync::Arc;

messages! {
    ($) federation_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of federation management" {
        /// Register Federation Synchronization Point, §4.11.
        1 RegisterSynchronizationPoint {
            /// Its label.
            label: String,
            /// User-supplied tag.
            tag: Vec<u8>,
            /// Who is to achieve it; none: all.
            set: Vec<FederateHandle>,
        },
        /// Synchronization Point Achieved, §4.14.
        2 AchieveSynchronizationPoint {
            /// The synchronization point's label.
            label: String,
            /// False if the federate has failed to achieve it.
            successfully: bool,
        },
        /// Set Automatic Resign Directive, §10.3.
        3 SetResignDirective(action: ResignAction),
        /// Resign Federation Execution, §4.10.
        4 Resign(action: ResignAction),
        /// Save and restore, §4.16 to §4.32.
        5 Save(request: super::save::Request),
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of federation management" {
        /// A federate joined, bringing modules. Audience: all.
        1 FederateJoined {
            /// The new member.
            federate: FederateInformation,
            /// FOM modules that it added to the FDD.
            modules: Vec<ModuleSource>,
        },
        /// A federate is no longer a member. Audience: all, itself too.
        2 FederateResigned {
            /// The former member.
            federate: FederateHandle,
            /// Why, if it did not resign of itself.
            fault: Option<String>,
        },
        /// A synchronization point is registered, or not. Audience: who asked.
        3 SynchronizationPointRegistered {
            /// The synchronization point's label.
            label: String,
            /// Why not.
            failure: Option<SynchronizationPointFailure>,
        },
        /// A synchronization point is to be achieved. Audience: who is to.
        4 SynchronizationPointAnnounced {
            /// The synchronization point's label.
            label: String,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// All have achieved a synchronization point. Audience: who has.
        5 FederationSynchronized {
            /// The synchronization point's label.
            label: String,
            /// Those who did so unsuccessfully.
            failed: Vec<FederateHandle>,
        },
        /// Save and restore, §4.16 to §4.32.
        6 Save(entry: super::save::Entry),
    }
}

/// A FOM module or MIM as it was read: the name it was asked for by, and its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleSource {
    /// File name or URL as the federate gave it.
    pub designator: String,
    /// The XML. Empty together with the designator `HLAstandardMIM`: the built-in MIM.
    pub text: Arc<[u8]>,
}

/// What happens to a federate's instances and attributes when it resigns (§4.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum ResignAction {
    UnconditionallyDivestAttributes = 0,
    DeleteObjects = 1,
    CancelPendingOwnershipAcquisitions = 2,
    DeleteObjectsThenDivest = 3,
    CancelThenDeleteThenDivest = 4,
    NoAction = 5,
}

impl ResignAction {
    /// From the C++ API's number.
    pub fn from_number(n: u32) -> Option<Self> {
        use ResignAction::*;
        [
            UnconditionallyDivestAttributes,
            DeleteObjects,
            CancelPendingOwnershipAcquisitions,
            DeleteObjectsThenDivest,
            CancelThenDeleteThenDivest,
            NoAction,
        ]
        .get(usize::try_from(n).ok()?)
        .copied()
    }

    /// Whether instances for which the federate holds the privilege to delete are deleted.
    pub fn deletes(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            DeleteObjects | DeleteObjectsThenDivest | CancelThenDeleteThenDivest
        )
    }

    /// Whether pending ownership acquisitions are cancelled.
    pub fn cancels(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            CancelPendingOwnershipAcquisitions | CancelThenDeleteThenDivest
        )
    }

    /// Whether owned attributes (that are left) are divested.
    pub fn divests(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            UnconditionallyDivestAttributes | DeleteObjectsThenDivest | CancelThenDeleteThenDivest
        )
    }
}

/// A joined federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederateInformation {
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
}
