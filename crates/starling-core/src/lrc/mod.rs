//! A federate's whole life without I/O: connected, joining, joined, resigning, lost.
//!
//! Invariants:
//! - every service enters through one door, [`Lrc::require`], which checks what the standard asks of
//!   many services alike, in one order; what a service itself asks for comes after;
//! - what is sent goes to the [`Outbox`] in the order in which it is to travel;
//! - once it resigns nothing more of the federation execution is delivered, and its services are
//!   those of one that has not joined;
//! - once it is lost what was queued before is delivered, then Connection Lost, then nothing.
//!
//! Absent: [`Lrc::require`] is where a save or a restore in progress will refuse services, and
//! `serve` where service reporting will hear of them.

mod door;
mod services;

pub use door::Preconditions;

use crate::callback::Callback;
use crate::exception::throw;
use crate::message::{
    Data, FederationInformation, FromExecutive, ModuleSource, RequestNumber, ResignAction,
    ToExecutive,
};
use crate::{
    AttributeHandle, DataOut, DataPath, Exception, ExceptionKind, Federate, FederateHandle,
    InteractionClassHandle, ObjectInstanceHandle, Output, ParameterHandle, ProtocolError,
    RegionHandle, Service,
};
use door::Extent;
use std::collections::VecDeque;

/// Where an LRC puts what it sends. It only takes; what it can't send it keeps or drops.
pub trait Outbox {
    /// A message to the executive.
    fn to_executive(&mut self, message: ToExecutive);
    /// A data frame.
    fn data(&mut self, frame: DataOut<'_>);
    /// A fence, on the receiver's own link. Comes only where data travels on such links.
    fn fence(&mut self, to: FederateHandle, fence: &Data<'_>);
}

/// What the executive answered to a service that waits for its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Created, destroyed, or resigned.
    Done,
    /// Joined, as this federate.
    Joined(FederateHandle),
}

/// A federate's connection to the executive, and the joined federate while it is one. Not
/// thread-safe; its owner locks it.
pub struct Lrc<O> {
    out: O,
    life: Life,
    /// What is not given now of what services may ask for.
    unmet: Preconditions,
    path: DataPath,
    frame_bytes_max: usize,
    /// Callbacks that are not the joined federate's.
    own: VecDeque<Callback>,
    answer: Option<Result<Answer, Exception>>,
    /// The federate wants callbacks now.
    enabled: bool,
}

enum Life {
    Connected {
        /// The executive owes an answer.
        asked: bool,
    },
    Joining,
    Joined(Box<Federate>),
    /// Its resignation is not in the log yet.
    Resigning(Box<Federate>),
    Lost(String),
}

impl<O: Outbox> Lrc<O> {
    /// Over a connection on which hands were shaken. `path`: how its data travels.
    pub fn new(out: O, path: DataPath) -> Self {
        Lrc {
            out,
            life: Life::Connected { asked: false },
            unmet: Preconditions::JOINED,
            path,
            frame_bytes_max: usize::MAX,
            own: VecDeque::new(),
            answer: None,
            enabled: true,
        }
    }

    /// Sets the largest frame that the executive takes, in bytes; before this is called, any.
    pub fn set_frame_bytes_max(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
        if let Some(federate) = self.member() {
            federate.set_frame_bytes_max(bytes);
        }
    }

    /// Says whether services are called from within a callback from now on.
    #[inline]
    pub fn set_within_callback(&mut self, within: bool) {
        self.unmet.set(Preconditions::OUTSIDE_CALLBACK, within);
    }

    /// What it sends into.
    pub fn outbox(&mut self) -> &mut O {
        &mut self.out
    }

    /// The joined federate, to look at.
    pub fn federate(&self) -> Option<&Federate> {
        match &self.life {
            Life::Joined(federate) => Some(federate),
            _ => None,
        }
    }

    /// Whether it is a member of a federation execution, also while it resigns.
    pub fn is_member(&self) -> bool {
        matches!(self.life, Life::Joined(_) | Life::Resigning(_))
    }

    /// Why the connection has ended, if it has.
    pub fn lost(&self) -> Option<&str> {
        match &self.life {
            Life::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// Throws what a service throws here and now before it looks at its arguments.
    #[inline]
    pub fn require(&self, service: Service) -> Result<(), Exception> {
        let unmet = self.unmet & service.preconditions();
        match unmet.is_empty() {
            true => Ok(()),
            false => Err(self.refusal(unmet).in_service(service)),
        }
    }

    #[cold]
    fn refusal(&self, unmet: Preconditions) -> Exception {
        unmet.refusal(self.lost().unwrap_or_default())
    }

    // Federation management (chapter 4) before joining and at the end.

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
            Life::Connected { .. } | Life::Lost(_) => return Ok(()),
        };
        let kind = ExceptionKind::FederateAlreadyExecutionMember;
        Err(Exception::new(kind, why).in_service(service))
    }

