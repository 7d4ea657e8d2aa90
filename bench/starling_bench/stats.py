"""The measures of RTIBM."""

from dataclasses import asdict, dataclass, field

import numpy as np
from scipy import stats as distributions

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)


@dataclass
class Latency:
    """Round trips of all samples of one test and pair, in milliseconds."""

    count: int
    mean: float  # mean of the sample means
    mean_low: float | None  # 95 % interval of that, by Student's t; None with one sample
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
    low: float | None  # 95 % interval of the mean, by Student's t; None with one value
    high: float | None


def percentile(sorted_values: np.ndarray, p: float) -> float:
    """Nearest rank: the smallest value with at least p percent at or below it (as in bmfed)."""
    rank = int(np.ceil(round(p / 100 * len(sorted_values), 9)))
    return float(sorted_values[max(rank, 1) - 1])


def mode(sorted_values: np.ndarray, tolerance: float) -> float:
    """The middle of the closed window of width 2 x tolerance that holds the most values.

    Of equally full windows the lowest counts; the middle is that of the values inside.
    """
    ends = np.searchsorted(sorted_values, sorted_values + 2 * tolerance, side="right")
    counts = ends - np.arange(len(sorted_values))
    start = int(np.argmax(counts))
    return float((sorted_values[start] + sorted_values[ends[start] - 1]) / 2)


def percentile_if_known(sorted_values: np.ndarray, p: float) -> float | None:
    """The percentile, or None when fewer than ten values are expected beyond it."""
    if len(sorted_values) * (100 - p) < 1000 - 1e-9:
        return None
    return percentile(sorted_values, p)


def interval(values: np.ndarray) -> tuple[float | None, float | None]:
    """95 % interval of the mean by Student's t; one value has none."""
    n = len(values)
    if n < 2:
        return None, None
    half = distributions.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def spread(values: list[float]) -> Spread:
    """Mean, deviation and range of one figure over the samples."""
    v = np.asarray(values, dtype=float)
    low, high = interval(v)
    sd = float(v.std(ddof=1)) if len(v) > 1 else 0.0
    return Spread(float(v.mean()), sd, float(v.min()), float(v.max()), low, high)


def latency(samples: list[np.ndarray], tolerance_ms: float) -> Latency | None:
    """Statistics of round trips in nanoseconds, one array per sample; None without any."""
    samples = [s for s in samples if len(s)]
    if not samples:
        return None
    every = np.sort(np.concatenate(samples)).astype(float) / 1e6
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


def summarize(rows: list[dict], round_trips: list[np.ndarray], tolerance_ms: float) -> dict:
    """One test and pair: the rows of its samples and, for latency, their round trips."""
    first = rows[0]
    keys = ("sequence", "execution", "test", "kind", "transport", "loop", "types", "instances",
            "buffers", "bytes", "updates", "pair", "sender", "receiver")  # fmt: skip
    out = {key: first[key] for key in keys}
    out["samples"] = len(rows)
    for key in ("sent", "received", "lost", "late", "doubled"):
        out[key] = sum(row.get(key) or 0 for row in rows)
    out["rate_hz"] = asdict(spread([row["rate_hz"] for row in rows]))
    out["mb_per_s"] = asdict(spread([row["mb_per_s"] for row in rows]))
    found = latency(round_trips, tolerance_ms)
    out["rtt_ms"] = asdict(found) if found else None
    return out


def row_figures(round_trips_ns: np.ndarray) -> dict[str, float | None]:
    """What results.csv says of one sample's round trips."""
    v = np.sort(round_trips_ns).astype(float) / 1e6
    if not len(v):
        return {f"rtt_{k}_ms": None for k in _ROW}
    figures = [v.mean(), v.std(ddof=1) if len(v) > 1 else 0.0, v[0]]
    figures += [percentile_if_known(v, p) for p in (50, 90, 99, 99.9)]
    return {
        f"rtt_{k}_ms": None if f is None else round(float(f), 9)
        for k, f in zip(_ROW, [*figures, v[-1]], strict=True)
    }


_ROW = ("mean", "sd", "min", "p50", "p90", "p99", "p999", "max")
