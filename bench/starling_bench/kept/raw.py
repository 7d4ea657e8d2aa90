"""Raw values: every round trip of a test and pair, kept so that all figures can be made anew.

While samples are taken, federates append blocks of values to NAME.raw: a sample's number and a
count as 32-bit integers, then that many 32-bit floats in nanoseconds, all little-endian; a count
with its highest bit set is followed by another block of the sample. Once they have ended that
becomes NAME.parquet (columns `sample`, `ns`), which any tool for tables reads and which takes less
than 4 bytes a value. Where both are there, NAME.raw is the newer one: its test was begun anew, or
who was packing died.
"""

from pathlib import Path

import numpy as np

from ..errors import cannot
from ..outside import open_file
from .damage import CHECKED, damaged, table

# In the count of a block that is not its sample's last.
_MORE = 1 << 31


def path_of(directory: Path, test: int, pair: int) -> Path:
    """Where the federates save them."""
    return directory / f"rtt_test{test}_pair{pair}.raw"


def read(path: Path) -> dict[int, np.ndarray]:
    """Nanoseconds by sample, of one test and pair; nothing if nobody saved any."""
    packed = path.with_suffix(".parquet")
    try:
        if path.exists():
            return _samples(path)
        return _unpacked(packed) if packed.exists() else {}
    except OSError as e:
        raise cannot("read round trips", e, path) from None


def pack(directory: Path) -> None:
    """What federates saved there, as tables."""
    for path in sorted(directory.glob("rtt_*.raw")):
        try:
            _pack(path)
        except OSError as e:
            raise cannot("write results", e, path.with_suffix(".parquet")) from None


class Tail:
    """A file while it is written: each sample is read once, whatever stands before it."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._found = path, 0, {}

    def take(self, sample: int) -> np.ndarray | None:
        """The nanoseconds of one sample; None if they are not there. Those before it are not asked
        for any more."""
        try:
            if self._path.exists():
                with open_file(self._path) as file:
                    file.seek(self._at)
                    fresh, words = _parsed(np.fromfile(file, dtype="<u4"))
                self._at += 4 * words
                self._found |= fresh
        except OSError as e:
            raise cannot("read round trips", e, self._path) from None
        self._found = {n: ns for n, ns in self._found.items() if n >= sample}
        return self._found.pop(sample, None)


def check(ns: np.ndarray, sample: int, path: Path) -> np.ndarray:
    """A sample's round trips; BenchError if one of them can't be."""
    strange = ns[~(np.isfinite(ns) & (ns >= 0))]
    if len(strange):
        raise damaged(f"sample {sample} has a round trip of {strange[0]:g} ns", path)
    return ns


def _samples(path: Path) -> dict[int, np.ndarray]:
    with open_file(path) as file:
        return _parsed(np.fromfile(file, dtype="<u4"))[0]


def _parsed(words: np.ndarray) -> tuple[dict[int, np.ndarray], int]:
    """The whole samples that stand there, and how many words they are."""
    found, blocks, at, whole = {}, [], 0, 0
    while at + 2 <= len(words):  # a killed federate may leave half a sample
        sample, count = int(words[at]), int(words[at + 1])
        at, begin = at + 2 + (count & ~_MORE), at + 2
        if at > len(words):
            break
        blocks.append(words[begin:at].view("<f4"))
        if not count & _MORE:
            found[sample] = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
            blocks, whole = [], at
    return found, whole


def _unpacked(path: Path) -> dict[int, np.ndarray]:
    found = table(path, _schema(), "round trips")
    numbers, ns = found["sample"].to_numpy(), found["ns"].to_numpy()
    if not len(numbers):
        return {}
    # A sample's values stand together.
    starts = np.append(0, 1 + np.flatnonzero(numbers[1:] != numbers[:-1]))
    return {
        int(numbers[at]): part for at, part in zip(starts, np.split(ns, starts[1:]), strict=True)
    }


def _pack(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    samples = {number: ns for number, ns in _samples(path).items() if len(ns)}
    if samples:
        counts = [len(ns) for ns in samples.values()]
        numbers = np.repeat(np.array(list(samples), dtype=np.uint32), counts)
        columns = [numbers, np.concatenate(list(samples.values()))]
        whole = path.with_suffix(".parquet")
        fresh = whole.with_suffix(".tmp")
        fresh.unlink(missing_ok=True)  # it may be a link
        # The bytes of a float apart, as those of its exponent are alike.
        with fresh.open("xb") as file:
            parquet.write_table(
                pyarrow.table(columns, schema=_schema()), file, **CHECKED,
                use_dictionary=["sample"], column_encoding={"ns": "BYTE_STREAM_SPLIT"},
            )  # fmt: skip
        fresh.replace(whole)
    else:
        path.with_suffix(".parquet").unlink(missing_ok=True)  # it was begun anew
    path.unlink()


def _schema():
    import pyarrow

    return pyarrow.schema([("sample", pyarrow.uint32()), ("ns", pyarrow.float32())])
