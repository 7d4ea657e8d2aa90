"""The plan of a run: a test sequence file (TOML), read into checked models.

A file holds one or more sequences; a sequence holds federates, pairs and one or more federation
executions; an execution holds tests, whose fields are the study's. A field of a test may be a list:
every combination runs. RTIs are defined once ([[rti]]), a sequence names one or several: it then
runs on each.
"""

import difflib
import itertools
import json
import math
import os
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_type_hints

from pydantic import Field, PrivateAttr, ValidationError, create_model

from . import network, topology
from .errors import USAGE, BenchError
from .fields import Fault, Faults, Loc, Name, Placed, Positive, Seconds, Strict, twice
from .identity import CLAIM
from .network import Host, Hosts, Layout
from .rti import ADAPTERS, NamedRti, Rti, adapter_for
from .study import Study
from .topology import Cpus, Federate, Pair


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
        """So many times as much of a field, in whole numbers; at least 1."""
        scaled = [max(1, round(value * scale)) for value in self.lists()[field]]
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


class _Included(File[Tests], Generic[Tests]):
    sequence: list[Sequence[Tests]] = Field(default=[])


# ---- faults between fields

TESTS_MAX, HOURS_MAX = 10_000, 24
# What starting and ending the processes of an execution takes, roughly.
EXECUTION_S = 2.0


def seconds(study: Study, execution: Execution) -> float:
    """About how long its tests take."""
    return sum(spec.count() * study.seconds(spec) for spec in execution.test)


