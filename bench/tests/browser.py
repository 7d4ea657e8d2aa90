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


# What is wider than the window, and in no box that scrolls.
WIDE = """[...document.body.querySelectorAll('*')].filter(e => {
    if (e.closest('svg') && e.tagName != 'svg') return false;
    const box = e.closest('.scroll, pre');
    return e.getBoundingClientRect().right > innerWidth + 1 && (!box || box == e);
}).map(e => e.outerHTML.slice(0, 80))"""
# Boxes whose content is cut: on paper nobody can scroll.
CUT = """[...document.querySelectorAll('.scroll')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 80))"""
# Each part that is folded: its title, and whether its content is shown.
FOLDED = """[...document.querySelectorAll('details.part')].map(e => [
    e.querySelector('h2').innerText, e.querySelector('.in').checkVisibility(
        {contentVisibilityAuto: true})])"""
# Parts that are folded are shown.
OPEN = "document.querySelectorAll('details').forEach(e => { e.open = true; })"
# What the window is painted with where nothing else is.
GROUND = """(() => {
    const e = document.createElement('i');
    e.style.color = 'Canvas';
    document.body.append(e);
    const ground = getComputedStyle(e).color;
    e.remove();
    return ground;
})()"""
# The contrast of a text and what is behind it (WCAG 2), from 1 to 21.
CONTRAST = """(selector, ground) => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = colours => {
        for (const colour of colours) {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const up = [];
    for (let e = document.querySelector(selector); e; e = e.parentElement) up.unshift(e);
    const behind = [ground, ...up.map(e => getComputedStyle(e).backgroundColor)];
    const [a, b] = [light(behind), light([...behind, getComputedStyle(up.at(-1)).color])];
    return Math.max(a, b) / Math.min(a, b);
}"""
# A4 across, less its margins, at 96 dots an inch.
PAPER = round((297 - 20) / 25.4 * 96)


def fits(page: Browser, *widths: int) -> None:
    """Nothing is wider than the window."""
    for width in widths:
        page.look(width)
        assert page.ask("innerWidth") == width
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        wide = page.ask(WIDE)
        assert wide == [], wide


def readable(page: Browser, dark: bool, *selectors: str) -> None:
    """What is written there stands out from what is behind it."""
    page.look(1280, dark=dark)
    ground = page.ask(GROUND)
    assert (ground == "rgb(255, 255, 255)") != dark
    for selector in selectors:
        contrast = page.ask(f"({CONTRAST})({json.dumps(selector)}, {json.dumps(ground)})")
        assert contrast >= 4.5, (selector, contrast)


def whole_on_paper(page: Browser) -> None:
    """No column is cut there."""
    page.look(PAPER, media="print")
    found = page.ask(CUT) + page.ask(WIDE)
    assert found == [], found
    assert page.print().startswith(b"%PDF-")


def leads(page: Browser, report: Path) -> list[str]:
    """The contents lead to each part, and open what is folded; on paper all is open. The parts."""
    page.look(1280)
    page.open(report)
    links = page.ask(
        "[...document.querySelectorAll('.contents a')].map(e => [e.innerText, e.hash])"
    )
    heads = page.ask("[...document.querySelectorAll('h2')].map(e => e.innerText)")
    assert heads and [name for name, _ in links] == heads
    folded = page.ask(FOLDED)
    assert folded and not any(shown for _, shown in folded)
    for name, _ in folded:
        page.ask(f"location.hash = {json.dumps(dict(links)[name])}")
        page.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        assert [name, True] in page.ask(FOLDED), name
    page.open(report)
    page.look(1280, media="print")
    assert all(shown for _, shown in page.ask(FOLDED))
    page.look(1280)
    return heads


@pytest.fixture(scope="module")
def page(results: Path) -> Iterator[Browser]:
    """A module's report."""
    with browser() as it:
        it.open(results / "report.html")
        yield it
