"""How much of a program there is to write and to read, counted in its source (C++)."""

import re
from dataclasses import dataclass
from pathlib import Path

_BRANCHES = re.compile(r"\b(?:if|for|while|case|default)\b|\?|&&|\|\|")


@dataclass(frozen=True)
class Ease:
    """Less is easier."""

    branches: int
    lines: int  # of code
    forms: int  # in memory: the plain one, and unions

    @property
    def order(self) -> tuple[int, int, int]:
        """Forms count first, as whoever has the data has to do with them, not only the codec."""
        return self.forms, self.branches, self.lines

    def words(self) -> str:
        """All three."""
        forms = f"{self.forms} form{'s' * (self.forms != 1)} in memory"
        return f"{self.branches} branches in {self.lines} lines and {forms}"


def ease(path: Path) -> Ease:
    """What a file asks of who writes it."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip()]
    return Ease(len(_BRANCHES.findall(text)), len(lines), 1 + len(re.findall(r"\bunion\b", text)))
