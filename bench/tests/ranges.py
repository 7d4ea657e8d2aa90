"""Runs of the range test bed with its real federates, for several test files.

RANGEFED and RTI_ROOT say what to run (`make bench-python` sets them).
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import RTI_ROOT, Run, living

RANGEFED = os.environ.get("RANGEFED")
FOM = Path(__file__).parents[1] / "foms" / "records.xml"
NEEDED = pytest.mark.skipif(
    os.environ.get("REQUIRE_ALL") != "1" and not (RANGEFED and RTI_ROOT),
    reason="RANGEFED and RTI_ROOT are needed",
)


def text(test: str, federates: int = 2, extra: str = "", adapter: str = "tcp") -> str:
    """A test sequence file. Time-outs are long, but for what `extra` says."""
    limits = "".join(
        f"{key} = 100\n"
        for key in ("join_timeout_s", "data_timeout_s", "loss_timeout_s")
        if key not in extra
    )
    names = "".join(f'[[sequence.federate]]\nname = "f{n + 1}"\n' for n in range(federates))
    return f"""
[[sequence]]
name = "s"
fom = "{FOM}"
{extra}
{limits}
[sequence.rti]
adapter = "{adapter}"
{names}
[[sequence.execution]]
name = "e"
[[sequence.execution.test]]
{test}
"""


class RangeRun(Run):
    """One `starling-bench range` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.bmfed = RANGEFED
        self.option = "--rangefed"

    @staticmethod
    def command() -> list[str]:
        return [sys.executable, "-m", "starling_bench", "range"]

    @property
    def results(self) -> Path:
        """Where the federates of the only execution wrote."""
        return self.directory / self.out / "s" / "e"


@pytest.fixture
def run() -> Iterator[RangeRun]:
    yield from living(RangeRun(Path(tempfile.mkdtemp(prefix="rg-"))))
