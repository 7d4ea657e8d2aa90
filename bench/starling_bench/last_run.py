"""What of a run of figures beside a limit (`beside`) is kept and committed, and how the next run
differs from it: ratios, as these hang less on the machine than what was measured.
"""

import json
import statistics
from pathlib import Path

from .beside import Figure
from .errors import USAGE, BenchError

SUMMARY, TABLE = "summary.json", "table.txt"
#: More than any figure is known to.
_DIGITS = 4
_OF_THE_RUN = ("study", "commit", "started", "rounds", "only", "machine")


def summary(run: dict, measured: list[Figure]) -> dict:
    """Of all rounds: medians with their ranges, ratios with their intervals."""
    return {key: run[key] for key in _OF_THE_RUN} | {"figures": [_one(f) for f in measured]}


def _one(f: Figure) -> dict:
    ratio = f.ratio()
    told = {
        "figure": f.name,
        "limit": f.raw_name,
        "unit": f.unit,
        "starling": _range(f.ours),
        "raw": _range(f.theirs),
        "ratio": _range(f.ratios()),
        "interval": None if ratio.low is None else [_short(ratio.low), _short(ratio.high)],
        "target": f.target,
        "met": f.met,
    }
    for name, pairs in f.tails.items():
        ours, theirs = zip(*pairs, strict=True)
        told[name] = {"starling": _range(ours), "raw": _range(theirs)}
    return told


def _range(values: list[float]) -> list[float]:
    return [_short(v) for v in (statistics.median(values), min(values), max(values))]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def text(kept: dict) -> str:
    """A line for each figure: what differs from run to run is a line of a commit's difference."""
    figures = ",\n  ".join(json.dumps(one) for one in kept["figures"])
    rest = json.dumps({k: v for k, v in kept.items() if k != "figures"}, indent=1)
    return rest[: -len("\n}")] + f',\n "figures": [\n  {figures}\n ]\n}}\n'


def read(path: Path) -> dict:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return kept | {"figures": [dict(one) for one in kept["figures"]]}
    except (OSError, ValueError, KeyError, TypeError) as e:
        what = f"the last run can't be read: {e}"
        raise BenchError(
            "STL-LST-001", what, str(path), "name the summary.json of a run", USAGE
        ) from None


def told(last: dict, measured: list[Figure]) -> dict[tuple, str]:
    """By figure and limit: the last run's ratio, and whether this one's is another beyond what both
    are known to, that is, their intervals do not overlap."""
    before = {(one["figure"], one["limit"]): one for one in last["figures"]}
    found = {}
    for f in measured:
        if not (one := before.get((f.name, f.raw_name))):
            continue
        now, then = f.ratio(), one["interval"]
        mark = ""
        if then and now.low is not None and (now.high < then[0] or now.low > then[1]):
            less = now.high < then[0]
            # Of times less is better, of rates more.
            mark = " better" if less == (f.unit == "us") else " worse"
        found[f.name, f.raw_name] = f"x {one['ratio'][0]:.2f}{mark}"
    return found


def about(last: dict, machine: dict) -> str:
    """Which run that is; and that it is of another machine, if so."""
    other = [key for key in ("cpu", "cpus", "kernel") if last["machine"].get(key) != machine[key]]
    differs = f"; another machine: {', '.join(other)} differ" if other else ""
    return f"last: commit {last['commit']}, {last['started']}, {last['rounds']} rounds{differs}"
