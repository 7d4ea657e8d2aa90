"""Figures of a range's row that follow from its log."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from starling_bench.reports import whole_tests
from starling_bench.studies.range import rows
from starling_bench.times import clocks, oneway
from starling_bench.variables import PAIR, Variable, Variables


def test_what_never_came_is_not_in_budget(monkeypatch):
    """Of a flow of which nothing came nothing is; where clocks don't tell, nobody knows."""
    setting = {"clock": "same", "threaded": True, "flows": "", "bytes": 64, "hz": 60.0,
               "budget_ms": None}  # fmt: skip
    store = SimpleNamespace(directory=Path("none"), record=lambda *_: {"tests": {"1": setting}})
    row = {"sequence": "s", "execution": "e", "test": 1, "sender": "f1", "receiver": "f2",
           "planned": 600, "sent": 600, "received": 0, "dropped": 0,
           "budget_ms": 1670.0, "held": "no", "late_share": 0.5}  # fmt: skip
    told = {"station": 1, "deadlines": {"turns": 90, "late": 9, "missed": 10}}
    monkeypatch.setattr(rows.samples, "facts", lambda *_: told)
    none = oneway.Flow(np.empty(0), np.empty(0), np.empty(0), 0.0)
    monkeypatch.setattr(rows, "flow", lambda *_: none)
    found = rows.figures(store, row)
    assert found["in_budget"] == 0.0
    # Whatever the row says: what was asked for, and what its sender counted.
    assert found["budget_ms"] == pytest.approx(1000 / 60)
    assert (found["held"], found["late_share"]) == ("yes", 0.19)
    came = oneway.Flow(np.arange(600), np.full(600, 20.0), np.arange(600.0), 0.0)
    monkeypatch.setattr(rows, "flow", lambda *_: came)
    monkeypatch.setattr(rows.oneway, "ping_ms", lambda *_: 3.0)
    found = rows.figures(store, row | {"received": 600})
    assert found["in_budget"] == 0.0
    # What two LRCs add to the way there, each: of the least, less an echo of the same size.
    assert (found["ping_ms"], found["lrc_ms"]) == (3.0, 8.5)
    # Not where data go by another host and back.
    for hosts, by, lrc in (
        ("2 systems", "tcp via rtiexec (both are on one host; transport.path)", None),
        ("2 systems", "tcp via rtiexec (transport.path = forwarder)", 8.5),
        ("", "tcp via rtiexec (transport.shared_memory = off)", 8.5),
    ):
        way = {"sender": "f1", "receiver": "f2", "by": by, "reliable": True}
        store.record = lambda *_, h=hosts, w=way: {
            "tests": {"1": setting}, "hosts": h, "ways": {"1": [w]}
        }  # fmt: skip
        assert rows.figures(store, row | {"received": 600})["lrc_ms"] == lrc

    def unknown(*_):
        raise clocks.NoEstimate("7 echoes came back")

    monkeypatch.setattr(rows, "flow", unknown)
    found = rows.figures(store, row)
    assert found["in_budget"] is None and found["clock"] == "not known: 7 echoes came back"


def flow(test: int, sender: str, receiver: str, hz: float, **more) -> dict:
    of = {"sequence": "s", "execution": "e", "test": test, "sender": sender, "receiver": receiver,
          "hz": hz, "planned": 100, "sent": 100, "lost": 0, "elements_missed": 0, "bound_ms": 0.0,
          "in_budget": 1.0, "p99_ms": 2.0, "max_ms": 3.0, "lrc_ms": 0.5}  # fmt: skip
    return of | more


def test_a_test_has_a_line_with_the_worst_of_its_flows():
    by_hz = Variable("Hz", lambda s: s["hz"], lambda v: f"{v:g}", axis=True)
    variables = Variables((PAIR, by_hz), frozenset(), str)
    nothing = {"in_budget": None, "p99_ms": None, "max_ms": None, "lrc_ms": None}
    made = whole_tests.tables(variables, [
        flow(1, "a", "b", 50.0, in_budget=0.9, lost=2, sent=99),
        flow(1, "b", "a", 10.0, p99_ms=20.0, max_ms=7.0, lrc_ms=0.25),
        flow(2, "a", "b", 50.0), flow(2, "b", "a", 50.0, **nothing),
        flow(3, "a", "b", 50.0, **nothing),
        flow(4, "a", "b", 50.0), flow(4, "b", "a", 10.0, p99_ms=None, lrc_ms=None, max_ms=60.0),
    ], "<p>of flows</p>", lambda s: s["test"] == 2)  # fmt: skip
    assert made.endswith("<p>of flows</p>")
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in made.split("<tr>")[2:]]
    plain = [[re.sub("<.*?>", "", cell) for cell in line] for line in lines]
    assert plain == [
        ["50, 10", "2", "90.00%", "200", "199", "2", "0", "20.0", "7.000", "0.250 to 0.500"],
        ["50", "2, 1 not told", "100.00%", "200", "200", "0", "0", "2.000", "3.000", "0.500"],
        ["50", "1, 1 not told", "-", "100", "100", "0", "0", "-", "-", "-"],
        [
            "50, 10",
            "2",
            "100.00%",
            "200",
            "200",
            "0",
            "0",
            "2.000 (of 1 of 2)",
            "60.0",
            "0.500 (of 1 of 2)",
        ],
    ]
    assert ["opacity" in "".join(line) for line in lines] == [False, True, False, False]
