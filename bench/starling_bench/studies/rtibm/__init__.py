"""RTIBM, the RTI-independent benchmark: round trips and throughput between pairs of federates."""

from collections.abc import Iterator

from ...commands.commands import commands
from ...kept.store import Store
from ...statistics import loops
from ...study import Study
from ...tsf.sequences import Spec
from . import fields, rows, terminal


class Rtibm(Study):
    """Four tests, many variables, any RTI."""

    name = "rtibm"
    manager = "bmmanager"
    program = "bmfed"
    fom = "bench/foms/rtibm.xml"
    spec, names = fields.TestSpec, fields.NAMES
    length = "updates"
    connection_by = "loop_version"
    connections = {4: "immediate"}  # noqa: RUF012
    callbacks_by = ("loop_version", 4)
    pools_rounds = True
    asked, possible, made = loops.ASKED, loops.POSSIBLE, staticmethod(loops.made)
    columns, variables = rows.COLUMNS, rows.VARIABLES
    questions = rows.QUESTIONS

    faults = staticmethod(fields.faults)
    values = staticmethod(fields.values)
    doubt = staticmethod(rows.doubt)
    classes = staticmethod(fields.classes)
    memory = staticmethod(fields.memory)
    conducting = staticmethod(fields.conducting)
    row = staticmethod(rows.row)
    figures = staticmethod(rows.figures)
    value = staticmethod(rows.value)
    families = staticmethod(rows.families)
    progress = staticmethod(terminal.progress)
    show = staticmethod(terminal.tables)

    def seconds(self, spec: Spec) -> float:
        return loops.seconds(spec.lists())

    def cautions(self, spec: Spec) -> Iterator[tuple[str, str, str]]:
        return loops.cautions(spec.lists())

    def arguments(self, tests: list[fields.Test]) -> list[str]:
        return ["--immediate"] if any(test.loop_version == 4 for test in tests) else []

    def more_is_faster(self, s: dict) -> bool:
        return not rows.latency(s)

    def summarize(self, store: Store, of: list[dict], setting: dict) -> dict:
        return rows.summarize(of, store.round_trips(of[0]), setting.get("mode_tolerance_ms", 0.005))

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
