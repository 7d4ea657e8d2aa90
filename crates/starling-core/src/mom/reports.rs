//! HLArequest interactions and the HLAreport interactions that answer them.

use super::counts::Counted;
use super::encoding::{Decoder, Encoder, data_type};
use super::execution::Waiting;
use super::objects::mim_text;
use super::unknown;
use crate::execution::Execution;
use crate::message::mom::{Counts, Entry, SlotValues};
use crate::message::{Cause, ModuleSource, Subscription};
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ProtocolError, ServiceGroup, Transportation,
};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Parameters of a report, by name.
pub(crate) type Parameters = Vec<(&'static str, Vec<u8>)>;

/// The largest value of a parameter or attribute that the RTI sends.
pub(crate) const VALUE_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };

/// Why an interaction to the RTI has no effect, for HLAreportMOMexception.
pub(super) struct Fault {
    /// What is wrong, as a sentence.
    pub(super) why: String,
    /// A parameter is missing or malformed.
    pub(super) parameter: bool,
}

impl Fault {
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Fault {
            why: why.into(),
            parameter: false,
        }
    }

    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Fault {
            why: why.into(),
            parameter: true,
        }
    }
}

/// The parameters of an interaction to the RTI.
pub(super) struct Given<'a> {
    by_name: BTreeMap<String, &'a [u8]>,
}

impl<'a> Given<'a> {
    /// Of an interaction of this class; none if it has no such parameters.
    pub(super) fn of(
        model: &ObjectModel,
        class: InteractionClassHandle,
        values: &'a SlotValues,
    ) -> Option<Self> {
        let class = model.interaction_class(class)?;
        let named = values.iter().map(|(slot, value)| {
            let parameter = class.parameters.get(*slot as usize)?;
            Some((model.parameter(*parameter)?.name.clone(), value.as_slice()))
        });
        let by_name = named.collect::<Option<_>>()?;
        Some(Given { by_name })
    }

    /// A parameter that must be there.
    pub(super) fn get<T>(
        &self,
        name: &str,
        read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
    ) -> Result<T, Fault> {
        let value = self.optional(name, read)?;
        value.ok_or_else(|| Fault::malformed(format!("parameter {name} is missing")))
    }

    /// A parameter that may be left out.
    pub(super) fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(bytes) = self.by_name.get(name) else {
            return Ok(None);
        };
        match Decoder::whole(bytes, read) {
            Some(value) => Ok(Some(value)),
            None => Err(Fault::malformed(format!(
                "parameter {name} is no value of its data type in the MIM ({} bytes): {}",
                bytes.len(),
                data_type(name)
            ))),
        }
    }
}

/// The class below HLAmanager of which an interaction to the RTI is, whatever subclass of it was sent:
/// `HLAfederate.HLArequest.HLArequestPublications`.
pub(super) fn class_of_rti(name: &str) -> String {
    let steps: Vec<_> = name.split('.').skip(2).take(3).collect();
    steps.join(".")
}

impl Execution {
    /// An interaction came that the RTI acts on.
    pub(super) fn interaction_to_rti(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        values: &SlotValues,
    ) -> Result<(), ProtocolError> {
        let model = Arc::clone(&self.model);
        let Some(sent) = model.interaction_class(class) else {
            return Err(ProtocolError(format!("no interaction class {class}")));
        };
        let Some(given) = Given::of(&model, class, values) else {
            let why = format!("values of '{}' that are no parameters of it", sent.name);
            return Err(ProtocolError(why));
        };
        let name = class_of_rti(&sent.name);
        let mut about = cause.sender;
        let done = match name.strip_prefix("HLAfederate.HLAservice.") {
            Some(service) => self.act_for(cause, (class, service), values, &given, &mut about),
            None => self.act_on(cause, &name, &given, &mut about),
        };
        if let Err(fault) = done {
            self.report_mom_exception(cause, about, &sent.name, fault);
        }
        Ok(())
    }

