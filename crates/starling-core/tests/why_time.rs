//! `starling why` for time: who waits for whom, at which time and since when.

use crate::common::Federation;
use crate::scheduled_saves::{passes_over, waits_for_a_message_that_it_wants_no_more};
use starling_core::message::ResignAction;
use starling_core::{Archived, LogicalTime, LogicalTimeInterval};

fn at(time: f64) -> LogicalTime {
    LogicalTime::float64(time).unwrap()
}

/// All regulate with a lookahead of 1 and are constrained.
pub(crate) fn timed(names: &[&str]) -> Federation {
    let mut f = Federation::new("");
    for name in names {
        f.join(name);
    }
    for name in names {
        let one = LogicalTimeInterval::float64(1.0).unwrap();
        f.call(name, |f| f.enable_time_regulation(one)).unwrap();
        f.call(name, |f| f.enable_time_constrained()).unwrap();
        f.callbacks(name);
    }
    f
}

#[test]
fn who_asks_for_nothing_stands_still_by_its_own_will() {
    let mut f = timed(&["A", "B"]);
    f.set_time(7);
    let (lines, turn) = f.why_time("A");
    assert_eq!(
        lines,
        [
            "ok joined: 'A' is joined to 'F'",
            "ok time: 'A' is at 0, time-constrained, time-regulating with lookahead 1, GALT 1",
            "FAIL asked: 'A' has asked for no advance since it came to 0, 7.0 s ago (turn 5)",
        ]
    );
    assert_eq!(turn.as_deref(), Some("A"));
    let (lines, turn) = f.why_time("nobody");
    assert!(lines[0].starts_with("FAIL joined: 'nobody'"), "{lines:?}");
    assert_eq!(turn, None);
}

#[test]
fn a_federate_waits_for_the_one_with_the_least_bound_and_others_are_named() {
    let mut f = timed(&["A", "B", "C"]);
    f.set_time(10);
    // B gets ahead, A waits; C has never asked.
    f.call("A", |f| f.time_advance_request(at(20.0))).unwrap();
    f.set_time(12);
    f.call("B", |f| f.time_advance_request(at(5.0))).unwrap();
    f.set_time(15);
    let (lines, turn) = f.why_time("A");
    assert_eq!(
        lines[2..],
        [
            "ok asked: for Time Advance Request to 20, 5.0 s ago (turn 6)",
            "FAIL granted: 'C' is at 0, time-constrained, time-regulating with lookahead 1, GALT 6, \
             from which messages with time stamps of at least 1 may still come, and has asked for no \
             advance, 15.0 s ago (turn 5); behind it, too: 'B'",
        ]
    );
    assert_eq!(turn.as_deref(), Some("C"));
    // C asks: it has the least bound no more, and is granted.
    f.call("C", |f| f.next_message_request(at(30.0))).unwrap();
    let (_, turn) = f.why_time("A");
    assert_eq!(turn.as_deref(), Some("B"), "granted 5, asks for no more");
    f.call("B", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    let (lines, turn) = f.why_time("A");
    assert!(lines[2].starts_with("FAIL asked"), "granted: {lines:?}");
    assert_eq!(turn.as_deref(), Some("A"));
    let (lines, turn) = f.why_time("C");
    assert!(lines[2].contains("Next Message Request to 30"), "{lines:?}");
    assert_eq!(turn.as_deref(), Some("A"));
}

#[test]
fn each_long_wait_is_named_once() {
    let mut f = timed(&["A", "B"]);
    f.set_time(100);
    f.call("A", |f| f.time_advance_request(at(20.0))).unwrap();
    f.set_time(129);
    assert_eq!(f.long_waits(30), []);
    f.set_time(130);
    let [(why, turn)] = &f.long_waits(30)[..] else {
        panic!("A waits");
    };
    assert!(
        why.starts_with("waits for Time Advance Request to 20, 30.0 s ago (turn 6): 'B' is at 0, "),
        "{why}"
    );
    assert_eq!(turn.as_deref(), Some("B"));
    f.set_time(500);
    assert_eq!(f.long_waits(30), [], "it was named; B does not wait");
    f.call("B", |f| f.time_advance_request(at(20.0))).unwrap();
    f.callbacks("A");
    f.call("A", |f| f.time_advance_request(at(21.5))).unwrap();
    f.set_time(530);
    assert_eq!(f.long_waits(30).len(), 1, "another wait");
}

#[test]
fn enabling_and_holding_are_told() {
    let mut f = timed(&["A", "B"]);
    f.join("C");
    // A and B get ahead of C, which has to wait until they have got further.
    for name in ["A", "B"] {
        f.call(name, |f| f.time_advance_request(at(1.5))).unwrap();
    }
    for name in ["A", "B"] {
        f.callbacks(name);
    }
    f.call("A", |f| f.time_advance_request(at(10.0))).unwrap();
    f.call("C", |f| f.time_advance_request(at(9.0))).unwrap();
    f.callbacks("C");
    f.call("C", |f| f.enable_time_constrained()).unwrap();
    let (lines, turn) = f.why_time("C");
    assert!(
        lines[2].starts_with("ok asked: for time constraint at 9, "),
        "{lines:?}"
    );
    assert_eq!(turn.as_deref(), Some("B"));
    // B may come to 2 and no further before the save.
    f.call("B", |f| f.request_federation_save("s", Some(at(2.0))))
        .unwrap();
    f.call("B", |f| f.time_advance_request(at(2.5))).unwrap();
    let (lines, turn) = f.why_time("B");
    assert_eq!(
        lines[3],
        "FAIL granted: it is held until the federation execution is saved as 's' at 2; \
         not done with it: 'A', 'B', 'C'"
    );
    assert_eq!(turn.as_deref(), Some("A"));
}

#[test]
fn in_a_save_or_a_restore_it_is_the_turn_of_who_is_not_done() {
    let mut f = timed(&["A", "B"]);
    f.join("C");
    f.call("B", |f| f.time_advance_request(at(9.0))).unwrap();
    f.call("A", |f| f.request_federation_save("s", None))
        .unwrap();
    f.run();
    for name in ["A", "B", "C"] {
        f.callbacks(name);
    }
    f.call("A", |f| f.federate_save_begun()).unwrap();
    f.call("A", |f| f.federate_save_complete()).unwrap();
    let saved =
        "it is held until the federation execution is saved as 's'; not done with it: 'B', 'C'";
    for (name, last) in [("B", "granted"), ("C", "delivered"), ("A", "delivered")] {
        let (lines, turn) = f.why_time(name);
        assert_eq!(lines.last(), Some(&format!("FAIL {last}: {saved}")));
        assert_eq!(turn.as_deref(), Some("B"), "of {name}");
    }
    for name in ["B", "C"] {
        f.call(name, |f| f.federate_save_begun()).unwrap();
        f.call(name, |f| f.federate_save_complete()).unwrap();
    }
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Written);
    f.callbacks("A");
    f.call("A", |f| f.request_federation_restore("s")).unwrap();
    f.run();
    let reading = f.archives().remove(0);
    f.archived(
        &reading,
        Archived::Read(task.write.expect("it was written")),
    );
    for name in ["A", "B", "C", "A"] {
        f.callbacks(name);
    }
    f.call("A", |f| f.federate_restore_complete()).unwrap();
    let (lines, turn) = f.why_time("C");
    let restored =
        "it is held until the federation execution is restored; not done with it: 'B', 'C'";
    assert_eq!(lines.last(), Some(&format!("FAIL delivered: {restored}")));
    assert_eq!(turn.as_deref(), Some("B"));
}

