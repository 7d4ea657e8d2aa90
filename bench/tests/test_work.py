"""What an update takes of memory on its way: nothing is allocated for one, and its bytes are copied
twice."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from test_limits import (
    bench as bench,  # the fixtures
    do as do,
)

from starling_bench.machines.hosts import output
from starling_bench.studies.limits import runs

# By size of a value: so many updates, and so many more.
LENGTHS = {100: (10_000, 200_000), 5_000: (5_000, 40_000)}
# How the words begin in which `starling ps` says by which way updates go.
WAYS = {"memory": "shared memory", "unix": "rtiexec", "direct": "direct tcp"}
# Rather less than a batch of 16 KB has, for which each end asked if it asked for each.
ALLOCATED_MAX = 0.05
# Of a frame beside its value: handles, number, time.
HEAD_BYTES = 32
ROLES = ("send", "receive")


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that counts what a program allocates and copies."""
    there = tmp_path_factory.mktemp("count") / "count_work.so"
    source = Path(__file__).with_name("count_work.c")
    options = ["-shared", "-fPIC", "-O2", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]
    subprocess.run(["cc", *options, source, "-o", there], check=True)
    return there


async def way(bench: runs.Bench) -> str:
    """By which the sender's updates go now."""
    command = [f"{os.environ['RTI_ROOT']}/bin/starling", "ps", "--json", bench.tcp]
    (federation,) = json.loads(await output(command, dict(os.environ), None))["federations"]
    (sender,) = (one for one in federation["federates"] if one["name"] == "sender")
    return " ".join(path["by"] for path in sender["paths"])


@pytest.fixture
def per_update(do, bench, counter, tmp_path) -> Callable[..., dict[str, list[float]]]:
    """Allocations, frees and bytes copied for each further update, of either end."""

    async def run(socket: str, size: int, updates: int) -> dict[str, list[int]]:
        def counted(role: str) -> list[str]:
            return ["env", f"LD_PRELOAD={counter}", f"COUNT_WORK={tmp_path / role}",
                    *bench.federate(role)]  # fmt: skip

        async with bench.group(socket) as group:
            common = {"bytes": size, "updates": updates}
            await group.start("receive", counted("receive"), me=0, **common)
            sending = {"laps": 0, "spread_ms": 0, "seed": 0, "receivers": 1, "stays": 1}
            sender = await group.start("send", counted("send"), **sending, **common)
            await sender.process.stdout.readline()
            # What is sent before the way is open is kept until what went by rtiexec has come.
            while not (await way(bench)).startswith(WAYS[socket]):
                await asyncio.sleep(0.02)
            sender.process.stdin.close()
            await group.results()
        return {role: [int(n) for n in (tmp_path / role).read_text().split()] for role in ROLES}

    def difference(socket: str, size: int) -> dict[str, list[float]]:
        few, more = LENGTHS[size]
        counts = [do(run(socket, size, n)) for n in (few, few + more)]
        return {
            role: [(b - a) / more for a, b in zip(*(one[role] for one in counts), strict=True)]
            for role in ROLES
        }

    return difference


@pytest.mark.parametrize(
    ("socket", "size"), [("memory", 100), ("memory", 5_000), ("unix", 100), ("direct", 100)]
)
def test_no_update_and_no_reflection_allocates(per_update, socket, size):
    """In C++, with the map of an update used again. In shared memory each end copies it once, but
    for what finds the ring full and waits."""
    for role, (allocated, freed, copied) in per_update(socket, size).items():
        assert max(allocated, freed) < ALLOCATED_MAX, role
        if socket == "memory":
            assert copied < 1.05 * size + HEAD_BYTES, role
        # It is updates that are counted.
        assert copied > size / 2
