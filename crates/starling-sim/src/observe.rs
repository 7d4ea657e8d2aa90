//! What a federate hears of the management object model beside whatever else its program does (1516.1-2010, 11): the
//! RTI's own object instances, what they are worth, and its reports.
//!
//! Invariants, for each that takes its callbacks:
//! - reports of a federate's services are numbered without a gap, and none are of its own to itself;
//! - whatever it asks for is told by the time that all has come to rest: values, counts, what was wrong with an
//!   interaction to the RTI, who was lost;
//! - what it was told last of what the RTI tells when it changes is what it is told when it asks anew, and is so.

use crate::calls::Caller;
use starling_core::{
    AttributeHandle, Callback, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle,
    ObjectModel, Owner,
};
use std::collections::{BTreeMap, BTreeSet};

const FEDERATE: &str = "HLAmanager.HLAfederate";
const CLASSES: [&str; 2] = [FEDERATE, "HLAmanager.HLAfederation"];
const REQUEST: &str = "HLAmanager.HLAfederate.HLArequest.HLArequestUpdatesSent";
const REPORTS: &str = "HLAmanager.HLAfederate.HLAreport";
const SERVICES: &str = "HLAreportServiceInvocation";
/// All federates subscribe to these.
const HEARD: [&str; 4] = [
    "HLAreportUpdatesSent",
    "HLAreportException",
    "HLAreportMOMexception",
    "HLAreportFederateLost",
];

/// Attributes that are told when they change, whenever that is.
const TOLD_AT_ONCE: [&str; 11] = [
    "HLAfederateHandle",
    "HLAfederateState",
    "HLAtimeManagerState",
    "HLAtimeRegulating",
    "HLAtimeConstrained",
    "HLAasynchronousDelivery",
    "HLAconveyProducingFederate",
    "HLAfederatesInFederation",
    "HLAautoProvide",
    "HLAlastSaveName",
    "HLAnextSaveName",
];

/// What of a federate is adjusted, and by which parameter.
#[derive(Clone, Copy)]
pub(crate) enum Adjust {
    Timing,
    ConveyProducer,
    ReportServices,
    ReportExceptions,
}

impl Adjust {
    const ALL: [Adjust; 4] = [
        Adjust::Timing,
        Adjust::ConveyProducer,
        Adjust::ReportServices,
        Adjust::ReportExceptions,
    ];

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Adjust::Timing => ("HLAsetTiming", "HLAreportPeriod"),
            Adjust::ConveyProducer => ("HLAsetSwitches", "HLAconveyProducingFederate"),
            Adjust::ReportServices => ("HLAsetServiceReporting", "HLAreportingState"),
            Adjust::ReportExceptions => ("HLAsetExceptionReporting", "HLAreportingState"),
        }
    }

    fn class(self) -> String {
        format!("HLAmanager.HLAfederate.HLAadjust.{}", self.names().0)
    }

    /// What it is called in the coverage.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Adjust::Timing => "mom: period",
            Adjust::ConveyProducer => "mom: switch",
            Adjust::ReportServices => "mom: report services",
            Adjust::ReportExceptions => "mom: report exceptions",
        }
    }
}

/// A federate has the RTI adjust what it does with some federate.
pub(crate) fn adjust(
    f: &mut Caller<'_>,
    of: FederateHandle,
    what: Adjust,
    number: u32,
) -> Result<(), Exception> {
    let class = f.interaction_class_handle(&what.class())?;
    let of_federate = f.parameter_handle(class, "HLAfederate")?;
    let to = f.parameter_handle(class, what.names().1)?;
    let whom = handle(of);
    let values = [(of_federate, &whom[..]), (to, &number.to_be_bytes())];
    f.send_interaction(class, &values, b"")
}

/// A federate's handle as a value.
fn handle(of: FederateHandle) -> Vec<u8> {
    [4, of.0].map(u32::to_be_bytes).concat()
}

/// The last four bytes, big endian, which are all of a small number, a count and a handle.
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.last_chunk().expect("it is a number"))
}

