"""What the FOM cost study makes of samples: intervals, regression, recommendation."""

import re
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from starling_bench.captured import capture
from starling_bench.errors import BenchError
from starling_bench.reports import charts
from starling_bench.statistics.estimates import Estimate, fit, more
from starling_bench.studies.fomcost import STUDY, analysis, figures, rows
from starling_bench.studies.fomcost.fields import COMBINED, MODES
from starling_bench.values.choice import Evidence, overall, recommend
from starling_bench.values.own_class import arguments, side_by_side
from starling_bench.values.source import Ease, ease

SEVERAL = (100.0, Ease(30, 70, 1)), "on the wire"
EASY, HARD = Ease(5, 40, 1), Ease(40, 200, 2)


def summary(layout: str, series: str, parts: int, mode: str, fields: int, size: int, us) -> dict:
    return {
        "sequence": "s", "kind": "object", "transport": "reliable", "layout": layout, "wire": None,
        "series": series, "attributes": parts, "mode": mode, "fields": fields, "messages": 1,
        **dict.fromkeys(("bytes", "bytes_p50", "bytes_min", "bytes_max", "length"), size),
        "us": list(us), "instructions": [], "setting": {},
    }  # fmt: skip


def made(
    attribute: float, byte: float, noise: float, seed: int = 1, rounds: int = 5, own: float = 0.0
) -> list[dict]:
    """A run in which a call costs so much, with a drift that all tests of a round share; each
    layout costs up to `own` more, whatever it has."""
    r = np.random.default_rng(seed)
    drift = r.uniform(0, 3, rounds)
    levels = {"multiple": 0.0, "fixed": own, "variant": own / 2}

    def us(fields: int, size: int, layout: str = ""):
        exact = 10 + attribute * (fields - 1) + byte * (size - 28) + levels.get(layout, 0.0)
        return exact + drift + r.normal(0, noise, rounds)

    found = []
    for n in range(1, 6):
        found.append(summary("multiple", "attributes", n, "static", n, 12 + 12 * n,
                             us(n, 12 + 12 * n)))  # fmt: skip
        for layout in ("fixed", "variant"):
            size = 16 + 12 * n
            calls = us(1, size, layout)
            found.append(summary(layout, "attributes", n, "static", 1, size, calls))
    for mode in MODES:
        fields = 5 if mode[:2] == "RV" else 2 if mode == "static" else 3 if mode[:2] == "FP" else 4
        found.append(summary("multiple", "modes", 1, mode, fields, 12 + 12 * fields,
                             us(fields, 12 + 12 * fields)))  # fmt: skip
        for layout in COMBINED:
            size = 76 if layout == "fixed" else 16 + 12 * fields
            found.append(summary(layout, "modes", 1, mode, 1, size, us(1, size)))
    return found


@pytest.mark.parametrize("attribute, byte", [(0.7, 0.0), (0.0, 0.01), (0.5, 0.02)])
def test_cost_per_attribute_and_per_byte_are_told_apart(attribute, byte):
    """Over many made runs the intervals hold the truth about as often as they say."""
    held = np.zeros(2)
    runs = 60
    for seed in range(runs):
        _, found = analysis.costs(made(attribute, byte, 0.2, seed))
        for n, truth in enumerate((attribute, byte)):
            held[n] += found.slopes[n].low <= truth <= found.slopes[n].high
    # 95 %: of 60, at least 51 with all but a thousandth.
    assert (held >= 51).all(), held
    assert len(found.residuals) == 15 and max(map(abs, found.residuals)) < 1


def test_drift_that_all_tests_share_does_not_count():
    _, found = analysis.costs(made(0.5, 0.01, 1e-9))
    assert found.slopes[0].value == pytest.approx(0.5) and found.slopes[0].width < 1e-6
    assert found.slopes[1].value == pytest.approx(0.01)
    share = found.percent(analysis.TWELVE)
    assert share.value == pytest.approx(100 * (0.5 + 0.12) / found.base)


