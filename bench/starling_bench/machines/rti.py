"""What differs between RTIs, and plain sockets beside them: libraries, environment, server.

An adapter turns a sequence's [sequence.rti] table into an environment for the federates and, for
RTIs that need it, a server process. Federates themselves are the same C++ for every RTI.
"""

import functools
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from ..errors import USAGE, BenchError
from ..fields import Name, Placed
from ..outside import line_of
from .identity import MADE_LETTERS, PATH_MAX, SHORTER, VARIABLE, Run

PORT = 15164  # of a server on a host of its own, where any port is free
_SHOWN_MAX = 200  # characters of a variable's value
_LOADER_S = 10  # that the loader may take to say what it finds


Environment = dict[Annotated[str, Field(pattern=r"^[^=]+$")], str]


class Rti(Placed):
    """The RTI implementation to measure and how to reach it."""

    adapter: str = "starling"
    root: str | None = None
    program: str | None = None  # the federates', as built for this RTI; the study's
    local_settings: str = ""
    env: Environment = Field(default={})
    server: list[str] = Field(default=[])
    server_ready: str = ""
    server_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    bundling_off_env: Environment = Field(default={})


class NamedRti(Rti):
    """An RTI that sequences name."""

    name: Name


@dataclass
class Prepared:
    """An RTI ready for one federation execution."""

    env: dict[str, str]
    local_settings: str
    server: list[str] = field(default_factory=list)
    server_ready: str = ""
    server_port: int | None = None
    endpoint: str = "hla1516e"  # the library that federates load
    # A command that says, while federates run, by which ways their data go (`Adapter.ways`).
    status: list[str] = field(default_factory=list)

    def at(self, address: str) -> None:
        """Puts the server's address where "{host}" stands."""
        self.local_settings = self.local_settings.replace("{host}", address)
        self.server = [part.replace("{host}", address) for part in self.server]
        self.env = {key: text.replace("{host}", address) for key, text in self.env.items()}


@dataclass(frozen=True)
class Way:
    """By what data of one federate get to another."""

    sender: str
    receiver: str
    by: str
    reliable: bool  # whatever goes that way arrives, best effort too


# Where an install tree may have its libraries; cmake/rti.cmake looks there, too.
LIBRARIES = ("lib", "lib64", "lib/gcc", "lib/x86_64-linux-gnu")


ADAPTER = "libbench-"  # with what the names of adapters' libraries begin


def is_an_rtis(path: str) -> bool:
    """Whether a library is called as an RTI's are; by the same rule bench/cpp/endpoint.cpp tells
    which a federate has loaded, and the adapters' own."""
    name, small = Path(path).name, Path(path).name.lower()
    if is_an_adapters(path):
        return False
    return "RTI" in name or small.startswith("librti") or "1516" in small or "fedtime" in small


def is_an_adapters(path: str) -> bool:
    """Whether a library is called as an adapter's is."""
    return Path(path).name.lower().startswith(ADAPTER)


def check_loaded(libraries: Iterable[str], root: Path, where: str) -> None:
    """BenchError if one of an RTI's files that a federate has loaded is not of this install tree:
    then another RTI would be measured under this one's name."""
    tree = {root, root.resolve()}
    # A tree may be one of links.
    linked = {p.resolve() for name in LIBRARIES for p in (root / name).glob("*.so*")}
    for path in map(Path, libraries):
        file = path.resolve()
        if file not in linked and not any(p.is_relative_to(t) for p in (path, file) for t in tree):
            raise BenchError(
                "STL-RTI-007",
                f"a federate has loaded the RTI's library {path}, which is not below its root "
                f"{root}: another RTI would be measured",
                where,
                "correct 'root', or build the federates' program for that RTI (cmake "
                f"-DRTI_ROOT={root}) and name it as 'program' in the RTI's table",
                USAGE,
            )


def check_told(libraries: list[str], root: Path | None, federate: str, where: str) -> None:
    """The same of what a federate says that carries its data, where the RTI's tree is there; also
    BenchError if it is on an RTI of which it has loaded no library."""
    others = [path for path in libraries if not Path(path).name.startswith(ADAPTER)]
    if not others and any(Path(path).stem == f"{ADAPTER}hla1516e" for path in libraries):
        raise BenchError(
            "STL-RTI-008",
            f"federate '{federate}' has loaded no library of an RTI: which one would be "
            "measured is not known",
            where,
            "build the federates' program with an RTI that is a shared library",
            USAGE,
        )
    # What is behind an adapter that is no RTI's is the host's own.
    if root and any(Path(path).stem == f"{ADAPTER}hla1516e" for path in libraries):
        check_loaded(others, root, where)


