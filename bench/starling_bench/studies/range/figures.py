"""The range test bed's report."""

from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from ... import clocks, courses, named, report, samples, timers
from ...cells import lost
from ...courses import Course
from ...differences import on
from ...report import Page
from ...store import Store
from . import phases, rows
from .rows import label

_METHOD = (
    "Delivery time: from the clock reading last before the sender's update to the one first in the "
    "receiver's reflection; so two LRCs and the network once. Each federate's interface is one "
    "thread with absolute deadlines (clock_nanosleep, TIMER_ABSTIME) that updates its attribute "
    "when due and evokes callbacks for at most 1 ms; all else (log, echoes, display) is other "
    "threads and processes. In budget: of all that were sent, those that came within the budget, "
    "the sender's period if nothing else is said. One-way ping: half of the shortest UDP echo of "
    "the same size (at most 65,507 bytes) in the same test, less what the partner took. LRC: "
    "(shortest delivery time - ping) / 2; where callbacks are polled only if messages were sent in "
    "each twentieth of the receiver's turn, else the shortest holds waiting for it; between "
    "hosts it is off by a quarter of what the ways there and back differ by. Timers of one "
    "rate keep their phase, and each delivery time of a test would hold the same part of the "
    "receiver's turn: so each federate's periods are longer than those of the one before, by so "
    "many millionths as the test says (drift_ppm; 1618 if nothing is said), and delivery times "
    "rise and fall as clocks of several hosts make them do. Figures show the lowest and highest of "
    "each pixel of a test's first flow and of the one with the longest delivery; the table has all "
    "flows. A percentile p stands only where there are at least 10/(1-p) values. No digit below "
    "the clock's bound is printed."
)
# By what a flow goes, and what else makes flows alike.
_CARRIER = ("base", "part", "table", "adapter", "bundling", "threaded")
ALIKE = (*_CARRIER, "federates", "bytes", "hz", "transport", "tick_hz", "scheduling", "sender",
          "receiver")  # fmt: skip