def test_what_a_layouts_own_class_takes_is_no_cost_of_an_attribute():
    """30 ns that are a class's own beside 80 of an attribute."""
    _, found = analysis.costs(made(0.08, 0.0005, 0.003, own=0.03))
    assert found.slopes[0].low <= 0.08 <= found.slopes[0].high
    assert found.percent(analysis.TWELVE).width <= analysis.WIDTH_MAX


def test_a_cost_that_is_known_badly_is_said_to_be():
    lines = "\n".join(analysis.sentences(made(0.5, 0.01, 1.0, seed=3)))
    _, found = analysis.costs(made(0.5, 0.01, 1.0, seed=3))
    assert found.percent(analysis.TWELVE).width > analysis.WIDTH_MAX
    said = lines.split("\n")
    at = next(
        n for n, line in enumerate(said) if "the interval of an attribute of 12 bytes" in line
    )
    assert "wider than 15%" in said[at] and "12 bytes more costs" in said[at - 1]


def test_no_cost_of_twelve_bytes_is_called_so():
    """Not that they cost what the interval does not tell from nothing."""
    steps = [(n, 12 * n) for n in range(5)] + [(0, 12 * n) for n in range(1, 5)]
    draw = np.random.default_rng(5)
    found = fit(steps, [list(10 + draw.normal(0, 1, 3)) for _ in steps])
    assert not found.percent((1, 12)).known
    (said,) = found.share((1, 12), "an attribute of 12 bytes", "of an update of one")
    assert said.startswith("no cost of an attribute of 12 bytes more is found: ")
    known = fit(steps, [list(10 + 2 * n + draw.normal(0, 0.01, 3)) for n, _ in steps])
    (said,) = known.share((1, 12), "an attribute of 12 bytes", "of an update of one")
    assert said.startswith("an attribute of 12 bytes more costs 20")
    assert "the interval of" not in "\n".join(analysis.sentences(made(0.5, 0.01, 1e-9)))


def test_of_a_line_that_begins_below_nothing_no_share_is_told():
    steps = [(n, 12 * n) for n in range(5)] + [(0, 12 * n) for n in range(1, 5)]
    found = fit(steps, [[-10.0 + n + 0.1 * (n % 2), -10.1 + n] for n, _ in steps])
    assert found.base < 0 and found.percent(analysis.TWELVE) is None
    (said,) = found.share((1, 12), "an attribute", "of an update")
    assert said.startswith("what an attribute more costs of an update can't be told")


def test_numbers_are_written_out():
    assert Estimate(1377.6, 1150.2, 1605.0).text(" us") == "1,378 us (1,150 to 1,605)"
    assert Estimate(0.01234, -0.5, 12.345).text() == "0.0123 (-0.5 to 12.3)"
    assert Estimate(12345.6).text() == "12,346 (no interval: one sample)"
    assert Estimate(253.0, 253.0, 253.0).text(" %") == "253 % (in every round)"


def test_of_a_class_of_ones_own_nothing_is_said_of_the_sources_attributes():
    """Twelve bytes, and an update of one, are the source's."""
    mine = [
        summary(layout, "own", n, "", n if layout == "own" else 1, 20 * n, us)
        for n in range(1, 5)
        for layout in ("own", "combined")
        for us in ([10 + n + d for d in (0, 3, 0.5)] if layout == "own" else [10, 10.5, 11],)
    ]
    lines = "\n".join(analysis.sentences(mine))
    assert "each attribute more costs" in lines and "of a call than one of as many bytes" in lines
    assert "published" not in lines and "12 bytes" not in lines


def test_no_difference_is_called_so():
    lines = "\n".join(analysis.sentences(made(0.0, 0.0, 0.3)))
    assert "no cost of a further attribute is found" in lines
    assert "no cost of a further byte is found" in lines
    assert "Recommendation: several attributes" in lines


def test_tests_that_can_not_tell_attributes_from_bytes_have_no_fit():
    only = [s for s in made(0.5, 0.01, 0.1) if s["layout"] == "multiple"]
    assert analysis.costs([s for s in only if s["series"] == "attributes"]) is None
    assert fit([], []) is None
    assert fit([(1.0,), (2.0,)], [[1.0], [2.0]]) is None  # nothing is left for an error


