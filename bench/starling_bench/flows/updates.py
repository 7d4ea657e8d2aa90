"""Updates as they came, one by one: raw as a subscriber logged them, then as Parquet; analysed out
of core.

flow_testN_SAMPLE_NAME.raw is what subscriber NAME heard in a sample, written while it came by a
thread of its own; when the sample is over it becomes flow_testN_SAMPLE_NAME.parquet. Where its
publishers read other clocks, pings_testN_SAMPLE_NAME.raw is what echoes say of these, or
clock_testN_SAMPLE_NAME.json what NAME's daemon says of its own, and the table has latencies from
which what the clocks differ by is taken.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ..errors import cannot
from ..kept import damage
from ..outside import open_file
from ..times import clocks, discipline, samples

RAW = np.dtype([("sent_ns", "<u8"), ("latency_ns", "<i8"), ("sequence", "<u4"), ("entity", "<u2"),
                ("publisher", "u1"), ("first", "u1")])  # fmt: skip
# So many are in memory at a time.
CHUNK = 1 << 20
_PING = samples.PING.itemsize
_MOMENTS = ("mean_ms", "sd_ms", "min_ms", "max_ms", "took_s")
_CLOCKS = "clocks"  # the key under which a table says what is known of its publishers'
_OTHERS = ""  # there: of those of which nothing is
_SILENT = {"estimate": "no echo came back", "daemon": "its host said nothing of it"}
SHARES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}
# Of more than so many the latencies are counted in classes, each wider by this factor than its
# lower end.
EXACT_MAX = 4_000_000
WIDTH = 2 ** (1 / 64)


def path_of(directory: Path, test: int, sample: int, receiver: str) -> Path:
    """Where what came is kept."""
    return directory / f"flow_test{test}_{sample}_{receiver}.parquet"


def schema():
    """The columns of what is kept."""
    import pyarrow

    return pyarrow.schema(
        [("sent_ns", pyarrow.uint64()), ("latency_ns", pyarrow.int64()),
         ("sequence", pyarrow.uint32()), ("entity", pyarrow.uint16()),
         ("publisher", pyarrow.uint8()), ("first", pyarrow.bool_())]
    )  # fmt: skip


@contextlib.contextmanager
def writing(path: Path, about: dict[str, str] = MappingProxyType({})):
    """Hands out what writes arrays of RAW to a file that is there only when it is whole; `about`
    stands in it, too."""
    import pyarrow
    import pyarrow.parquet as parquet

    fresh = path.with_suffix(".tmp")
    columns = schema().with_metadata(dict(about))
    packed = ["sent_ns", "latency_ns", "sequence"]
    with parquet.ParquetWriter(
        fresh, columns, use_dictionary=["publisher", "entity"], **damage.CHECKED,
        column_encoding={name: "DELTA_BINARY_PACKED" for name in packed},
    ) as writer:  # fmt: skip

        def put(found: np.ndarray) -> None:
            arrays = [pyarrow.array(found[name]) for name in columns.names[:-1]]
            arrays.append(pyarrow.array(found["first"].astype(bool)))
            writer.write_table(pyarrow.table(arrays, schema=columns))

        yield put
    fresh.replace(path)


Compared = dict[int, clocks.Offset | discipline.Reading | clocks.NoEstimate]


def offsets(path: Path, clock: str) -> Compared:
    """By publisher of a file of updates: what its clock says beside the subscriber's, by echoes or
    daemons, or why that is not known."""
    return _by_daemons(path) if clock == "daemon" else _by_echoes(path)


def _by_echoes(path: Path) -> Compared:
    pings = path.with_name(path.name.replace("flow_", "pings_", 1)).with_suffix(".raw")
    try:
        told = b""
        if pings.exists():
            with open_file(pings) as file:
                told = file.read()
    except OSError as e:
        raise cannot("read echoes", e, pings) from None
    every = np.frombuffer(told[: len(told) // _PING * _PING], dtype=samples.PING)
    found: Compared = {}
    for publisher in np.unique(every["to"]).tolist():
        mine = every[every["to"] == publisher]
        times = (mine[name] for name in ("sent", "there", "back", "came"))
        try:
            found[publisher] = clocks.estimate(*times)
        except clocks.NoEstimate as e:
            found[publisher] = e
    return found


def _by_daemons(path: Path) -> Compared:
    sample, receiver = re.fullmatch(r"flow_(test\d+_\d+)_(.+)", path.stem).groups()
    told = {
        file.stem.removeprefix(f"clock_{sample}_"): samples.of_clock(file)
        for file in sorted(path.parent.glob(f"clock_{sample}_*.json"))
    }
    found: Compared = {}
    for name, its in told.items():
        if its["publisher"] < 0:
            continue
        try:
            here = told.get(receiver, {})
            clocks.require_unset([(name, its), (receiver, here)])
            found[its["publisher"]] = discipline.between(its, here)
        except clocks.NoEstimate as e:
            found[its["publisher"]] = e
    return found


def _of(found: np.ndarray, publisher: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of these are a publisher's, and when they arrived by the subscriber's clock."""
    mine = found["publisher"] == publisher
    return mine, found["sent_ns"][mine].astype("i8") + found["latency_ns"][mine]


