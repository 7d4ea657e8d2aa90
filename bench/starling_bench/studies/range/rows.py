"""Rows and summaries of the range test bed, and the variables that tests differ in."""

from pathlib import Path

import numpy as np

from ...by_hand.planner import Outcome, Planning, rank
from ...errors import BenchError
from ...kept import summarized
from ...kept.store import Store
from ...machines.rti import RAW
from ...reports import transports
from ...statistics import differences, rates, stats
from ...study import Columns
from ...times import clocks, oneway, phases, samples
from ...variables import BETWEEN, ON, Variable, Variables, setting
from .fields import DRIFT_PPM, FLOW, fastest, planned, setting_of

_TEXTS = ("sequence", "execution", "transport", "scheduling", "sender", "receiver", "clock",
          "held")  # fmt: skip
_FIGURES = ("hz", "budget_ms", "in_budget", "min_ms", "mean_ms", "p50_ms", "p90_ms", "p99_ms",
            "p999_ms", "max_ms", "ping_ms", "lrc_ms", "phase_gap", "bound_ms", "late_share",
            "others_cpu")  # fmt: skip
_NAMES = (
    "sequence", "execution", "test", "federates", "bytes", "hz", "transport", "tick_hz",
    "scheduling", "pair", "sender", "receiver", "sample", "planned", "sent", "received", "lost",
    "doubled", "disordered", "elements_missed", "dropped", "budget_ms", "in_budget", "min_ms",
    "mean_ms", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms", "ping_ms", "lrc_ms", "phase_gap",
    "clock", "bound_ms", "held", "late_share", "log_bytes", "others_cpu",
)  # fmt: skip
COLUMNS = Columns(_NAMES, frozenset(_TEXTS), frozenset(_FIGURES))


def label(s: dict) -> str:
    """Size, rate and transportation of a flow."""
    size = f"{s['bytes'] / 1024:g} KB" if s["bytes"] % 1024 == 0 else f"{s['bytes']} B"
    return f"{size} at {s['hz']:g} Hz, {transports.words(s)}{unlike(s)}"


def unlike(s: dict) -> str:
    """What it is not, behind its name (named.marked)."""
    return f" ({s['unlike']})" if s.get("unlike") else ""


VARIABLES = Variables(
    (
        *ON,
        *(v for v in BETWEEN if v.title != "bundling"),
        Variable("bundling", lambda s: ("on" if s.get("bundling", True) else "off") + unlike(s),
                 line=True),
        Variable("transport", transports.words, line=True, always=True),
        Variable("callbacks", setting("threaded"), lambda v: "threaded" if v else "polled",
                 line=True),
        Variable("scheduling", lambda s: s["scheduling"], line=True),
        Variable("federates", lambda s: s["federates"], axis=True, always=True),
        Variable("bytes", lambda s: s["bytes"], axis=True, always=True),
        Variable("Hz", lambda s: s["hz"], lambda v: f"{v:g}", axis=True, always=True),
        Variable("turns a second", lambda s: s["tick_hz"], axis=True),
        Variable("test", lambda s: s["test"], line=True, speaks=True),
    ),
    differences.WHERE,
    label,
)  # fmt: skip


def directory(store: Store, of: dict) -> Path:
    """Where the federates of a row wrote."""
    return store.directory / of["sequence"] / of["execution"]


def flow(store: Store, row: dict, setting: dict) -> oneway.Flow:
    """Its times; clocks.NoEstimate where hosts' clocks can't be told."""
    clock = setting.get("clock", "same")
    return oneway.flow(directory(store, row), row["test"], row["sender"], row["receiver"], clock)


