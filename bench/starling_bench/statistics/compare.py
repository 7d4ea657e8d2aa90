"""Which of two is faster, and how sure that is.

Compared are the samples' means (or rates) of one test, on a logarithmic scale, so that the
difference is a ratio. Where the logarithms look normal: Welch's t; else Mann and Whitney's test
with Hodges and Lehmann's estimate. Of several comparisons the p values are Holm's; the intervals
are of each alone. Nothing is called different while the interval holds 1, or p is not below 5 %.
Where no samples of that number could show a difference it says so, and how many could.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

# scipy.stats and statsmodels take seconds to load: the functions that need them do so.

LEVEL = 0.95
# Fewer samples say nothing about their distribution; below, it is not taken for normal.
_NORMAL_MIN = 3
# More differences are counted by the normal approximation.
_EXACT_MAX = 2500
# So many are sorted; of more the one that is wanted is found as near as that.
_ALL_MAX, _ALIKE = 1_000_000, 1e-12


@dataclass(frozen=True)
class Shift:
    """An estimate of x - y with its interval and p value; None where there are too few values."""

    estimate: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class Comparison:
    """How many times as large the first is, with the 95 % interval."""

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    method: str
    effect: float  # Cliff's delta: -1 all smaller, 0 alike, 1 all larger
    least: float = 0.0  # what p can't be below, whatever the samples
    needed: int = 0  # so many samples of each could show a difference; 0: these could
    among: int = 1  # of so many comparisons, for which p is corrected

    @property
    def beyond(self) -> bool:
        """The interval, which is of this comparison alone, does not hold 1."""
        return self.low is not None and not self.low <= 1 <= self.high

    @property
    def different(self) -> bool:
        return self.beyond and self.p is not None and self.p < 1 - LEVEL


def welch(x: np.ndarray, y: np.ndarray) -> Shift:
    """The means' difference; variances may differ."""
    if len(x) < 2 or len(y) < 2:
        return Shift(float(np.mean(x) - np.mean(y)), None, None, None)
    if np.ptp(x) == 0 and np.ptp(y) == 0:  # two constants: a clock too coarse for any statistics
        return Shift(float(np.mean(x) - np.mean(y)), None, None, None)
    from scipy import stats

    found = stats.ttest_ind(x, y, equal_var=False)
    interval = found.confidence_interval(LEVEL)
    return Shift(
        float(np.mean(x) - np.mean(y)), float(interval.low), float(interval.high),
        float(found.pvalue),
    )  # fmt: skip


