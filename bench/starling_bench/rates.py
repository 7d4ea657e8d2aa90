"""Rates of samples one way: those over too soon to tell one, and which test was best."""

from dataclasses import asdict

from . import stats
from .differences import on

# A delay of a scheduler's turn, a few ms, must be a small part of a sample that is to tell a rate.
SPAN_MIN_S = 0.01


def rate(row: dict) -> float:
    """Per second, over the longer of sending and receiving: a receiver that was not scheduled
    meanwhile drains what has gathered faster than anybody sent it."""
    sending, receiving = row.get("send_s") or 0, row.get("receive_s") or 0
    return row["rate_hz"] if sending <= receiving else row["received"] / sending


def _megabytes(row: dict, hz: float) -> float:
    """Per second, at that rate."""
    own = row["rate_hz"] == hz
    return row["mb_per_s"] if own else hz * row["bytes"] * row["buffers"] * 1e-6


def _short(row: dict) -> bool:
    """It was over too soon to tell a rate."""
    spans = [row.get(key) for key in ("send_s", "receive_s")]
    return None not in spans and max(spans) < SPAN_MIN_S


def doubt(of: dict) -> str:
    """Why a row's or a summary's rate says little; "" if nothing speaks against it. A summary's
    does where half of its samples do: what fewer make of its mean is in the mean's interval."""
    if not (2 * of["short"] >= of["samples"] if "short" in of else _short(of)):
        return ""
    return f"too short to tell (below {SPAN_MIN_S * 1e3:.0f} ms a sample): take more updates"


def summary(rows: list[dict], one_way: bool) -> dict:
    """Over the samples of one test and pair; round trips' rates are as they were counted."""
    hz = [rate(row) if one_way else row["rate_hz"] for row in rows]
    mb = [_megabytes(row, at) for row, at in zip(rows, hz, strict=True)]
    rounds = [row.get("round") for row in rows]
    return {
        "short": sum(map(_short, rows)) if one_way else 0,
        "rate_hz": asdict(stats.spread(hz, rounds)),
        "callbacks_hz": stats.spread([row["rate_hz"] for row in rows]).mean,
        "mb_per_s": asdict(stats.spread(mb, rounds)),
    }


def named(s: dict) -> str:
    """On what a test ran, and what of it was lost: figures are of what came."""
    return f"{on(s)} ({s['lost'] / s['sent']:.2g} of it lost)" if s.get("lost") else on(s)


def best(group: list[dict]) -> str:
    """Of tests that are alike the one with the best mean, and that; of which ones it can't be told,
    as they may be better."""
    doubted = {on(s): said for s in group if (said := doubt(s))}
    told = [s for s in group if not doubt(s)]
    if not told:
        return next(iter(doubted.values()))
    found = max(told, key=lambda s: s["rate_hz"]["mean"])
    said = f"{named(found)}, {found['rate_hz']['mean']:,.0f} updates/s"
    if not doubted:
        return said
    return f"{said}; {', '.join(doubted)}: {next(iter(doubted.values()))}"
