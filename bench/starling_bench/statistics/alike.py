"""Whether the clock moved as a ratio or a count did: only then that has changed.

A ratio to a limit is another where the limit was slower, and fewer instructions may take as long.
"""

from .estimates import Estimate

#: Counts of one thing differ by so much from run to run.
NOISE = 0.05


def way(found: Estimate) -> int:
    """1: more, by its whole interval; -1: less; 0: its interval holds 1, or there is none."""
    if found.low is None:
        return 0
    return (found.low > 1) - (found.high < 1)


def change(moved: int, clock: Estimate | None) -> str:
    """What to call what became better (1) or worse (-1), where it is so many times as fast by the
    clock; None: that can't be told."""
    if moved == 0:
        return ""
    word = "better" if moved > 0 else "worse"
    return word if clock and way(clock) == moved else f"{word}, not by the clock"


def counted(name: str, now: float, then: float, of: str, clock: Estimate | None) -> str:
    """What an update takes now and took then, and whether that is a change."""
    ratio = now / then
    moved = 0 if abs(ratio - 1) <= NOISE else 1 if ratio < 1 else -1
    said = f"{name}: {now:,.0f} instructions, {then:,.0f} in {of} (x {ratio:.2f})"
    if clock is None or clock.low is None:
        by = "how fast it is beside that is not known"
    else:
        by = f"x {clock.value:.2f} ({clock.low:.2f} to {clock.high:.2f}) as fast by the clock"
    if moved == 0:
        found = "as many"
    else:
        found = change(moved, clock) if clock and way(clock) == moved else "no change"
    return f"{said}; {by}: {found}"
