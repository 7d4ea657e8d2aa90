//! Save and restore, 1516.1-2010 §4.16 to §4.32, against federates that say too much, and in the
//! order of arrival that harms most. What federates see of them is in `tests/federation`.

mod common;

use common::Federation;
use starling_core::message::save;
use starling_core::{Archive, Archived, Callback};

/// Two federates that have been told of a save, and have begun it.
fn saving(f: &mut Federation, label: &str) {
    f.call("B", |f| f.request_federation_save(label, None))
        .unwrap();
    for name in ["A", "B"] {
        let told = f.callbacks(name);
        assert!(
            matches!(&told[..], [.., Callback::InitiateFederateSave { label: l, .. }] if l == label),
            "{told:?}"
        );
        f.call(name, |f| f.federate_save_begun()).unwrap();
    }
}

fn complete(f: &mut Federation) {
    for name in ["A", "B"] {
        f.call(name, |f| f.federate_save_complete()).unwrap();
    }
}

/// The one save that is to be written; it is.
fn written(f: &mut Federation, label: &str) -> Archive {
    f.run();
    let mut tasks = f.archives();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    let task = tasks.remove(0);
    assert_eq!(task.label, label);
    assert_eq!(task.write.as_ref().map(|s| s.federates.len()), Some(2));
    f.archived(&task, Archived::Written);
    for name in ["A", "B"] {
        assert_eq!(f.callbacks(name), [Callback::FederationSaved]);
    }
    task
}

fn two() -> Federation {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    f
}

#[test]
fn who_says_twice_that_it_is_complete_brings_about_one_save() {
    let mut f = two();
    saving(&mut f, "Once");
    complete(&mut f);
    for _ in 0..3 {
        f.forge_request("A", &[], save::Request::SaveEnded(true))
            .unwrap();
    }
    written(&mut f, "Once");
    saving(&mut f, "Again");
    complete(&mut f);
    written(&mut f, "Again");
}

#[test]
fn a_part_of_a_save_that_was_aborted_is_no_part_of_the_next() {
    let mut f = two();
    saving(&mut f, "Aborted");
    complete(&mut f);
    // All are asked for their parts; A's stays on its way while B aborts the save and asks for another.
    f.hear();
    f.call("B", |f| f.abort_federation_save()).unwrap();
    f.hear();
    let ended = f.call("B", |f| f.next_callback());
    assert!(
        matches!(ended, Some(Callback::FederationNotSaved { .. })),
        "{ended:?}"
    );
    saving(&mut f, "Next");
    assert_eq!(f.archives(), []);
    complete(&mut f);
    written(&mut f, "Next");
}

#[test]
fn a_label_that_no_save_can_have_is_not_looked_for() {
    let mut f = two();
    let label = "x".repeat(1 << 20);
    f.forge_request("A", &[], save::Request::Restore { label })
        .unwrap();
    assert_eq!(f.archives(), []);
    let told = f.callbacks("A");
    assert!(
        matches!(
            &told[..],
            [Callback::RestoreRequested {
                succeeded: false,
                ..
            }]
        ),
        "{} callbacks",
        told.len()
    );
}
