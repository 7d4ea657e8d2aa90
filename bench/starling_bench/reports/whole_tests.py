"""A line for each test of a study of one-way flows: what all of its flows come to, the worst of
them where there are several.
"""

from collections.abc import Callable

from ..statistics.stats import percent
from ..times import samples
from ..variables import PAIR, Variables
from . import parts
from .cells import lost, ms

_HEAD = ["flows", "in budget, worst", "planned", "sent", "lost", "elements missed", "p99, worst",
         "max, worst", "LRC, least"]  # fmt: skip


def table(variables: Variables, summaries: list[dict], grey: Callable[[dict], bool]) -> str:
    """Of tests whose flows have a budget; of one with flows that are `grey` figures are, too."""
    shared, setups = variables.setups(summaries)
    tests: dict[tuple, list[int]] = {}
    for n, s in enumerate(summaries):
        tests.setdefault((s["sequence"], s["execution"], s["test"]), []).append(n)
    titles = [title for title in setups[0] if title != PAIR.title]
    lines = []
    for numbers in tests.values():
        of = [summaries[n] for n in numbers]
        setup = [", ".join(dict.fromkeys(setups[n][title] for n in numbers)) for title in titles]
        cells = [*map(parts.escape, setup), *_figures(of)]
        lines.append([parts.GREY.format(c) for c in cells] if any(map(grey, of)) else cells)
    left = frozenset(range(len(titles)))
    return parts.above(shared) + parts.table([*titles, *_HEAD], lines, left=left, kind="tests")


def _figures(of: list[dict]) -> list[str]:
    counts = {key: sum(s[key] for s in of) for key in ("planned", "sent", "lost")}
    shares = [s["in_budget"] for s in of if s["in_budget"] is not None]
    worst = {key: _of_all(max, of, key) for key in ("p99_ms", "max_ms")}
    return [f"{len(of)}", f"<b>{percent(min(shares))}</b>" if shares else "-",
            f"{counts['planned']:,}", f"{counts['sent']:,}", lost(counts),
            f"{samples.elements_missed(of):,}", *worst.values(),
            _of_all(min, of, "lrc_ms")]  # fmt: skip


def _of_all(chosen: Callable, of: list[dict], key: str) -> str:
    """Of flows that have such a figure the greatest or the least, as its clocks allow."""
    known = [s for s in of if s[key] is not None]
    if not known:
        return ms(None)
    one = chosen(known, key=lambda s: s[key])
    return ms(one[key], one["bound_ms"])
