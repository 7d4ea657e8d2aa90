"""What a reader must be able to trust: that figures are of one run alone and of one RTI, that what
was lost wins nothing, and that whatever else may count is told.
"""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from runs import text
from test_altered import GIVEN, made
from test_manager import manage, sequence
from test_rounds import sample as trips
from test_short import best as best_of, run, sample

from starling_bench.commands import telling
from starling_bench.commands.attempt import Attempt
from starling_bench.conducting import follow
from starling_bench.conducting.conduct import Conductor
from starling_bench.errors import BenchError
from starling_bench.kept import store
from starling_bench.kept.store import Store
from starling_bench.machines import machine, rti
from starling_bench.reports import cells, drawing, order
from starling_bench.statistics import stats
from starling_bench.statistics.differences import differences
from starling_bench.studies.rtibm import STUDY, figures, rows, terminal
from starling_bench.tsf import plan


def federation(directory: Path) -> str:
    """That of the run's only execution."""
    log = (directory / "out" / "s" / "one" / "master.log").read_text()
    return log.partition("--federation ")[2].split()[0]


def test_no_two_runs_have_one_federation_execution(tmp_path):
    """An RTI's server may serve others, or still have what a killed run left there."""
    given = 'name = "one"\nfederation = "mine"'
    texts = [sequence("good"), sequence("good"), sequence("good").replace('name = "one"', given)]
    found = []
    for number, tsf in enumerate(texts):
        there = tmp_path / str(number)
        there.mkdir()
        assert manage(there, tsf, "--no-report")[0] == 0
        found.append(federation(there))
    assert len(set(found)) == 3 and found[2] == "mine"
    assert all(name.startswith("rtibm-s-one-") for name in found[:2])


def test_ways_are_those_of_the_runs_own_federation_execution():
    """Another's federates have the same names."""

    def one(name: str, by: str) -> dict:
        federates = [
            {"name": who, "handle": n, "path": "unix", "best_effort": {"by": "stream"},
             "calls": n, "counters": {"conflated": n}, "paths": [{"by": by, "to": [1 - n]}]}
            for n, who in enumerate(("m", "s"))
        ]  # fmt: skip
        return {"name": name, "federates": federates}

    said = json.dumps({"federations": [one("mine", "direct tcp"), one("other", "shared memory")]})
    starling = rti.Starling()
    assert {way.by for way in starling.ways(said, {}, "mine")} == {"direct tcp"}
    assert {way.by for way in starling.ways(said, {}, "other")} == {"shared memory"}
    assert len(starling.ways(said, {})) == 4
    assert starling.replaced(said, "mine") == {"m": (0, 0), "s": (1, 1)}
    assert starling.replaced(said, "none") == {}


# ---- what was lost


def altered(tmp_path: Path, which, **more) -> Store:
    """Of two RTIs of which the second is the faster one, some samples are otherwise."""
    made = run(tmp_path, (0.40, 0.41), (0.20, 0.21), 100_000)
    for row in made.rows:
        row |= more if row["sequence"] == "starling" and which(row["sample"]) else {}
    return made


def judged(of: Store) -> tuple[str, str]:
    """What is said of the two, and of the best."""
    summaries = of.summaries()
    (found,) = differences(STUDY, of.samples(), summaries)
    assert not found.different
    figures.write(of, summaries)
    page = (of.directory / "report.html").read_text()
    assert "times faster" not in page
    return found.doubt, best_of(page)


def test_who_brought_nothing_in_a_sample_wins_nothing(tmp_path):
    """Comparisons are of samples that have a value: without the worst ones."""
    nothing = {"received": 0, "lost": 100_000, "rate_hz": 0.0, "mb_per_s": 0.0}
    of = altered(tmp_path, lambda n: n == 5, **nothing)
    of.rows = [row | {"transport": "best_effort"} for row in of.rows]
    doubt, best = judged(of)
    assert doubt == "of samples of which some brought nothing"
    assert "<b>tcp</b>" in best and f">starling: {doubt}<" in best
    assert [s["nothing"] for s in of.summaries()] == [0, 1]


