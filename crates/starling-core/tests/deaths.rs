//! A federate dies at each stage of a save and of a restore (1516.1-2010 §4.16 to §4.32): what the others are told, that the
//! federation execution goes on, and that it can be saved and restored then.

use crate::common::Federation;
use starling_core::{Archive, Archived, Callback, LogicalTime, LogicalTimeInterval};

/// Who asks, who is as far as it can be, and who is one step behind.
const ALL: [&str; 3] = ["A", "B", "C"];

/// How far it has come for A and B; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Stage {
    /// For a time.
    SaveScheduled,
    /// At once, and nobody has been told.
    SaveRequested,
    SaveInstructed,
    SaveBegun,
    SaveComplete,
    /// By C, too, and no part has come.
    SavePartsAsked,
    SaveWriting,
    /// And the file is being read.
    RestoreRequested,
    /// It can be restored, and A has not been told.
    RestoreAccepted,
    RestoreBegun,
    RestoreInitiated,
    RestoreComplete,
}

use Stage::*;

const STAGES: [Stage; 12] = [
    SaveScheduled,
    SaveRequested,
    SaveInstructed,
    SaveBegun,
    SaveComplete,
    SavePartsAsked,
    SaveWriting,
    RestoreRequested,
    RestoreAccepted,
    RestoreBegun,
    RestoreInitiated,
    RestoreComplete,
];

const REMOVED: &str = "removeObjectInstance";
const INITIATE: &str = "initiateFederateSave";
const DIED_SAVING: &str = "federationNotSaved RTI_DETECTED_FAILURE_DURING_SAVE";
const BEGUN: &str = "federationRestoreBegun";
const RESTORE: &str = "initiateFederateRestore";
const DIED_RESTORING: &str = "federationNotRestored RTI_DETECTED_FAILURE_DURING_RESTORE";

fn at(time: f64) -> LogicalTime {
    LogicalTime::float64(time).unwrap()
}

/// What a federate is told, with the reasons.
fn told(f: &mut Federation, name: &str) -> Vec<String> {
    let text = |callback: &Callback| {
        let reason = match callback {
            Callback::FederationNotSaved { reason } => reason.name(),
            Callback::FederationNotRestored { reason } => reason.name(),
            _ => return callback.name().to_owned(),
        };
        format!("{} {reason}", callback.name())
    };
    f.callbacks(name).iter().map(text).collect()
}

fn say<T: std::fmt::Debug, E: std::fmt::Debug>(
    f: &mut Federation,
    names: &[&str],
    call: impl Fn(&mut starling_core::Lrc<crate::common::Sent>) -> Result<T, E>,
) {
    for name in names {
        f.call(name, &call)
            .unwrap_or_else(|e| panic!("{name}: {e:?}"));
    }
}

/// All save; the task that keeps it.
fn save(f: &mut Federation, names: &[&str], label: &str) -> Archive {
    say(f, &names[..1], |l| l.request_federation_save(label, None));
    for name in names {
        assert_eq!(told(f, name), [INITIATE], "{name}");
    }
    say(f, names, |l| l.federate_save_begun());
    say(f, names, |l| l.federate_save_complete());
    f.run();
    f.archives().remove(0)
}

fn written(f: &mut Federation, names: &[&str], mut task: Archive) -> Archived {
    f.archived(&task, Archived::Written);
    for name in names {
        assert_eq!(told(f, name)[0], "federationSaved", "{name}");
    }
    Archived::Read(task.write.take().expect("it was to be written"))
}

/// Each regulates and has an instance that the others know, and sends I, which all get. A save is kept.
fn three() -> (Federation, Archived) {
    let mut f = Federation::new("");
    for name in ALL {
        f.join(name);
    }
    let (class, i, x) = (f.class("A"), f.interaction("I"), f.attributes(&["x"]));
    say(&mut f, &ALL, |l| {
        l.publish_object_class_attributes(class, &x)?;
        l.subscribe_object_class_attributes(class, &x, true, "")?;
        l.publish_interaction_class(i)?;
        l.subscribe_interaction_class(i, true)?;
        l.enable_time_regulation(LogicalTimeInterval::float64(1.0).unwrap())
    });
    f.run();
    say(&mut f, &ALL, |l| l.register_object_instance(class, None));
    for name in ALL {
        let discovered = "discoverObjectInstance";
        assert_eq!(
            told(&mut f, name),
            ["timeRegulationEnabled", discovered, discovered]
        );
    }
    let task = save(&mut f, &ALL, "kept");
    let kept = written(&mut f, &ALL, task);
    (f, kept)
}

