//! Federates that come by forwarders: nothing is missing, wherever they are, a message crosses a link between sites
//! once, and who dies takes only those behind it along.
//!
//! Sites are network namespaces of this machine where that matters, which needs root and iproute2. Elsewhere these
//! tests say that they were left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::forwarder::Forwarder;
use numbers::lossy::{self, counter};
use numbers::namespaces::Sites;
use numbers::{Federate, Rtiexec, all_go_on, signal, until};
use starling_wire::{
    Frame, Hello, OnTrunk, VERSION, Welcome, put_hello, put_welcome, read_on_trunk, split_frame,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    lossy::federate()?;
    numbers::federate()
}

/// As long as a machine with other work may take for what is done at once.
const TIMEOUT_S: u64 = 60;

fn ended(federate: &mut Federate) {
    let mut ended = None;
    until("Connection Lost", || {
        ended = federate.child.try_wait().unwrap();
        ended.is_some()
    });
    assert!(!ended.unwrap().success(), "it says why");
}

fn path_of(rtiexec: &Rtiexec, name: &str) -> String {
    let members = rtiexec.members();
    let member = members.iter().find(|m| m["name"] == name).unwrap();
    member["path"].as_str().unwrap().to_owned()
}

/// A forwarder beside rtiexec, and another one behind that: each sender's numbers come to all others, whole and in
/// order, and `starling ps` says who comes by whom.
#[test]
fn in_a_tree_of_forwarders_nothing_is_missing() {
    let rtiexec = Rtiexec::start("", &[]);
    let near = Forwarder::start(&rtiexec.address);
    let far = Forwarder::start(&near.address);
    let sender = Federate::start(&rtiexec, "both", "sender", "");
    let others = [
        near.federate(&rtiexec, "both", "near"),
        far.federate(&rtiexec, "both", "far"),
        far.federate(&rtiexec, "receiver", "farther"),
    ];
    rtiexec.until_members(4);
    // The first, the second, or both of them pass it on.
    for (from, to) in [("near", "far"), ("far", "farther"), ("far", "near")] {
        until("passed on", || rtiexec.path(from, to) == "forwarder");
    }
    assert!(rtiexec.path("sender", "near").starts_with("rtiexec"));
    assert!(rtiexec.path("far", "sender").starts_with("rtiexec"));
    let [near, far, farther] = &others;
    all_go_on(&[&sender, near, far, farther]);
    assert_eq!(path_of(&rtiexec, "sender"), "unix");
    assert_eq!(path_of(&rtiexec, "near"), "unix by forwarder unix");
    assert_eq!(
        path_of(&rtiexec, "far"),
        "unix by forwarder unix by forwarder unix"
    );
}

/// What the others hang on: where nothing comes, it is seen, however much is sent and comes of others.
#[test]
fn who_hears_nothing_is_found_out() {
    let rtiexec = Rtiexec::start("", &[]);
    let both = Federate::start(&rtiexec, "both", "both", "");
    let deaf = Federate::start(&rtiexec, "sender", "deaf", "");
    all_go_on(&[&both, &deaf]);
    let soon = Duration::from_secs(1);
    let nothing = deaf.tries_to_hear(&[&both], soon).unwrap_err();
    assert!(nothing.contains("on "), "{nothing}");
    // It hears one of them.
    assert!(both.tries_to_hear(&[&deaf, &both], soon).is_err());
    both.hears(&[&deaf]);
}

