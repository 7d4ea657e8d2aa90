"""Results that somebody has altered, or takes away: one message, no traceback."""

import errno
import json
import os

import numpy as np
import pytest

from starling_bench import every_value, hosts
from starling_bench.errors import BenchError, cannot
from starling_bench.store import Store
from starling_bench.studies.rtibm import STUDY, rows

GIVEN = {"tsf": "t", "tsf_text": "", "notes": [], "file": "t.toml", "scale": 1.0}


def made(tmp_path) -> Store:
    store = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    tests = {"1": {"samples": 3, "pairs": None}}
    store.begin("s", "e", adapter="tcp", tests=tests, pairs=1, state="done")
    row = dict.fromkeys(rows.COLUMNS.names, 0) | dict.fromkeys(rows.COLUMNS.texts, "x")
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
    del run["executions"][0]["tests"], run["executions"][0]["pairs"]
    path.write_text(json.dumps(run))
    store = Store.load(tmp_path / "out", STUDY)
    assert store.done("s", "e") == set() and len(store.summaries()) == 1


def test_a_setting_that_is_no_value(tmp_path):
    made(tmp_path).close()
    path = tmp_path / "out" / "run.json"
    run = json.loads(path.read_text())
    run["executions"][0]["tests"]["1"] |= {"warm_up": {}, "link": ["x"]}
    path.write_text(json.dumps(run))
    assert len(rows.VARIABLES.alike(Store.load(tmp_path / "out", STUDY).summaries())) == 1


@pytest.mark.parametrize("how", ["long", "header", "pipe", "nan", "column", "bytes"])
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
                         "nan": f"{head}\n{nan}\n",
                         "column": text.replace("send_s", "xend_s")}[how])  # fmt: skip
    refused(tmp_path, "this is no table of results")


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
