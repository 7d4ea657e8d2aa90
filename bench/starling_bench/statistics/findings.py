"""Statements tested against data: each with its numbers, and "can't be said" where these don't
suffice. What is compared is compared within cells that are alike in all else.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np

LITTLE = 0.2  # of a usual value: who grows less than by that does not grow
WIDE = 100  # an interval whose ends are further apart than by this says nothing


@dataclass(frozen=True)
class Finding:
    """A statement, what the data say of it, and from how many configurations."""

    statement: str
    answer: str  # yes, no, or why nothing can be said
    numbers: str = ""
    count: int = 0


@dataclass(frozen=True)
class Slope:
    """What a step makes, with its 95 % interval."""

    value: float
    low: float
    high: float
    count: int

    @property
    def different(self) -> bool:
        return not self.low <= 0 <= self.high


def _half(error: float, freedom: int, of: int = 1) -> float:
    """Half the width of one of so many 95 % intervals that are to hold together."""
    from scipy.special import stdtrit  # takes half a second to load

    return float(stdtrit(freedom, 1 - 0.025 / of)) * error


def slope(
    points: Iterable[dict], x: Callable[[dict], float], y: Callable[[dict], float | None],
    alike: Callable[[dict], Hashable],
) -> Slope | None:  # fmt: skip
    """Of y by x, within cells of points that are alike; None: too few."""
    cells: dict[Hashable, list[tuple[float, float]]] = {}
    for point in points:
        if (value := y(point)) is not None:
            cells.setdefault(alike(point), []).append((x(point), value))
    kept = [np.array(c, float) for c in cells.values() if len({at for at, _ in c}) > 1]
    if not kept:
        return None
    # Each cell has a level of its own.
    xs = np.concatenate([c[:, 0] - c[:, 0].mean() for c in kept])
    ys = np.concatenate([c[:, 1] - c[:, 1].mean() for c in kept])
    freedom = len(xs) - len(kept) - 1
    if freedom < 2:
        return None
    squares = float(xs @ xs)
    value = float(xs @ ys) / squares
    rest = ys - value * xs
    half = _half(math.sqrt(float(rest @ rest) / freedom / squares), freedom)
    return Slope(value, value - half, value + half, len(xs))


def grows(
    statement: str, points: list[dict], x: Callable[[dict], float],
    y: Callable[[dict], float | None], alike: Callable[[dict], Hashable], unit: str,
    expected: bool = True,
) -> Finding:  # fmt: skip
    """ "It grows with x", or, with `expected` false, "it does not": then silence is no answer, but
    that over all that x was there is at most little growth."""
    found = slope(points, x, y, alike)
    if found is None:
        return Finding(statement, "can't be said: too few configurations", "", len(points))
    numbers = f"slope {found.value:.3g} {unit} ({found.low:.3g} to {found.high:.3g})"
    if not found.different and expected:
        answer = "no difference found"
    elif not found.different:
        at, values = [x(p) for p in points], [v for p in points if (v := y(p)) is not None]
        most, typical = found.high * (max(at) - min(at)), float(np.median(values))
        answer = "yes: no growth was found"
        if most > LITTLE * typical:
            answer = f"can't be said: none was found, but one of {most / typical:.0%} may be there"
    elif found.value > 0:
        answer = "yes" if expected else "no: it grows"
    else:
        answer = "no: it falls" if expected else "yes: it falls"
    return Finding(statement, answer, numbers, found.count)


def ratio(
    ones: dict[Hashable, float], others: dict[Hashable, float], of: int = 1
) -> tuple[float, float, float, int] | None:
    """Of values of the same keys, as a geometric mean with its interval and their number; `of`: so
    many intervals are to hold together."""
    both = [k for k in ones if k in others and ones[k] > 0 and others[k] > 0]
    if len(both) < 3:
        return None
    logs = np.log([ones[k] / others[k] for k in both])
    middle = float(logs.mean())
    half = _half(float(logs.std(ddof=1)) / math.sqrt(len(both)), len(both) - 1, of)
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(both)


def alike(
    statement: str, ones: dict[Hashable, float], others: dict[Hashable, float], margin: float,
    of: int = 1,
) -> Finding:  # fmt: skip
    """Both are the same but for a margin (a share of the value): equivalence, not mere silence.
    Where one has nothing at all and the other something, they are not."""
    nothing = [k for k in ones if k in others and (ones[k] > 0) != (others[k] > 0)]
    found = ratio(ones, others, of)
    if nothing:
        where = ", ".join(map(str, nothing[:8])) + (" ..." if len(nothing) > 8 else "")
        numbers = f"one of both has nothing in {len(nothing)} configurations: {where}"
        return Finding(statement, "no", numbers, len(nothing) + (found[3] if found else 0))
    if found is None:
        return Finding(statement, "can't be said: fewer than three configurations in common")
    value, low, high, count = found
    numbers = f"ratio {value:.3g} ({low:.3g} to {high:.3g}), margin ± {margin:.0%}"
    if 1 - margin < low and high < 1 + margin:
        answer = "yes"
    elif high < 1 - margin or low > 1 + margin:
        answer = "no"
    else:
        answer = "can't be said: the interval is not within the margin, nor beyond it"
    return Finding(statement, answer, numbers, count)


def compared(
    what: str, one: str, other: str, ones: dict[Hashable, float], others: dict[Hashable, float],
    of: int = 1,
) -> Finding:  # fmt: skip
    """Which of two has less of something, over all configurations in common."""
    statement = f"{what}: {one} against {other}"
    found = ratio(ones, others, of)
    if found is None:
        return Finding(statement, "can't be said: fewer than three configurations in common")
    value, low, high, count = found
    if low <= 1 <= high and high / low > WIDE:
        return Finding(statement, f"can't be said: {count} configurations differ by too much")
    if low <= 1 <= high:
        answer = "no difference found"
    else:
        answer = f"{one} has {'less' if value < 1 else 'more'}"
    return Finding(statement, answer, f"ratio {value:.3g} ({low:.3g} to {high:.3g})", count)


def every(
    statement: str, points: list[dict], holds: Callable[[dict], bool], name: Callable[[dict], str]
) -> Finding:
    """It holds in each; else the first that it does not hold in are named."""
    if not points:
        return Finding(statement, "can't be said: no configuration", "", 0)
    bad = [name(p) for p in points if not holds(p)]
    if not bad:
        return Finding(statement, "yes", f"in all {len(points)}", len(points))
    more = f" and {len(bad) - 8} more" if len(bad) > 8 else ""
    numbers = f"not in {len(bad)} of {len(points)}: {', '.join(bad[:8])}{more}"
    return Finding(statement, "no", numbers, len(points))
