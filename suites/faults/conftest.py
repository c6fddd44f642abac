"""Planted faults run on small layouts of their own, whatever --layout says."""

from __future__ import annotations

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle.evidence import Evidence
from suites.judging import STEP, checks_of


def all_checks() -> dict[str, object]:
    """Return the checks of the training_step suite by name, called as pytest calls them."""
    return checks_of(*STEP)


class Recorder:
    """Stands for the ``check`` fixture: keeps the finding instead of failing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.finding = ""

    def __call__(self, finding: object, measured: float | None = None, tolerance: float | None = None) -> None:
        if finding:
            self.finding = str(finding)


@pytest.fixture(scope="session")
def plant(runs, gang_pool):
    """``plant(fault, layout)`` runs a case with a fault and returns {check: finding} of all checks that fail."""

    def run(fault: str, layout: str, architecture: str = "llama", optimizer: str = "adam") -> dict[str, str]:
        case = Case("megatron-core", architecture, Layout.parse(layout), "float64", optimizer, "gpt", 1234)
        reference = runs.reference(case)
        ranks = gang_pool.run(
            "suites.faults.planted:run",
            case.layout.world,
            {"case": case.to_json(), "reference": str(runs.folder_of(case)), "fault": fault},
            describe_rank=Evidence(case, [], reference).where,
        )
        evidence = Evidence(case, ranks, reference)
        findings = {}
        for name, function in all_checks().items():
            recorder = Recorder(name)
            function(evidence, recorder)
            if recorder.finding:
                findings[name] = recorder.finding
        return findings

    return run