/// What a federate is told of the others, and has yet to be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observer {
    /// It is told which services are invoked: then its own are not reported.
    pub(crate) hears_of_services: bool,
    /// The RTI's own object instances that it has discovered, by their classes.
    known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    subscribed: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    /// Of these it may have been told what was so before it subscribed to them again.
    again: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    /// What was told last.
    told: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Vec<u8>>,
    /// The same before it has asked anew.
    before: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Vec<u8>>,
    /// The number of the last report of each federate's services.
    reports: BTreeMap<FederateHandle, u32>,
    /// Those whom it has asked about since it was told of them last.
    asked: BTreeSet<FederateHandle>,
    /// Interactions to the RTI that lacked a parameter, and of which it was not told yet.
    malformed: u32,
    /// Federates that have died since, likewise.
    lost: BTreeSet<FederateHandle>,
}

impl Observer {
    /// The RTI's own object instances that it knows.
    pub(crate) fn known(&self) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        self.known.keys().copied()
    }

    /// A joiner publishes what it says to the RTI and subscribes to what that says.
    pub(crate) fn begin(
        &mut self,
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
    ) -> Result<(), Exception> {
        self.hears_of_services = draw.u8(..3) == 0;
        let said = Adjust::ALL.map(Adjust::class);
        for class in said
            .iter()
            .map(String::as_str)
            .chain([REQUEST, AUTO_PROVIDE])
        {
            let class = f.interaction_class_handle(class)?;
            f.publish_interaction_class(class)?;
        }
        let services = self.hears_of_services.then_some(SERVICES);
        for report in HEARD.into_iter().chain(services) {
            let class = f.interaction_class_handle(&format!("{REPORTS}.{report}"))?;
            f.subscribe_interaction_class(class, true)?;
        }
        if draw.u8(..3) > 0 {
            for class in CLASSES {
                self.subscribe(draw, f, class)?;
            }
        }
        Ok(())
    }

    /// Says something to the RTI, or wants to hear other things of it. What it was, if it may do that now.
    pub(crate) fn act(
        &mut self,
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
        there: &[FederateHandle],
    ) -> Result<&'static str, Exception> {
        let class = CLASSES[draw.usize(..CLASSES.len())];
        Ok(match draw.u8(..12) {
            0..4 => {
                self.subscribe(draw, f, class)?;
                "mom: subscribe"
            }
            4 => {
                self.unsubscribe(draw, f, class)?;
                "mom: unsubscribe"
            }
            5..8 => {
                self.ask_for_values(draw, f, class)?;
                "mom: ask for values"
            }
            8 => {
                let class = f.interaction_class_handle(REQUEST)?;
                f.send_interaction(class, &[], b"")?;
                self.malformed += 1;
                "mom: a parameter is missing"
            }
            9 => {
                let class = f.interaction_class_handle(AUTO_PROVIDE)?;
                let on = f.parameter_handle(class, "HLAautoProvide")?;
                let value = u32::from(draw.bool()).to_be_bytes();
                f.send_interaction(class, &[(on, &value)], b"")?;
                "mom: auto-provide"
            }
            _ => {
                let about = there[draw.usize(..there.len())];
                let class = f.interaction_class_handle(REQUEST)?;
                let of = f.parameter_handle(class, "HLAfederate")?;
                f.send_interaction(class, &[(of, &handle(about))], b"")?;
                self.asked.insert(about);
                "mom: ask"
            }
        })
    }

    fn some(
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
        class: &str,
    ) -> Result<(ObjectClassHandle, Vec<AttributeHandle>), Exception> {
        let class = f.object_class_handle(class)?;
        let federate = f.federate().expect("it has joined");
        let all = federate
            .model()
            .object_class(class)
            .expect("it is in the MIM");
        // Not the privilege to delete, which has no value.
        let mut attributes = all.attributes[1..].to_vec();
        draw.shuffle(&mut attributes);
        attributes.truncate(draw.usize(1..=attributes.len()));
        Ok((class, attributes))
    }

    fn subscribe(
        &mut self,
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
        class: &str,
    ) -> Result<(), Exception> {
        let (class, attributes) = Self::some(draw, f, class)?;
        f.subscribe_object_class_attributes(class, &attributes, draw.bool(), "")?;
        let new = attributes.into_iter().map(|a| (class, a));
        let new = new.filter(|a| !self.subscribed.contains(a));
        let new: Vec<_> = new.collect();
        self.again.extend(&new);
        self.subscribed.extend(new);
        Ok(())
    }

    fn unsubscribe(
        &mut self,
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
        class: &str,
    ) -> Result<(), Exception> {
        let (class, attributes) = Self::some(draw, f, class)?;
        f.unsubscribe_object_class_attributes(class, &attributes)?;
        for attribute in attributes {
            self.subscribed.remove(&(class, attribute));
            self.told.retain(|(_, a), _| *a != attribute);
        }
        Ok(())
    }

    fn ask_for_values(
        &mut self,
        draw: &mut fastrand::Rng,
        f: &mut Caller<'_>,
        class: &str,
    ) -> Result<(), Exception> {
        let (class, attributes) = Self::some(draw, f, class)?;
        let known = self.known.iter().filter(|(_, of)| **of == class);
        let known: Vec<_> = known.map(|(instance, _)| *instance).collect();
        if known.is_empty() || draw.bool() {
            return f.request_class_attribute_value_update(class, &attributes, b"");
        }
        let instance = known[draw.usize(..known.len())];
        f.request_instance_attribute_value_update(instance, &attributes, b"")
    }

    /// What of the management object model a callback is, for the coverage; none if it is something else.
    pub(crate) fn hears(
        &mut self,
        me: FederateHandle,
        model: &ObjectModel,
        callback: &Callback,
    ) -> Option<&'static str> {
        let own = |instance: &ObjectInstanceHandle| instance.registrar() == Owner::Rti;
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } if own(instance) => {
                let twice = self.known.insert(*instance, *class);
                assert_eq!(twice, None, "{me} discovers {instance} twice");
                Some("mom: an instance is discovered")
            }
            Callback::RemoveObjectInstance { instance, .. } if own(instance) => {
                let known = self.known.remove(instance);
                assert!(known.is_some(), "{me} does not know {instance}");
                self.told.retain(|(of, _), _| of != instance);
                Some("mom: an instance is removed")
            }
            Callback::ReflectAttributeValues {
                instance, values, ..
            } if own(instance) => {
                let class = self.known.get(instance);
                let class = *class.unwrap_or_else(|| panic!("{me} does not know {instance}"));
                for (attribute, value) in values.iter() {
                    let subscribed = self.subscribed.contains(&(class, attribute));
                    assert!(subscribed, "{me} is told {attribute} of {instance}");
                    self.told.insert((*instance, attribute), value.to_vec());
                }
                Some("mom: values are told")
            }
            Callback::ReceiveInteraction { class, values, .. } => {
                let name = &model.interaction_class(*class)?.name;
                let report = name.strip_prefix("HLAinteractionRoot.")?;
                let report = report.strip_prefix(REPORTS)?.strip_prefix('.')?;
                let value = |name: &str| {
                    let parameter = model.parameter_by_name(*class, name);
                    let value = values.iter().find(|(p, _)| Some(*p) == parameter);
                    number(value.unwrap_or_else(|| panic!("{report} lacks {name}")).1)
                };
                let of = FederateHandle(value("HLAfederate"));
                Some(self.hears_report(me, of, report, value))
            }
            _ => None,
        }
    }

    fn hears_report(
        &mut self,
        me: FederateHandle,
        of: FederateHandle,
        report: &str,
        value: impl Fn(&str) -> u32,
    ) -> &'static str {
        match report {
            SERVICES => {
                let serial = value("HLAserialNumber");
                assert_ne!(of, me, "its own services are reported to itself");
                if let Some(last) = self.reports.insert(of, serial) {
                    assert_eq!(serial, last + 1, "{me} is told of services of {of}");
                }
                "mom: a service is reported"
            }
            "HLAreportUpdatesSent" => {
                self.asked.remove(&of);
                "mom: counts are reported"
            }
            "HLAreportException" => "mom: an exception is reported",
            "HLAreportMOMexception" => {
                if of == me && value("HLAparameterError") == 1 {
                    let left = self.malformed.checked_sub(1);
                    self.malformed = left.expect("nothing was wrong with what it said");
                }
                "mom: what is wrong is reported"
            }
            "HLAreportFederateLost" => {
                assert_ne!(of, me, "it is there");
                self.lost.remove(&of);
                "mom: a lost federate is reported"
            }
            other => panic!("{me} does not subscribe to {other}"),
        }
    }

    /// A federate has died, of which this one is to be told.
    pub(crate) fn loses(&mut self, dead: FederateHandle) {
        self.lost.insert(dead);
    }

    /// Who has died since the save may live again.
    pub(crate) fn is_restored(&mut self) {
        self.lost.clear();
    }

    /// All has come to rest: whatever it has asked for was told; `there`: those who are.
    pub(crate) fn is_answered(&self, me: FederateHandle, there: &BTreeSet<FederateHandle>) {
        let unanswered = self.asked.intersection(there).next();
        assert_eq!(unanswered, None, "{me} waits for what that has counted");
        assert_eq!(self.malformed, 0, "{me} waits to hear what was wrong");
        let unheard = self.lost.first();
        assert_eq!(unheard, None, "{me} was not told that it died");
    }

    /// Asks once more for all that it subscribes to.
    pub(crate) fn ask_anew(&mut self, f: &mut Caller<'_>) -> Result<(), Exception> {
        self.before = std::mem::take(&mut self.told);
        for class in CLASSES {
            let class = f.object_class_handle(class)?;
            let of_class = self.subscribed.iter().filter(|(of, _)| *of == class);
            let attributes: Vec<_> = of_class.map(|(_, attribute)| *attribute).collect();
            if !attributes.is_empty() {
                f.request_class_attribute_value_update(class, &attributes, b"")?;
            }
        }
        Ok(())
    }

    /// It was told all of it, and what it knew was so; `is`: what something of a federate is, by the federate's own
    /// program.
    pub(crate) fn compare(
        &mut self,
        me: FederateHandle,
        model: &ObjectModel,
        there: &BTreeSet<FederateHandle>,
        is: impl Fn(FederateHandle, &str) -> Option<u32>,
    ) {
        for (instance, class) in &self.known {
            let subscribed = self.subscribed.iter().filter(|(of, _)| of == class);
            let named = |name| model.attribute_by_name(*class, name);
            let of = named("HLAfederateHandle").and_then(|a| self.told.get(&(*instance, a)));
            let of = of.map(|value| FederateHandle(number(value)));
            for (_, attribute) in subscribed {
                let name = &model.attribute(*attribute).expect("it is in the MIM").name;
                let place = (*instance, *attribute);
                let told = self.told.get(&place);
                let told = told.unwrap_or_else(|| panic!("{me} is not told {name} of {instance}"));
                let what = || format!("{name} of {instance}, as {me} is told");
                if let Some(is) = of.and_then(|of| is(of, name)) {
                    assert_eq!(number(told), is, "{}", what());
                }
                if name == "HLAfederatesInFederation" {
                    let list = there.iter().flat_map(|f| handle(*f));
                    let list: Vec<_> = (there.len() as u32)
                        .to_be_bytes()
                        .into_iter()
                        .chain(list)
                        .collect();
                    assert_eq!(*told, list, "{}", what());
                }
                let at_once = TOLD_AT_ONCE.contains(&name.as_str());
                if at_once
                    && !self.again.contains(&(*class, *attribute))
                    && let Some(before) = self.before.get(&place)
                {
                    assert_eq!(before, told, "{}, was told otherwise before", what());
                }
            }
        }
        self.again.clear();
        self.before.clear();
    }
}

const AUTO_PROVIDE: &str = "HLAmanager.HLAfederation.HLAadjust.HLAsetSwitches";
