"""Analysis of variance against a textbook's example, drift and autocorrelation against tables."""

import numpy as np
import pytest

from starling_bench import anova

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
