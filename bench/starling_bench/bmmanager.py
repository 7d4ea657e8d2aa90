"""bmmanager: conducts the test sequences of a file with nobody watching."""

import asyncio
import contextlib
import signal
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import idle, report, tsf
from .adapters import adapter_for
from .conduct import Conductor
from .errors import FAILED, OK, BenchError
from .store import Store

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
Tsf = Annotated[Path, typer.Argument(help="Test sequence file (TOML).", metavar="FILE")]


@app.command()
def run(
    file: Tsf,
    out: Annotated[Path | None, typer.Option(help="Directory for results.")] = None,
    bmfed: Annotated[str | None, typer.Option(help="The benchmark federate's program.")] = None,
    rti_root: Annotated[Path | None, typer.Option(help="Install tree of the RTI.")] = None,
    idle_wait: Annotated[
        float,
        typer.Option(help="Wait at most so many seconds until other programs leave the CPUs idle."),
    ] = 60,
) -> None:
    """Runs every sequence of a file; results go to a directory with report.html."""
    console = Console()
    if not console.is_terminal:  # a log file has room
        console = Console(width=140)
    try:
        sequences = tsf.load(file)
        conductor = Conductor(file.resolve().parent, bmfed, rti_root)
        for sequence in sequences.sequence:
            adapter_for(sequence)
            conductor.check(sequence)
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        name = file.name.removesuffix(".toml").removesuffix(".tsf")
        store = Store(out or Path("bench-results") / f"{name}-{stamp}", file)
    except BenchError as e:
        _complain(e)
        raise typer.Exit(e.exit_code) from None
    code = asyncio.run(_run_all(sequences, conductor, store, console, idle_wait))
    raise typer.Exit(code)


@app.command()
def check(file: Tsf) -> None:
    """Checks a test sequence file and lists what it would run."""
    try:
        sequences = tsf.load(file)
    except BenchError as e:
        _complain(e)
        raise typer.Exit(e.exit_code) from None
    for sequence in sequences.sequence:
        for execution in sequence.execution:
            tests = execution.tests()
            samples = sum(t.samples for t in tests)
            typer.echo(f"{sequence.name}/{execution.name}: {len(tests)} tests, {samples} samples")


def _complain(error: BenchError) -> None:
    typer.echo(str(error), err=True)


async def _run_all(
    sequences: tsf.File, conductor: Conductor, store: Store, console: Console, idle_wait_s: float
) -> int:
    """Runs all, reports what there is, whatever happened; returns the exit code."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        """Once: what follows ends in bounded time, and a second signal would leave it half done."""
        for sig in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sig, lambda: None)
        task.cancel()

    for sig in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sig, stop)
    errors: list[BenchError] = []
    interrupted = False
    with contextlib.suppress(asyncio.CancelledError):
        interrupted = True
        if not await idle.wait(idle_wait_s, lambda text: console.print(text, highlight=False)):
            console.print("they are not; each sample is judged by what others do meanwhile")
        await _sequences(sequences, conductor, store, console, errors)
        interrupted = False

    try:
        summaries = _conclude(sequences, store, console)
    except BenchError as e:
        errors.append(e)
        summaries = []
    if interrupted:
        typer.echo("STL-RUN-004: interrupted; the results so far are kept", err=True)
        return FAILED
    for error in errors:
        _complain(error)
    if errors:
        return errors[0].exit_code
    if lost := sum(s["lost"] for s in summaries if s["transport"] == "reliable"):
        typer.echo(f"STL-RUN-005: {lost} reliable messages were lost", err=True)
        return FAILED
    return OK


def _conclude(sequences: tsf.File, store: Store, console: Console) -> list[dict]:
    """Saves and shows what there is; returns the summaries."""
    summaries = store.save()
    notes = list(dict.fromkeys(n for s in sequences.sequence if (n := adapter_for(s).note)))
    report.write(store, summaries, notes)
    if summaries:
        _tables(console, summaries)
    for note in [*notes, *report.busy(store)]:
        console.print(f"note: {note}", style="yellow", highlight=False)
    console.print(f"results: {store.directory}\nreport:  {store.directory / 'report.html'}",
                  highlight=False, soft_wrap=True)  # fmt: skip
    return summaries


async def _sequences(
    sequences: tsf.File, conductor: Conductor, store: Store, console: Console,
    errors: list[BenchError],
) -> None:  # fmt: skip
    """One execution after another; a failed one does not keep the next from running."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("samples"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        for sequence in sequences.sequence:
            for execution in sequence.execution:
                title = f"{sequence.name}/{execution.name}"
                total = sum(t.samples for t in execution.tests()) * len(sequence.pair)
                task = bar.add_task(f"{title} starting", total=total)

                def follow(event: dict, task=task, title=title) -> None:
                    if event["event"] == "sample":
                        what = f"{report.label(event)} {event['bytes']} B"
                        bar.update(task, advance=1, description=f"{title} {what}")

                try:
                    await conductor.execute(
                        store, sequence, execution, adapter_for(sequence), follow
                    )
                    bar.update(task, description=f"{title} done")
                except BenchError as e:
                    errors.append(e)
                    bar.update(task, description=f"{title} FAILED")


def _tables(console: Console, summaries: list[dict]) -> None:
    """The terminal's tables."""
    for title, latency in (("Round trip, times in ms", True), ("One-way throughput", False)):
        rows = [s for s in summaries if (s["kind"] in ("RTOL", "RTIL")) == latency]
        if not rows:
            continue
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        figures = ["mean", "p50", "p99", "p99.9", "max", "Hz"] if latency else ["updates/s", "MB/s"]
        several = len({s["pair"] for s in rows}) > 1
        loops = len({s["loop"] for s in rows}) > 1
        setup = ["test", "pair", "buffers x bytes"] if several else ["test", "buffers x bytes"]
        for head in (*setup, *figures, "sent", "received", "lost"):
            left = head in ("test", "pair")
            table.add_column(head, justify="left" if left else "right", no_wrap=True)
        for s in rows:
            if latency and (r := s["rtt_ms"]):
                p = r["percentiles"]
                values = [r["mean"], p["50"], p["99"], p["99.9"], r["max"]]
                cells = [*[f"{v:.3f}" for v in values], f"{s['rate_hz']['mean']:,.0f}"]
            elif latency:
                cells = ["-"] * len(figures)
            else:
                cells = [f"{s['rate_hz']['mean']:,.0f}", f"{s['mb_per_s']['mean']:,.1f}"]
            table.add_row(
                report.label(s) + (f" V{s['loop']}" if loops else ""),
                *([f"{s['sender']}→{s['receiver']}"] if several else []),
                f"{s['buffers']} x {s['bytes']}", *cells,
                f"{s['sent']:,}", f"{s['received']:,}", f"{s['lost']:,}",
            )  # fmt: skip
        console.print(table)


if __name__ == "__main__":
    app()