def test_who_lost_reliable_messages_wins_nothing(tmp_path):
    doubt, best = judged(altered(tmp_path, lambda n: n == 2, received=50_000, lost=50_000))
    assert doubt == "of an RTI that lost reliable messages"
    assert "<b>tcp</b>" in best and f">starling: {doubt}<" in best
    # Of best effort that is no fault: the loss stands beside.
    lossy = sample("udp", 1, 0.4, 0.5) | {"lost": 5, "transport": "best_effort"}
    assert rows.doubt(lossy) == "" and rows.doubt(lossy | {"transport": "reliable"}) == doubt


def test_a_test_of_several_pairs_is_one(tmp_path):
    of = run(tmp_path, (0.40, 0.41), (9e-3, 9e-3), 100_000)
    of.rows += [row | {"pair": 2, "sender": "s", "receiver": "m"} for row in of.rows]
    said, reliable = cells.summed_up(of.summaries(), rows.doubt, rows.latency)
    assert said.startswith("2 tests, 2,000,000 messages sent, 0 lost.") and reliable == 0
    assert "The rates of 1 are too short to tell" in said


def test_what_came_twice_is_told(tmp_path):
    of = altered(tmp_path, lambda n: n == 1, doubled=7)
    said = cells.carried(of.summaries(), rows.label)
    assert "7 messages came that were there before, and count once" in said
    assert "doubled" not in cells.carried(of.summaries()[:1], rows.label)


def test_the_terminal_marks_what_the_report_marks(tmp_path):
    """A frequency that is the tick's, too."""
    of = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    setting = {"samples": 2, "tick_max_s": 0.001, "outstanding_max": 0, "kind": "RTOL", "types": 1,
               "instances": 1, "buffers": 1, "buffer_bytes": 8, "queued_bytes_max": 65536,
               "queued_updates_max": 1000}  # fmt: skip
    of.begin("s", "e", adapter="tcp", tests={"1": setting}, pairs=1, state="done")
    of.rows = [
        trips("s", "e", n, 5) | {"loop": 3, "rate_hz": 900.0, "rtt_mean_ms": 0.05, "send_s": 1.0}
        for n in (1, 2)
    ]
    of._known.clear()
    (summary,) = of.summaries()
    summary["rtt_ms"] = {"mean": 0.05, "max": 1.0,
                         "percentiles": {"50": 0.05, "99": None, "99.9": None}}  # fmt: skip
    console = Console(width=200, record=True, file=io.StringIO())
    terminal.tables(console, [summary])
    shown = console.export_text()
    assert " 900 ?" in shown and "? the tick's (tick_max_s 0.001 behind each flush)" in shown
    assert "0.050 ?" not in shown


def in_rounds(order: list[str]) -> list[dict]:
    """Rows of two sequences, the second of which is twice as fast, in the order of their rounds."""
    made, number = [], {"a": 0, "b": 0}
    for name in order:
        number[name] += 1
        near = (0.4 if name == "a" else 0.2) * (1 + number[name] / 100)
        row = sample(name, 1, near, near, 100_000)
        made.append(row | {"round": f"e.{number[name]}"})
    return made


@pytest.mark.parametrize("ran", ["abbaabba", "aaaabbbb", "bbbbaaaa"])
def test_rounds_that_took_no_turns_are_told(tmp_path, ran):
    """Of sequences of different tables each is run with all of its rounds before the next."""
    made = in_rounds(list(ran))
    summaries = [
        rows.summarize([r for r in made if r["sequence"] == name], [], 0.1) | {
            "rti": "", "setting": {}, "sequence_of": "s"}
        for name in "ab"
    ]  # fmt: skip
    (found,) = differences(STUDY, made, summaries)
    assert found.of == "rounds" and found.different
    turns = ran == "abbaabba"
    assert found.sentence.endswith("what drifted between them counts, too.") != turns
    of = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    for n, name in enumerate(ran):
        of.begin(name, f"e.{n}", round_of="e", tests={})
    assert order.said(of) == (order._TO_AND_FRO if turns else order._APART)
    of.close()


# ---- what else may count


