"""bmmanager against federates that work, fail, die and hang: real processes."""

import asyncio
import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from starling_bench.commands import telling
from starling_bench.commands.attempt import Attempt
from starling_bench.conducting import conduct, follow
from starling_bench.errors import BenchError
from starling_bench.kept.store import Store
from starling_bench.machines import identity, idle
from starling_bench.machines.rti import Adapter
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

# Far more than any of it takes; what hangs fails instead of holding up the rest.
LIMIT_S = 100
BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
FOM = Path(__file__).parents[1] / "foms" / "rtibm.xml"
PRETEND = Path(__file__).with_name("pretend.py")


# What has every figure, and what takes little where processes are under test and not the report.
WHOLE = """kind = ["RTOL", "OWOT"]
transport = ["reliable", "best_effort"]
buffer_bytes = [8, 100]
updates = 200
samples = 3
"""
SMALL = """kind = "OWOT"
transport = ["reliable", "best_effort"]
updates = 200
samples = 3
"""


def sequence(subordinate: str, fom: str = "f.xml", extra: str = "", test: str = SMALL) -> str:
    return f"""
[[sequence]]
name = "s"
fom = "{fom}"
command = ["{sys.executable}", "{PRETEND}"]
master = "master"
{extra}
[sequence.rti]
adapter = "generic"
[[sequence.federate]]
name = "master"
[[sequence.federate]]
name = "{subordinate}"
[[sequence.pair]]
sender = "master"
receiver = "{subordinate}"
[[sequence.execution]]
name = "one"
[[sequence.execution.test]]
{test}"""


def start(tmp_path: Path, text: str, *options: str) -> subprocess.Popen:
    shutil.copy(FOM, tmp_path / "f.xml")
    (tmp_path / "t.tsf.toml").write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "starling_bench.studies.rtibm", "run", "t.tsf.toml", "--out", "out",
         "--idle-wait-s", "0", *options],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def manage(tmp_path: Path, text: str, *options: str) -> tuple[int, str, str]:
    manager = start(tmp_path, text, *options)
    out, err = manager.communicate(timeout=LIMIT_S)
    assert left_behind(tmp_path) == []
    return manager.returncode, out, err


def left_behind(tmp_path: Path) -> list[str]:
    """Command lines of processes that work in the test's directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(tmp_path) in os.readlink(entry / "cwd"):
                found.append((entry / "cmdline").read_text())
        except OSError:
            pass
    return found


def rows(tmp_path: Path) -> list[dict]:
    with (tmp_path / "out" / "results.csv").open() as f:
        return list(csv.DictReader(f))


def as_on_an_idle_machine(tmp_path: Path) -> None:
    """Whatever else ran: of samples that others disturbed nothing is judged."""
    changed = [row | {"others_cpu": "0.0"} for row in rows(tmp_path)]
    with (tmp_path / "out" / "results.csv").open("w", newline="") as f:
        out = csv.DictWriter(f, list(changed[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(changed)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a run that went well, and what it said."""
    tmp_path = tmp_path_factory.mktemp("good")
    code, out, err = manage(tmp_path, sequence("good", test=WHOLE))
    assert (code, err) == (0, "")
    return tmp_path, out


def test_a_good_run_gives_tables_csv_and_report(good):
    tmp_path, out = good
    assert "Round trip" in out and "updates/s" in out and "received" in out
    assert len(rows(tmp_path)) == 8 * 3
    shares = [row["others_cpu"] for row in rows(tmp_path)]
    assert all(share == "" or 0 <= float(share) <= 1 for share in shares)
    summaries = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert len(summaries) == 8
    trips = summaries[0]["rtt_ms"]
    assert trips["count"] == 600
    assert 0.02 <= trips["min"] <= trips["percentiles"]["50"] <= trips["max"] <= 0.04
    assert (tmp_path / "out" / "s" / "one" / "good.log").exists()


def test_the_report_is_self_contained(good):
    tmp_path, _ = good
    html = (tmp_path / "out" / "report.html").read_text()
    assert "Best effort that was none" in html
    assert "600 of 600 came by a reliable way" in html
    assert html.count("<svg") == html.count("</svg>") >= 6
    assert not re.search(r"https?://|<script|<link|@import|src=", html)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html))
    assert used and used <= set(ids)


def test_every_figure_is_an_svg_and_a_png_too(good):
    tmp_path, _ = good
    figures = tmp_path / "out" / "figures"
    drawn = {kind: {f.stem for f in figures.glob(f"*.{kind}")} for kind in ("svg", "png")}
    html = (tmp_path / "out" / "report.html").read_text()
    assert drawn["svg"] == drawn["png"] and len(drawn["svg"]) == html.count("<svg")
    assert all(f.read_bytes().startswith(b"\x89PNG\r\n") for f in figures.glob("*.png"))


