"""EC1 between hosts that have clocks of their own: compared by echoes within each sample, or said
to be unknown."""

import json
import os
import tomllib

import numpy as np
import pyarrow.parquet as parquet
import pytest
from ec1_runs import EC1FED, FOM, NEEDED, ec1, rows
from runs import run as run  # the fixture that the network needs
from sshd import REASON, net as net, possible
from test_updates import said_by_chronyd

from starling_bench.errors import BenchError
from starling_bench.flows import updates
from starling_bench.machines import sites
from starling_bench.studies.ec1 import STUDY, plans
from starling_bench.tsf import plan, planned

OFFSET_NS, DRIFT = 3_000_000, 20e-6
TWO = f"""[[sequence]]
name = "s"
fom = "{FOM}"
master = "sub1"
[sequence.rti]
adapter = "tcp"
[[sequence.federate]]
name = "pub1"
command = {{command}}
[[sequence.federate]]
name = "pub2"
[[sequence.federate]]
name = "sub1"
[[sequence.pair]]
sender = "pub1"
receiver = "sub1"
[[sequence.pair]]
sender = "pub2"
receiver = "sub1"
[[sequence.execution]]
name = "e"
[[sequence.execution.test]]
clock = "estimate"
entities = 10
rate = 60.0
payload = 512
seconds = {{seconds}}
samples = 2
"""


def own_clock(tmp_path, seconds: float, *command: str):
    """A run whose first publisher is started so."""
    file, out = tmp_path / "t.tsf.toml", tmp_path / "out"
    file.write_text(TWO.format(command=json.dumps(command), seconds=seconds))
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    return out


@pytest.mark.long
@NEEDED
def test_a_publishers_clock_that_is_off_and_drifts_is_corrected_within_the_bound(tmp_path):
    wrong = (f"BENCH_CLOCK_OFFSET_NS={OFFSET_NS}", "BENCH_CLOCK_DRIFT_PPM=20")
    out = own_clock(tmp_path, 2, "env", *wrong, EC1FED)
    found = rows(out)
    assert len(found) == 4 and all(r["sent"] == r["received"] == "1200" for r in found)
    for row in found:
        assert row["clock"] == "estimate" and 0 < float(row["bound_ms"]) < 10
        path = updates.path_of(out / "s" / "e", 1, int(row["sample"]), "sub1")
        table = parquet.read_table(path)
        mine = table["publisher"].to_numpy() == int(row["publisher"])
        sent = table["sent_ns"].to_numpy()[mine].astype("i8")
        latency = table["latency_ns"].to_numpy()[mine]
        # What was taken out, and what the one clock of this machine would have said.
        offset = updates.offsets(path, "estimate")[int(row["publisher"])]
        arrived = sent + latency - offset.at(sent - offset.base)
        right = (sent - OFFSET_NS) / (1 + DRIFT) if row["sender"] == "pub1" else sent
        true = (arrived - right) / 1e6
        for name, here in (("min_ms", true.min()), ("mean_ms", true.mean()),
                           ("max_ms", true.max())):  # fmt: skip
            assert abs(float(row[name]) - here) <= float(row["bound_ms"]) + 0.001, (name, row)
        raw = np.abs((arrived - sent) / 1e6 - true)
        assert (raw.min() > 1) == (row["sender"] == "pub1")
        # Throughput is over the time that updates took, whatever the clocks say.
        assert float(row["mbps"]) == pytest.approx(float(row["theory_mbps"]), rel=0.05)
    page = (out / "report.html").read_text()
    assert "hosts have clocks of their own" in page and "may be wrong by up to" in page
    # A report from what is kept says the same, also without the echoes.
    before = json.loads((out / "summary.json").read_text())
    for raw in out.glob("s/e/pings_*.raw"):
        raw.unlink()
    (out / "summary.json").unlink()
    ec1("report", out)
    assert json.loads((out / "summary.json").read_text()) == before


@pytest.mark.long
@NEEDED
def test_hosts_that_daemons_discipline_are_compared_by_what_these_say(tmp_path):
    """One's clock is 3 ms ahead, as its daemon knows."""
    for name, ahead in (("one", OFFSET_NS), ("others", 0)):
        (tmp_path / name).write_text(said_by_chronyd(-ahead / 1e9)[0])
    command = ["env", f"BENCH_CLOCK_OFFSET_NS={OFFSET_NS}", f"SAID={tmp_path / 'one'}", EC1FED]
    daemon = f'cat "${{SAID:-{tmp_path / "others"}}}"'
    text = TWO.format(command=json.dumps(command), seconds=0.5)
    own = f'clock = "daemon"\ndaemon = {json.dumps(daemon)}'
    file, out = tmp_path / "t.tsf.toml", tmp_path / "out"
    file.write_text(text.replace('clock = "estimate"', own))
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    found = rows(out)
    assert len(found) == 4 and {r["clock"] for r in found} == {"daemon"}
    for row in found:
        assert float(row["bound_ms"]) == pytest.approx(2 * 0.002579)
        # Untouched, those of the first would be 3 ms less.
        assert -float(row["bound_ms"]) < float(row["min_ms"]) < OFFSET_NS / 1e6
        assert row["sent"] == row["received"] == "300"
    page = (out / "report.html").read_text()
    assert "whose daemons are asked before each sample and after" in page
    before = json.loads((out / "summary.json").read_text())
    ec1("report", out)
    assert json.loads((out / "summary.json").read_text()) == before


