"""The checks of `make bench` at small sizes, without judging times: nothing lost, no gap."""

import os
import random
from pathlib import Path

import pytest

from starling_bench import limits
from starling_bench.errors import BenchError


@pytest.fixture(scope="module")
def programs() -> Path:
    if "LIMITS" not in os.environ or "RTI_ROOT" not in os.environ:
        pytest.skip("LIMITS and RTI_ROOT are set by make")
    return Path(os.environ["LIMITS"])


@pytest.fixture(scope="module")
def server(programs: Path):
    with limits.serving(Path(os.environ["RTI_ROOT"])) as server:
        yield server
    assert not server.run_dir.exists()


@pytest.mark.parametrize("socket", ["unix", "tcp"])
def test_round_trips_and_stream(server, programs, socket):
    assert limits.round_trip(server, programs, socket, 200, 10)["p50_us"] > 0
    assert limits.stream(server, programs, socket, 20_000)["received"] == 20_000


def test_on_one_cpu(server, programs):
    before = os.sched_getaffinity(0)
    with limits.placed(server, one_cpu=True):
        assert len(os.sched_getaffinity(0)) == 1
        assert len(os.sched_getaffinity(server.process.pid)) == 1
        limits.round_trip(server, programs, "unix", 100, 10)
    assert os.sched_getaffinity(0) == before == os.sched_getaffinity(server.process.pid)


def test_raw(programs):
    for socket in ("unix", "tcp"):
        common = {"socket": socket, "bytes": 100, "count": 1000}
        assert limits.raw(programs, "round-trip", warm_up=10, **common)["p50_us"] > 0
        for relay, batch in ((0, 0), (1, 16384)):
            told = limits.raw(programs, "stream", relay=relay, batch=batch, **common)
            assert told["received"] == 1000


def test_everybody_discovers_everything(server, programs):
    assert limits.crowd(server, programs, 3, 100)["discovered"] == 200


def test_who_joins_late_has_no_gap(server, programs):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    told = limits.gapless(server, programs, 20_000, 5, 500, seed)
    assert told["joins"] == 5
    assert told["received"] == told["sent"] >= 20_000


def test_a_fault_is_found(server, programs):
    """A stream that ends too early fails the run."""
    env = server.environment("unix")
    with (
        limits.Federates(programs / "limits-federate", env, 60) as federates,
        pytest.raises(BenchError, match="got updates 1 to 100"),
    ):
        federates.start("receive", bytes=100, updates=101)
        federates.start("send", bytes=100, updates=100, laps=0, spread_ms=0, seed=0)
        federates.results()


def test_a_federate_that_waits_for_ever_is_ended(server, programs):
    with (
        limits.Federates(programs / "limits-federate", server.environment("unix"), 1) as federates,
        pytest.raises(BenchError, match=r"ping ended with 3: .*not done within"),
    ):
        federates.start("ping", bytes=100, count=1, warm_up=0)
        federates.results()
