"""Equivalence within a stated margin, and what is not distinguishable."""

import numpy as np

from starling_bench.statistics.equivalence import equivalence, repeated


def test_equal_series_are_equivalent_where_the_margin_is_wide_enough():
    rng = np.random.default_rng(0)
    a, b = rng.exponential(1, 6000), rng.exponential(1, 6000)
    assert equivalence(a, b, 0.2).equivalent
    narrow = equivalence(a, b, 0.001)
    assert not narrow.equivalent and not narrow.different
    assert "not distinguishable" in narrow.sentence("host a", "host b")


def test_a_difference_beyond_the_margin_is_said():
    rng = np.random.default_rng(1)
    found = equivalence(rng.normal(1, 0.1, 3000), rng.normal(1.5, 0.1, 3000), 0.1)
    assert found.different and "is not as" in found.sentence("one", "other")


def test_what_lies_beyond_is_called_equivalent_no_more_often_than_said():
    """At the margin's edge: 5 % of the time, binomial bounds for 400 draws."""
    rng = np.random.default_rng(2)
    hits = sum(
        equivalence(rng.normal(0, 1, 2000), rng.normal(0.1, 1, 2000), 0.1).equivalent
        for _ in range(400)
    )
    assert hits <= 20 + 4 * (400 * 0.05 * 0.95) ** 0.5


def test_a_series_that_wanders_is_not_taken_for_many_values():
    """Neighbours that depend on each other make the interval wider, not narrower."""
    rng = np.random.default_rng(3)
    walk = lambda: np.repeat(rng.normal(0, 1, 20), 300) + rng.normal(0, 0.1, 6000)  # noqa: E731
    found = equivalence(walk(), walk(), 0.1)
    assert found.high - found.low > 0.3


def test_too_little_is_no_answer():
    assert equivalence(np.ones(2), np.ones(2), 1) is None


def test_what_clocks_may_be_wrong_by_is_in_the_interval():
    """Two tests whose estimates are off by more than the margin are neither equal nor unlike."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(5, 0.1, 3000), rng.normal(5, 0.1, 3000)
    sharp = repeated([a], [b], 0.25, 0.02)
    assert sharp.equivalent
    blunt = repeated([a], [b], 0.25, 4.0)
    assert not blunt.equivalent and not blunt.different
    # What is said of the interval is no less than it.
    assert "+0 ms (90 % interval -10 to +10)" in blunt.sentence("one", "other")
    assert repeated([a], [b + 9], 0.25, 4.0).different
