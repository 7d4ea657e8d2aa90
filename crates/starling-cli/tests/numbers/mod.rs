//! Federates in processes of their own that send numbers to each other and say when one is missing, and the rtiexec
//! that they join.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

pub mod capture;
pub mod forwarder;
pub mod lossy;
pub mod namespaces;

use capture::MARK;
use starling::{Callback, CallbackModel, ExceptionKind, FederateAmbassador, RtiAmbassador};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long to wait for what must come: then something hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Ears(pub Sender<Callback>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        self.0.send(callback).map_err(|e| e.to_string())
    }
}

/// The program of a federate: it sends numbers, or hears them, or both, and says of each thousand (of a steady one: each
/// hundred) that it has sent it, or heard it, and of whom, and if something is missing, or the connection is lost.
pub fn federate() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(settings) = std::env::var("NUMBERS_SETTINGS") else {
        return Ok(());
    };
    let role = std::env::var("NUMBERS_ROLE")?;
    let sends = role != "receiver";
    // What a machine does with others beside, too.
    let paced = role == "paced";
    // Many of them on few CPUs.
    let steady = role == "steady" || role == "drizzle";
    let step = if steady { 100 } else { 1000 };
    // Best effort, of which some may be missing.
    let lossy = role == "lossy" || role == "drizzle";
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    let fault = |e: starling::Exception| e.to_string();
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .map_err(fault)?;
    let fom = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml");
    // Another may have created it.
    let _ = rti.create_federation_execution("Near", &[fom.display().to_string()], None, "");
    let name = std::env::var("NUMBERS_NAME")?;
    let own = rti
        .join_federation_execution(Some(&name), "t", "Near", &[])
        .map_err(fault)?;
    let class = rti
        .interaction_class_handle("CustomerTransactions")
        .map_err(fault)?;
    if sends {
        rti.publish_interaction_class(class).map_err(fault)?;
        if lossy {
            let best_effort = starling::Transportation::BestEffort;
            rti.request_interaction_transportation_type_change(class, best_effort)
                .map_err(fault)?;
            // What is sent reliably until then may be overtaken.
            while !heard.try_iter().any(|c| {
                matches!(
                    c,
                    Callback::ConfirmInteractionTransportationTypeChange { .. }
                )
            }) {
                rti.evoke_callback(0.1).map_err(fault)?;
            }
        }
    }
    if is_receiver(&role) {
        rti.subscribe_interaction_class(class, true)
            .map_err(fault)?;
    }
    println!("joined {}", own.0);
    let mut next = BTreeMap::<u64, u64>::new();
    let (mut number, mut rests) = (0_u64, false);
    let mut kept = (number, next.clone());
    loop {
        if sends && !rests {
            let mut tag = [0; 200];
            tag[..8].copy_from_slice(&number.to_le_bytes());
            tag[8..16].copy_from_slice(&u64::from(own.0).to_le_bytes());
            tag[16] = u8::from(lossy);
            tag[17..][..MARK.len()].copy_from_slice(MARK);
            match rti.send_interaction(class, &[], &tag) {
                // Connection Lost says why.
                Err(e) if e.kind == ExceptionKind::NotConnected => rests = true,
                sent => sent.map_err(fault)?,
            }
            if steady && number.is_multiple_of(10) {
                rti.evoke_multiple_callbacks(0.01, 1.0).map_err(fault)?;
            } else if paced && number.is_multiple_of(10) {
                rti.evoke_callback(0.001).map_err(fault)?;
            } else if number.is_multiple_of(100) {
                rti.evoke_multiple_callbacks(0.0, 0.1).map_err(fault)?;
            }
            if number.is_multiple_of(step) {
                println!("sent");
            }
            number += 1;
        } else {
            rti.evoke_callback(1.0).map_err(fault)?;
        }
        for callback in heard.try_iter() {
            match callback {
                Callback::ConnectionLost { fault } => {
                    println!("lost {fault}");
                    return Err(fault.into());
                }
                Callback::ReceiveInteraction { values, .. } => {
                    let [number, sender] = [0, 8].map(|at| {
                        let word = values.tag()[at..].first_chunk().expect("a number");
                        u64::from_le_bytes(*word)
                    });
                    let due = next.entry(sender).or_insert(number);
                    if values.tag()[16] == 1 {
                        // What comes late, or twice, is not to come.
                        *due = number.max(*due);
                    }
                    if *due != number {
                        println!("gap");
                        return Err(format!("{number} instead of {due}").into());
                    }
                    *due += 1;
                    if number.is_multiple_of(step) {
                        println!("on {sender}");
                    }
                }
                Callback::InitiateFederateSave { .. } => {
                    rests = true;
                    kept = (number, next.clone());
                    rti.federate_save_begun().map_err(fault)?;
                    rti.federate_save_complete().map_err(fault)?;
                }
                Callback::FederationRestoreBegun => rests = true,
                Callback::InitiateFederateRestore { .. } => {
                    (number, next) = kept.clone();
                    rti.federate_restore_complete().map_err(fault)?;
                }
                Callback::FederationSaved | Callback::FederationRestored => {
                    rests = false;
                    println!("{}", callback.name());
                }
                _ => {}
            }
        }
    }
}

