"""Test sequence files that commands make and read as plain tables."""

import os
import tomllib

import pytest

from starling_bench.errors import BenchError
from starling_bench.tsf import planned, tables


@pytest.mark.parametrize(
    "content", ["a = " + "[" * 5000, "a = " + "9" * 5000, "a = ", b"\xff", None]
)
def test_what_has_no_tables_is_told(tmp_path, content):
    """Also a pipe, to which nobody writes."""
    file = tmp_path / "f.toml"
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BenchError, match="can't be read") as told:
        tables.read(file)
    assert told.value.exit_code == 2 and told.value.where == str(file)
    with pytest.raises(BenchError) as told:
        planned.names(planned.text_of(file, "--rtis"), "--rtis", ())
    assert told.value.exit_code == 2


@pytest.mark.parametrize("text", ["rti = 5", "rti = [5]", "[[rti]]\nname = 5", "[[rti]]\nx = 1"])
def test_rtis_of_another_kind_are_told_or_left_to_who_reads_the_plan(tmp_path, text):
    file = tmp_path / "rtis.toml"
    file.write_text(text)
    plan = {"sequence": [{"rti": ["unix"]}]}
    tables.with_rtis(plan, file, {"unix"})
    assert plan == {"sequence": [{"rti": ["unix"]}], "include": [str(file)]}
    with pytest.raises(BenchError, match=r"no file of \[\[rti\]\] tables"):
        planned.names(text, "--rtis", ())


@pytest.mark.parametrize("text", ["/a/\U0001f600/b", "a\x7fb", 'q"\\\n', "\u00e4"])
def test_any_text_is_one_that_toml_reads(tmp_path, text):
    made = planned.table("[[rti]]", {"root": text, "on": True, "each": [text, 1.5]})
    assert tomllib.loads(made) == {"rti": [{"root": text, "on": True, "each": [text, 1.5]}]}
    tables.write(tmp_path / "plan" / "t.toml", {"a": {text: [text]}})
    assert tables.read(tmp_path / "plan" / "t.toml") == {"a": {text: [text]}}


def test_a_name_that_is_no_text_is_told(tmp_path):
    with pytest.raises(BenchError, match="a name is no text"):
        tables.write(tmp_path / "t.toml", {"root": os.fsdecode(b"/a/\xff")})


@pytest.mark.parametrize("own", [b"# my own plan\n", b"\xff"])
def test_a_file_of_somebodys_own_is_not_written_over(tmp_path, own):
    file = tmp_path / "t.toml"
    file.write_bytes(own)
    with pytest.raises(BenchError, match="there is a file that no command made") as told:
        tables.write(file, {"a": 1})
    assert told.value.code == "STL-OUT-002" and file.read_bytes() == own
    # One that a command made is made anew.
    for value in (1, 2):
        tables.write(tmp_path / "made.toml", {"a": value})
    assert tables.read(tmp_path / "made.toml") == {"a": 2}
