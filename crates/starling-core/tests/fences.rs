//! Data on links of its own, overtaken by the log and by other federates' data: what a federate did
//! before it gave an attribute away, deleted or resigned comes before what follows from that
//! (`log/order.rs`; ownership 1516.1-2010 chapter 7, §6.14, §4.10).

use crate::common::Federation;
use starling_core::message::ResignAction;
use starling_core::{AttributeHandle, Callback, FederateHandle, LogicalTime, ObjectInstanceHandle};

/// A has registered `car` and owns x; B and D publish x and do not hear it; C subscribes to it.
struct Setting {
    f: Federation,
    a: FederateHandle,
    b: FederateHandle,
    d: FederateHandle,
    car: ObjectInstanceHandle,
    x: AttributeHandle,
}

impl Setting {
    fn new() -> Self {
        let mut f = Federation::direct("");
        let [a, b, _, d] = ["A", "B", "C", "D"].map(|name| f.join(name));
        let class = f.class("A");
        let [x, y] = f.attributes(&["x", "y"])[..] else {
            unreachable!()
        };
        for (name, published, subscribed) in [
            ("A", &[x, y][..], &[][..]),
            ("B", &[x], &[y]),
            ("C", &[], &[x]),
            ("D", &[x], &[y]),
        ] {
            f.call(name, |f| {
                f.publish_object_class_attributes(class, published)?;
                f.subscribe_object_class_attributes(class, subscribed, true, "")
            })
            .unwrap();
        }
        f.run();
        let car = f.call("A", |f| f.register_object_instance(class, None));
        let car = car.unwrap();
        for name in ["B", "C", "D"] {
            assert_eq!(f.callbacks(name).len(), 1, "{name} discovers the car");
        }
        f.quiet();
        Setting { f, a, b, d, car, x }
    }

    fn update(&mut self, name: &str, value: &str) {
        let (car, x) = (self.car, self.x);
        let values = [(x, value.as_bytes())];
        self.f
            .call(name, |f| f.update_attribute_values(car, &values, b""))
            .unwrap();
    }

    fn acquire(&mut self, name: &str) {
        let (car, x) = (self.car, self.x);
        self.f
            .call(name, |f| f.attribute_ownership_acquisition(car, &[x], b""))
            .unwrap();
        self.f.run();
    }

    fn divest(&mut self, name: &str) {
        let (car, x) = (self.car, self.x);
        self.f
            .call(name, |f| {
                f.unconditional_attribute_ownership_divestiture(car, &[x], b"")
            })
            .unwrap();
    }

    fn delete(&mut self) {
        let car = self.car;
        self.f
            .call("A", |f| f.delete_object_instance(car, b""))
            .unwrap();
    }

    /// Delivers what waits; the federate owns x now.
    fn owns(&mut self, name: &str) {
        let told = self.f.callbacks(name);
        let acquired = |c: &Callback| {
            matches!(
                c,
                Callback::AttributeOwnershipAcquisitionNotification { .. }
            )
        };
        assert!(told.iter().any(acquired), "{name} is told {told:?}");
    }

    /// All that a federate is told, values as they were sent.
    fn told(&mut self, name: &str) -> Vec<String> {
        let word = |callback| match callback {
            Callback::ReflectAttributeValues { values, .. } => {
                let (_, value) = values.iter().next().expect("x has a value");
                Some(String::from_utf8(value.to_vec()).unwrap())
            }
            Callback::AttributeOwnershipAcquisitionNotification { .. } => Some("acquired".into()),
            Callback::DiscoverObjectInstance { .. } => Some("discovered".into()),
            Callback::RemoveObjectInstance { .. } => Some("removed".into()),
            // Of what else A gives away.
            Callback::RequestAttributeOwnershipAssumption { .. } => None,
            other => panic!("{name} is told {other:?}"),
        };
        self.f
            .callbacks(name)
            .into_iter()
            .filter_map(word)
            .collect()
    }
}

