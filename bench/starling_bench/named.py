"""What a study's source shows, by name, beside what was measured: a TOML table of the study says
which tests a figure, a value or a comparison is of. What was not measured is said.

[[figure]]   name, source, where: the course of the longest flow of such a test
[[value]]    name, source, where, of (a figure of a summary): the least and the largest of all such
[[flow]]     where, source: what share of such flows came in budget
[[compare]]  name, by, margin_ms, values or sequences: flows that differ in nothing else
"""

import tomllib
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

from . import courses, report
from .courses import Course
from .equivalence import equivalence
from .oneway import Flow
from .report import Page
from .rti import RAW

_NONE = "not measured in this run"


def value(s: dict, key: str) -> object:
    """Of a summary, or of its test's setting."""
    return s[key] if key in s else s.get("setting", {}).get(key)


def _such(summaries: list[dict], where: dict) -> list[dict]:
    return [s for s in summaries if all(value(s, k) == v for k, v in where.items())]


class Source:
    """One study's table. `flow` has a summary's times, `label` and `on` its flow and RTI in words,
    `alike` are the keys of what makes flows comparable."""

    def __init__(
        self, path: Path, flow: Callable[[dict], Flow], label: Callable[[dict], str],
        on: Callable[[dict], str], alike: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._table = tomllib.loads(path.read_text(encoding="utf-8"))
        self._flow, self._label, self._on, self._alike = flow, label, on, alike

    def sections(self, page: Page, summaries: list[dict]) -> list[str]:
        """All of it."""
        rtis = [s for s in summaries if s.get("adapter") not in RAW]
        raws = [s for s in summaries if s.get("adapter") in RAW]
        return [
            "<h2>Beside the source</h2>",
            report.plots([f for one in self._table["figure"]
                          for f in self._figure(page, one, rtis, raws)]),
            report.text_table(("figure of the source", "there", "here"),
                              [*self._absent(rtis), *self._values(rtis)]),
            report.text_table(("flow", "there", "in budget here"), list(self._flows(rtis))),
            "<h2>One setting changed alone</h2>",
            f"<p>{_COMPARED_HOW}</p>",
            report.text_table(("what", "flow", "result"), list(self._compared(summaries))),
        ]  # fmt: skip

    def _drawn(self, rtis: list[dict], one: dict) -> list[dict]:
        """What a figure may be drawn from: flows of a size that the source has, if it says any."""
        sizes = {flow["where"].get("bytes") for flow in self._table["flow"]} - {None}
        found = _such(rtis, one.get("where", {}))
        return [s for s in found if not sizes or value(s, "bytes") in sizes]

    def _figure(self, page: Page, one: dict, rtis: list[dict], raws: list[dict]) -> Iterator[str]:
        if found := self._drawn(rtis, one):
            first = max(found, key=lambda s: s["sent"] / s["hz"])
            same = {k: value(first, k) for k in self._alike if k not in ("bundling", "threaded")}
            lines = [Course(self._on(first), self._flow(first))]
            lines += [Course(self._on(s), self._flow(s), raw=True) for s in _such(raws, same)[:1]]
            caption = f"{self._label(first)}. There: {one['source']}"
            yield courses.figure(page, one["name"], caption, lines, first["budget_ms"])

    def _absent(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["figure"]:
            if not self._drawn(rtis, one):
                yield one["name"], one["source"], _NONE

    def _values(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["value"]:
            found = [s[one["of"]] for s in _such(rtis, one["where"]) if s[one["of"]] is not None]
            here = f"{min(found):.3g} to {max(found):.3g} ms" if found else _NONE
            yield one["name"], one["source"], here

    def _flows(self, rtis: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["flow"]:
            found = _such(rtis, one["where"])
            shares = [s["in_budget"] for s in found if s["in_budget"] is not None]
            here = f"{min(shares):.2%} to {max(shares):.2%}" if shares else _NONE
            yield one["name"], one["source"], here

    def _compared(self, summaries: list[dict]) -> Iterator[tuple[str, str, str]]:
        for one in self._table["compare"]:
            groups: dict[tuple, dict[object, dict]] = {}
            for s in summaries:
                at = s["sequence"].partition(".")[0] if one["by"] == "sequence" else None
                level = at if at is not None else value(s, one["by"])
                if level not in one["values"]:
                    continue
                key = tuple(
                    value(s, k) for k in self._alike
                    if k != one["by"] and (k != "sequence" or at is None)
                )  # fmt: skip
                groups.setdefault(key, {}).setdefault(level, s)
            none = True
            for found in groups.values():
                ordered = [v for v in one["values"] if v in found]
                for a, b in combinations(ordered, 2):
                    none = False
                    yield one["name"], *self._answer(one, found[a], found[b], a, b)
            if none:
                yield one["name"], "", _NONE

    def _answer(self, one: dict, a: dict, b: dict, names: object, other: object) -> tuple[str, str]:
        words = one.get("words", {})
        name = lambda v: words.get(str(v).lower(), str(v))  # noqa: E731
        found = equivalence(self._flow(a).ms, self._flow(b).ms, one["margin_ms"])
        flow = f"{self._on(a)}, {self._label(a)}, {a['sender']} → {a['receiver']}"
        if found is None:
            return flow, "too few messages for an answer"
        return flow, found.sentence(name(names), name(other))


_COMPARED_HOW = (
    "Mean delivery times of tests that differ in one thing only: two one-sided t tests on means "
    "of 20 parts of each, 5 % each, for the stated margin. The second is beside the first."
)
