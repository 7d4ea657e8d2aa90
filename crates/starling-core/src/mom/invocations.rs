//! Service Reporting and Exception Reporting (1516.1-2010, 11.4.3): what a federate and the RTI call of
//! each other.
//!
//! The LRC tells of every call, at its one door, while either switch is on; the executive numbers the
//! reports. A federate that gets reports has none made of itself: its own would never end.

use super::arguments::shortened;
use super::encoding::Encoder;
use super::reports::{Fault, text};
use super::{SERVICE_INVOCATION, adjust};
use crate::exception::throw;
use crate::execution::Execution;
use crate::message::Cause;
use crate::message::mom::{Invocation, Request};
use crate::{Exception, Federate, InteractionClassHandle, ServiceGroup};
use starling_fom::ObjectModel;

/// Whether interactions of HLAreportServiceInvocation are received by who subscribes to a class.
fn receives_invocations(model: &ObjectModel, class: InteractionClassHandle) -> bool {
    let reported = model.interaction_class_by_name(SERVICE_INVOCATION);
    reported.is_some_and(|r| model.is_interaction_subclass_or_same(r.handle, class))
}

/// Makes a report fit into a message of so many bytes: with however much a call was made, its federate goes on.
fn shorten(invocation: &mut Invocation, bytes_max: usize) {
    /// What else stands in the message takes no more, with how much there is of each text that is cut.
    const REST_BYTES: usize = 512;
    let mut room = bytes_max.saturating_sub(REST_BYTES);
    let Invocation {
        supplied,
        returned,
        exception,
        ..
    } = invocation;
    for text in std::iter::once(exception).chain(supplied).chain(returned) {
        if text.len() > room {
            *text = shortened(text, room);
        }
        room = room.saturating_sub(text.len());
    }
}

impl Federate {
    /// Whether its calls are reported.
    #[inline]
    pub(crate) fn is_reported(&self) -> bool {
        let switches = &self.mom.switches;
        switches.report_services || switches.report_exceptions
    }

    /// A service was called, or a callback.
    #[cold]
    pub(crate) fn report_invocation(&mut self, mut invocation: Invocation) {
        if self.mom.switches.report_services || !invocation.exception.is_empty() {
            shorten(&mut invocation, self.frame_bytes_max);
            self.log.request(Request::Invoked(Box::new(invocation)));
        }
    }

    /// Refuses a subscription to reports while calls of this federate are reported (§5.8, §9.10).
    pub(crate) fn require_unreported(
        &self,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        if self.mom.switches.report_services && receives_invocations(&self.model, class) {
            throw!(
                FederateServiceInvocationsAreBeingReportedViaMOM,
                "the service invocations of this federate are being reported \
                 (HLAsetServiceReporting), so it can't subscribe to their reports"
            );
        }
        Ok(())
    }
}

impl Execution {
    /// A member has called, or was called.
    pub(super) fn report_invoked(&mut self, cause: Cause, invocation: &Invocation) {
        let federate = cause.sender;
        let switches = self.switches(federate);
        let failed = !invocation.exception.is_empty();
        if switches.report_services {
            let managed = self.mom.federates.get(&federate);
            let serial = managed.map_or(0, |m| m.reports);
            let list = |list: &[String]| Encoder::of(|e| e.list(list, |e, item| e.text(item)));
            let parameters = vec![
                ("HLAservice", text(&invocation.service)),
                ("HLAsuccessIndicator", Encoder::of(|e| e.boolean(!failed))),
                ("HLAsuppliedArguments", list(&invocation.supplied)),
                ("HLAreturnedArguments", list(&invocation.returned)),
                ("HLAexception", text(invocation.exception_name())),
                ("HLAserialNumber", Encoder::of(|e| e.count(serial))),
            ];
            let group = service_group(invocation.chapter);
            let about = Some(federate);
            let sent = self.report(cause, SERVICE_INVOCATION, about, group, parameters);
            if let Some(managed) = self.mom.federates.get_mut(&federate) {
                managed.reports += u64::from(sent);
            }
        }
        if switches.report_exceptions && failed {
            let parameters = vec![
                ("HLAservice", text(&invocation.service)),
                ("HLAexception", text(&invocation.exception)),
            ];
            let class = "HLAmanager.HLAfederate.HLAreport.HLAreportException";
            self.report(cause, class, Some(federate), None, parameters);
        }
    }

    /// A member has subscribed to an interaction class. Its calls may have begun to be reported when
    /// it did not know that yet: then they are no longer.
    pub(crate) fn exclude_reporting(&mut self, cause: Cause, class: InteractionClassHandle) {
        let federate = cause.sender;
        if receives_invocations(&self.model, class)
            && self.switches(federate).report_services
            && self.hears_of_services(federate)
        {
            self.set_switches(cause, federate, |s| s.report_services = false);
            let why = adjust::reported_to_itself(federate);
            let class =
                "HLAinteractionRoot.HLAmanager.HLAfederate.HLAadjust.HLAsetServiceReporting";
            self.report_mom_exception(cause, federate, class, Fault::refused(why));
        }
    }
}

/// The group of the services of a chapter.
fn service_group(chapter: u8) -> Option<ServiceGroup> {
    use ServiceGroup::*;
    Some(match chapter {
        4 => FederationManagement,
        5 => DeclarationManagement,
        6 => ObjectManagement,
        7 => OwnershipManagement,
        8 => TimeManagement,
        9 => DataDistributionManagement,
        10 => SupportServices,
        _ => return None,
    })
}
