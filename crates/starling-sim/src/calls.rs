//! Services as the federates of a program call them: each is counted, by its room and name or by the exception that
//! it throws; what is refused later, by an answer, counts as called.

use crate::program::Report;
use starling_bed::Sent;
use starling_core::message::{RequestNumber, ResignAction};
use starling_core::{
    AttributeHandle, Exception, InteractionClassHandle, LogicalTime, Lrc, MessageRetractionHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle, Service,
};
use std::ops::Deref;

/// An LRC, to look at, and to call services of: no way to call one goes past their count.
pub(crate) struct Caller<'a> {
    lrc: &'a mut Lrc<Sent>,
    report: &'a mut Report,
}

impl Deref for Caller<'_> {
    type Target = Lrc<Sent>;

    fn deref(&self) -> &Lrc<Sent> {
        self.lrc
    }
}

impl<'a> Caller<'a> {
    pub(crate) fn new(lrc: &'a mut Lrc<Sent>, report: &'a mut Report) -> Self {
        Caller { lrc, report }
    }

    /// The time for update rates.
    pub(crate) fn set_time_us(&mut self, now: u64) {
        self.lrc.set_time_us(now);
    }

    pub(crate) fn query_bounds(&mut self, service: Service) -> Result<(), Exception> {
        let done = self.lrc.query_bounds(service);
        self.report.called(service, done)
    }

    /// By its action, too.
    pub(crate) fn resign_federation_execution(
        &mut self,
        action: ResignAction,
    ) -> Result<(), Exception> {
        let done = self.lrc.resign_federation_execution(action);
        if done.is_ok() {
            self.report.count(format!("resign: {}", action.name()), 1);
        }
        self.report.called(Service::ResignFederationExecution, done)
    }
}

/// Rows as the table of services has them.
macro_rules! counted {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[allow(dead_code, reason = "programs call most of them, not all")]
        impl Caller<'_> {$(
            pub(crate) fn $method(&mut self $(, $argument: $type)*) -> Result<$result, Exception> {
                let done = self.lrc.$method($($argument),*);
                self.report.called(Service::$service, done)
            }
        )*}
    };
}
starling_core::services!(counted);
counted! {
    UpdateAttributeValues update_attribute_values(instance: ObjectInstanceHandle, values: &[(AttributeHandle, &[u8])], tag: &[u8]) -> ();
    UpdateAttributeValues update_attribute_values_at(instance: ObjectInstanceHandle, values: &[(AttributeHandle, &[u8])], tag: &[u8], time: LogicalTime) -> MessageRetractionHandle;
    SendInteraction send_interaction(class: InteractionClassHandle, values: &[(ParameterHandle, &[u8])], tag: &[u8]) -> ();
    SendInteraction send_interaction_at(class: InteractionClassHandle, values: &[(ParameterHandle, &[u8])], tag: &[u8], time: LogicalTime) -> MessageRetractionHandle;
    SendInteractionWithRegions send_interaction_with_regions(class: InteractionClassHandle, values: &[(ParameterHandle, &[u8])], regions: &[RegionHandle], tag: &[u8]) -> ();
    SendInteractionWithRegions send_interaction_with_regions_at(class: InteractionClassHandle, values: &[(ParameterHandle, &[u8])], regions: &[RegionHandle], tag: &[u8], time: LogicalTime) -> MessageRetractionHandle;
    ConfirmDivestiture confirm_divestiture(instance: ObjectInstanceHandle, attributes: &[AttributeHandle], tag: &[u8]) -> RequestNumber;
    AttributeOwnershipDivestitureIfWanted attribute_ownership_divestiture_if_wanted(instance: ObjectInstanceHandle, attributes: &[AttributeHandle], tag: &[u8]) -> RequestNumber;
}
