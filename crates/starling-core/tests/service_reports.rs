//! What HLAreportServiceInvocation says of a call (1516.1-2010, 11.4.3): its arguments and results as
//! texts, one test for each kind of them. A manages, B calls.

use crate::common::{Federation, Sent};
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    Callback, FederateHandle, LogicalTime, LogicalTimeInterval, Lrc, ObjectInstanceHandle, Order,
    RegionHandle, ServiceGroup, Transportation,
};

const REPORT: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
const SWITCH: &str = "HLAmanager.HLAfederate.HLAadjust.HLAsetServiceReporting";
const REFUSED: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception";

/// A report, decoded.
#[derive(Debug, PartialEq)]
struct Report {
    service: String,
    supplied: Vec<String>,
    returned: Vec<String>,
    exception: String,
}

/// One HLAunicodeString at a place, which it moves on: beginning at a multiple of 4.
fn text(bytes: &[u8], at: &mut usize) -> String {
    *at = at.next_multiple_of(4);
    let count = count(bytes, at);
    let units = bytes[*at..*at + 2 * count].chunks(2);
    let units: Vec<_> = units.map(|u| u16::from_be_bytes([u[0], u[1]])).collect();
    *at += 2 * count;
    String::from_utf16(&units).unwrap()
}

fn count(bytes: &[u8], at: &mut usize) -> usize {
    let four = bytes[*at..*at + 4].try_into().unwrap();
    *at += 4;
    u32::from_be_bytes(four) as usize
}

/// An HLAargumentList.
fn texts(bytes: &[u8]) -> Vec<String> {
    let mut at = 0;
    let texts = count(bytes, &mut at);
    let list = (0..texts).map(|_| text(bytes, &mut at)).collect();
    assert_eq!(at, bytes.len(), "something comes behind the last text");
    list
}

/// A, who gets the reports, and B, whose calls are reported from now on.
fn managed() -> Federation {
    let mut f = Federation::new("<conveyProducingFederate isEnabled=\"true\"/>");
    f.join("A");
    let b = f.join("B");
    let report = f.interaction(REPORT);
    f.call("A", |a| a.subscribe_interaction_class(report, true))
        .unwrap();
    switch_on(&mut f, b);
    f
}

/// A has a federate's calls reported.
fn switch_on(f: &mut Federation, of: FederateHandle) {
    let switch = f.interaction(SWITCH);
    f.call("A", |a| {
        let parameters = ["HLAfederate", "HLAreportingState"];
        let [federate, on] = parameters.map(|name| a.parameter_handle(switch, name).unwrap());
        a.publish_interaction_class(switch)?;
        let handle = [4_u32, of.0].map(u32::to_be_bytes).concat();
        let values: &[(_, &[u8])] = &[(federate, &handle), (on, &1_u32.to_be_bytes())];
        a.send_interaction(switch, values, b"")
    })
    .unwrap();
    f.run();
}

