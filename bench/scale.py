#!/usr/bin/env python3
"""Makes a run of so many updates as federates log them, keeps its rows, and has its report made as
users have it, in a limited memory; says what that took.

make scale STUDY=ec1 UPDATES=300000000
ec1: all 480 configurations over one carrier; range: ten federates, each hearing nine, for longer.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from starling_bench.flows import updates
from starling_bench.kept.store import Store
from starling_bench.machines.topologies import TOPOLOGIES
from starling_bench.studies import ec1, range as range_of
from starling_bench.studies.ec1 import plans
from starling_bench.studies.ec1.configurations import COUNT, configuration
from starling_bench.study import Study
from starling_bench.times import phases, samples
from starling_bench.tsf import plan
from starling_bench.tsf.planned import Wanted

BEGAN = 10**15  # by the federates' clock, ns
# What a federate tells of itself where that is no matter here.
TOLD = {
    "cpu_busy": 0.2, "sender_cpu": 0.1, "receiver_cpu": 0.1, "wake_p50_us": 55.0, "wake_sd_us": 4.0,
    "wake_max_us": 130.0, "scheduling": "normal", "others_cpu": 0.0,
}  # fmt: skip
FEDERATES = 10
Samples = Iterator[dict]  # what a master says of each


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--study", choices=list(MAKERS), default="ec1")
    arguments.add_argument("--updates", type=int, default=20_000_000)
    arguments.add_argument("--memory-gb", type=float, default=4)
    arguments.add_argument("--cpu-s", type=float, default=float("inf"), help="at most, to analyse")
    arguments.add_argument("--out", type=Path, required=True)
    asked = arguments.parse_args()
    # What a process may hold in memory of its own; files that it maps are no part of it.
    limit = int(asked.memory_gb * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    start = time.monotonic()
    study, text, make = MAKERS[asked.study](asked.updates)
    asked.out.mkdir(parents=True, exist_ok=True)
    file, run = asked.out / "scale.tsf.toml", asked.out / "run"
    file.write_text(text)
    kept_s, count = keep(study, file, run, make)
    logged = time.monotonic()
    command = [sys.executable, "-m", "starling_bench", asked.study, "report", str(run)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    end, child = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = max(child.ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 2**20
    cpu_s = kept_s + child.ru_utime + child.ru_stime
    disk = sum(path.stat().st_size for path in run.rglob("*.parquet"))
    print(
        f"{count:,} updates: made, packed and kept in {logged - start:.0f} s, reported in "
        f"{end - logged:.0f} s; {cpu_s:.0f} s of a CPU to analyse; {disk / 2**20:,.0f} MB of disk, "
        f"{disk / count:.1f} bytes each; at most {peak:.2f} GB of memory (limit "
        f"{asked.memory_gb:g} GB)"
    )
    if not 0.98 <= count / asked.updates <= 1.02 or peak > asked.memory_gb or cpu_s > asked.cpu_s:
        raise SystemExit("these are not so many, or they took too much")


def keep(study: Study, file: Path, run: Path, make: Callable[..., Samples]) -> tuple[float, int]:
    """The run's rows and tables, as its manager keeps them: what that takes of a CPU without what
    federates do, and how many updates came."""
    took, count = 0.0, 0
    text = file.read_text()
    store = Store.create(run, study, {"tsf": file.name, "tsf_text": text, "notes": []})
    for sequence in plan.load(file, study, False).sequence:
        for execution in sequence.execution:
            tests = {str(n): t.model_dump() for n, t in enumerate(execution.tests(), 1)}
            record = store.begin(
                sequence.name, execution.name, rti="none", adapter=sequence.rti.adapter,
                tests=tests, pairs=len(sequence.pair), hosts="", cpus="",
            )  # fmt: skip
            pairs = [(pair.sender, pair.receiver) for pair in sequence.pair]
            directory = store.execution_directory(sequence.name, execution.name)
            for number, test in tests.items():
                for event in make(directory, int(number), study.settled(test), pairs):
                    begin = time.process_time()
                    store.add(sequence.name, execution.name, TOLD | event)
                    took += time.process_time() - begin
                    count += event["received"]
            record["state"] = "done"
    store.save()
    store.close()
    return took, count


# ---- EC1


def of_ec1(count: int) -> tuple[Study, str, Callable[..., Samples]]:
    """Every configuration over every topology, each for so long that all make so many."""
    each = sum(c.entities * c.rate for c in map(configuration, range(COUNT)))
    flows = sum(len(topology.pairs()) for topology in TOPOLOGIES.values())
    wanted = Wanted("/bin/true", ["sockets"], list(TOPOLOGIES), list(range(COUNT)), ["local"],
                    seconds=count / each / flows, seed=1)  # fmt: skip
    return ec1.STUDY, plans.configurations(wanted), flows_of


def flows_of(
    directory: Path, number: int, test: dict, pairs: list[tuple[str, str]]
) -> Samples:  # fmt: skip
    """Logs of a test's subscribers, each with latencies as a network's; in a hundred updates one
    comes twice, in a thousand best-effort ones one never."""
    publishers = list(dict.fromkeys(sender for sender, _ in pairs))
    turns = max(1, int(test["rate"] * test["seconds"] + 0.5))
    sent = turns * test["entities"]
    events: dict[tuple[str, str], dict] = {}
    for seed, name in enumerate(dict.fromkeys(receiver for _, receiver in pairs)):
        draw = np.random.default_rng((number, seed))
        mine = [p for p, sender in enumerate(publishers) if (sender, name) in pairs]
        every = [_updates(draw, p, turns, test) for p in mine]
        log = np.concatenate(every)
        log = log[np.argsort(log["sent_ns"].astype("i8") + log["latency_ns"], kind="stable")]
        path = updates.path_of(directory, number, 1, name)
        log.tofile(path.with_suffix(".raw"))
        missing = [sent - int(np.count_nonzero(of["first"])) for of in every]
        for n, (p, of) in enumerate(zip(mine, every, strict=True)):
            events[publishers[p], name] = _told(of, sent, missing, n) | {"publisher": p}
    for pair, (sender, receiver) in enumerate(pairs, 1):
        yield events[sender, receiver] | {
            "test": number, "sample": 1, "pair": pair, "sender": sender, "receiver": receiver,
            "send_s": test["seconds"], "instances": test["entities"],
            "discovered": test["entities"],
        }  # fmt: skip


def _updates(draw: np.random.Generator, publisher: int, turns: int, test: dict) -> np.ndarray:
    entities = test["entities"]
    index = np.arange(turns * entities)
    if test["transport"] != "reliable":
        index = index[draw.random(len(index)) >= 0.001]
    index = np.repeat(index, 1 + (draw.random(len(index)) < 0.01))
    log = np.zeros(len(index), dtype=updates.RAW)
    log["sent_ns"] = BEGAN + index * (1e9 / test["rate"] / entities)
    log["latency_ns"] = draw.lognormal(12.2 + test["payload"] / 9000, 0.6, len(log))
    log["sequence"], log["entity"] = index // entities + 1, index % entities
    log["publisher"], log["first"] = publisher, np.diff(index, prepend=-1) > 0
    return log


def _told(of: np.ndarray, sent: int, missing: list[int], n: int) -> dict:
    """What a subscriber says of a flow: the nth of its own, of which so much is missing."""
    first = of[of["first"] == 1]
    none = ("unsent", "late_sends", "fragments", "reordered", "late", "wrong", "tired",
            "unrecorded")  # fmt: skip
    return dict.fromkeys(none, 0) | {
        "sent": sent, "received": len(first), "duplicates": len(of) - len(first),
        "lost_on_the_way": None, "missing_of_all": sum(missing),
        "missing_before": sum(missing[:n]), "heard": True, "waited_s": 1.0,
    }  # fmt: skip


# ---- the range test bed


def of_range(count: int) -> tuple[Study, str, Callable[..., Samples]]:
    """Every federate's update comes to nine others."""
    hz = 60
    names = "".join(f'[[sequence.federate]]\nname = "f{n + 1}"\n' for n in range(FEDERATES))
    text = (
        f'[[sequence]]\nname = "scale"\nfom = "{plans.FOM}"\n{names}'
        '[sequence.rti]\nadapter = "starling"\n[[sequence.execution]]\nname = "all"\n'
        f"[[sequence.execution.test]]\nfederates = {FEDERATES}\nbytes = 2048\nhz = {hz}.0\n"
        f"duration_s = {count / FEDERATES / (FEDERATES - 1) / hz}\n"
    )
    return range_of.STUDY, text, deliveries_of


