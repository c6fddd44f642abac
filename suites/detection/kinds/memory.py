"""What ranks hold with a fault planted, judged by the suite memory."""

from __future__ import annotations

from typing import Any

from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, Planted, case_of, judged
from suites.judging import checks_of


class Memory:
    """See :class:`suites.detection.kinds.base.Kind`."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case = case_of(on, self.planted.seed)
        ranks = self.planted.ranks(entry, "fixtures.scenarios.memory:run", case.layout.world, {"case": case.to_json()})
        return judged(checks_of("suites.memory.test_memory"), case=case, memory=ranks, tell_memory=lambda *_row: None)
