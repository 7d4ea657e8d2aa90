"""Over links that lose 5 % of their frames and delay the others by 50 ms: what is reliable arrives
whole, and what is best effort arrives or is counted."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from runs import LIMIT_S
from test_limits import (
    bench as bench,  # the fixtures
    do as do,
)
from test_network import possible

from starling_bench.conducting.systems import system
from starling_bench.machines import identity
from starling_bench.studies.dataplane import WAYS, runs

LINK = {"loss": 0.05, "delay_ms": 50}
if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not possible(), reason="root and iproute2 are needed")
# What a receiver counts of what did not come as it was sent; and its sender, of what did not leave.
MISSED = ("unknown", "unsubscribed", "dropped", "from_removed", "lost", "outdated", "conflated")
UNSENT = ("unwanted", "reduced", "of_deleted")
SENT = 4_000


@pytest.fixture
def hosts(bench, tmp_path):
    """What runs federates on hosts of their own."""
    me = identity.Run()
    program = Path(os.environ["LIMITS"]) / "limits-federate"
    yield runs.Scaled(Path(os.environ["RTI_ROOT"]), program, tmp_path, me, runs.HOSTS)
    me.end()


@pytest.mark.long
@pytest.mark.parametrize("way", ["rtiexec, TCP", "direct TCP"])
def test_nothing_reliable_is_lost(do, hosts, way):
    """The receiver itself checks that none is missing or out of order."""
    given = {"bytes": 100, "updates": 2_000, "rate": 1_000, "link": LINK}
    found = do(runs.flow(hosts, WAYS[way], **given))
    assert found["received"] == found["sent"] == 2_000


@pytest.mark.long
@pytest.mark.parametrize("conflate", ["", "HLAobjectRoot"])
@pytest.mark.parametrize("way", ["best effort, UDP by rtiexec", "best effort, UDP direct"])
def test_best_effort_comes_or_is_counted(do, hosts, way, conflate):
    """Of each way some are lost, and exactly these are counted."""
    settings = WAYS[way] | {"fault.heartbeat_s": "0.2", "conflate.best_effort": conflate}
    received, counts = do(counted(hosts, settings))
    assert received + sum(counts.values()) == SENT, counts
    lost = counts["lost"] + counts["on the way to rtiexec"]
    assert received > 0 and lost > SENT / 100
    assert (counts["conflated"] > 0) == bool(conflate)


async def counted(hosts: runs.Scaled, settings: dict[str, str]) -> tuple[int, dict[str, int]]:
    """Of the updates how many came, and as what the others are counted, once that stays as it
    is."""
    common = {"bytes": 100, "instances": 1, "values": 1, "best": 1}
    async with system(hosts, settings, hosts.fom(), link=LINK) as it:
        receiver = await it.start("consume", me=0, stays=1, **common)
        await it.start("produce", receivers=1, updates=SENT, ms=0, rate=2_000, burst=20, **common)
        received = json.loads(await receiver.process.stdout.readline())["received"]
        before, counts = None, of(await it.status())
        # With some heartbeats in between, which tell how many there were and what is counted.
        for _ in range(LIMIT_S):
            if counts == before and received + sum(counts.values()) >= SENT:
                break
            await asyncio.sleep(1)
            before, counts = counts, of(await it.status())
        told = await it.group.results()
    assert told["consume0"]["received"] == received
    return received, counts


def of(status: dict) -> dict[str, int]:
    """What is counted as not come, by either end."""
    ends = {one["name"]: one for one in status["federates"]}
    sender, receiver = ends["producer"], ends["consumer0"]
    counts = {name: receiver["counters"][name] for name in MISSED}
    counts |= {name: sender["counters"][name] for name in UNSENT}
    by_rtiexec = sender["best_effort"]
    return counts | {
        "on the way to rtiexec": by_rtiexec["lost"],
        "dropped there": by_rtiexec["dropped"],
    }