def _compared(path: Path, clock: str, raw: Iterable[np.ndarray]) -> tuple[dict, Compared]:
    """What is known of the clocks of a file's publishers (`clock`), and their offsets."""
    found = offsets(path, clock)
    known = {p: by for p, by in found.items() if not isinstance(by, clocks.NoEstimate)}
    bounds = dict.fromkeys(known, 0.0)
    for part in raw:
        for publisher, offset in known.items():
            mine, arrived = _of(part, publisher)
            _, bound_ns = offset.ways_ns(arrived, part["latency_ns"][mine])
            bounds[publisher] = max(bounds[publisher], bound_ns)
    said = {p: {"clock": clock, "bound_ms": bound / 1e6} for p, bound in bounds.items()}
    said |= {p: {"clock": f"not known: {why}"} for p, why in found.items() if p not in known}
    said[_OTHERS] = {"clock": f"not known: {_SILENT[clock]}"}
    return said, known


def pack(path: Path, clock: str = "same") -> None:
    """What was logged becomes a table; the log is gone then. Half a record that a killed
    subscriber left is cut off. Where publishers have clocks of their own what these differ by is
    taken from latencies; what is known of them stands in the table, too."""
    raw = path.with_suffix(".raw")
    if not raw.exists():
        return
    try:
        size = raw.stat().st_size
        if path.exists() and 0 < size < RAW.itemsize:
            raise damage.damaged("a log without one whole record stands beside a table", raw)
        own = clock != "same"
        said, known = _compared(path, clock, _parts(raw)) if own else ({}, {})
        about = {_CLOCKS: damage.sealed(json.dumps(said))} if own else {}
        with writing(path, about) as put:
            for found in _parts(raw):
                for publisher, offset in known.items():
                    mine, arrived = _of(found, publisher)
                    ways, _ = offset.ways_ns(arrived, found["latency_ns"][mine])
                    found["latency_ns"][mine] = ways
                put(found)
        raw.unlink()
    except OSError as e:
        raise cannot("write results", e, path) from None


def _parts(raw: Path) -> Iterator[np.ndarray]:
    """What was logged, so much at a time."""
    count = raw.stat().st_size // RAW.itemsize
    with open_file(raw) as file:
        for begin in range(0, count, CHUNK):
            yield np.fromfile(file, dtype=RAW, count=min(CHUNK, count - begin))


def clock(path: Path, publisher: int) -> dict:
    """What is known of a publisher's clock: `clock` is "same", "estimate" with a bound_ms, or says
    why its latencies tell nothing."""
    if not path.exists():
        return {"clock": "not known: no updates are kept"}
    with _reading(path):
        told = damage.head(path, _CLOCKS, "updates")
        every = json.loads(told) if told else None
    if every is None:
        return {"clock": "same", "bound_ms": 0.0}
    # An earlier version knew echoes only.
    return every.get(
        str(publisher), every.get(_OTHERS, {"clock": f"not known: {_SILENT['estimate']}"})
    )


def least(share: float) -> int:
    """So many values are needed for a percentile: ten are expected beyond it. Every value has
    something to say of the median."""
    return 1 if share <= 0.5 else round(10 / (1 - share))


@contextlib.contextmanager
def _reading(path: Path):
    """A file of updates; BenchError if it is none, or can't be read."""
    try:
        with damage.reading(path, "updates"):
            open_file(path).close()  # a pipe would be waited for
            damage.verify(path, path.stat().st_mtime_ns, "updates")
            yield
    except OSError as e:
        raise cannot("read updates", e, path) from None


def figures(path: Path, publisher: int) -> dict[str, float | None]:
    """Percentiles of a publisher's latencies, in ms; None where nothing came, or too little."""
    import polars

    if not path.exists():
        return dict.fromkeys(SHARES)
    with _reading(path):
        found = _exactly(path, path.stat().st_mtime_ns)
        if found is not None:
            return {name: found.get(publisher, {}).get(name) for name in SHARES}
        mine = (polars.col("publisher") == publisher) & polars.col("first")
        return percentiles(classes([path], mine))


def counted(path: Path, publisher: int) -> int:
    """How many updates of a publisher are kept, each once."""
    import polars

    if not path.exists():
        return 0
    with _reading(path):
        exactly = _exactly(path, path.stat().st_mtime_ns)
        if exactly is not None:
            return exactly.get(publisher, {}).get("came", 0)
        mine = (polars.col("publisher") == publisher) & polars.col("first")
        asked = polars.scan_parquet(path, glob=False).filter(mine).select(polars.len())
        return asked.collect(engine="streaming").item()


