#!/usr/bin/env python3
"""Writes fomcost.xml: the spatial data of the RPR FOM in five layouts, as attributes and as
parameters, reliable and best effort, and what the study's federates talk with.

Names begin with FomCost, so that the module can be joined with anybody's.
"""

from pathlib import Path

TRIPLES = ("Orientation", "VelocityVector", "AngularVelocityVector", "AccelerationVector")
PARTS = ("WorldLocation", *TRIPLES, "DeadReckoningAlgorithm", "IsFrozen")
MODES = ("Static", "FPW", "RPW", "RVW", "FVW", "FPB", "RPB", "RVB", "FVB")
# What the records of the two variants hold beyond orientation and location.
RECORDS = {
    "Static": (), "FP": ("VelocityVector",), "RP": ("VelocityVector", "AngularVelocityVector"),
    "RV": ("VelocityVector", "AngularVelocityVector", "AccelerationVector"),
    "FV": ("VelocityVector", "AccelerationVector"),
}  # fmt: skip
OF_MODE = {m: "Static" if m == "Static" else m[:2] for m in MODES}
TYPES = {
    "WorldLocation": "FomCostLocation", "DeadReckoningAlgorithm": "FomCostMode",
    "IsFrozen": "FomCostBoolean",
}  # fmt: skip
# The spatial data as one attribute: in full, and the series of one to five parts.
SERIES = ("Spatial", *(f"Spatial{n}" for n in range(1, 6)))
COMBINED = {"Fixed": "FomCostFixed", "Variable": "FomCostVariable", "Variant": "FomCostVariant",
            "Standard": "FomCostStandard"}  # fmt: skip


def type_of(part: str) -> str:
    return TYPES.get(part, "FomCostTriple")


def record(name: str, fields: list[tuple[str, str]], encoding: str = "HLAfixedRecord") -> str:
    rows = "".join(
        f"<field><name>{n}</name><dataType>{t}</dataType><semantics>NA</semantics></field>"
        for n, t in fields
    )
    return (
        f"<fixedRecordData><name>{name}</name><encoding>{encoding}</encoding>"
        f"<semantics>NA</semantics>{rows}</fixedRecordData>\n"
    )


def variant(name: str, discriminant: str, records: dict[str, str], encoding: str) -> str:
    rows = "".join(
        f"<alternative><enumerator>{m}</enumerator><name>{m}</name>"
        f"<dataType>{r}</dataType><semantics>NA</semantics></alternative>"
        for m, r in records.items()
    )
    return (
        f"<variantRecordData><name>{name}</name><discriminant>DeadReckoningAlgorithm"
        f"</discriminant><dataType>{discriminant}</dataType>{rows}<encoding>{encoding}</encoding>"
        f"<semantics>NA</semantics></variantRecordData>\n"
    )


def enumerated(name: str, values: dict[str, int]) -> str:
    rows = "".join(
        f"<enumerator><name>{n}</name><value>{v}</value></enumerator>" for n, v in values.items()
    )
    return (
        f"<enumeratedData><name>{name}</name><representation>HLAoctet</representation>"
        f"<semantics>NA</semantics>{rows}</enumeratedData>\n"
    )


def data_types() -> str:
    triple = [(n, "HLAfloat32BE") for n in "xyz"]
    place = [(n, "HLAfloat64BE") for n in "xyz"]
    body = [(p, type_of(p)) for p in PARTS if p not in TYPES or p == "WorldLocation"]
    # Orientation comes first, as then every part stands on its boundary.
    body = sorted(body, key=lambda field: field[0] != "Orientation")
    orders = ("Orientation", "WorldLocation", *TRIPLES[1:])
    head = [("DeadReckoningAlgorithm", "FomCostMode"), ("IsFrozen", "FomCostBoolean")]
    padding = [("Padding1", "HLAbyte"), ("Padding2", "HLAbyte")]
    # What the series has of one to five parts, behind the head of the fixed form or of the variant.
    parts = [
        [(p, type_of(p)) for p in (("WorldLocation",), orders[:n])[n > 1]] for n in range(1, 6)
    ]
    heads = {
        "FomCostSeries": head + padding,
        "FomCostVariantSeries": head[::-1] + padding,
        "FomCostStandardParts": [("IsFrozen", "HLAboolean")],
    }
    series = [
        # The position alone does not stand on its boundary.
        record(
            f"{name}{n}",
            [*first, *fields],
            "FomCostPacked" if n == 1 and padding[0] in first else "HLAfixedRecord",
        )
        for name, first in heads.items()
        for n, fields in enumerate(parts, 1)
    ]
    orientation = [("Orientation", "FomCostTriple"), ("WorldLocation", "FomCostLocation")]
    plain = [
        record(f"FomCostSpatial{name}", orientation + [(p, type_of(p)) for p in more])
        for name, more in RECORDS.items()
    ]
    standard = [
        record(f"FomCostStandard{name}", [("IsFrozen", "HLAboolean"), *orientation]
               + [(p, type_of(p)) for p in more])
        for name, more in RECORDS.items()
    ]  # fmt: skip
    records = [
        record("FomCostTriple", triple), record("FomCostLocation", place),
        record("FomCostFixed", head + padding + body),
        # Its end is left off where the mode does not need it, which no table of a FOM can say.
        record("FomCostVariable", head + padding + body, "FomCostVariableLength"),
        *series, *plain, *standard,
    ]  # fmt: skip
    # Two octets of padding and a boolean stand around the discriminant: an encoding of its own.
    spatial = {m: f"FomCostSpatial{r}" for m, r in OF_MODE.items()}
    standards = {m: f"FomCostStandard{r}" for m, r in OF_MODE.items()}
    numbered = {f"Parts{n}": f"FomCostStandardParts{n}" for n in range(1, 6)}
    variants = [
        variant("FomCostVariant", "FomCostMode", spatial, "FomCostVariant"),
        variant("FomCostStandard", "FomCostMode", standards, "HLAvariantRecord"),
        variant("FomCostStandardSeries", "FomCostParts", numbered, "HLAvariantRecord"),
    ]
    return (
        "<dataTypes><enumeratedDataTypes>"
        f"{enumerated('FomCostMode', {m: n for n, m in enumerate(MODES, 1)})}"
        f"{enumerated('FomCostParts', {f'Parts{n}': 9 + n for n in range(1, 6)})}"
        f"{enumerated('FomCostBoolean', {'False': 0, 'True': 1})}</enumeratedDataTypes>"
        f"<fixedRecordDataTypes>{''.join(records)}</fixedRecordDataTypes>"
        f"<variantRecordDataTypes>{''.join(variants)}</variantRecordDataTypes></dataTypes>"
    )