_FIGURES_MAX, _PERIODS_MAX = 40, 60


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = Page(store)
    summaries = [rows.placed(s) for s in summaries]
    known = [s for s in summaries if s["mean_ms"] is not None]
    body = [_verdict(store, summaries), *report.notes(store), *_notices(store, summaries)]
    body += ["<h2>Delivery times in ms</h2>", _table(summaries)] if summaries else []
    if known:
        groups = groups_of(known)
        drawn = [_course(page, store, group) for group in groups[:_FIGURES_MAX]]
        body += ["<h2>Delivery time against message count</h2>", report.plots(drawn)]
        if (more := len(groups) - _FIGURES_MAX) > 0:
            body += [f"<p>{more} further kinds of flows are not drawn; the table has them.</p>"]
        body += [_by_federates(page, known), *_periods(store, known)]
    source = named.Source(
        Path(__file__).with_name("source.toml"), lambda s: rows.flow(store, s, s["setting"]),
        label, on, ALIKE, _CARRIER, rows.misnamed,
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
    if wrong := rows.by_reliable_links(summaries):
        text += f" Not what its name says: {wrong}."
    if shares:
        text += (
            f" In budget: {min(shares):.2%} in the worst flow, {np.mean(shares):.2%} on average."
        )
    return report.verdict(store, text, bad=reliable > 0 or missed > 0 or bool(wrong))


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


def groups_of(summaries: list[dict]) -> list[list[dict]]:
    """What stands in one figure: flows of one kind on several RTIs. Of each RTI's tests, with
    repeats, the first flow and the one with the longest delivery: what stood still at one federate
    only is among these."""
    kinds: dict[tuple, dict[tuple, list[dict]]] = {}
    for s in summaries:
        kind = ("federates", "bytes", "hz", "transport", "tick_hz", "scheduling", "threaded")
        carrier = ("base", "part", "table", "rti", "bundling")
        group = kinds.setdefault(tuple(named.value(s, k) for k in kind), {})
        group.setdefault(tuple(named.value(s, k) for k in carrier), []).append(s)
    found = []
    for group in kinds.values():
        drawn = []
        for of in group.values():
            longest = max(of, key=lambda s: s["max_ms"])
            drawn += [of[0]] if longest is of[0] else [of[0], longest]
        found.append(drawn)
    return found


def _course(page: Page, store: Store, group: list[dict]) -> str:
    """Every line of a figure, and what all share."""
    lines = [
        Course(f"{on(s)}, {s['execution']}: {s['sender']} → {s['receiver']}",
               rows.flow(store, s, s["setting"]), s.get("adapter") in report.RAW, s["held"] == "no")
        for s in group
    ]  # fmt: skip
    first = group[0]
    caption = (
        f"{first['federates']} federates, {first['tick_hz']} turns a second, "
        f"{first['scheduling']} scheduling."
    )
    return courses.figure(page, label(first), caption, lines, first["budget_ms"])


def _by_federates(page: Page, summaries: list[dict]) -> str:
    """Delivery times against the number of federates, where there are several."""
    lines: dict[str, dict[int, list[dict]]] = {}
    for s in summaries:
        lines.setdefault(f"{on(s)}: {label(s)}", {}).setdefault(s["federates"], []).append(s)
    lines = {name: of for name, of in lines.items() if len(of) > 2}
    if not lines:
        return ""
    figure, axes = report.plt.subplots()
    for index, (name, of) in enumerate(lines.items()):
        x = sorted(of)
        mean = [np.mean([s["mean_ms"] for s in of[n]]) for n in x]
        ends = [[f(s["mean_ms"] for s in of[n]) for n in x] for f in (min, max)]
        (made,) = axes.plot(x, mean, label=name, **report.style(index))
        made.set_gid(f"line-{index}")
        axes.fill_between(x, *ends, alpha=0.2, color=report.style(index)["color"])
    axes.set(title="Delivery time by number of federates", xlabel="federates", ylabel="mean, ms")
    axes.set_ylim(bottom=0)
    report.legend(axes, len(lines))
    caption = "Mean of all flows of a test; shaded: from the flow with the least to the largest."
    return report.plots([page.figure(figure, caption)])


def _periods(store: Store, summaries: list[dict]) -> list[str]:
    """What comes back in any flow, but for what the timers' phases make of it, which is said."""
    found: list[tuple] = []
    beats: list[float] = []
    for s in summaries:
        flow, setting = rows.flow(store, s, s["setting"]), s["setting"]
        if not setting["threaded"]:
            stations = [_facts(store, s, name)["station"] for name in (s["sender"], s["receiver"])]
            if beat := phases.beat_s(setting, *stations):
                beats.append(beat)
                turn = phases.turn_ms(setting, stations[1])
                flow = replace(flow, ms=phases.without(flow, turn))
        found.append((on(s), f"{s['sender']} → {s['receiver']}, {label(s)}", flow))
    said = f"{len(found)} flows were looked at, so noise alone may show one in a hundred of them. "
    if beats:
        said += (
            f"In {len(beats)} flows to polled federates delivery times rise and fall with the "
            f"phase of the two timers, which goes through a turn once in {min(beats):.3g} to "
            f"{max(beats):.3g} s because their rates were made to differ: that is taken off before."
        )
    return courses.found_periods(found, said, _PERIODS_MAX)


def _timed(store: Store, summaries: list[dict]) -> list[timers.Timed]:
    """Every sender's timer, once per test."""
    seen = {(s["sequence"], s["execution"], s["test"], s["sender"]): s for s in summaries}
    found = []
    for (sequence, execution, test, name), s in seen.items():
        facts = _facts(store, s, name)
        share = facts["thread_s"] / max(s["planned"] / s["hz"], 1e-9)
        found.append(timers.Timed(f"{sequence}/{execution} {test}", name, facts, share))
    return found
