//! The program as a user runs it, with real processes that are killed and stopped.
//! This test program also plays the federates.
#![allow(clippy::print_stdout, reason = "no user sees it")]

#[path = "../../starling-rtiexec/tests/common/mod.rs"]
mod common;

use common::Client;
use libtest_mimic::{Arguments, Trial};
use starling::{CallbackModel, FederateAmbassador, RtiAmbassador};
use starling_core::message::{Doing, FromExecutive, ModuleSource, ToExecutive};
use starling_core::{Callback, Counters, LogicalTime, LogicalTimeInterval};
use starling_net::{Endpoint, Link, ProcessState, RunDir, process_state, reach};
use starling_rid::Sources;
use starling_wire::VERSION;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Output, Stdio};
use std::time::Instant;

macro_rules! test {
    ($function:ident) => {
        trial(stringify!($function), $function)
    };
}

const STARLING: &str = env!("CARGO_BIN_EXE_starling");
/// For what only a slow machine could make late.
const PATIENCE_S: &str = "3600";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("federate") => {
            federate(&arguments[1], &arguments[2]);
            return ExitCode::SUCCESS;
        }
        Some("timed") => {
            timed(&arguments[1], &arguments[2]);
            return ExitCode::SUCCESS;
        }
        Some("starter") => {
            starter(&arguments[1]);
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    // Each of them keeps several processes busy.
    arguments.test_threads = arguments.test_threads.or(Some(1));
    let tests = [
        test!(a_killed_federate_is_resigned),
        test!(a_stopped_federate_is_resigned_and_finds_out),
        test!(a_stopped_federate_is_kept_by_setting),
        test!(ps_lists_who_is_there_and_how),
        test!(why_tells_whose_turn_it_is),
        test!(errors_are_clear),
        test!(a_log_that_cannot_be_written_harms_nobody),
        test!(names_forge_no_log_lines),
        test!(what_is_left_over_is_got_rid_of),
        test!(help_names_exit_codes),
        test!(a_signal_ends_it_in_good_order),
        test!(federates_start_one_by_themselves),
        test!(one_that_ends_as_it_is_reached_is_replaced),
    ];
    libtest_mimic::run(&arguments, tests.into()).exit_code()
}

/// One with a run directory of its own. A function that isn't listed above is dead code to the
/// compiler.
fn trial(name: &str, test: fn(&Path)) -> Trial {
    Trial::test(name, move || {
        let directory = tempfile::tempdir()?;
        let run_dir = directory.path().join("run");
        RunDir::open(&run_dir)?;
        test(&run_dir);
        Ok(())
    })
}

/// Plays a federate: joins, says so, and stays until it is told what became of it.
fn federate(address: &str, name: &str) {
    let mut client = Client::at(&Endpoint::parse(address).unwrap());
    client.hello(VERSION).unwrap();
    client.join("Demo", name).unwrap();
    println!("joined");
    std::io::stdout().flush().unwrap();
    let removed = client.until(|m| matches!(m, FromExecutive::Removed(_)));
    println!("{removed:?}");
}

/// Plays a federate that regulates time and is constrained. It does what it is told, line by line, and
/// says so: `ask` for an advance to 10, `look` at its time, `evoke` until it has been granted.
fn timed(address: &str, name: &str) {
    let (tell, told) = std::sync::mpsc::channel();
    let rti = RtiAmbassador::new();
    let stays = Stays {
        tell,
        in_callback: name == "Stuck",
    };
    let model = CallbackModel::Evoked;
    let settings = format!("{address};connect.timeout_s={PATIENCE_S}");
    rti.connect(Box::new(stays), model, &settings).unwrap();
    let kind = "timed";
    rti.join_federation_execution(Some(name), kind, "Demo", &[])
        .unwrap();
    let until = |what: &str| {
        while told.try_recv().ok() != Some(what.to_owned()) {
            rti.evoke_callback(1.0).unwrap();
        }
    };
    let lookahead = LogicalTimeInterval::float64(1.0).unwrap();
    rti.enable_time_regulation(lookahead).unwrap();
    until("timeRegulationEnabled");
    rti.enable_time_constrained().unwrap();
    until("timeConstrainedEnabled");
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.as_str() {
            "ask" => {
                let to = LogicalTime::float64(10.0).unwrap();
                rti.time_advance_request(to).unwrap();
            }
            "look" => {
                rti.query_logical_time().unwrap();
            }
            "evoke" => until("timeAdvanceGrant"),
            "point" => rti
                .register_federation_synchronization_point("Go", b"", &[])
                .unwrap(),
            "publish" | "subscribe" => {
                let class = rti
                    .interaction_class_handle("HLAinteractionRoot.Number")
                    .unwrap();
                if line == "publish" {
                    rti.publish_interaction_class(class).unwrap();
                } else {
                    rti.subscribe_interaction_class(class, true).unwrap();
                }
            }
            other => panic!("{other}?"),
        }
        println!("done");
    }
}

