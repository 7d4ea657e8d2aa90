//! Data distribution management, chapter 9.
//!
//! A region is created as a template, becomes a specification when it is committed, and a
//! realization where it is used: associated with an instance attribute for updates, subscribed
//! with, or sent with. A dimension that a realization does not specify has its default range,
//! all of it; so two regions overlap if they do in each dimension that both specify, and the
//! default region (no dimension specified) overlaps every region.
//!
//! Invariants:
//! - the executive is told of a region's committed ranges before it is first used there;
//! - subscription regions are in the log for all, association regions for the executive alone,
//!   which computes discovery and scope from both (see `docs/decisions/ddm.md`);
//! - what is sent with regions names its receivers, as its sender's applied view has them, and
//!   the regions; its receiver checks these again against its own subscriptions;
//! - an association stays with the federate that made it and is in effect while that federate
//!   owns the instance attribute.

pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod index;
pub(crate) mod receive;
pub(crate) mod routes;
pub(crate) mod sent;
pub(crate) mod subscriptions;
pub(crate) mod updates;

use crate::message::Range;

/// Whether two regions overlap: in each dimension that both specify. Both are sorted by
/// dimension.
pub(crate) fn overlap(a: &[Range], b: &[Range]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.dimension.cmp(&y.dimension) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                if x.lower >= y.upper || y.lower >= x.upper {
                    return false;
                }
                i += 1;
                j += 1;
            }
        }
    }
    true
}
