"""The control pipe: a Unix-domain server that the conducting federate connects to.

Each line is a JSON object with an `event`. From the master: hello, joined, test, sample, problem,
alive, error, left. To the master: left, when a federate's process has ended.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path

DRAIN_S = 2.0
_LINE_MAX = 1 << 20


class ControlPipe:
    """Hands each event to `hear`, in order; says things to whoever is connected."""

    def __init__(self, hear: Callable[[dict], None], directory: Path) -> None:
        self._hear = hear
        self._path = directory / "pipe"
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def address(self) -> str:
        return f"unix:{self._path}"

    async def __aenter__(self) -> "ControlPipe":
        self._server = await asyncio.start_unix_server(self._accept, self._path, limit=_LINE_MAX)
        return self

    async def __aexit__(self, *_: object) -> None:
        """What the master said before it ended is still heard."""
        await asyncio.sleep(0)  # a connection that just came in is accepted
        if self._server:
            self._server.close()
        if self._talks:
            _, open_ones = await asyncio.wait(self._talks, timeout=DRAIN_S)
            for talk in open_ones:
                talk.cancel()

    def say(self, **event: object) -> None:
        """To everybody connected; one who is gone does not matter."""
        for writer in self._writers:
            with contextlib.suppress(OSError):
                writer.write(json.dumps(event).encode() + b"\n")

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        talk = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                try:
                    event = json.loads(line)
                    if not isinstance(event, dict) or "event" not in event:
                        raise ValueError("no event")
                except ValueError:
                    text = line[:200].decode(errors="replace").strip()
                    event = {"event": "error", "message": f"bad line in the control pipe: {text}"}
                self._hear(event)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError) as e:
            self._hear({"event": "error", "message": f"control pipe: {e}"})
        finally:
            self._writers.remove(writer)
            writer.close()
