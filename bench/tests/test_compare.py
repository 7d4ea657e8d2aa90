"""Comparisons against published examples, and how often they are wrong."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import ranges
from campaign import campaign
from runs import text
from test_rounds import sample

from starling_bench.statistics import compare, stats
from starling_bench.statistics.differences import differences, too_few
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

# NIST, Statistical Reference Datasets, univariate summary statistics: certified mean and deviation.
NIST = {
    "NumAcc1": ([10000001, 10000003, 10000002], 10000002, 1),
    "NumAcc2": ([1.2] + [1.1, 1.3] * 500, 1.2, 0.1),
    "NumAcc3": ([1000000.2] + [1000000.1, 1000000.3] * 500, 1000000.2, 0.1),
    "NumAcc4": ([10000000.2] + [10000000.1, 10000000.3] * 500, 10000000.2, 0.1),
}


@pytest.mark.parametrize("name", NIST)
def test_mean_and_deviation_of_nist_sets(name):
    values, mean, sd = NIST[name]
    found = stats.spread(values)
    assert found.mean == pytest.approx(mean, rel=1e-14)
    assert found.sd == pytest.approx(sd, rel=1e-7)


def test_welch_on_students_sleep_data():
    """Student (1908), The probable error of a mean: additional hours of sleep by two drugs.
    Welch's test of it: p = 0.07939, interval -3.3654832 to 0.2054832."""
    one = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    two = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    found = compare.welch(one, two)
    assert found.estimate == pytest.approx(-1.58)
    assert found.p == pytest.approx(0.07939, abs=5e-6)
    assert (found.low, found.high) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)


def test_mann_whitney_on_hollander_and_wolfes_data():
    """Hollander and Wolfe (1973), page 69: permeability of membranes; the rank sum's two-sided p is
    0.2544, their estimate of the shift 0.305."""
    at_term = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
    early = np.array([1.15, 0.88, 0.90, 0.74, 1.21])
    found = compare.mann_whitney(at_term, early)
    assert found.p == pytest.approx(0.2544, abs=5e-5)
    assert found.estimate == pytest.approx(0.305)
    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    ("n", "m", "rank"), [(3, 3, 0), (4, 4, 1), (5, 5, 3), (8, 8, 14), (10, 10, 24), (20, 20, 128)]
)
def test_ranks_are_those_of_the_tables(n, m, rank):
    """Mann and Whitney's critical values of U, two-sided at 5 %, as tabled (0, 2, 13, 23, 127): the
    interval begins with the difference behind them."""
    assert compare._critical(n, m) == rank


def test_holms_correction():
    """p of 0.01, 0.04, 0.03 and 0.005 become 0.03, 0.06, 0.06 and 0.02."""
    several = [compare.Comparison(2, 1.5, 3, p, "", 1) for p in (0.01, 0.04, 0.03, 0.005)]
    assert [c.p for c in compare.holm(several)] == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize("n", [5, 10])
def test_the_same_is_called_different_no_more_often_than_said(n):
    """400 comparisons of one distribution with itself: 5 %, and five deviations of that count."""
    rng = np.random.default_rng(1945)
    values = np.exp(rng.normal(size=(400, 2, n)))
    wrong = sum(compare.compare(list(x), list(y)).different for x, y in values)
    assert wrong < 20 + 5 * np.sqrt(400 * 0.05 * 0.95)


def test_a_ratio_is_found_with_its_interval():
    rng = np.random.default_rng(7)
    fast, slow = np.exp(rng.normal(0, 0.05, 10)), np.exp(rng.normal(np.log(2.9), 0.05, 10))
    found = compare.compare(list(fast), list(slow))
    assert 1 / found.high < 2.9 < 1 / found.low
    assert found.different and found.effect == -1
    said = compare.sentence("Starling", "the other", found, more_is_faster=False)
    assert said == "Starling is 2.87 (2.76 to 2.98) times faster than the other, p < 0.001."
    said = compare.sentence("Starling", "the other", found, more_is_faster=True)
    assert said.startswith("the other is 2.87 (2.76 to 2.98) times faster than Starling")


