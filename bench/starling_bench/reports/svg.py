"""Figures as they stand in a report: the same drawing in half the bytes.

What matplotlib writes names each element, repeats its style at each, and gives coordinates to a
millionth of a point.
"""

import re

_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_STYLE = re.compile(r' style="([^"]*)"')
_PATH = re.compile(r'(?<= d=")[^"]*')
_ID = re.compile(r' id="([^"]*)"')
_POINTED_AT = re.compile(r'(?:href="#|url\(#)([^")]*)')
_NAMED = re.compile(r'((?: id="|href="#|url\(#))([^")]*)')
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
# What a figure does without: comments, turns by nothing, the same sheet in each.
_IDLE = re.compile(r"<!--.*?-->|<style.*?</style>", re.DOTALL)
_UNTURNED = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
_EMPTY = re.compile(r"(?<=>)\s+(?=<)")
# A hundredth of a point is more than a screen or printer shows.
_DIGITS = 2


def compact(page: str) -> tuple[str, str]:
    """The page with its drawings made small, and the style sheet that they share."""
    classes: dict[str, str] = {}
    names: dict[str, str] = {}  # of what is pointed at
    small = _SVG.sub(lambda found: _one(found[0], classes, names), page)
    rules = "".join(f".{name}{{{style}}}" for style, name in classes.items())
    return small, f"svg *{{stroke-linejoin:round;stroke-linecap:butt}}{rules}"


def _one(svg: str, classes: dict[str, str], names: dict[str, str]) -> str:
    def shared(found: re.Match) -> str:
        style = re.sub(r"([:;,]) ", r"\1", found[1])
        return f' class="{classes.setdefault(style, f"k{len(classes)}")}"'

    svg = _EMPTY.sub("", _UNTURNED.sub("", _IDLE.sub("", svg))).replace("<defs></defs>", "")
    pointed_at = set(_POINTED_AT.findall(svg))
    kept = lambda name: name in pointed_at or "line-" in name  # noqa: E731
    svg = _ID.sub(lambda found: found[0] if kept(found[1]) else "", svg)

    def short(found: re.Match) -> str:
        if found[2] not in pointed_at:
            return found[0]
        return found[1] + names.setdefault(found[2], f"i{len(names)}")

    svg = _NAMED.sub(short, svg)
    svg = _PATH.sub(lambda found: _path(found[0]), _STYLE.sub(shared, svg))
    # What stands between tags is text, whose numbers stay as they are.
    return _TAG.sub(lambda found: _NUMBER.sub(_rounded, found[0]), svg)


def _path(d: str) -> str:
    """Coordinates are told apart by one character."""
    text = re.sub(r"\s+", " ", _NUMBER.sub(_rounded, d).strip())
    return re.sub(r" ?([A-Za-z]) ?", r"\1", text)


def _rounded(found: re.Match) -> str:
    return f"{round(float(found[0]), _DIGITS):g}"
