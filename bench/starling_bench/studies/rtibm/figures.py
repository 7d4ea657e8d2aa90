"""RTIBM's report."""

from html import escape
from pathlib import Path

from ...kept.store import Store
from ...reports import answers, cells, curves, effects, every_value, order, parts, report
from ...reports.answers import Figure
from ...reports.drawing import Page, band, plots
from ...statistics import differences, loops
from . import published, rows
from .rows import VARIABLES, label

# More tests than these are folded.
_LONG = 40


def write(store: Store, summaries: list[dict], done: bool = True) -> None:
    """Writes report.html and the figures into the store's directory; of a run that goes on what
    takes no time."""
    page = Page(store)
    latency = [s for s in summaries if rows.latency(s)]
    came = [s for s in latency if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    body = [] if done else [report.GOES_ON]
    compared = answers.found(store, summaries) if done else []
    body += [_verdict(store, summaries), *answers.overview(compared)]
    body += answers.fastest(store.study, compared, summaries, _figure)
    body += report.notes(store)
    for title, table, of, drawn, what in (
        ("Round trip, times in ms", latency_table, latency, came, _LATENCY),
        ("One-way throughput", throughput_table, throughput, throughput, _THROUGHPUT),
    ):
        if of:
            drawing = plots(curves.draw(page, drawn, what)) if done else ""
            body.append(parts.part(title, table(of) + drawing, len(of) > _LONG))
    if done:
        body += _behind(store, summaries, page, came, compared)
    report.write(store, "RTIBM report", body)


def _behind(
    store: Store, summaries: list[dict], page: Page, latency: list[dict],
    compared: list[differences.Difference],
) -> list[str]:  # fmt: skip
    """What stands behind the tables of all tests."""
    body = report.ways(summaries, lambda s: s["transport"] == "best_effort")
    body.append(cells.carried(summaries, label))
    body += published.loops(summaries) + published.drops(summaries)
    if latency:
        drawn = "".join(every_value.distributions(page, latency))
        title = "Percentiles and distribution by test"
        body.append(parts.part(title, drawn, len(latency) > _LONG))
    body += answers.comparisons(store, compared)
    body += effects.analysis(store, summaries)
    body += order.doubts(store, summaries)
    if store.rows:
        every = store.with_settings()
        trips = [r for r in every if rows.latency(r)]
        others = [r for r in every if not rows.latency(r)]
        drawn = plots(
            [every_value.series(page, "Round trip, each sample", "mean ms", trips, label),
             every_value.series(page, "Throughput, each sample", "updates/s", others, label)]
        )  # fmt: skip
        body.append(parts.part("Every sample over time", drawn, True))
    return [*body, "<h2>How this was measured</h2>", f"<p>{_METHOD}</p>"]


_METHOD = Path(__file__).with_name("method.txt").read_text(encoding="utf-8")


def _verdict(store: Store, summaries: list[dict]) -> str:
    text, reliable = cells.summed_up(summaries, rows.doubt, rows.latency)
    return report.verdict(store, text, bad=reliable > 0)


def _figure(s: dict) -> Figure:
    """By which tests of this kind are ranked."""
    return answers.TRIPS if rows.latency(s) else answers.PER_S


def latency_table(summaries: list[dict]) -> str:
    """Round trips with percentiles."""
    lines = [cells.row(s, cells.round_trips(s, rows.doubt(s), loops.rate_doubt(s)))
             for s in summaries]  # fmt: skip
    return parts.by_test(VARIABLES, summaries, cells.head(cells.ROUND_TRIPS), lines)


def throughput_table(summaries: list[dict]) -> str:
    """Updates and megabytes per second."""
    lines = [cells.row(s, cells.throughput(s, rows.doubt(s))) for s in summaries]
    table = parts.by_test(VARIABLES, summaries, cells.head(cells.RATES), lines)
    if said := dict.fromkeys(filter(None, map(rows.doubt, summaries))):
        table += f'<p class="doubt">? {escape("; or ".join(said))}.</p>'
    return table


_MEAN = ("Mean round trip", "ms", band("rtt_ms", "mean_low", "mean", "mean_high"))
_LATENCY = (_MEAN, ("Update frequency", "Hz", band("rate_hz"), rows.rate_doubt))
_THROUGHPUT = (
    ("Updates per second", "updates/s", band("rate_hz")),
    ("Megabytes per second", "MB/s", band("mb_per_s")),
)
