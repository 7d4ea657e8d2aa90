"""What comes back in a series of times: spikes at regular intervals, and waves below them.

Spikes would hide all else, and are too few for a spectrum: their intervals are judged by
themselves. What is left goes into a periodogram, over frequencies that a plain transform finds and
Lomb and Scargle's, by the real times, confirms; a peak counts if white noise would have one so high
less often than stated, over all frequencies together.
"""

from dataclasses import dataclass

import numpy as np

ALARM = 0.01  # how often noise may be called periodic
# A value so many robust deviations above the middle is a spike.
_SPIKE = 12.0
_SPIKES_MIN = 4
# More than these tell a reader nothing.
_MOST = 5
_HARMONICS = 24
# What comes back fewer times than these may as well be a drift.
_TURNS_MIN = 3
# So many times by frequencies are looked at at once.
_TABLE_MAX = 1 << 20


@dataclass(frozen=True)
class Period:
    """Something that comes back."""

    kind: str  # "spike" or "wave"
    period_s: float
    size: float  # of a spike above the middle; of a wave's pulse, from foot to top
    p: float  # how often noise would show it
    correlation: float  # of the series with itself, a period later


def find(times_s: np.ndarray, values: np.ndarray, alarm: float = ALARM) -> list[Period]:
    """Periods in a series that is sampled at an almost even rate; the surest first."""
    times, values = np.asarray(times_s, dtype=float), np.asarray(values, dtype=float)
    if len(values) < 64:
        return []
    middle = float(np.median(values))
    deviation = max(1.4826 * float(np.median(np.abs(values - middle))), 1e-9 * abs(middle), 1e-12)
    step = float(np.median(np.diff(times)))
    # Of spikes of several sizes the smaller ones would hide when the larger come.
    top, heights = float(values.max()) - middle, [_SPIKE * deviation]
    while heights[-1] * 4 < top:
        heights.append(heights[-1] * 4)
    spikes: list[Period] = []
    quiet = values
    for height in reversed(heights):
        above = quiet - middle
        found = _spikes(times, above, above > height, alarm / 2 / len(heights), step)
        if found:
            spikes.append(found)
            quiet = np.where(_with(above > heights[0], above > height), middle, quiet)
    even = _even(times, np.minimum(quiet, middle + heights[0]), middle, step)
    return sorted([*spikes, *_waves(even, step, alarm / 2)], key=lambda f: f.p)


def _with(high: np.ndarray, spikes: np.ndarray) -> np.ndarray:
    """Where values are high on end and one of these is a spike: its slopes belong to it."""
    run = np.cumsum(np.diff(high.astype(int), prepend=0) == 1) * high
    return high & np.isin(run, np.unique(run[spikes]))


def autocorrelation(values: np.ndarray, lags: int) -> np.ndarray:
    """Of an even series, for lags from 0."""
    v = values - values.mean()
    size = 1 << (2 * len(v) - 1).bit_length()
    power = np.abs(np.fft.rfft(v, size)) ** 2
    found = np.fft.irfft(power)[: min(lags, len(v))]
    return found / found[0] if found[0] > 0 else np.zeros_like(found)


def _even(times: np.ndarray, values: np.ndarray, middle: float, step: float) -> np.ndarray:
    """The series at an even rate: what is missing is the middle."""
    at = np.rint((times - times[0]) / step).astype(int)
    even = np.full(int(at[-1]) + 1, middle)
    even[np.clip(at, 0, len(even) - 1)] = values
    return even


def _spikes(
    times: np.ndarray, above: np.ndarray, spikes: np.ndarray, alarm: float, step: float
) -> Period | None:
    at = np.flatnonzero(spikes)
    if len(at) < _SPIKES_MIN:
        return None
    # A stall delays all that is sent meanwhile: it is one event, at its first.
    first = np.concatenate([[True], np.diff(times[at]) > 5 * step])
    onsets = times[at[first]]
    tops = np.maximum.reduceat(above[at], np.flatnonzero(first))
    if len(onsets) < _SPIKES_MIN:
        return None
    gaps = np.diff(onsets)
    period = float(np.median(gaps))
    # Of events at random the intervals are exponential: how often would all but one be so close to
    # their middle? One may be missing or too many.
    away = np.sort(np.abs(gaps - period) / period)
    worst = max(float(away[-2] if len(away) > 3 else away[-1]), step / period)
    p = min(1.0, len(gaps) * (2 * worst) ** (len(gaps) - 2)) if worst < 0.5 else 1.0
    if p > alarm:
        return None
    later = _later(_even(times, above, 0.0, step), step, period)
    return Period("spike", period, float(np.median(tops)), p, later)


