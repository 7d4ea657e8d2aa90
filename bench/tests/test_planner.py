"""What a planner says of outcomes: fits or not, by how much, and what would help."""

import pytest
from typer.testing import CliRunner

from starling_bench import plan, planner
from starling_bench.errors import BenchError
from starling_bench.planner import Outcome, advice, fits, sentence
from starling_bench.studies.range import app

FITS = Outcome("usual", "2 KB at 60 Hz", 16.7, 0.9999, 3.2, True)
OVER = Outcome("usual", "50 KB at 10 Hz", 100.0, 0.9, 130.0, True)


def test_a_flow_that_fits_says_what_is_left():
    assert fits(FITS, 0.999)
    assert "fits" in sentence(FITS, 0.999) and "13.5 ms to spare" in sentence(FITS, 0.999)


def test_a_flow_that_does_not_says_by_how_much():
    assert not fits(OVER, 0.999)
    assert "does not fit" in sentence(OVER, 0.999) and "30 ms too much" in sentence(OVER, 0.999)


def test_who_cannot_send_does_not_fit():
    lame = Outcome("usual", "5 KB at 60 Hz", 16.7, 1.0, 1.0, False)
    assert not fits(lame, 0.999) and "can't hold its rate" in sentence(lame, 0.999)


def test_the_setting_that_helps_is_named_first():
    better = Outcome("unbundled", "50 KB at 10 Hz", 100.0, 1.0, 60.0, True)
    worse = Outcome("100 turns", "50 KB at 10 Hz", 100.0, 0.5, 150.0, True)
    assert advice([OVER, worse, better], "usual", 0.999) == [
        "unbundled: then all fits", "100 turns: 20 ms less to spare in the tightest flow",
    ]  # fmt: skip


HOST = '[[host]]\nname = "{name}"\n{kind}\n'
KINDS = {"ssh": 'kind = "ssh"\naddress = "127.0.0.{n}"', "namespace": "delay_ms = 5.0"}


@pytest.mark.parametrize(("kind", "clock"), [("ssh", "estimate"), ("namespace", "same")])
def test_clocks_of_hosts_are_compared_where_they_are_several(monkeypatch, tmp_path, kind, clock):
    """Between namespaces there is one."""
    hosts, planned = tmp_path / "hosts.toml", []
    hosts.write_text("".join(
        HOST.format(name=name, kind=KINDS[kind].format(n=n)) for n, name in enumerate("ab", 1)
    ))  # fmt: skip

    def attempt(study, file, out, **more) -> None:
        planned.extend(plan.load(file, study).sequence)
        raise BenchError("STL-X", "no run")

    monkeypatch.setattr(planner, "Attempt", attempt)
    done = CliRunner().invoke(app, ["plan", "--send", "2KB@60", "--receive", "10KB@10", "--from",
                                    "a", "--to", "b", "--hosts", str(hosts)])  # fmt: skip
    assert planned, done.output
    tests = [test for s in planned for e in s.execution for test in e.tests()]
    assert len(tests) >= 5 and {test.clock for test in tests} == {clock}