def test_penalty_by_mode():
    run = made(1.0, 0.0, 1e-9)
    for mode, extra in (("static", 1), ("FPW", 2), ("RPB", 3), ("FVW", 3), ("RVW", 4)):
        found = analysis.penalty(run, "fixed", [mode])
        calls = [s["us"] for s in run if s["series"] == "modes" and s["mode"] == mode
                 and s["layout"] == "fixed"]  # fmt: skip
        expected = np.exp(np.log1p(extra / np.array(calls[0])).mean()) - 1
        assert found.value == pytest.approx(100 * expected)
    assert analysis.penalty(run[:3], "fixed", list(MODES)) is None


def test_the_sources_lines_have_its_numbers():
    """Of one attribute they are ours; by mode several attributes cost more than one."""
    several = [(n, 10.0 + n, None, None) for n in range(1, 8)]

    def added(
        name: str, ours: dict, captured: bool = False, **little: set
    ) -> dict[str, list[float]]:
        names = figures._published(name, ours, little, captured)
        assert set(ours) == {"multiple", "fixed", *names}
        return {line: [p[1] for p in ours[line]] for line in names}

    calls = added("attributes", {"multiple": list(several), "fixed": []})
    assert calls["published, one RTI"] == pytest.approx([11, 11.825, 12.65, 13.475, 14.3])
    assert calls["published, another"][-1] == pytest.approx(11 * 1.26)
    wire = added("attributes", {"multiple": list(several), "fixed": []}, captured=True)
    assert wire == {"published, 8 bytes beside each": [11, 31, 51, 71, 91],
                    "published, 4 bytes beside each": [11, 27, 43, 59, 75]}  # fmt: skip
    modes = {"multiple": [], "fixed": [(mode, 100.0, 99.0, 101.0) for mode in MODES]}
    assert added("modes", dict(modes), captured=True) == {}
    (line,) = added("modes", modes).values()
    assert line == pytest.approx([107.5, 115, 122.5, 130, 122.5, 115, 122.5, 130, 122.5])
    # What other programs disturbed is no beginning.
    modes = {"multiple": [], "fixed": [(mode, 100.0, 99.0, 101.0) for mode in MODES]}
    (line,) = added("modes", modes, fixed={MODES[0]}).values()
    assert line == pytest.approx([115, 122.5, 130, 122.5, 115, 122.5, 130, 122.5])
    assert added("attributes", {"multiple": several, "fixed": []}, multiple={1}) == {}
    # Nothing of ours to begin at, or a class of somebody's own.
    assert added("attributes", {"multiple": several[1:], "fixed": []}) == {}
    assert added("own", {"multiple": list(several), "fixed": []}) == {}


@pytest.mark.parametrize(("dropped", "said"), [(0, "0"), (7, "7"), (None, "not known")])
def test_packets_that_a_capture_missed_stand_beside_what_it_saw(dropped, said):
    seen = {f.name: 1 for f in fields(capture.Wire)} | {"unknown": 0, "dropped": dropped}
    size = dict.fromkeys(("bytes", "bytes_min", "bytes_max"), 64)
    table = charts.wire_table(("test",), [(("1",), {**size, "messages": 1, "wire": seen})])
    head, row = (re.findall("<t[hd][^>]*>([^<]*)<", line) for line in table.split("<tr>")[1:])
    assert dict(zip(head, row, strict=True))["missed"] == said


def test_what_was_counted_stands_in_the_table_of_every_test():
    """Its times, which the counting makes longer, do not."""
    values = {key: {"mean": 8765.0 if "instr" in key else 4321.0} for key in rows.FIGURES}
    one = summary("fixed", "attributes", 1, "static", 1, 28, [1.0]) | values
    one |= {
        "instructions": [8765],
        "sent": 9,
        "lost": 0,
        "waited": 0,
        "rti": "unix",
        "execution": "e",
    }
    told = "".join(figures._every(SimpleNamespace(study=STUDY), [one]))
    assert told.count("8,765") == 3 and "4,321" not in told


