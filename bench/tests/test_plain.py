"""bmmanager and bmfed on plain sockets and shared memory: the same loops, no RTI."""

import contextlib
import json
import socket
import subprocess
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


@pytest.mark.parametrize("name", ["tcp", "shm"])
def test_all_four_tests_without_an_rti(run, name):
    run.report = True
    code, _, err = run.start(text(QUICK, rti=f'adapter = "{name}"')).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2
    assert {(r["received"], r["lost"], r["late"]) for r in run.rows()} == {("300", "0", "0")}
    report = (run.directory / "out" / "report.html").read_text()
    way = {"tcp": "a TCP link", "shm": "a ring in shared memory"}[name]
    assert way in report and "best effort by a reliable link" in report


# One message under way at a time: a datagram socket's buffer holds it.
ONE = """kind = ["RTOL", "RTIL"]
transport = "best_effort"
loop_version = 3
outstanding_max = 1
updates = 300
samples = 2"""


@pytest.mark.parametrize("name", ["udp", "multicast"])
def test_round_trips_by_datagrams(run, name):
    code, _, err = run.start(text(ONE, rti=f'adapter = "{name}"')).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 2 * 2
    assert {(r["received"], r["lost"], r["late"]) for r in run.rows()} == {("300", "0", "0")}


@pytest.mark.parametrize("name", ["tcp", "shm", "udp", "multicast", "starling"])
def test_no_return_that_has_come_is_waited_for(run, name):
    """A wait in vain lasts longer than all of the sample: the return that it waits for is there."""
    longest = 30
    test = f"""kind = "RTOL"
transport = "best_effort"
loop_version = 3
outstanding_max = 1
updates = 5000
samples = 1
tick_max_s = {longest}"""
    code, _, err = run.start(text(test, rti=f'adapter = "{name}"')).end()
    assert (code, err) == (0, "")
    (row,) = run.rows()
    assert (row["received"], row["lost"]) == ("5000", "0")
    assert float(row["send_s"]) < longest


def test_throughput_of_datagrams_counts_what_is_lost(run):
    test = 'kind = ["OWOT", "OWIT"]\ntransport = "best_effort"\nupdates = 20000\nsamples = 2'
    rti, extra = 'adapter = "udp"', "loss_timeout_s = 2"
    code, _, err = run.start(text(test, rti=rti, extra=extra)).end()
    assert (code, err) == (0, "")
    rows = [{k: int(r[k]) for k in ("sent", "received", "lost")} for r in run.rows()]
    assert len(rows) == 4
    for r in rows:
        assert r["sent"] == 20_000 == r["received"] + r["lost"] and r["received"] > 0


def test_datagrams_have_no_reliable_data(run):
    run.start(text(QUICK, rti='adapter = "udp"'))
    run.fails(2, "adapter 'udp' has no reliable data\n  at t.tsf.toml:")
    assert run.rows() == []


def test_several_pairs_types_and_buffers(run):
    """Each member is in a pair as a sender and in another as a receiver."""
    more = """types = 2
buffers = 3
instances = 5
[[sequence.pair]]
sender = "subordinate"
receiver = "third"
[[sequence.pair]]
sender = "third"
receiver = "master"
[[sequence.federate]]
name = "third"
"""
    code, _, err = run.start(text(f"{QUICK}\n{more}", rti='adapter = "tcp"')).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2 * 3
    assert {(r["received"], r["lost"], r["late"]) for r in run.rows()} == {("300", "0", "0")}


def test_pairs_are_values_of_a_test(run):
    """The first of the sequence's; who is in none of them only keeps step."""
    more = """types = 2
pairs = [2, 1]
[[sequence.pair]]
sender = "subordinate"
receiver = "third"
[[sequence.federate]]
name = "third"
"""
    test = QUICK.replace("samples = 2", "samples = 1")
    code, _, err = run.start(text(f"{test}\n{more}", rti='adapter = "tcp"')).end()
    assert (code, err) == (0, "")
    found = [(r["test"], r["pair"], r["sender"]) for r in run.rows()]
    both = [("1", "master"), ("2", "subordinate")]
    tests = range(1, 17)  # pairs change last
    assert sorted(found, key=lambda f: int(f[0])) == [
        (str(t), *pair) for t in tests for pair in (both if t <= 8 else both[:1])
    ]
    assert {(r["received"], r["lost"]) for r in run.rows()} == {("300", "0")}
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert [s["pairs"] for s in summaries] == [2] * 16 + [1] * 8


def test_samples_that_come_with_the_word_to_begin(run):
    """So few updates that all of them may be there when their receiver begins."""
    test = """kind = ["RTOL", "RTIL"]
loop_version = [1, 3]
outstanding_max = 1
instances = 100
updates = 5
samples = 20"""
    code, _, err = run.start(text(test, rti='adapter = "tcp"', extra=SHORT)).end()
    assert (code, err) == (0, "")
    assert {(r["received"], r["lost"]) for r in run.rows()} == {("5", "0")}


def test_every_loop_brings_everything(run):
    test = 'kind = ["RTOL", "OWIT"]\nloop_version = [1, 2, 3]\nupdates = 200\nsamples = 1'
    code, _, err = run.start(text(test, rti='adapter = "tcp"')).end()
    assert (code, err) == (0, "")
    loops = {(r["kind"], r["loop"]) for r in run.rows()}
    assert loops == {(k, v) for k in ("RTOL", "OWIT") for v in "123"}
    assert {(r["received"], r["lost"]) for r in run.rows()} == {("200", "0")}


