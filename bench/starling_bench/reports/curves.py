"""Figures of a variable along the axis: which series each shows, their names and looks.

A series is what a sequence's execution measured of one kind of test between one pair of federates;
of series that have a single point along the axis, as they vary something else, none is drawn.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from ..machines.rti import RAW
from ..statistics.differences import rti_in
from ..variables import Variable, Variables
from .drawing import COLOURS, MARKERS, PLAIN, Page, hollow_for, legend, shown, wrapped

# More lines than these in a figure are told apart by nobody.
LINES_MAX = 12

# By the first of these that differ a figure of more lines becomes several, in this order; and these
# are what a line is told by, the RTI first, where they differ.
_KIND = Variable("kind", lambda s: s.get("kind", ""), speaks=True)
_TRANSPORT = Variable(
    "transport", lambda s: s.get("transport", ""), lambda v: str(v).replace("_", " "), speaks=True
)
_RTI = Variable("RTI", rti_in, speaks=True)
# Whatever else names a line is said only where it is needed: these are names of the file.
_NAMES = ("execution", "sequence", "RTI")

Series = list[dict]  # tests in order of the axis


@dataclass(frozen=True)
class Curve:
    """What one figure shows."""

    variable: Variable
    held: dict[str, str]  # the values of the other variables that a figure may have along its axis
    lines: dict[str, Series]  # by name
    common: str  # what all lines share, in words
    part: str  # of which tests, where the lines are too many for one figure; "": of all
    elsewhere: int  # tests at other values of what is held
    single: tuple[int, int]  # series, and their tests, of one point each
    fewer: tuple[int, int]  # of other executions, that have fewer values of the variable


def curves(variables: Variables, summaries: list[dict]) -> list[Curve]:
    """Those of each variable with several values; no line joins unlike points."""
    found: list[Curve] = []
    differing = variables.differing(summaries)
    apart = [v for v in variables.every if v.line]
    names = [tuple(v.value(s) for v in apart) for s in summaries]
    for x in [v for v in differing if v.axis]:
        held = [v for v in variables.every if v.axis and v is not x]
        at: dict[tuple, dict[tuple, Series]] = {}
        for s, name in zip(summaries, names, strict=True):
            at.setdefault(tuple(v.value(s) for v in held), {}).setdefault(name, []).append(s)
        # Held where most values of the variable were measured, then where most tests were.
        several = {key: [of for of in here.values() if _values(x, of) > 1]
                   for key, here in at.items()}  # fmt: skip
        key = max(several, key=lambda k, of=several, x=x: (
            max((_values(x, line) for line in of[k]), default=0), sum(map(len, of[k]))
        ))  # fmt: skip
        if not several[key]:
            continue
        lines = [sorted(of, key=lambda s, x=x: x.value(s)) for of in several[key]]
        stated = {v.title: v.text(value) for v, value in zip(held, key, strict=True)
                  if value is not None}  # fmt: skip
        here = list(at[key].values())
        base = Curve(
            x, stated, {}, "", "", len(summaries) - sum(map(len, here)),
            _count(of for of in here if _values(x, of) < 2), (0, 0),
        )  # fmt: skip
        found += _figures(variables, base, lines)
    return found


def _values(x: Variable, of: Series) -> int:
    """How many of the variable a series has."""
    return len({x.value(s) for s in of})


def _count(of: Iterable[Series]) -> tuple[int, int]:
    """Series, and their tests."""
    sizes = list(map(len, of))
    return len(sizes), sum(sizes)


def _figures(variables: Variables, base: Curve, lines: list[Series]) -> list[Curve]:
    """These lines, in as many figures as they need."""
    if len(lines) > LINES_MAX:  # the series of which the variable is the subject are preferred
        most = max(_values(base.variable, line) for line in lines)
        own = {_execution(line) for line in lines if _values(base.variable, line) == most}
        left = [line for line in lines if _execution(line) not in own]
        lines = [line for line in lines if _execution(line) in own]
        base = replace(base, fewer=_count(left))
    parts = [("", lines)]
    for by in (_KIND, _TRANSPORT, *_told(variables)):
        if all(len(of) <= LINES_MAX for _, of in parts):
            break
        parts = [found for part in parts for found in _split(by, *part)]
    parts = [found for part in parts for found in _cut(*part)]
    return [_named(variables, replace(base, part=part), of) for part, of in parts]


def _execution(line: Series) -> tuple[str, str]:
    """In the file, where all RTIs of a sequence have it."""
    first = line[0]
    return first.get("sequence_of") or first["sequence"], first["execution"]


def _split(by: Variable, part: str, lines: list[Series]) -> list[tuple[str, list[Series]]]:
    """Lines that are too many, by the values of a variable, if it has several there."""
    value = lambda line: by.said(line[0])  # noqa: E731
    if len(lines) <= LINES_MAX or len(set(map(value, lines))) < 2:
        return [(part, lines)]
    found: dict[str, list[Series]] = {}
    for line in lines:
        found.setdefault(value(line), []).append(line)
    return [(f"{part}, {said}" if part else said, of) for said, of in found.items()]


def _cut(part: str, lines: list[Series]) -> list[tuple[str, list[Series]]]:
    """Lines that are still too many, each figure with those of no RTI beside."""
    if len(lines) <= LINES_MAX:
        return [(part, lines)]
    raw = [line for line in lines if _raw(line)][: LINES_MAX - 1]
    rest = [line for line in lines if line not in raw]
    size = LINES_MAX - len(raw)
    cut = [rest[n : n + size] for n in range(0, len(rest), size)]
    return [(", ".join(filter(None, [part, f"{n} of {len(cut)}"])), [*of, *raw])
            for n, of in enumerate(cut, 1)]  # fmt: skip


def _raw(line: Series) -> bool:
    return all(s.get("adapter") in RAW for s in line)


def _told(variables: Variables) -> list[Variable]:
    """By what lines are told apart, beside the RTI, a test's kind and how it goes."""
    return [v for v in variables.every if v.line and v.title not in (*_NAMES, "test")]


