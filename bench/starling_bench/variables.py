"""A study's independent variables: what distinguishes one test from another.

A figure shows one of them along its axis; every other one is held at a stated value, or it is what
distinguishes the lines. Tables show those that differ and say above what all tests share.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """One variable of a test's summary."""

    title: str
    value: Callable[[dict], object]
    text: Callable[[object], str] = str
    axis: bool = False  # a number that a figure may have along its axis
    line: bool = False  # distinguishes the lines of a figure
    always: bool = False  # shown in tables even if it is the same everywhere
    speaks: bool = False  # its values need no title

    def said(self, s: dict) -> str:
        """Its value in words."""
        value = self.value(s)
        return "any" if value in (None, "") else self.text(value)

    def named(self, s: dict) -> str:
        """Its value in words, behind its title where that is needed."""
        return self.said(s) if self.speaks else f"{self.title} {self.said(s)}"


def setting(key: str) -> Callable[[dict], object]:
    """A field of the test, as it was written; of what is no single value a text."""

    def found(s: dict) -> object:
        value = s.get("setting", {}).get(key)
        return str(value) if isinstance(value, list | dict) else value

    return found


def value(s: dict, key: str) -> object:
    """Of a summary, or of its test's setting."""
    return s[key] if key in s else s.get("setting", {}).get(key)


# On what a test ran, and between whom, in any study.
SEQUENCE = Variable("sequence", lambda s: s["sequence"], line=True)
RTI = Variable("RTI", lambda s: s.get("rti", ""), line=True)
ON = (SEQUENCE, Variable("execution", lambda s: s["execution"], line=True), RTI)
PAIR = Variable("pair", lambda s: f"{s['sender']} → {s['receiver']}", line=True, speaks=True)
HOSTS = Variable("hosts", lambda s: s.get("hosts") or "one system", line=True, speaks=True)
BETWEEN = (
    PAIR,
    HOSTS,
    Variable("CPUs", lambda s: s.get("cpus", ""), line=True),
    Variable(
        "bundling", lambda s: s.get("bundling", True), lambda v: "on" if v else "off", line=True
    ),
)


class Variables:
    """Those of one study. `where` names the variables that say where and on what a test ran,
    `name` is a test's name where nothing differs."""

    def __init__(
        self, every: tuple[Variable, ...], where: frozenset[str], name: Callable[[dict], str]
    ) -> None:
        self.every, self.where, self._name = every, where, name

    def differing(self, summaries: list[dict]) -> list[Variable]:
        """The variables that have more than one value."""
        return [v for v in self.every if len({v.value(s) for s in summaries}) > 1]

    def setups(self, summaries: list[dict]) -> tuple[dict[str, str], list[dict[str, str]]]:
        """What all share, and of each what differs, as texts by title."""
        varied = {v.title for v in self.differing(summaries)}
        shown = [v for v in self.every if v.always or v.title in varied]
        first = summaries[0]
        shared = {
            v.title: v.text(v.value(first))
            for v in self.every
            if v not in shown and v.value(first) not in (None, "")
        }
        return shared, [{v.title: v.said(s) for v in shown} for s in summaries]

    def usual(self, summaries: list[dict]) -> dict[str, object]:
        """Of numbers that differ the value that most of these have."""
        return {
            v.title: Counter(v.value(s) for s in summaries).most_common(1)[0][0]
            for v in self.differing(summaries)
            if v.axis
        }

    def told(self, summaries: list[dict], usual: dict[str, object]) -> str:
        """What all share beside where they ran, and what is usual, in words; a value that was not
        given where it might be is any."""
        differing = self.differing(summaries)
        shared = "; ".join(
            f"{v.title} {v.said(summaries[0])}"
            for v in self.every
            if v not in differing and v.title not in self.where
            and v.value(summaries[0]) is not None
        )  # fmt: skip
        if len(summaries) == 1 or not usual:
            return f"All: {shared}." if shared else ""
        text = {v.title: v.text for v in self.every}
        most = "; ".join(f"{k} {text[k](v)}" for k, v in usual.items())
        return f"All: {shared}. Where it is not said: {most}." if shared else f"Usual: {most}."

    def named(
        self, summaries: list[dict], usual: dict[str, object], pairs: bool = True
    ) -> Callable[[dict], str]:
        """How one of these is told from the others, beside by where it ran and by what is usual;
        with `pairs` between whom, where that differs."""
        beside = self.where - ({PAIR.title} if pairs else set())
        apart = [v for v in self.differing(summaries) if v.title not in beside]

        def name(s: dict) -> str:
            return ", ".join(
                v.named(s) for v in apart if not (v.title in usual and v.value(s) == usual[v.title])
            )

        return name

    def name_of(self, s: dict, variables: list[Variable]) -> str:
        """A line's name: what distinguishes it."""
        return ", ".join(v.said(s) for v in variables) or self._name(s)

    def alike(
        self, summaries: list[dict], apart: frozenset[str] = frozenset()
    ) -> dict[str, list[dict]]:
        """Groups of the tests that differ in nothing but where and on what they ran, and the
        variables of these titles."""
        shown = [v for v in self.every if v.title not in self.where | apart]
        differing = self.differing(summaries)
        titles = [v for v in shown if v.title == "test" or v in differing]
        groups: dict[tuple, list[dict]] = {}
        for s in summaries:
            groups.setdefault(tuple(v.value(s) for v in shown), []).append(s)
        out = {}
        for group in groups.values():
            texts = [(v.title, v.said(group[0])) for v in titles]
            title = ", ".join(t if k == "test" else f"{k} {t}" for k, t in texts)
            out[title or self._name(group[0])] = group
        return out
