//! Settings by which an rtiexec is found or started.

use super::numbers::until;
use super::{Member, settings};
use starling::{CallbackModel, ExceptionKind, RtiAmbassador};
use starling_net::{Endpoint, ProcessState, Reached, RunDir, process_state, reach};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

const STARLING: &str = env!("CARGO_BIN_EXE_starling");

fn run_dir(directory: &Path, name: &str) -> PathBuf {
    let run_dir = directory.join(name);
    RunDir::open(&run_dir).unwrap();
    run_dir
}

/// Shows settings: connect.address.
#[test]
fn it_is_reached_where_it_is_said_to_be() {
    let [one, other] = [(); 2].map(|()| super::serve(""));
    let [one, other] = [&one, &other].map(|server| server.endpoints[0].to_string());
    let creator = Member::connect(&one, "");
    creator.create("Here").unwrap();
    for (address, is_there) in [(&one, true), (&other, false)] {
        let member = Member::connect(address, "");
        let join = member.rti.join_federation_execution(None, "t", "Here", &[]);
        assert_eq!(join.is_ok(), is_there, "{join:?}");
    }
}

/// Shows settings: connect.timeout_s.
#[test]
fn whoever_does_not_answer_is_waited_for_as_long_as_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mute");
    // It takes connections, and says nothing.
    let mute = UnixListener::bind(&path).unwrap();
    let connect = |timeout: &str| {
        let text = format!("unix:{};connect.timeout_s={timeout}", path.display());
        let (to, _heard) = std::sync::mpsc::channel();
        let ears = Box::new(super::numbers::Ears(to));
        let rti = RtiAmbassador::new();
        let connect = rti.connect(ears, CallbackModel::Evoked, &text);
        connect.expect_err("nobody answers")
    };
    thread::scope(|scope| {
        let patient = scope.spawn(|| connect("3600"));
        let hasty = connect("0.1");
        assert_eq!(hasty.kind, ExceptionKind::ConnectionFailed);
        assert!(hasty.message.contains("does not answer"), "{hasty}");
        assert!(!patient.is_finished());
        drop(mute);
        let patient = patient.join().unwrap();
        assert!(!patient.message.contains("does not answer"), "{patient}");
    });
}

/// Shows settings: net.unix.
#[test]
fn on_its_host_it_is_reached_as_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let run_dir = run_dir(directory.path(), "run");
    let mut rtiexec = Command::new(STARLING)
        .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
        .arg(&run_dir)
        .env("STARLING_LOG_LEVEL", "off")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(rtiexec.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let port = line.split_whitespace().nth(1).unwrap();
    let reached = |unix: bool| {
        let text = format!(
            "connect.address={port};net.run_dir={};net.unix={unix}",
            run_dir.display()
        );
        reach(&settings(&text)).unwrap().endpoint
    };
    assert!(matches!(reached(true), Endpoint::Unix(_)));
    assert_eq!(reached(false).to_string(), port);
    rtiexec.kill().unwrap();
    rtiexec.wait().unwrap();
}

/// A program that says which process it is in a file, and goes on as this does.
fn program(directory: &Path, name: &str, goes_on: &str) -> (PathBuf, PathBuf) {
    let (program, says) = (directory.join(name), directory.join(format!("{name}.pid")));
    let text = format!("#!/bin/sh\necho $$ > {}\n{goes_on}\n", says.display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    (program, says)
}

fn said(says: &Path) -> u32 {
    let mut pid = None;
    until("it is started", || {
        let text = std::fs::read_to_string(says).unwrap_or_default();
        pid = text.trim().parse().ok();
        pid.is_some()
    });
    pid.expect("it was waited for")
}

fn kill(pid: u32) {
    let _ = Command::new("kill").arg(pid.to_string()).status();
    until("it is gone", || process_state(pid) == ProcessState::Gone);
}

/// Shows settings: start.by_itself, start.program, start.idle_exit_s.
#[test]
fn one_is_started_as_it_is_said_and_stays_as_long() {
    let directory = tempfile::tempdir().unwrap();
    let go_on = format!("exec {STARLING} \"$@\"");
    let start = |name: &str, more: &str| {
        let (program, says) = program(directory.path(), name, &go_on);
        let run_dir = run_dir(directory.path(), &format!("{name}.run"));
        let text = format!(
            "net.run_dir={};start.program={};start.timeout_s=3600;connect.timeout_s=3600;{more}",
            run_dir.display(),
            program.display()
        );
        (reach(&settings(&text)), says)
    };
    let (not, says) = start("not", "start.by_itself=no");
    assert!(not.unwrap_err().to_string().contains("no rtiexec answers"));
    assert!(!says.exists(), "nothing was started");
    let (stays, says) = start("stays", "start.idle_exit_s=3600");
    assert_eq!(stays.as_ref().unwrap().how, Reached::Started);
    let stays_pid = said(&says);
    let (ends, says) = start("ends", "start.idle_exit_s=0");
    assert_eq!(ends.as_ref().unwrap().how, Reached::Started);
    let ends_pid = said(&says);
    drop((stays, ends));
    until("it ends", || process_state(ends_pid) == ProcessState::Gone);
    assert_eq!(process_state(stays_pid), ProcessState::Running);
    kill(stays_pid);
}

/// Shows settings: start.timeout_s.
#[test]
fn who_does_not_start_is_waited_for_as_long_as_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let start = |name: &str, timeout: &str| {
        let (program, says) = program(directory.path(), name, "exec sleep 1000000");
        let run_dir = run_dir(directory.path(), &format!("{name}.run"));
        let text = format!(
            "net.run_dir={};start.program={};start.timeout_s={timeout}",
            run_dir.display(),
            program.display()
        );
        (settings(&text), says)
    };
    let ((long, patient), (short, hasty)) = (start("long", "3600"), start("short", "0.2"));
    thread::scope(|scope| {
        let waits = scope.spawn(|| reach(&long).unwrap_err().to_string());
        let why = reach(&short).unwrap_err().to_string();
        assert!(why.contains("it said nothing"), "{why}");
        kill(said(&hasty));
        assert!(!waits.is_finished());
        kill(said(&patient));
        let why = waits.join().unwrap();
        assert!(why.contains("ended before it was ready"), "{why}");
    });
}
