"""RTIBM's rows and summaries, and the variables its figures are drawn by."""

from dataclasses import asdict

import numpy as np

from ...kept import results
from ...kept.store import Store
from ...statistics import loops, rates, stats
from ...statistics.differences import RTIS, WHERE, Question, rti_in
from ...study import Columns
from ...tsf.sequences import SWITCHES
from ...variables import BETWEEN, ON, Variable, Variables, setting

_TEXTS = ("sequence", "execution", "kind", "transport", "sender", "receiver")
_NAMES = (
    "sequence", "execution", "test", "kind", "transport", "loop", "types", "instances", "buffers",
    "bytes", "updates", "pair", "sender", "receiver", "sample", "sent", "received", "lost", "late",
    "send_s", "receive_s", "rate_hz", "mb_per_s", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms",
    "rtt_p50_ms", "rtt_p90_ms", "rtt_p99_ms", "rtt_p999_ms", "rtt_max_ms", "doubled", "others_cpu",
    "came_reliably", "heartbeats", "unrecorded",
)  # fmt: skip
_REAL = frozenset(c for c in _NAMES if c.endswith(("_s", "_hz", "_ms", "_cpu")))
COLUMNS = Columns(_NAMES, frozenset(_TEXTS), _REAL, signed=False)


def label(s: dict) -> str:
    """Test kind and transport."""
    return f"{s['kind']} {s['transport'].replace('_', ' ')}"


def latency(s: dict) -> bool:
    """A test of round trips, not of throughput."""
    return s["kind"].startswith("RT")


VARIABLES = Variables(
    (
        *ON,
        Variable("test", label, line=True, always=True, speaks=True),
        Variable("transport by", setting("transport_by"), line=True),
        *BETWEEN,
        *(Variable(switch.replace("_", " "), setting(switch), line=True) for switch in SWITCHES),
        Variable("loop", lambda s: s["loop"], lambda v: f"V{v}", line=True, speaks=True),
        Variable("pairs", lambda s: s.get("pairs", 1), axis=True),
        Variable("types", lambda s: s["types"], axis=True, always=True),
        Variable("instances", lambda s: s["instances"], axis=True, always=True),
        Variable("buffers", lambda s: s["buffers"], axis=True, always=True),
        Variable("bytes", lambda s: s["bytes"], axis=True, always=True),
        Variable("updates", lambda s: s["updates"], axis=True),
        Variable("warm-up", setting("warm_up"), axis=True),
        Variable("most bytes queued", setting("queued_bytes_max"), axis=True),
        Variable("most updates queued", setting("queued_updates_max"), axis=True),
        Variable("most round trips under way", setting("outstanding_max"), axis=True),
        Variable("tick min s", setting("tick_min_s"), axis=True),
        Variable("tick max s", setting("tick_max_s"), axis=True),
    ),
    WHERE,
    label,
)


def _data(s: dict) -> str:
    return "objects" if s["kind"] in ("OWOT", "RTOL") else "interactions"


def _family(s: dict) -> str:
    kind = "round trip" if latency(s) else "one way"
    return f"{kind}, {s['transport'].replace('_', ' ')}"


# What is compared: RTIs, loops of one RTI, objects and interactions.
QUESTIONS = (
    RTIS,
    Question(lambda s: f"loop V{s['loop']}", frozenset({"loop"}), rti_in, "loops of one RTI"),
    Question(_data, frozenset({"test"}), lambda s: f"{rti_in(s)}, {_family(s)}",
             "objects and interactions"),
)  # fmt: skip


def families(summaries: list[dict]) -> dict[str, list[dict]]:
    """Round trips and throughput, whose values can't be compared."""
    found: dict[str, list[dict]] = {}
    for s in summaries:
        found.setdefault("round trip" if latency(s) else "one way", []).append(s)
    return found


def value(row: dict) -> float | None:
    """The figure by which samples are compared."""
    return row["rtt_mean_ms"] if latency(row) else rate(row)


def rate(row: dict) -> float:
    """Per second."""
    return row["rate_hz"] if latency(row) else rates.rate(row)


def doubt(of: dict) -> str:
    """Why the figure by which a row or a summary is compared says little; "": it does not. What an
    RTI must not lose is no faster for it."""
    if said := (loops.trip_doubt if latency(of) else loops.sleep_doubt)(of):
        return said
    if of.get("transport") == "reliable" and of.get("lost"):
        return "of an RTI that lost reliable messages"
    if of.get("transport") == "reliable" and of.get("doubled"):
        return "of an RTI that delivered reliable messages more than once"
    return rates.doubt(of, rates.TRIPS_MIN_S if latency(of) else rates.SPAN_MIN_S)


def rate_doubt(of: dict) -> str:
    """The same of a summary's rate."""
    return doubt(of) or (loops.rate_doubt(of) if latency(of) else "")


def figures(store: Store, row: dict, trips: dict[int, np.ndarray]) -> dict:
    """Those of a sample's round trips; BenchError if its counts or these are wrong."""
    results.check_sum(row)
    return stats.sample(store.trips(row, trips) if latency(row) else np.empty(0))


def row(store: Store, sequence: str, execution: str, event: dict) -> dict:
    """A sample as the master told it, with the figures of its round trips."""
    found = {**event, "sequence": sequence, "execution": execution}
    found |= figures(store, found, store.fresh(sequence, execution, event))
    return loops.check_trips(results.check_counts(found, COLUMNS))


# What a summary has in common with its rows.
_KEYS = _NAMES[: _NAMES.index("sample")]


def summarize(rows: list[dict], round_trips: list[np.ndarray], tolerance_ms: float) -> dict:
    """One test and pair: the rows of its samples and, for latency, their round trips."""
    out = {key: rows[0][key] for key in _KEYS}
    out["samples"] = len(rows)
    for key in ("sent", "received", "lost", "late", "doubled", "came_reliably", "heartbeats",
                "unrecorded"):  # fmt: skip
        out[key] = sum(row.get(key) or 0 for row in rows)
    out |= rates.summary(rows, not latency(out))
    out["slept"] = 0 if latency(out) else sum(map(loops.slept, rows))
    found = stats.latency(round_trips, tolerance_ms)
    out["rtt_ms"] = asdict(found) if found else None
    told = [row for row in rows if row.get("rtt_mean_ms") is not None]
    if found and told and all("round" in row for row in told):
        of = stats.spread([row["rtt_mean_ms"] for row in told], [row["round"] for row in told])
        out["rtt_ms"] |= {"mean_low": of.low, "mean_high": of.high}
    return out