/// A federate that tells of its callbacks. One of them may stay in its grants until it may go on.
struct Stays {
    tell: std::sync::mpsc::Sender<String>,
    in_callback: bool,
}

impl FederateAmbassador for Stays {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        if self.in_callback && callback.name() == "timeAdvanceGrant" {
            println!("inside");
            line_of(&mut std::io::stdin().lock());
        }
        let name = callback.name().to_owned();
        self.tell.send(name).map_err(|e| e.to_string())
    }
}

/// Settings of a federate that starts an rtiexec.
fn starting(run_dir: &Path) -> String {
    format!(
        "net.run_dir={};start.program={STARLING};start.idle_exit_s=0;\
         start.timeout_s={PATIENCE_S};connect.timeout_s={PATIENCE_S}",
        run_dir.display()
    )
}

/// Plays a federate that reaches an rtiexec by itself, and stays until its input ends.
fn starter(run_dir: &str) {
    let text = starting(Path::new(run_dir));
    let settings = Sources::new().designator(&text).read().unwrap();
    let reach = reach(&settings).unwrap_or_else(|e| panic!("{e}"));
    let (pid, _) = reach.stream.peer().process.unwrap();
    let mut client = Client::at(&reach.endpoint);
    drop(std::mem::replace(&mut client.link, Link::new(reach.stream)));
    client.hello(VERSION).unwrap();
    println!("{pid} {:?}", reach.how);
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

/// `starling rtiexec` on a port and directory of its own; killed with the test.
struct Rtiexec {
    child: Child,
    tcp: String,
    unix: String,
    log: Option<BufReader<std::process::ChildStderr>>,
}

impl Rtiexec {
    fn start(run_dir: &Path, settings: &[(&str, &str)]) -> Self {
        Self::start_logging_to(run_dir, settings, Stdio::piped())
    }

    fn start_logging_to(run_dir: &Path, settings: &[(&str, &str)], stderr: Stdio) -> Self {
        let mut command = Command::new(STARLING);
        command
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(run_dir);
        command.env("STARLING_LIMITS_HELLO_TIMEOUT_S", PATIENCE_S);
        command.envs(settings.iter().copied());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let line = line_of(&mut BufReader::new(child.stdout.take().unwrap()));
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, tcp, unix] = words[..] else {
            panic!("not ready: {line}");
        };
        let log = child.stderr.take().map(BufReader::new);
        Self {
            child,
            tcp: tcp.into(),
            unix: unix.into(),
            log,
        }
    }

    fn until_logged(&mut self, part: &str) -> String {
        loop {
            let line = line_of(self.log.as_mut().unwrap());
            assert!(!line.is_empty(), "the log ended without '{part}'");
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The creator of the federation execution.
    fn founder(&self) -> Client {
        let mut client = Client::at(&Endpoint::parse(&self.unix).unwrap());
        client.hello(VERSION).unwrap();
        client.create("Demo").unwrap();
        client.join("Demo", "founder").unwrap();
        client
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line_of(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line
}

fn play(address: &str, name: &str) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["federate", address, name])
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(line_of(&mut out), "joined\n");
    (child, out)
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([name, &id])
            .status()
            .unwrap()
            .success()
    );
}

fn a_killed_federate_is_resigned(run_dir: &Path) {
    let mut rtiexec = Rtiexec::start(run_dir, &[]);
    let mut founder = rtiexec.founder();
    for address in [rtiexec.unix.clone(), rtiexec.tcp.clone()] {
        let (mut child, _) = play(&address, "doomed");
        founder.until_member("doomed", true);
        child.kill().unwrap();
        child.wait().unwrap();
        founder.until_member("doomed", false);
        assert!(
            founder.fault.contains("ended or closed the connection"),
            "{}",
            founder.fault
        );
        let line = rtiexec.until_logged("lost:");
        assert!(line.contains("federate 'doomed' of 'Demo'"), "{line}");
    }
}

/// Shows settings: fault.timeout_s.
fn a_stopped_federate_is_resigned_and_finds_out(run_dir: &Path) {
    let times = [
        ("STARLING_FAULT_TIMEOUT_S", "0.5"),
        ("STARLING_FAULT_HEARTBEAT_S", "0.1"),
    ];
    let rtiexec = Rtiexec::start(run_dir, &times);
    let mut founder = rtiexec.founder();
    let (mut child, mut out) = play(&rtiexec.tcp, "stopped");
    founder.until_member("stopped", true);
    signal(&child, "-STOP");
    founder.until_member("stopped", false);
    assert!(
        founder.fault.contains("its process is stopped"),
        "{}",
        founder.fault
    );
    signal(&child, "-CONT");
    assert!(
        line_of(&mut out).contains("its process is stopped"),
        "it was not told"
    );
    assert!(child.wait().unwrap().success());
}

/// Shows settings: fault.paused.
fn a_stopped_federate_is_kept_by_setting(run_dir: &Path) {
    let settings = [
        ("STARLING_FAULT_TIMEOUT_S", "0.3"),
        ("STARLING_FAULT_HEARTBEAT_S", "0.1"),
        ("STARLING_FAULT_PAUSED", "keep"),
    ];
    let mut rtiexec = Rtiexec::start(run_dir, &settings);
    let mut founder = rtiexec.founder();
    let (mut child, _) = play(&rtiexec.tcp, "paused");
    founder.until_member("paused", true);
    signal(&child, "-STOP");
    let line = rtiexec.until_logged("is silent but kept: its process is stopped");
    assert!(line.contains("federate 'paused' of 'Demo'"), "{line}");
    signal(&child, "-CONT");
    // Still a member, as far as all that rtiexec has said until now.
    founder.tell(ToExecutive::ListFederations);
    founder.until(|m| matches!(m, FromExecutive::Federations(_)));
    assert!(founder.federate().federate_handle("paused").is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    founder.until_member("paused", false);
}

fn starling(arguments: &[&str]) -> Output {
    let mut command = Command::new(STARLING);
    command.env("STARLING_CONNECT_TIMEOUT_S", PATIENCE_S);
    command.args(arguments).output().unwrap()
}

fn ps_lists_who_is_there_and_how(run_dir: &Path) {
    let rtiexec = Rtiexec::start(run_dir, &[]);
    let founder = rtiexec.founder();
    let (mut child, _) = play(&rtiexec.tcp, "over-tcp");
    let text = starling(&["ps", &rtiexec.tcp]);
    assert!(text.status.success());
    let text = String::from_utf8(text.stdout).unwrap();
    let line = |part: &str| {
        text.lines()
            .find(|l| l.contains(part))
            .unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line("Demo:").contains("2 federate(s)"), "{text}");
    assert!(line("founder").contains("unix via rtiexec"), "{text}");
    assert!(line("over-tcp").contains("tcp 127.0.0.1:"), "{text}");
    let json = starling(&[
        "ps",
        "--json",
        &rtiexec.unix.replace("unix:", "connect.address=unix:"),
    ]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let federates = json["federations"][0]["federates"].as_array().unwrap();
    let over_tcp = federates.iter().find(|f| f["name"] == "over-tcp");
    assert_eq!(over_tcp.unwrap()["type"], "test", "{json}");
    what_became_of_data_is_shown(rtiexec, founder);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// In `ps`, in `why`, and in the log when the federate is gone.
/// A `timed` federate, and its lines.
struct Timed(Child, BufReader<ChildStdout>);

impl Timed {
    fn start(address: &str, name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["timed", address, name]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(line_of(&mut out), "ready\n");
        Timed(child, out)
    }

    fn say(&mut self, line: &str) {
        let mut to = self.0.stdin.as_ref().unwrap();
        to.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        line_of(&mut self.1).trim_end().to_owned()
    }

    fn does(&mut self, line: &str) {
        self.say(line);
        assert_eq!(self.answer(), "done", "{line}");
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Shows settings: log.wait_s.
fn why_tells_whose_turn_it_is(run_dir: &Path) {
    let settings = [
        ("STARLING_LOG_WAIT_S", "0.2"),
        ("STARLING_FAULT_PAUSED", "keep"),
    ];
    let mut rtiexec = Rtiexec::start(run_dir, &settings);
    let founder = rtiexec.founder();
    let mut slow = Timed::start(&rtiexec.tcp, "Slow");
    let mut fast = Timed::start(&rtiexec.tcp, "Fast");
    let unix = rtiexec.unix.clone();
    let why = |arguments: &[&str]| {
        let mut all = vec!["why", "Fast", "--rtiexec", &unix];
        all.extend(arguments);
        let output = starling(&all);
        assert_eq!(output.status.code(), Some(1), "time stands still");
        String::from_utf8(output.stdout).unwrap()
    };
    // Asks again until it is told: federates tell of themselves once in a while.
    let until = |part: &str| loop {
        let text = why(&[]);
        if text.contains(part) {
            return text;
        }
    };
    let called = "it is the turn of 'Slow': it called queryLogicalTime last, about ";
    // It reads what it is to do next.
    let evoked = "it is the turn of 'Fast': it has called nothing since it evoked callbacks (evokeCallback), about ";
    until(evoked);
    fast.does("look");
    slow.does("look");
    let looked = Instant::now();
    fast.does("ask");
    let text = loop {
        let asked = looked.elapsed().as_secs_f64();
        let text = why(&[]);
        if let Some((_, age)) = text.split_once(called) {
            // Since it called, not since it has told so; to a tenth of a second.
            let age: f64 = age.split(' ').next().unwrap().parse().unwrap();
            assert!(age > asked - 0.1, "{asked}: {text}");
            break text;
        }
    };
    let line = rtiexec.until_logged(" waits for Time Advance Request to 10, ");
    assert!(line.contains("federate 'Fast' of 'Demo'"), "{line}");
    assert!(line.contains("it is the turn of 'Slow': "), "{line}");
    for part in [
        "ok    asked    for Time Advance Request to 10, ",
        "FAIL  granted  'Slow' is at 0, time-constrained, time-regulating with lookahead 1, ",
        "from which messages with time stamps of at least 1 may still come, and has asked for no advance",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let status = starling(&["ps", "--json", &unix]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let federates = status["federations"][0]["federates"].as_array().unwrap();
    let of = |name: &str| federates.iter().find(|f| f["name"] == name).unwrap();
    assert_eq!(of("Fast")["time"]["waits_for"], of("Slow")["handle"]);
    assert_eq!(of("Slow")["last_service"], "queryLogicalTime");
    assert_eq!(of("Slow")["time"]["waits_for"], serde_json::Value::Null);
    let top = starling(&["top", "--times", "1", &unix]);
    let top = String::from_utf8(top.stdout).unwrap();
    let waits = " s for 10 (Time Advance Request), for Slow\n";
    assert!(top.contains(waits), "{top}");
    // Its lookahead, its GALT and its LITS.
    let line = top.lines().find(|line| line.trim().starts_with("Fast"));
    let columns: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
    assert_eq!(columns.get(5..9), Some(&["0", "1", "1", "1"][..]), "{top}");
    assert_eq!(of("Fast")["time"]["asked"], "Time Advance Request");
    assert_eq!(of("Fast")["time"]["galt_passed"], false);
    slow.does("publish");
    fast.does("subscribe");
    signal(&slow.0, "-STOP");
    until("it is the turn of 'Slow': its process is stopped; nothing has come from it for ");
    let json: serde_json::Value = serde_json::from_str(&why(&["--json"])).unwrap();
    let last = json.as_array().unwrap().last().unwrap();
    assert_eq!(last["link"], "turn", "{json}");
    assert_eq!(last["holds"], false, "{json}");
    let data = starling(&["why", "Slow", "HLAobjectRoot", "--rtiexec", &unix]);
    let data = String::from_utf8(data.stdout).unwrap();
    let process = "FAIL  process    its process is stopped; nothing has come from it for ";
    assert!(data.contains(process), "{data}");
    // Whoever gets nothing learns that who should send can't.
    let data = why(&["HLAinteractionRoot.Number"]);
    let sender = data.lines().find(|line| line.starts_with("FAIL  sender  "));
    let still = "  'Slow': its process is stopped; nothing has come from it for ";
    assert!(sender.is_some_and(|line| line.contains(still)), "{data}");
    loop {
        let top = starling(&["top", "--times", "1", &unix]);
        let top = String::from_utf8(top.stdout).unwrap();
        let is = |line: &str| {
            line.trim().starts_with("Slow") && line.contains("; its process is stopped; ")
        };
        if top.lines().any(is) {
            break;
        }
    }
    signal(&slow.0, "-CONT");
    // Whoever waits is granted, and nobody waits who is held up by one that is inside its grant.
    let mut stuck = Timed::start(&rtiexec.tcp, "Stuck");
    slow.does("ask");
    stuck.does("ask");
    stuck.say("evoke");
    assert_eq!(stuck.answer(), "inside");
    for federate in [&mut slow, &mut fast] {
        federate.does("evoke");
    }
    until(evoked);
    let others = starling(&["why", "Stuck", "--rtiexec", &unix]);
    assert_eq!(others.status.code(), Some(1));
    loop {
        let found = starling(&["why", "Stuck", "--rtiexec", &unix]);
        let found = String::from_utf8(found.stdout).unwrap();
        if found.contains("it has been in the callback timeAdvanceGrant for about ") {
            break;
        }
    }
    drop(founder);
    points_that_are_not_synchronized_are_shown(&mut slow, &mut rtiexec);
}

fn points_that_are_not_synchronized_are_shown(slow: &mut Timed, rtiexec: &mut Rtiexec) {
    slow.does("point");
    let line = rtiexec.until_logged("synchronization point 'Go' is not done after ");
    assert!(line.contains("'Demo': "), "{line}");
    assert!(line.contains(" s: achieved by 0 of "), "{line}");
    assert!(line.contains("; it waits for 'Slow', "), "{line}");
    assert!(line.contains("; it is the turn of 'Slow': "), "{line}");
    for show in [&["ps"][..], &["top", "--times", "1"]] {
        let shown = starling(&[show, &[&rtiexec.unix]].concat());
        let shown = String::from_utf8(shown.stdout).unwrap();
        let point = shown.lines().find(|l| l.contains("point 'Go' for "));
        assert!(
            point.unwrap_or(&shown).contains("; waits for Slow, "),
            "{shown}"
        );
    }
    let json = starling(&["ps", "--json", &rtiexec.unix]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let point = &json["federations"][0]["under_way"][0];
    assert_eq!(point["what"], "synchronization point", "{json}");
    assert_eq!(point["label"], "Go", "{json}");
    assert_eq!(point["waits_for"].as_array().unwrap().len(), 3, "{json}");
}

fn what_became_of_data_is_shown(mut rtiexec: Rtiexec, mut founder: Client) {
    let counters = Counters {
        sent: 70,
        unwanted: 3,
        reduced: 5,
        unsubscribed: 2,
        held: 1,
        ..Counters::default()
    };
    let told = "70 sent, 0 received, 3 not sent: nobody subscribed, 5 left out by update rate, \
                2 dropped: not subscribed when due, 1 held for what they come after";
    founder.tell(ToExecutive::Counted {
        counters: Box::new(counters),
        doing: Doing::default(),
        for_ms: 0,
        withheld_bytes_max: 0,
    });
    // Answered behind it.
    founder.tell(ToExecutive::ListFederations);
    founder.until(|m| matches!(m, FromExecutive::Federations(_)));
    let text = String::from_utf8(starling(&["ps", &rtiexec.tcp]).stdout).unwrap();
    assert!(
        text.contains(&format!("data of founder: {told}\n")),
        "{text}"
    );
    let json = starling(&["ps", "--json", &rtiexec.tcp]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let federates = json["federations"][0]["federates"].as_array().unwrap();
    let founders = federates.iter().find(|f| f["name"] == "founder").unwrap();
    for (key, count) in [("sent", 70), ("unwanted", 3), ("reduced", 5), ("held", 1)] {
        assert_eq!(founders["counters"][key], count, "{key}");
    }
    assert_eq!(founders["time"]["logical_time"], "0", "{json}");
    assert_eq!(founders["time"]["galt"], serde_json::Value::Null, "{json}");
    let top = starling(&["top", "--times", "2", "--interval-s", "0.1", &rtiexec.tcp]);
    assert!(top.status.success());
    let top = String::from_utf8(top.stdout).unwrap();
    let rows: Vec<_> = top.lines().filter(|l| l.contains("founder")).collect();
    let [first, second] = rows[..] else {
        panic!("two looks: {top}");
    };
    // Only the second look knows how many were sent since the one before.
    let sent = |row: &str| row.split_whitespace().nth(1).map(str::to_owned);
    assert_eq!(sent(first).as_deref(), Some("-"), "{top}");
    assert_eq!(sent(second).as_deref(), Some("0"), "{top}");
    assert!(second.contains("no time management"), "{top}");
    drop(founder);
    let line = rtiexec.until_logged("lost: federate 'founder'");
    assert!(line.contains(told), "{line}");
}

fn errors_are_clear(run_dir: &Path) {
    let rtiexec = Rtiexec::start(run_dir, &[]);
    let fails = |arguments: &[&str], code: i32, part: &str| {
        let output = starling(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    let busy = format!("is in use by process {} (starling)", rtiexec.child.id());
    fails(&["rtiexec", "--listen", &rtiexec.tcp], 1, &busy);
    fails(&["rtiexec", "--listen", &rtiexec.unix], 1, &busy);
    fails(&["rtiexec", "--listen", "a b:c"], 2, "'c' is no port");
    let range = "'-1' is no number from 0 to 86400";
    fails(&["rtiexec", "--idle-exit-s=-1"], 2, range);
    fails(
        &["rtiexec", "--log-level", "loud"],
        2,
        "'loud' is none of off, error",
    );
    fails(
        &[
            "rtiexec",
            "--run-dir",
            "/none/x",
            "--listen",
            "unix:/none/y",
        ],
        1,
        "/none/y",
    );
    fails(
        &["ps", "conect.address=x"],
        2,
        "did you mean 'connect.address'",
    );
    fails(
        &["ps", "connect.address=unix:/none/x"],
        3,
        "do: run `starling rtiexec` there",
    );
    for command in [&["saves", "list"][..], &["config", "show"]] {
        let command = [command, &["saves.dri=x"]].concat();
        fails(&command, 2, "did you mean 'saves.dir'");
    }
    let broken = run_dir.join("broken.toml");
    std::fs::write(&broken, "[fault]\ntimout_s = 3\n").unwrap();
    let broken = broken.to_str().unwrap();
    fails(
        &["config", "check", broken],
        1,
        "did you mean 'fault.timeout_s'",
    );
    fails(&["config", "check", broken], 1, "broken.toml:2");
    let here = |address: &str| {
        Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(["config", "check"])
            .env("STARLING_CONNECT_ADDRESS", address)
            .output()
            .unwrap()
    };
    let checked = here("sim7:4000");
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(
        said.starts_with("every setting is known and valid"),
        "{said}"
    );
    let checked = here("sim7:x");
    assert_eq!(checked.status.code(), Some(1));
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(said.contains("'x' is no port"), "{said}");
    let shown = starling(&["config", "show", "--origin", "crcAddress=sim7:4000"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let address = shown.lines().find(|l| l.starts_with("connect.address"));
    assert!(address.unwrap().ends_with("connect()"), "{shown}");
    let json = starling(&[
        "config",
        "show",
        "--json",
        "limits.send_queue_bytes=7654321",
    ]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let of = |key: &str| {
        json.as_array()
            .unwrap()
            .iter()
            .find(|s| s["key"] == key)
            .unwrap()
    };
    assert_eq!(of("callbacks.io")["value"], "async");
    assert_eq!(of("limits.send_queue_bytes")["value"], 7_654_321);
    assert_eq!(of("limits.send_queue_bytes")["origin"], "connect()");
}

fn a_log_that_cannot_be_written_harms_nobody(run_dir: &Path) {
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let (reader, no_reader) = std::io::pipe().unwrap();
    drop(reader);
    let (_stands_still, slow_reader) = std::io::pipe().unwrap();
    let file = run_dir.join("full.log");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let to_file = [("STARLING_LOG_FILE", file.to_str().unwrap())];
    let cases: [(Stdio, &[(&str, &str)]); 4] = [
        (full().into(), &[]),
        (no_reader.into(), &[]),
        (slow_reader.into(), &[]),
        (Stdio::null(), &to_file),
    ];
    for (stderr, settings) in cases {
        let mut rtiexec = Rtiexec::start_logging_to(run_dir, settings, stderr);
        let mut founder = rtiexec.founder();
        // Each refusal is a line of the log, and together they are more than a pipe holds.
        let unknown = "x".repeat(1000);
        for _ in 0..200 {
            let mut stranger = Client::at(&Endpoint::parse(&rtiexec.tcp).unwrap());
            stranger.hello(VERSION).unwrap();
            assert!(stranger.join(&unknown, "lost").is_err());
        }
        let (mut child, _) = play(&rtiexec.tcp, "doomed");
        founder.until_member("doomed", true);
        child.kill().unwrap();
        child.wait().unwrap();
        founder.until_member("doomed", false);
        signal(&rtiexec.child, "-TERM");
        founder.until_closed();
        assert_eq!(rtiexec.child.wait().unwrap().code(), Some(0));
    }
    // A command whose errors can't be written fails as it would otherwise.
    let failed = Command::new(STARLING)
        .args(["ps", "connect.address=unix:/none/x"])
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(failed.code(), Some(3));
}

fn names_forge_no_log_lines(run_dir: &Path) {
    let mut rtiexec = Rtiexec::start(run_dir, &[]);
    let mut founder = rtiexec.founder();
    founder.create("A\nforged\u{1b}[2J").unwrap();
    let line = rtiexec.until_logged("'A");
    assert!(line.contains("'A\\nforged\\u{1b}[2J'"), "{line}");
    let shown = String::from_utf8(starling(&["ps", &rtiexec.tcp]).stdout).unwrap();
    assert!(shown.contains("\nA\\nforged\\u{1b}[2J: "), "{shown}");
}

fn what_is_left_over_is_got_rid_of(run_dir: &Path) {
    let mut rtiexec = Rtiexec::start(run_dir, &[]);
    let mut founder = rtiexec.founder();
    let unix = rtiexec.unix.replace("unix:", "connect.address=unix:");
    let run = |arguments: &[&str], code: i32| {
        let output = starling(arguments);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    };
    // The FOM of before, with its typo mended.
    let module = ModuleSource {
        designator: "numbers.xml".into(),
        text: b"<objectModel/>"[..].into(),
    };
    let refusal = |client: &mut Client| {
        client.tell(ToExecutive::CreateFederation {
            federation: "Demo".into(),
            modules: vec![module.clone()],
            mim: None,
            time_implementation: String::new(),
        });
        match client.until(|m| matches!(m, FromExecutive::Done(_))) {
            FromExecutive::Done(done) => done.unwrap_err().to_string(),
            _ => unreachable!(),
        }
    };
    let mut other = Client::at(&Endpoint::parse(&rtiexec.tcp).unwrap());
    other.hello(VERSION).unwrap();
    let told = refusal(&mut other);
    for part in [
        "'Demo' exists already",
        "'numbers.xml' of 'Demo' had other contents",
        "joined federates 'founder'",
        "`starling resign FEDERATE`",
        "`starling destroy Demo`",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(run(&["destroy", "Demo", &unix], 1).contains("'founder'"));
    assert!(run(&["resign", "nobody", &unix], 1).contains("joined: 'founder'"));
    let mut second = Client::at(&Endpoint::parse(&rtiexec.unix).unwrap());
    second.hello(VERSION).unwrap();
    second.create("Second").unwrap();
    let unclear = run(&["resign", "founder", &unix], 2);
    assert!(unclear.contains("which federation execution? There are 'Demo', 'Second'"));
    run(&["destroy", "Second", &unix], 0);
    // Over TCP nothing proves who it is.
    let to_tcp = format!("connect.address={};net.unix=false", rtiexec.tcp);
    assert!(run(&["resign", "founder", &to_tcp], 1).contains("Unix-domain"));
    assert!(run(&["stop", "--force", &to_tcp], 1).contains("Unix-domain"));
    assert!(run(&["stop", &unix], 1).contains("1 federate(s) are joined"));
    run(&["resign", "founder", &unix], 0);
    let told = founder.until(|m| matches!(m, FromExecutive::Removed(_)));
    assert!(format!("{told:?}").contains("starling resign"), "{told:?}");
    assert!(refusal(&mut other).contains("has no joined federates"));
    run(&["destroy", "Demo", &unix], 0);
    assert!(run(&["destroy", "Demo", &unix], 1).contains("there is none"));
    let nothing = run(&["resign", "founder", &unix], 1);
    assert!(
        nothing.contains("there is no federation execution\n"),
        "{nothing}"
    );
    second.create("Third").unwrap();
    second.join("Third", "waiter").unwrap();
    let gone = run(&["stop", "--force", &unix], 0);
    assert_eq!(
        gone,
        "rtiexec ends\nwith it Third: 0 object instance(s), joined: waiter\n"
    );
    assert_eq!(rtiexec.child.wait().unwrap().code(), Some(0));
    assert!(rtiexec.until_logged("ended by").contains("starling stop"));
}

fn help_names_exit_codes(_: &Path) {
    for command in [
        &["--help"][..],
        &["ps", "--help"],
        &["fom", "check", "--help"],
    ] {
        let output = starling(command);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.to_lowercase().contains("exit code"),
            "{command:?}: {text}"
        );
    }
    let version = String::from_utf8(starling(&["version"]).stdout).unwrap();
    let begin = concat!("starling ", env!("CARGO_PKG_VERSION"), " (commit ");
    assert!(version.starts_with(begin), "{version}");
    assert_eq!(starling(&["--version"]).stdout, version.as_bytes());
}

fn a_signal_ends_it_in_good_order(run_dir: &Path) {
    for name in ["TERM", "INT"] {
        let mut rtiexec = Rtiexec::start(run_dir, &[]);
        let mut founder = rtiexec.founder();
        let socket = PathBuf::from(rtiexec.unix.trim_start_matches("unix:"));
        assert!(socket.exists());
        signal(&rtiexec.child, &format!("-{name}"));
        let told = founder.until(|m| matches!(m, FromExecutive::Removed(_)));
        assert!(
            format!("{told:?}").contains(&format!("ended by SIG{name}")),
            "{told:?}"
        );
        founder.until_closed();
        assert_eq!(rtiexec.child.wait().unwrap().code(), Some(0));
        assert!(!socket.exists());
    }
}

/// Shows settings: log.file_bytes.
fn federates_start_one_by_themselves(run_dir: &Path) {
    for _ in 0..3 {
        let own = std::env::current_exe().unwrap();
        let mut federates: Vec<_> = (0..10)
            .map(|_| {
                let mut command = Command::new(&own);
                command
                    .arg("starter")
                    .arg(run_dir)
                    .env("STARLING_LOG_FILE_BYTES", "300")
                    .env("STARLING_LIMITS_HELLO_TIMEOUT_S", PATIENCE_S)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        let line = |f: &mut Child| line_of(&mut BufReader::new(f.stdout.take().unwrap()));
        let lines: Vec<String> = federates.iter_mut().map(line).collect();
        let started = lines.iter().filter(|l| l.contains("Started")).count();
        assert_eq!(started, 1, "{lines:?}");
        let pid = |l: &String| {
            l.split(' ')
                .next()
                .unwrap()
                .parse::<u32>()
                .expect("a federate failed")
        };
        let pids: Vec<u32> = lines.iter().map(pid).collect();
        assert!(pids.iter().all(|p| *p == pids[0]), "{lines:?}");
        assert_eq!(process_state(pids[0]), ProcessState::Running);
        for federate in &mut federates {
            drop(federate.stdin.take());
            assert!(federate.wait().unwrap().success());
        }
        while process_state(pids[0]) != ProcessState::Gone {
            std::thread::yield_now();
        }
    }
    let run_dir = RunDir::open(run_dir).unwrap();
    assert!(!run_dir.socket(starling_rid::DEFAULT_PORT).exists());
    // What it says goes to a log that does not grow for ever.
    let log = run_dir.log(starling_rid::DEFAULT_PORT);
    for file in [log.clone(), log.with_extension("log.1")] {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.is_empty() && text.len() <= 300, "{text}");
    }
}

fn one_that_ends_as_it_is_reached_is_replaced(run_dir: &Path) {
    let socket = RunDir::open(run_dir)
        .unwrap()
        .socket(starling_rid::DEFAULT_PORT);
    let dying = UnixListener::bind(&socket).unwrap();
    let dies = std::thread::spawn(move || {
        let federate = dying.accept().unwrap();
        std::fs::remove_file(socket).unwrap();
        drop(dying);
        drop(federate);
    });
    struct Deaf;
    impl FederateAmbassador for Deaf {
        fn deliver(&mut self, _: Callback) -> Result<(), String> {
            Ok(())
        }
    }
    let rti = RtiAmbassador::new();
    rti.connect(Box::new(Deaf), CallbackModel::Evoked, &starting(run_dir))
        .unwrap();
    dies.join().unwrap();
    rti.list_federation_executions().unwrap();
    assert!(rti.evoke_callback(60.0).is_ok() && rti.is_connected());
    rti.disconnect().unwrap();
}
