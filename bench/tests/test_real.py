"""bmmanager with the real bmfed on the real rtiexec: what goes wrong ends with one clear message,
a stated exit code, no process left behind and the results so far kept.
"""

import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from runs import (
    BMFED,
    FOM,
    LIMIT_S,
    QUICK,
    RTI_ROOT,
    SHORT,
    run as run,  # the fixture
    text,
)

pytestmark = pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
ENDLESS = 'kind = "RTOL"\nloop_version = 3\noutstanding_max = 1\nupdates = 200\nsamples = 10000'
ENDLESS_ONE_WAY = (
    'kind = "OWOT"\nloop_version = 3\nbuffer_bytes = 1400\nupdates = 20000\nsamples = 10000'
)


def test_all_four_tests_in_one_execution(run):
    code, out, err = run.start(text()).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2
    assert {row["lost"] for row in run.rows() if row["transport"] == "reliable"} == {"0"}
    assert "travels the same links as reliable data" in " ".join(out.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "by"),
    [
        ('STARLING_TRANSPORT_SHARED_MEMORY = "off"', "unix via rtiexec"),
        # By TCP rtiexec listens at the port that it usually has.
        pytest.param(
            'STARLING_NET_UNIX = "false"',
            "tcp via rtiexec",
            marks=pytest.mark.xdist_group("the usual port"),
        ),
        ('STARLING_NET_UNIX = "true"', "shared memory"),
        (
            'STARLING_TRANSPORT_SHARED_MEMORY = "off", STARLING_TRANSPORT_PATH = "direct"',
            "direct tcp",
        ),
    ],
    ids=["unix", "tcp", "shared memory", "direct"],
)
def test_the_way_that_data_took_is_asked_from_the_rti(run, settings, by):
    run.report = True
    tsf = text(QUICK, rti=f'adapter = "starling"\nenv = {{ {settings} }}')
    code, out, err = run.start(tsf).end()
    assert (code, err) == (0, ""), out + err
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert len(summaries) == 8
    assert all(s["way"].startswith(by) and s["way_reliable"] for s in summaries), summaries
    report = (run.directory / "out" / "report.html").read_text()
    assert by in report and "best effort by a reliable link" in report
    (record,) = json.loads((run.directory / "out" / "run.json").read_text())["executions"]
    assert record["rti"].startswith("Starling ")
    library = (Path(run.rti_root) / "lib" / "librti1516e.so").resolve()
    checksum = hashlib.sha256(library.read_bytes()).hexdigest()
    assert record["libraries"][library.name] == checksum and checksum in report
    assert "libbench-hla1516e.so" in record["libraries"]
    assert "could not be asked" not in out


@pytest.mark.xdist_group("the usual port")
def test_switches_of_the_rti_reach_it(run):
    """Each in an execution of its own; what each was is seen by the way that data took."""
    test = """kind = "OWOT"
loop_version = 3
path = ["executive", "direct", "shared_memory"]
link = ["unix", "tcp"]
preset = "fastest"
updates = 200
samples = 1"""
    code, out, err = run.start(text(test)).end()
    assert (code, err) == (0, ""), out + err
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert {s["sequence"]: s["way"].split(" (")[0] for s in summaries} == {
        "s.executive.unix": "unix via rtiexec",
        "s.executive.tcp": "tcp via rtiexec",
        "s.direct.unix": "direct tcp",
        "s.direct.tcp": "direct tcp",
        "s.shared_memory.unix": "shared memory",
        # Memory is only shared where there is a Unix-domain link.
        "s.shared_memory.tcp": "tcp via rtiexec",
    }
    assert {s["setting"]["preset"] for s in summaries} == {"fastest"}


@pytest.mark.long
def test_best_effort_by_datagrams_is_no_reliable_way(run):
    run.report = True
    tsf = text(
        QUICK,
        rti='adapter = "starling"\nenv = { STARLING_NET_UNIX = "false", '
        'STARLING_TRANSPORT_BEST_EFFORT = "datagrams" }',
    )
    code, out, err = run.start(tsf).end()
    assert (code, err) == (0, ""), out + err
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    ways = {(s["way"].startswith("tcp via rtiexec"), s["way_reliable"]) for s in summaries}
    assert ways == {(True, False)}, summaries
    assert all(s["way"].endswith("best effort by UDP") for s in summaries)
    report = (run.directory / "out" / "report.html").read_text()
    assert "best effort by a reliable link" not in report


