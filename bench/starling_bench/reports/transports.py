"""Transportations in words, and where best effort is none."""

import re

# As `starling ps` gives the reason: both share a host, whose memory they don't use.
_AROUND = re.compile(r"via rtiexec \((?:both are on one host|transport\.shared_memory)")


def misnamed(s: dict) -> bool:
    """It is not what its name says: best effort that can't be lost."""
    return s["transport"] != "reliable" and bool(s.get("way_reliable"))


def words(s: dict) -> str:
    """A test's transportation, and what it is not."""
    wrong = " (not what its name says: by a reliable link)" if misnamed(s) else ""
    return s["transport"].replace("_", " ") + wrong


def around(hosts: object, way: str | None) -> bool:
    """Data between two on one of these hosts go by way of another's rtiexec, as is told of the way:
    what an echo takes between them says nothing of that."""
    return bool(hosts and _AROUND.search(way or ""))


def by_reliable_links(summaries: list[dict]) -> str:
    """Where best effort was none; "": nowhere."""
    where = sorted({s["sequence"] for s in summaries if misnamed(s)})
    return f"best effort of {', '.join(where)} went by reliable links" if where else ""


def lost_reliably(summaries: list[dict], what: str = "updates") -> str:
    """That reliable ones were lost; "": none was."""
    lost = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    return f"{lost} reliable {what} were lost" if lost else ""