def find(server: str, env: dict[str, str], where: str, do: str) -> None:
    """BenchError if an RTI's server can't be started."""
    if not shutil.which(server, path=env.get("PATH")):
        what = "is not a program" if Path(server).exists() else "is not there"
        raise BenchError("STL-RTI-005", f"the RTI's server '{server}' {what}", where, do, USAGE)


@functools.cache
def _not_found(file: Path, path: str | None) -> tuple[str, ...]:
    """Names of the libraries that the loader of this host finds nowhere for a program or library;
    nothing where that can't be asked."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    env |= {"LC_ALL": "C"} | ({"LD_LIBRARY_PATH": path} if path else {})
    try:
        said = subprocess.run(
            ["ldd", str(file)], capture_output=True, text=True, errors="replace", env=env,
            timeout=_LOADER_S,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    lines = (line.split(" => not found") for line in said.splitlines())
    return tuple(parts[0].strip() for parts in lines if len(parts) > 1)


def check_loader(program: str, env: dict[str, str], root: Path | None, where: str) -> None:
    """BenchError if federates on this host, or what carries their data, would lack a library."""
    beside = Path(program).with_name(f"{ADAPTER}hla1516e.so")
    for file in (Path(program), beside):
        if not file.is_file():
            continue
        for name in _not_found(file, env.get("LD_LIBRARY_PATH")):
            below = f" nor below the RTI's root {root}" if root else ""
            raise BenchError(
                "STL-RTI-009",
                f"{name}, which {file.name} needs, is not where the loader looks{below}",
                where,
                "give the install tree that has it"
                if root
                else "give the RTI's install tree with --rti-root or as its 'root'",
                USAGE,
            )


# What a switch's value sets in the environment.
Switch = dict[str | bool, dict[str, str]]


class Adapter:
    """Any RTI: what it needs stands in the TSF."""

    name = "generic"
    note = ""
    reliable: ClassVar[bool] = True  # it has reliable data
    callbacks: ClassVar[bool] = True  # by a thread of its own (HLA_IMMEDIATE), if asked for
    bundling: ClassVar[bool] = True  # can be switched off
    bytes_max: ClassVar[int | None] = None  # of values in a message
    unused: ClassVar[tuple[str, ...]] = ()  # fields of an RTI's table that say nothing to it
    switches: ClassVar[dict[str, Switch]] = {}  # its own, by the field of a test that sets them

    def prepare(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool = True,
        server_host: str = "localhost", program: str = "", address: str = "",
    ) -> Prepared:  # fmt: skip
        """Environment and server for one federation execution of a run of `program`. `address` is
        that of the server's host, where it is not this one."""
        env = dict(os.environ) | {VARIABLE: run.id}
        if root:
            libraries = [str(root / name) for name in LIBRARIES if (root / name).is_dir()]
            if not libraries:
                raise BenchError(
                    "STL-RTI-001",
                    f"no lib directory below the RTI's root {root}",
                    rti.place("root"),
                    "give the RTI's install tree with --rti-root or as its 'root'",
                    USAGE,
                )
            env["RTI_HOME"] = str(root)
            old = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = ":".join([*libraries, *([old] if old else [])])
        env.update(rti.env)
        if not bundling:
            if not (off := self.bundling_off(rti.bundling_off_env)):
                raise BenchError(
                    "STL-RTI-002",
                    "bundling = false: this RTI's way is not known",
                    rti.place("bundling_off_env"),
                    "set rti.bundling_off_env",
                    USAGE,
                )
            env.update(off)
        server = [part.replace("{root}", str(root or "")) for part in rti.server]
        prepared = Prepared(env, rti.local_settings, server, rti.server_ready, rti.server_port)
        prepared.at(address or "127.0.0.1")
        return prepared

    def check(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool, program: str,
        here: bool = True,
    ) -> None:  # fmt: skip
        """Finds the faults that need nothing to be started, also of federates that run `here`;
        changes nothing."""
        prepared = Adapter.prepare(self, rti, root, run, bundling)
        if here:
            check_loader(program, prepared.env, root, rti.place("root") or rti.place("adapter"))
        if not prepared.server:
            return
        do = "correct 'server' in the RTI's table"
        if not root and "{root}" in rti.server[0]:
            do = "give the RTI's 'root', or --rti-root"
        find(prepared.server[0], prepared.env, rti.place("server"), do)

    def has_room(self, rti: Rti, run: Run) -> None:
        """BenchError if names of its files on this host, below the run's directory, would be too
        long."""

    def bundling_off(self, given: dict[str, str]) -> dict[str, str]:
        """Environment that switches bundling off."""
        return given

    def outside(self, rti: Rti, directory: str | None) -> list[str]:
        """What sets the RTI otherwise than its table says: variables of this process, and files,
        also in the directory that federates run in, if one is named."""
        return []

    def ways(self, said: str, env: dict[str, str], execution: str = "") -> list[Way]:
        """What the RTI's command said of this federation execution ("": of all), whose federates
        have this environment; ValueError if it said something else."""
        return []

    def replaced(self, said: str, execution: str = "") -> dict[str, tuple[int, int]]:
        """What each federate told the RTI last, as the same command says: how many services it had
        called, and how many of the values that came newer ones had replaced; nothing if it does not
        say. ValueError if it said something else."""
        return {}

    def way(self) -> tuple[str, bool] | None:
        """The only way that there is and whether what goes it arrives; None: it is asked for, or
        not known."""
        return None

    def unlike_best_effort(self, rti: Rti, one_host: bool) -> str:
        """What has its best effort, of federates of one host or of several, go by ways on which
        nothing is lost, as what to do against that; "": nothing that is known beforehand."""
        by = self.way()
        return "take an RTI or adapter that has datagrams" if by and by[1] else ""


