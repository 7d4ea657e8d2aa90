"""Estimates with 95 % intervals from samples that were taken in rounds: in each round every test
has one sample, so what drifts meets all of them, and only differences within a round count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """With its interval; none where there are too few samples."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def known(self) -> bool:
        """The interval does not hold zero."""
        return self.low is not None and not self.low <= 0 <= self.high

    @property
    def width(self) -> float | None:
        """Half of the interval in parts of the value; None if that may be 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.known else None

    def doubt(self, what: str, most: float) -> list[str]:
        """What is said of an interval that is wider than so much of its value."""
        if self.width is None or self.width <= most:
            return []
        return [f"the interval of {what} is {self.width:.1%} of its value to either side, wider "
                f"than {most:.0%}: a longer run would tell it"]  # fmt: skip

    def text(self, unit: str = "") -> str:
        value, low, high = map(_digits, (self.value, self.low, self.high))
        ends = f"{low} to {high}" if low else "no interval: one sample"
        return f"{value}{unit} ({ends if not low or low != high else 'in every round'})"


def _digits(value: float | None) -> str:
    """Three of them, more where there is no point."""
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _estimate(value: float, error: float, freedom: float) -> Estimate:
    from scipy.special import stdtrit  # takes half a second to load

    if freedom < 1:
        return Estimate(value)
    half = float(stdtrit(freedom, 0.975)) * error
    return Estimate(value, value - half, value + half)


@dataclass(frozen=True)
class Fit:
    """A straight line in several variables: what a step of each makes, and a step of all `weights`
    together; what the line leaves of each test."""

    base: float  # where all variables are 0, mean of the rounds
    slopes: tuple[Estimate, ...]
    residuals: tuple[float, ...]  # mean over the rounds, by test
    _covariance: np.ndarray
    _freedom: int

    def combined(self, weights: Sequence[float]) -> Estimate:
        """What a step of so much of each variable makes."""
        w = np.asarray(weights, float)
        value = float(w @ [slope.value for slope in self.slopes])
        return _estimate(value, float(np.sqrt(w @ self._covariance @ w)), self._freedom)

    def percent(self, weights: Sequence[float]) -> Estimate | None:
        """The same of the base; None where the line has no such part of it: it is not above 0."""
        one = self.combined(weights)
        if self.base <= 0:
            return None
        ends = (one.value, one.low, one.high)
        return Estimate(*(None if v is None else 100 * v / self.base for v in ends))

    def share(self, weights: Sequence[float], name: str, of: str, most: float = 1) -> list[str]:
        """What such a step costs of the base, or that no cost is found; if its interval is wider
        than so much of it."""
        if (one := self.percent(weights)) is None:
            return [f"what {name} more costs {of} can't be told: that would take less than nothing"]
        said = f"{name} more costs" if one.known else f"no cost of {name} more is found:"
        return [f"{said} {one.text(' %')} {of}", *one.doubt(name, most)]

    def words(self, names: Sequence[str], unit: str, most: float = 1) -> list[str]:
        """What a step of each variable costs, or that no cost is found; if its interval is wider
        than so much of it."""
        said = []
        for name, one in zip(names, self.slopes, strict=True):
            more = f"no cost of a further {name} is found:"
            if one.known:
                # Below 0 it is none: what the line leaves of tests has a slope of its own.
                less = f"a further {name} seems to take less than nothing:"
                more = f"each {name} more costs" if one.value > 0 else less
            said += [f"{more} {one.text(unit)}", *one.doubt(f"a further {name}", most)]
        return said


def _shared(samples: list[list[float | None]]) -> list[list[float]]:
    """Of rounds those that all have: a sample that is missing leaves its round out."""
    each = range(min(map(len, samples), default=0))
    rounds = [n for n in each if all(own[n] is not None for own in samples)]
    return [[own[n] for n in rounds] for own in samples]


def fit(
    variables: list[Sequence[float]], samples: list[list[float | None]], levels: Sequence[str] = ()
) -> Fit | None:
    """Least squares over tests: the variables of each, and its samples by round. With `levels`, one
    for each test, those of a level share a constant of their own; the base is the first's. None:
    the tests don't differ so that each variable's part can be told from the others'."""
    samples = _shared(samples)
    rounds = len(samples[0]) if samples else 0
    if rounds == 0:
        return None
    x = np.repeat(np.asarray(variables, float), rounds, axis=0)
    y = np.array(samples, float).ravel()
    number = np.tile(np.arange(rounds), len(samples))
    others = (number[:, None] == np.arange(1, rounds)).astype(float)
    names = list(dict.fromkeys(levels))[1:]
    own = np.array([[level == name for name in names] for level in levels], float)
    apart = np.repeat(own.reshape(len(samples), len(names)), rounds, axis=0)
    design = np.c_[np.ones(len(y)), x, others, apart]
    freedom = len(y) - design.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    found, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ found
    # Samples of a test err together: what the line leaves of tests is the error.
    means = residual.reshape(len(samples), rounds).mean(axis=1)
    tests = len(samples) - x.shape[1] - len(names) - 1
    variance = max(residual @ residual / freedom, rounds * (means @ means) / max(tests, 1))
    covariance = np.linalg.inv(design.T @ design) * variance
    inner = slice(1, 1 + x.shape[1])
    freedom = max(tests, 1)
    slopes = tuple(
        _estimate(float(found[n]), float(np.sqrt(covariance[n, n])), freedom)
        for n in range(1, 1 + x.shape[1])
    )
    in_rounds = found[1 + x.shape[1] : x.shape[1] + rounds]
    base = float(found[0] + in_rounds.sum() / rounds)
    return Fit(base, slopes, tuple(map(float, means)), covariance[inner, inner], freedom)


