"""How late threads woke up that sleep until deadlines, beside the same threads with nothing else to
do: what a report says of the pacing of a run.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .drawing import Page, legend, plots, plt, style
from .parts import text_table


@dataclass(frozen=True)
class Timed:
    """A thread in a test: its `facts` hold `scheduling`, and of `deadlines` and of `floor` (idle)
    the turns, late, missed, max_ns and lateness (least ns of each bucket, and how many)."""

    test: str
    federate: str
    facts: dict
    cpu: float  # share of one that the thread used


def timed(summaries: list[dict], facts: Callable[[dict, str], dict]) -> list[Timed]:
    """Every sender's timer, once per test, by what its federate told of it (`facts`)."""
    seen = {(s["sequence"], s["execution"], s["test"], s["sender"]): s for s in summaries}
    found = []
    for (sequence, execution, test, name), s in seen.items():
        told = facts(s, name)
        turns = told["deadlines"]["turns"] + told["deadlines"]["missed"]
        share = told["thread_s"] / max(turns / s["tick_hz"], 1e-9)
        found.append(Timed(f"{sequence}/{execution} {test}", name, told, share))
    return found


def section(page: Page, timed: list[Timed]) -> list[str]:
    """A table of every thread, and a figure of all by scheduling."""
    if not timed:
        return []
    lines = []
    counts: dict[tuple[str, str], dict[int, int]] = {}
    for one in timed:
        facts = one.facts
        d, f = facts["deadlines"], facts["floor"]
        lines.append(
            (one.test, one.federate, facts["scheduling"], f"{d['turns']:,}", f"{d['late']:,}",
             f"{d['missed']:,}", *_us(d), *_us(f), f"{one.cpu:.1%}")
        )  # fmt: skip
        for what, of in (("measuring", d), ("idle", f)):
            at = counts.setdefault((facts["scheduling"], what), {})
            for least, count in of["lateness"]:
                at[least] = at.get(least, 0) + count
    figure, axes = plt.subplots()
    for index, ((scheduling, what), at) in enumerate(sorted(counts.items())):
        least = sorted(at)
        if not least:
            continue
        later = 1 - np.cumsum([at[b] for b in least]) / sum(at.values())
        axes.step(
            [max(b, 1) / 1e3 for b in least], np.maximum(later, 1e-9), where="post",
            label=f"{scheduling}, {what}", color=style(index)["color"],
            ls="--" if what == "idle" else "-",
        )  # fmt: skip
    axes.set(
        xscale="log", yscale="log", ylim=(1e-6, 1.2), xlabel="wake-up lateness, us",
        ylabel="share of turns later", title="Timing error of the measuring threads",
    )  # fmt: skip
    legend(axes, len(counts))
    caption = "Broken lines: the host's own wake-ups, the same threads with nothing else to do."
    head = ("test", "federate", "scheduling", "turns", "late", "missed", "p50 us", "p99 us",
            "max us", "idle p50", "idle p99", "idle max", "CPU")  # fmt: skip
    return ["<h2>Timers</h2>", text_table(head, lines), plots([page.figure(figure, caption)])]


def _us(of: dict) -> tuple[str, str, str]:
    return f"{high(of, 0.5):.1f}", f"{high(of, 0.99):.1f}", f"{of['max_ns'] / 1e3:,.0f}"


def high(of: dict, share: float) -> float:
    """The lateness in us that this share of turns does not exceed, to a quarter of it."""
    total, so_far = sum(count for _, count in of["lateness"]), 0
    for least, count in of["lateness"]:
        so_far += count
        if so_far >= share * total:
            return least / 1e3
    return 0.0
