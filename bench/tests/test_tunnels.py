"""Sites: their links, tunnels and encryption, with EC1's federates on them. Needs root."""

import asyncio
import json
import os
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from ec1_runs import EC1FED, NEEDED, ec1, rows, run_of
from test_ec1 import wanted

from starling_bench.errors import BenchError
from starling_bench.machines import sites, tunnels
from starling_bench.studies.ec1 import plans
from starling_bench.studies.ec1.configurations import configuration

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
@pytest.mark.parametrize(
    "kind", ["gre", "vxlan", "wireguard", "wireguard-vxlan", "wan-gre", "wan-wireguard"]
)
def test_every_carrier_goes_through_a_tunnel(kind, tmp_path):
    """Over a WAN, too, whose delay is in every latency."""
    goes_through(kind, tmp_path)


def test_every_carrier_goes_through_ipsec_where_the_kernel_has_it(tmp_path):
    goes_through("ipsec", tmp_path)


def goes_through(kind: str, tmp_path: Path) -> None:
    """Updates of every carrier, best effort and reliable."""
    profile, out = sites.PROFILES[kind], tmp_path / "out"
    if why := tunnels.lacking(profile["tunnel"], Path(EC1FED)):
        pytest.skip(why)
    ec1("phase2", out, "--only", "8,9", "--sites", kind, *COMMON)
    found = rows(out)
    assert len(found) == 4 and all(int(r["received"]) > 0 for r in found)
    assert all(r["received"] == r["sent"] for r in found if r["transport"] == "reliable")
    for e in run_of(out)["executions"]:
        assert tunnels.words(profile["tunnel"]) in e["hosts"]
        assert f"{profile['rate_mbit']} Mbit/s" in e["hosts"]
    if "delay_ms" in profile:
        least = profile["delay_ms"] - profile["jitter_ms"]
        assert all(float(r["min_ms"]) >= least for r in found)
    if profile["tunnel"] == "gre":
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
    assert 20 <= float(row["mbps"]) <= 102 and row["lost"] == "0"


@pytest.mark.parametrize(
    ("kind", "least"), [("lan", 0.53), ("lan-9000", 0.72), ("wan", 18 + 5.3)],
    ids=["veth", "emulated", "delayed"],
)  # fmt: skip
def test_the_bits_of_an_update_take_their_time(tmp_path, kind, least):
    """9000 bytes at 10 Hz: all but the frame and a half that a link may have saved up; where that
    would be all, all."""
    number = next(n for n in range(120) if (c := configuration(n)).payload == 9000
                  and (c.entities, c.rate, c.transport) == (1, 10, "reliable"))  # fmt: skip
    out = tmp_path / "out"
    ec1("phase2", out, "--only", str(number), "--adapters", "sockets", "--sites", kind,
        "--topology", "1-1", "--seconds-per-configuration", "1")  # fmt: skip
    (row,) = rows(out)
    assert int(row["received"]) == int(row["sent"]) > 5
    assert least <= float(row["min_ms"]) <= least + 7  # jitter, and in order


@pytest.mark.parametrize(
    ("kind", "number", "most"), [("lan", 119, 102e6), ("wan", 59, 12e6)], ids=["veth", "emulated"]
)
def test_what_comes_to_a_host_is_held_to_its_link_too(tmp_path, kind, number, most):
    """Four hosts send to one, each as much as its own link carries, or more."""
    out = tmp_path / "out"
    ec1("phase2", out, "--only", str(number), "--adapters", "sockets", "--sites", kind,
        "--topology", "N-1", "--seconds-per-configuration", "0.3")  # fmt: skip
    found = rows(out)
    assert len(found) == 4 and all(r["lost"] == "0" for r in found)
    bits = sum(int(r["received"]) * int(r["payload"]) * 8 for r in found)
    # Little of it goes at once, after the pause before.
    assert most / 5 <= bits / max(float(r["took_s"]) for r in found) <= most


