"""Updates of one class of anybody's FOM, with random values: of its first attributes, or of all;
beside each as many bytes in one attribute of a class that is given.

Of an update each transportation makes a message. Those of the class's attributes that have one are
measured by themselves, so that what a further message takes is no attribute's cost; where there are
both, all together, too.
"""

import difflib
import random
from collections.abc import Collection
from itertools import product
from pathlib import Path

from ..errors import USAGE, BenchError
from ..statistics.estimates import Estimate, more
from ..statistics.stats import span
from .object_model import Class, DataType, Field, ObjectModel
from .random_values import RandomValues

# So many updates differ; of a class with more attributes not every number of them is taken.
_POOL, _STEPS = 32, 12
_MESSAGES, _BOTH = ("reliable", "best_effort"), "both_transportations"


def updates(
    modules: list[Path], name: str, mode_field: str, seed: int, one_attribute: dict[str, str]
) -> dict:
    """By key (`own` or `combined`, transport, number of attributes, mode) class, fields, which of
    these are a message, and updates, values in hexadecimal; `counts` are the numbers of attributes
    of each transport. `one_attribute` names the class for each, whose attribute is "Value"; what
    has both can be in one if that is reliable."""
    model = ObjectModel([path.resolve() for path in modules])
    found = model.find(name)
    if not found.fields:
        what = f"class '{name}' has neither attributes nor parameters"
        raise BenchError("STL-FOM-012", what, str(found.place), "take another class", USAGE)
    every = [model.type_of(one, found.name) for one in found.fields]
    modes = _enumerators(model, found, every, mode_field) if mode_field else [""]
    by: dict[str, list[Field]] = {transport: [] for transport in (*_MESSAGES, _BOTH)}
    for one in found.fields:
        by[_MESSAGES[one.transportation == "HLAbestEffort"]].append(one)
        by[_BOTH].append(one)
    counts = {transport: _numbers(len(by[transport])) for transport in _MESSAGES if by[transport]}
    counts |= {_BOTH: [len(found.fields)]} if len(counts) > 1 else {}
    tests = {}
    # No test has values of another's: by these its packets are known.
    for mode, transport in product(modes, counts):
        for n in counts[transport]:
            key, fields = f"{transport}/{n}/{mode}", by[transport][:n]
            draw = RandomValues(model, f"{seed}/{key}", {mode_field: mode} if mode else None)
            drawn = [[draw.of(f, found.name) for f in fields] for _ in range(_POOL)]
            apart = [[at for at, f in enumerate(fields) if f in by[t]] for t in _MESSAGES]
            tests[f"own/{key}"] = {
                "class": found.name, "fields": [f.name for f in fields],
                "messages": [at for at in apart if at],
                "updates": [[v.hex() for v in values] for values in drawn],
            }  # fmt: skip
            octets = random.Random(f"{seed}/{key}/combined").randbytes
            tests[f"combined/{key}"] = {
                "class": one_attribute.get(transport, one_attribute["reliable"]),
                "fields": ["Value"], "messages": [[0]],
                "updates": [[octets(sum(map(len, values))).hex()] for values in drawn],
            }  # fmt: skip
    return {
        "modules": [str(path) for path in model.modules], "class": found.name, "counts": counts,
        "kind": "interaction" if found.interaction else "object", "modes": modes, "tests": tests,
    }  # fmt: skip


def arguments(tests: list) -> list[str]:
    """What the federates of an execution are told of its tests' values: one file, one seed."""
    found = {key: {getattr(t, key) for t in tests} - {""} for key in ("values", "seed")}
    for key, each in found.items():
        if len(each) > 1:
            what = f"the tests of an execution differ in '{key}': {', '.join(map(str, each))}"
            raise BenchError("STL-TSF-004", what, do="make an execution of each", exit_code=USAGE)
    return [word for key, each in found.items() for one in each for word in (f"--{key}", str(one))]


def planned(own: dict, test: dict, ways: Collection[str] = (*_MESSAGES, _BOTH)) -> list[dict]:
    """Such tests of all its updates, or of those by some transportations."""
    return [test | {"series": "own", "layout": ["own", "combined"], "kind": own["kind"],
                    "transport": way, "attributes": numbers, "mode": own["modes"]}
            for way, numbers in own["counts"].items() if way in ways]  # fmt: skip


