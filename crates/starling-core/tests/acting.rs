//! What the RTI does because a manager asked for it by an interaction of the MOM (1516.1-2010, 11.4.4): when, and for whom.

use crate::common::Federation;
use crate::save::two;
use starling_core::message::ResignAction;
use starling_core::{
    Callback, ExceptionKind, FederateHandle, InteractionClassHandle, ObjectInstanceHandle,
    ParameterHandle,
};

const SERVICE: &str = "HLAmanager.HLAfederate.HLAservice.HLAenableAsynchronousDelivery";

/// The parameter that says whom an interaction is about.
fn about(
    f: &mut Federation,
    by: &str,
    class: InteractionClassHandle,
    whom: FederateHandle,
) -> (starling_core::ParameterHandle, Vec<u8>) {
    let of = f.federate(by).parameter_handle(class, "HLAfederate");
    (of.unwrap(), [4, whom.0].map(u32::to_be_bytes).concat())
}

/// C acts for B, whose log waits for the data that A sent on its own link before it resigned. That link then
/// brings them, or ends.
#[test]
fn what_waited_for_a_fence_is_done_when_the_fence_comes() {
    for ends in [false, true] {
        let mut f = Federation::direct("");
        let a = f.join("A");
        let b = f.join("B");
        f.join("C");
        let i = f.interaction("I");
        f.call("A", |f| f.publish_interaction_class(i)).unwrap();
        f.call("B", |f| f.subscribe_interaction_class(i, true))
            .unwrap();
        let act = f.interaction(SERVICE);
        f.call("C", |f| f.publish_interaction_class(act)).unwrap();
        f.quiet();
        f.call("A", |f| f.send_interaction(i, &[], b"x")).unwrap();
        f.call_late("A", |f| {
            f.resign_federation_execution(ResignAction::NoAction)
        })
        .unwrap();
        f.run();
        let (of, whom) = about(&mut f, "C", act, b);
        f.call("C", |f| f.send_interaction(act, &[(of, &whom)], b""))
            .unwrap();
        f.run();
        if ends {
            f.end_link(a, "B", 1);
        } else {
            assert!(f.arrive(a, "B") > 0);
        }
        let again = f.call("B", |f| f.enable_asynchronous_delivery());
        assert_eq!(
            again.map_err(|e| e.kind),
            Err(ExceptionKind::AsynchronousDeliveryAlreadyEnabled)
        );
    }
}

#[test]
fn nobody_is_asked_for_what_nobody_hears() {
    let mut f = two();
    let class = f.interaction("HLAmanager.HLAfederate.HLArequest.HLArequestUpdatesSent");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.quiet();
    let b = f.member("B").handle();
    let (of, whom) = about(&mut f, "A", class, b);
    let ask = |f: &mut Federation| {
        let before = f.control;
        f.call("A", |f| f.send_interaction(class, &[(of, &whom)], b""))
            .unwrap();
        f.run();
        f.control.0 - before.0
    };
    assert_eq!(ask(&mut f), 1, "what A asks");
    let report = f.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportUpdatesSent");
    f.call("A", |f| f.subscribe_interaction_class(report, true))
        .unwrap();
    f.quiet();
    assert_eq!(ask(&mut f), 2, "and what B has counted");
}

