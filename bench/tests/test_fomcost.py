"""The FOM cost study end to end: real federates, packets, instructions, somebody's own FOM."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from quiet import undisturbed
from runs import (
    LIMIT_S,
    RTI_ROOT,
    STANDIN_ROOT,
    Run,
    run as run,  # the fixture
)
from test_network import possible
from test_standin import server as server  # the fixture

from starling_bench.captured import capture, frames
from starling_bench.studies.fomcost import STUDY, plans
from starling_bench.tsf import planned as planning, tables
from starling_bench.tsf.plan import load as plan_of
from starling_bench.values.own_class import planned

FOMCOST = os.environ.get("FOMCOST")
if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(
        not (FOMCOST and RTI_ROOT and STANDIN_ROOT), reason="FOMCOST, RTI_ROOT are needed"
    )
spaces = pytest.mark.skipif(
    not possible() and os.environ.get("REQUIRE_ALL") != "1", reason="root and ip are needed"
)
counts = pytest.mark.skipif(
    not shutil.which("valgrind") and os.environ.get("REQUIRE_ALL") != "1",
    reason="valgrind is needed",
)
FOM = Path(__file__).parents[1] / "foms" / "fomcost.xml"
RPR = sorted((Path(__file__).parents[2] / "tests" / "data" / "fom" / "rpr").glob("*.xml"))
FEW = {"repetitions": 20, "warm_up": 5, "samples": 2, "gap_ms": 0.5}


@pytest.fixture
def fomcost(run: Run) -> Run:
    run.command = lambda: [sys.executable, "-m", "starling_bench", "fomcost"]
    # The option that names the program is the study's.
    run.start = lambda tsf, *options: start(run, tsf, *options)
    return run


def start(run: Run, tsf: dict, *options: str) -> Run:
    tables.write(run.directory / "t.tsf.toml", tsf)
    return popen(run, "run", "t.tsf.toml", "--fomcost", FOMCOST, "--rti-root", run.rti_root,
                 *([] if run.report else ["--no-report"]), *options)  # fmt: skip


def popen(run: Run, *options: object) -> Run:
    run.manager = subprocess.Popen(
        [*run.command(), *map(str, options), "--out", run.out, "--idle-wait-s", "0"],
        cwd=run.directory, env=run.environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    return run


def plan(*tests: dict, rti: dict | None = None, hosts: bool = False, **federate: object) -> dict:
    """A file with these tests, whose sender has more fields."""
    host = (lambda name: {"host": name}) if hosts else lambda name: {}
    sequence = {
        "name": "s", "fom": str(FOM), "master": "sender", "rti": rti or {},
        "join_timeout_s": 100.0, "data_timeout_s": 100.0, "loss_timeout_s": 100.0,
        "federate": [{"name": "sender", **host("a"), **federate},
                     {"name": "receiver", **host("b")}],
        "pair": [{"sender": "sender", "receiver": "receiver"}],
        "execution": [{"name": "e", "test": [FEW | test for test in tests]}],
    }  # fmt: skip
    if not hosts:
        return {"sequence": [sequence]}
    sequence["rtiexec_host"] = "c"
    named = [{"name": "a", "capture": True}, {"name": "b"}, {"name": "c"}]
    return {"host": named, "sequence": [sequence]}


def summaries(run: Run) -> list[dict]:
    return json.loads((run.directory / run.out / "summary.json").read_text())


def rows(run: Run) -> list[dict]:
    with (run.directory / run.out / "results.csv").open() as file:
        return list(csv.DictReader(file))


ALL = ({"transport": "reliable", "layout": ["multiple", "fixed"], "attributes": [1, 5]},
       {"transport": "reliable", "series": "modes", "mode": ["static", "FVB"],
        "layout": ["multiple", "fixed", "variable", "variant", "standard"]},
       {"transport": "reliable", "kind": "interaction", "layout": ["multiple", "variant"],
        "attributes": 3})  # fmt: skip


def check(found: list[dict], helpers: bool = True) -> None:
    """Every update came with all its values, and each call was timed."""
    assert found
    for r in found:
        assert (r["sent"], r["received"], r["lost"], r["doubled"]) == ("20", "20", "0", "0")
        fields = 1
        if r["layout"] == "multiple":
            fields = int(r["attributes"])
            if r["series"] == "modes":
                fields = {"static": 2, "FVB": 4}[r["mode"]]
        assert int(r["values"]) == 20 * fields
        assert 0 < float(r["call_min_us"]) <= float(r["call_p50_us"])
        coded = [r["encode_ns"], r["decode_ns"]]
        if helpers or r["layout"] != "multiple":
            assert all(float(ns) > 0 for ns in coded)
        else:
            assert coded == ["", ""]
        assert 0 < float(r["to_callback_us"]) <= float(r["tick_us"])


def test_all_layouts_in_one_execution(fomcost):
    code, out, err = fomcost.start(plan(*ALL)).end()
    assert (code, err) == (0, ""), out + err
    check(rows(fomcost))
    assert len(rows(fomcost)) == 2 * (4 + 10 + 2)
    # Samples are taken in rounds.
    assert [r["sample"] for r in rows(fomcost)] == ["1"] * 16 + ["2"] * 16
    order = [[r["test"] for r in rows(fomcost) if r["sample"] == n] for n in ("1", "2")]
    assert order[0] != order[1] and sorted(order[0]) == sorted(order[1])
    assert "of an update of one (published" in undisturbed("fomcost", fomcost.directory / "out")


def test_any_rti_with_the_api(fomcost, server):
    """The stand-in has but the services that are needed, copies values early and returns from
    evokeMultipleCallbacks after one."""
    fomcost.rti_root = STANDIN_ROOT
    rti = {"adapter": "generic", "local_settings": f"standin://{server.at}"}
    # It has no encoding helpers: what needs them is made by hand and not timed, or refused.
    layouts = ["multiple", "fixed", "variable", "variant"]
    tests = (ALL[0], ALL[1] | {"layout": layouts}, ALL[2])
    code, out, err = fomcost.start(plan(*tests, rti=rti)).end()
    assert (code, err) == (0, ""), out + err
    check(rows(fomcost), helpers=False)
    fomcost.out = "again"
    fomcost.start(plan({"layout": "standard", "transport": "reliable"}, rti=rti))
    fomcost.fails(1, "layout 'standard' needs the standard's encoding helpers", "this RTI lacks")


STANDIN = """[[rti]]
name = "standin"
adapter = "generic"
root = "{}"
local_settings = "standin://{{host}}:15198"
server = ["{{root}}/bin/standin-rti", "--listen", "{{host}}:15198"]
server_port = 15198
"""


@pytest.mark.long
@spaces
@counts
def test_other_rtis_are_timed_counted_and_captured_beside_starling(fomcost):
    """As the command's own plan has them, of which two tests are run here."""
    others = fomcost.directory / "others.toml"
    others.write_text(STANDIN.format(STANDIN_ROOT))
    to = fomcost.directory / "made"
    file, left_out = plans.write(to, Path(RTI_ROOT), Path(FOMCOST), others, 1, None, 0, False)
    assert left_out == ["layout 'standard': not all RTIs have the standard's encoding helpers"]
    given = tables.read(file)
    assert not [t for s in given["sequence"] for t in s["execution"][0]["test"]
                if "standard" in t["layout"]]  # fmt: skip
    beside = [s for s in given["sequence"] if "standin" in s["rti"]]
    assert [s["name"] for s in beside] == ["time", "counted", "net", "wire", "counted-net"]
    for s in given["sequence"]:
        (execution,) = s["execution"]
        execution["test"] = [FEW | {"transport": "reliable", "layout": ["multiple", "fixed"],
                                    "attributes": [1, 5], "samples": 1}]  # fmt: skip
        s |= {k: 100.0 for k in ("join_timeout_s", "data_timeout_s", "loss_timeout_s")}
    given["sequence"] = beside
    fomcost.report = True
    code, out, err = fomcost.start(given).end()
    assert (code, err) == (0, ""), out + err
    found = {(s["sequence"], s["layout"], s["attributes"]): s for s in summaries(fomcost)}
    assert len(found) == 4 * (3 + 2 + 2 + 2 + 2)
    for name, s in found.items():
        sequence, _, rti = name[0].rpartition(".")
        assert s["rti"].startswith("stand-in" if rti == "standin" else "Starling")
        assert bool(s["instructions"]) == sequence.startswith("counted")
        assert bool(s["wire"]) == (sequence == "wire")
    for rti in ("network", "standin"):
        several, one = (found["wire." + rti, x, 5]["wire"] for x in ("multiple", "fixed"))
        assert several["bytes"] > one["bytes"] > 72
        assert (several["by_format"] is None) == (rti == "standin")
    page = (fomcost.directory / "out" / "report.html").read_text()
    titles = (
        "time.standin (stand-in",
        "counted.standin (stand-in",
        "wire.standin, object, reliable:",
    )
    assert [words for words in titles if words not in page] == []


