"""What happens now: lines of a program that reads, shown on a full-screen terminal, on a web page,
or as they are.

The program writes a JSON object a line, each with an `event`: `element` (number, own, at,
federates: handle, count, current time in ns, delivery time in ns), `state`, `overrun`, `ended`. It
takes words at its standard input. Terminal and page show the same lines of the same program.
"""

import asyncio
import contextlib
import json
import os
import secrets
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from ..errors import USAGE, BenchError

WORDS = ("start", "resign", "log on", "log off")
STATES = ("starting", "joined", "measuring", "ended")
# Of each federate the page begins with so many points.
_POINTS = 600
_LINE_MAX = 1 << 20
_REQUEST_MAX = 8192
# No delivery takes less than nothing, or longer than this: the two have clocks of their own.
_SENSE_MS = 3_600_000
_UNLIKE = "clocks of unlike hosts are not compared"
# What a program that has ended still says.
_REST_S = 3.0


class Reader:
    """The program, and what it has said so far."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self._command, self._env = command, dict(os.environ) | (env or {})
        self._process: asyncio.subprocess.Process | None = None
        self.federates: dict[int, tuple[int, int, float | None]] = {}  # count, time, delivery ms
        self.points: dict[int, deque[tuple[int, float]]] = {}
        self.came: dict[int, int] = {}  # so many points of each, also those that are no longer kept
        self.state: dict = {}
        self.own = 0
        self.notes: deque[str] = deque(maxlen=100)
        self.ended: dict | None = None
        self.heard: list[Callable[[dict], None]] = []
        self.ending = False  # a signal or a key has asked for it

    async def run(self) -> int:
        """Until it ends; its exit code. Whoever is in `heard` hears of every line."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=_LINE_MAX, env=self._env,
            start_new_session=True,  # a signal to all of a terminal would end it before it resigns
        )  # fmt: skip
        # Who is told to end leaves in good order.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.end)
        if self.ending:
            self.say("resign")
        errors = asyncio.ensure_future(self._errors())
        lines = asyncio.ensure_future(self._lines())
        try:
            # Who outlives a program that was killed, as its interface does, may hold its pipes.
            over = asyncio.ensure_future(self._over())
            await asyncio.wait({lines, over}, return_when=asyncio.FIRST_COMPLETED)
            if lines.done():
                lines.result()
            code = await over
            await asyncio.wait({lines, errors}, timeout=_REST_S)
            if lines.done():
                lines.result()
        except BaseException:  # whatever ends this one: nobody else would end the program
            self.say("resign")
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # it may be stopped
            await self._over()
            raise
        finally:
            for one in (lines, errors):
                one.cancel()
            await asyncio.gather(lines, errors, return_exceptions=True)
            self._process._transport.close()  # its pipes may be another's, too
        why = self.notes[-1] if code and self.notes else ""
        if code < 0:
            why = f"the reader was ended by signal {-code}"
            if (one := self.state.get("interface")) and Path(f"/proc/{one}").exists():
                why += f"; its interface goes on: --attach {one} takes part in it again"
            code = 1
        if self.ended is None:
            self.ended = {"event": "ended", "code": code}
        self.ended["why"] = self.ended.get("why") or why
        self._tell(self.ended)
        return code

    async def _lines(self) -> None:
        while line := await self._process.stdout.readline():
            self._hear(line)

    async def _over(self) -> int:
        """Its exit code, once it has ended; `wait` would wait for whoever holds its pipes, too."""
        while self._process.returncode is None:
            await asyncio.sleep(0.1)
        return self._process.returncode

    def end(self) -> None:
        """In good order; who is asked again does not wait for that."""
        if self.ending and self._process:
            self._signal(signal.SIGTERM)
        self.ending = True
        self.say("resign")

    def _signal(self, number: signal.Signals) -> None:
        """To the program, where it has not ended. Not by `Process.send_signal`: that asks whether
        it has ended, and then its exit code is not told to who waits for it."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def say(self, word: str) -> None:
        """A word to the program; dropped when it has ended."""
        if word in WORDS and self._process and self._process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(word.encode() + b"\n")

    async def _errors(self) -> None:
        while line := await self._process.stderr.readline():
            if text := line.decode(errors="replace").strip():
                self.notes.append(text)
                self._tell({"event": "note", "text": text})

    def _hear(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind = event["event"]
            if kind == "element":
                self.own = event["own"]
                for handle, count, at, delivery in event["federates"]:
                    self._federate(handle, count, at, delivery / 1e6)
            elif kind == "state":
                self.state = event
            elif kind == "ended":
                self.ended = event  # told at its end, with why, which may come behind it
                return
        except (KeyError, TypeError, ValueError) as e:
            raise BenchError("STL-LIV-001", f"the reader said a strange line: {e!r}") from None
        self._tell(event)

    def _federate(self, handle: int, count: int, at: int, ms: float) -> None:
        known = self.federates.get(handle)
        told = 0 <= ms <= _SENSE_MS
        self.federates[handle] = count, at, ms if told else None
        if handle != self.own and told and (known is None or known[0] != count):
            self.points.setdefault(handle, deque(maxlen=_POINTS)).append((count, ms))
            self.came[handle] = self.came.get(handle, 0) + 1

    def _tell(self, event: dict) -> None:
        for hear in self.heard:
            hear(event)

    @property
    def wrong(self) -> bool:
        """Something of what came is not here."""
        return bool(self.state.get("overrun") or self.state.get("dropped"))

    def unlike(self) -> str:
        """Why a delivery time is not known; nothing where all are."""
        return _UNLIKE if any(ms is None for *_, ms in self.federates.values()) else ""

    def words(self) -> str:
        """How it goes, in a line."""
        s = self.state
        if self.ended:
            return f"ended: {self.ended.get('why') or 'resigned'}"
        if not s:
            return "starting"
        said = STATES[s["state"]] if s["state"] < len(STATES) else "?"
        if self.ending:
            said = "asked to end"
        logging = "logging" if s["logging"] else "not logging"
        overrun = f", OVERRUN: {s['overrun']} elements missed" if s["overrun"] else ""
        dropped = f", {s['dropped']} samples not logged" if s["dropped"] else ""
        timer = f"timer {s['deadlines_missed']} missed, {s['deadlines_late']} late"
        left = f", {n} lines of these left out" if (n := s.get("lines_left_out")) else ""
        unlike = f", {why}" if (why := self.unlike()) else ""
        rest = f"{overrun}{dropped}{left}{unlike}"
        return f"{said}, {logging}, {s['elements']} elements, {timer}{rest}"


# ---- without a window


def headless(reader: Reader) -> int:
    """One line a second; for scripts."""
    last = 0.0

    def show(event: dict) -> None:
        nonlocal last
        if event["event"] in ("overrun", "ended", "note"):
            print(json.dumps(event), flush=True)
        elif event["event"] == "state":
            now = asyncio.get_running_loop().time()
            if now - last >= 1:
                last = now
                more = {"federates": {
                    h: [c, None if ms is None else round(ms, 6)]
                    for h, (c, _, ms) in reader.federates.items()
                }}  # fmt: skip
                if why := reader.unlike():
                    more["not_known"] = why
                print(json.dumps(event | more), flush=True)

    reader.heard.append(show)
    return asyncio.run(reader.run())


# ---- on the terminal


def terminal(reader: Reader, budget_ms: float) -> int:
    """A full-screen program: the federates, and keys for words."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        do = "give --headless for lines, or --show web"
        raise BenchError("STL-LIV-002", "there is no terminal to show it on", "", do, USAGE)
    app = made(reader, budget_ms)
    threading.Thread(target=leave_with, args=(sys.stdin.fileno(),), daemon=True).start()
    app.run()
    return app.return_code or 0