def _named(variables: Variables, base: Curve, lines: list[Series]) -> Curve:
    """The figure of these lines, named by what differs among them."""
    firsts = [line[0] for line in lines]
    told = [_KIND, _TRANSPORT, *_told(variables)]
    differ = [v for v in (_RTI, *told) if len({v.value(s) for s in firsts}) > 1]
    by_title = {v.title: v for v in variables.every}
    for name in _NAMES:  # where these don't tell all
        texts = {tuple(v.value(s) for v in differ) for s in firsts}
        if len(texts) < len(firsts) and name in by_title:
            differ.append(by_title[name])
    differ = differ or [_RTI]
    named: dict[str, Series] = {}
    for line in lines:
        name = ", ".join(v.named(line[0]) for v in differ)
        while name in named:
            name += "'"
        named[name] = line
    common = ", ".join(
        v.named(firsts[0]) for v in (_RTI, *told)
        if v not in differ and v.value(firsts[0]) not in (None, "")
    )  # fmt: skip
    return replace(base, lines=named, common=common)


def looks(page: Page, lines: Iterable[Series]) -> list[dict]:
    """A colour for each RTI, the same in all figures of a page; the marker tells its lines, in each
    figure, by whatever else they differ in. Broken is what has no RTI."""
    told = [_KIND, _TRANSPORT, *_told(page.store.study.variables)]
    rest: dict[tuple, int] = {}
    found: list[dict] = []
    for line in lines:
        first = line[0]
        rti = page.rtis.setdefault(rti_in(first), len(page.rtis))
        marker = rest.setdefault(tuple(v.value(first) for v in told), len(rest))
        taken = {(look["color"], look["marker"]) for look in found}
        color = COLOURS[rti % len(COLOURS)]
        free = [m for n in range(len(MARKERS))
                if (color, m := MARKERS[(marker + n) % len(MARKERS)]) not in taken]  # fmt: skip
        look = {"color": color, "marker": (free or [MARKERS[marker % len(MARKERS)]])[0]}
        found.append(look | {"linestyle": "--" if _raw(line) else "-"})
    return found


