"""The test sequence format: what is accepted, and how each fault is told."""

import json
from pathlib import Path

import pytest
from bad_tsf import BAD, GOOD

from starling_bench import plan
from starling_bench.errors import USAGE, BenchError
from starling_bench.studies.rtibm import STUDY


def load(tmp_path: Path, text: str) -> plan.File:
    path = tmp_path / "t.tsf.toml"
    path.write_text(text)
    return plan.load(path, STUDY)


def test_lists_expand_to_every_combination(tmp_path):
    tests = load(tmp_path, GOOD).sequence[0].execution[0].tests()
    assert [(t.kind, t.transport, t.buffer_bytes) for t in tests] == [
        (k, tr, b) for k in ("RTOL", "OWIT") for tr in ("reliable", "best_effort") for b in (8, 100)
    ]
    given = json.loads(tests[0].argument(3))
    assert (given["number"], given["kind"], given["transport"]) == (3, "RTOL", "reliable")


def test_the_demo_is_as_the_docs_say():
    demo = plan.load(Path(__file__).parents[1] / "experiments" / "demo.tsf.toml", STUDY)
    (execution,) = demo.sequence[0].execution
    tests = execution.tests()
    assert {t.kind for t in tests} == {"OWOT", "OWIT", "RTOL", "RTIL"}
    for kind in ("OWOT", "OWIT", "RTOL", "RTIL"):
        of_kind = [t for t in tests if t.kind == kind]
        assert {t.transport for t in of_kind} == {"reliable", "best_effort"}
        assert len({t.buffer_bytes for t in of_kind}) == 3
        assert all(t.samples > 1 for t in of_kind)


SHIPPED = sorted((Path(__file__).parents[1] / "experiments").glob("*.tsf.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_file_is_right(path):
    for sequence in plan.load(path, STUDY).sequence:
        assert Path(sequence.fom).is_file()


def test_the_campaign_is_all_that_is_shipped():
    def sequences(path: Path) -> set[str]:
        return {s.name for s in plan.load(path, STUDY).sequence}

    by = {path.name.partition(".")[0]: sequences(path) for path in SHIPPED}
    whole, more, systems = by.pop("campaign"), by.pop("campaign-root"), by.pop("two-systems")
    for apart in ("demo", "ssh"):
        by.pop(apart)
    assert whole == set().union(*by.values()) and set(by) == {"loops", "series", "hosts", "drops"}
    assert more == whole | systems


@pytest.mark.parametrize("kind", ["OWOT", "OWIT", "RTOL", "RTIL"])
@pytest.mark.parametrize(
    "field",
    ["types", "instances", "buffers", "buffer_bytes", "pairs", "queued_bytes_max",
     "queued_updates_max"],
)  # fmt: skip
def test_every_variable_has_a_series(field, kind):
    """On every RTI of the file: one execution in which it has three values or more, and all else
    one."""
    (path,) = (p for p in SHIPPED if p.name == "series.tsf.toml")
    found = set()
    for sequence in plan.load(path, STUDY).sequence:
        for execution in sequence.execution:
            tests = [t.model_dump() for t in execution.tests() if t.kind == kind]
            varied = {k for k in tests[0] if len({str(t[k]) for t in tests}) > 1} if tests else ()
            if varied == {field} and len({t[field] for t in tests}) >= 3:
                found.add(sequence.name.split(".")[1])
    assert found == {"starling", "tcp"}


EXPECTED = dict(
    entry.split(":\n", 1)
    for entry in Path(__file__).with_name("bad_tsf.expected").read_text().split("\n\n")
)


@pytest.mark.parametrize("fault", BAD)
def test_each_fault_has_its_whole_message(tmp_path, fault):
    """Code, what, where (the line of the offending value), what to do."""
    old, new = BAD[fault]
    assert GOOD.count(old) >= 1
    with pytest.raises(BenchError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.exit_code == USAGE
    assert str(caught.value).replace(f"{tmp_path}/", "") == EXPECTED[fault].rstrip("\n")


def test_there_are_at_least_sixty_of_them():
    assert len(BAD) >= 60
    assert set(BAD) == set(EXPECTED)


def test_too_many_tests_are_meant_with_long(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(GOOD.replace(*BAD["3 million tests"]))
    (execution,) = plan.load(path, STUDY, long=True).sequence[0].execution
    assert execution.test[0].count() == 3_000_000


def test_a_sequence_runs_on_every_rti_it_names(tmp_path):
    file = load(tmp_path, GOOD.replace('rti = "one"', 'rti = ["one", "two"]'))
    assert [(s.name, s.rti.name) for s in file.sequence] == [("s.one", "one"), ("s.two", "two")]
    assert file.sequence[0].rti.local_settings == "a"


def test_rounds_go_to_and_fro(tmp_path):
    file = load(tmp_path, GOOD.replace('rti = "one"', 'rti = ["one", "two"]\nrounds = 3'))
    order = [(s.rti.name, s.execution[0].name) for s in file.sequence]
    assert order == [("one", "e.1"), ("two", "e.1"), ("two", "e.2"), ("one", "e.2"),
                     ("one", "e.3"), ("two", "e.3")]  # fmt: skip


def test_an_included_file_brings_rtis_and_sequences_with_its_own_paths(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "all.toml").write_text(GOOD)
    file = load(tmp_path, 'include = ["other/all.toml"]\n')
    assert [s.name for s in file.sequence] == ["s"]
    assert file.sequence[0].fom == str(other / "f.xml")
    mine = GOOD.replace('name = "s"', 'name = "t"').replace('rti = "one"', 'rti = "two"')
    mine = mine[mine.index("[[sequence]]") :]
    file = load(tmp_path, 'include = ["other/all.toml"]\n' + mine)
    assert [s.name for s in file.sequence] == ["t", "s"]


@pytest.mark.parametrize(
    "field", ["samples", "queued_bytes_max", "outstanding_max", "loop_version"]
)
def test_thresholds_samples_and_loop_may_be_lists(tmp_path, field):
    tests = load(tmp_path, GOOD.replace("updates = 10", f"{field} = [1, 2]")).sequence[0]
    assert {getattr(t, field) for t in tests.execution[0].tests()} == {1, 2}


def test_the_committed_schema_is_what_the_program_prints():
    committed = Path(__file__).parents[1] / "tsf.schema.json"
    assert committed.read_text() == plan.schema(STUDY)


def test_a_file_that_is_utf_16(tmp_path):
    (tmp_path / "b.toml").write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(BenchError) as caught:
        plan.load(tmp_path / "b.toml", STUDY)
    assert str(caught.value) == (
        f"STL-TSF-001: the test sequence file is UTF-16\n  at {tmp_path}/b.toml:1\n"
        "  do: save it as UTF-8"
    )


def test_missing_file_and_bad_bytes(tmp_path):
    with pytest.raises(BenchError, match="No such file"):
        plan.load(tmp_path / "none.toml", STUDY)
    (tmp_path / "b.toml").write_bytes(b"a = 1\n\xe4 = 2\n")
    with pytest.raises(BenchError, match="is not UTF-8") as caught:
        plan.load(tmp_path / "b.toml", STUDY)
    assert caught.value.where.endswith("b.toml:2")