def joins(of: Store, record: dict, rti_name: str, *libraries: Path, files=()) -> None:
    """A master says what it has loaded."""
    place = type("Rti", (), {"place": lambda self, field: ""})()
    named = type("Named", (), {"name": "x", "master": "m", "rti": place})()
    master = follow.Master(of, named, named, lambda event: None, record)
    master.roots, master.files = {"m": None}, [str(file) for file in files]
    event = {"event": "joined", "rti": rti_name, "libraries": list(map(str, libraries))}
    master.hear(event)
    master.check()


@pytest.mark.parametrize("what", ["version in its name", "program", "name of the RTI"])
def test_a_run_that_goes_on_with_another_rti_says_so(tmp_path, what):
    of = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    record = of.begin("x", "x", tests={"1": {"samples": 1}}, pairs=1)
    first, later, program = (tmp_path / n for n in ("librti.so.1.2", "librti.so.1.3", "bmfed"))
    for file in (first, later, program):
        file.write_text("a")
    joins(of, record, "R 1", first, files=[program])
    joins(of, record, "R 1", first, files=[program])
    assert of.run["notes"] == [] and set(record["libraries"]) == {"librti.so.1.2", "bmfed"}
    if what == "program":
        program.write_text("b")
    other = later if what == "version in its name" else first
    joins(of, record, "R 2" if what == "name of the RTI" else "R 1", other, files=[program])
    (said,) = of.run["notes"]
    assert said.startswith({
        "version in its name": "x/x: librti.so.1.2, librti.so.1.3 changed between its tests",
        "program": "x/x: bmfed changed between its tests",
        "name of the RTI": "x/x: until it was resumed its RTI was R 1; tables call all its tests R",
    }[what])  # fmt: skip
    of.close()


def test_rounds_of_several_rtis_are_told(tmp_path):
    of = Store.create(tmp_path / "out", STUDY, dict(GIVEN))
    for number, name in enumerate(("R 1", "R 1", "R 2"), 1):
        of.begin("s", f"e.{number}", round_of="e", tests={})["rti"] = name
    of.begin("other", "e", tests={})["rti"] = "R 3"
    assert of.warnings() == ["Executions of s had several RTIs: R 1, then R 2."]
    of.close()


def test_settings_that_are_not_of_the_file_are_told(tmp_path, monkeypatch):
    """Whoever reads the report would take them for built-in ones."""
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    for name in [n for n in os.environ if n.startswith("STARLING_")]:
        monkeypatch.delenv(name)
    own = rti.Rti(env={"STARLING_NET_UNIX": "false"})
    assert rti.Starling().outside(own, str(tmp_path)) == []
    monkeypatch.setenv("STARLING_PRESET", "wan")
    monkeypatch.setenv("STARLING_NET_UNIX", "true")  # the file's is the stronger one
    (home / "starling").mkdir(parents=True)
    (home / "starling" / "starling.toml").touch()
    (tmp_path / "starling.toml").touch()
    found = ["STARLING_PRESET=wan", f"{home}/starling/starling.toml", f"{tmp_path}/starling.toml"]
    assert rti.Starling().outside(own, str(tmp_path)) == found
    assert rti.Adapter().outside(own, str(tmp_path)) == []
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(rti='env = { STARLING_NET_UNIX = "false" }'))
    doing = Attempt(STUDY, file)
    doing.planned = plan.load(file, STUDY)
    doing.conductor = Conductor(STUDY, tmp_path, None, None, None)
    assert list(doing._outside()) == [
        f"RTI 'starling' is set by what is not in the file, too: {', '.join(found[:2])}."
    ]


