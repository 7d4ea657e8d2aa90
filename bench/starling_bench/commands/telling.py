"""What is told without running anything: of a file what it would run and what of that is not here,
how far a run is, and which of two runs was faster.
"""

import contextlib
import csv
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..conducting.conduct import Conductor
from ..errors import OK, USAGE, BenchError
from ..kept.store import Store
from ..machines import identity
from ..machines.rti import adapter_for
from ..study import Study
from ..tsf import durations, plan
from ..tsf.sequences import File, Sequence

if TYPE_CHECKING:
    from ..statistics.differences import Difference


def check(
    study: Study, file: Path, program: str | None, rti_root: Path | None, long: bool, scale: float
) -> int:
    """Lists what a file would run, and what of that is not here; the exit code."""
    found = plan.load(file, study, long, scale)
    every, whole = 0, 0.0
    for sequence in found.sequence:
        for execution in sequence.execution:
            tests = execution.tests()
            # As a run counts them.
            samples = sum(t.samples * (t.pairs or len(sequence.pair)) for t in tests)
            took = durations.whole(study, execution)
            every, whole = every + len(tests), whole + took
            title = f"{sequence.name}/{execution.name}"
            about = durations.span(took)
            typer.echo(f"{title}: {len(tests)} tests, {samples} samples, about {about}")
    typer.echo(f"all: {every:,} tests, about {durations.span(whole)} with little else to do")
    told = _missing(study, file, program, rti_root, found)
    typer.echo("everything it names is here" if not told else "not here yet:")
    for message in told:
        typer.echo(message)
    for line in _cautions(study, file, found):
        typer.echo(line)
    return USAGE if told else OK


def _missing(
    study: Study, file: Path, program: str | None, rti_root: Path | None, found: File
) -> list[str]:
    """What a run would end with before anything starts."""
    me = identity.Run()
    try:
        base = file.resolve().parent
        conductor = Conductor(study, base, program, rti_root, me, found.host)
        return list(dict.fromkeys(str(e) for s in found.sequence for e in conductor.faults(s)))
    finally:
        me.end()


def _cautions(study: Study, file: Path, found: File) -> Iterator[str]:
    """What would run, but say little: each once, with its first place."""
    specs = [t for s in found.sequence for e in s.execution for t in e.test]
    cautions = [(spec.place(at), what, do) for spec in specs
                for at, what, do in study.cautions(spec)]  # fmt: skip
    from ..statistics.differences import (
        too_few,  # the libraries for statistics take a second to load
    )

    if few := too_few(study, found.sequence, {host.name: host for host in found.host}):
        cautions.append((str(file), *few))
    cautions += [one for s in found.sequence for one in _unlike(study, s)]
    places: dict[tuple[str, str], dict[str, None]] = {}
    for where, what, do in cautions:
        places.setdefault((what, do), {})[where] = None
    for (what, do), of in places.items():
        first, *others = of
        more = f" and {len(others):,} more" if others else ""
        yield f"caution: {what}\n  at {first}{more}\n  do: {do}"


def _unlike(study: Study, sequence: Sequence) -> Iterator[tuple[str, str, str]]:
    """Best effort that will go by ways on which nothing is lost: where, what, what to do."""
    hosts = {sequence.rtiexec_host, *(f.host for f in sequence.federate)}
    do = adapter_for(sequence.rti, "").unlike_best_effort(sequence.rti, len(hosts) == 1)
    name = getattr(sequence.rti, "name", sequence.rti.adapter)
    what = f"best effort of '{name}' will go by ways on which nothing is lost, and is marked so"
    for spec in (t for e in sequence.execution for t in e.test if do):
        # Of millions of tests those at the beginning: more are not run by mistake.
        looked_at = itertools.islice(spec.expand(), 10_000)
        if any(study.settled(t.model_dump()).get("transport") == "best_effort" for t in looked_at):
            yield spec.place("transport") or spec.at, what, do


