"""Results that somebody has altered, or takes away: one message, no traceback."""

import errno
import importlib
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from starling_bench.commands import attempt, console, telling
from starling_bench.errors import BenchError, cannot
from starling_bench.kept import raw, recorded
from starling_bench.kept.store import Store
from starling_bench.machines import hosts
from starling_bench.reports import cells, every_value
from starling_bench.statistics import stats
from starling_bench.studies.rtibm import STUDY, rows

GIVEN = {"tsf": "t", "tsf_text": "", "notes": [], "file": "t.toml", "scale": 1.0}


def asked(**fields: object) -> dict:
    """What a row has of its test."""
    of = STUDY.settled(STUDY.spec.single(**{"kind": "OWOT"} | fields).model_dump())
    named = {STUDY.names.get(key, key): value for key, value in of.items()}
    return {name: named[name] for name in STUDY.asked if named.get(name) is not None}


def made(tmp_path) -> Store:
    store = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    tests = {"1": {"kind": "OWOT", "samples": 3, "pairs": None}}
    store.begin("s", "e", adapter="tcp", tests=tests, pairs=1, state="done")
    row = dict.fromkeys(rows.COLUMNS.names, 0) | dict.fromkeys(rows.COLUMNS.texts, "x") | asked()
    store.keep(row | {"sequence": "s", "execution": "e", "test": 1, "pair": 1, "sample": 1})
    return store


def refused(tmp_path, words: str) -> None:
    with pytest.raises(BenchError, match=words) as told:
        Store.load(tmp_path / "out", STUDY)
    assert told.value.code.startswith("STL-OUT-") and told.value.where and told.value.do


RUNS = {
    "list": lambda _: [], "null": lambda _: None, "nothing": lambda _: {},
    "no executions": lambda r: {k: v for k, v in r.items() if k != "executions"},
    "text": lambda r: r | {"executions": "x"}, "no keys": lambda r: r | {"executions": [{}]},
    "file": lambda r: r | {"file": 5}, "scale": lambda r: r | {"scale": "x"},
    "root": lambda r: r | {"rti_root": 5}, "program": lambda r: r | {STUDY.program: 5},
    "commit": lambda r: r | {"commit": 5},
    "machine": lambda r: {k: v for k, v in r.items() if k != "machine"},
    "tests": lambda r: _first(r, tests=[]),
    "samples": lambda r: _first(r, tests={"1": {"samples": "3"}}),
    "problems": lambda r: _first(r, problems={"x": "y"}),
    "way": lambda r: _first(r, way={"by": ["x"], "reliable": True}),
    "ways": lambda r: _first(r, ways={"1": [{"sender": "m", "receiver": {}, "by": "x"}]}),
    "libraries": lambda r: _first(r, libraries=["x"]), "clock": lambda r: _first(r, clock=[]),
    "manager": lambda r: r | {"manager": {"samples": 0, "cpu_s": 1.0, "most_s": 1.0}},
    "no kind": lambda r: _first(r, tests={"1": {"samples": 3}}),
    "fewer than none": lambda r: _first(r, tests={"1": {"samples": -4}}),
    "file's name": lambda r: r | {"file": "a\0b"}, "huge": lambda r: r | {"scale": 1e308},
    "path": lambda r: _first(r, sequence="../x"),
    "above": lambda r: _first(r, sequence=".."),
}  # fmt: skip


def _first(run: dict, **more: object) -> dict:
    return run | {"executions": [run["executions"][0] | more]}


@pytest.mark.parametrize("how", RUNS)
def test_an_altered_record_of_a_run(tmp_path, how):
    made(tmp_path).close()
    path = tmp_path / "out" / "run.json"
    path.write_text(json.dumps(RUNS[how](json.loads(path.read_text()))))
    refused(tmp_path, "this is not as a run is recorded")


def test_a_record_that_is_nested_without_end_or_is_a_pipe(tmp_path):
    made(tmp_path).close()
    path = tmp_path / "out" / "run.json"
    path.write_text("[" * 100_000)
    refused(tmp_path, "nested too deeply")
    path.unlink()
    os.mkfifo(path)
    refused(tmp_path, "it is no regular file")


def test_what_a_record_need_not_have(tmp_path):
    made(tmp_path).close()
    path = tmp_path / "out" / "run.json"
    run = json.loads(path.read_text())
    for key in ("tests", "pairs", "tests_crc32"):
        del run["executions"][0][key]
    path.write_text(json.dumps(run))
    store = Store.load(tmp_path / "out", STUDY)
    assert store.done("s", "e") == set() and len(store.summaries()) == 1
    run["executions"][0] |= {"tests": {"1": {"kind": "OWOT"}}, "pairs": 1}
    path.write_text(json.dumps(run))  # without samples: as many as a file has that says none
    of = Store.load(tmp_path / "out", STUDY).record("s", "e")["tests"]["1"]
    assert of["samples"] == STUDY.spec.single.model_fields["samples"].default


