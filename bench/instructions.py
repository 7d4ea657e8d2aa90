"""Counts the instructions of one update and holds them to their bounds: `make instructions`.

The limits programs stream numbered updates or interactions from `send` over rtiexec to `receive`.
One of the three runs under callgrind, once with few updates and once with many: the difference is
what the updates take, whatever else the machine does. The federates' loops, façade and library
count together. Of a ring in shared memory it is what it takes to put a frame of 100 bytes and to
read it, in bundles of 128. Of federates that share memory the system calls are counted, too: of a
stream, and of the one who answers round trips. Needs valgrind and strace. With words behind the
options: only the rows that have them in their names.
"""

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

# How much a row may take at most: what is asked for, or, where what is reached is above that or
# nearer to it than a few per cent, a little above what is reached, with what is asked for behind
# it. Figures of one row differ by 2 to 5 % from run to run, by how updates and reads meet. By
# rtiexec 50 more are asked for than in shared memory.
Bound = float | tuple[float, float]
# Frames that share a record take 10 more to put than one by one, and 60 less to read.
RING_BOUNDS = {"put_bundle": 54, "read_bundle": 16}
RING_FRAMES = 128
# What counting for the management object model may take of an update and of a reflection (11.2).
MOM_BOUND = 15
# What may be left of it where there is none (`services.mom = off`): the lines of its source files,
# with all that they call, and of what counts by class and sender at the same places. Counting for
# one takes 6 to 8 in these lines alone; what is left asks whether anything is to be done.
WITHOUT_MOM_BOUND = 4
MOM_CODE = ("/starling-core/src/mom/", "/starling-core/src/traffic.rs")
FIVE = ("--bytes", "12", "--values", "5")
TEN = ("--bytes", "12", "--values", "10")
ANEW = ("--anew", "1")
INTERACTION = ("--interaction", "1")
# Of what is streamed: options, receivers, bounds. A federate that makes its map anew pays at its
# own end only. Names begin with the way, if it is not rtiexec.
CASES: dict[str, tuple[tuple[str, ...], int, dict[str, Bound]]] = {
    "1 x 100 bytes": ((), 1, {"send": (615, 600), "rtiexec": 450, "receive": (730, 700)}),
    "1 x 100 bytes, new map": (ANEW, 1, {"send": 1150}),
    "5 x 12 bytes": (FIVE, 1, {"send": 1150, "rtiexec": (480, 450), "receive": 1250}),
    "5 x 12 bytes, new map": ((*FIVE, *ANEW), 1, {"send": (3650, 3550)}),
    "interaction of 1 x 100 bytes": (
        INTERACTION,
        1,
        {"send": (615, 600), "rtiexec": 450, "receive": (745, 700)},
    ),
    # As nearly all federates do: each has several instances, and updates them in turn.
    "1 x 100 bytes of 100 instances": (
        ("--instances", "100"),
        1,
        {"send": 740, "receive": 820},
    ),
    "1 x 100 bytes of 1,000 instances": (
        ("--instances", "1000"),
        1,
        {"send": 765, "receive": 830},
    ),
    # rtiexec: 390 to 760, by how much it finds to read at once; 450 and 80 for each further.
    "1 x 100 bytes to 8": ((), 8, {"send": 640, "rtiexec": 450 + 7 * 80}),
    "shared memory, 1 x 100 bytes": ((), 1, {"send": (700, 550), "receive": (745, 650)}),
    "shared memory, 1 x 100 bytes, new map": (ANEW, 1, {"send": (1200, 1100)}),
    "shared memory, 5 x 12 bytes": (FIVE, 1, {"send": (1270, 1100), "receive": 1200}),
    "shared memory, 5 x 12 bytes, new map": ((*FIVE, *ANEW), 1, {"send": (3750, 3500)}),
    "shared memory, interaction of 1 x 100 bytes": (
        INTERACTION,
        1,
        {"send": (700, 550), "receive": (745, 650)},
    ),
    "direct tcp, 1 x 100 bytes": ((), 1, {"send": 700, "receive": 790}),
}
# What an update takes more for each further attribute of 12 bytes: the difference of five and ten,
# by the way; and how many bytes more than its own by rtiexec.
FURTHER = "each further attribute of 12 bytes"
FURTHER_BOUNDS: dict[str, dict[str, Bound]] = {
    "": {"send": 140, "receive": 140},
    "shared memory, ": {"send": (150, 140), "receive": 140},
}
FURTHER_BYTES = 2
for way in FURTHER_BOUNDS:
    CASES[f"{way}10 x 12 bytes"] = (TEN, 1, {})
