"""Where in the receiver's turn messages were sent.

A polled federate takes a message at its next turn, so each delivery time holds what is left of that
turn. Timers of one rate keep their phase for a whole test: then this is one draw, the same for all
messages. Those of a test differ in rate (`drift_ppm`: each federate's periods are so many
millionths longer than those of the one before), so messages meet every phase.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .oneway import Flow

# What the phase leaves, in turns: what comes back lower than that may be of its making.
_LEFT = 0.02
# With a larger part of a turn without any message the shortest delivery says little of an LRC.
GAP_MAX = 0.05
# So many neighbours in phase, to either side, say what the phase makes of a message.
_NEIGHBOURS = 24
# What part of a turn before and after its step messages may miss one, or not.
_AROUND = 50


def ticks(tick_hz: float, drift_ppm: float, station: int) -> float:
    """Turns a second of the federate with this number."""
    return tick_hz / (1 + drift_ppm * 1e-6 * (station - 1))


def turn_ms(setting: dict, station: int) -> float:
    """How long a turn of this federate is."""
    return 1000 / ticks(setting["tick_hz"], setting.get("drift_ppm", 0), station)


def beat_s(setting: dict, one: int, other: int) -> float | None:
    """In what time two federates' timers meet at every phase once; None: they keep theirs."""
    hz = abs(1000 / turn_ms(setting, one) - 1000 / turn_ms(setting, other))
    return 1 / hz if hz else None


def phase(flow: Flow, turn: float) -> np.ndarray:
    """Of each message, in turns of the receiver (ms) since one of its beginnings."""
    return flow.seconds * 1000 / turn % 1


def gap(flow: Flow, turn: float) -> float:
    """The largest part of the receiver's turn in which no message was sent: by so much of a turn
    the shortest delivery may be longer than one for which nobody waited."""
    if not len(flow.seconds):
        return 1.0
    at = np.sort(phase(flow, turn))
    return float(np.diff(at, append=at[0] + 1).max())


def without(flow: Flow, turn: float) -> np.ndarray:
    """Delivery times without what hangs on the phase: their middle course over it is taken off.
    Spikes stay."""
    at = phase(flow, turn)
    if len(at) < 4 * _NEIGHBOURS:
        return flow.ms
    order = np.argsort(at, kind="stable")
    # What is left to wait falls by a turn over a turn: without that only a step remains, where
    # messages just miss one.
    level = (flow.ms + at * turn)[order]
    wide = np.concatenate([level[-_NEIGHBOURS:] - turn, level, level[:_NEIGHBOURS] + turn])
    course = np.median(sliding_window_view(wide, 2 * _NEIGHBOURS + 1), axis=1)
    rest = level - course
    # Whether one misses it or does not is of the phase, too.
    around = np.concatenate([course[-_NEIGHBOURS:] - turn, course, course[:_NEIGHBOURS] + turn])
    step = np.abs(around[2 * _NEIGHBOURS :] - around[: -2 * _NEIGHBOURS]) > turn / 2
    half = max(_NEIGHBOURS, len(rest) // _AROUND)
    seen = np.cumsum(np.concatenate([[0], step[-half:], step, step[:half]]))
    near = seen[2 * half + 1 :] > seen[: -2 * half - 1]
    missed = near & (np.abs(rest) > turn / 2) & (np.abs(rest) < 1.5 * turn)
    rest[missed] -= np.sign(rest[missed]) * turn
    found = np.empty(len(rest))
    found[order] = rest
    return found + float(np.median(flow.ms))


Reads = Callable[[], Flow]


def beside(
    flows: list[tuple[str, str, Reads, dict, tuple[int, int]]],
) -> tuple[Iterator[tuple[str, str, Flow, float]], str]:
    """What of flows (on what, which, what reads their times, their test's setting, numbers of
    sender and receiver) does not hang on the phase, with what of it (ms) may be left, one after the
    other, as not all need be in memory; and what is taken off, in words."""
    beats = list(filter(None, (_beat_s(setting, ends) for *_, setting, ends in flows)))
    said = f"{len(flows)} flows were looked at, so noise alone may show one in a hundred of them. "
    if beats:
        said += (
            f"In {len(beats)} flows to polled federates delivery times rise and fall with the "
            f"phase of the two timers, which goes through a turn once in {min(beats):.3g} to "
            f"{max(beats):.3g} s because their rates were made to differ: that is taken off "
            f"before, but for {_LEFT:g} of a turn: what is no higher than that is left out."
        )
    return map(_rest, flows), said


def _beat_s(setting: dict, ends: tuple[int, int]) -> float | None:
    """Of a flow; None: nothing of it hangs on the phase."""
    return None if setting["threaded"] else beat_s(setting, *ends)


def _rest(
    of: tuple[str, str, Reads, dict, tuple[int, int]],
) -> tuple[str, str, Flow, float]:
    on, what, read, setting, ends = of
    flow = read()
    if not _beat_s(setting, ends):
        return on, what, flow, 0.0
    turn = turn_ms(setting, ends[1])
    return on, what, replace(flow, ms=without(flow, turn)), _LEFT * turn
