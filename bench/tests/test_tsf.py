"""The test sequence format: what is accepted, and how each fault is told."""

import json
import re
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from bad_tsf import BAD, GOOD

from starling_bench.errors import USAGE, BenchError
from starling_bench.machines.rti import ADAPTERS, NamedRti, Starling
from starling_bench.statistics.differences import too_few
from starling_bench.statistics.loops import together
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import durations, plan, sequences, text as tsf_text
from starling_bench.tsf.sequences import SWITCHES, File, schema


def load(tmp_path: Path, text: str) -> File:
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


@pytest.mark.parametrize("adapter", [name for name, a in ADAPTERS.items() if not a.callbacks])
@pytest.mark.parametrize("written", ["4", "[3, 4]"])
def test_a_loop_that_the_adapter_does_not_have(tmp_path, adapter, written):
    good = load(tmp_path, GOOD + f"loop_version = {written}\n")
    assert {t.loop_version for e in good.sequence[0].execution for t in e.tests()} >= {4}
    text = GOOD.replace('local_settings = "a"', f'adapter = "{adapter}"')
    text = text.replace('["reliable", "best_effort"]', '"best_effort"')
    load(tmp_path, text + "loop_version = 3\n")
    with pytest.raises(BenchError, match="has no thread for callbacks") as told:
        load(tmp_path, text + f"loop_version = {written}\n")
    line = text.count("\n") + 1
    assert f"adapter '{adapter}'" in str(told.value) and f"t.tsf.toml:{line}" in str(told.value)


def test_adapters_say_whether_they_have_a_thread_for_callbacks():
    """As their sources do."""
    cpp = Path(__file__).parents[1] / "cpp" / "adapters"
    refuse = {p.stem for p in cpp.glob("*.cpp") if "no thread for callbacks" in p.read_text()}
    assert refuse == {"mesh", "dds"}  # mesh: all plain adapters
    assert {name for name, a in ADAPTERS.items() if a.callbacks} == {"starling", "generic"}


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
    # Whoever runs it first is cautioned of best effort on one host alone.
    assert too_few(STUDY, demo.sequence, {}) is None
    assert [c for spec in demo.sequence[0].execution[0].test for c in STUDY.cautions(spec)] == []


def test_the_demo_may_be_run_again():
    """Its results go to a directory of their own each time."""
    recipe = (Path(__file__).parents[2] / "Makefile").read_text().partition("\ndemo:")[2]
    assert re.search(r"--out \S+/demo-\$\(shell date [^)]*%S\)$", recipe.partition("\n\n")[0])


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


@pytest.mark.parametrize("name", ["campaign.tsf.toml", "campaign-root.tsf.toml"])
def test_the_campaign_takes_half_an_hour(name):
    """By the estimate that `check` tells, of messages and waits as on an idle machine (of a
    campaign that took 26 minutes it tells 28); the files that it includes take ten times as many
    updates. Of loops ten samples."""
    (path,) = (p for p in SHIPPED if p.name == name)
    every = [e for s in plan.load(path, STUDY).sequence for e in s.execution]
    whole = sum(durations.seconds(STUDY, e) + durations.EXECUTION_S for e in every)
    assert 10 * 60 < whole < 30 * 60
    for file, updates in ((path, 1000), (path.with_name("loops.tsf.toml"), 10_000)):
        sequences = [s for s in plan.load(file, STUDY).sequence if s.name.startswith("loops.")]
        loops = [t for s in sequences for e in s.execution for t in e.tests()]
        assert {(t.updates, t.samples) for t in loops} == {(updates, 2)}
        assert Counter(s.name for s in sequences) == {s.name: 5 for s in sequences}


