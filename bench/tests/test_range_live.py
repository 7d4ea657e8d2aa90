"""The user interface with a real federate: terminal, web page, neither."""

import asyncio
import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from browser import PROGRAM, browser, fits, readable, whole_on_paper
from ranges import FOM, NEEDED, RANGEFED
from runs import LIMIT_S, RTI_ROOT
from test_range_ring import (
    Live,
    child,
    ended,
    lapped,
    measuring,
    meet as meet,  # the fixture
    started,
)

from starling_bench.by_hand import live
from starling_bench.times import samples

pytestmark = NEEDED
UNLIKE = "clocks of unlike hosts are not compared"


def words(meet: list[str], station: int) -> list[str]:
    """The command of a federate that others show."""
    return [RANGEFED, "--lines", "--await", "--every-ms", "100", *meet, "--name", f"f{station}",
            "--station", str(station), "--hz", "60"]  # fmt: skip


async def until(condition) -> None:
    """Waits for what comes."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_the_terminal_shows_what_the_reader_says(meet):
    other = measuring(started(meet, 2))

    async def look() -> None:
        reader = live.Reader(words(meet, 1))
        app = live.made(reader, 33.0)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(lambda: reader.state.get("state") == 1)
            await pilot.press("s")
            await until(lambda: 2 in reader.points)
            await pilot.pause(0.3)
            table = app.query_one("#federates")
            rows = [table.get_row_at(n) for n in range(table.row_count)]
            assert [row[0] for row in rows] == ["1", "2"]
            assert rows[0][3] == "own" and float(rows[1][3]) > 0
            assert "measuring" in str(app.query_one("#state").render())
            # What was missed is told, and seen.
            await asyncio.to_thread(lapped, reader._process.pid)
            await until(lambda: reader.wrong and reader.notes)
            await pilot.pause(0.3)
            state = app.query_one("#state").render()
            assert re.search(r"OVERRUN: \d+ elements missed", str(state))
            assert [str(span.style) for span in state.spans] == ["bold red"]
            assert "overrun: " in str(app.query_one("#notes").render())
            await pilot.press("r")
            await until(lambda: reader.ended is not None)
        assert reader.ended["code"] == 0

    asyncio.run(look())
    ended(other)


@pytest.fixture
def execution(tmp_path, monkeypatch) -> list[str]:
    """The options of federates on an rtiexec of their own, which the first of them starts."""
    for name, value in {
        "LD_LIBRARY_PATH": f"{RTI_ROOT}/lib", "STARLING_NET_RUN_DIR": str(tmp_path),
        "STARLING_START_PROGRAM": f"{RTI_ROOT}/bin/starling", "STARLING_START_IDLE_EXIT_S": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return ["--adapter", "hla1516e", "--federation", "x", "--fom", str(FOM), "--live", "--normal"]


def refused(options: list[str], station: int, enter: str) -> str:
    """What a federate says that is not let in."""
    one = Live(*options, "--name", f"f{station}", "--station", str(station), "--enter", enter)
    code, said = one.rest()
    assert code == 1 and one.lines[-1]["event"] == "ended"
    return said


def test_a_federation_execution_is_created_or_joined_as_asked(execution):
    there_is_none = "rangefed: there is no federation execution 'x'\n"
    assert refused(execution, 1, "join") == there_is_none
    first = started(execution, 1, "--enter", "create")
    there_is_one = "rangefed: federation execution 'x' is there already\n"
    assert refused(execution, 2, "create") == there_is_one
    second = started(execution, 2, "--enter", "join")
    for one in (second, first):
        one.say("resign")
        assert one.rest()[0] == 0


def test_without_federation_executions_none_is_created(meet):
    said = "rangefed: plain TCP 1 has no federation executions to create or to join\n"
    assert refused(meet, 1, "create") == said


def words_of(process: Path) -> str:
    """Its command line."""
    with contextlib.suppress(OSError):
        return process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def nothing_stays(shown: int, tmp_path: Path) -> None:
    """Neither reader nor interface of who showed them, nor its directory."""
    deadline = time.monotonic() + LIMIT_S
    while [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path) in words_of(p)]:
        assert time.monotonic() < deadline, "its interface is still there"
        time.sleep(0.05)
    assert not list(Path(tempfile.gettempdir()).glob(f"starling-bench-{shown}-*"))


def get(address: str, path: str, method: str = "GET") -> tuple[int, bytes]:
    """What the page's server answers, without reading streams."""
    base, _, key = address.partition("/?")
    try:
        with urlopen(Request(f"{base}{path}{key}", method=method), timeout=LIMIT_S) as said:
            return said.status, said.read()
    except OSError as e:
        return getattr(e, "code", 0), b""


