//! A cable is cut: both ends notice, though neither connection is closed. Two hosts are network
//! namespaces of this machine, which needs root and iproute2; elsewhere the test says that it was
//! left out.
#![allow(clippy::print_stdout, reason = "no user sees it")]

use starling::{Callback, CallbackModel, FederateAmbassador, RtiAmbassador};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const SETTINGS: &str = "fault.timeout_s=1;fault.heartbeat_s=0.2";
const ADDRESS: &str = "CABLE_TEST_ADDRESS";

/// Prints the connection's loss; the rest of the world is the other process.
struct Ears;

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        if let Callback::ConnectionLost { fault } = callback {
            println!("lost: {fault}");
            std::process::exit(0);
        }
        Ok(())
    }
}

/// Not a test: the federate, which the test below runs in a namespace.
#[test]
#[ignore = "run by the test below"]
fn federate() {
    let address = std::env::var(ADDRESS).expect("the address of rtiexec");
    let rti = RtiAmbassador::new();
    let settings = format!("connect.address={address};{SETTINGS}");
    rti.connect(Box::new(Ears), CallbackModel::Evoked, &settings)
        .unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let fom = root.join("restaurant/RestaurantFOMmodule-2010.xml");
    rti.create_federation_execution("Cut", &[fom.display().to_string()], None, "")
        .unwrap();
    rti.join_federation_execution(Some("Remote"), "tester", "Cut", &[])
        .unwrap();
    println!("joined");
    for _ in 0..60 {
        rti.evoke_callback(1.0).unwrap();
    }
    println!("not lost within a minute");
}

/// Two namespaces with a cable between them; gone with it.
struct Hosts {
    names: [String; 2],
}

impl Hosts {
    fn new() -> Option<Self> {
        let id = std::process::id();
        let hosts = Hosts {
            names: [format!("starling-{id}-a"), format!("starling-{id}-b")],
        };
        let [a, b] = &hosts.names;
        let cable = [format!("sa{id}"), format!("sb{id}")];
        for (name, address, end) in [
            (a, "10.77.0.1/24", &cable[0]),
            (b, "10.77.0.2/24", &cable[1]),
        ] {
            if !ip(&format!("netns add {name}")) {
                return None;
            }
            if end == &cable[0] {
                let add = format!("-n {name} link add {end} type veth peer name {}", cable[1]);
                if !ip(&add) {
                    return None; // a container without rights or without the kernel's veth
                }
            } else {
                assert!(ip(&format!("-n {a} link set {end} netns {name}")));
            }
            assert!(ip(&format!("-n {name} addr add {address} dev {end}")));
            assert!(ip(&format!("-n {name} link set {end} up")));
            assert!(ip(&format!("-n {name} link set lo up")));
        }
        Some(hosts)
    }

    fn cut(&self) {
        let end = format!("sa{}", std::process::id());
        assert!(ip(&format!("-n {} link set {end} down", self.names[0])));
    }

    fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], program]);
        command
    }
}

impl Drop for Hosts {
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
        match lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) if line.contains(text) => return line,
            Ok(line) => all.push(line),
            Err(why) => panic!("no line with {text:?} ({why}) in:\n{}", all.join("\n")),
        }
    }
}

#[test]
fn both_ends_notice_a_cut_cable() {
    let Some(hosts) = Hosts::new() else {
        // Not hidden by the test harness, unlike the print macros.
        let _ = writeln!(
            std::io::stderr(),
            "left out: network namespaces need root and iproute2"
        );
        return;
    };
    let run_dir = tempfile::tempdir().unwrap();
    let rtiexec = hosts
        .command(0, env!("CARGO_BIN_EXE_starling"))
        .args(["rtiexec", "--listen", "10.77.0.1:15160", "--run-dir"])
        .arg(run_dir.path())
        .env("STARLING_FAULT_TIMEOUT_S", "1")
        .env("STARLING_FAULT_HEARTBEAT_S", "0.2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut rtiexec = Ended(rtiexec.unwrap());
    let out = lines(rtiexec.0.stdout.take().unwrap());
    line_with(&out, "10.77.0.1:15160");
    let log = lines(rtiexec.0.stderr.take().unwrap());

    let me = std::env::current_exe().unwrap();
    let federate = hosts
        .command(1, me.to_str().unwrap())
        .args(["--ignored", "--exact", "federate", "--nocapture"])
        .env(ADDRESS, "10.77.0.1:15160")
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut federate = Ended(federate.unwrap());
    let said = lines(federate.0.stdout.take().unwrap());
    line_with(&said, "joined");
    hosts.cut();
    let lost = line_with(&said, "lost");
    assert!(lost.contains("nor from its host"), "{lost}");
    let noticed = line_with(&log, "nothing came from it");
    assert!(noticed.contains("Remote"), "{noticed}");
}
