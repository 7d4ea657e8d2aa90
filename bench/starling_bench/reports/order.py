"""In which order a run's tests were measured, in words, and whether that shows in their values."""

import itertools

from ..kept.store import Store
from ..statistics import anova
from ..statistics.differences import in_order, key_of, sample_values
from .parts import text_table

_ONE_AFTER_ANOTHER = (
    "Not all tests were run to and fro: what drifted between them counts as a difference."
)
_TO_AND_FRO = "All were run to and fro, in rounds; each round's mean is one value."
_APART = (
    "A sequence's executions were run to and fro, in rounds, and each round's mean is one value; "
    "but sequences of different tables of the file were run one after the other: what drifted "
    "between those counts as a difference."
)
_IN_BLOCKS = (
    "Blocks were run one after the other, and within each the executions of all RTIs, hosts and "
    "switches, in an order of its own."
)
_NO_BLOCKS = (
    "Executions that are compared were not run in blocks: what drifted between them counts as an "
    "effect of what they differ in."
)


def said(store: Store) -> str:
    """Whether what is compared was run to and fro, or one after the other."""
    in_rounds = all(e.get("round_of") for e in store.run["executions"])
    return _rounds(store) if in_rounds else _ONE_AFTER_ANOTHER


def _rounds(store: Store) -> str:
    """How rounds were run, in words."""
    spans: dict[str, list[int]] = {}  # of a sequence, from which execution to which
    for number, e in enumerate(store.run["executions"]):
        spans.setdefault(e["sequence"], [number, number])[1] = number
    # One that begins behind all that began before has no turns with them.
    end = -1
    for begin, last in spans.values():
        if -1 < end < begin:
            return _APART
        end = max(end, last)
    return _TO_AND_FRO


def of_blocks(store: Store) -> str:
    """In which order executions were run that are compared, in words."""
    executions = store.run["executions"]
    if len({e["sequence"] for e in executions}) < 2:
        return ""
    if all(e.get("round_of") for e in executions):
        return _rounds(store)
    blocks = [store.study.block(e["execution"]) for e in executions]
    changes = sum(one != other for one, other in itertools.pairwise(blocks))
    return _IN_BLOCKS if 1 < len(set(blocks)) == changes + 1 else _NO_BLOCKS


def doubts(store: Store, summaries: list[dict]) -> list[str]:
    """Tests whose samples do not look independent."""
    samples = sample_values(store.study, store.samples())
    lines = []
    tests = {key_of(s): s for s in summaries}
    for key, s in tests.items():
        if said := anova.doubtful(samples.get(key, [])):
            lines.append((f"{s['sequence']}/{s['execution']}, test {s['test']}", said))
    executions: dict[str, list[list[float]]] = {}
    for (_, sequence, execution, _), of in in_order(store.study, store.samples()).items():
        for name, values in of.items():
            executions.setdefault(f"{sequence}/{name or execution}", []).append(values)
    untold = 0
    for where, series in executions.items():
        found = anova.drift_together(series)
        untold += found is None
        if found and found[0] < 0.01:
            way = "rising" if found[1] else "falling"
            said = f"drift of all its tests together, {way} (seasonal Kendall, p = {found[0]:.3g})"
            lines.append((where, said))
    few = sum(len(samples.get(key, ())) < anova.ORDERED_MIN for key in tests)
    if not (lines or few or untold):
        return []
    said = "<p>Intervals and comparisons take samples for independent."
    if lines:
        said += (" Here something speaks against it (each at 1 %, so one of 50 tests is named "
                 "without a reason).")  # fmt: skip
    if few:
        said += (
            f" {few} of {len(tests)} tests have fewer than {anova.ORDERED_MIN} samples (or "
            "rounds): too few to tell of each by itself."
        )
    if untold:
        of = f"{untold} of {len(executions)} executions"
        said += f" Nor can drift be told of {of}, all tests of each together."
    table = [text_table(("test, or execution", "what"), lines)] if lines else []
    return ["<h2>Samples that follow one another</h2>", f"{said}</p>", *table]
