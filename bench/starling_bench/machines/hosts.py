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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import USAGE, BenchError, advice, cannot
from ..outside import line_of, open_file
from . import idle
from .identity import stat_of
from .keeper import Distant, Keeper

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
GRACE_S = 3.0
SERVER = "rti-server"  # the name of an RTI's server among the processes
LINK = "link-emulator"  # that of the links between hosts
CAPTURE = "capture"  # that of the packets of a host
SERVICES = (SERVER, LINK, CAPTURE)  # what serves federates as long as they run
KILL = (signal.SIGKILL,)
# Of a log: what is read of it at once, what of its end is looked at for last words, and the
# characters of a line that are quoted.
_LOOK_BYTES, _WORDS_BYTES, _WORDS_MAX = 1 << 22, 1 << 16, 1000
FOREGROUND = "let it stay in the foreground: who goes into the background can't be followed"


def _begin(cpus: list[int] | None, space: Path | None, manager: int) -> None:
    """In the new process: it dies with the manager, is in its network namespace and keeps to its
    CPUs."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != manager:
        os._exit(127)  # it died before that
    if space is not None:
        there = os.open(space, os.O_RDONLY)
        if _libc.setns(there, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "can't enter the network namespace", str(space))
        os.close(there)
    if cpus is not None:
        os.sched_setaffinity(0, cpus)


async def output(command: list[str], env: dict[str, str], space: Path | None) -> str:
    """What a command says at its standard output; OSError if it fails. It is ended with who waits
    for it."""
    manager = os.getpid()
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: _begin(None, space, manager),
    )  # fmt: skip
    try:
        said, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        words, _ = _last(errors, Path(command[0]).name)
        raise OSError(0, words or f"exit code {process.returncode}", command[0])
    return said.decode(errors="replace")


_TITLES = {
    SERVER: "the RTI's server",
    LINK: "the emulator of links",
    CAPTURE: "the capture of packets",
}


def _name_of(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"  # those of real time have no names


@dataclass
class Running:
    """A started process."""

    name: str
    program: str
    process: asyncio.subprocess.Process | Distant
    log: Path
    keeper: Keeper | None = None  # on another host: who watches it there
    begun: int = 0  # where in the log its own words begin
    # The sign that was looked for, where the next look begins, whether it was found.
    _looked: tuple[tuple[bytes, int] | None, int, bool] = (None, 0, False)

    @property
    def title(self) -> str:
        """What it is, in words."""
        return _TITLES.get(self.name) or f"federate '{self.name}'"

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    def fate(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        if code is None:
            return "is running"
        if code < 0:
            return f"was ended by {_name_of(-code)}"
        return f"ended with exit code {code}"

    def said(self, at: int = 0) -> bytes:
        """What its log has of it, from there on, but no more than is read at once: what stands
        before is of an earlier try, or the command. b"": there is none, or it is no file."""
        with contextlib.suppress(OSError), open_file(self.log) as file:
            file.seek(max(at, self.begun))
            return file.read(_LOOK_BYTES)
        return b""

    def has_said(self, sign: bytes, line: bool = False) -> bool:
        """Its log has this sign, as a line of its own if so. Only what is new since it was last
        asked is looked at, and so much of it that nothing else waits for long."""
        if line:
            sign = b"\n" + sign + b"\n"
        of, at, found = self._looked
        if of != (sign, self.begun):
            at, found = self.begun, False
        if not found:
            said = self.said(at)
            # Its own words begin a line.
            found = sign in (b"\n" + said if line and at == self.begun else said)
            at = max(at, at + len(said) - len(sign) + 1)
        self._looked = (sign, self.begun), at, found
        return found

    async def listens(self, port: int) -> bool:
        """It, or a process below it, listens at this TCP port itself."""
        if self.keeper:
            return (await self.keeper.ask("listens", name=self.name, port=port))["listens"]
        return listens(self.process.pid, port)

    def last_words(self) -> tuple[str, str]:
        """What its log says last, and what that says to do."""
        text = b""
        with contextlib.suppress(OSError):
            text = self.said(self.log.stat().st_size - _WORDS_BYTES)
        return _last(text, self.program)


def _last(said: bytes, program: str) -> tuple[str, str]:
    """What a program says last, and what that says to do."""
    text = said.decode(errors="replace")
    lines = [line[:_WORDS_MAX] for line in text.splitlines() if line]
    heads = [i for i, line in enumerate(lines) if not line[0].isspace()]
    own = [i for i in heads if lines[i].startswith(f"{program}:")]
    if not heads:
        return "", ""
    at = (own or heads)[-1]
    rest = itertools.takewhile(lambda line: line[0].isspace(), lines[at + 1 :])
    do = next((r.strip().removeprefix("do: ") for r in rest if r.strip().startswith("do: ")), "")
    return line_of(lines[at]), line_of(do)


def loaded(process: int) -> list[str]:
    """Files of the libraries that a process of this host and those below it have loaded."""
    found: dict[str, None] = {}
    for pid in _family(process):
        with contextlib.suppress(OSError):  # it has just ended, or is another's
            maps = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
            paths = (line.split(maxsplit=5)[5:] for line in maps.splitlines())
            found |= dict.fromkeys(path for (path,) in filter(None, paths) if ".so" in path)
    return list(found)


class Launcher:
    """The processes of one federation execution, on this host. What `program` has to say itself
    begins with its name and a colon."""

    def __init__(self, program: str) -> None:
        self._program = program
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.running: list[Running] = []
        self.left: list[str] = []  # what of theirs could not be ended, in words
        self._keepers: list[Keeper] = []
        self._before = _children()

    def loaded(self) -> list[str]:
        """Files of the libraries that federates on this host have loaded."""
        federates = (r for r in self.running if r.name not in SERVICES and not r.keeper)
        return [path for r in federates for path in loaded(r.process.pid)]

    async def start(
        self, name: str, command: list[str], log: Path, env: dict[str, str], cwd: Path,
        talk: bool = False, cpus: list[int] | None = None, space: Path | None = None,
    ) -> Running:  # fmt: skip
        """Starts `command` on this host, its output going to `log`; with `talk` its standard input
        and output are pipes, and only its errors go there. It may use these `cpus`; None: all.
        `space` is the network namespace to be in."""
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
                out.write(os.fsencode(f"$ {' '.join(command)}\n"))
                out.flush()
                begun = out.tell()
            except OSError as e:
                raise cannot("write a log", e, log) from None
            manager = os.getpid()
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE if talk else asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE if talk else out,
                    stderr=out,
                    env=env,
                    cwd=cwd,
                    start_new_session=True,
                    preexec_fn=lambda: _begin(cpus, space, manager),
                )
            except OSError as e:
                raise _no_start(name, command, e) from None
        return self._started(Running(name, self._program, process, log, begun=begun))

    async def start_away(
        self, keeper: Keeper, name: str, command: list[str], log: Path, env: dict[str, str],
        out: str, cpus: list[int] | None,
    ) -> Running:  # fmt: skip
        """The same on another host, in its folder `out`; what it writes there comes to `log`."""
        if keeper not in self._keepers:
            self._keepers.append(keeper)
        try:
            process = await keeper.start(name, command, f"{out}/{log.name}", env, out, cpus)
        except OSError as e:
            raise _no_start(name, command, e) from None
        begun = log.stat().st_size if log.exists() else 0
        return self._started(Running(name, self._program, process, log, keeper, begun))

    def _started(self, one: Running) -> Running:
        self.running.append(one)
        return one

    async def stopped(self) -> str:
        """The first process that was stopped, in words; nothing if none was."""
        for keeper in self._keepers:
            with contextlib.suppress(BenchError):
                name = (await keeper.ask("stopped"))["stopped"]
                for one in self.running:
                    if one.name == name and one.keeper is keeper:
                        return f"{one.title} is stopped (SIGSTOP or a debugger)"
        here = [r for r in self.running if r.keeper is None]
        titles = {r.process.pid: r.title for r in here if r.returncode is None}
        of = {pid: title for first, title in titles.items() for pid in _family(first)}
        for pid in [*titles, *sorted(of.keys() - titles.keys()), *self._inherited()]:
            if _state(pid) == "T":
                title = titles.get(pid)
                title = title or f"process {pid} ('{_name(pid)}'), of {of.get(pid, 'a federate')},"
                return f"{title} is stopped (SIGSTOP or a debugger)"
        return ""

    async def end_all(self, hurry: bool = False) -> list[str]:
        """Ends what still runs, gently first; returns the names of those that had to be ended.

        Inherited processes get time to end by themselves unless in a hurry. Bounded in time.
        """
        alive = [r for r in self.running if r.returncode is None and r.keeper is None]
        away = [await keeper.end(hurry) for keeper in self._keepers]
        self.left = [one for keeper in self._keepers for one in keeper.left]
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
        return [*(r.name for r in alive), *(name for names in away for name in names)]

    async def _end_orphans(self, hurry: bool) -> None:
        """Inherited processes: they may end by themselves, then they are asked to, then killed. Who
        ends may leave others behind, which are inherited then: they get the same. Who stays all the
        same is `left`, and is none of this run's any more."""
        stages: list[tuple[int, ...]] = [(signal.SIGTERM, signal.SIGCONT), KILL]
        if not hurry:
            stages.insert(0, ())
        for signals in stages:
            asked: set[int] = set()
            deadline = time.monotonic() + GRACE_S
            while orphans := self._inherited():
                for pid in orphans:
                    # Until it is waited for no other process has its number.
                    with contextlib.suppress(ChildProcessError):
                        if os.waitpid(pid, os.WNOHANG)[0] == 0 and pid not in asked:
                            _signal(os.kill, pid, *signals)
                asked |= orphans
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.05)
        stay = sorted(self._inherited())
        idle.disown(stay)
        self.left += [f"process {pid} ('{_name(pid)}')" for pid in stay]

    def _inherited(self) -> set[int]:
        """Children that this launcher did not start."""
        mine = {r.process.pid for r in self.running if r.keeper is None}
        return _children() - self._before - mine


