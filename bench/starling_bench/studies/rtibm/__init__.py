"""RTIBM, the RTI-independent benchmark: round trips and throughput between pairs of federates."""

from rich.console import Console

from ...commands import commands
from ...fields import Faults, Loc
from ...plan import Sequence, Spec
from ...store import Store
from ...study import Study
from . import fields, rows, terminal


class Rtibm(Study):
    """Four tests, many variables, any RTI."""

    name = "rtibm"
    manager = "bmmanager"
    program = "bmfed"
    fom = "bench/foms/rtibm.xml"
    spec = fields.TestSpec
    connection_by = "loop_version"
    connections = {4: "immediate"}  # noqa: RUF012
    columns = rows.COLUMNS
    variables = rows.VARIABLES
    questions = rows.QUESTIONS

    def faults(self, at: Loc, spec: Spec, sequence: Sequence) -> Faults:
        return fields.faults(at, spec, sequence)

    def classes(self, sequence: Sequence) -> list[str]:
        return fields.classes(sequence)

    def arguments(self, tests: list[fields.Test]) -> list[str]:
        return ["--immediate"] if any(test.loop_version == 4 for test in tests) else []

    def enlarge(self, spec: Spec, scale: float) -> None:
        spec.multiply("updates", scale)

    def seconds(self, spec: Spec) -> float:
        return fields.seconds(spec)

    def row(self, store: Store, sequence: str, execution: str, event: dict) -> dict:
        return rows.row(store, sequence, execution, event)

    def figures(self, store: Store, row: dict, trips: dict) -> dict:
        return rows.figures(store, row, trips)

    def value(self, row: dict) -> float | None:
        return rows.value(row)

    def more_is_faster(self, s: dict) -> bool:
        return not rows.latency(s)

    def families(self, summaries: list[dict]) -> dict[str, list[dict]]:
        return rows.families(summaries)

    def summarize(self, store: Store, of: list[dict], setting: dict) -> dict:
        trips = store.round_trips(*(of[0][k] for k in ("sequence", "execution", "test", "pair")))
        return rows.summarize(of, trips, setting.get("mode_tolerance_ms", 0.005))

    def progress(self, row: dict) -> str:
        return terminal.progress(row)

    def show(self, console: Console, summaries: list[dict]) -> None:
        terminal.tables(console, summaries)

    def report(self, store: Store, summaries: list[dict]) -> None:
        from . import figures  # the libraries for figures take a second to load

        figures.write(store, summaries)

    def renew(self, store: Store, summaries: list[dict]) -> None:
        from . import figures

        figures.write(store, summaries, done=False)

    def shortfall(self, summaries: list[dict]) -> str:
        lost = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
        return f"{lost} reliable messages were lost" if lost else ""


STUDY = Rtibm()
app = commands(STUDY, "bmmanager: conducts RTIBM's test sequences with nobody watching.")
