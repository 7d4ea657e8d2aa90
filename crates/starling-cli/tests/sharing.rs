//! Federates in processes of their own that share memory, and what becomes of the others when one of
//! them is killed or stopped while data flows: they lose nothing, and nothing is left.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::{Federate, Rtiexec, descriptors, until};
use std::collections::BTreeSet;
use std::process::Command;

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

const SHARED: &str = "shared memory";
const SETTINGS: &str = "transport.shared_memory=auto";

/// Its federates share memory.
fn start() -> Rtiexec {
    start_by(&[])
}

fn start_by(by: &[&str]) -> Rtiexec {
    let variables = [("STARLING_TRANSPORT_SHARED_MEMORY", "auto")];
    Rtiexec::start_by(by, None, SETTINGS, &variables)
}

#[test]
fn who_is_killed_leaves_nothing_and_the_others_lose_nothing() {
    let rtiexec = start();
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    rtiexec.until_path(SHARED, 1);
    near.goes_on();
    let processes = [&rtiexec.child, &sender.child, &near.child];
    let count = || processes.map(descriptors);
    let before = count();
    for role in ["receiver", "sender", "receiver", "sender"] {
        let victim = Federate::start(&rtiexec, role, "victim", "");
        victim.goes_on();
        rtiexec.until_path(SHARED, 2);
        near.goes_on();
        let all = count();
        assert!(
            all.iter().zip(before).all(|(now, then)| *now > then),
            "{all:?}"
        );
        // Drop kills with SIGKILL.
        drop(victim);
        rtiexec.until_members(2);
        near.goes_on();
        until("as before", || count() == before);
    }
    assert_eq!(rtiexec.descriptors(), before[0]);
}

#[test]
fn who_is_stopped_holds_up_nobody_and_loses_nothing() {
    let rtiexec = start();
    let sender = Federate::start(
        &rtiexec,
        "sender",
        "sender",
        "limits.send_queue_bytes=100000000",
    );
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    let slow = Federate::start(&rtiexec, "receiver", "slow", "");
    rtiexec.until_path(SHARED, 2);
    slow.goes_on();
    for _ in 0..2 {
        slow.signal("-STOP");
        rtiexec.until_path(SHARED, 1);
        near.goes_on();
        slow.signal("-CONT");
        slow.goes_on();
        near.goes_on();
        rtiexec.until_path(SHARED, 2);
    }
    sender.goes_on();
}

/// Whoever may have only a few descriptors gets its data all the same, one way or the other, and it is
/// shown which, and why.
#[test]
fn who_may_have_few_descriptors_is_served_by_rtiexec() {
    let rtiexec = start();
    let _sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = ["a", "b", "c", "d"].map(|name| Federate::start(&rtiexec, "receiver", name, ""));
    rtiexec.until_path(SHARED, 4);
    let mut shown = BTreeSet::new();
    for count in 14..32 {
        let limit = format!("ulimit -n {count}; exec \"$0\" \"$@\"");
        // Some are too few for a program to begin with.
        let start =
            || Federate::try_start_by(&["sh", "-c", &limit], &rtiexec, "receiver", "few", "");
        let Some(few) = start() else {
            rtiexec.until_members(5);
            continue;
        };
        few.goes_on();
        let mut way = String::new();
        until("settled", || {
            way = rtiexec.path("d", "few");
            let passes = ["not set up yet", "has not offered", "fast enough"];
            !passes.iter().any(|why| way.contains(why))
        });
        few.goes_on();
        drop(few);
        rtiexec.until_members(5);
        shown.insert(way);
    }
    near.iter().for_each(Federate::goes_on);
    assert!(shown.remove(SHARED), "{shown:?}");
    // Its own memory takes too many, or that of the others.
    for part in ["no memory to share", "it can't take the other's memory"] {
        assert!(shown.iter().any(|way| way.contains(part)), "{shown:?}");
    }
    let many = |way: &String| way.to_lowercase().contains("too many open files");
    assert!(shown.iter().all(many), "{shown:?}");
}

/// An rtiexec that may have only a few descriptors keeps some for those that join.
#[test]
fn an_rtiexec_that_may_have_few_descriptors_serves_all() {
    let rtiexec = start_by(&["sh", "-c", "ulimit -n 40; exec \"$0\" \"$@\""]);
    let _sender = Federate::start(&rtiexec, "sender", "sender", "");
    let first = Federate::start(&rtiexec, "receiver", "first", "");
    rtiexec.until_path(SHARED, 1);
    let others = (0..8).map(|n| {
        let name = format!("other {n}");
        Federate::start(&rtiexec, "receiver", &name, "")
    });
    let others: Vec<_> = others.collect();
    others.iter().chain([&first]).for_each(Federate::goes_on);
    let last = rtiexec.path("sender", "other 7");
    assert!(last.contains("rtiexec has too many open files"), "{last}");
}

#[test]
fn when_rtiexec_is_killed_all_learn_it() {
    let mut rtiexec = start();
    let mut sender = Federate::start(&rtiexec, "sender", "sender", "");
    let mut near = Federate::start(&rtiexec, "receiver", "near", "");
    rtiexec.until_path(SHARED, 1);
    near.goes_on();
    rtiexec.child.kill().unwrap();
    for federate in [&mut sender, &mut near] {
        let mut ended = None;
        until("Connection Lost", || {
            ended = federate.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(!ended.unwrap().success(), "it says why");
    }
}

#[test]
fn who_has_no_unix_domain_link_is_served_by_rtiexec() {
    let rtiexec = start();
    let _sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    let off = Federate::start(&rtiexec, "receiver", "off", "transport.shared_memory=off");
    rtiexec.until_path(SHARED, 1);
    rtiexec.until_path("rtiexec (of the other: transport.shared_memory = off)", 1);
    near.goes_on();
    off.goes_on();
}

/// What was on its way in rings when the federation was saved comes once after it is restored, and
/// what was sent since does not.
#[test]
fn a_restore_gives_back_what_was_in_rings() {
    numbers::are_restored(&start(), SHARED);
}

/// Whether programs can be started in this way here.
fn works(by: &[&str]) -> bool {
    let tried = Command::new(by[0]).args(&by[1..]).arg("true").output();
    tried.is_ok_and(|done| done.status.success())
}

/// The names of files that a process sees differ, the memory that it is handed does not. Runs where a
/// process may have a namespace of its own.
#[test]
fn who_has_another_dev_shm_shares_memory_all_the_same() {
    let mount = "mount -t tmpfs none /dev/shm && exec \"$0\" \"$@\"";
    let apart = [
        "unshare",
        "--mount",
        "--ipc",
        "--map-root-user",
        "sh",
        "-c",
        mount,
    ];
    if !works(&apart) {
        return;
    }
    let rtiexec = start();
    let _sender = Federate::start(&rtiexec, "sender", "sender", "");
    let elsewhere = Federate::start_by(&apart, &rtiexec, "receiver", "apart", "");
    rtiexec.until_path(SHARED, 1);
    elsewhere.goes_on();
}
