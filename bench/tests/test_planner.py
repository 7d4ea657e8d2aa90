"""What a planner says of outcomes: fits or not, by how much, and what would help."""

import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from starling_bench.by_hand import planner
from starling_bench.by_hand.planner import Outcome, advice, fits, needed, sentence
from starling_bench.errors import BenchError
from starling_bench.studies.range import app, rows
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
        "other: so few messages (0) tell no difference (--seconds)"
    ]


def timed(o: Outcome, middle: float, seed: int, spread: float = 0.2) -> Outcome:
    """With times of all that were sent around one."""
    ms = np.random.default_rng(seed).normal(middle, spread, o.sent)
    return replace(o, ms=ms, high_ms=float(np.quantile(ms, 0.99)))


@pytest.mark.parametrize(("sent", "told"), [(60, False), (999, False), (1000, True)])
def test_no_percentile_is_told_of_fewer_messages_than_it_needs(sent, told):
    of = sentence(replace(FITS, sent=sent, in_budget=1.0), 0.99)
    assert ("99.000% take at most" in of) == told
    assert told or f"{-(-99 * sent // 100)} of {sent} take at most 3.2 ms" in of


def test_settings_that_chance_alone_parts_are_not_distinguishable():
    """Of 40 such pairs the interval of 95 % misses 0 in few, and it says the direction of what is
    there."""
    wrong = 0
    for seed in range(40):
        one, other = timed(FITS, 3, seed), replace(timed(FITS, 3, 99 + seed), setting="other")
        (said,) = advice([one, other], "usual", 0.99)
        wrong += "not distinguishable in the tightest flow" not in said
    assert wrong <= 8
    slow = replace(timed(FITS, 4, 7), setting="other")
    (said,) = advice([timed(FITS, 3, 8), slow], "usual", 0.99)
    assert re.fullmatch(r"other: (0\.9|1\.0|1)\d* ms less to spare in the tightest flow "
                        r"\(95 % interval -1\.\d+ to -0\.[89]\d*\)", said), said  # fmt: skip
    few = [replace(timed(replace(FITS, sent=100), m, 5), setting=name)
           for m, name in ((3, "usual"), (2, "other"))]  # fmt: skip
    (said,) = advice(few, "usual", 0.99)
    assert "ms more to spare in the median of the tightest flow" in said


def test_who_drops_what_is_late_does_not_gain_by_it():
    """The share is of what was sent, in the gain as in the verdict."""
    ms = np.full(10_000, 3.0)
    ms[::66] = 20.0  # 152 are late: one of them is the 9,900th
    usual = replace(FITS, ms=ms, high_ms=20.0, in_budget=0.9848)
    rest = np.delete(ms, np.arange(0, 6_000, 66)[:90])
    other = replace(usual, ms=rest, in_budget=0.9848)
    assert planner.gain([other], [usual], 0.99).value == 0


def test_what_is_read_from_unlike_clocks_has_no_digit_below_their_bound():
    wide = replace(OVER, bound_ms=2.0)
    assert "take at most 130 ms, 30 ms too much" in sentence(wide, 0.999)
    assert "take at most 100 ms, 0 ms too much" in sentence(replace(OVER, bound_ms=50.0), 0.999)
    better = replace(timed(wide, 126.9, 1), setting="other")
    assert advice([timed(wide, 130, 2), better], "usual", 0.999) == [
        "other: not distinguishable in the median of the tightest flow (-10 to +10 ms to spare)"
    ]
    assert advice([timed(wide, 130, 2), replace(timed(wide, 110, 1), setting="other")], "usual",
                  0.999)[0].startswith("other: 20 ms more to spare")  # fmt: skip


def test_a_usual_setting_that_failed_is_no_measure():
    better = Outcome("unbundled", "50 KB at 10 Hz", 100.0, 1.0, 60.0, True, 5000)
    worse = replace(OVER, setting="100 turns", sent=5000)
    few = replace(better, setting="bundled", sent=3)
    assert advice([better, worse, few], "usual", 0.999) == [
        "unbundled: fits", "bundled: not known", "100 turns: does not fit",
    ]  # fmt: skip


