"""Faults run in gangs of their own: no process that ever had a fault in it runs anything else."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest

from fixtures.cluster.pool import GangPool
from fixtures.plugin.runs import Runs
from fixtures.plugin.wiring import PRELOAD
from suites.detection.fault import catalogue
from suites.detection.kinds import KINDS, Planted
from suites.detection.score import TABLE, summary

_ROWS = pytest.StashKey[list]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes ``entry`` the faults: all where -m asks for detection, else the short run."""
    if "entry" in metafunc.fixturenames:
        asked = re.search(r"\bdetection\b", metafunc.config.getoption("markexpr", ""))
        entries = [entry for entry in catalogue() if asked or entry.fault.short]
        metafunc.parametrize(
            "entry",
            [
                pytest.param(entry, id=entry.name, marks=pytest.mark.xdist_group(entry.fault.on.architecture))
                for entry in entries
            ],
            scope="session",
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if "suites/detection/" in item.nodeid:
            item.add_marker(pytest.mark.detection)


@pytest.fixture(scope="session")
def planted(request):
    """Gangs, references and the seed for runs with faults."""
    folder = Path(tempfile.mkdtemp(prefix="meshgate-detection-"))
    pool = GangPool(python=request.config.getoption("--stack-python"), preload=PRELOAD, run_dir=folder, rank_timeout=20.0)
    runs = Runs(pool, lambda _text: None)
    yield Planted(pool, runs, request.config.getoption("--seed"))
    runs.close()
    pool.close()


@pytest.fixture(scope="session")
def kinds(planted):
    """How each kind of fault is run."""
    return {name: kind(planted) for name, kind in KINDS.items()}


def pytest_report_teststatus(report, config):
    """Take the rows that workers recorded: the score is shown where the session ends."""
    if report.when == "call":
        rows = [json.loads(value) for name, value in report.user_properties if name == TABLE]
        config.stash.setdefault(_ROWS, []).extend(rows)


def pytest_terminal_summary(terminalreporter, config):
    """Print the score."""
    rows = config.stash.get(_ROWS, [])
    if rows:
        terminalreporter.section("detection")
        for line in summary(rows):
            terminalreporter.write_line(line)
