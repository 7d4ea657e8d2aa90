#!/usr/bin/env python3
"""Writes the page of a study, docs/STUDY.md, from its lines and the results of a test run.

make bench-python rtibm-status fomcost-status, or:
bench/status.py [bench/status-STUDY.toml] results.xml... > docs/STUDY.md
"""

import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

given = sys.argv[1:]
lines = Path(given.pop(0)) if given and given[0].endswith(".toml") else Path("bench/status.toml")
said = tomllib.loads((Path(__file__).parents[1] / lines).read_text())
results: dict[str, list[str]] = {}
for case in (c for file in given for c in ET.parse(file).getroot().iter("testcase")):
    bad = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "")
    name = case.get("name", "").partition("[")[0].partition("@")[0]
    results.setdefault(name, []).append(bad)


def state(line: dict) -> str:
    """What the results say of a line."""
    if not line["tests"]:
        return "not yet" if "lacks" not in line else "no test"
    came = [bad for name in line["tests"] for bad in results.get(name, ["missing"])]
    if any(bad in ("failure", "error") for bad in came):
        return "FAILS"
    if any(came):
        return "not run"
    return "in part" if "lacks" in line else "done"


print(f"""# {said.get("title", "RTIBM")}: what is there

Made by `bench/status.py` from `{lines}` and the results of a run of `bench/tests`.
"in part": what is missing stands in the last column; "not yet": all of it is. A test is of
`bench/tests`, without "test_".

| line | state | tests | lacks |
|---|---|---|---|""")
for line in said["line"]:
    tests = ", ".join(f"`{name.removeprefix('test_')}`" for name in line["tests"])
    print(f"| {line['what']} | {state(line)} | {tests} | {line.get('lacks', '')} |")
