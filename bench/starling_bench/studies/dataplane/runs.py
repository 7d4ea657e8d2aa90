"""What is run for one point of a chart: Starling's federates on an rtiexec of their own, set up as
the point says, or what the machine does without an RTI."""

import asyncio
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...conducting.systems import TIMEOUT_S, Bench, System, cpu_s, system
from ...errors import write_file
from ...machines import idle
from ...machines.group import Group
from ...machines.hosts import Running
from ...statistics import stats
from . import model

# From the first to the last arrival, and updates: what is less tells no rate.
SHORT_S, FEW = 0.01, 1_000
# Of all CPUs: from here on what the processes take is what the machine has.
FULL = 0.9
# By role, else the server's.
HOSTS = {"produce": "sender", "consume": "receivers"}
_FRAME, _UDP_HEADS = 1_480, 28


@dataclass
class Scaled(Bench):
    """With how long it takes at each point."""

    scale: float = 1.0

    def times(self, what: float, least: float) -> int:
        """A number of scale 1, at this one."""
        return round(max(what * self.scale, least))

    def fom(self, classes: int = 0) -> Path:
        """The FOM with so many further classes; written once."""
        path = self.logs / f"classes-{classes}.xml"
        if not path.exists():
            write_file(path, model.fom(classes))
        return path


# A point: its place on the axis, and what was found there, by name; "doubt": why it says little.
Found = list[tuple[object, dict]]


async def flow(
    bench: Scaled, settings: dict[str, str], *, bytes: int, ms: float = 0, updates: int = 0,
    receivers: int = 1, federates: int = 0, instances: int = 1, values: int = 1, classes: int = 0,
    rate: int = 0, burst: int = 0, best: bool = False, random: bool = False, clocked: bool = False,
    stamped: bool = False, link: dict | None = None, link_s: float = 0, rate_mbit: float = 0,
    more: float = 1, cpus: dict[str, int] | None = None, forwarder: bool = False,
) -> dict:  # fmt: skip
    """Updates from one federate to others. With `link_s` as many as a link of `rate_mbit` takes in
    that time, times `more`."""
    receivers, instances = max(federates - 1, 0) or receivers, max(instances, classes)
    if rate_mbit:
        link = {**(link or {}), "rate_mbit": rate_mbit}
        updates, ms = bench.times(link_s * more * rate_mbit * 125_000 / bytes, 20), 0
    elif updates:
        updates = bench.times(updates, 20)
    else:
        ms = bench.times(ms, 20)
    common = {"bytes": bytes, "instances": instances, "values": values, "classes": classes}
    common["best"] = best
    async with system(bench, settings, bench.fom(classes), cpus, forwarder, link) as it:
        for me in range(receivers):
            await it.start("consume", me, me=me, stamped=stamped, **common)
        sender = await it.start(
            "produce", receivers=receivers, updates=updates, ms=ms, rate=rate, burst=burst,
            random=random, clocked=clocked, announced=True, **common,
        )  # fmt: skip
        await sender.process.stdout.readline()  # it begins
        before = cpu_s(it.servers)
        told = await it.group.results()
        rtiexec = cpu_s(it.servers) - before
    sent, got = told["produce0"], [told[f"consume{me}"] for me in range(receivers)]
    n = max(sent["sent"], 1)
    slowest = max(got, key=lambda one: one["seconds"] / max(one["received"], 1))
    seconds, received = slowest["seconds"], slowest["received"]
    per_s = (received - 1) / seconds if seconds else None
    every = sum(one["cpu_s"] for one in got)
    found = {
        "sent": sent["sent"],
        "received": min(one["received"] for one in got),
        "per_s": per_s,
        "mb_per_s": per_s and per_s * bytes * values / 1e6,
        "deliveries_per_s": per_s and per_s * receivers,
        "sender_us": sent["cpu_s"] / n * 1e6,
        "receiver_us": every / max(sum(one["received"] for one in got), 1) * 1e6,
        "rtiexec_us": rtiexec / n * 1e6,
        "lost_percent": 100 * (1 - sum(one["received"] for one in got) / n / receivers),
        "register_us": sent["register_us"],
    }
    for what in ("frames", "bytes"):
        found[f"sent_{what}"] = sent["traffic"][f"sent_{what}"] / n
        found[f"received_{what}"] = got[0]["traffic"][f"received_{what}"] / n
    found |= {f"call_{k}": v for k, v in sent.get("call", {}).items()}
    found |= {f"delay_{k}": v for k, v in slowest.get("delay", {}).items()}
    used = (sent["cpu_s"] + every + rtiexec) / max(sent["whole_s"], 1e-9)
    short = not (rate or rate_mbit) and (seconds < SHORT_S or n < FEW)
    processes = 1 + receivers + (_relayed(settings) or forwarder)
    found["doubt"] = doubt(short, processes, used, len(bench.cpus))
    return found


def doubt(short: bool, processes: int, used: float, cpus: int) -> str:
    """Why a flow says little, or more of the machine; `used` is of all processes, in CPUs."""
    if short:
        return "too short to tell"
    full = processes > cpus and used / cpus >= FULL
    return f"{processes} processes filled the {cpus} CPUs" if full else ""


def _relayed(settings: dict[str, str]) -> bool:
    """Data goes by rtiexec."""
    return (
        settings.get("transport.shared_memory") == "off"
        and settings.get("transport.path") != "direct"
    )


