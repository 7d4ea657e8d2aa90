"""RTIBM's report."""

from collections.abc import Callable
from html import escape

from ... import report
from ...differences import on
from ...report import Page, curve_figure, interval, ms, plots, whole
from ...store import Store
from . import published, rows
from .rows import VARIABLES, label


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = Page(store)
    latency = [s for s in summaries if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    body = [_verdict(store, summaries), _fastest(summaries), *report.notes(store)]
    if latency:
        body += ["<h2>Round trip, times in ms</h2>", latency_table(latency),
                 plots(curves(page, latency, _LATENCY))]  # fmt: skip
    if throughput:
        body += ["<h2>One-way throughput</h2>", throughput_table(throughput),
                 plots(curves(page, throughput, _THROUGHPUT))]  # fmt: skip
    body += report.ways(summaries, lambda s: s["transport"] == "best_effort")
    body.append(_carried(summaries))
    body += published.loops(summaries) + published.drops(summaries)
    if latency:
        body.append("<h2>Percentiles and distribution by test</h2>")
        body += report.distributions(page, latency)
    body += report.comparisons(store, summaries)
    body += report.analysis(store, summaries)
    body += report.doubts(store, summaries)
    if store.rows:
        trips = [r for r in store.rows if rows.latency(r)]
        others = [r for r in store.rows if not rows.latency(r)]
        drawn = plots(
            [report.series(page, "Round trip, each sample", "mean ms", trips, label),
             report.series(page, "Throughput, each sample", "updates/s", others, label)]
        )  # fmt: skip
        body += ["<h2>Every sample over time</h2>", drawn]
    body += ["<h2>How this was measured</h2>", f"<p>{_METHOD}</p>"]
    report.write(store, "RTIBM report", body)


_METHOD = (
    "Federates work in pairs, each talking only with itself. RTOL and RTIL: round trip of object "
    "attributes and of interactions; OWOT and OWIT: one-way throughput of the same. Types, "
    "instances, buffers and bytes are those of one sender. Round trip: time stamps of the sender's "
    "monotonic clock, taken before the update is queued and again in the callback that returns it; "
    "unlike the published loop, the returnee flushes its returns at once. Throughput: arrivals "
    "between the first and the last callback, on the receiver's clock. The mean is the mean of the "
    "sample means; its interval (95 %) is Student's t over the sample means for the mean's "
    "logarithm, with the relative error (delta method), as no time or rate can be negative. The "
    "deviation is that of all round trips. A percentile p stands only where there are at least "
    "10/(1-p) values. Sent = received + lost; stragglers of an earlier sample (late) and what came "
    "twice (doubled) are not counted as received. Hz is not 1/round trip when several round trips "
    "are under way. Loops V1 and V3 with unlimited round trips under way wait up to the tick's "
    "maximum after each flush: where such a figure is close to that maximum it is the tick's, not "
    "the RTI's."
)


def _verdict(store: Store, summaries: list[dict]) -> str:
    sent = sum(s["sent"] for s in summaries)
    lost = sum(s["lost"] for s in summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    text = f"{len(summaries)} tests, {sent:,} messages sent, {lost:,} lost"
    text += f", {reliable:,} of them reliable." if lost else "."
    return report.verdict(store, text, bad=reliable > 0)


def _fastest(summaries: list[dict]) -> str:
    """Where several RTIs ran the same test: which had the better mean."""
    lines = []
    for title, group in VARIABLES.alike(summaries).items():
        if len({on(s) for s in group}) < 2:
            continue
        if all(s["rtt_ms"] for s in group):
            best = min(group, key=lambda s: s["rtt_ms"]["mean"])
            figure = f"{ms(best['rtt_ms']['mean'])} ms"
        else:
            best = max(group, key=lambda s: s["rate_hz"]["mean"])
            figure = f"{best['rate_hz']['mean']:,.0f} updates/s"
        lines.append(f"<li>{escape(title)}: {escape(on(best))}, {figure}</li>")
    return f"<p>Best mean per test:</p><ul>{''.join(lines)}</ul>" if lines else ""


def _counts(s: dict) -> list[str]:
    """Right behind the setup: who scrolls no further has seen what was lost."""
    lost = f'<span class="lost">{s["lost"]:,}</span>' if s["lost"] else "0"
    return [f"{s['sent']:,}", f"{s['received']:,}", lost, f"{s['late']:,}"]


_COUNTS = ["sent", "received", "lost", "late"]


def latency_table(summaries: list[dict]) -> str:
    """Round trips with percentiles."""
    head = [*_COUNTS, "mean", "95 % interval", "Hz", "sd", "min", "mode", "p50", "p90", "p99",
            "p99.9", "p99.99", "max"]  # fmt: skip
    rows = []
    for s in summaries:
        r = s["rtt_ms"]
        figures = [r["sd"], r["min"], r["mode"], *r["percentiles"].values(), r["max"]]
        rows.append(
            [*_counts(s), f"<b>{ms(r['mean'])}</b>", interval(r["mean_low"], r["mean_high"], ms),
             f"{s['rate_hz']['mean']:,.0f}", *[ms(v) for v in figures]]
        )  # fmt: skip
    return report.with_setup(VARIABLES, summaries, head, rows)


def throughput_table(summaries: list[dict]) -> str:
    """Updates and megabytes per second."""
    head = [*_COUNTS, "updates/s", "95 % interval", "MB/s", "sd", "min", "max"]
    rows = []
    for s in summaries:
        r = s["rate_hz"]
        rows.append(
            [*_counts(s), f"<b>{r['mean']:,.0f}</b>", interval(r["low"], r["high"], whole),
             f"{s['mb_per_s']['mean']:,.1f}", *[whole(r[k]) for k in ("sd", "min", "max")]]
        )  # fmt: skip
    return report.with_setup(VARIABLES, summaries, head, rows)


def _band(key: str, *names: str) -> Callable[[dict], tuple]:
    """A figure with its interval: low, mean, high."""
    return lambda s: tuple(s[key][name] for name in names or ("low", "mean", "high"))


_MEAN = ("Mean round trip", "ms", _band("rtt_ms", "mean_low", "mean", "mean_high"))
_LATENCY = (_MEAN, ("Update frequency", "Hz", _band("rate_hz")))
_THROUGHPUT = (
    ("Updates per second", "updates/s", _band("rate_hz")),
    ("Megabytes per second", "MB/s", _band("mb_per_s")),
)


def curves(page: Page, summaries: list[dict], what: tuple) -> list[str]:
    """A figure of each kind per variable."""
    drawn = VARIABLES.curves(summaries)
    return [curve_figure(page, curve, *one) for curve in drawn for one in what]


def _carried(summaries: list[dict]) -> str:
    """How best effort really travelled, and what else was sent while samples were taken."""
    lines = [
        f"<li>{escape(label(s))} of {escape(on(s))}, test {s['test']}: {s['came_reliably']:,} of "
        f"{s['received']:,} came by a reliable way</li>"
        for s in summaries
        if s["transport"] == "best_effort" and s["came_reliably"]
    ]
    beats = sum(s["heartbeats"] for s in summaries)
    said = f"<p>{beats:,} heartbeats were sent between flushes, in all samples together."
    if lost := sum(s["unrecorded"] for s in summaries):
        said += f" {lost:,} round trips are in no figure, as the disk was too slow for them."
    if lines:
        said += f" Best effort that was none, as its receivers were told:</p><ul>{''.join(lines)}"
    return said + ("</ul>" if lines else "</p>")
