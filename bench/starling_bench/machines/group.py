"""Processes that work together for a moment, each of which says what came of it in a line of JSON.

For programs that need no conductor: nobody tells them what to do next.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ..errors import BenchError
from .hosts import Launcher, Running


@dataclass(frozen=True)
class At:
    """Where a process runs: on these CPUs, in this network namespace; None: as this one."""

    cpus: list[int] | None = None
    space: Path | None = None


HERE = At()


class Group:
    """None of its processes outlives it. Errors go to a log per role in `logs`."""

    def __init__(self, program: str, env: dict[str, str], logs: Path) -> None:
        self._launcher = Launcher(program)
        self._env, self._logs = env, logs

    async def __aenter__(self) -> "Group":
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self._launcher.end_all(hurry=True)
        if self._launcher.left and kind is None:
            what = f"{', '.join(self._launcher.left)} could not be ended"
            raise BenchError("STL-RUN-023", what, str(self._logs), "end that by hand, run again")

    async def start(
        self, role: str, command: list[str], at: At = HERE, **options: object
    ) -> Running:
        """Starts `command` with `--key value` for each option; its standard input stays open until
        `results`."""
        for key, value in options.items():
            command = [*command, f"--{key.replace('_', '-')}", str(value)]
        log = self._logs / f"{role}.log"
        return await self._launcher.start(
            role, command, log, self._env, self._logs, talk=True, cpus=at.cpus, space=at.space
        )

    async def serve(
        self, role: str, command: list[str], at: At = HERE, **options: object
    ) -> tuple[Running, list[str]]:
        """Starts a server, and waits until it says that it is ready, and where it listens."""
        server = await self.start(role, command, at, **options)
        ready = (await server.process.stdout.readline()).decode().split()
        if ready[:1] != ["ready"]:
            raise BenchError("STL-RUN-021", f"{role} did not start: {server.last_words()[0]}")
        return server, ready[1:]

    async def results(self) -> dict[str, dict]:
        """What every process said, by role (the last of each); BenchError if one failed."""
        told: dict[str, dict] = {}
        failed = []
        for one in self._launcher.running:
            one.process.stdin.close()
            out, _ = await one.process.communicate()
            if one.returncode != 0:
                failed.append(f"{one.name} ended with {one.returncode}: {one.last_words()[0]}")
            elif out.strip():
                told[one.name] = json.loads(out)
        if failed:
            raise BenchError("STL-RUN-010", "\n  ".join(failed), str(self._logs))
        return told
