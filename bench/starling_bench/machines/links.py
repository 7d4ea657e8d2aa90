"""What carries frames between hosts that are network namespaces: a bridge of the kernel; where
links delay, lose, double or reorder, netem at the bridge's hosts where the kernel has it, else
bench-link, the emulator, which also carries frames that take long by a rate alone. And its floor:
what it adds with nothing asked, measured beside the bare bridge.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from .group import Group

BRIDGE, NETEM, EMULATOR = "", "netem", "bench-link"
#: As many frames of a host as the emulator has waiting.
_LIMIT = "65536"
_NO_RATE = "100gbit"
# What of a rule is drawn for each frame, by its seed.
_DRAWN = frozenset({"jitter_ms", "loss", "duplicate", "reorder"})
_RAW, _BATCH = "bench-raw", 16_384
_TRIPS, _STREAM, _BYTES = 2_000, 20_000, 1_000
_SETTLES_S, _LOOKS = 0.05, 40

Tool = Callable[..., Awaitable[bool]]


async def carrier(
    space: str, rules: list[dict[str, float]], tool: Tool, slow: bool
) -> tuple[str, str]:
    """What carries frames by these rules, and why it is not netem. `space` is a namespace to try it
    in; `tool` runs a program, and says whether it could. `slow`: by a rate at which a frame takes
    long."""
    if slow and not any(rules):
        return EMULATOR, "the kernel's buckets pass a frame in no time"
    if not any(rules):
        return BRIDGE, ""
    trial = ["tc", "-n", space, "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"]
    if not await tool(*trial, may_fail=True):
        return EMULATOR, "this kernel has no netem"
    if any(_DRAWN & rule.keys() for rule in rules) and not await tool(
        *trial, "seed", "1", may_fail=True
    ):
        return EMULATOR, "this netem takes no seed, and the same seed is to lose the same"
    return NETEM, ""


def netem(rule: dict[str, float], seed: int) -> list[str]:
    """A rule in netem's words."""
    said = ["netem", "limit", _LIMIT]
    if delay := rule.get("delay_ms"):
        said += ["delay", f"{delay:g}ms"]
        # By a rate, though one that nothing reaches, no frame is due before the one before it.
        said += [f"{rule['jitter_ms']:g}ms", "rate", _NO_RATE] if "jitter_ms" in rule else []
    for name in ("loss", "duplicate", "reorder"):
        # What nothing waits for can't go ahead of anything.
        if name in rule and (name != "reorder" or delay):
            said += [name, f"{100 * rule[name]:g}%"]
    return said + (["seed", str(seed)] if _DRAWN & rule.keys() else [])


async def shape(space: str, rule: dict[str, float], seed: int, rate: list[str], tool: Tool) -> None:
    """Sets what a host's link does to what leaves it; behind that it is held to a rate (a queueing
    discipline's words)."""
    add = ["tc", "-n", space, "qdisc", "add", "dev", "eth0"]
    await tool(*add, "root", "handle", "1:", *netem(rule, seed))
    await tool(*add, "parent", "1:1", *(rate or ["pfifo", "limit", _LIMIT]))


@dataclass(frozen=True)
class Floor:
    """What passes two hosts' links with nothing asked."""

    trip_us: float  # of TCP, median
    slow_us: float  # the same, 99th percentile
    mbit_per_s: float
    frames: int
    lost: int


async def measure(spaces: tuple[Path, Path], address: str, program: Path, logs: Path) -> Floor:
    """Round trips and a stream of TCP from one namespace to another, which has that address."""
    before = await _frames(spaces)
    for _ in range(_LOOKS):  # what hosts say of themselves as they come up is no part of it
        await asyncio.sleep(_SETTLES_S)
        last, before = before, await _frames(spaces)
        if last == before:
            break
    told = []
    for what, more in (
        ("round-trip", {"bytes": 100, "count": _TRIPS, "warm_up": _TRIPS // 10}),
        ("stream", {"bytes": _BYTES, "count": _STREAM, "batch": _BATCH}),
    ):
        async with Group(_RAW, dict(os.environ), logs) as group:
            ends = {"socket": "tcp", "spaces": ",".join(map(str, spaces)), "address": address}
            await group.start("floor", [str(program.with_name(_RAW)), what], **ends, **more)
            told.append((await group.results())["floor"])
    trips, stream = told
    for _ in range(_LOOKS):  # what is on its way still comes
        sent, came = (b - a for a, b in zip(before, await _frames(spaces), strict=True))
        if sent == came:
            break
        await asyncio.sleep(_SETTLES_S)
    us = sorted(trips["us"])
    mbit = stream["received"] * _BYTES * 8e-6 / stream["seconds"]
    # More come than were sent where one of several segments is cut on its way.
    return Floor(us[len(us) // 2], us[len(us) * 99 // 100], mbit, sent, max(sent - came, 0))


async def _frames(spaces: tuple[Path, Path]) -> tuple[int, int]:
    """That both hosts have sent, and that came to both."""
    sent = came = 0
    for space in spaces:
        command = ["ip", "-n", space.name, "-s", "-j", "link", "show", "dev", "eth0"]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        (link,) = json.loads((await process.communicate())[0])
        sent += link["stats64"]["tx"]["packets"]
        came += link["stats64"]["rx"]["packets"]
    return sent, came


def words(by: str, why: str, floor: Floor | None, bare: Floor | None) -> str:
    """A notice for a report."""
    said = "Links that delay, lose, double or reorder, or take over 0.2 ms for a frame,"
    said += f" are made by {by}"
    said += f" ({why})." if why else ", the kernel's."
    if floor is None or bare is None:
        return (
            f"{said} Its floor was not measured: there is no {_RAW} beside the federates' program."
        )
    return (
        f"{said} Its floor, with nothing asked: a round trip of TCP takes {floor.trip_us:.0f} µs "
        f"(99th percentile {floor.slow_us:.0f}) where a bridge of the kernel alone takes "
        f"{bare.trip_us:.0f} ({bare.slow_us:.0f}), so it adds {floor.trip_us - bare.trip_us:.0f}; "
        f"it carries {floor.mbit_per_s:,.0f} Mbit/s (bridge: {bare.mbit_per_s:,.0f}), and lost "
        f"{floor.lost:,} of {floor.frames:,} frames."
    )


def measurable(program: Path) -> bool:
    """What measures floors stands beside the federates' program."""
    return program.with_name(_RAW).is_file()