#[test]
fn a_save_at_a_time_names_who_has_not_come_to_it() {
    let mut f = timed(&["A", "B"]);
    // B regulates with a lookahead that lets A come to 5, itself it stays behind.
    let five = LogicalTimeInterval::float64(5.0).unwrap();
    f.call("B", |f| f.modify_lookahead(five)).unwrap();
    f.call("A", |f| f.request_federation_save("s", Some(at(3.0))))
        .unwrap();
    f.call("A", |f| f.time_advance_request(at(4.0))).unwrap();
    f.run();
    let (lines, _) = f.why_time("A");
    assert_eq!(
        lines[3],
        "FAIL granted: it is held until the federation execution is saved as 's' at 3; \
         not come to that: 'B'; not done with it: 'A'"
    );
    let (lines, turn) = f.why_time("B");
    let asked = "FAIL asked: 'B' has asked for no advance since it came to 0, ";
    assert!(lines[2].starts_with(asked), "{lines:?}");
    assert_eq!(turn.as_deref(), Some("B"));
}

/// Who has asked for more than the time of the save has done all that it can.
#[test]
fn a_save_at_a_time_names_whom_the_constrained_wait_for() {
    let mut f = timed(&["B"]);
    f.join("R");
    let one = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("R", |f| f.enable_time_regulation(one)).unwrap();
    f.callbacks("R");
    f.call("B", |f| f.request_federation_save("s", Some(at(5.0))))
        .unwrap();
    f.call("B", |f| f.time_advance_request(at(10.0))).unwrap();
    f.run();
    let (lines, turn) = f.why_time("B");
    let held = "FAIL granted: it is held until the federation execution is saved as 's' at 5; not come to that: 'R'";
    assert_eq!(lines.last().map(|l| &**l), Some(held));
    assert_eq!(turn.as_deref(), Some("R"));
}

#[test]
fn who_takes_no_part_in_time_management_is_not_blamed() {
    let mut f = timed(&["A"]);
    f.join("B");
    let (lines, turn) = f.why_time("B");
    assert_eq!(
        lines[1..],
        [
            "ok time: 'B' is at 0, not time-constrained, not time-regulating, GALT 1",
            "ok asked: nothing: it takes no part in time management",
        ]
    );
    assert_eq!(turn, None);
}

