#!/usr/bin/env python3
"""Keeps what a run of a study shows where it can be committed: TO/STUDY/NAME.

bench/keep_study.py build/bench/STUDY[-NAME]-DATE-TIME [TO]   (no NAME: "campaign"; no TO:
docs/reports)

report.html as it is, and one figure (see keep.py); summary.json (its numbers to six digits),
run.json and what federates counted (facts) packed. What did not end well, is of no commit or too
large, is refused. Folders of this tree are as they are in it.
"""

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

import keep

MOST = 3_000_000  # bytes of all of it
TREE = Path(__file__).resolve().parents[1]
REPORTS = TREE / "docs" / "reports"


def stop(what: str) -> None:
    sys.exit(f"keep: {what}")


def name_of(run: Path) -> str:
    """By its directory."""
    study = json.loads((run / "run.json").read_text(encoding="utf-8"))["study"]
    found = re.fullmatch(rf"{study}(?:-([a-z0-9-]+?))?-\d{{8}}-\d{{6}}", run.name)
    if not found:
        stop(f"{run}: its name is not {study}-NAME-DATE-TIME; rename it")
    return f"{study}/{found[1] or 'campaign'}"


def kept(run: Path) -> dict[str, bytes]:
    """Files by name."""
    about = keep.about(run)
    for e in about["executions"]:
        if e["state"] != "done":
            stop(f"{run}: {e['sequence']}/{e['execution']} is {e['state']}: {e['message']}")
    facts = {str(p.relative_to(run)): json.loads(p.read_text(encoding="utf-8"))
             for p in sorted(run.rglob("facts_*.json"))}  # fmt: skip
    summary = json.loads(_text(run / "summary.json"), parse_float=_rounded)
    packed = {"run.json": json.dumps(about), "summary.json": json.dumps(summary)}
    packed |= {"facts.json": json.dumps(facts)} if facts else {}
    ours = {name: text.replace(f"{TREE}/", "").encode() for name, text in packed.items()}
    files = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in ours.items()}
    files |= keep.picture(run)
    return files | {"report.html": _text(run / "report.html").replace(f"{TREE}/", "").encode()}


def _rounded(text: str) -> float:
    """More digits than are known take most of the room."""
    return float(f"{float(text):.6g}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main(run: Path, reports: Path) -> None:
    if not (run / "report.html").exists():
        stop(f"'{run}': there is no report.html; RUN= names the directory of a run")
    to, files = reports / name_of(run), kept(run)
    keep.commit(keep.about(run).get("commit", "unknown"), run)
    if (size := sum(map(len, files.values()))) > MOST:
        stop(f"{run}: {size:,} bytes, {MOST:,} may be kept")
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for name, data in files.items():
        (to / name).write_bytes(data)
    print(f"{to}: {size:,} bytes")


if __name__ == "__main__":
    given = [Path(word).resolve() for word in sys.argv[1:]]
    main(given[0] if given else Path(), given[1] if len(given) > 1 else REPORTS)
