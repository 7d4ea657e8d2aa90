"""The directory of a campaign that was never run: its plan is the shipped one, its values are drawn
by a seed. For what must hold of a large run whose measuring would take hours.
"""

from pathlib import Path

import numpy as np

from starling_bench.kept.store import Store
from starling_bench.machines import network
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


def campaign(directory: Path, name: str = "campaign-root.tsf.toml", scale: float = 1.0) -> Store:
    """Every test of that file, with every sample."""
    draw = np.random.default_rng(1)
    file = EXPERIMENTS / name
    found = plan.load(file, STUDY, True, scale)
    given = {"tsf": name, "tsf_text": file.read_text(), "notes": []}
    store = Store.create(directory, STUDY, given)
    hosts = {host.name: host for host in found.host}
    for sequence in found.sequence:
        for execution in sequence.execution:
            tests = dict(enumerate(execution.tests(), 1))
            record = store.begin(
                sequence.name, execution.name, adapter=sequence.rti.adapter,
                pairs=len(sequence.pair), bundling=sequence.bundling,
                cpus=str(sequence.cpus or ""),
                hosts=network.describe([f.host for f in sequence.federate], hosts),
                tests={str(n): t.model_dump() for n, t in tests.items()},
                round_of=execution.round_of, sequence_of=sequence.sequence_of,
            )  # fmt: skip
            record["rti"] = sequence.rti.name or sequence.rti.adapter
            folder = store.execution_directory(sequence.name, execution.name)
            for number, test in tests.items():
                for sample in range(1, test.samples + 1):
                    _take(store, sequence, execution.name, folder, number, test, sample, draw)
            record["state"] = "done"
    return store


def _take(store, sequence, execution, folder, number, test, sample, draw) -> None:
    pair = sequence.pair[0]
    latency = test.kind.startswith("RT")
    trip_ns = np.float32(1e4 * (2 + draw.lognormal(0, 0.4, test.updates if latency else 1000)))
    if latency:
        head = np.array([sample, test.updates], dtype="<u4")
        with (folder / f"rtt_test{number}_pair1.raw").open("ab") as file:
            file.write(head.tobytes() + trip_ns.astype("<f4").tobytes())
    seconds = float(trip_ns.mean()) * test.updates * 1e-9
    event = {
        "test": number, "pair": 1, "sample": sample, "sender": pair.sender,
        "receiver": pair.receiver, "sent": test.updates, "received": test.updates, "lost": 0,
        "late": 0, "doubled": 0, "send_s": seconds, "receive_s": seconds,
        "rate_hz": test.updates / seconds, "mb_per_s": test.updates * 8e-6 / seconds,
        "came_reliably": 0, "heartbeats": 0, "unrecorded": 0, "others_cpu": 0.0, "kind": test.kind,
        "transport": test.transport, "loop": test.loop_version, "types": test.types,
        "instances": test.instances, "buffers": test.buffers, "bytes": test.buffer_bytes,
        "updates": test.updates,
    }  # fmt: skip
    store.add(sequence.name, execution, event)
