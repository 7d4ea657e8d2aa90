//! What has become of a save or a restore that has failed, and by whose doing, stands in the process's log; who asked
//! for the save is told, too (1516.1-2010 §4.16 to §4.30).

use crate::common::Federation;
use crate::save::{complete, saved, saving, two};
use crate::why_time::timed;
use starling_core::LogicalTime;
use starling_core::message::ResignAction;

fn at(time: f64) -> LogicalTime {
    LogicalTime::float64(time).unwrap()
}

/// What the log says, and what the federates that are there are told, hence who asked.
fn ended(f: &mut Federation, names: &[&str]) -> (Vec<String>, Vec<Option<String>>) {
    f.run();
    let notes = f.notes();
    let told = names.iter().map(|name| f.federate(name).take_note());
    (notes, told.collect())
}

/// One line, and the same words for who asked, the first.
#[track_caller]
fn failed(f: &mut Federation, names: &[&str], expected: &str) {
    let line = format!("federation execution 'F': {expected}");
    let mut told = vec![None; names.len()];
    told[0] = Some(expected.to_owned());
    assert_eq!(ended(f, names), (vec![line], told));
    for name in names {
        f.callbacks(name);
    }
}

#[test]
fn a_save_that_fails_is_told_to_who_asked_and_to_the_log() {
    let mut f = two();
    saving(&mut f, "L");
    f.call("B", |f| f.federate_save_not_complete()).unwrap();
    let why = "the save 'L' has failed: 'B' has not saved (FEDERATE_REPORTED_FAILURE_DURING_SAVE)";
    failed(&mut f, &["B", "A"], why);

    saving(&mut f, "L");
    f.call("B", |f| f.abort_federation_save()).unwrap();
    let why = "the save 'L' has failed: 'B' has aborted it (SAVE_ABORTED)";
    failed(&mut f, &["B", "A"], why);

    saving(&mut f, "L");
    complete(&mut f);
    f.run();
    let task = f.archives().remove(0);
    let full = Err("the disk is full".to_owned());
    f.executive().archived(task.execution, task.number, full);
    let why = "the save 'L' has failed: the disk is full (RTI_UNABLE_TO_SAVE)";
    failed(&mut f, &["B", "A"], why);

    f.call("A", |f| f.request_federation_save("", None))
        .unwrap();
    let why = "the save '' has failed: it has no label; asked for by 'A' (RTI_UNABLE_TO_SAVE)";
    failed(&mut f, &["A", "B"], why);

    f.call("A", |f| f.request_federation_save("L\u{fffd}", None))
        .unwrap();
    let why = "the save 'L\u{fffd}' has failed: its label has characters that are no Unicode; asked for by 'A' \
               (RTI_UNABLE_TO_SAVE)";
    failed(&mut f, &["A", "B"], why);

    f.join("C");
    saving(&mut f, "L");
    f.resign("C", ResignAction::NoAction);
    let why = "the save 'L' has failed: 'C' has resigned (FEDERATE_RESIGNED_DURING_SAVE)";
    failed(&mut f, &["B", "A"], why);

    saving(&mut f, "L");
    f.lose("A");
    let why = "the save 'L' has failed: 'A' was lost (RTI_DETECTED_FAILURE_DURING_SAVE)";
    failed(&mut f, &["B"], why);

    // Nobody is left by whom the log would hear of it.
    f.call("B", |f| f.request_federation_save("L", None))
        .unwrap();
    f.callbacks("B");
    f.lose("B");
    let why = "federation execution 'F': the save 'L' has failed: 'B' was lost \
               (RTI_DETECTED_FAILURE_DURING_SAVE)";
    assert_eq!(f.notes(), [why]);
}

#[test]
fn a_scheduled_save_that_comes_no_more_is_named() {
    let mut f = timed(&["A"]);
    f.call("A", |f| f.request_federation_save("S", Some(at(20.0))))
        .unwrap();
    f.run();
    f.lose("A");
    let why = "federation execution 'F': the save 'S', which was to come at 20, comes no more: \
               'A' was the last federate, and has left";
    assert_eq!(f.notes(), [why]);
}

#[test]
fn a_restore_that_fails_is_named_in_the_log() {
    let mut f = two();
    let genuine = saved(&mut f, "L");
    let begin = |f: &mut Federation| {
        f.call("A", |f| f.request_federation_restore("L")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, genuine.clone());
        for name in ["A", "B", "A", "B"] {
            f.callbacks(name);
        }
    };
    let failed = |f: &mut Federation, why: &str| {
        f.run();
        let line = format!("federation execution 'F': the restore 'L' has failed: {why}");
        assert_eq!(f.notes(), [line]);
        for name in ["A", "B"] {
            f.callbacks(name);
        }
    };
    begin(&mut f);
    f.call("B", |f| f.federate_restore_not_complete()).unwrap();
    let why = "'B' is not restored (FEDERATE_REPORTED_FAILURE_DURING_RESTORE)";
    failed(&mut f, why);
    begin(&mut f);
    f.call("A", |f| f.abort_federation_restore()).unwrap();
    failed(&mut f, "'A' has aborted it (RESTORE_ABORTED)");

    // It was accepted, and has not begun.
    f.call("A", |f| f.request_federation_restore("L")).unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, genuine.clone());
    f.lose("B");
    f.run();
    let line = "federation execution 'F': the restore 'L' has failed: 'B' was lost before it had begun \
                (RTI_UNABLE_TO_RESTORE)";
    assert_eq!(f.notes(), [line]);
    f.callbacks("A");
}