BY_RTIEXEC = {"STARLING_TRANSPORT_PATH": "forwarder"}
UNICAST = {"STARLING_TRANSPORT_PATH": "direct", "STARLING_TRANSPORT_BEST_EFFORT": "datagrams"}
MULTICAST = UNICAST | {"STARLING_TRANSPORT_BEST_EFFORT": "multicast"}


@pytest.mark.long
@spaces
@pytest.mark.parametrize(
    "transport, env, to",
    [
        ("reliable", BY_RTIEXEC, "10.77.0.4"),
        ("best_effort", BY_RTIEXEC | {"STARLING_TRANSPORT_BEST_EFFORT": "datagrams"}, "10.77.0.4"),
        ("reliable", {"STARLING_TRANSPORT_PATH": "direct"}, "10.77.0.3"),
        ("best_effort", UNICAST, "10.77.0.3"),
        ("best_effort", MULTICAST, "239."),
    ],
    ids=["tcp", "udp", "direct", "unicast", "multicast"],
)
def test_captured_bytes_are_the_formats_own_count(fomcost, transport, env, to):
    """Of every update the packet above UDP or TCP, to the byte, to rtiexec or the receiver."""
    rti = {"env": env}
    test = {"transport": transport, "layout": ["multiple", "fixed", "standard"], "samples": 1,
            "attributes": [1, 5], "warm_up": 0}  # fmt: skip
    by_datagrams = env in (UNICAST, MULTICAST)
    if by_datagrams:
        test["warm_up"] = 400  # until they are heard, updates go by the federates' link
    interaction = test | {"kind": "interaction", "layout": "multiple"}
    code, out, err = fomcost.start(plan(test, interaction, rti=rti, hosts=True)).end()
    assert (code, err) == (0, ""), out + err
    found = summaries(fomcost)
    assert len(found) == 8
    for s in found:
        w = s["wire"]
        assert w["protocol"] == {"reliable": "tcp", "best_effort": "udp"}[transport]
        # Each was sent once; a heartbeat of the RTI may travel with one.
        if not by_datagrams:
            assert w["updates"] + w["shared"] == 20 and w["shared"] == 0
        assert w["updates"] >= 20 and w["others"] <= w["updates"] / 10
        assert w["bytes"] == w["by_format"], w["why"]
        assert w["dropped"] == 0 and w["to"].startswith(to)
        # Two bytes beside each small value; the rest is the update's head.
        head = w["bytes"] - s["bytes"] - 2 * s["fields"]
        assert 10 <= head <= (30 if transport == "reliable" else 30 + frames.DATAGRAM_HEAD)
    five = {s["layout"]: s["wire"]["bytes"] for s in found
            if (s["kind"], s["attributes"]) == ("object", 5)}  # fmt: skip
    # Five attributes have 72 bytes and 10 beside them, one has 76 and 2.
    assert five["multiple"] - five["fixed"] == (72 + 10) - (76 + 2)
    if transport == "best_effort":
        assert all(not s["way_reliable"] for s in found)
    (path,) = (fomcost.directory / "out" / "s" / "e").glob("a.*.pcap")
    flows = capture.flows(capture.packets(path))
    assert all(f.gap_bytes == 0 for f in flows.values())