def _later(even: np.ndarray, step: float, period: float) -> float:
    """The correlation with itself a period later, or a little earlier or later than that."""
    lag = round(period / step)
    around = max(1, lag // 50)
    near = autocorrelation(even, lag + around + 1)[max(1, lag - around) :]
    return float(near.max(initial=0.0))


def _waves(even: np.ndarray, step: float, alarm: float) -> list[Period]:
    power, length = _spectrum(even), len(even) * step
    height = power / _noise(power)
    height[:_TURNS_MIN] = 0
    # Exponential in white noise; as many chances as frequencies.
    limit = np.log(len(power) / alarm)
    found: list[Period] = []
    taken = np.zeros(len(power), dtype=bool)
    for index in np.argsort(height)[::-1]:
        if height[index] < limit or len(found) == _MOST:
            break
        if taken[index]:
            continue
        base = _fundamental(height, int(index), limit)
        frequency = _confirmed((base + 1) / length, even, step, 1 / length)
        for harmonic in range(1, int(0.5 / step / frequency) + 2):
            at, wide = round(frequency * length * harmonic) - 1, 5 + harmonic // 10
            taken[max(0, at - wide) : at + wide + 1] = True
        p = float(min(1.0, len(power) * np.exp(-height[index])))
        later = _later(even, step, 1 / frequency)
        found.append(Period("wave", 1 / frequency, _pulse(even, step, 1 / frequency), p, later))
    return found


def _spectrum(even: np.ndarray) -> np.ndarray:
    """Power by frequency, the mean left out. What is strong does not leak beyond five of them
    (Blackman and Harris's window)."""
    turn = 2 * np.pi * np.arange(len(even)) / len(even)
    terms = (0.35875, -0.48829, 0.14128, -0.01168)
    window = sum(a * np.cos(n * turn) for n, a in enumerate(terms))
    return np.abs(np.fft.rfft((even - even.mean()) * window))[1:] ** 2


def _noise(power: np.ndarray) -> np.ndarray:
    """What noise alone has there: the median of the neighbours, as what wanders slowly has more."""
    width = max(64, len(power) // 16)
    if len(power) < 2 * width:
        return np.full(len(power), np.median(power) / np.log(2) + 1e-300)
    edges = np.arange(0, len(power) - width + 1, width)
    middles = [np.median(power[e : e + width]) / np.log(2) for e in edges]
    # In a band of few frequencies the median is uncertain: never below half of that of all.
    least = np.median(power) / np.log(2) / 2
    return np.maximum(np.interp(np.arange(len(power)), edges + width / 2, middles), least) + 1e-300


def _fundamental(height: np.ndarray, index: int, limit: float) -> int:
    """The lowest frequency of which this one is a multiple, and that is there, too."""
    best = index
    for part in range(2, _HARMONICS + 1):
        at = round((index + 1) / part) - 1
        if at < 1:
            break
        near = range(max(0, at - 1), at + 2)
        top = max(near, key=lambda n: height[n])
        if height[top] >= limit and height[top] >= 0.2 * height[index]:
            best = top
    return best


def _confirmed(frequency: float, even: np.ndarray, step: float, resolution: float) -> float:
    """Where Lomb and Scargle's periodogram is highest about there."""
    from scipy.signal import lombscargle  # takes half a second to load

    # Of a long series means of neighbours do, where the period is long.
    few = max(1, min(len(even) // 20_000, int(1 / frequency / step / 8)))
    v = even[: len(even) // few * few].reshape(-1, few).mean(axis=1)
    t = (np.arange(len(v)) + 0.5) * step * few
    near = frequency + np.linspace(-1, 1, 81) * resolution
    near, v = near[near > 0], v - v.mean()
    # It makes a table of all times by all frequencies.
    parts = np.array_split(2 * np.pi * near, min(len(near), 1 + len(near) * len(v) // _TABLE_MAX))
    return float(near[np.argmax(np.concatenate([lombscargle(t, v, part) for part in parts]))])


def _pulse(even: np.ndarray, step: float, period: float) -> float:
    """From foot to top of the mean course over a period."""
    bins = int(np.clip(round(period / step), 2, 60))
    phase = np.minimum((np.arange(len(even)) * step / period % 1 * bins).astype(int), bins - 1)
    sums, counts = np.bincount(phase, even, bins), np.bincount(phase, minlength=bins)
    course = sums[counts > 0] / counts[counts > 0]
    return float(course.max() - np.median(course))