def test_percent_more_with_its_interval():
    found = more([[11.0, 22.0, 33.0]], [[10.0, 20.0, 30.0]])
    assert found.value == pytest.approx(10) and found.low == pytest.approx(10)
    assert more([[11.0]], [[10.0]]) == Estimate(pytest.approx(10), None, None)
    assert more([[]], [[1.0]]) is None
    assert not more([[1.0, 3.0, 2.0]], [[2.0, 1.0, 3.0]]).known
    # Of one round like tests tell how far it varies.
    found = more([[11.0], [22.0], [33.3]], [[10.0], [20.0], [30.0]])
    assert found.known and found.low < 10 < found.value < 11 < found.high
    assert not more([[1.1], [0.9], [1.0]], [[1.0]] * 3).known


def test_counted_instructions_recommend_a_layout_too():
    """Of each test the least of its counts is one value, and the modes are several."""
    counted = [
        s | {"instructions": [round(100 * value) + 300, round(100 * value)]}
        for s in made(2, 0, 0.01, rounds=1) for value in s["us"][:1]
    ]  # fmt: skip
    said = "\n".join(analysis.sentences(counted))
    assert "Recommendation: one attribute, " in said and "no difference" not in said
    assert "five attributes cost " in said


def of(saves: float, half: float, size: float, one: Ease) -> Evidence:
    return Evidence(Estimate(saves, saves - half, saves + half), size, one)


def test_the_fixed_form_wins_where_bytes_do_not_matter():
    found = {"fixed": of(20, 2, 100, EASY), "variant": of(21, 2, 95, HARD)}
    said = recommend(found, *SEVERAL).said
    assert "Recommendation: one attribute, fixed." in said[-1]
    assert "variant is as good, but more to write" in said[0]


def test_a_second_form_in_memory_is_more_than_a_shorter_codec():
    two = Ease(EASY.branches - 1, EASY.lines - 1, 2)
    found = {"variant": of(21, 2, 95, two), "fixed": of(20, 2, 100, EASY)}
    said = recommend(found, *SEVERAL).said
    assert said[0].endswith("more to write: 4 branches in 39 lines and 2 forms in memory")
    assert "one attribute, fixed. " in said[-1]
    assert "its codec has 5 branches in 40 lines and 1 form in memory, that of" in said[-1]


def test_the_fixed_form_loses_where_it_is_slower():
    found = {"fixed": of(8, 2, 100, EASY), "variant": of(21, 2, 95, HARD)}
    said = recommend(found, *SEVERAL).said
    assert said[0].startswith("fixed is slower than variant")
    assert "one attribute, variant." in said[-1]


def test_the_fixed_form_loses_where_its_bytes_are_many():
    found = {"fixed": of(20, 2, 160, EASY), "variant": of(21, 2, 95, HARD)}
    said = recommend(found, *SEVERAL).said
    assert "fixed has 68 % more bytes on the wire than the shortest" in said[0]
    assert "one attribute, variant." in said[-1]


def test_several_attributes_win_where_no_single_one_is_known_to_be_faster():
    found = {"fixed": of(-10, 2, 100, EASY), "variant": of(1, 3, 95, HARD)}
    said = recommend(found, *SEVERAL).said
    assert said[0].startswith("several attributes are faster than fixed")
    assert said[1].startswith("variant: no difference found")
    assert said[-1].startswith("Recommendation: several attributes.")


def test_over_all_ways_it_is_what_most_recommend_by_each_figure():
    """A layout is counted as worse only where that is known."""
    easy = recommend({"fixed": of(20, 2, 100, EASY), "variant": of(21, 2, 95, HARD)}, *SEVERAL)
    open_ = recommend({"fixed": of(1, 3, 100, EASY), "variant": of(2, 3, 95, HARD)}, *SEVERAL)
    short = recommend({"fixed": of(20, 2, 160, EASY), "variant": of(21, 2, 95, HARD)}, *SEVERAL)
    lame = recommend({"fixed": of(-9, 2, 9, EASY), "variant": of(1, 3, 9, HARD)}, *SEVERAL)
    # It is no different from several attributes, but surely slower than the best.
    none = recommend({"fixed": of(0, 1, 100, EASY), "variant": of(20, 2, 95, HARD)}, *SEVERAL)
    found = [(c.layout, c.worse) for c in (easy, open_, short, lame, none)]
    assert found == [
        ("fixed", {"several attributes"}), ("several attributes", set()),
        ("variant", {"several attributes", "fixed"}), ("several attributes", {"fixed"}),
        ("variant", {"several attributes", "fixed"}),
    ]  # fmt: skip
    unknown = recommend({"fixed": None}, *SEVERAL)
    ways = [("times", c) for c in (open_, lame, easy, unknown)] + [("instructions", short)]
    assert overall(ways) == [
        "Recommendation over 3 of 4 ways, by times: several attributes. Recommended are several "
        "attributes in 2 (known to be worse in 1), fixed in 1 (known to be worse in 1)"
    ]
    (tie,) = overall([("times", easy), ("times", short)])
    assert tie.startswith("Recommendation over 2 ways, by times: fixed or variant. ")


