"""Analysis of variance: how much of what samples differ is due to which variable, and to which two
together. And whether samples follow one another as if each was drawn anew: drift, autocorrelation.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

# pandas, scipy.stats and statsmodels take seconds to load: the functions that need them do so.

# An estimate of every interaction needs that many samples beyond the parameters.
_RESIDUAL_MIN = 2


@dataclass(frozen=True)
class Effect:
    """A variable's part, or that of two together ("a x b")."""

    name: str
    sum_of_squares: float
    degrees: int
    f: float
    p: float
    share: float  # of all squares, 0 to 1


@dataclass(frozen=True)
class Analysis:
    """The effects, largest first, and what they leave unexplained."""

    effects: list[Effect]
    residual: float
    residual_degrees: int


def analyse(values: list[float], factors: dict[str, list[object]]) -> Analysis | None:
    """Effects of all factors and of each two of them on the values, one level of each factor for
    each value. Squares are of type II, as designs need not be balanced. None where the samples are
    too few, or where some interaction was not measured at all its levels.
    """
    names = {f"x{i}": name for i, name in enumerate(factors)}
    columns = {key: [str(v) for v in factors[name]] for key, name in names.items()}
    if not columns or any(len(set(levels)) < 2 for levels in columns.values()):
        return None
    pairs = list(combinations(columns, 2))
    for a, b in pairs:
        if len(set(zip(columns[a], columns[b], strict=True))) < len(set(columns[a])) * len(
            set(columns[b])
        ):
            return None
    parameters = 1 + sum(len(set(c)) - 1 for c in columns.values())
    parameters += sum((len(set(columns[a])) - 1) * (len(set(columns[b])) - 1) for a, b in pairs)
    if len(values) < parameters + _RESIDUAL_MIN:
        return None
    import pandas
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    terms = [f"C({key}, Sum)" for key in columns]
    terms += [f"C({a}, Sum):C({b}, Sum)" for a, b in pairs]
    frame = pandas.DataFrame(columns | {"value": np.asarray(values, float)})
    fitted = ols("value ~ " + " + ".join(terms), data=frame).fit()
    table = anova_lm(fitted, typ=2)
    residual = table.loc["Residual"]
    whole = float(table["sum_sq"].sum())
    effects = []
    for term, row in table.iterrows():
        if term == "Residual":
            continue
        keys = [part.removeprefix("C(").partition(",")[0] for part in str(term).split(":")]
        name = " x ".join(names[key] for key in keys)
        squares, degrees = float(row["sum_sq"]), int(row["df"])
        f, p = float(row["F"]), float(row["PR(>F)"])
        effects.append(Effect(name, squares, degrees, f, p, squares / whole if whole else 0))
    effects.sort(key=lambda e: -e.share)
    return Analysis(effects, float(residual["sum_sq"]), int(residual["df"]))


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
