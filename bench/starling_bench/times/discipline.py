"""What the daemon that disciplines a host's clock says of it: chronyd by `chronyc -c tracking`,
ptp4l by `pmc -u -b 0 'GET CURRENT_DATA_SET'`. Federates ask it before and after they measure.
"""

import csv
import re
from dataclasses import dataclass

import numpy as np

from ..fields import Faults, Loc
from ..tsf.sequences import Sequence, Spec
from .clocks import NoEstimate

ASKED = "chronyc -c tracking"  # where a test names no command

_CHRONY_FIELDS = 14
_CHRONY_LOCAL = "7F7F0101"  # its reference is its own clock (`local`)
_PTP = re.compile(r"^\s*(stepsRemoved|offsetFromMaster|meanPathDelay)\s+(-?[\d.]+)\s*$", re.M)


@dataclass(frozen=True)
class Reading:
    """Of one host: what its clock lacks of the true time, and how far that may be wrong, in ns."""

    lacks_ns: float
    bound_ns: float
    own: bool = False  # the daemon follows nobody: its clock is the time to who follows it

    def ways_ns(self, arrived_ns: np.ndarray, told_ns: np.ndarray) -> tuple[np.ndarray, float]:
        """As clocks.Offset has it, of what is lacking more than at the other host."""
        return told_ns + round(self.lacks_ns), self.bound_ns


def reading(text: str) -> Reading:
    """What a daemon said; NoEstimate if it said nothing that helps."""
    if found := dict(_PTP.findall(text)):
        return _ptp(found)
    rows = [row for row in csv.reader(text.splitlines()) if len(row) == _CHRONY_FIELDS]
    if rows:
        return _chrony(rows[-1])
    said = text.strip().splitlines()
    raise NoEstimate(f"the daemon of a clock said {said[-1][:120]!r}" if said else
                     "the daemon of a clock said nothing")  # fmt: skip


def _chrony(row: list[str]) -> Reading:
    """chronyc's documentation: the error is at most the offset, the dispersion and half of the
    delay to the root; the first of these is known here."""
    try:
        lacks, delay, dispersion = (float(row[n]) for n in (4, 10, 11))
    except ValueError:
        raise NoEstimate(f"chronyd said {','.join(row)[:120]!r}") from None
    if row[13] == "Not synchronised" or row[0] == "00000000":
        raise NoEstimate("chronyd is not synchronised")
    return Reading(lacks * 1e9, (dispersion + delay / 2) * 1e9, row[0] == _CHRONY_LOCAL)


def _ptp(found: dict[str, str]) -> Reading:
    """Ways there and back may be as unlike as can be: the offset is wrong by a path's delay at
    most."""
    try:
        steps, offset, delay = (float(found[k]) for k in
                                ("stepsRemoved", "offsetFromMaster", "meanPathDelay"))  # fmt: skip
    except (KeyError, ValueError):
        raise NoEstimate(f"ptp4l said {found}") from None
    if steps == 0:
        return Reading(0.0, 0.0, own=True)  # it is the master
    if delay <= 0:
        raise NoEstimate("ptp4l has not measured its path's delay yet")
    return Reading(-offset, delay)


def during(facts: dict) -> Reading:
    """Of a federate's host in a test: between what was said before it and after."""
    told = facts.get("discipline") or []
    before, after = (reading(text) for text in (told if len(told) == 2 else ["", ""]))
    middle = (before.lacks_ns + after.lacks_ns) / 2
    return Reading(
        middle,
        max(before.bound_ns, after.bound_ns) + abs(before.lacks_ns - after.lacks_ns) / 2,
        before.own or after.own,
    )


def between(sender: dict, receiver: dict) -> Reading:
    """What the receiver's clock lacks more than the sender's, by the facts of both. NoEstimate
    where each is the time to itself alone, and no kernel is both's."""
    there, here = during(sender), during(receiver)
    same = sender.get("boot") and sender.get("boot") == receiver.get("boot")
    if there.own and here.own and not same:
        raise NoEstimate("neither host's clock follows the other's, or one that both follow")
    return Reading(here.lacks_ns - there.lacks_ns, here.bound_ns + there.bound_ns)


def of_tests(tests: list) -> str:
    """The command that says how well clocks are disciplined; "": none is asked."""
    return next((test.daemon for test in tests if test.clock == "daemon"), "")


def _asked(test: Spec) -> set[str]:
    f = test.lists()
    return {d if c == "daemon" else "" for c in f["clock"] for d in f["daemon"]}


def faults(at: Loc, test: Spec, sequence: Sequence) -> Faults:
    """What is wrong between the clocks of tests, which are those of their federates."""
    with_it = (e.test for e in sequence.execution if any(s is test for s in e.test[:1]))
    if len({word for tests in with_it for s in tests for word in _asked(s)}) > 1:
        what = "tests of one execution take their time from several clocks"
        yield (*at, "clock"), what, "make an execution of each"


def one_machine(test: Spec) -> str:
    """Why all federates of a test must be on one machine; "": they need not."""
    same = "same" in test.lists()["clock"]
    return 'clock = "same": give "estimate" or "daemon"' if same else ""
