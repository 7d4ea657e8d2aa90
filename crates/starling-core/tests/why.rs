//! "No updates arrive": the first link that fails is named.

use crate::common::Federation;
use starling_core::message::AttributeRegions;

fn last(f: &mut Federation, federate: &str, subject: &str) -> String {
    let lines = f.why(federate, subject);
    for line in &lines[..lines.len() - 1] {
        assert!(line.starts_with("ok "), "{lines:?}");
    }
    lines.last().expect("there is a line").clone()
}

#[test]
fn the_chain_of_an_object_instance() {
    let mut f = Federation::new("");
    f.join("A");
    assert_eq!(
        last(&mut f, "B", "A"),
        "FAIL joined: 'B' is no joined federate of 'F'; there are 'A'"
    );
    f.join("B");
    assert_eq!(
        last(&mut f, "B", "Nothing"),
        "FAIL exists: 'Nothing' is no object instance now, and no class of the FDD: 0 instances are registered"
    );
    assert_eq!(
        last(&mut f, "B", "A"),
        "FAIL published: no other federate publishes 'HLAobjectRoot.A' or a subclass"
    );
    let (class, list) = (f.class("A.B"), f.attributes(&["x", "y"]));
    let (x, y) = (list[0], list[1]);
    f.call("A", |f| f.publish_object_class_attributes(class, &[x]))
        .unwrap();
    assert_eq!(
        last(&mut f, "B", "A"),
        "FAIL subscribed: 'B' subscribes to nothing at 'HLAobjectRoot.A' or its superclasses; it subscribes to no object class"
    );
    let superclass = f.class("A");
    f.call("B", |f| {
        f.subscribe_object_class_attributes(superclass, &[y], true, "")
    })
    .unwrap();
    assert_eq!(
        last(&mut f, "B", "A"),
        "FAIL registered: no other federate has registered an instance of 'HLAobjectRoot.A'"
    );
    f.call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    let name = "HLAinstance-1-1";
    assert_eq!(
        last(&mut f, "B", name),
        "FAIL subscribed: 'B' subscribes at 'HLAobjectRoot.A' to y only, which no other federate owns"
    );
    assert_eq!(
        last(&mut f, "A", name),
        "FAIL owned: 'A' itself owns all attributes of 'HLAinstance-1-1' that anybody owns; nobody reflects its own"
    );
    f.call("B", |f| {
        f.subscribe_object_class_attributes(superclass, &[x], true, "Low")
    })
    .unwrap();
    assert_eq!(
        last(&mut f, "B", name),
        "FAIL updated: no update that anybody subscribes to has come from 'A' yet"
    );
    let instance = starling_core::ObjectInstanceHandle::new(f.member("A").handle(), 1);
    f.call("A", |f| {
        f.update_attribute_values(instance, &[(x, b"1")], b"")
    })
    .unwrap();
    let lines = f.why("B", name);
    assert_eq!(
        lines[2..],
        [
            "ok exists: 'HLAinstance-1-1' was registered by 'A' as 'HLAobjectRoot.A.B'",
            "ok published and owned: x by 'A'",
            "ok subscribed: at 'HLAobjectRoot.A' to x, y, at update rate Low",
            "ok discovered: known as 'HLAobjectRoot.A'",
            "ok updated: 1 have come to the executive",
        ]
    );
    // Its class leads to it.
    assert_eq!(f.why("B", "A")[5..], lines[3..]);
    f.callbacks("B");
    f.call("B", |f| f.local_delete_object_instance(instance))
        .unwrap();
    assert_eq!(
        last(&mut f, "B", name),
        "FAIL discovered: 'B' has deleted 'HLAinstance-1-1' locally; it discovers it again with its next update, or when it subscribes again"
    );
    // Updates from before a federate has discovered it are not its own, but that which has it discover it again.
    f.join("C");
    f.call("C", |f| {
        f.subscribe_object_class_attributes(superclass, &[x], true, "")
    })
    .unwrap();
    let none = "FAIL updated: none of the 1 updates has come since 'C' discovered it: ask for its values \
                (6.19), or switch Auto-Provide on";
    assert_eq!(last(&mut f, "C", name), none);
    f.call("A", |f| {
        f.update_attribute_values(instance, &[(x, b"2")], b"")
    })
    .unwrap();
    for federate in ["B", "C"] {
        let updated = last(&mut f, federate, name);
        assert_eq!(
            updated, "ok updated: 1 have come to the executive",
            "{federate}"
        );
    }
}

