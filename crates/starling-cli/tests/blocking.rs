//! What system calls an update call of a federate with a background thread makes: none that could wait for others while the
//! send queue has room, whoever does not read; and once it is full, one that waits until there is room again.
//!
//! Seen by strace. Where there is none these tests say that they were left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::{Ears, Federate, PATIENCE, Rtiexec, until};
use starling::{CallbackModel, RtiAmbassador};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// Of each message, without its head.
const BYTES: u64 = 1000;
/// The federate marks its way behind so many.
const STEP: u64 = 100;
const COUNT: u64 = 8_000;
/// What has room on a link to another federate unless it is set.
const RING: u64 = 1 << 20;
/// What may wait.
const QUEUE: u64 = 1 << 20;

/// A federate that sends a few messages until it is told to go on, and then many, of which it marks the beginning, each
/// step and the end by a system call that nothing else makes.
#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os("NUMBERS_SETTINGS").is_some() {
        return numbers::federate();
    }
    let Ok(settings) = std::env::var("MARKS_SETTINGS") else {
        return Ok(());
    };
    let fault = |e: starling::Exception| e.to_string();
    let (to, _heard) = channel();
    let rti = RtiAmbassador::new();
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .map_err(fault)?;
    let fom = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml");
    let _ = rti.create_federation_execution("Near", &[fom.display().to_string()], None, "");
    let own = rti
        .join_federation_execution(Some("sender"), "t", "Near", &[])
        .map_err(fault)?;
    let class = rti
        .interaction_class_handle("CustomerTransactions")
        .map_err(fault)?;
    rti.publish_interaction_class(class).map_err(fault)?;
    let (to, goes) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        to.send(line)
    });
    println!("joined");
    let mut tag = [0; BYTES as usize];
    tag[8..16].copy_from_slice(&u64::from(own.0).to_le_bytes());
    let mut number = 0_u64;
    let mut send = || {
        tag[..8].copy_from_slice(&number.to_le_bytes());
        number += 1;
        rti.send_interaction(class, &[], &tag).map_err(fault)
    };
    while goes.try_recv().is_err() {
        send()?;
        rti.evoke_callback(0.001).map_err(fault)?;
    }
    let mark = |what: &str| std::fs::metadata(format!("/starling-mark-{what}")).is_ok();
    for n in 0..COUNT {
        if n.is_multiple_of(STEP) {
            mark("step");
        }
        send()?;
    }
    mark("end");
    println!("sent");
    loop {
        rti.evoke_callback(1.0).map_err(fault)?;
    }
}

/// A federate that strace watches.
struct Watched {
    strace: Child,
    says: Receiver<String>,
    log: std::path::PathBuf,
    _directory: tempfile::TempDir,
}

impl Watched {
    /// None, and said so, where there is no strace; but not where it is demanded.
    fn start(settings: &str) -> Option<Self> {
        let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
        let works = Command::new("strace")
            .args(["-o", "/dev/null", "true"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        assert!(works || !demanded, "CI is set, but strace does not work");
        if !works {
            let _ = writeln!(std::io::stderr(), "left out: strace does not work here");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut strace = Command::new("strace")
            .args(["-f", "-s", "40", "-o"])
            .arg(&log)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "federate", "--ignored", "--nocapture"])
            .env("MARKS_SETTINGS", settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(strace.stdout.take().unwrap()).lines();
        let (to, says) = channel();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
        });
        let watched = Watched {
            strace,
            says,
            log,
            _directory: directory,
        };
        watched.says("joined");
        Some(watched)
    }

    fn says(&self, what: &str) {
        while self.says.recv_timeout(PATIENCE).expect(what) != what {}
    }

