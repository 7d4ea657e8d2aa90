//! Processes that are stopped and cables that are cut or swallow all: a stopped process is distinguished from a lost
//! host, though neither connection is closed, and who is lost while it saves or is restored ends that for all. Two hosts
//! are network namespaces of this machine, which needs root and iproute2. Elsewhere the tests say that they were left
//! out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "no user sees it")]

#[path = "numbers/namespaces.rs"]
mod namespaces;

use namespaces::Sites;
use starling::{
    Callback, CallbackModel, FederateAmbassador, LogicalTime, LogicalTimeInterval, RestoreStatus,
    RtiAmbassador, SaveStatus,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Who is silent for so long is asked about, by what its host answers: not how fast a process is.
const SETTINGS: &str = "fault.timeout_s=1;fault.heartbeat_s=0.2;connect.timeout_s=3600";
/// How long to wait for what must come: then something is wrong, not slow.
const PATIENCE: Duration = Duration::from_secs(60);
const ADDRESS: &str = "10.79.0.1:15160";
/// The federate's name; one called Talker fills its link when it is told to, and SAVERS call services when they are.
const NAME: &str = "CABLE_TEST_NAME";

/// Who saves and is restored; the last beyond the cable.
const SAVERS: [&str; 3] = ["A", "B", "C"];
const NOT_SAVED: &str = "federationNotSaved RTI_DETECTED_FAILURE_DURING_SAVE";
const NOT_RESTORED: &str = "federationNotRestored RTI_DETECTED_FAILURE_DURING_RESTORE";

/// Prints what it hears; the rest of the world is the other process.
struct Ears;

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        match callback {
            Callback::ConnectionLost { fault } => {
                println!("lost: {fault}");
                std::process::exit(0);
            }
            // All that a Watcher subscribes to.
            Callback::ReceiveInteraction { values, .. } => {
                let values: Vec<_> = values.iter().map(|(_, value)| value).collect();
                let texts = values
                    .iter()
                    .map(|v| String::from_utf8_lossy(v).replace('\0', ""));
                println!("told: {}", texts.collect::<String>());
            }
            Callback::FederationNotSaved { reason } => {
                println!("federationNotSaved {}", reason.name());
            }
            Callback::FederationNotRestored { reason } => {
                println!("federationNotRestored {}", reason.name());
            }
            // How many are done.
            Callback::FederationSaveStatusResponse(all) => {
                let done = SaveStatus::FederateWaitingForFederationToSave;
                println!(
                    "{} have saved",
                    all.iter().filter(|(_, s)| *s == done).count()
                );
            }
            Callback::FederationRestoreStatusResponse(all) => {
                let done = RestoreStatus::FederateWaitingForFederationToRestore;
                println!(
                    "{} are restored",
                    all.iter().filter(|s| s.status == done).count()
                );
            }
            callback => println!("{}", callback.name()),
        }
        Ok(())
    }
}

/// Not a test: the federate, which the tests below run in a namespace.
#[test]
#[ignore = "run by the tests below"]
fn federate() {
    let name = std::env::var(NAME).expect("the federate's name");
    let rti = RtiAmbassador::new();
    let settings = format!("connect.address={ADDRESS};net.unix=false;{SETTINGS}");
    rti.connect(Box::new(Ears), CallbackModel::Evoked, &settings)
        .unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let fom = root.join("restaurant/RestaurantFOMmodule-2010.xml");
    // Another federate may have created it.
    let _ = rti.create_federation_execution("Cut", &[fom.display().to_string()], None, "");
    rti.join_federation_execution(Some(&name), "tester", "Cut", &[])
        .unwrap();
    if name == "Watcher" {
        let report = "HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost";
        let report = rti.interaction_class_handle(report).unwrap();
        rti.subscribe_interaction_class(report, true).unwrap();
    }
    println!("joined");
    if SAVERS.contains(&name.as_str()) {
        does_what_it_reads(&rti);
    }
    if name == "Talker" {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let tag = vec![0; 1 << 20];
        for label in 0..16 {
            rti.register_federation_synchronization_point(&label.to_string(), &tag, &[])
                .unwrap();
        }
        println!("all said");
    }
    // Until the test ends it.
    loop {
        rti.evoke_callback(1.0).unwrap();
    }
}

