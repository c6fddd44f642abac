"""Checks of this folder run on the ranks of layouts, and write checkpoints."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder; those that take a pair or a case start one process for each rank."""
    for item in items:
        if "suites/checkpoint/" in item.nodeid:
            item.add_marker(pytest.mark.checkpoint)
            if {"pair", "same_pair", "case", "damage"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.multinode)
