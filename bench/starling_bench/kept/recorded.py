"""What run.json must be like to be read, whoever wrote it."""

import zlib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import USAGE, BenchError
from ..fields import SCALE_MAX, Strict
from ..outside import write_json

# Also the name of a folder, which is below the run's.
_Name = Annotated[str, Field(pattern=r"^[^/\x00]+$")]
_SEAL = "tests_crc32"
_Number = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]


class _Lax(BaseModel):
    """What a later version or a study adds is left as it is."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Test(_Lax):
    """What any study's has; `tests` looks at the rest."""

    samples: Annotated[int, Field(ge=0)] = 0


class _Way(_Lax):
    by: str
    reliable: bool


class _Pairs(_Way):
    sender: str
    receiver: str


class _Manager(_Lax):
    samples: Annotated[int, Field(ge=1)]
    cpu_s: float
    most_s: float


class _Clock(_Lax):
    step_ns: float = 0
    reading_ns: float = 0


class _Execution(_Lax):
    sequence: _Name
    execution: _Name
    rti: str
    state: str
    message: str
    problems: dict[_Number, str]
    tests: dict[_Number, _Test] = {}
    pairs: int = 1
    round_of: str = ""
    sequence_of: str = ""
    adapter: str = ""
    cpus: str = ""
    hosts: str = ""
    captured: list[str] = []
    bundling: bool = True
    way: _Way | None = None
    ways: dict[_Number, list[_Pairs]] = {}
    rti_kb: dict[_Number, Annotated[list[int], Field(min_length=2, max_length=2)]] = {}
    libraries: dict[str, str] = {}
    clock: _Clock | None = None
    found: dict[str, dict] = {}


class _Run(_Lax):
    study: str = ""
    started: str
    machine: dict
    executions: list[_Execution]
    notes: list[str] = []
    commit: str = "unknown"
    tsf_text: str = ""
    file: Annotated[str, Field(pattern=r"^[^\x00]*$")] = ""
    scale: Annotated[float, Field(gt=0, le=SCALE_MAX)] = 1.0
    rti_root: str | None = None
    manager: _Manager | None = None
    found: dict | None = None


def sealed(record: dict) -> dict[str, str]:
    """What an execution's record has to find out damage to its tests by: figures hang on their
    fields, and no row has all of these."""
    tests = write_json(record.get("tests", {}), sort_keys=True)
    return {_SEAL: f"{zlib.crc32(tests.encode()):08x}"}


def check(run: object, path: Path, program: str) -> None:
    """BenchError if it is no run's, of a study whose federates are of this program; what may be
    missing is there afterwards."""
    try:
        _Run.model_validate(run)
        why = ""
        if any(e[k] in (".", "..") for e in run["executions"] for k in ("sequence", "execution")):
            why = "a name that is none"
        if not isinstance(run.get(program), str | None):
            why = f"{program}: it is no text"
        for e in run["executions"]:
            # An earlier version had none.
            if _SEAL in e and {_SEAL: e[_SEAL]} != sealed(e):
                why = f"the tests of {e['sequence']}/{e['execution']} are not as they were written"
    except ValidationError as e:
        why = _first(e)
    if why:
        raise refused(why, path)
    for name, value in (("notes", []), ("file", ""), ("scale", 1.0)):
        run.setdefault(name, value)
    for execution in run["executions"]:
        execution.setdefault("pairs", 1)
        execution.setdefault("tests", {})


def tests(run: dict, path: Path, single: type[Strict], before: dict[str, object]) -> None:
    """BenchError if a test of a run that was checked is none of a study's, as these are after
    expansion. Fields that came later have afterwards what they had `before` there were any, or
    their defaults."""
    for execution in run["executions"]:
        for number, test in execution["tests"].items():
            at = f"{execution['sequence']}/{execution['execution']} test {number}"
            # Of an earlier version it may lack a field, and of a later one have another.
            lacking = single.model_fields.keys() - test
            if lacking and (strange := test.keys() - single.model_fields):
                why = f"it has a field '{min(strange):.50}', and no '{min(lacking)}'"
                raise refused(f"{at}: {why}", path)
            given = {k: v for k, v in (before | test).items() if k in single.model_fields}
            try:
                made = single.model_validate(given)
            except ValidationError as e:
                raise refused(f"{at}, {_first(e)}", path) from None
            # Some a study makes of others.
            if strange := [k for k, v in given.items() if getattr(made, k) != v]:
                raise refused(f"{at}, {strange[0]}: it is not as its other fields have it", path)
            test.update(made.model_dump() | test)
        if _SEAL in execution:
            execution |= sealed(execution)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    of = getattr(first.get("ctx", {}).get("error"), "args", ())  # what, and what to do
    what = of[0] if len(of) == 2 else first["msg"]
    return f"{'.'.join(map(str, first['loc'])) or 'all of it'}: {what}"


def refused(why: str, path: Path) -> BenchError:
    """A damaged record of a run."""
    return BenchError(
        "STL-OUT-008", f"this is not as a run is recorded: {why}", str(path),
        "take it from a copy of the run, or run again", USAGE,
    )  # fmt: skip
