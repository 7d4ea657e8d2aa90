"""Analysis of variance: how much of what samples differ is due to which variable, and to which two
together. And whether samples follow one another as if each was drawn anew: drift, autocorrelation.

What can be told apart follows from the design, whatever it is: columns of the model that others
make up are named with these as aliases (Montgomery, Design and Analysis of Experiments, 8.2).
Corners and centre points of a factorial design give its curvature (6.8); where a number has values
that were not combined with all others (a Latin hypercube), it is a regression on them.

What is the same in all tests of an execution is judged by how much executions of one setting
differ, all else by how much tests within one do (split plots: the same, 14.5): what differs from
execution to execution, as drift does, is in all tests of one alike.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

# scipy.stats takes seconds to load: the functions that need it do so.

# An estimate of every interaction needs that many samples beyond the parameters.
_RESIDUAL_MIN = 2
# With more columns interactions are left out.
_COLUMNS_MAX = 300
# What is left of a column that others make up is rounding.
_ROUNDING = 1e-7
BLOCK = "execution (block)"
PLOT = "executions of one setting"
CURVATURE = "curvature"


@dataclass(frozen=True)
class Effect:
    """A variable's part, or that of two together ("a x b"), with what can't be told from it."""

    name: str
    sum_of_squares: float
    degrees: int
    f: float | None  # None: nothing says how much executions differ that were set alike
    p: float | None
    share: float  # of all squares, 0 to 1
    aliases: tuple[str, ...] = ()
    step: str = ""  # from where to where the estimate is
    estimate: float | None = None  # of the step, with its 95 % interval
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """The effect, and in brackets what it may be as well."""
        if not self.aliases:
            return self.name
        more = f" or {len(self.aliases) - 4} more" if len(self.aliases) > 4 else ""
        return f"{self.name} (or {' or '.join(self.aliases[:4])}{more})"


@dataclass(frozen=True)
class Analysis:
    """The effects, largest first, and what they leave unexplained."""

    effects: list[Effect]
    residual: float
    residual_degrees: int
    interactions: bool = True  # False: too many for the samples, they are in the rest


@dataclass
class _Term:
    """Columns of the model's matrix that belong together."""

    name: str
    of: frozenset[str]
    columns: np.ndarray
    step: str = ""
    scale: float = 0  # the step in units of the only column
    aliases: tuple[str, ...] = ()


def _ordered(levels: list) -> list:
    """Numbers by size, others as they came."""
    found = list(dict.fromkeys(levels))
    return sorted(found) if all(_number(v) for v in found) else found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _centred(factors: dict[str, list], numbers: list[str]) -> tuple[list[str], np.ndarray]:
    """The numbers that have a middle at the centre points only, and which values are of these."""
    at: dict[tuple[bool, ...], list[str]] = {}
    for name in numbers:
        low, *middle, high = _ordered(factors[name])
        if len(middle) == 1 and low < middle[0] < high:
            at.setdefault(tuple(v == middle[0] for v in factors[name]), []).append(name)
    for rows, names in at.items():
        there = [n for n, is_there in enumerate(rows) if is_there]
        ends = {n: [v for v, mid in zip(factors[n], rows, strict=True) if not mid] for n in numbers}
        # Where one was varied after the other there are no corners.
        others = ((ends[n], ends[o]) for n in names for o in numbers if o != n)
        if not all(itertools.starmap(_crossed, others)):
            continue
        # One alone may be a level like any other, unless it is in the middle of a scale.
        low, middle, high = _ordered(factors[names[0]])
        alone = len(names) == 1 and (low <= 0 or middle != round(math.sqrt(low * high)))
        if not alone and all(len({factors[n][i] for i in there}) == 1 for n in numbers):
            return names, np.array(rows, float)
    return [], np.zeros(0)


def _crossed(one: list, other: list) -> bool:
    """Every level of the one was measured with every level of the other."""
    return len(set(zip(one, other, strict=True))) == len(set(one)) * len(set(other))


