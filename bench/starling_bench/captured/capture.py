"""Packets that passed a host's interface, as bench-capture wrote them: what TCP and UDP carried,
and which of it is which update.

Of a TCP flow only what is new counts as carried; what was sent again, and packets without data, are
counted apart. Bytes are those above TCP or UDP. An update is found by its largest value, whatever
the format around it; one that goes as several messages by that of each.
"""

import contextlib
import functools
import json
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from ..errors import BenchError, cannot
from ..outside import open_file, read_json
from . import frames

_MAGIC_NS = 0xA1B23C4D
_UDP, _TCP = 17, 6
_FRAME_MAX = 1 << 18  # bytes, as bench-capture has it
# Shorter values may be found by chance.
NEEDLE_MIN = 4
_OCTETS_MIN = 3  # that differ, of a value by which an update is known


@dataclass(frozen=True)
class Packet:
    """One that carries TCP or UDP over IPv4, its fragments put together. `part`: some of these were
    not seen."""

    time_ns: int
    protocol: str
    source: tuple[str, int]
    destination: tuple[str, int]
    sequence: int  # TCP: of its first byte
    start: bool  # TCP: it opens the flow
    data: bytes
    part: bool = False


@dataclass
class Flow:
    """What went from one socket to another: each chunk as it left, and what was no news."""

    protocol: str
    source: tuple[str, int]
    destination: tuple[str, int]
    chunks: list[bytes] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    repeated_bytes: int = 0  # of packets sent again
    repeated: int = 0
    empty: int = 0  # acknowledgements alone, and what opens and closes
    parts: int = 0  # datagrams of which fragments were not seen: not looked into
    gap_bytes: int = 0  # that the capture did not see

    def take(self, data: bytes, time_ns: int) -> None:
        """What is new of a packet."""
        self.chunks.append(data)
        self.times_ns.append(time_ns)

    def repeat(self, size: int, time_ns: int) -> None:
        """So many bytes of one were sent before."""
        self.repeated_bytes += size
        self.repeated += 1

    def without_data(self, time_ns: int) -> None:
        """One that carries nothing."""
        self.empty += 1

    @property
    def carried(self) -> int:
        return sum(map(len, self.chunks))


def packets(path: Path) -> Iterator[Packet]:
    """Those of a file, in order. A last one that is not whole is left out."""
    time_ns, datagrams = 0, _Datagrams()
    for time_ns, frame in frames_of(path):
        if found := _packet(time_ns, frame, datagrams):
            yield found
        for key, begin in datagrams.unfinished(_DATAGRAMS_MAX):
            yield from filter(None, [_carried(time_ns, *key[:3], begin, part=True)])
    for key, begin in datagrams.unfinished(0):
        yield from filter(None, [_carried(time_ns, *key[:3], begin, part=True)])


