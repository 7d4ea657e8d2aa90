//! HLAadjust interactions, and the timer of periodic updates.

use super::attributes::{is_periodic, periodic_names};
use super::encoding::Decoder;
use super::execution::{PERIOD_MAX, Period, Why};
use super::reports::{Fault, Given};
use super::{instance_of, unknown};
use crate::execution::Execution;
use crate::message::Cause;
#[cfg(test)]
use crate::message::SubscribedAttribute;
use crate::message::mom::{Entry, Switches};
use crate::{AttributeHandle, FederateHandle, ObjectInstanceHandle, Owner, PeerId};
use std::time::Duration;

/// Why a federate's service invocations are not reported.
pub(super) fn reported_to_itself(federate: FederateHandle) -> String {
    format!(
        "{federate} subscribes to HLAreportServiceInvocation, so its own service invocations can't \
         be reported"
    )
}

impl Execution {
    /// HLAmanager.HLAfederate.HLAadjust.
    pub(super) fn adjust_federate(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        what: &str,
        given: &Given<'_>,
    ) -> Result<(), Fault> {
        match what {
            "HLAsetTiming" => {
                let seconds = given.get("HLAreportPeriod", Decoder::number)?;
                if seconds > PERIOD_MAX {
                    let why = "parameter HLAreportPeriod is less than 0 seconds";
                    return Err(Fault::malformed(why));
                }
                let length = Duration::from_secs(seconds.into());
                let due = self.mom.now + length;
                let period = (seconds > 0).then_some(Period { length, due });
                self.mom.set_period(federate, period);
            }
            "HLAmodifyAttributeState" => {
                let instance = given.get("HLAobjectInstance", Decoder::instance)?;
                let attribute = given.get("HLAattribute", Decoder::handle)?;
                let owned = given.get("HLAattributeState", Decoder::boolean)?;
                let instance = ObjectInstanceHandle(instance);
                let attribute = AttributeHandle::from_raw(attribute);
                self.modify_attribute_state(cause, federate, instance, attribute, owned)?;
            }
            "HLAsetSwitches" => {
                let regions = given.optional("HLAconveyRegionDesignatorSets", Decoder::boolean)?;
                let producer = given.optional("HLAconveyProducingFederate", Decoder::boolean)?;
                self.set_switches(cause, federate, |switches| {
                    switches.convey_regions = regions.unwrap_or(switches.convey_regions);
                    switches.convey_producer = producer.unwrap_or(switches.convey_producer);
                });
            }
            "HLAsetServiceReporting" => {
                let on = given.get("HLAreportingState", Decoder::boolean)?;
                if on && self.hears_of_services(federate) {
                    return Err(Fault::refused(reported_to_itself(federate)));
                }
                self.set_switches(cause, federate, |s| s.report_services = on);
            }
            "HLAsetExceptionReporting" => {
                let on = given.get("HLAreportingState", Decoder::boolean)?;
                self.set_switches(cause, federate, |s| s.report_exceptions = on);
            }
            _ => return Err(unknown(what)),
        }
        Ok(())
    }

    /// HLAmanager.HLAfederation.HLAadjust.
    pub(super) fn adjust_federation(&mut self, what: &str, given: &Given<'_>) -> Result<(), Fault> {
        if what != "HLAsetSwitches" {
            return Err(unknown(what));
        }
        let auto_provide = given.optional("HLAautoProvide", Decoder::boolean)?;
        if let Some(on) = auto_provide
            && on != self.auto_provide()
        {
            self.mom.auto_provide = Some(on);
            self.federation_changed(&["HLAautoProvide"]);
        }
        Ok(())
    }

    /// The Auto-Provide Switch: the FDD's until it is set.
    pub(crate) fn auto_provide(&self) -> bool {
        let fdd = self.model.switches().auto_provide;
        self.mom.auto_provide.unwrap_or(fdd)
    }

    /// The switches of a member.
    pub(super) fn switches(&self, federate: FederateHandle) -> Switches {
        let managed = self.mom.federates.get(&federate);
        managed.map_or_else(|| Switches::of(&self.model), |m| m.switches)
    }

    /// Whether any member has conveyed to it which regions messages were sent with.
    pub(crate) fn conveys_regions(&self) -> bool {
        let mut all = self.mom.federates.values();
        all.any(|m| m.switches.convey_regions)
    }

    pub(super) fn set_switches(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        set: impl FnOnce(&mut Switches),
    ) {
        let before = self.switches(federate);
        let mut now = before;
        set(&mut now);
        if now == before {
            return;
        }
        if let Some(managed) = self.mom.federates.get_mut(&federate) {
            managed.switches = now;
        }
        self.log.tell(cause, &[federate], Entry::Switches(now));
        if now.convey_regions != before.convey_regions {
            self.changed(federate, &["HLAconveyRegionDesignatorSets"]);
        }
        if now.convey_producer != before.convey_producer {
            self.changed(federate, &["HLAconveyProducingFederate"]);
        }
    }

