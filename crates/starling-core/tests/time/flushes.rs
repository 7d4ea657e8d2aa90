//! Flush Queue Request, 1516.1-2010 §8.12, where not all that was sent is wanted any more: it is granted no more than the
//! least time stamp of what it delivers, and no less for the sake of what it does not.

use super::*;
use proptest::prelude::*;
use starling_galt_oracle::{self as oracle, Kind};

/// A regulates with lookahead 1, is at 0 and has an instance; B is constrained and wants its x and interactions.
fn of_two_kinds() -> (Federation, ObjectInstanceHandle, AttributeHandle) {
    let mut f = federation(&["a", "b"]);
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    f.run();
    let (instance, _) = f.instance();
    assert_eq!(f.told("b"), "discover");
    f.regulate("a", 1.0);
    f.constrain("b");
    (f, instance, x[0])
}

fn update(f: &mut Federation, (instance, x): (ObjectInstanceHandle, AttributeHandle), time: f64) {
    let values = [(x, &b"1"[..])];
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &values, b"u", at(time))
    })
    .unwrap();
    f.run();
}

fn advanced(f: &mut Federation, to: f64) {
    f.tar("a", to);
    assert_eq!(f.told("a"), format!("grant {to}"));
}

fn flush(f: &mut Federation, to: f64) -> String {
    f.call("b", |f| f.flush_queue_request(at(to))).unwrap();
    f.told("b")
}

fn wants_no_interactions(f: &mut Federation) {
    let class = f.interaction("I");
    f.call("b", |f| f.unsubscribe_interaction_class(class))
        .unwrap();
}

#[test]
fn what_is_wanted_no_more_holds_no_flush_back() {
    let (mut f, instance, x) = of_two_kinds();
    f.send("a", "three", 3.0);
    f.send("a", "four", 4.0);
    update(&mut f, (instance, x), 6.0);
    f.send("a", "six", 6.0);
    f.send("a", "seven", 7.0);
    advanced(&mut f, 20.0);
    wants_no_interactions(&mut f);
    assert_eq!(flush(&mut f, 10.0), "u@6TT, grant 6");
    assert_eq!(f.member("b").counters().unsubscribed, 4);
    assert_eq!(flush(&mut f, 10.0), "grant 10");
    // None of it is left at the executive.
    assert_eq!(f.bounds("b"), (Some(at(21.0)), Some(at(21.0))));
    // Where nothing is wanted only what others may send holds it back, be it at the time of a message.
    for (n, time) in [21.0, 22.0].into_iter().enumerate() {
        let class = f.interaction("I");
        f.call("b", |f| f.subscribe_interaction_class(class, true))
            .unwrap();
        f.run();
        f.send("a", "wanted until now", time);
        f.run();
        wants_no_interactions(&mut f);
        assert_eq!(flush(&mut f, 100.0), "grant 21");
        assert_eq!(f.member("b").counters().unsubscribed, 5 + n as u64);
    }
    advanced(&mut f, 200.0);
    assert_eq!(flush(&mut f, 100.0), "grant 100");
}

/// What comes between its two requests counts, too.
#[test]
fn what_comes_while_a_flush_asks_on_is_delivered_by_it() {
    let (mut f, instance, x) = of_two_kinds();
    f.send("a", "three", 3.0);
    update(&mut f, (instance, x), 9.0);
    advanced(&mut f, 4.0);
    wants_no_interactions(&mut f);
    f.call("b", |f| f.flush_queue_request(at(20.0))).unwrap();
    let values = [(x, &b"1"[..])];
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &values, b"between", at(5.0))
    })
    .unwrap();
    assert_eq!(f.told("b"), "between@5TT, u@9TT, grant 5");
    advanced(&mut f, 6.0);
    assert_eq!(flush(&mut f, 20.0), "grant 7");
}

/// What it says is the first that it wants may be retracted before the executive hears so: then that is no bound to it.
#[test]
fn what_is_retracted_while_a_flush_asks_on_holds_it_not_back() {
    let (mut f, instance, x) = of_two_kinds();
    update(&mut f, (instance, x), 5.0);
    let ten = f.send("a", "ten", 10.0);
    advanced(&mut f, 7.0);
    let class = f.class("A");
    f.call("b", |f| f.unsubscribe_object_class(class)).unwrap();
    f.run();
    f.call("b", |f| f.flush_queue_request(at(20.0))).unwrap();
    // It passes over 5, and says so later.
    f.hear();
    f.call("a", |f| f.retract(ten)).unwrap();
    f.tar("a", 15.0);
    assert_eq!(f.told("b"), "grant 16");
    assert_eq!(f.told("a"), "grant 15");
    // What others may send holds it back as ever, be it at that time.
    assert_eq!(flush(&mut f, 20.0), "grant 16");
}

