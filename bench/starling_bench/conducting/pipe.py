"""The control pipe: a Unix-domain server that the conducting federate connects to.

Each line is a JSON object with an `event`. From the master: hello, joined, test, sample, problem,
alive, error, left. To the master: left, when a federate's process has ended.

What can't be read is told as `broken`, and nothing more is heard of who said it.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

from ..errors import BenchError, advice
from ..machines.identity import PATH_MAX, SHORTER
from ..outside import line_of, read_json

# A pipe whose federate has ended and of which nothing comes for so long is held open by others.
DRAIN_S = 10.0
_LINE_MAX = 1 << 20


class ControlPipe:
    """Hands each event to `hear`, in order; says things to whoever is connected."""

    def __init__(self, hear: Callable[[dict], None], directory: Path) -> None:
        self._hear = hear
        self._path = directory / "pipe"
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task] = set()
        self._peers: list[socket.socket] = []
        self._heard = 0

    @property
    def path(self) -> str:
        return str(self._path)

    @property
    def address(self) -> str:
        return f"unix:{self._path}"

    async def __aenter__(self) -> "ControlPipe":
        try:
            self._server = await asyncio.start_unix_server(
                self._accept, self._path, limit=_LINE_MAX
            )
        except OSError as e:
            # Names of sockets are short.
            do = SHORTER if len(os.fsencode(self.path)) > PATH_MAX else ""
            raise BenchError(
                "STL-RUN-022", f"can't listen for the master: {e.strerror or e}", self.path,
                advice(e) or do,
            ) from None  # fmt: skip
        return self

    async def __aexit__(self, *_: object) -> None:
        """What the master said before it ended is still heard."""
        await asyncio.sleep(0)  # a connection that just came in is accepted
        if self._server:
            self._server.close()
        heard = -1
        while self._talks and heard != self._heard:
            heard = self._heard
            await asyncio.wait(self._talks, timeout=DRAIN_S)
        for talk in self._talks:
            talk.cancel()

    def say(self, **event: object) -> None:
        """To everybody connected; one who is gone does not matter.

        Past asyncio, which drops what it has not read once a write fails.
        """
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.send(json.dumps(event).encode() + b"\n")

    def _tell(self, event: str, why: str) -> None:
        self._heard += 1
        self._hear({"event": event, "message": f"a line of the control pipe: {why}"})

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket").dup()
        peer.setblocking(False)
        self._peers.append(peer)
        talk = asyncio.get_running_loop().create_task(self._serve(reader, writer, peer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: socket.socket
    ) -> None:
        try:
            while line := await reader.readline():
                if not line.endswith(b"\n"):
                    self._tell("error", f"it ended within a line: {_shown(line)}")
                    return
                try:
                    event = read_json(line)
                    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                        raise ValueError("it has no event")
                except ValueError as e:
                    self._tell("broken", f"{e}: {_shown(line)}")
                    return
                self._heard += 1
                self._hear(event)
        except ValueError:
            self._tell("broken", f"it is longer than {_LINE_MAX} bytes")
        except ConnectionError:
            pass  # it ended before it read the last that was said to it: what it left out is missed
        finally:
            self._peers.remove(peer)
            peer.close()
            writer.close()


def _shown(line: bytes) -> str:
    """A line, or its begin, as it may be printed."""
    return line_of(line[:200].decode(errors="replace").strip())
