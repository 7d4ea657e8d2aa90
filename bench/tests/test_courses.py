"""What is drawn of a long series, and what the source's table asks for."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from starling_bench.machines.rti import RAW
from starling_bench.reports import named
from starling_bench.reports.courses import groups, seen
from starling_bench.studies.range import STUDY, figures, rows
from starling_bench.times.oneway import Flow
from starling_bench.tsf import durations, plan

BENCH = Path(__file__).parents[1]
SHIPPED = sorted((BENCH / "experiments" / "range").glob("*.tsf.toml"))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_drawn_keeps_every_spike(seed):
    rng = np.random.default_rng(seed)
    count = np.sort(rng.choice(400_000, 200_000, replace=False))
    ms = rng.exponential(1, len(count))
    spikes = rng.choice(len(count), 50, replace=False)
    ms[spikes] += 1000 * (1 + rng.random(50))
    x, y = seen(count, ms)
    assert len(x) <= 2 * 902
    # Of each pixel across the highest is there, so every pixel with a spike shows one.
    pixel = lambda c: (c - count[0]) * 900 // (count[-1] - count[0])  # noqa: E731
    assert {int(p) for p in pixel(count[spikes])} == {int(p) for p in pixel(x[y > 1000])}
    assert y.max() == ms.max() and y.min() == ms.min()


def test_a_short_series_is_drawn_whole():
    count, ms = np.arange(100), np.arange(100.0)
    assert np.array_equal(seen(count, ms)[1], ms)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_range_file_is_right(path):
    for sequence in plan.load(path, STUDY).sequence:
        assert Path(sequence.fom).is_file()


@pytest.mark.parametrize(
    ("name", "minutes"),
    [("ten", 23), ("hour", 62), ("sizes", 15), ("settings", 15), ("hosts", 18), ("federates", 6),
     ("demo", 2)],
)  # fmt: skip
def test_how_long_a_file_takes_is_told(name, minutes):
    """In the Makefile and in the file: what it measures, and what is around it."""
    (path,) = (p for p in SHIPPED if p.name == f"{name}.tsf.toml")
    every = [e for s in plan.load(path, STUDY).sequence for e in s.execution]
    took = sum(durations.seconds(STUDY, e) + durations.EXECUTION_S for e in every) / 60
    assert took <= minutes < took + 1.5
    head = path.read_text().partition("include")[0].replace("\n#", "")
    about = re.search(r"About (\d+) minutes", head)
    assert about is None or int(about[1]) == minutes
    if name != "demo":
        text = (BENCH.parent / "Makefile").read_text().replace("\n#", "")
        (told,) = re.findall(r"All want an idle machine: (.*)", text)
        assert re.search(rf"{name} [a-z ]*{minutes}\b", told), told


def test_every_plot_of_the_source_has_a_test_that_gives_it():
    """Sizes and settings that the table names are among what is shipped."""
    table = tomllib.loads(TABLES[0].read_text())
    tests = [
        planned for path in SHIPPED for planned in flows(path) if planned["adapter"] not in RAW
    ]
    assert len(table["figure"]) == 5
    for kind in ("figure", "value", "flow"):
        for one in table[kind]:
            assert any(
                all(named.value(t, k) == v for k, v in one["where"].items()) for t in tests
            ), one["name"]


def flows(path: Path) -> list[dict]:
    """A flow of each test of a file, as a summary has it, and what else its setting is."""
    return [
        named.placed(
            {"sequence": s.name, "execution": e.name, "adapter": s.rti.adapter, "sender": "a",
             "receiver": "b", "bundling": s.bundling, "setting": test.model_dump(),
             **{k: getattr(test, k) for k in ("federates", "bytes", "hz", "transport", "tick_hz",
                                              "scheduling")},
             "env": s.rti.env, "fom": s.fom, "place": s.rtiexec_host}
        )
        for s in plan.load(path, STUDY).sequence for e in s.execution for test in e.tests()
    ]  # fmt: skip


# What a comparison's tests may differ in beside what its sides say: it is what that stands for.
STANDS_FOR = {
    "bundles of 5 ms": {"STARLING_BUNDLE_AGE_US", "STARLING_BUNDLE_IDLE_US"},
    "bundles of 5 ms, polled": {"STARLING_BUNDLE_AGE_US", "STARLING_BUNDLE_IDLE_US"},
    "MOM": {"STARLING_SERVICES_MOM"}, "path": {"STARLING_TRANSPORT_SHARED_MEMORY"},
    "advisories": {"fom"}, "rtiexec's place": {"place"},
}  # fmt: skip
TABLES = [BENCH / "starling_bench/studies/range" / f"{name}.toml"
          for name in ("source", "comparisons")]  # fmt: skip
COMPARED = tomllib.loads(TABLES[1].read_text())


@pytest.mark.parametrize("one", COMPARED["compare"], ids=lambda one: one["name"])
def test_what_is_compared_was_run_several_times_and_differs_in_one_thing(one):
    """Repeats of a setting are to and fro; whatever else differs is what the sides stand for."""
    found = [both for path in SHIPPED for both in named.pairs(one, flows(path), figures.ALIKE)]
    assert found
    for both in found:
        if both[0][0]["base"] in ("settings", "rtiexec-at-a", "advisories"):
            assert min(map(len, both)) >= 4
        wholes = []
        for s in (s for side in both for s in side):
            test = {k: v for k, v in s["setting"].items() if k not in ("rti", "bundling")}
            wholes.append(test | s["env"] | {k: s[k] for k in ("fom", "place", "bundling",
                                                               "adapter", "part")})  # fmt: skip
        differ = {k for w in wholes for k in w if len({str(o.get(k)) for o in wholes}) > 1}
        first, second = one["sides"]
        sides = {field for field in first if first[field] != second[field]} - {"table", "base"}
        assert differ == sides | STANDS_FOR.get(one["name"], set())


def test_a_setting_is_compared_with_the_one_it_is_named_against():
    """Bundles of 5 ms with none, not with the usual ones; bundling on with bundling off; where the
    RTI's thread delivers with what it delivers, too."""
    (path,) = (p for p in SHIPPED if p.name == "settings.tsf.toml")
    by = {one["name"]: named.pairs(one, flows(path), figures.ALIKE) for one in COMPARED["compare"]}
    for name in ("bundling", "bundles of 5 ms", "bundles of 5 ms, polled"):
        ((without, with_it),) = by[name]
        assert not any(s["bundling"] for s in without) and all(s["bundling"] for s in with_it)
        threaded = {s["setting"]["threaded"] for s in (*without, *with_it)}
        assert threaded == {name == "bundles of 5 ms"}
        assert {s["table"] == "starling-5ms" for s in with_it} == {name != "bundling"}
    ((polled, _),) = by["callbacks"]
    assert {s["table"] for s in polled} == {"starling-without-mom"}
    assert by["rtiexec's place"] == []


