"""Updates as they came: packed without loss, analysed within a memory limit."""

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from starling_bench.errors import BenchError
from starling_bench.flows import updates
from starling_bench.times import clocks, samples

SCALE = Path(__file__).parents[1] / "scale.py"
SAID = {"ec1": "480 configurations of 4080 flows", "range": "90 flows"}
assert set(runpy.run_path(str(SCALE))["MAKERS"]) == set(SAID)


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


def test_what_clocks_differ_by_is_taken_from_latencies(tmp_path):
    """Of each publisher by itself: ahead by seconds and drifting, an hour behind, and not known."""
    path, found = updates.path_of(tmp_path, 1, 1, "sub1"), made(3000)
    found["publisher"], found["first"] = np.arange(3000) % 3, True
    arrived = found["sent_ns"].astype("i8") + found["latency_ns"]
    true = found["latency_ns"].copy()
    ahead = {0: lambda t: 5 * 10**9 + (t - 10**15) * 20e-6, 1: lambda t: -3600 * 10**9 + 0 * t}
    for publisher, of in ahead.items():
        mine = found["publisher"] == publisher
        error = np.rint(of(arrived[mine] - true[mine])).astype("i8")
        found["sent_ns"][mine] = (found["sent_ns"][mine].astype("i8") + error).astype("u8")
        found["latency_ns"][mine] -= error
    path.with_suffix(".raw").write_bytes(found.tobytes())
    pings = np.zeros(40, dtype=samples.PING)
    pings["to"], pings["sent"] = np.arange(40) % 2, 10**15 - 10**6 + np.arange(40) * 10**5
    pings["came"] = pings["sent"] + 60_000
    for publisher, of in ahead.items():
        mine = pings["to"] == publisher
        there = pings["sent"][mine].astype("i8") + 30_000
        pings["there"][mine] = pings["back"][mine] = there + np.rint(of(there)).astype("i8")
    (tmp_path / "pings_test1_1_sub1.raw").write_bytes(pings.tobytes())
    updates.pack(path, "estimate")
    # What is known of clocks stands in the table itself.
    (tmp_path / "pings_test1_1_sub1.raw").unlink()
    for publisher in ahead:
        said, moments = updates.clock(path, publisher), updates.moments(path, publisher)
        mine = true[found["publisher"] == publisher] / 1e6
        assert said["clock"] == "estimate" and 0.02 < said["bound_ms"] < 0.05
        assert abs(moments["mean_ms"] - mine.mean()) <= said["bound_ms"]
        assert abs(moments["min_ms"] - mine.min()) <= said["bound_ms"]
        assert abs(moments["max_ms"] - mine.max()) <= said["bound_ms"]
        assert moments["sd_ms"] == pytest.approx(mine.std(ddof=1), rel=1e-3)
    table = parquet.read_table(path)
    untouched = table["latency_ns"].to_numpy()[found["publisher"] == 2]
    assert (untouched == true[found["publisher"] == 2]).all()
    assert updates.clock(path, 2) == {"clock": "not known: no echo came back"}
    assert updates.clock(tmp_path / "none.parquet", 0)["clock"].startswith("not known")


def test_echoes_that_agree_with_no_clock_are_no_offset(tmp_path):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(made(100).tobytes())
    pings = np.zeros(20, dtype=samples.PING)
    pings["sent"] = 10**15 + np.arange(20) * 10**7
    pings["there"] = pings["back"] = pings["sent"] + 30_000 + (np.arange(20) > 10) * 10**8
    pings["came"] = pings["sent"] + 60_000
    (tmp_path / "pings_test1_1_sub1.raw").write_bytes(pings.tobytes() + b"half")
    updates.pack(path, "estimate")
    said = updates.clock(path, 0)
    assert said["clock"].startswith("not known: ") and "bound_ms" not in said


def said_by_chronyd(lacks: float) -> list[str]:
    """Before a sample and after, of a clock that lacks so many seconds; known to 2.579 us."""
    return [f"0A4F0001,10.79.0.1,2,1795649299.18,{lacks:.9f},0.000000042,0.000000853,-0.505,0.013,"
            "0.431,0.000002498,0.000001330,0.1,Normal\n"] * 2  # fmt: skip


def test_what_daemons_say_of_clocks_is_taken_from_latencies(tmp_path):
    path, found = updates.path_of(tmp_path, 1, 1, "sub1"), made(90)
    found["publisher"] = np.arange(90) % 3
    path.with_suffix(".raw").write_bytes(found.tobytes())
    said = {"publisher": -1, "boot": "a", "jumped_ns": 0}
    members = {
        "sub1": {"discipline": said_by_chronyd(0)},
        "pub1": {"publisher": 0, "discipline": said_by_chronyd(-0.003)},  # 3 ms ahead
        "pub3": {"publisher": 2, "discipline": said_by_chronyd(0), "jumped_ns": 5_000_000},
    }
    for name, its in members.items():
        (tmp_path / f"clock_test1_1_{name}.json").write_text(json.dumps(said | its))
    updates.pack(path, "daemon")
    assert updates.clock(path, 0) == {"clock": "daemon", "bound_ms": pytest.approx(2 * 0.002579)}
    assert updates.clock(path, 1) == {"clock": "not known: its host said nothing of it"}
    assert updates.clock(path, 2) == {"clock": "not known: that of 'pub3' jumped by +5 ms"}
    table = parquet.read_table(path)["latency_ns"].to_numpy()
    for publisher, more in ((0, 3_000_000), (1, 0), (2, 0)):
        mine = found["publisher"] == publisher
        assert (table[mine] - found["latency_ns"][mine] == more).all()