/// SIGKILL for one of two forwarders: its federates learn it, and at which forwarder, before they would take it for silent.
/// The others go on without loss: they are the same members, and their data takes the same ways.
#[test]
fn who_comes_by_a_forwarder_that_dies_is_told_and_the_others_go_on() {
    let rtiexec = Rtiexec::start(&format!("fault.timeout_s={TIMEOUT_S}"), &[]);
    let one = Forwarder::start(&rtiexec.address);
    let near = one.federate(&rtiexec, "both", "near");
    let nearer = one.federate(&rtiexec, "both", "nearer");
    let sender = Federate::start(&rtiexec, "both", "sender", "");
    let stay = [&near, &nearer, &sender];
    until("passed on", || {
        rtiexec.path("near", "nearer") == "forwarder"
    });
    let ways = || {
        let ways = [("near", "nearer"), ("near", "sender"), ("sender", "near")];
        let handles: Vec<_> = rtiexec
            .members()
            .iter()
            .map(|m| m["handle"].clone())
            .collect();
        (handles, ways.map(|(from, to)| rtiexec.path(from, to)))
    };
    let before = ways();
    for _ in 0..3 {
        let other = Forwarder::start(&rtiexec.address);
        let behind = Forwarder::start(&other.address);
        let mut lost = [
            other.federate(&rtiexec, "both", "lost"),
            behind.federate(&rtiexec, "both", "lost, too"),
        ];
        rtiexec.until_members(5);
        all_go_on(&[&near, &nearer, &sender, &lost[0], &lost[1]]);
        let at = [other.address.clone(), behind.address.clone()];
        let begin = Instant::now();
        drop(other);
        for (federate, at) in lost.iter_mut().zip(at) {
            let why = federate.lost();
            let whom = format!("has lost the connection to the forwarder at {at} (process ");
            assert!(why.contains(&whom), "{why} has no '{whom}'");
            let took = begin.elapsed();
            assert!(
                took < Duration::from_secs(TIMEOUT_S),
                "{why} after {took:?}"
            );
        }
        rtiexec.until_members(3);
        all_go_on(&stay);
        assert_eq!(ways(), before);
        drop(behind);
    }
}

#[test]
fn when_rtiexec_is_killed_forwarders_end_and_all_learn_it() {
    let mut rtiexec = Rtiexec::start("", &[]);
    let log = [("STARLING_LOG_LEVEL", "info")];
    let mut near = Forwarder::start_by(&[], &rtiexec.address, None, &log);
    let mut far = Forwarder::start(&near.address);
    let mut federates = [
        near.federate(&rtiexec, "both", "near"),
        far.federate(&rtiexec, "both", "far"),
    ];
    all_go_on(&federates.each_ref());
    rtiexec.child.kill().unwrap();
    federates.iter_mut().for_each(ended);
    let near = near.last_words();
    assert!(near.contains("has lost its way to rtiexec"), "{near}");
    let gone = near.matches("the way on is gone");
    assert_eq!(gone.count(), 1, "{near}");
    let far = far.last_words();
    assert!(
        far.contains("it says: the forwarder has lost its way"),
        "{far}"
    );
}

/// The connection of a forwarder is compressed as any other is.
#[test]
fn a_trunk_may_be_compressed() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = port.local_addr().unwrap().to_string();
    drop(port);
    for method in ["lz4", "zstd"] {
        let variables = [
            ("STARLING_COMPRESS_METHOD", method),
            ("STARLING_NET_UNIX", "no"),
        ];
        let rtiexec = Rtiexec::start_by(&[], Some(&at), "", &variables);
        let forwarder = Forwarder::start_by(&[], &at, None, &variables);
        let near = forwarder.federate(&rtiexec, "both", "near");
        let other = forwarder.federate(&rtiexec, "receiver", "other");
        let sender = Federate::start(&rtiexec, "both", "sender", "");
        for _ in 0..3 {
            all_go_on(&[&near, &other, &sender]);
        }
        let path = path_of(&rtiexec, "near");
        assert!(
            path.starts_with("unix by forwarder tcp 127.0.0.1:"),
            "{path}"
        );
        assert!(path.ends_with(&format!(", {method}")), "{path}");
    }
}

#[test]
fn a_forwarder_without_an_rtiexec_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let run = |upstream: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_starling"))
            .arg("forwarder")
            .args(upstream)
            .arg("--run-dir")
            .arg(directory.path().join("run"))
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        (done.status.code().unwrap(), said)
    };
    let (code, said) = run(&[]);
    assert!(code == 2 && said.contains("--upstream HOST:PORT"), "{said}");
    let (code, said) = run(&["--upstream", "127.0.0.1:1"]);
    assert!(code == 3 && said.contains("refused"), "{said}");
}

/// Who joins and resigns, or is killed, beside others who go on.
#[test]
fn who_comes_and_goes_at_a_forwarder_leaves_the_others_whole() {
    let rtiexec = Rtiexec::start("", &[]);
    let near = Forwarder::start(&rtiexec.address);
    let far = Forwarder::start(&near.address);
    let stays = [
        near.federate(&rtiexec, "both", "near"),
        far.federate(&rtiexec, "both", "far"),
    ];
    for round in 0..4 {
        let by = if round % 2 == 0 { &near } else { &far };
        let comes = by.federate(&rtiexec, "both", "comes");
        for to in ["near", "far"] {
            until("passed on", || rtiexec.path("comes", to) == "forwarder");
        }
        all_go_on(&[&comes, &stays[0], &stays[1]]);
        if round < 2 {
            // SIGKILL.
            drop(comes);
        } else {
            let resigned = Command::new(env!("CARGO_BIN_EXE_starling"))
                .args(["resign", "comes", &rtiexec.address])
                .status();
            assert!(resigned.unwrap().success());
        }
        rtiexec.until_members(2);
        all_go_on(&stays.each_ref());
    }
}