def _categories(name: str, levels: list) -> _Term:
    """Each level against the mean of all; None is no level."""
    every = _ordered([v for v in levels if v is not None])
    columns = np.array([[float(v == level) for level in every[1:]] for v in levels])
    columns[[v == every[0] for v in levels]] = -1
    if len(every) > 2:
        return _Term(name, frozenset({name}), columns)
    return _Term(name, frozenset({name}), columns, f"{every[0]} to {every[1]}", 2)


def _coded(levels: list) -> np.ndarray:
    """-1 to 1, on a logarithmic scale where there is one."""
    v = np.asarray(levels, float)
    v = np.log(v) if (v > 0).all() else v
    return 2 * (v - v.min()) / np.ptp(v) - 1


def _ends(levels: list) -> str:
    return f"{min(levels)} to {max(levels)}"


def _within(levels: list, other: list) -> bool:
    """A factor that has levels only where the other has one value says nothing with it."""
    there = {o for v, o in zip(levels, other, strict=True) if v is not None}
    return None in levels and len(there) == 1


def _product(a: _Term, b: _Term) -> _Term:
    both = (a.columns[:, :, None] * b.columns[:, None, :]).reshape(len(a.columns), -1)
    return _Term(f"{a.name} x {b.name}", a.of | b.of, both)


def _terms(
    factors: dict[str, list], numbers: frozenset[str], blocks: list[str] | None,
    plots: list[str], fixed: set[str],
) -> tuple[list[_Term], Iterator[_Term]]:  # fmt: skip
    """The model: variables and curvature, and each two together; first those `fixed` in an
    execution, then executions, then all others."""
    counts = [n for n in factors if n in numbers and all(map(_number, factors[n]))]
    centred, at_centre = _centred(factors, counts)
    mains, bends = [], []
    for name, levels in factors.items():
        term = _categories(name, levels)
        others = (v for n, v in factors.items() if n != name)
        if name in centred:
            column = np.sign(_coded(levels)) * (1 - at_centre)
        elif (
            name in counts and len(set(levels)) > 3 and not all(_crossed(levels, o) for o in others)
        ):
            column = _coded(levels)
            squared, of = (column**2)[:, None], frozenset({name, f"{name}²"})
            bends.append(_Term(f"{name}²", of, squared, "ends to middle", -1))
        else:
            mains.append(term)
            continue
        mains.append(_Term(name, term.of, column[:, None], _ends(levels), 2))
    both = (
        (a, b) for a, b in itertools.combinations(mains, 2)
        if not _within(factors[a.name], factors[b.name])
        and not _within(factors[b.name], factors[a.name])
    )  # fmt: skip
    pairs = itertools.starmap(_product, both)
    if centred:
        bend = _Term(
            CURVATURE, frozenset({CURVATURE}), at_centre[:, None], "corners to centre points", 1
        )
        bends.append(bend)
        # Variables without a middle have centre points at each level.
        rows = at_centre > 0
        bent = [_product(bend, m) for m in mains if np.ptp(m.columns[rows], axis=0).any()]
        pairs = itertools.chain(bent, pairs)
    if blocks and len(set(blocks)) > 1:
        term = _categories(BLOCK, blocks)
        mains.append(_Term(BLOCK, term.of, term.columns))
    if not plots:
        return [*mains, *bends], pairs
    every = list(itertools.islice(pairs, _COLUMNS_MAX))
    above = [pair for pair in every if pair.of <= fixed]
    of = frozenset({PLOT, BLOCK, *fixed})
    mains += [*above, _Term(PLOT, of, _categories(PLOT, plots).columns)]
    return [*mains, *bends], iter([pair for pair in every if not pair.of <= fixed])


