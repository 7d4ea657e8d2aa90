#!/usr/bin/env python3
"""Writes docs/rtibm.md from status.toml and the results of a test run.

make bench-python rtibm-status; or: bench/status.py results.xml... > docs/rtibm.md
"""

import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

results: dict[str, list[str]] = {}
for case in (c for file in sys.argv[1:] for c in ET.parse(file).getroot().iter("testcase")):
    bad = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "")
    results.setdefault(case.get("name", "").partition("[")[0], []).append(bad)


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


print("""# RTIBM: what is there

Made by `bench/status.py` from `bench/status.toml` and the results of a run of `bench/tests`.
"in part": what is missing stands in the last column; "not yet": all of it is. A test is of
`bench/tests`, without "test_".

| line | state | tests | lacks |
|---|---|---|---|""")
for line in tomllib.loads(Path(__file__).with_name("status.toml").read_text())["line"]:
    tests = ", ".join(f"`{name.removeprefix('test_')}`" for name in line["tests"])
    print(f"| {line['what']} | {state(line)} | {tests} | {line.get('lacks', '')} |")
