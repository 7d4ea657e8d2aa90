"""What the samples of a run say: which is faster, test by test, and how sure that is.

Compared are tests that differ in one thing only, by the values of their samples. All p values of a
report are corrected together.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from . import compare
from .network import Host, describe
from .plan import Sequence
from .stats import by_round
from .study import Study

# The variables that say where and on what a test ran.
WHERE = frozenset({"sequence", "execution", "RTI", "pair"})


@dataclass(frozen=True)
class Difference:
    """Two tests that differ in one thing, and what that makes."""

    test: str
    one: str
    other: str
    found: compare.Comparison
    more_is_faster: bool
    doubt: str = ""  # why the values say little
    of: str = "samples"  # what its values are
    apart: bool = False  # rounds of which all of the one were run before the other's first

    @property
    def different(self) -> bool:
        return self.found.different and not self.doubt

    @property
    def sentence(self) -> str:
        if self.doubt:
            return f"{self.one} and {self.other}: {self.doubt}."
        said = compare.sentence(self.one, self.other, self.found, self.more_is_faster, self.of)
        return f"{said} {_APART}" if self.apart and self.found.different else said


_APART = "They were run one after the other: what drifted between them counts, too."


def measured_so(s: dict) -> str:
    """How a test was measured, which only tests that were measured alike share: of one sample
    packets alone say something, and a call that is counted has no time to speak of."""
    if s["setting"]["samples"] == 1:
        return s["sequence"]
    return "counted" if s["sequence"].startswith("counted") else ""


def on(s: dict) -> str:
    """On what a test ran: the sequence, and the RTI's own name."""
    return f"{s['sequence']} ({s['rti']})" if s["rti"] else s["sequence"]


def rti_of(s: dict) -> str:
    """The RTI alone: its name in the file, and its own."""
    name = s.get("setting", {}).get("rti")
    return f"{name} ({s['rti']})" if name and s["rti"] else name or on(s)


@dataclass(frozen=True)
class Question:
    """What is compared: its name in a test, the variables that may differ beside it, and what must
    be the same all the same."""

    name: Callable[[dict], str]
    apart: frozenset[str] = frozenset()
    within: Callable[[dict], str] = lambda s: ""


def differences(study: Study, rows: list[dict], summaries: list[dict]) -> list[Difference]:
    """The answers to all of a study's questions."""
    return _differences(study, study.questions, rows, summaries)


def between_runs(study: Study, runs: dict[str, tuple[list[dict], list[dict]]]) -> list[Difference]:
    """Of all tests between runs, each with its rows and summaries. Where a run has several
    sequences, those of one name are compared."""
    rows = [r | {"run": name} for name, (rows, _) in runs.items() for r in rows]
    summaries = [s | {"run": name} for name, (_, found) in runs.items() for s in found]
    several = any(len({s["sequence"] for s in found}) > 1 for _, found in runs.values())
    question = Question(lambda s: s["run"], within=lambda s: s["sequence"] if several else "")
    found = _differences(study, (question,), rows, summaries)
    return [
        d if d.doubt or d.of == "rounds" else replace(d, doubt=f"ratio {d.found.ratio:.3g}, {_ONE}")
        for d in found
    ]


# Samples of one execution share all that differs from execution to execution.
_ONE = (
    "not judged, as each run has one execution of it, and the runs were at different times "
    "(take 'rounds' in both, or both in one run)"
)


def _differences(
    study: Study, questions: tuple[Question, ...], rows: list[dict], summaries: list[dict]
) -> list[Difference]:
    samples = in_order(study, rows)
    spans: dict[tuple, list[int]] = {}  # from which row of a test to which
    for number, row in enumerate(rows):
        spans.setdefault(key_of(row), [number, number])[1] = number
    found = [d for q in questions for d in _answers(study, q, samples, summaries, spans)]
    corrected = compare.holm([d.found for d in found])
    return [replace(d, found=c) for d, c in zip(found, corrected, strict=True)]


def too_few(
    study: Study, sequences: list[Sequence], hosts: dict[str, Host]
) -> tuple[str, str] | None:
    """Where tests have too few samples, or rounds, for the comparisons that a report makes: what,
    and what to do. Nothing is known yet of their values: below four no test of them can show
    anything, with more it hangs on whether they look normal."""
    planned: dict[tuple, dict] = {}
    counts: Counter = Counter()
    rounds = set()
    for sequence in sequences:
        for execution in sequence.execution:
            pooled = execution.round_of if study.pools_rounds else ""
            for number, test in enumerate(execution.tests(), 1):
                s = study.planned(test) | {
                    "sequence": sequence.name, "execution": pooled or execution.name,
                    "test": number, "pair": 1, "rti": "", "bundling": sequence.bundling,
                    "sender": sequence.pair[0].sender, "receiver": sequence.pair[0].receiver,
                    "hosts": describe([f.host for f in sequence.federate], hosts),
                    "cpus": str(sequence.cpus or ""), "setting": test.model_dump(),
                    "pairs": test.pairs or len(sequence.pair),
                }  # fmt: skip
                planned[key_of(s)] = s
                counts[key_of(s)] += 1 if pooled else test.samples
                rounds |= {key_of(s)} if pooled else set()
    found = [pair for question in study.questions
             for pair in _pairs(study, question, list(planned.values()))]  # fmt: skip
    if not found:
        return None
    needed = compare.needed(len(found))
    least, of = needed, "samples"
    for pair in found:
        for keys in (pair.one_keys, pair.other_keys):
            if (n := sum(counts[key] for key in keys)) < least:
                least, of = n, "rounds" if keys <= rounds else "samples"
    if least == needed:
        return None
    what = f"too few {of} ({least}) for {len(found):,} comparisons to show a difference"
    return f"{what}, unless they look normal", f"take {needed} {of} or more, or fewer tests"


