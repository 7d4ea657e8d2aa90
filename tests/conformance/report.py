#!/usr/bin/env python3
"""docs/conformance.md from what the conformance suite showed.

report.py [--check] PAGE RESULTS.tsv...

The results are the player's, one file per arrangement. The page says of every service of the 2010
C++ API whether a scenario had it succeed, which of its listed exceptions were provoked, and of
every callback whether it came, and whether it stayed away where it must. With --check the page is
compared, not written.
"""

import csv
import fnmatch
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "spec/cpp/rti1516e.tsv"
SERVICES = ROOT / "spec/services.tsv"
GAPS = ROOT / "tests/conformance/gaps.tsv"


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def listed(scope):
    """Names of the API's class in order, with the exceptions of all overloads."""
    found = {}
    for row in rows(TABLE):
        if row["scope"] == f"rti1516e::{scope}" and row["kind"] == "method pure":
            exceptions = found.setdefault(row["name"], [])
            for name in (row["exceptions"] or "").split():
                if name not in exceptions:
                    exceptions.append(name)
    return found


def clauses():
    """Clause and area by name."""
    found = {}
    for row in rows(SERVICES):
        if row["clause_2010"] != "-" and row["cpp_1516e"] != "-":
            for name in row["cpp_1516e"].split():
                found.setdefault(name, (row["clause_2010"], row["area"]))
    return found


class Gaps:
    """Why a pair of service and exception is not tested: the first matching row of gaps.tsv."""

    def __init__(self):
        self.rows = rows(GAPS)
        self.used = {}

    def of(self, service, exception):
        for number, row in enumerate(self.rows):
            fits = any(fnmatch.fnmatchcase(service, p) for p in row["service"].split())
            if fits and row["exception"] in ("*", exception):
                self.used.setdefault(number, 0)
                self.used[number] += 1
                return chr(ord("a") + number), row
        return None, None


def shown(files):
    """What was seen, by kind: {(name, exception)}."""
    seen = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            for line in file:
                _room, _topic, _arrangement, kind, name, exception = line.rstrip("\n").split("\t")
                seen.setdefault(kind, set()).add((name, exception))
    return seen


def page(files):
    seen = shown(files)
    services = listed("RTIambassador")
    callbacks = listed("FederateAmbassador")
    where = clauses()
    worked = {name for name, _ in seen.get("service", ())}
    thrown = seen.get("exception", set())
    came = {name for name, _ in seen.get("callback", ())}
    stayed = {name for name, _ in seen.get("absent", ())}
    for name, exception in sorted(thrown):
        if exception not in services[name]:
            raise SystemExit(f"{name} threw {exception}, which the API does not list")

    gaps = Gaps()
    out = []
    total = tested = excused = open_ = 0
    area = None
    for name, exceptions in services.items():
        clause, now = where.get(name, ("-", area))
        if now != area:
            area = now
            out += ["", f"## {area}", "| clause | service | works | exceptions | not provoked |"]
            out += ["|---|---|---|---|---|"]
        missing = []
        count = 0
        for exception in exceptions:
            total += 1
            if (name, exception) in thrown:
                count += 1
                continue
            mark, row = gaps.of(name, exception)
            missing.append(exception + (f" ({mark})" if mark else ""))
            if row is None:
                open_ += 1
            else:
                excused += 1
        tested += count
        works = "yes" if name in worked else "no"
        line = f"| {clause} | {name} | {works} | {count} of {len(exceptions)} |"
        out.append(f"{line} {', '.join(missing) or '-'} |")
    out += ["", "## Callbacks", "| clause | callback | comes | stays away |", "|---|---|---|---|"]
    for name in callbacks:
        clause, _ = where.get(name, ("-", ""))
        mark = {True: "yes", False: "no"}
        out.append(f"| {clause} | {name} | {mark[name in came]} | {mark[name in stayed]} |")

    share = 100.0 * tested / (total - excused)
    head = [
        "# Conformance to IEEE 1516.1-2010",
        "",
        "Generated from the results of the conformance suite by `make conformance`; not written",
        "by hand. *Works*: a scenario had the service succeed, by the C++ API, in every",
        "arrangement that it runs in (evoked, immediate; one process, several). *Exceptions*:",
        "how many of those that the 2010 C++ API lists were provoked. *Comes*, *stays away*: a",
        "scenario expected the callback, or expected that it does not come.",
        "",
        f"- Services that work: {sum(n in worked for n in services)} of {len(services)};"
        f" callbacks that come: {sum(n in came for n in callbacks)} of {len(callbacks)}",
        f"- Pairs of service and exception: {total} listed; {excused} cannot be provoked",
        f"- Of the other {total - excused}, {tested} are provoked: {share:.1f} %"
        f"; {open_} are missing without a reason",
        "",
        "Reasons:",
    ]
    for number in sorted(gaps.used):
        row = gaps.rows[number]
        head.append(f"- ({chr(ord('a') + number)}) {row['reason']}")
    return "\n".join(head + out) + "\n"


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    if check:
        arguments = arguments[1:]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    path, text = pathlib.Path(arguments[0]), page(arguments[1:])
    if not check:
        path.write_text(text, encoding="utf-8")
        return
    committed = path.read_text(encoding="utf-8").splitlines()
    for number, (a, b) in enumerate(zip(committed, text.splitlines(), strict=False), 1):
        if a != b:
            raise SystemExit(
                f"{path}:{number} is not what the tests show; run `make conformance`\n"
                f"  is      {a}\n  must be {b}"
            )
    if len(committed) != len(text.splitlines()):
        raise SystemExit(f"{path} has other rows than the tests show; run `make conformance`")


if __name__ == "__main__":
    main()
