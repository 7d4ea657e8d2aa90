"""Chromium without a window, for tests of reports: the DevTools protocol over a pipe."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
LIMIT_S = 120
# Numbers of the pipe's ends that Chromium expects.
_READS, _WRITES = 3, 4


class Browser:
    """One page. Whatever it complains about is in `complaints`."""

    def __init__(self, process: subprocess.Popen, to: int, back: int) -> None:
        self._process, self._to, self._back = process, to, os.fdopen(back, "rb", buffering=0)
        self._number, self._session, self._rest = 0, None, b""
        self.events: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        made = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = made["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict:
        """What a command of the protocol gives back."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:
            said = self._read()
            if said.get("id") == self._number:
                assert "error" not in said, said["error"]
                return said["result"]

    def open(self, page: Path) -> None:
        """Shows a file, until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self._read()

    def ask(self, expression: str) -> object:
        """The value of an expression in the page."""
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def look(self, width: int, height: int = 900, media: str = "", dark: bool = False) -> None:
        """How wide the window is, and for which medium it shows the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def print(self) -> bytes:
        """The page as a PDF on A4 as its style says."""
        said = self.call("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(said["data"])

    def complaints(self) -> list[dict]:
        """Messages to the console, exceptions, and whatever was fetched beside the page."""
        wanted = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        found = [e for e in self.events if e["method"] in wanted]
        asked = [e["params"]["request"] for e in self.events
                 if e["method"] == "Network.requestWillBeSent"]  # fmt: skip
        return found + [r for r in asked if not r["url"].startswith(("file:", "data:"))]

    def _read(self) -> dict:
        """The next message; events are kept."""
        while b"\0" not in self._rest:
            part = self._back.read(1 << 20)
            assert part, f"Chromium ended with {self._process.wait(LIMIT_S)}"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        said = json.loads(line)
        if "method" in said:
            self.events.append(said)
        return said


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium of its own, with a profile of its own."""
    profile = tempfile.mkdtemp(prefix="browser-")
    theirs, to = os.pipe()
    back, answers = os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs, answers)]

    def begin() -> None:
        os.dup2(high[0], _READS)
        os.dup2(high[1], _WRITES)

    process = subprocess.Popen(
        [PROGRAM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
         "--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}"],
        env=os.environ | {"TMPDIR": profile}, preexec_fn=begin, close_fds=False,
        start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    for fd in (theirs, answers, *high):
        os.close(fd)
    try:
        yield Browser(process, to, back)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(LIMIT_S)
        os.close(to)
        shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture(scope="module")
def page(results: Path) -> Iterator[Browser]:
    """A module's report."""
    with browser() as it:
        it.open(results / "report.html")
        yield it
