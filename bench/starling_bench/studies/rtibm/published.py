"""Tables in the layout of the source's, with its figures beside: loop selection, and drops."""

import tomllib
from html import escape
from pathlib import Path

from ...reports.cells import ms
from ...reports.parts import by_rti, text_table
from ...statistics.differences import rti_of
from ...tsf.sequences import SWITCHES
from .rows import doubt, latency, rate_doubt

_SOURCE = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))

# Of a row of the source's table, and the fields of a test as they were in it.
_SHAPE = {"types": 1, "instances": 1, "buffers": 1, "bytes": 8, "transport": "reliable",
          "pairs": 1, "bundling": True}  # fmt: skip


def _as_published(s: dict) -> bool:
    """Round trips without a limit of one pair, one type, one instance and one 8-byte buffer."""
    setting = s.get("setting", {})
    return (
        latency(s) and bool(s["rtt_ms"]) and all(s.get(k, v) == v for k, v in _SHAPE.items())
        and setting.get("outstanding_max", 0) == setting.get("warm_up", 0) == 0
        and not any(setting.get(switch) is not None for switch in SWITCHES)
    )  # fmt: skip


def _cell(s: dict) -> str:
    """Marked where it is not the RTI's figure."""
    trip, rate = ("?" if said else "" for said in (doubt(s), rate_doubt(s)))
    return f"{ms(s['rtt_ms']['mean'])}{trip} / {s['rate_hz']['mean']:,.0f}{rate}"


def loops(summaries: list[dict]) -> list[str]:
    """ms / Hz by test and loop, of what was measured as it was there; nothing where there is but
    one loop. Other tests are in tables of their own."""
    found = [s for s in summaries if _as_published(s)]
    if len({s["loop"] for s in found}) < 2:
        return []
    where = lambda s: (s.get("hosts") or "one system", s.get("cpus") or "all CPUs")  # noqa: E731
    key = lambda s: (*where(s), s["kind"], f"V{s['loop']}")  # noqa: E731
    said = dict.fromkeys(filter(None, (why(s) for s in found for why in (doubt, rate_doubt))))
    marked = f" ?: {escape('; or '.join(said))}." if said else ""
    return [
        "<h2>Loop selection: ms / Hz</h2>",
        f"<p>No limit of round trips; one pair, type, instance and buffer of 8 bytes.{marked}</p>",
        by_rti(("hosts", "CPUs", "test", "loop"), found, key, _cell, rti_of),
        "<p>Published with RTIBM (machines of 2002):</p>",
        text_table(("hosts", "test", "loop", *_SOURCE["loops"]["rtis"]), _SOURCE["loops"]["rows"]),
    ]


def drops(summaries: list[dict]) -> list[str]:
    """What best effort lost by the number of instances, of as many updates of each where some
    were measured so; nothing where there is but one number."""
    found = [s for s in summaries if s["transport"] == "best_effort" and s["kind"] == "OWOT"]
    by: dict[float, list[dict]] = {}
    for s in found:
        by.setdefault(s["updates"] / s["instances"], []).append(s)
    alike = [of for of in by.values() if len({s["instances"] for s in of}) > 1]
    found = max(alike, key=len, default=found)
    if len({s["instances"] for s in found}) < 2:
        return []
    key = lambda s: (f"{s['instances']}",)  # noqa: E731
    cell = lambda s: f"{s['lost']:,} of {s['sent']:,}"  # noqa: E731
    return [
        "<h2>Drops against instances, best effort</h2>",
        by_rti(("instances",), sorted(found, key=lambda s: s["instances"]), key, cell, rti_of),
        "<p>Published with RTIBM (machines of 2002):</p>",
        text_table(("instances", *_SOURCE["drops"]["rtis"]), _SOURCE["drops"]["rows"]),
    ]
