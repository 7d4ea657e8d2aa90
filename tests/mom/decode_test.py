#!/usr/bin/env python3
"""Decodes every value that the RTI's MOM sends in the scenarios of this folder.

usage: decode_test.py PLAYER

The decoder is made from the data types of the MIM's XML (1516.2-2010, 4.12), and from nothing that
the RTI's encoder uses. A value must be of its attribute's or parameter's data type to its last
byte, with zeros where it is padded, and every attribute and report parameter of the MIM must come
in some scenario, and in one as more than nothing: no empty array, no 0. What it must be instead
the scenario says.
"""

import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIM = HERE.parent.parent / "spec/mim/HLAstandardMIM-2010.xml"
NAMESPACE = {"m": "http://standards.ieee.org/IEEE1516-2010"}
# Arrays of bytes to the MIM: what encode() gives of the times of 1516.1-2010, 12.
TIMES = ("HLAlogicalTime", "HLAtimeInterval")
TIME_BYTES = 8


class Malformed(Exception):
    pass


def text(element, name):
    """What stands in a child of that name."""
    return element.findtext(f"m:{name}", None, NAMESPACE)


class Types:
    """The data types of a MIM, by name."""

    def __init__(self, root):
        self.basic, self.simple, self.enumerated, self.arrays, self.records = {}, {}, {}, {}, {}
        for element in root.iter():
            kind = element.tag.split("}")[-1]
            get = partial(text, element)
            if kind == "basicData":
                self.basic[get("name")] = (int(get("size")) // 8, get("endian"))
            elif kind == "simpleData":
                self.simple[get("name")] = get("representation")
            elif kind == "enumeratedData":
                values = element.findall("m:enumerator/m:value", NAMESPACE)
                values = {int(v.text) for v in values}
                self.enumerated[get("name")] = (get("representation"), values)
            elif kind == "arrayData":
                self.arrays[get("name")] = (get("dataType"), get("cardinality"), get("encoding"))
            elif kind == "fixedRecordData":
                fields = element.findall("m:field", NAMESPACE)
                self.records[get("name")] = [(text(f, "name"), text(f, "dataType")) for f in fields]

    def boundary(self, name):
        """The octet boundary of a type: what it is aligned to."""
        if name in self.basic:
            return self.basic[name][0]
        if name in self.simple:
            return self.boundary(self.simple[name])
        if name in self.enumerated:
            return self.boundary(self.enumerated[name][0])
        if name in self.arrays:
            element, _, encoding = self.arrays[name]
            count = 4 if encoding == "HLAvariableArray" else 1
            return max(count, self.boundary(element))
        return max(self.boundary(of) for _, of in self.records[name])

    def decode(self, name, data, at=0):
        """The value at a place, and where it ends."""
        if name in self.basic:
            size, endian = self.basic[name]
            end = at + size
            if end > len(data):
                raise Malformed(f"{name} at {at}: {len(data)} bytes in all")
            return int.from_bytes(data[at:end], endian.lower(), signed=size > 1), end
        if name in self.simple:
            return self.decode(self.simple[name], data, at)
        if name in self.enumerated:
            representation, values = self.enumerated[name]
            value, end = self.decode(representation, data, at)
            if value not in values:
                raise Malformed(f"{value} is no {name}")
            return value, end
        if name in self.arrays:
            return self.array(name, data, at)
        value = {}
        for field, of in self.records[name]:
            at = self.aligned(of, data, at)
            value[field], at = self.decode(of, data, at)
        return value, at

    def array(self, name, data, at):
        element, cardinality, encoding = self.arrays[name]
        if encoding == "HLAvariableArray":
            if at + 4 > len(data):
                raise Malformed(f"{name} at {at}: {len(data)} bytes in all")
            (count,) = struct.unpack_from(">i", data, at)
            at += 4
        else:
            count = int(cardinality)
        if count < 0 or count > len(data):
            raise Malformed(f"{name} of {count} elements in {len(data)} bytes")
        values = []
        for _ in range(count):
            at = self.aligned(element, data, at)
            value, at = self.decode(element, data, at)
            values.append(value)
        if name in ("HLAunicodeString", "HLAtransportationName", "HLAupdateRateName"):
            units = b"".join(struct.pack(">H", v & 0xFFFF) for v in values)
            return units.decode("utf-16-be"), at
        if name in TIMES and len(values) not in (0, TIME_BYTES):
            raise Malformed(f"{name} of {len(values)} bytes")
        return values, at

    def aligned(self, name, data, at):
        end = -(-at // self.boundary(name)) * self.boundary(name)
        if any(data[at:end]):
            raise Malformed(f"padding before {name} at {at} is not zero")
        return end

    def whole(self, name, data):
        value, end = self.decode(name, data)
        if end != len(data):
            raise Malformed(f"{name} takes {end} of {len(data)} bytes")
        return value


def declared(root, kind, member):
    """The data type of every attribute or parameter, also inherited ones, by class and name."""
    found = {}

    def walk(element, path, inherited):
        path = [*path, element.findtext("m:name", None, NAMESPACE)]
        own = dict(inherited)
        for item in element.findall(f"m:{member}", NAMESPACE):
            name = item.findtext("m:name", None, NAMESPACE)
            own[name] = item.findtext("m:dataType", None, NAMESPACE)
        for name, of in own.items():
            found[".".join(path[1:]), name] = of
        for child in element.findall(f"m:{kind}", NAMESPACE):
            walk(child, path, own)

    container = "objects" if kind == "objectClass" else "interactions"
    for top in root.findall(f"m:{container}/m:{kind}", NAMESPACE):
        walk(top, [], {})
    return found


def is_more(value):
    """Whether anything in it is not 0."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(is_more, value)) if isinstance(value, list) else bool(value)


def bytes_of(value):
    return bytes.fromhex(value[2:]) if value.startswith("0x") else value.strip('"').encode()


def main(player):
    root = ET.parse(MIM).getroot()
    types = Types(root)
    attributes = declared(root, "objectClass", "attribute")
    parameters = declared(root, "interactionClass", "parameter")
    scenarios = sorted(str(f) for f in HERE.glob("*.scenario"))
    command = [str(HERE.parent / "conformance/run"), player, "evoked", "processes", *scenarios]
    played = subprocess.run([*command, "--verbose"], capture_output=True, text=True, check=False)
    if played.returncode != 0:
        sys.exit(played.stdout[-2000:] + played.stderr[-2000:])
    output = played.stdout + played.stderr

    instances, seen, more, wrong = {}, set(), set(), []

    def judge(classes, of_class, values):
        for item in re.findall(r'(\w+)@[0-9a-f]+=(0x[0-9a-f]*|"[^"]*")', values):
            name, data = item
            of = classes.get((of_class, name))
            if of is None:
                continue
            try:
                value = types.whole(of, bytes_of(data))
                seen.add((of_class, name))
                if is_more(value):
                    more.add((of_class, name))
            except (Malformed, UnicodeError) as fault:
                wrong.append(f"{of_class}.{name}, {of}: {fault}: {data[:200]}")

    for line in output.splitlines():
        line = line.strip()
        if found := re.match(r"cb discoverObjectInstance @(\w+) ([\w.]+)", line):
            instances[found[1]] = found[2].split("@")[0]
        elif line.startswith("scenario") or re.match(r"\d+ scenario", line):
            instances.clear()
        elif found := re.match(r"cb reflectAttributeValues @(\w+) \{(.*?)\} ", line):
            judge(attributes, instances.get(found[1], ""), found[2])
        elif found := re.match(r"cb receiveInteraction ([\w.]+)(?:@\w+)? \{(.*?)\} ", line):
            judge(parameters, found[1], found[2])

    def wanted(all_of, part):
        return {key for key in all_of if part in key[0] + "."}

    all_of = wanted(attributes, "HLAmanager.HLAfedera") | wanted(parameters, ".HLAreport.")
    all_of = {m for m in all_of if m[1] != "HLAprivilegeToDeleteObject"}
    # Abstract classes are never sent.
    all_of = {m for m in all_of if not m[0].endswith(".HLAreport")}
    for fault in wrong:
        print(f"malformed: {fault}")
    for of_class, name in sorted(all_of - seen):
        print(f"in no scenario: {of_class}.{name}")
    for of_class, name in sorted(all_of & seen - more):
        print(f"empty or 0 in every scenario: {of_class}.{name}")
    print(f"{len(seen)} attributes and parameters decoded")
    return 1 if wrong or all_of - more else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