/// What A does, named for messages.
type Way = (&'static str, fn(&mut Setting));

/// How A can give x away, so that B owns it.
const WAYS: [Way; 6] = [
    ("unconditional divestiture to who wants it", |s| {
        s.acquire("B");
        s.divest("A");
    }),
    ("acquisition of what was divested", |s| {
        s.divest("A");
        s.acquire("B");
    }),
    ("confirmed divestiture", |s| {
        let (car, x) = (s.car, s.x);
        s.acquire("B");
        s.f.call("A", |f| {
            f.negotiated_attribute_ownership_divestiture(car, &[x], b"")?;
            f.confirm_divestiture(car, &[x], b"")
        })
        .unwrap();
    }),
    ("divestiture if wanted", |s| {
        let (car, x) = (s.car, s.x);
        s.acquire("B");
        s.f.call("A", |f| {
            f.attribute_ownership_divestiture_if_wanted(car, &[x], b"")
        })
        .unwrap();
    }),
    ("end of publication", |s| {
        let class = s.f.class("A");
        s.acquire("B");
        s.f.call("A", |f| f.unpublish_object_class(class)).unwrap();
    }),
    ("resignation", |s| {
        s.acquire("B");
        s.f.resign("A", ResignAction::UnconditionallyDivestAttributes);
    }),
];

#[test]
fn the_former_owners_values_come_first() {
    for (way, give) in WAYS {
        let mut s = Setting::new();
        s.update("A", "A 1");
        s.update("A", "A 2");
        give(&mut s);
        s.owns("B");
        s.update("B", "B 1");
        assert!(s.f.arrive(s.b, "C") > 0);
        assert_eq!(s.told("C"), [""; 0], "{way}: A's values are on their way");
        assert!(s.f.arrive(s.a, "C") > 0);
        assert_eq!(s.told("C"), ["A 1", "A 2", "B 1"], "{way}");
    }
}

#[test]
fn the_new_owner_hears_the_former_one_to_the_end_before_it_owns() {
    for (way, give) in WAYS {
        let mut s = Setting::new();
        let (class, x) = (s.f.class("A"), s.x);
        s.f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &[x], true, "")
        })
        .unwrap();
        s.f.run();
        s.update("A", "A 1");
        give(&mut s);
        assert_eq!(s.told("B"), [""; 0], "{way}: A's value is on its way");
        s.f.arrive(s.a, "B");
        assert_eq!(s.told("B"), ["A 1", "acquired"], "{way}");
    }
}

#[test]
fn owners_in_a_row_are_heard_in_their_order() {
    let mut s = Setting::new();
    s.update("A", "A 1");
    s.divest("A");
    s.acquire("B");
    s.owns("B");
    s.update("B", "B 1");
    s.divest("B");
    s.acquire("D");
    s.owns("D");
    s.update("D", "D 1");
    s.f.arrive(s.d, "C");
    s.f.arrive(s.b, "C");
    assert_eq!(s.told("C"), [""; 0]);
    s.f.arrive(s.a, "C");
    assert_eq!(s.told("C"), ["A 1", "B 1", "D 1"]);
    // And back, while C is behind again.
    s.update("D", "D 2");
    s.divest("D");
    s.acquire("A");
    s.owns("A");
    s.update("A", "A 2");
    s.f.arrive(s.a, "C");
    assert_eq!(s.told("C"), [""; 0]);
    s.f.arrive(s.d, "C");
    assert_eq!(s.told("C"), ["D 2", "A 2"]);
}

#[test]
fn a_fence_of_something_else_counts_too() {
    let mut s = Setting::new();
    let class = s.f.interaction("I");
    s.update("A", "A 1");
    // It fences the link to C, whom it does not concern; nothing is sent to C between the two.
    s.f.call("A", |f| {
        f.publish_interaction_class(class)?;
        f.unpublish_interaction_class(class)
    })
    .unwrap();
    s.divest("A");
    s.acquire("B");
    s.owns("B");
    s.update("B", "B 1");
    s.f.arrive(s.b, "C");
    assert_eq!(s.told("C"), [""; 0], "A's value is on its way");
    s.f.arrive(s.a, "C");
    assert_eq!(s.told("C"), ["A 1", "B 1"]);
}

#[test]
fn values_come_before_the_removal() {
    let ways: [Way; 2] = [
        ("deletion", Setting::delete),
        ("resignation", |s| {
            s.f.resign("A", ResignAction::DeleteObjectsThenDivest);
        }),
    ];
    for (way, end) in ways {
        let mut s = Setting::new();
        s.update("A", "A 1");
        s.update("A", "A 2");
        end(&mut s);
        assert_eq!(s.told("C"), [""; 0], "{way}: A's values are on their way");
        s.f.arrive(s.a, "C");
        assert_eq!(s.told("C"), ["A 1", "A 2", "removed"], "{way}");
    }
}

#[test]
fn nobody_waits_for_a_link_that_has_ended() {
    // What is left of the link is A's first value, with or without the fence behind it.
    let mut s = Setting::new();
    s.update("A", "A 1");
    s.update("A", "A 2");
    s.divest("A");
    s.acquire("B");
    s.owns("B");
    s.update("B", "B 1");
    s.f.arrive(s.b, "C");
    s.f.end_link(s.a, "C", 1);
    assert_eq!(s.told("C"), ["A 1", "B 1"]);
}

