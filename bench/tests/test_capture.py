"""Packets of a host: captured, put together again, and matched to updates; and the wire format's
own count of them.
"""

import asyncio
import json
import os
import struct
from pathlib import Path

import pytest
from runs import (
    BMFED,
    RTI_ROOT,
    run as run,  # the fixture
)
from test_network import TRIPS, possible, two

from starling_bench.captured import capture, frames, leaving
from starling_bench.errors import BenchError

A, B = ("10.0.0.1", 1111), ("10.0.0.2", 2222)


def packet(data: bytes, source=A, destination=B, sequence: int | None = None, flags: int = 16):
    """An Ethernet frame with TCP, or UDP where there is no sequence number."""
    ports = struct.pack("!HH", source[1], destination[1])
    if sequence is None:
        body, protocol = ports + struct.pack("!HH", 8 + len(data), 0) + data, 17
    else:
        more = struct.pack("!IIBBHHH", sequence % (1 << 32), 0, 5 << 4, flags, 100, 0, 0)
        body, protocol = ports + more + data, 6
    ends = b"".join(bytes(map(int, end[0].split("."))) for end in (source, destination))
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0) + ends
    return bytes(12) + b"\x08\x00" + head + body


def pcap(path: Path, packets: list[bytes], cut: int = 0) -> Path:
    out = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)
    for n, one in enumerate(packets):
        out += struct.pack("<4I", 1, n, len(one), len(one)) + one
    path.write_bytes(out[: len(out) - cut])
    return path


def flow(tmp_path: Path, packets: list[bytes], cut: int = 0) -> capture.Flow:
    found = capture.flows(capture.packets(pcap(tmp_path / "x.pcap", packets, cut)))
    return found[("tcp", A, B)] if ("tcp", A, B) in found else found[("udp", A, B)]


def test_what_a_stream_carried_is_told_from_what_was_sent_again(tmp_path):
    first = (1 << 32) - 10  # its numbers go round
    found = flow(tmp_path, [
        packet(b"", sequence=first - 1, flags=2),
        packet(b"hello", sequence=first),
        packet(b"", sequence=first + 5),
        packet(b"hello", sequence=first),  # lost on the way, or believed to be
        packet(b"lo, you", sequence=first + 3),  # the half of it is new
        packet(b"all", sequence=first + 10),
    ])  # fmt: skip
    assert b"".join(found.chunks) == b"hello, youall"
    assert (found.repeated, found.repeated_bytes, found.empty, found.gap_bytes) == (2, 7, 2, 0)
    assert found.carried == 13


def test_a_capture_that_begins_late_or_misses_something_says_so(tmp_path):
    found = flow(tmp_path, [packet(b"abc", sequence=100), packet(b"xyz", sequence=110)])
    assert (found.gap_bytes, b"".join(found.chunks)) == (7, b"abcxyz")


def test_segments_that_overtake_others_are_put_in_order(tmp_path):
    at = {0: b"one ", 4: b"two ", 8: b"three"}
    sent = [packet(b"", sequence=9, flags=2)]
    sent += [packet(at[n], sequence=10 + n) for n in (8, 0, 8, 4)]
    found = flow(tmp_path, sent)
    assert b"".join(found.chunks) == b"one two three"
    assert (found.gap_bytes, found.repeated) == (0, 1)


def fragmented(data: bytes, pieces: list[int], number: int = 7) -> list[bytes]:
    """Frames of one datagram with UDP that IP cuts after so many bytes of its own."""
    whole = struct.pack("!HHHH", A[1], B[1], 8 + len(data), 0) + data
    ends = b"".join(bytes(map(int, end[0].split("."))) for end in (A, B))
    found = []
    for begin, end in zip([0, *pieces], [*pieces, len(whole)], strict=True):
        field = begin // 8 | (0x2000 if end < len(whole) else 0)
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + end - begin, number, field, 64, 17, 0)
        found.append(bytes(12) + b"\x08\x00" + head + ends + whole[begin:end])
    return found


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 0, 1, 1, 2), (0, 1, 2, 2, 0)]
)
def test_a_datagram_that_ip_cut_is_put_together(tmp_path, order):
    """Whatever comes first, and though a piece comes twice."""
    data = bytes(range(200))
    pieces = fragmented(data, [64, 128])
    found = flow(tmp_path, [packet(b"before"), *(pieces[n] for n in order), packet(b"behind")])
    assert found.chunks == [b"before", data, b"behind"] and found.parts == 0
    assert found.carried == 200 + 12


