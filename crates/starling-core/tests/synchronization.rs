//! Synchronization points, 1516.1-2010 §4.11 to §4.15.

use crate::common::Federation;
use starling_core::message::ResignAction;
use starling_core::{Callback, ExceptionKind, FederateHandle, SynchronizationPointFailure};

fn registered(label: &str, failure: Option<SynchronizationPointFailure>) -> Callback {
    let label = label.into();
    Callback::SynchronizationPointRegistered { label, failure }
}

fn announced(label: &str) -> Callback {
    Callback::AnnounceSynchronizationPoint {
        label: label.into(),
        tag: b"tag".to_vec(),
    }
}

fn synchronized(label: &str, failed: &[FederateHandle]) -> Callback {
    Callback::FederationSynchronized {
        label: label.into(),
        failed: failed.to_vec(),
    }
}

fn register(f: &mut Federation, by: &str, label: &str, set: &[FederateHandle]) {
    f.call(by, |f| {
        f.register_federation_synchronization_point(label, b"tag", set)
    })
    .unwrap();
}

fn achieve(f: &mut Federation, by: &str, successfully: bool) {
    f.call(by, |f| f.synchronization_point_achieved("P", successfully))
        .unwrap();
}

#[test]
fn all_achieve_it_also_a_late_joiner() {
    let mut f = Federation::new("");
    f.join("A");
    let b = f.join("B");
    register(&mut f, "A", "P", &[]);
    assert_eq!(f.callbacks("A"), [registered("P", None), announced("P")]);
    f.join("C");
    assert_eq!(f.callbacks("B"), [announced("P")]);
    assert_eq!(f.callbacks("C"), [announced("P")]);
    achieve(&mut f, "A", true);
    achieve(&mut f, "B", false);
    f.quiet();
    achieve(&mut f, "C", true);
    for name in ["A", "B", "C"] {
        assert_eq!(f.callbacks(name), [synchronized("P", &[b])]);
    }
    // The label is free again.
    register(&mut f, "B", "P", &[]);
    assert_eq!(f.callbacks("B"), [registered("P", None), announced("P")]);
}

#[test]
fn only_the_set_is_asked_and_told() {
    let mut f = Federation::new("");
    f.join("A");
    let b = f.join("B");
    register(&mut f, "A", "P", &[b]);
    f.join("C");
    assert_eq!(f.callbacks("A"), [registered("P", None)]);
    assert_eq!(f.callbacks("B"), [announced("P")]);
    f.quiet();
    achieve(&mut f, "B", true);
    assert_eq!(f.callbacks("B"), [synchronized("P", &[])]);
    f.quiet();
}

#[test]
fn a_label_in_use_and_a_stranger_in_the_set_fail() {
    let mut f = Federation::new("");
    let a = f.join("A");
    f.join("B");
    register(&mut f, "A", "P", &[]);
    register(&mut f, "A", "P", &[]);
    register(&mut f, "A", "Q", &[a, FederateHandle(77)]);
    assert_eq!(
        f.callbacks("A"),
        [
            registered("P", None),
            announced("P"),
            registered("P", Some(SynchronizationPointFailure::LabelNotUnique)),
            registered("Q", Some(SynchronizationPointFailure::SetMemberNotJoined)),
        ]
    );
    assert_eq!(f.callbacks("B"), [announced("P")]);
}

#[test]
fn who_resigns_or_is_lost_is_not_waited_for() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    f.join("C");
    register(&mut f, "A", "P", &[]);
    f.callbacks("A");
    achieve(&mut f, "A", true);
    f.resign("B", ResignAction::NoAction);
    f.lose("C");
    assert_eq!(f.callbacks("A"), [synchronized("P", &[])]);
    assert!(f.join("D") != FederateHandle(0));
    f.quiet();
}

#[test]
fn achieving_needs_the_announcement() {
    let mut f = Federation::new("");
    f.join("A");
    register(&mut f, "A", "P", &[]);
    let early = f.call("A", |f| f.synchronization_point_achieved("P", true));
    assert_eq!(
        early.unwrap_err().kind,
        ExceptionKind::SynchronizationPointLabelNotAnnounced
    );
    f.callbacks("A");
    achieve(&mut f, "A", true);
    let twice = f.call("A", |f| f.synchronization_point_achieved("P", true));
    assert_eq!(
        twice.unwrap_err().kind,
        ExceptionKind::SynchronizationPointLabelNotAnnounced
    );
    let nobody = f.call("A", |f| {
        f.register_federation_synchronization_point("Q", b"", &[FederateHandle(0)])
    });
    assert_eq!(
        nobody.unwrap_err().kind,
        ExceptionKind::InvalidFederateHandle
    );
}
