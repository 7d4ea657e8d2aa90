"""EC1's report of a whole campaign, made up: on a desk, a telephone and paper, light and dark;
small enough to be kept.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import (
    PROGRAM,
    page as page,  # the fixture
)
from test_browser import CONTRAST, CUT, GROUND, WIDE
from test_ec1 import wanted

import keep_study
from starling_bench.kept.store import Store
from starling_bench.machines.topologies import TOPOLOGIES
from starling_bench.studies.ec1 import STUDY, fields, figures, plans
from starling_bench.studies.ec1.configurations import COUNT, configuration

pytestmark = pytest.mark.long
CARRIERS = ("sockets", "starling")
PROFILES = ("local", "lan", "wan")


def flows(seed: int = 1) -> list[dict]:
    """A summary of each flow of every configuration, all that a campaign may differ in."""
    draw = np.random.default_rng(seed)
    found = []
    for topology in TOPOLOGIES.values():
        for carrier in CARRIERS:
            for profile in PROFILES if topology.name == "1-1" else PROFILES[:1]:
                name = f"{topology.name}.{carrier}.{profile}"
                for n in range(COUNT):
                    found += list(_of(n, name, topology, "normal", draw))
    for n in range(COUNT):  # in which updates come at once, and are overwritten
        bundled = "1-1.starling.local.bundled"
        found += list(_of(n, bundled, TOPOLOGIES["1-1"], "real-time", draw, latest=n % 3 == 0))
    return found


def _of(n: int, name: str, topology, scheduling: str, draw, latest: bool = False) -> Iterator[dict]:
    c = configuration(n)
    theory = c.entities * c.rate * c.payload * 8e-6
    sent = c.entities * c.rate
    p50 = float(draw.lognormal(-2, 0.3)) + c.payload / 20_000
    for number, (sender, receiver) in enumerate(topology.pairs(), 1):
        yield {
            "sequence": name, "execution": "all", "test": n + 1, "topology": topology.name,
            "configuration": n, "entities": c.entities, "rate": float(c.rate),
            "payload": c.payload, "transport": c.transport, "conflate": int(latest),
            "lag_s": 0.2 if latest else 0.0, "pair": number, "publisher": 0, "sender": sender,
            "receiver": receiver, "sent": sent, "received": sent - n % 2, "lost": n % 2,
            "conflated": 0, "duplicates": 0, "reordered": 0, "late": 0, "wrong": 0, "unsent": 0,
            "late_sends": 0, "unrecorded": 0, "fragments": 7 * sent if c.payload == 9000 else 0,
            "theory_mbps": theory, "mbps": theory * 0.999, "reliability": 1 - n % 2 / sent,
            "took_s": 1.0, "send_s": 1.0, "mean_ms": p50 * 1.1, "sd_ms": p50 / 3,
            "min_ms": p50 / 2, "p50_ms": p50, "p90_ms": p50 * 2, "p99_ms": p50 * 3,
            "p999_ms": p50 * 4, "max_ms": p50 * 9, "together": 1 + c.rate / 100, "cpu_busy": 0.3,
            "sender_cpu": 0.01, "receiver_cpu": 0.01, "wake_p50_us": 55.0, "wake_sd_us": 4.0,
            "wake_max_us": 130.0, "scheduling": scheduling, "others_cpu": 0.0,
            "way": "shared memory", "way_reliable": "starling" in name, "rti": "Starling 0.1",
            "adapter": name.split(".")[1], "setting": {"bundling": ".bundled" in name},
        }  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    env = '[[rti]]\nname = "starling"\n[rti.env]\nSTARLING_BUNDLE_AGE_US = "5000"\n'
    given = {"tsf": "t", "tsf_text": env, "notes": ["1 kinds of sites skipped: wireguard"]}
    store = Store.create(tmp_path_factory.mktemp("whole") / "out", STUDY, given)
    figures.write(store, flows())
    store.close()
    return store.directory


def test_the_report_of_a_whole_campaign_is_small(results):
    assert (results / "report.html").stat().st_size < 3 << 20


@pytest.mark.parametrize("profile", ["local", "lan"])
def test_what_is_kept_of_a_whole_campaign_is_small(tmp_path, profile):
    """All 480 configurations on both carriers, page, summaries and run together, with a twentieth
    to spare: figures with all their digits, none of them another's multiple."""
    draw, summaries = np.random.default_rng(2), []
    for topology in TOPOLOGIES.values():
        for carrier in CARRIERS:
            for n in range(COUNT):
                name = f"{topology.name}.{carrier}.{profile}.{carrier}"
                summaries += _of(n, name, topology, "normal", draw)
    for s in summaries:
        fixed = ("rate", "theory_mbps", "lag_s")
        s |= {k: v * draw.uniform(0.5, 1.5) for k, v in s.items()
              if isinstance(v, float) and k not in fixed}  # fmt: skip
        s |= {"together": draw.uniform(1, 20), "cpus": "", "bundling": False, "hosts": "",
              "samples": 1, "pairs": 1, "seconds": 1.0, "spread": True, "tired": 0,
              "miscounted": 0, "clock": "same", "bound_ms": 0.0, "why": ""}  # fmt: skip
        own = fields.Test(configuration=s["configuration"], topology=s["topology"])
        s["setting"] = own.model_dump()
    plan = plans.configurations(wanted(profiles=[profile]))
    given = {"tsf": "t", "tsf_text": plan, "notes": []}
    store = Store.create(tmp_path / "ec1-20260101-000000", STUDY, given)
    store.write("summary.json", json.dumps(summaries))
    figures.write(store, summaries)
    store.close()
    files = {name: len(data) for name, data in keep_study.kept(store.directory).items()}
    assert len(summaries) == 2 * (1 + 4 + 4 + 25) * COUNT
    assert sum(files.values()) < 0.95 * keep_study.MOST, files


