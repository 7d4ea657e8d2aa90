"""The study's report."""

import tomllib
from html import escape
from pathlib import Path

from ...captured import capture
from ...kept.store import Store
from ...reports import answers, charts, parts, report
from ...reports.drawing import Page, plots
from ...reports.transports import misnamed
from ...statistics import rates
from ...statistics.stats import SPAN
from . import analysis
from .fields import COMBINED, MODES

_TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
_SERIES = {"attributes": ("attributes", "parts"), "modes": ("mode", "mode"),
           "own": ("attributes", "attributes")}  # fmt: skip
Drawn = dict[str, list[charts.Point]]  # points by their line


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = Page(store, ("multiple", *COMBINED))
    sent, lost = (sum(s[k] for s in summaries) for k in ("sent", "lost"))
    bad = any((s["lost"] and s["transport"] == "reliable") or misnamed(s) for s in summaries)
    text = f"{len(summaries)} tests, {sent:,} updates sent, {lost:,} lost."
    words = "".join(f"<li>{escape(line)}</li>" for line in analysis.sentences(summaries))
    body = [report.verdict(store, text, bad=bad), f"<h2>In words</h2><ul>{words}</ul>",
            *report.notes(store)]  # fmt: skip
    for (sequence, kind, transport), group in capture.ways(summaries).items():
        wrong = ", not what its name says: by a reliable link" if misnamed(group[0]) else ""
        way = f"{sequence} ({group[0]['rti']}): {kind}s, {transport.replace('_', ' ')}{wrong}"
        drawn = _charts(page, group, capture.seen_alike(summaries, group), wrong)
        body += [f"<h2>{escape(way)}</h2>", plots(drawn)]
        body += [] if group[0]["wire"] else [*_costs(page, group), *_penalties(group)]
    seen, timed = capture.apart(summaries)
    body += _wire(seen)
    over = "own" if any(s["series"] == "own" for s in summaries) else "layouts"
    if over == "layouts":
        body += charts.ease_table({x: analysis.ease_of(x) for x in ("multiple", *COMBINED)})
    body += _every(store, timed or summaries)
    body += report.ways(summaries, misnamed)
    body += answers.comparisons(store, answers.found(store, summaries))
    body += report.method(_TEXTS["report"]["method"] + _TEXTS["over"][over])
    report.write(store, "FOM cost report", body)


def _charts(page: Page, group: list[dict], seen: list[dict], wrong: str) -> list[str]:
    """Time and bytes, of the series of parts, of the modes, and of a class of somebody's own."""
    drawn = []
    for name, (x, axis) in _SERIES.items():
        shown, sized = (analysis.series(of, name) for of in (group, seen))
        sized = [s for s in sized if not (s["wire"] and s["wire"]["unknown"])]
        lines: Drawn = {}
        lengths: Drawn = {}
        for s in shown:
            call = map(s["call_p50_us"].get, ("mean", "low", "high"))
            call = analysis.values(s, "instructions") * 3 if s["instructions"] else call
            lines.setdefault(_line(s), []).append((s[x], *call))
        for s in sized or shown:
            lengths.setdefault(_line(s), []).append((s[x], *map((s["wire"] or s).get, SPAN)))
        lame = [s for s in shown if rates.disturbed(s) and not s["instructions"]]
        little = {line: {s[x] for s in lame if _line(s) == line} for line in lines}
        unit, title = analysis.measured(group), f"by {axis}{wrong}"
        caught = bool(sized and seen[0]["wire"])
        begin = _TEXTS["broken"].get(name, "")
        if lines and not group[0]["wire"]:
            theirs = _published(name, lines, little)
            drawn.append(charts.lines(page, f"Update call {title}", axis, unit, lines, theirs,
                                      begin if theirs else "", hollow=little))  # fmt: skip
        if lengths:
            theirs = _published(name, lengths, {}, captured=True) if caught else []
            caption = " ".join([_TEXTS["bytes"][str(caught).lower()], *([begin] if theirs else [])])
            drawn.append(charts.lines(page, f"Bytes of an update {title}", axis, "bytes", lengths,
                                      theirs, caption))  # fmt: skip
    return drawn


def _line(s: dict) -> str:
    return s["layout"] + (f" {s['mode']}" if s["series"] == "own" and s["mode"] else "")


