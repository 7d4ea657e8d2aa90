"""bmmanager: conducts the test sequences of a file with nobody watching."""

import asyncio
import contextlib
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import identity, idle, tsf, variables
from .adapters import adapter_for
from .conduct import Conductor
from .errors import OK, USAGE, BenchError, cannot
from .store import Store

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
Tsf = Annotated[Path, typer.Argument(help="Test sequence file (TOML).", metavar="FILE")]
Directory = Annotated[Path, typer.Argument(help="Directory of a run.", metavar="DIR")]
IdleWait = Annotated[
    float,
    typer.Option(help="Wait at most so many seconds until other programs leave the CPUs idle."),
]
ProgressS = Annotated[
    float, typer.Option(help="Without a terminal: a line of progress so often.", min=0.01)
]
Long = Annotated[bool, typer.Option(help="Also more than 10,000 tests.")]
# What ends a run in good order. SIGHUP: the terminal was closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@app.command()
def run(
    file: Tsf,
    out: Annotated[Path | None, typer.Option(help="Directory for results, new or empty.")] = None,
    bmfed: Annotated[str | None, typer.Option(help="The benchmark federate's program.")] = None,
    rti_root: Annotated[Path | None, typer.Option(help="Install tree of the RTI.")] = None,
    idle_wait: IdleWait = 60,
    long: Long = False,
    resume: Annotated[bool, typer.Option(help="Go on with the run in --out.")] = False,
    progress_s: ProgressS = 10.0,
) -> None:
    """Runs every sequence of a file; results go to a directory with report.html."""
    raise typer.Exit(
        _guarded(lambda: _run(file, out, bmfed, rti_root, resume, progress_s, idle_wait, long))
    )


@app.command("resume")
def resume_(
    directory: Directory,
    idle_wait: IdleWait = 60,
    progress_s: ProgressS = 10.0,
) -> None:
    """Goes on with a run: what is done is not done again."""

    def again() -> int:
        given = Store.load(directory).run
        root = given.get("rti_root")
        return _run(
            Path(given["file"]), directory, given.get("bmfed"), Path(root) if root else None,
            True, progress_s, idle_wait, True,
        )  # fmt: skip

    raise typer.Exit(_guarded(again))


@app.command()
def report(directory: Directory) -> None:
    """Writes the summaries and the report of a run anew, from its rows and raw values."""

    def renew() -> int:
        store = Store.load(directory)
        _conclude(store, _console())
        return OK

    raise typer.Exit(_guarded(renew))


@app.command()
def clean() -> None:
    """Ends what dead managers left on this host: processes and temporary directories."""
    for line in identity.clean():
        typer.echo(line)


@app.command()
def schema() -> None:
    """Prints the JSON schema of test sequence files, for editors."""
    typer.echo(tsf.schema(), nl=False)


@app.command()
def check(file: Tsf, long: Long = False) -> None:
    """Checks a test sequence file and lists what it would run."""

    def look() -> int:
        for sequence in tsf.load(file, long).sequence:
            for execution in sequence.execution:
                tests = execution.tests()
                samples = sum(t.samples for t in tests)
                title = f"{sequence.name}/{execution.name}"
                typer.echo(f"{title}: {len(tests)} tests, {samples} samples")
        return OK

    raise typer.Exit(_guarded(look))


def _guarded(work) -> int:
    """Errors end as one message and an exit code."""
    try:
        return work()
    except BenchError as e:
        return _complain(e)
    except OSError as e:
        return _complain(cannot("go on", e))


def _complain(error: BenchError) -> int:
    with contextlib.suppress(OSError):
        typer.echo(str(error), err=True)
    return error.exit_code


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=160)  # a log file has room


