"""What came, message by message: raw as it was logged, then as a table.

samples_testN_NAME.raw is what federate NAME heard, as its user interface wrote it while it came;
once the test is over it becomes samples_testN_NAME.parquet. pings_testN_NAME.raw and
facts_testN_NAME.json are what it pinged and counted.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import BenchError, cannot
from ..kept import damage
from ..outside import open_file, read_json, read_text

RAW = np.dtype([("arrived", "<u8"), ("delivery", "<i8"), ("count", "<u4"), ("sender", "<u2"),
                ("test", "<u2")])  # fmt: skip
PING = np.dtype([("to", "<u4"), ("size", "<u4"), *((n, "<u8") for n in
                 ("sent", "there", "back", "came"))])  # fmt: skip
_OF = "what was heard"
_LOG_BYTES = "log_bytes"  # the key under which a table says how large the log was
# Of the ring: one for each update of its own.
_ELEMENTS = 60


def every_ms(hz: float, most: int = 200) -> int:
    """How often a reader looks into the ring of who sends at `hz`: before a third of it is new."""
    return max(1, min(most, int(1000 * _ELEMENTS / 3 / hz)))


class _Wakes(BaseModel):
    turns: int
    late: int
    missed: int
    max_ns: int
    lateness: list[tuple[int, int]]


class _OfClock(BaseModel):
    """What is read of what a federate says of its host's clock."""

    model_config = ConfigDict(strict=True)
    jumped_ns: float = 0
    boot: str = ""
    discipline: list[str] = []


class _OfPublisher(_OfClock):
    publisher: int  # its number; -1: it publishes nothing


class _Heard(BaseModel):
    beyond: int = 0


class _Facts(_OfClock):
    """What is read of a federate's facts."""

    station: int
    scheduling: str
    deadlines: _Wakes
    floor: _Wakes
    thread_s: float
    notice: str = ""
    foreign: int = 0
    heard: dict[str, _Heard] = {}


def file(directory: Path, what: str, test: int, name: str, kind: str) -> Path:
    """Where a federate's log is, as range's `sample_log.hpp` and `pack` name it."""
    return directory / f"{what}_test{test}_{name}.{kind}"


def pack(directory: Path, test: int, name: str) -> None:
    """What was logged, as a table; the log is gone then."""
    import pyarrow
    import pyarrow.parquet as parquet

    raw = file(directory, "samples", test, name, "raw")
    if not raw.exists():
        return
    whole = raw.with_suffix(".parquet")
    fresh = whole.with_suffix(".tmp")
    try:
        found = _records(raw, RAW)
        if whole.exists() and not len(found) and raw.stat().st_size:
            raise damage.damaged("a log without one whole record stands beside a table", raw)
        columns = [found["sender"].astype("u1"), found["count"], found["arrived"],
                   found["delivery"]]  # fmt: skip
        # What the log took while the test ran is said with the table.
        about = {_LOG_BYTES: damage.sealed(str(raw.stat().st_size))}
        schema = _schema().with_metadata(about)
        encodings = {name: "DELTA_BINARY_PACKED" for name in schema.names[1:]}
        parquet.write_table(
            pyarrow.table(columns, schema=schema), fresh,
            use_dictionary=["sender"], column_encoding=encodings, **damage.CHECKED,
        )  # fmt: skip
        fresh.replace(whole)
        raw.unlink()
    except OSError as e:
        raise cannot("write results", e, whole) from None


def logged(directory: Path, test: int, name: str) -> list[str]:
    """What is logged by hand, by sender: how many messages, and where their counts do not go on by
    one, as where logging was off, a message was lost, or its sender began anew."""
    raw = file(directory, "samples", test, name, "raw")
    try:
        found = _records(raw, RAW)
    except FileNotFoundError:
        return ["nothing"]  # the first message makes it
    except OSError as e:
        raise cannot("read what was logged", e, raw) from None
    said = []
    for sender in np.unique(found["sender"]):
        steps = np.diff(found["count"][found["sender"] == sender].astype(np.int64))
        over, back = steps[steps > 1] - 1, np.count_nonzero(steps < 1)
        of = f"federate {sender}: {len(steps) + 1:,} messages"
        said.append(
            f"{of}, {over.sum():,} passed over in {len(over):,} places, {back:,} times back"
        )
    return said or ["nothing"]


