//! Data as most is comes and is delivered the short way, and nothing else does.

use crate::common::{Federation, Sent, next_plain};
use starling_bed::Message;
use starling_core::message::{AttributeRegions, Data, DataBody, OwnedData, PlainData};
use starling_core::{
    AttributeHandle, Batch, Callback, DataPath, ExceptionKind, Lrc, PlainCallback, Transportation,
    Values,
};

/// What was sent, as it stands in a batch: the tag, then the values.
fn batch_of(sent: &OwnedData) -> Batch {
    let data = sent.borrow();
    let plain = data.as_plain().expect("neither time nor regions");
    let mut batch = Batch::default();
    batch.refill(&[plain.tag, plain.values.as_bytes()].concat());
    batch
}

/// The same, of these bytes.
fn within<'a>(sent: &OwnedData, bytes: &'a [u8]) -> PlainData<'a> {
    let data = sent.borrow();
    let plain = data.as_plain().expect("neither time nor regions");
    let (tag, values) = bytes.split_at(plain.tag.len());
    PlainData {
        sender: plain.sender,
        after: plain.after,
        is_update: plain.is_update,
        what: plain.what,
        transportation: plain.transportation,
        tag,
        values: Values::parse(values).unwrap(),
    }
}

/// Lets a federate have this. Whether it went the short way.
fn take(to: &mut Lrc<Sent>, sent: &OwnedData) -> bool {
    let batch = batch_of(sent);
    let data = within(sent, batch.bytes());
    to.receive_plainly(data, DataPath::Executive, &batch)
}

/// Lets B be called back for this at once, where it was read.
fn pass(f: &mut Federation, frame: &OwnedData) -> Option<Callback> {
    let mut next = None;
    pass_after(f, frame, &mut next);
    next.map(Callback::from)
}

/// The same after another callback. Whether it was.
fn pass_after(f: &mut Federation, frame: &OwnedData, kept: &mut Option<PlainCallback>) -> bool {
    let batch = batch_of(frame);
    let data = within(frame, batch.bytes());
    let by = (&batch, DataPath::Executive);
    f.call("B", |f| f.pass_plainly(data, by, kept))
}

/// The data that A has just sent, and nothing else.
fn sent(f: &mut Federation) -> OwnedData {
    match &f.federate("A").outbox().take()[..] {
        [(None, Message::Data(data))] => data.clone(),
        other => panic!("{other:?}"),
    }
}

fn counts(f: &mut Federation) -> [u64; 3] {
    let counters = f.call("B", |f| f.counters()).unwrap();
    [counters.queued, counters.unknown, counters.unsubscribed]
}