def times(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """How many times the other the first is: the geometric mean of what it is round by round."""
    return _factor(np.log(one) - np.log(other))


def apart(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """The same of samples that were not taken in the same rounds, such as those of two runs."""
    logs = [np.log(one), np.log(other)]
    value = float(logs[0].mean() - logs[1].mean())
    if min(map(len, logs)) < 2:
        return Estimate(float(np.exp(value)))
    parts = [own.var(ddof=1) / len(own) for own in logs]
    # Welch's degrees of freedom; values that don't differ at all have as many as both together.
    below = sum(part**2 / (len(own) - 1) for part, own in zip(parts, logs, strict=True))
    freedom = sum(parts) ** 2 / below if below > 0 else len(one) + len(other) - 2
    found = _estimate(value, float(np.sqrt(sum(parts))), freedom)
    return Estimate(*(float(np.exp(v)) for v in (found.value, found.low, found.high)))


def more(one: list[list[float | None]], other: list[list[float | None]]) -> Estimate | None:
    """By how many percent the first takes more than the second: samples of like tests, by round; of
    one round its tests say how far that varies. None without any. Counts that repeat have an
    interval of no width."""
    samples = _shared([*one, *other])
    rounds = len(samples[0]) if samples else 0
    if rounds == 0:
        return None
    logs = np.log(samples[: len(one)]) - np.log(samples[len(one) :])
    found = _factor(logs.mean(axis=0) if rounds > 1 else logs[:, 0])
    ends = (found.value, found.low, found.high)
    return Estimate(*(None if v is None else 100 * (v - 1) for v in ends))


def _factor(logs: np.ndarray) -> Estimate:
    """Of its logarithm in each round."""
    rounds = len(logs)
    error = float(logs.std(ddof=1) / np.sqrt(rounds)) if rounds > 1 else 0.0
    found = _estimate(float(logs.mean()), error, rounds - 1)
    ends = (found.value, found.low, found.high)
    return Estimate(*(None if v is None else float(np.exp(v)) for v in ends))
