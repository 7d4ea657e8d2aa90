"""The campaign and the figures that are committed, or those of KEPT that are about to be: whole,
small, and within their bounds."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

KEPT = Path(os.environ.get("KEPT") or Path(__file__).parents[2] / "docs" / "reports" / "rtibm")
there = pytest.mark.skipif(
    not (KEPT / "report.html").exists(), reason="left out: no campaign is committed"
)
measured = pytest.mark.skipif(
    not (KEPT / "rtibm-figures.txt").exists(), reason="left out: no figures are committed"
)


@there
def test_the_committed_campaign_is_whole_and_small():
    assert sum(file.stat().st_size for file in KEPT.iterdir()) <= 6_000_000
    run = json.loads((KEPT / "run.json").read_text())
    assert {e["state"] for e in run["executions"]} == {"done"}
    assert {e["rti"] for e in run["executions"]} >= {"plain TCP 1", "plain UDP 1"}
    with (KEPT / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    sequences = {row["sequence"] for row in rows}
    for wanted in (
        "loops.starling", "loops.starling-fastest", "loops.standin", "loops.tcp",
        "transport.udp", "drops.udp", "series.starling", "drops.standin",
    ):  # fmt: skip
        assert any(name.startswith(wanted) for name in sequences), wanted
    assert {row["lost"] for row in rows if row["transport"] == "reliable"} == {"0"}
    ways = {
        row["way"].split(" (")[0] for row in rows if row["sequence"] == "loops.starling-fastest"
    }
    assert ways == {"shared memory"}


@there
def test_the_committed_report_has_what_it_compares():
    report = (KEPT / "report.html").read_text()
    for said in ("RTI-1.3NGv4", "Loop selection", "Drops against instances"):
        assert said.lower() in report.lower(), said


@measured
def test_the_committed_figures_are_within_their_bounds():
    said = (KEPT / "rtibm-figures.txt").read_text().splitlines()
    assert re.fullmatch("commit [0-9a-f]{12}", said[0])
    verdicts = [line.rpartition(": ")[2] for line in said if re.search(r": (True|False)$", line)]
    assert set(verdicts) == {"True"} and not any(line.endswith(": failed") for line in said)
    # cost: 2 federates; plain: 2 ways, 3 sizes, 2 tools, 2 federates; wrong: 2; same: 1.
    assert len(verdicts) == 2 + 2 * 3 * 2 * 2 + 2 + 1
    # Told, and not held: 2 ways, 3 sizes.
    assert sum("time per message" in line for line in said) == 2 * 3
    (called,) = [line for line in said if line.startswith("called different ")]
    many, of = re.search(r"different (\d+) of (\d+) times", called).groups()
    assert of == "40" and int(many) <= 6