def test_what_a_layout_costs_that_was_disturbed_is_not_passed_over_in_silence():
    found = made(0.7, 0.0, 0.05)
    busy = {"busy": 5, "samples": 5}
    (one,) = [
        s for s in found if (s["layout"], s["series"], s["mode"]) == ("fixed", "modes", "RPW")
    ]
    one |= busy
    said = analysis.sentences(found)
    assert any("fixed: not judged, as not each mode" in line for line in said)
    assert any("Recommendation: one attribute, " in line for line in said)
    for s in found:
        if s["layout"] == "multiple" and s["series"] == "modes":
            s |= busy
    said = "\n".join(analysis.sentences(found))
    assert f"{', '.join(COMBINED)}: not judged" in said and "Recommendation" not in said


def test_five_attributes_are_beside_one_that_has_as_much():
    """In time, as was published; of layouts that were left alone."""
    said = "\n".join(analysis.sentences(made(1.0, 0.0, 1e-9)))
    # 4 more of a call that takes 10 to 13.
    (cost,) = re.findall(r"five attributes cost (\d+).* more of a call than one, fixed", said)
    assert 30 <= int(cost) <= 40 and "than one, variant (published: 25 to 30 %)" in said
    none = "\n".join(analysis.sentences(made(0.0, 0.0, 0.5)))
    assert "five attributes and one, fixed: no difference of a call: " in none
    busy = [s | {"busy": 5, "samples": 5} if s["layout"] == "multiple" else s
            for s in made(1.0, 0.0, 1e-9)]  # fmt: skip
    assert "five attributes" not in "\n".join(analysis.sentences(busy))


def test_bytes_are_those_on_the_wire_only_if_all_were_seen_there():
    """In each mode of each layout that is judged; else of values, and said so."""
    found = made(0.7, 0.0, 0.05)
    seen = [s | {"wire": {}, "length": s["length"] + 40} for s in found if s["series"] == "modes"]
    seen = [s | {"wire": {"bytes": 1}} for s in seen]
    for captured, of in (
        (seen, "on the wire"),
        (found, "of values"),
        ([s for s in seen if s["layout"] != "multiple"], "of values"),
        ([s for s in seen if (s["layout"], s["mode"]) != ("fixed", "RPW")], "of values"),
    ):
        layouts, (several, _), told = analysis.evidence(found, captured)
        assert (told, set(layouts)) == (of, set(COMBINED))
        more = 40 if of == "on the wire" else 0
        assert (layouts["fixed"].bytes, several > 50 + more) == (76 + more, True)
    few = [s for s in found if (s["layout"], s["mode"]) != ("fixed", "RPW")]
    assert analysis.evidence(few, seen)[0]["fixed"] is None  # not judged, and said to be


def test_a_sample_that_is_missing_shifts_no_rounds():
    """Drift of rounds costs nothing: also where one test lacks its second sample."""
    calls = [10.0, 20.0, 40.0, 80.0, 160.0]
    gap = [calls[0], None, *calls[2:]]
    assert more([gap], [calls]).text(" %") == more([calls], [calls]).text(" %")
    whole = made(0.5, 0.02, 0.0)
    exact = [s.value for s in analysis.costs(whole)[1].slopes]
    whole[3]["us"][1] = None
    assert [s.value for s in analysis.costs(whole)[1].slopes] == pytest.approx(exact)
    of = {"sent": 1, "received": 1}
    of_two = [dict.fromkeys((*rows._KEYS, *rows._SIZES, *rows._COUNTS, *rows.FIGURES), 1.0) | of
             | {"sample": n, "call_p50_us": float(n), "call_instructions": None}
             for n in (3, 1)]  # fmt: skip
    assert rows.summarize(of_two)["us"] == [1.0, None, 3.0]


