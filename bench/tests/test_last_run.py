"""What of `make bench` is kept, and how the next run differs from it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from starling_bench.commands.console import paper
from starling_bench.errors import BenchError
from starling_bench.statistics import beside, last_run

KEEP = Path(__file__).parents[1] / "keep_bench.py"
RUN = {"study": "s", "commit": "0ca4c1cc", "started": "2026-11-27T00:00:00+00:00", "rounds": 5,
       "only": "", "machine": {"cpu": "one", "cpus": 2, "kernel": "6"}}  # fmt: skip


def figure(name: str, ratios: list[float], unit: str = "us", target: str = "") -> beside.Figure:
    """With the round trips, or rates, of its rounds, beside a limit of 10."""
    key = "p50_us" if unit == "us" else "per_s"
    made = beside.Figure(name, "raw", unit, key, target, None, None)
    for n, ratio in enumerate(ratios):
        ours, raw = {key: 10 * ratio}, {key: 10.0}
        if unit == "us":
            ours |= {"p99_us": 20 * ratio, "p999_us": 30 * ratio if n else None}
            raw |= {"p99_us": 40.0, "p999_us": 50.0}
        row = made.take(ours, raw)
        assert row["ratio"] == pytest.approx(ratio)
        assert row["starling_p99"] == (20 * ratio if unit == "us" else None)
    return made


def test_a_ratio_has_the_interval_of_its_rounds():
    """Of logarithms, as a ratio and its inverse are the same finding."""
    found = figure("f", [1.0, 2.0, 4.0]).ratio()
    assert found.value == pytest.approx(2.0)
    # t of two degrees of freedom, 4.303, times the deviation of logarithms, by the root of three.
    assert found.high / 2 == pytest.approx(2 ** (4.3027 / 3**0.5), rel=1e-3)
    assert found.low * found.high == pytest.approx(4.0)
    assert figure("f", [2.0]).ratio().low is None


def test_tails_and_what_is_missed_are_said():
    one = figure("trips", [1.0, 1.1, 1.2], target="<= 1.3")
    two = figure("rate", [0.1, 0.1, 0.1], "k/s", ">= 0.2")
    assert one.met and not two.met and list(one.tails) == ["p99", "p99.9"]
    assert len(one.tails["p99.9"]) == 2 and two.tails == {}
    to = paper()
    beside.show(to, [one, two], 3, {})
    said = to.file.getvalue()
    assert "p99.9, us" in said and "0.87 to 1.38" in said and "last" not in said
    assert beside.missed([one, two]) == [
        "missed: rate beside raw: x 0.10, to be >= 0.2", "1 of 2 targets are met"
    ]  # fmt: skip
    assert beside.missed([figure("f", [1.0])]) == []


def test_the_next_run_is_compared_with_the_one_kept(tmp_path):
    """A figure is marked where the intervals do not overlap, and not where one is not known."""
    before = [figure("trips", [1.0, 1.1, 1.2]), figure("one round", [1.0]),
              figure("rate", [1.0, 1.1, 1.2], "k/s"), figure("gone", [1.0, 1.0])]  # fmt: skip
    path = tmp_path / last_run.SUMMARY
    path.write_text(last_run.text(last_run.summary(RUN, before)))
    last = last_run.read(path)
    assert last == json.loads(path.read_text())
    assert last["machine"] == RUN["machine"] and len(last["figures"]) == 4
    for ratios, trips, rate in (
        ([2.0, 2.1, 2.2], " worse", " better"),
        ([0.5, 0.6, 0.5], " better", " worse"),
        ([1.1, 1.2, 1.3], "", ""),
    ):
        now = [figure("trips", ratios), figure("one round", ratios), figure("new", ratios),
               figure("rate", ratios, "k/s")]  # fmt: skip
        assert last_run.told(last, now) == {
            ("trips", "raw"): f"x 1.10{trips}",
            ("one round", "raw"): "x 1.00",
            ("rate", "raw"): f"x 1.10{rate}",
        }
        to = paper()
        beside.show(to, now, 3, last_run.told(last, now))
        assert "last" in to.file.getvalue() and f"x 1.10{trips}" in to.file.getvalue()
    assert last_run.about(last, RUN["machine"]).endswith("5 rounds")
    assert "another machine: cpu differ" in last_run.about(last, RUN["machine"] | {"cpu": "two"})
    path.write_text("{}")
    with pytest.raises(BenchError, match="STL-LST-001"):
        last_run.read(path)


def slower_limit(name: str, unit: str, times: float) -> beside.Figure:
    """As fast as 1, 1.1 and 1.2 of a limit of 10, beside another limit."""
    made, key = figure(name, [], unit), "p50_us" if unit == "us" else "per_s"
    for ours in (10.0, 11.0, 12.0):
        made.take({key: ours}, {key: 10.0 * times})
    return made


def test_a_ratio_is_no_change_where_the_clock_stood(tmp_path):
    """The limit became slower or faster, and what is beside it did not."""
    path = tmp_path / last_run.SUMMARY
    before = [figure("trips", [1.0, 1.1, 1.2]), figure("rate", [1.0, 1.1, 1.2], "k/s")]
    path.write_text(last_run.text(last_run.summary(RUN, before)))
    last = last_run.read(path)
    for times, trips, rate in ((4, "better", "worse"), (0.25, "worse", "better")):
        now = [slower_limit("trips", "us", times), slower_limit("rate", "k/s", times)]
        assert last_run.told(last, now) == {
            ("trips", "raw"): f"x 1.10 {trips}, not by the clock",
            ("rate", "raw"): f"x 1.10 {rate}, not by the clock",
        }
        for f in now:
            assert last_run.clock(last, f).value == pytest.approx(1.0)


def test_a_count_is_a_change_where_the_clock_moved_as_it_did(tmp_path):
    before = [figure("updates", [1.0, 1.1, 1.2], "k/s")]
    path, of = tmp_path / last_run.SUMMARY, {"updates": "an update"}
    taken = {"an update: send": 1000.0, "an update: receive": 1000.0}
    path.write_text(last_run.text(last_run.summary(RUN, before, taken)))
    last = last_run.read(path)
    assert last["counts"] == taken
    for send, ratios, found in (
        (500, [2.0, 2.1, 2.2], "better"),
        (500, [1.0, 1.1, 1.2], "no change"),
        (500, [0.5, 0.6, 0.5], "no change"),
        (500, [2.0], "no change"),
        (2000, [0.5, 0.6, 0.5], "worse"),
        (2000, [2.0, 2.1, 2.2], "no change"),
        (1040, [2.0, 2.1, 2.2], "as many"),
    ):
        counts = {"": {"an update: send": send, "another: send": 7}}
        now = [figure("updates", ratios, "k/s")]
        one, other = last_run.counted(last, counts, now, of)
        assert one.startswith(f"an update: send: {send:,} instructions, 1,000 in the last run")
        assert one.endswith(f": {found}") and other == "another: send: 7 instructions"
    # An earlier system's are of this run, beside the ratio of the same rounds.
    now = [figure("updates", [2.0, 2.1, 2.2], "k/s"), figure("updates", [1.0, 1.1, 0.9], "k/s")]
    now[0].earlier = True
    counts = {"": {"an update: send": 500.0}, "earlier": {"an update: send": 900.0}}
    (one, other) = last_run.counted(None, counts, now, of)
    assert one == "an update: send: 500 instructions"
    assert other.startswith("an update: send: 500 instructions, 900 in raw (x 0.56); x 2.10")
    assert other.endswith("as fast by the clock: better")


def keep(run: Path, to: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(KEEP), str(run), str(to)]
    return subprocess.run(command, text=True, capture_output=True)


def test_what_is_kept_is_small_and_whole(tmp_path):
    run, to = tmp_path / "run", tmp_path / "kept"
    run.mkdir()
    assert "has no summary.json" in keep(run, to).stderr
    measured = [figure(f"{n} of them", [1.0 / 3] * 5) for n in range(80)]
    (run / last_run.TABLE).write_text("the table\n")

    def write(**changed: object) -> None:
        text = last_run.text(last_run.summary(RUN | changed, measured))
        (run / last_run.SUMMARY).write_text(text)

    for changed, why in (
        ({"commit": "0ca4c1cc-dirty"}, "measure one tree"),
        ({"only": "updates"}, "has the figures 'updates' only"),
        ({"rounds": 4}, "4 rounds, to be 5 at least"),
    ):
        write(**changed)
        done = keep(run, to)
        assert done.returncode == 1 and why in done.stderr and not to.exists()
    write()
    assert keep(run, to).returncode == 0
    assert sorted(p.name for p in to.iterdir()) == [last_run.SUMMARY, last_run.TABLE]
    text = (to / last_run.SUMMARY).read_text()
    assert len(text) < 40_000 and text.count("\n") < 100 and "0.3333333" not in text
