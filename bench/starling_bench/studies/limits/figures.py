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
    #: Of the raw run, where it is another one.
    key_raw: str = ""
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]


def figures(bench: Bench, trips: int, updates: int) -> list[Figure]:
    """What is measured, in the order of a round."""
    found, warm_up = [], max(trips // 10, 100)
    for socket, one_cpu in (("unix", True), ("unix", False), ("tcp", True), ("tcp", False)):
        found.append(
            Figure(
                f"round trip, {socket}{', one CPU' if one_cpu else ''}", f"raw relay, {socket}",
                "us", "p50_us", "<= 1.6", lambda x: x <= 1.6,
                lambda s=socket: runs.round_trip(bench, s, trips, warm_up),
                lambda s=socket: runs.raw(
                    bench, "round-trip",
                    socket=s, bytes=runs.BYTES, count=trips, warm_up=warm_up, relay=1,
                ),
                one_cpu=one_cpu,
            )
        )  # fmt: skip
    limits = (("tcp", 0, 0, "raw tcp, send() each"), ("unix", 1, 16384, "raw relay, 16 KB"))
    for socket in ("unix", "tcp"):
        for raw_socket, relay, batch, name in limits:
            target = not relay or None
            raw_socket = socket if relay else raw_socket
            found.append(
                Figure(
                    f"updates, {socket}", f"{name}, {raw_socket}" if relay else name,
                    "k/s", "per_s", ">= 1" if target else "", target and (lambda x: x >= 1),
                    lambda s=socket: runs.stream(bench, s, updates),
                    lambda s=raw_socket, r=relay, b=batch: runs.raw(
                        bench, "stream", socket=s, bytes=runs.BYTES, count=updates, relay=r, batch=b
                    ),
                    1e-3,
                )
            )  # fmt: skip
    found += memory_figures(bench, trips, warm_up, updates)
    return found + direct_figures(bench, trips, warm_up, updates)


def memory_figures(bench: Bench, trips: int, warm_up: int, updates: int) -> list[Figure]:
    """Those of shared memory: without rtiexec in between, beside raw TCP and the raw ring, and
    Starling's own way through rtiexec."""
    found = []
    for size, named in ((runs.BYTES, ""), (5000, ", 5 KB")):
        for one_cpu in (True, False):
            for limit, most in (("tcp", 0.7), ("ring", None)):
                found.append(
                    Figure(
                        f"round trip, memory{named}{', one CPU' if one_cpu else ''}",
                        f"raw {limit}", "us", "p50_us",
                        f"<= {most}" if most else "", most and (lambda x, m=most: x <= m),
                        lambda b=size: runs.round_trip(bench, "memory", trips, warm_up, b),
                        lambda s=limit, b=size: runs.raw(
                            bench, "round-trip",
                            socket=s, bytes=b, count=trips, warm_up=warm_up, relay=0,
                        ),
                        one_cpu=one_cpu,
                    )
                )  # fmt: skip
        count = updates if size == runs.BYTES else updates // 10
        for limit, batch, least in (("tcp", 0, None), ("ring", 16384, 0.7 if named else 0.2)):
            found.append(
                Figure(
                    f"updates, memory{named}", f"raw {limit}{', 16 KB' if batch else ''}",
                    "k/s", "per_s", f">= {least}" if least else "",
                    least and (lambda x, m=least: x >= m),
                    lambda b=size, n=count: runs.stream(bench, "memory", n, b),
                    lambda s=limit, b=size, n=count, t=batch: runs.raw(
                        bench, "stream", socket=s, bytes=b, count=n, relay=0, batch=t
                    ),
                    1e-3,
                )
            )  # fmt: skip
    one = lambda socket: runs.stream(bench, socket, updates)  # noqa: E731
    for name, limit, least, ours, beside in (
        ("updates, memory", "through rtiexec", 3, lambda: one("memory"), lambda: one("unix")),
        ("deliveries to 8, memory", "to one", 4,
         lambda: runs.stream(bench, "memory", updates // 4, receivers=8), lambda: one("memory")),
    ):  # fmt: skip
        met = lambda x, m=least: x >= m  # noqa: E731
        found.append(Figure(name, limit, "k/s", "per_s", f">= {least}", met, ours, beside, 1e-3))
    return found


def direct_figures(bench: Bench, trips: int, warm_up: int, updates: int) -> list[Figure]:
    """Those of a TCP link between two federates, beside raw TCP and Starling's own way through
    rtiexec."""
    found = []
    for size, named in ((runs.BYTES, ""), (5000, ", 5 KB")):
        for one_cpu in (True, False):
            found.append(
                Figure(
                    f"round trip, direct{named}{', one CPU' if one_cpu else ''}",
                    "raw tcp", "us", "p50_us", "<= 1.3", lambda x: x <= 1.3,
                    lambda b=size: runs.round_trip(bench, "direct", trips, warm_up, b),
                    lambda b=size: runs.raw(
                        bench, "round-trip",
                        socket="tcp", bytes=b, count=trips, warm_up=warm_up, relay=0,
                    ),
                    one_cpu=one_cpu,
                )
            )  # fmt: skip
        count = updates if size == runs.BYTES else updates // 10
        least = 1 if named else None
        found.append(
            Figure(
                f"updates, direct{named}", "raw tcp, send() each", "k/s", "per_s",
                f">= {least}" if least else "", least and (lambda x, m=least: x >= m),
                lambda b=size, n=count: runs.stream(bench, "direct", n, b),
                lambda b=size, n=count: runs.raw(
                    bench, "stream", socket="tcp", bytes=b, count=n, relay=0, batch=0
                ),
                1e-3,
            )
        )  # fmt: skip
    one = lambda socket: runs.stream(bench, socket, updates)  # noqa: E731
    for name, limit, least, ours, beside in (
        ("updates, direct", "through rtiexec", 2, lambda: one("direct"), lambda: one("tcp")),
        ("deliveries to 8, direct", "to one", None,
         lambda: runs.stream(bench, "direct", updates // 4, receivers=8), lambda: one("direct")),
    ):  # fmt: skip
        met = least and (lambda x, m=least: x >= m)
        target = f">= {least}" if least else ""
        found.append(Figure(name, limit, "k/s", "per_s", target, met, ours, beside, 1e-3))
    return found


CROWDS = (2, 4, 8, 16)
PER_STEP = (0, 100)
#: As many plain ends as there are federates, each of which sends one message and gets one.
RAW_ROUND = "raw round"


def time_figures(bench: Bench, trips: int, updates: int, socket: str = "unix") -> list[Figure]:
    """Those of time management: rounds of everybody's Time Advance Requests, grants of one federate
    that follows another, and messages in time-stamp order."""
    warm_up = max(trips // 10, 100)

    def relay() -> Awaitable[dict]:
        return runs.raw(
            bench, "round-trip",
            socket=socket, bytes=runs.BYTES, count=trips, warm_up=warm_up, relay=1,
        )  # fmt: skip

    async def of(who: int, *arguments: int) -> dict:
        return (await runs.advance(bench, socket, *arguments))[who]

    def rounds(federates: int) -> Awaitable[dict]:
        return runs.raw(
            bench, "round",
            socket=socket, bytes=runs.BYTES, count=max(trips // federates, 2),
            warm_up=warm_up // federates, ends=federates,
        )  # fmt: skip

    def of_all(federates: int, messages: int) -> Callable[[], Awaitable[dict]]:
        return lambda: of(0, federates, messages, max(trips // federates, 2))

    found = [
        Figure(
            round_of(2, 0), f"raw relay, {socket}", "us", "p50_us", "<= 1.5", lambda x: x <= 1.5,
            of_all(2, 0), relay,
        )
    ]  # fmt: skip
    for messages in PER_STEP:
        for federates in CROWDS:
            found.append(
                Figure(
                    round_of(federates, messages), f"{RAW_ROUND} of {federates}, {socket}", "us",
                    "p50_us", "", None, of_all(federates, messages), lambda n=federates: rounds(n),
                )
            )  # fmt: skip
    found.append(
        Figure(
            "grant, one regulating, one constrained", f"raw relay, {socket}", "us", "p50_us",
            "", None, lambda: of(1, 2, 0, trips, 1, 1), relay,
        )
    )  # fmt: skip
    per_step = min(1000, updates)
    found.append(
        Figure(
            "updates in time-stamp order", "in receive order", "k/s", "messages_per_s",
            ">= 0.5", lambda x: x >= 0.5,
            lambda: of(1, 2, per_step, max(updates // per_step, 1), 1, 1),
            lambda: runs.stream(bench, socket, updates), 1e-3, key_raw="per_s",
        )
    )  # fmt: skip
    return found


def round_of(federates: int, messages: int) -> str:
    """The name of the figure."""
    return f"round of {federates}, {messages} messages"


def per_federate(measured: list[Figure]) -> list[str]:
    """What a round costs for each federate, beside a round of two, and the same of plain ends: a
    line for each number."""
    by_name = {f.name: f for f in measured if f.raw_name.startswith(RAW_ROUND)}
    lines = []
    for messages in PER_STEP:
        two = by_name.get(round_of(2, messages))
        for federates in CROWDS[1:]:
            many = by_name.get(round_of(federates, messages))
            if not two or not many:
                continue

            def beside(ours: list[float], of_two: list[float], n: int = federates) -> list[float]:
                return [(a / n) / (b / 2) for a, b in zip(ours, of_two, strict=True)]

            ratios, raw = beside(many.ours, two.ours), beside(many.theirs, two.theirs)
            met = "met" if statistics.median(ratios) <= 1.2 else "missed"
            lines.append(
                f"{many.name}: per federate x {spread(ratios, '.2f')} of a round of 2 "
                f"(target <= 1.2: {met}); plain ends x {spread(raw, '.2f')}"
            )
    return lines


def show(console: Console, measured: list[Figure], rounds: int) -> None:
    """Medians with the whole range, and the ratio within each round."""
    table = Table(box=box.SIMPLE, title=f"100 bytes, reliable, {rounds} rounds: median [range]")
    for column in ("figure", "unit", "Starling", "limit", "raw", "ratio", "target", ""):
        left = column in ("figure", "unit", "limit")
        table.add_column(column, justify="left" if left else "right")
    for f in measured:
        ratio = statistics.median(f.ratios())
        table.add_row(
            f.name, f.unit, spread(f.ours), f.raw_name, spread(f.theirs),
            f"x {spread(f.ratios(), '.2f')}", f.target,
            "" if f.met is None else "met" if f.met(ratio) else "missed",
        )  # fmt: skip
    console.print(table)


def spread(values: list[float], form: str = "") -> str:
    """Median and range."""
    form = form or (".0f" if statistics.median(values) >= 100 else ".1f")
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"
