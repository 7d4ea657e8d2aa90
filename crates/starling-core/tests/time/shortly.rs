//! What is sent in time-stamp order and else as most is goes the short way at both ends, and is told as by the long one.

use super::*;
use crate::common::next_plain;
use starling_bed::{Message, Sent, batch_of, in_batch};
use starling_core::message::OwnedData;
use starling_core::{Lrc, ParameterHandle};

/// What `a` has just sent, which goes no further.
fn sent(f: &mut Federation) -> OwnedData {
    match &f.federate("a").outbox().take()[..] {
        [(None, Message::Data(data))] => data.clone(),
        other => panic!("{other:?}"),
    }
}

/// Lets a federate have this. Whether it went the short way.
fn take(to: &mut Lrc<Sent>, sent: &OwnedData) -> bool {
    let batch = batch_of(&sent.borrow());
    let data = in_batch(&sent.borrow(), &batch);
    let timed = data.as_timed();
    timed.is_some_and(|timed| to.receive_timed(timed, &batch))
}

fn queued(f: &mut Federation, name: &str) -> u64 {
    f.call(name, |f| f.counters()).expect("it is joined").queued
}

/// A updates x at a time, the short way; where it can't, nothing is done.
fn update(
    f: &mut Federation,
    (instance, x): (ObjectInstanceHandle, AttributeHandle),
    time: f64,
) -> Option<OwnedData> {
    let values = [(x, &b"value"[..])];
    let plainly = |f: &mut Lrc<Sent>| f.update_plainly(instance, &values, b"tag", Some(at(time)));
    f.call_late("a", plainly).map(|_| sent(f))
}

/// A has updated x, and B has been told so at 1 and at 2: so all is known that can be.
fn known_update() -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
    let (mut f, instance, xy) = known_instance();
    assert!(
        update(&mut f, (instance, xy[0]), 1.0).is_none(),
        "the first"
    );
    for time in [1.0, 2.0] {
        let values = [(xy[0], &b"value"[..])];
        let updated = f.call("a", |f| {
            f.update_attribute_values_at(instance, &values, b"tag", at(time))
        });
        updated.unwrap();
        for name in ["a", "b"] {
            f.tar(name, time);
        }
        assert_eq!(f.told("a"), format!("grant {time}"));
        assert_eq!(f.told("b"), format!("tag@{time}TT, grant {time}"));
        f.told("c");
    }
    (f, instance, xy)
}

#[test]
fn an_update_waits_where_it_came_and_is_told_as_by_the_long_way() {
    let (mut f, instance, xy) = known_update();
    let frame = update(&mut f, (instance, xy[0]), 5.0).expect("it is as most are");
    let before = queued(&mut f, "b");
    assert!(f.call("b", |f| take(f, &frame)));
    f.call("b", |f| {
        f.receive_data(&frame.borrow(), DataPath::Executive, None)
    })
    .unwrap();
    assert!(f.call("b", |f| take(f, &frame)));
    assert_eq!(queued(&mut f, "b"), before + 3);
    assert_eq!(f.told("b"), "", "it is not granted yet");
    f.tar("b", 6.0);
    f.tar("a", 6.0);
    f.run();
    let mut told = Vec::new();
    for is_short in [true, false, true] {
        let short = f.call("b", next_plain);
        assert_eq!(short.is_some(), is_short);
        let callback = short.map(Callback::from);
        told.extend(callback.or_else(|| f.call("b", |f| f.next_callback())));
    }
    let Callback::ReflectAttributeValues { values, time, .. } = &told[0] else {
        panic!("{told:?}")
    };
    assert_eq!(values.iter().collect::<Vec<_>>(), [(xy[0], &b"value"[..])]);
    let sender = f.member("a").handle();
    let expected = MessageTime {
        time: at(5.0),
        sent: Order::TimeStamp,
        received: Order::TimeStamp,
        retraction: MessageRetractionHandle::new(sender, 3),
    };
    assert_eq!(
        (values.tag(), time.as_deref()),
        (&b"tag"[..], Some(&expected))
    );
    assert_eq!((&told[1], &told[2]), (&told[0], &told[0]));
    assert_eq!(f.told("b"), "grant 6");
}