def test_two_runs_that_are_compared_say_what_else_they_differ_in(tmp_path, capsys):
    test = {"kind": "OWOT", "samples": 5, "updates": 100_000}
    for name, kernel in (("a", "6.1"), ("b", "6.9")):
        of = Store.create(tmp_path / name, STUDY, dict(GIVEN))
        of.begin("s", "e", adapter="tcp", tests={"1": test}, pairs=1)
        of.record("s", "e")["state"] = "done" if name == "a" else "failed"
        of.run["commit"], of.run["machine"] = "0123456", {"host": "x", "kernel": kernel}
        of.note([f"a note of {name}"])
        for n in range(1, 6):
            of.keep(sample("s", n, 0.4, 0.5 + n / 100, 100_000) | {"others_cpu": 0.0})
        of.save()
        of.close()
    assert telling.compare(STUDY, tmp_path / "a", tmp_path / "b") == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "ratio 1, not judged" in out
    when, unlike, *others = err.splitlines()
    assert when.startswith("note: the runs began at ")
    assert unlike == "note: they were not of one build or machine: kernel 6.1 and 6.9"
    assert others == [f"note: {tmp_path}/a: a note of a", f"note: {tmp_path}/b: s/e failed: ",
                      f"note: {tmp_path}/b: a note of b",
                      "note: a ratio is the first run's by the second's: of times above 1 is "
                      "slower, of rates faster"]  # fmt: skip


@pytest.mark.parametrize(
    ("quota", "above", "left"),
    [("max 100000", "max 100000", None), ("50000 100000", "max 100000", 0.5),
     ("max 100000", "25000 100000", 0.25)],
)  # fmt: skip
def test_cpus_that_a_container_may_not_have_are_not_counted(tmp_path, quota, above, left):
    group = tmp_path / "sys" / "fs" / "cgroup" / "a" / "b"
    group.mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("1:name=x:/x\n0::/a/b\n")
    (group / "cpu.max").write_text(f"{quota}\n")
    (group.parent / "cpu.max").write_text(f"{above}\n")
    there = len(os.sched_getaffinity(0))
    assert machine.usable_cpus(tmp_path) == (there if left is None else left)
    assert machine.facts()["cpus_usable"] <= there


@pytest.mark.parametrize(
    ("build", "choice", "begun", "said"),
    [
        ("#1 SMP PREEMPT_RT Debian 6.12", "", "", "PREEMPT_RT"),
        ("#1 SMP PREEMPT Fri", "", "quiet", "PREEMPT"),
        ("#1 SMP Fri", "", "preempt=full", "none or voluntary"),
        ("#1 SMP PREEMPT_DYNAMIC Fri", "none voluntary (full) lazy", "preempt=none",
         "full (PREEMPT_DYNAMIC)"),
        ("#1 SMP PREEMPT_DYNAMIC Fri", "", "quiet preempt=none preempt=voluntary ro",
         "voluntary (PREEMPT_DYNAMIC)"),
        ("#1 SMP PREEMPT_DYNAMIC Fri", "", "quiet xpreempt=none", "not known (PREEMPT_DYNAMIC)"),
        ("", "", "", "not known"),
    ],
)  # fmt: skip
def test_the_preemption_model_is_the_one_in_force(build, choice, begun, said):
    """A kernel that can change it says which it can have by its build only."""
    assert machine.preemption(build, choice, begun) == said


def test_what_there_was_to_know_of_this_host_is_in_the_report(tmp_path):
    of = made(tmp_path)
    of.run["found"] = {"disk_free_bytes": 123456789, "busy": [], "cleaned": []}
    figures.write(of, of.save())
    page = (of.directory / "report.html").read_text()
    assert "<h2>Host this one</h2>" in page and "123456789" in page
    # Of which system its figures are.
    found = dict(re.findall("<tr><th[^>]*>([a-z_]+)</th><td[^>]*>([^<]*)</td></tr>", page))
    assert found["kernel"] == os.uname().release and found["kernel_build"] == os.uname().version
    assert found["preemption"] == machine.facts()["preemption"]
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    assert found["clock_source"] == (clock.read_text().strip() if clock.exists() else "unknown")
    of.close()


def test_counts_that_somebody_altered_are_no_report(tmp_path):
    """Sent is received and lost in every row, also of a table that is read."""
    of = made(tmp_path)
    of.recompute()
    of.rows[0] |= {"sent": 5, "received": 3, "lost": 1}
    with pytest.raises(BenchError, match=r"test 1: 5 sent is not 3 received \+ 1 lost"):
        of.recompute()
    of.close()


