"""Loops of updates that are sent one way, or come back: how many are sent together, how long that
takes, what of it says little, and which figures are those of a loop's waits and not the RTI's.
"""

import itertools
import math
from collections.abc import Iterator
from statistics import fmean

from ..errors import BenchError
from ..study import COUNT_MAX
from .rates import TRIPS_MIN_S


def together(fields: dict, limited: bool = False) -> int:
    """How many updates a sender queues at most until it flushes, by the fields of a test; with
    `limited` also by how many may be under way."""
    size = fields["buffers"] * fields["buffer_bytes"]
    by_bytes = -(-fields["queued_bytes_max"] // size)
    items = fields["types"] * fields["instances"]
    most = min(items, by_bytes, fields["queued_updates_max"])
    under_way = fields["outstanding_max"] if limited and fields["kind"].startswith("RT") else 0
    return min(most, under_way) if under_way else most


# What a round trip, a message one way, a flush of such and what is around a sample take, roughly:
# on an idle machine with two CPUs, an RTI with a server. Loop V2 sleeps at both ends of a trip, for
# somewhat longer than it asks for; loop V1 waits for the rest of a tick there, at its sender's on
# the average for half of one.
_TRIP_S, _SLEEP_S, _MESSAGE_S, _FLUSH_S, _SAMPLE_S = 4e-5, 5e-5, 2.5e-7, 2.5e-6, 0.06
_TICKS = 1.5


def _flushes(fields: dict[str, list]) -> float:
    """How many an update takes, on average: one for each round of items, or for what is queued."""
    items = fmean(1 / n for n in fields["types"]) * fmean(1 / n for n in fields["instances"])
    size = fmean(fields["buffers"]) * fmean(fields["buffer_bytes"])
    by_bytes = fmean(min(1.0, size / n) for n in fields["queued_bytes_max"])
    return max(items, by_bytes, fmean(1 / n for n in fields["queued_updates_max"]))


def seconds(fields: dict[str, list]) -> float:
    """About how long one of the tests takes whose fields have one of these values each, on
    average."""
    mean = {k: fmean(fields[k]) for k in ("updates", "warm_up", "samples")}
    tick_min_s, tick_max_s = fmean(fields["tick_min_s"]), fmean(fields["tick_max_s"])
    # How long a loop waits in a round trip, and behind a flush in which nothing comes.
    waits = {1: (_TICKS * tick_min_s, tick_min_s / 2), 2: (1.5 * _SLEEP_S, _SLEEP_S)}
    flushes, each = _flushes(fields), []
    for kind, loop, outstanding in itertools.product(
        fields["kind"], fields["loop_version"], fields["outstanding_max"]
    ):
        within, silent = waits.get(loop, (0.0, tick_max_s))
        if not kind.startswith("RT"):
            each.append(_MESSAGE_S + _FLUSH_S * flushes)
        elif outstanding == 0:
            each.append(2 * _MESSAGE_S + (_TRIP_S + within + silent) * flushes)
        else:
            each.append(_TRIP_S + within)
    return mean["samples"] * (_SAMPLE_S + (mean["updates"] + mean["warm_up"]) * fmean(each))


# At a million a second, which the fastest come near, they last as long as rates.SPAN_MIN_S; of
# several in a flush the fastest take up to so many times as many.
_UPDATES_MIN, _TOGETHER_MAX = 10_000, 20
# The shortest round trip that there is: by shared memory, who waits turning circles.
_TRIP_MIN_S = 1.4e-6


def cautions(fields: dict[str, list]) -> Iterator[tuple[str, str, str]]:
    """What will run, but say little: field, what, what to do."""
    kinds = set(fields["kind"])
    most = {k: max(fields[k]) for k in ("types", "instances", "queued_bytes_max",
                                        "queued_updates_max")}  # fmt: skip
    most |= {k: min(fields[k]) for k in ("buffers", "buffer_bytes")}
    few = min(fields["updates"])
    if kinds & {"OWOT", "OWIT"}:
        needed = _UPDATES_MIN * min(together(most), _TOGETHER_MAX)
        if few < needed:
            what = f"{few:,} updates one way may be over too soon to tell a rate"
            yield "updates", what, f"take {needed:,} or more"
    if kinds & {"RTOL", "RTIL"}:
        bounds = set(fields["outstanding_max"])
        silent_s = min(fields["tick_max_s"]) / together(most) if bounds == {0} else 0.0
        shortest_s = _SLEEP_S if set(fields["loop_version"]) == {2} else _TRIP_MIN_S
        needed = math.ceil(TRIPS_MIN_S / max(silent_s, shortest_s))
        if few < needed:
            what = f"{few:,} round trips may be over too soon to tell how long they are"
            yield "updates", what, f"take {needed:,} or more"
        most["outstanding_max"] = 0 if 0 in bounds else max(bounds)
    for field in ("queued_bytes_max", "queued_updates_max"):
        for kind in fields["kind"]:
            at = [together(most | {"kind": kind, field: v}, True) for v in sorted(fields[field])]
            if same := next((n for n, m in itertools.pairwise(at) if n == m), 0):
                what = f"several of {field} are one: {kind} has at most {same:,} updates queued"
                yield field, what, "take smaller ones, more items, or set outstanding_max = 0"
                break


# A tick is that small or large a part of a figure where the figure is the RTI's.
_PART = 20
# A flush that takes so much of the wait behind it is hardly longer than that.
_WAITED = 0.4


def trip_doubt(of: dict) -> str:
    """Why a row's or a summary's round trips say little, or nothing. Loop V1 waits in
    `tick(min, max)`: who returns gives the answers behind that wait, and an RTI that keeps the
    minimum holds what came for the rest of it. One that does not is faster by this alone."""
    tick_s = of.get("setting", {}).get("tick_min_s")
    known = (of.get("rtt_ms") or {}).get("mean", of.get("rtt_mean_ms"))
    if known is None:
        return "all lost"
    if of["loop"] != 1 or not tick_s:
        return ""
    if not tick_s / _PART < known * 1e-3 < tick_s * _PART:
        return ""
    return f"the tick's (loop V1, tick_min_s {tick_s:g}) and not the RTI's: take another loop"


# A sleep of loop V2 takes up to so many times as long where the machine is slow.
_SLEEPS_MAX = 4


def slept(row: dict) -> bool:
    """Whether a sample one way was as fast as the receiver's sleeps. Loop V2 sleeps before each
    wait, and an RTI that returns from that with its first callback gives one message for a sleep,
    while most of its time nothing more is sent."""
    sending, receiving = row.get("send_s") or 0, row.get("receive_s") or 0
    if row["loop"] != 2 or row["received"] < 2 or 2 * sending > receiving:
        return False
    return _SLEEP_S <= receiving / (row["received"] - 1) <= _SLEEPS_MAX * _SLEEP_S


def sleep_doubt(of: dict) -> str:
    """Why a row's or a summary's rate one way says little: half of its samples, or more, were
    `slept`."""
    found = 2 * of["slept"] >= of["samples"] if "slept" in of else slept(of)
    if not found:
        return ""
    return "the loop's (V2 sleeps before each message) and not the RTI's: take another loop"


def rate_doubt(of: dict) -> str:
    """Why a summary's update frequency says little: without a limit of round trips under way each
    flush ends with a wait in which nothing comes, but in loop V2."""
    setting = of.get("setting", {})
    if setting.get("outstanding_max") != 0 or of["loop"] == 2 or not of["rate_hz"]["mean"]:
        return ""
    field = "tick_min_s" if of["loop"] == 1 else "tick_max_s"
    wait_s = setting[field]
    flush_s = together(setting) / of["rate_hz"]["mean"]
    if flush_s * _WAITED > wait_s or flush_s < wait_s * _WAITED:
        return ""
    return f"the tick's ({field} {wait_s:g} behind each flush) and not the RTI's: set a limit"


# ---- what a federate may claim of a sample

ASKED = ("kind", "transport", "loop", "types", "instances", "buffers", "bytes", "updates")
_SPAN_S = (1e-9, 1e8)
POSSIBLE = {
    **dict.fromkeys(("sent", "received", "lost"), (1, "updates")),
    **dict.fromkeys(("send_s", "receive_s"), _SPAN_S),
    **dict.fromkeys(
        ("late", "doubled", "came_reliably", "heartbeats", "unrecorded"), (1, COUNT_MAX)
    ),
}


def made(event: dict, asked: dict) -> dict[str, float]:
    """Rates as its counts and spans make them: round trips by the sender's time, else the intervals
    between arrivals by the receiver's."""
    if not {"send_s", "receive_s", "received"} <= event.keys():
        return {}
    round_trips = asked["kind"].startswith("RT")
    span_s = event["send_s" if round_trips else "receive_s"]
    intervals = event["received"] - (0 if round_trips else 1)
    rate_hz = intervals / span_s if span_s > 0 and intervals > 0 else 0.0
    return {"rate_hz": rate_hz, "mb_per_s": rate_hz * asked["bytes"] * asked["buffers"] * 1e-6}


def check_trips(row: dict) -> dict:
    """The row; BenchError if its round trips can't be."""
    longest = row["rtt_max_ms"]
    if longest is not None and not 0 < longest <= _SPAN_S[1] * 1e3:
        raise BenchError(
            "STL-RUN-007", f"sample {row['sample']} of test {row['test']} has round trips of at "
            f"most {longest:g} ms, which can't be", do="read the logs of its federates",
        )  # fmt: skip
    return row
