"""The measures of RTIBM."""

from dataclasses import asdict, dataclass, field

import numpy as np

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)


@dataclass
class Latency:
    """Round trips of all samples of one test and pair, in milliseconds."""

    count: int
    mean: float  # mean of the sample means
    mean_low: float  # 95 % bootstrap interval of that
    mean_high: float
    sd: float  # of all round trips
    min: float
    max: float
    mode: float
    percentiles: dict[str, float] = field(default_factory=dict)


@dataclass
class Spread:
    """One figure over the samples."""

    mean: float
    sd: float
    min: float
    max: float
    low: float  # 95 % bootstrap interval of the mean
    high: float


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


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % percentile bootstrap of the mean, repeatable; one value has no width."""
    if len(values) < 2:
        return float(values[0]), float(values[0])
    rng = np.random.default_rng(1)
    means = rng.choice(values, (2000, len(values))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


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
    every = np.sort(np.concatenate(samples)) / 1e6
    means = np.array([s.mean() / 1e6 for s in samples])
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
        percentiles={f"{p:g}": percentile(every, p) for p in PERCENTILES},
    )


def summarize(rows: list[dict], round_trips: list[np.ndarray], tolerance_ms: float) -> dict:
    """One test and pair: the rows of its samples and, for latency, their round trips."""
    first = rows[0]
    keys = ("sequence", "execution", "test", "kind", "transport", "loop", "types", "instances",
            "buffers", "bytes", "updates", "pair", "sender", "receiver")  # fmt: skip
    out = {key: first[key] for key in keys}
    out["samples"] = len(rows)
    for key in ("sent", "received", "lost", "late"):
        out[key] = sum(row[key] for row in rows)
    out["rate_hz"] = asdict(spread([row["rate_hz"] for row in rows]))
    out["mb_per_s"] = asdict(spread([row["mb_per_s"] for row in rows]))
    found = latency(round_trips, tolerance_ms)
    out["rtt_ms"] = asdict(found) if found else None
    return out
