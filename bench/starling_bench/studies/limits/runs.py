"""What is run: Starling's federates on an rtiexec of their own, and plain sockets beside them."""

import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ... import stats
from ...errors import BenchError
from ...group import HERE, At, Group
from ...hosts import Running, placed
from ...identity import Run
from ...rti import Rti, Starling

FOM = Path(__file__).resolve().parents[3] / "foms" / "limits.xml"
BYTES = 100
PEERS = ("direct", "multicast", "udp")
#: Where processes of a run are kept; else the scheduler has them where it likes.
ONE_CPU, APART = "one CPU", "different CPUs"
BEST = {"multicast": "multicast", "udp": "datagrams"}
_PROGRAM = "limits"
_SERVER = ["{root}/bin/starling", "rtiexec", "--listen", "127.0.0.1:0", "--log-level", "warning"]


@dataclass
class Bench:
    """Programs, and an rtiexec that nobody else uses, reached over either kind of link."""

    programs: Path
    logs: Path
    server: Running
    tcp: str
    _env: dict[str, str]
    name: str  # of which Starling
    apart: tuple[int, ...] = ()  # the CPUs of a run's processes, in turn; none: as this process

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
        return Group(_PROGRAM, env, self.logs)

    def federate(self, role: str, timeout_s: int = 300) -> list[str]:
        """The command of a federate."""
        program = str(self.programs / "limits-federate")
        return [program, role, "--fom", str(FOM), "--timeout", str(timeout_s)]

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
async def serving(root: Path, programs: Path, logs: Path, run: Run) -> AsyncIterator[Bench]:
    """Runs an rtiexec; it is gone afterwards."""
    logs.mkdir(parents=True, exist_ok=True)
    prepared = Starling().prepare(Rti(server=_SERVER), root.resolve(), run)
    env = prepared.env
    keep = ("STARLING_NET_RUN_DIR",)
    env = {k: v for k, v in env.items() if not k.startswith("STARLING_") or k in keep}
    # Which way data takes is the federates' choice.
    ways = {"STARLING_TRANSPORT_SHARED_MEMORY": "auto", "STARLING_TRANSPORT_PATH": "direct"}
    async with Group("starling", env | ways, logs) as group:
        server, ready = await group.serve("rtiexec", prepared.server, run_dir=env[keep[0]])
        tcp = next(at for at in ready if not at.startswith("unix:"))
        yield Bench(programs.resolve(), logs, server, tcp, env, programs.parent.name)
        if server.returncode is not None:
            raise BenchError("STL-LIM-002", f"rtiexec has ended: {server.last_words()[0]}")


def of_trips(told: dict) -> dict:
    """Figures of round trips, or of steps, in place of what each took."""
    us = np.sort(np.array(told.pop("us")))
    tails = {"p99_us": 99, "p999_us": 99.9}
    found = {name: stats.percentile_if_known(us, p) for name, p in tails.items()}
    return told | {"p50_us": stats.percentile(us, 50), **found, "mean_us": float(us.mean())}


def rate(told: dict) -> dict:
    """With how fast a stream came: intervals between its first and its last."""
    return told | {"per_s": (told["received"] - 1) / told["seconds"]}


async def raw(bench: Bench, what: str, **options: object) -> dict:
    """One run of the raw sockets."""
    async with bench.group() as group:
        if bench.apart:
            options["cpus"] = ",".join(map(str, bench.apart))
        await group.start("raw", [str(bench.programs / "bench-raw"), what], **options)
        told = (await group.results())["raw"]
    return of_trips(told) if "us" in told else rate(told)


async def trips(
    bench: Bench, socket: str, count: int, warm_up: int, size: int = BYTES, receivers: int = 1
) -> dict:
    """Round trips from a federate to others, until the last one's answer is there; best effort by
    datagrams."""
    common = {"bytes": size, "best": int(socket in BEST)}
    async with bench.group(socket) as group:
        for me in range(receivers):
            pong = bench.federate("pong")
            await group.start(f"pong{me}", pong, bench.at(1 + me), me=me, **common)
        await group.start(
            "ping", bench.federate("ping"), bench.at(0),
            count=count, warm_up=warm_up, receivers=receivers, **common,
        )  # fmt: skip
        told = (await group.results())["ping"]
    came = {"sent": len(told["us"]) + told.get("lost", 0), "received": len(told["us"])}
    return of_trips(told) | came


