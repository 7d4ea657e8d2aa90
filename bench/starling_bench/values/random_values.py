"""Valid random values of any data type of a FOM, encoded as 1516.2-2010, 4.13 says: what has a
boundary stands on a multiple of it, and what is padded is padded with zeros.

Where a FOM names an encoding of its own: RPR FOM's arrays (without length, with a zero at the end,
padding up to 4 or 8 octets) are known, others are told.
"""

import random
import struct
from collections.abc import Iterator

from ..errors import USAGE, BenchError
from .object_model import Alternative, DataType, Field, ObjectModel

# A dynamic array has so many elements at most.
_ELEMENTS_MAX = 5
# A value has so many parts, and octets, at most: an update of more is no update.
_PARTS_MAX, _OCTETS_MAX = 1 << 17, 1 << 20
_FLOATS = {4: "f", 8: "d"}
_VARIANTS = ("HLAvariantRecord", "HLAextendableVariantRecord", "RPRextendedVariantRecord")


class RandomValues:
    """Values drawn by a seed. `fixed` names fields and the enumerator that they shall have."""

    def __init__(
        self, model: ObjectModel, seed: int | str, fixed: dict[str, str] | None = None
    ) -> None:
        self._model, self._random, self._fixed = model, random.Random(seed), fixed or {}
        self._boundaries: dict[str, int] = {}
        self._parts = self._octets = 0

    def of(self, one: Field, owner: str) -> bytes:
        """A value of an attribute or parameter of a class; BenchError if it would be too large."""
        self._parts = self._octets = 0
        return self._value(self._model.type_of(one, owner), one.name)

    # ---- boundaries

    def _boundary(self, one: DataType) -> int:
        if one.name not in self._boundaries:
            self._boundaries[one.name] = self._find_boundary(one)
        return self._boundaries[one.name]

    def _find_boundary(self, one: DataType) -> int:
        if one.kind == "basic":
            return one.size
        parts = [self._boundary(part) for part in self._model.parts(one)]
        counted = one.encoding in ("HLAvariableArray", "HLAextendableVariantRecord")
        return max([*parts, 4 if counted else 1])

    # ---- values

    def _value(self, one: DataType, name: str = "") -> bytes:
        self._count(one, 1, one.size)
        return getattr(self, f"_{one.kind}")(one, name)

    def _count(self, one: DataType, parts: int, octets: int) -> None:
        """So much more it is; BenchError if that is too much."""
        self._parts += parts
        self._octets += octets
        if self._parts > _PARTS_MAX or self._octets > _OCTETS_MAX:
            most = f"{_PARTS_MAX:,} parts or {_OCTETS_MAX:,} octets"
            self._unknown(one, f"one of them has more than {most}")

    def _type(self, name: str) -> DataType:
        return self._model.types[name]

    def _basic(self, one: DataType, _: str) -> bytes:
        order = "<" if one.little else ">"
        if "float" in one.name.lower() and one.size in _FLOATS:
            return struct.pack(order + _FLOATS[one.size], self._random.uniform(-1e6, 1e6))
        return self._random.randbytes(one.size)

    def _simple(self, one: DataType, _: str) -> bytes:
        character = {"HLAASCIIchar": 1, "HLAunicodeChar": 2}.get(one.name)
        if character:
            return self._random.randint(0x20, 0x7E).to_bytes(character, "big")
        return self._value(self._type(one.of))

    def _number(self, one: DataType, number: int) -> bytes:
        """A number as a representation has it."""
        basic = self._type(one.of)
        while basic.kind != "basic":
            basic = self._type(basic.of)
        order = "little" if basic.little else "big"
        return (number % (1 << 8 * basic.size)).to_bytes(basic.size, order)

    def _enumerated(self, one: DataType, name: str) -> bytes:
        return self._number(one, one.enumerators[self._enumerator(one, name)])

    def _enumerator(self, one: DataType, name: str) -> str:
        if not one.enumerators:
            self._unknown(one, "it has no enumerators")
        if (wanted := self._fixed.get(name)) in one.enumerators:
            return wanted
        return self._random.choice(list(one.enumerators))

    def _array(self, one: DataType, _: str) -> bytes:
        element = self._type(one.of)
        if one.low > _PARTS_MAX:
            self._unknown(one, f"it has {one.low:,} elements; {_PARTS_MAX:,} are possible")
        most = one.low + _ELEMENTS_MAX
        most = most if one.high is None else min(one.high, most)
        count = self._random.randint(one.low, most)
        if one.encoding == "HLAfixedArray":
            return self._elements(element, one.low, 0)
        if one.encoding == "HLAvariableArray":
            return count.to_bytes(4, "big") + self._elements(element, count, 4)
        if one.encoding == "RPRlengthlessArray":
            return self._elements(element, count, 0)
        if one.encoding == "RPRnullTerminatedArray":
            self._count(one, count, count + 1)
            text = bytes(self._random.randint(0x20, 0x7E) for _ in range(count))
            return text + b"\0"
        return self._unknown(one, f"its encoding '{one.encoding}' is not known")

    def _elements(self, element: DataType, count: int, at: int) -> bytes:
        out = bytearray()
        for _ in range(count):
            out += _padding(at + len(out), self._boundary(element))
            out += self._value(element)
        return bytes(out)

    def _record(self, one: DataType, _: str) -> bytes:
        out = bytearray()
        for part in one.fields:
            kind = self._type(part.type)
            if kind.encoding.startswith("RPRpaddingTo"):
                out += _padding(len(out), 4 if "32" in kind.encoding else 8)
                continue
            out += _padding(len(out), self._boundary(kind)) + self._value(kind, part.name)
        return bytes(out)

    def _variant(self, one: DataType, name: str) -> bytes:
        if one.encoding not in _VARIANTS:
            self._unknown(one, f"its encoding '{one.encoding}' is not known")
        discriminant = self._type(one.of)
        if discriminant.kind != "enumerated":
            self._unknown(one, "its discriminant is not enumerated")
        chosen = self._enumerator(discriminant, name)
        # Where the field has no name of its own in the plan, the discriminant's may have one.
        if name not in self._fixed and discriminant.name in self._fixed:
            chosen = self._enumerator(discriminant, discriminant.name)
        head = self._number(discriminant, discriminant.enumerators[chosen])
        found = alternative(one, discriminant, chosen)
        if one.encoding == "HLAvariantRecord":
            kinds = [self._type(a.type) for a in one.alternatives if a.type]
            if not found or not found.type:
                return head
            head += _padding(len(head), max(map(self._boundary, kinds)))
            return head + self._value(self._type(found.type))
        # Both others say how long the alternative is, which begins at a multiple of 8 octets.
        content = self._value(self._type(found.type)) if found and found.type else b""
        head += _padding(len(head), 4) + len(content).to_bytes(4, "big")
        return head + (_padding(len(head), 8) + content if content else b"")

    def _unknown(self, one: DataType, why: str) -> bytes:
        raise BenchError(
            "STL-FOM-009", f"no values can be made of the data type '{one.name}': {why}",
            str(one.place), "take another class, or give the attribute another type", USAGE,
        )  # fmt: skip


def _padding(at: int, boundary: int) -> bytes:
    return bytes(-at % boundary)


def alternative(one: DataType, discriminant: DataType, chosen: str) -> Alternative | None:
    """The one that an enumerator chooses; None: nothing stands behind it."""
    for candidate in one.alternatives:
        if chosen in _enumerators(candidate, discriminant):
            return candidate
    return next((a for a in one.alternatives if "HLAother" in a.labels), None)


def _enumerators(one: Alternative, discriminant: DataType) -> Iterator[str]:
    names = list(discriminant.enumerators)
    for label in one.labels:
        if label.startswith("[") and ".." in label:
            first, last = (end.strip() for end in label.strip("[]").split(".."))
            if first in names and last in names:
                yield from names[names.index(first) : names.index(last) + 1]
        else:
            yield label
