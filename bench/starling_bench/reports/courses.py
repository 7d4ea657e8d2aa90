"""A series of times, message by message: drawn whole against its budget; what returns in it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..times import periods
from ..times.oneway import Flow
from ..variables import value
from . import drawing
from .cells import ms
from .drawing import Page, plt
from .parts import text_table

# So many pixels has a figure across; of each, the lowest and the highest are drawn.
_COLUMNS = 900


@dataclass(frozen=True)
class Course:
    """One line of a figure."""

    name: str
    flow: Flow
    raw: bool = False  # without an RTI: the limit beside one
    grey: bool = False  # its sender did not hold its rate, or others disturbed it


def figure(page: Page, title: str, caption: str, lines: list[Course], budget_ms: float) -> str:
    """Delivery time against message count for the whole run, the budget as a line."""
    drawn, axes = plt.subplots(figsize=(8, 4))
    for index, line in enumerate(lines):
        count, ms = seen(line.flow.count, line.flow.ms)
        look = drawing.style(index) | {"marker": ""} | ({"color": "#888888"} if line.grey else {})
        name = f"{line.name} (raw limit)" if line.raw else line.name
        (made,) = axes.plot(count, ms, lw=0.8, ls="--" if line.raw else "-", label=name, **look)
        made.set_gid(f"line-{index}")
    axes.axhline(budget_ms, color="#c92a2a", lw=1.2, label=f"budget {budget_ms:.4g} ms")
    axes.set(title=title, xlabel="message count", ylabel="delivery time, ms")
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    drawing.legend(axes, len(lines) + 1)
    return page.figure(drawn, caption)


def groups(summaries: list[dict], kind: tuple[str, ...], on: tuple[str, ...]) -> list[list[dict]]:
    """What stands in one figure: flows that are alike in `kind`. Of each that they ran `on`, with
    repeats, the first flow and the one with the longest delivery: what stood still at one federate
    only is among these."""
    kinds: dict[tuple, dict[tuple, list[dict]]] = {}
    for s in summaries:
        group = kinds.setdefault(tuple(value(s, k) for k in kind), {})
        group.setdefault(tuple(value(s, k) for k in on), []).append(s)
    found = []
    for group in kinds.values():
        both = [(of[0], max(of, key=lambda s: s["max_ms"])) for of in group.values()]
        found.append(
            [s for one, longest in both for s in ([one] if longest is one else [one, longest])]
        )
    return found


def by_number(page: Page, key: str, lines: list[tuple[str, dict]]) -> list[str]:
    """Mean delivery times against a number, where a line has more than two values of it."""
    by: dict[str, dict[float, list[float]]] = {}
    for name, s in lines:
        by.setdefault(name, {}).setdefault(s[key], []).append(s["mean_ms"])
    by = {name: of for name, of in by.items() if len(of) > 2}
    if not by:
        return []
    drawn, axes = plt.subplots()
    for index, (name, of) in enumerate(by.items()):
        x = sorted(of)
        (made,) = axes.plot(x, [np.mean(of[n]) for n in x], label=name, **drawing.style(index))
        made.set_gid(f"line-{index}")
        ends = ([end(of[n]) for n in x] for end in (min, max))
        axes.fill_between(x, *ends, alpha=0.2, color=drawing.style(index)["color"])
    axes.set(title=f"Delivery time by {key}", xlabel=key, ylabel="mean, ms")
    axes.set_ylim(bottom=0)
    drawing.legend(axes, len(by))
    caption = "Mean of all flows of a test; shaded: from the flow with the least to the largest."
    return [drawing.plots([page.figure(drawn, caption)])]


def seen(count: np.ndarray, ms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is seen of a line: of every pixel the lowest and the highest."""
    if len(count) <= 2 * _COLUMNS:
        return count, ms
    column = (count - count[0]) * _COLUMNS // max(int(count[-1] - count[0]), 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    order = np.lexsort((ms, column))
    ends = np.append(starts[1:], len(count)) - 1
    shown = np.unique(np.concatenate([order[starts], order[ends]]))
    return count[shown], ms[shown]


_FOUND_HOW = (
    "Spikes by their intervals, waves by Lomb and Scargle's periodogram; what noise shows in less "
    "than 1 % of series. The correlation is that of the series with itself one period later. "
)


def found_periods(
    lines: Iterable[tuple[str, str, Flow, float]], said: str, most: int
) -> list[str]:  # fmt: skip
    """What comes back in each flow (on what, which flow, its times) and is higher than so many ms;
    of many the surest. What is not is counted."""
    every = [(p, on, what, flow.bound_ms, least) for on, what, flow, least in lines
             for p in periods.find(flow.seconds, flow.ms)]  # fmt: skip
    found = [
        (p.p, on, what, f"{p.kind} every {p.period_s:.4g} s, {ms(p.size, bound_ms)} ms high",
         "< 1e-6" if p.p < 1e-6 else f"{p.p:.2g}", f"{p.correlation:.2f}")
        for p, on, what, bound_ms, least in every if p.size > least
    ]  # fmt: skip
    how = _FOUND_HOW + said
    if low := len(every) - len(found):
        how += f" So low were {low}."
    if not found:
        return ["<h2>Periods</h2>", f"<p>{how} None was found.</p>"]
    if len(found) > most:
        how += f" Of {len(found)} that were found these {most} are the surest."
    shown = [line for _, *line in sorted(found, key=lambda line: line[0])[:most]]
    head = ("RTI", "flow", "what", "p", "correlation")
    return ["<h2>Periods</h2>", f"<p>{how}</p>", text_table(head, shown)]
