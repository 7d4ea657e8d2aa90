//! Random programs in which federates call services, beside the same programs in which a manager has the RTI call
//! them on their behalf (1516.1-2010, 11.4.4).
//!
//! Invariants, after every call:
//! - what a federate is told is the same, whoever has had its service called;
//! - what it may not call the RTI does not call for it: the manager is told so, once, by HLAreportMOMexception;
//! - what the executive knows of publications, instances, ownership, transportation and time is the same.

use crate::calls::Caller;
use crate::fom::source;
use crate::network::Network;
use crate::program::Report;
use crate::watch::Watch;
use starling_core::message::{ModuleSource, Request, ResignAction};
use starling_core::{
    AttributeHandle, Callback, DataPath, Exception, FederateHandle, InteractionClassHandle,
    LogicalTime, LogicalTimeInterval, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, ObjectModel, Order, ParameterHandle, PeerId, Transportation, saved,
};
use std::collections::BTreeMap;

/// Services of the MOM, with their parameters beside HLAfederate. Of those of saves only the refusals are compared: a
/// manager that is to save, too, can't ask for them.
const SERVICES: [(&str, &[&str]); 32] = [
    ("HLAresignFederationExecution", &["HLAresignAction"]),
    ("HLAsynchronizationPointAchieved", &["HLAlabel"]),
    ("HLAfederateSaveBegun", &[]),
    ("HLAfederateSaveComplete", &["HLAsuccessIndicator"]),
    ("HLAfederateRestoreComplete", &["HLAsuccessIndicator"]),
    ("HLApublishObjectClassAttributes", CLASS),
    ("HLAunpublishObjectClassAttributes", CLASS),
    ("HLApublishInteractionClass", &["HLAinteractionClass"]),
    ("HLAunpublishInteractionClass", &["HLAinteractionClass"]),
    (
        "HLAsubscribeObjectClassAttributes",
        &["HLAobjectClass", "HLAattributeList", "HLAactive"],
    ),
    ("HLAunsubscribeObjectClassAttributes", CLASS),
    (
        "HLAsubscribeInteractionClass",
        &["HLAinteractionClass", "HLAactive"],
    ),
    ("HLAunsubscribeInteractionClass", &["HLAinteractionClass"]),
    (
        "HLAdeleteObjectInstance",
        &["HLAobjectInstance", "HLAtag", "HLAtimeStamp"],
    ),
    ("HLAlocalDeleteObjectInstance", &["HLAobjectInstance"]),
    (
        "HLArequestAttributeTransportationTypeChange",
        &["HLAobjectInstance", "HLAattributeList", "HLAtransportation"],
    ),
    (
        "HLArequestInteractionTransportationTypeChange",
        &["HLAinteractionClass", "HLAtransportation"],
    ),
    ("HLAunconditionalAttributeOwnershipDivestiture", INSTANCE),
    ("HLAenableTimeRegulation", &["HLAlookahead"]),
    ("HLAdisableTimeRegulation", &[]),
    ("HLAenableTimeConstrained", &[]),
    ("HLAdisableTimeConstrained", &[]),
    ("HLAtimeAdvanceRequest", &["HLAtimeStamp"]),
    ("HLAtimeAdvanceRequestAvailable", &["HLAtimeStamp"]),
    ("HLAnextMessageRequest", &["HLAtimeStamp"]),
    ("HLAnextMessageRequestAvailable", &["HLAtimeStamp"]),
    ("HLAflushQueueRequest", &["HLAtimeStamp"]),
    ("HLAenableAsynchronousDelivery", &[]),
    ("HLAdisableAsynchronousDelivery", &[]),
    ("HLAmodifyLookahead", &["HLAlookahead"]),
    (
        "HLAchangeAttributeOrderType",
        &["HLAobjectInstance", "HLAattributeList", "HLAsendOrder"],
    ),
    (
        "HLAchangeInteractionOrderType",
        &["HLAinteractionClass", "HLAsendOrder"],
    ),
];
const CLASS: &[&str] = &["HLAobjectClass", "HLAattributeList"];
const INSTANCE: &[&str] = &["HLAobjectInstance", "HLAattributeList"];
const SERVICE: &str = "HLAmanager.HLAfederate.HLAservice";
const EXCEPTION: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception";

