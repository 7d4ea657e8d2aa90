"""Deadlines: none drifts, each that passes without a turn is counted; and what a turn does."""

import bisect
import os
import random
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from ranges import FOM, NEEDED, RANGEFED
from test_range_ring import STARTED, Live

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


@pytest.mark.parametrize("updates", [0, 40])
@pytest.mark.parametrize("phase", ["0", "0.618", "0.999"])
@pytest.mark.parametrize(
    ("hz", "tick_hz"), [("60", "500"), ("10", "500"), ("0.5", "100"), ("500", "500"), ("7", "1000")]
)
def test_updates_are_due_by_the_divider(hz, tick_hz, phase, updates):
    """Number n is due after n periods and the phase, in the first turn that is not earlier; with an
    end, no more than there are."""
    turns = range(0, 2000)
    said = subprocess.run(
        [Path(RANGEFED).with_name("bench-pace"), hz, phase, str(updates), tick_hz],
        capture_output=True, text=True, check=True, input="\n".join(map(str, turns)),
    ).stdout.split()  # fmt: skip
    first = [-(-(n + Fraction(phase)) * Fraction(tick_hz) // Fraction(hz)) for n in range(2000)]
    first = first[:updates] if updates else first
    expected = [bisect.bisect_right(first, turn) for turn in turns]
    assert len(said) == len(turns)
    assert [t for t in turns if int(said[t]) != expected[t]][:5] == []


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an adapter that carries nothing, and brings a message in each turn."""
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
    left(live)
    return live


def left(live: Live) -> tuple[int, float]:
    """Ends it; how many messages came, of which it took each, and the longest time that it gave a
    turn."""
    live.say("resign")
    code, err = live.rest()
    assert code == 0, err
    (came, longest) = re.search(r"null: (\d+) came, at most (\S+) s a turn", err).groups()
    taken = [line["samples"] for line in live.lines if line["event"] == "state"][-1]
    # Of each update's turn, and of those between them.
    assert taken == int(came) >= live.elements()[-1]
    return int(came), float(longest)


def test_a_turn_takes_callbacks_for_at_most_a_millisecond(null, monkeypatch):
    monkeypatch.setenv("BENCH_ADAPTERS", str(null))
    live = Live(*OPTIONS)
    live.say("start")
    live.until(lambda line: line["event"] == "element" and line["number"] >= 20)
    _, longest = left(live)
    assert 0 < longest <= 0.001


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
    # Lines that are read late say nothing of now: as long as the tracer has what is counted.
    file = tmp_path / "calls"
    live.until(lambda _: file.exists() and file.read_text().count("clock_nanosleep") > 200)
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    calls = Counter(
        line.split("(")[0] for line in (tmp_path / "calls").read_text().splitlines() if "(" in line
    )
    left(live)
    # Where it is attached, a sleep that was under way is taken up again.
    assert set(calls) <= {"clock_nanosleep", "restart_syscall"} and calls["clock_nanosleep"] > 100


@pytest.mark.long
def test_an_update_costs_the_measuring_side_at_most_10000_instructions(null, monkeypatch, tmp_path):
    """With all turns between two updates, five at 500 a second, and what comes in each; beside it
    the adapter and its RTI. Those are 3 us of a CPU of 3 GHz, and at 60 Hz 0.02 % of it."""
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