def figures(store: Store, row: dict) -> dict:
    """Those of a row that follow from what was logged."""
    record = store.record(row["sequence"], row["execution"])
    setting = record["tests"][str(row["test"])]
    told = samples.facts(directory(store, row), row["test"], row["sender"])
    turns, late, missed = map(told["deadlines"].get, ("turns", "late", "missed"))
    own = setting_of(setting, told["station"]) | {
        "held": "yes" if row["sent"] >= rates.HELD * row["planned"] else "no",
        "late_share": (late + missed) / max(turns + missed, 1),
    }
    try:
        found = flow(store, row, setting)
    except clocks.NoEstimate as e:
        return _nothing() | own | {"clock": f"not known: {e}"}
    if len(ms := found.ms) != row["received"] - row["dropped"]:
        what = f"'{row['receiver']}' counted {row['received']} messages of '{row['sender']}' in "
        what += f"test {row['test']}, and {len(ms)} are in its log"
        at = directory(store, row), "samples", row["test"], row["receiver"], "parquet"
        raise BenchError("STL-RUN-009", what, str(samples.file(*at)), "read the federates' logs")
    if not len(ms):
        return _nothing() | own | {"in_budget": 0.0, "clock": setting["clock"]}
    gap = 0.0
    if not setting["threaded"]:
        station = samples.facts(directory(store, row), row["test"], row["receiver"])["station"]
        gap = phases.gap(found, phases.turn_ms(setting, station))
    sorted_ms = np.sort(ms)
    ping = oneway.ping_ms(directory(store, row), row["test"], row["sender"], row["receiver"])
    by = summarized.way([record], str(row["test"]), row)["way"]
    unknown = ping is None or gap > phases.GAP_MAX or transports.around(record.get("hosts"), by)
    lrc = None if unknown else (float(sorted_ms[0]) - ping) / 2
    known = lambda p: stats.percentile_if_known(sorted_ms, p)  # noqa: E731
    # What never came is not in budget, nor is what by the clocks' bound may have come later.
    surely = ms + found.bound_ms <= own["budget_ms"]
    inside = float(np.count_nonzero(surely) / max(row["sent"], 1))
    return own | {
        "in_budget": inside, "min_ms": float(sorted_ms[0]), "mean_ms": float(ms.mean()),
        "p50_ms": known(50), "p90_ms": known(90), "p99_ms": known(99), "p999_ms": known(99.9),
        "max_ms": float(sorted_ms[-1]), "ping_ms": ping, "lrc_ms": lrc,
        "phase_gap": gap, "bound_ms": found.bound_ms, "clock": setting["clock"],
    }  # fmt: skip


def _nothing() -> dict:
    return dict.fromkeys({k for k in _FIGURES if k.endswith("_ms")} | {"in_budget", "phase_gap"})


def row(store: Store, sequence: str, execution: str, event: dict) -> dict:
    """What came of a pair, as the master told it and as it was logged."""
    found = {**event, "sequence": sequence, "execution": execution}
    record = store.record(sequence, execution)
    setting = record["tests"][str(found["test"])]
    at = directory(store, found)
    told, heard = (samples.facts(at, found["test"], found[k]) for k in ("sender", "receiver"))
    found |= {k: setting[k] for k in ("federates", "transport", "tick_hz")}
    found["scheduling"] = samples.scheduling(setting["scheduling"], told, heard)
    found["log_bytes"] = samples.log_bytes(at, found["test"], found["receiver"])
    found |= figures(store, found)
    if missing := [c for c in _NAMES if c not in found]:
        raise BenchError("STL-RUN-007", f"the master sent a row without {missing[0]}")
    return found


# What a summary has of its rows as it is.
_KEYS = tuple(n for n in _NAMES if n not in ("sample", "others_cpu"))


def summarize(of: list[dict], store: Store, setting: dict) -> dict:
    """One test and pair: there is one row of it."""
    return {key: of[-1][key] for key in _KEYS} | {"samples": len(of)}


def _outcome(store: Store, s: dict, setting: str, share: float) -> Outcome:
    ms = np.empty(0) if s["mean_ms"] is None else flow(store, s, s["setting"]).ms
    most, sends = rank(s["sent"], share), s["sender"] == "f1"
    high = float(np.sort(ms)[most - 1]) if most <= len(ms) else None
    words = f"{label(s)}, {'sent' if sends else 'received'}"
    if s["federates"] > 2:
        words += f" to {s['receiver']}" if sends else f" from {s['sender']}"
    words += s["scheduling"].removeprefix("normal").removeprefix("realtime")  # what was not allowed
    return Outcome(setting, words, s["budget_ms"], s["in_budget"], high, s["held"] == "yes",
                   s["sent"], s["bound_ms"] or 0.0, ms, s["clock"], s["planned"])  # fmt: skip


_UNBUNDLED = {"bundling": False}
PLANNING = Planning(
    {
        "500 turns a second, polled, unbundled, real-time": ({}, _UNBUNDLED),
        "100 turns a second": ({"tick_hz": 100}, _UNBUNDLED),
        "bundling": ({}, {"bundling": True}),
        "callbacks by a thread": ({"threaded": True}, _UNBUNDLED),
        "normal scheduling": ({"scheduling": "normal"}, _UNBUNDLED),
    },
    planned,
    _outcome,
    lambda setting, adapter, test: (
        (adapter not in RAW or setting not in ("bundling", "callbacks by a thread"))
        and (
            setting != "100 turns a second"
            or fastest(test) <= phases.ticks(100, DRIFT_PPM, test["federates"])
        )
    ),
    {"clock": "estimate"},
    FLOW,
    "64B@2",
)
