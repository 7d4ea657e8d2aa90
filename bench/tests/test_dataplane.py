"""The report of the data plane: every series that it is to have, each measured, each drawn."""

import csv
import html
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import (
    PROGRAM,
    page as page,  # the fixture
)
from runs import LIMIT_S
from test_browser import CUT, WIDE
from test_limits import (
    bench as bench,  # the fixture: that the programs are there
    do as do,
)
from test_network import possible

from starling_bench.errors import BenchError
from starling_bench.kept.store import Store
from starling_bench.machines import identity
from starling_bench.studies.dataplane import FEW, STUDY, SWEEPS, WAYS, conclude, places, runs
from starling_bench.studies.dataplane.figures import summaries

TRANSPORTS = ["rtiexec, Unix", "rtiexec, TCP", "direct TCP", "shared memory",
              "best effort, UDP by rtiexec", "best effort, UDP direct",
              "best effort, UDP multicast"]  # fmt: skip
RAW_TRIPS = ["raw relay, Unix", "raw relay, TCP", "raw TCP", "raw ring in shared memory", "raw UDP"]
RAW_STREAMS = ["raw relay, Unix, 16 KB at once", "raw TCP, a send for each",
               "raw TCP, 16 KB at once", "raw ring, 16 KB at once",
               "raw UDP, a datagram for each"]  # fmt: skip
PRESETS = ["default", "compliant", "fastest", "wan"]
# What the report is to show: of each sweep its lines, the first and the last place, and figures.
ASKED = {
    "latency": ([*TRANSPORTS, *RAW_TRIPS], 16, 60_000, ["p50_us", "p99_us"]),
    "throughput": ([*TRANSPORTS, *RAW_STREAMS], 16, 60_000,
                   ["per_s", "mb_per_s", "sender_us", "receiver_us", "rtiexec_us",
                    "lost_percent"]),
    "presets": ([f"{p}, {way}" for way in ("shared memory", "rtiexec, TCP") for p in PRESETS]
                + ["raw TCP, a send for each"], 100, 5_000, ["per_s"]),
    "preset latency": ([*PRESETS, "raw relay, TCP"], 100, 5_000, ["p50_us"]),
    "services": (["everything on", "statistics off", "MOM off", "DDM off", "time management off",
                  "update rates off", "all of these off", "raw ring, 16 KB at once"],
                 100, 5_000, ["per_s"]),
    "bundling": (["bundling off", "1,400 bytes", "5,000 bytes", "16,384 bytes", "65,536 bytes",
                  "raw TCP, a send for each", "raw TCP, 16 KB at once"], 16, 20_000, ["per_s"]),
    "compression": ([f"{how}, {what}" for what in ("compressible", "random")
                     for how in ("off", "lz4", "zstd")]
                    + ["the link's rate, without any head (computed)"], 1, 100,
                    ["per_s", "sent_bytes"]),
    "lost frames": ([*TRANSPORTS[4:], "one link, of frames of 1,500 bytes (computed)"],
                    1_400, 60_000, ["lost_percent"]),
    "overload": ([*TRANSPORTS[4:], "raw UDP, datagrams of that size"], 1_400, 60_000,
                 ["lost_percent", "per_s"]),
    "placement": ([*(f"{who} beside the {whom}" for who in ("rtiexec", "forwarder")
                     for whom in ("sender", "receiver")),
                   *(f"federates together, {who} on the other CPU"
                     for who in ("rtiexec", "forwarder")),
                   "raw relay, TCP, 16 KB at once"], 100, 20_000, ["per_s", "delay_p50_us"]),
    "update call": (TRANSPORTS[:4], 1, 16, ["call_p50_us", "call_p99_us"]),
    "send queue": (["256 KB", "2 MB", "20 MB", "raw relay, TCP, 16 KB at once"], 2_000, 60_000,
                   ["mb_per_s"]),
    "calls": (TRANSPORTS[:2], 100, 100, ["p50_us", "p99_us"]),
    "join, federates": ([*TRANSPORTS[:2], "shared memory"], 1, 31, ["join_p50_us"]),
    "join, instances": (["rtiexec, Unix", "shared memory"], 1, 10_000,
                        ["join_p50_us", "discover_p50_us"]),
    "transmissions": ([*TRANSPORTS[1:3], *TRANSPORTS[4:]], 1, 8,
                      ["sent_frames", "received_frames", "sent_bytes", "received_bytes"]),
    "instances": (["shared memory", "rtiexec, Unix"], 1, 100_000,
                  ["per_s", "sender_us", "receiver_us", "register_us"]),
    "attributes": (["shared memory", "rtiexec, Unix"], 1, 32,
                   ["per_s", "sender_us", "receiver_us"]),
    "federates": (["shared memory", "rtiexec, Unix", "direct TCP"], 2, 32,
                  ["deliveries_per_s", "sender_us", "receiver_us"]),
    "classes": (["shared memory", "rtiexec, Unix"], 1, 1_000,
                ["per_s", "sender_us", "receiver_us"]),
}  # fmt: skip
BY_NAME = {sweep["name"]: sweep for sweep in SWEEPS}
CHARTS = sum(len(figures) for *_, figures in ASKED.values())
API = Path(__file__).parents[2] / "spec" / "api.tsv"
# What a service is called by, and how much each figure has of a line.
SERVICES = ["subscribeObjectClassAttributes", "updateAttributeValues", "timeAdvanceRequest"]
TOO_SHORT = "too short to tell"


