"""Figures of many lines: everything is within the picture, and no name covers a curve."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.transforms import Bbox

from starling_bench import report
from starling_bench.studies.rtibm import rows


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


def test_what_no_line_varies_has_no_figure():
    """Two sequences, each at a number of updates of its own: single points say nothing of it."""
    one = {"sequence": "a", "execution": "e", "kind": "OWOT", "transport": "reliable", "loop": 1,
           "sender": "m", "receiver": "s", "types": 1, "instances": 1, "buffers": 1,
           "bytes": 8, "updates": 100}  # fmt: skip
    other = one | {"sequence": "b", "updates": 200}
    assert rows.VARIABLES.curves([one, other]) == []
    (curve,) = rows.VARIABLES.curves([one, other, one | {"updates": 300, "test": 2}])
    assert curve.variable.title == "updates" and len(curve.lines) == 2


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
