#!/usr/bin/env python3
"""Writes records.xml and records-advisories.xml: classes of one attribute that holds a record.

bench/foms/make_records.py; they are committed, and a test compares.
"""

from pathlib import Path

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    "<!-- Made by bench/foms/make_records.py: one attribute, reliable or best effort, in receive\n"
    "     order; and the words by which federates agree. Advisories are {state}. -->\n"
    '<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://standards.ieee.org/IEEE1516-2010 '
    'http://standards.ieee.org/downloads/1516/1516.2-2010/IEEE1516-DIF-2010.xsd">\n'
    "<modelIdentification><name>Records</name><type>FOM</type><version>1.0</version>"
    "<modificationDate>2026-11-24</modificationDate>"
    "<securityClassification>Unclassified</securityClassification>"
    "<purpose>Measuring of delivery times</purpose>"
    "<applicationDomain>Benchmarking</applicationDomain>"
    "<description>A value begins with the time sent (8 bytes, ns), the message count (4), the "
    "sender's number (2) and the record's (2), all little-endian.</description>"
    "<poc><pocType>Sponsor</pocType><pocOrg>Starling RTI</pocOrg></poc>"
    "<reference><type>NA</type><identification>NA</identification></reference>"
    "</modelIdentification>\n"
)
_SWITCHES = (
    "<switches>"
    '<autoProvide isEnabled="false"/>'
    '<conveyRegionDesignatorSets isEnabled="false"/><conveyProducingFederate isEnabled="false"/>'
    '<attributeScopeAdvisory isEnabled="false"/>'
    '<attributeRelevanceAdvisory isEnabled="{on}"/>'
    '<objectClassRelevanceAdvisory isEnabled="{on}"/>'
    '<interactionRelevanceAdvisory isEnabled="{on}"/>'
    '<serviceReporting isEnabled="false"/><exceptionReporting isEnabled="false"/>'
    '<delaySubscriptionEvaluation isEnabled="false"/>'
    '<automaticResignAction resignAction="CancelThenDeleteThenDivest"/>'
    "</switches>\n"
)
_SHARED = "<sharing>PublishSubscribe</sharing>"


def _record(name: str, transportation: str) -> str:
    return (
        f"<objectClass><name>{name}</name>{_SHARED}\n<attribute><name>value</name>"
        "<dataType>HLAopaqueData</dataType><updateType>Periodic</updateType>"
        "<updateCondition>at the record's rate</updateCondition>"
        f"<ownership>NoTransfer</ownership>{_SHARED}"
        f"<transportation>{transportation}</transportation><order>Receive</order></attribute>\n"
        "</objectClass>\n"
    )


def module(advisories: bool) -> str:
    """The whole file."""
    words = "".join(
        f"<parameter><name>{name}</name><dataType>HLAASCIIstring</dataType></parameter>\n"
        for name in ("what", "test", "from", "more")
    )
    return (
        _HEAD.format(state="on" if advisories else "off")
        + "<objects><objectClass>\n<name>HLAobjectRoot</name>\n"
        + _record("Record", "HLAreliable")
        + _record("RecordBestEffort", "HLAbestEffort")
        + "</objectClass></objects>\n<interactions><interactionClass>\n"
        f"<name>HLAinteractionRoot</name>\n<interactionClass><name>Word</name>{_SHARED}"
        f"<transportation>HLAreliable</transportation><order>Receive</order>\n{words}"
        "</interactionClass>\n</interactionClass></interactions>\n"
        + _SWITCHES.format(on="true" if advisories else "false")
        + "</objectModel>\n"
    )


def files() -> dict[str, str]:
    """Every file's name and text."""
    return {"records.xml": module(False), "records-advisories.xml": module(True)}


if __name__ == "__main__":
    for name, text in files().items():
        Path(__file__).with_name(name).write_text(text)
