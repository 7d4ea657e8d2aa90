"""The message pipe: a Unix-domain server that the master federate connects to.

Each line is a JSON object with an `event`: joined, test, sample, error, end.
"""

import asyncio
import json
import shutil
import tempfile
from pathlib import Path


class MessagePipe:
    """Yields the master's events; ends when the master's connection ends."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="bmmanager-"))
        self._path = self._directory / "pipe"
        self._server: asyncio.Server | None = None
        self._events: asyncio.Queue[dict] = asyncio.Queue()

    @property
    def address(self) -> str:
        return f"unix:{self._path}"

    async def __aenter__(self) -> "MessagePipe":
        self._server = await asyncio.start_unix_server(self._serve, self._path)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server:
            self._server.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def next(self) -> dict:
        """The next event."""
        return await self._events.get()

    def drain(self) -> list[dict]:
        """The events that are there already."""
        out = []
        while not self._events.empty():
            out.append(self._events.get_nowait())
        return out

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
                await self._events.put(event)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError) as e:
            await self._events.put({"event": "error", "message": f"message pipe: {e}"})
        finally:
            writer.close()
        await self._events.put({"event": "closed"})