def status(study: Study, directory: Path) -> int:
    """Says of each execution of a run how much of it is done; the exit code."""
    store = Store.load(directory, study)
    manager = identity.holder(directory)
    samples = Counter((row["sequence"], row["execution"]) for row in store.rows)
    finished = whole = 0
    for (sequence, execution), tests in planned(study, store.run).items():
        record = store.record(sequence, execution)
        done = len(store.done(sequence, execution))
        finished, whole = finished + done, whole + tests
        state = record["state"] if record else "to come"
        if state == "running" and not manager:
            state = "begun, and its manager has gone"
        said = f": {record['message']}" if record and record["message"] else ""
        typer.echo(f"{sequence}/{execution}: {state}, {done} of {tests} tests, "
                   f"{samples[sequence, execution]} samples{said}")  # fmt: skip
    going = f"{manager} conducts it" if manager else "no manager conducts it"
    if finished < whole and not manager:
        going += f"; {study.manager} resume {directory} goes on with it"
    typer.echo(f"{finished} of {whole} tests are done; {going}")
    if store.rows:
        row = store.rows[-1]
        where = f"{row['sequence']}/{row['execution']} test {row['test']}"
        typer.echo(f"last: {where} {study.progress(row)}")
    return OK


def planned(study: Study, run: dict) -> dict[tuple[str, str], int]:
    """How many tests each execution has: by the file as it was, and by the run."""
    found: dict[tuple[str, str], int] = {}
    with contextlib.suppress(BenchError, OSError):
        scale, kept = run.get("scale", 1.0), plan.kept_text(run)
        file = plan.load(Path(run["file"]), study, True, scale, kept)
        if file.text == run.get("tsf_text"):
            found = {(s.name, e.name): len(e.tests()) for s in file.sequence for e in s.execution}
    for e in run["executions"]:
        found[e["sequence"], e["execution"]] = len(e["tests"])
    return found


# Of so many tests that one run lacks each is named.
_NAMED_MAX = 20


def compare(study: Study, one: Path, other: Path, table: bool = False) -> int:
    """Says which of two runs was faster in each test, or makes a table of that; the exit code."""
    from ..statistics.differences import (  # libraries for statistics take a second to load
        alone,
        between_runs,
    )

    if one.resolve() == other.resolve():
        what, do = "both are the same run", "give the directories of two runs"
        raise BenchError("STL-CMP-002", what, str(one), do, USAGE)
    runs, stores = {}, {}
    for directory in (one, other):
        store = stores[str(directory)] = Store.load(directory, study)
        store.expect(sum(planned(study, store.run).values()))
        store.recompute()  # as in a report
        runs[str(directory)] = store.samples(), store.summaries()
    found = between_runs(study, runs)
    if not found:
        raise BenchError(
            "STL-CMP-001", "the runs have no test in common", f"{one}, {other}",
            "compare runs of the same test sequence file", USAGE,
        )  # fmt: skip
    for note in _apart(stores):
        typer.echo(f"note: {note}", err=True)
    typer.echo("note: a ratio is the first run's by the second's: of times above 1 is slower, of "
               "rates faster", err=True)  # fmt: skip
    for directory, titles in alone(study, runs).items():
        for title in titles[:_NAMED_MAX]:
            typer.echo(f"note: only {directory} has figures of: {title}", err=True)
        if (more := len(titles) - _NAMED_MAX) > 0:
            typer.echo(f"note: only {directory} has figures of {more:,} more", err=True)
    if table:
        _table(found)
        return OK
    for difference in found:
        typer.echo(f"{difference.test}: {difference.sentence}")
    return OK


def _table(found: "list[Difference]") -> None:
    """As comma-separated values; of what is left out, and why, nothing but the ratio."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["test", "one", "other", "outcome", "ratio", "low", "high", "p", "effect",
                  "result"])  # fmt: skip
    for d in found:
        c = d.found
        sure = [None] * 4 if d.doubt else [c.low, c.high, c.p, c.effect]
        out.writerow([d.test, d.one, d.other, d.outcome, c.ratio, *sure, d.sentence])


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
