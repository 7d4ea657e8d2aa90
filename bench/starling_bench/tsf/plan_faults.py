"""What is wrong between the fields of a test sequence file whose fields by themselves are right:
each fault with its place, what is wrong and what to do.
"""

import difflib
import itertools
from collections.abc import Iterator

from ..fields import Faults, Loc, twice
from ..machines import network, topology
from ..machines.network import Host, placed
from ..machines.rti import ADAPTERS, NamedRti, Rti
from ..study import Study
from .sequences import SWITCHES, File, Sequence, Spec


def faults(file: File, study: Study) -> Faults:
    """Those of a file with all that it includes."""
    named = {"rti": ("RTIs", file.rti), "host": ("hosts", file.host)}
    for table, (what, tables) in (named | {"sequence": ("sequences", file.sequence)}).items():
        i = twice([t.name for t in tables])
        if i is not None:
            yield (table, i, "name"), f"two {what} are named '{tables[i].name}'", "rename one"
    yield from network.faults(file.host)
    for i, rti in enumerate(file.rti):
        yield from _rti(("rti", i), rti)
    rtis = {rti.name: rti for rti in file.rti}
    for i, sequence in enumerate(file.sequence):
        yield from _sequence(("sequence", i), sequence, rtis, study)
        yield from _places(("sequence", i), sequence, file.host, study)


def _each(at: Loc, value: object) -> Iterator[tuple[Loc, object]]:
    """Where each value of a field stands, which may be a list of them."""
    if isinstance(value, list):
        yield from (((*at, n), one) for n, one in enumerate(value))
    else:
        yield at, value


# ---- RTIs


def _rti(at: Loc, rti: Rti) -> Faults:
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


def _unknown_rti(at: Loc, name: str, known: dict[str, NamedRti]) -> Faults:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        do = f"did you mean '{near[0]}'?" if near else "define it with [[rti]]"
        yield at, f"there is no RTI '{name}'", do


# ---- sequences


def _sequence(at: Loc, sequence: Sequence, rtis: dict[str, NamedRti], study: Study) -> Faults:
    if isinstance(sequence.rti, Rti):
        yield from _rti((*at, "rti"), sequence.rti)
    else:
        if not sequence.rtis:
            yield (*at, "rti"), "the list is empty", "name an RTI"
        for n, (where, name) in enumerate(_each((*at, "rti"), sequence.rti)):
            if name not in rtis:
                yield from _unknown_rti(where, name, rtis)
            elif name in sequence.rtis[:n]:
                yield where, f"RTI '{name}' is named twice", "remove one"
    yield from topology.faults(at, sequence.federate, sequence.pair, sequence.master)
    executions = [e.name for e in sequence.execution]
    if (i := twice(executions)) is not None:
        what = f"two executions are named '{executions[i]}'"
        yield (*at, "execution", i, "name"), what, "rename one"
    for where, test in _tests(at, sequence):
        yield from _test(where, test, sequence, rtis, study)


def _tests(at: Loc, sequence: Sequence) -> Iterator[tuple[Loc, Spec]]:
    """All of a sequence, with where they stand."""
    for e, execution in enumerate(sequence.execution):
        for t, test in enumerate(execution.test):
            yield (*at, "execution", e, "test", t), test


# ---- where federates run


def _places(at: Loc, sequence: Sequence, hosts: list[Host], study: Study) -> Faults:
    """As they say, and in each layout."""
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
    for where, test in _tests(at, sequence):
        yield from _layouts_of(where, test, sequence, hosts, study)
    for n, layout in enumerate((None, *sequence.layout)):
        where = (*at, "layout", n - 1) if layout else (*at, "federate", 0)
        yield from _joined(where, [placed(f, layout).host for f in sequence.federate],
                           federates, hosts)  # fmt: skip


def _layouts_of(at: Loc, test: Spec, sequence: Sequence, hosts: list[Host], study: Study) -> Faults:
    """What is wrong with the layouts that a test names."""
    layouts = {layout.name: layout for layout in sequence.layout}
    for name in test.lists()["hosts"]:
        if name is not None and name not in layouts:
            what = f"there is no layout '{name}'"
            yield (*at, "hosts"), what, "define it with [[sequence.layout]]"
    # Namespaces are of this machine.
    for layout in [layouts.get(name) for name in test.lists()["hosts"]]:
        there = [placed(f, layout).host for f in sequence.federate]
        away = {h.name for h in hosts if h.kind == "ssh" and h.name in there}
        if len(away) > 1 and (why := study.one_machine(test)):
            what = f"hosts {', '.join(sorted(away))} are machines of their own, and {why}"
            yield at, what, "take hosts in namespaces"


