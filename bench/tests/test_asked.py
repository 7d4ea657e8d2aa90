"""What federates claim is compared with what they were asked, and with what can be."""

from types import SimpleNamespace

import numpy as np
import pytest

from starling_bench.conducting import asked
from starling_bench.errors import BenchError
from starling_bench.studies.ec1 import STUDY as EC1
from starling_bench.studies.fomcost import STUDY as FOMCOST
from starling_bench.studies.rtibm import STUDY as RTIBM, fields, rows

PAIRS = [SimpleNamespace(sender="m", receiver="o")]
SETTING = fields.Test(kind="OWIT", updates=400).model_dump()
SAMPLE = {
    "test": 1, "kind": "OWIT", "transport": "reliable", "loop": 1, "types": 1, "instances": 1,
    "buffers": 1, "bytes": 8, "updates": 400, "pair": 1, "sender": "m", "receiver": "o",
    "sample": 1, "sent": 400, "received": 400, "lost": 0, "late": 0, "doubled": 0,
    "came_reliably": 400, "heartbeats": 0, "unrecorded": 0, "send_s": 0.5, "receive_s": 0.5,
    "rate_hz": 798.0, "mb_per_s": 798 * 8e-6,
}  # fmt: skip


def test_what_was_asked_is_taken():
    assert asked.fault(RTIBM, PAIRS, SETTING, SAMPLE) == ""
    trips = SAMPLE | {"kind": "RTIL", "rate_hz": 800.0, "mb_per_s": 0.0064}
    assert asked.fault(RTIBM, PAIRS, SETTING | {"kind": "RTIL"}, trips) == ""
    none = SAMPLE | {"received": 0, "lost": 400, "receive_s": 0, "rate_hz": 0, "mb_per_s": 0}
    assert asked.fault(RTIBM, PAIRS, SETTING, none) == ""


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "RTIL"}, {"transport": "best_effort"}, {"loop": 0}, {"loop": True}, {"types": 2},
        {"bytes": 99999}, {"updates": 5}, {"sender": "zz"}, {"receiver": "m"}, {"sent": None},
        {"sent": 800}, {"received": 800}, {"late": 1 << 63}, {"send_s": None}, {"send_s": 5e-324},
        {"receive_s": 1e300}, {"send_s": -1.0}, {"rate_hz": 1e12}, {"rate_hz": None},
        {"rate_hz": 1.7e308}, {"mb_per_s": 1.0}, {"sent": "400"},
    ],
    ids=lambda claim: "{}={}".format(*next(iter(claim.items()))),
)  # fmt: skip
def test_what_was_not_asked_or_can_not_be_is_told(claim):
    (name,) = claim
    assert asked.fault(RTIBM, PAIRS, SETTING, SAMPLE | claim).startswith(f"{name} is ")


def test_every_study_has_its_own_words():
    setting = next(iter(EC1.spec(configuration=3).expand())).model_dump()
    assert asked.fault(EC1, PAIRS, setting, {"pair": 1, "sent": 5}) == ""
    assert "was asked for" in asked.fault(EC1, PAIRS, setting, {"payload": 1})
    assert "can't be" in asked.fault(EC1, PAIRS, setting, {"sent": -1})
    setting = next(iter(FOMCOST.spec().expand())).model_dump()
    assert "'object' was asked for" in asked.fault(FOMCOST, PAIRS, setting, {"kind": "x"})
    assert "can't be" in asked.fault(FOMCOST, PAIRS, setting, {"sent": None})


@pytest.mark.parametrize("ns", [0.0, 3e38])
def test_round_trips_that_can_not_be_are_told(ns):
    trips = np.full(400, ns, np.float32)
    store = SimpleNamespace(fresh=lambda *_: {1: trips}, trips=lambda *_: trips)
    with pytest.raises(BenchError, match="which can't be"):
        rows.row(store, "s", "e", SAMPLE | {"kind": "RTIL", "others_cpu": None})
