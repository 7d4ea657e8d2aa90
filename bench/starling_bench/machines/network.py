"""Hosts, and the network between those that are network namespaces of this one.

Of these each has an interface "eth0" and an address of its own; a switch joins them: a bridge with
veth pairs, or, where links delay, lose, double or reorder and the kernel has no netem, a user-space
switch with TAP devices (bench-link): `links` chooses, and measures what that adds by itself. A rate
is kept by a token bucket at the host's interface. That passes a frame in no time after a pause,
which is wrong by so much as long or slow frames take: such links are bench-link's, too.
Hosts that are `routed` are kept apart by the switch, and a namespace of its own forwards what they
send to each other. What passes a host's interface may be captured (bench-capture, capture.py). All
of it ends with the federation execution.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ..errors import USAGE, BenchError
from ..fields import Faults, Loc, Name, Strict
from . import links, tunnels
from .hosts import CAPTURE, LINK, Launcher, Running
from .identity import SPACES, Run
from .topology import Cpus, Federate

if TYPE_CHECKING:
    from .ssh import Site

Share = Annotated[float, Field(ge=0, le=1)]
Milliseconds = Annotated[float, Field(ge=0, le=60_000)]
LOCAL = ("localhost", "127.0.0.1")
LINK_PROGRAM = "bench-link"
CAPTURE_PROGRAM = "bench-capture"
_READY_S = 10.0
_TIMER_S = 100e-6  # that a link may be idle until the kernel goes on
_FRAME_MS = 0.2  # that a frame may take, and a bucket pass it in no time
_AT_ONCE = (
    "Links of a rate alone pass the first frame and a half after a pause in no time, where a frame "
    "takes {:.2g} ms on a cable: what is in that comes so much too early."
)
_ROUTER = ".router"
_ETHERNET = 14  # bytes of a frame's header
# It tells nobody that the other is beside it: that is not to be used.
_FORWARDS = (
    "cd /proc/sys/net/ipv4; echo 1 > ip_forward; "
    "echo 0 > conf/all/send_redirects; echo 0 > conf/eth0/send_redirects"
)
# Of datagrams of which a fragment was lost the kernel keeps the others for 30 s, 4 MB at most, and
# takes no new ones meanwhile: what one test sent too much would be another's loss.
_FORGETS = "echo 1 > /proc/sys/net/ipv4/ipfrag_time"
_NO_IPV6 = "cd /proc/sys/net/ipv6/conf/default 2>&- && echo 1 > disable_ipv6 || true"


class Hosts(Strict):
    """What is done on every host of a run, also on this one if federates run here."""

    # Services (of systemd) that are stopped for the run and started again after it.
    quiet: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9@_.:-]+$")]] = Field(default=[])


class Host(Strict):
    """A host that federates name: one that ssh reaches, or a namespace and the link by which it
    sends."""

    name: Name
    kind: Literal["namespace", "ssh"] = "namespace"
    cpus: Cpus | None = None
    address: Annotated[str, Field(min_length=1)] | None = None  # also at which others reach it
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    user: Annotated[str, Field(min_length=1)] | None = None
    key: str | None = None  # a file; else ssh-agent and the user's own
    known_hosts: str | None = None  # a file; else the user's own
    directory: str | None = None  # where files are kept there; else below its user's cache
    rate_mbit: Annotated[float, Field(ge=0.001, le=1e6)] | None = None
    delay_ms: Milliseconds = 0.0
    jitter_ms: Milliseconds = 0.0
    loss: Share = 0.0
    duplicate: Share = 0.0
    reorder: Share = 0.0
    seed: Annotated[int, Field(ge=0, le=(1 << 63) - 1)] = 1
    # Whether what passes its interface is written to NAME.1.pcap, where its federates write.
    capture: bool = False
    mtu: Annotated[int, Field(ge=576, le=9216)] | None = None  # of its link; 1500
    # Whether hosts are networks of their own with a router between them, which passes no multicast.
    routed: bool = False
    # What hosts reach each other through, over their links.
    tunnel: Literal["gre", "vxlan", "wireguard", "wireguard-vxlan", "ipsec"] | None = None

    @property
    def rule(self) -> dict[str, float]:
        """What bench-link does to frames that leave it."""
        names = ("delay_ms", "jitter_ms", "loss", "duplicate", "reorder")
        return {name: value for name in names if (value := getattr(self, name))}

    @property
    def frame_ms(self) -> float:
        """That its longest frame takes by its rate; 0: no time."""
        bits = 8 * ((self.mtu or 1500) + _ETHERNET)
        return bits / self.rate_mbit / 1000 if self.rate_mbit else 0.0

    @property
    def slow(self) -> bool:
        """A bucket would pass its frames sooner than they can be."""
        return self.frame_ms > _FRAME_MS

    def words(self) -> str:
        """Its link, in words; "": as good as it gets."""
        said = [f"{self.rate_mbit:g} Mbit/s"] if self.rate_mbit else []
        if self.delay_ms:
            jitter = f" ± {self.jitter_ms:g}" if self.jitter_ms else ""
            said.append(f"{self.delay_ms:g}{jitter} ms")
        for name in ("loss", "duplicate", "reorder"):
            if share := getattr(self, name):
                said.append(f"{name} {share:.3g}")
        said += [f"MTU {self.mtu}"] if self.mtu else []
        said += ["behind a router"] if self.routed else []
        said += [tunnels.words(self.tunnel)] if self.tunnel else []
        return ", ".join(said)


class Layout(Strict):
    """Where federates run, for tests that name it as their `hosts`."""

    name: Name
    hosts: dict[str, str] = Field(default={})  # by federate; else as the federate says
    cpus: Cpus | None = None  # of all processes of the sequence


def placed(federate: Federate, layout: Layout | None) -> Federate:
    """A federate where a layout wants it."""
    host = layout.hosts.get(federate.name) if layout else None
    return federate.model_copy(update={"host": host}) if host else federate


# Fields that only one kind of host has.
_SSH = ("address", "port", "user", "key", "known_hosts", "directory")
_LINK = (
    "rate_mbit", "delay_ms", "jitter_ms", "loss", "duplicate", "reorder", "seed", "capture", "mtu",
    "tunnel", "routed",
)  # fmt: skip


def faults(hosts: list[Host]) -> Faults:
    """What is wrong with the hosts of a file."""
    for i, host in enumerate(hosts):
        for name in _SSH if host.kind == "namespace" else _LINK:
            if name in host.model_fields_set:
                other = "ssh" if host.kind == "namespace" else "namespace"
                what = f"a host of kind '{host.kind}' has no '{name}'"
                yield ("host", i, name), what, f'remove it, or give kind = "{other}"'
        if host.kind == "ssh" and host.address is None:
            yield ("host", i), f"host '{host.name}' has no address", "add 'address'"
        if host.name in LOCAL:
            yield ("host", i, "name"), f"'{host.name}' is this host", "take another name"
        if host.name.startswith("."):
            what = f"'{host.name}' begins with a dot, as names of what joins hosts do"
            yield ("host", i, "name"), what, "take another name"
        if host.jitter_ms > host.delay_ms:
            what = f"jitter_ms ({host.jitter_ms:g}) is more than delay_ms ({host.delay_ms:g})"
            yield ("host", i, "jitter_ms"), what, "make delay_ms the longer one"


def unknown(at: Loc, host: str, hosts: list[Host]) -> Faults:
    """A host that nobody defined."""
    if host not in LOCAL and host not in [h.name for h in hosts]:
        yield at, f"there is no host '{host}'", "define it with [[host]], or take localhost"


def describe(names: list[str], hosts: dict[str, Host]) -> str:
    """Where federates run, in words; "": all on this host."""
    used = [hosts[name] for name in dict.fromkeys(names) if name in hosts]
    if not used:
        return ""
    if used[0].kind == "ssh":
        return f"{len(used)} systems: {', '.join(host.name for host in used)}"
    links = [f"{host.name}: {words}" for host in used if (words := host.words())]
    # They share this machine's cores.
    return "; ".join([f"{len(used)} systems, emulated", *links])


@dataclass(frozen=True)
class Place:
    """Where a process runs: its network namespace or the host that ssh reaches, and the address
    there."""

    space: Path | None = None
    address: str = ""
    site: "Site | None" = None

    @property
    def reached(self) -> str:
        """The address as a number, which `address` need not be."""
        return self.site.number if self.site else self.address


HERE = Place()


def addressed(command: list[str], places: dict[str, Place]) -> list[str]:
    """With the address of a host where "{host:NAME}" stands."""

    def address(found: re.Match) -> str:
        return places.get(found[1], HERE).address or "127.0.0.1"

    return [re.sub(r"\{host:([^{}]+)\}", address, part) for part in command]


def none() -> str:
    """Why this process can make no hosts of their own; "": it can."""
    there = os.geteuid() == 0 and shutil.which("ip") and shutil.which("tc")
    return "" if there else "hosts are network namespaces, which need root and iproute2"


def check(used: list[Host], program: Path) -> None:
    """BenchError if this machine can't make such hosts. `program` is a program of the adapters."""
    if not used:
        return
    if os.geteuid() != 0:
        raise BenchError(
            "STL-NET-001", "hosts in network namespaces need root", f"host '{used[0].name}'",
            "run as root, or take localhost", USAGE,
        )  # fmt: skip
    if len({host.tunnel for host in used}) > 1:
        raise BenchError(
            "STL-NET-006", "hosts of one sequence have different tunnels",
            ", ".join(host.name for host in used), "give all the same 'tunnel', or none", USAGE,
        )  # fmt: skip
    if len({host.routed for host in used}) > 1:
        raise BenchError(
            "STL-NET-007", "some hosts of one sequence are behind a router, and others are not",
            ", ".join(host.name for host in used), "give all the same 'routed'", USAGE,
        )  # fmt: skip
    if len({host.mtu or 1500 for host in used}) > 1:
        raise BenchError(
            "STL-NET-008", "hosts of one sequence have different MTUs: their switch would drop, "
            "and tell nobody, what is too long for one of them",
            ", ".join(host.name for host in used), "give all the same 'mtu'", USAGE,
        )  # fmt: skip
    if not shutil.which("ip"):
        raise BenchError("STL-NET-002", "there is no program 'ip'", "", "install iproute2", USAGE)
    needed = {
        LINK_PROGRAM: any(h.rule or h.slow for h in used),
        CAPTURE_PROGRAM: any(h.capture for h in used),
    }
    for name in (name for name, wanted in needed.items() if wanted):
        if not program.with_name(name).is_file():
            raise BenchError(
                "STL-NET-003", f"there is no program '{name}'", str(program.parent),
                "build the federates' program: it comes with it", USAGE,
            )  # fmt: skip


