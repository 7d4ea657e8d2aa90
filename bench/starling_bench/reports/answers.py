"""What a reader of a report wants to know first: which RTI is fastest, by how much, and how surely;
then each comparison behind that.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from statistics import median

from ..kept.store import Store
from ..statistics.compare import p_said
from ..statistics.differences import (
    OUTCOMES,
    RTIS,
    Difference,
    by_sequence,
    differences,
    key_of,
    rti_in,
)
from ..study import Study
from . import order
from .cells import interval, ms, p_value
from .parts import part, short, table, titled

_FAMILY = (
    "Compared are tests of one sequence of the file that differ in one thing only; RTIs that did "
    "not take turns, in sequences of their own, are not. The comparisons of one question (RTIs, "
    "loops of one RTI, objects and interactions) in one sequence are a family, for whose number "
    "their p values are corrected (Holm); those left out, with the reason, are in none."
)
_RATIO = (
    "Ratios are how many times as fast the first named is; faster and slower are said of it, where "
    "that is certain: p below 5 % among all of the family, and an interval without 1. Not certain: "
    "the interval, which is of the one comparison alone (95 %), is without 1, but p is not below 5 "
    "%. Not told: no difference is shown, or there are too few values."
)
_COMPARED = (
    "The logarithms of the sample means or rates; the ratio is that of the first named to the "
    "second, its interval (95 %) of the one comparison alone. Welch's t where both look normal "
    "(Shapiro-Wilk, 5 %), else Mann-Whitney with Hodges and Lehmann's estimate; p is Holm's among "
    "the family. Nothing is called different while its interval holds 1, nor where p is not below "
    "5 %. Effect: Cliff's delta, from -1 (all smaller) to 1 (all larger)."
)
_TIMES = ("smallest", "median", "largest")


def found(store: Store, summaries: list[dict]) -> list[Difference]:
    """All that a report compares."""
    return differences(store.study, store.samples(), summaries)


def _of_rtis(compared: list[Difference]) -> list[Difference]:
    return [d for d in compared if d.family[1] == RTIS.title]


# ---- each two RTIs


def overview(compared: list[Difference]) -> list[str]:
    """A small table for each sequence: of each two RTIs in how many tests which is faster, and by
    how much; nothing where no RTIs are compared."""
    sequences: dict[str, list[Difference]] = {}
    for d in _of_rtis(compared):
        sequences.setdefault(d.family[0], []).append(d)
    if not sequences:
        return []
    body = ["<h2>Which RTI is faster</h2>", f"<p>{_RATIO}</p>"]
    for name, of in sequences.items():
        pairs: dict[tuple[str, str], list[Difference]] = {}
        for d in of:
            pairs.setdefault((d.one, d.other), []).append(d)
        count = sum(not d.doubt for d in of)
        left_out = f", {len(of) - count} left out" if count < len(of) else ""
        head = ["first, and second", "tests", *OUTCOMES,
                *(f"{word} ratio" for word in _TIMES)]  # fmt: skip
        lines = [_pair(*pair, ds) for pair, ds in pairs.items()]
        body += [titled(name, f"{_number(count, 'comparison')} of RTIs{left_out}"),
                 table(head, lines)]  # fmt: skip
    return [*body, f"<p>{_FAMILY}</p>"]


def _number(count: int, of: str) -> str:
    return f"{count:,} {of}" + ("" if count == 1 else "s")


def _pair(one: str, other: str, of: list[Difference]) -> list[str]:
    """A row of two RTIs, of which the one that is faster in most tests is the first."""
    times = [d.faster for d in of if not d.doubt]
    counts = Counter(d.outcome for d in of)
    if times and median(times) < 1:
        one, other, times = other, one, [1 / ratio for ratio in times]
        turned = {"faster": "slower", "slower": "faster"}
        counts = Counter({turned.get(way[:6], way[:6]) + way[6:]: n for way, n in counts.items()})
    figures = [f"{v:.3g}" for v in (min(times), median(times), max(times))] if times else [""] * 3
    each = [f"{n:,}" if (n := counts[way]) else "" for way in OUTCOMES]
    return [f"{escape(one)}, {escape(other)}", f"{len(of):,}", *each, *figures]


# ---- each test


@dataclass(frozen=True)
class Figure:
    """By which RTIs are ranked in a test: its value, and that in words."""

    value: Callable[[dict], float]
    words: Callable[[float], str]


TRIPS = Figure(lambda s: s["rtt_ms"]["mean"], lambda value: f"{ms(value)} ms")
PER_S = Figure(lambda s: s["rate_hz"]["mean"], lambda hz: f"{hz:,.0f} updates/s")


def fastest(
    study: Study, compared: list[Difference], summaries: list[dict],
    figure: Callable[[dict], Figure],
) -> list[str]:  # fmt: skip
    """Where several RTIs of a sequence ran the same test: which was best, how good, and how sure
    that is. `figure` is of a test."""
    known = {d.tests: d for d in _of_rtis(compared)}
    head = ["test", "fastest", "its figure", "next", "ratio (95 % interval)", "sure?", "left out"]
    body = []
    for name, of in by_sequence(summaries).items():
        for kind, alike in (study.families(of) or {"": of}).items():
            groups = [g for g in study.variables.alike(alike).values()
                      if len({*map(rti_in, g)}) > 1]  # fmt: skip
            if not groups:
                continue
            every = [s for group in groups for s in group]
            usual = study.variables.usual([group[0] for group in groups])
            named = study.variables.named(every, usual, pairs=False)
            lines, first = [], Counter()
            for group in groups:
                best, cells = _best(study, known, group, figure(group[0]))
                lines.append([escape(named(group[0]) or "as said above"), *cells])
                first.update([best] if best else [])
            wins = "; ".join(f"{rti} in {n}" for rti, n in first.most_common())
            said = f"Fastest of {_number(len(groups), 'test')}: {wins or 'not told'}."
            made = table(head, lines, left=frozenset({1, 3, 5}), said=frozenset({6}))
            body += [titled(", ".join(filter(None, [name, kind])), said,
                            study.variables.told(every, usual)),
                     short(made, len(lines), "tests")]  # fmt: skip
    said = "<p>Best mean per test, of each sequence.</p>"
    return ["<h2>Fastest per test</h2>", said, *body] if body else []


def _best(
    study: Study, known: dict[frozenset, Difference], group: list[dict], figure: Figure
) -> tuple[str, list[str]]:
    """The best RTI of tests that are alike, and the cells of a row: that one, its figure, the next,
    how many times as fast, how sure, and of which it can't be told, as they may be better."""
    by: dict[str, list[dict]] = {}
    for s in group:
        by.setdefault(rti_in(s), []).append(s)
    reasons = {rti: next(filter(None, map(study.doubt, of)), "") for rti, of in by.items()}
    doubts = {rti: why for rti, why in reasons.items() if why}
    values = {
        rti: sum(map(figure.value, of)) / len(of) for rti, of in by.items() if rti not in doubts
    }
    ranked = sorted(values, key=values.get, reverse=study.more_is_faster(group[0]))
    left_out = "; ".join(
        f"{', '.join(rti for rti, of in doubts.items() if of == why)}: {why}"
        for why in dict.fromkeys(doubts.values())
    )
    if not values and len(set(doubts.values())) == 1:
        left_out = f"all: {next(iter(doubts.values()))}"
    if not ranked:
        return "", ["not told", "", "", "", "", escape(left_out)]
    best = ranked[0]
    cells = [f"<b>{escape(best)}</b>{escape(_lost(by[best]))}", figure.words(values[best])]
    if len(ranked) == 1:
        return best, [*cells, "", "", "", escape(left_out)]
    other = ranked[1]
    d = known.get(frozenset(map(key_of, [*by[best], *by[other]])))
    cells += [escape(other), *_beside(d, best, values[best] / values[other])]
    return best, [*cells, escape(left_out)]