def test_what_clocks_do_not_tell_is_not_called_late():
    open_ = replace(OVER, in_budget=None, high_ms=None, clock="not known: 7 echoes came")
    assert not fits(open_, 0.99) and not planner.fails(open_, 0.99)
    said = sentence(open_, 0.99)
    assert said == "50 KB at 10 Hz: can't be told, its clocks are not known: 7 echoes came"
    nothing = replace(OVER, in_budget=0.0, high_ms=None)
    assert planner.fails(nothing, 0.99) and "too little of it arrived" in sentence(nothing, 0.99)


def test_what_other_programs_disturbed_is_no_plain_answer():
    why = "disturbed by other programs"
    assert sentence(replace(FITS, disturbed=why), 0.999).endswith(f"to spare; {why}")
    usual, other = timed(OVER, 130, 1), replace(timed(OVER, 60, 2), setting="other", in_budget=1.0)
    assert advice([usual, other], "usual", 0.99) == ["other: then all fits"]
    assert advice([usual, replace(other, disturbed=why)], "usual", 0.99) == [
        f"other: not known, {why}"
    ]
    # Nor is it the measure of others.
    late = replace(timed(OVER, 120, 3), setting="late")
    assert "more to spare" in advice([usual, late], "usual", 0.99)[0]
    assert advice([replace(usual, disturbed=why), late], "usual", 0.99) == ["late: does not fit"]


def test_who_cannot_send_does_not_fit():
    lame = Outcome("usual", "5 KB at 60 Hz", 16.7, 1.0, 1.0, False, 10_000)
    assert not fits(lame, 0.999) and sentence(lame, 0.999).endswith("can't hold its rate")
    assert sentence(replace(lame, planned=20_000), 0.999).endswith(
        "can't hold its rate: 10,000 of 20,000 were sent"
    )


def test_the_setting_that_helps_is_named_first():
    better = Outcome("unbundled", "50 KB at 10 Hz", 100.0, 1.0, 60.0, True, 5000)
    worse = Outcome("100 turns", "50 KB at 10 Hz", 100.0, 0.5, 150.0, True, 5000)
    first, second = advice([timed(OVER, 130, 1), timed(worse, 150, 2), better], "usual", 0.99)
    assert first == "unbundled: then all fits"
    assert second.startswith("100 turns: 20 ms less to spare in the tightest flow (95 % interval")


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


@pytest.mark.parametrize(("send", "said"), [
    ("2MB@100", "'2MB@100' is no flow of 16 to 16,777,216 bytes and up to 10,000 Hz"),
    ("1B@100", "'1B@100' is no flow of 16 to"), ("2KB@0", "'2KB@0' is no flow"),
    ("2KB@600", "600 updates a second; 499.2 are possible"),
    ("64B@20 1KB@20", "'64B@20 1KB@20' is not one flow"), ("64B@2\n", "is not one flow"),
])  # fmt: skip
def test_what_a_flow_is_is_told_with_its_units(send, said):
    done = CliRunner().invoke(app, ["plan", "--send", send, "--receive", "10KB@10"])
    assert done.exit_code == 2 and said in done.output
    assert "SIZE@HZ, such as 2KB@60 or 64B@0.5, the size in B or KB (1024 B)" in done.output


def test_a_flow_is_named_by_its_other_end_where_there_are_several():
    of = {"bytes": 2048, "hz": 60.0, "transport": "reliable", "sender": "f1", "receiver": "f3",
          "sent": 100, "mean_ms": None, "scheduling": "realtime", "budget_ms": 16.7, "held": "yes",
          "in_budget": None, "bound_ms": None, "clock": "same", "planned": 100}  # fmt: skip
    words = lambda **more: rows._outcome(None, of | more, "", 0.99).flow  # noqa: E731
    assert words(federates=3).endswith("sent to f3") and words(federates=2).endswith(" sent")
    assert words(federates=3, sender="f2", receiver="f1").endswith("received from f2")
