"""What a run asks of a machine beside CPUs: words of a command, the manager's memory, time for
services and for what is brought home. Each has its bound, and a message where that is met.
"""

import asyncio
import os
import subprocess
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from runs import LIMIT_S, text
from typer.testing import CliRunner

from starling_bench.conducting import conduct, follow
from starling_bench.conducting.conduct import Conductor
from starling_bench.errors import BenchError
from starling_bench.machines import hosts, keeper, network, ssh
from starling_bench.statistics import stats
from starling_bench.studies.rtibm import STUDY, app
from starling_bench.tsf import memory, plan
from starling_bench.tsf.sequences import File

HOST = '[[host]]\nname = "{name}"\nkind = "ssh"\naddress = "192.0.2.1"\n'


def conductor(tmp_path: Path, tsf: str) -> tuple[Conductor, File]:
    file = tmp_path / "t.tsf.toml"
    file.write_text(tsf)
    found = plan.load(file, STUDY, True)
    return Conductor(STUDY, tmp_path, "/bin/true", None, None, found.host), found


MANY = 'kind = "RTOL"\ninstances = [1, 2, 3, 4, 5, 6, 7, 8, 9]\nsamples = 1'


@pytest.mark.parametrize("away", [False, True])
def test_more_tests_than_a_command_can_name_are_refused(tmp_path, monkeypatch, away):
    tsf = text(MANY, rti='adapter = "tcp"')
    if away:
        tsf = HOST.format(name="a") + HOST.format(name="b") + tsf
        for name, host in (("master", "a"), ("subordinate", "b")):
            head = f'[[sequence.federate]]\nname = "{name}"'
            tsf = tsf.replace(head, f'{head}\nhost = "{host}"')
    for most, fits in ((20_000, True), (2_500, False)):
        monkeypatch.setattr(conduct, "_words_max", lambda most=most: 1 if away else most)
        monkeypatch.setattr(conduct, "LINE_MAX", conduct._OTHER_WORDS + (most if away else 1))
        here, found = conductor(tmp_path, tsf)
        (sequence,) = found.sequence
        if fits:
            here._check_length(sequence)
            continue
        with pytest.raises(BenchError) as told:
            here._check_length(sequence)
        line = 1 + (tmp_path / "t.tsf.toml").read_text().split("\n").index(
            "[[sequence.execution.test]]"
        )
        assert told.value.code == "STL-RUN-016" and told.value.where.endswith(f".toml:{line}")
        assert "s/e has more tests than its master's command can name" in told.value.what
        assert "2,500 bytes" in told.value.what


