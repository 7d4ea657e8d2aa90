"""Which of several layouts of the same data to take: by time, by bytes, and by what there is to
write.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from ..statistics.estimates import Estimate, more
from .source import Ease

# A layout within so much of the shortest counts as no longer.
BYTES_ALIKE = 1.10


@dataclass(frozen=True)
class Evidence:
    """Of one layout: what several attributes cost more (percent), bytes of an update, ease."""

    saves: Estimate
    bytes: float
    ease: Ease


@dataclass(frozen=True)
class Choice:
    """Which layout, in sentences; "" where nothing is known, and SEVERAL are one, too. `worse`:
    which of the others are known to be slower than it, or over a tenth longer."""

    said: list[str]
    layout: str = ""
    worse: frozenset[str] = frozenset()


SEVERAL = "several attributes"


def mean_bytes(tests: list[dict], modes: Collection[str]) -> dict[str, float]:
    """Of an update, by layout: of those of which each mode was tested."""
    sizes: dict[str, dict[str, int]] = {}
    for s in tests:
        sizes.setdefault(s["layout"], {})[s["mode"]] = s["length"]
    return {x: sum(of.values()) / len(of) for x, of in sizes.items() if of.keys() >= {*modes}}


def recommend(found: dict[str, Evidence | None], several: tuple[float, Ease], of: str) -> Choice:
    """Which layout, and why. Out is what is not known to be faster than several attributes, then
    what is known to be slower than the fastest, then what is over a tenth longer than the
    shortest; of the rest it is the one that is least to write. None: what a layout costs is not
    known in all its modes. `several` are bytes and ease of several attributes; `of`: where bytes
    are counted."""
    unknown = ", ".join(layout for layout, e in found.items() if e is None)
    why = "not judged, as not each mode of it and of several attributes was left alone by others"
    said, left = [f"{unknown}: {why}"] if unknown else [], {}
    known = {layout: e for layout, e in found.items() if e is not None}
    for layout, e in known.items():
        if e.saves.known and e.saves.value > 0:
            left[layout] = e
        elif e.saves.known:
            said.append(f"several attributes are faster than {layout}: {e.saves.text(' %')}")
        else:
            text = e.saves.text(" %")
            said.append(f"{layout}: no difference found to several attributes: {text}")
    if not known:
        return Choice(said)
    if not left:
        said.append("Recommendation: several attributes. No single one is known to be faster, and "
                    "each can be updated, owned and subscribed to alone")  # fmt: skip
        slower = {layout for layout, e in known.items() if e.saves.known}
        return Choice(said, SEVERAL, frozenset(slower))
    best = max(left, key=lambda name: left[name].saves.value)
    for name in [n for n, e in left.items() if e.saves.high < left[best].saves.low]:
        said.append(f"{name} is slower than {best}: it saves {left.pop(name).saves.text(' %')}")
    least = min(e.bytes for e in left.values())
    for name in [n for n, e in left.items() if e.bytes > BYTES_ALIKE * least]:
        over = 100 * (left.pop(name).bytes / least - 1)
        said.append(f"{name} has {over:.0f} % more bytes {of} than the shortest")
    chosen = min(left, key=lambda name: left[name].ease.order)
    e = left[chosen]
    for name in (name for name in left if name != chosen):
        said.append(f"{name} is as good, but more to write: {left[name].ease.words()}")
    against = 100 * (several[0] / e.bytes - 1) if e.bytes else 0
    said.append(
        f"Recommendation: one attribute, {chosen}. Several cost {e.saves.text(' %')} more of a "
        f"call and {against:+.0f} % in bytes {of}; its codec has {e.ease.words()}, that of "
        f"several attributes {several[1].words()}"
    )
    worse = {name for name, other in known.items() if other.saves.high < e.saves.low}
    worse |= {name for name, other in known.items() if other.bytes > BYTES_ALIKE * e.bytes}
    return Choice(said, chosen, frozenset({SEVERAL, *worse} - {chosen}))


def several_beside_one(
    calls: dict[str, list[float]], several: str, what: str, published: str
) -> list[str]:
    """What they cost more of a call than each layout that has as much in one."""
    found = {x: more([calls[several]], [of]) for x, of in calls.items()
             if x != several and several in calls}  # fmt: skip
    words = {
        True: "{what} cost {much} more of a call than one, {x} (published: {published})",
        False: "{what} and one, {x}: no difference of a call: {much} (published: {published})",
    }
    said = []
    for x, one in found.items():
        if one:  # counts that repeat have no interval, and differ by what they differ
            of = words[one.known or one.low is None]
            said.append(of.format(what=what, much=one.text(" %"), x=x, published=published))
    return said


def overall(ways: list[tuple[str, Choice]]) -> list[str]:
    """Of several ways that were judged by the same figure, for each such figure: which layout how
    many of them recommend, and in how many it is known to be worse than the one that is taken
    there. The first is that for all; of several with as many it is open."""
    said = []
    for figure in dict.fromkeys(figure for figure, _ in ways):
        every = [choice for by, choice in ways if by == figure]
        of = [choice for choice in every if choice.layout]
        if len(of) < 2:
            continue
        counts = Counter(choice.layout for choice in of).most_common()
        first = [layout for layout, count in counts if count == counts[0][1]]
        each = ", ".join(
            f"{layout} in {count:,} (known to be worse in {sum(layout in c.worse for c in of):,})"
            for layout, count in counts
        )
        judged = f" of {len(every):,}" * (len(of) < len(every))
        taken = " or ".join(first)
        said.append(f"Recommendation over {len(of):,}{judged} ways, by {figure}: {taken}. "
                    f"Recommended are {each}")  # fmt: skip
    return said
