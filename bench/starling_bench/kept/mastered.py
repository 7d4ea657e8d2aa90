"""The rows of a run whose table was removed, as each execution's master wrote them down itself.

They lack what only the manager knew: what other programs did meanwhile. Figures of round trips are
made of raw values, as in any report.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import USAGE, BenchError
from ..outside import read_text
from ..study import Study
from .results import check, fault, typed

# What they lack, for a reader of figures.
LACKS = (
    "its rows are those that the masters wrote down themselves, which don't say what other "
    "programs did meanwhile."
)
# A master's table, and those of earlier tries, which are numbered (conduct.py).
_TABLE = re.compile(r"results(?:\.(\d+))?\.csv")


def _tables(folder: Path) -> list[Path]:
    """In the order in which they were written."""
    if not folder.is_dir():
        return []
    found = {path: match for path in folder.iterdir() if (match := _TABLE.fullmatch(path.name))}
    last = 1 + len(found)
    return sorted(found, key=lambda path: int(found[path][1] or last))


def there(directory: Path) -> bool:
    """A run's directory has such tables."""
    return any(_TABLE.fullmatch(path.name) for path in directory.glob("*/*/results*.csv"))


def rows(directory: Path, study: Study, run: dict) -> list[dict]:
    """In the order of measurement; a sample that was taken again is where that was."""
    found: dict[tuple, dict] = {}
    for record in run["executions"]:
        names = {key: record[key] for key in ("sequence", "execution")}
        for path in _tables(directory / record["sequence"] / record["execution"]):
            for row in _read(path, study, names):
                test = record["tests"].get(str(row["test"]))
                pairs = (test.get("pairs") or record["pairs"]) if test else 0
                asked = test and 1 <= row["sample"] <= test["samples"] and 1 <= row["pair"] <= pairs
                if not asked:
                    continue
                key = (*names.values(), row["test"], row["pair"], row["sample"])
                found.pop(key, None)
                found[key] = row
    records = {(e["sequence"], e["execution"]): e for e in run["executions"]}
    for row in found.values():
        try:
            check(row, records, study)
        except ValueError as e:
            raise _none(e, directory / row["sequence"] / row["execution"]) from None
    return list(found.values())


def _read(path: Path, study: Study, names: dict[str, str]) -> Iterator[dict]:
    """Those of one table that are whole."""
    try:
        # A killed master may leave half a line.
        lines = list(csv.DictReader(read_text(path).rpartition("\n")[0].splitlines()))
    except (csv.Error, OSError, ValueError) as e:
        raise _none(getattr(e, "strerror", None) or e, path) from None
    for line in lines:
        row = typed({**line, **names}, study)
        if row and None not in (row["test"], row["pair"], row["sample"]) and not fault(row, study):
            yield row


def _none(why: object, path: Path) -> BenchError:
    return BenchError(
        "STL-OUT-008", f"this is no table of results: {why}", str(path),
        "take it from a copy of the run, or run again", USAGE,
    )  # fmt: skip