def _setting(name: str, **values: str) -> Switch:
    """A switch whose values set one of Starling's settings."""
    return {value: {f"STARLING_{name}": set_to} for value, set_to in values.items()}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def _service(name: str) -> Switch:
    variable = f"STARLING_SERVICES_{name.upper()}"
    return {True: {variable: "true"}, False: {variable: "false"}}


# Of the directory that rtiexec has its sockets in: few letters, as their names are short.
_SOCKETS = "s-"
_SOCKET = "rtiexec-65535.sock"


class Starling(Adapter):
    """Starling starts rtiexec by itself, here at an endpoint private to the execution."""

    name = "starling"
    switches: ClassVar = {
        "path": {
            name: {"STARLING_TRANSPORT_SHARED_MEMORY": memory, "STARLING_TRANSPORT_PATH": path}
            for name, memory, path in (
                ("executive", "off", "forwarder"),
                ("direct", "off", "direct"),
                ("shared_memory", "auto", "forwarder"),
            )
        }
        | {
            "multicast": {
                "STARLING_TRANSPORT_SHARED_MEMORY": "off",
                "STARLING_TRANSPORT_PATH": "direct",
                "STARLING_TRANSPORT_BEST_EFFORT": "multicast",
            }
        },
        "link": _setting("NET_UNIX", unix="true", tcp="false"),
        "best_effort_by": _setting(
            "TRANSPORT_BEST_EFFORT", auto="auto", udp="datagrams", stream="stream"
        ),
        "io_mode": {mode: {"STARLING_CALLBACKS_IO": mode} for mode in ("async", "single-threaded")},
        "preset": {
            name: {"STARLING_PRESET": name} for name in ("default", "compliant", "fastest", "wan")
        },
        **{name: _service(name) for name in ("mom", "time", "ddm", "rates")},
    }
    note = (
        "On one host best effort of Starling travels the same links as reliable data if nothing "
        "else is asked for; to and from another host it goes by UDP."
    )

    def prepare(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool = True,
        server_host: str = "localhost", program: str = "", address: str = "",
    ) -> Prepared:  # fmt: skip
        prepared = super().prepare(rti, root, run, bundling, server_host, program, address)
        env = prepared.env
        here = server_host == "localhost" and not prepared.local_settings
        chosen = not here or "STARLING_CONNECT_ADDRESS" in env
        if not (address or chosen or prepared.server) and env.get("STARLING_NET_UNIX") == "false":
            # One that federates start by themselves would be at the same port in every run.
            address, prepared.server_port = "127.0.0.1", prepared.server_port or _free_port()
        if address:
            # Files are shared between such hosts, so sockets in them would pass by the network.
            env["STARLING_NET_RUN_DIR"] = str(run.directory("starling-"))
            env["STARLING_NET_UNIX"] = "false"
            prepared.server_port = prepared.server_port or PORT
            at = f"{address}:{prepared.server_port}"
            env["STARLING_CONNECT_ADDRESS"] = at
            if not prepared.server:
                starling = str(root / "bin" / "starling") if root else "starling"
                prepared.server = [starling, "rtiexec", "--listen", at]
        elif server_host != "localhost":
            env.setdefault("STARLING_CONNECT_ADDRESS", server_host)
        elif not chosen:
            self.has_room(rti, run)
            env["STARLING_NET_RUN_DIR"] = str(run.directory(_SOCKETS))
            env.setdefault("STARLING_START_IDLE_EXIT_S", "1")
            if (program := self._program(root)).is_file():
                env.setdefault("STARLING_START_PROGRAM", str(program))
        if (program := self._program(root)).is_file():
            at = [prepared.local_settings] if prepared.local_settings else []
            prepared.status = [str(program), "ps", "--json", *at]
        return prepared

    def unlike_best_effort(self, rti: Rti, one_host: bool) -> str:
        env = os.environ | rti.env
        by = env.get("STARLING_TRANSPORT_BEST_EFFORT", "auto")
        if not one_host or rti.local_settings or "STARLING_CONNECT_ADDRESS" in env:
            return 'set best_effort_by = "udp"' if by == "stream" else ""
        # Neither shared memory nor a Unix-domain link has datagrams beside it.
        memory, path = (env.get(f"STARLING_TRANSPORT_{of}") for of in ("SHARED_MEMORY", "PATH"))
        beside = env.get("STARLING_NET_UNIX") == "false" or (memory, path) == ("off", "direct")
        asked = by in ("datagrams", "multicast")
        return "" if beside and asked else 'set link = "tcp" and best_effort_by = "udp"'

    def has_room(self, rti: Rti, run: Run) -> None:
        env = os.environ | rti.env
        chosen = rti.local_settings or "STARLING_CONNECT_ADDRESS" in env
        if chosen or env.get("STARLING_NET_UNIX") == "false":
            return
        path = run.temporary.resolve() / (_SOCKETS + "x" * MADE_LETTERS) / _SOCKET
        if len(os.fsencode(path)) > PATH_MAX:
            what = "the name of rtiexec's socket would be too long"
            raise BenchError("STL-RUN-022", what, str(path), SHORTER, USAGE)

    def outside(self, rti: Rti, directory: str | None) -> list[str]:
        given = {
            k: v for k, v in os.environ.items() if k.startswith("STARLING_") and k not in rti.env
        }
        own = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        files = [Path(own, "starling", "starling.toml")]
        files += [Path(directory, "starling.toml")] if directory else []
        return [
            *(f"{name}={line_of(value)[:_SHOWN_MAX]}" for name, value in sorted(given.items())),
            *(str(file) for file in files if os.path.exists(os.path.expanduser(file))),
        ]

    @staticmethod
    def _program(root: Path | None) -> Path:
        """Its command, of the same install tree as its libraries."""
        return (root or Path("/nowhere")) / "bin" / "starling"

    @staticmethod
    def _executions(said: str, name: str) -> list[dict]:
        """Those of this name; an RTI that serves others, too, has federates of the same names."""
        every = json.loads(said)["federations"]
        return [one for one in every if not name or one.get("name") == name]

    def replaced(self, said: str, execution: str = "") -> dict[str, tuple[int, int]]:
        try:
            every = [f for one in self._executions(said, execution) for f in one["federates"]]
            return {f["name"]: (int(f["calls"]), int(f["counters"]["conflated"])) for f in every}
        except (KeyError, TypeError, ValueError) as e:
            raise ValueError(f"no status of Starling: {e!r}") from None

    def ways(self, said: str, env: dict[str, str], execution: str = "") -> list[Way]:
        multicast = env.get("STARLING_TRANSPORT_BEST_EFFORT") == "multicast"
        try:
            return [
                way
                for federation in self._executions(said, execution)
                for federate in federation["federates"]
                for way in _ways_of(federate, federation["federates"], multicast)
            ]
        except (AttributeError, IndexError, KeyError, TypeError) as e:
            raise ValueError(f"no status of Starling: {e!r}") from None

    def bundling_off(self, given: dict[str, str]) -> dict[str, str]:
        return given or dict.fromkeys(
            ("STARLING_BUNDLE_TCP_BYTES", "STARLING_BUNDLE_UDP_BYTES"), "0"
        )


