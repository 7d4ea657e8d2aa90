"""Round trips that are the tick's and not the RTI's, and those over too soon: no headline."""

import numpy as np
import pytest
from test_short import best, fastest, sample

from starling_bench.kept.store import Store
from starling_bench.reports import drawing
from starling_bench.statistics import loops
from starling_bench.statistics.differences import differences
from starling_bench.studies.rtibm import STUDY, figures, rows

# Trips of a sample of more than 50 ms.
TRIPS = 1000


def run(directory, means_ms: dict[str, float], loop: int = 1, trips: int = TRIPS, **more) -> Store:
    """Each RTI's trips are spread evenly between none and twice the mean."""
    store = Store.create(directory, STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    setting = {"samples": 5, "tick_min_s": 0.001, "tick_max_s": 0.001, "outstanding_max": 0,
               "kind": "RTOL", "types": 1, "instances": 1, "buffers": 1, "buffer_bytes": 8,
               "queued_bytes_max": 65536, "queued_updates_max": 1000} | more  # fmt: skip
    for rti, mean in means_ms.items():
        store.begin(rti, "e", adapter=rti, tests={"1": setting}, pairs=1, state="done",
                    sequence_of="s")  # fmt: skip
        path = store.raw_path(rti, "e", 1, 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = []
        for n in range(1, 6):
            of_all = np.linspace(0, 2, trips, dtype="<f4") * mean * (1 + n / 100) * 1e6
            blocks += [np.array([n, trips], dtype="<u4").tobytes(), of_all.astype("<f4").tobytes()]
            took = float(of_all.sum()) * 1e-9 + trips * (0.001 if more.get("waits", True) else 0)
            row = sample(rti, n, took, took, trips) | {"kind": "RTOL", "loop": loop}
            store.keep(row | {"rate_hz": trips / took})
        path.write_bytes(b"".join(blocks))
    store.recompute()
    return store


def page(store: Store) -> str:
    figures.write(store, store.save())
    return (store.directory / "report.html").read_text()


def test_an_rti_that_keeps_the_ticks_minimum_is_no_slower(tmp_path):
    """One holds what came for the rest of the tick, the other returns with its first callback."""
    store = run(tmp_path / "out", {"keeps": 0.5, "returns": 0.08})
    (found,) = differences(STUDY, store.samples(), store.summaries())
    said = "the tick's (loop V1, tick_min_s 0.001) and not the RTI's: take another loop"
    assert not found.different and found.sentence == f"keeps and returns: {said}."
    shown = page(store)
    assert "times faster" not in shown
    assert " ms<" not in best(shown) and "all: the tick" in best(shown)
    assert "The round trips of 2 are the tick" in shown
    assert "Hollow: the tick" in shown[shown.index("Every sample over time") :]


@pytest.mark.parametrize(
    ("loop", "mean_ms", "tick_s", "of_the_tick"),
    [(1, 0.5, 0.001, True), (2, 0.5, 0.001, False), (3, 0.5, 0.001, False),
     (4, 0.5, 0.001, False), (1, 0.04, 0.001, False), (1, 0.06, 0.001, True),
     (1, 19, 0.001, True), (1, 21, 0.001, False), (1, 0.5, 0.0, False)],
)  # fmt: skip
def test_which_round_trips_are_the_ticks(loop, mean_ms, tick_s, of_the_tick):
    """Who is much faster than the tick does not wait for it; of who is much slower it is little."""
    s = {"loop": loop, "setting": {"tick_min_s": tick_s}}
    assert bool(loops.trip_doubt(s | {"rtt_ms": {"mean": mean_ms}})) == of_the_tick
    assert bool(loops.trip_doubt(s | {"rtt_mean_ms": mean_ms})) == of_the_tick
    assert loops.trip_doubt(s | {"rtt_ms": None}) == "all lost"


def test_a_frequency_that_is_the_ticks_is_marked_and_the_round_trip_is_not(tmp_path):
    """Loop V3 without a limit ends each flush with a whole wait in vain."""
    store = run(tmp_path / "out", {"one": 0.05, "other": 0.1}, loop=3)
    summaries = store.summaries()
    said = "the tick's (tick_max_s 0.001 behind each flush) and not the RTI's: set a limit"
    assert [loops.rate_doubt(s) for s in summaries] == [said] * 2
    assert [rows.doubt(s) for s in summaries] == [""] * 2
    (found,) = differences(STUDY, store.samples(), summaries)
    assert found.different
    line = figures.latency_table(summaries[:1])
    assert line.count('class="doubt"') == 1 and "<b>0.0515</b>" in line
    # With a limit, and in loop V2, there is no such wait; where flushes take longer it is little.
    for more in ({"outstanding_max": 1}, {"tick_max_s": 0.0001}, {"tick_max_s": 0.1}):
        assert not loops.rate_doubt(summaries[0] | {"setting": summaries[0]["setting"] | more})
    assert not loops.rate_doubt(summaries[0] | {"loop": 2})


@pytest.mark.parametrize(
    ("loop", "send_s", "each_us", "of_the_loop"),
    [(2, 0.01, 80, True), (2, 0.01, 190, True), (1, 0.01, 80, False), (3, 0.01, 80, False),
     (2, 0.01, 10, False), (2, 0.01, 400, False), (2, 1.2, 80, False)],
)  # fmt: skip
def test_a_message_for_each_sleep_is_the_loops_rate(tmp_path, loop, send_s, each_us, of_the_loop):
    """Of an RTI that returns with its first callback, in loop V2; not of one whose sender is as
    slow, or that takes much longer."""
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    for rti, us in (("returns", each_us), ("drains", 1)):
        store.begin(rti, "e", adapter=rti, tests={"1": {"samples": 5}}, pairs=1, state="done",
                    sequence_of="s")  # fmt: skip
        for n in range(1, 6):
            receive_s = us * 1e-6 * 20_000 * (1 + n / 100)
            sending_s = send_s if rti == "returns" else 0.01
            row = sample(rti, n, sending_s, receive_s, 20_000)
            store.rows.append(row | {"loop": loop})
    summaries = store.summaries()
    said = "the loop's (V2 sleeps before each message) and not the RTI's: take another loop"
    assert [rows.doubt(s) for s in summaries] == [said if of_the_loop else "", ""]
    assert rows.doubt(store.rows[0]) == rows.doubt(summaries[0])
    (found,) = differences(STUDY, store.samples(), summaries)
    assert found.different != of_the_loop
    # A summary's is where half of its samples are.
    assert bool(loops.sleep_doubt({"slept": 2, "samples": 4})) and not loops.sleep_doubt(
        {"slept": 1, "samples": 4}
    )
    assert ("the loop&#x27;s" in page(store) or "the loop's" in page(store)) == of_the_loop


def test_of_several_updates_a_flush_the_wait_is_behind_all(tmp_path):
    (s,) = run(tmp_path / "out", {"one": 0.05}, loop=3).summaries()
    many = s | {"setting": s["setting"] | {"instances": 100}}
    many |= {"rate_hz": s["rate_hz"] | {"mean": 100 / 0.0015}}
    assert loops.rate_doubt(many)
    few = {"queued_updates_max": 10}
    assert not loops.rate_doubt(many | {"setting": many["setting"] | few})


def test_round_trips_over_too_soon_are_doubtful(tmp_path):
    """Of 500 of 10 us a scheduler's turn is as long as all of them."""
    store = run(tmp_path / "out", {"one": 0.01, "other": 0.014}, 3, 500, waits=False)
    (found,) = differences(STUDY, store.samples(), store.summaries())
    assert found.sentence == (
        "one and other: too short to tell (below 20 ms a sample): take more updates."
    )
    shown = page(store)
    assert "times faster" not in shown and "The round trips of 2 are too short to tell" in shown
    store = run(tmp_path / "longer", {"one": 0.05, "other": 0.07}, 3, 500, waits=False)
    (found,) = differences(STUDY, store.samples(), store.summaries())
    assert found.different


def test_a_test_of_which_nothing_came_back_is_told(tmp_path):
    """It has no figure, but stands in the table, and the others' best is a time."""
    store = run(tmp_path / "out", {"one": 0.05}, loop=3)
    store.rows = [row | {"others_cpu": 0.0} for row in store.rows]
    store.begin("none", "e", adapter="udp", tests=store.run["executions"][0]["tests"], pairs=1,
                state="done", sequence_of="s")  # fmt: skip
    # Whatever else speaks against it.
    nothing = {"others_cpu": 1.0, "kind": "RTOL", "loop": 3, "received": 0, "lost": TRIPS,
               "rate_hz": 0.0, "rtt_mean_ms": None}  # fmt: skip
    store.rows += [sample("none", n, 1.0, 1.0, TRIPS) | nothing for n in range(1, 6)]
    shown = page(store)
    assert "The round trips of 1 are all lost." in shown
    assert "<b>one</b>" in best(shown) and ">0.0515 ms<" in best(shown)
    assert ">none: all lost<" in best(shown)
    table = shown[shown.index("<h2>Round trip") : shown.index("<h2>Ways")]
    (line,) = (row for row in table.split("<tr>") if ">none<" in row)
    assert f">{5 * TRIPS:,}<" in line and line.count('title="all lost"') == 12


def test_captions_say_each_doubt_once():
    assert drawing.hollow_for(["", "a", "b", "a"]) == " Hollow: a; or b."
    assert drawing.hollow_for(["", ""]) == ""


def test_who_ran_it_more_often_has_no_more_tries():
    """The best of several tests of one RTI is not its figure."""

    def one(execution: str, rti: str, mean: float) -> dict:
        return sample(f"s.{rti}", 1, 1.0, 1.0) | {
            "rti": "", "execution": execution, "sequence_of": "s", "rtt_ms": {"mean": mean},
            "setting": {"rti": rti}, "loop": 3, "short": 0, "busy": 0, "samples": 5, "lost": 0,
            "kind": "RTOL",
        }  # fmt: skip

    group = [one("e", "a", 0.2), one("f", "a", 0.02), one("e", "b", 0.1)]
    assert fastest(group)[:2] == ["b", "0.100 ms"]
    assert fastest([group[0], one("f", "a", 0.1), one("e", "b", 0.2)])[:2] == ["a", "0.150 ms"]
