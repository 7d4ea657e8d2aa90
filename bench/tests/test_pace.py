"""Deadlines: none drifts, each that passes without a turn is counted; and what a turn does."""

import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ranges import FOM, NEEDED, RANGEFED
from test_range_ring import STARTED, Live, ended

pytestmark = NEEDED
TESTS = Path(__file__).parent


def deadlines(start: int, hz: int, lates: list[int], ppm: int = 0) -> tuple[list[int], list[int]]:
    """What the program makes of wake-ups: its deadlines, and its counts."""
    said = subprocess.run(
        [Path(RANGEFED).with_name("bench-pace")], capture_output=True, text=True, check=True,
        input=f"{start} {hz} {ppm}\n" + "\n".join(map(str, lates)),
    ).stdout.splitlines()  # fmt: skip
    return [int(line) for line in said[:-1]], [int(word) for word in said[-1].split()]


@pytest.mark.parametrize("hz", [1, 7, 60, 100, 500, 999])
def test_deadlines_keep_their_rate_and_count_what_is_missed(hz):
    rng = random.Random(hz)
    period = 10**9 // hz
    lates = [
        rng.choice([0, rng.randrange(period), rng.randrange(20 * period)]) for _ in range(5000)
    ]
    start = rng.randrange(10**15)
    due, (turns, late, missed, largest, inside) = deadlines(start, hz, lates)
    # The same by the plainest arithmetic.
    number, expected = 0, []
    for one in lates:
        expected.append(start + number * 10**9 // hz)
        number += 1 + one // period
    assert due == expected
    assert turns == inside == len(lates) and largest == max(lates)
    assert late == sum(one > period // 10 for one in lates)
    assert missed == number - len(lates)


def test_periods_that_are_longer_add_up_to_the_nanosecond():
    """A turn of 500 Hz that is 3,236 millionths longer: no rounding adds up, what is missed is
    counted by the longer turn."""
    due, counts = deadlines(7, 500, [0] * 1000 + [2_006_472, 2_006_471], ppm=3236)
    at = [*range(1001), 1002]
    assert all(abs(d - 7 - n * 2_006_472) <= 1 for d, n in zip(due, at, strict=True))
    assert counts[2] == 1


def test_in_time_nothing_is_late_or_missed():
    _, counts = deadlines(5, 500, [0] * 100)
    assert counts == [100, 0, 0, 0, 100]


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an adapter that carries nothing."""
    there = tmp_path_factory.mktemp("null")
    subprocess.run(
        ["c++", "-std=c++14", "-shared", "-fPIC", f"-I{TESTS.parent / 'cpp'}",
         TESTS / "null_adapter.cpp", "-o", there / "libbench-null.so"], check=True,
    )  # fmt: skip
    subprocess.run(
        ["cc", "-shared", "-fPIC", TESTS / "count_malloc.c", "-o", there / "count.so"], check=True
    )
    return there


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().kill()


OPTIONS = ["--adapter", "null", "--federation", "x", "--fom", str(FOM), "--live", "--normal",
           "--name", "f1", "--hz", "100"]  # fmt: skip


def measured(elements: int, program: Path | str = RANGEFED or "") -> Live:
    """An interface that has made so many updates and has left."""
    live = Live(*OPTIONS, program=program)
    live.say("start")
    live.until(lambda line: line["event"] == "element" and line["number"] >= elements)
    ended(live)
    return live


def test_a_turn_allocates_nothing(null, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_ADAPTERS", str(null))
    monkeypatch.setenv("LD_PRELOAD", str(null / "count.so"))
    counts = []
    for elements in (20, 200):
        monkeypatch.setenv("COUNT_MALLOC", str(tmp_path / f"{elements}"))
        monkeypatch.setenv("COUNT_MALLOC_OF", "range-interface")
        measured(elements)
        counts.append(int((tmp_path / f"{elements}").read_text()))
    assert counts[0] == counts[1]


def test_a_turn_calls_the_system_for_nothing_but_sleep(null, monkeypatch, tmp_path):
    if not shutil.which("strace"):
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no strace")
    monkeypatch.setenv("BENCH_ADAPTERS", str(null))
    live = Live(*OPTIONS)
    live.say("start")
    live.until(lambda line: line["event"] == "element" and line["number"] >= 10)
    # One thread only: that which measures.
    tracer = subprocess.Popen(
        ["strace", "-o", tmp_path / "calls", "-p", str(live.interface)], stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert "attached" in tracer.stderr.readline()
    number = live.until(lambda line: line["event"] == "element")["number"]
    live.until(lambda line: line["event"] == "element" and line["number"] >= number + 100)
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    calls = Counter(
        line.split("(")[0] for line in (tmp_path / "calls").read_text().splitlines() if "(" in line
    )
    ended(live)
    # Where it is attached, a sleep that was under way is taken up again.
    assert set(calls) <= {"clock_nanosleep", "restart_syscall"} and calls["clock_nanosleep"] > 100


@pytest.mark.long
def test_an_update_costs_the_measuring_side_at_most_10000_instructions(null, monkeypatch, tmp_path):
    """With all turns between two updates, five at 500 a second; beside it the adapter and its RTI.
    Those are 3 us of a CPU of 3 GHz, and at 60 Hz 0.02 % of it."""
    if not shutil.which("valgrind"):
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no valgrind")
    monkeypatch.setenv("BENCH_ADAPTERS", str(null))
    program = Path(RANGEFED)
    shutil.copy(program, tmp_path / "rangefed")
    counted = []
    for elements in (20, 400):
        out = tmp_path / f"counts{elements}"
        wrapped = tmp_path / "range-interface"
        wrapped.write_text(
            f"#!/bin/sh\nexec valgrind -q --tool=callgrind --callgrind-out-file={out} "
            f'{program.with_name("range-interface")} "$@"\n'
        )
        wrapped.chmod(0o755)
        live = measured(elements, tmp_path / "rangefed")
        (summary,) = [line for line in out.read_text().splitlines() if line.startswith("summary:")]
        counted.append((live.elements()[-1], int(summary.split()[1])))
    (few, little), (many, much) = counted
    assert (much - little) / (many - few) <= 10_000