def test_datagrams_whose_fragments_mingle_are_told_apart(tmp_path):
    one, other = fragmented(b"1" * 100, [56], 1), fragmented(b"2" * 100, [48], 2)
    found = flow(tmp_path, [one[0], other[1], other[0], one[1]])
    assert found.chunks == [b"2" * 100, b"1" * 100]


def test_a_datagram_that_lacks_a_fragment_is_counted(tmp_path):
    pieces = fragmented(bytes(200), [64, 128])
    found = flow(tmp_path, [pieces[0], pieces[2], packet(b"behind")])
    assert found.chunks == [b"behind"] and found.parts == 1
    # As many as wait for the rest are bounded.
    many = [fragmented(bytes(40), [24], n)[0] for n in range(1500)]
    assert flow(tmp_path, many).parts == 1500


SECOND = 1_000_000_000  # `pcap` has its packets there, a nanosecond apart
BEGIN = f'{{"addresses": ["{A[0]}"], "ahead_ns": {SECOND}, "began_ns": 0}}\nready\n'


def ends(packets: int, at: int = 20) -> str:
    """What a capture says at its end."""
    told = {"packets": packets, "dropped": 2, "ahead_ns_at_end": SECOND + 9, "ended_ns": at}
    return json.dumps(told)


def left(directory: Path, packets: list[bytes], *spans: tuple[int, int], said: str | None = None,
         hosts: tuple[str, ...] = ("a",)):  # fmt: skip
    """Of a host whose address is A's and whose realtime clock is ahead of its own by a second."""
    pcap(directory / "a.1.pcap", packets)
    (directory / "a.1.capture.log").write_text(BEGIN + ends(len(packets)) if said is None else said)
    return leaving.leaving(directory, hosts, spans)


def test_what_left_a_host_is_told_by_when_it_did(tmp_path):
    first = (1 << 32) - 10  # its numbers go round
    packets = [
        packet(b"", sequence=first - 1, flags=2),
        packet(b"hello", sequence=first),
        packet(b"in the other direction", B, A, sequence=7),
        packet(b"lo, you", sequence=first + 3),  # the half of it is new
        packet(b"hello", sequence=first),
        packet(b"to all", destination=("239.1.1.1", 9)),
        packet(b"", sequence=first + 10),
    ]
    own = [len(one) for n, one in enumerate(packets) if n != 2]
    assert left(tmp_path, packets, (0, 6)) == (1, sum(own), 5 + 5 + 6, 2 + 5, 2, 2)
    assert left(tmp_path, packets, (0, 0), (4, 5)) == (1, own[0] + own[3] + own[4], 6, 5, 1, 2)
    assert left(tmp_path, packets, (7, 9)) == (1, 0, 0, 0, 0, 2)
    assert left(tmp_path, packets) is None
    pcap(tmp_path / "b.c.1.pcap", [packet(b"bye", B, A)])
    (tmp_path / "b.c.1.capture.log").write_text(BEGIN.replace(A[0], B[0]) + ends(1))
    more = len(packet(b"bye"))
    both = left(tmp_path, packets, (0, 6), hosts=("a", "b.c"))
    assert both == (2, sum(own) + more, 16 + 3, 7, 2, 4)
    # What is nobody's of these is not counted, and of who is not there nothing is known.
    assert left(tmp_path, packets, (0, 6)).hosts == 1
    assert left(tmp_path, packets, (0, 6), hosts=("a", "b")) is None


def test_of_several_captures_of_a_host_the_one_that_ran_then_is_taken(tmp_path):
    """As of a run that was resumed; of the one that was killed what it did not write is lost."""
    packets = [packet(b"hello")] * 3
    pcap(tmp_path / "a.2.pcap", [packet(b"again")] * 30)
    later = BEGIN.replace('"began_ns": 0', '"began_ns": 10')
    (tmp_path / "a.2.capture.log").write_text(later + ends(30, 40))
    for end in ("", ends(3, 9)):
        assert left(tmp_path, packets, (10, 12), said=BEGIN + end) == (1, 3 * 47, 15, 0, 0, 2)
    assert left(tmp_path, packets, (0, 2), said=BEGIN)[2:] == (15, 0, 0, None)
    assert left(tmp_path, packets, (0, 3), said=BEGIN) is None
    assert left(tmp_path, packets, (0, 3), said=BEGIN + ends(3, 9)).carried == 15
    # Both ran then only where the system was started anew between them.
    assert left(tmp_path, packets, (10, 12), said=BEGIN + ends(3)) is None


