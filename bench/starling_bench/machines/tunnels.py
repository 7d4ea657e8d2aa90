"""Tunnels between hosts that are network namespaces: each gets an interface "tun0" and an address
of a network of its own, 10.78.0.0/16, which is reached only through the tunnel.

vxlan: the kernel's. gre: Ethernet over GRE, between two hosts by the kernel where it has that, else
by bench-tunnel; which of them is told. wireguard: the kernel's, or the distribution's wireguard-go.
ipsec: the kernel's ESP (AES-GCM), with keys of this run that nobody renews. Neither of these two
carries multicast, but to the only other host. wireguard-vxlan: vxlan within it, which carries all.
"""

import asyncio
import contextlib
import functools
import os
import secrets
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import USAGE, BenchError
from .hosts import LINK, Launcher
from .identity import SPACES

PROGRAM = "bench-tunnel"
DEVICE = "tun0"
# What each adds to a packet: outer IPv4, and its own headers (WireGuard pads: up to 15 more, ESP up
# to 3).
OVERHEAD = {
    "gre": 20 + 4 + 14, "vxlan": 20 + 8 + 8 + 14, "wireguard": 20 + 8 + 16 + 16,
    "ipsec": 20 + 8 + 8 + 2 + 16,
}  # fmt: skip
# What each takes of a link's MTU: of WireGuard as much as if its packets went by IPv6, as is usual.
RESERVED = OVERHEAD | {"wireguard": 40 + 8 + 16 + 16, "ipsec": OVERHEAD["ipsec"] + 3}
for _of in (OVERHEAD, RESERVED):
    _of["wireguard-vxlan"] = _of["wireguard"] + _of["vxlan"]
_WORDS = {"gre": "GRE", "vxlan": "VXLAN", "wireguard": "WireGuard", "ipsec": "IPsec",
          "wireguard-vxlan": "VXLAN in WireGuard"}  # fmt: skip
_IP_ONLY = ("wireguard", "ipsec")  # they carry no frames
_MULTICAST = "224.0.0.0/4"
_ENCRYPTED = "wg0"  # the outer one where there are two
_READY_S = 10.0
Tool = Callable[..., Awaitable[bool]]


@dataclass(frozen=True)
class Site:
    """A host's namespace and its address outside the tunnel."""

    space: str
    address: str
    mtu: int


def words(kind: str) -> str:
    """A tunnel in words."""
    return f"{_WORDS[kind]}, {OVERHEAD[kind]} bytes of a packet"


def lacking(kind: str | None, program: Path) -> str:
    """Why this machine can't make such tunnels; "": it can, as far as is seen without trying."""
    if kind == "gre" and not program.with_name(PROGRAM).is_file():
        return f"there is no program '{PROGRAM}' beside {program.name}"
    if kind in ("wireguard", "wireguard-vxlan"):
        for tool in ("wg", "wireguard-go"):
            if not shutil.which(tool):
                return f"there is no program '{tool}' (Debian: wireguard-tools, wireguard-go)"
    return _no_esp() if kind == "ipsec" else ""


