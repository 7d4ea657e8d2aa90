"""starling-instrument: an instrument program that knows no HLA, built outside the tree."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ranges import NEEDED, RANGEFED
from runs import LIMIT_S, RTI_ROOT
from test_range_ring import meet as meet  # the fixture

pytestmark = NEEDED
ROOT = Path(__file__).parents[2]
HEADER = ROOT / "bench" / "instrument" / "starling_instrument.h"


@pytest.fixture(scope="module")
def radar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built from a copy with nothing but the header and the library."""
    there = tmp_path_factory.mktemp("outside")
    shutil.copy(HEADER, there)
    return built(there, there, Path(RANGEFED).parent)


C, CPP = ("cc", "-std=c99"), ("c++", "-x", "c++", "-std=c++11")


def built(there: Path, include: Path, library: Path, compiler: tuple[str, ...] = C) -> Path:
    """The example there."""
    shutil.copy(ROOT / "examples" / "instrument" / "radar.c", there)
    subprocess.run(
        [*compiler, "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "radar.c",
         "-o", compiler[0] + "-radar", f"-I{include}", f"-L{library}", f"-Wl,-rpath,{library}",
         "-lstarling-instrument", "-lm"],
        cwd=there, check=True,
    )  # fmt: skip
    return there / (compiler[0] + "-radar")


def test_the_interface_has_ten_functions_or_fewer_and_no_word_of_hla():
    text = HEADER.read_text()
    names = {line.split("(")[0].split()[-1].lstrip("*") for line in text.splitlines()
             if line.startswith("STARLING_INSTRUMENT_API")}  # fmt: skip
    assert len(names) == 9
    # The name of an adapter, and a word of the compiler's.
    said = text.lower().replace("hla1516e", "").replace("__attribute__", "")
    for word in ("hla", "federat", "ambassador", "attribute", "reflect", "rti"):
        assert word not in said, word


HZ, TURNS = 20, 500  # of the example's records, and of the turns in which they go out


