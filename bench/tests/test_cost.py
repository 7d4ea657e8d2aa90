"""What bmfed adds to plain TCP, in instructions, which hang neither on the clock nor on what else
the machine does."""

import argparse
import os
import shutil
from pathlib import Path

import pytest

import measure

BMFED, RTI_ROOT = os.environ.get("BMFED"), os.environ.get("RTI_ROOT")
GIVEN = argparse.Namespace(
    bmfed=BMFED, raw=Path(BMFED or "bmfed").with_name("bench-raw"), rti_root=Path(RTI_ROOT or "")
)


def more(what: str, size: int) -> dict[str, float]:
    """What bmfed takes more for a message than the plain program."""
    raw, own = (
        measure.per_message(of, GIVEN, "instructions", what, size)
        for of in (measure.of_raw, measure.of_bmfed)
    )
    assert all(plain > 5 for plain in raw), "it is the messages that are counted"
    return {
        role: ours - plain
        for role, plain, ours in zip(("sender", "receiver"), raw, own, strict=True)
    }


@pytest.mark.parametrize("size", measure.SIZES)
def test_both_programs_send_as_many_messages_together(size, monkeypatch):
    """Of 5,000 bytes bmfed sent 14 and the plain program 13, which are a packet less."""
    (test,) = _given(monkeypatch, size)
    fields = dict(line.split(" = ") for line in test.splitlines() if " = " in line)
    command = measure.raw_command(GIVEN, "one way", size, 1)
    together = int(command[command.index("--batch") + 1]) // size
    assert together * size <= measure.BATCH and together <= measure.TOGETHER
    assert -(-int(fields["queued_bytes_max"]) // size) >= together
    assert int(fields["instances"]) % together == 0
    assert together == min(-(-int(fields["queued_bytes_max"]) // size), int(fields["instances"]))


def _given(monkeypatch, size: int) -> list[str]:
    """The test that bmfed would be given."""
    given = []
    monkeypatch.setattr(measure, "run", lambda *args: given.append(args[3]))
    measure.bmfed_run(GIVEN, "one way", size, 1)
    return given


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


def test_time_is_judged_only_where_the_plain_program_is_the_same_as_itself():
    calm = [(1.0, 1.03, 1.04, 1.01), (1.01, 1.05, 1.03, 1.0)] * 4
    slow = [(before, 1.04 * a, 1.04 * b, after) for before, a, b, after in calm]
    restless = [(1.0, 1.5, 1.0, 1.4), (1.5, 1.0, 1.1, 1.0)] * 4
    assert measure.judged(calm).endswith(": within 5 %")
    assert measure.judged(slow).endswith(": beyond 5 %")
    assert measure.judged(restless).endswith(": not distinguishable")
    assert measure.judged(calm).startswith("bmfed by plain 1.032 (")


@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
@pytest.mark.skipif(not shutil.which("valgrind"), reason="left out: valgrind is not there")
@pytest.mark.long
@pytest.mark.parametrize(("what", "size"), [("one way", 8), ("one way", 5_000), ("round trip", 8)])
def test_a_message_takes_little_more_than_in_a_plain_program(what, size):
    least = dict.fromkeys(("sender", "receiver"), float("inf"))
    # Who waits takes more, never less: what other work adds goes with another measurement.
    for _ in range(3):
        least = {role: min(least[role], count) for role, count in more(what, size).items()}
        # Who sends what is as long as that waits for room now and then.
        if all(least[role] <= measure.MORE["instructions"] for role in least
               if size == 8 or role == "receiver"):  # fmt: skip
            return
    pytest.fail(f"{least}")


PAIRS = """kind = "RTOL"
loop_version = 3
outstanding_max = 1
samples = 1
"""


@pytest.mark.long
@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
@pytest.mark.skipif(not shutil.which("strace"), reason="left out: strace is not there")
def test_who_exchanges_with_one_of_several_asks_the_system_no_more(tmp_path):
    """Four federates, two pairs: a round trip is one call to send and one to receive, as of two."""

    def calls(updates: int) -> list[int]:
        counted = {}
        for role in ("sender", "receiver"):
            traces = tmp_path / f"{role}{updates}"
            traces.mkdir()
            command = ["strace", "-ff", "-o", f"{traces}/calls", str(Path(BMFED).resolve())]
            more = "".join(f'[[sequence.federate]]\nname = "{name}"\n' for name in ("c", "d"))
            more += '[[sequence.pair]]\nsender = "c"\nreceiver = "d"\n'
            sequence = f"data_timeout_s = 60.0\njoin_timeout_s = 60.0\n{more}"
            sequence += '[sequence.rti]\nadapter = "tcp"'
            test = f"{PAIRS}updates = {updates}"
            measure.run(GIVEN, "", sequence, test, GIVEN.rti_root, {role: command})
            counted[role] = sum(measure.count_of("system calls", f) for f in traces.iterdir())
        return list(counted.values())

    few, many = 2_000, 12_000
    each = [(b - a) / (many - few) for a, b in zip(calls(few), calls(many), strict=True)]
    assert all(1.9 <= count <= 2 + 2 * measure.MORE["system calls"] for count in each), each