@contextlib.asynccontextmanager
async def network(
    hosts: list[Host], run: Run, launcher: Launcher, program: Path, log: Path,
    tell: Callable[[str], None] | None = None, by: str | None = None,
):  # fmt: skip
    """The places of these hosts by name, as long as it lasts. What carries their frames, where
    links do something to these, and its floor, is told, and what makes tunnels. `by`: what carries
    frames, whatever links do."""
    spaces: list[str] = []
    try:
        if tell and any(host.rule or host.slow for host in hosts):
            tell(await _floor(hosts, run, program, log))
        elif tell and (frame_ms := max((host.frame_ms for host in hosts), default=0)):
            tell(_AT_ONCE.format(frame_ms))
        yield await _build(hosts, run, launcher, program, log, spaces, tell, by) if hosts else {}
    finally:
        for space in reversed(spaces):
            await _tool("ip", "netns", "delete", space, may_fail=True)


async def _carrier(space: str, hosts: list[Host]) -> tuple[str, str]:
    slow = any(host.slow for host in hosts)
    return await links.carrier(space, [host.rule for host in hosts], _tool, slow)


# Of what carries frames: measured once in a process.
_FLOORS: dict[str, links.Floor] = {}


async def _floor(hosts: list[Host], run: Run, program: Path, log: Path) -> str:
    """What carries the frames of these hosts, and what it adds by itself."""
    check(hosts, program)
    trial = f"{run.temporary.name}-.trial"
    try:
        await _tool("ip", "netns", "add", trial)
        by, why = await _carrier(trial, hosts)
    finally:
        await _tool("ip", "netns", "delete", trial, may_fail=True)
    for one in (by, links.BRIDGE) if links.measurable(program) else ():
        if one in _FLOORS:
            continue
        launcher = Launcher(LINK)
        try:
            two = [Host(name="floor-a"), Host(name="floor-b")]
            # Whether the emulator is ready stands in its log, so that it is one of its own.
            async with network(
                two, run, launcher, program, log.with_name("floor.log"), by=one
            ) as at:
                spaces = (at["floor-a"].space, at["floor-b"].space)
                address = at["floor-b"].address
                _FLOORS[one] = await links.measure(spaces, address, program, log.parent)
        finally:
            await launcher.end_all(hurry=True)
    return links.words(by, why, _FLOORS.get(by), _FLOORS.get(links.BRIDGE))


