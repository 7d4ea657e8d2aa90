"""The plan of a run: a test sequence file (TOML) with all that it includes, read into checked
models (sequences.py) and multiplied into what runs (turns.py).
"""

import contextlib
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from ..errors import USAGE, BenchError, together
from ..fields import Loc, Placed
from ..kept.store import OWN
from ..machines.network import Host
from ..machines.rti import Rti
from ..study import Study
from .durations import too_many
from .misread import Misread
from .plan_faults import faults
from .sequences import File, Included, Sequence
from .text import TsfText
from .turns import in_turn

# That one file may include, with those that these include.
FILES_MAX = 200


def load(
    path: Path, study: Study, long: bool = False, scale: float = 1, kept: str | None = None
) -> File:
    """Reads a study's TSF with what it includes; BenchError names field, file and line. Each
    sequence has its RTI, and its paths are absolute. `scale` multiplies the size of every test;
    `kept` is what the file said, whatever it says now."""
    file = _read(path, study, long, (), count(1), scale, kept)
    _enlarge(file, study, scale)
    named = {rti.name: rti for rti in file.rti}
    sequences = [one for sequence in file.sequence for one in in_turn(sequence, named, study)]
    _distinct(sequences, study)
    return file.model_copy(update={"sequence": sequences})


def _enlarge(file: File, study: Study, scale: float) -> None:
    for spec in (t for s in file.sequence for e in s.execution for t in e.test):
        study.enlarge(spec, scale)


def _distinct(sequences: list[Sequence], study: Study) -> None:
    """BenchError if two executions are called alike, now that those of each RTI, place, round and
    connection have names of their own: the results of one would be taken for the other's."""
    known: set[tuple[str, str]] = set()
    for sequence in sequences:
        where = sequence.place("name")
        if sequence.name.removesuffix(".tmp") in {*OWN, study.table}:
            what = f"a sequence is named '{sequence.name}', as a file of the run's own"
            raise BenchError("STL-TSF-005", what, where, "take another name", USAGE)
        for execution in sequence.execution:
            key = (sequence.name, execution.name)
            if key in known:
                what = (
                    f"two executions are named '{sequence.name}/{execution.name}', with the words "
                    "for RTI, place, round and connection behind the names in the file"
                )
                do = "rename the sequence, or its execution"
                raise BenchError("STL-TSF-005", what, where, do, USAGE)
            known.add(key)


# ---- reading


def kept_text(run: dict) -> str | None:
    """What the file of a run said when that began; None: that can't be told from what other files
    said, which it included."""
    text = run.get("tsf_text")
    with contextlib.suppress(ValueError, RecursionError):
        return text if text and "include" not in tomllib.loads(text) else None
    return None


def _read(path: Path, study: Study, long: bool, above: tuple[Path, ...], reads: Iterator[int],
          scale: float = 1, kept: str | None = None) -> File:  # fmt: skip
    """A file with all that it includes; those `above` include it, so it may not include them.
    `reads` counts the files that are read: what several include is read for each."""
    text = TsfText(path, kept)
    study.complete(text.tables)
    included = [
        _read(other, study, True, (*above, path.resolve()), reads)
        for other in _others(text, above, reads)
    ]
    try:
        alone = not (included or above) or "sequence" in text.tables
        file = (File if alone else Included)[study.spec].model_validate(text.tables)
    except ValidationError as e:
        raise together(Misread(study, text).explain(e)) from None
    for loc, table in _tables(file):
        fields = {field: text.place((*loc, field)) for field in type(table).model_fields}
        table.placed(fields | {"": text.place(loc)})
    whole = _absolute(file, path.resolve().parent).with_included(
        path.resolve(), text.text, included
    )
    found = (
        BenchError("STL-TSF-005", what, _place(whole, loc) or text.place(loc), do, USAGE)
        for loc, what, do in faults(whole, study)
    )
    if fault := together(found):
        raise fault
    if file.scale != 1:
        _enlarge(whole, study, file.scale)
    if not long and (fault := too_many(whole, study, scale)):
        raise text.fault(*fault)
    return whole


def _others(text: TsfText, above: tuple[Path, ...], reads: Iterator[int]) -> Iterator[Path]:
    """The files that it includes."""
    given = text.tables.get("include")
    # Another value is told of with the fields.
    names = given if isinstance(given, list) and all(isinstance(n, str) for n in given) else []
    for i, name in enumerate(names):
        other = (text.path.parent / name).resolve()
        if other in (*above, text.path.resolve()):
            raise text.fault(("include", i), f"'{name}' includes itself", "remove it")
        if not other.is_file():
            raise text.fault(("include", i), f"there is no file '{name}'", "correct the name")
        if next(reads) > FILES_MAX:
            what = f"'{name}' is one too many: {FILES_MAX} files are included already"
            raise text.fault(("include", i), what, "include each once")
        yield other


def _place(file: File, loc: Loc) -> str:
    """Where a field of a table stands that may be of an included file; "": of another one."""
    match loc:
        case ("rti" | "sequence") as table, int(number), str(field):
            return getattr(file, table)[number].place(field)
    return ""


def _tables(file: File) -> Iterator[tuple[Loc, Placed]]:
    """Every table that a later message may be of, and where it is."""
    yield from ((("rti", i), rti) for i, rti in enumerate(file.rti))
    for i, sequence in enumerate(file.sequence):
        yield ("sequence", i), sequence
        if isinstance(sequence.rti, Rti):
            yield ("sequence", i, "rti"), sequence.rti
        for e, execution in enumerate(sequence.execution):
            for t, test in enumerate(execution.test):
                yield ("sequence", i, "execution", e, "test", t), test


# ---- paths


def _absolute(file: File, base: Path) -> File:
    """With absolute paths: a file that is included means those of its own folder."""
    return file.model_copy(
        update={
            "rti": [_of_rti(rti, base) for rti in file.rti],
            "host": [_of_host(host, base) for host in file.host],
            "sequence": [_of_sequence(sequence, base) for sequence in file.sequence],
        }
    )


def _of_rti(rti: Rti, base: Path) -> Rti:
    update: dict = {"server": _command(rti.server, base)}
    if rti.root:
        update["root"] = str((base / rti.root).resolve())
    if rti.program:
        (update["program"],) = _command([rti.program], base)
    return rti.model_copy(update=update)


def _of_host(host: Host, base: Path) -> Host:
    """With absolute paths of its files here."""
    given = {name: getattr(host, name) for name in ("key", "known_hosts")}
    return host.model_copy(
        update={k: str(base / Path(v).expanduser()) for k, v in given.items() if v is not None}
    )


def _command(given: list[str] | None, base: Path) -> list[str] | None:
    """With the program's path absolute."""
    if not given or "/" not in given[0] or given[0].startswith("{root}"):
        return given
    return [str((base / given[0]).resolve()), *given[1:]]


def _of_sequence(sequence: Sequence, base: Path) -> Sequence:
    """With absolute paths: a sequence that is included means those of its own file."""
    update: dict = {"fom": str((base / sequence.fom).resolve())}
    update["command"] = _command(sequence.command, base)
    update["federate"] = [
        f.model_copy(update={"command": _command(f.command, base)}) for f in sequence.federate
    ]
    if sequence.directory:
        update["directory"] = str((base / sequence.directory).resolve())
    if isinstance(sequence.rti, Rti):
        update["rti"] = _of_rti(sequence.rti, base)
    return sequence.model_copy(update=update)
