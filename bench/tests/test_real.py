"""bmmanager with the real bmfed on the real rtiexec: what goes wrong ends with one clear message,
a stated exit code, no process left behind and the results so far kept.

BMFED and RTI_ROOT say what to run (`make bench-python` sets them). Every endpoint is private.
"""

import csv
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
pytestmark = pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
# Far more than any of it takes; what hangs fails instead of holding up the rest.
LIMIT_S = 120
FOM = Path(__file__).parents[1] / "foms" / "rtibm.xml"
ENDLESS = 'kind = "RTOL"\nloop_version = 3\noutstanding_max = 1\nupdates = 200\nsamples = 10000'
ENDLESS_ONE_WAY = (
    'kind = "OWOT"\nloop_version = 3\nbuffer_bytes = 1400\nupdates = 20000\nsamples = 10000'
)
QUICK = """kind = ["OWOT", "OWIT", "RTOL", "RTIL"]
transport = ["reliable", "best_effort"]
loop_version = 3
outstanding_max = 1
updates = 300
samples = 2"""


def text(test: str = QUICK, fom: str | Path = FOM, extra: str = "", rti: str = "") -> str:
    """A test sequence file. Time-outs are short where a test waits for one to pass."""
    return f"""
[[sequence]]
name = "s"
fom = "{fom}"
master = "master"
data_timeout_s = 3
{extra}
[sequence.rti]
{rti}
[[sequence.federate]]
name = "master"
[[sequence.federate]]
name = "subordinate"
[[sequence.pair]]
sender = "master"
receiver = "subordinate"
[[sequence.execution]]
name = "e"
[[sequence.execution.test]]
{test}
"""


class Run:
    """One bmmanager in a directory of its own, and the processes that belong to it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.out = "out"
        self.manager: subprocess.Popen | None = None

    def start(self, tsf: str) -> "Run":
        (self.directory / "t.tsf.toml").write_text(tsf)
        env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
        self.manager = subprocess.Popen(
            [sys.executable, "-m", "starling_bench.bmmanager", "run", "t.tsf.toml",
             "--bmfed", BMFED, "--rti-root", RTI_ROOT, "--out", self.out, "--idle-wait", "0"],
            cwd=self.directory, env=env | {"TMPDIR": str(self.directory)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        return self

    def end(self) -> tuple[int, str, str]:
        """Waits for the manager; exit code and what it wrote."""
        out, err = self.manager.communicate(timeout=LIMIT_S)
        assert self.processes() == {}
        return self.manager.returncode, out, err

    def fails(self, code: int, *words: str) -> str:
        """Ends with one message that holds all of `words`."""
        returned, out, err = self.end()
        assert [line[:4] for line in err.splitlines() if line[:1] != " "] == ["STL-"], err
        for word in words:
            assert word in err
        assert returned == code, err
        assert "Traceback" not in out + err
        return err

    def processes(self) -> dict[int, str]:
        """Command lines of this run's processes but the manager."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                mine = str(self.directory) in command + os.readlink(entry / "cwd")
            except (OSError, UnicodeDecodeError):
                continue
            if entry.name.isdigit() and mine and int(entry.name) != self.manager.pid:
                found[int(entry.name)] = command
        return found

    def pid(self, part: str) -> int:
        return next(pid for pid, command in self.processes().items() if part in command)

    def rows(self) -> list[dict]:
        path = self.directory / self.out / "results.csv"
        if not path.exists():
            return []
        whole_lines = path.read_text().rpartition("\n")[0]  # more may be half written
        return list(csv.DictReader(whole_lines.splitlines()))

    def halfway(self) -> None:
        """Waits until some samples have been measured."""
        deadline = time.monotonic() + LIMIT_S
        while len(self.rows()) < 3:
            assert self.manager.poll() is None, self.manager.communicate()
            assert time.monotonic() < deadline, "no results came"
            time.sleep(0.02)

    def kept(self) -> None:
        """The results so far are there, and a report that tells how it ended."""
        assert len(self.rows()) >= 3
        report = (self.directory / self.out / "report.html").read_text()
        assert 'class="verdict bad"' in report
        assert (self.directory / self.out / "summary.csv").stat().st_size > 0


