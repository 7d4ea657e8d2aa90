"""Which of several layouts of the same data to take: by time, by bytes, and by what there is to
write.
"""

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


def recommend(found: dict[str, Evidence | None], several: tuple[float, Ease]) -> list[str]:
    """Which layout, and why. Out is what is not known to be faster than several attributes, then
    what is known to be slower than the fastest, then what is over a tenth longer than the
    shortest; of the rest it is the one that is least to write. None: what a layout costs is not
    known in all its modes. `several` are bytes and ease of several attributes."""
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
        return said
    if not left:
        return [*said, "Recommendation: several attributes. No single one is known to be faster, "
                "and each can be updated, owned and subscribed to alone"]  # fmt: skip
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
    return [
        *said,
        f"Recommendation: one attribute, {chosen}. Several cost {e.saves.text(' %')} more of a "
        f"call and {against:+.0f} % in bytes; its codec has {e.ease.branches} branches in "
        f"{e.ease.lines} lines, that of several attributes {several[1].branches} in "
        f"{several[1].lines}",
    ]
