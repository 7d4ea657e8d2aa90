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
import functools
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# A little above what was reached (README.md); the spread between runs is about 2 %. Of what is
# streamed: options, receivers, bounds. A federate that makes its map anew pays at its own end only.
# Frames that share a record take 10 more to put than one by one, and 60 less to read.
RING_BOUNDS = {"put_bundle": 54, "read_bundle": 16}
RING_FRAMES = 128
# What counting for the management object model may take of an update and of a reflection (11.2),
# and what the core takes for one where there is none (`services.mom = off`): it asks only whether
# anything is counted.
MOM_BOUND = 15
WITHOUT_MOM = {"send": 1310, "reflect": 1315}
FIVE = ("--bytes", "12", "--values", "5")
CASES = {
    "1 x 100 bytes": ((), 1, {"send": 620, "rtiexec": 310, "receive": 740}),
    "1 x 100 bytes, new map": (("--anew", "1"), 1, {"send": 1090}),
    "5 x 12 bytes": (FIVE, 1, {"send": 1130, "rtiexec": 560, "receive": 1070}),
    "5 x 12 bytes, new map": ((*FIVE, "--anew", "1"), 1, {"send": 3650}),
    "interaction of 1 x 100 bytes": (
        ("--interaction", "1"),
        1,
        {"send": 620, "rtiexec": 310, "receive": 755},
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
        {"send": 740, "receive": 830},
    ),
    # rtiexec: 390 to 760, by how much it finds to read at once.
    "1 x 100 bytes to 8": ((), 8, {"send": 640, "rtiexec": 800}),
}
# Sent in time-stamp order in steps of so many, by one federate that regulates to one that is
# constrained.
IN_TIME_ORDER = "1 x 100 bytes in time-stamp order"
STEP = 1_024
CASES[IN_TIME_ORDER] = (
    ("--federates", "2", "--messages", str(STEP), "--regulating", "1", "--constrained", "1"),
    1,
    {"send": 750, "rtiexec": 450, "receive": 1110},
)
# By datagrams to rtiexec and on to each receiver, the sender at full speed.
BEST_EFFORT = "best effort by UDP, 1 x 100 bytes to 5"
CASES[BEST_EFFORT] = ((), 5, {"rtiexec": 1100})
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
WAYS = {
    "shared memory": BUNDLED | {"STARLING_TRANSPORT_SHARED_MEMORY": "auto"},
    "direct tcp": BUNDLED
    | {"STARLING_TRANSPORT_SHARED_MEMORY": "off", "STARLING_TRANSPORT_PATH": "direct"},
}
WAYS[BEST_EFFORT] = {
    "STARLING_TRANSPORT_SHARED_MEMORY": "off",
    "STARLING_TRANSPORT_BEST_EFFORT": "datagrams",
}
WAY_BOUNDS = {
    "shared memory": {"send": 695, "receive": 745},
    "direct tcp": {"send": 700, "receive": 790},
}
# A bundle of 16 KiB: the sender wakes the receiver, which waits, silences its doorbell and looks
# for what else has come; beside that a few in a run. Round trips: wake the other, and wait.
BUNDLE = 16384 / 140
CALL_BOUNDS = {
    ("shared memory", "send", "all"): 1.3 / BUNDLE,
    ("shared memory", "send", "timerfd_settime"): 0.1 / BUNDLE,
    ("shared memory", "receive", "all"): 3.5 / BUNDLE,
    ("shared memory", "pong", "all"): 3.3,
    # The sender writes a bundle and reads what confirms it; the receiver waits, reads, confirms.
    ("direct tcp", "send", "all"): 3.5 / BUNDLE,
    ("direct tcp", "receive", "all"): 3.5 / BUNDLE,
    # Wait, read, write.
    ("direct tcp", "pong", "all"): 3.3,
}
LENGTHS = (2_048, 12_288)
ROUNDS = 3
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
    of a name, or all. With federates in a round: of so many rounds."""
    what, receivers, _ = CASES.get(case, ((), 1, {}))
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        counter = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        if calls:
            counter = ["strace", "-f", "-c", "-o", str(profile), "-e", f"trace={calls}"]
        env = {"PATH": "/usr/bin:/bin", "STARLING_NET_RUN_DIR": directory}
        env |= WAYS.get(case, {"STARLING_TRANSPORT_SHARED_MEMORY": "off"})
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
            elif role == "pong":
                trips = ("--count", str(updates), "--warm-up", "0")
                federates = [start(True, "pong"), start(False, "ping", *trips)]
            else:
                federates = [federate("receive", "--me", str(n)) for n in range(receivers)]
                sending = ("--laps", "0", "--spread-ms", "0", "--seed", "0")
                federates.append(federate("send", "--receivers", str(receivers), *sending))
            said = [f.communicate()[1] for f in federates]
            if any(f.returncode for f in federates):
                raise Failed("\n".join(said))
        finally:
            rtiexec.send_signal(signal.SIGTERM)
            rtiexec.wait()
        return total_calls(profile) if calls else total(profile)


def of_round(given: argparse.Namespace, federates: int, role: str, rounds: int) -> float:
    """Instructions of rtiexec for so many rounds, for each federate."""
    return count(given, ROUND.format(federates), role, rounds, in_round=federates) / federates


def total_calls(profile: Path) -> int:
    """What strace has counted, which says nothing of none."""
    found = re.search(r"^100\.00 +[\d.]+ +\d+ +(\d+)", profile.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def total(profile: Path) -> int:
    """What callgrind has counted."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile.read_text(), re.MULTILINE)
    return int(found[1])


