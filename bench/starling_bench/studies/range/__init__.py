"""The range test bed: one-way delivery times of instruments' updates against their budget."""

from rich.console import Console

from ...by_hand import byhand, planner
from ...commands.commands import commands
from ...kept.store import Store
from ...reports import terminal, transports
from ...reports.cells import ms
from ...statistics import differences, rates
from ...statistics.stats import percent
from ...study import Study
from ...times import clocks, discipline, samples
from . import fields, rows


class Range(Study):
    """Does every sample arrive within its period?"""

    name = "range"
    manager = "starling-bench range"
    program = "rangefed"
    fom = "bench/foms/records.xml"
    spec = fields.TestSpec
    length = "duration_s"
    connection_by = "threaded"
    connections = {True: "threaded"}  # noqa: RUF012
    columns, variables = rows.COLUMNS, rows.VARIABLES
    questions = (differences.RTIS,)
    one_sample, before = True, {"drift_ppm": 0}
    asked = ("federates", "transport", "tick_hz")

    complete = staticmethod(fields.complete)
    faults = staticmethod(fields.faults)
    classes = staticmethod(fields.classes)
    values = staticmethod(fields.values)
    seconds = staticmethod(fields.seconds)
    row = staticmethod(rows.row)
    one_machine = staticmethod(discipline.one_machine)

    def arguments(self, tests: list[fields.Test]) -> list[str]:
        asked = discipline.of_tests(tests)
        clock = ["--clock", "realtime", "--discipline", asked] if asked else []
        every = samples.every_ms(max(fields.fastest(test.model_dump()) for test in tests))
        threaded = ["--threaded"] if any(test.threaded for test in tests) else []
        return [*threaded, *clock, "--every-ms", str(every)]

    def figures(self, store: Store, row: dict, trips: dict) -> dict:
        return rows.figures(store, row)

    def value(self, row: dict) -> float | None:
        return row["mean_ms"]

    def doubt(self, of: dict) -> str:
        return rates.disturbed(of) or clocks.doubt(of["clock"], of["bound_ms"], of["mean_ms"])

    def summarize(self, store: Store, of: list[dict], setting: dict) -> dict:
        return rows.summarize(of, store, setting)

    def progress(self, row: dict) -> str:
        label, share = rows.label(row), percent(row["in_budget"])
        return f"{row['sender']} → {row['receiver']} ({label}): {share} in budget"

    def show(self, console: Console, summaries: list[dict]) -> None:
        head = ("test", "pair", "flow", "scheduling", "budget", "in budget", "min", "p50", "p99",
                "max", "sent", "lost")  # fmt: skip
        lines = [
            (f"{s['sequence']}/{s['execution']} {s['test']}", f"{s['sender']} → {s['receiver']}",
             rows.label(s), s["scheduling"], f"{s['budget_ms']:g}",
             percent(s["in_budget"]) + " ?" * bool(rates.disturbed(s)),
             *(ms(s[k], s["bound_ms"]) for k in ("min_ms", "p50_ms", "p99_ms", "max_ms")),
             f"{s['sent']:,}", f"{s['lost']:,}")
            for s in summaries
        ]  # fmt: skip
        console.print(terminal.table("Delivery times in ms", head, 4, lines))
        for why in dict.fromkeys(filter(None, map(rates.disturbed, summaries))):
            console.print(f"? {why}; in no comparison", highlight=False)

    def report(self, store: Store, summaries: list[dict]) -> None:
        from . import figures  # the libraries for figures take a second to load

        figures.write(store, summaries)

    def shortfall(self, summaries: list[dict]) -> str:
        missed = samples.elements_missed(summaries) + sum(s["dropped"] for s in summaries)
        said = [
            transports.lost_reliably(summaries, "messages"),
            f"{missed} elements or samples were missed by the reader" if missed else "",
            transports.by_reliable_links(summaries),
        ]
        return "; ".join(filter(None, said))


STUDY = Range()
app = commands(STUDY, "One-way delivery times against a time budget, as on a test range.")
byhand.command(STUDY, app)
planner.command(STUDY, app, rows.PLANNING)
