"""The phases as test sequence files: 0 plain sockets, I connectivity, II all configurations."""

import random
from itertools import product
from pathlib import Path

from ...machines import rti, sites
from ...machines.topologies import TOPOLOGIES, Mesh, Topology
from ...tsf.planned import Hybrid, Wanted, sequence, some, table
from .configurations import configuration

FOM = Path(__file__).resolve().parents[3] / "foms" / "pbom.xml"
# What can carry the PBOM, and for each what carries its reliable and its best-effort tests.
ADAPTERS: dict[str, tuple[str, ...]] = {
    "sockets": ("tcp", "multicast"), "unicast": ("tcp", "udp"),
    "starling": ("starling", "starling-udp"), "starling-multicast": ("starling", "starling-group"),
    "dds": ("dds",), "dis": ("dis",),
}  # fmt: skip
# By sockets also on one host: shared memory neither loses nor bundles.
BY_SOCKETS = {"STARLING_TRANSPORT_SHARED_MEMORY": "off"}
_HOW = "STARLING_TRANSPORT_BEST_EFFORT"
UDP = {**BY_SOCKETS, "STARLING_NET_UNIX": "false", _HOW: "datagrams"}
_BY = {"starling-udp": UDP, "starling-group": UDP | {_HOW: "multicast"}}
CONFLATED = {
    "STARLING_CONFLATE_RELIABLE": "HLAobjectRoot.PBOMreliableLatest",
    "STARLING_CONFLATE_BEST_EFFORT": "HLAobjectRoot.PBOMbestEffortLatest",
}
DIS_MAX = 3797  # bytes of payload: a PDU's 3,817, and 20 before the payload
# What carries one side of a hybrid, and which of these carry what is reliable.
SIDES = ("tcp", "multicast", "dis", "dds", "starling")
HYBRIDS = [f"{a}+{b}" for a in SIDES for b in SIDES if a != b]
_RELIABLE = {"tcp", "dds", *(name for name, by in ADAPTERS.items() if len(by) > 1)}


def rtis(wanted: Wanted) -> str:
    """A table for each that is used."""
    found = []
    known = {n for names in ADAPTERS.values() for n in names}
    for name in dict.fromkeys(n for a in wanted.adapters for n in _names(a) if n in known):
        values: dict[str, object] = {"name": name, "adapter": name.partition("-")[0]}
        more = ""
        if values["adapter"] == "starling":
            values |= {"root": str(wanted.rti_root)} if wanted.rti_root else {}
            env = dict(_BY.get(name, {}))
            env |= CONFLATED if wanted.more.get("conflate") else {}
            if wanted.more.get("bundling"):
                env |= {**BY_SOCKETS, "STARLING_BUNDLE_AGE_US": f"{wanted.bundle_ms * 1000:g}",
                        "STARLING_BUNDLE_IDLE_US": "1000000"}  # fmt: skip
            more = table("[rti.env]", env)
        found.append(table("[[rti]]", values) + more)
    return "\n".join([*found, wanted.tables])


def _names(adapter: str) -> tuple[str, ...]:
    if "+" in adapter:
        return (_hybrid(TOPOLOGIES["1-1"], "", adapter).main,)
    return ADAPTERS.get(adapter, (adapter,))


def _hybrid(topology: Topology, program: str, adapter: str, *where) -> Hybrid:
    return Hybrid(topology, program, *adapter.split("+"), {"starling"}, *where)


def _transports(adapter: str) -> list[str]:
    """That it has."""
    unreliable = not set(adapter.split("+")) <= _RELIABLE
    known = adapter in ADAPTERS or "+" in adapter
    return ["best_effort"] if known and unreliable else ["reliable", "best_effort"]


def _common(wanted: Wanted, adapter: str) -> dict[str, object]:
    """Fields of a sequence."""
    return {
        "fom": str(FOM), "command": [wanted.program], "rti": list(_names(adapter)),
        "join_timeout_s": 60.0, "data_timeout_s": 30.0, "loss_timeout_s": 0.5,
    }  # fmt: skip