#[test]
fn an_interaction_goes_the_short_way_too() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    let class = f.interaction("I");
    let send = |f: &mut Federation, time: f64| {
        let none: [(ParameterHandle, &[u8]); 0] = [];
        let plainly = |f: &mut Lrc<Sent>| f.send_plainly(class, &none, b"tag", Some(at(time)));
        f.call_late("a", plainly).map(|_| sent(f))
    };
    assert!(send(&mut f, 0.5).is_none(), "it is too early");
    let late = send(&mut f, 2.0).expect("it is as most are");
    let early = send(&mut f, 1.5).expect("it is as most are");
    for frame in [&late, &early] {
        assert!(f.call("b", |f| take(f, frame)));
    }
    f.tar("b", 2.0);
    f.tar("a", 2.0);
    f.run();
    // Not before it is known as what it is received.
    assert_eq!(f.call("b", next_plain).map(|_| ()), None);
    let told = f.call("b", |f| f.next_callback()).expect("it is granted");
    assert_eq!(short(&told), "tag@1.5TT");
    let told = f.call("b", next_plain).expect("as the first");
    assert_eq!(short(&told.into()), "tag@2TT");
    assert_eq!(f.told("b"), "grant 2");
}

#[test]
fn what_the_sender_must_not_or_may_not_send_so_goes_the_long_way() {
    let (mut f, instance, xy) = known_update();
    let x = (instance, xy[0]);
    assert!(update(&mut f, x, 2.5).is_none(), "it is too early");
    let foreign = Some(LogicalTime::integer64(9));
    let values = [(xy[0], &b"value"[..])];
    let foreign = f.call_late("a", |f| f.update_plainly(instance, &values, b"", foreign));
    assert_eq!(foreign, None, "a time of the other type");
    let frame = update(&mut f, x, 3.0).expect("it is late enough");
    assert!(frame.borrow().is_in_time_order());
    // One by one, with another order type: as it is, not as it was found once.
    let change = |f: &mut Federation, order| {
        f.call("a", |f| {
            f.change_attribute_order_type(instance, &xy[..1], order)
        })
        .unwrap();
        assert!(update(f, x, 3.0).is_none(), "it is to be found anew");
        let updated = f.call_late("a", |f| {
            f.update_attribute_values_at(instance, &values, b"", at(3.0))
        });
        updated.unwrap();
        let frame = sent(f);
        assert_eq!(frame.borrow().is_in_time_order(), order == Order::TimeStamp);
        let frame = update(f, x, 3.0).expect("it is known again");
        assert_eq!(frame.borrow().is_in_time_order(), order == Order::TimeStamp);
        assert_eq!(
            frame.borrow().as_timed().is_some(),
            order == Order::TimeStamp
        );
    };
    change(&mut f, Order::Receive);
    change(&mut f, Order::TimeStamp);
    // Who does not regulate sends in receive order, at any time.
    f.call("a", |f| f.disable_time_regulation()).unwrap();
    let frame = update(&mut f, x, 0.5).expect("any time will do");
    assert!(!frame.borrow().is_in_time_order());
    let stamp = frame.borrow().body.payload().and_then(|p| p.stamp);
    assert_eq!(stamp.map(|s| (s.time, s.retraction)), Some((at(0.5), None)));
}

#[test]
fn what_is_not_received_in_time_stamp_order_goes_the_long_way() {
    let (mut f, instance, xy) = known_update();
    let frame = update(&mut f, (instance, xy[0]), 5.0).expect("it is as most are");
    let before = ["b", "c"].map(|name| queued(&mut f, name));
    assert!(!f.call("c", |f| take(f, &frame)), "it is not constrained");
    f.call("b", |f| f.local_delete_object_instance(instance))
        .unwrap();
    assert!(!f.call("b", |f| take(f, &frame)), "it does not know it");
    assert_eq!(["b", "c"].map(|name| queued(&mut f, name)), before);
    f.call("c", |f| {
        f.receive_data(&frame.borrow(), DataPath::Executive, None)
    })
    .unwrap();
    assert_eq!(f.told("c"), "tag@5TR");
}