def span(seconds: float) -> str:
    """A time in words."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _faults(file: File, study: Study) -> Faults:
    named = {"rti": ("RTIs", file.rti), "host": ("hosts", file.host)}
    for table, (what, tables) in (named | {"sequence": ("sequences", file.sequence)}).items():
        i = twice([t.name for t in tables])
        if i is not None:
            yield (table, i, "name"), f"two {what} are named '{tables[i].name}'", "rename one"
    yield from network.faults(file.host)
    for i, rti in enumerate(file.rti):
        yield from _rti_faults(("rti", i), rti)
    for i, sequence in enumerate(file.sequence):
        rtis = {r.name: r for r in file.rti}
        yield from _sequence_faults(("sequence", i), sequence, rtis, study)
        yield from _host_faults(("sequence", i), sequence, file.host, study)


def _too_many(file: File, study: Study, scale: float) -> Fault | None:
    """More tests than anybody wants by mistake, or a longer run; found without making any."""
    counts: dict[Loc, int] = {}
    hours: dict[Loc, float] = {}
    for i, sequence in enumerate(file.sequence):
        for e, execution in enumerate(sequence.execution):
            for t, test in enumerate(execution.test):
                loc = ("sequence", i, "execution", e, "test", t)
                counts[loc] = test.count() * _rtis(sequence)
                times = counts[loc] * sequence.rounds * scale
                hours[loc] = times * study.seconds(test) / 3600
    if (count := sum(counts.values())) > TESTS_MAX:
        what = f"{count:,} tests, more than {TESTS_MAX:,}"
        return max(counts, key=lambda loc: counts[loc]), what, "shorten lists, or give --long"
    if (whole := sum(hours.values())) > HOURS_MAX:
        what = f"it would take about {whole:,.0f} hours, more than {HOURS_MAX}"
        return max(hours, key=lambda loc: hours[loc]), what, "take fewer updates, or give --long"
    return None


def _rtis(sequence: Sequence) -> int:
    return len(sequence.rti) if isinstance(sequence.rti, list) else 1


def _rti_faults(at: Loc, rti: Rti) -> Faults:
    if rti.adapter not in ADAPTERS:
        near = difflib.get_close_matches(rti.adapter, ADAPTERS, n=1, cutoff=0.4)
        do = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(ADAPTERS)}"
        yield (*at, "adapter"), f"there is no adapter '{rti.adapter}'", do
        return
    for field in ADAPTERS[rti.adapter].unused:
        if getattr(rti, field):
            yield (*at, field), f"adapter '{rti.adapter}' has no use for '{field}'", "remove it"
    if rti.server and not rti.server_ready and rti.server_port is None:
        yield (
            (*at, "server"),
            "how to see that the server is ready is not said",
            "add server_ready (what it says) or server_port (where it listens)",
        )


def _sequence_faults(
    at: Loc, sequence: Sequence, rtis: dict[str, NamedRti], study: Study
) -> Faults:
    known = list(rtis)
    if isinstance(sequence.rti, Rti):
        yield from _rti_faults((*at, "rti"), sequence.rti)
    else:
        named = sequence.rti if isinstance(sequence.rti, list) else [sequence.rti]
        if not named:
            yield (*at, "rti"), "the list is empty", "name an RTI"
        for n, name in enumerate(named):
            where = (*at, "rti", n) if isinstance(sequence.rti, list) else (*at, "rti")
            if name not in known:
                yield where, f"there is no RTI '{name}'", _near(name, known)
            elif name in named[:n]:
                yield where, f"RTI '{name}' is named twice", "remove one"
    yield from topology.faults(at, sequence.federate, sequence.pair, sequence.master)
    executions = [e.name for e in sequence.execution]
    if (i := twice(executions)) is not None:
        what = f"two executions are named '{executions[i]}'"
        yield (*at, "execution", i, "name"), what, "rename one"
    for e, execution in enumerate(sequence.execution):
        for t, test in enumerate(execution.test):
            where = (*at, "execution", e, "test", t)
            yield from _test_faults(where, test, sequence, rtis, study)


def _host_faults(at: Loc, sequence: Sequence, hosts: list[Host], study: Study) -> Faults:
    """What is wrong with where federates run, as they say and in each layout."""
    federates = [f.name for f in sequence.federate]
    for i, federate in enumerate(sequence.federate):
        yield from network.unknown((*at, "federate", i, "host"), federate.host, hosts)
    if (twin := twice([layout.name for layout in sequence.layout])) is not None:
        what = f"two layouts are named '{sequence.layout[twin].name}'"
        yield (*at, "layout", twin, "name"), what, "rename one"
    for n, layout in enumerate(sequence.layout):
        where = (*at, "layout", n, "hosts")
        for federate, host in layout.hosts.items():
            if federate not in federates:
                what = f"there is no federate '{federate}'"
                yield where, what, f"the federates are {', '.join(federates)}"
            yield from network.unknown(where, host, hosts)
    layouts = {layout.name: layout for layout in sequence.layout}
    for e, execution in enumerate(sequence.execution):
        for t, test in enumerate(execution.test):
            for name in test.lists()["hosts"]:
                if name is not None and name not in layouts:
                    what = f"there is no layout '{name}'"
                    do = "define it with [[sequence.layout]]"
                    yield (*at, "execution", e, "test", t, "hosts"), what, do
            # Namespaces are of this machine.
            used = [layouts.get(name) for name in test.lists()["hosts"]]
            for there in ([_placed_at(f, one).host for f in sequence.federate] for one in used):
                away = {h.name for h in hosts if h.kind == "ssh" and h.name in there}
                if len(away) > 1 and (why := study.one_machine(test)):
                    what = f"hosts {', '.join(sorted(away))} are machines of their own, and {why}"
                    yield (*at, "execution", e, "test", t), what, "take hosts in namespaces"
    for layout in (None, *sequence.layout):
        there = [_placed_at(f, layout).host for f in sequence.federate]
        alone = [host in network.LOCAL for host in there]
        if any(alone) and not all(alone):
            where = (
                (*at, "layout", sequence.layout.index(layout)) if layout else (*at, "federate", 0)
            )
            what = f"federate '{federates[alone.index(True)]}' is on this host and others are not"
            yield where, what, "give each a [[host]]: only those are joined by a network"
        kinds = {host.name: host.kind for host in hosts if host.name in there}
        if len(set(kinds.values())) > 1:
            where = (
                (*at, "layout", sequence.layout.index(layout)) if layout else (*at, "federate", 0)
            )
            what = "some federates are on hosts of kind 'namespace' and others of kind 'ssh'"
            yield where, what, "take hosts of one kind: no network joins the others"


def _placed_at(federate: Federate, layout: Layout | None) -> Federate:
    """A federate where a layout wants it."""
    host = layout.hosts.get(federate.name) if layout else None
    return federate.model_copy(update={"host": host}) if host else federate


def _near(name: str, known: list[str]) -> str:
    """What to do about an RTI that nobody defined."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"did you mean '{near[0]}'?" if near else "define it with [[rti]]"


