//! Federates in processes of their own that share memory, and what becomes of the others when one of
//! them is killed or stopped while data flows: they lose nothing, and nothing is left.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::capture::MARK;
use numbers::lossy::{self, counter};
use numbers::{Federate, Rtiexec, all_go_on, descriptors, signal, until};
use std::io::Write;
use std::process::Command;

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    lossy::federate()?;
    numbers::federate()
}

const SHARED: &str = "shared memory";

/// Its federates share memory, as they do unless they are told otherwise.
fn start() -> Rtiexec {
    start_by(&[])
}

fn start_by(by: &[&str]) -> Rtiexec {
    Rtiexec::start_by(by, None, "", &[])
}

#[test]
fn who_is_killed_leaves_nothing_and_the_others_lose_nothing() {
    let rtiexec = start();
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    rtiexec.until_all_by(SHARED, 2);
    near.hears(&[&sender]);
    let processes = [&rtiexec.child, &sender.child, &near.child];
    let count = || processes.map(descriptors);
    let before = count();
    for role in ["receiver", "sender", "receiver", "sender"] {
        let victim = Federate::start(&rtiexec, role, "victim", "");
        rtiexec.until_all_by(SHARED, 3);
        all_go_on(&[&sender, &near, &victim]);
        let all = count();
        assert!(
            all.iter().zip(before).all(|(now, then)| *now > then),
            "{all:?}"
        );
        // Drop kills with SIGKILL.
        drop(victim);
        rtiexec.until_members(2);
        near.hears(&[&sender]);
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
    slow.hears(&[&sender]);
    for _ in 0..2 {
        slow.signal("-STOP");
        rtiexec.until_path(SHARED, 1);
        near.hears(&[&sender]);
        slow.signal("-CONT");
        slow.hears(&[&sender]);
        near.hears(&[&sender]);
        rtiexec.until_path(SHARED, 2);
    }
    sender.sends_on();
}

/// Nor does best-effort data wait for anybody who is stopped, by whatever way; each message that does not come is counted where it
/// was to come.
#[test]
fn who_is_stopped_loses_best_effort_data_and_holds_up_nobody() {
    const SENT: u64 = 100_000;
    for (settings, ways) in [("", 2), (";transport.shared_memory=off", 0)] {
        let rtiexec = start();
        let settings = format!(
            "connect.address={};fault.heartbeat_s=0.2{settings}",
            rtiexec.address
        );
        let start = |name| lossy::Federate::start_by(&["env"], name, &settings);
        let [mut sender, mut near, mut slow] = ["sender", "near", "slow"].map(start);
        rtiexec.until_path(SHARED, ways);
        for receiver in [&mut near, &mut slow] {
            receiver.told("hear 0");
            until("subscribed", || {
                sender.told("send 0 1");
                receiver.told("tell")[0] > 0
            });
        }
        signal(&slow.child, "-STOP");
        let sent = sender.told(&format!("send 0 {SENT}"))[3];
        signal(&slow.child, "-CONT");
        for (name, receiver) in [("near", &mut near), ("slow", &mut slow)] {
            until("each has come or is counted", || {
                let [came, _, first, _] = receiver.told("tell");
                came + counter(&rtiexec, name, "lost") == sent - first
            });
        }
        assert!(counter(&rtiexec, "slow", "lost") > SENT / 2);
    }
}

/// By strace: what a federate sends by another way its process hands to the system, and in shared memory none of it.
///
/// Where there is no strace this test says that it was left out; where the variable CI is set it fails.
#[test]
fn no_message_goes_through_a_socket_where_memory_is_shared() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log").display().to_string();
    let calls = "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,sendmmsg,splice,sendfile";
    // With itself as the federate's child: who kills the federate ends both.
    let by = [
        "strace", "-D", "-f", "-s", "100000", "-e", calls, "-o", &log,
    ];
    if !works(&by) {
        return;
    }
    let mark = std::str::from_utf8(MARK).unwrap();
    for (settings, way) in [
        ("", SHARED),
        (
            "transport.shared_memory=off",
            "rtiexec (transport.shared_memory = off)",
        ),
    ] {
        let rtiexec = start();
        let sender = Federate::start_by(&by, &rtiexec, "paced", "sender", settings);
        let near = Federate::start(&rtiexec, "receiver", "near", "");
        rtiexec.until_path(way, 1);
        near.hears(&[&sender]);
        let before = std::fs::metadata(&log).unwrap().len();
        near.until("on", 5);
        rtiexec.until_path(way, 1);
        let calls = std::fs::read_to_string(&log).unwrap();
        let messages = calls[before as usize..].matches(mark).count();
        match way {
            SHARED => assert_eq!(messages, 0),
            _ => assert!(messages > 4000, "{messages} of 5000 are seen"),
        }
    }
}

/// Whoever may have only a few descriptors gets its data all the same, one way or the other, and it is
/// shown which, and why.
#[test]
fn who_may_have_few_descriptors_is_served_by_rtiexec() {
    let rtiexec = start();
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = ["a", "b", "c", "d"].map(|name| Federate::start(&rtiexec, "receiver", name, ""));
    rtiexec.until_path(SHARED, 4);
    let passes = ["not set up yet", "has not offered", "fast enough"];
    let mut shown = rtiexec.ways_to_who_has_few_descriptors(&sender, &passes);
    near.iter().for_each(|near| near.hears(&[&sender]));
    assert!(shown.remove(SHARED), "{shown:?}");
    // Its own memory takes too many, or that of the others.
    for part in ["no memory to share", "it can't take the other's memory"] {
        assert!(shown.iter().any(|way| way.contains(part)), "{shown:?}");
    }
    let many = |way: &String| way.to_lowercase().contains("too many open files");
    assert!(shown.iter().all(many), "{shown:?}");
}

