//! Data on a link of its own that overtakes a restore, 1516.1-2010 §4.29: its sender has been told that it is
//! restored, its receiver has not.

use crate::common::Federation;
use crate::save::{restoring, saved};
use starling_core::message::{After, Data, DataBody, Payload, ResignAction};
use starling_core::{
    Archived, Callback, DataPath, FederateHandle, InteractionClassHandle, Transportation, ValuesBuf,
};

/// A publishes I, B subscribes to it.
fn linked() -> (Federation, FederateHandle) {
    let mut f = Federation::direct("");
    let a = f.join("A");
    f.join("B");
    let i = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(i)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(i, true))
        .unwrap();
    f.quiet();
    (f, a)
}

fn send(f: &mut Federation, tag: &str) {
    let i = f.interaction("I");
    f.call("A", |f| f.send_interaction(i, &[], tag.as_bytes()))
        .unwrap();
}

/// The tags of what B receives. It is told of the restore first.
fn received(f: &mut Federation) -> Vec<String> {
    let mut told = f.callbacks("B").into_iter();
    let restored = told.find(|c| *c == Callback::FederationRestored);
    assert!(restored.is_some(), "B is restored");
    let tag = |callback| match callback {
        Callback::ReceiveInteraction { values, .. } => {
            String::from_utf8(values.tag().to_vec()).unwrap()
        }
        other => panic!("B is told {other:?}"),
    };
    told.map(tag).collect()
}

/// A is restored and sends as `a`, of which B hears before it hears of the restore.
fn overtake(f: &mut Federation, a: FederateHandle, saved: Archived) {
    restoring(f, "L", saved);
    f.hear_but("B");
    let told = f.call("A", |f| f.next_callback());
    assert_eq!(told, Some(Callback::FederationRestored));
    for tag in ["first", "second"] {
        send(f, tag);
    }
    f.arrive(a, "B");
}

#[test]
fn what_overtakes_a_restore_comes_behind_it() {
    let (mut f, a) = linked();
    let saved = saved(&mut f, "L");
    send(&mut f, "undone");
    overtake(&mut f, a, saved);
    assert_eq!(received(&mut f), ["first", "second"]);
    send(&mut f, "third");
    assert_eq!(f.arrive(a, "B"), 1);
    let told = f.callbacks("B");
    assert!(
        matches!(&told[..], [Callback::ReceiveInteraction { values, .. }] if values.tag() == b"third"),
        "{told:?}"
    );
}

/// The restore gives a handle to somebody again whose resignation B has applied.
#[test]
fn what_overtakes_a_restore_may_be_of_a_handle_that_had_resigned() {
    let (mut f, a) = linked();
    let saved = saved(&mut f, "L");
    f.resign("A", ResignAction::NoAction);
    assert_ne!(f.join("A"), a);
    overtake(&mut f, a, saved);
    assert_eq!(received(&mut f), ["first", "second"]);
}

/// A frame that can't be, among those that overtake a restore, is its sender's fault.
#[test]
fn what_overtakes_a_restore_and_can_not_be_is_counted() {
    let (mut f, a) = linked();
    let saved = saved(&mut f, "L");
    restoring(&mut f, "L", saved);
    f.hear_but("B");
    let index = f.status().log;
    let values = ValuesBuf::default();
    let payload = Payload {
        transportation: Transportation::Reliable,
        values: values.values(),
        tag: &[],
        address: None,
        stamp: None,
    };
    let data = Data {
        sender: a,
        after: After {
            requests: Default::default(),
            index,
        },
        body: DataBody::Interaction {
            class: InteractionClassHandle::from_raw(9_999),
            payload,
        },
    };
    f.federate("B")
        .receive_data(&data, DataPath::Direct, None)
        .unwrap();
    assert_eq!(received(&mut f), [""; 0]);
    assert_eq!(f.member("B").counters().unknown, 1);
}