@pytest.mark.parametrize(("study", "field", "value"), [
    ("rtibm", "warm_up", {}), ("rtibm", "link", ["x"]), ("rtibm", "mode_tolerance_ms", "x"),
    ("rtibm", "kind", None), ("range", "tick_hz", "x"), ("range", "flows", "1GB@1"),
    ("range", "budget_ms", -1.0), ("range", "pairs", 1), ("ec1", "rate", "x"),
    ("ec1", "configuration", 120), ("fomcost", "layout", "x"), ("fomcost", "attributes", 2.5),
])  # fmt: skip
def test_a_tests_own_fields(study, field, value):
    """As the study's files may have them, and no others."""
    single = importlib.import_module(f"starling_bench.studies.{study}").STUDY.spec.single
    test = {"kind": "OWOT"} if study == "rtibm" else {}
    run = {"executions": [{"sequence": "s", "execution": "e", "tests": {"7": test}}]}
    recorded.tests(run, Path("run.json"), single, {})
    assert field in test
    test[field] = value
    with pytest.raises(BenchError, match=rf"a run is recorded: s/e test 7, {field}: ") as told:
        recorded.tests(run, Path("run.json"), single, {})
    assert told.value.code == "STL-OUT-008" and "('" not in told.value.what


@pytest.mark.parametrize("turn", [
    lambda tests: tests["1"].update(warm_up=7), lambda tests: tests.clear(),
    lambda tests: tests["1"].update(io_mode="x"),
])  # fmt: skip
def test_no_field_of_a_test_is_altered_unseen(tmp_path, turn):
    """Figures hang on them, and rows have few of them."""
    store = made(tmp_path)
    store.begin("s", "e", tests=store.record("s", "e")["tests"])
    store.close()
    Store.load(tmp_path / "out", STUDY).save_run()  # with what fields of a test were missing
    Store.load(tmp_path / "out", STUDY)
    path = tmp_path / "out" / "run.json"
    run = json.loads(path.read_text())
    turn(run["executions"][0]["tests"])
    path.write_text(json.dumps(run))
    refused(tmp_path, "the tests of s/e are not as they were written")


def test_a_field_whose_name_is_damaged_is_not_taken_for_one_that_is_missing():
    """A later version has all that this one has, an earlier one none that it does not know."""
    single = importlib.import_module("starling_bench.studies.range").STUDY.spec.single
    test = {"clock": "estimate"}
    run = {"executions": [{"sequence": "s", "execution": "e", "tests": {"7": test}}]}
    recorded.tests(run, Path("run.json"), single, {})
    test["later"] = 1
    recorded.tests(run, Path("run.json"), single, {})
    del test["later"], test["tick_hz"]
    recorded.tests(run, Path("run.json"), single, {})
    test["clocj"] = test.pop("clock")
    with pytest.raises(BenchError, match="it has a field 'clocj', and no 'clock'") as told:
        recorded.tests(run, Path("run.json"), single, {})
    assert told.value.code == "STL-OUT-008"
    test |= {"clock": test.pop("clocj"), "drift_ppn": test.pop("drift_ppm")}
    with pytest.raises(BenchError, match="it has a field 'drift_ppn', and no 'drift_ppm'"):
        recorded.tests(run, Path("run.json"), single, {"drift_ppm": 0})


def test_fields_that_came_later_are_as_they_were_before():
    """Timers of runs from before there was a drift had none."""
    of = importlib.import_module("starling_bench.studies.range").STUDY
    run = {"executions": [{"sequence": "s", "execution": "e", "tests": {"1": {"federates": 3}}}]}
    recorded.tests(run, Path("run.json"), of.spec.single, of.before)
    test = run["executions"][0]["tests"]["1"]
    assert (test["drift_ppm"], test["pairs"], test["hz"]) == (0, 6, 10.0)


@pytest.mark.parametrize("how", [
    "long", "header", "pipe", "nan", "column", "bytes", "nothing", "negative",
])  # fmt: skip
def test_an_altered_table(tmp_path, how):
    made(tmp_path).close()
    path = tmp_path / "out" / STUDY.table
    text = path.read_text()
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
        refused(tmp_path, "it is no regular file")
        return
    head, row = text.splitlines()
    at = rows.COLUMNS.names.index("send_s")
    nan = ",".join("nan" if i == at else v for i, v in enumerate(row.split(",")))
    if how == "bytes":
        path.write_bytes(b"\xff" + text.encode())
    else:
        path.write_text({"long": text + "a" * 300_000 + "\n", "header": row + "\n" + row + "\n",
                         "nan": f"{head}\n{nan}\n", "nothing": "",
                         "negative": f"{head}\n{nan.replace('nan', '-5')}\n",
                         "column": text.replace("send_s", "xend_s")}[how])  # fmt: skip
    refused(tmp_path, "this is no table of results")