#[test]
fn nor_for_one_that_ended_before_its_federate_was_known() {
    let mut s = Setting::new();
    s.update("A", "A 1");
    s.divest("A");
    // C waits for A's fence, and gets to know of E behind it.
    let e = s.f.join("E");
    let (class, x) = (s.f.class("A"), s.x);
    s.f.call("E", |f| f.publish_object_class_attributes(class, &[x]))
        .unwrap();
    s.f.run();
    let bike =
        s.f.call("E", |f| f.register_object_instance(class, None))
            .unwrap();
    s.f.call("E", |f| {
        f.update_attribute_values(bike, &[(x, b"E 1")], b"")
    })
    .unwrap();
    s.f.call("E", |f| f.delete_object_instance(bike, b""))
        .unwrap();
    s.f.run();
    s.f.end_link(e, "C", 0);
    assert_eq!(s.told("C"), [""; 0]);
    s.f.arrive(s.a, "C");
    assert_eq!(s.told("C"), ["A 1", "discovered", "removed"]);
}

#[test]
fn nothing_comes_of_a_lost_federate_once_its_loss_is_known() {
    for late in [false, true] {
        let mut s = Setting::new();
        s.update("A", "A 1");
        s.update("A", "A 2");
        s.acquire("B");
        let action = ResignAction::UnconditionallyDivestAttributes;
        s.f.call("A", |f| f.set_automatic_resign_directive(action))
            .unwrap();
        if !late {
            s.f.end_link(s.a, "C", 1);
        }
        s.f.lose("A");
        s.owns("B");
        s.update("B", "B 1");
        s.f.arrive(s.b, "C");
        if late {
            s.f.end_link(s.a, "C", 1);
        }
        let expected: &[_] = if late { &["B 1"] } else { &["A 1", "B 1"] };
        assert_eq!(s.told("C"), expected);
        let refused = s.f.member("C").counters().from_removed;
        assert_eq!(refused, u64::from(late), "what is dropped is counted");
    }
}

/// C has deleted the car locally, and hears an update of it on A's link: it asks to discover it.
fn asking() -> Setting {
    let mut s = Setting::new();
    let car = s.car;
    s.f.call("C", |f| f.local_delete_object_instance(car))
        .unwrap();
    s.f.quiet();
    s.update("A", "1");
    s
}

#[test]
fn what_waits_for_a_discovery_does_not_hold_back_the_fence_that_this_waits_for() {
    // The update comes before the deletion's entry, or behind it.
    for before in [true, false] {
        let mut s = asking();
        if before {
            s.f.arrive(s.a, "C");
            assert_eq!(s.f.member("C").counters().held, 1, "it waits");
        }
        s.delete();
        s.f.hear();
        s.f.arrive(s.a, "C");
        s.f.run();
        let counters = s.f.member("C").counters();
        assert_eq!((counters.held, counters.unknown), (0, 1), "{before}");
        assert_eq!(s.f.callbacks("C"), []);
        // Nobody remembers what is gone.
        let saved = s.f.member("C").save();
        assert!(saved.object.locally_deleted.is_empty());
        assert!(saved.log.control.is_empty());
    }
}

#[test]
fn what_can_not_be_discovered_is_asked_for_once_by_each_frame_that_comes() {
    let mut s = asking();
    let class = s.f.class("A");
    let x = s.x;
    // A has not heard of it yet.
    s.f.call("C", |f| f.unsubscribe_object_class_attributes(class, &[x]))
        .unwrap();
    for update in 1..4 {
        s.f.arrive(s.a, "C");
        s.f.hear_but("A");
        let sent = s.f.control.0;
        s.f.call("C", |_| ());
        s.f.hear_but("A");
        assert_eq!(s.f.control.0 - sent, 1, "asked with update {update}");
        let counters = s.f.member("C").counters();
        assert_eq!((counters.held, counters.unknown), (0, update));
        s.update("A", "2");
    }
}

/// D's time manager is in another state, of which C is told, just when A has made a request that does not concern C: of
/// that request C hears all the same before the fence of A's next one, which comes after it.
#[test]
fn what_the_rti_tells_of_itself_hides_no_request() {
    let mut s = Setting::new();
    let (car, x) = (s.car, s.x);
    let federate = s.f.class("HLAmanager.HLAfederate");
    let c = s.f.federate("C");
    let state = c.attribute_handle(federate, "HLAtimeManagerState").unwrap();
    s.f.call("C", |f| {
        f.subscribe_object_class_attributes(federate, &[state], true, "")
    })
    .unwrap();
    s.f.run();
    assert_eq!(s.f.callbacks("C").len(), 4, "it discovers all");
    s.f.call("A", |f| f.query_attribute_ownership(car, &[x]))
        .unwrap();
    s.f.call("D", |f| {
        f.time_advance_request(LogicalTime::float64(1.0).unwrap())
    })
    .unwrap();
    s.update("A", "last");
    s.delete();
    s.f.hear();
    s.f.arrive(s.a, "C");
    s.f.run();
    let told = s.f.callbacks("C");
    let of_car = |c: &&Callback| match c {
        Callback::ReflectAttributeValues { instance, .. } => *instance == car,
        Callback::RemoveObjectInstance { instance, .. } => *instance == car,
        _ => false,
    };
    assert_eq!(told.iter().filter(of_car).count(), 2, "{told:?}");
}
