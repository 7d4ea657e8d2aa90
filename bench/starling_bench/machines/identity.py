"""Who conducts: every process and temporary directory of a run names its manager, so that what a
dead manager left can be found and ended, and nothing else.

A manager is named by its process id and start time, which no other process of its PID namespace
shares while that is up. Of another namespace's managers nothing can be said: they are left alone.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import USAGE, BenchError, cannot
from ..outside import read_text

SPACES = Path("/run/netns")  # where `ip netns` has its network namespaces
VARIABLE = "BENCH_RUN_ID"
CLAIM = "manager.lock"  # in a run's directory
HOSTS = "hosts.json"  # in a manager's directory: other hosts on which it has or left processes
_PREFIX = "starling-bench-"
_DIRECTORY = re.compile(rf"{_PREFIX}(\d+)-(\d+)-(\d+)-")
_GRACE_S = 5.0
# Of a Unix-domain socket's name, which is below a run's temporary directory; letters that tell such
# a directory from others (tempfile).
PATH_MAX, MADE_LETTERS = 107, 8
SHORTER = "set TMPDIR to a folder with a shorter name"
_TURN_S = 100.0  # systemd gives a service 90 s to stop or to start


def stat_of(pid: int) -> list[str]:
    """What /proc says of a process behind its name: state, parent, ...; nothing if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def started(pid: int) -> str:
    """The start time of a process in clock ticks since the boot; "" if it is gone or a zombie."""
    fields = stat_of(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _namespace() -> str:
    """The number of the PID namespace that this process is in."""
    return "".join(c for c in os.readlink("/proc/self/ns/pid") if c.isdigit())


@dataclass(frozen=True)
class Manager:
    """The process that conducts a run."""

    pid: int
    start: str

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.start


# struct flock: type, whence, start, length, process. Those of open file descriptions can be asked
# for without taking them, so who asks is in nobody's way.
_FLOCK = "hhqqi0q"
_WHOLE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def holder(directory: Path) -> str:
    """Who has claimed a run's directory, in words; "": nobody. That is for the lock to say: a copy
    of the directory has the file, too."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(directory / CLAIM, flags)
    except FileNotFoundError:
        return ""
    try:
        found = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _WHOLE)
        if struct.unpack(_FLOCK, found)[0] == fcntl.F_UNLCK:
            return ""
        text = os.read(fd, 100)
    finally:
        os.close(fd)
    with contextlib.suppress(ValueError):
        pid, start = text.decode().split(":")
        if Manager(int(pid), start).alive:
            return f"process {int(pid)}"
    return "another process"  # of another host, or it has not said yet


class Claim:
    """A run's directory for this process alone, until it ends or dies: the lock is the kernel's,
    the file says whose it is. BenchError if another process has it, or it can't be had."""

    def __init__(self, directory: Path) -> None:
        path = directory / CLAIM
        self._fd = -1
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o644)
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _WHOLE)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}:{started(os.getpid())}".encode(), 0)
        except BlockingIOError:
            self.end()
            raise BenchError(
                "STL-OUT-006",
                f"{holder(directory) or 'another process'} conducts this run or writes its report",
                str(directory),
                "let it end, or end it (SIGINT keeps its results); `status` says how far it is, "
                "`report` of a copy of the directory what it has",
                USAGE,
            ) from None
        except OSError as e:
            self.end()
            raise cannot("claim the directory", e, path) from None

    def end(self) -> None:
        """Another process may have it. The file stays: who opened it sees the same lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Run:
    """This process as a manager: the run's id, and a temporary directory that ends with it."""

    def __init__(self) -> None:
        me = Manager(os.getpid(), started(os.getpid()))
        self.id = f"{me.pid}:{me.start}:{_namespace()}:{uuid.uuid4().hex}"
        # Names of Unix-domain sockets are short, so the directory is not below the results.
        prefix = f"{_PREFIX}{me.pid}-{me.start}-{_namespace()}-"
        # As TMPDIR may be "." it is made absolute: others run elsewhere.
        self.temporary = Path(tempfile.mkdtemp(prefix=prefix)).absolute()

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
    """Who conducts the run that a process belongs to, if it is of this PID namespace."""
    with contextlib.suppress(OSError, ValueError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == VARIABLE.encode():
                number, start, namespace = value.decode().split(":")[:3]
                if namespace == _namespace():
                    return Manager(int(number), start)
    return None


def _own_line() -> set[int]:
    """This process and all above it."""
    line = {os.getpid()}
    above = os.getppid()
    while above and above not in line:
        line.add(above)
        above = int((stat_of(above)[1:2] or ["0"])[0])
    return line


def orphans() -> Iterator[tuple[int, str]]:
    """Processes whose manager is dead: process id and name. Who asks is none, nor who asks through
    it: a shell may have a dead run's id, to try by hand what that had started."""
    own = _own_line()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in own:
            continue
        manager = _manager_of(int(entry.name))
        if manager and not manager.alive and started(int(entry.name)):
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "comm").read_text().strip()


def _directories() -> Iterator[tuple[Path, bool]]:
    """Temporary directories of this user's managers and keepers, and whether these are dead."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        match = _DIRECTORY.match(directory.name)
        with contextlib.suppress(OSError):
            if match and directory.stat().st_uid == os.getuid() and not directory.is_symlink():
                here = match[3] == _namespace()
                yield directory, here and not Manager(int(match[1]), match[2]).alive


def left() -> Iterator[Path]:
    """Those of dead ones."""
    return (directory for directory, dead in _directories() if dead)


def _quiet(directory: Path) -> list[str]:
    """The services that bench-keep had stopped for this one."""
    with contextlib.suppress(OSError, ValueError):
        return read_text(directory / "quiet").split()
    return []


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """The time in which nobody else stops or starts services (cpp/keep/services.cpp); if others
    take it for too long it is not waited for any more."""
    directory = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _TURN_S
        while time.monotonic() < deadline:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
        yield
    finally:
        os.close(directory)


def _start_services(directory: Path) -> tuple[list[str], list[str]]:
    """What bench-keep had stopped for a dead one runs again, but for what another run wants to be
    quiet, which starts it in the end; and what could not be started."""
    told: list[str] = []
    failed: list[str] = []
    try:
        services = read_text(directory / "quiet").split()
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or e
        what = f"which services a dead manager had stopped can't be read ({why}): look which are"
        return [what], []
    for service in services:
        with _turn():
            if any(service in _quiet(other) for other, dead in _directories() if not dead):
                told.append(f"left service {service} to another run, which has it stopped")
                continue
            if _systemctl_start(service):
                told.append(f"started service {service}")
            else:
                told.append(f"service {service} is stopped and does not start: start it")
                failed.append(service)
    return told, failed


def _systemctl_start(service: str) -> bool:
    try:
        done = subprocess.run(["systemctl", "start", "--", service], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


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
                said, failed = _start_services(directory)
                told += said
                if failed:  # whoever cleans next tries again
                    (directory / "quiet").write_text("\n".join(failed) + "\n", encoding="utf-8")
                    continue
                shutil.rmtree(directory)
                told.append(f"removed {directory}")
    for space in SPACES.glob(f"{_PREFIX}*"):
        match = _DIRECTORY.match(space.name)
        here = match and match[3] == _namespace()
        if here and not Manager(int(match[1]), match[2]).alive:
            done = subprocess.run(["ip", "netns", "delete", space.name], capture_output=True)
            if done.returncode == 0:
                told.append(f"removed network namespace {space.name}")
    return told