def _carried(
    at: Loc, test: Spec, sequence: Sequence, rtis: dict[str, NamedRti], study: Study
) -> Faults:
    """What the adapters that a test runs on can't carry."""
    for rti in _on(test, sequence, rtis):
        adapter = ADAPTERS.get(rti.adapter)
        if adapter is None:
            continue  # that is told of its table
        title = f"adapter '{rti.adapter}'"
        transports = getattr(test, "transport", None)
        # Of millions of tests those at the beginning: more are not run by mistake.
        looked_at = itertools.islice(() if adapter.reliable else test.expand(), 10_000)
        fields = (study.settled(one.model_dump()) for one in looked_at)
        if any(one.get("transport") == "reliable" for one in fields):
            where = (*at, "transport")
            if isinstance(transports, list):
                where += (transports.index("reliable"),)
            what = f"{title} has no reliable data"
            yield where, what, 'set transport = "best_effort", or take another RTI'
        field, threaded = study.callbacks_by
        values = test.lists().get(field, ())
        if not adapter.callbacks and threaded in values:
            where = (*at, field)
            if isinstance(getattr(test, field), list):
                where += (values.index(threaded),)
            what = f"{title} has no thread for callbacks, which {field} = {threaded} takes"
            yield where, what, "leave that value out, or take an RTI with the C++ API"
        for field, most in study.values(test):
            if adapter.bytes_max is not None and most > adapter.bytes_max:
                what = f"a message has {most:,} bytes; {title} carries {adapter.bytes_max:,}"
                yield (*at, field), what, "make it smaller, or take another RTI"


def _on(test: Spec, sequence: Sequence, rtis: dict[str, NamedRti]) -> list[Rti]:
    """The RTIs that a test runs on, as far as they are known."""
    named = sequence.rti if isinstance(sequence.rti, list) else [sequence.rti]
    on = [name for own in test.lists()["rti"] for name in ([own] if own else named)]
    found = (rtis.get(name) if isinstance(name, str) else name for name in on)
    return [rti for rti in found if rti is not None]


def _switch_faults(
    at: Loc, test: Spec, field: str, sequence: Sequence, rtis: dict[str, NamedRti]
) -> Faults:
    """What is wrong with a switch of the RTIs that a test runs on."""
    named = sequence.rti if isinstance(sequence.rti, list) else [sequence.rti]
    on = [name for own in test.lists()["rti"] for name in ([own] if own else named)]
    values = getattr(test, field)
    for n, value in enumerate(values if isinstance(values, list) else [values]):
        where = (*at, field, n) if isinstance(values, list) else (*at, field)
        for name in on if value is not None else ():
            rti = rtis.get(name) if isinstance(name, str) else name
            if rti is None or rti.adapter not in ADAPTERS:
                continue  # that is told elsewhere
            there = ADAPTERS[rti.adapter].switches
            title = f"RTI '{name}'" if isinstance(name, str) else "its RTI"
            if field not in there:
                do = f"set it in the RTI's 'env', or leave '{field}' out"
                yield where, f"{title} (adapter '{rti.adapter}') has no switch '{field}'", do
            elif value not in there[field]:
                known = ", ".join(str(v).lower() for v in there[field])
                yield where, f"{title} has no {field} '{value}'", f"it has {known}"


def _test_faults(
    at: Loc, test: Spec, sequence: Sequence, rtis: dict[str, NamedRti], study: Study
) -> Faults:
    known = list(rtis)
    for field, value in test:
        values = value if isinstance(value, list) else [value]
        for n, name in enumerate(values if field == "rti" else ()):
            if name is not None and name not in known:
                where = (*at, field, n) if isinstance(value, list) else (*at, field)
                yield where, f"there is no RTI '{name}'", _near(name, known)
        if field in SWITCHES:
            yield from _switch_faults(at, test, field, sequence, rtis)
        if value == []:
            yield (*at, field), "the list is empty", "give a value, or leave the field out"
        elif isinstance(value, list) and (i := twice(value)) is not None:
            yield (*at, field, i), f"{value[i]!r} is in the list twice", "remove one"
    there = len(sequence.pair)
    if (most := max((n for n in test.lists()["pairs"] if n), default=0)) > there:
        what = f"a test of {most} pairs, and the sequence has {there}"
        yield (*at, "pairs"), what, "add a [[sequence.pair]], or take fewer"
    if all(test.lists().values()):
        yield from _carried(at, test, sequence, rtis, study)
        yield from study.faults(at, test, sequence)


# ---- reading


