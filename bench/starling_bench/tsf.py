"""The test sequence format (TSF): TOML, read into checked models.

A file holds one or more sequences; a sequence holds federates, pairs and one or more federation
executions; an execution holds tests. A field of a test may be a list: every combination runs. RTIs
are defined once ([[rti]]), a sequence names one or several: it then runs on each.
"""

import difflib
import itertools
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import USAGE, BenchError

CLASSES_PER_TRANSPORT = 16
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1)]
Kind = Literal["OWOT", "OWIT", "RTOL", "RTIL"]
Transport = Literal["reliable", "best_effort"]
# What bmfed takes.
Samples = Annotated[int, Field(ge=1, le=10_000)]
Instances = Annotated[int, Field(ge=1, le=1_000_000)]
LoopVersion = Annotated[int, Field(ge=1, le=3)]
BufferBytes = Annotated[int, Field(ge=8, le=1 << 30)]
Buffers = Annotated[int, Field(ge=1, le=32)]
Outstanding = Annotated[int, Field(ge=0)]
Tick = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Types = Annotated[int, Field(ge=1, le=CLASSES_PER_TRANSPORT)]


class Strict(BaseModel):
    """No field is ignored, no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Federate(Strict):
    """One federate and where it runs."""

    name: Name
    host: str = "localhost"
    command: list[str] | None = None


class Pair(Strict):
    """Sender and receiver (throughput) or sender and returnee (latency)."""

    sender: Name
    receiver: Name


class Test(Strict):
    """One test after expansion."""

    kind: Kind
    transport: Transport = "reliable"
    loop_version: LoopVersion = 1
    types: Types = 1
    instances: Instances = 1
    buffers: Buffers = 1
    buffer_bytes: BufferBytes = 8
    updates: Positive = 1000
    samples: Samples = 5
    queued_bytes_max: Positive = 65536
    queued_updates_max: Positive = 1000
    outstanding_max: Outstanding = 0
    tick_min_s: Tick = 0.001
    tick_max_s: Tick = 0.01
    mode_tolerance_ms: Seconds = 0.005

    @property
    def latency(self) -> bool:
        return self.kind in ("RTOL", "RTIL")

    def argument(self, number: int) -> str:
        """The test as bmfed's --test wants it."""
        fields = {
            "number": number,
            "kind": self.kind,
            "transport": self.transport,
            "loop": self.loop_version,
            "types": self.types,
            "instances": self.instances,
            "buffers": self.buffers,
            "bytes": self.buffer_bytes,
            "updates": self.updates,
            "samples": self.samples,
            "queued_bytes_max": self.queued_bytes_max,
            "queued_updates_max": self.queued_updates_max,
            "outstanding_max": self.outstanding_max,
            "tick_min": self.tick_min_s,
            "tick_max": self.tick_max_s,
        }
        return json.dumps(fields)


class TestSpec(Strict):
    """A test as written: each field a value or a list of values."""

    kind: Kind | list[Kind]
    transport: Transport | list[Transport] = "reliable"
    loop_version: LoopVersion | list[LoopVersion] = 1
    types: Types | list[Types] = 1
    instances: Instances | list[Instances] = 1
    buffers: Buffers | list[Buffers] = 1
    buffer_bytes: BufferBytes | list[BufferBytes] = 8
    updates: Positive | list[Positive] = 1000
    samples: Samples | list[Samples] = 5
    queued_bytes_max: Positive | list[Positive] = 65536
    queued_updates_max: Positive | list[Positive] = 1000
    outstanding_max: Outstanding | list[Outstanding] = 0
    tick_min_s: Tick | list[Tick] = 0.001
    tick_max_s: Tick | list[Tick] = 0.01
    mode_tolerance_ms: Seconds = 0.005

    def lists(self) -> dict[str, list]:
        return {k: v if isinstance(v, list) else [v] for k, v in self}

    def count(self) -> int:
        """How many tests it stands for."""
        return math.prod(len(values) for values in self.lists().values())

    def expand(self) -> Iterator[Test]:
        """Every combination, the last field changing fastest."""
        fields = self.lists()
        for values in itertools.product(*fields.values()):
            yield Test(**dict(zip(fields, values, strict=True)))


