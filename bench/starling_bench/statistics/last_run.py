"""What of a run of figures beside a limit (`beside`) is kept and committed, and how the next run
differs from it: ratios, as these hang less on the machine than what was measured, and what is
counted; of both only what the clock says, too, is called better or worse (`alike`).
"""

import json
import statistics
from pathlib import Path

from ..errors import USAGE, BenchError
from ..kept.store import Store
from . import alike
from .beside import Figure
from .estimates import Estimate, apart

SUMMARY, TABLE = "summary.json", "table.txt"
#: More than any figure is known to.
_DIGITS = 4
_OF_THE_RUN = ("study", "commit", "started", "rounds", "only", "machine")


def summary(run: dict, measured: list[Figure], counts: dict[str, float] | None = None) -> dict:
    """Of all rounds: medians with their ranges, ratios with their intervals; and what was counted
    of an update."""
    of_the_run = {key: run[key] for key in _OF_THE_RUN}
    return of_the_run | {"counts": counts or {}, "figures": [_one(f) for f in measured]}


def _one(f: Figure) -> dict:
    ratio = f.ratio()
    told = {
        "figure": f.name,
        "limit": f.raw_name,
        "unit": f.unit,
        "starling": _range(f.ours),
        "rounds": [_short(v) for v in f.ours],
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


def keep(
    store: Store, run: dict, measured: list[Figure], counts: dict[str, float] | None, shown: str
) -> None:
    """What of a run may be committed."""
    lines = (line.rstrip() for line in shown.split("\n"))
    store.write(TABLE, "\n".join(lines).strip("\n") + "\n")
    store.write(SUMMARY, text(summary(run, measured, counts)))


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
    are known to, that is, their intervals do not overlap, and the clock says so, too."""
    found = {}
    for f in measured:
        if not (one := _before(last, f)):
            continue
        now, then = f.ratio(), one["interval"]
        more = 0
        if then and now.low is not None:
            more = (now.low > then[1]) - (now.high < then[0])
        # Of times less is better, of rates more.
        moved = -more if f.unit == "us" else more
        mark = alike.change(moved, clock(last, f))
        found[f.name, f.raw_name] = f"x {one['ratio'][0]:.2f} {mark}".rstrip()
    return found


def _before(last: dict, f: Figure) -> dict | None:
    same = (one for one in last["figures"] if (one["figure"], one["limit"]) == (f.name, f.raw_name))
    return next(same, None)


def clock(last: dict, f: Figure) -> Estimate | None:
    """How many times as fast as in the last run a figure is, whatever its limit was; None: that is
    not known."""
    one = _before(last, f)
    if not one or "rounds" not in one:
        return None
    sides = (one["rounds"], f.ours) if f.unit == "us" else (f.ours, one["rounds"])
    return apart(*sides)


def counted(
    last: dict | None, counts: dict[str, dict], measured: list[Figure], of: dict[str, str]
) -> list[str]:
    """What an update takes, by row: beside what it took in the last run, and for an earlier system
    in this one; with the clock of the figure that times the same (`of`: rows by its name)."""
    lines = []
    for row, now in counts.get("", {}).items():
        found = [f for f in measured if of.get(f.name) == row.rpartition(": ")[0]]
        lines.append(f"{row}: {now:,.0f} instructions")
        if last and (then := last.get("counts", {}).get(row)):
            by = clock(last, found[0]) if found else None
            lines[-1] = alike.counted(row, now, then, "the last run", by)
        then = counts.get("earlier", {}).get(row)
        lines += [alike.counted(row, now, then, f.raw_name, f.ratio())
                  for f in found if f.earlier and then]  # fmt: skip
    return lines


def about(last: dict, machine: dict) -> str:
    """Which run that is; and that it is of another machine, if so."""
    other = [key for key in ("cpu", "cpus", "kernel") if last["machine"].get(key) != machine[key]]
    differs = f"; another machine: {', '.join(other)} differ" if other else ""
    return f"last: commit {last['commit']}, {last['started']}, {last['rounds']} rounds{differs}"