def leave_with(terminal: int) -> None:
    """Waits until a terminal is gone, and ends this process: whatever draws would wait for ever to
    write there. The program ends in good order when it finds that nobody reads its lines."""
    gone = select.poll()
    gone.register(terminal, 0)  # that it hangs up is always told
    gone.poll()
    os._exit(1)


def made(reader: Reader, budget_ms: float):
    """The program, not yet running."""
    from rich.text import Text
    from textual.app import App, ComposeResult
    from textual.binding import Binding
    from textual.widgets import DataTable, Footer, Header, Static

    class Live(App):
        """Its table is that of the newest element."""

        TITLE = "Delivery times"
        BINDINGS = [  # noqa: RUF012
            Binding("s", "say('start')", "start"),
            Binding("r", "say('resign')", "resign and end"),
            Binding("l", "log", "log on, off"),
            Binding("q", "leave", "quit"),
            Binding("ctrl+c", "leave", show=False, priority=True),
        ]

        def compose(self) -> ComposeResult:
            yield Header()
            yield Static("", id="state")
            yield DataTable(id="federates", cursor_type="none")
            yield Static("", id="notes")
            yield Footer()

        def on_mount(self) -> None:
            table = self.query_one(DataTable)
            table.add_columns("federate", "messages", "current time, s", "delivery, ms", "budget")
            self.set_interval(0.1, self.show)
            self._reading = asyncio.ensure_future(reader.run())
            self._reading.add_done_callback(lambda _: self.show())

        def show(self) -> None:
            if not self.query("#state"):
                return  # it is about to end
            if reader.ending and self._reading.done():
                self.exit(return_code=1 if self._reading.exception() else self._reading.result())
                return
            look = "bold red" if reader.wrong else ""
            self.query_one("#state", Static).update(Text(reader.words(), look))
            self.query_one("#notes", Static).update(Text("\n".join(list(reader.notes)[-5:])))
            table = self.query_one(DataTable)
            table.clear()
            for handle, (count, at, ms) in sorted(reader.federates.items()):
                own = handle == reader.own
                inside = "" if own or ms is None else "in" if ms <= budget_ms else "OVER"
                delivery = "own" if own else "not known" if ms is None else f"{ms:.3f}"
                table.add_row(str(handle), f"{count:,}", f"{at / 1e9:.3f}", delivery, inside)

        def action_say(self, word: str) -> None:
            reader.say(word)

        def action_log(self) -> None:
            reader.say("log off" if reader.state.get("logging") else "log on")

        def action_leave(self) -> None:
            reader.end()  # it is drawn until that has ended

    return Live()