    /// Lets the federate that an HLAservice interaction names call the service; `about` becomes it.
    fn act_for(
        &mut self,
        cause: Cause,
        (class, service): (InteractionClassHandle, &str),
        values: &SlotValues,
        given: &Given<'_>,
        about: &mut FederateHandle,
    ) -> Result<(), Fault> {
        *about = self.named_federate(given)?;
        // The federate says nothing of its own when it leaves.
        if service == "HLAresignFederationExecution" {
            let why = format!(
                "it asks that {} resign (HLAresignFederationExecution, 1516.1-2010, 11.4.4)",
                self.federate_text(*about)
            );
            let peer = self.log.peer(cause.sender);
            self.notes.extend(peer.map(|peer| (Some(peer), why)));
        }
        let act = Entry::Act {
            class,
            values: values.clone(),
        };
        self.log.tell(cause, &[*about], act);
        Ok(())
    }

    /// The joined federate that an interaction names.
    fn named_federate(&self, given: &Given<'_>) -> Result<FederateHandle, Fault> {
        let federate = FederateHandle(given.get("HLAfederate", Decoder::handle)?);
        if self.federation.is_member(federate) {
            Ok(federate)
        } else {
            Err(Fault::refused(format!(
                "HLAfederate names {federate}, which is not joined"
            )))
        }
    }

    /// Acts on an interaction of a class; `about` becomes the federate that it names.
    fn act_on(
        &mut self,
        cause: Cause,
        class: &str,
        given: &Given<'_>,
        about: &mut FederateHandle,
    ) -> Result<(), Fault> {
        let (of, rest) = class.split_once('.').unwrap_or_default();
        if of == "HLAfederation" {
            return match rest.split_once('.') {
                Some(("HLAadjust", what)) => self.adjust_federation(what, given),
                Some(("HLArequest", what)) => self.report_on_federation(cause, what, given),
                _ => Err(unknown(class)),
            };
        }
        let federate = self.named_federate(given)?;
        *about = federate;
        match rest.split_once('.') {
            Some(("HLAadjust", what)) => self.adjust_federate(cause, federate, what, given),
            Some(("HLArequest", what)) => self.report_on_federate(cause, federate, what, given),
            _ => Err(unknown(class)),
        }
    }

    /// Sends a report to those who subscribe to its class, if there are any. `about`: the federate that
    /// it is about. One that a value does not fit into is none: who has asked for it is told so.
    pub(super) fn report(
        &mut self,
        cause: impl Into<Option<Cause>>,
        class: &str,
        about: Option<FederateHandle>,
        group: Option<ServiceGroup>,
        parameters: Parameters,
    ) -> bool {
        let cause = cause.into();
        let model = Arc::clone(&self.model);
        let Some(class) = model.interaction_class_by_name(class) else {
            return false;
        };
        let audience = self.subscribers(class.handle);
        if audience.is_empty() {
            return false;
        }
        let (mut values, mut too_large) = (SlotValues::new(), None);
        let mut put = |name: &str, value: Vec<u8>| {
            let parameter = model.parameter_by_name(class.handle, name);
            if value.len() > VALUE_BYTES_MAX {
                let bytes = value.len();
                too_large = Some(format!(
                    "{name} takes {bytes} bytes, and the RTI sends no value of more than {VALUE_BYTES_MAX}"
                ));
            } else if let Some(slot) = parameter.and_then(|p| class.slot(p)) {
                values.push((slot, value));
            }
        };
        if let Some(about) = about {
            put("HLAfederate", Encoder::of(|e| e.handle(about.0)));
        }
        for (name, value) in parameters {
            put(name, value);
        }
        if let Some(why) = too_large {
            match cause {
                Some(asked) => {
                    let about = about.unwrap_or(asked.sender);
                    self.report_mom_exception(asked, about, &class.name, Fault::refused(why));
                }
                None => {
                    let why = format!("a report '{}' is not sent: {why}", class.name);
                    self.note_failure(None, why);
                }
            }
            return false;
        }
        let mut ranges = about.map(|f| self.about(f)).unwrap_or_default();
        let dimension = model.dimension_by_name("HLAserviceGroup");
        if let (Some(group), Some(dimension)) = (group, dimension) {
            ranges.push(crate::message::Range {
                dimension: dimension.handle,
                lower: group as u32,
                upper: group as u32 + 1,
            });
        }
        ranges.retain(|r| class.dimensions.contains(&r.dimension));
        ranges.sort_unstable_by_key(|r| r.dimension);
        let report = Entry::Interaction {
            class: class.handle,
            values,
            ranges,
        };
        self.log.tell(cause, &audience, report);
        true
    }