def fields_of(layout: str) -> list[tuple[str, str]]:
    if layout == "Multiple":
        return [(p, type_of(p)) for p in PARTS]
    if layout == "Combined":
        return [("Value", "HLAopaqueData")]
    own = COMBINED[layout]
    series = {"Variant": "FomCostVariantSeries{}", "Standard": "FomCostStandardSeries"}
    kind = series.get(layout, "FomCostSeries{}")
    return [(n, own if n == "Spatial" else kind.format(n[-1])) for n in SERIES]


LAYOUTS = ("Multiple", *COMBINED, "Combined")
COMMON = "<order>Receive</order>"


def object_class(layout: str, transport: str) -> str:
    rows = "".join(
        f"<attribute><name>{n}</name><dataType>{t}</dataType><updateType>Conditional</updateType>"
        f"<updateCondition>always</updateCondition><ownership>NoTransfer</ownership>"
        f"<sharing>PublishSubscribe</sharing><transportation>{transport}</transportation>{COMMON}"
        f"<semantics>NA</semantics></attribute>\n"
        for n, t in fields_of(layout)
    )
    head = f"<objectClass><name>{layout}</name><sharing>PublishSubscribe</sharing>"
    return f"{head}\n{rows}</objectClass>\n"


def interaction_class(name: str, fields: list[tuple[str, str]], transport: str) -> str:
    rows = "".join(
        f"<parameter><name>{n}</name><dataType>{t}</dataType><semantics>NA</semantics></parameter>\n"
        for n, t in fields
    )
    return (
        f"<interactionClass><name>{name}</name><sharing>PublishSubscribe</sharing>"
        f"<transportation>{transport}</transportation>{COMMON}\n{rows}</interactionClass>\n"
    )


def group(what: str, name: str, inside: str) -> str:
    more = f"<transportation>HLAreliable</transportation>{COMMON}" if what == "interaction" else ""
    return (
        f"<{what}Class><name>{name}</name><sharing>Neither</sharing>{more}\n"
        f"{inside}</{what}Class>\n"
    )


def module() -> str:
    objects = interactions = ""
    for name, transport in (
        ("FomCostReliable", "HLAreliable"),
        ("FomCostBestEffort", "HLAbestEffort"),
    ):
        objects += group("object", name, "".join(object_class(x, transport) for x in LAYOUTS))
        inside = "".join(interaction_class(x, fields_of(x), transport) for x in LAYOUTS)
        interactions += group("interaction", name, inside)
    interactions += interaction_class("FomCostTalk", [("text", "HLAASCIIstring")], "HLAreliable")
    ieee = "standards.ieee.org"
    said = {
        "name": "FOM cost", "type": "FOM", "version": "1.0", "modificationDate": "2026-11-24",
        "securityClassification": "Unclassified", "purpose": "What an attribute costs",
        "applicationDomain": "Benchmarking",
        "description": "The RPR FOM's spatial data in five layouts",
    }  # fmt: skip
    identification = "".join(f"<{tag}>{text}</{tag}>" for tag, text in said.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Made by make_fomcost.py. -->\n'
        f'<objectModel xmlns="http://{ieee}/IEEE1516-2010" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="http://{ieee}/IEEE1516-2010 '
        f'http://{ieee}/downloads/1516/1516.2-2010/IEEE1516-DIF-2010.xsd">\n'
        f"<modelIdentification>{identification}<poc><pocType>Sponsor</pocType>"
        "<pocOrg>Starling RTI</pocOrg></poc><reference><type>NA</type>"
        "<identification>NA</identification></reference></modelIdentification>\n"
        f"<objects><objectClass><name>HLAobjectRoot</name>\n{objects}</objectClass></objects>\n"
        "<interactions><interactionClass><name>HLAinteractionRoot</name>\n"
        f"{interactions}</interactionClass></interactions>\n{data_types()}\n</objectModel>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("fomcost.xml").write_text(module(), encoding="utf-8")