#[test]
fn messages_that_wait_are_the_reason_why_nothing_comes() {
    let mut f = timed(&["A", "B"]);
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.call("A", |f| {
        f.change_interaction_order_type(class, starling_core::Order::TimeStamp)
    })
    .unwrap();
    f.run();
    f.call("A", |f| {
        f.send_interaction_at(class, &[], b"", at(3.0)).map(|_| ())
    })
    .unwrap();
    let lines = f.why("B", "I");
    assert_eq!(
        lines[lines.len() - 2..],
        [
            "FAIL time: 1 message(s) in time-stamp order wait for its advance; 'B' is at 0, \
             time-constrained, time-regulating with lookahead 1, GALT 1",
            "FAIL asked: 'B' has asked for no advance since it came to 0, 0.0 s ago (turn 5)",
        ]
    );
    f.call("B", |f| f.time_advance_request(at(3.0))).unwrap();
    let lines = f.why("B", "I");
    assert!(
        lines
            .last()
            .unwrap()
            .starts_with("FAIL granted: 'A' is at 0"),
        "{lines:?}"
    );
}

#[test]
fn of_many_who_stand_still_some_are_named() {
    let names: Vec<String> = (0..30).map(|n| format!("F{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut f = timed(&names);
    f.call("F0", |f| f.time_advance_request(at(20.0))).unwrap();
    f.set_time(40);
    let waits = f.long_waits(30);
    assert!(
        matches!(&waits[..], [(why, _)] if why.ends_with("'F11' and 18 more")),
        "{waits:?}"
    );
}

/// Whom time management tells nothing in receive order is told so, whatever is sent.
#[test]
fn receive_order_that_is_withheld_is_a_link_that_fails() {
    let mut f = timed(&["A", "B"]);
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    f.call("A", |f| f.send_interaction(class, &[], b""))
        .unwrap();
    f.set_time(2);
    let lines = f.why("B", "I");
    assert_eq!(
        lines[5],
        "FAIL time: 'B' is at 0, time-constrained, time-regulating with lookahead 1, GALT 1: while it \
         asks for no advance (2.0 s ago (turn 5)) it gets nothing in receive order, as asynchronous \
         delivery is not enabled (1516.1-2010, 8.1)"
    );
    f.call("B", |f| f.enable_asynchronous_delivery()).unwrap();
    assert_eq!(f.why("B", "I").len(), 5);
    f.call("B", |f| f.disable_asynchronous_delivery()).unwrap();
    f.call("B", |f| f.time_advance_request(at(9.0))).unwrap();
    assert_eq!(
        f.why("B", "I").len(),
        5,
        "it waits for A, and gets what comes"
    );
}

/// §8.10: what a federate has waited for, and how often, is what it knows of itself.
#[test]
fn who_passes_over_a_grant_has_waited_all_the_while() {
    let mut f = waits_for_a_message_that_it_wants_no_more();
    let asked = |f: &mut Federation| {
        let (lines, _) = f.why_time("b");
        let line = lines.into_iter().find(|l| l.starts_with("ok asked: "));
        line.expect("it has asked")
    };
    let before = asked(&mut f);
    assert!(before.contains("0.0 s ago (turn "), "{before}");
    f.set_time(10);
    passes_over(&mut f);
    f.set_time(25);
    let after = before.replace(" up to 70, next 60, 0.0 s", " to 70, 25.0 s");
    assert_eq!(asked(&mut f), after);
    let all = f.status().federates;
    let b = all.iter().find(|of| of.federate.name == "b");
    assert_eq!(b.expect("it has joined").time.in_state_ms, 25_000);
}

/// Whoever waits at a synchronization point can't go on: it is the turn of who has not come there.
#[test]
fn a_point_that_is_not_achieved_is_named_with_whom_it_waits_for() {
    let mut f = timed(&["A", "B", "C"]);
    f.call("A", |f| {
        f.register_federation_synchronization_point("Go", b"", &[])
    })
    .unwrap();
    for name in ["A", "B", "C"] {
        f.callbacks(name);
    }
    f.call("B", |f| f.time_advance_request(at(5.0))).unwrap();
    f.call("C", |f| f.time_advance_request(at(5.0))).unwrap();
    let (lines, _) = f.why_time("B");
    assert!(!lines.concat().contains("'Go'"), "{lines:?}");
    assert_eq!(f.at_point("B"), None);

    f.call("A", |f| f.synchronization_point_achieved("Go", true))
        .unwrap();
    f.set_time(30);
    let point = "'A' has achieved 'Go', which waits for 'B', 'C'";
    for name in ["A", "B"] {
        let (lines, turn) = f.why_time(name);
        assert_eq!(lines.last(), Some(&format!("FAIL point: {point}")));
        assert_eq!(turn.as_deref(), Some("A"));
        assert_eq!(f.at_point(name).as_deref(), Some("B"));
    }
    let waits = f.long_waits(30);
    let of_time = waits.iter().filter(|(why, _)| why.starts_with("waits for"));
    let of_time: Vec<_> = of_time.map(|(why, _)| why.ends_with(point)).collect();
    assert_eq!(of_time, [true, true], "{waits:?}");

    for name in ["B", "C"] {
        f.call(name, |f| f.synchronization_point_achieved("Go", true))
            .unwrap();
    }
    assert_eq!(f.at_point("B"), None);
}
