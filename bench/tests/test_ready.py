"""When a server is ready, whose processes are cleaned, and what is told of what can't be kept."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

from starling_bench.conducting import conduct
from starling_bench.conducting.follow import Master, There, until_ready
from starling_bench.errors import BenchError
from starling_bench.kept.store import Store
from starling_bench.machines import hosts, identity, idle, ssh
from starling_bench.machines.hosts import Launcher
from starling_bench.machines.rti import Prepared
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

BMFED = os.environ.get("BMFED")


async def _nothing() -> None:
    pass


async def _server(tmp_path: Path, before: bytes, sign: str, port: int | None, wait_s: float):
    """Waits for one that never gets ready, for want of a sign or of its port."""
    log = tmp_path / "rti-server.log"
    log.write_bytes(before)
    launcher = Launcher("bmfed")
    command = ["/bin/sh", "-c", "sleep 600; read never", "--port", "15164"]
    server = await launcher.start("rti-server", command, log, dict(os.environ), tmp_path)
    try:
        there = types.SimpleNamespace(bring_home=_nothing)
        await until_ready(server, Prepared({}, "", ["x"], sign, port), wait_s, there)
    finally:
        await launcher.end_all(hurry=True)


@pytest.mark.parametrize(("before", "sign"), [(b"$ server\nready\n", "ready"), (b"", "15164")])
def test_a_sign_in_an_earlier_log_or_in_the_command_is_none(tmp_path, before, sign):
    with pytest.raises(BenchError, match="the RTI's server") as told:
        asyncio.run(_server(tmp_path, before, sign, None, 0.5))
    assert told.value.what.startswith(
        "the RTI's server did not get ready within 0.5 s (join_timeout_s): its log does not say "
        f"'{sign}'; it "
    )


def test_a_server_that_does_not_listen_is_told_with_its_port(tmp_path):
    with pytest.raises(BenchError, match="the RTI's server") as told:
        asyncio.run(_server(tmp_path, b"", "", 15164, 0.2))
    assert "within 0.2 s (join_timeout_s): it does not listen at port 15164; " in told.value.what
    assert told.value.do == "is port 15164 in use by another process?"


@pytest.mark.parametrize(
    ("does", "fate", "do"),
    [
        ("sleep 600 &", "ended with exit code 0", "let it stay in the foreground"),
        ("echo fatal: no licence; exit 1", "code 1: fatal: no licence", "read that log"),
        ("exec sleep 600", "did not get ready within", "is port 15164 in use by another process?"),
    ],
)
def test_a_server_that_does_not_get_ready_is_told_by_what_it_did(tmp_path, does, fate, do):
    async def waits() -> None:
        launcher = Launcher("bmfed")
        log = tmp_path / "rti-server.log"
        server = await launcher.start("rti-server", ["sh", "-c", does], log, {}, tmp_path)
        try:
            there = types.SimpleNamespace(bring_home=_nothing)
            # It ends of itself, or never does.
            limit_s = 0.1 if "within" in fate else 60
            await until_ready(server, Prepared({}, "", ["x"], "ready", 15164), limit_s, there)
        finally:
            await launcher.end_all(hurry=True)

    with pytest.raises(BenchError, match=fate) as told:
        asyncio.run(waits())
    assert told.value.do.startswith(do)


def test_a_log_is_read_once_and_of_its_end_only_so_much(tmp_path, monkeypatch):
    monkeypatch.setattr(hosts, "_LOOK_BYTES", 1000)
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 1998)  # the sign lies between two looks
    one = hosts.Running("a", "bmfed", types.SimpleNamespace(returncode=1), log)
    sizes = []
    said = hosts.Running.said
    monkeypatch.setattr(
        hosts.Running, "said", lambda self, at: sizes.append(len(t := said(self, at))) or t
    )
    looks = [one.has_said(b"ready") for _ in range(4)]
    with log.open("ab") as more:
        more.write(b"ready")
    assert [*looks, one.has_said(b"ready"), one.has_said(b"ready")] == [False] * 4 + [True] * 2
    assert sizes == [1000, 1000, 6, 4, 9]  # with what may be the sign's beginning
    monkeypatch.setattr(hosts, "_LOOK_BYTES", 1 << 22)
    log.write_bytes(b"bmfed: an old word\n" + b"y\n" * 40_000 + b"z" * 5000 + b"\n")
    assert one.last_words() == ("z" * 1000, "")
    assert sizes[-1] == 1 << 16


def test_processes_of_another_pid_namespace_are_nobodys_orphans():
    dead = f"{2**22}:1"  # no process has so large a number
    for namespace, found in ((identity._namespace(), True), ("1", False)):
        env = dict(os.environ, BENCH_RUN_ID=f"{dead}:{namespace}:x")
        for _ in range(20):
            child = subprocess.Popen(["sleep", "60"], env=env)
            try:
                while Path(f"/proc/{child.pid}/comm").read_text() != "sleep\n":
                    pass  # not yet itself
                seen = child.pid in dict(identity.orphans())
                if child.poll() is None:
                    break  # else a `clean` of another test has ended it
            finally:
                child.kill()
                child.wait()
        assert seen is found


def test_who_asks_with_a_dead_runs_id_is_no_orphan_nor_who_is_above_it():
    """A federate's environment may be tried by hand, in a shell."""
    env = dict(os.environ, BENCH_RUN_ID=f"{2**22}:1:{identity._namespace()}:x")
    ask = "import os; from starling_bench.machines.identity import orphans; "
    ask += "print({os.getpid(), os.getppid()} & set(dict(orphans())))"
    command = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, ask]
    for _ in range(20):
        said = subprocess.run(command, env=env, stdout=subprocess.PIPE).stdout
        if said:
            break  # else a `clean` of another test has ended it
    assert said == b"set()\n"


