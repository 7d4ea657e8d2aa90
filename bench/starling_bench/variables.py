"""RTIBM's independent variables: what distinguishes one test from another.

A figure shows one of them along its axis; every other one is held at a stated value, or it is what
distinguishes the lines. Tables show those that differ and say above what all tests share.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


def label(s: dict) -> str:
    """Test kind and transport."""
    return f"{s['kind']} {s['transport'].replace('_', ' ')}"


@dataclass(frozen=True)
class Variable:
    """One variable of a test's summary."""

    title: str
    value: Callable[[dict], object]
    text: Callable[[object], str] = str
    axis: bool = False  # a number that a figure may have along its axis
    line: bool = False  # distinguishes the lines of a figure
    always: bool = False  # shown in tables even if it is the same everywhere


def _setting(key: str) -> Callable[[dict], object]:
    return lambda s: s.get("setting", {}).get(key)


VARIABLES = (
    Variable("sequence", lambda s: s["sequence"], line=True),
    Variable("execution", lambda s: s["execution"], line=True),
    Variable("RTI", lambda s: s.get("rti", ""), line=True),
    Variable("test", label, line=True, always=True),
    Variable("pair", lambda s: f"{s['sender']} → {s['receiver']}", line=True),
    Variable("loop", lambda s: s["loop"], lambda v: f"V{v}", line=True),
    Variable("types", lambda s: s["types"], axis=True, always=True),
    Variable("instances", lambda s: s["instances"], axis=True, always=True),
    Variable("buffers", lambda s: s["buffers"], axis=True, always=True),
    Variable("bytes", lambda s: s["bytes"], axis=True, always=True),
    Variable("updates", lambda s: s["updates"], axis=True),
    Variable("most bytes queued", _setting("queued_bytes_max"), axis=True),
    Variable("most updates queued", _setting("queued_updates_max"), axis=True),
    Variable("most round trips under way", _setting("outstanding_max"), axis=True),
    Variable("tick min s", _setting("tick_min_s"), axis=True),
    Variable("tick max s", _setting("tick_max_s"), axis=True),
)


def differing(summaries: list[dict]) -> list[Variable]:
    """The variables that have more than one value."""
    return [v for v in VARIABLES if len({v.value(s) for s in summaries}) > 1]


def setups(summaries: list[dict]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """What all share, and of each what differs, as texts by title."""
    varied = {v.title for v in differing(summaries)}
    shown = [v for v in VARIABLES if v.always or v.title in varied]
    # Of an execution that has the same name everywhere, and of a sequence per RTI, one is enough.
    first = summaries[0]
    shared = {
        v.title: v.text(v.value(first))
        for v in VARIABLES
        if v not in shown and v.value(first) not in (None, "")
    }
    return shared, [{v.title: v.text(v.value(s)) for v in shown} for s in summaries]


@dataclass
class Curve:
    """What one figure shows: a variable along the axis and lines of comparable points."""

    variable: Variable
    held: dict[str, str]  # the values of the variables that are held
    lines: dict[str, list[dict]]  # by name, in order of the axis
    left_out: int  # tests at other values of those


def curves(summaries: list[dict]) -> list[Curve]:
    """One for each variable with several values; no line joins unlike points."""
    found = []
    names = [v for v in differing(summaries) if v.line]
    for x in [v for v in differing(summaries) if v.axis]:
        held = [v for v in VARIABLES if v.axis and v is not x]
        at = Counter(tuple(v.value(s) for v in held) for s in summaries)

        # Held where most values of the variable were measured, then where most tests were.
        def rich(key: tuple, held=held, x=x, at=at) -> tuple:
            values = {x.value(s) for s in summaries if tuple(v.value(s) for v in held) == key}
            return len(values), at[key]

        key = max(at, key=rich)
        here = [s for s in summaries if tuple(v.value(s) for v in held) == key]
        if len({x.value(s) for s in here}) < 2:
            continue
        lines: dict[str, list[dict]] = {}
        for s in sorted(here, key=lambda s, x=x: x.value(s)):
            lines.setdefault(name_of(s, names), []).append(s)
        stated = {v.title: v.text(value) for v, value in zip(held, key, strict=True)
                  if value is not None}  # fmt: skip
        found.append(Curve(x, stated, lines, len(summaries) - len(here)))
    return found


def name_of(s: dict, variables: list[Variable]) -> str:
    """A line's name: what distinguishes it."""
    return ", ".join(v.text(v.value(s)) for v in variables) or label(s)


def alike(summaries: list[dict]) -> dict[str, list[dict]]:
    """Groups of the tests that differ in nothing but where and on what they ran."""
    ran = {"sequence", "execution", "RTI", "pair"}
    shown = [v for v in VARIABLES if v.title not in ran]
    titles = [v for v in shown if v.always or v in differing(summaries)]
    groups: dict[tuple, list[dict]] = {}
    for s in summaries:
        groups.setdefault(tuple(v.value(s) for v in shown), []).append(s)
    out = {}
    for group in groups.values():
        texts = [(v.title, v.text(v.value(group[0]))) for v in titles]
        out[", ".join(t if k == "test" else f"{k} {t}" for k, t in texts)] = group
    return out
