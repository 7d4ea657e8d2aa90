"""docs/rtibm.md is what status.toml and the tests' results say."""

import re
import tomllib
from pathlib import Path

BENCH = Path(__file__).parents[1]
LINES = tomllib.loads((BENCH / "status.toml").read_text())["line"]


def test_every_test_that_is_named_exists():
    text = "".join(path.read_text() for path in (BENCH / "tests").glob("test_*.py"))
    there = set(re.findall(r"^def (test_\w+)", text, flags=re.M))
    assert {name for line in LINES for name in line["tests"]} - there == set()


def test_the_document_has_every_line():
    text = (BENCH.parent / "docs" / "rtibm.md").read_text()
    said = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0][2:] for line in said] == [line["what"] for line in LINES]
    assert "| FAILS |" not in text and "| not run |" not in text
