"""That the RTI which is measured is the one that is named: its libraries, its build of the
federates' program."""

import os
import shutil
from pathlib import Path

import pytest
from bad_tsf import GOOD
from runs import BMFED, QUICK, STANDIN_ROOT, run, text  # noqa: F401 (run is a fixture)
from test_standin import server  # noqa: F401

from starling_bench.conducting.conduct import Conductor
from starling_bench.errors import USAGE, BenchError
from starling_bench.machines import hosts
from starling_bench.machines.rti import Adapter, Rti, check_loaded, check_told, is_an_rtis
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import plan

there = pytest.mark.skipif(
    not (BMFED and STANDIN_ROOT) and os.environ.get("REQUIRE_ALL") != "1",
    reason="BMFED and STANDIN_ROOT are not set",
)


@there
def test_a_library_that_is_not_of_the_rtis_tree_is_refused(run, server):  # noqa: F811
    """Its root has none, and another RTI's is found: nothing of that is kept under this name."""
    root = run.directory / "other"
    (root / "lib").mkdir(parents=True)
    run.env["LD_LIBRARY_PATH"] = f"{STANDIN_ROOT}/lib"
    rti = f'adapter = "generic"\nroot = "{root}"\nlocal_settings = "standin://{server.at}"'
    library = f"{STANDIN_ROOT}/lib/librti1516e.so.1"
    run.start(text(QUICK, rti=rti)).fails(
        USAGE, "STL-RTI-007", f"{library}, which is not below its root {root}", "t.tsf.toml:"
    )
    assert run.rows() == []


@there
def test_an_rti_may_name_its_own_build_of_the_program(run, server):  # noqa: F811
    """Whatever is given for all others."""
    run.bmfed, run.rti_root = "/bin/false", STANDIN_ROOT
    rti = f'adapter = "generic"\nprogram = "{BMFED}"\nlocal_settings = "standin://{server.at}"'
    code, _, err = run.start(text(QUICK, rti=rti)).end()
    assert (code, err) == (0, "") and len(run.rows()) == 4 * 2 * 2