@NEEDED
def test_a_clock_that_is_set_within_a_sample_makes_its_times_unknown(tmp_path):
    """The publisher's, behind what its daemon says before, and again afterwards: that all is
    well."""
    (tmp_path / "said").write_text(said_by_chronyd(0)[0])
    command = ["env", "BENCH_CLOCK_JUMP_NS=40000000", "JUMPS=1", EC1FED]
    text = TWO.format(command=json.dumps(command), seconds=1).replace("samples = 2\n", "")
    daemon = f'cat {tmp_path / "said"}; test -z "$JUMPS" || kill -USR1 $PPID'
    own = f'clock = "daemon"\ndaemon = {json.dumps(daemon)}'
    file, out = tmp_path / "t.tsf.toml", tmp_path / "out"
    file.write_text(text.replace('clock = "estimate"', own))
    ec1("run", file, "--out", str(out), "--ec1fed", EC1FED, "--idle-wait-s", "0")
    found = {r["sender"]: r for r in rows(out)}
    assert found["pub1"]["clock"].startswith("not known: that of 'pub1' jumped by +")
    assert found["pub1"]["mean_ms"] == "" != found["pub2"]["mean_ms"]


def test_clocks_of_several_kinds_in_one_execution_are_refused(tmp_path):
    text = TWO.format(command="[]", seconds=1)
    more = text[text.index("[[sequence.execution.test]]") :]
    file = tmp_path / "t.tsf.toml"
    for own in ('clock = "same"', 'clock = "daemon"'):
        file.write_text(text + more.replace('clock = "estimate"', own))
        if own == 'clock = "same"':
            plan.load(file, STUDY)
            continue
        with pytest.raises(BenchError, match="tests of one execution take their time from several"):
            plan.load(file, STUDY)


# Whose echo answers nobody.
MUTE = """#!/bin/sh
for word; do shift; [ "$word" = --echo ] || set -- "$@" "$word"; done
exec {program} "$@"
"""


@NEEDED
def test_where_no_echo_comes_back_no_latency_is_told_and_why(tmp_path):
    mute = tmp_path / "mute"
    mute.write_text(MUTE.format(program=EC1FED))
    mute.chmod(0o755)
    out = own_clock(tmp_path, 0.1, str(mute))
    found = {r["sender"]: r for r in rows(out)}
    one, other = found["pub1"], found["pub2"]
    assert one["clock"] == "not known: no echo came back" and other["clock"] == "estimate"
    assert one["mean_ms"] == one["p50_ms"] == one["bound_ms"] == "" != other["mean_ms"]
    assert all(r["sent"] == r["received"] == "60" for r in found.values())
    page = (out / "report.html").read_text()
    assert "no latency is told: s, pub1 to sub1, test 1: not known: no echo came back" in page


@pytest.fixture
def hosts(tmp_path, net):
    """A file of two that ssh reaches."""
    file = tmp_path / "hosts.toml"
    file.write_text("".join(machine.table() for machine in net.machines))
    return file


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(not possible() and os.environ.get("REQUIRE_ALL") != "1", reason=REASON)
def test_phase_two_between_hosts_that_ssh_reaches(tmp_path, hosts):
    out = tmp_path / "out"
    ec1("phase2", out, "--sites", "hosts", "--hosts", str(hosts), "--topology", "1-1", "--only",
        "40,41", "--adapters", "sockets,starling")  # fmt: skip
    found = rows(out)
    given = [host["name"] for host in tomllib.loads(hosts.read_text())["host"]]
    plan = tomllib.loads(json.loads((out / "run.json").read_text())["tsf_text"])
    assert {tuple(f["host"] for f in s["federate"]) for s in plan["sequence"]} == {tuple(given)}
    carriers = {".".join(r["sequence"].split(".")[:3]) for r in found}
    assert carriers == {"1-1.sockets.hosts", "1-1.starling.hosts"}
    assert len(found) == 4 and {r["clock"] for r in found} == {"estimate"}
    for row in found:
        assert row["transport"] == "best_effort" or row["sent"] == row["received"] == "100"
        # One kernel has one clock.
        bound = float(row["bound_ms"])
        assert 0 < bound < 50 and -bound < float(row["min_ms"])
    page = (out / "report.html").read_text()
    assert "1-1, hosts" in page and "hosts have clocks of their own" in page
    assert "Sites are emulated" not in page
    assert updates.offsets(updates.path_of(out / found[0]["sequence"] / "all", 1, 1, "sub1"),
                           "estimate")  # fmt: skip


