"""bmmanager and bmfed on the stand-in RTI, which uses every freedom that an RTI has."""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import (
    BMFED,
    FOM,
    LIMIT_S,
    QUICK,
    SHORT,
    STANDIN_ROOT,
    Run,
    run as run,  # the fixture
    text,
)

pytestmark = pytest.mark.skipif(
    not (BMFED and STANDIN_ROOT), reason="BMFED and STANDIN_ROOT are not set"
)


class Server:
    """The stand-in's server, at a port of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [Path(STANDIN_ROOT, "bin", "standin-rti"), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.at = self.process.stdout.readline().split()[1]

    def log(self) -> list[str]:
        """Ends it; what it said."""
        if self.process.poll() is None:
            self.process.terminate()
            self.said = self.process.communicate()[0].splitlines()
        return self.said


@pytest.fixture
def server() -> Iterator[Server]:
    it = Server()
    yield it
    it.log()


def start(run: Run, server: Server, test: str, rules: str = "", **more: str) -> Run:
    run.rti_root = STANDIN_ROOT
    run.env["STANDIN"] = rules
    rti = f'adapter = "generic"\nlocal_settings = "standin://{server.at}"'
    return run.start(text(test, rti=rti, **more))


def test_all_four_tests_where_the_rti_copies_bytes_at_once(run, server):
    code, _, err = start(run, server, QUICK).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2
    assert {(r["received"], r["lost"], r["late"]) for r in run.rows()} == {("300", "0", "0")}


def test_two_runs_on_one_server_do_not_meet(run, server):
    """At once, of one file: each has a federation execution of its own."""
    (run.directory / "other").mkdir()
    both = [run, Run(run.directory / "other")]
    for one in both:
        start(one, server, QUICK)
    for one in reversed(both):
        code, _, err = one.end()
        assert (code, err) == (0, "")
        assert len(one.rows()) == 4 * 2 * 2
        assert {(r["received"], r["lost"], r["late"]) for r in one.rows()} == {("300", "0", "0")}


ROUND_TRIPS = """kind = "RTOL"
loop_version = 3
outstanding_max = 1
updates = 20
samples = 2"""


def test_results_that_are_overtaken_are_waited_for(run, server):
    """Order is kept within a class only: "finished" comes before the results."""
    code, _, err = start(run, server, QUICK, "late=testResults:0.2").end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2
    assert {(r["sent"], r["received"]) for r in run.rows()} == {("300", "300")}


@pytest.mark.long
def test_results_that_never_come_leave_no_row(run, server):
    start(run, server, ROUND_TRIPS, "lose=testResults:1", extra=SHORT)
    run.fails(1, "federate 'subordinate' has finished sample 1.1 but its results did not come")
    assert run.rows() == []


@pytest.mark.long
def test_who_left_says_why_though_its_leaving_is_seen_first(run, server):
    start(run, server, ROUND_TRIPS, "lose=testResults:1,late=endFedex:0.5", extra=SHORT)
    run.fails(1, "federate 'subordinate' has finished sample 1.1 but its results did not come")
    log = (run.directory / "out" / "s" / "e" / "subordinate.log").read_text()
    assert "the master ended the run: federate 'subordinate' has finished sample 1.1" in log


def test_federates_leave_one_after_another(run, server):
    """The next is asked when the last has left, however long that takes."""
    three = """
[[sequence.federate]]
name = "third"
[[sequence.pair]]
sender = "master"
receiver = "third"
"""
    rules = "slow_resign=0.3"
    code, _, err = start(run, server, ROUND_TRIPS + three, rules).end()
    assert (code, err) == (0, "")
    assert sorted(server.log()) == [f"resigning: {n}" for n in ("master", "subordinate", "third")]


@pytest.mark.long
def test_a_reliable_test_that_gets_nothing_ends_at_once(run, server):
    """One silent time-out, not one per update; the next test runs."""
    # The first test's data is lost, the others' is not.
    test = (
        ROUND_TRIPS
        + """
