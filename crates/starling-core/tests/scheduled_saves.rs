//! Saves at a time, and who is through it stays through: whoever asks for more is instructed, by
//! whatever service, and is granted nothing before the save has ended (1516.1-2010 §4.16, §4.17).

use crate::common::Federation;
use starling_core::message::ResignAction;
use starling_core::{
    Archived, Callback, ExceptionKind, LogicalTime, LogicalTimeInterval, ObjectInstanceHandle,
    Order,
};

const SAVE: &str = "initiateFederateSave";

fn at(time: u8) -> LogicalTime {
    LogicalTime::float64(time.into()).expect("it is finite")
}

fn told(f: &mut Federation, name: &str) -> Vec<&'static str> {
    f.callbacks(name).iter().map(Callback::name).collect()
}

fn regulate(f: &mut Federation, name: &str, lookahead: u8) {
    let lookahead = LogicalTimeInterval::float64(lookahead.into()).expect("it is a number");
    f.call(name, |l| l.enable_time_regulation(lookahead))
        .expect("it does not regulate yet");
}

fn constrain(f: &mut Federation, name: &str) {
    f.call(name, |l| l.enable_time_constrained())
        .expect("it is not constrained yet");
}

fn advance(f: &mut Federation, name: &str, to: u8) {
    f.call(name, |l| l.time_advance_request(at(to)))
        .expect("it may advance");
}

fn flush(f: &mut Federation, name: &str, to: u8) {
    f.call(name, |l| l.flush_queue_request(at(to)))
        .expect("it may advance");
}

fn save(f: &mut Federation, name: &str, time: u8) {
    f.call(name, |l| l.request_federation_save("S", Some(at(time))))
        .expect("it takes part in time");
    f.run();
}

/// All complete their saves, and it is written.
fn complete(f: &mut Federation, names: &[&str]) {
    saved(f, names);
}

/// The same; what was written.
fn saved(f: &mut Federation, names: &[&str]) -> Archived {
    for name in names {
        f.call(name, |l| l.federate_save_begun())
            .unwrap_or_else(|e| panic!("{name} was instructed: {e}"));
        f.call(name, |l| l.federate_save_complete())
            .unwrap_or_else(|e| panic!("{name} has begun: {e}"));
    }
    f.run();
    written(f)
}

fn written(f: &mut Federation) -> Archived {
    let mut tasks = f.archives();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    let task = tasks.remove(0);
    f.archived(&task, Archived::Written);
    Archived::Read(task.write.expect("it was to be written"))
}

fn federation(names: &[&str]) -> Federation {
    let mut f = Federation::new("");
    for name in names {
        f.join(name);
    }
    f
}

/// All regulate and are constrained, and have heard so.
fn timed(names: &[&str], lookahead: u8) -> Federation {
    let mut f = federation(names);
    for name in names {
        regulate(&mut f, name, lookahead);
        told(&mut f, name);
    }
    for name in names {
        constrain(&mut f, name);
        told(&mut f, name);
    }
    f
}

#[test]
fn nobody_waits_for_one_who_flushes_its_queue_beyond_the_save() {
    for constrained in [false, true] {
        let mut f = federation(&["a", "b"]);
        regulate(&mut f, "a", 1);
        constrain(&mut f, "b");
        if constrained {
            constrain(&mut f, "a");
        }
        let _ = (told(&mut f, "a"), told(&mut f, "b"));
        save(&mut f, "a", 5);
        flush(&mut f, "a", 10);
        advance(&mut f, "b", 10);
        assert_eq!(told(&mut f, "a"), [SAVE]);
        assert_eq!(told(&mut f, "b"), [SAVE]);
    }
}

/// It is held by the save while it waits for its next message, of which none comes to it.
#[test]
fn nobody_waits_for_what_one_that_is_not_constrained_might_do_with_a_message() {
    let mut f = federation(&["a", "b"]);
    regulate(&mut f, "a", 5);
    constrain(&mut f, "a");
    regulate(&mut f, "b", 1);
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    save(&mut f, "a", 50);
    f.call("b", |l| l.next_message_request(at(100)))
        .expect("it may advance");
    assert_eq!(told(&mut f, "b"), [""; 0]);
    advance(&mut f, "a", 40);
    assert_eq!(told(&mut f, "a"), ["timeAdvanceGrant"]);
}

