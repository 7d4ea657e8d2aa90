"""What callgrind has saved for a sample."""

from pathlib import Path

import pytest

from starling_bench.captured import callgrind
from starling_bench.errors import BenchError


def save(directory: Path, said: str, count: int) -> None:
    number = len(list(directory.iterdir())) + 1
    content = f"desc: Trigger: Client Request: {said}\ntotals: {count}\n"
    (directory / f"callgrind.out.7.{number}").write_text(content)


def test_counts_are_of_the_sample_they_were_saved_for(tmp_path):
    for said, count in (("call 1 2", 500), ("encode 1 2", 90), ("call 1 1", 7), ("call 2 2", 8)):
        save(tmp_path, said, count)
    assert callgrind.of_sample(tmp_path, 1, 2, "call") == {"call": 500, "encode": 90}
    # They were read, and count once.
    assert callgrind.of_sample(tmp_path, 1, 2) == {}


def test_what_should_have_been_counted_is_missed(tmp_path):
    save(tmp_path, "encode 3 1", 90)
    with pytest.raises(BenchError, match="counted nothing of sample 1 of test 3") as told:
        callgrind.of_sample(tmp_path, 3, 1, "call")
    assert (told.value.code, told.value.where) == ("STL-RUN-010", str(tmp_path))
