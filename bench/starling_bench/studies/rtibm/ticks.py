"""Figures that are the tick's and not the RTI's, as far as the loop of a test lets them be."""

from .fields import together

# A tick is that small or large a part of a figure where the figure is the RTI's.
_PART = 20
# A flush that takes so much of the wait behind it is hardly longer than that.
_WAITED = 0.4


def trip(of: dict) -> str:
    """Why a row's or a summary's round trips say little. Loop V1 waits in `tick(min, max)`: who
    returns gives the answers behind that wait, and an RTI that keeps the minimum holds what came
    for the rest of it. One that does not is faster by this alone."""
    tick_s = of.get("setting", {}).get("tick_min_s")
    known = (of.get("rtt_ms") or {}).get("mean", of.get("rtt_mean_ms"))
    if of["loop"] != 1 or not tick_s or known is None:
        return ""
    if not tick_s / _PART < known * 1e-3 < tick_s * _PART:
        return ""
    return f"the tick's (loop V1, tick_min_s {tick_s:g}) and not the RTI's: take another loop"


def rate(of: dict) -> str:
    """Why a summary's update frequency says little: without a limit of round trips under way each
    flush ends with a wait in which nothing comes, but in loop V2."""
    setting = of.get("setting", {})
    if setting.get("outstanding_max") != 0 or of["loop"] == 2 or not of["rate_hz"]["mean"]:
        return ""
    field = "tick_min_s" if of["loop"] == 1 else "tick_max_s"
    wait_s = setting[field]
    flush_s = together(setting) / of["rate_hz"]["mean"]
    if flush_s * _WAITED > wait_s or flush_s < wait_s * _WAITED:
        return ""
    return f"the tick's ({field} {wait_s:g} behind each flush) and not the RTI's: set a limit"
