"""The report in a browser, on a desk, a telephone and paper: nothing overflows or is missing."""

import base64
import io
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from browser import (
    CONTRAST as CONTRAST,  # other reports' tests have these from here
    CUT,
    FOLDED,
    GROUND as GROUND,
    OPEN,
    PAPER,
    PROGRAM,
    WIDE as WIDE,
    Browser,
    browser,
    fits,
    leads,
    page as page,  # the fixture
    readable,
    whole_on_paper,
)
from test_manager import WHOLE, manage, sequence

from starling_bench.kept.store import Store
from starling_bench.reports import report
from starling_bench.reports.parts import by_rti
from starling_bench.studies.range import STUDY as RANGE, figures as of_range
from starling_bench.studies.rtibm.rows import latency

if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no Chromium")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run."""
    directory = tmp_path_factory.mktemp("report")
    code, _, err = manage(directory, sequence("good", test=WHOLE))
    assert (code, err) == (0, "")
    return directory / "out"


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_overflows(page, width):
    fits(page, width)


def test_the_contents_lead_to_each_part_and_open_it(page, results):
    names = leads(page, results / "report.html")
    assert "Which RTI is faster" not in names  # there is but one
    assert len(page.ask(FOLDED)) > 2


def test_a_rows_name_stays_in_sight(wide):
    """However far a table is scrolled."""
    wide.look(390)
    for n in range(wide.ask("document.querySelectorAll('.scroll').length")):
        left = wide.ask(f"""(() => {{
            const box = document.querySelectorAll('.scroll')[{n}];
            box.scrollLeft = 1e6;
            const cell = box.querySelector('tr:last-child > :first-child');
            return [cell.getBoundingClientRect().left - box.getBoundingClientRect().left,
                    cell.offsetWidth / innerWidth];
        }})()""")
        assert abs(left[0]) < 1 and left[1] < 0.5
        wide.ask(f"document.querySelectorAll('.scroll')[{n}].scrollLeft = 0")


def test_the_page_complains_of_nothing(page, results):
    page.look(1280)
    page.open(results / "report.html")
    assert page.complaints() == []
    assert (results / "report.html").stat().st_size < 5 << 20


def test_no_column_is_cut_on_paper(page):
    whole_on_paper(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_can_be_read_on_either_ground(page, dark):
    readable(page, dark, "body", "th", "td", ".verdict", "figcaption", "pre")


def test_every_series_is_in_its_figure(page, results):
    """As many lines as the data have, and on each as many markers as points: a series is what an
    execution measured of a kind of test, by a transportation."""
    page.look(1280)
    page.ask(OPEN)
    summaries = json.loads((results / "summary.json").read_text())
    found = dict(
        page.ask("""[...document.querySelectorAll('figure svg')].map(svg => [
        [...svg.querySelectorAll('text')].map(t => t.textContent)
            .find(t => /^[A-Z][a-z ]* by /.test(t)),
        [...svg.querySelectorAll('g[id*="line-"]')].map(g => {
            const box = g.getBoundingClientRect();
            return box.width > 0 && box.height > 0 ? g.querySelectorAll('use').length : 0;
        })])""")
    )
    titles = {
        True: ("Mean round trip", "Update frequency"),
        False: ("Updates per second", "Megabytes per second"),
    }
    for trips, names in titles.items():
        series = Counter(
            (s["sequence"], s["execution"], s["kind"], s["transport"])
            for s in summaries
            if latency(s) == trips
        )
        assert len(series) == 2  # by reliable transportation, and best effort
        assert {s["bytes"] for s in summaries} == {8, 100}
        for name in names:
            assert sorted(found.pop(f"{name} by bytes")) == sorted(series.values()) == [2, 2]
    assert not any(re.search(" by (types|instances|buffers|bytes|updates)", t or "") for t in found)


def flows(several: bool) -> list[dict]:
    """Of a range test; `several`: that differ in all that distinguishes them."""
    tests = itertools.product(("sizes.starling-fastest", "sizes.tcp"), ("rel", "be"), (2, 10))
    times = ("min", "mean", "p50", "p90", "p99", "p999", "max", "ping", "lrc")
    return [
        {
            "sequence": sequence, "execution": execution if several else "rel",
            "rti": f"Starling {sequence}" if several else "Starling", "sender": f"f{n}",
            "receiver": "f1", "transport": "best_effort" if n > 2 and several else "reliable",
            "setting": {"threaded": several and n > 2}, "scheduling": "real-time",
            "federates": n if several else 2, "bytes": 65_507 * n, "hz": 60.0, "tick_hz": 1000,
            "test": n, "budget_ms": 16.6667, "in_budget": 0.9983, "sent": 60_000 * n,
            "planned": 60_000 * n, "elements_missed": 0, "lost": 12 * n, "doubled": 0,
            "bound_ms": 0, "held": "yes",
        } | {f"{k}_ms": 123.4567 for k in times}
        for sequence, execution, n in tests
    ]  # fmt: skip


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Wide tables: a range test's, one in which all differs, and one of many RTIs."""
    given = {"tsf": "t", "tsf_text": "", "notes": []}
    store = Store.create(tmp_path_factory.mktemp("wide") / "out", RANGE, given)
    rtis = [{"sequence": f"series.starling-fastest-{n}.2-namespaces", "rti": "Starling 0.1 (shared "
             "memory)", "instances": 100} for n in range(12)]  # fmt: skip
    many = by_rti(
        ("instances",), rtis, lambda s: (str(s["instances"]),), lambda s: "116,708 of 1,000,000"
    )
    tables = [of_range._table(flows(several=several)) for several in (False, True)]
    report.write(store, "Wide tables", [*tables, many])
    with browser() as it:
        it.open(store.directory / "report.html")
        yield it


# How much of each table is beyond its box.
BEYOND = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"


def edges(page: Browser, which: int) -> list[float]:
    """How dark a box's left and right edge are, from 0 to 1, between two lines of its table."""
    box = page.ask(f"""(() => {{
        const e = document.querySelectorAll('.scroll')[{which}];
        e.scrollIntoView();
        const b = e.getBoundingClientRect(), r = e.querySelector('tr').getBoundingClientRect();
        return [b.x + scrollX, b.width, r.top + scrollY - 6];
    }})()""")
    clip = {"x": box[0], "y": box[2], "width": box[1], "height": 3, "scale": 1}
    shot = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    pixels = plt.imread(io.BytesIO(base64.b64decode(shot["data"])))[1, :, :3].mean(axis=1)
    return [1 - float(pixels[2]), 1 - float(pixels[-3])]


def test_a_table_fits_or_says_on_which_side_there_is_more(wide):
    wide.look(1280)
    # Of each two: a line for each test, and for each flow.
    found = wide.ask(BEYOND)
    assert found[0] == 0 and found[3] > 0
    assert max(edges(wide, 0)) < 0.1
    left, right = edges(wide, 3)
    assert left < 0.1 and right > 0.2
    wide.ask("document.querySelectorAll('.scroll')[3].scrollLeft = 1e6")
    left, right = edges(wide, 3)
    assert left > 0.2 and right < 0.1
    wide.ask("document.querySelectorAll('.scroll')[3].scrollLeft = 0")


@pytest.mark.parametrize("width", [1280, 390])
def test_wide_tables_scroll_inside_themselves(wide, width):
    fits(wide, width)


def test_wide_tables_are_whole_on_paper(wide):
    wide.look(PAPER, media="print")
    widest = "Math.max(...[...document.querySelectorAll('table')].map(e => e.offsetWidth))"
    assert wide.ask(widest) <= PAPER
    assert wide.ask(CUT) == []