def has(line: dict, figure: str) -> bool:
    """Whether a line has a figure: plain sockets and computed ones lack some."""
    if "computed" in line:
        return figure in ("per_s", "lost_percent")
    if line.get("raw"):
        lost = figure == "lost_percent"
        return line["raw"] == "udp" if lost else figure in ("per_s", "mb_per_s", "p50_us", "p99_us")
    return True


def test_every_series_is_listed():
    assert sorted(BY_NAME) == sorted(ASKED) and len(SWEEPS) == len(ASKED)
    for name, (lines, first, last, figures) in ASKED.items():
        sweep = BY_NAME[name]
        assert sorted(sweep["lines"]) == sorted(lines), name
        assert (sweep["at"][0], sweep["at"][-1]) == (first, last), name
        assert [chart["figure"] for chart in sweep["charts"]] == figures, name
        ways = [line.get("way") for line in (sweep["given"], *sweep["lines"].values())]
        assert {way for way in ways if way} <= set(WAYS), name


def test_axes_say_their_units():
    counts = re.compile(
        r"\(.+\)$|^(receivers|service)$|^(object|federates|attributes)|per message$"
    )
    for sweep in SWEEPS:
        for words in (sweep["axis"], *(chart["unit"] for chart in sweep["charts"])):
            assert counts.search(words), words


def test_a_small_run_has_the_first_places_only():
    for sweep in SWEEPS:
        assert places(sweep, 0.01) == sweep["at"][:FEW] and places(sweep, 1) == sweep["at"]


def test_of_what_is_kept_no_report_is_made_anew(tmp_path):
    kept = Path(__file__).parents[2] / "docs/reports/dataplane"
    copied = shutil.copytree(kept, tmp_path / "kept")
    command = [sys.executable, "-m", "starling_bench", "dataplane", "report", copied]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 2 and "STL-OUT-010" in made.stderr, made.stderr
    assert (copied / "report.html").read_bytes() == (kept / "report.html").read_bytes()


def test_a_point_over_its_rounds():
    """Rounds that say little do not count where others are there."""
    rows = [{"sweep": "s", "figure": "f", "line": "l", "x": "1", "value": value, "doubt": doubt}
            for value, doubt in ((5.0, ""), (900.0, "busy"), (7.0, ""), (6.0, ""))]  # fmt: skip
    (one,) = summaries(rows)
    assert (one["median"], one["low"], one["high"], one["doubt"]) == (6.0, 5.0, 7.0, "")
    assert (one["rounds"], one["counted"]) == (4, 3)
    (bad,) = summaries(rows[1:2])
    assert (bad["median"], bad["doubt"]) == (900.0, "busy")


def pretend(directory: Path, only: str = "") -> Path:
    """The directory of a run that nobody made: all lines at all places."""
    run = {"id": "none", "scale": 1.0, "rounds": 2, "only": only, "notes": ["a note of the run"],
           "left_out": {}, "points": 1_000, "took_s": 900.0,
           "failed": [{"sweep": "latency", "line": "raw UDP", "x": "16", "why": "STL-X: <fell>"}]
           }  # fmt: skip
    store = Store.create(directory, STUDY, run)
    sweeps = [sweep for sweep in SWEEPS if only in sweep["name"]]
    for sweep in sweeps:
        at = SERVICES if sweep["does"] == "calls" else sweep["at"]
        points = itertools.product(enumerate(sweep["lines"].items()), range(2), enumerate(at))
        for (number, (name, line)), n, (place, x) in points:
            for chart in sweep["charts"]:
                if has(line, chart["figure"]):
                    doubt = TOO_SHORT if (number, place) == (0, 0) else ""
                    value = (number + 1) * (place + 2.0) + n / 10
                    store.keep(
                        {"round": n, "sweep": sweep["name"], "line": name, "x": str(x),
                         "figure": chart["figure"], "value": value, "doubt": doubt}
                    )  # fmt: skip
    conclude(store, sweeps)
    store.close()
    return directory