def deliveries_of(
    directory: Path, number: int, test: dict, pairs: list[tuple[str, str]]
) -> Samples:  # fmt: skip
    """Logs, echoes and facts of each federate: polled, so that what comes waits for its turn."""
    sent = round(test["hz"] * test["duration_s"])
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    names.sort(key=lambda name: int(name[1:]))
    for station, name in enumerate(names, 1):
        draw = np.random.default_rng(station)
        log = np.zeros(sent * (len(names) - 1), dtype=samples.RAW)
        others = [other for other in range(1, len(names) + 1) if other != station]
        turn = phases.turn_ms(test, station) * 1e6
        for at, other in enumerate(others):
            mine = log[at * sent : (at + 1) * sent]
            period = 1e9 / test["hz"] * phases.turn_ms(test, other) / phases.turn_ms(test, 1)
            left = np.arange(sent) * period + other * 1e5
            took = draw.lognormal(11.5, 0.4, sent) + (draw.random(sent) < 1e-4) * 2e7
            came = np.ceil((left + took) / turn) * turn
            mine["arrived"], mine["delivery"] = BEGAN + came, came - left
            mine["count"], mine["sender"] = np.arange(1, sent + 1), other
        log["test"] = number
        log = log[np.argsort(log["arrived"], kind="stable")]
        log.tofile(directory / f"samples_test{number}_{name}.raw")
        _echoes(draw, test, others).tofile(directory / f"pings_test{number}_{name}.raw")
        facts = directory / f"facts_test{number}_{name}.json"
        facts.write_text(json.dumps(_facts(test, station)))
    for pair, (sender, receiver) in enumerate(pairs, 1):
        none = ("lost", "doubled", "disordered", "elements_missed", "dropped")
        yield dict.fromkeys(none, 0) | {
            "test": number, "sample": 1, "pair": pair, "sender": sender, "receiver": receiver,
            "planned": sent, "sent": sent, "received": sent,
        }  # fmt: skip


def _echoes(draw: np.random.Generator, test: dict, others: list[int]) -> np.ndarray:
    found = np.zeros(round(test["ping_hz"] * test["duration_s"]), dtype=samples.PING)
    found["to"], found["size"] = np.resize(others, len(found)), test["bytes"]
    found["sent"] = BEGAN + np.arange(len(found)) * (1e9 / test["ping_hz"])
    found["there"] = found["sent"] + draw.lognormal(11, 0.3, len(found)).astype("u8")
    found["back"] = found["there"] + 20_000
    found["came"] = found["back"] + draw.lognormal(11, 0.3, len(found)).astype("u8")
    return found


def _facts(test: dict, station: int) -> dict:
    turns = round(test["tick_hz"] * test["duration_s"])
    wakes = {"turns": turns, "late": 0, "missed": 0, "max_ns": 90_000,
             "lateness": [[16_384, turns - 9], [65_536, 9]]}  # fmt: skip
    return {"station": station, "scheduling": "SCHED_FIFO 80", "notice": "", "deadlines": wakes,
            "floor": wakes, "thread_s": test["duration_s"] / 100}  # fmt: skip


MAKERS = {"ec1": of_ec1, "range": of_range}

if __name__ == "__main__":
    main()
