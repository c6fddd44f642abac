"""Ordinary checks called as functions, by suites that judge runs of their own making: planted faults, random cases."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable

from fixtures.case import Case

STEP = tuple(f"suites.training_step.test_{name}" for name in ("finite", "loss", "gradients", "gradient_norm", "rank_groups"))
_EXPERTS = ("suites.experts.test_routing", "suites.experts.test_balance")


def checks_of(*modules: str) -> dict[str, Callable[..., None]]:
    """Return the checks of these modules by name, as functions."""
    found = {}
    for module in modules:
        for name, function in inspect.getmembers(importlib.import_module(module), inspect.isfunction):
            if name.startswith("test_"):
                found[name.removeprefix("test_")] = function
    return found


def checks_of_case(case: Case) -> dict[str, Callable[..., None]]:
    """Return the checks of a training step of a case, those of experts where it has some."""
    return checks_of(*STEP, *(_EXPERTS if case.model.experts is not None else ()))