def load(path: Path, study: Study, long: bool = False, scale: float = 1) -> File:
    """Reads a study's TSF with what it includes; BenchError names field, file and line. Each
    sequence has its RTI, and its paths are absolute. `scale` multiplies the size of every test."""
    file = _read(path, study, long, (), scale)
    for spec in (t for s in file.sequence for e in s.execution for t in e.test):
        study.enlarge(spec, scale)
    named = {rti.name: rti for rti in file.rti}
    sequences = [one for sequence in file.sequence for one in _rounds(sequence, named)]
    for sequence in sequences:
        sequence.execution = [
            one for execution in sequence.execution for one in _apart(execution, study)
        ]
    _distinct(sequences, study)
    return file.model_copy(update={"sequence": sequences})


# What a run's directory has beside a folder for each sequence (store.py).
OWN = frozenset({"run.json", "summary.json", "summary.csv", "report.html", "figures", CLAIM})


def _distinct(sequences: list[Sequence], study: Study) -> None:
    """BenchError if two executions are called alike, now that those of each RTI, place, round and
    connection have names of their own: the results of one would be taken for the other's."""
    known: set[tuple[str, str]] = set()
    for sequence in sequences:
        where = sequence.place("name")
        if sequence.name.removesuffix(".tmp") in {*OWN, study.table}:
            what = f"a sequence is named '{sequence.name}', as a file of the run's own"
            raise BenchError("STL-TSF-005", what, where, "take another name", USAGE)
        for execution in sequence.execution:
            key = (sequence.name, execution.name)
            if key in known:
                what = (
                    f"two executions are named '{sequence.name}/{execution.name}', with the words "
                    "for RTI, place, round and connection behind the names in the file"
                )
                do = "rename the sequence, or its execution"
                raise BenchError("STL-TSF-005", what, where, do, USAGE)
            known.add(key)


def _once(tables: list) -> list:
    """What two files include both is there once."""
    return [table for i, table in enumerate(tables) if table not in tables[:i]]


def _rounds(sequence: Sequence, named: dict[str, NamedRti]) -> Iterator[Sequence]:
    """The sequence on each of its RTIs: A B, B A, A B and so on."""
    each = _places(sequence, named)
    for n in range(sequence.rounds):
        for one in _in_turn(each, sequence, n):
            executions = one.execution
            if sequence.rounds > 1:
                executions = [e.named(f"{e.name}.{n + 1}", e.name) for e in executions]
            yield one.model_copy(update={"execution": executions})


def _in_turn(each: list[Sequence], sequence: Sequence, n: int) -> Iterator[Sequence]:
    """The sequence's places in the order of a round. Of a sequence in blocks each block is run at
    all of them before the next, every second one in the order opposite to that of the one before,
    which is drawn: what drifts meets all places alike."""
    if sequence.blocks_seed is None:
        yield from each if n % 2 == 0 else reversed(each)
        return
    drawn = random.Random(f"{sequence.blocks_seed}, round {n}")
    order: list[Sequence] = []
    for number, block in enumerate(sequence.execution):
        order = order[::-1] if number % 2 else drawn.sample(each, len(each))
        for place in order:
            if own := [e for e in place.execution if e.name == block.name]:
                yield place.model_copy(update={"execution": own})


def _switched(rti: Rti, values: dict[str, str | bool]) -> Rti:
    """The RTI with its switches set so."""
    there = adapter_for(rti, rti.place("adapter")).switches
    env = {k: v for name, value in values.items() for k, v in there[name][value].items()}
    made = rti.model_copy(update={"env": rti.env | env})
    made.placed(rti.places)
    return made


