//! Federates in processes of their own that are killed, stopped, cut off and whose cables swallow all at random moments,
//! while they wait for grants, save and are restored: nobody hangs, time goes on, and nothing is left over, no member,
//! descriptor, piece of shared memory, file or half of a save.
//! `make campaign-processes MOMENTS=300`
//!
//! Hosts are network namespaces of this machine, which needs root and iproute2.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]
#![allow(clippy::print_stderr, reason = "the histogram of the campaign")]

mod numbers;

use numbers::namespaces::{self, Namespace, Sites};
use numbers::{Ears, PATIENCE, Rtiexec, descriptors, files, moments, segments, signal, until};
use starling::{Callback, CallbackModel, ExceptionKind, RtiAmbassador};
use starling_core::{LogicalTime, LogicalTimeInterval};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const FEDERATES: usize = 3;
const STAGES: [&str; 4] = ["waiting", "saving", "saved", "restoring"];
/// Who is cut off is told at once, and so is rtiexec; where a cable swallows all nobody is.
const FAULTS: [&str; 4] = ["killed", "stopped", "cut off", "swallowed"];
const ALL_MOMENTS: usize = 300;
/// In a campaign of so many moments each fault ends what is hit so often at least: a save while its victim saves, a
/// restore while that is restored.
const FEWEST: usize = 10;
/// Of a save or a restore: one is lost, or asks while another one's is under way, or before a restore has begun.
const REASONS: [&str; 4] = [
    "RTI_DETECTED_FAILURE_DURING_SAVE",
    "RTI_DETECTED_FAILURE_DURING_RESTORE",
    "RTI_UNABLE_TO_SAVE",
    "RTI_UNABLE_TO_RESTORE",
];
const PORT: u16 = 15160;
const DIRECT: &str = "direct tcp";

/// The program of a federate: it advances, has the federation execution saved and restored at times, says
/// what it does, and joins again whenever it is out.
#[test]
#[ignore = "is run by the campaign"]
fn federate() {
    if std::env::var_os("CAMPAIGN").is_none() {
        return;
    }
    let mut random = fastrand::Rng::new();
    loop {
        if let Err(why) = session(&mut random) {
            println!("out: {why}");
        }
    }
}

fn session(random: &mut fastrand::Rng) -> Result<(), String> {
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    let settings = format!(
        "connect.address={}:{PORT};connect.timeout_s=100;fault.timeout_s=3;fault.heartbeat_s=0.5;log.level=off",
        Sites::address(0)
    );
    let say = |e: starling::Exception| e.to_string();
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .map_err(say)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let fom = root.join("restaurant/RestaurantFOMmodule-2010.xml");
    // Another may have created it.
    let _ = rti.create_federation_execution("Campaign", &[fom.display().to_string()], None, "");
    while let Err(e) = rti.join_federation_execution(None, "campaigner", "Campaign", &[]) {
        match e.kind {
            ExceptionKind::SaveInProgress | ExceptionKind::RestoreInProgress => {
                std::thread::yield_now();
            }
            _ => return Err(say(e)),
        }
    }
    println!("joined");
    let lookahead = LogicalTimeInterval::float64(1.0).expect("it is legal");
    rti.enable_time_regulation(lookahead).map_err(say)?;
    let mut constrained = false;
    let mut time = LogicalTime::float64(0.0).expect("it is legal");
    let mut waiting = false;
    loop {
        rti.evoke_callback(0.05).map_err(say)?;
        for callback in heard.try_iter() {
            match callback {
                Callback::ConnectionLost { fault } => return Err(fault),
                Callback::TimeAdvanceGrant { time: now } => {
                    (time, waiting) = (now, false);
                    println!("granted");
                    if random.u8(..8) == 0 {
                        let label = format!("{}", random.u8(..4));
                        // Another's may have begun.
                        let _ = rti.request_federation_save(&label, None);
                    }
                }
                Callback::InitiateFederateSave { .. } => {
                    println!("saving");
                    rti.federate_save_begun().map_err(say)?;
                    keeps_or_reads(random);
                    if let Err(e) = rti.federate_save_complete() {
                        println!("too late: {e}");
                    }
                    println!("saved");
                }
                Callback::FederationSaved if random.bool() => {
                    let label = format!("{}", random.u8(..4));
                    let _ = rti.request_federation_restore(&label);
                }
                Callback::FederationRestoreBegun => println!("restoring"),
                Callback::InitiateFederateRestore { .. } => {
                    keeps_or_reads(random);
                    rti.federate_restore_complete().map_err(say)?;
                }
                Callback::FederationNotSaved { reason } => println!("ended: {}", reason.name()),
                Callback::FederationNotRestored { reason } => println!("ended: {}", reason.name()),
                Callback::FederationRestored => {
                    time = rti.query_logical_time().map_err(say)?;
                    (waiting, constrained) = (false, false);
                }
                _ => {}
            }
        }
        if !constrained {
            constrained = match rti.enable_time_constrained().map_err(|e| e.kind) {
                Ok(())
                | Err(
                    ExceptionKind::TimeConstrainedAlreadyEnabled
                    | ExceptionKind::RequestForTimeConstrainedPending
                    | ExceptionKind::InTimeAdvancingState,
                ) => true,
                Err(kind) => out(kind)?,
            };
        }
        if !waiting {
            let now = time.as_float64().unwrap_or_default();
            let next = LogicalTime::float64(now + 1.0).expect("it is legal");
            waiting = match rti.time_advance_request(next).map_err(|e| e.kind) {
                Ok(()) => {
                    println!("waiting");
                    true
                }
                // It was when it was saved.
                Err(ExceptionKind::InTimeAdvancingState) => true,
                Err(ExceptionKind::LogicalTimeAlreadyPassed) => {
                    time = rti.query_logical_time().map_err(say)?;
                    false
                }
                Err(kind) => out(kind)?,
            };
        }
    }
}

