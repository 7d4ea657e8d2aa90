"""`make bench`: figures of Starling beside the raw limit of the same run, and two checks.

    python -m starling_bench.limits --rti-root TREE --programs DIR --out DIR

Raw sockets and RTI run alternately, on an rtiexec of their own, so that what else the machine does
meets both. A ratio is taken within a round; the table shows medians and the whole range. Round
trips are measured with all processes on one CPU, where nothing depends on the scheduler's choice
of CPUs, and as the scheduler has it.
"""

import contextlib
import csv
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from .errors import FAILED, USAGE, BenchError

FOM = Path(__file__).resolve().parents[1] / "foms" / "limits.xml"
BYTES = 100
_REACH_S = 20.0


@dataclass
class Server:
    """An rtiexec of its own, and how federates reach it over either kind of link."""

    process: subprocess.Popen
    run_dir: Path
    tcp: str

    def environment(self, socket: str) -> dict[str, str]:
        """For federates whose links are of this kind."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
        env["STARLING_NET_RUN_DIR"] = str(self.run_dir)
        env["STARLING_CONNECT_ADDRESS"] = self.tcp
        env["STARLING_NET_UNIX"] = "true" if socket == "unix" else "false"
        return env


@contextlib.contextmanager
def serving(rti_root: Path) -> Iterator[Server]:
    """Runs an rtiexec that nobody else uses; it and its directory are gone afterwards."""
    run_dir = Path(tempfile.mkdtemp(prefix="starling-"))
    process = None
    try:
        env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
        log = (run_dir / "log").open("wb")
        process = subprocess.Popen(
            [
                *(rti_root / "bin" / "starling", "rtiexec", "--run-dir", run_dir),
                *("--listen", "127.0.0.1:0", "--log-level", "warning"),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            text=True,
        )
        ready = process.stdout.readline().split()
        if ready[:1] != ["ready"]:
            said = (run_dir / "log").read_text(errors="replace").strip()
            raise BenchError("STL-LIM-001", f"rtiexec did not start: {said}")
        tcp = next(at for at in ready[1:] if not at.startswith("unix:"))
        yield Server(process, run_dir, tcp)
        if process.poll() is not None:
            said = (run_dir / "log").read_text(errors="replace").strip()
            raise BenchError("STL-LIM-002", f"rtiexec has ended: {said}")
    finally:
        if process is not None:
            process.terminate()
            try:
                process.wait(_REACH_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(run_dir, ignore_errors=True)


@contextlib.contextmanager
def placed(server: Server, one_cpu: bool) -> Iterator[None]:
    """Keeps what is started meanwhile, and the rtiexec, on one CPU, if so."""
    pids, all_cpus = (0, server.process.pid), os.sched_getaffinity(0)
    try:
        for pid in pids:
            os.sched_setaffinity(pid, {max(all_cpus)} if one_cpu else all_cpus)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(pid, all_cpus)


class Federates:
    """Processes of one run; none outlives it."""

    def __init__(self, program: Path, env: dict[str, str], timeout_s: int) -> None:
        self.program, self.env, self.timeout_s = program, env, timeout_s
        self.running: list[tuple[str, subprocess.Popen]] = []

    def __enter__(self) -> "Federates":
        return self

    def __exit__(self, *_: object) -> None:
        for _, process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, role: str, **options: object) -> subprocess.Popen:
        """Starts a federate; its standard input stays open until `results`."""
        command = [str(self.program), role, "--fom", str(FOM), "--timeout", str(self.timeout_s)]
        for key, value in options.items():
            command += [f"--{key.replace('_', '-')}", str(value)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            text=True,
        )
        self.running.append((role, process))
        return process

    def results(self) -> dict[str, dict]:
        """What every federate printed, by role (the last of each); raises if one failed."""
        told: dict[str, dict] = {}
        failed = []
        for role, process in self.running:
            out, err = process.communicate()
            if process.returncode != 0:
                failed.append(f"{role} ended with {process.returncode}: {err.strip()}")
            elif out.strip():
                told[role] = json.loads(out)
        if failed:
            raise BenchError("STL-LIM-003", "\n  ".join(failed))
        return told


def raw(programs: Path, what: str, **options: object) -> dict:
    """One run of the raw sockets."""
    command = [str(programs / "limits-raw"), what]
    for key, value in options.items():
        command += [f"--{key.replace('_', '-')}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise BenchError("STL-LIM-004", f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def round_trip(server: Server, programs: Path, socket: str, count: int, warm_up: int) -> dict:
    """Round trips between two federates through the executive."""
    with Federates(programs / "limits-federate", server.environment(socket), 300) as federates:
        federates.start("pong", bytes=BYTES)
        federates.start("ping", bytes=BYTES, count=count, warm_up=warm_up)
        return federates.results()["ping"]


def stream(server: Server, programs: Path, socket: str, updates: int) -> dict:
    """Updates from one federate to another as fast as they go."""
    with Federates(programs / "limits-federate", server.environment(socket), 300) as federates:
        federates.start("receive", bytes=BYTES, updates=updates)
        federates.start("send", bytes=BYTES, updates=updates, laps=0, spread_ms=0, seed=0)
        return federates.results()["receive"]


def gapless(
    server: Server, programs: Path, updates: int, joins: int, spread_ms: int, seed: int
) -> dict:
    """A stream that a third federate joins again and again, each time without a gap."""
    with Federates(programs / "limits-federate", server.environment("unix"), 600) as federates:
        common = {"bytes": BYTES, "seed": seed, "laps": joins}
        federates.start("receive", bytes=BYTES, updates=updates)
        federates.start("send", updates=updates, spread_ms=spread_ms, **common)
        pause, stay = spread_ms // max(joins, 1) // 4, updates // max(joins, 1) // 4
        federates.start("late", pause_ms=pause, stay=stay, **common)
        told = federates.results()
    return {
        **told["receive"],
        "sent": told["send"]["sent"],
        "joins": told["late"]["joins"],
        "heard": told["late"]["heard"],
        "seed": seed,
    }


def crowd(server: Server, programs: Path, federates: int, instances: int) -> dict:
    """Many federates at once; each discovers what all others have registered."""
    with Federates(programs / "limits-federate", server.environment("unix"), 300) as members:
        start = time.monotonic()
        for n in range(federates):
            members.start("crowd", name=f"f{n}", federates=federates, instances=instances)
        told = []
        for _, process in members.running:
            # Each says when it is ready, and leaves when its input ends.
            line = process.stdout.readline()
            if line:
                told.append(json.loads(line))
        members.results()
    expected = (federates - 1) * instances
    if len(told) != federates or any(t["discovered"] != expected for t in told):
        raise BenchError("STL-LIM-005", f"not every federate has discovered {expected}: {told}")
    last = max(t["at_s"] for t in told)
    return {"seconds": last - start, "discovered": expected}


@dataclass
class Figure:
    """A figure of Starling and its raw limit, over the rounds."""

    name: str
    raw_name: str
    unit: str
    key: str
    target: str
    met: Callable[[float], bool] | None
    run: Callable[[], dict]
    run_raw: Callable[[], dict]
    scale: float = 1.0
    one_cpu: bool = False
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]


def figures(server: Server, programs: Path, trips: int, updates: int) -> list[Figure]:
    """What is measured, in the order of a round."""
    found = []
    warm_up = max(trips // 10, 100)
    for socket, one_cpu in (("unix", True), ("unix", False), ("tcp", True), ("tcp", False)):
        found.append(
            Figure(
                f"round trip, {socket}{', one CPU' if one_cpu else ''}",
                f"raw relay, {socket}",
                "us",
                "p50_us",
                "<= 1.6",
                lambda x: x <= 1.6,
                lambda s=socket: round_trip(server, programs, s, trips, warm_up),
                lambda s=socket: raw(
                    programs, "round-trip", socket=s, bytes=BYTES, count=trips, warm_up=warm_up
                ),
                one_cpu=one_cpu,
            )
        )
    limits = (("tcp", 0, 0, "raw tcp, send() each"), ("unix", 1, 16384, "raw relay, 16 KB"))
    for socket in ("unix", "tcp"):
        for raw_socket, relay, batch, name in limits:
            target = relay == 0
            raw_socket = socket if relay else raw_socket
            found.append(
                Figure(
                    f"updates, {socket}",
                    f"{name}, {raw_socket}" if relay else name,
                    "k/s",
                    "per_s",
                    ">= 1" if target else "",
                    (lambda x: x >= 1) if target else None,
                    lambda s=socket: stream(server, programs, s, updates),
                    lambda s=raw_socket, r=relay, b=batch: raw(
                        programs, "stream", socket=s, bytes=BYTES, count=updates, relay=r, batch=b
                    ),
                    1e-3,
                )
            )
    return found


app = typer.Typer(add_completion=False)


@app.command()
def main(
    rti_root: Annotated[Path, typer.Option(help="Install tree of Starling.")],
    programs: Annotated[Path, typer.Option(help="Where limits-federate and limits-raw are.")],
    out: Annotated[Path, typer.Option(help="Directory for results.")],
    rounds: Annotated[int, typer.Option(min=1, help="Repeats.")] = 9,
    trips: Annotated[int, typer.Option(min=2, help="Round trips per repeat.")] = 5000,
    updates: Annotated[int, typer.Option(min=2, help="Updates per repeat.")] = 300_000,
    only: Annotated[str, typer.Option(help="Only figures whose name contains this.")] = "",
    seed: Annotated[int | None, typer.Option(help="Of the moments of joining late.")] = None,
) -> None:
    """Prints Starling's figures beside the raw limit; fails if anything was lost."""
    console = Console()
    if not console.is_terminal:  # a log file has room
        console = Console(width=150)
    for program in (programs / "limits-federate", programs / "limits-raw", rti_root / "bin"):
        if not program.exists():
            typer.echo(f"{program} is missing; do: make bench", err=True)
            raise typer.Exit(USAGE)
    out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))
    seed = random.randrange(2**32) if seed is None else seed
    try:
        with serving(rti_root) as server, (out / "limits.csv").open("w") as file:
            rows = csv.writer(file)
            rows.writerow(["round", "figure", "unit", "starling", "limit", "raw", "ratio"])
            measured = [f for f in figures(server, programs, trips, updates) if only in f.name]
            for n in range(rounds):
                for f in measured:
                    with placed(server, f.one_cpu):
                        f.ours.append(f.run()[f.key] * f.scale)
                        f.theirs.append(f.run_raw()[f.key] * f.scale)
                    ours, theirs = f.ours[-1], f.theirs[-1]
                    rows.writerow([n, f.name, f.unit, ours, f.raw_name, theirs, ours / theirs])
                    file.flush()
                console.print(f"round {n + 1} of {rounds}", end="\r")
            _show(console, measured, rounds)
            if not only:
                _checks(console, rows, server, programs, rounds, seed)
    except BenchError as e:
        typer.echo(str(e), err=True)
        raise typer.Exit(e.exit_code) from None
    console.print(f"every run: {out / 'limits.csv'}")