def test_what_a_dead_manager_left_of_hosts_and_services_may_be_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(identity.tempfile, "gettempdir", lambda: str(tmp_path))
    texts = ["{", "[{}]", '[{"host": 1}]', '[{"host": {"name": "h"}}]', "7", "[" * 100_000, None]
    name = f"{identity._PREFIX}{2**22}-1-{identity._namespace()}-"
    for n, text in enumerate(texts):
        path = tmp_path / f"{name}{n}" / identity.HOSTS
        path.parent.mkdir()
        path.write_text(text) if text else os.mkfifo(path)
    (tmp_path / f"{name}x").mkdir()
    os.mkfifo(tmp_path / f"{name}x" / "quiet")
    told = ssh.clean()
    assert len(told) == len(texts) and all("look there by hand" in line for line in told)
    monkeypatch.setattr(identity, "orphans", lambda: iter(()))
    unread, removed = identity.clean()
    assert "services a dead manager had stopped can't be read" in unread
    assert removed == f"removed {tmp_path}/{name}x"
    assert len(list(tmp_path.iterdir())) == len(texts)


# A daemon with its helpers, each level in a shell that does not end with its parent.
TREE = """sh -c 'sh -c "sh -c \\"sleep 600; true\\"; true"; true' & echo"""


def below(mark: str) -> set[int]:
    """Processes that have this in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
    return found


def ended(tmp_path: Path) -> Launcher:
    """Who has ended what a process left that has itself ended."""
    launcher = Launcher("bmfed")

    async def run() -> None:
        env = dict(os.environ, MARK=str(tmp_path))
        one = await launcher.start("a", ["sh", "-c", TREE], tmp_path / "a.log", env, tmp_path)
        await one.process.wait()
        while len(below(str(tmp_path))) < 4:
            await asyncio.sleep(0)
        await launcher.end_all(hurry=True)

    asyncio.run(run())
    return launcher


def test_of_what_a_process_leaves_running_all_levels_are_ended(tmp_path):
    assert ended(tmp_path).left == [] and below(str(tmp_path)) == set()


def test_what_can_not_be_ended_is_told_and_is_others(tmp_path, monkeypatch):
    monkeypatch.setattr(hosts, "_signal", lambda *_: None)
    monkeypatch.setattr(hosts, "GRACE_S", 0.0)
    pids = below(str(tmp_path))
    try:
        left = ended(tmp_path).left
        pids = below(str(tmp_path))
        (said,) = left
        assert said.endswith("('sh')") and int(said.split()[1]) in pids and len(pids) == 4
        me = os.getpid()
        assert pids <= set(idle._family(me)) and not pids & set(idle._family(me, idle._strangers))
    finally:
        idle._strangers.clear()
        for pid in pids:
            # Of them the one that waits for another may end with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while below(str(tmp_path)):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)


KEEP = BMFED and Path(BMFED).with_name("bench-keep")


@pytest.mark.skipif(not KEEP, reason="BMFED is not set")
def test_a_keeper_ends_all_levels_too(tmp_path):
    with subprocess.Popen(
        [KEEP], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1
    ) as keeper:

        def ask(**what: object) -> dict:
            keeper.stdin.write(json.dumps(what) + "\n")
            return json.loads(keeper.stdout.readline())

        keeper.stdout.readline()
        ask(do="start", name="a", command=["sh", "-c", TREE], env={"MARK": str(tmp_path)},
            cwd=str(tmp_path), log=str(tmp_path / "a.log"), cpus=[])  # fmt: skip
        while json.loads(keeper.stdout.readline()) != {"gone": "a", "code": 0}:
            pass
        while len(below(str(tmp_path))) < 4:
            pass
        assert ask(do="end", hurry=True) == {"ended": [], "left": []}
        assert below(str(tmp_path)) == set()
        keeper.stdin.close()


class Strange:
    """A store that can't keep what comes."""

    def add(self, *_: object) -> dict:
        raise KeyError("sent")

    def save_run(self) -> None:
        pass

    def attend(self, _: float) -> None:
        pass

    def renew(self) -> None:
        pass


