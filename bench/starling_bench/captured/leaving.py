"""What left a host's interface, by when it did: bytes above TCP or UDP, those that TCP sent again,
and packets that carried nothing. A segment that is sent again begins behind none that was sent.
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BenchError
from . import capture

_LEAVING = np.dtype([("at_ns", "<i8"), ("carried", "<u4"), ("again", "<u4"), ("empty", "?")])
_ROUND = 1 << 32  # TCP's numbers go round
_CHUNK = 1 << 16  # packets


class Left(NamedTuple):
    """What left hosts in all spans of time together."""

    hosts: int  # whose packets were captured
    carried: int  # bytes
    again: int  # bytes that TCP sent again
    empty: int  # packets of TCP without data: acknowledgements, and what opens and closes
    dropped: int | None  # packets that the captures missed, whenever; None: one did not end


def packets_of(directory: Path) -> list[Path]:
    """Files of packets that were captured at hosts: HOST.N.pcap."""
    return sorted(directory.glob("*.pcap"))


def leaving(directory: Path, spans: Sequence[tuple[int, int]]) -> Left | None:
    """What left the hosts whose packets are in a directory, in spans of nanoseconds of
    CLOCK_MONOTONIC; None: that is not known, as there is no span or a file is damaged."""
    files = [(path, path.stat().st_size) for path in packets_of(directory)]
    totals, missed = [0, 0, 0], [capture.dropped(_log(path)) for path, _ in files]
    if not spans:
        return None
    for path, size in files:
        found = _leaving(path, size)
        if found is None:
            return None
        for begin, end in spans:
            mine = found[np.searchsorted(found["at_ns"], begin) :]
            mine = mine[: np.searchsorted(mine["at_ns"], end, "right")]
            for n, name in enumerate(("carried", "again", "empty")):
                totals[n] += int(mine[name].sum(dtype="i8"))
    hosts = {path.name.rsplit(".", 2)[0] for path, _ in files}
    return Left(len(hosts), *totals, None if None in missed else sum(missed))


def _log(path: Path) -> Path:
    return path.with_suffix(".capture.log")


@functools.lru_cache(maxsize=32)  # it is asked for each test
def _leaving(path: Path, size: int) -> np.ndarray | None:
    """Packets that its host sent, in order; None: which these are is not known."""
    told = capture.said(_log(path))
    own, ahead_ns = told.get("addresses"), told.get("ahead_ns")
    if not (isinstance(own, list) and isinstance(ahead_ns, int)):
        return None
    highest: dict[tuple, int] = {}  # of a flow of TCP the number behind all that was sent
    parts, found = [], []
    try:
        for p in capture.packets(path):
            if p.source[0] in own:
                found.append((p.time_ns - ahead_ns, *_carried(p, highest)))
            if len(found) == _CHUNK:
                parts.append(np.array(found, dtype=_LEAVING))
                found = []
    except BenchError:
        return None
    every = np.concatenate([*parts, np.array(found, dtype=_LEAVING)])
    return every[np.argsort(every["at_ns"], kind="stable")]


def _carried(p: capture.Packet, highest: dict[tuple, int]) -> tuple[int, int, bool]:
    """Bytes that are new, bytes that are not, and whether there are none."""
    if p.protocol != "tcp":
        return len(p.data), 0, False
    if p.start or not p.data:
        return 0, 0, True
    flow = (p.source, p.destination)
    ahead = (p.sequence - highest.get(flow, p.sequence) + _ROUND // 2) % _ROUND - _ROUND // 2
    fresh = max(0, min(len(p.data), ahead + len(p.data)))
    if fresh:
        highest[flow] = (p.sequence + len(p.data)) % _ROUND
    return fresh, len(p.data) - fresh, False
