//! Of reflections that wait the newest is delivered, where that changes nothing else; the others are counted.

use crate::common::Federation;
use starling_core::message::ResignAction;
use starling_core::{
    AttributeHandle, Callback, Conflated, ObjectClassHandle, ObjectInstanceHandle,
};

/// A federation execution where `A` has an instance of A.B, which `B`, who conflates what is named, has discovered.
struct Case {
    f: Federation,
    class: ObjectClassHandle,
    instance: ObjectInstanceHandle,
    /// x and z reliable, y best effort.
    x: AttributeHandle,
    y: AttributeHandle,
    z: AttributeHandle,
}

fn named(classes: &[&str]) -> Vec<String> {
    classes.iter().map(|c| (*c).to_owned()).collect()
}

impl Case {
    fn new(best_effort: &[&str], reliable: &[&str]) -> Self {
        let mut f = Federation::new("");
        f.join("A");
        f.join("B");
        let conflated = Conflated {
            best_effort: named(best_effort),
            reliable: named(reliable),
        };
        f.federate("B").set_conflated(conflated);
        let class = f.class("A.B");
        let list = f.attributes(&["x", "y", "z"]);
        f.call("A", |f| f.publish_object_class_attributes(class, &list))
            .unwrap();
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &list, true, "")
        })
        .unwrap();
        f.run();
        let instance = f.call("A", |f| f.register_object_instance(class, None));
        let mut case = Case {
            f,
            class,
            instance: instance.unwrap(),
            x: list[0],
            y: list[1],
            z: list[2],
        };
        assert_eq!(case.got(), ["discovered"]);
        case
    }

    fn everything() -> Self {
        Case::new(&[], &["HLAobjectRoot"])
    }

    fn update(&mut self, values: &[(AttributeHandle, &str)]) {
        let values: Vec<_> = values.iter().map(|(a, v)| (*a, v.as_bytes())).collect();
        let instance = self.instance;
        self.f
            .call("A", |f| f.update_attribute_values(instance, &values, b""))
            .unwrap();
        self.f.run();
    }

    fn conflated(&mut self) -> u64 {
        self.f.member("B").counters().conflated
    }

    /// What is delivered to `B`, in short.
    fn got(&mut self) -> Vec<String> {
        let callbacks = self.f.callbacks("B");
        let text = |v: &[u8]| String::from_utf8_lossy(v).into_owned();
        let short = |callback: Callback| match callback {
            Callback::ReflectAttributeValues { values, .. } => {
                let values = values.iter().map(|(_, v)| text(v));
                values.collect::<Vec<_>>().join(" ")
            }
            Callback::ReceiveInteraction { .. } => "interaction".to_owned(),
            Callback::DiscoverObjectInstance { .. } => "discovered".to_owned(),
            Callback::RemoveObjectInstance { .. } => "removed".to_owned(),
            other => format!("{other:?}"),
        };
        callbacks.into_iter().map(short).collect()
    }
}

#[test]
fn the_newest_is_delivered_where_the_oldest_waited() {
    let mut c = Case::everything();
    let class = c.f.federate("A").interaction_class_handle("I").unwrap();
    c.f.call("A", |f| f.publish_interaction_class(class))
        .unwrap();
    c.f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    c.f.run();
    c.update(&[(c.x, "1")]);
    c.f.call("A", |f| f.send_interaction(class, &[], b""))
        .unwrap();
    c.update(&[(c.x, "2")]);
    c.update(&[(c.x, "3")]);
    assert_eq!(c.got(), ["3", "interaction"]);
    assert_eq!(c.conflated(), 2);
    // What was delivered is no place any more.
    c.update(&[(c.x, "4")]);
    assert_eq!(c.got(), ["4"]);
    assert_eq!(c.conflated(), 2);
}

#[test]
fn nothing_is_conflated_unless_it_is_asked_for() {
    // x comes reliably, y best effort.
    for (best_effort, reliable, expected) in [
        (&[][..], &[][..], &["x1", "y1", "x2", "y2"][..]),
        (&["A"], &[], &["x1", "y2", "x2"]),
        (&[], &["HLAobjectRoot.A.B"], &["x2", "y1", "y2"]),
        (&["A.B"], &["A"], &["x2", "y2"]),
        (&["C"], &["C", "HLAmanager"], &["x1", "y1", "x2", "y2"]),
    ] {
        let mut c = Case::new(best_effort, reliable);
        c.update(&[(c.x, "x1"), (c.y, "y1")]);
        c.update(&[(c.x, "x2"), (c.y, "y2")]);
        assert_eq!(c.got(), expected, "{best_effort:?}, {reliable:?}");
        assert_eq!(c.conflated(), 4 - expected.len() as u64);
    }
}