#[test]
fn an_update_goes_the_short_way_once_it_is_known_as_what_it_is_received() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list[..1], true, "")
    })
    .unwrap();
    f.run();
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    let instance = instance.unwrap();
    let update = |f: &mut Federation, attribute: usize| {
        let values = [(list[attribute], &b"value"[..])];
        f.call_late("A", |f| {
            f.update_attribute_values(instance, &values, b"tag")
        })
        .unwrap();
        sent(f)
    };
    let frame = update(&mut f, 0);
    assert!(!f.call("B", |f| take(f, &frame)), "it is not known there");
    assert_eq!(counts(&mut f), [0; 3], "nothing was done");
    f.run();
    f.callbacks("B");

    let frame = update(&mut f, 0);
    assert!(f.call("B", |f| take(f, &frame)));
    assert_eq!(counts(&mut f), [1, 0, 0]);
    assert!(f.call("B", next_plain).is_none(), "the first one");
    let first = f.call("B", |f| f.next_callback()).expect("a reflection");
    // With the second it is kept with the instance as what it is received.
    let frame = update(&mut f, 0);
    assert!(f.call("B", |f| take(f, &frame)));
    assert_eq!(f.call("B", |f| f.next_callback()), Some(first.clone()));
    for _ in 0..2 {
        let frame = update(&mut f, 0);
        assert!(f.call("B", |f| take(f, &frame)));
        let plain = f.call("B", next_plain).expect("as before");
        assert_eq!(Callback::from(plain), first);
    }
    let Callback::ReflectAttributeValues { values, .. } = &first else {
        panic!("{first:?}")
    };
    assert_eq!(
        values.iter().collect::<Vec<_>>(),
        [(list[0], &b"value"[..])]
    );
    assert_eq!(values.tag(), b"tag");

    // Not in the batch: others' bytes, or the values not behind the tag.
    let frame = update(&mut f, 0);
    let (batch, other) = (batch_of(&frame), batch_of(&frame));
    let strange = within(&frame, other.bytes());
    assert!(!f.call("B", |f| f.receive_plainly(
        strange,
        DataPath::Executive,
        &batch
    )));
    let apart = PlainData {
        tag: &batch.bytes()[..0],
        ..within(&frame, batch.bytes())
    };
    assert!(!f.call("B", |f| f.receive_plainly(
        apart,
        DataPath::Executive,
        &batch
    )));
    // What comes after what has not come.
    let mut early = within(&frame, batch.bytes());
    early.after.requests.0 += 1;
    assert!(!f.call("B", |f| f.receive_plainly(
        early,
        DataPath::Executive,
        &batch
    )));
    // Both orders of what waits: by the long way, the short way, as it came.
    assert!(f.call("B", |f| take(f, &frame)));
    f.call("B", |f| {
        f.receive_data(&frame.borrow(), DataPath::Executive, None)
    })
    .unwrap();
    assert!(f.call("B", |f| take(f, &frame)));
    for is_plain in [true, false, true] {
        let plain = f.call("B", next_plain);
        assert_eq!(plain.is_some(), is_plain);
        let callback = plain.map(Callback::from);
        let callback = callback.or_else(|| f.call("B", |f| f.next_callback()));
        assert_eq!(callback, Some(first.clone()));
    }

    // What comes while nothing waits need not wait either.
    let before = counts(&mut f);
    assert!(f.call("B", |f| f.is_straight() && !f.has_queue()));
    assert_eq!(pass(&mut f, &frame), Some(first.clone()));
    assert_eq!(counts(&mut f), [before[0] + 1, before[1], before[2]]);
    let early = f.call("B", |f| {
        let mut early = within(&frame, batch.bytes());
        early.after.index.0 += 1;
        f.pass_plainly(early, (&batch, DataPath::Executive), &mut None)
    });
    assert!(!early);
    assert!(f.call("B", |f| take(f, &frame)));
    assert!(f.call("B", |f| f.has_queue()));
    assert_eq!(pass(&mut f, &frame), None, "it would overtake");
    assert!(f.call("B", next_plain).is_some());
    f.call("B", |f| f.enable_callbacks(false)).unwrap();
    assert_eq!(pass(&mut f, &frame), None, "no callbacks are wanted");
    f.call("B", |f| f.enable_callbacks(true)).unwrap();
    assert_eq!(counts(&mut f), [before[0] + 2, before[1], before[2]]);

    // Subscribed no more when its turn comes.
    assert!(f.call("B", |f| take(f, &frame)));
    f.call("B", |f| f.unsubscribe_object_class_attributes(class, &list))
        .unwrap();
    let before = counts(&mut f);
    assert!(f.call("B", next_plain).is_none());
    assert_eq!(f.call("B", |f| f.next_callback()), None);
    assert_eq!(counts(&mut f), [before[0], before[1], before[2] + 1]);
}

