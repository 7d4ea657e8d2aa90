//! What a message has shown holds for others like it only until anything else is done with the federate.

use crate::common::{Federation, Sent};
use starling_bed::Message;
use starling_core::message::{After, AttributeRegions, LogIndex, OwnedData, ResignAction};
use starling_core::{
    AttributeHandle, Callback, ExceptionKind, Lrc, ObjectClassHandle, ObjectInstanceHandle,
    PlainCallback, Transportation, Values,
};

/// A updates an instance for B.
struct Stream {
    f: Federation,
    class: ObjectClassHandle,
    instance: ObjectInstanceHandle,
    x: AttributeHandle,
}

/// What became of an update.
#[derive(Debug, PartialEq)]
enum Outcome {
    Sent(Transportation),
    WithRegions,
    Unwanted,
    Thrown(ExceptionKind),
}

impl Stream {
    /// So many updates are through.
    fn new(updates: u32) -> Self {
        let mut f = Federation::new("");
        f.join("A");
        f.join("B");
        let (class, x) = (f.class("A"), f.attributes(&["x"])[0]);
        f.call("A", |f| f.publish_object_class_attributes(class, &[x]))
            .unwrap();
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &[x], true, "")
        })
        .unwrap();
        let instance = f.call("A", |f| f.register_object_instance(class, None));
        let instance = instance.unwrap();
        f.run();
        f.callbacks("B");
        let mut new = Stream {
            f,
            class,
            instance,
            x,
        };
        for _ in 0..updates {
            assert_eq!(new.update(), Outcome::Sent(Transportation::Reliable));
        }
        new.f.callbacks("B");
        new
    }

    fn a(&mut self, work: impl FnOnce(&mut Lrc<Sent>)) {
        self.f.call("A", work);
        self.f.run();
        self.f.callbacks("A");
    }

    fn update(&mut self) -> Outcome {
        let (instance, values) = (self.instance, [(self.x, &b"value"[..])]);
        let done = self
            .f
            .call_late("A", |f| f.update_attribute_values(instance, &values, b""));
        if let Err(thrown) = done {
            return Outcome::Thrown(thrown.kind);
        }
        let frame = self.frame();
        self.f.run();
        let Some(frame) = frame else {
            return Outcome::Unwanted;
        };
        match frame.borrow().as_plain() {
            Some(plain) => Outcome::Sent(plain.transportation),
            None => Outcome::WithRegions,
        }
    }

    /// The data that A has just sent, which stays on its way.
    fn frame(&mut self) -> Option<OwnedData> {
        let sent = self.f.federate("A").outbox();
        sent.messages().find_map(|message| match message {
            Message::Data(data) => Some(data.clone()),
            _ => None,
        })
    }
}

