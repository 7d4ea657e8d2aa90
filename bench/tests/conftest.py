"""Which tests run in the same process, and what all of them inherit."""

import signal
import sys
from pathlib import Path

import pytest

# The scripts beside the package are tested, too.
sys.path.insert(0, str(Path(__file__).parents[1]))

# By nohup it is ignored, also by what tests start, and then ends no run.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Fixtures that are made once for all tests that use them.
ONCE = {"bench", "good", "page", "results", "whole"}


# First, as xdist reads the groups in the same hook; it finds none with pytest 9.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ONCE & set(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
