"""What a planner says of outcomes: fits or not, by how much, and what would help."""

from starling_bench.planner import Outcome, advice, fits, sentence

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
