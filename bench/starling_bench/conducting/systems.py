"""Starling set up for one measurement: an rtiexec of its own, and federates that have its settings,
on this host or between hosts that are network namespaces.

For federates that need no conductor (`group`).
"""

import contextlib
import itertools
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from ..machines import network
from ..machines.group import At, Group
from ..machines.hosts import Launcher, Running, output
from ..machines.identity import Run
from ..machines.rti import Rti, Starling

TIMEOUT_S = 90
SERVER = "server"  # the host of rtiexec
_NETWORKS = itertools.count(1)


@dataclass
class Bench:
    """Programs, and where they run."""

    root: Path  # Starling's install tree
    program: Path  # the federates'; what is without an RTI, and bench-link, stand beside it
    logs: Path
    run: Run
    hosts: dict[str, str]  # by a federate's role, where there are several: else the server's
    timeout_s: int = TIMEOUT_S  # of each federate
    cpus: list[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))
    notes: list[str] = field(default_factory=list)  # that a reader of its report must know

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


@dataclass
class System:
    """Starling as it was set up, while it lives."""

    bench: Bench
    fom: Path
    cpus: dict[str, int]
    places: dict[str, network.Place]  # of hosts, where there are several
    group: Group | None = None
    servers: list[Running] = field(default_factory=list)
    reach: dict[str, str] = field(default_factory=dict)  # settings by which it is found

    def at(self, role: str) -> At:
        """Where a role runs: CPUs by their place among those that there are."""
        cpus = self.bench.cpus
        chosen = [cpus[self.cpus[role] % len(cpus)]] if role in self.cpus else None
        return At(chosen, self.place(role).space)

    def place(self, role: str) -> network.Place:
        """The host of a role."""
        return self.places.get(self.bench.hosts.get(role, SERVER), network.HERE)

    async def status(self) -> dict:
        """What rtiexec shows of its only federation execution: `starling ps`."""
        command = [str(self.bench.root / "bin" / "starling"), "ps", "--json"]
        said = await output(command, dict(os.environ) | self.reach, self.at(SERVER).space)
        (federation,) = json.loads(said)["federations"]
        return federation

    async def start(self, role: str, number: int = 0, **options: object) -> Running:
        """A federate. Whether something is so is a number to it."""
        told = {k: int(v) for k, v in options.items()}
        command = [str(self.bench.program), role]
        options = {"fom": self.fom, "timeout": self.bench.timeout_s, **told}
        return await self.group.start(f"{role}{number}", command, self.at(role), **options)


@contextlib.asynccontextmanager
async def system(
    bench: Bench, settings: dict[str, str], fom: Path, cpus: dict[str, int] | None = None,
    forwarder: bool = False, link: dict | None = None,
) -> AsyncIterator[System]:  # fmt: skip
    """An rtiexec with these settings, as its federates have them, who may come by a forwarder. With
    a `link` (as network.Host has it) there are several hosts."""
    starling = bench.root / "bin" / "starling"
    prepared = Starling().prepare(Rti(), bench.root, bench.run)
    env = {k: v for k, v in prepared.env.items() if not k.startswith("STARLING_")}
    env |= {f"STARLING_{k.upper().replace('.', '_')}": v for k, v in settings.items()}
    env |= {"STARLING_LOG_LEVEL": "warning"}
    word = bench.program.name.partition("-")[0]  # before what it says itself
    async with contextlib.AsyncExitStack() as stack:
        places = await _hosts(stack, bench, word, link)
        address = places[SERVER].address if places else "127.0.0.1"
        group = await stack.enter_async_context(Group("starling", env, bench.logs))
        made = System(bench, fom, cpus or {}, places)
        to = ""
        for name in ("rtiexec", *(["forwarder"] if forwarder else [])):
            # Federates find a Unix-domain link in the directory of the server that they connect to.
            directory = str(bench.run.directory("s-"))
            options = {"upstream": to} if to else {}
            server, ready = await group.serve(
                name, [str(starling), name], made.at(name),
                listen=f"{address}:0", run_dir=directory, **options,
            )  # fmt: skip
            made.servers.append(server)
            to = next(at for at in ready if not at.startswith("unix:"))
        made.reach = {"STARLING_CONNECT_ADDRESS": to, "STARLING_NET_RUN_DIR": directory}
        env |= made.reach
        made.group = await stack.enter_async_context(Group(word, env, bench.logs))
        yield made


async def _hosts(
    stack: contextlib.AsyncExitStack, bench: Bench, word: str, link: dict | None
) -> dict[str, network.Place]:
    """Network namespaces by host, if there is a link."""
    if link is None:
        return {}
    rate = link.get("rate_mbit")
    rule = {key: value for key, value in link.items() if key != "rate_mbit"}
    names = dict.fromkeys([*bench.hosts.values(), SERVER])
    hosts = [network.Host(name=name, **rule) for name in names]
    launcher = Launcher(word)
    stack.push_async_callback(launcher.end_all, hurry=True)
    # Whether links are ready stands in it, so that it is of these alone.
    log = bench.logs / f"network-{next(_NETWORKS)}.log"
    made = network.network(hosts, bench.run, launcher, bench.program, log, bench.note)
    places = await stack.enter_async_context(made)
    for place in places.values() if rate else ():
        await network.hold(place.space.name, rate, hosts[0].mtu)
    return places


def cpu_s(processes: list[Running]) -> float:
    """What the threads of processes have had of CPUs."""
    ns = 0
    for one in processes:
        for task in Path(f"/proc/{one.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                ns += int((task / "schedstat").read_text().split()[0])
    return ns / 1e9
