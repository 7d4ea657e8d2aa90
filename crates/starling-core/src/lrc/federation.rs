//! Federation management, chapter 4, before joining and at the end; and the answers of the executive that
//! these services wait for.

use super::*;
use crate::federation::modules::require_given;
use crate::message::{ModuleSource, ResignAction};

impl<O: Outbox> Lrc<O> {
    /// Create Federation Execution, 1516.1-2010 §4.5, with the standard MIM or one's own. An empty
    /// `time` is HLAfloat64Time. Wait for [`Lrc::answer`].
    pub fn create_federation_execution(
        &mut self,
        federation: &str,
        modules: Vec<ModuleSource>,
        mim: Option<ModuleSource>,
        time: &str,
    ) -> Result<(), Exception> {
        let service = create_service(mim.is_some());
        self.require(service)?;
        require_name("federation execution", federation).map_err(|e| e.in_service(service))?;
        let size = extent_of(&modules) + mim.as_ref().map_or(0, |m| m.text.len());
        self.ask(service, size, || ToExecutive::CreateFederation {
            federation: federation.to_owned(),
            modules,
            mim,
            time_implementation: time.to_owned(),
        })
    }

    /// Destroy Federation Execution, §4.6. Wait for [`Lrc::answer`].
    pub fn destroy_federation_execution(&mut self, federation: &str) -> Result<(), Exception> {
        let service = Service::DestroyFederationExecution;
        self.ask(service, federation.len(), || {
            ToExecutive::DestroyFederation {
                federation: federation.to_owned(),
            }
        })
    }

    /// List Federation Executions, §4.7; the answer is a callback.
    pub fn list_federation_executions(&mut self) -> Result<(), Exception> {
        self.require(Service::ListFederationExecutions)?;
        self.out.to_executive(ToExecutive::ListFederations);
        Ok(())
    }

    /// Join Federation Execution, §4.9. Without a name the RTI makes one. Wait for
    /// [`Lrc::answer`].
    pub fn join_federation_execution(
        &mut self,
        name: Option<&str>,
        kind: &str,
        federation: &str,
        modules: Vec<ModuleSource>,
    ) -> Result<(), Exception> {
        let service = Service::JoinFederationExecution;
        self.require_not_joined()?;
        let named = name.map_or(Ok(()), |name| require_name("federate", name));
        named.map_err(|e| e.in_service(service))?;
        let size = name.map_or(0, str::len) + kind.len() + federation.len() + extent_of(&modules);
        self.ask(service, size, || ToExecutive::Join {
            name: name.map(str::to_owned),
            kind: kind.to_owned(),
            federation: federation.to_owned(),
            modules,
        })?;
        self.live(Life::Joining);
        Ok(())
    }

    /// What Join Federation Execution asks for before it reads its modules.
    pub fn require_not_joined(&self) -> Result<(), Exception> {
        let service = Service::JoinFederationExecution;
        self.require(service)?;
        let why = match &self.life {
            Life::Joined(federate) | Life::Resigning(federate) => format!(
                "the federate is '{}' of '{}' already",
                federate.name(),
                federate.federation()
            ),
            Life::Joining => "the federate joins already".to_owned(),
            Life::Connected | Life::Losing(..) | Life::Lost(_) => return Ok(()),
        };
        let kind = ExceptionKind::FederateAlreadyExecutionMember;
        Err(Exception::new(kind, why).in_service(service))
    }

    /// Resign Federation Execution, §4.10. Wait for [`Lrc::answer`]: then the federation execution
    /// knows of it.
    pub fn resign_federation_execution(&mut self, action: ResignAction) -> Result<(), Exception> {
        self.resign(action)?;
        self.answer = None;
        self.awaited = Some(Awaited::Resignation);
        Ok(())
    }

    /// The same, where no service waits for it.
    pub(crate) fn resign(&mut self, action: ResignAction) -> Result<(), Exception> {
        self.report(Duration::ZERO, false);
        self.serve(
            Service::ResignFederationExecution,
            0,
            said![action],
            |federate, _| federate.resign_federation_execution(action),
        )?;
        match std::mem::replace(&mut self.life, Life::Joining) {
            Life::Joined(federate) => self.live(Life::Resigning(federate)),
            other => self.live(other),
        }
        Ok(())
    }

    /// The MOM had it resign: it is told so, as it has not asked for it.
    pub(crate) fn note_resignation(&mut self) {
        self.resigned_by_mom = true;
        self.note = Some(RESIGNED_BY_MOM);
    }

    /// Whether the federate has resigned, or was by the MOM, and the federation execution does not know of it
    /// yet. To services it is joined no more: those that it may call now wait for that first.
    pub fn is_resigning(&self) -> bool {
        matches!(self.life, Life::Resigning(_))
    }

    /// Disconnect, §4.3: throws if the federate is still joined, else ends the connection.
    pub fn disconnect(&mut self) -> Result<(), Exception> {
        let service = Service::Disconnect;
        self.require(service)?;
        // Another thread may be joining: what it would hear is that it has joined.
        if matches!(
            self.life,
            Life::Joining | Life::Joined(_) | Life::Resigning(_)
        ) {
            let why = "the federate is still joined, or joins; resign first";
            let kind = ExceptionKind::FederateIsExecutionMember;
            return Err(Exception::new(kind, why).in_service(service));
        }
        self.close();
        Ok(())
    }

    /// The answer to the last service that waits for the executive's word, once it is there; the
    /// connection's end is one.
    pub fn answer(&mut self) -> Option<Result<Answer, Exception>> {
        self.answer.take().or_else(|| {
            let why = self.lost()?;
            Some(Err(Exception::new(self.kind_of_end(), why)))
        })
    }

    pub(super) fn ask(
        &mut self,
        service: Service,
        bytes: usize,
        message: impl FnOnce() -> ToExecutive,
    ) -> Result<(), Exception> {
        self.require(service)?;
        require_fits(bytes, self.frame_bytes_max).map_err(|e| e.in_service(service))?;
        self.answer = None;
        self.awaited = Some(Awaited::Answer);
        self.out.to_executive(message());
        Ok(())
    }
}

/// Which of the two services that create is meant.
fn create_service(mim: bool) -> Service {
    if mim {
        Service::CreateFederationExecutionWithMIM
    } else {
        Service::CreateFederationExecution
    }
}

/// What Create Federation Execution asks of its designators before it opens them, §4.5: a FOM
/// module, and no naming of the standard MIM, which comes by itself.
pub fn require_designators(modules: &[String], mim: Option<&str>) -> Result<(), Exception> {
    require_given(modules.len(), mim).map_err(|e| e.in_service(create_service(mim.is_some())))
}

/// An empty name distinguishes nobody, and can't be given in a command.
fn require_name(whose: &str, name: &str) -> Result<(), Exception> {
    if !name.is_empty() {
        return Ok(());
    }
    let why = format!("the name of the {whose} is empty");
    Err(Exception::new(ExceptionKind::RTIinternalError, why))
}

fn extent_of(modules: &[ModuleSource]) -> usize {
    modules
        .iter()
        .map(|m| m.designator.len() + m.text.len())
        .sum()
}
