"""Hosts in network namespaces: federates on hosts of their own, with links that delay and lose."""

import html
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from runs import (
    BMFED,
    LIMIT_S,
    RTI_ROOT,
    Run,
    run as run,  # the fixture
    text,
)

from starling_bench.machines.identity import SPACES


def possible() -> bool:
    """Root in a container may lack the right to make network namespaces."""
    if not (BMFED and RTI_ROOT and shutil.which("ip") and shutil.which("unshare")):
        return False
    return subprocess.run(["unshare", "-n", "ip", "link"], capture_output=True).returncode == 0


if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(
        not possible(), reason="BMFED, RTI_ROOT, iproute2 and root are needed"
    )
TRIPS = """kind = "RTOL"
transport = "{transport}"
loop_version = 3
outstanding_max = 1
updates = {updates}
samples = 1"""


def two(test: str, one: str = "", other: str = "", **more: str) -> str:
    """A test sequence file with its federates on two hosts, whose links are said."""
    hosts = f'[[host]]\nname = "a"\n{one}\n[[host]]\nname = "b"\n{other}\n'
    tsf = text(test, **more).replace('name = "master"\n[[', 'name = "master"\nhost = "a"\n[[')
    return hosts + tsf.replace('name = "subordinate"\n', 'name = "subordinate"\nhost = "b"\n', 1)


def spaces(run: Run) -> list[str]:
    """Network namespaces of this run's manager; others may make some meanwhile."""
    return [path.name for path in SPACES.glob(f"starling-bench-{run.manager.pid}-*")]


@pytest.mark.long
@pytest.mark.parametrize("name", ["starling", "tcp", "udp", "multicast"])
def test_federates_on_two_hosts(run, name):
    transport = "best_effort" if name in ("udp", "multicast") else "reliable"
    test = TRIPS.format(transport=transport, updates=100)
    code, _, err = run.start(two(test, "rate_mbit = 100", rti=f'adapter = "{name}"')).end()
    assert (code, err) == (0, "")
    assert [(r["received"], r["lost"]) for r in run.rows()] == [("100", "0")]
    (summary,) = json.loads((run.directory / "out" / "summary.json").read_text())
    assert summary["hosts"] == "2 systems, emulated; a: 100 Mbit/s"
    assert spaces(run) == []


def test_nothing_passes_by_the_network(run):
    """What the switch has carried: both ways at least as many frames as round trips."""
    test = TRIPS.format(transport="reliable", updates=200)
    run.report = True
    code, _, err = run.start(two(test, "delay_ms = 0.1", rti='adapter = "starling"')).end()
    assert (code, err) == (0, "")
    log = (run.directory / "out" / "s" / "e" / "link.log").read_text().splitlines()
    carried = json.loads(log[-1])
    assert [port["frames"] >= 200 for port in carried] == [True, True]
    assert [(port["lost"], port["dropped"]) for port in carried] == [(0, 0)] * 2
    # What carries them, and what that adds by itself, stands in the report, once.
    notes = json.loads((run.directory / "out" / "run.json").read_text())["notes"]
    (said,) = [note for note in notes if note.startswith("Links that delay")]
    assert "bench-link (this kernel has no netem)" in said and "Its floor, with nothing" in said
    assert html.escape(said) in (run.directory / "out" / "report.html").read_text()


def test_a_links_delay_is_in_every_round_trip(run):
    test = TRIPS.format(transport="reliable", updates=50)
    code, _, err = run.start(
        two(test, "delay_ms = 5.0", "delay_ms = 15.0", rti='adapter = "tcp"')
    ).end()
    assert (code, err) == (0, "")
    assert [float(r["rtt_min_ms"]) >= 20 for r in run.rows()] == [True]


@pytest.mark.long
def test_a_links_loss_is_measured_as_such(run):
    # Few enough in a sample for every queue on the way, so that nothing else loses any. What comes
    # after the time-out would be lost, too: each sample waits for it once.
    test = 'kind = "OWOT"\ntransport = "best_effort"\nupdates = 200\nsamples = 3'
    # Reliable links between the federates repeat what is lost of them.
    tsf = two(test, "loss = 0.1", rti='adapter = "udp"', extra="loss_timeout_s = 10")
    code, _, err = run.start(tsf).end()
    assert (code, err) == (0, "")
    rows = run.rows()
    assert [int(row["received"]) + int(row["lost"]) for row in rows] == [200] * 3
    # Binomial, five deviations.
    assert abs(sum(int(row["lost"]) for row in rows) - 60) < 5 * 7.4


def fates(rule: dict, count: int, seed: int) -> list[tuple[bool, bool, bool, float]]:
    program = Path(BMFED).with_name("bench-link")
    said = subprocess.run(
        [program, "--port", json.dumps(rule), "--seed", str(seed), "--plan", str(count)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    lines = [line.split() for line in said.splitlines()]
    return [(*(word == "1" for word in words[:3]), float(words[3])) for words in lines]


def test_a_links_fates_are_its_seeds():
    rule = {"delay_ms": 10, "jitter_ms": 4, "loss": 0.1, "duplicate": 0.05, "reorder": 0.02}
    once = fates(rule, 20_000, 7)
    assert once == fates(rule, 20_000, 7)
    assert once != fates(rule, 20_000, 8)
    # A longer run begins with the shorter one's.
    assert once[:100] == fates(rule, 100, 7)
    for at, share in enumerate((0.1, 0.05, 0.02)):
        found = sum(fate[at] for fate in once)
        deviation = (20_000 * share * (1 - share)) ** 0.5
        assert abs(found - 20_000 * share) < 5 * deviation, at
    delays = [fate[3] for fate in once if not fate[2]]
    assert 6 <= min(delays) < 6.1 and 13.9 < max(delays) <= 14
    assert abs(sum(delays) / len(delays) - 10) < 0.1
    assert {fate[3] for fate in once if fate[2]} == {0}


def test_layouts_are_values_of_a_test(run):
    """One host and two, one after the other, each a line of its own."""
    layouts = """[[sequence.layout]]
name = "one"
hosts = { master = "a", subordinate = "a" }
[[sequence.layout]]
name = "two"
"""
    test = TRIPS.format(transport="reliable", updates=50) + '\nhosts = ["one", "two"]'
    tsf = two(test, rti='adapter = "tcp"')
    code, _, err = run.start(tsf.replace("[[sequence.pair]]", layouts + "[[sequence.pair]]")).end()
    assert (code, err) == (0, "")
    summaries = json.loads((run.directory / "out" / "summary.json").read_text())
    assert [(s["sequence"], s["hosts"]) for s in summaries] == [
        ("s.one", "1 systems, emulated"), ("s.two", "2 systems, emulated"),
    ]  # fmt: skip


def test_a_killed_managers_hosts_are_cleaned(run):
    test = TRIPS.format(transport="reliable", updates=200).replace("samples = 1", "samples = 10000")
    run.start(two(test, "delay_ms = 0.1", rti='adapter = "tcp"')).halfway()
    assert len(spaces(run)) == 3
    run.manager.send_signal(signal.SIGKILL)
    run.manager.communicate(timeout=LIMIT_S)
    # Every manager does so before it begins, also that of another test.
    subprocess.run([*run.command(), "clean"], check=True, env=run.environment())
    assert spaces(run) == []
