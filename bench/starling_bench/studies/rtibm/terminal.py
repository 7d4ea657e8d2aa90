"""RTIBM on the terminal: progress and tables."""

from rich.console import Console

from ...reports.terminal import with_setup
from .rows import VARIABLES, doubt, label, latency, rate, rate_doubt


def progress(row: dict) -> str:
    """A sample in a few words."""
    figure = f"{rate(row):,.0f} Hz"
    if said := doubt(row):
        figure += f", {said}"
    if row["rtt_mean_ms"] is not None:
        figure = f"{row['rtt_mean_ms']:.4f} ms, {figure}"
    return f"({label(row)} {row['bytes']} B), sample {row['sample']}: {figure}"


def tables(console: Console, summaries: list[dict]) -> None:
    """Round trips, then throughput."""
    counts = ("sent", "received", "lost")
    for title, names, cells, round_trips in (
        ("Round trip, times in ms", "mean p50 p99 p99.9 max Hz", _round_trip, True),
        ("One-way throughput", "updates/s MB/s", _throughput, False),
    ):
        of = [s for s in summaries if latency(s) == round_trips]
        if not of:
            continue
        lines = [[*cells(s), *(f"{s[k]:,}" for k in counts)] for s in of]
        console.print(with_setup(title, VARIABLES, of, (*names.split(), *counts), lines))
        doubts = (why(s) for s in of for why in (doubt, rate_doubt))
        for said in dict.fromkeys(filter(None, doubts)):
            console.print(f"? {said}", highlight=False)


def _round_trip(s: dict) -> list[str]:
    if not (r := s["rtt_ms"]):
        return ["-"] * 6
    p = r["percentiles"]
    values = [r["mean"], p["50"], p["99"], p["99.9"], r["max"]]
    ms = ["-" if v is None else f"{v:.3f}" + " ?" * bool(doubt(s)) for v in values]
    return [*ms, f"{s['rate_hz']['mean']:,.0f}" + " ?" * bool(rate_doubt(s))]


def _throughput(s: dict) -> list[str]:
    mark = " ?" if doubt(s) else ""
    return [f"{s['rate_hz']['mean']:,.0f}{mark}", f"{s['mb_per_s']['mean']:,.1f}{mark}"]
