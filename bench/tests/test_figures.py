"""Figures of many lines: everything is within the picture, and no name covers a curve."""

import itertools
import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.transforms import Bbox
from test_short import sample

from starling_bench.kept.store import Store
from starling_bench.reports import charts, drawing, every_value
from starling_bench.reports.curves import LINES_MAX, curves, draw, left_out, looks
from starling_bench.studies.rtibm import STUDY, figures, rows
from starling_bench.variables import Variable, Variables


@pytest.mark.parametrize("lines", [2, 4, 5, 14, 30])
def test_names_of_lines_cover_no_curve(lines):
    figure, axes = plt.subplots()
    for index in range(lines):
        axes.plot([1, 2], [index * 1e6, 5e7], label=f"RTI {index}, OWOT reliable, m → s, e.{index}")
    axes.yaxis.set_major_formatter(drawing.PLAIN)
    drawing.legend(axes, lines)
    figure.canvas.draw()
    box = axes.get_legend().get_window_extent()
    curves = axes.get_window_extent()
    assert (Bbox.intersection(box, curves) is None) == (lines > 4)
    if lines > 4:
        # Below the axis' numbers, and no wider than the page has room.
        assert box.y1 < axes.xaxis.get_tightbbox().y0 and box.width <= 1.05 * figure.bbox.width
    plt.close(figure)


def test_names_that_begin_with_an_underscore_are_in_the_legend(tmp_path):
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    store.rows = [sample(f"_{n}", 1, 0.4, 0.5, 100_000) for n in range(6)]
    figures.write(store, store.summaries())
    drawn = "".join(path.read_text() for path in (store.directory / "figures").glob("*.svg"))
    assert all(f"_{n}, OWOT reliable" in drawn for n in range(6))
    store.close()


def test_samples_in_their_order_are_named_by_rti(tmp_path):
    """In whichever of its sequences they are."""
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    for n, (name, rti) in enumerate(itertools.product(("bytes", "types"), ("a", "b"))):
        tests = {"1": {"rti": rti}}
        store.begin(f"{name}.{rti}", "e", adapter=rti, tests=tests, pairs=1, state="done")
        store.rows += [sample(f"{name}.{rti}", n, 0.4, 0.5, 100_000)] * 2
    drawn = every_value.series(drawing.Page(store), "All", "Hz", store.with_settings(), rows.label)
    store.close()
    names = re.findall("<text[^>]*>([^<]*OWOT[^<]*)</text>", drawn)
    assert names == ["a, OWOT reliable", "b, OWOT reliable"]


def test_what_no_line_varies_has_no_figure():
    """Two sequences, each at a number of updates of its own: single points say nothing of it."""
    one = {"sequence": "a", "execution": "e", "kind": "OWOT", "transport": "reliable", "loop": 1,
           "sender": "m", "receiver": "s", "types": 1, "instances": 1, "buffers": 1,
           "bytes": 8, "updates": 100, "rti": ""}  # fmt: skip
    other = one | {"sequence": "b", "updates": 200}
    assert curves(rows.VARIABLES, [one, other]) == []
    (curve,) = curves(rows.VARIABLES, [one, other, one | {"updates": 300, "test": 2}])
    assert curve.variable.title == "updates"
    assert [[s["updates"] for s in line] for line in curve.lines.values()] == [[100, 300]]
    assert curve.single == (1, 1)
    said = left_out(curve)
    assert "1 series (1 tests) with one value of updates here each" in said


RTIS = ("starling", "fastest", "tcp")


def campaign(varied: dict[str, tuple], rtis: tuple[str, ...] = RTIS, **lists: tuple) -> list[dict]:
    """Tests of sequences "series.RTI", an execution for each variable that varies; `lists`: further
    fields, each value with each."""
    fields = {"kind": ("RTOL", "RTIL"), "transport": ("reliable",)} | lists
    usual = {"types": 1, "instances": 1, "buffers": 1, "bytes": 8, "updates": 100, "loop": 3}
    made = []
    for rti, (execution, values) in itertools.product(rtis, varied.items()):
        for value, *of in itertools.product(values, *fields.values()):
            adapter = "tcp" if rti == "tcp" else "starling"
            made.append(usual | dict(zip(fields, of, strict=True)) | {
                "sequence": f"series.{rti}", "sequence_of": "series", "execution": execution,
                "rti": f"RTI {adapter} 1", "adapter": adapter, "setting": {"rti": rti},
                "sender": "m", "receiver": "s", execution: value,
            })  # fmt: skip
    return made


