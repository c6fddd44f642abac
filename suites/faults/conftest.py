"""Planted faults run on small layouts of their own, whatever --layout says."""

from __future__ import annotations

import importlib
import inspect

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle.evidence import Evidence

# Every check of the training_step suite, called as pytest calls it.
_MODULES = ("test_finite", "test_loss", "test_gradients", "test_gradient_norm", "test_rank_groups")


def all_checks() -> dict[str, object]:
    """Return the suite's checks by name."""
    checks = {}
    for name in _MODULES:
        module = importlib.import_module(f"suites.training_step.{name}")
        for function_name, function in inspect.getmembers(module, inspect.isfunction):
            if function_name.startswith("test_"):
                checks[function_name.removeprefix("test_")] = function
    return checks


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