#[test]
fn what_may_be_asked_back_is_told_the_long_way() {
    let (mut f, instance, xy) = known_update();
    let frame = update(&mut f, (instance, xy[0]), 5.0).expect("it is as most are");
    let flush = |f: &mut Federation| {
        f.call("b", |f| f.flush_queue_request(at(9.0))).unwrap();
        f.run();
    };
    assert!(f.call("b", |f| take(f, &frame)));
    flush(&mut f);
    assert_eq!(f.call("b", next_plain).map(|_| ()), None);
    assert_eq!(f.told("b"), "tag@5TT, grant 3");
    // Nor is it what is left when constraint ends.
    assert!(f.call("b", |f| take(f, &frame)));
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.call("b", next_plain).map(|_| ()), None);
    assert_eq!(f.told("b"), "tag@5TR");
}

#[test]
fn what_would_be_worth_a_warning_goes_the_long_way() {
    let (mut f, instance, xy) = known_update();
    let frame = update(&mut f, (instance, xy[0]), 5.0).expect("it is as most are");
    assert!(f.call("b", |f| take(f, &frame)));
    let one = f.member("b").withheld_bytes();
    assert!(one > 0);
    f.federate("b").set_withheld_bytes_max(4 * one);
    assert!(f.call("b", |f| take(f, &frame)));
    assert_eq!(f.federate("b").take_note(), None);
    assert!(!f.call("b", |f| take(f, &frame)), "beyond the half");
    assert_eq!(f.member("b").withheld_bytes(), 2 * one);
    f.call("b", |f| {
        f.receive_data(&frame.borrow(), DataPath::Executive, None)
    })
    .unwrap();
    let note = f.federate("b").take_note().expect("a warning");
    assert!(note.contains("limits.withheld_bytes"), "{note}");
}

/// So it is beside what is said of an instance that its federate has deleted and may know again.
#[test]
fn what_is_kept_of_what_is_away_counts_among_what_is_withheld() {
    let (mut f, instance, xy) = known_update();
    let frame = update(&mut f, (instance, xy[0]), 5.0).expect("it is as most are");
    let class = f.class("A");
    for name in ["b", "c"] {
        f.call(name, |f| f.publish_object_class_attributes(class, &xy))
            .unwrap();
    }
    f.call("b", |f| f.enable_time_regulation(span(1.0)))
        .unwrap();
    assert_eq!(f.told("b"), "regulating 2");
    f.constrain("c");
    let other = f
        .call("b", |f| f.register_object_instance(class, None))
        .unwrap();
    let root = f.class("HLAobjectRoot");
    let privilege = f.call("b", |f| {
        f.attribute_handle(root, "HLAprivilegeToDeleteObject")
    });
    f.call("b", |f| {
        f.change_attribute_order_type(other, &[privilege.unwrap()], Order::TimeStamp)
    })
    .unwrap();
    assert_eq!(f.told("c"), "discover");
    f.call("b", |f| f.delete_object_instance_at(other, b"", at(9.0)))
        .unwrap();
    f.call("c", |f| {
        f.attribute_ownership_acquisition(other, &xy, &[0; 5_000])
    })
    .unwrap();
    assert_eq!(f.told("b"), "");
    let away = f.member("b").withheld_bytes();
    assert!(away > 5_000, "{away}");
    f.federate("b").set_withheld_bytes_max(2 * away + 1);
    assert!(!f.call("b", |f| take(f, &frame)), "beyond the half");
    f.call("b", |f| {
        f.receive_data(&frame.borrow(), DataPath::Executive, None)
    })
    .unwrap();
    let note = f.federate("b").take_note().expect("a warning");
    assert!(note.contains("limits.withheld_bytes"), "{note}");
}