    /// Whether anybody hears a report of this class. What nobody hears is not put together: it costs
    /// all other federation executions their turn.
    fn is_heard(&self, class: &str) -> bool {
        let Some(class) = self.model.interaction_class_by_name(class) else {
            return false;
        };
        let mut lineage = self.model.interaction_lineage(class.handle);
        lineage.any(|class| {
            let mut here = self.subscriptions.at_interaction_class(class.handle);
            here.next().is_some()
        })
    }

    /// Who subscribes to a class or to a superclass of it, with regions or without.
    pub(super) fn subscribers(&self, class: InteractionClassHandle) -> Vec<FederateHandle> {
        let mut subscribers = BTreeSet::new();
        for class in self.model.interaction_lineage(class) {
            let here = self.subscriptions.at_interaction_class(class.handle);
            subscribers.extend(here.map(|(federate, _)| federate));
        }
        subscribers.into_iter().collect()
    }

    /// HLAreportMOMexception.
    pub(super) fn report_mom_exception(
        &mut self,
        cause: impl Into<Option<Cause>>,
        about: FederateHandle,
        class: &str,
        fault: Fault,
    ) {
        let parameters = vec![
            ("HLAservice", text(class)),
            ("HLAexception", text(&fault.why)),
            (
                "HLAparameterError",
                Encoder::of(|e| e.boolean(fault.parameter)),
            ),
        ];
        let class = "HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception";
        self.report(cause, class, Some(about), None, parameters);
    }

    /// What HLAreportFederateLost will say of a federate that is about to be forgotten.
    pub(crate) fn lost_report(&self, federate: FederateHandle, fault: &str) -> Parameters {
        let name = self.federation.federate_name(federate);
        let time = self.time.times().time(federate);
        vec![
            ("HLAfederateName", text(name.unwrap_or_default())),
            ("HLAtimeStamp", Encoder::of(|e| e.time(time))),
            ("HLAfaultDescription", text(fault)),
        ]
    }

    /// HLAreportFederateLost.
    pub(crate) fn report_lost(&mut self, federate: FederateHandle, lost: Parameters) {
        let class = "HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost";
        self.report(None, class, Some(federate), None, lost);
    }

    /// HLAmanager.HLAfederate.HLArequest.
    fn report_on_federate(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        what: &str,
        given: &Given<'_>,
    ) -> Result<(), Fault> {
        match what {
            "HLArequestPublications" => self.report_publications(cause, federate),
            "HLArequestSubscriptions" => self.report_subscriptions(cause, federate),
            "HLArequestObjectInstancesThatCanBeDeleted" => {
                let what = "HLAreportObjectInstancesThatCanBeDeleted";
                if !self.is_heard(&report_about(what)) {
                    return Ok(());
                }
                let mut counts: BTreeMap<ObjectClassHandle, u64> = BTreeMap::new();
                for instance in self.deletable_by(federate) {
                    let class = self.objects.get(instance).map(|i| i.class());
                    if let Some(class) = class {
                        *counts.entry(class).or_default() += 1;
                    }
                }
                let counts: Vec<_> = counts.into_iter().collect();
                let value = class_counts(&counts, ObjectClassHandle::raw);
                let parameters = vec![("HLAobjectInstanceCounts", value)];
                self.report_about(cause, what, federate, parameters);
            }
            "HLArequestObjectInstanceInformation" => {
                let instance = given.get("HLAobjectInstance", Decoder::instance)?;
                self.report_instance(cause, federate, ObjectInstanceHandle(instance));
            }
            "HLArequestFOMmoduleData" => {
                let index = given.get("HLAFOMmoduleIndicator", Decoder::number)?;
                let managed = self.mom.federates.get(&federate);
                let modules = managed.map_or(&[][..], |m| &m.modules);
                let module = module_at(modules, index)?.clone();
                let what = "HLAreportFOMmoduleData";
                if self.is_heard(&report_about(what)) {
                    let parameters = self.module_data(&module, index);
                    self.report_about(cause, what, federate, parameters);
                }
            }
            _ => {
                // What only the federate itself can answer, if anybody is to hear it.
                let counted = Counted::asked_by(what).ok_or_else(|| unknown(what))?;
                if self.is_heard(&report_about(counted.report())) {
                    self.ask_counts(cause, federate, Waiting::Report(counted));
                }
            }
        }
        Ok(())
    }

