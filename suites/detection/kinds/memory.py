"""What ranks hold with a fault planted, judged by the suite memory."""

from __future__ import annotations

from typing import Any

from fixtures.cluster.failure import GangFailure
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import COMPLETED, Findings, Planted, case_of, checks_of, judged


class Memory:
    """See :class:`suites.detection.kinds.base.Kind`."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case = case_of(on, self.planted.seed)
        try:
            ranks = self.planted.ranks(entry, "fixtures.scenarios.memory:run", case.layout.world, {"case": case.to_json()})
        except GangFailure as failure:
            return {COMPLETED: str(failure)}
        return judged(checks_of("suites.memory.test_memory"), case=case, memory=ranks, tell_memory=lambda *_row: None)