# How much more a sender takes with so many receivers than with one.
MANY, MANY_TIMES = 16, 1.2
TIMES = {f"{way}1 x 100 bytes to {MANY}": f"{way}1 x 100 bytes" for way in ("", "shared memory, ")}
for of_many in TIMES:
    CASES[of_many] = ((), MANY, {})
# Sent in time-stamp order in steps of so many, by one federate that regulates to one that is
# constrained; 100 more than without time stamps are asked for.
IN_TIME_ORDER = "1 x 100 bytes in time-stamp order"
STEP = 1_024
CASES[IN_TIME_ORDER] = (
    ("--federates", "2", "--messages", str(STEP), "--regulating", "1", "--constrained", "1"),
    1,
    {"send": (750, 700), "rtiexec": 450, "receive": (1110, 800)},
)
# By datagrams to rtiexec and on to each receiver, the sender at full speed.
BEST_EFFORT = "best effort by UDP, 1 x 100 bytes to 5"
CASES[BEST_EFFORT] = ((), 5, {"rtiexec": 1100})
# An object instance that one federate registers and another discovers, and all that is until it is
# deleted as its federate resigns; the two go through rtiexec.
INSTANCE = "an instance registered, discovered and deleted"
CASES[INSTANCE] = ((), 1, {"send": 6300, "rtiexec": 19500, "receive": 8400})
# Rounds of as many federates, all of which regulate and are constrained, without messages: at
# rtiexec, per federate. It takes more where it reads one request at a time than where several have
# come.
ROUND = "round of {}"
ROUND_BOUNDS = {2: {"rtiexec": 9200}, 8: {"rtiexec": 9600}}
ROUND_LENGTHS = (256, 1_280)
# Whole bundles, none of which ends by the clock, and nobody asks before it sleeps.
BUNDLED = {
    "STARLING_TRANSPORT_RING_BYTES": str(16 << 20),
    "STARLING_BUNDLE_AGE_US": "1000000",
    "STARLING_BUNDLE_IDLE_US": "1000000",
    "STARLING_CALLBACKS_SPIN_US": "0",
}
# From federate to federate, not by rtiexec.
DIRECT = {"STARLING_TRANSPORT_SHARED_MEMORY": "off", "STARLING_TRANSPORT_PATH": "direct"}
# With bundles as they are by default: to write to eight takes longer than makes a link idle.
TO_EIGHT = "direct tcp to 8, by default"
CASES[TO_EIGHT] = ((), 8, {})
WAYS = {
    TO_EIGHT: DIRECT,
    "shared memory": BUNDLED | {"STARLING_TRANSPORT_SHARED_MEMORY": "auto"},
    "direct tcp": BUNDLED | DIRECT,
}
WAYS[BEST_EFFORT] = {
    "STARLING_TRANSPORT_SHARED_MEMORY": "off",
    "STARLING_TRANSPORT_BEST_EFFORT": "datagrams",
}
# A receiver that does not wait, but evokes again and again: what has come, and what not.
POLLING = "shared memory, polling"
# A bundle of 16 KiB is to take one call at either end. The sender wakes the receiver, which waits,
# silences its doorbell and looks for what else has come; beside that a few in a run. Round trips:
# wake the other, and wait.
BUNDLE = 16384 / 140
CALL_BOUNDS: dict[tuple[str, str, str], Bound] = {
    ("shared memory", "send", "all"): (1.3 / BUNDLE, 1 / BUNDLE),
    ("shared memory", "send", "timerfd_settime"): 0.1 / BUNDLE,
    ("shared memory", "receive", "all"): (3.5 / BUNDLE, 1 / BUNDLE),
    (POLLING, "receive", "all"): 1 / BUNDLE,
    ("shared memory", "pong", "all"): 3.3,
    # The sender writes a bundle and reads what confirms it; the receiver waits, reads, confirms.
    ("direct tcp", "send", "all"): (3.5 / BUNDLE, 1 / BUNDLE),
    ("direct tcp", "receive", "all"): (3.5 / BUNDLE, 1 / BUNDLE),
    # Bundles end by the clock, too, and so sooner than they are full; without them it would be 8.
    (TO_EIGHT, "send", "sendto"): (0.2, 8 / BUNDLE),
    # Wait, read, write.
    ("direct tcp", "pong", "all"): 3.3,
}
# Calls by which a federate's stream leaves it.
WRITING = "write,writev,sendto,sendmsg"
LENGTHS = (2_048, 12_288)
# Where links come about meanwhile.
LONG = (131_072, 262_144)
PATIENCE_S = 500


