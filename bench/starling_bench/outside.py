"""What others wrote: lines, texts and files, which may be anything."""

import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import BinaryIO, TextIO

_INTEGER_DIGITS = 20  # of 64 bits, with a sign


def _figure(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no finite number")
    return value


def _integer(text: str) -> int:
    if len(text) > _INTEGER_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def read_json(text: str | bytes) -> object:
    """JSON as its standard has it, without the numbers that Python adds or that have no bound;
    ValueError if it is none."""
    try:
        return json.loads(
            text, parse_constant=_figure, parse_float=_figure, parse_int=_integer
        )  # fmt: skip
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_json(value: object, **more: object) -> str:
    """JSON as its standard has it: what is no finite number is null."""
    return json.dumps(_told(value), allow_nan=False, **more)


def _told(value: object) -> object:
    if isinstance(value, dict):
        return {key: _told(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_told(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def line_of(value: object) -> str:
    """A text as one line that any terminal and file takes; ValueError if it is no text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is no text")
    return "".join(c if c.isprintable() else " " for c in value)


def open_file(path: Path) -> BinaryIO:
    """A file to be read; OSError if it is none: neither a device nor a pipe is waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def fresh_file(path: Path, newline: str | None = None) -> TextIO:
    """A new file for a text, in the place of what was there: if that was a link, it is not what the
    link leads to that is written."""
    path.unlink(missing_ok=True)
    return path.open("x", encoding="utf-8", errors="backslashreplace", newline=newline)


def read_text(path: Path) -> str:
    """A file's text; OSError or ValueError if it has none."""
    with open_file(path) as file:
        return file.read().decode()
