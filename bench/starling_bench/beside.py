"""Figures of something and of the limit run beside it in the same round: their ratios, a table."""

import operator
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

_HOLDS = {"<=": operator.le, ">=": operator.ge}


@dataclass
class Figure:
    """A figure of Starling and its raw limit, over the rounds."""

    name: str
    raw_name: str
    unit: str
    key: str
    target: str  # of the ratio: "<= 1.3", ">= 0.2"; "": none
    run: Callable[[], Awaitable[dict]]
    run_raw: Callable[[], Awaitable[dict]]
    scale: float = 1.0
    placed: str = ""  # where processes run, in the study's words
    #: Of the raw run, where it is another one.
    key_raw: str = ""
    #: What is sent may be lost; the share of it, here and there.
    lossy: bool = False
    lost: list[tuple[float, float]] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def take(self, told: dict, told_raw: dict) -> dict:
        """Keeps what a round has found; the round's row."""
        self.ours.append(told[self.key] * self.scale)
        self.theirs.append(told_raw[self.key_raw or self.key] * self.scale)
        if self.lossy:
            self.lost.append((lost(told), lost(told_raw)))
        ours, theirs = self.ours[-1], self.theirs[-1]
        return {"figure": self.name, "unit": self.unit, "starling": ours, "limit": self.raw_name,
                "raw": theirs, "ratio": ours / theirs}  # fmt: skip

    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def met(self) -> bool | None:
        """Whether the median ratio is what was aimed at; None: nothing was."""
        return holds(self.target, statistics.median(self.ratios())) if self.target else None


def holds(target: str, value: float) -> bool:
    """Whether a value is as "<= 1.3" says."""
    relation, bound = target.split()
    return _HOLDS[relation](value, float(bound))


def lost(told: dict) -> float:
    """The share of what was sent that did not come."""
    return 1 - told["received"] / told["sent"]


def losses(measured: list[Figure]) -> list[str]:
    """How much of best effort did not come: a line for each figure of it."""
    lines = []
    for f in (f for f in measured if f.lost):
        ours, theirs = zip(*f.lost, strict=True)
        lines.append(
            f"{f.name}: {spread(ours, '.1%')} of the updates were lost; {f.raw_name}: "
            f"{spread(theirs, '.1%')}"
        )
    return lines


def show(console: Console, measured: list[Figure], rounds: int) -> None:
    """Medians with the whole range, and the ratio within each round."""
    table = Table(box=box.SIMPLE, title=f"100 bytes, {rounds} rounds: median [range]")
    for column in ("figure", "unit", "Starling", "limit", "raw", "ratio", "target", ""):
        left = column in ("figure", "unit", "limit")
        table.add_column(column, justify="left" if left else "right")
    for f in measured:
        table.add_row(
            f.name, f.unit, spread(f.ours), f.raw_name, spread(f.theirs),
            f"x {spread(f.ratios(), '.2f')}", f.target, verdict(f.met),
        )  # fmt: skip
    console.print(table)


def verdict(met: bool | None) -> str:
    return {None: "", True: "met", False: "missed"}[met]


def spread(values: Sequence[float], form: str = "") -> str:
    """Median and range."""
    form = form or (".0f" if statistics.median(values) >= 100 else ".1f")
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"
