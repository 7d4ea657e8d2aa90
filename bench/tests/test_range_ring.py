"""The interface and its user interface: events, the ring's proof, who outlives whom."""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ranges import FOM, NEEDED, RANGEFED
from runs import LIMIT_S

from starling_bench.times.samples import RAW

pytestmark = NEEDED
# Where counters stand in the shared memory (shared.hpp), and its samples.
ELEMENTS_AT, DROPPED_AT, TAKEN_AT, SAMPLES_AT = 448, 15880, 16000, 16040
RING, SAMPLES, SENDERS = 60, 1 << 16, 11


# What a test has started: nothing of it stays behind.
STARTED: list["Live"] = []


class Live:
    """A rangefed that measures by itself, and the lines that it says."""

    def __init__(
        self, *options: str, attach: int = 0, program: Path | str = RANGEFED or ""
    ) -> None:
        command = [program, "--lines"]
        command += ["--attach", str(attach)] if attach else ["--await"]
        command += options
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.lines: list[dict] = []
        self._rest = b""
        STARTED.append(self)

    def say(self, word: str) -> None:
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def until(self, wanted) -> dict:
        """The next line that is wanted."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            line = self._line(deadline)
            self.lines.append(json.loads(line))
            if wanted(self.lines[-1]):
                return self.lines[-1]

    def _line(self, deadline: float) -> bytes:
        """The next line, past Python's buffers, into which nobody can look."""
        out = self.process.stdout.fileno()
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([out], [], [], left)[0], self.lines[-3:]
            part = os.read(out, 1 << 16)
            assert part, (self.process.wait(LIMIT_S), self.process.stderr.read(), self.lines[-3:])
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def rest(self) -> tuple[int, str]:
        """Its exit code and errors; what else it says is read, too."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        whole = self._rest + out.encode()
        self.lines += [json.loads(line) for line in whole.splitlines()]
        return self.process.returncode, err

    @property
    def interface(self) -> int:
        """The process that it started."""
        return child(self.process.pid)

    def kill(self) -> None:
        """It, and the interface that it started."""
        for pid in (*self._children(), self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def _children(self) -> list[int]:
        with contextlib.suppress(OSError):
            if self.process.poll() is None and self.interface:
                return [self.interface]
        return []

    def elements(self) -> list[int]:
        return [line["number"] for line in self.lines if line["event"] == "element"]


def child(pid: int) -> int:
    """What a process has started first; 0: nothing."""
    return int((Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or ["0"])[0])


def lapped(reader: int) -> None:
    """A reader stands still until its interface has gone through the ring twice: for two seconds at
    60 Hz, and however long a busy machine takes for as many."""
    interface = child(reader)
    os.kill(reader, signal.SIGSTOP)
    before, deadline = written(interface), time.monotonic() + LIMIT_S
    while written(interface) < before + 2 * RING:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(reader, signal.SIGCONT)


def written(interface: int) -> int:
    """How many elements an interface has made."""
    return struct.unpack("<Q", shared(interface, ELEMENTS_AT, 8))[0]


def dropped(interface: int) -> list[int]:
    """How many samples of each sender it had no room for."""
    return list(struct.unpack(f"<{SENDERS}Q", shared(interface, DROPPED_AT, 8 * SENDERS)))


def shared(interface: int, at: int, size: int) -> bytes:
    """What stands in the memory that an interface shares."""
    for fd in Path(f"/proc/{interface}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "memfd:range" in os.readlink(fd):
                with (
                    fd.open("rb") as memory,
                    mmap.mmap(memory.fileno(), 0, prot=mmap.PROT_READ) as all_,
                ):
                    return all_[at : at + size]
    raise AssertionError("there is no shared memory")


def runs(pid: int) -> bool:
    """Whether a process has not ended; nobody may have taken note of that yet."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def meet() -> Iterator[list[str]]:
    """The options of federates that meet each other."""
    with tempfile.TemporaryDirectory(prefix="rg-") as directory:
        at = f"unix:{directory}/meet"
        program = Path(RANGEFED).with_name("bench-meet")
        server = subprocess.Popen([program, at], stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline().startswith("ready")
        yield ["--adapter", "tcp", "--local-settings", at, "--federation", "x", "--fom", str(FOM),
               "--live", "--normal"]  # fmt: skip
        server.kill()
        server.communicate()
        while STARTED:
            STARTED.pop().kill()


def started(meet: list[str], station: int, *options: str) -> Live:
    more = ["--name", f"f{station}", "--station", str(station), "--hz", "60", *options]
    live = Live(*meet, *more)
    live.until(lambda line: line["event"] == "state" and line["state"] == 1)
    return live


def measuring(live: Live) -> Live:
    live.say("start")
    live.until(lambda line: line["event"] == "element")
    return live


def ended(live: Live) -> dict:
    live.say("resign")
    code, err = live.rest()
    assert code == 0, err
    (end,) = [line for line in live.lines if line["event"] == "ended"]
    return end


def test_two_federates_show_each_other(meet):
    one, other = measuring(started(meet, 1)), measuring(started(meet, 2))
    seen = one.until(lambda line: line["event"] == "element" and len(line["federates"]) == 2)
    (handle, count, _, delivery) = next(f for f in seen["federates"] if f[0] == 2)
    assert handle == 2 and count >= 1 and delivery > 0
    for live in (one, other):
        ended(live)


def test_elements_come_once_and_in_order(meet):
    live = measuring(started(meet, 1))
    live.until(lambda line: line["event"] == "element" and line["number"] >= 60)
    ended(live)
    numbers = live.elements()
    state = [line for line in live.lines if line["event"] == "state"][-1]
    # All of them, but for those that a busy machine made it miss, which it counted.
    assert numbers == sorted(set(numbers))
    assert len(numbers) == state["elements"] == numbers[-1] - state["overrun"]


def test_a_reader_that_was_stopped_says_what_it_missed(meet):
    live = measuring(started(meet, 1))
    lapped(live.process.pid)
    told = live.until(lambda line: line["event"] == "overrun")
    assert told["missed"] >= RING
    live.say("resign")
    code, err = live.rest()
    # It is an error in the log, and no reason to end.
    said = f"rangefed: overrun: {told['missed']} elements of the ring were missed\n"
    assert code == 0 and said in err, err
    numbers = live.elements()
    missing = set(range(1, numbers[-1] + 1)) - set(numbers)
    state = [line for line in live.lines if line["event"] == "state"][-1]
    # The number is exact: what is no line was counted.
    assert len(missing) == state["overrun"]


def test_an_interface_that_is_killed_is_told(meet):
    live = measuring(started(meet, 1))
    os.kill(live.interface, signal.SIGKILL)
    code, err = live.rest()
    assert code == 1 and "the interface was ended by signal 9" in err
    assert live.lines[-1]["event"] == "ended"


def test_a_reader_that_is_killed_is_replaced(meet):
    live = measuring(started(meet, 1))
    interface = live.interface
    live.process.kill()
    live.process.wait()  # its pipes are the interface's, too
    before = written(interface)
    deadline = time.monotonic() + LIMIT_S
    # It measures on.
    while written(interface) < before + 2 * RING:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    again = Live(attach=interface)
    first = again.until(lambda line: line["event"] == "element")["number"]
    assert first > before
    again.until(lambda line: line["event"] == "element" and line["number"] >= first + 10)
    again.say("resign")
    code, err = again.rest()
    assert code == 0, err
    assert again.lines[-1]["event"] == "ended"
    while runs(interface):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_new_readers_log_goes_on_with_the_killed_ones(meet, tmp_path):
    """Nothing of it is missing, nothing there twice, whatever the killed one had not finished."""
    log = tmp_path / "samples_test0_f1.raw"
    live = measuring(started(meet, 1, "--out", str(tmp_path)))
    other = measuring(started(meet, 2))
    live.until(lambda _: log.exists() and log.stat().st_size > RAW.itemsize * 60)
    interface = live.interface
    live.process.kill()
    live.process.wait()
    before = log.read_bytes()
    (taken,) = struct.unpack("<Q", shared(interface, TAKEN_AT, 8))
    deadline = time.monotonic() + LIMIT_S
    seen = written(interface)
    while written(interface) < seen + 10:  # as the other's, which has the same rate
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Two that it had written and not yet marked as taken, and a half.
    at = SAMPLES_AT + taken % SAMPLES * RAW.itemsize
    rest = shared(interface, at, 3 * RAW.itemsize)
    whole = before[: len(before) // RAW.itemsize * RAW.itemsize]
    log.write_bytes(whole + rest[: 2 * RAW.itemsize + 10])
    again = Live("--out", str(tmp_path), attach=interface)
    again.until(lambda _: log.stat().st_size > len(before) + RAW.itemsize * 60)
    for one in (other, again):
        one.say("resign")
        assert one.rest()[0] == 0
    found = log.read_bytes()
    assert found.startswith(whole) and len(found) % RAW.itemsize == 0
    counts = np.frombuffer(found, dtype=RAW)["count"]
    assert list(counts) == list(range(1, len(counts) + 1))


def test_one_reader_at_a_time(meet, tmp_path):
    """Another one would take what the first has not read yet."""
    log = tmp_path / "samples_test0_f1.raw"
    live = measuring(started(meet, 1, "--out", str(tmp_path)))
    other = measuring(started(meet, 2))
    done = subprocess.run(
        [RANGEFED, "--lines", "--attach", str(live.interface)],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert f"process {live.interface} has a reader" in done.stderr
    live.until(lambda _: log.exists() and log.stat().st_size > RAW.itemsize * 60)
    for one in (other, live):
        one.say("resign")
        assert one.rest()[0] == 0
    counts = np.frombuffer(log.read_bytes(), dtype=RAW)["count"]
    assert list(counts) == list(range(1, len(counts) + 1))


def test_a_word_that_is_no_text_ends_nobody(meet):
    live = measuring(started(meet, 1))
    live.process.stdin.buffer.write(b"\xff\xfe\n")
    live.process.stdin.flush()
    live.until(lambda line: line["event"] == "unknown")
    live.say("resign")
    assert live.rest()[0] == 0


def test_a_reader_that_can_not_go_on_ends_its_interface(meet, tmp_path):
    """Its log can't be written: nobody else would end the interface."""
    other = measuring(started(meet, 2))
    live = started(meet, 1, "--out", str(tmp_path / "missing"))
    interface = live.interface
    live.say("start")
    code, err = live.rest()
    assert code == 2 and f"can't write {tmp_path}/missing/samples_test0_f1.raw" in err
    assert not runs(interface)
    other.say("resign")
    assert other.rest()[0] == 0


@pytest.mark.parametrize("what", ["samples", "elements"])
def test_an_earlier_sessions_log_is_not_written_over(meet, tmp_path, what):
    log = tmp_path / f"{what}_test0_f1.raw"
    log.write_bytes(b"kept")
    done = subprocess.run(
        [RANGEFED, *meet, "--name", "f1", "--station", "1", "--out", tmp_path],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2 and f"{log} is of an earlier session; give another" in done.stderr
    assert log.read_bytes() == b"kept"


@pytest.mark.parametrize("name", ["a/b", "..", "", "--attach", "ä", "a b", "n" * 64])
def test_a_name_that_is_no_files_is_refused(meet, name):
    done = subprocess.run(
        [RANGEFED, *meet, "--name", name, "--station", "1"],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2 and f"'{name}' is no name; use up to 63 letters" in done.stderr


def forged(size: int, at: dict[int, int], sealed: bool = True) -> int:
    """Memory as an interface shares it, of this process."""
    memory = os.memfd_create("range", os.MFD_ALLOW_SEALING)
    os.truncate(memory, size)
    for where, value in at.items():
        os.pwrite(memory, struct.pack("<Q", value), where)
    if sealed:
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return memory


# Of what is shared: its size, and where its magic, state, name and number of samples lie.
SIZE, MAGIC, STATE, NAME, PUT = 1588928, 0, 20, 40, 15872
VERSION = int.from_bytes(b"SLRANG03", "little")


@pytest.mark.parametrize(("size", "at"), [
    (0, {}), (4096, {}), (SIZE + 64, {MAGIC: VERSION}), (SIZE, {}), (SIZE, {MAGIC: VERSION - 1}),
    (SIZE, {MAGIC: VERSION, STATE: 4}), (SIZE, {MAGIC: VERSION, PUT: (1 << 16) + 1}),
    (SIZE, {MAGIC: VERSION} | {NAME + 8 * n: (1 << 64) - 1 for n in range(8)}),
])  # fmt: skip
def test_memory_that_no_interface_shares_is_not_read(size, at):
    memory = forged(size, at)
    try:
        done = subprocess.run(
            [RANGEFED, "--lines", "--attach", str(os.getpid())],
            capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
    finally:
        os.close(memory)
    assert done.returncode == 2 and "is of another version, or what it shares is" in done.stderr


def test_memory_that_could_become_smaller_under_its_reader_is_not_read():
    memory = forged(SIZE, {MAGIC: VERSION}, sealed=False)
    try:
        done = subprocess.run(
            [RANGEFED, "--lines", "--attach", str(os.getpid())],
            capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
    finally:
        os.close(memory)
    assert done.returncode == 2 and "is of another version, or what it shares is" in done.stderr


def test_nobody_makes_an_interfaces_memory_smaller(meet):
    live = measuring(started(meet, 1))
    for path in Path(f"/proc/{live.interface}/fd").iterdir():
        if "memfd:range" not in os.readlink(path):
            continue
        with path.open("r+b") as memory, pytest.raises(PermissionError):
            os.ftruncate(memory.fileno(), 4096)
        break
    else:
        pytest.fail("its memory is not found")
    ended(live)


def waited_s(pid: int) -> float:
    """How long a process that could run was kept from it by others."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def ran_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@pytest.mark.skipif(
    os.geteuid() != 0 and os.environ.get("REQUIRE_ALL") != "1", reason="SCHED_FIFO is root's"
)
def test_events_are_obeyed_where_everything_has_one_cpu(meet):
    """Also with SCHED_FIFO: within 200 ms, and what others on this CPU took meanwhile."""
    meet.remove("--normal")
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        live = started(meet, 1, "--tick-hz", "500")
    finally:
        os.sched_setaffinity(0, cpus)
    reader, interface = live.process.pid, live.interface
    me = os.getpid()

    # Reader and interface keep each other from running, too: that is no excuse of theirs.
    def excused_s() -> float:
        both = (reader, interface), (interface, reader)
        return waited_s(me) + sum(waited_s(one) - ran_s(other) for one, other in both)

    before_s = excused_s()
    began_s = time.monotonic()
    measuring(live)
    live.until(lambda line: line["event"] == "element" and line["number"] >= 30)
    took_s = max(0.0, excused_s() - before_s)
    state = lambda line: line["event"] == "state"  # noqa: E731
    missed = live.until(state)["deadlines_missed"]
    waited = sum(map(waited_s, (me, reader)))
    resigned_s = time.monotonic()
    live.say("resign")
    live.until(lambda line: state(line) and line["state"] != 2)
    # Each turn that the interface has missed since is 2 ms in which it did not run.
    late_s = (live.lines[-1]["deadlines_missed"] - missed) / 500
    late_s += sum(map(waited_s, (me, reader))) - waited
    code, err = live.rest()
    allowed = "SCHED_FIFO 80" in err
    assert code == 0 and (allowed or "SCHED_FIFO is not allowed" in err), err
    assert allowed or os.environ.get("REQUIRE_ALL") != "1", err
    (end,) = [line for line in live.lines if line["event"] == "ended"]
    assert 0 < end["started_ns"] / 1e9 - began_s <= 0.2 + took_s
    assert 0 < end["ended_ns"] / 1e9 - resigned_s <= 0.2 + late_s


def test_logging_is_switched(meet, tmp_path):
    one = measuring(started(meet, 1, "--out", str(tmp_path)))
    other = measuring(started(meet, 2))
    log = tmp_path / "samples_test0_f1.raw"
    one.until(lambda _: log.exists() and log.stat().st_size > 24 * 20)
    one.say("log off")
    one.until(lambda line: line["event"] == "state" and not line["logging"])
    size, samples = log.stat().st_size, one.lines[-1]["samples"]
    one.until(lambda line: line["event"] == "state" and line["samples"] > samples + 20)
    assert log.stat().st_size == size
    one.say("log on")
    one.until(lambda line: line["event"] == "state" and log.stat().st_size > size)
    for live in (one, other):
        ended(live)


def test_a_log_has_whatever_others_send(meet, tmp_path):
    """Also of one who sends at many times the own rate."""
    log = tmp_path / "samples_test0_f1.raw"
    slow = Live(*meet, "--name", "f1", "--station", "1", "--hz", "0.01", "--out", str(tmp_path))
    slow.until(lambda line: line["event"] == "state" and line["state"] == 1)
    slow.say("start")
    fast = Live(*meet, "--name", "f2", "--station", "2", "--hz", "500")
    fast.until(lambda line: line["event"] == "state" and line["state"] == 1)
    measuring(fast)
    # A day of its own updates are 864.
    slow.until(lambda _: log.exists() and log.stat().st_size > 24 * 1000)
    counts = np.fromfile(log, dtype=RAW)["count"]
    assert len(np.unique(counts)) == len(counts)
    for live in (fast, slow):
        ended(live)


def test_a_station_that_comes_again_is_logged(meet, tmp_path):
    """It counts from 1 as it did before: these are other messages."""
    log = tmp_path / "samples_test0_f1.raw"
    one = measuring(started(meet, 1, "--out", str(tmp_path)))
    other = measuring(started(meet, 2))
    one.until(lambda _: log.exists() and log.stat().st_size > 24 * 60)
    ended(other)
    again = measuring(started(meet, 2))
    one.until(lambda _: np.any(np.diff(np.fromfile(log, dtype=RAW)["count"].astype(int)) < 0))
    for live in (again, one):
        ended(live)


def test_a_number_that_another_has_is_told(meet):
    one = measuring(started(meet, 1))
    other = Live(*meet, "--name", "other", "--station", "1", "--hz", "60")
    code, err = other.rest()
    assert code == 1 and "another instrument has the station's number 1" in err
    # This one goes on, though the other has asked whose the number is.
    ended(one)


def test_a_newcomer_with_a_number_that_is_taken_ends_and_nobody_else(meet):
    """Also one that sends before it hears whom the number belongs to."""
    one = measuring(started(meet, 1))
    one.until(lambda line: line["event"] == "element" and line["number"] >= 30)
    for _ in range(3):
        other = Live(*meet, "--name", "other", "--station", "1", "--hz", "400")
        with contextlib.suppress(OSError):
            other.say("start")
        code, err = other.rest()
        assert code == 1 and "another instrument has the station's number 1" in err
    number = one.lines[-1].get("number", 0)
    one.until(lambda line: line["event"] == "element" and line["number"] > number + 30)
    ended(one)


@pytest.mark.parametrize("begun", [True, False])
def test_whoever_has_had_a_number_for_longer_goes_on(meet, begun):
    """Also who sends seldom, or waits for its start: how many messages each has sent is no sign."""
    one = Live(*meet, "--name", "f1", "--station", "1", "--hz", "1")
    one.until(lambda line: line["event"] == "state" and line["state"] == 1)
    if begun:
        measuring(one)
    other = Live(*meet, "--name", "other", "--station", "1", "--hz", "400")
    with contextlib.suppress(OSError):
        other.say("start")
    code, err = other.rest()
    assert code == 1 and "another instrument has the station's number 1" in err
    number = measuring(one).lines[-1]["number"]
    one.until(lambda line: line["event"] == "element" and line["number"] > number)
    ended(one)


def test_of_two_that_come_together_with_one_number_one_goes_on(meet):
    both = [Live(*meet, "--name", name, "--station", "1", "--hz", "60") for name in "ab"]
    for live in both:
        with contextlib.suppress(OSError):
            live.say("start")
    deadline = time.monotonic() + LIMIT_S
    while all(live.process.poll() is None for live in both):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    gone, stays = sorted(both, key=lambda live: live.process.poll() is None)
    code, err = gone.rest()
    assert code == 1 and "another instrument has the station's number 1" in err
    stays.until(lambda line: line["event"] == "element" and line["number"] > 100)
    ended(stays)


def hung_up(live: Live) -> int:
    """Whoever displays is gone, as if it was killed; the exit code of who reads."""
    live.process.stdin.close()
    live.process.stdout.close()
    return live.process.wait(LIMIT_S)


def test_a_reader_whose_display_is_gone_resigns(meet):
    """In good order, as nobody else would end its interface; of one that it has not started it only
    takes leave."""
    live = measuring(started(meet, 1))
    interface = live.interface
    assert hung_up(live) == 0 and not runs(interface)
    live = measuring(started(meet, 1))
    interface = live.interface
    live.process.kill()
    live.process.wait()
    again = Live(attach=interface)
    again.until(lambda line: line["event"] == "element")
    assert hung_up(again) == 0 and runs(interface)
    last = Live(attach=interface)
    last.until(lambda line: line["event"] == "element")
    last.say("resign")
    assert last.rest()[0] == 0


def test_a_display_that_does_not_read_stops_no_log(meet, tmp_path):
    """Its lines are left out, and counted; those that it is told are whole."""
    log = tmp_path / "samples_test0_f1.raw"
    both = [Live(*meet, "--name", f"f{n}", "--station", str(n), "--hz", "500", "--every-ms", "20",
                 *more) for n, more in ((1, ("--out", str(tmp_path))), (2, ()))]  # fmt: skip
    for live in both:
        live.until(lambda line: line["event"] == "state" and line["state"] == 1)
        measuring(live)
    deadline = time.monotonic() + LIMIT_S
    while not log.exists() or log.stat().st_size < RAW.itemsize * 5000:
        assert time.monotonic() < deadline, "the log stands"
        time.sleep(0.05)
    state = both[0].until(lambda line: line.get("lines_left_out"))
    assert state["dropped"] == 0
    for live in reversed(both):
        ended(live)
    counts = np.fromfile(log, dtype=RAW)["count"].astype(int)
    assert np.all(np.diff(counts) == 1)


def test_who_was_stopped_before_it_was_asked_to_resign_has_time_to_go_on(meet):
    live = measuring(started(meet, 1))
    os.kill(live.interface, signal.SIGSTOP)
    time.sleep(6)
    live.say("resign")
    time.sleep(1)
    os.kill(live.interface, signal.SIGCONT)
    code, err = live.rest()
    assert code == 0, err


TRACE_ATTACH, OF_ANY_KIND = 16, 0x40000000  # PTRACE_ATTACH, __WALL


def test_an_interface_that_a_debugger_has_stopped_can_be_left(meet):
    live = measuring(started(meet, 1))
    interface = live.interface
    if ctypes.CDLL(None).ptrace(TRACE_ATTACH, interface, None, None) != 0:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("nobody may be a debugger here")
    os.waitpid(interface, OF_ANY_KIND)
    live.say("resign")
    deadline = time.monotonic() + LIMIT_S
    # Of one that has a debugger this hears first how it ended.
    while os.waitpid(interface, OF_ANY_KIND | os.WNOHANG)[0] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    code, err = live.rest()
    assert code == 2 and "is stopped (SIGSTOP, or a debugger) and can't resign" in err, err


def datagram_ports(pid: int) -> list[int]:
    """Where a process hears datagrams."""
    mine = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            mine.add(os.readlink(fd))
    lines = [line.split() for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
    return [int(one[1].partition(":")[2], 16) for one in lines if f"socket:[{one[9]}]" in mine]


def test_an_answer_is_not_answered(meet):
    """Under a false name of its sender it would go to and fro between two echoes for ever."""
    live = started(meet, 1)
    stamps = struct.Struct("<QIIQQQ")  # echo.cpp: key, to, number, sent, there, back
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as us:
        us.settimeout(LIMIT_S)
        for port in datagram_ports(live.interface):
            us.sendto(stamps.pack(1, 1, 1, 1, 0, 0), ("127.0.0.1", port))
        answer, echo = us.recvfrom(stamps.size)
        assert stamps.unpack(answer)[2] == 1 and stamps.unpack(answer)[4] != 0
        us.sendto(answer, echo)
        us.sendto(stamps.pack(1, 1, 2, 1, 0, 0), echo)
        assert stamps.unpack(us.recv(stamps.size))[2] == 2
    live.say("start")
    ended(live)


def test_a_process_that_is_no_interface_is_told():
    done = subprocess.run(
        [RANGEFED, "--attach", str(os.getpid())], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 2 and "is no interface" in done.stderr