@pytest.mark.long
def test_best_effort_by_multicast_is_no_reliable_way(run):
    """From federate to federate; who does not hear it gets it on its link, so it may arrive."""
    tsf = text(f'{QUICK}\npath = "multicast"', extra="loss_timeout_s = 5")
    code, out, err = run.start(tsf).end()
    assert (code, err) == (0, ""), out + err
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert len(summaries) == 8
    assert all(s["way"].startswith("direct tcp") and not s["way_reliable"] for s in summaries)
    assert all("best effort by multicast" in s["way"] for s in summaries), summaries
    rows = [{k: int(r[k]) for k in ("sent", "received", "lost")} for r in run.rows()]
    assert all(r["sent"] == r["received"] + r["lost"] and r["received"] > 0 for r in rows)


@pytest.mark.long
@pytest.mark.parametrize("seconds", ["3600", "-3600", "-0.05", "0.5"])
@pytest.mark.parametrize("name", ["master", "subordinate"])
def test_a_clock_that_jumps(run, name, seconds):
    """No time of that sample is kept, those before are; jumps either way are told as such, and not
    as silence."""
    tsf = text(ENDLESS, rti='adapter = "tcp"')
    jumping = f'command = ["env", "BENCH_CLOCK_JUMP={seconds}", "{BMFED}"]'
    tsf = tsf.replace(f'[[sequence.federate]]\nname = "{name}"',
                      f'[[sequence.federate]]\nname = "{name}"\n{jumping}')  # fmt: skip
    run.report = seconds == "3600"
    run.start(tsf).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGUSR1)
    err = run.fails(1, "the clock jumped by", "during test 1 of 1")
    assert float(err.partition("jumped by ")[2].split()[0]) == pytest.approx(float(seconds), 0.2)
    run.kept()
    times = [float(r[k]) for r in run.rows() for k in ("send_s", "receive_s", "rtt_max_ms")]
    assert all(0 <= time < 3000 for time in times)
    run_json = json.loads((run.directory / "out" / "run.json").read_text())
    (clock,) = (e["clock"] for e in run_json["executions"])
    assert clock["step_ns"] >= 1 and clock["reading_ns"] >= 0
    if run.report:
        assert "looked at every second" in (run.directory / "out" / "report.html").read_text()


def test_an_rti_that_can_not_be_asked(run, tmp_path):
    """Figures are none the worse for it; the report says so."""
    root = tmp_path / "rti"
    (root / "bin").mkdir(parents=True)
    for part in ("lib", "share"):
        if (Path(RTI_ROOT) / part).exists():
            (root / part).symlink_to(Path(RTI_ROOT) / part)
    real = Path(RTI_ROOT) / "bin" / "starling"
    told = "echo 'error: nobody knows' >&2; exit 1"
    (root / "bin" / "starling").write_text(
        f'#!/bin/sh\n[ "$1" != ps ] || {{ {told}; }}\nexec {real} "$@"\n'
    )
    (root / "bin" / "starling").chmod(0o755)
    run.rti_root, run.report = str(root), True
    code, out, err = run.start(text(QUICK, rti='adapter = "starling"')).end()
    assert (code, err) == (0, ""), out + err
    assert "by what ways data went could not be asked: error: nobody knows" in " ".join(out.split())
    assert len(run.rows()) == 4 * 2 * 2
    assert "not known: nobody could be asked" in (run.directory / "out" / "report.html").read_text()


def test_callbacks_by_the_rtis_own_thread(run):
    """Loop 4; beside another loop it runs in an execution apart, as its connection is another."""
    four = QUICK.replace("loop_version = 3", "loop_version = [3, 4]\ninstances = 7\nbuffers = 3")
    code, _, err = run.start(text(four)).end()
    assert (code, err) == (0, "")
    found = [(r["execution"], r["loop"], r["received"], r["lost"], r["late"]) for r in run.rows()]
    assert sorted(set(found)) == [
        ("e", "3", "300", "0", "0"), ("e.immediate", "4", "300", "0", "0"),
    ]  # fmt: skip
    assert len(found) == 2 * 4 * 2 * 2


