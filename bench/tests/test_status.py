"""The page of a study is what its lines and the tests' results say."""

import re
import tomllib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1]
PAGES = {"status.toml": "rtibm.md", "status-fomcost.toml": "fomcost.md",
         "status-range.toml": "range.md", "status-ec1.toml": "ec1.md"}  # fmt: skip
each = pytest.mark.parametrize("lines, page", PAGES.items())


def lines_of(name: str) -> list[dict]:
    return tomllib.loads((BENCH / name).read_text())["line"]


@each
def test_every_test_that_is_named_exists(lines, page):
    text = "".join(path.read_text() for path in (BENCH / "tests").glob("test_*.py"))
    there = set(re.findall(r"^def (test_\w+)", text, flags=re.M))
    assert {name for line in lines_of(lines) for name in line["tests"]} - there == set()


@each
def test_the_document_has_every_line(lines, page):
    text = (BENCH.parent / "docs" / page).read_text()
    said = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0][2:] for line in said] == [s["what"] for s in lines_of(lines)]
    assert "| FAILS |" not in text and "| not run |" not in text