def test_the_estimate_knows_how_loops_wait(tmp_path):
    """As measured with waits of 1 ms: what an update takes without a limit, and one at a time."""
    text = GOOD.replace('["RTOL", "OWIT"]', '"RTOL"').replace("updates = 10", "updates = 1000")

    def us(fields: str) -> float:
        text_ = text + f"tick_max_s = 0.001\nsamples = 1\n{fields}"
        (execution,) = load(tmp_path, text_).sequence[0].execution
        return 1e3 * (STUDY.seconds(execution.test[0]) - 0.06)

    for loop, measured in ((1, 2072), (2, 146), (3, 1153), (4, 1151)):
        assert us(f"loop_version = {loop}") == pytest.approx(measured, rel=0.2)
    for loop, measured in ((1, 1598), (2, 109), (3, 39)):
        assert us(f"loop_version = {loop}\noutstanding_max = 1") == pytest.approx(measured, rel=0.2)
    many = us("loop_version = 3\ninstances = 100")
    assert many < 15  # a hundred share a wait
    assert us("loop_version = 3\ninstances = 100\nqueued_updates_max = [5, 20, 100]") > 5 * many


def test_the_campaign_can_tell_a_rate_and_a_difference():
    """At its own scale, but for drops, which are of numbers lost: no sample is over too soon on the
    fastest way, round trips neither; every item is used, thresholds differ in what they do, and
    what is compared runs to and fro, in four rounds or five."""
    (path,) = (p for p in SHIPPED if p.name == "campaign.tsf.toml")
    rounds: dict[tuple, set] = {}
    for sequence in plan.load(path, STUDY).sequence:
        for execution in sequence.execution:
            specs = [spec for spec in execution.test if not sequence.name.startswith("drops")]
            assert [said for spec in specs for said in STUDY.cautions(spec)] == []
            tests = [t for spec in specs for t in spec.expand()]
            assert all(t.updates >= t.types * t.instances for t in tests)
            of = sequence.name, execution.round_of or execution.name
            rounds.setdefault(of, set()).add(execution.name)
    found: dict[str, set[int]] = {}
    for (name, _), of in rounds.items():
        found.setdefault(name.split(".")[0], set()).add(len(of))
    assert found.pop("drops") == {1} and found.pop("loops") == {5}
    assert set(map(tuple, found.values())) == {(4,)}
    assert set(found) == {"series", "pairs", "transport", "bundling", "one-cpu", "two-cpus"}


def test_round_trips_take_long_enough_and_begin_warm():
    """One at a time they are of 1.4 us at the least: 20 ms of these, and 50 ms of those of 10 us
    that are usual; who asks for no limit has waits in them."""
    (path,) = (p for p in SHIPPED if p.name == "campaign.tsf.toml")
    for sequence in plan.load(path, STUDY).sequence:
        for test in (t for e in sequence.execution for t in e.tests() if t.kind.startswith("RT")):
            wait_s = 5e-5 if test.loop_version == 2 else min(test.tick_min_s, test.tick_max_s)
            one_s = 1.4e-6 if test.outstanding_max else wait_s / together(test.model_dump())
            assert test.updates * one_s >= 0.02, (sequence.name, test)
            if test.outstanding_max:
                assert test.warm_up >= 100 and test.loop_version == 3


