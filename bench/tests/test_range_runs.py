"""The range test bed's runs: whoever dies is named, nothing stays behind, what is missing is run
again; clocks that differ; the report."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from browser import OPEN, PROGRAM, browser, fits, leads, readable, whole_on_paper
from quiet import undisturbed
from ranges import (
    NEEDED,
    RANGEFED,
    run as run,  # the fixture
    text,
)
from runs import LIMIT_S, SHORT
from test_network import possible
from test_range_ring import dropped

from starling_bench.machines import hosts

pytestmark = NEEDED
network_needed = pytest.mark.skipif(
    os.environ.get("REQUIRE_ALL") != "1" and not possible(),
    reason="root and iproute2 are needed",
)
EXPERIMENTS = Path(__file__).parents[1] / "experiments" / "range"
TEST = "bytes = 1024\nhz = 20.0\nduration_s = {seconds}\nfloor_s = 0.1"
LONG = TEST.format(seconds=300)
SEVERAL = TEST.format(seconds=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def measuring(run) -> None:
    """Waits until messages are logged."""
    deadline = time.monotonic() + LIMIT_S
    while not any(f.stat().st_size > 2400 for f in run.results.glob("samples_*.raw")):
        assert run.manager.poll() is None, run.manager.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def interface_of(run, name: str) -> int:
    """The process that measures."""
    return next(pid for pid, words in run.processes().items()
                if "range-interface" in words and f"--name {name}" in words)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("adapter", ["tcp", "starling"])
def test_a_federate_that_is_killed_is_named(run, adapter):
    run.start(text(LONG, adapter=adapter))
    measuring(run)
    os.kill(run.pid("rangefed --name f2"), signal.SIGKILL)
    run.fails(1, "federate 'f2' was ended by SIGKILL during test 1 of 1")


@pytest.mark.long
def test_an_interface_that_is_killed_is_named(run):
    run.start(text(LONG))
    measuring(run)
    interface = interface_of(run, "f2")
    os.kill(interface, signal.SIGKILL)
    run.fails(1, "the interface was ended by signal 9")


@pytest.mark.long
def test_an_interface_that_is_stopped_is_named(run):
    """It is a process of its federate's, which lives and says nothing of it."""
    run.start(text(TEST.format(seconds=15), extra=SHORT))
    measuring(run)
    interface = interface_of(run, "f2")
    os.kill(interface, signal.SIGSTOP)
    run.fails(1, f"process {interface} ('range-interface'), of federate 'f2', is stopped")


def test_an_rti_that_is_killed_is_named(run):
    run.start(text(LONG, adapter="starling"))
    measuring(run)
    os.kill(run.pid("rtiexec"), signal.SIGKILL)
    run.fails(1)


def test_a_command_that_fails_is_told_by_what_failed_not_by_what_to_do():
    said = "starling: it is not there\n  do: run it"
    with pytest.raises(OSError, match="it is not there") as told:
        asyncio.run(
            hosts.output(["sh", "-c", f"echo '{said}' >&2; exit 1"], dict(os.environ), None)
        )
    assert told.value.strerror == "starling: it is not there"


def test_an_interrupt_keeps_what_there_is(run):
    run.start(text(SEVERAL))
    run.halfway()
    run.manager.send_signal(signal.SIGINT)
    run.fails(1, "interrupted; the results so far are kept", "starling-bench range resume")
    assert len(run.rows()) >= 3


