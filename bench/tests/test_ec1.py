"""EC1: its configurations, plans, and what small runs of its phases give."""

import asyncio
import contextlib
import importlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from ec1_runs import EC1FED, FOM, NEEDED, RTI_ROOT, ec1, rows, run_of
from runs import LIMIT_S
from test_network import possible
from test_standin import (
    STANDIN_ROOT,
    server as server,  # the fixture
)

from starling_bench.errors import BenchError
from starling_bench.flows import flows, updates
from starling_bench.machines import rti
from starling_bench.machines.network import HERE
from starling_bench.machines.rti_status import RtiStatus
from starling_bench.machines.topologies import TOPOLOGIES
from starling_bench.studies.ec1 import STUDY, plans
from starling_bench.studies.ec1.configurations import COUNT, configuration
from starling_bench.tsf import plan, planned
from starling_bench.tsf.planned import Wanted


def test_configurations_are_numbered_as_in_the_source():
    every = [configuration(n) for n in range(COUNT)]
    assert COUNT == 120
    assert {c.entities for c in every[:40]} == {1} and {c.entities for c in every[40:80]} == {10}
    assert {c.entities for c in every[80:]} == {100}
    # Ten of each rate, two of each payload; even ones are best effort.
    assert [c.rate for c in every[::10]] == [10, 20, 60, 120] * 3
    assert [c.payload for c in every[:10:2]] == [128, 512, 1024, 2048, 9000]
    assert all((c.transport == "best_effort") == (c.number % 2 == 0) for c in every)
    assert len({(c.entities, c.rate, c.payload, c.transport) for c in every}) == COUNT


def test_topologies_have_their_flows_and_hosts():
    flows = {name: len(t.pairs()) for name, t in TOPOLOGIES.items()}
    assert flows == {"1-1": 1, "1-N": 4, "N-1": 4, "N-N": 25}
    assert {name: t.hosts for name, t in TOPOLOGIES.items()} == {
        "1-1": 2, "1-N": 5, "N-1": 5, "N-N": 5
    }  # fmt: skip
    # Publisher and subscriber are two processes of one host.
    assert Counter(host for _, host in TOPOLOGIES["N-N"].federates()) == {n: 2 for n in range(1, 6)}


chosen = partial(planned.numbers, count=120, option="--only", of="configurations")


def test_what_only_names():
    assert chosen("40-42,3,41") == [40, 41, 42, 3]
    assert chosen("3,") == [3]
    assert chosen(None) == list(range(120))
    for wrong in ("", ",", "120", "3-", "x", "9-130", "79-40", "3,9-8", "²", "1-²", "-5"):
        with pytest.raises(BenchError, match="is no range of configurations"):
            chosen(wrong)


def test_the_committed_fom_is_the_scripts_output():
    made = subprocess.run(
        [sys.executable, FOM.with_name("make_pbom.py")], text=True, capture_output=True, check=True
    )
    assert FOM.read_text() == made.stdout


def wanted(**more) -> Wanted:
    usual = {
        "program": "/bin/true",
        "adapters": ["sockets", "starling"],
        "topologies": list(TOPOLOGIES),
        "numbers": chosen(None),
        "profiles": ["local"],
        "seed": 7,
    }
    return Wanted(**usual | more)


@pytest.mark.parametrize(
    ("fields", "fine"),
    [("entities = 65536\nrate = 1e5", False), ("entities = 100\nrate = [1e5, 10.0]", False),
     ("entities = 100\nrate = 1e4", True), ("entities = 65536\nupdates = 20000", False)],
)  # fmt: skip
def test_more_updates_than_a_federate_counts_are_refused(tmp_path, fields, fine):
    """Before anything is started: what it would say is its own bound."""
    one = wanted(numbers=[1], adapters=["sockets"], topologies=["1-1"])
    text = plans.configurations(one).replace("configuration = [1]", fields)
    file = tmp_path / "t.tsf.toml"
    file.write_text(text.replace("seconds = 1.0", "seconds = 100.0"))
    if fine:
        assert plan.load(file, STUDY).sequence
        return
    with pytest.raises(BenchError, match="these are too many updates"):
        plan.load(file, STUDY)


@pytest.mark.parametrize(("lag_s", "fine"), [(10.0, True), (10.5, False)])
def test_who_looks_so_seldom_that_it_seems_dead_is_refused(tmp_path, lag_s, fine):
    """A third of the 30 s that a campaign waits for data."""
    one = wanted(numbers=[1], adapters=["sockets"], topologies=["1-1"], more={"lag_s": lag_s})
    file = tmp_path / "t.tsf.toml"
    file.write_text(plans.configurations(one))
    if fine:
        assert plan.load(file, STUDY).sequence
        return
    with pytest.raises(BenchError, match=r"lag_s .10\.5. is over a third of data_timeout_s .30."):
        plan.load(file, STUDY)


