//! Federates of different hosts with TCP links to each other, and what becomes of the others' data when a cable is
//! cut or drops packets, when one of them is killed or stopped, and when rtiexec is: nothing is lost or overtaken.
//!
//! Hosts are network namespaces of this machine, which needs root and iproute2. Elsewhere these tests say that they
//! were left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::namespaces::{self, Namespace};
use numbers::{Federate, Rtiexec, all_go_on, descriptors, until};

const DIRECT: &str = "direct tcp";
const PORT: u16 = 15160;
/// Of rtiexec, and of a federate beside it.
const BESIDE: usize = 0;
/// Of two federates.
const ONE: usize = 1;
const OTHER: usize = 2;

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

/// Three hosts, of which each has a cable to each other one; gone with it.
struct Hosts([Namespace; 3]);

/// The address of a host on the cable to another one.
fn address(host: usize, other: usize) -> String {
    // The one that rtiexec sees is that on the cable to it, which others reach by theirs.
    format!(
        "10.78.{}.{}",
        host.min(other) * 3 + host.max(other),
        host + 1
    )
}

impl Hosts {
    /// None, and said so, where there are no namespaces; but not where they are demanded.
    fn new(test: &str) -> Option<Self> {
        namespaces::made(|| Self::make(test))
    }

    fn make(test: &str) -> Option<Self> {
        let host = |number: usize| Namespace::new(&format!("{test}-{number}"));
        let hosts = [host(0)?, host(1)?, host(2)?];
        for host in &hosts {
            assert!(host.ip("link set lo up"));
        }
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let end = hosts[other].name();
            let cable = format!("link add to{other} type veth peer name to{one} netns {end}");
            if !hosts[one].ip(&cable) {
                return None; // a container without the kernel's veth
            }
            for (host, peer) in [(one, other), (other, one)] {
                let own = address(host, peer);
                assert!(hosts[host].ip(&format!("addr add {own}/24 dev to{peer}")));
                assert!(hosts[host].ip(&format!("link set to{peer} up")));
            }
        }
        // What goes from the one to the address by which rtiexec knows the other takes their own cable.
        for (host, peer) in [(ONE, OTHER), (OTHER, ONE)] {
            let (own, to) = (address(host, BESIDE), address(peer, BESIDE));
            assert!(hosts[host].ip(&format!("route add {to} dev to{peer} src {own}")));
        }
        Some(Self(hosts))
    }

    fn by(&self, host: usize) -> [&str; 4] {
        self.0[host].by()
    }

    /// Changes how both ends of the cable between the two federates' hosts send.
    fn queue(&self, what: &str) {
        for (host, peer) in [(ONE, OTHER), (OTHER, ONE)] {
            let what = what.replace("CABLE", &format!("dev to{peer} root"));
            assert!(self.0[host].tc(&format!("qdisc {what}")), "{what}");
        }
    }

    /// The cable swallows all, and nobody is told.
    fn swallow(&self) {
        self.queue("replace CABLE blackhole");
    }

    fn mend(&self) {
        self.queue("del CABLE");
    }

    /// Links between hosts are on unless they are switched off.
    fn rtiexec(&self) -> Rtiexec {
        let at = format!("0.0.0.0:{PORT}");
        let variables = [("STARLING_FAULT_TIMEOUT_S", "3600")];
        let settings = "fault.timeout_s=3600";
        Rtiexec::start_by(&self.by(BESIDE), Some(&at), settings, &variables)
    }

    fn federate(&self, rtiexec: &Rtiexec, host: usize, role: &str, name: &str) -> Federate {
        self.federate_with(rtiexec, host, role, name, "")
    }

    fn federate_with(
        &self,
        rtiexec: &Rtiexec,
        host: usize,
        role: &str,
        name: &str,
        settings: &str,
    ) -> Federate {
        let to = match host {
            BESIDE => String::new(),
            _ => format!("connect.address={}:{PORT}", address(BESIDE, host)),
        };
        let settings = format!("{settings};{to}");
        Federate::start_by(&self.by(host), rtiexec, role, name, &settings)
    }
}