/// Neither a federate nor the RTI works out what nobody subscribes to, though somebody does to another attribute.
#[test]
fn an_attribute_to_which_nobody_subscribes_is_not_made_for_another_s_subscriber() {
    let mut f = two();
    let class = f.class("HLAmanager.HLAfederate");
    let names = ["HLAlogicalTime", "HLAtimeGrantedTime", "HLAupdatesSent"];
    let all = names.map(|name| f.federate("A").attribute_handle(class, name).unwrap());
    let subscribe = |f: &mut Federation, nth: usize| {
        f.call("A", |f| {
            f.subscribe_object_class_attributes(class, &all[nth..=nth], true, "")
        })
        .unwrap();
        f.callbacks("A")
    };
    let discovered = subscribe(&mut f, 0);
    let mut instances = discovered.iter().filter_map(|callback| match callback {
        Callback::DiscoverObjectInstance { instance, .. } => Some(*instance),
        _ => None,
    });
    let instance = instances.next_back().expect("that of B comes last");
    let ask = |f: &mut Federation| {
        let before = f.control.0;
        f.call("A", |f| {
            f.request_instance_attribute_value_update(instance, &all, b"")
        })
        .unwrap();
        f.run();
        f.control.0 - before
    };
    f.set_time(5);
    assert_eq!(ask(&mut f), 1, "what A asks, and nothing of B's");
    f.callbacks("A");
    // Nobody has been told of these seconds yet.
    subscribe(&mut f, 1);
    assert_eq!(ask(&mut f), 1);
    let told = f.callbacks("A");
    let [Callback::ReflectAttributeValues { values, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    let mut granted = values.iter().filter(|(attribute, _)| *attribute == all[1]);
    let granted = granted.next().map(|(_, value): (_, &[u8])| value.to_vec());
    assert_eq!(granted, Some(5_000u32.to_be_bytes().to_vec()));
    subscribe(&mut f, 2);
    assert_eq!(ask(&mut f), 2, "and what B has counted");
}

/// HLAsetTiming makes no timer for who hears of nothing that is updated periodically.
#[test]
fn a_period_wakes_the_executive_for_who_subscribes_to_what_it_updates() {
    let mut f = two();
    f.join("C");
    let timing = f.interaction("HLAmanager.HLAfederate.HLAadjust.HLAsetTiming");
    let seconds = f.federate("A").parameter_handle(timing, "HLAreportPeriod");
    let (seconds, b) = (seconds.unwrap(), f.member("B").handle());
    let (of, whom) = about(&mut f, "A", timing, b);
    f.call("A", |f| {
        f.publish_interaction_class(timing)?;
        let period = 10_u32.to_be_bytes();
        f.send_interaction(timing, &[(of, &whom), (seconds, &period)], b"")
    })
    .unwrap();
    let due = |f: &mut Federation| {
        f.run();
        f.executive().next_timeout().map(|due| due.as_secs())
    };
    assert_eq!(due(&mut f), None, "nobody subscribes");
    let class = f.class("HLAmanager.HLAfederate");
    let names = ["HLAfederateName", "HLAtimeRegulating", "HLAupdatesSent"];
    let [name, regulating, sent] =
        names.map(|name| f.federate("A").attribute_handle(class, name).unwrap());
    f.call("A", |f| {
        f.subscribe_object_class_attributes(class, &[name, regulating], true, "")
    })
    .unwrap();
    assert_eq!(f.callbacks("A").len(), 3, "discoveries");
    assert_eq!(due(&mut f), None, "neither is periodic");
    f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &[sent], true, "")
    })
    .unwrap();
    assert_eq!(due(&mut f), Some(10));
    assert_eq!(f.callbacks("C").len(), 3);
    f.set_time(10);
    f.time_out(&[]);
    assert_eq!(told(&mut f, "C"), [0, 0, 1]);
    assert_eq!(told(&mut f, "A"), [0, 0, 0]);
    assert_eq!(due(&mut f), Some(20));
    f.call("C", |f| f.unsubscribe_object_class(class)).unwrap();
    assert_eq!(due(&mut f), None);
}

/// The attributes that the MIM's XML declares for HLAfederate, and which of them are updated periodically.
fn of_mim() -> Vec<(String, bool)> {
    let between = |text: &'static str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).expect(from);
        rest.split_once(to).expect(to).0
    };
    let objects = between(starling_fom::standard_mim(), "<objects>", "</objects>");
    let class = between(objects, "<name>HLAfederate</name>", "</objectClass>");
    let attributes = class.split("<attribute>").skip(1);
    let of = |attribute| {
        let name = between(attribute, "<name>", "</name>").to_owned();
        let updated = between(attribute, "<updateType>", "</updateType>");
        (name, updated == "Periodic")
    };
    attributes.map(of).collect()
}

