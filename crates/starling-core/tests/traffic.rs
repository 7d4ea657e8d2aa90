//! What a federate counts of its data by class and sender where that is asked for, and what the executive keeps of it.

use crate::common::Federation;
use starling_core::message::Statistics;
use starling_core::message::statistics::{ClassTraffic, WayTraffic};
use starling_core::{AttributeHandle, Lrc, ObjectInstanceHandle, Transportation};

/// A updates, B reflects; both count, C does not.
fn counting() -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
    counting_in(Federation::new(""))
}

fn counting_in(mut f: Federation) -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
    for name in ["A", "B"] {
        f.join_after(name, Lrc::measure_traffic);
    }
    f.join("C");
    let (class, list) = (f.class("A.B"), f.attributes(&["x", "y"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    let above = f.class("A");
    f.call("B", |f| {
        f.subscribe_object_class_attributes(above, &list, true, "")
    })
    .unwrap();
    f.run();
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    f.run();
    f.callbacks("B");
    (f, instance.unwrap(), list)
}

fn told(f: &mut Federation, name: &str) -> Statistics {
    f.member(name).traffic().expect("it counts")
}

/// Messages and bytes, sent and received.
fn volumes(of: &ClassTraffic) -> [u64; 4] {
    let (sent, received) = (of.sent, of.received);
    [sent.messages, sent.bytes, received.messages, received.bytes]
}

#[test]
fn data_is_counted_by_class_transportation_and_sender() {
    data_is_counted_in(Federation::new(""));
}

#[test]
fn data_is_counted_where_there_is_no_management_object_model() {
    data_is_counted_in(Federation::without_mom(""));
}

fn data_is_counted_in(f: Federation) {
    let (mut f, instance, list) = counting_in(f);
    let interaction = f.interaction("I.J");
    f.call("A", |f| f.publish_interaction_class(interaction))
        .unwrap();
    let above = f.interaction("I");
    f.call("B", |f| f.subscribe_interaction_class(above, true))
        .unwrap();
    f.run();
    // One passel of each transportation type: with the value 100 bytes more each time.
    for length in [100, 200, 300] {
        let value = vec![7; length];
        let values = [(list[0], &value[..]), (list[1], &value[..])];
        f.call("A", |f| {
            f.update_attribute_values(instance, &values, b"tag")
        })
        .unwrap();
        f.call("A", |f| f.send_interaction(interaction, &[], &value))
            .unwrap();
        f.run();
        f.callbacks("B");
    }
    let (by_a, by_b) = (told(&mut f, "A"), told(&mut f, "B"));
    let rows: Vec<_> = by_a
        .classes
        .iter()
        .map(|c| (&*c.class, c.transportation))
        .collect();
    let (object, other) = ("HLAobjectRoot.A.B", "HLAinteractionRoot.I.J");
    let (reliable, best_effort) = (Transportation::Reliable, Transportation::BestEffort);
    let all = [(object, reliable), (object, best_effort), (other, reliable)];
    assert_eq!(rows, all);
    let [x, y, sent] = &by_a.classes[..] else {
        panic!("{by_a:?}");
    };
    // A value has a slot of a few bytes, and each message the tag's three.
    let [messages, bytes, 0, 0] = volumes(x) else {
        panic!("{x:?}");
    };
    assert_eq!(messages, 3);
    assert!((609..609 + 3 * 8).contains(&bytes), "{bytes}");
    assert_eq!(volumes(y), volumes(x));
    assert_eq!(volumes(sent), [3, 600, 0, 0]);
    // What B gets is what A sent, by the class that A registered and sent, not by the one that B knows.
    let swapped = |of: &ClassTraffic| ClassTraffic {
        sent: of.received,
        received: of.sent,
        ..of.clone()
    };
    assert_eq!(by_b.classes, [x, y, sent].map(swapped));
    let sender = f.member("A").handle();
    let rows: Vec<_> = by_b
        .senders
        .iter()
        .map(|s| (s.sender, s.transportation))
        .collect();
    assert_eq!(rows, [(sender, reliable), (sender, best_effort)]);
    let of_a = by_b.senders.iter().map(|s| s.received.bytes).sum::<u64>();
    assert_eq!(of_a, 2 * bytes + 600);
    assert_eq!(f.member("C").traffic(), None, "nobody has asked it to");
}

#[test]
fn what_waits_for_its_receiver_is_not_counted_before_it_is_delivered() {
    let (mut f, instance, list) = counting();
    let values = [(list[0], &b"1"[..])];
    f.call("A", |f| f.update_attribute_values(instance, &values, b""))
        .unwrap();
    f.run();
    assert_eq!(told(&mut f, "B"), Statistics::default());
    f.callbacks("B");
    assert_eq!(told(&mut f, "B").classes.len(), 1);
}

/// Statistics of one way with so long a name.
fn with_a_name_of(bytes: usize) -> Statistics {
    let mut statistics = Statistics::default();
    let way = "w".repeat(bytes);
    statistics.ways.push(WayTraffic {
        way,
        sent: Default::default(),
        received: Default::default(),
    });
    statistics
}

#[test]
fn the_executive_keeps_so_much_of_each_and_tells_so_much_of_all() {
    let (mut f, ..) = counting();
    let largest = with_a_name_of(Statistics::BYTES_MAX - with_a_name_of(0).bytes());
    assert_eq!(largest.bytes(), Statistics::BYTES_MAX);
    f.forge_measured("A", largest.clone()).unwrap();
    let all = f.statistics();
    let of = |name: &str| all.iter().find(|of| of.name == name).expect("a member");
    assert_eq!(of("A").told.as_ref(), Some(&largest));
    assert_eq!(of("B").told, None, "it has not told yet");
    let larger = with_a_name_of(Statistics::BYTES_MAX);
    let refused = f.forge_measured("A", larger).unwrap_err();
    assert!(refused.contains("1048576 are allowed"), "{refused}");

    let mut f = Federation::new("");
    let names: Vec<_> = (0..70).map(|n| format!("F{n}")).collect();
    for name in &names {
        f.join(name);
        f.forge_measured(name, largest.clone()).unwrap();
    }
    let all = f.statistics();
    assert_eq!(all.len(), 70, "each is named");
    assert_eq!(all.iter().filter(|of| of.told.is_some()).count(), 64);
}
