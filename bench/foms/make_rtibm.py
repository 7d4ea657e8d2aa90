#!/usr/bin/env python3
"""Writes rtibm.xml, the FOM of RTIBM (IEEE 1516.2-2010), beside this script.

Transportation is a property of each attribute and interaction class in the FOM, so half of the
classes are reliable and half best effort: a federate changes transportation between tests by
taking other classes, with no service beyond publish and subscribe. Federates and masters talk
with reliable interactions only.
"""

from pathlib import Path

CLASSES = 32
BUFFERS = 32
RELIABLE_CLASSES = 16  # S1..S16 and R1..R16; the rest is best effort

MASTER = {
    "testDirective": ["testDirective", "internalTestID"],
    "testDescription": ["testDescription", "internalTestID"],
    "endFedex": ["name"],
}
SUBORDINATE = {
    "testState": ["internalTestID", "testState"],
    "testResults": ["testResults"],
}


def transportation(number: int) -> str:
    return "HLAreliable" if number <= RELIABLE_CLASSES else "HLAbestEffort"


def object_tree(name: str, prefix: str) -> list[str]:
    out = ["<objectClass>", f"<name>{name}</name><sharing>Neither</sharing>"]
    for number in range(1, CLASSES + 1):
        head = f"<name>{prefix}{number}</name><sharing>PublishSubscribe</sharing>"
        out += ["<objectClass>", head]
        for buffer in range(1, BUFFERS + 1):
            out.append(
                f"<attribute><name>buffer_{buffer}</name><dataType>HLAopaqueData</dataType>"
                "<updateType>Conditional</updateType><updateCondition>each cycle</updateCondition>"
                "<ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>"
                f"<transportation>{transportation(number)}</transportation>"
                "<order>Receive</order></attribute>"
            )
        out.append("</objectClass>")
    return [*out, "</objectClass>"]


def interaction(name: str, transport: str, parameters: list[str], data_type: str) -> list[str]:
    out = [
        "<interactionClass>",
        f"<name>{name}</name><sharing>PublishSubscribe</sharing>"
        f"<transportation>{transport}</transportation><order>Receive</order>",
    ]
    out += [
        f"<parameter><name>{p}</name><dataType>{data_type}</dataType></parameter>"
        for p in parameters
    ]
    return [*out, "</interactionClass>"]


def interaction_tree(name: str, children: list[str]) -> list[str]:
    return [
        "<interactionClass>",
        f"<name>{name}</name><sharing>Neither</sharing>"
        "<transportation>HLAreliable</transportation><order>Receive</order>",
        *children,
        "</interactionClass>",
    ]


def data_interactions(prefix: str) -> list[str]:
    buffers = [f"buffer_{b}" for b in range(1, BUFFERS + 1)]
    out: list[str] = []
    for number in range(1, CLASSES + 1):
        out += interaction(f"{prefix}{number}", transportation(number), buffers, "HLAopaqueData")
    return out


def control(classes: dict[str, list[str]]) -> list[str]:
    out: list[str] = []
    for name, parameters in classes.items():
        out += interaction(name, "HLAreliable", parameters, "HLAASCIIstring")
    return out


def model() -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Written by make_rtibm.py; change that. -->",
        '<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xsi:schemaLocation="http://standards.ieee.org/IEEE1516-2010'
        ' http://standards.ieee.org/downloads/1516/1516.2-2010/IEEE1516-DIF-2010.xsd">',
        "<modelIdentification><name>RTIBM</name><type>FOM</type><version>1.0</version>"
        "<modificationDate>2026-11-21</modificationDate>"
        "<securityClassification>Unclassified</securityClassification>"
        "<purpose>Benchmark of run-time infrastructures</purpose>"
        "<applicationDomain>Benchmarking</applicationDomain>"
        f"<description>S1 to S{RELIABLE_CLASSES} and R1 to R{RELIABLE_CLASSES} are reliable, the"
        " others best effort. The first 8 bytes of every buffer are a time stamp.</description>"
        "<poc><pocType>Sponsor</pocType><pocOrg>Starling RTI</pocOrg></poc>"
        "<reference><type>NA</type><identification>NA</identification></reference>"
        "</modelIdentification>",
        "<objects><objectClass>",
        "<name>HLAobjectRoot</name>",
        *object_tree("sendObj", "S"),
        *object_tree("returnObj", "R"),
        "</objectClass></objects>",
        "<interactions><interactionClass>",
        "<name>HLAinteractionRoot</name>",
        *interaction_tree("sendInt", data_interactions("S")),
        *interaction_tree("returnInt", data_interactions("R")),
        *interaction_tree("masterFederate", control(MASTER)),
        *interaction_tree("subordinateFederate", control(SUBORDINATE)),
        "</interactionClass></interactions>",
        "</objectModel>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("rtibm.xml").write_text(model(), encoding="utf-8")