@pytest.mark.parametrize(("at", "value", "said"), [
    ("sequence", "other", "run.json has no execution 'other/e'"),
    ("execution", "other", "run.json has no execution 's/other'"),
    ("test", "7", "run.json has no test 7 of 's/e'"),
])  # fmt: skip
def test_a_row_of_what_was_not_run(tmp_path, at, value, said):
    """No study could say of what it is: told before any is asked, with the row's line."""
    made(tmp_path).close()
    path = tmp_path / "out" / STUDY.table
    head, row = path.read_text().splitlines()
    column = rows.COLUMNS.names.index(at)
    wrong = ",".join(value if i == column else v for i, v in enumerate(row.split(",")))
    path.write_text(f"{head}\n{row}\n{wrong}\n")
    with pytest.raises(BenchError, match=said) as told:
        Store.load(tmp_path / "out", STUDY)
    assert (told.value.code, told.value.where) == ("STL-OUT-008", f"{path}:3")


def test_a_torn_row_and_tests_that_are_not_there_are_told(tmp_path):
    made(tmp_path).close()
    path = tmp_path / "out" / STUDY.table
    path.write_bytes(path.read_bytes()[:-9])
    store = Store.load(tmp_path / "out", STUDY)
    assert store.rows == [] and store.lacks() == ""
    store.expect(1)
    assert store.lacks() == "0 of 1 tests are there"
    said = store.warnings()
    assert "0 of 1 tests are there; `bmmanager resume` goes on with it." in said
    assert any(note.startswith("1 lines of results.csv are torn") for note in said)
    store.resume()
    assert not any("torn" in note for note in store.warnings())
    store.close()


def test_lines_of_a_table_that_are_no_rows_are_told(tmp_path):
    made(tmp_path).close()
    path = tmp_path / "out" / STUDY.table
    head, row = path.read_text().splitlines()
    at = rows.COLUMNS.names.index("received")
    empty = ",".join("" if i == at else v for i, v in enumerate(row.split(",")))
    path.write_text("\n".join([head, row, row, empty, "\0" * 50, ""]))
    store = Store.load(tmp_path / "out", STUDY)
    assert len(store.rows) == 1
    (told,) = [note for note in store.warnings() if STUDY.table in note]
    assert "3 lines" in told and "in no figure" in told


def test_a_table_that_is_removed_meanwhile(tmp_path):
    store = made(tmp_path)
    (tmp_path / "out" / STUDY.table).unlink()
    with pytest.raises(BenchError, match="was removed while the run wrote it"):
        store.keep(dict(store.rows[0]))
    store.close()


def test_round_trips_that_were_removed_have_no_distribution(tmp_path):
    store = made(tmp_path)
    assert every_value._sorted_ms(store, store.rows[0] | {}).shape == np.empty(0).shape
    store.close()


def test_too_many_open_files_are_told_as_such():
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert "ulimit -n" in cannot("go on", error).do
    assert "ulimit -n" in hosts._no_start("a", ["x"], error).do
    assert "build it" in hosts._no_start("a", ["x"], OSError(errno.ENOENT, "none")).do


def with_trips(tmp_path, count: int = 4) -> tuple[Store, Path]:
    """A run of two samples with round trips, and their table."""
    store = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    tests = {"1": {"kind": "RTOL", "samples": 2, "updates": count}}
    store.begin("s", "e", adapter="tcp", tests=tests, pairs=1, state="done", message="")
    path = store.raw_path("s", "e", 1, 1)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for sample in (1, 2):
            head = np.array([sample, count], dtype="<u4").tobytes()
            file.write(head + np.full(count, 2e4 + sample, "<f4").tobytes())
    raw.pack(path.parent)
    found = raw.read(path)
    for sample in (1, 2):
        row = dict.fromkeys(rows.COLUMNS.names, 0) | dict.fromkeys(rows.COLUMNS.texts, "x")
        row |= asked(kind="RTOL", updates=count)
        row |= {"sequence": "s", "execution": "e", "test": 1, "pair": 1, "sample": sample,
                "sent": count, "received": count, "rate_hz": 1e4}  # fmt: skip
        store.keep(row | stats.sample(found[sample]))
    store.save()
    return store, path.with_suffix(".parquet")


