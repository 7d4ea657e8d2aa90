"""A test of the range test bed: its fields, and what is wrong between them."""

import json
import re
from collections.abc import Iterator
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ...fields import Faults, Loc, Seconds
from ...times import discipline
from ...times.phases import ticks
from ...tsf import tables
from ...tsf.sequences import Place, Sequence, Spec, spec_of

FEDERATES_MAX = 10
HEAD_BYTES, BYTES_MAX = 16, 1 << 24
DRIFT_PPM, DRIFT_PPM_MAX = 1618, 10_000
Bytes = Annotated[int, Field(ge=HEAD_BYTES, le=BYTES_MAX)]
HZ_MAX = 10_000
Hertz = Annotated[float, Field(gt=0, le=HZ_MAX)]
FLOW = "SIZE@HZ, such as 2KB@60 or 64B@0.5, the size in B or KB (1024 B), without spaces"
_FLOW = r"([0-9]{1,9}(?:\.[0-9]+)?)(B|KB)@([0-9]{1,9}(?:\.[0-9]+)?)"


def flow(text: str) -> dict:
    """Its bytes and Hz; ValueError if it is none."""
    size, unit, hz = match.groups() if (match := re.fullmatch(_FLOW, text)) else (0, "B", 0)
    found = {"bytes": round(float(size) * (1024 if unit == "KB" else 1)), "hz": float(hz)}
    if not (HEAD_BYTES <= found["bytes"] <= BYTES_MAX and 0 < found["hz"] <= HZ_MAX):
        what = f"'{text}' is no flow of {HEAD_BYTES} to {BYTES_MAX:,} bytes and up to {HZ_MAX:,} Hz"
        raise ValueError(what, f"give {FLOW}")
    return found


def _flows(text: str) -> str:
    return text if all(map(flow, text.split())) else ""


class Test(Place):
    """One test after expansion: every federate sends at its rate and hears all others."""

    federates: Annotated[int, Field(ge=2, le=FEDERATES_MAX)] = 2
    bytes: Bytes = 1024
    hz: Hertz = 10.0
    # Of each federate, instead: "64B@50 20KB@10".
    flows: Annotated[str, AfterValidator(_flows)] = ""
    transport: Literal["reliable", "best_effort"] = "reliable"
    duration_s: Seconds = 10.0
    budget_ms: Seconds | None = None  # the period of whoever sends
    tick_hz: Annotated[int, Field(ge=1, le=10_000)] = 500
    # Each federate's timer has periods so many millionths longer than the one's before, so that two
    # timers meet at every phase; of this many they are no multiple of any usual update's period.
    drift_ppm: Annotated[int, Field(ge=0, le=DRIFT_PPM_MAX)] = DRIFT_PPM
    threaded: bool = False  # callbacks by a thread of the RTI, not polled
    scheduling: Literal["realtime", "normal"] = "realtime"
    # Of the hosts: one, estimated from echoes, or what their daemons say, asked by a command.
    clock: Literal["same", "estimate", "daemon"] = "same"
    daemon: Annotated[str, Field(min_length=1)] = discipline.ASKED
    ping_hz: Annotated[float, Field(ge=0, le=1000)] = 20.0
    floor_s: Annotated[float, Field(ge=0, le=60)] = 0.5  # how long bare wake-ups are measured
    samples: Literal[1] = 1

    @model_validator(mode="after")
    def _every_pair(self) -> "Test":
        object.__setattr__(self, "pairs", self.federates * (self.federates - 1))
        return self

    def argument(self, number: int) -> str:
        """The test as the interface's --test wants it."""
        other = {"budget_ms", "samples", "clock", "daemon"}
        kept = self.model_dump(exclude={*Place.model_fields, *other})
        given = {k: v for k, v in kept.items() if v is not None}
        given |= {"number": number, "flows": [flow(text) for text in self.flows.split()]}
        return json.dumps(given)


TestSpec = spec_of(Test)


