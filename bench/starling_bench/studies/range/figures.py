"""The range test bed's report."""

import tomllib
from functools import partial
from html import escape
from pathlib import Path

import numpy as np

from ...kept.store import Store
from ...machines import rti
from ...reports import courses, named, parts, report, timers, transports, whole_tests
from ...reports.cells import lost, ms
from ...reports.drawing import Page, plots
from ...statistics import rates
from ...statistics.differences import on
from ...statistics.stats import percent
from ...times import phases, samples
from . import rows
from .rows import label

# On what a flow runs, what stands in one figure, and what makes flows alike.
ON = ("base", "part", "table", "adapter", "bundling", "threaded")
KIND = ("federates", "bytes", "hz", "transport", "tick_hz", "scheduling")
ALIKE = (*ON, *KIND, "sender", "receiver")
_HERE = Path(__file__).parent
_TABLES = [_HERE / "source.toml", _HERE / "comparisons.toml"]
_FIGURES_MAX, _PERIODS_MAX = 40, 60


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = Page(store)
    unlike = tomllib.loads(_TABLES[1].read_text(encoding="utf-8"))["unlike"]
    summaries = [named.marked(named.placed(s), unlike) for s in summaries]
    known = [s for s in summaries if s["mean_ms"] is not None]
    body = [_verdict(store, summaries), *report.notes(store), *_notices(store, summaries)]
    body += ["<h2>Delivery times in ms</h2>", _table(summaries)] if summaries else []
    if known:
        groups = courses.groups(known, KIND, ON)
        drawn = [_course(page, store, group) for group in groups[:_FIGURES_MAX]]
        body += ["<h2>Delivery time against message count</h2>", plots(drawn)]
        if (more := len(groups) - _FIGURES_MAX) > 0:
            body += [f"<p>{more} further kinds of flows are not drawn; the table has them.</p>"]
        lines = [(f"{on(s)}: {label(s)}", s) for s in known]
        alone = rates.alone(known)
        body += courses.by_number(page, "federates", lines)
        body += [*(_periods(store, alone) if alone else []), named.left_out_of(known, alone)]
    flow = lambda s: rows.flow(store, s, s["setting"])  # noqa: E731
    body += named.Source(_TABLES, flow, label, on, ALIKE, ON).sections(page, known)
    body += timers.section(page, timers.timed(summaries, partial(_facts, store)))
    body += report.ways(summaries, lambda s: s["transport"] == "best_effort")
    method = tomllib.loads((_HERE / "texts.toml").read_text(encoding="utf-8"))["method"]
    body += report.method(method)
    report.write(store, "Range report", body)


