"""kill -9 after a random number of rows, then resume: nothing stays behind, and the rows are those
of an undisturbed run. KILLS says how often for each victim (`make bench-kills`: 20).
"""

import os
import random
import signal
import time

import pytest
from runs import BMFED, LIMIT_S, RTI_ROOT, text
from runs import run as run  # the fixture

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
    run.start(text(TESTS))
    while run.manager.poll() is None and len(run.rows()) < wanted:
        time.sleep(0.005)
    if victim == "manager":
        run.manager.send_signal(signal.SIGKILL)
        run.manager.communicate(timeout=LIMIT_S)
    else:
        while run.manager.poll() is None and not kill(run, VICTIMS[victim]):
            time.sleep(0.005)
        _, err = run.manager.communicate(timeout=LIMIT_S)
        # It may have been done before it was killed, or done without the one that was killed.
        if run.manager.returncode != 0:
            assert err.count("STL-") == 1 and "Traceback" not in err, err
    kept = len(run.rows())
    if (run.directory / run.out / "run.json").exists():
        resumed = run.start(text(TESTS), "--resume")
    else:
        run.out = "again"
        resumed = run.start(text(TESTS))
    code, out, err = resumed.end()
    assert (code, err) == (0, ""), out + err
    found = [(r["test"], r["sample"]) for r in run.rows()]
    assert sorted(found) == [(str(t), str(s)) for t in range(1, 5) for s in range(1, 5)], kept
    left = list(run.directory.glob("starling-bench-*"))
    assert left == []


def kill(run, part: str) -> bool:
    """False: nobody of that name is there."""
    for pid, command in run.processes().items():
        if part in command:
            os.kill(pid, signal.SIGKILL)
            return True
    return False
