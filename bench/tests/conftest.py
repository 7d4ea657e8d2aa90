"""Which tests run in the same process."""

import pytest

# Fixtures that are made once for all tests that use them.
ONCE = {"bench", "good", "page", "results"}


# First, as xdist reads the groups in the same hook; it finds none with pytest 9.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ONCE & set(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
