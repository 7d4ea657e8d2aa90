"""Starts processes in the background, each with its log file, and leaves none behind.

Every process has its own group and dies with the manager (PR_SET_PDEATHSIG). The manager is
subreaper, so what a process leaves running (an RTI that started by itself) becomes its child and
is found and ended, too.
"""

import asyncio
import contextlib
import ctypes
import itertools
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import USAGE, BenchError, cannot
from .identity import stat_of

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)
GRACE_S = 3.0
KILL = (signal.SIGKILL,)


def _die_with_manager() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@dataclass
class Running:
    """A started process."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

    @property
    def title(self) -> str:
        """What it is, in words."""
        return "the RTI's server" if self.name == "rti-server" else f"federate '{self.name}'"

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    def fate(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        if code is None:
            return "is running"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def last_words(self) -> tuple[str, str]:
        """What its log says last, and what that says to do."""
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line]
        heads = [i for i, line in enumerate(lines) if not line[0].isspace() and line[:2] != "$ "]
        said = [i for i in heads if lines[i].startswith("bmfed:")]
        if not heads:
            return "", ""
        at = (said or heads)[-1]
        rest = itertools.takewhile(lambda line: line[0].isspace(), lines[at + 1 :])
        do = next(
            (r.strip().removeprefix("do: ") for r in rest if r.strip().startswith("do: ")), ""
        )
        return lines[at], do


class Launcher:
    """The processes of one federation execution, on this host."""

    def __init__(self) -> None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.running: list[Running] = []
        self._before = _children()

    async def start(
        self, name: str, host: str, command: list[str], log: Path, env: dict[str, str], cwd: Path
    ) -> Running:
        """Starts `command`, its output going to `log`."""
        require_local(name, host)
        if not cwd.is_dir():
            raise BenchError(
                "STL-RUN-008",
                f"federate '{name}': the directory to run in is missing",
                str(cwd),
                "make it, or correct the field 'directory'",
                USAGE,
            )
        try:
            out = log.open("ab")
        except OSError as e:
            raise cannot("write a log", e, log) from None
        with out:
            try:
                out.write(f"$ {' '.join(command)}\n".encode())
                out.flush()
            except OSError as e:
                raise cannot("write a log", e, log) from None
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    env=env,
                    cwd=cwd,
                    start_new_session=True,
                    preexec_fn=_die_with_manager,
                )
            except OSError as e:
                raise BenchError(
                    "STL-RUN-002",
                    f"can't start {command[0]}: {e.strerror}",
                    f"federate '{name}'",
                    "build it or give --bmfed PATH",
                    USAGE,
                ) from None
        started = Running(name, process, log)
        self.running.append(started)
        return started

    def stopped(self) -> str:
        """The first process that was stopped, in words; nothing if none was."""
        titles = {r.process.pid: r.title for r in self.running if r.returncode is None}
        for pid in sorted({*titles, *self._inherited()}, key=lambda pid: pid not in titles):
            if _state(pid) == "T":
                title = titles.get(pid) or f"process {pid} ('{_name(pid)}'), of a federate,"
                return f"{title} is stopped (SIGSTOP or a debugger)"
        return ""

    async def end_all(self, hurry: bool = False) -> list[str]:
        """Ends what still runs, gently first; returns the names of those that had to be ended.

        Inherited processes get time to end by themselves unless in a hurry. Bounded in time.
        """
        alive = [r for r in self.running if r.returncode is None]
        # What is stopped acts on SIGTERM only when it continues.
        for signals, patience in (((signal.SIGTERM, signal.SIGCONT), GRACE_S), (KILL, GRACE_S)):
            waits = [asyncio.ensure_future(r.process.wait()) for r in alive if r.returncode is None]
            for r in alive:
                if r.returncode is None:
                    _signal(os.killpg, r.process.pid, *signals)
            if waits:
                await asyncio.wait(waits, timeout=patience)
        await self._end_orphans(hurry)
        self.running.clear()
        return [r.name for r in alive]

    async def _end_orphans(self, hurry: bool) -> None:
        """Inherited processes: they may end by themselves, then they are asked to, then killed."""
        stages: list[tuple[int, ...]] = [(signal.SIGTERM, signal.SIGCONT), KILL]
        if not hurry:
            stages.insert(0, ())
        for signals in stages:
            for pid in self._inherited():
                _signal(os.kill, pid, *signals)
            deadline = time.monotonic() + GRACE_S
            while orphans := self._inherited():
                for pid in orphans:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.05)

    def _inherited(self) -> set[int]:
        """Children that this launcher did not start."""
        return _children() - self._before - {r.process.pid for r in self.running}


def _signal(send: Callable[[int, int], None], pid: int, *signals: int) -> None:
    for number in signals:
        with contextlib.suppress(ProcessLookupError):
            send(pid, number)


def listens(pid: int, port: int) -> bool:
    """A process, or one below it, listens at this TCP port itself."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                local, state, inode = (line.split()[i] for i in (1, 3, 9))
                if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                    sockets.add(f"socket:[{inode}]")
    for one in _family(pid):
        with contextlib.suppress(OSError):
            for fd in Path(f"/proc/{one}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(fd) in sockets:
                        return True
    return False


def _family(pid: int) -> set[int]:
    """A process and all below it."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    parents = {one: (stat_of(one)[1:2] or ["0"])[0] for one in pids}
    found = {pid}
    while more := {p for p, parent in parents.items() if int(parent) in found} - found:
        found |= more
    return found


def require_local(name: str, host: str) -> None:
    """Other hosts are not supported yet; an ssh launcher stands behind the same calls later."""
    if host not in ("localhost", "127.0.0.1"):
        raise BenchError(
            "STL-RUN-001",
            f"federate '{name}': host '{host}' is not this host",
            do='use host = "localhost"; other hosts are not supported yet',
            exit_code=USAGE,
        )


def _state(pid: int) -> str:
    return (stat_of(pid) or [""])[0]


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _children() -> set[int]:
    """Process ids whose parent is this process, zombies included."""
    me = str(os.getpid())
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {pid for pid in pids if stat_of(pid)[1:2] == [me]}
