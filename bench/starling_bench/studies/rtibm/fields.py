"""A test of RTIBM: its fields, alone and as written, and what is wrong between them."""

import itertools
import json
import math
from collections.abc import Iterator
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from ...fields import Faults, Loc, Positive, Seconds
from ...plan import Place, Sequence, Spec, spec_of
from ...rates import TRIPS_MIN_S
from ...topology import class_faults

CLASSES_PER_TRANSPORT = 16
Kind = Literal["OWOT", "OWIT", "RTOL", "RTIL"]
Transport = Literal["reliable", "best_effort"]
TransportBy = Literal["class", "service"]
Tick = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0)]


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


def together(fields: dict, limited: bool = False) -> int:
    """How many updates a sender queues at most until it flushes, by the fields of a test; with
    `limited` also by how many may be under way."""
    size = fields["buffers"] * fields["buffer_bytes"]
    by_bytes = -(-fields["queued_bytes_max"] // size)
    items = fields["types"] * fields["instances"]
    most = min(items, by_bytes, fields["queued_updates_max"])
    under_way = fields["outstanding_max"] if limited and fields["kind"].startswith("RT") else 0
    return min(most, under_way) if under_way else most


# What a round trip, a message one way, a flush of such and what is around a sample take, roughly:
# on an idle machine with two CPUs, an RTI with a server. Loop V2 sleeps at both ends of a trip, for
# somewhat longer than it asks for; loop V1 waits for the rest of a tick there, at its sender's on
# the average for half of one.
_TRIP_S, _SLEEP_S, _MESSAGE_S, _FLUSH_S, _SAMPLE_S = 4e-5, 5e-5, 2.5e-7, 2.5e-6, 0.06
_TICKS = 1.5


def _flushes(fields: dict[str, list]) -> float:
    """How many an update takes, on average: one for each round of items, or for what is queued."""
    items = fmean(1 / n for n in fields["types"]) * fmean(1 / n for n in fields["instances"])
    size = fmean(fields["buffers"]) * fmean(fields["buffer_bytes"])
    by_bytes = fmean(min(1.0, size / n) for n in fields["queued_bytes_max"])
    return max(items, by_bytes, fmean(1 / n for n in fields["queued_updates_max"]))


def seconds(test: Spec) -> float:
    """About how long one of the tests takes that `test` stands for, on average."""
    fields = test.lists()
    mean = {k: fmean(fields[k]) for k in ("updates", "warm_up", "samples")}
    tick_min_s, tick_max_s = fmean(fields["tick_min_s"]), fmean(fields["tick_max_s"])
    # How long a loop waits in a round trip, and behind a flush in which nothing comes.
    waits = {1: (_TICKS * tick_min_s, tick_min_s / 2), 2: (1.5 * _SLEEP_S, _SLEEP_S)}
    flushes, each = _flushes(fields), []
    for kind, loop, outstanding in itertools.product(
        fields["kind"], fields["loop_version"], fields["outstanding_max"]
    ):
        within, silent = waits.get(loop, (0.0, tick_max_s))
        if not kind.startswith("RT"):
            each.append(_MESSAGE_S + _FLUSH_S * flushes)
        elif outstanding == 0:
            each.append(2 * _MESSAGE_S + (_TRIP_S + within + silent) * flushes)
        else:
            each.append(_TRIP_S + within)
    return mean["samples"] * (_SAMPLE_S + (mean["updates"] + mean["warm_up"]) * fmean(each))


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


# At a million a second, which the fastest come near, they last as long as rates.SPAN_MIN_S; of
# several in a flush the fastest take up to so many times as many.
_UPDATES_MIN, _TOGETHER_MAX = 10_000, 20
# The shortest round trip that there is: by shared memory, who waits turning circles.
_TRIP_MIN_S = 1.4e-6


def values(test: Spec) -> Iterator[tuple[str, int]]:
    """The most bytes of values in a message."""
    fields = test.lists()
    most = max(fields["buffers"]) * max(fields["buffer_bytes"])
    yield ("buffer_bytes" if "buffer_bytes" in test.model_fields_set else "buffers"), most


def cautions(test: Spec) -> Iterator[tuple[str, str, str]]:
    """What will run, but say little."""
    fields = test.lists()
    kinds = set(fields["kind"])
    most = {k: max(fields[k]) for k in ("types", "instances", "queued_bytes_max",
                                        "queued_updates_max")}  # fmt: skip
    most |= {k: min(fields[k]) for k in ("buffers", "buffer_bytes")}
    few = min(fields["updates"])
    if kinds & {"OWOT", "OWIT"}:
        needed = _UPDATES_MIN * min(together(most), _TOGETHER_MAX)
        if few < needed:
            what = f"{few:,} updates one way may be over too soon to tell a rate"
            yield "updates", what, f"take {needed:,} or more"
    if kinds & {"RTOL", "RTIL"}:
        limits = set(fields["outstanding_max"])
        silent_s = min(fields["tick_max_s"]) / together(most) if limits == {0} else 0.0
        shortest_s = _SLEEP_S if set(fields["loop_version"]) == {2} else _TRIP_MIN_S
        needed = math.ceil(TRIPS_MIN_S / max(silent_s, shortest_s))
        if few < needed:
            what = f"{few:,} round trips may be over too soon to tell how long they are"
            yield "updates", what, f"take {needed:,} or more"
        if "best_effort" in fields["transport"] and max(limits) > 1:
            what = "while some are lost fewer round trips of best effort are under way: a lost one "
            what += "keeps its place until all that are under way are lost"
            yield "outstanding_max", what, "take 1, or none; or read losses beside round trips"
        most["outstanding_max"] = 0 if 0 in limits else max(limits)
    for field in ("queued_bytes_max", "queued_updates_max"):
        for kind in fields["kind"]:
            at = [together(most | {"kind": kind, field: v}, True) for v in sorted(fields[field])]
            if same := next((n for n, m in itertools.pairwise(at) if n == m), 0):
                what = f"several of {field} are one: {kind} has at most {same:,} updates queued"
                yield field, what, "take smaller ones, more items, or set outstanding_max = 0"
                break


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
