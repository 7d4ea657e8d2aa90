//! Update rates, 1516.1-2010 §5.6: reduced at the sender, for best effort.

use crate::common::Federation;
use starling_core::{AttributeHandle, Callback, ObjectInstanceHandle};

const MS: u64 = 1000;

fn update(f: &mut Federation, at_us: u64, of: ObjectInstanceHandle, what: &[AttributeHandle]) {
    let values: Vec<_> = what.iter().map(|a| (*a, &b"1"[..])).collect();
    f.call("A", |f| {
        f.set_time_us(at_us);
        f.update_attribute_values(of, &values, b"")
    })
    .unwrap();
}

/// Which attributes were reflected, in order.
fn reflected(f: &mut Federation, at: &str) -> Vec<Vec<AttributeHandle>> {
    let all = f.callbacks(at).into_iter();
    all.map(|callback| match callback {
        Callback::ReflectAttributeValues {
            values, regions, ..
        } => {
            assert_eq!(regions, None);
            values.iter().map(|(a, _)| a).collect()
        }
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn a_receiver_gets_best_effort_at_its_rate_and_others_all() {
    let mut f = Federation::new("");
    for name in ["A", "B", "C"] {
        f.join(name);
    }
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    // x is reliable, y best effort.
    let (x, y) = (list[0], list[1]);
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    for (name, rate) in [("B", "Low"), ("C", "")] {
        f.call(name, |f| {
            f.subscribe_object_class_attributes(class, &list, true, rate)
        })
        .unwrap();
    }
    f.run();
    assert!(f.federate("A").wants_time());
    let [one, two] = [(); 2].map(|()| {
        f.call("A", |f| f.register_object_instance(class, None))
            .unwrap()
    });
    f.callbacks("B");
    f.callbacks("C");
    let before = f.forwarded;
    // Low is twice a second. Each instance has a pace of its own.
    for ms in [0, 100, 499, 500, 600, 1000] {
        update(&mut f, ms * MS, one, &[y]);
    }
    update(&mut f, 1001 * MS, two, &[y]);
    assert_eq!(reflected(&mut f, "B").len(), 3 + 1);
    assert_eq!(reflected(&mut f, "C").len(), 7);
    assert_eq!(f.forwarded - before, 4 + 7, "what is early is not sent");
    assert_eq!(f.member("A").counters().reduced, 3);
    // Reliable values are never dropped.
    for ms in [1100, 1101] {
        update(&mut f, ms * MS, one, &[x, y]);
    }
    assert_eq!(reflected(&mut f, "B"), [vec![x], vec![x]]);
    f.callbacks("C");
    // Unrated again: everything comes.
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    f.run();
    for ms in [1200, 1201] {
        update(&mut f, ms * MS, one, &[y]);
    }
    assert_eq!(reflected(&mut f, "B"), [vec![y], vec![y]]);
}

#[test]
fn if_nobody_is_due_nothing_is_sent() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, y) = (f.class("A.B"), f.attributes(&["y"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &y))
        .unwrap();
    let superclass = f.class("A");
    f.call("B", |f| {
        f.subscribe_object_class_attributes(superclass, &y, true, "High")
    })
    .unwrap();
    f.run();
    let one = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    let sent = f.member("A").counters().sent;
    for us in [0, 19_999, 20_000] {
        update(&mut f, us, one, &y);
    }
    assert_eq!(f.member("A").counters().sent - sent, 2);
    assert_eq!(reflected(&mut f, "B").len(), 2);
}

#[test]
fn a_designator_that_is_not_there_brings_those_that_are() {
    let mut f = Federation::new("");
    f.join("A");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let asked = f.federate("A").update_rate_value("Whenever").unwrap_err();
    let subscribed = f.call("A", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "Whenever")
    });
    for refused in [asked, subscribed.unwrap_err()] {
        let listed =
            "the FDD has no update rate 'Whenever'; there are 'High', 'Low' (1516.1-2010, ";
        assert!(refused.message.contains(listed), "{refused:?}");
    }
    let near = f.federate("A").update_rate_value("Lov").unwrap_err();
    let nearest = "the FDD has no update rate 'Lov'; nearest is 'Low' (";
    assert!(near.message.contains(nearest), "{near:?}");
}
