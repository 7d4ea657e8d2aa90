"""A run, from its file to its report: all executions of a test sequence file, one after the other,
with nobody watching; or the rest of one that was begun.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from ..conducting.conduct import Conductor
from ..errors import OK, USAGE, BenchError, cannot
from ..kept.store import Store
from ..machines import identity, idle, keeper, ssh
from ..machines.machine import commit
from ..machines.rti import adapter_for
from ..study import Study
from ..tsf import durations, plan, tables
from ..tsf.planned import beside
from .console import complain, console_for
from .progress import Bar, Lines

# Between the commits of a run that was resumed at another.
_THEN = ", then "


def signals() -> list[signal.Signals]:
    """What ends a run in good order. SIGHUP, as the terminal was closed, does not where it is
    ignored: whoever was started by nohup is to outlive the terminal."""
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if outlives else [signal.SIGHUP])]


class _SignalError(BaseException):
    """A signal that ends a run, before there is one: nothing takes it for an error of its own."""


@contextlib.contextmanager
def _told_of_signals() -> Iterator[None]:
    """Until a run's own take their place, what ends it is told."""

    def stop(*_: object) -> None:
        raise _SignalError

    before = {sig: signal.signal(sig, stop) for sig in signals()}
    # Where who started this ignores it, nobody would learn how a process ended.
    before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def clean() -> list[str]:
    """Ends what dead managers left on this host and on those of their runs; one line each."""
    return ssh.clean() + identity.clean()


