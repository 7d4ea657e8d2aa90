"""Analysis of variance against a textbook's example, drift and autocorrelation against tables."""

import tracemalloc

import numpy as np
import pytest

from starling_bench.statistics import anova

# Montgomery, Design and Analysis of Experiments, "battery design": life in hours by material and
# temperature, four of each.
BATTERIES = {
    (1, 15): (130, 155, 74, 180), (1, 70): (34, 40, 80, 75), (1, 125): (20, 70, 82, 58),
    (2, 15): (150, 188, 159, 126), (2, 70): (136, 122, 106, 115), (2, 125): (25, 70, 58, 45),
    (3, 15): (138, 110, 168, 160), (3, 70): (174, 120, 150, 139), (3, 125): (96, 104, 82, 60),
}  # fmt: skip


def test_two_factors_with_their_interaction():
    """His table: squares 10,683.72, 39,118.72, 9,613.78 and 18,230.75; F 7.91, 28.97 and 3.56."""
    values = [v for four in BATTERIES.values() for v in four]
    levels = [key for key, four in BATTERIES.items() for _ in four]
    found = anova.analyse(
        values, {"material": [m for m, _ in levels], "temperature": [t for _, t in levels]}
    )
    by = {e.name: e for e in found.effects}
    expected = {
        "material": (10683.72, 2, 7.91),
        "temperature": (39118.72, 2, 28.97),
        "material x temperature": (9613.78, 4, 3.56),
    }
    assert set(by) == set(expected)
    for name, (squares, degrees, f) in expected.items():
        assert by[name].sum_of_squares == pytest.approx(squares, abs=0.01)
        assert by[name].degrees == degrees
        assert by[name].f == pytest.approx(f, abs=0.005)
    assert by["material"].p == pytest.approx(0.0020, abs=5e-5)
    assert by["material x temperature"].p == pytest.approx(0.0186, abs=5e-5)
    assert (found.residual, found.residual_degrees) == (pytest.approx(18230.75, abs=0.01), 27)
    assert found.effects[0].name == "temperature"


def test_what_was_not_measured_is_not_analysed():
    assert anova.analyse([1, 2, 3, 4], {"a": [1, 1, 2, 2], "b": [1, 1, 1, 2]}) is None
    assert anova.analyse([1, 2], {"a": [1, 2]}) is None
    assert anova.analyse([1, 2, 3, 4, 5], {"a": [1, 1, 1, 1, 1]}) is None


# Montgomery, "pilot plant filtration rate": a full factorial of temperature A, pressure B,
# concentration C and stirring rate D, in standard order.
FILTRATION = [45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96]
CORNERS = [tuple(1 + 99 * ((n >> k) & 1) for k in range(4)) for n in range(16)]
NUMBERS = frozenset("ABCD")


def columns(points: list[tuple]) -> dict[str, list]:
    return {name: [p[k] for p in points] for k, name in enumerate("ABCD")}


def test_centre_points_tell_curvature_and_corners_the_effects():
    """His table 6.16: four centre points of 73, 75, 66 and 69."""
    values = [*FILTRATION, 73, 75, 66, 69]
    found = anova.analyse(values, columns([*CORNERS, *[(10,) * 4] * 4]), NUMBERS)
    by = {e.name: e for e in found.effects}
    expected = {"A": 1870.56, "B": 39.06, "C": 390.06, "D": 855.56, "A x C": 1314.06,
                "A x D": 1105.56, "curvature": 1.51}  # fmt: skip
    for name, squares in expected.items():
        assert by[name].sum_of_squares == pytest.approx(squares, abs=0.01)
    assert by["A"].estimate == pytest.approx(21.625) and by["A"].step == "1 to 100"
    bend = by["curvature"]
    assert bend.estimate == pytest.approx(70.75 - 70.0625) and bend.low < 0 < bend.high
    assert (bend.estimate / (bend.high - bend.estimate) * 2.306) ** 2 == pytest.approx(
        bend.f, rel=1e-3
    )
    assert all(e.aliases == () for e in found.effects)
    assert sum(e.degrees for e in found.effects) + found.residual_degrees == 19


def test_a_fraction_names_what_it_cannot_tell_apart():
    """His example 8.1: the half with I = ABCD has A = 19, B = 1.5, C = 14, D = 16.5, AB + CD = -1,
    AC + BD = -18.5, AD + BC = 19; here in two blocks, of which one is 10 more."""
    half = [n for n in range(16) if bin(n).count("1") % 2 == 0]
    points = columns([CORNERS[n] for n in half] * 2)
    values = [FILTRATION[n] + more for more in (0, 10) for n in half]
    found = anova.analyse(values, points, NUMBERS, ["one"] * 8 + ["two"] * 8)
    by = {e.title: e for e in found.effects}
    expected = {"A": 19, "B": 1.5, "C": 14, "D": 16.5, "A x B (or C x D)": -1,
                "A x C (or B x D)": -18.5, "A x D (or B x C)": 19}  # fmt: skip
    assert set(by) == {*expected, "execution (block)"}
    for name, effect in expected.items():
        assert by[name].sum_of_squares == pytest.approx(4 * effect**2)
        assert by[name].degrees == 1
    assert by["D"].estimate == pytest.approx(16.5)
    assert by["execution (block)"].sum_of_squares == pytest.approx(16 * 5**2)
    assert sum(e.degrees for e in found.effects) + found.residual_degrees == 15


