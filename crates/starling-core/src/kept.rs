//! How much the executive keeps of what one member has made.
//!
//! Each room counts what it keeps, in bytes, about; [`Execution::require_room`] judges it before
//! anything is changed. What federates leave that have resigned is counted together: beyond the bound
//! nobody joins ([`Execution::require_room_left`]).

use crate::exception::throw;
use crate::execution::Execution;
use crate::{Exception, FederateHandle, ProtocolError};
use std::collections::BTreeMap;

/// About what an entry in the executive's tables takes besides what is in it, in bytes.
pub(crate) const ENTRY_BYTES: usize = 64;

/// Bytes kept, about, by who has made what is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    by: BTreeMap<FederateHandle, usize>,
    /// Of those that have resigned.
    left: usize,
}

impl Kept {
    /// What is kept for a federate.
    pub(crate) fn of(&self, federate: FederateHandle) -> usize {
        self.by.get(&federate).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, federate: FederateHandle, bytes: usize) {
        *self.by.entry(federate).or_default() += bytes;
    }

    /// What was added is kept no more. Of a federate that is not there it was left.
    pub(crate) fn take(&mut self, federate: FederateHandle, bytes: usize) {
        if let Some(kept) = self.by.get_mut(&federate) {
            *kept = kept.saturating_sub(bytes);
            if *kept == 0 {
                self.by.remove(&federate);
            }
        } else {
            self.left = self.left.saturating_sub(bytes);
        }
    }

    /// A federate is gone, and what is kept for it.
    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        self.by.remove(&federate);
    }

    /// A federate is gone, but what is kept for it stays.
    pub(crate) fn leave(&mut self, federate: FederateHandle) {
        self.left += self.by.remove(&federate).unwrap_or_default();
    }

    /// Adds what a federate that is gone has left.
    pub(crate) fn add_left(&mut self, bytes: usize) {
        self.left += bytes;
    }

    /// What is kept of federates that are gone.
    pub(crate) fn left(&self) -> usize {
        self.left
    }
}

impl Execution {
    /// RTIinternalError for whoever would join, if those that have resigned have left more than one
    /// joined federate may make: whoever joins again and again could leave any amount.
    pub(crate) fn require_room_left(&self) -> Result<(), Exception> {
        let left = [
            ("object instances", self.objects.left()),
            ("synchronization points", self.federation.points_left()),
        ];
        for (what, bytes) in left {
            if bytes > self.kept_bytes_max {
                throw!(
                    RTIinternalError,
                    "federates that have resigned have left {what} of {bytes} bytes in '{}', and \
                     limits.kept_bytes of rtiexec allows {}: nobody joins before some of it is gone; do: \
                     delete what nobody needs, or resign with an action that deletes",
                    self.federation.name(),
                    self.kept_bytes_max
                );
            }
        }
        Ok(())
    }

    /// Whether `more` bytes may be kept for a federate besides those that are: else why not.
    pub(crate) fn require_room(
        &self,
        federate: FederateHandle,
        what: &str,
        kept: usize,
        more: usize,
    ) -> Result<(), ProtocolError> {
        let room = require_room(self.kept_bytes_max, what, kept, more);
        room.map_err(|ProtocolError(why)| {
            ProtocolError(format!("{} {why}", self.federate_text(federate)))
        })
    }
}

/// The same, where `most` may be kept; the error has no subject.
pub(crate) fn require_room(
    most: usize,
    what: &str,
    kept: usize,
    more: usize,
) -> Result<(), ProtocolError> {
    if kept.saturating_add(more) <= most {
        Ok(())
    } else {
        Err(ProtocolError(format!(
            "would have {what} of {} bytes; limits.kept_bytes of rtiexec allows {most}",
            kept.saturating_add(more),
        )))
    }
}