def frames_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Those of a file, each with its time in ns. A last one that is not whole is left out."""
    try:
        with open_file(path) as file:
            head = file.read(24)
            if len(head) < 24 or struct.unpack_from("<I", head)[0] != _MAGIC_NS:
                what = "this is no file of packets with nanoseconds"
                raise BenchError("STL-CAP-001", what, str(path))
            while len(about := file.read(16)) == 16:
                seconds, ns, there, length = struct.unpack("<4I", about)
                if there > _FRAME_MAX:
                    what = f"a packet of {there} bytes is none"
                    raise BenchError("STL-CAP-001", what, str(path))
                if len(frame := file.read(there)) < there:
                    return
                if there < length:
                    what = f"a packet of {length} bytes was cut off"
                    raise BenchError("STL-CAP-002", what, str(path))
                yield seconds * 1_000_000_000 + ns, frame
    except OSError as e:
        raise cannot("read packets", e, path) from None


# So many datagrams may wait for fragments; then the one that waits longest will not be whole.
_DATAGRAMS_MAX = 1000


class _Datagrams:
    """Puts the fragments of IP datagrams together."""

    def __init__(self) -> None:
        self._waiting: dict[tuple, dict[int, tuple[bytes, bool]]] = {}  # by where each begins
        self._whole: dict[tuple, None] = {}  # the newest, of which a piece may come again

    def add(self, key: tuple, offset: int, more: bool, data: bytes) -> bytes | None:
        """The whole of it, if this was what was missing."""
        if key in self._whole:
            return None
        parts = self._waiting.setdefault(key, {})
        parts[offset] = data, more
        whole = b""
        for at in sorted(parts):
            if at != len(whole):
                break
            whole += parts[at][0]
            if not parts[at][1]:
                del self._waiting[key]
                self._whole[key] = None
                if len(self._whole) > _DATAGRAMS_MAX:
                    del self._whole[next(iter(self._whole))]
                return whole
        return None

    def unfinished(self, most: int) -> Iterator[tuple[tuple, bytes]]:
        """What is not whole, but for the newest so many, with what it begins with; forgotten
        then."""
        while len(self._waiting) > most:
            key = next(iter(self._waiting))
            yield key, self._waiting.pop(key).get(0, (b"", True))[0]


class Ip(NamedTuple):
    """A packet of IPv4, or one of the fragments of one."""

    protocol: int
    source: bytes
    destination: bytes
    number: int
    offset: int  # of what it carries
    more: bool  # fragments come behind it
    carried: bytes


def ip(frame: bytes) -> Ip | None:
    """What an Ethernet frame has of IPv4."""
    if len(frame) < 34 or frame[12:14] != b"\x08\x00":
        return None
    packet = frame[14:]
    head = 4 * (packet[0] & 15)
    total, number, fragment = struct.unpack_from("!HHH", packet, 2)
    # Offloading leaves the length of what is too long for the field to be seen from the frame.
    carried = packet[head : total or len(packet)]
    offset, more = 8 * (fragment & 0x1FFF), bool(fragment & 0x2000)
    return Ip(packet[9], packet[12:16], packet[16:20], number, offset, more, carried)


def _packet(time_ns: int, frame: bytes, datagrams: _Datagrams) -> Packet | None:
    if (p := ip(frame)) is None:
        return None
    key = (p.protocol, p.source, p.destination)
    if p.offset or p.more:
        whole = datagrams.add((*key, p.number), p.offset, p.more, p.carried)
        return None if whole is None else _carried(time_ns, *key, whole)
    return _carried(time_ns, *key, p.carried)


def segment(time_ns: int, p: Ip) -> Packet | None:
    """What it has of TCP; None: it is of another protocol, or none."""
    if p.protocol != _TCP or p.offset or p.more:
        return None
    return _carried(time_ns, p.protocol, p.source, p.destination, p.carried)


def _carried(
    time_ns: int, protocol: int, source: bytes, destination: bytes, data: bytes, part: bool = False
) -> Packet | None:  # fmt: skip
    """What a datagram carries; `part`: it is the beginning, perhaps empty, of one of UDP."""
    if len(data) < 8 and not part:
        return None
    ports = struct.unpack_from("!HH", data) if len(data) >= 4 else (0, 0)
    ends = [(socket.inet_ntoa(a), p)
            for a, p in zip((source, destination), ports, strict=True)]  # fmt: skip
    if protocol == _UDP:
        return Packet(time_ns, "udp", *ends, 0, False, b"" if part else data[8:], part)
    if protocol == _TCP and len(data) >= 20:
        sequence = struct.unpack_from("!I", data, 4)[0]
        offset, flags = data[12] >> 4, data[13]
        return Packet(time_ns, "tcp", *ends, sequence, bool(flags & 2), data[4 * offset :])
    return None


# So many segments may wait for one before them; then that one was missed.
_WAITING_MAX = 1000


class Stream:
    """Puts the segments of a TCP flow in order."""

    def __init__(self, flow: Flow) -> None:
        self._flow, self._next, self._waiting = flow, None, []

    def add(self, p: Packet) -> None:
        """The next one, in the order in which they were seen."""
        if p.start:
            self.end()  # of what had the same ports before
            self._next = (p.sequence + 1) % (1 << 32)
        if p.start or not p.data:
            self._flow.without_data(p.time_ns)
            return
        if self._next is None:  # the capture began later
            self._next = p.sequence
        self._waiting.append(p)
        self._go_on()
        if len(self._waiting) > _WAITING_MAX:
            self.end()

    def end(self) -> None:
        """What waits is taken, with gaps."""
        while self._waiting:
            self._waiting.sort(key=self._ahead)
            gap = self._ahead(self._waiting[0])
            self._flow.gap_bytes += gap
            self._next = (self._next + gap) % (1 << 32)
            self._go_on()

    def _ahead(self, p: Packet) -> int:
        """How far behind what has come it begins; numbers go round, half of them are before."""
        return (p.sequence - self._next + (1 << 31)) % (1 << 32) - (1 << 31)

    def _go_on(self) -> None:
        while ready := [p for p in self._waiting if self._ahead(p) <= 0]:
            p = ready[0]
            self._waiting.remove(p)
            old = min(-self._ahead(p), len(p.data))
            if old:
                self._flow.repeat(old, p.time_ns)
            if new := p.data[old:]:
                self._flow.take(new, p.time_ns)
                self._next = (p.sequence + len(p.data)) % (1 << 32)


def flows(found: Iterator[Packet]) -> dict[tuple, Flow]:
    """By protocol, source and destination."""
    out: dict[tuple, Flow] = {}
    streams: dict[tuple, Stream] = {}
    for p in found:
        key = (p.protocol, p.source, p.destination)
        flow = out.setdefault(key, Flow(*key))
        if p.protocol == "tcp":
            streams.setdefault(key, Stream(flow)).add(p)
        elif p.part:
            flow.parts += 1
        else:
            flow.take(p.data, p.time_ns)
    for stream in streams.values():
        stream.end()
    return out


_LOG_MAX = 1 << 16  # bytes


def said(log: Path) -> dict:
    """What a capture said, at its begin and at its end; one that was killed had no end."""
    found = {}
    with contextlib.suppress(OSError), open_file(log) as file:
        for line in file.read(_LOG_MAX).splitlines():
            with contextlib.suppress(ValueError):
                told = read_json(line)
                found |= told if isinstance(told, dict) else {}
    return found


def dropped(log: Path) -> int | None:
    """How many packets the capture missed, as it said at its end; None: it did not say."""
    return count(said(log), "dropped")


def count(told: dict, key: str) -> int | None:
    """A number that is told and can be one."""
    value = told.get(key)
    return value if type(value) is int and 0 <= value < 1 << 62 else None


# ---- updates


class Part(NamedTuple):
    """Of a test's updates those values that are a message, by how long each is: what an update is
    on the wire follows from that."""

    test: object
    message: int = 0
    lengths: tuple[int, ...] = ()


@dataclass
class Found:
    """The updates of one kind that were found: the bytes that carried each, alone."""

    bytes: Counter = field(default_factory=Counter)  # how many updates had so many
    shared: int = 0  # updates that went together with others
    split: int = 0  # of those in `bytes`, how many took several chunks
    chunks: list[bytes] = field(default_factory=list)  # of one update each, whole

    @property
    def usual(self) -> int | None:
        """What most had."""
        return self.bytes.most_common(1)[0][0] if self.bytes else None

    @property
    def shown(self) -> bytes:
        """One of these."""
        return next(chunk for chunk in self.chunks if len(chunk) == self.usual)


class Needles:
    """Values by which messages are known. One is of the part that it was added by; what two parts
    have is nobody's."""

    def __init__(self) -> None:
        self._by_start: dict[bytes, dict[bytes, Part | None]] = {}

    def add(self, name: Part, values: list[bytes]) -> bool:
        """False: all are too short to be known by, or of so few octets (a small number) that they
        stand in anything."""
        told = [v for v in values if len(v) >= NEEDLE_MIN and len(set(v)) >= _OCTETS_MIN]
        if not (needle := max(told, key=len, default=b"")):
            return False
        alike = self._by_start.setdefault(needle[:NEEDLE_MIN], {})
        alike[needle] = name if alike.get(needle, name) == name else None
        return True

    def _at(self, stream: bytes, position: int) -> tuple[bytes, Part | None] | None:
        """The longest value that begins there: others may be its beginning."""
        alike = self._by_start.get(stream[position : position + NEEDLE_MIN], {})
        hits = (hit for hit in alike.items() if stream.startswith(hit[0], position))
        return max(hits, key=lambda hit: len(hit[0]), default=None)

    def find(self, flow: Flow) -> dict[tuple[Part, ...], Found]:
        """The updates in what a flow carried: what of each went there, together."""
        stream, starts, at = b"".join(flow.chunks), [], 0
        for chunk in flow.chunks:
            starts.append(at)
            at += len(chunk)
        # Of each message its part, first and last chunk.
        seen: list[tuple[Part | None, int, int]] = []
        chunk, position = 0, 0
        while position + NEEDLE_MIN <= len(stream):
            if (hit := self._at(stream, position)) is None:
                position += 1
                continue
            first = _chunk_of(starts, position, chunk)
            last = chunk = _chunk_of(starts, position + len(hit[0]) - 1, first)
            if flow.protocol == "tcp" or first == last:
                seen.append((hit[1], first, last))
            position += len(hit[0])
        return _found(flow, seen)