def _no_start(name: str, command: list[str], error: OSError) -> BenchError:
    server = name == SERVER
    do = "correct 'server' in the RTI's table" if server else "build it, or correct the command"
    why = error.strerror or ""
    return BenchError(
        "STL-RUN-002",
        f"can't start {command[0]}: {why}",
        "the RTI's server" if server else f"federate '{name}'",
        advice(error) or do,
        USAGE,
    )


def _signal(send: Callable[[int, int], None], pid: int, *signals: int) -> None:
    for number in signals:
        # It may have made itself another user's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, number)


@contextlib.contextmanager
def placed(cpus: dict[int, set[int]]) -> Iterator[None]:
    """Keeps processes on these CPUs meanwhile; 0 is this one, and what it starts."""
    before = {pid: os.sched_getaffinity(pid) for pid in cpus}
    try:
        for pid, its in cpus.items():
            os.sched_setaffinity(pid, its)
        yield
    finally:
        for pid in cpus:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(pid, before[pid])


def listens(pid: int, port: int) -> bool:
    """A process, or one below it, listens at this TCP port itself."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
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


def running(program: str) -> list[int]:
    """Processes below this one that run a program."""
    found = []
    for pid in _family(os.getpid()):
        with contextlib.suppress(OSError):  # it has just ended, or is another's
            if os.path.samefile(f"/proc/{pid}/exe", program):
                found.append(pid)
    return found


def resident_kb(pid: int) -> int:
    """What a process holds in memory; 0: it has ended."""
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") // 1024
    return 0


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