#[test]
fn values_of_other_attributes_stay_and_shared_ones_keep_their_order() {
    let mut c = Case::everything();
    for value in ["1", "2"] {
        c.update(&[(c.x, value)]);
        c.update(&[(c.z, value)]);
    }
    assert_eq!(c.got(), ["2", "2"], "both sets are apart");
    c.update(&[(c.x, "1")]);
    c.update(&[(c.x, "2"), (c.z, "2")]);
    c.update(&[(c.x, "3")]);
    c.update(&[(c.x, "4")]);
    assert_eq!(c.got(), ["1", "2 2", "4"], "the newest x is the last");
    assert_eq!(c.conflated(), 3);
    let both = [(c.x, "5"), (c.z, "5")];
    c.update(&both);
    c.update(&[(c.z, "6")]);
    c.update(&both);
    assert_eq!(c.got(), ["5 5", "6", "5 5"]);
}

#[test]
fn nothing_is_moved_before_what_tells_of_the_instance_or_the_federation() {
    let mut c = Case::everything();
    c.update(&[(c.x, "1")]);
    c.f.call("A", |f| {
        f.register_federation_synchronization_point("p", b"", &[])
    })
    .unwrap();
    c.f.run();
    c.update(&[(c.x, "2")]);
    c.update(&[(c.x, "3")]);
    let got = c.got();
    assert_eq!(
        (got.len(), &got[0], &got[2]),
        (3, &"1".into(), &"3".into()),
        "{got:?}"
    );
    // Another instance's discovery is no matter.
    c.update(&[(c.x, "4")]);
    let class = c.class;
    let other = c.f.call("A", |f| f.register_object_instance(class, None));
    c.f.run();
    c.update(&[(c.x, "5")]);
    assert_eq!(c.got(), ["5", "discovered"]);
    let before = c.instance;
    c.update(&[(c.x, "6")]);
    c.instance = other.unwrap();
    c.update(&[(c.x, "other")]);
    c.instance = before;
    c.update(&[(c.x, "7")]);
    c.f.call("A", |f| f.delete_object_instance(before, b""))
        .unwrap();
    assert_eq!(c.got(), ["7", "other", "removed"]);
}

#[test]
fn values_of_a_new_owner_wait_behind_the_change() {
    let mut c = Case::everything();
    let (class, instance, x) = (c.class, c.instance, c.x);
    c.f.join("C");
    c.f.call("C", |f| {
        f.publish_object_class_attributes(class, &[x])?;
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    c.f.run();
    c.f.callbacks("C");
    c.update(&[(x, "1")]);
    c.f.call("A", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &[x], b"")
    })
    .unwrap();
    c.f.run();
    c.f.call("C", |f| {
        f.attribute_ownership_acquisition(instance, &[x], b"")
    })
    .unwrap();
    c.f.callbacks("C");
    for value in [b"2", b"3"] {
        c.f.call("C", |f| {
            f.update_attribute_values(instance, &[(x, &value[..])], b"")
        })
        .unwrap();
    }
    c.f.run();
    assert_eq!(c.got(), ["1", "3"], "each sender's newest");
}

#[test]
fn who_resigns_has_told_what_was_conflated_and_what_waits() {
    let mut c = Case::new(&["A"], &["A"]);
    for value in ["1", "2", "3"] {
        c.update(&[(c.x, value), (c.y, value)]);
    }
    let before = c.f.member("B").counters();
    assert_eq!((before.queued, before.conflated, before.waiting), (6, 4, 2));
    let last = c.f.call("B", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
            .unwrap();
        crate::common::counted(f.outbox())
    });
    let last = last.expect("its last counts");
    assert_eq!((last.queued, last.conflated, last.waiting), (6, 4, 2));
    c.f.run();
    assert!(!c.f.is_joined("B"));
}

#[test]
fn a_class_that_the_fdd_lacks_leaves_a_note() {
    let mut f = Federation::new("");
    f.join("A");
    let conflated = Conflated {
        best_effort: named(&["A", "Aeroplane"]),
        reliable: vec![],
    };
    f.join_after("B", |lrc| lrc.set_conflated(conflated));
    let note = f.federate("B").take_note().expect("it is told");
    assert!(note.ends_with("does not have: Aeroplane"), "{note}");
}

#[test]
fn many_updates_take_the_memory_of_one() {
    let mut c = Case::everything();
    let long = "v".repeat(1_000);
    for _ in 0..500 {
        c.update(&[(c.x, &long), (c.z, "1")]);
    }
    let bytes = c.f.member("B").queued_bytes();
    assert!(bytes < 2_000, "{bytes}");
    assert_eq!(c.got().len(), 1);
    assert_eq!(c.conflated(), 499);
}
