"""Test sequence files as plain tables, for who makes one of another."""

import json
import tomllib
from pathlib import Path

from ..errors import USAGE, BenchError, cannot
from ..outside import read_text

_MADE = "# Made by starling-bench"


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


def those(tables: dict, key: str) -> list[dict]:
    """The tables of a list; none where something else stands, which is told when it is read."""
    found = tables.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def write(path: Path, tables: dict) -> None:
    """A file of these."""
    write_text(path, "".join(f"{k} = {toml(v)}\n" for k, v in tables.items()))


def write_text(path: Path, text: str) -> None:
    """A file of this text behind a line that says who made it; BenchError where one stands without
    that: it is somebody's own."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not _made(path):
            what, do = "there is a file that no command made", "give another --out, or move it"
            raise BenchError("STL-OUT-002", what, str(path), do, USAGE)
        path.write_text(f"{_MADE}.\n{text}", encoding="utf-8")
    except UnicodeEncodeError as e:
        what, do = f"a name is no text: {e.object[e.start :][:50]!r}", "give it another name"
        raise BenchError("STL-TSF-020", what, str(path), do, USAGE) from None
    except OSError as e:
        raise cannot("write the test sequence file", e, path) from None


def _made(path: Path) -> bool:
    try:
        return read_text(path).startswith(_MADE)
    except ValueError:
        return False  # it is no text


def with_rtis(plan: dict, rtis: Path | None, beside: set[str]) -> None:
    """Adds the RTIs of a file of [[rti]] tables to the sequences of a file's tables in which one of
    `beside` runs."""
    if not rtis:
        return
    plan["include"] = [str(rtis.resolve())]
    named = (rti.get("name") for rti in those(read(rtis), "rti"))
    others = [name for name in named if isinstance(name, str)]
    for s in plan["sequence"]:
        s["rti"] += others if beside & {*s["rti"]} else []


def toml(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
