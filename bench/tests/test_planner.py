"""What a planner says of outcomes: fits or not, by how much, and what would help."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from starling_bench.by_hand import planner
from starling_bench.by_hand.planner import Outcome, advice, fits, needed, sentence
from starling_bench.errors import BenchError
from starling_bench.studies.range import app
from starling_bench.tsf import plan

FITS = Outcome("usual", "2 KB at 60 Hz", 16.7, 0.9999, 3.2, True, 10_000)
OVER = Outcome("usual", "50 KB at 10 Hz", 100.0, 0.9, 130.0, True, 1000)


def test_a_flow_that_fits_says_what_is_left():
    assert fits(FITS, 0.999)
    assert "fits" in sentence(FITS, 0.999) and "13.5 ms to spare" in sentence(FITS, 0.999)


def test_a_flow_that_does_not_says_by_how_much():
    assert not fits(OVER, 0.999)
    assert "does not fit" in sentence(OVER, 0.999) and "30 ms too much" in sentence(OVER, 0.999)


@pytest.mark.parametrize(("sent", "share", "enough"), [
    (1, 0.999, False), (200, 0.999, False), (2994, 0.999, False), (2995, 0.999, True),
    (298, 0.99, False), (299, 0.99, True), (1, 0, True),
])  # fmt: skip
def test_few_messages_do_not_tell_that_it_fits(sent, share, enough):
    """All of them in budget: whether it is surely so hangs on how many they were."""
    all_in = Outcome("usual", "2 KB at 1 Hz", 1000.0, 1.0, 0.2, True, sent)
    assert fits(all_in, share) == enough
    said = sentence(all_in, share)
    assert ("so far" in said) == (not enough) == (": fits" not in said)
    assert enough or f"{needed(share):,} that are all in budget can (--seconds)" in said
    assert "does not fit" not in said
    assert advice([all_in, replace(all_in, setting="other")], "usual", share) == [
        "other: 0 ms more to spare in the tightest flow"
    ]


def test_what_is_read_from_unlike_clocks_has_no_digit_below_their_bound():
    wide = replace(OVER, bound_ms=2.0)
    assert "take at most 130 ms, 30 ms too much" in sentence(wide, 0.999)
    assert "take at most 100 ms, 0 ms too much" in sentence(replace(OVER, bound_ms=50.0), 0.999)
    better = replace(wide, setting="other", high_ms=126.9)
    assert advice([wide, better], "usual", 0.999) == [
        "other: 0 ms more to spare in the tightest flow"
    ]


def test_a_usual_setting_that_failed_is_no_measure():
    better = Outcome("unbundled", "50 KB at 10 Hz", 100.0, 1.0, 60.0, True, 5000)
    worse = replace(OVER, setting="100 turns", sent=5000)
    few = replace(better, setting="bundled", sent=3)
    assert advice([better, worse, few], "usual", 0.999) == [
        "unbundled: fits", "bundled: not known", "100 turns: does not fit",
    ]  # fmt: skip


def test_who_cannot_send_does_not_fit():
    lame = Outcome("usual", "5 KB at 60 Hz", 16.7, 1.0, 1.0, False, 10_000)
    assert not fits(lame, 0.999) and "can't hold its rate" in sentence(lame, 0.999)


def test_the_setting_that_helps_is_named_first():
    better = Outcome("unbundled", "50 KB at 10 Hz", 100.0, 1.0, 60.0, True, 5000)
    worse = Outcome("100 turns", "50 KB at 10 Hz", 100.0, 0.5, 150.0, True, 5000)
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
