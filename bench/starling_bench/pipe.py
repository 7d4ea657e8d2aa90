"""The message pipe: a Unix-domain server that the master federate connects to.

Each line is a JSON object with an `event`: joined, test, sample, alive, error, end.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

DRAIN_S = 2.0


class MessagePipe:
    """Hands each of the master's events to `hear`, in order."""

    def __init__(self, hear: Callable[[dict], None]) -> None:
        self._hear = hear
        self._directory = Path(tempfile.mkdtemp(prefix="bmmanager-"))
        self._path = self._directory / "pipe"
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task] = set()

    @property
    def address(self) -> str:
        return f"unix:{self._path}"

    async def __aenter__(self) -> "MessagePipe":
        self._server = await asyncio.start_unix_server(self._accept, self._path)
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
        shutil.rmtree(self._directory, ignore_errors=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
                    event = {"event": "error", "message": f"bad line in the message pipe: {text}"}
                self._hear(event)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError) as e:
            self._hear({"event": "error", "message": f"message pipe: {e}"})
        finally:
            writer.close()
