//! Saves whose numbers leave no room, or are before what they number, and those of who has resigned are refused when they
//! are read (1516.1-2010, §4.24): no federate hears of more than that.

use crate::common::Federation;
use crate::save::{restore, saved, two};
use starling_core::message::{LogIndex, RequestNumber};
use starling_core::saved::Federate;
use starling_core::saved::object::Instance;
use starling_core::{
    Archived, Callback, FederateHandle, LogicalTime, LogicalTimeInterval, ObjectInstanceHandle,
    Order, SavedFederation,
};

/// A has registered an instance, of which B has had an update, and has sent a message that B waits for and A may
/// retract; B has a region.
fn rich() -> Federation {
    let mut f = two();
    let class = f.class("A");
    let attributes = f.attributes(&["x", "y"]);
    let interaction = f.interaction("I");
    let one = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("A", |f| {
        f.publish_object_class_attributes(class, &attributes)?;
        f.publish_interaction_class(interaction)?;
        f.enable_time_regulation(one)
    })
    .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &attributes, true, "")?;
        f.subscribe_interaction_class(interaction, true)?;
        f.enable_time_constrained()
    })
    .unwrap();
    f.callbacks("A");
    f.callbacks("B");
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    f.call("A", |f| {
        f.update_attribute_values(instance, &[(attributes[0], b"1")], b"")?;
        f.change_interaction_order_type(interaction, Order::TimeStamp)?;
        f.send_interaction_at(interaction, &[], b"", LogicalTime::float64(5.0).unwrap())
    })
    .unwrap();
    let dimension = f.federate("B").dimension_handle("D").unwrap();
    f.call("B", |f| f.create_region(&[dimension])).unwrap();
    f.run();
    f
}

fn part(saved: &mut SavedFederation, of: usize) -> &mut Federate {
    &mut saved.federates[of].1
}

/// The instance that A has registered.
fn instance(saved: &mut SavedFederation) -> &mut Instance {
    let instances = &mut saved.execution.object.instances;
    instances
        .get_mut(&ObjectInstanceHandle::new(FederateHandle(1), 1))
        .unwrap()
}

