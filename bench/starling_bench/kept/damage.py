"""Files of raw values that are not as they were written: told as one message, which leaves a test
out of a report, and by `resume` has it measured anew.
"""

import contextlib
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ..errors import BenchError
from ..outside import line_of, open_file

DAMAGED = "STL-OUT-007"
# How every table of these is written: what is damaged later is found out.
CHECKED = {"compression": "zstd", "write_page_checksum": True}
_WHY_MAX = 500  # characters of what a library says
_SEAL = "crc32:"


def damaged(what: str, path: Path) -> BenchError:
    do = "take it from a copy of the run, or `resume` the run, which measures its test anew"
    return BenchError(DAMAGED, what, str(path), do)


@contextlib.contextmanager
def reading(path: Path, of: str) -> Iterator[None]:
    """Whatever a library has against a table of these becomes that message; what the system has
    against it stays an OSError."""
    try:
        yield
    except BaseException as e:
        # A panic of a library in Rust is no Exception.
        of_library = isinstance(e, Exception) or type(e).__name__ == "PanicException"
        if not of_library or isinstance(e, BenchError) or getattr(e, "errno", None):
            raise
        why = line_of(str(e))[:_WHY_MAX].rstrip(".")
        raise damaged(f"this is no table of {of}: {why}", path) from None


def table(path: Path, schema, of: str):
    """A table (pyarrow's) of these, with a value in every place."""
    import pyarrow.parquet as parquet  # it takes a while to load, and most commands need none

    # By its name it could not be one that is no UTF-8.
    with reading(path, of), open_file(path) as file:
        # In this thread alone: one of Arrow's may still hold the file when it has been read, and
        # ends the process if it lets go of it while that exits.
        whole = parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)
        found = whole.read(use_threads=False)
        found = found.select(schema.names).cast(schema)
    if lacking := [name for name in found.column_names if found[name].null_count]:
        raise damaged(f"this is no table of {of}: a value of '{lacking[0]}' is missing", path)
    return found


@lru_cache(maxsize=256)
def verify(path: Path, stamp: int, of: str) -> None:
    """BenchError if a table is not as it was written, for those that others read; part by part, as
    it may be larger than memory. Once for each file, which `stamp` (ns) is of."""
    import pyarrow.parquet as parquet

    with reading(path, of), open_file(path) as file:
        whole = parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)
        for _ in whole.iter_batches(batch_size=1 << 18, use_threads=False):
            pass


def sealed(text: str) -> str:
    """What a table's head is to say, where checksums of its pages do not reach, with one of its
    own."""
    return f"{_SEAL}{zlib.crc32(text.encode()):08x} {text}"


def head(path: Path, key: str, of: str) -> str | None:
    """What a table's head says under this key, its only one, None where it says nothing; BenchError
    if it is not as it was sealed. What an earlier version wrote has no seal."""
    import pyarrow.parquet as parquet

    with reading(path, of), open_file(path) as file:
        told = dict(parquet.read_schema(file).metadata or {})
        text = told.pop(key.encode(), b"").decode()
        whole = text.partition(" ")[2] if text.startswith(_SEAL) else None
        if told or (whole is not None and sealed(whole) != text):
            raise damaged(f"the head of this table of {of} is not as it was written", path)
        return (text if whole is None else whole) or None