class Execution(Strict):
    """One federation execution and its tests, in order."""

    name: Name
    federation: str | None = None  # the federation execution's name; else made of both names
    test: Annotated[list[TestSpec], Field(min_length=1)]

    def tests(self) -> list[Test]:
        return [test for spec in self.test for test in spec.expand()]


class Rti(Strict):
    """The RTI implementation to measure and how to reach it."""

    adapter: str = "starling"
    root: str | None = None
    local_settings: str = ""
    env: dict[str, str] = {}
    server: list[str] = []
    server_ready: str = ""
    server_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    bundling_off_env: dict[str, str] = {}


class NamedRti(Rti):
    """An RTI that sequences name."""

    name: Name


class Sequence(Strict):
    """One test sequence."""

    name: Name
    rti: Rti | Name | list[Name] = Rti()
    rtiexec_host: str = "localhost"
    bundling: bool = True
    fom: str
    command: list[str] = ["bmfed"]
    directory: str | None = None
    join_timeout_s: Seconds = 30.0
    data_timeout_s: Seconds = 10.0
    loss_timeout_s: Seconds = 1.0
    master: Name
    federate: Annotated[list[Federate], Field(min_length=2)]
    pair: Annotated[list[Pair], Field(min_length=1)]
    execution: Annotated[list[Execution], Field(min_length=1)]


class File(Strict):
    """A test sequence file."""

    include: list[str] = []
    rti: list[NamedRti] = []
    sequence: Annotated[list[Sequence], Field(min_length=1)]


class _Included(File):
    sequence: list[Sequence] = []


# ---- faults between fields

TESTS_MAX = 10_000
Loc = tuple[str | int, ...]
Fault = tuple[Loc, str, str]  # where, what, what to do


def _twice(values: list) -> int | None:
    """The index of the first value that was there before."""
    return next((i for i, v in enumerate(values) if v in values[:i]), None)


def _faults(file: File) -> Iterator[Fault]:
    for what, tables in (("RTIs", file.rti), ("sequences", file.sequence)):
        i = _twice([t.name for t in tables])
        if i is not None:
            table = "rti" if what == "RTIs" else "sequence"
            yield (table, i, "name"), f"two {what} are named '{tables[i].name}'", "rename one"
    for i, rti in enumerate(file.rti):
        yield from _rti_faults(("rti", i), rti)
    for i, sequence in enumerate(file.sequence):
        yield from _sequence_faults(("sequence", i), sequence, [r.name for r in file.rti])


def _too_many(file: File) -> Fault | None:
    """More tests than anybody wants by mistake; found without making any."""
    counts = {
        ("sequence", i, "execution", e, "test", t): test.count() * _rtis(sequence)
        for i, sequence in enumerate(file.sequence)
        for e, execution in enumerate(sequence.execution)
        for t, test in enumerate(execution.test)
    }
    count = sum(counts.values())
    if count <= TESTS_MAX:
        return None
    what = f"{count:,} tests, more than {TESTS_MAX:,}"
    return max(counts, key=lambda loc: counts[loc]), what, "shorten lists, or give --long"


def _rtis(sequence: Sequence) -> int:
    return len(sequence.rti) if isinstance(sequence.rti, list) else 1


def _rti_faults(at: Loc, rti: Rti) -> Iterator[Fault]:
    if rti.server and not rti.server_ready and rti.server_port is None:
        yield (
            (*at, "server"),
            "how to see that the server is ready is not said",
            "add server_ready (what it says) or server_port (where it listens)",
        )


