//! How much the executive keeps of what one member has made.
//!
//! Each room counts what it keeps, in bytes, about; [`Execution::require_room`] judges it before
//! anything is changed. What is left by a federate that has resigned counts for nobody.

use crate::execution::Execution;
use crate::{FederateHandle, ProtocolError};
use std::collections::BTreeMap;

/// About what an entry in the executive's tables takes besides what is in it, in bytes.
pub(crate) const ENTRY_BYTES: usize = 64;

/// Bytes kept, about, by who has made what is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept(BTreeMap<FederateHandle, usize>);

impl Kept {
    /// What is kept for a federate.
    pub(crate) fn of(&self, federate: FederateHandle) -> usize {
        self.0.get(&federate).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, federate: FederateHandle, bytes: usize) {
        *self.0.entry(federate).or_default() += bytes;
    }

    /// What was added is kept no more. Of a federate that was forgotten nothing is counted.
    pub(crate) fn take(&mut self, federate: FederateHandle, bytes: usize) {
        if let Some(kept) = self.0.get_mut(&federate) {
            *kept = kept.saturating_sub(bytes);
            if *kept == 0 {
                self.0.remove(&federate);
            }
        }
    }

    pub(crate) fn forget(&mut self, federate: FederateHandle) {
        self.0.remove(&federate);
    }
}

impl Execution {
    /// Whether `more` bytes may be kept for a federate besides those that are: else why not.
    pub(crate) fn require_room(
        &self,
        federate: FederateHandle,
        what: &str,
        kept: usize,
        more: usize,
    ) -> Result<(), ProtocolError> {
        if kept.saturating_add(more) <= self.kept_bytes_max {
            Ok(())
        } else {
            Err(ProtocolError(format!(
                "{federate} would have {what} of {} bytes; limits.kept_bytes of rtiexec allows {}",
                kept.saturating_add(more),
                self.kept_bytes_max
            )))
        }
    }
}
