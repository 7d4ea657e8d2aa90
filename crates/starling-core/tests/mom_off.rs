//! A federation execution without management object model (`services.mom`), beside one that has it.

use crate::common::{Federation, Sent, next_plain};
use starling_core::message::mom::{Counts, InstanceCounts};
use starling_core::message::{AttributeRegions, ResignAction, mom};
use starling_core::{Callback, Exception, ExceptionKind, Lrc};

const ADJUST: &str = "HLAmanager.HLAfederate.HLAadjust.HLAsetTiming";
const REPORT: &str = "HLAmanager.HLAfederation.HLAreport.HLAreportMIMdata";

/// How many object instances a federate discovers that subscribes to all of them.
fn discovered(mut f: Federation) -> usize {
    f.join("A");
    let root = f.class("HLAobjectRoot");
    let privilege = f
        .federate("A")
        .attribute_handle(root, "HLAprivilegeToDeleteObject");
    let privilege = [privilege.unwrap()];
    f.call("A", |a| {
        a.subscribe_object_class_attributes(root, &privilege, true, "")
    })
    .unwrap();
    f.join("B");
    f.resign("B", ResignAction::NoAction);
    let callbacks = f.callbacks("A").into_iter();
    let is_discovery = |c: &Callback| matches!(c, Callback::DiscoverObjectInstance { .. });
    callbacks.filter(is_discovery).count()
}

#[test]
fn there_are_no_objects_of_the_rti() {
    assert_eq!(discovered(Federation::without_mom("")), 0);
    // HLAfederation, of A, of B.
    assert_eq!(discovered(Federation::new("")), 3);
}

/// The services that need it, by what B asks of them.
fn asked(f: &mut Federation) -> Vec<Result<(), Exception>> {
    let class = f.class("HLAmanager.HLAfederation");
    let (report, adjust) = (f.interaction(REPORT), f.interaction(ADJUST));
    let name = f.federate("B").attribute_handle(class, "HLAfederationName");
    let name = [name.unwrap()];
    let lost = f.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost");
    let dimension = f.federate("B").dimension_handle("HLAfederate").unwrap();
    let federate = f.class("HLAmanager.HLAfederate");
    let host = f
        .federate("B")
        .attribute_handle(federate, "HLAfederateHost");
    let region = f.call("B", |b| b.create_region(&[dimension])).unwrap();
    f.call("B", |b| b.commit_region_modifications(&[region]))
        .unwrap();
    let pairs = [AttributeRegions {
        attributes: vec![host.unwrap()],
        regions: vec![region],
    }];
    let mut b = |call: &dyn Fn(&mut Lrc<Sent>) -> Result<(), Exception>| f.call("B", call);
    vec![
        b(&|b| b.subscribe_object_class_attributes(class, &name, true, "")),
        b(&|b| b.request_class_attribute_value_update(class, &name, b"")),
        b(&|b| b.subscribe_interaction_class(report, true)),
        b(&|b| b.publish_interaction_class(adjust)),
        b(&|b| b.subscribe_object_class_attributes_with_regions(federate, &pairs, true, "")),
        b(&|b| b.request_attribute_value_update_with_regions(federate, &pairs, b"")),
        b(&|b| b.subscribe_interaction_class_with_regions(lost, &[region], true)),
    ]
}

#[test]
fn services_that_need_it_name_the_setting() {
    let mut f = Federation::without_mom("");
    f.join("B");
    for answer in asked(&mut f) {
        let thrown = answer.expect_err("there is no MOM");
        assert_eq!(thrown.kind, ExceptionKind::RTIinternalError);
        assert!(thrown.message.contains("services.mom = off"), "{thrown}");
    }
    let mut f = Federation::new("");
    f.join("B");
    assert!(asked(&mut f).iter().all(Result::is_ok));
}

#[test]
fn what_is_the_federates_own_goes_on() {
    let mut f = Federation::without_mom("");
    f.join("A");
    f.join("B");
    let (class, x, i) = (f.class("A"), f.attributes(&["x"]), f.interaction("I"));
    let root = f.interaction("HLAinteractionRoot");
    f.call("B", |b| {
        b.subscribe_object_class_attributes(class, &x, true, "")?;
        b.subscribe_interaction_class(root, true)
    })
    .unwrap();
    f.run();
    f.call("A", |a| {
        a.publish_object_class_attributes(class, &x)?;
        a.publish_interaction_class(i)?;
        let instance = a.register_object_instance(class, None)?;
        a.update_attribute_values(instance, &[(x[0], b"1")], b"")?;
        a.send_interaction(i, &[], b"")
    })
    .unwrap();
    let names: Vec<_> = f.callbacks("B").iter().map(Callback::name).collect();
    assert_eq!(
        names,
        [
            "discoverObjectInstance",
            "reflectAttributeValues",
            "receiveInteraction"
        ]
    );
    f.resign("A", ResignAction::DeleteObjects);
}

/// How many messages a federate sends to the executive that calls a service of its own.
fn messages_of_a_look_up(mut f: Federation) -> usize {
    f.join("A");
    let before = f.control.0;
    f.call("A", |a| a.object_class_handle("A")).unwrap();
    f.control.0 - before
}

/// Neither of what goes the short way nor of what goes the long one.
#[test]
fn nothing_is_counted_of_data() {
    for (mut f, counted) in [
        (Federation::new(""), true),
        (Federation::without_mom(""), false),
    ] {
        f.join("A");
        f.join("B");
        let (class, xy, i) = (f.class("A"), f.attributes(&["x", "y"]), f.interaction("I"));
        f.call("B", |b| {
            b.subscribe_object_class_attributes(class, &xy, true, "")?;
            b.subscribe_interaction_class(i, true)
        })
        .unwrap();
        f.run();
        let instance = f.call("A", |a| {
            a.publish_object_class_attributes(class, &xy)?;
            a.publish_interaction_class(i)?;
            a.register_object_instance(class, None)
        });
        let (instance, mut shortly) = (instance.unwrap(), false);
        for _ in 0..3 {
            f.call("A", |a| {
                a.update_attribute_values(instance, &[(xy[0], b"1")], b"")?;
                a.update_attribute_values(instance, &[(xy[0], b"1"), (xy[1], b"2")], b"")?;
                a.send_interaction(i, &[], b"")
            })
            .unwrap();
            f.run();
            shortly |= next_plain(f.federate("B")).is_some();
            f.callbacks("B");
        }
        assert!(shortly, "some goes the short way");
        for name in ["A", "B"] {
            let instances = InstanceCounts::default();
            let counts = f.member(name).save().mom.counts;
            let data = Counts {
                instances,
                ..counts
            };
            assert_eq!(data != Counts::default(), counted, "{name}: {data:?}");
        }
    }
}

#[test]
fn nothing_is_reported_though_the_fdd_asks_for_it() {
    let switches = "<serviceReporting isEnabled=\"true\"/>";
    assert_eq!(messages_of_a_look_up(Federation::new(switches)), 1);
    assert_eq!(messages_of_a_look_up(Federation::without_mom(switches)), 0);
}

#[test]
fn who_speaks_to_it_all_the_same_is_cut_off() {
    for (mut f, served) in [
        (Federation::new(""), true),
        (Federation::without_mom(""), false),
    ] {
        f.join("A");
        let sent = mom::Request::Sent {
            class: f.interaction(ADJUST),
            values: vec![],
        };
        assert_eq!(f.forge_request("A", &[], sent).is_ok(), served);
    }
}
