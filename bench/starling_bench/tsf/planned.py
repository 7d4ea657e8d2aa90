"""Test sequence files that a study writes itself: parts of their text."""

import os
import shutil
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import USAGE, BenchError, cannot
from ..kept.store import must_be_empty
from ..machines import sites
from ..machines.topologies import Topology
from ..outside import read_text
from . import tables


@dataclass
class Wanted:
    """What a command was asked for."""

    program: str
    adapters: list[str]
    topologies: list[str]
    numbers: list[int]
    profiles: list[str]
    seconds: float = 1.0
    seed: int = 0
    samples: int = 1
    rti_root: Path | None = None
    tables: str = ""  # further [[rti]] tables, as they stand in a file of the user's
    notes: list[str] = field(default_factory=list)  # that a reader must know
    more: dict[str, object] = field(default_factory=dict)  # fields of every test
    hosts: list[dict] = field(default_factory=list)  # [[host]] tables, of sites "hosts"
    daemon: str = ""  # the command by which the daemons of these hosts' clocks are asked
    capture: bool = False  # packets of all hosts
    bundle_ms: float = 5.0  # that an RTI's bundle waits for more, where it bundles


# Members of DDS find each other, on the first of these interfaces that is there.
_ALONE = {"dds": ("lo", "tun0,eth0")}
_GATEWAY_PORT = 15165  # where those of the other side meet, on the gateway's host


class Hybrid(Topology):
    """Publishers on one adapter, subscribers on another, and a gateway between them, which leads
    both. An RTI, if there is one, is where the plan's RTI is: `main`; the other side is `away`."""

    def __init__(
        self, of: Topology, program: str, publish: str, subscribe: str, rtis: set[str],
        profile: str = sites.LOCAL, hosts: Sequence[dict] = (),
    ) -> None:  # fmt: skip
        super().__init__(of.name, of.publishers, of.subscribers, of.shared)
        theirs = "pub" if publish not in rtis else "sub"
        main, away = (subscribe, publish) if theirs == "pub" else (publish, subscribe)
        at = f"{{host:{sites.host(profile, 1, hosts)}}}:{_GATEWAY_PORT}"
        here, elsewhere = _ALONE.get(away, ("unix:meet", at))
        side = f"{away},{here if profile == sites.LOCAL else elsewhere}"
        object.__setattr__(self, "main", main)
        commands = {"gateway": [program, "--bridge", side]}
        commands |= {
            name: [program, "--instead", side]
            for name, _ in super().federates()
            if name.startswith(theirs)
        }
        object.__setattr__(self, "commands", commands)

    def federates(self) -> list[tuple[str, int]]:
        return [*super().federates(), ("gateway", 1)]

    @property
    def master(self) -> str:
        return "gateway"


def program(name: str, option: str, do: str) -> str:
    """Its whole path; BenchError if there is none."""
    if found := shutil.which(name):
        return str(Path(found).resolve())
    raise BenchError("STL-RUN-002", f"there is no program '{name}'", option, do, USAGE)


def table(head: str, values: dict) -> str:
    """One table of TOML."""
    lines = [f"{key} = {tables.toml(value)}" for key, value in values.items()]
    return f"{head}\n" + "\n".join(lines) + "\n"


def sequence(
    name: str, common: dict, topology: Topology, profile: str, hosts: Sequence[dict], tests: str
) -> str:
    """A sequence over a topology between sites, whose hosts may be given ([[host]] tables); `tests`
    are tables of one execution."""
    federates = topology.federates()
    head = {"name": name, "master": topology.master, **common}
    if profile != sites.LOCAL:
        head["rtiexec_host"] = sites.host(profile, 1, hosts)
    parts = [table("[[sequence]]", head)]
    commands = getattr(topology, "commands", {})
    for n, number in federates:
        fields = {"name": n, "host": sites.host(profile, number, hosts)}
        fields |= {"command": commands[n]} if n in commands else {}
        parts.append(table("[[sequence.federate]]", fields))
    parts += [table("[[sequence.pair]]", {"sender": p, "receiver": s}) for p, s in topology.pairs()]
    return "\n".join([*parts, table("[[sequence.execution]]", {"name": "all"}), tests])


def switched(text: str, option: str) -> bool | list[bool]:
    """The values of a field that is "on", "off" or "both"."""
    values: dict[str, bool | list[bool]] = {"on": True, "off": False, "both": [False, True]}
    return values[listed(text.replace(",", " "), list(values), option)[0]]


def switches(**given: str) -> dict[str, object]:
    """Fields of every test, by the options that switch them."""
    named = {key: f"--{key.replace('_', '-')}" for key in given}
    return {key: switched(text, named[key]) for key, text in given.items()}


def text_of(file: Path | None, option: str) -> str:
    """A file of [[rti]] tables as it stands there; "": none was given."""
    try:
        return read_text(file) if file else ""
    except (OSError, ValueError) as e:
        what = f"{file} can't be read: {getattr(e, 'strerror', None) or e}"
        raise BenchError("STL-TSF-002", what, option, "see bench/README.md", USAGE) from None


