"""Classes and data types of FOM modules (IEEE 1516.2-2010), each with the line where it stands."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ..errors import USAGE, BenchError
from ..outside import open_file

# So deep elements and data types may be nested; no FOM comes near.
_DEPTH_MAX = 100
_BITS_MAX = 1 << 20
# What every FOM has: the standard's own types.
_MIM = Path(__file__).resolve().parents[3] / "spec" / "mim" / "HLAstandardMIM-2010.xml"


@dataclass
class _Node:
    tag: str
    line: int
    text: str = ""
    children: list["_Node"] = field(default_factory=list)

    def all(self, tag: str) -> list["_Node"]:
        return [child for child in self.children if child.tag == tag]

    def get(self, tag: str) -> str:
        """The text of a child; "" if there is none."""
        return next((child.text.strip() for child in self.all(tag)), "")

    def below(self) -> Iterator["_Node"]:
        yield self
        for child in self.children:
            yield from child.below()


@dataclass(frozen=True)
class Place:
    """Where something is said."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Field:
    """An attribute, a parameter, or a field of a record."""

    name: str
    type: str  # "": it has none
    place: Place
    transportation: str = ""  # of attributes and parameters


@dataclass(frozen=True)
class Class:
    """An object or interaction class with all its fields, those of its superclasses first."""

    name: str  # below the root
    interaction: bool
    fields: tuple[Field, ...]
    place: Place


@dataclass(frozen=True)
class Alternative:
    """One of a variant record; no type: there is nothing behind the discriminant."""

    labels: tuple[str, ...]  # names of enumerators; "HLAother": all that no other has
    type: str


@dataclass(frozen=True)
class DataType:
    """One of the six kinds; each has what its kind needs."""

    name: str
    kind: str  # basic, simple, enumerated, array, record, variant
    place: Place
    size: int = 0  # basic: octets
    little: bool = False
    of: str = ""  # simple, enumerated: representation; array: element; variant: discriminant
    encoding: str = ""
    low: int = 0  # array: how many elements
    high: int | None = 0
    enumerators: dict[str, int] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


# What kinds of types are made of, by the element that says it.
_OF = {"simple": "representation", "enumerated": "representation", "array": "dataType",
       "variant": "dataType"}  # fmt: skip


