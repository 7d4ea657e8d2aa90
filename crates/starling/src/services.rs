//! The services of the RTI ambassador. Those that need the executive's word wait for it, reading
//! the link, and deliver no callback meanwhile.

use crate::ambassador::{Now, RtiAmbassador};
use crate::link::Link;
use crate::links::Links;
use crate::modules;
use crate::statistics::Calls;
use starling_core::message::{RequestNumber, ResignAction};
use starling_core::{
    Answer, AttributeHandle, Bounds, Exception, ExceptionKind, FederateHandle, Given,
    InteractionClassHandle, LogicalTime, Lrc, MessageRetractionHandle, ObjectInstanceHandle,
    ParameterHandle, RegionHandle, Service, require_designators,
};

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
        self.require(service)?;
        require_designators(modules, mim)?;
        let missing = ExceptionKind::CouldNotOpenMIM;
        let read = || {
            let mim = mim.map(|m| modules::read(m, missing)).transpose()?;
            Ok((modules::read_all(modules)?, mim))
        };
        let (modules, mim) = read().map_err(|e: Exception| e.in_service(service))?;
        self.ask(service, |lrc| {
            lrc.create_federation_execution(federation, modules, mim, time)
        })
        .map(|_| ())
    }

    /// Destroy Federation Execution, §4.6.
    pub fn destroy_federation_execution(&self, federation: &str) -> Result<(), Exception> {
        self.ask(Service::DestroyFederationExecution, |lrc| {
            lrc.destroy_federation_execution(federation)
        })
        .map(|_| ())
    }

    /// List Federation Executions, §4.7; the answer is a callback.
    pub fn list_federation_executions(&self) -> Result<(), Exception> {
        let service = Service::ListFederationExecutions;
        self.serve(service, Lrc::list_federation_executions)
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
        let now = self.past_resignation(service)?;
        now.serve_unmeasured(service, |lrc| lrc.require_not_joined())?;
        let modules = modules::read_all(modules).map_err(|e| e.in_service(service))?;
        let answer = self.ask(service, |lrc| {
            lrc.join_federation_execution(name, kind, federation, modules)
        });
        match answer? {
            Answer::Joined(handle) => Ok(handle),
            Answer::Done => {
                let why = "rtiexec answered out of turn";
                Err(Exception::new(ExceptionKind::RTIinternalError, why).in_service(service))
            }
        }
    }

    /// Resign Federation Execution, §4.10. On return the federation execution knows of it.
    pub fn resign_federation_execution(&self, action: ResignAction) -> Result<(), Exception> {
        self.ask(Service::ResignFederationExecution, |lrc| {
            lrc.resign_federation_execution(action)
        })
        .map(|_| ())
    }

    /// Update Attribute Values, §6.10, in receive order.
    pub fn update_attribute_values(
        &self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        if self.update_plainly(instance, values, tag) {
            return Ok(());
        }
        self.update_closely(instance, values, tag)
    }

    /// The same of values however they are given, if the update is one as most are. False, and nothing is done: it is
    /// another, for [`Self::update_closely`].
    #[inline(always)]
    pub fn update_plainly(
        &self,
        instance: ObjectInstanceHandle,
        values: &[impl Given<Handle = AttributeHandle>],
        tag: &[u8],
    ) -> bool {
        let service = Service::UpdateAttributeValues;
        let plainly = |lrc: &mut Lrc<Link>| lrc.update_plainly(instance, values, tag, None);
        self.serve_plainly(service, plainly).is_some()
    }

    /// An update that is not as most are.
    pub fn update_closely(
        &self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.serve(Service::UpdateAttributeValues, |lrc| {
            lrc.update_attribute_values(instance, values, tag)
        })
    }

    /// Send Interaction, §6.12, in receive order.
    pub fn send_interaction(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        if self.send_plainly(class, values, tag) {
            return Ok(());
        }
        self.send_closely(class, values, tag)
    }

    /// The same of values however they are given, if the interaction is one as most are. False, and nothing is done: it
    /// is another, for [`Self::send_closely`].
    #[inline(always)]
    pub fn send_plainly(
        &self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
        tag: &[u8],
    ) -> bool {
        let service = Service::SendInteraction;
        let plainly = |lrc: &mut Lrc<Link>| lrc.send_plainly(class, values, tag, None);
        self.serve_plainly(service, plainly).is_some()
    }

    /// An interaction that is not as most are.
    pub fn send_closely(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.serve(Service::SendInteraction, |lrc| {
            lrc.send_interaction(class, values, tag)
        })
    }

    /// Send Interaction With Regions, §9.12, in receive order. With no region it is sent with the
    /// default region.
    pub fn send_interaction_with_regions(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.serve(Service::SendInteractionWithRegions, |lrc| {
            lrc.send_interaction_with_regions(class, values, regions, tag)
        })
    }

    /// Update Attribute Values with a time stamp, §6.10. The handle is of what is sent in
    /// time-stamp order, 0 if nothing is.
    pub fn update_attribute_values_at(
        &self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        if let Some(sent) = self.update_plainly_at(instance, values, tag, time) {
            return Ok(sent);
        }
        self.update_closely_at(instance, values, tag, time)
    }

    /// As [`Self::update_plainly`].
    #[inline(always)]
    pub fn update_plainly_at(
        &self,
        instance: ObjectInstanceHandle,
        values: &[impl Given<Handle = AttributeHandle>],
        tag: &[u8],
        time: LogicalTime,
    ) -> Option<MessageRetractionHandle> {
        let service = Service::UpdateAttributeValues;
        let plainly = |lrc: &mut Lrc<Link>| lrc.update_plainly(instance, values, tag, Some(time));
        self.serve_plainly(service, plainly)
    }

    /// As [`Self::update_closely`].
    pub fn update_closely_at(
        &self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        self.serve(Service::UpdateAttributeValues, |lrc| {
            lrc.update_attribute_values_at(instance, values, tag, time)
        })
    }

    /// Send Interaction with a time stamp, §6.12. The handle is 0 if it is not sent in time-stamp
    /// order.
    pub fn send_interaction_at(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        if let Some(sent) = self.send_plainly_at(class, values, tag, time) {
            return Ok(sent);
        }
        self.send_closely_at(class, values, tag, time)
    }

    /// As [`Self::send_closely`].
    pub fn send_closely_at(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        self.serve(Service::SendInteraction, |lrc| {
            lrc.send_interaction_at(class, values, tag, time)
        })
    }

    /// As [`Self::send_plainly`].
    #[inline(always)]
    pub fn send_plainly_at(
        &self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
        tag: &[u8],
        time: LogicalTime,
    ) -> Option<MessageRetractionHandle> {
        let service = Service::SendInteraction;
        let plainly = |lrc: &mut Lrc<Link>| lrc.send_plainly(class, values, tag, Some(time));
        self.serve_plainly(service, plainly)
    }

    /// Send Interaction With Regions with a time stamp, §9.12. The handle is 0 if it is not sent in
    /// time-stamp order.
    pub fn send_interaction_with_regions_at(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        self.serve(Service::SendInteractionWithRegions, |lrc| {
            lrc.send_interaction_with_regions_at(class, values, regions, tag, time)
        })
    }

    /// Query GALT, §8.16: the greatest available logical time; none where it is undefined. Also
    /// within callbacks.
    pub fn query_galt(&self) -> Result<Option<LogicalTime>, Exception> {
        self.bounds(Service::QueryGALT).map(|(galt, _)| galt)
    }

    /// Query LITS, §8.18: the least incoming time stamp; none where it is undefined. Also within
    /// callbacks.
    pub fn query_lits(&self) -> Result<Option<LogicalTime>, Exception> {
        self.bounds(Service::QueryLITS).map(|(_, lits)| lits)
    }

    fn bounds(&self, service: Service) -> Result<Bounds, Exception> {
        let _one = self.asking.lock();
        let query = |lrc: &mut Lrc<Link>| lrc.query_bounds(service);
        self.answer(service, query, |lrc, ()| lrc.bounds(service))
    }

    /// Confirm Divestiture, §7.6.
    pub fn confirm_divestiture(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        self.divest(Service::ConfirmDivestiture, |lrc| {
            lrc.confirm_divestiture(instance, attributes, tag)
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
        self.divest(Service::AttributeOwnershipDivestitureIfWanted, |lrc| {
            lrc.attribute_ownership_divestiture_if_wanted(instance, attributes, tag)
        })
    }

    /// The name of the federation execution's logical time implementation (getTimeFactory).
    pub fn time_implementation(&self) -> Result<String, Exception> {
        self.serve(Service::GetTimeFactory, Lrc::time_implementation)
    }

    /// The connection once a resignation that is under way has ended: whom the MOM has resigned is told that it is
    /// no member before the federation execution knows of it, and may join or disconnect.
    pub(crate) fn past_resignation(&self, service: Service) -> Result<Now, Exception> {
        let now = self.now(service)?;
        now.links.pump(None, |state| !state.lrc.is_resigning());
        Ok(now)
    }

    /// Throws what a service throws here and now before it looks at its arguments.
    pub fn require(&self, service: Service) -> Result<(), Exception> {
        self.now(service)?
            .serve_unmeasured(service, |lrc| lrc.require(service))
    }

    /// Divests what others want, and waits to hear what that was. Also within callbacks.
    fn divest(
        &self,
        service: Service,
        request: impl FnOnce(&mut Lrc<Link>) -> Result<RequestNumber, Exception>,
    ) -> Result<Vec<AttributeHandle>, Exception> {
        self.answer(service, request, |lrc, request| {
            lrc.divested(service, *request)
        })
    }

    /// Starts a service whose answer will come, and waits for it.
    fn ask(
        &self,
        service: Service,
        start: impl FnOnce(&mut Lrc<Link>) -> Result<(), Exception>,
    ) -> Result<Answer, Exception> {
        let _one = self.asking.lock();
        self.answer(service, start, |lrc, ()| {
            let answer = lrc.answer()?;
            Some(answer.map_err(|e| e.in_service(service)))
        })
    }

    /// Starts a service and reads on, on the same connection, until its answer is there.
    fn answer<S, A>(
        &self,
        service: Service,
        start: impl FnOnce(&mut Lrc<Link>) -> Result<S, Exception>,
        mut answered: impl FnMut(&mut Lrc<Link>, &S) -> Option<Result<A, Exception>>,
    ) -> Result<A, Exception> {
        let now = self.now(service)?;
        // Who resigns reads on, but keeps nothing.
        if service != Service::ResignFederationExecution {
            let room = now.links.lock().require_room(0);
            room.map_err(|e| e.in_service(service))?;
        }
        let begun = Calls::begin(now.links.calls());
        let started = now.serve_unmeasured(service, start)?;
        now.links.lock().flush();
        let mut answer = None;
        now.links.pump(None, |state| {
            if answer.is_none() {
                answer = answered(&mut state.lrc, &started);
            }
            answer.is_some()
        });
        begun.end(now.links.calls(), service);
        answer.unwrap_or_else(|| Err(ended(&now.links, service)))
    }
}

/// The connection has ended while a service waited for its answer.
fn ended(links: &Links, service: Service) -> Exception {
    let state = links.lock();
    let why = state.lrc.lost().unwrap_or("another thread disconnected");
    let why = format!("the connection ended before the answer came: {why}");
    Exception::new(state.lrc.kind_of_end(), why).in_service(service)
}

/// The rows of the table of services as methods.
macro_rules! methods {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl RtiAmbassador {$(
            $(#[$doc])*
            pub fn $method(&self $(, $argument: $type)*) -> Result<$result, Exception> {
                self.serve(Service::$service, |lrc| lrc.$method($($argument),*))
            }
        )*}
    };
}
starling_core::services!(methods);
