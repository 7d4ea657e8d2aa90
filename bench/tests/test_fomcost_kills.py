"""kill -9 of each process of a run of the FOM cost study after a random number of rows, then it is
resumed: nothing stays behind, and the rows are those of an undisturbed run.
"""

import os
import random

import pytest
from runs import (
    RTI_ROOT,
    killed,
    resumed,
    run as run,  # the fixture
)
from test_fomcost import (
    FOMCOST,
    fomcost as fomcost,  # the fixture
    plan,
    rows,
    spaces,
)
from test_kills import SEED

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
    assert "a.1.pcap" in {p.name for p in seen} <= {"a.1.pcap", "a.2.pcap"}


def killed_and_resumed(run, tsf: dict, victim: str, part: str, number: int) -> None:
    wanted = random.Random(f"{SEED} {victim} {number}").randrange(16)
    killed(run, tsf, part, wanted)
    resumed(run, tsf)
    found = [(r["test"], r["sample"]) for r in rows(run)]
    assert sorted(found) == [(str(t), str(s)) for t in range(1, 5) for s in range(1, 5)]
    assert list(run.directory.glob("starling-bench-*")) == []