def _show(console: Console, measured: list[Figure], rounds: int) -> None:
    table = Table(box=box.SIMPLE, title=f"100 bytes, reliable, {rounds} rounds: median [range]")
    for column in ("figure", "unit", "Starling", "limit", "raw", "ratio", "target", ""):
        left = column in ("figure", "unit", "limit")
        table.add_column(column, justify="left" if left else "right")
    for f in measured:
        ratio = statistics.median(f.ratios())
        table.add_row(
            f.name,
            f.unit,
            _spread(f.ours),
            f.raw_name,
            _spread(f.theirs),
            f"x {_spread(f.ratios(), '.2f')}",
            f.target,
            "" if f.met is None else "met" if f.met(ratio) else "missed",
        )
    console.print(table)


def _spread(values: list[float], form: str = "") -> str:
    form = form or (".0f" if statistics.median(values) >= 100 else ".1f")
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"


def _checks(
    console: Console, rows: Any, server: Server, programs: Path, rounds: int, seed: int
) -> None:
    times = []
    for n in range(min(rounds, 3)):
        times.append(crowd(server, programs, 10, 1000)["seconds"])
        rows.writerow([n, "ten federates", "s", times[-1], "", "", ""])
    met = "met" if statistics.median(times) < 10 else "missed"
    console.print(
        f"ten federates, 1,000 instances each: all have discovered 9,000 after "
        f"{_spread(times)} s (target < 10 s: {met})"
    )
    console.print(f"a stream joined late: seed {seed} ...")
    told = gapless(server, programs, 1_000_000, 100, 10_000, seed)
    console.print(
        f"  {told['received']:,} of {told['sent']:,} updates in order, none lost, in "
        f"{told['seconds']:.1f} s; a third federate joined {told['joins']} times and got "
        f"{told['heard'] // told['joins']:,} updates each time, on average, without a gap"
    )


if __name__ == "__main__":
    app()
