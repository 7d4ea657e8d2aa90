//! What the MOM was asked for before a save, and has not said by then, comes after its restore (1516.1-2010, §4.24 and
//! 11.4).

use crate::common::Federation;
use crate::save::{restoring, two};
use starling_core::saved::mom::{Counted, Waiting};
use starling_core::{Archived, Callback, InteractionClassHandle, SavedFederation};

const REQUEST: &str = "HLAmanager.HLAfederate.HLArequest.HLArequestUpdatesSent";
const REPORT: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportUpdatesSent";

/// A asks for what B has sent.
fn ask(f: &mut Federation) {
    let class = f.interaction(REQUEST);
    let whom = f.member("B").handle();
    let whom = [4, whom.0].map(u32::to_be_bytes).concat();
    let of = f.federate("A").parameter_handle(class, "HLAfederate");
    f.call("A", |f| {
        f.send_interaction(class, &[(of.unwrap(), &whom)], b"")
    })
    .unwrap();
}

fn reports(report: InteractionClassHandle, told: &[Callback]) -> usize {
    let is_report = |callback: &&Callback| matches!(callback, Callback::ReceiveInteraction { class, .. } if *class == report);
    told.iter().filter(is_report).count()
}

fn begins_to_save(f: &mut Federation, name: &str) {
    let told = f.call(name, |f| f.next_callback());
    assert!(
        matches!(told, Some(Callback::InitiateFederateSave { .. })),
        "{told:?}"
    );
    f.call(name, |f| f.federate_save_begun()).unwrap();
    f.call(name, |f| f.federate_save_complete()).unwrap();
}

/// A save that is decided while B's counts, for which A has asked `times`, are on their way; A's reports without a
/// restore.
fn saved_while_counts_are_on_their_way(
    f: &mut Federation,
    times: usize,
) -> (SavedFederation, usize) {
    let (request, report) = (f.interaction(REQUEST), f.interaction(REPORT));
    f.call("A", |f| f.publish_interaction_class(request))
        .unwrap();
    f.call("A", |f| f.subscribe_interaction_class(report, true))
        .unwrap();
    f.quiet();
    f.call("B", |f| f.request_federation_save("L", None))
        .unwrap();
    f.hear_but("A");
    begins_to_save(f, "B");
    // A has not heard of it.
    for _ in 0..times {
        ask(f);
    }
    f.hear_but("B");
    begins_to_save(f, "A");
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Written);
    let without = reports(report, &f.callbacks("A"));
    f.callbacks("B");
    (*task.write.unwrap(), without)
}

#[test]
fn a_report_that_was_asked_for_before_a_save_comes_after_its_restore() {
    for times in [1, 3] {
        let mut f = two();
        let report = f.interaction(REPORT);
        let (saved, without) = saved_while_counts_are_on_their_way(&mut f, times);
        // One for each transportation type; what is asked for meanwhile waits for one answer together.
        assert_eq!(without, 2 * times.min(2));
        restoring(&mut f, "L", Archived::Read(Box::new(saved)));
        let mut told = f.callbacks("A");
        f.callbacks("B");
        told.extend(f.callbacks("A"));
        assert_eq!(reports(report, &told), without, "{told:?}");
        // Whoever asks then is answered as ever.
        ask(&mut f);
        f.run();
        f.callbacks("B");
        assert_eq!(reports(report, &f.callbacks("A")), 2);
    }
}

#[test]
fn a_save_by_which_more_waits_for_counts_than_can_be_asked_for_is_refused() {
    let mut f = two();
    let (genuine, _) = saved_while_counts_are_on_their_way(&mut f, 1);
    let b = f.member("B").handle();
    let waits = Waiting::Report(Counted::UpdatesSent);
    assert_eq!(
        genuine.execution.mom.federates[&b].waiting,
        std::slice::from_ref(&waits)
    );
    for twice in [true, false] {
        let mut forged = genuine.clone();
        let managed = forged.execution.mom.federates.get_mut(&b).unwrap();
        if twice {
            managed.waiting.push(waits.clone());
        } else {
            managed.again.push(Waiting::Update(vec![]));
        }
        f.call("A", |f| f.request_federation_restore("L")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, Archived::Read(Box::new(forged)));
        let notes = f.notes();
        let expected = format!("more waits for the counts of {b} than can be asked for");
        assert!(
            matches!(&notes[..], [note] if note.contains(&expected)),
            "{notes:?}"
        );
    }
}
