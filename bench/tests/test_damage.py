"""What was measured and is damaged since is found out, whatever bit it is, not told as right."""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from starling_bench.errors import BenchError
from starling_bench.flows import flows, updates
from starling_bench.kept import damage, raw, results, store
from starling_bench.studies.range import STUDY as RANGE
from starling_bench.times import clocks, oneway, samples


def of_updates(directory: Path, count: int = 2000) -> Path:
    draw = np.random.default_rng(3)
    found = np.zeros(count, dtype=updates.RAW)
    found["sent_ns"] = 10**15 + np.arange(count) * 10**6
    found["latency_ns"] = draw.lognormal(11, 1, count).astype("i8")
    found["sequence"], found["first"] = np.arange(count) + 1, 1
    path = updates.path_of(directory, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(found.tobytes())
    updates.pack(path)
    return path


def of_messages(directory: Path, count: int = 2000) -> Path:
    draw = np.random.default_rng(3)
    found = np.zeros(count, dtype=samples.RAW)
    found["arrived"] = 10**15 + np.arange(count) * 10**6
    found["delivery"] = draw.lognormal(11, 1, count).astype("i8")
    found["count"], found["sender"], found["test"] = np.arange(count) + 1, 1, 1
    samples.file(directory, "samples", 1, "f2", "raw").write_bytes(found.tobytes())
    samples.pack(directory, 1, "f2")
    return samples.file(directory, "samples", 1, "f2", "parquet")


def of_trips(directory: Path, count: int = 2000) -> Path:
    ns = np.random.default_rng(3).lognormal(11, 1, count).astype("<f4")
    path = raw.path_of(directory, 1, 1)
    path.write_bytes(np.array([1, count], dtype="<u4").tobytes() + ns.tobytes())
    raw.pack(directory)
    return path.with_suffix(".parquet")


READ = {
    "updates": (of_updates, lambda p: [updates.figures(p, 0), updates.moments(p, 0),
                                       updates.counted(p, 0)]),
    "messages": (of_messages, lambda p: [v.tolist() for v in
                                         samples.heard(p.parent, 1, "f2", 1).values()]),
    "round trips": (of_trips, lambda p: raw.read(p.with_suffix(".raw"))[1].tolist()),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_no_bit_of_a_table_can_be_turned_unseen(what, tmp_path, capfd):
    make, read = READ[what]
    path = make(tmp_path)
    whole, right = bytearray(path.read_bytes()), read(path)
    draw = np.random.default_rng(7)
    refused = 0
    for turn, at in enumerate(draw.integers(len(whole), size=150)):
        turned = bytearray(whole)
        turned[at] ^= 1 << int(draw.integers(8))
        path.write_bytes(turned)
        os.utime(path, ns=(turn, turn))  # what was read of the last one is another's
        try:
            assert read(path) == right, f"byte {at}"
        except BenchError as e:
            assert e.code == damage.DAMAGED, e
            refused += 1
    assert refused > 100
    # Nothing but messages, which are the caller's to show.
    assert "panicked" not in capfd.readouterr().err


def of_clocks(directory: Path) -> Path:
    pings = np.zeros(20, dtype=samples.PING)
    for name, after in (("sent", 0), ("there", 5 * 10**6 + 2000), ("back", 5 * 10**6 + 3000),
                        ("came", 5000)):  # fmt: skip
        pings[name] = 10**15 + np.arange(20) * 10**8 + after
    (directory / "pings_test1_1_sub1.raw").write_bytes(pings.tobytes())
    found = np.zeros(20, dtype=updates.RAW)
    found["sent_ns"] = 10**15 + np.arange(20) * 10**8 + 5 * 10**6
    found["latency_ns"], found["sequence"], found["first"] = 10**6, np.arange(20) + 1, 1
    path = updates.path_of(directory, 1, 1, "sub1")
    path.with_suffix(".raw").write_bytes(found.tobytes())
    updates.pack(path, "estimate")
    return path


@pytest.mark.parametrize(("make", "key", "read"), [
    (of_clocks, b"clocks", lambda p: updates.clock(p, 0)),
    (of_messages, b"log_bytes", lambda p: samples.log_bytes(p.parent, 1, "f2")),
])  # fmt: skip
def test_no_bit_of_a_head_can_be_turned_unseen(make, key, read, tmp_path):
    path = make(tmp_path)
    whole, right = path.read_bytes(), read(path)
    begin, seal = whole.index(key), whole.index(b"crc32:")
    assert 0 < seal - begin < 20
    for turn, place in enumerate(range(begin, seal + 60)):
        turned = bytearray(whole)
        turned[place] ^= 1 << turn % 7
        path.write_bytes(turned)
        os.utime(path, ns=(turn, turn))
        try:
            assert read(path) == right, f"byte {place}"
        except BenchError as e:
            assert e.code == damage.DAMAGED, e


def test_a_log_without_a_whole_record_replaces_no_table(tmp_path):
    for make, pack in ((of_updates, updates.pack),
                       (of_messages, lambda p: samples.pack(p.parent, 1, "f2"))):  # fmt: skip
        path = make(tmp_path)
        whole = path.read_bytes()
        path.with_suffix(".raw").write_bytes(b"7 bytes")
        with pytest.raises(BenchError, match="without one whole record") as told:
            pack(path)
        assert told.value.code == damage.DAMAGED and path.read_bytes() == whole
        path.with_suffix(".raw").unlink()


def test_a_pipe_in_place_of_a_log_is_not_waited_for(tmp_path):
    path = of_updates(tmp_path)
    reads = {
        path.with_suffix(".raw"): lambda: updates.pack(path),
        tmp_path / "pings_test1_1_sub1.raw": lambda: updates.offsets(path, "estimate"),
        tmp_path / "samples_test2_f1.raw": lambda: samples.pack(tmp_path, 2, "f1"),
        tmp_path / "pings_test2_f1.raw": lambda: samples.pings(tmp_path, 2, "f1"),
        tmp_path / "samples_test0_me.raw": lambda: samples.logged(tmp_path, 0, "me"),
    }
    for pipe, read in reads.items():
        os.mkfifo(pipe)
        with pytest.raises(BenchError, match="it is no regular file"):
            read()
        pipe.unlink()


@pytest.mark.parametrize(("received", "unrecorded", "why"), [
    (2000, 0, ""), (2003, 3, ""), (2003, 2, "counted 2003 updates"), (1999, 0, "and 2000 are in"),
])  # fmt: skip
def test_as_many_updates_are_kept_as_were_counted(tmp_path, monkeypatch, received, unrecorded, why):
    path = of_updates(tmp_path)
    row = {"received": received, "unrecorded": unrecorded, "receiver": "sub1", "sender": "pub1",
           "sample": 1, "test": 1}  # fmt: skip
    kept = updates.counted(path, 0)
    assert (kept, updates.counted(path, 7)) == (2000, 0)
    assert updates.counted(path.with_name("none"), 0) == 0
    monkeypatch.setattr(updates, "EXACT_MAX", 10)  # too large to be held in memory
    updates._exactly.cache_clear()
    assert (updates.counted(path, 0), updates.counted(path, 7)) == (2000, 0)
    if why:
        with pytest.raises(BenchError, match=why):
            flows._check_kept(row, kept, path)
    else:
        flows._check_kept(row, kept, path)


class Kept:
    """A run's store, as far as figures ask for it."""

    def __init__(self, directory: Path, clock: str) -> None:
        self.directory, self._clock = directory, clock

    def record(self, sequence: str, execution: str) -> dict:
        return {"tests": {"1": {"clock": self._clock, "updates": 0, "seconds": 20.0}}}


def test_figures_of_a_flow_are_made_of_what_was_logged_and_counted(tmp_path):
    """Whatever its row says of them."""
    (tmp_path / "s" / "e").mkdir(parents=True)
    of_updates(tmp_path / "s" / "e")
    row = {"sequence": "s", "execution": "e", "test": 1, "sample": 1, "receiver": "sub1",
           "sender": "pub1", "publisher": 0, "sent": 2500, "received": 2000, "unrecorded": 0,
           "rate": 100.0, "entities": 1, "payload": 1000, "took_s": 20.0, "lag_s": 0.0,
           "mbps": 7e9, "reliability": 7.0, "theory_mbps": 7.0, "mean_ms": 7e9}  # fmt: skip
    made = row | flows.figures(Kept(tmp_path, "same"), row)
    assert (made["reliability"], made["theory_mbps"]) == (0.8, pytest.approx(0.8))
    assert made["mbps"] == pytest.approx(0.8, rel=1e-3) and 0 < made["min_ms"] < made["mean_ms"] < 1
    path = updates.path_of(tmp_path / "s" / "e", 1, 1, "sub1")
    for there in (True, False):
        with pytest.raises(BenchError, match="counted 2001 updates") as told:
            flows.figures(Kept(tmp_path, "same"), row | {"received": 2001})
        assert told.value.where == str(path)
        # Who removes what was logged does not ask for another measurement.
        assert store._to_measure(told.value) == there
        path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("early_ms", "clock"), [(0.5, "estimate"), (9.0, "not known: what came first was there 9 ms")]
)
def test_updates_come_earlier_by_no_more_than_clocks_differ(tmp_path, monkeypatch, early_ms, clock):
    """On one clock by nothing."""
    (tmp_path / "s" / "e").mkdir(parents=True)
    path = of_updates(tmp_path / "s" / "e")
    found = np.zeros(1, dtype=updates.RAW)
    found["sent_ns"], found["latency_ns"], found["first"] = 10**15, int(-early_ms * 1e6), 1
    path.with_suffix(".raw").write_bytes(found.tobytes())
    updates.pack(path)
    row = {"sequence": "s", "execution": "e", "test": 1, "sample": 1, "receiver": "sub1",
           "sender": "pub1", "publisher": 0, "sent": 1, "received": 1, "unrecorded": 0,
           "rate": 1.0, "entities": 1, "payload": 1, "took_s": 1.0, "lag_s": 0.0}  # fmt: skip
    with pytest.raises(BenchError, match=f"came {early_ms:.3g} ms before it was sent"):
        flows.figures(Kept(tmp_path, "same"), row)
    known = {"clock": "estimate", "bound_ms": 1.0}
    monkeypatch.setattr(updates, "clock", lambda path, publisher: dict(known))
    made = flows.figures(Kept(tmp_path, "estimate"), row)
    assert made["clock"].startswith(clock)
    assert made["mean_ms"] == (-early_ms if clock == "estimate" else None)


def facts(directory: Path, name: str, station: int) -> None:
    wakes = '{"turns": 1, "late": 0, "missed": 0, "max_ns": 0, "lateness": []}'
    samples.file(directory, "facts", 1, name, "json").write_text(
        f'{{"station": {station}, "scheduling": "SCHED_OTHER", "deadlines": {wakes}, '
        f'"floor": {wakes}, "thread_s": 1.0}}'
    )


def test_nothing_comes_before_it_was_sent(tmp_path, monkeypatch):
    """On one clock, or by more than clocks are compared to; an echo, which begins and ends by one,
    neither."""
    for name, station in (("f1", 1), ("f2", 2)):
        facts(tmp_path, name, station)
    of_messages(tmp_path)
    assert len(oneway.flow(tmp_path, 1, "f1", "f2", "same").ms) == 2000
    early = np.zeros(1, dtype=samples.RAW)
    early["delivery"], early["count"], early["sender"] = -14_600_000, 1, 1
    samples.file(tmp_path, "samples", 1, "f2", "raw").write_bytes(early.tobytes())
    with pytest.raises(BenchError, match=r"came 14\.6 ms before it was sent") as told:
        oneway.flow(tmp_path, 1, "f1", "f2", "same")
    assert told.value.code == damage.DAMAGED
    for bound_ms, known in ((15.0, True), (14.0, False)):
        way = np.array([-14_600_000]), bound_ms * 1e6
        of = SimpleNamespace(ways_ns=lambda *_, way=way: way)
        monkeypatch.setattr(clocks, "estimate", lambda *_, of=of: of)
        with contextlib.nullcontext() if known else pytest.raises(clocks.NoEstimate) as why:
            oneway.flow(tmp_path, 1, "f1", "f2", "estimate")
        assert known or "14.6 ms before it was sent" in str(why.value)
    echo = np.zeros(2, dtype=samples.PING)
    echo["to"], echo["sent"], echo["there"], echo["back"], echo["came"] = 2, 100, 120, 130, 180
    echoes = samples.file(tmp_path, "pings", 1, "f1", "raw")
    echoes.write_bytes(echo.tobytes() + b"half")
    assert oneway.ping_ms(tmp_path, 1, "f1", "f2") == pytest.approx(35e-6)
    echo["back"][1] += 1 << 40
    echoes.write_bytes(echo.tobytes())
    with pytest.raises(BenchError, match="before it was sent") as told:
        oneway.ping_ms(tmp_path, 1, "f1", "f2")
    assert told.value.code == damage.DAMAGED


def row(**more: object) -> dict:
    of = dict.fromkeys(RANGE.columns.names, 0) | dict.fromkeys(RANGE.columns.texts, "x")
    of |= {"sequence": "s", "execution": "e", "test": 1, "sample": 1, "pair": 1, "federates": 2,
           "transport": "reliable", "tick_hz": 500}  # fmt: skip
    of |= {"sent": 60, "received": 59, "lost": 1}
    return of | more


@pytest.mark.parametrize(("more", "why"), [
    ({}, ""), ({"sample": 99}, "no sample 99"), ({"pair": 77}, "no pair 77"),
    ({"pair": 0}, "no pair 0"), ({"sent": 120}, "120 sent is not what came"),
    ({"federates": 3}, "federates is 3, and run.json has 2"),
    ({"transport": "best_effort"}, "run.json has 'reliable'"),
])  # fmt: skip
def test_a_row_that_is_not_as_the_run_was_is_refused(tmp_path, more, why):
    path = tmp_path / RANGE.table
    test = RANGE.spec.single().model_dump()
    run = {"executions": [{"sequence": "s", "execution": "e", "pairs": 2, "tests": {"1": test}}]}
    lines = [row(), row(pair=2) | more]
    names = RANGE.columns.names
    path.write_text("\n".join([",".join(names), *(",".join(str(r[n]) for n in names)
                                                  for r in lines), ""]))  # fmt: skip
    if not why:
        assert len(results.read(path, RANGE, run)) == 2
        return
    with pytest.raises(BenchError, match=why) as told:
        results.read(path, RANGE, run)
    assert (told.value.code, told.value.where) == ("STL-OUT-008", f"{path}:3")


def test_a_sample_that_stands_twice_counts_once(tmp_path):
    """Also where a figure differs that says how quiet the machine was."""
    path = tmp_path / RANGE.table
    test = RANGE.spec.single().model_dump()
    run = {"executions": [{"sequence": "s", "execution": "e", "pairs": 2, "tests": {"1": test}}]}
    names = RANGE.columns.names
    lines = [",".join(str(r[n]) for n in names) for r in (row(), row(others_cpu=0.5))]
    path.write_text("\n".join([",".join(names), *lines, ""]))
    first, again = results.read(path, RANGE, run)
    assert first["others_cpu"] == 0 and again is None
