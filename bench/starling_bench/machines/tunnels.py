"""Tunnels between hosts that are network namespaces: each gets an interface "tun0" and an address
of a network of its own, 10.78.0.0/16, which is reached only through the tunnel.

vxlan: the kernel's. gre: Ethernet over GRE, between two hosts by the kernel where it has that, else
by bench-tunnel; which of them is told. wireguard: the kernel's, or the distribution's wireguard-go;
it carries no multicast, but to the only other host. wireguard-vxlan: vxlan within it, which carries
all.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import USAGE, BenchError
from .hosts import LINK, Launcher
from .identity import SPACES

PROGRAM = "bench-tunnel"
DEVICE = "tun0"
# What each adds to a packet: outer IPv4, and its own headers (WireGuard pads: up to 15 more).
OVERHEAD = {"gre": 20 + 4 + 14, "vxlan": 20 + 8 + 8 + 14, "wireguard": 20 + 8 + 16 + 16}
# What each takes of a link's MTU: of WireGuard as much as if its packets went by IPv6, as is usual.
RESERVED = OVERHEAD | {"wireguard": 40 + 8 + 16 + 16}
for _of in (OVERHEAD, RESERVED):
    _of["wireguard-vxlan"] = _of["wireguard"] + _of["vxlan"]
_WORDS = {"gre": "GRE", "vxlan": "VXLAN", "wireguard": "WireGuard",
          "wireguard-vxlan": "VXLAN in WireGuard"}  # fmt: skip
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
    return ""


async def build(
    kind: str, sites: list[Site], tool: Tool, launcher: Launcher, program: Path, logs: Path
) -> tuple[list[str], str]:
    """Makes them between all; the addresses inside, and what a reader must know of them."""
    if why := lacking(kind, program):
        raise BenchError("STL-TUN-001", f"no tunnels: {why}", kind, "install it", USAGE)
    inside = [site.address.replace("10.77.", "10.78.") for site in sites]
    make = {"gre": _gre, "vxlan": _vxlan, "wireguard": _wireguard, "wireguard-vxlan": _both}[kind]
    said = await make(sites, inside, tool, launcher, program, logs)
    ethernet = kind != "wireguard"
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
        secret = logs / f".{name}.key"
        wg = ["ip", "netns", "exec", site.space, "wg", "set", name]
        try:
            secret.touch(mode=0o600)
            secret.write_text(private)
            await tool(*wg, "listen-port", "51820", "private-key", str(secret))
        finally:
            secret.unlink(missing_ok=True)
        for other, address, (_, public) in zip(sites, inside, keys, strict=True):
            if other != site:
                allowed = f"{address}/32" + (",224.0.0.0/4" if len(sites) == 2 else "")
                await tool(*wg, "peer", public, "allowed-ips", allowed, "endpoint",
                           f"{other.address}:51820")  # fmt: skip
        await tool(*ip, "link", "set", name, "down")
        await tool(*ip, "link", "set", name, "name", device)


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
