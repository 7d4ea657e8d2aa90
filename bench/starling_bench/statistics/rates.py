"""Rates of samples, and which say little: over too soon to tell one, or disturbed."""

import math
from dataclasses import asdict

from ..machines.idle import BUSY, busy
from . import stats

# A delay of a scheduler's turn, a few ms, must be a small part of a sample that is to tell a rate;
# round trips, whose every wait the scheduler ends, take longer to be as usual.
SPAN_MIN_S, TRIPS_MIN_S = 0.01, 0.02
HELD = 0.999  # who sends less of what was planned does not hold its rate


def rate(row: dict) -> float:
    """Per second, over the longer of sending and receiving: a receiver that was not scheduled
    meanwhile drains what has gathered faster than anybody sent it."""
    sending, receiving = row.get("send_s") or 0, row.get("receive_s") or 0
    return row["rate_hz"] if sending <= receiving else row["received"] / sending


def _megabytes(row: dict, hz: float) -> float:
    """Per second, at that rate."""
    own = row["rate_hz"] == hz
    return row["mb_per_s"] if own else hz * row["bytes"] * row["buffers"] * 1e-6


def _short(row: dict, least_s: float) -> bool:
    """It was over too soon to tell a rate."""
    spans = [row.get(key) for key in ("send_s", "receive_s")]
    return None not in spans and max(spans) < least_s


def doubt(of: dict, least_s: float = SPAN_MIN_S) -> str:
    """Why a row's or a summary's figures say little; "" if nothing speaks against it. A summary's
    do where half of its samples do: what fewer make of its mean is in the mean's interval. But
    samples of which nothing came are in no interval."""
    if of.get("nothing"):
        return "of samples of which some brought nothing"
    if 2 * of["short"] >= of["samples"] if "short" in of else _short(of, least_s):
        return f"too short to tell (below {least_s * 1e3:.0f} ms a sample): take more updates"
    return disturbed(of)


def disturbed(of: dict) -> str:
    """The same by what other programs did alone, whatever the figures are of."""
    if 2 * of["busy"] >= of["samples"] if "busy" in of else busy(of):
        return f"disturbed by other programs ({BUSY:.0%} of the CPUs or more): end these"
    # What can't be known is not taken for quiet where those around were not.
    if 2 * (of.get("busy", 0) + of.get("unjudged", 0)) >= of.get("samples", math.inf):
        return (
            "not known whether disturbed by other programs, as samples around them were: end "
            "these, or take more updates"
        )
    return ""


def alone(summaries: list[dict], wanted: bool = True) -> list[dict]:
    """Those that other programs left alone, or, where none other is `wanted`, all."""
    return [s for s in summaries if not (wanted and disturbed(s))]


def left_out(summaries: list[dict]) -> list[str]:
    """How many of these others did not, in words."""
    gone = len(summaries) - len(alone(summaries))
    said = f"{gone:,} of {len(summaries):,} tests are left out of what is said of times, as they"
    return [f"{said} were disturbed by other programs"] if gone else []


def summary(rows: list[dict], one_way: bool) -> dict:
    """Over the samples of one test and pair; round trips' rates are as they were counted."""
    least_s = SPAN_MIN_S if one_way else TRIPS_MIN_S
    hz = [rate(row) if one_way else row["rate_hz"] for row in rows]
    mb = [_megabytes(row, at) for row, at in zip(rows, hz, strict=True)]
    rounds = [row.get("round") for row in rows]
    return {
        "short": sum(_short(row, least_s) for row in rows),
        "busy": sum(map(busy, rows)),
        "nothing": sum(not row["rate_hz"] for row in rows),
        "rate_hz": asdict(stats.spread(hz, rounds)),
        "callbacks_hz": stats.spread([row["rate_hz"] for row in rows]).mean,
        "mb_per_s": asdict(stats.spread(mb, rounds)),
    }
