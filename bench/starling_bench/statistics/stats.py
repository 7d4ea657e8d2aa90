"""Figures over samples: means with their intervals, percentiles, the mode."""

from dataclasses import dataclass, field

import numpy as np

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
_AT_ONCE = 1 << 20
# What `latency` holds for each round trip: the samples' own, all of them sorted, and what the
# deviation is computed from.
BYTES_EACH = 4 + 8 + 8


@dataclass
class Latency:
    """Round trips of all samples of one test and pair, in milliseconds."""

    count: int
    mean: float  # mean of the sample means
    mean_low: float | None  # 95 % interval of that; None with one sample
    mean_high: float | None
    sd: float  # of all round trips
    min: float
    max: float
    mode: float
    # None where so few values say nothing: p needs 10 / (1 - p) of them.
    percentiles: dict[str, float | None] = field(default_factory=dict)


@dataclass
class Spread:
    """One figure over the samples."""

    mean: float
    sd: float
    min: float
    max: float
    low: float | None  # 95 % interval of the mean; None with one value
    high: float | None


def tenths(value: float) -> str:
    """To one digit behind the point, if there is any."""
    return f"{value:,.1f}".removesuffix(".0")


# Of what need not be equally long.
SPAN = ("bytes", "bytes_min", "bytes_max")


def span(of: dict, unit: str = "") -> str:
    """The mean, and from which to which, if these differ; "": it is not known."""
    mean, least, most = map(of.get, SPAN)
    if mean is None:
        return ""
    return tenths(mean) + unit + (f" ({tenths(least)} to {tenths(most)})" if least < most else "")


def percentile(sorted_values: np.ndarray, p: float) -> float:
    """Nearest rank: the smallest value with at least p percent at or below it."""
    rank = int(np.ceil(round(p / 100 * len(sorted_values), 9)))
    return float(sorted_values[max(rank, 1) - 1])


def mode(sorted_values: np.ndarray, tolerance: float) -> float:
    """The middle of the closed window of width 2 x tolerance that holds the most values.

    Of equally full windows the lowest counts; the middle is that of the values inside.
    """
    start = end = 0
    for at in range(0, len(sorted_values), _AT_ONCE):  # they may be many: a part takes no memory
        part = sorted_values[at : at + _AT_ONCE]
        ends = np.searchsorted(sorted_values, part + 2 * tolerance, side="right")
        counts = ends - np.arange(at, at + len(part))
        best = int(np.argmax(counts))
        if counts[best] > end - start:
            start, end = at + best, int(ends[best])
    return float((sorted_values[start] + sorted_values[end - 1]) / 2)


def percentile_if_known(sorted_values: np.ndarray, p: float) -> float | None:
    """The percentile, or None when fewer than ten values are expected beyond it."""
    if len(sorted_values) * (100 - p) < 1000 - 1e-9:
        return None
    return percentile(sorted_values, p)


def interval(values: np.ndarray) -> tuple[float | None, float | None]:
    """95 % interval of the mean of values that can't be negative; one value has none.

    Student's t for the mean's logarithm, whose error is the mean's relative error (delta method):
    the interval never reaches zero, and where the error is small it is the usual one.
    """
    n, mean = len(values), float(values.mean())
    if n < 2:
        return None, None
    if mean == 0:  # all are
        return 0.0, 0.0
    from scipy.special import stdtrit  # takes half a second to load

    half = stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n) / mean
    return float(mean * np.exp(-half)), float(mean * np.exp(half))


def by_round(values: list[float], rounds: list[object]) -> list[float]:
    """One value for each round, the mean of its own: what differs from round to round is in all
    samples of a round alike, so that they are not independent. Others stay as they are."""
    if any(one is None for one in rounds):
        return values
    found: dict[object, list[float]] = {}
    for value, one in zip(values, rounds, strict=True):
        found.setdefault(one, []).append(value)
    return [sum(v) / len(v) for v in found.values()]


def spread(values: list[float], rounds: list[object] = (None,)) -> Spread:
    """Mean, deviation and range of one figure over the samples; its interval is of rounds, if there
    are some."""
    v = np.asarray(values, dtype=float)
    low, high = interval(np.asarray(by_round(values, rounds), dtype=float))
    sd = float(v.std(ddof=1)) if len(v) > 1 else 0.0
    return Spread(float(v.mean()), sd, float(v.min()), float(v.max()), low, high)


def latency(samples: list[np.ndarray], tolerance_ms: float) -> Latency | None:
    """Statistics of round trips in nanoseconds, one array per sample; None without any."""
    samples = [s for s in samples if len(s)]
    if not samples:
        return None
    every = np.concatenate(samples, dtype=float)
    every.sort()
    every /= 1e6
    means = np.array([s.mean(dtype=float) / 1e6 for s in samples])
    low, high = interval(means)
    return Latency(
        count=len(every),
        mean=float(means.mean()),
        mean_low=low,
        mean_high=high,
        sd=float(every.std(ddof=1)) if len(every) > 1 else 0.0,
        min=float(every[0]),
        max=float(every[-1]),
        mode=mode(every, tolerance_ms),
        percentiles={f"{p:g}": percentile_if_known(every, p) for p in PERCENTILES},
    )


_SAMPLE = ("mean", "sd", "min", "p50", "p90", "p99", "p999", "max")


def sample(round_trips_ns: np.ndarray) -> dict[str, float | None]:
    """The figures of one sample's round trips, in milliseconds: rtt_mean_ms and so on."""
    v = np.sort(round_trips_ns).astype(float) / 1e6
    if not len(v):
        return {f"rtt_{k}_ms": None for k in _SAMPLE}
    figures = [v.mean(), v.std(ddof=1) if len(v) > 1 else 0.0, v[0]]
    figures += [percentile_if_known(v, p) for p in (50, 90, 99, 99.9)]
    return {
        f"rtt_{k}_ms": None if f is None else round(float(f), 9)
        for k, f in zip(_SAMPLE, [*figures, v[-1]], strict=True)
    }


def percent(share: float | None, digits: int = 2) -> str:
    """A share in words; only all of it is called 100 %. None: it is not known."""
    if share is None:
        return "-"
    said = f"{share:.{digits}%}"
    return said if share >= 1 or not said.startswith("100") else f"{100 - 10**-digits:.{digits}f}%"
