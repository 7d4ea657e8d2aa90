"""A test of the study: what an update has, and how often it is sent."""

import json
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from ...fields import Faults, Loc, Positive
from ...tsf.sequences import Place, Spec, spec_of

Layout = Literal["multiple", "fixed", "variable", "variant", "standard", "own", "combined"]
MODES = ("static", "FPW", "RPW", "RVW", "FVW", "FPB", "RPB", "RVB", "FVB")
# One attribute each. Of the series of parts the variable length makes what the fixed form makes.
COMBINED = ("fixed", "variable", "variant", "standard")
_TOLD = {"kind", "transport", "repetitions", "warm_up", "samples", "gap_ms", "seed"}


class Test(Place):
    """One test after expansion."""

    kind: Literal["object", "interaction"] = "object"
    transport: Literal["reliable", "best_effort", "both_transportations"] = "best_effort"
    series: Literal["attributes", "modes", "own"] = "attributes"
    layout: Layout = "multiple"
    attributes: Positive = 1  # so many parts, in the source's order
    mode: str = "static"  # of series "own" an enumerator, or nothing
    values: str = ""  # of series "own": file of what they update
    repetitions: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    warm_up: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    samples: Annotated[int, Field(ge=1, le=10_000)] = 5
    gap_ms: Annotated[float, Field(ge=0, le=60_000)] = 1.0
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    rate_hz: Annotated[float, Field(ge=0)] = 0.0  # at which its reader wants to send

    def argument(self, number: int) -> str:
        """The test as the federates want it."""
        told = self.model_dump(include=_TOLD) | {"number": number}
        if self.series == "own":
            key = f"{self.layout}/{self.transport}/{self.attributes}/{self.mode}"
            return json.dumps(told | {"key": key})
        content = self.attributes if self.series == "attributes" else 0  # 0: what the mode needs
        mode = MODES.index(self.mode) + 1
        return json.dumps(told | {"layout": self.layout, "content": content, "mode": mode})


TestSpec = spec_of(Test, "values", "seed", "rate_hz")


# What an update takes beside its gap, and what is around a sample, roughly.
_UPDATE_S, _SAMPLE_S = 2e-5, 0.2


def seconds(test: Spec) -> float:
    """About how long one of the tests takes that `test` stands for, on average."""
    f = test.lists()
    updates = fmean(f["repetitions"]) + fmean(f["warm_up"])
    return fmean(f["samples"]) * (_SAMPLE_S + updates * (_UPDATE_S + fmean(f["gap_ms"]) * 1e-3))


def faults(at: Loc, test: Spec) -> Faults:
    """What is wrong between a test's fields."""
    fields = test.lists()
    if "own" in fields["series"]:
        if not Path(test.values).is_file():
            yield (*at, "values"), "there is no such file", "starling-bench fomcost --fom makes it"
        return
    for layout in {"own", "combined"} & set(fields["layout"]):
        yield (*at, "layout"), f"'{layout}' is of the series \"own\" only", "take another"
    if "both_transportations" in fields["transport"]:
        yield (*at, "transport"), 'both are of the series "own" only', "take one of them"
    for mode in set(fields["mode"]) - set(MODES):
        yield (*at, "mode"), f"there is no mode '{mode}'", f"known: {', '.join(MODES)}"
    most = 5 if set(fields["layout"]) & set(COMBINED) else 7
    if max(fields["attributes"]) > most:
        yield (*at, "attributes"), f"there are {most} parts", f"take at most {most}"


def classes(spec: Spec) -> list[str]:
    """Of the study's FOM, those that a test needs."""
    lists = spec.lists()
    trees = ["BestEffort" if by == "best_effort" else "Reliable" for by in lists["transport"]]
    return [f"FomCost{t}.{x.capitalize()}" for t in trees for x in lists["layout"] if x != "own"]
