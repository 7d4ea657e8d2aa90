"""Starts processes in the background, each with its log file, and leaves none behind.

Every process has its own group and dies with the manager (PR_SET_PDEATHSIG). The manager is
subreaper, so what a process leaves running (an RTI that started by itself) becomes its child and
is found and ended, too.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from .errors import USAGE, BenchError

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)
GRACE_S = 3.0


def _die_with_manager() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@dataclass
class Running:
    """A started process."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

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

    def last_words(self) -> str:
        """The last line of its log."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            said = [line for line in lines if line.startswith("bmfed:")]
            return (said or lines or [""])[-1]
        return ""


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
        with log.open("wb") as out:
            out.write(f"$ {' '.join(command)}\n".encode())
            out.flush()
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

    async def end_all(self) -> list[str]:
        """Ends what still runs, gently first; returns the names of those that had to be ended."""
        alive = [r for r in self.running if r.returncode is None]
        for sig, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
            for r in alive:
                if r.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(r.process.pid, sig)
            waits = [asyncio.ensure_future(r.process.wait()) for r in alive]
            if waits:
                await asyncio.wait(waits, timeout=patience)
        await self._end_orphans()
        self.running.clear()
        return [r.name for r in alive]

    async def _end_orphans(self) -> None:
        """Waits for inherited processes to end by themselves, then ends them."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GRACE_S
        killed = False
        while orphans := _children() - self._before:
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
                if loop.time() > deadline and not killed:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            killed = loop.time() > deadline
            await asyncio.sleep(0.05)


def require_local(name: str, host: str) -> None:
    """Other hosts are not supported yet; an ssh launcher stands behind the same calls later."""
    if host not in ("localhost", "127.0.0.1"):
        raise BenchError(
            "STL-RUN-001",
            f"federate '{name}': host '{host}' is not this host",
            do='use host = "localhost"; other hosts are not supported yet',
            exit_code=USAGE,
        )


def _children() -> set[int]:
    """Process ids whose parent is this process, zombies included."""
    me = os.getpid()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(after_name[1]) == me:
                    found.add(int(entry.name))
    return found