def test_a_figure_has_the_series_of_its_variable_and_all_of_them():
    """And no other: those of the other executions are a point each there."""
    tests = campaign({"types": (1, 2, 4), "bytes": (8, 64), "instances": (1, 10, 100)})
    found = curves(rows.VARIABLES, tests)
    assert [c.variable.title for c in found] == ["types", "instances", "bytes"]
    for curve, points in zip(found, (3, 3, 2), strict=True):
        assert curve.part == "" and set(curve.lines) == {
            f"{rti}, {kind}" for rti in RTIS for kind in ("RTOL", "RTIL")
        }
        assert {s["execution"] for of in curve.lines.values() for s in of} == {curve.variable.title}
        assert all(len(of) == points for of in curve.lines.values())
        assert curve.single == (12, 12) and curve.fewer == (0, 0)
        # What is common is said once, in no name.
        assert "reliable" in curve.common and "m → s" in curve.common and "V3" in curve.common
        # Each test is drawn, or counted among those that are not.
        drawn = sum(map(len, curve.lines.values()))
        assert drawn + curve.single[1] + curve.elsewhere == len(tests)


def test_too_many_lines_are_several_figures_by_kind_then_by_transport():
    both = {"transport": ("reliable", "best_effort")}
    many = (*(f"rti {n}" for n in range(5)), "tcp")
    for rtis, parts in (
        (RTIS, [""]), (many, ["RTOL", "RTIL"]), ((*many, "x"), [
            f"{kind}, {way}" for kind in ("RTOL", "RTIL") for way in ("reliable", "best effort")]),
    ):  # fmt: skip
        tests = campaign({"bytes": (8, 64)}, rtis, **both)
        found = curves(rows.VARIABLES, tests)
        assert [c.part for c in found] == parts
        assert all(len(c.lines) <= LINES_MAX for c in found)
        # None is missing, none comes twice.
        drawn = [id(s) for c in found for of in c.lines.values() for s in of]
        assert sorted(drawn) == sorted(map(id, tests))


def test_of_very_many_rtis_each_figure_has_the_raw_limit():
    rtis = ("tcp", *(f"rti {n}" for n in range(30)))
    tests = campaign({"bytes": (8, 64)}, rtis, kind=("RTOL",))
    found = curves(rows.VARIABLES, tests)
    assert [c.part for c in found] == ["1 of 3", "2 of 3", "3 of 3"]
    assert all("tcp" in c.lines and len(c.lines) <= LINES_MAX for c in found)
    assert {name for c in found for name in c.lines} == set(rtis)


def test_where_there_are_too_many_the_variables_own_series_are_drawn():
    tests = campaign({"instances": (1, 10, 100)})
    more = campaign({"instances": (1, 100)}, transport=("reliable", "best_effort"))
    more = [s | {"sequence_of": "transport", "sequence": f"t.{s['sequence']}"} for s in more]
    (curve,) = curves(rows.VARIABLES, tests + more)
    assert len(curve.lines) == 6 and curve.fewer == (12, 24)
    assert all(len(of) == 3 for of in curve.lines.values())
    assert "12 series (24 tests) with fewer values of instances" in left_out(curve)
    # Where there is room they are drawn, too.
    few = [s for s in more if s["transport"] == "best_effort"]
    (curve,) = curves(rows.VARIABLES, tests + few)
    assert len(curve.lines) == 12 and curve.fewer == (0, 0)


def test_a_colour_is_an_rti_and_broken_lines_have_none():
    """In all figures of a page; no two lines of a figure look alike."""
    page = type("Page", (), {"rtis": {}, "store": type("Store", (), {"study": STUDY})})()
    colours: dict[str, set] = {}
    for tests in (campaign({"bytes": (8, 64)}), campaign({"types": (1, 2)}, RTIS[::-1])):
        for curve in curves(rows.VARIABLES, tests):
            found = looks(page, curve.lines.values())
            assert len({(look["color"], look["marker"]) for look in found}) == len(found)
            for (name, line), look in zip(curve.lines.items(), found, strict=True):
                colours.setdefault(line[0]["setting"]["rti"], set()).add(look["color"])
                assert look["marker"] == ("o" if "RTOL" in name else "s")
                assert (look["linestyle"] == "--") == ("tcp" in name)
    assert all(len(of) == 1 for of in colours.values())
    assert len(set.union(*colours.values())) == len(RTIS)
    # More RTIs than colours: the marker tells them apart.
    many = campaign({"bytes": (8, 64)}, tuple(f"rti {n}" for n in range(12)), kind=("RTOL",))
    (curve,) = curves(rows.VARIABLES, many)
    found = looks(page, curve.lines.values())
    assert len({(look["color"], look["marker"]) for look in found}) == 12


