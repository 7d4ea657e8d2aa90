"""kill -9 of each process of a run of the FOM cost study after a random number of rows, then it is
resumed: nothing stays behind, and the rows are those of an undisturbed run.
"""

import os
import random
import signal
import time

import pytest
from runs import LIMIT_S, RTI_ROOT
from runs import run as run  # the fixture
from test_fomcost import FOMCOST, plan, rows, spaces
from test_fomcost import fomcost as fomcost  # the fixture
from test_kills import SEED, kill

if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not (FOMCOST and RTI_ROOT), reason="FOMCOST is needed")
TEST = {"transport": "reliable", "layout": ["multiple", "fixed"], "attributes": [1, 5],
        "samples": 4}  # fmt: skip
VICTIMS = {"sender": "--name sender ", "receiver": "--name receiver ",
           "rtiexec": "starling rtiexec", "manager": ""}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
@pytest.mark.parametrize("victim", VICTIMS)
def test_whoever_is_killed_the_study_is_resumed(fomcost, victim, number):
    killed_and_resumed(fomcost, plan(TEST), victim, VICTIMS[victim], number)


@spaces
@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
def test_a_capture_that_is_killed_ends_the_run_which_is_resumed(fomcost, number):
    killed_and_resumed(fomcost, plan(TEST, hosts=True), "capture", "bench-capture", number)
    # What the first one saw is kept.
    seen = (fomcost.directory / "out").rglob("a.*.pcap")
    assert {p.name for p in seen} <= {"a.1.pcap", "a.2.pcap"}


def killed_and_resumed(run, tsf: dict, victim: str, part: str, number: int) -> None:
    wanted = random.Random(f"{SEED} {victim} {number}").randrange(16)
    run.start(tsf)
    while run.manager.poll() is None and len(run.rows()) < wanted:
        time.sleep(0.005)
    if victim == "manager":
        run.manager.send_signal(signal.SIGKILL)
        run.manager.communicate(timeout=LIMIT_S)
    else:
        while run.manager.poll() is None and not kill(run, part):
            time.sleep(0.005)
        _, err = run.manager.communicate(timeout=LIMIT_S)
        # It may have been done before it was killed, or done without the one that was killed.
        if run.manager.returncode != 0:
            assert err.count("STL-") == 1 and "Traceback" not in err, err
    if (run.directory / run.out / "run.json").exists():
        resumed = run.start(tsf, "--resume")
    else:
        run.out = "again"
        resumed = run.start(tsf)
    code, out, err = resumed.end()
    assert (code, err) == (0, ""), out + err
    found = [(r["test"], r["sample"]) for r in rows(run)]
    assert sorted(found) == [(str(t), str(s)) for t in range(1, 5) for s in range(1, 5)]
    assert list(run.directory.glob("starling-bench-*")) == []
