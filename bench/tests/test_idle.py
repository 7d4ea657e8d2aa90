"""Others' share of the CPUs: without the run's own, waited for, and judged."""

import asyncio
import os
import subprocess
import sys
from types import SimpleNamespace

from starling_bench.conducting import follow
from starling_bench.machines import idle
from starling_bench.statistics import rates

SECOND = idle.TICKS_PER_S * (os.cpu_count() or 1)
# Uses one CPU for half a second of CPU time.
BURN = "import time\nwhile time.process_time() < 0.5: pass\n"


class Machine:
    """A made-up machine: the share that others use in each window, the last one for ever."""

    def __init__(self, *shares: float) -> None:
        self.shares = list(shares)
        self.now_s = 0.0
        self.reading = idle.Reading(0, 0, 0)
        self.told: list[str] = []

    async def pause(self, seconds: float) -> None:
        self.now_s += seconds
        share = self.shares.pop(0) if len(self.shares) > 1 else self.shares[0]
        passed, r = int(SECOND * seconds), self.reading
        # This run itself uses a fifth of the machine meanwhile.
        self.reading = idle.Reading(
            r.all + passed, r.used + int(passed * (share + 0.2)), r.own + int(passed * 0.2)
        )

    def wait(self, limit_s: float) -> bool:
        return asyncio.run(
            idle.wait(
                limit_s, self.told.append, lambda: self.reading, self.pause, lambda: self.now_s
            )
        )


def test_waits_until_others_are_idle_and_says_so_once():
    machine = Machine(0.9, 0.5, 0.0, 0.0, 0.4, 0.0)
    assert machine.wait(60)
    assert machine.now_s == (5 + idle.WINDOWS) * idle.WINDOW_S
    assert machine.told == [
        "other programs use 90% of the CPUs: waiting until they are idle, at most 60 s"
    ]


def test_an_idle_machine_is_used_without_a_word():
    machine = Machine(0.01)
    assert machine.wait(60)
    assert machine.now_s == idle.WINDOWS * idle.WINDOW_S
    assert machine.told == []


def test_waiting_is_bounded():
    machine = Machine(0.8)
    assert not machine.wait(10)
    assert machine.now_s == 10


def test_waiting_is_bounded_where_the_system_does_not_count_its_time():
    machine = Machine(0.8)
    still = idle.Reading(0, 0, 0)
    told = machine.told.append
    assert not asyncio.run(idle.wait(10, told, lambda: still, machine.pause, lambda: machine.now_s))
    assert machine.now_s == 10


def test_without_a_limit_to_wait_for_nothing_is_read():
    machine = Machine(0.8)
    assert machine.wait(0)
    assert machine.now_s == 0


def measure(code: str) -> list[int]:
    """Runs code in a process that prints used and own ticks of what it does."""
    script = (
        "import subprocess, sys\nfrom starling_bench.machines import idle\nbefore = idle.read()\n"
        f"{code}\nafter = idle.read()\n"
        "print(after.used - before.used, after.own - before.own)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, BURN], check=True, capture_output=True, text=True
    )
    return list(map(int, done.stdout.split()))


def test_what_a_child_uses_is_the_runs_own_while_it_runs_and_afterwards():
    half = idle.TICKS_PER_S * 0.5
    _, own = measure("subprocess.run([sys.executable, '-c', sys.argv[1]])")
    assert own >= half - 2
    alive = (
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1] + 'print(1, flush=True)\\n'"
        "'input()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\nchild.stdout.readline()\n"
    )
    _, own = measure(alive)
    assert own >= half - 2


