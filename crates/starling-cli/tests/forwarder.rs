//! Federates that come by forwarders: nothing is missing, wherever they are, a message crosses a link between sites
//! once, and who dies takes only those behind it along.
//!
//! Sites are network namespaces of this machine where that matters, which needs root and iproute2. Elsewhere these
//! tests say that they were left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::{Federate, Rtiexec, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

/// A forwarder; killed with it.
struct Forwarder {
    child: Child,
    address: String,
    _directory: tempfile::TempDir,
}

impl Forwarder {
    fn start(upstream: &str) -> Self {
        Forwarder::start_by(&[], upstream, None, &[])
    }

    fn start_by(
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
    fn last_words(&mut self) -> String {
        let mut said = String::new();
        let mut from = self.child.stderr.take().unwrap();
        from.read_to_string(&mut said).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(!ended.success(), "{said}");
        said
    }

    /// A federate that comes by it.
    fn federate(&self, rtiexec: &Rtiexec, role: &str, name: &str) -> Federate {
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

fn ended(federate: &mut Federate) {
    let mut ended = None;
    until("Connection Lost", || {
        ended = federate.child.try_wait().unwrap();
        ended.is_some()
    });
    assert!(!ended.unwrap().success(), "it says why");
}

fn path_of(rtiexec: &Rtiexec, name: &str) -> String {
    let members = rtiexec.members();
    let member = members.iter().find(|m| m["name"] == name).unwrap();
    member["path"].as_str().unwrap().to_owned()
}

/// A forwarder beside rtiexec, and another one behind that: each sender's numbers come to all others, whole and in
/// order, and `starling ps` says who comes by whom.
#[test]
fn in_a_tree_of_forwarders_nothing_is_missing() {
    let rtiexec = Rtiexec::start("", &[]);
    let near = Forwarder::start(&rtiexec.address);
    let far = Forwarder::start(&near.address);
    let sender = Federate::start(&rtiexec, "both", "sender", "");
    let others = [
        near.federate(&rtiexec, "both", "near"),
        far.federate(&rtiexec, "both", "far"),
        far.federate(&rtiexec, "receiver", "farther"),
    ];
    rtiexec.until_members(4);
    for federate in others.iter().chain([&sender]) {
        federate.goes_on();
    }
    assert_eq!(path_of(&rtiexec, "sender"), "unix");
    assert_eq!(path_of(&rtiexec, "near"), "unix by forwarder unix");
    assert_eq!(
        path_of(&rtiexec, "far"),
        "unix by forwarder unix by forwarder unix"
    );
}

/// SIGKILL for one of two forwarders: its federates learn it, the others go on without loss.
#[test]
fn who_comes_by_a_forwarder_that_dies_is_told_and_the_others_go_on() {
    let rtiexec = Rtiexec::start("", &[]);
    let one = Forwarder::start(&rtiexec.address);
    let near = one.federate(&rtiexec, "both", "near");
    let sender = Federate::start(&rtiexec, "both", "sender", "");
    for _ in 0..3 {
        let other = Forwarder::start(&rtiexec.address);
        let behind = Forwarder::start(&other.address);
        let mut lost = [
            other.federate(&rtiexec, "both", "lost"),
            behind.federate(&rtiexec, "both", "lost, too"),
        ];
        rtiexec.until_members(4);
        lost.iter().for_each(Federate::goes_on);
        drop(other);
        lost.iter_mut().for_each(ended);
        rtiexec.until_members(2);
        [&near, &sender].into_iter().for_each(Federate::goes_on);
        drop(behind);
    }
}

#[test]
fn when_rtiexec_is_killed_forwarders_end_and_all_learn_it() {
    let mut rtiexec = Rtiexec::start("", &[]);
    let mut near = Forwarder::start(&rtiexec.address);
    let mut far = Forwarder::start(&near.address);
    let mut federates = [
        near.federate(&rtiexec, "both", "near"),
        far.federate(&rtiexec, "both", "far"),
    ];
    federates.iter().for_each(Federate::goes_on);
    rtiexec.child.kill().unwrap();
    federates.iter_mut().for_each(ended);
    assert!(near.last_words().contains("has lost its way to rtiexec"));
    let far = far.last_words();
    assert!(
        far.contains("it says: the forwarder has lost its way"),
        "{far}"
    );
}

#[test]
fn a_forwarder_without_an_rtiexec_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let run = |upstream: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_starling"))
            .arg("forwarder")
            .args(upstream)
            .arg("--run-dir")
            .arg(directory.path().join("run"))
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        (done.status.code().unwrap(), said)
    };
    let (code, said) = run(&[]);
    assert!(code == 2 && said.contains("--upstream HOST:PORT"), "{said}");
    let (code, said) = run(&["--upstream", "127.0.0.1:1"]);
    assert!(code == 3 && said.contains("refused"), "{said}");
}

/// Two sites with a cable between them; gone with it.
struct Sites {
    names: [String; 2],
}

impl Sites {
    /// None, and said so, where there are no namespaces; but not where they are demanded.
    fn new(test: &str) -> Option<Self> {
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

    fn by(&self, site: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.names[site]]
    }

    /// Bytes that a site has put on the cable, heads of packets included.
    fn sent(&self, site: usize) -> u64 {
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

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip")
        .args(arguments.split_whitespace())
        .stderr(Stdio::null())
        .status();
    done.is_ok_and(|status| status.success())
}

/// Four receivers at the other site, and each message crosses the cable once.
#[test]
fn a_message_crosses_the_cable_once_for_all_receivers_of_a_site() {
    /// The sender's numbers have tags of 200 bytes.
    const MESSAGE: u64 = 200;
    let Some(sites) = Sites::new("o") else { return };
    let rtiexec = Rtiexec::start_by(&sites.by(0), Some("10.79.0.1:15160"), "", &[]);
    let forwarder = Forwarder::start_by(&sites.by(1), "10.79.0.1:15160", None, &[]);
    let to = format!("connect.address={}", forwarder.address);
    let by = sites.by(1);
    let receivers =
        ["a", "b", "c", "d"].map(|name| Federate::start_by(&by, &rtiexec, "receiver", name, &to));
    let _sender = Federate::start_by(&sites.by(0), &rtiexec, "sender", "sender", "");
    receivers.iter().for_each(Federate::goes_on);
    // Each says so after a thousand.
    const THOUSANDS: usize = 50;
    let before = sites.sent(0);
    receivers[0].until("on", THOUSANDS);
    let crossed = sites.sent(0) - before;
    // What this one has not taken yet, and what it had before, is at most what windows and queues hold.
    let once = THOUSANDS as u64 * 1000 * MESSAGE;
    let queues = 8 << 20;
    println!("{crossed} bytes for {once} of payload");
    assert!(crossed + queues > once, "{crossed} of {once}");
    assert!(crossed < once * 5 / 4 + queues, "{crossed} of {once}");
    receivers.iter().for_each(Federate::goes_on);
}
