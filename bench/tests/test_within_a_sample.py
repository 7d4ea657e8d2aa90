"""Within a sample bmfed allocates nothing: counts of two lengths hang on heartbeats alone."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from runs import BMFED, FOM, LIMIT_S, RTI_ROOT

pytestmark = pytest.mark.skipif(not (BMFED and RTI_ROOT), reason="BMFED and RTI_ROOT are not set")
FEW, MANY = 1_000, 21_000
# Heartbeats of a second allocate, and how many seconds a sample takes is the machine's.
AT_MOST = (MANY - FEW) // 20


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that counts what a program's first thread allocates."""
    there = tmp_path_factory.mktemp("count") / "count.so"
    source = Path(__file__).with_name("count_malloc.c")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", there], check=True)
    return there


def allocated(there: Path, counter: Path, test: dict) -> dict[str, int]:
    """How often each of two federates allocated, on plain TCP."""
    there.mkdir()
    meet = f"unix:{there}/meet"
    common = [BMFED, "--fom", FOM, "--adapter", "tcp", "--local-settings", meet]
    roles = {"a": ["--master", "--pair", "a:b", "--test", json.dumps(test), "--out", there],
             "b": []}  # fmt: skip
    command = [Path(BMFED).with_name("bench-meet"), meet]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as place:
        try:
            assert place.stdout.readline().startswith("ready ")
            both = [
                subprocess.Popen(
                    [*common, "--name", name, *more],
                    env=os.environ | {"LD_PRELOAD": str(counter), "COUNT_MALLOC_OF": "bmfed",
                                      "COUNT_MALLOC": str(there / name)},
                )
                for name, more in roles.items()
            ]  # fmt: skip
            assert [one.wait(LIMIT_S) for one in both] == [0, 0]
        finally:
            place.kill()
    return {name: int((there / name).read_text()) for name in roles}


@pytest.mark.parametrize("transport", ["reliable", "best_effort"])
@pytest.mark.parametrize("kind", ["RTOL", "OWIT"])
def test_no_message_allocates(tmp_path, counter, kind, transport):
    test = {"kind": kind, "transport": transport, "loop": 3, "samples": 1, "instances": 10,
            "queued_updates_max": 100, "outstanding_max": 1 if kind == "RTOL" else 0}  # fmt: skip
    few, many = (
        allocated(tmp_path / str(updates), counter, test | {"updates": updates})
        for updates in (FEW, MANY)
    )
    assert all(few.values()), few
    assert all(many[name] - few[name] < AT_MOST for name in few), (few, many)