/// Calls the service that stands in each line, and prints what it throws.
fn does_what_it_reads(rti: &RtiAmbassador) {
    let told = lines(std::io::stdin());
    loop {
        let call = |line: String| match line.split_once(' ').unwrap_or((&line, "")) {
            ("enableTimeRegulation", _) => {
                rti.enable_time_regulation(LogicalTimeInterval::float64(1.0).unwrap())
            }
            ("enableTimeConstrained", _) => rti.enable_time_constrained(),
            ("timeAdvanceRequest", to) => {
                rti.time_advance_request(LogicalTime::float64(to.parse().unwrap()).unwrap())
            }
            ("requestFederationSave", label) => rti.request_federation_save(label, None),
            ("federateSaveBegun", _) => rti.federate_save_begun(),
            ("federateSaveComplete", _) => rti.federate_save_complete(),
            ("queryFederationSaveStatus", _) => rti.query_federation_save_status(),
            ("requestFederationRestore", label) => rti.request_federation_restore(label),
            ("federateRestoreComplete", _) => rti.federate_restore_complete(),
            ("queryFederationRestoreStatus", _) => rti.query_federation_restore_status(),
            _ => panic!("{line}"),
        };
        for e in told.try_iter().filter_map(|line| call(line).err()) {
            println!("thrown: {e}");
        }
        rti.evoke_callback(0.05).unwrap();
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process prints, line by line.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Waits for a line with this text; panics with what came if there is none.
fn line_with(lines: &Receiver<String>, text: &str) -> String {
    let mut all = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains(text) => return line,
            Ok(line) => all.push(line),
            Err(why) => panic!("no line with {text:?} ({why}) in:\n{}", all.join("\n")),
        }
    }
}

/// A process in a namespace: what it prints, and what it says on standard error.
struct Running {
    name: String,
    process: Ended,
    out: Receiver<String>,
    log: Receiver<String>,
}

impl Running {
    fn start(name: &str, command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Ended(command.spawn().unwrap());
        Running {
            name: name.to_owned(),
            out: lines(process.0.stdout.take().unwrap()),
            log: lines(process.0.stderr.take().unwrap()),
            process,
        }
    }

    fn rtiexec(sites: &Sites, run_dir: &Path, paused: &str) -> Self {
        let rtiexec = Self::start(
            "rtiexec",
            sites.0[0]
                .command(env!("CARGO_BIN_EXE_starling"))
                .args(["rtiexec", "--listen", ADDRESS, "--run-dir"])
                .arg(run_dir)
                .env("STARLING_SAVES_DIR", run_dir.join("saves"))
                .env("STARLING_FAULT_TIMEOUT_S", "1")
                .env("STARLING_FAULT_HEARTBEAT_S", "0.2")
                .env("STARLING_FAULT_PAUSED", paused)
                .env("STARLING_LIMITS_HELLO_TIMEOUT_S", "3600"),
        );
        line_with(&rtiexec.out, ADDRESS);
        rtiexec
    }

    /// A joined federate.
    fn federate(sites: &Sites, site: usize, name: &str) -> Self {
        let me = std::env::current_exe().unwrap();
        let federate = Self::start(
            name,
            sites.0[site]
                .command(me)
                .args(["--ignored", "--exact", "federate", "--nocapture"])
                .env(NAME, name),
        );
        line_with(&federate.out, "joined");
        federate
    }

    fn signal(&self, name: &str) {
        let id = self.process.0.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    fn calls(&self, service: &str) {
        writeln!(self.process.0.stdin.as_ref().unwrap(), "{service}").unwrap();
    }

    /// The next line that it prints, but for those of its test harness.
    fn prints(&self) -> String {
        loop {
            let line = self.out.recv_timeout(PATIENCE).expect("a line");
            if !line.starts_with("test ") {
                return line;
            }
        }
    }

    /// Waits until the system asks a peer of this process at intervals of seconds whether its
    /// closed window is open again; meanwhile nobody is given up.
    fn until_probing(&self, loss: (&Receiver<String>, &str)) {
        let path = format!("/proc/{}/net/tcp", self.process.0.id());
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Ok(line) = loss.0.recv_timeout(Duration::from_millis(20)) {
                assert!(!line.contains(loss.1), "{line}");
            }
            let table = std::fs::read_to_string(&path).unwrap();
            let timers = table.lines().filter_map(|l| l.split_whitespace().nth(5));
            let mut probes = timers.filter_map(|t| t.strip_prefix("04:"));
            // In hundredths of a second.
            if probes.any(|p| u32::from_str_radix(p, 16).unwrap() > 200) {
                return;
            }
            assert!(Instant::now() < give_up, "no window is probed:\n{table}");
        }
    }
}