def _joined(at: Loc, there: list[str], federates: list[str], hosts: list[Host]) -> Faults:
    """What keeps federates on these hosts from reaching each other."""
    if set(there) - {*network.LOCAL, *(host.name for host in hosts)}:
        return  # that is told elsewhere
    alone = [host in network.LOCAL for host in there]
    if any(alone) and not all(alone):
        what = f"federate '{federates[alone.index(True)]}' is on this host and others are not"
        yield at, what, "give each a [[host]]: only those are joined by a network"
    if len({host.kind for host in hosts if host.name in there}) > 1:
        what = "some federates are on hosts of kind 'namespace' and others of kind 'ssh'"
        yield at, what, "take hosts of one kind: no network joins the others"


# ---- tests


def _test(
    at: Loc, test: Spec, sequence: Sequence, rtis: dict[str, NamedRti], study: Study
) -> Faults:
    for field, value in test:
        if field == "rti":
            for where, name in _each((*at, field), value):
                yield from _unknown_rti(where, name, rtis) if name is not None else ()
        if field in SWITCHES:
            yield from _switch((*at, field), test, field, sequence, rtis)
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


def _on(test: Spec, sequence: Sequence, rtis: dict[str, NamedRti]) -> Iterator[tuple[str, Rti]]:
    """The RTIs that a test runs on, as far as they and their adapters are known, with what a
    message calls them."""
    for own in test.lists()["rti"]:
        for one in [own] if own else sequence.rtis:
            rti = rtis.get(one) if isinstance(one, str) else one
            if rti is not None and rti.adapter in ADAPTERS:  # else that is told elsewhere
                yield (f"RTI '{one}'" if isinstance(one, str) else "its RTI"), rti


def _switch(
    at: Loc, test: Spec, field: str, sequence: Sequence, rtis: dict[str, NamedRti]
) -> Faults:
    """What is wrong with a switch of the RTIs that a test runs on."""
    for where, value in _each(at, getattr(test, field)):
        for title, rti in _on(test, sequence, rtis) if value is not None else ():
            there = ADAPTERS[rti.adapter].switches
            if field not in there:
                do = f"set it in the RTI's 'env', or leave '{field}' out"
                yield where, f"{title} (adapter '{rti.adapter}') has no switch '{field}'", do
            elif value not in there[field]:
                known = ", ".join(str(v).lower() for v in there[field])
                yield where, f"{title} has no {field} '{value}'", f"it has {known}"


def _carried(
    at: Loc, test: Spec, sequence: Sequence, rtis: dict[str, NamedRti], study: Study
) -> Faults:
    """What the adapters that a test runs on can't carry."""
    for _, rti in _on(test, sequence, rtis):
        adapter = ADAPTERS[rti.adapter]
        title = f"adapter '{rti.adapter}'"
        # Of millions of tests those at the beginning: more are not run by mistake.
        looked_at = itertools.islice(() if adapter.reliable else test.expand(), 10_000)
        fields = (study.settled(one.model_dump()) for one in looked_at)
        if any(one.get("transport") == "reliable" for one in fields):
            where = _where((*at, "transport"), getattr(test, "transport", None), "reliable")
            what = f"{title} has no reliable data"
            yield where, what, 'set transport = "best_effort", or take another RTI'
        field, threaded = study.callbacks_by
        if not adapter.callbacks and threaded in test.lists().get(field, ()):
            where = _where((*at, field), getattr(test, field), threaded)
            what = f"{title} has no thread for callbacks, which {field} = {threaded} takes"
            yield where, what, "leave that value out, or take an RTI with the C++ API"
        for field, most in study.values(test):
            if adapter.bytes_max is not None and most > adapter.bytes_max:
                what = f"a message has {most:,} bytes; {title} carries {adapter.bytes_max:,}"
                yield (*at, field), what, "make it smaller, or take another RTI"


def _where(at: Loc, values: object, value: object) -> Loc:
    """Where a value of a field stands, which may be a list of them."""
    return next((where for where, one in _each(at, values) if one == value), at)
