"""One rtiexec for many measurements, the ways that data takes between its federates, and where
these run.

For federates that need no conductor (`group`); `systems` has an rtiexec for each measurement.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import BenchError
from ..machines.group import HERE, At, Group
from ..machines.hosts import Running, placed
from ..machines.identity import Run
from ..machines.rti import Rti, Starling

# From federate to federate; and what of that is best effort, by datagrams.
PEERS = ("direct", "multicast", "udp")
BEST = {"multicast": "multicast", "udp": "datagrams"}
# Where processes of a run are kept; else the scheduler has them where it likes.
ONE_CPU, APART = "one CPU", "different CPUs"
_COUNTING = Path(__file__).parents[2] / "instructions.py"
_SERVER = ["{root}/bin/starling", "rtiexec", "--listen", "127.0.0.1:0", "--log-level", "warning"]


@dataclass
class Served:
    """Programs, and an rtiexec that nobody else uses, reached over either kind of link."""

    program: Path  # the federates'; others stand beside it
    fom: Path
    logs: Path
    server: Running
    tcp: str
    _env: dict[str, str]
    name: str  # of which Starling
    root: Path
    run: Run
    apart: tuple[int, ...] = ()  # the CPUs of a run's processes, in turn; none: as this process

    @property
    def programs(self) -> Path:
        return self.program.parent

    def group(self, socket: str = "unix") -> Group:
        """Processes whose links are of this kind: "unix", "tcp", or "memory", "direct",
        "multicast" or "udp": data goes from federate to federate, in shared memory, by TCP, or by
        TCP and what is best effort by UDP, to a group or not, and not by rtiexec."""
        env = self._env | {
            "STARLING_CONNECT_ADDRESS": self.tcp,
            "STARLING_NET_UNIX": "false" if socket == "tcp" else "true",
            "STARLING_TRANSPORT_SHARED_MEMORY": "auto" if socket == "memory" else "off",
            "STARLING_TRANSPORT_PATH": "direct" if socket in PEERS else "forwarder",
            "STARLING_TRANSPORT_BEST_EFFORT": BEST.get(socket, "auto"),
        }
        return Group(self.program.name.partition("-")[0], env, self.logs)

    def federate(self, role: str, timeout_s: int = 300) -> list[str]:
        """The command of a federate."""
        return [str(self.program), role, "--fom", str(self.fom), "--timeout", str(timeout_s)]

    async def counts(self, rows: set[str]) -> dict[str, float]:
        """What `make instructions` counts in these rows; nothing where no tool does."""
        if not all(map(shutil.which, ("valgrind", "strace"))):
            return {}
        async with self.group() as group:
            where = {"rti_root": self.root, "programs": self.programs, "fom": self.fom}
            command = [sys.executable, str(_COUNTING), "--json", *sorted(rows)]
            await group.start("counts", command, rounds=2, **where)
            return (await group.results())["counts"]

    @contextlib.contextmanager
    def placed(self, where: str) -> Iterator[None]:
        """Keeps what is started meanwhile, and the rtiexec, on one CPU, or the two ends on CPUs of
        their own and the rtiexec, as a raw relay, on a third, if there is one."""
        every, server = sorted(os.sched_getaffinity(0)), self.server.process.pid
        last = {every[-1]}
        self.apart = tuple(every) if where == APART else ()
        on = {ONE_CPU: {0: last, server: last}, APART: {server: {every[2 % len(every)]}}}
        try:
            with placed(on.get(where, {})):
                yield
        finally:
            self.apart = ()

    def at(self, number: int) -> At:
        """Where a process of a run is."""
        return At([self.apart[number % len(self.apart)]]) if self.apart else HERE


@contextlib.asynccontextmanager
async def serving(
    root: Path, program: Path, fom: Path, logs: Path, run: Run, name: str, preset: str = ""
) -> AsyncIterator[Served]:
    """Runs an rtiexec; it is gone afterwards. With a preset, which its federates have, too."""
    logs.mkdir(parents=True, exist_ok=True)
    prepared = Starling().prepare(Rti(server=_SERVER), root.resolve(), run)
    env = prepared.env
    keep = ("STARLING_NET_RUN_DIR",)
    env = {k: v for k, v in env.items() if not k.startswith("STARLING_") or k in keep}
    env |= {"STARLING_PRESET": preset} if preset else {}
    # Which way data takes is the federates' choice.
    ways = {"STARLING_TRANSPORT_SHARED_MEMORY": "auto", "STARLING_TRANSPORT_PATH": "direct"}
    async with Group("starling", env | ways, logs) as group:
        server, ready = await group.serve("rtiexec", prepared.server, run_dir=env[keep[0]])
        tcp = next(at for at in ready if not at.startswith("unix:"))
        yield Served(program.resolve(), fom, logs, server, tcp, env, name, root.resolve(), run)
        if server.returncode is not None:
            raise BenchError("STL-LIM-002", f"rtiexec has ended: {server.last_words()[0]}")