/// The MIM of programs with time, with these.
fn mim() -> ModuleSource {
    let class = |name: &str, parameters: &[&str], rest: String| {
        let parameters = parameters.iter();
        let parameters: String = parameters
            .map(|p| format!("<parameter><name>{p}</name></parameter>"))
            .collect();
        format!("<interactionClass><name>{name}</name>{parameters}{rest}</interactionClass>")
    };
    let services = SERVICES.iter();
    let services = services.map(|(name, parameters)| class(name, parameters, String::new()));
    let service = class("HLAservice", &[], services.collect());
    let exception = ["HLAservice", "HLAexception", "HLAparameterError"];
    let exception = class("HLAreportMOMexception", &exception, String::new());
    let report = class("HLAreport", &[], exception);
    let federate = class("HLAfederate", &["HLAfederate"], service + &report);
    let manager = class("HLAmanager", &[], federate);
    let root = "<interactionClass><name>HLAinteractionRoot</name>";
    let before = source("timed mim");
    let before = std::str::from_utf8(&before.text).expect("it is ours");
    let text = before.replace(root, &format!("{root}{manager}"));
    assert_ne!(text, before, "the module has the root");
    ModuleSource {
        designator: "acts mim".into(),
        text: text.into_bytes().into(),
    }
}

/// An encoded value (1516.2-2010, annex A).
#[derive(Clone, Debug, Default)]
struct Value(Vec<u8>);

impl Value {
    fn number(mut self, n: u32) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn handle(self, raw: u32) -> Self {
        self.number(4).number(raw)
    }

    fn long(self, n: u64) -> Self {
        let mut value = self.number(8);
        value.0.extend(n.to_be_bytes());
        value
    }

    fn text(self, text: &str) -> Self {
        let mut value = self.number(text.len() as u32);
        value.0.extend(text.bytes().flat_map(|b| [0, b]));
        value
    }

    fn list(self, attributes: &[AttributeHandle]) -> Self {
        let value = self.number(attributes.len() as u32);
        attributes.iter().fold(value, |v, a| v.handle(a.raw()))
    }
}