def test_transportation_by_service(run):
    """All 32 classes, whatever the FOM says of each; the RTI says how each message came."""
    test = f'{QUICK}\ntransport_by = ["service", "class"]\ntypes = [1, 16]'
    code, _, err = run.start(text(test)).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2 * 2 * 2
    came = {(r["transport"], r["received"], r["came_reliably"]) for r in run.rows()}
    assert came == {("reliable", "300", "300"), ("best_effort", "300", "0")}


def test_all_classes_of_the_fom(run):
    test = """kind = ["OWOT", "RTIL"]
transport_by = "service"
transport = "best_effort"
types = 32
updates = 320
samples = 1"""
    code, _, err = run.start(text(test)).end()
    assert (code, err) == (0, "")
    assert [(r["received"], r["came_reliably"]) for r in run.rows()] == [("320", "0")] * 2


def test_ignored_settings_are_noted_once(run):
    env = f'{{ STARLING_NET_RUN_DIR = "{run.directory}", STARLING_START_IDLE_EXIT_S = "1" }}'
    rti = f'local_settings = "nick=Joe"\nenv = {env}'
    assert run.start(text(rti=rti)).end()[0] == 0
    log = (run.directory / "out" / "s" / "e" / "master.log").read_text().splitlines()
    notes = [line for line in log if line.startswith("starling: note: ")]
    assert len(notes) == 1 and "'nick'" in notes[0]


# ---- before anything starts: exit code 2


def test_an_unknown_field(run):
    err = run.start(text(extra="data_timout_s = 1")).fails(2, "'data_timout_s'", "t.tsf.toml:6")
    assert "did you mean 'data_timeout_s'?" in err
    assert not (run.directory / "out").exists()


def test_a_missing_fom(run):
    run.start(text(fom="none.xml")).fails(2, "STL-FOM-001", "none.xml")


def test_a_fom_that_is_not_xml(run):
    (run.directory / "bad.xml").write_text("<objectModel>\n<objects>\n</objectModel>\n")
    run.start(text(fom="bad.xml")).fails(2, "STL-FOM-002", "mismatched tag", "bad.xml:3")


def test_a_missing_federate_program(run):
    run.bmfed = "/no/such/bmfed"
    run.start(text()).fails(2, "STL-RUN-002", "/no/such/bmfed", "--bmfed PATH")


# ---- the RTI refuses


def test_a_fom_that_the_rti_refuses(run):
    (run.directory / "bad.xml").write_text(
        FOM.read_text().replace(">HLAreliable<", ">HLAsometimes<")
    )
    run.start(text(fom="bad.xml")).fails(
        1, "STL-RUN-003", "createFederationExecution", "HLAsometimes"
    )


def test_an_address_where_nobody_listens(run):
    with socket.socket() as bound:  # not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        run.start(text(extra=f'rtiexec_host = "127.0.0.1:{port}"'))
        run.fails(3, f"127.0.0.1:{port}", "can't be reached", "correct connect.address")


def test_an_address_where_something_else_listens(run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        run.env["STARLING_CONNECT_TIMEOUT_S"] = "5"  # it waits for that
        run.start(text(extra=f'rtiexec_host = "127.0.0.1:{port}"'))
        run.fails(3, "can't be reached", "does not answer: it is no rtiexec")


def test_a_port_in_use(run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = f'["{{root}}/bin/starling", "rtiexec", "--listen", "127.0.0.1:{port}"]'
        env = f'{{ STARLING_NET_RUN_DIR = "{run.directory}" }}'
        rti = f'server = {command}\nserver_ready = "ready"\nenv = {env}'
        run.start(text(rti=rti)).fails(1, "STL-RTI-004", f"127.0.0.1:{port}", "in use")


# ---- half-way


@pytest.mark.parametrize("test", [ENDLESS, ENDLESS_ONE_WAY], ids=["round trip", "one way"])
@pytest.mark.parametrize("name", ["master", "subordinate"])
def test_a_federate_is_killed(run, name, test):
    run.report = True
    run.start(text(test)).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGKILL)
    run.fails(1, f"federate '{name}' was ended by SIGKILL during test 1 of 1")
    run.kept()


@pytest.mark.long
@pytest.mark.parametrize("test", [ENDLESS, ENDLESS_ONE_WAY], ids=["round trip", "one way"])
@pytest.mark.parametrize("name", ["master", "subordinate"])
def test_a_federate_is_stopped(run, name, test):
    run.start(text(test, extra=SHORT)).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGSTOP)
    run.fails(1, f"federate '{name}' is stopped (SIGSTOP or a debugger) during test 1 of 1")
    run.kept()


