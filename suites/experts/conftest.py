"""Checks of mixtures of experts run on the ranks of a layout, and only for architectures that have experts."""

from pathlib import Path

import pytest

from fixtures.plugin.cases import cases_of


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the checks out where no case of the run has experts."""
    here = collection_path.parent == Path(__file__).parent and collection_path.name.startswith("test_")
    return True if here and all(case.model.experts is None for case in cases_of(config)) else None


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


@pytest.fixture(autouse=True)
def how_decided(evidence, record_property):
    """Put into the report how decided the choices of experts are on one rank."""
    facts = evidence.reference.numbers["routing"]
    for name in ("smallest_margin", "moves", "ties", "flips"):
        record_property(f"routing_{name}", facts[name])
