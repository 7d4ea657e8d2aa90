"""A test: one configuration over one topology."""

import json
from dataclasses import asdict
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from ...fields import Faults, Loc, Seconds
from ...times import discipline
from ...tsf.sequences import Place, Sequence, Spec, spec_of
from .configurations import COUNT, configuration

Natural = Annotated[int, Field(ge=0)]


class Test(Place):
    """One test after expansion. `configuration` stands for entities, rate, payload, transport."""

    topology: str = ""
    configuration: Annotated[int, Field(ge=0, lt=COUNT)] | None = None
    entities: Annotated[int, Field(ge=1, le=65536)] = 1
    rate: Annotated[float, Field(gt=0, le=1e5)] = 10.0
    payload: Annotated[int, Field(ge=1, le=1 << 30)] = 128
    transport: Literal["reliable", "best_effort"] = "reliable"
    seconds: Seconds = 1.0
    updates: Natural = 0  # of each entity, whatever the seconds: 1 is a test of connectivity
    samples: Annotated[int, Field(ge=1, le=4000)] = 1
    spread: bool = True  # the entities' updates over the period; else all at once
    lag_s: Annotated[float, Field(ge=0, le=60)] = 0.0  # subscribers look only so often
    conflate: bool = False  # what a subscriber has not read is overwritten
    real_time: bool = False
    # Of the hosts: one, compared by echoes, or what their daemons say, asked by a command.
    clock: Literal["same", "estimate", "daemon"] = "same"
    daemon: Annotated[str, Field(min_length=1)] = discipline.ASKED

    def argument(self, number: int) -> str:
        """The test as the federate's --test wants it."""
        f = settled(self.model_dump())
        same = ("entities", "rate", "payload", "seconds", "updates", "samples", "spread", "lag_s",
                "conflate")  # fmt: skip
        # Without a word of the sequence's, the RTI bundles.
        more = {"number": number, "reliable": f["transport"] == "reliable",
                "bundling": self.bundling is not False,
                "echo": self.clock == "estimate"}  # fmt: skip
        return json.dumps({key: f[key] for key in same} | more)


def settled(test: dict) -> dict:
    """A test's fields, those of its configuration in place."""
    if test["configuration"] is None:
        return test
    one = asdict(configuration(test["configuration"]))
    return test | {key: value for key, value in one.items() if key != "number"}


TestSpec = spec_of(Test)


def seconds(test: Spec) -> float:
    """About how long one of the tests takes that `test` stands for, on average."""
    f = test.lists()
    sending = [n / rate if n else s for n in f["updates"] for rate in f["rate"]
               for s in f["seconds"]]  # fmt: skip
    # What is around a sample, roughly; a subscriber that lags hears each of three calls late.
    return fmean(f["samples"]) * (0.5 + 3 * fmean(f["lag_s"]) + fmean(sending))


def faults(at: Loc, test: Spec, sequence: Sequence) -> Faults:
    """What is wrong between a test's fields."""
    yield from discipline.faults(at, test, sequence)
    fields = test.lists()
    own = {"entities", "rate", "payload", "transport"} & test.model_fields_set
    if own and fields["configuration"] != [None]:
        field = min(own)
        what = f"a configuration has its own {field}"
        yield (*at, field), what, "remove it, or 'configuration'"
    if (lag := max(fields["lag_s"])) > sequence.data_timeout_s / 3:  # it answers only when it looks
        what = f"lag_s ({lag:g}) is over a third of data_timeout_s ({sequence.data_timeout_s:g})"
        yield (*at, "lag_s"), what, "lag less, or make data_timeout_s longer"
    every = [settled(one.model_dump()) for one in test.expand()]
    if max(f["updates"] * f["entities"] for f in every) > 1e9:
        yield (*at, "updates"), "these are too many updates", "take fewer"
    if max(f["entities"] * f["rate"] * f["seconds"] for f in every) >= 1e9:  # as the federate wants
        yield (*at, "seconds"), "these are too many updates", "take fewer entities, Hz or seconds"


def classes(sequence: Sequence) -> list[str]:
    """The classes of the FOM that a sequence's tests use."""
    needed = dict.fromkeys(["PBOMcall", "PBOManswer"])
    for spec in (spec for e in sequence.execution for spec in e.test):
        for test in spec.expand():
            latest = "Latest" if test.conflate else ""
            reliable = settled(test.model_dump())["transport"] == "reliable"
            needed[("PBOMreliable" if reliable else "PBOMbestEffort") + latest] = None
    return list(needed)
