"""Random values of any data type of a FOM: valid by its own tables, or refused with a place."""

import random
import struct
from collections import Counter
from pathlib import Path

import pytest

from starling_bench.captured import capture
from starling_bench.errors import BenchError
from starling_bench.values.object_model import DataType, ObjectModel
from starling_bench.values.own_class import updates
from starling_bench.values.random_values import RandomValues, alternative

DATA = Path(__file__).parents[2] / "tests" / "data" / "fom"
RPR = sorted((DATA / "rpr").glob("*.xml"))
RESTAURANT = DATA / "restaurant" / "RestaurantFOMmodule-2010.xml"


class NobodyKnows(Exception):
    """An array without length stands before other fields: only who knows its values can read."""


class Reader:
    """Reads a value by its type, written apart from what makes values: it goes from the front, with
    its place in the whole value."""

    def __init__(self, model: ObjectModel, content: bytes) -> None:
        self.model, self.content, self.at = model, content, 0

    def take(self, count: int) -> bytes:
        assert self.at + count <= len(self.content)
        self.at += count
        return self.content[self.at - count : self.at]

    def align(self, boundary: int) -> None:
        assert not any(self.take(-self.at % boundary)), "padding that is not 0"

    def boundary(self, name: str) -> int:
        one = self.model.types[name]
        if one.kind == "basic":
            return one.size
        below = [self.boundary(p.name) for p in self.model.parts(one)]
        counted = {"HLAvariableArray": 4, "HLAextendableVariantRecord": 4}
        return max([*below, counted.get(one.encoding, 1)])

    def number(self, one: DataType) -> int:
        while one.kind != "basic":
            one = self.model.types[one.of]
        return int.from_bytes(self.take(one.size), "little" if one.little else "big")

    def read(self, name: str) -> None:
        one = self.model.types[name]
        if one.kind == "basic":
            content = self.take(one.size)
            if "float" in name and one.size in (4, 8):
                (value,) = struct.unpack(
                    ("<" if one.little else ">") + " fd"[one.size // 4], content
                )
                assert abs(value) <= 1e6
        elif one.kind == "simple":
            self.read(one.of)
        elif one.kind == "enumerated":
            bits = 8 * self.boundary(name)
            assert self.number(one) in {v % (1 << bits) for v in one.enumerators.values()}
        elif one.kind == "array":
            self.array(one)
        elif one.kind == "record":
            for part in one.fields:
                kind = self.model.types[part.type]
                if kind.encoding.startswith("RPRpaddingTo"):
                    self.align(4 if "32" in kind.encoding else 8)
                    continue
                self.align(self.boundary(part.type))
                self.read(part.type)
                if kind.encoding == "RPRlengthlessArray" and part is not one.fields[-1]:
                    raise NobodyKnows
        else:
            self.variant(one)

    def array(self, one: DataType) -> None:
        if one.encoding == "RPRnullTerminatedArray":
            while self.take(1) != b"\0":
                pass
            return
        if one.encoding == "RPRlengthlessArray":
            while self.at < len(self.content):  # such a one is the last of its value
                self.align(self.boundary(one.of))
                self.read(one.of)
            return
        count = one.low
        if one.encoding == "HLAvariableArray":
            count = int.from_bytes(self.take(4), "big")
            assert one.low <= count and (one.high is None or count <= one.high)
        for _ in range(count):
            self.align(self.boundary(one.of))
            self.read(one.of)

    def variant(self, one: DataType) -> None:
        chosen = self.model.types[one.of]
        value = self.number(chosen)
        bits = 8 * self.boundary(one.of)
        names = [n for n, v in chosen.enumerators.items() if v % (1 << bits) == value]
        found = alternative(one, chosen, names[0])
        if one.encoding == "HLAvariantRecord":
            if found and found.type:
                self.align(max(self.boundary(a.type) for a in one.alternatives if a.type))
                self.read(found.type)
            return
        self.align(4)
        length = int.from_bytes(self.take(4), "big")
        if length:
            self.align(8)
            end = self.at + length
            inner = Reader(self.model, self.take(length))
            inner.read(found.type)
            assert (inner.at, self.at) == (length, end)


@pytest.mark.parametrize("modules", [RPR, [RESTAURANT]], ids=["rpr", "restaurant"])
def test_every_attribute_and_parameter_has_valid_values(modules):
    model = ObjectModel(modules)
    tried = 0
    kinds, unreadable = set(), set()
    for one in [*model.classes.values(), *model.interactions.values()]:
        for field in one.fields:
            if field.type in ("", "NA"):
                continue
            for seed in range(3):
                value = RandomValues(model, seed).of(field, one.name)
                reader = Reader(model, value)
                try:
                    reader.read(field.type)
                except NobodyKnows:
                    unreadable.add(field.type)
                    continue
                assert reader.at == len(value), (one.name, field.name)
                tried += 1
            kinds.add(model.types[field.type].kind)
    assert tried > (1000 if modules is RPR else 50)
    assert kinds >= {"simple", "enumerated", "record"}
    assert unreadable <= {"AntennaPatternVariantStructLengthlessArray"}


def test_values_are_the_seeds():
    model = ObjectModel(RPR)
    entity = model.find("BaseEntity.PhysicalEntity")
    draw = [RandomValues(model, seed) for seed in (1, 1, 2)]
    values = [[d.of(f, entity.name) for f in entity.fields] for d in draw]
    assert values[0] == values[1] != values[2]


def test_a_fields_mode_can_be_given():
    model = ObjectModel(RPR)
    (spatial,) = [f for f in model.find("BaseEntity").fields if f.name == "Spatial"]
    modes = model.types[model.types[spatial.type].of].enumerators
    for seed, (mode, number) in enumerate(modes.items()):
        value = RandomValues(model, seed, {"Spatial": mode}).of(spatial, "BaseEntity")
        assert value[0] == number


def broken(tmp_path: Path, types: str, attributes: str) -> Path:
    path = tmp_path / "mine.xml"
    path.write_text(
        f"""<objectModel>
<objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Aircraft</name>
{attributes}
</objectClass></objectClass></objects>
<dataTypes>{types}</dataTypes>
</objectModel>
"""
    )
    return path


def refused(path: Path, name: str = "Aircraft", mode: str = "") -> str:
    with pytest.raises(BenchError) as e:
        updates([path], name, mode, 1, {"reliable": "R", "best_effort": "B"})
    return str(e.value)


def test_an_unknown_class_is_told_with_the_nearest_and_its_line(tmp_path):
    said = refused(broken(tmp_path, "", ""), "Aircarft")
    assert "there is no class 'Aircarft'" in said
    assert f"did you mean 'Aircraft' ({tmp_path / 'mine.xml'}:3)?" in said


def test_an_attribute_without_a_data_type_is_told_with_its_line(tmp_path):
    path = broken(tmp_path, "", "<attribute><name>Fuel</name><dataType>NA</dataType></attribute>")
    said = refused(path)
    assert "'Fuel' of Aircraft has no data type" in said
    assert f"{path}:4" in said


def test_an_unknown_data_type_is_told_with_the_nearest(tmp_path):
    path = broken(
        tmp_path, "", "<attribute><name>Fuel</name><dataType>HLAfloat46BE</dataType></attribute>"
    )
    said = refused(path)
    assert "data type 'HLAfloat46BE', which is not there" in said
    assert "did you mean 'HLAfloat64BE'?" in said
    assert f"{path}:4" in said


def test_recursive_types_are_told_with_their_circle(tmp_path):
    record = (
        "<fixedRecordDataTypes><fixedRecordData><name>{0}</name><encoding>HLAfixedRecord</encoding>"
        "<field><name>next</name><dataType>{1}</dataType></field></fixedRecordData>"
        "</fixedRecordDataTypes>\n"
    )
    path = broken(
        tmp_path, record.format("One", "Other") + record.format("Other", "One"),
        "<attribute><name>Chain</name><dataType>One</dataType></attribute>",
    )  # fmt: skip
    said = refused(path)
    assert "One (line 6), which holds Other (line 7), which holds One (line 6)" in said
    assert f"{path}:6" in said


FIELD = "<attribute><name>A</name><dataType>T</dataType></attribute>"
RECORD = ("<fixedRecordData><name>{}</name><encoding>HLAfixedRecord</encoding>{}"
          "</fixedRecordData>")  # fmt: skip


def part(name: str, kind: str) -> str:
    return f"<field><name>{name}</name><dataType>{kind}</dataType></field>"


def nested(depth: int, parts: int) -> str:
    """T holds several of what holds several of what holds ..., so deep."""
    every = [RECORD.format("T0", part("x", "HLAoctet"))]
    for n in range(1, depth + 1):
        name = "T" if n == depth else f"T{n}"
        every.append(RECORD.format(name, "".join(part(f"p{i}", f"T{n - 1}") for i in range(parts))))
    return "".join(every)


def array(of: str, cardinality: str, encoding: str = "HLAfixedArray") -> str:
    return (f"<arrayData><name>T</name>{of}<cardinality>{cardinality}</cardinality>"
            f"<encoding>{encoding}</encoding></arrayData>")  # fmt: skip


OCTETS = "<dataType>HLAoctet</dataType>"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (nested(40, 2), "one of them has more than 131,072 parts"),
        (nested(150, 1), "data types are nested more than 100 deep"),
        (array(OCTETS, "1000000000"), "it has 1,000,000,000 elements"),
        (array(OCTETS, "[2000000000..2147483647]", "RPRnullTerminatedArray"), "elements"),
        (array(OCTETS, "131072, 2"), "it has 262,144 elements"),
        (array("<dataType>Large</dataType>", "100") + "<basicData><name>Large</name>"
         "<size>1000000</size><endian>Big</endian></basicData>", "more than"),
        ("<basicData><name>T</name><size>10000000000000</size><endian>Big</endian></basicData>",
         "has 10000000000000 bits"),
        ("<basicData><name>T</name><size>-8</size><endian>Big</endian></basicData>", "-8 bits"),
        (array(OCTETS, "[5..2]"), "the cardinality '[5..2]' is none"),
        (array(OCTETS, "-3"), "the cardinality '-3' is none"),
        (array("", "3"), "'T' lacks <dataType>"),
        ("<simpleData><name>T</name></simpleData>", "'T' lacks <representation>"),
        ("<enumeratedData><name>T</name><enumerator><name>E</name><value>1</value></enumerator>"
         "</enumeratedData>", "'T' lacks <representation>"),
        ("<enumeratedData><name>T</name><representation>R</representation><enumerator><name>E</name>"
         "<value>1</value></enumerator></enumeratedData>"
         "<fixedRecordData><name>R</name><encoding>HLAfixedRecord</encoding></fixedRecordData>",
         "'T' is represented by 'R', which is no number"),
        ("<variantRecordData><name>T</name><encoding>HLAvariantRecord</encoding>"
         "</variantRecordData>", "'T' lacks <dataType>"),
        ("<enumeratedData><name>T</name><representation>HLAoctet</representation><enumerator>"
         "<name>E</name><value>70000</value></enumerator></enumeratedData>",
         "'E' of 'T' is 70000, too large for the 8 bits of 'HLAoctet'"),
        ("<x>" * 3000 + "</x>" * 3000, "elements are nested more than 100 deep"),
    ],
    ids=["doubling", "deep", "long", "text", "wide", "octets", "bits", "negative", "backwards",
         "less", "array", "simple", "enumerated", "number", "variant", "enumerator", "elements"],
)  # fmt: skip
def test_what_no_update_could_have_is_told_at_once(tmp_path, types, said):
    path = broken(tmp_path, types, FIELD)
    assert said in refused(path) and f"{path}:6" in refused(path)


