"""Clocks that a daemon disciplines: what chronyd and ptp4l say, also real ones between namespaces;
what can't be said is said.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from ranges import (
    NEEDED,
    RANGEFED,
    run as run,  # the fixture
    text,
)
from test_network import possible
from test_range_runs import interface_of, measuring

from starling_bench.times import discipline
from starling_bench.times.clocks import NoEstimate

# Said by chronyd 4.3 (`chronyd -x`) between two namespaces of a machine.
TRACKED = ("0A4F0001,10.79.0.1,2,1795649299.182715904,0.000001031,0.000000042,0.000000853,-0.505,"
           "0.013,0.431,0.000002498,0.000001330,0.1,Normal\n")  # fmt: skip
SERVER = ("7F7F0101,,1,1795649297.368824188,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,"
          "0.000000000,0.000000000,0.0,Normal\n")  # fmt: skip
UNSYNCHRONISED = "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n"
# As pmc 3.1 says it.
PTP = """sending: GET CURRENT_DATA_SET
\t001122.fffe.334455-1 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET
\t\tstepsRemoved     1
\t\toffsetFromMaster -12.5
\t\tmeanPathDelay    345.0
"""


def test_what_chronyd_says_is_an_offset_with_its_bound():
    found = discipline.reading(TRACKED)
    # Slow by 1,031 ns; dispersion 1,330, half of the delay 1,249.
    assert (round(found.lacks_ns), round(found.bound_ns)) == (1031, 2579)
    assert discipline.reading(SERVER) == discipline.Reading(0, 0, own=True)
    # Between two readings the offset is in the middle, and what it moved is in the bound.
    later = TRACKED.replace("0.000001031", "0.000001131")
    found = discipline.during({"discipline": [TRACKED, later]})
    assert (round(found.lacks_ns), round(found.bound_ns)) == (1081, 2629)


def test_who_was_not_asked_before_and_after_says_nothing():
    for told in ([], [TRACKED], [TRACKED] * 3):
        with pytest.raises(NoEstimate, match="said nothing"):
            discipline.during({"discipline": told})


def test_what_ptp4l_says_is_an_offset_with_its_bound():
    found = discipline.reading(PTP)
    assert (found.lacks_ns, found.bound_ns) == (12.5, 345)
    assert discipline.reading(MASTER) == discipline.Reading(0, 0, own=True)


MASTER = PTP.replace("stepsRemoved     1", "stepsRemoved     0")


@pytest.mark.parametrize("said", [SERVER, MASTER], ids=["chronyd", "ptp4l"])
def test_clocks_of_which_each_is_the_time_to_itself_are_not_compared(said):
    """Both daemons say that nothing is wrong, and know nothing of each other."""
    alone = [{"discipline": [said, said], "boot": boot} for boot in ("a", "b")]
    for both in (alone, [{"discipline": [said, said]}] * 2):
        with pytest.raises(NoEstimate, match="neither host's clock follows the other's"):
            discipline.between(*both)
    # Namespaces of one machine have one clock, whatever is said of it.
    assert discipline.between(alone[0], alone[0]) == discipline.Reading(0, 0)
    found = discipline.between(alone[0], {"discipline": [TRACKED, TRACKED], "boot": "b"})
    assert (round(found.lacks_ns), round(found.bound_ns)) == (1031, 2579)


@pytest.mark.long
@NEEDED
def test_a_clock_that_is_set_within_a_test_is_told_and_nothing_is_guessed(run):
    """Its daemon says before and after that all is well."""
    (run.directory / "said").write_text(TRACKED)
    test = TEST.format(daemon=f"cat {run.directory / 'said'}")
    test = test.replace("duration_s = 3", "duration_s = 6")
    command = json.dumps(["env", "BENCH_CLOCK_JUMP_NS=40000000", RANGEFED])
    run.report = True
    run.start(text(test).replace('name = "f2"\n', f'name = "f2"\ncommand = {command}\n', 1))
    measuring(run)
    os.kill(interface_of(run, "f2"), signal.SIGUSR1)
    code, _, err = run.end()
    assert code == 0, err
    for row in run.rows():
        said = re.fullmatch(r"not known: that of 'f2' jumped by \+([\d.]+) ms", row["clock"])
        assert said and abs(float(said[1]) - 40) < 1, row["clock"]
        assert row["mean_ms"] == row["in_budget"] == ""
    assert "the clocks are not known" in (run.directory / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (UNSYNCHRONISED, "chronyd is not synchronised"),
        ("506 Cannot talk to daemon\n", "said '506 Cannot talk to daemon'"),
        ("", "said nothing"),
        (TRACKED.replace("0.000001330", "much"), "chronyd said"),
        (PTP.replace("345.0", "0.0"), "has not measured its path's delay"),
        (PTP.replace("meanPathDelay", "other"), "ptp4l said"),
        ("\n".join([TRACKED[:40]] * 3), "the daemon of a clock said"),
    ],
)
def test_what_says_nothing_of_a_clock_is_no_estimate(said, why):
    with pytest.raises(NoEstimate, match=why):
        discipline.reading(said)


# `scripts/setup tests` unpacks them there: installed, they would set the machine's clock.
BUILD = Path(__file__).parents[2] / "build"
CHRONYD, CHRONYC, PTP4L, PMC = (
    shutil.which(name) or str(BUILD / package / "usr" / where / name)
    for package, where, name in (("chrony", "sbin", "chronyd"), ("chrony", "bin", "chronyc"),
                                 ("linuxptp", "sbin", "ptp4l"), ("linuxptp", "sbin", "pmc"))
)  # fmt: skip


def runs(program: str) -> bool:
    """It is there, with the libraries that it needs."""
    try:
        return subprocess.run([program, "-v"], capture_output=True).returncode == 0
    except OSError:
        return False


# Starts a chronyd that sets no clock beside a federate, and waits until it knows the time.
BESIDE = """#!/bin/sh
set -e
mkdir -p -m 0700 "{here}/$1"
printf '%s\\n' "{first}" "bindcmdaddress {here}/$1/socket" "pidfile {here}/$1/pid" \\
    'cmdport 0' 'user root' > "{here}/$1/conf"