def test_the_report_says_how_it_departs_from_the_source(good):
    """The returnee's flush, ticks that are a figure's own, and what else was sent."""
    tmp_path, _ = good
    html = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "unlike the published loop, the returnee flushes its returns at once" in html
    assert "a frequency close to that wait's is the tick's, not the RTI's" in html
    assert "0 heartbeats were sent between flushes, in all samples together" in html


def test_a_killed_federate_ends_the_run_and_results_stay(tmp_path):
    code, _, err = manage(tmp_path, sequence("killed"))
    assert code == 1
    assert err.count("STL-") == 1
    assert "federate 'killed' was ended by SIGKILL during test 2 of 2" in err
    assert len(rows(tmp_path)) == 3
    html = (tmp_path / "out" / "report.html").read_text()
    assert "was ended by SIGKILL" in html


def saved(tmp_path: Path) -> list[str]:
    """What there is of round trips."""
    return sorted(path.name for path in (tmp_path / "out" / "s" / "one").glob("rtt_*"))


ROUND_TRIPS = SMALL.replace("OWOT", "RTOL")


def report(tmp_path: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "report", "out"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    return done.returncode, done.stderr


@pytest.mark.long
def test_a_failed_runs_round_trips_are_a_table(tmp_path):
    assert manage(tmp_path, sequence("killed", test=ROUND_TRIPS), "--no-report")[0] == 1
    assert saved(tmp_path) == ["rtt_test1_pair1.parquet"]
    before = rows(tmp_path)
    code, said = report(tmp_path)
    assert code == 1 and said.startswith("STL-OUT-012: not all is there: 1 of 2 tests")
    assert rows(tmp_path) == before and len(before) == 3


@pytest.mark.long
def test_round_trips_that_cannot_be_a_table_stay(tmp_path):
    """And nobody speaks of it: the failure is what is told."""
    manager = start(tmp_path, sequence("hangs", test=ROUND_TRIPS), "--no-report")
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    wait_for(lambda: len(rows(tmp_path)) == 3)
    (tmp_path / "out" / "s" / "one" / "rtt_test1_pair1.tmp").mkdir()
    manager.terminate()
    err = manager.communicate(timeout=LIMIT_S)[1]
    assert err.count("STL-") == 1 and err.startswith("STL-RUN-004: interrupted")
    assert "rtt_test1_pair1.raw" in saved(tmp_path)
    code, err = report(tmp_path)
    assert code == 1 and err.count("STL-") == 1 and err.startswith("STL-OUT-012: not all is there")


@pytest.mark.long
def test_a_killed_managers_round_trips_are_a_table_with_its_report(tmp_path):
    manager = start(tmp_path, sequence("hangs", test=ROUND_TRIPS), "--no-report")
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    wait_for(lambda: len(rows(tmp_path)) == 3)
    assert report(tmp_path)[0] == 2
    assert saved(tmp_path) == ["rtt_test1_pair1.raw"]
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    assert report(tmp_path)[0] == 1  # of a test that was not there yet
    assert saved(tmp_path) == ["rtt_test1_pair1.parquet"]


def test_round_trips_that_were_not_recorded_are_told(tmp_path, monkeypatch):
    """Those that the disk was too slow for are in no figure, and not missed."""
    monkeypatch.setenv("PRETEND_UNRECORDED", "7")
    code, _, err = manage(tmp_path, sequence("good", test=ROUND_TRIPS))
    assert (code, err) == (0, "")
    assert {(r["received"], r["unrecorded"]) for r in rows(tmp_path)} == {("200", "7")}
    assert "42 round trips are in no figure" in (tmp_path / "out" / "report.html").read_text()


def test_a_refusing_federate_is_quoted(tmp_path):
    code, _, err = manage(tmp_path, sequence("refuses"), "--no-report")
    assert code == 1
    assert "federate 'refuses' ended with exit code 1" in err
    assert "bmfed: FOM not understood" in err


def test_an_unreachable_rti_has_its_own_exit_code(tmp_path):
    assert manage(tmp_path, sequence("unreachable"), "--no-report")[0] == 3


def test_a_federate_that_ignores_the_end_is_killed(tmp_path):
    code, _, err = manage(tmp_path, sequence("stubborn"), "--no-report")
    assert code == 1
    assert "federate 'master' ended with exit code 1" in err and "I give up" in err


def test_what_a_federate_leaves_running_is_ended(tmp_path):
    assert manage(tmp_path, sequence("parent"), "--no-report")[0] == 0
    orphan = int((tmp_path / "out" / "s" / "one" / "orphan").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_a_failed_execution_does_not_keep_the_next_from_running(tmp_path):
    second = sequence("good").replace('name = "s"', 'name = "s2"')
    code, _, err = manage(tmp_path, sequence("refuses") + second, "--no-report")
    assert code == 1 and "refuses" in err
    assert {r["sequence"] for r in rows(tmp_path)} >= {"s2"}


@pytest.mark.long
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_keeps_results_and_leaves_nothing(tmp_path, sig):
    manager = start(tmp_path, sequence("hangs"))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    manager.send_signal(sig)
    _, err = manager.communicate(timeout=LIMIT_S)
    assert manager.returncode == 1
    assert "interrupted" in err
    assert left_behind(tmp_path) == []
    assert len(rows(tmp_path)) == 3
    assert (tmp_path / "out" / "report.html").exists()


def abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, heard) -> Store:
    """The results of a run whose master is not waited for any longer."""
    monkeypatch.setattr(follow, "SLACK_S", LIMIT_S)
    # It is looked at often, as the time changes while it is waited for.
    monkeypatch.setattr(follow.Master, "until_s", lambda _: time.monotonic() + 0.05)
    shutil.copy(FOM, tmp_path / "f.xml")
    path = tmp_path / "t.tsf.toml"
    path.write_text(text)
    one = plan.load(path, STUDY).sequence[0]
    store = Store.create(tmp_path / "out", STUDY, {})
    store.reports = False
    me = identity.Run()
    conductor = conduct.Conductor(STUDY, tmp_path, None, None, me)
    run = conductor.execute(store, one, one.execution[0], Adapter(), heard)
    with pytest.raises(BenchError) as told:
        asyncio.run(asyncio.wait_for(run, LIMIT_S))
    assert told.value.code == "STL-RUN-006"
    assert left_behind(tmp_path) == []
    me.end()
    store.run["why"] = told.value
    return store


def test_federates_that_say_nothing_are_given_up(tmp_path, monkeypatch):
    def heard(event: dict) -> None:
        # From here on it says nothing.
        if event["event"] == "test" and event["test"] == 2:
            monkeypatch.setattr(follow, "SLACK_S", 0.5)

    text = sequence("hangs", extra="data_timeout_s = 0.5")
    store = abandoned(tmp_path, monkeypatch, text, heard)
    told = store.run["why"].what
    assert told == "nothing was heard of federate 'master' for 2 s during test 2 of 2"
    assert len(store.rows) == 3


def test_a_master_that_only_lives_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PRETEND_DOES", "only lives")
    lives = []

    def heard(event: dict) -> None:
        lives.append(event["event"])
        if len(lives) == 3:
            monkeypatch.setattr(follow.Master, "begin_s", lambda _: 0.0)

    why = abandoned(tmp_path, monkeypatch, sequence("good"), heard).run["why"]
    assert why.what == "federate 'master' lives, but has begun no test for 0 s"
    assert "raise join_timeout_s" in why.do and set(lives) == {"alive"}


def test_a_killed_manager_takes_its_federates_along(tmp_path):
    manager = start(tmp_path, sequence("hangs"), "--no-report")
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    wait_for(lambda: not left_behind(tmp_path))  # the kernel does its part


FAULTS = {
    "missing FOM": (sequence("good", fom="none.xml"), "STL-FOM-001"),
    "unknown adapter": (
        sequence("good").replace('"generic"', '"x"'),
        "STL-TSF-005: there is no adapter",
    ),
    "missing program": (
        sequence("good").replace(f'"{sys.executable}"', '"no-such-program"'),
        "STL-RUN-002",
    ),
    "FOM without the classes": (sequence("good", fom="g.xml"), "STL-FOM-003"),
    "other host": (
        sequence("good").replace('name = "good"\n', 'name = "good"\nhost = "elsewhere"\n'),
        "STL-TSF-005",
    ),
    "CPU that is not there": (sequence("good", extra="cpus = [4095]"), "STL-RUN-011"),
    "bundling unknown": (sequence("good", extra="bundling = false"), "STL-RTI-002"),
    "RTI's root that is not there": (
        sequence("good").replace('"generic"', '"generic"\nroot = "nowhere"'),
        "STL-RTI-001: no lib directory below the RTI's root",
    ),
    "server that is not there": (
        sequence("good").replace(
            '"generic"', '"generic"\nserver = ["./nosuch"]\nserver_ready = "ready"'
        ),
        "nosuch' is not there\n  at t.tsf.toml:10\n  do: correct 'server' in the RTI's table",
    ),
    "server that dies": (
        sequence("good").replace(
            '"generic"', '"generic"\nserver = ["false"]\nserver_ready = "ready"'
        ),
        "STL-RTI-004",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_end_with_one_clear_message(tmp_path, fault):
    text, expected = FAULTS[fault]
    (tmp_path / "g.xml").write_text(FOM.read_text().replace("<name>S17</name>", "<name>T</name>"))
    code, _, err = manage(tmp_path, text, "--no-report")
    assert code == (1 if fault == "server that dies" else 2)
    # What can be seen before anything is written leaves the directory free.
    assert (tmp_path / "out").exists() == (code == 1)
    assert expected in err and err.count("STL-") == 1


def test_a_run_is_not_compared_with_itself(tmp_path):
    with pytest.raises(BenchError, match="both are the same run"):
        telling.compare(STUDY, tmp_path / "out", tmp_path / "x" / ".." / "out")


def test_a_run_directory_is_never_written_twice(good):
    tmp_path, _ = good
    before = (tmp_path / "out" / "results.csv").read_bytes()
    code, _, err = manage(tmp_path, sequence("good"), "--no-report")
    assert code == 2 and "STL-OUT-002: there are results already" in err and "--resume" in err
    assert (tmp_path / "out" / "results.csv").read_bytes() == before


def contents(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Of each file below it, with its time."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_what_is_done_is_not_gone_on_with(good):
    """It is said at once, also while other programs are busy, and nothing is written."""
    tmp_path, _ = good
    (tmp_path / "t.tsf.toml").write_text(sequence("good", test=WHOLE))  # others' tests wrote it
    before = contents(tmp_path / "out")
    again = [sys.executable, "-m", "starling_bench.studies.rtibm", "resume", "out"]
    done = subprocess.run(again, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("all 8 tests are done; `bmmanager report out` writes the report anew\n")
    assert contents(tmp_path / "out") == before


def test_of_figures_alone_no_report_is_made(good, tmp_path):
    """It would be empty, in the place of that which is kept."""
    kept = tmp_path / "out"
    kept.mkdir()
    for name in ("run.json", "report.html", "summary.csv", "summary.json"):
        shutil.copy(good[0] / "out" / name, kept)
    before = contents(kept)
    code, err = report(tmp_path)
    assert code == 2 and err.startswith("STL-OUT-010: there is no results.csv"), err
    assert contents(kept) == before


def test_where_results_go_is_told():
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "run", "--help"]
    said = subprocess.check_output(command, text=True, env=os.environ | {"COLUMNS": "200"})
    assert "bench-results/FILE-DATE" in said


@pytest.mark.long
@pytest.mark.parametrize("gone", [True, False])
def test_a_run_that_was_killed_is_resumed_to_the_same_rows(tmp_path, gone):
    """What is done is not done again, half a test is."""
    text = sequence("hangs", test=SMALL.replace("OWOT", "RTOL"))
    manager = start(tmp_path, text)
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    wait_for(lambda: len(rows(tmp_path)) == 3)
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    first = rows(tmp_path)
    assert len(first) == 3
    with (tmp_path / "out" / "results.csv").open("a") as half:
        half.write("s,one,2,RTOL,relia")
    # From here on the federate does not hang.
    (tmp_path / "out" / "s" / "one" / "cured").touch()
    # Meanwhile another commit was built, and the file says something else, or is gone.
    tsf = tmp_path / "t.tsf.toml"
    if gone:
        tsf.unlink()
    else:
        tsf.write_text("[[sequence]]\n")
    assert status(tmp_path)[1].startswith("1 of 2 tests are done; ")
    run = tmp_path / "out" / "run.json"
    run.write_text(json.dumps(json.loads(run.read_text()) | {"commit": "0123456"}))
    again = [
        sys.executable,
        "-m",
        "starling_bench.studies.rtibm",
        "resume",
        "out",
        "--idle-wait-s",
        "0",
    ]
    done = subprocess.run(again, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    every = rows(tmp_path)
    assert every[:3] == first
    assert [(r["test"], r["sample"]) for r in every] == [
        (str(t), str(s)) for t in (1, 2) for s in (1, 2, 3)
    ]
    found = json.loads(run.read_text())
    assert found["executions"][0]["state"] == "done"
    assert any("what was measured until then is of 0123456" in note for note in found["notes"])


def status(tmp_path: Path) -> list[str]:
    """What `status` says of the run."""
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "status", "out"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.long
def test_status_says_how_far_a_run_is(tmp_path):
    """While it runs, when its manager has died, and when it is done."""
    manager = start(tmp_path, sequence("hangs", test=SMALL.replace("OWOT", "RTOL")), "--no-report")
    wait_for(lambda: (tmp_path / "out" / "results.csv").exists() and len(rows(tmp_path)) == 3)
    going, count, last = status(tmp_path)
    assert going == "s/one: running, 1 of 2 tests, 3 samples"
    assert count == f"1 of 2 tests are done; process {manager.pid} conducts it"
    assert last.startswith("last: s/one test 1 (RTOL reliable 8 B), sample 3: ")
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    assert status(tmp_path)[1] == (
        "1 of 2 tests are done; no manager conducts it; bmmanager resume out goes on with it"
    )
    (tmp_path / "out" / "s" / "one" / "cured").touch()
    again = [sys.executable, "-m", "starling_bench.studies.rtibm", "resume", "out"]
    subprocess.run([*again, "--idle-wait-s", "0"], cwd=tmp_path, check=True, capture_output=True)
    assert status(tmp_path)[:2] == [
        "s/one: done, 2 of 2 tests, 6 samples",
        "2 of 2 tests are done; no manager conducts it",
    ]


def test_what_is_known_can_be_read_while_later_tests_run(tmp_path):
    """Summaries and tables; when the run ends they have figures, too."""
    manager = start(tmp_path, sequence("hangs", test=SMALL.replace("OWOT", "RTOL")))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    (summary,) = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["test"], summary["samples"]) == (1, 3)
    assert len((tmp_path / "out" / "summary.csv").read_text().splitlines()) == 2
    html = (tmp_path / "out" / "report.html").read_text()
    assert "The run goes on" in html and f"{summary['sent']:,}" in html and "<svg" not in html
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=LIMIT_S)
    html = (tmp_path / "out" / "report.html").read_text()
    assert "The run goes on" not in html and "<svg" in html


def test_within_a_sample_the_manager_does_nothing(tmp_path):
    """Its federates say nothing: it sleeps. What samples took of its CPU time is told."""
    manager = start(tmp_path, sequence("hangs", extra="data_timeout_s = 100", test=WHOLE))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    status = Path(f"/proc/{manager.pid}/status")

    def woken() -> str:
        return re.search(r"^voluntary_ctxt_switches:.*", status.read_text(), flags=re.M)[0]

    def sleeps() -> bool:
        before = woken()
        time.sleep(1.5)
        return woken() == before

    wait_for(sleeps)  # it has done what it had to do before
    assert sleeps()
    (tmp_path / "out" / "s" / "one" / "cured").touch()
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=LIMIT_S)
    took = json.loads((tmp_path / "out" / "run.json").read_text())["manager"]
    assert took["samples"] == len(rows(tmp_path)) == 3
    assert "ms within a sample, at most" in (tmp_path / "out" / "report.html").read_text()


def test_without_a_terminal_there_are_lines_of_progress(tmp_path):
    """Also while one sample takes long."""
    manager = start(tmp_path, sequence("hangs", test=WHOLE), "--progress-s", "0.05")
    wanted = "3 of 24 samples: s/one test 1 of 8 (RTOL reliable 8 B), sample 3: 0.0"
    for line in manager.stdout:
        if line.startswith(wanted):
            break
    else:
        pytest.fail("no such line")
    assert re.search(r" ms, \d+ Hz; \d+ s left$", line.rstrip()), line
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=LIMIT_S)


@pytest.mark.long
def test_one_manager_at_a_time_conducts_a_directory(tmp_path):
    """Also while it waits for idle CPUs: a second one is refused, and changes nothing."""
    manager = start(tmp_path, sequence("hangs", test=SMALL))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    out = tmp_path / "out"
    # It is at the idle wait, or before, for as long as it is stopped.
    code = "from starling_bench.kept import store; from starling_bench.studies.rtibm import *"
    code += "; import pathlib; s = store.Store.load(pathlib.Path('out'), STUDY, claim=True)"
    code += "; print('claimed', flush=True); input()"
    first = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert first.stdout.readline() == "claimed\n"
    assert status(tmp_path)[1].endswith(f"; process {first.pid} conducts it")
    before = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    me = [sys.executable, "-m", "starling_bench.studies.rtibm"]
    again = [*me, "resume", "out", "--idle-wait-s", "0"]
    done = subprocess.run(again, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 2
    refused = f"STL-OUT-006: process {first.pid} conducts this run or writes its report\n  at out"
    assert refused in done.stderr
    # A report would write what the manager writes; of a copy there is one at any time.
    done = report(tmp_path)
    assert done[0] == 2 and refused in done[1]
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()} == before
    copy = tmp_path / "elsewhere" / "out"
    shutil.copytree(out, copy)
    assert status(copy.parent)[1].startswith("1 of 2 tests are done; no manager conducts it")
    assert report(copy.parent)[0] == 1 and (copy / "report.html").exists()
    # The lock dies with its process.
    first.kill()
    first.communicate(timeout=LIMIT_S)
    assert "; no manager conducts it" in status(tmp_path)[1]
    (out / "s" / "one" / "cured").touch()
    done = subprocess.run(again, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr, len(rows(tmp_path))) == (0, "", 6)


def test_a_resume_that_waits_for_idle_cpus_has_claimed_its_directory(tmp_path, monkeypatch):
    manager = start(tmp_path, sequence("hangs", test=SMALL))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    seen = []

    async def wait(*_: object, **__: object) -> bool:
        seen.append(identity.holder(tmp_path / "out"))
        raise BenchError("STL-TST-001", "seen")

    monkeypatch.setattr(idle, "wait", wait)
    with pytest.raises(BenchError, match="seen"):
        Attempt(STUDY, tmp_path / "t.tsf.toml", tmp_path / "out", resume=True, long=True).run()
    assert seen == [f"process {os.getpid()}"]
    assert identity.holder(tmp_path / "out") == ""


def given_up(tmp_path: Path) -> None:
    """Nobody holds the directory: it can be claimed."""
    assert identity.holder(tmp_path / "out") == ""
    identity.Claim(tmp_path / "out").end()


def test_who_fails_behind_the_claim_gives_it_up(tmp_path, monkeypatch):
    Store.create(tmp_path / "out", STUDY, {"tsf_text": "", "notes": []}).close()
    run, table = (tmp_path / "out" / name for name in ("run.json", STUDY.table))
    whole = run.read_text()
    run.write_text(whole.replace('"rtibm"', '"other"'))
    with pytest.raises(BenchError, match="this is a run of the study 'other'") as kept:
        Store.load(tmp_path / "out", STUDY, claim=True)
    given_up(tmp_path)
    run.write_text("{")
    with pytest.raises(BenchError, match="this is not as a run is recorded: Expecting") as kept:
        Store.load(tmp_path / "out", STUDY, claim=True)
    assert kept.value.code == "STL-OUT-008"
    given_up(tmp_path)
    # Also where the file is another one than the run's.
    run.write_text(whole)
    (tmp_path / "t.tsf.toml").write_text(sequence("good"))
    doing = Attempt(STUDY, tmp_path / "t.tsf.toml", tmp_path / "out", resume=True, idle_wait_s=0)
    doing.planned = plan.load(doing.file, STUDY)
    with pytest.raises(BenchError, match="has changed since the run began") as kept:
        doing._taken_up()
    given_up(tmp_path)
    # And where the first file of a new run can't be written.
    run.unlink()
    table.unlink()
    monkeypatch.setattr(Store, "save_run", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError) as kept:
        Store.create(tmp_path / "out", STUDY, {})
    given_up(tmp_path)
    assert kept  # with its traceback, which would keep what was forgotten


def test_a_lock_that_cannot_be_had_is_told_as_such(tmp_path, monkeypatch):
    """There is a run all the same."""
    Store.create(tmp_path / "out", STUDY, {"tsf_text": "", "notes": []}).close()
    open_before = set(os.listdir("/proc/self/fd"))

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patched:
        patched.setattr(identity.fcntl, "fcntl", no_locks)
        with pytest.raises(BenchError) as told:
            Store.load(tmp_path / "out", STUDY, claim=True)
    assert told.value.code == "STL-OUT-001"
    assert told.value.what == "can't claim the directory: No locks available"
    assert told.value.where == str(tmp_path / "out" / "manager.lock")
    assert set(os.listdir("/proc/self/fd")) == open_before


def test_a_missing_directory_is_told_as_such(tmp_path):
    code, _, err = manage(tmp_path, sequence("good", extra='directory = "nowhere"'), "--no-report")
    assert code == 2
    assert "STL-RUN-008: the directory of sequence 's' is missing" in err and "nowhere" in err


@pytest.mark.long
def test_two_rtis_are_two_lines(tmp_path):
    """The sequence and the RTI stand in tables and figures; no line joins unlike points."""
    named = '[[rti]]\nname = "this"\nadapter = "generic"\n[[rti]]\nname = "other"\n'
    text = sequence("good", test=WHOLE).replace('[sequence.rti]\nadapter = "generic"\n', "")
    text = text.replace('name = "s"', 'name = "s"\nrti = ["this", "other"]')
    code, out, _ = manage(tmp_path, named + 'adapter = "generic"\n' + text)
    assert code == 0
    assert "sequence" in out and "instances" in out and "other" in out
    html = (tmp_path / "out" / "report.html").read_text()
    # RTOL and OWOT, reliable and best effort, two sequences: four lines in each figure.
    for _ in ("Mean round trip by bytes", "Updates per second by bytes"):
        assert _ in html
    figures = re.findall(r"<figure>.*?</figure>", html, flags=re.S)
    by_bytes = [f for f in figures if " by bytes" in f]
    assert [len(re.findall(r'id="f\d+_line-\d+"', f)) for f in by_bytes] == [4] * 4
    # A choice of test for percentiles, each with both RTIs side by side.
    assert len(re.findall("<details(?: open)?>", html)) == 4
    assert 'class="scroll"' in html and html.index(">lost<") < html.index(">mean<")


@pytest.mark.long
def test_the_report_says_what_differs_and_what_does_not(tmp_path):
    """The same federate under two names, and half as fast as a third: all as it is, in words."""
    named = "".join(
        f'[[rti]]\nname = "{name}"\nadapter = "generic"\n{env}\n'
        for name, env in (("a", ""), ("b", ""), ("slow", 'env = { PRETEND_FACTOR = "2" }'))
    )
    text = sequence("good", test=WHOLE + "loop_version = 3\n").replace(
        '[sequence.rti]\nadapter = "generic"\n', ""
    )
    text = text.replace('name = "s"', 'name = "s"\nrti = ["a", "b", "slow"]')
    text = text.replace("samples = 3", "samples = 8")
    assert manage(tmp_path, named + text)[0] == 0
    # On a busy machine nothing would be compared.
    calm = [row | {"others_cpu": "0.0"} for row in rows(tmp_path)]
    with (tmp_path / "out" / "results.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, calm[0])
        table.writeheader()
        table.writerows(calm)
    assert report(tmp_path)[0] == 0
    html = (tmp_path / "out" / "report.html").read_text()
    table = html[html.index("<h2>Comparisons</h2>") :]
    # The first family's: RTIs.
    table = table[table.index("<h3>s: RTIs</h3>") :].partition("</details>")[0]
    said = re.findall(r'<td class="t said">([^<]*(?:<b>[^<]*</b>)?)', table)
    said = [s for s in said if re.search(r"\b(a|b|slow)\b.* (a|b|slow)\b", s)]
    assert [s for s in said if "slow" in s and "no difference" not in s]
    for sentence in said:
        if "slow" in sentence:
            assert re.match(r"<b>[ab] is [\d.]+ .* faster than slow", sentence)
        else:
            assert "no difference is shown" in sentence or "too few samples" in sentence
    # Of the round trips' squares the slow one's factor makes nearly all.
    table = html[html.index("<h2>Analysis of variance</h2>") :]
    first = re.search(r">round trip</td><td[^>]*>([^<]*)</td><td[^>]*>([\d.]+)%", table)
    assert first[1] == "sequence" and float(first[2]) > 90


@pytest.mark.long
def test_in_rounds_rtis_take_turns(tmp_path):
    """A B, B A: what drifts meets both, and the report says so; a test is one, in all rounds."""
    named = "".join(f'[[rti]]\nname = "{name}"\nadapter = "generic"\n' for name in ("a", "b"))
    text = sequence("good").replace('[sequence.rti]\nadapter = "generic"\n', "")
    text = text.replace('name = "s"', 'name = "s"\nrti = ["a", "b"]\nrounds = 2')
    assert manage(tmp_path, named + text)[0] == 0
    order = list(dict.fromkeys((r["sequence"], r["execution"]) for r in rows(tmp_path)))
    assert order == [("s.a", "one.1"), ("s.b", "one.1"), ("s.b", "one.2"), ("s.a", "one.2")]
    html = (tmp_path / "out" / "report.html").read_text()
    assert "All were run to and fro" in html
    # Each round is one value: of two nothing can be said.
    assert "too few rounds to tell" in html[html.index("<h2>Comparisons</h2>") :]
    summaries = json.loads((tmp_path / "out" / "summary.json").read_text())
    tests = {(r["sequence"], r["test"], r["pair"]) for r in rows(tmp_path)}
    assert {(s["sequence"], s["execution"]) for s in summaries} == {("s.a", "one"), ("s.b", "one")}
    assert len(summaries) == len(tests)
    assert sum(s["samples"] for s in summaries) == len(rows(tmp_path))
    assert "one.1" not in html[: html.index("<h2>How this was measured")]


@pytest.mark.long
def test_loops_and_drops_are_tables_as_in_the_source(tmp_path):
    text = sequence("good", test=WHOLE.replace("buffer_bytes = [8, 100]", "loop_version = [1, 2]"))
    text += """
[[sequence.execution.test]]
kind = "OWOT"
transport = "best_effort"
instances = [1, 10]
updates = 100
samples = 1
"""
    assert manage(tmp_path, text)[0] == 0
    html = (tmp_path / "out" / "report.html").read_text()
    loops = html[html.index("<h2>Loop selection") : html.index("<h2>Drops against")]
    # Measured: ms / Hz for each loop; published: 12 rows for three RTIs.
    assert len(re.findall(r">V[12]</td><td[^>]*>\d+\.\d+\?? / \d+\??</td>", loops)) == 2
    assert loops.count(" SYS ") == 12 and "4.12 / 232.33" in loops
    drops = html[html.index("<h2>Drops against") :]
    assert re.search(r">1</td><td[^>]*>0 of 600", drops) and ">0 of 100<" in drops
    assert "116,708 of 1,000,000" in drops


def test_processes_keep_to_their_cpus(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    manager = start(tmp_path, sequence("hangs", extra=f"cpus = [{cpu}]"), "--no-report")
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    federates = [int(p) for p in os.listdir("/proc") if p.isdigit() and _is_federate(p, tmp_path)]
    assert len(federates) == 2
    assert all(os.sched_getaffinity(pid) == {cpu} for pid in federates)
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=LIMIT_S)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["executions"][0]["cpus"] == f"CPU {cpu}"


def _is_federate(pid: str, tmp_path: Path) -> bool:
    try:
        command = Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False
    return str(PRETEND).encode() in command and str(tmp_path).encode() in command


def test_a_run_is_as_large_as_asked(tmp_path):
    manager = start(tmp_path, sequence("good"), "--scale", "0.5", "--no-report")
    assert manager.communicate(timeout=LIMIT_S)[1] == ""
    assert {r["sent"] for r in rows(tmp_path)} == {"100"}


@pytest.mark.long
@pytest.mark.parametrize("rounds", [1, 6])
def test_two_runs_are_compared(tmp_path, rounds):
    """Round by round. Of one execution each it can't be known what is of the execution."""
    for name, factor in (("one", "1"), ("two", "3")):
        (tmp_path / name).mkdir()
        text = (
            sequence("good", test=WHOLE.replace("[8, 100]", "8") + "loop_version = 3\n")
            .replace("samples = 3", "samples = 2")
            .replace('name = "s"', f'name = "s"\nrounds = {rounds}')
            .replace(
                'adapter = "generic"',
                f'adapter = "generic"\nenv = {{ PRETEND_FACTOR = "{factor}" }}',
            )
        )
        assert manage(tmp_path / name, text, "--no-report")[0] == 0
        as_on_an_idle_machine(tmp_path / name)
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "compare"]
    runs = [str(tmp_path / name / "out") for name in ("one", "two")]
    said = subprocess.run([*command, *runs], text=True, capture_output=True, check=True)
    lines = said.stdout.splitlines()
    assert len(lines) == 4
    for line in lines:
        if rounds == 1:
            assert re.search(r": ratio (0\.3|3|2\.9)\S*, not judged, as each run has one", line)
            assert "faster" not in line
        else:
            assert re.search(rf"{runs[0]} is (3|2\.9)\S* .*times faster than {runs[1]}", line)
    said = subprocess.run([*command, runs[0], str(tmp_path)], text=True, capture_output=True)
    assert said.returncode == 2 and said.stderr.startswith("STL-OUT-003: there is no run")


@pytest.mark.long
def test_every_write_that_fails_ends_with_one_clear_message(tmp_path):
    """A full disk at any moment: no traceback, the first cause is told, nothing stays behind."""
    library = tmp_path / "failing_writes.so"
    source = Path(__file__).with_name("failing_writes.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    text = sequence("good")
    shutil.copy(FOM, tmp_path / "f.xml")
    (tmp_path / "t.tsf.toml").write_text(text.replace('["reliable", "best_effort"]', '"reliable"'))
    script = Path(__file__).with_name("fail_writes.py")
    tried = subprocess.run(
        [sys.executable, script, library, tmp_path, "run", "t.tsf.toml", "--out", "{out}",
         "--idle-wait-s", "0"],
        cwd=tmp_path, env=os.environ | {"LD_PRELOAD": str(library)}, text=True, check=True,
        capture_output=True, timeout=3 * LIMIT_S,
    )  # fmt: skip
    *failed, last = [json.loads(line) for line in tried.stdout.splitlines()]
    assert last["code"] == 0 and len(failed) > 20
    for one in failed:
        assert "Traceback" not in one["said"], one
        if "nothing more can be shown: No space left on device" in one["said"]:
            assert one["code"] == 0, one  # of what it shows nothing hangs
            continue
        assert one["code"] == 1, one
        said = next(line for line in one["said"].splitlines() if line.startswith("STL-"))
        assert "No space left on device" in said, one
    assert left_behind(tmp_path) == []


def master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> tuple[int, str]:
    """A run whose master does this at its first sample; exit code and what was told."""
    monkeypatch.setenv("PRETEND_DOES", does)
    test = SMALL.replace('["reliable", "best_effort"]', '"reliable"')
    code, out, err = manage(tmp_path, sequence("good", test=test), "--no-report")
    assert "Traceback" not in out + err and "never retrieved" not in out + err, err
    json.loads((tmp_path / "out" / "summary.json").read_text(), parse_constant=lambda _: 1 / 0)
    return code, err


STRANGE = {
    "ends": "STL-RUN-015: the master ended as if all were done, but of test 1 1 of 3 samples came",
    "error": "STL-RUN-007: the master said: no good",
    "half": "STL-RUN-007: the master said: a line of the control pipe: it ended within a line",
    "twice": "sample 1 of test 1, pair 1, twice",
    "nan": "STL-RUN-007: a line of the control pipe: NaN is no finite number",
    "inf": "STL-RUN-007: a line of the control pipe: 1e999 is no finite number",
    "negative": "sample 1 of test 1: rate_hz is -3, and its counts and spans make",
    "deep": "STL-RUN-007: a line of the control pipe: it is nested too deeply",
    "infinite test": "STL-RUN-007: a line of the control pipe: Infinity is no finite number",
    "text": "STL-RUN-007: the master sent a strange sample 1 of test 1: send_s is 'x'",
    "markup": "receiver is '[bold]x[/nope]', and 'good' was asked for",
    "line break": "STL-RUN-007: the master sent a strange sample 1 of test 1: sender is 'a\\nb'",
    "rti is a list": "the master sent a strange line: ValueError(\"['a'] is no text\")",
    "nul": "",
    "device": "",
    "other test": "the master sent a strange line: ValueError('there is no such test')",
    "other bytes": "a strange sample 1 of test 1: bytes is 99999, and 8 was asked for",
    "other sample": "sample 7 of test 1, pair 1, which it was not asked for",
}


@pytest.mark.parametrize("does", STRANGE)
def test_whatever_a_master_says_ends_as_one_message(tmp_path, monkeypatch, does):
    code, err = master(tmp_path, monkeypatch, does)
    assert STRANGE[does] in err, err
    assert (code, err.count("STL-")) == ((1, 1) if STRANGE[does] else (0, 0)), err
    state = json.loads((tmp_path / "out" / "run.json").read_text())["executions"][0]["state"]
    assert state == ("failed" if code else "done")