/// "ahead" is at 10, "s" and "late" are time-constrained, and all have heard so.
fn one_ahead() -> Federation {
    let names = ["ahead", "s", "late"];
    let mut f = federation(&names);
    advance(&mut f, "ahead", 10);
    constrain(&mut f, "s");
    constrain(&mut f, "late");
    for name in names {
        told(&mut f, name);
    }
    f
}

#[test]
fn one_whose_regulation_begins_beyond_the_save_is_instructed() {
    let mut f = one_ahead();
    save(&mut f, "s", 2);
    constrain(&mut f, "ahead");
    assert_eq!(told(&mut f, "ahead"), ["timeConstrainedEnabled", SAVE]);
    regulate(&mut f, "late", 1);
    advance(&mut f, "s", 3);
    for name in ["s", "late"] {
        assert_eq!(told(&mut f, name), [SAVE], "{name}");
    }
    f.call("late", |l| l.abort_federation_save())
        .expect("it was instructed");
    f.run();
    let late = told(&mut f, "late");
    assert_eq!(late, ["federationNotSaved", "timeRegulationEnabled"]);
}

/// Neither by HLAlookahead (11.2) nor in `starling ps`.
#[test]
fn one_whose_regulation_is_held_has_no_lookahead_yet() {
    let mut f = one_ahead();
    f.join("manager");
    let class = f.class("HLAmanager.HLAfederate");
    let what = ["HLAtimeRegulating", "HLAlookahead"].map(|name| {
        let handle = f.federate("manager").attribute_handle(class, name);
        handle.expect("the MIM has it")
    });
    f.call("manager", |l| {
        l.subscribe_object_class_attributes(class, &what, true, "")
    })
    .expect("they are in the FDD");
    f.callbacks("manager");
    let late = ObjectInstanceHandle(1 + u64::from(f.member("late").handle().0));
    // Whether it regulates, and bytes of its lookahead.
    let asked = |f: &mut Federation| {
        f.call("manager", |l| {
            l.request_instance_attribute_value_update(late, &what, b"")
        })
        .expect("it is known");
        let told = f.callbacks("manager");
        let Some(Callback::ReflectAttributeValues { values, .. }) = told.last() else {
            panic!("{told:?}");
        };
        let value = |attribute| {
            let mut all = values.iter().filter(|(a, _)| *a == attribute);
            all.next().map(|(_, value): (_, &[u8])| value.to_vec())
        };
        let [regulates, lookahead] =
            what.map(|attribute| value(attribute).expect("it was asked for"));
        let of = f.status().federates.into_iter();
        let of = of.map(|of| (of.federate.name, of.time.lookahead));
        let shown = of.collect::<std::collections::BTreeMap<_, _>>()["late"];
        (regulates[3] == 1, lookahead[3], shown)
    };
    save(&mut f, "s", 2);
    constrain(&mut f, "ahead");
    assert_eq!(told(&mut f, "ahead"), ["timeConstrainedEnabled", SAVE]);
    regulate(&mut f, "late", 1);
    assert_eq!(asked(&mut f), (false, 0, None));
    f.call("ahead", |l| l.abort_federation_save())
        .expect("it was instructed");
    let late = told(&mut f, "late");
    assert_eq!(late.last(), Some(&"timeRegulationEnabled"), "{late:?}");
    let one = LogicalTimeInterval::float64(1.0).expect("it is a number");
    assert_eq!(asked(&mut f), (true, 8, Some(one)));
}

/// §8.10: b, at 0, waits for its next message up to 70; the only one, at 60, it wants no more. a is at 0.
pub(crate) fn waits_for_a_message_that_it_wants_no_more() -> Federation {
    let mut f = federation(&["a", "b"]);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    f.run();
    assert_eq!(told(&mut f, "a"), ["timeRegulationEnabled"]);
    assert_eq!(told(&mut f, "b"), ["timeConstrainedEnabled"]);
    let class = f.interaction("I");
    f.call("b", |l| l.subscribe_interaction_class(class, true))
        .expect("it is in the FDD");
    f.call("a", |l| l.publish_interaction_class(class))
        .expect("it is in the FDD");
    f.run();
    f.call("a", |l| {
        l.change_interaction_order_type(class, Order::TimeStamp)
    })
    .expect("it publishes it");
    f.call("a", |l| l.send_interaction_at(class, &[], b"", at(60)))
        .expect("it regulates");
    f.run();
    f.call("b", |l| l.unsubscribe_interaction_class(class))
        .expect("it is subscribed");
    f.call("b", |l| l.next_message_request_available(at(70)))
        .expect("it may advance");
    f
}