@pytest.fixture
def run() -> Iterator[Run]:
    # Names of Unix-domain sockets are short, so the directory is not below pytest's.
    it = Run(Path(tempfile.mkdtemp(prefix="bm-")))
    yield it
    if it.manager and it.manager.poll() is None:
        it.manager.kill()
        it.manager.communicate(timeout=LIMIT_S)
    for pid in it.processes() if it.manager else ():
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(it.directory, ignore_errors=True)


def test_all_four_tests_in_one_execution(run):
    code, out, err = run.start(text()).end()
    assert (code, err) == (0, "")
    assert len(run.rows()) == 4 * 2 * 2
    assert {row["lost"] for row in run.rows() if row["transport"] == "reliable"} == {"0"}
    assert "travels the same links as reliable data" in " ".join(out.split())


def test_ignored_settings_are_noted_once(run):
    env = f'{{ STARLING_NET_RUN_DIR = "{run.directory}", STARLING_START_IDLE_EXIT_S = "1" }}'
    rti = f'local_settings = "nick=Joe"\nenv = {env}'
    assert run.start(text(rti=rti)).end()[0] == 0
    log = (run.directory / "out" / "s" / "e" / "master.log").read_text().splitlines()
    notes = [line for line in log if line.startswith("starling: note: ")]
    assert len(notes) == 1 and "'nick'" in notes[0]


# ---- before anything starts: exit code 2


def test_an_unknown_field(run):
    err = run.start(text(extra="data_timout_s = 1")).fails(2, "'data_timout_s'", "t.tsf.toml:7")
    assert "did you mean 'data_timeout_s'?" in err
    assert not (run.directory / "out").exists()


def test_a_missing_fom(run):
    run.start(text(fom="none.xml")).fails(2, "STL-FOM-001", "none.xml")


def test_a_fom_that_is_not_xml(run):
    (run.directory / "bad.xml").write_text("<objectModel>\n<objects>\n</objectModel>\n")
    run.start(text(fom="bad.xml")).fails(2, "STL-FOM-002", "mismatched tag", "bad.xml:3")


def test_a_missing_federate_program(run):
    global BMFED
    kept, BMFED = BMFED, "/no/such/bmfed"
    try:
        run.start(text())
    finally:
        BMFED = kept
    run.fails(2, "STL-RUN-002", "/no/such/bmfed", "--bmfed PATH")


# ---- the RTI refuses


def test_a_fom_that_the_rti_refuses(run):
    (run.directory / "bad.xml").write_text(FOM.read_text().replace("HLAobjectRoot", "Root"))
    run.start(text(fom="bad.xml")).fails(1, "STL-RUN-003", "createFederationExecution", "Root")


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
        run.start(text(extra=f'rtiexec_host = "127.0.0.1:{port}"'))
        run.fails(3, "can't be reached", "is it an rtiexec of Starling?")


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
    run.start(text(test)).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGKILL)
    run.fails(1, f"federate '{name}' was ended by SIGKILL during test 1 of 1")
    run.kept()


@pytest.mark.parametrize("test", [ENDLESS, ENDLESS_ONE_WAY], ids=["round trip", "one way"])
@pytest.mark.parametrize("name", ["master", "subordinate"])
def test_a_federate_is_stopped(run, name, test):
    run.start(text(test)).halfway()
    os.kill(run.pid(f"--name {name} "), signal.SIGSTOP)
    run.fails(1, f"federate '{name}' is stopped (SIGSTOP or a debugger) during test 1 of 1")
    run.kept()


def test_rtiexec_is_killed(run):
    run.start(text(ENDLESS)).halfway()
    os.kill(run.pid("starling rtiexec"), signal.SIGKILL)
    run.fails(1, "connection to the RTI lost", "during test 1 of 1")
    run.kept()


def test_rtiexec_is_stopped(run):
    run.start(text(ENDLESS)).halfway()
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


def test_a_full_disk(run):
    (run.directory / "out").mkdir()
    (run.directory / "out" / "results.csv").symlink_to("/dev/full")
    run.start(text()).fails(1, "STL-OUT-001", "No space left on device", "results.csv")