type Call = Box<dyn Fn(&mut Caller<'_>) -> Result<(), Exception>>;

/// Nobody looks on: the two are compared.
struct Nobody;

impl Watch for Nobody {
    fn joined(&mut self, _: FederateHandle, _: &ObjectModel) {}
    fn died(&mut self, _: FederateHandle) {}
    fn lost(&mut self, _: FederateHandle) {}
    fn ordered(&mut self, _: FederateHandle, _: &Request) {}
}

/// One of the two federation executions.
struct One {
    network: Network,
    draw: fastrand::Rng,
}

impl One {
    fn step(&mut self) -> bool {
        self.network.step(&mut self.draw, &mut Nobody)
    }

    /// Lets all arrive; what each is told.
    fn told(&mut self) -> BTreeMap<FederateHandle, Vec<Callback>> {
        let mut told: BTreeMap<_, Vec<_>> = BTreeMap::new();
        loop {
            while self.step() {}
            let hosts = self.network.hosts.values();
            let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
            let mut any = false;
            for (peer, me) in hosts {
                while let Some(callback) = self.network.next_callback(peer) {
                    told.entry(me).or_default().push(callback);
                    any = true;
                }
            }
            if !any && !self.step() {
                return told;
            }
        }
    }

    fn peer(&self, of: FederateHandle) -> Option<PeerId> {
        let mut hosts = self.network.hosts.values();
        Some(hosts.find(|h| h.handle == of)?.peer)
    }
}

struct Run {
    draw: fastrand::Rng,
    /// In the first federates call services, in the second they are called for them.
    both: [One; 2],
    manager: FederateHandle,
    points: u32,
    report: Report,
}

/// Runs one seed of about so many calls. Panics, naming what is wrong, if something is.
pub fn run(seed: u64, actions: usize) -> Report {
    let mut draw = fastrand::Rng::with_seed(seed);
    let path = if draw.bool() {
        DataPath::Direct
    } else {
        DataPath::Executive
    };
    let both = [0, 1].map(|n| {
        let mut network = Network::new(path, seed);
        network.batch = draw.u8(1..6);
        network.create_with_time(vec![source("timed")], Some(mim()), "HLAinteger64Time");
        One {
            network,
            draw: fastrand::Rng::with_seed(seed ^ n),
        }
    });
    let mut run = Run {
        draw,
        both,
        manager: FederateHandle(1),
        points: 0,
        report: Report::default(),
    };
    for _ in 0..4 {
        run.join();
    }
    for _ in 0..actions {
        run.act();
    }
    for one in run.both {
        run.report.add(&one.network.report());
    }
    run.report
}

impl Run {
    /// The first is the manager.
    fn join(&mut self) {
        for one in &mut self.both {
            one.told();
            one.network.join(vec![]);
            one.told();
            let host = one.network.hosts.values().next_back();
            let (peer, me) = host.map(|h| (h.peer, h.handle)).expect("it has joined");
            if me != self.manager {
                let begun = one.network.call(peer, |f| {
                    let class = f.object_class_handle("A")?;
                    let attributes = ["a1", "a2"].map(|name| f.attribute_handle(class, name));
                    let [a, b] = attributes;
                    let attributes = [a?, b?];
                    f.publish_object_class_attributes(class, &attributes)?;
                    f.subscribe_object_class_attributes(class, &attributes, true, "")?;
                    f.register_object_instance(class, None)
                });
                begun.unwrap_or_else(|e| panic!("{me} can't begin: {e}"));
                one.told();
                continue;
            }
            one.network.call(peer, |f| {
                for (name, _) in SERVICES {
                    let class = f.interaction_class_handle(&format!("{SERVICE}.{name}"));
                    f.publish_interaction_class(class.expect("it is in the MIM"))
                        .expect("it may");
                }
                let class = f.interaction_class_handle(EXCEPTION);
                f.subscribe_interaction_class(class.expect("it is in the MIM"), true)
                    .expect("it may");
            });
            one.told();
        }
    }

    fn act(&mut self) {
        let members: Vec<_> = self.both[0]
            .network
            .hosts
            .values()
            .map(|h| h.handle)
            .filter(|f| *f != self.manager)
            .collect();
        if members.len() < 3 {
            return self.join();
        }
        let me = members[self.draw.usize(..members.len())];
        if self.draw.u8(..3) == 0 {
            return self.call_itself(me);
        }
        let (service, _) = SERVICES[match self.draw.u8(..60) {
            0 => 0,
            _ => self.draw.usize(1..SERVICES.len()),
        }];
        let Some((values, call)) = self.service(service, me) else {
            return;
        };
        let [first, second] = &mut self.both;
        let peer = first.peer(me).expect("it is a member");
        let done = first.network.call(peer, |f| call(f));
        let manager = second.peer(self.manager).expect("it stays");
        second.network.call(manager, |f| {
            let class = f.interaction_class_handle(&format!("{SERVICE}.{service}"));
            let class = class.expect("it is in the MIM");
            let whom = ("HLAfederate", Value::default().handle(me.0));
            let all = values.into_iter().chain([whom]);
            let all = all.map(|(name, value)| {
                let parameter = f.parameter_handle(class, name);
                (parameter.expect("it is in the MIM"), value.0)
            });
            let all: Vec<(ParameterHandle, Vec<u8>)> = all.collect();
            let all: Vec<_> = all.iter().map(|(p, v)| (*p, &v[..])).collect();
            f.send_interaction(class, &all, b"").expect("it may");
        });
        let refused = done.is_err();
        self.compare(&format!("{service} of {me}: {done:?}"), refused);
        let what = if refused { "refused" } else { service };
        self.report.count(format!("mom: {what}"), 1);
    }

    /// What the MOM has no service for, or what goes on beside it: alike in both.
    fn call_itself(&mut self, me: FederateHandle) {
        let (what, class) = (self.draw.u8(..4), self.class());
        let values = [(ParameterHandle::from_raw(1), &b"1"[..])];
        let (i, instance) = (self.interaction(), self.instance(me));
        let attributes = self.attributes();
        self.points += u32::from(what == 3);
        let label = format!("point {}", self.points);
        let done = self.both.each_mut().map(|one| {
            let peer = one.peer(me).expect("it is a member");
            let network = &mut one.network;
            match (what, instance) {
                (0, _) => network
                    .call(peer, |f| f.register_object_instance(class, None))
                    .map(|_| ()),
                (1, Some(instance)) => {
                    let values: Vec<_> = attributes.iter().map(|a| (*a, &b"1"[..])).collect();
                    let done = network.update(peer, instance, (&values, b""), None);
                    done.map(|_| ())
                }
                (2, _) => {
                    let done = network.interact(peer, i, (&values[..0], b""), None);
                    done.map(|_| ())
                }
                _ => network.call(peer, |f| {
                    f.register_federation_synchronization_point(&label, b"", &[])
                }),
            }
        });
        let [one, other] = done.map(|done| done.map_err(|e| e.kind));
        assert_eq!(one, other, "{me} calls the same in both");
        self.compare(&format!("{me} itself"), false);
    }

    /// Both have come to rest, and are alike.
    fn compare(&mut self, what: &str, refused: bool) {
        let manager = self.manager;
        let [mut first, mut second] = self.both.each_mut().map(One::told);
        let is_report =
            |callback: &Callback| matches!(callback, Callback::ReceiveInteraction { .. });
        let told = second.remove(&manager).unwrap_or_default();
        let reports = told.iter().filter(|c| is_report(c)).count();
        assert_eq!(reports, usize::from(refused), "reports of {what}: {told:?}");
        let told: Vec<_> = told.into_iter().filter(|c| !is_report(c)).collect();
        assert_eq!(first.remove(&manager).unwrap_or_default(), told, "{what}");
        assert_eq!(first, second, "what others are told of {what}");
        let saved = self.both.each_ref();
        let saved = saved.map(|one| one.network.executive.save("F").expect("it is there"));
        let [first, second] = saved.map(known);
        assert_eq!(first, second, "what the executive knows after {what}");
    }

    /// Arguments of a service, and its call.
    fn service(
        &mut self,
        service: &str,
        me: FederateHandle,
    ) -> Option<(Vec<(&'static str, Value)>, Call)> {
        let new = Value::default;
        let (class, i, attributes) = (self.class(), self.interaction(), self.attributes());
        let of_class = || {
            let class = ("HLAobjectClass", new().handle(class.raw()));
            vec![class, ("HLAattributeList", new().list(&attributes))]
        };
        let of_interaction = || vec![("HLAinteractionClass", new().handle(i.raw()))];
        let on = self.draw.bool();
        let flag = |name| (name, new().number(on.into()));
        let order = if on { Order::TimeStamp } else { Order::Receive };
        let how = if on {
            (Transportation::Reliable, "HLAreliable")
        } else {
            (Transportation::BestEffort, "HLAbestEffort")
        };
        let transportation = ("HLAtransportation", new().text(how.1));
        let how = how.0;
        let instance = self.instance(me);
        let of_instance = || {
            let instance = ("HLAobjectInstance", new().long(instance?.0));
            Some(vec![
                instance,
                ("HLAattributeList", new().list(&attributes)),
            ])
        };
        let time = self.time(me);
        let lookahead = self.draw.i64(0..4);
        let stamp = || vec![("HLAtimeStamp", new().long(time as u64))];
        let ahead = || vec![("HLAlookahead", new().long(lookahead as u64))];
        let at = LogicalTime::integer64(time);
        let by = LogicalTimeInterval::integer64(lookahead);
        let list = attributes.clone();
        let with = |mut values: Vec<_>, more| {
            values.push(more);
            values
        };
        Some(match service {
            "HLAresignFederationExecution" => {
                let action = ResignAction::CancelThenDeleteThenDivest;
                let number = new().number(action as u32 + 1);
                let call: Call = Box::new(move |f| f.resign_federation_execution(action));
                (vec![("HLAresignAction", number)], call)
            }
            "HLAsynchronizationPointAchieved" => {
                let label = format!("point {}", self.draw.u32(..=self.points));
                let value = new().text(&label);
                let call: Call = Box::new(move |f| f.synchronization_point_achieved(&label, true));
                (vec![("HLAlabel", value)], call)
            }
            "HLAfederateSaveBegun" => (vec![], Box::new(|f| f.federate_save_begun())),
            "HLAfederateSaveComplete" => (
                vec![("HLAsuccessIndicator", new().number(1))],
                Box::new(|f| f.federate_save_complete()),
            ),
            "HLAfederateRestoreComplete" => (
                vec![("HLAsuccessIndicator", new().number(1))],
                Box::new(|f| f.federate_restore_complete()),
            ),
            "HLApublishObjectClassAttributes" => (
                of_class(),
                Box::new(move |f| f.publish_object_class_attributes(class, &list)),
            ),
            "HLAunpublishObjectClassAttributes" => (
                of_class(),
                Box::new(move |f| f.unpublish_object_class_attributes(class, &list)),
            ),
            "HLApublishInteractionClass" => (
                of_interaction(),
                Box::new(move |f| f.publish_interaction_class(i)),
            ),
            "HLAunpublishInteractionClass" => (
                of_interaction(),
                Box::new(move |f| f.unpublish_interaction_class(i)),
            ),
            "HLAsubscribeObjectClassAttributes" => (
                with(of_class(), flag("HLAactive")),
                Box::new(move |f| f.subscribe_object_class_attributes(class, &list, on, "")),
            ),
            "HLAunsubscribeObjectClassAttributes" => (
                of_class(),
                Box::new(move |f| f.unsubscribe_object_class_attributes(class, &list)),
            ),
            "HLAsubscribeInteractionClass" => (
                with(of_interaction(), flag("HLAactive")),
                Box::new(move |f| f.subscribe_interaction_class(i, on)),
            ),
            "HLAunsubscribeInteractionClass" => (
                of_interaction(),
                Box::new(move |f| f.unsubscribe_interaction_class(i)),
            ),
            "HLAdeleteObjectInstance" => {
                let instance = instance?;
                let mut values = vec![
                    ("HLAobjectInstance", new().long(instance.0)),
                    ("HLAtag", new().number(0)),
                ];
                if on {
                    values.extend(stamp());
                }
                let call: Call = Box::new(move |f| {
                    if on {
                        let deleted = f.delete_object_instance_at(instance, b"", at);
                        deleted.map(|_: MessageRetractionHandle| ())
                    } else {
                        f.delete_object_instance(instance, b"")
                    }
                });
                (values, call)
            }
            "HLAlocalDeleteObjectInstance" => {
                let instance = instance?;
                let value = new().long(instance.0);
                let call: Call = Box::new(move |f| f.local_delete_object_instance(instance));
                (vec![("HLAobjectInstance", value)], call)
            }
            "HLArequestAttributeTransportationTypeChange" => {
                let (values, instance) = (with(of_instance()?, transportation), instance?);
                let call: Call = Box::new(move |f| {
                    f.request_attribute_transportation_type_change(instance, &list, how)
                });
                (values, call)
            }
            "HLArequestInteractionTransportationTypeChange" => (
                with(of_interaction(), transportation),
                Box::new(move |f| f.request_interaction_transportation_type_change(i, how)),
            ),
            "HLAunconditionalAttributeOwnershipDivestiture" => {
                let (values, instance) = (of_instance()?, instance?);
                let call: Call = Box::new(move |f| {
                    f.unconditional_attribute_ownership_divestiture(instance, &list, b"")
                });
                (values, call)
            }
            "HLAenableTimeRegulation" => (ahead(), Box::new(move |f| f.enable_time_regulation(by))),
            "HLAdisableTimeRegulation" => (vec![], Box::new(|f| f.disable_time_regulation())),
            "HLAenableTimeConstrained" => (vec![], Box::new(|f| f.enable_time_constrained())),
            "HLAdisableTimeConstrained" => (vec![], Box::new(|f| f.disable_time_constrained())),
            "HLAtimeAdvanceRequest" => (stamp(), Box::new(move |f| f.time_advance_request(at))),
            "HLAtimeAdvanceRequestAvailable" => {
                let call: Call = Box::new(move |f| f.time_advance_request_available(at));
                (stamp(), call)
            }
            "HLAnextMessageRequest" => (stamp(), Box::new(move |f| f.next_message_request(at))),
            "HLAnextMessageRequestAvailable" => {
                let call: Call = Box::new(move |f| f.next_message_request_available(at));
                (stamp(), call)
            }
            "HLAenableAsynchronousDelivery" => {
                (vec![], Box::new(|f| f.enable_asynchronous_delivery()))
            }
            "HLAdisableAsynchronousDelivery" => {
                (vec![], Box::new(|f| f.disable_asynchronous_delivery()))
            }
            "HLAflushQueueRequest" => (stamp(), Box::new(move |f| f.flush_queue_request(at))),
            "HLAmodifyLookahead" => (ahead(), Box::new(move |f| f.modify_lookahead(by))),
            "HLAchangeAttributeOrderType" => {
                let number = ("HLAsendOrder", new().number(on.into()));
                let (values, instance) = (with(of_instance()?, number), instance?);
                let call: Call =
                    Box::new(move |f| f.change_attribute_order_type(instance, &list, order));
                (values, call)
            }
            "HLAchangeInteractionOrderType" => (
                with(of_interaction(), ("HLAsendOrder", new().number(on.into()))),
                Box::new(move |f| f.change_interaction_order_type(i, order)),
            ),
            other => unreachable!("{other} is no service of the MOM"),
        })
    }

    fn model(&self) -> &ObjectModel {
        let host = self.both[0].network.hosts.values().next();
        host.expect("the manager stays").federate().model()
    }

    fn class(&mut self) -> ObjectClassHandle {
        let name = ["A", "A.B"][self.draw.usize(..2)];
        let class = self.model().object_class_by_name(name);
        class.expect("it is in the FOM").handle
    }

    fn interaction(&mut self) -> InteractionClassHandle {
        let name = ["I", "I.J"][self.draw.usize(..2)];
        let class = self.model().interaction_class_by_name(name);
        class.expect("it is in the FOM").handle
    }

    /// Of A.B, ascending; those of A too, more often.
    fn attributes(&mut self) -> Vec<AttributeHandle> {
        let name = ["A", "A", "A.B"][self.draw.usize(..3)];
        let class = self.model().object_class_by_name(name);
        let mut all = class.expect("it is in the FOM").attributes[1..].to_vec();
        self.draw.shuffle(&mut all);
        all.truncate(self.draw.usize(1..=all.len()));
        all.sort_unstable();
        all
    }

    fn instance(&mut self, me: FederateHandle) -> Option<ObjectInstanceHandle> {
        let one = &self.both[0];
        let known = one.network.hosts[&one.peer(me)?]
            .federate()
            .known_instances();
        let known: Vec<_> = known.into_iter().collect();
        (!known.is_empty()).then(|| known[self.draw.usize(..known.len())])
    }

    /// Soon; at times too early.
    fn time(&mut self, me: FederateHandle) -> i64 {
        let one = &mut self.both[0];
        let peer = one.peer(me).expect("it is a member");
        let now = one.network.call(peer, |f| f.query_logical_time());
        let now = now.ok().and_then(LogicalTime::as_integer64).unwrap_or(0);
        (now + self.draw.i64(-1..8)).max(0)
    }
}

/// What does not hang on how many requests it took.
fn known(of: saved::Execution) -> impl PartialEq + std::fmt::Debug {
    let instances = of.object.instances.into_iter().map(|(handle, i)| {
        let known: Vec<_> = i
            .known
            .into_iter()
            .map(|(f, (class, ..))| (f, class))
            .collect();
        (
            handle,
            (i.owners, known, i.locally_deleted, i.transportations),
        )
    });
    let instances: BTreeMap<_, _> = instances.collect();
    (
        instances,
        of.declaration.publications,
        of.object.transportations,
        of.object.told,
        of.time,
    )
}

#[cfg(test)]
mod tests {
    use super::{SERVICE, SERVICES};
    use std::collections::BTreeSet;

    #[test]
    fn whatever_the_mim_has_a_service_for_is_called() {
        let all = starling_fom::standard_model().interaction_classes();
        let here = format!("HLAinteractionRoot.{SERVICE}.");
        let of_mim: BTreeSet<_> = all.filter_map(|c| c.name.strip_prefix(&here)).collect();
        assert_eq!(of_mim, SERVICES.iter().map(|(name, _)| *name).collect());
    }
}
