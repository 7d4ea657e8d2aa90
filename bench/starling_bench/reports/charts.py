"""Figures of values along an axis that a study chooses itself, numbers or names."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from ..statistics.estimates import Estimate, Fit
from ..statistics.stats import span, tenths
from ..values.source import Ease
from . import drawing
from .drawing import PLAIN, Page, legend, plots, style
from .parts import text_table

# Of a line: its points along the axis, each with its value and the ends of its interval.
Point = tuple[object, float, float | None, float | None]


def lines(
    page: Page, title: str, axis: str, unit: str, drawn: dict[str, list[Point]],
    broken: Sequence[str] = (), caption: str = "", from_zero: bool = True,
    hollow: Mapping[str, Collection] = {}, along: str = "linear", steep: bool = False,
) -> str:  # fmt: skip
    """A line for each name; those that are named in `broken` are not ours. Points of a line at the
    places that `hollow` names say little. `along` is how the axis is divided; `steep`: values go
    over several powers of ten."""
    figure, axes = plt.subplots()
    places = list(dict.fromkeys(p[0] for points in drawn.values() for p in points))
    named = any(isinstance(place, str) for place in places)
    for index, name in page.styles(drawn):
        points = drawn[name]
        x = [places.index(p[0]) if named else p[0] for p in points]
        y = np.array([p[1] for p in points], float)
        ends = np.array([(p[2] if p[2] is not None else p[1], p[3] if p[3] is not None else p[1])
                         for p in points], float).T  # fmt: skip
        error = np.maximum([y - ends[0], ends[1] - y], 0)
        look = style(index) | ({"linestyle": ":"} if name in broken else {})
        # Bars without a length would be a third of a figure's bytes.
        bars = axes.errorbar(
            x, y, yerr=error if error.any() else None, ms=5, capsize=3, label=name, **look
        )
        bars[0].set_gid(f"line-{index}")
        little = [at for at, p in zip(x, points, strict=True) if p[0] in hollow.get(name, ())]
        marked = [(at, v) for at, v in zip(x, y, strict=True) if at in little]
        drawing.hollow(axes, marked, index, f"hollow-line-{index}")
    axes.set(title=title, xlabel=axis, ylabel=unit)
    if along != "linear" and not named:
        axes.set_xscale(along)
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(range(len(places)) if named else sorted(places))
    if named:
        axes.set_xticklabels(places)
    else:
        axes.xaxis.set_major_formatter(PLAIN)
    if steep and min((p[1] for points in drawn.values() for p in points), default=0) > 0:
        axes.set_yscale("log")
        from_zero = False
    axes.yaxis.set_major_formatter(PLAIN)
    if from_zero:
        axes.set_ylim(bottom=0)
    legend(axes, len(drawn))
    return page.figure(figure, caption or title)


def bars(
    page: Page, title: str, unit: str, drawn: dict[str, list[Point]], caption: str = ""
) -> str:
    """A bar at each place, which are names, for each of the lines."""
    places = list(dict.fromkeys(p[0] for points in drawn.values() for p in points))
    figure, axes = plt.subplots(figsize=(6.4, 1.5 + 0.22 * len(places)))
    high = 0.8 / max(len(drawn), 1)
    for index, (name, points) in enumerate(drawn.items()):
        at = [places.index(p[0]) + (index - (len(drawn) - 1) / 2) * high for p in points]
        made = axes.barh(at, [p[1] for p in points], high, label=name, color=style(index)["color"])
        made[0].set_gid(f"line-{index}")
    axes.set(title=title, xlabel=unit, xscale="log")
    axes.set_yticks(range(len(places)), places, fontsize=7)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(PLAIN)
    axes.grid(axis="y", visible=False)
    legend(axes, len(drawn))
    return page.figure(figure, caption or title)


def scatter(
    page: Page, title: str, axis: str, unit: str, drawn: dict[str, list[tuple[float, float]]],
    caption: str = "",
) -> str:  # fmt: skip
    """Points about zero: what a fit has left."""
    figure, axes = plt.subplots()
    axes.axhline(0, color="#888")
    for index, name in page.styles(drawn):
        axes.plot(*zip(*drawn[name], strict=True), ls="", ms=5, label=name, **style(index))
    axes.set(title=title, xlabel=axis, ylabel=unit)
    axes.yaxis.set_major_formatter(PLAIN)
    legend(axes, len(drawn))
    return page.figure(figure, caption or title)


_WIRE = ("bytes of values", "messages", "by", "captured", "by the format", "updates",
         "of other length", "with others", "beside each value", "sent again",
         "acknowledgements", "missed")  # fmt: skip


def wire_table(head: tuple[str, ...], tests: list[tuple[tuple[str, ...], dict]]) -> str:
    """What updates were on the wire (capture.Wire), with what names each test; the last columns are
    of the whole flow, and `missed` packets that the capture did not see. Bytes are the mean, and
    from which to which."""
    lines = []
    for names, s in tests:
        values, w = span(s), s["wire"]
        if not w:
            why = "not found: of each update a message's values are too short, or another's"
            lines.append((*names, values, str(s["messages"]), why, *"-" * 9))
            continue
        form, beside = w["why"], "-"
        if w["by_format"] is not None:
            form, beside = tenths(w["by_format"]), f"{w['beside_each']:.3g}"
        more = f", of {w['unknown']} calls not found" if w["unknown"] else ""
        lines.append((
            *names, values, str(w["messages"]), f"{w['protocol']} to {w['to']}",
            span(w), form, f"{w['updates']}{more}",
            str(w["others"]), str(w["shared"]), beside,
            f"{w['repeated_bytes']} of {w['carried']} bytes", str(w["acknowledgements"]),
            "not known" if w["dropped"] is None else str(w["dropped"]),
        ))  # fmt: skip
    return text_table((*head, *_WIRE), lines)


def fit(
    page: Page, found: Fit, names: Sequence[str], unit: str, percents: list[tuple[str, Estimate]],
    points: list[tuple[str, float]], axis: str,
) -> list[str]:  # fmt: skip
    """What a step of each variable makes, with `percents` beside, and what the line leaves: of each
    test `points` has its line of the figure and its place on the axis."""

    def row(what: str, one: Estimate, unit: str) -> tuple[str, ...]:
        sure = f"± {100 * one.width:.0f} %" if one.known else "not distinguishable from 0"
        return what, one.text(f" {unit}"), sure

    rows = [row(name, one, unit) for name, one in zip(names, found.slopes, strict=True)]
    rows += [row(name, one, "%") for name, one in percents]
    left: dict[str, list[tuple[float, float]]] = {}
    for (line, place), residual in zip(points, found.residuals, strict=True):
        left.setdefault(line, []).append((place, residual))
    plot = scatter(page, "What the line leaves of each test", axis, unit, left)
    return [text_table(("cost", "with 95 % interval", "half of the interval"), rows), plots([plot])]


def ease_table(of: dict[str, Ease]) -> list[str]:
    """What each asks of who writes it."""
    lines = [(name, *map(str, (e.lines, e.branches, e.forms))) for name, e in of.items()]
    head = ("layout", "lines of codec", "branches", "forms in memory")
    return ["<h2>Ease of use</h2>", text_table(head, lines)]
