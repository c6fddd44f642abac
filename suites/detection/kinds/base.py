"""What all kinds of runs share: a pool of gangs of their own, the checks as functions, and what they say."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

from fixtures.case import Case
from fixtures.cluster.failure import GangFailure
from fixtures.cluster.pool import GangPool
from fixtures.layout import Layout
from fixtures.plugin.narrowing import Judge
from fixtures.plugin.runs import Runs
from suites.detection.fault import Entry, On

Findings = dict[str, Any]  # check -> what it says: a Finding or a text

# The name under which a run that does not come to its end is counted; the watcher's finding is what it says.
COMPLETED = "completed"


class Stopped(GangFailure):
    """A run with a fault in it did not come to its end. A clean run that does not is no finding, but an error."""


class NotReached(Exception):
    """The planted code did not run: nothing is shown by the result."""


class Absent(Exception):
    """This version of the stack has not what a fault changes, and the fault's file says that it may be so."""


class Kind(Protocol):
    """A way to run a fault."""

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """Return what the checks say of a run with a fault, or of a clean one."""


def judged(checks: dict[str, Any], **fixtures: Any) -> Findings:
    """Call checks as pytest calls them, and return the findings of those that fail."""
    findings = {}
    for name, function in checks.items():
        judge = Judge(name)
        wanted = inspect.signature(function).parameters
        function(**{key: value for key, value in fixtures.items() if key in wanted}, check=judge)
        if judge.finding:
            findings[name] = judge.finding
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
            Stopped: the run with the fault did not come to its end.
            GangFailure: the clean run did not.
            Absent: the fault is one of another version of the stack.
            NotReached: no rank ran the planted code.
        """
        fault = None if entry is None else str(entry.path)
        planted = {**params, "scenario": scenario, "fault": fault}
        try:
            found = self.pool.run("suites.detection.planting:run", world, planted, describe_rank=where)
        except GangFailure as failure:
            if entry is None:
                raise
            raise Stopped(failure.kind, failure.message, ranks=failure.ranks, details=failure.details) from None
        for rank in found:
            if "absent" in rank:
                raise Absent(rank["absent"])
            if "broken" in rank:
                raise NotReached(f"the fault can't be planted: {rank['broken']}")
        if entry is not None and not any(rank["reached"] for rank in found):
            raise NotReached("the planted code ran on no rank; nothing is shown by this run")
        return [rank["evidence"] for rank in found]