    /// Resign Federation Execution, §4.10. Wait for [`Lrc::answer`]: then the federation execution
    /// knows of it.
    pub fn resign_federation_execution(&mut self, action: ResignAction) -> Result<(), Exception> {
        self.serve(Service::ResignFederationExecution, 0, |federate, _| {
            federate.resign_federation_execution(action)
        })?;
        self.answer = None;
        match std::mem::replace(&mut self.life, Life::Joining) {
            Life::Joined(federate) => self.live(Life::Resigning(federate)),
            other => self.live(other),
        }
        Ok(())
    }

    /// Disconnect, §4.3: throws if the federate is still joined, else ends the connection.
    pub fn disconnect(&mut self) -> Result<(), Exception> {
        let service = Service::Disconnect;
        self.require(service)?;
        if matches!(self.life, Life::Joined(_) | Life::Resigning(_)) {
            let why = "the federate is still joined; resign first";
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
            Some(Err(Exception::new(ExceptionKind::RTIinternalError, why)))
        })
    }

    fn ask(
        &mut self,
        service: Service,
        bytes: usize,
        message: impl FnOnce() -> ToExecutive,
    ) -> Result<(), Exception> {
        self.require(service)?;
        require_fits(bytes, self.frame_bytes_max).map_err(|e| e.in_service(service))?;
        self.answer = None;
        if let Life::Connected { asked } = &mut self.life {
            *asked = true;
        }
        self.out.to_executive(message());
        Ok(())
    }

    // Services of the joined federate.

    /// The one way of a service to the joined federate.
    #[inline]
    fn serve<T>(
        &mut self,
        service: Service,
        bytes: usize,
        work: impl FnOnce(&mut Federate, &mut O) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        self.require(service)?;
        let Life::Joined(federate) = &mut self.life else {
            return Err(Preconditions::JOINED.refusal("").in_service(service));
        };
        let result =
            require_fits(bytes, self.frame_bytes_max).and_then(|()| work(federate, &mut self.out));
        put_outputs(federate, &mut self.out);
        result.map_err(|e| e.in_service(service))
    }

    /// Update Attribute Values, 1516.1-2010 §6.10, in receive order.
    #[inline]
    pub fn update_attribute_values(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.serve(Service::UpdateAttributeValues, 0, |federate, out| {
            federate.update_attribute_values(instance, values, tag, &mut |frame| out.data(frame))
        })
    }

    /// Send Interaction, §6.12, in receive order.
    #[inline]
    pub fn send_interaction(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.serve(Service::SendInteraction, 0, |federate, out| {
            federate.send_interaction(class, values, tag, &mut |frame| out.data(frame))
        })
    }

    /// Send Interaction With Regions, §9.12, in receive order. With no region it is sent with the
    /// default region.
    pub fn send_interaction_with_regions(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let service = Service::SendInteractionWithRegions;
        self.serve(service, 0, |federate, out| {
            let send = &mut |frame: DataOut<'_>| out.data(frame);
            federate.send_interaction_with_regions(class, values, regions, tag, send)
        })
    }

