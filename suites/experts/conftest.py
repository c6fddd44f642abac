"""Checks of mixtures of experts run on the ranks of a layout, and only for architectures that have experts."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the checks of this folder as multinode, and leave out the cases of dense architectures."""
    dense = []
    for item in items:
        if "suites/experts/" not in item.nodeid:
            continue
        item.add_marker(pytest.mark.multinode)
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if case is not None and case.model.experts is None:
            dense.append(item)
    if dense:
        config.hook.pytest_deselected(items=dense)
        gone = {id(item) for item in dense}
        items[:] = [item for item in items if id(item) not in gone]
