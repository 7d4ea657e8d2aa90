"""Runs of bmmanager with the real bmfed, for several test files.

BMFED, RTI_ROOT and STANDIN_ROOT say what to run (`make bench-python` sets them). Every endpoint is
private.
"""

import contextlib
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
STANDIN_ROOT = os.environ.get("STANDIN_ROOT")
# Far more than any of it takes; what hangs fails instead of holding up the rest.
LIMIT_S = int(os.environ.get("T_LIMIT", "120"))
FOM = Path(__file__).parents[1] / "foms" / "rtibm.xml"
QUICK = """kind = ["OWOT", "OWIT", "RTOL", "RTIL"]
transport = ["reliable", "best_effort"]
loop_version = 3
outstanding_max = 1
updates = 300
samples = 2"""


# A slow machine loses nothing and is not given up.
PATIENT = {"join_timeout_s": 100, "data_timeout_s": 100, "loss_timeout_s": 100}
# For tests that wait for a time-out to pass: nothing else in them takes so long.
SHORT = "data_timeout_s = 10"


def text(test: str = QUICK, fom: str | Path = FOM, extra: str = "", rti: str = "") -> str:
    """A test sequence file. Time-outs are long, but for what `extra` says."""
    limits = "\n".join(f"{key} = {value}" for key, value in PATIENT.items() if key not in extra)
    return f"""
[[sequence]]
name = "s"
fom = "{fom}"
master = "master"
{extra}
{limits}
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
        self.bmfed, self.rti_root = BMFED, RTI_ROOT
        self.option = "--bmfed"  # of that program
        self.env = {f"STARLING_{key}_TIMEOUT_S": "100" for key in ("CONNECT", "START")}
        self.out = "out"
        # Takes most of a short run's CPU time, so only who looks at it has it written.
        self.report = False
        self.manager: subprocess.Popen | None = None

    def start(self, tsf: str, *options: str) -> "Run":
        (self.directory / "t.tsf.toml").write_text(tsf)
        self.manager = subprocess.Popen(
            [*self.command(), "run", "t.tsf.toml", self.option, self.bmfed,
             "--rti-root", self.rti_root, "--out", self.out, "--idle-wait-s", "0",
             *([] if self.report else ["--no-report"]), *options],
            cwd=self.directory, env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        return self

    @staticmethod
    def command() -> list[str]:
        """The manager's."""
        return [sys.executable, "-m", "starling_bench.studies.rtibm"]

    def environment(self) -> dict[str, str]:
        """What it runs in."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
        return env | {"TMPDIR": str(self.directory)} | self.env

    def end(self, lost: bool = False) -> tuple[int, str, str]:
        """Waits for the manager; exit code and what it wrote. What runs on a host that is `lost`
        ends by itself, perhaps later."""
        out, err = self.manager.communicate(timeout=LIMIT_S)
        assert lost or self.processes() == {}
        return self.manager.returncode, out, err

    def fails(self, code: int, *words: str, lost: bool = False) -> str:
        """Ends with one message that holds all of `words`."""
        returned, out, err = self.end(lost)
        assert [line[:4] for line in err.splitlines() if line[:1] != " "] == ["STL-"], err
        for word in words:
            assert word in err, err
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
            # Those by which hosts are reached are the test's.
            mine = mine and not command.startswith("sshd: ")
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
        """The results so far are there, and any report tells how it ended."""
        assert len(self.rows()) >= 3
        if self.report:
            report = (self.directory / self.out / "report.html").read_text()
            assert 'class="verdict bad"' in report
        assert (self.directory / self.out / "summary.csv").stat().st_size > 0


def killed(run: Run, tsf: object, part: str, wanted: int) -> None:
    """Begins, and once there are so many rows kills whoever has this in its command; "": the
    manager."""
    run.start(tsf)
    while run.manager.poll() is None and len(run.rows()) < wanted:
        time.sleep(0.005)
    if not part:
        run.manager.send_signal(signal.SIGKILL)
        run.manager.communicate(timeout=LIMIT_S)
        return
    while run.manager.poll() is None and not kill(run, part):
        time.sleep(0.005)
    ended(run)


def kill(run: Run, part: str) -> bool:
    """False: nobody of that name is there, or it ended before it could be killed."""
    for pid, command in run.processes().items():
        if part in command:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
    return False


def ended(run: Run) -> str:
    """What the manager says of who is gone: one message, or none: the run may have been done before
    that, or done without it."""
    _, err = run.manager.communicate(timeout=LIMIT_S)
    if run.manager.returncode != 0:
        assert err.count("STL-") == 1 and "Traceback" not in err, err
    return err


def resumed(run: Run, tsf: object) -> None:
    """Goes on to the end with what there is, or begins anew where there is nothing."""
    if (run.directory / run.out / "run.json").exists():
        again = run.start(tsf, "--resume")
    else:
        run.out = "again"
        again = run.start(tsf)
    code, out, err = again.end()
    assert (code, err) == (0, ""), out + err


def living(it: Run) -> Iterator[Run]:
    """A run, of which nothing is left afterwards."""
    yield it
    if it.manager and it.manager.poll() is None:
        it.manager.kill()
        it.manager.communicate(timeout=LIMIT_S)
    for pid in it.processes() if it.manager else ():
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(it.directory, ignore_errors=True)


@pytest.fixture
def run() -> Iterator[Run]:
    # Names of Unix-domain sockets are short, so the directory is not below pytest's.
    yield from living(Run(Path(tempfile.mkdtemp(prefix="bm-"))))
