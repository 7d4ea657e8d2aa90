"""The commands of a study, and their options."""

import math
from pathlib import Path
from typing import Annotated

import typer

from ..errors import OK, BenchError
from ..fields import SCALE_MAX
from ..kept.store import Store
from ..study import Study
from ..tsf import plan
from ..tsf.durations import TESTS_MAX
from ..tsf.sequences import schema
from . import telling
from .attempt import Attempt, clean, conclude
from .console import complain, console_for, guarded

Tsf = Annotated[Path, typer.Argument(help="Test sequence file (TOML).", metavar="FILE")]
Directory = Annotated[Path, typer.Argument(help="Directory of a run.", metavar="DIR")]


def finite(value: float | None) -> float | None:
    """Of an option: neither infinity nor what is no number, which no bound keeps out."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number")
    return value


IdleWait = Annotated[
    float,
    typer.Option(
        help="Wait at most so many seconds until other programs leave the CPUs idle.",
        min=0,
        callback=finite,
    ),
]
Out = Annotated[Path, typer.Option(help="Directory for results, new or empty.")]
RtiRoot = Annotated[Path | None, typer.Option(help="Install tree of RTIs that have none in FILE.")]
Rtis = Annotated[Path | None, typer.Option(help=r"A file of [\[rti]] tables: other RTIs.")]
ProgressS = Annotated[
    float,
    typer.Option(
        help="Without a terminal: a line of progress so often.", min=0.01, callback=finite
    ),
]
Long = Annotated[bool, typer.Option(help="Also more than 10,000 tests, or 24 h.")]
Scale = Annotated[
    float,
    typer.Option(min=0.001, max=SCALE_MAX, help="So many times as large a run.", callback=finite),
]


def commands(study: Study, about: str) -> typer.Typer:
    """run, status, resume, report, compare, design, check, schema and clean, for one study."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, help=about)
    Program = Annotated[
        str | None, typer.Option(f"--{study.program}", help="The federates' program.")
    ]

    @app.command()
    @guarded
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
    ) -> int:
        """Runs every sequence of a file; results go to a directory with report.html."""
        return Attempt(
            study, file, out, program=program, rti_root=rti_root, resume=resume,
            progress_s=progress_s, idle_wait_s=idle_wait_s, long=long, scale=scale, report=report,
        ).run()  # fmt: skip

    @app.command("resume")
    @guarded
    def resume_(
        directory: Directory, idle_wait_s: IdleWait = 60, progress_s: ProgressS = 10.0
    ) -> int:
        """Goes on with a run: what is done is not done again. Its file may be gone by then, or
        say something else, but for one that includes others."""
        given = Store.load(directory, study).run
        root = given.get("rti_root")
        return Attempt(
            study, Path(given["file"]), directory, program=given.get(study.program),
            rti_root=Path(root) if root else None, resume=True, progress_s=progress_s,
            idle_wait_s=idle_wait_s, long=True, scale=given.get("scale", 1.0),
            kept=plan.kept_text(given),
        ).run()  # fmt: skip

    @app.command()
    @guarded
    def status(directory: Directory) -> int:
        """Says how far a run is, also while it runs: changes nothing."""
        return telling.status(study, directory)

    @app.command()
    @guarded
    def report(directory: Directory) -> int:
        """Writes the summaries and the report of a run anew, from its rows' counts and times and
        from raw values."""
        Store.require_table(directory, study)
        store = Store.load(directory, study, claim=True)
        try:
            store.expect(sum(telling.planned(study, store.run).values()))
            store.recompute()
            store.pack()
            conclude(store, console_for())
            lacks = store.lacks()
        finally:
            store.close()
        if not lacks:
            return OK
        do = f"`{study.manager} resume {directory}` goes on with it"
        return complain(BenchError("STL-OUT-012", f"not all is there: {lacks}", str(directory), do))

    @app.command()
    @guarded
    def compare(
        one: Directory,
        other: Directory,
        table: Annotated[bool, typer.Option("--csv", help="As a table, a test a line.")] = False,
    ) -> int:
        """Compares two runs, test by test, the surest first: which is faster, and how sure that
        is."""
        return telling.compare(study, one, other, table)

    @app.command()
    @guarded
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
                max=TESTS_MAX,
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
    ) -> int:
        """Writes a test sequence file of a designed experiment, in random order."""
        from ..tsf.design import make  # the libraries take a second to load

        said = make(
            study, base, out, vary, hold, runs=runs, resolution=resolution, surface=surface,
            centres=centres, blocks=blocks, seed=seed,
        )  # fmt: skip
        typer.echo(said)
        return OK

    @app.command("clean")
    @guarded
    def clean_() -> int:
        """Ends what dead managers left on this host and on those of their runs: processes and
        temporary directories; starts services again that were stopped."""
        for line in clean():
            typer.echo(line)
        return OK

    @app.command("schema")
    @guarded
    def schema_() -> None:
        """Prints the JSON schema of test sequence files, for editors."""
        typer.echo(schema(study), nl=False)

    @app.command()
    @guarded
    def check(
        file: Tsf,
        program: Program = None,
        rti_root: RtiRoot = None,
        long: Long = False,
        scale: Scale = 1.0,
    ) -> int:
        """Checks a test sequence file, lists what it would run, and what of that is not here."""
        return telling.check(study, file, program, rti_root, long, scale)

    return app
