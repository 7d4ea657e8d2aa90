//! Data distribution management, chapter 9.
//!
//! A region is created as a template, becomes a specification when it is committed, and a
//! realization where it is used: associated with an instance attribute for updates, subscribed
//! with, or sent with. A dimension that a realization leaves out has its default range there, as the
//! FDD says (1516.2-2010 §4.7); one that the FDD excludes does not count. What is not used with a
//! region has the default region, which overlaps every region.
//!
//! Invariants:
//! - the executive is told of a region's committed ranges before it is first used there;
//! - subscription regions are in the log for all, association regions for the executive alone,
//!   which computes discovery and scope from both (see `docs/decisions/ddm.md`);
//! - what is sent with regions names its receivers, as its sender's applied view has them, and
//!   the regions; its receiver checks these again against its own subscriptions;
//! - an association stays with the federate that made it and is in effect while that federate
//!   owns the instance attribute.

pub(crate) mod address;
pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod index;
pub(crate) mod receive;
pub(crate) mod routes;
mod saved;
pub(crate) mod subscriptions;
pub(crate) mod updates;

use crate::DimensionHandle;
use crate::message::Range;
use starling_fom::ObjectModel;

/// The ranges of dimensions that a region leaves out, 1516.2-2010 §4.7.
#[derive(Clone, Copy)]
pub(crate) struct Defaults<'a> {
    model: &'a ObjectModel,
    /// Of a sent interaction: the available dimensions of the sent and of the subscribed class.
    /// What is not available for both does not count.
    classes: Option<[&'a [DimensionHandle]; 2]>,
}

impl<'a> Defaults<'a> {
    /// Between regions for the same attribute.
    pub(crate) fn of(model: &'a ObjectModel) -> Self {
        Self {
            model,
            classes: None,
        }
    }

    /// Between a region that an interaction of one class is sent with and one that another class,
    /// the same or a superclass, is subscribed with.
    pub(crate) fn between(
        model: &'a ObjectModel,
        sent: &'a [DimensionHandle],
        subscribed: &'a [DimensionHandle],
    ) -> Self {
        Self {
            model,
            classes: Some([sent, subscribed]),
        }
    }

    /// None: the dimension is excluded, and does not count where it is left out.
    fn range(&self, dimension: DimensionHandle) -> Option<Range> {
        let counts = |classes: &[&[DimensionHandle]; 2]| {
            classes.iter().all(|class| class.contains(&dimension))
        };
        if !self.classes.as_ref().is_none_or(counts) {
            return None;
        }
        let (lower, upper) = self.model.dimension(dimension)?.default_range?;
        Some(Range {
            dimension,
            lower,
            upper,
        })
    }
}

/// Whether two regions overlap: in each dimension that one of them specifies, the other having the
/// default range where it does not. Both are sorted by dimension.
pub(crate) fn overlap(a: &[Range], b: &[Range], defaults: Defaults<'_>) -> bool {
    let meet = |x: &Range, y: &Range| x.lower < y.upper && y.lower < x.upper;
    let meets_default = |x: &Range| defaults.range(x.dimension).is_none_or(|d| meet(x, &d));
    let (mut i, mut j) = (0, 0);
    loop {
        let holds = match (a.get(i), b.get(j)) {
            (None, None) => return true,
            (Some(x), Some(y)) if x.dimension == y.dimension => {
                (i, j) = (i + 1, j + 1);
                meet(x, y)
            }
            (Some(x), Some(y)) if y.dimension < x.dimension => {
                j += 1;
                meets_default(y)
            }
            (Some(x), _) => {
                i += 1;
                meets_default(x)
            }
            (None, Some(y)) => {
                j += 1;
                meets_default(y)
            }
        };
        if !holds {
            return false;
        }
    }
}
