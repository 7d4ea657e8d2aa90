"""FOM cost: what an attribute costs, in the update call and on the wire; which layout to take."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...captured import capture
from ...commands.attempt import Attempt
from ...commands.commands import IdleWait, Rtis, Scale, commands, finite
from ...commands.console import guarded
from ...errors import USAGE, BenchError
from ...fields import Faults, Loc
from ...kept.store import Store
from ...reports.transports import by_reliable_links, lost_reliably
from ...statistics import differences, rates
from ...study import Study
from ...tsf.sequences import Sequence, Spec
from ...values import own_class
from . import fields, plans, rows


class FomCost(Study):
    """Five layouts of the same data, or the attributes of anybody's class."""

    name = "fomcost"
    manager = "starling-bench fomcost"
    program = "fomcost"
    fom = "bench/foms/fomcost.xml"
    spec = fields.TestSpec
    length = "repetitions"
    columns, asked = rows.COLUMNS, rows.SETTING
    variables = rows.VARIABLES
    questions = (differences.RTIS,)
    shares = "the receiver counts what has come in memory that it shares with the sender"
    seconds, arguments = staticmethod(fields.seconds), staticmethod(own_class.arguments)
    row, progress = staticmethod(rows.row), staticmethod(rows.progress)

    def faults(self, at: Loc, spec: Spec, sequence: Sequence) -> Faults:
        yield from fields.faults(at, spec)
        if len(sequence.pair) > 1 or sequence.pair[0].sender != sequence.master:
            what = "there is one pair, whose sender is the master"
            yield at, what, "correct [[sequence.pair]] or 'master'"

    def classes(self, sequence: Sequence) -> list[str]:
        every = (c for e in sequence.execution for s in e.test for c in fields.classes(s))
        return list(dict.fromkeys(["FomCostTalk", *every]))

    def figures(self, store: Store, row: dict, trips: dict) -> dict:
        return rows.figures(row, trips)

    def value(self, row: dict) -> float | None:
        return row["call_instructions"] or row["call_p50_us"]

    def doubt(self, of: dict) -> str:
        return "" if of["call_instructions"] else rates.disturbed(of)

    def summarize(self, store: Store, of: list[dict], setting: dict) -> dict:
        return rows.summarize(of)

    def afterwards(self, store: Store, summary: dict, over: bool) -> dict:
        directory = store.directory / summary["sequence"] / summary["execution"]
        return rows.seen(summary, capture.wires(directory) if over else {})

    def show(self, console: Console, summaries: list[dict]) -> None:
        from .analysis import sentences

        for line in sentences(summaries):
            console.print(line, highlight=False, soft_wrap=True, markup=False)

    def report(self, store: Store, summaries: list[dict]) -> None:
        from . import figures  # the libraries for figures take a second to load

        figures.write(store, summaries)

    def shortfall(self, summaries: list[dict]) -> str:
        return "; ".join(filter(None, [lost_reliably(summaries), by_reliable_links(summaries)]))


STUDY = FomCost()
app = commands(STUDY, __doc__)


@app.callback(invoke_without_command=True)
@guarded
def whole(
    context: typer.Context,
    rti_root: Annotated[Path | None, typer.Option(help="Install tree of Starling.")] = None,
    program: Annotated[Path | None, typer.Option(help="The federates' program.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for results, new.")] = None,
    rtis: Rtis = None,
    helpers: Annotated[bool, typer.Option(help="All have the standard's encoding helpers.")] = True,
    scale: Scale = 1.0,
    idle_wait_s: IdleWait = 60,
    fom: Annotated[list[Path], typer.Option(help="Modules of a FOM of your own.")] = [],  # noqa: B006
    class_name: Annotated[str, typer.Option("--class", help="Its class to measure.")] = "",
    rate: Annotated[float, typer.Option(min=0, help="Updates/s of it.", callback=finite)] = 0,
    mode_field: Annotated[str, typer.Option(help="A field that has all its enumerators.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of all values and orders.")] = 1,
) -> int | None:
    """Without a command: all of the study, or one class of your FOM (its plan stands beside)."""
    if context.invoked_subcommand:
        return None
    if out is None or rti_root is None or program is None or bool(fom) != bool(class_name):
        what = "--rti-root, --program and --out are needed, and --fom and --class together"
        raise BenchError("STL-FOM-010", what, do="see --help", exit_code=USAGE)
    own = plans.own_class(fom, class_name, mode_field, seed) if fom else None
    file, left_out = plans.write(out, rti_root, program, rtis, seed, own, rate, helpers)
    notes = [f"of class '{own['class']}' of {', '.join(own['modules'])}"] if own else []
    notes += [f"left out: {what}" for what in left_out]
    return Attempt(STUDY, file, out, scale=scale, idle_wait_s=idle_wait_s, notes=notes).run()