/// What is forged, and what is said of it.
type Forgery = (fn(&mut SavedFederation), &'static str);

const FORGERIES: [Forgery; 32] = [
    (
        |s| s.execution.federation.last_federate = u32::MAX,
        "its last federate handle is 4294967295, and can't be beyond 8388608",
    ),
    (
        |s| s.execution.federation.last_federate = 1,
        "the handle of federate 2 is 2, and can't be beyond 1",
    ),
    (
        |s| s.execution.log.index = LogIndex(u64::MAX),
        "the last index of its log is 18446744073709551615",
    ),
    (
        |s| s.execution.log.settled = LogIndex(u64::MAX),
        "the index up to which all were told its log",
    ),
    (
        |s| s.execution.log.epoch = LogIndex(u64::MAX),
        "the index of its epoch",
    ),
    (
        |s| {
            for stream in s.execution.log.streams.values_mut() {
                stream.requests = RequestNumber(u64::MAX);
            }
        },
        "the number of requests of federate 1",
    ),
    (
        |s| {
            for stream in s.execution.log.streams.values_mut() {
                stream.last_request_at = LogIndex(u64::MAX);
            }
        },
        "the index of the last request of federate 1",
    ),
    (
        |s| {
            for stream in s.execution.log.streams.values_mut() {
                stream.told = LogIndex(u64::MAX);
            }
        },
        "the index up to which federate 1 was told the log",
    ),
    (
        |s| instance(s).updates = u64::MAX,
        "the number of updates of object instance 1.1 is",
    ),
    (
        |s| {
            for (_, before, _) in instance(s).known.values_mut() {
                *before = u64::MAX;
            }
        },
        "the number of updates of object instance 1.1 before federate 1 knew it",
    ),
    (
        |s| {
            let instances = &mut s.execution.object.instances;
            let any = instances.values().next().unwrap().clone();
            instances.insert(ObjectInstanceHandle(0), any);
        },
        "object instance 0.0 is about no federate in it",
    ),
    (
        |s| {
            s.execution.object.last.insert(FederateHandle(1), 0);
        },
        "the number of object instance 1.1 at its registrar is 1, and can't be beyond 0",
    ),
    (
        |s| {
            for sent in s.execution.object.interactions_sent.values_mut() {
                *sent = u64::MAX;
            }
        },
        "the number of interactions of class",
    ),
    (
        |s| s.execution.object.refused = u64::MAX,
        "the number of updates and deletions that were refused",
    ),
    (
        |s| s.execution.object.behind_deletion = u64::MAX,
        "the number of updates and deletions that came behind a deletion",
    ),
    (
        |s| s.execution.time.messages = u64::MAX,
        "the number of its messages in time-stamp order",
    ),
    (
        |s| s.execution.time.messages = 0,
        "the place of a message in time-stamp order is 1, and can't be beyond 0",
    ),
    (
        |s| {
            let retractable = std::mem::take(&mut s.execution.time.retractable);
            let beyond = retractable.into_iter();
            let beyond = beyond.map(|((sender, time, _), to)| ((sender, time, u64::MAX), to));
            s.execution.time.retractable = beyond.collect();
        },
        "the number of a message of federate 1 in time-stamp order",
    ),
    (
        |s| {
            for managed in s.execution.mom.federates.values_mut() {
                managed.reports = u64::MAX;
            }
        },
        "the number of reports of services of federate 1",
    ),
    (
        |s| part(s, 0).federation.resigned = true,
        "the part of federate 1 in it: it has resigned",
    ),
    (
        |s| part(s, 1).delivery.ended = true,
        "the part of federate 2 in it: it has resigned",
    ),
    (
        |s| part(s, 0).object.last_instance = 2,
        "its last object instance is its 2., and the executive's is its 1.",
    ),
    (
        |s| part(s, 1).ddm.last_region = 0,
        "the part of federate 2 in it: the number of region 2.1 is 1, and can't be beyond 0",
    ),
    (
        |s| part(s, 0).time.last_number = u64::MAX,
        "the part of federate 1 in it: the number of a message of federate 1 in time-stamp order",
    ),
    (
        |s| part(s, 0).time.last_number = 0,
        "the number of a message that it may retract is 1, and can't be beyond 0",
    ),
    (
        |s| part(s, 1).ownership.acquisitions = u64::MAX,
        "the number of its acquisitions is",
    ),
    (
        |s| part(s, 0).mom.counts.updates_sent = u64::MAX,
        "a number that it counts for the MOM",
    ),
    (
        |s| part(s, 0).mom.counts.instances.registered = u64::MAX,
        "a number that it counts for the MOM",
    ),
    (
        |s| part(s, 0).mom.counts.updates[0].2 = u64::MAX,
        "a number that it counts for the MOM",
    ),
    (
        |s| part(s, 0).mom.counts.interactions_sent[0].2 = u64::MAX,
        "a number that it counts for the MOM",
    ),
    (
        |s| part(s, 0).mom.counts.instances_updated[0].1 = u64::MAX,
        "a number that it counts for the MOM",
    ),
    (
        |s| part(s, 1).mom.counts.instances.discovered = u64::MAX,
        "a number that it counts for the MOM",
    ),
];

#[test]
fn numbers_that_leave_no_room_are_refused_when_they_are_read() {
    let mut f = rich();
    let Archived::Read(genuine) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    for (forge, why) in FORGERIES {
        let mut forged = genuine.clone();
        forge(&mut forged);
        assert_ne!(forged, genuine, "{why}: it forges nothing");
        f.call("B", |f| f.request_federation_restore("L")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, Archived::Read(forged));
        let notes = f.notes();
        assert!(
            matches!(&notes[..], [note] if note.contains(why)),
            "{why}: {notes:?}"
        );
        let told = f.callbacks("B");
        let refused = |c: &Callback| {
            matches!(
                c,
                Callback::RestoreRequested {
                    succeeded: false,
                    ..
                }
            )
        };
        assert!(matches!(&told[..], [only] if refused(only)), "{told:?}");
        assert_eq!(f.callbacks("A"), []);
        // No more than twenty are noted before a restore succeeds.
        restore(&mut f, "L", Archived::Read(genuine.clone()));
    }
    assert_eq!(f.join("X"), FederateHandle(3));
}