/// Data goes between two hosts both ways while their cable is cut, and comes again: by rtiexec, and by a link again.
fn cut_while_data_flows(test: &str, cut: fn(&Hosts), mend: fn(&Hosts)) {
    let Some(hosts) = Hosts::new(test) else {
        return;
    };
    let rtiexec = hosts.rtiexec();
    let one = hosts.federate(&rtiexec, ONE, "both", "sender");
    let other = hosts.federate(&rtiexec, OTHER, "both", "other");
    let linked = || {
        rtiexec.until_path(DIRECT, 1);
        until("the other way, too", || {
            rtiexec.path("other", "sender") == DIRECT
        });
        all_go_on(&[&one, &other]);
    };
    for _ in 0..3 {
        linked();
        cut(&hosts);
        for (from, to) in [("sender", "other"), ("other", "sender")] {
            until("rtiexec", || {
                rtiexec.path(from, to).starts_with("rtiexec (")
            });
        }
        all_go_on(&[&one, &other]);
        mend(&hosts);
    }
    linked();
}

#[test]
fn where_a_cable_swallows_all_nothing_is_lost() {
    cut_while_data_flows("s", Hosts::swallow, Hosts::mend);
}

#[test]
fn where_a_cable_is_pulled_nothing_is_lost() {
    let pull = |hosts: &Hosts| {
        assert!(hosts.0[ONE].ip(&format!("link set to{OTHER} down")));
    };
    let plug = |hosts: &Hosts| {
        assert!(hosts.0[ONE].ip(&format!("link set to{OTHER} up")));
        // It went with the cable.
        let (to, own) = (address(OTHER, BESIDE), address(ONE, BESIDE));
        let route = format!("route add {to} dev to{OTHER} src {own}");
        assert!(hosts.0[ONE].ip(&route));
    };
    cut_while_data_flows("p", pull, plug);
}

/// Where the hosts of two can't reach each other nobody waits for it: data goes by rtiexec, and by a link once they can.
#[test]
fn where_no_port_can_be_reached_data_goes_by_rtiexec_at_once() {
    let Some(hosts) = Hosts::new("f") else { return };
    hosts.swallow();
    let rtiexec = hosts.rtiexec();
    let one = hosts.federate(&rtiexec, ONE, "both", "sender");
    let other = hosts.federate(&rtiexec, OTHER, "both", "other");
    all_go_on(&[&one, &other]);
    let path = rtiexec.path("sender", "other");
    assert!(path.starts_with("rtiexec ("), "{path}");
    hosts.mend();
    rtiexec.until_path(DIRECT, 1);
    all_go_on(&[&one, &other]);
}

/// Where hosts reach rtiexec by IPv6 so do their federates each other.
#[test]
fn links_go_by_ipv6_too() {
    let Some(hosts) = Hosts::new("6") else { return };
    // Of a host: on its cable to rtiexec's, by which others know it.
    let six = |host: usize| format!("fd00:78::{host}:{}", host + 1);
    let beside = |host: usize| format!("fd00:78::{host}:9");
    let ip6 = |host: usize, line: &str| {
        assert!(hosts.0[host].ip(&format!("-6 {line}")), "{line}");
    };
    for (host, peer) in [(ONE, OTHER), (OTHER, ONE)] {
        ip6(host, &format!("addr add {}/112 dev to0 nodad", six(host)));
        ip6(
            BESIDE,
            &format!("addr add {}/112 dev to{host} nodad", beside(host)),
        );
        let local = format!("fe80::78:{host}/64");
        ip6(host, &format!("addr add {local} dev to{peer} nodad"));
        let (to, own) = (six(peer), six(host));
        ip6(
            host,
            &format!("route add {to} via fe80::78:{peer} dev to{peer} src {own}"),
        );
    }
    let at = format!("[::]:{PORT}");
    let rtiexec = Rtiexec::start_by(&hosts.by(BESIDE), Some(&at), "", &[]);
    let start = |host: usize, name: &str| {
        let settings = match host {
            BESIDE => String::new(),
            _ => format!("connect.address=[{}]:{PORT}", beside(host)),
        };
        Federate::start_by(&hosts.by(host), &rtiexec, "both", name, &settings)
    };
    let all = [(ONE, "sender"), (OTHER, "other"), (BESIDE, "beside")].map(|(h, n)| start(h, n));
    rtiexec.until_path(DIRECT, 2);
    until("that of the others, too", || {
        rtiexec.path("other", "beside") == DIRECT
    });
    all_go_on(&[&all[0], &all[1], &all[2]]);
}

