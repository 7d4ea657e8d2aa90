"""RTIBM's report."""

from collections.abc import Callable
from html import escape
from pathlib import Path

from ... import report
from ...differences import on
from ...report import Page, curve_figure, interval, ms, plots, whole
from ...store import Store
from . import published, rows
from .rows import VARIABLES, label


def write(store: Store, summaries: list[dict], done: bool = True) -> None:
    """Writes report.html and the figures into the store's directory; of a run that goes on what
    takes no time."""
    page = Page(store)
    latency = [s for s in summaries if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    body = [] if done else [report.GOES_ON]
    body += [_verdict(store, summaries), report.fastest(VARIABLES, summaries, _best)]
    body += report.notes(store)
    for title, table, of, what in (
        ("Round trip, times in ms", latency_table, latency, _LATENCY),
        ("One-way throughput", throughput_table, throughput, _THROUGHPUT),
    ):
        if of:
            body += [f"<h2>{title}</h2>", table(of)]
            body += [plots(curves(page, of, what))] if done else []
    if done:
        body += _behind(store, summaries, page, latency)
    report.write(store, "RTIBM report", body)


def _behind(store: Store, summaries: list[dict], page: Page, latency: list[dict]) -> list[str]:
    """What stands behind the tables of all tests."""
    body = report.ways(summaries, lambda s: s["transport"] == "best_effort")
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
    return [*body, "<h2>How this was measured</h2>", f"<p>{_METHOD}</p>"]


_METHOD = Path(__file__).with_name("method.txt").read_text(encoding="utf-8")


def _verdict(store: Store, summaries: list[dict]) -> str:
    sent = sum(s["sent"] for s in summaries)
    lost = sum(s["lost"] for s in summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    text = f"{len(summaries)} tests, {sent:,} messages sent, {lost:,} lost"
    text += f", {reliable:,} of them reliable." if lost else "."
    doubted = [said for s in summaries if (said := rows.doubt(s))]
    if doubted:
        text += f" The rates of {len(doubted)} are {doubted[0]}."
    return report.verdict(store, text, bad=reliable > 0)


def _best(group: list[dict]) -> str:
    """Of tests that are alike the one with the best mean, and that; of which ones it can't be told,
    as they may be better."""
    if all(s["rtt_ms"] for s in group):
        best = min(group, key=lambda s: s["rtt_ms"]["mean"])
        return f"{on(best)}, {ms(best['rtt_ms']['mean'])} ms"
    doubted = {on(s): said for s in group if (said := rows.doubt(s))}
    told = [s for s in group if not rows.doubt(s)]
    if not told:
        return next(iter(doubted.values()))
    best = max(told, key=lambda s: s["rate_hz"]["mean"])
    said = f"{on(best)}, {best['rate_hz']['mean']:,.0f} updates/s"
    if not doubted:
        return said
    return f"{said}; {', '.join(doubted)}: {next(iter(doubted.values()))}"


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
    head = [*_COUNTS, "updates/s", "95 % interval", "MB/s", "sd", "min", "max", "by callbacks"]
    lines = []
    for s in summaries:
        r = s["rate_hz"]
        figures = [
            f"<b>{r['mean']:,.0f}</b>", interval(r["low"], r["high"], whole),
            f"{s['mb_per_s']['mean']:,.1f}", *[whole(r[k]) for k in ("sd", "min", "max")],
            whole(s["callbacks_hz"]),
        ]  # fmt: skip
        if said := rows.doubt(s):
            figures[0] = f"{r['mean']:,.0f} ?"
            figures = [f'<span class="doubt" title="{escape(said)}">{f}</span>' for f in figures]
        lines.append([*_counts(s), *figures])
    table = report.with_setup(VARIABLES, summaries, head, lines)
    if said := next(filter(None, map(rows.doubt, summaries)), ""):
        table += f'<p class="doubt">? {escape(said)}.</p>'
    return table


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
