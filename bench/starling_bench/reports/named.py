"""What a study's source shows, by name, beside what was measured: TOML tables of the study say
which tests a figure, a value or a comparison is of. What was not measured is said.

[[figure]]   name, source, where: the course of the longest flow of such a test
[[value]]    name, source, where, of (a figure of a summary): the least and the largest of all such
[[flow]]     where, source: what share of such flows came in budget
[[compare]]  name, margin_ms, sides, words: flows of two sides, which say what each has, that differ
             in nothing else; what each is called
[[unlike]]   where, words: what is not what its name says, and why
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..machines.rti import RAW
from ..statistics import rates
from ..statistics.differences import key_of
from ..statistics.equivalence import repeated
from ..times.oneway import Flow
from ..variables import value
from . import courses
from .cells import ms
from .courses import Course
from .drawing import Page, plots
from .parts import text_table
from .transports import misnamed

_NONE = "not in this run, or disturbed"
_DISTURBED = "left out: disturbed by other programs"


def left_out_of(summaries: list[dict], kept: list[dict]) -> str:
    """How many tests are not among those that are kept, as others disturbed them; "": none."""
    every, rest = ({key_of(s) for s in of} for of in (summaries, kept))
    if not (gone := len(every - rest)):
        return ""
    return (f'<p class="doubt">{gone:,} of {len(every):,} tests are left out here, as they were '
            "disturbed by other programs.</p>")  # fmt: skip


def placed(s: dict) -> dict:
    """With the plain names of its sequence and execution, without what switches, callbacks and
    rounds add, and the RTI's in the file."""
    base, part = (s[k].partition(".")[0] for k in ("sequence", "execution"))
    return s | {"base": base, "part": part, "table": s.get("setting", {}).get("rti")}


def marked(s: dict, unlike: list[dict]) -> dict:
    """With what these say of it as `unlike`; "": it is what its name says."""
    return s | {"unlike": next((one["words"] for one in unlike if _such([s], one["where"])), "")}


def _such(summaries: list[dict], where: dict) -> list[dict]:
    return [s for s in summaries if all(value(s, k) == v for k, v in where.items())]