def test_the_web_page_draws_ten_times_a_second_without_a_network(meet):
    if not PROGRAM:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no Chromium")
    other = measuring(started(meet, 2))
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--show", "web"]
    at = meet[meet.index("--local-settings") + 1]
    command += ["--adapter", "tcp", "--connect", at, "--federation", "x", "--rangefed", RANGEFED,
                "--hz", "60", "--normal", "--fom", str(FOM)]  # fmt: skip
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = shown.stdout.readline().strip()
        with browser() as page:
            page.events.clear()
            page.call("Page.navigate", url=address)
            ask = page.ask
            deadline = time.monotonic() + LIMIT_S

            def wait(expression: str) -> None:
                while not ask(expression):
                    assert time.monotonic() < deadline, expression
                    time.sleep(0.05)

            wait("document.querySelector('button') && document.body.dataset.drawn > 0")
            ask("document.querySelector('[data-word=start]').click()")
            wait("Object.keys(points).includes('2') && points[2].length > 20")
            # The plot is not empty, and the table has both.
            assert ask("document.querySelectorAll('#federates tr').length") == 2
            assert ask("""(() => {const c = canvas.getContext('2d'), d =
                c.getImageData(0, 0, canvas.width, canvas.height).data; let n = 0;
                for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n > 500;})()""")
            counts = ask("points[2].map(p => p[0])")
            assert counts == sorted(set(counts))
            # By the page's own clock, of many times that it draws. A busy machine holds up some of
            # them; a page that draws less often has none so close to each other.
            ask("""window.at = [];
                { const one = draw; draw = () => { one(); at.push(performance.now()); }; }""")
            wait("at.length > 40")
            gaps = sorted(later - one for one, later in pairwise(ask("at")))
            assert gaps[len(gaps) // 4] <= 125, gaps
            # What was missed is told, and seen.
            lapped(child(shown.pid))
            wait("document.getElementById('state').textContent.includes('OVERRUN: ')")
            wait("document.getElementById('notes').textContent.includes('overrun: ')")
            assert ask("document.getElementById('state').className") == "over"
            # Nothing is fetched from elsewhere.
            asked = [e["params"]["request"]["url"] for e in page.events
                     if e["method"] == "Network.requestWillBeSent"]  # fmt: skip
            assert asked and all(url.startswith(address.partition("/?")[0]) for url in asked)
            ask("document.querySelector('[data-word=resign]').click()")
            wait("document.getElementById('state').textContent.startsWith('ended')")
        assert shown.wait(LIMIT_S) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            shown.kill()
        shown.communicate()
    ended(other)


def test_the_page_can_be_read_on_desk_telephone_and_paper_light_and_dark():
    """With all that it may show: ten federates, some late, elements that were missed."""
    if not PROGRAM:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("there is no Chromium")
    reader = live.Reader(["true"])
    for count in range(1, 100):
        late = [[n, 1_000_000 + count, 10**15, n * 2_000_000] for n in range(1, 11)]
        late[-1][-1] = -1  # of a host with a clock of its own
        element = {"event": "element", "own": 1, "federates": late}
        reader._hear(json.dumps(element).encode())
    state = {"event": "state", "state": 2, "logging": True, "elements": 1_000_000, "overrun": 100,
             "dropped": 3, "deadlines_missed": 1000, "deadlines_late": 2000}  # fmt: skip
    reader._hear(json.dumps(state).encode())
    reader.notes.append("rangefed: overrun: 100 elements of the ring were missed " * 3)

    def look(address: str) -> None:
        with browser() as page:
            page.call("Page.navigate", url=address)
            deadline = time.monotonic() + LIMIT_S
            while not page.ask("document.body && document.body.dataset.drawn > 1"):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            cells = "[...document.querySelectorAll('#federates td')].map(c => c.textContent)"
            assert page.ask(cells)[3::4] == ["own", *(f"{n * 2}.000" for n in range(2, 10)),
                                             "not known"]  # fmt: skip
            assert page.ask("document.getElementById('state').textContent").endswith(UNLIKE)
            fits(page, 1280, 390)
            for dark in (False, True):
                readable(page, dark, "h1", "#state.over", "td", "td.over", "th", "button", "#notes")
            whole_on_paper(page)

    async def serve() -> None:
        async with live.Web(reader, 10.0) as web:
            await asyncio.to_thread(look, web.address)

    asyncio.run(serve())


def test_a_station_that_comes_again_is_drawn():
    """Its message counts begin anew; what is no longer kept is not sent twice."""
    reader, said = live.Reader(["true"]), []

    def element(count: int) -> None:
        line = {"event": "element", "own": 1, "federates": [[2, count, 0, 1_000_000]]}
        reader._hear(json.dumps(line).encode())

    class Writer:
        def write(self, data: bytes) -> None:
            if data.startswith(b"data: "):
                said.append(json.loads(data.removeprefix(b"data: ")))

        async def drain(self) -> None:
            if len(said) == 1:
                element(1)
                element(2)
            elif len(said) == 3:
                reader.ended = {"event": "ended"}

    for count in range(1, 1000):
        element(count)
    asyncio.run(live.Web(reader, 10.0)._events(Writer()))
    drawn = [[count for count, _ in line["points"]["2"]] for line in said]
    assert drawn == [list(range(400, 1000)), [1, 2], []]


def test_the_page_needs_its_key():
    async def look() -> None:
        reader = live.Reader(["true"])
        async with live.Web(reader, 10.0) as web:
            loop = asyncio.get_running_loop()
            at = web.address.partition("key=")[0]
            for path, method in (("/?key=", "GET"), ("/say?word=resign&key=", "POST")):
                without = await loop.run_in_executor(None, get, at + "/?x", path, method)
                assert without[0] == 403
            status, body = await loop.run_in_executor(
                None, get, web.address.replace("/?key=", "/?"), "/?key=", "GET"
            )
            assert status == 200 and b"budget = 10.0" in body and b"http" not in body
            assert b"`budget ${budget} ms`" in body

    asyncio.run(look())


def test_without_a_window_there_are_lines(meet, tmp_path):
    other = measuring(started(meet, 2))
    at = meet[meet.index("--local-settings") + 1]
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless"]
    command += ["--adapter", "tcp", "--connect", at, "--federation", "x", "--rangefed", RANGEFED,
                "--hz", "30", "--normal", "--out", str(tmp_path / "log")]  # fmt: skip
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    while not any("2" in line["federates"] for line in lines if line["event"] == "state"):
        line = shown.stdout.readline()
        assert line, shown.communicate()
        lines.append(json.loads(line))
    shown.terminate()
    _, err = shown.communicate(timeout=LIMIT_S)
    # It has left in good order, and nothing stays behind.
    assert shown.returncode == 0, err
    mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path) in words_of(p)]
    assert mine == []
    assert (tmp_path / "log" / "samples_test0_federate.raw").stat().st_size > 0
    said = "messages, 0 passed over in 0 places, 0 times back"
    assert re.fullmatch(rf"logged in {tmp_path}/log: federate 2: [1-9]\d* {said}\n", err), err
    assert (tmp_path / "log" / "elements_test0_federate.raw").stat().st_size > 0
    # Another session's log is not written over.
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2 and "STL-OUT-002: there is the log of an earlier" in done.stderr
    ended(other)


