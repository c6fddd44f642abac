"""Probes of context parallelism: which attention works with it, by which mechanism, and what the stack refuses."""

import json

import pytest

from fixtures.cluster.failure import GangFailure
from fixtures.plugin.stack_facts import stack_facts

TABLE = "table:context parallelism"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder, and keep those that need as many ranks on one worker."""
    for item in items:
        if "suites/context_parallel/" in item.nodeid:
            item.add_marker(pytest.mark.context_parallel)
            probe = getattr(getattr(item, "callspec", None), "params", {}).get("probe")
            item.add_marker(pytest.mark.xdist_group(f"context-parallel-{getattr(probe, 'cp', 'planted')}"))


@pytest.fixture
def facts(request):
    """What is installed where the ranks run."""
    return stack_facts(request.config.getoption("--stack-python"))


@pytest.fixture
def ask(request, gang_pool):
    """``ask(probe, scenario, **params)`` runs a scenario on the probe's ranks and returns what each found."""
    if request.config.getoption("--available-ranks") < 4:
        pytest.skip("needs 4 ranks")

    def run(probe, scenario, **params):
        seed = request.config.getoption("--seed")
        try:
            return gang_pool.run(f"fixtures.scenarios.{scenario}", probe.cp, {"seed": seed, **params})
        except GangFailure as failure:
            pytest.fail(f"the case did not complete: {failure}", pytrace=False)

    return run


@pytest.fixture
def row(probe, record_property):
    """``row(verdict)`` states the probe's row of the table of compatibility, before anything is asserted."""
    for name, value in (("case", probe.id), ("layout", probe.layout), ("architecture", probe.case.architecture),
                        ("precision", probe.case.precision), ("world", probe.cp)):  # fmt: skip
        record_property(name, value)

    def state(verdict) -> None:
        record_property(TABLE, json.dumps(probe.columns | {"cp": probe.cp, "result": verdict.word, "why": verdict.why}))

    return state
