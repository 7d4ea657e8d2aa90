"""What the samples of a run say: which is faster, test by test, and how sure that is.

Compared are tests of one sequence of the file that differ in one thing only, by the values of their
samples: an RTI's with those of RTIs that took turns with it. The comparisons of one question in one
sequence are a family, whose p values are corrected together; what is left out is in none.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from ..machines.network import Host, describe
from ..study import Study
from ..tsf.sequences import Sequence
from . import compare
from .stats import by_round

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
    doubt: str = ""  # why the values say little: it is left out
    of: str = "samples"  # what its values are
    apart: bool = False  # rounds of which all of the one were run before the other's first
    family: tuple[str, str] = ("", "")  # the sequence in the file, and the question
    tests: frozenset[tuple] = frozenset()  # all of both

    @property
    def different(self) -> bool:
        return self.found.different and not self.doubt

    @property
    def faster(self) -> float:
        """How many times as fast the one is as the other."""
        return self.found.ratio if self.more_is_faster else 1 / self.found.ratio

    @property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        if self.doubt:
            return "left out"
        if not self.found.beyond:
            return "not told"
        way = "faster" if self.faster > 1 else "slower"
        return way if self.different else f"{way}, not certain"

    @property
    def sentence(self) -> str:
        if self.doubt:
            return f"{self.one} and {self.other}: {self.doubt}."
        said = compare.sentence(self.one, self.other, self.found, self.more_is_faster, self.of)
        return f"{said} {_APART}" if self.apart and self.found.different else said


_APART = "They were run one after the other: what drifted between them counts, too."


# How the one may come out beside the other; not told: no difference is shown, or there are too few
# values.
OUTCOMES = (
    "faster", "slower", "faster, not certain", "slower, not certain", "not told", "left out",
)  # fmt: skip


def on(s: dict) -> str:
    """On what a test ran: the sequence, and the RTI's own name."""
    return f"{s['sequence']} ({s['rti']})" if s["rti"] else s["sequence"]


def rti_of(s: dict) -> str:
    """The RTI alone: its name in the file, and its own."""
    name = s.get("setting", {}).get("rti")
    return f"{name} ({s['rti']})" if name and s["rti"] else name or on(s)


def rti_in(s: dict) -> str:
    """The RTI's name in the file; what has none there is named by its sequence."""
    return s.get("setting", {}).get("rti") or on(s)


def sequence_of(s: dict) -> str:
    """The sequence in the file, which those of all its RTIs and other places are of. Runs from
    before that was kept have its name before the RTI's."""
    if of := s.get("sequence_of"):
        return of
    rti = s.get("setting", {}).get("rti")
    found = rti and re.search(rf"\.{re.escape(rti)}(?=\.|$)", s["sequence"])
    return s["sequence"][: found.start()] if found else s["sequence"]


def by_sequence(summaries: list[dict]) -> dict[str, list[dict]]:
    """The tests of each sequence in the file."""
    found: dict[str, list[dict]] = {}
    for s in summaries:
        found.setdefault(sequence_of(s), []).append(s)
    return found


@dataclass(frozen=True)
class Question:
    """What is compared in each sequence of a file: its name in a test, the variables that may
    differ beside it, what must be the same all the same, and what the question is of."""

    name: Callable[[dict], str]
    apart: frozenset[str] = frozenset()
    within: Callable[[dict], str] = lambda s: ""
    title: str = "RTIs"


# RTIs of one sequence, which took turns.
RTIS = Question(rti_in)


def differences(study: Study, rows: list[dict], summaries: list[dict]) -> list[Difference]:
    """The answers to all of a study's questions."""
    return _differences(study, study.questions, rows, summaries)


Runs = dict[str, tuple[list[dict], list[dict]]]  # rows and summaries, by name


