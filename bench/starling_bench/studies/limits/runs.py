"""What is run: Starling's federates on an rtiexec of their own, and plain sockets beside them."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...conducting import systems, ways
from ...conducting.ways import BEST, Served as Bench
from ...errors import BenchError
from ...machines.identity import Run
from ...statistics import stats

FOM = Path(__file__).resolve().parents[3] / "foms" / "limits.xml"
BYTES, BATCH = 100, 16384
#: Of a link's rate, in a second; its hosts by a federate's role, else that of rtiexec.
_MBIT = 125_000
_HOSTS = {"consume": "receiver"}


def serving(
    root: Path, programs: Path, logs: Path, run: Run, preset: str = ""
) -> contextlib.AbstractAsyncContextManager[Bench]:
    """An rtiexec; it is gone afterwards. With a preset, which its federates have, too."""
    name = preset or programs.parent.name
    return ways.serving(root, programs / "limits-federate", FOM, logs, run, name, preset)


def of_trips(told: dict) -> dict:
    """Figures of round trips, or of steps, in place of what each took."""
    us = np.sort(np.array(told.pop("us")))
    tails = {"p99_us": 99, "p999_us": 99.9}
    found = {name: stats.percentile_if_known(us, p) for name, p in tails.items()}
    return told | {"p50_us": stats.percentile(us, 50), **found, "mean_us": float(us.mean())}


def rate(told: dict, receivers: int = 1) -> dict:
    """With how fast a stream came: intervals between its first and its last, of all that got it."""
    return told | {"per_s": receivers * (told["received"] - 1) / told["seconds"]}


async def raw(bench: Bench, what: str, **options: object) -> dict:
    """One run of the raw sockets."""
    async with bench.group() as group:
        if bench.apart:
            options["cpus"] = ",".join(map(str, bench.apart))
        await group.start("raw", [str(bench.programs / "bench-raw"), what], **options)
        told = (await group.results())["raw"]
    return of_trips(told) if "us" in told else rate(told, options.get("ends", 1))


async def trips(
    bench: Bench, socket: str, count: int, warm_up: int, size: int = BYTES, receivers: int = 1
) -> dict:
    """Round trips from a federate to others, until the last one's answer is there; best effort by
    datagrams."""
    common = {"bytes": size, "best": int(socket in BEST)}
    async with bench.group(socket) as group:
        for me in range(receivers):
            pong = bench.federate("pong")
            await group.start(f"pong{me}", pong, bench.at(1 + me), me=me, **common)
        await group.start(
            "ping", bench.federate("ping"), bench.at(0),
            count=count, warm_up=warm_up, receivers=receivers, **common,
        )  # fmt: skip
        told = (await group.results())["ping"]
    came = {"sent": len(told["us"]) + told.get("lost", 0), "received": len(told["us"])}
    return of_trips(told) | came


async def stream(
    bench: Bench, socket: str, updates: int, size: int = BYTES, receivers: int = 1
) -> dict:
    """Updates from one federate to others as fast as they go. Of several receivers what the slowest
    says, and in `per_s` what all get together."""
    async with bench.group(socket) as group:
        for me in range(receivers):
            await group.start(
                f"receive{me}", bench.federate("receive"), bytes=size, updates=updates, me=me
            )
        await group.start(
            "send", bench.federate("send"),
            bytes=size, updates=updates, laps=0, spread_ms=0, seed=0, receivers=receivers,
        )  # fmt: skip
        told = await group.results()
    each = (rate(told[f"receive{me}"], receivers) for me in range(receivers))
    return min(each, key=lambda one: one["per_s"])


async def register(bench: Bench, socket: str, instances: int) -> dict:
    """Object instances that one federate registers and another discovers: of each, until the call
    returns."""
    common = {"bytes": BYTES, "instances": instances}
    async with bench.group(socket) as group:
        await group.start("consume", bench.federate("consume"), me=0, **common)
        produce = bench.federate("produce")
        await group.start("produce", produce, updates=1, ms=0, receivers=1, **common)
        return (await group.results())["produce"]


async def discover(bench: Bench, socket: str, instances: int) -> dict:
    """Object instances that are there, for who subscribes: of each, until the last is known."""
    async with bench.group(socket) as group:
        there = await group.start("bystand", bench.federate("bystand"), me=0, instances=instances)
        await there.process.stdout.readline()
        newcomer = await group.start("join", bench.federate("join"), instances=instances, laps=3)
        # Who stands by leaves when its input ends, and not before.
        told = await newcomer.process.stdout.readline()
        await group.results()
    return {"discover_us": json.loads(told)["discover"]["p50_us"] / instances}


async def link(
    bench: Bench, way: str = "direct", *, seconds: float, size: int, rate_mbit: float, raw: str = ""
) -> dict:
    """As many updates as a link of a rate takes in that time, from one host to another; or a plain
    stream by the same."""
    count = max(round(rate_mbit * _MBIT * seconds / size), 20)
    hosts = systems.Bench(bench.root, bench.program, bench.logs, bench.run, _HOSTS, 300)
    settings = {"net.unix": "false", "transport.shared_memory": "off", "transport.path": way}
    async with systems.system(hosts, settings, FOM, link={"rate_mbit": rate_mbit}) as it:
        if raw:
            ends = ",".join(str(it.place(role).space) for role in ("produce", "consume"))
            await it.group.start(
                "raw", [str(bench.programs / "bench-raw"), "stream"], socket=raw, bytes=size,
                count=count, batch=BATCH, spaces=ends, address=it.place("consume").address,
            )  # fmt: skip
        else:
            common = {"bytes": size, "instances": 1}
            await it.start("consume", me=0, **common)
            await it.start("produce", updates=count, ms=0, receivers=1, **common)
        told = await it.group.results()
    found = rate(told["raw" if raw else "consume0"])
    return found | {"mbit_per_s": found["per_s"] * size * 8e-6}


async def best_effort(bench: Bench, socket: str, updates: int, size: int = BYTES) -> dict:
    """Best-effort updates from one federate to another as fast as they go, and how many came."""
    async with bench.group(socket) as group:
        common = {"bytes": size, "instances": 1, "best": 1}
        await group.start("consume", bench.federate("consume"), me=0, **common)
        await group.start(
            "produce", bench.federate("produce"), updates=updates, ms=0, receivers=1, **common
        )
        return rate((await group.results())["consume"])


async def advance(
    bench: Bench,
    socket: str,
    federates: int,
    messages: int,
    steps: int,
    regulating: int | None = None,
    constrained: int | None = None,
) -> list[dict]:
    """Federates whose time goes on step by step, with so many messages in time-stamp order in each
    step altogether. The first `regulating` regulate, the last `constrained` are constrained; all by
    default. What each says, in order."""
    async with bench.group(socket) as group:
        for me in range(federates):
            await group.start(
                f"f{me}", bench.federate("advance"),
                me=me, federates=federates, messages=messages, steps=steps,
                warm_up=max(steps // 10, 1), bytes=BYTES,
                regulating=federates if regulating is None else regulating,
                constrained=federates if constrained is None else constrained,
            )  # fmt: skip
        told = await group.results()
    found = [of_trips(told[f"f{me}"]) for me in range(federates)]
    return [
        one | {"per_s": steps / one["seconds"], "messages_per_s": one["messages"] / one["seconds"]}
        for one in found
    ]


async def gapless(bench: Bench, updates: int, joins: int, spread_ms: int, seed: int) -> dict:
    """A stream that a third federate joins again and again, each time without a gap."""
    async with bench.group() as group:
        common = {"bytes": BYTES, "seed": seed, "laps": joins}
        receive, send, late = (bench.federate(r, 600) for r in ("receive", "send", "late"))
        await group.start("receive", receive, bytes=BYTES, updates=updates, me=0)
        await group.start("send", send, updates=updates, spread_ms=spread_ms, receivers=1, **common)
        pause, stay = spread_ms // max(joins, 1) // 4, updates // max(joins, 1) // 4
        await group.start("late", late, pause_ms=pause, stay=stay, **common)
        told = await group.results()
    late = {key: told["late"][key] for key in ("joins", "heard")}
    return rate(told["receive"]) | {"sent": told["send"]["sent"]} | late


async def crowd(
    bench: Bench, federates: int, instances: int, socket: str = "unix", look: Callable = id
) -> dict:
    """Many federates at once; each discovers what all others have registered, and is looked at."""
    async with bench.group(socket) as group:
        start, command = time.monotonic(), bench.federate("crowd")
        common = {"federates": federates, "instances": instances}
        members = [await group.start(f"crowd{n}", command, name=f"f{n}", **common)
                   for n in range(federates)]  # fmt: skip
        # Each says when it is ready, and leaves when its input ends.
        lines = [await member.process.stdout.readline() for member in members]
        told, seen = [json.loads(line) for line in lines if line], list(map(look, members))
        await group.results()
    expected = (federates - 1) * instances
    if len(told) != federates or any(t["discovered"] != expected for t in told):
        raise BenchError("STL-LIM-005", f"not every federate has discovered {expected}: {told}")
    last = max(t["at_s"] for t in told)
    return {"seconds": last - start, "discovered": expected, "seen": seen}