def _places(sequence: Sequence, known: dict[str, NamedRti]) -> list[Sequence]:
    """The sequence at each of the places where its tests run, with those tests."""
    named = sequence.rti if isinstance(sequence.rti, list) else [sequence.rti]
    # None stands for the sequence's own table.
    rtis = [None if isinstance(rti, Rti) else rti for rti in named]
    usual = {"rti": rtis, "bundling": [sequence.bundling], "hosts": [None]}
    usual |= {switch: [None] for switch in SWITCHES}
    layouts = {layout.name: layout for layout in sequence.layout}
    at: dict[tuple, dict[str, list[Spec]]] = {}
    for execution in sequence.execution:
        for spec in execution.test:
            lists = spec.lists()
            each = [own if lists[key] == [None] else lists[key] for key, own in usual.items()]
            for values in itertools.product(*each):
                there = spec.model_copy(update=dict(zip(usual, values, strict=True)))
                at.setdefault(values, {}).setdefault(execution.name, []).append(there)
    found = []
    for values, tests in at.items():
        place = dict(zip(usual, values, strict=True))
        words = [
            _place_name(key, value)
            for n, (key, value) in enumerate(place.items())
            if len({other[n] for other in at}) > 1 or (key == "rti" and len(rtis) > 1)
        ]
        executions = [e.model_copy(update={"test": tests[e.name]})
                      for e in sequence.execution if e.name in tests]  # fmt: skip
        update = {key: value for key, value in place.items() if value is not None}
        switches = {key: update.pop(key) for key in SWITCHES if key in update}
        rti = update.get("rti", sequence.rti)
        rti = known[rti] if isinstance(rti, str) else rti
        update["rti"] = _switched(rti, switches) if switches else rti
        if layout := layouts.get(update.pop("hosts", "")):
            update["federate"] = [_placed_at(f, layout) for f in sequence.federate]
            update["cpus"] = layout.cpus or sequence.cpus
        update |= {"name": ".".join([sequence.name, *words]), "execution": executions}
        one = sequence.model_copy(update=update)
        one._of = sequence.name
        found.append(one)
    return found


def _place_name(key: str, value: object) -> str:
    """A word of a sequence's name."""
    if key == "bundling":
        return "bundled" if value else "unbundled"
    if isinstance(value, bool):
        return key if value else f"no-{key}"
    return str(value or "as-said")


def _apart(execution: Execution, study: Study) -> Iterator[Execution]:
    """The execution, or several if its tests can't share a connection."""
    by: dict[str, list[Spec]] = {}
    for spec in execution.test:
        apart: dict[str, list] = {}
        for value in spec.lists().get(study.connection_by, [None]):
            apart.setdefault(study.connections.get(value, ""), []).append(value)
        for name, values in apart.items():
            one = spec.model_copy(update={study.connection_by: values}) if len(apart) > 1 else spec
            by.setdefault(name, []).append(one)
    if len(by) == 1:
        yield execution
        return
    for name, tests in by.items():
        suffix = f".{name}" if name else ""
        of = execution.round_of and execution.round_of + suffix
        yield execution.named(execution.name + suffix, of, test=tests)


def _read(path: Path, study: Study, long: bool, above: tuple[Path, ...], scale: float = 1) -> File:
    text = _text(path)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        line = 1 + text.count("\n", 0, _deepest(text))
        what, do = "brackets within brackets, more than a test needs", "close them"
        raise BenchError("STL-TSF-002", what, f"{path}:{line}", do, USAGE) from None
    except tomllib.TOMLDecodeError as e:
        what, _, at = str(e).rpartition(" (at ")
        line = re.match(r"line (\d+)", at)
        where = f"{path}:{line[1]}" if line else f"{path}:{len(text.splitlines())}"
        do = ""
        row = text.split("\n")[int(line[1]) - 1] if line else ""
        if what == "Cannot overwrite a value":
            name = re.match(r"\s*\[*\s*([\w.\"'-]+)", row)
            what, do = f"'{name[1] if name else row.strip()}' is there twice", "remove one"
        raise BenchError("STL-TSF-002", f"not valid TOML: {what}", where, do, USAGE) from None
    except ValueError:  # Python reads no number of more digits
        longest = max(re.finditer(r"\w+", text), key=lambda word: len(word[0]))
        line = 1 + text.count("\n", 0, longest.start())
        what = f"a number of {len(longest[0]):,} digits"
        raise BenchError("STL-TSF-002", what, f"{path}:{line}", "take less", USAGE) from None
    study.complete(data)
    lines = _lines(text)

    def place(loc: Loc) -> str:
        line = next((lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in lines), None)
        return f"{path}:{line}" if line else str(path)

    def fail(loc: Loc, what: str, do: str, code: str = "STL-TSF-005") -> BenchError:
        return BenchError(code, what, place(loc), do, USAGE)

    if loc := _with_nul(data):
        raise fail(loc, "a text has a character NUL in it, which no program takes", "remove it")
    included = []
    given = data.get("include")
    # Another value is told of below.
    names = given if isinstance(given, list) and all(isinstance(n, str) for n in given) else []
    for i, name in enumerate(names):
        other = (path.parent / name).resolve()
        if other in (*above, path.resolve()):
            raise fail(("include", i), f"'{name}' includes itself", "remove it")
        if not other.is_file():
            raise fail(("include", i), f"there is no file '{name}'", "correct the name")
        included.append(_read(other, study, True, (*above, path.resolve())))
    try:
        # A file that includes others needs no sequence of its own.
        alone = not (included or above) or "sequence" in data
        file = (File if alone else _Included)[study.spec].model_validate(data)
    except ValidationError as e:
        raise _Reading(study).explain(e, fail, place) from None
    for loc, table in _tables(file):
        fields = {field: place((*loc, field)) for field in type(table).model_fields}
        table.placed(fields | {"": place(loc)})
    base = path.resolve().parent
    file = file.model_copy(
        update={
            "rti": [_absolute(r, base) for r in file.rti],
            "host": [_kept(h, base) for h in file.host],
            "sequence": [_placed(s, base) for s in file.sequence],
        }
    )
    whole = File.model_construct(
        **{
            "rti": _once([*file.rti, *(r for f in included for r in f.rti)]),
            "host": _once([*file.host, *(h for f in included for h in f.host)]),
            "hosts": Hosts(quiet=_once([q for f in (file, *included) for q in f.hosts.quiet])),
            "sequence": [*file.sequence, *(s for f in included for s in f.sequence)],
        }
    )
    whole._texts = {path.resolve(): text}
    for one in included:
        whole._texts |= one._texts
    for loc, what, do in _faults(whole, study):
        raise fail(loc, what, do)
    if file.scale != 1:
        for spec in (t for s in whole.sequence for e in s.execution for t in e.test):
            study.enlarge(spec, file.scale)
    if not long and (fault := _too_many(whole, study, scale)):
        raise fail(*fault)
    return whole