@pytest.mark.long
def test_a_run_whose_manager_was_killed_is_resumed(run):
    run.start(text(SEVERAL))
    run.halfway()
    run.manager.send_signal(signal.SIGKILL)
    run.manager.communicate(timeout=LIMIT_S)
    before = run.rows()
    done = subprocess.run(
        [*run.command(), "resume", run.out, "--idle-wait-s", "0"], cwd=run.directory,
        env=run.environment(), capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = run.rows()
    assert sorted({int(r["test"]) for r in rows}) == [1, 2, 3, 4, 5, 6]
    assert len(rows) == 12 == len({(r["test"], r["pair"]) for r in rows})
    # What was whole is as it was.
    whole = [r for r in before if sum(b["test"] == r["test"] for b in before) == 2]
    assert whole and all(r in rows for r in whole)
    assert run.processes() == {}


def command(run, what: str, *options: str, code: int = 0) -> str:
    """A command for the run's directory; what it said."""
    done = subprocess.run(
        [*run.command(), what, run.out, *options], cwd=run.directory, env=run.environment(),
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_table_that_was_torn_or_altered_or_of_disturbed_samples(run):
    run.start(text(TEST.format(seconds=[0.5, 0.6]) + '\nscheduling = ["realtime", "normal"]'))
    run.manager.communicate(timeout=LIMIT_S)
    path = run.directory / run.out / "results.csv"
    head, *lines = path.read_text().splitlines()
    at = head.split(",").index("others_cpu")

    def written(*rows: str) -> None:
        path.write_text("\n".join([head, *rows, ""]))

    def disturbed(line: str) -> str:
        return ",".join("0.8" if i == at else v for i, v in enumerate(line.split(",")))

    quiet = [line.rpartition(",")[0] + ",0.01" for line in lines]
    assert at == len(head.split(",")) - 1 and len(lines) == 8
    written(*quiet)
    said = command(run, "report")
    # Tests that differ in nothing else are told apart.
    assert "scheduling" in said and "normal" in said and " ?" not in said
    written(*map(disturbed, quiet[:2]), *quiet[2:])
    said = command(run, "report")
    assert said.count("% ?") == 2 and "? disturbed by other programs" in said
    page = unescape((run.directory / run.out / "report.html").read_text())
    assert "The machine was not fit for all: 1 of 4 tests were disturbed" in page
    assert "Test 1 of s/e was disturbed by other programs" in page
    assert page.count("1 of 4 tests are left out here") == 3
    written(quiet[0], quiet[1].replace("s,", "elsewhere,", 1))
    said = command(run, "report", code=2)
    assert "STL-OUT-008" in said and f"{run.out}/results.csv:3" in said and "elsewhere/e" in said
    path.write_text(f"{head}\n{quiet[0][:50]}")
    said = command(run, "report", code=1)
    assert "0 of 4 tests are there; `starling-bench range resume` goes on" in said
    assert "1 lines of results.csv are torn" in said and "STL-OUT-012: not all is there" in said
    page = unescape((run.directory / run.out / "report.html").read_text())
    assert "0 of 4 tests are there" in page


@pytest.mark.long
@pytest.mark.parametrize("what", ["samples", "facts"])
def test_a_damaged_file_leaves_its_test_out_which_is_measured_anew(run, what):
    run.start(text(TEST.format(seconds=[0.5, 0.6])))
    run.manager.communicate(timeout=LIMIT_S)
    assert run.manager.returncode == 0
    (path,) = run.results.glob(f"{what}_test1_f2.*")
    whole, before = path.read_bytes(), run.rows()
    path.write_bytes(b"[]" if what == "facts" else whole[:100])
    said = command(run, "report", code=1)
    assert "not all is there: " in said and "samples are in no figure" in said
    assert "Of s/e, test 1, pair 1: sample 1 is in no figure: " in said and path.name in said
    summaries = json.loads((run.directory / run.out / "summary.json").read_text())
    assert {s["test"] for s in summaries} == ({2} if what == "facts" else {1, 2})
    said = command(run, "resume", "--idle-wait-s", "0")
    assert f"s/e, test 1 was measured anew: {path.name} was damaged." in said
    assert "in no figure" not in said and "all 2 tests are done" in command(run, "resume")
    after = run.rows()
    assert len(after) == 4 and path.read_bytes() not in (whole, b"[]")
    assert [r for r in after if r["test"] == "2"] == [r for r in before if r["test"] == "2"]


def other_clock(*wrong: str) -> str:
    """A test sequence file whose second federate reads a clock of its own."""
    command = json.dumps(["env", *wrong, RANGEFED])
    test = TEST.format(seconds=12) + '\nclock = "estimate"\nping_hz = 60.0'
    return text(test).replace('name = "f2"\n', f'name = "f2"\ncommand = {command}\n', 1)


def drawn(seed: int) -> dict[str, float]:
    """Errors of a clock, as the library takes them from the environment."""
    rng = np.random.default_rng(seed)
    return {"OFFSET_NS": int(rng.uniform(-1e10, 1e10)), "DRIFT_PPM": round(rng.uniform(-200, 200)),
            "DELAY_NS": int(rng.uniform(1e6, 1e7))}  # fmt: skip


def within_the_bound(run, wrong: dict[str, float]) -> dict[str, float]:
    """What the tables of test 1 say of flows to and from `f2`, whose clock is wrong, is no further
    from the truth than they say; how far the mean is, by sender."""
    offset, drift = wrong["OFFSET_NS"], wrong["DRIFT_PPM"] * 1e-6
    right = lambda t: (t - offset) / (1 + drift)  # noqa: E731
    away = {}
    for row in run.rows():
        table = parquet.read_table(run.results / f"samples_test1_{row['receiver']}.parquet")
        arrived = table["arrived_ns"].to_numpy().astype(float)
        sent = arrived - table["delivery_ns"].to_numpy()
        # What the one clock of this machine would have said.
        true = (arrived - right(sent) if row["sender"] == "f2" else right(arrived) - sent) / 1e6
        bound = float(row["bound_ms"])
        assert row["clock"] == "estimate" and 0 < bound < 50
        told = {"min_ms": true.min(), "mean_ms": true.mean(), "max_ms": true.max()}
        off = {name: abs(float(row[name]) - here) for name, here in told.items()}
        assert max(off.values()) <= bound + 0.001, (row, off)
        # Uncorrected it would be far off.
        assert np.abs(table["delivery_ns"].to_numpy() / 1e6 - true).min() > 1
        away[row["sender"]] = off["mean_ms"]
    return away


@pytest.mark.long
@pytest.mark.parametrize(
    "wrong",
    [{"OFFSET_NS": 3_000_000, "DRIFT_PPM": 20}, drawn(1), drawn(2)],
    ids=["3 ms, 20 ppm", "seed 1", "seed 2"],
)
def test_a_clock_that_is_off_and_drifts_is_corrected_within_the_bound(run, wrong):
    """Also where echoes are longer under way to it than back."""
    run.start(other_clock(*(f"BENCH_CLOCK_{name}={value}" for name, value in wrong.items())))
    code, _, err = run.end()
    assert code == 0, err
    away = within_the_bound(run, wrong)
    # Half of what the ways differ by nobody can tell.
    assert away["f2"] >= 0.4 * wrong.get("DELAY_NS", 0) / 1e6, away


@pytest.mark.long
def test_a_clock_that_jumps_is_told_and_nothing_is_guessed(run):
    run.report = True
    run.start(other_clock("BENCH_CLOCK_JUMP_NS=40000000"))
    measuring(run)
    os.kill(interface_of(run, "f2"), signal.SIGUSR1)
    code, _, err = run.end()
    assert code == 0, err
    for row in run.rows():
        assert row["clock"].startswith("not known") and "jumped" in row["clock"]
        assert row["mean_ms"] == row["in_budget"] == ""
    report = (run.directory / "out" / "report.html").read_text()
    assert "the clocks are not known" in report


@pytest.mark.long
def test_who_cannot_hold_its_rate_is_named(run):
    """A federate that is stopped for a while leaves updates out; its figures are grey, in the table
    and in what is drawn."""
    run.report = True
    run.start(text(TEST.format(seconds=8), extra="data_timeout_s = 100"))
    measuring(run)
    # The flow that is drawn first is its.
    interface = interface_of(run, "f1")
    os.kill(interface, signal.SIGSTOP)
    time.sleep(1.5)  # thirty updates
    os.kill(interface, signal.SIGCONT)
    code, _, err = run.end()
    assert code == 0, err
    (row,) = [r for r in run.rows() if r["sender"] == "f1"]
    assert row["held"] == "no" and int(row["sent"]) < int(row["planned"]) == 160
    assert int(row["lost"]) == 0
    facts = json.loads((run.results / "facts_test1_f1.json").read_text())
    assert facts["deadlines"]["missed"] > 500
    # Whose figures are grey is not a matter of what else runs here.
    undisturbed("range", run.directory / "out")
    report = (run.directory / "out" / "report.html").read_text()
    assert "'f1' did not hold its rate in test 1" in unescape(report)
    if not PROGRAM:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no Chromium")
    with browser() as page:
        page.open(run.directory / "out" / "report.html")
        faint = page.ask("""[...document.querySelectorAll('table')[1].rows].slice(1).map(row =>
            [row.innerText.includes('f1 → f2'), [...row.cells].filter(cell =>
                cell.querySelector('span') &&
                getComputedStyle(cell.querySelector('span')).opacity < 1).length])""")
        assert len(faint) == 2 and all((n > 10) == mine for mine, n in faint), faint
        lines = page.ask("""[...document.querySelector('figure svg')
            .querySelectorAll('g[id*="line-"] path')].map(e => getComputedStyle(e).stroke)""")
        assert lines[0] == "rgb(136, 136, 136)" not in lines[1:], lines


def test_a_test_that_is_scaled_down_ends(run):
    """It has an update at least: none would be a test without an end."""
    code, _, err = run.start(text(TEST.format(seconds=2)), "--scale", "0.001").end()
    assert code == 0, err
    assert [(r["planned"], r["sent"], r["received"]) for r in run.rows()] == [("1", "1", "1")] * 2


@pytest.mark.long
def test_who_takes_no_part_waits_for_those_who_measure(run):
    """Longer than for whoever is to be heard: it goes on in the next test."""
    longer = TEST.format(seconds=14) + "\n[[sequence.execution.test]]\nfederates = 3\n"
    code, _, err = run.start(text(longer + TEST.format(seconds=1), 3, SHORT)).end()
    assert code == 0, err
    assert [r["test"] for r in run.rows()] == 2 * ["1"] + 6 * ["2"]
    assert all(r["lost"] == "0" for r in run.rows())


@pytest.mark.long
def test_samples_that_a_reader_was_too_slow_for_are_counted_by_sender(run):
    """It stood still until there was no more room for any."""
    test = 'federates = 3\nflows = "16B@2000 16B@1500 16B@20"\nduration_s = 40\nfloor_s = 0.1\n'
    test += 'tick_hz = 2500\nscheduling = "normal"'
    run.start(text(test, 3))
    measuring(run)
    interface = interface_of(run, "f3")
    reader = run.pid("rangefed --name f3")
    os.kill(reader, signal.SIGSTOP)
    deadline = time.monotonic() + LIMIT_S
    while min(dropped(interface)[1:3]) < 10:
        assert time.monotonic() < deadline and run.manager.poll() is None
        time.sleep(0.05)
    os.kill(reader, signal.SIGCONT)
    run.fails(1, "elements or samples were missed by the reader")
    rows = {r["sender"]: r for r in run.rows() if r["receiver"] == "f3"}
    assert all(int(rows[name]["dropped"]) >= 10 for name in ("f1", "f2"))
    table = parquet.read_table(run.results / "samples_test1_f3.parquet")
    for station, name in enumerate(("f1", "f2"), 1):
        row, logged = rows[name], np.count_nonzero(table["sender"].to_numpy() == station)
        assert logged == int(row["received"]) - int(row["dropped"])
        assert row["lost"] == "0"


@pytest.mark.parametrize("hz", [400, 2000])
def test_a_reader_looks_as_often_as_a_rate_wants(run, hz):
    """A ring has 60 elements: at 400 Hz those of 150 ms."""
    test = f"bytes = 16\nhz = {hz}\nduration_s = 3\nfloor_s = 0.1\ntick_hz = {hz + 100}"
    run.start(text(f'{test}\nscheduling = "normal"', adapter="tcp"))
    code, _, err = run.end()
    assert code == 0, err
    assert all(int(r["elements_missed"]) == 0 < int(r["sent"]) for r in run.rows())


@pytest.mark.parametrize("adapter", ["starling", "tcp"])
def test_what_the_rtis_own_process_holds_in_memory_is_kept(run, adapter):
    """Before each test and after it; plain sockets have none."""
    run.report = True
    run.start(text(TEST.format(seconds=[0.5, 0.6]), adapter=adapter))
    code, _, err = run.end()
    assert code == 0, err
    (record,) = json.loads((run.directory / "out" / "run.json").read_text())["executions"]
    found = record.get("rti_kb", {})
    assert set(found) == ({"1", "2"} if adapter == "starling" else set())
    assert all(1000 < kb < 1_000_000 for both in found.values() for kb in both)
    report = unescape((run.directory / "out" / "report.html").read_text())
    assert ("memory of the RTI's processes" in report) == (adapter == "starling")


def test_flows_of_each_federate_are_its_own(run):
    test = 'federates = 3\nflows = "64B@50 4KB@10 2KB@20"\nduration_s = 2\nfloor_s = 0.1'
    code, _, err = run.start(text(test, 3)).end()
    assert code == 0, err
    planned = {r["sender"]: (int(r["planned"]), int(r["bytes"]), float(r["budget_ms"]))
               for r in run.rows()}  # fmt: skip
    assert planned == {"f1": (100, 64, 20.0), "f2": (20, 4096, 100.0), "f3": (40, 2048, 50.0)}


@pytest.mark.long
def test_callbacks_by_a_thread_deliver_everything(run):
    test = TEST.format(seconds=2) + "\nthreaded = [false, true]"
    code, _, err = run.start(text(test, adapter="starling")).end()
    assert code == 0, err
    rows = run.rows()
    assert {r["execution"] for r in rows} == {"e", "e.threaded"}
    assert all(r["lost"] == "0" and int(r["received"]) > 0 for r in rows)


@pytest.mark.long
def test_bundles_wait_their_5_ms_where_a_thread_delivers(run):
    """As in the shipped settings; a polled federate's evoke behind each update ends them."""
    settings = tomllib.loads((EXPERIMENTS / "settings.tsf.toml").read_text())
    (rti,) = (one for one in settings["rti"] if one["name"] == "starling-5ms")
    env = ", ".join(f'{name} = "{value}"' for name, value in rti["env"].items())
    test = TEST.format(seconds=3) + "\nthreaded = [false, true]"
    tsf = text(test, adapter="starling")
    given = f'adapter = "starling"\nenv = {{ {env} }}\n'
    code, _, err = run.start(tsf.replace('adapter = "starling"\n', given)).end()
    assert code == 0, err
    rows = run.rows()
    for row in rows:
        if row["execution"] == "e.threaded":
            assert float(row["p50_ms"]) >= 5, row
        else:
            assert float(row["min_ms"]) < 5, row
    assert len(rows) == 4


def by_datagrams(tsf: str) -> str:
    """Best effort of Starling goes by datagrams on one host, too."""
    env = {"NET_UNIX": "false", "TRANSPORT_SHARED_MEMORY": "off",
           "TRANSPORT_BEST_EFFORT": "datagrams"}  # fmt: skip
    given = ", ".join(f'STARLING_{name} = "{value}"' for name, value in env.items())
    return tsf.replace('adapter = "starling"\n', f'adapter = "starling"\nenv = {{ {given} }}\n')


@pytest.mark.long
@pytest.mark.parametrize("size", [2048, 51200])
def test_best_effort_that_cannot_be_lost_is_marked_and_fails_the_run(run, size):
    """On one host without a word it travels as reliable data does; by datagrams it does not."""
    test = f'bytes = {size}\nhz = 20.0\nduration_s = 2\nfloor_s = 0.1\ntransport = "best_effort"'
    run.report = True
    tsf = text(test, adapter="starling")
    code, _, err = run.start(tsf).end()
    assert code == 1 and "best effort of s went by reliable links" in err
    report = run.directory / "out" / "report.html"
    said = report.read_text()
    # In the verdict, the table, the title of the figure.
    assert "Not what its name says: best effort of s went by reliable links." in said
    assert said.count("not what its name says: by a reliable link") >= 3
    shutil.rmtree(run.directory / "out")
    code, _, err = run.start(by_datagrams(tsf)).end()
    assert code == 0, err
    assert "not what its name says" not in report.read_text().lower()
    assert all(int(r["received"]) > 0 for r in run.rows())


@pytest.mark.long
def test_messages_meet_every_phase_of_a_polled_turn(run):
    """So the shortest of each flow waited for no turn, and an LRC follows; where timers keep one
    rate it holds whatever the test drew, and none is said."""
    test = TEST.format(seconds=4).replace("hz = 20.0", "hz = 60.0") + "\ndrift_ppm = [0, 1618]"
    code, _, err = run.start(text(test, adapter="starling")).end()
    assert code == 0, err
    for row in run.rows():
        apart = row["test"] == "2"
        assert (float(row["phase_gap"]) <= 0.05) == apart == (row["lrc_ms"] != "")


@pytest.mark.long
def test_the_report_in_a_browser(run):
    if not PROGRAM:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no Chromium")
    run.report = True
    test = (
        TEST.format(seconds=3) + '\ntransport = ["reliable", "best_effort"]\ntick_hz = [500, 100]'
    )
    code, _, err = run.start(by_datagrams(text(test, adapter="starling"))).end()
    assert code == 0, err
    report = run.directory / "out" / "report.html"
    with browser() as page:
        leads(page, report)
        assert page.complaints() == []
        for opened in ("", OPEN):
            page.ask(opened)
            fits(page, 1280, 390)
            whole_on_paper(page)
        for dark in (False, True):
            readable(page, dark, "body", "th", "td", ".verdict", "figcaption", "summary", "pre")
        page.look(1280)
        said = page.ask("document.body.innerText")
        for words in ("In budget", "100 Hz baseline", "500 turns a second", "Timing error",
                      "not in this run, or disturbed", "one clock"):  # fmt: skip
            assert words in said, words
        lines = page.ask("document.querySelectorAll('figure svg g[id*=\"line-\"]').length")
        assert lines >= 4
    assert report.stat().st_size < 3 << 20


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("hz = 600.0", "600 updates a second, and the timer has 499.19 turns"),
        ("hz = 500.0", "500 updates a second, and the timer has 499.19 turns"),
        ("federates = 3", "a test of 3 federates, and the sequence has 2"),
        ("pairs = 1", "every federate hears every other"),
        ('flows = "2KB@60"', "1 flows for 2 federates"),
        ('flows = "2KB"', "flows: '2KB' is no flow of 16 to 16,777,216 bytes"),
        ('flows = "300B@50 4KB"', "do: give SIZE@HZ, such as 2KB@60 or 64B@0.5, the size in B"),
        ('flows = "64 B@50"', "flows: '64' is no flow"),
        ("hz = 0.01\nduration_s = 10", "no update falls into the test"),
        ("bytes = 8", "bytes: 8 is too small"),
    ],
)
def test_faults_of_a_test_are_told(run, test, said):
    run.start(text(test)).fails(2, said)