def _carriers(adapter: str, number: int) -> str:
    """What carries a configuration."""
    return _names(adapter)[0 if configuration(number).transport == "reliable" else -1]


def _plainly(adapter: str, carrier: str, fields: dict) -> dict:
    """Fields of a test: only RTIs bundle, and no gateway, which hands on at once; the limit beside
    those that overwrite and do not neither overwrites nor lags."""
    raw = {"bundling", *(("conflate", "lag_s") if fields.get("conflate") == [False, True] else ())}
    other = {"bundling"} if carrier == "dds" or "+" in adapter else set()
    return {k: v for k, v in fields.items() if k not in (raw if carrier in rti.RAW else other)}


def _able(adapter: str, number: int) -> bool:
    one = configuration(number)
    small = "dis" not in adapter.split("+") or one.payload <= DIS_MAX
    return small and one.transport in _transports(adapter)


def configurations(wanted: Wanted) -> str:
    """Every configuration over every topology, adapter and kind of sites, in random order."""
    order = random.Random(wanted.seed)
    parts = [_head(wanted)]
    named = [TOPOLOGIES[name] for name in wanted.topologies]
    for profile, topology, adapter in product(wanted.profiles, named, wanted.adapters):
        numbers = [n for n in wanted.numbers if _able(adapter, n)]
        order.shuffle(numbers)
        by: dict[str, list[int]] = {}
        for number in numbers:
            by.setdefault(_carriers(adapter, number), []).append(number)
        if not by:
            continue
        common = {"topology": topology.name, "seconds": wanted.seconds,
                  "samples": wanted.samples, **wanted.more}  # fmt: skip
        common |= _clock(wanted, profile)
        tests = [{"rti": carrier, "configuration": mine, **_plainly(adapter, carrier, common)}
                 for carrier, mine in by.items()]  # fmt: skip
        parts.append(_sequence(wanted, topology, adapter, profile, tests))
    some(parts[1:], "none of these adapters carries any of these configurations", "--only")
    return "\n".join(parts)


def _head(wanted: Wanted, count: int = 0) -> str:
    count = count or max(TOPOLOGIES[t].hosts for t in wanted.topologies)
    made = [sites.hosts(p, count, wanted.hosts, wanted.capture) for p in wanted.profiles]
    return f"# Seed {wanted.seed}.\n{''.join(made)}\n{rtis(wanted)}"


def _clock(wanted: Wanted, profile: str) -> dict[str, object]:
    """Hosts that ssh reaches have clocks of their own."""
    by = {"clock": "daemon", "daemon": wanted.daemon} if wanted.daemon else {"clock": "estimate"}
    return by if sites.apart(profile, wanted.hosts, wanted.daemon) else {}


def connectivity(wanted: Wanted, count: int) -> str:
    """Every site to every site, and every adapter to every other: one update each way."""
    parts = [_head(wanted, count)]
    for profile, adapter in product(wanted.profiles, wanted.adapters):
        topology = TOPOLOGIES["1-1"] if "+" in adapter else Mesh("mesh", count, count, True)
        tests = [{"rti": _names(adapter)[0 if t == "reliable" else -1], "updates": 1,
                  "topology": topology.name, "transport": t, **_clock(wanted, profile)}
                 for t in _transports(adapter)]  # fmt: skip
        parts.append(_sequence(wanted, topology, adapter, profile, tests))
    return "\n".join(parts)


def _sequence(
    wanted: Wanted, topology: Topology, adapter: str, profile: str, tests: list[dict]
) -> str:
    """All tests of an adapter over a topology."""
    name = f"{topology.name}.{adapter.replace('+', '-')}.{profile}"
    if "+" in adapter:
        topology = _hybrid(topology, wanted.program, adapter, profile, wanted.hosts)
    told = "\n".join(table("[[sequence.execution.test]]", test) for test in tests)
    return sequence(name, _common(wanted, adapter), topology, profile, wanted.hosts, told)
