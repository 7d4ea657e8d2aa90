"""The commands of a study: conducts the test sequences of a file with nobody watching."""

import asyncio
import contextlib
import errno
import math
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import identity, idle, keeper, plan, ssh
from .conduct import Conductor
from .errors import OK, USAGE, BenchError, cannot
from .rti import adapter_for
from .store import Store, commit
from .study import Study

Tsf = Annotated[Path, typer.Argument(help="Test sequence file (TOML).", metavar="FILE")]
Directory = Annotated[Path, typer.Argument(help="Directory of a run.", metavar="DIR")]


def _finite(value: float) -> float:
    """Neither infinity nor what is no number, which no bound keeps out."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number")
    return value


IdleWait = Annotated[
    float,
    typer.Option(
        help="Wait at most so many seconds until other programs leave the CPUs idle.",
        callback=_finite,
    ),
]
RtiRoot = Annotated[Path | None, typer.Option(help="Install tree of RTIs that have none in FILE.")]
ProgressS = Annotated[
    float,
    typer.Option(
        help="Without a terminal: a line of progress so often.", min=0.01, callback=_finite
    ),
]
Long = Annotated[bool, typer.Option(help="Also more than 10,000 tests, or 24 h.")]
Scale = Annotated[
    float, typer.Option(min=0.001, help="So many times as large a run.", callback=_finite)
]


def signals() -> list[signal.Signals]:
    """What ends a run in good order. SIGHUP, as the terminal was closed, does not where it is
    ignored: whoever was started by nohup is to outlive the terminal."""
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if outlives else [signal.SIGHUP])]


def commands(study: Study, about: str) -> typer.Typer:
    """run, status, resume, report, compare, design, check, schema and clean, for one study."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, help=about)
    Program = Annotated[
        str | None, typer.Option(f"--{study.program}", help="The federates' program.")
    ]

    @app.command()
    def run(
        file: Tsf,
        out: Annotated[
            Path | None,
            typer.Option(
                help="Directory for results, new or empty; without, bench-results/FILE-DATE here."
            ),
        ] = None,
        program: Program = None,
        rti_root: RtiRoot = None,
        idle_wait_s: IdleWait = 60,
        long: Long = False,
        scale: Scale = 1.0,
        resume: Annotated[bool, typer.Option(help="Go on with the run in --out.")] = False,
        progress_s: ProgressS = 10.0,
        report: Annotated[
            bool, typer.Option(help="Write report.html; without, `report` does it later.")
        ] = True,
    ) -> None:
        """Runs every sequence of a file; results go to a directory with report.html."""
        do = _Doing(
            study,
            file,
            out,
            program,
            rti_root,
            resume,
            progress_s,
            idle_wait_s,
            long,
            scale,
            report,
        )
        raise typer.Exit(guarded(do.run))

    @app.command("resume")
    def resume_(directory: Directory, idle_wait_s: IdleWait = 60, progress_s: ProgressS = 10.0):
        """Goes on with a run: what is done is not done again."""

        def again() -> int:
            given = Store.load(directory, study).run
            root = given.get("rti_root")
            return _Doing(
                study, Path(given["file"]), directory, given.get(study.program),
                Path(root) if root else None, True, progress_s, idle_wait_s, True,
                given.get("scale", 1.0),
            ).run()  # fmt: skip

        raise typer.Exit(guarded(again))

    @app.command()
    def status(directory: Directory) -> None:
        """Says how far a run is, also while it runs: changes nothing."""
        raise typer.Exit(guarded(lambda: _tell_status(study, directory)))

    @app.command()
    def report(directory: Directory) -> None:
        """Writes the summaries and the report of a run anew, from its rows' counts and times and
        from raw values."""

        def renew() -> int:
            Store.require_table(directory, study)
            store = Store.load(directory, study, claim=True)
            try:
                store.recompute()
                store.pack()
                _conclude(store, console_for())
            finally:
                store.close()
            return OK

        raise typer.Exit(guarded(renew))

    @app.command()
    def compare(one: Directory, other: Directory) -> None:
        """Compares two runs, test by test: which is faster, and how sure that is."""
        raise typer.Exit(guarded(lambda: _compare(study, one, other)))

    @app.command()
    def design(
        base: Tsf,
        vary: Annotated[
            list[str], typer.Option("--factor", help="FIELD=A,B,C or FIELD=LOW..HIGH.")
        ],
        out: Annotated[Path, typer.Option(help="The file to write, beside the base.")],
        hold: Annotated[list[str], typer.Option("--set", help="FIELD=VALUE of every run.")] = [],  # noqa: B006
        runs: Annotated[
            int,
            typer.Option(
                min=0,
                max=plan.TESTS_MAX,
                help="Latin hypercube of so many in each block; 0: full factorial.",
            ),
        ] = 0,
        resolution: Annotated[
            int, typer.Option(min=0, help="Smallest fraction of two levels of this resolution.")
        ] = 0,
        surface: Annotated[
            bool, typer.Option("--surface", help="Response surface: central composite, faces.")
        ] = False,
        centres: Annotated[
            int,
            typer.Option(
                min=0,
                max=1000,
                help="Centre points in each block, at each level without a middle.",
            ),
        ] = 3,
        blocks: Annotated[
            int | None,
            typer.Option(
                min=1,
                max=1000,
                help="Blocks in time; 2, or 4 where RTIs, hosts or switches vary.",
            ),
        ] = None,
        seed: Annotated[int | None, typer.Option(help="Of every order.")] = None,
    ) -> None:
        """Writes a test sequence file of a designed experiment, in random order."""

        def draw() -> int:
            from . import design as designs  # the libraries take a second to load

            drawn = random.randrange(2**32) if seed is None else seed
            factors = [designs.factor(text) for text in vary]
            count = blocks or designs.blocks_for(study, base, factors)
            held = {f.name: f.levels[0] for f in map(designs.factor, hold)}
            if sum(map(bool, (runs, resolution, surface))) > 1:
                what = "--runs, --resolution and --surface are designs of their own"
                raise BenchError("STL-DES-006", what, do="give one of them", exit_code=USAGE)
            if runs:
                each, most = designs.latin_hypercube(factors, runs, drawn, count)
                points, kind = each[0], "Latin hypercube"
            elif resolution:
                points, found = designs.fractional_factorial(factors, resolution)
                kind = f"fractional factorial of resolution {found}"
            elif surface:
                points, kind = designs.response_surface(factors), "response surface"
            else:
                points, kind = designs.full_factorial(factors), "full factorial"
            kind += f", {len(points)} runs in each block, seed {drawn}"
            if runs:
                kind += f", largest correlation of two factors {most:.2f}"
            else:
                each = [points] * count
            if without := [f.name for f in factors if centres and len(f.centre) > 1]:
                kind += f", {centres} centre points at each level of {' and '.join(without)}"
            ordered = list(designs.in_blocks(each, factors, centres, drawn))
            designs.write(study, base, out, ordered, held, kind, drawn)
            tests = sum(len(block) for block in ordered)
            typer.echo(f"{out}: {tests} tests in {count} blocks; {kind}")
            return OK

        raise typer.Exit(guarded(draw))

    @app.command()
    def clean() -> None:
        """Ends what dead managers left on this host and on those of their runs: processes and
        temporary directories; starts services again that were stopped."""

        def end() -> int:
            for line in _clean():
                typer.echo(line)
            return OK

        raise typer.Exit(guarded(end))

    @app.command()
    def schema() -> None:
        """Prints the JSON schema of test sequence files, for editors."""
        typer.echo(plan.schema(study), nl=False)

    @app.command()
    def check(
        file: Tsf,
        program: Program = None,
        rti_root: RtiRoot = None,
        long: Long = False,
        scale: Scale = 1.0,
    ) -> None:
        """Checks a test sequence file, lists what it would run, and what of that is not here."""

        def look() -> int:
            found = plan.load(file, study, long, scale)
            every, whole = 0, 0.0
            for sequence in found.sequence:
                for execution in sequence.execution:
                    tests = execution.tests()
                    samples = sum(t.samples for t in tests)
                    took = plan.EXECUTION_S + plan.seconds(study, execution)
                    every, whole = every + len(tests), whole + took
                    title = f"{sequence.name}/{execution.name}"
                    typer.echo(
                        f"{title}: {len(tests)} tests, {samples} samples, about {plan.span(took)}"
                    )
            typer.echo(f"all: {every:,} tests, about {plan.span(whole)} with little else to do")
            return _tell_missing(study, file, program, rti_root, found)

        raise typer.Exit(guarded(look))

    return app


