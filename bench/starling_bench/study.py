"""What the platform asks of a study. A study is a package below `studies`; the platform finds it
there by its folder's name and knows none.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import typer
from rich.console import Console

from . import studies
from .errors import BenchError
from .fields import Faults, Loc
from .outside import line_of
from .variables import Variables

if TYPE_CHECKING:
    from .kept.store import Store
    from .statistics.differences import Question
    from .tsf.sequences import Sequence, Spec

COUNT_MAX = 1 << 53  # of what a federate counts: a figure has them all to the last


NO_REPORT = "STL-OUT-011"
_WHY_MAX = 500  # characters of what a library says


@dataclass(frozen=True)
class Columns:
    """The table of rows, in order; what is neither text nor figure is a count."""

    names: tuple[str, ...]
    texts: frozenset[str]
    figures: frozenset[str]
    signed: bool = True  # some may be below 0


class Study:
    """Fields, runs, columns and figures of one study."""

    name: ClassVar[str]
    manager: ClassVar[str]  # the command that conducts it
    program: ClassVar[str] = ""  # its federates' program, and the option that names it
    fom: ClassVar[str]  # the FOM to take
    table: ClassVar[str] = "results.csv"  # where its rows go
    # The field of a test whose value says what connection its federates need, in a word; tests that
    # differ in it run in federation executions apart.
    connection_by: ClassVar[str] = ""
    connections: ClassVar[dict[object, str]] = {}
    # The field of a test and its value that take callbacks by a thread of the RTI's own.
    callbacks_by: ClassVar[tuple[str, object]] = ("", None)
    spec: "ClassVar[type[Spec] | None]" = None  # a test as written; None: it has no such files
    # Fields of tests that had other values than their defaults before there were such fields.
    before: ClassVar[dict[str, object]] = {}
    length: ClassVar[str]  # the field by which it takes longer
    # The samples of a sequence's rounds count together: a test is one, however often it ran.
    pools_rounds: ClassVar[bool] = False
    one_sample: ClassVar[bool] = False  # a test has no more: several values of it are rounds
    names: ClassVar[dict[str, str]] = {}  # of a test's fields in rows, where they have others
    # What a sample says again of its test, in a row's words: it must be what was asked.
    asked: ClassVar[tuple[str, ...]] = ()
    # What its counts and spans can be, beside 0; a text is the test's field of that name.
    possible: ClassVar[dict[str, tuple[float, float | str]]] = dict.fromkeys(
        ("sent", "received", "lost"), (1, COUNT_MAX)
    )
    shares: ClassVar[str] = ""  # why federates of all its tests must be on one machine
    columns: ClassVar[Columns]
    variables: ClassVar[Variables]
    questions: "ClassVar[tuple[Question, ...]]"  # what its report compares

    def complete(self, data: dict) -> None:
        """Adds to a file's tables, as read, what files of this study need not say."""

    def faults(self, at: Loc, spec: "Spec", sequence: "Sequence") -> Faults:
        """What is wrong between the fields of a test."""
        yield from ()

    def settled(self, test: dict) -> dict:
        """A test's fields, with those that another field stands for."""
        return test

    def cautions(self, spec: "Spec") -> Iterator[tuple[str, str, str]]:
        """What will run, but say little: field, what, what to do."""
        yield from ()

    def classes(self, sequence: "Sequence") -> list[str]:
        """The classes of the FOM that a sequence's tests use, without the root's name."""
        raise NotImplementedError

    def values(self, spec: "Spec") -> Iterator[tuple[str, int]]:
        """Fields of a test that make its messages large, each with the most bytes of values in a
        message."""
        yield from ()

    def one_machine(self, spec: "Spec") -> str:
        """Why all federates of a test must be on one machine; "": they need not."""
        return self.shares

    def planned(self, test) -> dict:
        """What a summary of a test will have of its fields, by which its variables tell it."""
        fields = self.settled(test.model_dump())
        return {self.names.get(field, field): value for field, value in fields.items()}

    def arguments(self, tests: list) -> list[str]:
        """What every federate of an execution is told of its tests."""
        return []

    def connection(self, setting: dict) -> str:
        """The word for the connection that a test's federates need, by its fields."""
        return self.connections.get(setting.get(self.connection_by), "")

    def block(self, execution: str) -> str:
        """An execution's name without that word: parts that take connections of their own are of
        one block, or round."""
        words = (f".{word}" for word in self.connections.values())
        word = next((word for word in words if execution.endswith(word)), "")
        return execution.removesuffix(word)

    def enlarge(self, spec: "Spec", scale: float) -> None:
        """Makes a test take so many times as long."""
        spec.multiply(self.length, scale)

    def seconds(self, spec: "Spec") -> float:
        """About how long a test takes, on average over those that `spec` stands for; found without
        making them."""
        return 0.0

    def memory(self, sequence: "Sequence", spec: "Spec", federate: str) -> int:
        """At least so many bytes a federate needs for the largest of the tests that `spec` stands
        for, besides the RTI's; found without making them. 0: it is little."""
        return 0

    def conducting(self, sequence: "Sequence", spec: "Spec") -> int:
        """The same of who conducts it, to make figures of its raw values."""
        return 0

    def made(self, event: dict, asked: dict) -> dict[str, float]:
        """Figures of a sample as its counts and spans make them, which it tells as well."""
        return {}

    def row(self, store: "Store", sequence: str, execution: str, event: dict) -> dict:
        """What results.csv keeps of a sample that the master told; BenchError if it is wrong."""
        raise NotImplementedError

    def figures(self, store: "Store", row: dict, trips: dict) -> dict:
        """What of a row follows from raw values, by sample; BenchError if these are not there."""
        return {}

    def value(self, row: dict) -> float | None:
        """The figure by which samples are compared; None: it has none."""
        raise NotImplementedError

    def doubt(self, of: dict) -> str:
        """Why the value of a row or a summary says little; "": nothing speaks against it."""
        return ""

    def more_is_faster(self, s: dict) -> bool:
        """Whether a larger one is better in this test; of times and counts it is not."""
        return False

    def families(self, summaries: list[dict]) -> dict[str, list[dict]]:
        """Tests whose values can be analysed together, by name."""
        return {}

    def summarize(self, store: "Store", of: list[dict], setting: dict) -> dict:
        """One test and pair: figures over its samples, where `pools_rounds` of all its rounds."""
        raise NotImplementedError

    def afterwards(self, store: "Store", summary: dict, over: bool) -> dict:
        """What of a summary does not hang on its rows alone, but on what an execution leaves that
        is `over`."""
        return {}

    def progress(self, row: dict) -> str:
        """A sample in a few words."""
        raise NotImplementedError

    def show(self, console: Console, summaries: list[dict]) -> None:
        """The terminal's tables."""
        raise NotImplementedError

    def report(self, store: "Store", summaries: list[dict]) -> None:
        """Writes report.html."""
        raise NotImplementedError

    def make(self, store: "Store", summaries: list[dict], over: bool) -> None:
        """The report, of a run that is over or goes on; BenchError if there can't be one, whatever
        a library for figures has against it: what was measured does not hang on that."""
        try:
            (self.report if over else self.renew)(store, summaries)
        except (BenchError, OSError):
            raise
        except Exception as e:
            raise BenchError(
                NO_REPORT, f"the report can't be made: {line_of(repr(e))[:_WHY_MAX]}",
                str(store.directory), f"`{self.manager} report` of it once that is mended: all "
                "that was measured is kept",
            ) from None  # fmt: skip

    def renew(self, store: "Store", summaries: list[dict]) -> None:
        """Writes a report of what is known so far, while a run goes on: at once, so without what
        takes long."""

    def shortfall(self, summaries: list[dict]) -> str:
        """What must not have happened in a run that did not fail otherwise; "": nothing."""
        return ""


def apps() -> Iterator[tuple[str, typer.Typer]]:
    """The commands of every study, by its name."""
    for module in pkgutil.iter_modules(studies.__path__):
        found = importlib.import_module(f"{studies.__name__}.{module.name}")
        yield module.name, found.app
