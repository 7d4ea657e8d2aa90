"""Which of several layouts of the same data to take: by time, by bytes, and by what there is to
write.
"""

from collections import Counter
from dataclasses import dataclass

from ..statistics.estimates import Estimate
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
    """Which layout, in sentences; "" where nothing is known, and SEVERAL are one, too. `against`:
    which are known to be worse."""

    said: list[str]
    layout: str = ""
    against: frozenset[str] = frozenset()


SEVERAL = "several attributes"


def recommend(found: dict[str, Evidence | None], several: tuple[float, Ease]) -> Choice:
    """Which layout, and why. Out is what is not known to be faster than several attributes, then
    what is known to be slower than the fastest, then what is over a tenth longer than the
    shortest; of the rest it is the one that is least to write. None: what a layout costs is not
    known in all its modes. `several` are bytes and ease of several attributes."""
    unknown = ", ".join(layout for layout, e in found.items() if e is None)
    why = "not judged, as not each mode of it and of several attributes was left alone by others"
    said, left, slow = [f"{unknown}: {why}"] if unknown else [], {}, []
    known = {layout: e for layout, e in found.items() if e is not None}
    for layout, e in known.items():
        if e.saves.known and e.saves.value > 0:
            left[layout] = e
        elif e.saves.known:
            slow.append(layout)
            said.append(f"several attributes are faster than {layout}: {e.saves.text(' %')}")
        else:
            text = e.saves.text(" %")
            said.append(f"{layout}: no difference found to several attributes: {text}")
    if not known:
        return Choice(said)
    if not left:
        said.append("Recommendation: several attributes. No single one is known to be faster, and "
                    "each can be updated, owned and subscribed to alone")  # fmt: skip
        return Choice(said, SEVERAL, frozenset(slow))
    every = {*left}
    best = max(left, key=lambda name: left[name].saves.value)
    for name in [n for n, e in left.items() if e.saves.high < left[best].saves.low]:
        said.append(f"{name} is slower than {best}: it saves {left.pop(name).saves.text(' %')}")
    least = min(e.bytes for e in left.values())
    for name in [n for n, e in left.items() if e.bytes > BYTES_ALIKE * least]:
        over = 100 * (left.pop(name).bytes / least - 1)
        said.append(f"{name} sends {over:.0f} % more bytes than the shortest")
    chosen = min(left, key=lambda name: left[name].ease)
    e = left[chosen]
    for name in (name for name in left if name != chosen):
        more = left[name].ease
        said.append(
            f"{name} is as good, but more to write: {more.branches} branches, {more.lines} lines"
        )
    against = 100 * (several[0] / e.bytes - 1) if e.bytes else 0
    said.append(
        f"Recommendation: one attribute, {chosen}. Several cost {e.saves.text(' %')} more of a "
        f"call and {against:+.0f} % in bytes; its codec has {e.ease.branches} branches in "
        f"{e.ease.lines} lines, that of several attributes {several[1].branches} in "
        f"{several[1].lines}"
    )
    return Choice(said, chosen, frozenset({SEVERAL, *slow, *(every - {*left})}))


def overall(ways: list[tuple[str, Choice]]) -> list[str]:
    """Of several ways, each with the unit that it was judged by: which layout for how many, and
    which for all; of those that in no way are known to be worse that of most ways."""
    judged = [(unit, choice) for unit, choice in ways if choice.layout]
    if len(judged) < 2:
        return []
    counts = Counter(choice.layout for _, choice in judged)
    said = []
    for unit in dict.fromkeys(unit for unit, _ in judged):
        of = Counter(choice.layout for by, choice in judged if by == unit)
        each = ", ".join(f"{layout} for {n}" for layout, n in of.most_common())
        said.append(f"of {_ways(of.total())} judged by {unit} {each}")
    against = frozenset[str]().union(*(choice.against for _, choice in judged))
    left = [layout for layout, _ in counts.most_common() if layout not in against]
    for_all = (
        f"{left[0]}: in none it is known to be worse than another, and {_ways(counts[left[0]])} "
        f"recommend{'s' * (counts[left[0]] == 1)} it"
        if left
        else "none: each is worse than another in some way; take that of the way that you use"
    )
    return [f"Recommended: {'; '.join(said)}", f"Recommendation over all ways: {for_all}"]


def _ways(count: int) -> str:
    return f"{count:,} way{'s' * (count != 1)}"
