"""Starling's wire format (docs/wire-format.md), as far as data is concerned: what a packet must be
long by that page, counted from the fields that it holds.
"""

from dataclasses import dataclass

# Of a datagram: version, flags, secret, count, position.
DATAGRAM_HEAD = 1 + 1 + 16 + 8 + 8
_UPDATE, _INTERACTION, _BEST_EFFORT = 16, 17, 8
_HEARTBEAT = 3


class NotAFrame(ValueError):
    """Bytes that break the format."""


@dataclass(frozen=True)
class DataFrame:
    """An update or interaction: its values by slot, and its length by the format."""

    interaction: bool
    best_effort: bool
    values: dict[int, bytes]
    length: int  # with the four bytes of its length

    @property
    def per_value(self) -> int:
        """What stands beside each value: slot and length."""
        return sum(leb(slot) + leb(len(value)) for slot, value in self.values.items())


def leb(number: int) -> int:
    """How many bytes a number takes."""
    return max(1, -(-number.bit_length() // 7))


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._content):
            raise NotAFrame("a frame ends within a field")
        self._at += count
        return self._content[self._at - count : self._at]

    @property
    def left(self) -> int:
        return len(self._content) - self._at


def data_frames(content: bytes, datagram: bool) -> list[DataFrame]:
    """The updates and interactions of a datagram, or of whole frames of a stream; heartbeats are
    passed over. NotAFrame if there is anything else, or the lengths don't agree with the fields."""
    at = DATAGRAM_HEAD if datagram else 0
    if datagram and content[:1] != b"\x01":
        raise NotAFrame("a datagram of another version")
    found = []
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "little")
        body = content[at + 4 : at + 4 + length]
        if length == 0 or len(body) < length:
            raise NotAFrame("a frame is not whole")
        at += 4 + length
        if body[0] == _HEARTBEAT:
            continue
        found.append(_data_frame(body))
    return found


def _data_frame(body: bytes) -> DataFrame:
    kind = body[0] & ~_BEST_EFFORT
    if kind not in (_UPDATE, _INTERACTION):
        raise NotAFrame(f"a frame of type {body[0]}")
    fields = _Body(body[1:])
    # Sender, `after` (requests, index), then the instance (two numbers) or the class.
    heads = [fields.number() for _ in range(5 if kind == _UPDATE else 4)]
    tag = fields.take(fields.number())
    values = {}
    while fields.left:
        slot = fields.number()
        values[slot] = fields.take(fields.number())
    length = 4 + 1 + sum(map(leb, heads)) + leb(len(tag)) + len(tag)
    length += sum(leb(s) + leb(len(v)) + len(v) for s, v in values.items())
    if length != 4 + len(body):
        raise NotAFrame(f"{4 + len(body)} bytes, by the fields {length}")
    return DataFrame(kind == _INTERACTION, bool(body[0] & _BEST_EFFORT), values, length)
