"""bmmanager against federates that work, fail, die and hang: real processes."""

import asyncio
import csv
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

from starling_bench import conduct, identity, tsf
from starling_bench.adapters import Adapter
from starling_bench.errors import BenchError
from starling_bench.store import Store

# Far more than any of it takes; what hangs fails instead of holding up the rest.
LIMIT_S = 100
FOM = Path(__file__).parents[1] / "foms" / "rtibm.xml"
PRETEND = Path(__file__).with_name("pretend.py")


def sequence(subordinate: str, fom: str = "f.xml", extra: str = "") -> str:
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
kind = ["RTOL", "OWOT"]
transport = ["reliable", "best_effort"]
buffer_bytes = [8, 100]
updates = 200
samples = 3
"""


def start(tmp_path: Path, text: str, *options: str) -> subprocess.Popen:
    shutil.copy(FOM, tmp_path / "f.xml")
    (tmp_path / "t.tsf.toml").write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "starling_bench.bmmanager", "run", "t.tsf.toml", "--out", "out",
         "--idle-wait", "0", *options],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def manage(tmp_path: Path, text: str) -> tuple[int, str, str]:
    manager = start(tmp_path, text)
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


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_a_good_run_gives_tables_csv_and_report(tmp_path):
    code, out, err = manage(tmp_path, sequence("good"))
    assert (code, err) == (0, "")
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


def test_the_report_is_self_contained(tmp_path):
    assert manage(tmp_path, sequence("good"))[0] == 0
    html = (tmp_path / "out" / "report.html").read_text()
    assert html.count("<svg") == html.count("</svg>") >= 6
    assert not re.search(r"https?://|<script|<link|@import|src=", html)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html))
    assert used and used <= set(ids)


def test_a_killed_federate_ends_the_run_and_results_stay(tmp_path):
    code, _, err = manage(tmp_path, sequence("killed"))
    assert code == 1
    assert err.count("STL-") == 1
    assert "federate 'killed' was ended by SIGKILL during test 2 of 8" in err
    assert len(rows(tmp_path)) == 3
    html = (tmp_path / "out" / "report.html").read_text()
    assert "was ended by SIGKILL" in html


def test_a_refusing_federate_is_quoted(tmp_path):
    code, _, err = manage(tmp_path, sequence("refuses"))
    assert code == 1
    assert "federate 'refuses' ended with exit code 1" in err
    assert "bmfed: FOM not understood" in err


def test_an_unreachable_rti_has_its_own_exit_code(tmp_path):
    assert manage(tmp_path, sequence("unreachable"))[0] == 3


def test_a_federate_that_ignores_the_end_is_killed(tmp_path):
    code, _, err = manage(tmp_path, sequence("stubborn"))
    assert code == 1
    assert "federate 'master' ended with exit code 1" in err and "I give up" in err


def test_what_a_federate_leaves_running_is_ended(tmp_path):
    assert manage(tmp_path, sequence("parent"))[0] == 0
    orphan = int((tmp_path / "out" / "s" / "one" / "orphan").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_a_failed_execution_does_not_keep_the_next_from_running(tmp_path):
    second = sequence("good").replace('name = "s"', 'name = "s2"')
    code, _, err = manage(tmp_path, sequence("refuses") + second)
    assert code == 1 and "refuses" in err
    assert {r["sequence"] for r in rows(tmp_path)} >= {"s2"}


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


def test_federates_that_say_nothing_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, "SLACK_S", 0.5)
    shutil.copy(FOM, tmp_path / "f.xml")
    path = tmp_path / "t.tsf.toml"
    path.write_text(sequence("hangs", extra="data_timeout_s = 0.5"))
    one = tsf.load(path).sequence[0]
    store = Store.create(tmp_path / "out", {})
    me = identity.Run()
    conductor = conduct.Conductor(tmp_path, None, None, me)
    run = conductor.execute(store, one, one.execution[0], Adapter(), lambda event: None)
    with pytest.raises(BenchError) as told:
        asyncio.run(asyncio.wait_for(run, LIMIT_S))
    assert told.value.code == "STL-RUN-006"
    assert told.value.what == "nothing was heard of federate 'master' for 2 s during test 2 of 8"
    assert len(store.rows) == 3
    assert left_behind(tmp_path) == []
    me.end()


def test_a_killed_manager_takes_its_federates_along(tmp_path):
    manager = start(tmp_path, sequence("hangs"))
    wait_for((tmp_path / "out" / "s" / "one" / "halfway").exists)
    manager.kill()
    manager.communicate(timeout=LIMIT_S)
    wait_for(lambda: not left_behind(tmp_path))  # the kernel does its part


FAULTS = {
    "missing FOM": (sequence("good", fom="none.xml"), "STL-FOM-001"),
    "unknown adapter": (sequence("good").replace('"generic"', '"x"'), "STL-RTI-003"),
    "missing program": (
        sequence("good").replace(f'"{sys.executable}"', '"no-such-program"'),
        "STL-RUN-002",
    ),
    "FOM without the classes": (sequence("good", fom="g.xml"), "STL-FOM-003"),
    "other host": (
        sequence("good").replace('name = "good"\n', 'name = "good"\nhost = "elsewhere"\n'),
        "STL-RUN-001",
    ),
    "bundling unknown": (sequence("good", extra="bundling = false"), "STL-RTI-002"),
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
    code, _, err = manage(tmp_path, text)
    assert code == (1 if fault == "server that dies" else 2)
    assert expected in err and err.count("STL-") == 1


def test_a_run_directory_is_never_written_twice(tmp_path):
    assert manage(tmp_path, sequence("good"))[0] == 0
    before = (tmp_path / "out" / "results.csv").read_bytes()
    code, _, err = manage(tmp_path, sequence("good"))
    assert code == 2 and "STL-OUT-002: there are results already" in err and "--resume" in err
    assert (tmp_path / "out" / "results.csv").read_bytes() == before


def test_a_run_that_was_killed_is_resumed_to_the_same_rows(tmp_path):
    """What is done is not done again, half a test is."""
    manager = start(tmp_path, sequence("hangs"))
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
    again = [sys.executable, "-m", "starling_bench.bmmanager", "resume", "out", "--idle-wait", "0"]
    done = subprocess.run(again, cwd=tmp_path, text=True, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    every = rows(tmp_path)
    assert every[:3] == first
    assert [(r["test"], r["sample"]) for r in every] == [
        (str(t), str(s)) for t in range(1, 9) for s in (1, 2, 3)
    ]
    assert (
        json.loads((tmp_path / "out" / "run.json").read_text())["executions"][0]["state"] == "done"
    )


def test_without_a_terminal_there_are_lines_of_progress(tmp_path):
    """Also while one sample takes long."""
    manager = start(tmp_path, sequence("hangs"), "--progress-s", "0.05")
    wanted = "3 of 24 samples: s/one test 1 of 8 (RTOL reliable 8 B), sample 3: 0.0"
    for line in manager.stdout:
        if line.startswith(wanted):
            break
    else:
        pytest.fail("no such line")
    assert re.search(r" ms, 200 Hz; \d+ s left$", line.rstrip()), line
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=LIMIT_S)


def test_a_missing_directory_is_told_as_such(tmp_path):
    code, _, err = manage(tmp_path, sequence("good", extra='directory = "nowhere"'))
    assert code == 2
    assert "STL-RUN-008: the directory of sequence 's' is missing" in err and "nowhere" in err


def test_two_rtis_are_two_lines(tmp_path):
    """The sequence and the RTI stand in tables and figures; no line joins unlike points."""
    named = '[[rti]]\nname = "this"\nadapter = "generic"\n[[rti]]\nname = "other"\n'
    text = sequence("good").replace('[sequence.rti]\nadapter = "generic"\n', "")
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
    assert html.count("<details") == 4
    assert 'class="scroll"' in html and html.index(">lost<") < html.index(">mean<")


def test_every_write_that_fails_ends_with_one_clear_message(tmp_path):
    """A full disk at any moment: no traceback, the first cause is told, nothing stays behind."""
    library = tmp_path / "failing_writes.so"
    source = Path(__file__).with_name("failing_writes.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    text = sequence("good").replace('["RTOL", "OWOT"]', '"OWOT"').replace("[8, 100]", "8")
    shutil.copy(FOM, tmp_path / "f.xml")
    (tmp_path / "t.tsf.toml").write_text(text.replace('["reliable", "best_effort"]', '"reliable"'))
    script = Path(__file__).with_name("fail_writes.py")
    tried = subprocess.run(
        [sys.executable, script, library, tmp_path, "run", "t.tsf.toml", "--out", "{out}",
         "--idle-wait", "0"],
        cwd=tmp_path, env=os.environ | {"LD_PRELOAD": str(library)}, text=True, check=True,
        capture_output=True, timeout=3 * LIMIT_S,
    )  # fmt: skip
    *failed, last = [json.loads(line) for line in tried.stdout.splitlines()]
    assert last["code"] == 0 and len(failed) > 20
    for one in failed:
        assert "Traceback" not in one["said"], one
        assert one["code"] == 1, one
        said = next(line for line in one["said"].splitlines() if line.startswith("STL-"))
        assert "No space left on device" in said, one
    assert left_behind(tmp_path) == []
