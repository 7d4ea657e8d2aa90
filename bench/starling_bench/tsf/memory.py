"""What federates need of a host's memory, compared before any of them is started: a host that
begins to swap, or ends one of them, measures nothing.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import USAGE, BenchError
from ..study import Study
from .sequences import Sequence, Spec

# By version of control groups: where theirs of memory are, what bounds it, what is used of it, and
# the lines of memory.stat that say what of it the kernel takes back when it is wanted.
_GROUPS = {
    "": (".", ("memory.max", "memory.high"), "memory.current",
         ("active_file", "inactive_file", "slab_reclaimable")),
    "memory": ("memory", ("memory.limit_in_bytes",), "memory.usage_in_bytes",
               ("total_active_file", "total_inactive_file")),
}  # fmt: skip


def of_this_host(root: Path = Path("/")) -> int:
    """Bytes that processes of this one may still have: what others use is not free, and a control
    group, as a container's, may have less than its host."""
    host = _of_lines(root / "proc/meminfo", ("MemTotal:", "MemAvailable:"))
    return min([*(kilobytes * 1024 for kilobytes in host), *_of_groups(root)])


def _of_groups(root: Path) -> Iterator[int]:
    """What each limit of this process's control groups, and of those above them, leaves."""
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        kind = "memory" if "memory" in controllers.split(",") else controllers
        if kind not in _GROUPS:
            continue
        below, bounds, used, cache = _GROUPS[kind]
        top = root / "sys/fs/cgroup" / below
        here = top / path.lstrip("/")
        # In a container the path may be the host's, of which only the container's own is there.
        for group in [d for d in (here, *here.parents) if d.is_relative_to(top)]:
            for bound in bounds:
                with contextlib.suppress(OSError, ValueError):  # not there, or "max"
                    most = int((group / bound).read_text())
                    kept = int((group / used).read_text())
                    kept -= sum(_of_lines(group / "memory.stat", cache))
                    yield max(most - kept, 0)


def _of_lines(path: Path, names: tuple[str, ...]) -> list[int]:
    """The numbers of these lines of a file."""
    lines = dict(line.split()[:2] for line in path.read_text().splitlines())
    return [int(lines[name]) for name in names if name in lines]


def check(
    study: Study, sequence: Sequence, tests: list[Spec], federates: list[str], host: str, has: int,
    free: str = "", conducts: bool = False,
) -> None:  # fmt: skip
    """BenchError if the largest of the tests needs more than there is where these federates run,
    and, if so, who conducts them; `free`, a word behind it, if that is what is left."""
    own = [study.conducting(sequence, test) if conducts else 0 for test in tests]
    needs = [
        mine + sum(study.memory(sequence, test, name) for name in federates)
        for mine, test in zip(own, tests, strict=True)
    ]
    if (most := max(needs, default=0)) > has:
        at = needs.index(most)
        several = "" if len(federates) == 1 else "s"
        where = f"{len(federates)} federate{several}"
        do = "take fewer types, instances, buffers or updates, or smaller buffers"
        if 100 * own[at] > most:
            where += f", {_words(own[at])} of it in {study.manager}, for its raw values"
            do = "take fewer updates, samples or rounds"
        raise BenchError(
            "STL-RUN-014",
            f"a test of sequence '{sequence.name}' needs {_words(most)} of memory in {where}; "
            f"{host} has {_words(has)}{free}",
            tests[at].at, do, USAGE,
        )  # fmt: skip


def _words(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size < 1e12 else f"{size / 1e9:,.0f} GB"