/// What was on its way by a forwarder when the federation was saved comes once after it is restored.
#[test]
fn a_restore_gives_back_what_was_passed_on() {
    let mut rtiexec = Rtiexec::start("", &[]);
    let near = Forwarder::start(&rtiexec.address);
    rtiexec.settings = format!("connect.address={}", near.address);
    numbers::are_restored(&rtiexec, "forwarder");
}

/// One that is stopped holds up those who send to it, with a bounded part of the forwarder's memory, and gets all once it
/// goes on.
#[test]
fn who_is_stopped_behind_a_forwarder_loses_nothing() {
    let kept = ("STARLING_FAULT_TIMEOUT_S", "3600");
    let rtiexec = Rtiexec::start("", &[kept]);
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let variables = [
        kept,
        ("STARLING_LOG_LEVEL", "warning"),
        ("STARLING_LOG_FILE", log.to_str().unwrap()),
    ];
    let near = Forwarder::start_by(&[], &rtiexec.address, None, &variables);
    let sender = near.federate(&rtiexec, "sender", "sender");
    let [slow, other] = ["slow", "other"].map(|name| near.federate(&rtiexec, "receiver", name));
    rtiexec.until_path("forwarder", 2);
    for round in 1..3 {
        slow.signal("-STOP");
        until("the forwarder says whom it holds up", || {
            let said = std::fs::read_to_string(&log).unwrap();
            said.matches("too slowly and holds up").count() == round
        });
        let memory = std::fs::read_to_string(format!("/proc/{}/status", near.child.id()));
        let memory = memory.unwrap();
        let resident = memory
            .lines()
            .find_map(|l| l.strip_prefix("VmRSS:"))
            .unwrap();
        let kb: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        // limits.send_queue_bytes is 4 MiB.
        assert!(kb < 64 << 10, "{kb} kB");
        slow.signal("-CONT");
        all_go_on(&[&slow, &other, &sender]);
    }
}

/// But best-effort data waits for nobody: who is stopped does not get what there is no room for, at its forwarder or at the
/// one before, and each message that does not come is counted where it was to come. Reliable data between it comes.
#[test]
fn who_is_stopped_behind_a_forwarder_loses_best_effort_data_and_holds_up_nobody() {
    const SENT: u64 = 64_000;
    let kept = ("STARLING_FAULT_TIMEOUT_S", "3600");
    let rtiexec = Rtiexec::start("", &[kept]);
    let soon = [kept, ("STARLING_FAULT_HEARTBEAT_S", "0.2")];
    let one = Forwarder::start_by(&[], &rtiexec.address, None, &soon);
    let other = Forwarder::start_by(&[], &one.address, None, &soon);
    let start = |by: &Forwarder, name| {
        let settings = format!("connect.address={};fault.heartbeat_s=0.2", by.address);
        lossy::Federate::start_with("1", &["env"], name, &settings)
    };
    let mut sender = start(&one, "sender");
    let mut all =
        [("near", &one), ("slow", &one), ("far", &other)].map(|(name, by)| (name, start(by, name)));
    rtiexec.until_path("forwarder", 3);
    for (_, receiver) in &mut all {
        receiver.told("hear 0");
        receiver.told("hear 1");
        until("it hears both", || {
            sender.told("send 1 1");
            receiver.told("tell")[1] > 0
        });
    }
    // Of reliable ones and lost ones, when all have come or are counted.
    let counts = |all: &mut [(&str, lossy::Federate)], sent: u64| {
        let counts = all.iter_mut().map(|(name, receiver)| {
            let mut counts = [0; 2];
            until("each has come or is counted", || {
                let [came, reliable, first, _] = receiver.told("tell");
                counts = [reliable, counter(&rtiexec, name, "lost")];
                came + reliable + counts[1] == sent - first
            });
            counts
        });
        counts.collect::<Vec<_>>()
    };
    let mut before = counts(&mut all, sender.told("tell")[3]);
    // By the tree, who sends reliable data is held until there is room.
    for (stopped, does, reliable) in [(1, "mix", SENT / 16), (2, "send 0", 0)] {
        signal(&all[stopped].1.child, "-STOP");
        let sent = sender.told(&format!("{does} {SENT}"))[3];
        signal(&all[stopped].1.child, "-CONT");
        let now = counts(&mut all, sent);
        println!("{before:?}, then {now:?}");
        for (now, before) in now.iter().zip(&before) {
            assert_eq!(now[0], before[0] + reliable);
        }
        assert!(now[stopped][1] - before[stopped][1] > SENT / 4);
        before = now;
    }
}

