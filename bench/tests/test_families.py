"""Which comparisons are made, and which of them are judged together; what a report says first."""

import csv
import io
import re
import types
from pathlib import Path

import numpy as np
import pytest
from campaign import EXPERIMENTS
from rich.console import Console
from test_rounds import sample as trips
from test_short import run, sample

from starling_bench.commands import telling
from starling_bench.commands.console import console_for
from starling_bench.machines import idle
from starling_bench.reports import answers
from starling_bench.statistics.differences import (
    OUTCOMES,
    RTIS,
    alone,
    between_runs,
    differences,
    sequence_of,
)
from starling_bench.studies.rtibm import STUDY, figures, rows, terminal
from starling_bench.tsf import plan


def made(
    means: dict[str, dict[str, float]], tests: int, rng: np.random.Generator, spread: float = 0.1,
    rounds: int = 5,
) -> tuple[list[dict], list[dict]]:  # fmt: skip
    """Rows and summaries of sequences whose RTIs have these mean round trips in ms, in rounds."""
    found, summaries = [], []
    for sequence, rtis in means.items():
        for rti, mean in rtis.items():
            for test in range(1, tests + 1):
                for n in range(1, rounds + 1):
                    value = mean * float(np.exp(rng.normal(0, spread)))
                    row = trips(f"{sequence}.{rti}", "e", 1, 10) | {"test": test, "bytes": 8 * test}
                    found.append(row | {"rtt_mean_ms": value, "round": f"e.{n}"})
                of = found[-1] | {"rti": "", "setting": {"rti": rti}, "sequence_of": sequence}
                summaries.append(of | {"rtt_ms": {"mean": mean}, "short": 0, "busy": 0,
                                       "samples": rounds})  # fmt: skip
    return found, summaries


def of_rtis(found: list[dict], summaries: list[dict]) -> list:
    return [d for d in differences(STUDY, found, summaries) if d.family[1] == RTIS.title]


def test_rtis_of_sequences_that_took_no_turns_are_not_compared():
    means = {"s": {"a": 1.0, "b": 2.0}, "t": {"a": 1.0, "c": 3.0}}
    compared = of_rtis(*made(means, 3, np.random.default_rng(1)))
    assert {(d.family[0], d.one, d.other) for d in compared} == {("s", "a", "b"), ("t", "a", "c")}
    assert len(compared) == 6


def test_what_is_left_out_is_in_no_family():
    """Nor does another sequence, or another question, make any p larger."""
    rng = np.random.default_rng(3)
    found, summaries = made({"s": {"a": 1.0, "b": 1.3}}, 8, rng, 0.05)
    alone = of_rtis(found[-5:] + found[35:40], [summaries[7], summaries[15]])
    assert len(alone) == 1 and alone[0].found.among == 1
    assert {d.found.among for d in of_rtis(found, summaries)} == {8}
    doubtful = [s | ({"busy": 5} if s["test"] < 8 else {}) for s in summaries]
    for more, of in made({"t": {"a": 1.0, "b": 1.1}}, 9, rng), ([], []):
        compared = of_rtis(found + more, doubtful + of)
        *left_out, last = [d for d in compared if d.family[0] == "s"]
        assert all(d.outcome == "left out" for d in left_out)
        assert last.found.among == 1 and last.found.p == alone[0].found.p
    assert len(left_out) == 7


@pytest.mark.long
def test_under_no_difference_few_families_call_anything_different():
    """Of 300 families of 18 comparisons each at 5 % about 15 have one that is called different; of
    single comparisons nearly half of the families would."""
    rng = np.random.default_rng(1516)
    called = alone = 0
    for _ in range(300):
        found, summaries = made({"s": {"a": 1.0, "b": 1.0, "c": 1.0}}, 6, rng)
        compared = of_rtis(found, summaries)
        assert len(compared) == 18
        called += any(d.different for d in compared)
        alone += any(d.found.beyond for d in compared)
        assert not any(" times faster" in d.sentence for d in compared if not d.different)
    assert called <= 15 + 3 * np.sqrt(15 * 0.95)
    assert alone > 3 * called


