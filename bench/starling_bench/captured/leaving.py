"""What left hosts' interfaces, by when it did: bytes of whole frames, those above TCP, UDP or IP,
those that TCP sent again, and packets of TCP that carried nothing.
"""

import functools
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BenchError
from . import capture

_COUNTS = ("link", "carried", "again", "empty")
_LEAVING = np.dtype([("at_ns", "<i8"), *((name, "<u4") for name in _COUNTS)])
_ICMP, _IGMP, _UDP = 1, 2, 17
_AT_ONCE = 1 << 16  # packets as Python has them
_PACKETS, _LOG = ".pcap", ".capture.log"
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


def packets_of(directory: Path) -> list[Path]:
    """Files of packets that were captured at hosts, HOST.N.pcap, also those that only their logs
    tell of."""
    logs = (log.name.removesuffix(_LOG) + _PACKETS for log in directory.glob(f"*{_LOG}"))
    return sorted({*directory.glob(f"*{_PACKETS}"), *map(directory.joinpath, logs)})


def leaving(directory: Path, spans: Iterable[tuple[int, int]]) -> Left | None:
    """What left the hosts whose packets are in a directory, in spans of nanoseconds of
    CLOCK_MONOTONIC; None: that is not known, as a file is damaged or a clock was set."""
    stamps = tuple((file, _stamp(file), _stamp(_log(file))) for file in packets_of(directory))
    return _left(stamps, tuple(spans))


@functools.lru_cache(maxsize=4096)  # it is asked for each flow, and as often as a run is shown
def _left(files: tuple[tuple, ...], spans: Sequence[tuple[int, int]]) -> Left | None:
    hosts = _hosts(files)
    if not spans or not hosts:
        return None
    totals = [0] * len(_COUNTS)
    for found in hosts.values():
        for begin, end in spans:
            mine = found[np.searchsorted(found["at_ns"], begin) :]
            mine = mine[: np.searchsorted(mine["at_ns"], end, "right")]
            for n, name in enumerate(_COUNTS):
                totals[n] += int(mine[name].sum(dtype="i8"))
    missed = [capture.dropped(_log(path)) for path, *_ in files]
    return Left(len(hosts), *totals, None if None in missed else sum(missed))


def _log(path: Path) -> Path:
    return path.with_suffix(_LOG)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns


@functools.lru_cache(maxsize=1)  # all tests of an execution are asked for, one after the other
def _hosts(files: tuple[tuple, ...]) -> dict[str, np.ndarray] | None:
    """What each host sent, in order; None: of one that is not known."""
    found: dict[str, np.ndarray] = {}
    for path in sorted((path for path, *_ in files), key=lambda path: _host(path)[1]):
        host, _ = _host(path)
        if (more := _sent(path)) is None:
            return None
        before = found.get(host, more[:0])
        if len(before) and len(more) and more["at_ns"][0] < before["at_ns"][-1]:
            return None  # the system was started anew between the two
        found[host] = np.concatenate([before, more])
    return found


def _host(path: Path) -> tuple[str, int]:
    """Its name and the number of the capture."""
    name, _, number = path.stem.rpartition(".")
    return name, int(number) if number.isdecimal() else 0


def _sent(path: Path) -> np.ndarray | None:
    """What a host sent while one capture ran."""
    told = capture.said(_log(path))
    own, ahead = told.get("addresses"), capture.count(told, "ahead_ns")
    if not isinstance(own, list) or ahead is None:
        return None
    if abs((capture.count(told, "ahead_ns_at_end") or ahead) - ahead) > _STEP_NS:
        return None
    parts, found = [], []
    streams: dict[tuple, capture.Stream] = {}
    frames = 0
    try:
        for time_ns, frame in capture.frames_of(path):
            frames += 1
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
    if frames != told.get("packets", frames):
        return None
    every = np.concatenate([*parts, np.array(found, dtype=_LEAVING)])
    every["at_ns"] -= ahead
    return every[np.argsort(every["at_ns"], kind="stable")]