@pytest.mark.long
@NEEDED
@pytest.mark.skipif(not possible() and os.environ.get("REQUIRE_ALL") != "1", reason=REASON)
def test_one_update_between_hosts_waits_for_the_echoes(tmp_path, hosts):
    out = tmp_path / "out"
    ec1("phase1", out, "--sites", "hosts", "--hosts", str(hosts), "--count", "2", "--adapters",
        "sockets")  # fmt: skip
    found = rows(out)
    assert len(found) == 4 and {r["clock"] for r in found} == {"estimate"}
    assert all(float(r["bound_ms"]) > 0 and r["mean_ms"] for r in found)
    page = (out / "report.html").read_text()
    assert "In 4 of 4 flows hosts have clocks of their own" in page


def test_a_topology_of_more_sites_than_hosts_is_refused():
    given = [{"name": "x", "kind": "ssh", "address": "192.0.2.1"}]
    assert 'name = "x"' in sites.hosts("hosts", 1, given)
    with pytest.raises(BenchError, match="2 hosts are needed, and 1 are there") as told:
        sites.hosts("hosts", 2, given)
    assert told.value.code == "STL-SIT-003"


@NEEDED
def test_a_file_without_hosts_is_refused(tmp_path):
    hosts = tmp_path / "hosts.toml"
    more = "[hosts]\nquiet = ['cron']\n[[host]]\nname = 'a'"
    no = "no [[host]] tables"
    for text, why in (("host = 3\n", no), ("", no), (more, "has hosts;")):
        hosts.write_text(text)
        said = ec1("phase2", tmp_path / "out", "--sites", "hosts", "--hosts", str(hosts), code=2)
        assert why in said and "--hosts" in said


def test_files_that_hosts_name_stand_beside_theirs(tmp_path):
    hosts = tmp_path / "hosts.toml"
    hosts.write_text("[[host]]\nname = 'a'\nkey = 'k'\nknown_hosts = '/etc/x'\nport = 22\n")
    (host,) = planned.hosts_of(hosts, ["hosts"], "")
    assert host == {"name": "a", "key": str(tmp_path / "k"), "known_hosts": "/etc/x", "port": 22}


@pytest.mark.parametrize(
    ("kinds", "daemon", "clocks"),
    [(["namespace"] * 2, "", set()), (["namespace"] * 2, "chronyc -c tracking", {"daemon"}),
     (["namespace", "ssh"], "", {"estimate"}), (["ssh"] * 2, "chronyc -c tracking", {"daemon"})],
)  # fmt: skip
def test_namespaces_of_one_machine_have_one_clock(kinds, daemon, clocks):
    hosts = [{"name": f"h{n}", "kind": kind} for n, kind in enumerate(kinds)]
    one = planned.Wanted("/bin/true", ["sockets"], ["1-1"], [40, 41], ["local", "hosts"],
                         hosts=hosts, daemon=daemon)  # fmt: skip
    for text in (plans.configurations(one), plans.connectivity(one, 2)):
        for sequence in tomllib.loads(text)["sequence"]:
            found = {t["clock"] for t in sequence["execution"][0]["test"] if "clock" in t}
            assert found == (clocks if ".hosts" in sequence["name"] else set())


@NEEDED
@pytest.mark.parametrize("option", ["--hosts", "--daemon"])
def test_what_is_said_of_hosts_without_any_is_refused(tmp_path, option):
    said = ec1("phase1", tmp_path / "out", "--adapters", "sockets", option, "x", code=2)
    assert f"{option} is about hosts" in said and "add --sites hosts" in said


def test_federates_of_tests_with_clocks_of_their_own_answer_echoes(tmp_path):
    file = tmp_path / "t.tsf.toml"
    file.write_text(TWO.format(command='["ec1fed"]', seconds=1.0))
    (sequence,) = plan.load(file, STUDY, False).sequence
    tests = sequence.execution[0].tests()
    assert STUDY.arguments(tests) == ["--echo"] and '"echo": true' in tests[0].argument(1)
    same = [test.model_copy(update={"clock": "same"}) for test in tests]
    assert STUDY.arguments(same) == [] and '"echo": false' in same[0].argument(1)
