//! Forwarders.

use super::{Federate, Rtiexec};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A forwarder; killed with it.
pub struct Forwarder {
    pub child: Child,
    /// Where it takes federates.
    pub address: String,
    _directory: tempfile::TempDir,
}

impl Forwarder {
    pub fn start(upstream: &str) -> Self {
        Forwarder::start_by(&[], upstream, None, &[])
    }

    pub fn start_by(
        by: &[&str],
        upstream: &str,
        tcp: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket: PathBuf = directory.path().join("f.sock");
        let address = format!("unix:{}", socket.display());
        let listens = tcp.into_iter().flat_map(|tcp| ["--listen", tcp]);
        let mut all = by.iter().chain([&env!("CARGO_BIN_EXE_starling")]);
        let mut child = Command::new(all.next().expect("one at least"))
            .args(all)
            .args(["forwarder", "--upstream", upstream, "--listen", &address])
            .args(listens)
            .arg("--run-dir")
            .arg(directory.path().join("run"))
            .env("STARLING_LOG_LEVEL", "off")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready"), "{line}");
        Forwarder {
            child,
            address,
            _directory: directory,
        }
    }

    /// What it says when it ends.
    pub fn last_words(&mut self) -> String {
        let mut said = String::new();
        let mut from = self.child.stderr.take().unwrap();
        from.read_to_string(&mut said).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(!ended.success(), "{said}");
        said
    }

    /// A federate that comes by it.
    pub fn federate(&self, rtiexec: &Rtiexec, role: &str, name: &str) -> Federate {
        let to = format!("connect.address={}", self.address);
        Federate::start(rtiexec, role, name, &to)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