def see_each_other(radars: list[Path], settings: str, env: dict[str, str]) -> None:
    """Each hears the other at its rate, by the sender's clock; a turn that is left out is late, or
    costs what was to be sent in it."""
    both = [
        subprocess.Popen([radar, f"exercise=x;station={n};{settings}", "4"], env=env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n, radar in enumerate(radars, 1)
    ]  # fmt: skip
    told = []
    for one in both:
        out, err = one.communicate(timeout=LIMIT_S)
        assert one.returncode == 0, err
        told.append(json.loads(out))
    for of, other in zip(told, reversed(told), strict=True):
        assert of["others"] == 1 and of["heard"] > 1 and of["wrong"] == 0
        sent = of["heard"] + of["missed"] - 1  # since the first that was heard
        off_s = other["left_out"] / TURNS
        least, most = (HZ * (of["seconds"] + off) for off in (-2 * off_s, off_s))
        assert least - 2 <= sent <= most + 2, told


def test_two_radars_see_each_other_without_an_rti(radar, meet):
    """One of them is a program in C++."""
    at = meet[meet.index("--local-settings") + 1]
    in_cpp = built(radar.parent, radar.parent, Path(RANGEFED).parent, CPP)
    see_each_other([radar, in_cpp], f"adapter=tcp;connect={at}", dict(os.environ))


def test_what_is_installed_is_enough(meet, tmp_path):
    """All that it needs lies below the prefix, wherever it was built."""
    prefix = tmp_path / "prefix"
    subprocess.run(
        ["cmake", "--install", Path(RANGEFED).parent, "--prefix", prefix],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    library = prefix / "lib" / "starling-instrument"
    radar = built(tmp_path, prefix / "include", library)
    loaded = subprocess.run(["ldd", radar, *library.glob("*.so")], text=True, capture_output=True)
    assert str(Path(RANGEFED).parent) not in loaded.stdout
    at = meet[meet.index("--local-settings") + 1]
    see_each_other([radar] * 2, f"adapter=tcp;connect={at}", dict(os.environ))


def test_two_radars_see_each_other_on_an_rti(radar, tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
    env |= {
        "LD_LIBRARY_PATH": f"{RTI_ROOT}/lib", "STARLING_NET_RUN_DIR": str(tmp_path),
        "STARLING_START_PROGRAM": f"{RTI_ROOT}/bin/starling", "STARLING_START_IDLE_EXIT_S": "1",
    }  # fmt: skip
    see_each_other([radar] * 2, "", env)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("station=1", "the setting 'exercise' is missing"),
        ("exercise=x", "the setting 'station' is missing"),
        ("exercise=x;station=11", "'station' is '11'; it is a whole number from 1 to 10\n"),
        ("exercise=x;station=1.5", "'station' is '1.5'; it is a whole number from 1 to 10\n"),
        ("exercise=x;station=1;turns=1.5", "'1.5'; it is a whole number from 1 to 10000"),
        ("exercise=x;station=1;station=2", "the setting 'station' is there twice"),
        ("exercise=x;station=1;adapter=tcp", "'connect' is missing: adapter=tcp needs the address"),
        ("exercise=x;station=1;colour=red", "there is no setting 'colour'; known are"),
        ("exercise=x;station=1;adapter=none", "the adapter 'none' can't be loaded"),
        ("exercise", "'exercise' is no name=value"),
        ("exercise=x;station=1;realtime=true", "the setting 'realtime' is 'true'; it is yes or no"),
    ],
)
def test_wrong_settings_are_told(radar, settings, said):
    done = subprocess.run([radar, settings, "1"], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 1 and said in done.stderr


class News(ctypes.Structure):
    _fields_ = (("sent_ns", ctypes.c_uint64), ("delivery_ns", ctypes.c_int64),
                ("count", ctypes.c_uint32), ("missed", ctypes.c_uint32))  # fmt: skip


def library() -> ctypes.CDLL:
    there = ctypes.CDLL(str(Path(RANGEFED).with_name("libstarling-instrument.so")))
    there.starling_instrument_open.restype = ctypes.c_void_p
    there.starling_instrument_error.restype = ctypes.c_char_p
    return there


def opened(of: ctypes.CDLL, settings: str) -> ctypes.c_void_p:
    it = of.starling_instrument_open(settings.encode())
    assert it, of.starling_instrument_error(None)
    it = ctypes.c_void_p(it)
    assert of.starling_instrument_declare(it, b"track", 8, ctypes.c_double(100), 1) == 0
    return it


def test_who_comes_late_has_missed_nothing_before_its_first_read(meet):
    at = meet[meet.index("--local-settings") + 1]
    of, value, news = library(), ctypes.create_string_buffer(8), News()
    both = []
    deadline = time.monotonic() + LIMIT_S

    def read(station: int) -> None:
        it = both[2 - station]
        while of.starling_instrument_read(it, station, value, ctypes.byref(news)) != 1:
            assert time.monotonic() < deadline, of.starling_instrument_error(it)
            time.sleep(0.001)

    for n in (1, 2):
        both.append(opened(of, f"exercise=x;station={n};adapter=tcp;connect={at}"))
        of.starling_instrument_write(both[-1], b"12345678")
        turns = ctypes.c_uint64()
        while turns.value < 200:  # some forty records
            of.starling_instrument_timing(both[-1], ctypes.byref(turns), None, None)
            assert time.monotonic() < deadline
            time.sleep(0.01)
    read(1)
    first = news.count
    assert first > 10 and news.missed == 0
    read(1)
    assert news.missed == news.count - first - 1
    for it in both:
        of.starling_instrument_close(it)


def entered(of: ctypes.CDLL, settings: str, size: int, hz: float, reliable: int) -> ctypes.c_void_p:
    it = ctypes.c_void_p(of.starling_instrument_open(settings.encode()))
    assert it, of.starling_instrument_error(None)
    rate = ctypes.c_double(hz)
    assert of.starling_instrument_declare(it, b"r", size, rate, reliable) == 0
    return it


def wait_for(condition) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_who_does_not_answer_is_named_once_the_time_is_over(meet):
    at = meet[meet.index("--local-settings") + 1]
    of, settings = library(), f"exercise=x;adapter=tcp;connect={at};timeout=0.2;station="
    first = ctypes.c_void_p(of.starling_instrument_open(f"{settings}1".encode()))
    assert first and not of.starling_instrument_open(f"{settings}2".encode())
    said = of.starling_instrument_error(None).decode()
    assert "within 0.2 s" in said and "no answer from 'station 1'" in said, said
    of.starling_instrument_close(first)


def test_of_two_with_one_number_the_first_goes_on(meet):
    """Though it has sent nothing yet."""
    at = meet[meet.index("--local-settings") + 1]
    of, settings = library(), f"exercise=x;adapter=tcp;connect={at};station=1;name="
    first, turns = entered(of, settings + "one", 8, 100, 1), ctypes.c_uint64()

    def has_had_it() -> bool:
        """For longer than words take on a busy machine: a second, by its turns."""
        of.starling_instrument_timing(first, ctypes.byref(turns), None, None)
        return turns.value >= 500

    wait_for(has_had_it)
    second = entered(of, settings + "other", 8, 100, 1)
    wait_for(lambda: of.starling_instrument_state(second) == -1)
    said = of.starling_instrument_error(second).decode()
    assert said == "another instrument has the station's number 1, too"
    assert of.starling_instrument_state(first) == 0
    for it in (first, second):
        of.starling_instrument_close(it)


def test_another_size_is_told_and_a_failure_is_over_with_the_next_call(meet):
    at = meet[meet.index("--local-settings") + 1]
    of, settings = library(), f"exercise=x;adapter=tcp;connect={at};station="
    value = ctypes.create_string_buffer(64)
    one, two = (entered(of, f"{settings}{n}", size, 100, 1) for n, size in ((1, 48), (2, 64)))
    of.starling_instrument_write(two, value)
    there = (ctypes.c_uint * 2)()
    wait_for(lambda: of.starling_instrument_stations(one, there, 2) == 1)
    assert there[0] == 2
    wait_for(lambda: of.starling_instrument_read(one, 2, value, None) == -1)
    said = of.starling_instrument_error(one).decode()
    assert said == "station 2 sends this record of 64 bytes; here it was declared with 48"
    assert of.starling_instrument_write(one, value) == 0
    assert of.starling_instrument_error(one) == b""
    # Of who has left nothing more is said.
    of.starling_instrument_close(two)
    wait_for(lambda: of.starling_instrument_read(one, 2, value, None) == 0)
    of.starling_instrument_close(one)


def test_records_are_heard_however_their_sender_lets_them_be_carried(tmp_path):
    on_an_rti(tmp_path, EITHER)


def on_an_rti(tmp_path: Path, script: str) -> None:
    with_rti = {
        "LD_LIBRARY_PATH": f"{RTI_ROOT}/lib", "STARLING_NET_RUN_DIR": str(tmp_path),
        "STARLING_START_PROGRAM": f"{RTI_ROOT}/bin/starling", "STARLING_START_IDLE_EXIT_S": "1",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent,
                          env=dict(os.environ) | with_rti, capture_output=True, text=True,
                          timeout=LIMIT_S)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("adapter", ["tcp", "udp", "multicast", "shm"])
def test_strangers_at_its_port_hold_nothing_up(meet, adapter):
    at = meet[meet.index("--local-settings") + 1]
    done = subprocess.run([sys.executable, "-c", STRANGERS, adapter, at],
                          cwd=Path(__file__).parent, capture_output=True, text=True,
                          timeout=LIMIT_S)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_station_that_is_stopped_is_given_up(meet):
    """As by a debugger: the others hear each other again, and leave."""
    at = meet[meet.index("--local-settings") + 1]
    done = subprocess.run([sys.executable, "-c", STOPPED, at], cwd=Path(__file__).parent,
                          capture_output=True, text=True, timeout=LIMIT_S)  # fmt: skip
    assert done.returncode == 0, done.stderr


STOPPED = """
import ctypes, os, signal, sys, time
from test_instrument import entered, library, wait_for
of, value = library(), ctypes.create_string_buffer(100_000)
settings = f"exercise=x;adapter=tcp;connect={sys.argv[1]};station="
ready, say = os.pipe()
if (stopped := os.fork()) == 0:
    it = entered(of, f"{settings}2", 100_000, 50, 1)
    os.write(say, b"2")
    time.sleep(1000)
os.read(ready, 1)
both = {n: entered(of, f"{settings}{n}", 100_000, 50, 1) for n in (1, 3)}
hears = lambda: of.starling_instrument_read(both[3], 1, value, None) == 1
for it in both.values():
    of.starling_instrument_write(it, value)
wait_for(hears)
os.kill(stopped, signal.SIGSTOP)


def turns() -> int:
    found = ctypes.c_uint64()
    of.starling_instrument_timing(both[1], ctypes.byref(found), None, None)
    return found.value


def stands() -> bool:  # as 4 MB wait for the one that is stopped
    before = turns()
    time.sleep(0.5)
    return turns() == before


wait_for(stands)
wait_for(lambda: not stands())
while hears():
    pass
wait_for(hears)
for it in both.values():
    of.starling_instrument_close(it)
os.kill(stopped, signal.SIGKILL)
"""


# One says nothing, one what no member says, one has gone again: they come before the second has
# declared what it has, which it waits for members to know.
STRANGERS = """
import ctypes, os, socket, sys
from test_instrument import entered, library, wait_for
adapter, at = sys.argv[1:]
reliable = int(adapter in ("tcp", "shm"))
of, value = library(), ctypes.create_string_buffer(48)
settings = f"exercise=x;adapter={adapter};connect={at};station="


def listening() -> set[int]:
    files = [f"/proc/self/fd/{n}" for n in range(3, 64)]
    mine = {os.readlink(file) for file in files if os.path.islink(file)}
    lines = [line.split() for line in open("/proc/self/net/tcp").readlines()[1:]]
    return {int(one[1].partition(":")[2], 16) for one in lines
            if one[3] == "0A" and f"socket:[{one[9]}]" in mine}


first = entered(of, f"{settings}1", 48, 100, reliable)
before = listening()
second = ctypes.c_void_p(of.starling_instrument_open(f"{settings}2".encode()))
(port,) = listening() - before
silent, loud, gone = (socket.create_connection(("127.0.0.1", port)) for _ in range(3))
loud.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
gone.close()
assert of.starling_instrument_declare(second, b"r", 48, ctypes.c_double(100), reliable) == 0
for it in (first, second):
    of.starling_instrument_write(it, value)
for n, it in enumerate((first, second), 1):
    wait_for(lambda: of.starling_instrument_read(it, 3 - n, value, None) == 1)
for it in (first, second):
    of.starling_instrument_close(it)
assert loud.recv(1 << 16) and loud.recv(1) == b""  # it was hung up on
"""


EITHER = """
import ctypes
from test_instrument import entered, library, wait_for
of, value = library(), ctypes.create_string_buffer(48)
both = [entered(of, f"exercise=x;station={n}", 48, 100, n - 1) for n in (1, 2)]
for it in both:
    of.starling_instrument_write(it, value)
for n, it in enumerate(both, 1):
    wait_for(lambda: of.starling_instrument_read(it, 3 - n, value, None) == 1)
for it in both:
    of.starling_instrument_close(it)
"""


def test_each_write_goes_out_at_the_rate_0_and_a_full_queue_is_told(meet):
    at = meet[meet.index("--local-settings") + 1]
    of, settings = library(), f"exercise=x;adapter=tcp;connect={at};turns=1;station="
    value, news = ctypes.create_string_buffer(8), News()
    one, two = (entered(of, f"{settings}{n}", 8, 0, 1) for n in (1, 2))
    written = 0

    def heard() -> bool:
        """Who has not heard of a reader yet sends it nothing."""
        nonlocal written
        written += of.starling_instrument_write(one, value) == 0
        return of.starling_instrument_read(two, 1, value, ctypes.byref(news)) == 1

    wait_for(heard)
    before = written
    while of.starling_instrument_write(one, value) == 0:
        written += 1
    assert b"writes before it still wait" in of.starling_instrument_error(one)
    assert written > before + 100
    wait_for(lambda: of.starling_instrument_read(two, 1, value, ctypes.byref(news)) == 1
             and news.count == written)  # fmt: skip
    for it in (one, two):
        of.starling_instrument_close(it)


def test_what_was_written_before_close_goes_out(meet):
    """In turns of a second: all ten wait when it closes."""
    at = meet[meet.index("--local-settings") + 1]
    of, settings = library(), f"exercise=x;adapter=tcp;connect={at};station="
    value, news = ctypes.create_string_buffer(8), News()
    one = entered(of, f"{settings}1;turns=1", 8, 0, 1)
    two = entered(of, f"{settings}2", 8, 0, 1)
    written = 0

    def heard(count: int) -> bool:
        return (of.starling_instrument_read(two, 1, value, ctypes.byref(news)) == 1
                and news.count >= count)  # fmt: skip

    def first() -> bool:
        nonlocal written
        written += of.starling_instrument_write(one, value) == 0
        return heard(1)

    wait_for(first)
    for _ in range(10):
        assert of.starling_instrument_write(one, value) == 0
    of.starling_instrument_close(one)
    wait_for(lambda: heard(written + 10))
    of.starling_instrument_close(two)


@pytest.mark.parametrize("way", ["pkg-config", "cmake"])
def test_an_installed_library_is_found(meet, tmp_path, way):
    prefix = tmp_path / "prefix"
    install = ["cmake", "--install", Path(RANGEFED).parent, "--prefix", prefix]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(ROOT / "examples" / "instrument" / "radar.c", tmp_path)
    if way == "pkg-config":
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "starling-instrument"], check=True, text=True,
            capture_output=True, env=os.environ | {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"},
        ).stdout.split()  # fmt: skip
        subprocess.run(["cc", "radar.c", "-o", "radar", *flags, "-lm"], cwd=tmp_path, check=True)
    else:
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(radar C)\n"
            "find_package(StarlingInstrument REQUIRED)\nadd_executable(radar radar.c)\n"
            "target_link_libraries(radar StarlingInstrument::starling-instrument m)\n"
        )
        subprocess.run(["cmake", ".", f"-DCMAKE_PREFIX_PATH={prefix}"], cwd=tmp_path, check=True)
        subprocess.run(["cmake", "--build", "."], cwd=tmp_path, check=True)
    at = meet[meet.index("--local-settings") + 1]
    see_each_other([tmp_path / "radar"] * 2, f"adapter=tcp;connect={at}", dict(os.environ))


REFUSED = """
import sys
from test_instrument import library, opened
of = library()
it = opened(of, sys.argv[1])
print(of.starling_instrument_state(it), of.starling_instrument_error(it).decode())
of.starling_instrument_close(it)
"""


@pytest.mark.parametrize(
    ("rights", "said"),
    [("-sys_nice", "0 real-time scheduling is not allowed: "), ("", "0 ")], ids=["without", "with"],
)  # fmt: skip
def test_real_time_that_is_not_allowed_is_told(meet, rights, said):
    if os.geteuid() != 0:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("who takes rights away is root")
    at = meet[meet.index("--local-settings") + 1]
    without = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"] if rights else []
    done = subprocess.run(
        [*without, sys.executable, "-c", REFUSED,
         f"exercise=x;station=1;realtime=yes;adapter=tcp;connect={at}"],
        cwd=Path(__file__).parent, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(said) and (rights or done.stdout == "0 \n"), done.stdout
