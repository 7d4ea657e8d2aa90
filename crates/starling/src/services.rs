//! Services that need the executive's word: they wait for it, reading the link, and deliver no
//! callback meanwhile. All others go through [`RtiAmbassador::call`].

use crate::ambassador::RtiAmbassador;
use crate::connection::Answer;
use crate::modules;
use starling_core::message::RequestNumber;
use starling_core::message::{ResignAction, ToExecutive};
use starling_core::{
    AttributeHandle, Exception, ExceptionKind, Federate, FederateHandle, ObjectInstanceHandle,
    Service,
};

/// Users may name the built-in MIM, but not pass it (§4.5 DesignatorIsHLAstandardMIM).
const STANDARD_MIM: &str = "HLAstandardMIM";

impl RtiAmbassador {
    /// Create Federation Execution, 1516.1-2010 §4.5, with the standard MIM or one's own.
    /// An empty `time` is HLAfloat64Time.
    pub fn create_federation_execution(
        &self,
        federation: &str,
        modules: &[String],
        mim: Option<&str>,
        time: &str,
    ) -> Result<(), Exception> {
        let service = match mim {
            Some(_) => Service::CreateFederationExecutionWithMIM,
            None => Service::CreateFederationExecution,
        };
        self.connection(service)?;
        let message = (|| {
            if mim == Some(STANDARD_MIM) {
                let kind = ExceptionKind::DesignatorIsHLAstandardMIM;
                let why = "the standard MIM is used without being named";
                return Err(Exception::new(kind, why));
            }
            if modules.is_empty() {
                let kind = ExceptionKind::CouldNotOpenFDD;
                return Err(Exception::new(kind, "no FOM module was given"));
            }
            let missing = ExceptionKind::CouldNotOpenMIM;
            Ok(ToExecutive::CreateFederation {
                federation: federation.to_owned(),
                modules: modules::read_all(modules)?,
                mim: mim.map(|m| modules::read(m, missing)).transpose()?,
                time_implementation: time.to_owned(),
            })
        })();
        let message = message.map_err(|e| e.in_service(service))?;
        self.ask(service, &message).map(|_| ())
    }

    /// Destroy Federation Execution, §4.6.
    pub fn destroy_federation_execution(&self, federation: &str) -> Result<(), Exception> {
        let federation = federation.to_owned();
        let message = ToExecutive::DestroyFederation { federation };
        self.ask(Service::DestroyFederationExecution, &message)
            .map(|_| ())
    }

    /// List Federation Executions, §4.7; the answer is a callback.
    pub fn list_federation_executions(&self) -> Result<(), Exception> {
        let connection = self.connection(Service::ListFederationExecutions)?;
        let mut state = connection.state.lock();
        state.put(&ToExecutive::ListFederations);
        connection.sent(state);
        Ok(())
    }

    /// Join Federation Execution, §4.9. Without a name the RTI makes one.
    pub fn join_federation_execution(
        &self,
        name: Option<&str>,
        kind: &str,
        federation: &str,
        modules: &[String],
    ) -> Result<FederateHandle, Exception> {
        let service = Service::JoinFederationExecution;
        self.not_within_callback(service)?;
        let connection = self.connection(service)?;
        if let Some(federate) = &connection.state.lock().federate {
            let why = format!(
                "the federate is '{}' of '{}' already",
                federate.name(),
                federate.federation()
            );
            let kind = ExceptionKind::FederateAlreadyExecutionMember;
            return Err(Exception::new(kind, why).in_service(service));
        }
        let message = ToExecutive::Join {
            name: name.map(str::to_owned),
            kind: kind.to_owned(),
            federation: federation.to_owned(),
            modules: modules::read_all(modules).map_err(|e| e.in_service(service))?,
        };
        match self.ask(service, &message)? {
            Answer::Joined(snapshot) => Ok(snapshot.handle),
            Answer::Done(_) => {
                let why = "rtiexec answered out of turn";
                Err(Exception::new(ExceptionKind::RTIinternalError, why).in_service(service))
            }
        }
    }

    /// Resign Federation Execution, §4.10. On return the federation execution knows of it.
    pub fn resign_federation_execution(&self, action: ResignAction) -> Result<(), Exception> {
        let service = Service::ResignFederationExecution;
        self.not_within_callback(service)?;
        let _one = self.asking.lock();
        let connection = self.connection(service)?;
        self.call(service, |federate, _| {
            federate.resign_federation_execution(action)
        })?;
        connection.state.lock().flush();
        connection.pump(None, |state| state.federate.is_none());
        Ok(())
    }

    /// Confirm Divestiture, §7.6.
    pub fn confirm_divestiture(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.divest(Service::ConfirmDivestiture, |f| {
            f.confirm_divestiture(instance, attributes, tag)
        })
        .map(|_| ())
    }

    /// Attribute Ownership Divestiture If Wanted, §7.13: those that another federate owns now.
    pub fn attribute_ownership_divestiture_if_wanted(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<Vec<AttributeHandle>, Exception> {
        self.divest(Service::AttributeOwnershipDivestitureIfWanted, |f| {
            f.attribute_ownership_divestiture_if_wanted(instance, attributes, tag)
        })
    }

    /// Divests what others want, and waits to hear what that was. Also within callbacks.
    fn divest(
        &self,
        service: Service,
        request: impl FnOnce(&mut Federate) -> Result<RequestNumber, Exception>,
    ) -> Result<Vec<AttributeHandle>, Exception> {
        let connection = self.connection(service)?;
        let room = connection.state.lock().require_room(0);
        room.map_err(|e| e.in_service(service))?;
        let request = self.call(service, |federate, _| request(federate))?;
        connection.state.lock().flush();
        let mut answer = None;
        connection.pump(None, |state| {
            let divested = |f: &mut Federate| f.divested(request);
            answer = answer
                .take()
                .or_else(|| state.federate.as_mut().and_then(divested));
            answer.is_some() || state.federate.is_none()
        });
        match answer {
            Some(answer) => answer.map_err(|e| e.in_service(service)),
            None => {
                self.connection(service)?;
                let kind = ExceptionKind::FederateNotExecutionMember;
                let why = "the federate has ceased to be a member meanwhile";
                Err(Exception::new(kind, why).in_service(service))
            }
        }
    }

    fn ask(&self, service: Service, message: &ToExecutive) -> Result<Answer, Exception> {
        let _one = self.asking.lock();
        let connection = self.connection(service)?;
        let answer = connection.ask(message).map_err(|e| e.in_service(service))?;
        match answer {
            Answer::Done(Err(thrown)) => Err(thrown.in_service(service)),
            other => Ok(other),
        }
    }
}