def test_a_daemon_that_knows_nothing_makes_no_clock_known(tmp_path):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(made(10).tobytes())
    said = {"boot": "a", "jumped_ns": 0, "discipline": ["506 Cannot talk to daemon\n"] * 2}
    for name, publisher in (("sub1", -1), ("pub1", 0)):
        about = said | {"publisher": publisher}
        (tmp_path / f"clock_test1_1_{name}.json").write_text(json.dumps(about))
    updates.pack(path, "daemon")
    assert "Cannot talk to daemon" in updates.clock(path, 0)["clock"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"publisher": "1"}', '{"publisher": 1'])
def test_damaged_words_of_a_clock_are_told(tmp_path, content):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(made(10).tobytes())
    (tmp_path / "clock_test1_1_pub1.json").write_text(content)
    with pytest.raises(BenchError, match="what a federate said of its clock can't be read"):
        updates.pack(path, "daemon")


def test_an_update_was_on_its_way_with_the_clocks_of_when_it_was_sent():
    """A drift of 1 in 10,000 over ways of 2 s."""
    sent = np.arange(10**9, 10 * 10**9, 10**8)
    ahead = lambda t: 10**6 + t // 10_000  # noqa: E731
    echoes = np.arange(0, 14 * 10**9, 10**8)
    there = echoes + 1000 + ahead(echoes + 1000)
    offset = clocks.estimate(echoes, there, there, echoes + 2000)
    arrived = sent + 2 * 10**9
    ways, bound = offset.ways_ns(arrived, arrived - (sent + ahead(sent)))
    assert np.abs(ways - 2 * 10**9).max() <= bound + 2 < 10**6


def test_of_what_did_not_come_there_is_no_spread(tmp_path):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(made(2).tobytes())
    updates.pack(path)
    found = {p: updates.moments(path, p)["sd_ms"] for p in (0, 1, 2)}
    assert found == {0: 0.0, 1: 0.0, 2: None}


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


@pytest.mark.long
@pytest.mark.parametrize("study", ["ec1", "range"])
def test_twenty_million_updates_in_under_four_gigabytes(tmp_path, study):
    """Rows, figures and the study's own report, as users have it made, by processes whose memory is
    limited, in a time of CPUs that two have in two and a half minutes; a quarter of that memory is
    enough, as flows are read one by one."""
    done = subprocess.run(
        [sys.executable, SCALE, "--study", study, "--updates", "20000000", "--memory-gb", "4",
         "--cpu-s", "300", "--out", tmp_path],
        text=True, capture_output=True, env=os.environ | {"POLARS_MAX_THREADS": "2"},
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert float(re.search(r"at most (\S+) GB of memory", done.stdout)[1]) < 1
    assert int(done.stdout.partition(" updates")[0].replace(",", "")) > 19_600_000
    page = (tmp_path / "run" / "report.html").read_text()
    assert SAID[study] in page


def cut_or_changed(whole: bytes) -> Iterator[bytes]:
    """A file as power that was lost, or a disk, leaves it."""
    yield from (b"", b"sample,ns\n", whole[:100], whole[:-40])
    draw = np.random.default_rng(1)
    for _ in range(100):
        changed = bytearray(whole)
        for at in draw.integers(0, len(whole), 3):
            changed[at] = draw.integers(0, 256)
        yield bytes(changed)


def read_all(path: Path, read: Callable[[], object]) -> None:
    """Each is read as something, or told as damaged, and never otherwise."""
    told = 0
    for bytes_ in cut_or_changed(path.read_bytes()):
        path.write_bytes(bytes_)
        try:
            read()
        except BenchError as e:
            assert e.code == "STL-OUT-007" and e.where == str(path) and "`resume`" in e.do
            told += 1
    assert told > 4


def test_damaged_updates_are_told_as_such(tmp_path):
    path = updates.path_of(tmp_path, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(made(100).tobytes())
    updates.pack(path)
    read_all(path, lambda: updates.together(path, 1, 1e-3))

    def read() -> None:
        updates._exactly.cache_clear()
        updates.figures(path, 1)

    path.with_suffix(".raw").write_bytes(made(100).tobytes())
    updates.pack(path)
    read_all(path, read)


def test_damaged_logs_of_what_was_heard_are_told_as_such(tmp_path):
    found = np.zeros(100, dtype=samples.RAW)
    found["count"], found["sender"] = np.arange(100), 1
    (tmp_path / "samples_test1_f2.raw").write_bytes(found.tobytes())
    assert len(samples.heard(tmp_path, 1, "f2", 1)["count"]) == 100
    assert samples.log_bytes(tmp_path, 1, "f2") == found.nbytes

    def read() -> None:
        samples._table.cache_clear()
        samples.heard(tmp_path, 1, "f2", 1)
        samples.log_bytes(tmp_path, 1, "f2")

    read_all(tmp_path / "samples_test1_f2.parquet", read)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "{}", '{"station": "2"}', "NaN", "\udcff"])
def test_damaged_facts_are_told_as_such(tmp_path, text):
    path = tmp_path / "facts_test1_f2.json"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(BenchError, match="what federate 'f2' counted can't be read") as told:
        samples.facts(tmp_path, 1, "f2")
    assert told.value.code == "STL-OUT-007" and told.value.where == str(path)
    path.unlink()
    with pytest.raises(BenchError, match="No such file") as told:
        samples.facts(tmp_path, 1, "f2")
    assert told.value.code == "STL-SMP-001"
