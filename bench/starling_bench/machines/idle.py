"""What other programs do with the CPUs: waiting until they are idle, and judging samples by it.

The load average would not do: it also counts what this run does, and for minutes what ended before.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Others' share of the CPUs that are used from which on figures are theirs as much as the RTI's.
BUSY = 0.1
# They are idle when that many windows in a row are.
WINDOW_S, WINDOWS = 0.5, 4


@dataclass(frozen=True)
class Reading:
    """CPU time since the machine started, in ticks."""

    all: int  # what the CPUs could have given
    used: int  # what they gave to anybody, or the hypervisor took
    own: int  # what this process and those below it got, and those of them that ended
    each: dict[int, tuple[int, int]] = field(default_factory=dict)  # the first two of each CPU

    def others_since(self, earlier: "Reading", cpus: frozenset[int] = frozenset()) -> float | None:
        """Others' share of these CPUs (none: of all) between two readings; None: too short a time
        to tell. What this run used it is taken to have used there."""
        passed, used, count = self.all - earlier.all, self.used - earlier.used, os.cpu_count()
        if known := [n for n in cpus if n in self.each and n in earlier.each]:
            passed = sum(self.each[n][0] - earlier.each[n][0] for n in known)
            used = sum(self.each[n][1] - earlier.each[n][1] for n in known)
            count = len(known)
        if passed < count * TICKS_PER_S // 10:
            return None
        others = used - (self.own - earlier.own)
        # The counters tick: a share can come out slightly negative.
        return min(max(others / passed, 0.0), 1.0)


def read() -> Reading:
    """The counters now."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if not name.startswith("cpu"):
            break
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, counts[:8])
        used = user + nice + system + irq + softirq + steal
        found[name[3:]] = used + idle + iowait, used
    own = sum(map(_ticks, _family(os.getpid(), _strangers)))
    return Reading(*found.pop(""), own, {int(number): of for number, of in found.items()})


_strangers: set[int] = set()


def disown(pids: Iterable[int]) -> None:
    """Children of this process that could not be ended: what they use is others' from now on."""
    _strangers.update(pids)


def _family(pid: int, without: Collection[int] = ()) -> list[int]:
    """A process and all below it. Those that a federate leaves behind are below the manager."""
    family = [pid]
    for member in family:
        try:
            tasks = list(Path(f"/proc/{member}/task").iterdir())
        except OSError:
            continue  # It has just ended.
        for task in tasks:
            with contextlib.suppress(OSError):
                below = map(int, (task / "children").read_text().split())
                family += (one for one in below if one not in without)
    return family


def _ticks(pid: int) -> int:
    """CPU time of a process, its threads, and its children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # It has just ended: what it used counts at its parent from now on.
    return sum(map(int, fields[11:15]))


class Watch:
    """What others use, from one call of `others` to the next."""

    def __init__(
        self, reader: Callable[[], Reading] | None = None, cpus: Iterable[int] = ()
    ) -> None:
        self._read, self._cpus = reader or read, frozenset(cpus)
        self._last = self._read()

    def others(self) -> float | None:
        """Their share of the CPUs since the last call that gave one; None: too early to tell."""
        now = self._read()
        share = now.others_since(self._last, self._cpus)
        if share is not None:
            self._last = now
        return share


async def wait(
    limit_s: float,
    tell: Callable[[str], None],
    reader: Callable[[], Reading] | None = None,
    pause: Callable[[float], object] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    cpus: Iterable[int] = (),
) -> bool:
    """Until others leave the CPUs alone, at most for `limit_s`; says so when that takes a while.

    Returns whether they did. With 0 it does not wait and returns True.
    """
    end = clock() + limit_s
    watch, quiet, told = Watch(reader, cpus), 0, False
    while limit_s > 0 and quiet < WINDOWS:
        await pause(WINDOW_S)
        share = watch.others()
        # Where the system does not count its time, it can't be told: the limit holds all the same.
        if share is not None:
            quiet = quiet + 1 if share < BUSY else 0
            if quiet == 0 and not told:
                tell(
                    f"other programs use {share:.0%} of the CPUs: "
                    f"waiting until they are idle, at most {limit_s:.0f} s"
                )
                told = True
        if quiet < WINDOWS and clock() >= end:
            return False
    return True


def busy(row: dict) -> bool:
    """Other programs had a part of a sample, as far as that is known."""
    return (row.get("others_cpu") or 0) >= BUSY


def around(shares: list[float | None]) -> list[bool]:
    """Of samples in the order of measurement: which can't tell themselves what others did, but of
    the two beside it that can one was disturbed."""

    def last_known(of: Iterable[float | None]) -> Iterator[bool]:
        busy = False
        for share in of:
            busy = busy if share is None else share >= BUSY
            yield busy

    before, behind = list(last_known(shares)), list(last_known(reversed(shares)))[::-1]
    return [
        share is None and (one or other)
        for share, one, other in zip(shares, before, behind, strict=True)
    ]


def note(shares: list[float | None]) -> list[str]:
    """What to tell readers of figures whose samples others accompanied with these shares."""
    known = [share for share in shares if share is not None]
    busy = [share for share in known if share >= BUSY]
    notes = []
    if busy:
        notes.append(
            f"Other programs were busy during {len(busy)} of {len(known)} samples (up to "
            f"{max(busy):.0%} of the CPUs, column others_cpu of results.csv): these samples say "
            "little about the RTI."
        )
    if unknown := len(shares) - len(known):
        notes.append(
            f"What other programs did during {unknown} of {len(shares)} samples is not known: they "
            "were over too soon to tell, or are of other hosts."
        )
    return notes


@dataclass(frozen=True)
class Fitness:
    """Whether a machine was fit to measure on, and that in words."""

    fit: bool
    said: str


def fitness(tests: Iterable[list[float | None]]) -> Fitness:
    """Of samples with others' shares, by test: a machine was fit where no test was disturbed in
    half of its samples or more, and half of the tests, or more, are known to have been left alone,
    each in half of its samples or more; what isn't known is not taken for quiet."""
    every = [shares for shares in tests if shares]
    if not every:
        return Fitness(True, "")
    quiet = [sum(share is not None and share < BUSY for share in shares) for shares in every]
    alone = sum(2 * n >= len(shares) for n, shares in zip(quiet, every, strict=True))
    known = [share for shares in every for share in shares if share is not None]
    busy, samples = len(known) - sum(quiet), sum(map(len, every))
    disturbed = sum(
        2 * sum(share is not None and share >= BUSY for share in shares) >= len(shares)
        for shares in every
    )
    counts = (
        f"others took less than {BUSY:.0%} of the CPUs in {sum(quiet):,} of {samples:,} samples"
    )
    if busy:
        counts += f", up to {max(known):.0%} in {busy:,}"
    if unknown := samples - len(known):
        counts += f"; of {unknown:,} it is not known"
    if disturbed and 2 * alone >= len(every):
        what = f"{disturbed:,} of {len(every):,} tests were disturbed in half of their samples"
        return Fitness(
            False,
            f"The machine was not fit for all: {what} or more: {counts}; end other programs and "
            "run again.",
        )
    if 2 * alone >= len(every):
        return Fitness(True, f"The machine was fit: {counts}.")
    left = f"{alone:,} of {len(every):,} tests are known to have been left alone: {counts}"
    if busy:
        said = f"The machine was not fit: {left}; end other programs and run again."
    else:
        why = "they were over too soon to tell, or are of other hosts"
        said = f"Whether the machine was fit is not known: {left}, as {why}."
    return Fitness(False, said)
