"""What is kept of a run is of one commit, and of nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from starling_bench.conducting import follow
from starling_bench.kept.store import Store
from starling_bench.studies.rtibm import STUDY

KEEP = Path(__file__).parents[1] / "keep.py"
COMMIT = "8718cb5ad0f1"


def keeps(tmp_path: Path, commit: str = COMMIT[:7], figures: str | None = None) -> tuple[int, str]:
    """The exit code and what was said of a run of that commit, with figures that begin so."""
    run = tmp_path / "run"
    run.mkdir(exist_ok=True)
    for name in ("report.html", "summary.csv", "summary.json"):
        (run / name).write_text(f"new {name}")
    (run / "run.json").write_text(json.dumps({"commit": commit, "executions": []}))
    more = []
    if figures is not None:
        more = [tmp_path / "figures.txt"]
        more[0].write_text(f"{figures}\nmore\n")
    done = subprocess.run(
        [sys.executable, KEEP, run, tmp_path / "kept", *more], text=True, capture_output=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("commit", [COMMIT[:7], f"v0.1-12-g{COMMIT}"])
def test_a_run_and_figures_of_one_commit_are_kept(tmp_path, commit):
    assert keeps(tmp_path, commit, f"commit {COMMIT}") == (0, "")
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"report.html", "summary.csv", "summary.json", "run.json", "figures.txt"}


@pytest.mark.parametrize(
    ("commit", "figures", "said"),
    [
        (f"{COMMIT}-dirty", None, "is of commit '8718cb5ad0f1-dirty'"),
        ("unknown", None, "is of commit 'unknown'"),
        (COMMIT, "commit 0123456789ab", "is of commit 0123456789ab, and"),
        (COMMIT, "sender: 86", "figures.txt is of commit 'sender: 86'"),
        (COMMIT, f"commit {COMMIT}-dirty", "figures.txt is of commit '8718cb5ad0f1-dirty'"),
    ],
)
def test_what_is_of_another_or_of_no_commit_is_not_kept(tmp_path, commit, figures, said):
    code, told = keeps(tmp_path, commit, figures)
    assert code == 1 and said in told
    assert not (tmp_path / "kept").exists()


def test_nothing_of_another_run_stays_beside_it(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "figures.txt").write_text("old")
    code, told = keeps(tmp_path)
    assert code == 1 and "is not empty" in told
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["figures.txt"]


def test_rounds_of_several_builds_are_told(tmp_path):
    """As where somebody built between two of them."""
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    for sequence, built in (("same", "xx"), ("built", "xy"), ("other", "zz")):
        for n, checksum in enumerate(built, 1):
            store.begin(sequence, f"e.{n}", round_of="e", tests={},
                        libraries={"librti1516e.so": checksum, "libc.so": "c"})  # fmt: skip
    assert store.warnings() == [
        "librti1516e.so was not the same in all executions of built: they are of several builds "
        "(see Libraries)."
    ]
    store.close()


def test_an_execution_that_goes_on_with_another_library_says_so(tmp_path):
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    rti = type("Rti", (), {"place": lambda self, field: ""})()
    named = type("Named", (), {"name": "x", "master": "m", "rti": rti})()
    record = store.begin("x", "x", tests={"1": {"samples": 1}}, pairs=1)
    library = tmp_path / "librti1516e.so"
    for built in ("one", "one", "other"):
        assert not store.run["notes"]
        library.write_text(built)
        master = follow.Master(store, named, named, lambda event: None, record)
        master.roots = {"m": None}
        master.hear({"event": "joined", "rti": "R 1", "libraries": [str(library)]})
        master.check()
    (said,) = store.run["notes"]
    assert said.startswith("x/x: librti1516e.so changed between its tests")
    store.close()