@pytest.mark.parametrize("how", ["group", "ctrl+c", "gone"])
def test_it_ends_as_a_terminal_ends_its_programs(how, meet, tmp_path):
    """Ctrl-C without a window is a signal to those of the terminal, not to the reader, whose
    interface resigns; within one it is a key; and a terminal that is gone takes all along."""
    at = meet[meet.index("--local-settings") + 1]
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--adapter", "tcp",
               "--connect", at, "--federation", "x", "--rangefed", RANGEFED, "--normal",
               "--out", str(tmp_path / "log")]  # fmt: skip
    leads = {"start_new_session": True}
    if how == "group":
        shown = subprocess.Popen([*command, "--headless"], stdout=subprocess.PIPE, text=True,
                                 **leads)  # fmt: skip
        assert '"event"' in shown.stdout.readline()
    else:
        here, there = pty.openpty()
        shown = subprocess.Popen(command, stdin=there, stdout=there, stderr=there,
                                 env=os.environ | {"TERM": "xterm"}, **leads)  # fmt: skip
        os.close(there)
        drawn = b""
        while b"resign and end" not in drawn:
            drawn += os.read(here, 1 << 16)
        deadline = time.monotonic() + LIMIT_S
        while b"SCHED_" not in drawn:  # it measures
            assert time.monotonic() < deadline, drawn[-500:]
            os.write(here, b"s")  # who has just begun to draw may not read yet
            again = time.monotonic() + 0.5
            while time.monotonic() < again:
                if select.select([here], [], [], 0.1)[0]:
                    drawn += os.read(here, 1 << 16)
    if how == "group":
        os.killpg(shown.pid, signal.SIGINT)
    elif how == "ctrl+c":
        os.write(here, b"\x03")
        while shown.poll() is None and time.monotonic() < deadline:
            if select.select([here], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    os.read(here, 1 << 16)
    else:
        os.close(here)
    assert shown.wait(LIMIT_S) == (1 if how == "gone" else 0)
    nothing_stays(shown.pid, tmp_path)


def test_who_shows_is_killed_and_nothing_stays(meet, tmp_path):
    at = meet[meet.index("--local-settings") + 1]
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless", "--normal"]
    command += ["--adapter", "tcp", "--connect", at, "--federation", "x", "--rangefed", RANGEFED,
                "--out", str(tmp_path / "log")]  # fmt: skip
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert any('"state": 2' in line for line in shown.stdout)
    shown.kill()
    shown.communicate()
    nothing_stays(shown.pid, tmp_path)


def test_delivery_times_of_unlike_clocks_are_not_told(meet, monkeypatch):
    monkeypatch.setenv("BENCH_CLOCK_OFFSET_NS", str(10**10))
    other = measuring(started(meet, 2))
    monkeypatch.delenv("BENCH_CLOCK_OFFSET_NS")
    at = meet[meet.index("--local-settings") + 1]
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless", "--normal"]
    command += ["--adapter", "tcp", "--connect", at, "--federation", "x", "--rangefed", RANGEFED]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in map(json.loads, shown.stdout):
        if line["event"] == "state" and "2" in line["federates"]:
            break
    else:
        pytest.fail("nothing came")
    assert line["federates"]["2"][1] is None and line["federates"]["1"][1] == 0
    assert line["not_known"] == UNLIKE
    shown.terminate()
    shown.communicate(timeout=LIMIT_S)
    ended(other)


@pytest.mark.parametrize("ns", [-1, -(10**13), 4 * 10**12])
def test_a_delivery_time_that_can_be_none_is_in_no_budget(ns):
    element = {"event": "element", "own": 1, "federates": [[1, 5, 0, 0], [2, 5, 0, ns]]}
    state = {"event": "state", "state": 2, "logging": True, "elements": 5, "overrun": 0,
             "dropped": 0, "deadlines_missed": 0, "deadlines_late": 0}  # fmt: skip
    say = f"print({json.dumps(element)!r}); print({json.dumps(state)!r}, flush=True)"
    code = f"import sys; {say}; sys.stdin.readline()"

    async def look() -> None:
        reader = live.Reader([sys.executable, "-c", code])
        app = live.made(reader, 33.0)
        async with app.run_test(size=(200, 30)) as pilot:
            await until(lambda: reader.state)
            await pilot.pause(0.3)
            table = app.query_one("#federates")
            assert table.get_row_at(1)[3:] == ["not known", ""]
            assert str(app.query_one("#state").render()).endswith(UNLIKE)
            await pilot.press("q")
            await until(lambda: not app.is_running)
        assert reader.points == {}

    asyncio.run(look())


def test_an_interface_that_is_stopped_can_be_left(meet, tmp_path):
    """It can't resign: that is said, and it is told to end."""
    at = meet[meet.index("--local-settings") + 1]
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless", "--normal"]
    command += ["--adapter", "tcp", "--connect", at, "--federation", "x", "--rangefed", RANGEFED,
                "--out", str(tmp_path / "log")]  # fmt: skip
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    state: dict = {}
    while state.get("state") != 2:
        line = json.loads(shown.stdout.readline())
        state = line if line["event"] == "state" else state
    interface = state["interface"]
    os.kill(interface, signal.SIGSTOP)
    shown.terminate()
    out, err = shown.communicate(timeout=LIMIT_S)
    said = f"the interface, process {interface}, is stopped (SIGSTOP, or a debugger) and can't"
    assert shown.returncode == 2 and said in out
    # It went on for that, and left in good order.
    assert "rangefed: ended by signal 15" in out
    assert err == f"logged in {tmp_path}/log: nothing\n"
    assert not Path(f"/proc/{interface}").exists()


def test_what_a_log_by_hand_passes_over_is_counted(tmp_path):
    """A stretch without logging, one that was lost, two out of order, and a new beginning."""
    counts = [*range(1, 11), *range(21, 30), 31, 33, 32, *range(1, 6)]
    log = np.zeros(len(counts) + 2, dtype=samples.RAW)
    log["count"], log["sender"] = [*counts, 7, 8], [*[2] * len(counts), 1, 1]
    log.tofile(tmp_path / "samples_test0_me.raw")
    assert samples.logged(tmp_path, 0, "me") == [
        "federate 1: 2 messages, 0 passed over in 0 places, 0 times back",
        "federate 2: 27 messages, 12 passed over in 3 places, 2 times back",
    ]
    assert samples.logged(tmp_path, 0, "none") == ["nothing"]
    (tmp_path / "samples_test0_none.raw").touch()
    assert samples.logged(tmp_path, 0, "none") == ["nothing"]


@pytest.mark.parametrize("name", ["**", "e", "a/b", "n" * 300])
def test_only_a_log_of_the_same_name_is_in_the_way(name, meet, tmp_path):
    """Here the program refuses: its name, or an execution that is not there to be joined."""
    (tmp_path / "samples_test0_f_e.raw").touch()
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless", "--name",
               name, "--adapter", "tcp", "--rangefed", RANGEFED, "--normal", "--fom", "missing",
               "--out", str(tmp_path), "--connect", "unix:" + str(tmp_path / "nobody")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode in (1, 2, 3) and done.stderr == "", done.stderr
    assert "STL-OUT-002" not in done.stdout and '"event": "ended"' in done.stdout


@pytest.mark.parametrize(("more", "said"), [
    (["--hz", "60"], "--hz is an interface's"), (["--bytes", "64"], "--bytes is an interface's"),
    (["--show", "web"], "nobody knows the period"),
])  # fmt: skip
def test_who_looks_at_an_interface_that_runs_asks_nothing_else_of_it(more, said):
    more = [*more, "--headless"] if more[0] != "--show" else more
    done = subprocess.run(
        [sys.executable, "-m", "starling_bench", "range", "live", "--attach", "1", "--adapter",
         "tcp", "--rangefed", RANGEFED, *more], capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2 and f"STL-LIV-003: {said}" in done.stderr, done.stderr


def test_an_interface_that_runs_is_looked_at(meet, tmp_path):
    """Its log goes on, under its own name."""
    one = measuring(started(meet, 1, "--out", str(tmp_path)))
    other = measuring(started(meet, 2))
    interface = one.interface
    one.process.kill()
    one.process.wait()
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--headless", "--adapter",
               "tcp", "--rangefed", RANGEFED, "--attach", str(interface), "--out",
                str(tmp_path)]  # fmt: skip
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in shown.stdout:
        event = json.loads(line)
        if event["event"] == "state" and event["elements"] > 0 and "2" in event["federates"]:
            break
    else:
        pytest.fail("nothing came")
    os.kill(interface, signal.SIGTERM)
    out, err = shown.communicate(timeout=LIMIT_S)
    *_, last = map(json.loads, out.splitlines())
    assert last["event"] == "ended"
    assert re.search(rf"logged in {tmp_path}: federate 2: [1-9]\d* messages", err), err
    ended(other)


def test_whoever_stops_looking_leaves_nothing_running():
    """Who reads the lines has gone: the program is ended all the same."""
    code = (
        "import sys, time; print('a note', file=sys.stderr, flush=True)\n"
        'print(\'{"event": "overrun"}\', flush=True); time.sleep(1000)'
    )

    def gone(_: dict) -> None:
        raise BrokenPipeError

    async def look() -> live.Reader:
        reader = live.Reader([sys.executable, "-c", code])
        reader.heard.append(gone)
        with pytest.raises(BrokenPipeError):
            await reader.run()
        return reader

    assert asyncio.run(look())._process.returncode == -signal.SIGTERM


def test_who_is_signalled_while_it_ends_is_known_by_its_own_code():
    """Not by none, as where whoever signals it looks first whether it has ended."""
    code = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"event": "overrun"}\', flush=True); raise SystemExit(3)'
    )

    async def look() -> int:
        reader, said = live.Reader([sys.executable, "-c", code]), []
        reader.heard.append(said.append)
        running = asyncio.ensure_future(reader.run())
        while not running.done():
            if said:
                reader.end()
            await asyncio.sleep(0)
        return running.result()

    for _ in range(10):
        assert asyncio.run(asyncio.wait_for(look(), LIMIT_S)) == 3