def _chunk_of(starts: list[int], position: int, at: int) -> int:
    while at + 1 < len(starts) and starts[at + 1] <= position:
        at += 1
    return at


def _found(flow: Flow, seen: list[tuple[Part | None, int, int]]) -> dict[tuple[Part, ...], Found]:
    # What shares chunks went together.
    runs: list[list[tuple[Part | None, int, int]]] = []
    for one in seen:
        if runs and one[1] <= runs[-1][-1][2]:
            runs[-1].append(one)
        else:
            runs.append([one])
    out: dict[tuple[Part, ...], Found] = {}
    for run in runs:
        parts = [part for part, _, _ in run if part]
        if len(parts) < len(run) or not _one_update(parts):
            for part in parts:
                out.setdefault((part,), Found()).shared += 1
            continue
        chunks = flow.chunks[run[0][1] : run[-1][2] + 1]
        one = out.setdefault(tuple(sorted(parts)), Found())
        one.bytes[sum(map(len, chunks))] += 1
        one.split += len(chunks) > 1
        one.chunks.append(b"".join(chunks))
    return out


def _one_update(parts: list[Part]) -> bool:
    return len({p.test for p in parts}) == 1 and len({p.message for p in parts}) == len(parts)


@dataclass(frozen=True)
class Wire:
    """What the updates of a test were on the wire, above TCP or UDP, all messages of each: those of
    the calls that were measured, of which each has what most of its lengths had."""

    protocol: str
    to: str  # the host's address
    bytes: float  # the mean
    updates: (
        int  # that went alone, and how many of these had other bytes than most of their lengths
    )
    others: int
    shared: int  # that went together with others
    repeated_bytes: int  # sent again, of the whole flow
    acknowledgements: int  # alone, of the whole flow, which carried so much
    carried: int
    by_format: float | None  # what the format's own count says; None: it is not known, and why
    why: str
    beside_each: float  # of the format: bytes beside each value
    dropped: int | None  # packets that the capture missed
    bytes_min: int
    bytes_max: int
    messages: int  # of an update
    unknown: int  # calls of whose updates not all was found


