"""Raw values: small, whole, and enough to make every figure anew. And a large run's report."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from campaign import campaign
from matplotlib.figure import Figure
from test_manager import LIMIT_S, WHOLE, manage, sequence

from starling_bench.errors import BenchError
from starling_bench.kept import raw
from starling_bench.reports import svg
from starling_bench.reports.every_value import thinned


def save(path: Path, sample: int, ns: np.ndarray) -> None:
    """As federates do."""
    with path.open("ab") as file:
        file.write(np.array([sample, len(ns)], dtype="<u4").tobytes() + ns.tobytes())


def trips(seed: int, count: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return (20_000 * (1 + draw.lognormal(0, 0.3, count))).astype("<f4")


def test_round_trips_take_less_than_four_bytes_each(tmp_path):
    path = raw.path_of(tmp_path, 3, 1)
    samples = {number: trips(number, 10_000) for number in range(1, 6)}
    for number, ns in samples.items():
        save(path, number, ns)
    before = raw.read(path)
    raw.pack(tmp_path)
    (packed,) = tmp_path.iterdir()
    assert packed.suffix == ".parquet" and packed.stat().st_size < 4 * 50_000
    for found in (before, raw.read(path)):
        assert list(found) == list(samples)
        assert all(np.array_equal(found[n], ns) for n, ns in samples.items())


def test_what_is_newer_counts_and_half_a_sample_does_not(tmp_path):
    path = raw.path_of(tmp_path, 1, 1)
    save(path, 1, trips(1, 10))
    raw.pack(tmp_path)
    for number in (1, 2, 3):
        save(path, number, trips(10 + number, 20))
    path.write_bytes(path.read_bytes()[:-4])
    assert {n: len(ns) for n, ns in raw.read(path).items()} == {1: 20, 2: 20}
    raw.pack(tmp_path)
    assert {n: len(ns) for n, ns in raw.read(path).items()} == {1: 20, 2: 20}
    assert np.array_equal(raw.read(path)[2], trips(12, 20))


def test_samples_without_round_trips_are_none(tmp_path):
    """All of a test is lost, then what a test before it had left is not its."""
    path = raw.path_of(tmp_path, 1, 1)
    save(path, 1, trips(1, 10))
    raw.pack(tmp_path)
    save(path, 1, trips(1, 0))
    raw.pack(tmp_path)
    assert list(tmp_path.iterdir()) == [] and raw.read(path) == {}


def test_a_sample_that_is_taken_is_read_once_whatever_stands_before_it(tmp_path, monkeypatch):
    """Of 200 samples of 50 values each is read when it came, and none again."""
    path = raw.path_of(tmp_path, 1, 1)
    read, whole = [], np.fromfile

    def counted(file, **options):
        found = whole(file, **options)
        read.append(len(found))
        return found

    monkeypatch.setattr(np, "fromfile", counted)
    tail = raw.Tail(path)
    assert tail.take(1) is None
    for number in range(1, 201):
        save(path, number, trips(number, 50))
        assert list(tail.take(number)) == list(trips(number, 50))
    assert sum(read) == 200 * (2 + 50)
    # What is half written is waited for, and several at once are told one by one.
    save(path, 201, trips(201, 50))
    save(path, 202, trips(202, 50))
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    assert list(tail.take(201)) == list(trips(201, 50)) and tail.take(202) is None
    path.write_bytes(data)
    assert list(tail.take(202)) == list(trips(202, 50))


@pytest.mark.parametrize("kind", [".raw", ".parquet"])
def test_raw_values_that_are_no_file_are_told(tmp_path, kind):
    """Who reads a pipe would wait for ever, and a device has no end."""
    path = raw.path_of(tmp_path, 1, 1)
    os.mkfifo(path.with_suffix(kind))
    with pytest.raises(BenchError, match="can't read round trips: it is no regular file"):
        raw.read(path)
    if kind == ".raw":
        with pytest.raises(BenchError, match="it is no regular file"):
            raw.Tail(path).take(1)


def test_a_table_that_is_none_is_told(tmp_path):
    path = raw.path_of(tmp_path, 1, 1)
    path.with_suffix(".parquet").write_text("sample,ns\n")
    with pytest.raises(BenchError, match="no table of round trips") as told:
        raw.read(path)
    assert told.value.code == "STL-OUT-007"
    assert told.value.where == str(path.with_suffix(".parquet"))


# Reads a table as `compare` does, and says how many threads that began.
THREADS = """
import os, sys
from pathlib import Path
import pyarrow.parquet
from starling_bench.kept import raw
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
assert len(raw.read(Path(sys.argv[1]))) == 5
print(threads() - before)
"""


def test_no_thread_is_left_that_holds_a_table_while_the_process_exits(tmp_path):
    """Arrow's pool lets go of what it has read behind the reader's back: where that falls into the
    interpreter's end, the process ends with "terminate called without an active exception"."""
    path = raw.path_of(tmp_path, 1, 1)
    for number in range(1, 6):
        save(path, number, trips(number, 1000))
    raw.pack(tmp_path)
    done = subprocess.run([sys.executable, "-c", THREADS, path], text=True, capture_output=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "0\n")


def test_a_table_without_its_columns_is_told(tmp_path):
    import pyarrow
    from pyarrow import parquet

    path = raw.path_of(tmp_path, 3, 1)
    parquet.write_table(pyarrow.table({"sample": [1], "us": [2.0]}), path.with_suffix(".parquet"))
    with pytest.raises(BenchError, match=r"no table of round trips: .*ns"):
        raw.read(path)


