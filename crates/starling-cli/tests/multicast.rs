//! Best-effort data between hosts of one network: what comes to whose network card and sockets, that each message comes or is
//! counted where some are dropped, and which way `starling ps` shows.
//!
//! Hosts are network namespaces of this machine on a bridge that forwards multicast only to who has joined, which needs
//! root and iproute2. Elsewhere these tests say that they were left out; where the variable CI is set they fail.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::capture::Capture;
use numbers::lossy::{self, Federate, counter, way};
use numbers::namespaces::{self, Namespace};
use numbers::{Rtiexec, until};
use std::process::Command;

const PORT: u16 = 15160;
/// Of rtiexec.
const BESIDE: usize = 0;
/// Of federates.
const ONE: usize = 1;
const TWO: usize = 2;
const THREE: usize = 3;
/// Of a class each, for both of which there is a counter where the network leads to a host.
const GROUPS: [&str; 2] = ["239.193.7.1", "239.193.7.2"];
const MULTICAST: &str = "transport.best_effort=multicast;multicast.group=239.193.7.9;multicast.classes=\
                         HLAinteractionRoot.CustomerTransactions=239.193.7.2:15170 CustomerTransactions.FoodServed=239.193.7.1";

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    lossy::federate()
}

/// Hosts on a bridge; gone with it.
struct Hosts {
    hosts: Vec<Namespace>,
    switch: Namespace,
}

impl Hosts {
    /// None, and said so, where there are no namespaces; but not where they are demanded.
    fn new(test: &str) -> Option<Self> {
        namespaces::made(|| Self::make(test))
    }

    fn make(test: &str) -> Option<Self> {
        // It asks who has joined what, so that it knows.
        let bridge = "mcast_snooping 1 mcast_query_response_interval 10 mcast_querier 1";
        let (hosts, switch) = namespaces::on_a_bridge(&format!("m{test}"), 4, bridge)?;
        for number in 0..hosts.len() {
            let dev = format!("dev host{number}");
            let mut lines = vec![format!("qdisc add {dev} root handle 1: htb default 3")];
            for class in 1..=3 {
                lines.push(format!(
                    "class add {dev} parent 1: classid 1:{class} htb rate 10gbit"
                ));
                lines.push(format!(
                    "qdisc add {dev} parent 1:{class} pfifo limit 10000"
                ));
            }
            for (group, class) in GROUPS.iter().zip(1..) {
                lines.push(format!(
                    "filter add {dev} parent 1: protocol ip u32 match ip dst {group}/32 flowid 1:{class}"
                ));
            }
            for line in lines {
                assert!(switch.tc(&line), "{line}");
            }
        }
        Some(Self { hosts, switch })
    }

    fn by(&self, host: usize) -> [&str; 4] {
        self.hosts[host].by()
    }

    /// Datagrams that came to sockets of a host.
    fn datagrams(&self, host: usize) -> u64 {
        let shown = self.hosts[host].file("/proc/net/snmp");
        let mut lines = shown.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut both = names.split(' ').zip(values.split(' '));
        let (_, value) = both.find(|(name, _)| *name == "InDatagrams").unwrap();
        value.parse().unwrap()
    }

    /// Whether a host listens to a group.
    fn is_joined(&self, host: usize, group: &str) -> bool {
        let address: std::net::Ipv4Addr = group.parse().unwrap();
        let number = u32::from_ne_bytes(address.octets());
        let joined = self.hosts[host].file("/proc/net/igmp");
        joined.contains(&format!("{number:08X}"))
    }

    /// Packets of both groups that the network has brought to a host's card.
    fn brought(&self, host: usize) -> [u64; 2] {
        let shown = self.switch.queues(&format!("host{host}"));
        ["1:1", "1:2"].map(|class| {
            let queue = shown.split(&format!("parent {class} ")).nth(1).unwrap();
            let sent = queue.split("bytes ").nth(1).unwrap();
            sent.split(' ').next().unwrap().parse().unwrap()
        })
    }

    fn rtiexec(&self) -> Rtiexec {
        let at = format!("0.0.0.0:{PORT}");
        Rtiexec::start_by(
            &self.by(BESIDE),
            Some(&at),
            "",
            &[
                ("STARLING_TRANSPORT_PATH", "auto"),
                // Nothing else goes by datagrams.
                ("STARLING_TRANSPORT_BEST_EFFORT", "stream"),
            ],
        )
    }

    fn federate(&self, host: usize, name: &str, settings: &str) -> Federate {
        self.federate_as(false, host, name, settings)
    }

    fn federate_as(&self, reliable: bool, host: usize, name: &str, settings: &str) -> Federate {
        let settings = format!(
            "connect.address={}:{PORT};connect.timeout_s=100;transport.path=auto;\
             fault.timeout_s=3600;{settings}",
            namespaces::Sites::address(BESIDE)
        );
        Federate::start_as(reliable, &self.by(host), name, &settings)
    }
}

