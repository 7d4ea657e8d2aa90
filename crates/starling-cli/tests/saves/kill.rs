//! rtiexec killed while it writes a save.

use super::refused::reserve_much;
use super::{FEDERATION, Federate, PATIENCE, Rtiexec, save, store};
use starling::Callback;
use starling_rtiexec::saves::decode;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How far a save has come, as rtiexec's log tells it.
const STAGES: [&str; 7] = [
    "not begun",
    "created",
    "half written",
    "written",
    "on the disk",
    "renamed",
    "done",
];

/// Stages that are over before a kill aimed at them comes: a lock and a renaming after them take so long, by strace.
const SHORT: [&str; 2] = ["created", "on the disk"];
const SLOW_US: u64 = 10_000;

const RENAMING: &str = "?rename,?renameat,?renameat2";

/// rtiexec as a child of this process that strace watches, with these options; its system calls of other names go on
/// as ever. None, and said so, where strace does not work; but not where the variable CI is set.
fn watched(calls: &str, log: &Path, options: &[&str]) -> Option<Command> {
    let works = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
        assert!(!demanded, "CI is set, but strace does not work");
        eprintln!("left out: strace does not work here");
        return None;
    }
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "--seccomp-bpf", "-o"]).arg(log);
    strace.arg(format!("--trace={calls}")).args(options);
    strace.arg(env!("CARGO_BIN_EXE_starling"));
    Some(strace)
}

/// rtiexec whose locks and renamings take a while, if that can be.
fn slowed() -> Command {
    let calls = format!("flock,{RENAMING}");
    let slow = format!("--inject={calls}:delay_enter={SLOW_US}");
    let strace = watched(&calls, Path::new("/dev/null"), &[&slow]);
    strace.unwrap_or_else(|| Command::new(env!("CARGO_BIN_EXE_starling")))
}

/// A kill loses nothing of what was written, but a host that stops may.
#[test]
fn a_save_is_forced_to_the_disk_before_it_takes_its_place_and_that_is_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("calls");
    let calls = format!("fsync,{RENAMING}");
    let Some(strace) = watched(&calls, &log, &["-y"]) else {
        return;
    };
    let rtiexec = Rtiexec::start_by(strace, directory.path(), &[]);
    let federate = Federate::join(&rtiexec.address, "A");
    save(&[&federate], "L");
    let log = fs::read_to_string(log).unwrap();
    let calls = log.lines().filter(|line| line.contains("/saves"));
    let calls: Vec<_> = calls
        .map(|line| match line {
            _ if line.contains("rename") => "its renaming",
            _ if line.contains(".tmp>") => "it is forced",
            _ => "its directory is forced",
        })
        .collect();
    let expected = ["it is forced", "its renaming", "its directory is forced"];
    assert_eq!(calls, expected, "{log}");
}