def _with_nul(data: dict) -> Loc:
    """Where a text has one; nothing if none has."""
    left: list[tuple[Loc, object]] = [((), data)]
    while left:
        loc, value = left.pop()
        if isinstance(value, dict):
            left += (((*loc, key), of) for key, of in value.items())
            value = "".join(value)
        elif isinstance(value, list):
            left += (((*loc, n), of) for n, of in enumerate(value))
        if isinstance(value, str) and "\0" in value:
            return loc or ("",)
    return ()


def _deepest(text: str) -> int:
    """Where most brackets are open."""
    depth, most, at = 0, 0, 0
    for found in re.finditer(r"[\[{\]}]", text):
        depth += 1 if found[0] in _OPENS else -1
        if depth > most:
            most, at = depth, found.start()
    return at


def _tables(file: File) -> Iterator[tuple[Loc, Placed]]:
    """Every table that a later message may be of, and where it is."""
    yield from ((("rti", i), rti) for i, rti in enumerate(file.rti))
    for i, sequence in enumerate(file.sequence):
        yield ("sequence", i), sequence
        if isinstance(sequence.rti, Rti):
            yield ("sequence", i, "rti"), sequence.rti
        for e, execution in enumerate(sequence.execution):
            for t, test in enumerate(execution.test):
                yield ("sequence", i, "execution", e, "test", t), test


def _absolute(rti: Rti, base: Path) -> Rti:
    update: dict = {"server": _command(rti.server, base)}
    if rti.root:
        update["root"] = str((base / rti.root).resolve())
    if rti.program:
        (update["program"],) = _command([rti.program], base)
    return rti.model_copy(update=update)


def _kept(host: Host, base: Path) -> Host:
    """With absolute paths of its files here."""
    given = {name: getattr(host, name) for name in ("key", "known_hosts")}
    return host.model_copy(
        update={k: str(base / Path(v).expanduser()) for k, v in given.items() if v is not None}
    )


def _command(given: list[str] | None, base: Path) -> list[str] | None:
    """With the program's path absolute."""
    if not given or "/" not in given[0] or given[0].startswith("{root}"):
        return given
    return [str((base / given[0]).resolve()), *given[1:]]


def _placed(sequence: Sequence, base: Path) -> Sequence:
    """With absolute paths: a sequence that is included means those of its own file."""
    update: dict = {"fom": str((base / sequence.fom).resolve())}
    update["command"] = _command(sequence.command, base)
    update["federate"] = [
        f.model_copy(update={"command": _command(f.command, base)}) for f in sequence.federate
    ]
    if sequence.directory:
        update["directory"] = str((base / sequence.directory).resolve())
    if isinstance(sequence.rti, Rti):
        update["rti"] = _absolute(sequence.rti, base)
    return sequence.model_copy(update=update)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            what, do = "the test sequence file is UTF-16", "save it as UTF-8"
            raise BenchError("STL-TSF-001", what, f"{path}:1", do, USAGE)
        return data.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        what, do = "the test sequence file is not UTF-8", "save it as UTF-8"
        raise BenchError("STL-TSF-001", what, f"{path}:{line}", do, USAGE) from None
    except OSError as e:
        what = f"can't read the test sequence file: {e.strerror}"
        raise BenchError("STL-TSF-001", what, str(path), exit_code=USAGE) from None