def instead(plan: dict, own: dict, kept: Collection[str], more: dict) -> list[str]:
    """Puts such tests in place of a study's, whose fields `kept` and transportations they keep:
    where a study measures one only, the other goes otherwise than it says. Says which sequences
    have none then and are left out; if that were all of them, each has all."""
    tests = {s["name"]: s["execution"][0]["test"] for s in plan["sequence"]}
    ways = {name: _ways(of) for name, of in tests.items()}
    if not any(own["counts"].keys() & of for of in ways.values()):
        ways = {name: {*own["counts"]} for name in tests}
    for name, of in tests.items():
        of[:] = planned(own, {k: of[0][k] for k in kept if k in of[0]} | more, ways[name])
    plan["sequence"] = [s for s in plan["sequence"] if tests[s["name"]]]
    without = {name: " and ".join(sorted(ways[name])) for name, of in tests.items() if not of}
    return [f"sequence '{name}': it takes {by.replace('_', ' ')} data, of which the class has none"
            for name, by in without.items()]  # fmt: skip


def _ways(tests: list[dict]) -> set[str]:
    each = (t["transport"] for t in tests)
    found = {way for one in each for way in ([one] if isinstance(one, str) else one)}
    return found | ({_BOTH} if len(found) > 1 else set())


def _numbers(most: int) -> list[int]:
    """Of attributes: so many are measured of a class that has `most`."""
    steps = min(most, _STEPS)
    return sorted({1, *(round(most * n / steps) for n in range(1, steps + 1))})


def values(s: dict, key: str) -> list[float]:
    """A test's samples; of instructions the least: what else a process does adds to a count, and
    nothing takes away from it."""
    return [min(s[key])] if key == "instructions" else s[key]


def words(own: dict, combined: dict, samples: str, mode: str, rate_hz: float) -> list[str]:
    """What all attributes of a class cost beside as many bytes in one (summaries of two tests, and
    the key of their samples), and what they take at a rate, where times of a call were measured."""
    where = f"{mode}: " if mode else ""
    of, than = "", "one"
    if own["messages"] > 1:
        of = f" in {own['messages']} messages, as they have several transportations,"
        than = "a reliable one"
    said = []
    # Of one value there is nothing to compare: the other is one value of as many bytes, too.
    if own["fields"] > 1 and (found := more([values(own, samples)], [values(combined, samples)])):
        compared = f"{found.text(' %')} more of a call than {than} of as many bytes"
        if found.known and found.value < 0:
            less = Estimate(-found.value, -found.high, -found.low)
            compared = f"{less.text(' %')} less of a call than {than} of as many bytes"
        elif found.low is not None and not found.known:
            compared = f"as much of a call as {than} of as many bytes, as far as can be told: " \
                       f"{found.text(' %')} more"  # fmt: skip
        its = f"its {own['fields']} values of {span(own, ' bytes')}{of}"
        said.append(f"{where}{its} cost {compared}")
    if rate_hz and samples == "us":
        share, kilobytes = own["call_mean_us"]["mean"] * rate_hz / 1e4, own["bytes"] * rate_hz / 1e3
        said.append(
            f"{where}at {rate_hz:g} updates/s the calls take {share:.2g} % of a CPU, the values "
            f"{kilobytes:.3g} kB/s"
        )
    return said


def side_by_side(group: list[dict], samples: str) -> list[str]:
    """Of a class of somebody's own: all its attributes beside as many bytes in one."""
    said = []
    most = max((s["attributes"] for s in group), default=0)
    for mode in dict.fromkeys(s["mode"] for s in group):
        at = {s["layout"]: s for s in group if (s["attributes"], s["mode"]) == (most, mode)}
        if len(at) == 2:
            rate = at["own"]["setting"].get("rate_hz", 0)
            said += words(at["own"], at["combined"], samples, mode, rate)
    return said


def _enumerators(model: ObjectModel, found: Class, every: list[DataType], name: str) -> list[str]:
    """Those of a field of a class, or of a record that one of them holds; of a variant record those
    of its discriminant."""
    known: dict[str, DataType] = {}
    seen: set[tuple[str, str]] = set()

    def look(field: str, one: DataType) -> None:
        if (field, one.name) in seen:
            return
        seen.add((field, one.name))
        chosen = model.types[one.of] if one.kind == "variant" else one
        if chosen.kind == "enumerated":
            known.setdefault(field, chosen)
        for part in one.fields:
            look(part.name, model.types[part.type])
        for part in model.parts(one):
            look(part.name, part)

    for field, one in zip(found.fields, every, strict=True):
        look(field.name, one)
    if name in known and known[name].enumerators:
        return list(known[name].enumerators)
    if name in known:
        what, where = f"'{known[name].name}' has no enumerators", str(known[name].place)
        raise BenchError("STL-FOM-013", what, where, "add some, or name another field", USAGE)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0)
    do = f"did you mean '{near[0]}'?" if near else "no field of it has enumerators"
    what = f"class '{found.name}' has no enumerated field '{name}'"
    raise BenchError("STL-FOM-013", what, str(found.place), do, USAGE)
