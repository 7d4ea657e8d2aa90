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


def test_one_way_a_message_takes_little_more_than_in_a_plain_program():
    given = argparse.Namespace(
        bmfed=BMFED, raw=Path(BMFED).with_name("bench-raw"), rti_root=Path(RTI_ROOT)
    )
    few, many = measure.MESSAGES["one way"]

    def least(of, count):
        """Whoever has to wait for the other looks more often: the calmest of three runs."""
        runs = [of(given, "instructions", "one way", 8, count) for _ in range(3)]
        return [min(done) for done in zip(*runs, strict=True)]

    raw, own = (
        [(b - a) / (many - few) for a, b in zip(least(of, few), least(of, many), strict=True)]
        for of in (measure.of_raw, measure.of_bmfed)
    )
    for role, plain, ours in zip(("sender", "receiver"), raw, own, strict=True):
        assert plain > 5, "it is the messages that are counted"
        assert ours - plain <= measure.MORE["instructions"], (role, plain, ours)
