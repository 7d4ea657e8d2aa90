"""Copies what is committed of a run: its report and summaries, other files that are named, and of
run.json what tells how each execution ended, without folders of this machine. All are of one
commit, or nothing is copied. One of its figures, which PICTURE numbers, is kept as picture.svg, so
that a page can show it.

    PICTURE=9 python bench/keep.py RUN TO [FILE...]
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

SUMMARIES = ("report.html", "summary.csv", "summary.json")
OF_THE_RUN = (
    "study",
    "commit",
    "started",
    "ended",
    "tsf",
    "tsf_text",
    "scale",
    "notes",
    "machine",
    "found",
)
OF_AN_EXECUTION = (
    "sequence",
    "execution",
    "rti",
    "adapter",
    "state",
    "message",
    "problems",
    "rti_kb",
)


def about(run: Path) -> dict:
    """What is kept of its run.json."""
    known = json.loads((run / "run.json").read_text())
    kept = {key: known[key] for key in OF_THE_RUN if key in known}
    kept["executions"] = [
        {key: execution[key] for key in OF_AN_EXECUTION if key in execution}
        for execution in known["executions"]
    ]
    return kept


def commit(said: str, where: Path) -> str:
    """The commit that was measured, as `git describe` tells it; of a tree that was none nobody
    could measure again."""
    found = re.fullmatch(r"(?:\S*-g)?([0-9a-f]{7,40})", said)
    if not found:
        sys.exit(f"keep: {where} is of commit '{said}': measure one tree, that is committed")
    return found[1]


def picture(run: Path) -> dict[str, bytes]:
    """By its name; nothing of a run without figures."""
    said = os.environ.get("PICTURE", "1")
    figure = run / "figures" / f"{int(said):03}.svg" if said.isdecimal() else Path()
    if figure.is_file():
        return {"picture.svg": figure.read_bytes()}
    if figure.parent.is_dir() and "PICTURE" in os.environ:
        sys.exit(f"keep: PICTURE='{said}': {run} has no figure of that number")
    return {}


def main(run: Path, to: Path, *more: str) -> None:
    """Copies them into a new directory. Other files begin with their commit, which is the run's."""
    kept = about(run)
    measured = commit(kept.get("commit", "unknown"), run)
    for file in map(Path, more):
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        own = commit(first.removeprefix("commit "), file)
        if not (own.startswith(measured) or measured.startswith(own)):
            sys.exit(
                f"keep: {file} is of commit {own}, and {run} of {measured}: measure both of one"
            )
    if to.exists() and any(to.iterdir()):
        sys.exit(f"keep: {to} is not empty: files of another run would stay there")
    to.mkdir(parents=True, exist_ok=True)
    for file in [*(run / name for name in SUMMARIES), *map(Path, more)]:
        shutil.copy(file, to)
    for name, data in picture(run).items():
        (to / name).write_bytes(data)
    (to / "run.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