def test_a_plan_has_every_configuration_in_an_order_of_its_seed():
    text = plans.configurations(wanted())
    assert plans.configurations(wanted()) == text != plans.configurations(wanted(seed=8))
    found = tomllib.loads(text)
    assert len(found["sequence"]) == 8
    for sequence in found["sequence"]:
        tests = sequence["execution"][0]["test"]
        numbers = [n for t in tests for n in t["configuration"]]
        assert sorted(numbers) == list(range(120)) and numbers != sorted(numbers)
        if "sockets" in sequence["name"]:
            carried = {t["rti"]: {n % 2 for n in t["configuration"]} for t in tests}
            assert carried == {"multicast": {0}, "tcp": {1}}


@pytest.mark.parametrize("more", [{"adapters": ["dis"]}, {"profiles": ["lan"]}])
def test_what_can_not_be_carried_is_not_planned(more):
    found = tomllib.loads(plans.configurations(wanted(**more)))
    numbers = {n for s in found["sequence"] for t in s["execution"][0]["test"]
               for n in t["configuration"]}  # fmt: skip
    if "adapters" in more:
        assert numbers == {n for n in range(0, 120, 2) if configuration(n).payload < 9000}
    else:
        assert len(found["host"]) == 5 and found["host"][0]["rate_mbit"] == 100


def test_a_gateway_bundles_nothing():
    """It hands on at once what it has: no test of it says otherwise."""
    one = wanted(adapters=["starling", "dis+starling"], topologies=["1-1"], numbers=[40],
                 more={"bundling": [False, True]})  # fmt: skip
    alone, through = tomllib.loads(plans.configurations(one))["sequence"]
    assert alone["execution"][0]["test"][0]["bundling"] == [False, True]
    assert "bundling" not in through["execution"][0]["test"][0]


def test_where_nothing_can_be_carried_that_is_said():
    with pytest.raises(BenchError, match="none of these adapters carries any") as told:
        plans.configurations(wanted(adapters=["dis"], numbers=[3]))
    assert told.value.where == "--only"


def test_hybrids_have_two_sides_that_are_known():
    assert planned.between("", plans.HYBRIDS, "x") == []
    assert planned.between("tcp,dis", plans.HYBRIDS, "x") == ["tcp+dis", "dis+tcp"]
    for text, why in (("tcp", "'tcp' is one side alone"), ("tcp,x", "'x' is not known")):
        with pytest.raises(BenchError, match=why):
            planned.between(text, plans.HYBRIDS, "--between")
    with pytest.raises(BenchError, match="'sockets' is an adapter of ours"):
        planned.names('[[rti]]\nname = "sockets"\n', "--rtis", plans.ADAPTERS)


@pytest.mark.long
@NEEDED
def test_phase_two_runs_and_every_update_is_accounted_for(tmp_path):
    """Two topologies over plain sockets and Starling; then the report is made anew."""
    out = tmp_path / "out"
    ec1("phase2", out, "--only", "0,1,40,43", "--topology", "1-1,N-1", "--seed", "3",
        "--seconds-per-configuration", "0.4")  # fmt: skip
    found = rows(out)
    assert len(found) == 2 * 4 * (1 + 4)
    for row in found:
        one = configuration(int(row["configuration"]))
        counts = {k: int(row[k]) for k in ("sent", "received", "lost", "conflated", "wrong")}
        assert counts["sent"] == counts["received"] + counts["lost"] + counts["conflated"]
        assert counts["sent"] + int(row["unsent"]) == one.entities * one.rate * 0.4
        assert (int(row["entities"]), int(row["payload"])) == (one.entities, one.payload)
        assert row["transport"] == one.transport and counts["wrong"] == 0
        if one.transport == "reliable":
            assert counts["lost"] == 0
        path = updates.path_of(out / row["sequence"] / row["execution"], int(row["test"]), 1,
                               row["receiver"])  # fmt: skip
        stamps = parquet.read_table(path, columns=["sent_ns", "publisher"])
        mine = stamps["sent_ns"].to_numpy()[stamps["publisher"].to_numpy() == int(row["publisher"])]
        # A publisher's time and CPUs are those from its first to its last send, not of its waits.
        if counts["received"] == counts["sent"]:
            assert float(row["send_s"]) == pytest.approx((mine.max() - mine.min()) / 1e9, abs=1e-9)
        assert 0 <= float(row["cpu_busy"]) <= 1 and row["tired"] == "0"
        if counts["received"]:
            assert 0 < float(row["min_ms"]) <= float(row["p50_ms"]) <= float(row["max_ms"])
    before = (out / "results.csv").read_text()
    # What was measured is known by its libraries, of which the federates say nothing.
    for e in run_of(out)["executions"]:
        rti = any(name.startswith("librti1516e") for name in e["libraries"])
        assert rti == ("starling" in e["sequence"]) and any("libbench" in n for n in e["libraries"])
    assert not list(out.rglob("*.raw")) and len(list(out.rglob("*.parquet"))) == 4 * 4
    ec1("report", out)
    assert (out / "results.csv").read_text() == before
    page = (out / "report.html").read_text()
    # The source's nine figures for each topology, and its statements.
    assert page.count("<figure>") == 2 * 9
    for text in ("2. Throughput per flow", "10. CPU by offered load", "latency grows with payload"):
        assert text in page, text
    # Best effort is some, also on one host.
    assert "Not what its name says" not in page