def test_few_round_trips_are_told(tmp_path):
    text = GOOD.replace('["RTOL", "OWIT"]', '"RTOL"').replace("updates = 10", "updates = 1000")

    def said(fields: str) -> list[str]:
        (spec,) = load(tmp_path, text + fields).sequence[0].execution[0].test
        return [do for _, _, do in STUDY.cautions(spec)]

    assert said("loop_version = 3\noutstanding_max = 1") == ["take 14,286 or more"]
    assert said("loop_version = [3, 2]\noutstanding_max = 1") == ["take 14,286 or more"]
    assert said("loop_version = 2\noutstanding_max = 1") == []
    assert said("loop_version = 3") == []
    assert said("loop_version = 3\ninstances = 1000\ntick_max_s = 0.001") == ["take 14,286 or more"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("queued_updates_max = [1, 10, 100]\ninstances = 100\noutstanding_max = 1", 1),
        ("queued_updates_max = [1, 10, 100]\ninstances = 100\noutstanding_max = 100", 0),
        ("queued_updates_max = [1, 10, 100]\ninstances = 100", 0),
        ("queued_updates_max = [1, 10, 100]\ninstances = 10", 10),
        ("queued_bytes_max = [1, 1000, 65536]\ninstances = 100", 100),
        ("queued_bytes_max = [1, 100, 800]\ninstances = 100", 0),
        ("queued_bytes_max = [8, 80]\ninstances = 100\noutstanding_max = 5", 0),
        ("queued_bytes_max = [40, 80]\ninstances = 100\noutstanding_max = 5", 5),
    ],
)
def test_thresholds_that_change_nothing_are_told(tmp_path, fields, told):
    text = GOOD.replace('["RTOL", "OWIT"]', '"RTOL"').replace("updates = 10", "updates = 20000")
    text = text.replace("[8, 100]", "8") + f"loop_version = 3\n{fields}"
    (spec,) = load(tmp_path, text).sequence[0].execution[0].test
    field = fields.partition(" ")[0]
    found = [(at, what) for at, what, _ in STUDY.cautions(spec) if at == field]
    said = f"several of {field} are one: RTOL has at most {told:,} updates queued"
    assert found == ([(field, said)] if told else [])


def test_a_rate_of_many_items_a_flush_needs_more_updates(tmp_path):
    """Up to 20 million a second go one way where a flush has many of them: 10 ms of that."""

    def said(fields: str) -> list[str]:
        (spec,) = load(tmp_path, GOOD + fields).sequence[0].execution[0].test
        return [do for _, _, do in STUDY.cautions(spec)]

    assert said("")[0] == "take 10,000 or more"
    assert said("instances = [1, 4]")[0] == "take 40,000 or more"
    assert said("instances = 1000")[0] == "take 200,000 or more"
    assert said("instances = 1000\nqueued_updates_max = 2")[0] == "take 20,000 or more"
    assert said("instances = 1000\nqueued_bytes_max = 1")[0] == "take 10,000 or more"


def test_the_estimate_knows_what_goes_in_a_flush(tmp_path):
    """As measured on two cores: 0.4 million a second one by one, 3 million of 100 a flush."""
    text = GOOD.replace('["RTOL", "OWIT"]', '"OWIT"').replace("updates = 10", "updates = 1000000")

    def seconds(fields: str) -> float:
        (execution,) = load(tmp_path, text + fields).sequence[0].execution
        spec = execution.test[0]
        return STUDY.seconds(spec) / spec.samples

    assert 2 < seconds("") < 3
    assert 0.3 < seconds("instances = 100") < 0.6
    assert 2 < seconds("instances = 100\nqueued_bytes_max = 1") < 3


def test_all_loops_are_compared():
    """Only what waits alike is: tests that differ in more than the loop are not."""
    (path,) = (p for p in SHIPPED if p.name == "loops.tsf.toml")
    tests = [t for s in plan.load(path, STUDY).sequence for e in s.execution for t in e.tests()]
    assert {t.loop_version for t in tests} == {1, 2, 3, 4}
    assert len({(t.tick_min_s, t.tick_max_s, t.updates, t.warm_up) for t in tests}) == 1


@pytest.mark.parametrize("kind", ["OWOT", "OWIT", "RTOL", "RTIL"])
@pytest.mark.parametrize(
    "field",
    ["types", "instances", "buffers", "buffer_bytes", "pairs", "queued_bytes_max",
     "queued_updates_max"],
)  # fmt: skip
def test_every_variable_has_a_series(field, kind):
    """On every RTI of the file: one execution in which it has three values or more, and all else
    one; and these do what they say: as many updates are queued."""
    (path,) = (p for p in SHIPPED if p.name == "series.tsf.toml")
    found = set()
    each = plan.load(path, STUDY).sequence
    for sequence in (s for s in each if not s.name.startswith("bundling")):
        for execution in sequence.execution:
            tests = [t.model_dump() for t in execution.tests() if t.kind == kind]
            varied = {k for k in tests[0] if len({str(t[k]) for t in tests}) > 1} if tests else ()
            if varied != {field} or len({t[field] for t in tests}) < 3:
                continue
            at_once = {together(t, limited=True) for t in tests}
            if not field.startswith("queued") or len(at_once) == len(tests):
                found.add(sequence.name.split(".")[1])
    assert found >= {"starling", "starling-fastest", "tcp"}