#[test]
fn nothing_comes_to_a_host_outside_the_group_of_a_class() {
    let Some(hosts) = Hosts::new("g") else { return };
    let rtiexec = hosts.rtiexec();
    let mut sender = hosts.federate(ONE, "sender", &format!("{MULTICAST};fault.heartbeat_s=1"));
    let mut food = hosts.federate(TWO, "food", "");
    let mut seats = hosts.federate(THREE, "seats", "");
    food.told("hear 0");
    seats.told("hear 1");
    // By the nearest superclass that has one.
    let ways = ["multicast 239.193.7.1:15161", "multicast 239.193.7.2:15170"];
    until("both hear their groups", || {
        sender.told("send 0 10");
        sender.told("send 1 10");
        way(&rtiexec, "sender", "food") == ways[0] && way(&rtiexec, "sender", "seats") == ways[1]
    });
    for (host, joined) in [(TWO, [true, false]), (THREE, [false, true])] {
        assert_eq!(GROUPS.map(|group| hosts.is_joined(host, group)), joined);
        assert!(!hosts.is_joined(host, "239.193.7.9"), "nothing goes there");
    }
    // The bridge begins to filter some time after it was made.
    for (class, (one, other)) in [(TWO, THREE), (THREE, TWO)].into_iter().enumerate() {
        until("the network filters", || {
            let before = [one, other].map(|host| hosts.brought(host)[class]);
            sender.told(&format!("send {class} 10"));
            let after = [one, other].map(|host| hosts.brought(host)[class]);
            after[0] > before[0] && after[1] == before[1]
        });
    }
    // What goes to one of the groups comes to the sockets of the one who has joined it, and to no network card else.
    for (class, (one, other)) in [(TWO, THREE), (THREE, TWO)].into_iter().enumerate() {
        let before = [one, other].map(|host| hosts.datagrams(host));
        let brought = [one, other].map(|host| hosts.brought(host));
        let came = [&mut food, &mut seats][class].told("tell")[class];
        sender.told(&format!("send {class} 5000"));
        until("some of it comes", || {
            [&mut food, &mut seats][class].told("tell")[class] > came + 100
        });
        let after = [one, other].map(|host| hosts.datagrams(host));
        assert!(after[0] > before[0] + 20, "{before:?} {after:?}");
        assert_eq!(after[1], before[1], "datagrams came to the other's sockets");
        let now = [one, other].map(|host| hosts.brought(host));
        assert!(
            now[0][class] > brought[0][class] + 20,
            "{brought:?} {now:?}"
        );
        assert_eq!(now[1][class], brought[1][class], "and to its card");
    }
    // Who subscribes no more leaves the group, though others are sent to it.
    seats.told("hear 0");
    until("it joins", || {
        sender.told("send 0 10");
        hosts.is_joined(THREE, GROUPS[0])
    });
    seats.told("deaf 0");
    until("it leaves", || {
        sender.told("send 0 10");
        !hosts.is_joined(THREE, GROUPS[0])
    });
    assert!(hosts.is_joined(TWO, GROUPS[0]) && hosts.is_joined(THREE, GROUPS[1]));
    let before = hosts.datagrams(THREE);
    sender.told("send 0 1000");
    until("it comes to the other", || food.told("tell")[0] > 5000);
    assert_eq!(hosts.datagrams(THREE), before);
}

/// By capture at the network cards: all comes to the one who subscribes, and no byte of it to the other one, who subscribes to
/// something else; by rtiexec, on links, in datagrams and by multicast.
#[test]
fn who_does_not_subscribe_gets_no_byte() {
    const SENT: u64 = 500;
    let multicast = format!("{MULTICAST};fault.heartbeat_s=1");
    let Some(hosts) = Hosts::new("b") else { return };
    for (reliable, settings, way) in [
        (true, "transport.path=forwarder", "rtiexec"),
        (true, "", "direct tcp"),
        (false, "transport.best_effort=datagrams", "unicast"),
        (false, &multicast, "multicast 239.193.7.1:15161"),
    ] {
        let rtiexec = hosts.rtiexec();
        let start = |host, name| hosts.federate_as(reliable, host, name, settings);
        let mut sender = start(ONE, "sender");
        let mut hears = start(TWO, "hears");
        let mut other = start(THREE, "other");
        hears.told("hear 0");
        other.told("hear 1");
        until(way, || {
            sender.told("send 0 10");
            sender.told("send 1 10");
            let is = if reliable {
                rtiexec.path("sender", "hears")
            } else {
                lossy::way(&rtiexec, "sender", "hears")
            };
            is.starts_with(way) && other.told("tell")[1] > 0
        });
        // The bridge begins to filter some time after it was made.
        until("the network filters", || {
            let brought = || [TWO, THREE].map(|host| hosts.brought(host)[0]);
            let before = brought();
            sender.told("send 0 10");
            let after = brought();
            let comes = after[0] > before[0] || !way.starts_with("multicast");
            comes && after[1] == before[1]
        });
        let captures = [TWO, THREE].map(|host| Capture::start(hosts.hosts[host].name()));
        let [.., first] = sender.told("tell");
        for _ in 0..SENT / 250 {
            let before = hears.told("tell")[0];
            sender.told("send 0 250");
            until("all of it comes", || hears.told("tell")[0] >= before + 250);
        }
        let [one, nothing] = captures.map(|capture| {
            let seen = capture.seen();
            let both = seen.streamed().into_iter().chain(seen.datagrams);
            let new = both.filter(|((_, number), _)| *number >= first);
            new.map(|((_, number), copies)| (number, copies))
                .collect::<Vec<_>>()
        });
        let once: Vec<_> = (first..first + SENT).map(|number| (number, 1)).collect();
        assert_eq!(one, once, "{way}");
        assert_eq!(nothing, [], "{way}");
    }
}

