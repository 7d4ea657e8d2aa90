"""One-way times of messages between federates, from their logs: on one clock, or on two that echoes
compare; and what an echo of the same size takes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..kept.damage import damaged
from . import clocks, discipline, samples


@dataclass(frozen=True)
class Flow:
    """What came of one sender, in order of sending."""

    count: np.ndarray
    ms: np.ndarray
    seconds: np.ndarray  # when it was sent, since the first, by the receiver's clock
    bound_ms: float  # by how much the clocks may be wrong; 0: there is one clock


def flow(directory: Path, test: int, sender: str, receiver: str, clock: str) -> Flow:
    """Of two federates of a test. Their hosts have the `same` clock, or others: compared by echoes
    (`estimate`) or by what disciplines them (`daemon`). clocks.NoEstimate where they can't be, or
    where one was set meanwhile."""
    facts = [samples.facts(directory, test, name) for name in (sender, receiver)]
    station = facts[0]["station"]
    found = samples.heard(directory, test, receiver, station)
    order = np.argsort(found["count"], kind="stable")
    count, arrived, delivery = (found[n][order] for n in ("count", "arrived_ns", "delivery_ns"))
    if clock == "same" and len(delivery) and delivery.min() < 0:
        what = f"a message came {-delivery.min() / 1e6:.3g} ms before it was sent"
        raise damaged(what, samples.file(directory, "samples", test, receiver, "parquet"))
    took, bound_ns = delivery, 0.0
    clocks.require_unset(zip((sender, receiver), facts, strict=True))
    if clock == "daemon" and len(arrived):
        took, bound_ns = discipline.between(*facts).ways_ns(arrived, delivery)
    elif clock == "estimate" and len(arrived):
        mine = samples.pings(directory, test, receiver)
        mine = mine[mine["to"] == station]
        # The sender's clock less the receiver's, whose pings have both.
        offset = clocks.estimate(mine["sent"], mine["there"], mine["back"], mine["came"])
        took, bound_ns = offset.ways_ns(arrived, delivery)
    if len(took) and took.min() < -bound_ns:
        raise clocks.NoEstimate(clocks.early(-took.min() / 1e6, bound_ns / 1e6))
    sent = arrived - took
    seconds = (sent - sent[0]) / 1e9 if len(sent) else sent.astype(float)
    return Flow(count, took / 1e6, seconds, bound_ns / 1e6)


def ping_ms(directory: Path, test: int, sender: str, receiver: str) -> float | None:
    """The shortest echo of the sender's size, one way: half of there and back, less what the
    partner took. None where nobody was pinged."""
    mine = samples.pings(directory, test, sender)
    mine = mine[mine["to"] == samples.facts(directory, test, receiver)["station"]]
    if not len(mine):
        return None
    # Whole numbers: a time since 1970 leaves a float no digit below 256 ns.
    sent, there, back, came = (mine[n].astype("i8") for n in ("sent", "there", "back", "came"))
    trips = (came - sent) - (back - there)
    if trips.min() < 0:
        what = f"an echo came {-trips.min() / 1e6:.3g} ms before it was sent"
        raise damaged(what, samples.file(directory, "pings", test, sender, "raw"))
    return float(trips.min() / 2 / 1e6)
