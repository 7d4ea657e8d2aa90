"""The FOM (fom.xml): classes for round trips, for many attributes, reliable and best effort, one
with a dimension, and so many more."""

from pathlib import Path

_ATTRIBUTES = 32
_WHOLE = Path(__file__).with_name("fom.xml").read_text(encoding="utf-8")


def fom(classes: int) -> str:
    """The whole module, with Class1 and so on."""
    objects = []
    for prefix, transportation in (("", "HLAreliable"), ("Best", "HLAbestEffort")):
        objects += [_class(f"{prefix}{name}", ["payload"], transportation)
                    for name in ("There", "Back")]  # fmt: skip
        many = [f"value{n}" for n in range(1, _ATTRIBUTES + 1)]
        objects.append(_class(f"{prefix}Many", many, transportation))
    objects += [_class(f"Class{n}", ["value1"], "HLAreliable") for n in range(1, classes + 1)]
    return _WHOLE.replace("OBJECTS", "".join(objects))


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