@pytest.mark.long
def test_what_was_sent_too_much_is_not_the_next_tests_loss(tmp_path):
    """Four hosts send 36 times what a link carries, in fragments, of which others are lost; then a
    third of it, for which a second is enough to be heard in, but not the 30 that fragments wait."""
    text = plans.configurations(
        wanted(program=EC1FED, adapters=["sockets"], topologies=["N-1"], numbers=[118, 48],
               profiles=["lan"], seed=0)
    )  # fmt: skip
    (test,) = tomllib.loads(text)["sequence"][0]["execution"][0]["test"]
    assert test["configuration"] == [118, 48] and "data_timeout_s = 30.0" in text
    file, out = tmp_path / "much.tsf.toml", tmp_path / "out"
    file.write_text(text.replace("data_timeout_s = 30.0", "data_timeout_s = 15.0"))
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    much, little = (
        [r for r in rows(out) if r["configuration"] == str(n)] for n in (118, 48)
    )  # fmt: skip
    assert len(much) == len(little) == 4 and all(int(r["lost"]) for r in much)
    assert sum(int(r["received"]) for r in little) >= 0.9 * sum(int(r["sent"]) for r in little)


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
@pytest.mark.parametrize("adapter", ["sockets", "dds"])
def test_multicast_reaches_several_sites_though_it_is_encrypted(adapter, tmp_path):
    if why := tunnels.lacking("wireguard-vxlan", Path(EC1FED)):
        pytest.skip(why)
    if adapter == "dds" and not Path(EC1FED).with_name("libbench-dds.so").exists():
        pytest.skip("Cyclone DDS is not here")
    out = tmp_path / "out"
    ec1("phase2", out, "--adapters", adapter, "--topology", "1-N", "--only", "2,3", "--sites",
        "wireguard-vxlan", "--seconds-per-configuration", "0.5")  # fmt: skip
    assert len(rows(out)) == 2 * 4
    for row in rows(out):
        assert int(row["received"]) > 0
        assert row["transport"] != "reliable" or row["received"] == row["sent"]


def test_starlings_multicast_reaches_several_sites(tmp_path):
    """By one datagram for all, as `starling ps` says of the way; what is reliable by links."""
    out = tmp_path / "out"
    ec1("phase2", out, "--adapters", "starling-multicast", "--topology", "1-N", "--only", "42,43",
        "--sites", "lan", "--seconds-per-configuration", "0.5")  # fmt: skip
    summaries = json.loads((out / "summary.json").read_text())
    assert len(summaries) == 2 * 4
    for s in summaries:
        assert s["received"] == s["sent"], s["why"]
        assert ("multicast" in s["way"]) == (s["transport"] == "best_effort"), s["way"]
    assert "Not what its name says" not in (out / "report.html").read_text()


@pytest.mark.long
def test_who_fragments_is_counted_at_the_sender(tmp_path):
    """2048 bytes: of UDP IP makes two of each at an MTU of 1500 and none at 9000, of TCP none."""
    out = tmp_path / "out"
    ec1("phase2", out, "--only", "6,7", "--adapters", "sockets", "--sites", "lan,lan-9000",
        *COMMON)  # fmt: skip
    found = {(r["sequence"].split(".")[2], r["transport"]): r for r in rows(out)}
    assert len(found) == 4
    for (profile, transport), row in found.items():
        cut = (profile, transport) == ("lan", "best_effort")
        assert int(row["fragments"]) == (2 * int(row["sent"]) if cut else 0)
    page = (out / "report.html").read_text()
    assert "Who fragments" in page and "not IP: what carries it (a TCP link)" in page
    assert "host: 2 fragments an update" in page