def test_what_left_in_another_order_was_not_sent_again(tmp_path):
    segment = lambda n: packet(bytes(100), sequence=1 + n)  # noqa: E731
    opens = packet(b"", sequence=0, flags=2)
    packets = [opens, segment(0), segment(200), segment(100)]
    assert left(tmp_path, packets, (0, 9))[2:4] == (300, 0)
    # What has the ports of another flow later is one of its own.
    assert left(tmp_path, [*packets, opens, segment(0)], (0, 9))[2:4] == (400, 0)


def test_what_left_in_fragments_or_a_tunnel_is_counted(tmp_path):
    pieces = fragmented(bytes(200), [64, 128])
    gre = packet(bytes(100))
    gre, icmp = (gre[:23] + bytes([protocol]) + gre[24:] for protocol in (47, 1))
    assert left(tmp_path, pieces, (0, 9))[1:3] == (sum(map(len, pieces)), 200)
    assert left(tmp_path, [pieces[0], pieces[2]], (0, 9)).carried == 200 - 64
    assert left(tmp_path, [gre], (0, 9))[1:3] == (len(gre), 108)
    assert left(tmp_path, [icmp], (0, 9))[1:3] == (len(icmp), 0)


@pytest.mark.parametrize(
    "said", ["", "[]\n7", 'ready\n{"dropped": 0, "addresses": 1}', "[" * 50_000,
             BEGIN.replace(str(SECOND), "1" * 30), BEGIN.replace(str(SECOND), "true"),
             BEGIN + ends(2), BEGIN.replace(f'"{A[0]}"', ""), BEGIN + '{"packets": 1}',
             BEGIN + ends(1).replace(str(SECOND + 9), "9000000000")],
)  # fmt: skip
def test_of_a_capture_that_says_no_such_thing_nothing_is_told(tmp_path, said):
    assert left(tmp_path, [packet(b"hello")], (0, 0), said=said) is None


@pytest.mark.parametrize("more", ["", '{"dropped": -3}', '{"dropped": 1e999}'])
def test_of_a_capture_that_was_killed_all_is_told_but_what_it_missed(tmp_path, more):
    assert left(tmp_path, [packet(b"hello")], (0, 0), said=BEGIN + more)[2:] == (5, 0, 0, None)


def test_of_packets_that_are_damaged_nothing_is_told(tmp_path):
    good, path = [packet(b"hello"), packet(b"you")], tmp_path / "a.1.pcap"
    assert left(tmp_path, good, (0, 6)).carried == 8
    whole = path.read_bytes()
    for damaged in (b"nothing", b"", whole[:-1], whole[:32] + b"\xff" * 4 + whole[36:],
                    whole[:32] + b"\x37" + whole[33:]):  # fmt: skip
        path.write_bytes(damaged)
        assert leaving.leaving(tmp_path, ["a"], [(0, 6)]) is None
    path.unlink()
    assert leaving.leaving(tmp_path, ["a"], [(0, 6)]) is None
    # Files of other names are nobody's.
    for name in ("x.pcap", ".pcap", "a.x.pcap", "c.1.pcap"):
        pcap(tmp_path / name, good)
        assert left(tmp_path, good, (0, 6)).carried == 8


def test_a_file_that_was_cut_off_has_its_whole_packets(tmp_path):
    found = flow(tmp_path, [packet(b"one"), packet(b"two")], cut=1)
    assert found.chunks == [b"one"]
    path = tmp_path / "no.pcap"
    path.write_bytes(b"nothing")
    with pytest.raises(BenchError):
        list(capture.packets(path))


def test_updates_are_found_by_their_values(tmp_path):
    needles = capture.Needles()
    a, b = capture.Part("a"), capture.Part("b")
    assert needles.add(a, [b"ABAC1111", b"x"])
    assert needles.add(b, [b"ABAC2222"])
    assert not needles.add(capture.Part("short"), [b"abc"])
    assert not needles.add(capture.Part("a small number"), [bytes(7) + b"\1", b"x"])
    sent = [b"<ABAC1111x>", b"<ABAC2222>", b"other", b"<ABAC1111x><ABAC2222>", b"ABAC3333"]
    found = needles.find(flow(tmp_path, [packet(data) for data in sent]))
    assert {k: (dict(v.bytes), v.shared) for k, v in found.items()} == {
        (a,): ({11: 1}, 1), (b,): ({10: 1}, 1),
    }  # fmt: skip