def _schema():
    import pyarrow

    return pyarrow.schema(
        [("sender", pyarrow.uint8()), ("count", pyarrow.uint32()),
         ("arrived_ns", pyarrow.uint64()), ("delivery_ns", pyarrow.int64())]
    )  # fmt: skip


def log_bytes(directory: Path, test: int, name: str) -> int:
    """How large a federate's files of a test were on disk while it ran: samples, echoes, facts."""
    pack(directory, test, name)
    path = file(directory, "samples", test, name, "parquet")
    try:
        with damage.reading(path, _OF):
            of_log = int(damage.head(path, _LOG_BYTES, _OF) or 0) if path.exists() else 0
        others = [file(directory, "pings", test, name, "raw"),
                  file(directory, "facts", test, name, "json")]  # fmt: skip
        sizes = [other.stat().st_size for other in others if other.exists()]
    except OSError as e:
        raise cannot("read samples", e, path) from None
    return of_log + sum(sizes)


@lru_cache(maxsize=4)
def _table(path: Path, stamp: int) -> dict[str, np.ndarray]:
    found = damage.table(path, _schema(), _OF)
    return {name: found[name].to_numpy() for name in found.column_names}


def heard(directory: Path, test: int, receiver: str, sender: int) -> dict[str, np.ndarray]:
    """What came of one sender, in order of arrival: count, arrived_ns, delivery_ns."""
    pack(directory, test, receiver)
    path = file(directory, "samples", test, receiver, "parquet")
    try:
        all_ = _table(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return {n: np.empty(0, dtype="i8") for n in ("count", "arrived_ns", "delivery_ns")}
    except OSError as e:
        raise cannot("read samples", e, path) from None
    mine = all_["sender"] == sender
    return {name: all_[name][mine].astype("i8") for name in ("count", "arrived_ns", "delivery_ns")}


def facts(directory: Path, test: int, name: str) -> dict:
    """What a federate counted."""
    path = file(directory, "facts", test, name, "json")
    return _told(path, _Facts, f"what federate '{name}' counted")


def of_clock(path: Path) -> dict:
    """What a publisher or subscriber said of its host's clock in a sample."""
    return _told(path, _OfPublisher, "what a federate said of its clock")


def _told(path: Path, of: type[BaseModel], what: str) -> dict:
    what += " can't be read: "
    try:
        found = read_json(read_text(path))
        if not isinstance(found, dict):
            raise ValueError("these are no facts")
        of.model_validate(found)
        return found
    except OSError as e:
        do = "read the federates' logs there"
        raise BenchError("STL-SMP-001", what + (e.strerror or str(e)), str(path), do) from None
    except ValidationError as e:
        first = e.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise damage.damaged(what + why, path) from None
    except ValueError as e:
        raise damage.damaged(what + str(e), path) from None


def scheduling(asked: str, *facts: dict) -> str:
    """What was in force of it, by the facts of all whom it concerns."""
    realtime = [f["scheduling"].startswith("SCHED_FIFO") for f in facts]
    if asked == "realtime":
        return asked if all(realtime) else "normal (real-time not allowed)"
    return "realtime (normal not allowed)" if any(realtime) else asked


def pings(directory: Path, test: int, name: str) -> np.ndarray:
    """The echoes that a federate heard; none if nobody was pinged."""
    path = file(directory, "pings", test, name, "raw")
    try:
        return _records(path, PING) if path.exists() else np.empty(0, dtype=PING)
    except OSError as e:
        raise cannot("read echoes", e, path) from None


def _records(path: Path, of: np.dtype) -> np.ndarray:
    """What was logged; half a record that who was killed left is cut off."""
    with open_file(path) as log:
        return np.fromfile(log, dtype=of)


def elements_missed(summaries: list[dict]) -> int:
    """How many elements readers missed: each says so of all at once, beside every flow to it."""
    at = ("sequence", "execution", "test", "receiver")
    return sum({tuple(s[k] for k in at): s["elements_missed"] for s in summaries}.values())