/// Whoever reaches rtiexec by a loopback address may do so through a tunnel, which a link would leave.
#[test]
fn who_comes_by_a_loopback_address_stays_with_rtiexec() {
    let Some(hosts) = Hosts::new("b") else { return };
    let rtiexec = hosts.rtiexec();
    let one = hosts.federate(&rtiexec, ONE, "both", "sender");
    let tunnelled = format!("connect.address=127.0.0.1:{PORT};net.unix=false");
    let by = hosts.by(BESIDE);
    let beside = Federate::start_by(&by, &rtiexec, "both", "beside", &tunnelled);
    let other = hosts.federate(&rtiexec, OTHER, "both", "other");
    rtiexec.until_path(DIRECT, 1);
    all_go_on(&[&one, &beside, &other]);
    let stays = "rtiexec (of the other: it has not asked for links; transport.path, or it has come by loopback TCP)";
    assert_eq!(rtiexec.path("sender", "beside"), stays);
}

/// Whoever may have only a few descriptors gets its data all the same, one way or the other, and it is shown which, and why.
#[test]
fn who_may_have_few_descriptors_is_served_by_rtiexec() {
    let direct = "transport.path=direct;transport.shared_memory=off";
    let rtiexec = Rtiexec::start(direct, &[("STARLING_TRANSPORT_PATH", "direct")]);
    let sender = Federate::start(&rtiexec, "sender", "sender", "");
    let _near = ["a", "b", "c", "d"].map(|name| Federate::start(&rtiexec, "receiver", name, ""));
    rtiexec.until_path(DIRECT, 4);
    let mut shown = rtiexec.ways_to_who_has_few_descriptors(&sender, &["not set up yet"]);
    assert!(shown.remove(DIRECT), "{shown:?}");
    assert!(
        shown.iter().all(|way| way.starts_with("rtiexec (")),
        "{shown:?}"
    );
    let many = |way: &String| way.contains("too many open files");
    assert!(shown.iter().any(many), "{shown:?}");
}

/// A cable that is slower than what is sent, and drops what it can't keep.
#[test]
fn where_packets_are_dropped_nothing_is_lost() {
    let Some(hosts) = Hosts::new("d") else { return };
    hosts.queue("replace CABLE tbf rate 20mbit burst 20kb limit 30kb");
    let rtiexec = hosts.rtiexec();
    let one = hosts.federate(&rtiexec, ONE, "both", "sender");
    let other = hosts.federate(&rtiexec, OTHER, "both", "other");
    rtiexec.until_path(DIRECT, 1);
    for _ in 0..10 {
        all_go_on(&[&one, &other]);
    }
    let shown = hosts.0[ONE].queues("to2");
    let dropped = shown.split("dropped ").nth(1).unwrap();
    assert!(!dropped.starts_with("0,"), "{shown}");
}

/// Bytes that have left a host for another one when 8,000 updates have got there, over a cable of 4 Mbit/s.
fn bytes_of_all(test: &str, settings: &str, way: &str) -> Option<u64> {
    let hosts = Hosts::new(test)?;
    hosts.queue("replace CABLE tbf rate 4mbit burst 10kb limit 100kb");
    let rtiexec = hosts.rtiexec();
    let _sender = hosts.federate_with(&rtiexec, ONE, "paced", "sender", settings);
    let receiver = hosts.federate_with(&rtiexec, OTHER, "receiver", "other", settings);
    rtiexec.until_path(way, 1);
    // Of all that it has said from the beginning: what it says may be read late.
    receiver.until("on", 8);
    let sent = hosts.0[ONE].file(&format!("/sys/class/net/to{OTHER}/statistics/tx_bytes"));
    Some(sent.trim().parse().unwrap())
}