@functools.cache
def _no_esp() -> str:
    """What the kernel says to a security association and its interface, in a namespace that is gone
    then."""
    lines = f"{_state('10.0.0.1', '10.0.0.2', 256, '00' * _KEY)}\n{_device('lo')}\n"
    try:
        done = subprocess.run(
            ["unshare", "--net", "ip", "-batch", "-"], input=lines, capture_output=True, text=True,
            timeout=_READY_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"whether this kernel has ESP can't be found out: {e}"
    said = " ".join(done.stderr.split())
    return "" if done.returncode == 0 else f"no ESP with AES-GCM and its interface here: {said}"


async def build(
    kind: str, sites: list[Site], tool: Tool, launcher: Launcher, program: Path, logs: Path
) -> tuple[list[str], str]:
    """Makes them between all; the addresses inside, and what a reader must know of them."""
    if why := lacking(kind, program):
        raise BenchError("STL-TUN-001", f"no tunnels: {why}", kind, "take others", USAGE)
    inside = [site.address.replace("10.77.", "10.78.") for site in sites]
    make = {"gre": _gre, "vxlan": _vxlan, "wireguard": _wireguard, "wireguard-vxlan": _both,
            "ipsec": _ipsec}[kind]  # fmt: skip
    said = await make(sites, inside, tool, launcher, program, logs)
    ethernet = kind not in _IP_ONLY
    for n, (site, address) in enumerate(zip(sites, inside, strict=True)):
        ip = ("ip", "-n", site.space)
        await tool(*ip, "link", "set", DEVICE, "mtu", str(site.mtu - RESERVED[kind]))
        if ethernet:
            await tool(*ip, "link", "set", DEVICE, "address", _hardware(n))
        await tool(*ip, "addr", "add", f"{address}/16", "dev", DEVICE)
        await tool(*ip, "link", "set", DEVICE, "up")
        # Who is where is known beforehand: what asks for it may be lost while keys are agreed on,
        # and who asked three times in vain gives up.
        for m, other in enumerate(inside if ethernet else ()):
            if m != n:
                await tool(*ip, "neigh", "add", other, "lladdr", _hardware(m), "dev", DEVICE,
                           "nud", "permanent")  # fmt: skip
    return inside, said or ""


def _hardware(number: int) -> str:
    return f"02:00:01:00:{number >> 8:02x}:{number & 255:02x}"


async def _vxlan(
    sites: list[Site], inside: list[str], tool: Tool, *_: object, over: str = "eth0"
) -> None:  # fmt: skip
    for site in sites:
        ip = ("ip", "-n", site.space)
        await tool(*ip, "link", "add", DEVICE, "type", "vxlan", "id", "77", "dstport", "4789",
                   "local", site.address, "dev", over)  # fmt: skip
        for other in sites:
            if other != site:
                # What all are to get goes to each.
                await tool("bridge", "-n", site.space, "fdb", "append", "00:00:00:00:00:00", "dev",
                           DEVICE, "dst", other.address)  # fmt: skip


async def _gre(
    sites: list[Site], inside: list[str], tool: Tool, launcher: Launcher, program: Path, logs: Path
) -> str:
    why = "there are more than two hosts"
    if len(sites) == 2:
        why = "this kernel has no gretap"
        for here, there in (sites, sites[::-1]):
            add = ("ip", "-n", here.space, "link", "add", DEVICE, "type", "gretap")
            ends = ("local", here.address, "remote", there.address)
            if not await tool(*add, *ends, may_fail=here == sites[0]):
                break
        else:
            return "GRE is the kernel's."
    for n, site in enumerate(sites, 1):
        command = [str(program.with_name(PROGRAM)), "--device", DEVICE, "--local", site.address]
        for other in sites:
            command += ["--peer", other.address] if other != site else []
        log = logs / f"tunnel{n}.log"
        one = await launcher.start(
            LINK, command, log, dict(os.environ), logs, space=SPACES / site.space
        )
        await _until(lambda one=one: one.has_said(b"ready", line=True), one)
    return f"GRE is emulated by {PROGRAM} ({why})."


async def _both(sites: list[Site], inside: list[str], tool: Tool, *more) -> None:
    between = [address.replace("10.78.", "10.79.") for address in inside]
    await _wireguard(sites, between, tool, *more, device=_ENCRYPTED)
    for site, address in zip(sites, between, strict=True):
        ip = ("ip", "-n", site.space)
        mtu = str(site.mtu - RESERVED["wireguard"])
        await tool(*ip, "link", "set", _ENCRYPTED, "mtu", mtu)
        await tool(*ip, "addr", "add", f"{address}/16", "dev", _ENCRYPTED)
        await tool(*ip, "link", "set", _ENCRYPTED, "up")
    inner = [replace(site, address=a) for site, a in zip(sites, between, strict=True)]
    await _vxlan(inner, inside, tool, over=_ENCRYPTED)


async def _wireguard(
    sites: list[Site], inside: list[str], tool: Tool, launcher: Launcher, program: Path, logs: Path,
    device: str = DEVICE,
) -> None:  # fmt: skip
    keys = [await _keys() for _ in sites]
    for n, (site, (private, _)) in enumerate(zip(sites, keys, strict=True), 1):
        # Its socket stands in a directory that all namespaces share.
        name = f"w{os.getpid() % 1_000_000}n{n}"
        ip = ("ip", "-n", site.space)
        try:
            await tool(*ip, "link", "add", name, "type", "wireguard")
        except BenchError:
            env = dict(os.environ) | {"WG_PROCESS_FOREGROUND": "1"}
            one = await launcher.start(
                LINK, ["wireguard-go", "-f", name], logs / f"tunnel{n}.log", env, logs,
                space=SPACES / site.space,
            )  # fmt: skip
            await _until(lambda name=name: Path(f"/var/run/wireguard/{name}.sock").exists(), one)
        wg = ["ip", "netns", "exec", site.space, "wg", "set", name]
        with _secret(logs / f".{name}.key", private) as secret:
            await tool(*wg, "listen-port", "51820", "private-key", secret)
        for other, address, (_, public) in zip(sites, inside, keys, strict=True):
            if other != site:
                allowed = f"{address}/32" + (f",{_MULTICAST}" if len(sites) == 2 else "")
                await tool(*wg, "peer", public, "allowed-ips", allowed, "endpoint",
                           f"{other.address}:51820")  # fmt: skip
        await tool(*ip, "link", "set", name, "down")
        await tool(*ip, "link", "set", name, "name", device)


# Of AES-GCM: a key of 16 bytes, and 4 of salt. What the interface and all that is for it name.
_KEY, _ID = 20, "if_id 78"


def _device(over: str) -> str:
    return f"link add {DEVICE} type xfrm dev {over} {_ID}"


def _state(source: str, destination: str, spi: int, key: str) -> str:
    return (
        f"xfrm state add src {source} dst {destination} proto esp spi {spi} reqid 78 mode tunnel "
        f"aead rfc4106(gcm(aes)) 0x{key} 128 {_ID}"
    )


def _policy(inner: str, to: str, which: str, source: str, destination: str) -> str:
    return (
        f"xfrm policy add src {inner} dst {to} dir {which} tmpl src {source} dst {destination} "
        f"proto esp reqid 78 mode tunnel {_ID}"
    )


async def _ipsec(
    sites: list[Site], inside: list[str], tool: Tool, launcher: Launcher, program: Path, logs: Path
) -> None:
    ends = list(zip(sites, inside, strict=True))
    ways = [(a, b) for a in ends for b in ends if a != b]
    # A number and a key for each way: no two are encrypted alike.
    of = {way: (256 + n, secrets.token_hex(_KEY)) for n, way in enumerate(ways)}
    for number, end in enumerate(ends, 1):
        lines = [_device("eth0")]
        for (here, there), (spi, key) in of.items():
            if end not in (here, there):
                continue
            outer = here[0].address, there[0].address
            lines.append(_state(*outer, spi, key))
            for to in [f"{there[1]}/32", *([_MULTICAST] if len(sites) == 2 else [])]:
                lines.append(_policy(f"{here[1]}/32", to, "out" if end == here else "in", *outer))
        text = "".join(f"{line}\n" for line in lines)
        with _secret(logs / f".ipsec{number}", text) as batch:
            await tool("ip", "-n", end[0].space, "-batch", batch)


@contextlib.contextmanager
def _secret(file: Path, text: str) -> Iterator[str]:
    """A file with it, as long as it is needed: keys are on no command line."""
    try:
        file.touch(mode=0o600)
        file.write_text(text)
        yield str(file)
    finally:
        file.unlink(missing_ok=True)


async def _keys() -> tuple[str, str]:
    """A private key and its public one."""
    private = (await _said(["wg", "genkey"], "")).strip()
    return private, (await _said(["wg", "pubkey"], private)).strip()


async def _said(command: list[str], given: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate(given.encode())
    return out.decode()


async def _until(done: Callable[[], bool], one) -> None:
    deadline = asyncio.get_running_loop().time() + _READY_S
    while not done():
        if one.returncode is not None or asyncio.get_running_loop().time() > deadline:
            what = f"the tunnel {one.fate()}: {one.last_words()[0]}"
            raise BenchError("STL-TUN-002", what, str(one.log), "is /dev/net/tun there?")
        await asyncio.sleep(0.01)