class _Basis:
    """Columns of which none is made up of the others, each known by its term's name."""

    def __init__(self, count: int) -> None:
        self.q = np.full((count, 1), 1 / math.sqrt(count))
        self.columns, self.names = np.ones((count, 1)), [""]

    def add(self, name: str, column: np.ndarray) -> bool:
        """Whether it is none that others make up."""
        rest = column - self.q @ (self.q.T @ column)
        rest -= self.q @ (self.q.T @ rest)
        if (size := np.linalg.norm(rest)) <= _ROUNDING * max(np.linalg.norm(column), 1):
            return False
        self.q = np.column_stack([self.q, rest / size])
        self.columns = np.column_stack([self.columns, column])
        self.names.append(name)
        return True

    def makers(self, column: np.ndarray) -> list[str]:
        """What the columns are named that make it up."""
        parts = np.linalg.lstsq(self.columns, column, rcond=None)[0]
        found = (n for n, part in zip(self.names, parts, strict=True) if abs(part) > 1e-6)
        return [n for n in dict.fromkeys(found) if n not in ("", BLOCK)]


def _told_apart(count: int, terms: list[_Term]) -> list[_Term]:
    """The terms with the columns that none before them makes up; what is left of none is an alias
    of those that do."""
    basis, found, aliases = _Basis(count), [], {}
    for term in terms:
        kept = []
        for column in term.columns.T:
            if basis.add(term.name, column):
                kept.append(column)
            elif term.name not in (BLOCK, PLOT):
                for name in basis.makers(column):
                    if name != term.name:
                        aliases.setdefault(name, {})[term.name] = None
        if kept:
            whole = len(kept) == term.columns.shape[1]
            scale = term.scale if whole else 0
            found.append(_Term(term.name, term.of, np.column_stack(kept), term.step, scale))
    for term in found:
        term.aliases = tuple(aliases.get(term.name, ()))
    return found


def _fit(values: np.ndarray, terms: list[_Term]) -> tuple[float, np.ndarray, np.ndarray]:
    """The squares that are left, the coefficients, and the matrix."""
    matrix = np.column_stack([np.ones(len(values)), *(t.columns for t in terms)])
    parts = np.linalg.lstsq(matrix, values, rcond=None)[0]
    rest = values - matrix @ parts
    return float(rest @ rest), parts, matrix


def analyse(
    values: list[float], factors: dict[str, list], numbers: frozenset[str] = frozenset(),
    blocks: list[str] | None = None, plots: list[str] | None = None,
) -> Analysis | None:  # fmt: skip
    """Effects of all factors and of each two of them on the values, one level of each factor for
    each value (None: it says nothing there); those in `numbers` are measured on a scale; `plots`
    are the executions that values are of. Squares are of type II, as designs need not be balanced.
    None where the samples are too few even without interactions.
    """
    if not factors or any(len(set(levels) - {None}) < 2 for levels in factors.values()):
        return None
    v = np.asarray(values, float)
    # Where each has one value they are what is judged by.
    apart = plots if plots and 1 < len(set(plots)) < len(v) else []
    fixed = {n for n in factors if len({*zip(apart, factors[n], strict=False)}) == len(set(apart))}
    fixed = {BLOCK, *fixed} if apart else set()
    singles, pairs = _terms(factors, numbers, blocks, apart, fixed)
    several = []
    width = sum(t.columns.shape[1] for t in singles)
    for pair in pairs:
        several.append(pair)
        width += pair.columns.shape[1]
        if width > _COLUMNS_MAX:
            break
    whole = [*singles, *several]
    for every in (whole, singles) if width <= _COLUMNS_MAX else (singles,):
        terms = _told_apart(len(v), every)
        degrees = len(v) - 1 - sum(t.columns.shape[1] for t in terms)
        if degrees >= _RESIDUAL_MIN:
            return _analysis(v, terms, degrees, every is whole, fixed)
    return None


