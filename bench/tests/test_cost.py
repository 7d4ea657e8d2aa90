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
pytestmark = [
    pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set"),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="left out: valgrind is not there"),
]


GIVEN = argparse.Namespace(
    bmfed=BMFED, raw=Path(BMFED or "").with_name("bench-raw"), rti_root=Path(RTI_ROOT or "")
)


def more(what: str, runs: int) -> dict[str, float]:
    """What bmfed takes more for a message of 8 bytes than the plain program. Whoever has to wait
    for the other looks more often: of several runs it is the calmest."""
    few, many = measure.MESSAGES[what]

    def least(of, count):
        done = [of(GIVEN, "instructions", what, 8, count) for _ in range(runs)]
        return [min(each) for each in zip(*done, strict=True)]

    raw, own = (
        [(b - a) / (many - few) for a, b in zip(least(of, few), least(of, many), strict=True)]
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


@pytest.mark.long
@pytest.mark.parametrize("what", ["one way", "round trip"])
def test_a_message_takes_little_more_than_in_a_plain_program(what):
    found = more(what, 3)
    assert all(count <= measure.MORE["instructions"] for count in found.values()), found
