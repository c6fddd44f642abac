"""What all kinds of runs share: a pool of gangs of their own, the checks as functions, and what they say."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Protocol

from fixtures.case import Case
from fixtures.cluster.pool import GangPool
from fixtures.layout import Layout
from fixtures.plugin.runs import Runs
from suites.detection.fault import Entry, On

Findings = dict[str, Any]  # check -> what it says: a Finding or a text

# The name under which a run that does not come to its end is counted; the watcher's finding is what it says.
COMPLETED = "completed"


class NotReached(Exception):
    """The planted code did not run: nothing is shown by the result."""


class Absent(Exception):
    """This version of the stack has not what a fault changes, and the fault's file says that it may be so."""


class Kind(Protocol):
    """A way to run a fault."""

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """Return what the checks say of a run with a fault, or of a clean one."""


def checks_of(*modules: str) -> dict[str, Any]:
    """Return the ordinary checks of these modules by name, as functions."""
    found = {}
    for module in modules:
        for name, function in inspect.getmembers(importlib.import_module(module), inspect.isfunction):
            if name.startswith("test_"):
                found[name.removeprefix("test_")] = function
    return found


class Recorder:
    """Stands for the ``check`` fixture: keeps the finding instead of failing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.finding: Any = None

    def __call__(self, finding: object, measured: float | None = None, tolerance: float | None = None) -> None:
        if finding:
            self.finding = finding


def judged(checks: dict[str, Any], **fixtures: Any) -> Findings:
    """Call checks as pytest calls them, and return the findings of those that fail."""
    findings = {}
    for name, function in checks.items():
        recorder = Recorder(name)
        wanted = inspect.signature(function).parameters
        function(**{key: value for key, value in fixtures.items() if key in wanted}, check=recorder)
        if recorder.finding:
            findings[name] = recorder.finding
    return findings


def case_of(on: On, seed: int) -> Case:
    """Return the case that a fault is planted in."""
    fields = {"model_class": "gpt", **on.more}
    return Case("megatron-core", on.architecture, Layout.parse(on.layout), on.precision, on.optimizer, seed=seed, **fields)


class Planted:
    """Runs scenarios with a fault in a pool of gangs that nothing else uses."""

    def __init__(self, pool: GangPool, runs: Runs, seed: int) -> None:
        self.pool, self.runs, self.seed = pool, runs, seed

    def ranks(self, entry: Entry | None, scenario: str, world: int, params: dict[str, Any], where: Any = str) -> list[Any]:
        """Return the evidence of all ranks.

        Raises:
            GangFailure: the run did not come to its end.
            Absent: the fault is one of another version of the stack.
            NotReached: no rank ran the planted code.
        """
        fault = None if entry is None else str(entry.path)
        found = self.pool.run(
            "suites.detection.planting:run", world, {**params, "scenario": scenario, "fault": fault}, describe_rank=where
        )
        for rank in found:
            if "absent" in rank:
                raise Absent(rank["absent"])
            if "broken" in rank:
                raise NotReached(f"the fault can't be planted: {rank['broken']}")
        if entry is not None and not any(rank["reached"] for rank in found):
            raise NotReached("the planted code ran on no rank; nothing is shown by this run")
        return [rank["evidence"] for rank in found]