def test_the_whole_report_has_every_part(results):
    text = (results / "report.html").read_text().replace("&#x27;", "'")
    for words in ("Findings", "WAN behaves as LAN", "Scheduling, and the host's own wake-ups",
                  "Who fragments", "7 fragments an update", "Age beside reliability",
                  "Bundling by rate", "Every configuration"):  # fmt: skip
        assert words in text, words
    # Nine of each topology and kind of sites, and that of bundling.
    assert text.count("<figure>") == 9 * (len(PROFILES) + 3) + 1


browsed = pytest.mark.skipif(
    not PROGRAM and os.environ.get("REQUIRE_ALL") != "1", reason="there is no Chromium"
)


@browsed
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_the_campaigns_report_overflows(page, width):
    page.look(width)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    page.ask("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert page.ask(WIDE) == []


@browsed
def test_the_campaigns_report_complains_of_nothing(page, results):
    page.look(1280)
    page.open(results / "report.html")
    assert page.complaints() == []


@browsed
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_of_the_campaigns_report_can_be_read(page, dark):
    page.look(1280, dark=dark)
    ground = page.ask(GROUND)
    assert (ground == "rgb(255, 255, 255)") != dark
    for selector in ("body", "th", "td", ".verdict", ".note", "figcaption", "summary"):
        contrast = page.ask(f"({CONTRAST})({selector!r}, {ground!r})")
        assert contrast >= 4.5, selector


@browsed
def test_no_column_of_the_campaigns_report_is_cut_on_paper(page):
    page.look(round((297 - 20) / 25.4 * 96), media="print")
    page.ask("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert page.ask(CUT) == []
    assert page.ask(WIDE) == []
    assert page.print().startswith(b"%PDF-")


@browsed
def test_every_configuration_is_a_point_of_its_figures(page):
    """On each line of the second figure a marker for each configuration."""
    page.look(1280)
    found = page.ask("""[...document.querySelectorAll('figure svg')].filter(svg =>
        [...svg.querySelectorAll('text')].some(t => t.textContent.startsWith('2. Throughput')))
        .map(svg => [...svg.querySelectorAll('g[id*="line-"]')]
            .map(g => g.querySelectorAll('use').length).reduce((a, b) => a + b, 0))""")
    both = COUNT * len(CARRIERS)
    assert sorted(found) == [both] * 5 + [both + COUNT]
