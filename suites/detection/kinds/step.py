"""Three training steps with a fault planted, judged by the suites training_step and, with experts, experts."""

from __future__ import annotations

from typing import Any

from fixtures.cluster.failure import GangFailure
from fixtures.oracle.evidence import Evidence
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import COMPLETED, Findings, Planted, case_of, checks_of, judged


class Step:
    """See :class:`suites.detection.kinds.base.Kind`."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`Kind`."""
        case = case_of(on, self.planted.seed)
        reference = self.planted.runs.reference(case)
        params = {"case": case.to_json(), "reference": str(self.planted.runs.folder_of(case))}
        empty = Evidence(case, [], reference)
        try:
            ranks = self.planted.ranks(entry, "fixtures.scenarios.training_step:run", case.layout.world, params, empty.where)
        except GangFailure as failure:
            return {COMPLETED: str(failure)}
        modules = [
            f"suites.training_step.test_{name}" for name in ("finite", "loss", "gradients", "gradient_norm", "rank_groups")
        ]
        if case.model.experts is not None:
            modules += ["suites.experts.test_routing", "suites.experts.test_balance"]
        return judged(checks_of(*modules), evidence=Evidence(case, ranks, reference))