    fn report_about(
        &mut self,
        cause: Cause,
        what: &str,
        federate: FederateHandle,
        parameters: Parameters,
    ) {
        self.report(cause, &report_about(what), Some(federate), None, parameters);
    }

    fn report_publications(&mut self, cause: Cause, federate: FederateHandle) {
        let what = "HLAreportInteractionPublication";
        if self.is_heard(&report_about(what)) {
            let interactions: Vec<_> = self.publications.interactions_of(federate).collect();
            let list = Encoder::of(|e| e.list(&interactions, |e, c| e.handle(c.raw())));
            let parameters = vec![("HLAinteractionClassList", list)];
            self.report_about(cause, what, federate, parameters);
        }
        let what = "HLAreportObjectClassPublication";
        if !self.is_heard(&report_about(what)) {
            return;
        }
        let privilege = self.privilege_to_delete();
        let objects: Vec<_> = self
            .publications
            .objects_of(federate)
            .map(|(class, attributes)| {
                let mut all: BTreeSet<_> = attributes.iter().copied().collect();
                all.extend(privilege);
                (class, all)
            })
            .collect();
        let number = Encoder::of(|e| e.count(objects.len() as u64));
        if objects.is_empty() {
            let parameters = vec![("HLAnumberOfClasses", number)];
            self.report_about(cause, what, federate, parameters);
            return;
        }
        for (class, attributes) in objects {
            let parameters = vec![
                ("HLAnumberOfClasses", number.clone()),
                ("HLAobjectClass", Encoder::of(|e| e.handle(class.raw()))),
                (
                    "HLAattributeList",
                    Encoder::of(|e| e.list(&attributes, |e, a| e.handle(a.raw()))),
                ),
            ];
            self.report_about(cause, what, federate, parameters);
        }
    }

    fn report_subscriptions(&mut self, cause: Cause, federate: FederateHandle) {
        let what = "HLAreportInteractionSubscription";
        if self.is_heard(&report_about(what)) {
            let list = self.interaction_subscriptions(federate);
            let parameters = vec![("HLAinteractionClassList", list)];
            self.report_about(cause, what, federate, parameters);
        }
        let what = "HLAreportObjectClassSubscription";
        if self.is_heard(&report_about(what)) {
            self.report_object_subscriptions(cause, what, federate);
        }
    }

    /// Each interaction class that a federate subscribes to, and whether it does so actively.
    fn interaction_subscriptions(&self, federate: FederateHandle) -> Vec<u8> {
        let mut interactions: BTreeMap<InteractionClassHandle, bool> = BTreeMap::new();
        for (class, how) in self.subscriptions.interactions_of(federate) {
            *interactions.entry(class).or_default() |= how == Subscription::Active;
        }
        for (class, how) in self.subscriptions.regions.interactions_of(federate) {
            *interactions.entry(class).or_default() |= how.active;
        }
        Encoder::of(|e| {
            e.list(&interactions, |e, (class, active)| {
                e.handle(class.raw());
                e.boolean(*active);
            });
        })
    }

