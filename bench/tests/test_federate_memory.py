"""What a federate takes of memory: with 10,000 object instances, and as one of 100 on a host."""

import json
import os
from collections.abc import Awaitable
from pathlib import Path

import pytest
from test_limits import (
    bench as bench,  # the fixtures
    do as do,
)

from starling_bench.conducting.systems import system
from starling_bench.machines import identity
from starling_bench.studies.dataplane import WAYS, runs
from starling_bench.studies.limits import runs as limits
from starling_bench.studies.limits.runs import Bench

MB = 1 << 20


def proportional(pid: int) -> int:
    """Its proportional set size: all pages of its own, and of those that it shares with others its
    part, program and library too."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("Pss:"))
    return int(kilobytes) << 10


def crowd(bench: Bench, socket: str, federates: int, instances: int) -> Awaitable[dict]:
    """What each takes once all know what all have registered."""
    look = lambda one: proportional(one.process.pid)  # noqa: E731
    return limits.crowd(bench, federates, instances, socket, look)


@pytest.mark.parametrize("socket", ["memory", "unix"])
def test_with_10000_instances_of_each(do, bench, socket):
    """Each of two has registered 10,000, and knows those of the other."""
    sizes = do(crowd(bench, socket, 2, 10_000))["seen"]
    assert len(sizes) == 2 and max(sizes) < 30 * MB, sizes


@pytest.mark.parametrize("way", ["shared memory", "rtiexec, TCP", "direct TCP"])
def test_after_100_mb_of_data(do, bench, tmp_path, way):
    """Of 10,000 instances, as fast as it goes: rings, bundles and what waits count, too."""
    me = identity.Run()
    program = bench.programs / "limits-federate"
    try:
        one = runs.Scaled(Path(os.environ["RTI_ROOT"]), program, tmp_path, me, runs.HOSTS)
        sizes = do(flow(one, WAYS[way]))
    finally:
        me.end()
    assert max(sizes.values()) < 30 * MB, sizes


async def flow(one: runs.Scaled, settings: dict[str, str]) -> dict[str, int]:
    """What either end takes when all has come."""
    common = {"bytes": 1_000, "instances": 10_000, "values": 1}
    async with system(one, settings, one.fom()) as it:
        ends = {"consume": await it.start("consume", me=0, stays=1, **common)}
        ends["produce"] = await it.start("produce", receivers=1, updates=100_000, ms=0, **common)
        told = json.loads(await ends["consume"].process.stdout.readline())
        assert told["received"] == 100_000
        sizes = {role: proportional(end.process.pid) for role, end in ends.items()}
        await it.group.results()
    return sizes


@pytest.mark.long
@pytest.mark.parametrize("socket", ["memory", "unix", "direct"])
def test_each_of_100_federates(do, bench, socket):
    """All on this host, with 100 instances each: each knows 10,000, and has 99 to talk to."""
    sizes = do(crowd(bench, socket, 100, 100))["seen"]
    # For one that lags `limits.send_queue_bytes` more may wait on its link.
    assert len(sizes) == 100 and max(sizes) < 30 * MB, sizes
    assert sorted(sizes)[50] < 15 * MB, sizes
