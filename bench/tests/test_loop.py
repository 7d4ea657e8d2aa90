"""The inner loop of bmfed by itself, with an endpoint that follows a script."""

import json
import os
import subprocess
from pathlib import Path

BMFED = os.environ["BMFED"]


def test_the_last_of_a_pair_is_its_own_whatever_comes_beside_it():
    """Of the first pair, one of whose messages is lost, all came in two waits, of the second in a
    hundred."""
    program = Path(BMFED).with_name("bench-loop")
    (alone,), both = (
        json.loads(subprocess.check_output([program, pairs], timeout=60))["pairs"]
        for pairs in ("1", "2")
    )
    assert [alone["received"], *(one["received"] for one in both)] == [999, 999, 1000]
    assert both[0]["waits"] < both[1]["waits"] / 2 and both[1]["waits"] >= 98


def test_more_stamps_than_were_sent_are_not_taken():
    program = Path(BMFED).with_name("bench-loop")
    said = json.loads(subprocess.check_output([program, "1"], timeout=60))
    assert said["taken"] == 8