    fn report_object_subscriptions(
        &mut self,
        cause: Cause,
        what: &'static str,
        federate: FederateHandle,
    ) {
        // One report for each class and whether it is active, with the greatest update rate.
        type Subscribed = (String, BTreeSet<AttributeHandle>);
        let mut objects: BTreeMap<(ObjectClassHandle, bool), Subscribed> = BTreeMap::new();
        let model = Arc::clone(&self.model);
        // Without one it gets all updates.
        let per_second = |rate: &str| {
            let rate = model.update_rate(rate).filter(|rate| *rate > 0.0);
            rate.unwrap_or(f64::INFINITY)
        };
        let mut put = |class, active, rate: &str, attribute| {
            let new = || (rate.to_owned(), BTreeSet::new());
            let (most, attributes) = objects.entry((class, active)).or_insert_with(new);
            attributes.insert(attribute);
            if per_second(rate) > per_second(most) {
                rate.clone_into(most);
            }
        };
        for (class, attributes) in self.subscriptions.objects_of(federate) {
            for of in attributes {
                put(class, of.active, &of.rate, of.attribute);
            }
        }
        for (class, attribute, how) in self.subscriptions.regions.attributes_of(federate) {
            put(class, how.active, &how.rate, attribute);
        }
        let number = Encoder::of(|e| e.count(objects.len() as u64));
        if objects.is_empty() {
            let parameters = vec![("HLAnumberOfClasses", number)];
            self.report_about(cause, what, federate, parameters);
            return;
        }
        for ((class, active), (rate, attributes)) in objects {
            let parameters = vec![
                ("HLAnumberOfClasses", number.clone()),
                ("HLAobjectClass", Encoder::of(|e| e.handle(class.raw()))),
                ("HLAactive", Encoder::of(|e| e.boolean(active))),
                ("HLAmaxUpdateRate", text(&rate)),
                (
                    "HLAattributeList",
                    Encoder::of(|e| e.list(&attributes, |e, a| e.handle(a.raw()))),
                ),
            ];
            self.report_about(cause, what, federate, parameters);
        }
    }

    fn report_instance(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) {
        let what = "HLAreportObjectInstanceInformation";
        if !self.is_heard(&report_about(what)) {
            return;
        }
        let mut parameters = vec![("HLAobjectInstance", Encoder::of(|e| e.instance(handle.0)))];
        let known = self.objects.get(handle);
        let known = known.and_then(|i| Some((i, i.known_class(federate)?)));
        let owned: Vec<AttributeHandle> = match &known {
            Some((instance, _)) => {
                let class = self.model.object_class(instance.class());
                let attributes = class.map_or(&[][..], |c| &c.attributes);
                let all = attributes.iter().zip(instance.owners());
                let own = all.filter(|(_, owner)| **owner == Some(federate.into()));
                own.map(|(a, _)| *a).collect()
            }
            None => Vec::new(),
        };
        let list = Encoder::of(|e| e.list(&owned, |e, a| e.handle(a.raw())));
        parameters.push(("HLAownedInstanceAttributeList", list));
        if let Some((instance, class)) = known {
            let registered = instance.class();
            let handle = |c: ObjectClassHandle| Encoder::of(|e| e.handle(c.raw()));
            parameters.push(("HLAregisteredClass", handle(registered)));
            parameters.push(("HLAknownClass", handle(class)));
        }
        self.report_about(cause, what, federate, parameters);
    }