def setting_of(setting: dict, station: int) -> dict[str, Any]:
    """Size, rate and budget of a sender, by its number."""
    flows = setting.get("flows", "").split()
    own = flow(flows[station - 1]) if flows else {k: setting[k] for k in ("bytes", "hz")}
    return own | {"budget_ms": setting.get("budget_ms") or 1000 / own["hz"]}


def fastest(test: dict) -> float:
    """The highest rate of its flows."""
    return max([flow(text)["hz"] for text in test["flows"].split()] or [test["hz"]])


def planned(flows: list[str]) -> dict:
    """The fields of a test of these; ValueError if they are none."""
    if len(flows) > FEDERATES_MAX:
        raise ValueError(f"{len(flows)} flows; {FEDERATES_MAX} are possible", "give fewer")
    test = {"federates": len(flows), "flows": " ".join(flows)}
    least = ticks(500, DRIFT_PPM, len(flows))
    if (most := fastest(test)) > least:
        what = f"{most:g} updates a second; {least:.4g} are possible"
        raise ValueError(what, f"give no more behind the @ of {FLOW}")
    return test


def complete(data: dict) -> None:
    """Every federate hears every other: pairs in the order in which federates come."""
    for sequence in tables.those(data, "sequence"):
        if "pair" in sequence:
            continue
        names = [f.get("name") for f in tables.those(sequence, "federate")]
        sequence["pair"] = [
            {"sender": one, "receiver": other}
            for later, name in enumerate(names)
            for earlier in names[:later]
            for one, other in ((earlier, name), (name, earlier))
        ]
        if names and "master" not in sequence:
            sequence["master"] = names[0]


# What is around a test: who is there, declarations, the log's end.
_AROUND_S = 1.0


def seconds(test: Spec) -> float:
    """How long one of the tests takes that `test` stands for, on average."""
    fields = test.lists()
    return fmean(fields["duration_s"]) + fmean(fields["floor_s"]) + _AROUND_S


def faults(at: Loc, test: Spec, sequence: Sequence) -> Faults:
    """What is wrong between a test's fields."""
    fields = test.lists()
    if "pairs" in test.model_fields_set:
        yield (*at, "pairs"), "every federate hears every other", "give 'federates' instead"
    yield from discipline.faults(at, test, sequence)
    there = len(sequence.federate)
    if (most := max(fields["federates"])) > there:
        what = f"a test of {most} federates, and the sequence has {there}"
        yield (*at, "federates"), what, "add a [[sequence.federate]], or take fewer"
    slowest = ticks(min(fields["tick_hz"]), max(fields["drift_ppm"]), most)
    for each in fields["flows"]:
        own = [flow(text) for text in each.split()]
        if own and len(own) < most:
            what = f"{len(own)} flows for {most} federates"
            yield (*at, "flows"), what, "give one for each, or take fewer federates"
        rates = [f["hz"] for f in own] or fields["hz"]
        if slowest < max(rates):
            what = f"{max(rates):g} updates a second, and the timer has {slowest:.5g} turns"
            yield (*at, "tick_hz"), what, "raise tick_hz, or lower the rate or drift_ppm"
        if min(rates) * min(fields["duration_s"]) < 1:
            yield (*at, "duration_s"), "no update falls into the test", "make it longer"


def values(test: Spec) -> Iterator[tuple[str, int]]:
    """The most bytes of values in a message."""
    for each in test.lists()["flows"]:
        if own := [flow(text)["bytes"] for text in each.split()]:
            yield "flows", max(own)
        else:
            yield "bytes", max(test.lists()["bytes"])


def classes(sequence: Sequence) -> list[str]:
    """The classes of the FOM that a sequence's tests use."""
    used = {t for e in sequence.execution for s in e.test for t in s.lists()["transport"]}
    kinds = {"reliable": "Record", "best_effort": "RecordBestEffort"}
    return ["Word", *(kinds[kind] for kind in sorted(used))]
