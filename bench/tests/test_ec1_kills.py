"""kill -9 after a random number of rows, then resume: nothing stays behind, and every flow of every
test is there once. KILLS says how often for each victim.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ec1_runs import EC1FED, LIMIT_S, NEEDED, RTI_ROOT, ec1, rows

SEED = int(os.environ.get("SEED", "1"))
VICTIMS = {"publisher": "--name pub1 ", "subscriber": "--name sub1 ", "manager": " phase2 ",
           "rtiexec": "rtiexec"}  # fmt: skip
NUMBERS = (1, 3, 40, 41, 43)


def living(place: str) -> dict[int, str]:
    """Processes of runs whose temporary files are there: managers, federates, rtiexecs."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            continue
        if entry.name.isdigit() and f"TMPDIR={place}".encode() in environment and command:
            found[int(entry.name)] = command
    return found


@pytest.fixture
def place(monkeypatch) -> Iterator[str]:
    """For temporary files; by a short name, as sockets want it."""
    with tempfile.TemporaryDirectory(prefix="bm-", dir="/tmp") as place:
        monkeypatch.setenv("TMPDIR", place)
        yield place


def taken(out: Path) -> int:
    path = out / "results.csv"
    return max(0, path.read_text().count("\n") - 1) if path.exists() else 0


@pytest.mark.long
@NEEDED
@pytest.mark.parametrize("number", range(int(os.environ.get("KILLS", "1"))))
@pytest.mark.parametrize("victim", VICTIMS)
def test_whoever_is_killed_the_campaign_is_resumed(tmp_path, place, victim, number):
    wanted = random.Random(f"{SEED} {victim} {number}").randrange(8)
    if victim == "rtiexec":
        wanted += 4 * len(NUMBERS)  # plain sockets come first
    print(f"seed {SEED}, after {wanted} rows")
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "starling_bench", "ec1", "phase2", "--out", str(out), "--ec1fed",
        EC1FED, "--rti-root", RTI_ROOT, "--idle-wait-s", "0", "--topology", "1-N", "--only",
        ",".join(map(str, NUMBERS)), "--seconds-per-configuration", "0.2",
    ]  # fmt: skip
    manager = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while manager.poll() is None and taken(out) < wanted:
        time.sleep(0.005)
    gone = None
    while manager.poll() is None and gone is None:
        time.sleep(0.005)
        if (out / "run.json").exists():
            gone = next((p for p, c in living(place).items() if VICTIMS[victim] in c), None)
    assert gone is not None, "the run was over before anybody was killed"
    with contextlib.suppress(ProcessLookupError):
        os.kill(gone, signal.SIGKILL)
    _, err = manager.communicate(timeout=LIMIT_S)
    assert "Traceback" not in err, err
    ec1("resume", out, "--idle-wait-s", "0")
    found = sorted((r["sequence"], int(r["configuration"]), r["receiver"]) for r in rows(out))
    carriers = [("1-N.sockets.local.tcp", [n for n in NUMBERS if n % 2]),
                ("1-N.sockets.local.multicast", [n for n in NUMBERS if n % 2 == 0]),
                ("1-N.starling.local.starling", [n for n in NUMBERS if n % 2]),
                ("1-N.starling.local.starling-udp",
                 [n for n in NUMBERS if n % 2 == 0])]  # fmt: skip
    assert found == sorted(
        (name, n, f"sub{s}") for name, numbers in carriers for n in numbers for s in range(1, 5)
    )
    assert living(place) == {} and os.listdir(place) == [] and not list(out.rglob("*.raw"))