@pytest.mark.long
@counts
def test_instructions_of_the_call_do_not_depend_on_the_machines_other_work(fomcost):
    test = {"transport": "reliable", "layout": ["multiple", "fixed"], "attributes": [1, 5],
            "repetitions": 64, "warm_up": 32, "gap_ms": 2.0}  # fmt: skip
    functions = ["fomcost_call_object", "fomcost_call_interaction", "fomcost_encode",
                 "fomcost_decode"]  # fmt: skip
    fomcost.start(plan(test, count=functions))
    deadline, busy = time.monotonic() + LIMIT_S, []
    try:
        # The first sample of each is there: beside the second ones all CPUs are busy.
        while len(fomcost.rows()) < 4 and fomcost.manager.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for _ in os.sched_getaffinity(0):
            busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        code, out, err = fomcost.end()
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert (code, err) == (0, ""), out + err
    found = {(s["layout"], s["attributes"]): s for s in summaries(fomcost)}
    for s in found.values():
        one, other = s["instructions"]
        assert abs(one - other) < 0.02 * one
        assert 100 < one < 20_000
        assert s["encode_instructions"]["mean"] > 20
    assert found["multiple", 5]["instructions"] > found["multiple", 1]["instructions"]
    # The helpers take more than octets that are written by hand.
    by_helpers, by_hand = (
        found[x, 5]["encode_instructions"]["mean"] for x in ("multiple", "fixed")
    )
    assert by_helpers > by_hand
    assert list((fomcost.directory / "out").rglob("callgrind.out.*")) == []