def test_a_reader_that_is_killed_is_not_waited_for():
    """Though what it had started lives on, and holds its pipes."""
    code = (
        "import os, signal, subprocess; other = subprocess.Popen(['sleep', '1000'])\n"
        'print(\'{"event": "own", "pid": %d}\' % other.pid, flush=True)\n'
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    reader, said = live.Reader([sys.executable, "-c", code]), []
    reader.heard.append(said.append)
    assert asyncio.run(asyncio.wait_for(reader.run(), LIMIT_S)) == 1
    started = next(line["pid"] for line in said if line["event"] == "own")
    os.kill(started, signal.SIGKILL)
    assert reader.words() == "ended: the reader was ended by signal 9"


def test_without_a_terminal_that_is_said():
    """At once: what is drawn for nobody would not end, either."""
    command = [sys.executable, "-m", "starling_bench", "range", "live", "--adapter", "tcp",
               "--rangefed", RANGEFED, "--normal"]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2 and "STL-LIV-002" in done.stderr and "--headless" in done.stderr


@pytest.mark.parametrize("how", ["signal", "key"])
@pytest.mark.parametrize("obeys", [True, False])
def test_a_signal_or_a_key_ends_the_terminals_program(obeys, how):
    """In good order if the reader obeys, and with the second one if it does not, until when all is
    drawn; what it says last may look like markup."""
    waits = "for word in sys.stdin: sys.exit(3)" if obeys else "time.sleep(1000)"
    code = f"import sys, time; print('[/x] [b]', file=sys.stderr, flush=True)\n{waits}"

    async def look() -> None:
        reader = live.Reader([sys.executable, "-c", code])
        app = live.made(reader, 33.0)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(lambda: reader.notes)
            await pilot.pause(0.3)
            assert "[/x] [b]" in str(app.query_one("#notes").render())
            for _ in range(1 if obeys else 2):
                if how == "signal":
                    os.kill(os.getpid(), signal.SIGTERM)
                else:
                    await pilot.press("q")
                await pilot.pause(0.1)
            await until(lambda: not app.is_running)
        assert app.return_code == (3 if obeys else 1)

    asyncio.run(look())
