"""Runs of EC1 with its real federates, for several test files. EC1FED and RTI_ROOT say what to run
(`make bench-python` sets them).
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EC1FED, RTI_ROOT = os.environ.get("EC1FED"), os.environ.get("RTI_ROOT")
FOM = Path(__file__).parents[1] / "foms" / "pbom.xml"
NEEDED = pytest.mark.skipif(
    os.environ.get("REQUIRE_ALL") != "1" and not (EC1FED and RTI_ROOT),
    reason="EC1FED and RTI_ROOT are needed",
)
LIMIT_S = 500


def ec1(phase: str, out: Path, *options: str, code: int = 0) -> str:
    """One command; what it said."""
    command = [sys.executable, "-m", "starling_bench", "ec1", phase]
    if phase.startswith("phase"):
        command += ["--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0"]
        command += ["--rti-root", RTI_ROOT] if phase != "phase0" else []
    else:
        command.append(str(out))
    env = os.environ | {f"STARLING_{key}_TIMEOUT_S": "100" for key in ("CONNECT", "START")}
    done = subprocess.run(
        [*command, *options], text=True, capture_output=True, timeout=LIMIT_S, env=env
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows(out: Path) -> list[dict]:
    """The flows of a run."""
    with (out / "results.csv").open() as file:
        return list(csv.DictReader(file))


def run_of(out: Path) -> dict:
    return json.loads((out / "run.json").read_text())
