"""The inner loop of bmfed by itself, with an endpoint that follows a script."""

import json
import os
import subprocess
from pathlib import Path

BMFED = os.environ["BMFED"]


def play(script: str) -> dict:
    program = Path(BMFED).with_name("bench-loop")
    return json.loads(subprocess.check_output([program, script], timeout=60))


def test_the_last_of_a_pair_is_its_own_whatever_comes_beside_it():
    """Of the first pair, one of whose messages is lost, all came in two waits, of the second in a
    hundred."""
    (alone,), both = (play(script)["pairs"] for script in ("one pair", "two pairs"))
    assert [alone["received"], *(one["received"] for one in both)] == [999, 999, 1000]
    assert both[0]["waits"] < both[1]["waits"] / 2 and both[1]["waits"] >= 98


def test_nothing_is_waited_for_that_came_with_the_flush():
    """An RTI that brings the return while it is asked to send is not punished by a wait."""
    said = play("back at once")
    assert said["parts"][0]["received"] == 100
    assert said["waits"] == 0


def test_more_stamps_than_were_sent_are_not_taken():
    assert play("stamps")["taken"] == 8
