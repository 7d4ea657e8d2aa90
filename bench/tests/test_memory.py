"""What a test needs of a host's memory is computed before a federate is started."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import BMFED, FOM, LIMIT_S, RTI_ROOT, text

from starling_bench.conducting import conduct
from starling_bench.errors import BenchError
from starling_bench.machines import identity
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import memory, plan

# 10,000 instances of 32 buffers of 1 MB.
LARGE = """kind = "{kind}"
instances = [1, 10000]
buffers = 32
buffer_bytes = 1000000
updates = 100
samples = 1"""


def has() -> str:
    """What this host has, in the words of a message."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 1e9:.3g} GB"


@pytest.mark.parametrize(("kind", "needs"), [("RTOL", "640 GB"), ("OWIT", "320 GB")])
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_test_that_needs_more_than_there_is_is_refused_with_the_amount(
    tmp_path, kind, needs, command
):
    """A sender keeps all values, and so does a returnee."""
    tsf = text(LARGE.format(kind=kind), rti='adapter = "generic"')
    (tmp_path / "t.tsf.toml").write_text(tsf)
    line = 1 + tsf.splitlines().index("[[sequence.execution.test]]")
    done = subprocess.run(
        [sys.executable, "-m", "starling_bench.studies.rtibm", command, "t.tsf.toml",
         "--bmfed", sys.executable, *(["--out", "out"] if command == "run" else [])],
        cwd=tmp_path, text=True, capture_output=True,
    )  # fmt: skip
    said = (
        f"STL-RUN-014: a test of sequence 's' needs {needs} of memory in 2 federates; this host "
        rf"has [0-9.]+ GB free\n  at t.tsf.toml:{line}\n"
        "  do: take fewer types, instances, buffers or updates, or smaller buffers\n"
    )
    where = done.stdout if command == "check" else done.stderr
    assert done.returncode == 2
    assert re.search(said, where), done.stdout + done.stderr
    assert not (tmp_path / "out").exists()


def test_federates_of_this_host_count_also_where_the_server_is_elsewhere(tmp_path):
    tsf = text(LARGE.format(kind="RTOL"), extra='rtiexec_host = "far"', rti='adapter = "generic"')
    host = '[[host]]\nname = "far"\nkind = "ssh"\naddress = "192.0.2.1"\n'
    (tmp_path / "t.tsf.toml").write_text(host + tsf)
    found = plan.load(tmp_path / "t.tsf.toml", STUDY)
    me = identity.Run()
    try:
        conductor = conduct.Conductor(STUDY, tmp_path, sys.executable, None, me, found.host)
        (sequence,) = found.sequence
        with pytest.raises(BenchError, match="needs 640 GB of memory in 2 federates; this host"):
            conductor._check_memory(sequence)
        # Its CPUs, too: none has so many.
        sequence.federate[0].cpus = [1 << 20]
        with pytest.raises(BenchError, match=f"this host has no CPU {1 << 20} to use"):
            conductor._check_federates(sequence)
    finally:
        me.end()


GB = 1_000_000_000


