"""What is drawn of a long series, and what the source's table asks for."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from starling_bench import plan
from starling_bench.courses import seen
from starling_bench.studies.range import STUDY

BENCH = Path(__file__).parents[1]
SHIPPED = sorted((BENCH / "experiments" / "range").glob("*.tsf.toml"))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_drawn_keeps_every_spike(seed):
    rng = np.random.default_rng(seed)
    count = np.sort(rng.choice(400_000, 200_000, replace=False))
    ms = rng.exponential(1, len(count))
    spikes = rng.choice(len(count), 50, replace=False)
    ms[spikes] += 1000 * (1 + rng.random(50))
    x, y = seen(count, ms)
    assert len(x) <= 2 * 902
    # Of each pixel across the highest is there, so every pixel with a spike shows one.
    pixel = lambda c: (c - count[0]) * 900 // (count[-1] - count[0])  # noqa: E731
    assert {int(p) for p in pixel(count[spikes])} == {int(p) for p in pixel(x[y > 1000])}
    assert y.max() == ms.max() and y.min() == ms.min()


def test_a_short_series_is_drawn_whole():
    count, ms = np.arange(100), np.arange(100.0)
    assert np.array_equal(seen(count, ms)[1], ms)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_range_file_is_right(path):
    for sequence in plan.load(path, STUDY).sequence:
        assert Path(sequence.fom).is_file()


@pytest.mark.parametrize(
    ("name", "least", "most"), [("ten", 20, 21), ("hour", 60, 61), ("sizes", 10, 20)]
)
def test_how_long_a_file_takes_is_told(name, least, most):
    """In minutes: what it measures, and what is around it."""
    (path,) = (p for p in SHIPPED if p.name == f"{name}.tsf.toml")
    every = [e for s in plan.load(path, STUDY).sequence for e in s.execution]
    assert least * 60 <= sum(plan.seconds(STUDY, e) for e in every) <= most * 60


def test_every_plot_of_the_source_has_a_test_that_gives_it():
    """Sizes and settings that the table names are among what is shipped."""
    table = tomllib.loads((BENCH / "starling_bench/studies/range/source.toml").read_text())
    tests = [
        test.model_dump() | {"bundling": s.bundling, "sequence": s.name.partition(".")[0]}
        for path in SHIPPED for s in plan.load(path, STUDY).sequence
        for e in s.execution for test in e.tests()
    ]  # fmt: skip
    assert len(table["figure"]) == 5
    for kind in ("figure", "value", "flow"):
        for one in table[kind]:
            assert any(all(t[k] == v for k, v in one["where"].items()) for t in tests), one["name"]
    for one in table["compare"]:
        there = {t[one["by"]] for t in tests}
        assert set(one["values"]) <= there, one["name"]
