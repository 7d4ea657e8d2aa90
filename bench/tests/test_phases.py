"""Two timers' phase: what it makes of delivery times to a polled federate, and what says so."""

import re
from dataclasses import replace

import numpy as np
import pytest

from starling_bench.reports.courses import found_periods
from starling_bench.statistics.equivalence import equivalence, repeated
from starling_bench.studies.range.fields import DRIFT_PPM
from starling_bench.times import phases
from starling_bench.times.oneway import Flow
from starling_bench.times.periods import find
from starling_bench.times.phases import ticks

TRANSIT_MS = 0.06


def delivered(
    seed: int, ppm: int = DRIFT_PPM, stations: tuple[int, int] = (1, 2), hz: float = 60.0,
    seconds: float = 20.0, tick_hz: int = 500,
) -> Flow:  # fmt: skip
    """What a polled federate makes of one's updates: it takes each at its next turn. Its timer
    begins whenever it begins."""
    rng = np.random.default_rng(seed)
    own, turn = (1 / ticks(tick_hz, ppm, s) for s in stations)
    count = np.arange(int(hz * seconds))
    sent = np.ceil(count / hz / own) * own
    here = sent + TRANSIT_MS / 1e3 + rng.exponential(5e-6, len(count))
    begin = rng.random() * turn
    taken = begin + np.ceil((here - begin) / turn) * turn + rng.exponential(5e-6, len(count))
    return Flow(count + 1, (taken - sent) * 1e3, sent - sent[0], 0.0)


def test_a_test_meets_one_phase_where_timers_keep_one_rate():
    """What the shortest delivery is then is anything from the transit to that and a turn."""
    least = [delivered(seed, ppm=0).ms.min() for seed in range(40)]
    assert min(least) < 0.2 and max(least) > 1.8
    assert all(phases.gap(delivered(seed, ppm=0), 2.0) > 0.99 for seed in range(5))


@pytest.mark.parametrize("stations", [(a, b) for a in (1, 2, 10) for b in (1, 3, 10) if a != b])
@pytest.mark.parametrize(
    ("hz", "tick_hz", "seconds"),
    [(10.0, 500, 12), (20.0, 500, 12), (60.0, 500, 10), (50.0, 500, 12), (60.0, 100, 10)],
)
def test_a_test_meets_every_phase_where_they_differ(stations, hz, tick_hz, seconds):
    """Of every kind that is shipped: an LRC is known to half of what the gap leaves of a turn."""
    for seed in range(5):
        flow = delivered(seed, stations=stations, hz=hz, tick_hz=tick_hz, seconds=seconds)
        turn = phases.turn_ms({"tick_hz": tick_hz, "drift_ppm": DRIFT_PPM}, stations[1])
        gap = phases.gap(flow, turn)
        assert gap <= phases.GAP_MAX
        assert TRANSIT_MS <= flow.ms.min() <= TRANSIT_MS + gap * turn + 0.05


def test_the_same_again_is_as_good():
    """Of single tests, and of repeats; with one rate neither can say so."""
    alike = [equivalence(delivered(n).ms, delivered(100 + n).ms, 0.5) for n in range(20)]
    assert all(found.equivalent for found in alike)
    drawn = [equivalence(delivered(n, 0).ms, delivered(100 + n, 0).ms, 0.5) for n in range(20)]
    assert sum(found.different for found in drawn) >= 5
    tests = [[delivered(n + 4 * k, seconds=10).ms for n in range(4)] for k in range(2)]
    assert repeated(*tests, 0.1).equivalent


def test_a_stall_of_one_test_does_not_decide():
    """A quarter of a second in one of four, which a shared machine has now and then."""
    tests = [[delivered(n + 4 * k, seconds=10).ms for n in range(4)] for k in range(2)]
    tests[0][2][100:115] += np.arange(250, 0, -250 / 15)
    assert repeated(*tests, 0.1).equivalent


def test_repeats_that_differ_among_each_other_are_not_taken_for_a_difference():
    """Within each test there is no spread at all, so parts of one would say anything."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        one, other = ([np.full(600, m) for m in rng.uniform(0, 2, 4)] for _ in range(2))
        assert not repeated(one, other, 0.1).equivalent
    assert not repeated(one, other, 5.0).different
    single = repeated(one[:1], other[:1], 0.01)
    assert single.different


def test_the_phases_sawtooth_is_taken_off_before_periods_are_looked_for():
    """What is left is called periodic about as seldom as noise is, and nothing in it is high."""
    turn = phases.turn_ms({"tick_hz": 500, "drift_ppm": DRIFT_PPM}, 2)
    alarms = []
    kinds = [*((60.0, 20.0, n) for n in range(8)), *((10.0, 30.0, n) for n in range(8)),
             (60.0, 600.0, 0)]  # fmt: skip
    for hz, seconds, seed in kinds:
        flow = delivered(seed, hz=hz, seconds=seconds)
        rest = phases.without(flow, turn)
        assert find(flow.seconds, flow.ms) and np.ptp(flow.ms) > 1.8
        assert np.ptp(rest) < 0.5
        alarms += [p for p in find(flow.seconds, rest)]
    assert len(alarms) <= 2 and all(p.size < 0.02 for p in alarms)


def test_what_the_phase_may_leave_is_counted_and_not_shown():
    """A wave of 20 us where a turn has 2 ms; where the RTI's thread delivers it is shown."""
    flow = delivered(3, seconds=120)
    rng = np.random.default_rng(1)
    wave = 0.02 * (flow.seconds % 2.5 < 0.4)
    flow.ms[:] += wave
    steady = replace(flow, ms=1 + rng.normal(0, 0.005, len(wave)) + wave)
    setting = {"tick_hz": 500, "drift_ppm": DRIFT_PPM}

    def said(of: Flow, threaded: bool) -> str:
        lines = [("RTI", "flow", lambda: of, setting | {"threaded": threaded}, (1, 2))]
        return "".join(found_periods(*phases.beside(lines), 60))

    assert "wave every 2.5 s" in said(steady, True) and "So low" not in said(steady, True)
    low = said(flow, False)
    assert re.search(r"left out\. So low were [1-5]\. None was found\.", low), low
    assert "<table" not in low


def test_what_else_comes_back_stays():
    """A stall every 7 s, and a wave of 0.3 ms each 2.5 s."""
    flow = delivered(3, seconds=120)
    turn = phases.turn_ms({"tick_hz": 500, "drift_ppm": DRIFT_PPM}, 2)
    flow.ms[flow.seconds % 7 < 0.05] += 40
    flow.ms[:] += 0.3 * (flow.seconds % 2.5 < 0.4)
    found = find(flow.seconds, phases.without(flow, turn))
    assert any(p.kind == "spike" and abs(p.period_s - 7) < 0.05 for p in found)
    assert any(p.kind == "wave" and abs(p.period_s - 2.5) < 0.05 for p in found)


def test_two_timers_meet_as_often_as_their_rates_differ():
    setting = {"tick_hz": 500, "drift_ppm": DRIFT_PPM}
    assert phases.beat_s(setting, 1, 2) == pytest.approx(1 / (500 - 500 / 1.001618))
    assert phases.beat_s(setting | {"drift_ppm": 0}, 1, 2) is None
