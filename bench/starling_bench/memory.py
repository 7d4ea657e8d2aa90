"""What federates need of a host's memory, compared before any of them is started: a host that
begins to swap, or ends one of them, measures nothing.
"""

import os

from .errors import USAGE, BenchError
from .plan import Sequence, Spec
from .study import Study


def of_this_host() -> int:
    """Bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check(
    study: Study, sequence: Sequence, tests: list[Spec], federates: list[str], host: str, has: int
) -> None:  # fmt: skip
    """BenchError if the largest of the tests needs more than there is where these federates run."""
    needs = [sum(study.memory(sequence, test, name) for name in federates) for test in tests]
    if (most := max(needs, default=0)) > has:
        raise BenchError(
            "STL-RUN-014",
            f"a test of sequence '{sequence.name}' needs {_words(most)} of memory in "
            f"{len(federates)} federates; {host} has {_words(has)}",
            tests[needs.index(most)].at,
            "take fewer types, instances, buffers or updates, or smaller buffers",
            USAGE,
        )


def _words(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size < 1e12 else f"{size / 1e9:,.0f} GB"
