//! kill -9 of federates and forwarders at random moments, while data flows in shared memory, on TCP links, by forwarders and
//! in datagrams to a group: what is reliable comes whole and in order from each sender that lives to each receiver that does,
//! and nothing is left of who was killed: no descriptor, segment, file or process.
//! `make campaign-dataplane MOMENTS=300`
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]
#![allow(clippy::print_stderr, reason = "the histogram of the campaign")]

mod numbers;

use numbers::forwarder::Forwarder;
use numbers::lossy::way;
use numbers::{Federate, Rtiexec, all_go_on, descriptors, files, moments, segments, until};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::Duration;

/// Of any process, resident.
const MEMORY_KB: u64 = 64 << 10;
const SHARED: &str = "shared memory";
const DIRECT: &str = "direct tcp";
const FORWARDER: &str = "forwarder";
const MULTICAST: &str = "multicast";
const FORWARDERS: usize = 2;
/// What one federate sends or gets data by, and its name.
const FEDERATES: [(&str, &str); 9] = [
    (SHARED, "shares"),
    (SHARED, "shares, too"),
    (DIRECT, "links"),
    (DIRECT, "links, too"),
    (MULTICAST, "casts"),
    (FORWARDER, "0 comes by"),
    (FORWARDER, "0 comes by, too"),
    (FORWARDER, "1 comes by"),
    (FORWARDER, "1 comes by, too"),
];

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

/// rtiexec, forwarders, and federates that hear each other.
struct Field {
    rtiexec: Rtiexec,
    forwarders: Vec<Forwarder>,
    federates: Vec<Federate>,
}

/// By which forwarder one of them comes.
fn comes_by((kind, name): (&str, &str)) -> Option<usize> {
    (kind == FORWARDER).then(|| name[..1].parse().expect("a number"))
}

impl Field {
    fn start() -> Self {
        let rtiexec = Rtiexec::start(
            "fault.timeout_s=3600",
            &[
                ("STARLING_TRANSPORT_PATH", "direct"),
                ("STARLING_FAULT_TIMEOUT_S", "3600"),
            ],
        );
        let forwarders = (0..FORWARDERS).map(|_| Forwarder::start(&rtiexec.address));
        let mut field = Field {
            forwarders: forwarders.collect(),
            federates: Vec::new(),
            rtiexec,
        };
        let all = FEDERATES.map(|one| field.spawn(one, one.1));
        let joined = all.into_iter().map(|f| f.has_joined().expect("it joins"));
        field.federates = joined.collect();
        field.is_whole();
        field
    }

    /// One more of this kind begins.
    fn spawn(&self, (kind, as_who): (&str, &str), name: &str) -> Federate {
        let links = "transport.shared_memory=off;transport.path=direct";
        let (role, settings) = match kind {
            DIRECT => ("steady", format!("{links};transport.best_effort=datagrams")),
            MULTICAST => (
                "drizzle",
                format!("{links};transport.best_effort=multicast;multicast.group=239.193.7.9"),
            ),
            _ => ("steady", String::new()),
        };
        let by = comes_by((kind, as_who)).map(|n| &self.forwarders[n].address);
        let settings = by.map_or(settings, |at| format!("connect.address={at}"));
        Federate::spawn_by(&[], &self.rtiexec, role, name, &settings)
    }

    /// Data takes each of the ways, and comes to all.
    fn is_whole(&self) {
        self.rtiexec.until_members(FEDERATES.len());
        for (one, (kind, from)) in FEDERATES.iter().enumerate() {
            for (other, (_, to)) in FEDERATES.iter().enumerate() {
                let (rtiexec, same) = (
                    &self.rtiexec,
                    comes_by(FEDERATES[one]) == comes_by(FEDERATES[other]),
                );
                if one != other && *kind == FEDERATES[other].0 && same {
                    until(kind, || rtiexec.path(from, to) == *kind);
                }
                if *kind == MULTICAST && FEDERATES[other].0 == DIRECT {
                    until(kind, || way(rtiexec, from, to).starts_with(MULTICAST));
                }
            }
        }
        all_go_on(&self.federates.iter().collect::<Vec<_>>());
    }

    /// The processes with their names.
    fn processes(&self) -> Vec<(&str, &Child)> {
        let federates = FEDERATES.iter().map(|(_, name)| *name);
        let federates = federates.zip(self.federates.iter().map(|f| &f.child));
        let forwarders = self.forwarders.iter().map(|f| (FORWARDER, &f.child));
        let rtiexec = std::iter::once(("rtiexec", &self.rtiexec.child));
        federates.chain(forwarders).chain(rtiexec).collect()
    }

    /// What each of them holds of the others: descriptors, and memory that is shared.
    fn holds(&self) -> Vec<(&str, usize, usize)> {
        let processes = self.processes().into_iter();
        let held = processes.map(|(name, of)| (name, descriptors(of), segments(of)));
        held.collect()
    }

    /// What they all take at most, each for itself.
    fn memory_kb(&self) -> u64 {
        let of = self.processes().into_iter().map(|(name, of)| {
            let kb = resident_kb(of);
            assert!(kb < MEMORY_KB, "{name}: {kb} kB");
            kb
        });
        of.max().expect("some")
    }