def test_a_command_may_be_as_long_as_is_said():
    """The system takes as many words."""
    word = "x" * (1000 - conduct._WORD)
    words = [word] * (conduct._words_max() // 1000)
    assert len(words) > 100
    assert subprocess.run(["true", *words]).returncode == 0


def test_rounds_are_looked_at_once(tmp_path, monkeypatch):
    """Their hosts are not reached for each of them."""
    looked = []
    for look in ("fom", "_check_federates", "_check_directory", "_check_rti"):
        monkeypatch.setattr(Conductor, look, lambda self, s, look=look: looked.append(look))
    rtis = "".join(f'[[rti]]\nname = "{n}"\nadapter = "tcp"\n' for n in ("a", "b"))
    tsf = text(MANY).replace("[sequence.rti]\n", "")
    tsf = rtis + tsf.replace("master =", 'rti = ["a", "b"]\nrounds = 50\nmaster =')
    here, found = conductor(tmp_path, tsf)
    assert len(found.sequence) == 100
    for sequence in found.sequence:
        here.check(sequence)
    assert len(looked) == 4 * 2


def test_an_emulator_of_links_is_not_ready_as_it_was_in_an_earlier_try(tmp_path, monkeypatch):
    """Its log goes on when a run is resumed."""
    monkeypatch.setattr(network, "_READY_S", 0.05)
    log = tmp_path / "link.log"
    log.write_bytes(b"$ bench-link\nready\n$ bench-link\n")
    one = hosts.Running(hosts.LINK, "bmfed", SimpleNamespace(returncode=None), log)
    asyncio.run(network._ready(one, ""))
    one.begun = log.stat().st_size
    with pytest.raises(BenchError, match="the emulator of links is running"):
        asyncio.run(network._ready(one, ""))
    with log.open("ab") as more:
        more.write(b"ready\n")
    asyncio.run(network._ready(one, ""))


def test_last_words_move_no_terminal(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("bmfed: \x1b]0;title\x07 \u202eno RTI\n  do: \x1b[2Jstart it\n")
    one = hosts.Running("a", "bmfed", SimpleNamespace(returncode=1), log)
    words, do = one.last_words()
    assert (words + do).isprintable() and words.endswith("no RTI") and do.endswith("start it")


def test_last_words_are_not_those_of_an_earlier_try(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("$ bmfed --name a\nbmfed: the disk is full\n$ bmfed --name a\n")
    one = hosts.Running("a", "bmfed", SimpleNamespace(returncode=1), log, begun=log.stat().st_size)
    assert one.last_words() == ("", "")
    with log.open("a") as more:
        more.write("joined\nbmfed: no RTI\n  do: start it\n")
    assert one.last_words() == ("bmfed: no RTI", "start it")


class Process:
    """One that ends well, after so many turns of the loop."""

    pid = 1

    def __init__(self, turns: int, code: int = 0) -> None:
        self.returncode, self._turns, self._code = None, turns, code

    async def wait(self) -> int:
        for _ in range(self._turns):
            await asyncio.sleep(0)
        self.returncode = self._code
        return self._code


@pytest.mark.parametrize("code", [0, 1])
def test_a_server_may_end_when_the_last_federate_has_left(tmp_path, code):
    """It is seen before the federates, which are about to end."""

    async def follows() -> None:
        running = [
            hosts.Running(
                name, "bmfed", Process(turns, code if name == hosts.SERVER else 0), tmp_path
            )
            for name, turns in ((hosts.SERVER, 1), ("a", 50), ("b", 50))
        ]
        master = SimpleNamespace(
            has_problem=asyncio.Event(), until_s=lambda: time.monotonic() + LIMIT_S,
            check=lambda: None, at="during test 1 of 1",
        )  # fmt: skip
        there = SimpleNamespace(master=master, control=SimpleNamespace(say=lambda **_: None),
                                bring_rest=_nothing)  # fmt: skip
        stopped = SimpleNamespace(running=running, stopped=_nothing)
        await follow.follow(SimpleNamespace(master="a"), stopped, there)

    if code == 0:
        asyncio.run(follows())
        return
    with pytest.raises(BenchError, match="the RTI's server ended with exit code 1"):
        asyncio.run(follows())


async def _nothing() -> str:
    return ""


# ---- memory


def test_the_managers_memory_counts(tmp_path):
    """It makes figures of all round trips of a test, in all of its rounds."""
    test = 'kind = ["OWOT", "RTOL"]\nupdates = [1000, 10000000]\nsamples = 10'
    _, found = conductor(tmp_path, text(test, extra="rounds = 3", rti='adapter = "tcp"'))
    sequence = found.sequence[0]
    specs = sequence.execution[0].test
    assert STUDY.conducting(sequence, specs[0]) == 3 * 10 * 10_000_000 * stats.BYTES_EACH
    one_way = plan.load(tmp_path / "t.tsf.toml", STUDY, True).sequence[0].execution[0].test[0]
    one_way.kind = "OWOT"
    assert STUDY.conducting(sequence, one_way) == 0
    federates = ["master", "subordinate"]
    memory.check(STUDY, sequence, specs, federates, "this host", 5_000_000_000)
    with pytest.raises(BenchError) as told:
        memory.check(STUDY, sequence, specs, federates, "this host", 5_000_000_000, " free", True)
    assert told.value.what == (
        "a test of sequence 's' needs 6.08 GB of memory in 2 federates, 6 GB of it in bmmanager, "
        "for its raw values; this host has 5 GB free"
    )
    assert told.value.do == "take fewer updates, samples or rounds"


def test_figures_of_round_trips_take_as_much_memory_as_is_said():
    count = 4_000_000
    samples = list(np.random.default_rng(1).lognormal(9, 1, (4, count // 4)).astype("f4"))
    tracemalloc.start()
    try:
        found = stats.latency(samples, 0.005)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.count == count
    # The samples are there before; beside what hangs on their number there is a part of them.
    assert most < (stats.BYTES_EACH - 4) * count * 1.05 + 40 * stats._AT_ONCE


# ---- time


SLOW = """#!/bin/sh
echo '{{"directory": "", "cleaned": []}}'
read asked
sleep 1
echo '{{"quiet": ["a"]}}'
while read asked; do :; done
sleep 1
echo started > '{there}'
"""


def test_services_have_the_time_that_they_take(tmp_path, monkeypatch):
    """To be stopped, and to be started again in the end."""
    program, there = tmp_path / "bench-keep", tmp_path / "there"
    program.write_text(SLOW.format(there=there))
    program.chmod(0o755)
    monkeypatch.setattr(keeper, "_ANSWER_S", 0.1)

    async def kept() -> None:
        async with keeper.local(program, ["a"]):
            pass

    # Who greets is asked nothing: that is in time.
    monkeypatch.setattr(keeper.Keeper, "greeted", _greeted)
    asyncio.run(asyncio.wait_for(kept(), LIMIT_S))
    assert there.read_text() == "started\n"


async def _greeted(self) -> None:
    await self._greeted


class Remote:
    """A folder on another host with one file."""

    def __init__(self, data: bytes, silent: bool = False) -> None:
        self.data, self.silent, self.read_sizes = data, silent, []

    async def readdir(self, _: str) -> list:
        attrs = SimpleNamespace(size=len(self.data))
        return [SimpleNamespace(filename="rtt_test1_pair1.raw", attrs=attrs)]

    def open(self, *_: str) -> "Remote":
        return self

    async def __aenter__(self) -> "Remote":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self, size: int, offset: int) -> bytes:
        if self.silent:
            await asyncio.sleep(LIMIT_S)
        self.read_sizes.append(size)
        return self.data[offset : offset + size]


def site(remote: Remote) -> ssh.Site:
    host = SimpleNamespace(name="far", address="192.0.2.1")
    watched = SimpleNamespace(lost=False, directory="/x", give_up=lambda: None)
    return ssh.Site(host, None, remote, watched, None)


def test_what_is_brought_home_comes_by_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(ssh, "_PIECE", 1000)
    remote = Remote(os.urandom(2500))
    asyncio.run(site(remote).bring_home(tmp_path))
    assert (tmp_path / "rtt_test1_pair1.raw").read_bytes() == remote.data
    assert remote.read_sizes == [1000, 1000, 500]


def test_a_host_of_which_nothing_comes_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(ssh, "_FETCH_S", 0.05)
    with pytest.raises(BenchError, match="can't be brought home: nothing came for 0 s"):
        asyncio.run(site(Remote(b"x", silent=True)).bring_home(tmp_path))


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("option", ["--scale", "--idle-wait-s", "--progress-s"])
def test_what_is_no_number_is_none(tmp_path, option, value):
    (tmp_path / "t.tsf.toml").write_text(text(rti='adapter = "tcp"'))
    given = ["run", str(tmp_path / "t.tsf.toml"), "--out", str(tmp_path / "out"), option, value]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    assert done.exit_code == 2 and f"Invalid value for '{option}'" in done.output
    assert not (tmp_path / "out").exists()