def _ways_of(federate: dict, federates: list[dict], multicast: bool) -> Iterator[Way]:
    """By what the data of one of these go to each other, as `starling ps` tells of it; with
    `multicast` its best effort is asked for so."""
    names = {f["handle"]: f["name"] for f in federates}
    by_datagrams = {f["name"] for f in federates if f["best_effort"]["by"] == "datagrams"}
    lossy_to = {
        to
        for path in federate["best_effort"].get("paths", [])
        if not path["by"].startswith("the way of reliable data")
        for to in path["to"]
    }
    for path in federate["paths"]:
        by = path["by"]
        forwarded = by.startswith("rtiexec")
        if forwarded:
            # Without the port, which says nothing.
            by = f"{federate['path'].split()[0]} via {by}"
        elif by.startswith("shared memory"):
            # Without whether its reader keeps up just now.
            by = "shared memory"
        for to in path["to"]:
            # But for datagrams its ways are links on which nothing is lost.
            lossy = bool(forwarded and by_datagrams & {federate["name"], names[to]})
            way = f"{by}; best effort by UDP" if lossy else by
            if by.startswith("direct") and (multicast or to in lossy_to):
                kind = "multicast" if multicast else "unicast"
                lossy, way = True, f"{by}; best effort by {kind} where it comes"
            yield Way(federate["name"], names[to], way, not lossy)


