"""What bmfed adds to plain TCP, in instructions, which hang neither on the clock nor on what else
the machine does."""

import argparse
import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import measure

BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
GIVEN = argparse.Namespace(
    bmfed=BMFED, raw=Path(BMFED or "bmfed").with_name("bench-raw"), rti_root=Path(RTI_ROOT or "")
)


def more(what: str) -> dict[str, float]:
    """What bmfed takes more for a message of 8 bytes than the plain program."""
    raw, own = (
        measure.per_message(of, GIVEN, "instructions", what, 8)
        for of in (measure.of_raw, measure.of_bmfed)
    )
    assert all(plain > 5 for plain in raw), "it is the messages that are counted"
    return {
        role: ours - plain
        for role, plain, ours in zip(("sender", "receiver"), raw, own, strict=True)
    }


def test_processes_are_in_order_where_numbers_began_anew():
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    assert measure.in_order([700, 12, 300]) == [12, 300, 700]
    assert measure.in_order([5, most - 1, most - 3]) == [most - 3, most - 1, 5]


@pytest.mark.parametrize("disturbed", range(2 * measure.RUNS))
def test_a_wait_in_any_of_the_runs_changes_nothing(disturbed):
    """A message takes 7 in the sender and 5 in the receiver, and a wait adds to all of a run."""
    runs = []

    def of(_given, _tool, _what, _size, count):
        waited = 100_000 if len(runs) == disturbed else 0
        runs.append(count)
        return [1000 + 7 * count + waited, 900 + 5 * count + waited]

    assert measure.per_message(of, GIVEN, "instructions", "round trip", 8) == [7, 5]
    few, many = measure.MESSAGES["round trip"]
    assert runs == [few] * measure.RUNS + [many] * measure.RUNS


@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
@pytest.mark.skipif(not shutil.which("valgrind"), reason="left out: valgrind is not there")
@pytest.mark.long
@pytest.mark.parametrize("what", ["one way", "round trip"])
def test_a_message_takes_little_more_than_in_a_plain_program(what):
    found = more(what)
    assert all(count <= measure.MORE["instructions"] for count in found.values()), found