def test_what_begins_as_another_value_is_not_taken_for_it(tmp_path):
    """The longest counts, whichever was added first; what two tests have is nobody's."""
    needles = capture.Needles()
    for name, value in (("a", b"ABAC1111"), ("long", b"ABAC1111BBBB"), ("b", b"CDECC"),
                        ("c", b"CDECC"), ("d", b"CDECCD")):  # fmt: skip
        assert needles.add(capture.Part(name), [value])
    sent = [b"<ABAC1111>", b"<ABAC1111BBBB>", b"<CDECC>", b"<CDECCD>"]
    found = needles.find(flow(tmp_path, [packet(data) for data in sent]))
    assert {k.test: dict(v.bytes) for (k,), v in found.items()} == {
        "a": {10: 1},
        "long": {14: 1},
        "d": {8: 1},
    }


def test_an_update_in_several_segments_is_one(tmp_path):
    needles = capture.Needles()
    needles.add(capture.Part("a"), [b"0123456789"])
    parts = [b"<<0123", b"45", b"6789>>"]
    packets, at = [], 50
    for part in parts:
        packets.append(packet(part, sequence=at))
        at += len(part)
    (found,) = needles.find(flow(tmp_path, packets)).values()
    assert (dict(found.bytes), found.split) == ({14: 1}, 1)


def update(values: dict[int, bytes], tag: bytes = b"") -> bytes:
    """A frame by docs/wire-format.md: update, best effort; sender 2, after 5 requests and entry
    300, instance 2 7."""
    body = bytes([24, 2, 5, 0xAC, 0x02, 2, 7, len(tag)]) + tag
    for slot, value in values.items():
        body += bytes([slot, len(value)]) + value
    return struct.pack("<I", len(body)) + body


def sent(tmp_path: Path, updates: list[list[bytes]], messages: list[list[int]], calls: int) -> None:
    """What a sender says of its test 1."""
    told = {"test": 1, "calls": calls, "messages": messages,
            "updates": [[value.hex() for value in update] for update in updates]}  # fmt: skip
    (tmp_path / "needles.jsonl").write_text(json.dumps(told) + "\n")


def numbered(n: int, size: int) -> bytes:
    return bytes((n, *range(1, size)))


def test_bytes_of_updates_that_differ_are_those_of_the_measured_calls(tmp_path):
    """Each counts as often as it was called then, with what most of its lengths had: a heartbeat
    that went with one does not, nor do calls before."""
    updates = [[numbered(n, 10 * n)] for n in (1, 2, 3)]
    sent(tmp_path, updates, [[0]], calls=4)  # 10, 20, 30, 10
    frame = [update({1: value}) for (value,) in updates]
    heartbeat = struct.pack("<IB", 1, 3)
    order = [frame[0], frame[1], frame[0], frame[1], frame[2], frame[0] + heartbeat, frame[2]]
    packets = [packet(data, sequence=1000 * n) for n, data in enumerate(order)]
    pcap(tmp_path / "a.x.pcap", packets)
    (wire,) = capture.wires(tmp_path).values()
    around = len(frame[0]) - 10
    assert (wire.bytes_min, wire.bytes, wire.bytes_max) == (
        10 + around, (10 + 20 + 30 + 10) / 4 + around, 30 + around,
    )  # fmt: skip
    assert wire.by_format == wire.bytes and wire.beside_each == 2
    assert (wire.updates, wire.others, wire.unknown, wire.messages) == (7, 1, 0, 1)


@pytest.mark.parametrize("together", [False, True], ids=["apart", "together"])
def test_an_update_of_two_messages_has_the_bytes_of_both(tmp_path, together):
    """Each by its own way, or one behind the other in a segment."""
    updates = [[numbered(n, 20 + n), numbered(9 + n, 12), b"z"] for n in (1, 2)]
    sent(tmp_path, updates, [[0, 2], [1]], calls=2)
    one = [update({1: first, 3: last}) for first, _, last in updates]
    other = [update({2: value}) for _, value, _ in updates]
    packets = []
    for n in range(2):
        if together:
            packets.append(packet(one[n] + other[n], sequence=1000 * n))
        else:
            datagram = b"\x01\x01" + bytes(32) + other[n]
            packets += [packet(one[n], sequence=1000 * n), packet(datagram, destination=(B[0], 9))]
    pcap(tmp_path / "a.x.pcap", packets)
    (wire,) = capture.wires(tmp_path).values()
    head = 0 if together else frames.DATAGRAM_HEAD
    assert wire.bytes == sum(map(len, one + other)) / 2 + head == wire.by_format
    assert wire.protocol == ("tcp" if together else "tcp and udp") and wire.to == B[0]
    assert (wire.messages, wire.updates, wire.shared, wire.unknown) == (2, 2, 0, 0)


