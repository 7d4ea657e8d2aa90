"""What all fields of a test sequence file share: strict types, and how a fault is told."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

# Also of a folder or a file: dots alone name another one, and names of what is within have room.
_LETTERS_MAX = 63
Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$", max_length=_LETTERS_MAX),
]
# Programs take no more of anything.
MANY = 1 << 40
# So many times as large is no run.
SCALE_MAX = 1e9
Seconds = Annotated[float, Field(gt=0, le=1e8, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1, le=MANY)]

Loc = tuple[str | int, ...]
Fault = tuple[Loc, str, str]  # where, what, what to do
Faults = Iterator[Fault]


class Strict(BaseModel):
    """No field is ignored, no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def model_parametrized_name(cls, params: tuple[type, ...]) -> str:
        """A table has the same name in the schema whatever study fills it."""
        return cls.__name__


class Placed(Strict):
    """A table that knows where it stands in a file, for messages."""

    _places: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def places(self) -> dict[str, str]:
        """File and line of each field; empty if it is not from a file."""
        return self._places

    def placed(self, places: dict[str, str]) -> None:
        """Notes file and line of its fields."""
        self._places = places

    def place(self, field: str) -> str:
        """File and line of a field; "" if it is not from a file."""
        return self._places.get(field, "")


def twice(values: list) -> int | None:
    """The index of the first value that was there before."""
    seen: set = set()
    try:
        return next((i for i, v in enumerate(values) if v in seen or seen.add(v)), None)
    except TypeError:  # tables: there are few
        return next((i for i, v in enumerate(values) if v in values[:i]), None)
