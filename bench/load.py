#!/usr/bin/env python3
"""A load for long: `make bench-load`, `make bench-stopped`. Fails if what is asked for is not so.

load: a federate updates 44,000 instances of 96 bytes 4 times a second, 176,000 updates/s, for
another one: none is lost, and what both took of a CPU. stopped: eight receivers of 10,000
updates/s, one of which is stopped (SIGSTOP) for most of the time: how late the others' callbacks
are, beside a run without; where its backlog finds room, and where the bound of
limits.send_queue_bytes holds its sender.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from starling_bench.conducting.systems import system
from starling_bench.machines.identity import Run
from starling_bench.studies.dataplane import runs

INSTANCES, BYTES, RATE = 44_000, 96, 176_000
# Of what is asked for: what a machine must keep up with.
KEPT_UP = 0.99
RECEIVERS, STOPPED_RATE, TIMES_MAX = 8, 10_000, 2.0
# Room for all that a receiver misses, its heads too; and the setting's default.
ROOM, BOUND = 256 << 20, 4 << 20
# When the receiver is stopped and goes on, in parts of the whole.
STOPPED, CONTINUED = 0.1, 0.85


async def load(bench: runs.Scaled, seconds: float, rate: int, instances: int) -> bool:
    """Prints what came of it, and says whether all is as it is to be."""
    told = await runs.flow(bench, {}, bytes=BYTES, ms=seconds * 1e3, instances=instances, rate=rate)
    reached = told["sent"] / seconds
    share = {who: told[f"{who}_us"] * reached / 1e6 for who in ("sender", "receiver", "rtiexec")}
    print(
        f"{told['sent']:,} updates of {instances:,} instances in {seconds:g} s ({reached:,.0f}/s), "
        f"{told['sent'] - told['received']} lost; of a CPU the sender took {share['sender']:.0%}, "
        f"the receiver {share['receiver']:.0%}, rtiexec {share['rtiexec']:.1%}"
    )
    kept_up = reached >= KEPT_UP * rate
    if not kept_up:
        print(f"missed: {rate:,} updates/s were to be sent")
    return kept_up and told["sent"] == told["received"]


async def delays(bench: runs.Scaled, seconds: float, queue: int, stop: bool) -> dict:
    """The worst of the others' percentiles, and of how many updates none was lost."""
    common = {"bytes": BYTES, "instances": 1, "values": 1, "classes": 0, "best": 0}
    # Who is stopped for longer than rtiexec waits for a silent federate stays all the same.
    settings = {"limits.send_queue_bytes": str(queue), "fault.paused": "keep"}
    async with system(bench, settings, bench.fom()) as it:
        receivers = [
            await it.start("consume", me, me=me, stamped=1, **common) for me in range(RECEIVERS)
        ]
        sender = await it.start(
            "produce", receivers=RECEIVERS, updates=0, ms=seconds * 1e3, rate=STOPPED_RATE,
            announced=1, **common,
        )  # fmt: skip
        await sender.process.stdout.readline()
        if stop:
            last = receivers[-1].process
            await asyncio.sleep(STOPPED * seconds)
            last.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep((CONTINUED - STOPPED) * seconds)
            finally:
                last.send_signal(signal.SIGCONT)
        told = await it.group.results()
    others = [told[f"consume{me}"] for me in range(RECEIVERS - 1)]
    worst = {key: max(one["delay"][key] for one in others) for key in ("p50_us", "p99_us")}
    every = [told[f"consume{me}"]["received"] for me in range(RECEIVERS)]
    return worst | {"sent": told["produce0"]["sent"], "received": min(every)}


async def stopped(bench: runs.Scaled, seconds: float) -> bool:
    """Prints the three runs, and says whether the target is met."""
    ratios = {}
    base = 0.0
    for name, queue, stop in (
        ("none stopped", ROOM, False),
        ("one stopped, room for what it misses", ROOM, True),
        ("one stopped, at the bound", BOUND, True),
    ):
        told = await delays(bench, seconds, queue, stop)
        base = base or told["p99_us"]
        ratios[name] = told["p99_us"] / base
        print(
            f"{name}: {told['sent']:,} sent, all received by all; the others' worst median "
            f"{told['p50_us']:,.0f} µs, p99 {told['p99_us']:,.0f} µs: x {ratios[name]:.2f}"
        )
        if told["sent"] != told["received"]:
            print(f"lost: {told['sent'] - told['received']}")
            return False
    met = ratios["one stopped, room for what it misses"] <= TIMES_MAX
    print(f"target, at most x {TIMES_MAX:g} where there is room: {'met' if met else 'missed'}")
    return met


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=["load", "stopped"])
    arguments.add_argument("--rti-root", type=Path, required=True)
    arguments.add_argument("--program", type=Path, required=True)
    arguments.add_argument("--seconds", type=float, help="600, and 30 each of `stopped`")
    arguments.add_argument("--rate", type=int, default=RATE, help="of `load`, updates/s")
    arguments.add_argument("--instances", type=int, default=INSTANCES, help="of `load`")
    asked = arguments.parse_args()
    seconds = asked.seconds or {"load": 600.0, "stopped": 30.0}[asked.what]
    me = Run()
    try:
        with tempfile.TemporaryDirectory() as logs:
            bench = runs.Scaled(
                asked.rti_root.resolve(), asked.program.resolve(), Path(logs), me, runs.HOSTS,
                timeout_s=round(2 * seconds) + 120,
            )  # fmt: skip
            of = asked.rate, asked.instances
            does = load(bench, seconds, *of) if asked.what == "load" else stopped(bench, seconds)
            sys.exit(0 if asyncio.run(does) else 1)
    finally:
        me.end()


if __name__ == "__main__":
    main()
