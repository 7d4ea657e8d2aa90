"""RTIBM's rows and summaries, and the variables its figures are drawn by."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from ... import stats
from ...differences import WHERE, Question, on
from ...errors import BenchError
from ...plan import SWITCHES
from ...store import Store
from ...study import Columns
from ...variables import Variable, Variables

_TEXTS = ("sequence", "execution", "kind", "transport", "sender", "receiver")
_NAMES = (
    "sequence", "execution", "test", "kind", "transport", "loop", "types", "instances", "buffers",
    "bytes", "updates", "pair", "sender", "receiver", "sample", "sent", "received", "lost", "late",
    "send_s", "receive_s", "rate_hz", "mb_per_s", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms",
    "rtt_p50_ms", "rtt_p90_ms", "rtt_p99_ms", "rtt_p999_ms", "rtt_max_ms", "doubled", "others_cpu",
    "came_reliably", "heartbeats", "unrecorded",
)  # fmt: skip
COLUMNS = Columns(
    _NAMES,
    frozenset(_TEXTS),
    frozenset(c for c in _NAMES if c.endswith(("_s", "_hz", "_ms", "_cpu"))),
)


def label(s: dict) -> str:
    """Test kind and transport."""
    return f"{s['kind']} {s['transport'].replace('_', ' ')}"


def latency(s: dict) -> bool:
    """A test of round trips, not of throughput."""
    return s["kind"].startswith("RT")


def _setting(key: str) -> Callable[[dict], object]:
    return lambda s: s.get("setting", {}).get(key)


VARIABLES = Variables(
    (
        Variable("sequence", lambda s: s["sequence"], line=True),
        Variable("execution", lambda s: s["execution"], line=True),
        Variable("RTI", lambda s: s.get("rti", ""), line=True),
        Variable("test", label, line=True, always=True),
        Variable("transport by", _setting("transport_by"), line=True),
        Variable("pair", lambda s: f"{s['sender']} → {s['receiver']}", line=True),
        Variable("hosts", lambda s: s.get("hosts") or "one system", line=True),
        Variable("CPUs", lambda s: s.get("cpus", ""), line=True),
        Variable(
            "bundling", lambda s: s.get("bundling", True), lambda v: "on" if v else "off", line=True
        ),
        *(Variable(switch.replace("_", " "), _setting(switch), line=True) for switch in SWITCHES),
        Variable("loop", lambda s: s["loop"], lambda v: f"V{v}", line=True),
        Variable("pairs", lambda s: s.get("pairs", 1), axis=True),
        Variable("types", lambda s: s["types"], axis=True, always=True),
        Variable("instances", lambda s: s["instances"], axis=True, always=True),
        Variable("buffers", lambda s: s["buffers"], axis=True, always=True),
        Variable("bytes", lambda s: s["bytes"], axis=True, always=True),
        Variable("updates", lambda s: s["updates"], axis=True),
        Variable("warm-up", _setting("warm_up"), axis=True),
        Variable("most bytes queued", _setting("queued_bytes_max"), axis=True),
        Variable("most updates queued", _setting("queued_updates_max"), axis=True),
        Variable("most round trips under way", _setting("outstanding_max"), axis=True),
        Variable("tick min s", _setting("tick_min_s"), axis=True),
        Variable("tick max s", _setting("tick_max_s"), axis=True),
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
    Question(on),
    Question(lambda s: f"loop V{s['loop']}", frozenset({"loop"}), on),
    Question(_data, frozenset({"test"}), lambda s: f"{on(s)}, {_family(s)}"),
)


def families(summaries: list[dict]) -> dict[str, list[dict]]:
    """Round trips and throughput, whose values can't be compared."""
    found: dict[str, list[dict]] = {}
    for s in summaries:
        found.setdefault("round trip" if latency(s) else "one way", []).append(s)
    return found


def value(row: dict) -> float | None:
    """The figure by which samples are compared."""
    return row["rtt_mean_ms"] if latency(row) else rate(row)


# A delay of a scheduler's turn, a few ms, must be a small part of a sample that is to tell a rate.
SPAN_MIN_S = 0.01


def rate(row: dict) -> float:
    """Per second, over the longer of sending and receiving: a receiver that was not scheduled
    meanwhile drains what has gathered faster than anybody sent it."""
    sending, receiving = row.get("send_s") or 0, row.get("receive_s") or 0
    if latency(row) or sending <= receiving:
        return row["rate_hz"]
    return row["received"] / sending


def _megabytes(row: dict) -> float:
    """Per second, at `rate`."""
    found = rate(row)
    own = row["rate_hz"] == found
    return row["mb_per_s"] if own else found * row["bytes"] * row["buffers"] * 1e-6


def _short(row: dict) -> bool:
    """It was over too soon to tell a rate."""
    spans = [row.get(key) for key in ("send_s", "receive_s")]
    return not latency(row) and None not in spans and max(spans) < SPAN_MIN_S


def doubt(of: dict) -> str:
    """Why a row's or a summary's rate says little; "" if nothing speaks against it. A summary's
    does where half of its samples do: what fewer make of its mean is in the mean's interval."""
    if not (2 * of["short"] >= of["samples"] if "short" in of else _short(of)):
        return ""
    return f"too short to tell (below {SPAN_MIN_S * 1e3:.0f} ms a sample): take more updates"


def figures(store: Store, row: dict, trips: dict[int, np.ndarray]) -> dict:
    """Those of a sample's round trips."""
    return stats.sample(store.trips(row, trips) if latency(row) else np.empty(0))


def row(store: Store, sequence: str, execution: str, event: dict) -> dict:
    """A sample as the master told it, with the figures of its round trips."""
    found = {"sequence": sequence, "execution": execution, **event}
    found |= figures(store, found, store.raw(sequence, execution, event["test"], event["pair"]))
    if missing := [c for c in COLUMNS.names if c not in found]:
        raise BenchError("STL-RUN-007", f"the master sent a sample without {missing[0]}")
    if found["sent"] != found["received"] + found["lost"]:
        raise BenchError(
            "STL-RUN-007",
            f"sample {found['sample']} of test {found['test']}: {found['sent']} sent is not "
            f"{found['received']} received + {found['lost']} lost",
            do="the RTI delivered what nobody sent, or bmfed is wrong: read the logs",
        )
    return found


# What a summary has in common with its rows.
_KEYS = _NAMES[: _NAMES.index("sample")]


def summarize(rows: list[dict], round_trips: list[np.ndarray], tolerance_ms: float) -> dict:
    """One test and pair: the rows of its samples and, for latency, their round trips."""
    out = {key: rows[0][key] for key in _KEYS}
    out["samples"] = len(rows)
    for key in ("sent", "received", "lost", "late", "doubled", "came_reliably", "heartbeats",
                "unrecorded"):  # fmt: skip
        out[key] = sum(row.get(key) or 0 for row in rows)
    out["short"] = sum(map(_short, rows))
    out["rate_hz"] = asdict(stats.spread([rate(row) for row in rows]))
    out["callbacks_hz"] = stats.spread([row["rate_hz"] for row in rows]).mean
    out["mb_per_s"] = asdict(stats.spread([_megabytes(row) for row in rows]))
    found = stats.latency(round_trips, tolerance_ms)
    out["rtt_ms"] = asdict(found) if found else None
    return out