/// Where the network is narrow more gets through compressed.
#[test]
fn over_a_narrow_cable_more_gets_through_compressed() {
    let small = "transport.ring_bytes=65536;limits.send_queue_bytes=65536";
    let of = |test, method, way: &str| {
        bytes_of_all(test, &format!("{small};compress.method={method}"), way)
    };
    let Some(plain) = of("n", "off", DIRECT) else {
        return;
    };
    for (test, method) in [("l", "lz4"), ("z", "zstd")] {
        let compressed = of(test, method, &format!("{DIRECT}, {method}")).unwrap();
        // Less is saved where a slow machine sends small bundles, as their heads are not compressed.
        assert!(
            2 * compressed < plain,
            "{method}: {compressed} bytes, else {plain}"
        );
    }
}

/// What queues of the cable of a host to rtiexec's have sent and dropped: for Expedited Forwarding, for lower effort, and
/// for all else.
fn queued(hosts: &Hosts) -> [(u64, u64); 3] {
    let shown = hosts.0[ONE].queues("to0");
    ["1:1", "1:2", "1:3"].map(|class| {
        let of = format!("parent {class} ");
        let queue = shown.split(&of).nth(1).expect(&shown);
        let number = |before: &str| -> u64 {
            let rest = queue.split(before).nth(1).expect(&shown);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        (number("Sent "), number("dropped "))
    })
}

/// Where a cable is too narrow for best effort, its packets are dropped, and those of the others not, if the network is told
/// which are which.
///
/// Shows settings: net.dscp_reliable, net.dscp_best_effort.
#[test]
fn each_kind_of_traffic_has_its_queue() {
    let points = "net.dscp_reliable=46;net.dscp_best_effort=8;transport.best_effort=datagrams";
    for (test, settings, marked) in [
        ("q", points, true),
        ("u", "transport.best_effort=datagrams", false),
    ] {
        let Some(hosts) = Hosts::new(test) else {
            return;
        };
        for line in [
            "qdisc add dev to0 root handle 1: htb default 3",
            "class add dev to0 parent 1: classid 1:1 htb rate 50mbit",
            "class add dev to0 parent 1: classid 1:2 htb rate 1mbit",
            "class add dev to0 parent 1: classid 1:3 htb rate 50mbit",
            "qdisc add dev to0 parent 1:1 pfifo limit 1000",
            "qdisc add dev to0 parent 1:2 pfifo limit 10",
            "qdisc add dev to0 parent 1:3 pfifo limit 1000",
            "filter add dev to0 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:1",
            "filter add dev to0 parent 1: protocol ip u32 match ip tos 0x20 0xfc flowid 1:2",
        ] {
            assert!(hosts.0[ONE].tc(line), "{line}");
        }
        let rtiexec = hosts.rtiexec();
        let receiver = hosts.federate(&rtiexec, BESIDE, "receiver", "receiver");
        let settings = format!("transport.path=forwarder;{settings}");
        let sender = hosts.federate_with(&rtiexec, ONE, "paced", "sender", &settings);
        receiver.hears(&[&sender]);
        let _flood = hosts.federate_with(&rtiexec, ONE, "lossy", "flood", &settings);
        if !marked {
            // Whatever of it: all has one queue.
            receiver.until("on", 3);
            let [forwarded, lower, all] = queued(&hosts);
            assert_eq!((forwarded, lower), ((0, 0), (0, 0)));
            assert!(all.0 > 100_000, "{all:?}");
            continue;
        }
        until("best effort is dropped", || queued(&hosts)[1].1 > 1000);
        receiver.hears(&[&sender]);
        let [forwarded, lower, _] = queued(&hosts);
        assert!(forwarded.0 > 100_000 && forwarded.1 == 0, "{forwarded:?}");
        assert!(lower.0 > 10_000, "{lower:?}");
    }
}

#[test]
fn who_is_killed_leaves_nothing_and_the_others_lose_nothing() {
    let Some(hosts) = Hosts::new("k") else { return };
    let rtiexec = hosts.rtiexec();
    let sender = hosts.federate(&rtiexec, ONE, "both", "sender");
    let other = hosts.federate(&rtiexec, OTHER, "both", "other");
    rtiexec.until_path(DIRECT, 1);
    all_go_on(&[&sender, &other]);
    let processes = [&sender.child, &other.child];
    // Each test starts the program with `ip`, which becomes it.
    let count = || processes.map(descriptors);
    let before = count();
    for host in [OTHER, BESIDE, ONE, BESIDE] {
        let victim = hosts.federate(&rtiexec, host, "both", "victim");
        // Not with one of its own host.
        let links = if host == ONE { 1 } else { 2 };
        rtiexec.until_path(DIRECT, links);
        all_go_on(&[&sender, &other, &victim]);
        // Drop kills with SIGKILL.
        drop(victim);
        rtiexec.until_members(2);
        all_go_on(&[&sender, &other]);
        until("as before", || count() == before);
    }
}

#[test]
fn who_is_stopped_holds_up_nobody_and_loses_nothing() {
    let Some(hosts) = Hosts::new("t") else { return };
    let rtiexec = hosts.rtiexec();
    let settings = "limits.send_queue_bytes=1000000000";
    let sender = hosts.federate_with(&rtiexec, ONE, "paced", "sender", settings);
    let near = hosts.federate(&rtiexec, OTHER, "receiver", "near");
    let slow = hosts.federate(&rtiexec, OTHER, "receiver", "slow");
    rtiexec.until_path(DIRECT, 2);
    slow.hears(&[&sender]);
    for _ in 0..2 {
        slow.signal("-STOP");
        rtiexec.until_path(DIRECT, 1);
        near.hears(&[&sender]);
        slow.signal("-CONT");
        slow.hears(&[&sender]);
        near.hears(&[&sender]);
        rtiexec.until_path(DIRECT, 2);
    }
    sender.sends_on();
}

#[test]
fn when_rtiexec_is_killed_all_learn_it() {
    let Some(hosts) = Hosts::new("r") else { return };
    let mut rtiexec = hosts.rtiexec();
    let mut sender = hosts.federate(&rtiexec, ONE, "both", "sender");
    let mut other = hosts.federate(&rtiexec, OTHER, "both", "other");
    rtiexec.until_path(DIRECT, 1);
    all_go_on(&[&sender, &other]);
    rtiexec.child.kill().unwrap();
    for federate in [&mut sender, &mut other] {
        let mut ended = None;
        until("Connection Lost", || {
            ended = federate.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(!ended.unwrap().success(), "it says why");
    }
}

/// Which pairs have links, and what is shown of the others.
#[test]
fn only_hosts_are_linked_and_why_not_is_shown() {
    let Some(hosts) = Hosts::new("w") else { return };
    let rtiexec = hosts.rtiexec();
    let _sender = hosts.federate(&rtiexec, ONE, "sender", "sender");
    let _beside = hosts.federate(&rtiexec, BESIDE, "receiver", "beside");
    let _other = hosts.federate(&rtiexec, OTHER, "receiver", "other");
    let _same = hosts.federate(&rtiexec, ONE, "receiver", "same");
    let off = "transport.path=forwarder";
    let _off = hosts.federate_with(&rtiexec, OTHER, "receiver", "off", off);
    rtiexec.until_path(DIRECT, 2);
    for (to, why) in [
        ("same", "rtiexec (both are on one host; transport.path)"),
        (
            "off",
            "rtiexec (of the other: it has not asked for links; transport.path there)",
        ),
    ] {
        assert_eq!(rtiexec.path("sender", to), why);
    }
    let members = rtiexec.members();
    let off = members.iter().find(|m| m["name"] == "off").unwrap();
    let by = off["paths"][0]["by"].as_str().unwrap();
    assert_eq!(
        by,
        "rtiexec (it has not asked for links; transport.path there)"
    );
}

/// What was on its way on links when the federation was saved comes once after it is restored.
#[test]
fn a_restore_gives_back_what_was_on_links() {
    let direct = "transport.path=direct;transport.shared_memory=off";
    let rtiexec = Rtiexec::start(direct, &[("STARLING_TRANSPORT_PATH", "direct")]);
    numbers::are_restored(&rtiexec, DIRECT);
}