def conduct(
    study: Study, file: Path, out: Path, scale: float = 1.0, idle_wait_s: float = 60,
    notes: list[str] = (), program: str | None = None, rti_root: Path | None = None,
    report: bool = True,
) -> int:  # fmt: skip
    """`run` for a study that has made the file itself; the exit code. A reader of its report must
    know `notes`."""
    return _Doing(
        study, file, out, program, rti_root, False, 10.0, idle_wait_s, False, scale, report,
        notes=notes,
    ).run()  # fmt: skip


def conduct_text(study: Study, text: str, out: Path, idle_wait_s: float, notes: list[str]) -> int:
    """The same of a file's text, which is kept beside the results."""
    file = out.with_name(out.name + ".tsf.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return conduct(study, file, out, 1.0, idle_wait_s, notes)


def _clean() -> list[str]:
    """Ends what dead managers left; one line each."""
    return ssh.clean() + identity.clean()


def _tell_missing(
    study: Study, file: Path, program: str | None, rti_root: Path | None,
    found: plan.File,
) -> int:  # fmt: skip
    """What a run would end with before anything starts, and what says little; the exit code."""
    me = identity.Run()
    try:
        base = file.resolve().parent
        conductor = Conductor(study, base, program, rti_root, me, found.host)
        told = dict.fromkeys(str(e) for s in found.sequence for e in conductor.faults(s))
    finally:
        me.end()
    typer.echo("everything it names is here" if not told else "not here yet:")
    for message in told:
        typer.echo(message)
    specs = [t for s in found.sequence for e in s.execution for t in e.test]
    cautions = [(spec.place(at), what, do) for spec in specs
                for at, what, do in study.cautions(spec)]  # fmt: skip
    from .differences import too_few  # the libraries for statistics take a second to load

    if few := too_few(study, found.sequence, {host.name: host for host in found.host}):
        cautions.append((str(file), *few))
    places: dict[tuple[str, str], dict[str, None]] = {}
    for where, what, do in cautions:
        places.setdefault((what, do), {})[where] = None
    for (what, do), of in places.items():
        first, *others = of
        more = f" and {len(others):,} more" if others else ""
        typer.echo(f"caution: {what}\n  at {first}{more}\n  do: {do}")
    return USAGE if told else OK


def _tell_status(study: Study, directory: Path) -> int:
    store = Store.load(directory, study)
    run = store.run
    planned: dict[tuple[str, str], int] = {}
    with contextlib.suppress(BenchError, OSError):
        file = Path(run["file"])
        planned_now = plan.load(file, study, True, run.get("scale", 1.0))
        if planned_now.text == run.get("tsf_text"):
            for s in planned_now.sequence:
                planned |= {(s.name, e.name): len(e.tests()) for e in s.execution}
    for e in run["executions"]:
        planned[e["sequence"], e["execution"]] = len(e["tests"])
    finished = 0
    for (sequence, execution), tests in planned.items():
        record = store.record(sequence, execution)
        done = len(store.done(sequence, execution))
        finished += done
        state = record["state"] if record else "to come"
        samples = sum((r["sequence"], r["execution"]) == (sequence, execution) for r in store.rows)
        said = f": {record['message']}" if record and record["message"] else ""
        typer.echo(f"{sequence}/{execution}: {state}, {done} of {tests} tests, "
                   f"{samples} samples{said}")  # fmt: skip
    whole = sum(planned.values())
    manager = identity.holder(directory)
    going = f"{manager} conducts it" if manager else "no manager conducts it"
    if finished < whole and not manager:
        going += f"; {study.manager} resume {directory} goes on with it"
    typer.echo(f"{finished} of {whole} tests are done; {going}")
    if store.rows:
        row = store.rows[-1]
        where = f"{row['sequence']}/{row['execution']} test {row['test']}"
        typer.echo(f"last: {where} {study.progress(row)}")
    return OK


def _compare(study: Study, one: Path, other: Path) -> int:
    from .differences import between_runs  # the libraries for statistics take a second to load

    if one.resolve() == other.resolve():
        what, do = "both are the same run", "give the directories of two runs"
        raise BenchError("STL-CMP-002", what, str(one), do, USAGE)
    runs, stores = {}, {}
    for directory in (one, other):
        store = stores[str(directory)] = Store.load(directory, study)
        runs[str(directory)] = store.samples(), store.summaries()
    found = between_runs(study, runs)
    if not found:
        raise BenchError(
            "STL-CMP-001", "the runs have no test in common", f"{one}, {other}",
            "compare runs of the same test sequence file", USAGE,
        )  # fmt: skip
    for note in _apart(stores):
        typer.echo(f"note: {note}", err=True)
    for difference in found:
        typer.echo(f"{difference.test}: {difference.sentence}")
    return OK


def _apart(stores: dict[str, Store]) -> Iterator[str]:
    """What a reader must know of two runs that are compared."""
    one, other = (store.run for store in stores.values())
    yield (
        f"the runs began at {one['started']} and {other['started']}: whatever else was not the "
        "same then counts as a difference, too"
    )
    facts = [{"commit": run.get("commit"), **run["machine"]} for run in (one, other)]
    unlike = [
        f"{key} {facts[0].get(key)} and {facts[1].get(key)}"
        for key in dict.fromkeys([*facts[0], *facts[1]])
        if facts[0].get(key) != facts[1].get(key)
    ]
    if unlike:
        yield f"they were not of one build or machine: {'; '.join(unlike)}"
    for directory, store in stores.items():
        for e in store.run["executions"]:
            if e["state"] != "done":
                yield f"{directory}: {e['sequence']}/{e['execution']} {e['state']}: {e['message']}"
        for note in [*store.run["notes"], *store.warnings()]:
            yield f"{directory}: {note}"


def guarded(work) -> int:
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


# Between the commits of a run that was resumed at another.
_THEN = ", then "
# Names and versions are others': nothing in a text is markup.
_AS_IT_IS = {"markup": False, "emoji": False}
_FILE_WIDTH = 4000


class _Output:
    """Standard output, of which nothing ends a run: not that whoever reads it has gone, nor a name
    that it has no letters for."""

    def __init__(self) -> None:
        self._to = sys.stdout

    def write(self, text: str) -> int:
        encoding = self._to.encoding or "utf-8"
        with self._if_there():
            self._to.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        with self._if_there():
            self._to.flush()

    @contextlib.contextmanager
    def _if_there(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            if e.errno not in (errno.EPIPE, errno.EIO):
                raise
            why = e.strerror
            # What is left to be written, at the latest as this process ends, goes nowhere.
            with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), self._to.fileno())
            with contextlib.suppress(OSError):
                os.write(2, f"note: nothing more can be shown: {why}\n".encode())

    def __getattr__(self, name: str) -> object:
        return getattr(self._to, name)


