//! Federation management at the federate.

use crate::exception::throw;
use crate::message::{RequestBody, ResignAction};
use crate::{Exception, Federate};
use starling_fom::{AutomaticResignAction as Fdd, ObjectModel};

impl Federate {
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
        self.log.ending_request(RequestBody::Resign(action));
        Ok(())
    }

    /// An instance whose attributes the action would leave owned.
    fn left_owned_by(&self, action: ResignAction) -> Option<String> {
        if action.divests() {
            return None;
        }
        let privilege = self.privilege_to_delete();
        let mut left: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, i)| !i.owned.is_empty())
            .filter(|(_, i)| !(action.deletes() && i.owned.contains(&privilege)))
            .collect();
        left.sort_unstable_by_key(|(handle, _)| **handle);
        let (_, first) = left.first()?;
        Some(format!(
            "{} object instances with attributes owned by this federate, '{}' for one",
            left.len(),
            first.name
        ))
    }

    /// Get Automatic Resign Directive, §10.2.
    pub fn automatic_resign_directive(&self) -> Result<ResignAction, Exception> {
        Ok(self.resign_directive)
    }

    /// Set Automatic Resign Directive, §10.3.
    pub fn set_automatic_resign_directive(
        &mut self,
        action: ResignAction,
    ) -> Result<(), Exception> {
        self.resign_directive = action;
        self.log.request(RequestBody::SetResignDirective(action));
        Ok(())
    }
}

/// The automatic resign directive that the FDD's switches ask for.
pub(crate) fn fdd_directive(model: &ObjectModel) -> ResignAction {
    match model.switches().automatic_resign_action {
        Fdd::UnconditionallyDivestAttributes => ResignAction::UnconditionallyDivestAttributes,
        Fdd::DeleteObjects => ResignAction::DeleteObjects,
        Fdd::CancelPendingOwnershipAcquisitions => ResignAction::CancelPendingOwnershipAcquisitions,
        Fdd::DeleteObjectsThenDivest => ResignAction::DeleteObjectsThenDivest,
        Fdd::CancelThenDeleteThenDivest => ResignAction::CancelThenDeleteThenDivest,
        Fdd::NoAction => ResignAction::NoAction,
    }
}