class Site:
    """A host from which nothing has to come."""

    keeper = types.SimpleNamespace(on_loss=None)

    async def bring_home(self, _: Path) -> None:
        pass


@pytest.mark.parametrize("away", [False, True])
def test_what_can_not_be_kept_of_a_sample_ends_the_run(tmp_path, away):
    async def hears() -> Master:
        named = types.SimpleNamespace(name="s", data_timeout_s=10, join_timeout_s=10)
        record = {"tests": {"1": {"samples": 1}}, "pairs": 1, "problems": {}, "ways": {}}
        execution = types.SimpleNamespace(name="e")
        master = Master(Strange(), named, execution, lambda _: None, record)
        said = []
        pipe = types.SimpleNamespace(say=lambda **told: said.append(told), path="x", address="x")
        places = {"h": types.SimpleNamespace(site=Site())} if away else {}
        There(places, None, tmp_path, master, pipe)
        master.hear({"event": "test", "test": 1})
        master.hear({"event": "sample"})
        master.hear({"event": "between"})
        while not said:
            await asyncio.sleep(0)
        return master

    assert asyncio.run(hears()).problem is not None


def test_what_a_master_wrote_itself_stays_when_a_run_goes_on(tmp_path):
    for said in ("first", "second", "third"):
        conduct._keep_earlier(tmp_path)
        (tmp_path / "results.csv").write_text(said)
    names = ("results.1.csv", "results.2.csv", "results.csv")
    assert [(tmp_path / name).read_text() for name in names] == ["first", "second", "third"]


def test_a_plan_has_the_text_of_every_file_once(tmp_path):
    for name, includes in (("c", []), ("b", ["c"]), ("d", ["c"])):
        text = "".join(f'include = ["{one}.toml"]\n' for one in includes)
        (tmp_path / f"{name}.toml").write_text(f'{text}[[rti]]\nname = "{name}"\n')
    demo = Path(__file__).parents[1] / "experiments" / "demo.tsf.toml"
    (tmp_path / "a.toml").write_text(f'include = ["b.toml", "d.toml", "{demo}"]\n')
    before = plan.load(tmp_path / "a.toml", STUDY).text
    assert [before.count(f'name = "{name}"') for name in "bcd"] == [1, 1, 1]
    assert before.startswith("include") and "\n# c.toml\n" in before and "[[sequence]]" in before
    (tmp_path / "c.toml").write_text('[[rti]]\nname = "other"\n')
    assert plan.load(tmp_path / "a.toml", STUDY).text != before
    assert str(tmp_path) not in before and sys.executable not in before


def test_a_run_names_the_commit_that_it_was_of(tmp_path):
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    store.close()
    kept = json.loads((tmp_path / "out" / "run.json").read_text())["commit"]
    assert re.fullmatch(r"unknown|\S*[0-9a-f]{7,}(-dirty)?", kept)