def draw(page: Page, summaries: list[dict], what: tuple) -> list[str]:
    """A figure of each kind (title, unit, `band`) per variable."""
    drawn = curves(page.store.study.variables, summaries)
    # Those of one variable stand together.
    together = [list(of) for _, of in groupby(drawn, lambda curve: curve.variable.title)]
    return [figure(page, curve, *one) for of in together for one in what for curve in of]


def figure(
    page: Page, curve: Curve, title: str, unit: str, low_mean_high,
    doubt: Callable[[dict], str] | None = None,
) -> str:  # fmt: skip
    """A variable along the axis; `low_mean_high` gives the three values of a point, `doubt` why
    they say little, where that is not what the study says of a test."""
    drawing, axes = plt.subplots()
    doubt = doubt or page.store.study.doubt
    every = [s for points in curve.lines.values() for s in points]
    all_looks = looks(page, curve.lines.values())
    for index, ((name, points), look) in enumerate(
        zip(curve.lines.items(), all_looks, strict=True)
    ):
        x = [curve.variable.value(s) for s in points]
        name = f"{name} (no RTI)" if _raw(points) else name
        low, y, high = np.array([low_mean_high(s) for s in points], dtype=float).T
        error = np.nan_to_num([np.maximum(y - low, 0), np.maximum(high - y, 0)])
        bars = axes.errorbar(x, y, yerr=error, ms=5, capsize=3, label=shown(name), **look)
        bars[0].set_gid(f"line-{index}")
        little = [(at, v) for at, v, s in zip(x, y, points, strict=True) if doubt(s)]
        if little:
            white = look | {"linestyle": "", "mfc": "white"}
            axes.plot(*zip(*little, strict=True), ms=5, zorder=3, **white)
    values = sorted({curve.variable.value(s) for s in every})
    if min(values) > 0:
        axes.set_xscale("log")
    of = f": {curve.part}" if curve.part else ""
    said = wrapped(curve.common)
    axes.set(xlabel=curve.variable.title, ylabel=unit)
    axes.set_title(f"{title} by {curve.variable.title}{of}", pad=6 + 11 * len(said.splitlines()))
    axes.text(0.5, 1.015, said, fontsize=8, ha="center", va="bottom", transform=axes.transAxes)
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_major_formatter(PLAIN)
    # An interval of two or three samples can be so long that it would hide everything else.
    highest = max(low_mean_high(s)[1] for s in every)
    longest = axes.get_ylim()[1]
    axes.set_ylim(0, min(longest, 3 * highest) or 1)
    legend(axes, len(curve.lines))
    held = ", ".join(f"{k} {v}" for k, v in curve.held.items() if k not in ("tick min s",))
    caption = f"Held: {held}."
    if plain := sorted({s["rti"] or s["adapter"] for s in every if s.get("adapter") in RAW}):
        caption += (
            f" Broken lines: the same loops without an RTI ({', '.join(plain)}), a raw limit of "
            "RTIs whose data go that way, and no other's (see the ways that data took)."
        )
    caption += hollow_for(map(doubt, every))
    if longest > 3 * highest:
        caption += " Intervals that end at the edge go on beyond it: the table has their ends."
    return page.figure(drawing, caption + left_out(curve))


def left_out(curve: Curve) -> str:
    """What is not in a figure, and why."""
    said, x = "", curve.variable.title
    for (series, tests), why in (
        (curve.single, f"one value of {x} here each, as they vary something else"),
        (curve.fewer, f"fewer values of {x} than these, as they are of other executions"),
    ):
        if series:
            said += f" Not drawn: {series} series ({tests} tests) with {why}."
    if curve.elsewhere:
        said += f" {curve.elsewhere} tests at other values are not in this figure."
    return said
