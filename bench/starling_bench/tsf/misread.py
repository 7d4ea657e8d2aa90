"""What is wrong with a test sequence file whose tables are not those of the models, in the user's
words.
"""

import difflib
import json
from collections.abc import Iterator

from pydantic import ValidationError

from ..errors import BenchError
from ..fields import Loc, Strict
from ..machines.network import Host, Hosts, Layout
from ..machines.rti import NamedRti
from ..machines.topology import Federate, Pair
from ..study import Study
from .sequences import Execution, File, Sequence
from .text import TsfText

# Where a table belongs that stands at the wrong place.
_PLACES = {
    "test": "[[sequence.execution.test]]",
    "execution": "[[sequence.execution]]",
    "federate": "[[sequence.federate]]",
    "pair": "[[sequence.pair]]",
    "layout": "[[sequence.layout]]",
    "host": "[[host]]",
    "sequence": "[[sequence]]",
    "rti": "[[rti]] or [sequence.rti]",
}
# Of an alternative that is of another type altogether.
_TYPES = ("list_type", "model_type", "string_type", "int_type", "literal_error")
# What an unknown field may be the cause of.
_CAUSED = ("missing", "list_type", "model_type", "model_attributes_type", "dict_type")


class Misread:
    """Tells what is wrong with the tables of a study's file."""

    def __init__(self, study: Study, text: TsfText) -> None:
        self._text = text
        self._tables: dict[str, type[Strict]] = {
            "sequence": Sequence,
            "rti": NamedRti,
            "host": Host,
            "hosts": Hosts,
            "layout": Layout,
            "federate": Federate,
            "pair": Pair,
            "execution": Execution,
            "test": study.spec,
        }

    def explain(self, error: ValidationError) -> Iterator[BenchError]:
        """Each fault, an unknown field first, as it may be one that is missing, or a table at the
        wrong place: then these are not told; else all that are missing are one."""
        left = [
            (e, self._written(e["loc"], e["type"] == "extra_forbidden"))
            for e in sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        ]
        unknown = left[0][0]["type"] == "extra_forbidden"
        if unknown:
            left = [(e, at) for e, at in left if e["type"] not in _CAUSED]
        while left:
            told, loc = self._first(left)
            yield told
            left = [
                (e, at) for e, at in left
                if at[: len(loc)] != loc[: len(at)]
                and not (e["type"] == "missing" and told.code == "STL-TSF-004")
            ]  # fmt: skip

    def _first(self, errors: list[tuple[dict, Loc]]) -> tuple[BenchError, Loc]:
        """The first of these, or all fields that are missing; and where it is."""
        loc = errors[0][1]
        # Of the alternatives of one field (a value or a list), the one that fits what was written.
        same = [e for e, at in errors if at[: len(loc)] == loc]
        first = max(
            same, key=lambda e: (len(self._written(e["loc"], False)), e["type"] not in _TYPES)
        )
        if first["type"] == "extra_forbidden":
            return self._unknown(loc), loc
        at = self._written(first["loc"], False)
        if first["type"] == "missing":
            missing = [at for e, at in errors if e["type"] == "missing"]
            return self._text.fault(at, *self._missing(missing), "STL-TSF-004"), loc
        what, do = _in_words(first)
        return self._text.fault(at, f"{_field(at)}: {what}", do), loc

    def _unknown(self, loc: Loc) -> BenchError:
        """A field that its table does not have."""
        field, known = _field(loc), self._known(loc[:-1])
        near = difflib.get_close_matches(str(field), known, n=1, cutoff=0.7)
        do = f"known here: {', '.join(known)}"
        if near:
            do = f"did you mean '{near[0]}'?"
        elif field in _PLACES:
            do = f"it belongs at {_PLACES[field]}"
        elif near := difflib.get_close_matches(str(field), known, n=1, cutoff=0.4):
            do = f"did you mean '{near[0]}'?"
        what = f"unknown field '{field}' in {_table(loc)}"
        return self._text.fault(loc, what, do, "STL-TSF-003")

    def _missing(self, fields: list[Loc]) -> tuple[str, str]:
        """What is said of these, and what to do."""
        if len(fields) == 1:
            field = _field(fields[0])
            return f"field '{field}' is missing in {_table(fields[0])}", f"add '{field}'"
        by: dict[Loc, list[str]] = {}
        for loc in fields:
            by.setdefault(loc[:-1], []).append(f"'{loc[-1]}'")
        told = [
            f"{' and '.join(names)} in {_table((*table, ''))} ({self._text.place(table)})"
            for table, names in by.items()
        ]
        return f"{len(fields)} fields are missing: {'; '.join(told)}", "add them"

    def _written(self, loc: tuple, unknown_field: bool) -> Loc:
        """The location as the file has it: without what pydantic adds for a choice of types."""
        written: list = []
        model: type[Strict] | None = File
        for part in loc[:-1] if unknown_field else loc:
            if isinstance(part, str):
                if model is None or part not in model.model_fields:
                    continue
                model = self._tables.get(part)
            written.append(part)
        return (*written, loc[-1]) if unknown_field else tuple(written)

    def _known(self, table: Loc) -> list[str]:
        names = [p for p in table if isinstance(p, str)]
        model = self._tables[names[-1]] if names else File
        return list(model.model_fields)


def _field(loc: Loc) -> str:
    return next((p for p in reversed(loc) if isinstance(p, str)), "file")


def _table(loc: Loc) -> str:
    """The table that has a field."""
    return ".".join(str(p) for p in loc[:-1] if isinstance(p, str)) or "the file"


def _in_words(error: dict) -> tuple[str, str]:
    """What is wrong with a value, and what to do."""
    value, c = error["input"], error.get("ctx", {})
    # Of integers there are such as nobody can read.
    untold = isinstance(value, dict | list) or (isinstance(value, int) and abs(value) >> 64)
    given = "this" if untold else json.dumps(value, default=str)
    match error["type"]:
        case "string_pattern_mismatch":
            return f"{given} is no name", "use letters, digits, '_', '.' and '-'"
        case "string_too_long":
            return f"{given} has more than {c['max_length']} letters", "give a shorter name"
        case "value_error" if len(c["error"].args) == 2:
            return c["error"].args  # what, and what to do
        case "literal_error":
            return f"{given} is not known", f"give {c['expected']}"
        case "greater_than_equal":
            return f"{given} is too small", f"give {c['ge']:,} or more"
        case "greater_than":
            return f"{given} is too small", f"give more than {c['gt']:,}"
        case "less_than_equal":
            return f"{given} is too large", f"give {c['le']:,} or less"
        case "finite_number":
            return f"{given} is no finite number", "give a number"
        case "too_short":
            what = "at least one entry is" if c["min_length"] == 1 else "at least two entries are"
            return f"{what} needed", "add one"
        case "int_type" | "int_from_float":
            return f"{given} is no whole number", "give one, without quotes"
        case "float_type":
            return f"{given} is no number", "give one, without quotes"
        case "bool_type":
            return f"{given} is neither true nor false", "give one of them, without quotes"
        case "string_type":
            return f"{given} is no text", "put it in quotes"
        case "list_type":
            return f"{given} is no list", "put it in brackets: [ ]"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{given} is no table", "write its fields below a header in brackets"
    return f"{error['msg']}, got {given}", ""
