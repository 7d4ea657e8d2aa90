"""What a federate claims of a sample, compared with what it was asked, and with what can be."""

import math
from collections.abc import Sequence

from ..study import Study
from ..tsf.sequences import Pair

# What a figure may differ from what it is made of, as a share.
_ROUNDED = 0.01


def fault(study: Study, pairs: Sequence[Pair], setting: dict, event: dict) -> str:
    """What can't be of a sample of a test with this setting, in words; "": nothing. What it lacks
    altogether is for who makes a row of it to say."""
    if not setting:
        return ""  # there is no such test
    asked = {study.names.get(k, k): v for k, v in study.settled(setting).items()}
    wanted = {name: asked[name] for name in study.asked if name in asked}
    number = event.get("pair")
    if type(number) is int and 1 <= number <= len(pairs):
        wanted |= {k: getattr(pairs[number - 1], k) for k in ("sender", "receiver")}
    for name, value in wanted.items():
        told = event.get(name, value)
        if told != value or isinstance(told, bool) != isinstance(value, bool):
            return f"{name} is {told!r:.50}, and {value!r:.50} was asked for"
    for name, (low, high) in study.possible.items():
        most = asked[high] if isinstance(high, str) else high
        value = event.get(name, 0)
        # 0: there was none.
        if type(value) not in (int, float) or not (value == 0 or low <= value <= most):
            return f"{name} is {value!r:.50}, which can't be: it is 0, or {low:g} to {most:g}"
    for name, value in study.made(event, asked).items():
        told = event.get(name, value)
        if type(told) not in (int, float) or not math.isclose(told, value, rel_tol=_ROUNDED):
            return f"{name} is {told!r:.50}, and its counts and spans make {value:g}"
    return ""
