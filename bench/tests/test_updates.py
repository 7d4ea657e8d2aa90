"""Updates as they came: packed without loss, analysed within a memory limit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from starling_bench import updates

SCALE = Path(__file__).parents[1] / "scale.py"


def made(count: int, seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    found = np.zeros(count, dtype=updates.RAW)
    found["sent_ns"] = 10**15 + np.arange(count) * 1000
    found["latency_ns"] = draw.lognormal(12, 1, count).astype("i8")
    found["sequence"], found["entity"] = np.arange(count) // 100 + 1, np.arange(count) % 100
    found["publisher"] = np.arange(count) % 2
    found["first"] = draw.random(count) > 0.01
    return found


def test_what_was_logged_is_packed_whole_but_for_half_a_record(tmp_path):
    path = updates.path_of(tmp_path, 3, 1, "sub1")
    found = made(5000)
    path.with_suffix(".raw").write_bytes(found.tobytes() + b"half")
    updates.pack(path)
    table = parquet.read_table(path)
    for name in updates.RAW.names:
        assert (table[name].to_numpy() == found[name]).all(), name
    assert not path.with_suffix(".raw").exists()
    assert path.stat().st_size < 10 * len(found)


def test_percentiles_are_those_of_the_publishers_first_arrivals(tmp_path):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    found = made(40_000)
    path.with_suffix(".raw").write_bytes(found.tobytes())
    updates.pack(path)
    mine = np.sort(found["latency_ns"][(found["publisher"] == 1) & (found["first"] == 1)]) / 1e6
    for name, share in updates.SHARES.items():
        at = updates.figures(path, 1)[name]
        assert abs(np.searchsorted(mine, at) - share * len(mine)) <= 1
        # By classes no value is wrong by more than a class is wide.
        import polars

        which = (polars.col("publisher") == 1) & polars.col("first")
        coarse = updates.percentiles(updates.classes([path], which))[name]
        assert at <= coarse <= at * updates.WIDTH * 1.0001
    assert updates.figures(path, 7) == dict.fromkeys(updates.SHARES)
    assert updates.figures(path.with_name("none"), 0) == dict.fromkeys(updates.SHARES)


@pytest.mark.parametrize("count", [10, 99, 100, 999, 1000, 9999, 10_000])
def test_a_percentile_that_few_are_beyond_is_not_told(tmp_path, count):
    """Of ten values the largest would be each of the high ones."""
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    found = made(count)
    found["publisher"], found["first"] = 0, 1
    path.with_suffix(".raw").write_bytes(found.tobytes())
    updates.pack(path)
    needed = {"p50_ms": 1, "p90_ms": 100, "p99_ms": 1000, "p999_ms": 10_000}
    known = {name for name, least in needed.items() if count >= least}
    for told in (updates.figures(path, 0), updates.percentiles(updates.classes([path]))):
        assert {name for name, value in told.items() if value is not None} == known


@pytest.mark.parametrize("count", [20_000_000])
def test_twenty_million_updates_in_under_four_gigabytes(tmp_path, count):
    """Generated, analysed and reported by a process whose memory is limited."""
    done = subprocess.run(
        [sys.executable, SCALE, "--updates", str(count), "--memory-gb", "4", "--out", tmp_path],
        text=True, capture_output=True, env=os.environ | {"POLARS_MAX_THREADS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count:,} updates" in done.stdout and (tmp_path / "scale.html").exists()