def test_the_recommendation_of_a_whole_run_follows_its_data():
    cheap = analysis.sentences(made(0.7, 0.0, 0.05))
    assert any("Recommendation: one attribute" in line for line in cheap)
    dear = analysis.sentences(made(-0.7, 0.0, 0.05))
    assert any("Recommendation: several attributes" in line for line in dear)


def test_of_a_class_of_ones_own_rate_and_cost_are_told():
    mine = [
        summary("own", "own", 4, "", 4, 60, [12.0, 12.0, 12.0]),
        summary("combined", "own", 4, "", 1, 60, [10.0, 10.0, 10.0]),
    ]
    mine[0]["setting"] = {"rate_hz": 1000.0}
    mine[0]["call_mean_us"] = {"mean": 12.5}
    said = side_by_side(mine, analysis.measured(mine))
    assert said[0].startswith("its 4 values of 60 bytes cost 20 % (in every round) more of a call")
    # Turned round it is less, and what the interval does not tell from nothing is neither.
    (less, *_) = side_by_side([mine[0] | {"us": [8.0] * 3}, mine[1] | {"us": [10.0] * 3}], "us")
    assert less.startswith(
        "its 4 values of 60 bytes cost 20 % (in every round) less of a call than"
    )
    (open_, *_) = side_by_side([mine[0] | {"us": [8.0, 10.0, 12.1]}, mine[1]], "us")
    assert "cost as much of a call as one of as many bytes, as far as can be told: " in open_
    assert said[1] == ("at 1000 updates/s the calls take 1.2 % of a CPU, the values 60 kB/s")


def test_bytes_of_calls_that_differ_are_their_mean_with_their_range():
    """Of all calls that were measured, not of the first."""
    mine = [
        summary("own", "own", 4, "", 4, 81, [12.0, 12.0, 12.0]),
        summary("combined", "own", 4, "", 1, 81, [10.0, 10.0, 10.0]),
    ]
    for one in mine:
        one |= {"bytes": 46.59375, "bytes_p50": 45, "bytes_min": 26, "bytes_max": 81}
    mine[0] |= {"setting": {"rate_hz": 60.0}, "call_mean_us": {"mean": 12.5}}
    said = side_by_side(mine, "us")
    assert said[0].startswith("its 4 values of 46.6 bytes (26 to 81) cost 20 % ")
    assert said[1].endswith("the values 2.8 kB/s")
    # One value of as many bytes as another: nothing to compare.
    mine[0]["fields"] = 1
    assert side_by_side(mine, "us") == said[1:]


@pytest.mark.parametrize("unit", ["us", "instructions"])
def test_a_byte_costs_what_calls_of_that_many_take(unit):
    """Of times the median of a sample's calls is compared, of instructions their mean."""
    run = made(0.5, 0.02, 1e-9)
    for n, s in enumerate(run):
        # Beside the sizes that cost something others, as those have that are no first update's.
        right, wrong = ("bytes_p50", "bytes") if unit == "us" else ("bytes", "bytes_p50")
        s |= {right: s["bytes"], wrong: s["bytes"] + 17 * n % 50, "length": s["bytes"]}
        s |= {"instructions": s["us"] if unit == "instructions" else []}
    _, found = analysis.costs(run)
    assert found.slopes[1].value == pytest.approx(0.02)