@NEEDED
def test_what_is_not_what_its_name_says_is_marked_and_fails(tmp_path):
    """Nothing overwrites what plain sockets have sent."""
    out = tmp_path / "out"
    said = ec1("phase2", out, "--adapters", "sockets", "--topology", "1-1", "--only", "1",
               "--conflate", "on", "--seconds-per-configuration", "0.3", code=1)  # fmt: skip
    assert "not what its name says: 1-1 sockets latest, reliable" in said
    page = (out / "report.html").read_text()
    assert "Not what its name says (best effort on a reliable link, or nothing overwritten)" in page


@pytest.mark.long
@NEEDED
@pytest.mark.parametrize("adapter", ["starling", "dds"])
def test_conflation_keeps_the_newest_and_what_was_overwritten_is_counted(tmp_path, adapter):
    """For a subscriber that lags, under both deliveries; without it all comes, and is older. On DDS
    keep-last 1 against keep-all."""
    if adapter == "dds" and not Path(EC1FED).with_name("libbench-dds.so").exists():
        pytest.skip("Cyclone DDS is not here")
    out = tmp_path / "out"
    ec1("phase2", out, "--adapters", adapter, "--topology", "1-1", "--only", "70,71", "--lag-s",
        "0.2", "--conflate", "both", "--seconds-per-configuration", "1")  # fmt: skip
    found = {(r["transport"], r["conflate"]): r for r in rows(out)}
    assert len(rows(out)) == 4
    for row in found.values():
        assert int(row["sent"]) == int(row["received"]) + int(row["lost"]) + int(row["conflated"])
        # What the RTI, or DDS, counted is as many as did not come, not only cut to fit.
        assert row["miscounted"] == "0"
        if row["transport"] == "reliable":
            assert row["lost"] == "0"
            # What was overwritten is not waited for: all is there once the newest of each is.
            assert row["tired"] == "0"
    for transport in ("reliable", "best_effort"):
        newest, every = found[transport, "1"], found[transport, "0"]
        # A subscriber that looks five times a second sees as many values of each of ten entities.
        assert int(newest["conflated"]) > int(newest["received"]) > 0
        assert float(newest["reliability"]) < 0.5 and every["conflated"] == "0"
        assert float(newest["p50_ms"]) < float(every["p50_ms"])
    assert found["reliable", "0"]["received"] == found["reliable", "0"]["sent"]
    page = (out / "report.html").read_text()
    assert "Age beside reliability" in page and f"{adapter} latest" in page


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(not possible(), reason="network namespaces need root")
def test_what_a_link_loses_is_not_called_overwritten(tmp_path):
    """Best effort between sites whose link loses a tenth, to a subscriber that does not look for a
    while: the RTI says what it replaced, and the rest was lost."""
    only = wanted(program=EC1FED, adapters=["starling"], topologies=["1-1"], numbers=[60],
                  profiles=["wan"], more={"conflate": True, "lag_s": 0.2},
                  rti_root=Path(RTI_ROOT))  # fmt: skip
    text = plans.configurations(only)
    file, out = tmp_path / "lossy.tsf.toml", tmp_path / "out"
    # What overtakes what was sent before it makes that too late, which is as good as lost.
    for one, other in (("loss = 0.001", "loss = 0.1"), ("jitter_ms = 2", "jitter_ms = 0"),
                       ("seconds = 1.0", "seconds = 3.0")):  # fmt: skip
        assert one in text
        text = text.replace(one, other)
    file.write_text(text)
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--rti-root", RTI_ROOT,
        "--idle-wait-s", "0")  # fmt: skip
    (row,) = rows(out)
    sent, received, lost, conflated = (int(row[k]) for k in ("sent", "received", "lost",
                                                             "conflated"))  # fmt: skip
    assert sent == 1800 == received + lost + conflated
    # Binomial, five deviations: a tenth of the last second at least, as datagrams may begin late
    # where TCP must agree on that; at most of all, and of two links where rtiexec hands on.
    assert 0.1 * 600 - 5 * 7.4 < lost < 0.19 * 1800 + 5 * 17 and conflated > received, row


def test_what_newer_updates_replaced_is_told_from_what_was_lost():
    """As the RTI counts it, or DDS what it lost; of several flows each has its share."""
    of = {"missing_of_all": 100, "missing_before": 0, "lost_on_the_way": None}
    assert flows._overwritten(of | {"replaced": 60}, 100) == (60, 0)
    assert flows._overwritten(of | {"replaced": 0}, 100) == (0, 0)
    # Who overwrites nothing, or does not say so, has lost it.
    assert flows._overwritten(of, 100) == flows._overwritten(of | {"replaced": None}, 100) == (0, 0)
    assert flows._overwritten(of | {"lost_on_the_way": 7}, 100) == (93, 0)
    shares, before = [], 0
    for missing in (33, 0, 1, 66):
        told = of | {"replaced": 61, "missing_before": before}
        mine, wrong = flows._overwritten(told, missing)
        before += missing
        shares.append(mine)
        assert 0 <= mine <= missing and wrong == 0
    assert sum(shares) == 61