def test_what_a_stranger_uses_is_others():
    # The stranger burns between a line it is sent and a line it sends.
    burner = "import sys\nsys.stdin.readline()\n" + BURN + "print('done', flush=True)\ninput()\n"
    stranger = subprocess.Popen(
        [sys.executable, "-c", burner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(),
    )
    try:
        to, told = stranger.stdin.fileno(), stranger.stdout.fileno()
        script = (
            "import os\nfrom starling_bench.machines import idle\nbefore = idle.read()\n"
            f"os.write({to}, b'go\\n')\nos.read({told}, 5)\nafter = idle.read()\n"
            "print(after.used - before.used - (after.own - before.own))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=True, capture_output=True, text=True, pass_fds=(to, told),
        )  # fmt: skip
    finally:
        stranger.kill()
        stranger.wait()
        stranger.stdin.close()
        stranger.stdout.close()
    assert int(done.stdout) >= idle.TICKS_PER_S * 0.5 - 3


def test_samples_are_judged_by_their_own_time():
    assert idle.note([0.0, 0.05]) == []
    (text,) = idle.note([0.02, 0.5, 0.3])
    assert "during 2 of 3 samples (up to 50%" in text


def test_samples_that_could_not_be_judged_are_told():
    (text,) = idle.note([None, 0.0, None])
    assert text.startswith("What other programs did during 2 of 3 samples is not known")
    assert len(idle.note([None, 0.5])) == 2


def test_a_sample_carries_what_others_did_meanwhile(monkeypatch):
    readings = [(0, 0, 0), (SECOND, SECOND, 0), (2 * SECOND, SECOND * 3 // 2, SECOND // 4)]
    monkeypatch.setattr(idle, "read", lambda: idle.Reading(*readings.pop(0)))
    rows = []
    store = SimpleNamespace(
        add=lambda sequence, execution, event: rows.append(event) or event,
        attend=lambda cpu_s: None,
    )
    named = SimpleNamespace(name="x")
    record = {"tests": {"1": {"samples": 1}}, "pairs": 1}
    master = follow.Master(store, named, named, lambda event: None, record)
    master.hear({"event": "test", "test": 1, "of": 1})
    master.hear({"event": "sample", "test": 1, "pair": 1, "sample": 1})
    master.check()
    assert [row["others_cpu"] for row in rows] == [0.25]


def test_all_pairs_of_a_sample_carry_it(monkeypatch):
    """Their rows come at once, and the first has taken the time to tell."""
    times = iter((0, 0, SECOND, SECOND + 1, 2 * SECOND))
    monkeypatch.setattr(idle, "read", lambda: idle.Reading(t := next(times), t // 2, 0))
    rows = []
    store = SimpleNamespace(
        add=lambda sequence, execution, event: rows.append(event) or event,
        attend=lambda cpu_s: None,
    )
    named = SimpleNamespace(name="x")
    record = {"tests": {"1": {"samples": 2}}, "pairs": 2}
    master = follow.Master(store, named, named, lambda event: None, record)
    master.hear({"event": "test", "test": 1, "of": 1})
    for number in (1, 2):
        for pair in (1, 2):
            master.hear({"event": "sample", "test": 1, "pair": pair, "sample": number})
    master.check()
    assert [row["others_cpu"] for row in rows] == [0.5, 0.5, None, None]


QUIET, BUSY = 0.02, 0.5


def test_a_machine_is_fit_where_most_tests_were_left_alone():
    fit = idle.fitness([[QUIET, QUIET, None], [BUSY, QUIET, QUIET], [QUIET, BUSY, QUIET]])
    assert fit == idle.Fitness(
        True,
        "The machine was fit: others took less than 10% of the CPUs in 6 of 9 samples, up to 50% "
        "in 2; of 1 it is not known.",
    )
    assert idle.fitness([[QUIET] * 1000]).said == (
        "The machine was fit: others took less than 10% of the CPUs in 1,000 of 1,000 samples."
    )
    assert idle.fitness([]) == idle.fitness([[]]) == idle.Fitness(True, "")


def test_a_machine_is_not_fit_where_a_test_is_out_of_all_comparisons():
    """However many were left alone: the same rule marks a test."""
    tests = [[QUIET] * 4, [QUIET] * 4, [BUSY, BUSY, QUIET, None]]
    assert idle.fitness(tests) == idle.Fitness(
        False,
        "The machine was not fit for all: 1 of 3 tests were disturbed in half of their samples or "
        "more: others took less than 10% of the CPUs in 9 of 12 samples, up to 50% in 2; of 1 it "
        "is not known; end other programs and run again.",
    )
    for of in tests:
        marked = rates.disturbed({"samples": len(of), "busy": sum(s == BUSY for s in of)})
        assert bool(marked) == (of is tests[-1])


def test_a_machine_is_not_fit_where_fewer_than_half_of_the_tests_were_left_alone():
    one = idle.fitness([[QUIET], [BUSY], [BUSY, BUSY, QUIET]])
    assert one == idle.Fitness(
        False,
        "The machine was not fit: 1 of 3 tests are known to have been left alone: others took less "
        "than 10% of the CPUs in 2 of 5 samples, up to 50% in 3; end other programs and run again.",
    )
    assert not idle.fitness([[BUSY]] * 4).fit
    # What is not known is not taken for quiet.
    unknown = idle.fitness([[None, None, QUIET], [None]])
    assert not unknown.fit and unknown.said.startswith("Whether the machine was fit is not known: ")
    assert "0 of 2 tests" in unknown.said and "of 3 it is not known" in unknown.said
    assert idle.fitness([[None, QUIET], [None]]).fit


def test_too_short_a_time_says_nothing_and_is_counted_later():
    readings = [idle.Reading(0, 0, 0), idle.Reading(SECOND // 100, SECOND // 100, 0)]
    readings.append(idle.Reading(SECOND, SECOND // 2, 0))
    watch = idle.Watch(lambda: readings.pop(0))
    assert watch.others() is None
    assert watch.others() == 0.5


def test_a_process_that_ends_meanwhile_has_no_family():
    """Processes end between being listed and being looked at."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert idle._family(ended.pid) == [ended.pid]


def test_who_is_pinned_is_judged_by_its_own_cpus():
    """A stranger takes half of the one CPU of 16 that a run is pinned to; the others are idle."""
    second, half = idle.TICKS_PER_S, idle.TICKS_PER_S // 2
    before = idle.Reading(0, 0, 0, {n: (0, 0) for n in range(16)})
    each = {n: (second, second if n == 3 else 0) for n in range(16)}
    after = idle.Reading(16 * second, second, half, each)
    assert after.others_since(before) < idle.BUSY
    assert after.others_since(before, frozenset({3})) == 0.5
    readings = [before, after]
    share = idle.Watch(lambda: readings.pop(0), {3}).others()
    assert idle.note([share]) != []


def test_each_cpu_is_read():
    found = idle.read()
    assert set(found.each) >= os.sched_getaffinity(0)
    assert all(0 <= used <= whole for whole, used in found.each.values())
    assert sum(used for _, used in found.each.values()) <= found.used + len(found.each) * 8
