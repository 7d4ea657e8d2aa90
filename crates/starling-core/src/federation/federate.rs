//! Federation management at the federate.

use crate::exception::throw;
use crate::message::ResignAction;
use crate::message::federation::{Entry, Request};
use crate::{Callback, Exception, Federate, ProtocolError, RegionHandle};
use starling_fom::{AutomaticResignAction as Fdd, ObjectModel};

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_federation(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        match entry {
            Entry::FederateJoined { federate, modules } => {
                if !modules.is_empty() {
                    self.grow(&modules)?;
                }
                self.log.joined(federate.handle);
                self.federation.members.insert(federate.handle, federate);
            }
            Entry::FederateResigned { federate, .. } => {
                self.counters.from_removed += self.log.resigned(federate) as u64;
                self.federation.members.remove(&federate);
                self.declarations.forget_federate(federate);
                let (first, last) = RegionHandle::block(federate);
                self.apply_regions_gone(first, last);
                self.federation.resigned |= federate == self.me;
                self.advise_all();
            }
            Entry::SynchronizationPointRegistered { label, failure } => {
                let callback = Callback::SynchronizationPointRegistered { label, failure };
                self.delivery.push(callback);
            }
            Entry::SynchronizationPointAnnounced { label, tag } => {
                let callback = Callback::AnnounceSynchronizationPoint { label, tag };
                self.delivery.push(callback);
            }
            Entry::FederationSynchronized { label, failed } => {
                let callback = Callback::FederationSynchronized { label, failed };
                self.delivery.push(callback);
            }
            Entry::Save(entry) => self.apply_save(entry),
        }
        Ok(())
    }

    /// Resign Federation Execution, 1516.1-2010 §4.10. Afterwards wait for
    /// [`Federate::is_resigned`]; nothing is delivered any more.
    pub fn resign_federation_execution(&mut self, action: ResignAction) -> Result<(), Exception> {
        if let Some(why) = self.left_owned_by(action) {
            throw!(
                FederateOwnsAttributes,
                "resign action {action:?} leaves {why}"
            );
        }
        if !action.cancels()
            && let Some(why) = self.acquiring(|_, _, _| true)
        {
            throw!(
                OwnershipAcquisitionPending,
                "resign action {action:?} does not cancel acquisitions, and {why}"
            );
        }
        self.delivery.end();
        self.log.ending_request(Request::Resign(action));
        Ok(())
    }

    /// An instance whose attributes the action would leave owned.
    fn left_owned_by(&self, action: ResignAction) -> Option<String> {
        if action.divests() {
            return None;
        }
        let privilege = self.privilege_to_delete();
        let mut left: Vec<_> = self
            .objects
            .iter()
            .filter(|(_, i)| !i.owned().is_empty())
            .filter(|(_, i)| !(action.deletes() && i.owns(privilege)))
            .collect();
        left.sort_unstable_by_key(|(handle, _)| *handle);
        let (handle, first) = left.first()?;
        Some(format!(
            "{} object instances with attributes owned by this federate, '{}' for one",
            left.len(),
            first.name(*handle)
        ))
    }

    /// Get Automatic Resign Directive, §10.2.
    pub fn automatic_resign_directive(&self) -> Result<ResignAction, Exception> {
        Ok(self.federation.resign_directive)
    }

    /// Set Automatic Resign Directive, §10.3.
    pub fn set_automatic_resign_directive(
        &mut self,
        action: ResignAction,
    ) -> Result<(), Exception> {
        self.federation.resign_directive = action;
        self.log.request(Request::SetResignDirective(action));
        Ok(())
    }
}

/// The automatic resign directive that the FDD's switches ask for.
pub(super) fn fdd_directive(model: &ObjectModel) -> ResignAction {
    match model.switches().automatic_resign_action {
        Fdd::UnconditionallyDivestAttributes => ResignAction::UnconditionallyDivestAttributes,
        Fdd::DeleteObjects => ResignAction::DeleteObjects,
        Fdd::CancelPendingOwnershipAcquisitions => ResignAction::CancelPendingOwnershipAcquisitions,
        Fdd::DeleteObjectsThenDivest => ResignAction::DeleteObjectsThenDivest,
        Fdd::CancelThenDeleteThenDivest => ResignAction::CancelThenDeleteThenDivest,
        Fdd::NoAction => ResignAction::NoAction,
    }
}
