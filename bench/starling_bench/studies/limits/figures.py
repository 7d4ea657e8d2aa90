"""The figures: Starling's and the raw limit's."""

import os
import statistics
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ...conducting.ways import APART, BEST
from ...machines import network
from ...statistics.beside import Figure, holds, spread, verdict
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
    "register": ("us", "register_us", 1.0),
    "discover": ("us", "discover_us", 1.0),
    "link": ("Mbit/s", "mbit_per_s", 1.0),
}
NAMED = {100: "", 800: "800 bytes", 5000: "5 KB"}
INSTANCES = 10_000
#: What is counted of an update (`make instructions`), by the figure that times it.
COUNTED = {"updates, unix": "1 x 100 bytes", "updates, memory": "shared memory, 1 x 100 bytes"}
RAW = 10  # times as many updates, so that what goes 16 KB at once takes long enough to tell
PRESETS = ("compliant", "fastest")


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
        if does in ("register", "discover"):
            return {"instances": max(min(self.updates // 30, INSTANCES), 1)}
        if does == "link":
            return {"seconds": self.updates / 300_000, "size": size}
        updates = self.updates // (10 if size > runs.BYTES else 4 if receivers > 1 else 1)
        return {"updates": updates, "size": size}


def figures(benches: dict[str, Bench], many: Many) -> list[Figure]:
    """What is measured of those that there are: Starling as it is (""), and others by name."""
    hosts = not network.none()
    return [
        _figure(benches, many, row, way, n, other, placed)
        for row in LISTED
        if row.get("of", "") in benches and (hosts or row["does"] != "link")
        for way in row["ways"]
        for n in range(len(row.get("bytes", [runs.BYTES])))
        for placed in row.get("placed", [""])
        if placed != APART or len(os.sched_getaffinity(0)) > 1
        for other in row["beside"]
        if other.get("of", "") in benches
    ]


def left_out(benches: dict[str, Bench]) -> list[str]:
    """What is not measured, and why: a line each."""
    earlier = "what is beside an earlier Starling, which EARLIER=COMMIT names"
    of_links = (why := network.none()) and f"what passes links of a rate: {why}"
    said = ("" if "earlier" in benches else earlier, of_links)
    return [f"not measured: {one}" for one in said if one]


def _figure(benches, many: Many, row: dict, way: str, n: int, other: dict, placed: str) -> Figure:
    does, size = row["does"], row.get("bytes", [runs.BYTES])[n]
    given = row.get("given", {})
    unit, key, scale = TAKEN[does]
    mine = benches[row.get("of", "")]
    target = other.get("target", "")
    options = many.options(does, size, given.get("receivers", 1))
    beside = many.options(does, size)
    if raw := other.get("raw", "").format(way=way):
        beside = options if "ends" in other else beside
        called, run_raw = _raw(mine, does, raw, other, beside, given)
    else:
        of = benches[other.get("of", "")]
        called = other.get("called") or f"rtiexec of {of.name}"

        def run_raw() -> Awaitable[dict]:
            return getattr(runs, does)(of, other["way"], **beside)

    name = ", ".join(filter(None, (row["name"], way, NAMED[size], row.get("of"), placed)))
    return Figure(
        name, called, unit, key,
        target[n] if isinstance(target, list) else target,
        lambda: getattr(runs, does)(mine, way, **options, **given), run_raw, scale, placed,
        lossy=way in BEST, earlier=other.get("of") == "earlier",
    )  # fmt: skip


def _raw(bench: Bench, does: str, socket: str, other: dict, options: dict, given: dict) -> tuple:
    """What it is called, and what runs it: plain sockets, or memory."""
    if does == "link":
        return f"raw {socket}, 16 KB", lambda: runs.link(bench, **options, **given, raw=socket)
    relay, batch, ends = (other.get(key, 0) for key in ("relay", "batch", "ends"))
    sent = {"socket": socket, "bytes": options["size"], "relay": relay}
    sent |= {"ends": ends} if ends else {}
    how = f" to {ends}" if ends else ""
    if does == "trips":
        what = "fan-out" if ends else "round-trip"
        sent |= {key: options[key] for key in ("count", "warm_up")}
    else:
        what, how = "stream", how + (", 16 KB" if batch else ", send() each")
        sent |= {"count": options["updates"] * (RAW if batch else 1), "batch": batch}
    called = f"raw relay{how}, {socket}" if relay else f"raw {socket}{how}"
    return called, lambda: runs.raw(bench, what, **sent)


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