def test_no_pair_of_a_file_is_of_two_of_its_tables():
    """By the name that a run keeps; those of before have it in that of the sequence."""
    for name in ("series", "hosts", "two-systems", "drops", "loops"):
        file = plan.load(EXPERIMENTS / f"{name}.tsf.toml", STUDY)
        assert {s.sequence_of for s in file.sequence} == {
            line.removeprefix('name = "').rstrip('"')
            for table in (EXPERIMENTS / f"{name}.tsf.toml").read_text().split("[[sequence]]\n")[1:]
            for line in [table.split("\n")[0]]
        }
        for s in file.sequence:
            setting = s.execution[0].tests()[0].model_dump()
            assert sequence_of({"sequence": s.name, "setting": setting}) == s.sequence_of


# ---- what a report says first


def cells(table: str) -> list[list[str]]:
    """Its lines as texts, but for the head."""
    lines = re.findall("<tr>(.*?)</tr>", table)[1:]
    return [[re.sub("<.*?>", "", c) for c in re.findall("<td.*?>(.*?)</td>", one)] for one in lines]


def test_of_each_two_rtis_it_is_counted_which_is_faster():
    """The faster one first; ratios are how many times as fast it is."""
    found, summaries = made({"s": {"slow": 3.0, "fast": 1.0}}, 6, np.random.default_rng(5), 0.05)
    summaries[0]["busy"] = 5
    (line,) = cells("".join(answers.overview(differences(STUDY, found, summaries))))
    counts = dict(zip(OUTCOMES, line[2:], strict=False))
    assert line[:2] == ["fast, slow", "6"]
    assert counts["left out"] == "1" and counts["slower"] == counts["slower, not certain"] == ""
    assert int(counts["faster"]) + int(counts["faster, not certain"] or 0) == 5
    assert all(2.7 < float(ratio) < 3.3 for ratio in line[-3:])


def test_the_fastest_of_a_test_has_the_next_one_beside_it_and_how_sure_that_is():
    found, summaries = made(
        {"s": {"a": 3.0, "b": 1.0, "c": 1.01}, "t": {"a": 3.0, "b": 1.0}}, 2,
        np.random.default_rng(6), 0.03,
    )  # fmt: skip
    compared = differences(STUDY, found, summaries)
    said = "".join(answers.fastest(STUDY, compared, summaries, figures._figure))
    of_s, of_t = said.split("<h3>t, round trip</h3>")
    assert "Fastest of 2 tests: b in 2." in of_s and "CPUs any; bundling on" in of_s
    for line in cells(of_s):
        assert line[1:4] == ["b", "1.000 ms", "c"]
        assert line[5].startswith("no difference shown, p = ")
    assert [line[0] for line in cells(of_s)] == ["as said above", "bytes 16"]
    for line in cells(of_t):
        assert line[1:4] == ["b", "1.000 ms", "a"] and line[5].startswith("yes, p ")
        low, high = map(float, re.search(r"\((.*) to (.*)\)", line[4]).groups())
        assert 1 < low < 3 * 1.1 and high > 3 * 0.9
    # While a run goes on nothing is compared yet.
    going = "".join(answers.fastest(STUDY, [], summaries, figures._figure))
    assert {line[5] for line in cells(going) if line} == {"not compared"}


def test_what_is_left_out_shows_its_reason_and_no_number():
    found, summaries = made({"s": {"a": 3.0, "b": 1.0}}, 2, np.random.default_rng(6))
    summaries[0]["short"] = 5
    one, other = cells(answers.comparison_table(of_rtis(found, summaries)))
    assert "too short to tell" in one[1] and one[2:] == [""] * 5
    assert "" not in other


# ---- what others did, where it can't be told


def test_samples_that_can_not_be_judged_are_as_those_around_them():
    busy, calm, unknown = 0.5, 0.0, None
    shares = [unknown, calm, unknown, calm, unknown, busy, unknown, unknown, calm, unknown]
    assert [n for n, perhaps in enumerate(idle.around(shares)) if perhaps] == [4, 6, 7]
    assert idle.around([unknown] * 3) == [False] * 3
    assert idle.around([]) == []