#[test]
fn an_update_by_best_effort_goes_the_short_way_where_it_goes_to_all_alike() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    // x is reliable, y best effort.
    let (x, y) = (list[0], list[1]);
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    let subscribe = |f: &mut Federation, rate: &str| {
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &list, true, rate)
        })
        .unwrap();
        f.run();
    };
    subscribe(&mut f, "");
    let [one, two] = [(); 2].map(|()| {
        f.call("A", |f| f.register_object_instance(class, None))
            .unwrap()
    });
    let plainly = |f: &mut Federation, of, what: &[AttributeHandle]| {
        let values: Vec<_> = what.iter().map(|a| (*a, &b"value"[..])).collect();
        f.call_late("A", |f| {
            f.update_plainly(of, &values, b"tag", None).is_some()
        })
    };
    let how = |f: &mut Federation| sent(f).borrow().as_plain().unwrap().transportation;
    for of in [one, two] {
        assert!(!plainly(&mut f, of, &[y]), "the first one");
        f.call("A", |f| {
            f.update_attribute_values(of, &[(y, &b""[..])], b"")
        })
        .unwrap();
    }
    f.run();
    f.callbacks("B");
    // What was found of the one before says nothing of how this one travels.
    for of in [one, two, two, one] {
        assert!(plainly(&mut f, of, &[y]));
        assert_eq!(how(&mut f), Transportation::BestEffort);
        assert!(!plainly(&mut f, of, &[x, y]), "one goes as it is, one not");
        assert!(plainly(&mut f, of, &[x]));
        assert_eq!(how(&mut f), Transportation::Reliable);
    }
    // Of the same class and attributes, but not travelling alike.
    f.call("A", |f| {
        f.request_attribute_transportation_type_change(two, &[y], Transportation::Reliable)
    })
    .unwrap();
    f.run();
    f.callbacks("A");
    assert!(!plainly(&mut f, two, &[y]), "it is found out anew");
    f.call("A", |f| {
        f.update_attribute_values(two, &[(y, &b""[..])], b"")
    })
    .unwrap();
    f.federate("A").outbox().take();
    for (of, travels) in [
        (one, Transportation::BestEffort),
        (two, Transportation::Reliable),
        (one, Transportation::BestEffort),
    ] {
        assert!(plainly(&mut f, of, &[y]));
        assert_eq!(how(&mut f), travels);
    }
    subscribe(&mut f, "Low");
    assert!(!plainly(&mut f, one, &[y]), "not all of it is wanted there");
    assert!(f.federate("A").outbox().take().is_empty());
}

#[test]
fn an_interaction_goes_the_short_way_at_both_ends() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let class = f.call("A", |f| f.interaction_class_handle("I.J")).unwrap();
    let parameter = f.call("A", |f| f.parameter_handle(class, "q")).unwrap();
    let above = f.call("A", |f| f.interaction_class_handle("I")).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    let values = [(parameter, &b"value"[..])];
    let send = |f: &mut Federation| {
        f.call_late("A", |f| f.send_plainly(class, &values, b"", None).is_some())
    };
    assert!(!send(&mut f), "it is not published");
    for class in [class, above] {
        f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    }
    f.run();
    let wrong = f.call_late("A", |f| f.send_plainly(above, &values, b"", None).is_some());
    assert!(!wrong, "the superclass has no such parameter");
    assert!(
        f.federate("A").outbox().take().is_empty(),
        "nothing was done"
    );
    assert!(send(&mut f));
    let frame = sent(&mut f);
    assert!(matches!(
        frame.borrow(),
        Data {
            body: DataBody::Interaction { .. },
            ..
        }
    ));
    assert!(f.call("B", |f| take(f, &frame)));
    assert!(f.call("B", next_plain).is_none(), "the first one");
    let first = f.call("B", |f| f.next_callback()).expect("an interaction");
    assert!(f.call("B", |f| take(f, &frame)));
    let plain = f.call("B", next_plain).expect("as before");
    assert_eq!(Callback::from(plain), first);
    assert_eq!(pass(&mut f, &frame), Some(first));

    // What is found out for many of a kind ends with what it was made of.
    f.call("A", |f| f.unpublish_interaction_class(class))
        .unwrap();
    assert!(!send(&mut f), "it is not published any more");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.run();
    assert!(send(&mut f));
    assert_eq!(f.federate("A").outbox().take().len(), 1);
    f.call("B", |f| f.unsubscribe_interaction_class(class))
        .unwrap();
    f.run();
    assert!(send(&mut f), "nobody wants it");
    assert!(f.federate("A").outbox().take().is_empty());
}