/// What a forwarder says on its trunk, to a test in the place of rtiexec.
struct Upstream {
    stream: UnixStream,
    came: Vec<u8>,
    _directory: tempfile::TempDir,
}

impl Upstream {
    /// The forwarder has been started, and has said that it is one.
    fn of(variables: &[(&str, &str)]) -> (Self, Forwarder) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("u.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let address = format!("unix:{}", path.display());
        let there = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut upstream = Upstream {
                stream,
                came: Vec::new(),
                _directory: directory,
            };
            let hello = upstream.next();
            assert!(matches!(Frame::decode(&hello), Ok(Frame::Hello(_))));
            let mut welcome = Vec::new();
            put_welcome(
                &mut welcome,
                &Welcome {
                    version: VERSION,
                    ..Welcome::default()
                },
            );
            upstream.stream.write_all(&welcome).unwrap();
            assert_eq!(upstream.next(), [9, 1]);
            upstream
        });
        let forwarder = Forwarder::start_by(&[], &address, None, variables);
        (there.join().unwrap(), forwarder)
    }

    /// The next frame.
    fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some((frame, used)) = split_frame(&self.came).unwrap() {
                let frame = frame.to_vec();
                self.came.drain(..used);
                return frame;
            }
            let mut more = [0; 4096];
            let count = self.stream.read(&mut more).unwrap();
            assert!(count > 0, "the forwarder has closed its trunk");
            self.came.extend(&more[..count]);
        }
    }
}

/// Shows settings: forwarder.window_bytes.
#[test]
fn a_channel_has_as_much_room_as_is_set() {
    for bytes in [100_000, 200_000] {
        let set = bytes.to_string();
        let (mut upstream, forwarder) = Upstream::of(&[("STARLING_FORWARDER_WINDOW_BYTES", &set)]);
        let mut federate = UnixStream::connect(forwarder.address.trim_start_matches("unix:"));
        let mut hello = Vec::new();
        put_hello(
            &mut hello,
            &Hello {
                version: VERSION,
                ..Hello::default()
            },
        );
        federate.as_mut().unwrap().write_all(&hello).unwrap();
        let channel = 1;
        let path = "unix";
        for said in [
            OnTrunk::Open { channel, path },
            OnTrunk::Room {
                channel,
                position: bytes,
            },
            OnTrunk::Bytes {
                channel,
                bytes: &hello,
            },
        ] {
            assert_eq!(read_on_trunk(&upstream.next()), Some(Ok(said)));
        }
    }
}

