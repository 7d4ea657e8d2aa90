"""The study's rows and summaries, and the variables that tell its tests apart."""

from dataclasses import asdict

import numpy as np

from ...captured import callgrind, capture
from ...kept import results
from ...kept.store import Store
from ...statistics import differences, stats
from ...study import Columns
from ...variables import HOSTS, ON, Variable, Variables

SETTING = ("kind", "transport", "series", "layout", "attributes", "mode")
_SIZES = (*stats.SPAN, "bytes_p50")  # of the values of a measured call
_COUNTS = ("sent", "received", "lost", "doubled", "waited", "values", "messages", "came_reliably")
# The first four are made of the call's times, which are all kept.
_CALL = ("call_mean_us", "call_p50_us", "call_sd_us", "call_min_us")
_TICKS = ("flush", "tick", "tick_p50", "to_callback", "to_callback_p50")
_COUNTED = ("call", "encode", "decode")
FIGURES = (*_CALL, *(f"{name}_us" for name in _TICKS), "encode_ns", "decode_ns",
           *(f"{name}_instructions" for name in _COUNTED))  # fmt: skip
_KEYS = ("sequence", "execution", "test", *SETTING, "pair", "sender", "receiver")
COLUMNS = Columns(
    (*_KEYS, "sample", *_SIZES, *_COUNTS, *FIGURES, "others_cpu"),
    frozenset({*_KEYS, *SETTING} - {"test", "pair", "attributes"}),
    frozenset({*_SIZES, *FIGURES, "others_cpu"}),
)


def label(s: dict) -> str:
    """What is updated how."""
    return f"{s['kind']}, {s['transport'].replace('_', ' ')}, {s['layout']}"


VARIABLES = Variables(
    (
        *ON,
        Variable("test", label, line=True, always=True, speaks=True),
        Variable("series", lambda s: s.get("series", ""), line=True, always=True),
        HOSTS,
        Variable("mode", lambda s: s.get("mode", ""), line=True, always=True),
        Variable("parts", lambda s: s.get("attributes", ""), axis=True, always=True),
        Variable("bytes", stats.span, always=True),
    ),
    differences.WHERE,
    label,
)


def row(store: Store, sequence: str, execution: str, event: dict) -> dict:
    """A sample as the sender told it, with the figures of its calls."""
    setting = store.record(sequence, execution)["tests"][str(event["test"])]
    found = {k: setting[k] for k in SETTING} | {"others_cpu": None} | event
    found |= {"sequence": sequence, "execution": execution}
    found |= {f"{name}_us": found[f"{name}_ns"] / 1e3 for name in _TICKS}
    found |= {name: found[name] or None for name in ("encode_ns", "decode_ns")}
    found |= figures(found, store.fresh(sequence, execution, event | {"pair": 1}))
    found |= {f"{name}_instructions": None for name in _COUNTED}
    found |= callgrind.each(store.execution_directory(sequence, execution), found, "call")
    return found


def figures(row: dict, calls: dict[int, np.ndarray]) -> dict:
    """Those of a sample's calls; BenchError if one is missing."""
    us = np.sort(results.timed(row, calls, "calls")).astype(float) / 1e3
    values = (us.mean(), stats.percentile(us, 50), us.std(), us[0])
    return dict(zip(_CALL, (round(float(v), 6) for v in values), strict=True))


def summarize(rows: list[dict]) -> dict:
    """One test: figures over its samples."""
    # By round, as drift meets all tests of a round alike.
    rows = sorted(rows, key=lambda r: r["sample"])
    out = {key: rows[0][key] for key in _KEYS} | {"samples": len(rows)}
    out |= {k: rows[0][k] or rows[0]["bytes"] for k in _SIZES}  # an earlier version had but one
    out |= {key: sum(r[key] or 0 for r in rows) for key in _COUNTS}
    out["fields"] = round(out["values"] / out["received"]) if out["received"] else 0
    out["messages"] = round(out["messages"] / out["received"]) if out["received"] else 0
    for key in FIGURES:
        values = [r[key] for r in rows if r[key] is not None]
        out[key] = asdict(stats.spread(values)) if values else None
    of = {r["sample"]: r["call_p50_us"] for r in rows}
    out["us"] = [of.get(n) for n in range(1, max(of) + 1)]
    out["instructions"] = [v for r in rows if (v := r["call_instructions"]) is not None]
    return out


def seen(summary: dict, wires: dict[int, capture.Wire]) -> dict:
    """What one update of a test was on the wire."""
    wire = wires.get(summary["test"])
    return {"wire": wire and asdict(wire), "length": wire.bytes if wire else summary["bytes"]}


def progress(r: dict) -> str:
    """A sample in a few words."""
    setting = f"({label(r)} {r['series']} {r['attributes']} {r['mode']})"
    return f"{setting}, sample {r['sample']}: {r['call_p50_us']:.2f} us"
