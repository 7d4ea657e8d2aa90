//! Resign Federation Execution, 1516.1-2010 §4.10, that crosses with other things: with what others
//! ask of the federate, and, by HLAservice.HLAresignFederationExecution (§11), with services of its own.

use crate::common::{Federation, Sent};
use starling_core::message::ResignAction;
use starling_core::{Answer, Callback, DataPath, Exception, ExceptionKind, Lrc};

/// A, whom B has resigned by the MOM; nothing of A's has arrived at the executive since.
fn resigned_by_mom(f: &mut Federation) {
    let service = "HLAmanager.HLAfederate.HLAservice.HLAresignFederationExecution";
    let class = f.interaction(service);
    let a = f.member("A").handle().0.to_be_bytes();
    let action = 1 + ResignAction::NoAction as u32;
    let values = [
        ("HLAfederate", [&4_u32.to_be_bytes()[..], &a].concat()),
        ("HLAresignAction", action.to_be_bytes().to_vec()),
    ];
    let values = values.map(|(name, value)| {
        let parameter = f.call("B", |f| f.parameter_handle(class, name)).unwrap();
        (parameter, value)
    });
    let values: Vec<_> = values.iter().map(|(p, v)| (*p, &v[..])).collect();
    f.call("B", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.send_interaction(class, &values, b""))
        .unwrap();
    f.hear();
    assert!(f.federate("A").federate().is_none());
    // The log knows by whose doing.
    let note = "it asks that 'A' resign (HLAresignFederationExecution, 1516.1-2010, 11.4.4)";
    assert_eq!(f.notes(), [note]);
}

fn two() -> Federation {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    f
}

fn not_there(answer: Option<Result<Answer, Exception>>) {
    let kind = answer.map(|a| a.map_err(|e| e.kind));
    assert_eq!(
        kind,
        Some(Err(ExceptionKind::FederationExecutionDoesNotExist))
    );
}

#[test]
fn a_service_that_waits_gets_its_own_answer() {
    let mut f = two();
    f.call_late("A", |f| f.destroy_federation_execution("nope"))
        .unwrap();
    resigned_by_mom(&mut f);
    f.run();
    not_there(f.federate("A").answer());
}

#[test]
fn so_does_one_that_is_called_when_the_resignation_is_on_its_way() {
    let mut f = two();
    resigned_by_mom(&mut f);
    f.call_late("A", |f| f.destroy_federation_execution("nope"))
        .unwrap();
    f.run();
    not_there(f.federate("A").answer());
}

#[test]
fn who_resigns_deletes_what_it_may_delete_now() {
    let mut f = two();
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let root = f.class("HLAobjectRoot");
    let privilege = "HLAprivilegeToDeleteObject";
    let privilege = [f.federate("A").attribute_handle(root, privilege).unwrap()];
    for name in ["A", "B"] {
        f.call(name, |f| {
            f.publish_object_class_attributes(class, &x)?;
            f.subscribe_object_class_attributes(class, &x, true, "")
        })
        .unwrap();
    }
    f.run();
    let [kept, passed] = [(); 2].map(|()| {
        let instance = f.call("A", |f| f.register_object_instance(class, None));
        instance.unwrap()
    });
    f.callbacks("B");
    f.call("A", |f| {
        f.unconditional_attribute_ownership_divestiture(passed, &privilege, b"")
    })
    .unwrap();
    f.call("B", |f| {
        f.attribute_ownership_acquisition_if_available(passed, &privilege, b"")
    })
    .unwrap();
    f.callbacks("B");
    let removed = |f: &mut Federation, at: &str| -> Vec<_> {
        let all = f.callbacks(at).into_iter();
        all.filter_map(|c| match c {
            Callback::RemoveObjectInstance { instance, .. } => Some(instance),
            _ => None,
        })
        .collect()
    };
    f.join("C");
    f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    f.callbacks("C");
    f.resign("A", ResignAction::DeleteObjectsThenDivest);
    assert_eq!(removed(&mut f, "C"), [kept]);
    f.resign("B", ResignAction::DeleteObjects);
    assert_eq!(removed(&mut f, "C"), [passed]);
}

#[test]
fn who_waits_for_an_answer_and_disconnects_is_not_connected() {
    let lrc = || Lrc::new(Sent::default(), DataPath::Executive);
    let kind = |lrc: &mut Lrc<Sent>| lrc.answer().unwrap().unwrap_err().kind;
    let (mut left, mut lost) = (lrc(), lrc());
    left.close();
    assert_eq!(kind(&mut left), ExceptionKind::NotConnected);
    lost.lose("the link was cut");
    assert_eq!(kind(&mut lost), ExceptionKind::RTIinternalError);
}

/// §4.4: what time management withholds is not delivered any more. It is counted, and Connection Lost says so.
#[test]
fn what_is_withheld_when_the_connection_is_lost_is_counted_as_dropped() {
    for (tags, said) in [
        (&["1"][..], "1 message that had come is not delivered"),
        (&["1", "2"], "2 messages that had come are not delivered"),
    ] {
        let mut f = Federation::new("");
        f.join("A");
        f.join("B");
        let class = f.interaction("I");
        f.call("A", |f| f.publish_interaction_class(class)).unwrap();
        f.call("B", |f| f.subscribe_interaction_class(class, true))
            .unwrap();
        f.call("B", |f| f.enable_time_constrained()).unwrap();
        f.callbacks("B");
        for tag in tags {
            f.call("A", |f| f.send_interaction(class, &[], tag.as_bytes()))
                .unwrap();
        }
        f.run();
        let b = f.federate("B");
        b.lose("the link was cut");
        let all = tags.len() as u64;
        assert_eq!(b.counters().expect("until it is told").withheld, all);
        let Some(Callback::ConnectionLost { fault }) = b.next_callback() else {
            panic!("nothing else can be delivered");
        };
        assert!(fault.contains(said), "{fault}");
        let counters = b.counters().expect("they are kept");
        assert_eq!(
            (counters.queued, counters.dropped, counters.withheld),
            (all, all, 0)
        );
    }
}

/// §4.4: callbacks that came before are delivered before Connection Lost, and can be understood.
#[test]
fn who_has_lost_the_connection_looks_up_what_still_comes() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    for tag in [b"1", b"2"] {
        f.call("A", |f| f.send_interaction(class, &[], tag))
            .unwrap();
    }
    f.run();
    let b = f.federate("B");
    b.lose("the link was cut");
    let throws = |b: &mut Lrc<Sent>| b.unsubscribe_interaction_class(class).unwrap_err().kind;
    for tag in [b"1", b"2"] {
        assert!(b.has_callbacks());
        let Some(Callback::ReceiveInteraction { values, .. }) = b.next_callback() else {
            panic!("it came before");
        };
        assert_eq!(values.tag(), tag);
        assert_eq!(
            b.interaction_class_name(class).unwrap(),
            "HLAinteractionRoot.I"
        );
        assert_eq!(throws(b), ExceptionKind::NotConnected);
    }
    assert_eq!((b.callbacks(), b.has_callbacks()), (1, true));
    let last = b.next_callback();
    assert!(
        matches!(last, Some(Callback::ConnectionLost { .. })),
        "{last:?}"
    );
    assert_eq!((b.next_callback(), b.has_callbacks()), (None, false));
    let name = b.interaction_class_name(class);
    assert_eq!(name.unwrap_err().kind, ExceptionKind::NotConnected);
}