def report(directory: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "report", directory]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.long
def test_every_figure_is_made_anew_from_a_copied_directory(tmp_path):
    assert manage(tmp_path, sequence("good", test=WHOLE))[0] == 0
    there, copy = tmp_path / "out", tmp_path / "elsewhere" / "copy"
    shutil.copytree(there, copy)
    for path in (*copy.glob("report.html"), *copy.glob("summary.*")):
        path.unlink()
    shutil.rmtree(copy / "figures")
    # What follows from round trips is not taken from the table.
    with (copy / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(row["rtt_mean_ms"] for row in rows)
    with (copy / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: "" if k.startswith("rtt_") else v for k, v in row.items()}
                         for row in rows)  # fmt: skip
    shutil.move(there, tmp_path / "gone")
    done = report(copy)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("summary.json", "summary.csv", "report.html"):
        assert (copy / name).read_text() == (tmp_path / "gone" / name).read_text(), name
    drawn = sorted(path.name for path in (tmp_path / "gone" / "figures").iterdir())
    assert sorted(path.name for path in (copy / "figures").iterdir()) == drawn
    # Where one sample's are not whole, or a test's are damaged, that is left out, and said.
    some, other, *_ = sorted(copy.rglob("*.parquet"))
    ((test, pair),) = re.findall(r"rtt_test(\d+)_pair(\d+)", some.name)
    found = raw.read(raw.path_of(some.parent, int(test), int(pair)))
    some.unlink()
    for number, ns in found.items():
        save(
            raw.path_of(some.parent, int(test), int(pair)), number, ns[: 5 if number == 2 else None]
        )
    other.write_text("power was lost")
    done = report(copy)
    assert done.returncode == 1 and "STL-OUT-012: not all is there: 4 samples" in done.stderr
    said = " ".join(re.sub("<[^>]*>", " ", (copy / "report.html").read_text()).split())
    assert f"Of s/one, test {test}, pair {pair}: sample 2 is in no figure" in said
    assert "sample 1, 2, 3 is in no figure: this is no table of round trips" in said
    fewer = json.loads((copy / "summary.json").read_text())
    assert sorted(s["samples"] for s in fewer) == [2, *[3] * 6]
    # Without raw values there is no figure.
    for path in (*copy.rglob("*.parquet"), *copy.rglob("rtt_*.raw")):
        path.unlink()
    done = report(copy)
    assert done.returncode == 1 and "STL-RUN-009" in done.stderr and "0 are saved" in done.stderr


@pytest.mark.long
def test_the_whole_campaigns_report_is_small(tmp_path, monkeypatch):
    """5 MB, and 6 with the summaries; its tables have every test."""
    save_figure = Figure.savefig

    def quick(figure, to, **options):
        if not str(to).endswith(".png"):  # they take most of the time
            save_figure(figure, to, **options)

    monkeypatch.setattr(Figure, "savefig", quick)
    store = campaign(tmp_path / "out", scale=0.1)
    summaries = store.save()
    store.study.report(store, summaries)
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "out").iterdir() if p.is_file()}
    assert sizes["report.html"] <= 5_000_000
    summed_up = ("report.html", "summary.json", "summary.csv")
    assert sum(sizes[name] for name in summed_up) <= 6_000_000, sizes
    html = (tmp_path / "out" / "report.html").read_text()
    # Each curve says at what values the other variables are held, and has the raw limit beside it.
    captions = re.findall(r"<figcaption>(Held: .*?)</figcaption>", html)
    assert len(captions) > 20 and all("pairs" in c or "instances" in c for c in captions)
    assert all("Broken lines: the same loops without an RTI (" in c for c in captions)
    assert len(summaries) > 400 and html.count("<tr>") > len(summaries)
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summaries


def test_a_drawing_keeps_what_is_in_it():
    whole = """<p>1.23456</p><svg viewBox="0 0 9 9">
 <defs>
  <style type="text/css">*{stroke-linejoin: round}</style>
 </defs>
 <g id="f1_axes_1">
  <g id="f1_line-0">
   <defs><path id="f1_m" d="M 0 0
L 1.23456 -3
" style="stroke: #000000; stroke-width: 0.8"/></defs>
   <use href="#f1_m" x="77.250202" y="2" style="stroke: #000000; stroke-width: 0.8"/>
   <text x="1" style="font-size: 9px" transform="rotate(-0 1 2)">1.2345 ms, a</text>
  </g>
 </g>
</svg>"""
    small, sheet = svg.compact(whole)
    assert small == (
        '<p>1.23456</p><svg viewBox="0 0 9 9"><g><g id="f1_line-0">'
        '<defs><path id="i0" d="M0 0L1.23 -3" class="k0"/></defs>'
        '<use href="#i0" x="77.25" y="2" class="k0"/>'
        '<text x="1" class="k1">1.2345 ms, a</text></g></g></svg>'
    )
    assert "k0{stroke:#000000;stroke-width:0.8}" in sheet and "k1{font-size:9px}" in sheet
    assert "linejoin:round" in re.sub(r"\s", "", sheet)


def test_what_is_thinned_keeps_its_extremes():
    draw = np.random.default_rng(7)
    points = [(i, float(v)) for i, v in enumerate(draw.lognormal(0, 1, 50_000), 1)]
    shown = thinned(points, 100)
    assert len(shown) <= 2 * 501 and shown == sorted(shown)
    for at in range(0, 50_000, 100):
        column = [v for i, v in points if i // 100 == at // 100]
        kept = [v for i, v in shown if i // 100 == at // 100]
        assert (min(kept), max(kept)) == (min(column), max(column))
    assert thinned(points[:300], 300 / 500) == points[:300]
