//! Federates in processes of their own that are killed, stopped and cut off at random moments, while they
//! wait for grants, save and are restored: nobody hangs, time goes on, and nothing is left over, no member, descriptor,
//! piece of shared memory, file or half of a save.
//! `make campaign-processes MOMENTS=300`
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]
#![allow(clippy::print_stderr, reason = "the histogram of the campaign")]

mod numbers;

use numbers::{Ears, PATIENCE, descriptors, files, members, moments, segments, until};
use starling::{Callback, CallbackModel, ExceptionKind, RtiAmbassador};
use starling_core::{LogicalTime, LogicalTimeInterval};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const FEDERATES: usize = 3;
const STAGES: [&str; 4] = ["waiting", "saving", "saved", "restoring"];
const FAULTS: [&str; 3] = ["killed", "stopped", "cut off"];
/// In a campaign of so many moments each fault comes at each stage so often at least, and 25 times as a rule.
const ALL_MOMENTS: usize = 300;
const FEWEST: usize = 10;

/// The program of a federate: it advances, has the federation execution saved and restored at times, says
/// what it does, and joins again whenever it is out.
#[test]
#[ignore = "is run by the campaign"]
fn federate() {
    let Ok(address) = std::env::var("CAMPAIGN_ADDRESS") else {
        return;
    };
    let mut random = fastrand::Rng::new();
    loop {
        if let Err(why) = session(&address, &mut random) {
            println!("out: {why}");
        }
    }
}

fn session(address: &str, random: &mut fastrand::Rng) -> Result<(), String> {
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    let settings = format!("connect.address={address};connect.timeout_s=100;log.level=off");
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
                    rti.federate_restore_complete().map_err(say)?;
                }
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

/// A way to rtiexec that can be cut.
#[derive(Clone, Default)]
struct Cable(Arc<Mutex<Vec<TcpStream>>>);

impl Cable {
    /// Its own address.
    fn lay(&self, to: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let cable = self.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&to) else {
                    return;
                };
                let ends = [&near, &far].map(|end| end.try_clone().unwrap());
                cable.0.lock().unwrap().extend(ends);
                let ways = [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far, near),
                ];
                for (mut from, mut to) in ways {
                    std::thread::spawn(move || {
                        let _ = copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        address
    }

    fn cut(&self) {
        for end in self.0.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// A federate in a process of its own; killed with the test.
struct Federate {
    child: Child,
    says: Receiver<String>,
    cable: Cable,
}

impl Federate {
    fn start(rtiexec: &str) -> Self {
        let cable = Cable::default();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "federate", "--ignored", "--nocapture"])
            .env("CAMPAIGN_ADDRESS", cable.lay(rtiexec.to_owned()))
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
        Federate { child, says, cable }
    }

    /// It says this so many times, sooner or later.
    fn until(&self, what: &str, times: usize) {
        let mut said = Vec::new();
        while said.iter().filter(|line| *line == what).count() < times {
            match self.says.recv_timeout(PATIENCE) {
                Ok(line) => said.push(line),
                Err(why) => panic!("no {times} x '{what}': {why}; it says {said:?}"),
            }
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Federate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Rtiexec(Child, String);

impl Rtiexec {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(directory.join("run"))
            .env("STARLING_SAVES_DIR", directory.join("saves"))
            .env("STARLING_FAULT_PAUSED", "resign")
            .env("STARLING_FAULT_TIMEOUT_S", "3")
            .env("STARLING_FAULT_HEARTBEAT_S", "0.5")
            .env("STARLING_LOG_LEVEL", "off")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.split_whitespace().nth(1).expect("ready").to_owned();
        Rtiexec(child, address)
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "takes minutes"]
fn campaign() {
    let (moments, seed) = moments(ALL_MOMENTS);
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let run = directory.path().join("run");
    let held = |process: &Child| (descriptors(process), segments(process));
    let alone = (held(&rtiexec.0), files(&run));
    // Descriptors and pieces of shared memory of all processes.
    let holds = |federates: &[Federate]| -> Vec<_> {
        let processes = federates.iter().map(|federate| &federate.child);
        processes.chain([&rtiexec.0]).map(held).collect()
    };
    let mut federates: Vec<_> = (0..FEDERATES)
        .map(|_| Federate::start(&rtiexec.1))
        .collect();
    federates
        .iter()
        .for_each(|federate| federate.until("granted", 3));
    let most = holds(&federates);
    let mut histogram = BTreeMap::<(&str, &str), usize>::new();
    for moment in 0..moments {
        let stage = STAGES[moment % STAGES.len()];
        let fault = FAULTS[random.usize(..FAULTS.len())];
        let n = random.usize(..FEDERATES);
        let victim = &mut federates[n];
        // What it has said before is over.
        while victim.says.try_recv().is_ok() {}
        victim.until(stage, 1);
        std::thread::sleep(Duration::from_micros(random.u64(..2_000)));
        match fault {
            "killed" => federates[n] = Federate::start(&rtiexec.1),
            "cut off" => victim.cable.cut(),
            _ => victim.signal("-STOP"),
        }
        for other in &federates {
            while other.says.try_recv().is_ok() {}
        }
        // Time goes on for the others, and for the victim when it can again.
        let others = federates.iter().enumerate().filter(|(i, _)| *i != n);
        others.for_each(|(_, other)| other.until("granted", 3));
        if fault == "stopped" {
            federates[n].signal("-CONT");
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
        *histogram.entry((stage, fault)).or_default() += 1;
    }
    let shown = histogram.iter();
    let shown: Vec<_> = shown
        .map(|((stage, fault), n)| format!("{stage}: {fault}: {n}"))
        .collect();
    eprintln!("seed {seed}, {moments} moments: {shown:#?}");
    if moments >= ALL_MOMENTS {
        for stage in STAGES {
            for fault in FAULTS {
                let came = histogram.get(&(stage, fault)).copied().unwrap_or_default();
                assert!(
                    came >= FEWEST,
                    "{stage}: {fault}: {came} times, at least {FEWEST}"
                );
            }
        }
    }
    drop(federates);
    // Nothing is left over: neither members, nor what they took of rtiexec, nor half a save.
    until("no members are left over", || {
        members(&rtiexec.1).is_empty()
    });
    until("rtiexec holds nothing of them", || {
        held(&rtiexec.0) == alone.0
    });
    assert_eq!(files(&run), alone.1);
    let saves = std::fs::read_dir(directory.path().join("saves")).unwrap();
    for entry in saves.flatten() {
        let path = entry.path();
        assert_eq!(path.extension().and_then(|e| e.to_str()), Some("save"));
    }
}
