//! How often an idle federation wakes: a joined federate that only evokes, for a second each, and its rtiexec.

#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::{Federate, Rtiexec};
use std::process::Child;
use std::time::{Duration, Instant};

/// How often each may wake in a second.
const WAKES: u64 = 3;
/// What happens once in several seconds happens so often in it, more or less once.
const SPAN: Duration = Duration::from_secs(8);

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

/// How often all threads of a process have slept.
fn sleeps(process: &Child) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let all = tasks.map(|task| {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse::<u64>().unwrap()
    });
    all.sum()
}

#[test]
fn who_is_idle_wakes_seldom() {
    // Side by side, as each only waits.
    std::thread::scope(|scope| {
        for (settings, federates) in [
            ("", 1),
            ("transport.shared_memory=off", 1),
            ("callbacks.io=single-threaded", 1),
            ("", 2),
        ] {
            scope.spawn(move || wakes_seldom(settings, federates));
        }
    });
}

fn wakes_seldom(settings: &str, federates: usize) {
    let rtiexec = Rtiexec::start(settings, &[]);
    let names = &["one", "two"][..federates];
    let federates = names.iter();
    let federates: Vec<_> = federates
        .map(|name| Federate::start(&rtiexec, "receiver", name, ""))
        .collect();
    rtiexec.until_members(federates.len());
    let all = || {
        let federates = federates.iter().map(|federate| sleeps(&federate.child));
        [sleeps(&rtiexec.child)].into_iter().chain(federates)
    };
    // They have just begun.
    std::thread::sleep(Duration::from_secs(2));
    let (before, since) = (all().collect::<Vec<_>>(), Instant::now());
    std::thread::sleep(SPAN);
    let after: Vec<_> = all().collect();
    // The part of a second that is begun, too.
    let most = WAKES * (since.elapsed().as_secs() + 1);
    let woken: Vec<_> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    assert!(
        woken.iter().all(|woken| *woken <= most),
        "rtiexec and federates woke {woken:?} times, with '{settings}'; {most} are allowed"
    );
}