def _sequence_faults(at: Loc, sequence: Sequence, known: list[str]) -> Iterator[Fault]:
    if isinstance(sequence.rti, Rti):
        yield from _rti_faults((*at, "rti"), sequence.rti)
    else:
        named = sequence.rti if isinstance(sequence.rti, list) else [sequence.rti]
        if not named:
            yield (*at, "rti"), "the list is empty", "name an RTI"
        for n, name in enumerate(named):
            where = (*at, "rti", n) if isinstance(sequence.rti, list) else (*at, "rti")
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
                do = f"did you mean '{near[0]}'?" if near else "define it with [[rti]]"
                yield where, f"there is no RTI '{name}'", do
            elif name in named[:n]:
                yield where, f"RTI '{name}' is named twice", "remove one"
    names = [f.name for f in sequence.federate]
    if (i := _twice(names)) is not None:
        yield (*at, "federate", i, "name"), f"two federates are named '{names[i]}'", "rename one"
    here = f"the federates are {', '.join(names)}"
    if sequence.master not in names:
        yield (*at, "master"), f"there is no federate '{sequence.master}'", here
    for p, pair in enumerate(sequence.pair):
        for role in ("sender", "receiver"):
            if getattr(pair, role) not in names:
                what = f"there is no federate '{getattr(pair, role)}'"
                yield (*at, "pair", p, role), what, here
        if pair.sender == pair.receiver:
            what = f"federate '{pair.sender}' sends to itself"
            yield (*at, "pair", p, "receiver"), what, "name another federate"
    if (p := _twice(sequence.pair)) is not None:
        pair = sequence.pair[p]
        what = f"the pair of '{pair.sender}' and '{pair.receiver}' is there twice"
        yield (*at, "pair", p), what, "remove one"
    paired = {sequence.master} | {n for p in sequence.pair for n in (p.sender, p.receiver)}
    for i, name in enumerate(names):
        if name not in paired:
            what = f"federate '{name}' is in no pair"
            yield (*at, "federate", i), what, "remove it, or add a [[sequence.pair]]"
    executions = [e.name for e in sequence.execution]
    if (i := _twice(executions)) is not None:
        what = f"two executions are named '{executions[i]}'"
        yield (*at, "execution", i, "name"), what, "rename one"
    for e, execution in enumerate(sequence.execution):
        for t, test in enumerate(execution.test):
            where = (*at, "execution", e, "test", t)
            yield from _test_faults(where, test, len(sequence.pair))


def _test_faults(at: Loc, test: TestSpec, pairs: int) -> Iterator[Fault]:
    for field, value in test:
        if value == []:
            yield (*at, field), "the list is empty", "give a value, or leave the field out"
        elif isinstance(value, list) and (i := _twice(value)) is not None:
            yield (*at, field, i), f"{value[i]!r} is in the list twice", "remove one"
    fields = test.lists()
    if not all(fields.values()):
        return
    low, high = max(fields["tick_min_s"]), min(fields["tick_max_s"])
    if low > high:
        field = "tick_min_s" if "tick_min_s" in test.model_fields_set else "tick_max_s"
        what = f"tick_min_s ({low:g}) is more than tick_max_s ({high:g})"
        yield (*at, field), what, "make tick_max_s the longer one"
    need = pairs * max(fields["types"])
    if need > CLASSES_PER_TRANSPORT:
        yield (
            (*at, "types") if "types" in test.model_fields_set else at,
            f"{pairs} pairs of {max(fields['types'])} types need {need} classes; the FOM has "
            f"{CLASSES_PER_TRANSPORT} per transportation",
            "take fewer pairs or types",
        )


# ---- reading


def load(path: Path, long: bool = False) -> File:
    """Reads a TSF with what it includes; BenchError names field, file and line. Each sequence has
    its RTI, and its paths are absolute."""
    file = _read(path, long, ())
    named = {rti.name: rti for rti in file.rti}
    sequences = []
    for sequence in file.sequence:
        if isinstance(sequence.rti, Rti):
            sequences.append(sequence)
            continue
        several = isinstance(sequence.rti, list)
        for name in sequence.rti if several else [sequence.rti]:
            title = f"{sequence.name}.{name}" if several else sequence.name
            sequences.append(sequence.model_copy(update={"name": title, "rti": named[name]}))
    return file.model_copy(update={"sequence": sequences})