def test_a_field_is_looked_for_once_in_each_type(tmp_path):
    """Forty records, of which each holds the one before twice, hold a million millions of parts."""
    path = broken(tmp_path, nested(40, 2), FIELD)
    assert "has no enumerated field 'mode'" in refused(path, mode="mode")


def test_an_encoding_that_nobody_knows_is_told(tmp_path):
    path = broken(
        tmp_path,
        "<arrayDataTypes><arrayData><name>Odd</name><dataType>HLAoctet</dataType>"
        "<cardinality>Dynamic</cardinality><encoding>MineArray</encoding></arrayData></arrayDataTypes>",
        "<attribute><name>A</name><dataType>Odd</dataType></attribute>",
    )
    assert "encoding 'MineArray' is not known" in refused(path)


def test_a_mode_field_that_has_no_enumerators_is_told():
    with pytest.raises(BenchError) as e:
        updates(RPR, "BaseEntity", "Spatail", 1, {"reliable": "R", "best_effort": "B"})
    assert "no enumerated field 'Spatail'" in str(e.value)
    assert "did you mean 'Spatial'?" in str(e.value)


def test_what_is_no_xml_is_told_with_its_line(tmp_path):
    path = tmp_path / "mine.xml"
    path.write_text("<objectModel>\n<objects>\n</objectModel>\n")
    assert f"{path}:3" in refused(path)


