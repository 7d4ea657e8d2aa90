"""RTIBM's report."""

from html import escape
from pathlib import Path

from ... import cells, loops, rates, report
from ...report import Page, band, ms, plots
from ...store import Store
from . import published, rows
from .rows import VARIABLES, label


def write(store: Store, summaries: list[dict], done: bool = True) -> None:
    """Writes report.html and the figures into the store's directory; of a run that goes on what
    takes no time."""
    page = Page(store)
    latency = [s for s in summaries if rows.latency(s)]
    came = [s for s in latency if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    body = [] if done else [report.GOES_ON]
    body += [_verdict(store, summaries), report.fastest(VARIABLES, summaries, _best)]
    body += report.notes(store)
    for title, table, of, drawn, what in (
        ("Round trip, times in ms", latency_table, latency, came, _LATENCY),
        ("One-way throughput", throughput_table, throughput, throughput, _THROUGHPUT),
    ):
        if of:
            body += [f"<h2>{title}</h2>", table(of)]
            body += [plots(report.curves(page, drawn, what))] if done else []
    if done:
        body += _behind(store, summaries, page, came)
    report.write(store, "RTIBM report", body)


def _behind(store: Store, summaries: list[dict], page: Page, latency: list[dict]) -> list[str]:
    """What stands behind the tables of all tests."""
    body = report.ways(summaries, lambda s: s["transport"] == "best_effort")
    body.append(cells.carried(summaries, label))
    body += published.loops(summaries) + published.drops(summaries)
    if latency:
        body.append("<h2>Percentiles and distribution by test</h2>")
        body += report.distributions(page, latency)
    body += report.comparisons(store, summaries)
    body += report.analysis(store, summaries)
    body += report.doubts(store, summaries)
    if store.rows:
        every = store.with_settings()
        trips = [r for r in every if rows.latency(r)]
        others = [r for r in every if not rows.latency(r)]
        drawn = plots(
            [report.series(page, "Round trip, each sample", "mean ms", trips, label),
             report.series(page, "Throughput, each sample", "updates/s", others, label)]
        )  # fmt: skip
        body += ["<h2>Every sample over time</h2>", drawn]
    return [*body, "<h2>How this was measured</h2>", f"<p>{_METHOD}</p>"]


_METHOD = Path(__file__).with_name("method.txt").read_text(encoding="utf-8")


def _verdict(store: Store, summaries: list[dict]) -> str:
    text, reliable = cells.summed_up(summaries, rows.doubt, rows.latency)
    return report.verdict(store, text, bad=reliable > 0)


def _best(group: list[dict]) -> str:
    """Of tests that are alike the RTI with the best mean."""
    if not rows.latency(group[0]):
        return rates.best(group, rows.doubt)
    mean = lambda s: s["rtt_ms"]["mean"]  # noqa: E731
    return rates.best(group, rows.doubt, mean, False, lambda value: f"{ms(value)} ms")


def latency_table(summaries: list[dict]) -> str:
    """Round trips with percentiles."""
    lines = [
        [*cells.counts(s), *cells.round_trips(s, rows.doubt(s), loops.rate_doubt(s))]
        for s in summaries
    ]
    return report.with_setup(VARIABLES, summaries, [*cells.COUNTS, *cells.ROUND_TRIPS], lines)


def throughput_table(summaries: list[dict]) -> str:
    """Updates and megabytes per second."""
    lines = [[*cells.counts(s), *cells.throughput(s, rows.doubt(s))] for s in summaries]
    table = report.with_setup(VARIABLES, summaries, [*cells.COUNTS, *cells.RATES], lines)
    if said := dict.fromkeys(filter(None, map(rows.doubt, summaries))):
        table += f'<p class="doubt">? {escape("; or ".join(said))}.</p>'
    return table


_MEAN = ("Mean round trip", "ms", band("rtt_ms", "mean_low", "mean", "mean_high"))
_LATENCY = (_MEAN, ("Update frequency", "Hz", band("rate_hz"), rows.rate_doubt))
_THROUGHPUT = (
    ("Updates per second", "updates/s", band("rate_hz")),
    ("Megabytes per second", "MB/s", band("mb_per_s")),
)
