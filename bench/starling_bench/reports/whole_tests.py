"""A line for each test of a study whose one-way flows have a budget: what all of them come to, the
worst where there are several.
"""

from collections.abc import Callable

from ..statistics import rates
from ..statistics.stats import percent
from ..times import samples
from ..variables import PAIR, Variables
from . import parts
from .cells import lost, ms

_HEAD = ["flows", "in budget, worst", "deliveries planned", "sent", "lost", "elements missed",
         "p99, worst", "max, worst", "LRC"]  # fmt: skip


def tables(variables: Variables, summaries: list[dict], flows: str, grey: Callable) -> str:
    """Of tests whose flows have a budget; of one with flows that are `grey` figures are, too.
    `flows` is the table of these, which stands behind it."""
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
    whole = parts.table([*titles, *_HEAD], lines, left=left, kind="tests")
    each = parts.short(whole, len(lines), "tests") + parts.short(flows, len(summaries), "flows")
    return parts.above(shared) + each


def _figures(of: list[dict]) -> list[str]:
    counts = {key: sum(s[key] for s in of) for key in ("planned", "sent", "lost")}
    # Where clocks are not known there are no times, and nobody can say that these are better.
    told = [s for s in of if s["in_budget"] is not None]
    flows = f"{len(of)}" + f", {len(of) - len(told)} not told" * (len(told) < len(of))
    worst = f"<b>{percent(min(s['in_budget'] for s in told))}</b>" if told else "-"
    least, most = (_of_all(chosen, of, "lrc_ms") for chosen in (min, max))
    lrc = least if least == most else f"{least} to {most}"
    worst += " ?" * any(map(rates.disturbed, of))
    return [flows, worst, f"{counts['planned']:,}", f"{counts['sent']:,}", lost(counts),
            f"{samples.elements_missed(of):,}", _of_all(max, of, "p99_ms") + _but(told, "p99_ms"),
            _of_all(max, of, "max_ms"), lrc + _but(told, "lrc_ms")]  # fmt: skip


def _but(told: list[dict], key: str) -> str:
    """Of how many flows this is, where others that have times are too short for it."""
    known = sum(s[key] is not None for s in told)
    return f" (of {known} of {len(told)})" if 0 < known < len(told) else ""


def _of_all(chosen: Callable, of: list[dict], key: str) -> str:
    """Of flows that have such a figure the greatest or the least, as its clocks allow."""
    known = [s for s in of if s[key] is not None]
    if not known:
        return ms(None)
    one = chosen(known, key=lambda s: s[key])
    return ms(one[key], one["bound_ms"])
