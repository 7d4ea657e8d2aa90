"""The test sequence format (TSF): TOML, read into checked models.

A file holds one or more sequences; a sequence holds federates, pairs and one or more federation
executions; an execution holds tests. A field of a test may be a list: every combination runs.
"""

import difflib
import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

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
    outstanding_max: Annotated[int, Field(ge=0)] = 0
    tick_min_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.001
    tick_max_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.01
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
    samples: Samples = 5
    queued_bytes_max: Positive = 65536
    queued_updates_max: Positive = 1000
    outstanding_max: Annotated[int, Field(ge=0)] = 0
    tick_min_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.001
    tick_max_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.01
    mode_tolerance_ms: Seconds = 0.005

    def expand(self) -> Iterator[Test]:
        """Every combination, the last field changing fastest."""
        fields = self.model_dump()
        lists = [v if isinstance(v, list) else [v] for v in fields.values()]
        for values in itertools.product(*lists):
            yield Test(**dict(zip(fields, values, strict=True)))


class Execution(Strict):
    """One federation execution and its tests, in order."""

    name: Name
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

    @model_validator(mode="after")
    def consistent(self) -> "Rti":
        if self.server and not self.server_ready and self.server_port is None:
            raise ValueError(
                "how to see that the server is ready is missing; add server_ready (what it says) "
                "or server_port (where it listens)"
            )
        return self


class Sequence(Strict):
    """One test sequence."""

    name: Name
    rti: Rti = Rti()
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

    @model_validator(mode="after")
    def consistent(self) -> "Sequence":
        names = [f.name for f in self.federate]
        twice = [n for n, count in Counter(names).items() if count > 1]
        if twice:
            raise ValueError(f"federate '{twice[0]}' is named twice")
        for what, name in [("master", self.master)] + [
            (role, getattr(p, role)) for p in self.pair for role in ("sender", "receiver")
        ]:
            if name not in names:
                raise ValueError(f"{what} '{name}' is not among the federates {', '.join(names)}")
        for pair in self.pair:
            if pair.sender == pair.receiver:
                raise ValueError(f"federate '{pair.sender}' can't be paired with itself")
        idle = set(names) - {self.master} - {n for p in self.pair for n in (p.sender, p.receiver)}
        if idle:
            raise ValueError(f"federate '{min(idle)}' is in no pair")
        executions = [e.name for e in self.execution]
        if len(set(executions)) < len(executions):
            raise ValueError("two executions have the same name")
        for execution in self.execution:
            for test in execution.tests():
                need = len(self.pair) * test.types
                if need > CLASSES_PER_TRANSPORT:
                    raise ValueError(
                        f"{len(self.pair)} pairs of {test.types} types need {need} classes; "
                        f"the FOM has {CLASSES_PER_TRANSPORT} per transportation"
                    )
        return self


class File(Strict):
    """A test sequence file."""

    sequence: Annotated[list[Sequence], Field(min_length=1)]

    @model_validator(mode="after")
    def consistent(self) -> "File":
        names = [s.name for s in self.sequence]
        if len(set(names)) < len(names):
            raise ValueError("two sequences have the same name")
        return self


def load(path: Path) -> File:
    """Reads a TSF; BenchError names field, file and line."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise BenchError(
            "STL-TSF-001",
            f"can't read the test sequence file: {reason}",
            str(path),
            exit_code=USAGE,
        ) from None
    except tomllib.TOMLDecodeError as e:
        raise BenchError(
            "STL-TSF-002", f"not valid TOML: {e}", str(path), exit_code=USAGE
        ) from None
    try:
        return File.model_validate(data)
    except ValidationError as e:
        raise _explain(e, path, text) from None


def _explain(error: ValidationError, path: Path, text: str) -> BenchError:
    """The first fault, in the user's words; an unknown field first, as it may cause the others."""
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    field_of = [_written_loc(e["loc"], e["type"] == "extra_forbidden") for e in errors]
    # Of the alternatives of one field (a value or a list), the one that fitted longest speaks.
    same = [e for e, loc in zip(errors, field_of, strict=True) if loc == field_of[0]]
    first, loc = max(same, key=lambda e: len(e["loc"])), field_of[0]
    lines = _lines(text)
    line = next((lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in lines), None)
    where = f"{path}:{line}" if line else str(path)
    field = loc[-1] if loc else "file"
    table = ".".join(str(p) for p in loc[:-1] if isinstance(p, str)) or "the file"
    if first["type"] == "extra_forbidden":
        known = _known_fields(loc[:-1])
        near = difflib.get_close_matches(str(field), known, n=1, cutoff=0.4)
        do = f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(known)}"
        return BenchError("STL-TSF-003", f"unknown field '{field}' in {table}", where, do, USAGE)
    if first["type"] == "missing":
        return BenchError(
            "STL-TSF-004", f"field '{field}' is missing in {table}", where, f"add '{field}'", USAGE
        )
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] == "value_error" else f", got {first['input']!r}"
    name = next((p for p in reversed(loc) if isinstance(p, str)), "file")
    return BenchError("STL-TSF-005", f"{name}: {message}{given}", where, exit_code=USAGE)


def _written_loc(loc: tuple, unknown_field: bool) -> tuple:
    """The location as the file has it: without what pydantic adds for a choice of types."""
    written: list = []
    model: type[Strict] | None = File
    for part in loc[:-1] if unknown_field else loc:
        if isinstance(part, str):
            if model is None or part not in model.model_fields:
                break
            model = _CHILDREN.get(part)
        written.append(part)
    return (*written, loc[-1]) if unknown_field else tuple(written)


_CHILDREN: dict[str, type[Strict]] = {
    "sequence": Sequence,
    "rti": Rti,
    "federate": Federate,
    "pair": Pair,
    "execution": Execution,
    "test": TestSpec,
}


def _known_fields(table: tuple) -> list[str]:
    names = [p for p in table if isinstance(p, str)]
    model = _CHILDREN[names[-1]] if names else File
    return list(model.model_fields)


def _lines(text: str) -> dict[tuple, int]:
    """Line numbers by location, for tables and keys written one per line."""
    found: dict[tuple, int] = {}
    current: tuple = ()
    counts: Counter = Counter()
    for number, line in enumerate(text.splitlines(), 1):
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
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            parts = tuple(p.strip("\"'") for p in key[1].split("."))
            found.setdefault(current + parts, number)
    return found
