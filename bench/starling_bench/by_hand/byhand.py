"""A federate by hand: a study's program in a process of its own, shown on terminal or web page."""

import os
import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..commands.commands import finite
from ..commands.console import guarded
from ..errors import USAGE, BenchError
from ..machines.identity import Run
from ..machines.rti import Rti, adapter_for
from ..study import Study
from ..times import samples
from . import live

_HZ_MAX = 500
# Options of the interface that is started.
_OF_INTERFACE = {
    "name": "name", "station": "station", "federation": "federation", "enter": "enter",
    "size": "bytes", "hz": "hz", "best_effort": "best-effort", "normal": "normal", "fom": "fom",
    "connect": "connect",
}  # fmt: skip


def command(study: Study, app: typer.Typer) -> None:
    """Adds `live` to a study's commands."""
    fom_ = Path(__file__).resolve().parents[2] / study.fom.removeprefix("bench/")

    @app.command("live")
    @guarded
    def by_hand(
        context: typer.Context,
        name: Annotated[str, typer.Option(help="Of this federate.")] = "federate",
        station: Annotated[int, typer.Option(help="Its number.", min=1, max=10)] = 1,
        federation: Annotated[str, typer.Option(help="Federation execution.")] = "live",
        enter: Annotated[
            Literal["either", "create", "join"],
            typer.Option(help="Who comes first makes it; or it must be new, or there."),
        ] = "either",
        size: Annotated[int, typer.Option("--bytes", help="Of the record.", min=16)] = 1024,
        hz: Annotated[
            float, typer.Option(help="Rate of the record.", min=0.01, max=_HZ_MAX, callback=finite)
        ] = 10.0,
        best_effort: Annotated[bool, typer.Option(help="Not reliable.")] = False,
        normal: Annotated[bool, typer.Option(help="No real-time priority.")] = False,
        show: Annotated[
            Literal["terminal", "web"], typer.Option(help="Where it is shown.")
        ] = "terminal",
        headless: Annotated[
            bool, typer.Option("--headless", help="Neither: lines, for scripts; starts at once.")
        ] = False,
        budget_ms: Annotated[
            float | None,
            typer.Option(help="Time budget, a line; else the period.", min=1e-6, callback=finite),
        ] = None,
        out: Annotated[
            Path | None, typer.Option(help="Directory of the log; none: no log.")
        ] = None,
        adapter: Annotated[str, typer.Option(help="starling, generic, tcp, udp ...")] = "starling",
        connect: Annotated[str, typer.Option(help="localSettingsDesignator.")] = "",
        rti_root: Annotated[Path | None, typer.Option(help="Install tree of the RTI.")] = None,
        program: Annotated[
            str, typer.Option(f"--{study.program}", help="The federates' program.")
        ] = study.program,
        fom: Annotated[Path, typer.Option(help="The FOM.")] = fom_,
        attach: Annotated[int, typer.Option(help="Process of an interface that runs.")] = 0,
    ) -> int:
        """Takes part by hand: start, resign, logging; delivery times as they come."""
        typed = lambda key: context.get_parameter_source(key).name == "COMMANDLINE"  # noqa: E731
        if attach and (given := [name for key, name in _OF_INTERFACE.items() if typed(key)]):
            what = f"--{given[0]} is an interface's, and the one of --attach runs"
            raise BenchError("STL-LIV-003", what, do=f"leave out --{given[0]}", exit_code=USAGE)
        if attach and not (budget_ms or headless):
            what, do = "nobody knows the period of an interface that runs", "give --budget-ms"
            raise BenchError("STL-LIV-003", what, do=do, exit_code=USAGE)
        found = shutil.which(program)
        if not found:
            raise BenchError("STL-RUN-002", f"there is no program '{program}'", "",
                             f"build it or give --{study.program} PATH", USAGE)  # fmt: skip
        web = show == "web" and not headless
        # The rate of an interface that runs is not known here: the fastest.
        every = samples.every_ms(_HZ_MAX if attach else hz, 100 if web else 200)
        words = [found, "--lines", "--every-ms", str(every)]
        me = Run()
        try:
            rti = Rti(adapter=adapter, local_settings=connect)
            prepared = adapter_for(rti, "--adapter").prepare(
                rti, rti_root.resolve() if rti_root else None, me, program=found
            )
        finally:
            me.end()  # what is in its directory nobody needs who starts no RTI
        if attach:
            words += ["--attach", str(attach)]
        else:
            words += ["--live", "--name", name, "--station", str(station), "--federation",
                      federation, "--enter", enter, "--bytes", str(size), "--hz", str(hz),
                      "--fom", str(fom), "--adapter", prepared.endpoint]  # fmt: skip
            words += ["--local-settings", connect] if connect else []
            words += [] if headless else ["--await"]
            words += ["--best-effort"] if best_effort else []
            words += ["--normal"] if normal else []
        if out:
            logs = [samples.file(out, what, 0, name, "raw") for what in ("samples", "elements")]
            if not attach and (there := [log for log in logs if os.path.exists(log)]):
                what, do = "there is the log of an earlier session", "give another --out"
                raise BenchError("STL-OUT-002", what, str(there[0]), do, USAGE)
            out.mkdir(parents=True, exist_ok=True)
            words += ["--out", str(out), "--elements"]
        env = {k: v for k, v in prepared.env.items() if k == "LD_LIBRARY_PATH"}
        reader = live.Reader(words, env)
        budget = budget_ms or 1000 / hz
        if headless:
            code = live.headless(reader)
        else:
            code = (live.web(reader, budget, typer.echo) if web
                    else live.terminal(reader, budget))  # fmt: skip
        if out and reader.state.get("state"):  # it has joined
            # As the interface is named; with --attach nobody here has known that before.
            for line in samples.logged(out, reader.state["test"], reader.state["name"]):
                typer.echo(f"logged in {out}: {line}", err=True)
        return code