def wires(directory: Path) -> dict[int, Wire]:
    """Of each test of an execution whose packets a host's capture saw. Federates write what they
    send to needles.jsonl: for each test its number, the values of each update, hexadecimal, which
    of these make a message, and how many calls took the updates in turn."""
    files = sorted(directory.glob("*.pcap"))
    return _wires(directory, tuple((path, path.stat().st_size) for path in files))


def by_way(summaries: list[dict]) -> dict[tuple[str, str, str], list[dict]]:
    """The tests of a way: sequence, kind, transport; first those whose packets were found."""
    found: dict[tuple[str, str, str], list[dict]] = {}
    for s in sorted(summaries, key=lambda s: not s["wire"]):
        found.setdefault((s["sequence"], s["kind"], s["transport"]), []).append(s)
    return found


def ways(summaries: list[dict]) -> dict[tuple[str, str, str], list[dict]]:
    """The same without those whose packets stand beside another way, whose they are."""
    found = by_way(summaries)
    beside = {id(s) for group in found.values() if not group[0]["wire"]
              for s in seen_alike(summaries, group)}  # fmt: skip
    return {way: group for way, group in found.items()
            if not group[0]["wire"] or any(id(s) not in beside for s in group)}  # fmt: skip


def apart(summaries: list[dict]) -> tuple[list[dict], list[dict]]:
    """Tests of executions whose packets were seen, and the others."""
    captured = {(s["sequence"], s["execution"]) for s in summaries if s["wire"]}
    found: tuple[list[dict], list[dict]] = ([], [])
    for s in summaries:
        found[(s["sequence"], s["execution"]) not in captured].append(s)
    return found


def seen_alike(summaries: list[dict], group: list[dict]) -> list[dict]:
    """Tests like those of a group on its RTI whose packets were seen, by the same way if there are
    such; else the group."""
    way = lambda s: (s["kind"], s["transport"], s.get("rti"), s.get("way"))  # noqa: E731
    seen = [s for s in summaries if s["wire"] and way(s)[:3] == way(group[0])[:3]]
    seen = [s for s in seen if way(s) == way(group[0])] or seen
    return [s for s in seen if s["sequence"] == seen[0]["sequence"]] or group


@dataclass
class _Way:
    """A flow, and those messages of a test that it carried together, by their lengths."""

    flow: Flow
    back: int  # acknowledgements
    missed: int | None
    messages: tuple[int, ...]
    found: dict[tuple[Part, ...], Found] = field(default_factory=dict)

    @property
    def updates(self) -> int:
        return sum(sum(one.bytes.values()) for one in self.found.values())


