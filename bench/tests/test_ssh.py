"""Hosts that ssh reaches: federates run there with what was copied, results come home between
samples, and nothing stays behind.
"""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from runs import (
    LIMIT_S,
    QUICK,
    Run,
    run as run,  # the fixture
    text,
)
from sshd import (
    REASON,
    Net,
    net as net,  # the fixture
    possible,
    two,
)

if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not possible(), reason=REASON)
ENDLESS = """kind = "RTOL"
loop_version = 3
outstanding_max = 1
updates = 200
samples = {samples}"""


def nothing_stays(run: Run, net: Net) -> None:
    """Neither processes nor directories, on this machine and there."""
    deadline = time.monotonic() + LIMIT_S
    while any(machine.left() for machine in net.machines) or run.processes():
        left = {machine.name: machine.left() for machine in net.machines}
        assert time.monotonic() < deadline, (left, run.processes())
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["starling", "tcp"])
def test_federates_on_hosts_that_ssh_reaches(run, net, name):
    tsf = two(net, QUICK, rti=f'adapter = "{name}"')
    code, out, err = run.start(tsf).end()
    assert (code, err) == (0, ""), out + err
    assert {(r["received"], r["lost"]) for r in run.rows()} == {("300", "0")}
    assert len(run.rows()) == 4 * 2 * 2
    (summary, *_) = json.loads((run.directory / "out" / "summary.json").read_text())
    assert summary["hosts"] == "2 systems: a, b"
    (execution,) = json.loads((run.directory / "out" / "run.json").read_text())["executions"]
    for facts in execution["found"].values():
        assert facts["cpus"] >= 1 and facts["disk_free_bytes"] > 0 and facts["governor"]
        assert facts["kernel_build"] == os.uname().version and "begun" not in facts
        assert facts["preemption"] and facts["clock_source"]
        assert abs(facts["clock_ahead_s"]) <= facts["clock_bound_s"]
    nothing_stays(run, net)


@pytest.mark.long
def test_what_is_there_is_copied_once_and_compared(run, net):
    test = QUICK.replace("samples = 2", "samples = 1")
    assert run.start(two(net, test, rti='adapter = "tcp"')).end()[0] == 0
    stored = {
        path: path.stat()
        for machine in net.machines
        for path in (machine.directory / "store").rglob("*")
        if path.is_file()
    }
    (altered,) = (path for path in stored if path.parts[-5] == "a" and path.name == "bmfed")
    altered.write_bytes(altered.read_bytes()[:-1] + b"x")
    run.out = "again"
    assert run.start(two(net, test, rti='adapter = "tcp"')).end()[0] == 0
    fresh = [path for path, was in stored.items() if path.stat().st_ino != was.st_ino]
    assert fresh == [altered]


def test_results_come_home_between_samples(run, net):
    """Every round trip of the rows that are there is at home, too, while the run goes on."""
    run.start(two(net, ENDLESS.format(samples=10000))).halfway()
    rows = len(run.rows())
    trips = np.fromfile(run.directory / "out" / "s" / "e" / "rtt_test1_pair1.raw", dtype="<u4")
    assert len(trips) >= (rows - 1) * 202  # of the last one the way home may have begun
    run.manager.send_signal(signal.SIGTERM)
    run.fails(1, "STL-RUN-004", "interrupted; the results so far are kept")
    run.kept()
    nothing_stays(run, net)


@pytest.mark.long
@pytest.mark.parametrize("host", [0, 1], ids=["master", "subordinate"])
def test_a_lost_connection(run, net, host):
    """It is told, what ran there has ended, and the run is resumed."""
    run.start(two(net, ENDLESS.format(samples=12))).halfway()
    net.machines[host].cut()
    err = run.fails(1, "STL-SSH-005", "was lost during test 1 of 1", lost=True)
    assert f"host '{net.machines[host].name}'" in err
    run.kept()
    nothing_stays(run, net)
    code, out, err = run.start(two(net, ENDLESS.format(samples=12)), "--resume").end()
    assert (code, err) == (0, ""), out + err
    assert [r["sample"] for r in run.rows()] == [str(n) for n in range(1, 13)]


@pytest.mark.long
def test_a_host_that_vanishes(run, net):
    run.start(two(net, ENDLESS.format(samples=10000), extra="data_timeout_s = 2")).halfway()
    net.machines[1].plug("down")
    _, err = run.manager.communicate(timeout=LIMIT_S)
    assert run.manager.returncode == 1 and err.count("STL-") == 1 and "'subordinate'" in err, err
    run.kept()
    net.machines[1].plug("up")
    net.machines[1].cut()  # TCP would find it out in some minutes
    nothing_stays(run, net)


@pytest.mark.long
def test_a_host_that_was_lost_is_cleaned_before_the_next_run(run, net):
    """It has not heard that the manager is gone."""
    run.start(two(net, ENDLESS.format(samples=10000), extra="data_timeout_s = 2")).halfway()
    net.machines[1].hang()
    net.machines[1].plug("down")
    run.manager.communicate(timeout=LIMIT_S)
    assert run.manager.returncode == 1
    net.machines[1].plug("up")
    (left,) = net.machines[1].left()
    run.out = "again"
    code, out, err = run.start(two(net, ENDLESS.format(samples=3))).end()
    assert (code, err) == (0, ""), out + err
    assert "on host 'b'" in out and "ended keeper" in out
    assert left not in net.machines[1].left()
    nothing_stays(run, net)
    assert list(run.directory.glob("starling-bench-*")) == []


