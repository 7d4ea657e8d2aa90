"""How long a plan takes, and how much of one nobody wants by mistake."""

from ..fields import Fault, Loc
from ..study import Study
from .sequences import Execution, File

TESTS_MAX, HOURS_MAX = 10_000, 24
# What starting and ending the processes of an execution takes, roughly.
EXECUTION_S = 2.0


def seconds(study: Study, execution: Execution) -> float:
    """About how long its tests take."""
    return sum(spec.count() * study.seconds(spec) for spec in execution.test)


def whole(study: Study, execution: Execution) -> float:
    """With what is around them."""
    return EXECUTION_S + seconds(study, execution)


def span(seconds: float) -> str:
    """A time in words."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def too_many(file: File, study: Study, scale: float) -> Fault | None:
    """More tests than anybody wants by mistake, or a longer run; found without making any."""
    counts: dict[Loc, int] = {}
    hours: dict[Loc, float] = {}
    for i, sequence in enumerate(file.sequence):
        for e, execution in enumerate(sequence.execution):
            for t, test in enumerate(execution.test):
                loc = ("sequence", i, "execution", e, "test", t)
                own = test.lists()["rti"] != [None]
                counts[loc] = test.count() * (1 if own else len(sequence.rtis))
                times = counts[loc] * sequence.rounds * scale
                hours[loc] = times * study.seconds(test) / 3600
    # Plans that other commands make are run by it, too.
    long = f"give `{study.manager} run` --long"
    if (count := sum(counts.values())) > TESTS_MAX:
        what = f"{count:,} tests, more than {TESTS_MAX:,}"
        return max(counts, key=lambda loc: counts[loc]), what, f"shorten lists, or {long}"
    if (whole := sum(hours.values())) > HOURS_MAX:
        what = f"it would take about {whole:,.0f} hours, more than {HOURS_MAX}"
        return max(hours, key=lambda loc: hours[loc]), what, f"take fewer updates, or {long}"
    return None