def between_runs(study: Study, runs: Runs) -> list[Difference]:
    """Of all tests between runs, the surest first and of these the largest difference. Where a run
    has several sequences, those of one name are compared."""
    question, rows, summaries = _of_runs(runs)
    found = _differences(study, (question,), rows, summaries)
    found = [
        d if d.doubt or d.of == "rounds" else replace(d, doubt=f"ratio {d.found.ratio:.3g}, {_ONE}")
        for d in found
    ]
    sure = {word: n // 2 for n, word in enumerate(OUTCOMES)}  # whichever of the two is faster
    return sorted(found, key=lambda d: (sure[d.outcome], -abs(math.log(d.found.ratio))))


def alone(study: Study, runs: Runs) -> dict[str, list[str]]:
    """By run, in words, of which tests it alone has figures."""
    question, rows, summaries = _of_runs(runs)
    samples = in_order(study, rows)
    found: dict[str, list[str]] = {name: [] for name in runs}
    with_figures = [s for s in summaries if samples.get(key_of(s))]
    for _, title, group in _groups(study, question, with_figures):
        if len(names := set(map(question.name, group))) == 1:
            found[names.pop()].append(title)
    return found


def _of_runs(runs: Runs) -> tuple["Question", list[dict], list[dict]]:
    """What is asked of runs, with the rows and summaries of all."""
    rows = [r | {"run": name} for name, (rows, _) in runs.items() for r in rows]
    summaries = [s | {"run": name} for name, (_, found) in runs.items() for s in found]
    several = any(len({s["sequence"] for s in found}) > 1 for _, found in runs.values())
    question = Question(lambda s: s["run"], within=lambda s: s["sequence"] if several else "")
    return question, rows, summaries


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
    families: dict[tuple[str, str], list[int]] = {}
    for n, d in enumerate(found):
        if not d.doubt:
            families.setdefault(d.family, []).append(n)
    for of in families.values():
        corrected = compare.holm([found[n].found for n in of])
        for n, c in zip(of, corrected, strict=True):
            found[n] = replace(found[n], found=c)
    return found


def too_few(
    study: Study, sequences: list[Sequence], hosts: dict[str, Host]
) -> tuple[str, str] | None:
    """Where tests have too few samples, or rounds, for the comparisons of a family that a report
    makes: what, and what to do, of the family that lacks most. Nothing is known yet of their
    values: below four no test of them can show anything, with more it hangs on whether they look
    normal."""
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
                    "sequence_of": sequence.sequence_of,
                    "sender": sequence.pair[0].sender, "receiver": sequence.pair[0].receiver,
                    "hosts": describe([f.host for f in sequence.federate], hosts),
                    "cpus": str(sequence.cpus or ""), "setting": test.model_dump(),
                    "pairs": test.pairs or len(sequence.pair),
                }  # fmt: skip
                planned[key_of(s)] = s
                counts[key_of(s)] += 1 if pooled else test.samples
                rounds |= {key_of(s)} if pooled else set()
    families: dict[tuple[str, str], list[_Pair]] = {}
    for question in study.questions:
        for pair in _pairs(study, question, list(planned.values())):
            families.setdefault(pair.family, []).append(pair)
    worst: tuple[int, int, int, str] | None = None  # how many lack, and are there, of what size
    for found in families.values():
        needed = compare.needed(len(found))
        for pair in found:
            for keys in (pair.one_keys, pair.other_keys):
                there = sum(counts[key] for key in keys)
                of = "rounds" if keys <= rounds or study.one_sample else "samples"
                if there < needed and (worst is None or needed - there > worst[0]):
                    worst = needed - there, there, len(found), of
    if worst is None:
        return None
    lack, there, size, of = worst
    what = f"too few {of} ({there}) for {size:,} comparisons to show a difference"
    return f"{what}, unless they look normal", f"take {there + lack} {of} or more, or fewer tests"


@dataclass(frozen=True)
class _Pair:
    """What is compared: two names within a group of tests, and the tests of each."""

    title: str
    family: tuple[str, str]
    group: list[dict]
    one: str
    other: str
    one_keys: set[tuple]
    other_keys: set[tuple]


def _groups(
    study: Study, question: Question, summaries: list[dict]
) -> Iterator[tuple[str, str, list[dict]]]:
    """Tests that differ in nothing but what is asked for: their sequence in the file, and what
    they are."""
    for sequence, of in by_sequence(summaries).items():
        groups: dict[str, list[dict]] = {}
        for title, group in study.variables.alike(of, question.apart).items():
            for s in group:
                named = ", ".join(part for part in (title, question.within(s)) if part)
                groups.setdefault(named, []).append(s)
        for title, group in groups.items():
            yield sequence, title, group


def _pairs(study: Study, question: Question, summaries: list[dict]) -> Iterator[_Pair]:
    """All that a question compares, of tests that were run or of planned ones."""
    for sequence, title, group in _groups(study, question, summaries):
        keys: dict[str, dict[tuple, None]] = {}
        for s in group:
            keys.setdefault(question.name(s), {})[key_of(s)] = None
        for one, other in combinations(keys, 2):
            own = set(keys[one]), set(keys[other])
            yield _Pair(title, (sequence, question.title), group, one, other, *own)


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
            pair.family, frozenset(pair.one_keys | pair.other_keys),
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