def test_a_field_whose_type_has_no_enumerators_has_no_modes(tmp_path):
    types = (
        "<enumeratedData><name>T</name><representation>HLAoctet</representation></enumeratedData>"
    )
    path = broken(tmp_path, types, FIELD)
    said = refused(path, mode="A")
    assert said.startswith("STL-FOM-013: 'T' has no enumerators") and f"{path}:6" in said


def test_the_root_is_a_class_without_attributes(tmp_path):
    said = refused(broken(tmp_path, "", ""), "HLAobjectRoot")
    assert "class 'HLAobjectRoot' has neither attributes nor parameters" in said


def test_an_entity_is_told_before_it_stands_for_anything(tmp_path):
    """A few letters would be millions of millions."""
    path = tmp_path / "mine.xml"
    more = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">\n' for n in range(1, 12))
    path.write_text(f'<!DOCTYPE objectModel [\n<!ENTITY a0 "lol">\n{more}]>\n<objectModel>'
                    "<modelIdentification>&a11;</modelIdentification></objectModel>")  # fmt: skip
    said = refused(path)
    assert said.startswith("STL-FOM-002: the FOM declares an entity, 'a0'") and f"{path}:2" in said


@pytest.mark.parametrize("encoding", ["foo", "shift_jis", "utf-7", "hex"])
def test_an_encoding_that_nobody_reads_is_told(tmp_path, encoding):
    path = tmp_path / "mine.xml"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<objectModel/>\n')
    said = refused(path)
    assert said.startswith("STL-FOM-002") and f"{path}:1" in said and "encoding" in said


