"""Packets that passed a host's interface, as bench-capture wrote them: what TCP and UDP carried,
and which of it is which update.

Of a TCP flow only what is new counts as carried; what was sent again, and packets without data, are
counted apart. Bytes are those above TCP or UDP. An update is found by its largest value, whatever
the format around it.
"""

import functools
import ipaddress
import json
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import frames
from .errors import BenchError, cannot

_MAGIC_NS = 0xA1B23C4D
_UDP, _TCP = 17, 6
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

    @property
    def carried(self) -> int:
        return sum(map(len, self.chunks))


def packets(path: Path) -> Iterator[Packet]:
    """Those of a file, in order. A last one that is not whole is left out."""
    try:
        content = path.read_bytes()
    except OSError as e:
        raise cannot("read packets", e, path) from None
    if len(content) < 24 or struct.unpack_from("<I", content)[0] != _MAGIC_NS:
        raise BenchError("STL-CAP-001", "this is no file of packets with nanoseconds", str(path))
    at, time_ns, datagrams = 24, 0, _Datagrams()
    while at + 16 <= len(content):
        seconds, ns, there, length = struct.unpack_from("<4I", content, at)
        at += 16
        if at + there > len(content):
            break
        frame = content[at : at + there]
        at += there
        if there < length:
            raise BenchError("STL-CAP-002", f"a packet of {length} bytes was cut off", str(path))
        time_ns = seconds * 1_000_000_000 + ns
        if found := _packet(time_ns, frame, datagrams):
            yield found
        for key, begin in datagrams.unfinished(_DATAGRAMS_MAX):
            yield from filter(None, [_carried(time_ns, *key[:3], begin, part=True)])
    for key, begin in datagrams.unfinished(0):
        yield from filter(None, [_carried(time_ns, *key[:3], begin, part=True)])


# So many datagrams may wait for fragments; then the one that waits longest will not be whole.
_DATAGRAMS_MAX = 1000


class _Datagrams:
    """Puts the fragments of IP datagrams together."""

    def __init__(self) -> None:
        self._waiting: dict[tuple, dict[int, tuple[bytes, bool]]] = {}  # by where each begins

    def add(self, key: tuple, offset: int, more: bool, data: bytes) -> bytes | None:
        """The whole of it, if this was what was missing."""
        parts = self._waiting.setdefault(key, {})
        parts[offset] = data, more
        whole = b""
        for at in sorted(parts):
            if at != len(whole):
                break
            whole += parts[at][0]
            if not parts[at][1]:
                del self._waiting[key]
                return whole
        return None

    def unfinished(self, most: int) -> Iterator[tuple[tuple, bytes]]:
        """What is not whole, but for the newest so many, with what it begins with; forgotten
        then."""
        while len(self._waiting) > most:
            key = next(iter(self._waiting))
            yield key, self._waiting.pop(key).get(0, (b"", True))[0]


def _packet(time_ns: int, frame: bytes, datagrams: _Datagrams) -> Packet | None:
    if len(frame) < 34 or frame[12:14] != b"\x08\x00":
        return None
    ip = frame[14:]
    head = 4 * (ip[0] & 15)
    total, number, fragment = struct.unpack_from("!HHH", ip, 2)
    # Offloading leaves the length of what is too long for the field to be seen from the frame.
    carried = ip[head : total or len(ip)]
    key = (ip[9], ip[12:16], ip[16:20])
    offset, more = 8 * (fragment & 0x1FFF), bool(fragment & 0x2000)
    if offset or more:
        whole = datagrams.add((*key, number), offset, more, carried)
        return None if whole is None else _carried(time_ns, *key, whole)
    return _carried(time_ns, *key, carried)


