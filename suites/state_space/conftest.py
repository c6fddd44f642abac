"""The probe's pools of gangs: with causal-conv1d as it is, and with it switched off. The table of verdicts at the end."""

import json

import pytest

from suites.state_space import libraries, verdicts
from suites.state_space.probing import Probe, pool_with

_ROWS = pytest.StashKey[list]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder, and keep them on one worker: they share what the ranks found out."""
    for item in items:
        if "suites/state_space/" in item.nodeid:
            item.add_marker(pytest.mark.state_space)
            item.add_marker(pytest.mark.xdist_group("state_space"))


@pytest.fixture(scope="session")
def probe(request, gang_pool):
    """The libraries as the ranks find them."""
    return Probe(gang_pool, request.config.getoption("--seed"))


@pytest.fixture(scope="session")
def probe_without(request, tmp_path_factory):
    """The same with causal-conv1d switched off: importing it raises ImportError."""
    folder = tmp_path_factory.mktemp("switched-off")
    libraries.write(folder / "packages", {"causal_conv1d/__init__.py": libraries.SWITCHED_OFF})
    config = request.config
    pool = pool_with(
        config.getoption("--stack-python"),
        [folder / "packages"],
        folder / "pool",
        config.getoption("--rank-timeout"),
    )
    yield Probe(pool, config.getoption("--seed"))
    pool.close()


@pytest.fixture(autouse=True)
def environment(probe, record_property):
    """Say in each result what it was found on, as the checks of cases do."""
    for name, value in probe.libraries().get("environment", {}).items():
        record_property(name, ", ".join(value) if isinstance(value, list) else value)


@pytest.fixture(scope="session")
def rows(probe, probe_without):
    """The table: a row for each library and each path, and the verdict on all."""
    found = verdicts.table(probe.libraries(), probe.convolution(), probe.scan(), probe.mixer(), probe_without.mixer())
    return [*found, verdicts.last_row(found)]


def pytest_report_teststatus(report, config):
    """Take the rows that workers recorded: the table is shown where the session ends."""
    if report.when == "call":
        rows = [json.loads(value) for name, value in report.user_properties if name == "table:state space paths"]
        if rows:
            kept = config.stash.setdefault(_ROWS, [])
            kept.extend(row for row in rows if row not in kept)


def pytest_terminal_summary(terminalreporter, config):
    """Print the verdicts, if the probe ran here."""
    found = config.stash.get(_ROWS, [])
    if not found:
        return
    terminalreporter.section("state space paths")
    width = max(len(row["library or path"]) for row in found)
    for row in found:
        part = f" (err/tol {row['err/tol']})" if row["err/tol"] else ""
        version = f", version {row['version']}" if row["version"] else ""
        line = f"{row['library or path']:<{width}}  {row['verdict']}{version}{part}"
        terminalreporter.write_line(line, bold=row["library or path"] == verdicts.ALL)
        if row["setting"]:
            terminalreporter.write_line(f"{'':<{width}}  by {row['setting']}")
