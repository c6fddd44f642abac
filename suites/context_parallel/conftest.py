"""Probes of context parallelism: which attention works with it, by which mechanism, and what the stack refuses."""

import json

import pytest

from fixtures.cluster.failure import GangFailure
from fixtures.plugin.stack_facts import stack_facts
from suites.context_parallel.compact import compact

TABLE = "table:context parallelism"
_ROWS = pytest.StashKey[list]()


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
def ask(request, gang_pool, facts):
    """``ask(probe, scenario, **params)`` runs a scenario on the probe's ranks and returns what each found."""

    def run(probe, scenario, **params):
        if probe.cp > request.config.getoption("--available-ranks"):
            pytest.skip(f"untested here: needs {probe.cp} ranks")
        if 0 < facts.gpus < probe.cp:
            pytest.skip(f"untested here: needs {probe.cp} GPUs, and there are {facts.gpus}")
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


def pytest_report_teststatus(report, config):
    """Take the rows that workers recorded: the table is shown where the session ends."""
    if report.when == "call":
        rows = [json.loads(value) for name, value in report.user_properties if name == TABLE]
        config.stash.setdefault(_ROWS, []).extend(rows)


def pytest_terminal_summary(terminalreporter, config):
    """Print one line for each question, with a word for each number of ranks."""
    lines = compact(config.stash.get(_ROWS, []))
    if lines:
        terminalreporter.section("context parallelism")
        for line in lines:
            terminalreporter.write_line(line)
