"""The rows of a run's table of results: what may be in one, and how they are read."""

import csv
import math
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from ..errors import USAGE, BenchError
from ..outside import read_text
from ..study import Columns, Study

_TEXT_MAX = 1000  # characters
# There is one row of each.
_KEY = ("sequence", "execution", "test", "pair", "sample")


def fault(row: dict, study: Study) -> str:
    """What can't be in a row, in words; "": nothing."""
    for name in study.columns.names:
        value = row.get(name)
        if name in study.columns.texts:
            ok = isinstance(value, str) and value.isprintable() and len(value) <= _TEXT_MAX
        elif value is None:
            ok = True
        elif name in study.columns.figures:
            ok = _is(Real, value) and math.isfinite(value)
        else:
            ok = _is(Integral, value) and abs(value) < 1 << 64
        if not ok:
            return f"{name} is {value!r:.50}"
    return ""


def check_counts(row: dict, columns: Columns) -> dict:
    """The row; BenchError if one of what was counted and measured lacks something or can't be."""
    if missing := [c for c in columns.names if c not in row]:
        raise BenchError("STL-RUN-007", f"the master sent a sample without {missing[0]}")
    title = f"sample {row['sample']} of test {row['test']}"
    if below := [c for c in columns.names if isinstance(row[c], int | float) and row[c] < 0]:
        what = f"{title}: {below[0]} is {row[below[0]]}"
        raise BenchError("STL-RUN-007", what, do="read the logs of its federates")
    return check_sum(row)


def check_sum(row: dict) -> dict:
    """The row; BenchError if what was sent is not what came and what was lost."""
    sent, received, lost = (row.get(key) for key in ("sent", "received", "lost"))
    if None not in (sent, received, lost) and sent != received + lost:
        raise BenchError(
            "STL-RUN-007",
            f"sample {row.get('sample')} of test {row.get('test')}: {sent} sent is not {received} "
            f"received + {lost} lost",
            do="the RTI delivered what nobody sent, its federates are wrong, or somebody altered "
            "the table: read the logs",
        )  # fmt: skip
    return row


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def read(path: Path, study: Study, run: dict) -> list[dict | None]:
    """The rows of results.csv, None for a line that is none, or was there before; BenchError if
    that is no table of this study's, or of another run than this."""
    records = {(e["sequence"], e["execution"]): e for e in run["executions"]}
    table = csv.DictReader([])
    try:
        # A killed manager may leave half a line.
        text, _, torn = (read_text(path) if path.exists() else "").rpartition("\n")
        table = csv.DictReader(text.splitlines())
        names = table.fieldnames
        if names and names[0] != study.columns.names[0]:
            raise ValueError(f"its first line does not begin with {study.columns.names[0]}")
        # An earlier version may have had fewer columns, a later one more.
        missing = [c for c in study.columns.names if c not in (names or study.columns.names)]
        if missing and (strange := [n for n in names if n not in study.columns.names]):
            raise ValueError(f"it has a column '{strange[0]:.30}', and none '{missing[0]}'")
        if path.exists() and not names:
            raise ValueError("not even its first line is whole")
        rows, known = [], set()
        for given in table:
            row = typed(given, study)
            if row and (key := _key(row)) in known:
                row = None
            elif row:
                known.add(key)
                check(row, records, study)
            rows.append(row)
        rows += [None] if torn.strip("\0\r ") else []
    except (csv.Error, ArithmeticError, OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or e
        raise BenchError(
            "STL-OUT-008", f"this is no table of results: {why}", f"{path}:{table.line_num or 1}",
            "take it from a copy of the run, or run again", USAGE,
        ) from None  # fmt: skip
    return rows


def _key(row: dict) -> tuple:
    """By which a row is told from others; all of it, in a study whose rows are of no execution."""
    return tuple(row[c] for c in _KEY) if "execution" in row else tuple(row.values())


def check(row: dict, records: dict[tuple[str, str], dict], study: Study) -> None:
    """ValueError if a row can't be, or is of nothing that was run (executions by sequence and
    name)."""
    _check_possible(row, study.columns)
    _check_asked(row, records, study)


def _check_possible(row: dict, columns: Columns) -> None:
    """ValueError if a figure or count can't be, or what was sent is not what became of it."""
    for name in columns.names:
        if name in columns.texts or (value := row[name]) is None:
            continue
        if not math.isfinite(value):
            raise ValueError("it has a figure that is not finite")
        if value < 0 and not columns.signed:
            raise ValueError(f"{name} is {value}")
    sent, *became = (row.get(c, 0) for c in ("sent", "received", "lost", "conflated"))
    if sent is not None and None not in became[:2] and sent != sum(n or 0 for n in became):
        raise ValueError(f"{sent} sent is not what came, was replaced and was lost: {became}")


def _check_asked(row: dict, records: dict[tuple[str, str], dict], study: Study) -> None:
    """ValueError if a row is of nothing that was run, or otherwise: no figure could say of what it
    is."""
    if "execution" not in row:
        return  # of a study whose rows are of no execution
    at = row["sequence"], row["execution"]
    where = f"'{'/'.join(at):.100}'"
    if at not in records:
        raise ValueError(f"run.json has no execution {where}")
    if not (tests := records[at]["tests"]):
        return  # as an earlier version wrote it down
    if (test := tests.get(str(row["test"]))) is None:
        raise ValueError(f"run.json has no test {row['test']} of {where}")
    most = {"sample": test["samples"], "pair": test.get("pairs") or records[at]["pairs"]}
    for name, count in most.items():
        if not 1 <= row[name] <= count:
            raise ValueError(f"run.json has no {name} {row[name]} of test {row['test']} of {where}")
    asked = {study.names.get(k, k): v for k, v in study.settled(test).items()}
    for name in study.asked:
        value = asked.get(name)
        if value is not None and name in row and row[name] not in (value, None):
            raise ValueError(f"{name} is {row[name]!r:.50}, and run.json has {value!r:.50}")


def typed(row: dict, study: Study) -> dict | None:
    """A row of a table with numbers for numbers; None for one that is not whole."""
    try:
        # A run of an earlier version may lack a column.
        return {c: _value(row[c], c, study) if c in row else None for c in study.columns.names}
    except (KeyError, TypeError, ValueError):
        return None


def _value(text: str, column: str, study: Study) -> str | float | int | None:
    if column in study.columns.texts:
        return text
    if column in study.columns.figures:
        return float(text) if text else None
    return int(text)


def timed(row: dict, found: dict[int, np.ndarray], of: str) -> np.ndarray:
    """The times of a sample, by its number; BenchError if there is not one of each that was sent.
    `of`: what they are times of."""
    mine = found.get(row["sample"], np.empty(0))
    if len(mine) != row["sent"]:
        what = f"sample {row['sample']} of test {row['test']} has {row['sent']} {of}, but "
        raise BenchError("STL-RUN-009", what + f"{len(mine)} times are saved")
    return mine
