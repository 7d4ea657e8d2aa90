"""Whether two series of times are as good as equal: the difference of their means lies within a
margin that was stated before (two one-sided t tests, 5 % each).

Neighbours in a series depend on each other, so what is compared are means of long parts of it.
"""

from dataclasses import dataclass

import numpy as np

BATCHES = 20


@dataclass(frozen=True)
class Equivalence:
    """What came of it; times in the series' unit."""

    difference: float  # of the second's mean less the first's
    low: float  # 90 % interval: both tests reject where it lies within the margin
    high: float
    margin: float

    @property
    def equivalent(self) -> bool:
        return -self.margin < self.low and self.high < self.margin

    @property
    def different(self) -> bool:
        """Surely so: the interval lies beyond the margin."""
        return self.low > self.margin or self.high < -self.margin

    def sentence(self, one: str, other: str, unit: str = "ms") -> str:
        """In words."""
        by = f"{self.difference:+.3g} {unit} (90 % interval {self.low:+.3g} to {self.high:+.3g})"
        margin = f"± {self.margin:g} {unit}"
        if self.equivalent:
            return f"{other} is as good as {one}: {by}, within {margin}"
        if self.different:
            return f"{other} is not as {one}: {by}, beyond {margin}"
        return f"{other} and {one} are not distinguishable within {margin}: {by}"


def batches(values: np.ndarray, count: int = BATCHES) -> np.ndarray:
    """Means of so many parts of a series, in order."""
    return np.array([part.mean() for part in np.array_split(np.asarray(values, float), count)
                     if len(part)])  # fmt: skip


def equivalence(one: np.ndarray, other: np.ndarray, margin: float) -> Equivalence | None:
    """Of two series; None where there is too little of one."""
    from scipy.stats import t as student  # takes half a second to load

    a, b = batches(one), batches(other)
    if min(len(a), len(b)) < 3:
        return None
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    error = np.sqrt(va + vb)
    difference = float(b.mean() - a.mean())
    if error == 0:
        return Equivalence(difference, difference, difference, margin)
    degrees = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = float(student.ppf(0.95, degrees) * error)
    return Equivalence(difference, difference - half, difference + half, margin)
