"""What carries frames between hosts: netem where the kernel has it, else the emulator; and what
that adds by itself."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import BMFED
from test_network import possible

from starling_bench.errors import BenchError
from starling_bench.machines import identity, links, network
from starling_bench.machines.hosts import Launcher

if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not possible(), reason="BMFED, iproute2 and root are needed")
# Says what it was asked for, and does nothing; a kernel's netem without seeds refuses these.
TC = """#!/bin/sh
printf '%s\n' "$*" >> {said}
case "$*" in *{refused}*) echo "What is \\"seed\\"?" >&2; exit 1;; esac
"""


def made(tmp_path: Path, hosts: list[network.Host], tell=None) -> tuple[list[str], dict]:
    """What runs beside hosts as these while they are there, and where they are."""

    async def build() -> tuple[list[str], dict]:
        launcher = Launcher("test")
        try:
            log = tmp_path / "link.log"
            async with network.network(hosts, me, launcher, Path(BMFED), log, tell) as places:
                return [one.name for one in launcher.running], places
        finally:
            await launcher.end_all(hurry=True)

    me = identity.Run()
    try:
        return asyncio.run(build())
    finally:
        me.end()


def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str) -> Path:
    """A `tc` before the real one; what it was asked for."""
    said = tmp_path / "said"
    program = tmp_path / "bin" / "tc"
    program.parent.mkdir()
    program.write_text(TC.format(said=said, refused=refused))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return said


# Says what came and how many more routers it would have passed, until it is told that this is all.
HEARS = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
mreq = struct.pack("4s4s", socket.inet_aton("239.1.1.1"), socket.inet_aton("{address}"))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, mreq)
s.setsockopt(socket.IPPROTO_IP, 12, 1)  # IP_RECVTTL
print("ready", flush=True)
while True:
    data, more, *_ = s.recvmsg(100, 100)
    print(data.decode(), struct.unpack("i", more[0][2])[0], flush=True)
    if data == b"end":
        break
"""
SAYS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 64)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("{here}"))
s.sendto(b"all", ("239.1.1.1", 5000))
s.sendto(b"end", ("{there}", 5000))
"""


@pytest.mark.parametrize("rule", [{}, {"delay_ms": 5.0}], ids=["bridge", "emulator"])
@pytest.mark.parametrize("routed", [False, True], ids=["switched", "routed"])
def test_a_router_between_hosts_forwards_and_passes_no_multicast(tmp_path, rule, routed):
    async def heard() -> list[str]:
        launcher = Launcher("test")
        hosts = [network.Host(name=name, routed=routed, **rule) for name in "ab"]
        there = network.network(hosts, me, launcher, Path(BMFED), tmp_path / "link.log")
        try:
            async with there as places:
                a, b = places["a"], places["b"]

                def command(at: network.Place, code: str) -> list[str]:
                    return ["ip", "netns", "exec", at.space.name, sys.executable, "-c", code]

                hears = subprocess.Popen(command(b, HEARS.format(address=b.address)),
                                         stdout=subprocess.PIPE, text=True)  # fmt: skip
                assert hears.stdout.readline() == "ready\n"
                says = SAYS.format(here=a.address, there=b.address)
                subprocess.run(command(a, says), check=True)
                return hears.communicate(timeout=60)[0].splitlines()
        finally:
            await launcher.end_all(hurry=True)

    me = identity.Run()
    try:
        assert asyncio.run(heard()) == (["end 63"] if routed else ["all 64", "end 64"])
    finally:
        me.end()


def test_hosts_behind_a_router_and_others_are_not_mixed(tmp_path):
    hosts = [network.Host(name="a", routed=True), network.Host(name="b")]
    with pytest.raises(BenchError, match="behind a router, and others are not") as told:
        network.check(hosts, Path(BMFED))
    assert told.value.code == "STL-NET-007" and "behind a router" in hosts[0].words()


def test_no_host_is_named_as_what_joins_hosts():
    for name, told in ((".router", 1), (".switch", 1), ("switch", 0), ("a.b", 0)):
        assert len(list(network.faults([network.Host(name=name)]))) == told


def test_hosts_of_different_mtus_are_not_mixed():
    hosts = [network.Host(name="a", mtu=1500), network.Host(name="b")]
    network.check(hosts, Path(BMFED))
    hosts.append(network.Host(name="c", mtu=9000))
    with pytest.raises(BenchError, match="different MTUs") as told:
        network.check(hosts, Path(BMFED))
    assert told.value.code == "STL-NET-008"


HOSTS = [
    network.Host(name="a", delay_ms=20, jitter_ms=2, loss=0.001, rate_mbit=10, seed=7),
    network.Host(name="b", delay_ms=5),
    network.Host(name="c"),
]


def test_where_the_kernel_has_netem_it_is_used(tmp_path, monkeypatch):
    """By its commands: this test has no such kernel. No emulator runs then."""
    said = faked(tmp_path, monkeypatch, "nothing")
    running, places = made(tmp_path, HOSTS)
    assert running == [] and list(places) == ["a", "b", "c"]
    a, b, c = (places[name].space.name for name in "abc")
    asked = said.read_text().splitlines()
    of_hosts = [line for line in asked if " dev lo " not in line and ".switch " not in line]
    bucket = "tbf rate 10mbit burst 2271 latency 400ms"
    assert of_hosts == [
        f"-n {a} qdisc add dev eth0 root handle 1: "
        "netem limit 65536 delay 20ms 2ms rate 100gbit loss 0.1% seed 7",
        f"-n {a} qdisc add dev eth0 parent 1:1 {bucket}",
        f"-n {b} qdisc add dev eth0 root handle 1: netem limit 65536 delay 5ms",
        f"-n {b} qdisc add dev eth0 parent 1:1 pfifo limit 65536",
        f"-n {c} qdisc add dev eth0 root handle 1: netem limit 65536",
        f"-n {c} qdisc add dev eth0 parent 1:1 pfifo limit 65536",
    ]
    # What comes to the host of a rate is held to it at the bridge.
    assert [line for line in asked if line.endswith(bucket)][-1].startswith("-n starling-bench-")


def test_links_whose_frames_are_long_are_made_as_those_that_delay():
    """A bucket would pass them in no time."""
    for mtu, rate, slow in ((1500, 100, False), (9000, 100, True), (9000, 1000, False),
                            (None, 50, True), (9000, None, False)):  # fmt: skip
        host = network.Host(name="a", mtu=mtu, rate_mbit=rate)
        assert (host.slow, host.rule) == (slow, {})
        by, _ = asyncio.run(network._carrier("none", [host]))
        assert by == (links.EMULATOR if slow else links.BRIDGE)
    jitter = links.netem({"delay_ms": 5, "jitter_ms": 1}, 1)
    assert jitter == [
        "netem",
        "limit",
        "65536",
        "delay",
        "5ms",
        "1ms",
        "rate",
        "100gbit",
        "seed",
        "1",
    ]


@pytest.mark.parametrize(
    ("refused", "rule", "why"),
    [
        ("netem", {"delay_ms": 5}, "this kernel has no netem"),
        ("seed", {"loss": 0.1}, "this netem takes no seed"),
        ("seed", {"delay_ms": 5}, ""),
    ],
)
def test_where_netem_would_not_do_the_emulator_does(tmp_path, monkeypatch, refused, rule, why):
    """Also where the same seed would not lose the same; who draws nothing needs no seed."""
    faked(tmp_path, monkeypatch, refused)
    hosts = [network.Host(name="a", **rule), network.Host(name="b")]
    running, _ = made(tmp_path, hosts)
    assert running == ([network.LINK] if why else [])

    async def chosen() -> tuple[str, str]:
        return await network._carrier("none", hosts)

    by, said = asyncio.run(chosen())
    assert (by, said.startswith(why)) == ("bench-link" if why else "netem", True)


# Makes something else of what it is asked for, which its caller says beside; `false`: it refuses.
IP = """#!/bin/sh
case "$*" in *" type gretap "*)
    printf '%s\n' "$*" >> {said}
    {can} || {{ echo "Error: Unknown device type." >&2; exit 2; }}
    exec {ip} -n "$2" link add "$5" type bridge;;
