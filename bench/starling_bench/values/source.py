"""How much of a program there is to write and to read, counted in its source (C++)."""

import re
from dataclasses import dataclass
from pathlib import Path

_BRANCHES = re.compile(r"\b(?:if|for|while|case|default)\b|\?|&&|\|\|")


@dataclass(frozen=True, order=True)
class Ease:
    """Less is easier; branches count first."""

    branches: int
    lines: int  # of code
    forms: int  # in memory: the plain one, and unions


def ease(path: Path) -> Ease:
    """What a file asks of who writes it."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip()]
    return Ease(len(_BRANCHES.findall(text)), len(lines), 1 + len(re.findall(r"\bunion\b", text)))