def test_rtiexec_is_killed(run):
    run.start(text(ENDLESS)).halfway()
    os.kill(run.pid("starling rtiexec"), signal.SIGKILL)
    run.fails(1, "connection to the RTI lost", "during test 1 of 1")
    run.kept()


@pytest.mark.long
def test_rtiexec_is_stopped(run):
    # By shared memory data goes on without it.
    by_rtiexec = 'adapter = "starling"\nenv = { STARLING_TRANSPORT_SHARED_MEMORY = "off" }'
    run.start(text(ENDLESS, rti=by_rtiexec, extra=SHORT)).halfway()
    os.kill(run.pid("starling rtiexec"), signal.SIGSTOP)
    run.fails(1, "('starling'), of a federate, is stopped (SIGSTOP or a debugger)")
    run.kept()


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(run, sig):
    run.start(text(ENDLESS)).halfway()
    run.manager.send_signal(sig)
    run.manager.send_signal(sig)  # the impatient press twice
    run.fails(1, "STL-RUN-004", "interrupted; the results so far are kept")
    run.kept()


# ---- nowhere to write


def test_an_output_folder_that_cannot_be(run):
    (run.directory / "file").touch()
    run.out = "file/out"
    run.start(text()).fails(1, "STL-OUT-001", "file/out", "give another --out")


def test_a_federate_ended_by_a_signal_is_named_and_not_its_partner(run):
    run.start(text(ENDLESS)).halfway()
    os.kill(run.pid("--name subordinate "), signal.SIGINT)
    run.fails(1, "federate 'subordinate' was ended by SIGINT during test 1 of 1")
    run.kept()


def test_a_self_started_rtiexec_ends_when_its_federates_are_all_lost(run):
    """A federation execution without federates does not keep it: it is idle."""
    run.start(text(ENDLESS)).halfway()
    rtiexec = os.pidfd_open(run.pid("starling rtiexec"))
    federates = [run.pid(f"--name {name} ") for name in ("master", "subordinate")]
    run.manager.send_signal(signal.SIGSTOP)  # it would end the rtiexec itself
    for federate in federates:
        os.kill(federate, signal.SIGKILL)
    # Readable when the process has ended.
    assert select.select([rtiexec], [], [], LIMIT_S)[0], "rtiexec is still there"
    os.close(rtiexec)
    run.manager.send_signal(signal.SIGCONT)
    run.fails(1, "was ended by SIGKILL during test 1 of 1")
    run.kept()


@pytest.mark.long
def test_a_killed_manager_leaves_nothing_for_long(run):
    """Its federates die with it, and `clean` ends the rtiexec and removes what it had."""
    run.start(text(ENDLESS)).halfway()
    run.manager.kill()
    run.manager.communicate(timeout=LIMIT_S)
    assert any(path.name.startswith("starling-bench-") for path in run.directory.iterdir())
    env = os.environ | {"TMPDIR": str(run.directory)}
    manager = [sys.executable, "-m", "starling_bench.studies.rtibm"]
    said = subprocess.run([*manager, "clean"], env=env, text=True, capture_output=True, check=True)
    assert f"removed {run.directory}/starling-bench-" in said.stdout
    assert run.processes() == {}
    assert not any(path.name.startswith("starling-bench-") for path in run.directory.iterdir())
    # There is a summary and a report after all.
    out = run.directory / run.out
    # Not all is there, which it says.
    said = subprocess.run([*manager, "report", str(out)], env=env, text=True, capture_output=True)
    assert said.returncode == 1 and "STL-OUT-012" in said.stderr
    run.report = True
    run.kept()


def test_clean_leaves_a_living_managers_run_alone(run):
    run.start(text(ENDLESS)).halfway()
    before = run.processes()
    env = os.environ | {"TMPDIR": str(run.directory)}
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "clean"]
    said = subprocess.run(command, env=env, text=True, capture_output=True, check=True)
    assert str(run.directory) not in said.stdout
    assert run.processes() == before
    run.manager.send_signal(signal.SIGTERM)
    run.fails(1, "STL-RUN-004")
