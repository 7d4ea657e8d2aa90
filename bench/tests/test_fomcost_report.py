"""The FOM cost study's report, as text and in a browser: on a desk, a telephone and paper."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from browser import (
    PROGRAM,
    page as page,  # the fixture
)
from quiet import undisturbed
from runs import LIMIT_S, PATIENT, RTI_ROOT
from test_browser import CONTRAST, CUT, FOLDED, GROUND, OPEN, WIDE
from test_fomcost import FOM, FOMCOST
from test_network import possible

from starling_bench.tsf import tables

if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not (FOMCOST and RTI_ROOT), reason="FOMCOST is needed")
LAYOUTS = ["multiple", "fixed", "variable", "variant", "standard"]
MODES = ["static", "FPW", "RPW", "RVW", "FVW", "FPB", "RPB", "RVB", "FVB"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run with all that a report can show: where this is root, packets too."""
    directory = tmp_path_factory.mktemp("fomcost")
    few = {"repetitions": 4, "warm_up": 1, "samples": 2, "gap_ms": 0.2, "transport": "reliable"}
    tests = [
        few
        | {"layout": ["multiple", "fixed", "variant", "standard"], "attributes": [1, 2, 3, 4, 5]},
        few | {"series": "modes", "layout": LAYOUTS, "mode": MODES},
    ]
    sequences, hosts = ["time", "wire"] if possible() else ["time"], []
    made = []
    for name in sequences:
        host = (lambda n: {"host": n}) if name == "wire" else lambda n: {}
        made.append({
            "name": name, "fom": str(FOM), "master": "sender", **PATIENT,
            "federate": [{"name": n, **host(n)} for n in ("sender", "receiver")],
            "pair": [{"sender": "sender", "receiver": "receiver"}],
            "execution": [{"name": "all", "test": tests if name == "time" else tests[:1]}],
        })  # fmt: skip
    if len(sequences) == 2:
        hosts = [{"name": "sender", "capture": True}, {"name": "receiver"}]
    for sequence in made:
        sequence |= {k: float(v) for k, v in PATIENT.items()}
    tables.write(directory / "t.tsf.toml", {"host": hosts, "sequence": made})
    env = {k: v for k, v in os.environ.items() if not k.startswith("STARLING_")}
    said = subprocess.run(
        [sys.executable, "-m", "starling_bench", "fomcost", "run", "t.tsf.toml", "--out", "out",
         "--fomcost", FOMCOST, "--rti-root", RTI_ROOT, "--idle-wait-s", "0"],
        cwd=directory, env=env, capture_output=True, text=True, timeout=3 * LIMIT_S,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, ""), said.stdout
    undisturbed("fomcost", directory / "out")
    return directory / "out"


def test_the_report_has_what_the_study_asks_for(results):
    text = (results / "report.html").read_text()
    for words in (
        "In words", "Recommendation: ", "an attribute of 12 bytes more", "published, one RTI",
        "What the line leaves of each test", "several cost more", "than standard", "7.5 %",
        "Ease of use", "lines of codec", "forms in memory", "to the callback", "encode ns",
        "Ways that data took", "How this was measured",
    ):  # fmt: skip
        assert words in text, words
    if (results / "wire").exists():
        five = "Five attributes against one in bytes, wire, object, reliable: +4.5 %"
        assert f"{five} (published: +10 %); beside each value 2 bytes (published: 8 and" in text
        assert (
            "Above UDP or TCP, captured between hosts, where calls are not timed." in text
            and "acknowledgements" in text
        )


def test_a_report_is_made_again_from_what_was_kept(results):
    before = (results / "summary.json").read_text()
    undisturbed("fomcost", results)
    assert (results / "summary.json").read_text() == before


browsed = pytest.mark.skipif(
    not PROGRAM and os.environ.get("REQUIRE_ALL") != "1", reason="there is no Chromium"
)


@browsed
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_the_cost_report_overflows(page, width):
    page.look(width)
    page.ask(OPEN)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    assert page.ask(WIDE) == []


@browsed
def test_the_cost_report_complains_of_nothing(page, results):
    page.look(1280)
    page.open(results / "report.html")
    assert page.complaints() == []
    assert (results / "report.html").stat().st_size < 3 << 20


@browsed
def test_the_contents_of_the_cost_report_open_what_they_lead_to(page, results):
    page.look(1280)
    page.open(results / "report.html")
    links = dict(
        page.ask("[...document.querySelectorAll('.contents a')].map(e => [e.innerText, e.hash])")
    )
    folded = page.ask(FOLDED)
    assert len(folded) > 1 and not any(shown for _, shown in folded)
    for name, _ in folded:
        page.ask(f"location.hash = {json.dumps(links[name])}")
        page.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        assert [name, True] in page.ask(FOLDED), name


@browsed
def test_no_column_of_the_cost_report_is_cut_on_paper(page, results):
    """Nor is what is folded missing there."""
    page.open(results / "report.html")
    page.look(round((297 - 20) / 25.4 * 96), media="print")
    assert page.ask(CUT) == []
    assert page.ask(WIDE) == []
    assert all(shown for _, shown in page.ask(FOLDED))
    assert page.print().startswith(b"%PDF-")


@browsed
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_cost_report_can_be_read_on_either_ground(page, dark):
    page.look(1280, dark=dark)
    ground = page.ask(GROUND)
    assert (ground == "rgb(255, 255, 255)") != dark
    for selector in ("body", "th", "td", ".verdict", "h2", "li", "figcaption", "pre"):
        contrast = page.ask(f"({CONTRAST})({json.dumps(selector)}, {json.dumps(ground)})")
        assert contrast >= 4.5, selector


@browsed
def test_every_layout_has_its_line_in_the_charts(page, results):
    page.look(1280)
    found = page.ask("""[...document.querySelectorAll('figure svg')].map(svg => [
        [...svg.querySelectorAll('text')].map(t => t.textContent).find(t => / by /.test(t)),
        [...svg.querySelectorAll('g[id*="line-"]')].map(g => g.querySelectorAll('use').length)])""")
    drawn = {}
    for title, lines in found:
        drawn.setdefault(title, []).append(lines)
    summaries = json.loads((results / "summary.json").read_text())
    assert {s["layout"] for s in summaries} == set(LAYOUTS)
    # Four layouts of one to five parts and two published lines, of bytes where packets were seen;
    # five layouts of nine modes and a published line.
    assert drawn["Update call by parts"] == [[5] * 6]
    assert drawn["Update call by mode"] == [[9] * 6]
    seen = (results / "wire").exists()
    assert drawn["Bytes of an update by parts"][0] == [5] * (6 if seen else 4)
    assert drawn["Bytes of an update by mode"] == [[9] * 5]