def hosts_of(file: Path | None, kinds: Sequence[str], daemon: str) -> list[dict]:
    """The [[host]] tables of a file, whose own files stand beside it; none if none was given. What
    is said of hosts is for these `kinds` of sites, if they are among them."""
    option = "--hosts" if file else "--daemon" if daemon else ""
    if option and sites.HOSTS not in kinds:
        what, do = f"{option} is about hosts, and no site is one", f"add --sites {sites.HOSTS}"
        raise BenchError("STL-TSF-004", what, option, do, USAGE)
    if file is None:
        return []
    there = tables.read(file)
    found, others = there.pop("host", None), ", ".join(there)
    if others or not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        what = f"{file} has {others or 'no [[host]] tables'}; only [[host]] tables are taken of it"
        raise BenchError("STL-TSF-002", what, "--hosts", "see bench/README.md", USAGE)
    at = file.resolve().parent
    beside = {"key", "known_hosts"}
    return [
        {k: str(at / Path(v).expanduser()) if k in beside and isinstance(v, str) else v
         for k, v in one.items()} for one in found
    ]  # fmt: skip


def names(text: str, option: str, taken: Container[str]) -> list[str]:
    """Of the RTIs in a file of [[rti]] tables, which may have none of those that are `taken`."""
    try:
        found = [rti["name"] for rti in tables.parsed(text).get("rti", [])]
        if strange := [name for name in found if not isinstance(name, str)]:
            raise ValueError(f"{strange[0]!r:.50} is no name")
        if of_ours := [name for name in found if name in taken]:
            what, do = f"'{of_ours[0]}' is an adapter of ours", "give the RTI another name"
            raise BenchError("STL-TSF-004", what, option, do, USAGE)
        return found
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        what = f"no file of [[rti]] tables: {e}"
        raise BenchError("STL-TSF-002", what, option, "see bench/README.md", USAGE) from None


def between(text: str, hybrids: list[str], option: str) -> list[str]:
    """Those of these hybrids whose sides are both named; none of an empty text."""
    if not text:
        return []
    sides = list(dict.fromkeys(side for hybrid in hybrids for side in hybrid.split("+")))
    named = set(listed(text, sides, option))
    found = [hybrid for hybrid in hybrids if set(hybrid.split("+")) <= named]
    some(found, f"'{text}' is one side alone", option)
    return found


def some(found: Sequence, what: str, option: str) -> None:
    """BenchError where of what was asked for nothing is left."""
    if not found:
        raise BenchError("STL-TSF-004", what, option, "ask for others, or for more", USAGE)


def listed(text: str, known: list[str], option: str) -> list[str]:
    """Names with commas between them; BenchError for one that is not known."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    for name in found:
        if name not in known:
            raise BenchError(
                "STL-TSF-004", f"'{name}' is not known", option, f"known: {', '.join(known)}", USAGE
            )
    if not found:
        do = f"name one or more of {', '.join(known)}"
        raise BenchError("STL-TSF-004", "nothing is named", option, do, USAGE)
    return found


def numbers(text: str | None, count: int, option: str, of: str) -> list[int]:
    """Those below `count` that an option names, such as "40-79,3"; all without a text. `of`: what
    they are numbers of."""
    if text is None:
        return list(range(count))
    found: list[int] = []
    for part in list(filter(None, text.replace(" ", "").split(","))) or [""]:
        low, _, high = (part if "-" in part else f"{part}-{part}").partition("-")
        digits = part.isascii() and len(part) < 8 and low.isdigit() and high.isdigit()
        if not (digits and int(low) <= int(high) < count):
            what, do = f"'{part}' is no range of {of}", f"give numbers from 0 to {count - 1}"
            raise BenchError("STL-TSF-004", what, option, f"{do}, such as 40-79 or 3,5", USAGE)
        found += range(int(low), int(high) + 1)
    return list(dict.fromkeys(found))


def possible(file: Path, root: Path, of_root: str) -> tuple[dict, list[str]]:
    """The tables of a file, with hosts and sequences of another that wants root (network
    namespaces); without what this machine can't do, and that in words. `of_root`: what is only in
    the other."""
    plan, left_out = tables.read(file), []
    if os.geteuid() == 0 and shutil.which("ip"):
        more = tables.read(root)
        plan |= {"host": more["host"], "sequence": plan["sequence"] + more["sequence"]}
    else:
        left_out.append(f"{of_root}: they need root and ip")
    if not shutil.which("valgrind"):
        plan["sequence"] = [
            s for s in plan["sequence"] if not any("count" in f for f in s["federate"])
        ]
        left_out.append("instructions: there is no valgrind")
    return plan, left_out


def beside(out: Path, suffix: str) -> Path:
    """Where the plan stands that a command makes of its options; BenchError if there are results
    already, as that beside them is theirs."""
    out = out.resolve()
    try:
        if out.is_dir():
            must_be_empty(out)
    except OSError as e:
        raise cannot("write results", e, out) from None
    return out.with_name(out.name + suffix)
