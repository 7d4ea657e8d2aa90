"""Cells of a report's tables, a test a row: what was counted, round trips, rates. And what all of
these come to.
"""

import math
from collections import Counter
from collections.abc import Callable
from html import escape

from ..statistics.differences import key_of, on
from ..times.clocks import digits_ms

ROUND_TRIPS = ("mean", "95 % interval", "Hz", "sd", "min", "mode", "p50", "p90", "p99", "p99.9",
               "p99.99", "max")  # fmt: skip
RATES = ("updates/s", "95 % interval", "MB/s", "sd", "min", "max", "by callbacks")


def ms(value: float | None, bound: float | None = None) -> str:
    """Three digits that count; no more than a microsecond's fraction, and none below the bound of
    the clocks that it was read from: where none is left, below what it is."""
    if value is None:
        return "-"
    plain = f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
    if not bound:
        return plain
    known = digits_ms(value, bound)
    if float(known):
        return min(known, plain, key=len)
    most = abs(value) + bound
    unit = 10.0 ** (math.floor(math.log10(most)) - 1)
    return f"under {math.ceil(most / unit - 1e-9) * unit:.2g}"


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def interval(low: float | None, high: float | None, text: Callable[[float | None], str]) -> str:
    return "-" if low is None else f"{text(low)} - {text(high)}"


def p_value(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def lost(s: dict) -> str:
    """How many were, if any so that it is seen."""
    return f'<span class="lost">{s["lost"]:,}</span>' if s["lost"] else "0"


def head(figures: tuple[str, ...]) -> list[str]:
    """Of a row, between a test's name and what else was counted: what was lost stands first, so
    that who scrolls no further has seen it."""
    return ["lost", *figures, "sent", "received", "late"]


def row(s: dict, figures: list[str]) -> list[str]:
    """What stands below that."""
    return [lost(s), *figures, f"{s['sent']:,}", f"{s['received']:,}", f"{s['late']:,}"]


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


def throughput(s: dict, doubt: str = "") -> list[str]:
    """Those of RATES: updates and megabytes per second, marked where `doubt` says why they say
    little."""
    r = s["rate_hz"]
    figures = [
        f"<b>{r['mean']:,.0f}</b>", interval(r["low"], r["high"], whole),
        f"{s['mb_per_s']['mean']:,.1f}", *[whole(r[k]) for k in ("sd", "min", "max")],
        whole(s["callbacks_hz"]),
    ]  # fmt: skip
    if doubt:
        figures[0] = f"{r['mean']:,.0f} ?"
        figures = [_doubted(f, doubt) for f in figures]
    return figures


def summed_up(
    summaries: list[dict], doubt: Callable[[dict], str], latency: Callable[[dict], bool]
) -> tuple[str, int]:
    """Of all tests what was counted, and what speaks against how many, in words; how many reliable
    messages were lost, or came more than once."""
    sent, lost = (sum(s[key] for s in summaries) for key in ("sent", "lost"))
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    text = f"{len({key_of(s) for s in summaries})} tests, {sent:,} messages sent, {lost:,} lost"
    text += f", {reliable:,} of them reliable." if lost else "."
    if twice := sum(s["doubled"] for s in summaries if s["transport"] == "reliable"):
        text += f" {twice:,} reliable messages came more than once."
    for what, of in (("rates", False), ("round trips", True)):
        # Of several pairs of a test the first that has something against it.
        by_test = {key_of(s): why for s in reversed(summaries)
                   if latency(s) == of and (why := doubt(s))}  # fmt: skip
        counts = Counter(reversed(by_test.values()))
        text += "".join(f" The {what} of {n} are {why}." for why, n in counts.items())
    return text, reliable + twice


def carried(summaries: list[dict], label: Callable[[dict], str]) -> str:
    """How best effort really travelled, and what else was sent while samples were taken."""
    lines = [
        f"<li>{escape(label(s))} of {escape(on(s))}, test {s['test']}: {s['came_reliably']:,} of "
        f"{s['received']:,} came by a reliable way</li>"
        for s in summaries
        if s["transport"] == "best_effort" and s["came_reliably"]
    ]
    beats = sum(s["heartbeats"] for s in summaries)
    said = f"<p>{beats:,} heartbeats were sent between flushes, in all samples together."
    if twice := sum(s["doubled"] for s in summaries):
        said += f" {twice:,} messages came that were there before, and count once (doubled)."
    if lost := sum(s["unrecorded"] for s in summaries):
        said += f" {lost:,} round trips are in no figure, as the disk was too slow for them."
    if lines:
        said += f" Best effort that was none, as its receivers were told:</p><ul>{''.join(lines)}"
    return said + ("</ul>" if lines else "</p>")
