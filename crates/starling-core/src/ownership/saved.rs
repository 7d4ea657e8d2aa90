//! Ownership management as a save has it.

use super::execution::ExecutionOwnership;
use super::federate::{Ownership, QueuedNotice, QueuedOwnership};
use crate::callback::Callback;
use crate::message::ownership::Entry;
use crate::message::{LogIndex, RequestNumber};
use crate::saved::delivery::Queued;
use crate::saved::ownership as saved;
use crate::{Federate, ProtocolError};

impl ExecutionOwnership {
    pub(crate) fn save(&self) -> saved::Execution {
        saved::Execution {
            transfers: self.transfers.clone(),
        }
    }

    pub(crate) fn restore(saved: saved::Execution) -> Self {
        ExecutionOwnership {
            transfers: saved.transfers,
        }
    }
}

impl Ownership {
    pub(crate) fn save(&self) -> saved::Federate {
        saved::Federate {
            transfers: self.transfers.clone(),
            acquisitions: self.acquisitions,
            release_seen: self.release_seen,
            asked: self.asked.clone(),
            decided: self.decided.clone(),
        }
    }

    pub(crate) fn restore(saved: saved::Federate) -> Self {
        Ownership {
            transfers: saved.transfers,
            acquisitions: saved.acquisitions,
            release_seen: saved.release_seen,
            asked: saved.asked,
            decided: saved.decided,
        }
    }
}

impl QueuedOwnership {
    pub(crate) fn save(&self) -> Queued {
        match self {
            QueuedOwnership::Notice(queued) => Queued::Ownership {
                entry: Entry::Ownership {
                    notice: queued.notice,
                    instance: queued.instance,
                    attributes: queued.attributes.clone(),
                    tag: queued.tag.clone(),
                },
                index: queued.index,
                as_of: queued.as_of,
            },
            QueuedOwnership::Report(instance, callback) => {
                let report: &Callback = callback;
                let Callback::InformAttributeOwnership {
                    attributes, owner, ..
                } = report
                else {
                    unreachable!("{report:?} is no report")
                };
                let owners = attributes.iter().map(|a| (*a, *owner)).collect();
                let instance = *instance;
                Queued::Ownership {
                    entry: Entry::OwnershipReport { instance, owners },
                    index: LogIndex::default(),
                    as_of: RequestNumber::default(),
                }
            }
        }
    }
}

impl Federate {
    /// Puts what waited back behind all that waits. An error if it is nothing that waits.
    pub(crate) fn put_back_ownership(
        &mut self,
        entry: Entry,
        index: LogIndex,
        as_of: RequestNumber,
    ) -> Result<(), ProtocolError> {
        match entry {
            Entry::Ownership {
                notice,
                instance,
                attributes,
                tag,
            } => self
                .delivery
                .push(QueuedOwnership::Notice(Box::new(QueuedNotice {
                    notice,
                    instance,
                    attributes,
                    tag,
                    index,
                    as_of,
                }))),
            Entry::OwnershipReport { instance, owners } => {
                self.apply_ownership_report(instance, owners);
            }
            Entry::Divested { .. } => {
                return Err(ProtocolError("an answer was saved as a callback".into()));
            }
        }
        Ok(())
    }
}
