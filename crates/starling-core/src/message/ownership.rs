//! Ownership management, chapter 7.

use super::LogIndex;
use crate::{AttributeHandle, Divestiture, ObjectInstanceHandle, Owner, OwnershipNotice};

messages! {
    ($) ownership_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of ownership management" {
        /// The owner gives attributes away, §7.2, §7.3, §7.6, §7.13.
        1 DivestOwnership {
            /// By which service.
            how: Divestiture,
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes to give away; the sender owns them.
            attributes: Vec<AttributeHandle>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Attribute Ownership Acquisition (If Available), §7.8, §7.9.
        2 AcquireOwnership {
            /// Only what is unowned or being divested.
            if_available: bool,
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes wanted; the sender does not own them.
            attributes: Vec<AttributeHandle>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Attribute Ownership Release Denied, §7.12.
        3 DenyOwnershipRelease {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes that the sender keeps.
            attributes: Vec<AttributeHandle>,
            /// Log index of the last request for release that the owner was told of.
            seen: LogIndex,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Cancel Negotiated Attribute Ownership Divestiture, §7.14.
        4 CancelOwnershipDivestiture {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes that the sender no longer offers.
            attributes: Vec<AttributeHandle>,
        },
        /// Cancel Attribute Ownership Acquisition, §7.15.
        5 CancelOwnershipAcquisition {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes that the sender no longer wants.
            attributes: Vec<AttributeHandle>,
        },
        /// Query Attribute Ownership, §7.17.
        6 QueryOwnership {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes whose owners are asked for.
            attributes: Vec<AttributeHandle>,
        },
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of ownership management" {
        /// Something about the ownership of attributes. Audience: whom it concerns.
        1 Ownership {
            /// What has happened to them.
            notice: OwnershipNotice,
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes concerned.
            attributes: Vec<AttributeHandle>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// What became of Confirm Divestiture or Attribute Ownership Divestiture If Wanted. Audience:
        /// who asked.
        2 Divested {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes that are another federate's now.
            attributes: Vec<AttributeHandle>,
            /// Nobody wants these.
            unwanted: Vec<AttributeHandle>,
        },
        /// Answer to Query Attribute Ownership. Audience: who asked.
        3 OwnershipReport {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// Each with its owner; none if it is unowned.
            owners: Vec<(AttributeHandle, Option<Owner>)>,
        },
    }
}