    /// Whether a federate receives HLAreportServiceInvocation.
    pub(super) fn hears_of_services(&self, federate: FederateHandle) -> bool {
        let class = self
            .model
            .interaction_class_by_name(super::SERVICE_INVOCATION);
        class.is_some_and(|c| self.subscribers(c.handle).contains(&federate))
    }

    /// HLAmodifyAttributeState: whether what it asks for can be, then it is so.
    fn modify_attribute_state(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owned: bool,
    ) -> Result<(), Fault> {
        let known = self.objects.get(handle);
        let known = known.and_then(|i| i.known_class(federate));
        let Some(class) = known.filter(|_| !self.time.is_deleting(handle)) else {
            return Err(Fault::refused(format!("{federate} does not know {handle}")));
        };
        if self.slot(handle, attribute).is_none() {
            let why = format!("{handle} has no attribute {attribute}");
            return Err(Fault::refused(why));
        }
        let owner = self.owner(handle, Some(attribute));
        match (owner, owned) {
            (Some(Owner::Rti), _) => {
                return Err(Fault::refused(format!(
                    "attribute {attribute} of {handle} is owned by the RTI"
                )));
            }
            (Some(Owner::Federate(owner)), true) if owner == federate => return Ok(()),
            (owner, false) if owner != Some(federate.into()) => {
                return Err(Fault::refused(format!(
                    "{federate} does not own attribute {attribute} of {handle}"
                )));
            }
            _ => {}
        }
        let publishes = self.published_by(federate, class).contains(&attribute);
        if owned && !publishes {
            return Err(Fault::refused(format!(
                "{federate} does not publish attribute {attribute} at the class at which it knows {handle}"
            )));
        }
        self.own_silently(cause, (handle, attribute), federate, owned);
        Ok(())
    }

    /// When the next periodic update is due that somebody subscribes to, since the executive began.
    pub(crate) fn next_timeout(&self) -> Option<Duration> {
        let periodically = |attribute: AttributeHandle| {
            let attribute = self.model.attribute(attribute);
            attribute.is_some_and(|a| is_periodic(&a.name))
        };
        let wanted = |federate: FederateHandle| {
            #[cfg(test)]
            super::looks::one_more();
            let Some(instance) = self.objects.get(instance_of(federate)) else {
                return false;
            };
            let mut knowing = instance.knowing();
            knowing.any(|by| self.subscribed_of(by, instance).any(periodically))
        };
        let mut periodic = self.mom.periodic.iter();
        periodic.find(|(_, f)| wanted(*f)).map(|(due, _)| *due)
    }

    /// Makes the periodic updates that are due, for those members for whose connections there is room.
    pub(crate) fn handle_timeout(&mut self, has_room: &dyn Fn(PeerId) -> bool) {
        let now = self.mom.now;
        let takes = |federate: &FederateHandle| self.log.peer(*federate).is_some_and(has_room);
        let members = self.log.members().into_iter();
        self.mom.full = members.filter(|federate| !takes(federate)).collect();
        let mut due = Vec::new();
        while let Some((at, federate)) = self.mom.periodic.first().copied().filter(|p| p.0 <= now) {
            let managed = self.mom.federates.get(&federate);
            let length = managed.and_then(|m| Some(m.period.as_ref()?.length));
            // What could not be made in time is not made up for.
            let next = length.map(|length| Period {
                length,
                due: (at + length).max(now + length / 2),
            });
            self.mom.set_period(federate, next);
            due.push(federate);
        }
        for federate in due {
            self.log.advance();
            self.update_named(instance_of(federate), &periodic_names(), Why::Due);
        }
    }
}

#[cfg(test)]
impl Execution {
    /// Gives a federate periodic updates of which one is due then, to which another subscribes.
    pub(crate) fn set_period_for_tests(
        &mut self,
        federate: FederateHandle,
        due: Duration,
        subscriber: FederateHandle,
    ) {
        let length = Duration::from_secs(1000);
        self.mom.set_period(federate, Some(Period { length, due }));
        let instance = self.objects.get_mut(instance_of(federate));
        let instance = instance.expect("every member has one");
        let class = instance.class();
        instance.set_known(subscriber, class);
        let time = self.model.attribute_by_name(class, "HLAlogicalTime");
        let time = SubscribedAttribute {
            attribute: time.expect("the MIM has it"),
            active: true,
            rate: String::new(),
        };
        let now = self.log.index();
        let table = self.subscriptions.change();
        table.set_object(subscriber, class, vec![time], now);
    }
}
