#!/usr/bin/env python3
"""Writes the FOM of the Performance Benchmark Object Model: one class for each transportation, and
the interactions by which a test is led. foms/pbom.xml is its output.
"""

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Made by make_pbom.py. -->
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://standards.ieee.org/IEEE1516-2010 \
http://standards.ieee.org/downloads/1516/1516.2-2010/IEEE1516-DIF-2010.xsd">
<modelIdentification><name>PBOM</name><type>FOM</type><version>1.0</version>\
<modificationDate>2026-11-24</modificationDate>\
<securityClassification>Unclassified</securityClassification>\
<purpose>Performance Benchmark Object Model</purpose>\
<applicationDomain>Benchmarking</applicationDomain>\
<description>Identity, sequence number, time stamp and payload of an entity.</description>\
<poc><pocType>Sponsor</pocType><pocOrg>Starling RTI</pocOrg></poc>\
<reference><type>NA</type><identification>NA</identification></reference></modelIdentification>
"""
FIELDS = (
    ("timeStamp", "PBOMunsigned64", "ns of the publisher's clock, in its send"),
    ("identity", "PBOMunsigned32", "publisher (upper 16 bits) and entity"),
    ("sequenceNumber", "PBOMunsigned32", "of the entity, from 1"),
    ("test", "PBOMunsigned32", "which sample it belongs to"),
    ("payload", "PBOMpayload", "the rest"),
)


def classes() -> str:
    found = []
    for transport, name in (("HLAreliable", "PBOMreliable"), ("HLAbestEffort", "PBOMbestEffort")):
        for latest in ("", "Latest"):
            found.append(
                f"<objectClass><name>{name}{latest}</name><sharing>PublishSubscribe</sharing>\n"
                "<attribute><name>state</name><dataType>PBOMstate</dataType>"
                "<updateType>Periodic</updateType><updateCondition>its rate</updateCondition>"
                "<ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>"
                f"<transportation>{transport}</transportation><order>Receive</order></attribute>\n"
                "</objectClass>\n"
            )
    return "".join(found)


def interactions() -> str:
    found = []
    for name, fields in (
        ("PBOMcall", ("what", "id", "body")),
        ("PBOManswer", ("from", "what", "id", "body")),
    ):
        found.append(
            f"<interactionClass><name>{name}</name><sharing>PublishSubscribe</sharing>"
            "<transportation>HLAreliable</transportation><order>Receive</order>\n"
            + "".join(
                f"<parameter><name>{f}</name><dataType>HLAASCIIstring</dataType></parameter>\n"
                for f in fields
            )
            + "</interactionClass>\n"
        )
    return "".join(found)


def data_types() -> str:
    basic = "".join(
        f"<basicData><name>PBOMbasic{bits}</name><size>{bits}</size>"
        f"<interpretation>Integer in the range [0, 2^{bits}-1]</interpretation>"
        f"<endian>Little</endian><encoding>{bits}-bit unsigned integer</encoding></basicData>\n"
        for bits in (32, 64)
    )
    simple = "".join(
        f"<simpleData><name>PBOMunsigned{bits}</name>"
        f"<representation>PBOMbasic{bits}</representation>"
        "<units>NA</units><resolution>1</resolution><accuracy>perfect</accuracy></simpleData>\n"
        for bits in (32, 64)
    )
    fields = "".join(
        f"<field><name>{name}</name><dataType>{kind}</dataType><semantics>{what}</semantics>"
        "</field>\n"
        for name, kind, what in FIELDS
    )
    return (
        f"<dataTypes><basicDataRepresentations>\n{basic}</basicDataRepresentations>\n"
        f"<simpleDataTypes>\n{simple}</simpleDataTypes>\n"
        "<arrayDataTypes><arrayData><name>PBOMpayload</name><dataType>HLAbyte</dataType>"
        "<cardinality>Dynamic</cardinality>"
        "<encoding>All bytes up to the end of the value</encoding>"
        "</arrayData></arrayDataTypes>\n"
        "<fixedRecordDataTypes><fixedRecordData><name>PBOMstate</name>"
        f"<encoding>The fields without padding</encoding>\n{fields}"
        "</fixedRecordData></fixedRecordDataTypes></dataTypes>\n"
    )


if __name__ == "__main__":
    print(
        f"{HEAD}<objects><objectClass><name>HLAobjectRoot</name>\n{classes()}</objectClass></objects>\n"
        f"<interactions><interactionClass><name>HLAinteractionRoot</name>\n{interactions()}"
        f"</interactionClass></interactions>\n{data_types()}</objectModel>"
    )