fn is_receiver(role: &str) -> bool {
    matches!(role, "both" | "receiver" | "steady")
}

/// A federate in a process of its own; killed with the test.
pub struct Federate {
    pub child: Child,
    role: String,
    handle: u64,
    says: Receiver<String>,
}

impl Federate {
    pub fn start(rtiexec: &Rtiexec, role: &str, name: &str, settings: &str) -> Self {
        Federate::start_by(&[], rtiexec, role, name, settings)
    }

    /// By a program that starts it.
    pub fn start_by(
        by: &[&str],
        rtiexec: &Rtiexec,
        role: &str,
        name: &str,
        settings: &str,
    ) -> Self {
        Federate::try_start_by(by, rtiexec, role, name, settings).expect("it joins")
    }

    /// None: it has ended before it has joined.
    pub fn try_start_by(
        by: &[&str],
        rtiexec: &Rtiexec,
        role: &str,
        name: &str,
        settings: &str,
    ) -> Option<Self> {
        let federate = Federate::spawn_by(by, rtiexec, role, name, settings);
        federate.has_joined()
    }

    /// Its process begins.
    pub fn spawn_by(
        by: &[&str],
        rtiexec: &Rtiexec,
        role: &str,
        name: &str,
        settings: &str,
    ) -> Self {
        let settings = format!(
            "{};connect.timeout_s=100;{};{settings}",
            rtiexec.address, rtiexec.settings
        );
        let own = std::env::current_exe().unwrap();
        let mut all = by.iter().map(OsStr::new).chain([own.as_os_str()]);
        let mut child = Command::new(all.next().expect("one at least"))
            .args(all)
            .args(["--exact", "federate", "--ignored", "--nocapture"])
            .env("NUMBERS_SETTINGS", settings)
            .env("NUMBERS_ROLE", role)
            .env("NUMBERS_NAME", name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (to, says) = channel();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
        });
        Federate {
            child,
            role: role.to_owned(),
            handle: 0,
            says,
        }
    }

    /// None: it has ended before it has joined.
    pub fn has_joined(mut self) -> Option<Self> {
        let joined = std::iter::repeat_with(|| self.says.recv_timeout(PATIENCE))
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("joined ")?.to_owned()));
        self.handle = joined?.parse().expect("a handle");
        Some(self)
    }

    /// It loses the connection, and ends; what it is told of why.
    pub fn lost(&mut self) -> String {
        let said = self.says(|line| line.starts_with("lost "), PATIENCE);
        let said = said.expect("Connection Lost");
        assert!(!self.child.wait().unwrap().success(), "it says why");
        said
    }

    /// The next line that it says which is like that, within this time.
    fn says(&self, is_it: impl Fn(&str) -> bool, patience: Duration) -> Result<String, String> {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.says.recv_timeout(left) {
                Ok(line) if line == "gap" => panic!("something is missing"),
                Ok(line) if is_it(&line) => return Ok(line),
                // However much it says else.
                Ok(_) if !left.is_zero() => {}
                Ok(_) => return Err("it says other things only".into()),
                Err(why) => return Err(why.to_string()),
            }
        }
    }

    /// It says this so many times from now on, sooner or later.
    pub fn until(&self, what: &str, times: usize) {
        for _ in 0..times {
            let said = self.says(|line| line.split(' ').next() == Some(what), PATIENCE);
            if let Err(why) = said {
                panic!("no {times} x '{what}': {why}");
            }
        }
    }

    /// What it has said before is over.
    fn forget_what_it_said(&self) {
        while self.says.try_recv().is_ok() {}
    }

    /// It sends more.
    pub fn sends_on(&self) {
        self.forget_what_it_said();
        self.until("sent", 3);
    }

    /// What each of these sends comes to it.
    pub fn hears(&self, senders: &[&Federate]) {
        if let Err(why) = self.tries_to_hear(senders, PATIENCE) {
            panic!("{why}");
        }
    }

    /// The same, if something of one of them comes within this time each.
    pub fn tries_to_hear(&self, senders: &[&Federate], patience: Duration) -> Result<(), String> {
        self.forget_what_it_said();
        self.goes_on_to_hear(senders, patience)
    }

    /// The same, of what it has not said yet.
    fn goes_on_to_hear(&self, senders: &[&Federate], patience: Duration) -> Result<(), String> {
        assert!(!senders.is_empty(), "nobody to be heard");
        let mut missing: BTreeMap<String, u32> = BTreeMap::new();
        for sender in senders {
            assert!(sender.is_sender(), "nothing to be heard");
            missing.insert(format!("on {}", sender.handle), 3);
        }
        while !missing.is_empty() {
            let line = self.says(|line| missing.contains_key(line), patience);
            let line = line.map_err(|why| format!("not {missing:?}: {why}"))?;
            missing.entry(line.clone()).and_modify(|left| *left -= 1);
            missing.retain(|_, left| *left > 0);
        }
        Ok(())
    }

    fn is_sender(&self) -> bool {
        self.role != "receiver"
    }

    fn is_receiver(&self) -> bool {
        is_receiver(&self.role)
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }
}

