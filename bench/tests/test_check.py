"""`check`: what a file would run, what of that is not here, and what will say little."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import BMFED, RTI_ROOT
from test_manager import FOM, SMALL, sequence

from starling_bench.machines.rti import Rti, adapter_for
from starling_bench.tsf import tables


def check(tmp_path: Path, *options: str) -> str:
    """What `bmmanager check` says of t.tsf.toml, which is right; 2: something is not here."""
    command = [sys.executable, "-m", "starling_bench.studies.rtibm", "check", "t.tsf.toml"]
    said = subprocess.run([*command, *options], cwd=tmp_path, text=True, capture_output=True)
    assert (said.returncode, said.stderr) == (2 if "not here yet:" in said.stdout else 0, "")
    return said.stdout


def test_check_tells_all_that_is_not_here(tmp_path):
    text = sequence("good", extra='directory = "nowhere"').replace(sys.executable, "nosuch")
    (tmp_path / "t.tsf.toml").write_text(text)
    told = check(tmp_path, "--rti-root", "none")
    codes = ["STL-FOM-001", "STL-RUN-002", "STL-RUN-008"]
    assert re.findall(r"^STL-\w+-\d+", told, flags=re.M) == codes
    told = check(tmp_path, "--rti-root", "none", "--bmfed", sys.executable)
    assert "STL-RTI-001" in told and "at --rti-root " in told and "STL-RUN-002" not in told


def test_check_tells_a_caution_once(tmp_path):
    """However many tests it is of."""
    more = f"[[sequence.execution.test]]\n{SMALL}"
    (tmp_path / "t.tsf.toml").write_text(sequence("good", test=SMALL) + 3 * more)
    shutil.copy(FOM, tmp_path / "f.xml")
    said = re.findall(r"^caution: (.*)\n  at (.*)\n  do: ", check(tmp_path), flags=re.M)
    few = [at for what, at in said if "updates one way may be over too soon" in what]
    assert len(few) == 1 and few[0].endswith(" and 3 more"), said


_TCP = "STARLING_NET_UNIX"
_ASKED = 'set link = "tcp" and best_effort_by = "udp"'


@pytest.mark.parametrize(("adapter", "env", "do"), [
    ("tcp", {}, "take an RTI or adapter that has datagrams"),
    ("shm", {}, "take an RTI or adapter that has datagrams"),
    ("generic", {}, ""),
    # As `starling ps` says of each (test_real).
    ("starling", {}, _ASKED),
    ("starling", {"BEST_EFFORT": "datagrams"}, _ASKED),
    ("starling", {"BEST_EFFORT": "multicast"}, _ASKED),
    ("starling", {"BEST_EFFORT": "datagrams", "SHARED_MEMORY": "off"}, _ASKED),
    ("starling", {_TCP: "false"}, _ASKED),
    ("starling", {_TCP: "false", "BEST_EFFORT": "datagrams"}, ""),
    ("starling", {"BEST_EFFORT": "datagrams", "SHARED_MEMORY": "off", "PATH": "direct"}, ""),
])  # fmt: skip
def test_check_tells_of_best_effort_that_will_be_none(tmp_path, adapter, env, do):
    named = {k if k == _TCP else f"STARLING_TRANSPORT_{k}": v for k, v in env.items()}
    rti = f'adapter = "{adapter}"\nenv = {tables.toml(named)}'
    both = 'transport = ["reliable", "best_effort"]'
    text = sequence("good", test=SMALL).replace('adapter = "generic"', rti)
    shutil.copy(FOM, tmp_path / "f.xml")
    for transport in ("best_effort", "reliable"):
        written = text.replace(both, f'transport = "{transport}"')
        (tmp_path / "t.tsf.toml").write_text(written)
        said = r"^caution: best effort of .* on which nothing is lost.*\n.*\n  do: (.*)"
        wanted = [do] if do and transport == "best_effort" else []
        assert re.findall(said, check(tmp_path), flags=re.M) == wanted


def test_check_tells_nothing_of_starlings_best_effort_elsewhere():
    there = adapter_for(Rti(), "")
    stream = Rti(env={"STARLING_TRANSPORT_BEST_EFFORT": "stream"})
    assert there.unlike_best_effort(Rti(), True) and not there.unlike_best_effort(Rti(), False)
    assert not there.unlike_best_effort(Rti(local_settings="there:15164"), True)
    assert there.unlike_best_effort(stream, False)


@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
def test_check_tells_that_there_is_no_rti(tmp_path, monkeypatch):
    """Its libraries are nowhere where the loader would look."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    text = sequence("good").replace("command =", "#").replace('"generic"', '"starling"')
    (tmp_path / "t.tsf.toml").write_text(text)
    shutil.copy(FOM, tmp_path / "f.xml")
    told = check(tmp_path, "--bmfed", BMFED)
    assert re.findall(r"^STL-\w+-\d+", told, flags=re.M) == ["STL-RTI-009"]
    assert "STL-RTI-009: librti1516e.so.1, which libbench-hla1516e.so needs" in told
    assert "do: give the RTI's install tree with --rti-root" in told
    assert "everything it names is here" in check(
        tmp_path, "--bmfed", BMFED, "--rti-root", RTI_ROOT
    )
    # Nor is it looked for what federates on plain sockets do not load.
    (tmp_path / "t.tsf.toml").write_text(text.replace('"starling"', '"tcp"'))
    assert "everything it names is here" in check(tmp_path, "--bmfed", BMFED)


def test_the_example_for_other_rtis_is_right(tmp_path):
    """The whole file of docs/other-rtis.md, in a tree that has what it names."""
    page = (Path(__file__).parents[2] / "docs" / "other-rtis.md").read_text()
    (example,) = re.findall(r"```toml\n(# A whole file.*?)```", page, flags=re.S)
    for place in ("bench/foms", "bench/experiments", "rti/lib", "rti/bin"):
        (tmp_path / place).mkdir(parents=True)
    shutil.copy(FOM, tmp_path / "bench" / "foms")
    here = tmp_path / "bench" / "experiments"
    example = example.replace("/path/of/the/rti", str(tmp_path / "rti"))
    (here / "t.tsf.toml").write_text(example)
    # What an RTI has itself counts, not what is given for all others.
    given = ("--rti-root", str(tmp_path / "none"), "--bmfed", sys.executable)
    told = check(here, *given)
    assert "first/one: 8 tests, 40 samples, about " in told
    assert re.search(r"^all: 8 tests, about \d+ (s|min) with", told, flags=re.M)
    assert re.findall(r"^STL-\w+-\d+", told, flags=re.M) == ["STL-RTI-005"]
    server = tmp_path / "rti" / "bin" / "server"
    server.write_text("#!/bin/sh\n")
    server.chmod(0o755)
    assert "everything it names is here" in check(here, *given)
