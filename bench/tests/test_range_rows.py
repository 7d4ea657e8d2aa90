"""Figures of a range's row that follow from its log."""

from types import SimpleNamespace

import numpy as np

from starling_bench.studies.range import rows
from starling_bench.times import clocks, oneway


def test_what_never_came_is_not_in_budget(monkeypatch):
    """Of a flow of which nothing came nothing is; where clocks don't tell, nobody knows."""
    setting = {"clock": "same", "threaded": True}
    store = SimpleNamespace(directory=None, record=lambda *_: {"tests": {"1": setting}})
    row = {"sequence": "s", "execution": "e", "test": 1, "sender": "f1", "receiver": "f2",
           "sent": 600, "received": 0, "dropped": 0, "budget_ms": 16.7}  # fmt: skip
    none = oneway.Flow(np.empty(0), np.empty(0), np.empty(0), 0.0)
    monkeypatch.setattr(rows, "flow", lambda *_: none)
    assert rows.figures(store, row)["in_budget"] == 0.0

    def unknown(*_):
        raise clocks.NoEstimate("7 echoes came back")

    monkeypatch.setattr(rows, "flow", unknown)
    found = rows.figures(store, row)
    assert found["in_budget"] is None and found["clock"] == "not known: 7 echoes came back"
