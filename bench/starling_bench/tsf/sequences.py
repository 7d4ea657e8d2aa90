"""The tables of a test sequence file, as models.

A file holds one or more sequences; a sequence holds federates, pairs and one or more federation
executions; an execution holds tests, whose fields are the study's. A field of a test may be a list:
every combination runs. RTIs are defined once ([[rti]]), a sequence names one or several: it then
runs on each.
"""

import itertools
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_type_hints

from pydantic import Field, PrivateAttr, create_model

from ..fields import Name, Placed, Positive, Seconds, Strict
from ..machines.network import Host, Hosts, Layout
from ..machines.rti import NamedRti, Rti
from ..machines.topology import Cpus, Federate, Pair
from ..study import Study


class Place(Strict):
    """The fields of every study's tests that say where and on what a test runs: those of its
    sequence where they are not given. What differs here runs in federation executions apart, but
    for the number of pairs."""

    rti: Name | None = None
    bundling: bool | None = None
    hosts: Name | None = None  # a layout of the sequence's
    pairs: Positive | None = None  # so many of the sequence's, the first; all
    # Switches of the RTI's own (Adapter.switches); as its table says.
    path: Name | None = None  # by which data get from one federate to another
    link: Name | None = None  # what joins federates and the RTI's server
    best_effort_by: Name | None = None
    io_mode: Name | None = None
    preset: Name | None = None
    mom: bool | None = None  # its services: is it there
    time: bool | None = None
    ddm: bool | None = None
    rates: bool | None = None


# The fields of a place that make executions apart; and those that are switches.
PLACES = frozenset(Place.model_fields) - {"pairs"}
SWITCHES = tuple(Place.model_fields)[list(Place.model_fields).index("pairs") + 1 :]


class Spec(Placed):
    """A test as written: a field may be a list of values."""

    single: ClassVar[type[Strict]]  # a test after expansion

    @property
    def at(self) -> str:
        """File and line of its table; "" if it is not from a file."""
        return self.place("")

    def lists(self) -> dict[str, list]:
        """The values of every field."""
        return {k: v if isinstance(v, list) else [v] for k, v in self}

    def count(self) -> int:
        """How many tests it stands for."""
        return math.prod(len(values) for values in self.lists().values())

    def multiply(self, field: str, scale: float) -> None:
        """So many times as much of a field; of whole numbers at least 1."""
        scaled = [max(1, round(value * scale)) if isinstance(value, int) else value * scale
                  for value in self.lists()[field]]  # fmt: skip
        setattr(self, field, scaled if isinstance(getattr(self, field), list) else scaled[0])

    def expand(self) -> Iterator[Any]:
        """Every combination, the last field changing fastest."""
        fields = self.lists()
        for values in itertools.product(*fields.values()):
            yield self.single(**dict(zip(fields, values, strict=True)))


def spec_of(single: type[Strict], *values: str) -> type[Spec]:
    """How a test is written: each field but `values` may be a list."""
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(single, include_extras=True).items():
        if name not in single.model_fields:
            continue
        field = single.model_fields[name]
        default = ... if field.is_required() else field.default
        fields[name] = (hint if name in values else hint | list[hint], default)
    doc = "A test as written: a field may be a list of values."
    made = create_model("TestSpec", __base__=Spec, __doc__=doc, **fields)
    made.single = single
    return made


Tests = TypeVar("Tests", bound=Spec)


class Execution(Strict, Generic[Tests]):
    """One federation execution and its tests, in order."""

    name: Name
    federation: str | None = None  # the federation execution's name; else made of both names
    test: Annotated[list[Tests], Field(min_length=1)]
    _round_of: str = PrivateAttr("")  # as it is named in the file, of which it is a round

    def tests(self) -> list[Any]:
        return [test for spec in self.test for test in spec.expand()]

    @property
    def round_of(self) -> str:
        """The name that it shares with the other rounds of the same; "": it is the only one."""
        return self._round_of

    def named(self, name: str, round_of: str, **update: object) -> "Execution":
        """The same under another name."""
        one = self.model_copy(update={"name": name, **update})
        one._round_of = round_of
        return one