def _carried(
    time_ns: int, protocol: int, source: bytes, destination: bytes, data: bytes, part: bool = False
) -> Packet | None:  # fmt: skip
    """What a datagram carries; `part`: it is the beginning, perhaps empty, of one of UDP."""
    if len(data) < 8 and not part:
        return None
    ports = struct.unpack_from("!HH", data) if len(data) >= 4 else (0, 0)
    ends = [(str(ipaddress.ip_address(a)), p)
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


class _Stream:
    """Puts the segments of a TCP flow in order."""

    def __init__(self, flow: Flow) -> None:
        self._flow, self._next, self._waiting = flow, None, []

    def add(self, p: Packet) -> None:
        if p.start:
            self._next = (p.sequence + 1) % (1 << 32)
        if p.start or not p.data:
            self._flow.empty += 1
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
                self._flow.repeated_bytes += old
                self._flow.repeated += 1
            if new := p.data[old:]:
                self._flow.chunks.append(new)
                self._flow.times_ns.append(p.time_ns)
                self._next = (p.sequence + len(p.data)) % (1 << 32)


def flows(found: Iterator[Packet]) -> dict[tuple, Flow]:
    """By protocol, source and destination."""
    out: dict[tuple, Flow] = {}
    streams: dict[tuple, _Stream] = {}
    for p in found:
        key = (p.protocol, p.source, p.destination)
        flow = out.setdefault(key, Flow(*key))
        if p.protocol == "tcp":
            streams.setdefault(key, _Stream(flow)).add(p)
        elif p.part:
            flow.parts += 1
        else:
            flow.chunks.append(p.data)
            flow.times_ns.append(p.time_ns)
    for stream in streams.values():
        stream.end()
    return out


def dropped(log: Path) -> int | None:
    """How many packets the capture missed, as it said at its end; None: it did not say."""
    try:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        return int(json.loads(last[0])["dropped"]) if last else None
    except (OSError, ValueError, KeyError):
        return None


# ---- updates


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


class Needles:
    """Values by which updates are known. An update is that of the name it was added by; what two
    names have is nobody's."""

    def __init__(self) -> None:
        self._by_start: dict[bytes, dict[bytes, object]] = {}

    def add(self, name: object, values: list[bytes]) -> bool:
        """False: all are too short to be known by, or of so few octets (a small number) that they
        stand in anything."""
        told = [v for v in values if len(v) >= NEEDLE_MIN and len(set(v)) >= _OCTETS_MIN]
        if not (needle := max(told, key=len, default=b"")):
            return False
        alike = self._by_start.setdefault(needle[:NEEDLE_MIN], {})
        alike[needle] = name if alike.get(needle, name) == name else None
        return True

    def _at(self, stream: bytes, position: int) -> tuple[bytes, object] | None:
        """The longest value that begins there: others may be its beginning."""
        alike = self._by_start.get(stream[position : position + NEEDLE_MIN], {})
        hits = (hit for hit in alike.items() if stream.startswith(hit[0], position))
        return max(hits, key=lambda hit: len(hit[0]), default=None)

    def find(self, flow: Flow) -> dict[object, Found]:
        """The updates in what a flow carried, by name."""
        stream, starts, at = b"".join(flow.chunks), [], 0
        for chunk in flow.chunks:
            starts.append(at)
            at += len(chunk)
        # Of each update its name, first and last chunk.
        seen: list[tuple[object, int, int]] = []
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


def _found(flow: Flow, seen: list[tuple[object, int, int]]) -> dict[object, Found]:
    uses = Counter(n for _, first, last in seen for n in range(first, last + 1))
    out: dict[object, Found] = {}
    for name, first, last in seen:
        one = out.setdefault(name, Found())
        if any(uses[n] > 1 for n in range(first, last + 1)):
            one.shared += 1
            continue
        chunks = flow.chunks[first : last + 1]
        one.bytes[sum(map(len, chunks))] += 1
        one.split += last > first
        one.chunks.append(b"".join(chunks))
    out.pop(None, None)
    return out


@dataclass(frozen=True)
class Wire:
    """What one update of a test was on the wire, above TCP or UDP."""

    protocol: str
    to: str  # the host's address
    bytes: int  # of most
    updates: int  # that went alone, and how many of these had other bytes
    others: int
    shared: int  # that went together with others
    repeated_bytes: int  # sent again, of the whole flow
    acknowledgements: int  # alone, of the whole flow, which carried so much
    carried: int
    by_format: int | None  # what the format's own count says; None: it is not known, and why
    why: str
    beside_each: float  # of the format: bytes beside each value
    dropped: int | None  # packets that the capture missed


def wires(directory: Path) -> dict[int, Wire]:
    """Of each test of an execution whose packets a host's capture saw. Federates write what they
    send to needles.jsonl: for each test its number, and the values of each update, hexadecimal."""
    files = sorted(directory.glob("*.pcap"))
    return _wires(directory, tuple((path, path.stat().st_size) for path in files))


def by_way(summaries: list[dict]) -> dict[tuple[str, str, str], list[dict]]:
    """The tests of a way: sequence, kind, transport; first those whose packets were found."""
    found: dict[tuple[str, str, str], list[dict]] = {}
    for s in sorted(summaries, key=lambda s: not s["wire"]):
        found.setdefault((s["sequence"], s["kind"], s["transport"]), []).append(s)
    return found


def seen_alike(summaries: list[dict], group: list[dict]) -> list[dict]:
    """Tests like those of a group whose packets were seen, by the same way if there are such; else
    the group."""
    way = lambda s: (s["kind"], s["transport"], s.get("way"))  # noqa: E731
    seen = [s for s in summaries if s["wire"] and way(s)[:2] == way(group[0])[:2]]
    seen = [s for s in seen if way(s) == way(group[0])] or seen
    return [s for s in seen if s["sequence"] == seen[0]["sequence"]] or group


@functools.lru_cache(maxsize=8)  # it is asked for each test
def _wires(directory: Path, files: tuple[tuple[Path, int], ...]) -> dict[int, Wire]:
    needles, updates = Needles(), directory / "needles.jsonl"
    for line in updates.read_text(encoding="utf-8").splitlines() if updates.exists() else ():
        told = json.loads(line)
        for update in told["updates"]:
            needles.add(told["test"], [bytes.fromhex(value) for value in update])
    found: dict[int, Wire] = {}
    for path, _ in files:
        missed = dropped(path.with_name(f"{path.name.split('.')[0]}.capture.log"))
        every = flows(packets(path))
        for (protocol, source, destination), flow in every.items():
            back = every.get((protocol, destination, source))
            for test, one in needles.find(flow).items():
                if one.bytes:
                    wire = _wire(flow, one, back.empty if back else 0, missed)
                    # The first may go another way, until that of the others is there.
                    if test not in found or wire.updates > found[test].updates:
                        found[test] = wire
    return found


def _wire(flow: Flow, one: Found, back: int, missed: int | None) -> Wire:
    datagram = flow.protocol == "udp"
    by_format, why, beside = None, "", 0.0
    try:
        usual = next(chunk for chunk in one.chunks if len(chunk) == one.usual)
        held = frames.data_frames(usual, datagram)
        by_format = (frames.DATAGRAM_HEAD if datagram else 0) + sum(f.length for f in held)
        beside = held[0].per_value / max(len(held[0].values), 1)
    except (frames.NotAFrame, IndexError) as e:
        why = f"not Starling's format: {e}"
    alone = sum(one.bytes.values())
    return Wire(
        flow.protocol, flow.destination[0], one.usual, alone, alone - one.bytes[one.usual],
        one.shared, flow.repeated_bytes, back, flow.carried, by_format, why, beside, missed,
    )  # fmt: skip