    /// Confirm Divestiture, §7.6. Wait for [`Lrc::divested`] of this number.
    pub fn confirm_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        let bytes = attributes.extent() + tag.len();
        self.serve(Service::ConfirmDivestiture, bytes, |federate, _| {
            federate.confirm_divestiture(instance, attributes, tag)
        })
    }

    /// Attribute Ownership Divestiture If Wanted, §7.13. Wait for [`Lrc::divested`] of this number.
    pub fn attribute_ownership_divestiture_if_wanted(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        let service = Service::AttributeOwnershipDivestitureIfWanted;
        let bytes = attributes.extent() + tag.len();
        self.serve(service, bytes, |federate, _| {
            federate.attribute_ownership_divestiture_if_wanted(instance, attributes, tag)
        })
    }

    /// What another federate owns now by this request, once the federation execution's word is
    /// there. The federate's end is an answer.
    pub fn divested(
        &mut self,
        service: Service,
        request: RequestNumber,
    ) -> Option<Result<Vec<AttributeHandle>, Exception>> {
        let answer = match &mut self.life {
            Life::Joined(federate) => federate.divested(request)?,
            Life::Lost(why) => Err(Preconditions::CONNECTED.refusal(why)),
            _ => Err(Exception::new(
                ExceptionKind::FederateNotExecutionMember,
                "the federate has ceased to be a member meanwhile",
            )),
        };
        Some(answer.map_err(|e| e.in_service(service)))
    }

    /// The name of the federation execution's logical time implementation (getTimeFactory).
    pub fn time_implementation(&mut self) -> Result<String, Exception> {
        self.serve(Service::GetTimeFactory, 0, |federate, _| {
            Ok(federate.logical_time_implementation().to_owned())
        })
    }

    /// Whether services want to know the time: then call [`Lrc::set_time_us`] before each.
    #[inline]
    pub fn wants_time(&self) -> bool {
        self.federate().is_some_and(Federate::wants_time)
    }

    /// The time for update rates, in microseconds since whenever.
    pub fn set_time_us(&mut self, now: u64) {
        if let Some(federate) = self.member() {
            federate.set_time_us(now);
        }
    }

    /// What the last service has to say to whoever runs the federate, once.
    #[inline]
    pub fn take_note(&mut self) -> Option<String> {
        match &mut self.life {
            Life::Joined(federate) => federate.take_note(),
            _ => None,
        }
    }

    // What comes in.

    /// A message of the executive's.
    ///
    /// # Errors
    /// It was not due, or makes no sense; the connection must end.
    pub fn receive(&mut self, message: FromExecutive) -> Result<(), ProtocolError> {
        match message {
            FromExecutive::Done(done) => {
                self.answered(false)?;
                self.answer = Some(done.map(|()| Answer::Done));
            }
            FromExecutive::JoinRefused(why) => {
                self.answered(true)?;
                self.answer = Some(Err(why));
                self.live(Life::Connected { asked: false });
            }
            FromExecutive::Joined(snapshot) => {
                self.answered(true)?;
                let handle = snapshot.handle;
                let mut federate = Federate::new(*snapshot, self.path)?;
                federate.set_frame_bytes_max(self.frame_bytes_max);
                self.live(Life::Joined(Box::new(federate)));
                self.answer = Some(Ok(Answer::Joined(handle)));
            }
            FromExecutive::Federations(list) => self.list(list),
            FromExecutive::Removed(why) => self.lose(&why),
            FromExecutive::Status(_) | FromExecutive::Why(_) => {}
            log @ (FromExecutive::Entry(_) | FromExecutive::Watermark(_)) => {
                // Of one that has resigned, what was on its way is nothing any more.
                if let Some(federate) = self.member() {
                    federate.receive(log)?;
                    self.end_of_membership();
                }
            }
        }
        Ok(())
    }

    /// A data frame, from the executive's stream or a peer's link.
    ///
    /// # Errors
    /// As of [`Lrc::receive`].
    #[inline]
    pub fn receive_data(&mut self, data: &Data<'_>) -> Result<(), ProtocolError> {
        match &mut self.life {
            Life::Joined(federate) => federate.receive_data(data),
            Life::Resigning(federate) => {
                federate.receive_data(data)?;
                // A fence may have released the entry of its own resignation.
                self.end_of_membership();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A peer's own link has ended and all that it carried has been received.
    ///
    /// # Errors
    /// As of [`Lrc::receive`].
    pub fn link_ended(&mut self, peer: FederateHandle) -> Result<(), ProtocolError> {
        if let Some(federate) = self.member() {
            federate.link_ended(peer)?;
            self.end_of_membership();
        }
        Ok(())
    }

    /// The connection has ended: Connection Lost, §4.4, behind what was queued before.
    pub fn lose(&mut self, why: &str) {
        if matches!(self.life, Life::Lost(_)) {
            return;
        }
        if let Life::Joined(federate) = &mut self.life {
            while let Some(callback) = federate.next_callback() {
                self.own.push_back(callback);
            }
        }
        self.own.push_back(Callback::ConnectionLost {
            fault: why.to_owned(),
        });
        self.live(Life::Lost(why.to_owned()));
    }

    /// As [`Lrc::lose`], when something in here has gone wrong half-way: nothing of it is used any
    /// more.
    pub fn break_down(&mut self, why: &str) {
        if matches!(self.life, Life::Lost(_)) {
            return;
        }
        self.live(Life::Lost(why.to_owned()));
        self.own.clear();
        self.own.push_back(Callback::ConnectionLost {
            fault: why.to_owned(),
        });
    }

    /// The connection is ended from this side: nothing more is delivered.
    pub fn close(&mut self) {
        self.live(Life::Lost("disconnected".into()));
        self.own.clear();
    }

    fn list(&mut self, list: Vec<FederationInformation>) {
        let report = Callback::ReportFederationExecutions(list);
        self.own.push_back(report);
    }

    fn answered(&mut self, join: bool) -> Result<(), ProtocolError> {
        let due = match &mut self.life {
            Life::Connected { asked } => !join && std::mem::take(asked),
            Life::Joining => join,
            // Create and destroy are for members, too.
            Life::Joined(_) | Life::Resigning(_) => !join,
            Life::Lost(_) => true,
        };
        match due {
            true => Ok(()),
            false => Err(ProtocolError("an answer that was not due".into())),
        }
    }

    fn end_of_membership(&mut self) {
        if self.member().is_some_and(|f| f.is_resigned()) {
            self.live(Life::Connected { asked: false });
            self.answer = Some(Ok(Answer::Done));
        }
    }

    fn member(&mut self) -> Option<&mut Federate> {
        match &mut self.life {
            Life::Joined(federate) | Life::Resigning(federate) => Some(federate),
            _ => None,
        }
    }

    fn live(&mut self, life: Life) {
        let (connected, joined) = match &life {
            Life::Joined(_) => (true, true),
            Life::Connected { .. } | Life::Joining | Life::Resigning(_) => (true, false),
            Life::Lost(_) => (false, false),
        };
        self.unmet.set(Preconditions::CONNECTED, !connected);
        self.unmet.set(Preconditions::JOINED, !joined);
        self.life = life;
    }

    // Callbacks.

    /// Enable Callbacks, §10.43, and Disable Callbacks, §10.44.
    pub fn enable_callbacks(&mut self, enabled: bool) -> Result<(), Exception> {
        self.require(match enabled {
            true => Service::EnableCallbacks,
            false => Service::DisableCallbacks,
        })?;
        self.enabled = enabled;
        Ok(())
    }

    /// Whether a call of [`Lrc::next_callback`] may have something to deliver.
    #[inline]
    pub fn has_callbacks(&self) -> bool {
        self.enabled
            && (!self.own.is_empty() || self.federate().is_some_and(Federate::has_callbacks))
    }

    /// How many callbacks may be there to deliver now.
    pub fn callbacks(&self) -> usize {
        match self.enabled {
            true => self.own.len() + self.federate().map_or(0, Federate::callbacks),
            false => 0,
        }
    }

    /// Bytes of values and tags that wait for the federate.
    pub fn waiting_bytes(&self) -> usize {
        self.federate().map_or(0, Federate::queued_bytes)
    }

    /// The next callback, now delivered.
    #[inline]
    pub fn next_callback(&mut self) -> Option<Callback> {
        if !self.enabled {
            return None;
        }
        if let Some(own) = self.own.pop_front() {
            return Some(own);
        }
        match &mut self.life {
            Life::Joined(federate) => federate.next_callback(),
            _ => None,
        }
    }
}

/// The rows of the table of services as methods.
macro_rules! methods {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl<O: Outbox> Lrc<O> {$(
            $(#[$doc])*
            #[allow(clippy::useless_conversion, reason = "borrowed results become owned ones, others stay")]
            pub fn $method(&mut self $(, $argument: $type)*) -> Result<$result, Exception> {
                let bytes = 0 $(+ $argument.extent())*;
                self.serve(Service::$service, bytes, |federate, _| {
                    federate.$method($($argument),*).map(Into::into)
                })
            }
        )*}
    };
}
crate::services!(methods);

/// Puts out what a service has left to send: requests, and fences before them.
#[inline]
fn put_outputs(federate: &mut Federate, out: &mut impl Outbox) {
    while let Some(output) = federate.poll_output() {
        match output {
            Output::Request(request) => out.to_executive(ToExecutive::Request(request)),
            Output::Fence { to, fence } => out.fence(to, &fence),
        }
    }
}

/// Which of the two services that create is meant.
pub(crate) fn create_service(mim: bool) -> Service {
    match mim {
        true => Service::CreateFederationExecutionWithMIM,
        false => Service::CreateFederationExecution,
    }
}

/// What Create Federation Execution asks of its designators before it opens them, §4.5: a FOM
/// module, and no naming of the standard MIM, which comes by itself.
pub fn require_designators(modules: &[String], mim: Option<&str>) -> Result<(), Exception> {
    let check = || {
        if mim == Some("HLAstandardMIM") {
            throw!(
                DesignatorIsHLAstandardMIM,
                "the standard MIM is used without being named"
            );
        }
        if modules.is_empty() {
            throw!(CouldNotOpenFDD, "no FOM module was given");
        }
        Ok(())
    };
    check().map_err(|e: Exception| e.in_service(create_service(mim.is_some())))
}

fn extent_of(modules: &[ModuleSource]) -> usize {
    modules
        .iter()
        .map(|m| m.designator.len() + m.text.len())
        .sum()
}

/// Whether arguments of so many bytes fit into one message.
#[inline]
fn require_fits(bytes: usize, most: usize) -> Result<(), Exception> {
    /// What else stands in a message takes no more.
    const HEAD_BYTES: usize = 256;
    match bytes == 0 || bytes.saturating_add(HEAD_BYTES) <= most {
        true => Ok(()),
        false => Err(too_large(bytes, most)),
    }
}

#[cold]
fn too_large(bytes: usize, most: usize) -> Exception {
    let why = format!(
        "{bytes} bytes of arguments are more than one message may hold: {most} bytes \
         (limits.frame_bytes of rtiexec); nothing was sent"
    );
    Exception::new(ExceptionKind::RTIinternalError, why)
}
