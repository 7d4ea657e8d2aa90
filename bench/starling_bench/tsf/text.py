"""A test sequence file as text: its tables as they stand there, and the line of each value, for
messages.
"""

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..errors import USAGE, BenchError
from ..fields import Loc
from ..outside import open_file

_OPENS = {"[": "]", "{": "}"}
# Tables are no deeper: of what stands below no lines are known.
_DEEP = 32


class TsfText:
    """What a file says, or said (`kept`); BenchError if it can't be read, or is no TOML."""

    def __init__(self, path: Path, kept: str | None = None) -> None:
        self.path = path
        self.text = _read(path) if kept is None else kept
        self.tables = self._parsed()
        self._lines = _lines(self.text)
        if loc := _with_nul(self.tables):
            what = "a text has a character NUL in it, which no program takes"
            raise self.fault(loc, what, "remove it")

    def place(self, loc: Loc) -> str:
        """The file, and the line of a value, or of what it stands in."""
        known = (loc[:n] for n in range(min(len(loc), 2 * _DEEP), 0, -1))
        line = next((self._lines[at] for at in known if at in self._lines), None)
        return f"{self.path}:{line}" if line else str(self.path)

    def fault(self, loc: Loc, what: str, do: str, code: str = "STL-TSF-005") -> BenchError:
        """What is wrong with a value."""
        return BenchError(code, what, self.place(loc), do, USAGE)

    def _parsed(self) -> dict:
        text = self.text
        try:
            return tomllib.loads(text)
        except RecursionError:
            what, do = "brackets within brackets, more than a test needs", "close them"
            raise self._no_toml(what, _line_at(text, _deepest(text)), do) from None
        except tomllib.TOMLDecodeError as e:
            what, _, at = str(e).rpartition(" (at ")
            line = re.match(r"line (\d+)", at)
            number = int(line[1]) if line else len(text.splitlines())
            do = ""
            row = text.split("\n")[number - 1] if line else ""
            if what == "Cannot overwrite a value":
                name = re.match(r"\s*\[*\s*([\w.\"'-]+)", row)
                what, do = f"'{name[1] if name else row.strip()}' is there twice", "remove one"
            raise self._no_toml(f"not valid TOML: {what}", number, do) from None
        except ValueError:  # Python reads no number of more digits
            longest = max(re.finditer(r"\w+", text), key=lambda word: len(word[0]))
            what = f"a number of {len(longest[0]):,} digits"
            raise self._no_toml(what, _line_at(text, longest.start()), "take less") from None

    def _no_toml(self, what: str, line: int, do: str) -> BenchError:
        return BenchError("STL-TSF-002", what, f"{self.path}:{line}", do, USAGE)


def _read(path: Path) -> str:
    try:
        with open_file(path) as file:
            data = file.read()
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            what, do = "the test sequence file is UTF-16", "save it as UTF-8"
            raise BenchError("STL-TSF-001", what, f"{path}:1", do, USAGE)
        return data.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        what, do = "the test sequence file is not UTF-8", "save it as UTF-8"
        raise BenchError("STL-TSF-001", what, f"{path}:{line}", do, USAGE) from None
    except (OSError, ValueError) as e:  # a name may be none
        what = f"can't read the test sequence file: {getattr(e, 'strerror', None) or e}"
        raise BenchError("STL-TSF-001", what, str(path), exit_code=USAGE) from None


def _line_at(text: str, at: int) -> int:
    return 1 + text.count("\n", 0, at)


def _with_nul(data: dict) -> Loc:
    """Where a text has one; nothing if none has."""
    # Each with its depth, and where that begins.
    left: list[tuple[Loc, int, object]] = [((), 0, data)]
    while left:
        loc, depth, value = left.pop()
        of: Iterable[tuple[str | int, object]] = ()
        if isinstance(value, dict):
            of, value = value.items(), "".join(value)
        elif isinstance(value, list):
            of = enumerate(value)
        left += ((loc if depth >= _DEEP else (*loc, key), depth + 1, one) for key, one in of)
        if isinstance(value, str) and "\0" in value:
            return loc or ("",)
    return ()


def _deepest(text: str) -> int:
    """Where most brackets are open."""
    depth, most, at = 0, 0, 0
    for found in re.finditer(r"[\[{\]}]", text):
        depth += 1 if found[0] in _OPENS else -1
        if depth > most:
            most, at = depth, found.start()
    return at


def _lines(text: str) -> dict[Loc, int]:
    """Line numbers by location: tables, keys, and the items of lists. The text is valid TOML."""
    found: dict[Loc, int] = {}
    current: Loc = ()
    counts: Counter = Counter()
    rows = text.split("\n")
    begins = list(itertools.accumulate((len(row) + 1 for row in rows), initial=0))
    number = 0
    while number < len(rows):
        line = rows[number]
        number += 1
        if header := re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?$", line):
            array = line.lstrip().startswith("[[")
            names = [n.strip().strip("\"'") for n in header[1].split(".", _DEEP)[:_DEEP]]
            current = ()
            for depth, name in enumerate(names):
                current += (name,)
                last = depth == len(names) - 1
                found.setdefault(current, number)
                if array and last:
                    current += (counts[current],)
                    counts[current[:-1]] += 1
                elif counts[current]:
                    current += (counts[current] - 1,)
                found.setdefault(current, number)
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=\s*", line):
            names = key[1].split(".", _DEEP)[:_DEEP]
            at = current + tuple(p.strip("\"'") for p in names)
            found.setdefault(at, number)
            number += _items(text, begins[number - 1] + key.end(), number, at, found)
    return found


def _items(text: str, i: int, row: int, at: Loc, found: dict[Loc, int]) -> int:
    """Notes the lines of the items of a value that begins there, in a row; how many further lines
    the value takes."""
    closing: list[str] = []
    item, line, fresh = 0, row, True
    while i < len(text):
        c = text[i]
        if c == "\n":
            line += 1
            if not closing:
                break
        elif c == "#":
            i = text.find("\n", i)
            if i < 0:
                break
            continue
        elif c in "\"'":
            mark = c * 3 if text.startswith(c * 3, i) else c
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            end = i + len(mark)
            while end < len(text) and not text.startswith(mark, end):
                end += 2 if c == '"' and text[end] == "\\" else 1
            line += text.count("\n", i, end)
            i = end + len(mark)
            continue
        elif c in _OPENS:
            if fresh and len(closing) == 1:
                found.setdefault((*at, item), line)
                fresh = False
            closing.append(_OPENS[c])
        elif closing and c == closing[-1]:
            closing.pop()
        elif c == "," and len(closing) == 1:
            item, fresh = item + 1, True
        elif not c.isspace() and fresh and len(closing) == 1:
            found.setdefault((*at, item), line)
            fresh = False
        i += 1
    return line - row - (i < len(text) and text[i] == "\n")