    /// Answers a request with what the federate has counted.
    pub(super) fn report_counts(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        asked: Counted,
        counts: &Counts,
    ) {
        let one = |counts: &[(ObjectClassHandle, u64)]| {
            let value = class_counts(counts, ObjectClassHandle::raw);
            vec![vec![("HLAobjectInstanceCounts", value)]]
        };
        let each = |parameter, encode: &dyn Fn(Transportation) -> Vec<u8>| {
            let all = [
                (Transportation::Reliable, "HLAreliable"),
                (Transportation::BestEffort, "HLAbestEffort"),
            ];
            let of =
                |(how, name)| vec![("HLAtransportation", text(name)), (parameter, encode(how))];
            all.map(of).to_vec()
        };
        let objects = |counts, how| class_counts(&of(counts, how), ObjectClassHandle::raw);
        let interactions =
            |counts, how| class_counts(&of(counts, how), InteractionClassHandle::raw);
        let reports = match asked {
            Counted::ObjectInstancesUpdated => one(&counts.instances_updated),
            Counted::ObjectInstancesReflected => one(&counts.instances_reflected),
            Counted::UpdatesSent => each("HLAupdateCounts", &|how| objects(&counts.updates, how)),
            Counted::ReflectionsReceived => {
                each("HLAreflectCounts", &|how| objects(&counts.reflections, how))
            }
            Counted::InteractionsSent => each("HLAinteractionCounts", &|how| {
                interactions(&counts.interactions_sent, how)
            }),
            Counted::InteractionsReceived => each("HLAinteractionCounts", &|how| {
                interactions(&counts.interactions_received, how)
            }),
        };
        for parameters in reports {
            self.report_about(cause, asked.report(), federate, parameters);
        }
    }

    /// HLAmanager.HLAfederation.HLArequest.
    fn report_on_federation(
        &mut self,
        cause: Cause,
        what: &str,
        given: &Given<'_>,
    ) -> Result<(), Fault> {
        let (report, parameters) = match what {
            "HLArequestSynchronizationPoints" => {
                let report = "HLAreportSynchronizationPoints";
                if !self.is_heard(&report_of_federation(report)) {
                    return Ok(());
                }
                let labels = self.federation.synchronization_points().keys();
                let labels = Encoder::of(|e| e.list(labels, |e, label| e.text(label)));
                let parameters = vec![("HLAsyncPoints", labels)];
                (report, parameters)
            }
            "HLArequestSynchronizationPointStatus" => {
                // The MIM of 2010 declares no parameter for the name, but its report has one.
                return match given.optional("HLAsyncPointName", Decoder::text)? {
                    Some(label) => self.report_point(cause, &label),
                    None if !self.is_heard(&report_of_federation(POINT_STATUS)) => Ok(()),
                    None => {
                        let points = self.federation.synchronization_points();
                        let labels: Vec<_> = points.keys().cloned().collect();
                        labels.iter().try_for_each(|l| self.report_point(cause, l))
                    }
                };
            }
            "HLArequestFOMmoduleData" => {
                let index = given.get("HLAFOMmoduleIndicator", Decoder::number)?;
                let module = module_at(self.fom_modules(), index)?.clone();
                if !self.is_heard(&report_of_federation("HLAreportFOMmoduleData")) {
                    return Ok(());
                }
                let parameters = self.module_data(&module, index);
                ("HLAreportFOMmoduleData", parameters)
            }
            "HLArequestMIMdata" => {
                if !self.is_heard(&report_of_federation("HLAreportMIMdata")) {
                    return Ok(());
                }
                let mim = self.federation.modules().first().cloned();
                let data = mim.map(|mim| self.module_text(&mim)).unwrap_or_default();
                ("HLAreportMIMdata", vec![("HLAMIMdata", data)])
            }
            _ => return Err(unknown(what)),
        };
        self.report(cause, &report_of_federation(report), None, None, parameters);
        Ok(())
    }

    fn report_point(&mut self, cause: Cause, label: &str) -> Result<(), Fault> {
        let Some(point) = self.federation.synchronization_points().get(label) else {
            return Err(Fault::refused(format!(
                "there is no synchronization point '{label}'"
            )));
        };
        if !self.is_heard(&report_of_federation(POINT_STATUS)) {
            return Ok(());
        }
        /// MovingToSynchPoint and WaitingForRestOfFederation.
        const MOVING: u32 = 2;
        const WAITING: u32 = 3;
        let moving = point.waiting.iter().map(|f| (*f, MOVING));
        let waiting = point.achieved.keys().map(|f| (*f, WAITING));
        let all: BTreeMap<FederateHandle, u32> = moving.chain(waiting).collect();
        let list = Encoder::of(|e| {
            e.list(&all, |e, (federate, status)| {
                e.handle(federate.0);
                e.number(*status);
            });
        });
        let parameters = vec![
            ("HLAsyncPointName", text(label)),
            ("HLAsyncPointFederates", list),
        ];
        let class = report_of_federation(POINT_STATUS);
        self.report(cause, &class, None, None, parameters);
        Ok(())
    }

