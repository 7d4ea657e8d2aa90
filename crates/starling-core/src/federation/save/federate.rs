//! What a federate does in saves and restores, 1516.1-2010 §4.16 to §4.32: its services, and the callbacks of
//! both, which say how far it has come.

use super::SaveStatus;
use crate::callback::Callback;
use crate::delivery::Queued;
use crate::exception::require_name;
use crate::federation::restore::RestoreStage;
use crate::held::Held;
use crate::log::federate::Output;
use crate::message::LogIndex;
use crate::message::save::{Entry, Request};
use crate::{Exception, Federate, LogicalTime};

/// How far a save and a restore have come for a federate, by its calls and the callbacks delivered
/// to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    pub(crate) save: SaveStatus,
    pub(crate) restore: RestoreStage,
}

impl Stages {
    /// Of a federate that is restored and is not told so yet.
    pub(crate) fn restored() -> Self {
        Stages {
            restore: RestoreStage::Complete,
            ..Stages::default()
        }
    }
}

/// A callback of §4.16 to §4.32 that is not delivered yet.
#[derive(Debug)]
pub(crate) struct QueuedSave {
    callback: Box<Callback>,
    /// Where what it tells the beginning of began.
    began: Option<LogIndex>,
}

impl QueuedSave {
    pub(crate) fn new(callback: Callback) -> Self {
        QueuedSave {
            callback: Box::new(callback),
            began: None,
        }
    }
}

impl Held for QueuedSave {
    fn held(&self) -> usize {
        self.callback.held()
    }
}

impl From<QueuedSave> for Queued {
    fn from(queued: QueuedSave) -> Self {
        Queued::Save(queued)
    }
}

impl Federate {
    /// Request Federation Save, 1516.1-2010 §4.16.
    pub fn request_federation_save(
        &mut self,
        label: &str,
        time: Option<LogicalTime>,
    ) -> Result<(), Exception> {
        if let Some(at) = time {
            self.require_save_time(at)?;
        }
        require_name("a save", label)?;
        let label = label.to_owned();
        self.log.request(Request::Save { label, time });
        Ok(())
    }

    /// Federate Save Begun, §4.18. In which stage this and the others are open, the door knows.
    pub fn federate_save_begun(&mut self) -> Result<(), Exception> {
        self.federation.stages.save = SaveStatus::FederateSaving;
        let save = self.federation.began;
        self.log.request(Request::SaveBegun { save });
        Ok(())
    }

    /// Federate Save Complete, §4.19.
    pub fn federate_save_complete(&mut self) -> Result<(), Exception> {
        self.end_federate_save(true)
    }

    /// Federate Save Not Complete, §4.19.
    pub fn federate_save_not_complete(&mut self) -> Result<(), Exception> {
        self.end_federate_save(false)
    }

    fn end_federate_save(&mut self, successfully: bool) -> Result<(), Exception> {
        self.federation.stages.save = SaveStatus::FederateWaitingForFederationToSave;
        let save = self.federation.began;
        self.log
            .ending_request(Request::SaveEnded { save, successfully });
        Ok(())
    }

    /// Abort Federation Save, §4.21.
    pub fn abort_federation_save(&mut self) -> Result<(), Exception> {
        let save = self.federation.began;
        self.log.request(Request::AbortSave { save });
        Ok(())
    }

    /// Query Federation Save Status, §4.22; the answer is a callback.
    pub fn query_federation_save_status(&mut self) -> Result<(), Exception> {
        self.log.request(Request::QuerySave);
        Ok(())
    }

    /// An entry of §4.16 to §4.32.
    pub(crate) fn apply_save(&mut self, entry: Entry) {
        let mut began = None;
        let callback = match entry {
            Entry::InitiateSave { label, time, save } => {
                began = Some(save);
                if let Some(time) = time {
                    self.release_up_to(time);
                }
                Callback::InitiateFederateSave { label, time }
            }
            Entry::TakePart => {
                let part = Box::new(self.save());
                self.log.put_output(Output::Part(part));
                return;
            }
            Entry::SaveEnded { failure: None, .. } => Callback::FederationSaved,
            Entry::SaveEnded {
                failure: Some(reason),
                asked,
                why,
            } => {
                if asked == Some(self.handle()) {
                    self.set_note(why);
                }
                Callback::FederationNotSaved { reason }
            }
            Entry::SaveStatus(list) => Callback::FederationSaveStatusResponse(list),
            Entry::RestoreRequested {
                label,
                failure,
                restore,
            } => {
                let succeeded = failure.is_none();
                began = succeeded.then_some(restore);
                if let Some(why) = failure {
                    self.set_note(format!("the save '{label}' can't be restored: {why}"));
                }
                Callback::RestoreRequested { label, succeeded }
            }
            Entry::RestoreBegun { restore } => {
                began = Some(restore);
                Callback::FederationRestoreBegun
            }
            Entry::InitiateRestore {
                label,
                name,
                federate,
            } => Callback::InitiateFederateRestore {
                label,
                name,
                federate,
            },
            Entry::NotRestored(reason) => Callback::FederationNotRestored { reason },
            Entry::RestoreStatus(list) => Callback::FederationRestoreStatusResponse(list),
        };
        let callback = Box::new(callback);
        self.delivery.push(QueuedSave { callback, began });
    }

    /// A callback of §4.16 to §4.32 is delivered.
    pub(crate) fn deliver_save(&mut self, queued: QueuedSave) -> Callback {
        let QueuedSave { callback, began } = queued;
        self.federation.began = began.unwrap_or(self.federation.began);
        let restore = self.federation.began;
        match &*callback {
            Callback::InitiateFederateSave { time, .. } => {
                // Behind a grant that came before it, of which nothing is passed.
                if let Some(time) = *time {
                    self.pass(time);
                }
                self.federation.stages.save = SaveStatus::FederateInstructedToSave;
            }
            Callback::FederationSaved | Callback::FederationNotSaved { .. } => {
                self.federation.stages.save = SaveStatus::NoSaveInProgress;
            }
            Callback::RestoreRequested {
                succeeded: true, ..
            } => self.log.request(Request::Prepared { restore }),
            Callback::FederationRestoreBegun => {
                self.federation.stages.restore = RestoreStage::Begun;
                self.log.request(Request::Prepared { restore });
            }
            Callback::InitiateFederateRestore { .. } => {
                self.federation.stages.restore = RestoreStage::Initiated;
            }
            Callback::FederationRestored | Callback::FederationNotRestored { .. } => {
                self.federation.stages.restore = RestoreStage::None;
            }
            _ => {}
        }
        let still = self.federation.stages != Stages::default();
        self.delivery.hold_for_save(still);
        *callback
    }

    /// How far it has come with a save and a restore, by its calls and the callbacks delivered.
    #[inline]
    pub(crate) fn stages(&self) -> Stages {
        self.federation.stages
    }
}
