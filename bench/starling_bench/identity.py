"""Who conducts: every process and temporary directory of a run names its manager, so that what a
dead manager left can be found and ended, and nothing else.

A manager is named by its process id and start time, which no other process of the machine shares
while it is up.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import USAGE, BenchError

SPACES = Path("/run/netns")  # where `ip netns` has its network namespaces
VARIABLE = "BENCH_RUN_ID"
CLAIM = "manager.lock"  # in a run's directory
HOSTS = "hosts.json"  # in a manager's directory: other hosts on which it has or left processes
_PREFIX = "starling-bench-"
_DIRECTORY = re.compile(rf"{_PREFIX}(\d+)-(\d+)-")
_GRACE_S = 5.0


def stat_of(pid: int) -> list[str]:
    """What /proc says of a process behind its name: state, parent, ...; nothing if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def started(pid: int) -> str:
    """The start time of a process in clock ticks since the boot; "" if it is gone or a zombie."""
    fields = stat_of(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


@dataclass(frozen=True)
class Manager:
    """The process that conducts a run."""

    pid: int
    start: str

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.start


def holder(directory: Path) -> Manager | None:
    """The process that has claimed a run's directory and lives."""
    with contextlib.suppress(OSError, ValueError):
        pid, start = (directory / CLAIM).read_text(encoding="utf-8").split(":")
        if (found := Manager(int(pid), start)).alive:
            return found
    return None


class Claim:
    """A run's directory for this process alone, until it ends or dies: the lock is the kernel's,
    the file says whose it is. BenchError if another process has it."""

    def __init__(self, directory: Path) -> None:
        path = directory / CLAIM
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            other = holder(directory)
            raise BenchError(
                "STL-OUT-006",
                f"process {other.pid} conducts this run"
                if other
                else "another process conducts this run",
                str(directory),
                "let it end, or end it (SIGINT keeps its results); `status` says how far it is",
                USAGE,
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}:{started(os.getpid())}".encode(), 0)

    def end(self) -> None:
        """Another process may have it. The file stays: who opened it sees the same lock."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


class Run:
    """This process as a manager: the run's id, and a temporary directory that ends with it."""

    def __init__(self) -> None:
        me = Manager(os.getpid(), started(os.getpid()))
        self.id = f"{me.pid}:{me.start}:{uuid.uuid4().hex}"
        # Names of Unix-domain sockets are short, so the directory is not below the results.
        prefix = f"{_PREFIX}{me.pid}-{me.start}-"
        self.temporary = Path(tempfile.mkdtemp(prefix=prefix))

    def directory(self, name: str) -> Path:
        """A new directory below the run's temporary one."""
        return Path(tempfile.mkdtemp(prefix=name, dir=self.temporary))

    def end(self) -> None:
        """Hosts that were lost stay noted, for the next run or `clean`."""
        if (self.temporary / HOSTS).exists():
            for entry in self.temporary.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
            return
        shutil.rmtree(self.temporary, ignore_errors=True)


def _manager_of(pid: int) -> Manager | None:
    """Who conducts the run that a process belongs to."""
    with contextlib.suppress(OSError, ValueError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == VARIABLE.encode():
                number, start, _ = value.decode().split(":")
                return Manager(int(number), start)
    return None


def orphans() -> Iterator[tuple[int, str]]:
    """Processes whose manager is dead: process id and name."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        manager = _manager_of(int(entry.name))
        if manager and not manager.alive and started(int(entry.name)):
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "comm").read_text().strip()


def left() -> Iterator[Path]:
    """Temporary directories of this user's managers that are dead."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        match = _DIRECTORY.match(directory.name)
        with contextlib.suppress(OSError):
            mine = directory.stat().st_uid == os.getuid() and not directory.is_symlink()
            if match and mine and not Manager(int(match[1]), match[2]).alive:
                yield directory


def clean() -> list[str]:
    """Ends what dead managers left on this host; what that was, one line each."""
    told: list[str] = []
    for number in (signal.SIGTERM, signal.SIGKILL):
        found = list(orphans())
        for pid, name in found:
            with contextlib.suppress(OSError):
                # The environment is that of the process that was found, not of a later namesake.
                os.kill(pid, number)
                if number == signal.SIGTERM:
                    os.kill(pid, signal.SIGCONT)
                    told.append(f"ended process {pid} ({name})")
        deadline = time.monotonic() + _GRACE_S
        while any(started(pid) for pid, _ in found) and time.monotonic() < deadline:
            time.sleep(0.02)
    for directory in left():
        # With hosts that could not be cleaned yet it is still needed.
        if not (directory / HOSTS).exists():
            with contextlib.suppress(OSError):
                # What bench-keep had stopped there runs again.
                quiet = directory / "quiet"
                for service in quiet.read_text().split() if quiet.exists() else ():
                    subprocess.run(["systemctl", "start", "--", service], capture_output=True)
                    told.append(f"started service {service}")
                shutil.rmtree(directory)
                told.append(f"removed {directory}")
    for space in SPACES.glob(f"{_PREFIX}*"):
        match = _DIRECTORY.match(space.name)
        if match and not Manager(int(match[1]), match[2]).alive:
            done = subprocess.run(["ip", "netns", "delete", space.name], capture_output=True)
            if done.returncode == 0:
                told.append(f"removed network namespace {space.name}")
    return told
