//! Forwarders, and two sites with a cable between them.

use super::{Federate, Rtiexec};
use std::io::{BufRead, BufReader, Read, Write};
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

/// Two sites with a cable between them; gone with it.
pub struct Sites {
    pub names: [String; 2],
}

impl Sites {
    /// None, and said so, where there are no namespaces; but not where they are demanded.
    pub fn new(test: &str) -> Option<Self> {
        let id = format!("{}{test}", std::process::id());
        let names = [0, 1].map(|site| format!("starling-f{id}-{site}"));
        let sites = Sites { names };
        let made = sites.make();
        let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
        assert!(
            made || !demanded,
            "CI is set, but there are no network namespaces: they need root and iproute2"
        );
        if !made {
            // Not hidden by the test harness, unlike the print macros.
            let _ = writeln!(
                std::io::stderr(),
                "left out: network namespaces need root and iproute2"
            );
        }
        made.then_some(sites)
    }

    fn make(&self) -> bool {
        let [a, b] = &self.names;
        if ![a, b].iter().all(|name| ip(&format!("netns add {name}"))) {
            return false;
        }
        if !ip(&format!(
            "link add cable netns {a} type veth peer name cable netns {b}"
        )) {
            return false; // a container without the kernel's veth
        }
        for (site, name) in self.names.iter().enumerate() {
            assert!(ip(&format!("-n {name} link set lo up")));
            let own = format!("10.79.0.{}/24", site + 1);
            assert!(ip(&format!("-n {name} addr add {own} dev cable")));
            assert!(ip(&format!("-n {name} link set cable up")));
        }
        true
    }

    pub fn by(&self, site: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.names[site]]
    }

    /// Bytes that a site has put on the cable, heads of packets included.
    pub fn sent(&self, site: usize) -> u64 {
        let [ip, netns, exec, name] = self.by(site);
        let shown = Command::new(ip)
            .args([netns, exec, name])
            .args(["cat", "/sys/class/net/cable/statistics/tx_bytes"])
            .output()
            .unwrap();
        String::from_utf8(shown.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns delete {name}"));
        }
    }
}

/// Whether that was done.
pub fn ip(arguments: &str) -> bool {
    let done = Command::new("ip")
        .args(arguments.split_whitespace())
        .stderr(Stdio::null())
        .status();
    done.is_ok_and(|status| status.success())
}
