"""The inner loop of bmfed by itself, with an endpoint that follows a script."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from runs import text

from starling_bench.errors import BenchError
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

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


def test_what_is_back_before_it_has_left_leaves_none_unsent():
    said = play("back while it is sent")
    (part,) = said["parts"]
    assert (said["sent"], part["sent"], part["received"]) == (100, 100, 100)


@pytest.mark.parametrize(
    "script, most",
    [("ten instances, V1", 1), ("ten instances, V3", 1), ("ten instances, four under way", 4)],
)
def test_no_more_round_trips_are_under_way_than_may_be(script, most):
    """However many instances there are to send, and may be queued."""
    said = play(script)
    assert (said["most"], said["parts"][0]["received"]) == (most, 100)


def test_a_reliable_message_that_is_doubled_hides_none_that_is_lost():
    (part,) = play("doubled and lost")["parts"]
    lost = 100
    twice = sum(n % 3 == 0 and n % 10 != 0 for n in range(1, 1001))
    assert (part["received"], part["doubled"]) == (1000 - lost, twice)
    assert "reliable data stopped coming" in part["silence"]
    assert "which had got 900 of 1000" in part["silence"]


def test_what_comes_while_a_federate_sends_came_then():
    received, sent = play("comes while sending")["parts"]
    assert (received["received"], sent["sent"]) == (9, 10)
    assert received["waits"] >= 8


def test_what_comes_with_an_answer_needs_no_wait():
    said = play("comes with an answer")
    assert (said["parts"][0]["received"], said["waits"]) == (2, 1)


def test_what_comes_last_is_answered_though_nothing_is_waited_for_any_more():
    said = play("comes with a word")
    assert (said["parts"][0]["received"], said["returned"]) == (1, 1)


def test_a_lost_round_trip_of_best_effort_loses_no_other():
    said = play("a fifth is lost")
    (part,) = said["parts"]
    assert (part["sent"], part["received"], part["silence"]) == (100, 80, "")
    assert said["said"] == 1


def test_a_lost_round_trip_keeps_no_place_beyond_the_time_out():
    """Four may be under way. Three of the first four are lost, of which one comes long after."""
    said = play("three of four are lost")
    (part,) = said["parts"]
    assert (part["sent"], part["received"], part["silence"]) == (200, 198, "")
    # At once: all that may be, but never more, though one comes whose place was given away.
    assert (said["most"], said["at the end"]) == (4, 4)


def test_a_way_on_which_nothing_comes_ends_the_sample():
    """Otherwise each of the updates would be waited for."""
    said = play("all is lost")
    (part,) = said["parts"]
    assert (part["sent"], part["received"], said["said"]) == (20, 0, 1)
    assert part["silence"].startswith("best-effort data stopped coming: 20 round trips one after")


def test_who_returns_best_effort_goes_on_until_all_is_sent():
    said = play("returns after silence")
    assert said["parts"][0]["received"] == said["answered"] == 3
    assert 40 < said["waits"] < 60


def test_stamps_are_taken_once():
    said = play("stamps")
    assert said["same"] and said["often"] > 1000
    # The first, and as many as there is room for beside those that came in order.
    assert said["taken"] == 9
    assert (said["old"], said["recent"]) == (False, True)


# Fields of a test with bounds, their names for bmfed, and values at and beyond them.
BOUNDS = {
    "loop_version": ("loop", [0, 1, 4, 5]),
    "types": ("types", [0, 1, 16, 17, 32, 33]),
    "instances": ("instances", [0, 1, 1_000_000, 1_000_001]),
    "buffers": ("buffers", [0, 1, 32, 33]),
    "buffer_bytes": ("bytes", [7, 8, 1 << 30, (1 << 30) + 1]),
    "updates": ("updates", [0, 1, 1 << 40, (1 << 40) + 1]),
    "warm_up": ("warm_up", [-1, 0, 1 << 40, (1 << 40) + 1]),
    "samples": ("samples", [0, 1, 10_000, 10_001]),
    "queued_bytes_max": ("queued_bytes_max", [0, 1, 1 << 40, (1 << 40) + 1]),
    "queued_updates_max": ("queued_updates_max", [0, 1, 1 << 40, (1 << 40) + 1]),
    "outstanding_max": ("outstanding_max", [-1, 0, 1 << 40, (1 << 40) + 1]),
    "tick_max_s": ("tick_max", [-1.0, 0.0, 0.001, 1.0]),
    "kind": ("kind", ["OWOT", "OWIT", "RTOL", "RTIL", "XXXX"]),
    "transport": ("transport", ["reliable", "best_effort", "both"]),
}


def described(tests: list[dict]) -> list[dict]:
    program = Path(BMFED).with_name("bench-loop")
    lines = "".join(json.dumps(test) + "\n" for test in tests)
    said = subprocess.check_output([program, "description"], input=lines, text=True, timeout=60)
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("field", BOUNDS)
def test_bmfed_has_the_bounds_of_a_test_sequence_file(field):
    name, values = BOUNDS[field]
    pairs = {"pairs": [["a", "b", []]]}
    said = described([{"kind": "RTOL"} | pairs | {name: value} for value in values])
    for value, told in zip(values, said, strict=True):
        tsf = f'kind = "RTOL"\n{field} = {json.dumps(value)}'
        tsf = tsf if field != "kind" else f"kind = {json.dumps(value)}"
        assert ("refused" in told) == bool(refused(tsf)), (field, value, told)


def refused(test: str) -> str:
    """What is wrong with it as a test sequence file has it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "t.tsf.toml")
        file.write_text(text(test))
        try:
            plan.load(file, STUDY, True)
        except BenchError as e:
            return str(e)
    return ""


@pytest.mark.parametrize("outstanding_max", [0, 1, 1 << 21])
@pytest.mark.parametrize("updates", [1, 2, 1000, (1 << 20) + 1, 1 << 30])
@pytest.mark.parametrize("kind", ["OWOT", "RTIL"])
def test_bmfed_needs_the_memory_that_is_computed_for_it(tmp_path, kind, updates, outstanding_max):
    shape = {"types": 2, "instances": 3, "buffers": 5, "outstanding_max": outstanding_max}
    lines = "".join(f"{key} = {value}\n" for key, value in shape.items())
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(f'kind = "{kind}"\nbuffer_bytes = 7000\nupdates = {updates}\n{lines}'))
    (sequence,) = plan.load(file, STUDY, True).sequence
    ((spec,),) = [e.test for e in sequence.execution]
    pairs = [[p.sender, p.receiver, []] for p in sequence.pair]
    (told,) = described([{"kind": kind, "bytes": 7000, "updates": updates, "pairs": pairs} | shape])
    assert told["memory"] == {
        name: STUDY.memory(sequence, spec, name) for name in ("master", "subordinate")
    }
    assert told["classes"] == [1, 2]