@dataclass(frozen=True)
class _Pair:
    """What is compared: two names within a group of tests, and the tests of each."""

    title: str
    group: list[dict]
    one: str
    other: str
    one_keys: set[tuple]
    other_keys: set[tuple]


def _pairs(study: Study, question: Question, summaries: list[dict]) -> Iterator[_Pair]:
    """All that a question compares, of tests that were run or of planned ones."""
    groups: dict[str, list[dict]] = {}
    for title, group in study.variables.alike(summaries, question.apart).items():
        for s in group:
            named = ", ".join(part for part in (title, question.within(s)) if part)
            groups.setdefault(named, []).append(s)
    for title, group in groups.items():
        keys: dict[str, dict[tuple, None]] = {}
        for s in group:
            keys.setdefault(question.name(s), {})[key_of(s)] = None
        for one, other in combinations(keys, 2):
            yield _Pair(title, group, one, other, set(keys[one]), set(keys[other]))


def _answers(
    study: Study, question: Question, samples: dict[tuple, dict[object, list[float]]],
    summaries: list[dict], spans: dict[tuple, list[int]],
) -> Iterator[Difference]:  # fmt: skip
    for pair in _pairs(study, question, [s for s in summaries if samples.get(key_of(s))]):
        keys = list(dict.fromkeys(map(key_of, pair.group)))
        (x, x_of), (y, y_of) = (
            _independent({key: samples[key] for key in keys if key in own})
            for own in (pair.one_keys, pair.other_keys)
        )
        doubts = (study.doubt(s) for s in pair.group if question.name(s) in (pair.one, pair.other))
        of = x_of if x_of == y_of else "samples"
        (begin, end), (other_begin, other_end) = (
            (min(spans[key][0] for key in own), max(spans[key][1] for key in own))
            for own in (pair.one_keys, pair.other_keys)
        )
        apart = of == "rounds" and (end < other_begin or other_end < begin)
        yield Difference(
            pair.title, pair.one, pair.other, compare.compare(x, y),
            study.more_is_faster(pair.group[0]), next(filter(None, doubts), ""), of, apart,
        )  # fmt: skip


def _independent(tests: dict[tuple, dict[object, list[float]]]) -> tuple[list[float], str]:
    """The values of alike tests that are independent, and what these are: samples, or rounds. What
    is in several executions of a sequence has in each round no value more for that."""
    values = {(key, name): by_round(of, [name] * len(of))
              for key, rounds in tests.items() for name, of in rounds.items()}  # fmt: skip
    numbers = [_number(key[2], name) for (key, name), of in values.items() for _ in of]
    of = "samples" if None in numbers else "rounds"
    return by_round([v for own in values.values() for v in own], numbers), of


def _number(execution: str, name: object) -> object:
    """By its name the number of an execution's round; if that has none, the name."""
    text = str(name)
    for found in re.finditer(r"\.(\d+)(?=\.|$)", text):
        if text[: found.start()] + text[found.end() :] == execution:
            return int(found[1])
    return name


def key_of(s: dict) -> tuple:
    """What names a test of a run, or of several runs."""
    return s.get("run"), s["sequence"], s["execution"], s["test"]


def in_order(study: Study, rows: list[dict]) -> dict[tuple, dict[object, list[float]]]:
    """The values of each test's samples, by round (None: there are none), in order of measurement.
    Pairs of one sample are not independent, so their mean counts."""
    by: dict[tuple, dict[object, dict[int, list[float]]]] = {}
    for row in rows:
        # A sample of which nothing came has none.
        if value := study.value(row):
            of = by.setdefault(key_of(row), {}).setdefault(row.get("round"), {})
            of.setdefault(row["sample"], []).append(value)
    return {
        key: {name: [sum(v) / len(v) for v in of.values()] for name, of in rounds.items()}
        for key, rounds in by.items()
    }


def sample_values(study: Study, rows: list[dict]) -> dict[tuple, list[float]]:
    """The values of each test that are independent: of each sample, or of each round where there
    are some."""
    return {
        key: by_round([v for of in rounds.values() for v in of],
                      [name for name, of in rounds.items() for _ in of])
        for key, rounds in in_order(study, rows).items()
    }  # fmt: skip