/// b wants none of the messages any more for which it was granted 60, and asks on for 70. a is at 65.
fn passed_over() -> Federation {
    let mut f = waits_for_a_message_that_it_wants_no_more();
    passes_over(&mut f);
    f
}

/// a comes to 65.
pub(crate) fn passes_over(f: &mut Federation) {
    advance(f, "a", 65);
    f.run();
    assert!(told(f, "b").is_empty(), "it asks on");
    assert_eq!(told(f, "a"), ["timeAdvanceGrant"]);
}

/// By its own time, and by that only, it is before the grant that nobody has heard of.
#[test]
fn one_that_has_passed_over_a_grant_is_where_it_was() {
    let mut f = passed_over();
    let all = f.status().federates;
    let b = all.iter().find(|of| of.federate.name == "b");
    let time = b.expect("it has joined").time;
    assert_eq!(time.time, at(0));
    assert_eq!(time.advancing_to, Some(at(70)));
    f.call("b", |l| l.request_federation_save("S", Some(at(50))))
        .expect("it has not come there");
    f.run();
    for name in ["b", "a"] {
        assert_eq!(told(&mut f, name), [SAVE], "{name}");
    }
    complete(&mut f, &["a", "b"]);
    for name in ["a", "b"] {
        assert_eq!(told(&mut f, name), ["federationSaved"], "{name}");
    }
    advance(&mut f, "a", 100);
    f.run();
    assert_eq!(told(&mut f, "b"), ["timeAdvanceGrant"]);
    let all = f.status().federates;
    let b = all.iter().find(|of| of.federate.name == "b");
    assert_eq!(b.expect("it has joined").time.time, at(70));
}

#[test]
fn one_that_has_passed_over_a_grant_is_saved_where_it_is() {
    let mut f = passed_over();
    f.call("a", |l| l.request_federation_save("S", None))
        .expect("nothing is being saved");
    f.run();
    assert_eq!(told(&mut f, "a"), [SAVE]);
    assert_eq!(told(&mut f, "b"), [SAVE]);
    complete(&mut f, &["a", "b"]);
    assert_eq!(told(&mut f, "a"), ["federationSaved"]);
    assert_eq!(told(&mut f, "b"), ["federationSaved"]);
    advance(&mut f, "a", 100);
    f.run();
    assert_eq!(told(&mut f, "b"), ["timeAdvanceGrant"]);
}

/// Who was instructed has what has come up to the save: whoever begins to regulate then, and sends as
/// early as it can, changes nothing of that.
#[test]
fn who_was_instructed_is_not_granted_in_the_midst_of_its_save() {
    for lookahead in [0, 1] {
        for flushes in [false, true] {
            let names = ["c", "k", "u"];
            let mut f = federation(&names);
            constrain(&mut f, "c");
            constrain(&mut f, "k");
            if !flushes {
                regulate(&mut f, "c", 0);
            }
            let class = f.interaction("I");
            f.call("u", |l| l.publish_interaction_class(class))
                .expect("it is in the FOM");
            f.call("c", |l| l.subscribe_interaction_class(class, true))
                .expect("it is in the FOM");
            f.call("u", |l| {
                l.change_interaction_order_type(class, Order::TimeStamp)
            })
            .expect("it is published");
            for name in names {
                told(&mut f, name);
            }
            save(&mut f, "c", 5);
            if flushes {
                flush(&mut f, "c", 10)
            } else {
                f.call("c", |l| l.next_message_request(at(10)))
                    .expect("it may advance")
            }
            assert_eq!(told(&mut f, "c"), [SAVE]);
            regulate(&mut f, "u", lookahead);
            told(&mut f, "u");
            let early = f.call("u", |l| l.send_interaction_at(class, &[], b"", at(5)));
            let early = early.expect_err("all up to the save has come");
            assert_eq!(early.kind, ExceptionKind::InvalidLogicalTime);
            f.call("u", |l| l.send_interaction_at(class, &[], b"", at(6)))
                .expect("it regulates");
            advance(&mut f, "k", 10);
            advance(&mut f, "u", 10);
            assert_eq!(told(&mut f, "c"), [""; 0]);
            assert_eq!(told(&mut f, "k"), [SAVE]);
            assert_eq!(told(&mut f, "u"), [SAVE]);
            complete(&mut f, &names);
            assert_eq!(told(&mut f, "u"), ["federationSaved", "timeAdvanceGrant"]);
            let c = told(&mut f, "c");
            assert_eq!(
                c,
                ["federationSaved", "receiveInteraction", "timeAdvanceGrant"]
            );
        }
    }
}

