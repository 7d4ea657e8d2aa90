"""Checks that the libraries export every symbol of spec/cpp/rti1516e_symbols.tsv.

usage: check_symbols.py TABLE LIBRARY...
"""

import csv
import subprocess
import sys


def exported(library: str) -> set[str]:
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def main() -> int:
    table, *libraries = sys.argv[1:]
    have = set().union(*(exported(library) for library in libraries))
    with open(table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    missing = [row for row in rows if row["mangled"] not in have]
    for row in missing:
        print(f"missing: {row['demangled']}")
    print(f"{len(rows) - len(missing)} of {len(rows)} symbols exported")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