def ring(given: argparse.Namespace, function: str, frames: int) -> int:
    """Instructions of one function of the ring's example, for so many frames."""
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [f"--toggle-collect=*{function}*", given.ring, "1", str(frames // RING_FRAMES)]
        subprocess.run(command, check=True, capture_output=True)
        return total(profile)


def core(given: argparse.Namespace, what: str, switch: str, updates: int) -> int:
    """Instructions of so many updates or reflections in the core alone."""
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [given.mom, what, switch, str(updates)]
        subprocess.run(command, check=True, capture_output=True)
        return total(profile)


def mom(given: argparse.Namespace, what: str, updates: int) -> int:
    """Instructions of so many updates or reflections beyond those without a management object
    model."""
    return core(given, what, "on", updates) - core(given, what, "off", updates)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rti-root", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--fom", required=True)
    parser.add_argument("--ring", required=True, help="the example `bundles` of starling-ring")
    parser.add_argument("--mom", required=True, help="the example `mom_cost` of starling-core")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    for tool in ("valgrind", "strace"):
        if not shutil.which(tool):
            print(f"{tool} is missing: install the package {tool}")
            return 1
    good = True
    rows = [(f"ring, {what}", bound, ring, (what,)) for what, bound in RING_BOUNDS.items()]
    for what, bound in WITHOUT_MOM.items():
        rows.append((f"counting for the MOM: {what}", MOM_BOUND, mom, (what,)))
        rows.append((f"core without the MOM: {what}", bound, core, (what, "off")))
    for case, (_, _, bounds) in CASES.items():
        rows += [(f"{case}: {role}", bound, count, (case, role)) for role, bound in bounds.items()]
    for way, bounds in WAY_BOUNDS.items():
        for role, bound in bounds.items():
            rows.append((f"{way}, 1 x 100 bytes: {role}", bound, count, (way, role)))
    for (way, role, calls), bound in CALL_BOUNDS.items():
        called = f"{way}, {calls} system calls: {role}"
        rows.append((called, bound, functools.partial(count, calls=calls), (way, role)))
    for federates, bounds in ROUND_BOUNDS.items():
        for role, bound in bounds.items():
            rows.append((f"{ROUND.format(federates)}: {role}", bound, of_round, (federates, role)))
    for role, bound, counted, what in rows:
        if not all(word in role for word in given.words):
            continue
        lengths = ROUND_LENGTHS if counted is of_round else LENGTHS
        fewer, more = (n // RING_FRAMES * RING_FRAMES for n in lengths)
        spent = [
            (counted(given, *what, more) - counted(given, *what, fewer)) / (more - fewer)
            for _ in range(ROUNDS)
        ]
        middle = statistics.median(spent)
        good &= middle <= bound
        digits, unit = (4, "") if "system calls" in role else (0, " instructions")
        per = "round" if counted is of_round else "update"
        said = ", ".join(f"{one:,.{digits}f}" for one in sorted(spent))
        most = f"{bound:,.{digits}f}"
        print(f"{role}: {said}{unit} per {per}; at most {most}: {middle <= bound}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