def _published(name: str, drawn: Drawn, little: dict, captured: bool = False) -> list[str]:
    """Adds the source's lines to those of a series' calls, or of what was captured of it, beginning
    where more than `little` is said; their names."""
    said = {of: [p for p in drawn[of] if p[0] not in little.get(of, ())] for of in drawn}
    first = next((p[1] for p in said.get("multiple", ()) if p[0] == 1), 0.0)
    theirs: Drawn = {}
    if name == "attributes" and first:
        steps = {rti: first * more / 100 for rti, more in _TEXTS["per_attribute"].items()}
        if captured:
            steps = {f"{n} bytes beside each": 12.0 + n for n in _TEXTS["overhead"]}
        for line, step in steps.items():
            theirs[f"published, {line}"] = [(n + 1, first + n * step, None, None) for n in range(5)]
    if name == "modes" and not captured and (fixed := said.get("fixed")):
        more = _TEXTS["penalty"]
        theirs["published"] = [(p[0], p[1] * (1 + more[p[0]] / 100), None, None) for p in fixed]
    drawn |= theirs
    return list(theirs)


def _costs(page: Page, group: list[dict]) -> list[str]:
    if not (costs := analysis.costs(group)):
        return []
    tests, found = costs
    points = [(s["layout"], s["bytes"]) for s in tests]
    share = None if analysis.series(group, "own") else found.percent(analysis.TWELVE)
    shares = [(f"{analysis.ATTRIBUTE} more, of an update of one", share)] if share else []
    names = ("an attribute more", "a byte more")
    return charts.fit(page, found, names, analysis.measured(group), shares, points, "bytes")


def _penalties(group: list[dict]) -> list[str]:
    rows = []
    for mode in MODES:
        each = [analysis.penalty(group, layout, [mode]) for layout in COMBINED]
        if any(each):
            said = "{0.value:.3g} %" if analysis.measured(group) == "instructions" else "{1}"
            cells = [said.format(one, one.text(" %")) if one else "-" for one in each]
            rows.append((mode, *cells, f"{_TEXTS['penalty'][mode]:g} %"))
    head = ("several cost more", *(f"than {layout}" for layout in COMBINED), "published")
    return [parts.text_table(head, rows)] if rows else []


def _wire(seen: list[dict]) -> list[str]:
    if not seen:
        return []
    at = [s for s in seen if s["series"] == "attributes"]
    key = ("sequence", "kind", "transport", "layout", "attributes")
    wires = {tuple(s[k] for k in key): s["wire"] for s in at}
    said = ""
    for way in dict.fromkeys(k[:3] for k in wires):
        of = (("multiple", 1), ("multiple", 5), ("fixed", 5))
        first, several, one = (wires.get((*way, *test)) for test in of)
        if first and several and one:
            more = 100 * (several["bytes"] / one["bytes"] - 1)
            beside = (several["bytes"] - first["bytes"]) / 4 - 12  # whatever the format is
            words = {"by": ", ".join(way).replace("_", " "), "beside": beside}
            said += f"<li>{escape(_TEXTS['report']['five'].format(more=more, **words))}</li>"
    keys = ("sequence", "kind", "transport", "layout", "attributes", "mode")
    tests = [(tuple(str(s[k]).replace("_", " ") for k in keys), s) for s in seen]
    return ["<h2>On the wire</h2>", f"<ul>{said}</ul>", charts.wire_table(keys, tests)]


def _every(store: Store, summaries: list[dict]) -> list[str]:
    """The call in full, the receiver's side, and coding; counted tests have no times."""
    cells, counts = [], ("sent", "lost", "waited")
    for s in summaries:
        hidden = ("_ns", "_us") if s["instructions"] else ()
        shown = [None if n.endswith(hidden) else s[n] for n in _TEXTS["columns"]]
        mark = " ?" * bool(store.study.doubt(s))  # disturbed by other programs
        cells.append([*("-" if v is None else f"{v['mean']:,.4g}{mark}" for v in shown),
                      *(f"{s[n]:,}" for n in counts)])  # fmt: skip
    head = [*_TEXTS["columns"].values(), *counts]
    return ["<h2>Every test</h2>", parts.with_setup(store.study.variables, summaries, head, cells)]