@dataclass
class Attempt:
    """A run from its beginning, or the rest of one."""

    study: Study
    file: Path
    out: Path | None = None  # one of its own, here
    _: KW_ONLY
    program: str | None = None
    rti_root: Path | None = None
    resume: bool = False  # with what is in `out`
    kept: str | None = None  # what the file said when the run began; None: what it says
    progress_s: float = 10.0
    idle_wait_s: float = 60
    long: bool = False
    scale: float = 1.0
    report: bool = True
    notes: Sequence[str] = ()  # that a reader of its report must know
    passing: bool = False  # nobody is told where its results are

    def run(self) -> int:
        """Returns the exit code."""
        try:
            with _told_of_signals():
                return self._run()
        except _SignalError:
            what = "interrupted before anything was started"
            raise BenchError("STL-RUN-004", what, str(self.file), "start it again") from None

    def _run(self) -> int:
        self.console = console_for()
        for line in clean():
            text = f"note: a manager had died, or lost a host: {line}"
            self.console.print(text, style="yellow", highlight=False)
        self.planned = plan.load(self.file, self.study, self.long, self.scale, self.kept)
        if self.resume and (code := self._already()) is not None:
            return code
        me = identity.Run()
        try:
            self.conductor = Conductor(
                self.study, self.file.resolve().parent, self.program, self.rti_root, me,
                self.planned.host, self.planned.hosts.quiet,
            )  # fmt: skip
            for sequence in self.planned.sequence:
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
            for s in self.planned.sequence
            if any(
                "best_effort" in t.lists().get("transport", []) for e in s.execution for t in e.test
            )
        ]
        notes += [
            f"Adapter '{s.rti.adapter}' has no bundling that is switched: tests with it off are as "
            "those with it on."
            for s in self.planned.sequence
            if not s.bundling and not adapter_for(s.rti, "").bundling
        ]
        # Who resumes it may be in another folder.
        program = self.program
        if program and "/" in program:
            program = str(Path(program).absolute())
        given = {
            "id": me.id, "file": str(self.file.resolve()), "tsf": self.file.name,
            "tsf_text": self.planned.text, self.study.program: program,
            "scale": self.scale,
            "rti_root": str(self.rti_root.resolve()) if self.rti_root else None,
            "notes": list(dict.fromkeys(note for note in notes if note)),
        }  # fmt: skip
        out = self.out or Path("bench-results") / f"{name}-{stamp}"
        return Store.create(out, self.study, given)

    def _outside(self) -> Iterator[str]:
        """What sets RTIs of this host that is not of the file: nobody else would know of it."""
        for sequence in filter(self.conductor.here, self.planned.sequence):
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
            if store.run.get("tsf_text") != self.planned.text:
                raise BenchError(
                    "STL-OUT-004",
                    "the test sequence file, or one that it includes, "
                    "has changed since the run began",
                    str(self.file),
                    "give another --out",
                    USAGE,
                )
            self._check_alike(store)
            undo.pop_all()
        return store

    def _check_alike(self, store: Store) -> None:
        """BenchError if what was begun is not of this file, whatever the run says of that."""
        planned = {(s.name, e.name): e for s in self.planned.sequence for e in s.execution}
        for record in store.run["executions"]:
            of = planned.get(at := (record["sequence"], record["execution"]))
            tests = {str(n): t.model_dump() for n, t in enumerate(of.tests(), 1)} if of else {}
            for n, t in record["tests"].items():
                if (wanted := tests.get(n)) == {k: t[k] for k in wanted or t}:
                    continue
                what = f"{'/'.join(at)} was not begun as the test sequence file has it"
                if other := [k for k in wanted or () if t[k] != wanted[k]]:
                    what += f": '{other[0]}' of test {n} was {t[other[0]]!r:.50}"
                    what += f", and would be {wanted[other[0]]!r:.50}"
                raise BenchError("STL-OUT-004", what, str(self.file), "give another --out", USAGE)

    def _already(self) -> int | None:
        """The exit code if nothing is left to be done of the run in --out, which is told, and
        changes nothing of it."""
        store = self._loaded(claim=False)
        tests = 0
        for s in self.planned.sequence:
            for e in s.execution:
                record, count = store.record(s.name, e.name), len(e.tests())
                if not record or record["state"] != "done":
                    return None
                if len(store.done(s.name, e.name)) < count:
                    return None
                tests += count
        if not (store.directory / "summary.json").exists():
            return None  # its end was not reached
        if store.drop_damaged():
            return None
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
            store.note(store.drop_damaged())
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
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            """Once: what follows ends in bounded time; a second signal would leave it half done."""
            for sig in signals():
                loop.add_signal_handler(sig, lambda: None)
            task.cancel()

        for sig in signals():
            loop.add_signal_handler(sig, stop)
        errors: list[BenchError] = []
        try:
            await self._when_idle(errors)
        except asyncio.CancelledError:
            what, again = "interrupted; the results so far are kept", "once this has ended:"
            do = f"{again} {self.study.manager} resume {self.store.directory}"
            if self.passing:
                what, do = "interrupted: nothing is kept", "start it again"
            errors.append(BenchError("STL-RUN-004", what, do=do))
        # The first cause is told first; what fails because of it does not hide it.
        for error in errors:
            complain(error)
        summaries: list[dict] = []
        try:
            summaries = conclude(self.store, self.console, self.report)
        except BenchError as e:
            errors.append(e)
            complain(e)
        except OSError as e:
            errors.append(cannot("write results", e))
            complain(errors[-1])
        return errors[0].exit_code if errors else _shortfall(self.store, summaries)

    async def _when_idle(self, errors: list[BenchError]) -> None:
        """Waits until other programs leave the CPUs idle, but not for ever, and runs all."""
        cpus = frozenset[int]().union(*map(self.conductor.cpus, self.planned.sequence))
        tell = lambda text: self.console.print(text, highlight=False)  # noqa: E731
        if not await idle.wait(self.idle_wait_s, tell, cpus=cpus):
            self.console.print("they are not; each sample is judged by what others do meanwhile")
        try:
            async with self._quiet():
                await self._sequences(errors)
        except BenchError as e:
            errors.append(e)

    @contextlib.asynccontextmanager
    async def _quiet(self) -> AsyncIterator[None]:
        """As long as it lasts, services of this host don't run that the file names; before, it is
        seen what else does."""
        here = [s for s in self.planned.sequence if self.conductor.here(s)]
        quiet = self.planned.hosts.quiet
        if not here or not (quiet or self.idle_wait_s):
            yield
            return
        program = Path(self.conductor.beside(here[0]))
        if not quiet and not program.with_name(keeper.PROGRAM).is_file():
            yield  # programs of another's making need none
            return
        async with keeper.local(program.with_name(keeper.PROGRAM), quiet) as host:
            facts = self.store.run["found"] = await host.found()
            self.store.note(keeper.busy("on this host", facts))
            yield

    async def _sequences(self, errors: list[BenchError]) -> None:
        """One execution after another; a failed one does not keep the next from running."""
        console, store = self.console, self.store
        every = [(s, e) for s in self.planned.sequence for e in s.execution]
        samples = [sum(t.samples * (t.pairs or len(s.pair)) for t in e.tests()) for s, e in every]
        seconds = [durations.whole(self.study, e) for _, e in every]
        # How long each sample was planned to take, with its part of what is around it.
        each = {(s.name, e.name): took / max(count, 1)
                for (s, e), count, took in zip(every, samples, seconds, strict=True)}  # fmt: skip
        total = sum(samples)
        shown: Bar | Lines = Bar(console, total)
        if not console.is_terminal:
            shown = Lines(console, total, self.progress_s, sum(seconds))
        with shown:
            had = (each.get((r["sequence"], r["execution"]), 0) for r in store.rows)
            shown.had(len(store.rows), sum(had))
            for sequence, execution in every:
                title = f"{sequence.name}/{execution.name}"
                sample_s = each[sequence.name, execution.name]
                follow = self._follower(title, len(execution.tests()), shown, sample_s)
                adapter = adapter_for(sequence.rti, title)
                try:
                    await self.conductor.execute(store, sequence, execution, adapter, follow)
                    shown.follow(f"{title} done", 0, 0)
                except BenchError as e:
                    errors.append(e)
                    shown.follow(f"{title} FAILED", 0, 0)

    def _follower(self, title: str, tests: int, shown: Bar | Lines,
                  sample_s: float) -> Callable[[dict], None]:  # fmt: skip
        def follow(event: dict) -> None:
            if event["event"] == "sample":
                what = self.study.progress(event)
                shown.follow(f"{title} test {event['test']} of {tests} {what}", 1, sample_s)

        return follow