def test_best_effort_by_a_reliable_link_is_marked_and_fails(fomcost):
    """It runs, and neither its name nor the exit code hides what it was."""
    fomcost.report = True
    fomcost.start(plan({"transport": "best_effort", "layout": "fixed", "attributes": [1, 2]}))
    fomcost.fails(1, "best effort of s went by reliable links")
    page = (fomcost.directory / "out" / "report.html").read_text()
    assert "not what its name says: by a reliable link" in page
    assert 'class="verdict bad"' in page


@pytest.mark.long
def test_a_class_of_ones_own_fom(fomcost):
    """RPR FOM 2.0 in its 14 modules, with all modes of a field, by one command."""
    modules = [part for path in RPR for part in ("--fom", path)]
    popen(fomcost, "--rti-root", RTI_ROOT, "--program", FOMCOST, *modules, "--class",
          "BaseEntity.PhysicalEntity", "--rate", 60, "--scale", 0.005)  # fmt: skip
    # Only the plan: to run all of it takes minutes.
    while not (fomcost.directory / "out" / "run.json").exists():
        assert fomcost.manager.poll() is None, fomcost.manager.communicate()
    fomcost.manager.send_signal(signal.SIGINT)
    fomcost.manager.communicate(timeout=LIMIT_S)
    planned = lambda: [f.read_bytes() for f in sorted((fomcost.directory / "out.plan").iterdir())]  # noqa: E731
    before = planned()
    # By mistake the same directory: the plan of what is there stays.
    popen(fomcost, "--rti-root", RTI_ROOT, "--program", FOMCOST, *modules, "--class", "BaseEntity")
    assert "STL-OUT-002" in fomcost.manager.communicate(timeout=LIMIT_S)[1]
    assert (fomcost.manager.returncode, planned()) == (2, before)
    made = tables.read(fomcost.directory / "out.plan" / "fomcost.tsf.toml")
    own = made["sequence"][0] | {"name": "time", "rti": {}}
    # For root its data go between hosts, as they are best effort; here all is on one.
    for at in (own, *own["federate"]):
        for where in ("host", "rtiexec_host"):
            at.pop(where, None)
    (test,) = own["execution"][0]["test"]
    test |= FEW | {"attributes": [1, 30]}
    fomcost.out = "own"
    code, out, err = fomcost.start({"sequence": [own]}).end()
    # On one host best effort is none.
    assert test["transport"] == "best_effort"
    assert (code, err.split("\n")[0]) == (
        1,
        "STL-RUN-005: best effort of time went by reliable links",
    )
    found = {(s["layout"], s["attributes"]): s for s in summaries(fomcost)}
    assert {k: s["fields"] for k, s in found.items()} == {
        ("own", 1): 1, ("own", 30): 30, ("combined", 1): 1, ("combined", 30): 1,
    }  # fmt: skip
    assert found["own", 30]["bytes"] == found["combined", 30]["bytes"]
    out = undisturbed("fomcost", fomcost.directory / "own")
    assert re.search(r"its 30 values of .* cost .* (than|as) one of as many bytes", out)
    assert "at 60 updates/s the calls take" in out