@pytest.mark.long
def test_the_planner_says_whether_it_fits(run):
    """A flow that takes no time to speak of fits, one whose budget nothing meets does not."""
    command = [*run.command(), "plan", "--rangefed", RANGEFED, "--adapter", "tcp", "--seconds", "2"]
    said = subprocess.run(
        [*command, "--send", "64B@10", "--receive", "64B@10", "--share", "0.5"],
        cwd=run.directory, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert "64 B at 10 Hz, reliable, sent: fits" in said.stdout and "to spare" in said.stdout
    assert "with normal scheduling" in said.stdout
    display = subprocess.run([*command, "--receive", "64B@10", "--share", "0.5"], text=True,
                             cwd=run.directory, capture_output=True, timeout=LIMIT_S)  # fmt: skip
    assert display.returncode == 0, display.stderr
    assert "64 B at 10 Hz, reliable, received: fits" in display.stdout
    assert ", sent: " not in display.stdout
    wrong = subprocess.run([*command, "--send", "2KB", "--receive", "1KB@10"], text=True,
                           capture_output=True, timeout=LIMIT_S)  # fmt: skip
    assert wrong.returncode == 2 and "'2KB' is no flow of 16 to" in wrong.stderr


@pytest.mark.long
def test_the_planner_says_which_setting_could_not_be_measured(run):
    """The usual one, whose federates end at once: the others are told all the same."""
    programs = run.directory / "programs"
    programs.mkdir()
    for program in Path(RANGEFED).parent.iterdir():
        (programs / program.name).symlink_to(program)
    (programs / "rangefed").unlink()
    (programs / "rangefed").write_text(
        f'#!/bin/sh\ncase "$*" in */s0/*) exit 1;; esac\nexec {RANGEFED} "$@"\n'
    )
    (programs / "rangefed").chmod(0o755)
    said = subprocess.run(
        [*run.command(), "plan", "--rangefed", programs / "rangefed", "--adapter", "tcp",
         "--seconds", "1", "--send", "64B@10", "--receive", "64B@10", "--share", "0.5"],
        cwd=run.directory, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert said.returncode == 1 and "Traceback" not in said.stderr, said.stderr
    assert "  not measured: its run failed (above: why)" in said.stdout
    # Other tests run beside this one.
    assert re.search("with normal scheduling: (fits|not known, (disturbed|not known))", said.stdout)
    assert "STL-" in said.stderr


def test_who_may_be_real_time_by_its_limits_is_not_when_it_is_not_asked_for(run):
    """Without CAP_SYS_NICE, as a user has it by `ulimit -r`."""
    if os.geteuid() != 0:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("who takes rights away is root")
    limited = ["prlimit", "--rtprio=80", "--memlock=unlimited"]
    if subprocess.run([*limited, "true"], capture_output=True).returncode != 0:
        pytest.skip("nobody raises limits here (CAP_SYS_RESOURCE)")
    limited += ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", RANGEFED]
    tsf = text(TEST.format(seconds=[0.5, 0.6]) + '\nscheduling = ["realtime", "normal"]').replace(
        'name = "f2"\n', f'name = "f2"\ncommand = {json.dumps(limited)}\n', 1
    )
    code, _, err = run.start(tsf).end()
    assert code == 0, err
    found = [json.loads((run.results / f"facts_test{n}_f2.json").read_text()) for n in range(1, 5)]
    assert sorted(f["scheduling"] for f in found) == [
        *["SCHED_FIFO 80, memory locked"] * 2, *["SCHED_OTHER"] * 2
    ]  # fmt: skip
    assert {r["scheduling"] for r in run.rows()} == {"realtime", "normal"}


def test_rights_that_are_not_given_are_told(run):
    """One federate without them, on the same host."""
    if os.geteuid() != 0:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("who takes rights away is root")
    run.report = True
    without = ["setpriv", "--bounding-set=-sys_nice,-ipc_lock", "--inh-caps=-sys_nice,-ipc_lock"]
    tsf = text(TEST.format(seconds=1)).replace(
        'name = "f2"\n', f'name = "f2"\ncommand = {json.dumps([*without, RANGEFED])}\n', 1
    )
    code, _, err = run.start(tsf).end()
    assert code == 0, err
    facts = json.loads((run.results / "facts_test1_f2.json").read_text())
    assert facts["scheduling"].startswith("SCHED_OTHER")
    assert facts["notice"].startswith("SCHED_FIFO is not allowed: ")
    # Nothing of that counts as real-time: it would be compared with normal scheduling under a wrong
    # name.
    assert {r["scheduling"] for r in run.rows()} == {"normal (real-time not allowed)"}
    # One clear notice, in the log, too.
    assert (run.results / "f2.log").read_text().count("notice: ") == 1
    assert (
        "Not real-time: SCHED_FIFO is not allowed"
        in (run.directory / "out" / "report.html").read_text()
    )


HOSTS = '[[host]]\nname = "a"\ndelay_ms = 5.0\n[[host]]\nname = "b"\ndelay_ms = 15.0\n'


@pytest.mark.long
@network_needed
@pytest.mark.parametrize("adapter", ["tcp", "starling"])
def test_two_hosts_whose_links_delay(run, adapter):
    """The network's share is in the delivery times and in the echoes. These halve what unlike ways
    take together, so an LRC between such hosts is off; the report says so."""
    tsf = text(TEST.format(seconds=3), adapter=adapter)
    for name, host in (("f1", "a"), ("f2", "b")):
        tsf = tsf.replace(f'name = "{name}"\n', f'name = "{name}"\nhost = "{host}"\n', 1)
    code, _, err = run.start(HOSTS + tsf).end()
    assert code == 0, err
    for row in run.rows():
        least = 5 if row["sender"] == "f1" else 15
        assert float(row["min_ms"]) >= least and int(row["lost"]) == 0
        # There and back, halved.
        assert float(row["ping_ms"]) >= 10


@pytest.mark.long
@network_needed
@pytest.mark.parametrize("transport", ["reliable", "best_effort"])
def test_what_a_link_loses_behind_a_router_is_lost_to_best_effort_alone(run, transport):
    hosts = "".join(
        f'[[host]]\nname = "{name}"\nrouted = true\ndelay_ms = 2.0\nloss = {loss}\n'
        for name, loss in (("a", 0.0), ("b", 0.2))
    )
    test = TEST.format(seconds=3) + f'\ntransport = "{transport}"\n'
    tsf = text(test, adapter="starling")
    for name, host in (("f1", "a"), ("f2", "b")):
        tsf = tsf.replace(f'name = "{name}"\n', f'name = "{name}"\nhost = "{host}"\n', 1)
    code, _, err = run.start(hosts + tsf).end()
    assert code == 0, err
    rows = list(run.rows())
    assert len(rows) == 2 and all(
        int(r["sent"]) == int(r["received"]) + int(r["lost"]) for r in rows
    )
    # By the router a way takes each link once: to b and from it.
    assert any(int(r["lost"]) for r in rows) == (transport == "best_effort")
    assert all(float(r["min_ms"]) >= 2 for r in rows)


@pytest.mark.long
@network_needed
def test_clocks_of_hosts_whose_links_are_unlike_are_compared_within_the_bound(run):
    """5 ms there and 15 back: the estimate is off by half of the difference, and says so."""
    wrong = drawn(3) | {"DELAY_NS": 0}  # the links have some
    tsf = other_clock(*(f"BENCH_CLOCK_{name}={value}" for name, value in wrong.items()))
    for name, host in (("f1", "a"), ("f2", "b")):
        tsf = tsf.replace(f'name = "{name}"\n', f'name = "{name}"\nhost = "{host}"\n', 1)
    code, _, err = run.start(HOSTS + tsf).end()
    assert code == 0, err
    away = within_the_bound(run, wrong)
    assert all(off > 4 for off in away.values()), away
    assert all(float(row["bound_ms"]) > 9 for row in run.rows())


@pytest.mark.long
@network_needed
def test_the_planner_between_two_hosts(run):
    (run.directory / "hosts.toml").write_text(HOSTS)
    said = subprocess.run(
        [*run.command(), "plan", "--rangefed", RANGEFED, "--adapter", "tcp", "--seconds", "2",
         "--send", "64B@20", "--receive", "64B@2", "--from", "a", "--to", "b", "--hosts",
         "hosts.toml", "--share", "0.5"],
        cwd=run.directory, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert said.returncode in (0, 1), said.stderr
    lines = [line for line in said.stdout.splitlines() if line.startswith("  64 B")]
    assert len(lines) == 2, said.stdout
    # What half of the messages take at most is no less than the link's delay.
    least = {"sent": 5, "received": 15}
    for line in lines:
        words = line.split(" take at most ")[1]
        assert float(words.split(" ms")[0]) >= least[line.split(", ")[2].split(":")[0]]
