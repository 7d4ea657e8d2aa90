"""The range test bed's report."""

from html import escape
from pathlib import Path

import numpy as np

from ... import clocks, courses, named, report, samples, timers
from ...cells import lost
from ...courses import Course
from ...differences import on
from ...report import Page
from ...store import Store
from . import rows
from .rows import label

_METHOD = (
    "Delivery time: from the clock reading last before the sender's update to the one first in the "
    "receiver's reflection; so two LRCs and the network once. Each federate's interface is one "
    "thread with absolute deadlines (clock_nanosleep, TIMER_ABSTIME) that updates its attribute "
    "when due and evokes callbacks for at most 1 ms; all else (log, echoes, display) is other "
    "threads and processes. In budget: of all that were sent, those that came within the budget, "
    "the sender's period if nothing else is said. One-way ping: half of the shortest UDP echo of "
    "the same size (at most 65,507 bytes) in the same test, less what the partner took. LRC: "
    "(shortest delivery time - ping) / 2. Figures show the lowest and highest of each pixel, so no "
    "spike is lost. A percentile p stands only where there are at least 10/(1-p) values. No digit "
    "below the clock's bound is printed."
)
_ALIKE = (
    "sequence", "adapter", "federates", "bytes", "hz", "transport", "tick_hz", "scheduling",
    "bundling", "threaded", "sender", "receiver",
)  # fmt: skip


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = Page(store)
    known = [s for s in summaries if s["mean_ms"] is not None]
    body = [_verdict(store, summaries), *report.notes(store), *_notices(store, summaries)]
    body += ["<h2>Delivery times in ms</h2>", _table(summaries)] if summaries else []
    if known:
        body += ["<h2>Delivery time against message count</h2>",
                 report.plots([_course(page, store, g) for g in _groups(known)])]  # fmt: skip
        body += _periods(store, known)
    source = named.Source(
        Path(__file__).with_name("source.toml"), lambda s: rows.flow(store, s, s["setting"]),
        label, on, _ALIKE,
    )  # fmt: skip
    body += source.sections(page, known)
    body += timers.section(page, _timed(store, summaries))
    body += report.ways(summaries, lambda s: s["transport"] == "best_effort")
    body += ["<h2>How this was measured</h2>", f"<p>{_METHOD}</p>"]
    report.write(store, "Range report", body)


def _verdict(store: Store, summaries: list[dict]) -> str:
    sent, lost = (sum(s[k] for s in summaries) for k in ("sent", "lost"))
    missed = sum(s["elements_missed"] for s in summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    shares = [s["in_budget"] for s in summaries if s["in_budget"] is not None]
    text = f"{len({(s['sequence'], s['execution'], s['test']) for s in summaries})} tests, "
    text += f"{len(summaries)} flows, {sent:,} messages sent, {lost:,} lost, {missed:,} elements "
    text += "of the ring missed."
    if shares:
        text += (
            f" In budget: {min(shares):.2%} in the worst flow, {np.mean(shares):.2%} on average."
        )
    return report.verdict(store, text, bad=reliable > 0 or missed > 0)


def _notices(store: Store, summaries: list[dict]) -> list[str]:
    """What was asked of the machine and not allowed, senders that did not hold their rate, clocks
    that are not known: said once, before any figure."""
    told: dict[str, None] = {}
    for s in summaries:
        facts = _facts(store, s, s["sender"])
        if facts.get("notice"):
            told[f"Not real-time: {facts['notice']}"] = None
        if s["held"] == "no":
            told[
                f"'{s['sender']}' did not hold its rate in test {s['test']} of {s['sequence']}/"
                f"{s['execution']}: {s['sent']:,} of {s['planned']:,} updates; its figures are grey"
            ] = None
        if s["clock"].startswith("not known"):
            told[
                f"{s['sender']} → {s['receiver']}, test {s['test']}: the clocks are {s['clock']}; "
                "there are no delivery times."
            ] = None
    return [f'<p class="note">{escape(text)}</p>' for text in told]


def _facts(store: Store, s: dict, name: str) -> dict:
    return samples.facts(rows.directory(store, s), s["test"], name)


def _digits(s: dict, value: float | None) -> str:
    """A time with no digit below the clock's bound."""
    if value is None:
        return "-"
    if not s["bound_ms"]:
        return report.ms(value)
    least, plain = clocks.digits_ms(value, s["bound_ms"]), report.ms(value)
    return min(least, plain, key=len)


def _table(summaries: list[dict]) -> str:
    head = ["budget", "in budget", "sent", "lost", "doubled", "min", "mean", "p50", "p90", "p99",
            "p99.9", "max", "ping", "LRC", "± clock"]  # fmt: skip
    lines = []
    for s in summaries:
        share = "-" if s["in_budget"] is None else f"<b>{s['in_budget']:.2%}</b>"
        times = [_digits(s, s[f"{k}_ms"]) for k in ("min", "mean", "p50", "p90", "p99", "p999",
                                                    "max", "ping", "lrc")]  # fmt: skip
        bound = "one clock" if not s["bound_ms"] else f"{s['bound_ms']:.2g}"
        cells = [f"{s['budget_ms']:g}", share, f"{s['sent']:,}", lost(s), f"{s['doubled']:,}",
                 *times, bound]  # fmt: skip
        grey = '<span style="opacity:.6">{}</span>'
        lines.append([grey.format(c) for c in cells] if s["held"] == "no" else cells)
    return report.with_setup(rows.VARIABLES, summaries, head, lines)


def _groups(summaries: list[dict]) -> list[list[dict]]:
    """What stands in one figure: the flows of a test to one receiver, or of the same flow on
    several RTIs; of each test the first receiver's only, as the table has them all."""
    found: dict[tuple, list[dict]] = {}
    for s in summaries:
        alike = tuple(s[k] for k in ("federates", "bytes", "hz", "transport", "tick_hz",
                                     "scheduling"))  # fmt: skip
        key = (*alike, s.get("setting", {}).get("threaded"))
        group = found.setdefault(key, [])
        mine = (s["sequence"], s["execution"], s["test"])
        if all((g["sequence"], g["execution"], g["test"]) != mine for g in group):
            group.append(s)
    return list(found.values())[:40]


def _course(page: Page, store: Store, group: list[dict]) -> str:
    """Every line of a figure, and what all share."""
    lines = [
        Course(f"{on(s)}, {s['sender']} → {s['receiver']}", rows.flow(store, s, s["setting"]),
               s.get("adapter") in report.RAW, s["held"] == "no")
        for s in group
    ]  # fmt: skip
    first = group[0]
    caption = (
        f"{first['federates']} federates, {first['tick_hz']} turns a second, "
        f"{first['scheduling']} scheduling."
    )
    return courses.figure(page, label(first), caption, lines, first["budget_ms"])


def _periods(store: Store, summaries: list[dict]) -> list[str]:
    return courses.found_periods(
        [(on(s), f"{s['sender']} → {s['receiver']}, {label(s)}", rows.flow(store, s, s["setting"]))
         for group in _groups(summaries) for s in group]
    )  # fmt: skip


def _timed(store: Store, summaries: list[dict]) -> list[timers.Timed]:
    """Every sender's timer, once per test."""
    seen = {(s["sequence"], s["execution"], s["test"], s["sender"]): s for s in summaries}
    found = []
    for (sequence, execution, test, name), s in seen.items():
        facts = _facts(store, s, name)
        share = facts["thread_s"] / max(s["planned"] / s["hz"], 1e-9)
        found.append(timers.Timed(f"{sequence}/{execution} {test}", name, facts, share))
    return found
