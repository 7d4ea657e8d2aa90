//! What a federation execution as a whole has not ended, and whom it waits for: for `starling ps` and the log.

use crate::common::Federation;
use crate::save::{complete, saving, two};
use crate::why_time::timed;
use starling_core::message::UnderWay;
use starling_core::{Archived, LogicalTime};

/// What of it a line would say.
fn lines(f: &mut Federation) -> Vec<String> {
    let status = f.status();
    let name = |h: &_| {
        let mut all = status.federates.iter().map(|f| &f.federate);
        all.find(|f| f.handle == *h).unwrap().name.clone()
    };
    let line = |u: &UnderWay| {
        let waits_for: Vec<_> = u.waits_for.iter().map(name).collect();
        let (what, label, since) = (&u.what, &u.label, u.since_ms / 1000);
        format!(
            "{what} {label}, {since} s: {}: {}",
            u.stage,
            waits_for.join(" ")
        )
    };
    status.under_way.iter().map(line).collect()
}

/// Both hear that a restore has begun, then that they are to restore.
fn initiated(f: &mut Federation) {
    for name in ["A", "B", "A", "B"] {
        f.callbacks(name);
    }
}

#[test]
fn a_save_and_a_restore_are_shown_from_beginning_to_end() {
    let mut f = two();
    assert_eq!(lines(&mut f), [""; 0]);
    f.set_time(10);
    saving(&mut f, "L");
    f.set_time(12);
    assert_eq!(lines(&mut f), ["save L, 2 s: federates save: A B"]);
    f.call("A", |f| f.federate_save_complete()).unwrap();
    f.run();
    assert_eq!(lines(&mut f), ["save L, 2 s: federates save: B"]);
    f.set_time(40);
    let [(why, turn)] = &f.long_waits(30)[..] else {
        panic!("it is named");
    };
    assert_eq!(
        why,
        "save 'L' is not done after 30.0 s: federates save; it waits for 'B'"
    );
    assert_eq!(turn.as_deref(), Some("B"));
    assert_eq!(f.long_waits(30), [], "once");
    f.call("B", |f| f.federate_save_complete()).unwrap();
    f.run();
    let task = f.archives().remove(0);
    assert_eq!(lines(&mut f), ["save L, 30 s: it is being written: "]);
    f.archived(&task, Archived::Written);
    assert_eq!(lines(&mut f), [""; 0]);
    f.callbacks("A");
    f.callbacks("B");

    f.call("A", |f| f.request_federation_restore("L")).unwrap();
    f.set_time(41);
    assert_eq!(lines(&mut f), ["restore L, 1 s: the save is being read: "]);
    let read = f.archives().remove(0);
    f.archived(&read, Archived::Read(task.write.unwrap()));
    initiated(&mut f);
    assert_eq!(
        lines(&mut f),
        ["restore L, 1 s: federates are restored: A B"]
    );
    f.call("B", |f| f.federate_restore_complete()).unwrap();
    f.run();
    assert_eq!(lines(&mut f), ["restore L, 1 s: federates are restored: A"]);
    f.call("A", |f| f.federate_restore_complete()).unwrap();
    f.run();
    assert_eq!(lines(&mut f), [""; 0]);
}

/// For whom each waits, in the order of handles.
fn waits(f: &mut Federation) -> Vec<Option<u32>> {
    let federates = f.status().federates.into_iter();
    federates.map(|of| of.time.waits_for.map(|f| f.0)).collect()
}

#[test]
fn who_is_held_by_a_save_waits_for_who_is_not_done_with_it() {
    let mut f = timed(&["A", "B", "C"]);
    assert_eq!(waits(&mut f), [None; 3]);
    f.call("A", |f| f.request_federation_save("L", None))
        .unwrap();
    f.run();
    assert_eq!(waits(&mut f), [None; 3], "it is the turn of each");
    for name in ["A", "C"] {
        f.callbacks(name);
        f.call(name, |f| f.federate_save_begun()).unwrap();
        f.call(name, |f| f.federate_save_complete()).unwrap();
    }
    f.run();
    assert_eq!(waits(&mut f), [Some(2), None, Some(2)]);
}

#[test]
fn who_is_held_by_a_scheduled_save_waits_for_who_has_not_come_to_it() {
    let mut f = timed(&["A", "B"]);
    let at = |time| LogicalTime::float64(time).unwrap();
    f.call("A", |f| f.request_federation_save("L", Some(at(0.5))))
        .unwrap();
    f.call("A", |f| f.time_advance_request(at(0.75))).unwrap();
    f.run();
    assert_eq!(waits(&mut f), [None; 2], "it is its turn");
    f.callbacks("A");
    f.call("A", |f| f.federate_save_begun()).unwrap();
    f.call("A", |f| f.federate_save_complete()).unwrap();
    f.run();
    // GALT would let it go on.
    assert_eq!(waits(&mut f), [Some(2), None]);
}