pub fn signal(process: &Child, name: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status();
    assert!(sent.unwrap().success());
}

impl Drop for Federate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Data flows on: what each of them sends comes to all the others that hear.
pub fn all_go_on(all: &[&Federate]) {
    let mut heard = 0;
    all.iter().for_each(|one| one.forget_what_it_said());
    for one in all.iter().filter(|one| one.is_receiver()) {
        let others = all.iter().filter(|other| other.handle != one.handle);
        let senders: Vec<_> = others.filter(|other| other.is_sender()).copied().collect();
        if !senders.is_empty() {
            let goes_on = one.goes_on_to_hear(&senders, PATIENCE);
            goes_on.unwrap_or_else(|why| panic!("{why}"));
            heard += senders.len();
        }
    }
    assert!(heard > 0, "nobody to be heard");
}

pub struct Rtiexec {
    pub child: Child,
    /// Where federates find it that are told nothing else.
    pub address: String,
    /// Where it listens for TCP, if it does.
    pub tcp: Option<String>,
    /// Of all federates.
    pub settings: String,
    directory: tempfile::TempDir,
}

impl Rtiexec {
    /// With this for all federates, and these variables for itself.
    pub fn start(settings: &str, variables: &[(&str, &str)]) -> Self {
        Rtiexec::start_by(&[], None, settings, variables)
    }

    /// By a program that starts it; it may listen at a TCP address, too.
    pub fn start_by(
        by: &[&str],
        tcp: Option<&str>,
        settings: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket: PathBuf = directory.path().join("s.sock");
        let address = format!("unix:{}", socket.display());
        let listens = tcp.into_iter().flat_map(|tcp| ["--listen", tcp]);
        let mut all = by.iter().chain([&env!("CARGO_BIN_EXE_starling")]);
        let mut child = Command::new(all.next().expect("one at least"))
            .args(all)
            .args(["rtiexec", "--listen", &address])
            .args(listens)
            .arg("--run-dir")
            .arg(directory.path().join("run"))
            .env("STARLING_SAVES_DIR", directory.path().join("saves"))
            .env("STARLING_LOG_LEVEL", "off")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let settings = settings.to_owned();
        let listening = line.split_whitespace().skip(1);
        let tcp = listening
            .map(str::to_owned)
            .find(|at| !at.starts_with("unix:"));
        Rtiexec {
            child,
            address,
            tcp,
            settings,
            directory,
        }
    }