@pytest.mark.long
@spaces
def test_every_update_of_a_class_of_ones_own_is_found_in_what_was_captured(fomcost):
    """Of all its numbers of attributes and of as many bytes in one: each alone, each once."""
    own = plans.own_class(RPR, "BaseEntity.PhysicalEntity", "", 1)
    values = fomcost.directory / "values.json"
    values.write_text(json.dumps(own))
    tests = planned(own, {"values": str(values), "samples": 1, "warm_up": 0})
    env = {"STARLING_TRANSPORT_BEST_EFFORT": "datagrams", "STARLING_TRANSPORT_PATH": "forwarder"}
    code, out, err = fomcost.start(plan(*tests, rti={"env": env}, hosts=True)).end()
    assert (code, err) == (0, ""), out + err
    found = summaries(fomcost)
    assert len(found) == 2 * len(own["counts"]["best_effort"]) > 10
    for s in found:
        w = s["wire"]
        assert w["updates"] + w["shared"] == s["sent"] == 20, (s["layout"], s["attributes"])
        assert w["bytes"] >= s["bytes"] / 2


SHIP = """<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Ship</name><sharing>PublishSubscribe</sharing>{}</objectClass></objectClass></objects>
<dataTypes><fixedRecordDataTypes><fixedRecordData><name>Vector</name>
<encoding>HLAfixedRecord</encoding>
<field><name>X</name><dataType>HLAfloat64BE</dataType></field>
<field><name>Y</name><dataType>HLAfloat64BE</dataType></field>
</fixedRecordData></fixedRecordDataTypes></dataTypes></objectModel>
"""
ATTRIBUTE = """<attribute><name>{}</name><dataType>{}</dataType><updateType>Conditional</updateType>
<ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>
<transportation>{}</transportation><order>Receive</order></attribute>
"""
# Texts of any length among the reliable ones; by the first each is known.
SHIPS = (
    ("Crew", "HLAinteger64BE", "HLAreliable"),
    ("Position", "Vector", "HLAbestEffort"),
    ("Name", "HLAunicodeString", "HLAreliable"),
    ("Flag", "HLAASCIIstring", "HLAreliable"),
)


def ships(run: Run) -> tuple[dict, list[dict]]:
    """Updates of a class whose values need not be equally long and have both transportations, and
    tests of them."""
    module = run.directory / "ship.xml"
    module.write_text(SHIP.format("".join(ATTRIBUTE.format(*one) for one in SHIPS)))
    own = plans.own_class([module], "Ship", "", 1)
    values = run.directory / "values.json"
    values.write_text(json.dumps(own))
    return own, planned(own, {"values": str(values), "samples": 1, "warm_up": 7})


