//! Federation executions without time management, regions or update rates (`services.time`,
//! `services.ddm`, `services.rates`).

use crate::common::Federation;
use starling_core::message::{SubscribedAttribute, ddm, declaration};
use starling_core::{Exception, ExceptionKind, Services};

const ON: Services = Services {
    mom: true,
    time: true,
    ddm: true,
    rates: true,
};

/// What services of the three throw.
fn asked(services: Services) -> [Result<(), Exception>; 4] {
    let mut f = Federation::with(services, "");
    f.join("A");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let dimension = f.federate("A").dimension_handle("D").unwrap();
    [
        f.call("A", |a| a.enable_time_constrained()),
        f.call("A", |a| a.query_logical_time()).map(|_| ()),
        f.call("A", |a| a.create_region(&[dimension])).map(|_| ()),
        f.call("A", |a| {
            a.subscribe_object_class_attributes(class, &x, true, "Low")
        }),
    ]
}

#[test]
fn what_is_off_throws_and_names_its_setting() {
    assert!(asked(ON).iter().all(Result::is_ok), "{:?}", asked(ON));
    for (services, off, setting) in [
        (Services { time: false, ..ON }, &[0, 1][..], "services.time"),
        (Services { ddm: false, ..ON }, &[2], "services.ddm"),
        (Services { rates: false, ..ON }, &[3], "services.rates"),
    ] {
        for (n, result) in asked(services).into_iter().enumerate() {
            if !off.contains(&n) {
                result.unwrap();
                continue;
            }
            let refused = result.expect_err(setting);
            assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
            assert!(refused.to_string().contains(setting), "{refused}");
        }
    }
}

#[test]
fn whoever_asks_past_its_lrc_is_refused() {
    let mut f = Federation::with(Services { ddm: false, ..ON }, "");
    f.join("A");
    let refused = f.forge_request("A", &[], ddm::Request::CommitRegions(Vec::new()));
    assert!(refused.unwrap_err().contains("services.ddm is off"));
    let mut f = Federation::with(Services { rates: false, ..ON }, "");
    f.join("A");
    let attribute = SubscribedAttribute {
        attribute: f.attributes(&["x"])[0],
        active: true,
        rate: "Low".into(),
    };
    let request = declaration::Request::SubscribeObjectClass {
        class: f.class("A"),
        attributes: vec![attribute],
    };
    let refused = f.forge_request("A", &[], request);
    assert!(refused.unwrap_err().contains("services.rates is off"));
}