def test_what_is_not_shown_is_not_said():
    found = compare.compare([1.0, 1.1, 0.9, 1.05], [1.02, 1.07, 0.93, 1.0])
    assert "no difference is shown" in compare.sentence("A", "B", found, False)
    found = compare.compare([1.0, 1.1], [2.0, 2.1])
    assert compare.sentence("A", "B", found, False).endswith("too few samples for a comparison.")
    assert not compare.compare([1.0], [2.0]).different


def test_what_is_not_certain_is_told_with_its_ratio():
    """An interval that is beyond 1, which is of one comparison, and a p value of many."""
    found = compare.Comparison(0.28, 0.15, 0.35, 0.2, "", -1, among=40)
    assert not found.different
    assert compare.sentence("A", "B", found, False) == (
        "A is faster than B by a ratio of 3.57 (2.86 to 6.67), which is not certain among 40 "
        "comparisons (p = 0.200)."
    )
    assert compare.sentence("A", "B", found, True).startswith("B is faster than A by a ratio of")
    assert "no difference" not in compare.sentence("A", "B", found, True)


def test_of_many_samples_not_all_differences_are_kept(monkeypatch):
    """Of 10,000 against 10,000 they would take a gigabyte: it is the same without."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(0.1, 1, 41) ** 3, rng.normal(0, 1, 60) ** 3
    y[:5] = y[5:10] = x[:5]  # some are equal
    want = compare.mann_whitney(x, y)
    effect = float(np.sign(np.subtract.outer(x, y)).mean())
    monkeypatch.setattr(compare, "_ALL_MAX", 1)
    found = compare.mann_whitney(x, y)
    assert found.p == want.p
    for one in ("estimate", "low", "high"):
        assert getattr(found, one) == pytest.approx(getattr(want, one), abs=1e-11)
    assert compare.compare(list(np.exp(x)), list(np.exp(y))).effect == pytest.approx(effect)


# All of the one below all of the other, and not normal.
FOUR = [1.0, 1.01, 1.02, 9.0], [30.0, 30.1, 30.2, 99.0]


@pytest.mark.parametrize(("count", "needed"), [(1, 0), (2, 5), (80, 7), (1000, 9)])
def test_where_so_few_samples_can_show_nothing_it_says_how_many_would(count, needed):
    """Of four and four the least p is 2/70, of five 2/252, of seven 2/3,432, of nine 2/48,620."""
    several = compare.holm([compare.compare(*FOUR)] * count)
    said = {compare.sentence("A", "B", c, False) for c in several}
    assert {c.needed for c in several} == {needed}
    if needed:
        (one,) = said
        assert one.startswith("A is faster than B by a ratio of 29.8 (3.33 to 99), which is not")
        assert one.endswith(f": too few samples to tell; {needed} of each would do.")
        near = [1 + n / 100 for n in range(needed - 1)]
        enough = [*near, 9.0], [*(30 * v for v in near), 300.0]
        several = compare.holm([compare.compare(*enough)] * count)
        assert several[0].method.startswith("Mann") and all(c.different for c in several)
    else:
        assert "faster" in said.pop()


def test_samples_that_are_too_few_alone_say_so_with_rounds():
    (found,) = compare.holm([compare.compare([1.0, 1.1], [2.0, 2.1])])
    said = compare.sentence("A", "B", found, False, "rounds")
    assert said == "A and B: too few rounds to tell; 4 of each would do."


@pytest.mark.parametrize(
    ("samples", "rounds", "said"),
    [(4, 1, "samples (4)"), (5, 1, ""), (9, 2, "rounds (2)"), (1, 5, "")],
)
def test_check_cautions_where_comparisons_can_show_nothing(tmp_path, samples, rounds, said):
    """Two RTIs, two tests: two comparisons, for which five are needed."""
    path = tmp_path / "t.tsf.toml"
    rtis = "".join(f'[[rti]]\nname = "{n}"\nadapter = "tcp"\n' for n in ("a", "b"))
    test = f'kind = "RTOL"\nbuffer_bytes = [8, 100]\nsamples = {samples}'
    written = text(test).replace("[sequence.rti]\n", "")
    path.write_text(
        rtis + written.replace("master =", f'rti = ["a", "b"]\nrounds = {rounds}\nmaster =')
    )
    found = too_few(STUDY, plan.load(path, STUDY).sequence, {})
    if not said:
        assert found is None
        return
    what, do = found
    assert what.startswith(f"too few {said} for 2 comparisons")
    assert do.startswith(f"take 5 {said.partition(' ')[0]} or more")
    command = [sys.executable, "-m", "starling_bench", STUDY.name, "check", str(path)]
    done = subprocess.run(command, text=True, capture_output=True)
    assert f"caution: {what}" in done.stdout


def test_where_a_test_has_one_sample_check_asks_for_rounds(tmp_path):
    """More samples would be refused. And it counts as the run does: each pair's."""
    path = tmp_path / "t.tsf.toml"
    rtis = "".join(f'[[rti]]\nname = "{n}"\nadapter = "tcp"\n' for n in ("a", "b"))
    written = ranges.text("hz = [10.0, 20.0]", 3).replace('[sequence.rti]\nadapter = "tcp"\n', "")
    for rounds, few in ((1, True), (5, False)):
        more = f'rti = ["a", "b"]\nrounds = {rounds}\n[[sequence.federate]]'
        path.write_text(rtis + written.replace("[[sequence.federate]]", more, 1))
        command = [sys.executable, "-m", "starling_bench", "range", "check", str(path)]
        done = subprocess.run(command, text=True, capture_output=True)
        said = "caution: too few rounds (1) for 2 comparisons" in done.stdout
        assert said == few == ("  do: take 5 rounds or more" in done.stdout), done.stdout
        assert done.stdout.count(": 2 tests, 4 samples, about ") == 2 * rounds