/// The system would end a process that makes a file beyond the limit, memory to share too.
#[test]
fn who_may_have_small_files_only_is_served_by_rtiexec() {
    let rtiexec = start();
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let by = ["sh", "-c", "ulimit -f 100; exec \"$0\" \"$@\""];
    let few = Federate::start_by(&by, &rtiexec, "receiver", "few", "");
    few.hears(&[&sender]);
    until("the reason is shown", || {
        rtiexec.path("sender", "few").contains("ulimit -f")
    });
    few.hears(&[&sender]);
}

/// An rtiexec that may have only a few descriptors keeps some for those that join.
#[test]
fn an_rtiexec_that_may_have_few_descriptors_serves_all() {
    let rtiexec = start_by(&["sh", "-c", "ulimit -n 40; exec \"$0\" \"$@\""]);
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let first = Federate::start(&rtiexec, "receiver", "first", "");
    rtiexec.until_path(SHARED, 1);
    let others = (0..8).map(|n| {
        let name = format!("other {n}");
        Federate::start(&rtiexec, "receiver", &name, "")
    });
    let others: Vec<_> = others.collect();
    for receiver in others.iter().chain([&first]) {
        receiver.hears(&[&sender]);
    }
    let last = rtiexec.path("sender", "other 7");
    assert!(last.contains("rtiexec has too many open files"), "{last}");
}

#[test]
fn when_rtiexec_is_killed_all_learn_it() {
    let mut rtiexec = start();
    let mut sender = Federate::start(&rtiexec, "sender", "sender", "");
    let mut near = Federate::start(&rtiexec, "receiver", "near", "");
    rtiexec.until_path(SHARED, 1);
    near.hears(&[&sender]);
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
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    let off = Federate::start(&rtiexec, "receiver", "off", "transport.shared_memory=off");
    rtiexec.until_path(SHARED, 1);
    rtiexec.until_path("rtiexec (of the other: transport.shared_memory = off)", 1);
    near.hears(&[&sender]);
    off.hears(&[&sender]);
}

/// What was on its way in rings when the federation was saved comes once after it is restored, and
/// what was sent since does not.
#[test]
fn a_restore_gives_back_what_was_in_rings() {
    numbers::are_restored(&start(), SHARED);
}

/// Whether programs can be started in this way here. Else the test is left out; not where all are demanded.
fn works(by: &[&str]) -> bool {
    let tried = Command::new(by[0]).args(&by[1..]).arg("true").output();
    let works = tried.is_ok_and(|done| done.status.success());
    let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
    assert!(works || !demanded, "CI is set, but {by:?} does not work");
    if !works {
        // Not hidden by the test harness, unlike the print macros.
        let _ = writeln!(std::io::stderr(), "left out: {by:?} does not work here");
    }
    works
}

/// The names of files, processes and networks that a process sees differ, the memory that it is handed does not.
#[test]
fn who_has_namespaces_of_its_own_shares_memory_all_the_same() {
    let mount = "mount -t tmpfs none /dev/shm && exec \"$0\" \"$@\"";
    let apart = |more: &[&'static str]| {
        let unshare = ["unshare", "--map-root-user", "--mount", "--ipc"];
        [&unshare[..], more, &["sh", "-c", mount]].concat()
    };
    for more in [
        &[][..],
        &["--net", "--uts"],
        &["--pid", "--fork", "--kill-child"],
    ] {
        let apart = apart(more);
        if !works(&apart) {
            continue;
        }
        let rtiexec = start();
        let sender = Federate::start(&rtiexec, "sender", "sender", "");
        let elsewhere = Federate::start_by(&apart, &rtiexec, "receiver", "apart", "");
        rtiexec.until_path(SHARED, 1);
        elsewhere.hears(&[&sender]);
    }
}

/// Another user's federate gets no memory of this one's; it is served all the same, and it is shown why.
#[test]
fn who_runs_as_another_user_is_served_by_rtiexec() {
    let other = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    if !works(&other) {
        return;
    }
    let mut rtiexec = Rtiexec::start_by(&[], Some("127.0.0.1:0"), "", &[]);
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let near = Federate::start(&rtiexec, "receiver", "near", "");
    rtiexec.until_path(SHARED, 1);
    // By its Unix-domain address nobody else gets in.
    let refused = Federate::try_start_by(&other, &rtiexec, "receiver", "stranger", "");
    assert!(refused.is_none());
    let tcp = rtiexec.tcp.clone().expect("an address for others");
    let own = std::mem::replace(&mut rtiexec.address, tcp);
    let stranger = Federate::start_by(&other, &rtiexec, "receiver", "stranger", "");
    rtiexec.address = own;
    let no_link = "rtiexec (of the other: its link to rtiexec is no Unix-domain one)";
    rtiexec.until_path(no_link, 1);
    rtiexec.until_path(SHARED, 1);
    all_go_on(&[&sender, &stranger, &near]);
}