@pytest.mark.parametrize(
    "of, left_out, both",
    [
        ({"HLAreliable"}, {"net-unicast", "net-multicast", "wire-unicast", "wire-multicast"}, ()),
        ({"HLAbestEffort"}, {"time", "counted", "net-direct", "wire-direct"}, ()),
        ({"HLAreliable", "HLAbestEffort"}, set(), ("net", "wire", "counted-net")),
    ],
)
def test_a_class_of_ones_own_is_measured_by_ways_on_which_its_data_go_as_they_say(
    tmp_path, monkeypatch, of, left_out, both
):
    """Where the study takes one transportation of its own classes it takes that of others', too."""
    module = tmp_path / "ship.xml"
    some = [ATTRIBUTE.format(*one) for one in SHIPS if one[2] in of]
    module.write_text(SHIP.format("".join(some)))
    own = plans.own_class([module], "Ship", "", 1)
    monkeypatch.setattr(planning.os, "geteuid", lambda: 0)
    monkeypatch.setattr(planning.shutil, "which", lambda program: program)
    here = Path(RTI_ROOT), Path(FOMCOST)
    file, said = plans.write(tmp_path / "whole", *here, None, 1, None, 0)
    taken = {s["name"]: ways(s) for s in tables.read(file)["sequence"]}
    assert said == [] and left_out < taken.keys()
    file, said = plans.write(tmp_path / "out", *here, None, 1, own, 60)
    plan_of(file, STUDY)  # it can be run
    found = {s["name"]: ways(s) for s in tables.read(file)["sequence"]}
    assert found.keys() == taken.keys() - left_out and len(said) == len(left_out)
    assert all(any(f"'{name}'" in line for line in said) for name in left_out)
    mine = {{"HLAreliable": "reliable", "HLAbestEffort": "best_effort"}[one] for one in of}
    for name, by in found.items():
        assert by == (taken[name] & mine) | ({"both_transportations"} if name in both else set())
    # Without hosts of their own nothing is left of a class whose data all go otherwise: all is
    # measured, and marked.
    monkeypatch.setattr(planning.os, "geteuid", lambda: 1)
    file, said = plans.write(tmp_path / "alone", *here, None, 1, own, 60)
    assert len(said) == 1 and {s["name"] for s in tables.read(file)["sequence"]} == {
        "time", "counted"
    }  # fmt: skip


def ways(sequence: dict) -> set[str]:
    each = [t["transport"] for t in sequence["execution"][0]["test"]]
    return {way for one in each for way in ([one] if isinstance(one, str) else one)}


