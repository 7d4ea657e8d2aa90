"""kill -9 after a random number of rows, then resume: nothing stays behind, and the rows are those
of an undisturbed run. KILLS says how often for each victim (`make bench-kills`: 20).

Victims are the processes of a run on this host, and the connections to hosts that ssh reaches.
"""

import json
import os
import random
import time

import numpy as np
import pytest
from runs import (
    BMFED,
    LIMIT_S,
    RTI_ROOT,
    ended,
    killed,
    resumed,
    run as run,  # the fixture
    text,
)
from sshd import (
    REASON,
    net as net,  # the fixture
    possible,
    two,
)

from starling_bench.kept import raw

pytestmark = pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
SEED = int(os.environ.get("SEED", "1"))
TESTS = """kind = ["RTOL", "OWIT"]
transport = ["reliable", "best_effort"]
loop_version = 3
outstanding_max = 1
updates = 300
samples = 4"""
VICTIMS = {
    "master": "--name master ", "subordinate": "--name subordinate ",
    "rtiexec": "starling rtiexec", "manager": "",
}  # fmt: skip


@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
@pytest.mark.parametrize("victim", VICTIMS)
def test_whoever_is_killed_the_rest_is_resumed(run, victim, number):
    # Of sixteen. With none it is killed as soon as it is there.
    wanted = random.Random(f"{SEED} {victim} {number}").randrange(16)
    killed(run, text(TESTS), VICTIMS[victim], wanted)
    resumed_to_the_same_rows(run, text(TESTS))
    left = list(run.directory.glob("starling-bench-*"))
    assert left == []


def test_values_that_were_whole_when_the_manager_died_are_packed(run):
    run.start(text(TESTS))
    code, _, err = run.end()
    assert code == 0, err
    out = run.directory / "out"
    about = json.loads((out / "run.json").read_text())
    about["executions"][0]["state"] = "running"
    (out / "run.json").write_text(json.dumps(about))
    (packed, *_) = sorted(out.rglob("rtt_*.parquet"))
    left = packed.with_suffix(".raw")
    values = raw.read(left)
    packed.unlink()
    for sample, ns in values.items():
        with left.open("ab") as file:
            file.write(np.array([sample, len(ns)], "<u4").tobytes() + ns.tobytes())
    resumed_to_the_same_rows(run, text(TESTS))
    assert not left.exists()
    assert all(np.array_equal(ns, raw.read(left)[sample]) for sample, ns in values.items())


@pytest.mark.long
@pytest.mark.skipif(os.environ.get("REQUIRE_ALL") != "1" and not possible(), reason=REASON)
@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
@pytest.mark.parametrize("host", [0, 1], ids=["master", "subordinate"])
def test_whichever_connection_is_killed_the_rest_is_resumed(run, net, host, number):
    wanted = random.Random(f"{SEED} connection {host} {number}").randrange(16)
    machine, tsf = net.machines[host], two(net, TESTS)
    run.start(tsf)
    while run.manager.poll() is None and not (machine.sessions() and len(run.rows()) >= wanted):
        time.sleep(0.005)
    machine.cut()
    err = ended(run)
    if run.manager.returncode != 0:
        assert f"host '{machine.name}'" in err, err
    resumed_to_the_same_rows(run, tsf)
    deadline = time.monotonic() + LIMIT_S
    while any(one.left() for one in net.machines) or run.processes():
        assert time.monotonic() < deadline, run.processes()
        time.sleep(0.02)
    assert list(run.directory.glob("starling-bench-*")) == []


def resumed_to_the_same_rows(run, tsf: str) -> None:
    """Each sample of each test is there once."""
    kept = len(run.rows())
    resumed(run, tsf)
    found = [(r["test"], r["sample"]) for r in run.rows()]
    assert sorted(found) == [(str(t), str(s)) for t in range(1, 5) for s in range(1, 5)], kept
