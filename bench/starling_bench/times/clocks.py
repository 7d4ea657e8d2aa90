"""What the clock of another host says beside the one here, from messages there and back.

A message leaves at `sent` and comes back at `came` by the clock here; the other host has it at
`there` and sends it back at `back` by its own. Whatever the ways take, and however unlike they are,
the other clock is ahead by no more than there - sent, and by no less than back - came. A window of
such bounds leaves a strip of straight lines (an offset with a drift): the truth is one of them, so
the middle of the strip is wrong by no more than half its width. Where no line fits, the clock
jumped or wandered; that is said, and nothing is guessed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

# How hosts' clocks are told apart: they are one, compared by echoes, or daemons say it.
KNOWN = ("same", "estimate", "daemon")
# No oscillator that works drifts faster; what passes within one round trip is bounded by it.
DRIFT_MAX = 1e-3
WINDOW_S = 10.0
PINGS_MIN = 8
# What clocks leave more open than this share, either way, is compared with nothing.
OPEN_MAX = 0.02
# Of a window the tightest, spread over it: more change nothing.
_PARTS = 24


class NoEstimate(Exception):
    """Why there is none."""


def require_unset(told: Iterable[tuple[str, dict]]) -> None:
    """NoEstimate, if one of these clocks was set meanwhile, as its federate says."""
    for name, said in told:
        if jumped := said.get("jumped_ns"):
            raise NoEstimate(f"that of '{name}' jumped by {jumped / 1e6:+.4g} ms")


@dataclass(frozen=True)
class _Window:
    begin: float  # by the clock here, in ns since `base`
    end: float
    low: tuple[float, float]  # the offset at both ends is no less
    high: tuple[float, float]  # and no more


@dataclass(frozen=True)
class Offset:
    """The other clock less the one here, in ns, over the time of the pings."""

    base: int
    since: int
    windows: tuple[_Window, ...]

    def _at(self, times_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t = (np.asarray(times_ns, dtype=np.int64) - self.since).astype(float)
        starts = np.array([w.begin for w in self.windows])
        index = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        begin = starts[index]
        length = np.array([w.end - w.begin for w in self.windows])[index]
        share = (t - begin) / length
        ends = lambda key, n: np.array([getattr(w, key)[n] for w in self.windows])[index]  # noqa: E731
        low = ends("low", 0) * (1 - share) + ends("low", 1) * share
        high = ends("high", 0) * (1 - share) + ends("high", 1) * share
        # Beyond the pings the drift is only known to be no more than any.
        beyond = np.maximum(np.maximum(begin - t, t - begin - length), 0) * DRIFT_MAX
        return low - beyond, high + beyond

    def at(self, times_ns: np.ndarray) -> np.ndarray:
        """The offset at times of the clock here, in whole ns."""
        low, high = self._at(times_ns)
        return self.base + np.rint((low + high) / 2).astype(np.int64)

    def ways_ns(self, arrived_ns: np.ndarray, told_ns: np.ndarray) -> tuple[np.ndarray, float]:
        """How long messages from the other host took that arrived at these times by the clock here,
        and by how much that may be wrong, at most. Told are the differences of both clocks' times;
        the clocks differed by what they did when a message was sent."""
        sent = arrived_ns - told_ns - self.at(arrived_ns)
        return told_ns + self.at(sent), self.bound_ns(sent)

    def bound_ns(self, times_ns: np.ndarray | None = None) -> float:
        """By how much `at` may be wrong, at most."""
        if times_ns is None:
            return max((h - low) / 2 for w in self.windows
                       for low, h in zip(w.low, w.high, strict=True))  # fmt: skip
        low, high = self._at(times_ns)
        return float(np.max(high - low, initial=0) / 2)

    @property
    def drift_ppm(self) -> float:
        """How much faster the other clock goes, over all."""
        first, last = self.windows[0], self.windows[-1]
        if (span := last.end - first.begin) <= 0:
            return 0.0
        return float((last.low[1] + last.high[1] - first.low[0] - first.high[0]) / 2 / span * 1e6)


def estimate(
    sent: np.ndarray, there: np.ndarray, back: np.ndarray, came: np.ndarray,
    window_s: float = WINDOW_S,
) -> Offset:  # fmt: skip
    """From pings in order, in ns; NoEstimate where they allow none."""
    sent, there, back, came = (np.asarray(v).astype(np.int64) for v in (sent, there, back, came))
    if len(sent) < PINGS_MIN:
        raise NoEstimate(f"{len(sent)} echoes came back, {PINGS_MIN} are needed")
    if np.any(came < sent) or np.any(back < there):
        raise NoEstimate("a clock went backwards within an echo")
    since, base = int(sent[0]), int(np.median((there - sent + back - came) // 2))
    begin, end = (sent - since).astype(float), (came - since).astype(float)
    slack = (end - begin) * DRIFT_MAX
    high = (there - sent - base).astype(float) + slack
    low = (back - came - base).astype(float) - slack
    at = (begin + end) / 2
    edges = np.arange(0, max(at[-1], 1), window_s * 1e9)
    if len(edges) > 1 and at[-1] - edges[-1] < window_s * 5e8:
        edges = edges[:-1]  # a short rest belongs to the window before
    windows: list[_Window] = []
    for n, edge in enumerate(edges):
        until = edges[n + 1] if n + 1 < len(edges) else at[-1] + 1
        inside = (at >= edge) & (at < until)
        windows.append(_strip(at[inside], low[inside], high[inside], edge, until))
    for one, other in pairwise(windows):
        if max(one.low[1], other.low[0]) > min(one.high[1], other.high[0]):
            raise NoEstimate(f"the other clock jumped {one.end / 1e9:.1f} s after the first echo")
    return Offset(base, since, tuple(windows))


def _strip(at: np.ndarray, low: np.ndarray, high: np.ndarray, begin: float, end: float) -> _Window:
    """The offsets at both ends of all lines within the bounds."""
    from scipy.optimize import linprog  # takes half a second to load

    if len(at) < PINGS_MIN:
        what = f"{len(at)} echoes came back from {begin / 1e9:.1f} to {end / 1e9:.1f} s"
        raise NoEstimate(f"{what}, {PINGS_MIN} are needed")
    part = np.minimum(((at - begin) / (end - begin) * _PARTS).astype(int), _PARTS - 1)
    tight = sorted(
        {int(here[np.argmin(high[here] - low[here])])
         for n in range(_PARTS) if len(here := np.flatnonzero(part == n))}
        | {int(np.argmin(high)), int(np.argmax(low))}
    )  # fmt: skip
    # A line by its values at both ends; in the unit of the bounds' width, for the solver's sake.
    share = (at[tight] - begin) / (end - begin)
    scale = max(float(np.max(high[tight] - low[tight])), 1.0)
    rows = np.column_stack([1 - share, share])
    bounds = np.concatenate([high[tight], -low[tight]]) / scale
    found: dict[tuple[int, int], float] = {}
    for corner in (0, 1):
        for sign in (1, -1):
            goal = np.zeros(2)
            goal[corner] = sign
            steepest = (end - begin) * DRIFT_MAX / scale
            drift = np.array([[1.0, -1.0], [-1.0, 1.0]])
            answer = linprog(
                goal, A_ub=np.vstack([rows, -rows, drift]),
                b_ub=np.concatenate([bounds, [steepest, steepest]]), bounds=[(None, None)] * 2,
            )  # fmt: skip
            if answer.status != 0:
                raise NoEstimate(
                    f"no offset and drift agree with the echoes from {begin / 1e9:.1f} to "
                    f"{end / 1e9:.1f} s: a clock jumped or wandered"
                )
            found[corner, sign] = float(answer.x[corner]) * scale
    return _Window(begin, end, (found[0, 1], found[1, 1]), (found[0, -1], found[1, -1]))


def early(by_ms: float, bound_ms: float) -> str:
    """Why what is said of two clocks can't be: something came so much before it was sent."""
    what = f"what came first was there {by_ms:.3g} ms before it was sent"
    return f"{what}, by clocks of which it is said that they are compared to {bound_ms:.3g} ms"


