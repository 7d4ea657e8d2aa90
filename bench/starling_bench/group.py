"""Processes that work together for a moment, each of which says what came of it in a line of JSON.

For programs that need no conductor: nobody tells them what to do next.
"""

import json
from pathlib import Path

from .errors import BenchError
from .hosts import Launcher, Running


class Group:
    """None of its processes outlives it. Errors go to a log per role in `logs`."""

    def __init__(self, program: str, env: dict[str, str], logs: Path) -> None:
        self._launcher = Launcher(program)
        self._env, self._logs = env, logs

    async def __aenter__(self) -> "Group":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._launcher.end_all(hurry=True)

    async def start(self, role: str, command: list[str], **options: object) -> Running:
        """Starts `command` with `--key value` for each option; its standard input stays open until
        `results`."""
        for key, value in options.items():
            command = [*command, f"--{key.replace('_', '-')}", str(value)]
        log = self._logs / f"{role}.log"
        return await self._launcher.start(role, command, log, self._env, self._logs, talk=True)

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
