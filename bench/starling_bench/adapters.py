"""What differs between RTIs: where libraries are, environment, server, bundling.

An adapter turns a sequence's [sequence.rti] table into an environment for the federates and, for
RTIs that need it, a server process. Federates themselves are the same C++ for every RTI.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from .errors import USAGE, BenchError
from .identity import VARIABLE, Run
from .tsf import Sequence


@dataclass
class Prepared:
    """An RTI ready for one federation execution."""

    env: dict[str, str]
    local_settings: str
    server: list[str] = field(default_factory=list)
    server_ready: str = ""
    server_port: int | None = None


class Adapter:
    """Any RTI: what it needs stands in the TSF."""

    name = "generic"
    note = ""

    def prepare(self, sequence: Sequence, root: Path | None, run: Run) -> Prepared:
        """Environment and server for one federation execution of a run."""
        rti = sequence.rti
        env = dict(os.environ) | {VARIABLE: run.id}
        if root:
            libraries = [str(p) for p in (root / "lib", root / "lib64") if p.is_dir()]
            if not libraries:
                raise BenchError(
                    "STL-RTI-001",
                    f"no lib directory below the RTI's root {root}",
                    do="give the RTI's install tree with --rti-root or rti.root",
                    exit_code=USAGE,
                )
            env["RTI_HOME"] = str(root)
            old = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = ":".join([*libraries, *([old] if old else [])])
        env.update(rti.env)
        if not sequence.bundling:
            if not (off := self.bundling_off(rti.bundling_off_env)):
                raise BenchError(
                    "STL-RTI-002",
                    "bundling = false: this RTI's way is not known",
                    do="set rti.bundling_off_env",
                    exit_code=USAGE,
                )
            env.update(off)
        server = [part.replace("{root}", str(root or "")) for part in rti.server]
        return Prepared(env, rti.local_settings, server, rti.server_ready, rti.server_port)

    def bundling_off(self, given: dict[str, str]) -> dict[str, str]:
        """Environment that switches bundling off."""
        return given


class Starling(Adapter):
    """Starling starts rtiexec by itself, here at an endpoint private to the execution."""

    name = "starling"
    note = (
        "Best effort is declared and reported as such, but in this version of Starling it "
        "travels the same links as reliable data."
    )

    def prepare(self, sequence: Sequence, root: Path | None, run: Run) -> Prepared:
        prepared = super().prepare(sequence, root, run)
        env = prepared.env
        if sequence.rtiexec_host != "localhost":
            env.setdefault("STARLING_CONNECT_ADDRESS", sequence.rtiexec_host)
        elif "STARLING_CONNECT_ADDRESS" not in env and not prepared.local_settings:
            env["STARLING_NET_RUN_DIR"] = str(run.directory("starling-"))
            env.setdefault("STARLING_START_IDLE_EXIT_S", "1")
            program = root / "bin" / "starling" if root else None
            if program and program.is_file():
                env.setdefault("STARLING_START_PROGRAM", str(program))
        return prepared

    def bundling_off(self, given: dict[str, str]) -> dict[str, str]:
        return given or {"STARLING_BUNDLE_TCP_BYTES": "0"}


ADAPTERS: dict[str, type[Adapter]] = {a.name: a for a in (Starling, Adapter)}


def adapter_for(sequence: Sequence) -> Adapter:
    """The adapter a sequence names."""
    found = ADAPTERS.get(sequence.rti.adapter)
    if not found:
        raise BenchError(
            "STL-RTI-003",
            f"no adapter '{sequence.rti.adapter}'",
            f"sequence '{sequence.name}'",
            f"known: {', '.join(ADAPTERS)}",
            USAGE,
        )
    return found()