    /// What the thread that marks its way has called since it began, with the first arguments; marks among it.
    fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap();
        let mut own = None;
        let mut calls = Vec::<String>::new();
        for line in log.lines() {
            let Some((thread, call)) = line.split_once(' ') else {
                continue;
            };
            if call.contains("/starling-mark-") {
                own = Some(thread);
            }
            let call = call.trim_start();
            if own != Some(thread) {
                continue;
            }
            // What another thread's calls stand between is one call.
            match calls.last_mut() {
                Some(begun) if call.starts_with("<...") => begun.push_str(call),
                _ => calls.push(call.to_owned()),
            }
        }
        calls
    }

    /// Whether a descriptor never waits.
    fn is_non_blocking(&self, descriptor: &str) -> bool {
        let children = format!("/proc/{0}/task/{0}/children", self.strace.id());
        let children = std::fs::read_to_string(children).unwrap();
        let process = children.split_whitespace().next().unwrap();
        let info = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = u32::from_str_radix(flags.unwrap().trim(), 8).unwrap();
        flags & 0o4000 != 0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // strace takes what it watches with it.
        let children = format!("/proc/{0}/task/{0}/children", self.strace.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        for process in children.split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", process]).status();
        }
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

/// How a call of the sending thread is to be taken.
#[derive(Debug, PartialEq, Eq)]
enum Sort {
    /// The federate's own.
    Mark,
    /// It does not wait: on a descriptor that must be one that never does, or none.
    Quick(Option<String>),
    /// It waits for what others do.
    Waits,
}

fn sort(call: &str) -> Sort {
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    let first = || arguments.split([',', ')', ' ']).next().unwrap().to_owned();
    match name {
        _ if call.contains("/starling-mark-") => Sort::Mark,
        "sendmsg" | "sendto" | "write" | "writev" => Sort::Quick(Some(first())),
        "timerfd_settime" | "sched_yield" | "brk" | "mmap" | "munmap" | "mremap" | "madvise"
        | "getpid" | "clock_gettime" | "mprotect" => Sort::Quick(None),
        // Of the lock that the two threads of the federate hand each other, which neither holds while it waits.
        "futex" => Sort::Quick(None),
        _ => Sort::Waits,
    }
}

/// A federate that has sent all, or is at it, while another process does not run.
struct Stopped {
    watched: Watched,
    receiver: Federate,
    stopped: String,
    _rtiexec: Rtiexec,
}

impl Stopped {
    /// Its data takes this way; `stops`: who does not run from when on it sends what it marks.
    fn start(
        by_rtiexec: &[(&str, &str)],
        settings: &str,
        way: &str,
        stops: impl Fn(&Rtiexec, &Federate) -> u32,
    ) -> Option<Self> {
        let rtiexec = Rtiexec::start(settings, by_rtiexec);
        let settings = format!(
            "{};connect.timeout_s=100;fault.heartbeat_s=3600;{settings}",
            rtiexec.address
        );
        let watched = Watched::start(&settings)?;
        let receiver = Federate::start(&rtiexec, "receiver", "receiver", "");
        rtiexec.until_path(way, 1);
        receiver.until("on", 1);
        let stopped = stops(&rtiexec, &receiver).to_string();
        let all = Stopped {
            watched,
            receiver,
            stopped,
            _rtiexec: rtiexec,
        };
        all.signal("-STOP");
        writeln!(all.watched.strace.stdin.as_ref().unwrap(), "go").unwrap();
        Some(all)
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.stopped]).status();
        assert!(sent.unwrap().success());
    }
}

/// Where others do not read, calls go on until as much waits as may, and not for long after that; then one waits, until they
/// read.
fn until_full(settings: &str, way: &str, stops: impl Fn(&Rtiexec, &Federate) -> u32) {
    let settings = format!("limits.send_queue_bytes={QUEUE};{settings}");
    let Some(all) = Stopped::start(&[], &settings, way, stops) else {
        return;
    };
    let watched = &all.watched;
    let mut calls = Vec::new();
    until("it waits", || {
        calls = watched.calls();
        calls.iter().any(|call| sort(call) == Sort::Waits)
    });
    let first = calls.iter().position(|call| sort(call) == Sort::Waits);
    let first = first.expect("it was just seen");
    let steps = calls[..first].iter().filter(|c| sort(c) == Sort::Mark);
    // Of the last step perhaps nothing.
    let sent = (steps.count() as u64).saturating_sub(1) * STEP * BYTES;
    assert!(
        sent >= QUEUE,
        "after {sent} bytes it waits: {}",
        calls[first]
    );
    let descriptors: BTreeSet<_> = calls[..first]
        .iter()
        .filter_map(|call| match sort(call) {
            Sort::Quick(descriptor) => descriptor,
            _ => None,
        })
        .collect();
    for descriptor in descriptors {
        let is = watched.is_non_blocking(&descriptor);
        assert!(is, "descriptor {descriptor} may block");
    }
    // It does not go on by itself, and not for nothing: what waits is for whoever goes on.
    assert!(!calls.iter().any(|call| call.contains("mark-end")));
    assert!(
        calls[first].starts_with("ppoll(") || calls[first].starts_with("poll("),
        "{}",
        calls[first]
    );
    all.signal("-CONT");
    watched.says("sent");
    all.receiver.until("on", 5);
}