class Source:
    """One study's tables. `flow` has a summary's times, `label` and `on` its flow and RTI in words,
    `alike` are the keys of what makes flows comparable; those that say by what, `carrier`, differ
    between an RTI's flow and the raw one beside it."""

    def __init__(
        self, paths: list[Path], flow: Callable[[dict], Flow], label: Callable[[dict], str],
        on: Callable[[dict], str], alike: tuple[str, ...], carrier: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._table: dict[str, list[dict]] = {}
        for path in paths:
            self._table |= tomllib.loads(path.read_text(encoding="utf-8"))
        self._flow, self._label, self._on = flow, label, on
        self._alike, self._carrier = alike, carrier

    def sections(self, page: Page, summaries: list[dict]) -> list[str]:
        """All of it, without tests that other programs disturbed."""
        whole, summaries = summaries, rates.alone(summaries)
        left_out = left_out_of(whole, summaries)
        rtis = [s for s in summaries if s.get("adapter") not in RAW]
        raws = [s for s in summaries if s.get("adapter") in RAW]
        return [
            "<h2>Beside the source</h2>",
            left_out,
            plots([f for one in self._table["figure"]
                          for f in self._figure(page, one, rtis, raws)]),
            text_table(("figure of the source", "there", "here"),
                              [*self._absent(rtis), *self._values(rtis)]),
            text_table(("flow", "there", "in budget here"), list(self._flows(rtis))),
            "<h2>One setting changed alone</h2>",
            f"<p>{_COMPARED_HOW}</p>",
            left_out,
            text_table(("what", "flow", "result"), list(self._compared(summaries, whole))),
        ]  # fmt: skip

    def _drawn(self, rtis: list[dict], one: dict) -> list[dict]:
        """What a figure may be drawn from: flows of a size that the source has, if it says any."""
        sizes = {flow["where"].get("bytes") for flow in self._table["flow"]} - {None}
        found = _such(rtis, one.get("where", {}))
        return [s for s in found if not sizes or value(s, "bytes") in sizes]

    def _figure(self, page: Page, one: dict, rtis: list[dict], raws: list[dict]) -> Iterator[str]:
        if found := self._drawn(rtis, one):
            first = max(found, key=lambda s: (not misnamed(s), s["sent"] / s["hz"]))
            same = {k: value(first, k) for k in self._alike if k not in self._carrier}
            lines = [Course(self._on(first), self._flow(first))]
            lines += [Course(self._on(s), self._flow(s), raw=True) for s in _such(raws, same)[:1]]
            caption = f"{self._label(first)}. There: {one['source']}"
            took_s = first["sent"] / first["hz"]
            if took_s < 2 * one.get("every_s", 0):
                caption += f". Here {took_s:.0f} s were measured, too few to show it"
            yield courses.figure(page, one["name"], caption, lines, first["budget_ms"])

    def _absent(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["figure"]:
            if not self._drawn(rtis, one):
                yield one["name"], one["source"], _NONE

    def _values(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["value"]:
            such = [s for s in _such(rtis, one["where"]) if s[one["of"]] is not None]
            found, bound = (
                [s[one["of"]] for s in such],
                max((s["bound_ms"] for s in such), default=0),
            )
            here = f"{ms(min(found), bound)} to {ms(max(found), bound)} ms" if found else _NONE
            here += self._mark(_such(rtis, one["where"]))
            yield one["name"], one["source"], here

    def _flows(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["flow"]:
            found = _such(rtis, one["where"])
            shares = [s["in_budget"] for s in found if s["in_budget"] is not None]
            here = f"{min(shares):.2%} to {max(shares):.2%}" if shares else _NONE
            here += self._mark(found)
            yield one["name"], one["source"], here

    def _mark(self, of: list[dict]) -> str:
        wrong = sum(map(misnamed, of))
        return f" ({wrong} of {len(of)} are not what their name says)" if wrong else ""

    def _compared(
        self, summaries: list[dict], whole: Sequence[dict] = ()
    ) -> Iterator[tuple[str, str, str]]:
        for one in self._table["compare"]:
            found = pairs(one, summaries, self._alike)
            yield from ((one["name"], *self._answer(one, a, b)) for a, b in found)
            if not found:
                yield one["name"], "", _DISTURBED if pairs(one, whole, self._alike) else _NONE

    def _answer(self, one: dict, a: list[dict], b: list[dict]) -> tuple[str, str]:
        flows = [[self._flow(s) for s in of] for of in (a, b)]
        bound = sum(max(flow.bound_ms for flow in of) for of in flows)
        found = repeated(*([flow.ms for flow in of] for of in flows), one["margin_ms"], bound)
        first = a[0]
        flow = f"{self._on(first)}, {self._label(first)}, {first['sender']} → {first['receiver']}"
        if found is None:
            return flow, "too few messages for an answer"
        tests = f"{len(a)} and {len(b)} tests: " if len(a) + len(b) > 2 else ""
        return flow, tests + found.sentence(*one["words"])


def pairs(
    one: dict, summaries: Sequence[dict], alike: tuple[str, ...]
) -> list[tuple[list[dict], list[dict]]]:
    """What a comparison of the table compares: tests of its first side and of its second, which
    are alike in all else. Several of one are repeats."""
    apart = {field for side in one["sides"] for field in side}
    groups: dict[tuple, list[dict]] = {}
    for s in summaries:
        groups.setdefault(tuple(value(s, k) for k in alike if k not in apart), []).append(s)
    both = [tuple(_such(group, side) for side in one["sides"]) for group in groups.values()]
    return [(a, b) for a, b in both if a and b]


_COMPARED_HOW = (
    "Medians of the delivery times of tests that differ in one thing only: two one-sided t tests, "
    "5 % each, for the stated margin. Where a test was run three times or more, its repeats' "
    "medians are the values, and what differs between repeats is in the interval; else medians of "
    "20 parts of each test are. What the clocks of both may be wrong by is in the interval. The "
    "second is beside the first. What is said of a setting and the "
    "same again shows what the comparison is worth."
)