def test_updates_of_a_class_and_as_many_bytes_in_one_attribute():
    made = updates(RPR, "BaseEntity.PhysicalEntity", "Spatial", 1,
                   {"reliable": "R", "best_effort": "B"})  # fmt: skip
    assert (made["kind"], list(made["counts"])) == ("object", ["best_effort"])
    assert len(made["modes"]) == 10
    every = 0
    for key, one in made["tests"].items():
        layout, transport, count, mode = key.split("/")
        if layout == "own":
            other = made["tests"][f"combined/{transport}/{count}/{mode}"]
            assert len(one["fields"]) == int(count) and len(other["fields"]) == 1
            assert [sum(map(len, values)) for values in one["updates"]] == [
                len(value) for (value,) in other["updates"]
            ]  # fmt: skip
            assert len({tuple(v) for v in one["updates"]}) > 16
            every += 1
    assert every == 10 * len(made["counts"]["best_effort"])
    again = updates(RPR, "BaseEntity.PhysicalEntity", "Spatial", 1,
                    {"reliable": "R", "best_effort": "B"})  # fmt: skip
    assert again == made


def test_attributes_of_each_transportation_are_measured_by_themselves(tmp_path):
    """And all together, which make two messages, beside as many bytes in a reliable one."""
    attribute = ("<attribute><name>{}</name><dataType>HLAinteger64BE</dataType>"
                 "<transportation>HLA{}</transportation></attribute>")  # fmt: skip
    given = (("A", "reliable"), ("B", "bestEffort"), ("C", "reliable"), ("D", "reliable"))
    path = broken(tmp_path, "", "".join(attribute.format(*one) for one in given))
    made = updates([path], "Aircraft", "", 1, {"reliable": "R", "best_effort": "B"})
    assert made["counts"] == {
        "reliable": [1, 2, 3], "best_effort": [1], "both_transportations": [4],
    }  # fmt: skip
    told = {key: (one["class"], one["fields"], one["messages"])
            for key, one in made["tests"].items()}  # fmt: skip
    assert told["own/reliable/3/"] == ("Aircraft", ["A", "C", "D"], [[0, 1, 2]])
    assert told["own/best_effort/1/"] == ("Aircraft", ["B"], [[0]])
    assert told["own/both_transportations/4/"] == ("Aircraft", list("ABCD"), [[0, 2, 3], [1]])
    beside = {transport: told[f"combined/{transport}/{counts[-1]}/"]
              for transport, counts in made["counts"].items()}  # fmt: skip
    assert beside == {
        "reliable": ("R", ["Value"], [[0]]), "best_effort": ("B", ["Value"], [[0]]),
        "both_transportations": ("R", ["Value"], [[0]]),
    }  # fmt: skip