class ObjectModel:
    """What modules define together. Of what several define the first counts."""

    def __init__(self, modules: list[Path]) -> None:
        self.modules = modules
        self.types: dict[str, DataType] = {}
        self._finite: set[str] = set()  # types that were looked at and hold no circle
        self.classes: dict[str, Class] = {}
        self.interactions: dict[str, Class] = {}
        for path in [*modules, _MIM]:
            root = _read(path)
            for node in root.below():
                if found := _data_type(node, path):
                    self.types.setdefault(found.name, found)
        # A module may extend classes of another one, whichever is named first.
        inherited: dict[tuple, dict[str, Field]] = {}
        for path in modules:
            root = _read(path)
            for top, kind in (("objects", "object"), ("interactions", "interaction")):
                for node in (n for part in root.all(top) for n in part.all(f"{kind}Class")):
                    self._add(node, path, kind, "", inherited)
        for interaction, name in inherited:
            into = self.interactions if interaction else self.classes
            above = [".".join(name.split(".")[:n]) for n in range(name.count(".") + 1)]
            every: dict[str, Field] = {}
            for upper in [*above, name]:
                every |= inherited.get((interaction, upper), {})
            into[name] = Class(name, interaction, tuple(every.values()), into[name].place)

    def _add(self, node: _Node, path: Path, kind: str, above: str, inherited: dict) -> None:
        name = node.get("name")
        root = name in ("HLAobjectRoot", "HLAinteractionRoot")
        full = "" if root else f"{above}.{name}" if above else name
        what = "attribute" if kind == "object" else "parameter"
        own = {
            n.get("name"): _field(n, path, node)
            for n in node.all(what)
            if n.get("name") != "HLAprivilegeToDeleteObject"
        }
        interaction = kind == "interaction"
        inherited.setdefault((interaction, full), {}).update(own)
        into = self.interactions if interaction else self.classes
        into.setdefault(full, Class(full, interaction, (), Place(path, node.line)))
        for child in node.all(f"{kind}Class"):
            self._add(child, path, kind, full, inherited)

    def find(self, name: str) -> Class:
        """The class of this name, which may begin with the root's; BenchError with the nearest."""
        for root, of in (
            ("HLAobjectRoot", self.classes),
            ("HLAinteractionRoot", self.interactions),
        ):
            if name == root and "" in of:
                return of[""]
            name = name.removeprefix(f"{root}.")
        found = self.classes.get(name) or self.interactions.get(name)
        if found and name:
            return found
        every = {n: c for n, c in {**self.interactions, **self.classes}.items() if n}
        near = difflib.get_close_matches(name, every, n=1, cutoff=0)
        do = f"did you mean '{near[0]}' ({every[near[0]].place})?" if near else ""
        raise BenchError(
            "STL-FOM-004", f"there is no class '{name}'", ", ".join(map(str, self.modules)), do,
            USAGE,
        )  # fmt: skip

    def type_of(self, one: Field, of: str) -> DataType:
        """The data type of a field of a class or record `of`; BenchError if it has none, or one
        that is not there, is of nothing, or holds itself."""
        if one.type in ("", "NA"):
            raise BenchError(
                "STL-FOM-005", f"'{one.name}' of {of} has no data type", str(one.place),
                "give it a <dataType>", USAGE,
            )  # fmt: skip
        found = self._named(one.type, f"'{one.name}' of {of}", one.place)
        self._check(found, [])
        return found

    def _named(self, name: str, who: str, place: Place) -> DataType:
        if found := self.types.get(name):
            return found
        near = difflib.get_close_matches(name, self.types, n=1, cutoff=0.5)
        do = f"did you mean '{near[0]}'?" if near else "define it, or give the module that does"
        what = f"{who} is of the data type '{name}', which is not there"
        raise BenchError("STL-FOM-006", what, str(place), do, USAGE)

    def parts(self, one: DataType) -> list[DataType]:
        """The types that a type is made of."""
        who = f"'{one.name}'"
        names = [one.of] if one.of else []
        names += [f.type for f in one.fields]
        names += [a.type for a in one.alternatives if a.type]
        return [self._named(name, who, one.place) for name in names]

    def _check(self, one: DataType, above: list[DataType]) -> None:
        if one.name in self._finite:
            return
        if one in above:
            circle = [*above[above.index(one) :], one]
            raise BenchError(
                "STL-FOM-007",
                "a data type holds itself: "
                + ", which holds ".join(f"{t.name} (line {t.place.line})" for t in circle),
                str(one.place), "no value of it is finite: break the circle", USAGE,
            )  # fmt: skip
        if len(above) == _DEPTH_MAX:
            what = f"data types are nested more than {_DEPTH_MAX} deep, down to '{one.name}'"
            raise BenchError("STL-FOM-014", what, str(one.place), "make them flatter", USAGE)
        if one.kind in _OF and not one.of:
            what = f"the data type '{one.name}' lacks <{_OF[one.kind]}>"
            raise BenchError("STL-FOM-015", what, str(one.place), "say what it is made of", USAGE)
        for part in self.parts(one):
            self._check(part, [*above, one])
        number = one
        while number.kind in ("enumerated", "simple"):
            number = self.types[number.of]
        if one.kind == "enumerated" and number.kind != "basic":
            what = (
                f"the data type '{one.name}' is represented by '{number.name}', which is no number"
            )
            do = "take a basic data type for it"
            raise BenchError("STL-FOM-015", what, str(one.place), do, USAGE)
        bits = 8 * number.size
        for name, value in one.enumerators.items():
            if not -(1 << bits - 1) <= value < 1 << bits:
                what = f"'{name}' of '{one.name}' is {value}, too large for the {bits} bits"
                what += f" of '{number.name}'"
                do = "correct it, or its <representation>"
                raise BenchError("STL-FOM-008", what, str(one.place), do, USAGE)
        self._finite.add(one.name)