[[sequence.execution.test]]
kind = "RTIL"
loop_version = 3
outstanding_max = 1
updates = 20
samples = 2"""
    )
    start(run, server, test, "lose=sendObj:1", extra=SHORT)
    run.fails(1, "STL-RUN-005", "s/e, test 1: reliable data stopped coming: nothing for 10 s at")
    lost = [(r["test"], r["sent"], r["received"], r["lost"]) for r in run.rows()]
    assert lost == [("1", "1", "0", "1"), *[("2", "20", "20", "0")] * 2]


def test_an_rti_without_a_change_of_transportation(run, server):
    start(run, server, ROUND_TRIPS + '\ntransport_by = "service"')
    run.fails(1, "requestAttributeTransportationTypeChange", "does not have this service")
    assert run.rows() == []


def test_doubled_best_effort_counts_once(run, server):
    code, _, err = start(run, server, QUICK, "double=best_effort:0.2").end()
    assert (code, err) == (0, "")
    for r in run.rows():
        assert (r["received"], r["lost"]) == ("300", "0")
    doubled = {r["transport"]: 0 for r in run.rows()}
    for r in run.rows():
        doubled[r["transport"]] += int(r["doubled"])
    assert doubled["reliable"] == 0 < doubled["best_effort"]


def test_an_rti_that_cuts_values_off_is_told(run, server):
    """Shorter messages would make it fast. Each test says so, of who got them."""
    test = f"{QUICK}\nbuffer_bytes = 100".replace('["reliable", "best_effort"]', '"reliable"')
    start(run, server, test, "cut=sendObj:50,cut=returnInt:8")
    err = run.fails(1, "STL-RUN-005")
    cut = r"s/e, test (\d): values came with (\d+) bytes at '(\w+)', and 100 were sent"
    assert re.findall(cut, err) == [("1", "50", "subordinate"), ("3", "50", "subordinate"),
                                    ("4", "8", "master")]  # fmt: skip
    assert [r["test"] for r in run.rows()] == ["1", "2", "2", "3", "4"]


@pytest.mark.long
def test_lost_best_effort_is_counted_exactly(run, server):
    test = """kind = ["OWOT", "RTIL"]
transport = "best_effort"
loop_version = 3
updates = 2000
samples = 1"""
    code, _, err = start(
        run, server, test, "lose=best_effort:0.01", extra="loss_timeout_s = 5"
    ).end()
    assert (code, err) == (0, "")
    rows = {r["kind"]: int(r["lost"]) for r in run.rows()}
    # Binomial, 2,000 at 1 % (a round trip may be lost on either way): five deviations.
    assert abs(rows["OWOT"] - 20) < 5 * 4.5 and abs(rows["RTIL"] - 40) < 5 * 6.3


@pytest.mark.long
@pytest.mark.parametrize("more", ["outstanding_max = 1", "outstanding_max = 3", "warm_up = 300"])
def test_a_lost_round_trip_of_best_effort_loses_no_other(run, server, more):
    """Who returns goes on until all is sent, however long who sends waits for what is lost: of the
    warm-up, of the sample, or of the other pair's."""
    test = f"""kind = "RTOL"
transport = "best_effort"
loop_version = [1, 3]
updates = 500
samples = 1
{more}
[[sequence.pair]]
sender = "subordinate"
receiver = "master"
"""
    code, _, err = start(
        run, server, test, "lose=best_effort:0.01", extra="loss_timeout_s = 0.2"
    ).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4
    assert {r["sent"] for r in run.rows()} == {"500"}
    for loop in "13":
        lost = sum(int(r["lost"]) for r in run.rows() if r["loop"] == loop)
        # Binomial, 2,000 at 1 %, where both federates draw alike: five deviations.
        assert 0 < lost < 20 + 5 * 2 * 3.2


