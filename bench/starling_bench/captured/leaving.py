"""What left hosts' interfaces, by when it did: bytes of whole frames, those above TCP, UDP or IP,
those that TCP sent again, and packets of TCP that carried nothing.
"""

import functools
import itertools
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BenchError
from . import capture

_COUNTS = ("link", "carried", "again", "empty")
_LEAVING = np.dtype([("at_ns", "<i8"), *((name, "<u4") for name in _COUNTS)])
_ICMP, _IGMP, _UDP = 1, 2, 17
_AT_ONCE = 1 << 16  # packets as Python has them
_LOG = ".capture.log"
_STEP_NS = 1_000_000  # by which a clock may have been set while packets had its times


class Left(NamedTuple):
    """What left hosts in all spans of time together."""

    hosts: int  # whose packets were captured
    link: int  # bytes of frames of IPv4, from their Ethernet head on
    carried: int  # bytes that are new
    again: int  # bytes that TCP sent again
    empty: int  # packets of TCP without data: acknowledgements, and what opens and closes
    dropped: int | None  # packets that the captures missed, whenever; None: one did not end


class _Events(capture.Flow):
    """A flow of TCP as what left by when it did."""

    def __init__(self, into: list[tuple[int, ...]]) -> None:
        super().__init__("tcp", ("", 0), ("", 0))
        self._into = into

    def take(self, data: bytes, time_ns: int) -> None:
        self._into.append((time_ns, 0, len(data), 0, 0))

    def repeat(self, size: int, time_ns: int) -> None:
        self._into.append((time_ns, 0, 0, size, 0))

    def without_data(self, time_ns: int) -> None:
        self._into.append((time_ns, 0, 0, 0, 1))


class _Captured(NamedTuple):
    """What a host sent while one capture ran, in order, and from when until when that is whole."""

    sent: np.ndarray
    begin_ns: int
    end_ns: int
    dropped: int | None


def leaving(directory: Path, hosts: Sequence[str], spans: Sequence[tuple[int, int]]) -> Left | None:
    """What left these hosts, whose packets are in a directory (HOST.N.pcap, N the number of the
    capture), in spans of nanoseconds of CLOCK_MONOTONIC; None: that is not known, as a file is
    damaged or gone, a clock was set, or a capture was killed before the end of a span."""
    stamps = tuple(
        (host, path, _stamp(path), _stamp(path.with_suffix(_LOG)))
        for path in sorted(directory.glob("*.pcap"))
        for host, _, number in [path.stem.rpartition(".")]
        if host in hosts and number.isdecimal()
    )
    return _left(stamps, tuple(hosts), tuple(spans))


@functools.lru_cache(maxsize=4096)  # it is asked for each flow, and as often as a run is shown
def _left(files: tuple, hosts: tuple[str, ...], spans: tuple) -> Left | None:
    every = _captures(files)
    totals, missed = [0] * len(_COUNTS), {}
    for host, (begin, end) in itertools.product(hosts, spans):
        of = [(n, c) for n, (whose, c) in enumerate(every) if whose == host and c]
        whole = [(n, c) for n, c in of if c.begin_ns <= begin and end <= c.end_ns]
        if len(whole) != 1:  # two only if the system was started anew between them
            return None
        ((number, of_it),) = whole
        missed[number] = of_it.dropped
        first = np.searchsorted(of_it.sent["at_ns"], begin)
        mine = of_it.sent[first : np.searchsorted(of_it.sent["at_ns"], end, "right")]
        for n, name in enumerate(_COUNTS):
            totals[n] += int(mine[name].sum(dtype="i8"))
    if not missed:
        return None
    dropped = None if None in missed.values() else sum(missed.values())
    return Left(len(hosts), *totals, dropped)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns


@functools.lru_cache(maxsize=1)  # all tests of an execution are asked for, one after the other
def _captures(files: tuple) -> list[tuple[str, _Captured | None]]:
    return [(host, _sent(path)) for host, path, *_ in files]


def _sent(path: Path) -> _Captured | None:
    """None: it is damaged, or does not say whose packets these are and by which clock."""
    told = capture.said(path.with_suffix(_LOG))
    own = told.get("addresses")
    ahead, begin = (capture.count(told, name) for name in ("ahead_ns", "began_ns"))
    if not (isinstance(own, list) and own) or ahead is None or begin is None:
        return None
    if abs((capture.count(told, "ahead_ns_at_end") or ahead) - ahead) > _STEP_NS:
        return None
    parts, found, last = [], [], 0
    streams: dict[tuple, capture.Stream] = {}
    frames = 0
    try:
        for time_ns, frame in capture.frames_of(path):
            frames += 1
            last = time_ns
            if len(found) >= _AT_ONCE:
                parts.append(np.array(found, dtype=_LEAVING))
                found.clear()
            p = capture.ip(frame)
            if p is None or socket.inet_ntoa(p.source) not in own:
                continue
            one = capture.segment(time_ns, p)
            data = 0 if one or p.protocol in (_ICMP, _IGMP) else len(p.carried)
            head = 8 if p.protocol == _UDP and p.offset == 0 else 0
            found.append((time_ns, len(frame), max(0, data - head), 0, 0))
            if one:
                ends = one.source, one.destination
                streams.setdefault(ends, capture.Stream(_Events(found))).add(one)
    except BenchError:
        return None
    for stream in streams.values():
        stream.end()
    # One that was killed lost what it had not written yet.
    ended = "packets" in told
    end = capture.count(told, "ended_ns") if ended else last - ahead
    if end is None or (ended and frames != told["packets"]):
        return None
    every = np.concatenate([*parts, np.array(found, dtype=_LEAVING)])
    every["at_ns"] -= ahead
    every = every[np.argsort(every["at_ns"], kind="stable")]
    return _Captured(every, begin, end, capture.dropped(path.with_suffix(_LOG)))