def _read(path: Path, long: bool, above: tuple[Path, ...]) -> File:
    text = _text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        what, _, at = str(e).rpartition(" (at ")
        line = re.match(r"line (\d+)", at)
        where = f"{path}:{line[1]}" if line else f"{path}:{len(text.splitlines())}"
        raise BenchError("STL-TSF-002", f"not valid TOML: {what}", where, exit_code=USAGE) from None
    lines = _lines(text)

    def fail(loc: Loc, what: str, do: str, code: str = "STL-TSF-005") -> BenchError:
        line = next((lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in lines), None)
        return BenchError(code, what, f"{path}:{line}" if line else str(path), do, USAGE)

    included = []
    for i, name in enumerate(data.get("include") or []):
        other = (path.parent / str(name)).resolve()
        if other in (*above, path.resolve()):
            raise fail(("include", i), f"'{name}' includes itself", "remove it")
        if not other.is_file():
            raise fail(("include", i), f"there is no file '{name}'", "correct the name")
        included.append(_read(other, True, (*above, path.resolve())))
    try:
        # A file that includes others needs no sequence of its own.
        alone = not included or "sequence" in data
        file = (File if alone else _Included).model_validate(data)
    except ValidationError as e:
        raise _explain(e, fail) from None
    base = path.resolve().parent
    file = file.model_copy(
        update={
            "rti": [_absolute(r, base) for r in file.rti],
            "sequence": [_placed(s, base) for s in file.sequence],
        }
    )
    whole = File.model_construct(
        **{
            "rti": [*file.rti, *(r for f in included for r in f.rti)],
            "sequence": [*file.sequence, *(s for f in included for s in f.sequence)],
        }
    )
    for loc, what, do in _faults(whole):
        raise fail(loc, what, do)
    if not long and (fault := _too_many(whole)):
        raise fail(*fault)
    return whole


def _absolute(rti: Rti, base: Path) -> Rti:
    return rti.model_copy(update={"root": str((base / rti.root).resolve())}) if rti.root else rti


def _placed(sequence: Sequence, base: Path) -> Sequence:
    """With absolute paths: a sequence that is included means those of its own file."""

    def command(given: list[str] | None) -> list[str] | None:
        if not given or "/" not in given[0]:
            return given
        return [str((base / given[0]).resolve()), *given[1:]]

    update: dict = {"fom": str((base / sequence.fom).resolve())}
    update["command"] = command(sequence.command)
    update["federate"] = [
        f.model_copy(update={"command": command(f.command)}) for f in sequence.federate
    ]
    if sequence.directory:
        update["directory"] = str((base / sequence.directory).resolve())
    if isinstance(sequence.rti, Rti):
        update["rti"] = _absolute(sequence.rti, base)
    return sequence.model_copy(update=update)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            what, do = "the test sequence file is UTF-16", "save it as UTF-8"
            raise BenchError("STL-TSF-001", what, f"{path}:1", do, USAGE)
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        what, do = "the test sequence file is not UTF-8", "save it as UTF-8"
        raise BenchError("STL-TSF-001", what, f"{path}:{line}", do, USAGE) from None
    except OSError as e:
        what = f"can't read the test sequence file: {e.strerror}"
        raise BenchError("STL-TSF-001", what, str(path), exit_code=USAGE) from None


# Where a table belongs that stands at the wrong place.
_PLACES = {
    "test": "[[sequence.execution.test]]",
    "execution": "[[sequence.execution]]",
    "federate": "[[sequence.federate]]",
    "pair": "[[sequence.pair]]",
    "sequence": "[[sequence]]",
    "rti": "[[rti]] or [sequence.rti]",
}


def _explain(error: ValidationError, fail) -> BenchError:
    """The first fault, in the user's words; an unknown field first, as it may cause the others."""
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    field_of = [_written_loc(e["loc"], e["type"] == "extra_forbidden") for e in errors]
    loc = field_of[0]
    # Of the alternatives of one field (a value or a list), the one that fits what was written.
    same = [e for e, at in zip(errors, field_of, strict=True) if at[: len(loc)] == loc]
    first = max(same, key=lambda e: (len(_written_loc(e["loc"], False)), e["type"] not in _TYPES))
    if first["type"] != "extra_forbidden":
        loc = _written_loc(first["loc"], False)
    field = next((p for p in reversed(loc) if isinstance(p, str)), "file")
    table = ".".join(str(p) for p in loc[:-1] if isinstance(p, str)) or "the file"
    if first["type"] == "extra_forbidden":
        known = _known_fields(loc[:-1])
        near = difflib.get_close_matches(str(field), known, n=1, cutoff=0.7)
        do = f"known here: {', '.join(known)}"
        if near:
            do = f"did you mean '{near[0]}'?"
        elif field in _PLACES:
            do = f"it belongs at {_PLACES[field]}"
        elif near := difflib.get_close_matches(str(field), known, n=1, cutoff=0.4):
            do = f"did you mean '{near[0]}'?"
        return fail(loc, f"unknown field '{field}' in {table}", do, "STL-TSF-003")
    if first["type"] == "missing":
        return fail(loc, f"field '{field}' is missing in {table}", f"add '{field}'", "STL-TSF-004")
    what, do = _in_words(first)
    return fail(loc, f"{field}: {what}", do)


