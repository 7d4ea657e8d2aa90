"""What all fields of a test sequence file share: strict types, and how a fault is told."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1)]

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


def twice(values: list) -> int | None:
    """The index of the first value that was there before."""
    return next((i for i, v in enumerate(values) if v in values[:i]), None)
