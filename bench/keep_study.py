#!/usr/bin/env python3
"""Keeps what a run of a study shows where it can be committed: TO/STUDY/NAME.

bench/keep_study.py build/bench/STUDY[-NAME]-DATE-TIME [TO]   (no NAME: "campaign"; no TO:
docs/reports)
bench/keep_study.py --index [TO]   renews the list of what is there, TO/README.md, as keeping does

report.html as it is, and one figure (see keep.py); summary.json (its numbers to five digits),
run.json and what federates counted (facts) packed. What did not end well, is of no commit, of
another tree or too large, is refused. Folders of this tree are as they are in it.
"""

import gzip
import html
import json
import re
import shutil
import sys
from pathlib import Path

import keep

MOST = 3_000_000  # bytes of all of it
LINE = 300  # characters of a verdict in the list
HEAD = """# Reports that are kept

Made by `bench/keep_study.py`: what each run says of itself first. All else is in its `report.html`.

| report | date | commit | verdict |
|---|---|---|---|
"""
TREE = Path(__file__).resolve().parents[1]
REPORTS = TREE / "docs" / "reports"
# A FOM of the test sequence file that is not in this tree.
FOM_ELSEWHERE = re.compile(r'^fom = "(/[^"]*)"', re.MULTILINE)


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
    page = _text(run / "report.html").replace(f"{TREE}/", "")
    if other := FOM_ELSEWHERE.search(html.unescape(page)):
        stop(f"{run}: it is of another tree, {other[1]}; keep it from there")
    return files | {"report.html": page.encode()}


def _rounded(text: str) -> float:
    """More digits than are known take most of the room."""
    return float(f"{float(text):.5g}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _told(page: str) -> str:
    """A report's verdict: as many sentences as make a line, and first whether it is a bad one."""
    found = re.search(r'<p class="verdict ?(\w*)">(.*?)</p>', page, re.DOTALL)
    if not found:
        return "-"
    said = {"bad": "**Not well:**", "unfit": "**The machine was not fit:**"}.get(found[1], "")
    for sentence in re.split(r"(?<=\.) ", html.unescape(found[2]).replace("|", "\\|")):
        if said and len(said) + len(sentence) > LINE:
            break
        said += f" {sentence}"
    return said.strip()


def index(reports: Path) -> str:
    """All reports that are there, as a table."""
    lines = []
    for run in sorted(reports.rglob("run.json*")):
        name = run.parent.relative_to(reports).as_posix()
        data = run.read_bytes()
        about = json.loads(gzip.decompress(data) if run.suffix == ".gz" else data)
        page = _told(_text(run.parent / "report.html"))
        lines.append(
            f"| [{name}]({name}/report.html) | {about.get('started', '-')[:10]} | "
            f"{about.get('commit', '-')} | {page} |\n"
        )
    return HEAD + "".join(lines)


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
    renew(reports)
    print(f"{to}: {size:,} bytes")


def renew(reports: Path) -> None:
    (reports / "README.md").write_text(index(reports), encoding="utf-8")


if __name__ == "__main__":
    given = [Path(word).resolve() for word in sys.argv[1:]]
    to = given[1] if len(given) > 1 else REPORTS
    if sys.argv[1:2] == ["--index"]:
        renew(to)
    else:
        main(given[0] if given else Path(), to)
