"""bench-keep, which starts, watches and ends processes on a host, as this manager talks with it.

It ends everything when it hears nothing more of the manager: when that died, or the connection was
lost (cpp/keep/keep.cpp has what it can be asked).
"""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from ..errors import USAGE, BenchError
from ..outside import line_of
from .machine import preemption

PROGRAM = "bench-keep"
LINE_MAX = 1 << 20  # bytes of what it is told (cpp/keep/keep.cpp)
# What ending processes there may take: they are asked, given time, killed.
_ANSWER_S = 20.0
# What stopping a service, or starting it, may take: systemd gives it 90 s, and so long it may be
# that another run stops or starts one.
_SERVICE_S = 200.0
_CLOCK_LOOKS = 5


class Reader(Protocol):
    """Where it is heard."""

    async def readline(self) -> str | bytes: ...


class Writer(Protocol):
    """Where things are said to it."""

    def write(self, data: bytes) -> object: ...


class Distant:
    """A process there."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._over = asyncio.Event()

    def ended(self, code: int | None) -> None:
        """It has ended with this code; None: nobody will hear of it."""
        self.returncode = code
        self._over.set()

    async def wait(self) -> int | None:
        """Until it has ended, or the connection has."""
        await self._over.wait()
        return self.returncode


class Keeper:
    """One of them. Questions are answered in order; who asks one that is lost gets a BenchError."""

    def __init__(self, title: str, reader: Reader, writer: Writer) -> None:
        self.title = title
        self.directory = ""  # on that host, removed in the end
        self.cleaned: list[str] = []  # what dead keepers had left there
        self.left: list[str] = []
        self.lost = False
        self.on_loss: Callable[[BenchError], None] = lambda _: None
        self._writer = writer
        self._asked: deque[asyncio.Future[dict]] = deque()
        self._processes: dict[str, Distant] = {}
        self._greeted: asyncio.Future[dict] = asyncio.get_running_loop().create_future()
        self._asked.append(self._greeted)
        self._closing = False
        self._services = 0  # that don't run meanwhile
        self._listening = asyncio.ensure_future(self._listen(reader))

    async def greeted(self) -> None:
        """Until it is there."""
        hello = await self._answer(self._greeted)
        self.directory, self.cleaned = hello["directory"], hello["cleaned"]

    async def ask(self, what: str, **more: object) -> dict:
        """What it answers; BenchError if it can't, or is gone."""
        if self.lost:
            raise self._gone()
        answer: asyncio.Future[dict] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        with contextlib.suppress(OSError):  # then it is heard no more, either
            self._writer.write(json.dumps({"do": what, **more}).encode() + b"\n")
        return await self._answer(answer)

    async def quiet(self, services: list[str]) -> None:
        """Stops these services until the end; BenchError if one can't be."""
        self._services += len(services)
        await self.ask("quiet", services=services)

    @property
    def patience_s(self) -> float:
        """What an answer, or its end, may take."""
        return _ANSWER_S + _SERVICE_S * self._services

    async def start(
        self, name: str, command: list[str], log: str, env: dict[str, str], cwd: str,
        cpus: list[int] | None,
    ) -> Distant:  # fmt: skip
        """Starts a process there; OSError if that fails."""
        # Here first: that it has ended may be said together with that it was started.
        one = self._processes[name] = Distant(0)
        try:
            told = await self.ask(
                "start", name=name, command=command, log=log, env=env, cwd=cwd, cpus=cpus or []
            )
        except BenchError as e:
            self._processes.pop(name, None)
            if isinstance(e, _Refused):
                raise OSError(0, e.what) from None
            raise
        one.pid = told["started"]
        return one

    async def end(self, hurry: bool) -> list[str]:
        """Ends all; who had to be ended, and `left` is what could not be. Nothing if the connection
        is lost: then it does so of itself."""
        with contextlib.suppress(BenchError):
            told = await self.ask("end", hurry=hurry)
            self.left = [f"{line_of(one)} of {self.title}" for one in told.get("left", [])]
            return told["ended"]
        return []

    async def clock(self) -> tuple[float, float]:
        """By how many seconds that host's clock is ahead, and how far that may be wrong."""
        best = (0.0, float("inf"))
        for _ in range(_CLOCK_LOOKS):
            before = time.time_ns()
            there = (await self.ask("clock"))["ns"]
            after = time.time_ns()
            bound = (after - before) / 2e9
            best = min(best, ((there - (before + after) / 2) / 1e9, bound), key=lambda b: b[1])
        return best

    async def found(self) -> dict:
        """What a reader of figures must know of that host."""
        facts = await self.ask("look", s=0.5)
        said = (facts.pop(key, "") for key in ("preempt", "begun"))
        facts["preemption"] = preemption(facts.get("kernel_build", ""), *said)
        ahead, bound = await self.clock()
        return facts | {"clock_ahead_s": ahead, "clock_bound_s": bound, "cleaned": self.cleaned}

    async def close(self) -> None:
        """It ends what it keeps, and itself."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._writer.write_eof()  # type: ignore[attr-defined]
        await asyncio.wait([self._listening], timeout=self.patience_s)
        self._listening.cancel()

    def give_up(self) -> None:
        """It is not waited for any more."""
        self._listening.cancel()

    async def _answer(self, answer: asyncio.Future[dict]) -> dict:
        try:
            told = await asyncio.wait_for(asyncio.shield(answer), self.patience_s)
        except TimeoutError:
            self.give_up()
            raise self._gone() from None
        if "error" in told:
            raise _Refused("STL-SSH-006", f"{self.title}: {told['error']}")
        return told

    def _gone(self) -> BenchError:
        return BenchError(
            "STL-SSH-005", f"the connection to {self.title} was lost", "",
            "is it up, and does ssh reach it? then resume the run",
        )  # fmt: skip

    async def _listen(self, reader: Reader) -> None:
        try:
            with contextlib.suppress(OSError, ValueError, EOFError):
                while line := await reader.readline():
                    self._hear(json.loads(line))
        finally:
            self._end()

    def _hear(self, told: dict) -> None:
        if "gone" in told:
            if one := self._processes.pop(told["gone"], None):
                one.ended(int(told["code"]))
        elif self._asked:
            answer = self._asked.popleft()
            if not answer.done():
                answer.set_result(told)

    def _end(self) -> None:
        self.lost = True
        for answer in self._asked:
            if not answer.done():
                answer.set_exception(self._gone())
                answer.exception()  # whoever asked may have given up
        for one in self._processes.values():
            one.ended(None)
        if not self._closing:
            self.on_loss(self._gone())


@contextlib.asynccontextmanager
async def local(program: Path, quiet: list[str]) -> AsyncIterator[Keeper]:
    """One on this host, by the `program` beside the federates': services don't run as long as it
    lasts, also if this process dies. BenchError if there is no such program."""
    if not program.is_file():
        raise BenchError(
            "STL-RUN-013", f"there is no program '{PROGRAM}'", str(program.parent),
            "build the federates' program: it comes with it", USAGE,
        )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    keeper = Keeper("this host", process.stdout, process.stdin)
    try:
        await keeper.greeted()
        await keeper.quiet(quiet)
        yield keeper
    finally:
        await keeper.close()
        try:
            await asyncio.wait_for(process.wait(), _ANSWER_S)
        except TimeoutError:  # it is stopped; what it had stopped runs again with the next run
            with contextlib.suppress(ProcessLookupError):  # or has ended meanwhile
                process.kill()
            await process.wait()


def busy(title: str, facts: dict) -> list[str]:
    """Who else uses a host's CPUs, in words."""
    found = [f"{one['name']} ({one['cpu']:.0%})" for one in facts["busy"]]
    return [f"{title} these use over 2 % of a CPU: {', '.join(found)}"] if found else []


class _Refused(BenchError):
    """It answered that it can't."""