#[test]
fn all_that_the_mim_calls_periodic_and_no_more_comes_with_each_period_until_it_is_0() {
    let mut f = two();
    let class = f.class("HLAmanager.HLAfederate");
    let all: Vec<_> = of_mim()
        .into_iter()
        .map(|(name, periodic)| {
            let attribute = f.federate("A").attribute_handle(class, &name);
            (attribute.expect(&name), periodic)
        })
        .collect();
    assert_eq!(all.iter().filter(|(_, periodic)| *periodic).count(), 19);
    let names: Vec<_> = all.iter().map(|(attribute, _)| *attribute).collect();
    let timing = f.interaction("HLAmanager.HLAfederate.HLAadjust.HLAsetTiming");
    f.call("A", |f| {
        f.subscribe_object_class_attributes(class, &names, true, "")?;
        f.publish_interaction_class(timing)
    })
    .unwrap();
    f.callbacks("A");
    let b = f.member("B").handle();
    let (of, whom) = about(&mut f, "A", timing, b);
    let seconds = f.federate("A").parameter_handle(timing, "HLAreportPeriod");
    let seconds = seconds.unwrap();
    let set = |f: &mut Federation, period: u32| {
        let values: [(_, &[u8]); 2] = [(of, &whom), (seconds, &period.to_be_bytes())];
        f.call("A", |f| f.send_interaction(timing, &values, b""))
            .unwrap();
        f.run();
        let due = f.executive().next_timeout();
        due.map(|due| due.as_secs())
    };
    // What B's instance is worth then, sorted.
    let told = |f: &mut Federation, at: u64| {
        f.set_time(at);
        f.time_out(&[]);
        let mut told = Vec::new();
        for callback in f.callbacks("A") {
            let Callback::ReflectAttributeValues {
                instance, values, ..
            } = callback
            else {
                panic!("{callback:?}");
            };
            assert_eq!(instance, ObjectInstanceHandle(1 + u64::from(b.0)));
            let values = values.iter();
            told.extend(values.map(|(attribute, _): (_, &[u8])| attribute));
        }
        told.sort();
        told
    };
    let mut periodic: Vec<_> = all.iter().filter(|(_, periodic)| *periodic).collect();
    periodic.sort();
    let periodic: Vec<_> = periodic.iter().map(|(attribute, _)| *attribute).collect();
    assert_eq!(set(&mut f, 3), Some(3));
    for at in 1..10 {
        let expected = if at % 3 == 0 { &periodic[..] } else { &[] };
        assert_eq!(told(&mut f, at), expected, "at {at} s");
    }
    assert_eq!(set(&mut f, 0), None);
    for at in 10..20 {
        assert_eq!(told(&mut f, at), [], "at {at} s");
    }
    // It counts from when it is set.
    assert_eq!(set(&mut f, 4), Some(23));
    assert_eq!(set(&mut f, 2), Some(21));
    assert_eq!(told(&mut f, 21), periodic);
    f.quiet();
}