def test_the_warm_up_is_not_counted(run):
    """Its round trips come back before the sample begins, and are in no row."""
    test = 'kind = ["RTOL", "OWIT"]\nloop_version = 3\nupdates = 50\nwarm_up = 500\nsamples = 2'
    code, _, err = run.start(text(test, rti='adapter = "tcp"')).end()
    assert (code, err) == (0, "")
    assert {(r["sent"], r["received"], r["late"], r["doubled"]) for r in run.rows()} == {
        ("50", "50", "0", "0")
    }


def test_pairs_use_the_classes_they_name(run):
    """Those and no others: of the FOM all but these are taken away."""
    test = f"{QUICK}\ntypes = 2\n[[sequence.pair]]\n" + (
        'sender = "subordinate"\nreceiver = "master"\nclasses = [7, 3]'
    )
    tsf = text(test, rti='adapter = "starling"').replace(
        'receiver = "subordinate"', 'receiver = "subordinate"\nclasses = [5, 11, 16]', 1
    )
    fom = FOM.read_text()
    for number in set(range(1, 33)) - {n + t for n in (3, 5, 7, 11) for t in (0, 16)}:
        for letter in "SR":
            fom = fom.replace(f"<name>{letter}{number}</name>", f"<name>X{letter}{number}</name>")
    (run.directory / "few.xml").write_text(fom)
    run.start(tsf.replace(str(FOM), "few.xml"))
    run.fails(2, "STL-FOM-003", "lacks the class sendObj.S16")
    tsf = tsf.replace("[5, 11, 16]", "[5, 11]").replace(str(FOM), "few.xml")
    code, _, err = run.start(tsf).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2 * 2
    assert {(r["received"], r["lost"], r["late"]) for r in run.rows()} == {("300", "0", "0")}


def test_every_field_of_a_test_may_be_a_list(run):
    """RTI and bundling too: each combination is a federation execution."""
    test = """kind = "RTOL"
rti = ["starling", "tcp"]
bundling = [true, false]
loop_version = 3
updates = 50
samples = 1"""
    rtis = """[[rti]]
name = "starling"
[[rti]]
name = "tcp"
adapter = "tcp"
"""
    tsf = rtis + text(test).replace("[sequence.rti]", "")
    code, _, err = run.start(tsf).end()
    assert (code, err) == (0, "")
    assert [r["sequence"] for r in run.rows()] == [
        "s.starling.bundled", "s.starling.unbundled", "s.tcp.bundled", "s.tcp.unbundled",
    ]  # fmt: skip
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert [(s["adapter"], s["bundling"]) for s in summaries] == [
        ("starling", True), ("starling", False), ("tcp", True), ("tcp", False),
    ]  # fmt: skip
    notes = json.loads((run.directory / "out" / "run.json").read_text())["notes"]
    assert [n for n in notes if "bundling" in n] == [
        "Adapter 'tcp' has no bundling that is switched: tests with it off are as those with it on."
    ]


STRANGE = (
    b'{"event":5}', b'{"event":"left","federate":7}', b'{"event":"left"}', b'{"event":null}', b"{}",
)  # fmt: skip


def test_a_strangers_lines_do_not_end_a_master_that_nobody_conducts(tmp_path):
    """Refused and counted; the subordinate's own last word is taken after them."""
    control, meet = tmp_path / "control", f"unix:{tmp_path}/meet"
    common = ["--fom", str(FOM), "--adapter", "tcp", "--local-settings", meet,
              "--out", str(tmp_path), "--join-timeout", "100", "--data-timeout", "30"]  # fmt: skip
    test = {"kind": "RTOL", "transport": "reliable", "bytes": 8, "updates": 50, "samples": 1}
    master = ["--name", "m", "--master", "--listen", f"unix:{control}", "--pair", "m:s",
              "--test", json.dumps(test)]  # fmt: skip
    with contextlib.ExitStack() as end:

        def start(command: list[str], **more: object) -> subprocess.Popen:
            process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **more)
            end.callback(process.communicate)
            end.callback(process.kill)
            return process

        server = start([str(Path(BMFED).with_name("bench-meet")), meet])
        assert "ready" in server.stdout.readline()
        conducts = start([BMFED, *master, *common], stderr=subprocess.PIPE)
        stranger = end.enter_context(socket.socket(socket.AF_UNIX))
        while stranger.connect_ex(str(control)) != 0:
            assert conducts.poll() is None, conducts.communicate()
        stranger.sendall(b"\n".join(STRANGE) + b"\n")
        other = start([BMFED, "--name", "s", "--manager", f"unix:{control}", *common])
        _, err = conducts.communicate(timeout=LIMIT_S)
        assert conducts.returncode == 0, err
        assert "a line at the control socket was refused, as it has no text for 'event'" in err
        assert f"lines refused at the control socket: {len(STRANGE)}" in err
        assert other.wait(timeout=LIMIT_S) == 0


def test_who_reads_no_answer_at_the_meeting_place_holds_nobody_up(tmp_path):
    at = str(tmp_path / "meet")
    program = Path(BMFED).with_name("bench-meet")
    with subprocess.Popen([program, f"unix:{at}"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline().startswith("ready")
        deaf, other = (socket.socket(socket.AF_UNIX) for _ in range(2))
        for one in (deaf, other):
            one.connect(at)
        deaf.settimeout(1)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while True:
                deaf.sendall(b"x\n" * 1000)
        other.settimeout(LIMIT_S)
        other.sendall(b'{"session": "s", "name": "n", "address": "a"}\n')
        assert json.loads(other.recv(4096)) == {"members": []}
        server.kill()
        for one in (deaf, other):
            one.close()