def test_bundles_that_an_evoke_ends_are_said_not_to_be_of_5_ms(monkeypatch):
    """In every table, every figure and before them all; not where the RTI's thread delivers, and
    they wait."""
    (path,) = (p for p in SHIPPED if p.name == "settings.tsf.toml")
    every = [named.marked(s, COMPARED["unlike"]) for s in flows(path)]
    of_5_ms = [s for s in every if s["table"] == "starling-5ms"]
    assert {(s["setting"]["threaded"], bool(s["unlike"])) for s in of_5_ms} == {
        (True, False), (False, True)}  # fmt: skip
    assert not any(s["unlike"] for s in every if s not in of_5_ms)
    (bundling,) = (v for v in rows.VARIABLES.every if v.title == "bundling")
    monkeypatch.setattr(figures, "_facts", lambda *_: {})
    for s in of_5_ms:
        words = [rows.label(s), bundling.said(s), *figures._notices(None, [s | HELD])]
        assert all(("not what its name says" in said) == bool(s["unlike"]) for said in words)
        assert len(words) == 2 + bool(s["unlike"])


def test_records_that_nobody_of_a_test_can_have_sent_are_said(monkeypatch):
    s = flows(SHIPPED[0])[0] | HELD | {"sender": "f1", "test": 1, "unlike": ""}
    told = {"foreign": 2, "heard": {"f2": {"beyond": 3}, "f3": {"beyond": 0}}}
    monkeypatch.setattr(figures, "_facts", lambda *_: told)
    (said,) = figures._notices(None, [s])
    assert "&#x27;f1&#x27; heard 5 records in test 1 that nobody who takes part can have" in said
    monkeypatch.setattr(figures, "_facts", lambda *_: {"foreign": 0})
    assert figures._notices(None, [s]) == []


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_best_effort_is_by_datagrams_and_reliable_data_is_not(path):
    """On one host only where that is asked for; between hosts it goes so by itself."""
    for flow in flows(path):
        lossy = flow["adapter"] in ("udp", "multicast") or flow["place"] != "localhost"
        asked = flow["env"].get("STARLING_TRANSPORT_BEST_EFFORT") == "datagrams"
        if flow["transport"] == "best_effort":
            assert lossy or (asked and flow["env"]["STARLING_TRANSPORT_SHARED_MEMORY"] == "off")
        else:
            assert flow["adapter"] not in ("udp", "multicast")