#[test]
fn the_chain_of_an_interaction_class() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (i, j) = (f.interaction("I"), f.interaction("I.J"));
    let subject = "I.J";
    assert_eq!(
        last(&mut f, "B", subject),
        "FAIL published: no other federate publishes 'HLAinteractionRoot.I.J' or a subclass"
    );
    f.call("A", |f| f.publish_interaction_class(j)).unwrap();
    assert_eq!(
        last(&mut f, "B", subject),
        "FAIL subscribed: 'B' does not subscribe to 'HLAinteractionRoot.I.J' or a superclass; it subscribes to no interaction class"
    );
    f.call("B", |f| f.subscribe_interaction_class(i, true))
        .unwrap();
    assert_eq!(
        last(&mut f, "B", subject),
        "FAIL sent: no interaction of this class or a subclass that anybody subscribes to has come yet"
    );
    f.run();
    f.call("A", |f| f.send_interaction(j, &[], b"")).unwrap();
    assert_eq!(
        f.why("B", subject)[2..],
        [
            "ok published: by 'A'",
            "ok subscribed: at 'HLAinteractionRoot.I'",
            "ok sent: 1 have come to the executive",
        ]
    );
    // It is received as the class that is subscribed to: asked of that, it is the same.
    assert_eq!(
        f.why("B", "I")[2..],
        [
            "ok published: by 'A'",
            "ok subscribed: at 'HLAinteractionRoot.I'",
            "ok sent: 1 have come to the executive",
        ]
    );
}

#[test]
fn regions_that_do_not_overlap() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let dimension = f.federate("A").dimension_handle("D").unwrap();
    let region = |f: &mut Federation, of: &str, lower, upper| {
        f.call(of, |f| {
            let region = f.create_region(&[dimension]).unwrap();
            f.set_range_bounds(region, dimension, lower, upper).unwrap();
            f.commit_region_modifications(&[region]).unwrap();
            region
        })
    };
    let of_a = region(&mut f, "A", 0, 10);
    let of_b = region(&mut f, "B", 20, 30);
    let with = |region| AttributeRegions {
        attributes: x.clone(),
        regions: vec![region],
    };
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes_with_regions(class, &[with(of_b)], true, "")
    })
    .unwrap();
    f.call("A", |f| {
        f.register_object_instance_with_regions(class, &[with(of_a)], None)
    })
    .unwrap();
    assert_eq!(
        last(&mut f, "B", "HLAinstance-1-1"),
        "FAIL regions: x: 'A' updates with D 0..10, E 0..10 by default; 'B' subscribes with D 20..30, E 0..10 by default: they do not overlap"
    );
    // Another attribute comes: that hides nothing.
    let y = f.attributes(&["y"]);
    f.call("A", |f| f.publish_object_class_attributes(class, &y))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &y, true, "")
    })
    .unwrap();
    f.call("A", |f| {
        f.register_object_instance_with_regions(class, &[with(of_a)], None)
    })
    .unwrap();
    let lines = f.why("B", "HLAinstance-1-2");
    assert_eq!(
        lines[5..],
        [
            "FAIL regions: x: 'A' updates with D 0..10, E 0..10 by default; 'B' subscribes with D 20..30, E 0..10 by default: they do not overlap",
            "ok discovered: known as 'HLAobjectRoot.A'",
            "FAIL updated: no update that anybody subscribes to has come from 'A' yet",
        ]
    );
}

#[test]
fn names_that_are_nearly_there() {
    let mut f = Federation::new("");
    f.join("A");
    let class = f.class("A");
    let x = f.attributes(&["x"]);
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("A", |f| f.reserve_object_instance_name("FL0"))
        .unwrap();
    f.callbacks("A");
    f.call("A", |f| f.register_object_instance(class, Some("FL0")))
        .unwrap();
    for (asked, nearest) in [
        ("Fl0", "FL0"),
        ("HLAobjectRoot.A.BC", "HLAobjectRoot.A.B"),
        ("HLAinteractionRoot.I.K", "HLAinteractionRoot.I.J"),
        // By the end of its name alone, and that misspelt.
        ("HLAfederte", "HLAmanager.HLAfederate"),
    ] {
        assert_eq!(
            last(&mut f, "A", asked),
            format!(
                "FAIL exists: '{asked}' is no object instance now, and no class of the FDD: 1 instances are registered; nearest is '{nearest}'"
            )
        );
    }
}

#[test]
fn what_the_rti_updates() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let class = f.class("HLAmanager.HLAfederate");
    let name = f
        .federate("B")
        .attribute_handle(class, "HLAfederateName")
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &[name], true, "")
    })
    .unwrap();
    let updated = "FAIL updated: no update that anybody subscribes to has come from the RTI yet";
    assert_eq!(last(&mut f, "B", "HLAmanager.HLAfederate"), updated);
    f.call("B", |f| {
        f.request_class_attribute_value_update(class, &[name], b"")
    })
    .unwrap();
    assert_eq!(
        last(&mut f, "B", "HLAmanager.HLAfederate"),
        "ok updated: 1 have come to the executive"
    );
}
