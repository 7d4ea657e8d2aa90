"""A run whose table of rows was removed: its masters have written them down, too."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs import (
    BMFED,
    QUICK,
    run as run,  # the fixture
    text,
)

from starling_bench.errors import BenchError
from starling_bench.kept import mastered
from starling_bench.kept.store import Store
from starling_bench.studies.rtibm import STUDY

# What only the manager knew, and what follows from it.
LACKING = ("others_cpu", "busy", "unjudged")


def table(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def figures(rows: list[dict]) -> list[dict]:
    """But for that; what are numbers are so."""

    def value(text: str) -> object:
        try:
            return float(text)
        except ValueError:
            return text

    return [{k: value(v) for k, v in row.items() if k not in LACKING} for row in rows]


@pytest.mark.skipif(not BMFED, reason="BMFED is not set")
def test_a_run_that_was_not_begun_as_its_file_has_it_is_not_resumed(run):
    """Whatever it says of its file."""
    run.start(text(QUICK, rti='adapter = "tcp"'))
    assert run.end()[::2] == (0, "")
    path = run.directory / "out" / "run.json"
    words = [sys.executable, "-m", "starling_bench.studies.rtibm", "resume", str(path.parent)]
    other = json.loads(path.read_text())
    other["executions"][0]["tests"]["1"]["updates"] += 1
    lacking = json.loads(path.read_text())
    lacking["executions"][0]["execution"] = "other"
    why = "'updates' of test 1 was 301, and would be 300", ""
    for told, but in zip((other, lacking), why, strict=True):
        told["executions"][0].pop("tests_crc32")
        path.write_text(json.dumps(told))
        # What was measured is neither of what the run says of it.
        for name in ("results.csv", "s/e/results.csv"):
            (path.parent / name).unlink(missing_ok=True)
        done = subprocess.run(words, text=True, capture_output=True)
        assert done.returncode == 2 and "STL-OUT-004" in done.stderr, done.stderr
        assert "was not begun as the test sequence file has it" in done.stderr
        assert but in done.stderr


@pytest.mark.long
@pytest.mark.skipif(not BMFED, reason="BMFED is not set")
def test_a_table_that_was_removed_is_written_anew(run):
    run.start(text(QUICK, rti='adapter = "tcp"'))
    assert run.end()[::2] == (0, "")
    out = run.directory / "out"
    before, summaries = table(out / "results.csv"), json.loads((out / "summary.json").read_text())
    assert len(before) == 16
    for name in ("results.csv", "summary.json", "summary.csv"):
        (out / name).unlink()

    def does(command: str) -> str:
        words = [sys.executable, "-m", "starling_bench.studies.rtibm", command, str(out)]
        done = subprocess.run(words, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert "8 of 8 tests are done" in does("status") and not (out / "results.csv").exists()
    assert "There was no results.csv: its rows are those that the masters wrote" in does("report")
    # A master writes nine digits.
    after = figures(table(out / "results.csv"))
    assert len(after) == 16
    for one, other in zip(figures(before), after, strict=True):
        for name, value in one.items():
            assert other[name] == (
                pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
            ), name
    again = json.loads((out / "summary.json").read_text())
    assert [s["received"] for s in again] == [s["received"] for s in summaries]
    assert [s["rtt_ms"] for s in again] == [s["rtt_ms"] for s in summaries]
    # Nothing is left to be done, and the note stays.
    assert "all 8 tests are done" in does("resume") and "There was no results.csv" in does("report")


HEAD = ("test,kind,transport,loop,types,instances,buffers,bytes,updates,pair,sender,receiver,"
        "sample,sent,received,lost,late,doubled,send_s,receive_s,rate_hz,mb_per_s,came_reliably,"
        "heartbeats,unrecorded\n")  # fmt: skip
LINE = "{},OWOT,reliable,3,1,1,1,8,100,1,a,b,{},100,100,0,0,0,1,1,{},1,100,0,0\n"


def made(directory: Path, **files: str) -> dict:
    """A run of one execution of two tests with two samples, with these tables of its master."""
    folder = directory / "s" / "e"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / f"{name.replace('_', '.')}.csv").write_text(HEAD + content)
    tests = {"1": {"samples": 2}, "2": {"samples": 2}}
    return {"executions": [{"sequence": "s", "execution": "e", "pairs": 1, "tests": tests}]}


def test_what_was_taken_again_is_where_that_was(tmp_path):
    """Of a test that an interrupt left half done; what nobody asked for is no row."""
    first = LINE.format(1, 1, 10) + LINE.format(1, 2, 11) + LINE.format(2, 1, 12)
    second = LINE.format(2, 1, 13) + LINE.format(3, 1, 1) + LINE.format(2, 3, 1)
    third = LINE.format(2, 1, 14) + LINE.format(2, 2, 15) + "2,OWOT,rel"
    run = made(tmp_path, results_1=first, results_2=second, results=third)
    found = mastered.rows(tmp_path, STUDY, run)
    assert [(r["test"], r["sample"], r["rate_hz"]) for r in found] == [
        (1, 1, 10), (1, 2, 11), (2, 1, 14), (2, 2, 15),
    ]  # fmt: skip
    assert all(r["others_cpu"] is None and r["sequence"] == "s" for r in found)


def test_a_masters_table_that_is_none_is_told(tmp_path):
    run = made(tmp_path, results=LINE.format(1, 1, "nan") + LINE.format("x", 1, 1))
    assert mastered.rows(tmp_path, STUDY, run) == []
    (tmp_path / "s" / "e" / "results.csv").write_bytes(b"\xff\n\n")
    with pytest.raises(BenchError, match="no table of results"):
        mastered.rows(tmp_path, STUDY, run)


def test_a_masters_row_that_does_not_add_up_is_told(tmp_path):
    line = LINE.format(1, 1, 10).replace("100,100,0,0,0", "120,100,0,0,0")
    run = made(tmp_path, results=LINE.format(1, 2, 11) + line)
    with pytest.raises(BenchError, match="120 sent is not what came"):
        mastered.rows(tmp_path, STUDY, run)


def test_without_any_table_no_report_is_made(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    made(tmp_path)
    with pytest.raises(BenchError, match=r"there is no results\.csv to make a report of"):
        Store.require_table(tmp_path, STUDY)
