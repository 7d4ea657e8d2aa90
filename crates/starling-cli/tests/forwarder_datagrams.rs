//! Best-effort data of federates behind a forwarder: by datagrams, once for a site, and each message comes or is counted;
//! where the network brings none, by the stream.
//!
//! Sites are network namespaces of this machine, which needs root and iproute2. Elsewhere these tests say that they were
//! left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::capture::{Capture, Copies};
use numbers::forwarder::Forwarder;
use numbers::lossy::{self, Federate, counter};
use numbers::namespaces::{Namespace, Sites};
use numbers::{Rtiexec, until};
use std::process::Command;

const AT: &str = "10.79.0.1:15160";
const DATAGRAMS: &str = "its forwarder's datagrams";
/// A message's tag has so many bytes.
const MESSAGE: u64 = 200;
const SOON: [(&str, &str); 2] = [
    ("STARLING_FAULT_HEARTBEAT_S", "0.2"),
    ("STARLING_FAULT_TIMEOUT_S", "3600"),
];

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    lossy::federate()
}

/// What a site puts on the cable is counted, datagrams apart, which are dropped there.
fn count(site: &Namespace) {
    for line in [
        "qdisc add dev cable root handle 1: htb default 2",
        "class add dev cable parent 1: classid 1:1 htb rate 10gbit",
        "class add dev cable parent 1: classid 1:2 htb rate 10gbit",
        "qdisc add dev cable parent 1:1 blackhole",
        "qdisc add dev cable parent 1:2 pfifo limit 10000",
        "filter add dev cable parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:1",
    ] {
        assert!(site.tc(line), "{line}");
    }
}

/// Bytes that a site has put on the cable: by datagrams, and else.
fn counted(site: &Namespace) -> [u64; 2] {
    let shown = site.queues("cable");
    ["1:1", "1:2"].map(|class| {
        let queue = shown.split(&format!("parent {class} ")).nth(1).unwrap();
        let sent = queue.split("Sent ").nth(1).unwrap();
        sent.split(' ').next().unwrap().parse().unwrap()
    })
}

/// How best-effort data of a federate travels.
fn by(rtiexec: &Rtiexec, name: &str) -> String {
    let members = rtiexec.members();
    let member = members.iter().find(|m| m["name"] == name).unwrap();
    member["best_effort"]["by"].as_str().unwrap().to_owned()
}

/// Of the best-effort data of a federate, what did not come to rtiexec. (What is dropped there for a receiver counts as lost at
/// that one.)
fn lost_before(rtiexec: &Rtiexec, name: &str) -> u64 {
    let members = rtiexec.members();
    let member = members.iter().find(|m| m["name"] == name).unwrap();
    member["best_effort"]["lost"].as_u64().unwrap()
}

/// rtiexec at one site with a federate there, a forwarder at the other with these federates, all of whom hear the first class.
struct Both {
    rtiexec: Rtiexec,
    forwarder: Forwarder,
    here: Federate,
    there: Vec<Federate>,
    /// What rtiexec tells.
    log: tempfile::NamedTempFile,
}

impl Both {
    fn at(sites: &Sites, names: &[&str], variables: &[(&str, &str)]) -> Both {
        let log = tempfile::NamedTempFile::new().unwrap();
        let told = [
            ("STARLING_LOG_LEVEL", "info"),
            ("STARLING_LOG_FILE", log.path().to_str().unwrap()),
        ];
        let rtiexec = Rtiexec::start_by(&sites.by(0), Some(AT), "", &[&SOON[..], &told].concat());
        let variables = [&SOON[..], variables].concat();
        let forwarder = Forwarder::start_by(&sites.by(1), AT, None, &variables);
        let start = |site, at: &str, name| {
            let settings = format!(
                "connect.address={at};connect.timeout_s=100;fault.timeout_s=3600;fault.heartbeat_s=0.2"
            );
            Federate::start_by(&sites.by(site), name, &settings)
        };
        let mut here = start(0, &rtiexec.address, "here");
        let there = names.iter().map(|name| start(1, &forwarder.address, name));
        let mut there: Vec<_> = there.collect();
        here.told("hear 0");
        for federate in &mut there {
            federate.told("hear 0");
        }
        let mut both = Both {
            rtiexec,
            forwarder,
            here,
            there,
            log,
        };
        // What was sent before somebody subscribes is not for it.
        until("all hear each other", || {
            both.here.told("send 0 1");
            both.there.iter_mut().all(|f| f.told("tell")[0] > 0)
        });
        until("and the other way", || {
            both.there[0].told("send 0 1");
            both.here.told("tell")[0] > 0
        });
        both.rest();
        both
    }