    /// By which ways data of one of them goes.
    fn ways_of(&self, name: &str) -> String {
        let members = self.rtiexec.members();
        let member = members.iter().find(|m| m["name"] == name).unwrap();
        let paths = member["paths"].as_array().unwrap().iter();
        let ways = paths.map(|p| {
            p["by"]
                .as_str()
                .unwrap()
                .split(" (")
                .next()
                .unwrap()
                .to_owned()
        });
        let mut ways: BTreeSet<String> = ways.collect();
        if name == "casts" {
            ways.insert(MULTICAST.into());
        }
        ways.into_iter().collect::<Vec<_>>().join(" + ")
    }

    /// These are dead: the others go on, and new ones take their places.
    fn goes_on_without(&mut self, gone: &[usize]) {
        let left = self.federates.iter().enumerate();
        let left = left.filter(|(n, _)| !gone.contains(n)).map(|(_, f)| f);
        self.rtiexec.until_members(FEDERATES.len() - gone.len());
        all_go_on(&left.collect::<Vec<_>>());
        for n in gone {
            let new = self.spawn(FEDERATES[*n], FEDERATES[*n].1);
            self.federates[*n] = new.has_joined().expect("it joins");
        }
    }
}

fn resident_kb(of: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", of.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.unwrap().trim().trim_end_matches(" kB");
    kb.parse().unwrap()
}

/// Processes that were told of rtiexec, but for that.
fn processes_of(rtiexec: &Rtiexec) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let id = entry.file_name().into_string().unwrap();
        let told = ["environ", "cmdline"].map(|file| {
            let said = std::fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&said).contains(&rtiexec.address)
        });
        if told.contains(&true) && id != rtiexec.child.id().to_string() {
            found.push(id);
        }
    }
    found
}

fn run(moments: usize, seed: u64) {
    eprintln!("seed {seed}, {moments} moments");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut field = Field::start();
    let owned = |held: Vec<(&str, usize, usize)>| {
        let owned = held
            .into_iter()
            .map(|(name, fds, maps)| (name.to_owned(), fds, maps));
        owned.collect::<Vec<_>>()
    };
    let (before, left) = (owned(field.holds()), files(field.rtiexec.directory()));
    let mut histogram = BTreeMap::<String, usize>::new();
    let mut memory_kb = 0;
    for moment in 0..moments {
        let kinds = [
            SHARED,
            DIRECT,
            MULTICAST,
            FORWARDER,
            "a forwarder itself",
            "a newcomer",
        ];
        let kind = kinds[moment % kinds.len()];
        let pause = Duration::from_micros(random.u64(..50_000));
        let what = match kind {
            "a forwarder itself" => {
                let n = random.usize(..FORWARDERS);
                std::thread::sleep(pause);
                let at = field.forwarders[n].address.clone();
                // Its place is taken by a new one once it is dead.
                field.forwarders[n].child.kill().unwrap();
                field.forwarders[n] = Forwarder::start(&field.rtiexec.address);
                let by: Vec<_> = (0..FEDERATES.len())
                    .filter(|one| comes_by(FEDERATES[*one]) == Some(n))
                    .collect();
                for one in &by {
                    let why = field.federates[*one].lost();
                    assert!(why.contains(&at), "{why} has no {at}");
                }
                field.goes_on_without(&by);
                kind.to_owned()
            }
            "a newcomer" => {
                let like = FEDERATES[random.usize(..FEDERATES.len())];
                let newcomer = field.spawn(like, "newcomer");
                std::thread::sleep(2 * pause);
                drop(newcomer);
                field.goes_on_without(&[]);
                format!("{kind} to {}", like.0)
            }
            kind => {
                let all: Vec<_> = (0..FEDERATES.len())
                    .filter(|n| FEDERATES[*n].0 == kind)
                    .collect();
                let n = all[random.usize(..all.len())];
                let ways = field.ways_of(FEDERATES[n].1);
                std::thread::sleep(pause);
                field.federates[n].child.kill().unwrap();
                field.goes_on_without(&[n]);
                format!("a federate with {ways}")
            }
        };
        field.is_whole();
        let mut now = Vec::new();
        until(
            &format!("moment {moment}, {what}: nothing is left over"),
            || {
                now = owned(field.holds());
                now == before
            },
        );
        assert_eq!(
            files(field.rtiexec.directory()),
            left,
            "moment {moment}, {what}"
        );
        memory_kb = memory_kb.max(field.memory_kb());
        *histogram.entry(what).or_default() += 1;
    }
    eprintln!("seed {seed}, {moments} moments, at most {memory_kb} kB: {histogram:#?}");
    let Field {
        rtiexec,
        federates,
        forwarders,
    } = field;
    drop(federates);
    drop(forwarders);
    rtiexec.until_members(0);
    assert_eq!(processes_of(&rtiexec), Vec::<String>::new());
}

#[test]
fn who_is_killed_at_twelve_moments_leaves_nothing_and_the_others_lose_nothing() {
    run(12, 1);
}

#[test]
#[ignore = "takes minutes"]
fn campaign() {
    let (moments, seed) = moments(300);
    run(moments, seed);
}
