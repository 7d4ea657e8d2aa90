//! Save and restore, 1516.1-2010 §4.16 to §4.32, against federates that say too much, and in the
//! order of arrival that harms most. What federates see of them is in `tests/federation`.

use crate::common::Federation;
use starling_core::message::{LogIndex, ModuleSource, ResignAction, save};
use starling_core::saved::federation::SynchronizationPoint;
use starling_core::{
    Archive, Archived, Callback, ExceptionKind, FederateHandle, LogicalTime, LogicalTimeInterval,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, SaveFailure, SavedFederation,
    Service, TimeType,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Two federates that have been told of a save, and have begun it.
pub(crate) fn saving(f: &mut Federation, label: &str) {
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

pub(crate) fn complete(f: &mut Federation) {
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

pub(crate) fn two() -> Federation {
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
    // Saves are known by their places in the log, which are few yet.
    for at in 0..40 {
        let ended = save::Request::SaveEnded {
            save: LogIndex(at),
            successfully: true,
        };
        f.forge_request("A", &[], ended).unwrap();
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

#[test]
fn what_a_federate_says_of_a_save_that_has_ended_is_nothing_to_the_next() {
    let mut f = two();
    f.call("B", |f| f.request_federation_save("Ended", None))
        .unwrap();
    for name in ["A", "B"] {
        f.callbacks(name);
    }
    // What A says of it is on its way while B aborts it and asks for another.
    f.call_late("A", |f| f.federate_save_begun()).unwrap();
    f.call_late("A", |f| f.federate_save_complete()).unwrap();
    f.call("B", |f| f.abort_federation_save()).unwrap();
    f.hear();
    f.call("B", |f| f.next_callback());
    f.call("B", |f| f.request_federation_save("Next", None))
        .unwrap();
    f.run();
    f.callbacks("B");
    f.call("B", |f| f.federate_save_begun()).unwrap();
    f.call("B", |f| f.federate_save_complete()).unwrap();
    f.run();
    assert_eq!(f.archives(), []);
    let told = f.callbacks("A");
    assert!(
        matches!(&told[..], [Callback::FederationNotSaved { .. }, Callback::InitiateFederateSave { label, .. }] if label == "Next"),
        "{told:?}"
    );
    f.call("A", |f| f.federate_save_begun()).unwrap();
    f.call("A", |f| f.federate_save_complete()).unwrap();
    written(&mut f, "Next");
}

#[test]
fn saves_that_come_and_go_while_a_federate_does_not_listen_are_told_in_order() {
    let mut f = two();
    for label in ["One", "Two", "Three"] {
        f.call("B", |f| f.request_federation_save(label, None))
            .unwrap();
        f.callbacks("B");
        f.call("B", |f| f.abort_federation_save()).unwrap();
        f.callbacks("B");
    }
    let told = f.callbacks("A");
    let labels: Vec<_> = told
        .iter()
        .map(|callback| match callback {
            Callback::InitiateFederateSave { label, .. } => &label[..],
            Callback::FederationNotSaved { .. } => "not",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(labels, ["One", "not", "Two", "not", "Three", "not"]);
    saving(&mut f, "Again");
    complete(&mut f);
    written(&mut f, "Again");
}

/// A save of A and B.
pub(crate) fn saved(f: &mut Federation, label: &str) -> Archived {
    saving(f, label);
    complete(f);
    let task = written(f, label);
    Archived::Read(task.write.expect("it was written"))
}

/// §4.24, §4.25: the request is answered by who is joined, and stays answered.
#[test]
fn nobody_joins_from_the_request_for_a_restore_on() {
    let mut f = two();
    let saved = saved(&mut f, "Two");
    f.call("A", |f| f.request_federation_restore("Two"))
        .unwrap();
    f.run();
    // The save is being read; then A has not heard that it can be restored.
    let refused = f.join_with("X", vec![]).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::RestoreInProgress);
    let task = f.archives().remove(0);
    f.archived(&task, saved.clone());
    let refused = f.join_with("Y", vec![]).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::RestoreInProgress);
    f.callbacks("A");
    assert!(f.callbacks("B").contains(&Callback::FederationRestoreBegun));
    f.callbacks("A");
    f.call("A", |f| f.abort_federation_restore()).unwrap();
    f.run();
    f.join("C");
    // Now the joined federates are others.
    f.callbacks("A");
    f.call("A", |f| f.request_federation_restore("Two"))
        .unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    let told = f.callbacks("A");
    assert!(
        matches!(
            &told[..],
            [Callback::RestoreRequested {
                succeeded: false,
                ..
            }]
        ),
        "{told:?}"
    );
    f.join("D");
}

/// What a module is called hangs on the directory that somebody was in.
#[test]
fn a_module_is_the_same_wherever_its_file_is() {
    let mut f = two();
    let Archived::Read(saved) = saved(&mut f, "Moved") else {
        panic!("it was read");
    };
    let module = |saved: &mut SavedFederation, change: &dyn Fn(&mut ModuleSource)| {
        change(&mut saved.execution.federation.modules[1]);
    };
    let mut moved = saved.clone();
    module(&mut moved, &|m| m.designator = "/elsewhere/copy.xml".into());
    restore(&mut f, "Moved", Archived::Read(moved));
    // One of that name with other contents is another.
    let mut other = saved;
    module(&mut other, &|m| {
        m.text = [&m.text[..], b" "].concat().into()
    });
    f.call("A", |f| f.request_federation_restore("Moved"))
        .unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Read(other));
    let told = f.callbacks("A");
    assert!(
        matches!(
            &told[..],
            [Callback::RestoreRequested {
                succeeded: false,
                ..
            }]
        ),
        "{told:?}"
    );
    let notes = f.notes();
    assert!(
        matches!(&notes[..], [note] if note.contains("other contents: 'test.xml'")),
        "{notes:?}"
    );
}

/// A restore begins when who has asked for it evokes, which may be never: who asks for a save
/// meanwhile, and was told of no restore, is told that there is none.
#[test]
fn a_save_that_is_asked_for_while_a_restore_waits_to_begin_fails() {
    let mut f = two();
    let saved = saved(&mut f, "Two");
    f.call("A", |f| f.request_federation_restore("Two"))
        .unwrap();
    let not_saved = Callback::FederationNotSaved {
        reason: SaveFailure::RtiUnableToSave,
    };
    let meanwhile = |f: &mut Federation| {
        f.call("B", |f| f.request_federation_save("Meanwhile", None))
            .unwrap();
        assert_eq!(f.callbacks("B"), std::slice::from_ref(&not_saved));
    };
    meanwhile(&mut f);
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    meanwhile(&mut f);
    f.callbacks("A");
    assert!(f.callbacks("B").contains(&Callback::FederationRestoreBegun));
}

#[test]
fn what_comes_while_a_federate_saves_never_stops_its_reading() {
    let mut f = two();
    let class = f.interaction("I");
    f.call("A", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.call("B", |f| f.publish_interaction_class(class)).unwrap();
    f.run();
    f.call("A", |f| f.request_federation_save("Now", None))
        .unwrap();
    f.hear();
    // B has not been told, and says something more.
    f.callbacks("A");
    let before = f.federate("A").waiting_bytes();
    f.call("B", |f| f.send_interaction(class, &[], &[7; 10_000]))
        .unwrap();
    f.run();
    assert_eq!(f.federate("A").waiting_bytes(), before);
    assert!(f.member("A").withheld_bytes() >= 10_000);
}

#[test]
fn behind_its_resignation_a_federate_says_nothing() {
    let mut f = two();
    saving(&mut f, "Left");
    f.call("B", |f| f.federate_save_complete()).unwrap();
    f.call("A", |f| f.federate_save_complete()).unwrap();
    // What asks it for its part crosses with its resignation; the bed takes nothing that is said by
    // one that is no member.
    f.call_late("A", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    f.hear();
    f.run();
    assert!(!f.is_joined("A"));
    let told = f.callbacks("B");
    assert!(
        matches!(
            &told[..],
            [Callback::FederationNotSaved {
                reason: SaveFailure::FederateResignedDuringSave
            }]
        ),
        "{told:?}"
    );
}

/// The parameters of an interaction to the RTI, in the order of their numbers.
fn parameters(f: &mut Federation, class: &str, given: &[(&str, Vec<u8>)]) -> Vec<(u32, Vec<u8>)> {
    let class = f.interaction(class);
    let mut list: Vec<_> = given
        .iter()
        .map(|(name, value)| {
            let parameter = f.call("B", |f| f.parameter_handle(class, name)).unwrap();
            (parameter.raw(), value.clone())
        })
        .collect();
    list.sort();
    list
}

/// B, which has not been told of the save yet, saves on A's behalf, and so with the restore.
#[test]
fn services_of_save_and_restore_on_behalf_of_another() {
    const BELOW: &str = "HLAmanager.HLAfederate.HLAservice";
    let act = |f: &mut Federation, service: &str, success: Option<i32>| {
        let name = format!("{BELOW}.{service}");
        let a = f.member("A").handle().0.to_be_bytes();
        let mut given = vec![("HLAfederate", [&4u32.to_be_bytes()[..], &a].concat())];
        given.extend(success.map(|s| ("HLAsuccessIndicator", s.to_be_bytes().to_vec())));
        let values = parameters(f, &name, &given);
        let class = f.interaction(&name);
        let values: Vec<_> = values
            .iter()
            .map(|(p, v)| (ParameterHandle::from_raw(*p), &v[..]))
            .collect();
        f.call("B", |f| f.send_interaction(class, &values, b""))
            .unwrap();
        f.run();
    };
    let mut f = two();
    for service in [
        "HLAfederateSaveBegun",
        "HLAfederateSaveComplete",
        "HLAfederateRestoreComplete",
    ] {
        let class = f.interaction(&format!("{BELOW}.{service}"));
        f.call("B", |f| f.publish_interaction_class(class)).unwrap();
    }
    f.call("A", |f| f.request_federation_save("L", None))
        .unwrap();
    assert!(matches!(
        &f.callbacks("A")[..],
        [Callback::InitiateFederateSave { .. }]
    ));
    act(&mut f, "HLAfederateSaveBegun", None);
    act(&mut f, "HLAfederateSaveComplete", Some(1));
    f.callbacks("B");
    f.call("B", |f| f.federate_save_begun()).unwrap();
    f.call("B", |f| f.federate_save_complete()).unwrap();
    let task = written(&mut f, "L");

    f.call("A", |f| f.request_federation_restore("L")).unwrap();
    f.run();
    let read = f.archives().remove(0);
    f.archived(&read, Archived::Read(task.write.unwrap()));
    // B has taken the beginning, by which the restore goes on, and so can't send any more: what it sent
    // before is on its way.
    let told = f.callbacks("A");
    assert_eq!(told.len(), 2, "{told:?}");
    act(&mut f, "HLAfederateRestoreComplete", Some(0));
    let begun = f.call("B", |f| f.next_callback());
    assert_eq!(begun, Some(Callback::FederationRestoreBegun));
    let told = f.callbacks("A");
    assert!(
        matches!(&told[..], [Callback::InitiateFederateRestore { .. }]),
        "the service had been called before the restore was initiated: {told:?}"
    );
}

#[test]
fn who_has_not_heard_of_a_save_asks_for_both_kinds_of_time() {
    let span = || LogicalTimeInterval::float64(1.0).unwrap();
    for regulation_first in [true, false] {
        let mut f = two();
        f.call("A", |f| f.request_federation_save("Now", None))
            .unwrap();
        f.run();
        if regulation_first {
            f.call("B", |f| f.enable_time_regulation(span())).unwrap();
        }
        f.call("B", |f| f.enable_time_constrained()).unwrap();
        if !regulation_first {
            f.call("B", |f| f.enable_time_regulation(span())).unwrap();
        }
        for name in ["A", "B"] {
            f.callbacks(name);
            f.call(name, |f| f.federate_save_begun()).unwrap();
        }
        complete(&mut f);
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, Archived::Written);
        let told = f.callbacks("B");
        assert!(told.contains(&Callback::FederationSaved), "{told:?}");
        let enabled = |c: &Callback| {
            matches!(
                c,
                Callback::TimeRegulationEnabled { .. } | Callback::TimeConstrainedEnabled { .. }
            )
        };
        let enabled = told.iter().filter(|c| enabled(c)).count();
        assert_eq!(enabled, 2, "{told:?}");
    }
}

#[test]
fn an_answer_from_before_a_restore_keeps_nobody_waiting() {
    let mut f = two();
    let saved = saved(&mut f, "Before");
    f.call("B", |f| f.query_bounds(Service::QueryGALT)).unwrap();
    f.call("A", |f| f.request_federation_restore("Before"))
        .unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    for name in ["A", "B", "A", "B"] {
        f.callbacks(name);
    }
    for name in ["A", "B"] {
        f.call(name, |f| f.federate_restore_complete()).unwrap();
    }
    assert_eq!(f.callbacks("B"), [Callback::FederationRestored]);
    // The answer came, and nobody had read it.
    let answer = f.call("B", |f| f.bounds(Service::QueryGALT));
    let kind = answer.map(|a| a.map_err(|e| e.kind));
    assert_eq!(kind, Some(Err(ExceptionKind::RestoreInProgress)));
    f.call("B", |f| f.query_bounds(Service::QueryGALT)).unwrap();
    f.run();
    let answer = f.call("B", |f| f.bounds(Service::QueryGALT));
    assert_eq!(answer, Some(Ok((None, None))));
}

#[test]
fn a_save_with_management_object_model_is_not_restored_where_there_is_none() {
    for (mut made, mut here, words) in [
        (two(), Federation::without_mom(""), ["= on", "is off"]),
        (Federation::without_mom(""), two(), ["= off", "is on"]),
    ] {
        for f in [&mut made, &mut here] {
            for name in ["A", "B"] {
                if !f.knows(name) {
                    f.join(name);
                }
            }
        }
        let save = saved(&mut made, "L");
        here.call("A", |f| f.request_federation_restore("L"))
            .unwrap();
        here.run();
        let task = here.archives().remove(0);
        here.archived(&task, save);
        assert!(matches!(
            &here.callbacks("A")[..],
            [Callback::RestoreRequested {
                succeeded: false,
                ..
            }]
        ));
        let notes = here.notes();
        let told = |note: &String| words.iter().all(|w| note.contains(w));
        assert!(notes.iter().any(told), "{notes:?}");
    }
}

/// What is changed of a save, and what is said of it then.
type Forgery = (fn(&mut SavedFederation), &'static str);

fn all_are_refused(f: &mut Federation, genuine: &SavedFederation, forgeries: &[Forgery]) {
    for (forge, why) in forgeries {
        let mut forged = Box::new(genuine.clone());
        forge(&mut forged);
        f.call("A", |f| f.request_federation_restore("L")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        f.archived(&task, Archived::Read(forged));
        assert!(matches!(
            &f.callbacks("A")[..],
            [Callback::RestoreRequested {
                succeeded: false,
                ..
            }]
        ));
        assert_eq!(f.callbacks("B"), []);
        let notes = f.notes();
        assert!(notes.iter().any(|n| n.contains(why)), "{why}: {notes:?}");
    }
}

/// §4.24: by type, and by name where there are several of a type; nobody may be missing, and nobody too many.
#[test]
fn who_is_not_of_a_save_is_named_when_its_restore_is_refused() {
    let others: [Forgery; 4] = [
        (
            |s| {
                let mut members = s.execution.federation.members.values_mut();
                members.next_back().unwrap().kind = "other".into();
            },
            "missing 'B of type other'; too many 'B of type test'",
        ),
        (
            |s| drop(s.execution.federation.members.pop_first()),
            "not those of the save: too many 'A of type test'",
        ),
        (
            |s| {
                let members = &mut s.execution.federation.members;
                let mut third = members.values().next().unwrap().clone();
                third.name = "C".into();
                members.insert(FederateHandle(3), third);
            },
            "not those of the save: missing 'C of type test'",
        ),
        (
            |s| s.execution.time.time_type = TimeType::Integer64,
            "the logical time HLAinteger64Time, and this federation execution's is HLAfloat64Time",
        ),
    ];
    let mut f = two();
    let Archived::Read(genuine) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    all_are_refused(&mut f, &genuine, &others);
}

#[test]
fn a_save_whose_parts_do_not_fit_together_is_refused_before_anybody_is_told() {
    let forgeries: [Forgery; 14] = [
        (
            |s| {
                let counts = &mut s.federates[1].1.mom.counts;
                let class = ObjectClassHandle::from_raw(9999);
                counts.instances_updated.push((class, 1));
            },
            "what was counted is of a class",
        ),
        (
            |s| {
                let mut managed = s.execution.mom.federates.values_mut();
                managed.next_back().unwrap().period_s = Some(0);
            },
            "the period of the updates of federate 2 is 0 s",
        ),
        (
            |s| {
                let mut managed = s.execution.mom.federates.values_mut();
                managed.next_back().unwrap().period_s = Some(u64::MAX);
            },
            "the period of the updates of federate 2 is 18446744073709551615 s",
        ),
        (|s| drop(s.federates.pop()), "not those of its federates"),
        (
            |s| {
                let part = s.federates[0].clone();
                s.federates.insert(0, part);
            },
            "not those of its federates",
        ),
        (
            |s| {
                let part = s.federates[0].1.clone();
                s.federates[1].1 = part;
            },
            "the part of federate 2 in it: it is that of federate 1",
        ),
        (
            |s| s.federates[1].1.federation.federation = "Other".into(),
            "it is of the federation execution 'Other'",
        ),
        (
            |s| s.federates[0].1.log.applied = LogIndex(1 << 40),
            "it knows more of the log than there is",
        ),
        (
            |s| drop(s.execution.time.federates.pop_first()),
            "do not agree on who is joined",
        ),
        (
            |s| drop(s.execution.mom.federates.pop_last()),
            "do not agree on who is joined",
        ),
        (
            |s| {
                let mut instances = s.execution.object.instances.values_mut();
                let instance = instances.next_back().unwrap();
                instance.owners[0] = Some(FederateHandle(77).into());
            },
            "is owned by, or known to, a federate that is not in it",
        ),
        (
            |s| {
                let point = SynchronizationPoint {
                    registrar: FederateHandle(1),
                    tag: vec![],
                    for_all: false,
                    waiting: [FederateHandle(77)].into(),
                    achieved: BTreeMap::new(),
                };
                let points = &mut s.execution.federation.synchronization_points;
                points.insert("P".into(), point);
            },
            "waits for a federate that is not in it",
        ),
        (
            |s| {
                let time = LogicalTime::float64(9.0).unwrap();
                let message = (FederateHandle(77), time, 1);
                s.execution.time.retractable.insert(message, [].into());
            },
            "may be retracted by a federate that is not in it",
        ),
        (
            |s| {
                let mut known = s.federates[1].1.object.instances.values_mut();
                known.next_back().unwrap().registered_class = ObjectClassHandle::from_raw(9999);
            },
            "the part of federate 2 in it: ",
        ),
    ];
    let mut f = two();
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("B", |b| {
        b.publish_object_class_attributes(class, &x)?;
        b.register_object_instance(class, None)
    })
    .unwrap();
    let Archived::Read(genuine) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    all_are_refused(&mut f, &genuine, &forgeries);
    // The genuine one is restored.
    f.call("A", |f| f.request_federation_restore("L")).unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Read(genuine));
    assert!(matches!(
        &f.callbacks("A")[..],
        [
            Callback::RestoreRequested {
                succeeded: true,
                ..
            },
            ..
        ]
    ));
}

#[test]
fn a_part_of_a_save_is_that_of_its_sender() {
    let mut f = two();
    saving(&mut f, "L");
    complete(&mut f);
    f.hear();
    let of_b = f.member("B").save();
    let mut renamed = f.member("A").save();
    renamed.federation.name = "B".into();
    for part in [of_b, renamed] {
        let refused = f.forge_part("A", part).expect_err("it is not A's");
        assert!(refused.contains("sent the part of"), "{refused}");
    }
    let own = f.member("A").save();
    f.forge_part("A", own).unwrap();
}

/// Restores what was saved under a label; all are told.
pub(crate) fn restore(f: &mut Federation, label: &str, saved: Archived) {
    restoring(f, label, saved);
    for name in ["A", "B"] {
        assert_eq!(f.callbacks(name), [Callback::FederationRestored]);
    }
}

/// The same; nobody has heard of its end.
pub(crate) fn restoring(f: &mut Federation, label: &str, saved: Archived) {
    f.call("A", |f| f.request_federation_restore(label))
        .unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, saved);
    for name in ["A", "B", "A"] {
        f.callbacks(name);
    }
    for name in ["A", "B"] {
        f.call(name, |f| f.federate_restore_complete()).unwrap();
    }
}

/// Whoever is complete may still set it: the executive hears of it behind what it has saved.
#[test]
fn a_directive_that_is_set_while_the_federation_is_saved_is_the_same_at_both_ends() {
    let mut f = two();
    let class = f.class("A");
    let x = f.attributes(&["x"]);
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    let set = |f: &mut Federation, directive| {
        f.call("A", |f| f.set_automatic_resign_directive(directive))
            .unwrap();
    };
    set(&mut f, ResignAction::UnconditionallyDivestAttributes);
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    f.callbacks("B");
    saving(&mut f, "L");
    complete(&mut f);
    set(&mut f, ResignAction::DeleteObjects);
    let saved = written(&mut f, "L").write.expect("it was written");
    set(&mut f, ResignAction::NoAction);
    restore(&mut f, "L", Archived::Read(saved));
    let directive = f.member("A").automatic_resign_directive();
    assert_eq!(directive, Ok(ResignAction::DeleteObjects));
    f.lose("A");
    let told = f.callbacks("B");
    assert!(
        matches!(&told[..], [Callback::RemoveObjectInstance { instance: gone, .. }] if Ok(*gone) == instance),
        "{told:?}"
    );
}

/// The values that a federate has been given, by the names of the attributes.
fn values(f: &mut Federation, name: &str) -> BTreeMap<String, Vec<u8>> {
    let mut values = BTreeMap::new();
    for callback in f.callbacks(name) {
        if let Callback::ReflectAttributeValues { values: given, .. } = callback {
            let model = f.member(name).model();
            let named = |(a, v): (_, &[u8])| (model.attribute(a).unwrap().name.clone(), v.to_vec());
            values.extend(given.iter().map(named));
        }
    }
    values
}

#[test]
fn who_was_advancing_at_a_save_waits_since_the_restore() {
    let mut f = two();
    let class = f.class("HLAmanager.HLAfederate");
    let names = ["HLAtimeAdvancingTime", "HLAtimeGrantedTime"];
    let spent = names.map(|n| f.federate("A").attribute_handle(class, n).unwrap());
    f.call("A", |a| {
        a.subscribe_object_class_attributes(class, &spent, true, "")
    })
    .unwrap();
    let one = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("A", |a| a.enable_time_regulation(one)).unwrap();
    f.call("B", |b| b.enable_time_constrained()).unwrap();
    f.callbacks("A");
    f.callbacks("B");
    let ten = LogicalTime::float64(10.0).unwrap();
    f.call("B", |b| b.time_advance_request(ten)).unwrap();
    let saved = saved(&mut f, "L");
    f.set_time(100);
    restore(&mut f, "L", saved);
    f.set_time(120);
    assert_eq!(f.long_waits(30), []);
    f.set_time(140);
    let waits = f.long_waits(30);
    assert!(
        matches!(&waits[..], [(why, _)] if why.contains("Time Advance Request to 10, 40.0 s ago")),
        "{waits:?}"
    );
    let b = f.member("B").handle();
    let b = ObjectInstanceHandle(1 + u64::from(b.0));
    f.callbacks("A");
    f.call("A", |a| {
        a.request_instance_attribute_value_update(b, &spent, b"")
    })
    .unwrap();
    let of_b = values(&mut f, "A");
    let spent = names.map(|n| u32::from_be_bytes(of_b[n][..].try_into().unwrap()));
    assert_eq!(spent, [40_000, 0], "advancing, granted");
}

/// A restore changes what a federate is, not what came to its process.
#[test]
fn data_is_counted_on_through_a_restore() {
    let mut f = two();
    let class = f.interaction("I");
    f.call("A", |a| a.publish_interaction_class(class)).unwrap();
    f.call("B", |b| b.subscribe_interaction_class(class, true))
        .unwrap();
    f.call("B", |b| b.enable_time_constrained()).unwrap();
    f.callbacks("B");
    let send = |f: &mut Federation| {
        f.call("A", |a| a.send_interaction(class, &[], b""))
            .unwrap();
        f.run();
    };
    let counted = |f: &mut Federation, name: &str| {
        f.call(name, |l| l.report(Duration::ZERO, false));
        f.run();
        let all = f.status().federates;
        let of = all.iter().find(|of| of.federate.name == name);
        let counters = of.expect("it has joined").counters;
        assert_eq!(counters, f.member(name).counters());
        counters
    };
    // One waits when it is saved, two more when it is restored.
    send(&mut f);
    let saved = saved(&mut f, "L");
    send(&mut f);
    send(&mut f);
    assert_eq!(counted(&mut f, "A").sent, 3);
    restore(&mut f, "L", saved);
    assert_eq!(counted(&mut f, "A").sent, 3);
    let b = counted(&mut f, "B");
    assert_eq!((b.queued, b.dropped, b.withheld), (4, 3, 1), "{b}");
    f.call("B", |b| b.disable_time_constrained()).unwrap();
    assert_eq!(f.callbacks("B").len(), 1);
}

#[test]
fn there_is_one_task_with_saves_at_a_time() {
    let mut f = two();
    let saved = saved(&mut f, "L");
    f.join("C");
    f.call("C", |c| c.request_federation_restore("L")).unwrap();
    f.run();
    let reading = f.archives().remove(0);
    // Who asked leaves while it is read: nothing comes of it, but it goes on.
    f.resign("C", ResignAction::NoAction);
    f.call("A", |a| a.request_federation_restore("L")).unwrap();
    assert!(matches!(
        &f.callbacks("A")[..],
        [Callback::RestoreRequested {
            succeeded: false,
            ..
        }]
    ));
    saving(&mut f, "M");
    complete(&mut f);
    for name in ["A", "B"] {
        assert_eq!(
            f.callbacks(name),
            [Callback::FederationNotSaved {
                reason: SaveFailure::RtiUnableToSave
            }]
        );
    }
    assert_eq!(f.archives(), []);
    let notes = f.notes();
    let told = notes
        .iter()
        .filter(|n| n.contains("is still being written or read"));
    assert_eq!(told.count(), 2, "{notes:?}");
    // It has come.
    f.archived(&reading, saved);
    saving(&mut f, "M");
    complete(&mut f);
    written(&mut f, "M");
}

#[test]
fn each_attribute_of_the_standard_mim_has_a_value() {
    let mut f = two();
    let mut expected = 0;
    let mut all = BTreeMap::new();
    for class in ["HLAmanager.HLAfederation", "HLAmanager.HLAfederate"] {
        let class = f.class(class);
        let model = f.member("A").model();
        let attributes = &model.object_class(class).unwrap().attributes;
        let attributes = attributes.iter().copied().filter(|a| {
            let name = &model.attribute(*a).unwrap().name;
            // A token without contents.
            name != "HLAprivilegeToDeleteObject"
        });
        let attributes: Vec<_> = attributes.collect();
        expected += attributes.len();
        f.call("A", |a| {
            a.subscribe_object_class_attributes(class, &attributes, true, "")
        })
        .unwrap();
        f.callbacks("A");
        f.call("A", |a| {
            a.request_class_attribute_value_update(class, &attributes, b"")
        })
        .unwrap();
        for (name, value) in values(&mut f, "A") {
            all.insert((class, name), value);
        }
    }
    assert_eq!(all.len(), expected, "{:?}", all.keys());
    let empty: Vec<_> = all.iter().filter(|(_, v)| v.is_empty()).collect();
    assert!(empty.is_empty(), "{empty:?}");
}

/// For `starling why`: an update from before B knew the instance is none that came to it.
#[test]
fn how_many_updates_came_since_a_discovery_is_saved() {
    let mut f = two();
    let class = f.class("A");
    let x = f.attributes(&["x"])[0];
    f.call("A", |f| f.publish_object_class_attributes(class, &[x]))
        .unwrap();
    f.join("C");
    f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    f.run();
    let car = f.call("A", |f| f.register_object_instance(class, None));
    let car = car.unwrap();
    f.run();
    f.call("A", |f| f.update_attribute_values(car, &[(x, b"1")], b""))
        .unwrap();
    f.run();
    f.callbacks("C");
    f.resign("C", starling_core::message::ResignAction::NoAction);
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    f.run();
    f.callbacks("B");
    let name = f.federate("A").object_instance_name(car).unwrap();
    let before = f.why("B", &name);
    let saved = saved(&mut f, "L");
    restore(&mut f, "L", saved);
    assert_eq!(f.why("B", &name), before);
}