def run_text(study: Study, text: str, out: Path, idle_wait_s: float, notes: Sequence[str]) -> int:
    """Runs a file of this text, which is kept beside the results; the exit code."""
    file = beside(out, ".tsf.toml")
    tables.write_text(file, text)
    return Attempt(study, file, out, idle_wait_s=idle_wait_s, notes=notes).run()


def attended(
    study: Study, out: Path, given: dict, work: Callable[[Store, identity.Run], Awaitable[int]]
) -> int:
    """Work with a run's directory of its own, until it is done or a signal ends it: the exit code.
    What it has found by then is kept."""
    me = identity.Run()

    async def whole(store: Store) -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for sig in signals():
            loop.add_signal_handler(sig, task.cancel)
        return await work(store, me)

    try:
        return asyncio.run(whole(Store.create(out, study, {"id": me.id, **given})))
    except asyncio.CancelledError:
        what = "interrupted; the results so far are kept"
        raise BenchError("STL-RUN-004", what, str(out)) from None
    finally:
        me.end()


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
    return complain(BenchError("STL-RUN-005", "\n  ".join([what, *problems])))


def conclude(store: Store, console: Console, report: bool = True) -> list[dict]:
    """Saves and shows what there is; returns the summaries."""
    summaries = store.save()
    if report:
        store.study.make(store, summaries, over=True)
    if summaries:
        store.study.show(console, summaries)
    for note in [*store.run["notes"], *store.warnings()]:
        console.print(f"note: {note}", style="yellow", highlight=False)
    console.print(f"results: {store.directory}", highlight=False, soft_wrap=True)
    if report:
        where = store.directory / "report.html"
        console.print(f"report:  {where}", highlight=False, soft_wrap=True)
    return summaries
