"""Figures of all that was measured: of a test's values percentiles and distribution, and every
sample in its order.
"""

from collections.abc import Callable
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter

from ..kept.store import Store
from .drawing import PLAIN, Page, hollow, hollow_for, legend, shown, style
from .report import versions

# More than these make a page too heavy; the tables have them all.
_DISTRIBUTIONS_MAX = 10
# What a figure has across, in pixels of a page.
_COLUMNS = 500


def distributions(page: Page, summaries: list[dict]) -> list[str]:
    """Percentiles and distribution of each test, the RTIs and pairs that ran it side by side."""
    variables = page.store.study.variables
    groups = list(variables.alike(summaries).items())
    out = []
    for title, group in groups[:_DISTRIBUTIONS_MAX]:
        names = [v for v in variables.differing(group) if v.line]
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
        nines = 1.0
        for index, s in enumerate(group):
            values = _sorted_ms(page.store, s)
            if not len(values):
                continue  # they were removed, which is told where they are counted
            look = style(index) | {"markevery": 10, "ms": 4}
            name = variables.name_of(s, names)
            nines = max(nines, np.log10(len(values)))
            x = np.linspace(0, np.log10(len(values)), 60)
            rank = np.ceil(np.round((1 - 10**-x) * len(values), 9)).astype(int)
            left.plot(x, values[np.clip(rank, 1, len(values)) - 1], label=shown(name), **look)
            share = np.linspace(0, 1, 60)
            picked = values[np.minimum((share * len(values)).astype(int), len(values) - 1)]
            right.plot(picked, share * 100, label=shown(name), **look)
        ticks = [t for t in (np.log10(2), 1, 2, 3, 4, 5) if t <= nines + 0.01]
        left.xaxis.set_major_locator(FixedLocator(ticks))
        left.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * (1 - 10**-v):.6g} %"))
        left.set(title="Round trip by percentile", ylabel="ms", xlabel="percentile", yscale="log")
        left.yaxis.set_major_formatter(PLAIN)
        right.set(title="Distribution", xlabel="ms", ylabel="% of round trips", xscale="log")
        right.xaxis.set_major_formatter(PLAIN)
        legend(left, len(group))
        opened = " open" if not out else ""
        plot = page.figure(figure, title).replace("<figure", '<figure style="max-width:1000px"', 1)
        out.append(f"<details{opened}><summary>{escape(title)}</summary>{plot}</details>")
    if more := len(groups) - len(out):
        out.append(f"<p>{more} further tests: their percentiles stand in the table.</p>")
    return out


def _sorted_ms(store: Store, s: dict) -> np.ndarray:
    samples = store.round_trips(s)
    return np.sort(np.concatenate([np.empty(0), *samples])).astype(float) / 1e6


def thinned(points: list[tuple[int, float]], width: float) -> list[tuple[int, float]]:
    """Of points in order, those that are seen where so many share a column of the screen: the
    lowest and the highest of each."""
    columns: dict[int, list[tuple[int, float]]] = {}
    for point in points:
        columns.setdefault(int(point[0] / max(width, 1)), []).append(point)
    value = lambda point: point[1]  # noqa: E731
    return [
        point
        for here in columns.values()
        for point in sorted({min(here, key=value), max(here, key=value)})
    ]


def series(
    page: Page, title: str, unit: str, rows: list[dict], label: Callable[[dict], str]
) -> str:
    """Each sample in its order: oscillation and drift show here; "" without any."""
    study = page.store.study
    several = len({r["sequence"] for r in rows}) > 1
    groups: dict[str, list[tuple[int, float]]] = {}
    doubted: dict[str, list[tuple[int, float]]] = {}
    doubts = []
    for i, row in enumerate(rows, 1):
        on = row.get("setting", {}).get("rti") or row["sequence"]
        name = f"{on}, {label(row)}" if several else label(row)
        if (value := study.value(row)) is not None:
            groups.setdefault(name, []).append((i, value))
            if said := study.doubt(row):
                doubted.setdefault(name, []).append((i, value))
                doubts.append(said)
    if not groups:
        return ""
    figure, axes = plt.subplots()
    for index, (name, points) in enumerate(groups.items()):
        seen = thinned(points, len(rows) / _COLUMNS)
        axes.plot(*zip(*seen, strict=True), ls="", ms=4, label=shown(name), **style(index))
        hollow(axes, sorted(set(seen) & set(doubted.get(name, ()))), index)
    axes.set(title=title, xlabel="sample, in order of measurement", ylabel=unit)
    axes.yaxis.set_major_formatter(PLAIN)
    axes.set_ylim(bottom=0)
    legend(axes, len(groups))
    caption = "RTI: " + ", ".join(versions(page.store)) + "."
    return page.figure(figure, caption + hollow_for(doubts))
