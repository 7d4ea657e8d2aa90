"""Test sequence files as plain tables, for who makes one of another."""

import json
import tomllib
from pathlib import Path

from ..errors import USAGE, BenchError, cannot
from ..outside import read_text


def parsed(text: str) -> dict:
    """A text's tables; ValueError if it is none."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read(path: Path) -> dict:
    """A file's tables; BenchError if it has none."""
    try:
        return parsed(read_text(path))
    except (OSError, ValueError) as e:
        what = f"the file can't be read: {getattr(e, 'strerror', None) or e}"
        raise BenchError("STL-TSF-020", what, str(path), "", USAGE) from None


def write(path: Path, tables: dict) -> None:
    """A file of these."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{k} = {toml(v)}\n" for k, v in tables.items()), encoding="utf-8")
    except OSError as e:
        raise cannot("write the test sequence file", e, path) from None


def with_rtis(plan: dict, rtis: Path | None, beside: set[str]) -> None:
    """Adds the RTIs of a file of [[rti]] tables to the sequences of a file's tables in which one of
    `beside` runs."""
    if not rtis:
        return
    plan["include"] = [str(rtis.resolve())]
    # What is wrong of them is told when the plan is read.
    found = read(rtis).get("rti", [])
    found = [rti for rti in found if isinstance(rti, dict)] if isinstance(found, list) else []
    others = [name for rti in found if isinstance(name := rti.get("name"), str)]
    for s in plan["sequence"]:
        s["rti"] += others if beside & {*s["rti"]} else []


def toml(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
