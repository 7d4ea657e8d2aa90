"""kill -9 of each process of a run of the range test bed after a random number of rows, then it is
resumed: nothing stays behind, and every flow of every test is there once. KILLS says how often for
each victim.
"""

import os
import random

import pyarrow.parquet as parquet
import pytest
from ranges import (
    NEEDED,
    run as run,  # the fixture
    text,
)
from runs import killed, resumed
from test_kills import SEED

pytestmark = [NEEDED, pytest.mark.long]
VICTIMS = {"reader": "/rangefed ", "interface": "/range-interface ",
           "rtiexec": "starling rtiexec", "manager": ""}  # fmt: skip
TESTS = "bytes = 1024\nhz = 20.0\nduration_s = [0.5, 0.6, 0.7, 0.8]\nfloor_s = 0.1"


@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
@pytest.mark.parametrize("victim", VICTIMS)
def test_whoever_is_killed_the_range_is_resumed(run, victim, number):
    wanted = random.Random(f"{SEED} {victim} {number}").randrange(8)
    print(f"seed {SEED}, after {wanted} rows")
    tsf = text(TESTS, adapter="starling")
    killed(run, tsf, VICTIMS[victim], wanted)
    resumed(run, tsf)
    rows = run.rows()
    found = sorted((int(r["test"]), r["sender"], r["receiver"]) for r in rows)
    flows = [("f1", "f2"), ("f2", "f1")]
    assert found == [(test, *flow) for test in range(1, 5) for flow in flows]
    assert all(r["lost"] == "0" for r in rows)
    # A log is that of one attempt, whole.
    for r in rows:
        log = parquet.read_table(run.results / f"samples_test{r['test']}_{r['receiver']}.parquet")
        assert sorted(log["count"].to_pylist()) == list(range(1, int(r["received"]) + 1))
    assert list(run.directory.glob("starling-bench-*")) == []