def test_transport_and_bundling_are_lines_beside_each_other():
    """Over numbers of instances, on the same RTI: what one word changes, all else held."""
    (path,) = (p for p in SHIPPED if p.name == "series.tsf.toml")
    lines: dict[str, set] = {}
    for sequence in plan.load(path, STUDY).sequence:
        what, rti = sequence.name.split(".")[:2]
        for test in (t for e in sequence.execution for t in e.tests()):
            value = test.transport if what == "transport" else sequence.bundling
            lines.setdefault(f"{what} {rti}", set()).add((value, test.kind, test.instances))
    for rti in ("starling", "starling-fastest", "standin", "tcp"):
        assert lines[f"transport {rti}"] == {
            (t, k, n)
            for t in ("reliable", "best_effort")
            for k in ("RTOL", "OWOT")
            for n in (1, 100)
        }
    for rti in ("udp", "multicast"):
        assert lines[f"transport {rti}"] == {("best_effort", "RTOL", n) for n in (1, 100)}
    for rti in ("starling", "starling-fastest"):
        assert lines[f"bundling {rti}"] == {
            (b, k, n)
            for b in (True, False)
            for k, several in (("RTOL", (5, 20, 100)), ("OWOT", (1, 10, 100)))
            for n in several
        }
    # What goes one by one is in no bundle.
    for sequence in plan.load(path, STUDY).sequence:
        if sequence.name.startswith("bundling"):
            tests = [t.model_dump() for e in sequence.execution for t in e.tests()]
            assert max(together(t, limited=True) for t in tests if t["kind"] == "RTOL") == 100


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


def test_all_faults_are_told_at_once(tmp_path):
    """But for fields that are missing where one is unknown, which may be meant by it."""
    changes = {'local_settings = "a"': 'local_setings = "a"', '"RTOL"': '"RTOX"',
               '"reliable"': '"sure"', "updates = 10": "updates = 0",
               'fom = "f.xml"\n': ""}  # fmt: skip
    bad = GOOD
    for old, new in changes.items():
        assert old in bad
        bad = bad.replace(old, new, 1)

    def told(text: str) -> list[str]:
        with pytest.raises(BenchError) as caught:
            load(tmp_path, text)
        return re.findall(r"^STL-TSF-00\d: (.*)$", str(caught.value), flags=re.M)

    first, *others = told(bad)
    assert first.startswith("unknown field 'local_setings'")
    assert others == [
        'kind: "RTOX" is not known', 'transport: "sure" is not known', "updates: 0 is too small",
    ]  # fmt: skip
    first, *others = told(bad.replace("local_setings", "local_settings"))
    assert first.startswith("field 'fom' is missing") and len(others) == 3
    # And so are those between fields.
    text = GOOD.replace('rti = "one"', 'rti = "none"').replace('receiver = "b"', 'receiver = "c"')
    assert told(text.replace("updates = 10", "updates = 10\ntick_min_s = 5.0")) == [
        "there is no RTI 'none'", "there is no federate 'c'", "federate 'b' is in no pair",
        "tick_min_s (5) is more than tick_max_s (0.01)",
    ]  # fmt: skip
    # So many, and no more.
    many = GOOD.replace("updates = 10", "\n".join(f"colour{n} = 1" for n in range(50)))
    assert len(told(many)) == 20


def test_there_are_at_least_sixty_of_them():
    assert len(BAD) >= 60
    assert set(BAD) == set(EXPECTED)


