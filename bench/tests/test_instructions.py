"""Of `make instructions` some rows: updates of 100 bytes, by rtiexec and in shared memory."""

import argparse
import os
import shutil
from pathlib import Path

import pytest

import instructions
from instructions import Row

LIMITS, RTI_ROOT = os.environ.get("LIMITS"), os.environ.get("RTI_ROOT")
FOM = Path(__file__).parents[1] / "foms" / "limits.xml"
GIVEN = argparse.Namespace(rti_root=RTI_ROOT, programs=LIMITS, fom=str(FOM), ring="", mom="")
if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = [
        pytest.mark.skipif(not (LIMITS and RTI_ROOT), reason="LIMITS is needed"),
        pytest.mark.skipif(
            not shutil.which("valgrind"),
            reason="valgrind is missing, which counts instructions: scripts/setup tests",
        ),
    ]
HELD = [
    *(f"1 x 100 bytes: {role}" for role in ("send", "rtiexec", "receive")),
    *(f"shared memory, 1 x 100 bytes: {role}" for role in ("send", "receive")),
]


def row(name: str, **given: int) -> Row:
    given = argparse.Namespace(**vars(GIVEN), **given)
    return next(one for one in instructions.rows(given) if one.name == name)


@pytest.mark.parametrize("name", HELD)
def test_an_update_takes_no_more_instructions(name):
    """Counted once, and if that is too many, as other programs of the machine add some, as often as
    `make instructions` does, and twice that."""
    found = []
    for rounds in (1, 3, 6):
        one = row(name, rounds=rounds)
        found.append(one.measure())
        if found[-1] <= one.most:
            break
    assert found[-1] <= one.most, found
    # It is updates that are counted.
    assert found[-1] > 100


def test_several_links_are_written_in_bundles():
    """Who writes to eight is busy with that for longer than makes a link idle, and is not idle."""
    one = row(f"{instructions.TO_EIGHT}, sendto system calls: send", rounds=1)
    # The fewer, the busier the machine is: a link that is full has more to write when it has room.
    assert 0 < one.measure() <= one.most