def mean(own: dict, s: dict) -> float:
    """Bytes of the twenty updates that were measured."""
    key = "/".join(str(s[k]) for k in ("layout", "transport", "attributes", "mode"))
    updates = own["tests"][key]["updates"][:20]
    return sum(len("".join(values)) // 2 for values in updates) / 20


@pytest.mark.long
def test_bytes_are_those_of_the_calls_that_were_measured(fomcost):
    """Not of the first; and what comes in two messages is one update, neither lost nor doubled."""
    own, tests = ships(fomcost)
    code, out, err = fomcost.start(plan(*tests)).end()
    assert (code, err.split("\n")[0]) == (
        1,
        "STL-RUN-005: best effort of s went by reliable links",
    )
    assert {(r["sent"], r["received"], r["lost"], r["doubled"]) for r in rows(fomcost)} == {
        ("20", "20", "0", "0")
    }
    found = {(s["transport"], s["layout"], s["attributes"]): s for s in summaries(fomcost)}
    assert len(found) == 2 * (3 + 1 + 1)
    for (transport, layout, _), s in found.items():
        assert s["bytes"] == pytest.approx(mean(own, s))
        assert s["bytes_min"] <= s["bytes_p50"] <= s["bytes_max"]
        both = (transport, layout) == ("both_transportations", "own")
        assert s["messages"] == (2 if both else 1)
        assert s["fields"] == (1 if layout == "combined" else s["attributes"])
    every = found["both_transportations", "own", 4]
    assert every["bytes_min"] < every["bytes"] < every["bytes_max"]
    least, most = (f"{every[k]:g}" for k in ("bytes_min", "bytes_max"))
    words = f"its 4 values of {every['bytes']:.1f} bytes ({least} to {most}) in 2 messages, as they"
    out = undisturbed("fomcost", fomcost.directory / "out")
    assert f"s, object, both transportations: {words} have several transportations, cost " in out


@pytest.mark.long
@spaces
def test_all_messages_of_an_update_are_found_whatever_each_is_long(fomcost):
    """By TCP and by UDP, to the byte as the format has them."""
    own, tests = ships(fomcost)
    env = {"STARLING_TRANSPORT_BEST_EFFORT": "datagrams"}
    code, out, err = fomcost.start(plan(*tests, rti={"env": env}, hosts=True)).end()
    assert (code, err) == (0, ""), out + err
    for s in summaries(fomcost):
        w = s["wire"]
        assert s["bytes"] == pytest.approx(mean(own, s))
        assert (w["unknown"], w["bytes"]) == (0, w["by_format"]), w["why"]
        assert (w["bytes_max"] - w["bytes_min"]) == s["bytes_max"] - s["bytes_min"]
        both = (s["transport"], s["layout"]) == ("both_transportations", "own")
        assert w["messages"] == (2 if both else 1)
        udp = both or (s["transport"] == "best_effort")
        tcp = both or not udp
        assert w["protocol"] == " and ".join(["tcp"] * tcp + ["udp"] * udp)
        # Two bytes beside each value, and each message's head.
        head = w["bytes"] - s["bytes"] - 2 * s["fields"]
        least = 10 * w["messages"] + frames.DATAGRAM_HEAD * udp
        assert least <= head <= 2 * least


@pytest.mark.long
@pytest.mark.parametrize("name", ["receiver", "sender"])
def test_a_federate_that_is_killed_is_named(fomcost, name):
    test = {"transport": "reliable", "layout": "fixed", "samples": 1000}
    fomcost.start(plan(test))
    fomcost.halfway()
    os.kill(fomcost.pid(f"fomcost --name {name}"), signal.SIGKILL)
    fomcost.fails(1, f"federate '{name}' was ended by SIGKILL during test 1 of 1")


@pytest.mark.parametrize(
    "test, words",
    [
        ({"layout": "fixed", "attributes": 6}, ("there are 5 parts", "take at most 5")),
        ({"mode": "FPX"}, ("there is no mode 'FPX'", "static, FPW")),
        ({"layout": "combined"}, ("'combined' is of the series \"own\" only",)),
        ({"series": "own", "values": "nowhere.json"}, ("there is no such file",)),
    ],
)
def test_bad_tests_are_told(fomcost, test, words):
    fomcost.start(plan(test)).fails(2, "t.tsf.toml:", *words)


@pytest.mark.parametrize("rate", ["inf", "nan", "-1"])
def test_a_rate_is_a_finite_number(fomcost, rate):
    popen(fomcost, "--rti-root", RTI_ROOT, "--program", FOMCOST, "--fom", RPR[0], "--class", "X",
          "--rate", rate)  # fmt: skip
    _, said = fomcost.manager.communicate(timeout=LIMIT_S)
    assert fomcost.manager.returncode == 2 and "--rate" in said
    assert not (fomcost.directory / "out.plan").exists()


def test_the_shipped_plans_are_whole():
    shipped = Path(__file__).parents[1] / "experiments" / "fomcost"
    for name in ("fomcost", "fomcost-root"):
        said = subprocess.run(
            [sys.executable, "-m", "starling_bench", "fomcost", "check",
             str(shipped / f"{name}.tsf.toml"), "--fomcost", FOMCOST],
            capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
        assert said.returncode == 0, said.stderr
        assert "time.unix/all: 134 tests, 670 samples" in said.stdout
        for way in ("direct", "unicast", "multicast") if name == "fomcost-root" else ():
            assert f"net-{way}/all: 134 tests, 670 samples" in said.stdout
            assert f"wire-{way}/all: 134 tests, 134 samples" in said.stdout


def test_hosts_that_share_no_memory_are_refused(fomcost):
    given = plan({"transport": "reliable"}, hosts=True)
    for number, host in enumerate(given["host"]):
        host |= {"kind": "ssh", "address": f"127.0.0.{number + 1}"}
        host.pop("capture", None)
    fomcost.start(given).fails(2, "hosts a, b are machines of their own", "memory that it shares")


def test_the_committed_fom_is_the_scripts_output():
    script = FOM.with_name("make_fomcost.py")
    sys.path.insert(0, str(script.parent))
    try:
        import make_fomcost
    finally:
        sys.path.pop(0)
    assert make_fomcost.module() == FOM.read_text(encoding="utf-8")
