"""The report: every sweep as charts, with medians and ranges over the rounds."""

import statistics
from html import escape

from ...kept.store import Store
from ...reports import charts, report
from ...reports.drawing import Page, plots
from ...reports.parts import text_table


def points(rows: list[dict]) -> dict[tuple, list[dict]]:
    """The rows of each sweep, figure and line, in order."""
    found: dict[tuple, list[dict]] = {}
    for row in rows:
        found.setdefault((row["sweep"], row["figure"], row["line"]), []).append(row)
    return found


def summaries(rows: list[dict]) -> list[dict]:
    """A point over its rounds: rounds that say little do not count where others are there."""
    found = []
    for (sweep, figure, line), mine in points(rows).items():
        for x in dict.fromkeys(row["x"] for row in mine):
            here = [row for row in mine if row["x"] == x]
            sure = [row for row in here if not row["doubt"]] or here
            values = [row["value"] for row in sure]
            doubt = (
                "" if not sure[0]["doubt"] else "; ".join(dict.fromkeys(r["doubt"] for r in sure))
            )
            found.append({
                "sweep": sweep, "figure": figure, "line": line, "x": x, "rounds": len(here),
                "counted": len(values), "median": statistics.median(values), "low": min(values),
                "high": max(values), "doubt": doubt,
            })  # fmt: skip
    return found


def write(store: Store, found: list[dict], sweeps: list[dict], texts: dict[str, str]) -> None:
    """report.html and the figures, in the store's directory."""
    page, run = Page(store), store.run
    failed = run["failed"]
    drawn = sum(len(s["charts"]) for s in sweeps)
    text = (
        f"Sweeps: {len(sweeps)}; charts: {drawn}; points: {run['points']:,}; rounds: "
        f"{run['rounds']}; scale: {run['scale']:g}. It took {run['took_s']:,.0f} s."
    )
    text += f" {len(failed)} points could not be measured." if failed else ""
    kind = "verdict bad" if failed else "verdict"
    body = [f'<p class="{kind}">{escape(text)}</p>', *_notes(store, found)]
    for sweep in sweeps:
        body.append(f"<h2>{escape(sweep['name'].capitalize())}</h2>")
        if why := run["left_out"].get(sweep["name"]):
            body.append(f'<p class="note">{escape(why)}</p>')
            continue
        mine = [s for s in found if s["sweep"] == sweep["name"]]
        body.append(plots([_chart(page, sweep, chart, mine) for chart in sweep["charts"]]))
        body.append(_table(sweep, mine))
        if left_out := sweep.get("left_out"):
            body.append(text_table(("not called again and again", "why"), list(left_out.items())))
    if failed:
        lines = [(f["sweep"], f["line"], f["x"], f["why"]) for f in failed]
        body += ["<h2>Not measured</h2>", text_table(("sweep", "line", "at", "why"), lines)]
    for head, words in texts.items():
        body += [f"<h2>{escape(head)}</h2>", f"<p>{escape(words)}</p>"]
    report.write(store, "Data plane report", body)


def _notes(store: Store, found: list[dict]) -> list[str]:
    said = list(store.run["notes"])
    if busy := sum(s["doubt"].startswith("other programs") for s in found):
        said.append(
            f"Other programs used the CPUs while {busy} of {len(found)} figures were taken."
        )
    return [f'<p class="note">{escape(one)}</p>' for one in said]


def is_raw(sweep: dict, line: str) -> bool:
    """The line is of no RTI."""
    return bool({"raw", "computed"} & sweep["lines"][line].keys())


def _chart(page: Page, sweep: dict, chart: dict, mine: list[dict]) -> str:
    drawn: dict[str, list[charts.Point]] = {}
    hollow: dict[str, set] = {}
    for line in sweep["lines"]:
        for s in mine:
            if s["line"] == line and s["figure"] == chart["figure"]:
                x = s["x"] if sweep["does"] == "calls" else float(s["x"])
                drawn.setdefault(line, []).append((x, s["median"], s["low"], s["high"]))
                if s["doubt"]:
                    hollow.setdefault(line, set()).add(x)
    broken = [line for line in drawn if is_raw(sweep, line)]
    caption = chart["says"] + (" Hollow points: see the table." if hollow else "")
    if sweep["does"] == "calls":
        return charts.bars(page, chart["title"], chart["unit"], drawn, caption)
    return charts.lines(
        page, chart["title"], sweep["axis"], chart["unit"], drawn, broken, caption,
        hollow=hollow, along="log", steep=chart.get("steep", False),
    )  # fmt: skip


def _rounds(point: dict) -> str:
    """What its rounds found, and how many of them count, if not all do."""
    found = f"{point['low']:.4g} - {point['high']:.4g}" if point["counted"] > 1 else "-"
    few = point["counted"] < point["rounds"]
    return f"{found} ({point['counted']} of {point['rounds']})" if few else found


def _table(sweep: dict, mine: list[dict]) -> str:
    """All values of a sweep, folded."""
    charted = {chart["figure"]: chart for chart in sweep["charts"]}
    lines = [
        (chart["title"], s["line"], f"{s['x']}", chart["unit"], f"{s['median']:.4g}",
         _rounds(s), s["doubt"])
        for figure, chart in charted.items() for s in mine if s["figure"] == figure
    ]  # fmt: skip
    head = ("chart", "line", sweep["axis"], "unit", "median", "rounds", "says little, because")
    return f"<details><summary>Values</summary>{text_table(head, lines)}</details>"