@pytest.mark.long
def test_gateways_stand_between_sites(tmp_path):
    """From every adapter to every other, each federate on a host of its own."""
    out = tmp_path / "out"
    between = "tcp,multicast,dis,starling"
    ec1("phase1", out, "--count", "2", "--adapters", "dis", "--between", between, "--sites", "lan")
    names = between.split(",")
    ways = {r["sequence"].split(".")[1]: int(r["received"]) for r in rows(out)}
    assert ways == dict.fromkeys(["dis", *(f"{a}-{b}" for a in names for b in names if a != b)], 1)
    for e in run_of(out)["executions"]:
        assert e["hosts"].startswith("2 systems, emulated; lan-1: 100 Mbit/s")
    large = tmp_path / "large"
    ec1("phase2", large, "--only", "40", "--adapters", "dis+starling", "--topology", "1-N",
        "--sites", "wan", "--seconds-per-configuration", "0.3")  # fmt: skip
    # There and back again through links of 20 ms less what varies, each way.
    assert len(rows(large)) == 4
    for row in rows(large):
        assert int(row["sent"]) == int(row["received"]) + int(row["lost"])
        assert not int(row["received"]) or float(row["min_ms"]) >= 18


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


def made(count: int, tmp_path: Path) -> list[list[str]]:
    """What `ip` is asked for IPsec between so many sites, by site."""
    every = [tunnels.Site(f"s{n}", f"10.77.0.{n}", 1500) for n in range(1, count + 1)]
    asked: dict[str, list[str]] = {site.space: [] for site in every}

    async def tool(*command: str, may_fail: bool = False) -> bool:
        _, _, space, *rest = command
        if rest[0] == "-batch":
            file = Path(rest[1])
            assert file.stat().st_mode & 0o777 == 0o600
            asked[space] += file.read_text().splitlines()
        else:
            asked[space].append(" ".join(rest))
        return True

    inside, said = asyncio.run(tunnels.build("ipsec", every, tool, None, Path(EC1FED), tmp_path))
    assert inside == [f"10.78.0.{n}" for n in range(1, count + 1)] and said == ""
    assert not list(tmp_path.iterdir())  # nor the keys
    return list(asked.values())


@pytest.mark.parametrize("count", [2, 5])
def test_ipsec_has_a_key_for_each_way_which_both_ends_know(monkeypatch, tmp_path, count):
    """Known by its commands only where the kernel has no ESP: the kernel takes the policies, and
    refuses the rest for nothing but what it lacks."""
    monkeypatch.setattr(tunnels, "lacking", lambda *_: "")
    asked = made(count, tmp_path)
    assert all(line.endswith("if_id 78") for lines in asked for line in lines
               if line.startswith("xfrm") or " type xfrm " in line)  # fmt: skip
    assert all(" reqid 78 " in line for lines in asked for line in lines if " esp " in line)
    states = Counter(line for lines in asked for line in lines if line.startswith("xfrm state"))
    assert len(states) == count * (count - 1) and set(states.values()) == {2}
    for word in ("0x", " spi "):
        assert len({state.partition(word)[2].split()[0] for state in states}) == len(states)
    for n, lines in enumerate(asked, 1):
        policies = [line for line in lines if line.startswith("xfrm policy")]
        out = [line for line in policies if " dir out " in line]
        assert all(f"src 10.78.0.{n}/32" in line for line in out)
        assert len(out) == len(policies) / 2 == (count - 1) * (2 if count == 2 else 1)
        done = subprocess.run(["unshare", "--net", "ip", "-batch", "-"], text=True,
                              input="\n".join(policies) + "\n", capture_output=True)  # fmt: skip
        if "not supported" not in done.stderr:  # by a kernel without any of it
            assert (done.returncode, done.stderr) == (0, "")


def test_why_there_is_no_ipsec_is_said():
    why = tunnels.lacking("ipsec", Path(EC1FED))
    if not why:
        pytest.skip("this kernel has ESP")
    assert why.startswith(("no ESP with AES-GCM and its interface here: ", "whether this kernel"))
    usable, notes = sites.usable(["lan", "ipsec"], EC1FED)
    assert usable == ["lan"] and notes == [f"1 kinds of sites skipped: ipsec: {why}"]