def test_figures_of_a_former_report_do_not_stay(tmp_path):
    of = made(tmp_path)
    drawn = of.directory / "figures"
    drawn.mkdir()
    for name in ("001.svg", "999.svg", "1000.png", "mine.png", "12.svg"):
        (drawn / name).touch()
    drawing.Page(of)
    assert {file.name for file in drawn.iterdir()} == {"mine.png", "12.svg"}
    of.close()


# ---- as fast as it is large


def test_a_summary_that_takes_long_is_renewed_less_often(tmp_path, monkeypatch):
    """Of ten thousand tests each renewal is of all so far."""
    of, now, renewed = made(tmp_path), [0.0], []
    monkeypatch.setattr(store.time, "monotonic", lambda: now[0])

    def renew(self, *_: object) -> None:
        renewed.append(now[0])
        now[0] += took

    monkeypatch.setattr(type(STUDY), "renew", renew)
    took = 3.0  # the libraries are loaded
    of.renew()
    took = 0.25
    for _ in range(5):
        of.renew()
    assert len(renewed) == 6 and now == [4.25]
    took = 2.0
    of.renew()  # until 6.25
    for second in (8, 24, 25, 26, 44, 45, 46):
        now[0] = max(now[0], float(second))
        of.renew()
    assert renewed[6:] == [4.25, 25.0, 45.0]
    of.close()


def test_raw_values_of_several_pairs_are_read_once(tmp_path, monkeypatch):
    """Their rows take turns."""
    of, read = made(tmp_path), []
    row = of.rows[0] | {"kind": "OWOT"}
    of.rows = [row | {"test": t, "sample": s, "pair": p} for t in (1, 2) for s in range(1, 6)
               for p in (1, 2, 3)]  # fmt: skip
    monkeypatch.setattr(Store, "raw", lambda self, *at: read.append(at[2:]) or {})
    of.recompute()
    assert read == [(t, p) for t in (1, 2) for p in (1, 2, 3)] and len(of.rows) == 30
    of.close()


def test_what_most_windows_hold_is_found_by_parts(monkeypatch):
    values = np.sort(np.random.default_rng(5).lognormal(0, 1, 1000).round(2))
    whole = stats.mode(values, 0.05)
    counts = [((values >= v) & (values <= v + 0.1)).sum() for v in values]
    start = int(np.argmax(counts))
    assert whole == (values[start] + values[start + max(counts) - 1]) / 2
    for part in (1, 7, 999, 1000):
        monkeypatch.setattr(stats, "_AT_ONCE", part)
        assert stats.mode(values, 0.05) == whole


def test_an_empty_table_of_round_trips_has_none(tmp_path):
    import pyarrow
    import pyarrow.parquet as parquet

    from starling_bench.kept import raw

    path = raw.path_of(tmp_path, 1, 1)
    empty = pyarrow.table([[], []], schema=raw._schema())
    parquet.write_table(empty, path.with_suffix(".parquet"))
    assert raw.read(path) == {}


def test_a_program_is_found_from_another_folder(tmp_path, monkeypatch):
    """As `resume` is run in; one of PATH stays what it is."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(rti='adapter = "tcp"'))
    for given, kept in (("build/bmfed", f"{tmp_path}/build/bmfed"), ("bmfed", "bmfed")):
        out = tmp_path / f"out-{Path(given).parent.name}"
        doing = Attempt(STUDY, file, out, program=given)
        doing.planned = plan.load(file, STUDY)
        of = doing._begun(type("Me", (), {"id": "x"}))
        assert json.loads((out / "run.json").read_text())["bmfed"] == kept
        of.close()


def test_a_file_with_a_mark_of_its_encoding_is_read(tmp_path):
    file = tmp_path / "t.tsf.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text().encode())
    assert len(plan.load(file, STUDY).sequence) == 1
    file.write_bytes(b"\xef\xbb\xbf\n\n" + text().encode().replace(b"updates", b"updaets"))
    line = file.read_text(encoding="utf-8-sig").split("\n").index("updaets = 300") + 1
    with pytest.raises(BenchError, match="unknown field 'updaets'") as told:
        plan.load(file, STUDY)
    assert told.value.where == f"{file}:{line}"