HELD = {"held": "yes", "clock": "same", "rti": "Starling"}


def flow_of(name: str, most: float, **more) -> dict:
    sender, receiver = name
    return {"federates": 3, "bytes": 2048, "hz": 60.0, "transport": "reliable", "tick_hz": 500,
            "scheduling": "realtime", "setting": {"threaded": False}, "base": "s", "part": "e",
            "table": "starling", "rti": "Starling", "bundling": False, "sender": sender,
            "receiver": receiver, "max_ms": most, **more}  # fmt: skip


def test_the_flow_with_the_longest_delivery_is_drawn_beside_the_first():
    flows = [flow_of("ab", 1), flow_of("ba", 2), flow_of("ca", 900), flow_of("cb", 3)]
    others = [flow_of("ab", 9, table="tcp"), flow_of("ba", 2, table="tcp")]
    unlike = [flow_of("ab", 9, bytes=1024)]
    drawn = [[(s["table"], s["sender"] + s["receiver"]) for s in group]
             for group in groups([*flows, *others, *unlike], figures.KIND, figures.ON)]  # fmt: skip
    assert drawn == [
        [("starling", "ab"), ("starling", "ca"), ("tcp", "ab")], [("starling", "ab")],
    ]  # fmt: skip


def test_best_effort_that_cannot_be_lost_is_said_so_wherever_it_is_named():
    flow = {"sequence": "s.x", "execution": "e", "test": 1, "receiver": "f1", "bytes": 1024,
            "hz": 10.0, "transport": "best_effort", "lost": 0, "elements_missed": 0, "dropped": 0,
            "way_reliable": True}  # fmt: skip
    wrong = "not what its name says: by a reliable link"
    assert wrong in rows.label(flow)
    (title,) = (v for v in rows.VARIABLES.every if v.title == "transport")
    assert wrong in title.text(title.value(flow))
    assert STUDY.shortfall([flow]) == "best effort of s.x went by reliable links"
    for other in (flow | {"way_reliable": False}, flow | {"transport": "reliable"}):
        assert wrong not in rows.label(other) and STUDY.shortfall([other]) == ""
    both = STUDY.shortfall([flow, flow | {"transport": "reliable", "lost": 2}])
    assert both == "2 reliable messages were lost; best effort of s.x went by reliable links"


def test_a_reader_that_missed_elements_has_missed_them_once():
    """It says how many beside every flow to it."""
    flow = {"sequence": "s", "execution": "e", "test": 1, "transport": "reliable", "lost": 0,
            "dropped": 0, "way_reliable": True}  # fmt: skip
    pairs = [(one, other) for one in range(10) for other in range(10) if one != other]
    summaries = [flow | {"receiver": b, "elements_missed": int(b == 3)} for _, b in pairs]
    assert STUDY.shortfall(summaries) == "1 elements or samples were missed by the reader"
    again = [s | {"test": 2, "dropped": int(n == 0)} for n, s in enumerate(summaries)]
    assert STUDY.shortfall([*summaries, *again])[:2] == "3 "


@pytest.mark.parametrize(
    ("bound", "said"),
    [(0.0, "5.123 to 5.123 ms"), (0.03, "5.1 to 5.1 ms"), (5.0, "10 to 10 ms")],
)
def test_beside_the_source_no_digit_is_below_the_clocks_bound(bound, said):
    table = named.Source(
        TABLES, lambda s: FLOWS[s["part"], bound], rows.label, lambda s: "Starling",
        figures.ALIKE, figures.ON,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    ms = rng.normal(5.123, 0.01, 2000)
    FLOWS.update({(part, bound): Flow(np.arange(2000), ms, np.arange(2000.0), bound)
                  for part in ("one", "again")})  # fmt: skip
    every = [flow_of("ab", 6, part=part, bound_ms=bound, way_reliable=True,
                     **dict.fromkeys(("min_ms", "p50_ms", "ping_ms", "lrc_ms"), 5.1234))
             for part in ("one", "again")]  # fmt: skip
    values = {name: here for name, _, here in table._values(every)}
    assert values["shortest delivery, bundling off"] == said
    ((_, _, result),) = [r for r in table._compared(every) if r[0] == "the same again" and r[1]]
    alike = "the same again is as good as a setting"
    assert (alike in result) == (bound < 0.1), result
    assert bound < 1 or "+0 ms (90 % interval -20 to +20)" in result


FLOWS: dict[tuple[str, float], Flow] = {}