/// What passes: false. What does not ends the session.
fn out(kind: ExceptionKind) -> Result<bool, String> {
    match kind {
        ExceptionKind::SaveInProgress
        | ExceptionKind::RestoreInProgress
        | ExceptionKind::RequestForTimeRegulationPending
        | ExceptionKind::RequestForTimeConstrainedPending => Ok(false),
        kind => Err(format!("{kind:?}")),
    }
}

/// Its own state takes its time.
fn keeps_or_reads(random: &mut fastrand::Rng) {
    std::thread::sleep(Duration::from_micros(random.u64(..50_000)));
}

/// That of rtiexec and one for each federate, with cables to a switch; gone with it.
struct Hosts {
    hosts: Vec<Namespace>,
    switch: Namespace,
}

impl Hosts {
    /// None, and said so, where there are no namespaces; but not where they are demanded.
    fn new() -> Option<Self> {
        namespaces::made(Self::make)
    }

    fn make() -> Option<Self> {
        let (hosts, switch) = namespaces::on_a_bridge("p", FEDERATES + 1, "")?;
        Some(Self { hosts, switch })
    }

    fn rtiexec(&self) -> Rtiexec {
        let at = format!("0.0.0.0:{PORT}");
        let variables = [
            ("STARLING_FAULT_PAUSED", "resign"),
            ("STARLING_FAULT_TIMEOUT_S", "3"),
            ("STARLING_FAULT_HEARTBEAT_S", "0.5"),
        ];
        Rtiexec::start_by(&self.hosts[0].by(), Some(&at), "", &variables)
    }

    /// Both ends of all its host's connections are told.
    fn cut_off(&self, host: usize) {
        let cut = format!("-N {} -HKt state established", self.hosts[host].name());
        let cut = Command::new("ss").args(cut.split(' ')).output().unwrap();
        assert!(!cut.stdout.is_empty(), "{cut:?}");
    }

    /// Its cable swallows all, and nobody is told.
    fn swallow(&self, host: usize) {
        self.hosts[host].swallow("cable");
        self.switch.swallow(&format!("host{host}"));
    }

    fn mend(&self, host: usize) {
        self.hosts[host].mend("cable");
        self.switch.mend(&format!("host{host}"));
    }
}

/// A federate in a process of its own; killed with the test.
struct Federate {
    child: Child,
    says: Receiver<String>,
}

impl Federate {
    fn start(on: &Namespace) -> Self {
        let mut child = on
            .command(std::env::current_exe().unwrap())
            .args(["--exact", "federate", "--ignored", "--nocapture"])
            .env("CAMPAIGN", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (to, says) = channel();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
        });
        Federate { child, says }
    }

    /// It says this so many times, sooner or later; all that it says until then.
    fn until(&self, what: &str, times: usize) -> Vec<String> {
        let (mut said, mut left) = (Vec::new(), times);
        while left > 0 {
            match self.says.recv_timeout(PATIENCE) {
                Ok(line) => {
                    left -= usize::from(line.starts_with(what));
                    said.push(line);
                }
                Err(why) => panic!("no {times} x '{what}': {why}; it says {said:?}"),
            }
        }
        said
    }
}