class Plain(Adapter):
    """No RTI: the limit beside one. Federates find each other through bench-meet, which stands
    beside their program and is private to the execution."""

    callbacks = bundling = False
    unused = ("local_settings", "server", "server_ready", "bundling_off_env")

    def check(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool, program: str,
        here: bool = True,
    ) -> None:  # fmt: skip
        meet = Path(program).with_name("bench-meet")
        find(
            str(meet),
            dict(os.environ),
            rti.place("adapter"),
            "build the federates' program: it comes with it",
        )

    def prepare(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool = True,
        server_host: str = "localhost", program: str = "", address: str = "",
    ) -> Prepared:  # fmt: skip
        prepared = super().prepare(rti, None, run, True, server_host, program, address)
        at = f"unix:{run.directory('meet-')}/meet"
        if address or rti.server_port is not None:
            at = f"{address or server_host}:{rti.server_port or PORT}"
        prepared.server = [str(Path(program).with_name("bench-meet")), at]
        prepared.server_ready, prepared.local_settings = "ready", at
        prepared.endpoint = self.name
        return prepared


class Tcp(Plain):
    """A TCP link between any two federates."""

    name = "tcp"
    note = "Plain TCP: best effort travels the same links as reliable data."

    def way(self) -> tuple[str, bool]:
        return "a TCP link", True


class Udp(Plain):
    """Datagrams; no reliable data."""

    name = "udp"
    reliable = False
    bytes_max = 65_499

    def way(self) -> tuple[str, bool]:
        return "datagrams", False


class Multicast(Plain):
    """Datagrams, each to all receivers at once; no reliable data."""

    name = "multicast"
    reliable = False
    bytes_max = 65_499

    def way(self) -> tuple[str, bool]:
        return "multicast datagrams", False


class SharedMemory(Plain):
    """A ring in memory between any two federates of one host."""

    name = "shm"
    note = "Shared memory: best effort travels the same rings as reliable data."

    def way(self) -> tuple[str, bool]:
        return "a ring in shared memory", True


class Dis(Plain):
    """Entity State PDUs by multicast; no reliable data."""

    name = "dis"
    reliable = False
    bytes_max = 3_817

    def way(self) -> tuple[str, bool]:
        return "multicast Entity State PDUs", False


class Dds(Adapter):
    """Cyclone DDS, whose members find each other; no server."""

    name = "dds"
    callbacks = bundling = False
    unused = ("server", "server_ready", "server_port", "bundling_off_env")

    def check(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool, program: str,
        here: bool = True,
    ) -> None:  # fmt: skip
        if not Path(program).with_name("libbench-dds.so").is_file():
            raise BenchError(
                "STL-RTI-006", "the adapter of DDS is not built", rti.place("adapter"),
                "install Cyclone DDS (cyclonedds-dev), then build the federates' program anew",
                USAGE,
            )  # fmt: skip

    def prepare(
        self, rti: Rti, root: Path | None, run: Run, bundling: bool = True,
        server_host: str = "localhost", program: str = "", address: str = "",
    ) -> Prepared:  # fmt: skip
        prepared = super().prepare(rti, None, run, True, server_host, program, address)
        # The interface: of hosts that have networks of their own the innermost.
        prepared.local_settings = prepared.local_settings or ("tun0,eth0" if address else "lo")
        prepared.endpoint = self.name
        return prepared

    def way(self) -> tuple[str, bool]:
        return "DDS", False


# Where there is no RTI: the limit beside one.
RAW = frozenset(a.name for a in (Tcp, Udp, Multicast, SharedMemory))
ADAPTERS: dict[str, type[Adapter]] = {
    a.name: a for a in (Starling, Adapter, Tcp, Udp, Multicast, SharedMemory, Dis, Dds)
}


def adapter_for(rti: Rti, where: str) -> Adapter:
    """The adapter that an RTI names; `where` it does is for the message."""
    found = ADAPTERS.get(rti.adapter)
    if not found:
        raise BenchError(
            "STL-RTI-003", f"no adapter '{rti.adapter}'", where, f"known: {', '.join(ADAPTERS)}",
            USAGE,
        )  # fmt: skip
    return found()