def _verdict(store: Store, summaries: list[dict]) -> str:
    sent, lost, planned = (sum(s[k] for s in summaries) for k in ("sent", "lost", "planned"))
    missed = samples.elements_missed(summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    shares = [s["in_budget"] for s in summaries if s["in_budget"] is not None]
    text = f"{len({(s['sequence'], s['execution'], s['test']) for s in summaries})} tests, "
    text += f"{len(summaries)} flows, {sent:,} of {planned:,} planned deliveries sent, "
    text += f"{lost:,} lost, {missed:,} elements of the ring missed."
    if wrong := transports.by_reliable_links(summaries):
        text += f" Not what its name says: {wrong}."
    if shares:
        text += f" In budget: {percent(min(shares))} in the worst flow, "
        text += f"{percent(np.mean(shares))} on average."
    return report.verdict(store, text, bad=reliable > 0 or missed > 0 or bool(wrong))


def _notices(store: Store, summaries: list[dict]) -> list[str]:
    """What was asked of the machine and not allowed, senders that did not hold their rate, clocks
    that are not known, what is not what its name says: said once, before any figure."""
    told: dict[str, None] = {}
    for s in summaries:
        facts = _facts(store, s, s["sender"])
        if facts.get("notice"):
            told[f"Not real-time: {facts['notice']}"] = None
        beyond = sum(of["beyond"] for of in facts.get("heard", {}).values())
        if strange := facts.get("foreign", 0) + beyond:
            told[f"'{s['sender']}' heard {strange:,} records in test {s['test']} that nobody who "
                 "takes part can have sent: they are in no figure."] = None  # fmt: skip
        if s["held"] == "no":
            told[
                f"'{s['sender']}' did not hold its rate in test {s['test']} of {s['sequence']}/"
                f"{s['execution']}: {s['sent']:,} of {s['planned']:,} updates; its figures are grey"
            ] = None
        if why := rates.disturbed(s):
            told[f"Test {s['test']} of {s['sequence']}/{s['execution']} was {why}; its figures are "
                 "grey (?), and in no comparison."] = None  # fmt: skip
        if s["unlike"]:
            told[f"{on(s)}: {label(s)}."] = None
        if s["clock"].startswith("not known"):
            told[
                f"{s['sender']} → {s['receiver']}, test {s['test']}: the clocks are {s['clock']}; "
                "there are no delivery times."
            ] = None
    return [f'<p class="note">{escape(text)}</p>' for text in told]


def _facts(store: Store, s: dict, name: str) -> dict:
    return samples.facts(rows.directory(store, s), s["test"], name)


def _grey(s: dict) -> bool:
    """Its figures are its sender's who did not hold its rate, or other programs'."""
    return s["held"] == "no" or bool(rates.disturbed(s))


def _table(summaries: list[dict]) -> str:
    head = ["budget", "in budget", "sent", "lost", "doubled", "min", "mean", "p50", "p90", "p99",
            "p99.9", "max", "ping", "LRC", "± clock"]  # fmt: skip
    lines = []
    for s in summaries:
        share = f"<b>{percent(s['in_budget'])}</b>{' ?' * bool(rates.disturbed(s))}"
        names = ("min", "mean", "p50", "p90", "p99", "p999", "max", "ping", "lrc")
        times = [ms(s[f"{k}_ms"], s["bound_ms"]) for k in names]
        bound = "one clock" if not s["bound_ms"] else f"{s['bound_ms']:.2g}"
        cells = [f"{s['budget_ms']:g}", share, f"{s['sent']:,}", lost(s), f"{s['doubled']:,}",
                 *times, bound]  # fmt: skip
        lines.append([parts.GREY.format(c) for c in cells] if _grey(s) else cells)
    flows = parts.with_setup(rows.VARIABLES, summaries, head, lines, alone=False)
    return whole_tests.tables(rows.VARIABLES, summaries, flows, _grey)


def _course(page: Page, store: Store, group: list[dict]) -> str:
    """Every line of a figure, and what all share."""
    between = lambda s: f"{s['sender']} → {s['receiver']}{rows.unlike(s)}"  # noqa: E731
    lines = [
        courses.Course(f"{on(s)}, {s['execution']}: {between(s)}",
               rows.flow(store, s, s["setting"]), s.get("adapter") in rti.RAW, _grey(s))
        for s in group
    ]  # fmt: skip
    first = group[0]
    caption = (
        f"{first['federates']} federates, {first['tick_hz']} turns a second, "
        f"{first['scheduling']} scheduling."
    )
    return courses.figure(page, label(first), caption, lines, first["budget_ms"])


def _periods(store: Store, summaries: list[dict]) -> list[str]:
    """What comes back in any flow, but for what the timers' phases make of it, which is said."""
    found = [
        (on(s), f"{s['sender']} → {s['receiver']}, {label(s)}",
         partial(rows.flow, store, s, s["setting"]), s["setting"],
         tuple(_facts(store, s, s[k])["station"] for k in ("sender", "receiver")))
        for s in summaries
    ]  # fmt: skip
    return courses.found_periods(*phases.beside(found), _PERIODS_MAX)