/// What the sizes are unless they are set: less has room on a link itself than may wait. When that is full, one call waits for
/// who does not read, for 50 ms at most by what it asks the system for; then no further one until as much waits as may.
/// `must`: it has to, as these count from when it finds no room.
fn waits_once(by_rtiexec: &[(&str, &str)], settings: &str, way: &str, must: bool) {
    const PATIENCE_NS: u64 = 50_000_000;
    const QUEUE: u64 = 4 << 20;
    let stops = |_: &Rtiexec, receiver: &Federate| receiver.child.id();
    let Some(all) = Stopped::start(by_rtiexec, settings, way, stops) else {
        return;
    };
    let mut calls = Vec::new();
    let is_mark = |call: &&String| sort(call) == Sort::Mark;
    until("it has sent as much as may wait", || {
        calls = all.watched.calls();
        calls.iter().filter(is_mark).count() as u64 * STEP * BYTES > QUEUE
    });
    // How much it had marked, and what it asked for.
    let (mut marks, mut waits) = (0, Vec::new());
    for call in &calls {
        match sort(call) {
            Sort::Mark if marks * STEP * BYTES > QUEUE => break,
            Sort::Mark => marks += 1,
            // Who asks for no time only looks. That no other call waits is seen where none has to.
            Sort::Waits if asks_for_time(call) => waits.push((marks, call)),
            _ => {}
        }
    }
    assert!(
        !(must && waits.is_empty()),
        "the link is smaller than what may wait, and nobody waited for it: say so"
    );
    if let Some((at, _)) = waits.first() {
        assert!(at * STEP * BYTES >= RING, "{waits:#?}");
        assert!(waits.iter().all(|(marks, _)| marks == at), "{waits:#?}");
    }
    // All of it is one wait, whatever else was due meanwhile.
    let mut waited = 0;
    for (_, call) in &waits {
        let asked = timeout_ns(call).unwrap_or_else(|| panic!("it waits for ever: {call}"));
        assert!(waited + asked <= PATIENCE_NS, "{waits:#?}");
        if call.ends_with("(Timeout)") {
            waited += asked;
        }
    }
    all.signal("-CONT");
    all.watched.says("sent");
    all.receiver.until("on", 5);
}

fn asks_for_time(call: &str) -> bool {
    (call.contains("poll(") || call.contains("sleep(")) && timeout_ns(call) != Some(0)
}

/// How long it waits at most.
fn timeout_ns(call: &str) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let digits = call.split(name).nth(1)?;
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits[..end].parse().ok()
    };
    Some(number("tv_sec=")? * 1_000_000_000 + number("tv_nsec=")?)
}

#[test]
fn while_there_is_room_no_call_waits_for_rtiexec() {
    let settings = "transport.shared_memory=off";
    let way = "rtiexec (transport.shared_memory = off)";
    until_full(settings, way, |rtiexec, _| rtiexec.child.id());
}

#[test]
fn while_there_is_room_no_call_waits_for_who_shares_memory() {
    let settings = "transport.ring_bytes=2097152";
    until_full(settings, "shared memory", |_, receiver| receiver.child.id());
}

/// Shows settings: limits.send_queue_bytes.
#[test]
fn by_default_one_call_waits_50_ms_for_who_shares_memory_and_reads_no_more() {
    waits_once(&[], "", "shared memory", true);
}

#[test]
fn by_default_one_call_waits_50_ms_at_most_for_who_has_a_tcp_link_and_reads_no_more() {
    let direct = "transport.path=direct;transport.shared_memory=off";
    let by_rtiexec = [("STARLING_TRANSPORT_PATH", "direct")];
    // They count from when its reader should have confirmed something, which may be as long ago here.
    waits_once(&by_rtiexec, direct, "direct tcp", false);
}
