"""Whether two series of times are as good as equal: the difference of their middles lies within a
margin that was stated before (two one-sided t tests, 5 % each).

Neighbours in a series depend on each other, so what is compared are medians of long parts of it, or
of repeats of it. A stall of the machine, which meets one of two tests, would be all that their
means tell.
"""

from dataclasses import dataclass

import numpy as np

from ..times.clocks import digits_ms, outwards_ms

BATCHES = 20
REPEATS = 3


@dataclass(frozen=True)
class Equivalence:
    """What came of it; times in the series' unit."""

    difference: float  # of the second's middle less the first's
    low: float  # 90 % interval: both tests reject where it lies within the margin
    high: float
    margin: float
    bound: float = 0.0  # by how much clocks may be wrong in it; the interval holds that, too

    @property
    def equivalent(self) -> bool:
        return -self.margin < self.low and self.high < self.margin

    @property
    def different(self) -> bool:
        """Surely so: the interval lies beyond the margin."""
        return self.low > self.margin or self.high < -self.margin

    def sentence(self, one: str, other: str, unit: str = "ms") -> str:
        """In words."""
        middle, low, high = (f"{v:+.3g}" for v in (self.difference, self.low, self.high))
        if self.bound:
            middle = digits_ms(self.difference, self.bound, "+")
            low, high = outwards_ms(self.low, self.high, self.bound)
        by = f"{middle} {unit} (90 % interval {low} to {high})"
        margin = f"± {self.margin:g} {unit}"
        if self.equivalent:
            return f"{other} is as good as {one}: {by}, within {margin}"
        if self.different:
            return f"{other} is not as {one}: {by}, beyond {margin}"
        return f"{other} and {one} are not distinguishable within {margin}: {by}"


def batches(values: np.ndarray, count: int = BATCHES) -> np.ndarray:
    """Medians of so many parts of a series, in order."""
    parts = np.array_split(np.asarray(values, float), count)
    return np.array([np.median(part) for part in parts if len(part)])


def equivalence(one: np.ndarray, other: np.ndarray, margin: float) -> Equivalence | None:
    """Of two series; None where there is too little of one."""
    return _between(batches(one), batches(other), margin)


def repeated(
    one: list[np.ndarray], other: list[np.ndarray], margin: float, bound: float = 0.0
) -> Equivalence | None:
    """Of the series of repeated tests. With three or more of each their medians are the values:
    whatever one test has throughout is no more than one draw. By `bound` the clocks of both may be
    wrong together: it is as likely to be all of a difference as none."""
    count = BATCHES if min(len(one), len(other)) < REPEATS else 1
    a, b = (np.concatenate([batches(v, count) for v in of]) for of in (one, other))
    return _between(a, b, margin, bound)


def _between(a: np.ndarray, b: np.ndarray, margin: float, bound: float = 0.0) -> Equivalence | None:
    """Of values that do not depend on each other."""
    from scipy.stats import t as student  # takes half a second to load

    if min(len(a), len(b)) < 3:
        return None
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    error = np.sqrt(va + vb)
    difference = float(b.mean() - a.mean())
    half = bound
    if error > 0:
        degrees = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        half += float(student.ppf(0.95, degrees) * error)
    return Equivalence(difference, difference - half, difference + half, margin, bound)
