"""Every adapter brings each message once, in order and whole, or what is missing is counted: one
suite for plain sockets, shared memory, and RTIs with the C++ API of 2010.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from starling_bench.errors import BenchError
from starling_bench.machines import identity
from starling_bench.machines.group import Group
from starling_bench.machines.rti import Rti, adapter_for

BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
STANDIN_ROOT = os.environ.get("STANDIN_ROOT")
FOM = Path(__file__).parents[1] / "foms" / "rtibm.xml"
pytestmark = pytest.mark.skipif(not BMFED, reason="BMFED is not set")
# An adapter, and on which RTI; "immediate" is Starling with callbacks by its own thread.
ADAPTERS = ("tcp", "udp", "multicast", "shm", "starling", "immediate", "stand-in", "dds")
PLAIN = ("tcp", "udp", "multicast", "shm")
DATAGRAMS = ("udp", "multicast")


@dataclass
class Session:
    """Members of one session."""

    name: str
    group: Group
    settings: str
    run: str = ""

    async def start(self, role: str, name: str, **options: object):
        adapter = self.name if self.name in (*PLAIN, "dds") else "hla1516e"
        command = [str(Path(BMFED).with_name("bench-conformance")), role, "--adapter", adapter,
                   "--fom", str(FOM), "--settings", self.settings, "--name", name]  # fmt: skip
        if self.name in DATAGRAMS:
            options["best_effort"] = 1
        if self.name == "immediate":
            options["immediate"] = 1
        if self.name == "dds":
            # Who is there is found out beside what is sent; all of this host hear each other.
            options |= {"probe": 1, "session": self.run}
        return await self.group.start(name, command, **options)

    async def exchange(self, peers: int, **options: object) -> list[dict]:
        """A sender and its receivers; what these saw."""
        names = [f"receiver{n}" for n in range(peers)]
        for name in names:
            await self.start("receive", name, **options)
        sender = await self.start("send", "sender", peers=peers, **options)
        if await sender.process.stdout.readline() != b"sending\n":
            raise BenchError("sender", sender.last_words()[0])
        told = await self.group.results()
        assert told["sender"] == {"sent": options["messages"]}
        return [told[name] for name in names]


@asynccontextmanager
async def session(name: str, tmp_path: Path, rules: str = "") -> AsyncIterator[Session]:
    async with AsyncExitStack() as stack:
        run = identity.Run()
        stack.callback(run.end)
        if name in (*PLAIN, "dds"):
            rti, root = Rti(adapter=name), None
        elif name in ("starling", "immediate"):
            rti, root = Rti(adapter="starling"), RTI_ROOT and Path(RTI_ROOT)
        else:
            server = ["{root}/bin/standin-rti", "--listen", "127.0.0.1:0"]
            rti = Rti(adapter="generic", server=server)
            root = STANDIN_ROOT and Path(STANDIN_ROOT)
        if name == "dds" and not Path(BMFED).with_name("libbench-dds.so").exists():
            pytest.skip("Cyclone DDS is not here")
        if name not in (*PLAIN, "dds") and not root:
            pytest.skip(f"where {name} is, is not set")
        prepared = adapter_for(rti, "").prepare(rti, root, run, program=BMFED)
        env, settings = prepared.env | {"STANDIN": rules}, prepared.local_settings
        servers = await stack.enter_async_context(Group("server", env, tmp_path))
        if prepared.server:
            server = await servers.start("server", prepared.server)
            ready = (await server.process.stdout.readline()).decode().split()
            settings = settings or f"standin://{ready[1]}"
        group = await stack.enter_async_context(Group("bench-conformance", env, tmp_path))
        yield Session(name, group, settings, run.id)


def play(name: str, tmp_path: Path, peers: int = 1, rules: str = "", **options) -> list[dict]:
    async def work() -> list[dict]:
        async with session(name, tmp_path, rules) as it:
            return await it.exchange(peers, **options)

    return asyncio.run(work())


def whole(told: dict, options: dict) -> None:
    """Each message once, in order and whole; the instances came and went."""
    items = 0 if options.get("event") else options.get("items", 1)
    assert told == {
        "received": options["messages"], "distinct": options["messages"], "disordered": 0,
        "wrong_bytes": 0, "malformed": 0, "last": options["messages"],
        "discovered": items, "removed": items,
    }  # fmt: skip


@pytest.mark.parametrize("name", ADAPTERS)
def test_who_only_looks_gets_everything(name, tmp_path):
    """A wait of no time delivers what has come, also to a program that does other things between
    two of them."""
    options = {"messages": 100, "event": 1, "wait": 0, "pause": 0.005}
    (told,) = play(name, tmp_path, **options)
    whole(told, options)


@pytest.mark.parametrize("event", [0, 1], ids=["objects", "events"])
@pytest.mark.parametrize("name", ADAPTERS)
def test_two_peers_get_everything_in_order(name, event, tmp_path):
    # Small enough for a datagram socket's buffer, as nothing holds a sender of datagrams up.
    options = {"messages": 1000, "items": 10, "fields": 3, "bytes": 8, "event": event}
    if name in DATAGRAMS:
        options["messages"] = 100
    for told in play(name, tmp_path, peers=2, **options):
        whole(told, options)


@pytest.mark.long
@pytest.mark.parametrize("bytes_", [8, 100, 5000, 65_000, 1 << 20])
@pytest.mark.parametrize("name", ADAPTERS)
def test_every_size(name, bytes_, tmp_path):
    options = {"messages": 20, "bytes": bytes_}
    if name in DATAGRAMS:
        options["messages"] = 2  # see above
    if name in DATAGRAMS and bytes_ > 65_507:
        with pytest.raises(BenchError, match="a message of 1048576 bytes can't be carried"):
            play(name, tmp_path, **options)
    else:
        for told in play(name, tmp_path, **options):
            whole(told, options)


def test_dds_takes_the_hosts_address_where_none_of_its_interfaces_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_ADDRESS", "127.0.0.1")

    options = {"messages": 50, "bytes": 100}

    async def work() -> list[dict]:
        async with session("dds", tmp_path) as it:
            it.settings = "none0,none1"
            return await it.exchange(1, **options)

    (told,) = asyncio.run(work())
    whole(told, options)


@pytest.mark.parametrize("name", ["tcp", "shm", "starling", "immediate", "dds"])
def test_a_slow_receiver_holds_the_sender_up_and_loses_nothing(name, tmp_path):
    """More than any buffer on the way."""
    options = {"messages": 3000, "bytes": 20_000}
    for told in play(name, tmp_path, **options):
        whole(told, options)


def test_what_is_lost_is_counted_exactly(tmp_path):
    options = {"messages": 3000, "best_effort": 1, "event": 1}
    rules = "lose=best_effort:0.1,double=best_effort:0.1"
    (told,) = play("stand-in", tmp_path, rules=rules, **options)
    lost = options["messages"] - told["distinct"]
    doubled = told["received"] - told["distinct"]
    # Binomial, five deviations.
    assert abs(lost - 300) < 5 * 16.5 and abs(doubled - 270) < 5 * 16


@pytest.mark.parametrize("name", ADAPTERS)
def test_who_is_killed_is_missed(name, tmp_path):
    """Its instances go, and the others can leave."""

    async def work() -> dict:
        async with session(name, tmp_path) as it:
            options = {"items": 3, "until_removed": 1}
            await it.start("receive", "receiver", **options)
            sender = await it.start("send", "sender", endless=1, items=3)
            assert await sender.process.stdout.readline() == b"sending\n"
            sender.process.send_signal(signal.SIGKILL)
            with pytest.raises(BenchError, match="sender ended with -9"):
                await it.group.results()
            return it

    it = asyncio.run(work())
    assert (tmp_path / "receiver.log").read_text().count("bench-conformance:") == 0, it


def test_a_meeting_place_comes_back_where_one_was_killed(tmp_path):
    """Its socket stays and is nobody's; that of one that lives is its own, and so is any file."""
    at = f"unix:{tmp_path}/meet"

    def begun(at: str = at) -> subprocess.Popen:
        command = [str(Path(BMFED).with_name("bench-meet")), at]
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    first = begun()
    assert first.stdout.readline() == f"ready {at}\n"
    other = begun()
    assert other.communicate(timeout=10)[1].endswith("Address already in use\n")
    (tmp_path / "file").write_text("mine")
    refused = begun(f"unix:{tmp_path}/file")
    assert refused.communicate(timeout=10)[1].endswith("Address already in use\n")
    assert (tmp_path / "file").read_text() == "mine"
    first.kill()
    first.communicate()
    second = begun()
    assert second.stdout.readline() == f"ready {at}\n"
    second.kill()
    second.communicate()


def test_nobody_at_the_meeting_place(tmp_path):
    async def work() -> None:
        env = dict(os.environ)
        async with Group("bench-conformance", env, tmp_path) as group:
            it = Session("tcp", group, f"unix:{tmp_path}/nobody")
            await it.start("receive", "receiver")
            await group.results()

    with pytest.raises(BenchError, match=r"no meeting place at 'unix:.*; start bench-meet"):
        asyncio.run(work())