/// Messages that came up to a save have come, though its federate has not: nothing earlier comes
/// behind them when the save has failed, and another at the same time finds it there.
#[test]
fn what_was_handed_over_for_a_save_that_fails_stays_in_order() {
    let names = ["c", "u"];
    let mut f = federation(&names);
    constrain(&mut f, "c");
    regulate(&mut f, "u", 1);
    for name in names {
        told(&mut f, name);
    }
    save(&mut f, "c", 5);
    advance(&mut f, "c", 10);
    advance(&mut f, "u", 5);
    assert_eq!(told(&mut f, "u"), ["timeAdvanceGrant", SAVE]);
    assert_eq!(told(&mut f, "c"), [SAVE]);
    f.call("c", |l| l.abort_federation_save())
        .expect("it was instructed");
    assert_eq!(told(&mut f, "c"), ["federationNotSaved"]);
    told(&mut f, "u");
    f.join("late");
    regulate(&mut f, "late", 0);
    let late = f.callbacks("late");
    let Some(Callback::TimeRegulationEnabled { time }) = late.last() else {
        panic!("{late:?}");
    };
    assert_eq!(*time, at(5));
    f.call("u", |l| l.disable_time_regulation())
        .expect("it regulates");
    f.call("late", |l| l.request_federation_save("again", Some(at(5))))
        .expect("it takes part in time");
    assert_eq!(told(&mut f, "c"), [SAVE]);
}

/// All hear of a failure without a label: what was scheduled before can't come behind that.
#[test]
fn a_later_request_that_fails_leaves_nothing_scheduled() {
    let mut f = federation(&["a", "b", "c"]);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    for name in ["a", "b"] {
        advance(&mut f, name, 6);
    }
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    constrain(&mut f, "c");
    let _ = told(&mut f, "c");
    save(&mut f, "a", 8);
    f.call("c", |l| l.request_federation_save("T", Some(at(1))))
        .expect("it is at 0");
    f.run();
    let notes = f.notes().concat();
    assert!(
        notes.contains("'T' takes the place of 'S', which was to come at 8"),
        "{notes}"
    );
    let why = "the save 'T' has failed: 'b', which is time-constrained, is beyond 1 already; asked for by 'c' \
               (SAVE_TIME_CANNOT_BE_HONORED)";
    assert!(notes.contains(why), "{notes}");
    assert_eq!(f.federate("c").take_note().as_deref(), Some(why));
    assert_eq!(f.federate("a").take_note(), None);
    for name in ["a", "b", "c"] {
        assert_eq!(told(&mut f, name), ["federationNotSaved"], "{name}");
        advance(&mut f, name, 20);
    }
    for name in ["a", "b", "c"] {
        assert_eq!(told(&mut f, name), ["timeAdvanceGrant"], "{name}");
    }
}

#[test]
fn a_later_request_without_a_label_leaves_nothing_scheduled() {
    let mut f = federation(&["a", "b"]);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    save(&mut f, "a", 8);
    f.call("a", |l| l.request_federation_save("", Some(at(9))))
        .expect("a label is no matter of the library");
    for name in ["a", "b"] {
        assert_eq!(told(&mut f, name), ["federationNotSaved"], "{name}");
        advance(&mut f, name, 20);
    }
    for name in ["a", "b"] {
        assert_eq!(told(&mut f, name), ["timeAdvanceGrant"], "{name}");
    }
}

