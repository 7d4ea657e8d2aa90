"""The 120 configurations of a topology, numbered as in the source: 0-39 one entity, 40-79
ten, 80-119 a hundred; inside that by rate (ten each), payload (two each), delivery: even best
effort, odd reliable.
"""

from dataclasses import dataclass

ENTITIES = (1, 10, 100)
RATES = (10, 20, 60, 120)
PAYLOADS = (128, 512, 1024, 2048, 9000)
COUNT = len(ENTITIES) * len(RATES) * len(PAYLOADS) * 2


@dataclass(frozen=True)
class Configuration:
    """What each publisher does."""

    number: int
    entities: int
    rate: int
    payload: int
    transport: str


def configuration(number: int) -> Configuration:
    """The one of this number."""
    entities, rest = divmod(number, 40)
    rate, rest = divmod(rest, 10)
    payload, reliable = divmod(rest, 2)
    return Configuration(
        number, ENTITIES[entities], RATES[rate], PAYLOADS[payload],
        "reliable" if reliable else "best_effort",
    )  # fmt: skip