    /// Until what is said of what came is twice the same.
    fn rest(&mut self) {
        let mut before = Vec::new();
        until("nothing comes any more", || {
            let now: Vec<_> = std::iter::once(&mut self.here)
                .chain(&mut self.there)
                .map(|f| f.told("tell")[0])
                .collect();
            let lost: Vec<_> = self.rtiexec.members();
            let lost = lost.iter().map(|m| m["counters"]["lost"].as_u64().unwrap());
            let state: Vec<_> = now.into_iter().chain(lost).collect();
            let rests = before == state;
            before = state;
            rests
        });
    }
}

/// By capture: each message crosses the cable once, in either direction, whoever hears it at the other site, directly at
/// rtiexec or by forwarders; reliable ones on a stream, best-effort ones in datagrams, and none in the other.
#[test]
fn exactly_one_copy_of_a_message_crosses_the_cable_and_best_effort_ones_in_datagrams() {
    const SENT: u64 = 1000;
    for reliable in [true, false] {
        let Some(sites) = Sites::new("x") else { return };
        let rtiexec = Rtiexec::start_by(&sites.by(0), Some(AT), "", &SOON);
        let forwarders = [(0, rtiexec.address.as_str()), (1, AT)]
            .map(|(site, to)| Forwarder::start_by(&sites.by(site), to, None, &SOON));
        let places = [
            ("a", 0, &rtiexec.address),
            ("b", 0, &rtiexec.address),
            ("c", 0, &forwarders[0].address),
            ("d", 0, &forwarders[0].address),
            ("e", 1, &forwarders[1].address),
            ("f", 1, &forwarders[1].address),
            ("g", 1, &forwarders[1].address),
        ];
        let mut all = places.map(|(name, site, at)| {
            let settings =
                format!("connect.address={at};connect.timeout_s=100;fault.timeout_s=3600");
            Federate::start_as(reliable, &sites.by(site), name, &settings)
        });
        for federate in &mut all {
            federate.told("hear 0");
        }
        // One at rtiexec, one by the forwarder beside it, one from the other site.
        for from in [0, 2, 4] {
            until("all hear it", || {
                let before = all.each_mut().map(|f| f.told("tell")[0]);
                all[from].told("send 0 10");
                let mut others = all.iter_mut().zip(before).enumerate();
                others.all(|(n, (f, before))| n == from || f.told("tell")[0] > before)
            });
            if !reliable && from == 4 {
                until("it goes by datagrams", || by(&rtiexec, "e") == DATAGRAMS);
            }
        }
        for from in [0, 2, 4] {
            let capture = Capture::start(sites.0[0].name());
            let [.., first] = all[from].told("tell");
            // Little at a time: nothing is dropped.
            for _ in 0..SENT / 250 {
                let before = all.each_mut().map(|f| f.told("tell")[0]);
                all[from].told("send 0 250");
                for (to, federate) in all.iter_mut().enumerate() {
                    until("all of it comes", || {
                        to == from || federate.told("tell")[0] >= before[to] + 250
                    });
                }
            }
            let seen = capture.seen();
            let new = |copies: Copies| -> Vec<_> {
                let new = copies
                    .into_iter()
                    .filter(|((_, number), _)| *number >= first);
                new.map(|((_, number), copies)| (number, copies)).collect()
            };
            let once: Vec<_> = (first..first + SENT).map(|number| (number, 1)).collect();
            let (streamed, datagrams) = (new(seen.streamed()), new(seen.datagrams));
            let [once_in, nothing_in] = if reliable {
                [streamed, datagrams]
            } else {
                [datagrams, streamed]
            };
            assert_eq!(
                once_in, once,
                "reliable: {reliable}, from {}",
                places[from].0
            );
            assert_eq!(
                nothing_in,
                [],
                "reliable: {reliable}, from {}",
                places[from].0
            );
        }
    }
}

