"""Who takes part: federates, and who talks with whom."""

from typing import Annotated

from pydantic import Field

from ..fields import Faults, Loc, Name, Strict, twice
from .hosts import SERVICES

Classes = Annotated[list[Annotated[int, Field(ge=1, le=32)]], Field(min_length=1)]
Cpus = Annotated[list[Annotated[int, Field(ge=0, le=4095)]], Field(min_length=1)]
# What is started beside federates, and has a log beside theirs.
_OTHERS = (*SERVICES, "link")


class Federate(Strict):
    """One federate and where it runs."""

    name: Name
    host: str = "localhost"
    cpus: Cpus | None = None  # that it may use; those of the sequence
    command: list[str] | None = None
    # Functions whose instructions are counted (valgrind); the federate takes 50 times as long.
    count: list[str] = Field(default=[])


class Pair(Strict):
    """Sender and receiver (throughput) or sender and returnee (latency)."""

    sender: Name
    receiver: Name
    # Numbers of the classes that its types use, in turn; none: as they come.
    classes: Classes | None = None


def faults(at: Loc, federates: list[Federate], pairs: list[Pair], master: str) -> Faults:
    """What is wrong between federates, pairs and the master."""
    names = [f.name for f in federates]
    if (i := twice(names)) is not None:
        yield (*at, "federate", i, "name"), f"two federates are named '{names[i]}'", "rename one"
    for i, name in enumerate(names):
        if name in _OTHERS:
            what = f"'{name}' is what the platform calls a process of its own"
            yield (*at, "federate", i, "name"), what, "take another name"
    here = f"the federates are {', '.join(names)}"
    if master not in names:
        yield (*at, "master"), f"there is no federate '{master}'", here
    for p, pair in enumerate(pairs):
        for role in ("sender", "receiver"):
            if getattr(pair, role) not in names:
                what = f"there is no federate '{getattr(pair, role)}'"
                yield (*at, "pair", p, role), what, here
        if pair.sender == pair.receiver:
            what = f"federate '{pair.sender}' sends to itself"
            yield (*at, "pair", p, "receiver"), what, "name another federate"
    if (p := twice(pairs)) is not None:
        pair = pairs[p]
        what = f"the pair of '{pair.sender}' and '{pair.receiver}' is there twice"
        yield (*at, "pair", p), what, "remove one"
    paired = {master} | {n for p in pairs for n in (p.sender, p.receiver)}
    for i, name in enumerate(names):
        if name not in paired:
            what = f"federate '{name}' is in no pair"
            yield (*at, "federate", i), what, "remove it, or add a [[sequence.pair]]"


def class_faults(at: Loc, pairs: list[Pair], types: int, most: int, there: str) -> Faults:
    """What is wrong with the classes that pairs name for tests of so many types; numbers go up to
    `most`, which `there` says in words."""
    given = [pair.classes for pair in pairs if pair.classes]
    used = [number for classes in given for number in classes]
    if len(given) < len(pairs):
        yield at, "some pairs name their classes and some do not", "give all 'classes', or none"
    elif (twin := twice(used)) is not None:
        yield at, f"class {used[twin]} is named twice by the pairs", "name each once"
    elif max(used) > most:
        what = f"a pair names class {max(used)}; the FOM has {there}"
        yield at, what, 'name others, or take transport_by = "service"'
    elif types > (few := min(map(len, given))):
        yield at, f"{types} types, but a pair names {few} classes", "name more classes"