def test_a_count_of_what_was_replaced_that_does_not_fit_is_not_cut_in_silence():
    of = {"missing_of_all": 100, "missing_before": 0, "lost_on_the_way": None}
    assert flows._overwritten(of | {"replaced": 103}, 100) == (100, 3)
    assert flows._overwritten(of | {"replaced": -2}, 100) == (0, 2)
    assert flows._overwritten(of | {"missing_of_all": 0, "replaced": 4}, 0) == (0, 4)
    assert flows._overwritten(of | {"lost_on_the_way": 105}, 100) == (0, 5)


_FORGED = """#!{python}
import json, os, subprocess, sys
program = "{program}"
if sys.argv[1] != "ps":
    os.execv(program, [program, *sys.argv[1:]])
said = subprocess.run([program, *sys.argv[1:]], capture_output=True, text=True)
status = json.loads(said.stdout)
for one in status["federations"]:
    for federate in one["federates"]:
        federate["counters"]["conflated"] += 1000 * federate["calls"]
print(json.dumps(status))
"""


@pytest.mark.long
@NEEDED
def test_an_rti_that_counts_more_as_replaced_than_did_not_come_is_found_out(tmp_path):
    """Its command says more with every service that a federate calls."""
    root, out = tmp_path / "root", tmp_path / "out"
    (root / "bin").mkdir(parents=True)
    for part in Path(RTI_ROOT).iterdir():
        if part.name != "bin":
            (root / part.name).symlink_to(part)
    forged = root / "bin" / "starling"
    forged.write_text(_FORGED.format(python=sys.executable, program=f"{RTI_ROOT}/bin/starling"))
    forged.chmod(0o755)
    said = ec1("phase2", out, "--adapters", "starling", "--topology", "1-1", "--only", "71",
               "--lag-s", "0.2", "--conflate", "on", "--seconds-per-configuration", "0.5",
               "--rti-root", str(root), code=1)  # fmt: skip
    assert "counts do not add up: 1-1 starling latest, reliable" in said
    (row,) = rows(out)
    assert int(row["miscounted"]) >= 1000
    page = (out / "report.html").read_text()
    assert "Counts do not add up (more updates were counted" in page
    assert 'class="verdict bad"' in page


def test_counts_of_before_are_not_taken_for_those_of_after():
    """Federates tell them once a second: what the RTI says at once may lack the sample."""
    told = [{"pub1": (3, 0), "sub1": (5, 1)}, {"pub1": (4, 0), "sub1": (5, 1)},
            {"pub1": (4, 0), "sub1": (6, 9)}]  # fmt: skip

    async def said() -> str:
        every = [{"name": n, "calls": c, "counters": {"conflated": r}}
                 for n, (c, r) in told.pop(0).items()]  # fmt: skip
        return json.dumps({"federations": [{"federates": every}]})

    status = RtiStatus(rti.ADAPTERS["starling"](), rti.Prepared({}, ""), HERE, "")
    status._said = said
    assert asyncio.run(status.replaced()) == {"pub1": 0, "sub1": 9} and not told


@pytest.mark.long
@NEEDED
def test_bundling_makes_updates_come_at_once_in_steps_with_rate(tmp_path):
    """One entity at 10, 20, 60 and 120 Hz, bundles that wait for 50 ms: 1, 1 or 2, 3, 6 at once."""
    out = tmp_path / "out"
    ec1("phase2", out, "--adapters", "starling", "--topology", "1-1", "--only", "1,11,21,31",
        "--bundling", "both", "--bundle-ms", "50", "--seconds-per-configuration", "2")  # fmt: skip
    found = {(".bundled" in r["sequence"], float(r["rate"])): r for r in rows(out)}
    assert len(found) == 8 and all(r["received"] == r["sent"] for r in found.values())
    steps = [float(found[True, rate]["together"]) for rate in (10, 20, 60, 120)]
    alone = [float(found[False, rate]["together"]) for rate in (10, 20, 60, 120)]
    assert steps == sorted(steps) and steps[0] < 1.5 and steps[2] > 2 and steps[3] > 4
    assert max(alone) < steps[2]
    # Who waits is late: the first of a bundle by all of the time, if the publisher, which looks for
    # callbacks, too, does not end it: but the first, the last with which the test ends, and those
    # whose publisher the machine's other work has held up.
    assert float(found[True, 10]["p50_ms"]) > float(found[False, 10]["p50_ms"])
    slow = found[True, 10]
    raw = updates.path_of(out / slow["sequence"] / "all", int(slow["test"]), 1, "sub1")
    took_ms = [ns / 1e6 for ns in parquet.read_table(raw)["latency_ns"].to_pylist()]
    assert len(took_ms) == 20 and sum(took > 49 for took in took_ms) > 10, took_ms
    page = (out / "report.html").read_text()
    assert "Bundling by rate" in page and "in 50 ms" in page
    assert "bundling: updates come at once, more by rate" in page