def console_for() -> Console:
    """For the terminal, or for a log file."""
    output = cast(IO[str], _Output())
    console = Console(file=output, **_AS_IT_IS)
    # A log file has room: its tables are as wide as their columns need.
    return console if console.is_terminal else Console(file=output, width=_FILE_WIDTH, **_AS_IT_IS)


@dataclass
class _Doing:
    """One run, or the rest of one."""

    study: Study
    file: Path
    out: Path | None
    program: str | None
    rti_root: Path | None
    resume: bool
    progress_s: float
    idle_wait_s: float
    long: bool
    scale: float
    report: bool = True
    notes: list[str] = ()

    def run(self) -> int:
        """Returns the exit code."""
        self.console = console_for()
        for line in _clean():
            text = f"note: a manager had died, or lost a host: {line}"
            self.console.print(text, style="yellow", highlight=False)
        self.sequences = plan.load(self.file, self.study, self.long, self.scale)
        if self.resume and (code := self._already()) is not None:
            return code
        me = identity.Run()
        try:
            self.conductor = Conductor(
                self.study, self.file.resolve().parent, self.program, self.rti_root, me,
                self.sequences.host, self.sequences.hosts.quiet,
            )  # fmt: skip
            for sequence in self.sequences.sequence:
                self.conductor.check(sequence)
            self.store = self._taken_up() if self.resume else self._begun(me)
            try:
                self.store.run["id"] = me.id
                self.store.note([*self.notes, *self._outside()])
                self.store.reports = self.report
                return asyncio.run(self._all())
            finally:
                with contextlib.suppress(OSError):
                    self.store.close()
        finally:
            me.end()

    def _begun(self, me: identity.Run) -> Store:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        name = self.file.name.removesuffix(".toml").removesuffix(".tsf")
        # Notes of adapters are on best effort.
        notes = [
            adapter_for(s.rti, "").note
            for s in self.sequences.sequence
            if any(
                "best_effort" in t.lists().get("transport", []) for e in s.execution for t in e.test
            )
        ]
        notes += [
            f"Adapter '{s.rti.adapter}' has no bundling that is switched: tests with it off are as "
            "those with it on."
            for s in self.sequences.sequence
            if not s.bundling and not adapter_for(s.rti, "").bundling
        ]
        # Who resumes it may be in another folder.
        program = self.program
        if program and "/" in program:
            program = str(Path(program).absolute())
        given = {
            "id": me.id, "file": str(self.file.resolve()), "tsf": self.file.name,
            "tsf_text": self.sequences.text, self.study.program: program,
            "scale": self.scale,
            "rti_root": str(self.rti_root.resolve()) if self.rti_root else None,
            "notes": list(dict.fromkeys(note for note in notes if note)),
        }  # fmt: skip
        out = self.out or Path("bench-results") / f"{name}-{stamp}"
        return Store.create(out, self.study, given)

    def _outside(self) -> Iterator[str]:
        """What sets RTIs of this host that is not of the file: nobody else would know of it."""
        for sequence in filter(self.conductor.here, self.sequences.sequence):
            if found := adapter_for(sequence.rti, "").outside(sequence.rti, sequence.directory):
                name = getattr(sequence.rti, "name", sequence.rti.adapter)
                yield f"RTI '{name}' is set by what is not in the file, too: {', '.join(found)}."

    def _loaded(self, claim: bool) -> Store:
        """The run in --out; BenchError if it is not one of this file at this scale."""
        if self.out is None:
            raise BenchError("STL-OUT-003", "--resume needs --out", exit_code=USAGE)
        with contextlib.ExitStack() as undo:
            store = Store.load(self.out, self.study, claim=claim)
            undo.callback(store.close)
            if self.scale != (scale := store.run["scale"]):
                raise BenchError(
                    "STL-OUT-004", f"the run has --scale {scale:g}, not {self.scale:g}",
                    str(self.out), f"give --scale {scale:g}, or `{self.study.manager} resume` with "
                    "that directory alone", USAGE,
                )  # fmt: skip
            if store.run.get("tsf_text") != self.sequences.text:
                raise BenchError(
                    "STL-OUT-004",
                    "the test sequence file, or one that it includes, "
                    "has changed since the run began",
                    str(self.file),
                    "give another --out",
                    USAGE,
                )
            undo.pop_all()
        return store

    def _already(self) -> int | None:
        """The exit code if nothing is left to be done of the run in --out, which is told, and
        changes nothing of it."""
        store = self._loaded(claim=False)
        tests = 0
        for s in self.sequences.sequence:
            for e in s.execution:
                record, count = store.record(s.name, e.name), len(e.tests())
                if not record or record["state"] != "done":
                    return None
                if len(store.done(s.name, e.name)) < count:
                    return None
                tests += count
        if not (store.directory / "summary.json").exists():
            return None  # its end was not reached
        self.console.print(
            f"all {tests:,} tests are done; `{self.study.manager} report {store.directory}` "
            "writes the report anew",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
        return _shortfall(store, store.summaries())

    def _taken_up(self) -> Store:
        store = self._loaded(claim=True)
        with contextlib.ExitStack() as undo:
            undo.callback(store.close)
            store.resume()
            of = store.run.get("commit", "unknown")
            if (now := commit()) != (before := of.rpartition(_THEN)[2]):
                store.note(
                    [f"Resumed at commit {now}: what was measured until then is of {before}."]
                )
                store.run["commit"] = f"{of}{_THEN}{now}"
            undo.pop_all()
            return store

    async def _all(self) -> int:
        """Runs all, reports what there is, whatever happened; returns the exit code."""
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        console, store = self.console, self.store
        ending = signals()

        def stop() -> None:
            """Once: what follows ends in bounded time; a second signal would leave it half done."""
            for sig in ending:
                loop.add_signal_handler(sig, lambda: None)
            task.cancel()

        for sig in ending:
            loop.add_signal_handler(sig, stop)
        errors: list[BenchError] = []
        interrupted = False
        with contextlib.suppress(asyncio.CancelledError):
            interrupted = True
            if not await idle.wait(
                self.idle_wait_s, lambda text: console.print(text, highlight=False),
                cpus=frozenset[int]().union(*map(self.conductor.cpus, self.sequences.sequence)),
            ):  # fmt: skip
                console.print("they are not; each sample is judged by what others do meanwhile")
            try:
                async with self._quiet():
                    await self._sequences(errors)
            except BenchError as e:
                errors.append(e)
            interrupted = False
        if interrupted:
            errors.append(
                BenchError(
                    "STL-RUN-004",
                    "interrupted; the results so far are kept",
                    do=f"once this has ended: {self.study.manager} resume {store.directory}",
                )
            )
        # The first cause is told first; what fails because of it does not hide it.
        for error in errors:
            _complain(error)
        summaries: list[dict] = []
        try:
            summaries = _conclude(store, console, self.report)
        except BenchError as e:
            errors.append(e)
            _complain(e)
        except OSError as e:
            errors.append(cannot("write results", e))
            _complain(errors[-1])
        if errors:
            return errors[0].exit_code
        return _shortfall(store, summaries)

    @contextlib.asynccontextmanager
    async def _quiet(self) -> AsyncIterator[None]:
        """As long as it lasts, services of this host don't run that the file names; before, it is
        seen what else does."""
        here = [s for s in self.sequences.sequence if self.conductor.here(s)]
        quiet = self.sequences.hosts.quiet
        if not here or not (quiet or self.idle_wait_s):
            yield
            return
        program = Path(self.conductor.beside(here[0]))
        if not quiet and not program.with_name(keeper.PROGRAM).is_file():
            yield  # programs of another's making need none
            return
        async with keeper.local(program.with_name(keeper.PROGRAM), quiet) as here:
            facts = self.store.run["found"] = await here.found()
            self.store.note(keeper.busy("on this host", facts))
            yield

    async def _sequences(self, errors: list[BenchError]) -> None:
        """One execution after another; a failed one does not keep the next from running."""
        console, store = self.console, self.store
        every = [(s, e) for s in self.sequences.sequence for e in s.execution]
        total = sum(t.samples * (t.pairs or len(s.pair)) for s, e in every for t in e.tests())
        terminal = console.is_terminal
        shown = _Bar(console, total) if terminal else _Lines(console, total, self.progress_s)
        with shown:
            shown.had(len(store.rows))
            for sequence, execution in every:
                title = f"{sequence.name}/{execution.name}"
                follow = self._follower(title, len(execution.tests()), shown)
                adapter = adapter_for(sequence.rti, title)
                try:
                    await self.conductor.execute(store, sequence, execution, adapter, follow)
                    shown.follow(f"{title} done", 0)
                except BenchError as e:
                    errors.append(e)
                    shown.follow(f"{title} FAILED", 0)

    def _follower(self, title: str, tests: int, shown: "_Bar | _Lines"):
        def follow(event: dict) -> None:
            if event["event"] == "sample":
                what = self.study.progress(event)
                shown.follow(f"{title} test {event['test']} of {tests} {what}", 1)

        return follow


def _shortfall(store: Store, summaries: list[dict]) -> int:
    what = store.study.shortfall(summaries)
    problems = [
        f"{e['sequence']}/{e['execution']}, test {number}: {message}"
        for e in store.run["executions"]
        for number, message in e["problems"].items()
    ]
    if not what and not problems:
        return OK
    what = what or "a test ended early, as nothing came any more"
    return _complain(BenchError("STL-RUN-005", "\n  ".join([what, *problems])))


def _conclude(store: Store, console: Console, report: bool = True) -> list[dict]:
    """Saves and shows what there is; returns the summaries."""
    summaries = store.save()
    if report:
        store.study.report(store, summaries)
    if summaries:
        store.study.show(console, summaries)
    for note in [*store.run["notes"], *store.warnings()]:
        console.print(f"note: {note}", style="yellow", highlight=False)
    console.print(f"results: {store.directory}", highlight=False, soft_wrap=True)
    if report:
        where = store.directory / "report.html"
        console.print(f"report:  {where}", highlight=False, soft_wrap=True)
    return summaries


class _Lines:
    """Progress for a log file: a line every so often, also while a sample takes long."""

    def __init__(self, console: Console, total: int, every_s: float) -> None:
        self.console, self.total, self.every_s = console, total, every_s
        self.begin = time.monotonic()
        self.done = self.before = 0
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
        if taken := self.done - self.before:
            took = time.monotonic() - self.begin
            left = f"; {took / taken * (self.total - self.done):.0f} s left"
        self.console.print(
            f"{self.done} of {self.total} samples: {self.text}{left}",
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip

    def had(self, samples: int) -> None:
        """So many were there before, of a run that goes on."""
        self.done = self.before = samples

    def follow(self, text: str, advance: int) -> None:
        self.text, self.done = text, self.done + advance


class _Bar:
    """Progress on a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(),
                   MofNCompleteColumn(), TextColumn("samples"), TimeElapsedColumn())  # fmt: skip
        # Drawn when there is something new: nothing is done within a sample.
        self.bar = Progress(*columns, console=console, auto_refresh=False)
        self.task = self.bar.add_task("starting", total=total)

    def __enter__(self) -> "_Bar":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def had(self, samples: int) -> None:
        self.follow("starting", samples)

    def follow(self, text: str, advance: int) -> None:
        self.bar.update(self.task, advance=advance, description=text, refresh=True)
