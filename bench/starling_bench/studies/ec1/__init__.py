"""EC1: what a network and middleware can carry for real-time simulations."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...commands.attempt import run_text
from ...commands.commands import IdleWait, Out, RtiRoot, Rtis, commands, finite
from ...commands.console import guarded
from ...flows import flows
from ...kept.store import Store
from ...machines import sites, topologies
from ...reports.cells import ms
from ...statistics import rates
from ...study import Study
from ...times import clocks, discipline
from ...tsf import planned
from . import fields, plans, rows
from .configurations import COUNT


class Ec1(Study):
    """Throughput, reliability, latency and jitter of the PBOM over any middleware."""

    name = "ec1"
    manager = "starling-bench ec1"
    program = "ec1fed"
    fom = "bench/foms/pbom.xml"
    spec = fields.TestSpec
    length = "seconds"
    connection_by = "real_time"
    connections = {True: "real-time"}  # noqa: RUF012
    asked, possible = flows.ASKED, flows.POSSIBLE
    columns, variables = flows.COLUMNS, rows.VARIABLES
    questions = rows.QUESTIONS

    faults, settled = staticmethod(fields.faults), staticmethod(fields.settled)
    classes, seconds = staticmethod(fields.classes), staticmethod(fields.seconds)
    show, one_machine = staticmethod(flows.show), staticmethod(discipline.one_machine)

    def arguments(self, tests: list[fields.Test]) -> list[str]:
        asked = discipline.of_tests(tests)
        clock = ["--discipline", asked] if asked else []
        clock += ["--echo"] if any(test.clock == "estimate" for test in tests) else []
        return clock + (["--real-time"] if any(test.real_time for test in tests) else [])

    def row(self, store: Store, sequence: str, execution: str, event: dict) -> dict:
        setting = store.record(sequence, execution)["tests"][str(event["test"])]
        return flows.row(store, sequence, execution, fields.settled(setting), event)

    def figures(self, store: Store, row: dict, trips: dict) -> dict:
        return flows.figures(store, row)

    def value(self, row: dict) -> float | None:
        return row["mean_ms"]

    def doubt(self, of: dict) -> str:
        clock = of.get("clock") or "same"  # earlier versions knew one only
        return rates.disturbed(of) or clocks.doubt(clock, of.get("bound_ms"), of["mean_ms"])

    def summarize(self, store: Store, of: list[dict], setting: dict) -> dict:
        return flows.summarize(of)

    def afterwards(self, store: Store, summary: dict, over: bool) -> dict:
        return flows.left(store, summary) if over else {}

    def progress(self, row: dict) -> str:
        mean = "-" if row["mean_ms"] is None else f"{ms(row['mean_ms'], row['bound_ms'])} ms"
        return f"{rows.label(row)}, {row['sender']} → {row['receiver']}: {mean}"

    def report(self, store: Store, summaries: list[dict]) -> None:
        from . import figures  # the libraries for figures take a second to load

        figures.write(store, summaries)

    def shortfall(self, summaries: list[dict]) -> str:
        from ...flows.points import shortfall  # the libraries for figures, see above
        from .marks import MARKS

        return shortfall(summaries, rows.label, MARKS)


STUDY = Ec1()
app = commands(STUDY, "What a network and middleware can carry for real-time simulations.")

Program = Annotated[str, typer.Option("--ec1fed", help="The federates' program.")]
Adapters = Annotated[
    str, typer.Option(help=f"Of {', '.join(plans.ADAPTERS)}, RTIs of --rtis, hybrids A+B.")
]
Sites = Annotated[str, typer.Option(help=f"Of {', '.join(sites.PROFILES)}.")]
Hosts = Annotated[Path | None, typer.Option(help=r"File with [\[host]] tables, for --sites hosts.")]
Daemon = Annotated[str, typer.Option(help="Asks for these hosts' clocks; without, echoes do.")]
Topologies = Annotated[str, typer.Option(help=f"Of {', '.join(topologies.TOPOLOGIES)}.")]
Only = Annotated[str | None, typer.Option(help="Configurations, such as 40-79 or 3,5.")]
_number = partial(typer.Option, callback=finite)
Seconds = Annotated[float, _number(min=0.05, help="That each configuration sends.")]
Samples = Annotated[int, typer.Option(min=1, help="Of each configuration.")]
Seed = Annotated[int, typer.Option(help="Of the order of configurations.")]
RealTime = Annotated[str, typer.Option(help="on, off, or both: SCHED_FIFO and mlock, if allowed.")]
Bundling = Annotated[str, typer.Option(help="on, off, or both: of RTIs that bundle.")]
Lag = Annotated[float, _number(min=0, help="Subscribers look only so often, in s.")]
Conflate = Annotated[str, typer.Option(help="on, off, or both: what is not read is overwritten.")]
Capture = Annotated[bool, typer.Option("--capture", help="Keeps and counts hosts' packets (root).")]
BundleMs = Annotated[float, _number(min=0, max=1000, help="That a bundle waits for more.")]


def _wanted(
    program: str, adapters: str, topology: str, only: str | None, profile: str, seconds: float,
    seed: int, samples: int, rti_root: Path | None, rtis: Path | None, more: dict,
    hosts: Path | None, daemon: str,
) -> planned.Wanted:  # fmt: skip
    program = planned.program(program, "--ec1fed", "make ec1")
    tables = planned.text_of(rtis, "--rtis")
    every = [*plans.ADAPTERS, *plans.HYBRIDS, *planned.names(tables, "--rtis", plans.ADAPTERS)]
    kinds = planned.listed(profile, list(sites.PROFILES), "--sites")
    usable, notes = sites.usable(kinds, program)
    return planned.Wanted(
        program, planned.listed(adapters, every, "--adapters"),
        planned.listed(topology, list(topologies.TOPOLOGIES), "--topology"),
        planned.numbers(only, COUNT, "--only", "configurations"), usable, seconds, seed, samples,
        rti_root.resolve() if rti_root else None, tables, notes, more,
        planned.hosts_of(hosts, kinds, daemon), daemon,
    )  # fmt: skip


@app.command()
@guarded
def phase0(
    out: Out, program: Program = "ec1fed", topology: Topologies = "1-1,1-N,N-1,N-N",
    only: Only = None, sites: Sites = "local", seconds_per_configuration: Seconds = 1.0,
    seed: Seed = 1, samples: Samples = 1, real_time: RealTime = "off", idle_wait_s: IdleWait = 60,
    hosts: Hosts = None, daemon: Daemon = "", capture: Capture = False,
) -> int:  # fmt: skip
    """Phase 0: all configurations over plain sockets, TCP and UDP multicast."""
    wanted = _wanted(program, "sockets", topology, only, sites, seconds_per_configuration, seed,
                     samples, None, None, planned.switches(real_time=real_time),
                     hosts, daemon)  # fmt: skip
    wanted.capture = capture
    return run_text(STUDY, plans.configurations(wanted), out, idle_wait_s, wanted.notes)


@app.command()
@guarded
def phase1(
    out: Out, program: Program = "ec1fed", adapters: Adapters = "sockets,starling,dds",
    sites: Sites = "local", count: Annotated[int, typer.Option(min=2, max=sites.SITES_MAX)] = 4,
    rti_root: RtiRoot = None, rtis: Rtis = None, seed: Seed = 1, idle_wait_s: IdleWait = 60,
    hosts: Hosts = None, daemon: Daemon = "",
    between: Annotated[str, typer.Option(help="Hybrids of these, every two of them.")] = "",
) -> int:  # fmt: skip
    """Phase I: connectivity, one update from every site to every other."""
    hybrids = planned.between(between, plans.HYBRIDS, "--between")
    every = ",".join([adapters, *hybrids])
    wanted = _wanted(program, every, "1-1", None, sites, 1.0, seed, 1, rti_root, rtis, {}, hosts,
                     daemon)  # fmt: skip
    return run_text(STUDY, plans.connectivity(wanted, count), out, idle_wait_s, wanted.notes)


@app.command()
@guarded
def phase2(
    out: Out, program: Program = "ec1fed", adapters: Adapters = "sockets,starling",
    topology: Topologies = "1-1,1-N,N-1,N-N", only: Only = None, sites: Sites = "local",
    seconds_per_configuration: Seconds = 1.0, seed: Seed = 1, samples: Samples = 1,
    rti_root: RtiRoot = None, rtis: Rtis = None, real_time: RealTime = "off",
    bundling: Bundling = "off", bundle_ms: BundleMs = 5.0, lag_s: Lag = 0.0,
    conflate: Conflate = "off", idle_wait_s: IdleWait = 60, hosts: Hosts = None,
    daemon: Daemon = "", capture: Capture = False,
) -> int:  # fmt: skip
    """Phase II: all configurations, endpoint to endpoint, over middleware; sockets beside it."""
    more = planned.switches(bundling=bundling, conflate=conflate, real_time=real_time)
    more |= {"lag_s": lag_s} if lag_s else {}
    wanted = _wanted(program, adapters, topology, only, sites, seconds_per_configuration,
                     seed, samples, rti_root, rtis, more, hosts, daemon)  # fmt: skip
    wanted.bundle_ms, wanted.capture = bundle_ms, capture
    return run_text(STUDY, plans.configurations(wanted), out, idle_wait_s, wanted.notes)
