"""Lines of a figure are told apart, also by who sees two of the three primary colours."""

from itertools import combinations

import numpy as np
import pytest

from starling_bench.reports.drawing import style

# What a colour looks like (Machado, Oliveira and Fernandes 2009, severity 1, linear sRGB).
SEEN = {
    "all three": np.eye(3),
    "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                    [-0.003882, -0.048116, 1.051998]],
    "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                      [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
# One that is noticed is about 2.3.
APART = 10


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen."""
    s = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(seen) @ linear, 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_black_is_far_from_white():
    white, black = (lab(colour, np.eye(3)) for colour in ("#ffffff", "#000000"))
    assert np.linalg.norm(white - black) == pytest.approx(100)


@pytest.mark.parametrize("who", SEEN)
def test_colours_are_told_apart(who):
    colours = {style(n)["color"] for n in range(20)}
    seen = {colour: lab(colour, SEEN[who]) for colour in colours}
    near = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]]))
            for pair in combinations(sorted(colours), 2)}  # fmt: skip
    assert {pair: d for pair, d in near.items() if d < APART} == {}


def test_no_two_lines_look_alike():
    looks = [style(n) for n in range(88)]
    assert len({(look["color"], look["marker"]) for look in looks}) == 88
    assert len({look["marker"] for look in looks[:11]}) == 11