/// 1516.1-2010, 11.4.3 speaks of a particular point, but the MIM of 2010 declares no parameter that names it: federations
/// bring MIMs that do. Without a name all are reported.
#[test]
fn a_synchronization_point_is_asked_for_by_its_name_where_the_mim_has_a_parameter_for_it() {
    const STATUS: &str = "SynchronizationPointStatus";
    let mim = starling_fom::standard_mim();
    let name = format!("<name>HLArequest{STATUS}</name>");
    let (before, after) = mim.split_once(&name).expect("it is in the MIM");
    let (body, after) = after.split_once("</interactionClass>").expect("its end");
    let parameter =
        "<parameter><name>HLAsyncPointName</name><dataType>HLAunicodeString</dataType></parameter>";
    let mim = format!("{before}{name}{body}{parameter}</interactionClass>{after}");
    let mut f = Federation::with_mim(mim);
    f.join("A");
    f.join("B");
    let request = f.interaction(&format!(
        "HLAmanager.HLAfederation.HLArequest.HLArequest{STATUS}"
    ));
    let report = f.interaction(&format!(
        "HLAmanager.HLAfederation.HLAreport.HLAreport{STATUS}"
    ));
    let refused = f.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception");
    f.call("A", |f| {
        f.publish_interaction_class(request)?;
        f.subscribe_interaction_class(report, true)?;
        f.subscribe_interaction_class(refused, true)?;
        f.register_federation_synchronization_point("P", b"", &[])?;
        f.register_federation_synchronization_point("Q", b"", &[])
    })
    .unwrap();
    f.run();
    f.callbacks("B");
    f.call("B", |f| f.synchronization_point_achieved("Q", true))
        .unwrap();
    f.callbacks("A");
    let parameter = |f: &mut Federation, class, name| {
        let parameter = f.federate("A").parameter_handle(class, name);
        parameter.unwrap()
    };
    let asked = parameter(&mut f, request, "HLAsyncPointName");
    let name = parameter(&mut f, report, "HLAsyncPointName");
    let federates = parameter(&mut f, report, "HLAsyncPointFederates");
    let why = parameter(&mut f, refused, "HLAexception");
    let malformed = parameter(&mut f, refused, "HLAparameterError");
    // What comes of a request: the values of parameters.
    let ask = |f: &mut Federation, label: Option<&[u8]>| {
        let values: Vec<_> = label.map(|label| (asked, label)).into_iter().collect();
        f.call("A", |f| f.send_interaction(request, &values, b""))
            .unwrap();
        let told = f.callbacks("A").into_iter();
        let told = told.map(|callback| match callback {
            Callback::ReceiveInteraction { class, values, .. } => {
                let of = |parameter: ParameterHandle| {
                    let mut all = values.iter();
                    let value = all.find(|(p, _): &(_, &[u8])| *p == parameter);
                    value.map(|(_, value)| value.to_vec()).unwrap_or_default()
                };
                let parameters = if class == report {
                    [name, federates]
                } else {
                    [why, malformed]
                };
                (class, parameters.map(of))
            }
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<_>>()
    };
    let [a, b] = ["A", "B"].map(|name| f.member(name).handle().0);
    let status = |of_b| [2, 4, a, 2, 4, b, of_b].map(u32::to_be_bytes).concat();
    let of_p = (report, [text("P"), status(2)]);
    let of_q = (report, [text("Q"), status(3)]);
    assert_eq!(ask(&mut f, Some(&text("Q"))), std::slice::from_ref(&of_q));
    assert_eq!(ask(&mut f, Some(&text("P"))), std::slice::from_ref(&of_p));
    assert_eq!(ask(&mut f, None), [of_p, of_q]);
    let mut refusal = |label: &[u8], why: &str, malformed: u32| {
        let parts = [text(why), malformed.to_be_bytes().to_vec()];
        assert_eq!(ask(&mut f, Some(label)), [(refused, parts)]);
    };
    refusal(&text("R"), "there is no synchronization point 'R'", 0);
    let why = "parameter HLAsyncPointName is no value of its data type in the MIM (1 bytes): an HLAunicodeString, \
               the count of its characters in 4 bytes, then 2 for each";
    refusal(b"Q", why, 1);
}

/// An HLAunicodeString.
fn text(text: &str) -> Vec<u8> {
    let units: Vec<_> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let count = text.encode_utf16().count() as u32;
    [&count.to_be_bytes()[..], &units].concat()
}

/// What is told periodically grows without anybody's doing: it is not made for who takes nothing now, and who is counted
/// for nobody else is not asked. What somebody asks for is.
#[test]
fn periodic_updates_are_not_made_for_who_has_no_room_for_them() {
    let mut f = two();
    f.join("C");
    let class = f.class("HLAmanager.HLAfederate");
    let names = ["HLAlogicalTime", "HLAupdatesSent"];
    let all = names.map(|name| f.federate("A").attribute_handle(class, name).unwrap());
    for name in ["A", "C"] {
        f.call(name, |f| {
            f.subscribe_object_class_attributes(class, &all, true, "")
        })
        .unwrap();
        f.callbacks(name);
    }
    let timing = f.interaction("HLAmanager.HLAfederate.HLAadjust.HLAsetTiming");
    f.call("A", |f| f.publish_interaction_class(timing))
        .unwrap();
    let b = f.member("B").handle();
    let (of, whom) = about(&mut f, "A", timing, b);
    let period = f
        .federate("A")
        .parameter_handle(timing, "HLAreportPeriod")
        .unwrap();
    let second = 1u32.to_be_bytes();
    f.call("A", |f| {
        f.send_interaction(timing, &[(of, &whom), (period, &second)], b"")
    })
    .unwrap();
    f.run();
    let after = |f: &mut Federation, seconds, full: &[&str]| {
        f.set_time(seconds);
        let before = f.control.0;
        f.time_out(full);
        f.run();
        let asked = f.control.0 - before;
        let told = ["A", "C"].map(|name| f.callbacks(name).len());
        (told, asked)
    };
    assert_eq!(after(&mut f, 2, &[]), ([2, 2], 1));
    assert_eq!(after(&mut f, 4, &["C"]), ([2, 0], 1));
    assert_eq!(after(&mut f, 6, &["A", "C"]), ([0, 0], 0));
    // C asks while B has not answered what was due for A alone.
    f.set_time(8);
    f.time_out(&["C"]);
    f.call("C", |f| {
        f.request_class_attribute_value_update(class, &all, b"")
    })
    .unwrap();
    f.run();
    let counted = |told: &[Callback]| {
        let is_counted = |callback: &&Callback| match callback {
            Callback::ReflectAttributeValues { values, .. } => values
                .iter()
                .any(|(attribute, _): (_, &[u8])| attribute == all[1]),
            _ => false,
        };
        told.iter().filter(is_counted).count()
    };
    // Of A, B and C, and of B once more.
    let told = f.callbacks("C");
    assert_eq!(counted(&told), 4, "{told:?}");
    f.callbacks("A");
    assert_eq!(after(&mut f, 10, &["C"]), ([2, 0], 1));
}

const REPORT: &str = "HLAmanager.HLAfederate.HLAreport.HLAreport";

/// Asks for these counts of B so often, while B answers nothing.
fn ask(f: &mut Federation, by: &str, what: &str, times: usize) {
    let class = f.interaction(&format!(
        "HLAmanager.HLAfederate.HLArequest.HLArequest{what}"
    ));
    f.call(by, |f| f.publish_interaction_class(class)).unwrap();
    let b = f.member("B").handle();
    let (of, whom) = about(f, by, class, b);
    for _ in 0..times {
        f.call(by, |f| f.send_interaction(class, &[(of, &whom)], b""))
            .unwrap();
    }
}

/// The reports and updates that a federate is told of.
fn told(f: &mut Federation, name: &str) -> [usize; 3] {
    let sent = f.interaction(&format!("{REPORT}InteractionsSent"));
    let mut told = [0; 3];
    for callback in f.callbacks(name) {
        let which = match callback {
            Callback::ReceiveInteraction { class, .. } if class == sent => 0,
            Callback::ReceiveInteraction { .. } => 1,
            Callback::ReflectAttributeValues { .. } => 2,
            other => panic!("{other:?}"),
        };
        told[which] += 1;
    }
    told
}

#[test]
fn whoever_asks_is_answered_however_often_others_do() {
    let mut f = two();
    f.join("C");
    let manager = f.class("HLAmanager.HLAfederate");
    let attribute = |f: &mut Federation, name: &str| {
        let handle = f.federate("C").attribute_handle(manager, name);
        handle.unwrap()
    };
    let sent = attribute(&mut f, "HLAupdatesSent");
    let received = attribute(&mut f, "HLAreflectionsReceived");
    for what in ["InteractionsSent", "UpdatesSent"] {
        let class = f.interaction(&format!("{REPORT}{what}"));
        f.call("C", |f| f.subscribe_interaction_class(class, true))
            .unwrap();
    }
    f.call("C", |f| {
        f.subscribe_object_class_attributes(manager, &[sent, received], true, "")
    })
    .unwrap();
    let discovered = f.callbacks("C");
    assert!(
        discovered
            .iter()
            .all(|c| matches!(c, Callback::DiscoverObjectInstance { .. }))
    );
    // The RTI's instances have the first handles.
    let b = ObjectInstanceHandle(1 + u64::from(f.member("B").handle().0));
    f.run();
    let before = f.control;
    ask(&mut f, "A", "UpdatesSent", 3000);
    for attributes in [vec![sent], vec![received], vec![sent, received]] {
        f.call("C", |f| {
            f.request_instance_attribute_value_update(b, &attributes, b"")
        })
        .unwrap();
    }
    ask(&mut f, "C", "InteractionsSent", 1);
    assert_eq!(f.control.1, before.1, "nothing has arrived yet");
    // Of each kind one answer, and one to all that was asked meanwhile, for each transportation type.
    assert_eq!(told(&mut f, "C"), [2, 4, 2]);
    f.quiet();
}

/// With the Auto-Provide Switch a joiner is asked for its counts as soon as it is there: behind its welcome, or it would
/// never answer, and be asked no more.
#[test]
fn who_joins_where_values_are_provided_is_asked_for_its_counts() {
    let mut f = two();
    let manager = f.class("HLAmanager.HLAfederate");
    let switches = f.interaction("HLAmanager.HLAfederation.HLAadjust.HLAsetSwitches");
    let a = f.federate("A");
    let sent = a.attribute_handle(manager, "HLAupdatesSent").unwrap();
    let provide = a.parameter_handle(switches, "HLAautoProvide").unwrap();
    f.call("A", |f| {
        f.subscribe_object_class_attributes(manager, &[sent], true, "")?;
        f.publish_interaction_class(switches)?;
        f.send_interaction(switches, &[(provide, &1_u32.to_be_bytes())], b"")
    })
    .unwrap();
    f.run();
    f.callbacks("A");
    let c = f.join("C").0;
    f.callbacks("C");
    let told = f.callbacks("A");
    let c = ObjectInstanceHandle(1 + u64::from(c));
    let values = |callback: &Callback| match callback {
        Callback::ReflectAttributeValues { instance, .. } => *instance == c,
        _ => false,
    };
    assert_eq!(told.iter().filter(|t| values(t)).count(), 1, "{told:?}");
}

/// It has not asked for it, and is told why its services are refused.
#[test]
fn who_is_resigned_by_another_is_told_so() {
    let mut f = two();
    let b = f.federate("B").federate().expect("it is joined").handle();
    let act = f.interaction("HLAmanager.HLAfederate.HLAservice.HLAresignFederationExecution");
    let action = f.federate("A").parameter_handle(act, "HLAresignAction");
    f.call("A", |f| f.publish_interaction_class(act)).unwrap();
    let of = about(&mut f, "A", act, b);
    let values: &[(_, &[u8])] = &[(of.0, &of.1), (action.unwrap(), &6_u32.to_be_bytes())];
    f.call("A", |f| f.send_interaction(act, values, b""))
        .unwrap();
    f.run();
    let note = f.federate("B").take_note();
    let refused = f.call("B", |f| f.enable_time_constrained()).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::FederateNotExecutionMember);
    for said in [note.expect("it is told"), refused.message] {
        assert!(said.contains("resigned by another"), "{said}");
    }
    assert_eq!(f.federate("B").take_note(), None);
}