def _read(path: Path) -> _Node:
    parser = expat.ParserCreate()
    top = _Node("", 0)
    stack = [top]

    def start(tag: str, _: dict) -> None:
        if len(stack) > _DEPTH_MAX:
            what = f"elements are nested more than {_DEPTH_MAX} deep"
            where = f"{path}:{parser.CurrentLineNumber}"
            raise BenchError("STL-FOM-014", what, where, "no FOM has so many", USAGE)
        node = _Node(tag.rpartition(":")[2], parser.CurrentLineNumber)
        stack[-1].children.append(node)
        stack.append(node)

    def text(content: str) -> None:
        stack[-1].text += content

    def entity(name: str, *_: object) -> None:
        # Few letters of these may stand for any number.
        what, where = f"the FOM declares an entity, '{name}'", f"{path}:{parser.CurrentLineNumber}"
        raise BenchError("STL-FOM-002", what, where, "write out what it stands for", USAGE)

    parser.buffer_text, parser.EntityDeclHandler = True, entity
    parser.StartElementHandler, parser.CharacterDataHandler = start, text
    parser.EndElementHandler = lambda _: stack.pop()
    try:
        with open_file(path) as file:
            parser.Parse(file.read(), True)
    except OSError as e:
        raise BenchError(
            "STL-FOM-001", f"the FOM can't be read: {e.strerror}", str(path), "", USAGE
        ) from None
    except (LookupError, ValueError) as e:
        raise no_encoding(e, path) from None
    except expat.ExpatError as e:
        raise BenchError(
            "STL-FOM-002", f"the FOM is not XML: {expat.ErrorString(e.code)}",
            f"{path}:{e.lineno}", "correct the file", USAGE,
        ) from None  # fmt: skip
    return top.children[0]


def no_encoding(e: LookupError | ValueError, path: Path) -> BenchError:
    """What is said of a FOM in an encoding that the XML parser does not read."""
    what, do = f"the FOM's encoding can't be read: {e}", "write it as UTF-8"
    return BenchError("STL-FOM-002", what, f"{path}:1", do, USAGE)


def _field(node: _Node, path: Path, owner: _Node | None = None) -> Field:
    # A parameter travels as its class does.
    by = node.get("transportation") or (owner.get("transportation") if owner else "")
    return Field(node.get("name"), node.get("dataType"), Place(path, node.line), by)


def _number(text: str, place: Place) -> int:
    try:
        return int(text)
    except ValueError:
        what = f"'{text}' is not a whole number"
        raise BenchError("STL-FOM-008", what, str(place), "correct the FOM", USAGE) from None


def _data_type(node: _Node, path: Path) -> DataType | None:
    place, name = Place(path, node.line), node.get("name")
    if not name:
        return None  # rows of the tables' other parts
    if node.tag == "basicData":
        size = _number(node.get("size"), place)
        if not 0 < size <= _BITS_MAX:
            what = f"the basic data '{name}' has {size} bits; 1 to {_BITS_MAX:,} are possible"
            raise BenchError("STL-FOM-008", what, str(place), "correct its <size>", USAGE)
        return DataType(name, "basic", place, max(size // 8, 1), node.get("endian") == "Little")
    if node.tag == "simpleData":
        return DataType(name, "simple", place, of=node.get("representation"))
    if node.tag == "enumeratedData":
        pairs = {
            n.get("name"): _number(v.text.strip(), Place(path, v.line))
            for n in node.all("enumerator")
            for v in n.all("value")[:1]
        }
        return DataType(name, "enumerated", place, of=node.get("representation"), enumerators=pairs)
    if node.tag == "arrayData":
        low, high = _cardinality(node.get("cardinality"), place)
        return DataType(
            name, "array", place, of=node.get("dataType"), encoding=node.get("encoding"),
            low=low, high=high,
        )  # fmt: skip
    if node.tag == "fixedRecordData":
        fields = tuple(_field(n, path) for n in node.all("field"))
        return DataType(name, "record", place, encoding=node.get("encoding"), fields=fields)
    if node.tag == "variantRecordData":
        alternatives = tuple(
            Alternative(_labels(n.get("enumerator")), "" if t in ("", "NA") else t)
            for n in node.all("alternative")
            for t in (n.get("dataType"),)
        )
        return DataType(
            name, "variant", place, of=node.get("dataType"), encoding=node.get("encoding"),
            alternatives=alternatives,
        )  # fmt: skip
    return None


def _labels(text: str) -> tuple[str, ...]:
    """Names of enumerators; a range keeps its two dots, for who knows the enumerators."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _cardinality(text: str, place: Place) -> tuple[int, int | None]:
    """How many elements; of several dimensions all of them. None: any number."""
    low, high = 1, 1
    for part in re.findall(r"\[[^]]*\]|[^,\s]+", text) or ["Dynamic"]:
        if part == "Dynamic":
            least, most = 0, None
        elif part.startswith("["):
            ends = [end.strip() for end in part.strip("[]").split("..")]
            least, most = _number(ends[0], place), _number(ends[-1], place)
        else:
            least = most = _number(part, place)
        if least < 0 or (most is not None and most < least):
            what = f"the cardinality '{text}' is none"
            raise BenchError("STL-FOM-008", what, str(place), "correct the FOM", USAGE)
        low, high = low * least, None if high is None or most is None else high * most
    return low, high