def doubt(clock: str, bound_ms: float | None, value_ms: float | None) -> str:
    """Why a time that was read from clocks says little; "": it does not."""
    if clock.startswith("not known"):
        return "of hosts whose clocks can't be compared"
    if bound_ms and value_ms is not None and bound_ms > OPEN_MAX * value_ms:
        return f"of hosts whose clocks leave more than {OPEN_MAX:.0%} open"
    return ""


def digits_ms(value_ms: float, bound_ms: float, sign: str = "-") -> str:
    """A time in words that claim no more than is known: no digit below the bound. With `sign` "+"
    what is above 0 has one, too."""
    places = _places(bound_ms)
    return f"{round(value_ms, places) + 0.0:{sign}.{max(0, places)}f}"


def _places(bound_ms: float) -> int:
    """A digit whose unit is less than the bound is none; with a wide one units, tens are none."""
    return int(np.floor(1e-9 - np.log10(bound_ms)))


def outwards_ms(low_ms: float, high_ms: float, bound_ms: float) -> tuple[str, str]:
    """The ends of an interval so, which is not made narrower by that."""
    unit = 10.0 ** -_places(bound_ms)
    ends = np.floor(low_ms / unit) * unit, np.ceil(high_ms / unit) * unit
    return digits_ms(ends[0], bound_ms, "+"), digits_ms(ends[1], bound_ms, "+")
