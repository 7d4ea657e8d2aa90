"""How a test is called, and the variables by which tests differ."""

from ...statistics.differences import RTIS, WHERE
from ...variables import PAIR, RTI, SEQUENCE, Variable, Variables


def label(s: dict) -> str:
    """Configuration and topology."""
    number = "" if (n := s["configuration"]) is None or n < 0 else f"{n}: "
    return (
        f"{s['topology']} {number}{s['entities']} x {s['rate']:g} Hz x {s['payload']} B, "
        f"{s['transport'].replace('_', ' ')}"
    )


VARIABLES = Variables(
    (
        SEQUENCE,
        RTI,
        Variable("topology", lambda s: s["topology"], line=True, always=True),
        Variable("transport", lambda s: s["transport"].replace("_", " "), line=True),
        PAIR,
        Variable("entities", lambda s: s["entities"], axis=True, always=True),
        Variable("rate", lambda s: s["rate"], axis=True, always=True),
        Variable("payload", lambda s: s["payload"], axis=True, always=True),
    ),
    WHERE,
    label,
)
QUESTIONS = (RTIS,)
