//! Network namespaces of a test's own, which are hosts to it.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

/// A network namespace; gone with it.
pub struct Namespace(String);

impl Namespace {
    /// A new one, if that is possible. A process that was killed and had this one's number may have left one of
    /// that name.
    pub fn new(name: &str) -> Option<Self> {
        let name = format!("starling-{}{name}", std::process::id());
        ip(&format!("netns delete {name}"));
        ip(&format!("netns add {name}")).then_some(Self(name))
    }

    pub fn name(&self) -> &str {
        &self.0
    }

    /// Begins the command of what runs in it.
    pub fn by(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.0]
    }

    /// Whether `ip` did that in it.
    pub fn ip(&self, arguments: &str) -> bool {
        ip(&format!("-n {} {arguments}", self.0))
    }

    /// Whether `tc` did that in it.
    pub fn tc(&self, arguments: &str) -> bool {
        run("tc", &format!("-n {} {arguments}", self.0))
    }

    /// What goes out by a device is swallowed from now on, and nobody is told.
    pub fn swallow(&self, device: &str) {
        assert!(self.tc(&format!("qdisc replace dev {device} root blackhole")));
    }

    pub fn mend(&self, device: &str) {
        assert!(self.tc(&format!("qdisc delete dev {device} root")));
    }

    /// A program that runs in it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let by = self.by();
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(program);
        command
    }

    /// A file as it is there.
    pub fn file(&self, path: &str) -> String {
        let shown = self.command("cat").arg(path).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    }

    /// What the queues of a device are and have done.
    pub fn queues(&self, device: &str) -> String {
        let mut show = Command::new("tc");
        let shown = show.args(["-n", &self.0, "-s", "qdisc", "show", "dev", device]);
        String::from_utf8(shown.output().unwrap().stdout).unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&format!("netns delete {}", self.0));
    }
}

/// What `make` makes of namespaces. None, and said so, where there are none; but not where they are demanded.
pub fn made<T>(make: impl FnOnce() -> Option<T>) -> Option<T> {
    let made = make();
    let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
    assert!(
        made.is_some() || !demanded,
        "CI is set, but there are no network namespaces: they need root and iproute2"
    );
    if made.is_none() {
        // Not hidden by the test harness, unlike the print macros.
        let said = "left out: network namespaces need root and iproute2";
        let _ = writeln!(std::io::stderr(), "{said}");
    }
    made
}

/// So many hosts, each with a device `cable` to a switch, whose ends are `host0` and so on; `options` of its bridge.
pub fn on_a_bridge(test: &str, hosts: usize, options: &str) -> Option<(Vec<Namespace>, Namespace)> {
    let host = |number: usize| Namespace::new(&format!("{test}-{number}"));
    let hosts: Vec<_> = (0..hosts).map(host).collect::<Option<_>>()?;
    let switch = Namespace::new(&format!("{test}-s"))?;
    if !switch.ip(&format!("link add br0 type bridge {options}")) {
        return None; // a container without the kernel's bridge
    }
    assert!(switch.ip("link set br0 up"));
    for (number, host) in hosts.iter().enumerate() {
        let peer = format!("host{number} netns {}", switch.name());
        for line in [
            "link set lo up",
            &format!("link add cable type veth peer name {peer}"),
            &format!("addr add {}/24 dev cable", Sites::address(number)),
            "link set cable up",
        ] {
            assert!(host.ip(line), "{line}");
        }
        assert!(switch.ip(&format!("link set host{number} master br0 up")));
    }
    Some((hosts, switch))
}

/// Two sites with a cable between them, called `cable` at both; gone with it.
pub struct Sites(pub [Namespace; 2]);

impl Sites {
    pub fn new(test: &str) -> Option<Self> {
        made(|| Self::make(test))
    }

    fn make(test: &str) -> Option<Self> {
        let sites = [
            Namespace::new(&format!("{test}-0"))?,
            Namespace::new(&format!("{test}-1"))?,
        ];
        let peer = format!("type veth peer name cable netns {}", sites[1].name());
        if !sites[0].ip(&format!("link add cable {peer}")) {
            return None; // a container without the kernel's veth
        }
        for (number, site) in sites.iter().enumerate() {
            assert!(site.ip("link set lo up"));
            let address = Self::address(number);
            assert!(site.ip(&format!("addr add {address}/24 dev cable")));
            assert!(site.ip("link set cable up"));
        }
        Some(Self(sites))
    }

    pub fn address(site: usize) -> String {
        format!("10.79.0.{}", site + 1)
    }

    pub fn by(&self, site: usize) -> [&str; 4] {
        self.0[site].by()
    }

    pub fn cut(&self) {
        assert!(self.0[0].ip("link set cable down"));
    }

    /// The cable swallows all from now on, and neither end is told.
    pub fn swallow(&self) {
        self.0.iter().for_each(|site| site.swallow("cable"));
    }

    pub fn mend(&self) {
        self.0.iter().for_each(|site| site.mend("cable"));
    }

    /// Bytes that a site has put on the cable, heads of packets included.
    pub fn sent(&self, site: usize) -> u64 {
        let shown = self.0[site].file("/sys/class/net/cable/statistics/tx_bytes");
        shown.trim().parse().unwrap()
    }
}

/// Whether that was done.
fn ip(arguments: &str) -> bool {
    run("ip", arguments)
}

fn run(program: &str, arguments: &str) -> bool {
    let done = Command::new(program)
        .args(arguments.split_whitespace())
        .stderr(Stdio::null())
        .status();
    done.is_ok_and(|status| status.success())
}