/// Kills rtiexec at a random moment after a save has come to the stage it is aimed at; how far it had
/// come then. The save before is there, or the new one, whole.
fn kill_while_saving(random: &mut fastrand::Rng, aim: &str) -> &'static str {
    let directory = tempfile::tempdir().unwrap();
    let is_short = SHORT.contains(&aim);
    let mut rtiexec = if is_short {
        Rtiexec::start_by(slowed(), directory.path(), &[])
    } else {
        Rtiexec::start(directory.path())
    };
    let saves = store(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    let reserve = |name: &str| {
        federate.rti.reserve_object_instance_name(name).unwrap();
        federate.expect("objectInstanceNameReservationSucceeded");
    };
    reserve("first");
    // So large that its writing takes a while.
    reserve_much(&federate, 4_000_000);
    save(&[&federate], "L");
    rtiexec.log_until("save: done\n");
    reserve("second");
    federate.rti.request_federation_save("L", None).unwrap();
    federate.expect("initiateFederateSave");
    federate.rti.federate_save_begun().unwrap();
    federate.rti.federate_save_complete().unwrap();
    // Its thread for callbacks sends the rest of its part.
    let mut log = String::new();
    let mut told = false;
    if aim == "not begun" {
        let moment = Instant::now() + Duration::from_micros(random.u64(..30_000));
        while Instant::now() < moment {
            let _ = federate.rti.evoke_callback(0.0);
            let heard = federate.heard.try_recv();
            told |= matches!(heard, Ok(Callback::FederationSaved));
        }
    } else {
        let _ = federate.rti.evoke_callback(0.0);
        if aim == "created" {
            // Its log would say so too late.
            let latest = Instant::now() + PATIENCE;
            while beside(saves.directory()).is_none() {
                assert!(Instant::now() < latest, "it does not begin to write");
            }
        } else {
            log = rtiexec.log_until(&format!("save: {aim}\n"));
        }
        // Rather soon where the stage takes as long as it takes.
        let latest = if is_short { SLOW_US } else { random.u64(..300) };
        let moment = Instant::now() + Duration::from_micros(random.u64(..=latest));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
    }
    rtiexec.child.kill().unwrap();
    rtiexec.child.wait().unwrap();
    // Until its end has been read.
    while let Ok(line) = rtiexec.log.recv() {
        log = log + &line + "\n";
    }
    let saved = saves.read(FEDERATION, "L").unwrap();
    let whole = fs::metadata(saves.path(FEDERATION, "L")).unwrap().len() as usize;
    let has = |name: &str| saved.execution.object.reserved.contains_key(name);
    let place = |stage: &str| STAGES.iter().position(|s| *s == stage).expect("a stage");
    // The log may lag behind.
    let mut stages = log.lines().filter_map(|l| Some(l.split_once("save: ")?.1));
    let logged = place(stages.next_back().unwrap_or(STAGES[0]).trim());
    let left = beside(saves.directory()).map(|left| fs::read(left).unwrap());
    let found = place(match left {
        _ if told => "done",
        _ if has("second") => "renamed",
        None => "not begun",
        Some(bytes) if bytes.len() < whole / 2 => "created",
        Some(bytes) if decode(&bytes).is_err() => "half written",
        Some(_) => "written",
    });
    let stage = STAGES[found.max(logged)];
    assert!(has("first"), "killed when {stage}");
    let renamed = logged.max(found) >= place("renamed");
    assert_eq!(has("second"), renamed, "killed when {stage}");
    stage
}

/// Where a save is written beside its place.
fn beside(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|e| e == "tmp"))
}

/// How often each stage was hit: by so many kills, and by as many more, at most twice that, as it takes until each
/// was hit so often. A busy machine wakes whoever reads rtiexec's log too late for some.
fn kill_at_random_moments(times: usize, least: usize) -> BTreeMap<&'static str, usize> {
    let seed = std::env::var("SAVES_SEED").ok();
    let seed = seed.map_or(1, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut histogram: BTreeMap<_, _> = STAGES.iter().map(|stage| (*stage, 0)).collect();
    let mut kills = 0;
    while kills < 3 * times {
        let aim = if kills < times {
            STAGES[kills % STAGES.len()]
        } else {
            match STAGES.iter().find(|stage| histogram[**stage] < least) {
                Some(missed) => missed,
                None => break,
            }
        };
        *histogram
            .entry(kill_while_saving(&mut random, aim))
            .or_default() += 1;
        kills += 1;
    }
    eprintln!("seed {seed}, {kills} kills, by how far the save had come: {histogram:?}");
    histogram
}

#[test]
fn a_kill_while_saving_leaves_the_save_before() {
    kill_at_random_moments(STAGES.len(), 0);
}

/// `make campaign-saves`.
#[test]
#[ignore = "takes minutes"]
fn campaign() {
    let times = std::env::var("SAVES_KILLS").ok();
    let times = times.map_or(200, |n| n.parse().unwrap());
    let least = times.min(200) / 20;
    let hit = kill_at_random_moments(times, least);
    assert!(
        hit.values().all(|n| *n >= least),
        "each stage at least {least} times"
    );
}