def _run(
    file: Path, out: Path | None, bmfed: str | None, rti_root: Path | None, resume: bool,
    progress_s: float, idle_wait_s: float, long: bool,
) -> int:  # fmt: skip
    console = _console()
    for line in identity.clean():
        console.print(f"note: a manager had died: {line}", style="yellow", highlight=False)
    sequences = tsf.load(file, long)
    me = identity.Run()
    try:
        conductor = Conductor(file.resolve().parent, bmfed, rti_root, me)
        for sequence in sequences.sequence:
            adapter_for(sequence)
            conductor.check(sequence)
        if resume:
            store = _taken_up(out, file)
        else:
            stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
            name = file.name.removesuffix(".toml").removesuffix(".tsf")
            given = {
                "id": me.id, "file": str(file.resolve()), "tsf": file.name,
                "tsf_text": file.read_text(encoding="utf-8"), "bmfed": bmfed,
                "rti_root": str(rti_root.resolve()) if rti_root else None,
                "notes": list(dict.fromkeys(
                    n for s in sequences.sequence if (n := adapter_for(s).note))),
            }  # fmt: skip
            store = Store.create(out or Path("bench-results") / f"{name}-{stamp}", given)
        return asyncio.run(_run_all(sequences, conductor, store, console, progress_s, idle_wait_s))
    finally:
        me.end()


def _taken_up(out: Path | None, file: Path) -> Store:
    if out is None:
        raise BenchError("STL-OUT-003", "--resume needs --out", exit_code=USAGE)
    store = Store.load(out)
    if store.run["tsf_text"] != file.read_text(encoding="utf-8"):
        raise BenchError(
            "STL-OUT-004",
            "the test sequence file has changed since the run began",
            str(file),
            "give another --out",
            USAGE,
        )
    store.resume()
    return store


async def _run_all(
    sequences: tsf.File, conductor: Conductor, store: Store, console: Console, progress_s: float,
    idle_wait_s: float,
) -> int:  # fmt: skip
    """Runs all, reports what there is, whatever happened; returns the exit code."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        """Once: what follows ends in bounded time, and a second signal would leave it half done."""
        for sig in SIGNALS:
            loop.add_signal_handler(sig, lambda: None)
        task.cancel()

    for sig in SIGNALS:
        loop.add_signal_handler(sig, stop)
    errors: list[BenchError] = []
    interrupted = False
    with contextlib.suppress(asyncio.CancelledError):
        interrupted = True
        if not await idle.wait(idle_wait_s, lambda text: console.print(text, highlight=False)):
            console.print("they are not; each sample is judged by what others do meanwhile")
        await _sequences(sequences, conductor, store, console, errors, progress_s)
        interrupted = False
    if interrupted:
        errors.append(
            BenchError(
                "STL-RUN-004",
                "interrupted; the results so far are kept",
                do=f"bmmanager resume {store.directory}",
            )
        )
    # The first cause is told first; what fails because of it does not hide it.
    for error in errors:
        _complain(error)
    summaries: list[dict] = []
    try:
        summaries = _conclude(store, console)
    except BenchError as e:
        errors.append(e)
        _complain(e)
    except OSError as e:
        errors.append(cannot("write results", e))
        _complain(errors[-1])
    with contextlib.suppress(OSError):
        store.close()
    if errors:
        return errors[0].exit_code
    return _losses(store, summaries)


def _losses(store: Store, summaries: list[dict]) -> int:
    lost = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    problems = [
        f"{e['sequence']}/{e['execution']}, test {number}: {message}"
        for e in store.run["executions"]
        for number, message in e["problems"].items()
    ]
    if not lost and not problems:
        return OK
    what = f"{lost} reliable messages were lost" if lost else "a reliable test got nothing"
    return _complain(BenchError("STL-RUN-005", "\n  ".join([what, *problems])))


def _conclude(store: Store, console: Console) -> list[dict]:
    """Saves and shows what there is; returns the summaries."""
    from . import report as reports  # the libraries for figures take a second to load

    summaries = store.save()
    reports.write(store, summaries)
    if summaries:
        _tables(console, summaries)
    for note in [*store.run["notes"], *reports.busy(store)]:
        console.print(f"note: {note}", style="yellow", highlight=False)
    console.print(f"results: {store.directory}\nreport:  {store.directory / 'report.html'}",
                  highlight=False, soft_wrap=True)  # fmt: skip
    return summaries


class _Lines:
    """Progress for a log file: a line every so often, also while a sample takes long."""

    def __init__(self, console: Console, total: int, every_s: float) -> None:
        self.console, self.total, self.every_s = console, total, every_s
        self.begin = self.last = time.monotonic()
        self.done = 0
        self.text = "starting"

    def __enter__(self) -> "_Lines":
        self.ticking = asyncio.get_running_loop().create_task(self._tick())
        return self

    def __exit__(self, *_: object) -> None:
        self.ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self.every_s)
            self.show()

    def show(self) -> None:
        left = ""
        if self.done:
            took = time.monotonic() - self.begin
            left = f"; {took / self.done * (self.total - self.done):.0f} s left"
        self.console.print(
            f"{self.done} of {self.total} samples: {self.text}{left}",
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip

    def follow(self, text: str, advance: int) -> None:
        self.text, self.done = text, self.done + advance


class _Bar:
    """Progress on a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(),
                   MofNCompleteColumn(), TextColumn("samples"), TimeElapsedColumn())  # fmt: skip
        self.bar = Progress(*columns, console=console)
        self.task = self.bar.add_task("starting", total=total)

    def __enter__(self) -> "_Bar":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def follow(self, text: str, advance: int) -> None:
        self.bar.update(self.task, advance=advance, description=text)


