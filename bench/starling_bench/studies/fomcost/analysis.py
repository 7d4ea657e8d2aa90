"""What the samples say: cost per attribute and per byte, what several attributes cost beside one,
and which layout to take.
"""

from pathlib import Path

from ...captured.capture import by_way, seen_alike
from ...statistics import rates
from ...statistics.estimates import Estimate, Fit, fit, more
from ...values.choice import Choice, Evidence, mean_bytes, overall, recommend, several_beside_one
from ...values.own_class import side_by_side, values
from ...values.source import Ease, ease
from .fields import COMBINED, MODES

ATTRIBUTE, TWELVE = "an attribute of 12 bytes", (1, 12)
_OF_ONE = "of an update of one (published: 7.5 and 6.5 %)"
WIDTH_MAX = 0.15  # half of its interval, in parts of its value: of what is well known


def measured(group: list[dict]) -> str:
    """By which samples tests of a group are compared: times, or instructions that were counted."""
    return "instructions" if all(s["instructions"] for s in group) else "us"


def series(group: list[dict], name: str) -> list[dict]:
    """In order; of the series of parts those that every layout has."""
    order = {mode: n for n, mode in enumerate(MODES)}
    found = [s for s in group if s["series"] == name]
    found.sort(key=lambda s: (s["attributes"], order.get(s["mode"], 0)))
    return [s for s in found if s["attributes"] <= 5] if name == "attributes" else found


def costs(group: list[dict]) -> tuple[list[dict], Fit] | None:
    """The tests, and cost per attribute and per byte, from one of 28 bytes on: not what a layout's
    own class and instances take, nor a further message of an update."""
    key = measured(group)
    size = "bytes_p50" if key == "us" else "bytes"  # a sample's value is the median of its calls
    own = series(group, "own")
    if any(s["messages"] > 1 for s in own):
        return None
    tests = rates.alone(own or series(group, "attributes"), key == "us")
    levels = [] if own else [s["layout"] for s in tests]
    steps = [(s["fields"] - 1, s[size] - 28) for s in tests]
    found = fit(steps, [values(s, key) for s in tests], levels)
    return (tests, found) if found else None


def penalty(group: list[dict], layout: str, modes: list[str]) -> Estimate | None:
    """What the attributes of these modes cost more, in percent, than one of a layout."""
    key = measured(group)
    at = {(s["layout"], s["mode"]): s for s in rates.alone(series(group, "modes"), key == "us")}
    both = [(at.get(("multiple", m)), at.get((layout, m))) for m in modes]
    if not all(one and other for one, other in both):
        return None
    return more(*([values(s, key) for s in side] for side in zip(*both, strict=True)))


def ease_of(layout: str) -> Ease:
    """Of the codec that was measured."""
    codecs = Path(__file__).resolve().parents[3] / "federates" / "fomcost" / "src" / "codec"
    return ease(codecs / f"{layout}.cpp")


def evidence(group: list[dict], wire: list[dict]) -> tuple[dict, tuple[float, Ease], str]:
    """Of each layout an Evidence, or None, and of several attributes; where bytes are counted."""
    tests, captured = series(group, "modes"), [s for s in series(wire, "modes") if s["wire"]]
    mean, seen = (mean_bytes(those, MODES) for those in (tests, captured))
    mean, of = (seen, "on the wire") if seen.keys() >= mean.keys() else (mean, "of values")
    there = {s["layout"] for s in tests}
    saves = {x: penalty(group, x, list(MODES)) for x in COMBINED if x in there}
    found = {x: s and Evidence(s, mean[x], ease_of(x)) for x, s in saves.items()}
    return found, (mean.get("multiple", 0), ease_of("multiple")), of


def sentences(summaries: list[dict]) -> list[str]:
    """What a run says, way by way. Where packets were captured, few updates were sent."""
    out, choices = [], list[tuple[str, Choice]]()
    for (sequence, kind, transport), group in by_way(summaries).items():
        if group[0]["wire"]:
            continue
        unit, said = f" {measured(group)}", []
        if found := costs(group):
            said += found[1].words(("attribute", "byte"), unit, WIDTH_MAX)
            if not series(group, "own"):
                said += found[1].share(TWELVE, ATTRIBUTE, _OF_ONE, WIDTH_MAX)
        of_five = rates.alone(series(group, "attributes"), unit == " us")
        five = {s["layout"]: values(s, unit.strip()) for s in of_five if s["attributes"] == 5}
        said += several_beside_one(five, "multiple", "five attributes", "25 to 30 %")
        choice = recommend(*evidence(group, seen_alike(summaries, group)))
        choices.append(("times" if unit == " us" else "instructions", choice))
        said += choice.said
        said += side_by_side(rates.alone(series(group, "own"), unit == " us"), unit.strip())
        said += rates.left_out(group) if unit == " us" else []
        title = f"{sequence}, {kind}, {transport.replace('_', ' ')}: "
        out += [f"{title}{text}." for text in said]
    return [f"{text}." for text in overall(choices)] + out
