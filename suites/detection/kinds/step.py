"""Three training steps with a fault planted, judged by the suites training_step and, with experts, experts."""

from __future__ import annotations

from typing import Any

from fixtures.case import Case
from fixtures.oracle.evidence import Evidence
from fixtures.plugin.narrowing import Narrowing
from fixtures.plugin.origins import Origins
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, NotReached, Planted, case_of, judged
from suites.judging import checks_of_case


class Step:
    """See :class:`suites.detection.kinds.base.Kind`."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case = case_of(on, self.planted.seed)
        evidence = self._evidence(entry, case)
        checks = checks_of_case(case)
        narrowing = Narrowing(lambda small: self._smaller(entry, small))
        origins = Origins(self.planted.runs, lambda scenario, case, params: self._second(entry, scenario, case, params))
        return {
            name: narrowing.of(origins.of(finding, name, case), checks[name], name, case)
            for name, finding in judged(checks, evidence=evidence).items()
        }

    def _second(self, entry: Entry | None, scenario: str, case: Case, params: dict[str, Any]) -> list[Any]:
        """Return what the ranks of a second run say; one step may end before the fault is reached."""
        try:
            return self.planted.ranks(entry, scenario, case.layout.world, params)
        except NotReached:
            return self.planted.ranks(None, scenario, case.layout.world, params)

    def _evidence(self, entry: Entry | None, case: Case) -> Evidence:
        reference = self.planted.runs.reference(case)
        params = {"case": case.to_json(), "reference": str(self.planted.runs.folder_of(case))}
        where = Evidence(case, [], reference).where
        ranks = self.planted.ranks(entry, "fixtures.scenarios.training_step:run", case.layout.world, params, where)
        return Evidence(case, ranks, reference)

    def _smaller(self, entry: Entry | None, case: Case) -> Evidence:
        """Return the evidence of a smaller layout, which may be one that the fault does not show in."""
        try:
            return self._evidence(entry, case)
        except NotReached:
            return self._evidence(None, case)
