"""Rates of samples: those over too soon to tell one, and which test was best."""

from collections.abc import Callable
from dataclasses import asdict

from . import stats
from .differences import on
from .idle import BUSY

# A delay of a scheduler's turn, a few ms, must be a small part of a sample that is to tell a rate;
# round trips, whose every wait the scheduler ends, take longer to be as usual.
SPAN_MIN_S, TRIPS_MIN_S = 0.01, 0.02


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


def _busy(row: dict) -> bool:
    """Other programs had a part of it, as far as that is known."""
    return (row.get("others_cpu") or 0) >= BUSY


def doubt(of: dict, least_s: float = SPAN_MIN_S) -> str:
    """Why a row's or a summary's figures say little; "" if nothing speaks against it. A summary's
    do where half of its samples do: what fewer make of its mean is in the mean's interval. But
    samples of which nothing came are in no interval."""
    if of.get("nothing"):
        return "of samples of which some brought nothing"
    if 2 * of["short"] >= of["samples"] if "short" in of else _short(of, least_s):
        return f"too short to tell (below {least_s * 1e3:.0f} ms a sample): take more updates"
    if 2 * of["busy"] >= of["samples"] if "busy" in of else _busy(of):
        return f"disturbed by other programs ({BUSY:.0%} of the CPUs or more): end these"
    return ""


def summary(rows: list[dict], one_way: bool) -> dict:
    """Over the samples of one test and pair; round trips' rates are as they were counted."""
    least_s = SPAN_MIN_S if one_way else TRIPS_MIN_S
    hz = [rate(row) if one_way else row["rate_hz"] for row in rows]
    mb = [_megabytes(row, at) for row, at in zip(rows, hz, strict=True)]
    rounds = [row.get("round") for row in rows]
    return {
        "short": sum(_short(row, least_s) for row in rows),
        "busy": sum(map(_busy, rows)),
        "nothing": sum(not row["rate_hz"] for row in rows),
        "rate_hz": asdict(stats.spread(hz, rounds)),
        "callbacks_hz": stats.spread([row["rate_hz"] for row in rows]).mean,
        "mb_per_s": asdict(stats.spread(mb, rounds)),
    }


def named(s: dict) -> str:
    """On what a test ran, and what of it was lost: figures are of what came."""
    return f"{on(s)} ({s['lost'] / s['sent']:.2g} of it lost)" if s.get("lost") else on(s)


def _hz(s: dict) -> float:
    return s["rate_hz"]["mean"]


def _by_rti(group: list[dict], worth: Callable[[dict], float]) -> list[tuple[str, float]]:
    """What each RTI's tests are worth, one with the other: who is in more sequences has no more
    tries than others."""
    own: dict[str, list[dict]] = {}
    for s in group:
        own.setdefault(s.get("setting", {}).get("rti") or on(s), []).append(s)
    return [
        (
            named(of[0]) if len(of) == 1 else f"{name}, {len(of)} tests one with the other",
            sum(map(worth, of)) / len(of),
        )
        for name, of in own.items()
    ]


def best(
    group: list[dict], doubted: Callable[[dict], str] = doubt,
    worth: Callable[[dict], float] = _hz, more_is_better: bool = True,
    said: Callable[[float], str] = lambda hz: f"{hz:,.0f} updates/s",
) -> str:  # fmt: skip
    """Of tests that are alike the RTI with the best mean, and that; of which ones it can't be told,
    as they may be better."""
    not_told = {on(s): why for s in group if (why := doubted(s))}
    told = _by_rti([s for s in group if not doubted(s)], worth)
    if not told:
        return next(iter(not_told.values()))
    name, value = (max if more_is_better else min)(told, key=lambda one: one[1])
    found = f"{name}, {said(value)}"
    for why in dict.fromkeys(not_told.values()):
        found += f"; {', '.join(where for where, of in not_told.items() if of == why)}: {why}"
    return found
