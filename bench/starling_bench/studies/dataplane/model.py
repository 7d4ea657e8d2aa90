"""The FOM: classes for round trips, for many attributes, reliable and best effort, and so many
more."""

_ATTRIBUTES = 32
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">'
    "<modelIdentification><name>Data plane</name><type>FOM</type><version>1.0</version>"
    "<modificationDate>2026-11-25</modificationDate>"
    "<securityClassification>Unclassified</securityClassification>"
    "<description>Benchmark of run-time infrastructures</description>"
    "<poc><pocType>Sponsor</pocType><pocOrg>Starling RTI</pocOrg></poc></modelIdentification>\n"
)


def fom(classes: int) -> str:
    """The whole module, with Class1 and so on."""
    objects = []
    for prefix, transportation in (("", "HLAreliable"), ("Best", "HLAbestEffort")):
        objects += [_class(f"{prefix}{name}", ["payload"], transportation)
                    for name in ("There", "Back")]  # fmt: skip
        many = [f"value{n}" for n in range(1, _ATTRIBUTES + 1)]
        objects.append(_class(f"{prefix}Many", many, transportation))
    objects += [_class(f"Class{n}", ["value1"], "HLAreliable") for n in range(1, classes + 1)]
    parameters = "".join(
        f"<parameter><name>value{n}</name><dataType>HLAopaqueData</dataType></parameter>"
        for n in range(1, 6)
    )
    return (
        f"{_HEAD}<objects><objectClass><name>HLAobjectRoot</name>\n{''.join(objects)}"
        "</objectClass></objects>\n"
        "<interactions><interactionClass><name>HLAinteractionRoot</name>"
        "<interactionClass><name>Five</name><sharing>PublishSubscribe</sharing>"
        "<transportation>HLAreliable</transportation><order>Receive</order>"
        f"{parameters}</interactionClass></interactionClass></interactions></objectModel>\n"
    )


def _class(name: str, attributes: list[str], transportation: str) -> str:
    inner = "".join(
        f"<attribute><name>{one}</name><dataType>HLAopaqueData</dataType>"
        "<updateType>Conditional</updateType><updateCondition>always</updateCondition>"
        "<ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>"
        f"<transportation>{transportation}</transportation><order>Receive</order></attribute>"
        for one in attributes
    )
    return (
        f"<objectClass><name>{name}</name><sharing>PublishSubscribe</sharing>{inner}"
        "</objectClass>\n"
    )
