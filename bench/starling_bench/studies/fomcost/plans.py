"""The test sequence file of one command, made of the shipped ones."""

import functools
import json
from pathlib import Path

from ...errors import write_file
from ...tsf import tables
from ...tsf.planned import beside, possible
from ...values.own_class import instead, updates

_EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments" / "fomcost"
_ONE = {"reliable": "FomCostReliable.Combined", "best_effort": "FomCostBestEffort.Combined"}
_KEPT = ("repetitions", "warm_up", "samples", "gap_ms")
# Where Starling goes its usual ways; beside it RTIs of `--rtis` are timed, counted and captured.
_USUAL = {"unix", "network"}
own_class = functools.partial(updates, one_attribute=_ONE)


def write(
    out: Path, root: Path, program: Path, rtis: Path | None, seed: int, own: dict | None,
    rate: float, helpers: bool = True,
) -> tuple[Path, list[str]]:  # fmt: skip
    """The file, beside the results, and what of the study is left out here, why. `own`: updates of
    a class; None: the five layouts, or those that need no `helpers` of the standard's."""
    directory = beside(out, ".plan")
    files = (_EXPERIMENTS / f"fomcost{more}.tsf.toml" for more in ("", "-root"))
    plan, left_out = possible(*files, "best effort by UDP, and packets")
    if own:
        more = {"values": str(directory / "values.json"), "rate_hz": rate}
        left_out += instead(plan, own, _KEPT, more)
    for rti in plan["rti"]:
        rti["root"] = str(root.resolve())
    for s in plan["sequence"]:
        s |= {"fom": str((_EXPERIMENTS / s["fom"]).resolve()), "command": [str(program.resolve())]}
        tests = s["execution"][0]["test"]
        for test in tests:
            test["seed"] = seed
            if not helpers and "standard" in test["layout"]:
                test["layout"].remove("standard")
    if not helpers:
        left_out.append("layout 'standard': not all RTIs have the standard's encoding helpers")
    tables.with_rtis(plan, rtis, _USUAL)
    tables.write(directory / "fomcost.tsf.toml", plan)
    if own:
        write_file(directory / "values.json", json.dumps(own))
    return directory / "fomcost.tsf.toml", left_out