def test_what_a_second_message_takes_is_no_cost_of_an_attribute():
    """Of attributes with both transportations it is said, and no cost of one is made of it."""
    both = [
        summary("own", "own", 4, mode, 4, size, [20.0, 20.1, 20.2]) for mode, size in
        (("Idle", 43), ("Sail", 48), ("Sink", 47))
    ] + [
        summary("combined", "own", 4, mode, 1, size, [10.0, 10.1, 10.2]) for mode, size in
        (("Idle", 43), ("Sail", 48), ("Sink", 47))
    ]  # fmt: skip
    assert analysis.costs(both) is not None
    for s in both:
        s |= {"messages": 1 + (s["layout"] == "own"), "transport": "both_transportations"}
    assert analysis.costs(both) is None
    said = analysis.sentences(both)
    assert len(said) == 3 and said[0].startswith(
        "s, object, both transportations: Idle: its 4 values of 43 bytes in 2 messages, as they "
        "have several transportations, cost "
    )
    assert said[0].endswith(" more of a call than a reliable one of as many bytes.")


@pytest.mark.parametrize("counted", [False, True])
def test_of_times_disturbed_tests_say_nothing(counted):
    """A layout's tests took ten times as long while others used the CPUs. What is counted hangs on
    no clock."""
    group = made(0.5, 0.01, 0.01)
    right = analysis.penalty(group, "fixed", list(MODES))
    wrong = [s | {"samples": 5, "busy": 3 * (s["mode"] == "RPW"), "unjudged": 0,
                  "us": [10 * v for v in s["us"]] if (s["mode"], s["layout"]) == ("RPW", "fixed")
                  else s["us"]} for s in group]  # fmt: skip
    if counted:
        wrong = [s | {"instructions": [round(100 * v) for v in s["us"]]} for s in wrong]
    said = "\n".join(analysis.sentences(wrong))
    told = "5 of 60 tests are left out of what is said of times, as they were disturbed"
    assert (told in said) == (not counted)
    both = [m for m in MODES if m != "RPW"]
    assert (analysis.penalty(wrong, "fixed", list(MODES)) is None) == (not counted)
    assert right and analysis.penalty(wrong, "fixed", both).value == pytest.approx(
        analysis.penalty(group, "fixed", both).value, rel=0.2
    )
    of = wrong[-1] | {"busy": 3, "call_instructions": {"mean": 1.0} if counted else None}
    assert bool(STUDY.doubt(of)) == (not counted)


def test_another_rtis_packets_are_not_drawn_as_starlings():
    """Nor by the same way in words, nor where nothing of Starling's was captured."""
    at = {"kind": "object", "transport": "reliable", "way": ""}
    timed = [at | {"sequence": f"time.{rti}", "rti": rti, "wire": None} for rti in "ab"]
    caught = [at | {"sequence": f"wire.{rti}", "rti": rti, "wire": {"bytes": 9}} for rti in "ab"]
    for own, theirs in zip(timed, caught, strict=True):
        assert capture.seen_alike([*timed, *caught], [own]) == [theirs]
        assert capture.seen_alike([*timed, theirs], [own]) == [theirs]
    assert capture.seen_alike([*timed, caught[1]], timed[:1]) == timed[:1]


def test_branches_and_lines_are_counted_without_comments(tmp_path):
    path = tmp_path / "x.cpp"
    path.write_text("// if for while\nint f(int x) {\n    if (x && 1) return x ? 1 : 2;\n\n}\n")
    assert ease(path) == Ease(3, 3, 1)


def test_what_else_a_process_does_is_no_part_of_counted_instructions():
    of = {"instructions": [1451.2, 1135.7], "us": [2.0, 1.0]}
    assert analysis.values(of, "instructions") == [1135.7]
    assert analysis.values(of, "us") == [2.0, 1.0]


def test_an_execution_has_values_of_one_file_and_one_seed():
    one = SimpleNamespace(values="", seed=3)
    assert arguments([one, one]) == ["--seed", "3"]
    assert arguments([one, SimpleNamespace(values="v.json", seed=3)]) == [
        "--values", "v.json", "--seed", "3"
    ]  # fmt: skip
    for other in (SimpleNamespace(values="", seed=4), SimpleNamespace(values="w.json", seed=3)):
        with pytest.raises(BenchError, match=r"tests of an execution differ in '(seed|values)'"):
            arguments([SimpleNamespace(values="v.json", seed=3), other])