/// After each of these the next update is judged anew: how many came before makes no difference.
#[test]
fn what_an_update_has_shown_ends_with_whatever_changes_it() {
    type Change = fn(&mut Stream);
    let lost = ExceptionKind::AttributeNotOwned;
    let changes: [(Change, Outcome); 9] = [
        (
            |s| {
                let (class, x) = (s.class, s.x);
                s.a(|f| f.unpublish_object_class_attributes(class, &[x]).unwrap());
            },
            Outcome::Thrown(lost),
        ),
        (
            |s| {
                let (of, x) = (s.instance, s.x);
                s.a(|f| {
                    f.unconditional_attribute_ownership_divestiture(of, &[x], b"")
                        .unwrap()
                });
            },
            Outcome::Thrown(lost),
        ),
        (
            |s| {
                let instance = s.instance;
                s.a(|f| f.delete_object_instance(instance, b"").unwrap());
            },
            Outcome::Thrown(ExceptionKind::ObjectInstanceNotKnown),
        ),
        (
            |s| {
                let (class, x) = (s.class, s.x);
                let unsubscribed =
                    s.f.call("B", |f| f.unsubscribe_object_class_attributes(class, &[x]));
                unsubscribed.unwrap();
                s.f.run();
            },
            Outcome::Unwanted,
        ),
        (
            |s| {
                let (of, x, how) = (s.instance, s.x, Transportation::BestEffort);
                s.a(|f| {
                    f.request_attribute_transportation_type_change(of, &[x], how)
                        .unwrap()
                });
            },
            Outcome::Sent(Transportation::BestEffort),
        ),
        (
            |s| {
                let (instance, x) = (s.instance, s.x);
                s.a(|f| {
                    let dimension = f.dimension_handle("D").unwrap();
                    let region = f.create_region(&[dimension]).unwrap();
                    f.commit_region_modifications(&[region]).unwrap();
                    let regions = AttributeRegions {
                        attributes: vec![x],
                        regions: vec![region],
                    };
                    f.associate_regions_for_updates(instance, &[regions])
                        .unwrap();
                });
            },
            Outcome::WithRegions,
        ),
        (
            |s| s.a(|f| f.request_federation_save("save", None).unwrap()),
            Outcome::Thrown(ExceptionKind::SaveInProgress),
        ),
        (
            |s| s.a(|f| f.set_frame_bytes_max(75)),
            Outcome::Thrown(ExceptionKind::RTIinternalError),
        ),
        (
            |s| {
                let action = ResignAction::DeleteObjects;
                s.a(|f| f.resign_federation_execution(action).unwrap());
            },
            Outcome::Thrown(ExceptionKind::FederateNotExecutionMember),
        ),
    ];
    for (at, (change, expected)) in changes.iter().enumerate() {
        for updates in [1, 3] {
            let mut stream = Stream::new(updates);
            change(&mut stream);
            assert_eq!(stream.update(), *expected, "change {at} behind {updates}");
        }
    }
    // It does not hold for more than one message may hold, nor for another attribute or instance.
    let mut stream = Stream::new(3);
    let (instance, x, tag) = (stream.instance, stream.x, [0; 100]);
    stream.a(|f| f.set_frame_bytes_max(150));
    let mut update = |of, what, tag: &[u8]| {
        let values = [(what, &b"value"[..])];
        let done = stream
            .f
            .call("A", |f| f.update_attribute_values(of, &values, tag));
        done.map_err(|thrown| thrown.kind)
    };
    assert_eq!(update(instance, x, b""), Ok(()));
    let large = update(instance, x, &tag);
    assert_eq!(large, Err(ExceptionKind::RTIinternalError));
    let other = ObjectInstanceHandle(instance.0 + 1);
    let unknown = update(other, x, b"");
    assert_eq!(unknown, Err(ExceptionKind::ObjectInstanceNotKnown));
    assert_eq!(update(instance, x, b""), Ok(()));
    let undefined = update(instance, AttributeHandle::from_raw(u32::MAX), b"");
    assert_eq!(undefined, Err(ExceptionKind::AttributeNotDefined));
    assert_eq!(update(instance, x, b""), Ok(()));
}

/// The same at who is called back: B, where frames were read.
#[test]
fn what_a_callback_has_shown_ends_with_whatever_changes_it() {
    // As of one whose sender had applied the log up to there.
    let passed_at = |stream: &mut Stream, applied: Option<LogIndex>| {
        let (instance, values) = (stream.instance, [(stream.x, &b"value"[..])]);
        let sent = stream
            .f
            .call_late("A", |f| f.update_attribute_values(instance, &values, b""));
        sent.unwrap();
        let frame = stream.frame().expect("an update");
        stream.f.federate("A").outbox().take();
        let data = frame.borrow();
        let plain = data.as_plain().expect("neither time nor regions");
        let mut batch = starling_core::Batch::default();
        batch.refill(plain.values.as_bytes());
        let mut kept: Option<PlainCallback> = None;
        let here = starling_core::message::PlainData {
            tag: &batch.bytes()[..0],
            values: Values::parse(batch.bytes()).unwrap(),
            after: After {
                index: applied.unwrap_or(plain.after.index),
                ..plain.after
            },
            ..plain
        };
        let passed = stream.f.call("B", |f| {
            f.pass_plainly(
                here,
                (&batch, starling_core::DataPath::Executive),
                &mut kept,
            )
        });
        assert_eq!(passed, kept.is_some());
        kept.map(Callback::from)
    };
    let passed = |stream: &mut Stream| passed_at(stream, None);
    let mut stream = Stream::new(3);
    let (class, x, instance) = (stream.class, stream.x, stream.instance);
    for _ in 0..3 {
        assert!(passed(&mut stream).is_some());
    }
    for enabled in [false, true] {
        let set = stream.f.call("B", |f| f.enable_callbacks(enabled));
        set.unwrap();
        assert_eq!(passed(&mut stream).is_some(), enabled);
    }
    let deleted = stream
        .f
        .call("B", |f| f.local_delete_object_instance(instance));
    deleted.unwrap();
    assert_eq!(passed(&mut stream), None, "it is not known there");

    let mut stream = Stream::new(3);
    assert!(passed(&mut stream).is_some());
    let early = passed_at(&mut stream, Some(LogIndex(1)));
    assert_eq!(early, None, "its sender had not applied the subscription");
    assert!(passed(&mut stream).is_some());
    let unsubscribed = stream
        .f
        .call("B", |f| f.unsubscribe_object_class_attributes(class, &[x]));
    unsubscribed.unwrap();
    assert_eq!(passed(&mut stream), None, "nothing of it is subscribed");
    let subscribed = stream.f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    });
    subscribed.unwrap();
    assert_eq!(
        passed(&mut stream),
        None,
        "sent before the new subscription"
    );
}