def mann_whitney(x: np.ndarray, y: np.ndarray) -> Shift:
    """The shift between two distributions of like shape: the median of all differences, and those
    differences between which it lies with 95 %."""
    from scipy import stats

    count = len(x) * len(y)
    estimate = (_difference(x, y, (count - 1) // 2) + _difference(x, y, count // 2)) / 2
    rank = _critical(len(x), len(y))
    # As the interval: exact, but for many values, and for equal ones.
    exact = count <= _EXACT_MAX and len({*x, *y}) == len(x) + len(y)
    method = "exact" if exact else "asymptotic"
    p = float(stats.mannwhitneyu(x, y, alternative="two-sided", method=method).pvalue)
    if rank < 1:  # so few values that no interval of theirs covers 95 %
        return Shift(estimate, None, None, p)
    return Shift(
        estimate, _difference(x, y, rank - 1), _difference(x, y, count - rank), p
    )  # fmt: skip


def _difference(x: np.ndarray, y: np.ndarray, nth: int) -> float:
    """Of all differences between two values the nth (from 0), by size."""
    if len(x) * len(y) <= _ALL_MAX:
        return float(np.partition(np.subtract.outer(x, y).ravel(), nth)[nth])
    # All of them would take too much memory: it is where so many are no larger.
    y = np.sort(y)
    low, high = float(x.min() - y[-1]), float(x.max() - y[0])
    while high - low > _ALIKE:
        middle = (low + high) / 2
        if middle in (low, high):  # numbers so large lie no nearer
            break
        if int((len(y) - np.searchsorted(y, x - middle)).sum()) > nth:
            high = middle
        else:
            low = middle
    return high


def _critical(n: int, m: int) -> int:
    """How many differences lie outside the interval at each end."""
    tail = (1 - LEVEL) / 2
    if n * m > _EXACT_MAX:  # normal approximation
        from scipy import stats

        return int(n * m / 2 + stats.norm.ppf(tail) * np.sqrt(n * m * (n + m + 1) / 12))
    # The number of ways to each value of U: the Gaussian binomial's coefficients.
    ways = np.zeros(n * m + 1)
    ways[0] = 1
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            ways[u] -= ways[u - m - i]
        for u in range(i, n * m + 1):
            ways[u] += ways[u - i]
    below = np.cumsum(ways) / ways.sum()
    return int(np.searchsorted(below, tail, side="right"))


def normal(x: np.ndarray) -> bool:
    """Nothing speaks against a normal distribution."""
    from scipy import stats

    return len(x) >= _NORMAL_MIN and np.ptp(x) > 0 and stats.shapiro(x).pvalue > 0.05


def least_p(n: int, m: int) -> float:
    """Mann and Whitney's smallest p, two-sided: all of one below all of the other."""
    return min(2 / math.comb(n + m, n), 1.0)


def needed(comparisons: int) -> int:
    """So many samples of each show a difference by Mann and Whitney's test in so many comparisons,
    where all of one are below all of the other."""
    n = 2
    while least_p(n, n) * comparisons >= 1 - LEVEL or _critical(n, n) < 1:
        n += 1
    return n


def compare(x: list[float], y: list[float]) -> Comparison:
    """How many times as large the values of `x` are as those of `y`; all are positive."""
    a, b = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    by_t = normal(a) and normal(b)
    found = welch(a, b) if by_t else mann_whitney(a, b)
    low, high = (None if v is None else float(np.exp(v)) for v in (found.low, found.high))
    below, above = (np.searchsorted(np.sort(b), a, side) for side in ("left", "right"))
    effect = float((below + above).mean() / len(b) - 1)
    method = "Welch's t" if by_t else "Mann-Whitney, Hodges-Lehmann"
    least = 0.0 if by_t else least_p(len(a), len(b))
    return Comparison(float(np.exp(found.estimate)), low, high, found.p, method, effect, least)


def holm(several: list[Comparison]) -> list[Comparison]:
    """The same with p values corrected for their number, and how many samples are needed where
    the least p isn't enough."""
    at = [i for i, c in enumerate(several) if c.p is not None]
    if not at:
        return several
    from statsmodels.stats.multitest import multipletests

    corrected = multipletests([several[i].p for i in at], method="holm")[1]
    out = list(several)
    given = np.sort([several[i].p for i in at])
    for i, p in zip(at, corrected, strict=True):
        # Its own p is corrected by the number of those that are not smaller.
        against = len(given) - int(np.searchsorted(given, several[i].least * (1 - 1e-9)))
        against = max(against, 1)
        few = several[i].low is None or several[i].least * against >= 1 - LEVEL
        more = needed(against) if few and several[i].least else 0
        out[i] = replace(several[i], p=float(p), needed=more, among=len(at))
    return out


def p_said(p: float) -> str:
    """A p value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def sentence(one: str, other: str, c: Comparison, more_is_faster: bool, of: str = "samples") -> str:
    """What a comparison says, in words; `of` is what its values are."""
    few = f"too few {of} to tell; {c.needed} of each would do."
    if not c.beyond and c.needed:
        return f"{one} and {other}: {few}"
    if c.p is None or c.low is None:
        return f"{one} and {other}: too few {of} for a comparison."
    p = p_said(c.p)
    ratio, low, high = c.ratio, c.low, c.high
    if not c.beyond:
        return (
            f"Between {one} and {other} no difference is shown: ratio {ratio:.2f} "
            f"({low:.2f} to {high:.2f}), {p}."
        )
    if (ratio > 1) != more_is_faster:
        one, other = other, one
    if ratio < 1:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    times = f"{ratio:.3g} ({low:.3g} to {high:.3g})"
    if c.different:
        return f"{one} is {times} times faster than {other}, {p}."
    # The interval is of one comparison, p of all.
    among = f"among {c.among:,} comparisons" if c.among > 1 else "of so few values"
    said = f"{one} is faster than {other} by a ratio of {times}, which is not certain {among} ({p})"
    return f"{said}: {few}" if c.needed else f"{said}."
