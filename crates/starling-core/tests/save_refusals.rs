//! Parts of a save that say what is not so, and refusals that are asked for again and again (1516.1-2010 §4.16,
//! §4.24).

use crate::save::{complete, saved, saving, two};
use starling_core::saved::Federate;
use starling_core::saved::time::Constraint;
use starling_core::{Advance, Archived, Callback, LogicalTime, LogicalTimeInterval};

fn at(time: f64) -> LogicalTime {
    LogicalTime::float64(time).unwrap()
}

fn one() -> LogicalTimeInterval {
    LogicalTimeInterval::float64(1.0).unwrap()
}

/// What a part says of its federate's time that is not so, and what is said of it.
type Forgery = (fn(&mut Federate), &'static str);

const FORGERIES: [Forgery; 6] = [
    (
        |part| part.time.clock.advance = Some((Advance::Time, at(7.0))),
        "another advance",
    ),
    (|part| part.time.clock.time = at(3.0), "at 0, not at 3"),
    (
        |part| part.time.clock.lookahead = None,
        "it regulates otherwise",
    ),
    (
        |part| part.time.enabling = Some(one()),
        "it regulates otherwise",
    ),
    (
        |part| part.time.constraint = Constraint::On,
        "it is constrained otherwise",
    ),
    (
        |part| {
            let shorter = LogicalTimeInterval::float64(0.5).unwrap();
            part.time.clock.lookahead = Some(shorter);
        },
        "it regulates otherwise",
    ),
];

/// Whoever is restored in its place would ask for what the executive refuses, and be cut off.
#[test]
fn a_part_that_lies_about_time_is_refused_when_it_comes() {
    let mut f = two();
    f.call("A", |f| f.enable_time_regulation(one())).unwrap();
    f.callbacks("A");
    saving(&mut f, "L");
    complete(&mut f);
    f.hear();
    let own = f.member("A").save();
    for (forge, why) in FORGERIES {
        let mut part = own.clone();
        forge(&mut part);
        let refused = f.forge_part("A", part).expect_err(why);
        assert!(
            refused.contains("the part of federate 1, 'A'") && refused.contains(why),
            "{refused}"
        );
    }
    f.forge_part("A", own).unwrap();
}

#[test]
fn a_part_that_lies_about_time_is_refused_when_it_is_read() {
    let mut f = two();
    f.call("A", |f| f.enable_time_regulation(one())).unwrap();
    f.callbacks("A");
    let Archived::Read(genuine) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    for (forge, why) in FORGERIES {
        let mut forged = genuine.clone();
        forge(&mut forged.federates[0].1);
        f.call("B", |f| f.request_federation_restore("L")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, Archived::Read(forged));
        let notes = f.notes();
        assert!(
            matches!(&notes[..], [note] if note.contains("the part of federate 1") && note.contains(why)),
            "{why}: {notes:?}"
        );
    }
}

/// A save takes the place of the former one of its label: what is wrong with it is to be known before.
#[test]
fn a_part_that_does_not_fit_is_found_before_it_is_written() {
    let mut f = two();
    let Archived::Read(genuine) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    assert_eq!(genuine.require_whole(), Ok(()));
    let mut forged = genuine.clone();
    forged.federates[1].1.object.last_instance += 1;
    let refused = forged.require_whole().unwrap_err();
    assert!(refused.contains("the part of federate 2"), "{refused}");
}

/// What waits for delivery at the save counts as told.
#[test]
fn a_part_whose_federate_has_not_heard_of_a_grant_is_as_it_should_be() {
    let mut f = two();
    f.call("A", |f| f.enable_time_regulation(one())).unwrap();
    f.callbacks("A");
    f.call("A", |f| f.time_advance_request(at(5.0))).unwrap();
    // It has heard of the save alone when it completes it: the grant came behind that.
    f.call("B", |f| f.request_federation_save("L", None))
        .unwrap();
    f.run();
    let part = f.member("A").save();
    assert_eq!(part.time.clock.time, at(0.0));
    for name in ["A", "B"] {
        f.callbacks(name);
        f.call(name, |f| f.federate_save_begun()).unwrap();
        f.call(name, |f| f.federate_save_complete()).unwrap();
    }
    f.run();
    assert_eq!(f.archives().len(), 1);
}

#[test]
fn refusals_of_one_federate_are_noted_until_there_are_many() {
    let mut f = two();
    let ask = |f: &mut crate::common::Federation, name: &str| {
        f.call(name, |f| f.request_federation_restore("")).unwrap();
        f.callbacks(name);
    };
    let genuine = saved(&mut f, "L");
    for _ in 0..50 {
        ask(&mut f, "A");
    }
    let notes = f.notes();
    assert_eq!(notes.len(), 20);
    let last = notes.last().unwrap();
    assert!(last.contains("further refusals are not noted"), "{last}");
    ask(&mut f, "B");
    assert_eq!(f.notes().len(), 1, "B is another");
    crate::save::restore(&mut f, "L", genuine);
    ask(&mut f, "A");
    assert_eq!(f.notes().len(), 1, "a restore has succeeded");
    let told = f.call("A", |f| f.next_callback());
    assert!(!matches!(told, Some(Callback::RestoreRequested { .. })));
}