async def _build(
    hosts: list[Host], run: Run, launcher: Launcher, program: Path, log: Path, spaces: list[str],
    tell: Callable[[str], None] | None, by: str | None,
) -> dict[str, Place]:  # fmt: skip
    check(hosts, program)
    prefix = run.temporary.name
    switch = f"{prefix}-.switch"  # no host has such a name
    # The router is one host more, whose link is as good as it gets.
    routed = hosts[0].routed
    every = [*hosts, *([Host(name=_ROUTER, mtu=hosts[0].mtu)] if routed else [])]
    for space in (switch, *(f"{prefix}-{host.name}" for host in every)):
        spaces.append(space)
        await _tool("ip", "netns", "add", space)
    if by is None:
        by, _ = await _carrier(switch, hosts)
    emulated = by == links.EMULATOR
    if emulated:
        await _emulate(every, launcher, program, log, spaces[1:])
    else:
        # The bridge says nothing of its own to the hosts.
        await _tool("ip", "netns", "exec", switch, "sh", "-c", _NO_IPV6)
        await _tool("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        await _tool("ip", "-n", switch, "link", "set", "br0", "up")
    numbers = range(1, len(every) + 1)
    for number, host, space in zip(numbers, every, spaces[1:], strict=True):
        port = f"p{number}"
        if not emulated:
            await _tool(
                "ip", "-n", switch, "link", "add", port, "type", "veth",
                "peer", "name", "eth0", "netns", space,
            )  # fmt: skip
            await _tool("ip", "-n", switch, "link", "set", port, "master", "br0", "up")
            if host.mtu:
                await _tool("ip", "-n", switch, "link", "set", port, "mtu", str(host.mtu))
            if host.routed:
                await _tool("bridge", "-n", switch, "link", "set", "dev", port, "isolated", "on")
        for command in _interface(number, numbers, host.mtu, routed):
            await _tool("ip", "-n", space, *command)
        await _tool("ip", "netns", "exec", space, "sh", "-c", _FORGETS)
        if by == links.NETEM:
            rate = _bucket(host.rate_mbit, host.mtu) if host.rate_mbit else []
            await links.shape(space, host.rule, hosts[0].seed + number - 1, rate, _tool)
        if host.rate_mbit:
            if by != links.NETEM:
                await hold(space, host.rate_mbit, host.mtu)
            if not emulated:  # what comes to it, too; else bench-link does it
                await hold(switch, host.rate_mbit, host.mtu, port)
        if host.capture:
            await _capture(host, launcher, program, log.parent, SPACES / space)
    if routed:
        await _tool("ip", "netns", "exec", spaces[-1], "sh", "-c", _FORWARDS)
    addresses = [_address(number) for number in numbers[: len(hosts)]]
    there = spaces[1 : 1 + len(hosts)]
    if (kind := hosts[0].tunnel) is not None:
        sites = [
            tunnels.Site(space, address, host.mtu or 1500)
            for space, address, host in zip(there, addresses, hosts, strict=True)
        ]
        addresses, said = await tunnels.build(kind, sites, _tool, launcher, program, log.parent)
        if tell and said:
            tell(said)
    return {
        host.name: Place(SPACES / space, address)
        for host, space, address in zip(hosts, there, addresses, strict=True)
    }


async def hold(space: str, rate_mbit: float, mtu: int | None = None, device: str = "eth0") -> None:
    """Holds what leaves a host by a device to a rate."""
    await _tool("tc", "-n", space, "qdisc", "add", "dev", device, "root", *_bucket(rate_mbit, mtu))


def _bucket(rate_mbit: float, mtu: int | None) -> list[str]:
    """What goes at once after a pause, as a link's would not, is as little as lets it be full: a
    frame and a half, or what the rate makes of the kernel's timers. What would wait for longer than
    400 ms is dropped."""
    burst = max(round(1.5 * ((mtu or 1500) + _ETHERNET)), round(rate_mbit * 1e6 / 8 * _TIMER_S))
    return ["tbf", "rate", f"{rate_mbit:g}mbit", "burst", str(burst), "latency", "400ms"]


def _address(number: int) -> str:
    return f"10.77.{number // 250}.{number % 250 + 1}"


def _hardware(number: int) -> str:
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


def _interface(number: int, numbers: range, mtu: int | None, routed: bool) -> Iterator[list[str]]:
    """Nothing but what federates send passes the links: who is where is known beforehand. Where
    they are `routed` the last is the router."""
    yield ["link", "set", "lo", "up"]
    yield ["link", "set", "eth0", "address", _hardware(number), "addrgenmode", "none"]
    if mtu:
        yield ["link", "set", "eth0", "mtu", str(mtu)]
    # A network of its own has one host, and beside it the router only.
    alone = routed and number != numbers[-1]
    yield ["addr", "add", f"{_address(number)}/{32 if alone else 16}", "dev", "eth0"]
    yield ["link", "set", "eth0", "up"]
    for other in numbers[-1:] if alone else numbers:
        if other != number:
            yield [
                "neigh", "add", _address(other), "lladdr", _hardware(other), "dev", "eth0",
                "nud", "permanent",
            ]  # fmt: skip
    if alone:
        router = _address(numbers[-1])
        yield ["route", "add", router, "dev", "eth0"]
        yield ["route", "add", "default", "via", router]


async def _emulate(
    hosts: list[Host], launcher: Launcher, program: Path, log: Path, spaces: list[str]
) -> None:
    command = [str(program.with_name(LINK_PROGRAM)), "--seed", str(hosts[0].seed)]
    for host, space in zip(hosts, spaces, strict=True):
        rate = {"rate_mbit": host.rate_mbit} if host.rate_mbit else {}
        apart = {"isolated": True} if host.routed else {}
        port = {"namespace": str(SPACES / space), **apart, **host.rule, **rate}
        command += ["--port", json.dumps(port)]
    link = await launcher.start(LINK, command, log, dict(os.environ), log.parent)
    await _ready(link, "is /dev/net/tun there?")


async def _capture(
    host: Host, launcher: Launcher, program: Path, directory: Path, space: Path
) -> None:
    command = [str(program.with_name(CAPTURE_PROGRAM)), "--interface", "eth0"]
    # What a run has that is resumed is kept, also where of an earlier file the log alone is there.
    names = (path.stem.removesuffix(".capture").rpartition(".") for path in directory.iterdir())
    taken = [int(n) for name, _, n in names if name == host.name and n.isdecimal()]
    number = 1 + max(taken, default=0)
    command += ["--out", str(directory / f"{host.name}.{number}.pcap")]
    log = directory / f"{host.name}.{number}.capture.log"
    capture = await launcher.start(CAPTURE, command, log, dict(os.environ), directory, space=space)
    await _ready(capture, "does this kernel have AF_PACKET?")


async def _ready(one: Running, do: str) -> None:
    """Until it has said so."""
    deadline = asyncio.get_running_loop().time() + _READY_S
    while not one.has_said(b"ready", line=True):
        if one.returncode is not None or asyncio.get_running_loop().time() > deadline:
            what = f"{one.title} {one.fate()}: {one.last_words()[0]}"
            raise BenchError("STL-NET-004", what, str(one.log), do)
        await asyncio.sleep(0.01)


async def _tool(*command: str, may_fail: bool = False) -> bool:
    """Whether it could; BenchError if that was not to fail."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode != 0 and not may_fail:
        text = said.decode(errors="replace").strip()
        raise BenchError(
            "STL-NET-005", f"the network of the hosts can't be made: {text}", " ".join(command),
            "does this kernel have network namespaces, veth and tbf?",
        )  # fmt: skip
    return process.returncode == 0