@NEEDED
def test_what_the_host_itself_is_late_is_drawn_as_the_floor(tmp_path):
    """Real-time scheduling beside normal; where it is not allowed that is said."""
    out = tmp_path / "out"
    ec1("phase2", out, "--adapters", "sockets", "--topology", "1-1", "--only", "1,3",
        "--real-time", "both", "--seconds-per-configuration", "0.3")  # fmt: skip
    found = rows(out)
    assert len(found) == 4
    kinds = {r["scheduling"] for r in found}
    assert "normal" in kinds and len(kinds) == 2
    for row in found:
        assert 0 <= float(row["wake_p50_us"]) <= float(row["wake_max_us"])
        assert float(row["wake_sd_us"]) > 0
    page = (out / "report.html").read_text()
    assert "Scheduling, and the host's own wake-ups" in page.replace("&#x27;", "'")
    assert "the host's wake-ups, least of the medians" in page.replace("&#x27;", "'")
    if "real-time" in kinds:
        assert "sockets real-time" in page
    else:
        assert os.environ.get("REQUIRE_ALL") != "1"
        assert "Real-time scheduling was asked for and is not allowed here" in page


@pytest.mark.long
@NEEDED
def test_half_of_real_time_is_none(tmp_path):
    """Who may not lock its memory has no real-time priority either, and is not called so."""
    if os.geteuid() != 0:
        assert os.environ.get("REQUIRE_ALL") != "1"
        pytest.skip("who takes rights away is root")
    out = tmp_path / "out"
    without = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock",
               "prlimit", "--memlock=0"]  # fmt: skip
    manager = subprocess.Popen(
        [*without, sys.executable, "-m", "starling_bench", "ec1", "phase2", "--out", str(out),
         "--ec1fed", EC1FED, "--idle-wait-s", "0", "--rti-root", RTI_ROOT, "--adapters", "sockets",
         "--topology", "1-1", "--only", "1", "--real-time", "on"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    seen = set()
    while manager.poll() is None:
        for at in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (at / "cmdline").read_bytes().split(b"\0")
                if words[0] == EC1FED.encode() and str(out).encode() in b" ".join(words):
                    seen.add(os.sched_getscheduler(int(at.name)))
        time.sleep(0.01)
    said = manager.communicate(timeout=LIMIT_S)[0]
    assert manager.returncode == 0, said
    assert seen == {os.SCHED_OTHER}
    assert {r["scheduling"] for r in rows(out)} == {"real-time not allowed"}


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(
    not STANDIN_ROOT and os.environ.get("REQUIRE_ALL") != "1", reason="STANDIN_ROOT is not set"
)
def test_what_an_rti_loses_and_doubles_is_counted_as_such(tmp_path, server):
    """Half a thousand updates; of the best-effort ones a tenth does not come and a tenth twice."""
    rtis, out = tmp_path / "rtis.toml", tmp_path / "out"
    rtis.write_text(
        f'[[rti]]\nname = "bad"\nadapter = "generic"\nroot = "{STANDIN_ROOT}"\n'
        f'local_settings = "standin://{server.at}"\n'
        '[rti.env]\nSTANDIN = "lose=best_effort:0.1,double=best_effort:0.1"\n'
    )
    ec1("phase2", out, "--adapters", "bad", "--rtis", str(rtis), "--topology", "1-1", "--only",
        "40,41", "--bundling", "on", "--seconds-per-configuration", "5")  # fmt: skip
    found = {r["transport"]: {k: int(r[k]) for k in ("sent", "received", "lost", "duplicates")}
             for r in rows(out)}  # fmt: skip
    assert found["reliable"] == {"sent": 500, "received": 500, "lost": 0, "duplicates": 0}
    bad = found["best_effort"]
    assert bad["sent"] == bad["received"] + bad["lost"] == 500
    # Binomial, five deviations.
    assert abs(bad["lost"] - 50) < 5 * 6.8 and abs(bad["duplicates"] - 45) < 5 * 6.5


CLOCKS = """
[[host]]
name = "a"
kind = "ssh"
address = "127.0.0.1"
[[host]]
name = "b"
kind = "ssh"
address = "127.0.0.2"
[[sequence]]
name = "s"
fom = "{fom}"
master = "sub1"
[sequence.rti]
adapter = "tcp"
[[sequence.federate]]
name = "pub1"
host = "a"
[[sequence.federate]]
name = "sub1"
host = "{second}"
[[sequence.pair]]
sender = "pub1"
receiver = "sub1"
[[sequence.execution]]
name = "e"
[[sequence.execution.test]]
configuration = 1
"""


def test_hosts_whose_clocks_differ_and_are_not_compared_are_refused(tmp_path):
    """Before anything is started or reached; one such host is as good as this one."""
    file = tmp_path / "t.tsf.toml"
    file.write_text(CLOCKS.format(fom=FOM, second="b"))
    said = 'hosts a, b are machines of their own, and clock = "same": give "estimate"'
    with pytest.raises(BenchError, match=said) as told:
        plan.load(file, STUDY, False)
    assert f"{file}:" in str(told.value)
    for text in (CLOCKS.format(fom=FOM, second="a"),
                 CLOCKS.format(fom=FOM, second="b") + 'clock = "estimate"\n'):  # fmt: skip
        file.write_text(text)
        assert plan.load(file, STUDY, False).sequence[0].name == "s"


@pytest.mark.parametrize(("bytes_", "said"), [(b"\xe4", "can't decode"), (None, "No such file")])
def test_a_file_of_rtis_that_cannot_be_read_is_told(tmp_path, bytes_, said):
    file = tmp_path / "rtis.toml"
    if bytes_:
        file.write_bytes(bytes_)
    with pytest.raises(BenchError, match=said) as told:
        planned.text_of(file, "--rtis")
    assert told.value.where == "--rtis" and planned.text_of(None, "--rtis") == ""


def test_an_update_has_a_payload(tmp_path):
    """Of nothing there is no throughput, nor what of it is met."""
    file = tmp_path / "t.tsf.toml"
    file.write_text(CLOCKS.format(fom=FOM, second="a").replace("configuration = 1", "payload = 0"))
    with pytest.raises(BenchError, match="payload: 0 is too small"):
        plan.load(file, STUDY, False)


@NEEDED
def test_phase_one_reaches_every_site_from_every_site(tmp_path):
    out = tmp_path / "out"
    ec1("phase1", out, "--count", "3", "--adapters", "sockets,starling")
    ways = Counter((r["sequence"].split(".")[1], r["transport"]) for r in rows(out))
    assert ways == {(a, t): 6 for a in ("sockets", "starling") for t in ("reliable", "best_effort")}
    assert all(int(r["received"]) == 1 for r in rows(out) if r["transport"] == "reliable")
    came = Counter()
    for r in rows(out):
        came[r["sequence"].split(".")[1], r["transport"]] += int(r["received"])
    assert came.keys() == ways.keys() and all(came.values())
    reached = came.total()
    assert (
        f"{reached} of 24 ways were gone by one update each." in (out / "report.html").read_text()
    )


@NEEDED
def test_phase_one_goes_from_every_adapter_to_every_other(tmp_path):
    """Through gateways, one update each; the report has one matrix of them."""
    out = tmp_path / "out"
    ec1("phase1", out, "--count", "2", "--adapters", "dis", "--between", "tcp,dis,starling")
    ways = {r["sequence"].split(".")[1]: int(r["received"]) for r in rows(out)}
    assert ways == dict.fromkeys(
        ("dis", "tcp-dis", "tcp-starling", "dis-tcp", "dis-starling", "starling-tcp",
         "starling-dis"), 1
    )  # fmt: skip
    page = (out / "report.html").read_text()
    assert "Connectivity: between adapters, through a gateway" in page and "NOT" not in page


@pytest.mark.long
@NEEDED
def test_a_hybrid_of_dis_and_hla_is_measured_as_any_other(tmp_path):
    """Time stamps are those of the publisher, on the other side of the gateway."""
    out = tmp_path / "out"
    ec1("phase2", out, "--only", "40,41,48", "--topology", "1-N", "--adapters", "dis+starling",
        "--seconds-per-configuration", "0.4")  # fmt: skip
    found = rows(out)
    # What a PDU can't carry, or DIS not reliably, is not planned.
    assert {r["configuration"] for r in found} == {"40"} and len(found) == 4
    for row in found:
        assert int(row["sent"]) == int(row["received"]) + int(row["lost"]) > 0
        assert 0 < float(row["min_ms"]) < 10_000


@NEEDED
def test_a_site_that_never_comes_is_named_with_the_reason(tmp_path):
    """The other adapters go on, and the table says what failed and why."""
    out = tmp_path / "out"
    rtis = tmp_path / "rtis.toml"
    rtis.write_text(
        '[[rti]]\nname = "other"\nadapter = "generic"\n'
        f'root = "{RTI_ROOT}"\n[rti.env]\nSTARLING_CONNECT_ADDRESS = "127.0.0.1:1"\n'
        'STARLING_CONNECT_TIMEOUT_S = "1"\n'
    )
    said = ec1("phase1", out, "--count", "2", "--adapters", "other,sockets", "--rtis", str(rtis),
               code=3)  # fmt: skip
    assert "STL-RUN-003" in said and "can't be reached" in said
    assert {r["sequence"].split(".")[1] for r in rows(out)} == {"sockets"}
    page = (out / "report.html").read_text()
    assert "What failed" in page and "mesh.other.local" in page


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(
    not STANDIN_ROOT and os.environ.get("REQUIRE_ALL") != "1", reason="STANDIN_ROOT is not set"
)
@pytest.mark.parametrize(
    ("rules", "patience_s", "before"),
    [("best_effort:1", 5, "none before it came this way, either: 3 of 3 instances were discovered"),
     # So often that hardly ever all four come, and of some hundreds before one does.
     ("best_effort:0.9", 30, "updates before it came this way")],
)  # fmt: skip
def test_of_what_did_not_come_it_is_said_why(tmp_path, server, rules, patience_s, before):
    """How long it was waited for, with which delivery, and what was heard of its sender before."""
    table = (
        f'[[rti]]\nname = "bad"\nadapter = "generic"\nroot = "{STANDIN_ROOT}"\n'
        f'local_settings = "standin://{server.at}"\n[rti.env]\nSTANDIN = "lose={rules}"\n'
    )
    bad = wanted(program=EC1FED, adapters=["bad"], tables=table)
    file, out = tmp_path / "bad.tsf.toml", tmp_path / "out"
    text = plans.connectivity(bad, 4)
    assert "data_timeout_s = 30.0" in text
    file.write_text(text.replace("data_timeout_s = 30.0", f"data_timeout_s = {patience_s}.0"))
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    lost = [r for r in rows(out) if r["received"] == "0"]
    assert len(rows(out)) == 2 * 4 * 3 and {r["why"] for r in rows(out) if r not in lost} == {""}
    assert lost and {r["transport"] for r in lost} == {"best_effort"}
    page = (out / "report.html").read_text()
    for row in lost:
        waited, how, said = row["why"].split("; ")
        # As long as a sample is waited for in which nothing more comes, and a little more.
        assert float(waited.removeprefix("not there ").removesuffix(" s later")) >= 0.5
        assert (how, said) == ("best effort, which nobody sends again", before)
        assert f"best effort: {row['sender']} → {row['receiver']}" in page and waited in page
    assert page.count("NOT: see below") == len(lost)


_BLIND = 'mount --bind "$0" /proc/stat && exec "$@"'


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(not possible(), reason="mount namespaces need root")
def test_the_cpus_of_subscribers_hosts_count_too(tmp_path):
    """A publisher's host does nothing, as far as it sees; a CPU of the subscriber's is busy."""
    stat, file, out = tmp_path / "stat", tmp_path / "t.tsf.toml", tmp_path / "out"
    stat.write_bytes(Path("/proc/stat").read_bytes())
    blind = json.dumps(["unshare", "-m", "sh", "-c", _BLIND, str(stat), EC1FED])
    text = CLOCKS[CLOCKS.index("[[sequence]]") :].format(fom=FOM, second="localhost")
    file.write_text(text.replace('host = "a"', f"command = {blind}"))
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    finally:
        busy.kill()
        busy.wait()
    (row,) = rows(out)
    assert float(row["cpu_busy"]) > 0


@pytest.mark.long
@NEEDED
def test_an_independent_library_parses_the_pdus(tmp_path):
    """Entity State PDUs of DIS 7, one for each update, each carrying the PBOM."""
    need = importlib.import_module if os.environ.get("REQUIRE_ALL") == "1" else pytest.importorskip
    dis7 = need("opendis.dis7")
    from io import BytesIO

    from opendis.DataInputStream import DataInputStream

    # Its group is that of its federation execution, which has no other name in each run then.
    out, file = tmp_path / "out", tmp_path / "pdus.tsf.toml"
    plan = ("--only", "42", "--topology", "1-1", "--adapters", "dis")
    ec1("phase2", tmp_path / "plan", *plan, "--seconds-per-configuration", "0.4")
    planned = (tmp_path / "plan.tsf.toml").read_text()
    file.write_text(planned.replace('name = "all"', 'name = "all"\nfederation = "pdus"'))
    hashed = 2166136261
    for char in b"pdus":
        hashed = (hashed ^ char) * 16777619 % 2**32
    group = socket.inet_ntoa(struct.pack(">I", 0xEFC00000 | hashed & 0x3FFFF))
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    listener.bind((group, 20000 + (hashed >> 18) % 10000))
    where = struct.pack("=4s4si", socket.inet_aton(group), socket.inet_aton("127.0.0.1"), 0)
    listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, where)
    listener.setblocking(False)
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    seen = Counter()
    while True:
        try:
            data = listener.recv(65536)
        except BlockingIOError:
            break
        pdu = dis7.EntityStatePdu()
        pdu.parse(DataInputStream(BytesIO(data)))
        assert (pdu.protocolVersion, pdu.pduType, pdu.protocolFamily) == (7, 1, 1)
        assert pdu.length == len(data) == 144 + 16 * pdu.numberOfVariableParameters
        assert len(pdu.variableParameters) == pdu.numberOfVariableParameters
        assert bytes(pdu.marking.characters[:4]) == b"PBOM"
        carried = b"".join(data[at + 1 : at + 16] for at in range(144, len(data), 16))
        size, what, stamp, identity, sequence, test = struct.unpack("<IIQIII", carried[:28])
        assert (
            size == 20 + 512 and pdu.entityID.entityID == what - 16 + 1 == (identity & 0xFFFF) + 1
        )
        # The PDU's own time stamp is the same moment of the hour.
        hour = stamp % 3_600_000_000_000 / 3600e9
        assert abs((pdu.timestamp >> 1) / 2**31 - hour) < 1e-9
        if test:
            seen[identity & 0xFFFF, sequence] += 1
    (row,) = rows(out)
    assert len(seen) == int(row["sent"]) and set(seen.values()) == {1}


@pytest.mark.long
@NEEDED
def test_phase_zero_needs_no_rti(tmp_path):
    out = tmp_path / "out"
    ec1("phase0", out, "--only", "2,3", "--topology", "1-1", "--seconds-per-configuration", "0.3")
    assert {e["rti"] for e in run_of(out)["executions"]} == {"UDP multicast 1", "plain TCP 1"}


@pytest.mark.skipif(not possible(), reason="network namespaces need root")
@NEEDED
def test_what_left_the_hosts_is_told_beside_what_was_published(tmp_path):
    """By multicast each update once, by TCP once for each of four subscribers; acknowledged."""
    out = tmp_path / "out"
    ec1("phase0", out, "--only", "44,45,48,49", "--topology", "1-N", "--sites", "unlimited",
        "--seconds-per-configuration", "0.5", "--capture")  # fmt: skip
    told = json.loads((out / "summary.json").read_text())
    # The others are longer, so that one of theirs in their place would be seen.
    found = {s["transport"]: s for s in told if s["payload"] == 1024}
    for transport, copies in (("best_effort", 1), ("reliable", 4)):
        of = found[transport]
        each = of["left"]["carried"] / of["sent"] / of["payload"]
        assert of["sent"] == 50 and of["left"]["hosts"] == 5
        assert copies < each < 1.15 * copies
        assert of["left"]["dropped"] == 0
        heads = 14 + 20 + (8 if transport == "best_effort" else 20)
        assert of["left"]["link"] > of["left"]["carried"] + copies * 50 * heads
    assert found["reliable"]["left"]["empty"] > 50 > found["best_effort"]["left"]["empty"]
    (table,) = re.findall(
        r"<h2>What left the hosts</h2>.*?</table>", (out / "report.html").read_text(), re.DOTALL
    )
    assert table.count("<tr>") == 5 and ">unlimited<" in table


@NEEDED
def test_a_command_for_a_run_that_is_there_leaves_its_plan_alone(tmp_path):
    """So that it can be gone on with all the same."""
    out = tmp_path / "out"
    given = ("--topology", "1-1", "--seconds-per-configuration", "0.1", "--only")
    ec1("phase0", out, *given, "1")
    plan = out.with_name("out.tsf.toml")
    before = plan.read_bytes()
    assert "there are results already" in ec1("phase0", out, *given, "3", code=2)
    assert plan.read_bytes() == before
    assert "all 1 tests are done" in ec1("resume", out)


@pytest.mark.long
@NEEDED
def test_damaged_updates_leave_their_test_out_which_is_measured_anew(tmp_path):
    out = tmp_path / "out"
    ec1("phase0", out, "--topology", "1-1", "--seconds-per-configuration", "0.1", "--only", "1,3")
    before = rows(out)
    first, other = sorted(out.rglob("flow_*.parquet"))
    other.write_bytes(b"")
    said = ec1("report", out, code=1)
    assert "sample 1 is in no figure: this is no table of updates" in said and other.name in said
    assert len(json.loads((out / "summary.json").read_text())) == 1
    assert "was measured anew" in ec1("resume", out, "--idle-wait-s", "0")
    after = rows(out)
    assert len(after) == 2
    assert len({row["max_ms"] for row in after} & {row["max_ms"] for row in before}) == 1
    first.write_bytes(b"")
    other.write_bytes(b"")
    said = ec1("report", out, code=1)  # nothing is left
    assert "STL-OUT-007" in said and str(first) in said and "`resume`" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--capture"], "STL-SIT-004: sites 'local' are not all network namespaces"),
        (["--topology", "2-2"], "STL-TSF-004: '2-2' is not known"),
        (["--only", "120"], "STL-TSF-004: '120' is no range"),
        (["--adapters", "pigeon"], "known: sockets, unicast, starling"),
        (["--bundling", "maybe"], "STL-TSF-004: 'maybe' is not known"),
        (["--conflate", "on,off"], "known: on, off, both"),
        (["--real-time", ""], "STL-TSF-004"),
        (["--only", ""], "STL-TSF-004: '' is no range"),
        (["--topology", ""], "nothing is named\n  at --topology"),
        (["--adapters", ","], "nothing is named\n  at --adapters"),
        (["--seconds-per-configuration", "inf"], "'--seconds-per-configuration': inf is no finite"),
        (["--lag-s", "inf"], "'--lag-s': inf is no finite number"),
    ],
)
@NEEDED
def test_what_a_command_is_asked_wrongly(options, said, tmp_path):
    assert said in ec1("phase2", tmp_path / "out", *options, code=2)
    assert not Path(tmp_path / "out").exists()
