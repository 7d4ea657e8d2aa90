"""The programs of a load for long, for a moment: nothing is lost, and the table says so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import LIMIT_S

PROGRAM = Path(__file__).parents[1] / "load.py"
LIMITS, RTI_ROOT = os.environ.get("LIMITS"), os.environ.get("RTI_ROOT")
if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not (LIMITS and RTI_ROOT), reason="LIMITS is needed")


def said(*options: str) -> tuple[int, str]:
    command = [sys.executable, str(PROGRAM), *options, "--rti-root", RTI_ROOT]
    command += ["--program", f"{LIMITS}/limits-federate"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * LIMIT_S)
    assert done.stderr == "", done.stdout
    return done.returncode, done.stdout


def test_all_of_a_load_arrives():
    code, text = said("load", "--seconds", "1", "--rate", "2000", "--instances", "500")
    found = re.match(r"([\d,]+) updates of 500 instances in 1 s .*, 0 lost; .* sender took", text)
    assert found and int(found[1].replace(",", "")) > 0
    assert (code == 0) != ("missed: 2,000 updates/s" in text)


def test_a_load_that_nobody_can_send_is_missed():
    code, text = said("load", "--seconds", "0.2", "--rate", "1000000000", "--instances", "10")
    assert code == 1 and "0 lost" in text and "missed: 1,000,000,000 updates/s" in text


@pytest.mark.long
def test_a_receiver_that_is_stopped_loses_nothing():
    """Whether the others are as fast as before is no matter of a test."""
    code, text = said("stopped", "--seconds", "2")
    lines = text.splitlines()
    assert len(lines) == 4 and all("all received by all" in line for line in lines[:3])
    assert ("target" in lines[3]) and (code == 0) == lines[3].endswith(": met")