def test_what_a_machine_limits_is_told():
    """More processes than CPUs, which have nothing left."""
    assert runs.doubt(False, 3, 1.9, 2) == "3 processes filled the 2 CPUs"
    assert runs.doubt(False, 3, 1.5, 2) == runs.doubt(False, 2, 2.0, 2) == ""
    assert runs.doubt(True, 3, 1.9, 2) == "too short to tell"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all sweeps."""
    return pretend(tmp_path_factory.mktemp("dataplane") / "out")


def figures_of(text: str) -> dict[str, tuple[str, str]]:
    """The drawings of a report, by title, with their captions."""
    found = {}
    for svg, caption in re.findall(r"<svg(.*?)</svg>\s*<figcaption>(.*?)<", text, re.S):
        texts = texts_of(svg)
        title = next(t for s in SWEEPS for c in s["charts"] if (t := c["title"]) in texts)
        assert title not in found
        found[title] = svg, html.unescape(caption)
    return found


def texts_of(svg: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)<", svg)]


@pytest.mark.long
def test_the_report_draws_every_series(results):
    text = (results / "report.html").read_text()
    drawn = figures_of(text)
    assert len(drawn) == CHARTS
    for sweep in SWEEPS:
        for chart in sweep["charts"]:
            svg, caption = drawn[chart["title"]]
            texts = texts_of(svg)
            lines = [name for name, line in sweep["lines"].items() if has(line, chart["figure"])]
            for name in lines:
                assert name in texts, (chart["title"], name)
            assert len(re.findall(r'id="f\d+_line-\d+"', svg)) == len(lines), chart["title"]
            assert chart["unit"] in texts and chart["says"] in caption
            if sweep["does"] != "calls":
                assert sweep["axis"] in texts


@pytest.mark.long
def test_what_says_little_is_marked(results):
    text = (results / "report.html").read_text()
    for title, (svg, caption) in figures_of(text).items():
        if not title.startswith("Time of each"):
            assert "Hollow points: see the table." in caption
            assert len(re.findall(r'id="f\d+_hollow-line-0"', svg)) == 1, title
            assert svg.count("hollow") == 1, title
    assert text.count(TOO_SHORT) >= len(SWEEPS)
    assert "STL-X: &lt;fell&gt;" in text and "a note of the run" in text
    assert '<p class="verdict bad">' in text and "It took 900 s." in text


@pytest.mark.long
def test_the_report_says_what_no_such_machine_can_show(results):
    text = (results / "report.html").read_text()
    for words in ("Generation against generation", "network cards that filter", "10 Gb/s",
                  "two real hosts", "How this was measured", "<h2>Machine</h2>"):  # fmt: skip
        assert words in text, words
    # And which services are not among those that are timed.
    for service, why in BY_NAME["calls"]["left_out"].items():
        assert f"<td>{service}</td><td>{why}</td>" in text, service


@pytest.mark.long
def test_the_report_is_small_and_needs_nothing_else(results):
    text = (results / "report.html").read_text()
    assert len(text.encode()) <= 3 << 20
    assert not re.search(r"https?://|<script|<link|<img|@import|url\((?!#)", text)
    found = json.loads((results / "summary.json").read_text())
    with (results / STUDY.table).open() as file:
        rows = list(csv.DictReader(file))
    assert sum(s["rounds"] for s in found) == len(rows) > 1_000
    with (results / "summary.csv").open() as file:
        assert [s["line"] for s in csv.DictReader(file)] == [s["line"] for s in found]


def test_a_report_is_made_again(tmp_path):
    """With all, and the sweeps only, that its run had."""
    directory = pretend(tmp_path / "out", "attributes")
    before = (directory / "report.html").read_text()
    command = [sys.executable, "-m", "starling_bench", STUDY.name, "report", str(directory)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert (said.returncode, said.stderr) == (0, "")
    assert (directory / "report.html").read_text() == before
    assert len(figures_of(before)) == len(ASKED["attributes"][-1])


browsed = pytest.mark.skipif(
    not PROGRAM and os.environ.get("REQUIRE_ALL") != "1", reason="there is no Chromium"
)


@browsed
@pytest.mark.long
def test_nothing_of_the_report_overflows(page):
    for width in (1280, 390):
        page.look(width)
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert page.ask(WIDE) == []
    page.look(round((297 - 20) / 25.4 * 96), media="print")
    assert page.ask(CUT) == []
    assert page.ask(WIDE) == []
    assert page.complaints() == []


# ---- with Starling


@pytest.fixture
def small(bench, tmp_path) -> Iterator[runs.Scaled]:
    """What runs points, for a short time each."""
    me = identity.Run()
    program = Path(os.environ["LIMITS"]) / "limits-federate"
    yield runs.Scaled(Path(os.environ["RTI_ROOT"]), program, tmp_path, me, runs.HOSTS, scale=0.02)
    me.end()


@pytest.fixture
def point(do, small) -> Callable[..., dict]:
    """One point of a line of a sweep."""

    def measure(sweep: str, line: str, x: object, **more: object) -> dict:
        of = BY_NAME[sweep]
        ((place, found),) = do(runs.point(small, of, of["lines"][line] | more, x, WAYS))
        assert place == x
        return found

    return measure


@pytest.mark.parametrize("way", TRANSPORTS)
def test_every_way_has_its_figures(point, way):
    assert point("latency", way, 100)["p50_us"] > 0
    found = point("throughput", way, 5_000)
    assert found["per_s"] > 0 and found["sender_us"] > 0 and found["receiver_us"] > 0
    assert found["mb_per_s"] == pytest.approx(found["per_s"] * 5_000 / 1e6)
    if not way.startswith("best effort"):
        assert found["lost_percent"] == 0


@pytest.mark.parametrize("line", [*RAW_TRIPS, *RAW_STREAMS])
def test_every_raw_limit_has_its_figure(point, line):
    sweep, key = ("latency", "p50_us") if line in RAW_TRIPS else ("throughput", "per_s")
    for x in (16, 60_000):
        assert point(sweep, line, x)[key] > 0


def test_instances_attributes_classes_and_federates(point):
    for sweep, x in (("instances", 1_000), ("attributes", 32), ("classes", 10), ("federates", 4)):
        found = point(sweep, "shared memory", x)
        assert found["per_s"] > 0 and found["lost_percent"] == 0
        assert found["deliveries_per_s"] == found["per_s"] * (3 if sweep == "federates" else 1)


def test_calls_are_measured_apart(do, small):
    """Every service of the API, or it is said why not: as often as the table of the API has it."""
    of = BY_NAME["calls"]
    found = dict(do(runs.point(small, of, of["lines"]["rtiexec, Unix"], 100, WAYS)))
    table = (row.split("\t") for row in API.read_text(encoding="utf-8").splitlines())
    services = Counter(name for kind, _, name, *_ in table if kind == "service")
    called, left_out = (
        Counter(name.partition(",")[0] for name in found),
        Counter(list(of["left_out"])),
    )
    assert called + left_out == services and not called.keys() & left_out.keys()
    assert sum(called.values()) > 130 and all(of["left_out"].values())
    assert all(0 < one["p50_us"] <= one["p99_us"] <= one["longest_us"] for one in found.values())


def test_joining_and_the_time_of_a_call(point):
    found = point("join, federates", "rtiexec, Unix", 3)
    assert found["join_p50_us"] > 0
    found = point("join, instances", "shared memory", 100)
    assert found["discover_p50_us"] > 0
    found = point("update call", "direct TCP", 2)
    assert 0 < found["call_p50_us"] <= found["call_p99_us"]


def test_a_forwarder_on_a_cpu(point):
    for line in ("rtiexec beside the sender", "forwarder beside the receiver"):
        found = point("placement", line, 1_000)
        assert found["per_s"] > 0 and found["delay_p50_us"] > 0


def test_settings_reach_every_process(point, do, small):
    """A service that is off is refused where it is called; a wrong one ends the point."""
    of = BY_NAME["calls"]
    off = {"way": "rtiexec, Unix", "set": {"services.ddm": "false"}}
    with pytest.raises(BenchError, match=r"services\.ddm"):
        do(runs.point(small, of, off, 100, WAYS))
    with pytest.raises(BenchError, match="rtiexec did not start"):
        point("bundling", "bundling off", 100, set={"bundle.tcp_bytes": "many"})


hosted = pytest.mark.skipif(
    not possible() and os.environ.get("REQUIRE_ALL") != "1", reason="root and iproute2 are needed"
)


@hosted
def test_a_message_leaves_once_for_each_receiver_or_once_for_all(point):
    """Frames may be sent as one where the machine is busy; bytes are what they are."""
    for line, leaves in (
        ("rtiexec, TCP", 1), ("direct TCP", 3), ("best effort, UDP by rtiexec", 1)
    ):  # fmt: skip
        found = point("transmissions", line, 3, updates=20_000)
        assert 100 * leaves < found["sent_bytes"] < 250 * leaves, line
        assert 300 < found["received_bytes"] < 900, line
        assert 0 < found["sent_frames"] < 2 * leaves + 1, line


@hosted
def test_larger_datagrams_are_lost_more_often(point):
    found = [
        point("lost frames", "best effort, UDP by rtiexec", x, burst=60, ms=20_000)
        for x in (1_400, 60_000)
    ]
    assert 0 < found[0]["lost_percent"] < found[1]["lost_percent"] < 100, found


@hosted
def test_what_is_compressed_is_less(point):
    sent = {
        line: point("compression", line, 100, more=1)["sent_bytes"]
        for line in ("off, compressible", "zstd, compressible", "zstd, random")
    }
    assert sent["zstd, compressible"] < sent["off, compressible"] / 2 < sent["zstd, random"]


@hosted
@pytest.mark.long
def test_on_a_slow_link_more_comes_of_what_is_compressed(point):
    """1 Mbit/s carries 1,250 updates of 100 bytes a second, however little stands around them."""
    found = {
        line: point("compression", line, 1, link_s=40)
        for line in ("off, compressible", "lz4, compressible", "zstd, compressible", "zstd, random")
    }
    assert all(one["lost_percent"] == 0 and one["sent"] >= 1_000 for one in found.values())
    per_s = {line: one["per_s"] for line, one in found.items()}
    assert per_s["off, compressible"] < 1_250 and per_s["zstd, random"] < 1_250
    assert per_s["lz4, compressible"] > 2 * per_s["off, compressible"]
    assert per_s["zstd, compressible"] > 2 * per_s["off, compressible"]


@pytest.mark.long
def test_all_of_it_at_a_tiny_scale(bench, tmp_path):
    """Every line of every sweep is measured, by one command."""
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--program", f"{os.environ['LIMITS']}/limits-federate", "--out", str(tmp_path / "out"),
        "--scale", "0.01", "--rounds", "1", "--idle-wait-s", "0",
    ]  # fmt: skip
    said = subprocess.run(command, text=True, capture_output=True, timeout=10 * LIMIT_S)
    assert (said.returncode, said.stderr) == (0, ""), said.stdout
    with (tmp_path / "out" / STUDY.table).open() as file:
        rows = list(csv.DictReader(file))
    measured = {(row["sweep"], row["line"], row["figure"]) for row in rows}
    hosts = os.geteuid() == 0
    for sweep in SWEEPS:
        for name, line in sweep["lines"].items():
            for chart in sweep["charts"]:
                if has(line, chart["figure"]) and ("link" not in sweep["given"] or hosts):
                    assert (sweep["name"], name, chart["figure"]) in measured
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["failed"] == [] and (bool(run["left_out"]) != hosts)
    text = (tmp_path / "out" / "report.html").read_text()
    assert len(figures_of(text)) == CHARTS or not hosts
    assert len(text.encode()) <= 3 << 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "nothing"], "STL-DPL-002: no sweep 'nothing'"),
        (["--program", "/no/limits-federate"], "STL-DPL-001: missing"),
        (["--rounds", "0"], "Invalid value"),
    ],
)
def test_wrong_usage_is_told(bench, tmp_path, options, says):
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--program", f"{os.environ['LIMITS']}/limits-federate", "--out", str(tmp_path / "out"),
        *options,
    ]  # fmt: skip
    said = subprocess.run(command, text=True, capture_output=True, timeout=LIMIT_S)
    assert said.returncode == 2 and says in said.stderr


def test_a_point_that_fails_does_not_end_the_others(do, small, tmp_path):
    """It is noted with its reason, and nothing is made up for it."""
    from starling_bench.studies import dataplane

    run = {"id": "none", "failed": []}
    store = Store.create(tmp_path / "out", STUDY, run)
    of = BY_NAME["bundling"]
    wrong = {"way": "rtiexec, TCP", "set": {"bundle.tcp_bytes": "many"}}
    do(dataplane._point(store, small, 0, of, "bundling off", wrong, 100))
    do(dataplane._point(store, small, 0, of, "1,400 bytes", of["lines"]["1,400 bytes"], 100))
    store.close()
    assert [f["line"] for f in store.run["failed"]] == ["bundling off"]
    assert "rtiexec did not start" in store.run["failed"][0]["why"]
    assert {row["line"] for row in store.rows} == {"1,400 bytes"}
