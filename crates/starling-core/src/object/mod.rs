//! Object management, chapter 6, in receive order.
//!
//! Invariants:
//! - an instance belongs to its registrar's block of handles; handles and default names are
//!   never reused;
//! - a federate is told of an instance (Discover) only while one of its attributes is owned by
//!   another federate and subscribed at the receiver's candidate class (§6.1);
//! - a federate reflects an instance only between its delivered discovery and its removal;
//! - a federate never gets what it sent itself;
//! - a value of an attribute that is not subscribed at the known class, and a parameter that the
//!   received class lacks, never reach the federate.

pub(crate) mod advisories;
mod execution;
pub(crate) mod federate;
pub(crate) mod known;
pub(crate) mod receive;
pub(crate) mod registered;
mod saved;
pub(crate) mod send;
mod transportation;
mod wanted;

use starling_fom::{AttributeHandle, ObjectModel};

pub(crate) const PRIVILEGE_TO_DELETE: &str = "HLAprivilegeToDeleteObject";

/// The attribute whose owner may delete the instance.
pub(crate) fn privilege_to_delete(model: &ObjectModel) -> Option<AttributeHandle> {
    let root = model.object_classes().next()?;
    model.attribute_by_name(root.handle, PRIVILEGE_TO_DELETE)
}
