"""Checks of memory run on the ranks of a layout; at the end they say which layout frees most."""

from __future__ import annotations

import pytest

from fixtures.cluster.failure import GangFailure

_ROWS = pytest.StashKey[list]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder."""
    for item in items:
        if "suites/memory/" in item.nodeid:
            item.add_marker(pytest.mark.memory)
            if "case" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.multinode)


@pytest.fixture(scope="session")
def counts(gang_pool):
    """``counts(case)``: what the ranks of a case hold, counted once."""
    known = {}

    def count(case):
        if case.id not in known:
            known.clear()
            try:
                known[case.id] = gang_pool.run("fixtures.scenarios.memory:run", case.layout.world, {"case": case.to_json()})
            except GangFailure as failure:
                known[case.id] = failure
        if isinstance(known[case.id], GangFailure):
            pytest.fail(f"the case did not complete: {known[case.id]}", pytrace=False)
        return known[case.id]

    return count


@pytest.fixture
def memory(case, counts, record_property):
    """What each rank of the case holds."""
    for name, value in (
        ("case", f"{case.id}-memory"), ("architecture", case.architecture), ("layout", f"{case.layout} memory"),
        ("precision", case.precision), ("optimizer", case.optimizer), ("model_class", case.model_class),
        ("world", case.layout.world), ("seed", case.seed),
    ):  # fmt: skip
        record_property(name, value)
    ranks = counts(case)
    for name, value in ranks[0]["environment"].items():
        record_property(name, ", ".join(value) if isinstance(value, list) else value)
    return ranks


@pytest.fixture
def tell_memory(request, record_property):
    """``tell_memory(case, row)`` puts a row into the report's table, and into the words at the end."""
    import json

    def tell(case, row):
        record_property("table:memory", json.dumps(row))
        request.config.stash.setdefault(_ROWS, []).append((case, row))

    return tell


def pytest_terminal_summary(terminalreporter, config):
    """Say for each architecture which layout takes the least on its fullest rank."""
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    terminalreporter.section("memory of the fullest rank, KiB", sep="-")
    groups = {}
    for case, row in rows:
        groups.setdefault((case.architecture, case.precision, case.optimizer), []).append(row)
    for group, members in groups.items():
        members.sort(key=lambda row: row["total"])
        terminalreporter.write_line(" ".join(group), bold=True)
        for row in members:
            parts = ", ".join(f"{name} {row[name]:.1f}" for name in ("parameters", "gradients", "optimizer", "activations"))
            terminalreporter.write_line(f"  {row['layout']:<24} {row['total']:>10.1f}  ({parts})")
        if len(members) > 1:
            best, worst = members[0], members[-1]
            terminalreporter.write_line(
                f"  {best['layout']} frees most: {best['total'] / worst['total']:.2f} of what {worst['layout']} takes"
            )