    /// The parameters that hold a module.
    fn module_data(&mut self, module: &ModuleSource, index: u32) -> Parameters {
        vec![
            ("HLAFOMmoduleIndicator", Encoder::of(|e| e.number(index))),
            ("HLAFOMmoduleData", self.module_text(module)),
        ]
    }

    /// The text of a module as a value. That of a large one takes milliseconds to make: the last one is kept.
    fn module_text(&mut self, module: &ModuleSource) -> Vec<u8> {
        let kept = self.mom.module.as_ref();
        if let Some((_, value)) = kept.filter(|(of, _)| Arc::ptr_eq(of, &module.text)) {
            return value.clone();
        }
        let value = text(&String::from_utf8_lossy(mim_text(module)));
        self.mom.module = Some((module.text.clone(), value.clone()));
        value
    }
}

const POINT_STATUS: &str = "HLAreportSynchronizationPointStatus";

/// HLAunicodeString.
pub(super) fn text(text: &str) -> Vec<u8> {
    Encoder::of(|e| e.text(text))
}

/// HLAobjectClassBasedCounts, or HLAinteractionCounts.
fn class_counts<H: Copy>(counts: &[(H, u64)], raw: impl Fn(H) -> u32) -> Vec<u8> {
    Encoder::of(|e| {
        e.list(counts, |e, (class, n)| {
            e.handle(raw(*class));
            e.count(*n);
        });
    })
}

/// Of one transportation type.
fn of<H: Copy>(counts: &[(H, Transportation, u64)], how: Transportation) -> Vec<(H, u64)> {
    let all = counts.iter().filter(|(_, h, _)| *h == how);
    all.map(|(class, _, n)| (*class, *n)).collect()
}

/// A report about a federate, with its whole name.
fn report_about(what: &str) -> String {
    format!("HLAmanager.HLAfederate.HLAreport.{what}")
}

/// A report about the federation execution, with its whole name.
fn report_of_federation(what: &str) -> String {
    format!("HLAmanager.HLAfederation.HLAreport.{what}")
}

/// A module by its place in the list of designators, from 0.
fn module_at(modules: &[ModuleSource], index: u32) -> Result<&ModuleSource, Fault> {
    modules.get(index as usize).ok_or_else(|| {
        Fault::refused(format!(
            "there is no FOM module {index}: there are {}, counted from 0",
            modules.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each request of the MIM that a federate's counts answer has its report, which is the one that has such a
    /// parameter: (11.4.3) none is answered as another.
    #[test]
    fn what_was_counted_is_reported_as_what_was_asked_for() {
        let mim = starling_fom::parse("mim", starling_fom::standard_mim().as_bytes()).unwrap();
        let model = ObjectModel::new(&mim).unwrap();
        let requests = "HLAmanager.HLAfederate.HLArequest";
        let requests = model.interaction_class_by_name(requests).unwrap();
        let mut counted = BTreeSet::new();
        for class in &requests.children {
            let class = model.interaction_class(*class).unwrap();
            let asked = class.name.rsplit('.').next().unwrap();
            let report = report_about(&asked.replacen("request", "report", 1));
            let counts = model
                .interaction_class_by_name(&report)
                .is_some_and(|report| {
                    let names = report.parameters.iter();
                    let mut names = names.filter_map(|p| Some(&model.parameter(*p)?.name));
                    names.any(|name| name.ends_with("Counts"))
                });
            // What may be deleted the executive counts by itself.
            let here = asked == "HLArequestObjectInstancesThatCanBeDeleted";
            let of = Counted::asked_by(asked);
            assert_eq!(of.is_some(), counts && !here, "{asked}");
            if let Some(of) = of {
                assert_eq!(report_about(of.report()), report);
                counted.insert(of.report());
            }
        }
        assert_eq!(counted.len(), 6);
    }
}