#[test]
fn a_callback_has_nothing_of_the_one_before() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, below) = (f.class("A"), f.class("A.B"));
    let list = f.attributes(&["x", "z"]);
    let (x, z) = (list[0], list[1]);
    let sent_class = f.interaction("I.J");
    let parameter = f
        .call("A", |f| f.parameter_handle(sent_class, "q"))
        .unwrap();
    for (class, attribute) in [(class, x), (below, z)] {
        f.call("A", |f| {
            f.publish_object_class_attributes(class, &[attribute])
        })
        .unwrap();
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &[attribute], true, "")
        })
        .unwrap();
    }
    f.call("A", |f| f.publish_interaction_class(sent_class))
        .unwrap();
    f.call("B", |f| f.subscribe_interaction_class(sent_class, true))
        .unwrap();
    f.run();
    let mut register = |class| f.call("A", |f| f.register_object_instance(class, None));
    let cars = [(class, x), (class, x), (below, z)].map(|(c, a)| (register(c).unwrap(), a));
    f.run();
    f.callbacks("B");
    // Of each twice: then it is known as what it is received.
    for _ in 0..2 {
        for (car, attribute) in cars {
            f.call("A", |f| {
                f.update_attribute_values(car, &[(attribute, &b"before"[..])], b"")
            })
            .unwrap();
        }
        f.call("A", |f| f.send_interaction(sent_class, &[], b""))
            .unwrap();
        f.run();
        f.callbacks("B");
    }
    let mut frames = Vec::new();
    for round in 0..3_u8 {
        for (car, attribute) in cars {
            let value = vec![round; usize::from(round) + 1];
            f.call_late("A", |f| {
                f.update_attribute_values(car, &[(attribute, &value[..])], &[round; 2])
            })
            .unwrap();
            frames.push(sent(&mut f));
        }
        f.call_late("A", |f| {
            f.send_interaction(sent_class, &[(parameter, &[round][..])], b"tag")
        })
        .unwrap();
        frames.push(sent(&mut f));
    }
    let mut kept = None;
    for (at, frame) in frames.iter().enumerate() {
        let alone = pass(&mut f, frame).expect("it is as most are");
        assert!(pass_after(&mut f, frame, &mut kept), "{at}");
        assert_eq!(kept.clone().map(Callback::from), Some(alone), "{at}");
    }
    // Nor is anything done to it by what is not as most are.
    let before = kept.clone().map(Callback::from);
    f.call("B", |f| f.enable_callbacks(false)).unwrap();
    assert!(!pass_after(&mut f, &frames[0], &mut kept));
    assert_eq!(kept.map(Callback::from), before);
}

/// Where regions are conveyed (§9, Convey Region Designator Sets), what was sent without any says so, too: no callback of the short way could.
#[test]
fn where_regions_are_conveyed_nothing_is_called_back_the_short_way() {
    let mut f = Federation::new("<conveyRegionDesignatorSets isEnabled=\"true\"/>");
    f.join("A");
    f.join("B");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let sent_class = f.interaction("I");
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("A", |f| f.publish_interaction_class(sent_class))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    f.call("B", |f| f.subscribe_interaction_class(sent_class, true))
        .unwrap();
    f.run();
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    let instance = instance.unwrap();
    f.run();
    f.callbacks("B");

    f.call_late("A", |f| {
        f.update_attribute_values(instance, &[(x[0], b"value")], b"")
    })
    .unwrap();
    let update = sent(&mut f);
    f.call_late("A", |f| f.send_interaction(sent_class, &[], b""))
        .unwrap();
    let interaction = sent(&mut f);
    let conveyed = |callback: Option<Callback>| match callback {
        Some(
            Callback::ReflectAttributeValues { regions, .. }
            | Callback::ReceiveInteraction { regions, .. },
        ) => regions,
        other => panic!("{other:?}"),
    };
    // Often enough that it is known as what each is received.
    for frame in [&update, &interaction].into_iter().cycle().take(8) {
        let before = counts(&mut f);
        assert!(!f.call("B", |f| f.is_straight()));
        assert_eq!(pass(&mut f, frame), None);
        assert_eq!(counts(&mut f), before, "nothing was done");
        assert!(f.call("B", |f| take(f, frame)));
        assert!(f.call("B", next_plain).is_none());
        let callback = f.call("B", |f| f.next_callback());
        assert_eq!(conveyed(callback), Some(Vec::new()), "the default region");
    }
}