/// Shows settings: forwarder.upstream, forwarder.listen.
#[test]
fn it_hands_on_where_it_is_told_and_listens_where_it_is_told() {
    let rtiexec = Rtiexec::start("", &[]);
    let directory = tempfile::tempdir().unwrap();
    let at = format!("unix:{}", directory.path().join("l.sock").display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["forwarder", "--run-dir"])
        .arg(directory.path().join("run"))
        .env("STARLING_FORWARDER_UPSTREAM", &rtiexec.address)
        .env("STARLING_FORWARDER_LISTEN", &at)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, format!("ready {at}\n"));
    let shown = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["ps", &at])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let process = format!("process {} ", rtiexec.child.id());
    assert!(shown.contains(&process), "{shown}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A cable that is cut closes no connection: both ends of a trunk notice it all the same, federates behind it are told
/// and resigned, and those on this side go on.
#[test]
fn when_the_cable_to_a_site_is_cut_its_federates_are_told_and_the_others_go_on() {
    let Some(sites) = Sites::new("c") else { return };
    let soon = [
        ("STARLING_FAULT_TIMEOUT_S", "1"),
        ("STARLING_FAULT_HEARTBEAT_S", "0.2"),
    ];
    let rtiexec = Rtiexec::start_by(&sites.by(0), Some("10.79.0.1:15160"), "", &soon);
    let mut forwarder = Forwarder::start_by(&sites.by(1), "10.79.0.1:15160", None, &soon);
    let to = format!("connect.address={}", forwarder.address);
    let here =
        ["both", "receiver"].map(|role| Federate::start_by(&sites.by(0), &rtiexec, role, role, ""));
    let mut there = ["far", "farther"]
        .map(|name| Federate::start_by(&sites.by(1), &rtiexec, "both", name, &to));
    all_go_on(&[&here[0], &here[1], &there[0], &there[1]]);
    sites.cut();
    there.iter_mut().for_each(ended);
    let said = forwarder.last_words();
    assert!(said.contains("nor from its host"), "{said}");
    rtiexec.until_members(2);
    all_go_on(&here.each_ref());
}

/// What is said between federates of a site stays there, if that is not switched off.
///
/// Shows settings: forwarder.passes.
#[test]
fn what_is_for_the_same_site_does_not_leave_it() {
    for passes in [true, false] {
        let Some(sites) = Sites::new("p") else { return };
        let variable = (
            "STARLING_FORWARDER_PASSES",
            if passes { "true" } else { "false" },
        );
        let rtiexec = Rtiexec::start_by(&sites.by(0), Some("10.79.0.1:15160"), "", &[variable]);
        let forwarder = Forwarder::start_by(&sites.by(1), "10.79.0.1:15160", None, &[]);
        let to = format!("connect.address={}", forwarder.address);
        let by = sites.by(1);
        let start = |role, name| Federate::start_by(&by, &rtiexec, role, name, &to);
        let receivers = ["a", "b"].map(|name| start("receiver", name));
        let sender = start("sender", "sender");
        if passes {
            rtiexec.until_path("forwarder", 2);
        }
        // What was sent before it was passed on is over.
        for receiver in receivers.iter().chain(&receivers) {
            receiver.hears(&[&sender]);
        }
        let before = sites.sent(1);
        receivers[0].until("on", 20);
        let left = sites.sent(1) - before;
        let said = 20 * 1000 * MESSAGE;
        println!("{left} bytes of {said} have left the site");
        assert_eq!(left < said / 10, passes, "{left} of {said}");
    }
}

/// Whatever else they might share: what they have set for that would change nothing.
#[test]
fn who_comes_by_a_forwarder_says_so_of_each_way() {
    for passes in ["true", "false"] {
        let variable = ("STARLING_FORWARDER_PASSES", passes);
        let rtiexec = Rtiexec::start("", &[variable]);
        let forwarder = Forwarder::start(&rtiexec.address);
        let to = format!("connect.address={}", forwarder.address);
        let apart = "transport.shared_memory=off";
        let federates = [
            ("far", format!("{to};{apart}")),
            ("further", to),
            ("here", String::new()),
            ("apart", apart.into()),
        ];
        let _federates = federates
            .map(|(name, settings)| Federate::start(&rtiexec, "receiver", name, &settings));
        let by = |from: &str, to: &str| {
            let members = rtiexec.members();
            let of = |name: &str| members.iter().find(|m| m["name"] == name).unwrap();
            let paths = of(from)["paths"].as_array().unwrap();
            let is_to = |p: &&serde_json::Value| {
                let to_some = p["to"].as_array().unwrap();
                to_some.is_empty() || to_some.contains(&of(to)["handle"])
            };
            let path = paths.iter().find(is_to).unwrap();
            path["by"].as_str().unwrap().to_owned()
        };
        let own = "rtiexec (it comes by a forwarder)";
        let others = "rtiexec (of the other: it comes by a forwarder)";
        let off = "rtiexec (it comes by a forwarder; forwarder.passes = false at rtiexec)";
        if passes == "true" {
            until("passed on", || by("far", "further") == "forwarder");
            assert_eq!([by("far", "here"), by("further", "apart")], [own; 2]);
        } else {
            assert_eq!([by("far", "further"), by("further", "far")], [off; 2]);
        }
        assert_eq!(by("here", "far"), others);
        let off = "rtiexec (transport.shared_memory = off)";
        assert_eq!([by("apart", "here"), by("apart", "far")], [off, others]);
    }
}

/// The sender's numbers have tags of so many bytes.
const MESSAGE: u64 = 200;
