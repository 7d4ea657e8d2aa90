"""Errors a user can mend, and the exit codes of all benchmark programs."""

import errno
import itertools
from collections.abc import Iterable
from pathlib import Path

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
FULL = (errno.ENOSPC, errno.EDQUOT)
_MEND = dict.fromkeys(FULL, "make room there, or give another --out") | dict.fromkeys(
    (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR),
    "give another --out, or work on a copy where you may write",
)


def cannot(doing: str, error: OSError, path: object = "") -> "BenchError":
    """An error of a file or process call, as a message."""
    where = str(error.filename or path or "")
    return BenchError(
        "STL-OUT-001",
        f"can't {doing}: {error.strerror or error}",
        where,
        advice(error) or _MEND.get(error.errno or 0, ""),
    )


def write_file(path: Path, text: str) -> None:
    """A file of this text; BenchError where there can be none."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise cannot("write", e, path) from None


def advice(error: OSError) -> str:
    """What to do where the system ran out of open files; "": it did not."""
    if error.errno == errno.EMFILE:
        return "allow more open files: `ulimit -n 1024`"
    return "end what holds so many files open" if error.errno == errno.ENFILE else ""


class BenchError(Exception):
    """One clear message: code, what, where, what to do; and the exit code it ends with."""

    def __init__(
        self, code: str, what: str, where: str = "", do: str = "", exit_code: int = FAILED
    ) -> None:
        super().__init__(what)
        self.code, self.what, self.where, self.do = code, what, where, do
        self.exit_code = exit_code
        self.also: list[BenchError] = []  # what else is to be mended, and is told behind it

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.what}"]
        if self.where:
            lines.append(f"  at {self.where}")
        if self.do:
            lines.append(f"  do: {self.do}")
        return "\n".join([*lines, *dict.fromkeys(map(str, self.also))])


# More are not told at once.
_ALSO_MAX = 20


def together(found: Iterable[BenchError]) -> BenchError | None:
    """Several as one; None: there are none."""
    every = list(itertools.islice(found, _ALSO_MAX))
    if not every:
        return None
    first, *others = every
    first.also = [one for one in others if str(one) != str(first)]
    return first
