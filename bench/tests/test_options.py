"""Bounds of options that studies share, told as the option's fault, before anything runs."""

import pytest
from typer.testing import CliRunner

from starling_bench.study import apps

STUDIES = dict(apps())
WHOLE = ("--rti-root", "/", "--program", "/", "--out", "none")


@pytest.mark.parametrize(("study", "options"), [
    ("range", ("run", "f", "--idle-wait-s", "-5")), ("ec1", ("run", "f", "--idle-wait-s", "-5")),
    ("ec1", ("phase0", "--out", "none", "--idle-wait-s", "-5")),
    ("fomcost", (*WHOLE, "--idle-wait-s", "-5")), ("fomcost", (*WHOLE, "--scale", "1e300")),
    ("fomcost", (*WHOLE, "--scale", "inf")), ("fomcost", (*WHOLE, "--scale", "nan")),
    ("range", ("run", "f", "--scale", "1e300")),
])  # fmt: skip
def test_what_can_be_no_value_of_an_option_is_refused(tmp_path, monkeypatch, study, options):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(STUDIES[study], list(options))
    assert done.exit_code == 2 and options[-2] in done.output, done.output
    assert list(tmp_path.iterdir()) == []