/// Brings it to a stage; with the task that is being done.
fn come_to(stage: Stage, f: &mut Federation, kept: &Archived) -> Option<Archive> {
    let ahead = &ALL[..2];
    if stage < RestoreRequested {
        let time = Some(at(5.0)).filter(|_| stage == SaveScheduled);
        say(f, &["A"], |l| l.request_federation_save("S", time));
        f.run();
        if stage >= SaveInstructed {
            for name in ahead {
                assert_eq!(told(f, name), [INITIATE], "{name}");
            }
        }
        if stage >= SaveBegun {
            assert_eq!(told(f, "C"), [INITIATE]);
            say(f, ahead, |l| l.federate_save_begun());
        }
        if stage >= SaveComplete {
            say(f, &["C"], |l| l.federate_save_begun());
            say(f, ahead, |l| l.federate_save_complete());
            f.run();
        }
        if stage >= SavePartsAsked {
            say(f, &["C"], |l| l.federate_save_complete());
        }
        if stage == SaveWriting {
            f.run();
            return Some(f.archives().remove(0));
        }
        return None;
    }
    say(f, &["A"], |l| l.request_federation_restore("kept"));
    f.run();
    let task = f.archives().remove(0);
    if stage == RestoreRequested {
        return Some(task);
    }
    f.archived(&task, kept.clone());
    if stage >= RestoreBegun {
        let accepted = "requestFederationRestoreSucceeded";
        assert_eq!(told(f, "A"), [accepted, BEGUN]);
        assert_eq!(told(f, "B"), [BEGUN]);
    }
    if stage >= RestoreInitiated {
        let begun = f.call("C", |l| l.next_callback());
        assert_eq!(begun, Some(Callback::FederationRestoreBegun));
        for name in ahead {
            assert_eq!(told(f, name), [RESTORE], "{name}");
        }
    }
    if stage == RestoreComplete {
        assert_eq!(told(f, "C"), [RESTORE]);
        say(f, ahead, |l| l.federate_restore_complete());
    }
    f.run();
    None
}

/// What one who is left hears: of the save or restore, and that what the dead one owned is deleted, which waits for its end.
fn heard(stage: Stage, name: &str, dead: &str) -> Vec<&'static str> {
    let behind = name == "C";
    match stage {
        SaveScheduled | RestoreRequested => vec![REMOVED],
        SaveRequested => vec![INITIATE, DIED_SAVING, REMOVED],
        SaveInstructed if behind => vec![INITIATE, DIED_SAVING, REMOVED],
        SaveInstructed | SaveBegun | SaveComplete | SavePartsAsked => vec![DIED_SAVING, REMOVED],
        SaveWriting => vec![],
        // Nobody but who asked knows of it, and none has begun.
        RestoreAccepted if name == "A" && dead != "A" => vec![
            "requestFederationRestoreSucceeded",
            REMOVED,
            "federationNotRestored RTI_UNABLE_TO_RESTORE",
        ],
        RestoreAccepted => vec![REMOVED],
        RestoreBegun if behind => vec![BEGUN, DIED_RESTORING, REMOVED],
        RestoreInitiated if behind => vec![RESTORE, DIED_RESTORING, REMOVED],
        RestoreBegun | RestoreInitiated | RestoreComplete => vec![DIED_RESTORING, REMOVED],
    }
}

/// Those that are left and one that joins: what one sends the others get, time goes on, and they are saved and restored.
fn goes_on(f: &mut Federation, left: &[&str]) {
    f.join("D");
    let i = f.interaction("I");
    say(f, &["D"], |l| {
        l.publish_interaction_class(i)?;
        l.subscribe_interaction_class(i, true)
    });
    f.run();
    let all = [left, &["D"]].concat();
    for sender in &all {
        say(f, &[sender], |l| l.send_interaction(i, &[], b""));
        for name in all.iter().filter(|name| *name != sender) {
            assert_eq!(told(f, name), ["receiveInteraction"], "{sender} to {name}");
        }
    }
    say(f, &all, |l| l.time_advance_request(at(20.0)));
    for name in &all {
        assert_eq!(told(f, name), ["timeAdvanceGrant"], "{name}");
    }
    let task = save(f, &all, "later");
    let later = written(f, &all, task);
    say(f, &all[1..2], |l| l.request_federation_restore("later"));
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, later);
    // Who asked hears of it first, and all of the next when all have heard of it.
    let heard = [&all[1..2], &all[..1], &all[2..]].concat();
    for name in heard.iter().chain(&all) {
        told(f, name);
    }
    say(f, &all, |l| l.federate_restore_complete());
    for name in &all {
        assert_eq!(told(f, name), ["federationRestored"], "{name}");
    }
}

fn dies(stage: Stage, dead: &str) {
    let (mut f, kept) = three();
    let f = &mut f;
    let task = come_to(stage, f, &kept);
    f.lose(dead);
    let left = ALL.map(|name| (name != dead).then_some(name));
    let left: Vec<&str> = left.into_iter().flatten().collect();
    for name in &left {
        let now = told(f, name);
        assert_eq!(
            now,
            heard(stage, name, dead),
            "{name}, without {dead}: {stage:?}"
        );
    }
    match (stage, task) {
        (SaveScheduled, _) => {
            say(f, &left, |l| l.time_advance_request(at(10.0)));
            for name in &left {
                assert_eq!(told(f, name), [INITIATE], "{name}, without {dead}");
            }
            say(f, &left, |l| l.federate_save_begun());
            say(f, &left, |l| l.federate_save_complete());
            f.run();
            let task = f.archives().remove(0);
            f.archived(&task, Archived::Written);
            for name in &left {
                assert_eq!(told(f, name), ["federationSaved", "timeAdvanceGrant"]);
            }
        }
        // It was decided by all, and only its writing could fail.
        (_, Some(task)) if stage == SaveWriting => {
            f.archived(&task, Archived::Written);
            for name in &left {
                assert_eq!(told(f, name), ["federationSaved", REMOVED]);
            }
        }
        (_, Some(task)) => {
            f.archived(&task, kept);
            for name in &left {
                let refused = ["requestFederationRestoreFailed"];
                let refused = &refused[..usize::from(*name == "A")];
                assert_eq!(told(f, name), refused, "{name}, without {dead}");
            }
        }
        _ => assert_eq!(f.archives(), []),
    }
    goes_on(f, &left);
}

#[test]
fn at_each_stage_of_a_save_and_of_a_restore_anybody_may_die() {
    for stage in STAGES {
        for dead in ALL {
            dies(stage, dead);
        }
    }
}
