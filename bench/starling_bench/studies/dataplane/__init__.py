"""What hangs on what in the data plane: a chart for each, beside the raw limit of the same run."""

import json
import os
import time
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from ...commands.attempt import attended
from ...commands.commands import IdleWait
from ...commands.console import console_for, guarded
from ...errors import FAILED, OK, USAGE, BenchError
from ...kept.store import Store
from ...machines import idle
from ...machines.identity import Run
from ...study import Columns, Study


class DataPlane(Study):
    """Sweeps along an axis, each with lines and charts."""

    name = "dataplane"
    manager = "starling-bench dataplane"
    columns = Columns(
        ("round", "sweep", "line", "x", "figure", "value", "doubt"),
        frozenset({"sweep", "line", "x", "figure", "doubt"}),
        frozenset({"value"}),
    )


STUDY = DataPlane()
app = typer.Typer(add_completion=False, help=__doc__)
_LISTED = tomllib.loads(Path(__file__).with_name("sweeps.toml").read_text(encoding="utf-8"))
SWEEPS: list[dict] = _LISTED["sweep"]
WAYS: dict[str, dict[str, str]] = _LISTED["ways"]
# Below this scale only the first places of each axis: the others alone take longer.
FEW_BELOW, FEW = 0.1, 2
_NO_HOSTS = "Left out: hosts of their own are network namespaces, which need root and iproute2."


def places(sweep: dict, scale: float) -> list:
    """Those of an axis that are measured."""
    return sweep["at"][:FEW] if scale < FEW_BELOW else sweep["at"]


Root = Annotated[Path | None, typer.Option(help="Install tree of Starling.")]
Program = Annotated[
    Path | None, typer.Option(help="The federates' program; bench-raw and bench-link beside it.")
]
Out = Annotated[Path | None, typer.Option(help="Directory for results, new or empty.")]


@app.callback(invoke_without_command=True)
@guarded
def main(
    context: typer.Context, rti_root: Root = None, program: Program = None, out: Out = None,
    scale: Annotated[float, typer.Option(min=0.001, help="So many times as long at a point.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Repeats of everything.")] = 3,
    only: Annotated[str, typer.Option(help="Only sweeps whose name contains this.")] = "",
    idle_wait_s: IdleWait = 60,
) -> int | None:  # fmt: skip
    """Without a command: runs all sweeps and writes report.html; fails if anything could not be
    measured."""
    if context.invoked_subcommand:
        return None
    if rti_root is None or program is None or out is None:
        what = "--rti-root, --program and --out are needed"
        raise BenchError("STL-DPL-003", what, do="see --help", exit_code=USAGE)
    for one in (
        program,
        *map(program.with_name, ("bench-raw", "bench-link")),
        rti_root / "bin",
    ):
        if not one.exists():
            raise BenchError("STL-DPL-001", "missing", str(one), "make bench-report", USAGE)
    chosen = [sweep for sweep in SWEEPS if only in sweep["name"]]
    if not chosen:
        names = ", ".join(sweep["name"] for sweep in SWEEPS)
        raise BenchError("STL-DPL-002", f"no sweep '{only}'", "--only", names, USAGE)
    given = {"scale": scale, "rounds": rounds, "only": only, "rti_root": str(rti_root)}
    more = {"notes": [], "failed": [], "left_out": {}, "points": 0, "took_s": 0.0}
    return attended(
        STUDY, out, given | more,
        lambda store, me: _all(store, me, rti_root, program, chosen, idle_wait_s),
    )  # fmt: skip


async def _all(
    store: Store, me: Run, root: Path, program: Path, chosen: list[dict], idle_wait_s: float
) -> int:
    from . import runs  # the libraries for figures take a second to load

    console, run = console_for(), store.run
    logs = store.directory / "logs"
    logs.mkdir()
    bench = runs.Scaled(
        root.resolve(), program.resolve(), logs.resolve(), me, runs.HOSTS, notes=run["notes"],
        scale=run["scale"],
    )  # fmt: skip
    if len(bench.cpus) < 2:
        run["notes"].append("There is one CPU: placements are all the same.")
    if run["scale"] < FEW_BELOW:
        run["notes"].append(f"Scale below {FEW_BELOW}: each axis has its first {FEW} places only.")
    if not await idle.wait(idle_wait_s, console.print):
        run["notes"].append("Other programs used the CPUs when this began.")
    began = time.monotonic()
    for sweep in chosen:
        if "link" in sweep["given"] and os.geteuid() != 0:
            run["left_out"][sweep["name"]] = _NO_HOSTS
    measured = [sweep for sweep in chosen if sweep["name"] not in run["left_out"]]
    for n in range(run["rounds"]):
        for sweep in measured:
            console.print(
                f"round {n + 1} of {run['rounds']}, {time.monotonic() - began:,.0f} s: "
                f"{sweep['name']}", highlight=False,
            )  # fmt: skip
            for x in places(sweep, run["scale"]):
                for name, line in sweep["lines"].items():
                    await _point(store, bench, n, sweep, name, line, x)
            run["took_s"] = time.monotonic() - began
            store.save_run()
    conclude(store, chosen)
    for failed in run["failed"]:
        what = f"{failed['sweep']}, {failed['line']}, {failed['x']}"
        console.print(f"not measured: {what}: {failed['why']}", markup=False, highlight=False)
    console.print(
        f"{run['points']:,} points in {run['took_s']:,.0f} s: {store.directory / 'report.html'}",
        soft_wrap=True, highlight=False,
    )  # fmt: skip
    store.close()
    return FAILED if run["failed"] else OK


async def _point(store, bench, n: int, sweep: dict, name: str, line: dict, x: object) -> None:
    """Measures one point; what can't be is noted, and the others go on."""
    from . import runs

    try:
        found = await runs.point(bench, sweep, line, x, WAYS)
    except (BenchError, TimeoutError) as e:
        why = str(e) or f"not done within {2 * runs.TIMEOUT_S} s"
        at = {"sweep": sweep["name"], "line": name, "x": str(x), "why": why}
        store.run["failed"].append(at)
        store.save_run()
        return
    for place, figures in found:
        for chart in sweep["charts"]:
            if (value := figures.get(chart["figure"])) is not None:
                store.keep(
                    {"round": n, "sweep": sweep["name"], "line": name, "x": str(place),
                     "figure": chart["figure"], "value": value, "doubt": figures.get("doubt", "")}
                )  # fmt: skip


def conclude(store: Store, sweeps: list[dict]) -> None:
    """Summaries, also as a table, and the report, of the rows."""
    import pandas

    from . import figures

    found = figures.summaries(store.rows)
    store.run["points"] = len({(r["round"], r["sweep"], r["line"], r["x"]) for r in store.rows})
    store.save_run()
    store.write("summary.json", json.dumps(found, indent=0) + "\n")
    store.write("summary.csv", pandas.DataFrame(found).to_csv(index=False))
    figures.write(store, found, sweeps, _LISTED["texts"])


@app.command()
@guarded
def report(directory: Annotated[Path, typer.Argument(help="Directory of a run.")]) -> int:
    """Writes the report of a run anew."""
    Store.require_table(directory, STUDY)
    store = Store.load(directory, STUDY, claim=True)
    try:
        conclude(store, [s for s in SWEEPS if store.run["only"] in s["name"]])
    finally:
        store.close()
    return OK