def test_the_names_of_a_figures_lines_are_short(tmp_path):
    """The plot outweighs them."""
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    given = {key: {"low": 1.0, "mean": 2.0, "high": 3.0} for key in ("rate_hz", "mb_per_s")}
    of = {"short": 0, "busy": 0, "samples": 5, "slept": 0} | given
    tests = [
        of | s
        for s in campaign(
            {"types": (1, 2, 4), "bytes": (8, 64), "instances": (1, 10)}, kind=("OWOT", "OWIT")
        )
    ]
    drawn = draw(drawing.Page(store), tests, (("Rate", "Hz", drawing.band("rate_hz")),))
    store.close()
    assert len(drawn) == 3
    for figure in drawn:
        texts = re.findall("<text.*?>(.*?)</text>", figure)
        names = [text for text in texts if re.match("(starling|fastest|tcp), OW", text)]
        assert len(names) == 6 and max(map(len, names)) <= 24
        assert sum("reliable" in text for text in texts) == 1  # below the title
        assert figure.count("line-") == 6
        assert "12 series (12 tests) with one value of" in figure


def test_figures_of_a_design_take_as_long_as_it_is_large():
    """Each test of a Latin hypercube has values of its own."""
    asked = []

    def look(tests: int) -> int:
        names = ("a", "b", "c")
        every = tuple(Variable(n, lambda s, n=n: asked.append(n) or s[n], axis=True) for n in names)
        asked.clear()
        curves(Variables(every, frozenset(), str), [dict.fromkeys(names, n) for n in range(tests)])
        return len(asked)

    assert look(1000) <= 10.1 * look(100)


def test_lines_that_a_page_names_look_alike_in_every_figure(tmp_path):
    """Whatever else a figure has, and in whatever order."""
    store = type("Store", (), {"directory": tmp_path})()
    page = drawing.Page(store, ("fixed", "variant"))
    assert list(page.styles(["other", "variant", "fixed", "more"])) == [
        (2, "other"), (1, "variant"), (0, "fixed"), (3, "more"),
    ]  # fmt: skip
    of = {name: [(1, 1.0, None, None), (2, 2.0, None, None)] for name in ("variant", "fixed")}
    both, alone = (charts.lines(page, "t", "x", "y", d) for d in (of, {"variant": of["variant"]}))
    colour = re.compile(r'id="f\d+_line-1">.*?(#[0-9a-f]{6})', re.S)
    assert colour.search(both)[1] == colour.search(alone)[1] == drawing.COLOURS[1]


def test_long_numbers_and_names_are_within_the_picture(tmp_path):
    class Page(drawing.Page):
        def __init__(self) -> None:
            self.count = 0
            self.store = type("Store", (), {"directory": tmp_path})()

    figure, axes = plt.subplots()
    for index in range(12):
        axes.plot([1, 2], [0, 5e9], label=f"line {index} with a long name of its own")
    axes.set(ylabel="updates/s")
    axes.yaxis.set_major_formatter(drawing.PLAIN)
    drawing.legend(axes, 12)
    figure.subplots_adjust(left=0.13, right=0.97, top=0.91, bottom=0.14)
    figure.canvas.draw()
    # In inches: what reaches beyond the sheet would be cut off.
    reach = figure.get_tightbbox()
    assert reach.x0 < 0 and reach.y0 < 0
    Page().figure(figure, "")
    drawn = plt.imread(tmp_path / "figures" / "001.png")
    assert drawn.shape[1] >= 100 * reach.width and drawn.shape[0] >= 100 * reach.height
    edges = (drawn[:2], drawn[-2:], drawn[:, :2], drawn[:, -2:])
    assert all((edge == 1).all() for edge in edges), "something reaches the edge"
