"""A test of RTIBM: its fields, alone and as written, and what is wrong between them."""

import itertools
import json
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ...fields import MANY, Faults, Loc, Positive, Seconds
from ...machines.topology import class_faults
from ...statistics import stats
from ...tsf.sequences import Place, Sequence, Spec, spec_of

CLASSES_PER_TRANSPORT = 16
Kind = Literal["OWOT", "OWIT", "RTOL", "RTIL"]
Transport = Literal["reliable", "best_effort"]
TransportBy = Literal["class", "service"]
Tick = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0, le=MANY)]


# What bmfed and rows call them, where they have another name.
NAMES = {
    "loop_version": "loop", "buffer_bytes": "bytes", "tick_min_s": "tick_min",
    "tick_max_s": "tick_max",
}  # fmt: skip


class Test(Place):
    """One test after expansion."""

    kind: Kind
    transport: Transport = "reliable"
    transport_by: TransportBy = "class"
    loop_version: Annotated[int, Field(ge=1, le=4)] = 1
    types: Annotated[int, Field(ge=1, le=2 * CLASSES_PER_TRANSPORT)] = 1
    instances: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    buffers: Annotated[int, Field(ge=1, le=32)] = 1
    buffer_bytes: Annotated[int, Field(ge=8, le=1 << 30)] = 8
    updates: Positive = 1000
    warm_up: Natural = 0
    samples: Annotated[int, Field(ge=1, le=10_000)] = 5
    queued_bytes_max: Positive = 65536
    queued_updates_max: Positive = 1000
    outstanding_max: Natural = 0
    tick_min_s: Tick = 0.001
    tick_max_s: Tick = 0.01
    mode_tolerance_ms: Seconds = 0.005

    def argument(self, number: int) -> str:
        """The test as bmfed's --test wants it."""
        kept = self.model_dump(exclude={*Place.model_fields, "transport_by", "mode_tolerance_ms"})
        fields = {NAMES.get(name, name): value for name, value in kept.items()}
        fields |= {"number": number, "by_service": self.transport_by == "service"}
        return json.dumps(fields | ({"pairs_max": self.pairs} if self.pairs else {}))


TestSpec = spec_of(Test, "mode_tolerance_ms")


# What bmfed holds: values of every item that a federate sends or returns with; of a latency test's
# sender round trips that wait to be written, of a sample of up to a million all (a power of two of
# them); the stamps that have come, the latest of them (at most four slots for each).
_TRIPS_MAX, _TRIP_BYTES, _SEEN_MAX, _SEEN_BYTES, _STAMP_BYTES = 1 << 21, 2 * 4, 1 << 20, 4 * 8, 8
_SIZES = ("types", "instances", "buffers", "buffer_bytes", "updates", "outstanding_max")


def memory(sequence: Sequence, spec: Spec, federate: str) -> int:
    """What bmfed takes for the largest of the tests that `spec` stands for."""
    fields = spec.lists()
    most = {k: max(fields[k]) for k in _SIZES}
    values = most["types"] * most["instances"] * most["buffers"] * most["buffer_bytes"]
    latency = any(kind.startswith("RT") for kind in fields["kind"])
    seen = min(most["updates"], _SEEN_MAX) * _SEEN_BYTES
    trips = min(2 * most["updates"] + 2, _TRIPS_MAX) * _TRIP_BYTES
    under_way = min(most["updates"], most["outstanding_max"]) * _STAMP_BYTES
    send, take = values + latency * (trips + seen + under_way), latency * values + seen
    pairs = sequence.taken(spec)
    return sum((p.sender == federate) * send + (p.receiver == federate) * take for p in pairs)


def conducting(sequence: Sequence, spec: Spec) -> int:
    """What the manager takes for figures of all round trips of a test, whose rounds are one."""
    fields = spec.lists()
    if not any(kind.startswith("RT") for kind in fields["kind"]):
        return 0
    return max(fields["updates"]) * max(fields["samples"]) * sequence.rounds * stats.BYTES_EACH


def faults(at: Loc, test: Spec, sequence: Sequence) -> Faults:
    """What is wrong between a test's fields."""
    fields = test.lists()
    low, high = max(fields["tick_min_s"]), min(fields["tick_max_s"])
    if low > high:
        field = "tick_min_s" if "tick_min_s" in test.model_fields_set else "tick_max_s"
        what = f"tick_min_s ({low:g}) is more than tick_max_s ({high:g})"
        yield (*at, field), what, "make tick_max_s the longer one"
    longest, patience = max(fields["tick_max_s"]), sequence.data_timeout_s
    if longest > patience / 3:  # who waits does not say that it lives
        field = (*at, "tick_max_s") if "tick_max_s" in test.model_fields_set else at
        what = f"tick_max_s ({longest:g}) is more than a third of data_timeout_s ({patience:g})"
        yield field, what, "wait for less time, or make data_timeout_s longer"
    pairs, types = sequence.taken(test), max(fields["types"])
    by_class = "class" in fields["transport_by"]
    most = CLASSES_PER_TRANSPORT * (1 if by_class else 2)
    there = f"{most} per transportation" if by_class else str(most)
    if any(pair.classes for pair in pairs):
        yield from class_faults(at, pairs, types, most, there)
    elif (needed := len(pairs) * types) > most:
        yield (
            (*at, "types") if "types" in test.model_fields_set else at,
            f"{len(pairs)} pairs of {types} types need {needed} classes; the FOM has {there}",
            "take fewer pairs or types" + (', or transport_by = "service"' if by_class else ""),
        )


def values(test: Spec) -> Iterator[tuple[str, int]]:
    """The most bytes of values in a message."""
    fields = test.lists()
    most = max(fields["buffers"]) * max(fields["buffer_bytes"])
    yield ("buffer_bytes" if "buffer_bytes" in test.model_fields_set else "buffers"), most


_CONTROL = (
    *(f"masterFederate.{name}" for name in ("testDirective", "testDescription", "endFedex")),
    *(f"subordinateFederate.{name}" for name in ("testState", "testResults")),
)


def classes(sequence: Sequence) -> list[str]:
    """The classes of the FOM that a sequence's tests use."""
    needed = dict.fromkeys(_CONTROL)
    for spec in (spec for e in sequence.execution for spec in e.test):
        lists = spec.lists()
        pairs = sequence.taken(spec)
        given = [n for pair in pairs for n in pair.classes or ()]
        numbers = given or range(1, len(pairs) * max(lists["types"]) + 1)
        for kind in lists["kind"]:
            tree = "Obj" if kind in ("OWOT", "RTOL") else "Int"
            for transport, by in itertools.product(lists["transport"], lists["transport_by"]):
                first = CLASSES_PER_TRANSPORT * (transport == "best_effort" and by == "class")
                ways = (f"send{tree}.S", f"return{tree}.R")[: 1 + kind.startswith("RT")]
                needed |= {f"{way}{first + n}": None for n in numbers for way in ways}
    return list(needed)