def machine(root: Path, files: dict[str, str]) -> int:
    """What is free on a host of 16 GB of which 8 are available, with these files, too."""
    meminfo = f"MemTotal: {16 * GB // 1024} kB\nMemFree: 1 kB\nMemAvailable: {8 * GB // 1024} kB\n"
    for name, content in {"proc/meminfo": meminfo, "proc/self/cgroup": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return memory.of_this_host(root)


def group(path: str, most: object, used: int, cache: int, high: object = "max") -> dict[str, str]:
    """One of version 2."""
    at = f"sys/fs/cgroup/{path}"
    return {
        f"{at}/memory.max": f"{most}\n", f"{at}/memory.high": f"{high}\n",
        f"{at}/memory.current": f"{used}\n",
        f"{at}/memory.stat": f"anon 5\nactive_file {cache}\ninactive_file 0\n",
    }  # fmt: skip


def test_what_others_use_and_what_a_container_may_not_have_is_not_free(tmp_path):
    assert machine(tmp_path / "a", {}) == 8 * GB
    inside = {"proc/self/cgroup": "0::/box/inner\n"}
    # What caches hold can be had.
    limited = inside | group("box/inner", 6 * GB, 3 * GB, 2 * GB)
    assert machine(tmp_path / "b", limited) == 5 * GB
    # Limits of those above it hold, too; "max" is none.
    limited = inside | group("box/inner", "max", 2 * GB, 0) | group("box", 4 * GB, 3 * GB, 0)
    assert machine(tmp_path / "c", limited) == 1 * GB
    assert machine(tmp_path / "d", inside | group("box/inner", 6 * GB, 1 * GB, 0, 3 * GB)) == 2 * GB
    # A container that does not see its own name has its limit at the top.
    away = {"proc/self/cgroup": "0::/not/here\n"} | group(".", 2 * GB, 2 * GB + 5, 0)
    assert machine(tmp_path / "e", away) == 0
    # Version 1, where no limit is a large number.
    at = "sys/fs/cgroup/memory"
    first = {
        "proc/self/cgroup": "5:cpu,cpuacct:/box\n4:memory:/box\n0::/\n",
        f"{at}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{at}/memory.usage_in_bytes": f"{9 * GB}\n",
        f"{at}/memory.stat": "total_rss 1\n",
        f"{at}/box/memory.limit_in_bytes": f"{7 * GB}\n",
        f"{at}/box/memory.usage_in_bytes": f"{4 * GB}\n",
        f"{at}/box/memory.stat": f"inactive_file 9\ntotal_inactive_file {GB}\n",
    }
    assert machine(tmp_path / "f", first) == 4 * GB


def test_this_host_has_less_free_than_it_has():
    assert 0 < memory.of_this_host() < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def needs(tmp_path, test: str) -> list[int]:
    """Of both federates."""
    (tmp_path / "t.tsf.toml").write_text(text(test, rti='adapter = "tcp"'))
    (sequence,) = plan.load(tmp_path / "t.tsf.toml", STUDY, True).sequence
    ((spec,),) = [e.test for e in sequence.execution]
    return [STUDY.memory(sequence, spec, name) for name in ("master", "subordinate")]


def test_what_a_federate_holds(tmp_path):
    """Values of what it sends or returns, round trips of the sender, the stamps that come."""
    size = "types = 2\ninstances = 3\nbuffers = 5\nbuffer_bytes = 7000\nupdates = 1000"
    values, trips, stamps = 2 * 3 * 5 * 7000, 2002 * 8, 1000 * 32
    assert needs(tmp_path, f'kind = "OWOT"\n{size}') == [values, stamps]
    assert needs(tmp_path, f'kind = "RTIL"\n{size}') == [values + trips + stamps, values + stamps]
    # Not more than what waits to be written, 2 million, and the latest stamps, a million.
    many = 'kind = "RTOL"\nupdates = 1000000000'
    assert needs(tmp_path, many) == [8 + (1 << 24) + (1 << 25), 8 + (1 << 25)]


def test_what_just_fits_is_not_refused(tmp_path):
    """To the byte."""
    most = sum(needs(tmp_path, 'kind = "OWOT"\nbuffer_bytes = 1000\nupdates = 1'))
    (sequence,) = plan.load(tmp_path / "t.tsf.toml", STUDY, True).sequence
    tests = [spec for e in sequence.execution for spec in e.test]
    both = ["master", "subordinate"]
    memory.check(STUDY, sequence, tests, both, "host 'far'", most)
    with pytest.raises(BenchError, match=r"needs 1\.03e-06 GB of memory in 2 federates; host "):
        memory.check(STUDY, sequence, tests, both, "host 'far'", most - 1)


@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
def test_bmfed_alone_refuses_it_too():
    test = json.dumps({"kind": "RTOL", "instances": 10_000, "buffers": 32, "bytes": 1_000_000})
    done = subprocess.run(
        [BMFED, "--fom", FOM, "--name", "a", "--master", "--pair", "a:b", "--test", test],
        text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        f"bmfed: test 0 needs 320 GB of memory in federate 'a'; its host has {has()}\n"
    )


@pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
def test_a_subordinate_that_can_not_have_it_says_so(tmp_path):
    """Values are the sender's, perhaps on another host than the master's."""
    meet = f"unix:{tmp_path}/meet"
    common = [BMFED, "--fom", FOM, "--adapter", "udp", "--local-settings", meet]
    test = {"kind": "OWIT", "transport": "best_effort", "instances": 1_000_000, "buffers": 32,
            "bytes": 2_000, "loop": 3}  # fmt: skip
    place = [BMFED.replace("bmfed/bmfed", "bmfed/bench-meet"), meet]
    with subprocess.Popen(place, text=True, stdout=subprocess.PIPE) as place:
        try:
            assert place.stdout.readline().startswith("ready ")
            master, other = (
                subprocess.Popen([*common, "--name", name, *more], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for name, more in (
                    ("a", ["--master", "--pair", "b:a", "--test", json.dumps(test)]), ("b", []),
                )
            )  # fmt: skip
            why = f"test 1 needs 64 GB of memory in federate 'b'; its host has {has()}"
            assert why in other.communicate(timeout=LIMIT_S)[1]
            assert f"federate 'b' failed: {why}" in master.communicate(timeout=LIMIT_S)[1]
            assert other.returncode == 2 and master.returncode == 1
        finally:
            place.kill()