def _analysis(
    v: np.ndarray, terms: list[_Term], degrees: int, interactions: bool, fixed: set[str]
) -> Analysis:
    from scipy.special import fdtrc, stdtrit

    residual = _fit(v, terms)[0]
    if residual <= 1e-20 * float(v @ v):
        residual = 0.0
    error = residual / degrees
    # What executions of one setting differ by: none where each setting has one.
    above = 0.0, 0
    for plot in (t for t in terms if t.name == PLOT):
        count = plot.columns.shape[1]
        squares = _fit(v, [t for t in terms if t is not plot])[0] - residual
        above = max(squares, 0.0) / count, count
    found = []
    for term in terms:
        without = [t for t in terms if not term.of <= t.of]
        left, parts, matrix = _fit(v, [*without, term])
        squares = max(_fit(v, without)[0] - left, 0.0)
        count = term.columns.shape[1]
        against, of = above if term.of <= fixed else (error, degrees)
        f = p = None
        if of:
            f = squares / count / against if against else math.inf if squares else 0.0
            p = float(fdtrc(count, of, f)) if math.isfinite(f) else 0.0
        step = {}
        if term.scale:
            estimate = term.scale * float(parts[-1])
            step = {"step": term.step, "estimate": estimate}
        if term.scale and of:
            spread = np.linalg.inv(matrix.T @ matrix)[-1, -1]
            off = abs(term.scale) * float(stdtrit(of, 0.975)) * math.sqrt(against * spread)
            step |= {"low": estimate - off, "high": estimate + off}
        found.append(Effect(term.name, squares, count, f, p, 0.0, term.aliases, **step))
    all_squares = residual + sum(e.sum_of_squares for e in found)
    shared = [replace(e, share=e.sum_of_squares / all_squares if all_squares else 0) for e in found]
    shared.sort(key=lambda e: -e.share)
    return Analysis(shared, residual, degrees, interactions)


def autocorrelation(values: list[float]) -> float | None:
    """Of each sample with the one before, -1 to 1; None for fewer than four or for constants."""
    if len(values) < 4:
        return None
    v = np.asarray(values, float) - np.mean(values)
    square = float(v @ v)
    return float(v[1:] @ v[:-1]) / square if square > 0 else None


def drift(values: list[float]) -> float | None:
    """The probability of so much order in time if there were none (Mann and Kendall's test,
    two-sided); None for fewer than four samples."""
    if len(values) < 4 or np.ptp(values) == 0:
        return None
    from scipy import stats

    return float(stats.kendalltau(range(len(values)), values).pvalue)


# Of fewer values in order no drift can be told at 1 % (Mann and Kendall's least p is 2 / n!).
ORDERED_MIN = 6


def drift_together(series: list[list[float]]) -> tuple[float, bool] | None:
    """Mann and Kendall's test of several short series together (seasonal Kendall: Hirsch, Slack and
    Smith 1982): the probability of so much order, two-sided, and whether values rise; None where
    even the most order there can be would not be told at 1 %."""
    score = most = 0
    variance = 0.0
    for values in series:
        v, n = np.asarray(values, float), len(values)
        score += sum(int(np.sign(v[at + 1 :] - v[at]).sum()) for at in range(n))
        most += n * (n - 1) // 2
        variance += n * (n - 1) * (2 * n + 5) / 18
    if most - 1 <= 2.58 * math.sqrt(variance):
        return None
    from scipy.special import ndtr

    z = max(abs(score) - 1, 0) / math.sqrt(variance)
    return float(2 * ndtr(-z)), score > 0


def doubtful(values: list[float]) -> str:
    """What speaks against taking samples for independent, in words; "": nothing."""
    found = []
    p = drift(values)
    if p is not None and p < 0.01:
        found.append(f"drift (Mann-Kendall, p = {p:.3g})")
    r = autocorrelation(values)
    # Bartlett's bound for independent values.
    if r is not None and abs(r) > 2.58 / np.sqrt(len(values)):
        found.append(f"autocorrelation {r:+.2f}")
    return ", ".join(found)
