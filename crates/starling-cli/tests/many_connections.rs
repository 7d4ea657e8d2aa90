//! More connections than rtiexec has descriptors for, and many that say nothing.

#[path = "../../starling-rtiexec/tests/common/mod.rs"]
mod common;

use common::Client;
use starling_net::{Endpoint, raise_descriptor_limit};
use starling_wire::VERSION;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// `starling rtiexec` behind a shell command that sets limits; killed with the test.
struct Rtiexec {
    child: Child,
    at: Endpoint,
    log: BufReader<ChildStderr>,
}

impl Rtiexec {
    fn start(shell: &str, run_dir: &Path) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("{shell} exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_starling"))
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(run_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let at = line.split_whitespace().nth(1).expect("not ready");
        let log = BufReader::new(child.stderr.take().unwrap());
        let at = Endpoint::parse(at).unwrap();
        Self { child, at, log }
    }

    fn until_logged(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            let read = self.log.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the log ended without '{part}'");
        }
    }

    fn resident_kb(&self) -> usize {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn who_waits_for_a_descriptor_is_taken_when_one_is_free() {
    let run_dir = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start("ulimit -n 32;", run_dir.path());
    let mut clients: Vec<_> = (0..40).map(|_| Client::at(&rtiexec.at)).collect();
    rtiexec.until_logged("connections can't be taken until others end");
    clients.drain(..35);
    for mut client in clients {
        client.hello(VERSION).unwrap();
    }
    rtiexec.until_logged("connections are taken again");
}

#[test]
fn connections_that_say_half_a_word_take_little_memory() {
    const MANY: usize = 800;
    raise_descriptor_limit();
    let run_dir = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start("", run_dir.path());
    let one_more = || {
        let mut client = Client::at(&rtiexec.at);
        client.hello(VERSION).unwrap();
        rtiexec.resident_kb()
    };
    let before = one_more();
    let half_open: Vec<_> = (0..MANY)
        .map(|_| {
            let mut client = Client::at(&rtiexec.at);
            client.link.writer.out().extend_from_slice(&[30, 0, 0]);
            client.send_all();
            client
        })
        .collect();
    // Welcome after those before it were read.
    let grown = one_more().saturating_sub(before);
    assert!(grown < 8 * MANY, "{grown} kB for {MANY} connections");
    drop(half_open);
}
