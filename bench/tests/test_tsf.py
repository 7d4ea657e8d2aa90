"""The test sequence format: what is accepted, and how each fault is told."""

import json
from pathlib import Path

import pytest

from starling_bench import tsf
from starling_bench.errors import USAGE, BenchError

GOOD = """
[[sequence]]
name = "s"
fom = "f.xml"
master = "a"

[[sequence.federate]]
name = "a"

[[sequence.federate]]
name = "b"

[[sequence.pair]]
sender = "a"
receiver = "b"

[[sequence.execution]]
name = "e"

[[sequence.execution.test]]
kind = ["RTOL", "OWIT"]
transport = ["reliable", "best_effort"]
buffer_bytes = [8, 100]
updates = 10
"""


def load(tmp_path: Path, text: str) -> tsf.File:
    path = tmp_path / "t.tsf.toml"
    path.write_text(text)
    return tsf.load(path)


def test_lists_expand_to_every_combination(tmp_path):
    tests = load(tmp_path, GOOD).sequence[0].execution[0].tests()
    assert [(t.kind, t.transport, t.buffer_bytes) for t in tests] == [
        (k, tr, b) for k in ("RTOL", "OWIT") for tr in ("reliable", "best_effort") for b in (8, 100)
    ]
    given = json.loads(tests[0].argument(3))
    assert (given["number"], given["kind"], given["transport"]) == (3, "RTOL", "reliable")


def test_the_demo_is_as_the_docs_say():
    demo = tsf.load(Path(__file__).parents[1] / "experiments" / "demo.tsf.toml")
    (execution,) = demo.sequence[0].execution
    tests = execution.tests()
    assert {t.kind for t in tests} == {"OWOT", "OWIT", "RTOL", "RTIL"}
    for kind in ("OWOT", "OWIT", "RTOL", "RTIL"):
        of_kind = [t for t in tests if t.kind == kind]
        assert {t.transport for t in of_kind} == {"reliable", "best_effort"}
        assert len({t.buffer_bytes for t in of_kind}) == 3
        assert all(t.samples > 1 for t in of_kind)


FAULTS = {
    "unknown field": (
        ("buffer_bytes = [8, 100]", "bufer_bytes = 8"),
        ["STL-TSF-003", "'bufer_bytes'", "t.tsf.toml:23", "did you mean 'buffer_bytes'?"],
    ),
    "unknown field at the top": (
        ("[[sequence]]", "x = 1\n[[sequence]]"),
        ["'x'", ":2", "sequence"],
    ),
    "unknown table": (
        ("[[sequence.pair]]", "[[sequence.pairs]]"),
        ["'pairs'", "did you mean 'pair'?", ":13"],
    ),
    "missing field": (('fom = "f.xml"\n', ""), ["STL-TSF-004", "'fom'", ":2"]),
    "wrong kind": (('["RTOL", "OWIT"]', '"RTOX"'), ["kind", "'RTOX'", "'RTOL'", ":21"]),
    "wrong kind in a list": (('"RTOL", "OWIT"', '"RTOX"'), ["kind", "'RTOX'", ":21"]),
    "buffer too small": (("[8, 100]", "4"), ["buffer_bytes", "8", "got 4", ":23"]),
    "buffer too small in a list": (("[8, 100]", "[100, 4]"), ["buffer_bytes", "8", "got 4", ":23"]),
    "text for a number": (("updates = 10", 'updates = "10"'), ["updates", "'10'", ":24"]),
    "fraction": (("updates = 10", "updates = 1.5"), ["updates", "1.5", ":24"]),
    "zero time-out": (('fom = "f.xml"', 'fom = "f.xml"\ndata_timeout_s = 0.0'), ["data_timeout_s"]),
    "infinite time-out": (('fom = "f.xml"', 'fom = "f.xml"\ndata_timeout_s = inf'), ["finite"]),
    "unknown master": (('master = "a"', 'master = "z"'), ["master 'z'", "a, b"]),
    "unknown receiver": (('receiver = "b"', 'receiver = "z"'), ["receiver 'z'"]),
    "pair with itself": (('receiver = "b"', 'receiver = "a"'), ["itself"]),
    "federate twice": (('name = "b"', 'name = "a"'), ["'a' is named twice"]),
    "idle federate": (
        ("[[sequence.pair]]", '[[sequence.federate]]\nname = "c"\n[[sequence.pair]]'),
        ["'c' is in no pair"],
    ),
    "too many classes": (
        ("updates = 10", "types = 9\n[[sequence.pair]]\nsender = 'b'\nreceiver = 'a'"),
        ["2 pairs of 9 types need 18 classes", "16"],
    ),
    "one federate": (
        ('[[sequence.federate]]\nname = "b"', ""),
        ["federate", "at least 2 items"],
    ),
    "name with a slash": (('name = "e"', 'name = "../e"'), ["name", "'../e'", ":18"]),
    "not TOML": (("[[sequence]]", "[[sequence"), ["STL-TSF-002", "line 2"]),
    "key twice": (('master = "a"', 'master = "a"\nmaster = "b"'), ["STL-TSF-002"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_with_field_and_line(tmp_path, fault):
    (old, new), expected = FAULTS[fault]
    assert old in GOOD
    with pytest.raises(BenchError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert caught.value.exit_code == USAGE
    for part in expected:
        assert part in str(caught.value), str(caught.value)


def test_missing_file_and_bad_bytes(tmp_path):
    with pytest.raises(BenchError, match="No such file"):
        tsf.load(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BenchError, match="can't read"):
        tsf.load(tmp_path / "b.toml")
