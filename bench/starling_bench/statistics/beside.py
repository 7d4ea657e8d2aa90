"""Figures of something and of the limit run beside it in the same round: their ratios, a table."""

import operator
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from .estimates import Estimate, times

_HOLDS = {"<=": operator.le, ">=": operator.ge}


#: Percentiles that a run may tell of its times, beside the median.
TAILS = {"p99_us": "p99", "p999_us": "p99.9"}


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
    earlier: bool = False  # whether the limit is an earlier one of the same
    #: What is sent may be lost; the share of it, here and there.
    lossy: bool = False
    lost: list[tuple[float, float]] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    #: The other percentiles, by name, here and there.
    tails: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def take(self, told: dict, told_raw: dict) -> dict:
        """Keeps what a round has found; the round's row."""
        self.ours.append(told[self.key] * self.scale)
        self.theirs.append(told_raw[self.key_raw or self.key] * self.scale)
        if self.lossy:
            self.lost.append((lost(told), lost(told_raw)))
        ours, theirs = self.ours[-1], self.theirs[-1]
        row = {"figure": self.name, "unit": self.unit, "starling": ours, "limit": self.raw_name,
               "raw": theirs, "ratio": ours / theirs}  # fmt: skip
        for key, name in TAILS.items():
            pair = told.get(key), told_raw.get(key)
            if None not in pair:
                self.tails.setdefault(name, []).append(pair)
            row |= {f"starling_{name}": pair[0], f"raw_{name}": pair[1]}
        return row

    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    def ratio(self) -> Estimate:
        """Over the rounds, with its interval."""
        return times(self.ours, self.theirs)

    @property
    def met(self) -> bool | None:
        """Whether the median ratio is what was aimed at; None: nothing was."""
        return holds(self.target, statistics.median(self.ratios())) if self.target else None


def holds(target: str, value: float) -> bool:
    """Whether a value is as "<= 1.3" says."""
    relation, bound = target.split()
    return _HOLDS[relation](value, float(bound))


def lost(told: dict) -> float:
    """The share of what was sent that did not come; of what says nothing of that: nothing."""
    return 1 - told["received"] / told["sent"] if "sent" in told else 0.0


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


def fan_outs(measured: list[Figure], to: str = " to 8") -> list[str]:
    """How many times what one gets several get together, of Starling and, in the same rounds, of
    plain ends, which is what the CPUs have for that: a line for each way."""
    found = {(f.name.partition(", ")[2], f.raw_name): f for f in measured if f.unit != "us"}
    lines = []
    for (way, limit), f in found.items():
        one, ours = found.get((way, limit.replace(to, ""))), found.get((way, "to one"))
        if to not in limit or not one or not ours:
            continue
        plain = [a / b for a, b in zip(f.theirs, one.theirs, strict=True)]
        share = [a / b for a, b in zip(ours.ratios(), plain, strict=True)]
        lines.append(
            f"{f.name}: x {spread(ours.ratios(), '.2f')} of what one gets; {limit}: x "
            f"{spread(plain, '.2f')}, which these CPUs have for it: Starling has x "
            f"{spread(share, '.2f')} of that"
        )
    return lines


def show(console: Console, measured: list[Figure], rounds: int, last: dict[tuple, str]) -> None:
    """Medians with the whole range, the ratio within each round and the interval of its mean, and
    what the last run had, by figure and limit. Then the tails of times."""
    table = Table(box=box.SIMPLE, title=f"100 bytes, {rounds} rounds: median [range]")
    columns = ["figure", "unit", "Starling", "limit", "raw", "ratio", "95 % of its mean", "target"]
    for column in [*columns, "", *(["last"] if last else [])]:
        left = column in ("figure", "unit", "limit", "last")
        table.add_column(column, justify="left" if left else "right")
    for f in measured:
        before = [last.get((f.name, f.raw_name), "")] if last else []
        table.add_row(
            f.name, f.unit, spread(f.ours), f.raw_name, spread(f.theirs),
            f"x {spread(f.ratios(), '.2f')}", within(f.ratio()), f.target, verdict(f.met), *before
        )  # fmt: skip
    console.print(table)
    if any(f.tails for f in measured):
        _show_tails(console, [f for f in measured if f.tails])


def _show_tails(console: Console, measured: list[Figure]) -> None:
    table = Table(box=box.SIMPLE, title="the slowest of them, each of its round: median [range]")
    table.add_column("figure")
    table.add_column("limit")
    for name in TAILS.values():
        for column in (f"{name}, us", "raw", "ratio", "95 %"):
            table.add_column(column, justify="right")
    for f in measured:
        cells = []
        for pairs in (f.tails.get(name) for name in TAILS.values()):
            if not pairs:  # of so few that it says nothing
                cells += [""] * 4
                continue
            ours, theirs = zip(*pairs, strict=True)
            ratios = [a / b for a, b in pairs]
            cells += [spread(ours), spread(theirs), f"x {statistics.median(ratios):.2f}",
                      within(times(ours, theirs))]  # fmt: skip
        table.add_row(f.name, f.raw_name, *cells)
    console.print(table)


def within(found: Estimate) -> str:
    """An interval; "": there is none."""
    return "" if found.low is None else f"{found.low:.2f} to {found.high:.2f}"


def missed(measured: list[Figure]) -> list[str]:
    """In plain words which targets are missed: a line for each, or one that says that none is."""
    aimed = [f for f in measured if f.target]
    lines = [
        f"missed: {f.name} beside {f.raw_name}: x {statistics.median(f.ratios()):.2f}, to be "
        f"{f.target}"
        for f in aimed
        if not f.met
    ]
    count = f"{len(aimed) - len(lines)} of {len(aimed)} targets are met"
    return [*lines, count] if aimed else []


def verdict(met: bool | None) -> str:
    return {None: "", True: "met", False: "missed"}[met]


def spread(values: Sequence[float], form: str = "") -> str:
    """Median and range."""
    form = form or (".0f" if statistics.median(values) >= 100 else ".1f")
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"
