"""Which variable makes how much, where several were varied together: an analysis of variance."""

from collections import Counter

import numpy as np

from ..kept.store import Store
from ..statistics import anova
from ..statistics.differences import in_order, key_of
from ..study import Study
from ..variables import Variable
from . import order
from .cells import p_value
from .parts import part, text_table

_ANALYSED = (
    "Of the logarithms of the samples' means or rates: how much of their squares is due to each "
    "variable, and to each two of them together (type II). What all tests of an execution share, "
    "as the RTI, is judged by how executions of one setting differ; where each setting had one, "
    "no p stands. In brackets what the design can't tell "
    "from it. Where a setting was tested several times each test's mean is one value; so it is "
    "where variables have values of their own in each test (a Latin hypercube), which is analysed "
    "by regression on their logarithms. Curvature: centre points against corners. The ratio is "
    "the second's to the first, with its 95 % interval."
)
_LEFT_OUT = "with what two variables make together: too many for these samples"
# Tables with more lines are folded.
_LONG = 20


def analysis(store: Store, summaries: list[dict]) -> list[str]:
    """The table of all families of tests in which several variables differ."""
    samples = in_order(store.study, store.samples())
    lines = [
        (title, *line)
        for title, group in store.study.families(summaries).items()
        for line in _family(store.study, group, samples)
    ]
    if not lines:
        return []
    head = ("test", "variable", "share of squares", "degrees", "F", "p", "from, to", "ratio")
    said = f"<p>{_ANALYSED} {order.of_blocks(store)}</p>"
    return [part("Analysis of variance", said + text_table(head, lines), len(lines) > _LONG)]


def _family(
    study: Study, group: list[dict], samples: dict[tuple, dict[object, list[float]]]
) -> list[tuple[str, ...]]:
    """Lines of tests whose values can be analysed together."""
    # Pairs of a sample are not independent: they count once.
    every = [s for s in {key_of(s): s for s in group}.values() if samples.get(key_of(s))]
    if len(_factors(study, every)) < 2:
        return []
    lines = []
    doubts = Counter(filter(None, map(study.doubt, every)))
    if count := doubts.total():
        why = "; ".join(f"{n}: {doubt}" for doubt, n in doubts.most_common())
        lines.append((f"{count} of {len(every)} tests are left out: {why}", *[""] * 6))
    group = [s for s in every if not study.doubt(s)]
    factors = _factors(study, group)
    if len(factors) < 2:
        return lines
    units = [(s, name, of) for s in group for name, of in samples[key_of(s)].items()]
    found = _analysed(study, factors, units)
    if found is None:
        return [*lines, ("not analysed: too few samples", *[""] * 6)]
    lines += map(_effect, found.effects)
    squares = found.residual + sum(e.sum_of_squares for e in found.effects)
    share = found.residual / squares if squares else 0
    left = "the rest" if found.interactions else f"the rest ({_LEFT_OUT})"
    return [*lines, (left, f"{share:.1%}", str(found.residual_degrees), *[""] * 4)]


def _effect(e: anova.Effect) -> tuple[str, ...]:
    ratio = "" if e.estimate is None else f"{np.exp(e.estimate):.3g}"
    if e.low is not None:
        ratio += " ({:.3g} to {:.3g})".format(*np.exp([e.low, e.high]))
    f = "-" if e.f is None else f"{e.f:.3g}"
    return e.title, f"{e.share:.1%}", str(e.degrees), f, p_value(e.p), e.step, ratio


def _factors(study: Study, group: list[dict]) -> dict:
    """The variables that tests differ in, by title. Those that change together can't be told apart:
    the first stands for all."""
    factors, partitions = {}, set()
    for v in _by_connection(study, study.variables.differing(group), group):
        levels = [v.value(s) for s in group]
        if len(set(levels) - {None}) < 2:
            continue
        partition = tuple(levels.index(level) for level in levels)
        # Numbers that are all different may still be told apart, as on a scale.
        known = partition in partitions and not v.axis
        if v.title not in ("execution", "pair") and not known:
            partitions.add(partition)
            factors[v.title] = v
    return factors


def _by_connection(study: Study, variables: list[Variable], group: list[dict]) -> list[Variable]:
    """The variables; of the one that says what connection a test's federates need, where there are
    several: which one, which is the same in all tests of an execution, and beside it what differs
    between tests of one execution."""
    title = study.names.get(study.connection_by, study.connection_by)
    words = {study.connection(s.get("setting", {})) for s in group}
    found = []
    for v in variables:
        if v.title != title or len(words) < 2:
            found.append(v)
            continue
        values: dict[str, set] = {}
        for s in group:
            values.setdefault(study.connection(s["setting"]), set()).add(v.value(s))
        several = {word for word, of in values.items() if len(of) > 1}
        if not several:
            found.append(v)
            continue
        named = {word: "/".join(sorted(map(v.text, of))) for word, of in values.items()}
        found.append(
            Variable(f"connection by {title}",
                     lambda s, named=named: named[study.connection(s["setting"])])
        )  # fmt: skip
        found.append(
            Variable(title, lambda s, v=v, several=several: (
                v.value(s) if study.connection(s["setting"]) in several else None), v.text)
        )  # fmt: skip
    return found


def _analysed(
    study: Study, factors: dict[str, Variable], units: list[tuple[dict, object, list[float]]]
) -> anova.Analysis | None:
    """Of each test's mean in each round where tests were repeated, or values of a variable taken
    once; else, and where these are too few, of each sample. `units`: test, round, values."""
    numbers = frozenset(v.title for v in factors.values() if v.axis)
    group = [s for s, _, _ in units]
    settings = [tuple(v.value(s) for v in factors.values()) for s in group]
    logs = [np.log(v) for _, _, v in units]
    runs = [name or s["execution"] for s, name, _ in units]
    repeated = len(set(settings)) < len(settings)
    most = max((len({v.value(s) for s in group}) for v in factors.values() if v.axis), default=0)
    # A number that has values of its own in most tests: of a Latin hypercube.
    for by_test in (True, False) if repeated or most * 2 > len(group) else (False,):
        told = [
            (s, run, float(value))
            for s, run, v in zip(group, runs, logs, strict=True)
            for value in ([np.mean(v)] if by_test else v)
        ]
        levels = {t: [v.value(s) for s, _, _ in told] for t, v in factors.items()}
        blocks = [study.block(run) for _, run, _ in told]
        plots = [f"{s['sequence']}/{run}" for s, run, _ in told]
        found = anova.analyse([value for *_, value in told], levels, numbers, blocks, plots)
        if found is not None:
            return found
    return None
