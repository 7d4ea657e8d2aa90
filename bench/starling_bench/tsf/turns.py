"""The sequences of a file as they run: each on every RTI and at every place that its tests name, in
rounds and blocks, and its executions apart where their tests can't share a connection.
"""

import itertools
import random
from collections.abc import Iterator

from ..machines.network import placed
from ..machines.rti import NamedRti, Rti, adapter_for
from ..study import Study
from .sequences import SWITCHES, Execution, Sequence, Spec


def in_turn(sequence: Sequence, named: dict[str, NamedRti], study: Study) -> Iterator[Sequence]:
    """A sequence of a file, as often as it runs, in order."""
    for one in _rounds(sequence, named):
        executions = [own for execution in one.execution for own in _apart(execution, study)]
        yield one.model_copy(update={"execution": executions})


def _rounds(sequence: Sequence, named: dict[str, NamedRti]) -> Iterator[Sequence]:
    """The sequence on each of its RTIs: A B, B A, A B and so on."""
    each = _places(sequence, named)
    for n in range(sequence.rounds):
        for one in _round(each, sequence, n):
            executions = one.execution
            if sequence.rounds > 1:
                executions = [e.named(f"{e.name}.{n + 1}", e.name) for e in executions]
            yield one.model_copy(update={"execution": executions})


def _round(each: list[Sequence], sequence: Sequence, n: int) -> Iterator[Sequence]:
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


def _places(sequence: Sequence, known: dict[str, NamedRti]) -> list[Sequence]:
    """The sequence at each of the places where its tests run, with those tests."""
    # None stands for the sequence's own table.
    rtis = [None if isinstance(rti, Rti) else rti for rti in sequence.rtis]
    usual = {"rti": rtis, "bundling": [sequence.bundling], "hosts": [None]}
    usual |= {switch: [None] for switch in SWITCHES}
    at: dict[tuple, dict[str, list[Spec]]] = {}
    for execution in sequence.execution:
        for spec in execution.test:
            lists = spec.lists()
            each = [own if lists[key] == [None] else lists[key] for key, own in usual.items()]
            for values in itertools.product(*each):
                there = spec.model_copy(update=dict(zip(usual, values, strict=True)))
                at.setdefault(values, {}).setdefault(execution.name, []).append(there)
    # A name has a word for each thing in which the places differ, and for the RTI among several.
    worded = [len({values[n] for values in at}) > 1 or (key == "rti" and len(rtis) > 1)
              for n, key in enumerate(usual)]  # fmt: skip
    found = []
    for values, tests in at.items():
        place = dict(zip(usual, values, strict=True))
        words = [_word(*item) for item, told in zip(place.items(), worded, strict=True) if told]
        executions = [e.model_copy(update={"test": tests[e.name]})
                      for e in sequence.execution if e.name in tests]  # fmt: skip
        found.append(_at(sequence, place, words, executions, known))
    return found


def _at(
    sequence: Sequence, place: dict[str, object], words: list[str], executions: list[Execution],
    known: dict[str, NamedRti],
) -> Sequence:  # fmt: skip
    """The sequence at one place, which its name tells in words."""
    switches = {key: place[key] for key in SWITCHES if place[key] is not None}
    rti = place["rti"] or sequence.rti
    rti = known[rti] if isinstance(rti, str) else rti
    update = {
        "rti": _switched(rti, switches) if switches else rti,
        "bundling": place["bundling"],
        "execution": executions,
    }
    if layout := next((one for one in sequence.layout if one.name == place["hosts"]), None):
        update["federate"] = [placed(f, layout) for f in sequence.federate]
        update["cpus"] = layout.cpus or sequence.cpus
    return sequence.elsewhere(".".join([sequence.name, *words]), **update)


def _switched(rti: Rti, values: dict[str, str | bool]) -> Rti:
    """The RTI with its switches set so."""
    there = adapter_for(rti, rti.place("adapter")).switches
    env = {k: v for name, value in values.items() for k, v in there[name][value].items()}
    made = rti.model_copy(update={"env": rti.env | env})
    made.placed(rti.places)
    return made


def _word(key: str, value: object) -> str:
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
