"""Cells of a report's tables, a test a row: what was counted, round trips, rates."""

from html import escape

from . import rates
from .report import interval, ms, whole

# Right behind the setup: who scrolls no further has seen what was lost.
COUNTS = ("sent", "received", "lost", "late")
ROUND_TRIPS = ("mean", "95 % interval", "Hz", "sd", "min", "mode", "p50", "p90", "p99", "p99.9",
               "p99.99", "max")  # fmt: skip
RATES = ("updates/s", "95 % interval", "MB/s", "sd", "min", "max", "by callbacks")


def lost(s: dict) -> str:
    """How many were, if any so that it is seen."""
    return f'<span class="lost">{s["lost"]:,}</span>' if s["lost"] else "0"


def counts(s: dict) -> list[str]:
    """Those of COUNTS."""
    return [f"{s['sent']:,}", f"{s['received']:,}", lost(s), f"{s['late']:,}"]


def _doubted(figure: str, said: str) -> str:
    """Marked, with why it says little."""
    return f'<span class="doubt" title="{escape(said)}">{figure}</span>'


def round_trips(s: dict, trip: str = "", rate: str = "") -> list[str]:
    """Those of ROUND_TRIPS: `stats.Latency`, times in ms; marked where `trip` or `rate` say why
    they, or the frequency, say little. Of what came back never there are none."""
    if (r := s["rtt_ms"]) is None:
        return [_doubted("-", trip)] * len(ROUND_TRIPS)
    more = [ms(v) for v in (r["sd"], r["min"], r["mode"], *r["percentiles"].values(), r["max"])]
    mean = f"{ms(r['mean'])} ?" if trip else f"<b>{ms(r['mean'])}</b>"
    times = [mean, interval(r["mean_low"], r["mean_high"], ms), *more]
    hz = f"{s['rate_hz']['mean']:,.0f}"
    times = [_doubted(f, trip) for f in times] if trip else times
    return [*times[:2], _doubted(f"{hz} ?", rate or trip) if rate or trip else hz, *times[2:]]


def throughput(s: dict) -> list[str]:
    """Those of RATES: updates and megabytes per second, marked where they say little."""
    r = s["rate_hz"]
    figures = [
        f"<b>{r['mean']:,.0f}</b>", interval(r["low"], r["high"], whole),
        f"{s['mb_per_s']['mean']:,.1f}", *[whole(r[k]) for k in ("sd", "min", "max")],
        whole(s["callbacks_hz"]),
    ]  # fmt: skip
    if said := rates.doubt(s):
        figures[0] = f"{r['mean']:,.0f} ?"
        figures = [_doubted(f, said) for f in figures]
    return figures