#[test]
fn what_was_found_of_one_instance_holds_only_for_those_that_are_alike() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (a, b) = (f.class("A"), f.class("A.B"));
    let list = f.attributes(&["x", "z"]);
    for (class, list) in [(a, &list[..1]), (b, &list[..])] {
        f.call("A", |f| f.publish_object_class_attributes(class, list))
            .unwrap();
    }
    f.call("B", |f| {
        f.subscribe_object_class_attributes(a, &list[..1], true, "")
    })
    .unwrap();
    let values = [(list[0], &b"value"[..]), (list[1], b"other")];
    let (x, both) = (&values[..1], &values[..]);
    // The instances, and what is updated of them.
    let mut updates = Vec::new();
    for (class, values) in [(a, x); 6].into_iter().chain([(b, x), (b, both)]) {
        let instance = f.call("A", |f| f.register_object_instance(class, None));
        let instance = instance.unwrap();
        f.call("A", |f| f.update_attribute_values(instance, values, b""))
            .unwrap();
        updates.push((instance, values));
    }
    // The first two are alike, and the last two are of another class.
    let [best, another, within, gone] = [2, 3, 4, 5].map(|n| updates[n].0);
    let dimension = f.federate("A").dimension_handle("D").unwrap();
    let region = f.call("A", |f| f.create_region(&[dimension])).unwrap();
    let regions = AttributeRegions {
        attributes: vec![list[0]],
        regions: vec![region],
    };
    f.call("A", |f| {
        f.request_attribute_transportation_type_change(
            best,
            &list[..1],
            Transportation::BestEffort,
        )?;
        f.unconditional_attribute_ownership_divestiture(another, &list[..1], b"")?;
        f.commit_region_modifications(&[region])?;
        f.associate_regions_for_updates(within, &[regions])?;
        f.delete_object_instance(gone, b"")
    })
    .unwrap();
    f.run();
    f.callbacks("A");
    let update = |f: &mut Federation, at: usize| {
        let (instance, values) = updates[at];
        let federate = f.federate("A");
        let done = federate.update_attribute_values(instance, values, b"tag");
        let sent = federate.outbox().take();
        (done.err().map(|e| e.kind), sent.len(), format!("{sent:?}"))
    };
    let mut kinds = Vec::new();
    for first in 0..updates.len() {
        for second in 0..updates.len() {
            update(&mut f, first);
            let found = update(&mut f, second);
            // Whatever changes it lets it be found anew.
            f.federate("A").set_time_us(0);
            let anew = update(&mut f, second);
            assert_eq!(found, anew, "{second} after {first}");
            kinds.push((anew.0, anew.1));
        }
    }
    // Those of the first column.
    let kinds: Vec<_> = kinds.into_iter().take(updates.len()).collect();
    use ExceptionKind::{AttributeNotOwned, ObjectInstanceNotKnown};
    let sent = (None, 1);
    let others = [
        (Some(AttributeNotOwned), 0),
        sent,
        (Some(ObjectInstanceNotKnown), 0),
    ];
    assert_eq!(kinds, [[sent; 3].as_slice(), &others, &[sent; 2]].concat());
}
