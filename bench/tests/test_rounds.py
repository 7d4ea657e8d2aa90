"""A sequence's rounds: their samples count together, and each is kept as what it is."""

import csv
import json

import numpy as np
import pytest

from starling_bench.kept.store import Store
from starling_bench.reports import order
from starling_bench.statistics import stats
from starling_bench.statistics.compare import compare
from starling_bench.statistics.differences import _number, differences, sample_values
from starling_bench.studies.rtibm import STUDY, figures, rows

SAMPLES = 3
# Mean round trips in ms by sequence and round: the machine is slower in the second.
ROUNDS = {"fast": {"rel.1": 1.0, "rel.2": 1.5}, "slow": {"rel.1": 2.0, "rel.2": 3.0}}


def sample(sequence: str, execution: str, number: int, trips: int) -> dict:
    """A sample of round trips."""
    return dict.fromkeys(rows.COLUMNS.names, 0) | {
        "sequence": sequence, "execution": execution, "test": 1, "kind": "RTOL",
        "transport": "reliable", "loop": 1, "types": 1, "instances": 1, "buffers": 1, "bytes": 8,
        "updates": trips, "pair": 1, "sender": "m", "receiver": "s", "sample": number,
        "sent": trips, "received": trips, "rate_hz": 1000.0, "others_cpu": None,
    }  # fmt: skip


TEST = STUDY.spec.single(kind="RTOL", samples=SAMPLES, updates=5).model_dump()


@pytest.fixture
def store(tmp_path):
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    for name in ("rel.1", "rel.2"):
        for sequence, means in ROUNDS.items():
            way = {"sender": "m", "receiver": "s", "by": f"way of {name}", "reliable": True}
            store.begin(
                sequence, name, adapter=sequence, tests={"1": TEST}, pairs=1,
                state="done", round_of="rel", ways={"1": [way]}, sequence_of="s",
            )  # fmt: skip
            blocks = []
            for n in range(1, SAMPLES + 1):
                trips = np.linspace(0.9, 1.1, 5, dtype="<f4") * (means[name] + n / 100) * 1e6
                blocks += [np.array([n, 5], dtype="<u4").tobytes(), trips.astype("<f4").tobytes()]
                store.keep(sample(sequence, name, n, 5))
            path = store.raw_path(sequence, name, 1, 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(blocks))
    store.recompute()
    return store


def test_a_test_is_one_with_an_interval_over_its_rounds(store):
    found = {s["sequence"]: s for s in store.summaries()}
    assert {key: s["execution"] for key, s in found.items()} == {"fast": "rel", "slow": "rel"}
    for sequence, s in found.items():
        means = [mean + (SAMPLES + 1) / 200 for mean in ROUNDS[sequence].values()]
        assert (s["samples"], s["sent"], s["rtt_ms"]["count"]) == (6, 30, 30)
        assert s["rtt_ms"]["mean"] == pytest.approx(np.mean(means), rel=1e-6)
        low, high = stats.interval(np.array(means))
        assert s["rtt_ms"]["mean_low"] == pytest.approx(low, rel=1e-6)
        assert s["rtt_ms"]["mean_high"] == pytest.approx(high, rel=1e-6)
        # What of each round differs is told.
        assert s["way"] == "way of rel.1; way of rel.2" and s["way_reliable"]


def test_comparisons_take_each_round_once(store):
    values = sample_values(STUDY, store.samples())
    assert [len(of) for of in values.values()] == [2] * 2
    (found,) = differences(STUDY, store.samples(), store.summaries())
    assert found.found.ratio == pytest.approx(0.5, rel=0.02)