/// A cable that is too slow drops some, in either direction.
#[test]
fn what_the_cable_drops_is_counted() {
    let Some(sites) = Sites::new("l") else { return };
    const SENT: u64 = 20_000;
    let names = ["a", "b"];
    let mut both = Both::at(&sites, &names, &[]);
    until("it goes by datagrams", || {
        by(&both.rtiexec, "a") == DATAGRAMS
    });
    for site in [0, 1] {
        both.rest();
        let narrow = "qdisc add dev cable root tbf rate 5mbit burst 20kb limit 30kb";
        assert!(sites.0[site].tc(narrow));
        let Both {
            rtiexec,
            here,
            there,
            ..
        } = &mut both;
        let [a, b] = &mut there[..] else {
            unreachable!()
        };
        let (sender, from, receivers) = match site {
            0 => (here, "here", vec![(a, "a"), (b, "b")]),
            // The other one there has it without rtiexec.
            _ => (a, "a", vec![(here, "here")]),
        };
        let count = |receiver: &mut Federate, name: &str| {
            let came = receiver.told("tell")[0];
            let lost = counter(rtiexec, name, "lost");
            [came, lost, lost_before(rtiexec, from)]
        };
        let before = receivers.into_iter().map(|(receiver, name)| {
            let counts = count(receiver, name);
            (receiver, name, counts)
        });
        let before: Vec<_> = before.collect();
        sender.told(&format!("send 0 {SENT}"));
        for (receiver, name, before) in before {
            let mut now = [0; 3];
            until("each comes or is counted", || {
                let counts = count(receiver, name);
                now = [0, 1, 2].map(|n| counts[n] - before[n]);
                now.iter().sum::<u64>() >= SENT
            });
            let [came, lost, on_its_way] = now;
            println!("{name}: {came} came, {lost} lost, {on_its_way} before rtiexec");
            assert_eq!(now.iter().sum::<u64>(), SENT);
            assert!(lost + on_its_way > 1000 && came > 100, "{now:?}");
        }
        assert!(sites.0[site].tc("qdisc del dev cable root"));
    }
    // Who resigns is not shown any more.
    let lost = lost_before(&both.rtiexec, "a");
    drop(both.there.remove(0));
    let told = format!("{lost} message(s) of its best-effort data were lost on the way here");
    until("the log tells it", || {
        std::fs::read_to_string(both.log.path()).is_ok_and(|log| log.contains(&told))
    });
}

/// Where the network brings no datagrams the stream is taken, and where the forwarder wants none; which and why is shown.
///
/// Shows settings: transport.best_effort.
#[test]
fn where_there_are_no_datagrams_the_stream_is_taken() {
    const SENT: u64 = 2000;
    let stream = [("STARLING_TRANSPORT_BEST_EFFORT", "stream")];
    for (variables, shown) in [
        (&[][..], "its forwarder's stream (no datagram has come yet)"),
        (&stream[..], "its stream"),
    ] {
        let Some(sites) = Sites::new("s") else { return };
        sites.0.iter().for_each(count);
        let mut both = Both::at(&sites, &["a"], variables);
        assert_eq!(by(&both.rtiexec, "a"), shown);
        let told = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(["ps", &both.rtiexec.address])
            .output()
            .unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let line = format!("best-effort data of and for a: by {shown}\n");
        assert_eq!(told.contains(&line), variables.is_empty(), "{told}");
        both.rest();
        for (from, to) in [(0, 1), (1, 0)] {
            let [one, other] = match from {
                0 => [&mut both.here, &mut both.there[0]],
                _ => [&mut both.there[0], &mut both.here],
            };
            let before = other.told("tell")[0];
            let crossed = counted(&sites.0[from])[1];
            one.told(&format!("send 0 {SENT}"));
            until("all of it comes", || other.told("tell")[0] == before + SENT);
            let crossed = counted(&sites.0[from])[1] - crossed;
            assert!(crossed > SENT * MESSAGE, "{crossed} from {from} to {to}");
        }
    }
}

/// SIGKILL for one of two forwarders while best-effort data comes: its federates learn it, the others lose nothing that is not
/// counted.
#[test]
fn who_comes_by_a_forwarder_that_dies_is_told_and_the_others_go_on() {
    let Some(sites) = Sites::new("k") else { return };
    let mut both = Both::at(&sites, &["a", "b"], &[]);
    let other = Forwarder::start_by(&sites.by(1), AT, None, &SOON);
    let settings = format!("connect.address={};connect.timeout_s=100", other.address);
    let mut lost = Federate::start_by(&sites.by(1), "lost", &settings);
    lost.told("hear 0");
    for name in ["a", "lost"] {
        until("it goes by datagrams", || {
            by(&both.rtiexec, name) == DATAGRAMS
        });
    }
    until("it hears", || {
        both.here.told("send 0 10");
        lost.told("tell")[0] > 0
    });
    both.rest();
    let before = both.there[0].told("tell")[0] + counter(&both.rtiexec, "a", "lost");
    both.here.told("send 0 2000");
    drop(other);
    until("Connection Lost", || {
        lost.child.try_wait().unwrap().is_some()
    });
    both.rtiexec.until_members(3);
    both.here.told("send 0 2000");
    let rtiexec = &both.rtiexec;
    let a = &mut both.there[0];
    until("each comes or is counted", || {
        a.told("tell")[0] + counter(rtiexec, "a", "lost") == before + 4000
    });
    assert_eq!(by(rtiexec, "a"), DATAGRAMS);
    assert!(both.forwarder.child.try_wait().unwrap().is_none());
    assert!(sites.0[1].ip("link show cable"));
}