class Failed(Exception):
    """A program did not do what it is counted for."""


def count(
    given: argparse.Namespace,
    case: str,
    role: str,
    updates: int,
    calls: str = "",
    in_round: int = 0,
) -> int:
    """Instructions of one of the three programs, from its start to its end; or its system calls
    of a name, or all; or the bytes that it writes. With federates in a round: of so many rounds."""
    what, receivers, _ = CASES.get(case, ((), 1, {}))
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        counter = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        if calls:
            counter = ["strace", "-f", "-c", "-o", str(profile), "-e", f"trace={calls}"]
        if calls == WRITING:
            counter.remove("-c")
        env = {"PATH": "/usr/bin:/bin", "STARLING_NET_RUN_DIR": directory}
        way = next((way for way in WAYS if case.startswith(way)), None)
        env |= WAYS[way] if way else {"STARLING_TRANSPORT_SHARED_MEMORY": "off"}
        server = [f"{given.rti_root}/bin/starling", "rtiexec", "--listen", "127.0.0.1:0"]
        server += ["--run-dir", directory]
        rtiexec = subprocess.Popen(
            (counter if role == "rtiexec" else []) + server,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            ready = rtiexec.stdout.readline().split()
            addresses = [a for a in ready[1:] if not a.startswith("unix:")]
            if not addresses:
                raise Failed(f"rtiexec said '{' '.join(ready)}' instead of its address")
            env |= {"STARLING_CONNECT_ADDRESS": addresses[0], "STARLING_NET_UNIX": "true"}

            def start(counted: bool, program: str, *options: str) -> subprocess.Popen:
                command = [f"{given.programs}/limits-federate", program, "--fom", given.fom]
                command += ["--bytes", "100", "--timeout", str(PATIENCE_S), *options]
                command = (counter if counted else []) + command
                return subprocess.Popen(
                    command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                )

            def federate(name: str, *options: str) -> subprocess.Popen:
                return start(role == name, name, "--updates", str(updates), *what, *options)

            def advance(name: str, me: int, steps: int, *options: str) -> subprocess.Popen:
                mine = ("--me", str(me), "--steps", str(steps), "--warm-up", "0")
                return start(role == name, "advance", *mine, *options)

            if case == IN_TIME_ORDER:
                steps = updates // STEP
                federates = [advance("send", 0, steps, *what), advance("receive", 1, steps, *what)]
            elif in_round:
                every = ("--regulating", str(in_round), "--constrained", str(in_round))
                every = ("--federates", str(in_round), "--messages", "0", *every)
                federates = [advance("other", n, updates, *every) for n in range(in_round)]
            elif case == BEST_EFFORT:
                all_of = ("--instances", "1", "--best", "1")
                to = ("--receivers", str(receivers), "--updates", str(updates), "--ms", "0")
                federates = [
                    start(False, "consume", "--me", str(n), *all_of) for n in range(receivers)
                ]
                federates.append(start(False, "produce", *all_of, *to))
            elif case == INSTANCE:
                all_of = ("--instances", str(updates))
                to = ("--receivers", "1", "--updates", "1", "--ms", "0")
                federates = [
                    start(role == "receive", "consume", "--me", "0", *all_of),
                    start(role == "send", "produce", *all_of, *to),
                ]
            elif role == "pong":
                trips = ("--count", str(updates), "--warm-up", "0")
                federates = [start(True, "pong"), start(False, "ping", *trips)]
            else:
                polls = ("--polls", "1") if case == POLLING else ()
                federates = [federate("receive", "--me", str(n), *polls) for n in range(receivers)]
                sending = ("--laps", "0", "--spread-ms", "0", "--seed", "0")
                federates.append(federate("send", "--receivers", str(receivers), *sending))
            said = [f.communicate()[1] for f in federates]
            if any(f.returncode for f in federates):
                raise Failed("\n".join(said))
        finally:
            rtiexec.send_signal(signal.SIGTERM)
            rtiexec.wait()
        if calls == WRITING:
            return sum(map(int, re.findall(r" = (\d+)$", profile.read_text(), re.MULTILINE)))
        return total_calls(profile) if calls else total(profile)


def of_round(given: argparse.Namespace, federates: int, role: str, rounds: int) -> float:
    """Instructions of rtiexec for so many rounds, for each federate."""
    return count(given, ROUND.format(federates), role, rounds, in_round=federates) / federates


def total_calls(profile: Path) -> int:
    """What strace has counted, which says nothing of none."""
    found = re.search(r"^100\.00 +[\d.]+ +\d+ +(\d+)", profile.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def ring(given: argparse.Namespace, function: str, frames: int) -> int:
    """Instructions of one function of the ring's example, for so many frames."""
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [f"--toggle-collect=*{function}*", given.ring, "1", str(frames // RING_FRAMES)]
        subprocess.run(command, check=True, capture_output=True)
        return total(profile)


def total(profile: Path) -> int:
    """What callgrind has counted."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile.read_text(), re.MULTILINE)
    return int(found[1])


def core(
    given: argparse.Namespace,
    what: str,
    switch: str,
    updates: int,
    read: Callable[[Path], int] = total,
) -> int:
    """Instructions of so many updates or reflections in the core alone."""
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [given.mom, what, switch, str(updates)]
        subprocess.run(command, check=True, capture_output=True)
        return read(profile)


def mom(given: argparse.Namespace, what: str, updates: int) -> int:
    """Instructions of so many updates or reflections beyond those without a management object
    model."""
    return core(given, what, "on", updates) - core(given, what, "off", updates)


def mom_code(given: argparse.Namespace, what: str, switch: str, updates: int) -> int:
    """Instructions of so many updates or reflections in the code of the management object model."""
    return core(given, what, switch, updates, partial(total_of, MOM_CODE))


def total_of(files: tuple[str, ...], profile: Path) -> int:
    """What callgrind has counted at the lines of source files that have one of these in their
    paths, with all that these lines call."""
    paths: dict[str, str] = {}
    spent, within = 0, False
    for line in profile.read_text().splitlines():
        # `fl=(7) /the/path`, later `fl=(7)`: where a function stands, what is inlined there, and
        # what is called next.
        if found := re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.+))?", line):
            kind, number, path = found.groups()
            paths.setdefault(number, path or "")
            if not kind.startswith("c"):
                within = any(part in paths[number] for part in files)
        # The line, and what it takes itself; behind `calls=`, what it calls takes.
        elif within and re.match(r"[+\-*\d]", line):
            spent += int(line.split()[1])
    return spent


class Row(NamedTuple):
    """What is counted, and held to a bound."""

    name: str
    bound: Bound
    measure: Callable[[], float]
    unit: str = "instructions per update"
    digits: int = 0

    @property
    def most(self) -> float:
        return self.bound[0] if isinstance(self.bound, tuple) else self.bound


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """All that is counted."""

    def one(
        counted: Callable[..., float], *what: str | int, lengths: tuple[int, int] = LENGTHS, **more
    ) -> float:
        """What one update or round takes: the difference of two lengths."""
        few, many = (n // RING_FRAMES * RING_FRAMES for n in lengths)
        # The least of each: what else the machine does adds wake-ups and smaller bundles.
        spent = [min(counted(given, *what, n, **more) for _ in range(given.rounds))
                 for n in (few, many)]  # fmt: skip
        return (spent[1] - spent[0]) / (many - few)

    def further(way: str, role: str, **more) -> float:
        five, ten = (one(count, f"{way}{n} x 12 bytes", role, **more) for n in (5, 10))
        return (ten - five) / 5

    def times(many: str, single: str) -> float:
        return one(count, many, "send") / one(count, single, "send")

    for what, bound in RING_BOUNDS.items():
        yield Row(f"ring, {what}", bound, partial(one, ring, what))

    def left(what: str) -> float:
        if one(mom_code, what, "on") <= WITHOUT_MOM_BOUND:
            raise Failed(f"nothing is found at the lines of {' or '.join(MOM_CODE)}")
        return one(mom_code, what, "off")

    for what in ("send", "reflect"):
        yield Row(f"counting for the MOM: {what}", MOM_BOUND, partial(one, mom, what))
        yield Row(f"left of the MOM without it: {what}", WITHOUT_MOM_BOUND, partial(left, what))
    for case, (_, _, bounds) in CASES.items():
        for role, bound in bounds.items():
            counted = partial(one, count, case, role)
            per = "instance" if case == INSTANCE else "update"
            yield Row(f"{case}: {role}", bound, counted, f"instructions per {per}")
    for way, bounds in FURTHER_BOUNDS.items():
        for role, bound in bounds.items():
            yield Row(f"{way}{FURTHER}: {role}", bound, partial(further, way, role))
    wire = partial(further, "", "send", calls=WRITING)
    yield Row(f"{FURTHER}: on the wire", 12 + FURTHER_BYTES, wire, "bytes", 2)
    for name, single in TIMES.items():
        counted = partial(times, name, single)
        yield Row(f"{name}: send", MANY_TIMES, counted, "times as many as to one", 2)
    for (way, role, calls), bound in CALL_BOUNDS.items():
        counted = partial(one, count, way, role, calls=calls)
        if way == TO_EIGHT:
            counted = partial(counted, lengths=LONG)
        yield Row(f"{way}, {calls} system calls: {role}", bound, counted, "per update", 4)
    for federates, bounds in ROUND_BOUNDS.items():
        for role, bound in bounds.items():
            counted = partial(one, of_round, federates, role, lengths=ROUND_LENGTHS)
            name = f"{ROUND.format(federates)}: {role}"
            yield Row(name, bound, counted, "instructions per round")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rti-root", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--fom", required=True)
    parser.add_argument("--ring", default="", help="the example `bundles` of starling-ring")
    parser.add_argument("--mom", default="", help="the example `mom_cost` of starling-core")
    parser.add_argument("--rounds", type=int, default=3, help="counts of each length")
    parser.add_argument("--json", nargs="+", help="only these cases, by name; no bound is held")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    for tool in ("valgrind", "strace"):
        if not shutil.which(tool):
            print(f"{tool} is missing: install the package {tool}")
            return 1
    if given.json:
        only = [row for row in rows(given) if row.name.rpartition(": ")[0] in given.json]
        if missing := set(given.json) - {row.name.rpartition(": ")[0] for row in only}:
            print(f"no case is called {', '.join(sorted(missing))}", file=sys.stderr)
            return 1
        print(json.dumps({row.name: row.measure() for row in only}))
        return 0
    named = [row for row in rows(given) if all(word in row.name for word in given.words)]
    if not named:
        print(f"no row has {' and '.join(given.words)} in its name: make instructions")
        return 1
    good = True
    for row in named:
        try:
            spent = round(row.measure(), row.digits)
        except Failed as why:
            print(f"{row.name}: {why}: False", flush=True)
            good = False
            continue
        holds = spent <= row.most
        good &= holds
        said, held = (f"{n:,.{row.digits}f}" for n in (spent, row.most))
        above = f" ({row.bound[1]:,.{row.digits}f} asked for)" if row.bound != row.most else ""
        print(f"{row.name}: {said} {row.unit}; at most {held}{above}: {holds}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