/// To the executive the removal had come with the grant that was passed over.
#[test]
fn a_deletion_that_is_retracted_while_a_flush_asks_on_is_none() {
    let (mut f, instance, x) = of_two_kinds();
    f.send("a", "three", 3.0);
    let deleted = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"", at(10.0))
    });
    f.run();
    advanced(&mut f, 4.0);
    wants_no_interactions(&mut f);
    f.call("b", |f| f.flush_queue_request(at(20.0))).unwrap();
    // It passes over 3, and says so later.
    f.hear();
    f.call("a", |f| f.retract(deleted.unwrap())).unwrap();
    assert_eq!(f.told("b"), "grant 5");
    update(&mut f, (instance, x), 8.0);
    advanced(&mut f, 9.0);
    assert_eq!(flush(&mut f, 20.0), "u@8TT, grant 8");
}

#[test]
fn who_can_not_ask_on_is_refused() {
    let ask = |kind, to: f64, at_: f64, next: Option<f64>| Request::AskOn {
        kind,
        to: at(to),
        at: at(at_),
        next: next.map(at),
    };
    for refused in [
        ask(Advance::Time, 10.0, 0.0, None),
        ask(Advance::NextMessage, 10.0, 0.0, Some(6.0)),
        ask(Advance::FlushQueue, 4.0, 0.0, None),
        ask(Advance::FlushQueue, 10.0, 6.0, None),
        ask(Advance::FlushQueue, 10.0, 0.0, Some(4.0)),
    ] {
        let mut f = federation(&["a", "b"]);
        f.constrain("b");
        f.tar("b", 5.0);
        assert_eq!(f.told("b"), "grant 5");
        let (which, why) = f.forge_time("b", &[refused]).unwrap_err();
        assert_eq!(which, 0);
        assert!(why.contains("can't be in its state"), "{why}");
    }
}

proptest! {
    #[test]
    fn a_flush_is_granted_what_the_oracle_says_of_what_is_wanted(
        sent in prop::collection::vec((1..40i64, any::<bool>()), 0..12),
        (interactions, updates) in any::<(bool, bool)>(),
        (now, asked) in (0..40i64, prop::collection::vec(0..50i64, 1..4)),
    ) {
        let (mut f, instance, x) = of_two_kinds();
        for (n, (time, is_update)) in sent.iter().enumerate() {
            let (tag, time) = (n.to_string(), *time as f64);
            if *is_update {
                let values = [(x, &b"1"[..])];
                f.call("a", |f| {
                    f.update_attribute_values_at(instance, &values, tag.as_bytes(), at(time))
                })
                .unwrap();
            } else {
                f.send("a", &tag, time);
            }
        }
        advanced(&mut f, now as f64);
        let class = f.class("A");
        if !interactions {
            wants_no_interactions(&mut f);
        }
        if !updates {
            f.call("b", |f| f.unsubscribe_object_class(class)).unwrap();
        }
        let is_wanted = |is_update: bool| if is_update { updates } else { interactions };
        let wanted = sent.iter().enumerate().filter(|(_, (_, u))| is_wanted(*u));
        let mut wanted: Vec<_> = wanted.map(|(n, (time, _))| (*time, n)).collect();
        wanted.sort_unstable();
        let mut all = [oracle::Federate::default(), oracle::Federate::default()];
        (all[0].regulating, all[0].lookahead, all[0].time) = (true, 1, now);
        all[1].constrained = true;
        all[1].queue = wanted.iter().map(|(time, _)| *time).collect();
        for to in asked {
            let to = to.max(all[1].time);
            all[1].request = Some((Kind::Fqr, to));
            let granted = oracle::grant(&all, 1).expect("a flush waits for nobody");
            let delivered = std::mem::take(&mut wanted).into_iter();
            let delivered = delivered.map(|(time, n)| format!("{n}@{time}TT"));
            let told: Vec<_> = delivered.chain([format!("grant {granted}")]).collect();
            prop_assert_eq!(flush(&mut f, to as f64), told.join(", "));
            oracle::advance(&mut all[1], granted);
        }
    }
}
