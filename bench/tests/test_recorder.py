"""What writes raw values: all of them, in order, by another thread than the one that puts them;
what the disk was too slow for is counted."""

import json
import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from starling_bench.kept import raw

BMFED = os.environ.get("BMFED")
pytestmark = pytest.mark.skipif(not BMFED, reason="BMFED is not set")
ROOM = 1024


def record(file: Path, room: int, *samples: int) -> subprocess.Popen:
    command = [Path(BMFED).with_name("bench-recorder"), "--file", file, "--room", str(room)]
    return subprocess.Popen(
        [*command, "--samples", *map(str, samples)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_every_value_of_every_sample_is_there(tmp_path):
    """Samples that fit into the room, and those for which it is as long as half of it or longer."""
    sizes = [0, 1, ROOM // 2 - 1, ROOM // 2, ROOM - 1, ROOM, 2 * ROOM + 7, 50 * ROOM, 3]
    path = raw.path_of(tmp_path, 1, 1)
    for _ in range(2):  # the first sample begins the file anew
        out, err = record(path, ROOM, *sizes).communicate()
        assert err == ""
        dropped = json.loads(out.splitlines()[-1])
        found = raw.read(path)
        assert {n: len(ns) + dropped[n - 1] for n, ns in found.items()} == dict(enumerate(sizes, 1))
        # Whoever fits into the room loses nothing, however slow the disk.
        assert dropped[:6] == [0] * 6 and dropped[-1] == 0
        for n, ns in found.items():
            assert (np.diff(ns) > 0).all()
            if not dropped[n - 1]:
                assert np.array_equal(ns, np.arange(sizes[n - 1]))


def test_who_puts_never_waits_for_the_disk(tmp_path):
    """Of a pipe that nobody reads meanwhile: 64 KB and the room go in, the rest is counted."""
    pipe, path = tmp_path / "pipe", raw.path_of(tmp_path, 1, 1)
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)
    going = record(pipe, ROOM, 100_000)
    assert going.stdout.readline() == "put\n"  # all of them, while the writer is stuck
    taken = bytearray()

    def take() -> None:
        while not taken.endswith(b"end."):
            taken.extend(os.read(end, 1 << 16))

    reader = threading.Thread(target=take)
    reader.start()
    # `communicate` would not see what `readline` has read ahead: where the writer came late, it is
    # all there.
    out, err = going.stdout.read(), going.stderr.read()
    going.wait()
    os.write(end, b"end.")
    reader.join()
    os.close(end)
    (dropped,) = json.loads(out)
    path.write_bytes(taken[:-4])
    (values,) = raw.read(path).values()
    assert err == "" and len(values) + dropped == 100_000
    assert ROOM <= len(values) <= 2 * 16_384 + 2 * ROOM
    assert np.array_equal(values[:ROOM], np.arange(ROOM)) and (np.diff(values) > 0).all()


def test_what_cannot_be_written_is_told(tmp_path):
    for file, why in (
        (Path("/dev/full"), "No space left"),
        (tmp_path / "no" / "f", "No such file"),
    ):
        going = record(file, ROOM, 10_000)
        assert why in going.communicate()[1] and going.returncode == 1


def test_a_sample_without_its_last_block_does_not_count(tmp_path):
    path = raw.path_of(tmp_path, 1, 1)
    blocks = []
    for sample, first, end, more in ((1, 0, 10, 0), (2, 0, 50, 1), (2, 50, 90, 1), (2, 90, 99, 0)):
        header = np.array([sample, (end - first) | more << 31], dtype="<u4")
        blocks.append(header.tobytes() + np.arange(first, end, dtype="<f4").tobytes())
    whole = b"".join(blocks)
    path.write_bytes(whole)
    assert np.array_equal(raw.read(path)[2], np.arange(99))
    for cut in range(len(blocks[0]), len(whole)):
        path.write_bytes(whole[:cut])
        found = raw.read(path)
        assert list(found) == [1] and np.array_equal(found[1], np.arange(10))
