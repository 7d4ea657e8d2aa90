"""Keeps what `make bench` has found where it can be committed: `make keep-bench RUN=...`.

bench/keep_bench.py RUN TO: summary.json and the table as text, each of which takes the place of the
last. Of a tree that is not committed, of some of the figures only or of less than five rounds
nothing is kept.
"""

import json
import shutil
import sys
from pathlib import Path

import keep

FILES = ("summary.json", "table.txt")
ROUNDS_MIN, BYTES_MAX = 5, 200_000


def main(run: Path, to: Path) -> None:
    for name in FILES:
        if not (run / name).is_file():
            sys.exit(f"keep: '{run}' has no {name}; RUN= names the directory of a run that ended")
    kept = json.loads((run / FILES[0]).read_text(encoding="utf-8"))
    keep.commit(kept["commit"], run)
    if kept["only"]:
        sys.exit(f"keep: {run} has the figures '{kept['only']}' only")
    if kept["rounds"] < ROUNDS_MIN:
        sys.exit(f"keep: {run} has {kept['rounds']} rounds, to be {ROUNDS_MIN} at least")
    if (size := sum((run / name).stat().st_size for name in FILES)) > BYTES_MAX:
        sys.exit(f"keep: {run}: {size:,} bytes, {BYTES_MAX:,} may be kept")
    to.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(run / name, to)
    print(f"{to}: {size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
