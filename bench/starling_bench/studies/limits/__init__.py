"""`make bench`: figures of Starling beside the raw limit of the same run, and two checks.

Raw sockets and RTI run alternately, on an rtiexec of their own, so that what else the machine does
meets both. A ratio is taken within a round; the table shows medians and the whole range. Round
trips are measured with all processes on one CPU, where nothing depends on the scheduler's choice
of CPUs, and as the scheduler has it.
"""

import contextlib
import random
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import typer
from rich.console import Console

from ...commands.attempt import attended
from ...commands.commands import Out
from ...commands.console import console_for, guarded, paper
from ...errors import OK, USAGE, BenchError
from ...kept.store import Store
from ...machines.identity import Run
from ...statistics import last_run
from ...statistics.beside import TAILS, Figure, fan_outs, losses, missed, show, spread
from ...study import Columns, Study
from . import runs
from .figures import COUNTED, PRESETS, Many, figures, left_out, per_federate, time_figures

_TAILS = tuple(f"{of}_{name}" for name in TAILS.values() for of in ("starling", "raw"))


class Limits(Study):
    """Ratios to plain sockets."""

    name = "limits"
    manager = "starling-bench limits"
    program = "limits-federate"
    fom = "bench/foms/limits.xml"
    table = "limits.csv"
    columns = Columns(
        ("round", "figure", "unit", "starling", "limit", "raw", "ratio", *_TAILS),
        frozenset({"figure", "unit", "limit"}),
        frozenset({"starling", "raw", "ratio", *_TAILS}),
    )


STUDY = Limits()
app = typer.Typer(add_completion=False)


@app.callback(invoke_without_command=True, help=__doc__)
@guarded
def main(
    rti_root: Annotated[Path, typer.Option(help="Install tree of Starling.")],
    programs: Annotated[Path, typer.Option(help="Where limits-federate and bench-raw are.")],
    out: Out,
    rounds: Annotated[int, typer.Option(min=1, help="Repeats.")] = 9,
    trips: Annotated[int, typer.Option(min=2, help="Round trips per repeat.")] = 10_000,
    updates: Annotated[int, typer.Option(min=2, help="Updates per repeat.")] = 300_000,
    time: Annotated[bool, typer.Option("--time", help="Time management's instead.")] = False,
    earlier: Annotated[
        Path | None, typer.Option(help="An earlier Starling: its stage/ and limits/, to be beside.")
    ] = None,
    only: Annotated[str, typer.Option(help="Only figures whose name contains this.")] = "",
    last: Annotated[Path | None, typer.Option(help="summary.json of a run to be beside.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the moments of joining late.")] = None,
    counts: Annotated[bool, typer.Option(help="Instructions, too: needs valgrind.")] = True,
) -> int:
    """Prints Starling's figures beside the raw limit; fails if anything was lost."""
    needed = [programs / "limits-federate", programs / "bench-raw", rti_root / "bin"]
    for program in needed + ([earlier / "limits" / "limits-federate"] if earlier else []):
        if not program.exists():
            raise BenchError("STL-LIM-003", "missing", str(program), "make bench", USAGE)
    at = dict.fromkeys(("", *PRESETS, *["earlier"] * bool(earlier)), SimpleNamespace(name=""))
    every = time_figures(at[""], Many(2, 2)) if time else figures(at, Many(2, 2))
    if not any(only in f.name for f in every):
        names = "; ".join(dict.fromkeys(f.name for f in every))
        raise BenchError("STL-LIM-004", f"no figure '{only}'", "--only", names, USAGE)
    drawn = random.randrange(2**32) if seed is None else seed
    given = {"rounds": rounds, "trips": trips, "updates": updates, "seed": drawn, "only": only}
    given |= {"time": time, "counts": counts}
    before = last_run.read(last) if last else None
    own = (rti_root, programs)
    return attended(STUDY, out, given, lambda store, me: _all(store, me, own, earlier, before))


async def _all(
    store: Store, me: Run, own: tuple[Path, Path], earlier: Path | None, last: dict | None
) -> int:
    console, run = console_for(), store.run
    time, only = run["time"], run["only"]
    logs = store.directory / "logs"
    async with contextlib.AsyncExitStack() as stack:
        bench = await stack.enter_async_context(runs.serving(*own, logs, me))
        benches = {"": bench}
        if earlier:
            benches["earlier"] = await stack.enter_async_context(
                runs.serving(earlier / "stage", earlier / "limits", logs / "earlier", me)
            )
        for preset in () if time else PRESETS:
            benches[preset] = await stack.enter_async_context(
                runs.serving(*own, logs / preset, me, preset)
            )
        many = Many(run["trips"], run["updates"])
        every = time_figures(bench, many) if time else figures(benches, many)
        measured = [f for f in every if only in f.name]
        rows = {COUNTED[f.name] for f in measured if f.name in COUNTED and run["counts"]}
        counts = {name: await benches[name].counts(rows)
                  for name in ("", "earlier") if name in benches and rows}  # fmt: skip
        for n in range(run["rounds"]):
            for f in measured:
                with contextlib.ExitStack() as kept:
                    for one in benches.values():
                        kept.enter_context(one.placed(f.placed))
                    told, told_raw = await f.run(), await f.run_raw()
                store.keep({"round": n} | f.take(told, told_raw))
            console.print(f"round {n + 1} of {run['rounds']}", end="\r")
        kept = paper()
        for to in (console, kept):
            _tell(to, run, measured, last, counts, [] if time or only else left_out(benches))
        last_run.keep(store, run, measured, counts.get(""), kept.file.getvalue())
        if not only and not time:
            await _checks(console, store, bench)
    store.close()
    console.print(f"every run: {store.directory / STUDY.table}", soft_wrap=True)
    return OK


def _tell(
    to: Console, run: dict, measured: list[Figure], last: dict | None, counts: dict, more: list[str]
) -> None:
    show(to, measured, run["rounds"], last_run.told(last, measured) if last else {})
    lines = [last_run.about(last, run["machine"])] if last else []
    lines += losses(measured) + fan_outs(measured) + per_federate(measured)
    more = last_run.counted(last, counts, measured, COUNTED) + more
    for line in lines + more + missed(measured):
        to.print(line)


async def _checks(console: Console, store: Store, bench: runs.Bench) -> None:
    times = []
    for n in range(min(store.run["rounds"], 3)):
        times.append((await runs.crowd(bench, 10, 1000))["seconds"])
        store.keep(
            {"round": n, "figure": "ten federates", "unit": "s", "starling": times[-1],
             "limit": "", "raw": None, "ratio": None, **dict.fromkeys(_TAILS)}
        )  # fmt: skip
    met = "met" if statistics.median(times) < 10 else "missed"
    console.print(
        f"ten federates, 1,000 instances each: all have discovered 9,000 after "
        f"{spread(times)} s (target < 10 s: {met})"
    )
    seed = store.run["seed"]
    console.print(f"a stream joined late: seed {seed} ...")
    told = await runs.gapless(bench, 1_000_000, 100, 10_000, seed)
    console.print(
        f"  {told['received']:,} of {told['sent']:,} updates in order, none lost, in "
        f"{told['seconds']:.1f} s; a third federate joined {told['joins']} times and got "
        f"{told['heard'] // told['joins']:,} updates each time, on average, without a gap"
    )