# Where a table belongs that stands at the wrong place.
_PLACES = {
    "test": "[[sequence.execution.test]]",
    "execution": "[[sequence.execution]]",
    "federate": "[[sequence.federate]]",
    "pair": "[[sequence.pair]]",
    "layout": "[[sequence.layout]]",
    "host": "[[host]]",
    "sequence": "[[sequence]]",
    "rti": "[[rti]] or [sequence.rti]",
}


class _Reading:
    """Tells what is wrong with a study's file, in the user's words."""

    def __init__(self, study: Study) -> None:
        self._tables: dict[str, type[Strict]] = {
            "sequence": Sequence,
            "rti": NamedRti,
            "host": Host,
            "hosts": Hosts,
            "layout": Layout,
            "federate": Federate,
            "pair": Pair,
            "execution": Execution,
            "test": study.spec,
        }

    def explain(
        self, error: ValidationError, fail: Callable[..., BenchError], place: Callable[[Loc], str]
    ) -> BenchError:
        """The first fault, or all fields that are missing; an unknown field first, as it may cause
        the others."""
        errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        field_of = [self._written(e["loc"], e["type"] == "extra_forbidden") for e in errors]
        loc = field_of[0]
        # Of the alternatives of one field (a value or a list), the one that fits what was written.
        same = [e for e, at in zip(errors, field_of, strict=True) if at[: len(loc)] == loc]
        first = max(
            same, key=lambda e: (len(self._written(e["loc"], False)), e["type"] not in _TYPES)
        )
        if first["type"] != "extra_forbidden":
            loc = self._written(first["loc"], False)
        field = next((p for p in reversed(loc) if isinstance(p, str)), "file")
        table = _table(loc)
        if first["type"] == "extra_forbidden":
            known = self._known(loc[:-1])
            near = difflib.get_close_matches(str(field), known, n=1, cutoff=0.7)
            do = f"known here: {', '.join(known)}"
            if near:
                do = f"did you mean '{near[0]}'?"
            elif field in _PLACES:
                do = f"it belongs at {_PLACES[field]}"
            elif near := difflib.get_close_matches(str(field), known, n=1, cutoff=0.4):
                do = f"did you mean '{near[0]}'?"
            return fail(loc, f"unknown field '{field}' in {table}", do, "STL-TSF-003")
        if first["type"] == "missing":
            missing = [self._written(e["loc"], False) for e in errors if e["type"] == "missing"]
            if len(missing) > 1:
                return fail(loc, *_several(missing, place), "STL-TSF-004")
            return fail(
                loc, f"field '{field}' is missing in {table}", f"add '{field}'", "STL-TSF-004"
            )
        what, do = _in_words(first)
        return fail(loc, f"{field}: {what}", do)

    def _written(self, loc: tuple, unknown_field: bool) -> tuple:
        """The location as the file has it: without what pydantic adds for a choice of types."""
        written: list = []
        model: type[Strict] | None = File
        for part in loc[:-1] if unknown_field else loc:
            if isinstance(part, str):
                if model is None or part not in model.model_fields:
                    continue
                model = self._tables.get(part)
            written.append(part)
        return (*written, loc[-1]) if unknown_field else tuple(written)

    def _known(self, table: tuple) -> list[str]:
        names = [p for p in table if isinstance(p, str)]
        model = self._tables[names[-1]] if names else File
        return list(model.model_fields)


def _table(loc: Loc) -> str:
    """The table that has a field."""
    return ".".join(str(p) for p in loc[:-1] if isinstance(p, str)) or "the file"


def _several(missing: list[Loc], place: Callable[[Loc], str]) -> tuple[str, str]:
    """What is said of several missing fields, and what to do."""
    by: dict[Loc, list[str]] = {}
    for loc in missing:
        by.setdefault(loc[:-1], []).append(f"'{loc[-1]}'")
    told = [
        f"{' and '.join(names)} in {_table((*table, ''))} ({place(table)})"
        for table, names in by.items()
    ]
    return f"{len(missing)} fields are missing: {'; '.join(told)}", "add them"