#[test]
fn one_that_is_constrained_behind_the_time_of_the_save_is_not_waited_for() {
    let names = ["a", "b", "beyond"];
    let mut f = federation(&names);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    advance(&mut f, "beyond", 50);
    for name in names {
        told(&mut f, name);
    }
    save(&mut f, "a", 5);
    constrain(&mut f, "beyond");
    advance(&mut f, "a", 100);
    advance(&mut f, "b", 9);
    for name in ["a", "b"] {
        assert_eq!(told(&mut f, name), [SAVE], "{name}");
    }
    assert!(told(&mut f, "beyond").contains(&SAVE));
    complete(&mut f, &names);
}

/// b is behind the save, so that it was not instructed: without it the save is complete.
#[test]
fn a_save_that_a_leaver_leaves_complete_can_be_restored() {
    for lost in [false, true] {
        let mut f = federation(&["a", "b"]);
        constrain(&mut f, "a");
        constrain(&mut f, "b");
        let _ = (told(&mut f, "a"), told(&mut f, "b"));
        save(&mut f, "a", 5);
        advance(&mut f, "a", 10);
        assert_eq!(told(&mut f, "a"), [SAVE]);
        f.call("a", |l| l.federate_save_begun())
            .expect("it was instructed");
        f.call("a", |l| l.federate_save_complete())
            .expect("it has begun");
        f.run();
        assert!(f.archives().is_empty(), "b is not through it");
        if lost {
            f.lose("b");
        } else {
            f.resign("b", ResignAction::NoAction);
        }
        f.run();
        let saved = written(&mut f);
        assert_eq!(told(&mut f, "a"), ["federationSaved", "timeAdvanceGrant"]);
        f.call("a", |l| l.request_federation_restore("S"))
            .expect("nothing goes on");
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, saved);
        let heard = told(&mut f, "a");
        assert_eq!(
            heard[0],
            "requestFederationRestoreSucceeded",
            "{:?}",
            f.notes()
        );
    }
}

/// The grant comes before the instruction: nothing else than it is promised.
#[test]
fn a_flush_that_was_granted_before_the_save_promises_no_more() {
    let mut f = federation(&["a"]);
    regulate(&mut f, "a", 0);
    let class = f.interaction("I");
    f.call("a", |l| l.publish_interaction_class(class))
        .expect("it is in the FOM");
    f.call("a", |l| {
        l.change_interaction_order_type(class, Order::TimeStamp)
    })
    .expect("it is published");
    told(&mut f, "a");
    save(&mut f, "a", 5);
    flush(&mut f, "a", 5);
    assert_eq!(told(&mut f, "a"), ["timeAdvanceGrant", SAVE]);
    complete(&mut f, &["a"]);
    assert_eq!(told(&mut f, "a"), ["federationSaved"]);
    f.call("a", |l| l.send_interaction_at(class, &[], b"", at(5)))
        .expect("its time and its lookahead admit it");
}

/// §8.12, §4.16: b flushes its queue, of which it wants one at 6, and one at 2 no more; a save is at 4. What it was
/// handed waits for it after a restore, too.
#[test]
fn one_that_has_passed_over_a_flush_is_saved_where_it_is() {
    let mut f = federation(&["a", "b"]);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    let (i, j) = (f.interaction("I"), f.interaction("I.J"));
    for class in [i, j] {
        f.call("a", |l| l.publish_interaction_class(class))
            .expect("it is in the FOM");
        f.call("a", |l| {
            l.change_interaction_order_type(class, Order::TimeStamp)
        })
        .expect("it is published");
        f.call("b", |l| l.subscribe_interaction_class(class, true))
            .expect("it is in the FOM");
        f.run();
    }
    for (class, time) in [(i, 2), (j, 6)] {
        f.call("a", |l| l.send_interaction_at(class, &[], b"", at(time)))
            .expect("it regulates");
    }
    f.run();
    f.call("b", |l| l.unsubscribe_interaction_class(i))
        .expect("it is subscribed");
    save(&mut f, "a", 4);
    advance(&mut f, "a", 20);
    flush(&mut f, "b", 10);
    assert_eq!(told(&mut f, "b"), [SAVE], "it is through 4, and held at 6");
    assert_eq!(told(&mut f, "a"), [SAVE]);
    let saved = saved(&mut f, &["a", "b"]);
    let end = |f: &mut Federation, first: &'static str| {
        let expected = [first, "receiveInteraction", "timeAdvanceGrant"];
        assert_eq!(told(f, "b"), expected, "{:?}", f.notes());
        assert_eq!(told(f, "a"), [first, "timeAdvanceGrant"]);
        let now = f.call("b", |l| l.query_logical_time());
        assert_eq!(now, Ok(at(6)));
    };
    end(&mut f, "federationSaved");
    f.call("a", |l| l.request_federation_restore("S"))
        .expect("nothing goes on");
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    for name in ["a", "b", "a"] {
        told(&mut f, name);
    }
    for name in ["a", "b"] {
        f.call(name, |l| l.federate_restore_complete())
            .expect("it is being restored");
    }
    f.run();
    end(&mut f, "federationRestored");
}

