"""Copies what is committed of a run: its report and summaries, other files that are named, and of
run.json what tells how each execution ended, without folders of this machine.

    python bench/keep.py RUN TO [FILE...]
"""

import json
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
OF_AN_EXECUTION = ("sequence", "execution", "rti", "adapter", "state", "message", "problems")


def about(run: Path) -> dict:
    """What is kept of its run.json."""
    known = json.loads((run / "run.json").read_text())
    kept = {key: known[key] for key in OF_THE_RUN if key in known}
    kept["executions"] = [
        {key: execution[key] for key in OF_AN_EXECUTION if key in execution}
        for execution in known["executions"]
    ]
    return kept


def main(run: Path, to: Path, *more: str) -> None:
    """Copies them."""
    to.mkdir(parents=True, exist_ok=True)
    for file in [*(run / name for name in SUMMARIES), *map(Path, more)]:
        shutil.copy(file, to)
    (to / "run.json").write_text(json.dumps(about(run), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