@pytest.mark.parametrize(("others", "said"), [(0.8, True), (0.0, False)])
def test_who_can_not_be_judged_beside_disturbed_ones_wins_nothing(tmp_path: Path, others, said):
    """Three of five samples were over too soon to tell what others did; those around were
    disturbed."""
    store = run(tmp_path, (0.04, 0.041), (0.37, 0.38), 100_000)
    for row in store.rows:
        unknown = row["sequence"] == "tcp" and row["sample"] > 2
        row["others_cpu"] = None if unknown else others if row["sample"] > 2 else 0.0
    store.rows.sort(key=lambda row: row["sample"])
    tcp, starling = store.summaries()
    assert (tcp["busy"], tcp["unjudged"]) == (0, 3 if said else 0)
    assert rows.doubt(tcp).startswith("not known whether disturbed") == said
    assert bool(rows.doubt(tcp)) == bool(rows.doubt(starling)) == said
    (found,) = differences(STUDY, store.samples(), [tcp, starling])
    assert found.different != said
    line = "".join(answers.fastest(STUDY, [], [tcp, starling], figures._figure))
    assert ("not told" in line) == said and ("<b>tcp</b>" in line) != said
    # More rows change it.
    store.rows += [sample("starling", 6, 1.0, 1.0) | {"others_cpu": 0.9}, sample("tcp", 6, 1, 1)]
    assert store.summaries()[0]["unjudged"] == (4 if said else 1)


# ---- without a terminal


def test_a_file_has_tables_with_nothing_cut(tmp_path: Path, monkeypatch, capsys):
    """However wide they are."""
    store = run(tmp_path, (0.40, 0.41), (0.37, 0.38), 100_000)
    for record in store.run["executions"]:
        record["rti"] = f"{record['sequence']} of a very long name, with its version " * 3
        record["cpus"] = "CPUs 0, 1, 2, 3, 4, 5, 6, 7" * (record["sequence"] == "tcp")
    monkeypatch.setenv("COLUMNS", "80")
    terminal.tables(console_for(), store.summaries())
    shown = capsys.readouterr().out
    assert "…" not in shown
    for s in store.summaries():
        assert s["rti"].strip() in shown and f"{s['rate_hz']['mean']:,.0f}" in shown
    # On a terminal they are as wide as that.
    narrow = Console(width=80, file=io.StringIO(), record=True, force_terminal=True)
    terminal.tables(narrow, store.summaries())
    assert "…" in narrow.export_text()


def _two_runs() -> dict[str, tuple[list[dict], list[dict]]]:
    """Of one RTI that is as fast in test 1, and twice and thrice as slow in 2 and 3; each has a
    test that the other has not."""
    rng = np.random.default_rng(5)
    runs = {}
    for name, means, lacks in (("new", (1.0, 1.0, 1.0, 1.0, 1.0), 5), ("old", (1, 2, 3, 1, 1), 4)):
        found, summaries = made({"s": {"a": 1.0}}, 5, rng, 0.01, 9)
        keep = lambda s, lacks=lacks: s["test"] != lacks  # noqa: E731
        slower = [r | {"rtt_mean_ms": r["rtt_mean_ms"] * means[r["test"] - 1]} for r in found]
        runs[name] = list(filter(keep, slower)), list(filter(keep, summaries))
    return runs


def test_runs_are_compared_the_surest_first_and_what_one_lacks_is_told():
    runs = _two_runs()
    found = between_runs(STUDY, runs)
    assert [(d.test[-2:], d.outcome) for d in found] == [
        ("24", "faster"), ("16", "faster"), (" 8", "not told"),
    ]  # fmt: skip
    assert {name: [t[-2:] for t in titles] for name, titles in alone(STUDY, runs).items()} == {
        "new": ["32"], "old": ["40"],
    }  # fmt: skip


def test_a_comparison_of_runs_is_a_table_too(tmp_path, monkeypatch, capsys):
    """What of a test is not certain stands there as in the sentence."""
    runs = _two_runs()
    stores = {}
    for name, (rows_, summaries) in runs.items():
        store = stores[tmp_path / name] = types.SimpleNamespace(
            run={"started": "", "machine": {}, "executions": [], "notes": [], "file": ""},
            samples=lambda rows_=rows_: rows_, summaries=lambda of=summaries: of,
            warnings=list, recompute=dict, expect=lambda tests: None,
        )  # fmt: skip
        assert store.summaries() is summaries
    monkeypatch.setattr(telling.Store, "load", lambda directory, _: stores[directory])
    assert telling.compare(STUDY, *stores, True) == 0
    out, err = capsys.readouterr()
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [line["outcome"] for line in lines] == ["faster", "faster", "not told"]
    assert 0.3 < float(lines[0]["low"]) < float(lines[0]["ratio"]) < float(lines[0]["high"]) < 0.4
    assert lines[0]["result"].startswith(f"{tmp_path}/new is ")
    only = re.findall(r"^note: only (.*) has figures of: .*bytes (\d+)$", err, flags=re.M)
    assert only == [(f"{tmp_path}/new", "32"), (f"{tmp_path}/old", "40")]