def _lost(of: list[dict]) -> str:
    """What of its messages was lost: figures are of what came."""
    sent, lost = (sum(s.get(key) or 0 for s in of) for key in ("sent", "lost"))
    return f" ({lost / sent:.2g} of it lost)" if lost else ""


def _beside(d: Difference | None, best: str, of_means: float) -> list[str]:
    """How many times as fast it is as the next one, and how sure that is."""
    if d is None:
        return [f"{max(of_means, 1 / of_means):.3g}", "not compared"]
    c = d.found
    turn = (d.one == best) != d.more_is_faster  # where a smaller value is the better one
    ratio, low, high = c.ratio, c.low, c.high
    if turn:
        ratio = 1 / ratio
        low, high = (None, None) if low is None else (1 / high, 1 / low)
    figure = f"{ratio:.3g}" + ("" if low is None else f" ({low:.3g} to {high:.3g})")
    p = "" if c.p is None else p_said(c.p)
    if d.outcome == "not told":
        few = f"too few {d.of} to tell"
        return [figure, escape(few if c.needed or c.low is None else f"no difference shown, {p}")]
    if ratio < 1:  # of values, by the middle of which it comes second
        return [figure, escape(f"no: by the middle of its {d.of} it is the slower, {p}")]
    return [figure, escape(f"yes, {p}" if d.different else f"not certain, {p} among {c.among:,}")]


# ---- each comparison


def comparisons(store: Store, compared: list[Difference]) -> list[str]:
    """What differs, by family, with the method; nothing where there is nothing to compare."""
    if not compared:
        return []
    families: dict[tuple[str, str], list[Difference]] = {}
    for d in compared:
        families.setdefault(d.family, []).append(d)
    lines, tables = [], []
    for (sequence, question), of in families.items():
        counts = Counter(d.outcome for d in of)
        sure, unsure = (counts[f"faster{more}"] + counts[f"slower{more}"]
                        for more in ("", ", not certain"))  # fmt: skip
        each = (len(of) - counts["left out"], sure, unsure, counts["not told"], counts["left out"])
        lines.append([f"{escape(sequence)}: {question}", *(f"{n:,}" for n in each)])
        tables += [titled(f"{sequence}: {question}", _number(each[0], "comparison")),
                   comparison_table(of)]  # fmt: skip
    head = ["family", "comparisons", "different", "not certain", "not told", "left out"]
    said = f"<p>{_FAMILY}</p><p>{_COMPARED} {order.said(store)}</p>"
    return [part("Comparisons", said + table(head, lines) + "".join(tables), True)]


def comparison_table(of: Iterable[Difference]) -> str:
    """What differs, in words, with the figures behind the sentence; of what is left out there are
    none."""
    head = ("test", "result", "ratio", "95 % interval", "p (Holm)", "effect", "method")
    lines = []
    for d in of:
        c, told = d.found, escape(d.sentence)
        figures = [
            f"{c.ratio:.3g}", interval(c.low, c.high, lambda v: f"{v:.3g}"),
            escape(p_value(c.p)), f"{c.effect:+.2f}", escape(c.method),
        ]  # fmt: skip
        told = f"<b>{told}</b>" if d.different else told
        lines.append([escape(d.test), told, *([""] * len(figures) if d.doubt else figures)])
    return table(head, lines, said=frozenset(range(len(head))))