@lru_cache(maxsize=64)
def _exactly(path: Path, stamp: int) -> dict[int, dict[str, float]] | None:
    """Those of all publishers, and how many are kept, as a file is read for each of them; None: it
    is too large."""
    import polars

    scan = polars.scan_parquet(path, glob=False)
    if scan.select(polars.len()).collect(engine="streaming").item() > EXACT_MAX:
        return None
    at = polars.col("latency_ns")
    enough = {n: polars.len() >= least(s) for n, s in SHARES.items()}
    asked = [polars.when(enough[n]).then(at.quantile(s, "higher") / 1e6).alias(n)
             for n, s in SHARES.items()]  # fmt: skip
    asked += [polars.len().alias("came"), *_moments()]
    found = scan.filter(polars.col("first")).group_by("publisher").agg(asked).collect()
    return {row.pop("publisher"): row for row in found.to_dicts()}


def moments(path: Path, publisher: int) -> dict[str, float | None]:
    """Mean, standard deviation, least and most of a publisher's latencies, in ms, and how long it
    was from its first send to the last arrival, in s, by its clock."""
    import polars

    none = dict.fromkeys(_MOMENTS)
    if not path.exists():
        return none
    with _reading(path):
        exactly = _exactly(path, path.stat().st_mtime_ns)
        if exactly is not None:
            return {name: exactly.get(publisher, none)[name] for name in _MOMENTS}
        mine = (polars.col("publisher") == publisher) & polars.col("first")
        scan = polars.scan_parquet(path, glob=False).filter(mine).select(*_moments())
        return scan.collect(engine="streaming").row(0, named=True)


def _moments() -> list:
    import polars

    at, sent = polars.col("latency_ns"), polars.col("sent_ns").cast(polars.Int64)
    spread = polars.when(polars.len() == 1).then(0.0).otherwise((at / 1e6).std())
    took = ((sent + at).max() - sent.min()) / 1e9
    values = (at / 1e6).mean(), spread, at.min() / 1e6, at.max() / 1e6, took
    return [value.alias(name) for name, value in zip(_MOMENTS, values, strict=True)]


def spans(directory: Path, test: int) -> list[tuple[int, int]]:
    """Of each sample of a test of which something came when the first of that was sent and the last
    arrived, in ns of the publishers' clock."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(directory.glob(f"flow_test{test}_*.parquet")):
        with _reading(path):
            first, last = _span(path, path.stat().st_mtime_ns)
        if first is not None:
            sample = path.stem.split("_")[2]
            begin, end = found.get(sample, (first, last))
            found[sample] = min(begin, first), max(end, last)
    return list(found.values())


@lru_cache(maxsize=256)  # a test is asked for with each of its flows
def _span(path: Path, stamp: int) -> tuple[int | None, int | None]:
    import polars

    sent = polars.col("sent_ns").cast(polars.Int64)
    came = sent + polars.col("latency_ns")
    asked = polars.scan_parquet(path, glob=False).select(
        sent.min().alias("first"), came.max().alias("last")
    )
    return asked.collect(engine="streaming").row(0)


def together(path: Path, publisher: int, gap_s: float) -> float | None:
    """How many of a publisher's updates came at once, on average, where it sent one each `gap_s`;
    None: nothing came, or too much to look at each."""
    import polars

    if not path.exists():
        return None
    scan = polars.scan_parquet(path, glob=False).filter(
        (polars.col("publisher") == publisher) & polars.col("first")
    )
    came = polars.col("sent_ns").cast(polars.Int64) + polars.col("latency_ns")
    apart = came.diff() >= gap_s * 5e8  # they stand in the order in which they came
    with _reading(path):
        found = scan.select(polars.len().alias("all"), apart.sum().alias("apart")).collect()
    every, groups = found.row(0)
    return every / (groups + 1) if 0 < every <= EXACT_MAX else None


def classes(paths: Iterable[Path], which=None):
    """Latencies counted in classes, of any number of files: what stays in memory does not grow
    with their size. Columns: latency_class, count."""
    import polars

    scan = polars.scan_parquet([str(p) for p in paths], glob=False)
    if which is not None:
        scan = scan.filter(which)
    at = polars.col("latency_ns").clip(lower_bound=1).log(WIDTH).floor().cast(polars.Int32)
    grouped = scan.group_by(at.alias("latency_class")).agg(polars.len().alias("count"))
    return grouped.collect(engine="streaming").sort("latency_class")


def percentiles(counted) -> dict[str, float | None]:
    """In ms, from counts by class: no value is wrong by more than its class is wide (1.1 %)."""
    counts = counted["count"].to_numpy().cumsum()
    if len(counts) == 0:
        return dict.fromkeys(SHARES)
    ends = WIDTH ** (counted["latency_class"].to_numpy() + 1.0) / 1e6
    return {
        name: float(ends[np.searchsorted(counts, share * counts[-1])])
        if counts[-1] >= least(share)
        else None
        for name, share in SHARES.items()
    }
