"""What a command says: output of which nothing ends a run, and errors as one message."""

import contextlib
import errno
import functools
import io
import os
import resource
import sys
from collections.abc import Callable, Iterator
from typing import IO, ParamSpec, cast

import typer
from rich.console import Console

from ..errors import FULL, BenchError, cannot
from ..outside import line_of

# Names and versions are others': nothing in a text is markup.
_AS_IT_IS = {"markup": False, "emoji": False}
_FILE_WIDTH = 4000
_LACKING = "STL-OUT-013"
_WHY_MAX = 500  # characters of what a library says

P = ParamSpec("P")


def guarded(work: Callable[P, int | None]) -> Callable[P, None]:
    """A command that ends with an exit code, if it has one; an error ends as one message."""

    @functools.wraps(work)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = work(*args, **kwargs)
        except BenchError as e:
            code = complain(e)
        except OSError as e:
            code = complain(_of_output(e) or cannot("go on", e))
        except MemoryError:
            code = complain(BenchError(_LACKING, "there is not memory enough", "", _more_memory()))
        except ImportError as e:
            what = f"a library can't be loaded: {line_of(str(e))[:_WHY_MAX]}"
            do = f"install the libraries anew, or {_more_memory()}"
            code = complain(BenchError(_LACKING, what, do=do))
        if code is not None:
            raise typer.Exit(code)

    return command


def _of_output(error: OSError) -> BenchError | None:
    """That there is no room for what a command says; None: it was something else."""
    try:
        (sys.stdout or io.StringIO()).flush()  # what could not be written waits there
    except OSError as again:
        if (again.errno, error.filename) == (error.errno, None):
            what = f"can't say what was asked for: {error.strerror}"
            return BenchError("STL-OUT-001", what, "standard output", "make room, or send it on")
    return None


def _more_memory() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return "end other programs, or measure less at a time"
    return f"allow more than {limit >> 20:,} MB of address space (`ulimit -v`); 2 GB do"


def complain(error: BenchError) -> int:
    with contextlib.suppress(OSError):
        typer.echo(str(error), err=True)
    return error.exit_code


class _Output:
    """Standard output, of which nothing ends a run: not that whoever reads it has gone or has no
    room, nor a name that it has no letters for."""

    def __init__(self) -> None:
        self._to = sys.stdout or io.StringIO()  # of who was started without one

    def write(self, text: str) -> int:
        encoding = self._to.encoding or "utf-8"
        with self._if_there():
            self._to.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        with self._if_there():
            self._to.flush()

    @contextlib.contextmanager
    def _if_there(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            if e.errno not in (errno.EPIPE, errno.EIO, *FULL):
                raise
            why = e.strerror
            # What is left to be written, at the latest as this process ends, goes nowhere.
            with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), self._to.fileno())
            with contextlib.suppress(OSError):
                os.write(2, f"note: nothing more can be shown: {why}\n".encode())

    def __getattr__(self, name: str) -> object:
        return getattr(self._to, name)


def console_for() -> Console:
    """For the terminal, or for a log file."""
    output = cast(IO[str], _Output())
    console = Console(file=output, **_AS_IT_IS)
    # A log file has room: its tables are as wide as their columns need.
    return console if console.is_terminal else Console(file=output, width=_FILE_WIDTH, **_AS_IT_IS)


def paper() -> Console:
    """For a file: what is said is in its `file`, a StringIO."""
    return Console(file=io.StringIO(), width=_FILE_WIDTH, **_AS_IT_IS)
