"""Statistics against values worked out by hand."""

import numpy as np
import pytest

from starling_bench.statistics import stats
from starling_bench.studies.rtibm.rows import summarize


def test_percentiles_are_nearest_rank():
    values = np.arange(1.0, 1001.0)
    expected = {50: 500, 90: 900, 99: 990, 99.9: 999, 99.99: 1000, 100: 1000}
    assert {p: stats.percentile(values, p) for p in expected} == expected
    assert stats.percentile(np.array([7.0]), 50) == 7


def test_latency_of_known_samples():
    found = stats.latency([np.array([1e6, 3e6]), np.array([4e6, 8e6])], 0.5)
    assert found.count == 4
    assert found.mean == 4  # of the sample means 2 and 6
    assert found.sd == pytest.approx(np.sqrt((9 + 1 + 0 + 16) / 3))
    assert (found.min, found.max) == (1, 8)
    # Student's t with one degree of freedom: 12.706 relative errors of the mean, each 2 / 4.
    assert found.mean_low == pytest.approx(4 * np.exp(-12.7062 / 2), rel=1e-4)
    assert found.mean_high == pytest.approx(4 * np.exp(12.7062 / 2), rel=1e-4)


def test_mean_is_of_sample_means_not_of_all():
    found = stats.latency([np.array([1e6] * 9), np.array([3e6])], 0.1)
    assert found.mean == 2


def test_mode_depends_on_its_tolerance():
    values = np.array([1.0, 1.0, 2.0, 2.4, 2.8, 9.0])
    assert stats.mode(values, 0.01) == 1.0
    assert stats.mode(values, 0.4) == pytest.approx(2.4)


def test_mode_of_equally_full_windows_is_the_lowest():
    assert stats.mode(np.array([1.0, 5.0, 9.0]), 0.1) == 1.0


def test_nothing_returned_gives_no_latency():
    assert stats.latency([], 0.1) is None
    assert stats.latency([np.array([])], 0.1) is None


def test_spread_and_its_interval():
    found = stats.spread([10.0, 20.0, 30.0])
    assert (found.mean, found.sd, found.min, found.max) == (20, 10, 10, 30)
    assert found.low < 20 < found.high
    one = stats.spread([5.0])
    assert (one.sd, one.low, one.high) == (0, None, None)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_the_interval_covers_the_mean_as_often_as_it_says(n):
    """95 % of 4,000 intervals, within four deviations of that count."""
    rng = np.random.default_rng(20100516)
    samples = rng.normal(10, 0.5, size=(4000, n))
    hits = sum(low <= 10 <= high for low, high in map(stats.interval, samples))
    assert abs(hits - 3800) < 4 * np.sqrt(4000 * 0.95 * 0.05)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_no_interval_of_what_cannot_be_negative_reaches_zero(n):
    """However far the values spread; the mean lies within."""
    samples = np.random.default_rng(13).lognormal(0, 1.5, size=(1000, n))
    for values in samples:
        low, high = stats.interval(values)
        assert 0 < low < values.mean() < high
    assert stats.interval(np.zeros(n)) == (0, 0)


def test_of_samples_that_agree_the_interval_is_students():
    values = np.array([1.00, 1.01, 0.99, 1.02, 0.98])
    half = 2.77645 * values.std(ddof=1) / np.sqrt(5)
    assert stats.interval(values) == pytest.approx((1 - half, 1 + half), rel=1e-3)


@pytest.mark.parametrize(("p", "needed"), [(50, 20), (90, 100), (99, 1000), (99.9, 10_000)])
def test_a_percentile_stands_only_where_ten_values_are_beyond_it(p, needed):
    values = np.arange(float(needed))
    assert stats.percentile_if_known(values[1:], p) is None
    assert stats.percentile_if_known(values, p) == stats.percentile(values, p)


def row(**more):
    base = dict.fromkeys(
        ("sequence", "execution", "kind", "transport", "sender", "receiver"), "x"
    ) | dict.fromkeys(("test", "loop", "types", "instances", "buffers", "bytes", "updates",
                       "pair", "late"), 1)  # fmt: skip
    return base | more


def test_summary_counts_sent_received_and_lost():
    rows = [
        row(sent=10, received=9, lost=1, rate_hz=100.0, mb_per_s=1.0),
        row(sent=10, received=7, lost=3, rate_hz=300.0, mb_per_s=3.0),
    ]
    found = summarize(rows, [], 0.1)
    assert (found["sent"], found["received"], found["lost"], found["late"]) == (20, 16, 4, 2)
    assert found["sent"] == found["received"] + found["lost"]
    assert found["rate_hz"]["mean"] == 200
    assert found["rtt_ms"] is None


def test_only_all_is_called_all():
    assert [stats.percent(share) for share in (1.0, 0.99997, 0.99994, 0.5, 0.0)] == [
        "100.00%", "99.99%", "99.99%", "50.00%", "0.00%",
    ]  # fmt: skip
    assert stats.percent(0.9999996, 3) == "99.999%"
