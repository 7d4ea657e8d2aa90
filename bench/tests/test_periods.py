"""What comes back in a series is found, and noise is not taken for it."""

import numpy as np
import pytest

from starling_bench.times import periods


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_stall_now_and_then_and_a_short_wave_are_both_found(seed):
    """As was published: 13 s every 70 s and 1 ms every 200 ms; periods and sizes drawn."""
    rng = np.random.default_rng(seed)
    hz, seconds = 60, 600
    long_s, stall_ms = rng.uniform(50, 90), rng.uniform(5_000, 15_000)
    short_s, pulse_ms = rng.uniform(0.11, 0.45), rng.uniform(0.5, 2)
    times = np.arange(seconds * hz) / hz
    values = 1 + rng.exponential(0.2, len(times))
    values += np.where(times % short_s < 1 / hz, pulse_ms, 0)
    # All that is sent during a stall comes at its end.
    into = (times + rng.uniform(0, long_s)) % long_s
    values += np.where(into < stall_ms / 1000, stall_ms - 1000 * into, 0)
    found = periods.find(times, values)
    (spike,) = [f for f in found if f.kind == "spike"]
    assert abs(spike.period_s - long_s) < 0.5
    assert 0.9 * stall_ms < spike.size < 1.1 * stall_ms
    waves = [f for f in found if f.kind == "wave"]
    near = [f for f in waves if abs(f.period_s - short_s) < 0.01 * short_s]
    assert near, (short_s, waves)
    assert 0.4 * pulse_ms < near[0].size < 1.6 * pulse_ms


def test_white_noise_is_seldom_called_periodic():
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        times = np.arange(6000) / 60
        alarms += bool(periods.find(times, 2 + rng.normal(0, 0.3, len(times))))
    assert alarms <= 5


def test_spikes_at_random_are_no_period():
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        times = np.arange(18_000) / 60
        values = 1 + rng.normal(0, 0.1, len(times))
        values[rng.choice(len(times), rng.integers(5, 20), replace=False)] += 500
        alarms += any(f.kind == "spike" for f in periods.find(times, values))
    assert alarms <= 5


def test_a_sine_has_its_period_and_correlation():
    rng = np.random.default_rng(0)
    times = np.arange(12_000) / 20
    values = 3 + np.sin(2 * np.pi * times / 7.3) + rng.normal(0, 0.2, len(times))
    (found,) = periods.find(times, values)
    assert found.kind == "wave" and abs(found.period_s - 7.3) < 0.02
    assert found.correlation > 0.8 and found.p < 1e-6


def test_too_short_a_series_says_nothing():
    assert periods.find(np.arange(60.0), np.zeros(60)) == []