def test_its_program_is_found_from_the_file(tmp_path):
    """And that of a federate goes before it; the platform's own programs are beside it."""
    path = tmp_path / "t.toml"
    table = 'local_settings = "a"\nprogram = "own/federate"'
    path.write_text(GOOD.replace('local_settings = "a"', table))
    (sequence,) = plan.load(path, STUDY).sequence
    for name in ("own/federate", "usual"):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    conductor = Conductor(STUDY, tmp_path, str(tmp_path / "usual"), None, None)
    assert conductor.beside(sequence) == str(tmp_path / "own" / "federate")
    another = sequence.federate[0].model_copy(update={"command": [str(tmp_path / "usual")]})
    assert conductor.command(sequence, another) == [str(tmp_path / "usual")]
    sequence = sequence.model_copy(update={"rti": Rti()})
    assert conductor.beside(sequence) == str(tmp_path / "usual")


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/gcc", "lib/x86_64-linux-gnu"])
def test_libraries_are_looked_for_where_cmake_does(tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    found = (Path(__file__).parents[1] / "cmake" / "rti.cmake").read_text()
    assert f" {folder}" in found[found.index("PATH_SUFFIXES lib") :].partition("\n")[0]
    one = type("Run", (), {"id": "x"})
    paths = Adapter().prepare(Rti(), tmp_path, one).env["LD_LIBRARY_PATH"].split(":")
    assert str(tmp_path / folder) in paths


def test_what_is_below_the_root_is_taken_also_by_a_link(tmp_path):
    root, elsewhere = tmp_path / "root", tmp_path / "store"
    for folder in (root / "lib", elsewhere):
        folder.mkdir(parents=True)
    (elsewhere / "librti1516e.so.1").touch()
    (root / "lib" / "librti1516e.so.1").symlink_to(elsewhere / "librti1516e.so.1")
    (tmp_path / "link").symlink_to(root)
    check_loaded([f"{root}/lib/librti1516e.so.1"], root, "")
    check_loaded([f"{root}/lib/librti1516e.so.1"], tmp_path / "link", "")
    check_loaded([f"{elsewhere}/librti1516e.so.1"], root, "")  # as the kernel names it
    for wrong in (f"{tmp_path}/x/librti1516e.so.1", f"{root}2/lib/librti1516e64.so"):
        with pytest.raises(BenchError, match="is not below its root"):
            check_loaded([wrong], root, "")


@pytest.mark.parametrize("name", ["librti1516e.so.1", "libfedtime1516e64.so", "libFedTime.so",
    "librti13.so", "libRTI-NG.so", "libOpenRTI.so.0.7", "libhla1516e.so"])  # fmt: skip
def test_libraries_of_an_rti_are_known_by_their_names(name):
    assert is_an_rtis(f"/usr/lib/{name}")


@pytest.mark.parametrize("name", ["libbench-hla1516e.so", "libc.so.6", "librt.so.1", "libcert.so"])
def test_others_are_no_libraries_of_an_rti(name):
    assert not is_an_rtis(f"/opt/rti1516e/{name}")


def test_who_names_no_library_of_an_rti_is_refused(tmp_path):
    """Also where no root is given; where one is, whatever is behind the adapter is below it."""
    adapter, plain = "/b/libbench-hla1516e.so", "/b/libbench-tcp.so"
    for root in (None, tmp_path):
        with pytest.raises(BenchError, match="'x' has loaded no library of an RTI"):
            check_told([adapter], root, "x", "")
        check_told([plain], root, "x", "")
        check_told([], root, "x", "")  # of another study
    check_told([adapter, "/opt/libwork.so"], None, "x", "")
    check_told([adapter, f"{tmp_path}/lib/libwork.so"], tmp_path, "x", "")
    check_told([plain, "/usr/lib/libwork.so"], tmp_path, "x", "")
    with pytest.raises(BenchError, match="library /opt/libwork\\.so, which is not"):
        check_told([adapter, "/opt/libwork.so"], tmp_path, "x", "")


@there
def test_a_library_that_does_the_rtis_work_is_seen_whatever_its_name(run, server):  # noqa: F811
    """Another's goes before that of the root, as a loader may have it."""
    other = run.directory / "libwork.so"
    shutil.copy(f"{STANDIN_ROOT}/lib/librti1516e.so.1", other)
    run.rti_root = STANDIN_ROOT
    rti = f'adapter = "generic"\nlocal_settings = "standin://{server.at}"'
    rti += f'\nenv = {{ LD_PRELOAD = "{other}" }}'
    run.start(text(QUICK, rti=rti)).fails(USAGE, "STL-RTI-007", f"library {other}, which is not")
    assert run.rows() == []


@there
def test_each_federate_says_what_it_has_loaded(run, server):  # noqa: F811
    """A subordinate's own command takes another RTI's tree than its table has."""
    other = run.directory / "other"
    shutil.copytree(f"{STANDIN_ROOT}/lib", other / "lib", symlinks=True)
    run.rti_root = STANDIN_ROOT
    rti = f'adapter = "generic"\nlocal_settings = "standin://{server.at}"'
    tsf = text(QUICK, rti=rti)
    own = f'command = ["/usr/bin/env", "LD_LIBRARY_PATH={other}/lib", "{BMFED}"]'
    tsf = tsf.replace('name = "subordinate"', f'name = "subordinate"\n{own}', 1)
    run.start(tsf).fails(USAGE, "STL-RTI-007", f"{other}/lib/librti1516e.so.1, which is not")
    assert run.rows() == []


def test_libraries_of_a_process_are_seen():
    found = hosts.loaded(os.getpid())
    assert any(Path(path).name.startswith("libc.") for path in found)
