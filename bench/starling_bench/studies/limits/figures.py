"""The figures: Starling's and the raw limit's."""

import os
import statistics
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ...beside import Figure, holds, spread, verdict
from . import runs
from .runs import Bench

LISTED: list[dict] = tomllib.loads(
    Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
)["figure"]
#: What is taken of a run: unit, name and scale.
TAKEN = {
    "trips": ("us", "p50_us", 1.0),
    "stream": ("k/s", "per_s", 1e-3),
    "best_effort": ("k/s", "per_s", 1e-3),
}
NAMED = {100: "", 5000: ", 5 KB"}


@dataclass(frozen=True)
class Many:
    """How many round trips, and updates, a run has."""

    trips: int
    updates: int

    def options(self, does: str, size: int, receivers: int = 1) -> dict:
        """What a run of so many bytes has of them."""
        if does == "trips":
            count = max(self.trips // (4 if receivers > 1 else 1), 2)
            return {"count": count, "warm_up": max(count // 10, 100), "size": size}
        updates = self.updates // (10 if size > runs.BYTES else 4 if receivers > 1 else 1)
        return {"updates": updates, "size": size}


def figures(benches: dict[str, Bench], many: Many) -> list[Figure]:
    """What is measured of those that there are: Starling as it is (""), and others by name."""
    return [
        _figure(benches, many, row, way, n, other, placed)
        for row in LISTED
        for way in row["ways"]
        for n in range(len(row.get("bytes", [runs.BYTES])))
        for placed in row.get("placed", [""])
        if placed != runs.APART or len(os.sched_getaffinity(0)) > 1
        for other in row["beside"]
        if other.get("of", "") in benches
    ]


def _figure(benches, many: Many, row: dict, way: str, n: int, other: dict, placed: str) -> Figure:
    does, size = row["does"], row.get("bytes", [runs.BYTES])[n]
    given = row.get("given", {})
    unit, key, scale = TAKEN[does]
    target = other.get("target", "")
    options = many.options(does, size, given.get("receivers", 1))
    beside = many.options(does, size)
    if raw := other.get("raw", "").format(way=way):
        beside = options if "ends" in other else beside
        called, run_raw = _raw(benches[""], does, raw, other, beside)
    else:
        of = benches[other.get("of", "")]
        called = other.get("called") or f"rtiexec of {of.name}"

        def run_raw() -> Awaitable[dict]:
            return getattr(runs, does)(of, other["way"], **beside)

    return Figure(
        f"{row['name']}, {way}{NAMED[size]}{placed and ', ' + placed}", called, unit, key,
        target[n] if isinstance(target, list) else target,
        lambda: getattr(runs, does)(benches[""], way, **options, **given), run_raw, scale, placed,
        lossy=way in runs.BEST,
    )  # fmt: skip


def _raw(bench: Bench, does: str, socket: str, other: dict, options: dict) -> tuple[str, Callable]:
    """What it is called, and what runs it: plain sockets, or memory."""
    relay, batch = other.get("relay", 0), other.get("batch", 0)
    given = {"socket": socket, "bytes": options["size"], "relay": relay}
    if ends := other.get("ends"):
        what, sent = "fan-out", f" to {ends}"
        given |= {"count": options["count"], "warm_up": options["warm_up"], "ends": ends}
    elif does == "trips":
        what, sent = "round-trip", ""
        given |= {"count": options["count"], "warm_up": options["warm_up"]}
    else:
        what, sent = "stream", ", 16 KB" if batch else ", send() each"
        given |= {"count": options["updates"], "batch": batch}
    called = f"raw relay{sent}, {socket}" if relay else f"raw {socket}{sent}"
    return called, lambda: runs.raw(bench, what, **given)


CROWDS = (2, 4, 8, 16)
PER_STEP = (0, 100)
#: As many plain ends as there are federates, each of which sends one message and gets one.
RAW_ROUND = "raw round"


def time_figures(bench: Bench, many: Many, socket: str = "unix") -> list[Figure]:
    """Those of time management: rounds of everybody's Time Advance Requests, grants of one federate
    that follows another, and messages in time-stamp order."""
    trips, updates, warm_up = many.trips, many.updates, max(many.trips // 10, 100)

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
            round_of(2, 0), f"raw relay, {socket}", "us", "p50_us", "<= 1.5",
            of_all(2, 0), relay,
        )
    ]  # fmt: skip
    for messages in PER_STEP:
        for federates in CROWDS:
            found.append(
                Figure(
                    round_of(federates, messages), f"{RAW_ROUND} of {federates}, {socket}", "us",
                    "p50_us", "", of_all(federates, messages), lambda n=federates: rounds(n),
                )
            )  # fmt: skip
    found.append(
        Figure(
            "grant, one regulating, one constrained", f"raw relay, {socket}", "us", "p50_us",
            "", lambda: of(1, 2, 0, trips, 1, 1), relay,
        )
    )  # fmt: skip
    per_step = min(1000, updates)
    found.append(
        Figure(
            "updates in time-stamp order", "in receive order", "k/s", "messages_per_s",
            ">= 0.5",
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
            met = verdict(holds("<= 1.2", statistics.median(ratios)))
            lines.append(
                f"{many.name}: per federate x {spread(ratios, '.2f')} of a round of 2 "
                f"(target <= 1.2: {met}); plain ends x {spread(raw, '.2f')}"
            )
    return lines
