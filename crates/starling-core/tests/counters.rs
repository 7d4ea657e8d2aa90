//! What became of data is counted, and told to the executive for who asks it.

use crate::common::{Federation, counted, did};
use starling_core::message::ResignAction;
use starling_core::{Counters, Service};
use std::time::Duration;

/// As the executive knows them.
fn told(f: &mut Federation, name: &str) -> Counters {
    let all = f.status().federates;
    let of = all.iter().find(|of| of.federate.name == name);
    of.expect("a member").counters
}

#[test]
fn the_executive_is_told_when_counts_have_changed_and_before_a_federate_resigns() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    let instance = instance.unwrap();
    let update = |f: &mut Federation| {
        let values = [(list[0], &b"1"[..])];
        f.call("A", |f| f.update_attribute_values(instance, &values, b""))
            .unwrap();
    };
    assert!(
        !f.call("A", |f| f.report(Duration::ZERO, false)),
        "nothing has happened"
    );
    update(&mut f);
    assert_eq!(told(&mut f, "A"), Counters::default());
    assert!(f.call("A", |f| f.report(Duration::ZERO, false)));
    f.run();
    let unwanted = Counters {
        unwanted: 1,
        ..Counters::default()
    };
    assert_eq!(told(&mut f, "A"), unwanted);
    assert!(
        !f.call("A", |f| f.report(Duration::ZERO, false)),
        "it was told"
    );

    // Two requests for values that wait become one callback; what waits is told, too.
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    f.run();
    f.callbacks("A");
    f.callbacks("B");
    for _ in 0..2 {
        f.call("B", |f| {
            f.request_instance_attribute_value_update(instance, &list, b"")
        })
        .unwrap();
        f.run();
    }
    update(&mut f);
    f.run();
    for name in ["A", "B"] {
        assert!(f.call(name, |f| f.report(Duration::ZERO, false)));
    }
    f.run();
    let told_by_a = told(&mut f, "A");
    assert_eq!((told_by_a.sent, told_by_a.unwanted), (1, 1));
    assert_eq!((told_by_a.merged, told_by_a.waiting), (1, 1));
    let told_by_b = told(&mut f, "B");
    assert_eq!((told_by_b.queued, told_by_b.waiting), (1, 1));
    assert_eq!(
        told_by_b.to_string(),
        "0 sent, 1 received, 1 callbacks wait"
    );

    // It no longer subscribes when the value's turn comes.
    f.call("B", |f| f.unsubscribe_object_class_attributes(class, &list))
        .unwrap();
    assert_eq!(f.callbacks("B"), []);
    let last = f.call("B", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
            .unwrap();
        counted(f.outbox())
    });
    assert_eq!(last.expect("its last counts").unsubscribed, 1);
}

#[test]
fn what_goes_to_the_rti_is_sent_whether_or_not_a_federate_subscribes() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let plain = f.interaction("I");
    let served = [
        "HLArequest.HLArequestUpdatesSent",
        "HLAadjust.HLAsetTiming",
        "HLAservice.HLAdisableAsynchronousDelivery",
    ];
    let served = served.map(|name| f.interaction(&format!("HLAmanager.HLAfederate.{name}")));
    let of = f.federate("A").parameter_handle(served[0], "HLAfederate");
    let of = of.unwrap();
    let b = f.member("B").handle();
    let whom = [4, b.0].map(u32::to_be_bytes).concat();
    for class in [plain].into_iter().chain(served) {
        f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    }
    let send = |f: &mut Federation| {
        f.call("A", |f| f.send_interaction(plain, &[], b""))
            .unwrap();
        for class in served {
            let values = [(of, &whom[..])];
            f.call("A", |f| f.send_interaction(class, &values, b""))
                .unwrap();
        }
        f.run();
        let counters = f.member("A").counters();
        (counters.sent, counters.unwanted)
    };
    assert_eq!(send(&mut f), (3, 1));
    // A federate that hears them makes no second one of each.
    for class in served {
        f.call("B", |f| f.subscribe_interaction_class(class, true))
            .unwrap();
    }
    f.run();
    assert_eq!(send(&mut f), (6, 2));
}

/// For how long it does what it does is told by the federate, which knows it; of what is called too often to look at a
/// clock nothing is told.
#[test]
fn what_a_federate_does_is_told_with_its_age() {
    let mut f = Federation::new("");
    f.join("A");
    let at = Duration::from_secs;
    let told = |f: &mut Federation, now: u64| {
        assert!(f.federate("A").report(at(now), false));
        let told = did(f.federate("A").outbox());
        f.run();
        told.expect("it has told something")
    };
    f.federate("A").enter(Service::FederateSaveBegun, false);
    f.federate("A").did_at(at(10));
    assert_eq!(told(&mut f, 19), ("federateSaveBegun".to_owned(), 9_000));
    f.federate("A").enter(Service::UpdateAttributeValues, false);
    assert_eq!(told(&mut f, 30), ("updateAttributeValues".to_owned(), 0));
    f.federate("A").evoke(Service::EvokeCallback);
    f.federate("A").did_at(at(31));
    assert_eq!(
        told(&mut f, 32),
        ("evokeCallback".to_owned(), 999),
        "it evokes"
    );
    // A clock that goes back.
    f.federate("A").enter(Service::FederateSaveBegun, false);
    f.federate("A").did_at(at(40));
    assert_eq!(told(&mut f, 39), ("federateSaveBegun".to_owned(), 0));
}

/// What `starling why` says of who stands between its evoking and its next call hangs on it.
#[test]
fn who_does_not_evoke_any_more_is_told_of() {
    let mut f = Federation::new("");
    f.join("A");
    let told = |f: &mut Federation, now, waits| {
        let is_new = f.federate("A").report(Duration::from_secs(now), waits);
        let told = did(f.federate("A").outbox());
        f.run();
        assert_eq!(is_new, told.is_some());
        told.map(|(_, age)| age)
    };
    f.federate("A").evoke(Service::EvokeCallback);
    assert_eq!(told(&mut f, 10, true), Some(0));
    // In a long call; and again and again.
    assert_eq!(told(&mut f, 20, true), None);
    f.federate("A").evoke(Service::EvokeCallback);
    assert_eq!(told(&mut f, 30, false), None);
    assert_eq!(told(&mut f, 32, false), Some(2_000), "no more");
    assert_eq!(told(&mut f, 40, false), None, "it was told");
    f.federate("A").evoke(Service::EvokeCallback);
    assert_eq!(told(&mut f, 41, false), Some(0), "again");
}