# ---- as a web page


class Web:
    """A page at 127.0.0.1 that draws delivery time against message count, ten times a second.
    Words need the key that stands in the page's address."""

    def __init__(self, reader: Reader, budget_ms: float) -> None:
        self._reader, self._budget = reader, budget_ms
        self.key = secrets.token_urlsafe(16)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Web":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_REQUEST_MAX)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def address(self) -> str:
        """Where the page is."""
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/?key={self.key}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ", 2)
            path, _, query = target.partition("?")
            given = dict(part.partition("=")[::2] for part in query.split("&"))
            allowed = secrets.compare_digest(given.get("key", ""), self.key)
            if not allowed:
                self._answer(writer, "403 Forbidden", "text/plain", b"the key is missing\n")
            elif (method, path) == ("GET", "/"):
                self._answer(writer, "200 OK", "text/html; charset=utf-8", page(self._budget))
            elif (method, path) == ("POST", "/say"):
                self._reader.say(given.get("word", "").replace("+", " ").replace("%20", " "))
                self._answer(writer, "200 OK", "text/plain", b"")
            elif (method, path) == ("GET", "/events"):
                await self._events(writer)
            else:
                self._answer(writer, "404 Not Found", "text/plain", b"")
            await writer.drain()
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError,
                asyncio.LimitOverrunError):  # fmt: skip
            pass  # a browser that left, or no browser
        finally:
            writer.close()

    @staticmethod
    def _answer(writer: asyncio.StreamWriter, status: str, kind: str, body: bytes) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Cache-Control: no-store\r\nConnection: close\r\n\r\n" + body)

    async def _events(self, writer: asyncio.StreamWriter) -> None:
        """What is new, ten times a second; at first all that is kept."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Cache-Control: no-store\r\nConnection: close\r\n\r\n")  # fmt: skip
        shown: dict[int, int] = {}
        while True:
            # Who comes again counts from 1 again: message counts don't say what is new.
            new = {
                handle: list(points)[-more:] if (more := came - shown.get(handle, 0)) else []
                for handle, points in self._reader.points.items()
                for came in (self._reader.came[handle],)
            }
            shown = dict(self._reader.came)
            table = [
                [h, c, at / 1e9, "own" if h == self._reader.own else ms]
                for h, (c, at, ms) in sorted(self._reader.federates.items())
            ]
            line = {"state": self._reader.words(), "wrong": self._reader.wrong,
                    "federates": table, "points": new,
                    "notes": list(self._reader.notes)[-5:]}  # fmt: skip
            writer.write(f"data: {json.dumps(line)}\n\n".encode())
            await writer.drain()
            if self._reader.ended:
                return
            await asyncio.sleep(0.1)


def page(budget_ms: float) -> bytes:
    """The page, whole: nothing is fetched beside it."""
    text = resources.files(__package__).joinpath("live.html").read_text(encoding="utf-8")
    return text.replace("BUDGET_MS", json.dumps(round(budget_ms, 3))).encode()


def web(reader: Reader, budget_ms: float, tell: Callable[[str], None]) -> int:
    """Serves the page until the reader ends; `tell` hears its address."""

    async def serve() -> int:
        async with Web(reader, budget_ms) as served:
            tell(served.address)
            code = await reader.run()
            await asyncio.sleep(0.3)  # whoever looks sees the end
            return code

    return asyncio.run(serve())
