"""Sites: their links, tunnels and encryption, with EC1's federates on them. Needs root."""

import json
import os
import re
import subprocess

import pytest
from ec1_runs import EC1FED, NEEDED, ec1, rows, run_of

from starling_bench import sites, tunnels
from starling_bench.errors import BenchError

pytestmark = [
    NEEDED,
    pytest.mark.skipif(
        os.environ.get("REQUIRE_ALL") != "1" and os.geteuid() != 0,
        reason="hosts in network namespaces need root",
    ),
]
COMMON = ("--topology", "1-1", "--seconds-per-configuration", "0.3")


def spaces() -> set[str]:
    said = subprocess.run(["ip", "netns", "list"], text=True, capture_output=True).stdout
    return {line.split()[0] for line in said.splitlines() if line}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gre", "vxlan", "wireguard"])
def test_every_carrier_goes_through_a_tunnel(kind, tmp_path):
    if why := tunnels.lacking(kind, sites.Path(EC1FED)):
        pytest.skip(why)
    out = tmp_path / "out"
    ec1("phase2", out, "--only", "8,9", "--sites", kind, *COMMON)
    found = rows(out)
    assert len(found) == 4 and all(int(r["received"]) > 0 for r in found)
    assert all(r["received"] == r["sent"] for r in found if r["transport"] == "reliable")
    for e in run_of(out)["executions"]:
        assert tunnels.words(kind) in e["hosts"] and "100 Mbit/s" in e["hosts"]
    if kind == "gre":
        # What bench-tunnel says at its end: frames went both ways, and nothing foreign came.
        for log in out.rglob("tunnel*.log"):
            told = json.loads(log.read_text().splitlines()[-1])
            assert told["sent"] > 0 and told["arrived"] > 0 and told["foreign"] == 0
    mine = re.compile(r"starling-bench-\d+-")
    assert not [s for s in spaces() if mine.match(s) and str(os.getpid()) in s]


def test_the_links_limit_is_seen(tmp_path):
    """864 Mbit/s offered to a link of 100."""
    out = tmp_path / "out"
    ec1("phase2", out, "--only", "119", "--adapters", "sockets", "--sites", "lan", *COMMON)
    (row,) = rows(out)
    assert float(row["theory_mbps"]) == 864
    assert 0 < float(row["mbps"]) <= 102 and row["lost"] == "0"


@pytest.mark.long
def test_a_wans_delay_is_in_every_latency_and_its_mtu_may_be_larger(tmp_path):
    wan, large = tmp_path / "wan", tmp_path / "large"
    ec1("phase2", wan, "--only", "0,1", "--adapters", "sockets", "--sites", "wan", *COMMON)
    for row in rows(wan):
        if int(row["received"]):
            assert float(row["min_ms"]) >= 18
    ec1("phase2", large, "--only", "8,9", "--adapters", "sockets", "--sites", "lan-9000", *COMMON)
    assert all("MTU 9000" in e["hosts"] for e in run_of(large)["executions"])
    assert all(int(r["received"]) > 0 for r in rows(large))


@pytest.mark.long
def test_twenty_sites_reach_each_other(tmp_path):
    out = tmp_path / "out"
    ec1("phase1", out, "--count", "20", "--adapters", "unicast", "--sites", "unlimited")
    reliable = [r for r in rows(out) if r["transport"] == "reliable"]
    assert len(reliable) == 20 * 19 and all(r["received"] == "1" for r in reliable)


def test_what_this_machine_can_not_make_is_skipped_with_a_notice(monkeypatch):
    monkeypatch.setattr(tunnels.shutil, "which", lambda name: None)
    usable, notes = sites.usable(["lan", "wireguard", "wan-wireguard"], EC1FED)
    assert usable == ["lan"] and len(notes) == 1
    assert notes[0].startswith("2 kinds of sites skipped: wireguard: there is no program 'wg'")
    with pytest.raises(BenchError, match="1 kinds of sites skipped"):
        sites.usable(["wireguard"], EC1FED)