/// A network that is too slow drops some: each message comes or is counted, by either way, and `starling ps` shows which.
#[test]
fn what_the_network_drops_is_counted() {
    let Some(hosts) = Hosts::new("l") else { return };
    for (settings, shown) in [(MULTICAST, "multicast 239.193.7.1:15161"), ("", "unicast")] {
        let rtiexec = hosts.rtiexec();
        let settings = format!("{settings};fault.heartbeat_s=0.2");
        let mut sender = hosts.federate(ONE, "sender", &settings);
        let mut receivers = [
            hosts.federate(TWO, "two", "transport.best_effort=datagrams"),
            hosts.federate(THREE, "three", ""),
        ];
        for receiver in &mut receivers {
            receiver.told("hear 0");
        }
        until("both hear it", || {
            sender.told("send 0 10");
            ["two", "three"].map(|to| way(&rtiexec, "sender", to)) == [shown; 2]
        });
        let host = &hosts.hosts[ONE];
        assert!(host.tc("qdisc add dev cable root tbf rate 20mbit burst 20kb limit 30kb"));
        sender.told("send 0 20000");
        let [.., sent] = sender.told("tell");
        for (receiver, name) in receivers.iter_mut().zip(["two", "three"]) {
            let mut last = Default::default();
            until("each comes or is counted", || {
                let [came, _, first, _] = receiver.told("tell");
                let lost = counter(&rtiexec, name, "lost");
                last = (came, lost);
                came + lost == sent - first
            });
            let (came, lost) = last;
            assert!(
                lost > 1000,
                "the network drops too little: {came} came, {lost} are lost"
            );
            assert!(came > 100, "{came} came, {lost} are lost");
        }
        assert!(host.tc("qdisc del dev cable root"));
    }
}

/// Where the network brings no multicast each gets datagrams of its own, and where it brings none of these its link; which and
/// why is shown.
#[test]
fn who_hears_nothing_gets_it_another_way() {
    let Some(hosts) = Hosts::new("n") else { return };
    let rtiexec = hosts.rtiexec();
    let drops = |what: &str, host: usize| {
        let line =
            format!("filter add dev host{host} parent 1: protocol ip prio 1 u32 {what} flowid 1:4");
        assert!(hosts.switch.tc(&line), "{line}");
    };
    for host in [TWO, THREE] {
        let dev = format!("dev host{host}");
        for line in [
            format!("class add {dev} parent 1: classid 1:4 htb rate 10gbit"),
            format!("qdisc add {dev} parent 1:4 blackhole"),
        ] {
            assert!(hosts.switch.tc(&line), "{line}");
        }
    }
    drops(&format!("match ip dst {}/32", GROUPS[0]), TWO);
    drops("match ip protocol 17 0xff", THREE);
    let settings = format!("{MULTICAST};fault.heartbeat_s=0.2");
    let mut sender = hosts.federate(ONE, "sender", &settings);
    let mut two = hosts.federate(TWO, "two", "");
    let mut three = hosts.federate(THREE, "three", "");
    two.told("hear 0");
    three.told("hear 0");
    let deaf = "not by 239.193.7.1:15161: no datagram has come there";
    until("both get it as they can", || {
        sender.told("send 0 10");
        ["two", "three"].map(|to| way(&rtiexec, "sender", to))
            == [
                format!("unicast ({deaf})"),
                format!(
                    "the way of reliable data ({deaf}; not by unicast: no datagram has come there)"
                ),
            ]
    });
    let shown = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["ps", &rtiexec.address])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = format!("best-effort data of sender to two: by unicast ({deaf})");
    assert!(shown.contains(&line), "{shown}");
    let line = format!("best-effort data of sender to three: by the way of reliable data ({deaf};");
    assert!(shown.contains(&line), "{shown}");
    let before = three.told("tell")[0];
    sender.told("send 0 1000");
    until("all of it comes on the link", || {
        three.told("tell")[0] == before + 1000
    });
}
