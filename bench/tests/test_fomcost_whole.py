"""A whole run of the FOM cost study, made up as its shipped plan has it: what is kept of it is
small, and its report compares what can be compared.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import keep_study
from starling_bench.captured import capture
from starling_bench.kept.store import Store
from starling_bench.machines.network import describe
from starling_bench.statistics.differences import differences
from starling_bench.studies.fomcost import STUDY
from starling_bench.studies.fomcost.fields import MODES
from starling_bench.studies.fomcost.rows import FIGURES
from starling_bench.tsf import plan

SHIPPED = Path(__file__).parents[1] / "experiments" / "fomcost" / "fomcost-root.tsf.toml"
LENGTHS = {"static": 1, "FP": 2, "RP": 3, "FV": 3, "RV": 4}  # parts after the first
WAYS = {"unix": "Unix-domain socket via rtiexec", "memory": "shared memory"}


def parts(test) -> int:
    """That an update has."""
    return test.attributes if test.series == "attributes" else 1 + LENGTHS[
        "static" if test.mode == "static" else test.mode[:2]]  # fmt: skip


def row(test, number: int, sample: int, counted: bool, draw: np.random.Generator) -> dict:
    """As a sender's sample: times with all their digits, or instructions."""
    fields = parts(test) if test.layout == "multiple" else 1
    us = 8 + 0.2 * fields + float(draw.lognormal(-2, 0.5))
    figures = dict.fromkeys(FIGURES)
    if counted:
        calls = 1362 + 137 * fields + int(draw.integers(64)) / 64
        more = {name: calls * at for name, at in (("call", 1), ("encode", 0.2), ("decode", 0.3))}
        figures |= {f"{name}_instructions": value for name, value in more.items()}
    figures |= {name: round(us * float(draw.uniform(0.9, 1.1)), 6)
                for name in FIGURES if not name.endswith("instructions")}  # fmt: skip
    sent = test.repetitions
    return {
        "test": number, "kind": test.kind, "transport": test.transport, "series": test.series,
        "layout": test.layout, "attributes": test.attributes, "mode": test.mode, "pair": 1,
        "sender": "sender", "receiver": "receiver", "sample": sample,
        **dict.fromkeys(("bytes", "bytes_p50", "bytes_min", "bytes_max"),
                        28 + 12 * (parts(test) - 1)), "sent": sent, "received": sent, "lost": 0,
        "doubled": 0, "waited": int(draw.integers(9)), "values": sent * fields, "messages": sent,
        "came_reliably": sent if test.transport == "reliable" else 0,
        "others_cpu": float(draw.uniform(0, 0.02)), **figures,
    }  # fmt: skip


def wire(test) -> capture.Wire:
    size = 40 + 12 * parts(test)
    return capture.Wire("TCP" if test.transport == "reliable" else "UDP", "10.77.0.2", size, 64, 3,
                        0, 0, 71, 64 * size, size, "", 8.0, 0, size, size, 1, 0)  # fmt: skip


pytestmark = pytest.mark.long  # it makes some 2,000 tests up


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[dict]]:
    draw = np.random.default_rng(5)
    file = plan.load(SHIPPED, STUDY)
    given = {"tsf": "t", "tsf_text": SHIPPED.read_text(), "file": "t.tsf.toml", "notes": []}
    out = tmp_path_factory.mktemp("whole") / "fomcost-20260101-000000"
    store = Store.create(out, STUDY, given)
    seen: dict[Path, dict[int, capture.Wire]] = {}
    hosts = {host.name: host for host in file.host}
    for sequence in file.sequence:
        (execution,) = sequence.execution
        tests = dict(enumerate(execution.tests(), 1))
        used = describe([f.host for f in sequence.federate], hosts)
        ways = [{"sender": "sender", "receiver": "receiver", "reliable": False,
                 "by": WAYS.get(sequence.name.split(".")[-1], "tcp via rtiexec; UDP")}]  # fmt: skip
        store.run["executions"].append({
            "sequence": sequence.name, "execution": execution.name, "rti": "Starling 0.1.0",
            "adapter": "starling", "cpus": "", "bundling": True, "hosts": used, "state": "done",
            "message": "", "problems": {}, "pairs": 1, "round_of": "",
            "tests": {str(n): t.model_dump() for n, t in tests.items()},
            "ways": {str(n): ways for n in tests}, "clock": {"step_ns": 1, "reading_ns": 30},
        })  # fmt: skip
        counted = sequence.name.startswith("counted")
        for number, test in tests.items():
            for sample in range(1, test.samples + 1):
                at = {"sequence": sequence.name, "execution": execution.name}
                store.rows.append(at | row(test, number, sample, counted, draw))
        if sequence.name.startswith("wire"):
            seen[out / sequence.name / execution.name] = {n: wire(t) for n, t in tests.items()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(capture, "wires", lambda directory: seen.get(directory, {}))
        summaries = store.save()
        STUDY.report(store, summaries)
    store.close()
    return store, summaries


def test_what_is_kept_of_a_whole_run_is_small(whole):
    """Page, summary and run together, with a twentieth to spare."""
    store, summaries = whole
    assert len(summaries) == 134 * 2 + 268 + 134 * 3 + 268 + 134 * 3 + 134 + 268
    files = {name: len(data) for name, data in keep_study.kept(store.directory).items()}
    assert sum(files.values()) < 0.95 * keep_study.MOST, files
    text = (store.directory / "report.html").read_text()
    assert text.count("<figure>") > 50 and all(mode in text for mode in MODES)
    # A sentence for each way whose packets were seen.
    ways = {(s["sequence"], s["kind"], s["transport"]) for s in summaries if s["wire"]}
    assert len(ways) >= 5 and len(ways) == text.count("Five attributes against one in bytes")
    for name, kind, by in ways:
        assert f"against one in bytes, {name}, {kind}, {by}:".replace("_", " ") in text


def test_only_what_was_measured_alike_is_compared(whole):
    """Ways that took turns: no times with instructions, nothing where packets alone were taken, nor
    networks, of which each has a sequence of its own."""
    store, summaries = whole
    found = differences(STUDY, store.samples(), summaries)
    sequences = Counter(tuple(sorted(name.split(" (")[0] for name in (d.one, d.other)))
                        for d in found)  # fmt: skip
    assert sequences == {("memory", "unix"): 134}


def test_what_is_kept_of_it_holds_the_checks_of_what_is_committed(whole, monkeypatch, tmp_path):
    """Those of test_studies_kept, but for the file's place."""
    import test_studies_kept as kept

    to = tmp_path / "fomcost" / "campaign"
    to.mkdir(parents=True)
    for name, data in keep_study.kept(whole[0].directory).items():
        (to / name).write_bytes(data)
    monkeypatch.setattr(kept, "KEPT", tmp_path)
    kept.kept.cache_clear()
    try:
        kept.test_a_committed_report_is_whole_and_small("fomcost/campaign")
        kept.test_an_attributes_cost_is_known_or_none_is_found()
        kept.test_all_tests_of_the_shipped_plan_were_run_and_captured()
    finally:
        kept.kept.cache_clear()
