"""The checks of `make bench` at small sizes, without judging times: nothing lost, no gap."""

import asyncio
import contextlib
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from starling_bench.conducting import ways
from starling_bench.errors import BenchError
from starling_bench.machines import identity, network
from starling_bench.statistics import beside
from starling_bench.studies.limits import STUDY, Many, figures, left_out, runs

Do = Callable[[Coroutine], dict]


@pytest.fixture(scope="module")
def do() -> Iterator[Do]:
    """Runs what is awaited; the server of the module lives in the same loop."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="module")
def bench(do: Do, tmp_path_factory: pytest.TempPathFactory) -> Iterator[runs.Bench]:
    if "LIMITS" not in os.environ or "RTI_ROOT" not in os.environ:
        pytest.skip("LIMITS and RTI_ROOT are set by make")
    me = identity.Run()
    root, programs = (Path(os.environ[name]) for name in ("RTI_ROOT", "LIMITS"))
    serving = runs.serving(root, programs, tmp_path_factory.mktemp("logs"), me)
    yield do(serving.__aenter__())
    do(serving.__aexit__(None, None, None))
    me.end()
    assert not me.temporary.exists()


@pytest.mark.parametrize("socket", ["memory", "direct", "unix"])
def test_round_trips_of_the_last_of_several(do, bench, socket):
    """Beside as many plain ends; a trip is over when the last one has answered."""
    told = do(runs.trips(bench, socket, 200, 10, receivers=3))
    assert told["p50_us"] > 0 and told["received"] == told["sent"] == 200
    for limit in {"memory": ("ring",), "direct": ("tcp",)}.get(socket, ("unix",)):
        raw = do(runs.raw(bench, "fan-out", socket=limit, bytes=100, count=200, warm_up=10, ends=3))
        assert raw["p50_us"] > 0


def test_round_trips_of_best_effort_go_by_datagrams(do, bench):
    """Hardly one is lost where the next is sent when the one before is back."""

    def datagrams() -> int:
        lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
        head, values = [line for line in lines if line[0] == "Udp:"]
        return int(values[head.index("InDatagrams")])

    before = datagrams()
    told = do(runs.trips(bench, "udp", 2_000, 10))
    assert 1_900 <= told["received"] <= told["sent"] == 2_000
    assert datagrams() - before >= 2 * told["received"]
    before = datagrams()
    do(runs.trips(bench, "direct", 2_000, 10))
    assert datagrams() - before < 4_000


@pytest.mark.parametrize("socket", ["unix", "tcp", "memory", "direct"])
def test_round_trips_and_stream(do, bench, socket):
    for size in (100, 5000):
        assert do(runs.trips(bench, socket, 200, 10, size))["p50_us"] > 0
        assert do(runs.stream(bench, socket, 20_000, size))["received"] == 20_000
    assert do(runs.stream(bench, socket, 2000, receivers=3))["received"] == 2000


def test_best_effort_by_multicast(do, bench):
    """Beside as many plain datagrams to a group."""
    for size in (100, 5000):
        told = do(runs.best_effort(bench, "multicast", 5_000, size))
        raw = do(runs.raw(bench, "stream", socket="multicast", bytes=size, count=5_000))
        for one in (told, raw):
            assert 1 < one["received"] <= one["sent"] == 5_000 and one["per_s"] > 0
            assert 0 <= beside.lost(one) < 1


@pytest.mark.parametrize("socket", ["unix", "tcp"])
def test_time_goes_on(do, bench, socket):
    """Each federate checks that all messages of a step come before its grant."""
    for federates, messages in ((2, 0), (3, 10)):
        told = do(runs.advance(bench, socket, federates, messages, 50))
        assert len(told) == federates and all(one["p50_us"] > 0 for one in told)
        assert all((one["messages_per_s"] > 0) == (messages > 0) for one in told)
    one_way = do(runs.advance(bench, socket, 2, 100, 20, 1, 1))
    assert one_way[0]["messages_per_s"] == 0 and one_way[1]["messages_per_s"] > 0


def test_on_one_cpu(do, bench):
    server = bench.server.process.pid
    before = os.sched_getaffinity(0)
    with bench.placed(ways.ONE_CPU):
        assert len(os.sched_getaffinity(0)) == 1
        assert len(os.sched_getaffinity(server)) == 1
        do(runs.trips(bench, "unix", 100, 10))
    assert os.sched_getaffinity(0) == before == os.sched_getaffinity(server)


@pytest.mark.long
def test_on_different_cpus(do, bench):
    """Each end on one of its own, of federates as of plain sockets; rtiexec, as the relay, on a
    third, or with the first."""
    every = sorted(os.sched_getaffinity(0))
    if len(every) < 2:
        pytest.skip("there is one CPU")
    server = bench.server.process.pid
    seen: dict[str, set[int]] = {}

    async def look() -> None:
        async with bench.group("memory") as group:
            for me, role in enumerate(("ping", "pong")):
                more = {"count": 100_000, "warm_up": 10} if role == "ping" else {}
                one = await group.start(role, bench.federate(role), bench.at(me), bytes=100, **more)
                seen[role] = os.sched_getaffinity(one.process.pid)
            await group.results()

    with bench.placed(ways.APART):
        assert os.sched_getaffinity(server) == {every[2 % len(every)]}
        assert sorted(os.sched_getaffinity(0)) == every
        do(look())
        assert do(runs.trips(bench, "direct", 100, 10))["p50_us"] > 0
        command = [bench.programs / "bench-raw", "round-trip", "--socket", "tcp", "--bytes", "9"]
        command += ["--count", "300000", "--relay", "1", "--cpus", ",".join(map(str, every[:2]))]
        raw = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        places = set()
        parted = {(0, every[0]), (1, every[0]), (2, every[1])}  # its relay parts first
        while raw.poll() is None and places != parted:
            children = Path(f"/proc/{raw.pid}/task/{raw.pid}/children").read_text().split()
            with contextlib.suppress(ProcessLookupError):
                places = {(n, *os.sched_getaffinity(int(pid)))
                          for n, pid in enumerate([raw.pid, *children])}  # fmt: skip
            places = places if all(len(p) == 2 for p in places) else set()
        raw.kill()
        raw.wait()
        assert places == parted
    assert seen == {"ping": {every[0]}, "pong": {every[1]}}
    assert bench.at(1).cpus is None and sorted(os.sched_getaffinity(server)) == every


def test_what_passes_links_of_a_rate(do, bench):
    """Payload, beside a plain stream between the same hosts: less than the link's rate by what
    heads take, and no faster."""
    if why := network.none():
        pytest.skip(why)
    common = {"seconds": 0.2, "size": 800, "rate_mbit": 20}
    told, raw = do(runs.link(bench, **common)), do(runs.link(bench, raw="tcp", **common))
    for one in (told, raw):
        assert one["received"] == 625 and 0 < one["mbit_per_s"] < 20 * 1.5


def test_registering_and_discovering(do, bench):
    assert do(runs.register(bench, "unix", 50))["register_us"] > 0
    assert do(runs.discover(bench, "unix", 50))["discover_us"] > 0


def test_who_makes_no_hosts_is_told_what_is_not_measured(bench, monkeypatch):
    found = figures({"": bench}, Many(100, 1000))
    assert bool(network.none()) != any(f.name.startswith("payload on") for f in found)
    monkeypatch.setattr(network.os, "geteuid", lambda: 1000)
    few = figures({"": bench}, Many(100, 1000))
    assert not any(f.name.startswith("payload on") for f in few)
    assert left_out({"": bench}) == [
        "not measured: what is beside an earlier Starling, which EARLIER=COMMIT names",
        "not measured: what passes links of a rate: hosts are network namespaces, which need root "
        "and iproute2",
    ]


def test_presets_are_beside_each_other_and_the_raw_limit(do, bench, tmp_path):
    """Federates have the preset, and so has their rtiexec."""
    me = identity.Run()
    root, programs = (Path(os.environ[name]) for name in ("RTI_ROOT", "LIMITS"))
    serving = runs.serving(root, programs, tmp_path / "logs", me, "fastest")
    fastest = do(serving.__aenter__())
    try:
        assert do(runs.trips(fastest, "memory", 100, 10))["p50_us"] > 0
        server = Path(f"/proc/{fastest.server.process.pid}/environ").read_bytes()
        assert b"STARLING_PRESET=fastest" in server.split(b"\0")
        with bench.placed(ways.ONE_CPU), fastest.placed(ways.ONE_CPU):
            assert len(os.sched_getaffinity(fastest.server.process.pid)) == 1
        assert os.sched_getaffinity(fastest.server.process.pid) == os.sched_getaffinity(0)
    finally:
        do(serving.__aexit__(None, None, None))
        me.end()
    both = dict.fromkeys(("", "compliant", "fastest"), bench)
    found = {(f.name, f.raw_name): f.target for f in figures(both, Many(100, 1000))}
    for of in ("compliant", "fastest"):
        assert found[f"updates, memory, {of}", "raw ring, 16 KB"] == ""
        assert found[f"round trip, memory, {of}", "raw tcp"] == ""
    assert found["updates, memory, compliant", "fastest"] == ">= 0.9"
    assert found["round trip, memory, compliant", "fastest"] == "<= 1.1"


def test_every_target_is_the_one_that_was_asked_for(bench):
    """Of the figures that are listed, by what they are beside."""
    many = Many(100, 1000)
    found = {(f.name, f.raw_name): f.target for f in figures({"": bench, "earlier": bench}, many)}
    round_trips = {
        "unix": ("raw relay, unix", "<= 1.3"), "tcp": ("raw relay, tcp", "<= 1.3"),
        "memory": ("raw tcp", "<= 0.7"), "memory, 5 KB": ("raw tcp", "<= 0.7"),
        "direct": ("raw tcp", "<= 1.3"), "udp": ("raw udp", "<= 1.4"),
    }  # fmt: skip
    for way, (limit, target) in round_trips.items():
        for where in ("", ", one CPU", ", different CPUs"):
            assert found[f"round trip, {way}{where}", limit] == target
    before = f"rtiexec of {bench.name}"
    of_links = {
        (f"payload on {rate}, direct, {size}", "raw tcp, 16 KB"): ">= 0.9"
        for rate in ("100 Mbit/s", "1 Gbit/s") for size in ("800 bytes", "5 KB")
    }  # fmt: skip
    assert {key: target for key, target in found.items() if not key[0].startswith("round trip,")
            and target} == (of_links if not network.none() else {}) | {
        ("registering an instance, unix", before): "<= 1.15",
        ("discovering an instance, unix", before): "<= 1.15",
        ("updates, unix", "raw tcp, send() each"): ">= 1",
        ("updates, tcp", "raw tcp, send() each"): ">= 1",
        ("updates, memory", "raw ring, 16 KB"): ">= 0.2",
        ("updates, memory, 5 KB", "raw ring, 16 KB"): ">= 0.7",
        ("updates, memory", before): ">= 3",
        ("updates, direct", before): ">= 2",
        ("updates, direct, 5 KB", "raw tcp, send() each"): ">= 1",
        ("updates, unix", before): ">= 1.3",
        ("best effort, multicast", "raw multicast, send() each"): ">= 3",
        ("deliveries to 8, memory", "to one"): ">= 4",
        ("deliveries to 8, unix", "to one"): ">= 3",
        ("round trip of the last of 8, memory", "raw ring to 8"): "<= 1.3",
        ("round trip of the last of 8, direct", "raw tcp to 8"): "<= 1.3",
    }  # fmt: skip


def test_raw(do, bench):
    for socket in ("unix", "tcp"):
        common = {"socket": socket, "bytes": 100, "count": 1000}
        for relay in (0, 1):
            trips = do(runs.raw(bench, "round-trip", warm_up=10, relay=relay, **common))
            assert list(trips) == ["p50_us", "p99_us", "p999_us", "mean_us"] and trips["p50_us"] > 0
        for relay, batch in ((0, 0), (1, 16384)):
            told = do(runs.raw(bench, "stream", relay=relay, batch=batch, **common))
            assert list(told) == ["received", "seconds", "per_s"] and told["received"] == 1000
        for ends in (2, 5):
            told = do(runs.raw(bench, "round", warm_up=10, ends=ends, **common))
            assert told["p50_us"] > 0
    for size in (100, 5000):
        common = {"socket": "ring", "bytes": size, "count": 1000}
        assert do(runs.raw(bench, "round-trip", warm_up=10, **common))["p50_us"] > 0
        for batch in (0, 16384):
            assert do(runs.raw(bench, "stream", batch=batch, **common))["received"] == 1000


@pytest.mark.parametrize("socket, relay", [("tcp", 0), ("unix", 1), ("ring", 0)])
def test_a_raw_stream_to_several(do, bench, socket, relay):
    """Each has all of it, which its end checks, and what all get together is told."""
    common = {"socket": socket, "bytes": 100, "count": 20_000, "relay": relay, "batch": 16384}
    told = do(runs.raw(bench, "stream", ends=8, **common))
    assert told["received"] == 20_000
    assert told["per_s"] == pytest.approx(8 * 19_999 / told["seconds"])
    one = do(runs.raw(bench, "stream", **common))
    assert one["per_s"] == pytest.approx(19_999 / one["seconds"])


def test_the_cpus_part_of_what_several_get_is_told(bench):
    """By each way, the raw stream to as many stands beside that of Starling."""
    many = Many(100, 1000)
    found = {(f.name, f.raw_name): f for f in figures({"": bench}, many)}
    limits = {"memory": "raw ring{}, 16 KB", "direct": "raw tcp{}, 16 KB",
              "unix": "raw relay{}, 16 KB, unix"}  # fmt: skip
    for way, limit in limits.items():
        one = found[f"updates, {way}", limit.format("")]
        eight = found[f"deliveries to 8, {way}", limit.format(" to 8")]
        starling = found[f"deliveries to 8, {way}", "to one"]
        for f, ours, theirs in ((one, 5, 10), (eight, 6, 20), (starling, 6, 5)):
            for n in (1, 2):
                f.take({f.key: n * ours}, {f.key: theirs})
    lines = beside.fan_outs(list(found.values()))
    assert [line.partition(":")[0] for line in lines] == [f"deliveries to 8, {w}" for w in limits]
    assert (
        "x 1.80 [1.20..2.40] of what one gets; raw ring to 8, 16 KB: x 2.00 [2.00..2.00]"
        in (lines[0])
    )
    assert lines[0].endswith("Starling has x 0.90 [0.60..1.20] of that")


@pytest.mark.long
def test_what_an_update_takes_is_counted_beside_its_rate(bench, tmp_path):
    """And kept, so that the next run is compared with it."""
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--programs", os.environ["LIMITS"], "--out", str(tmp_path / "out"), "--rounds", "3",
        "--trips", "50", "--updates", "3000", "--only", "updates, unix",
    ]  # fmt: skip
    if any(shutil.which(tool) is None for tool in ("valgrind", "strace")):
        pytest.skip("valgrind and strace count instructions")
    said = subprocess.run(command, text=True, capture_output=True, check=True)
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = [f"1 x 100 bytes: {role}" for role in ("send", "rtiexec", "receive")]
    assert list(kept["counts"]) == rows and all(100 < n < 3000 for n in kept["counts"].values())
    assert all(f"{row}: {kept['counts'][row]:,.0f} instructions" in said.stdout for row in rows)


def test_raw_datagrams(do, bench):
    """What of a stream is lost is counted; of round trips nothing may be."""
    for size in (100, 60_000):
        common = {"socket": "udp", "bytes": size, "count": 1000}
        assert do(runs.raw(bench, "round-trip", warm_up=10, **common))["p50_us"] > 0
        told = do(runs.raw(bench, "stream", batch=0, **common))
        assert 0 < told["received"] <= told["sent"] == 1000


def test_figures_of_round_trips_are_made_of_each():
    """By nearest rank, of all of them whatever their order; of a percentile if ten are beyond."""
    told = runs.of_trips({"us": [float(n) for n in range(10_000, 0, -1)], "seconds": 3.0})
    assert told == {
        "seconds": 3.0, "p50_us": 5000.0, "p99_us": 9900.0, "p999_us": 9990.0, "mean_us": 5000.5
    }  # fmt: skip
    few = runs.of_trips({"us": [1.0] * 1_000})
    assert few["p99_us"] == 1.0 and few["p999_us"] is None
    assert runs.rate({"received": 101, "seconds": 2.0})["per_s"] == 50.0


@pytest.mark.parametrize(
    "command",
    [
        "bench-raw stream --socket ring --bytes 8 --count 9 --relay 1",
        "bench-raw round-trip --socket tcp --bytes 7 --count 9",
        "bench-raw round-trip --socket pigeon --bytes 8 --count 9",
        "bench-raw round --socket ring --bytes 8 --count 9",
        "bench-raw round --socket udp --bytes 8 --count 9",
        "bench-raw fan-out --socket udp --bytes 8 --count 9",
        "bench-raw fan-out --socket tcp --bytes 8 --count 9 --relay 1",
        "bench-raw stream --socket unix --bytes 8 --count 9 --spaces a,b",
        "bench-raw round-trip --socket multicast --bytes 8 --count 9",
        "bench-raw stream --socket udp --bytes 8 --count 9 --relay 1",
        "bench-raw stream --socket udp --bytes 8 --count 9 --batch 65508",
        "bench-raw stream --socket udp --bytes 8 --count 9 --ends 2",
        "bench-raw stream --socket ring --bytes 8 --count 9 --ends 65",
        "limits-federate produce --fom f --timeout 9 --bytes 15 --instances 1",
        "limits-federate consume --fom f --timeout 9 --bytes 16 --instances 1 --values 33 --me 0",
        "bench-raw round --socket unix --bytes 8 --count 9 --ends 1",
        "limits-federate",
        "limits-federate ping --fom f --timeout 9 --bytes 8 --count 9",
        "limits-federate ping --fom f --timeout 9 --bytes 8 --count nine --warm-up 0",
        "limits-federate pong --fom f --timeout 9 --bytes 7",
    ],
)
def test_wrong_usage(bench, command):
    program, *options = command.split()
    done = subprocess.run([bench.programs / program, *options], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") <= 2, done


@pytest.mark.parametrize("more", [[], ["--time"]])
def test_figures_that_are_not_there_are_told(bench, tmp_path, more):
    """At once, with those that are, and nothing is left of it."""
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--programs", os.environ["LIMITS"], "--out", str(tmp_path / "out"), "--only", "nosuch",
        *more,
    ]  # fmt: skip
    said = subprocess.run(command, text=True, capture_output=True)
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr.startswith("STL-LIM-004: no figure 'nosuch'")
    assert ("grant, one regulating" if more else "round trip, unix") in said.stderr
    assert not (tmp_path / "out").exists()


def test_everybody_discovers_everything(do, bench):
    assert do(runs.crowd(bench, 3, 100))["discovered"] == 200


def test_who_joins_late_has_no_gap(do, bench):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    told = do(runs.gapless(bench, 20_000, 5, 500, seed))
    assert told["joins"] == 5
    assert told["received"] == told["sent"] >= 20_000


def test_a_fault_is_found(do, bench):
    """A stream that ends too early fails the run."""

    async def short() -> None:
        async with bench.group() as group:
            receive = bench.federate("receive", 60)
            await group.start("receive", receive, bytes=100, updates=101, me=0)
            await group.start(
                "send", bench.federate("send", 60),
                bytes=100, updates=100, laps=0, spread_ms=0, seed=0, receivers=1,
            )  # fmt: skip
            await group.results()

    with pytest.raises(BenchError, match="got updates 1 to 100"):
        do(short())


def test_a_federate_that_waits_for_ever_is_ended(do, bench):
    async def alone() -> None:
        async with bench.group() as group:
            await group.start("ping", bench.federate("ping", 1), bytes=100, count=1, warm_up=0)
            await group.results()

    with pytest.raises(BenchError, match=r"ping ended with 3: .*not done within"):
        do(alone())


def test_the_figures_of_time_management(bench, tmp_path):
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--programs", os.environ["LIMITS"], "--out", str(tmp_path / "out"), "--rounds", "1",
        "--trips", "40", "--updates", "2000", "--time",
    ]  # fmt: skip
    said = subprocess.run(command, text=True, capture_output=True, check=True)
    assert "round of 16, 100 messages: per federate x " in said.stdout and said.stderr == ""
    with (tmp_path / "out" / "limits.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11
    for row in rows:
        ratio = float(row["starling"]) / float(row["raw"])
        assert float(row["ratio"]) == pytest.approx(ratio)
    last = rows[-1]
    assert (last["figure"], last["limit"]) == ("updates in time-stamp order", "in receive order")


def test_the_table_of_figures_is_as_it_was(bench, tmp_path):
    """By `starling-bench`, with the columns that earlier runs have and after these the tails; and
    what is to be kept of a run, which the next is compared with."""
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--programs", os.environ["LIMITS"], "--out", str(tmp_path / "out"), "--rounds", "2",
        "--trips", "50", "--updates", "500", "--only", "updates, unix", "--no-counts",
    ]  # fmt: skip
    said = subprocess.run(command, text=True, capture_output=True, check=True)
    assert "updates, unix" in said.stdout and said.stderr == ""
    with (tmp_path / "out" / "limits.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = ["round", "figure", "unit", "starling", "limit", "raw", "ratio"]
    columns += ["starling_p99", "raw_p99", "starling_p99.9", "raw_p99.9"]
    assert [list(row) for row in rows] == [columns] * 4
    assert {row["limit"] for row in rows} == {"raw tcp, send() each", "raw relay, 16 KB, unix"}
    for row in rows:
        ours, raw = float(row["starling"]), float(row["raw"])
        assert float(row["ratio"]) == pytest.approx(ours / raw)
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept["machine"]["cpus"] > 0 and kept["only"] == "updates, unix" and kept["rounds"] == 2
    by_limit = {one["limit"]: one for one in kept["figures"]}
    one = by_limit["raw tcp, send() each"]
    ratios = sorted(float(r["ratio"]) for r in rows if r["limit"] == one["limit"])
    assert one["ratio"] == [pytest.approx(r, rel=1e-3) for r in (sum(ratios) / 2, *ratios)]
    assert one["interval"][0] < one["ratio"][0] < one["interval"][1]
    table = (tmp_path / "out" / "table.txt").read_text()
    assert table.splitlines()[-1].endswith("of 1 targets are met")
    shown = {line.rstrip() for line in said.stdout.splitlines()}
    assert set(table.splitlines()) <= shown | {""}
    next_one = [*command, "--last", str(tmp_path / "out" / "summary.json")]
    next_one[next_one.index("--out") + 1] = str(tmp_path / "next")
    told = subprocess.run(next_one, text=True, capture_output=True, check=True).stdout
    assert f"last: commit {kept['commit']}" in told and f"x {one['ratio'][0]:.2f}" in told
    again = subprocess.run(command, text=True, capture_output=True)
    assert again.returncode == 2 and again.stderr.startswith("STL-OUT-002: there are results")


def test_a_run_that_is_interrupted_keeps_what_it_has(bench, tmp_path):
    """And says so, in one message."""
    command = [
        sys.executable, "-m", "starling_bench", STUDY.name, "--rti-root", os.environ["RTI_ROOT"],
        "--programs", os.environ["LIMITS"], "--out", str(tmp_path / "out"), "--rounds", "1000",
        "--trips", "50", "--updates", "500", "--only", "updates, unix", "--no-counts",
    ]  # fmt: skip
    run = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    table = tmp_path / "out" / "limits.csv"
    while run.poll() is None and not (table.exists() and table.read_text().count("\n") > 2):
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=120)
    assert (run.returncode, said.count("STL-")) == (1, 1), said
    assert said.startswith("STL-RUN-004: interrupted; the results so far are kept")
    assert table.read_text().count("\n") > 2