def test_too_many_tests_are_meant_with_long(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(GOOD.replace(*BAD["3 million tests"]))
    (execution,) = plan.load(path, STUDY, long=True).sequence[0].execution
    assert execution.test[0].count() == 3_000_000


def test_a_run_of_days_is_meant_with_long(tmp_path):
    """It is found at once, whatever the lists are, and with the scale of the run."""
    slow = "updates = 1000000000\ntick_max_s = 0.1\nloop_version = 3"
    with pytest.raises(BenchError) as caught:
        load(tmp_path, GOOD.replace("updates = 10", slow))
    assert str(caught.value).replace(f"{tmp_path}/", "") == (
        "STL-TSF-005: it would take about 555,796 hours, more than 24\n  at t.tsf.toml:28\n"
        "  do: take fewer updates, or give `bmmanager run` --long"
    )
    path = tmp_path / "t.tsf.toml"
    assert plan.load(path, STUDY, long=True).sequence
    path.write_text(GOOD)
    assert plan.load(path, STUDY, scale=1000).sequence
    with pytest.raises(BenchError, match="hours, more than 24"):
        plan.load(path, STUDY, scale=1e8)


def test_a_test_with_rtis_of_its_own_is_counted_on_these_alone(tmp_path):
    """Of the two RTIs of its sequence it runs on neither, or on one."""
    sizes = list(range(8, 8 + 5000))
    both = GOOD.replace('rti = "one"', 'rti = ["one", "two"]').replace("[8, 100]", str(sizes))
    alone = both.replace('["RTOL", "OWIT"]', '"RTOL"')
    alone = alone.replace('["reliable", "best_effort"]', '"reliable"')
    assert load(tmp_path, alone).sequence
    mine = alone.replace("updates = 10", 'updates = [10, 20]\nrti = "two"')
    assert load(tmp_path, mine).sequence
    with pytest.raises(BenchError, match="20,000 tests, more than 10,000"):
        load(tmp_path, alone.replace("updates = 10", "updates = [10, 20]"))


def test_what_a_file_and_one_that_it_includes_both_name_is_told_where_it_is_again(tmp_path):
    (tmp_path / "other.toml").write_text(
        GOOD.replace('name = "one"', 'name = "three"')
        .replace('name = "two"', 'name = "four"')
        .replace('rti = "one"', 'rti = "three"')
    )
    with pytest.raises(BenchError, match="two sequences are named 's'") as caught:
        load(tmp_path, 'include = ["other.toml"]\n' + GOOD)
    line = 1 + GOOD.splitlines().index('name = "s"')
    assert caught.value.where == f"{tmp_path}/other.toml:{line}"


def test_a_file_says_how_large_it_is_to_be(tmp_path):
    (tmp_path / "other.toml").write_text(GOOD)
    file = load(tmp_path, 'include = ["other.toml"]\nscale = 0.5\n')
    assert [t.updates for t in file.sequence[0].execution[0].test] == [5]


def test_a_sequence_runs_on_every_rti_it_names(tmp_path):
    file = load(tmp_path, GOOD.replace('rti = "one"', 'rti = ["one", "two"]'))
    assert [(s.name, s.rti.name) for s in file.sequence] == [("s.one", "one"), ("s.two", "two")]
    assert file.sequence[0].rti.local_settings == "a"


def test_rounds_go_to_and_fro(tmp_path):
    file = load(tmp_path, GOOD.replace('rti = "one"', 'rti = ["one", "two"]\nrounds = 3'))
    order = [(s.rti.name, s.execution[0].name) for s in file.sequence]
    assert order == [("one", "e.1"), ("two", "e.1"), ("two", "e.2"), ("one", "e.2"),
                     ("one", "e.3"), ("two", "e.3")]  # fmt: skip
    assert {s.execution[0].round_of for s in file.sequence} == {"e"}
    (alone,) = load(tmp_path, GOOD).sequence
    assert alone.execution[0].round_of == ""


def test_parts_of_a_rounds_execution_are_each_one_of_all_rounds(tmp_path):
    """Loop V4 takes a connection of its own, so an execution of its own in each round."""
    two = GOOD.replace('rti = "one"', 'rti = "one"\nrounds = 2')
    two = two.replace("updates = 10", "updates = 10\nloop_version = [1, 4]")
    found = [(e.name, e.round_of) for s in load(tmp_path, two).sequence for e in s.execution]
    assert found == [("e.1", "e"), ("e.1.immediate", "e.immediate"),
                     ("e.2", "e"), ("e.2.immediate", "e.immediate")]  # fmt: skip


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


def test_files_that_include_the_same_ones_again_and_again_have_an_end(tmp_path):
    """Each of 30 the next one, twice: a billion readings."""
    for n in range(30):
        (tmp_path / f"{n}.toml").write_text(f'include = ["{n + 1}.toml", "{n + 1}.toml"]\n')
    (tmp_path / "30.toml").write_text("include = []\n")
    with pytest.raises(BenchError, match="200 files are included already"):
        load(tmp_path, 'include = ["0.toml"]\n')


@pytest.mark.parametrize(
    "field", ["samples", "queued_bytes_max", "outstanding_max", "loop_version"]
)
def test_thresholds_samples_and_loop_may_be_lists(tmp_path, field):
    tests = load(tmp_path, GOOD.replace("updates = 10", f"{field} = [1, 2]")).sequence[0]
    assert {getattr(t, field) for t in tests.execution[0].tests()} == {1, 2}


def test_switches_of_the_rti_are_values_of_a_test(tmp_path):
    """Each value is an environment of its own, and so a sequence; what a test does not say is as
    the RTI's table has it."""
    forwarded = {"STARLING_TRANSPORT_PATH": "forwarder", "STARLING_SERVICES_MOM": "false"}
    switches = 'path = ["executive", "shared_memory"]\nmom = false\nupdates = 10'
    file = load(tmp_path, GOOD.replace("updates = 10", switches))
    assert [(s.name, s.rti.env) for s in file.sequence] == [
        ("s.executive", {"STARLING_TRANSPORT_SHARED_MEMORY": "off", **forwarded}),
        ("s.shared_memory", {"STARLING_TRANSPORT_SHARED_MEMORY": "auto", **forwarded}),
    ]  # fmt: skip
    assert all(t.mom is False for s in file.sequence for e in s.execution for t in e.tests())
    assert load(tmp_path, GOOD).sequence[0].rti.env == {}


def test_every_switch_sets_what_the_rti_has():
    """The settings that Starling's switches set are in its table of settings, with these values."""
    documented = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    for field, values in Starling.switches.items():
        assert field in SWITCHES
        for variable, value in (pair for env in values.values() for pair in env.items()):
            group, _, name = variable.removeprefix("STARLING_").lower().partition("_")
            setting = f"{group}.{name}" if name else group
            (line,) = [x for x in documented.splitlines() if x.startswith(f"| `{setting}` ")]
            allowed = line.split("|")[2]
            assert re.search(rf"\b{value}\b", allowed) or allowed.strip() == "true or false", line


def test_the_committed_schema_is_what_the_program_prints():
    committed = Path(__file__).parents[1] / "tsf.schema.json"
    assert committed.read_text() == schema(STUDY)


def test_a_file_that_is_utf_16(tmp_path):
    (tmp_path / "b.toml").write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(BenchError) as caught:
        plan.load(tmp_path / "b.toml", STUDY)
    assert str(caught.value) == (
        f"STL-TSF-001: the test sequence file is UTF-16\n  at {tmp_path}/b.toml:1\n"
        "  do: save it as UTF-8"
    )


def test_missing_file_and_bad_bytes(tmp_path):
    with pytest.raises(BenchError, match="embedded null byte"):
        plan.load(tmp_path / "a\0b", STUDY)
    with pytest.raises(BenchError, match="No such file"):
        plan.load(tmp_path / "none.toml", STUDY)
    (tmp_path / "b.toml").write_bytes(b"a = 1\n\xe4 = 2\n")
    with pytest.raises(BenchError, match="is not UTF-8") as caught:
        plan.load(tmp_path / "b.toml", STUDY)
    assert caught.value.where.endswith("b.toml:2")


@pytest.mark.parametrize(("adapter", "test", "said", "at"), [
    ("udp", "", "adapter 'udp' has no reliable data", "transport = "),
    ("dis", 'transport = "best_effort"\nbuffer_bytes = 3818',
     "a message has 3,818 bytes; adapter 'dis' carries 3,817", "buffer_bytes = "),
    ("multicast", 'transport = "best_effort"\nbuffers = 2\nbuffer_bytes = 33000',
     "a message has 66,000 bytes; adapter 'multicast' carries 65,499", "buffer_bytes = "),
    ("upd", "", "there is no adapter 'upd'", "adapter = "),
])  # fmt: skip
def test_what_an_adapter_cannot_carry_is_told_from_the_file(tmp_path, adapter, test, said, at):
    text = GOOD.replace('local_settings = "a"', f'adapter = "{adapter}"')
    if test:
        lines = 'transport = ["reliable", "best_effort"]\nbuffer_bytes = [8, 100]'
        text = text.replace(lines, test)
    with pytest.raises(BenchError) as caught:
        load(tmp_path, text)
    line = next(n for n, x in enumerate(text.splitlines(), 1) if x.startswith(at))
    assert said in caught.value.what and caught.value.where.endswith(f":{line}")
    assert adapter != "upd" or caught.value.do == "did you mean 'udp'?"
    # The largest that fits is none.
    if "buffer_bytes = 3818" in test:
        load(tmp_path, text.replace("3818", "3817"))


def test_brackets_without_end_are_told_as_such(tmp_path):
    with pytest.raises(BenchError) as caught:
        load(tmp_path, "# a\na=" + "[" * 50_000)
    assert (caught.value.code, caught.value.exit_code) == ("STL-TSF-002", 2)
    assert caught.value.where.endswith(":2")


def test_a_key_that_is_there_twice_is_named(tmp_path):
    with pytest.raises(BenchError) as caught:
        load(tmp_path, GOOD.replace("updates = 10", "updates = 10\nupdates = 20"))
    assert caught.value.what == "not valid TOML: 'updates' is there twice"
    assert caught.value.do == "remove one"


def test_studies_say_how_long_their_tests_take():
    """What a test is told to last counts."""
    from starling_bench.studies import ec1, fomcost, range as ranges

    def took(study, **fields) -> float:
        return study.seconds(study.spec(**fields))

    assert took(ranges.STUDY, duration_s=200_000.0) > 200_000
    assert took(ec1.STUDY, seconds=600.0, samples=3) > 1800
    assert took(ec1.STUDY, updates=100, rate=10.0) == pytest.approx(10.5)
    assert took(fomcost.STUDY, repetitions=100_000, gap_ms=10.0, samples=2) > 2000


def test_what_is_deep_or_many_is_read_in_time_that_grows_with_it(tmp_path):
    """Counted are the steps: of twice as much twice as many."""

    def steps(work) -> int:
        count = 0

        def step(*_: object):
            nonlocal count
            count += 1
            return step

        before = sys.gettrace()
        sys.settrace(step)
        try:
            work()
        finally:
            sys.settrace(before)
        return count

    def deep(depth: int) -> dict:
        top: dict = {}
        at = top
        for _ in range(depth):
            at["a"] = {}
            at = at["a"]
        return top

    for size in (1000, 2000):
        data = deep(size)
        tracemalloc.start()
        assert tsf_text._with_nul(data) == ()
        lines = tsf_text._lines("[" + ".".join(["a"] * size) + "]\n")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(lines) <= 32 and most < 1 << 20
    rtis = [NamedRti(name=f"r{n}") for n in range(400)]
    assert sequences._once([*rtis, *rtis]) == rtis
    assert steps(lambda: sequences._once(rtis)) < 2.2 * steps(lambda: sequences._once(rtis[:200]))
