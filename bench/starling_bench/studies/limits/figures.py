"""The figures: Starling's and the raw limit's, over the rounds."""

import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from . import runs
from .runs import Bench


@dataclass
class Figure:
    """A figure of Starling and its raw limit, over the rounds."""

    name: str
    raw_name: str
    unit: str
    key: str
    target: str
    met: Callable[[float], bool] | None
    run: Callable[[], Awaitable[dict]]
    run_raw: Callable[[], Awaitable[dict]]
    scale: float = 1.0
    one_cpu: bool = False
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]


def figures(bench: Bench, trips: int, updates: int) -> list[Figure]:
    """What is measured, in the order of a round."""
    found = []
    warm_up = max(trips // 10, 100)
    for socket, one_cpu in (("unix", True), ("unix", False), ("tcp", True), ("tcp", False)):
        found.append(
            Figure(
                f"round trip, {socket}{', one CPU' if one_cpu else ''}",
                f"raw relay, {socket}",
                "us",
                "p50_us",
                "<= 1.6",
                lambda x: x <= 1.6,
                lambda s=socket: runs.round_trip(bench, s, trips, warm_up),
                lambda s=socket: runs.raw(
                    bench, "round-trip", socket=s, bytes=runs.BYTES, count=trips, warm_up=warm_up
                ),
                one_cpu=one_cpu,
            )
        )
    limits = (("tcp", 0, 0, "raw tcp, send() each"), ("unix", 1, 16384, "raw relay, 16 KB"))
    for socket in ("unix", "tcp"):
        for raw_socket, relay, batch, name in limits:
            target = relay == 0
            raw_socket = socket if relay else raw_socket
            found.append(
                Figure(
                    f"updates, {socket}",
                    f"{name}, {raw_socket}" if relay else name,
                    "k/s",
                    "per_s",
                    ">= 1" if target else "",
                    (lambda x: x >= 1) if target else None,
                    lambda s=socket: runs.stream(bench, s, updates),
                    lambda s=raw_socket, r=relay, b=batch: runs.raw(
                        bench, "stream", socket=s, bytes=runs.BYTES, count=updates, relay=r, batch=b
                    ),
                    1e-3,
                )
            )
    return found


def show(console: Console, measured: list[Figure], rounds: int) -> None:
    """Medians with the whole range, and the ratio within each round."""
    table = Table(box=box.SIMPLE, title=f"100 bytes, reliable, {rounds} rounds: median [range]")
    for column in ("figure", "unit", "Starling", "limit", "raw", "ratio", "target", ""):
        left = column in ("figure", "unit", "limit")
        table.add_column(column, justify="left" if left else "right")
    for f in measured:
        ratio = statistics.median(f.ratios())
        table.add_row(
            f.name,
            f.unit,
            spread(f.ours),
            f.raw_name,
            spread(f.theirs),
            f"x {spread(f.ratios(), '.2f')}",
            f.target,
            "" if f.met is None else "met" if f.met(ratio) else "missed",
        )
    console.print(table)


def spread(values: list[float], form: str = "") -> str:
    """Median and range."""
    form = form or (".0f" if statistics.median(values) >= 100 else ".1f")
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"