#[test]
fn both_ends_notice_a_cut_cable() {
    let Some(sites) = Sites::new("c") else { return };
    let run_dir = tempfile::tempdir().unwrap();
    let rtiexec = Running::rtiexec(&sites, run_dir.path(), "keep");
    let watcher = Running::federate(&sites, 0, "Watcher");
    let federate = Running::federate(&sites, 1, "Remote");
    sites.cut();
    let lost = line_with(&federate.out, "lost");
    assert!(lost.contains("nor from its host"), "{lost}");
    let noticed = line_with(&rtiexec.log, "nothing came from it");
    assert!(noticed.contains("Remote"), "{noticed}");
    // HLAreportFederateLost, 1516.1-2010 11.4.
    line_with(&watcher.out, "Remote");
}

#[test]
fn a_stopped_federate_is_kept_while_its_host_answers_and_lost_with_its_cable() {
    let Some(sites) = Sites::new("f") else { return };
    let run_dir = tempfile::tempdir().unwrap();
    let rtiexec = Running::rtiexec(&sites, run_dir.path(), "keep");
    let stopped = Running::federate(&sites, 1, "Stopped");
    let talker = Running::federate(&sites, 0, "Talker");
    stopped.signal("-STOP");
    talker.calls("");
    line_with(&talker.out, "all said");
    let kept = line_with(&rtiexec.log, "is silent but kept");
    assert!(kept.contains("Stopped"), "{kept}");
    rtiexec.until_probing((&rtiexec.log, "cut off"));
    sites.cut();
    let cut_off = line_with(&rtiexec.log, "cut off");
    assert!(cut_off.contains("Stopped"), "{cut_off}");
    assert!(cut_off.contains("nor from its host"), "{cut_off}");
}

#[test]
fn a_stopped_rtiexec_is_not_given_up_while_its_host_answers() {
    let Some(sites) = Sites::new("r") else { return };
    let run_dir = tempfile::tempdir().unwrap();
    let rtiexec = Running::rtiexec(&sites, run_dir.path(), "keep");
    let talker = Running::federate(&sites, 1, "Talker");
    rtiexec.signal("-STOP");
    talker.calls("");
    talker.until_probing((&talker.out, "lost"));
    rtiexec.signal("-CONT");
    line_with(&talker.out, "all said");
}

/// Three federates that regulate and are constrained, and a save of these.
struct Savers {
    all: Vec<Running>,
    rtiexec: Running,
    sites: Sites,
    _directory: tempfile::TempDir,
}

impl Savers {
    fn new(test: &str) -> Option<Self> {
        let sites = Sites::new(test)?;
        let directory = tempfile::tempdir().unwrap();
        let rtiexec = Running::rtiexec(&sites, directory.path(), "keep");
        let join = |(n, name)| Running::federate(&sites, n / 2, name);
        let all = SAVERS.into_iter().enumerate().map(join).collect();
        let savers = Self {
            all,
            rtiexec,
            sites,
            _directory: directory,
        };
        savers.call(&savers.all, "enableTimeRegulation");
        savers.hear(&savers.all, "timeRegulationEnabled");
        savers.call(&savers.all, "enableTimeConstrained");
        savers.hear(&savers.all, "timeConstrainedEnabled");
        savers.begin_to_save("Kept");
        savers.call(&savers.all, "federateSaveComplete");
        savers.hear(&savers.all, "federationSaved");
        Some(savers)
    }

    fn call(&self, who: &[Running], service: &str) {
        who.iter().for_each(|one| one.calls(service));
    }

    /// Nothing comes to them before that.
    fn hear(&self, who: &[Running], what: &str) {
        for one in who {
            assert_eq!(one.prints(), what, "{}", one.name);
        }
    }

    fn begin_to_save(&self, label: &str) {
        self.call(&self.all[..1], &format!("requestFederationSave {label}"));
        self.hear(&self.all, "initiateFederateSave");
        self.call(&self.all, "federateSaveBegun");
    }