"{chronyd}" -x -d -f "{here}/$1/conf" > "{here}/$1/log" 2>&1 &
until [ -S "{here}/$1/socket" ]; do sleep 0.05; done
# Who is the time itself does not wait for it.
[ "$1" = f1 ] || "{chronyc}" -h "{here}/$1/socket" waitsync 600 0 0 0.1 > "{here}/$1/waited" 2>&1
shift
exec "$@"
"""
TEST = """bytes = 1024
hz = 50.0
duration_s = 3
floor_s = 0.1
clock = "daemon"
daemon = '''{daemon}'''"""


def between(run, here: Path) -> str:
    """A test sequence file of two hosts, each with a chronyd beside its federate; the second's
    follows the first's."""
    first = {"f1": "local stratum 1\nallow all", "f2": "server 10.77.0.2 iburst minpoll -4"}
    hosts = '[[host]]\nname = "a"\ndelay_ms = 1.0\n[[host]]\nname = "b"\ndelay_ms = 1.0\n'
    # Each asks its own, whose socket is in a directory named as the federate's host.
    ask = here / "ask.sh"
    ask.write_text(
        '#!/bin/sh\nip -br addr show eth0 | grep -q "10.77.0.2/" && at=f1 || at=f2\n'
        f'exec "{CHRONYC}" -c -h "{here}/$at/socket" tracking\n'
    )
    ask.chmod(0o755)
    tsf = text(TEST.format(daemon=ask))
    # What links hosts is looked for beside the federates' program, which is a script here.
    for part in ("bench-link", "bench-meet"):
        (here / part).symlink_to(Path(RANGEFED).with_name(part))
    for name, host in (("f1", "a"), ("f2", "b")):
        script = here / f"beside-{name}.sh"
        script.write_text(
            BESIDE.format(here=here, first=first[name], chronyd=CHRONYD, chronyc=CHRONYC)
        )
        script.chmod(0o755)
        command = json.dumps([str(script), name, RANGEFED])
        tsf = tsf.replace(
            f'name = "{name}"\n', f'name = "{name}"\nhost = "{host}"\ncommand = {command}\n', 1
        )
    return hosts + tsf


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(
    os.environ.get("REQUIRE_ALL") != "1" and not (possible() and runs(CHRONYD) and runs(CHRONYC)),
    reason="root, iproute2 and chronyd are needed",
)
def test_offset_and_uncertainty_of_a_real_chronyd_between_hosts(run):
    """Both hosts' clocks are this machine's, so that what chronyd says must hold zero, and so must
    the difference of what is corrected and what is true."""
    run.report = True
    code, _, err = run.start(between(run, run.directory)).end()
    assert code == 0, err
    rows = run.rows()
    assert {(r["sender"], r["receiver"]) for r in rows} == {("f1", "f2"), ("f2", "f1")}
    facts = json.loads((run.results / "facts_test1_f2.json").read_text())
    said = discipline.during(facts)
    assert said.bound_ns > 0 and abs(said.lacks_ns) <= said.bound_ns
    for row in rows:
        bound = float(row["bound_ms"])
        assert row["clock"] == "daemon" and abs(bound - said.bound_ns / 1e6) < 1e-6
        table = parquet.read_table(run.results / f"samples_test1_{row['receiver']}.parquet")
        true = table["delivery_ns"].to_numpy() / 1e6
        for name, value in (("min_ms", true.min()), ("max_ms", true.max())):
            assert abs(float(row[name]) - value) <= bound, (name, row, value)
        assert float(row["min_ms"]) > 1 - bound
        # By the machine's real time, not since it began.
        assert np.all(table["arrived_ns"].to_numpy() > 1.6e18)
    report = (run.directory / "out" / "report.html").read_text()
    assert "one clock" not in report


