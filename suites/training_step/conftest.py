"""Every check of this suite runs on the ranks of a layout."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder as multinode: they start one process for each rank."""
    for item in items:
        if "suites/training_step/" in item.nodeid:
            item.add_marker(pytest.mark.multinode)