    /// Where its files are, and those that it makes.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn members(&self) -> Vec<serde_json::Value> {
        members(&self.address)
    }

    /// By which ways data comes from 'd', one of five members, to a further one that may have few descriptors: from as few as
    /// it can begin with on. What passes is not looked at.
    pub fn ways_to_who_has_few_descriptors(
        &self,
        sender: &Federate,
        passes: &[&str],
    ) -> BTreeSet<String> {
        let mut shown = BTreeSet::new();
        for count in 14..32 {
            let limit = format!("ulimit -n {count}; exec \"$0\" \"$@\"");
            let by = ["sh", "-c", &limit];
            // Some are too few for a program to begin with.
            let Some(few) = Federate::try_start_by(&by, self, "receiver", "few", "") else {
                self.until_members(5);
                continue;
            };
            few.hears(&[sender]);
            let mut way = String::new();
            until("settled", || {
                way = self.path("d", "few");
                !passes.iter().any(|why| way.contains(why))
            });
            few.hears(&[sender]);
            drop(few);
            self.until_members(5);
            shown.insert(way);
        }
        shown
    }

    pub fn until_members(&self, count: usize) {
        until("so many members", || self.members().len() == count);
    }

    /// There are so many, and data of each takes this way to all others.
    pub fn until_all_by(&self, way: &str, count: usize) {
        until("a way between all", || {
            let members = self.members();
            let all = |path: &serde_json::Value| {
                path["by"] == way && path["to"].as_array().unwrap().len() == count - 1
            };
            let has =
                |member: &serde_json::Value| member["paths"].as_array().unwrap().iter().any(all);
            members.len() == count && members.iter().all(has)
        });
    }

    /// Data of the sender takes this way to so many.
    pub fn until_path(&self, way: &str, count: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            let members = self.members();
            let sender = members.iter().find(|m| m["name"] == "sender").unwrap();
            let paths = sender["paths"].as_array().unwrap();
            let path = paths.iter().find(|p| p["by"] == way);
            if path.map_or(0, |p| p["to"].as_array().unwrap().len()) == count {
                return;
            }
            assert!(Instant::now() < end, "not {count} by {way}: {members:#?}");
        }
    }

    /// The way that data takes.
    pub fn path(&self, from: &str, to: &str) -> String {
        let members = self.members();
        let of = |name: &str| members.iter().find(|m| m["name"] == name).unwrap();
        let handle = &of(to)["handle"];
        let paths = of(from)["paths"].as_array().unwrap();
        let is_to = |p: &&serde_json::Value| p["to"].as_array().unwrap().contains(handle);
        let path = paths.iter().find(is_to).unwrap();
        path["by"].as_str().unwrap().to_owned()
    }

    /// Descriptors that its process has open, but for the connection of who asks.
    pub fn descriptors(&self) -> usize {
        descriptors(&self.child)
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not after {PATIENCE:?}");
    }
}

/// How many moments a campaign has unless MOMENTS says so, and which they are.
pub fn moments(default: usize) -> (usize, u64) {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse().expect("a number"));
    let seed = number("CAMPAIGN_SEED").unwrap_or(1);
    (number("MOMENTS").map_or(default, |n| n as usize), seed)
}

/// What starling ps shows of all federates at some address.
pub fn members(address: &str) -> Vec<serde_json::Value> {
    let shown = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["ps", "--json", address])
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let federations = shown["federations"].as_array().unwrap();
    let federates = federations
        .iter()
        .flat_map(|f| f["federates"].as_array().unwrap());
    federates.cloned().collect()
}

pub fn descriptors(of: &Child) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", of.id()));
    open.unwrap().count()
}

/// Pieces of shared memory that a process has in its reach.
pub fn segments(of: &Child) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", of.id())).unwrap();
    let shared = maps.lines().filter(|line| line.contains("/memfd:"));
    let numbers: BTreeSet<_> = shared.map(|line| line.split_whitespace().nth(4)).collect();
    numbers.len()
}

/// All that is in a directory.
pub fn files(below: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir(below).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        }
        all.insert(entry.path());
    }
    all
}

/// What was on its way to others when the federation was saved comes once after it is restored, and what was sent
/// since does not; `way`: by which data goes from one to another.
pub fn are_restored(rtiexec: &Rtiexec, way: &str) {
    let sender = Federate::start(rtiexec, "sender", "sender", "");
    let near = Federate::start(rtiexec, "receiver", "near", "");
    let federates = [&sender, &near];
    let (to, heard) = channel();
    let keeper = RtiAmbassador::new();
    let settings = format!(
        "{};connect.timeout_s=100;{}",
        rtiexec.address, rtiexec.settings
    );
    keeper
        .connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .unwrap();
    keeper
        .join_federation_execution(Some("keeper"), "t", "Near", &[])
        .unwrap();
    let until_heard = |name: &str| {
        until(name, || {
            keeper.evoke_callback(0.1).unwrap();
            heard.try_iter().any(|callback| callback.name() == name)
        });
    };
    rtiexec.until_path(way, 2);
    near.hears(&[&sender]);
    keeper.request_federation_save("here", None).unwrap();
    until_heard("initiateFederateSave");
    keeper.federate_save_begun().unwrap();
    keeper.federate_save_complete().unwrap();
    until_heard("federationSaved");
    federates.iter().for_each(|f| f.until("federationSaved", 1));
    for _ in 0..3 {
        near.hears(&[&sender]);
        rtiexec.until_path(way, 2);
        keeper.request_federation_restore("here").unwrap();
        until_heard("initiateFederateRestore");
        keeper.federate_restore_complete().unwrap();
        until_heard("federationRestored");
        federates
            .iter()
            .for_each(|f| f.until("federationRestored", 1));
        rtiexec.until_path(way, 2);
    }
    near.hears(&[&sender]);
    keeper
        .resign_federation_execution(starling::ResignAction::NoAction)
        .unwrap();
}