def test_a_main_effect_names_its_alias_also_beside_centre_points():
    """Of resolution 3, with a variable that has no middle: what the corners can't tell apart the
    centre points don't either."""
    corners = [("x", 8, 100), ("y", 8, 1), ("x", 1000, 1), ("y", 1000, 100)]
    points = [*corners, ("x", 89, 10), ("y", 89, 10)] * 3
    rng = np.random.default_rng(3)
    values = [float(b == 1000) + rng.normal(0, 0.01) for _, b, _ in points]
    factors = {name: [p[k] for p in points] for k, name in enumerate(("rti", "bytes", "instances"))}
    found = anova.analyse(values, factors, frozenset(("bytes", "instances")))
    assert {e.title for e in found.effects} == {
        "rti (or bytes x instances)", "bytes (or rti x instances)", "instances (or rti x bytes)",
        "curvature", "curvature x rti (or bytes x instances)",
    }  # fmt: skip
    assert found.effects[0].name == "bytes"
    assert found.effects[0].low < 1 < found.effects[0].high
    assert sum(e.degrees for e in found.effects) + found.residual_degrees == 17


def test_a_latin_hypercube_is_a_regression():
    """Coefficients that were put in come out, and no others."""
    rng = np.random.default_rng(11)
    sizes = [round(8 * 125 ** ((n + 0.5) / 24)) for n in rng.permutation(24)]
    counts = [round(1000 ** ((n + 0.5) / 24)) for n in rng.permutation(24)]
    rtis = ["one", "other"] * 12
    scaled = [2 * np.log(b / min(sizes)) / np.log(max(sizes) / min(sizes)) - 1 for b in sizes]
    values = [
        3 + 0.5 * x + 0.3 * x**2 + 0.2 * (r == "other") + rng.normal(0, 0.02)
        for x, r in zip(scaled, rtis, strict=True)
    ]
    numbers = frozenset(("bytes", "instances"))
    factors = {"rti": rtis, "bytes": sizes, "instances": counts}
    found = anova.analyse(values, factors, numbers)
    by = {e.name: e for e in found.effects}
    assert by["bytes"].low < 1 < by["bytes"].high and by["bytes"].high - by["bytes"].low < 0.1
    assert by["bytes²"].low < -0.3 < by["bytes²"].high
    assert by["rti"].low < 0.2 < by["rti"].high
    assert all(by[n].p > 0.01 for n in ("instances", "instances²", "rti x bytes"))
    assert sum(e.degrees for e in found.effects) + found.residual_degrees == 23


def test_numbers_that_are_varied_one_after_the_other_have_no_centre_points():
    points = [(1, 1), (10, 1), (100, 1), (1, 10), (1, 100)] * 3
    rng = np.random.default_rng(5)
    values = [a + b + rng.normal() for a, b in points]
    factors = {"a": [a for a, _ in points], "b": [b for _, b in points]}
    found = anova.analyse(values, factors, frozenset("ab"))
    assert {e.name: e.degrees for e in found.effects} == {"a": 2, "b": 2}
    assert {a for e in found.effects for a in e.aliases} == {"a x b"}


def test_without_samples_for_interactions_they_are_left_out():
    found = anova.analyse(FILTRATION[:8], columns(CORNERS[:8]) | {"D": [1, 2, 2, 1, 2, 1, 1, 2]})
    assert [len(e.name) for e in found.effects] == [1] * 4 and not found.interactions
    assert found.residual_degrees == 3


def test_drift_of_mann_and_kendall():
    """Gilbert, Statistical Methods for Environmental Pollution Monitoring, figure 16.2: 10, 15, 14,
    20 has S = 4; of 24 orders 4 are as orderly upwards, so two-sided 8 of 24."""
    assert anova.drift([10, 15, 14, 20]) == pytest.approx(8 / 24)
    assert anova.drift([1, 2, 3]) is None
    assert anova.doubtful([float(n) for n in range(10)]).startswith("drift")


def test_autocorrelation_of_known_values():
    """1 to 5: deviations -2 -1 0 1 2, products 2 0 0 2, squares 10."""
    assert anova.autocorrelation([1, 2, 3, 4, 5]) == pytest.approx(0.4)
    assert anova.autocorrelation([2, 2, 2, 2]) is None


def test_independent_samples_are_seldom_doubted():
    """1,000 series of ten: 1 % each for drift and autocorrelation, and five deviations."""
    rng = np.random.default_rng(1970)
    doubted = sum(bool(anova.doubtful(list(rng.normal(size=10)))) for _ in range(1000))
    assert doubted < 20 + 5 * np.sqrt(20)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0, 1.0, 1.0]])
def test_of_no_samples_few_or_constants_nothing_is_said(values):
    assert anova.doubtful(values) == ""


def test_short_series_tell_drift_together():
    """Five in order are too few; eight of five are not, nor are 30 of two. Without any, 1 % are
    called."""
    assert anova.drift_together([[1, 2, 3, 4, 5]]) is None
    assert anova.drift_together([[]]) is None
    p, rises = anova.drift_together([[1, 2, 3, 4, 5]] * 8)
    assert p < 1e-6 and rises
    p, rises = anova.drift_together([[2.0, 1.0]] * 30)
    assert p < 1e-6 and not rises
    rng = np.random.default_rng(1982)
    alike = [anova.drift_together(list(map(list, rng.normal(size=(8, 5)))))[0] for _ in range(1000)]
    assert sum(p < 0.01 for p in alike) < 10 + 5 * np.sqrt(10)


def test_a_long_series_takes_memory_for_itself_and_not_for_each_pair():
    """Of as many samples as a test may have there are 50 million."""
    values = [float(n) for n in range(2000)]
    tracemalloc.start()
    p, rises = anova.drift_together([values])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert p < 1e-6 and rises and most < 1_000_000