def test_a_reliable_message_that_is_doubled_hides_none_that_is_lost(run, server):
    test = 'kind = "OWOT"\nloop_version = 3\nupdates = 1000\nsamples = 2'
    start(run, server, test, "lose=sendObj:0.1,double=sendObj:0.2", extra=SHORT)
    run.fails(1, "STL-RUN-005", "reliable data stopped coming")
    (row,) = run.rows()
    # Binomial, five deviations.
    assert abs(int(row["lost"]) - 100) < 5 * 9.5 and abs(int(row["doubled"]) - 180) < 5 * 12.2


@pytest.mark.long
def test_a_server_that_cannot_have_its_port_is_never_ready(run, server):
    """Another RTI holds it and would answer."""
    run.rti_root = STANDIN_ROOT
    port = server.at.rpartition(":")[2]
    # It stays alive without its port, as some servers do.
    command = f'["sh", "-c", "{{root}}/bin/standin-rti --listen {server.at}; sleep 600"]'
    rti = f"""adapter = "generic"
local_settings = "standin://{server.at}"
server = {command}
server_port = {port}"""
    run.start(text(ROUND_TRIPS, rti=rti, extra="join_timeout_s = 10"))
    said = f"did not get ready within 10 s (join_timeout_s): it does not listen at port {port}; "
    run.fails(1, "STL-RTI-004", said, "Address already in use", f"is port {port} in use")
    assert run.rows() == []


def test_a_server_is_ready_when_it_listens(run):
    run.rti_root = STANDIN_ROOT
    # An address that no other process uses, so that nobody takes the port once it is free.
    here = ".".join(map(str, (127, *os.getpid().to_bytes(3, "big"))))
    with socket.socket() as free:
        free.bind((here, 0))
        at = f"{here}:{free.getsockname()[1]}"
    rti = f'''adapter = "generic"
local_settings = "standin://{at}"
server = ["{{root}}/bin/standin-rti", "--listen", "{at}"]
server_port = {at.rpartition(":")[2]}'''
    assert run.start(text(ROUND_TRIPS, rti=rti)).end()[0] == 0
    assert len(run.rows()) == 2


def listens(path: Path) -> bool:
    """Whether somebody takes connections there; the file is there before."""
    sockets = map(str.split, Path("/proc/net/unix").read_text().splitlines())
    return any(one[3] == "00010000" and one[-1] == str(path) for one in sockets)


def test_without_a_manager_federates_leave_one_after_another(run, server):
    """The master serves the control pipe itself."""
    env = os.environ | {
        "LD_LIBRARY_PATH": f"{STANDIN_ROOT}/lib", "STANDIN": "slow_resign=0.3",
    }  # fmt: skip
    common = [BMFED, "--fom", FOM, "--local-settings", f"standin://{server.at}"]
    pipe = f"unix:{run.directory}/pipe"
    test = json.dumps({"kind": "RTOL", "updates": 5, "samples": 1, "loop": 3})
    master = subprocess.Popen(
        [*common, "--name", "a", "--master", "--listen", pipe, "--pair", "a:b", "--pair", "a:c",
         "--test", test, "--out", run.directory],
        env=env,
    )  # fmt: skip
    while not listens(run.directory / "pipe"):
        assert master.poll() is None
        time.sleep(0.01)
    others = [subprocess.Popen([*common, "--name", n, "--manager", pipe], env=env) for n in "bc"]
    assert [p.wait(LIMIT_S) for p in (master, *others)] == [0, 0, 0]
    assert sorted(server.log()) == [f"resigning: {n}" for n in "abc"]
    assert (run.directory / "results.csv").read_text().count("\n") == 3


def test_reliable_messages_that_come_twice_are_named_as_what_ends_a_run(run, server):
    start(run, server, QUICK, "double=reliable:1")
    run.fails(1, "came twice: the RTI delivers reliable messages more than once")
