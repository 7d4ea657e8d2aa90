"""Who looks on may go, and who reads a run's directory may not be the one who made it: neither ends
a run, nor writes elsewhere."""

import asyncio
import contextlib
import errno
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from runs import (
    BMFED,
    LIMIT_S,
    RTI_ROOT,
    run as run,  # the fixture
    text,
)
from test_altered import GIVEN, made
from test_rounds import sample

from starling_bench.commands import attempt, console, progress
from starling_bench.conducting.conduct import Conductor
from starling_bench.conducting.pipe import ControlPipe
from starling_bench.errors import BenchError
from starling_bench.kept import raw
from starling_bench.kept.store import Store
from starling_bench.machines import identity, keeper
from starling_bench.machines.rti import ADAPTERS, Rti
from starling_bench.studies.rtibm import STUDY, figures
from starling_bench.tsf import plan

measures = pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
ROWS = 8 * 2  # of QUICK


def start(run, out: int, *before: str) -> subprocess.Popen:
    """A manager that writes there."""
    (run.directory / "t.tsf.toml").write_text(text())
    run.manager = subprocess.Popen(
        [*before, *run.command(), "run", "t.tsf.toml", "--bmfed", BMFED, "--rti-root", RTI_ROOT,
         "--out", "out", "--idle-wait-s", "0", "--no-report", "--progress-s", "0.01"],
        cwd=run.directory, env=run.environment(), text=True, stdout=out, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    return run.manager


def ends_well(run) -> str:
    """All was measured; what it said at standard error."""
    said = run.manager.communicate(timeout=LIMIT_S)[1]
    assert run.manager.returncode == 0, said
    assert len(run.rows()) == ROWS and run.processes() == {}
    return said


@measures
@pytest.mark.parametrize("what", ["pipe", "terminal"])
def test_a_run_that_nobody_reads_any_more_goes_on(run, what):
    """As in `bmmanager run | head`, or of a terminal that was closed."""
    here, there = os.pipe() if what == "pipe" else pty.openpty()
    start(run, there)
    os.close(there)
    run.halfway()
    os.close(here)
    said = ends_well(run)
    assert said.startswith("note: nothing more can be shown: ") and said.count("\n") == 1


@measures
@pytest.mark.parametrize("by", [(), ("nohup",)], ids=["alone", "nohup"])
def test_who_is_to_outlive_its_terminal_does(run, by):
    start(run, subprocess.DEVNULL, *by)
    run.halfway()
    run.manager.send_signal(signal.SIGHUP)
    if by:
        ends_well(run)
        return
    assert "STL-RUN-004: interrupted" in run.manager.communicate(timeout=LIMIT_S)[1]
    assert len(run.rows()) < ROWS


def test_a_name_that_a_terminal_has_no_letters_for_is_shown_all_the_same(monkeypatch):
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    console.console_for().print("a → \udcff", highlight=False)
    assert shown.getvalue() == b"a \\u2192 \\udcff\n"


def test_a_full_disk_at_the_output_ends_no_run(monkeypatch, capfd):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        console.console_for().print("x", highlight=False)
    assert "nothing more can be shown: No space left" in capfd.readouterr().err


def test_who_was_started_without_an_output_goes_on(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    console.console_for().print("x", highlight=False)
    console.guarded(lambda: None)()


def _ended(work, capfd) -> str:
    with pytest.raises(console.typer.Exit) as ended:
        console.guarded(work)()
    told = capfd.readouterr().err
    assert ended.value.exit_code == 1 and "Traceback" not in told
    return told


def test_a_command_that_can_not_say_what_was_asked_for_fails(monkeypatch, capfd):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        told = _ended(lambda: print("x", flush=True), capfd)
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert "can't say what was asked for: No space left on device\n  at standard output" in told
    # What it is that has no room else is not the output.
    full = OSError(errno.ENOSPC, "No space left on device")
    told = _ended(_raising(full), capfd)
    assert "can't go on: No space left on device" in told and "standard output" not in told
    told = _ended(_raising(PermissionError(errno.EPERM, "Not allowed")), capfd)
    assert "can't go on: Not allowed" in told


def _raising(error: Exception):
    def work() -> None:
        raise error

    return work


def test_memory_and_libraries_that_are_not_there_are_one_message(capfd):
    unlimited = "do: end other programs, or measure less at a time\n"
    told = _ended(_raising(MemoryError()), capfd)
    assert "STL-OUT-013: there is not memory enough\n" in told and unlimited in told
    told = _ended(_raising(ImportError("x.so: failed to map")), capfd)
    assert "a library can't be loaded: x.so: failed to map" in told


def test_who_limits_memory_is_told_how_much_is_allowed(tmp_path):
    """Where numpy fits in and Arrow does not."""
    (tmp_path / "run.json").write_text("{}")
    script = """
import resource
from starling_bench.commands import console
from starling_bench.kept import damage, raw, store
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), used + (8 << 20)))
def work():
    import pyarrow.parquet
console.guarded(work)()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "STL-OUT-013" in done.stderr and "Traceback" not in done.stderr.split("STL")[0]
    assert re.search(r"allow more than [\d,]+ MB of address space", done.stderr), done.stderr


def test_what_is_left_of_a_run_that_goes_on_is_by_what_it_took_since(monkeypatch):
    now, said = [100.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = SimpleNamespace(print=lambda text, **_: said.append(text))
    lines = progress.Lines(shown, 1010, 10.0, planned_s=40.0)
    lines.had(900, 25.0)
    lines.show()
    # Samples of other executions take longer: not their number says what is left.
    now[0] += 60
    lines.follow("e test 1", 10, 5.0)
    lines.show()
    assert said == [
        "900 of 1010 samples: starting", "910 of 1010 samples: e test 1; 120 s left",
    ]  # fmt: skip


def test_what_ended_early_is_told_whatever_its_transport(capsys):
    """Round trips of best effort end, too, where none comes back."""
    execution = {"sequence": "s", "execution": "e", "problems": {"1": "best-effort data stopped"}}
    store = SimpleNamespace(study=SimpleNamespace(shortfall=lambda of: ""),
                            run={"executions": [execution]})  # fmt: skip
    assert attempt._shortfall(store, []) == 1
    assert capsys.readouterr().err == (
        "STL-RUN-005: a test ended early, as nothing came any more\n"
        "  s/e, test 1: best-effort data stopped\n"
    )


def taken_up(tmp_path, scale: float) -> None:
    """Resumes a run that was begun at scale 0.5."""
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(rti='adapter = "tcp"'))
    doing = attempt.Attempt(STUDY, file, tmp_path / "out", resume=True, scale=scale)
    doing.planned = plan.load(file, STUDY, True, scale)
    given = {**GIVEN, "tsf_text": doing.planned.text, "scale": 0.5}
    if not (tmp_path / "out").exists():
        Store.create(tmp_path / "out", STUDY, given).close()
    store = doing._taken_up()
    store.save_run()
    store.close()


def test_a_run_is_resumed_at_its_own_scale(tmp_path):
    """Another one's tests would stand beside those that are done, as if they were alike."""
    taken_up(tmp_path, 0.5)
    with pytest.raises(BenchError) as told:
        taken_up(tmp_path, 1.0)
    assert str(told.value) == (
        f"STL-OUT-004: the run has --scale 0.5, not 1\n  at {tmp_path}/out\n"
        "  do: give --scale 0.5, or `bmmanager resume` with that directory alone"
    )


def test_a_run_that_is_resumed_at_another_commit_is_of_both(tmp_path, monkeypatch):
    monkeypatch.setattr("starling_bench.machines.machine.commit", lambda: "v0.1-7-g0123456")
    for now in ("v0.1-7-g0123456", "v0.1-8-g89abcde", "v0.1-8-g89abcde"):
        monkeypatch.setattr(attempt, "commit", lambda now=now: now)
        taken_up(tmp_path, 0.5)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["commit"] == "v0.1-7-g0123456, then v0.1-8-g89abcde"
    assert len(run["notes"]) == 1
    keep = Path(__file__).parents[1] / "keep.py"
    done = subprocess.run([sys.executable, keep, tmp_path / "out", tmp_path / "kept"], text=True,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 1 and "is of commit 'v0.1-7-g0123456, then v0.1-8" in done.stderr


# ---- directories of others


def test_what_is_written_of_a_run_goes_nowhere_else(tmp_path):
    """A directory that somebody else packed may have links in it."""
    made(tmp_path).close()
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.write_text("mine")
    below = out / "s" / "e"
    below.mkdir(parents=True)
    (below / "rtt_test1_pair1.raw").write_bytes(
        np.array([1, 1], dtype="<u4").tobytes() + np.float32(5).tobytes()
    )
    links = ["run.json.tmp", "summary.json.tmp", "summary.csv.tmp", "report.html.tmp",
             "results.tmp", "s/e/rtt_test1_pair1.tmp"]  # fmt: skip
    for name in links:
        (out / name).symlink_to(mine)
    store = Store.load(out, STUDY, claim=True)
    store.pack()
    store.write("report.html", "x")
    store.save()
    store.resume()
    store.close()
    assert mine.read_text() == "mine"
    assert not any((out / name).is_symlink() for name in links)
    assert list(raw.read(below / "rtt_test1_pair1.raw")) == [1]


def test_a_folder_whose_name_is_no_text_is_one_like_others(tmp_path):
    away = tmp_path / os.fsdecode(b"odd \xff\nfolder")
    away.mkdir()
    path = raw.path_of(away, 1, 1)
    path.write_bytes(np.array([1, 1], dtype="<u4").tobytes() + np.float32(5).tobytes())
    raw.pack(away)
    assert not path.exists() and {n: list(ns) for n, ns in raw.read(path).items()} == {1: [5.0]}
    store = Store.create(away / "out", STUDY, {**GIVEN, "tsf": away.name})
    figures.write(store, store.save())
    store.close()


def test_figures_go_nowhere_else(tmp_path):
    store = made(tmp_path)
    away, drawn = tmp_path / "away", store.directory / "figures"
    away.mkdir()
    row = sample("s", "e", 1, 5) | {"rtt_mean_ms": 1.0}
    store.rows = [row]
    drawn.symlink_to(away)
    with pytest.raises(BenchError, match="it is a link"):
        figures.write(store, store.summaries())
    assert list(away.iterdir()) == []
    drawn.unlink()
    drawn.mkdir()
    for name in ("001.svg", "001.png"):
        (drawn / name).symlink_to(away / name)
    figures.write(store, store.summaries())
    assert list(away.iterdir()) == [] and (drawn / "001.png").stat().st_size > 0
    store.close()


def test_who_writes_a_report_anew_does_not_end_the_run_again(tmp_path):
    store = made(tmp_path)
    store.save()
    store.run["ended"] = "1999-12-31T00:00:00+00:00"
    store.save_run()
    store.close()
    again = Store.load(tmp_path / "out", STUDY, claim=True)
    again.save()
    again.close()
    assert json.loads((tmp_path / "out" / "run.json").read_text())["ended"][:4] == "1999"


def test_a_sample_is_of_the_execution_that_it_came_from(tmp_path):
    store = made(tmp_path)
    event = sample("s", "e", 2, 0) | {"kind": "OWOT", "sequence": "other", "execution": "else"}
    kept = store.add("s", "e", event)
    assert (kept["sequence"], kept["execution"]) == ("s", "e")
    store.close()


@pytest.mark.parametrize("encoding", ["foo", "shift_jis", "utf-7", "hex"])
def test_a_fom_in_an_encoding_that_nobody_reads_is_told(tmp_path, encoding):
    (tmp_path / "f.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<m/>\n')
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(fom="f.xml", rti='adapter = "tcp"'))
    (sequence,) = plan.load(file, STUDY).sequence
    with pytest.raises(BenchError, match="encoding can't be read") as told:
        Conductor(STUDY, tmp_path, None, None, None).fom(sequence)
    assert told.value.code == "STL-FOM-002" and told.value.where == f"{tmp_path / 'f.xml'}:1"


def test_a_fom_that_is_nested_without_end_is_told(tmp_path):
    deep = "<objectClass>" * 5000 + "</objectClass>" * 5000
    (tmp_path / "f.xml").write_text(f"<m>{deep}</m>")
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(fom="f.xml", rti='adapter = "tcp"'))
    (sequence,) = plan.load(file, STUDY).sequence
    with pytest.raises(BenchError, match="has classes nested without end") as told:
        Conductor(STUDY, tmp_path, None, None, None).fom(sequence)
    assert told.value.code == "STL-FOM-002" and told.value.where == str(tmp_path / "f.xml")


# ---- what stands around a run


def test_a_folder_for_sockets_that_is_too_long_is_told(tmp_path):
    """As a TMPDIR may be."""
    there = tmp_path / ("x" * 120)
    there.mkdir()

    async def listen() -> None:
        async with ControlPipe(lambda event: None, there):
            pass

    with pytest.raises(BenchError, match="can't listen for the master") as told:
        asyncio.run(listen())
    assert told.value.where == f"{there}/pipe" and "TMPDIR" in told.value.do


def test_what_managers_of_other_namespaces_have_is_left_alone(tmp_path, monkeypatch):
    """Their process ids say nothing here."""
    asked = []
    monkeypatch.setattr(identity, "SPACES", tmp_path)
    monkeypatch.setattr(identity, "orphans", lambda: iter(()))
    monkeypatch.setattr(identity, "left", lambda: iter(()))
    monkeypatch.setattr(
        identity.subprocess, "run",
        lambda command, **_: asked.append(command[-1]) or subprocess.CompletedProcess(command, 0),
    )  # fmt: skip
    gone = subprocess.Popen(["true"])
    gone.wait()
    mine, other = (
        f"starling-bench-{gone.pid}-1-{space}-x-switch" for space in (identity._namespace(), "17")
    )
    for name in (mine, other):
        (tmp_path / name).touch()
    assert identity.clean() == [f"removed network namespace {mine}"] and asked == [mine]


def test_a_keeper_that_does_not_end_is_ended(tmp_path, monkeypatch):
    """As one that was stopped."""
    program = tmp_path / "bench-keep"
    program.write_text(
        """#!/bin/sh
echo '{"directory": "", "cleaned": []}'
read asked
echo '{"quiet": []}'
exec sleep 1000
"""
    )
    program.chmod(0o755)

    async def kept() -> None:
        async with keeper.local(program, []):
            monkeypatch.setattr(keeper, "_ANSWER_S", 0.1)

    asyncio.run(asyncio.wait_for(kept(), LIMIT_S))


def test_a_process_that_ends_at_once_is_heard_of():
    """Though the keeper says so together with that it was started."""

    async def started() -> int | None:
        asked = asyncio.Event()
        lines = [
            b'{"directory": "", "cleaned": []}',
            b'{"started": 7}',
            b'{"gone": "f", "code": 127}',
        ]

        async def readline() -> bytes:
            if len(lines) == 2:
                await asked.wait()
            return lines.pop(0) if lines else await asyncio.Event().wait()

        reader, writer = SimpleNamespace(readline=readline), SimpleNamespace()
        writer.write = lambda _: asked.set()
        one = keeper.Keeper("this host", reader, writer)
        await one.greeted()
        process = await one.start("f", ["f"], "f.log", {}, "", None)
        assert process.pid == 7
        return await process.wait()

    assert asyncio.run(asyncio.wait_for(started(), LIMIT_S)) == 127


def test_a_name_too_long_for_the_sockets_of_starling_is_told_before_anything_starts():
    """Also by `check`; one that is just short enough is taken."""
    starling = ADAPTERS["starling"]()
    behind = len("/s-xxxxxxxx/rtiexec-65535.sock")

    def run_at(letters: int) -> SimpleNamespace:
        return SimpleNamespace(temporary=Path("/" + "a" * (letters - 1)))

    starling.has_room(Rti(), run_at(identity.PATH_MAX - behind))
    long = run_at(identity.PATH_MAX - behind + 1)
    with pytest.raises(BenchError, match="socket would be too long") as told:
        starling.has_room(Rti(), long)
    assert told.value.code == "STL-RUN-022" and "TMPDIR" in told.value.do
    for own in ({"STARLING_NET_UNIX": "false"}, {"STARLING_CONNECT_ADDRESS": "h:1"}):
        starling.has_room(Rti(env=own), long)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_before_anything_is_started_is_told(tmp_path, monkeypatch, which):
    def load(*_: object) -> None:
        os.kill(os.getpid(), which)

    before = signal.getsignal(which)
    monkeypatch.setattr(plan, "load", load)
    with pytest.raises(BenchError, match="before anything was started") as told:
        attempt.Attempt(STUDY, tmp_path / "t.toml").run()
    assert told.value.code == "STL-RUN-004" and signal.getsignal(which) == before


def test_how_a_process_ended_is_known_whoever_started_the_manager(tmp_path, monkeypatch):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        found = []
        monkeypatch.setattr(plan, "load", lambda *_: found.append(subprocess.run(["false"])))
        with pytest.raises(AttributeError):  # that is no plan
            attempt.Attempt(STUDY, tmp_path / "t.toml").run()
        assert [done.returncode for done in found] == [1]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_temporary_folder_is_absolute_whatever_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", ".")
    me = identity.Run()
    try:
        assert me.temporary.is_absolute() and me.temporary.parent == tmp_path
    finally:
        me.end()
