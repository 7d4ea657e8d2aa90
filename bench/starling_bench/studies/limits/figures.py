"""The figures: Starling's and the raw limit's."""

import statistics
from collections.abc import Awaitable, Callable

from ...beside import Figure, spread
from . import runs
from .runs import Bench


def figures(bench: Bench, earlier: Bench | None, trips: int, updates: int) -> list[Figure]:
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
    for socket in ("unix", "tcp"):
        for limit, relay, batch, name in (
            ("tcp", 0, 0, "raw tcp, send() each"), (socket, 1, 16384, f"raw relay, 16 KB, {socket}")
        ):  # fmt: skip
            found.append(
                Figure(
                    f"updates, {socket}", name, "k/s", "per_s",
                    "" if relay else ">= 1", None if relay else (lambda x: x >= 1),
                    lambda s=socket: runs.stream(bench, s, updates),
                    lambda s=limit, r=relay, b=batch: runs.raw(
                        bench, "stream", socket=s, bytes=runs.BYTES, count=updates, relay=r, batch=b
                    ),
                    1e-3,
                )
            )  # fmt: skip
    for way in WAYS:
        found += way_figures(bench, way, trips, warm_up, updates)
    found.append(
        Figure(
            "best effort, multicast", "raw multicast, send() each", "k/s", "per_s",
            ">= 3", lambda x: x >= 3,
            lambda: runs.best_effort(bench, "multicast", updates),
            lambda: runs.raw(
                bench, "stream",
                socket="multicast", bytes=runs.BYTES, count=updates, relay=0, batch=0,
            ),
            1e-3, lossy=True,
        )
    )  # fmt: skip
    return found + ways_beside_others(bench, earlier, updates)


#: Ways from federate to federate, and their raw limits: of a round trip, and the most it may take
#: of it; of a stream, how much is sent at once, and the least that 100 bytes and 5 KB are to reach.
WAYS = {
    "memory": (
        (("tcp", 0.7), ("ring", None)),
        (("tcp", 0, (None, None)), ("ring", 16384, (0.2, 0.7))),
    ),
    "direct": ((("tcp", 1.3),), (("tcp", 0, (None, 1)),)),
}


def way_figures(bench: Bench, way: str, trips: int, warm_up: int, updates: int) -> list[Figure]:
    """Those of a way without rtiexec in between, beside what carries it."""
    found = []
    of_trips, of_streams = WAYS[way]
    for large, (size, named) in enumerate(((runs.BYTES, ""), (5000, ", 5 KB"))):
        for one_cpu in (True, False):
            for limit, most in of_trips:
                found.append(
                    Figure(
                        f"round trip, {way}{named}{', one CPU' if one_cpu else ''}",
                        f"raw {limit}", "us", "p50_us",
                        f"<= {most}" if most else "", most and (lambda x, m=most: x <= m),
                        lambda b=size: runs.round_trip(bench, way, trips, warm_up, b),
                        lambda s=limit, b=size: runs.raw(
                            bench, "round-trip",
                            socket=s, bytes=b, count=trips, warm_up=warm_up, relay=0,
                        ),
                        one_cpu=one_cpu,
                    )
                )  # fmt: skip
        count = updates // 10 if large else updates
        for limit, batch, leasts in of_streams:
            least = leasts[large]
            found.append(
                Figure(
                    f"updates, {way}{named}", f"raw {limit}, {'16 KB' if batch else 'send() each'}",
                    "k/s", "per_s", f">= {least}" if least else "",
                    least and (lambda x, m=least: x >= m),
                    lambda b=size, n=count: runs.stream(bench, way, n, b),
                    lambda s=limit, b=size, n=count, t=batch: runs.raw(
                        bench, "stream", socket=s, bytes=b, count=n, relay=0, batch=t
                    ),
                    1e-3,
                )
            )  # fmt: skip
    return found


def ways_beside_others(bench: Bench, earlier: Bench | None, updates: int) -> list[Figure]:
    """Starling's ways beside each other, eight receivers beside one, and all beside an earlier
    Starling's way through rtiexec, if there is one."""
    found = []

    def add(way: str, limit: str, least: float | None, beside: Bench, other: str, to: int = 1):
        name = f"deliveries to {to}, {way}" if to > 1 else f"updates, {way}"
        each = updates // 4 if to > 1 else updates
        found.append(
            Figure(
                name, limit, "k/s", "per_s",
                f">= {least}" if least else "", least and (lambda x: x >= least),
                lambda: runs.stream(bench, way, each, receivers=to),
                lambda: runs.stream(beside, other, updates), 1e-3,
            )
        )  # fmt: skip

    for way, others, to_eight, of_earlier in (
        ("memory", "unix", 4, 3), ("direct", "tcp", None, 2), ("unix", None, 3, 1.3)
    ):  # fmt: skip
        if others:
            add(way, "through rtiexec", None, bench, others)
        add(way, "to one", to_eight, bench, way, 8)
        if earlier:
            add(way, f"rtiexec of {earlier.name}", of_earlier, earlier, others or way)
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
