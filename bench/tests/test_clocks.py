"""Clocks of other hosts, estimated from echoes: right within the stated bound, or not at all."""

import numpy as np
import pytest

from starling_bench.reports import cells
from starling_bench.times import clocks

# Times are whole ns: of four in an echo, and of an offset.
ROUNDED_NS = 3


def echoes(
    rng: np.random.Generator, offset_ns: float, drift_ppm: float, seconds: float = 60,
    hz: float = 20, there_us: float = 100, back_us: float = 100, noise_us: float = 200,
    jump_ns: float = 0, jump_at_s: float = 0,
) -> tuple[int, tuple[np.ndarray, ...]]:  # fmt: skip
    """Pings between two hosts; the other's clock is ahead and goes faster, as said. When its error
    begins, and they."""
    start = int(rng.integers(1, 10**15))
    sent = start + np.sort(rng.uniform(0, seconds * 1e9, round(seconds * hz))).astype(np.int64)
    way = lambda least: (least + rng.exponential(noise_us, len(sent))) * 1e3  # noqa: E731
    at = sent + way(there_us)
    stays = rng.uniform(1e3, 2e4, len(sent))
    other = lambda t: t + truth(t, start, offset_ns, drift_ppm, jump_ns, jump_at_s)  # noqa: E731
    came = at + stays + way(back_us)
    whole = (v.astype(np.int64) for v in (other(at), other(at + stays), came))
    return start, (sent, *whole)


def truth(t, start, offset_ns, drift_ppm, jump_ns=0.0, jump_at_s=0.0):
    """The other clock less this one."""
    jumped = np.where(t - start >= jump_at_s * 1e9, jump_ns, 0)
    return offset_ns + drift_ppm * 1e-6 * (t - start) + jumped


@pytest.mark.parametrize("seed", range(20))
def test_an_offset_and_a_drift_are_found_within_the_stated_bound(seed):
    rng = np.random.default_rng(seed)
    offset, drift = rng.uniform(-1e9, 1e9), rng.uniform(-200, 200)
    # Ways as unlike as can be.
    ways = {"there_us": rng.uniform(10, 3000), "back_us": rng.uniform(10, 3000)}
    start, pings = echoes(rng, offset, drift, **ways)
    found = clocks.estimate(*pings)
    times = np.linspace(pings[0][0], pings[3][-1], 500).astype(np.int64)
    for time in times:
        wrong = abs(found.at(time) - truth(time, start, offset, drift))
        assert wrong <= found.bound_ns(time) + ROUNDED_NS
    # Half of the round trip, and what the drift leaves open at the ends of a window.
    assert found.bound_ns() <= 1.3 * (ways["there_us"] + ways["back_us"]) * 1e3 / 2 + 2e5


def test_three_milliseconds_and_20_ppm_are_corrected():
    start, pings = echoes(np.random.default_rng(1), 3e6, 20, seconds=120)
    found = clocks.estimate(*pings)
    assert abs(found.drift_ppm - 20) < 2
    wrong = np.abs(found.at(pings[0]) - truth(pings[0], start, 3e6, 20))
    assert wrong.max() <= found.bound_ns() + ROUNDED_NS
    assert found.bound_ns() < 2e5


def test_unlike_ways_are_in_the_bound_and_not_in_the_claim():
    """What half of the round trip hides is said: 2 ms there and nothing back is a bound of 1 ms, of
    which nothing is to spare."""
    _, pings = echoes(np.random.default_rng(2), 0, 0, there_us=2000, back_us=1)
    found = clocks.estimate(*pings)
    assert 0.9e6 < found.bound_ns() < 1.3e6
    times = np.linspace(pings[0][0], pings[3][-1], 500).astype(np.int64)
    assert 0.95 < max(abs(found.at(time)) / found.bound_ns(time) for time in times) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_a_jump_is_said_and_not_averaged(seed):
    rng = np.random.default_rng(seed)
    jump, at = rng.choice([-1, 1]) * rng.uniform(5e6, 5e8), rng.uniform(5, 55)
    _, pings = echoes(rng, 3e6, 20, jump_ns=jump, jump_at_s=at)
    with pytest.raises(clocks.NoEstimate, match="jumped"):
        clocks.estimate(*pings)


def test_too_few_echoes_are_no_estimate():
    few = [v[:5] for v in echoes(np.random.default_rng(3), 0, 0)[1]]
    with pytest.raises(clocks.NoEstimate, match="5 echoes came back, 8 are needed"):
        clocks.estimate(*few)
    # A host that stops answering for a while.
    _, pings = echoes(np.random.default_rng(3), 0, 0)
    there = (pings[0] - pings[0][0]) // 1_000_000_000
    with pytest.raises(clocks.NoEstimate, match="echoes came back from 20"):
        clocks.estimate(*(v[(there < 20) | (there > 32)] for v in pings))


@pytest.mark.parametrize(
    ("value", "bound", "said"),
    [(1.23456, 0.01, "1.23"), (1.23456, 0.03, "1.2"), (1.23456, 0.2, "1"), (0.5, 5, "0"),
     (12.3, 1, "12"), (12.3, 5, "10"), (12.3, 50, "0"), (77, 50, "100"), (-0.2, 1, "0")],
)  # fmt: skip
def test_no_digit_below_the_bound_is_printed(value, bound, said):
    assert clocks.digits_ms(value, bound) == said


def test_what_a_bound_leaves_of_a_cell():
    """No more digits than where there is one clock; where none is left no nought, which would be
    no latency at all."""
    assert [cells.ms(12.345, bound) for bound in (None, 0.0, 0.001, 0.5, 5.0, 50.0)] == [
        "12.3", "12.3", "12.3", "12", "10", "under 63",
    ]  # fmt: skip
    assert cells.ms(3.3, 3.15) == "under 6.5" and cells.ms(-0.2, 1) == "under 1.2"
    assert cells.ms(None, 5.0) == "-"