@functools.lru_cache(maxsize=8)  # it is asked for each test
def _wires(directory: Path, files: tuple[tuple[Path, int], ...]) -> dict[int, Wire]:
    needles, updates = Needles(), directory / "needles.jsonl"
    calls: dict[int, list[list[Part]]] = {}
    for told in _lines(updates) if updates.exists() else ():
        every = [_messages(told, update) for update in told["updates"]]
        for update in every:
            for part, values in update.items():
                needles.add(part, values)
        parts = [list(update) for update in every]
        many = told.get("calls", len(parts))
        calls[told["test"]] = [parts[n % len(parts)] for n in range(many)]
    ways: dict[int, list[_Way]] = {test: [] for test in calls}
    for path, _ in files:
        missed = dropped(path.with_suffix(".capture.log"))
        flows_there = flows(packets(path))
        for (protocol, source, destination), flow in flows_there.items():
            back = flows_there.get((protocol, destination, source))
            there: dict[tuple, _Way] = {}
            for parts, one in needles.find(flow).items():
                key = parts[0].test, tuple(p.message for p in parts)
                way = _Way(flow, back.empty if back else 0, missed, key[1])
                there.setdefault(key, way).found[parts] = one
            for (test, _), way in there.items():
                ways[test].append(way)
    made = {test: _wire(calls[test], _chosen(of)) for test, of in ways.items()}
    return {test: wire for test, wire in made.items() if wire}


def _lines(path: Path) -> Iterator[dict]:
    """What stands there; half a line is of a sender that was killed, or of a full disk."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.keys() >= {"test", "updates"}:
            yield told


def _messages(told: dict, update: list[str]) -> dict[Part, list[bytes]]:
    """Those of an update, and the values of each."""
    found = {}
    for n, places in enumerate(told.get("messages", [range(len(update))])):
        values = [bytes.fromhex(update[at]) for at in places]
        found[Part(told["test"], n, tuple(map(len, values)))] = values
    return found


def _chosen(ways: list[_Way]) -> list[_Way]:
    """Those that most of a test's messages took: the first may go another way, until that of the
    others is there."""
    chosen: list[_Way] = []
    for way in sorted(ways, key=lambda way: -way.updates):
        if way.updates and not any({*way.messages} & {*one.messages} for one in chosen):
            chosen.append(way)
    return chosen


def _wire(calls: list[list[Part]], ways: list[_Way]) -> Wire | None:
    """None: of no call's update all is known."""
    known: list[list[Found]] = []
    for parts in calls:
        every = [way.found.get(tuple(parts[n] for n in way.messages), Found()) for way in ways]
        if sum(len(way.messages) for way in ways) == len(parts) and all(f.bytes for f in every):
            known.append(every)
    if not known:
        return None
    sizes = [sum(one.usual for one in every) for every in known]
    by_format, why, beside = None, "", 0.0
    try:
        counts = [[_count(f, way.flow) for f, way in zip(every, ways, strict=True)]
                  for every in known]  # fmt: skip
        by_format = fmean(sum(length for length, _, _ in each) for each in counts)
        around, values = (sum(c[n] for each in counts for c in each) for n in (1, 2))
        beside = around / max(values, 1)
    except frames.NotAFrame as e:
        why = f"not Starling's format: {e}"
    found = [one for way in ways for one in way.found.values()]
    missed = [way.missed for way in ways]
    return Wire(
        " and ".join(dict.fromkeys(way.flow.protocol for way in ways)),
        " and ".join(dict.fromkeys(way.flow.destination[0] for way in ways)),
        fmean(sizes), min(way.updates for way in ways),
        sum(sum(f.bytes.values()) - f.bytes[f.usual] for f in found if f.bytes),
        sum(f.shared for f in found), sum(way.flow.repeated_bytes for way in ways),
        sum(way.back for way in ways), sum(way.flow.carried for way in ways), by_format, why,
        beside, None if None in missed else max(missed), min(sizes), max(sizes),
        len(calls[0]), len(calls) - len(known),
    )  # fmt: skip


def _count(one: Found, flow: Flow) -> tuple[int, int, int]:
    """By the format: how long it is, what of that stands beside values, and how many these are."""
    datagram = flow.protocol == "udp"
    held = frames.data_frames(one.shown, datagram)
    if not held:
        raise frames.NotAFrame("it has no update")
    length = (frames.DATAGRAM_HEAD if datagram else 0) + sum(f.length for f in held)
    return length, sum(f.per_value for f in held), sum(len(f.values) for f in held)