# It sets no clock, and asks often, so that it soon knows.
FREE = """[global]
free_running 1
time_stamping software
uds_address {socket}
logAnnounceInterval -2
logSyncInterval -3
logMinDelayReqInterval -3
"""


@pytest.fixture
def spaces():
    """Two namespaces with a cable between them."""
    names = [f"ptp{os.getpid()}{name}" for name in "ab"]
    cable = f"link add eth0 netns {names[0]} type veth peer name eth0 netns {names[1]}"
    try:
        for command in (*(f"netns add {name}" for name in names), cable):
            subprocess.run(["ip", *command.split()], check=True)
        for number, name in enumerate(names, 1):
            for command in (f"addr add 10.76.0.{number}/24 dev eth0", "link set eth0 up"):
                subprocess.run(["ip", "-n", name, *command.split()], check=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


@pytest.mark.skipif(
    os.environ.get("REQUIRE_ALL") != "1" and not (possible() and runs(PTP4L) and runs(PMC)),
    reason="root, iproute2 and ptp4l are needed",
)
def test_offset_and_delay_of_a_real_ptp4l_between_hosts(tmp_path, spaces):
    """Of two hosts of one clock the one is the time, and what the other says holds zero."""
    daemons, asked = [], []
    for space, more in zip(spaces, ("", "slaveOnly 1\n"), strict=True):
        conf, socket = tmp_path / f"{space}.conf", tmp_path / space
        conf.write_text(FREE.format(socket=socket) + more)
        there = ["ip", "netns", "exec", space]
        daemons.append(subprocess.Popen([*there, PTP4L, "-f", conf, "-i", "eth0", "-q"]))
        asked.append([*there, PMC, "-u", "-b", "0", "-s", socket, "GET CURRENT_DATA_SET"])
    deadline = time.monotonic() + 120
    try:
        while True:
            said = [subprocess.run(ask, capture_output=True, text=True).stdout for ask in asked]
            try:
                first, second = map(discipline.reading, said)
                if not second.own:
                    break
            except NoEstimate:  # it does not answer yet, or has not measured its path
                pass
            assert time.monotonic() < deadline, said
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.wait()
    assert first.own and first.bound_ns == 0
    assert second.bound_ns > 0 and abs(second.lacks_ns) <= second.bound_ns


@NEEDED
def test_a_daemon_that_does_not_answer_is_told_and_nothing_is_guessed(run):
    code, _, err = run.start(text(TEST.format(daemon="echo 506 Cannot talk to daemon"))).end()
    assert code == 0, err
    for row in run.rows():
        assert row["clock"].startswith("not known: the daemon of a clock said '506")
        assert row["mean_ms"] == row["in_budget"] == ""


def test_tests_of_one_execution_have_one_clock(run):
    both = TEST.format(daemon="x") + '\n[[sequence.execution.test]]\nclock = "estimate"'
    run.start(text(both)).fails(2, "take their time from several clocks")


BENCH = Path(__file__).parents[1]
STEPS = """
#include <cstdio>
#include <initializer_list>
#include "jumps.hpp"
int main() {
    std::int64_t offset = 0;
    auto const now = [&] {
        timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return static_cast<std::uint64_t>(t.tv_sec * 1000000000 + t.tv_nsec + offset);
    };
    bench::Jumps steps(now, bench::Jumps::steps()), raw(now);
    for (std::int64_t step : {0, 50000, -50000, 0}) {
        offset += step;
        timespec const second{1, 0};
        nanosleep(&second, nullptr);
        std::printf("%ld %ld\\n", steps.look(now).byNs, raw.look(now).byNs);
    }
}
"""


@pytest.mark.long
def test_a_step_of_less_than_a_millisecond_is_seen_where_a_daemon_is_asked(tmp_path):
    """A bound of tens of microseconds is told there: beside the clock that is adjusted alike."""
    (tmp_path / "steps.cpp").write_text(STEPS)
    program = tmp_path / "steps"
    command = ["c++", "-std=c++17", f"-I{BENCH / 'cpp'}", tmp_path / "steps.cpp", "-o", program]
    subprocess.run(command, check=True)
    lines = subprocess.run([program], check=True, text=True, capture_output=True).stdout
    steps, raw = zip(*(map(int, line.split()) for line in lines.splitlines()), strict=True)
    assert [round(by / 10_000) for by in steps] == [0, 5, -5, 0]
    assert raw == (0, 0, 0, 0)