async def _sequences(
    sequences: tsf.File, conductor: Conductor, store: Store, console: Console,
    errors: list[BenchError], progress_s: float,
) -> None:  # fmt: skip
    """One execution after another; a failed one does not keep the next from running."""
    every = [(s, e) for s in sequences.sequence for e in s.execution]
    total = sum(sum(t.samples for t in e.tests()) * len(s.pair) for s, e in every)
    shown = _Bar(console, total) if console.is_terminal else _Lines(console, total, progress_s)
    with shown:
        shown.follow("starting", len(store.rows))
        for sequence, execution in every:
            title = f"{sequence.name}/{execution.name}"
            follow = _follower(title, len(execution.tests()), shown)
            try:
                await conductor.execute(store, sequence, execution, adapter_for(sequence), follow)
                shown.follow(f"{title} done", 0)
            except BenchError as e:
                errors.append(e)
                shown.follow(f"{title} FAILED", 0)


def _follower(title: str, tests: int, shown: "_Bar | _Lines"):
    def follow(event: dict) -> None:
        if event["event"] != "sample":
            return
        figure = f"{event['rate_hz']:,.0f} Hz"
        if event["rtt_mean_ms"] is not None:
            figure = f"{event['rtt_mean_ms']:.4f} ms, {figure}"
        shown.follow(
            f"{title} test {event['test']} of {tests} "
            f"({variables.label(event)} {event['bytes']} B), sample {event['sample']}: {figure}",
            1,
        )

    return follow


def _tables(console: Console, summaries: list[dict]) -> None:
    """The terminal's tables: what differs between tests stands in front, the rest above."""
    for title, latency in (("Round trip, times in ms", True), ("One-way throughput", False)):
        rows = [s for s in summaries if (s["kind"] in ("RTOL", "RTIL")) == latency]
        if not rows:
            continue
        shared, varied = variables.setups(rows)
        if shared:
            title += "; " + ", ".join(f"{k} {v}" for k, v in shared.items())
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        figures = ["mean", "p50", "p99", "p99.9", "max", "Hz"] if latency else ["updates/s", "MB/s"]
        for head in varied[0]:
            table.add_column(head, justify="left", no_wrap=True)
        for head in (*figures, "sent", "received", "lost"):
            table.add_column(head, justify="right", no_wrap=True)
        for s, setup in zip(rows, varied, strict=True):
            if latency and (r := s["rtt_ms"]):
                p = r["percentiles"]
                values = [r["mean"], p["50"], p["99"], p["99.9"], r["max"]]
                cells = ["-" if v is None else f"{v:.3f}" for v in values]
                cells.append(f"{s['rate_hz']['mean']:,.0f}")
            elif latency:
                cells = ["-"] * len(figures)
            else:
                cells = [f"{s['rate_hz']['mean']:,.0f}", f"{s['mb_per_s']['mean']:,.1f}"]
            table.add_row(*setup.values(), *cells, f"{s['sent']:,}", f"{s['received']:,}",
                          f"{s['lost']:,}")  # fmt: skip
        console.print(table)


if __name__ == "__main__":
    app()