def test_calls_of_which_a_message_can_not_be_known_are_counted(tmp_path):
    """By too short a value, or by one that stands in updates of other lengths."""
    ends = (numbered(1, 9), b"x"), (b"ab", b"x"), (numbered(2, 8), b"x"), (numbered(2, 8), b"xy")
    sent(tmp_path, list(map(list, ends)), [[0, 1]], calls=3)
    pcap(tmp_path / "a.x.pcap", [packet(update({1: numbered(1, 9)}), sequence=1)])
    (wire,) = capture.wires(tmp_path).values()
    assert (wire.unknown, wire.updates) == (2, 1)
    sent(tmp_path, [[numbered(1, 9), b"ab"]], [[0], [1]], calls=3)
    pcap(tmp_path / "b.x.pcap", [])  # other files: what was read is kept
    assert capture.wires(tmp_path) == {}


def test_the_formats_own_count():
    frame = update({1: b"x" * 24, 2: b"y" * 12})
    (found,) = frames.data_frames(frame, datagram=False)
    assert (found.length, found.per_value) == (len(frame), 4)
    assert found.values == {1: b"x" * 24, 2: b"y" * 12}
    assert (found.interaction, found.best_effort) == (False, True)
    heartbeat = struct.pack("<IB", 1, 3)
    datagram = b"\x01\x01" + bytes(32) + frame + heartbeat + frame
    assert [f.length for f in frames.data_frames(datagram, datagram=True)] == [len(frame)] * 2


@pytest.mark.parametrize(
    "content",
    [b"\x05\0\0\0\x18", b"\0\0\0\0", struct.pack("<IB", 1, 99), update({1: b"xy"})[:-1],
     struct.pack("<I", 9) + update({1: b"x"})[4:13]],
)  # fmt: skip
def test_what_is_not_the_format_is_refused(content):
    with pytest.raises(frames.NotAFrame):
        frames.data_frames(content, datagram=False)


FOMCOST = os.environ.get("FOMCOST")
needed = pytest.mark.skipif(
    not FOMCOST and os.environ.get("REQUIRE_ALL") != "1", reason="FOMCOST is needed"
)


@needed
def test_without_the_right_a_capture_says_so():
    async def run() -> tuple[int, str]:
        program = Path(FOMCOST).with_name("bench-capture")
        process = await asyncio.create_subprocess_exec(
            program, "--interface", "no-such-interface", "--out", "/dev/null",
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, said = await process.communicate()
        return process.returncode, said.decode()

    code, said = asyncio.run(run())
    assert code == 1
    assert "no interface 'no-such-interface'" in said or "can't capture packets" in said


def test_a_log_says_what_was_dropped(tmp_path):
    log = tmp_path / "a.1.capture.log"
    log.write_text("ready\n" + json.dumps({"packets": 7, "dropped": 2}) + "\n")
    assert capture.dropped(log) == 2
    log.write_text("ready\n")
    assert capture.dropped(log) is None


@pytest.mark.skipif(
    not (BMFED and RTI_ROOT and possible()) and os.environ.get("REQUIRE_ALL") != "1",
    reason="BMFED, RTI_ROOT, iproute2 and root are needed",
)
def test_what_a_lossy_link_makes_tcp_send_again_is_told_apart(run):
    """At the sender's interface nothing is missing, and what it had to repeat is no data."""
    test = TRIPS.format(transport="reliable", updates=400)
    tsf = two(test, "capture = true\nloss = 0.05", rti='adapter = "tcp"')
    code, _, err = run.start(tsf).end()
    assert (code, err) == (0, "")
    (path,) = (run.directory / "out" / "s" / "e").glob("a.*.pcap")
    found = capture.flows(capture.packets(path)).values()
    there = [f for f in found if f.protocol == "tcp" and f.source[0] == "10.77.0.2"]
    data = max(there, key=lambda f: f.carried)
    back = next(f for f in found if f.source == data.destination and f.destination == data.source)
    # The same loop both ways: as many bytes, whatever was lost on the way there.
    assert data.gap_bytes == back.gap_bytes == 0
    assert data.repeated > 0 and data.carried >= 400 * 8
    assert capture.dropped(path.with_suffix(".capture.log")) == 0