esac
exec {ip} "$@"
"""


@pytest.mark.parametrize(
    ("names", "can", "by"),
    [
        ("ab", "true", "the kernel's."),
        ("ab", "false", "emulated by bench-tunnel (this kernel has no gretap)."),
        ("abc", "true", "emulated by bench-tunnel (there are more than two hosts)."),
    ],
)
def test_gre_is_the_kernels_where_it_has_it(tmp_path, monkeypatch, names, can, by):
    """By its commands, as netem is. No bench-tunnel runs then."""
    said = tmp_path / "said"
    program = tmp_path / "bin" / "ip"
    program.parent.mkdir()
    program.write_text(IP.format(said=said, can=can, ip=shutil.which("ip")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    told: list[str] = []
    hosts = [network.Host(name=name, tunnel="gre", rate_mbit=100) for name in names]
    running, places = made(tmp_path, hosts, told.append)
    at_once, gre = told
    assert gre == f"GRE is {by}" and "a frame takes 0.12 ms on a cable" in at_once
    assert running == [network.LINK] * (0 if by == "the kernel's." else len(names))
    assert [p.address for p in places.values()] == [f"10.78.0.{n + 2}" for n in range(len(names))]
    ends = [("a", "2", "3"), ("b", "3", "2")] if len(names) == 2 else []
    wanted = [
        f"-n {places[name].space.name} link add tun0 type gretap "
        f"local 10.77.0.{here} remote 10.77.0.{there}"
        for name, here, there in ends
    ]
    asked = said.read_text().splitlines() if said.exists() else []
    assert asked == (wanted if can == "true" else wanted[:1])


def test_links_that_do_nothing_to_frames_are_a_bridge(tmp_path):
    told: list[str] = []
    hosts = [network.Host(name="a", rate_mbit=100), network.Host(name="b")]
    assert made(tmp_path, hosts, told.append)[0] == []
    (at_once,) = told
    assert at_once.startswith("Links of a rate alone pass the first frame and a half after a pause")
    assert made(tmp_path, hosts[1:], told.append)[0] == [] and told == [at_once]


def test_a_rule_in_netems_words():
    rule = {"delay_ms": 1.5, "loss": 0.25, "duplicate": 0.05, "reorder": 0.5}
    said = "netem limit 65536 delay 1.5ms loss 25% duplicate 5% reorder 50% seed 3"
    assert links.netem(rule, 3) == said.split()
    # Without a delay nothing waits that it could go ahead of.
    assert "reorder" not in links.netem({"reorder": 0.5, "loss": 1.0}, 3)


def test_the_floor_is_measured_and_told(tmp_path):
    """With the real programs, whatever carries frames here; once in a process."""
    network._FLOORS.clear()
    told: list[str] = []
    for delay in (5, 10):
        hosts = [network.Host(name="a", delay_ms=delay), network.Host(name="b")]
        made(tmp_path, hosts, told.append)
    assert told[0] == told[1]
    (by,) = set(network._FLOORS) - {links.BRIDGE}
    floor, bare = network._FLOORS[by], network._FLOORS[links.BRIDGE]
    assert told[0] == links.words(by, "this kernel has no netem" * (by != "netem"), floor, bare)
    # Nothing was asked, so none of the delays is in it; frames of more than 20 MB were counted.
    for one in (floor, bare):
        assert 0 < one.trip_us <= one.slow_us and one.trip_us < 5_000
        assert one.mbit_per_s > 1 and one.frames > 2 * 2_000
    assert bare.lost == 0 and floor.lost < floor.frames / 2
    assert f"it carries {floor.mbit_per_s:,.0f} Mbit/s" in told[0] and "lost " in told[0]
    assert not [path for path in identity.SPACES.glob(f"starling-bench-{os.getpid()}-*")]


def test_what_measures_nothing_says_so():
    said = links.words(links.EMULATOR, "this kernel has no netem", None, None)
    assert said.endswith("Its floor was not measured: there is no bench-raw beside the federates' "
                         "program.")  # fmt: skip