/// a, which regulates, publishes the interaction class I, to which b subscribes, constrained. Both wait at 0, b for 10.
fn sends_while_another_does_not_listen() -> (Federation, impl Fn(&mut Federation, u8)) {
    let mut f = federation(&["a", "b"]);
    regulate(&mut f, "a", 1);
    constrain(&mut f, "b");
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    let class = f.interaction("I");
    f.call("b", |l| l.subscribe_interaction_class(class, true))
        .expect("it is in the FOM");
    f.call("a", |l| l.publish_interaction_class(class))
        .expect("it is in the FOM");
    f.run();
    f.call("a", |l| {
        l.change_interaction_order_type(class, Order::TimeStamp)
    })
    .expect("it is published");
    advance(&mut f, "b", 10);
    let send = move |f: &mut Federation, time| {
        f.call("a", |l| l.send_interaction_at(class, &[], b"", at(time)))
            .expect("it regulates");
    };
    (f, send)
}

/// §4.17: what is up to the time of a save comes before its instruction, also to who has not heard yet that the one
/// before has ended.
#[test]
fn a_save_does_not_overtake_what_comes_before_it() {
    for aborted in [false, true] {
        let (mut f, send) = sends_while_another_does_not_listen();
        f.call("a", |l| l.request_federation_save("One", None))
            .expect("nothing is being saved");
        assert_eq!(told(&mut f, "a"), [SAVE]);
        let before = if aborted {
            f.call("a", |l| l.abort_federation_save())
                .expect("it was instructed");
            assert_eq!(told(&mut f, "a"), ["federationNotSaved"]);
            [SAVE, "federationNotSaved"].as_slice()
        } else {
            assert_eq!(told(&mut f, "b"), [SAVE]);
            complete(&mut f, &["a", "b"]);
            assert_eq!(told(&mut f, "a"), ["federationSaved"]);
            ["federationSaved"].as_slice()
        };
        send(&mut f, 4);
        save(&mut f, "a", 5);
        advance(&mut f, "a", 20);
        assert_eq!(told(&mut f, "a"), [SAVE]);
        let expected = [before, &["receiveInteraction", SAVE]].concat();
        assert_eq!(told(&mut f, "b"), expected, "aborted: {aborted}");
        complete(&mut f, &["a", "b"]);
        assert_eq!(told(&mut f, "a"), ["federationSaved", "timeAdvanceGrant"]);
        assert_eq!(told(&mut f, "b"), ["federationSaved", "timeAdvanceGrant"]);
    }
}

/// The same of a grant: what is asked for behind it is not asked for before the save.
#[test]
fn a_save_does_not_overtake_a_grant() {
    let (mut f, send) = sends_while_another_does_not_listen();
    f.call("a", |l| l.request_federation_save("One", None))
        .expect("nothing is being saved");
    let _ = (told(&mut f, "a"), told(&mut f, "b"));
    complete(&mut f, &["a", "b"]);
    assert_eq!(told(&mut f, "a"), ["federationSaved"]);
    advance(&mut f, "a", 20);
    assert_eq!(told(&mut f, "a"), ["timeAdvanceGrant"]);
    send(&mut f, 30);
    f.call("a", |l| l.request_federation_save("Two", None))
        .expect("nothing is being saved");
    assert_eq!(told(&mut f, "a"), [SAVE]);
    let expected = ["federationSaved", "timeAdvanceGrant", SAVE];
    assert_eq!(told(&mut f, "b"), expected);
    complete(&mut f, &["a", "b"]);
    assert_eq!(told(&mut f, "b"), ["federationSaved"]);
}