#[test]
fn a_scheduled_save_waits_for_who_has_not_come_to_its_time() {
    let mut f = timed(&["A", "B"]);
    let at = LogicalTime::float64(20.0).unwrap();
    f.call("A", |f| f.request_federation_save("Later", Some(at)))
        .unwrap();
    f.set_time(1);
    assert_eq!(lines(&mut f), ["save Later, 1 s: scheduled at 20: A B"]);
    f.call("A", |f| {
        f.time_advance_request(LogicalTime::float64(30.0).unwrap())
    })
    .unwrap();
    f.run();
    assert_eq!(lines(&mut f), ["save Later, 1 s: scheduled at 20: B"]);
}

/// The same label may be used again: it is another point, of another age.
#[test]
fn points_are_shown_until_they_are_synchronized() {
    let mut f = two();
    let register = |f: &mut Federation, label: &str| {
        f.call("A", |f| {
            f.register_federation_synchronization_point(label, b"", &[])
        })
        .unwrap();
        f.callbacks("A");
        f.callbacks("B");
    };
    let achieve = |f: &mut Federation, by: &str| {
        f.call(by, |f| f.synchronization_point_achieved("Go", true))
            .unwrap();
        f.run();
    };
    for round in [100, 200] {
        f.set_time(round);
        register(&mut f, "Go");
        achieve(&mut f, "A");
        f.set_time(round + 5);
        let shown = "synchronization point Go, 5 s: achieved by 1 of 2: B";
        assert_eq!(lines(&mut f), [shown]);
        assert_eq!(f.long_waits(6), [], "not for as long as that");
        let [(why, _)] = &f.long_waits(5)[..] else {
            panic!("it is named, in each round");
        };
        assert!(
            why.ends_with("achieved by 1 of 2; it waits for 'B'"),
            "{why}"
        );
        achieve(&mut f, "B");
        assert_eq!(lines(&mut f), [""; 0]);
    }
    for n in 0..150 {
        register(&mut f, &format!("P{n}"));
    }
    assert_eq!(f.status().under_way.len(), 100, "the answer is bounded");
}

/// Points come back with the save in which they were, and count from then.
#[test]
fn points_of_a_restored_save_are_as_old_as_the_restore() {
    let mut f = two();
    f.call("A", |f| {
        f.register_federation_synchronization_point("Kept", b"", &[])
    })
    .unwrap();
    f.callbacks("A");
    f.callbacks("B");
    saving(&mut f, "L");
    complete(&mut f);
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Written);
    for name in ["A", "B"] {
        f.callbacks(name);
        f.call(name, |f| f.synchronization_point_achieved("Kept", true))
            .unwrap();
    }
    f.set_time(50);
    assert_eq!(lines(&mut f), [""; 0]);
    f.call("A", |f| f.request_federation_restore("L")).unwrap();
    f.run();
    let read = f.archives().remove(0);
    f.archived(&read, Archived::Read(task.write.unwrap()));
    initiated(&mut f);
    for name in ["A", "B"] {
        f.call(name, |f| f.federate_restore_complete()).unwrap();
    }
    f.run();
    f.set_time(53);
    let shown = "synchronization point Kept, 3 s: achieved by 0 of 2: A B";
    assert_eq!(lines(&mut f), [shown]);
}

/// The one that asked goes first: nobody else hears of the restore before that one has heard that there is such a save.
#[test]
fn a_restore_waits_for_whoever_has_not_heard_of_it() {
    let mut f = two();
    let saved = crate::save::saved(&mut f, "L");
    f.call("B", |f| f.request_federation_restore("L")).unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    f.run();
    assert_eq!(lines(&mut f), ["restore L, 0 s: it is about to begin: B"]);
    let (why, _) = f.why_time("A");
    assert!(!why.concat().contains("restored"), "not held yet: {why:?}");
    f.callbacks("B");
    assert_eq!(
        lines(&mut f),
        ["restore L, 0 s: federates hear that it has begun: A"]
    );
    let (why, turn) = f.why_time("B");
    assert!(why.concat().ends_with("not done with it: 'A'"), "{why:?}");
    assert_eq!(turn.as_deref(), Some("A"));
    f.callbacks("A");
    assert_eq!(
        lines(&mut f),
        ["restore L, 0 s: federates are restored: A B"]
    );
}