_TYPES = ("list_type", "model_type", "string_type", "int_type", "literal_error")


def _in_words(error: dict) -> tuple[str, str]:
    """What is wrong with a value, and what to do."""
    value, c = error["input"], error.get("ctx", {})
    # Of integers there are such as nobody can read.
    untold = isinstance(value, dict | list) or (isinstance(value, int) and abs(value) >> 64)
    given = "this" if untold else json.dumps(value, default=str)
    match error["type"]:
        case "string_pattern_mismatch":
            return f"{given} is no name", "use letters, digits, '_', '.' and '-'"
        case "literal_error":
            return f"{given} is not known", f"give {c['expected']}"
        case "greater_than_equal":
            return f"{given} is too small", f"give {c['ge']:,} or more"
        case "greater_than":
            return f"{given} is too small", f"give more than {c['gt']:,}"
        case "less_than_equal":
            return f"{given} is too large", f"give {c['le']:,} or less"
        case "finite_number":
            return f"{given} is no finite number", "give a number"
        case "too_short":
            what = "at least one entry is" if c["min_length"] == 1 else "at least two entries are"
            return f"{what} needed", "add one"
        case "int_type" | "int_from_float":
            return f"{given} is no whole number", "give one, without quotes"
        case "float_type":
            return f"{given} is no number", "give one, without quotes"
        case "bool_type":
            return f"{given} is neither true nor false", "give one of them, without quotes"
        case "string_type":
            return f"{given} is no text", "put it in quotes"
        case "list_type":
            return f"{given} is no list", "put it in brackets: [ ]"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{given} is no table", "write its fields below a header in brackets"
    return f"{error['msg']}, got {given}", ""


_OPENS = {"[": "]", "{": "}"}


def _lines(text: str) -> dict[Loc, int]:
    """Line numbers by location: tables, keys, and the items of lists. The text is valid TOML."""
    found: dict[Loc, int] = {}
    current: Loc = ()
    counts: Counter = Counter()
    rows = text.split("\n")
    begins = list(itertools.accumulate((len(row) + 1 for row in rows), initial=0))
    number = 0
    while number < len(rows):
        line = rows[number]
        number += 1
        if header := re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?$", line):
            array = line.lstrip().startswith("[[")
            names = [n.strip().strip("\"'") for n in header[1].split(".")]
            current = ()
            for depth, name in enumerate(names):
                current += (name,)
                last = depth == len(names) - 1
                found.setdefault(current, number)
                if array and last:
                    current += (counts[current],)
                    counts[current[:-1]] += 1
                elif counts[current]:
                    current += (counts[current] - 1,)
                found.setdefault(current, number)
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=\s*", line):
            at = current + tuple(p.strip("\"'") for p in key[1].split("."))
            found.setdefault(at, number)
            number += _items(text, begins[number - 1] + key.end(), number, at, found)
    return found


def _items(text: str, i: int, row: int, at: Loc, found: dict[Loc, int]) -> int:
    """Notes the lines of the items of a value that begins there, in a row; how many further lines
    the value takes."""
    closing: list[str] = []
    item, line, fresh = 0, row, True
    while i < len(text):
        c = text[i]
        if c == "\n":
            line += 1
            if not closing:
                break
        elif c == "#":
            i = text.find("\n", i)
            if i < 0:
                break
            continue
        elif c in "\"'":
            mark = c * 3 if text.startswith(c * 3, i) else c
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            end = i + len(mark)
            while end < len(text) and not text.startswith(mark, end):
                end += 2 if c == '"' and text[end] == "\\" else 1
            line += text.count("\n", i, end)
            i = end + len(mark)
            continue
        elif c in _OPENS:
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            closing.append(_OPENS[c])
        elif closing and c == closing[-1]:
            closing.pop()
        elif c == "," and len(closing) == 1:
            item, fresh = item + 1, True
        elif not c.isspace() and fresh and len(closing) == 1:
            found.setdefault((*at, item), line)
            fresh = False
        i += 1
    return line - row - (i < len(text) and text[i] == "\n")


def schema(study: Study) -> str:
    """The JSON schema of a study's test sequence file."""
    made = File[study.spec].model_json_schema() | {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    }
    # The tables' names are the same in every study's schema.
    return json.dumps(made, indent=1).replace(f"_{study.spec.__name__}_", "") + "\n"