_TYPES = ("list_type", "model_type", "string_type", "int_type", "literal_error")


def _in_words(error: dict) -> tuple[str, str]:
    """What is wrong with a value, and what to do."""
    value, c = error["input"], error.get("ctx", {})
    given = json.dumps(value, default=str) if not isinstance(value, dict | list) else "this"
    match error["type"]:
        case "string_pattern_mismatch":
            return f"{given} is no name", "use letters, digits, '_', '.' and '-'"
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


def _written_loc(loc: tuple, unknown_field: bool) -> tuple:
    """The location as the file has it: without what pydantic adds for a choice of types."""
    written: list = []
    model: type[Strict] | None = File
    for part in loc[:-1] if unknown_field else loc:
        if isinstance(part, str):
            if model is None or part not in model.model_fields:
                continue
            model = _CHILDREN.get(part)
        written.append(part)
    return (*written, loc[-1]) if unknown_field else tuple(written)


_CHILDREN: dict[str, type[Strict]] = {
    "sequence": Sequence,
    "rti": NamedRti,
    "federate": Federate,
    "pair": Pair,
    "execution": Execution,
    "test": TestSpec,
}


def _known_fields(table: tuple) -> list[str]:
    names = [p for p in table if isinstance(p, str)]
    model = _CHILDREN[names[-1]] if names else File
    return list(model.model_fields)


_OPENS = {"[": "]", "{": "}"}


def _lines(text: str) -> dict[Loc, int]:
    """Line numbers by location: tables, keys, and the items of lists. The text is valid TOML."""
    found: dict[Loc, int] = {}
    current: Loc = ()
    counts: Counter = Counter()
    rows = text.splitlines()
    number = 0
    while number < len(rows):
        line = rows[number]
        number += 1
        if header := re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?$", line):
            array = line.lstrip().startswith("[[")
            names = [n.strip().strip("\"'") for n in header[1].split(".")]
            current = ()
            for depth, name in enumerate(names):
                current += (name,)
                last = depth == len(names) - 1
                found.setdefault(current, number)
                if array and last:
                    current += (counts[current],)
                    counts[current[:-1]] += 1
                elif counts[current]:
                    current += (counts[current] - 1,)
                found.setdefault(current, number)
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=\s*", line):
            at = current + tuple(p.strip("\"'") for p in key[1].split("."))
            found.setdefault(at, number)
            number += _items(rows, number - 1, key.end(), at, found)
    return found


def _items(rows: list[str], row: int, column: int, at: Loc, found: dict[Loc, int]) -> int:
    """Notes the lines of a value's items; how many further lines the value takes."""
    text = "\n".join([rows[row][column:], *rows[row + 1 :]])
    closing: list[str] = []
    item, line, i, fresh = 0, row + 1, 0, True
    while i < len(text):
        c = text[i]
        if c == "\n":
            line += 1
            if not closing:
                break
        elif c == "#":
            i = text.find("\n", i)
            if i < 0:
                break
            continue
        elif c in "\"'":
            mark = c * 3 if text.startswith(c * 3, i) else c
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            end = i + len(mark)
            while end < len(text) and not text.startswith(mark, end):
                end += 2 if c == '"' and text[end] == "\\" else 1
            line += text.count("\n", i, end)
            i = end + len(mark)
            continue
        elif c in _OPENS:
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            closing.append(_OPENS[c])
        elif closing and c == closing[-1]:
            closing.pop()
        elif c == "," and len(closing) == 1:
            item, fresh = item + 1, True
        elif not c.isspace() and fresh and len(closing) == 1:
            found.setdefault((*at, item), line)
            fresh = False
        i += 1
    return line - row - 1 - (i < len(text) and text[i] == "\n")


def schema() -> str:
    """The JSON schema of a test sequence file."""
    made = File.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(made, indent=1) + "\n"