async def stream(
    bench: Bench, socket: str, updates: int, size: int = BYTES, receivers: int = 1
) -> dict:
    """Updates from one federate to others as fast as they go. Of several receivers what the slowest
    says, and in `per_s` what all get together."""
    async with bench.group(socket) as group:
        for me in range(receivers):
            await group.start(
                f"receive{me}", bench.federate("receive"), bytes=size, updates=updates, me=me
            )
        await group.start(
            "send", bench.federate("send"),
            bytes=size, updates=updates, laps=0, spread_ms=0, seed=0, receivers=receivers,
        )  # fmt: skip
        told = await group.results()
    slowest = min(
        (rate(told[f"receive{me}"]) for me in range(receivers)), key=lambda one: one["per_s"]
    )
    return slowest | {"per_s": slowest["per_s"] * receivers}


async def best_effort(bench: Bench, socket: str, updates: int, size: int = BYTES) -> dict:
    """Best-effort updates from one federate to another as fast as they go, and how many came."""
    async with bench.group(socket) as group:
        common = {"bytes": size, "instances": 1, "best": 1}
        await group.start("consume", bench.federate("consume"), me=0, **common)
        await group.start(
            "produce", bench.federate("produce"), updates=updates, ms=0, receivers=1, **common
        )
        return rate((await group.results())["consume"])


async def advance(
    bench: Bench,
    socket: str,
    federates: int,
    messages: int,
    steps: int,
    regulating: int | None = None,
    constrained: int | None = None,
) -> list[dict]:
    """Federates whose time goes on step by step, with so many messages in time-stamp order in each
    step altogether. The first `regulating` regulate, the last `constrained` are constrained; all by
    default. What each says, in order."""
    async with bench.group(socket) as group:
        for me in range(federates):
            await group.start(
                f"f{me}", bench.federate("advance"),
                me=me, federates=federates, messages=messages, steps=steps,
                warm_up=max(steps // 10, 1), bytes=BYTES,
                regulating=federates if regulating is None else regulating,
                constrained=federates if constrained is None else constrained,
            )  # fmt: skip
        told = await group.results()
    found = [of_trips(told[f"f{me}"]) for me in range(federates)]
    return [
        one | {"per_s": steps / one["seconds"], "messages_per_s": one["messages"] / one["seconds"]}
        for one in found
    ]


async def gapless(bench: Bench, updates: int, joins: int, spread_ms: int, seed: int) -> dict:
    """A stream that a third federate joins again and again, each time without a gap."""
    async with bench.group() as group:
        common = {"bytes": BYTES, "seed": seed, "laps": joins}
        receive, send, late = (bench.federate(r, 600) for r in ("receive", "send", "late"))
        await group.start("receive", receive, bytes=BYTES, updates=updates, me=0)
        await group.start("send", send, updates=updates, spread_ms=spread_ms, receivers=1, **common)
        pause, stay = spread_ms // max(joins, 1) // 4, updates // max(joins, 1) // 4
        await group.start("late", late, pause_ms=pause, stay=stay, **common)
        told = await group.results()
    return {
        **rate(told["receive"]),
        "sent": told["send"]["sent"],
        "joins": told["late"]["joins"],
        "heard": told["late"]["heard"],
        "seed": seed,
    }


async def crowd(bench: Bench, federates: int, instances: int) -> dict:
    """Many federates at once; each discovers what all others have registered."""
    async with bench.group() as group:
        start = time.monotonic()
        members = [
            await group.start(
                f"crowd{n}", bench.federate("crowd"),
                name=f"f{n}", federates=federates, instances=instances,
            )
            for n in range(federates)
        ]  # fmt: skip
        told = []
        for member in members:
            # Each says when it is ready, and leaves when its input ends.
            if line := await member.process.stdout.readline():
                told.append(json.loads(line))
        await group.results()
    expected = (federates - 1) * instances
    if len(told) != federates or any(t["discovered"] != expected for t in told):
        raise BenchError("STL-LIM-005", f"not every federate has discovered {expected}: {told}")
    last = max(t["at_s"] for t in told)
    return {"seconds": last - start, "discovered": expected}
