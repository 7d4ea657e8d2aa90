"""Tables in the layout of the source's, with its figures beside: loop selection, and drops."""

import tomllib
from pathlib import Path

from ...report import by_rti, ms, text_table
from .rows import latency

_SOURCE = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))


def loops(summaries: list[dict]) -> list[str]:
    """ms / Hz by test and loop, of tests of one type, one instance and one 8-byte buffer; nothing
    where there is but one loop."""
    shape = ("types", "instances", "buffers")
    found = [s for s in summaries if latency(s) and s["rtt_ms"] and s["bytes"] == 8]
    found = [s for s in found if all(s[k] == 1 for k in shape) and s["transport"] == "reliable"]
    if len({s["loop"] for s in found}) < 2:
        return []
    key = lambda s: (s.get("cpus") or "all CPUs", s["kind"], f"V{s['loop']}")  # noqa: E731
    cell = lambda s: f"{ms(s['rtt_ms']['mean'])} / {s['rate_hz']['mean']:,.0f}"  # noqa: E731
    return [
        "<h2>Loop selection: ms / Hz</h2>",
        by_rti(("CPUs", "test", "loop"), found, key, cell),
        "<p>Published with RTIBM (machines of 2002):</p>",
        text_table(("hosts", "test", "loop", *_SOURCE["loops"]["rtis"]), _SOURCE["loops"]["rows"]),
    ]


def drops(summaries: list[dict]) -> list[str]:
    """What best effort lost by the number of instances; nothing where there is but one number."""
    found = [s for s in summaries if s["transport"] == "best_effort" and s["kind"] == "OWOT"]
    if len({s["instances"] for s in found}) < 2:
        return []
    found.sort(key=lambda s: s["instances"])
    key = lambda s: (f"{s['instances']}",)  # noqa: E731
    cell = lambda s: f"{s['lost']:,} of {s['sent']:,}"  # noqa: E731
    return [
        "<h2>Drops against instances, best effort</h2>",
        by_rti(("instances",), found, key, cell),
        "<p>Published with RTIBM (machines of 2002):</p>",
        text_table(("instances", *_SOURCE["drops"]["rtis"]), _SOURCE["drops"]["rows"]),
    ]
