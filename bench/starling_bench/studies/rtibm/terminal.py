"""RTIBM on the terminal: progress and tables."""

from rich import box
from rich.console import Console
from rich.table import Table

from .rows import VARIABLES, doubt, label, latency, rate


def progress(row: dict) -> str:
    """A sample in a few words."""
    figure = f"{rate(row):,.0f} Hz"
    if said := doubt(row):
        figure += f", {said}"
    if row["rtt_mean_ms"] is not None:
        figure = f"{row['rtt_mean_ms']:.4f} ms, {figure}"
    return f"({label(row)} {row['bytes']} B), sample {row['sample']}: {figure}"


def tables(console: Console, summaries: list[dict]) -> None:
    """What differs between tests stands in front, the rest above."""
    for title, round_trip in (("Round trip, times in ms", True), ("One-way throughput", False)):
        rows = [s for s in summaries if latency(s) == round_trip]
        if not rows:
            continue
        shared, varied = VARIABLES.setups(rows)
        if shared:
            title += "; " + ", ".join(f"{k} {v}" for k, v in shared.items())
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        figures = ("mean p50 p99 p99.9 max Hz" if round_trip else "updates/s MB/s").split()
        for head in varied[0]:
            table.add_column(head, justify="left", no_wrap=True)
        for head in (*figures, "sent", "received", "lost"):
            table.add_column(head, justify="right", no_wrap=True)
        for s, setup in zip(rows, varied, strict=True):
            if round_trip and (r := s["rtt_ms"]):
                p = r["percentiles"]
                values = [r["mean"], p["50"], p["99"], p["99.9"], r["max"]]
                cells = ["-" if v is None else f"{v:.3f}" for v in values]
                cells.append(f"{s['rate_hz']['mean']:,.0f}")
            elif round_trip:
                cells = ["-"] * len(figures)
            else:
                cells = [f"{s['rate_hz']['mean']:,.0f}", f"{s['mb_per_s']['mean']:,.1f}"]
                if doubt(s):
                    cells = [f"{cell} ?" for cell in cells]
            table.add_row(*setup.values(), *cells, f"{s['sent']:,}", f"{s['received']:,}",
                          f"{s['lost']:,}")  # fmt: skip
        console.print(table)
        if said := next(filter(None, map(doubt, rows)), ""):
            console.print(f"? {said}", highlight=False)