@pytest.mark.parametrize("kind", [".raw", ".parquet"])
def test_round_trips_are_not_waited_for_at_a_pipe(tmp_path, kind):
    path = raw.path_of(tmp_path, 1, 1)
    os.mkfifo(path.with_suffix(kind))
    looks = [lambda: raw.read(path)]
    if kind == ".raw":
        looks += [lambda: raw.pack(tmp_path), lambda: raw.Tail(path).take(1)]
    for look in looks:
        with pytest.raises(BenchError, match="it is no regular file") as told:
            look()
        assert told.value.code == "STL-OUT-001"


def _ns(value: float | None):
    def change(table):
        ns = table["ns"].to_pylist()
        changed = pyarrow.array([value, *ns[1:]], pyarrow.float32())
        return pyarrow.table({"sample": table["sample"], "ns": changed})

    return change


TABLES = {
    "without samples": lambda t: t.select(["ns"]), "without values": lambda t: t.select(["sample"]),
    "of lists": lambda t: pyarrow.table({"sample": t["sample"], "ns": [[1.0]] * len(t)}),
    "of texts": lambda t: pyarrow.table({"sample": t["sample"], "ns": ["x"] * len(t)}),
    "of negative samples": lambda t: pyarrow.table({"sample": [-1] * len(t), "ns": t["ns"]}),
    "a null": _ns(None), "no number": _ns(math.nan), "endless": _ns(math.inf),
    "negative": _ns(-1e9),
}  # fmt: skip


@pytest.mark.parametrize("how", [*TABLES, "cut"])
def test_a_damaged_table_of_round_trips_is_told_and_ends_nothing_else(tmp_path, how, capsys):
    store, path = with_trips(tmp_path)
    store.close()
    shutil.copytree(tmp_path / "out", tmp_path / "good")
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    else:
        parquet.write_table(TABLES[how](parquet.read_table(path)), path)
    for look in (Store.summaries, Store.recompute):  # as `resume` and `report` do
        store = Store.load(tmp_path / "out", STUDY)
        try:
            look(store)
        except BenchError as e:  # nothing is left of any
            assert e.code == "STL-OUT-007" and e.where == str(path) and e.do
        else:
            (note,) = store.warnings()
            assert "test 1, pair 1: sample 1" in note and "is in no figure: " in note
    try:
        telling.compare(STUDY, tmp_path / "good", tmp_path / "out")
    except BenchError as e:
        assert e.code == "STL-OUT-007" and e.do
    else:
        assert "sample 1 is in no figure" in capsys.readouterr().err


def test_a_test_whose_round_trips_are_damaged_is_not_done(tmp_path):
    """What `resume` has measured anew; that its values are gone is no such reason."""
    store, path = with_trips(tmp_path)
    store.record("s", "e")["problems"]["1"] = "it ended early"
    assert store.drop_damaged() == [] and store.done("s", "e") == {1}
    path.write_bytes(path.read_bytes()[:-40])
    (note,) = store.drop_damaged()
    assert note == f"s/e, test 1 was measured anew: {path.name} was damaged."
    assert store.done("s", "e") == set() and store.rows == []
    store.close()
    store = Store.load(tmp_path / "out", STUDY)
    path.unlink()
    assert store.drop_damaged() == [] and len(store.rows) == 2


def test_a_report_that_cannot_be_made_ends_no_run(tmp_path, monkeypatch):
    store, _ = with_trips(tmp_path)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("Key backend: 'garbage'\nis none")

    monkeypatch.setattr("starling_bench.studies.rtibm.figures.write", broken)
    store.renew()
    assert store.reports is False and len(store.rows) == 2
    with pytest.raises(BenchError, match=r"the report can't be made: .*garbage") as told:
        attempt.conclude(store, console.console_for())
    assert "report" in told.value.do and (tmp_path / "out" / "summary.json").exists()
    store.close()


def test_what_shows_figures_elsewhere_is_not_asked_for():
    code = "import starling_bench.reports.charts, matplotlib; print(matplotlib.get_backend())"
    env = os.environ | {"MPLBACKEND": "garbage"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.stdout.lower(), done.returncode) == ("agg\n", 0), done.stderr


def test_reliable_messages_that_came_twice_make_a_verdict_red(tmp_path):
    store, _ = with_trips(tmp_path)
    store.rows[0]["doubled"] = 7
    store._known.clear()
    said, against = cells.summed_up(store.summaries(), rows.doubt, rows.latency)
    assert "7 reliable messages came more than once." in said and against == 7
    assert "more than once" in rows.doubt(store.summaries()[0])
    store.close()
