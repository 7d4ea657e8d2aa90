"""docs/results.md names every column of the tables, and no other; and EC1's configurations."""

import re
from pathlib import Path

import pytest

from starling_bench.flows import updates
from starling_bench.kept import raw
from starling_bench.studies.ec1 import STUDY as EC1
from starling_bench.studies.ec1.configurations import COUNT, configuration
from starling_bench.studies.fomcost import STUDY as FOMCOST
from starling_bench.studies.range import STUDY as RANGE
from starling_bench.times import samples

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r"^##+ ([^\n]*)\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S))


def named(part: str) -> list[str]:
    """The columns of a table of the page, each in its first cell."""
    cells = re.findall(r"^\| (`[^|]*) \|", PARTS[part], flags=re.M)
    return [name for cell in cells for name in re.findall(r"`([^`]*)`", cell)]


@pytest.mark.parametrize(("title", "study"), [("Range", RANGE), ("EC1", EC1),
                                              ("FOM cost", FOMCOST)])  # fmt: skip
def test_every_column_of_results_is_told_once(title, study):
    told = named("In every `results.csv`") + named(f"{title}: `results.csv`")
    assert sorted(told) == sorted(study.columns.names)


@pytest.mark.parametrize(("part", "schema"), [
    ("Range: `samples_testN_NAME.parquet`", samples._schema),
    ("EC1: `flow_testN_SAMPLE_NAME.parquet`", updates.schema),
    ("FOM cost: `rtt_testN_pair1.parquet`", raw._schema),
])  # fmt: skip
def test_every_column_of_raw_values_is_told_with_its_type(part, schema):
    told = re.findall(r"^\| `(\w+)` \| (\w+) \|", PARTS[part], flags=re.M)
    types = {"float": "float32"}
    assert told == [(f.name, types.get(str(f.type), str(f.type))) for f in schema()]


def test_every_configuration_is_told_with_its_number():
    table = [line for line in PARTS["EC1: configurations"].splitlines() if line.startswith("|")]
    head, _, *lines = [re.findall(r"[^|]+", line) for line in table]
    told = {}
    for line in lines:
        _, entities, rate, *numbers = line
        for payload, both in zip(head[3:], numbers, strict=True):
            best_effort, reliable = map(int, both.split(","))
            of = int(entities), int(rate), int(payload.split()[0])
            told |= {best_effort: (*of, "best_effort"), reliable: (*of, "reliable")}
    found = map(configuration, range(COUNT))
    assert told == {c.number: (c.entities, c.rate, c.payload, c.transport) for c in found}
