"""Instructions of functions, counted by callgrind while a federate runs.

A federate whose `count` names functions runs under it, and nothing but these is counted, with what
they call. It says when counting begins anew and when it is saved, with a text (client requests
CALLGRIND_ZERO_STATS and CALLGRIND_DUMP_STATS_AT).
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import USAGE, BenchError

_FILE = "callgrind.out"
_TRIGGER = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.M)
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.M)


def command(functions: list[str], where: str) -> list[str]:
    """What stands before a program that is to be counted; nothing if none is named."""
    if not functions:
        return []
    if not (found := shutil.which("valgrind")):
        raise BenchError(
            "STL-RUN-013", "there is no program 'valgrind', which counts instructions", where,
            "install valgrind, or remove the field 'count'", USAGE,
        )  # fmt: skip
    toggles = [f"--toggle-collect={name}" for name in functions]
    return [found, "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={_FILE}",
            *toggles]  # fmt: skip


def of_sample(directory: Path, test: int, sample: int, wanted: str = "") -> dict[str, int]:
    """What was counted of a sample, by the first word of "WHAT TEST SAMPLE", as its counts were
    saved; BenchError if what is `wanted` is not there."""
    found = {}
    for said, count in saved(directory):
        what, *numbers = said.split()
        if numbers == [str(test), str(sample)]:
            found[what] = count
    if wanted and wanted not in found:
        what = f"callgrind counted nothing of sample {sample} of test {test}"
        raise BenchError("STL-RUN-010", what, str(directory), "read the sender's log there")
    return found


def each(directory: Path, row: dict, main: str) -> dict[str, float]:
    """WHAT_instructions of one, of a sample whose row says how many there were: of `main` as many
    as were sent, of others as many as were counted; BenchError if there are none of `main`."""
    wanted = main if row["counted"] else ""
    found = of_sample(directory, row["test"], row["sample"], wanted)
    return {f"{what}_instructions": count / row["sent" if what == main else "counted"]
            for what, count in found.items()}  # fmt: skip


def saved(directory: Path) -> Iterator[tuple[str, int]]:
    """Each text with which a count was saved since this was last asked, and the count."""
    for path in sorted(directory.glob(f"{_FILE}.*")):
        content = path.read_text(errors="replace")
        trigger, total = _TRIGGER.search(content), _TOTAL.search(content)
        if trigger and total:
            yield trigger[1], int(total[1])
            path.unlink()