async def trips(
    bench: Scaled, settings: dict[str, str], *, bytes: int, count: int, best: bool = False
) -> dict:
    """Round trips between two federates."""
    count = bench.times(count, 50)
    async with system(bench, settings, bench.fom()) as it:
        await it.start("pong", bytes=bytes, best=best)
        await it.start("ping", bytes=bytes, best=best, count=count, warm_up=max(count // 10, 10))
        told = (await it.group.results())["ping0"]
    return _of_trips(told)


def _of_trips(told: dict) -> dict:
    us = np.sort(np.array(told["us"]))
    return {f"p{p}_us": stats.percentile(us, p) for p in (50, 99)}


async def calls(bench: Scaled, settings: dict[str, str], *, bytes: int, count: int) -> Found:
    """Every service of a list, again and again; a place of its own for each."""
    async with system(bench, settings, bench.fom()) as it:
        await _bystanders(it, 1, 0)
        caller = await it.start("calls", bytes=bytes, count=bench.times(count, 10))
        told = await _first(it, caller)
    return list(told.items())


async def joins(
    bench: Scaled, settings: dict[str, str], *, federates: int, instances: int, laps: int
) -> dict:
    """A newcomer that joins others who have object instances."""
    async with system(bench, settings, bench.fom()) as it:
        await _bystanders(it, federates, instances)
        newcomer = await it.start("join", instances=instances, laps=bench.times(laps, 2))
        told = await _first(it, newcomer)
    return {f"{what}_{k}": v for what in ("join", "discover") for k, v in told[what].items()}


async def _bystanders(it: System, federates: int, instances: int) -> None:
    """Federates that wait, the first of which has instances; until all are there."""
    each = [await it.start("bystand", me, me=me, instances=0 if me else instances)
            for me in range(federates)]  # fmt: skip
    for one in each:
        await one.process.stdout.readline()


async def _first(it: System, one: Running) -> dict:
    """What this one says; then all end, and nobody before."""
    line = await one.process.stdout.readline()
    await it.group.results()
    return json.loads(line)


# ---- without an RTI

# About how many messages, and bytes, a second.
_ABOUT = {("tcp", 0): (8e5, 3e9), ("unix", 0): (8e5, 3e9), ("ring", 0): (5e6, 5e9),
          ("udp", 0): (4e5, 2e9), ("udp", 1): (4e6, 2e9), ("tcp", 1): (1e7, 3e9),
          ("unix", 1): (1e7, 3e9), ("ring", 1): (1.5e7, 6e9)}  # fmt: skip


async def raw(
    bench: Scaled, does: str, x: object, *, raw: str, bytes: int = 100, relay: int = 0,
    batch: int = 0, batch_x: bool = False, ms: float = 0, count: int = 0, **_: object,
) -> dict:  # fmt: skip
    """The same over plain sockets or memory."""
    batch = int(x) if batch_x else batch
    what = "round-trip" if does == "trips" else "stream"
    options: dict[str, object] = {"socket": raw, "bytes": bytes, "relay": relay}
    if does == "trips":
        count = bench.times(count, 50)
        options |= {"count": count, "warm_up": max(count // 10, 10)}
    else:
        messages, much = _ABOUT[raw, int(batch > 0)]
        wanted = bench.times(ms, 20) / 1e3 * min(messages, much / bytes)
        options |= {"batch": batch, "count": max(round(wanted), 2)}
    async with Group("bench-raw", dict(os.environ), bench.logs) as group:
        program = str(bench.program.with_name("bench-raw"))
        await group.start("raw", [program, what], **options)
        told = (await group.results())["raw"]
    if "us" in told:
        return _of_trips(told)
    received, seconds = told["received"], told["seconds"]
    per_s = (received - 1) / seconds if seconds else None
    found = {"per_s": per_s, "mb_per_s": per_s and per_s * bytes / 1e6}
    if "sent" in told:
        found["lost_percent"] = 100 * (1 - received / told["sent"])
    return found | ({"doubt": "too short to tell"} if seconds < SHORT_S else {})


def computed(what: str, x: float, *, bytes: int, link: dict, **_: object) -> dict:
    """What follows from a link: its rate, or what it loses of a datagram's fragments."""
    if what == "link":
        return {"per_s": x * 125_000 / bytes}
    frames = math.ceil((x + _UDP_HEADS) / _FRAME)
    return {"lost_percent": 100 * (1 - (1 - link["loss"]) ** frames)}


DOES = {"flow": flow, "trips": trips, "calls": calls, "joins": joins}


async def point(bench: Scaled, sweep: dict, line: dict, x: object, ways: dict) -> Found:
    """One point of a line."""
    given = {k: v for k, v in (sweep["given"] | line).items() if k not in ("way", "set")}
    settings = dict(ways.get(line.get("way", sweep["given"].get("way", "")), {}))
    settings |= sweep["given"].get("set", {}) | line.get("set", {})
    setting = sweep["x"].removeprefix("setting:")
    if setting != sweep["x"]:
        settings[setting] = str(x)
    else:
        given[setting] = x
    if "computed" in line:
        return [(x, computed(given.pop("computed"), x, **given))]
    before = idle.read()
    if "raw" in line:
        found = await raw(bench, sweep["does"], x, **given)
    else:
        found = await asyncio.wait_for(DOES[sweep["does"]](bench, settings, **given), 2 * TIMEOUT_S)
    places = found if isinstance(found, list) else [(x, found)]
    others = idle.read().others_since(before)
    for _, figures in places if (others or 0) > idle.BUSY else ():
        figures["doubt"] = figures.get("doubt") or f"other programs used {others:.0%} of the CPUs"
    return places