impl Drop for Federate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "takes minutes"]
fn campaign() {
    let Some(hosts) = Hosts::new() else { return };
    let (moments, seed) = moments(ALL_MOMENTS);
    let mut random = fastrand::Rng::with_seed(seed);
    let rtiexec = hosts.rtiexec();
    let run = rtiexec.directory().join("run");
    let held = |process: &Child| (descriptors(process), segments(process));
    let alone = (held(&rtiexec.child), files(&run));
    // Descriptors and pieces of shared memory of all processes.
    let holds = |federates: &[Federate]| -> Vec<_> {
        let processes = federates.iter().map(|federate| &federate.child);
        processes.chain([&rtiexec.child]).map(held).collect()
    };
    let mut federates: Vec<_> = hosts.hosts[1..].iter().map(Federate::start).collect();
    for federate in &federates {
        federate.until("granted", 3);
    }
    rtiexec.until_all_by(DIRECT, FEDERATES);
    let most = holds(&federates);
    // How often, and how often a save and a restore ended by it.
    let mut histogram = BTreeMap::<(&str, &str), [usize; 3]>::new();
    for moment in 0..moments {
        let stage = STAGES[moment % STAGES.len()];
        let fault = FAULTS[moment / STAGES.len() % FAULTS.len()];
        let n = random.usize(..FEDERATES);
        let host = n + 1;
        // What they have said before is over.
        for federate in &federates {
            while federate.says.try_recv().is_ok() {}
        }
        federates[n].until(stage, 1);
        std::thread::sleep(Duration::from_micros(random.u64(..2_000)));
        match fault {
            "killed" => {
                signal(&federates[n].child, "-KILL");
                federates[n] = Federate::start(&hosts.hosts[host]);
            }
            "stopped" => signal(&federates[n].child, "-STOP"),
            "cut off" => hosts.cut_off(host),
            _ => hosts.swallow(host),
        }
        // Time goes on for the others, and for the victim when it can again.
        let others = federates.iter().enumerate().filter(|(i, _)| *i != n);
        let mut said = Vec::new();
        for (_, other) in others {
            said.extend(other.says.try_iter());
            said.extend(other.until("granted", 3));
        }
        let reasons = said.iter().filter_map(|line| line.strip_prefix("ended: "));
        for reason in reasons.clone() {
            assert!(REASONS.contains(&reason), "moment {moment}: {reason}");
        }
        let seen = histogram.entry((stage, fault)).or_default();
        seen[0] += 1;
        seen[1] += usize::from(reasons.clone().any(|reason| reason == REASONS[0]));
        seen[2] += usize::from(reasons.clone().any(|reason| reason == REASONS[1]));
        if fault == "stopped" {
            signal(&federates[n].child, "-CONT");
        }
        if fault != "killed" {
            federates[n].until("out", 1);
        }
        if fault == "swallowed" {
            hosts.mend(host);
        }
        federates[n].until("granted", 3);
        // A save that is being made has files open.
        until(
            &format!("moment {moment}, {fault}: nothing is left over"),
            || {
                let now = holds(&federates);
                now.iter()
                    .zip(&most)
                    .all(|(now, most)| now.0 <= most.0 && now.1 <= most.1)
            },
        );
        assert_eq!(files(&run), alone.1, "moment {moment}, {fault}");
    }
    let shown = histogram
        .iter()
        .map(|((stage, fault), [n, saves, restores])| {
            format!("{stage}: {fault}: {n}; {saves} saves and {restores} restores ended by it")
        });
    let shown: Vec<_> = shown.collect();
    eprintln!("seed {seed}, {moments} moments: {shown:#?}");
    for ((stage, fault), [_, saves, restores]) in histogram {
        let ended = match stage {
            "saving" => saves,
            "restoring" => restores,
            _ => continue,
        };
        assert!(
            ended >= FEWEST || moments < ALL_MOMENTS,
            "{stage}: {fault}: {ended} ended by it, at least {FEWEST}"
        );
    }
    drop(federates);
    // Nothing is left over: neither members, nor what they took of rtiexec, nor half a save.
    rtiexec.until_members(0);
    until("rtiexec holds nothing of them", || {
        let (descriptors, segments) = alone.0;
        // Since the first has joined it takes datagrams.
        held(&rtiexec.child) == (descriptors + 1, segments)
    });
    assert_eq!(files(&run), alone.1);
    let saves = std::fs::read_dir(rtiexec.directory().join("saves")).unwrap();
    for entry in saves.flatten() {
        let path = entry.path();
        assert_eq!(path.extension().and_then(|e| e.to_str()), Some("save"));
    }
}