/// 8.1: one that is not constrained is granted what it asks for, so a flush promises nothing of the save that it has
/// crossed.
#[test]
fn a_flush_that_crosses_the_instruction_promises_no_more() {
    let mut f = federation(&["b", "u"]);
    regulate(&mut f, "u", 10);
    constrain(&mut f, "b");
    let class = f.interaction("I");
    f.call("u", |l| l.publish_interaction_class(class))
        .expect("it is in the FOM");
    f.call("u", |l| {
        l.change_interaction_order_type(class, Order::TimeStamp)
    })
    .expect("it is published");
    let _ = (told(&mut f, "b"), told(&mut f, "u"));
    save(&mut f, "u", 5);
    advance(&mut f, "b", 9);
    assert_eq!(told(&mut f, "b"), [SAVE]);
    // It was instructed, and has not heard so.
    flush(&mut f, "u", 3);
    assert_eq!(told(&mut f, "u"), [SAVE]);
    complete(&mut f, &["b", "u"]);
    assert_eq!(told(&mut f, "u"), ["federationSaved", "timeAdvanceGrant"]);
    let lookahead = f.call("u", |l| l.query_lookahead());
    assert_eq!(lookahead.ok(), LogicalTimeInterval::float64(10.0));
    f.call("u", |l| l.send_interaction_at(class, &[], b"", at(13)))
        .expect("its time and its lookahead admit it");
}

/// Nobody waits for a time beyond the last one.
#[test]
fn a_save_at_the_last_time_comes_to_who_is_there() {
    for lookahead in [0, 1] {
        let names = ["a", "b"];
        let mut f = timed(&names, lookahead);
        let last = LogicalTime::float64(f64::MAX).expect("it is finite");
        f.call("a", |l| l.request_federation_save("S", Some(last)))
            .expect("it takes part in time");
        for name in names {
            f.call(name, |l| l.time_advance_request(last))
                .expect("it may advance");
        }
        for name in names {
            assert_eq!(told(&mut f, name), ["timeAdvanceGrant", SAVE], "{name}");
        }
        complete(&mut f, &names);
        for name in names {
            assert_eq!(told(&mut f, name), ["federationSaved"], "{name}");
        }
    }
}

/// One that may still send at the last time is not instructed before it has asked for all of it: as long as it is held, others
/// would wait for what it sends, and what it sends before it hears of it would be refused.
#[test]
fn who_may_still_send_at_the_last_time_is_waited_for() {
    let last = LogicalTime::float64(f64::MAX).expect("it is finite");
    // By the rounding of the last time plus a lookahead, too.
    for lookahead in [0, 3] {
        let names = ["a", "b"];
        let mut f = timed(&names, lookahead);
        f.call("b", |l| l.time_advance_request(last))
            .expect("it may advance");
        f.call("a", |l| l.time_advance_request_available(last))
            .expect("it may advance");
        assert_eq!(told(&mut f, "a"), ["timeAdvanceGrant"]);
        f.call("b", |l| l.request_federation_save("S", Some(last)))
            .expect("it takes part in time");
        assert_eq!([told(&mut f, "a"), told(&mut f, "b")], [[""; 0]; 2]);
        let class = f.interaction("I");
        f.call("a", |l| l.publish_interaction_class(class))
            .expect("it is in the FOM");
        f.call("a", |l| {
            l.change_interaction_order_type(class, Order::TimeStamp)
        })
        .expect("it is published");
        f.call("a", |l| l.send_interaction_at(class, &[], b"", last))
            .expect("its time admits it");
        f.call("a", |l| l.time_advance_request(last))
            .expect("it may ask for the same time");
        for name in names {
            assert_eq!(told(&mut f, name), ["timeAdvanceGrant", SAVE], "{name}");
        }
        complete(&mut f, &names);
        for name in names {
            assert_eq!(told(&mut f, name), ["federationSaved"], "{name}");
        }
    }
}