/// What may not be thrown at either, as neither knew of the other, is reported, by the same name as other refusals of it.
#[test]
fn a_subscription_to_reports_that_crosses_the_switch_ends_the_reporting() {
    let mut f = Federation::new("");
    f.join("A");
    let b = f.join("B");
    let (refused, report) = (f.interaction(REFUSED), f.interaction(REPORT));
    f.call("A", |a| a.subscribe_interaction_class(refused, true))
        .unwrap();
    f.run();
    f.call_late("B", |b| b.subscribe_interaction_class(report, true))
        .unwrap();
    switch_on(&mut f, b);
    let told = f.callbacks("A");
    let [Callback::ReceiveInteraction { class, values, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(*class, refused);
    let service = f.federate("A").parameter_handle(refused, "HLAservice");
    let (_, said) = values
        .iter()
        .find(|(p, _)| Ok(*p) == service)
        .expect("it is reported");
    assert_eq!(text(said, &mut 0), format!("HLAinteractionRoot.{SWITCH}"));
    f.call("B", |b| b.enable_asynchronous_delivery()).unwrap();
    f.run();
    assert_eq!(f.callbacks("B"), []);
}

/// The FDD's switch is each joiner's initial one (11.4.1, 4.9); who wants to hear reports has none made of itself.
#[test]
fn who_joins_is_reported_on_from_the_beginning_if_the_fdd_says_so() {
    let mut f = Federation::new("<serviceReporting isEnabled=\"true\"/>");
    let a = f.join("A");
    let (service, switch) = (f.interaction(REPORT), f.interaction(SWITCH));
    let (of, on) = {
        let a = f.federate("A");
        let of = a.parameter_handle(switch, "HLAfederate").unwrap();
        (of, a.parameter_handle(switch, "HLAreportingState").unwrap())
    };
    let refused = f.call("A", |a| a.subscribe_interaction_class(service, true));
    assert_eq!(
        refused.unwrap_err().kind,
        starling_core::ExceptionKind::FederateServiceInvocationsAreBeingReportedViaMOM
    );
    f.call("A", |l| {
        l.publish_interaction_class(switch)?;
        let handle = [4_u32, a.0].map(u32::to_be_bytes).concat();
        l.send_interaction(switch, &[(of, &handle), (on, &0_u32.to_be_bytes())], b"")
    })
    .unwrap();
    f.run();
    f.call("A", |a| a.subscribe_interaction_class(service, true))
        .unwrap();
    f.run();
    f.join("B");
    reports(&mut f);
    f.call("B", |b| b.enable_asynchronous_delivery()).unwrap();
    assert_eq!(reports(&mut f), [report("enableAsynchronousDelivery", &[])]);
}

/// The same of HLAreportException.
#[test]
fn exceptions_of_who_joins_are_reported_from_the_beginning_if_the_fdd_says_so() {
    for (switches, times) in [("", 0), ("<exceptionReporting isEnabled=\"true\"/>", 1)] {
        let mut f = Federation::new(switches);
        f.join("A");
        let report = f.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportException");
        f.call("A", |a| a.subscribe_interaction_class(report, true))
            .unwrap();
        f.run();
        f.join("B");
        f.callbacks("A");
        f.call("B", |b| b.disable_time_regulation()).unwrap_err();
        f.run();
        let told = f.callbacks("A");
        let heard = told.iter().filter(|c| c.name() == "receiveInteraction");
        assert_eq!(heard.count(), times, "{switches}: {told:?}");
    }
}

/// What A has been told since this was asked last.
fn reports(f: &mut Federation) -> Vec<Report> {
    let class = f.interaction(REPORT);
    let callbacks = f.callbacks("A");
    let reports = callbacks.into_iter().filter_map(|callback| match callback {
        Callback::ReceiveInteraction {
            class: c, values, ..
        } if c == class => Some(values),
        _ => None,
    });
    let mut list = Vec::new();
    for values in reports {
        let a = f.federate("A");
        let mut value = |name: &str| {
            let parameter = a.parameter_handle(class, name).unwrap();
            let mut values = values.iter();
            values.find(|(p, _)| *p == parameter).unwrap().1.to_vec()
        };
        list.push(Report {
            service: text(&value("HLAservice"), &mut 0),
            supplied: texts(&value("HLAsuppliedArguments")),
            returned: texts(&value("HLAreturnedArguments")),
            exception: text(&value("HLAexception"), &mut 0),
        });
    }
    list
}

/// The one report of what B calls here: its service, arguments and results.
fn said<T>(
    f: &mut Federation,
    call: impl FnOnce(&mut Lrc<Sent>) -> T,
) -> (Vec<String>, Vec<String>) {
    f.call("B", |b| {
        call(b);
    });
    let mut reports = reports(f);
    assert_eq!(reports.len(), 1, "{reports:?}");
    let report = reports.pop().unwrap();
    (report.supplied, report.returned)
}

fn supplied<T>(f: &mut Federation, call: impl FnOnce(&mut Lrc<Sent>) -> T) -> Vec<String> {
    said(f, call).0
}

fn returned<T>(f: &mut Federation, call: impl FnOnce(&mut Lrc<Sent>) -> T) -> Vec<String> {
    said(f, call).1
}

/// The reports of what B is told.
fn told(f: &mut Federation) -> Vec<Report> {
    f.callbacks("B");
    reports(f)
}

fn report(service: &str, supplied: &[&str]) -> Report {
    Report {
        service: service.into(),
        supplied: supplied.iter().map(|&s| s.into()).collect(),
        returned: vec![],
        exception: String::new(),
    }
}

/// They count the reports that were sent: while nobody subscribes none is, whatever is called.
#[test]
fn serial_numbers_have_no_gaps() {
    let mut f = managed();
    let class = f.interaction(REPORT);
    let serial = f
        .federate("A")
        .parameter_handle(class, "HLAserialNumber")
        .unwrap();
    let heard = |f: &mut Federation, calls: usize| {
        for _ in 0..calls {
            f.call("B", |b| b.query_logical_time()).unwrap();
        }
        let told = f.callbacks("A");
        let serials = told.iter().map(|callback| match callback {
            Callback::ReceiveInteraction { values, .. } => {
                let mut values = values.iter();
                let (_, value) = values.find(|(p, _)| *p == serial).unwrap();
                u32::from_be_bytes(value.try_into().unwrap())
            }
            other => panic!("{other:?}"),
        });
        serials.collect::<Vec<_>>()
    };
    assert_eq!(heard(&mut f, 3), [0, 1, 2]);
    f.call("A", |a| a.unsubscribe_interaction_class(class))
        .unwrap();
    assert_eq!(heard(&mut f, 2), [0; 0]);
    f.call("A", |a| a.subscribe_interaction_class(class, true))
        .unwrap();
    assert_eq!(heard(&mut f, 2), [3, 4]);
}

#[test]
fn handles_of_the_fdd_are_their_number_and_their_name() {
    let mut f = managed();
    let (class, i) = (f.class("A.B"), f.interaction("I"));
    let (x, d) = (
        f.attributes(&["x"])[0],
        f.federate("A").dimension_handle("D").unwrap(),
    );
    let p = f.federate("A").parameter_handle(i, "p").unwrap();
    let class_said = format!("{class} \"HLAobjectRoot.A.B\"");
    assert_eq!(
        said(&mut f, |b| b.attribute_handle(class, "x")),
        (vec![class_said, "x".into()], vec![format!("{x} \"x\"")])
    );
    assert_eq!(
        said(&mut f, |b| b.parameter_name(i, p)),
        (
            vec![
                format!("{i} \"HLAinteractionRoot.I\""),
                format!("{p} \"p\"")
            ],
            vec!["p".into()]
        )
    );
    assert_eq!(
        supplied(&mut f, |b| b.dimension_name(d)),
        [format!("{d} \"D\"")]
    );
}

#[test]
fn a_handle_that_nobody_knows_is_its_number() {
    let mut f = managed();
    let instance = ObjectInstanceHandle(7 << 32 | 9);
    assert_eq!(
        supplied(&mut f, |b| b.object_instance_name(instance)),
        ["7.9"]
    );
}

#[test]
fn a_federate_is_its_number_and_its_name() {
    let mut f = managed();
    let a = f.member("A").handle();
    assert_eq!(
        said(&mut f, |b| b.federate_name(a)),
        (vec![format!("{} \"A\"", a.0)], vec!["A".into()])
    );
    assert_eq!(
        supplied(&mut f, |b| b.register_federation_synchronization_point(
            "Go",
            b"",
            &[a]
        )),
        ["Go".into(), "0x".into(), format!("{{{} \"A\"}}", a.0)]
    );
}

#[test]
fn an_instance_is_named_also_by_the_service_that_ends_it() {
    let mut f = managed();
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("B", |b| b.publish_object_class_attributes(class, &x))
        .unwrap();
    reports(&mut f);
    let name = r#"a "big" \ one"#;
    f.call("B", |b| b.reserve_object_instance_name(name))
        .unwrap();
    assert_eq!(
        told(&mut f),
        [
            report("reserveObjectInstanceName", &[name]),
            report("objectInstanceNameReservationSucceeded", &[name])
        ]
    );
    let (given, made) = said(&mut f, |b| b.register_object_instance(class, Some(name)));
    assert_eq!(given, [format!("{class} \"HLAobjectRoot.A\""), name.into()]);
    assert_eq!(made, [r#"2.1 "a \"big\" \\ one""#]);
    let instance = ObjectInstanceHandle(2 << 32 | 1);
    assert_eq!(
        supplied(&mut f, |b| b.delete_object_instance(instance, b"")),
        [made[0].as_str(), "0x"]
    );
}

#[test]
fn sets_are_in_braces_and_none_is_an_empty_one() {
    let mut f = managed();
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    let (x, y) = (list[0], list[1]);
    let class_said = format!("{class} \"HLAobjectRoot.A\"");
    assert_eq!(
        supplied(&mut f, |b| b.publish_object_class_attributes(class, &list)),
        [class_said.clone(), format!("{{{x} \"x\", {y} \"y\"}}")]
    );
    assert_eq!(
        supplied(&mut f, |b| b.publish_object_class_attributes(class, &[])),
        [class_said, "{}".into()]
    );
    assert_eq!(
        supplied(&mut f, |b| b
            .reserve_multiple_object_instance_name(&["one", "two"])),
        [r#"{"one", "two"}"#]
    );
    let i = f.interaction("I");
    let d = f.federate("A").dimension_handle("D").unwrap();
    assert_eq!(
        returned(&mut f, |b| b.available_dimensions_for_interaction_class(i)),
        [format!("{{{d} \"D\"}}")]
    );
}

#[test]
fn of_large_sets_the_beginning_and_the_count_are_shown() {
    let mut f = managed();
    let regions: Vec<_> = (1..=101).map(|n| RegionHandle(2 << 32 | n)).collect();
    let said = supplied(&mut f, |b| b.commit_region_modifications(&regions));
    assert!(said[0].starts_with("{2.1, 2.2, "), "{said:?}");
    assert!(said[0].ends_with(", 2.100, ... (101 in all)}"), "{said:?}");
}

#[test]
fn values_are_a_map_and_bytes_are_hexadecimal_with_a_bound() {
    let mut f = managed();
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    let (x, y) = (list[0], list[1]);
    f.call("B", |b| {
        b.publish_object_class_attributes(class, &list)?;
        b.register_object_instance(class, None)
    })
    .unwrap();
    reports(&mut f);
    let instance = ObjectInstanceHandle(2 << 32 | 1);
    let long = [0xab; 65];
    let said = supplied(&mut f, |b| {
        b.update_attribute_values(instance, &[(x, b"\x00\xff"), (y, &long)], b"tag")
    });
    assert_eq!(
        said[1..],
        [
            format!(
                "{{{x} \"x\": 0x00ff, {y} \"y\": 0x{}... (65 bytes)}}",
                "ab".repeat(64)
            ),
            "0x746167".into()
        ]
    );
    assert!(said[0].starts_with("2.1 \""), "{said:?}");
}

#[test]
fn long_texts_are_cut() {
    let mut f = managed();
    // A character of two bytes lies across the bound.
    let label = format!("{}{}", "a".repeat(1023), "\u{e4}".repeat(100));
    let said = supplied(&mut f, |b| b.synchronization_point_achieved(&label, true));
    assert_eq!(said[0], format!("{}... (1223 bytes)", "a".repeat(1023)));
}

/// Whoever switches reporting on makes no federate send what rtiexec refuses; the call may have been refused for its
/// size, too.
#[test]
fn a_report_keeps_to_what_one_message_may_hold() {
    let mut f = managed();
    let set: Vec<_> = (1..=100)
        .map(|n| starling_core::FederateHandle(u32::MAX - n))
        .collect();
    let label = "l".repeat(1_000);
    for most in [1 << 10, 1 << 11] {
        f.federate("B").set_frame_bytes_max(most);
        f.call("B", |b| {
            b.register_federation_synchronization_point(&label, b"tag", &set)
        })
        .ok();
        let said = reports(&mut f).remove(0);
        assert_eq!(said.supplied.len(), 3);
        let texts = said.supplied.iter().chain(&said.returned);
        let bytes: usize = texts.map(String::len).sum();
        assert!(bytes < most - 256, "{bytes} of {most}");
        assert!(said.supplied[2].ends_with(" bytes)"), "{:?}", said.supplied);
    }
}

#[test]
fn times_are_numbers() {
    let mut f = managed();
    let (time, step) = (
        LogicalTime::float64(2.5),
        LogicalTimeInterval::float64(0.25),
    );
    let (time, step) = (time.unwrap(), step.unwrap());
    assert_eq!(
        supplied(&mut f, |b| b.enable_time_regulation(step)),
        ["0.25"]
    );
    assert_eq!(told(&mut f), [report("timeRegulationEnabled", &["0"])]);
    assert_eq!(supplied(&mut f, |b| b.time_advance_request(time)), ["2.5"]);
    assert_eq!(told(&mut f), [report("timeAdvanceGrant", &["2.5"])]);
    assert_eq!(returned(&mut f, |b| b.query_logical_time()), ["2.5"]);
    assert_eq!(returned(&mut f, |b| b.query_lookahead()), ["0.25"]);
}

#[test]
fn a_message_with_a_time_shows_its_orders_and_its_retraction_handle() {
    let mut f = managed();
    let i = f.interaction("I");
    let step = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("B", |b| {
        b.publish_interaction_class(i)?;
        b.change_interaction_order_type(i, Order::TimeStamp)?;
        b.enable_time_regulation(step)
    })
    .unwrap();
    told(&mut f);
    let time = LogicalTime::float64(3.0).unwrap();
    let (given, handle) = said(&mut f, |b| b.send_interaction_at(i, &[], b"", time));
    assert_eq!(given[1..], ["{}", "0x", "3"]);
    assert_eq!(handle, ["512.1"]);
    // And as it is received.
    f.join("C");
    f.call("C", |c| {
        c.publish_interaction_class(i)?;
        c.change_interaction_order_type(i, Order::TimeStamp)?;
        c.enable_time_regulation(step)
    })
    .unwrap();
    f.callbacks("C");
    f.call("B", |b| b.subscribe_interaction_class(i, true))
        .unwrap();
    f.run();
    told(&mut f);
    f.call("C", |c| c.send_interaction_at(i, &[], b"\x01", time))
        .unwrap();
    let class = format!("{i} \"HLAinteractionRoot.I\"");
    let received = [
        &class,
        "{}",
        "0x01",
        "HLAreliable",
        "3 \"C\"",
        "",
        "3",
        "TimeStamp",
        "Receive",
        "768.1",
    ];
    assert_eq!(told(&mut f), [report("receiveInteraction", &received)]);
}

#[test]
fn truth_values_numbers_and_texts_are_as_they_are() {
    let mut f = managed();
    let d = f.federate("A").dimension_handle("D").unwrap();
    assert_eq!(
        supplied(&mut f, |b| b
            .synchronization_point_achieved("Go, \"now\"", false)),
        ["Go, \"now\"", "false"]
    );
    assert_eq!(returned(&mut f, |b| b.dimension_upper_bound(d)), ["100"]);
    assert_eq!(
        said(&mut f, |b| b.update_rate_value("Low")),
        (vec!["Low".into()], vec!["2".into()])
    );
}

#[test]
fn enumerators_have_the_standards_names() {
    let mut f = managed();
    let i = f.interaction("I");
    let class = format!("{i} \"HLAinteractionRoot.I\"");
    assert_eq!(
        supplied(&mut f, |b| b
            .change_interaction_order_type(i, Order::TimeStamp)),
        [&class, "TimeStamp"]
    );
    let unreliable = Transportation::BestEffort;
    assert_eq!(
        supplied(&mut f, |b| b
            .request_interaction_transportation_type_change(i, unreliable)),
        [&class, "HLAbestEffort"]
    );
    let action = ResignAction::CancelThenDeleteThenDivest;
    assert_eq!(
        supplied(&mut f, |b| b.set_automatic_resign_directive(action)),
        ["CANCEL_THEN_DELETE_THEN_DIVEST"]
    );
    let group = ServiceGroup::DataDistributionManagement;
    assert_eq!(
        said(&mut f, |b| b.normalize_service_group(group)),
        (
            vec!["DATA_DISTRIBUTION_MANAGEMENT".into()],
            vec!["5".into()]
        )
    );
}

#[test]
fn regions_are_numbers_and_attributes_with_regions_a_map_of_sets() {
    let mut f = managed();
    let (class, list) = (f.class("A"), f.attributes(&["x"]));
    let (x, d) = (list[0], f.federate("A").dimension_handle("D").unwrap());
    let (given, made) = said(&mut f, |b| b.create_region(&[d]));
    assert_eq!(given, [format!("{{{d} \"D\"}}")]);
    assert_eq!(made, ["2.1"]);
    let region = RegionHandle(2 << 32 | 1);
    assert_eq!(
        supplied(&mut f, |b| b.set_range_bounds(region, d, 3, 7)),
        ["2.1".into(), format!("{d} \"D\""), "3".into(), "7".into()]
    );
    assert_eq!(returned(&mut f, |b| b.range_bounds(region, d)), ["3", "7"]);
    f.call("B", |b| b.commit_region_modifications(&[region]))
        .unwrap();
    reports(&mut f);
    let pair = AttributeRegions {
        attributes: list,
        regions: vec![region],
    };
    let said = supplied(&mut f, |b| {
        b.subscribe_object_class_attributes_with_regions(class, &[pair], true, "Low")
    });
    assert_eq!(
        said[1..],
        [
            format!("{{{{{x} \"x\"}}: {{2.1}}}}"),
            "true".into(),
            "Low".into()
        ]
    );
}

#[test]
fn callbacks_show_their_arguments_one_by_one() {
    let mut f = managed();
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let attribute = x[0];
    f.call("B", |b| {
        b.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    f.join("C");
    f.call("C", |c| c.publish_object_class_attributes(class, &x))
        .unwrap();
    f.run();
    told(&mut f);
    let instance = f.call("C", |c| {
        let instance = c.register_object_instance(class, None)?;
        c.update_attribute_values(instance, &[(attribute, b"\x2a")], b"t")?;
        c.delete_object_instance(instance, b"").map(|()| instance)
    });
    assert_eq!(instance, Ok(ObjectInstanceHandle(3 << 32 | 1)));
    let reports = told(&mut f);
    let name = &reports[0].supplied[2].clone();
    let (known, class) = (
        format!("3.1 \"{name}\""),
        format!("{class} \"HLAobjectRoot.A\""),
    );
    let values = format!("{{{attribute} \"x\": 0x2a}}");
    let discovered = [&known, &class, name, "3 \"C\""];
    let reflected = [&known, &values, "0x74", "HLAreliable", "3 \"C\"", ""];
    // Whoever is removed is not known any more.
    let removed = ["3.1", "0x", "3 \"C\""];
    assert_eq!(
        reports,
        [
            report("discoverObjectInstance", &discovered),
            report("reflectAttributeValues", &reflected),
            report("removeObjectInstance", &removed),
        ]
    );
}

#[test]
fn callbacks_of_saves_show_states_and_reasons() {
    let mut f = managed();
    f.call("B", |b| b.query_federation_save_status()).unwrap();
    assert_eq!(
        told(&mut f)[1..],
        [report(
            "federationSaveStatusResponse",
            &[r#"{1 "A": NO_SAVE_IN_PROGRESS, 2 "B": NO_SAVE_IN_PROGRESS}"#]
        )]
    );
    f.call("B", |b| b.query_federation_restore_status())
        .unwrap();
    assert_eq!(
        told(&mut f)[1..],
        [report(
            "federationRestoreStatusResponse",
            &[r#"{1 "A": 1 NO_RESTORE_IN_PROGRESS, 2 "B": 2 NO_RESTORE_IN_PROGRESS}"#]
        )]
    );
}

#[test]
fn an_exception_is_its_name_and_has_no_result() {
    let mut f = managed();
    f.call("B", |b| b.disable_time_regulation().unwrap_err());
    let mut expected = report("disableTimeRegulation", &[]);
    expected.exception = "TimeRegulationIsNotEnabled".into();
    assert_eq!(reports(&mut f), [expected]);
}

/// Sharing in the MIM is the RTI's: no service refuses a federate what the RTI publishes. The producing federate tells
/// such a report from the RTI's, which has none (6.13).
#[test]
fn a_report_that_a_federate_sends_has_a_producing_federate() {
    let mut f = managed();
    let b = f.member("B").handle();
    let class = f.interaction(REPORT);
    f.call("B", |b| b.publish_interaction_class(class)).unwrap();
    f.call("B", |b| b.send_interaction(class, &[], b"forged"))
        .unwrap();
    f.run();
    let heard = f.callbacks("A").into_iter();
    let producers: Vec<_> = heard
        .filter_map(|callback| match callback {
            Callback::ReceiveInteraction {
                class: c, producer, ..
            } if c == class => Some(producer),
            _ => None,
        })
        .collect();
    // The services are reported, behind and before it.
    assert_eq!(producers.iter().filter(|p| p.is_none()).count(), 2);
    assert_eq!(producers.iter().filter(|p| **p == Some(b)).count(), 1);
}