    fn begin_to_be_restored(&self) {
        self.call(&self.all[..1], "requestFederationRestore Kept");
        self.hear(&self.all[..1], "requestFederationRestoreSucceeded");
        self.hear(&self.all, "federationRestoreBegun");
        self.hear(&self.all, "initiateFederateRestore");
    }

    /// The one beyond the cable calls this, and rtiexec has it: what it is asked next it answers so.
    fn is_first(&self, service: &str, question: &str, answer: &str) {
        let first = &self.all[2..];
        self.call(first, service);
        self.call(first, question);
        self.hear(first, answer);
    }

    /// The one whose cable swallows all is lost: what the others and it are told, and what rtiexec's log says. Time
    /// goes on.
    fn lose_one(&self, what: &str, reason: &str) {
        let others = &self.all[..2];
        self.hear(others, reason);
        let lost = self.all[2].prints();
        assert!(lost.starts_with("lost: "), "{lost}");
        assert!(lost.contains("nor from its host (fault"), "{lost}");
        let resigned = line_with(&self.rtiexec.log, "nothing came from it");
        assert!(resigned.contains("federate 'C'"), "{resigned}");
        assert!(resigned.contains("nor from its host"), "{resigned}");
        let reason = reason.split(' ').nth(1).unwrap();
        let failed = format!("the {what} has failed: 'C' was lost ({reason})");
        line_with(&self.rtiexec.log, &failed);
        self.call(others, "timeAdvanceRequest 10");
        self.hear(others, "timeAdvanceGrant");
    }

    /// Nothing is left over: it joins again, and all are restored.
    fn mend(&mut self) {
        self.sites.mend();
        self.all[2] = Running::federate(&self.sites, 1, SAVERS[2]);
        self.begin_to_be_restored();
        self.call(&self.all, "federateRestoreComplete");
        self.hear(&self.all, "federationRestored");
    }
}

#[test]
fn who_is_swallowed_while_it_saves_ends_the_save() {
    let Some(mut savers) = Savers::new("s") else {
        return;
    };
    savers.begin_to_save("Lost");
    savers.call(&savers.all[..2], "federateSaveComplete");
    savers.sites.swallow();
    savers.call(&savers.all[2..], "federateSaveComplete");
    savers.lose_one("save 'Lost'", NOT_SAVED);
    savers.mend();
}

#[test]
fn who_is_swallowed_when_it_has_saved_before_others_ends_the_save() {
    let Some(mut savers) = Savers::new("t") else {
        return;
    };
    savers.begin_to_save("Lost");
    let question = "queryFederationSaveStatus";
    savers.is_first("federateSaveComplete", question, "1 have saved");
    savers.call(&savers.all[..1], "federateSaveComplete");
    savers.sites.swallow();
    savers.lose_one("save 'Lost'", NOT_SAVED);
    savers.call(&savers.all[1..2], "federateSaveComplete");
    let late = savers.all[1].prints();
    assert!(
        late.starts_with("thrown: FederateHasNotBegunSave"),
        "{late}"
    );
    savers.mend();
}

#[test]
fn who_is_swallowed_while_it_is_restored_ends_the_restore() {
    let Some(mut savers) = Savers::new("u") else {
        return;
    };
    savers.begin_to_be_restored();
    savers.call(&savers.all[..2], "federateRestoreComplete");
    savers.sites.swallow();
    savers.call(&savers.all[2..], "federateRestoreComplete");
    savers.lose_one("restore 'Kept'", NOT_RESTORED);
    savers.mend();
}

#[test]
fn who_is_swallowed_when_it_is_restored_before_others_ends_the_restore() {
    let Some(mut savers) = Savers::new("v") else {
        return;
    };
    savers.begin_to_be_restored();
    let question = "queryFederationRestoreStatus";
    savers.is_first("federateRestoreComplete", question, "1 are restored");
    savers.call(&savers.all[..1], "federateRestoreComplete");
    savers.sites.swallow();
    savers.lose_one("restore 'Kept'", NOT_RESTORED);
    savers.call(&savers.all[1..2], "federateRestoreComplete");
    let late = savers.all[1].prints();
    assert!(late.starts_with("thrown: RestoreNotRequested"), "{late}");
    savers.mend();
}