@pytest.mark.long
def test_a_host_that_was_lost_is_cleaned_before_the_next_execution(run, net):
    test = ENDLESS.format(samples=10000)
    more = f'[[sequence.execution]]\nname = "f"\n[[sequence.execution.test]]\n{ENDLESS}'
    tsf = two(net, test, extra="data_timeout_s = 2") + more.format(samples=3)
    run.start(tsf).halfway()
    net.machines[1].hang()
    net.machines[1].plug("down")
    run_json = run.directory / "out" / "run.json"

    def failed() -> bool:
        return json.loads(run_json.read_text())["executions"][0]["state"] == "failed"

    deadline = time.monotonic() + LIMIT_S
    while not failed():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    net.machines[1].plug("up")
    _, err = run.manager.communicate(timeout=LIMIT_S)
    assert run.manager.returncode == 1 and err.count("STL-") == 1, err
    assert [r["sample"] for r in run.rows() if r["execution"] == "f"] == ["1", "2", "3"]
    notes = json.loads(run_json.read_text())["notes"]
    assert any("ended keeper" in note and "'b'" in note for note in notes), notes
    nothing_stays(run, net)


@pytest.mark.long
@pytest.mark.parametrize("name", ["master", "subordinate"])
def test_a_federate_is_killed_there(run, net, name):
    run.start(two(net, ENDLESS.format(samples=10000))).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGKILL)
    run.fails(1, f"federate '{name}' was ended by SIGKILL during test 1 of 1")
    run.kept()
    nothing_stays(run, net)


def test_the_server_is_killed_there(run, net):
    run.start(two(net, ENDLESS.format(samples=10000), rti='adapter = "starling"')).halfway()
    os.kill(run.pid("starling rtiexec"), signal.SIGKILL)
    run.fails(1, "the RTI's server was ended by SIGKILL")
    run.kept()
    nothing_stays(run, net)


def test_a_killed_managers_hosts_are_cleaned(run, net):
    """Also where nobody noticed yet: the link was down when it died."""
    run.start(two(net, ENDLESS.format(samples=10000))).halfway()
    net.machines[1].plug("down")
    run.manager.kill()
    run.manager.communicate(timeout=LIMIT_S)
    net.machines[1].plug("up")
    done = subprocess.run(
        [*run.command(), "clean"], capture_output=True, text=True, env=run.environment()
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"removed {run.directory}/starling-bench-" in done.stdout
    nothing_stays(run, net)


SYSTEMCTL = """#!/bin/sh
# Pretends to be systemctl: a service runs if there is a file of its name.
case $1 in
is-active) [ -e "{0}/$3" ] ;;
stop) rm "{0}/$3" ;;
start) touch "{0}/$3" ;;
esac
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["ends", "dies"])
def test_services_are_stopped_for_the_run(run, net, how):
    """And started again, whatever happens; what did not run stays so."""
    for machine in net.machines:
        services = machine.directory / "services"
        services.mkdir()
        (services / "noisy").touch()
        systemctl = machine.directory / "bin" / "systemctl"
        systemctl.write_text(SYSTEMCTL.format(services))
        systemctl.chmod(0o755)
    quiet = '[hosts]\nquiet = ["noisy", "absent"]\n'
    run.start(two(net, ENDLESS.format(samples=10000), quiet)).halfway()
    running = [sorted(os.listdir(m.directory / "services")) for m in net.machines]
    assert running == [[], []]
    run.manager.send_signal(signal.SIGTERM if how == "ends" else signal.SIGKILL)
    run.manager.communicate(timeout=LIMIT_S)
    nothing_stays(run, net)
    running = [sorted(os.listdir(m.directory / "services")) for m in net.machines]
    assert running == [["noisy"], ["noisy"]]


def test_services_of_this_host_are_stopped_for_the_run(run):
    (run.directory / "bin").mkdir()
    services = run.directory / "services"
    services.mkdir()
    (services / "noisy").touch()
    systemctl = run.directory / "bin" / "systemctl"
    systemctl.write_text(SYSTEMCTL.format(services))
    systemctl.chmod(0o755)
    run.env["PATH"] = f"{run.directory}/bin:{os.environ['PATH']}"
    tsf = '[hosts]\nquiet = ["noisy", "absent"]\n' + text(ENDLESS.format(samples=10000))
    run.start(tsf).halfway()
    assert os.listdir(services) == []
    run.manager.kill()
    run.manager.communicate(timeout=LIMIT_S)
    deadline = time.monotonic() + LIMIT_S
    while os.listdir(services) != ["noisy"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_host_that_is_not_known_is_not_talked_to(run, net):
    (run.directory / "known_hosts").write_text("")
    err = run.start(two(net, QUICK)).fails(3, "STL-SSH-001", "host 'a' can't be reached by ssh")
    assert "known_hosts" in err


def test_a_host_that_knows_another_key(run, net):
    (run.directory / "user.pub").write_text("")
    err = run.start(two(net, QUICK)).fails(3, "STL-SSH-001", "host 'a' can't be reached by ssh")
    assert "ssh-agent" in err