FIELDS = """<attribute><name>A</name><dataType>T</dataType></attribute>
<attribute><name>B</name><dataType>U</dataType></attribute>
<attribute><name>C</name><dataType>V</dataType></attribute>"""
OF_BYTES = """<arrayDataTypes>{}</arrayDataTypes>""".format("".join(
    f"<arrayData><name>{name}</name><dataType>HLAbyte</dataType><cardinality>{size}</cardinality>"
    "<encoding>HLAfixedArray</encoding></arrayData>"
    for name, size in (("T", 8), ("U", 6), ("V", 12))
))  # fmt: skip


@pytest.mark.parametrize(
    ("types", "attributes"), [(OF_BYTES, FIELDS), ("", "")], ids=["made", "rpr"]
)
def test_every_update_of_a_class_is_known_by_its_values(tmp_path, types, attributes):
    """In what is sent no test's updates are taken for another's, whatever begins as what."""
    modules = [broken(tmp_path, types, attributes)] if types else RPR
    name, mode = ("Aircraft", "") if types else ("BaseEntity.PhysicalEntity", "Spatial")
    made = updates(modules, name, mode, 1, {"reliable": "R", "best_effort": "B"})
    needles, sent = capture.Needles(), {}
    for key, one in made["tests"].items():
        values = [[bytes.fromhex(v) for v in update] for update in one["updates"]]
        assert all(needles.add(capture.Part(key), update) for update in values)
        # As frames have them: each value behind its length.
        sent[key] = [b"<" + b"".join(b":" + v for v in update) + b">" for update in values]
    chunks = [chunk for every in sent.values() for chunk in every]
    found = needles.find(capture.Flow("udp", ("a", 1), ("b", 2), chunks=chunks))
    assert {part.test: one.bytes for (part,), one in found.items()} == {
        key: Counter(map(len, every)) for key, every in sent.items()
    }
    assert sum(one.shared for one in found.values()) == 0


def test_any_representation_of_numbers():
    model = ObjectModel(RPR)
    r = random.Random(1)
    for name in ("HLAinteger64LE", "HLAoctet", "HLAfloat32LE", "UnsignedInteger32BE"):
        if name in model.types:
            value = RandomValues(model, r.randint(0, 99))._value(model.types[name])
            assert len(value) == model.types[name].size
