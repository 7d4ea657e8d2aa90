"""What the samples of a run say: which is faster, test by test, and how sure that is.

Compared are tests that differ in one thing only, by the values of their samples. All p values of a
report are corrected together.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from . import compare
from .plan import Place, Sequence
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

    @property
    def different(self) -> bool:
        return self.found.different and not self.doubt

    @property
    def sentence(self) -> str:
        if self.doubt:
            return f"{self.one} and {self.other}: {self.doubt}."
        return compare.sentence(self.one, self.other, self.found, self.more_is_faster, self.of)


def on(s: dict) -> str:
    """On what a test ran: the sequence, and the RTI's own name."""
    return f"{s['sequence']} ({s['rti']})" if s["rti"] else s["sequence"]


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
    return _differences(study, (question,), rows, summaries)


def _differences(
    study: Study, questions: tuple[Question, ...], rows: list[dict], summaries: list[dict]
) -> list[Difference]:
    samples = sample_values(study, rows)
    found = [d for q in questions for d in _answers(study, q, samples, summaries)]
    corrected = compare.holm([d.found for d in found])
    in_rounds = bool(rows) and all(r.get("round") is not None for r in rows)
    of = "rounds" if in_rounds else "samples"
    return [replace(d, found=c, of=of) for d, c in zip(found, corrected, strict=True)]


def too_few(study: Study, sequences: list[Sequence]) -> tuple[str, str] | None:
    """Where tests have too few samples, or rounds, for a comparison of the RTIs and hosts that run
    them: what, and what to do. Nothing is known yet of their values, so it is for Mann and
    Whitney's test."""
    on: dict[str, dict[str, set[str]]] = {}
    samples: dict[str, int] = {}
    for sequence in sequences:
        for execution in sequence.execution:
            for test in execution.tests():
                key = test.model_dump_json(exclude=set(Place.model_fields))
                samples[key] = test.samples
                on.setdefault(key, {}).setdefault(sequence.name, set()).add(execution.name)
    among = {key: where for key, where in on.items() if len(where) > 1}
    if not among or not study.questions:
        return None
    count = sum(math.comb(len(where), 2) for where in among.values())
    needed = compare.needed(count)
    of, few = "samples", needed
    for key, where in among.items():
        in_rounds = study.pools_rounds and any(
            e.round_of for s in sequences if s.name in where for e in s.execution
        )
        least = min(map(len, where.values())) if in_rounds else samples[key]
        if least < few:
            of, few = "rounds" if in_rounds else "samples", least
    if few == needed:
        return None
    what = f"too few {of} ({few}) for {count:,} comparisons of RTIs and hosts to show a difference"
    return f"{what}, unless they look normal", f"take {needed} {of} or more, or fewer tests"


def _answers(
    study: Study, question: Question, samples: dict[tuple, list[float]], summaries: list[dict]
) -> Iterator[Difference]:
    groups: dict[str, list[dict]] = {}
    for title, group in study.variables.alike(summaries, question.apart).items():
        for s in group:
            named = ", ".join(part for part in (title, question.within(s)) if part)
            groups.setdefault(named, []).append(s)
    for title, group in groups.items():
        values: dict[str, dict[tuple, list[float]]] = {}
        for s in group:
            values.setdefault(question.name(s), {})[key_of(s)] = samples.get(key_of(s), [])
        pooled = {name: [v for one in by.values() for v in one] for name, by in values.items()}
        for one, other in combinations([name for name, v in pooled.items() if v], 2):
            found = compare.compare(pooled[one], pooled[other])
            of = [study.doubt(s) for s in group if question.name(s) in (one, other)]
            doubt = next(filter(None, of), "")
            yield Difference(title, one, other, found, study.more_is_faster(group[0]), doubt)


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