EXPERIMENTS = Path(__file__).parents[1] / "experiments"


@pytest.mark.long
@pytest.mark.parametrize("name", ["hosts", "loops", "series", "two-systems"])
def test_check_counts_the_comparisons_that_a_report_makes(tmp_path, name):
    """Hosts and CPUs are not compared with each other; loops, objects and interactions are."""
    file = plan.load(EXPERIMENTS / f"{name}.tsf.toml", STUDY, scale=0.01)
    for spec in (t for s in file.sequence for e in s.execution for t in e.test):
        spec.samples = 1
    what, _ = too_few(STUDY, file.sequence, {host.name: host for host in file.host})
    store = campaign(tmp_path / "out", f"{name}.tsf.toml", 0.01)
    families = Counter(d.family for d in differences(STUDY, store.samples(), store.summaries()))
    assert re.search(r" for ([\d,]+) comparisons", what)[1] in {f"{n:,}" for n in families.values()}
    if name == "hosts":  # of each placement, which is a sequence, six tests on three RTIs
        for placement in ("one-cpu", "two-cpus"):
            assert families[placement, "RTIs"] == 6 * 3
            assert families[placement, "loops of one RTI"] == 3 * 2 * 3
            assert families[placement, "objects and interactions"] == 3 * 3
        assert len(families) == 2 * 3
    if name == "two-systems":  # one sequence: what differs in hosts is alike in nothing
        assert families["systems", "RTIs"] == 3 * 6


def test_each_line_says_what_its_values_are():
    """A run may have sequences in rounds beside others."""
    made = []
    for sequence, in_rounds in (("a", True), ("b", True), ("c", False), ("d", False)):
        for n in range(3):
            row = sample(sequence, "rel", n, 10) | {"rtt_mean_ms": 1.0 + n}
            row |= {"bytes": 8 if in_rounds else 100, "test": 1 if in_rounds else 2}
            made.append(row | ({"round": f"rel.{n}"} if in_rounds else {}))
    summaries = [r | {"rti": "", "setting": {}, "sequence_of": "s"} for r in made
                 if r["sample"] == 0]  # fmt: skip
    found = differences(STUDY, made, summaries)
    assert {(d.one, d.of) for d in found} == {("a", "rounds"), ("c", "samples")}