class Sequence(Placed, Generic[Tests]):
    """One test sequence."""

    name: Name
    rti: Rti | Name | list[Name] = Rti()
    # Several RTIs in turn, so often and to and fro: what drifts meets all of them.
    rounds: Annotated[int, Field(ge=1, le=1000)] = 1
    # Its executions are blocks in time: all RTIs (and hosts, switches ...) run each, in an order
    # that this draws, before the next begins.
    blocks_seed: Annotated[int, Field(ge=0, le=(1 << 63) - 1)] | None = None
    rtiexec_host: str = "localhost"
    cpus: Cpus | None = None  # that its processes may use; all
    bundling: bool = True
    fom: str
    command: list[str] = Field(default=[])  # empty: the study's program
    directory: str | None = None
    join_timeout_s: Seconds = 30.0
    data_timeout_s: Seconds = 10.0
    loss_timeout_s: Seconds = 1.0
    master: Name
    layout: list[Layout] = Field(default=[])
    federate: Annotated[list[Federate], Field(min_length=2)]
    pair: Annotated[list[Pair], Field(min_length=1)]
    execution: Annotated[list[Execution[Tests]], Field(min_length=1)]
    _of: str = PrivateAttr("")

    @property
    def sequence_of(self) -> str:
        """Its name in the file, which it shares with those of the same table at other places."""
        return self._of or self.name

    @property
    def rtis(self) -> list[Rti | str]:
        """The names of its RTIs, or its own table."""
        return self.rti if isinstance(self.rti, list) else [self.rti]

    def elsewhere(self, name: str, **update: object) -> "Sequence":
        """The same table of the file at another place, under another name."""
        one = self.model_copy(update={"name": name, **update})
        one._of = self.name
        return one

    def taken(self, spec: Spec) -> list[Pair]:
        """The pairs that take part in some of the tests that `spec` stands for."""
        return self.pair[: max(n or len(self.pair) for n in spec.lists()["pairs"])]


class File(Strict, Generic[Tests]):
    """A test sequence file."""

    include: list[str] = Field(default=[])
    # So many times as large are all tests, also those of files that are included.
    scale: Annotated[float, Field(ge=0.001, le=1000)] = 1.0
    rti: list[NamedRti] = Field(default=[])
    host: list[Host] = Field(default=[])
    hosts: Hosts = Hosts()
    sequence: Annotated[list[Sequence[Tests]], Field(min_length=1)]
    _texts: dict[Path, str] = PrivateAttr({})

    @property
    def text(self) -> str:
        """What the file says, and what those say that it includes, each behind its path."""
        (own, first), *others = self._texts.items()
        names = (os.path.relpath(path, own.parent) for path, _ in others)
        pairs = zip(names, others, strict=True)
        return first + "".join(f"\n# {name}\n{text}" for name, (_, text) in pairs)

    def with_included(self, path: Path, text: str, included: "list[File]") -> "File":
        """Its tables, as `text` at `path` has them, and those of files that it includes; what two
        of them have is there once."""
        every = [self, *included]
        whole = File.model_construct(
            rti=_once([rti for file in every for rti in file.rti]),
            host=_once([host for file in every for host in file.host]),
            hosts=Hosts(quiet=_once([name for file in every for name in file.hosts.quiet])),
            sequence=[sequence for file in every for sequence in file.sequence],
        )
        whole._texts = {path: text}
        for file in included:
            whole._texts |= file._texts
        return whole


def _once(tables: list) -> list:
    found: dict[object, Any] = {}
    for table in tables:
        key = table
        if isinstance(table, Strict):
            places = table.places if isinstance(table, Placed) else {}
            key = type(table), table.model_dump_json(), tuple(places.items())
        found.setdefault(key, table)
    return list(found.values())


class Included(File[Tests], Generic[Tests]):
    """A file that includes others, or is included: it needs no sequence of its own."""

    sequence: list[Sequence[Tests]] = Field(default=[])


def schema(study: Study) -> str:
    """The JSON schema of a study's test sequence file."""
    made = File[study.spec].model_json_schema() | {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    }
    # The tables' names are the same in every study's schema.
    return json.dumps(made, indent=1).replace(f"_{study.spec.__name__}_", "") + "\n"