def test_alike_tests_of_several_executions_are_one_in_each_round(store):
    """The same test stands in two executions of a sequence, whose rounds run one after the other:
    two rounds, not four."""
    store.rows += [r | {"execution": r["execution"].replace("rel", "twin")} for r in store.rows]
    for e in list(store.run["executions"]):
        name = e["execution"].replace("rel", "twin")
        store.run["executions"].append(e | {"execution": name, "round_of": "twin"})
    (found,) = differences(STUDY, store.samples(), store.summaries())
    assert (found.of, found.found.low) == ("rounds", None)  # of two and two Mann-Whitney tells none
    assert found.found.ratio == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(
    ("execution", "name", "number"),
    [("rel", "rel.2", 2), ("loops.immediate", "loops.3.immediate", 3), ("a.1", "a.1.12", 12),
     ("rel", "other", "other"), ("rel", None, None)],
)  # fmt: skip
def test_a_round_is_known_by_its_number(execution, name, number):
    assert _number(execution, name) == number


def test_what_differs_from_round_to_round_is_not_called_a_difference():
    """Rounds that differ twice as much as the samples of one: of 400 comparisons of alike ones at
    5 % about 20 are called different, of pooled samples 160."""
    rng, called = np.random.default_rng(1516), 0
    rounds = [n for n in range(4) for _ in range(5)]
    for _ in range(400):
        one, other = (
            list(np.exp(np.repeat(rng.normal(0, 0.2, 4), 5) + rng.normal(0, 0.1, 20)))
            for _ in range(2)
        )
        called += compare(stats.by_round(one, rounds), stats.by_round(other, rounds)).different
    assert called <= 20 + 3 * np.sqrt(20)


def test_reports_and_summaries_name_no_round_but_the_rows_keep_theirs(store):
    figures.write(store, store.save())
    page = (store.directory / "report.html").read_text()
    tables = page[page.index("<h2>Round trip") : page.index("<h2>Ways")]
    assert "rel.1" not in tables and "rel.2" not in tables
    assert "2 tests, 60 messages sent" in page
    # Both lines of the one figure by percentile, no four.
    shown = page[page.index("<h2>Percentiles") : page.index("<h2>Comparisons")]
    assert shown.count("<details open>") == 1 and "<details>" not in shown
    summaries = json.loads((store.directory / "summary.json").read_text())
    assert [s["execution"] for s in summaries] == ["rel", "rel"]
    with (store.directory / "results.csv").open() as file:
        kept = [row["execution"] for row in csv.DictReader(file)]
    assert kept == ["rel.1"] * 6 + ["rel.2"] * 6
    # Read again it is the same.
    store.close()
    again = Store.load(store.directory, STUDY)
    again.recompute()
    assert again.summaries() == summaries


def test_a_round_that_has_only_begun_counts_with_what_there_is(store):
    store.rows = [r for r in store.rows if r["execution"] == "rel.1" or r["sample"] == 1]
    assert [s["samples"] for s in store.summaries()] == [SAMPLES + 1] * 2
    assert [s["rtt_ms"]["count"] for s in store.summaries()] == [5 * (SAMPLES + 1)] * 2


def test_names_with_dollars_are_no_formulas(store):
    """As those of CVS have: "$Name: rel_1_5 $"."""
    for number, record in enumerate(store.run["executions"]):
        record["rti"] = f"$Name: rel_{number % 2}_5 $ x_ $"
    figures.write(store, store.save())
    drawn = "".join(path.read_text() for path in (store.directory / "figures").glob("*.svg"))
    assert "$Name: rel_0_5 $ x_ $" in drawn and "$Name: rel_1_5 $ x_ $" in drawn


def test_where_samples_are_too_few_for_drift_it_is_said(store):
    """One test in two rounds of three samples: neither it nor a round can be judged."""
    said = " ".join(order.doubts(store, store.summaries()))
    assert "2 of 2 tests have fewer than 6 samples (or rounds)" in said
    assert "Nor can drift be told of 4 of 4 executions" in said and "<table>" not in said
    # Of several tests in an execution, all of them together.
    rows = [row | {"test": n} for n in range(1, 9) for row in store.rows]
    store.rows = [r for r in rows if r["sequence"] == "fast" or r["test"] == 1]
    said = " ".join(order.doubts(store, store.summaries()))
    assert "fast/rel.1" in said and "drift of all its tests together, rising" in said
    assert "slow/rel.1" not in said
