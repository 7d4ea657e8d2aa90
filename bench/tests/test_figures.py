"""Figures of many lines: everything is within the picture, and no name covers a curve."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.transforms import Bbox
from test_short import sample

from starling_bench import report
from starling_bench.store import Store
from starling_bench.studies.rtibm import STUDY, figures, rows
from starling_bench.variables import Variable, Variables


@pytest.mark.parametrize("lines", [2, 4, 5, 14, 30])
def test_names_of_lines_cover_no_curve(lines):
    figure, axes = plt.subplots()
    for index in range(lines):
        axes.plot([1, 2], [index * 1e6, 5e7], label=f"RTI {index}, OWOT reliable, m → s, e.{index}")
    axes.yaxis.set_major_formatter(report.PLAIN)
    report.legend(axes, lines)
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


def test_what_no_line_varies_has_no_figure():
    """Two sequences, each at a number of updates of its own: single points say nothing of it."""
    one = {"sequence": "a", "execution": "e", "kind": "OWOT", "transport": "reliable", "loop": 1,
           "sender": "m", "receiver": "s", "types": 1, "instances": 1, "buffers": 1,
           "bytes": 8, "updates": 100}  # fmt: skip
    other = one | {"sequence": "b", "updates": 200}
    assert rows.VARIABLES.curves([one, other]) == []
    (curve,) = rows.VARIABLES.curves([one, other, one | {"updates": 300, "test": 2}])
    assert curve.variable.title == "updates" and len(curve.lines) == 2


def test_figures_of_a_design_take_as_long_as_it_is_large():
    """Each test of a Latin hypercube has values of its own."""
    asked = []

    def look(tests: int) -> int:
        names = ("a", "b", "c")
        every = tuple(Variable(n, lambda s, n=n: asked.append(n) or s[n], axis=True) for n in names)
        asked.clear()
        Variables(every, frozenset(), str).curves([dict.fromkeys(names, n) for n in range(tests)])
        return len(asked)

    assert look(1000) <= 10.1 * look(100)


def test_long_numbers_and_names_are_within_the_picture(tmp_path):
    class Page(report.Page):
        def __init__(self) -> None:
            self.count = 0
            self.store = type("Store", (), {"directory": tmp_path})()

    figure, axes = plt.subplots()
    for index in range(12):
        axes.plot([1, 2], [0, 5e9], label=f"line {index} with a long name of its own")
    axes.set(ylabel="updates/s")
    axes.yaxis.set_major_formatter(report.PLAIN)
    report.legend(axes, 12)
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
